//! The benchmark on any target.
//!
//! `job` is what to measure, `announce` foresees what it takes, `target` names a target with everything that can be set about it, `measure` goes from there to the findings, `recording` is the
//! record of a benchmark as the runner sees it, `setup` the part of the record from which a run is made again. `samples` writes
//! single I/Os to a file, `watch` judges the runs so far for a live view, `turns` lets several benchmarks take turns.

mod announce;
mod job;
mod measure;
mod recording;
mod samples;
mod setup;
mod target;
mod turns;
mod watch;

pub use announce::{check_consent, foresee};
pub use job::Job;
pub use measure::{Measured, measure};
pub use recording::{Closed, IN_TURNS, Recording, RunMode, kept, latencies};
pub use samples::SamplesFile;
pub use setup::{Setup, absolute, file_size};
pub use target::{Span, TargetSettings, WriteConsent};
pub use turns::{Turn, Turns};
