//! How the files below a target store the measured part of it.
//!
//! A loop device passes a read on to its file, and the file's filesystem answers for a hole, or an extent that was
//! never written, without its device. So what a loop device counted says nothing of the device under its file unless
//! that file holds data in just the places that were read.

use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use block::{Bytes, Extents, Layer, Stack, Stored};
use rustix::fs::OFlags;

use crate::devices::loops;
use crate::page_cache::page_cache;
use crate::sysfs::{BlockNode, Roots};
use crate::{extents, stack};

/// Parts of what a layer shows to the one above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// In ascending order.
    pub(crate) ranges: Vec<Range<u64>>,
    /// False when the measured part only lies somewhere among them.
    pub(crate) is_mapped: bool,
}

/// Places of the measured part on a leaf device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnLeaf {
    /// Kernel name.
    pub(crate) name: String,
    pub(crate) parts: Parts,
}

impl Parts {
    /// Anywhere: below a layer that maps addresses in its own way.
    fn anywhere() -> Parts {
        Parts { ranges: std::iter::once(0..u64::MAX).collect(), is_mapped: false }
    }

    /// True when nothing is known of them.
    pub(crate) fn is_anywhere(&self) -> bool {
        self.ranges.iter().any(|range| range.end == u64::MAX)
    }

    fn moved(mut self, by: u64) -> Parts {
        for range in &mut self.ranges {
            *range = range.start.saturating_add(by)..range.end.saturating_add(by);
        }
        self
    }
}

/// Notes the layout of each file below the target, in [`Layer::stored`]; `part` is the part of the target that is
/// measured. A layout that was noted before stays where it proves less. Returns the places of that part on the leaves.
pub(crate) fn note(
    roots: &Roots,
    stack: &mut Stack,
    target: Option<&File>,
    part: Range<u64>,
) -> Vec<OnLeaf> {
    let (stored, on_leaves) = follow(roots, stack, target, part);
    for (place, stored) in stored {
        keep(&mut stack.layers[place].stored, stored);
    }
    on_leaves
}

/// Places of this part of the target on the leaves, as they are now.
pub(crate) fn places(
    roots: &Roots,
    stack: &Stack,
    target: Option<&File>,
    part: Range<u64>,
) -> Vec<OnLeaf> {
    follow(roots, stack, target, part).1
}

/// Follows a part of the target down: layouts of the files below it by the place of their layer, and its places on the
/// leaves.
fn follow(
    roots: &Roots,
    stack: &Stack,
    target: Option<&File>,
    part: Range<u64>,
) -> (Vec<(usize, Stored)>, Vec<OnLeaf>) {
    let mut places = vec![(0, Parts { ranges: vec![part], is_mapped: true })];
    let (mut all, mut on_leaves) = (Vec::new(), Vec::new());
    // A layer that several lie on is looked at once for each; a stack has few.
    let mut left = 4 * stack.layers.len();
    while let Some((place, parts)) = places.pop().filter(|_| left > 0) {
        left -= 1;
        let Some(layer) = stack.layers.get(place) else { continue };
        let below = match layer.kind.as_str() {
            "file" if place == 0 => match target {
                Some(file) => on_device(extents::of_parts(file, &parts.ranges).1, parts.is_mapped),
                None => Parts::anywhere(),
            },
            "file" => {
                let above = stack.layers.iter().find(|above| above.below.contains(&place));
                let (stored, below) = of_file(roots, layer, above, parts);
                all.push((place, stored));
                below
            }
            "partition" => match number(layer, "start_bytes") {
                Some(start) => parts.moved(start),
                None => Parts::anywhere(),
            },
            "loop" => {
                let size = BlockNode::by_name(roots, &layer.name).map_or(u64::MAX, |n| n.size().0);
                let within = |range: Range<u64>| range.start.min(size)..range.end.min(size);
                let ranges = parts.ranges.into_iter().map(within).collect();
                let offset = number(layer, "loop_offset_bytes").unwrap_or(0);
                Parts { ranges, ..parts }.moved(offset)
            }
            "disk" => parts,
            _ if stack::keeps_addresses(layer) => parts,
            _ => Parts::anywhere(),
        };
        if layer.below.is_empty() {
            on_leaves.push(OnLeaf { name: layer.name.clone(), parts: below.clone() });
        }
        places.extend(layer.below.iter().map(|&place| (place, below.clone())));
    }
    (all, on_leaves)
}

fn number(layer: &Layer, name: &str) -> Option<u64> {
    layer.attributes.get(name)?.parse().ok()
}

fn on_device(places: Option<Vec<Range<u64>>>, is_mapped: bool) -> Parts {
    places.map_or_else(Parts::anywhere, |ranges| Parts { ranges, is_mapped })
}

/// The layout of the file under the loop device `above`, and its places on its filesystem's device.
fn of_file(roots: &Roots, layer: &Layer, above: Option<&Layer>, parts: Parts) -> (Stored, Parts) {
    match open(roots, layer, above) {
        Ok(file) => {
            let (extents, places) = extents::of_parts(&file, &parts.ranges);
            let cached_bytes = page_cache(&file).ok().map(|cache| cache.cached_bytes);
            let stored = Stored { is_mapped: parts.is_mapped, extents, cached_bytes };
            (stored, on_device(places, parts.is_mapped))
        }
        Err(why) => {
            let extents = Extents { unknown: Some(why), ..Extents::default() };
            let stored = Stored { is_mapped: false, extents, cached_bytes: None };
            (stored, Parts::anywhere())
        }
    }
}

/// Opens what the name leads to, and makes sure that it is what the loop device lies on where its driver may be asked.
fn open(roots: &Roots, layer: &Layer, above: Option<&Layer>) -> Result<File, String> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(&layer.name);
    let file = file.map_err(|error| error.to_string())?;
    let meta = file.metadata().map_err(|error| error.to_string())?;
    let node = above.and_then(|above| BlockNode::by_name(roots, &above.name));
    let inode = node.and_then(|node| loops::inode_under(roots, &node));
    if !meta.is_file() || inode.is_some_and(|inode| inode != (meta.dev(), meta.ino())) {
        return Err("its name leads to another file by now".to_owned());
    }
    Ok(file)
}

/// Of two looks at one file, the one that proves less, with the page cache of the first.
fn keep(known: &mut Option<Stored>, new: Stored) {
    let lacking = |e: &Extents| match e.unknown {
        Some(_) => Bytes(u64::MAX),
        None => Bytes(e.file_bytes.0.saturating_sub(e.written_bytes.0)),
    };
    match known {
        Some(known) if lacking(&known.extents) >= lacking(&new.extents) => {}
        Some(known) => *known = Stored { cached_bytes: known.cached_bytes, ..new },
        None => *known = Some(new),
    }
}
