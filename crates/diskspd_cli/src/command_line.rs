//! A diskspd command line, and the targets that were loaded by it.

use block::{DriveInfo, Stack};
use drives::TargetSpec;
use formats::diskspd::Processor;
use mark::diskspd::{Options, Outcome};
use workload::plan::Plan;

use crate::own_options::OwnOptions;

/// A command line that is to be carried out.
pub struct CommandLine<'a> {
    /// The program's name and its arguments, as typed.
    pub typed: Vec<String>,
    /// diskspd's options.
    pub options: &'a Options,
    /// drivescope's own options.
    pub own: &'a OwnOptions,
    /// The targets, in the order of the options.
    pub targets: Vec<TargetSpec>,
}

/// A target that was loaded.
pub struct Loaded {
    /// The drive.
    pub info: DriveInfo,
    /// Layers under it.
    pub stack: Stack,
    /// The load.
    pub plan: Plan,
    /// Its result.
    pub outcome: Outcome,
    /// How busy the CPUs were.
    pub processors: Vec<Processor>,
}
