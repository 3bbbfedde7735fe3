//! From what is sure of pairs to what is sure of ranks.

use serde::{Deserialize, Serialize};

/// The ranks that one of several may have; 1 is the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankInterval {
    /// One more than those that are surely above it.
    pub best: usize,
    /// The count of all less those that are surely below it.
    pub worst: usize,
}

/// The ranks of `count` things of which `above(a, b)` says that a is surely higher than b.
///
/// Where the probability that any of these answers is wrong is at most α, as [`super::judge`] has it, all true ranks lie
/// within their intervals with 1 - α (Al Mohamad, Goeman and van Zwet, "Simultaneous confidence intervals for ranks",
/// with Tukey's procedure in the place of Holm's). What is above something that is above a third is above the third: that
/// follows, and costs no certainty. Answers that contradict each other, a above b above a, say nothing of either's rank.
pub fn rank_intervals(count: usize, above: impl Fn(usize, usize) -> bool) -> Vec<RankInterval> {
    let mut is_above: Vec<Vec<bool>> =
        (0..count).map(|a| (0..count).map(|b| a != b && above(a, b)).collect()).collect();
    for middle in 0..count {
        for a in 0..count {
            for b in 0..count {
                is_above[a][b] |= is_above[a][middle] && is_above[middle][b];
            }
        }
    }
    let interval = |of: usize| {
        if is_above[of][of] {
            return RankInterval { best: 1, worst: count };
        }
        let above_it = (0..count).filter(|&other| is_above[other][of]).count();
        let below_it = (0..count).filter(|&other| is_above[of][other]).count();
        RankInterval { best: 1 + above_it, worst: count - below_it }
    };
    (0..count).map(interval).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Contrast, Design, Outcome, judge};
    use crate::rng::Stream;

    fn ranks(count: usize, above: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let found = rank_intervals(count, |a, b| above.contains(&(a, b)));
        found.iter().map(|rank| (rank.best, rank.worst)).collect()
    }

    // A rank that is one off ranks a drive before one that beat it.
    #[test]
    fn ranks_are_what_the_pairs_leave_open() {
        assert_eq!(ranks(0, &[]), []);
        assert_eq!(ranks(3, &[]), [(1, 3), (1, 3), (1, 3)]);
        // 2 is above both others, whose order is open.
        assert_eq!(ranks(3, &[(2, 0), (2, 1)]), [(2, 3), (2, 3), (1, 1)]);
        // Only the order of the outer two is known.
        assert_eq!(ranks(3, &[(0, 2)]), [(1, 2), (1, 3), (2, 3)]);
        // That 0 is above 2 follows, though no pair shows it.
        assert_eq!(ranks(3, &[(0, 1), (1, 2)]), [(1, 1), (2, 2), (3, 3)]);
        // A contradiction, and a fourth that has nothing to do with it.
        assert_eq!(ranks(3, &[(0, 1), (1, 0)]), [(1, 3), (1, 3), (1, 3)]);
    }

    /// Normal by the sum of twelve.
    fn noise(stream: &mut Stream) -> f64 {
        (0..12).map(|_| stream.open01()).sum::<f64>() - 6.0
    }

    // Breaks when a ranking is more certain than its pairs: of 5 drives, two alike, ranks that are called sure would be wrong
    // too often; or when it is empty talk: those that are far apart would not be ranked.
    #[test]
    fn true_ranks_lie_within_as_often_as_is_said() {
        let truth = [100.0, 103.0, 103.0, 106.0, 130.0];
        let true_ranks = [(5, 5), (3, 4), (3, 4), (2, 2), (1, 1)];
        let (mut all_within, mut first_is_sure) = (0, 0);
        let mut stream = Stream::new(20_261_124);
        for _ in 0..400 {
            let runs: Vec<Vec<f64>> = (truth.iter())
                .map(|rate| (0..12).map(|_| rate * (1.0 + 0.03 * noise(&mut stream))).collect())
                .collect();
            let pairs: Vec<(usize, usize)> =
                (1..truth.len()).flat_map(|of| (0..of).map(move |to| (of, to))).collect();
            let contrasts: Vec<Contrast> = (pairs.iter())
                .filter_map(|&(of, to)| Contrast::new(&runs[of], &runs[to], Design::Blocks))
                .collect();
            let judged = judge(&contrasts, 0.95, 0.02);
            let above = |a: usize, b: usize| {
                pairs.iter().zip(&judged).any(|(&(of, to), judged)| match judged.outcome {
                    Outcome::Higher => (of, to) == (a, b),
                    Outcome::Lower => (to, of) == (a, b),
                    _ => false,
                })
            };
            let found = rank_intervals(truth.len(), above);
            let is_within = |(rank, (best, worst)): (&RankInterval, &(usize, usize))| {
                rank.best <= *best && *worst <= rank.worst
            };
            all_within += usize::from(found.iter().zip(&true_ranks).all(is_within));
            first_is_sure += usize::from(found[4] == RankInterval { best: 1, worst: 1 });
        }
        // Fewer than 362 of 400 come with 95% once in ten thousand.
        assert!(all_within >= 362, "{all_within}");
        assert!(first_is_sure >= 380, "{first_is_sure}");
    }
}
