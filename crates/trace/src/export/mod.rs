//! Traces written in the formats of others, and what those cannot hold.

pub mod blktrace;
pub mod fio;
pub mod msr;

mod losses;
mod record;
mod requests;
mod text;

use serde::Serialize;

/// Result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// I/Os of the trace that are in the file.
    pub ios: u64,
    /// I/Os of the trace for which the format has no word.
    pub left_out: u64,
    /// Information in this trace that the file does not hold, a sentence each.
    pub lost: Vec<String>,
    /// Notes for users of the file, a sentence each.
    pub notes: Vec<String>,
}
