//! Doubts about a step that the rows agree on: causes that look like an erase block and are not one.

use super::class::GROUP_LOG2_MAX;
use super::erase::{self, Candidate, Hypothesis};
use super::row::{Row, Source};

/// Why `block` is not taken for the erase block, if there is a reason.
pub(super) fn about(
    rows: &[Row],
    block: u64,
    source: Source,
    best: &Candidate,
    time: f64,
) -> Option<String> {
    stripe(rows, block, source, best)
        .or_else(|| some_only(rows, block, source, best))
        .or_else(|| second_step(rows, block, source, best, time))
}

/// The same of a size that single boundaries named, which themselves exclude stripes and fractions.
pub(super) fn about_named(rows: &[Row], block: u64, best: &Candidate, time: f64) -> Option<String> {
    // Of other sizes rows show a fraction of the step, above which anything looks like a second one.
    super::class::Class::of(block)?;
    second_step(rows, block, Source::Measured, best, time)
}

/// Doubts a step that may be that of a stripe over the drive's dies. Both sides are then read at once, and a
/// boundary between pages of unlike kinds costs more than one between like pages, which all lie within a stripe.
/// Beyond the slower side alone the step then vanishes.
fn stripe(rows: &[Row], block: u64, source: Source, best: &Candidate) -> Option<String> {
    let step = erase::step_of(rows, block, source, best.spread_ns, |row| row.beyond);
    let holds = step.value_ns >= 3.0 * step.error_ns && step.value_ns >= 0.4 * best.step_ns;
    (!holds).then(|| {
        format!(
            "from {block} bytes on the sides of a boundary differ, and the slower one is waited for: a stripe over \
             dies looks like that"
        )
    })
}

/// Doubts a step that only some boundaries of the classes above show: the true size is then a multiple of a number
/// other than 1 or 3, and the lower quartile of the boundaries does not step.
fn some_only(rows: &[Row], block: u64, source: Source, best: &Candidate) -> Option<String> {
    let step = erase::step_of(rows, block, source, best.spread_ns, |row| row.lower);
    (step.value_ns + 3.0 * step.error_ns < 0.7 * best.step_ns).then(|| {
        format!("only some of the boundaries at multiples of {block} bytes cost more, so it is another number's")
    })
}

/// A second step, above or below, that may be the real one.
fn second_step(
    rows: &[Row],
    block: u64,
    source: Source,
    best: &Candidate,
    time: f64,
) -> Option<String> {
    [true, false].into_iter().find_map(|above| {
        let shown = |row: &Row| erase::shown(row.class, block, source);
        // Of the rows above, those that show the whole step, or the same part of it.
        let level = if above { rows.iter().map(shown).fold(0.0, f64::max) } else { 0.0 };
        let side: Vec<Row> = rows.iter().filter(|row| shown(row) == level).copied().collect();
        let other = *erase::judge(&side, source, GROUP_LOG2_MAX, time).first()?;
        let Hypothesis::Block(second) = other.hypothesis else { return None };
        let stands = other.probability > 0.9
            && other.step_ns > 0.25 * best.step_ns
            && other.step_ns > 4.0 * other.step_error_ns;
        stands.then(|| format!("costs step at {block} bytes and again at {second}"))
    })
}
