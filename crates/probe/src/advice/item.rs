//! One piece of advice, and how it is written.

use serde::{Deserialize, Serialize};

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// Its subject: `unchecked`, `partitions`, `keep`, `partition`, `ext4`, `f2fs`, `fat-partition`, `vfat`, `exfat`,
    /// `streams`, `fat`, `cache`, `capacity`.
    pub topic: String,
    /// Contents that the command erases, said before it; `None` where nothing is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases: Option<String>,
    /// The command that does it, where one does.
    pub command: Option<String>,
    /// Why, and what it does, in one sentence without a full stop.
    pub why: String,
}

/// Block of ext4 and f2fs.
pub(super) const FS_BLOCK: u64 = 4 << 10;

pub(super) fn new(topic: &str, command: Option<String>, why: String) -> Advice {
    Advice { topic: topic.to_owned(), erases: None, command, why }
}

/// A size as sfdisk(8) takes it whatever the drive's sectors are.
pub(super) fn size(bytes: u64) -> String {
    match bytes.is_multiple_of(1 << 20) {
        true => format!("{}MiB", bytes >> 20),
        false => format!("{}KiB", bytes >> 10),
    }
}
