//! Everything on one CPU: this process, its children, and the kernel's workers.
//!
//! A program and the kernel worker that carries out its requests, as on a loop device, may share a CPU or not. If
//! not, each request wakes an idle CPU twice, which in a virtual machine costs more than the request. The
//! scheduler falls into one of the two and stays there for seconds, whichever program asks.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::loop_device::read_trimmed;

/// The CPUs of workers that are bound to none (the kernel's Documentation/core-api/workqueue.rst).
const WORKERS: &str = "/sys/devices/virtual/workqueue/cpumask";

/// While it lives, so it is. The workers' mask is the machine's, for all programs.
#[derive(Debug)]
pub struct OneCpu {
    workers: String,
    allowed: CpuSet,
}

impl OneCpu {
    /// Takes the first CPU that is allowed to the calling thread.
    ///
    /// # Errors
    /// Without root, or where the kernel has no such mask.
    pub fn hold() -> Result<OneCpu> {
        let allowed = sched_getaffinity(None).context("cannot ask for the CPUs")?;
        let first = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).context("no CPU")?;
        let held = OneCpu { workers: read_trimmed(Path::new(WORKERS))?, allowed };
        // A mask of 32-bit groups, the highest first.
        let groups = std::iter::repeat_n(",00000000", first / 32).collect::<String>();
        let mask = format!("{:x}{groups}", 1u32 << (first % 32));
        fs::write(WORKERS, mask).with_context(|| format!("{WORKERS}: cannot be set"))?;
        let mut one = CpuSet::new();
        one.set(first);
        sched_setaffinity(None, &one).context("cannot stay on one CPU")?;
        Ok(held)
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        if let Err(error) = fs::write(WORKERS, &self.workers) {
            eprintln!("warning: {WORKERS}: cannot be set back to {}: {error}", self.workers);
        }
        let _ = sched_setaffinity(None, &self.allowed);
    }
}
