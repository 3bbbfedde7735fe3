//! Why a command could not be explained.

use thiserror::Error;

/// Why a command could not be explained, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExplainError {
    /// Nothing was given.
    #[error(
        "there is no command; give one behind `--`, in quotes, as a job file, or on standard input"
    )]
    Empty,
    /// A program that is not known.
    #[error(
        "`{0}` is not a program that can be explained; those are fio, diskspd, dd, hdparm and kdiskmark, and KDiskMark's tests, such as SEQ1MQ8T1"
    )]
    Program(String),
    /// A quotation that is not closed.
    #[error("the quotation that begins with {0} is not closed; close it")]
    Quote(char),
    /// Syntax that needs a shell.
    #[error(
        "`{0}` joins commands or files; give one command without what stands there and behind it"
    )]
    Shell(char),
    /// More than one command.
    #[error("line {0} is another command; give one at a time")]
    Several(usize),
    /// An option or value that cannot be.
    #[error("{place}: {what}")]
    Value {
        /// The option, or file and line.
        place: String,
        /// The fault, and what to write instead.
        what: String,
    },
}

impl ExplainError {
    pub(super) fn value(place: impl Into<String>, what: impl Into<String>) -> ExplainError {
        ExplainError::Value { place: place.into(), what: what.into() }
    }
}
