//! The quick benchmark: sequential and random transfers in the familiar notation, repeated, with a
//! proof or a withdrawal beside each number.
//!
//! [`Options::plan`] makes the plan, [`execute()`] makes the runs, [`findings::body`] says what they mean.
//! `proofs` has a file for each proof. `cache` measures what a drive's cache holds, `burst` separates burst from sustained
//! writes, `compare` compares results, `trend` follows one drive over time, `sweep` runs one load under many settings, and
//! `imported` holds results of other programs, of which nothing is proven. `outlook` foresees time and bytes of a plan, of a virtual
//! drive by a `rehearsal`. `diskspd` is the load of a diskspd command line, and
//! `explain` reads commands of other programs, a file or folder for each, into one form of load.

pub mod body;
pub mod burst;
pub mod cache;
mod caveats;
mod ceiling;
pub mod compare;
mod context;
pub mod diskspd;
mod execute;
pub mod explain;
pub mod findings;
pub mod imported;
mod look_again;
mod more_runs;
pub mod notation;
pub mod options;
pub mod outlook;
mod proofs;
pub mod rehearsal;
pub mod repeat;
mod rest;
mod run;
mod settle;
pub mod states;
pub mod sweep;
pub mod trend;
mod write_budget;

pub use body::Body;
pub use caveats::past_the_cache;
pub use ceiling::{Ceiling, ceiling};
pub use execute::{
    Around, Broken, Earlier, Engines, Executed, FailedRun, Keeper, MarkError, NeedsMore, NoKeeper,
    TestRuns, execute,
};
pub use look_again::look_again;
pub use more_runs::needs_more;
pub use notation::{Pattern, TestSpec};
pub use options::{Deciding, Direction, Options, Profile};
pub use run::{Kept, RunFigures, TracedRun};
pub use settle::Settled;
