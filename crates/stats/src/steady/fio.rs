//! The steady-state detection of fio, as two of its versions compute it, defects included: so that a run of another
//! person's can be judged by the rule that ended it.
//!
//! Once an interval fio takes the rate since the last one into a ring of `ss_dur / ss_interval` samples, and when the
//! ring is full it compares either the greatest distance from the mean or the slope of the least-squares line *per
//! sample* with the limit. What it cannot know: how long the window is against the drive. A limit in percent a sample
//! allows a window of n samples a drift of n - 1 times as much.
//!
//! Formulas: fio's `steadystate.c`; which version overflows was seen on the programs themselves
//! (`docs/method/steady-state.md`).

use serde::{Deserialize, Serialize};

/// Version of fio whose arithmetic is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// fio 3.33: one sample a second; the sums over the positions of samples have 64 bits.
    V3_33,
    /// fio 3.42: `ss_interval`; those sums are computed in `int`, so that the sum of squares overflows from 1,025
    /// samples on, and rates are multiplied by the time that went by where they should be divided by it.
    V3_42,
}

/// Quantity that is compared with the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// Greatest distance of an interval's IOPS from their mean.
    Iops,
    /// Slope of the IOPS, a sample.
    IopsSlope,
    /// Greatest distance of an interval's bytes a second from their mean.
    Bw,
    /// Slope of the bytes a second, a sample.
    BwSlope,
}

impl Criterion {
    fn is_slope(self) -> bool {
        matches!(self, Criterion::IopsSlope | Criterion::BwSlope)
    }
}

/// Below what it counts as steady.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// IOPS or bytes a second.
    Absolute(f64),
    /// Percent of the mean.
    Percent(f64),
}

/// `steadystate=`, `steadystate_duration=` and what goes with them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Version of fio whose arithmetic is used.
    pub version: Version,
    /// Quantity that is compared with the limit.
    pub criterion: Criterion,
    /// Below what it counts as steady.
    pub limit: Limit,
    /// `ss_dur`, in seconds.
    pub window_s: u32,
    /// `ss_interval`, in milliseconds; 1,000 by default, and always in [`Version::V3_33`].
    pub interval_ms: u32,
    /// `ss_ramp`, in seconds. Recording begins one second after it.
    pub ramp_s: u32,
}

impl Settings {
    /// One sample a second, no ramp.
    pub fn new(version: Version, criterion: Criterion, limit: Limit, window_s: u32) -> Settings {
        Settings { version, criterion, limit, window_s, interval_ms: 1_000, ramp_s: 0 }
    }

    /// Samples of a window. `None` when there is none, when fio would divide by zero (an interval below a second), or
    /// when there are more than 2^24, which fio would not hold either.
    ///
    /// An interval that is not a whole number of seconds is cut down to one, as fio does.
    pub fn samples(&self) -> Option<usize> {
        let interval_s = match self.version {
            Version::V3_33 => 1,
            Version::V3_42 => self.interval_ms / 1_000,
        };
        let samples = self.window_s.checked_div(interval_s)?;
        (1..=1 << 24).contains(&samples).then_some(samples as usize)
    }

    /// Intervals that go by before the first sample is kept.
    fn skipped(&self) -> u64 {
        if self.ramp_s == 0 {
            return 0;
        }
        let until_ms = (u64::from(self.ramp_s) + 1) * 1_000;
        let interval_ms = match self.version {
            Version::V3_33 => 1_000,
            Version::V3_42 => u64::from(self.interval_ms.max(1)),
        };
        until_ms.div_ceil(interval_ms) - 1
    }

    /// The rate that fio notes for `count` I/Os or bytes in an interval that took `elapsed_ms`. `None` where fio would
    /// divide by zero.
    ///
    /// [`Version::V3_42`] multiplies by the time that went by: a sample 1% late, with 1% more in it, reads 2% high.
    pub fn rate_per_s(&self, count: u64, elapsed_ms: u64) -> Option<u64> {
        match self.version {
            Version::V3_33 => count.wrapping_mul(1_000).checked_div(elapsed_ms),
            Version::V3_42 => {
                let interval_ms = u64::from(self.interval_ms);
                elapsed_ms.wrapping_mul(count).checked_div(interval_ms * interval_ms / 1_000)
            }
        }
    }
}

/// Figures that fio computed when its ring was full.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Intervals since the job began, this one included: with one a second, the second at which fio looked.
    pub interval: u64,
    /// Slope a sample, for criteria of slope. With the overflow it may be next to nothing, or of the wrong sign.
    pub slope_per_sample: Option<f64>,
    /// Greatest distance from the mean, for the others.
    pub deviation: Option<f64>,
    /// Figure that is compared with the limit, in its unit.
    pub criterion: f64,
    /// Mean of the window, cut down to a whole number: what fio reports, and its user takes.
    pub mean: u64,
    /// The criterion is below the limit, and fio ends the job.
    pub attained: bool,
}

/// fio's ring of samples, and its sums, which roll on from window to window.
#[derive(Clone, Debug)]
pub struct Replica {
    settings: Settings,
    ring: Vec<u64>,
    samples: usize,
    /// Index of the oldest sample, once the ring is full.
    oldest: usize,
    /// Of all samples in the ring, when it is full.
    sum_y: u64,
    sum_xy: u64,
    sums: PositionSums,
    intervals: u64,
    attained: bool,
}

/// Sums over the positions 0 to n - 1 of samples, as the version has them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PositionSums {
    x: u64,
    x_squared: u64,
}

impl PositionSums {
    fn of(version: Version, samples: usize) -> PositionSums {
        match version {
            Version::V3_33 => {
                let n = samples as u64;
                PositionSums { x: n * (n - 1) / 2, x_squared: (n - 1) * n * (2 * n - 1) / 6 }
            }
            Version::V3_42 => {
                // `int`, which wraps; then a cast to 64 bits without sign, which keeps a negative sum as a huge one.
                let n = i32::try_from(samples).unwrap_or(i32::MAX);
                let x = n.wrapping_mul(n - 1) / 2;
                let squared =
                    (n - 1).wrapping_mul(n).wrapping_mul(n.wrapping_mul(2).wrapping_sub(1)) / 6;
                PositionSums {
                    x: i64::from(x).cast_unsigned(),
                    x_squared: i64::from(squared).cast_unsigned(),
                }
            }
        }
    }
}

impl Replica {
    /// An empty one; `None` when [`Settings::samples`] is.
    pub fn new(settings: Settings) -> Option<Replica> {
        let samples = settings.samples()?;
        Some(Replica {
            settings,
            ring: Vec::new(),
            samples,
            oldest: 0,
            sum_y: 0,
            sum_xy: 0,
            sums: PositionSums::of(settings.version, samples),
            intervals: 0,
            attained: false,
        })
    }

    /// Takes the rate of the next interval, in IOPS or bytes a second as the criterion asks; see
    /// [`Settings::rate_per_s`]. Says what fio computes: `None` until the ring is full, and after it attained, since
    /// the job is over then.
    pub fn push(&mut self, rate_per_s: u64) -> Option<Check> {
        self.intervals += 1;
        if self.attained || self.intervals <= self.settings.skipped() {
            return None;
        }
        if self.ring.len() < self.samples {
            self.ring.push(rate_per_s);
            if self.ring.len() < self.samples {
                return None;
            }
            for (position, y) in (0_u64..).zip(&self.ring) {
                self.sum_y = self.sum_y.wrapping_add(*y);
                self.sum_xy = self.sum_xy.wrapping_add(position.wrapping_mul(*y));
            }
        } else {
            let gone = std::mem::replace(&mut self.ring[self.oldest], rate_per_s);
            self.oldest = (self.oldest + 1) % self.samples;
            self.sum_y = self.sum_y.wrapping_sub(gone).wrapping_add(rate_per_s);
            let newest = (self.samples as u64).wrapping_mul(rate_per_s);
            self.sum_xy = self.sum_xy.wrapping_sub(self.sum_y).wrapping_add(newest);
        }
        let check = self.check();
        self.attained = check.attained;
        Some(check)
    }

    fn check(&self) -> Check {
        let n = self.samples as f64;
        let mean = self.sum_y / self.samples as u64;
        let (value, of) = if self.settings.criterion.is_slope() {
            // In percent fio takes the slope of the mean without its fraction, but the deviation of the whole mean.
            (self.slope(), mean as f64)
        } else {
            (self.deviation(), self.sum_y as f64 / n)
        };
        let (criterion, limit) = match self.settings.limit {
            Limit::Absolute(limit) => (value, limit),
            Limit::Percent(limit) => (100.0 * value / of, limit),
        };
        let is_slope = self.settings.criterion.is_slope();
        Check {
            interval: self.intervals,
            slope_per_sample: is_slope.then_some(value),
            deviation: (!is_slope).then_some(value),
            criterion,
            mean,
            attained: criterion.abs() < limit,
        }
    }

    fn slope(&self) -> f64 {
        let n = self.samples as f64;
        let PositionSums { x, x_squared } = self.sums;
        let products = self.sum_xy as f64 - x as f64 * self.sum_y as f64 / n;
        products / (x_squared as f64 - x as f64 * x as f64 / n)
    }

    fn deviation(&self) -> f64 {
        let mean = self.sum_y as f64 / self.samples as f64;
        self.ring.iter().map(|y| (*y as f64 - mean).abs()).fold(0.0, f64::max)
    }
}

/// fio's judgement of a whole series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The check at which it ended the job; `None` when it did not.
    pub attained: Option<Check>,
    /// The last check; `None` when the ring was never full.
    pub last: Option<Check>,
}

/// Judges rates of intervals in the order in which they were measured. `None` when [`Settings::samples`] is.
pub fn judge(settings: Settings, rates_per_s: &[u64]) -> Option<Judgement> {
    let mut replica = Replica::new(settings)?;
    let mut last = None;
    for rate in rates_per_s {
        let Some(check) = replica.push(*rate) else { continue };
        last = Some(check);
        if check.attained {
            break;
        }
    }
    Some(Judgement { attained: last.filter(|check| check.attained), last })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 40 jobs of 100 IOPS that end one after the other, every 50 seconds.
    fn falling() -> Vec<u64> {
        (0..2_000).map(|second| 100 * (40 - second / 50)).collect()
    }

    fn first_check(version: Version, window_s: u32) -> Check {
        let limit = Limit::Percent(0.01);
        let settings = Settings::new(version, Criterion::IopsSlope, limit, window_s);
        let mut replica = Replica::new(settings).unwrap();
        falling().into_iter().find_map(|iops| replica.push(iops)).unwrap()
    }

    // Seen on the programs: 3.42 calls a load steady that falls to nothing, when the window is half an hour; with
    // 1,000 seconds it does not, and 3.33 does not either. A replica that is right where fio is wrong would not show
    // why somebody's run ended.
    #[test]
    fn an_overflow_makes_a_fall_to_nothing_steady() {
        let wrong = first_check(Version::V3_42, 1_800);
        assert!(wrong.attained);
        let slope = wrong.slope_per_sample.unwrap();
        assert!(slope.is_sign_negative() && slope > -1e-6, "{slope}");
        assert_eq!((wrong.interval, wrong.mean), (1_800, 2_250));

        let right = first_check(Version::V3_33, 1_800);
        assert!(!right.attained);
        assert!((right.slope_per_sample.unwrap() + 1.998).abs() < 0.005, "{right:?}");

        for version in [Version::V3_33, Version::V3_42] {
            let short = first_check(version, 1_000);
            assert!(!short.attained);
            let slope = short.slope_per_sample.unwrap();
            assert!((slope + 1.985).abs() < 0.02, "{version:?}: {slope}");
        }
    }

    // 1,024 samples are the last that `int` can hold; from there on the two versions part, and between them lie
    // windows in which the sign turns over.
    #[test]
    fn versions_agree_up_to_1024_samples_and_part_beyond() {
        let sums = |version, n| PositionSums::of(version, n);
        for n in [1, 2, 60, 1_023, 1_024] {
            assert_eq!(sums(Version::V3_33, n), sums(Version::V3_42, n), "{n}");
        }
        for n in [1_025, 1_200, 1_291, 1_800, 3_600, 7_200] {
            assert_ne!(sums(Version::V3_33, n), sums(Version::V3_42, n), "{n}");
        }
        let turned = first_check(Version::V3_42, 1_291).slope_per_sample.unwrap();
        assert!(turned > 0.3, "the sign is wrong, and the size a third: {turned}");
    }

    // Breaks when a rolling sum forgets a term: it would drift away from the slope of the window.
    #[test]
    fn rolling_sums_are_those_of_the_window() {
        let rates: Vec<u64> = (0..400_u64).map(|i| 5_000 + (i * 7_919) % 613 - i).collect();
        let settings =
            Settings::new(Version::V3_33, Criterion::IopsSlope, Limit::Absolute(0.0), 50);
        let mut replica = Replica::new(settings).unwrap();
        for (end, rate) in (1..).zip(&rates) {
            let Some(check) = replica.push(*rate) else { continue };
            let window: Vec<f64> = rates[end - 50..end].iter().map(|y| *y as f64).collect();
            let mean = window.iter().sum::<f64>() / 50.0;
            let products: f64 =
                window.iter().enumerate().map(|(i, y)| (i as f64 - 24.5) * (y - mean)).sum();
            let squares: f64 = (0..50).map(|i| (f64::from(i) - 24.5).powi(2)).sum();
            let slope = check.slope_per_sample.unwrap();
            assert!((slope - products / squares).abs() < 1e-8, "{end}: {slope}");
            assert_eq!((check.mean, check.interval), (mean as u64, end as u64));
        }
    }

    #[test]
    fn one_outlier_holds_a_criterion_of_deviation_up() {
        let mut rates = vec![1_000; 30];
        rates[5] = 1_200;
        let settings = Settings::new(Version::V3_42, Criterion::Iops, Limit::Percent(2.0), 10);
        let judged = judge(settings, &rates).unwrap();
        // It leaves the ring with the sixteenth interval.
        assert_eq!(judged.attained.map(|check| check.interval), Some(16));
        assert_eq!(judged.attained.map(|check| check.mean), Some(1_000));
    }

    #[test]
    fn a_ramp_is_left_out_with_the_second_after_it() {
        let rates: Vec<u64> = (0..60).map(|i| if i < 20 { 10 } else { 1_000 }).collect();
        let mut settings = Settings::new(Version::V3_42, Criterion::Iops, Limit::Percent(1.0), 10);
        assert_eq!(judge(settings, &rates).unwrap().attained.map(|c| c.mean), Some(10));
        settings.ramp_s = 20;
        let judged = judge(settings, &rates).unwrap().attained.unwrap();
        assert_eq!((judged.interval, judged.mean), (30, 1_000));
    }

    // A sample that comes 1% late has 1% more in it: 3.33 finds the same rate, 3.42 one that is 2% too high.
    #[test]
    fn a_late_sample_is_counted_twice_over() {
        let settings = |version| Settings::new(version, Criterion::Iops, Limit::Percent(1.0), 10);
        assert_eq!(settings(Version::V3_33).rate_per_s(10_100, 1_010), Some(10_000));
        assert_eq!(settings(Version::V3_42).rate_per_s(10_100, 1_010), Some(10_201));
        assert_eq!(settings(Version::V3_42).rate_per_s(10_000, 1_000), Some(10_000));
        assert_eq!(settings(Version::V3_33).rate_per_s(1, 0), None);
    }

    #[test]
    fn what_fio_would_divide_by_zero_is_refused() {
        let mut settings = Settings::new(Version::V3_42, Criterion::Iops, Limit::Percent(1.0), 10);
        settings.interval_ms = 500;
        assert_eq!(settings.samples(), None);
        assert!(judge(settings, &[1, 2]).is_none());
        settings.interval_ms = 2_000;
        assert_eq!(settings.samples(), Some(5));
        settings.window_s = 1;
        assert_eq!(settings.samples(), None);
        // All zeroes: the mean is zero, the criterion no number, and no number is below a limit.
        let slope = Settings::new(Version::V3_33, Criterion::IopsSlope, Limit::Percent(1.0), 4);
        let judged = judge(slope, &[0; 9]).unwrap();
        assert!(judged.attained.is_none() && judged.last.unwrap().criterion.is_nan());
        assert_eq!(judge(slope, &[]).unwrap().last, None);
    }
}
