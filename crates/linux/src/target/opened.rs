//! An opened file or block device, as drives see it.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};

use block::{Bytes, DriveInfo, DriveKind, EngineKind};

use super::geometry::Alignment;
use super::options::{Access, OpenOptions};

/// An opened file or block device, and what its drives need to know of it.
pub struct Opened {
    pub(super) file: File,
    pub(super) info: DriveInfo,
    pub(super) options: OpenOptions,
    pub(super) alignment: Alignment,
    /// The descriptor has no `O_DSYNC` though it was asked for: each write carries the flag instead.
    pub(super) dsync_each_write: bool,
    pub(super) notes: Mutex<Vec<String>>,
}

impl Opened {
    /// The device that costs nothing, for calibrating `engine`.
    pub(crate) fn nothing(
        file: File,
        info: DriveInfo,
        engine: EngineKind,
        cpus: Option<Vec<usize>>,
    ) -> Opened {
        let block = info.logical_block_bytes;
        Opened {
            file,
            info,
            options: OpenOptions {
                engine,
                access: Access::ReadWrite,
                direct: false,
                pin_cpus: cpus,
                ..OpenOptions::default()
            },
            alignment: Alignment { memory: block, offset: block },
            dsync_each_write: false,
            notes: Mutex::default(),
        }
    }

    pub(crate) fn info(&self) -> &DriveInfo {
        &self.info
    }

    pub(crate) fn name(&self) -> &str {
        &self.info.name
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(crate) fn options(&self) -> &OpenOptions {
        &self.options
    }

    pub(crate) fn memory_align(&self) -> Bytes {
        self.alignment.memory
    }

    pub(crate) fn is_block_device(&self) -> bool {
        self.info.kind == DriveKind::BlockDevice
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.options.access == Access::ReadWrite
    }

    pub(crate) fn dsync_each_write(&self) -> bool {
        self.dsync_each_write
    }

    pub(crate) fn cpu_of(&self, submitter: u16) -> Option<usize> {
        cpu_of(self.options.pin_cpus.as_deref().unwrap_or_default(), submitter)
    }

    /// Keeps `note` for the user, once however many submitters say it.
    pub(crate) fn note(&self, note: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Notes so far.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The CPU for a submitter, where CPUs were named.
pub(crate) fn cpu_of(cpus: &[usize], submitter: u16) -> Option<usize> {
    let index = usize::from(submitter).checked_rem(cpus.len())?;
    cpus.get(index).copied()
}
