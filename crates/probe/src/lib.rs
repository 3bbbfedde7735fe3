//! What a flash device is made of, found by its access times: probes that issue a pattern, infer from the answers,
//! and say *found*, *none* or *unknown*, with how sure they are.
//!
//! [`Desk`] is where a probe works: it issues scripts, keeps time and budgets, and hands every single I/O on to be
//! recorded. Each probe is a module with a function `probe(&mut Desk, &Known, …)` that asks the drive and a
//! function `infer(…)` that is pure: so what others measured, published as tables, is judged by the same inference.

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
