//! The unit of programming, by writing: a write that begins inside it has to read and program what stands before.
//!
//! Writes follow each other in one erase block with gaps, so that none joins the one before, first at even places,
//! then all moved by some bytes. Moved by less than the unit, each write programs one unit more and reads parts of
//! two; moved by a whole number of units, it takes what it took. The lengths of writes and gaps are multiples of all
//! units that are looked for.

use serde::{Deserialize, Serialize};

use super::field::{Field, elapsed, midmean};
use crate::desk::{Desk, Halt};
use crate::finding::{Finding, Name, Verdict};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Size of a write: three units of the largest size, and as many pages of each kind for lesser ones.
const LEN: u64 = 192 * KIB;
/// From the beginning of one write to the next.
const STRIDE: u64 = 256 * KIB;
/// The largest unit that is looked for.
const MOST: u64 = 64 * KIB;
/// Writes compared for one shift, at least.
const WRITES: usize = 60;

/// Writes moved by one distance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// By how much they were moved, in bytes.
    pub shift_bytes: u64,
    /// What they took longer than at even places, in nanoseconds.
    pub excess_ns: f64,
    /// Its standard error, in nanoseconds.
    pub error_ns: f64,
}

/// Asks for the unit of programming in erase blocks of `unit` bytes.
///
/// # Errors
/// A [`Halt`], limits too; what was measured is in `shifts`.
pub(super) fn page(
    desk: &mut Desk<'_>,
    unit: u64,
    shifts: &mut Vec<Shift>,
) -> Result<Finding, Halt> {
    let unknown = |reason: &str| Ok(Finding::unknown(Name::MultiPlanePage, reason));
    let mut rng = desk.rng(&[PAGES]);
    let field = Field::plan(desk.region(), Some(unit), 64, &mut rng).filter(|_| unit >= MIB);
    let Some(rows) = field.and_then(|field| Rows::new(&field, unit)) else {
        return unknown("the region holds too few erase blocks, or they are too small");
    };
    let first = ask(desk, &rows, shifts)?;
    if first.verdict == Verdict::Found {
        return Ok(first);
    }
    // With one row less, what comes once in so many bytes falls on other writes.
    ask(desk, &rows.fewer(), shifts)
}

/// Halves what may be the unit until it is known.
fn ask(desk: &mut Desk<'_>, rows: &Rows, shifts: &mut Vec<Shift>) -> Result<Finding, Halt> {
    let unknown = |reason: &str| Ok(Finding::unknown(Name::MultiPlanePage, reason));
    let even = rows.times(desk, 0)?;
    let usual = midmean(&even).map_or(0.0, |(mean, _)| mean);
    let mut excess = |desk: &mut Desk<'_>, shift: u64| -> Result<(f64, f64), Halt> {
        let moved = rows.times(desk, shift)?;
        let more: Vec<f64> = moved.iter().zip(&even).map(|(moved, even)| moved - even).collect();
        let (excess_ns, error_ns) = midmean(&more).unwrap_or((0.0, 0.0));
        shifts.push(Shift { shift_bytes: shift, excess_ns, error_ns });
        Ok((excess_ns, error_ns))
    };
    let least = desk.info().logical_block_bytes.0.max(512);
    let (whole, error) = excess(desk, least)?;
    if whole < (6.0 * error).max(0.01 * usual) {
        return unknown("writes that begin anywhere take as long as at even places");
    }
    let (mut low, mut high) = (least.ilog2() + 1, MOST.ilog2() + 1);
    while low < high {
        let middle = (low + high) / 2;
        let (more, error) = excess(desk, 1 << middle)?;
        // A block's erases may fall on half of the writes: then the mean of the middle says nothing.
        match more / whole {
            share if share > 0.6 && more - 2.0 * error > 0.3 * whole => low = middle + 1,
            share if share < 0.35 && more + 2.0 * error < 0.7 * whole => high = middle,
            _ => return unknown("writes moved by different distances do not agree"),
        }
    }
    if low > MOST.ilog2() {
        return unknown("writes take longer wherever they were moved to");
    }
    let page = 1_u64 << low;
    let reason = format!(
        "writes moved by {} KiB take as long as before, moved by less they read and program more",
        page / KIB
    );
    Ok(Finding::found(Name::MultiPlanePage, page, 0.9, reason))
}

/// Purpose of the random numbers that choose erase blocks.
const PAGES: u64 = 0x7061_6765;

/// Rows of writes with gaps, one in each of some erase blocks.
struct Rows {
    starts: Vec<u64>,
    /// Writes in a row.
    writes: u64,
}

impl Rows {
    /// As many as it takes; null when there are too few blocks to come back to one only after it was closed.
    fn new(field: &Field, unit: u64) -> Option<Rows> {
        let writes = (unit / STRIDE).min(8);
        // The first write opens the block, the second finds the end of an even one.
        let counted = writes.checked_sub(2).filter(|counted| *counted > 0)?;
        let count = WRITES.div_ceil(counted as usize).max(12);
        let starts: Vec<u64> = field.starts().iter().copied().take(count).collect();
        (starts.len() >= 8).then_some(Rows { starts, writes })
    }

    /// One row less.
    fn fewer(&self) -> Rows {
        Rows { starts: self.starts[1..].to_vec(), writes: self.writes }
    }

    /// Times of the writes, moved by `shift` bytes.
    fn times(&self, desk: &mut Desk<'_>, shift: u64) -> Result<Vec<f64>, Halt> {
        let mut times = Vec::new();
        for start in &self.starts {
            let moved = |n: u64| start + n * STRIDE + if n > 0 { shift } else { 0 };
            let places: Vec<(u64, u64)> = (0..self.writes).map(|n| (moved(n), LEN)).collect();
            let samples = desk.write(&format!("moved by {shift} B"), &places)?;
            times.extend(samples.iter().skip(2).map(elapsed));
        }
        Ok(times)
    }
}
