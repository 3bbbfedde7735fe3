//! Content of a device and its place on a disk: what advice must know before it gives commands that erase.

use crate::Bytes;

/// Content and place of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Place of a partition on its disk; `None` of anything else.
    pub part_of: Option<PartOf>,
    /// Partitions in the order of their beginnings.
    pub parts: Vec<Part>,
    /// Contents outside of partitions, such as `a vfat filesystem`.
    pub holds: Vec<String>,
    /// Uses that have to end before anything is written, such as `sdb1 is mounted on /mnt (vfat)`.
    pub uses: Vec<String>,
    /// Why its contents are not known.
    pub unread: Option<String>,
}

/// Place of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartOf {
    /// Path of the disk.
    pub disk: String,
    /// Number of the partition.
    pub number: u64,
    /// Beginning on the disk.
    pub start: Bytes,
}

/// A partition of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Number in the table.
    pub number: u64,
    /// Beginning on the device.
    pub start: Bytes,
    /// Length.
    pub length: Bytes,
    /// Contents, such as `an exfat filesystem`.
    pub holds: Vec<String>,
    /// Beginning of the clusters of a FAT or exFAT filesystem on the device.
    pub clusters: Option<Bytes>,
}

impl Layout {
    /// Beginning on the disk, of which the grid of erase blocks is counted.
    pub fn origin(&self) -> Bytes {
        self.part_of.as_ref().map_or(Bytes::ZERO, |part| part.start)
    }
}
