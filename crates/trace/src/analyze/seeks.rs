//! How far the next I/O lies from the one before.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use workload::rng::Mixed;

use crate::analyze::histogram::Histogram;

/// Measures distances on one device.
#[derive(Clone, Debug)]
pub(super) struct Seeks {
    last: (u64, u64),
    closest: Distances,
    signed: Distances,
    signed_sum: i128,
    forward: u64,
    backward: u64,
}

impl Seeks {
    /// Measures from address 0 on, as btt does; counts `exact` different distances one by one.
    pub(super) fn new(exact: usize) -> Seeks {
        Seeks {
            last: (0, 0),
            closest: Distances::new(exact),
            signed: Distances::new(exact),
            signed_sum: 0,
            forward: 0,
            backward: 0,
        }
    }

    /// The next I/O or request: `length` bytes at `offset`.
    #[inline]
    pub(super) fn see(&mut self, offset: u64, length: u64) {
        let (start, end) = (offset, offset.saturating_add(length));
        let last_end = self.last.1;
        self.closest.record(closest(self.last, (start, end)));
        self.signed.record(start.abs_diff(last_end));
        self.signed_sum += i128::from(start) - i128::from(last_end);
        self.forward += u64::from(start > last_end);
        self.backward += u64::from(start < last_end);
        self.last = (start, end);
    }

    /// Returns the figures; `None` without distances.
    pub(super) fn finish(&self) -> Option<SeekFigures> {
        let n = self.closest.spread.n();
        (n > 0).then(|| SeekFigures {
            n,
            closest: self.closest.finish(),
            signed: self.signed.finish(),
            signed_mean_bytes: self.signed_sum as f64 / n as f64,
            forward: self.forward,
            backward: self.backward,
            contiguous: n - self.forward - self.backward,
        })
    }
}

/// Distance as btt measures it (`seek_dist` of btt 1.2.0): none when one end of the I/O lies in the one before or
/// touches it; forward from the end of the one before; backward from start to start.
fn closest((last_start, last_end): (u64, u64), (start, end): (u64, u64)) -> u64 {
    let within = |at: u64| last_start <= at && at <= last_end;
    if within(start) || within(end) {
        0
    } else if start > last_end {
        start - last_end
    } else {
        last_start - start
    }
}

/// Figures of the distances between I/Os or requests that follow each other on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeekFigures {
    /// Distances: as many as I/Os, since the first is measured from address 0.
    pub n: u64,
    /// As btt measures by default: 0 when the I/O begins or ends in the one before or touches it; else, forward, from
    /// its end to this start, and backward, from start to start.
    pub closest: DistanceFigures,
    /// From the end of the one before to this start (btt's `-a`), without the sign.
    pub signed: DistanceFigures,
    /// Mean of the same with the sign, in bytes.
    pub signed_mean_bytes: f64,
    /// I/Os that begin behind the end of the one before.
    pub forward: u64,
    /// I/Os that begin before the end of the one before.
    pub backward: u64,
    /// I/Os that begin where the one before ends.
    pub contiguous: u64,
}

/// Figures of distances.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistanceFigures {
    /// Mean of the exact sum, in bytes.
    pub mean_bytes: f64,
    /// Median, in bytes; exact or within 0.4%: see `exact`.
    pub median_bytes: u64,
    /// The most frequent distance, in bytes; the least of several.
    pub mode_bytes: u64,
    /// The next greater one that occurred as often, where there is one and `exact`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub second_mode_bytes: Option<u64>,
    /// How often it occurred; where not `exact`, at least this often.
    pub mode_n: u64,
    /// How many distances occurred as often; 1 where not `exact`.
    pub modes: u64,
    /// Whether each distance was counted by itself. There are too many of them in a long trace of random I/O.
    pub exact: bool,
}

#[derive(Clone, Debug)]
struct Distances {
    spread: Histogram,
    frequent: Frequent,
}

impl Distances {
    fn new(exact: usize) -> Distances {
        Distances { spread: Histogram::default(), frequent: Frequent::new(exact) }
    }

    #[inline]
    fn record(&mut self, distance: u64) {
        self.spread.record(distance);
        self.frequent.count(distance);
    }

    fn finish(&self) -> DistanceFigures {
        let (modes, mode_n) = self.frequent.modes();
        let exact = self.frequent.exact();
        let exact_median = exact.then(|| self.frequent.median(self.spread.n()));
        DistanceFigures {
            mean_bytes: self.spread.mean(),
            median_bytes: exact_median.unwrap_or_else(|| self.spread.percentile(500)),
            mode_bytes: modes.first().copied().unwrap_or(0),
            second_mode_bytes: modes.get(1).copied().filter(|_| exact),
            mode_n,
            modes: if exact { modes.len() as u64 } else { 1 },
            exact,
        }
    }
}

/// The numbers that occur most often, in bounded memory (Misra and Gries 1982): when there are too many different
/// ones, the same amount is taken from all, and those that have none left are forgotten. The remaining count of a
/// number is at most its true count, and short of it by the amount taken.
#[derive(Clone, Debug)]
struct Frequent {
    counts: HashMap<u64, u64, Mixed>,
    most: usize,
    taken: u64,
}

/// How many numbers are kept when not all can be.
const INEXACT: usize = 1 << 12;

impl Frequent {
    fn new(most: usize) -> Frequent {
        Frequent { counts: HashMap::default(), most: most.max(2), taken: 0 }
    }

    #[inline]
    fn count(&mut self, value: u64) {
        *self.counts.entry(value).or_insert(0) += 1;
        if self.counts.len() > self.most {
            self.thin();
        }
    }

    /// Takes the median count from all, which forgets at least half of them: so it is done seldom. From the first
    /// time on fewer are kept, which stay in a core's cache: the counts are no longer exact anyway.
    #[cold]
    fn thin(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        let middle = counts.len() / 2;
        let (_, median, _) = counts.select_nth_unstable(middle);
        let taken = *median;
        self.counts.retain(|_, count| {
            *count = count.saturating_sub(taken);
            *count > 0
        });
        self.taken += taken;
        if self.most > INEXACT {
            self.most = INEXACT;
            while self.counts.len() > INEXACT {
                self.thin();
            }
            self.counts.shrink_to(2 * INEXACT);
        }
    }

    fn exact(&self) -> bool {
        self.taken == 0
    }

    /// All of the most frequent, ascending, and how often each of them occurred.
    fn modes(&self) -> (Vec<u64>, u64) {
        let most = self.counts.values().copied().max().unwrap_or(0);
        let modes = self.counts.iter().filter(|(_, count)| **count == most);
        let mut modes: Vec<u64> = modes.map(|(value, _)| *value).collect();
        modes.sort_unstable();
        (modes, most)
    }

    /// The lower median of `n` numbers, all of which are counted.
    fn median(&self, n: u64) -> u64 {
        let mut counts: Vec<(u64, u64)> =
            self.counts.iter().map(|(value, count)| (*value, *count)).collect();
        counts.sort_unstable();
        let mut seen = 0;
        let reaches = |(_, count): &&(u64, u64)| {
            seen += count;
            seen >= n.div_ceil(2)
        };
        counts.iter().find(reaches).map_or(0, |(value, _)| *value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn distances_are_those_of_btt() {
        let last = (100, 110);
        let cases = [
            ((100, 110), 0), // the same again
            ((110, 120), 0), // behind
            ((105, 200), 0), // begins in it
            ((50, 100), 0),  // ends at its start
            ((111, 120), 1), // a gap forward
            ((200, 210), 90),
            ((50, 99), 50),  // backward: from start to start
            ((90, 120), 10), // covers it, which btt does not count as overlap
        ];
        for (io, distance) in cases {
            assert_eq!(closest(last, io), distance, "{io:?}");
        }
    }

    #[test]
    fn figures_of_a_short_walk() {
        let mut seeks = Seeks::new(100);
        assert_eq!(seeks.finish(), None);
        // From 0: 1,000 forward, contiguous, 2,000 forward, then back.
        for (offset, length) in [(1000, 500), (1500, 500), (4000, 1000), (1000, 100)] {
            seeks.see(offset, length);
        }
        let said = seeks.finish().unwrap();
        assert_eq!((said.n, said.forward, said.backward, said.contiguous), (4, 2, 1, 1));
        let closest = said.closest;
        assert_eq!(
            (closest.mean_bytes, closest.median_bytes),
            ((1000 + 2000 + 3000) as f64 / 4.0, 1000)
        );
        assert_eq!((closest.mode_bytes, closest.mode_n, closest.modes), (0, 1, 4));
        assert_eq!((closest.second_mode_bytes, closest.exact), (Some(1000), true));
        assert_eq!(said.signed.mean_bytes, (1000 + 2000 + 4000) as f64 / 4.0);
        assert_eq!(said.signed_mean_bytes, -250.0);
    }

    proptest! {
        // Breaks when thinning forgets a number that is more frequent than what was taken from it.
        #[test]
        fn the_frequent_are_not_forgotten(
            noise in proptest::collection::vec(0u64..10_000, 0..2000),
            often in 0u64..10_000,
            at_least in 600usize..900,
        ) {
            let mut frequent = Frequent::new(16);
            let mut exact = HashMap::new();
            let mut count = |value: u64, frequent: &mut Frequent| {
                frequent.count(value);
                *exact.entry(value).or_insert(0u64) += 1;
            };
            for (index, value) in noise.iter().enumerate() {
                count(*value, &mut frequent);
                if index < at_least {
                    count(often, &mut frequent);
                }
            }
            prop_assert!(frequent.counts.len() <= 16);
            for (value, true_count) in &exact {
                let kept = frequent.counts.get(value).copied().unwrap_or(0);
                prop_assert!(kept <= *true_count && kept + frequent.taken >= *true_count);
            }
        }

        #[test]
        fn few_distances_are_counted_exactly(mut values in proptest::collection::vec(0u64..50, 1..200)) {
            let mut distances = Distances::new(64);
            values.iter().for_each(|value| distances.record(*value));
            values.sort_unstable();
            let said = distances.finish();
            prop_assert!(said.exact);
            prop_assert_eq!(said.median_bytes, values[(values.len() - 1) / 2]);
            let of = |value: u64| values.iter().filter(|v| **v == value).count() as u64;
            prop_assert_eq!(said.mode_n, (0..50).map(of).max().unwrap());
            prop_assert_eq!(of(said.mode_bytes), said.mode_n);
        }
    }
}
