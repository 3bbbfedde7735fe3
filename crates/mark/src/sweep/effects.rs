//! Effects of all factors and levels, with their intervals and verdicts.

use stats::effects::cell_effects;
use stats::{Agreement, Contrast, Design, RatioEstimate, Term, agreement, effects, holm};

use super::body::Limits;
use super::body::{Effect, EffectsOfAll, Ends, LevelEffect, Outcome, SettingFigures};
use super::design::Sweep;
use super::vary::{Factor, Vary};
use crate::body::CONFIDENCE;

/// Settings of a whole factorial, after levels whose numbers were withdrawn are left out.
struct Grid<'a> {
    /// The factors with their levels that are left, two at least each.
    factors: Vec<(&'a Vary, Vec<usize>)>,
    /// Throughput by setting, the last factor fastest, and by block.
    runs: Vec<Vec<f64>>,
}

/// A term before the p-values of all are known.
struct Found {
    effect: Effect,
    is_equivalent: bool,
}

/// The effects of the factors but order, from settings that were made in one and the same order; or why there are none.
pub(super) fn find(
    sweep: &Sweep,
    settings: &[&SettingFigures],
    limits: &Limits,
) -> Result<EffectsOfAll, String> {
    let blocks = settings.iter().filter(|s| s.headline).map(|s| s.runs.len()).min().unwrap_or(0);
    if blocks < 2 {
        return Err("no setting whose number stands has two runs".to_owned());
    }
    let index = |factor: usize| sweep.vary[factor].factor != Factor::Order;
    let factors: Vec<usize> = (0..sweep.vary.len()).filter(|factor| index(*factor)).collect();
    let mut left_out = Vec::new();
    let mut found = Vec::new();
    let (mut beyond_pairs, mut noise) = (None, None);
    if sweep.one_at_a_time {
        for factor in factors {
            let is_of = |s: &&&SettingFigures| {
                s.levels.iter().enumerate().all(|(other, level)| other == factor || *level == 0)
            };
            let of: Vec<&SettingFigures> = settings.iter().filter(is_of).copied().collect();
            let Some(grid) = Grid::new(sweep, &[factor], &of, blocks, &mut left_out) else {
                continue;
            };
            let levels: Vec<usize> = grid.factors.iter().map(|(_, levels)| levels.len()).collect();
            let Some(all) = effects(&levels, &grid.runs, CONFIDENCE) else { continue };
            found.extend(all.terms.iter().map(|term| grid.found(term, limits)));
        }
    } else {
        let grid = Grid::new(sweep, &factors, settings, blocks, &mut left_out);
        let grid = grid.ok_or("too few settings have a number that stands")?;
        let levels: Vec<usize> = grid.factors.iter().map(|(_, levels)| levels.len()).collect();
        let all = effects(&levels, &grid.runs, CONFIDENCE)
            .ok_or("a run without a throughput leaves the design with a hole")?;
        found.extend(all.terms.iter().map(|term| grid.found(term, limits)));
        (beyond_pairs, noise) = (Some(all.beyond_pairs), Some(all.noise));
    }
    if found.is_empty() {
        return Err("too few settings have a number that stands".to_owned());
    }
    let p_values: Vec<f64> = found.iter().map(|found| found.effect.p_value).collect();
    let terms = found.into_iter().zip(holm(&p_values)).map(|(found, p_holm)| {
        let outcome = match (found.is_equivalent, p_holm < 1.0 - CONFIDENCE) {
            (true, _) => Outcome::NoMatter,
            (false, true) => Outcome::Matters,
            (false, false) => Outcome::Undecided,
        };
        Effect { outcome, p_holm, ..found.effect }
    });
    Ok(EffectsOfAll { blocks, left_out, terms: terms.collect(), beyond_pairs, noise })
}

impl<'a> Grid<'a> {
    /// The settings of all combinations of `factors`, without levels that have a setting with a withdrawn number: those
    /// with the greatest share of such settings are removed first. `None` when no factor keeps two levels.
    fn new(
        sweep: &'a Sweep,
        factors: &[usize],
        settings: &[&SettingFigures],
        blocks: usize,
        left_out: &mut Vec<String>,
    ) -> Option<Grid<'a>> {
        let all = |factor: &usize| (0..sweep.vary[*factor].levels.len()).collect::<Vec<usize>>();
        let mut kept: Vec<Vec<usize>> = factors.iter().map(all).collect();
        let is_kept = |kept: &[Vec<usize>], setting: &SettingFigures| {
            factors.iter().zip(kept).all(|(factor, kept)| kept.contains(&setting.levels[*factor]))
        };
        loop {
            let within: Vec<&&SettingFigures> =
                settings.iter().filter(|setting| is_kept(&kept, setting)).collect();
            if within.iter().all(|setting| setting.headline) {
                break;
            }
            let share = |factor: usize, level: usize| {
                let of = || within.iter().filter(|setting| setting.levels[factor] == level);
                let gone = of().filter(|setting| !setting.headline).count();
                gone as f64 / of().count().max(1) as f64
            };
            let levels = factors.iter().zip(&kept).enumerate();
            let shares = levels.flat_map(|(place, (factor, kept))| {
                kept.iter().map(move |level| (place, *factor, *level))
            });
            // The first of the worst.
            let worst = shares
                .map(|at| (share(at.1, at.2), at))
                .reduce(|worst, next| if next.0 > worst.0 { next } else { worst });
            let (_, (place, factor, level)) = worst?;
            kept[place].retain(|kept| *kept != level);
            let vary = &sweep.vary[factor];
            left_out.push(format!("{}={}", vary.factor.word(), vary.levels[level]));
            if kept[place].is_empty() {
                return None;
            }
        }
        // A factor with one level left does not vary any more.
        let whole: Vec<(usize, Vec<usize>)> = factors.iter().copied().zip(kept.clone()).collect();
        let varied: Vec<(usize, Vec<usize>)> =
            whole.into_iter().filter(|(_, kept)| kept.len() > 1).collect();
        if varied.is_empty() {
            return None;
        }
        let mut within: Vec<&&SettingFigures> =
            settings.iter().filter(|setting| is_kept(&kept, setting)).collect();
        within.sort_by_key(|setting| {
            varied.iter().map(|(factor, _)| setting.levels[*factor]).collect::<Vec<usize>>()
        });
        let runs = within.iter().map(|setting| setting.rates()[..blocks].to_vec()).collect();
        let named = |(factor, kept): (usize, Vec<usize>)| (&sweep.vary[factor], kept);
        Some(Grid { factors: varied.into_iter().map(named).collect(), runs })
    }

    fn sizes(&self) -> Vec<usize> {
        self.factors.iter().map(|(_, levels)| levels.len()).collect()
    }

    /// Effects of a factor's levels in each block, or of pairs of levels beyond the effect of each alone, on the logarithmic
    /// scale: by block and cell.
    fn cells(&self, factors: &[usize]) -> Vec<Vec<f64>> {
        let sizes = self.sizes();
        let blocks = self.runs.first().map_or(0, Vec::len);
        let of_block = |block: usize| {
            let logs: Vec<f64> = self.runs.iter().map(|runs| runs[block].ln()).collect();
            cell_effects(&sizes, factors, &logs)
        };
        (0..blocks).map(of_block).collect()
    }

    fn found(&self, term: &Term, limits: &Limits) -> Found {
        let cells = self.cells(&term.factors);
        let count = cells.first().map_or(0, Vec::len);
        let column = |cell: usize| cells.iter().map(move |block| block[cell]).collect::<Vec<f64>>();
        let is_pair = term.factors.len() == 2;
        let none = vec![0.0; cells.len()];
        let against = if is_pair { none } else { column(0) };
        let powers = |logs: &[f64]| logs.iter().map(|log| log.exp()).collect::<Vec<f64>>();
        let first = usize::from(!is_pair);
        let contrasts: Vec<(usize, Contrast)> = (first..count)
            .filter_map(|cell| {
                let contrast =
                    Contrast::new(&powers(&column(cell)), &powers(&against), Design::Blocks)?;
                Some((cell, contrast))
            })
            .collect();
        // Two one-sided tests at 5%, each: that all are within the margin needs all of them.
        let is_within = |contrast: &Contrast| {
            let narrow = contrast.estimate(2.0 * CONFIDENCE - 1.0);
            agreement((narrow.low, narrow.high), limits.margin) == Agreement::Agrees
        };
        let is_equivalent = !contrasts.is_empty() && contrasts.iter().all(|(_, c)| is_within(c));
        let means = (0..count).map(|cell| {
            let values = column(cell);
            values.iter().sum::<f64>() / values.len().max(1) as f64
        });
        let means: Vec<f64> = means.collect();
        let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = means.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = if is_pair { most.max(-least) } else { most - least };
        let level = |(cell, contrast): (usize, Contrast)| LevelEffect {
            level: self.cell_name(&term.factors, cell),
            ratio: contrast.estimate(CONFIDENCE),
        };
        let reference = RatioEstimate { ratio: 1.0, low: None, high: None };
        let reference = LevelEffect { level: self.cell_name(&term.factors, 0), ratio: reference };
        let mut levels: Vec<LevelEffect> = (!is_pair).then_some(reference).into_iter().collect();
        levels.extend(contrasts.into_iter().map(level));
        let effect = Effect {
            factors: term.factors.iter().map(|factor| self.factors[*factor].0.factor).collect(),
            outcome: Outcome::Undecided,
            share: Ends { value: term.share.clamp(0.0, 1.0), low: term.low, high: term.high },
            f: term.f,
            degrees: term.degrees,
            epsilon: term.epsilon,
            p_value: term.p_value,
            p_holm: 1.0,
            greatest_ratio: greatest.exp(),
            levels,
        };
        Found { effect, is_equivalent }
    }

    fn cell_name(&self, factors: &[usize], cell: usize) -> String {
        let level = |factor: usize, place: usize| {
            let (vary, kept) = &self.factors[factor];
            vary.levels[kept[place]].to_string()
        };
        match factors {
            [a, b] => {
                let width = self.factors[*b].1.len();
                format!("{} × {}", level(*a, cell / width), level(*b, cell % width))
            }
            _ => level(factors[0], cell),
        }
    }
}
