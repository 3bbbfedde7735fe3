//! A virtual drive as a file for other programs, in real time (FUSE).
//!
//! Anybody's program can be tried on a drive whose truth is known. The layers, from the user inwards:
//! `mount` puts a directory with one file up and takes it down; `filesystem` speaks the kernel's
//! language and stamps each request with its arrival; `dispatch` is the thread that owns the drive,
//! sleeps until something is due and replies; `service`, which knows no clock and no thread, moves
//! requests through the drive's virtual time and its content; `content` keeps the bytes that the timing
//! model does not.
//!
//! Virtual time is real time here: both begin at zero when the drive goes into service, a request is
//! submitted at the instant of its arrival, and its reply leaves when the clock has reached its virtual
//! completion, never before. How much later it leaves is counted ([`Served::tally`]).

mod content;
mod dispatch;
mod error;
mod filesystem;
mod mount;
mod service;
mod tally;
mod time;

pub use error::ServeError;
pub use mount::{Backing, Ended, FILE_NAME, Options, Served, serve};
pub use tally::Tally;
pub use time::RealTime;
