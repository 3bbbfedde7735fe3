//! Devices to trace: disks and partitions, and how the events of a disk are divided among them.

use std::path::{Path, PathBuf};

use block::Bytes;
use block::trace::DeviceNumber;
use thiserror::Error;

use crate::mounts;
use crate::sysfs::{BlockNode, DevNo, Roots, SYSFS_SECTOR_BYTES};

/// A device that is traced: a disk as a whole, or one partition of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Kernel name (`sda`, `nvme0n1p2`).
    pub name: String,
    /// Its node below `/dev`.
    pub path: PathBuf,
    /// Its number, which its events are given.
    pub number: DeviceNumber,
    /// Its length.
    pub capacity: Bytes,
    /// The disk's number: the same as the device's own, unless it is a partition.
    pub disk: DeviceNumber,
    /// The disk's kernel name.
    pub disk_name: String,
    /// For a partition, its first sector on the disk and the first one behind it, of 512 bytes.
    pub sectors: Option<(u64, u64)>,
    /// True when the disk has requests: false for what handles bios itself, as zram, dm and md do, where nothing is
    /// plugged, merged or issued.
    pub has_requests: bool,
    /// How the device was found, where the user named something that lies on it: a sentence.
    pub found: Option<String>,
}

/// Why something cannot be traced.
#[derive(Debug, Error)]
pub enum SubjectError {
    /// It cannot be looked at.
    #[error("{}: {source}", .path.display())]
    Path {
        /// As the user named it.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// It is not a block device, and lies on none.
    #[error("{}: {why}; name a block device, or a file or directory on one", .path.display())]
    NoDevice {
        /// As the user named it.
        path: PathBuf,
        /// Reason why no device was found.
        why: String,
    },
    /// Two of the devices have sectors in common.
    #[error("{0} and {1} overlap: name the disk, or partitions of it, and each once")]
    Overlap(String, String),
    /// No device at all.
    #[error("no device is named")]
    None,
}

impl Subject {
    /// The device that `path` names, or that the file or directory `path` lies on.
    ///
    /// # Errors
    /// [`SubjectError`] when it is none and lies on none, as a file on tmpfs or btrfs does.
    pub fn find(roots: &Roots, path: &Path) -> Result<Subject, SubjectError> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let fail = |source| SubjectError::Path { path: path.to_owned(), source };
        let none = |why: String| SubjectError::NoDevice { path: path.to_owned(), why };
        let real = std::fs::canonicalize(path).map_err(fail)?;
        let meta = std::fs::metadata(&real).map_err(fail)?;
        let kind = meta.file_type();
        if kind.is_block_device() {
            let number = DevNo::from_raw(meta.rdev());
            let node = BlockNode::by_number(roots, number).ok_or_else(|| {
                none(format!("{} does not know device {number}", roots.sys.display()))
            })?;
            return Subject::of(roots, &node)
                .ok_or_else(|| none("sysfs gives no number".to_owned()));
        }
        if !kind.is_file() && !kind.is_dir() {
            return Err(none("is neither a block device nor a file nor a directory".to_owned()));
        }
        let number = DevNo::from_raw(meta.dev());
        let mounts = mounts::own(roots);
        let mount = mounts::of_path(&mounts, &real, number);
        let fstype = mount.map_or("an unknown filesystem", |mount| mount.fstype.as_str());
        // Btrfs has a number of its own; with one device, what is mounted names it.
        let node = BlockNode::by_number(roots, number)
            .or_else(|| BlockNode::by_dev_path(roots, &mount?.source))
            .ok_or_else(|| {
                none(format!("lies on {fstype}, under which no one block device is known"))
            })?;
        let mut subject =
            Subject::of(roots, &node).ok_or_else(|| none("sysfs gives no number".to_owned()))?;
        subject.found =
            Some(format!("{} lies on {fstype} on {}", path.display(), subject.path.display()));
        Ok(subject)
    }

    /// The device of `node`; `None` when sysfs does not report its number.
    pub fn of(roots: &Roots, node: &BlockNode) -> Option<Subject> {
        let disk = node.disk();
        let sectors = |bytes: Bytes| bytes.0 / SYSFS_SECTOR_BYTES;
        let start = if node.is_partition() { Some(sectors(node.start()?)) } else { None };
        Some(Subject {
            name: node.name().to_owned(),
            path: node.dev_path(roots),
            number: number(node)?,
            capacity: node.size(),
            disk: number(&disk)?,
            disk_name: disk.name().to_owned(),
            sectors: start.map(|start| (start, start.saturating_add(sectors(node.size())))),
            has_requests: disk.has("mq"),
            found: None,
        })
    }
}

fn number(node: &BlockNode) -> Option<DeviceNumber> {
    let number = node.number()?;
    Some(DeviceNumber::new(number.major, number.minor))
}

/// All that is traced at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subjects(Vec<Subject>);

impl Subjects {
    /// These, of which no two share a sector.
    pub(crate) fn new(subjects: &[Subject]) -> Result<Subjects, SubjectError> {
        if subjects.is_empty() {
            return Err(SubjectError::None);
        }
        for (at, one) in subjects.iter().enumerate() {
            let clash = subjects[..at].iter().find(|other| overlap(one, other));
            if let Some(other) = clash {
                return Err(SubjectError::Overlap(other.name.clone(), one.name.clone()));
            }
        }
        Ok(Subjects(subjects.to_vec()))
    }

    /// Each of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Subject> {
        self.0.iter()
    }

    /// The device that an I/O of the disk `disk` belongs to, and the sector that its first one is there. An I/O that
    /// addresses nothing (a flush) reaches the whole disk: with partitions, it is the first one's.
    #[inline]
    pub(crate) fn place(
        &self,
        disk: DeviceNumber,
        sector: u64,
        sectors: u64,
    ) -> Option<(DeviceNumber, u64)> {
        self.0.iter().filter(|subject| subject.disk == disk).find_map(|subject| {
            match subject.sectors {
                None => Some((subject.number, sector)),
                Some(_) if sectors == 0 => Some((subject.number, 0)),
                Some((start, end)) => {
                    (start..end).contains(&sector).then(|| (subject.number, sector - start))
                }
            }
        })
    }

    /// Converts `sector` of the disk to a sector of `device`: the second half of a split, say.
    pub(crate) fn relative(&self, device: DeviceNumber, sector: u64) -> u64 {
        let start = self.0.iter().find(|subject| subject.number == device).and_then(|s| s.sectors);
        sector.saturating_sub(start.map_or(0, |(start, _)| start))
    }

    /// True when `device` is a whole disk among them.
    pub(crate) fn is_whole(&self, device: DeviceNumber) -> bool {
        self.0.iter().any(|subject| subject.number == device && subject.sectors.is_none())
    }
}

fn overlap(one: &Subject, other: &Subject) -> bool {
    one.disk == other.disk
        && match (one.sectors, other.sectors) {
            (Some((start, end)), Some((from, to))) => start < to && from < end,
            _ => true,
        }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A disk, or a partition of `8,0` where sectors are given.
    pub(crate) fn subject(name: &str, minor: u32, sectors: Option<(u64, u64)>) -> Subject {
        Subject {
            name: name.to_owned(),
            path: Path::new("/dev").join(name),
            number: DeviceNumber::new(8, minor),
            capacity: Bytes::mib(1),
            disk: DeviceNumber::new(8, if sectors.is_some() { 0 } else { minor }),
            disk_name: "sda".to_owned(),
            sectors,
            has_requests: true,
            found: None,
        }
    }

    // Breaks when an I/O is charged to a partition that it does not lie in, or recorded with the disk's address.
    #[test]
    fn the_io_of_a_disk_is_told_apart_by_partition() {
        let disk = DeviceNumber::new(8, 0);
        let parts =
            [subject("sda1", 1, Some((2048, 4096))), subject("sda3", 3, Some((4096, 9000)))];
        let subjects = Subjects::new(&parts).unwrap();
        assert_eq!(subjects.place(disk, 2048, 8), Some((DeviceNumber::new(8, 1), 0)));
        assert_eq!(subjects.place(disk, 4096, 8), Some((DeviceNumber::new(8, 3), 0)));
        assert_eq!(subjects.place(disk, 2047, 8), None);
        assert_eq!(subjects.place(disk, 9000, 8), None);
        assert_eq!(subjects.place(disk, 0, 0), Some((DeviceNumber::new(8, 1), 0)), "a flush");
        assert_eq!(subjects.place(DeviceNumber::new(8, 16), 2048, 8), None);
        assert_eq!(subjects.relative(DeviceNumber::new(8, 3), 5000), 904);
        assert!(!subjects.is_whole(DeviceNumber::new(8, 1)));
    }

    #[test]
    fn what_overlaps_is_refused() {
        let disk = subject("sda", 0, None);
        let one = subject("sda1", 1, Some((2048, 4096)));
        let two = subject("sda2", 2, Some((4096, 9000)));
        assert!(Subjects::new(&[one.clone(), two.clone()]).is_ok());
        assert!(Subjects::new(&[one.clone(), one.clone()]).is_err(), "named twice");
        assert!(Subjects::new(&[one, disk.clone()]).is_err(), "a disk and its partition");
        assert!(Subjects::new(&[disk, subject("sdb", 16, None)]).is_ok());
        assert!(matches!(Subjects::new(&[]), Err(SubjectError::None)));
    }
}
