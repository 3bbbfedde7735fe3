//! Caches of cells that are written with one bit.

use anyhow::Result;
use block::{Nanos, Op, Target as _};

use super::claims::Claims;
use super::drive::{Drive, mean};
use super::oracles::load::{Load, Series};

const MODELS: [&str; 2] = ["sim:tlc-pslc", "sim:qlc-pslc"];
const LOAD: Load = Load { op: Op::Write, block: 1 << 17, depth: 32 };
/// Spans of time in which the rate is looked at.
const SPAN_NS: u64 = 10_000_000;
/// Share of the cache that is folded in the pause.
const FOLDED: f64 = 0.4;

pub(super) fn check(claims: &mut Claims) -> Result<()> {
    claims.section(
        "Single-bit cache",
        "Sequential 128 KiB writes at depth 32 from a purge on. The cliff is where the rate of 10 ms falls below the \
         middle of what it was and what it becomes; what the drive's memory holds is taken off. Then a pause in which \
         0.4 of the cache is folded at the model's rate, and the same again: so much is held at the first rate once \
         more.",
    );
    for spec in MODELS {
        let mut drive = Drive::open(spec)?;
        let cache = drive.parameters.single_bit();
        let (held, buffer) = (drive.truth("slc_cache_bytes")?, drive.truth("write_buffer_bytes")?);
        let mut at = 0;
        let first = cliff(&fill(&mut drive, 1.2 * held, &mut at)?) - buffer;
        claims.near(spec, "first cliff, MB", (first / 1e6, 0), (cache.bytes as f64 / 1e6, 0.03));
        let folding = FOLDED * held / cache.fold_bytes_per_s as f64;
        drive.target.pause(Nanos(cache.idle_before_fold_ns + (folding * 1e9) as u64));
        let second = cliff(&fill(&mut drive, 0.6 * held, &mut at)?) - buffer;
        let what = "cliff after the pause, MB";
        claims.near(spec, what, (second / 1e6, 0), (FOLDED * held / 1e6, 0.05));
    }
    Ok(())
}

/// Writes `bytes` from `at` on.
fn fill(drive: &mut Drive, bytes: f64, at: &mut u64) -> Result<Series> {
    let capacity = drive.parameters.capacity();
    let mut left = bytes as u64 / LOAD.block;
    let next = || {
        left = left.checked_sub(1)?;
        let offset = *at;
        // Sizes of drives are seldom multiples of a transfer.
        *at = if offset + 2 * LOAD.block > capacity { 0 } else { offset + LOAD.block };
        Some(offset)
    };
    drive.issue(LOAD, SPAN_NS, next)
}

/// Bytes before the rate falls. In the first tenth of a second the drive's memory fills.
fn cliff(series: &Series) -> f64 {
    let rates = series.rates();
    let (first, last) = (mean(&rates[10..20]), mean(&rates[rates.len() - 10..]));
    let low = rates.iter().skip(10).position(|rate| *rate < f64::midpoint(first, last));
    let at = low.map_or(rates.len(), |at| at + 10);
    (series.counts[..at].iter().sum::<u64>() * LOAD.block) as f64
}
