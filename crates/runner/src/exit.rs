//! How a verb ends, and the errors that decide it.

use std::process::ExitCode;

use thiserror::Error;

/// How a verb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Done, with a negative result.
    No,
    /// Wrong use or environment.
    Failed,
    /// Refused for safety.
    Refused,
    /// Stopped by the user.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Failed => 2,
            Exit::Refused => 3,
            Exit::Interrupted => 130,
        })
    }
}

/// A refusal for safety, in words.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// There is no drive under the target: the answer is known before anything is measured.
#[derive(Debug, Error)]
#[error(
    "{0}: lies in this machine's memory: there is no drive to measure\nhint: add --anyway to measure the memory"
)]
pub struct InMemory(pub String);

/// The user stopped the program while it asked.
#[derive(Debug, Error)]
#[error("stopped before anything was changed")]
pub struct Stopped;
