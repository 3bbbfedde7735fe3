//! Facts about a target besides its runs.

use block::{DriveInfo, Extents, Stack};

use crate::cache::Found;

/// Data for the findings besides the runs.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// The target.
    pub info: &'a DriveInfo,
    /// Layers that the I/O passed through.
    pub stack: &'a Stack,
    /// Layout of the measured part of the target's file, before the first run.
    pub extents: Option<Extents>,
    /// How I/O was issued.
    pub engine: &'a str,
    /// True when the page cache was to be bypassed.
    pub direct: bool,
    /// True when each write had to be durable.
    pub durable: bool,
    /// CPUs that the submitters could run on, at least 1.
    pub cpus: usize,
    /// True when the engine asks for completions over and over instead of waiting for them.
    pub polling: bool,
    /// True for a file that its filesystem, which copies on write, writes in place all the same (Btrfs: `chattr +C`).
    pub in_place: bool,
    /// Layout of the measured part of the target's file after the last run.
    pub extents_after: Option<Extents>,
    /// True when this run made the target's file and wrote all of it.
    pub own_file: bool,
    /// Result of the cache probe, if it was made.
    pub cache: Option<Found>,
}
