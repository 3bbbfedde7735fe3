//! Why a trace cannot be read or written.

use std::fmt;
use std::io;

use thiserror::Error;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// A line, from 1.
    Line(u64),
    /// A byte, from 0. In a compressed file, of what it holds.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => Ok(()),
            Place::Line(line) => write!(f, ", line {line}"),
            Place::Byte(byte) => write!(f, ", byte {byte}"),
        }
    }
}

/// Why a trace cannot be read or written.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file cannot be read or written at all.
    #[error("{file}: {source}")]
    Io {
        /// The file as the user named it.
        file: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The content of the file does not have the form that it should.
    #[error("{file}{place}: {reason}")]
    Malformed {
        /// The file as the user named it.
        file: String,
        /// The place in it.
        place: Place,
        /// The problem, and what would be right.
        reason: String,
    },
    /// The file can be read in more than one way, and nothing in it decides.
    #[error("{file}: {question}: say {flag}")]
    Ambiguous {
        /// The file as the user named it.
        file: String,
        /// The open question, with the evidence.
        question: String,
        /// The flag that settles it, with its choices.
        flag: String,
    },
    /// The request cannot be fulfilled with this trace.
    #[error("{0}")]
    Unsuited(String),
}

impl TraceError {
    /// Both, if both are questions, so that the user can answer them together. Otherwise the one that no
    /// answer resolves.
    fn and(self, other: TraceError) -> TraceError {
        match (self, other) {
            (
                TraceError::Ambiguous { file, question, flag },
                TraceError::Ambiguous { question: also, flag: and, .. },
            ) => TraceError::Ambiguous {
                file,
                question: format!("{question}; and {also}"),
                flag: format!("{flag}; and {and}"),
            },
            (TraceError::Ambiguous { .. }, other) => other,
            (this, _) => this,
        }
    }
}

/// Both values, or all errors that prevent them.
///
/// # Errors
/// The error of one, or both errors in one.
pub(crate) fn both<A, B>(
    one: Result<A, TraceError>,
    other: Result<B, TraceError>,
) -> Result<(A, B), TraceError> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(one), Err(other)) => Err(one.and(other)),
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
    }
}
