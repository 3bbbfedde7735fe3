//! A survey: the right instruments in the right order for what a target is, and what they say together.
//!
//! [`parts`] decides which instruments are asked, from what the target says of itself; each is a command line of the
//! instrument, which anybody can repeat. [`conclude`] is a pure function from what the instruments found to
//! [`Conclusion`]s. Nothing here measures, and nothing here knows a model.

pub mod body;
mod cells;
mod conclusion;
mod disk;
mod drive_kind;
mod health;
pub mod parts;
pub mod plan;
mod rates;
mod seen;
mod sort;
mod structure;
mod trust;
mod words;
mod writing;

pub use body::Body;
pub use conclusion::{Conclusion, Evidence, Topic, Value};
pub use drive_kind::DriveSort;
pub use seen::Seen;

/// Returns the results that decide about parts still to come.
pub fn shown(seen: &Seen<'_>) -> parts::Shown {
    let random_writes =
        seen.test("RND4K Q32T1", mark::Direction::Write).and_then(|test| test.mb_s.median);
    parts::Shown {
        queues: drive_kind::queues(seen),
        random_write_bytes_per_s: random_writes.map(|mb_s| mb_s * 1e6),
        erase_block: seen.value(probe::Name::EraseBlock).map(block::Bytes),
    }
}

/// Draws all conclusions, in the order of display. Topics that were not examined are absent; those that were examined and
/// stayed undetermined are present, with the reason.
pub fn conclude(seen: &Seen<'_>) -> Vec<Conclusion> {
    let sort = drive_kind::conclude(seen);
    let mut conclusions = vec![sort];
    conclusions.extend(disk::conclude(seen));
    conclusions.extend(structure::conclude(seen));
    conclusions.extend(cells::conclude(seen));
    conclusions.extend(rates::conclude(seen));
    conclusions.extend(writing::conclude(seen));
    conclusions.extend(health::conclude(seen));
    conclusions.extend(trust::conclude(seen));
    conclusions
}
