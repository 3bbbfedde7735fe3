//! A trace replayed on an open drive, as a run of its own.
//!
//! - [`settings`] are the settings of a replay, [`replayer`] opens a drive and replays a trace on it by them, and [`replay`] is the
//!   result.
//! - [`single`] is a replay on one drive, with the kernel's account of it ([`kernel_check`]); [`comparison`] replays on two drives
//!   by turns. Both end as [`ending`] says.
//! - [`reference`](mod@reference) replays on a reference drive first, for the [`times`] by which requests are outstanding.
//! - [`listener`] observes a replay: it judges the requests, shows progress, and saves the replay as a trace ([`saved_trace`]).
//! - [`record`](mod@record) is the record of a run of one replay or of several.
//! - [`caveats`] doubts a replay for the machine around it.

pub mod caveats;
pub mod comparison;
pub mod ending;
pub mod kernel_check;
pub mod listener;
pub mod record;
pub mod reference;
pub mod replay;
pub mod replayer;
pub mod saved_trace;
pub mod settings;
pub mod single;
pub mod times;

pub use comparison::Comparison;
pub use ending::{EndedEarly, Finished};
pub use record::left_behind;
pub use replayer::{Replayer, TraceFile};
pub use settings::{ReferenceDrive, Settings, Tester};
pub use single::Single;
