//! Size and alignment of a target, from its descriptor alone.

use std::fs::{File, FileType};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use block::{Bytes, DriveInfo, DriveKind};
use rustix::fs::{
    AtFlags, SeekFrom, StatxFlags, fstatfs, ioctl_blkpbszget, ioctl_blksszget, seek, statx,
};
use rustix::io::Errno;

use super::error::{TargetError, is_made_up};

/// Alignment of a transfer's memory and offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Of addresses in memory; a power of two.
    pub memory: Bytes,
    /// Of offsets and lengths on the target.
    pub offset: Bytes,
}

/// Smallest and, where nothing is known, only safe alignment of direct I/O.
const SECTOR: u32 = 512;
/// Accepted by every filesystem with 4 KiB blocks; Btrfs requires it and does not report that.
const FALLBACK: u32 = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    kind: DriveKind,
    capacity: Bytes,
    physical_block: Bytes,
    pub alignment: Alignment,
}

/// Sorts out what cannot be measured.
pub(super) fn check_type(name: &str, of: FileType) -> Result<DriveKind, TargetError> {
    let what = if of.is_file() {
        return Ok(DriveKind::File);
    } else if of.is_block_device() {
        return Ok(DriveKind::BlockDevice);
    } else if of.is_dir() {
        return Err(TargetError::Directory { path: name.to_owned() });
    } else if of.is_char_device() {
        "a character device"
    } else if of.is_fifo() {
        "a pipe"
    } else if of.is_socket() {
        "a socket"
    } else {
        "this kind of file"
    };
    Err(TargetError::NotStorage { path: name.to_owned(), what })
}

/// Offset alignment for a file whose filesystem does not report it: its preferred block, which is the sector size on
/// filesystems that are strict about it, within a page. ZFS and NFS prefer far larger blocks for speed and accept less.
fn assumed_align(preferred: u32, page: u32) -> u32 {
    let block = preferred.clamp(SECTOR, page.max(FALLBACK));
    if block.is_power_of_two() { block } else { FALLBACK }
}

/// Alignment of memory and offsets in direct I/O by the kernel (`STATX_DIOALIGN`, Linux 6.1); `None` where it is not known,
/// or where the question itself is not known (before 4.11) or denied by a filter.
fn reported_align(file: &File) -> io::Result<Option<(u32, u32)>> {
    match statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
        Ok(told) => Ok((told.stx_mask & StatxFlags::DIOALIGN.bits() != 0)
            .then_some((told.stx_dio_mem_align, told.stx_dio_offset_align))),
        Err(Errno::NOSYS | Errno::PERM) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Geometry {
    /// Looks at an open file or block device.
    pub fn of(file: &File, name: &str, direct: bool) -> Result<Geometry, TargetError> {
        let metadata = file.metadata().map_err(TargetError::io(name, "look at"))?;
        let kind = check_type(name, metadata.file_type())?;
        if kind != DriveKind::BlockDevice && fstatfs(file).is_ok_and(|found| is_made_up(&found)) {
            return Err(TargetError::made_up(name));
        }
        let reported = reported_align(file).map_err(TargetError::io(name, "look at"))?;
        // Both zero is the kernel's way to say that this file does no direct I/O (statx(2)).
        if direct && reported == Some((0, 0)) {
            return Err(TargetError::NoDirectIo { path: name.to_owned() });
        }
        let reported = reported.filter(|&(memory, offset)| memory > 0 && offset > 0);
        let page = u32::try_from(rustix::param::page_size()).unwrap_or(FALLBACK);
        let geometry = match kind {
            DriveKind::BlockDevice => {
                let logical = ioctl_blksszget(file)
                    .map_err(TargetError::io(name, "read the logical block size of"))?;
                let physical = ioctl_blkpbszget(file)
                    .map_err(TargetError::io(name, "read the physical block size of"))?;
                // A device's size is where its end is; that is BLKGETSIZE64 without an ioctl.
                let end = seek(file, SeekFrom::End(0))
                    .map_err(TargetError::io(name, "find the end of"))?;
                let memory = reported.map_or(logical, |(memory, _)| memory);
                Geometry::new(kind, end, physical, memory, logical)
            }
            _ => {
                let preferred = u32::try_from(metadata.blksize()).unwrap_or(FALLBACK);
                let assumed = assumed_align(preferred, page);
                // Strict about memory are the same filesystems that are silent; they want a sector.
                let (memory, offset) = reported.unwrap_or((assumed, assumed));
                let offset = if direct { offset } else { 1 };
                Geometry::new(kind, metadata.len(), assumed, memory, offset)
            }
        };
        if geometry.capacity == Bytes::ZERO {
            let remedy = match kind {
                DriveKind::BlockDevice => "is there a medium in the drive?",
                _ => "write data to it first, or name its directory",
            };
            return Err(TargetError::Empty { path: name.to_owned(), remedy });
        }
        Ok(geometry)
    }

    fn new(kind: DriveKind, capacity: u64, physical: u32, memory: u32, offset: u32) -> Geometry {
        let alignment =
            Alignment { memory: Bytes(memory.into()), offset: Bytes(offset.max(1).into()) };
        let physical_block = Bytes(physical.max(offset).max(1).into());
        Geometry { kind, capacity: Bytes(capacity), physical_block, alignment }
    }

    /// The part of a drive's description that its descriptor gives; the caller adds the rest.
    pub fn info(&self, name: &str) -> DriveInfo {
        DriveInfo {
            name: name.to_owned(),
            kind: self.kind,
            model: None,
            serial: None,
            capacity_bytes: self.capacity,
            logical_block_bytes: self.alignment.offset,
            physical_block_bytes: self.physical_block,
            rotational: None,
            write_cache: None,
            cache_bytes: None,
            link_bytes_per_s: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Below 4096, Btrfs would silently read through the page cache; far above, a 4 KiB block would be
    // refused on ZFS and NFS.
    #[test]
    fn a_silent_filesystem_gets_its_sector_within_a_page() {
        assert_eq!(assumed_align(4096, 4096), 4096);
        assert_eq!(assumed_align(131_072, 4096), 4096);
        assert_eq!(assumed_align(16_384, 16_384), 16_384);
        assert_eq!(assumed_align(512, 4096), 512);
        assert_eq!(assumed_align(0, 4096), 512);
        assert_eq!(assumed_align(3000, 4096), 4096);
    }
}
