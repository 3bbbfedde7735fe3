//! Runs the steps of a plan on a target and collects what became of each I/O.
//!
//! [`run_step`] is the only entry. It opens a drive per submitter (or one for all, as the target
//! chooses), lets every lane run the same loop from idle to idle, and merges what they saw into
//! [`Samples`]. The loop is generic over the drive alone: on a real drive it runs on a thread per
//! submitter, on a virtual one it multiplexes all of them in virtual time.

mod lane;
mod recorder;
mod run;
mod samples;
mod submitter;

pub use run::{Control, EngineError, run_step};
pub use samples::{
    Failure, FailureKind, Lag, OpSamples, PhaseSamples, Sample, Samples, Series, Totals,
};
