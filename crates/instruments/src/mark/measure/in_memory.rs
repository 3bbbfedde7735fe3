//! Targets without a drive under them: the answer is known before anything is made or measured.

use anyhow::Result;
use block::{DriveIdentity, DriveInfo, Stack};
use mark::{Executed, findings};
use workload::plan::{Plan, Region};

use super::{Measured, Session};

impl Session<'_> {
    /// True where the answer is known before anything is measured: there is no drive under the target.
    pub(super) fn is_pointless(&self, stack: &Stack) -> bool {
        stack.is_memory() && self.job.turn.is_none() && !self.job.target.anyway
    }

    /// The body of a run that is not made: each test is refuted by the stack alone.
    pub(super) fn nothing(
        &mut self,
        plan: &Plan,
        region: Region,
        stack: &Stack,
        (info, identity): (DriveInfo, DriveIdentity),
    ) -> Result<Measured> {
        self.recording.begin(plan, &identity)?;
        let name = info.name.clone();
        let context = findings::Context {
            info: &info,
            stack,
            extents: None,
            engine: &self.engine().to_string(),
            direct: !self.job.target.buffered,
            durable: false,
            cpus: self.cpus(),
            polling: self.job.target.iopoll,
            in_place: false,
            extents_after: None,
            own_file: false,
            cache: None,
        };
        let body = findings::body(plan, &Executed::nothing(plan, region), &context);
        let note = format!(
            "{name} lies in this machine's memory: there is no drive to measure; add --anyway to measure the memory"
        );
        Ok(Measured { body, broken: None, notes: vec![note] })
    }
}
