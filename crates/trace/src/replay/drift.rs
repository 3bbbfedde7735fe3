//! Does a replay fall behind, ever more as it goes on?

use serde::{Deserialize, Serialize};
use stats::effective_sample_size;

use super::lag::Point;

/// Fewer points than this have no slope that means anything.
const POINTS_MIN: usize = 8;

/// The 97.5% quantile of the normal distribution: ends of an interval of 95%.
const Z: f64 = 1.959_963_984_540_054;

/// How much later requests are issued as the schedule goes on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Lateness gained per time of the schedule, in millionths: the median of all slopes between two points.
    pub ppm: f64,
    /// Lower end of its interval of 95%; `None` where there are too few points.
    pub low: Option<f64>,
    /// Upper end of its interval of 95%.
    pub high: Option<f64>,
    /// Points: slices of the schedule with requests.
    pub points: u64,
    /// Independent points that these are worth.
    pub points_effective: f64,
}

/// The slope of the median issue error over the schedule, by Theil and Sen: the median of the slopes between any two
/// points, which a third of points that went astray do not move.
///
/// The ends of the interval are those of Sen (JASA 63, 1968), with the variance of Kendall's score enlarged by what
/// autocorrelation takes from the points' worth, as Hamed and Rao did (J. Hydrology 204, 1998): a stall that makes
/// ten slices late is one event and not ten. `None` for fewer than 8 points.
pub(super) fn drift(points: &[Point]) -> Option<Drift> {
    let n = points.len();
    if n < POINTS_MIN {
        return None;
    }
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (i, first) in points.iter().enumerate() {
        let later = points[i + 1..].iter().filter(|second| second.due_ns > first.due_ns);
        slopes.extend(
            later.map(|second| (second.error_ns - first.error_ns) / (second.due_ns - first.due_ns)),
        );
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let slope = *slopes.get(slopes.len() / 2)?;
    let rest: Vec<f64> = points.iter().map(|p| p.error_ns - slope * p.due_ns).collect();
    let effective = effective_sample_size(&rest).unwrap_or(n as f64);
    let count = n as f64;
    let variance = count * (count - 1.0) * (2.0 * count + 5.0) / 18.0 * (count / effective);
    let reach = Z * variance.sqrt();
    // Ranks are rounded outwards.
    let lower = ((slopes.len() as f64 - reach) / 2.0).floor();
    let at = |rank: usize| slopes.get(rank).map(|slope| slope * 1e6);
    let (low, high) = if lower >= 1.0 {
        (at(lower as usize - 1), at(slopes.len() - lower as usize))
    } else {
        (None, None)
    };
    Some(Drift { ppm: slope * 1e6, low, high, points: n as u64, points_effective: effective })
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::rng::Rng;

    fn points(error: impl FnMut(usize) -> f64) -> Vec<Point> {
        let point = |(i, error_ns)| Point {
            due_ns: i as f64 * 1e6,
            count: 100,
            error_ns,
            depth: 0.0,
            own_sum_ns: 0.0,
            latency_sum_ns: 0.0,
        };
        (0..200).map(error).enumerate().map(point).collect()
    }

    #[test]
    fn a_drift_is_found_under_noise_and_stalls() {
        let mut rng = Rng::for_path(3, &[]);
        let found = drift(&points(|i| {
            let stall = if i % 10 == 0 { 5e6 } else { 0.0 };
            i as f64 * 1e6 * 50e-6 + 1000.0 * rng.exponential() + stall
        }));
        let found = found.unwrap();
        assert!(found.low.unwrap() > 40.0 && found.high.unwrap() < 60.0, "{found:?}");
    }

    #[test]
    fn the_interval_covers_zero_when_there_is_no_drift_even_if_neighbours_resemble_each_other() {
        // With independent noise assumed, a wandering error would pass for drift in most runs.
        let covered = (0..400).filter(|seed| {
            let mut rng = Rng::for_path(*seed, &[9]);
            let mut state = 0.0;
            let found = drift(&points(|_| {
                state = 0.8 * state + rng.exponential() - 1.0;
                1e4 + 1e3 * state
            }));
            found.is_some_and(|d| {
                d.low.is_none_or(|low| low <= 0.0) && d.high.is_none_or(|high| high >= 0.0)
            })
        });
        let covered = covered.count();
        assert!(covered >= 360, "{covered} of 400");
    }

    #[test]
    fn what_is_never_late_has_a_slope_of_exactly_nothing() {
        let found = drift(&points(|_| 0.0)).unwrap();
        assert_eq!((found.ppm, found.low, found.high), (0.0, Some(0.0), Some(0.0)));
        assert!(drift(&points(|_| 0.0)[..7]).is_none());
    }
}
