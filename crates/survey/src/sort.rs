//! Sorts of targets, for which parts are chosen.

use block::{DriveInfo, DriveKind, Stack};
use serde::{Deserialize, Serialize};

/// Sort of target, as it reports itself; decides the order of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// A directory: the filesystem in a test file of its own.
    Directory,
    /// An existing file.
    File,
    /// A drive that says that it turns.
    Disk,
    /// A drive that says that it does not turn, or does not say.
    Flash,
    /// Nothing that has a medium: `null:`, or this machine's memory.
    NoMedium,
}

impl Sort {
    /// That of a target; `is_directory` when it is one.
    pub fn of(info: &DriveInfo, stack: &Stack, is_directory: bool) -> Sort {
        match info.kind {
            _ if is_directory => Sort::Directory,
            DriveKind::File => Sort::File,
            DriveKind::Null => Sort::NoMedium,
            _ if stack.is_memory() => Sort::NoMedium,
            _ if info.rotational == Some(true) => Sort::Disk,
            _ => Sort::Flash,
        }
    }
}
