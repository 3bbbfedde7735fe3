//! Another way to issue I/O to a drive that is open already.

use block::{Environment, RunSink};
use workload::plan::{Content, Region, Step};

use crate::{Control, EngineError, Samples};

/// A way to issue the steps of a plan to a drive, beside the one that it was opened with: another of the kernel's engines
/// on the same file. Chosen once a step, so that the loop of a step stays compiled for one drive.
pub trait Way {
    /// Its name, such as `libaio`.
    fn name(&self) -> &str;

    /// As [`crate::run_step`].
    ///
    /// # Errors
    /// As there.
    fn run(
        &mut self,
        environment: &mut dyn Environment,
        step: &Step,
        seeded: (Region, Content, u64),
        control: Control<'_>,
        sink: &mut dyn RunSink,
    ) -> Result<Samples, EngineError>;
}
