//! Finds the ends of erase blocks by writing, for drives whose reads show nothing.
//!
//! While as many erase blocks are open as may be, none of them complete, the first write to a further one has to close
//! one of them, and the next write that continues there does not. So four writes in order across a place show whether
//! erase blocks meet there: the first opens a block and shows what that takes, the second and the fourth continue, and
//! the third takes long exactly when it begins a block of its own. This needs neither the number of blocks that may be
//! open nor anything that reads show.

use serde::{Deserialize, Serialize};
use workload::rng::Rng;

use super::field::elapsed;
use super::page::{Shift, page};
use crate::desk::{Desk, Halt};
use crate::finding::{Finding, Name, Outcome};
use crate::known::Known;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Size of the writes: beyond what cards are known to keep a log for small writes for.
const LEN: u64 = 64 * KIB;
/// Size where kinds of pages differ by more than a merge takes: six groups of 64 KiB, and a multiple of six groups of
/// any lesser power of two, so that two or three kinds have their turns equally often.
const EVEN: u64 = 384 * KIB;
/// The largest of 2^k that is looked for; 3 x 2^k go as far again by half.
const MOST: u64 = 64 * MIB;
/// Bytes left out at the beginning, where a zone for file allocation tables may be.
const SKIP: u64 = 64 * MIB;
/// A class has no boundaries when votes against lead by this many, and has them when votes for lead by this many. An
/// erase that falls on the third write looks like a boundary, and nothing that happens by chance looks like none.
const LEADS: (i32, i32) = (-5, 8);
/// Places asked of one class at most.
const VOTES_MAX: u64 = 33;
/// Places that they lie at.
const PLACES_MAX: usize = 16;
/// Blocks opened at most before it must have begun to cost something.
const OPEN_MAX: u64 = 48;
/// Openings in a row that must cost about the same.
const OPENINGS: usize = 8;
/// Writes beyond a crossing, at most: with four of them, less than the smallest erase block whose times are even.
const EXTRA: u64 = 3;
/// Distance of places that surely lie in different blocks, where the region is large enough for it.
const FAR: u64 = 48 * MIB;

/// Why the unit of programming is not asked for: a consequence of what is said of the erase block.
pub(crate) const NO_UNIT: &str = "the erase block is not known";

/// One class of places: odd multiples of a power of two, of three or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Places are multiples of this, in bytes, and not of twice this.
    pub align_bytes: u64,
    /// True when places are multiples of 3, false when they are not.
    pub three: bool,
    /// Places where the third write took as long as the first.
    pub boundaries: u64,
    /// Places where it did not.
    pub others: u64,
    /// Median time that the third write took longer than those that go on, in nanoseconds.
    pub excess_ns: f64,
    /// Median time that the first did, in nanoseconds.
    pub opening_ns: f64,
}

/// Evidence for the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoundaryEvidence {
    /// Classes in the order in which they were asked.
    pub classes: Vec<Class>,
    /// Time that opening a block takes beyond continuing in it, in nanoseconds, as first seen.
    pub opening_ns: f64,
    /// Blocks opened before that.
    pub opened: u64,
    /// Writes moved inside erase blocks, in the order in which they were asked.
    pub shifts: Vec<Shift>,
    /// Bytes written.
    pub written_bytes: u64,
}

/// Times of the four writes across one place.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    /// Time of the first write beyond that of a write that continues.
    opening: f64,
    /// Time of the third write beyond it.
    excess: f64,
    /// Time of a write that continues.
    going_on: f64,
}

/// Finds by writing what is not known of the erase block and the unit of programming: one answer for each of them
/// that was asked for.
///
/// # Errors
/// Any [`Halt`] except a limit.
pub fn boundary(desk: &mut Desk<'_>, known: &Known) -> Result<Outcome<BoundaryEvidence>, Halt> {
    let before = desk.spent();
    let mut evidence = BoundaryEvidence::default();
    let mut findings = Vec::new();
    let mut unit = known.value(Name::EraseBlock);
    if unit.is_none() {
        let answer = Asker::new(desk, &mut evidence).erase_block();
        let finding = or_limit(Name::EraseBlock, answer)?;
        unit = finding.value;
        findings.push(finding);
    }
    if known.value(Name::MultiPlanePage).is_none() {
        findings.push(match unit {
            Some(unit) => or_limit(Name::MultiPlanePage, page(desk, unit, &mut evidence.shifts))?,
            None => Finding::unknown(Name::MultiPlanePage, NO_UNIT),
        });
    }
    evidence.written_bytes = desk.spent().since(before).written_bytes.0;
    Ok(Outcome { findings, evidence, caveats: Vec::new() })
}

/// An answer, or that a limit came before it.
fn or_limit(name: Name, answer: Result<Finding, Halt>) -> Result<Finding, Halt> {
    match answer {
        Err(halt) if halt.is_limit() => {
            Ok(Finding::unknown(name, format!("it had to end before it knew: {halt}")))
        }
        answer => answer,
    }
}

/// Asks about places.
struct Asker<'a, 'b> {
    desk: &'a mut Desk<'b>,
    evidence: &'a mut BoundaryEvidence,
    from: u64,
    end: u64,
    /// Size of the writes.
    len: u64,
    /// Recent costs of opening blocks.
    openings: Vec<f64>,
    /// How many were opened before it began to cost something: no more can be open than these.
    opened: u64,
    /// Number of the next place far apart to open.
    turn: u64,
    rng: Rng,
}

impl<'a, 'b> Asker<'a, 'b> {
    fn new(desk: &'a mut Desk<'b>, evidence: &'a mut BoundaryEvidence) -> Asker<'a, 'b> {
        let region = desk.region();
        let end = region.offset.0 + region.length.0;
        // The zone at the beginning opens nothing; a small region is used as a whole.
        let skip = SKIP.min(region.offset.0 + region.length.0 / 4);
        let from = skip.max(region.offset.0 + MIB);
        let rng = desk.rng(&[CLASSES]);
        Asker { desk, evidence, from, end, len: LEN, openings: Vec::new(), opened: 0, turn: 0, rng }
    }

    fn erase_block(mut self) -> Result<Finding, Halt> {
        if let Some(finding) = self.fill()? {
            return Ok(finding);
        }
        let unknown = |reason: &str| Ok(Finding::unknown(Name::EraseBlock, reason));
        // Multiples of three times a power of two are boundaries from the erase block's own power on.
        let least = (2 * self.len).ilog2();
        let (mut low, mut high) = (least, MOST.ilog2());
        high = high.min((self.end.saturating_sub(self.from) / 9).max(1).ilog2());
        match (low < high).then(|| self.meets(high, true)).transpose()?.flatten() {
            Some(true) => {}
            Some(false) => return unknown("no place was seen where erase blocks meet"),
            None => return unknown("places of one class do not agree, or the region is too small"),
        }
        while low < high {
            let middle = (low + high) / 2;
            match self.meets(middle, true)? {
                Some(true) => high = middle,
                Some(false) => low = middle + 1,
                None => return unknown("places of one class do not agree"),
            }
        }
        let power = 1_u64 << low;
        if low == least {
            return unknown(
                "erase blocks meet everywhere that was looked, or writes there say nothing",
            );
        }
        let Some(plain) = self.meets(low, false)? else {
            return unknown("places of one class do not agree");
        };
        let unit = if plain { power } else { 3 * power };
        if unit > 3 * MOST / 2 || !self.holds(low, plain)? {
            return unknown("asked again, the classes do not agree");
        }
        let reason = format!(
            "in order across multiples of {} KiB, a write takes as long as one that opens an erase block, and \
             between them it does not",
            unit / KIB
        );
        Ok(Finding::found(Name::EraseBlock, unit, 0.995, reason))
    }

    /// Asks the deciding classes once more: multiples of three times 2^`power` are boundaries, halves of them are not;
    /// if other multiples are not (`plain` is false), neither are those of twice as much.
    fn holds(&mut self, power: u32, plain: bool) -> Result<bool, Halt> {
        let three = self.meets(power, true)?;
        let alike = self.evidence.classes.last().is_some_and(|class| {
            // A boundary costs what opening a block costs, not half of it.
            (0.6..1.6).contains(&(class.excess_ns / class.opening_ns))
        });
        let halves = self.meets(power - 1, true)?;
        let others = self.meets(if plain { power } else { power + 1 }, false)?;
        Ok(alike && (three, halves, others) == (Some(true), Some(false), Some(plain)))
    }

    /// Opens blocks until opening one costs something; an answer when none ever does.
    fn fill(&mut self) -> Result<Option<Finding>, Halt> {
        let mut seen: Vec<Crossing> = Vec::new();
        // Twice: what was never written costs nothing to close, and was written the second time.
        for turn in 0..2 * self.far_apart() {
            seen.push(self.open_next()?);
            let last = &seen[seen.len().saturating_sub(OPENINGS)..];
            let Some(opening) = costs(last) else { continue };
            let going_on: Vec<f64> = seen.iter().map(|crossing| crossing.going_on).collect();
            if spread(&going_on) > 0.25 * opening && self.len < EVEN {
                self.len = EVEN;
                seen.clear();
                continue;
            }
            // The first of those that cost was the first too many.
            self.opened = (turn + 2).saturating_sub(OPENINGS as u64);
            self.evidence.opening_ns = opening;
            self.openings = last.iter().map(|crossing| crossing.opening).collect();
            return Ok(None);
        }
        if self.len < EVEN {
            self.len = EVEN;
            return self.fill();
        }
        let reason = format!("opening {} places far apart cost nothing", self.far_apart());
        Ok(Some(Finding::unknown(Name::EraseBlock, reason)))
    }

    /// Count of places far apart.
    fn far_apart(&self) -> u64 {
        let span = self.end.saturating_sub(self.from);
        (span / FAR).clamp(2 * OPENINGS as u64, OPEN_MAX).min(span / (4 * MIB))
    }

    /// Opens the next place of those far apart. Two writes, so that they do not complete even the smallest block.
    fn open_next(&mut self) -> Result<Crossing, Halt> {
        let count = self.far_apart().max(1);
        let step = (self.end - self.from) / count / MIB * MIB;
        let place = self.from.div_ceil(MIB) * MIB + self.turn % count * step;
        self.turn += 1;
        self.evidence.opened += 1;
        let places = [place, place + self.len].map(|at| (at, self.len));
        let times: Vec<f64> = self.desk.write("opening", &places)?.iter().map(elapsed).collect();
        let time = |n: usize| times.get(n).copied().unwrap_or(0.0);
        Ok(Crossing { opening: time(0) - time(1), excess: 0.0, going_on: time(1) })
    }

    /// Half of what opening a block takes.
    fn half(&self) -> f64 {
        stats::quantile(&self.openings, 0.5).unwrap_or(0.0) / 2.0
    }

    /// True when erase blocks meet at odd multiples of 2^`power`, those that are multiples of three or the others;
    /// null when places do not agree.
    fn meets(&mut self, power: u32, three: bool) -> Result<Option<bool>, Halt> {
        let align = 1_u64 << power;
        let (mut seen, mut lead, mut yes) = (Vec::new(), 0_i32, 0);
        let mut places = self.places(align, three);
        places.truncate(PLACES_MAX);
        // Blocks that were never written cost nothing to close, and places in them would say that nothing meets there:
        // so all hold data before one is asked.
        for place in &places {
            self.cross("to hold data", *place)?;
        }
        // So that the block of a place that comes again has been closed since.
        let between = if places.is_empty() { 0 } else { self.opened / places.len() as u64 };
        for place in places.into_iter().cycle().take(VOTES_MAX as usize) {
            for _ in 0..between {
                self.open_next()?;
            }
            let crossing = self.cross(&format!("{} KiB places", align / KIB), place)?;
            // If the first write opened nothing, its block was open: then the third shows nothing.
            if crossing.opening < self.half() {
                continue;
            }
            self.openings.push(crossing.opening);
            let boundary = crossing.excess > self.half();
            yes += u64::from(boundary);
            lead += if boundary { 1 } else { -1 };
            seen.push(crossing);
            if !(LEADS.0 + 1..LEADS.1).contains(&lead) {
                break;
            }
        }
        let all = |part: fn(&Crossing) -> f64| seen.iter().map(part).collect::<Vec<f64>>();
        let median = |values: &[f64]| stats::quantile(values, 0.5).unwrap_or(0.0);
        self.evidence.classes.push(Class {
            align_bytes: align,
            three,
            boundaries: yes,
            others: seen.len() as u64 - yes,
            excess_ns: median(&all(|crossing| crossing.excess)),
            opening_ns: median(&all(|crossing| crossing.opening)),
        });
        Ok((!(LEADS.0 + 1..LEADS.1).contains(&lead)).then_some(lead > 0))
    }

    /// Places of a class in random order, spread over the region.
    fn places(&mut self, align: u64, three: bool) -> Vec<u64> {
        let mut rng =
            self.desk.rng(&[CLASSES, align, u64::from(three), self.evidence.classes.len() as u64]);
        let (first, last) =
            ((self.from + 2 * self.len).div_ceil(align), (self.end - 2 * self.len) / align);
        let fits = |n: u64| n % 2 == 1 && n.is_multiple_of(3) == three;
        let mut places: Vec<u64> = if last.saturating_sub(first) < 512 {
            (first..=last).filter(|n| fits(*n)).map(|n| n * align).collect()
        } else {
            let draw = |_| first + rng.below(last - first + 1);
            let drawn = (0..64 * VOTES_MAX).map(draw).filter(|n| fits(*n));
            drawn.take(VOTES_MAX as usize).map(|n| n * align).collect()
        };
        rng.shuffle(&mut places);
        places
    }

    /// Writes in order across `place`.
    fn cross(&mut self, part: &str, place: u64) -> Result<Crossing, Halt> {
        let len = self.len;
        // Some writes beyond, a number drawn each time: events that occur once in a fixed number of bytes, as erases
        // may, must not fall on the same write of each crossing.
        let beyond = self.rng.below(EXTRA + 1);
        let mut places: Vec<(u64, u64)> =
            [place - 2 * len, place - len, place, place + len].map(|at| (at, len)).to_vec();
        places.extend((0..beyond).map(|n| (place + 2 * len + n * LEN, LEN)));
        places.retain(|(at, len)| at + len <= self.end);
        let times: Vec<f64> = self.desk.write(part, &places)?.iter().map(elapsed).collect();
        let time = |n: usize| times.get(n).copied().unwrap_or(0.0);
        let going_on = time(1).min(time(3));
        Ok(Crossing { opening: time(0) - going_on, excess: time(2) - going_on, going_on })
    }
}

/// Purpose of the random numbers that choose places.
const CLASSES: u64 = 0x636c_6173;

/// Cost of opening in all of the last crossings, if it is clear.
fn costs(last: &[Crossing]) -> Option<f64> {
    let openings: Vec<f64> = last.iter().map(|crossing| crossing.opening).collect();
    let (low, median) = (stats::quantile(&openings, 0.2)?, stats::quantile(&openings, 0.5)?);
    let going_on: Vec<f64> = last.iter().map(|crossing| crossing.going_on).collect();
    let usual = stats::quantile(&going_on, 0.5)?;
    let clear = low > 0.5 * median && low > (0.1 * usual).min(spread(&going_on));
    (last.len() >= OPENINGS && clear).then_some(median)
}

/// Width of the middle four fifths.
fn spread(values: &[f64]) -> f64 {
    let width = || Some(stats::quantile(values, 0.9)? - stats::quantile(values, 0.1)?);
    width().unwrap_or(0.0)
}
