//! Tables that are known and not kept.

use serde::{Deserialize, Serialize};

/// A table that is known by its form and not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    /// Kind of the table.
    pub kind: OtherKind,
    /// How many of its lines there are.
    pub lines: u32,
}

/// Tables that are not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherKind {
    /// `--interval`: times of reads by their size, and a line through them.
    Interval,
    /// `-p`: rates of writing and reading one erase block in eight ways.
    Program,
    /// `--align` as it was in 2010: aligned against unaligned reads by their size.
    Unaligned,
}
