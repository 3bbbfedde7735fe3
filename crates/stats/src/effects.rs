//! Effects of settings on a figure: runs of all combinations of factors' levels, made in blocks, on a logarithmic scale.
//!
//! Each block has one run of every setting. Differences between blocks are subtracted within each; every block gives its own
//! estimate of the effect of a factor, or of two together, and the spread of these estimates is the error.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

use crate::sample;

/// Results for all factors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effects {
    /// Each factor alone, in their order, then each pair of factors.
    pub terms: Vec<Term>,
    /// Share of what the settings do together that needs three factors and more, 0 to 1.
    pub beyond_pairs: f64,
    /// Share of the variation of runs that no setting explains, 0 to 1: how much runs of one setting differ, less what whole
    /// blocks do.
    pub noise: f64,
    /// Blocks.
    pub blocks: usize,
}

/// A factor alone, or two together beyond what each does alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Term {
    /// Indices of the factors, one or two.
    pub factors: Vec<usize>,
    /// ω²: the share of the variation of runs that it explains; an estimate of nothing may lie below 0.
    pub share: f64,
    /// Lower end of the share's interval, not below 0.
    pub low: f64,
    /// Upper end, not above 1.
    pub high: f64,
    /// Mean square of the term over that of its differences from block to block; infinite where blocks agree exactly.
    pub f: f64,
    /// Degrees of freedom of the term.
    pub degrees: usize,
    /// Greenhouse and Geisser's ε, from 1 / `degrees` to 1: what both degrees of freedom are multiplied by, since levels
    /// whose runs spread more than others' would make too many effects.
    pub epsilon: f64,
    /// Probability of an F at least as large where the term does nothing.
    pub p_value: f64,
}

/// The effects of factors with `levels` levels each, by `runs`: for each setting the positive values of its blocks, in the
/// same order of blocks. Settings are in the order of counting with the last factor fastest.
///
/// A term's F is its mean square over that of its interaction with blocks, whose degrees of freedom are corrected (Greenhouse
/// and Geisser, Psychometrika 24, 1959): runs of some settings may spread more than others', and the effect may be another in
/// each block. ω² (Hays 1963) is the term's sum of squares less what noise makes of it, over that of all settings and noise
/// without that of blocks. Its interval is the jackknife's, a block left out at a time, with Student's t (Arvesen, Annals of
/// Mathematical Statistics 40, 1969), which supposes neither normal runs nor that all spread alike.
///
/// `None` without factors, with fewer than 2 levels or 2 blocks, when a setting is missing or has another count of blocks,
/// when a value is not
/// positive and finite, or for a confidence that is not within (0, 1).
pub fn effects(levels: &[usize], runs: &[Vec<f64>], confidence: f64) -> Option<Effects> {
    let settings = levels.iter().try_fold(1_usize, |all, count| all.checked_mul(*count))?;
    let blocks = runs.first()?.len();
    let is_positive = |x: &f64| x.is_finite() && *x > 0.0;
    let is_whole = |values: &Vec<f64>| values.len() == blocks && values.iter().all(is_positive);
    if levels.is_empty()
        || levels.iter().any(|count| *count < 2)
        || runs.len() != settings
        || blocks < 2
        || !runs.iter().all(is_whole)
        || !sample::valid_confidence(confidence)
    {
        return None;
    }
    let by_block: Vec<Vec<f64>> = (0..blocks)
        .map(|block| centred(runs.iter().map(|values| values[block].ln()).collect()))
        .collect();
    let all = Projected::new(by_block.clone());
    let pairs = (0..levels.len()).flat_map(|a| (a + 1..levels.len()).map(move |b| vec![a, b]));
    let factors: Vec<Vec<usize>> = (0..levels.len()).map(|a| vec![a]).chain(pairs).collect();
    let projected: Vec<(Vec<usize>, Projected)> = factors
        .into_iter()
        .map(|factors| {
            let of_block = |block: &Vec<f64>| projection(levels, &factors, block);
            let vectors = by_block.iter().map(of_block).collect();
            (factors, Projected::new(vectors))
        })
        .collect();
    let whole =
        Squares { blocks: blocks as f64, settings, all: all.square(None), left: all.rest(None) };
    let without: Vec<Squares> = (0..blocks)
        .map(|block| Squares {
            blocks: (blocks - 1) as f64,
            settings,
            all: all.square(Some(block)),
            left: all.rest(Some(block)),
        })
        .collect();
    let t = StudentsT::new(0.0, 1.0, (blocks - 1) as f64).ok()?;
    let reach = t.inverse_cdf(0.5 + confidence / 2.0);
    let mut explained = 0.0;
    let terms = projected.into_iter().map(|(factors, term)| {
        let degrees: usize = factors.iter().map(|factor| levels[*factor] - 1).product();
        explained += term.square(None);
        let share = whole.share(term.square(None), degrees);
        let (low, high) = if blocks < 3 {
            // With one of two blocks left out, no noise can be estimated.
            (0.0, 1.0)
        } else {
            let left_out = without
                .iter()
                .enumerate()
                .map(|(block, squares)| squares.share(term.square(Some(block)), degrees));
            jackknifed(share, left_out.collect(), reach)
        };
        let (f, epsilon, p_value) = term.test(degrees);
        Term { factors, share, low, high, f, degrees, epsilon, p_value }
    });
    let terms: Vec<Term> = terms.collect();
    let total = whole.all + whole.left;
    let of_total = |squares: f64| if total > 0.0 { (squares / total).clamp(0.0, 1.0) } else { 0.0 };
    Some(Effects {
        terms,
        beyond_pairs: of_total(whole.all - explained),
        noise: of_total(whole.left),
        blocks,
    })
}

/// Effects of one or two factors in a block of `values` in the order of [`effects`]: for each level its mean less that of
/// all, or for each pair of levels, the second factor fastest, the part beyond what each does alone.
///
/// Empty when `factors` are not one or two of those of `levels`, or a setting is missing.
pub fn cell_effects(levels: &[usize], factors: &[usize], values: &[f64]) -> Vec<f64> {
    let is_known = factors.iter().all(|factor| *factor < levels.len());
    let settings = levels.iter().product::<usize>();
    if !is_known || !(1..=2).contains(&factors.len()) || settings != values.len() || settings == 0 {
        return Vec::new();
    }
    cells(levels, factors, &centred(values.to_vec()))
}

/// The values less their mean: what is left of a block when what all its runs share is taken off.
fn centred(mut values: Vec<f64>) -> Vec<f64> {
    let mean = sample::mean(&values);
    values.iter_mut().for_each(|value| *value -= mean);
    values
}

/// Level of a factor in a setting.
fn level(levels: &[usize], factor: usize, setting: usize) -> usize {
    let faster: usize = levels[factor + 1..].iter().product();
    setting / faster % levels[factor]
}

/// Means over all factors but these, in the order of counting with the last of them fastest.
fn means(levels: &[usize], factors: &[usize], values: &[f64]) -> Vec<f64> {
    let cells: usize = factors.iter().map(|factor| levels[*factor]).product();
    let mut sums = vec![0.0; cells];
    for (setting, value) in values.iter().enumerate() {
        let cell = factors
            .iter()
            .fold(0, |cell, factor| cell * levels[*factor] + level(levels, *factor, setting));
        sums[cell] += value;
    }
    let each = (values.len() / cells) as f64;
    sums.iter().map(|sum| sum / each).collect()
}

/// Effects of one or two factors in a block whose values are centred.
fn cells(levels: &[usize], factors: &[usize], block: &[f64]) -> Vec<f64> {
    let mut cells = means(levels, factors, block);
    if let [a, b] = factors {
        let (of_a, of_b) = (means(levels, &[*a], block), means(levels, &[*b], block));
        for (index, cell) in cells.iter_mut().enumerate() {
            *cell -= of_a[index / levels[*b]] + of_b[index % levels[*b]];
        }
    }
    cells
}

/// The same, each cell weighted by the root of how many settings it has: the sum of squares is the term's own.
fn projection(levels: &[usize], factors: &[usize], block: &[f64]) -> Vec<f64> {
    let mut cells = cells(levels, factors, block);
    let weight = ((block.len() / cells.len()) as f64).sqrt();
    cells.iter_mut().for_each(|cell| *cell *= weight);
    cells
}

/// A vector of each block, and their sum.
struct Projected {
    blocks: Vec<Vec<f64>>,
    sum: Vec<f64>,
    /// Sum of all squares.
    squares: f64,
}

impl Projected {
    fn new(blocks: Vec<Vec<f64>>) -> Projected {
        let mut sum = vec![0.0; blocks.first().map_or(0, Vec::len)];
        for block in &blocks {
            sum.iter_mut().zip(block).for_each(|(sum, value)| *sum += value);
        }
        let squares = blocks.iter().map(|block| dot(block, block)).sum();
        Projected { blocks, sum, squares }
    }

    /// Sum of squares of the blocks' mean, all but one of them.
    fn square(&self, but: Option<usize>) -> f64 {
        let n = self.blocks.len() as f64;
        match but {
            None => dot(&self.sum, &self.sum) / n,
            Some(block) => {
                let apart =
                    self.sum.iter().zip(&self.blocks[block]).map(|(sum, value)| sum - value);
                apart.map(|x| x * x).sum::<f64>() / (n - 1.0)
            }
        }
    }

    /// Sum of squares about the blocks' mean, all but one of them.
    fn rest(&self, but: Option<usize>) -> f64 {
        let left_out = but.map_or(0.0, |block| dot(&self.blocks[block], &self.blocks[block]));
        (self.squares - left_out - self.square(but)).max(0.0)
    }

    /// F of the mean against its differences from block to block, ε, and the p-value.
    fn test(&self, degrees: usize) -> (f64, f64, f64) {
        let n = self.blocks.len() as f64;
        let mean: Vec<f64> = self.sum.iter().map(|sum| sum / n).collect();
        let apart: Vec<Vec<f64>> = self
            .blocks
            .iter()
            .map(|block| block.iter().zip(&mean).map(|(value, mean)| value - mean).collect())
            .collect();
        // The trace of the covariance and of its square, by the blocks' products: there are fewer blocks than cells.
        let trace: f64 = apart.iter().map(|a| dot(a, a)).sum::<f64>() / (n - 1.0);
        let products = apart.iter().flat_map(|a| apart.iter().map(move |b| dot(a, b)));
        let squared: f64 = products.map(|p| p * p).sum::<f64>() / (n - 1.0).powi(2);
        let d = degrees as f64;
        let between = n * dot(&mean, &mean);
        // A rounding error is not a difference.
        if trace <= f64::EPSILON * f64::EPSILON * self.squares.max(f64::MIN_POSITIVE)
            || squared <= 0.0
        {
            let is_there = between > 1e-18;
            return if is_there { (f64::INFINITY, 1.0, 0.0) } else { (0.0, 1.0, 1.0) };
        }
        let epsilon = (trace * trace / (d * squared)).clamp(1.0 / d, 1.0);
        let f = between / trace;
        let p_value = FisherSnedecor::new(epsilon * d, epsilon * d * (n - 1.0))
            .map_or(1.0, |distribution| distribution.sf(f));
        (f, epsilon, p_value)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Sums of squares of a design.
struct Squares {
    blocks: f64,
    settings: usize,
    /// Of all settings together.
    all: f64,
    /// Of what neither settings nor blocks explain.
    left: f64,
}

impl Squares {
    /// ω² of a term.
    fn share(&self, term: f64, degrees: usize) -> f64 {
        let noise = self.left / ((self.settings - 1) as f64 * (self.blocks - 1.0));
        let total = self.all + self.left + noise;
        if total > 0.0 { (term - degrees as f64 * noise) / total } else { 0.0 }
    }
}

/// Ends of the jackknife's interval, within 0 and 1.
fn jackknifed(whole: f64, left_out: Vec<f64>, reach: f64) -> (f64, f64) {
    let n = left_out.len() as f64;
    let pseudo: Vec<f64> = left_out.iter().map(|part| n * whole - (n - 1.0) * part).collect();
    let middle = sample::mean(&pseudo);
    let half = reach * sample::standard_deviation(&pseudo).unwrap_or(0.0) / n.sqrt();
    // The estimate itself is never outside, which the bias that is taken off could make of it.
    let (low, high) = ((middle - half).min(whole), (middle + half).max(whole));
    (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_whole_design_has_no_effects() {
        let runs = |settings: usize, blocks: usize| vec![vec![1.0; blocks]; settings];
        assert!(effects(&[2, 3], &runs(6, 4), 0.95).is_some());
        for (levels, runs) in [
            (&[][..], runs(1, 4)),
            (&[2, 3][..], runs(5, 4)),
            (&[1, 6][..], runs(6, 4)),
            (&[2, 3][..], runs(6, 1)),
            (&[2, usize::MAX][..], runs(6, 4)),
            (&[2][..], vec![vec![1.0, 2.0], vec![1.0]]),
            (&[2][..], vec![vec![1.0, 2.0], vec![1.0, 0.0]]),
            (&[2][..], vec![vec![1.0, 2.0], vec![1.0, f64::NAN]]),
        ] {
            assert_eq!(effects(levels, &runs, 0.95), None, "{levels:?}");
        }
        assert_eq!(effects(&[2], &runs(2, 4), 1.0), None);
    }

    #[test]
    fn a_drive_without_noise_shows_each_effect_and_nothing_else() {
        // The second factor doubles, the first does nothing; blocks differ.
        let runs: Vec<Vec<f64>> = (0..6)
            .map(|setting| {
                (1..=4).map(|block| f64::from(1 << (setting % 3)) * f64::from(block)).collect()
            })
            .collect();
        let found = effects(&[2, 3], &runs, 0.95).unwrap();
        let [first, second, both] = &found.terms[..] else { panic!("{found:?}") };
        assert_eq!((second.factors.as_slice(), both.factors.as_slice()), (&[1][..], &[0, 1][..]));
        assert!(second.share > 0.999_999 && second.p_value < 1e-9, "{second:?}");
        assert!(first.share.abs() < 1e-9 && first.p_value > 0.5, "{first:?}");
        assert!(both.share.abs() < 1e-9 && both.p_value > 0.5, "{both:?}");
        assert!(found.noise < 1e-9 && found.beyond_pairs < 1e-9);
        let same = effects(&[2, 3], &vec![vec![3.0; 4]; 6], 0.95).unwrap();
        assert!(same.terms.iter().all(|term| term.p_value == 1.0 && term.share == 0.0), "{same:?}");
    }
}
