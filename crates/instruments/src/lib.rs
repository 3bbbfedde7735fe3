//! Instruments on open drives, as the runner sees them: each keeps its steps in a record and resumes from it, and knows neither
//! flags nor formats.
//!
//! - [`mark`] runs a benchmark on any target, and records each run.
//! - [`probe`] runs probes of flash devices, and puts back what they overwrite.
//! - [`pts`] runs enterprise tests, with the purge before each.
//! - [`purge`] empties a drive and reads back whether it is empty.
//! - [`announce`] foresees what an instrument does on a target, [`doubts`] are those that the layers of a target raise before anything is measured.

pub mod announce;
pub mod doubts;
pub mod mark;
pub mod probe;
pub mod pts;
pub mod purge;

use engine::Sample;
use record::SampleRow;

/// An I/O of a step's `run`, as the record has it.
pub fn sample_row(step: &str, run: u32, sample: &Sample) -> SampleRow {
    SampleRow {
        step: step.to_owned(),
        run,
        submitter: sample.submitter,
        op: sample.op,
        offset: sample.offset,
        len: sample.len,
        intended_ns: sample.intended.0,
        issued_ns: sample.issued.0,
        completed_ns: sample.completed.0,
    }
}
