//! Layers that I/O to a path passes through: file, filesystem, partition, mapped devices, leaf devices.
//!
//! *Reached* is judged at the leaves, so everything between the target and them must be known: a
//! loop device is not a leaf, the device under its backing file is one; a zram disk is this machine's
//! memory, however many bytes cross the block layer on their way to it.
//!
//! Only a path that does not exist is fatal here. If the layers below cannot be found (an overlay whose
//! layers are out of sight, a ZFS pool, a FUSE daemon), the leaf has [`Medium::Unknown`] and an
//! attribute `note` with the reason.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use block::{Bytes, Layer, Leaf, Medium, Stack};
use thiserror::Error;

use crate::mounts::{self, Mount};
use crate::sysfs::{BlockNode, DevNo, Roots};

mod device;
mod filesystem;

pub(crate) use device::{kind_of, medium_of, member_of_btrfs, model_of, subsystem};

/// Layers that are followed before giving up: a device cannot be stacked upon itself, but a
/// fixture or a kernel defect could say so.
const DEPTH_MAX: usize = 64;

/// Why a stack has no beginning.
#[derive(Debug, Error)]
pub enum StackError {
    /// The path cannot be looked at.
    #[error("{}: {source}", .path.display())]
    Path {
        /// The path as given.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The path names something that has no bytes to measure.
    #[error("{}: is {what}; name a directory, a regular file or a block device", .path.display())]
    Kind {
        /// The path as given.
        path: PathBuf,
        /// Kind of file, with its article.
        what: &'static str,
    },
    /// There is no block device of this number.
    #[error(
        "there is no block device {number} in {}: it was taken away, or sysfs is not mounted there",
        .sys.display()
    )]
    Device {
        /// The number asked for.
        number: DevNo,
        /// Root of the sysfs that was searched.
        sys: PathBuf,
    },
}

/// The stack under a directory, a regular file or a block device.
///
/// A directory represents files yet to be made in it. A block device starts the stack itself: with direct
/// I/O its own page cache is not on the way, and without it the caller knows.
///
/// # Errors
/// [`StackError::Path`] when the path cannot be looked at, [`StackError::Kind`] when it is a socket,
/// a pipe or a character device.
pub fn resolve(roots: &Roots, path: &Path) -> Result<Stack, StackError> {
    let fail = |source| StackError::Path { path: path.to_owned(), source };
    let real = fs::canonicalize(path).map_err(fail)?;
    let meta = fs::metadata(&real).map_err(fail)?;
    let kind = meta.file_type();
    let what = match () {
        () if kind.is_block_device() => {
            return resolve_device(roots, DevNo::from_raw(meta.rdev()));
        }
        () if kind.is_file() || kind.is_dir() => None,
        () if kind.is_char_device() => Some("a character device"),
        () if kind.is_fifo() => Some("a pipe"),
        () if kind.is_socket() => Some("a socket"),
        () => Some("of an unknown kind"),
    };
    if let Some(what) = what {
        return Err(StackError::Kind { path: path.to_owned(), what });
    }
    let mut walk = Walk::new(roots);
    walk.file(&real, &meta);
    Ok(walk.stack)
}

/// The stack under the block device of this number.
///
/// # Errors
/// [`StackError::Device`] when sysfs does not know the number.
pub fn resolve_device(roots: &Roots, number: DevNo) -> Result<Stack, StackError> {
    let node = BlockNode::by_number(roots, number)
        .ok_or_else(|| StackError::Device { number, sys: roots.sys.clone() })?;
    let mut walk = Walk::new(roots);
    walk.device(&node);
    Ok(walk.stack)
}

/// The first device at the bottom that has no queue for polling. Linux 6.1 does not refuse to poll such a
/// device: its completions come by interrupt, and what was measured is something else.
pub fn without_polling(roots: &Roots, stack: &Stack) -> Option<String> {
    let names = stack.leaves.iter().map(|leaf| &leaf.name);
    let cannot = |name: &&String| {
        let node = BlockNode::by_name(roots, name);
        node.is_some_and(|node| node.attr("queue/io_poll").as_deref() == Some("0"))
    };
    names.into_iter().find(cannot).cloned()
}

/// Returns the offset of a file's filesystem on its only leaf, in bytes, to be added to a physical offset
/// that the filesystem reports. `None` when layers between remap addresses (dm, md, loop, Btrfs), or when
/// there is more than one leaf.
pub fn filesystem_start_on_leaf(stack: &Stack) -> Option<Bytes> {
    if stack.leaves.len() != 1 {
        return None;
    }
    let mut start = Bytes::ZERO;
    for layer in &stack.layers {
        match layer.kind.as_str() {
            "file" | "directory" | "disk" => {}
            _ if keeps_addresses(layer) => {}
            "partition" => start += Bytes(layer.attributes.get("start_bytes")?.parse().ok()?),
            _ => return None,
        }
    }
    Some(start)
}

/// True of a filesystem that gives a file's places as those of the one device it lies on.
pub(crate) fn keeps_addresses(layer: &Layer) -> bool {
    match layer.kind.as_str() {
        "overlay" | "ext2" | "ext3" | "ext4" | "f2fs" => true,
        // Data on a realtime device has physical offsets of that device.
        "xfs" => !layer.attributes.get("options").is_some_and(|o| o.contains("rtdev=")),
        _ => false,
    }
}

/// One descent from a target to its leaves.
struct Walk<'a> {
    roots: &'a Roots,
    mounts: Vec<Mount>,
    stack: Stack,
    /// Directories of the devices met, and their places among the layers.
    seen: BTreeMap<PathBuf, usize>,
    /// The layer that the next one is under.
    above: Option<usize>,
    depth: usize,
}

impl<'a> Walk<'a> {
    fn new(roots: &'a Roots) -> Walk<'a> {
        Walk {
            roots,
            mounts: mounts::own(roots),
            stack: Stack::default(),
            seen: BTreeMap::new(),
            above: None,
            depth: 0,
        }
    }

    /// A layer under the last one; what comes next is under it.
    fn push(&mut self, kind: &str, name: impl Into<String>, attributes: Attributes) -> usize {
        let place = self.stack.layers.len();
        self.stack.layers.push(Layer {
            kind: kind.to_owned(),
            name: name.into(),
            page_cache: None,
            attributes: attributes.0,
            below: Vec::new(),
            stored: None,
        });
        self.link(place);
        self.above = Some(place);
        place
    }

    /// Says that the layer at `place` is right under the last one.
    fn link(&mut self, place: usize) {
        if let Some(above) = self.above {
            self.stack.layers[above].below.push(place);
        }
    }

    /// All devices that the layer at `place` is built upon.
    fn members(&mut self, place: usize, nodes: &[BlockNode]) {
        for node in nodes {
            self.above = Some(place);
            self.device(node);
        }
    }

    fn leaf(&mut self, name: impl Into<String>, medium: Medium, model: Option<String>) {
        let name = name.into();
        if !self.stack.leaves.iter().any(|leaf| leaf.name == name) {
            self.stack.leaves.push(Leaf { name, medium, model });
        }
    }

    /// A leaf that is not a device, under a layer that says why.
    fn lost(&mut self, layer: usize, name: &str, medium: Medium, note: &str) {
        self.stack.layers[layer].attributes.insert("note".to_owned(), note.to_owned());
        self.leaf(name, medium, None);
    }

    fn file(&mut self, real: &Path, meta: &fs::Metadata) {
        let mut attributes = Attributes::default();
        let kind = if meta.is_dir() { "directory" } else { "file" };
        if meta.is_file() {
            attributes.set("size_bytes", meta.len());
        }
        self.push(kind, real.to_string_lossy(), attributes);
        self.below_file(real, DevNo::from_raw(meta.dev()));
    }

    fn below_file(&mut self, real: &Path, st_dev: DevNo) {
        match mounts::of_path(&self.mounts, real, st_dev).cloned() {
            Some(mount) => self.filesystem(&mount, real),
            // In a bare chroot no mount leads to the path; its number may still name a device.
            None => match BlockNode::by_number(self.roots, st_dev) {
                Some(node) => self.device(&node),
                None => self.leaf(format!("device {st_dev}"), Medium::Unknown, None),
            },
        }
    }
}

/// Facts about a layer; absent ones are left out.
#[derive(Default)]
struct Attributes(BTreeMap<String, String>);

impl Attributes {
    fn set(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.to_owned(), value.to_string());
    }

    fn set_some(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }
}
