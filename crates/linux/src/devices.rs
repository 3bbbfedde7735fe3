//! Block devices of this machine: what can be measured on them, and what must not be touched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use block::{Bytes, Medium};
use rustix::fs::OFlags;
use serde::Serialize;

use crate::mounts;
use crate::signature::{self, Signature};
use crate::stack::medium_of;
use crate::sysfs::{BlockNode, DevNo, Roots};

pub(crate) mod content;
pub(crate) mod exports;
mod identity;
mod layout;
pub(crate) mod link;
pub(crate) mod loops;
pub(crate) mod openers;
mod uses;

pub use identity::{Bus, Identity, identity};
pub use layout::layout;
pub use link::Link;
pub use openers::User;
pub use uses::{InUse, Use};

/// Registers of an eMMC or SD card that say who made it and how it erases.
const CARD_REGISTERS: [&str; 19] = [
    "type",
    "name",
    "manfid",
    "oemid",
    "cid",
    "csd",
    "scr",
    "ssr",
    "date",
    "fwrev",
    "hwrev",
    "prv",
    "rev",
    "serial",
    "erase_size",
    "preferred_erase_size",
    "enhanced_area_size",
    "life_time",
    "pre_eol_info",
];

/// A disk, or something the kernel presents as one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Device {
    /// Its node.
    pub path: PathBuf,
    /// Its number.
    pub number: Option<DevNo>,
    /// Identity.
    #[serde(flatten)]
    pub identity: Identity,
    /// Medium that holds the data.
    pub medium: Medium,
    /// A remark on the medium, where it is not plain.
    pub note: Option<&'static str>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Largest discard; absent when it discards nothing.
    pub discard_bytes_max: Option<Bytes>,
    /// True when it cannot be written to.
    pub read_only: bool,
    /// True when its medium can be taken out.
    pub removable: bool,
    /// Registers of an eMMC or SD card by name, as the kernel shows them (erase sizes in bytes).
    pub registers: BTreeMap<String, String>,
    /// For a loop device, its backing file.
    pub backing_file: Option<String>,
    /// Its partitions, in the order of their beginnings.
    pub partitions: Vec<Partition>,
    /// Devices built upon it or its partitions.
    pub holders: Vec<String>,
    /// Devices that it is built upon.
    pub slaves: Vec<String>,
    /// Mount points, without those of its partitions.
    pub mounts: Vec<PathBuf>,
    /// Content, without that of its partitions.
    pub content: Content,
    /// True when it can be measured for reading by this user now.
    pub readable: bool,
    /// True when writing to it needs only the user's consent; false when its content, or that of a partition of it, is
    /// not known.
    pub ready: bool,
    /// Reasons against writing to it.
    pub why_not: Vec<Use>,
}

/// A part of a disk.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Partition {
    /// Kernel name.
    pub name: String,
    /// Its node.
    pub path: PathBuf,
    /// Offset on the disk.
    pub start_bytes: Bytes,
    /// Its length.
    pub size_bytes: Bytes,
    /// Mount points.
    pub mounts: Vec<PathBuf>,
    /// True when it is an active swap area.
    pub swap: bool,
    /// Content.
    pub content: Content,
}

/// Content of a device or a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Content {
    /// Signatures read from it; empty when it has none or may not be read, see [`Content::unread`].
    pub signatures: Vec<Signature>,
    /// Filesystem type that udev once read from it (`ID_FS_TYPE`), for users who may not read it.
    pub told_by_udev: Option<String>,
    /// Why its signatures are not known.
    pub unread: Option<String>,
    /// Bad blocks where there may be more signatures.
    pub unreadable: Option<String>,
}

/// All disks of this machine, by kernel name. Devices without a size are left out: idle loop
/// devices, empty card readers, zram disks that were not set up.
///
/// Reads sysfs, and the two ends of each device that this user may read.
pub fn list(roots: &Roots) -> Vec<Device> {
    let in_use = InUse::now(roots);
    let users = openers::of_devices(roots);
    let disks = BlockNode::disks(roots).into_iter();
    disks
        .filter(|node| node.size() > Bytes::ZERO)
        .map(|node| device(roots, &in_use, &users, &node))
        .collect()
}

/// The same disks by path, with their models. No device is opened, so that none that rests is woken.
pub fn names(roots: &Roots) -> Vec<(PathBuf, Option<String>)> {
    let disks = BlockNode::disks(roots).into_iter().filter(|node| node.size() > Bytes::ZERO);
    disks.map(|node| (node.dev_path(roots), Identity::of(roots, &node).model)).collect()
}

/// Whether sysfs lists the disks of this machine at all: an empty [`list`] may be of a sandbox.
///
/// # Errors
/// When it does not, with what was read and the kernel's answer.
pub fn told(roots: &Roots) -> io::Result<()> {
    loops::all(roots).map(drop)
}

/// Inodes (`st_dev` and `st_ino`) of the files that a device, or the filesystem of a file or directory, is stored in by
/// way of loop devices, and those that a file has in other places of an overlay. Writing to one of them changes what is
/// read from `path`.
pub fn stored_in(roots: &Roots, path: &Path) -> Vec<(u64, u64)> {
    let (mut found, files) = loops::stored_in(roots, path);
    let mounts = mounts::own(roots);
    let real = fs::canonicalize(path).into_iter().chain(files);
    found.extend(real.flat_map(|file| mounts::overlay_twins(&mounts, &file)));
    found
}

fn device(
    roots: &Roots,
    in_use: &InUse,
    users: &BTreeMap<DevNo, BTreeSet<User>>,
    node: &BlockNode,
) -> Device {
    let (medium, note) = medium_of(roots, node);
    let children = node.partitions();
    let names = |nodes: &[BlockNode]| nodes.iter().map(|n| n.name().to_owned()).collect();
    let mounts = |node| in_use.mounts_of(roots, node).map(|m| m.mount_point.clone()).collect();
    let content = content_of(roots, node);
    let partitions: Vec<Partition> = children
        .iter()
        .map(|child| Partition {
            name: child.name().to_owned(),
            path: child.dev_path(roots),
            start_bytes: child.start().unwrap_or_default(),
            size_bytes: child.size(),
            mounts: mounts(child),
            swap: in_use.is_swap(child),
            content: content_of(roots, child),
        })
        .collect();
    let holders: Vec<BlockNode> =
        std::iter::once(node).chain(&children).flat_map(BlockNode::holders).collect();
    let mut why_not = in_use.of(roots, node);
    for node in std::iter::once(node).chain(&children) {
        let by = node.number().and_then(|number| users.get(&number));
        why_not.extend(by.map(|by| Use::Open {
            device: node.name().to_owned(),
            by: by.iter().cloned().collect(),
        }));
    }
    let own = (node.name(), &content);
    let all = std::iter::once(own).chain(partitions.iter().map(|p| (p.name.as_str(), &p.content)));
    for (name, content) in all {
        why_not.extend(content.signatures.iter().map(|signature| Use::Signed {
            device: name.to_owned(),
            signature: signature.clone(),
        }));
        why_not.extend(
            content
                .unread
                .as_ref()
                .map(|why| Use::Unread { device: name.to_owned(), why: why.clone() }),
        );
        let unreadable = content.unreadable.iter();
        why_not.extend(
            unreadable.map(|why| Use::Unreadable { device: name.to_owned(), why: why.clone() }),
        );
    }
    // Content described by a table that the kernel may not have read. Other signatures lead to no more content.
    let is_table = |signature: &Signature| signature.usage == signature::Usage::Table;
    if content.signatures.iter().any(is_table)
        && let Ok(inside) =
            open(&node.dev_path(roots)).and_then(|file| content::inside(node, &file))
    {
        // Those of the disk and of each partition are named with their own places already.
        let is_of_partitions = |found: &Use| match found {
            Use::Partitioned { .. } => true,
            Use::Unreadable { .. } => {
                why_not.iter().any(|known| matches!(known, Use::Unreadable { .. }))
            }
            _ => false,
        };
        let is_new = |found: &Use| !is_of_partitions(found) && !why_not.contains(found);
        let more: Vec<Use> = inside.into_iter().filter(is_new).collect();
        why_not.extend(more);
    }
    Device {
        path: node.dev_path(roots),
        number: node.number(),
        identity: Identity::of(roots, node),
        medium,
        note,
        scheduler: node.scheduler(),
        discard_bytes_max: node.attr_u64("queue/discard_max_bytes").filter(|&n| n > 0).map(Bytes),
        read_only: node.attr("ro").as_deref() == Some("1"),
        removable: node.attr("removable").as_deref() == Some("1"),
        registers: registers(node),
        backing_file: node.attr("loop/backing_file"),
        holders: names(&holders),
        slaves: names(&node.slaves()),
        mounts: mounts(node),
        partitions,
        readable: content.unread.is_none(),
        content,
        ready: why_not.is_empty(),
        why_not,
    }
}

fn registers(node: &BlockNode) -> BTreeMap<String, String> {
    if identity::bus_of(node) != Bus::Mmc {
        return BTreeMap::new();
    }
    let read = |name: &str| Some((name.to_owned(), node.attr(&format!("device/{name}"))?));
    CARD_REGISTERS.into_iter().filter_map(read).collect()
}

/// Opens a device for reading, and does not wait for a medium in an empty drive.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
}

fn content_of(roots: &Roots, node: &BlockNode) -> Content {
    let told_by_udev = identity::udev(roots, node).property("ID_FS_TYPE").map(str::to_owned);
    let path = node.dev_path(roots);
    let signatures = open(&path).and_then(|file| signature::probe_file(&file, node.size()));
    match signatures {
        Ok((signatures, unreadable)) => {
            Content { signatures, told_by_udev, unread: None, unreadable }
        }
        Err(error) => {
            let unread = Some(format!("{}: {error}", path.display()));
            Content { told_by_udev, unread, ..Content::default() }
        }
    }
}
