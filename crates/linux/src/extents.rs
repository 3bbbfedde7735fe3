//! How much of a file is really on its device.
//!
//! Reading a hole or an extent that was allocated and never written returns zeros at the speed of
//! memory, with direct I/O too: nothing is asked of the device. So a benchmark of a file has to
//! know that the file holds data.

use std::fs::File;
use std::io;
use std::ops::Range;

use block::{Bytes, Extents};
use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::syscalls::{self, FiemapExtent};

/// `linux/fiemap.h`: the location is not known (yet).
const UNKNOWN: u32 = 0x2;
/// Not yet allocated.
const DELALLOC: u32 = 0x4;
/// Compressed, or otherwise not readable as it stands.
const ENCODED: u32 = 0x8;
/// Encrypted by the filesystem.
const ENCRYPTED: u32 = 0x80;
/// Inside metadata.
const INLINE: u32 = 0x200;
/// Shares a block with the data of other files.
const TAIL: u32 = 0x400;
/// Allocated, never written.
const UNWRITTEN: u32 = 0x800;

/// `statfs(2)`: Btrfs reports addresses of its own, not of a device.
const BTRFS_MAGIC: u64 = 0x9123_683E;

/// Extents of a regular file, after its delayed allocations were settled. Physical offsets are those
/// of the filesystem's own device; see [`crate::stack::filesystem_start_on_leaf`].
///
/// FIEMAP is tried first. Where the filesystem has none, `SEEK_DATA` finds holes, but cannot distinguish an extent
/// that was never written from a hole.
pub fn of(file: &File) -> Extents {
    within(file, Bytes::ZERO, Bytes(u64::MAX))
}

/// The same of `length` bytes from `offset` on, as far as the file has them: extents are clipped to
/// that part, and [`Extents::file_bytes`] is its length.
pub fn within(file: &File, offset: Bytes, length: Bytes) -> Extents {
    let unknown = |why: String| Extents { unknown: Some(why), ..Extents::default() };
    let len = match file.metadata() {
        Ok(meta) if meta.is_file() => meta.len(),
        Ok(_) => return unknown("not a regular file".to_owned()),
        Err(error) => return unknown(error.to_string()),
    };
    let part = offset.0.min(len)..offset.0.saturating_add(length.0).min(len);
    let answer = by_fiemap(file, part.clone()).or_else(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::ENOSYS | libc::EINVAL) => by_seek(file, part),
        _ => Err(error),
    });
    answer.unwrap_or_else(|error| unknown(format!("the filesystem does not report it: {error}")))
}

/// Layout of these parts of a file, in ascending order, taken together; and their places on the filesystem's device,
/// also ascending, where the filesystem gives them.
pub(crate) fn of_parts(file: &File, parts: &[Range<u64>]) -> (Extents, Option<Vec<Range<u64>>>) {
    let len = file.metadata().map_or(0, |meta| meta.len());
    let clipped = parts.iter().map(|part| part.start.min(len)..part.end.min(len));
    let parts: Vec<Range<u64>> = clipped.filter(|part| !part.is_empty()).collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else {
        return (
            Extents { unknown: Some("it is empty there".to_owned()), ..Extents::default() },
            None,
        );
    };
    let mut sums = Extents::default();
    let mut places = Vec::new();
    match list(file, first.start..last.end) {
        Ok(found) => {
            for part in &parts {
                let begin =
                    found.partition_point(|e| e.logical.saturating_add(e.length) <= part.start);
                let end = found.partition_point(|e| e.logical < part.end);
                let found = &found[begin..end.max(begin)];
                add(&mut sums, &sum(found, part.clone()));
                places.extend(
                    found.iter().filter(|e| e.flags & (UNKNOWN | DELALLOC | INLINE) == 0).map(
                        |e| {
                            let low = e.logical.max(part.start);
                            let high = e.logical.saturating_add(e.length).min(part.end);
                            let start = e.physical.saturating_add(low - e.logical);
                            start..start.saturating_add(high - low)
                        },
                    ),
                );
            }
            places.sort_by_key(|place| place.start);
            (sums, addresses_are_physical(file).then_some(places))
        }
        Err(_) => {
            for part in parts {
                let length = Bytes(part.end - part.start);
                let found = within(file, Bytes(part.start), length);
                if found.unknown.is_some() {
                    return (found, None);
                }
                add(&mut sums, &found);
            }
            (sums, None)
        }
    }
}

fn add(sums: &mut Extents, more: &Extents) {
    sums.file_bytes += more.file_bytes;
    sums.written_bytes += more.written_bytes;
    sums.unwritten_bytes += more.unwritten_bytes;
    sums.hole_bytes += more.hole_bytes;
    sums.encoded_bytes += more.encoded_bytes;
    sums.inline_bytes += more.inline_bytes;
    sums.extents += more.extents;
}

/// Extents that touch a part of a file.
fn list(file: &File, part: Range<u64>) -> io::Result<Vec<FiemapExtent>> {
    let mut found: Vec<FiemapExtent> = Vec::new();
    let mut next = part.start;
    while next < part.end && syscalls::fiemap(file, next, &mut found)? {
        match found.last() {
            Some(last) if last.logical.saturating_add(last.length) > next => {
                next = last.logical.saturating_add(last.length);
            }
            _ => break,
        }
    }
    Ok(found)
}

fn addresses_are_physical(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|fs| fs.f_type as u64 & 0xFFFF_FFFF != BTRFS_MAGIC)
}

fn by_fiemap(file: &File, part: Range<u64>) -> io::Result<Extents> {
    let mut extents = sum(&list(file, part.clone())?, part);
    if !addresses_are_physical(file) {
        extents.physical_range = None;
    }
    Ok(extents)
}

fn sum(found: &[FiemapExtent], part: Range<u64>) -> Extents {
    let file_bytes = Bytes(part.end - part.start);
    let mut out = Extents { file_bytes, ..Extents::default() };
    let mut covered = Bytes::ZERO;
    for extent in found {
        // Blocks are whole, and space may be kept beyond the end: only the part's bytes count.
        let low = extent.logical.max(part.start);
        let high = extent.logical.saturating_add(extent.length).min(part.end);
        if low >= high {
            continue;
        }
        let bytes = Bytes(high - low);
        let kind = match extent.flags {
            flags if flags & (INLINE | TAIL) != 0 => &mut out.inline_bytes,
            flags if flags & UNWRITTEN != 0 => &mut out.unwritten_bytes,
            flags if flags & (ENCODED | ENCRYPTED) != 0 => &mut out.encoded_bytes,
            _ => &mut out.written_bytes,
        };
        *kind += bytes;
        covered += bytes;
        out.extents += 1;
        if extent.flags & (UNKNOWN | DELALLOC | INLINE) == 0 {
            let start = extent.physical.saturating_add(low - extent.logical);
            let (start, end) = (Bytes(start), Bytes(start.saturating_add(high - low)));
            let (first, last) = out.physical_range.unwrap_or((start, end));
            out.physical_range = Some((first.min(start), last.max(end)));
        }
    }
    out.hole_bytes = file_bytes.saturating_sub(covered);
    out
}

fn by_seek(file: &File, part: Range<u64>) -> io::Result<Extents> {
    let file_bytes = Bytes(part.end - part.start);
    let mut out = Extents { file_bytes, ..Extents::default() };
    // Seeking moves the position that every user of the descriptor shares.
    let before = rustix::fs::seek(file, SeekFrom::Current(0))?;
    let mut next = part.start;
    while next < part.end {
        let data = match rustix::fs::seek(file, SeekFrom::Data(next)) {
            Ok(data) if data < part.end => data,
            Ok(_) | Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        next = rustix::fs::seek(file, SeekFrom::Hole(data))?;
        out.written_bytes += Bytes(next.min(part.end).saturating_sub(data));
        out.extents += 1;
    }
    rustix::fs::seek(file, SeekFrom::Start(before))?;
    out.hole_bytes = file_bytes.saturating_sub(out.written_bytes);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(logical: u64, physical: u64, length: u64, flags: u32) -> FiemapExtent {
        FiemapExtent { logical, physical, length, flags, ..FiemapExtent::default() }
    }

    /// If classes were confused or tails beyond the end counted, a hollow file would pass for data.
    #[test]
    fn every_byte_of_a_file_falls_into_one_class() {
        let found = [
            extent(0, 1 << 20, 8192, 0),
            extent(8192, 9 << 20, 4096, UNWRITTEN),
            extent(16384, 5 << 20, 4096, ENCODED),
            extent(20480, 0, 4096, INLINE),
            extent(24576, 0, 4096, DELALLOC | UNKNOWN),
            extent(28672, 0, 1 << 30, UNWRITTEN),
        ];
        let sum = sum(&found, 0..28_672 - 100);
        assert_eq!(sum.written_bytes, Bytes(8192 + 4096 - 100));
        assert_eq!(sum.unwritten_bytes, Bytes(4096));
        assert_eq!(sum.encoded_bytes, Bytes(4096));
        assert_eq!(sum.inline_bytes, Bytes(4096));
        assert_eq!(sum.hole_bytes, Bytes(4096));
        assert_eq!(sum.extents, 5);
        assert_eq!(sum.physical_range, Some((Bytes(1 << 20), Bytes((9 << 20) + 4096))));
    }
    /// If a part were judged by the whole file, a hollow region would pass for data, and the outer
    /// zone of a disk for the inner one.
    #[test]
    fn a_part_has_only_what_lies_in_it() {
        let found = [
            extent(0, 1 << 20, 8192, 0),
            extent(8192, 9 << 20, 8192, UNWRITTEN),
            extent(20480, 5 << 20, 4096, 0),
        ];
        let sum = sum(&found, 4096..12288);
        assert_eq!(sum.file_bytes, Bytes(8192));
        assert_eq!((sum.written_bytes, sum.unwritten_bytes), (Bytes(4096), Bytes(4096)));
        assert_eq!((sum.hole_bytes, sum.extents), (Bytes::ZERO, 2));
        let range = (Bytes((1 << 20) + 4096), Bytes((9 << 20) + 4096));
        assert_eq!(sum.physical_range, Some(range));
        assert_eq!(super::sum(&found, 16384..20480).hole_bytes, Bytes(4096));
    }
}
