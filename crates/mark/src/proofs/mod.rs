//! The six proofs. Each is a pure function from what was seen of one test to a verdict with its reason.

mod pattern;
mod reached;
mod repeatable;
mod steady;
mod undisturbed;
mod unhindered;

use block::{Bytes, DeviceCounters, DriveInfo, Extents, Op, Snapshot, Stack};
use stats::{ModeTest, Modes, Proof, Verdict};
use workload::plan::{Phase, Region, Step};

use crate::body::Proofs;
use crate::execute::TestRuns;
use crate::run::RunFigures;

/// Relative difference between windows or runs that still counts as none.
const MARGIN: f64 = 0.05;

/// Everything that proofs of one test may look at.
pub(crate) struct Case<'a> {
    pub(crate) step: &'a Step,
    /// The measured phase.
    pub(crate) phase: &'a Phase,
    pub(crate) test: &'a TestRuns,
    pub(crate) info: &'a DriveInfo,
    pub(crate) stack: &'a Stack,
    pub(crate) extents: Option<&'a Extents>,
    pub(crate) region: Region,
    /// CPUs that the submitters could run on.
    pub(crate) cpus: usize,
    /// True when the engine polls for completions.
    pub(crate) polling: bool,
    /// Whether the runs' throughputs fall into two groups.
    pub(crate) modes: Option<ModeTest>,
}

impl Case<'_> {
    pub(crate) fn runs(&self) -> &[RunFigures] {
        &self.test.runs
    }

    pub(crate) fn rates(&self) -> Vec<f64> {
        self.runs().iter().map(|r| r.run.mb_s).collect()
    }

    /// True when the test does `op` at all.
    pub(crate) fn does(&self, op: Op) -> bool {
        self.phase.ops.iter().any(|o| o.op == op)
    }

    /// Centres of two groups of runs, low and high, and the share in the high one. Groups so close that
    /// a median between them misleads nobody do not count, however well they are told apart.
    pub(crate) fn two_modes(&self) -> Option<(f64, f64, f64)> {
        match self.modes?.modes {
            Modes::Two { low_center, high_center, share_high, .. }
                if high_center > low_center * (1.0 + MARGIN) =>
            {
                Some((low_center, high_center, share_high))
            }
            _ => None,
        }
    }

    /// Bytes moved by `op`, over all counted runs.
    pub(crate) fn moved(&self, op: Op) -> Bytes {
        self.runs().iter().map(|r| r.moved(op)).sum()
    }
}

/// Judges all six.
pub(crate) fn judge(case: &Case<'_>) -> Proofs {
    if case.runs().is_empty() {
        let none = || Proof::new(Verdict::Unprovable, "no counted run was finished");
        return Proofs {
            reached: none(),
            pattern: none(),
            steady: none(),
            repeatable: none(),
            unhindered: none(),
            undisturbed: none(),
        };
    }
    Proofs {
        reached: reached::judge(case),
        pattern: pattern::judge(case),
        steady: steady::judge(case),
        repeatable: repeatable::judge(case),
        unhindered: unhindered::judge(case),
        undisturbed: undisturbed::judge(case),
    }
}

/// Bytes that all leaf devices together counted for `op`; `None` when a leaf cannot be counted, since
/// the others alone would seem to lack its share.
fn device_bytes(case: &Case<'_>, snapshot: &Snapshot, op: Op) -> Option<Bytes> {
    let of = |d: &DeviceCounters| if op == Op::Read { d.read_bytes } else { d.write_bytes };
    let devices = &snapshot.devices;
    let all = !devices.is_empty() && devices.len() >= case.stack.leaves.len();
    all.then(|| devices.iter().map(of).sum())
}

/// Growth of a counter over all counted runs; `None` when some run lacks it.
fn growth(case: &Case<'_>, read: impl Fn(&Snapshot) -> Option<u64>) -> Option<u64> {
    case.runs().iter().map(|r| Some(read(&r.after)?.saturating_sub(read(&r.before)?))).sum()
}

/// A share for a reason: one digit below 10 %, none above, and no false precision far beyond.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let sign = if percent < 0.0 { "−" } else { "" };
    match percent.abs() {
        size if size < 9.95 => format!("{sign}{size:.1} %"),
        size if size < 999.5 => format!("{sign}{size:.0} %"),
        _ => format!("{sign}more than 999 %"),
    }
}
