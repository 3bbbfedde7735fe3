//! Classifies a place: in the zone at the beginning, or in one of the blocks of which only some may be open.
//!
//! As many erase blocks as may be open take turns, and with them the place under test. If it lies in a zone that is
//! mapped page by page, nothing happens: none of the others has to be closed. If it lies in a block like the others, it
//! is one too many, and each write of the round costs a merge.

use serde::{Deserialize, Serialize};

use crate::desk::{Desk, Halt};
use crate::open_au::{Excess, Field, Order, Turn, Visit};

/// Visits for one answer, at least and at most.
const VISITS: (usize, usize) = (8, 48);

/// A place belongs to the zone below this share of what one block too many costs.
const LINE: f64 = 0.12;
/// Standard errors that an answer must be away from the line.
const SURE: f64 = 4.0;

/// A place that was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Offset of the place, in bytes.
    pub offset_bytes: u64,
    /// Time that the other blocks took beyond writing alone, when the place took part.
    pub excess: Excess,
    /// True when it belongs to the zone, false when it counts as a block that is open; null when neither is clear.
    pub inside: Option<bool>,
}

/// Asks about places.
pub(super) struct Asker<'a> {
    field: &'a mut Field,
    open: u32,
    pub(super) len: u64,
    /// Cost of turns with as many blocks as may be open, and with one more.
    pub(super) levels: Option<(Excess, Excess)>,
    pub(super) places: Vec<Place>,
}

impl<'a> Asker<'a> {
    pub(super) fn new(field: &'a mut Field, open: u32, len: u64) -> Asker<'a> {
        Asker { field, open, len, levels: None, places: Vec::new() }
    }

    /// How many blocks may be open.
    pub(super) fn open(&self) -> u32 {
        self.open
    }

    /// Measures what turns cost at the limit and beyond; false when the two are not apart.
    pub(super) fn calibrate(&mut self, desk: &mut Desk<'_>) -> Result<bool, Halt> {
        let within = self.turns(desk, self.open, None, &|_| false)?;
        let beyond = self.turns(desk, self.open + 1, None, &|_| false)?;
        let (Some(within), Some(beyond)) = (within, beyond) else { return Ok(false) };
        self.levels = Some((within, beyond));
        let (rise, error) = beyond.over(&within);
        // It may be less: where a block is opened again, the cost of planes one by one disappears.
        Ok(rise.abs() > (8.0 * error).max(0.05 * within.alone_ns))
    }

    /// True when the place at `offset` belongs to the zone.
    pub(super) fn inside(
        &mut self,
        desk: &mut Desk<'_>,
        offset: u64,
    ) -> Result<Option<bool>, Halt> {
        let Some((within, beyond)) = self.levels else { return Ok(None) };
        // Share of the cost of one block too many. The rest of a block behind a zone that ends inside it is closed
        // sooner than a whole block, so the line lies far below a half.
        let inside = |excess: Excess| {
            let rise = beyond.excess_ns - within.excess_ns;
            let share = (excess.excess_ns - within.excess_ns) / rise;
            let error = SURE * excess.error_ns.hypot(within.error_ns) / rise.abs();
            match share {
                share if share < LINE && share + error < 2.0 * LINE => Some(true),
                share if share > 1.5 * LINE && share - error > LINE => Some(false),
                _ => None,
            }
        };
        let decided = |visits: &[Visit]| Excess::of(visits).and_then(inside).is_some();
        let Some(excess) = self.turns(desk, self.open, Some(offset), &decided)? else {
            return Ok(None);
        };
        let inside = inside(excess);
        self.places.push(Place { offset_bytes: offset, excess, inside });
        Ok(inside)
    }

    /// Has `count` blocks take turns with the place `also`, until that is `decided`.
    fn turns(
        &mut self,
        desk: &mut Desk<'_>,
        count: u32,
        also: Option<u64>,
        decided: &dyn Fn(&[Visit]) -> bool,
    ) -> Result<Option<Excess>, Halt> {
        let mut visits: Vec<Visit> = Vec::new();
        let enough = |visits: &[Visit]| {
            visits.len() >= VISITS.0 && (decided(visits) || also.is_none() && visits.len() >= 12)
                || visits.len() >= VISITS.1
        };
        for _ in 0..VISITS.1 {
            let units = self.field.take(desk, count as usize, self.len)?;
            let turn = Turn { units: &units, order: Order::Linear, len: self.len, also };
            self.field.turns(desk, &turn, &mut visits, &enough)?;
            if enough(&visits) {
                break;
            }
        }
        Ok(Excess::of(&visits))
    }
}
