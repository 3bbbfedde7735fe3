//! What this tester can do at most: the engine that measures, on a device that costs nothing.

use std::sync::atomic::AtomicBool;

use block::Bytes;
use engine::{Control, EngineError};
use linux::environment::RealEnvironment;
use linux::sysfs::Roots;
use linux::target::{Calibration, EngineKind};
use mark::Ceiling;
use workload::plan::{Plan, Step};

use crate::opening::null_stack;

/// Measures the tester's own limit.
pub struct Limit<'a> {
    null: Calibration,
    environment: RealEnvironment,
    cancel: &'a AtomicBool,
}

impl<'a> Limit<'a> {
    /// With `engine` on the CPUs named; `capacity` is that of the target that is measured.
    pub fn new(
        engine: EngineKind,
        capacity: Bytes,
        cpus: Option<Vec<usize>>,
        cancel: &'a AtomicBool,
    ) -> Limit<'a> {
        let null = Calibration::new(engine, capacity, cpus);
        let environment = RealEnvironment::new(Roots::default(), null_stack(), None);
        Limit { null, environment, cancel }
    }

    /// For a step of `plan`.
    pub fn of(&mut self, step: &Step, plan: &Plan) -> Result<Option<Ceiling>, EngineError> {
        let through_kernel = self.null.through_kernel();
        let control = Control { cancel: self.cancel, trace_cap: 0 };
        mark::ceiling(step, plan, (&mut self.null, through_kernel), &mut self.environment, control)
    }

    /// What the kernel refused meanwhile.
    pub fn notes(&self) -> Vec<String> {
        self.null.notes()
    }
}
