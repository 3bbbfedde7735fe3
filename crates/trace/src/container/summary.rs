//! Summary of a trace in the footer.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::TraceInfo;

/// Under which key of the footer's metadata the JSON stands.
///
/// The number is that of the format's version, so that a reader which only knows Parquet sees it as well.
pub const KEY: &str = "drivescope.trace/1";

/// Prefix of the keys of all versions.
pub(super) const KEY_FRONT: &str = "drivescope.trace/";

/// Summary of a trace in the footer, in JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Summary<'a> {
    /// Rows in all groups.
    pub ios: u64,
    /// The row groups, in the order of the file.
    pub groups: Vec<Group>,
    /// The trace as a whole.
    pub info: Cow<'a, TraceInfo>,
}

/// One row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Group {
    /// Rows.
    pub ios: u64,
    /// Its offset in the file, in bytes.
    pub at: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// CRC-32 of its bytes.
    pub crc32: u32,
    /// Arrival of its first I/O, since the origin.
    pub first_ns: u64,
    /// Arrival of its last I/O.
    pub last_ns: u64,
}
