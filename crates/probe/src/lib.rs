//! Determines the structure of a flash device from its access times: probes issue a pattern, infer from the times,
//! and answer *found*, *none* or *unknown*, with a confidence.
//!
//! A probe works through a [`Desk`], which issues scripts, keeps within time and budgets, and passes on every I/O
//! to be recorded. Each probe is a module with a function `probe(&mut Desk, &Known, …)` that measures the drive and
//! a pure function `infer(…)`, so that published tables of other authors are judged by the same inference.

pub mod advice;
pub mod align;
pub mod capacity;
pub mod claims;
pub mod fat;
pub mod flashbench;
pub mod interval;
pub mod open_au;
pub mod parallelism;
pub mod plan;
pub mod scatter;
pub mod slc_cache;
pub mod speed_class;
pub mod surface;
pub mod write_buffer;

pub mod body;
pub mod chain;
mod conditions;
mod desk;
mod evidence;
mod finding;
mod known;
mod name;

pub use body::Body;
pub use desk::{Desk, Halt, Keeper, NoKeeper, Spent, Terms};
pub use finding::{Finding, Name, Outcome, Unit, Verdict};
pub use known::Known;
pub use name::ProbeName;
pub use plan::{Plan, Task};
