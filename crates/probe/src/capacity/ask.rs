//! Trials that grow until something is lost, or no likely cache could hold what was kept.

use block::Nanos;

use super::evidence::{Evidence, Place};
use super::options::Options;
use super::stamp::SECTOR;
use super::trial::{REQUEST, Shown, Trial};
use crate::desk::{Desk, Halt};

/// Write caches that the runs at the end exceed, one after the other.
pub(super) const CACHES: [u64; 3] = [0, 128 << 20, 512 << 20];
/// Distance of the places that are looked at for stamps of others: its share of the drive, and its bounds.
const RUN_SHARE: u64 = 1024;
const RUN_MIN: u64 = 16 << 20;
const RUN_MAX: u64 = 256 << 20;
/// Written after each round of stamps, to push them out of caches.
pub(super) const FLOOD: u64 = 16 << 20;
/// Length of a sampled place.
pub(super) const SAMPLE: u64 = 4096;
/// Drives up to this size are written as a whole.
const WHOLE_MAX: u64 = 768 << 20;
/// Memory for what is kept, where no other is given.
const MEMORY: u64 = 1 << 30;

/// One trial of those that grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stage {
    /// First byte of the run at the end.
    pub begin: u64,
    /// Distance of the places that are looked at; none is where it is 0.
    spacing: u64,
    /// Largest cache that does not take the run, nor so much of it that stamps could lie between the places looked at.
    cache: u64,
    /// End of the run: that of the drive, in whole units.
    pub end: u64,
}

/// The trials of a drive, in the order in which they are made.
pub(super) fn stages(claimed: u64, unit: u64) -> Vec<Stage> {
    let end = claimed / unit * unit;
    if claimed <= WHOLE_MAX {
        return vec![Stage { begin: 0, spacing: 0, cache: claimed, end }];
    }
    let spacing = (claimed / RUN_SHARE).clamp(RUN_MIN, RUN_MAX) / unit * unit;
    let stage =
        |cache: u64| Stage { begin: (end - spacing - cache) / unit * unit, spacing, cache, end };
    CACHES.map(stage).to_vec()
}

impl Stage {
    /// Written after its stamps: of a whole drive its first half again, in the same requests with the same content.
    fn after(&self) -> Vec<(u64, u64)> {
        let len = if self.spacing == 0 { self.end / 2 / REQUEST * REQUEST } else { FLOOD };
        vec![(0, len)]
    }

    /// A run of stamps over a range.
    pub fn of(begin: u64, end: u64) -> Stage {
        Stage { begin, spacing: 0, cache: 0, end }
    }

    /// Bytes that are stamped.
    pub fn writes(&self, options: &Options) -> u64 {
        let after: u64 = self.after().iter().map(|(_, len)| len).sum();
        let samples = if self.spacing == 0 { 0 } else { options.samples() * SAMPLE };
        self.end - self.begin + after + samples
    }

    /// Bytes that are written back: each place once, however often it was stamped.
    pub fn puts_back(&self, options: &Options) -> u64 {
        if self.spacing == 0 { self.end - self.begin } else { self.writes(options) }
    }

    /// Its run: where it begins, and its length.
    pub fn run(&self) -> (u64, u64) {
        (self.begin, self.end - self.begin)
    }
}

/// Asks with trials.
pub(super) struct Asker<'d, 'a> {
    pub desk: &'d mut Desk<'a>,
    pub options: &'d Options,
    /// Unit of all places.
    pub unit: u64,
    /// Of the next stamps.
    salt: u64,
}

impl<'d, 'a> Asker<'d, 'a> {
    pub fn new(desk: &'d mut Desk<'a>, options: &'d Options) -> Asker<'d, 'a> {
        let unit = desk.info().logical_block_bytes.0.max(SECTOR);
        let salt = desk.rng(&[0x0063_6170]).next_u64();
        Asker { desk, options, unit, salt }
    }

    pub fn ask(&mut self, evidence: &mut Evidence) -> Result<(), Halt> {
        let (region, claimed) = (self.desk.region(), evidence.claimed_bytes);
        if region.offset.0 > 0 || region.length.0 < claimed / self.unit * self.unit {
            return Ok(());
        }
        if !self.desk.may_write() {
            return Err(Halt::NoConsent);
        }
        let mut pace = None;
        for stage in stages(claimed, self.unit) {
            if pace.is_some_and(|pace| !self.affords(&stage, pace)) {
                break;
            }
            let before = self.desk.now();
            self.stage(evidence, &stage)?;
            let span = Nanos(self.desk.now().0 - before.0);
            pace = Some(span.0 as f64 / stage.writes(self.options) as f64);
            if !evidence.has_data {
                return Ok(());
            }
            let is_lost = evidence.run_good < evidence.run_sectors;
            if is_lost && evidence.nearest_bytes.is_none() {
                self.look_below(evidence)?;
            }
            if evidence.nearest_bytes.is_some() && self.wraps(evidence, &stage)? {
                break;
            }
            if is_lost && self.is_fake_like(evidence)? {
                self.search_end(evidence, &stage)?;
                break;
            }
            let bad = evidence.samples.iter().find(|place| !place.good);
            match bad.map(|place| place.offset_bytes) {
                None if !is_lost => {
                    evidence.cache_limit_bytes = Some(stage.cache);
                    evidence.is_whole = stage.spacing == 0;
                }
                // Lost alone, while the end is kept: damaged, whatever a longer run would show.
                Some(bad) if !is_lost && !self.is_kept_alone(evidence, bad)? => break,
                _ => {}
            }
        }
        evidence.complete = true;
        Ok(())
    }

    /// True when time, memory and what may be written allow a trial, if each byte of the one before took `pace`
    /// nanoseconds.
    fn affords(&self, stage: &Stage, pace: f64) -> bool {
        let bytes = stage.writes(self.options);
        let copies = if self.options.keeps { 2 } else { 1 };
        // Writes in order are at least as fast as those at random places, and there are fewer of the latter now.
        pace * bytes as f64 <= self.desk.time_left().0 as f64
            && copies * bytes <= self.desk.writes_left().0
            && (!self.options.keeps || bytes <= self.memory())
    }

    /// Memory for what is kept.
    pub fn memory(&self) -> u64 {
        self.options.memory_bytes.unwrap_or(MEMORY)
    }

    /// The run at the end, places at random, and a look over the whole drive.
    fn stage(&mut self, evidence: &mut Evidence, stage: &Stage) -> Result<(), Halt> {
        let &Stage { begin, spacing, end, .. } = stage;
        let within = if spacing == 0 { (0, 0) } else { (FLOOD, begin) };
        let (mut places, sampled) = self.samples(within);
        places.push(stage.run());
        let count = begin.checked_div(spacing).unwrap_or(0);
        let looked_at = (0..count).map(|n| (begin - (n + 1) * spacing, self.unit)).collect();
        let shown = self.run(places, stage.after(), looked_at)?;
        evidence.has_data = shown.delivered > 0 || !shown.failed.is_empty();
        self.note(evidence, &shown, &sampled, (begin, end));
        Ok(())
    }

    /// Places at random within a range, in random order, and in order.
    pub fn samples(&self, (from, to): (u64, u64)) -> (Vec<(u64, u64)>, Vec<u64>) {
        let size = SAMPLE.max(self.unit);
        if to < from + size {
            return (Vec::new(), Vec::new());
        }
        let mut rng = self.desk.rng(&[0x7361_6d70]);
        let mut sampled: Vec<u64> = (0..self.options.samples())
            .map(|_| from + rng.below((to - from) / size) * size)
            .collect();
        sampled.sort_unstable();
        sampled.dedup();
        let mut places: Vec<(u64, u64)> = sampled.iter().map(|&offset| (offset, size)).collect();
        for last in (1..places.len()).rev() {
            places.swap(last, rng.below(last as u64 + 1) as usize);
        }
        (places, sampled)
    }

    /// Takes note of what became of samples and of the run over a range.
    pub fn note(
        &self,
        evidence: &mut Evidence,
        shown: &Shown,
        sampled: &[u64],
        (begin, end): (u64, u64),
    ) {
        let size = SAMPLE.max(self.unit);
        evidence.run_begin_bytes = begin;
        evidence.run_bytes = end - begin;
        evidence.run_sectors = evidence.run_bytes / SECTOR;
        let lost = shown.lost.iter().filter(|place| (begin..end).contains(place));
        evidence.run_lost_from = lost.clone().min().copied();
        evidence.run_kept_last = lost.clone().max().map_or(0, |last| (end - last) / SECTOR - 1);
        evidence.run_good = evidence.run_sectors.saturating_sub(lost.count() as u64);
        evidence.failed = shown.failed.len() as u64;
        let good = |offset: u64| shown.lost_within(offset, offset + size) == 0;
        let place = |&offset: &u64| Place { offset_bytes: offset, good: good(offset) };
        evidence.samples = sampled.iter().map(place).collect();
        evidence.moved.clear();
        (evidence.period_bytes, evidence.nearest_bytes) = (None, None);
        note_moved(evidence, shown);
    }

    /// Makes a trial with stamps of its own.
    pub fn run(
        &mut self,
        places: Vec<(u64, u64)>,
        after: Vec<(u64, u64)>,
        looked_at: Vec<(u64, u64)>,
    ) -> Result<Shown, Halt> {
        self.try_out(Trial { places, after, looked_at, ..Trial::default() })
    }

    /// As [`Asker::run`], with places that reach the drive in their order.
    pub fn run_in_order(
        &mut self,
        places: Vec<(u64, u64)>,
        after: Vec<(u64, u64)>,
    ) -> Result<Shown, Halt> {
        self.try_out(Trial { places, after, in_order: true, ..Trial::default() })
    }

    fn try_out(&mut self, trial: Trial) -> Result<Shown, Halt> {
        self.salt = self.salt.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        Trial { keeps: self.options.keeps, ..trial }.run(self.desk, self.salt)
    }
}

impl Shown {
    /// Sectors of a range that did not hold their stamp.
    pub fn lost_within(&self, from: u64, to: u64) -> u64 {
        self.lost.iter().filter(|place| (from..to).contains(place)).count() as u64
    }
}

pub(super) fn note_moved(evidence: &mut Evidence, shown: &Shown) {
    for &(met, written) in &shown.moved {
        let distance = met.abs_diff(written);
        evidence.period_bytes = Some(gcd(evidence.period_bytes.unwrap_or(0), distance));
        let nearest = evidence.nearest_bytes.map_or(distance, |nearest| nearest.min(distance));
        evidence.nearest_bytes = Some(nearest);
        if evidence.moved.len() < 100 {
            evidence.moved.push((met, written));
        }
    }
}

pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
