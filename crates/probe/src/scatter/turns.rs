//! Kinds of pages that take turns: places of one region in a regular order.
//!
//! Where groups of pages are known, most cards keep kinds in turns: k levels, each for r groups, and again from the
//! first. Only where in that order a window begins is not known. The level of place j of window w is
//!
//! ```text
//! x_j = c[((g_j + φ_w) div r) mod k] + e_j,    e_j ~ N(0, s_j² + τ²)
//! ```
//!
//! with g_j the number of its group and φ_w drawn evenly from 0..rk. Since all places of a level share its centre, this
//! distinguishes bands whose distance is far below the error of a single place, which a mixture cannot do; a mixture
//! finds bands in any order. Fitted by expectation and maximisation over the φ, begun from each window by itself.

use super::mixture::{Datum, Fit, Shape};

/// Counts of levels and groups in a row that are tried.
const LEVELS: std::ops::RangeInclusive<usize> = 1..=4;
const RUNS: [u64; 3] = [1, 2, 4];

/// Iterations of a fit.
const ITERATIONS: usize = 16;

/// A regular order of levels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Turns {
    /// Centres in their order, ns.
    pub(super) levels: Vec<f64>,
    /// Their standard error, ns.
    pub(super) error: f64,
    /// Groups of one level in a row.
    pub(super) run: u64,
    /// Bytes of a group.
    pub(super) grain: u64,
    /// τ², ns².
    spread2: f64,
    log_likelihood: f64,
    /// Schwarz's criterion: less is better.
    pub(super) bic: f64,
}

impl Turns {
    /// Logarithm of the likelihood of places of one region, shifted by `shift`, wherever in the order it begins.
    pub(super) fn log_likelihood(&self, places: &[Datum]) -> f64 {
        let logs = self.by_phase(places);
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logs.iter().map(|log| (log - largest).exp()).sum();
        largest + (sum / logs.len() as f64).ln()
    }

    /// The same order as a fitted mixture, for everything that asks for bands alone.
    pub(super) fn as_fit(&self, windows: usize) -> Fit {
        let mut centers = self.levels.clone();
        centers.sort_unstable_by(f64::total_cmp);
        let bands = centers.len();
        Fit {
            shape: Shape { bands, offsets: false, plane: None },
            centers,
            center_errors: vec![self.error; bands],
            shares: vec![1.0 / bands as f64; bands],
            spread2: self.spread2,
            offsets: vec![0.0; windows],
            plane_ns: 0.0,
            log_likelihood: self.log_likelihood,
            bic: self.bic,
        }
    }

    /// Distance of the highest and the lowest level, ns.
    pub(super) fn range(&self) -> f64 {
        let low = self.levels.iter().copied().fold(f64::INFINITY, f64::min);
        self.levels.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low
    }

    /// Least distance of two levels, ns; infinite with one.
    pub(super) fn narrowest(&self) -> f64 {
        let mut levels = self.levels.clone();
        levels.sort_unstable_by(f64::total_cmp);
        levels.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min)
    }

    fn phases(&self) -> u64 {
        self.levels.len() as u64 * self.run
    }

    /// Index of the level of a place when its window begins at `phase`.
    fn turn(&self, offset: u64, phase: u64) -> usize {
        ((offset / self.grain + phase) / self.run % self.levels.len() as u64) as usize
    }

    fn by_phase(&self, places: &[Datum]) -> Vec<f64> {
        let log = |phase| -> f64 {
            let each = places.iter().map(|datum| {
                let variance = datum.level.error.powi(2) + self.spread2 + self.error.powi(2);
                let x = datum.level.mean - self.levels[self.turn(datum.offset, phase)];
                -0.5 * (x * x / variance + (std::f64::consts::TAU * variance).ln())
            });
            each.sum()
        };
        (0..self.phases()).map(log).collect()
    }

    /// One step of expectation and maximisation.
    fn step(&mut self, windows: &[&[Datum]]) {
        let k = self.levels.len();
        let mut sums = vec![(0.0, 0.0); k];
        let (mut excess, mut count) = (0.0, 0.0);
        for places in windows {
            let logs = self.by_phase(places);
            let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let odds: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
            let all: f64 = odds.iter().sum();
            for (phase, odds) in odds.iter().enumerate().filter(|(_, odds)| **odds > 1e-9 * all) {
                let share = odds / all;
                for datum in *places {
                    let turn = self.turn(datum.offset, phase as u64);
                    let noise = datum.level.error.powi(2);
                    let weight = share / (noise + self.spread2);
                    sums[turn].0 += weight * datum.level.mean;
                    sums[turn].1 += weight;
                    let off = datum.level.mean - self.levels[turn];
                    excess += share * (off * off - noise);
                    count += share;
                }
            }
        }
        let weight: f64 = sums.iter().map(|(_, weight)| weight).sum();
        for (level, (sum, weight)) in self.levels.iter_mut().zip(&sums) {
            if *weight > 0.0 {
                *level = sum / weight;
            }
        }
        self.error = (k as f64 / weight).sqrt();
        self.spread2 = (excess / f64::max(count, 1.0)).max(0.0);
    }
}

/// The best order for each count of levels and groups in a row; empty when there are too few places.
pub(super) fn fit(data: &[Datum], grain: u64) -> Vec<Turns> {
    let windows: Vec<&[Datum]> = data.chunk_by(|a, b| a.window == b.window).collect();
    if data.len() < 24 || grain == 0 {
        return Vec::new();
    }
    let runs = RUNS.into_iter();
    let shapes = runs.flat_map(|run| LEVELS.map(move |levels| (levels, run)));
    let shapes = shapes.filter(|(levels, run)| *levels > 1 || *run == 1);
    shapes.filter_map(|(levels, run)| fit_one(&windows, data.len(), levels, run, grain)).collect()
}

fn fit_one(windows: &[&[Datum]], places: usize, k: usize, run: u64, grain: u64) -> Option<Turns> {
    let mut best: Option<Turns> = None;
    for seed in windows.iter().filter(|seed| seed.len() >= 2 * k * run as usize) {
        for shift in 0..if k == 1 { 1 } else { run } {
            let Some(mut turns) = begin(seed, k, run, grain, shift) else { continue };
            (0..ITERATIONS).for_each(|_| turns.step(windows));
            turns.log_likelihood = windows.iter().map(|places| turns.log_likelihood(places)).sum();
            if best.as_ref().is_none_or(|best| turns.log_likelihood > best.log_likelihood) {
                best = Some(turns);
            }
        }
    }
    let mut best = best?;
    // Levels and τ; where each window begins is summed over and costs by itself.
    best.bic = -2.0 * best.log_likelihood + (k + 1) as f64 * (places as f64).ln();
    Some(best)
}

/// The order as one window shows it that begins `shift` groups into a run.
fn begin(seed: &[Datum], k: usize, run: u64, grain: u64, shift: u64) -> Option<Turns> {
    let mut turns = Turns {
        levels: vec![0.0; k],
        error: 0.0,
        run,
        grain,
        spread2: 0.0,
        log_likelihood: f64::NEG_INFINITY,
        bic: f64::INFINITY,
    };
    let mut sums = vec![(0.0, 0.0); k];
    for datum in seed {
        let turn = turns.turn(datum.offset, shift);
        sums[turn] = (sums[turn].0 + datum.level.mean, sums[turn].1 + 1.0);
    }
    if sums.iter().any(|(_, count)| *count == 0.0) {
        return None;
    }
    turns.levels = sums.iter().map(|(sum, count)| sum / count).collect();
    let within = seed.iter().map(|datum| {
        (datum.level.mean - turns.levels[turns.turn(datum.offset, shift)]).powi(2)
            - datum.level.error.powi(2)
    });
    turns.spread2 = (within.sum::<f64>() / seed.len() as f64).max(0.0);
    Some(turns)
}
