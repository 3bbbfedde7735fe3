//! Identity of a drive, as far as it can be seen from outside: a run that is resumed later, or repeated,
//! is compared with it.

use serde::{Deserialize, Serialize};

use crate::{Bytes, DriveKind};

/// Identity of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveIdentity {
    /// Kind of the target.
    pub kind: DriveKind,
    /// Absolute path, or the virtual drive's name with its parameters.
    pub name: String,
    /// Size of what can be addressed; zero for a directory, whose test file comes and goes.
    pub capacity_bytes: Bytes,
    /// Kind of the filesystem, when the target is in one.
    pub filesystem: Option<String>,
    /// The filesystem's own number, where it keeps one from mount to mount (ext4, btrfs).
    pub filesystem_id: Option<u64>,
    /// Inode of an existing file.
    pub inode: Option<u64>,
    /// Part of the devices at the bottom, when the target is not all of one: two partitions of a disk, and
    /// two loop devices on files of one filesystem, have the same leaf and may have the same size.
    #[serde(default)]
    pub part: Option<String>,
    /// The devices at the bottom.
    pub leaves: Vec<LeafIdentity>,
}

/// Identity of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafIdentity {
    /// Kernel name, which may be another after a restart.
    pub name: String,
    /// Model as the device states it.
    pub model: Option<String>,
    /// Serial number as the device states it.
    pub serial: Option<String>,
    /// World-wide identifier.
    pub wwid: Option<String>,
    /// Size of the whole device.
    pub size_bytes: Bytes,
}

impl DriveIdentity {
    /// Describes the first difference that shows `now` to be another target; `None` when there is none.
    ///
    /// A device with a serial number or a world-wide identifier is known by that, its model and its
    /// size, whatever the kernel calls it today; one without, by its name instead.
    pub fn difference(&self, now: &DriveIdentity) -> Option<String> {
        let differ = |what: &str, then: &dyn std::fmt::Debug, now: &dyn std::fmt::Debug| {
            Some(format!("{what} was {then:?} and is {now:?}"))
        };
        if self.kind != now.kind {
            return differ("its kind", &self.kind, &now.kind);
        }
        if matches!(self.kind, DriveKind::Virtual | DriveKind::Null) && self.name != now.name {
            return differ("its name", &self.name, &now.name);
        }
        if self.capacity_bytes != now.capacity_bytes {
            return differ("its size in bytes", &self.capacity_bytes.0, &now.capacity_bytes.0);
        }
        if self.filesystem != now.filesystem {
            let word = |kind: &Option<String>| kind.clone().unwrap_or_else(|| "none".to_owned());
            let (then, now) = (word(&self.filesystem), word(&now.filesystem));
            return Some(format!("its filesystem was {then} and is {now}"));
        }
        if let (Some(a), Some(b)) = (self.filesystem_id, now.filesystem_id)
            && a != b
        {
            return Some(format!("its filesystem was number {a:016x} and is {b:016x}"));
        }
        // FAT, and others that do not store inode numbers, assign new ones at each mount.
        if self.filesystem_id.is_some()
            && let (Some(then), Some(now)) = (self.inode, now.inode)
            && then != now
        {
            return Some(format!("its inode was {then} and is {now}: another file has its name"));
        }
        if self.part != now.part {
            let word =
                |part: &Option<String>| part.clone().unwrap_or_else(|| "the whole".to_owned());
            let (then, now) = (word(&self.part), word(&now.part));
            return Some(format!("of the devices under it, it was {then} and is {now}"));
        }
        if self.leaves.len() != now.leaves.len() {
            return differ("the count of devices under it", &self.leaves.len(), &now.leaves.len());
        }
        self.leaves.iter().zip(&now.leaves).find_map(|(a, b)| a.difference(b))
    }
}

impl LeafIdentity {
    fn difference(&self, now: &LeafIdentity) -> Option<String> {
        let differ = |what: &str, a: &Option<String>, b: &Option<String>| {
            let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
            Some(format!("the device under it had {what} {} and has {}", word(a), word(b)))
        };
        let named = |leaf: &LeafIdentity| leaf.serial.is_some() || leaf.wwid.is_some();
        if self.size_bytes != now.size_bytes {
            let (a, b) = (self.size_bytes.0.to_string(), now.size_bytes.0.to_string());
            return differ("a size in bytes of", &Some(a), &Some(b));
        }
        if self.model != now.model {
            return differ("the model", &self.model, &now.model);
        }
        if self.serial != now.serial {
            return differ("the serial number", &self.serial, &now.serial);
        }
        if self.wwid != now.wwid {
            return differ("the world-wide identifier", &self.wwid, &now.wwid);
        }
        if !named(self) && self.name != now.name {
            let (a, b) = (self.name.clone(), now.name.clone());
            return differ("the name", &Some(a), &Some(b));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> DriveIdentity {
        let leaf = LeafIdentity {
            name: "sda".to_owned(),
            model: Some("Disk".to_owned()),
            serial: Some("S1".to_owned()),
            wwid: None,
            size_bytes: Bytes::gib(4),
        };
        DriveIdentity {
            kind: DriveKind::BlockDevice,
            name: "/dev/sda".to_owned(),
            capacity_bytes: Bytes::gib(4),
            filesystem: None,
            filesystem_id: None,
            inode: None,
            part: None,
            leaves: vec![leaf],
        }
    }

    /// Were a drive that got another letter refused, no long test would outlive a restart; were another
    /// drive at the same letter taken, its numbers would be filed under the first one's name.
    #[test]
    fn a_drive_is_known_by_its_serial_number_and_not_by_its_letter() {
        let then = disk();
        assert_eq!(then.difference(&then), None);
        let mut moved = disk();
        (moved.name, moved.leaves[0].name) = ("/dev/sdb".to_owned(), "sdb".to_owned());
        assert_eq!(then.difference(&moved), None);

        let mut other = disk();
        other.leaves[0].serial = Some("S2".to_owned());
        assert!(then.difference(&other).unwrap().contains("S1 and has S2"));
        let mut silent = disk();
        silent.leaves[0].serial = None;
        assert!(then.difference(&silent).is_some() && silent.difference(&then).is_some());
        let mut elsewhere = silent.clone();
        elsewhere.leaves[0].name = "sdb".to_owned();
        assert!(silent.difference(&elsewhere).unwrap().contains("sda and has sdb"));
        for change in [
            |d: &mut DriveIdentity| d.capacity_bytes = Bytes(1),
            |d: &mut DriveIdentity| d.kind = DriveKind::File,
            |d: &mut DriveIdentity| d.filesystem = Some("ext4".to_owned()),
            |d: &mut DriveIdentity| d.part = Some("the partition at 1MiB".to_owned()),
            |d: &mut DriveIdentity| d.leaves.clear(),
            |d: &mut DriveIdentity| d.leaves[0].size_bytes = Bytes(1),
        ] {
            let mut changed = disk();
            change(&mut changed);
            assert!(then.difference(&changed).is_some(), "{changed:?}");
        }
        let file = |inode, id| DriveIdentity {
            inode: Some(inode),
            filesystem_id: id,
            filesystem: Some("ext4".to_owned()),
            ..disk()
        };
        assert!(file(7, Some(1)).difference(&file(8, Some(1))).unwrap().contains("inode"));
        assert_eq!(file(7, None).difference(&file(8, None)), None, "FAT renumbers them");
        let numbered = |id| DriveIdentity { filesystem_id: id, ..disk() };
        assert!(numbered(Some(1)).difference(&numbered(Some(2))).is_some());
        assert_eq!(numbered(Some(1)).difference(&numbered(None)), None);
        let simulated = |name: &str| DriveIdentity {
            kind: DriveKind::Virtual,
            name: name.to_owned(),
            ..disk()
        };
        assert!(simulated("sim:a").difference(&simulated("sim:b")).is_some());
    }
}
