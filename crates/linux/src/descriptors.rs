//! Descriptors that this process may still open.

use std::fs;
use std::io;

use block::{DriveError, EngineKind};
use rustix::process::{Resource, getrlimit};

/// Descriptors that counters and facts about a drive take while it is measured.
const SPARE_DESCRIPTORS: u64 = 8;

/// Files that this process may still open; `None` where there is no limit, or when `/proc` cannot be read.
pub fn free() -> Option<u64> {
    let most = getrlimit(Resource::Nofile).current?;
    match fs::read_dir("/proc/self/fd") {
        // The directory is open while it is read, and counts itself.
        Ok(open) => Some(most.saturating_sub((open.count() as u64).saturating_sub(1))),
        Err(error) => is_short(&error).then_some(0),
    }
}

/// Finds out, before anything is measured, whether `submitters` of `target` can be opened with `kind`. What is read beside
/// them, such as counters, takes descriptors too, and would be missing without a word.
///
/// # Errors
/// How many more can be opened, and what to do.
pub(crate) fn check(target: &str, kind: EngineKind, submitters: u16) -> Result<(), DriveError> {
    if kind != EngineKind::IoUring {
        return Ok(());
    }
    let needed = u64::from(submitters) + SPARE_DESCRIPTORS;
    let Some(free) = free().filter(|free| *free < needed) else { return Ok(()) };
    Err(DriveError::Setup {
        target: target.to_owned(),
        action: format!("open {submitters} submitters"),
        source: io::Error::other(format!(
            "only {free} more files can be opened, and {needed} are needed"
        )),
        remedy: "raise the limit (ulimit -n), take fewer threads, or use --engine libaio"
            .to_owned(),
    })
}

/// True when there is no descriptor left.
fn is_short(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
