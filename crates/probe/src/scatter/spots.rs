//! Places that are read again and again, and what their times say: noise from repeats, a level for each place.

use block::Nanos;
use engine::Sample;
use workload::rng::Rng;

use crate::desk::{Desk, Halt};

/// Reads of one script: short beside what a probe may take, so that time is looked at often enough.
const SCRIPT_READS: usize = 128;

/// A read this many deviations from the median of its place does not belong to the place's level: of reads with normal
/// noise this excludes one in 16,000, and other activity of the drive (a spike, a retry) is not about the place.
const CLIP: f64 = 4.0;

/// Half of normal noise lies within this many deviations of the middle.
const MAD_OF_NORMAL: f64 = 1.4826;

/// A place and the time of each of its reads, in the order of reading, nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spot {
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) times: Vec<f64>,
}

impl Spot {
    pub(super) fn new(offset: u64, len: u64) -> Spot {
        Spot { offset, len, times: Vec::new() }
    }

    /// Least time; zero when it was never read.
    pub(super) fn min(&self) -> f64 {
        let least = self.times.iter().copied().fold(f64::INFINITY, f64::min);
        if least.is_finite() { least } else { 0.0 }
    }

    /// Median of its times; zero when it was never read.
    pub(super) fn median(&self) -> f64 {
        median_of(&mut self.times.clone())
    }

    /// Its level: the mean of the reads that are not far from their median, with its standard error.
    pub(super) fn level(&self, noise: Noise) -> Option<Level> {
        if self.times.is_empty() {
            return None;
        }
        let (middle, far) = (self.median(), CLIP * noise.sigma);
        let near = self.times.iter().filter(|time| (**time - middle).abs() <= far);
        let (sum, n) = near.fold((0.0, 0_usize), |(sum, n), time| (sum + time, n + 1));
        // Of two reads of which one was disturbed, none is near the middle of both: the lesser one is.
        let (mean, n) = if n == 0 { (self.min(), 1) } else { (sum / n as f64, n) };
        Some(Level { mean, error: noise.sigma / (n as f64).sqrt(), n })
    }
}

/// Mean of a place's reads, and its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    /// Mean, ns.
    pub(super) mean: f64,
    /// Its standard error, ns.
    pub(super) error: f64,
    /// Reads that it is the mean of.
    pub(super) n: usize,
}

/// How reads of one place differ among themselves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Noise {
    /// Standard deviation of one read, ns, without the few that lie far out.
    pub(super) sigma: f64,
    /// Median time of a read, ns.
    pub(super) base: f64,
}

impl Noise {
    /// From the differences of successive reads of the same place, by their median: neither what differs from place
    /// to place nor the few reads that take ten times as long are in it. None with fewer than ten pairs.
    pub(super) fn of<'a>(spots: impl Iterator<Item = &'a Spot>) -> Option<Noise> {
        let (mut apart, mut middles) = (Vec::new(), Vec::new());
        for spot in spots.filter(|spot| !spot.times.is_empty()) {
            apart.extend(spot.times.windows(2).map(|pair| (pair[1] - pair[0]).abs()));
            middles.push(spot.median());
        }
        if apart.len() < 10 {
            return None;
        }
        let sigma = MAD_OF_NORMAL * median_of(&mut apart) / std::f64::consts::SQRT_2;
        // A clock of coarse ticks gives equal times: a tick is then the noise.
        Some(Noise { sigma: sigma.max(1.0), base: median_of(&mut middles) })
    }
}

/// Share of the reads that do not belong to the level of their place.
pub(super) fn astray<'a>(spots: impl Iterator<Item = &'a Spot>, noise: Noise) -> f64 {
    let (mut far, mut all) = (0, 0);
    for spot in spots {
        let middle = spot.median();
        let is_far = |time: &&f64| (**time - middle).abs() > CLIP * noise.sigma;
        far += spot.times.iter().filter(is_far).count();
        all += spot.times.len();
    }
    far as f64 / all.max(1) as f64
}

/// Median; zero of nothing.
pub(super) fn median_of(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !even {
        return *upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    f64::midpoint(lower, *upper)
}

/// Reads each spot of `sets` once a round, `rounds` times, each round in an order of its own. Two reads that follow
/// each other are at least `apart` bytes apart where the places allow it: the first would leave the second's data in
/// the drive's memory, or pass for a read in sequence. True when all rounds were made; false when time was over.
///
/// # Errors
/// Any [`Halt`] except a limit.
pub(super) fn read_rounds(
    desk: &mut Desk<'_>,
    part: &str,
    sets: &mut [&mut Vec<Spot>],
    rounds: usize,
    apart: u64,
    rng: &mut Rng,
) -> Result<bool, Halt> {
    let all = |sets: &[&mut Vec<Spot>]| -> Vec<(usize, usize)> {
        let each = sets.iter().enumerate();
        each.flat_map(|(set, spots)| (0..spots.len()).map(move |spot| (set, spot))).collect()
    };
    let mut last = None;
    for _ in 0..rounds {
        let mut order = all(sets);
        rng.shuffle(&mut order);
        let offset = |(set, spot): (usize, usize)| sets[set][spot].offset;
        keep_apart(&mut order, last, apart, offset);
        last = order.last().map(|place| offset(*place));
        for part_of in order.chunks(SCRIPT_READS) {
            let places: Vec<(u64, u64)> = part_of
                .iter()
                .map(|(set, spot)| (sets[*set][*spot].offset, sets[*set][*spot].len))
                .collect();
            let samples = match desk.read(part, &places) {
                Ok(samples) => samples,
                Err(halt) if halt.is_limit() => return Ok(false),
                Err(halt) => return Err(halt),
            };
            for ((set, spot), sample) in part_of.iter().zip(&samples) {
                sets[*set][*spot].times.push(time(sample));
            }
        }
    }
    Ok(true)
}

/// Time of a read, ns.
fn time(sample: &Sample) -> f64 {
    sample.completed.0.saturating_sub(sample.issued.0) as f64
}

/// Puts another place between two that are close.
fn keep_apart(
    order: &mut [(usize, usize)],
    mut last: Option<u64>,
    apart: u64,
    offset: impl Fn((usize, usize)) -> u64,
) {
    for at in 0..order.len() {
        if let Some(before) = last {
            let far = |place: &(usize, usize)| offset(*place).abs_diff(before) >= apart;
            if let Some(other) = (at..order.len()).find(|other| far(&order[*other])) {
                order.swap(at, other);
            }
        }
        last = Some(offset(order[at]));
    }
}

/// A span in seconds that a share of `time` comes to.
pub(super) fn share(time: Nanos, percent: u64) -> Nanos {
    Nanos(time.0 / 100 * percent)
}
