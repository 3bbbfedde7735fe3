//! Records of runs, which can be trusted years later, by people without drivescope.
//!
//! [`Runs`] is a directory of runs; [`RunWriter`] writes one, step by step; [`Run`] is one that was read.
//! The results of an instrument are JSON of any form here.
//!
//! # A run's directory
//! | file | what it is | written |
//! |---|---|---|
//! | `record.json` | form of this record ([`SCHEMA`]), the run's name, checksums of the next three | at the beginning |
//! | `plan.toml`, `envelope.json`, `setup.json` | plan; host, date and binary; what repeats it | at the beginning |
//! | `journal.jsonl` | the steps, one line each | with each step, before the next |
//! | `samples/0003.parquet` or `.csv` | single I/Os of position 3 | with each step, when asked for |
//! | `series.csv` | interval series of all steps | at the end, from the journal |
//! | `histograms.hlog` | latencies of all steps, an HdrHistogram log | at the end, from the journal |
//! | `document.json` | the document that the verb prints | at the end |
//! | `SHA256SUMS` | checksums of all other files | at the end |
//! | `end.json` | how it ended: with this file, and not before, it has | last |
//!
//! A name that begins with a dot is not whole yet and no part of the run.
//!
//! Every file operation goes through `files`, so that a test can make the nth one fail. `migrate` reads older forms.

mod age;
mod announced;
mod archive;
mod derived;
mod document;
mod entry;
mod error;
mod files;
#[cfg(test)]
mod fixtures;
mod index;
mod journal;
mod load;
mod migrate;
mod originals;
mod removal;
mod run;
mod run_id;
mod runs;
mod samples;
mod store;
mod sums;

pub use announced::Announced;
pub use archive::{Exported, Imported, Limits, unpacked};
pub use derived::csv_field;
pub use document::{Binary, Document, Envelope, Host, Machine};
pub use entry::{
    Head, PhaseHistogram, PhaseSeries, SampleRow, SamplesFormat, Saved, State, StepEntry, Summary,
};
pub use error::RecordError;
pub use files::{Entry, Files, Kind, OutFile, RealFiles, RealLock, Stat};
pub use index::{Listing, Row};
pub use load::Run;
pub use migrate::SCHEMA;
pub use originals::{Guarded, ORIGINALS, Originals, Vault};
pub use run::RunWriter;
pub use run_id::{NotARunId, RunId, rfc3339, seconds_of};
pub use runs::{Runs, default_dir};
pub use sums::{Integrity, sha256_of_file};
