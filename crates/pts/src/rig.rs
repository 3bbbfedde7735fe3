//! A drive under test with its environment, whether real or virtual.

use std::sync::atomic::{AtomicBool, Ordering};

use block::{DriveInfo, Environment, Nanos, RunSink, Stack, Time};
use engine::{Control, EngineError, IoPath, Samples, Way};
use serde::{Deserialize, Serialize};
use stats::{Lenient, Verdict};
use workload::plan::{Content, Region, Step};

use crate::window::Written;

/// Result of a purge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Purged {
    /// How, such as `discard` or `nvme-format`.
    pub method: String,
    /// Verdict on it by reading the drive back.
    pub verdict: Lenient<Verdict>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The drive's own report of the purge, or the result of reading back.
    pub words: String,
    /// True when all of it was done and nothing speaks against it.
    pub is_good: bool,
}

/// A drive that tests work on.
pub trait Rig {
    /// The drive's properties.
    fn info(&self) -> &DriveInfo;

    /// The layers under it.
    fn stack(&self) -> &Stack;

    /// The drive's clock.
    fn now(&self) -> Time;

    /// Ways to issue I/O that it offers, the one that the user asked for first.
    fn engines(&self) -> Vec<String>;

    /// The one in use.
    fn engine(&self) -> &str;

    /// Issues I/O in another of these ways from now on; an unknown name changes nothing.
    fn choose(&mut self, engine: &str);

    /// Issues a step, from idle to idle.
    ///
    /// # Errors
    /// When the drive fails as a whole.
    fn run(
        &mut self,
        step: &Step,
        seeded: (Region, u64),
        sink: &mut dyn RunSink,
    ) -> Result<Samples, EngineError>;

    /// Lets the drive rest; false when the user ended it early.
    fn rest(&mut self, span: Nanos) -> bool;

    /// Bytes written to the drive so far, one entry per counter.
    fn written(&mut self) -> Vec<Written>;

    /// Empties the drive.
    ///
    /// # Errors
    /// Why it cannot be.
    fn purge(&mut self) -> Result<Purged, String>;

    /// True when the user asked for an end.
    fn is_cancelled(&self) -> bool;
}

/// How a drive is emptied.
pub type Purger<'a> = &'a mut dyn FnMut(&mut dyn IoPath) -> Result<Purged, String>;

/// A rig around one target.
pub struct TargetRig<'a> {
    /// The drive.
    pub target: &'a mut dyn IoPath,
    /// Its environment: counters, and the layers under it.
    pub environment: &'a mut dyn Environment,
    /// Set when the user asks for an end.
    pub cancel: &'a AtomicBool,
    /// How I/O is issued to `target`.
    pub engine: String,
    /// Other ways to issue it.
    pub ways: Vec<Box<dyn Way>>,
    /// Index into `ways` of the one in use; `None` means `target` itself.
    pub chosen: Option<usize>,
    /// How it is emptied.
    pub purger: Purger<'a>,
    /// The kernel's count of bytes written to it.
    pub counted: &'a dyn Fn() -> Option<Written>,
}

/// How long a rest goes on before the user's wish to end is looked at.
const REST_SLICE: Nanos = Nanos::millis(100);

/// Lets `target` rest, in slices, until `span` is up or the user asks for an end.
pub fn rest(target: &mut dyn IoPath, span: Nanos, cancel: &AtomicBool) -> bool {
    let mut left = span;
    while left > Nanos::ZERO {
        if cancel.load(Ordering::Relaxed) {
            return false;
        }
        let slice = left.min(REST_SLICE);
        target.pause(slice);
        left = left - slice;
    }
    true
}

impl Rig for TargetRig<'_> {
    fn info(&self) -> &DriveInfo {
        self.target.info()
    }

    fn stack(&self) -> &Stack {
        self.environment.stack()
    }

    fn now(&self) -> Time {
        self.target.now()
    }

    fn engines(&self) -> Vec<String> {
        let others = self.ways.iter().map(|way| way.name().to_owned());
        std::iter::once(self.engine.clone()).chain(others).collect()
    }

    fn engine(&self) -> &str {
        match self.chosen.and_then(|at| self.ways.get(at)) {
            Some(way) => way.name(),
            None => &self.engine,
        }
    }

    fn choose(&mut self, engine: &str) {
        if self.engine == engine {
            self.chosen = None;
        } else if let Some(at) = self.ways.iter().position(|way| way.name() == engine) {
            self.chosen = Some(at);
        }
    }

    fn run(
        &mut self,
        step: &Step,
        (region, seed): (Region, u64),
        sink: &mut dyn RunSink,
    ) -> Result<Samples, EngineError> {
        let seeded = (region, Content::default(), seed);
        let control = Control { cancel: self.cancel, trace_cap: 0 };
        if let Some(way) = self.chosen.and_then(|at| self.ways.get_mut(at)) {
            return way.run(self.environment, step, seeded, control, sink);
        }
        self.target.run_step(self.environment, step, seeded, control, sink)
    }

    fn rest(&mut self, span: Nanos) -> bool {
        rest(self.target, span, self.cancel)
    }

    fn written(&mut self) -> Vec<Written> {
        let told = self.environment.snapshot().endurance;
        let by_drive =
            told.map(|told| Written { by: "drive".into(), bytes: told.host_write_bytes.0 });
        (self.counted)().into_iter().chain(by_drive).collect()
    }

    fn purge(&mut self) -> Result<Purged, String> {
        (self.purger)(self.target)
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}
