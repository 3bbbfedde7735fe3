//! Traces written in the formats of others, and what those cannot hold.

pub mod blktrace;
pub mod fio;
pub mod msr;

mod losses;
mod record;
mod requests;
mod text;

use serde::Serialize;

/// What was written, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// I/Os of the trace that are in the file.
    pub ios: u64,
    /// I/Os of the trace for which the format has no word.
    pub left_out: u64,
    /// What the trace knew and the file does not, a sentence each; only what this trace did know.
    pub lost: Vec<String>,
    /// What whoever uses the file should know, a sentence each.
    pub notes: Vec<String>,
}
