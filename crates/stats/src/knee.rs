//! Knee between two plateaus: the point at which continuous work slows down for good.

use serde::{Deserialize, Serialize};

use crate::changepoint::{Cost, Penalty, pelt};
use crate::interval::median;

/// Most bins that a series is cut into for the search.
const BINS_MAX: usize = 1024;
/// Changes that are smaller than this in the logarithm of a bin's time are taken for noise.
const SCALE_MIN: f64 = 0.05;

/// Fewest groups of a plateau; a shorter slow stretch does not count.
const LASTING_GROUPS: usize = 8;

/// The place at which a fast stretch ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// Bytes that the drive had taken where the lines of the two stretches meet.
    pub at_bytes: f64,
    /// Bytes that the drive had taken before the fast stretch's line begins: data that memory
    /// absorbed at once.
    pub head_start_bytes: f64,
    /// Speed before, in bytes per second.
    pub fast: f64,
    /// Speed after.
    pub slow: f64,
    /// Greatest distance of the series from the two lines, in bytes.
    pub error_bytes: f64,
}

/// Work in equal groups, and when each was done.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Bytes of a group.
    pub group_bytes: u64,
    /// When each group was complete, in nanoseconds since the first was begun; never falling.
    pub ends_ns: &'a [u64],
}

impl Progress<'_> {
    /// When the first `groups` groups were complete, in nanoseconds.
    pub fn time(&self, groups: usize) -> f64 {
        if groups == 0 { 0.0 } else { self.ends_ns[groups - 1] as f64 }
    }

    /// The groups at which stretches of one speed begin, and the end of the last: change points of the logarithm of time
    /// a bin, by [`pelt`], with noise from the differences of neighbours.
    pub fn cut(&self) -> Vec<usize> {
        let groups = self.ends_ns.len();
        let each = groups.div_ceil(BINS_MAX).max(1);
        let bin = |at: usize| {
            let (from, to) = (at * each, (at + 1) * each);
            ((self.time(to) - self.time(from)) / each as f64).max(1.0).ln()
        };
        let xs: Vec<f64> = (0..groups / each).map(bin).collect();
        let steps: Vec<f64> = xs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let noise = median(&steps).unwrap_or(0.0) * 1.4826 / std::f64::consts::SQRT_2;
        let cost = Cost::MeanKnownScale(noise.max(SCALE_MIN));
        let Some(found) = pelt(&xs, cost, Penalty::Mbic, 1) else { return vec![0, groups] };
        let mut cut: Vec<usize> =
            found.segments.iter().map(|segment| segment.start * each).collect();
        cut.push(groups);
        cut
    }

    /// The first knee after `from_bytes`: where it slows down for good by `ratio`. For good: what follows, for a quarter
    /// of what came before or for as much time, and eight groups at least, takes `ratio` times as long as all that came since
    /// `from_bytes`, in each of its halves.
    pub fn knee(&self, ratio: f64, from_bytes: u64) -> Option<Knee> {
        let cut = self.cut();
        let first = (from_bytes.div_ceil(self.group_bytes.max(1)) as usize).min(self.ends_ns.len());
        let inner = &cut[1..cut.len().max(2) - 1];
        inner.iter().filter(|&&at| at > first).find_map(|&at| self.lasting(ratio, first, at))
    }

    fn lasting(&self, ratio: f64, first: usize, at: usize) -> Option<Knee> {
        let groups = self.ends_ns.len();
        let fewest = at + LASTING_GROUPS;
        let quarter = fewest.max(at + (at - first) / 4);
        // A very slow stretch takes long to reach a quarter.
        let span = self.time(at) - self.time(first);
        let is_long = |last: &usize| self.time(*last) - self.time(at) >= span;
        let last = (fewest..quarter.min(groups + 1)).find(is_long).unwrap_or(quarter);
        if last > groups {
            return None;
        }
        let pace = |from: usize, to: usize| (self.time(to) - self.time(from)) / (to - from) as f64;
        let before = pace(first, at);
        // Not one slow stretch and then as before: each half of what follows is slow.
        let middle = at + (last - at) / 2;
        let after = pace(at, middle).min(pace(middle, last));
        (after >= ratio * before).then(|| self.lines(first, at, last))
    }

    /// Lines through both stretches, without the groups next to the change; where they meet.
    fn lines(&self, first: usize, at: usize, last: usize) -> Knee {
        // Data that memory absorbs at once at the beginning is not part of the first line.
        let begin = first + (at - first) / 4;
        let end = (at - (at - begin) / 8).max(begin + 1).min(at);
        let next = (at + (last - at) / 4).min(last - 1).max(at);
        let group = self.group_bytes as f64;
        let line = |from: usize, to: usize| {
            let pace = (self.time(to) - self.time(from)) / ((to - from) as f64 * group);
            (pace, self.time(from) - pace * from as f64 * group)
        };
        let ((fast, early), (slow, late)) = (line(begin, end), line(next, last));
        let at_bytes = (early - late) / (slow - fast);
        let bytes_at = |time: f64, (pace, base): (f64, f64)| (time - base) / pace;
        let error = |groups: std::ops::Range<usize>, line| {
            groups
                .map(|g| (bytes_at(self.time(g), line) - g as f64 * group).abs())
                .fold(0.0, f64::max)
        };
        Knee {
            at_bytes,
            head_start_bytes: bytes_at(self.time(first), (fast, early)) - first as f64 * group,
            fast: 1e9 / fast,
            slow: 1e9 / slow,
            error_bytes: error(begin..end, (fast, early)).max(error(next..last, (slow, late))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends of groups of a million bytes that take `spans` nanoseconds each.
    fn ends(spans: impl Iterator<Item = u64>) -> Vec<u64> {
        spans
            .scan(0, |now, span| {
                *now += span;
                Some(*now)
            })
            .collect()
    }

    // Breaks when the end of a cache is found at another place, or a moment of slowness is taken for one.
    #[test]
    fn a_fall_for_good_is_a_knee_and_a_pause_is_none() {
        let falls = ends((0..200).map(|group| if group < 80 { 1_000_000 } else { 4_000_000 }));
        let knee = Progress { group_bytes: 1_000_000, ends_ns: &falls }.knee(1.25, 0).unwrap();
        assert!((knee.at_bytes - 80e6).abs() < 1e6, "{knee:?}");
        assert!((knee.fast - 1e9).abs() < 1e6 && (knee.slow - 250e6).abs() < 1e6, "{knee:?}");
        let pauses =
            ends((0..200).map(|g| if (80..84).contains(&g) { 9_000_000 } else { 1_000_000 }));
        assert_eq!(Progress { group_bytes: 1_000_000, ends_ns: &pauses }.knee(1.25, 0), None);
        // Ten groups are less than a quarter of eighty; slow enough, they take longer than what came before.
        let short = |slow: u64| ends((0..90).map(move |g| if g < 80 { 1_000_000 } else { slow }));
        let knee = |ends: &[u64]| Progress { group_bytes: 1_000_000, ends_ns: ends }.knee(1.25, 0);
        let found = knee(&short(12_000_000)).unwrap();
        assert!((found.at_bytes - 80e6).abs() < 1e6, "{found:?}");
        assert_eq!(knee(&short(4_000_000)), None);
        assert_eq!(Progress { group_bytes: 1_000_000, ends_ns: &[] }.knee(1.25, 0), None);
    }
}
