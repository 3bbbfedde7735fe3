//! Self-similarity of arrivals: how slowly their unevenness fades as windows grow.
//!
//! Counts per slot are kept over the whole trace in at most 65,536 slots, so that all lengths of window from the trace
//! over 65,536 to the trace over 16 can be looked at when it is over.

use block::Nanos;
use serde::{Deserialize, Serialize};

use crate::series::{Join, Series};

/// Most slots kept; the slot doubles beyond.
const SLOTS_MAX: usize = 1 << 16;
/// The first slot.
const FIRST: Nanos = Nanos(1 << 10);
/// Fewest windows of the longest length that is looked at.
const WINDOWS_LEAST: usize = 16;
/// Fewest lengths that a course is laid through.
const OCTAVES_LEAST: usize = 6;
/// Fewest I/Os.
const IOS_LEAST: u64 = 1000;
/// A course fits when the squares of what it misses, in their standard errors, sum to no more than this for each length
/// beyond the three that settle it.
const FIT: f64 = 2.0;
/// Above this difference of such sums, 5% of the time by chance (chi squared of one degree).
const CHI_95: f64 = 3.841_458_820_694_124;
/// Slopes that are tried: from -0.8 to 1.4 in hundredths, which are exponents from 0.1 to 1.2.
const SLOPES: std::ops::RangeInclusive<i32> = -80..=140;
/// Parts of white noise that are tried, in that of the power at the longest window: none, and from 2^-12 to 1 in
/// eighths of an octave: coarser steps, and the interval of a long trace would not hold the truth.
const SHARES: i32 = 96;

/// The Hurst exponent of arrivals: 0.5 where windows do not know of each other (a Poisson process), towards 1 where
/// busy times last at every scale.
///
/// Two estimators over the same lengths of window. The first compares neighbouring windows (Abry and Veitch, "Wavelet
/// analysis of long-range-dependent traffic", 1998, with Haar's wavelet): the mean squared difference, divided by the
/// length, grows as the length to the power of `2 H - 1`. To it we add white noise of unknown strength, since single
/// I/Os, and batches of them, are uneven at short windows however smooth their rate is, and a line through the sum of
/// both reads low. The second (Taqqu, Teverovsky and Willinger, "Estimators for long-range dependence", 1995:
/// aggregated variance) takes the variance of the mean in a window, which falls as the power of `2 H - 2`; it reads low
/// for that reason, and as the trace's own mean is taken for the true one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hurst {
    /// By differences of neighbouring windows.
    pub wavelet: Option<f64>,
    /// Lower end of its 95% interval: exponents that fit not much worse, given how the differences spread.
    pub wavelet_low: Option<f64>,
    /// Upper end.
    pub wavelet_high: Option<f64>,
    /// By the variance of means.
    pub aggregated_variance: Option<f64>,
    /// The shortest window that was looked at: the first from which on all lie on one course.
    pub from_ns: Option<u64>,
    /// The longest.
    pub to_ns: Option<u64>,
    /// How many lengths of window, each twice the one before.
    pub octaves: u64,
    /// Why there is none.
    pub why_not: Option<String>,
    /// Why it may be none, though there is a number.
    pub doubt: Option<String>,
}

/// Arrivals by slots of equal length.
#[derive(Clone, Debug)]
pub(super) struct Slots(Series<Count>);

/// I/Os that arrived in a slot. Half the memory of 64 bits, and stops at the greatest.
#[derive(Clone, Copy, Debug, Default)]
struct Count(u32);

impl Join for Count {
    fn join(&mut self, behind: Count) {
        self.0 = self.0.saturating_add(behind.0);
    }
}

/// Statistics of one length of window.
#[derive(Clone, Copy, Debug)]
struct Octave {
    /// log2 of the slots in a window.
    j: f64,
    /// log2 of the mean square of differences, less its bias.
    energy: f64,
    /// Variance of that.
    variance: f64,
    /// log2 of the variance of the mean count; `None` where it is 0.
    spread: Option<f64>,
    /// Mean I/Os in a window.
    mean: f64,
}

impl Slots {
    pub fn new() -> Slots {
        Slots(Series::new(0, FIRST.0, SLOTS_MAX))
    }

    #[inline]
    pub fn add(&mut self, at: u64) {
        self.0.cell(at).join(Count(1));
    }

    pub fn hurst(&self, ios: u64, resolution: Nanos) -> Hurst {
        let not = |why: String| Hurst { why_not: Some(why), ..Hurst::default() };
        if ios < IOS_LEAST {
            return not(format!("{ios} I/Os are too few; {IOS_LEAST} are the least"));
        }
        // The last slot is not whole.
        let counts = self.0.cells().split_last().map_or(&[][..], |(_, whole)| whole);
        let slot = self.0.step() as f64;
        let usable: Vec<Octave> = octaves(counts)
            .into_iter()
            .filter(|octave| {
                let window = slot * libm::exp2(octave.j);
                octave.mean >= 1.0 && window >= 10.0 * resolution.0 as f64
            })
            .collect();
        if usable.len() < OCTAVES_LEAST {
            let (had, least) = (usable.len(), OCTAVES_LEAST);
            return not(format!(
                "too short, or too coarse a clock: {had} lengths of window have an I/O or more each and occur \
                 {WINDOWS_LEAST} times or more, and {least} are the least"
            ));
        }
        let starts = 0..=usable.len() - OCTAVES_LEAST;
        let fitted = starts.map(|from| &usable[from..]).map(|part| (part, Course::through(part)));
        let mut fitted = fitted.filter(|(_, course)| course.missed <= FIT);
        match fitted.next() {
            Some((part, course)) => self.told(part, &course),
            None => not("no course fits: unevenness does not fade by one exponent".to_owned()),
        }
    }

    fn told(&self, part: &[Octave], course: &Course) -> Hurst {
        let exponent = |slope: f64| (slope + 1.0) / 2.0;
        let length = |octave: Option<&Octave>| {
            octave.map(|octave| (self.0.step() as f64 * libm::exp2(octave.j)) as u64)
        };
        let doubt = match course {
            Course { white: true, .. } => Some(
                "0.5 fits as well as any: no more is seen than single I/Os, or batches of them",
            ),
            Course { slope, .. } if *slope > 1.0 => {
                Some("above 1: the rate itself drifts, and the trace is not a stationary process")
            }
            _ => None,
        };
        Hurst {
            wavelet: Some(exponent(course.slope)),
            wavelet_low: Some(exponent(course.low)),
            wavelet_high: Some(exponent(course.high)),
            aggregated_variance: spread_slope(part).map(|slope| 1.0 + slope / 2.0),
            from_ns: length(part.first()),
            to_ns: length(part.last()),
            octaves: part.len() as u64,
            why_not: None,
            doubt: doubt.map(str::to_owned),
        }
    }
}

/// All lengths of window of which there are enough, the shortest first.
fn octaves(counts: &[Count]) -> Vec<Octave> {
    let mut sums: Vec<f64> = counts.iter().map(|count| f64::from(count.0)).collect();
    let mut found = Vec::new();
    let mut slots = 1.0;
    while sums.len() / 2 >= WINDOWS_LEAST {
        let pairs: Vec<(f64, f64)> = sums.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        slots *= 2.0;
        // Haar's wavelet at length 2^j: the difference of the halves over the root of the length.
        let squares: Vec<f64> = pairs.iter().map(|(a, b)| (a - b) * (a - b) / slots).collect();
        sums = pairs.iter().map(|(a, b)| a + b).collect();
        found.extend(octave(slots, &squares, &sums));
    }
    found
}

/// `None` where nothing differs.
fn octave(slots: f64, squares: &[f64], sums: &[f64]) -> Option<Octave> {
    let n = squares.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let energy = mean(squares);
    if energy <= 0.0 {
        return None;
    }
    let around: f64 = squares.iter().map(|square| (square - energy) * (square - energy)).sum();
    let ln2 = std::f64::consts::LN_2;
    // The logarithm of a mean of squares is low by this where the differences are normal: digamma(n/2) - ln(n/2).
    let half = n / 2.0;
    let bias = (-1.0 / (2.0 * half) - 1.0 / (12.0 * half * half)) / ln2;
    // The variance of the logarithm: from the squares' own spread, and never less than that of normal ones.
    let own = around / (n - 1.0) / n / (energy * energy);
    let count = mean(sums);
    let spread: f64 = sums.iter().map(|sum| (sum - count) * (sum - count)).sum::<f64>() / (n - 1.0);
    let spread = spread / (slots * slots);
    Some(Octave {
        j: libm::log2(slots),
        energy: libm::log2(energy) - bias,
        variance: own.max(2.0 / n) / (ln2 * ln2),
        spread: (spread > 0.0).then(|| libm::log2(spread)),
        mean: count,
    })
}

/// A power of the length plus white noise, through the energies.
struct Course {
    /// The power.
    slope: f64,
    /// Powers that fit not much worse, as far as they hang together with it.
    low: f64,
    high: f64,
    /// Whether white noise alone fits as well; it is then taken.
    white: bool,
    /// Squares of what the best one misses, in standard errors, for each length beyond three.
    missed: f64,
}

impl Course {
    /// The best of all slopes and parts of white noise on a grid: as fine as the report, and never a local minimum.
    fn through(octaves: &[Octave]) -> Course {
        let missed: Vec<f64> =
            SLOPES.map(|slope| missed(octaves, f64::from(slope) / 100.0)).collect();
        let best = missed.iter().copied().fold(f64::INFINITY, f64::min);
        let scale = best / (octaves.len().max(4) - 3) as f64;
        let inside =
            |index: usize| missed.get(index).is_some_and(|m| *m <= best + CHI_95 * scale.max(1.0));
        let white = SLOPES.start().unsigned_abs() as usize;
        let chosen = match missed.iter().position(|m| *m == best) {
            Some(index) if !inside(white) => index,
            _ => white,
        };
        let low = (0..=chosen).rev().take_while(|index| inside(*index)).last().unwrap_or(chosen);
        let high =
            (chosen..missed.len()).take_while(|index| inside(*index)).last().unwrap_or(chosen);
        let slope = |index: usize| f64::from(SLOPES.start() + index as i32) / 100.0;
        Course {
            slope: slope(chosen),
            low: slope(low),
            high: slope(high),
            white: chosen == white,
            missed: scale,
        }
    }
}

/// The least sum of squares that a slope misses the energies by, in their standard errors, over all parts of noise.
fn missed(octaves: &[Octave], slope: f64) -> f64 {
    let last = octaves.last().map_or(0.0, |octave| octave.j);
    let powers: Vec<f64> = octaves.iter().map(|o| libm::exp2(slope * (o.j - last))).collect();
    let weight: f64 = octaves.iter().map(|o| 1.0 / o.variance).sum();
    let with = |share: f64| {
        let rest =
            octaves.iter().zip(&powers).map(|(o, power)| (o, o.energy - libm::log2(power + share)));
        let rest: Vec<(&Octave, f64)> = rest.collect();
        let level = rest.iter().map(|(o, rest)| rest / o.variance).sum::<f64>() / weight;
        rest.iter().map(|(o, rest)| (rest - level) * (rest - level) / o.variance).sum::<f64>()
    };
    let shares = (-SHARES..=0).map(|eighth| libm::exp2(f64::from(eighth) / 8.0));
    std::iter::once(0.0).chain(shares).map(with).fold(f64::INFINITY, f64::min)
}

/// Slope of the variances of the mean, by plain least squares.
fn spread_slope(octaves: &[Octave]) -> Option<f64> {
    let known: Vec<(f64, f64)> =
        octaves.iter().filter_map(|o| o.spread.map(|s| (o.j, s))).collect();
    if known.len() < OCTAVES_LEAST {
        return None;
    }
    let n = known.len() as f64;
    let (x, y) = known.iter().fold((0.0, 0.0), |sum, v| (sum.0 + v.0 / n, sum.1 + v.1 / n));
    let along: f64 = known.iter().map(|v| (v.0 - x) * (v.1 - y)).sum();
    let across: f64 = known.iter().map(|v| (v.0 - x) * (v.0 - x)).sum();
    Some(along / across)
}
