//! Signatures and partitions that writing to a device would destroy.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use block::Bytes;

use super::Use;
use crate::signature::patient::Patient;
use crate::signature::table::{self, Slice, Slices};
use crate::signature::{self, Usage};
use crate::sysfs::BlockNode;

/// Tables within partitions are read, and no deeper ones: an image of a disk may lie in a partition.
const DEPTH_MAX: u32 = 2;

/// A part of a device that may carry something.
struct Region {
    device: String,
    start: Bytes,
    length: Bytes,
    depth: u32,
}

/// Signatures on the device that is open as `file` and in its partitions: those that the kernel shows, and those of tables
/// that it may not have read.
///
/// # Errors
/// When it cannot be read at all; bad blocks are [`Use::Unreadable`].
pub(crate) fn inside(node: &BlockNode, file: &File) -> io::Result<Vec<Use>> {
    let block = node.disk().attr_u64("queue/logical_block_size").unwrap_or(512);
    let whole = Region {
        device: node.name().to_owned(),
        start: Bytes::ZERO,
        length: node.size(),
        depth: 0,
    };
    let shown = node.partitions().into_iter().map(|partition| Region {
        device: partition.name().to_owned(),
        start: partition.start().unwrap_or_default(),
        length: partition.size(),
        depth: 1,
    });
    let mut regions: VecDeque<Region> = std::iter::once(whole).chain(shown).collect();
    let mut known: BTreeSet<(Bytes, Bytes)> =
        regions.iter().map(|region| (region.start, region.length)).collect();
    let mut uses = Vec::new();
    let mut on_device = |offset: u64, buffer: &mut [u8]| file.read_exact_at(buffer, offset);
    let mut patient = Patient::new(&mut on_device);
    while let Some(Region { device, start, length, depth }) = regions.pop_front() {
        let mut read = |offset: u64, buffer: &mut [u8]| patient.read(start.0 + offset, buffer);
        let found = signature::probe(length, &mut read)?;
        let tables: Vec<&str> =
            found.iter().filter(|s| s.usage == Usage::Table).map(|s| s.kind).collect();
        if !tables.is_empty() && depth < DEPTH_MAX {
            let Slices { all, unread } = table::slices(length, block, &tables, &mut read)?;
            for Slice { number, start: within, length } in all {
                if known.insert((start + within, length)) {
                    regions.push_back(Region {
                        device: format!("{device}, partition {number} of its table"),
                        start: start + within,
                        length,
                        depth: depth + 1,
                    });
                }
            }
            let device = device.clone();
            uses.extend(unread.map(|why| Use::ContentUnknown { device, why }));
        }
        for signature in found {
            // The kernel may not have read the table; then no other source reports partitions.
            let told = uses.iter().any(|seen| matches!(seen, Use::Partitioned { .. }));
            if signature.usage == Usage::Table && !told {
                uses.push(Use::Partitioned { device: device.clone(), partitions: Vec::new() });
            }
            uses.push(Use::Signed { device: device.clone(), signature });
        }
    }
    let unread = patient.unread();
    uses.extend(unread.map(|why| Use::Unreadable { device: node.name().to_owned(), why }));
    Ok(uses)
}
