//! Why a drive cannot be served.

use std::io;
use std::path::PathBuf;

use block::DriveError;
use thiserror::Error;

/// Reason why a drive cannot be served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The mount point is not there.
    #[error("{0}: there is no such directory (make one: mkdir -p {0})", .path.display())]
    NoDirectory {
        /// The mount point as given.
        path: PathBuf,
    },
    /// The mount point is something else.
    #[error("{}: is not a directory; a drive is served as a file in an empty one", .path.display())]
    NotDirectory {
        /// The mount point as given.
        path: PathBuf,
    },
    /// The mount point holds something, which would be hidden.
    #[error(
        "{}: is not empty, and what is in it would be hidden; name an empty directory",
        .path.display()
    )]
    NotEmpty {
        /// The mount point as given.
        path: PathBuf,
    },
    /// A server that died has left its mount behind.
    #[error(
        "{0}: is what a drive left whose server died; take it away first: fusermount3 -u {0} (or as \
         root: umount {0})",
        .path.display()
    )]
    Stale {
        /// The mount point as given.
        path: PathBuf,
    },
    /// The kernel does not let it be mounted.
    #[error("{}: cannot mount: {source}{remedy}", .path.display())]
    Mount {
        /// The mount point as given.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
        /// A hint in brackets; empty when the message alone is best.
        remedy: &'static str,
    },
    /// A directory cannot hold the content.
    #[error("{}: cannot keep the drive's content there: {source}", .path.display())]
    Store {
        /// The directory as given.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A thread or another resource cannot be had.
    #[error("cannot {action}: {source}")]
    Resource {
        /// The attempted action, as the end of "cannot …".
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The virtual drive does not open.
    #[error(transparent)]
    Drive(#[from] DriveError),
}
