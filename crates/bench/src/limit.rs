//! Limit of the tester: the same engine on a device that costs nothing.

use std::sync::atomic::AtomicBool;

use block::{Bytes, EngineKind, Target as _};
use engine::{Control, EngineError};
use linux::environment::RealEnvironment;
use linux::sysfs::Roots;
use linux::target::Calibration;
use mark::Ceiling;
use workload::plan::{Plan, Step};

/// Measures the tester's own limit.
pub struct Limit<'a> {
    engine: EngineKind,
    capacity: Bytes,
    cpus: Option<Vec<usize>>,
    cancel: &'a AtomicBool,
    environment: RealEnvironment,
    /// For each engine that was asked for.
    nulls: Vec<(EngineKind, Calibration)>,
}

impl<'a> Limit<'a> {
    /// With `engine`, where a step names none, on the CPUs named; `capacity` is that of the target that is measured.
    pub fn new(
        engine: EngineKind,
        capacity: Bytes,
        cpus: Option<Vec<usize>>,
        cancel: &'a AtomicBool,
    ) -> Limit<'a> {
        let environment = RealEnvironment::new(Roots::default(), drives::null_stack(), None);
        Limit { engine, capacity, cpus, cancel, environment, nulls: Vec::new() }
    }

    /// For a step of `plan`.
    pub fn of(&mut self, step: &Step, plan: &Plan) -> Result<Option<Ceiling>, EngineError> {
        let engine = step.engine.unwrap_or(self.engine);
        let at = self.nulls.iter().position(|(kind, _)| *kind == engine).unwrap_or_else(|| {
            let null = Calibration::new(engine, self.capacity, self.cpus.clone());
            self.nulls.push((engine, null));
            self.nulls.len() - 1
        });
        let null = &mut self.nulls[at].1;
        let through_kernel = null.through_kernel();
        let control = Control { cancel: self.cancel, trace_cap: 0 };
        let null = drives::of_calibration(null);
        mark::ceiling(step, plan, (null, through_kernel), &mut self.environment, control)
    }

    /// Requests to the kernel that it refused meanwhile.
    pub fn notes(&self) -> Vec<String> {
        self.nulls.iter().flat_map(|(_, null)| null.notes()).collect()
    }
}
