//! The unit of programming, by writing: a write that begins inside it has to read and program the data before it.
//!
//! Writes follow each other in one erase block with gaps, so that none joins the one before, first at even places,
//! then all moved by some bytes. Moved by less than the unit, each write programs one unit more and reads parts of
//! two; moved by a whole number of units, it takes what it took. The lengths of writes and gaps are multiples of all
//! units that are looked for.

use serde::{Deserialize, Serialize};

use super::field::{Field, elapsed, midmean};
use crate::desk::{Desk, Halt};
use crate::finding::{Finding, Name};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Writes of a row: two that lead, and those that count, each kind with its size and the distance of their beginnings.
#[derive(Clone, Copy)]
struct Shape {
    lead: (u64, u64),
    counted: (u64, u64),
}

impl Shape {
    /// Writes that count in a block of `unit` bytes.
    fn counted_in(&self, unit: u64) -> u64 {
        (unit.saturating_sub(LEAD * self.lead.1) / self.counted.1).min(6)
    }

    /// Offset of write `n`, and its size.
    fn place(&self, n: u64) -> (u64, u64) {
        match n.checked_sub(LEAD) {
            None => (n * self.lead.1, self.lead.0),
            Some(n) => (LEAD * self.lead.1 + n * self.counted.1, self.counted.0),
        }
    }
}

/// Three units of the largest size, and as many pages of each kind for lesser ones.
const USUAL: Shape = Shape { lead: (192 * KIB, 256 * KIB), counted: (192 * KIB, 256 * KIB) };
/// Twice that: more than a log for small writes takes, whose unit of programming may be a lesser one.
const LARGE: Shape = Shape { lead: (64 * KIB, 128 * KIB), counted: (384 * KIB, 512 * KIB) };
/// The first write of a row opens the block, the second finds the end of an even one.
const LEAD: u64 = 2;
/// The largest unit that is looked for.
const MOST: u64 = 64 * KIB;
/// Writes compared for one shift, at least.
const WRITES: usize = 60;

/// Writes moved by one distance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// By how much they were moved, in bytes.
    pub shift_bytes: u64,
    /// Time of the writes beyond those at even places, in nanoseconds.
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
    let Some(rows) = field.as_ref().and_then(|field| Rows::new(field, unit, USUAL)) else {
        return unknown("the region holds too few erase blocks, or they are too small");
    };
    // With one row less, events that occur once in a fixed number of bytes fall on other writes.
    let fewer = rows.fewer();
    let (page, others) = match search(desk, &rows, shifts)? {
        Searched::Unit(page) => (page, &fewer),
        Searched::Unknown(_) => match search(desk, &fewer, shifts)? {
            Searched::Unit(page) => (page, &rows),
            Searched::Unknown(reason) => return unknown(reason),
        },
    };
    if !is_confirmed(desk, others, page, shifts)? {
        return unknown("a second look at other rows of writes does not agree");
    }
    let large = field.as_ref().and_then(|field| Rows::new(field, unit, LARGE));
    let Some(large) = large else {
        return unknown("the erase blocks are too small for writes that no log takes");
    };
    if !holds_beyond_a_log(desk, &large, page, shifts)? {
        return unknown("writes of twice the size do not agree: a log may take the smaller ones");
    }
    let reason = format!(
        "writes moved by {} KiB take as long as before, moved by less they read and program more",
        page / KIB
    );
    Ok(Finding::found(Name::MultiPlanePage, page, 0.9, reason))
}

/// Result of a search in some rows.
enum Searched {
    Unit(u64),
    /// With the reason.
    Unknown(&'static str),
}

/// Halves what may be the unit until it is known.
fn search(desk: &mut Desk<'_>, rows: &Rows, shifts: &mut Vec<Shift>) -> Result<Searched, Halt> {
    let writes = Compared::even(desk, rows)?;
    let least = desk.info().logical_block_bytes.0.max(512);
    let whole = writes.moved(desk, least, shifts)?;
    if whole.mean < (6.0 * whole.error).max(0.01 * writes.usual) {
        return Ok(Searched::Unknown("writes that begin anywhere take as long as at even places"));
    }
    let (mut low, mut high) = (least.ilog2() + 1, MOST.ilog2() + 1);
    while low < high {
        let middle = (low + high) / 2;
        match writes.moved(desk, 1 << middle, shifts)?.beside(&whole) {
            Some(true) => low = middle + 1,
            Some(false) => high = middle,
            None => {
                return Ok(Searched::Unknown("writes moved by different distances do not agree"));
            }
        }
    }
    if low > MOST.ilog2() {
        return Ok(Searched::Unknown("writes take longer wherever they were moved to"));
    }
    Ok(Searched::Unit(1 << low))
}

/// True when writes of other rows cost more at half a unit and at one and a half, and no more at one and at two.
fn is_confirmed(
    desk: &mut Desk<'_>,
    rows: &Rows,
    page: u64,
    shifts: &mut Vec<Shift>,
) -> Result<bool, Halt> {
    let writes = Compared::even(desk, rows)?;
    let least = desk.info().logical_block_bytes.0.max(512);
    let whole = writes.moved(desk, least, shifts)?;
    for (half_pages, costs) in [(1, true), (2, false), (3, true), (4, false)] {
        let shift = page / 2 * half_pages;
        // Further on, the last write of a row leaves its erase block.
        if shift > MOST {
            break;
        }
        let excess = writes.moved(desk, shift, shifts)?;
        if excess.beside(&whole) != Some(costs) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True when large writes cost no more moved by a page, and more moved by half of one. In small blocks an erase falls on
/// every second or third of them: where that leaves it open, the faster half of each kind is compared.
fn holds_beyond_a_log(
    desk: &mut Desk<'_>,
    rows: &Rows,
    page: u64,
    shifts: &mut Vec<Shift>,
) -> Result<bool, Halt> {
    let writes = Compared::even(desk, rows)?;
    let mut look = |shift: u64| -> Result<[Excess; 2], Halt> {
        let moved = rows.times(desk, shift)?;
        let excesses = [writes.paired(&moved), writes.faster_half(&moved)];
        shifts.extend(excesses.iter().map(|excess| excess.at(shift)));
        Ok(excesses)
    };
    let (half, whole) = (look(page / 2)?, look(page)?);
    let costs = half.iter().zip(&whole).find_map(|(half, whole)| {
        (half.mean > 6.0 * half.error).then(|| whole.beside(half)).flatten()
    });
    Ok(costs == Some(false))
}

/// Middle of the faster half of `times`, with its standard error.
fn faster_half(times: &[f64]) -> (f64, f64) {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    midmean(&sorted[..sorted.len().div_ceil(2)]).unwrap_or((0.0, 0.0))
}

/// Writes of some rows at even places, which moved ones are compared with.
struct Compared<'a> {
    rows: &'a Rows,
    even: Vec<f64>,
    /// Middle of their times, in nanoseconds.
    usual: f64,
}

impl<'a> Compared<'a> {
    fn even(desk: &mut Desk<'_>, rows: &'a Rows) -> Result<Compared<'a>, Halt> {
        let even = rows.times(desk, 0)?;
        let usual = midmean(&even).map_or(0.0, |(mean, _)| mean);
        Ok(Compared { rows, even, usual })
    }

    /// Excess of the writes moved by `shift` bytes.
    fn moved(
        &self,
        desk: &mut Desk<'_>,
        shift: u64,
        shifts: &mut Vec<Shift>,
    ) -> Result<Excess, Halt> {
        let excess = self.paired(&self.rows.times(desk, shift)?);
        shifts.push(excess.at(shift));
        Ok(excess)
    }

    /// Excess of writes that took `moved`, each over the one at its even place.
    fn paired(&self, moved: &[f64]) -> Excess {
        let more: Vec<f64> =
            moved.iter().zip(&self.even).map(|(moved, even)| moved - even).collect();
        let (mean, error) = midmean(&more).unwrap_or((0.0, 0.0));
        Excess { mean, error }
    }

    /// Excess of the faster half of writes that took `moved` over the faster half of those at even places.
    fn faster_half(&self, moved: &[f64]) -> Excess {
        let ((moved, one), (even, other)) = (faster_half(moved), faster_half(&self.even));
        Excess { mean: moved - even, error: one.hypot(other) }
    }
}

/// Time that moved writes take longer, with its standard error, in nanoseconds.
struct Excess {
    mean: f64,
    error: f64,
}

impl Excess {
    fn at(&self, shift_bytes: u64) -> Shift {
        Shift { shift_bytes, excess_ns: self.mean, error_ns: self.error }
    }

    /// True where it is the cost of one unit more, which is `whole`, false where it is nothing. One unit more is programmed
    /// wherever a write begins inside one, so a cost of another size is of something else: a block's erases may fall on half
    /// of the writes, and then the mean of the middle says nothing.
    fn beside(&self, whole: &Excess) -> Option<bool> {
        let share = self.mean / whole.mean;
        if (0.6..1.6).contains(&share) && self.mean - 2.0 * self.error > 0.3 * whole.mean {
            Some(true)
        } else if share.abs() < 0.35 && self.mean + 2.0 * self.error < 0.7 * whole.mean {
            Some(false)
        } else {
            None
        }
    }
}

/// Purpose of the random numbers that choose erase blocks.
const PAGES: u64 = 0x7061_6765;

/// Rows of writes with gaps, one in each of some erase blocks.
struct Rows {
    starts: Vec<u64>,
    /// Writes in a row.
    writes: u64,
    shape: Shape,
}

impl Rows {
    /// As many as it takes; null when there are too few blocks to come back to one only after it was closed.
    fn new(field: &Field, unit: u64, shape: Shape) -> Option<Rows> {
        let counted = Some(shape.counted_in(unit)).filter(|counted| *counted > 0)?;
        let count = WRITES.div_ceil(counted as usize).max(12);
        let starts: Vec<u64> = field.starts().iter().copied().take(count).collect();
        (starts.len() >= 8).then_some(Rows { starts, writes: LEAD + counted, shape })
    }

    /// One row less.
    fn fewer(&self) -> Rows {
        Rows { starts: self.starts[1..].to_vec(), ..*self }
    }

    /// Times of the writes, moved by `shift` bytes.
    fn times(&self, desk: &mut Desk<'_>, shift: u64) -> Result<Vec<f64>, Halt> {
        let mut times = Vec::new();
        for start in &self.starts {
            let moved = |n: u64| {
                let (at, len) = self.shape.place(n);
                (start + at + if n > 0 { shift } else { 0 }, len)
            };
            let places: Vec<(u64, u64)> = (0..self.writes).map(moved).collect();
            let samples = desk.write(&format!("moved by {shift} B"), &places)?;
            times.extend(samples.iter().skip(LEAD as usize).map(elapsed));
        }
        Ok(times)
    }
}
