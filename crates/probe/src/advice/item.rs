//! One piece of advice, and how it is written.

use serde::{Deserialize, Serialize};
use stats::Lenient;

/// Subject of a piece of advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Ask the drive what it really holds.
    Unchecked,
    /// Partitions that lie across erase blocks, or are in the way.
    Partitions,
    /// Partitions that can stay.
    Keep,
    /// A partition to be made.
    Partition,
    /// A filesystem.
    Ext4,
    /// Another.
    F2fs,
    /// A partition for FAT or exFAT.
    FatPartition,
    /// FAT.
    Vfat,
    /// exFAT.
    Exfat,
    /// Erase blocks written at a time.
    Streams,
    /// The zone for file allocation tables.
    Fat,
    /// Bursts of writes.
    Cache,
    /// A partition of what the drive really holds.
    Capacity,
}

impl Subject {
    /// True of partitions and filesystems that are made on a drive.
    pub fn is_layout(self) -> bool {
        matches!(
            self,
            Subject::Partition
                | Subject::Ext4
                | Subject::F2fs
                | Subject::FatPartition
                | Subject::Vfat
                | Subject::Exfat
        )
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advice {
    /// Its subject. Advice that a survey adds has the word of the conclusion that it belongs to.
    pub topic: Lenient<Subject>,
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

pub(super) fn new(topic: Subject, command: Option<String>, why: String) -> Advice {
    Advice { topic: topic.into(), erases: None, command, why }
}

/// A size as sfdisk(8) takes it whatever the drive's sectors are.
pub(super) fn size(bytes: u64) -> String {
    match bytes.is_multiple_of(1 << 20) {
        true => format!("{}MiB", bytes >> 20),
        false => format!("{}KiB", bytes >> 10),
    }
}
