//! Sides in the order of their throughput, with the ranks that the verdicts leave open.

use stats::compare::rank_intervals;

use super::comparison::{ComparedTest, Figures, Pair, Ranked, Verdict};

/// Relation between sides that share their ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// There is only one.
    Alone,
    /// Each is equivalent to each other.
    Equivalent,
    /// Not all are, and no two of them are known to differ.
    NotToldApart,
}

/// Sides that follow each other and have the same ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The best rank of each.
    pub best: usize,
    /// The worst.
    pub worst: usize,
    /// Their indices, by falling median.
    pub sides: Vec<usize>,
    /// Relation between them.
    pub tie: Tie,
}

/// The sides of a test by falling median, those left out whose number was withdrawn, missing or zero.
pub(super) fn ranking(sides: &[Option<Figures>], pairs: &[Pair]) -> Vec<Ranked> {
    let median = |side: usize| {
        let figures = sides[side].as_ref().filter(|figures| figures.headline)?;
        // Zero is not a speed: the runs were too short for one I/O.
        figures.mb_s.median.filter(|median| *median > 0.0).map(|median| (side, median))
    };
    let mut ranked: Vec<(usize, f64)> = (0..sides.len()).filter_map(median).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let is_faster = |a: usize, b: usize| {
        let (a, b) = (ranked[a].0, ranked[b].0);
        pairs.iter().any(|pair| match pair.outcome {
            Verdict::Faster => (pair.of, pair.to) == (a, b),
            Verdict::Slower => (pair.to, pair.of) == (a, b),
            _ => false,
        })
    };
    let ranks = rank_intervals(ranked.len(), is_faster);
    let of = |(&(side, _), rank): (&(usize, f64), &stats::compare::RankInterval)| Ranked {
        side,
        best: rank.best,
        worst: rank.worst,
    };
    ranked.iter().zip(&ranks).map(of).collect()
}

impl ComparedTest {
    /// The ranking with neighbours of the same ranks together.
    pub fn groups(&self) -> Vec<Group> {
        let same = |a: &Ranked, b: &Ranked| (a.best, a.worst) == (b.best, b.worst);
        let group = |ranked: &[Ranked]| {
            let sides: Vec<usize> = ranked.iter().map(|ranked| ranked.side).collect();
            let tie = self.tie(&sides);
            Group { best: ranked[0].best, worst: ranked[0].worst, sides, tie }
        };
        self.ranking.chunk_by(same).map(group).collect()
    }

    fn tie(&self, sides: &[usize]) -> Tie {
        let within = |pair: &&Pair| sides.contains(&pair.of) && sides.contains(&pair.to);
        let mut pairs = self.pairs.iter().filter(within);
        match sides.len() {
            1 => Tie::Alone,
            _ if pairs.all(|pair| pair.outcome == Verdict::Equivalent) => Tie::Equivalent,
            _ => Tie::NotToldApart,
        }
    }
}
