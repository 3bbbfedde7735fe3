//! Exit codes, and the errors that decide them.

use std::process::ExitCode;

use linux::gate::GateError;
use linux::scratch::ScratchError;
use thiserror::Error;

/// How a verb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Done, and the answer is no.
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

/// The user stopped the program while it asked.
#[derive(Debug, Error)]
#[error("stopped before anything was changed")]
pub struct Stopped;

/// The exit code that an error asks for.
pub fn of(error: &anyhow::Error) -> Exit {
    let refused = |e: &(dyn std::error::Error + 'static)| {
        let inner = e.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        e.is::<Refused>()
            || matches!(e.downcast_ref(), Some(GateError::Refused(_)))
            || inner.is_some_and(|inner| inner.is::<trace::IsProtected>())
    };
    let cancelled = |e: &(dyn std::error::Error + 'static)| {
        e.is::<Stopped>() || matches!(e.downcast_ref(), Some(ScratchError::Cancelled))
    };
    if error.chain().any(refused) {
        Exit::Refused
    } else if error.chain().any(cancelled) {
        Exit::Interrupted
    } else {
        Exit::Failed
    }
}
