//! Time and bytes of a run, estimated before it begins.

use anyhow::Result;
use bench::opening::Writes;
use block::{Bounds, Bytes};
use drives::TargetSpec;
use pts::estimate::Estimate;
use pts::options::Options;
use runner::exit::Refused;

use crate::announce::Cost;

/// Plan of tests on a target.
pub struct Planned {
    /// Time and bytes.
    pub estimate: Estimate,
    /// Bytes that are written.
    pub writes: Writes,
    /// Most bytes that the drive's link moves per second, where that is known.
    link: Option<u64>,
}

/// Time and bytes of `options` on `target`.
///
/// # Errors
/// When the target cannot be looked at.
pub fn estimate(options: &Options, target: &TargetSpec) -> Result<Planned> {
    let (capacity, rate) = match target {
        TargetSpec::Virtual(spec) => {
            let opened = spec.open()?;
            let info = block::Target::info(&opened);
            (info.capacity_bytes, info.link_bytes_per_s)
        }
        TargetSpec::Null => (Bytes::gib(1024), None),
        TargetSpec::Path(path) => (linux::target::size_of(path.as_ref())?, None),
    };
    let estimate = Estimate::of(options, capacity, rate);
    let writes = estimate.bytes_max.map_or(Writes::Unbounded, |most| Writes::AtMost(Bytes(most)));
    Ok(Planned { estimate, writes, link: rate })
}

impl Planned {
    /// The same, as it is announced.
    pub fn cost(&self, tests: usize) -> Cost {
        let Estimate { timed_ns_min, timed_ns_max, bytes_min, bytes_max, .. } = self.estimate;
        // Fills take at least as long as the link needs for their bytes; how much longer is not known.
        let fills = self.link.map_or(0.0, |rate| bytes_min as f64 / rate as f64 * 1e9);
        let least = timed_ns_min.unwrap_or_default().saturating_add(fills as u64);
        let is_bounded =
            timed_ns_max.is_some() && self.estimate.tests.iter().all(|t| t.fills_max == 0.0);
        Cost {
            work: format!("{}, until each is steady", report::number::counted(tests, "test")),
            time_ns: Bounds { least, most: timed_ns_max.filter(|_| is_bounded) },
            read: None,
            written: Bounds { least: bytes_min, most: bytes_max },
        }
    }

    /// Refuses what goes beyond the user's limits, before anything is opened for writing.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn refuse(
        &self,
        target: &TargetSpec,
        budget: Option<Bytes>,
        tbw: Option<Bytes>,
    ) -> Result<()> {
        let least = Bytes(self.estimate.bytes_min);
        for (flag, limit) in [("--write-budget", budget), ("--tbw", tbw)] {
            if let Some(limit) = limit.filter(|limit| least > *limit) {
                return Err(Refused(format!(
                    "{target}: refused: the tests write {} at least, and {flag} is {limit}; nothing was written. \
                     Raise it, or take a smaller --range, a shorter --minute or fewer tests",
                    least.human()
                ))
                .into());
            }
        }
        Ok(())
    }
}
