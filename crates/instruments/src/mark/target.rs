//! A target to measure, with its settings.

use bench::engines;
use block::{Bytes, EngineChoice, EngineKind};
use drives::TargetSpec;
use workload::plan::Region;

/// A part of a target, or all of it.
#[derive(Clone, Copy, Debug)]
pub enum Span {
    /// From the first byte to the last.
    All,
    /// This part.
    Part(Region),
}

impl Span {
    /// The part; `None` for all of it.
    pub fn region(self) -> Option<Region> {
        match self {
            Span::All => None,
            Span::Part(region) => Some(region),
        }
    }
}

/// Consent to writing.
#[derive(Clone, Debug, Default)]
pub struct WriteConsent {
    /// True when an existing file or a device may be written to.
    pub write: bool,
    /// The word of consent.
    pub consent: Option<String>,
    /// Hazards that the user allowed, by name.
    pub allow: Vec<String>,
    /// True when test files that earlier runs left in a directory are removed.
    pub remove_leftovers: bool,
}

/// A target to measure.
#[derive(Clone, Debug)]
pub struct TargetSettings {
    /// Directory, file, block device, virtual drive or `null:`.
    pub target: TargetSpec,
    /// Size of the test file; on a file, a device or a virtual drive, of the part used.
    pub size: Option<Bytes>,
    /// Part of a file or device to use.
    pub span: Option<Span>,
    /// Engine for a real target.
    pub engine: EngineChoice,
    /// True when completions are polled for.
    pub iopoll: bool,
    /// True when I/O goes through the page cache on purpose.
    pub buffered: bool,
    /// True when the test file of a directory on Btrfs is written in place.
    pub no_cow: bool,
    /// CPUs that submitters are kept on.
    pub cpus: Option<Vec<usize>>,
    /// True when a target in this machine's memory is measured too.
    pub anyway: bool,
    /// Most that the runs and their test file may write.
    pub write_budget: Option<Bytes>,
    /// Consent to writing.
    pub consent: WriteConsent,
}

impl TargetSettings {
    /// The engine that is used. Only io_uring polls.
    pub fn kernel_engine(&self) -> EngineKind {
        if self.iopoll { self.engine.first() } else { engines::chosen(&self.target, self.engine) }
    }
}
