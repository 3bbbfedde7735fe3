//! The erase block: from which class on a boundary costs more than those of pages.

use serde::{Deserialize, Serialize};

use super::class::Class;
use super::estimate::Estimate;
use super::family;
use super::model::{self, Fit, Point, StepPrior};
use super::row::{Row, Source};

/// A way that a drive may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hypothesis {
    /// All boundaries above those of pages cost the same, but for what rows differ in anyway.
    None,
    /// Their cost changes evenly with the class.
    Trend,
    /// Boundaries of erase blocks of this size in bytes cost more.
    Block(u64),
}

/// How probable a hypothesis is, and what it says of the step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The hypothesis.
    pub hypothesis: Hypothesis,
    /// Its probability, given the rows.
    pub probability: f64,
    /// Cost of crossing the boundary beyond that of a page, in nanoseconds.
    pub step_ns: f64,
    /// Standard error of the step, in nanoseconds.
    pub step_error_ns: f64,
    /// Standard deviation between rows beyond their own errors, in nanoseconds.
    pub spread_ns: f64,
    /// The share of pre + post that is taken off `on`, from 1/2 to 1: where it is 1, cells on both sides are read.
    pub share: f64,
}

/// All hypotheses, the most probable first; empty when there are too few rows.
pub(super) fn judge(rows: &[Row], source: Source, from_log2: u32, time: f64) -> Vec<Candidate> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.class.log2 >= from_log2).collect();
    let hypotheses = hypotheses(&rows, source);
    if hypotheses.len() < 3 || time <= 0.0 {
        return Vec::new();
    }
    let mut tally: Vec<Tally> = hypotheses.iter().map(|&(h, ln)| Tally::new(h, ln)).collect();
    for &share in shares(source) {
        for (spread, ln_prior) in spreads(&rows, source, share, time) {
            for one in &mut tally {
                let points = points(&rows, one.hypothesis, source, share, source.wild(time));
                let fit = fit(&points, one.hypothesis, spread, step_prior(source, time));
                one.take(fit, ln_prior, spread, share);
            }
        }
    }
    let all = model::ln_sum(&tally.iter().map(Tally::ln_total).collect::<Vec<_>>());
    let mut candidates: Vec<Candidate> = tally.iter().map(|one| one.candidate(all)).collect();
    candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    candidates
}

/// The step at `block` of another contrast than that it was found by.
pub(super) fn step_of(
    rows: &[Row],
    block: u64,
    source: Source,
    spread: f64,
    of: impl Fn(&Row) -> Estimate,
) -> Estimate {
    let rows = rows.iter().filter(|row| row.class.log2 >= 17);
    let point = |row: &Row| {
        let contrast = of(row);
        let x = shown(row.class, block, source);
        Point { x, y: contrast.value_ns, error: contrast.error_ns, wild: 0.0 }
    };
    let fit = model::two_levels(&rows.map(point).collect::<Vec<_>>(), spread);
    Estimate { value_ns: fit.step, error_ns: fit.step_error }
}

fn shares(source: Source) -> &'static [f64] {
    match source {
        Source::Measured => &[0.5, 1.0],
        Source::Published => &[0.5, 0.625, 0.75, 0.875, 1.0],
    }
}

fn spreads(rows: &[&Row], source: Source, share: f64, time: f64) -> Vec<(f64, f64)> {
    let mut errors: Vec<f64> = rows.iter().map(|row| row.contrast(share).error_ns).collect();
    let usual = super::estimate::median(&mut errors).max(1e-5 * time);
    match source {
        Source::Measured => model::spreads(true, 0.3 * usual, (3.0 * usual).max(0.1 * time)),
        // Seven places each, of times that repeat to a percent or so.
        Source::Published => model::spreads(false, usual.max(1e-3 * time), 0.2 * time),
    }
}

/// Steps of published tables and of drawn cards lie within a few percent and the whole of a read's time.
fn step_prior(source: Source, time: f64) -> StepPrior {
    match source {
        Source::Measured => StepPrior { median: 0.1 * time, width: 1.5, least: 0.002 * time },
        Source::Published => StepPrior { median: 0.15 * time, width: 0.9, least: 0.005 * time },
    }
}

/// How much of an erase block's step a row shows: the share of its boundaries that are those of blocks of
/// `block` bytes.
pub(super) fn shown(class: Class, block: u64, source: Source) -> f64 {
    let log2 = block.trailing_zeros();
    if block == 0 || class.log2 < log2 {
        return 0.0;
    }
    let odd = block >> log2;
    match (class.factor, odd.is_multiple_of(3)) {
        (3, true) => 3.0 / odd as f64,
        // Of 2^k (1 + 2^j i), with i from 0 to 6, two are multiples of 3.
        (_, true) if source == Source::Published => 6.0 / 7.0 / odd as f64,
        (_, true) => 0.0,
        _ => 1.0 / odd as f64,
    }
}

fn points(
    rows: &[&Row],
    hypothesis: Hypothesis,
    source: Source,
    share: f64,
    wild: f64,
) -> Vec<Point> {
    let point = |row: &&Row| {
        let contrast = row.contrast(share);
        let x = match hypothesis {
            Hypothesis::None => 0.0,
            Hypothesis::Trend => f64::from(row.class.log2) - 20.0,
            Hypothesis::Block(block) => shown(row.class, block, source),
        };
        Point { x, y: contrast.value_ns, error: contrast.error_ns, wild }
    };
    rows.iter().map(point).collect()
}

fn fit(points: &[Point], hypothesis: Hypothesis, spread: f64, prior: StepPrior) -> Fit {
    match hypothesis {
        Hypothesis::None => model::fit(points, spread, None),
        Hypothesis::Trend => model::trend(points, spread, prior.median / 10.0),
        Hypothesis::Block(_) => model::fit(points, spread, Some(prior)),
    }
}

/// The hypotheses that the rows can distinguish, with the logarithms of their prior probabilities: at least two rows
/// lie on either side of the step.
fn hypotheses(rows: &[&Row], source: Source) -> Vec<(Hypothesis, f64)> {
    let tells = |block: u64| {
        let shows = |row: &&&Row| shown(row.class, block, source) > 0.0;
        let above = rows.iter().filter(shows).count();
        above >= 2 && rows.len() - above >= 2
    };
    let blocks: Vec<u64> = (17..28).flat_map(|log2| [1 << log2, 3 << log2]).collect();
    let blocks: Vec<u64> = blocks.into_iter().filter(|&block| tells(block)).collect();
    // An author who printed only rows of 3 x 2^k had seen that those of 2^k show nothing.
    let threes_alone = rows.iter().all(|row| row.class.factor == 3);
    let weight = |block: u64| match source {
        Source::Measured => 1.0,
        Source::Published if threes_alone && !block.is_power_of_two() => 7.0 * survey(block),
        Source::Published => survey(block),
    };
    let total: f64 = blocks.iter().map(|&block| weight(block)).sum();
    // Our own rows are followed by single boundaries, which decide between these sizes; a table has only its rows.
    let odd: Vec<u64> = match source {
        Source::Measured => Vec::new(),
        Source::Published => family::sizes()
            .into_iter()
            .filter(|size| *size >= family::LEAST && (size >> size.trailing_zeros()) > 3)
            .filter(|&size| tells(size))
            .collect(),
    };
    let (share, of_odd) = if odd.is_empty() { (0.6, 0.0) } else { (0.6 - ODD, ODD) };
    let block = |&block: &u64| (Hypothesis::Block(block), (share * weight(block) / total).ln());
    let each = (of_odd / odd.len().max(1) as f64).ln();
    let others = [(Hypothesis::None, 0.35f64.ln()), (Hypothesis::Trend, 0.05f64.ln())];
    let odd = odd.iter().map(|&size| (Hypothesis::Block(size), each));
    others.into_iter().chain(blocks.iter().map(block)).chain(odd).collect()
}

/// Prior probability of all sizes of 5 to 27 times a power of two together, in a published table: newer cards of three
/// bits a cell have them.
const ODD: f64 = 0.1;

/// How common erase blocks of a size are among the cards and sticks that flashbench's tables were made of: about as
/// in Linaro's survey of flash cards, in parts of a hundred. It counts where a table leaves two sizes open.
fn survey(block: u64) -> f64 {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match block {
        b if b == 512 * KIB => 2.0,
        b if b == 1536 * KIB => 5.0,
        b if b == MIB => 5.0,
        b if b == 2 * MIB => 15.0,
        b if b == 3 * MIB => 5.0,
        b if b == 4 * MIB => 35.0,
        b if b == 6 * MIB => 7.0,
        b if b == 8 * MIB => 12.0,
        b if b == 12 * MIB => 7.0,
        b if b == 16 * MIB => 3.0,
        b if b == 24 * MIB => 3.0,
        _ => 1.0,
    }
}

/// Sums up a hypothesis over the spreads and shares.
struct Tally {
    hypothesis: Hypothesis,
    ln_prior: f64,
    terms: Vec<f64>,
    best: f64,
    fit: Fit,
    spread: f64,
    share: f64,
}

impl Tally {
    fn new(hypothesis: Hypothesis, ln_prior: f64) -> Tally {
        let (best, fit) = (f64::NEG_INFINITY, Fit::default());
        Tally { hypothesis, ln_prior, terms: Vec::new(), best, fit, spread: 0.0, share: 1.0 }
    }

    fn take(&mut self, fit: Fit, ln_prior: f64, spread: f64, share: f64) {
        let term = fit.ln_evidence + ln_prior;
        self.terms.push(term);
        if term > self.best {
            (self.best, self.fit, self.spread, self.share) = (term, fit, spread, share);
        }
    }

    fn ln_total(&self) -> f64 {
        self.ln_prior + model::ln_sum(&self.terms)
    }

    fn candidate(&self, all: f64) -> Candidate {
        Candidate {
            hypothesis: self.hypothesis,
            probability: (self.ln_total() - all).exp(),
            step_ns: self.fit.step,
            step_error_ns: self.fit.step_error,
            spread_ns: self.spread,
            share: self.share,
        }
    }
}
