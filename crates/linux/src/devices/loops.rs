//! Loop devices, and what each of them lies on.
//!
//! A loop device does not claim the file or block device that it lies on: neither a holder in sysfs nor an exclusive
//! open shows it.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::syscalls;
use crate::sysfs::{BlockNode, DevNo, Roots};

/// Backing of one loop device.
#[derive(Clone, Debug)]
pub(crate) struct Backing {
    /// The loop device's kernel name.
    pub by: String,
    /// The path as the kernel reports it to us: as it was when the device was attached, and possibly in another mount
    /// namespace.
    path: PathBuf,
    /// `st_dev` and `st_ino` of it.
    inode: Option<(u64, u64)>,
    /// Its own number, when it is a block device.
    number: Option<DevNo>,
}

impl Backing {
    /// True when the loop device lies on this file.
    pub fn is_file(&self, real: &Path, meta: &fs::Metadata) -> bool {
        self.path == real || self.inode == Some((meta.dev(), meta.ino()))
    }

    /// True when the loop device lies on exactly this block device.
    pub fn is_node(&self, node: &BlockNode) -> bool {
        self.number.is_some() && self.number == node.number()
    }
}

/// All loop devices that are attached to something.
///
/// # Errors
/// When sysfs does not list the disks of this machine, or none though it has block devices.
pub(crate) fn all(roots: &Roots) -> io::Result<Vec<Backing>> {
    let (disks, devices) = (roots.sys.join("block"), roots.sys.join("dev/block"));
    let is_empty = |dir: &Path| fs::read_dir(dir).map(|mut entries| entries.next().is_none());
    let told = match is_empty(&disks) {
        Ok(true) if is_empty(&devices).is_ok_and(|none| !none) => Err("it is empty".to_owned()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    told.map_err(|why| io::Error::other(format!("{}: {why}", disks.display())))?;
    Ok(BlockNode::disks(roots).iter().filter_map(|node| backing(roots, node)).collect())
}

/// Inodes (`st_dev` and `st_ino`) of the files that `path` is stored in by way of loop devices, and the paths of those
/// that are found by them: of a device itself, of anything else the device that its filesystem is on.
pub(crate) fn stored_in(roots: &Roots, path: &Path) -> (Vec<(u64, u64)>, Vec<PathBuf>) {
    let Ok(meta) = fs::metadata(path) else { return (Vec::new(), Vec::new()) };
    let number = if meta.file_type().is_block_device() { meta.rdev() } else { meta.dev() };
    let by_number = |number| BlockNode::by_number(roots, number);
    let mut nodes: Vec<BlockNode> = by_number(DevNo::from_raw(number)).into_iter().collect();
    let (mut seen, mut found, mut files) = (BTreeSet::new(), Vec::new(), Vec::new());
    while let Some(node) = nodes.pop() {
        if !seen.insert(node.name().to_owned()) {
            continue;
        }
        nodes.extend(node.slaves());
        nodes.push(node.disk());
        let Some(Backing { inode, number, path, .. }) = backing(roots, &node) else { continue };
        nodes.extend(number.and_then(by_number));
        if let Some((dev, ino)) = inode {
            found.push((dev, ino));
            files.extend(fs::canonicalize(path));
            nodes.extend(by_number(DevNo::from_raw(dev)));
        }
    }
    (found, files)
}

/// Inode (`st_dev` and `st_ino`) of what a loop device lies on, where the driver may be asked.
pub(crate) fn inode_under(roots: &Roots, node: &BlockNode) -> Option<(u64, u64)> {
    told_by_driver(roots, node).map(|told| (told.device, told.inode))
}

fn backing(roots: &Roots, node: &BlockNode) -> Option<Backing> {
    let path = PathBuf::from(node.attr("loop/backing_file")?);
    let by = node.name().to_owned();
    // The driver knows the inode, wherever its name leads by now: through hard links, bind mounts
    // and other mount namespaces. Only where it cannot be asked is the path followed instead.
    if let Some(told) = told_by_driver(roots, node) {
        let number = (told.rdevice != 0).then(|| DevNo::from_raw(told.rdevice));
        return Some(Backing { by, path, inode: Some((told.device, told.inode)), number });
    }
    let number = BlockNode::by_dev_path(roots, &path).and_then(|below| below.number());
    let meta = fs::metadata(&path).ok().filter(|meta| !meta.file_type().is_block_device());
    Some(Backing { by, path, inode: meta.map(|meta| (meta.dev(), meta.ino())), number })
}

fn told_by_driver(roots: &Roots, node: &BlockNode) -> Option<syscalls::LoopStatus> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32;
    let path = node.dev_path(roots);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let meta = file.metadata().ok()?;
    let is_it =
        meta.file_type().is_block_device() && Some(DevNo::from_raw(meta.rdev())) == node.number();
    if is_it { syscalls::loop_status(&file).ok() } else { None }
}
