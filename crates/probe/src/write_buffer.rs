//! Memory that takes writes before the medium does: how much, from bursts that it takes faster than the medium could.

use block::number::nanoseconds;
use block::{Bytes, Nanos, Op};
use serde::{Deserialize, Serialize};
use workload::script::{Access, Script};

use crate::desk::{Desk, Halt};
use crate::finding::Outcome;
use crate::known::Known;
use crate::slc_cache::fill::{self, Cursor, Drop, Fill};
use crate::{Finding, Name};

/// Size of a request of a burst; eight are issued together.
const REQUEST: u64 = 64 << 10;
const MIB: u64 = 1 << 20;
/// Most written in one burst.
const BURST_MAX: u64 = 1 << 30;
/// More than this may as well be a small cache of single-bit cells that is moved on at once.
const MEMORY_MAX: f64 = (96 << 20) as f64;
/// Single writes, each after a pause.
const SINGLES: usize = 32;
const SINGLE_PAUSE: Nanos = Nanos::millis(20);
/// A write that waits for its cells takes more than this many times as long as a read of the media...
const BEYOND_READ: f64 = 1.06;
/// ...and a flush right after it has nothing left to do: it adds less than this share of the write to what a flush
/// takes anyway.
const FLUSH_ADDS: f64 = 0.25;
/// A large write does so even where the command takes most of a small one's time.
const BEYOND_LARGE: f64 = 1.06;
/// Flushes that are compared.
const FLUSHES: usize = 24;
/// Full bursts must agree to this share.
const AGREE: f64 = 0.08;
/// After half of the time that it takes to empty memory, this share of it must be free.
const HALF: std::ops::Range<f64> = 0.44..0.6;
/// Bytes on their way to the cells beyond those that memory holds.
const UNDER_WAY: f64 = (2 << 20) as f64;
/// The arm of a disk must first get there.
const ARM_S: f64 = 0.02;
/// The range is reported only if the greatest size is at most this many times the least.
const RANGE_MAX: f64 = 1.6;
/// Speeds differ by this much at least where a burst slows down.
const RATIO: f64 = 1.08;
/// The slow speed drifts, by which its line is off.
const DRIFT: f64 = 0.03;
/// See the method's page.
const CONFIDENCE: f64 = 0.99;

/// A burst of writes in order, after a pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// The pause.
    pub idle_ns: u64,
    /// The writes.
    pub fill: Fill,
    /// Point at which they became slow.
    pub drop: Option<Drop>,
}

/// Evidence for the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Times of single writes of one block of 4 KiB, each after a pause.
    pub singles_ns: Vec<u64>,
    /// Times of single reads of what was written so.
    #[serde(default)]
    pub reads_ns: Vec<u64>,
    /// Times of single writes of 64 KiB, and of reads of the same places.
    #[serde(default)]
    pub large_ns: (Vec<u64>, Vec<u64>),
    /// Times of flushes right after a single write, and of flushes after those, in turns. Empty where the drive takes
    /// none.
    #[serde(default)]
    pub flushes_ns: Vec<(u64, u64)>,
    /// A burst on an empty memory, one after half of the time that it takes to empty, and one after three times that.
    pub bursts: Vec<Burst>,
    /// Rate of the link, in bytes per second, if the drive reports it.
    pub link_bytes_per_s: Option<u64>,
    /// True for a disk that turns.
    pub rotational: bool,
    /// The limit that ended it, if one did.
    pub limit: Option<String>,
}

impl Burst {
    /// Bytes taken at once: where the line of the slow stretch meets the beginning.
    fn at_once(&self) -> Option<f64> {
        self.drop.map(|drop| drop.at_bytes * (1.0 - drop.slow / drop.fast))
    }
}

/// Asks the drive.
///
/// # Errors
/// Any [`Halt`] except a limit.
pub fn probe(desk: &mut Desk<'_>, _: &Known) -> Result<Outcome<Evidence>, Halt> {
    let mut evidence = Evidence {
        link_bytes_per_s: desk.info().link_bytes_per_s,
        rotational: desk.info().rotational == Some(true),
        ..Evidence::default()
    };
    match ask(desk, &mut evidence) {
        Err(halt) if !halt.is_limit() => return Err(halt),
        Err(limit) => evidence.limit = Some(limit.to_string()),
        Ok(()) => {}
    }
    Ok(Outcome { findings: vec![infer(&evidence)], evidence, caveats: Vec::new() })
}

fn ask(desk: &mut Desk<'_>, evidence: &mut Evidence) -> Result<(), Halt> {
    if !desk.may_write() {
        return Err(Halt::NoConsent);
    }
    let block = desk.info().logical_block_bytes.0.max(4096);
    let begin = Cursor::new(desk).begin();
    let mut script = Script::new();
    for n in 0..SINGLES as u64 {
        let (offset, len) = (Bytes(begin + n * block), Bytes(block));
        script.group(SINGLE_PAUSE, &[Access { op: Op::Write, fua: false, offset, len }]);
    }
    let singles = desk.run("single writes", &script)?;
    evidence.singles_ns = singles.iter().map(|s| s.completed.0 - s.issued.0).collect();
    compare(desk, begin, block, evidence)?;
    if waits_for_cells(evidence) {
        return Ok(());
    }
    let mut cursor = Cursor::new(desk).by(REQUEST);
    let first = burst(desk, &mut cursor, Nanos::secs(2), true)?;
    let empties = first.drop.zip(first.at_once()).map(|(drop, bytes)| bytes / drop.slow);
    evidence.bursts.push(first);
    let Some(seconds) = empties.filter(|s| s.is_finite() && *s < 60.0) else { return Ok(()) };
    for (times, flushes) in [(0.5, false), (3.0, true)] {
        let pause = Nanos((times * seconds * 1e9) as u64);
        evidence.bursts.push(burst(desk, &mut cursor, pause, flushes)?);
    }
    Ok(())
}

fn burst(
    desk: &mut Desk<'_>,
    cursor: &mut Cursor,
    pause: Nanos,
    flushes: bool,
) -> Result<Burst, Halt> {
    desk.pause(pause)?;
    if flushes {
        let flush = Access { op: Op::Flush, fua: false, offset: Bytes::ZERO, len: Bytes::ZERO };
        match desk.run("flush", &Script::one_by_one([flush])) {
            Ok(_) | Err(Halt::Failed(_)) => {}
            Err(halt) => return Err(halt),
        }
    }
    cursor.make_room(BURST_MAX);
    let mut fill = Fill::default();
    fill::write(desk, cursor, "burst", &mut fill, |fill| {
        let long = |drop: &Drop| fill.bytes() as f64 >= 2.0 * drop.at_bytes;
        fill.bytes() >= BURST_MAX || fill.drop_of(RATIO, 0).as_ref().is_some_and(long)
    })?;
    let drop = fill.drop_of(RATIO, 0);
    Ok(Burst { idle_ns: pause.0, fill, drop })
}

fn median(times: &[u64]) -> f64 {
    let times: Vec<f64> = times.iter().map(|&time| time as f64).collect();
    stats::median(&times).unwrap_or(0.0)
}

fn typical(times: &[u64]) -> String {
    nanoseconds(median(times))
}

/// Reads of the same drive, and what a flush finds left to do after a write.
fn compare(
    desk: &mut Desk<'_>,
    begin: u64,
    block: u64,
    evidence: &mut Evidence,
) -> Result<(), Halt> {
    // Written places, since what was never written waits for no medium.
    let written: Vec<(u64, u64)> =
        (0..SINGLES as u64).map(|n| (begin + n * block, block)).collect();
    let reads = desk.read("single reads", &written)?;
    evidence.reads_ns = reads.iter().map(|s| s.completed.0 - s.issued.0).collect();
    let took = |s: &engine::Sample| s.completed.0 - s.issued.0;
    let large: Vec<(u64, u64)> =
        (0..FLUSHES as u64).map(|n| (begin + MIB + n * REQUEST, REQUEST)).collect();
    let mut script = Script::new();
    for &(offset, len) in &large {
        let (offset, len) = (Bytes(offset), Bytes(len));
        script.group(SINGLE_PAUSE, &[Access { op: Op::Write, fua: false, offset, len }]);
    }
    evidence.large_ns.0 = desk.run("large writes", &script)?.iter().map(took).collect();
    evidence.large_ns.1 = desk.read("large reads", &large)?.iter().map(took).collect();
    let flush = Access { op: Op::Flush, fua: false, offset: Bytes::ZERO, len: Bytes::ZERO };
    let mut script = Script::new();
    for n in 0..FLUSHES as u64 {
        let (offset, len) = (Bytes(begin + n * block), Bytes(block));
        script.group(SINGLE_PAUSE, &[Access { op: Op::Write, fua: false, offset, len }]);
        script.group(Nanos::ZERO, &[flush]);
        script.group(Nanos::ZERO, &[flush]);
    }
    match desk.run("flushes", &script) {
        Ok(samples) => {
            evidence.flushes_ns =
                samples.chunks_exact(3).map(|s| (took(&s[1]), took(&s[2]))).collect();
            Ok(())
        }
        Err(Halt::Failed(_)) => Ok(()),
        Err(halt) => Err(halt),
    }
}

/// True when a single write is seen to wait for the medium: it takes longer than a read of the same drive, and leaves
/// nothing for a flush. No time by itself shows that: a slow link makes memory slow too.
fn waits_for_cells(evidence: &Evidence) -> bool {
    let write = median(&evidence.singles_ns);
    let (after, idle): (Vec<u64>, Vec<u64>) = evidence.flushes_ns.iter().copied().unzip();
    let adds = median(&after) - median(&idle);
    let (large, again) = (median(&evidence.large_ns.0), median(&evidence.large_ns.1));
    let slower = write > BEYOND_READ * median(&evidence.reads_ns) || large > BEYOND_LARGE * again;
    // A drive that takes no flush has nothing to flush.
    slower && (after.is_empty() || adds < FLUSH_ADDS * write)
}

/// Infers the size of the write buffer from the evidence.
pub fn infer(evidence: &Evidence) -> Finding {
    let unknown = |reason: String| Finding::unknown(Name::WriteBuffer, reason);
    if !evidence.singles_ns.is_empty() && waits_for_cells(evidence) {
        return Finding::none(
            Name::WriteBuffer,
            0.98,
            format!(
                "a single write after a pause takes {} and one of 64 KiB {}, reads {} and {}, and a flush then has \
                 nothing left to do: it waits for the medium",
                typical(&evidence.singles_ns),
                typical(&evidence.large_ns.0),
                typical(&evidence.reads_ns),
                typical(&evidence.large_ns.1)
            ),
        );
    }
    if let Some(limit) = &evidence.limit {
        return unknown(format!("not all bursts were written: {limit}"));
    }
    let [first, half, full] = evidence.bursts.as_slice() else {
        return unknown(
            "a burst of writes comes at one speed: what memory takes does not show".to_owned(),
        );
    };
    let (Some(drop), Some(a), Some(b)) = (first.drop, first.at_once(), full.at_once()) else {
        return unknown("bursts of writes do not slow down alike".to_owned());
    };
    let free = half.at_once().unwrap_or(0.0) / a;
    if a > MEMORY_MAX {
        return unknown(format!(
            "the first {} of a burst are fast, more than memory holds for sure",
            Bytes(a as u64).human()
        ));
    }
    if (a - b).abs() > AGREE * a {
        return unknown(format!(
            "bursts of writes are fast for {} and for {}: a memory would be empty after a pause",
            Bytes(a as u64).human(),
            Bytes(b as u64).human()
        ));
    }
    if !HALF.contains(&free) {
        return unknown(
            "a pause in which memory would be emptied by half does something else".to_owned(),
        );
    }
    let under_way = if evidence.rotational { drop.slow * ARM_S } else { UNDER_WAY };
    let error = drop.error_bytes + (a - b).abs() + DRIFT * a;
    let (low, high) = ((a.min(b) - error).max(0.0), a.max(b) + error + under_way);
    if high > RANGE_MAX * low {
        return unknown(format!(
            "there is memory of {} to {}",
            Bytes(low as u64).human(),
            Bytes(high as u64).human()
        ));
    }
    let value = (low + high) / 2.0;
    Finding::found(Name::WriteBuffer, value as u64, CONFIDENCE, format!(
        "a burst of writes comes at {:.0} MB/s at first and then at {:.0}, and after a pause again",
        drop.fast / 1e6,
        drop.slow / 1e6
    ))
    .between(low as u64, high as u64)
}
