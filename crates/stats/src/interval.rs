//! Intervals that need no assumption on the shape of the distribution: order statistics for medians
//! and other quantiles, the bootstrap for the rest, Clopper and Pearson for proportions.

mod bootstrap;
mod order;
mod proportion;

pub use bootstrap::{BootstrapInterval, BootstrapKind, bootstrap};
pub use order::{OrderInterval, median, median_interval, runs_needed};
pub use proportion::{ProportionInterval, proportion_interval};

pub(crate) use order::{half_width, last_rank, ranks_for_error, shape, symmetric, within_percent};

use crate::ess;
use crate::quantity::{Better, Quantity, Unit};
use crate::sample;

/// The median of independent repetitions as a [`Quantity`], in the order in which they were measured.
///
/// `low` and `high` are those of [`median_interval`], and `None` when there are too few observations
/// (fewer than 6 at 95%).
///
/// When the rank von Neumann test finds that neighbours resemble each other (see
/// [`ess::effective_runs`]), the observations are worth fewer independent ones: `n_effective` says how
/// many, and the interval is widened to the quantile levels that `n_effective` independent observations
/// would reach to. Eight runs that drift steadily are worth about three, and have no 95% interval. The
/// alternative, the interval of n regardless, would be wrong in exactly the case in which somebody
/// needs to know.
///
/// `None` when `xs` is empty or holds NaN or an infinity, or `confidence` is not within (0, 1).
pub fn median_quantity(
    xs: &[f64],
    confidence: f64,
    unit: Unit,
    better: Better,
) -> Option<Quantity> {
    if !sample::valid_confidence(confidence) {
        return None;
    }
    let ordered = sample::sorted(xs)?;
    let n_effective = ess::effective_runs(xs)?;
    let ends = order::widened_interval(&ordered, n_effective, confidence);
    Some(Quantity {
        value: sample::median_of_sorted(&ordered),
        low: ends.map(|(low, _)| low),
        high: ends.map(|(_, high)| high),
        confidence,
        unit,
        n: xs.len(),
        n_effective,
        better,
    })
}
