//! All tests of the crate in one program, which takes a fraction of the time to build that one for each file would.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

mod archives;
mod faults;
mod formats;
mod hostile;
mod index;
mod journal;
mod memory;
mod originals;
mod runs;
