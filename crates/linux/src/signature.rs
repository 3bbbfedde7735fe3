//! Signatures of filesystems, volumes and partition tables on a device.
//!
//! A device without any is not proven empty; a device with one is certainly not to be overwritten
//! by mistake. So this errs towards finding: where the kernel would look further before believing a
//! magic number, a false alarm costs one more word of the user's.
//!
//! Offsets and magic numbers are facts of the formats, gathered from the kernel's headers and the
//! documentation of libblkid.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use block::Bytes;
use serde::Serialize;

mod image;
mod magics;
pub(crate) mod patient;
pub(crate) mod table;
mod usage;

use image::Image;
use magics::{At, MAGICS};
use patient::Patient;
pub use usage::Usage;

/// A signature that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Signature {
    /// Short name in lower case, as `--allow signature:<kind>` takes it.
    pub kind: &'static str,
    /// Kind of content that it marks.
    pub usage: Usage,
    /// Offset of its magic number.
    pub offset: Bytes,
}

/// Beginnings of kinds that are spoken with a vowel first, some of them letter by letter.
const VOWEL_SOUNDS: [&str; 12] =
    ["a", "e", "f2fs", "hfs", "hpfs", "i", "lvm", "mbr", "md", "ntfs", "o", "x"];

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.usage {
            Usage::Filesystem => "filesystem",
            Usage::Member => "member",
            Usage::Encrypted => "encrypted volume",
            Usage::Swap => "area",
            Usage::Table => "partition table",
        };
        let article =
            if VOWEL_SOUNDS.iter().any(|sound| self.kind.starts_with(sound)) { "an" } else { "a" };
        write!(f, "{article} {} {what}", self.kind)
    }
}

/// The kinds that are known, but partition tables: what `--allow signature:<kind>` may name.
pub fn kinds() -> BTreeSet<&'static str> {
    let of_table = MAGICS.iter().filter(|magic| magic.usage != Usage::Table);
    let by_code = ["ext2", "ext3", "ext4", "jbd", "zfs", "swap", "suspend"];
    of_table.map(|magic| magic.kind).chain(by_code).collect()
}

/// Signatures on an open file or device of `size`, and the places with bad blocks, where there may be more.
///
/// # Errors
/// When it cannot be read at all.
pub fn probe_file(file: &File, size: Bytes) -> io::Result<(Vec<Signature>, Option<String>)> {
    let mut read = |offset: u64, buffer: &mut [u8]| file.read_exact_at(buffer, offset);
    let mut patient = Patient::new(&mut read);
    let found = probe(size, &mut |offset, buffer| patient.read(offset, buffer))?;
    Ok((found, patient.unread()))
}

/// Signatures on something of `size` that `read` reads: it fills the whole buffer from an offset in
/// bytes, and is never asked beyond the end. At most 2 MiB are read, in fewer than 100 calls. Each
/// kind is reported once, at its first place.
///
/// # Errors
/// The first error of `read`.
pub fn probe(
    size: Bytes,
    read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<Vec<Signature>> {
    let mut image = Image::new(size.0, read)?;
    let mut found: BTreeMap<&'static str, Signature> = BTreeMap::new();
    let mut keep = |kind, usage, offset| {
        let signature = Signature { kind, usage, offset: Bytes(offset) };
        found.entry(kind).or_insert(signature);
    };
    for magic in MAGICS {
        let Some(offset) = magic.at.resolve(size.0) else { continue };
        if image.is(offset, magic.bytes)? && (magic.confirm)(&mut image, offset)? {
            keep(magic.kind, magic.usage, offset);
        }
    }
    if let Some((kind, offset)) = ext(&mut image)? {
        keep(kind, Usage::Filesystem, offset);
    }
    if let Some(offset) = zfs(&mut image)? {
        keep("zfs", Usage::Member, offset);
    }
    for (kind, offset) in swap(&mut image)? {
        keep(kind, Usage::Swap, offset);
    }
    // The boot sectors of these end with the same two bytes as a table, in which code may look like
    // entries.
    let is_boot_sector = ["vfat", "ntfs", "exfat", "refs", "bitlocker"]
        .iter()
        .any(|kind| found.get(kind).is_some_and(|signature| signature.offset.0 < 512));
    if !is_boot_sector && mbr(&mut image)? {
        let signature = Signature { kind: "mbr", usage: Usage::Table, offset: Bytes(510) };
        found.insert("mbr", signature);
    }
    Ok(found.into_values().collect())
}

impl At {
    fn resolve(&self, size: u64) -> Option<u64> {
        match *self {
            At::Start(offset) => Some(offset),
            At::End(back) => size.checked_sub(back),
            // Superblock 0.90 lies in the last whole 64 KiB but one.
            At::Md090 => (size & !0xFFFF).checked_sub(0x1_0000),
            // Superblock 1.0 lies 8 KiB before the end, rounded down to 4 KiB.
            At::Md10 => (size & !511).checked_sub(8 << 10).map(|offset| offset & !0xFFF),
        }
    }
}

/// The ext family shares a superblock; features distinguish its members (kernel: `fs/ext4/ext4.h`).
fn ext(image: &mut Image<'_>) -> io::Result<Option<(&'static str, u64)>> {
    const MAGIC_AT: u64 = 0x438;
    if !image.is(MAGIC_AT, &[0x53, 0xEF])? {
        return Ok(None);
    }
    let compatible = image.u32_le(0x45C)?;
    let incompatible = image.u32_le(0x460)?;
    let read_only = image.u32_le(0x464)?;
    const HAS_JOURNAL: u32 = 0x4;
    const JOURNAL_DEVICE: u32 = 0x8;
    // Features that ext3 supports: filetype, recovery, journal device, meta_bg; sparse_super, large_file,
    // btree directories.
    const EXT3_INCOMPATIBLE: u32 = 0x2 | 0x4 | 0x8 | 0x10;
    const EXT3_READ_ONLY: u32 = 0x1 | 0x2 | 0x4;
    let kind = if incompatible & JOURNAL_DEVICE != 0 {
        "jbd"
    } else if incompatible & !EXT3_INCOMPATIBLE != 0 || read_only & !EXT3_READ_ONLY != 0 {
        "ext4"
    } else if compatible & HAS_JOURNAL != 0 {
        "ext3"
    } else {
        "ext2"
    };
    Ok(Some((kind, MAGIC_AT)))
}

/// Four labels of 256 KiB, two at each end; the second half of a label is a ring of uberblocks, the
/// smallest of 1 KiB, each beginning with the same number in the byte order of its writer.
fn zfs(image: &mut Image<'_>) -> io::Result<Option<u64>> {
    const LABEL: u64 = 256 << 10;
    const RING: u64 = 128 << 10;
    const MAGIC: u64 = 0x00BA_B10C;
    let size = image.size & !(LABEL - 1);
    let labels = [Some(0), Some(LABEL), size.checked_sub(2 * LABEL), size.checked_sub(LABEL)];
    for label in labels.into_iter().flatten() {
        let Some(ring) = image.get(label + LABEL - RING, RING as usize)? else { continue };
        let blocks = ring.chunks_exact(1024);
        let at = blocks
            .map(|block| &block[..8])
            .position(|magic| magic == MAGIC.to_le_bytes() || magic == MAGIC.to_be_bytes());
        if let Some(at) = at {
            return Ok(Some(label + LABEL - RING + 1024 * at as u64));
        }
    }
    Ok(None)
}

/// The last ten bytes of the first page, of whatever size a page was where it was made.
fn swap(image: &mut Image<'_>) -> io::Result<Vec<(&'static str, u64)>> {
    const WORDS: [(&[u8], &str); 6] = [
        (b"SWAPSPACE2", "swap"),
        (b"SWAP-SPACE", "swap"),
        (b"S1SUSPEND", "suspend"),
        (b"S2SUSPEND", "suspend"),
        (b"ULSUSPEND", "suspend"),
        (b"LINHIB0001", "suspend"),
    ];
    let mut found = Vec::new();
    for page in [4_u64 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10] {
        for (word, kind) in WORDS {
            if image.is(page - 10, word)? {
                found.push((kind, page - 10));
            }
        }
    }
    Ok(found)
}

/// Boot sectors end with the same two bytes, whether there is a table or not. A table has at least
/// one entry in use, and no entry with a strange boot flag.
fn mbr(image: &mut Image<'_>) -> io::Result<bool> {
    if !image.is(510, &[0x55, 0xAA])? {
        return Ok(false);
    }
    let Some(table) = image.get(446, 64)? else { return Ok(false) };
    let is_sane = table.chunks_exact(16).all(|entry| entry[0] & 0x7F == 0);
    let in_use = |entry: &[u8]| entry[4] != 0 && entry[12..16] != [0; 4];
    Ok(is_sane && table.chunks_exact(16).any(in_use))
}

#[cfg(test)]
mod planted;
