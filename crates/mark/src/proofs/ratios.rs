//! Bytes that were counted per byte issued, and what a page cache took of them: what *reached* is judged by.

use block::{Bytes, Op, Snapshot};

use super::Case;

/// Bytes that crossed into the device, per byte issued, for the claim to hold. The lower end allows
/// for counters that are read a moment apart; the upper end for metadata and a little foreign I/O.
pub(super) const RATIO: std::ops::RangeInclusive<f64> = 0.97..=1.10;

/// Share of the bytes issued that may be left in the page cache by I/O that bypasses it.
pub(super) const CACHED_SHARE: f64 = 0.05;

/// Share of a file without written data from which its reads say nothing about the device.
pub(super) const UNWRITTEN_SHARE: f64 = 0.005;

/// Least share of the bytes issued that the kernel charges to this process when no cache serves them.
/// Reads are charged where they are submitted, which is here; below half of them, most came from a
/// cache. Writes may be left to threads of a filesystem, so their charge alone refutes nothing.
pub(super) const TASK_MIN: f64 = 0.5;

/// The layer that answers, whether counters or events showed it.
pub(super) fn between(cache: &str) -> String {
    format!("a page cache lies between target and device: {cache}")
}

/// Why the page cache took the I/O, whatever the device counted: it may write back as much as it was given while the
/// test still runs, and the times are the cache's all the same. Writes that had to be durable waited for the device.
pub(super) fn through_cache(case: &Case<'_>, op: Op, issued: Bytes) -> Option<String> {
    let through = "I/O went through it, whatever reached the device";
    if let Some(left) = left_in_cache(case, issued) {
        return Some(format!("{} of it were left in the page cache: {through}", left.human()));
    }
    let waited = op == Op::Write && case.all_durable(op);
    (!case.direct && !waited).then(|| format!("the page cache was not to be bypassed: {through}"))
}

/// Growth of the page cache during the counted runs, in total, where it is too much for I/O that
/// bypasses it. A first pass over a cold file reaches the device byte for byte and is buffered all the
/// same.
fn left_in_cache(case: &Case<'_>, issued: Bytes) -> Option<Bytes> {
    let cached = |s: &Snapshot| s.page_cache.map(|c| c.cached_bytes.0);
    let grown: u64 = case
        .runs()
        .iter()
        .filter_map(|r| Some(cached(&r.after)?.saturating_sub(cached(&r.before)?)))
        .sum();
    (grown as f64 > CACHED_SHARE * issued.0 as f64).then_some(Bytes(grown))
}
