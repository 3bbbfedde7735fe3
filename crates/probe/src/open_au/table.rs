//! Tables of times per write, as flashbench's open-au test prints them.

use serde::{Deserialize, Serialize};

use crate::finding::Name;

/// In which order an erase block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// From its beginning onwards.
    Linear,
    /// In random order: flashbench's `--random`.
    Random,
}

impl Order {
    /// Property that it determines.
    pub fn name(self) -> Name {
        match self {
            Order::Linear => Name::OpenAuLinear,
            Order::Random => Name::OpenAuRandom,
        }
    }
}

/// One line: writes of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Size of a write, in bytes.
    pub len_bytes: u64,
    /// Time of one write, in nanoseconds. A published rate gives it as size / rate.
    pub ns_per_io: f64,
    /// Standard error of that time, in nanoseconds; `None` if it is not known.
    pub error_ns: Option<f64>,
}

/// Writes to some erase blocks in turn, by size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// How many erase blocks took turns.
    pub nr: u32,
    /// In which order each was written.
    pub order: Order,
    /// The lines, in any order; a size that occurs twice counts once, with the lesser time.
    pub rows: Vec<Row>,
}

/// Times by size, the largest size first, each size once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Profile(Vec<(u64, f64)>);

impl Profile {
    /// The lines that can be true. Of a size that was measured twice the lesser time is kept: disturbances make a
    /// measurement longer.
    pub(crate) fn new<'a>(rows: impl Iterator<Item = &'a Row>) -> Profile {
        let mut lines: Vec<(u64, f64)> = rows
            .filter(|row| row.len_bytes > 0 && row.ns_per_io.is_finite() && row.ns_per_io > 0.0)
            .map(|row| (row.len_bytes, row.ns_per_io))
            .collect();
        lines.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.total_cmp(&b.1)));
        lines.dedup_by_key(|line| line.0);
        Profile(lines)
    }

    /// Size and time of each line.
    pub(crate) fn lines(&self) -> &[(u64, f64)] {
        &self.0
    }

    /// The lines of more than `bytes`.
    pub(crate) fn larger_than(&self, bytes: u64) -> Profile {
        Profile(self.0.iter().filter(|line| line.0 > bytes).copied().collect())
    }

    /// The best rate, in bytes per nanosecond.
    pub(crate) fn best_rate(&self) -> f64 {
        self.0.iter().map(|(len, ns)| *len as f64 / ns).fold(0.0, f64::max)
    }

    /// Size, own time and the other's time, where both have the size.
    pub(crate) fn beside(&self, other: &Profile) -> Vec<(u64, f64, f64)> {
        let time = |len| other.0.iter().find(|line| line.0 == len).map(|line| line.1);
        self.0.iter().filter_map(|(len, ns)| Some((*len, *ns, time(*len)?))).collect()
    }
}
