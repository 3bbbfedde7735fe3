//! Access times over the addresses: bands of kinds of pages, zones that are kept in another way, periods.

mod bands;
mod edge;
mod evidence;
mod mixture;
mod options;
mod picture;
mod places;
mod profile;
mod published;
mod say;
mod spots;
mod state;
#[cfg(test)]
mod tests;
mod turns;
mod whole;
mod zones;

pub use evidence::{Band, Evidence, Part, Period, Point, Stretch, Window, Zone};
pub use options::Options;
pub use published::infer;

use self::places::Places;
use self::state::State;
use crate::desk::{Desk, Halt};
use crate::finding::{Name, Outcome};
use crate::known::Known;

/// Reads the region's places, and says how many bands their times lie in and which zones are unlike the rest.
///
/// # Errors
/// Any [`Halt`] except a limit; at a limit it judges what it has.
pub fn probe(
    desk: &mut Desk<'_>,
    known: &Known,
    options: &Options,
) -> Result<Outcome<Evidence>, Halt> {
    let region = desk.region();
    let logical = desk.info().logical_block_bytes;
    let Some(places) = Places::new(region, logical, known, options) else {
        return Ok(say::too_small());
    };
    let unit = known.value(Name::EraseBlock);
    desk.within(options.limit, |desk| {
        let mut state = State::new(desk, places);
        // Reads that show boundaries read cells. Sizes that were given, or that writes have shown, do not imply that.
        let by_reads = |name| known.given(name).is_none() && known.scale(name).is_some();
        state.holds_data =
            !desk.may_write() && (by_reads(Name::EraseBlock) || by_reads(Name::MultiPlanePage));
        let share = |percent| spots::share(options.limit, percent);
        desk.within(share(20), |desk| state.read_overview(desk, options.count))?;
        desk.within(share(55), |desk| state.read_windows(desk))?;
        if state.shows_one_band() && !state.holds_data {
            desk.within(share(75), |desk| state.confirm(desk))?;
        }
        state.find_edge(desk, unit)?;
        Ok(say::outcome(&state))
    })
}
