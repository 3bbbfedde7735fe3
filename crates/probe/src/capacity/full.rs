//! All of a drive is written and read back: finds what no sampling can, such as a drive that dies once much of it is
//! written.
//!
//! The drive is cut into parts, each of which is a task of the plan: first all are written, then all are read back. So
//! what was done is recorded part by part, and a run that was killed resumes at the part it had begun.

use block::{Bytes, Event, Nanos, Op, Payload};
use serde::{Deserialize, Serialize};
use workload::script::Script;

use super::stamp::{SECTOR, Seen, Stamps};
use super::trial::{FAILURES, REQUEST, requests, script, settle};
use crate::desk::{Desk, Halt};
use crate::finding::{Finding, Name};

/// Time for a full write where no other is given: it takes as long as it takes.
pub const TIME: Nanos = Nanos::secs(10_000_000);
/// Requests under way at a time.
const DEPTH: u16 = 8;
/// Most parts of a drive, and how many a small one has.
const PARTS: u64 = 256;
const PARTS_FEW: u64 = 16;
/// Least length of a part, and least of one of a drive that has more than a few. Each ends with a flush, which takes
/// some drives and the files behind loop devices tens of milliseconds.
const PART_MIN: u64 = 16 << 20;
const PART_LONG: u64 = 256 << 20;
/// Bad ranges and displaced stamps that are kept one by one.
const KEPT: usize = 1000;
/// Least share lost behind the first bad byte of a drive that ends there.
const LOST_MIN: f64 = 0.9;

/// A part of the drive that is written or read back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// True when it is read back, false when it is written.
    pub verify: bool,
    /// Beginning.
    pub offset_bytes: u64,
    /// Length.
    pub length_bytes: u64,
}

/// All parts of a drive, in the order in which they are done.
pub fn parts(capacity: Bytes, unit: Bytes) -> impl Iterator<Item = Part> {
    let end = capacity.round_down(unit).0;
    let short = end.div_ceil(PARTS_FEW).clamp(PART_MIN, PART_LONG);
    let length = end.div_ceil(PARTS).max(short).next_multiple_of(REQUEST);
    let part = move |verify: bool, at: u64| {
        let offset_bytes = at * length;
        let length_bytes = length.min(end - offset_bytes);
        Part { verify, offset_bytes, length_bytes }
    };
    let all = move |verify| (0..end.div_ceil(length)).map(move |at| part(verify, at));
    all(false).chain(all(true))
}

/// Findings of the parts that were done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Size that the drive claims.
    pub claimed_bytes: u64,
    /// Bytes that the drive took.
    pub written_bytes: u64,
    /// Bytes that were to be read back, those that failed included.
    pub verified_bytes: u64,
    /// Bytes of which data came at all.
    pub delivered_bytes: u64,
    /// Rate of each part, in the order in which they were done.
    pub rates: Vec<Rate>,
    /// Bytes that were not read back as written.
    pub bad_bytes: u64,
    /// Ranges of them.
    pub bad_places: u64,
    /// Offset and length of these ranges; at most a thousand.
    pub bad: Vec<(u64, u64)>,
    /// Requests that failed with an I/O error.
    pub failed: u64,
    /// Places at which a stamp was met, and at which it had been written; bytes. At most a thousand.
    pub moved: Vec<(u64, u64)>,
    /// Greatest common divisor of all distances at which stamps were met.
    pub period_bytes: Option<u64>,
    /// Least of these distances.
    pub nearest_bytes: Option<u64>,
}

/// Rate of a part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// True of reads, false of writes.
    pub verify: bool,
    /// Beginning of the part.
    pub offset_bytes: u64,
    /// Bytes per second.
    pub bytes_per_s: f64,
}

impl Evidence {
    /// Adds the findings of the next part.
    pub fn add(&mut self, next: Evidence) {
        self.claimed_bytes = next.claimed_bytes;
        self.written_bytes += next.written_bytes;
        self.verified_bytes += next.verified_bytes;
        self.delivered_bytes += next.delivered_bytes;
        self.rates.extend(next.rates);
        self.bad_bytes += next.bad_bytes;
        self.bad_places += next.bad_places;
        self.failed += next.failed;
        let is_joined = match (self.bad.last_mut(), next.bad.first()) {
            (Some((at, len)), Some(first)) if *at + *len == first.0 => {
                *len += first.1;
                true
            }
            _ => false,
        };
        self.bad_places -= u64::from(is_joined);
        self.bad.extend(next.bad.into_iter().skip(usize::from(is_joined)));
        self.bad.truncate(KEPT);
        self.moved.extend(next.moved);
        self.moved.truncate(KEPT);
        if let Some(period) = next.period_bytes {
            self.period_bytes = Some(super::ask::gcd(self.period_bytes.unwrap_or(0), period));
        }
        self.nearest_bytes = [self.nearest_bytes, next.nearest_bytes].into_iter().flatten().min();
    }

    /// True when all of the drive was written and read back.
    pub fn is_whole(&self) -> bool {
        self.claimed_bytes > 0 && self.verified_bytes + REQUEST > self.claimed_bytes
    }

    fn look(&mut self, stamps: Stamps, offset: u64, data: &[u8], bad: &mut Vec<(u64, u64)>) {
        self.delivered_bytes += data.len() as u64;
        for (at, sector) in data.chunks(SECTOR as usize).enumerate() {
            let place = offset + at as u64 * SECTOR;
            match stamps.look(place, sector) {
                Seen::Own => continue,
                Seen::Of(other) => {
                    let distance = place.abs_diff(other);
                    let period = super::ask::gcd(self.period_bytes.unwrap_or(0), distance);
                    self.period_bytes = Some(period);
                    let nearest = self.nearest_bytes.map_or(distance, |near| near.min(distance));
                    self.nearest_bytes = Some(nearest);
                    if self.moved.len() < KEPT {
                        self.moved.push((place, other));
                    }
                }
                Seen::Other => {}
            }
            join(bad, (place, SECTOR));
        }
    }
}

/// Adds a range, to the last one where it continues that.
fn join(ranges: &mut Vec<(u64, u64)>, (offset, len): (u64, u64)) {
    match ranges.last_mut() {
        Some((at, before)) if *at + *before == offset => *before += len,
        _ => ranges.push((offset, len)),
    }
}

/// Writes a part, or reads it back.
///
/// # Errors
/// [`Halt`]. I/Os that fail are not an error: their places are bad.
pub fn probe(desk: &mut Desk<'_>, part: &Part) -> Result<Evidence, Halt> {
    if !desk.may_write() {
        return Err(Halt::NoConsent);
    }
    let stamps = Stamps::new(desk.rng(&[0x6675_6c6c]).next_u64());
    let content = || -> Box<dyn Payload> { Box::new(stamps) };
    let total = 2 * desk.info().capacity_bytes.0;
    let &Part { verify, offset_bytes, length_bytes } = part;
    let before = offset_bytes + if verify { total / 2 } else { 0 };
    let op = if verify { Op::Read } else { Op::Write };
    let places: Vec<(u64, u64)> = requests((offset_bytes, length_bytes)).collect();
    let mut evidence =
        Evidence { claimed_bytes: desk.info().capacity_bytes.0, ..Evidence::default() };
    let (mut bad, began, mut done): (Vec<(u64, u64)>, Nanos, u64) = (Vec::new(), desk.now(), 0);
    let (mut at, mut moved_bytes) = (0, 0);
    while at < places.len() {
        // Looked at from time to time: where all fails, each request may take the drive and the kernel seconds.
        let end = places.len().min(at + 16 * FAILURES as usize);
        let some = &places[at..end];
        at = end;
        let mut failed = 0;
        let script: Script = script(op, some);
        desk.stream(&script, DEPTH, &content, &mut |now, index, data, is_failed| {
            let (offset, len) = some[index];
            done += len;
            moved_bytes += if is_failed { 0 } else { len };
            match (is_failed, data) {
                (true, _) => {
                    failed += 1;
                    if verify {
                        join(&mut bad, (offset, len));
                    }
                }
                (false, Some(data)) => evidence.look(stamps, offset, data, &mut bad),
                _ => {}
            }
            let rate = done as f64 / (now.0.saturating_sub(began.0)).max(1) as f64;
            let left = Nanos(((total - before - done) as f64 / rate) as u64);
            let what = match verify {
                true => format!("written and read back, {} left", left.about()),
                false => {
                    format!("written, of all to be written and read back, {} left", left.about())
                }
            };
            let (done_bytes, total_bytes) = (Bytes(before + done), Bytes(total));
            Event::Preparing { what, done_bytes, total_bytes }
        })?;
        evidence.failed += failed;
        if failed as usize == some.len() && failed >= u64::from(FAILURES) {
            let rest = places[at..].iter();
            rest.clone().filter(|_| verify).for_each(|place| join(&mut bad, *place));
            at = places.len();
        }
    }
    // Before the part is recorded as done: what a power cut takes would else look as lost by the drive.
    if !verify {
        settle(desk)?;
    }
    let span = (desk.now().0 - began.0).max(1) as f64;
    // Of what the drive did: a request that fails, and one that is not made after many, moved nothing.
    let bytes_per_s = moved_bytes as f64 * 1e9 / span;
    evidence.rates.push(Rate { verify, offset_bytes, bytes_per_s });
    match verify {
        true => evidence.verified_bytes = length_bytes,
        false => evidence.written_bytes = moved_bytes,
    }
    bad.sort_unstable();
    let mut ranges = Vec::new();
    bad.into_iter().for_each(|range| join(&mut ranges, range));
    evidence.bad_bytes = ranges.iter().map(|(_, len)| len).sum();
    evidence.bad_places = ranges.len() as u64;
    ranges.truncate(KEPT);
    evidence.bad = ranges;
    Ok(evidence)
}

/// Verdict of all parts together.
pub fn infer(evidence: &Evidence) -> Finding {
    let unknown = |reason: String| Finding::unknown(Name::RealCapacity, reason);
    let found =
        |value: u64, reason: String| Finding::found(Name::RealCapacity, value, 0.999, reason);
    let claimed = evidence.claimed_bytes;
    let lost = lost(evidence);
    if !evidence.is_whole() {
        let (so_far, all) = (Bytes(evidence.verified_bytes).about(), Bytes(claimed).about());
        return unknown(format!(
            "{so_far} of {all} were read back so far{}",
            match &lost {
                Some(lost) => format!(": {lost}"),
                None => ", all as written".to_owned(),
            }
        ));
    }
    if evidence.written_bytes == 0 {
        return unknown(
            "the drive took no write: it may be write-protected, and holds what it held before"
                .to_owned(),
        );
    }
    if evidence.delivered_bytes == 0 && evidence.failed == 0 {
        return unknown("it delivers no data to look at".to_owned());
    }
    let (Some(lost), Some(&(first, _))) = (lost, evidence.bad.first()) else {
        let reason = "all of it was written and read back: genuine, unless it has a cache as large as what is missing";
        return found(claimed, reason.to_owned());
    };
    match (evidence.nearest_bytes, evidence.moved.first()) {
        (Some(nearest), Some((met, written))) if evidence.period_bytes == Some(nearest) => {
            return found(
                nearest,
                format!(
                    "the drive is a fake, its addresses wrap: what was written at byte {written} is found at byte {met}; {lost}"
                ),
            );
        }
        (Some(nearest), _) => {
            return unknown(format!(
                "what was written at one place was met {} away, and not always so; {lost}",
                Bytes(nearest).human()
            ));
        }
        (None, _) => {}
    }
    if evidence.bad_bytes as f64 >= LOST_MIN * (claimed - first) as f64 {
        return found(first, format!("the drive is a fake or damaged: {lost}"));
    }
    unknown(format!("the drive is damaged: {lost}"))
}

/// Losses in words; `None` where nothing was lost, or nothing could be written.
pub fn lost(evidence: &Evidence) -> Option<String> {
    if evidence.written_bytes == 0 {
        return None;
    }
    let &(first, _) = evidence.bad.first()?;
    let (bad, places) = (evidence.bad_bytes, evidence.bad_places);
    let share = 100.0 * bad as f64 / evidence.verified_bytes.max(1) as f64;
    let share = match share {
        share if share >= 0.01 => format!("{share:.2}%"),
        share => format!("{share:.6}%"),
    };
    let fails = if evidence.failed > 0 { ", and I/O failed" } else { "" };
    Some(format!(
        "{bad} bytes in {places} place{} did not keep what was written ({share}), the first at byte {first}{fails}",
        if places == 1 { "" } else { "s" },
    ))
}
