//! Runs the steps of a plan on a target and collects what became of each I/O.
//!
//! [`run_step`] is the entry for load. It opens a drive per submitter (or one for all, as the target
//! chooses), lets every lane run the same loop from idle to idle, and merges what they saw into
//! [`Samples`]. The loop is generic over the drive alone: on a real drive it runs on a thread per
//! submitter, on a virtual one it multiplexes all of them in virtual time.
//!
//! [`Bench`] is the entry for questions: scripts of single accesses, of which each answer is wanted before the next
//! is asked.
//!
//! `replay` is the entry for traces: requests at their own times. `lane` is the hot loop, `submitter` decides what is issued
//! next. [`IoPath`] is an open target without its type, which is what instruments work on.

mod bench;
mod error;
mod gate;
mod io_path;
mod lane;
mod recorder;
pub mod replay;
mod run;
mod samples;
mod submitter;
mod way;

pub use bench::{Bench, BenchError, Streamed, TargetBench};
pub use error::EngineError;
pub use io_path::IoPath;
pub use run::{Control, run_step, run_step_apart};
pub use samples::{
    Failure, FailureKind, Lag, OpSamples, PhaseSamples, Sample, Samples, Series, Totals, Trouble,
};
pub use way::Way;
