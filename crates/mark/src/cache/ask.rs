//! Reads, and reads again. Nothing is ever written.

use std::collections::VecDeque;

use block::{Bytes, Nanos, Op};
use engine::{Bench, BenchError};
use workload::content::SectorContent;
use workload::plan::{Content, Region};
use workload::rng::Rng;
use workload::script::{Access, Script};

use super::infer::{self, Pairs, Where};
use super::{Area, Found, Held, Look, Served};

/// Length of the part of the drive that is read in, where the drive has as much.
pub(super) const AREA: Bytes = Bytes::gib(1);
/// Pairs of a look.
const PAIRS: usize = 16;
/// Transfer of a run: a disk's platters take several times as long for it as its link.
const RUN_BLOCK: Bytes = Bytes::kib(256);
/// The shortest run, which is read again as a whole.
const RUN_MIN: Bytes = Bytes(RUN_BLOCK.0 * PAIRS as u64);
/// Scattered blocks lie in different parts of this length, so that reading ahead brings none of the others.
const STRIDE: Bytes = Bytes::mib(2);
/// Share of the time that runs may take; what they leave is for scattered blocks.
const RUN_SHARE: f64 = 0.6;
/// Keeps this draw apart from those of the runs.
const PATH: [u64; 1] = [0x0063_6163_6865];

/// Asks the drive on `bench` what it holds of data read in `area`, for at most about `budget`, in an order that `seed`
/// draws.
///
/// # Errors
/// [`BenchError`] when a read fails, or the user wants to stop.
pub fn ask(
    bench: &mut dyn Bench,
    area: Area,
    budget: Nanos,
    seed: u64,
) -> Result<Found, BenchError> {
    let info = bench.info();
    let block = Bytes::kib(4).max(info.physical_block_bytes).max(info.logical_block_bytes);
    let place = Where { turns: info.rotational == Some(true), may_be_held: area.may_be_held };
    let began = bench.now();
    let mut asker = Asker { bench, area: area.region, began, read: Bytes::ZERO };
    let in_sequence = asker.in_sequence(Nanos((budget.0 as f64 * RUN_SHARE) as u64))?;
    let (scattered, firsts) = asker.scattered(block, budget, seed)?;
    let spent = (asker.read, asker.spent());
    Ok(infer::found(in_sequence, scattered, &firsts, place, spent))
}

struct Asker<'a> {
    bench: &'a mut dyn Bench,
    area: Region,
    began: Nanos,
    read: Bytes,
}

impl Asker<'_> {
    /// Runs twice as long each time, each in a place of its own in the second half of the area: where the area is what was
    /// measured, sequential tests begin in the first.
    fn in_sequence(&mut self, until: Nanos) -> Result<Held, BenchError> {
        let mut at = Bytes(self.area.length.0 / 2).round_down(STRIDE);
        let (mut looks, mut length, mut last) = (Vec::new(), RUN_MIN, Nanos::ZERO);
        // A run twice as long takes twice the time.
        while self.has_time(last + last, until) && !is_last(&looks) {
            let began = self.spent();
            let Some(look) = self.run(&mut at, length)? else { break };
            let confirmed = match look.served {
                Served::Yes => self.run(&mut at, length)?,
                _ => None,
            };
            looks.push(both(look, confirmed));
            last = self.spent() - began;
            length = Bytes(2 * length.0);
        }
        Ok(infer::held(looks))
    }

    /// Reads a run at `at`, and its first blocks again; `None` where there is no room for it.
    fn run(&mut self, at: &mut Bytes, length: Bytes) -> Result<Option<Look>, BenchError> {
        if *at + length > self.area.length {
            return Ok(None);
        }
        let begin = *at;
        *at = begin + length + STRIDE;
        let blocks = (0..length.0 / RUN_BLOCK.0).map(|i| begin + Bytes(i * RUN_BLOCK.0));
        let mut first = self.read(blocks.clone(), RUN_BLOCK)?;
        let again = self.read(blocks.take(PAIRS), RUN_BLOCK)?;
        first.truncate(PAIRS);
        Ok(Pairs { bytes: length, first, again }.look())
    }

    /// Blocks of the first half of the area, twice as many each time; those that were read longest ago are read again, so
    /// that each comes back after all the others. With them, the times of all first reads.
    fn scattered(
        &mut self,
        block: Bytes,
        until: Nanos,
        seed: u64,
    ) -> Result<(Held, Vec<f64>), BenchError> {
        let mut places: Vec<u64> = (0..self.area.length.0 / 2 / STRIDE.0).collect();
        Rng::for_path(seed, &PATH).shuffle(&mut places);
        let mut places = places.into_iter().map(|place| Bytes(place * STRIDE.0));
        // By their last use, with the time of the first.
        let mut used: VecDeque<(Bytes, f64)> = VecDeque::new();
        let (mut looks, mut firsts, mut count) = (Vec::new(), Vec::new(), PAIRS);
        let mut next = Nanos::ZERO;
        while self.has_time(next, until) && !is_last(&looks) {
            let fresh: Vec<Bytes> = places.by_ref().take(count - used.len()).collect();
            if fresh.len() + used.len() < count {
                break;
            }
            let times = self.read(fresh.iter().copied(), block)?;
            firsts.extend(&times);
            used.extend(fresh.into_iter().zip(times));
            let Some(look) = self.oldest(&mut used, block)? else { break };
            let confirmed = match look.served {
                // The same blocks would be compared with the same first reads, and those of this moment may all have been
                // slow: others are read, which the next look needs too.
                Served::Yes if count == PAIRS => {
                    let fresh: Vec<Bytes> = places.by_ref().take(PAIRS).collect();
                    let times = self.read(fresh.iter().copied(), block)?;
                    firsts.extend(&times);
                    let mut others = fresh.into_iter().zip(times).collect();
                    let confirmed = self.oldest(&mut others, block)?;
                    used.extend(others);
                    confirmed
                }
                Served::Yes => self.oldest(&mut used, block)?,
                _ => None,
            };
            looks.push(both(look, confirmed));
            count *= 2;
            let reads = count.saturating_sub(used.len()) + PAIRS;
            let each = firsts.iter().sum::<f64>() / firsts.len() as f64;
            next = Nanos((reads as f64 * each) as u64);
        }
        Ok((infer::held(looks), firsts))
    }

    /// Reads again what was read longest ago.
    fn oldest(
        &mut self,
        used: &mut VecDeque<(Bytes, f64)>,
        block: Bytes,
    ) -> Result<Option<Look>, BenchError> {
        let bytes = Bytes(used.len() as u64 * block.0);
        let oldest: Vec<(Bytes, f64)> = used.drain(..PAIRS.min(used.len())).collect();
        let again = self.read(oldest.iter().map(|(place, _)| *place), block)?;
        let first = oldest.iter().map(|(_, time)| *time).collect();
        used.extend(oldest);
        Ok(Pairs { bytes, first, again }.look())
    }

    fn spent(&self) -> Nanos {
        self.bench.now() - self.began
    }

    /// True when what takes `next` fits into the time.
    fn has_time(&self, next: Nanos, until: Nanos) -> bool {
        self.spent() + next <= until
    }

    /// Times of reads one after the other, in nanoseconds. Places are relative to the area.
    fn read(
        &mut self,
        places: impl Iterator<Item = Bytes>,
        len: Bytes,
    ) -> Result<Vec<f64>, BenchError> {
        let base = self.area.offset;
        let access = |place| Access { op: Op::Read, fua: false, offset: base + place, len };
        let script = Script::one_by_one(places.map(access));
        self.read += Bytes(script.accesses().len() as u64 * len.0);
        let nothing = || Box::new(SectorContent::new(Content::default(), 0, 0)) as _;
        let samples = self.bench.run(&script, &nothing)?;
        Ok(samples.iter().map(|sample| (sample.completed - sample.issued).0 as f64).collect())
    }
}

/// Confirms a cache only if both looks show it: for a while all reads of a machine may be slow for another reason, and then
/// the reads after that look as if a cache had served them.
fn both(look: Look, confirmed: Option<Look>) -> Look {
    match (look.served, confirmed.map(|look| look.served)) {
        (Served::Yes, Some(Served::Yes)) => look,
        (Served::Yes, _) => Look { served: Served::Unclear, ..look },
        _ => look,
    }
}

/// True when no larger amount is worth its time, or looks are used up.
fn is_last(looks: &[Look]) -> bool {
    let is_no = |look: &Look| look.served == Served::No;
    looks.last().is_some_and(is_no) || looks.len() >= infer::LOOKS_MAX / 2
}
