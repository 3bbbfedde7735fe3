//! A trace replayed on an open drive, as a run of its own.
//!
//! - [`settings`] are the settings of a replay, [`replayer`] opens a drive and replays a trace on it by them, and [`replay`] is the
//!   result.
//! - [`listener`] observes a replay: it judges the requests, shows progress, and saves the replay as a trace ([`saved_trace`]).
//! - [`record`] is the record of a run of one replay or of several.
//! - [`reference`] replays on a reference drive first, for the times ([`times`]) by which requests are outstanding.
//! - [`single`] is a replay on one drive, with the kernel's account of it ([`kernel_check`]); [`comparison`] replays on two drives
//!   by turns.
//! - [`caveats`] doubts a replay for the machine around it.

mod caveats;
mod comparison;
mod ending;
mod kernel_check;
mod listener;
mod record;
mod reference;
mod replay;
mod replayer;
mod saved_trace;
mod settings;
mod single;
mod times;

pub use comparison::Comparison;
pub use ending::{EndedEarly, Ending};
pub use record::left_behind;
pub use replayer::{Replayer, TraceFile};
pub use settings::{ReferenceDrive, Settings, Tester};
pub use single::Single;
