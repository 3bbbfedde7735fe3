//! I/O to a drive that is open, whatever drive and kernel interface it is.

use block::{Drive, DriveError, DriveInfo, Environment, LaneSetup, Nanos, RunSink, Target, Time};
use workload::plan::{Content, Region, Step};

use crate::{Control, EngineError, PhaseSamples, Samples, run_step, run_step_apart};

/// An open [`Target`] without its type, which is what instruments work on: they are compiled once and not once for
/// each kind of drive. The choice of the kind is one indirect call per step, so the loop that issues the I/O of a step
/// stays compiled for one kind of drive. Single accesses and replays go through boxed drives, where an indirect call
/// per request costs nothing beside the rest.
///
/// Every [`Target`] is one. Where a crate turns a concrete target into `&mut dyn IoPath`, the step loop is compiled
/// in that crate.
pub trait IoPath {
    /// As [`Target::info`].
    fn info(&self) -> &DriveInfo;

    /// As [`Target::now`].
    fn now(&self) -> Time;

    /// As [`Target::pause`].
    fn pause(&mut self, span: Nanos);

    /// As [`Target::notes`].
    fn notes(&self) -> Vec<String>;

    /// As [`Target::open`].
    ///
    /// # Errors
    /// As there.
    fn open<'a>(
        &'a mut self,
        setup: &LaneSetup<'_>,
    ) -> Result<Vec<Box<dyn Drive + 'a>>, DriveError>;

    /// As [`Target::open_for_data`].
    ///
    /// # Errors
    /// As there.
    fn open_for_data<'a>(
        &'a mut self,
        setup: &LaneSetup<'_>,
    ) -> Result<Vec<Box<dyn Drive + 'a>>, DriveError>;

    /// As [`run_step`].
    ///
    /// # Errors
    /// As there.
    fn run_step(
        &mut self,
        environment: &mut dyn Environment,
        step: &Step,
        seeded: (Region, Content, u64),
        control: Control<'_>,
        sink: &mut dyn RunSink,
    ) -> Result<Samples, EngineError>;

    /// As [`run_step_apart`].
    ///
    /// # Errors
    /// As there.
    fn run_step_apart(
        &mut self,
        environment: &mut dyn Environment,
        step: &Step,
        seeded: (Region, Content, u64),
        control: Control<'_>,
        sink: &mut dyn RunSink,
    ) -> Result<(Samples, Vec<Vec<PhaseSamples>>), EngineError>;
}

impl<T: Target> IoPath for T {
    fn info(&self) -> &DriveInfo {
        Target::info(self)
    }

    fn now(&self) -> Time {
        Target::now(self)
    }

    fn pause(&mut self, span: Nanos) {
        Target::pause(self, span);
    }

    fn notes(&self) -> Vec<String> {
        Target::notes(self)
    }

    fn open<'a>(
        &'a mut self,
        setup: &LaneSetup<'_>,
    ) -> Result<Vec<Box<dyn Drive + 'a>>, DriveError> {
        Ok(boxed(Target::open(self, setup)?))
    }

    fn open_for_data<'a>(
        &'a mut self,
        setup: &LaneSetup<'_>,
    ) -> Result<Vec<Box<dyn Drive + 'a>>, DriveError> {
        Ok(boxed(Target::open_for_data(self, setup)?))
    }

    fn run_step(
        &mut self,
        environment: &mut dyn Environment,
        step: &Step,
        seeded: (Region, Content, u64),
        control: Control<'_>,
        sink: &mut dyn RunSink,
    ) -> Result<Samples, EngineError> {
        run_step(self, environment, step, seeded, control, sink)
    }

    fn run_step_apart(
        &mut self,
        environment: &mut dyn Environment,
        step: &Step,
        seeded: (Region, Content, u64),
        control: Control<'_>,
        sink: &mut dyn RunSink,
    ) -> Result<(Samples, Vec<Vec<PhaseSamples>>), EngineError> {
        run_step_apart(self, environment, step, seeded, control, sink)
    }
}

fn boxed<'a, D: Drive + 'a>(drives: Vec<D>) -> Vec<Box<dyn Drive + 'a>> {
    drives.into_iter().map(|drive| Box::new(drive) as Box<dyn Drive + 'a>).collect()
}
