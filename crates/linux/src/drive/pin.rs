//! Keeping a submitter's thread on one CPU while its drive lives.

use std::io;
use std::thread::ThreadId;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The calling thread is held on one CPU; dropped on the same thread, it sets the thread free again.
pub(crate) struct Pin {
    before: CpuSet,
    thread: ThreadId,
}

impl Pin {
    /// Moves the calling thread to `cpu` and keeps it there.
    ///
    /// # Errors
    /// `EINVAL` when there is no such CPU, or it is not one that this process may use.
    pub fn to(cpu: usize) -> io::Result<Pin> {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let before = sched_getaffinity(None)?;
        let mut only = CpuSet::new();
        only.set(cpu);
        sched_setaffinity(None, &only)?;
        Ok(Pin { before, thread: std::thread::current().id() })
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // A drive is often dropped by the thread that opened it, after the submitter's has ended.
        if std::thread::current().id() == self.thread {
            let _ = sched_setaffinity(None, &self.before);
        }
    }
}
