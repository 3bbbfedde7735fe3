//! What a drive really holds: fake drives, found by sampling.
//!
//! A drive that claims too much either drops what is written above its real end, or writes it elsewhere: the address
//! wraps. A run of stamps at the very end finds both: it cannot be read back, or it is met again further down.

mod judge;
mod stamp;
mod trial;

use serde::{Deserialize, Serialize};

pub use judge::infer;

use self::stamp::SECTOR;
use self::trial::{Shown, Trial};
use crate::desk::{Desk, Halt};
use crate::finding::Outcome;
use crate::known::Known;

/// Places that one round of the search for the end tries.
const ROUND: u64 = 16;
/// Length of the run at the end: its share of the drive, and its bounds.
const RUN_SHARE: u64 = 1024;
const RUN_MIN: u64 = 16 << 20;
const RUN_MAX: u64 = 256 << 20;
/// What is written after each round of stamps, to push them out of caches.
const FLOOD: u64 = 16 << 20;
/// Length of a sampled place.
const SAMPLE: u64 = 4096;

/// What may be chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// What was there is kept in memory and put back.
    pub keeps: bool,
    /// Least share of bad places that is to be noticed; 0 to 1.
    pub bad_share: f64,
    /// Probability of not noticing that many; 0 to 1.
    pub error: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options { keeps: true, bad_share: 0.05, error: 0.02 }
    }
}

impl Options {
    /// Places to be sampled: so many good ones in a row would come of so many bad ones with no more than the stated
    /// probability, `(1 - bad_share)^n <= error`.
    pub fn samples(&self) -> u64 {
        let (bad, error) = (self.bad_share.clamp(1e-4, 0.5), self.error.clamp(1e-9, 0.5));
        (error.ln() / (1.0 - bad).ln()).ceil() as u64
    }
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What the drive claims.
    pub claimed_bytes: u64,
    /// Length of the run of stamps at its end.
    pub run_bytes: u64,
    /// Of these, sectors that were read back as written.
    pub run_good: u64,
    /// Sectors of it.
    pub run_sectors: u64,
    /// Places sampled at random.
    pub samples: Vec<Place>,
    /// Where a stamp was met, and where it had been written; bytes. At most a hundred.
    pub moved: Vec<(u64, u64)>,
    /// Greatest common divisor of all distances at which stamps were met.
    pub period_bytes: Option<u64>,
    /// Least of these distances.
    pub nearest_bytes: Option<u64>,
    /// A stamp written at that distance from the beginning was met at the beginning.
    pub wraps: Option<bool>,
    /// Where what is written is lost from, and where it is still kept before that; the search's last bounds.
    pub end: Option<(u64, u64)>,
    /// False when the drive delivered no data to look at.
    pub has_data: bool,
    /// Every place was tried that was to be tried.
    pub complete: bool,
    /// Probability of not noticing what the options say.
    pub error: f64,
    /// Least share of bad places that would have been noticed.
    pub bad_share: f64,
    /// The limit that ended it, if one did.
    pub limit: Option<String>,
}

/// A sampled place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Where.
    pub offset_bytes: u64,
    /// All of it was read back as written.
    pub good: bool,
}

/// Asks the drive.
///
/// # Errors
/// [`Halt`] that is no limit. What was overwritten was put back before this returns, with [`Options::keeps`].
pub fn probe(desk: &mut Desk<'_>, _: &Known, options: &Options) -> Result<Outcome<Evidence>, Halt> {
    let mut evidence = Evidence {
        claimed_bytes: desk.info().capacity_bytes.0,
        error: options.error,
        bad_share: options.bad_share,
        has_data: true,
        ..Evidence::default()
    };
    match Asker::new(desk, options).ask(&mut evidence) {
        Err(halt) if !halt.is_limit() => return Err(halt),
        Err(limit) => evidence.limit = Some(limit.to_string()),
        Ok(()) => {}
    }
    let finding = infer(&evidence);
    Ok(Outcome { findings: vec![finding], evidence, caveats: Vec::new() })
}

struct Asker<'d, 'a> {
    desk: &'d mut Desk<'a>,
    options: &'d Options,
    /// Unit of all places.
    unit: u64,
    /// Of the next stamps.
    salt: u64,
}

impl<'d, 'a> Asker<'d, 'a> {
    fn new(desk: &'d mut Desk<'a>, options: &'d Options) -> Asker<'d, 'a> {
        let unit = desk.info().logical_block_bytes.0.max(SECTOR);
        let salt = desk.rng(&[0x0063_6170]).next_u64();
        Asker { desk, options, unit, salt }
    }

    fn ask(&mut self, evidence: &mut Evidence) -> Result<(), Halt> {
        let (region, claimed) = (self.desk.region(), evidence.claimed_bytes);
        if region.offset.0 > 0 || region.length.0 < claimed || claimed < 8 * FLOOD {
            return Ok(());
        }
        if !self.desk.may_write() {
            return Err(Halt::NoConsent);
        }
        let begin = self.first(evidence)?;
        if !evidence.has_data {
            return Ok(());
        }
        if evidence.nearest_bytes.is_some() {
            self.confirm_wrap(evidence)?;
        } else if evidence.run_good < evidence.run_sectors {
            self.search_end(evidence, begin)?;
        }
        evidence.complete = true;
        Ok(())
    }

    /// The run at the end, places at random, and a look over the whole drive. Gives back where the run begins.
    fn first(&mut self, evidence: &mut Evidence) -> Result<u64, Halt> {
        let (claimed, unit) = (evidence.claimed_bytes, self.unit);
        let run = (claimed / RUN_SHARE).clamp(RUN_MIN, RUN_MAX).min(claimed / 8) / unit * unit;
        let begin = (claimed - run) / unit * unit;
        let mut rng = self.desk.rng(&[0x7361_6d70]);
        let size = SAMPLE.max(unit);
        let mut sampled: Vec<u64> = (0..self.options.samples())
            .map(|_| FLOOD + rng.below((begin - FLOOD) / size) * size)
            .collect();
        sampled.sort_unstable();
        sampled.dedup();
        let mut places: Vec<(u64, u64)> = sampled.iter().map(|&offset| (offset, size)).collect();
        for last in (1..places.len()).rev() {
            places.swap(last, rng.below(last as u64 + 1) as usize);
        }
        places.push((begin, claimed / unit * unit - begin));
        let looked_at = (0..begin / run).map(|n| (begin - (n + 1) * run, unit)).collect();
        let after = vec![(0, FLOOD)];
        let shown = self.run(&Trial { places, after, looked_at, keeps: self.options.keeps })?;
        evidence.has_data = shown.delivered > 0;
        evidence.run_bytes = claimed / unit * unit - begin;
        evidence.run_sectors = evidence.run_bytes / SECTOR;
        let lost_of_run = shown.lost_within(begin, claimed);
        evidence.run_good = evidence.run_sectors.saturating_sub(lost_of_run);
        let good = |offset: u64| shown.lost_within(offset, offset + size) == 0;
        evidence.samples = sampled
            .iter()
            .map(|&offset| Place { offset_bytes: offset, good: good(offset) })
            .collect();
        note_moved(evidence, &shown);
        Ok(begin)
    }

    fn run(&mut self, trial: &Trial) -> Result<Shown, Halt> {
        self.salt = self.salt.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        trial.run(self.desk, self.salt)
    }

    /// A stamp written one period above the beginning, and nothing else, must be met at the beginning.
    fn confirm_wrap(&mut self, evidence: &mut Evidence) -> Result<(), Halt> {
        let Some(period) = evidence.nearest_bytes.filter(|p| p.is_multiple_of(self.unit)) else {
            return Ok(());
        };
        let before = period.saturating_sub(self.unit);
        let trial = Trial {
            places: vec![(period, self.unit)],
            after: Vec::new(),
            looked_at: vec![(0, self.unit), (before, self.unit)],
            keeps: self.options.keeps,
        };
        let shown = self.run(&trial)?;
        evidence.wraps = Some(shown.moved.contains(&(0, period)) && shown.own > 0);
        Ok(())
    }

    /// Narrows down where what is written is lost from, between what the samples say and the run at the end.
    fn search_end(&mut self, evidence: &mut Evidence, run: u64) -> Result<(), Halt> {
        let bad =
            evidence.samples.iter().filter(|place| !place.good).map(|place| place.offset_bytes);
        let mut lost = bad.min().unwrap_or(run + evidence.run_bytes - self.unit) / self.unit;
        let good =
            evidence.samples.iter().filter(|place| place.good).map(|place| place.offset_bytes);
        let mut kept =
            good.filter(|offset| offset / self.unit < lost).max().unwrap_or(0) / self.unit;
        while lost - kept > 1 {
            let count = ROUND.min(lost - kept - 1);
            let tried: Vec<u64> =
                (1..=count).map(|n| kept + (lost - kept) * n / (count + 1)).collect();
            let places = tried.iter().map(|at| (at * self.unit, self.unit)).collect();
            let after = vec![(0, FLOOD.min(kept * self.unit))];
            let keeps = self.options.keeps;
            let shown = self.run(&Trial { places, after, looked_at: Vec::new(), keeps })?;
            note_moved(evidence, &shown);
            let is_lost = |at: &u64| shown.lost_within(at * self.unit, (at + 1) * self.unit) > 0;
            match tried.iter().position(is_lost) {
                Some(first) => {
                    lost = tried[first];
                    kept = first.checked_sub(1).map_or(kept, |before| tried[before]);
                }
                None => kept = tried[tried.len() - 1],
            }
            evidence.end = Some((kept * self.unit, lost * self.unit));
        }
        evidence.end = Some((kept * self.unit, lost * self.unit));
        Ok(())
    }
}

impl Shown {
    /// Sectors of a range that did not hold their stamp.
    fn lost_within(&self, from: u64, to: u64) -> u64 {
        self.lost.iter().filter(|place| (from..to).contains(place)).count() as u64
    }
}

fn note_moved(evidence: &mut Evidence, shown: &Shown) {
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

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
