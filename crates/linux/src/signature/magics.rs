//! The table of magic numbers.

use std::io;

use super::image::Image;
use super::usage::Usage;

/// Position of a magic number.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// From the beginning, in bytes.
    Start(u64),
    /// Before the end, in bytes.
    End(u64),
    /// Offset of an md superblock of version 0.90.
    Md090,
    /// Offset of an md superblock of version 1.0.
    Md10,
}

/// One magic number, and what else has to hold.
pub(super) struct Magic {
    pub kind: &'static str,
    pub usage: Usage,
    pub at: At,
    pub bytes: &'static [u8],
    pub confirm: fn(&mut Image<'_>, u64) -> io::Result<bool>,
}

fn always(_: &mut Image<'_>, _: u64) -> io::Result<bool> {
    Ok(true)
}

/// Two bytes are a weak word; a classic HFS or HFS+ header also has its version or its sizes.
fn hfs_plus(image: &mut Image<'_>, offset: u64) -> io::Result<bool> {
    let version = image.get(offset + 2, 2)?.unwrap_or_default();
    Ok(version == [0, 4] || version == [0, 5])
}

/// The allocation block size of classic HFS is a multiple of 512 and not zero.
fn hfs(image: &mut Image<'_>, offset: u64) -> io::Result<bool> {
    let size = image.get(offset + 20, 4)?.unwrap_or_default();
    let size = size.try_into().map_or(0, u32::from_be_bytes);
    Ok(size != 0 && size % 512 == 0)
}

/// Revision 2 is the only one that was ever on disks.
fn nilfs2(image: &mut Image<'_>, offset: u64) -> io::Result<bool> {
    Ok(image.u32_le(offset - 6)? == 2)
}

/// A minix superblock counts its inodes and zones; ext has a block count where minix has its magic,
/// but then also its own magic.
fn minix(image: &mut Image<'_>, offset: u64) -> io::Result<bool> {
    let is_ext = image.is(0x438, &[0x53, 0xEF])?;
    let inodes = image.get(offset - 0x10, 2)?.unwrap_or_default();
    Ok(!is_ext && inodes != [0, 0])
}

/// The third version keeps its magic eight bytes later and counts inodes in four bytes.
fn minix3(image: &mut Image<'_>, offset: u64) -> io::Result<bool> {
    let is_ext = image.is(0x438, &[0x53, 0xEF])?;
    Ok(!is_ext && image.u32_le(offset - 0x18)? != 0)
}

/// The label's type is LVM2's.
fn lvm2(image: &mut Image<'_>, offset: u64) -> io::Result<bool> {
    image.is(offset + 24, b"LVM2 001")
}

/// A FAT boot sector ends like every boot sector.
fn boot_sector(image: &mut Image<'_>, _: u64) -> io::Result<bool> {
    image.is(510, &[0x55, 0xAA])
}

const fn magic(kind: &'static str, usage: Usage, at: At, bytes: &'static [u8]) -> Magic {
    Magic { kind, usage, at, bytes, confirm: always }
}

const fn filesystem(kind: &'static str, offset: u64, bytes: &'static [u8]) -> Magic {
    magic(kind, Usage::Filesystem, At::Start(offset), bytes)
}

const fn member(kind: &'static str, at: At, bytes: &'static [u8]) -> Magic {
    magic(kind, Usage::Member, at, bytes)
}

const fn encrypted(kind: &'static str, offset: u64, bytes: &'static [u8]) -> Magic {
    magic(kind, Usage::Encrypted, At::Start(offset), bytes)
}

const fn table(kind: &'static str, at: At, bytes: &'static [u8]) -> Magic {
    magic(kind, Usage::Table, at, bytes)
}

impl Magic {
    const fn if_also(mut self, confirm: fn(&mut Image<'_>, u64) -> io::Result<bool>) -> Magic {
        self.confirm = confirm;
        self
    }
}

const MD_LE: &[u8] = &[0xFC, 0x4E, 0x2B, 0xA9];
const MD_BE: &[u8] = &[0xA9, 0x2B, 0x4E, 0xFC];
const LUKS_SECOND: &[u8] = b"SKUL\xBA\xBE";
const BCACHE: &[u8] = &[
    0xC6, 0x85, 0x73, 0xF6, 0x4E, 0x1A, 0x45, 0xCA, 0x82, 0x65, 0xF5, 0x7F, 0x48, 0xBA, 0x6D, 0x81,
];
const BCACHEFS: &[u8] = &[
    0xC6, 0x85, 0x73, 0xF6, 0x66, 0xCE, 0x90, 0xA9, 0xD9, 0x6A, 0x60, 0xCF, 0x80, 0x3D, 0xF7, 0xEF,
];

pub(super) const MAGICS: &[Magic] = &[
    // Linux filesystems. Code distinguishes those of the ext family, see `super::ext`.
    filesystem("xfs", 0, b"XFSB"),
    filesystem("btrfs", 0x1_0040, b"_BHRfS_M"),
    filesystem("bcachefs", 0x1018, BCACHEFS),
    filesystem("f2fs", 0x400, &[0x10, 0x20, 0xF5, 0xF2]),
    filesystem("erofs", 0x400, &[0xE2, 0xE1, 0xF5, 0xE0]),
    filesystem("squashfs", 0, b"hsqs"),
    filesystem("squashfs", 0, b"sqsh"),
    filesystem("cramfs", 0, &[0x45, 0x3D, 0xCD, 0x28]),
    filesystem("cramfs", 0, &[0x28, 0xCD, 0x3D, 0x45]),
    filesystem("romfs", 0, b"-rom1fs-"),
    filesystem("zonefs", 0, b"SFOZ"),
    filesystem("ubi", 0, b"UBI#"),
    filesystem("reiserfs", 0x1_0034, b"ReIsErFs"),
    filesystem("reiserfs", 0x1_0034, b"ReIsEr2Fs"),
    filesystem("reiserfs", 0x1_0034, b"ReIsEr3Fs"),
    filesystem("reiserfs", 0x2034, b"ReIsErFs"),
    filesystem("reiser4", 0x1_0000, b"ReIsEr4"),
    filesystem("jfs", 0x8000, b"JFS1"),
    filesystem("nilfs2", 0x406, &[0x34, 0x34]).if_also(nilfs2),
    filesystem("minix", 0x410, &[0x7F, 0x13]).if_also(minix),
    filesystem("minix", 0x410, &[0x8F, 0x13]).if_also(minix),
    filesystem("minix", 0x410, &[0x68, 0x24]).if_also(minix),
    filesystem("minix", 0x410, &[0x78, 0x24]).if_also(minix),
    filesystem("minix", 0x418, &[0x5A, 0x4D]).if_also(minix3),
    filesystem("bfs", 0, &[0xCE, 0xFA, 0xAD, 0x1B]),
    // Cluster filesystems.
    filesystem("ocfs2", 0x400, b"OCFSV2"),
    filesystem("ocfs2", 0x800, b"OCFSV2"),
    filesystem("ocfs2", 0x1000, b"OCFSV2"),
    filesystem("ocfs2", 0x2000, b"OCFSV2"),
    filesystem("gfs2", 0x1_0000, &[0x01, 0x16, 0x19, 0x70]),
    filesystem("vmfs", 0x20_0000, &[0x5E, 0xF1, 0xAB, 0x2F]),
    member("vmfs_volume", At::Start(0x10_0000), &[0x0D, 0xD0, 0x01, 0xC0]),
    // Filesystems of other systems.
    filesystem("vfat", 0x36, b"FAT12   ").if_also(boot_sector),
    filesystem("vfat", 0x36, b"FAT16   ").if_also(boot_sector),
    filesystem("vfat", 0x36, b"FAT     ").if_also(boot_sector),
    filesystem("vfat", 0x52, b"FAT32   ").if_also(boot_sector),
    filesystem("exfat", 3, b"EXFAT   "),
    filesystem("ntfs", 3, b"NTFS    "),
    filesystem("refs", 3, b"ReFS\0\0\0\0"),
    filesystem("apfs", 32, b"NXSB"),
    filesystem("hfsplus", 0x400, b"H+").if_also(hfs_plus),
    filesystem("hfsplus", 0x400, b"HX").if_also(hfs_plus),
    filesystem("hfs", 0x400, b"BD").if_also(hfs),
    filesystem("ufs", 0x255C, &[0x54, 0x19, 0x01, 0x00]),
    filesystem("ufs", 0x1_055C, &[0x19, 0x01, 0x54, 0x19]),
    filesystem("iso9660", 0x8001, b"CD001"),
    filesystem("udf", 0x8001, b"BEA01"),
    filesystem("udf", 0x8001, b"NSR02"),
    filesystem("udf", 0x8001, b"NSR03"),
    // Members. The label of LVM lies in one of the first four sectors.
    member("lvm2", At::Start(0), b"LABELONE").if_also(lvm2),
    member("lvm2", At::Start(512), b"LABELONE").if_also(lvm2),
    member("lvm2", At::Start(1024), b"LABELONE").if_also(lvm2),
    member("lvm2", At::Start(1536), b"LABELONE").if_also(lvm2),
    member("md", At::Start(0), MD_LE),
    member("md", At::Start(4096), MD_LE),
    member("md", At::Md10, MD_LE),
    member("md", At::Md090, MD_LE),
    member("md", At::Md090, MD_BE),
    member("ddf", At::End(512), &[0xDE, 0x11, 0xDE, 0x11]),
    member("ddf", At::End(512), &[0x11, 0xDE, 0x11, 0xDE]),
    member("imsm", At::End(1024), b"Intel Raid ISM Cfg Sig. "),
    member("imsm", At::End(8192), b"Intel Raid ISM Cfg Sig. "),
    member("bcache", At::Start(0x1018), BCACHE),
    member("drbd", At::End(4096 - 60), &[0x83, 0x74, 0x02, 0x6B]),
    member("drbd", At::End(4096 - 60), &[0x83, 0x74, 0x02, 0x6C]),
    member("drbd", At::End(4096 - 60), &[0x83, 0x74, 0x02, 0x6D]),
    member("stratis", At::Start(512 + 4), b"!Stra0tis\x86\xFF\x02^\x41rh"),
    member("stratis", At::Start(9 * 512 + 4), b"!Stra0tis\x86\xFF\x02^\x41rh"),
    member("vdo", At::Start(0), b"dmvdo001"),
    member("bluestore", At::Start(0), b"bluestore block device"),
    // Encryption and integrity. The second header of LUKS2 survives a wiped first one.
    encrypted("luks", 0, b"LUKS\xBA\xBE"),
    encrypted("luks", 0x4000, LUKS_SECOND),
    encrypted("luks", 0x8000, LUKS_SECOND),
    encrypted("luks", 0x1_0000, LUKS_SECOND),
    encrypted("luks", 0x2_0000, LUKS_SECOND),
    encrypted("luks", 0x4_0000, LUKS_SECOND),
    encrypted("luks", 0x8_0000, LUKS_SECOND),
    encrypted("luks", 0x10_0000, LUKS_SECOND),
    encrypted("luks", 0x20_0000, LUKS_SECOND),
    encrypted("luks", 0x40_0000, LUKS_SECOND),
    encrypted("bitlocker", 3, b"-FVE-FS-"),
    encrypted("integrity", 0, b"integrt\0"),
    encrypted("verity", 0, b"verity\0\0"),
    // Partition tables; code recognises the classic one, see `super::mbr`. GPT lies in the second
    // and in the last logical block, of 512 or of 4096 bytes.
    table("gpt", At::Start(512), b"EFI PART"),
    table("gpt", At::Start(4096), b"EFI PART"),
    table("gpt", At::End(512), b"EFI PART"),
    table("gpt", At::End(4096), b"EFI PART"),
    table("apple", At::Start(512), b"PM\0\0"),
    table("bsd", At::Start(0), &[0x57, 0x45, 0x56, 0x82]),
    table("bsd", At::Start(64), &[0x57, 0x45, 0x56, 0x82]),
    table("bsd", At::Start(512), &[0x57, 0x45, 0x56, 0x82]),
    table("dasd", At::Start(4), &[0xE5, 0xD6, 0xD3, 0xF1]),
];
