//! Contents of a device and its place on a disk, for advice that must not erase unawares.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;

use block::{Bytes, Layout, Part, PartOf};

use super::{InUse, Use, open};
use crate::signature::patient::Patient;
use crate::signature::table::{self, Slice};
use crate::signature::{self, Signature, Usage};
use crate::sysfs::{BlockNode, DevNo, Roots};

/// Reads what the device or file at `path` holds. What cannot be read is noted in [`Layout::unread`].
pub fn layout(roots: &Roots, path: &Path) -> Layout {
    let mut layout = Layout::default();
    let node = fs::metadata(path).ok().filter(|meta| meta.file_type().is_block_device());
    let node = node.and_then(|meta| BlockNode::by_number(roots, DevNo::from_raw(meta.rdev())));
    if let Some(node) = &node {
        let stands = |found: &Use| {
            found.is_final() && !matches!(found, Use::Unseen { .. } | Use::ReadOnly { .. })
        };
        let uses = InUse::now(roots).of(roots, node);
        layout.uses = uses.iter().filter(|found| stands(found)).map(Use::to_string).collect();
        layout.part_of = node.attr_u64("partition").map(|number| PartOf {
            disk: node.disk().dev_path(roots).display().to_string(),
            number,
            start: node.start().unwrap_or_default(),
        });
    }
    if let Err(error) = read(path, node.as_ref(), &mut layout) {
        layout.unread = Some(error.to_string());
    }
    layout
}

fn read(path: &Path, node: Option<&BlockNode>, layout: &mut Layout) -> io::Result<()> {
    let file = open(path)?;
    let size = match node {
        Some(node) => node.size(),
        None => Bytes(file.metadata()?.len()),
    };
    let mut on_file = |offset: u64, buffer: &mut [u8]| file.read_exact_at(buffer, offset);
    let mut patient = Patient::new(&mut on_file);
    let found = at(&mut patient, Bytes::ZERO, size)?;
    let shown = node.map(BlockNode::partitions).unwrap_or_default().into_iter().map(|part| Slice {
        number: part.attr_u64("partition").unwrap_or_default() as usize,
        start: part.start().unwrap_or_default(),
        length: part.size(),
    });
    let mut slices: Vec<Slice> = shown.collect();
    let tables: Vec<&str> =
        found.iter().filter(|s| s.usage == Usage::Table).map(|s| s.kind).collect();
    // The kernel may have read another table before, or none.
    if !tables.is_empty() {
        let block = node.and_then(|node| node.disk().attr_u64("queue/logical_block_size"));
        let mut read = |offset: u64, buffer: &mut [u8]| patient.read(offset, buffer);
        let table::Slices { all, unread } =
            table::slices(size, block.unwrap_or(512), &tables, &mut read)?;
        // A protective MBR spans the partitions of the GPT behind it.
        slices.extend(all.into_iter().filter(|slice| tables.len() < 2 || slice.start.0 > 512));
        slices.sort_by_key(|slice| slice.start);
        slices.dedup_by_key(|slice| slice.start);
        layout.unread = unread;
    }
    // A boot sector may look like an MBR: with partitions, the table itself needs no mention.
    let is_told = |s: &&Signature| s.usage != Usage::Table || slices.is_empty();
    layout.holds = found.iter().filter(is_told).map(Signature::to_string).collect();
    for Slice { number, start, length } in slices {
        let holds = at(&mut patient, start, length)?;
        let is_fat = holds.iter().any(|s| matches!(s.kind, "vfat" | "exfat"));
        let clusters = if is_fat { clusters(&file, start)? } else { None };
        let holds = holds.iter().map(Signature::to_string).collect();
        layout.parts.push(Part { number: number as u64, start, length, holds, clusters });
    }
    layout.unread = layout.unread.take().or(patient.unread());
    Ok(())
}

fn at(patient: &mut Patient<'_>, start: Bytes, length: Bytes) -> io::Result<Vec<Signature>> {
    signature::probe(length, &mut |offset, buffer| patient.read(start.0 + offset, buffer))
}

/// Beginning of the clusters of the FAT or exFAT filesystem at `start` (fatgen103, "Boot Sector and BPB"; exFAT
/// specification, 3.1).
fn clusters(file: &File, start: Bytes) -> io::Result<Option<Bytes>> {
    let mut boot = [0; 512];
    file.read_exact_at(&mut boot, start.0)?;
    let number = |at: usize, len: usize| {
        boot[at..at + len].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let offset = match &boot[3..11] == b"EXFAT   " {
        true => number(88, 4).checked_shl(number(108, 1) as u32),
        false => {
            let sector = number(11, 2).max(1);
            let tables = if number(22, 2) > 0 { number(22, 2) } else { number(36, 4) };
            let root = (number(17, 2) * 32).div_ceil(sector);
            Some((number(14, 2) + number(16, 1) * tables + root) * sector)
        }
    };
    Ok(offset.map(|offset| Bytes(start.0.saturating_add(offset))))
}
