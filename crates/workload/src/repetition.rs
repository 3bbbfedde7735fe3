//! How often a plan's steps run, and in which order.

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::units;

/// How often and in which order steps run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Runs of each step; the least count when `until` is set.
    pub runs: u32,
    /// Order of the runs.
    pub order: Order,
    /// Runs of each step before the counted ones, whose numbers are kept and not used.
    pub discard_first: u32,
    /// Idle time before each run.
    #[serde(with = "units::nanos")]
    pub pause: Nanos,
    /// Most time that a run in the wake of writes waits, beyond the pause, until small reads take as long as before all runs; zero
    /// for none.
    #[serde(with = "units::nanos", skip_serializing_if = "is_zero")]
    pub settle: Nanos,
    /// Most time for reading again to distinguish the drive's cache from its medium, after the runs and only where this
    /// decides what they show; zero for never.
    #[serde(with = "units::nanos", skip_serializing_if = "is_usual")]
    pub cache_probe: Nanos,
    /// Tests that `runs` leave undecided get more of them, within this time since the first run; zero for none.
    #[serde(with = "units::nanos", skip_serializing_if = "is_zero")]
    pub decide_within: Nanos,
    /// Most that all runs write together; runs that write end before they exceed it.
    #[serde(with = "units::optional_bytes", skip_serializing_if = "Option::is_none")]
    pub write_budget: Option<Bytes>,
    /// Goes on until the numbers are good enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule {
            runs: 1,
            order: Order::Interleaved,
            discard_first: 0,
            pause: Nanos::ZERO,
            settle: Nanos::ZERO,
            cache_probe: Schedule::CACHE_PROBE,
            decide_within: Nanos::ZERO,
            write_budget: None,
            until: None,
        }
    }
}

impl Schedule {
    /// Time for the drive's cache by default: enough for some tens of MiB of a disk.
    pub const CACHE_PROBE: Nanos = Nanos::secs(1);

    /// Planned runs of each step, those that do not count among them.
    pub fn planned(&self) -> u32 {
        self.runs.saturating_add(self.discard_first)
    }

    /// Asks for a field that cannot be run, and what to write instead.
    pub(crate) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if self.runs == 0 {
            return Err(("runs", "at least one run is needed"));
        }
        let Some(until) = self.until else { return Ok(()) };
        if self.decide_within > Nanos::ZERO {
            return Err((
                "decide_within",
                "until repeats all tests as well; leave out one of the two",
            ));
        }
        if !(until.half_width_percent > 0.0 && until.half_width_percent <= 100.0) {
            return Err(("until.half_width_percent", "write a share above 0 and up to 100"));
        }
        if until.budget == Nanos::ZERO {
            return Err(("until.budget", "write how long the run may take, such as 5m"));
        }
        Ok(())
    }
}

/// True for the default, which every plan has that does not set it.
fn is_usual(cache_probe: &Nanos) -> bool {
    *cache_probe == Schedule::CACHE_PROBE
}

fn is_zero(span: &Nanos) -> bool {
    *span == Nanos::ZERO
}

/// Order of the runs of several steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Randomised complete blocks: every step once, in a new random order for each block.
    #[default]
    Interleaved,
    /// The same for the steps that only read, and after them for those that alter the target: no read is made in the wake of
    /// a write. Under a stop rule, each round beyond the least count begins with the reads.
    ReadsFirst,
    /// All runs of a step before the next step.
    Blocked,
}

/// A stop rule on the precision of the medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// Stop when the interval of every step's median is within this share of it on both sides, in percent.
    pub half_width_percent: f64,
    /// Stop in any case when this much time has gone by.
    #[serde(with = "units::nanos")]
    pub budget: Nanos,
}
