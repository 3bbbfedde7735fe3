//! Block devices as the kernel describes them in `/sys`, and the directories that tests may replace.
//!
//! A device is found by its number or by a link in sysfs, never by taking names apart: `nvme0n1p2`,
//! `mmcblk0p2` and `cciss!c0d0p2` follow three rules, and the next driver will bring a fourth.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use block::Bytes;
use serde::Serialize;

/// Unit of `size`, `start` and `stat` in sysfs, whatever the device's own block size is
/// (kernel: `Documentation/block/stat.rst`).
pub const SYSFS_SECTOR_BYTES: u64 = 512;

/// Directories in which the kernel and udev describe this machine. Everything in this crate that looks at
/// devices reads below them only, so a test can describe a machine that it does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// `/sys`
    pub sys: PathBuf,
    /// `/proc`
    pub proc: PathBuf,
    /// `/dev`
    pub dev: PathBuf,
    /// `/run/udev`
    pub run_udev: PathBuf,
}

impl Default for Roots {
    fn default() -> Roots {
        Roots {
            sys: "/sys".into(),
            proc: "/proc".into(),
            dev: "/dev".into(),
            run_udev: "/run/udev".into(),
        }
    }
}

/// Number of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevNo {
    /// The driver's part.
    pub major: u32,
    /// The device's part.
    pub minor: u32,
}

impl DevNo {
    /// Takes apart what `stat(2)` gives as `st_dev` or `st_rdev`.
    pub fn from_raw(raw: u64) -> DevNo {
        DevNo { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) }
    }

    /// True for a number that does not belong to a block device: Btrfs, overlay, tmpfs, NFS, ZFS.
    pub fn is_anonymous(self) -> bool {
        self.major == 0
    }
}

impl fmt::Display for DevNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DevNo {
    type Err = ();

    fn from_str(text: &str) -> Result<DevNo, ()> {
        let (major, minor) = text.trim().split_once(':').ok_or(())?;
        Ok(DevNo { major: major.parse().map_err(|_| ())?, minor: minor.parse().map_err(|_| ())? })
    }
}

impl Serialize for DevNo {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The text of a small kernel file without surrounding white space; `None` when it cannot be read,
/// is not text, or is empty.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// File names in a directory, sorted; empty when there is no such directory.
pub(crate) fn names_in(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// A block device as sysfs shows it: a disk, a partition, or something built upon others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockNode {
    dir: PathBuf,
    name: String,
}

impl BlockNode {
    fn at(dir: &Path) -> Option<BlockNode> {
        let dir = fs::canonicalize(dir).ok()?;
        let name = dir.file_name()?.to_str()?.to_owned();
        Some(BlockNode { dir, name })
    }

    /// The device of this number.
    pub fn by_number(roots: &Roots, number: DevNo) -> Option<BlockNode> {
        BlockNode::at(&roots.sys.join("dev/block").join(number.to_string()))
    }

    /// The device of this kernel name.
    pub fn by_name(roots: &Roots, name: &str) -> Option<BlockNode> {
        let plain = !name.is_empty() && name != "." && name != ".." && !name.contains('/');
        ["class/block", "block"]
            .iter()
            .filter(|_| plain)
            .find_map(|class| BlockNode::at(&roots.sys.join(class).join(name)))
    }

    /// The device that a path below `/dev` names, through any links.
    pub fn by_dev_path(roots: &Roots, path: &Path) -> Option<BlockNode> {
        let path = match path.strip_prefix("/dev") {
            Ok(below) => roots.dev.join(below),
            Err(_) => path.to_owned(),
        };
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let real = fs::canonicalize(path).ok()?;
        let meta = fs::metadata(&real).ok()?;
        if meta.file_type().is_block_device() {
            return BlockNode::by_number(roots, DevNo::from_raw(meta.rdev()));
        }
        // Only a replaced /dev holds plain files; there the name is all there is.
        let dev = fs::canonicalize(&roots.dev).ok()?;
        let below = real.strip_prefix(dev).ok()?.to_str()?.replace('/', "!");
        BlockNode::by_name(roots, &below)
    }

    /// All disks that the kernel shows (no partitions), by name. Hidden paths of a multipath NVMe
    /// namespace are left out: they have no node in `/dev`, the namespace itself has one.
    pub fn disks(roots: &Roots) -> Vec<BlockNode> {
        names_in(&roots.sys.join("block"))
            .iter()
            .filter_map(|name| BlockNode::by_name(roots, name))
            .filter(|node| node.attr("hidden").as_deref() != Some("1"))
            .collect()
    }

    /// The other NVMe namespaces of its subsystem that this machine has disks for; they share its serial number.
    pub(crate) fn other_namespaces(&self, roots: &Roots) -> Vec<BlockNode> {
        // A controller and a subsystem have it alike.
        let subsystem = |node: &BlockNode| node.attr("device/subsysnqn");
        let Some(own) = subsystem(self) else { return Vec::new() };
        let mut disks = BlockNode::disks(roots);
        disks.retain(|disk| disk.name != self.name && subsystem(disk).as_ref() == Some(&own));
        disks
    }

    /// Name in sysfs, where `!` replaces `/`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The device's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its node below `/dev`.
    pub fn dev_path(&self, roots: &Roots) -> PathBuf {
        roots.dev.join(self.name.replace('!', "/"))
    }

    /// Its number.
    pub fn number(&self) -> Option<DevNo> {
        self.attr("dev")?.parse().ok()
    }

    /// Text of an attribute such as `queue/rotational`; `None` when absent or empty.
    pub fn attr(&self, name: &str) -> Option<String> {
        read_text(&self.dir.join(name))
    }

    /// An attribute that is a count.
    pub fn attr_u64(&self, name: &str) -> Option<u64> {
        self.attr(name)?.parse().ok()
    }

    /// True when there is an attribute or a directory of this name.
    pub fn has(&self, name: &str) -> bool {
        self.dir.join(name).exists()
    }

    /// Length of the device.
    pub fn size(&self) -> Bytes {
        Bytes(self.attr_u64("size").unwrap_or(0).saturating_mul(SYSFS_SECTOR_BYTES))
    }

    /// True for a partition.
    pub fn is_partition(&self) -> bool {
        self.has("partition")
    }

    /// Offset of a partition on its disk.
    pub fn start(&self) -> Option<Bytes> {
        self.attr_u64("start").map(|sectors| Bytes(sectors.saturating_mul(SYSFS_SECTOR_BYTES)))
    }

    /// The disk that holds this partition; the device itself when it is none.
    pub fn disk(&self) -> BlockNode {
        if !self.is_partition() {
            return self.clone();
        }
        self.dir.parent().and_then(BlockNode::at).unwrap_or_else(|| self.clone())
    }

    /// Partitions of this disk, in the order of their beginnings.
    pub fn partitions(&self) -> Vec<BlockNode> {
        let mut nodes: Vec<BlockNode> = names_in(&self.dir)
            .iter()
            .filter(|name| self.dir.join(name).join("partition").exists())
            .filter_map(|name| BlockNode::at(&self.dir.join(name)))
            .collect();
        nodes.sort_by_key(BlockNode::start);
        nodes
    }

    /// Checks that sysfs shows this device and its holders; a device without holders has an empty directory of
    /// them, or none.
    ///
    /// # Errors
    /// The directory that cannot be read, with the kernel's answer.
    pub(crate) fn readable(&self) -> io::Result<()> {
        for dir in [self.dir.clone(), self.dir.join("holders")] {
            match fs::read_dir(&dir) {
                Err(error) if dir == self.dir || error.kind() != io::ErrorKind::NotFound => {
                    return Err(io::Error::other(format!("{}: {error}", dir.display())));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Devices that this one is built upon.
    pub fn slaves(&self) -> Vec<BlockNode> {
        self.linked("slaves")
    }

    /// Devices that are built upon this one.
    pub fn holders(&self) -> Vec<BlockNode> {
        self.linked("holders")
    }

    fn linked(&self, dir: &str) -> Vec<BlockNode> {
        let dir = self.dir.join(dir);
        names_in(&dir).iter().filter_map(|name| BlockNode::at(&dir.join(name))).collect()
    }

    /// Paths of a multipath NVMe namespace, by name; empty for everything else. Before Linux 6.3 the
    /// namespace itself counts no I/O of its own, while its paths always do.
    ///
    /// The one place where names are taken apart: before Linux 6.15 no link leads from a namespace
    /// `nvme<s>n<n>` to its paths, and the kernel makes their names, `nvme<s>c<controller>n<n>`, of
    /// its subsystem's number and its own.
    pub fn hidden_paths(&self, roots: &Roots) -> Vec<BlockNode> {
        let numbers = |text: &str| {
            let (subsystem, namespace) = text.strip_prefix("nvme")?.split_once('n')?;
            Some((subsystem.to_owned(), namespace.to_owned()))
        };
        let Some((subsystem, namespace)) = numbers(&self.name) else { return Vec::new() };
        let is_path = |name: &String| {
            numbers(name).is_some_and(|(way, number)| {
                let controller = way.strip_prefix(&subsystem).and_then(|w| w.strip_prefix('c'));
                number == namespace && controller.is_some_and(|c| c.parse::<u32>().is_ok())
            })
        };
        names_in(&roots.sys.join("block"))
            .iter()
            .filter(|name| is_path(name))
            .filter_map(|name| BlockNode::by_name(roots, name))
            .filter(|node| node.attr("hidden").as_deref() == Some("1"))
            .collect()
    }

    /// Name of the driver in `/proc/devices` (`virtblk`, `zram`, `ramdisk`); many drivers share the
    /// extended major 259, so its name means nothing.
    pub fn driver(&self, roots: &Roots) -> Option<String> {
        let major = self.number()?.major;
        let text = read_text(&roots.proc.join("devices"))?;
        let (_, block) = text.split_once("Block devices:")?;
        block.lines().find_map(|line| {
            let (number, name) = line.trim().split_once(char::is_whitespace)?;
            (number.parse() == Ok(major)).then(|| name.trim().to_owned())
        })
    }

    /// The chosen I/O scheduler: `queue/scheduler` shows all, with the chosen one in brackets.
    pub fn scheduler(&self) -> Option<String> {
        let text = self.disk().attr("queue/scheduler")?;
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        Some(chosen.map_or(text.as_str(), |(name, _)| name).to_owned())
    }

    /// Directories from the device's hardware up to the root of the device tree: the host adapter,
    /// the bus, the PCI function.
    pub fn ancestors(&self) -> impl Iterator<Item = PathBuf> {
        let disk = self.disk().dir;
        let device = fs::canonicalize(disk.join("device")).unwrap_or(disk);
        device.ancestors().map(Path::to_owned).collect::<Vec<_>>().into_iter()
    }
}
