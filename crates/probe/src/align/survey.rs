//! Survey before boundaries are tested: which parts of the drive were never written, whether it caches reads, whether it
//! reads ahead, and whether its times are those of a moving head.

use block::{Bytes, Nanos, Op};
use serde::{Deserialize, Serialize};
use workload::script::{Access, Script};

use super::estimate::median;
use super::sampler::{Ground, took};
use crate::desk::{Desk, Halt};

/// Parts of the region that are looked at one by one.
const PARTS: u64 = 64;
/// Reads in each.
const READS: usize = 4;
/// Reads that are made again, or gone on from.
const AGAIN: usize = 32;
/// From this correlation between the way from the read before and the time, a head is thought to move: of reads
/// that have nothing to do with each other one in a billion surveys shows it.
const SEEKS: f64 = 0.4;
/// Share of a first read's time below which a repeated read was answered from memory.
const FROM_MEMORY: f64 = 0.75;
/// The same of a read that goes on where one ended: the command itself takes its time all the same.
const AHEAD: f64 = 0.9;
/// Pairs of reads, and the share of a single read's time below which they are served at once: one after the other
/// they take that of two, less what the command of the second hides behind the first. Two dies of several kinds of pages
/// take up to 1.5 times, since half of the pairs meet on one die and the others wait for the slower page.
const PAIRS: usize = 48;
const PAIRS_ROUNDS: usize = 6;
const AT_ONCE: f64 = 1.6;
/// From this share on of places that hold nothing, a drive passes for one that was hardly written.
const BLANK: f64 = 0.5;
/// The beginning of a drive is often kept in another way.
const HEAD_BYTES: u64 = 64 << 20;

/// Results of the survey.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Typical time of a read at a random place, in nanoseconds.
    pub read_ns: f64,
    /// Ranges in bytes that are answered much faster than the rest, as what was never written is: not read across.
    pub never_written: Vec<(u64, u64)>,
    /// Share of the places read, 0 to 1, that hold zeros or ones alone, as what was never written or was discarded does;
    /// null where no content was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blank: Option<f64>,
    /// Time of a read that was made a little before, as a share of the first one's.
    pub again: Option<f64>,
    /// Time of a read that goes on where the one before ended, as a share of the first one's.
    pub next: Option<f64>,
    /// Time of two reads issued together at places of their own, as a share of a single one's.
    #[serde(default)]
    pub pair: Option<f64>,
    /// Correlation of ranks between the way from the read before and the time, -1 to 1.
    pub way_correlation: Option<f64>,
}

impl Conditions {
    /// True when most of what was read is as if nothing had ever been written.
    pub fn is_blank(&self) -> bool {
        self.blank.is_some_and(|share| share >= BLANK)
    }

    /// True when a read of the same bytes again is answered from memory.
    pub fn has_read_cache(&self) -> bool {
        self.again.is_some_and(|share| share < FROM_MEMORY)
    }

    /// True when reads in sequence are answered from memory.
    pub fn reads_ahead(&self) -> bool {
        self.next.is_some_and(|share| share < AHEAD)
    }

    /// True when two reads are served at once, as by a drive of several dies behind a map of pages.
    pub fn serves_at_once(&self) -> bool {
        self.pair.is_some_and(|share| share < AT_ONCE)
    }

    /// True when times depend on how far the place is from the one before, as where a head moves.
    pub fn seeks(&self) -> bool {
        self.way_correlation.is_some_and(|correlation| correlation > SEEKS)
    }

    pub(super) fn ground(&self, (from, to): (u64, u64)) -> Ground {
        let head = HEAD_BYTES.min((to - from) / 16);
        Ground {
            from: from.max(head),
            to,
            empty: self.never_written.clone(),
            forgets: !self.has_read_cache(),
        }
    }
}

/// Surveys `range` with reads of `block` bytes. At a limit it returns what it has found so far.
pub(super) fn survey(
    desk: &mut Desk<'_>,
    range: (u64, u64),
    block: u64,
) -> Result<Conditions, Halt> {
    let mut conditions = Conditions::default();
    match look(desk, range, block, &mut conditions) {
        Err(halt) if !halt.is_limit() => Err(halt),
        _ => Ok(conditions),
    }
}

fn look(
    desk: &mut Desk<'_>,
    (from, to): (u64, u64),
    block: u64,
    conditions: &mut Conditions,
) -> Result<(), Halt> {
    let mut rng = desk.rng(&[0x7375_7276]);
    let blocks = (to - from) / block;
    let parts = PARTS.min(blocks);
    let bound = |part: u64| blocks / parts * part;
    let mut places: Vec<(u64, u64)> = (0..parts)
        .flat_map(|part| std::iter::repeat_n(part, READS))
        .map(|part| (part, from + (bound(part) + rng.below(bound(part + 1) - bound(part))) * block))
        .collect();
    rng.shuffle(&mut places);
    let reads: Vec<(u64, u64)> = places.iter().map(|&(_, at)| (at, block)).collect();
    let (mut seen, mut blank) = (0_u32, 0_u32);
    let samples = desk.read_for_data("survey", &reads, &mut |_, data| {
        seen += 1;
        let all = |byte: u8| data.iter().all(|it| *it == byte);
        blank += u32::from(all(0) || all(0xff));
    })?;
    conditions.blank = (seen > 0).then(|| f64::from(blank) / f64::from(seen));
    let times: Vec<f64> = samples.iter().map(took).collect();
    conditions.read_ns = median(&mut times.clone());
    conditions.way_correlation = correlation(&reads, &times);
    let by_part: Vec<Vec<f64>> = (0..parts)
        .map(|part| {
            let of = places.iter().zip(&times).filter(|((p, _), _)| *p == part);
            of.map(|(_, time)| *time).collect()
        })
        .collect();
    let range = |part: u64| (from + bound(part) * block, from + bound(part + 1) * block);
    conditions.never_written = empty(&by_part).into_iter().map(range).collect();
    let written =
        |at: u64| !conditions.never_written.iter().any(|&(from, to)| (from..to).contains(&at));
    // Those made last are the likeliest to be in memory still.
    let old = reads.iter().copied().zip(times).filter(|((at, _), _)| written(*at));
    let (old, first): (Vec<(u64, u64)>, Vec<f64>) = old.rev().take(AGAIN).unzip();
    conditions.again = ratio(times_of(desk, "again", &old)?, first);
    let last = to - 2 * block;
    let next: Vec<(u64, u64)> = old
        .iter()
        .flat_map(|&(at, _)| [(at.min(last), block), (at.min(last) + block, block)])
        .collect();
    let times = times_of(desk, "next", &next)?;
    let (steps, firsts): (Vec<_>, Vec<_>) =
        times.chunks(2).filter(|c| c.len() == 2).map(|c| (c[1], c[0])).unzip();
    conditions.next = ratio(steps, firsts);
    conditions.pair = pairs(desk, (from, to), block, &written)?;
    Ok(())
}

/// Time of two reads together as a share of a single one's, where the drive was written. Where reads vary as much as they
/// take, more pairs are read, and what is left open is taken for served at once: a card serves one after the other
/// for certain.
fn pairs(
    desk: &mut Desk<'_>,
    (from, to): (u64, u64),
    block: u64,
    written: &impl Fn(u64) -> bool,
) -> Result<Option<f64>, Halt> {
    let mut rng = desk.rng(&[0x7375_7276, 1]);
    let blocks = (to - from) / block;
    let (mut together, mut single) = (Vec::new(), Vec::new());
    let mut ratio = None;
    for _ in 0..PAIRS_ROUNDS {
        let places: Vec<u64> = (0..32 * PAIRS)
            .map(|_| from + rng.below(blocks) * block)
            .filter(|at| written(*at))
            .take(3 * PAIRS)
            .collect();
        let mut script = Script::new();
        for three in places.chunks_exact(3) {
            let read = |&at: &u64| Access {
                op: Op::Read,
                fua: false,
                offset: Bytes(at),
                len: Bytes(block),
            };
            script.group(Nanos::ZERO, &[read(&three[0])]);
            script.group(Nanos::ZERO, &three[1..].iter().map(read).collect::<Vec<_>>());
        }
        let samples = desk.run("pairs", &script)?;
        for three in samples.chunks_exact(3) {
            single.push(took(&three[0]));
            let issued = three[1].issued.0.min(three[2].issued.0);
            together.push((three[1].completed.0.max(three[2].completed.0) - issued) as f64);
        }
        ratio = at_once(&together, &single);
        if ratio.is_none_or(|(ratio, least)| ratio < AT_ONCE || least >= AT_ONCE) {
            return Ok(ratio.map(|(ratio, _)| ratio));
        }
    }
    Ok(ratio.map(|(_, least)| least))
}

/// Time of pairs as a share of that of single reads, and the least that it may be.
fn at_once(together: &[f64], single: &[f64]) -> Option<(f64, f64)> {
    // Some random pairs meet on one die: the fastest quarter can be distinguished from the rest even with two dies.
    let fast = stats::quantile(together, 0.25)?;
    let usual = stats::quantile(single, 0.5)?;
    // Two standard errors of the rank, to the side of a smaller ratio.
    let off =
        |values: &[f64], share: f64| 2.0 * (share * (1.0 - share) / values.len() as f64).sqrt();
    let low = stats::quantile(together, (0.25 - off(together, 0.25)).max(0.0))?;
    let high = stats::quantile(single, (0.5 + off(single, 0.5)).min(1.0))?;
    let error = ((fast - low) / fast).hypot((high - usual) / usual);
    // The same of each pair beside the single read before it, which a drive that slows down now and then serves alike.
    let beside: Vec<f64> = together.iter().zip(single).map(|(pair, one)| pair / one).collect();
    let beside = stats::quantile(&beside, (0.25 - off(together, 0.25)).max(0.0))?;
    let ratio = fast / usual;
    (usual > 0.0).then(|| (ratio, (ratio * (1.0 - error)).max(beside).max(0.0)))
}

fn times_of(desk: &mut Desk<'_>, part: &str, reads: &[(u64, u64)]) -> Result<Vec<f64>, Halt> {
    Ok(desk.read(part, reads)?.iter().map(took).collect())
}

/// Ratio of medians.
fn ratio(mut over: Vec<f64>, mut under: Vec<f64>) -> Option<f64> {
    let (over, under) = (median(&mut over), median(&mut under));
    (under > 0.0).then(|| over / under)
}

/// Parts that are answered much faster than the rest. Kinds of pages make fast and slow reads too, but in every part;
/// so there are such parts where nearly every part is of one sort, but for one read.
fn empty(by_part: &[Vec<f64>]) -> Vec<u64> {
    let mut times: Vec<f64> = by_part.iter().flatten().copied().collect();
    let Some((threshold, apart)) = two_sorts(&mut times) else { return Vec::new() };
    let fast = |part: &Vec<f64>| part.iter().filter(|time| **time < threshold).count();
    let is_empty = |part: &&Vec<f64>| fast(part) + 1 >= READS;
    let mixed = by_part.iter().filter(|part| (2..READS - 1).contains(&fast(part))).count();
    let count = by_part.iter().filter(is_empty).count();
    // A slow zone at the beginning leaves the rest no less written.
    let slow_min = (by_part.len() * 15).div_ceil(100);
    let stands = apart > 0.05 * threshold
        && mixed <= by_part.len() / 32
        && count >= 2
        && count + slow_min <= by_part.len();
    if !stands {
        return Vec::new();
    }
    (0..).zip(by_part).filter(|(_, part)| is_empty(part)).map(|(part, _)| part).collect()
}

/// The threshold that leaves the least variance on its two sides (Otsu 1979), and how far their means are apart. The
/// slowest fiftieth, which may be anything, does not count.
fn two_sorts(times: &mut [f64]) -> Option<(f64, f64)> {
    times.sort_by(f64::total_cmp);
    let times = &times[..times.len() - times.len() / 50];
    let total: f64 = times.iter().sum();
    let (mut below, mut best) = (0.0, (0.0, None));
    for at in 1..times.len() {
        below += times[at - 1];
        let (n, m) = (at as f64, (times.len() - at) as f64);
        let apart = (total - below) / m - below / n;
        let between = n * m * apart * apart;
        if between > best.0 {
            best = (between, Some(((times[at - 1] + times[at]) / 2.0, apart)));
        }
    }
    best.1
}

/// Spearman's correlation between the way from the read before and the time.
fn correlation(reads: &[(u64, u64)], times: &[f64]) -> Option<f64> {
    let ways: Vec<f64> = reads.windows(2).map(|w| w[0].0.abs_diff(w[1].0) as f64).collect();
    let (ways, times) = (ranks(&ways), ranks(times.get(1..)?));
    let mean = (ways.len() as f64 - 1.0) / 2.0;
    let product: f64 = ways.iter().zip(&times).map(|(a, b)| (a - mean) * (b - mean)).sum();
    let square: f64 = ways.iter().map(|a| (a - mean).powi(2)).sum();
    (square > 0.0).then(|| product / square)
}

/// Place of each value in ascending order; of equal ones in the order given.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    for (rank, index) in order.into_iter().enumerate() {
        ranks[index] = rank as f64;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a drive that is written throughout loses parts to noise, or one that is empty for the most part is
    // read across there: boundaries of nothing cost nothing.
    #[test]
    fn empty_parts_stand_out() {
        let noise = |n: usize, m: usize| (n * 7 % 11 + m * 5 % 7) as f64;
        let drive = |time: fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
            let part = |n| (0..READS).map(|m| time(n, m) + noise(n, m)).collect();
            (0..64).map(part).collect()
        };
        assert!(empty(&drive(|_, _| 500.0)).is_empty());
        assert_eq!(
            empty(&drive(|n, _| if n >= 20 { 400.0 } else { 500.0 })),
            (20..64).collect::<Vec<u64>>()
        );
        // A few slow parts, as a zone at the beginning is, make the others no less written.
        assert!(empty(&drive(|n, _| if n < 4 { 700.0 } else { 500.0 })).is_empty());
        // Two kinds of pages, anywhere.
        assert!(
            empty(&drive(|n, m| if (n * 13 + m * 29) % 7 < 3 { 400.0 } else { 500.0 })).is_empty()
        );
        // One spike in a part changes nothing.
        let spiked = drive(|n, m| {
            if n == 40 && m == 2 {
                9000.0
            } else if n >= 20 {
                400.0
            } else {
                500.0
            }
        });
        assert_eq!(empty(&spiked).len(), 44);
        assert!(empty(&[]).is_empty());
    }

    // Breaks when pairs whose times vary as much as they take pass for reads that are served one after the other.
    #[test]
    fn pairs_that_vary_leave_it_open() {
        let times = |usual: f64, spread: f64| -> Vec<f64> {
            (0..48).map(|n| usual + spread * (f64::from(n * 29 % 48) - 23.5) / 23.5).collect()
        };
        let (ratio, least) = at_once(&times(200.0, 4.0), &times(100.0, 2.0)).unwrap();
        assert!(ratio > AT_ONCE && least > AT_ONCE, "{ratio} {least}");
        let (ratio, least) = at_once(&times(200.0, 40.0), &times(100.0, 60.0)).unwrap();
        assert!(ratio > AT_ONCE && least < AT_ONCE, "{ratio} {least}");
        let (ratio, _) = at_once(&times(105.0, 4.0), &times(100.0, 2.0)).unwrap();
        assert!(ratio < AT_ONCE, "{ratio}");
        assert_eq!(at_once(&[], &[]), None);
    }

    #[test]
    fn a_head_that_moves_is_seen() {
        let reads: Vec<(u64, u64)> = (0..200).map(|n| (n * n * 7919 % 100_003, 1)).collect();
        let moved = |w: &[(u64, u64)]| w[0].0.abs_diff(w[1].0) as f64;
        let mut times = vec![0.0];
        times.extend(reads.windows(2).map(|w| 4000.0 + moved(w) * 0.1));
        assert!(correlation(&reads, &times).unwrap() > 0.99);
        let other: Vec<f64> = (0..200).map(|n| f64::from(n * 31 % 97)).collect();
        assert!(correlation(&reads, &other).unwrap().abs() < SEEKS);
        assert_eq!(correlation(&reads[..1], &[1.0]), None);
    }
}
