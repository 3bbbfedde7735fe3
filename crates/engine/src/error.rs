//! Why nothing could be issued.

use block::DriveError;
use thiserror::Error;

/// Why a step could not be run at all.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The drive as a whole failed.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// A lane's thread could not be started.
    #[error("cannot start a thread for submitter {submitter}: {source}")]
    Thread {
        /// Index of the submitter.
        submitter: usize,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The requests of a replay could not be had.
    #[error("the requests to replay cannot be read on: {0}")]
    Feed(#[source] crate::replay::FeedError),
}
