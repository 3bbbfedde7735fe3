//! The kernel's other engines on a file or device that is open: for comparisons of engines.

use block::{EngineKind, Environment, RunSink};
use engine::{Control, EngineError, Samples, Way};
use linux::target::AnyTarget;
use workload::plan::{Content, Region, Step};

/// An open target with another engine.
pub struct EngineWay {
    engine: EngineKind,
    target: AnyTarget,
}

impl EngineWay {
    /// `target` is what was opened with `engine`.
    pub fn new(engine: EngineKind, target: AnyTarget) -> EngineWay {
        EngineWay { engine, target }
    }

    /// Requests that the kernel refused so far, where a slower way was taken instead.
    pub fn notes(&mut self) -> Vec<String> {
        drives::of_real(&mut self.target).notes()
    }
}

impl Way for EngineWay {
    fn name(&self) -> &str {
        self.engine.word()
    }

    fn run(
        &mut self,
        environment: &mut dyn Environment,
        step: &Step,
        seeded: (Region, Content, u64),
        control: Control<'_>,
        sink: &mut dyn RunSink,
    ) -> Result<Samples, EngineError> {
        drives::of_real(&mut self.target).run_step(environment, step, seeded, control, sink)
    }
}
