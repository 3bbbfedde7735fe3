//! Power cuts: whether what the program reported as saved is there when the power has gone.
//!
//! A filesystem lies on a disk that keeps a [`Log`] of its writes: a [`Recorder`] here, or the kernel's
//! dm-log-writes in a guest. While drivescope works on it, every promise that it makes becomes a mark in that log.
//! Then the power is cut after any entry: a [`Replay`] makes the disk that is left, with or without the content of
//! its cache. That disk is mounted and compared with the promises whose marks precede the cut.

mod author;
mod check;
mod choose;
mod disk;
mod log;
mod mount;
mod promise;
mod recorder;
mod trial;

pub use author::{Author, Scale};
pub use check::{Checker, Verdict};
pub use choose::cuts;
pub use disk::{Cached, Cut, Disk, Replay, SECTOR_BYTES};
pub use log::{Entry, Log};
pub use mount::{Format, Mounted};
pub use promise::{Promise, Standing};
pub use recorder::Recorder;
pub use trial::{Outcome, Trial, try_cuts, try_log};
