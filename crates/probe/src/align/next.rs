//! Choice of the next reads: the classes on which the answers that are still possible differ.

use super::class::Class;
use super::erase::{self, Hypothesis};
use super::page::Layout;
use super::row::Source;
use super::sampler::Sampler;
use super::verdict::Judgement;

/// Hypotheses less probable than this are not asked about.
const POSSIBLE: f64 = 1e-7;
/// Each round adds this share of what was asked before, so that the count of rounds grows with its logarithm.
const GROWTH: f64 = 0.25;
/// Fewest triples of a round.
const ROUND_MIN: f64 = 300.0;

/// Bins with how many triples to ask for; empty when there is nothing left to ask.
pub(super) fn wanted(sampler: &Sampler, judgement: &Judgement) -> Vec<(usize, usize)> {
    let weights: Vec<f64> = sampler
        .bins
        .iter()
        .map(|bin| if bin.room() > 0 { weight(bin.class, judgement) } else { 0.0 })
        .collect();
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return Vec::new();
    }
    let round = (GROWTH * sampler.reads() as f64 / 3.0).max(ROUND_MIN);
    let share = |weight: f64| (round * weight / total).ceil() as usize;
    let some = weights.into_iter().enumerate().filter(|(_, weight)| *weight > 0.0);
    some.map(|(bin, weight)| (bin, share(weight))).collect()
}

/// How much a class matters: each class a little, in case it is other than it seemed, and those most which hypotheses
/// that are possible still disagree about.
fn weight(class: Class, judgement: &Judgement) -> f64 {
    0.03 + about_the_block(class, judgement) + about_the_page(class, &judgement.pages)
}

fn about_the_block(class: Class, judgement: &Judgement) -> f64 {
    let Some(best) = judgement.erase_block.first() else { return 0.0 };
    if best.probability > 1.0 - POSSIBLE || class.log2 < 17 {
        return 0.0;
    }
    if !matches!(best.hypothesis, Hypothesis::Block(_)) {
        return 1.0;
    }
    let shown = |hypothesis: Hypothesis| match hypothesis {
        Hypothesis::Block(block) => erase::shown(class, block, Source::Measured) > 0.0,
        _ => false,
    };
    let disputed = judgement.erase_block[1..].iter().any(|other| {
        let possible = other.probability > POSSIBLE;
        possible && shown(other.hypothesis) != shown(best.hypothesis)
    });
    if disputed { 3.0 } else { 0.5 }
}

fn about_the_page(class: Class, pages: &[Layout]) -> f64 {
    let Some(best) = pages.first() else { return 0.0 };
    if best.probability > 1.0 - POSSIBLE || class.factor == 3 {
        return 0.0;
    }
    let possible = pages.iter().filter(|layout| layout.probability > POSSIBLE);
    let begins = possible.map(|layout| layout.group_bytes.ilog2());
    let near = begins.map(|log2| class.log2.abs_diff(log2)).min().unwrap_or(u32::MAX);
    let right_below = class.log2 + 1 == best.group_bytes.ilog2();
    // Planes show in the row below the plateau, against the rows of the plateau.
    let of_plateau = (best.group_bytes.ilog2()..best.group_bytes.ilog2() + 4).contains(&class.log2);
    match near {
        _ if right_below => 5.0,
        0 | 1 => 2.0,
        _ if of_plateau => 1.0,
        _ => 0.0,
    }
}
