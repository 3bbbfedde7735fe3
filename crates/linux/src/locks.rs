//! Locks on files that end when their owner ends them.

use std::fs::File;
use std::io;
use std::ops::Deref;

use rustix::fs::{FlockOperation, flock};

/// An open file whose lock (`flock`), if it has one, is given back when this is dropped.
///
/// Closing the file would not do: a child of this process holds a copy of the descriptor from its fork to its exec, and
/// the lock lives on in it for some milliseconds. The next look would call the file locked by another program.
#[derive(Debug)]
pub(crate) struct Unlocking(File);

impl Unlocking {
    /// Locks nothing yet.
    pub fn new(file: File) -> Unlocking {
        Unlocking(file)
    }

    /// Takes the exclusive lock; false when another open file has it.
    ///
    /// # Errors
    /// When the filesystem cannot lock.
    pub fn lock(&self) -> io::Result<bool> {
        match flock(&self.0, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Deref for Unlocking {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Unlocking {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}
