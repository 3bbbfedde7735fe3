//! How much must have been written before anything can be steady: neither the drive nor its rate shows whether the
//! rate will last or is only that of a drive with free space.

use super::history::{Cell, History, amplifications};
use super::judgement::{Prior, Start};
use super::theory;
use crate::sample;

/// A rate below this share of the plateau, lastingly, has fallen.
const FALLEN: f64 = 0.9;
/// An amplification above the plateau's by this factor, lastingly, has risen.
const RISEN: f64 = 1.1;
/// Writes that amount to no more than this are not amplified: the drive moves nothing.
const UNMOVED: f64 = 1.02;
/// Cells that must have fallen together: an eighth of a fill.
const LASTING: usize = 4;
/// Shares of what is known, and drive writes beside it, after which free space cannot end any more.
const LATEST_SHARE: f64 = 1.3;
const LATEST_MORE: f64 = 0.25;
/// Share of an estimated over-provisioning to count on: estimates may be too high.
const ESTIMATE_SHARE: f64 = 0.8;

/// Drive writes after which free space and addresses never written no longer matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gate {
    /// Fills at which the rate fell for want of free space; `None` when it did not so far.
    pub(super) cliff_fills: Option<f64>,
    /// The rate before the cliff.
    pub(super) plateau: Option<f64>,
    /// Fills that use up all free space.
    pub(super) exhausted_fills: f64,
    /// Fills after which what was never written does not matter any more.
    pub(super) settled_fills: f64,
    /// Over-provisioning that the latter is for.
    pub(super) over_provisioning: f64,
}

impl Gate {
    pub(super) fn of(prior: &Prior, history: &History) -> Gate {
        let was_filled = prior.start == Start::SequentialFill;
        let base = if was_filled { 0.0 } else { 1.0 };
        let plateau = plateau(history, was_filled);
        let [least, most] = prior.over_provisioning_range;
        // A fall after all free space must have been used up has another cause.
        let latest =
            base + prior.over_provisioning.map_or(most, |known| LATEST_SHARE * known) + LATEST_MORE;
        let cliff_fills =
            plateau.and_then(|plateau| cliff(history, plateau, base)).filter(|at| *at <= latest);
        let by_cliff = cliff_fills.and_then(|at| theory::op_from_cliff(at, !was_filled));
        let recent = recent_amplification(history);
        let exhausted_fills = if prior.in_place {
            0.0
        } else if let Some(known) = prior.over_provisioning {
            // Stated figures are rounded, and blocks kept free come on top.
            base + 1.1 * known
        } else {
            match cliff_fills {
                // A drive that was filled in order may fall earlier for another reason, such as a full
                // single-bit cache.
                Some(at) if !was_filled => at,
                _ => base + most,
            }
        };
        let by_amplification = recent.and_then(|waf| spare_of(waf, history.fills(), was_filled));
        let over_provisioning = prior.over_provisioning.unwrap_or_else(|| {
            let estimate = by_cliff.into_iter().chain(by_amplification).reduce(f64::min);
            estimate.map_or(least, |op| (ESTIMATE_SHARE * op).max(least / 2.0))
        });
        let moves_nothing = recent.is_some_and(|waf| waf <= UNMOVED);
        let needs_none = prior.in_place || was_filled || !prior.uniform_random || moves_nothing;
        let settled_fills = if needs_none {
            exhausted_fills
        } else {
            settled(over_provisioning, prior.margin / 2.0).max(exhausted_fills)
        };
        Gate {
            cliff_fills,
            plateau: plateau.map(|plateau| plateau.rate),
            exhausted_fills,
            settled_fills,
            over_provisioning,
        }
    }
}

/// The least fills at which the mean of the last fill is within `share` of the end, by [`theory::remaining_fall`].
fn settled(over_provisioning: f64, share: f64) -> f64 {
    // The mean of e^-t over the last fill, as a multiple of e^-t at its end.
    let of_mean = 1.0_f64.exp_m1();
    let is_within = |fills: f64| {
        theory::remaining_fall(over_provisioning, fills).is_some_and(|fall| of_mean * fall <= share)
    };
    let (mut low, mut high) = (0.0, 1.0);
    while !is_within(high) && high < 64.0 {
        high *= 2.0;
    }
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if is_within(middle) { high = middle } else { low = middle }
    }
    high
}

/// Over-provisioning by the amplification that the drive reports now; of a purged drive, less what was never written.
fn spare_of(amplification: f64, fills: f64, was_filled: bool) -> Option<f64> {
    if amplification <= UNMOVED {
        return None;
    }
    let physical = 1.0 + theory::over_provisioning_of(amplification)?;
    let written = if was_filled { 1.0 } else { 1.0 - theory::unwritten_share(fills) };
    Some((physical * written - 1.0).max(0.0))
}

/// Over the last half fill.
fn recent_amplification(history: &History) -> Option<f64> {
    let cells = history.since(history.fills() - 0.5);
    let values = amplifications(cells)?;
    sample::usable(&values).then(|| sample::mean(&values))
}

/// Rate and amplification of the drive while it had free space.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plateau {
    rate: f64,
    amplification: Option<f64>,
}

/// Of a purged drive the second half of the first fill, when a single-bit cache is full and there is still free space
/// whatever the over-provisioning; of a filled one only the first cells.
fn plateau(history: &History, was_filled: bool) -> Option<Plateau> {
    let (from, to) = if was_filled { (0.0, 0.05) } else { (0.5, 0.95) };
    let is_inside = |cell: &&Cell| {
        let begun = history.fills_of(cell.from_bytes);
        begun >= from - 1e-9 && (begun == 0.0 || history.fills_of(cell.to_bytes) <= to + 1e-9)
    };
    let cells: Vec<Cell> = history.cells().iter().filter(is_inside).copied().collect();
    let median = |values: &[f64]| sample::sorted(values).map(|v| sample::median_of_sorted(&v));
    let rates: Vec<f64> = cells.iter().map(|cell| cell.value).collect();
    let amplification = amplifications(&cells).and_then(|values| median(&values));
    Some(Plateau { rate: median(&rates)?, amplification })
}

/// Fills at which the first lasting fall from the plateau begins, from `base` less a cell on.
fn cliff(history: &History, plateau: Plateau, base: f64) -> Option<f64> {
    let cells = history.cells();
    let begun = |cell: &Cell| history.fills_of(cell.from_bytes);
    let first = cells.partition_point(|cell| history.fills_of(cell.to_bytes) < base);
    let has_fallen = |cell: &Cell| {
        let risen = cell
            .amplification
            .zip(plateau.amplification)
            .is_some_and(|(now, before)| now > RISEN * before.max(1.0));
        cell.value < FALLEN * plateau.rate || risen
    };
    let rest = &cells[first..];
    let lasting = LASTING.min(rest.len()).max(1);
    let at = rest.windows(lasting).position(|cells| cells.iter().all(has_fallen))?;
    Some(begun(&rest[at]).max(base))
}
