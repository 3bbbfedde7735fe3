//! Whether what looks like a limit has another cause.
//!
//! Two controls. *Reads*: closing a block costs writes alone, and moving a head or looking up a map costs reads too; so
//! the same places are read in the same turns. *The cost of a merge*: the time that a count may add was compared with
//! that of its own writes, before the cost of a merge was known. Where blocks hold only a few writes, some visits go
//! back past a boundary and some do not, or the part that is copied shrinks with the size, so that merges look like the
//! cost of planes. So counts that were taken as fast are compared with a merge once one was seen.

use super::search::{End, Search};
use crate::desk::{Desk, Halt};

/// A visit that reads may take this part of what one that writes takes longer.
const READS: f64 = 0.5;
/// A visit of a fast count takes less than this part of a merge longer, with this many standard errors added.
const PART: f64 = 0.35;
const ERRORS: f64 = 3.0;

/// `end` where no other cause was seen. A merge in order takes `merge_ns` longer, where that is known.
///
/// # Errors
/// Any [`Halt`] except a limit.
pub(super) fn hold(
    desk: &mut Desk<'_>,
    search: &mut Search<'_>,
    end: End,
    merge_ns: Option<f64>,
) -> Result<End, Halt> {
    let (End::Limit { open, .. } | End::AsInOrder { open, .. }) = end else { return Ok(end) };
    let Some(own) = search.merge_ns(end) else { return Ok(end) };
    let merge = merge_ns.map_or(own, |known| known.min(own));
    let partly = |nr: &u32| {
        search.last(*nr).is_some_and(|fast| fast.excess_ns + ERRORS * fast.error_ns > PART * merge)
    };
    if let Some(nr) = (1..=open).find(partly) {
        return Ok(End::Partly { nr });
    }
    match search.reads_in_turn(desk, open + 1) {
        Ok(reads) if reads > READS * own => Ok(End::ReadsToo { nr: open + 1 }),
        Ok(_) => Ok(end),
        Err(halt) if halt.is_limit() => {
            search.halt = Some(halt);
            Ok(End::Cut { fast: open })
        }
        Err(halt) => Err(halt),
    }
}
