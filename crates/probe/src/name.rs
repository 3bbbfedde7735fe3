//! Names of probes.

use serde::{Deserialize, Serialize};

/// Name of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeName {
    /// Boundaries.
    Align,
    /// Open erase blocks.
    OpenAu,
    /// The zone for file allocation tables.
    Fat,
    /// Access times by offset.
    Scatter,
    /// Access time and rate.
    Interval,
    /// Reads issued together.
    Parallelism,
    /// Memory for writes.
    WriteBuffer,
    /// The part with one bit a cell.
    SlcCache,
    /// The whole range.
    Surface,
    /// The capacity.
    Capacity,
    /// Classes of speed.
    SpeedClass,
}

impl ProbeName {
    /// Its name in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            ProbeName::Align => "align",
            ProbeName::OpenAu => "open-au",
            ProbeName::Fat => "fat",
            ProbeName::Scatter => "scatter",
            ProbeName::Interval => "interval",
            ProbeName::Parallelism => "parallelism",
            ProbeName::WriteBuffer => "write-buffer",
            ProbeName::SlcCache => "slc-cache",
            ProbeName::Surface => "surface",
            ProbeName::Capacity => "capacity",
            ProbeName::SpeedClass => "speed-class",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Task;

    // Breaks when records name a probe otherwise than its command does.
    #[test]
    fn json_has_the_words_of_the_command_line() {
        for task in Task::chain() {
            assert_eq!(serde_json::to_value(task.probe()).unwrap(), task.word());
        }
        assert_eq!(serde_json::to_value(ProbeName::SpeedClass).unwrap(), "speed-class");
    }
}
