//! Every signature at its place, and what the real mkfs tools write.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use block::Bytes;
use common::{run, skip};
use drivescope_linux::signature::{Signature, Usage, probe, probe_file};

const SIZE: usize = 8 << 20;

/// Bytes at a place.
type Part<'a> = (usize, &'a [u8]);

fn kinds(image: &[u8]) -> Vec<&'static str> {
    let size = Bytes(image.len() as u64);
    let found = probe(size, &mut |offset, buffer| {
        let at = offset as usize;
        buffer.copy_from_slice(&image[at..at + buffer.len()]);
        Ok(())
    });
    found.unwrap().into_iter().map(|signature| signature.kind).collect()
}

/// An empty image with these bytes at these places.
fn with(parts: &[Part]) -> Vec<u8> {
    let mut image = vec![0; SIZE];
    for (at, bytes) in parts {
        image[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    image
}

/// A missed signature means an overwritten filesystem. Offsets are repeated here, by hand, from the
/// formats' own descriptions, so that a slip in the table does not test itself.
#[test]
fn each_signature_is_found_where_its_format_puts_it() {
    let luks2_second: &[u8] = b"SKUL\xba\xbe";
    let md: &[u8] = &0xa92b_4efc_u32.to_le_bytes();
    let zfs: &[u8] = &0x00ba_b10c_u64.to_le_bytes();
    let zfs_foreign: &[u8] = &0x00ba_b10c_u64.to_be_bytes();
    let bcache = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
    let cases: &[(&str, &[Part])] = &[
        ("ext2", &[(1024 + 56, b"\x53\xef")]),
        ("ext3", &[(1024 + 56, b"\x53\xef"), (1024 + 92, b"\x04")]),
        ("ext4", &[(1024 + 56, b"\x53\xef"), (1024 + 96, b"\x40")]),
        ("jbd", &[(1024 + 56, b"\x53\xef"), (1024 + 96, b"\x08")]),
        ("xfs", &[(0, b"XFSB")]),
        ("btrfs", &[(65536 + 64, b"_BHRfS_M")]),
        ("f2fs", &[(1024, &0xf2f5_2010_u32.to_le_bytes())]),
        ("erofs", &[(1024, &0xe0f5_e1e2_u32.to_le_bytes())]),
        ("squashfs", &[(0, b"hsqs")]),
        ("jfs", &[(32768, b"JFS1")]),
        ("reiserfs", &[(65536 + 52, b"ReIsEr2Fs")]),
        ("vfat", &[(54, b"FAT16   "), (510, b"\x55\xaa")]),
        ("vfat", &[(82, b"FAT32   "), (510, b"\x55\xaa")]),
        ("ntfs", &[(3, b"NTFS    "), (510, b"\x55\xaa")]),
        ("exfat", &[(3, b"EXFAT   "), (510, b"\x55\xaa")]),
        ("bitlocker", &[(3, b"-FVE-FS-")]),
        ("apfs", &[(32, b"NXSB")]),
        ("hfsplus", &[(1024, b"H+\x00\x04")]),
        ("iso9660", &[(16 * 2048 + 1, b"CD001")]),
        ("udf", &[(16 * 2048 + 1, b"BEA01")]),
        ("luks", &[(0, b"LUKS\xba\xbe")]),
        ("luks", &[(0x4000, luks2_second)]),
        ("luks", &[(0x40_0000, luks2_second)]),
        ("lvm2", &[(512, b"LABELONE"), (512 + 24, b"LVM2 001")]),
        ("lvm2", &[(3 * 512, b"LABELONE"), (3 * 512 + 24, b"LVM2 001")]),
        ("md", &[(0, md)]),
        ("md", &[(4096, md)]),
        ("md", &[(SIZE - 8192, md)]),
        ("md", &[(SIZE - 65536, md)]),
        ("zfs", &[(128 << 10, zfs)]),
        ("zfs", &[((128 << 10) + 77 * 1024, zfs_foreign)]),
        ("zfs", &[(SIZE - (512 << 10) + (128 << 10), zfs)]),
        ("zfs", &[(SIZE - 1024, zfs)]),
        ("bcache", &[(4096 + 24, bcache)]),
        ("swap", &[(4096 - 10, b"SWAPSPACE2")]),
        ("swap", &[(65536 - 10, b"SWAPSPACE2")]),
        ("suspend", &[(4096 - 10, b"S1SUSPEND\0")]),
        ("gpt", &[(512, b"EFI PART")]),
        ("gpt", &[(4096, b"EFI PART")]),
        ("gpt", &[(SIZE - 512, b"EFI PART")]),
        ("mbr", &[(446 + 16 + 4, b"\x83"), (446 + 16 + 12, b"\x00\x10"), (510, b"\x55\xaa")]),
        ("drbd", &[(SIZE - 4096 + 60, b"\x83\x74\x02\x6d")]),
        ("imsm", &[(SIZE - 1024, b"Intel Raid ISM Cfg Sig. 1.3")]),
        ("ddf", &[(SIZE - 512, b"\xde\x11\xde\x11")]),
        ("stratis", &[(516, b"!Stra0tis\x86\xff\x02^Arh")]),
        ("vdo", &[(0, b"dmvdo001")]),
        ("bluestore", &[(0, b"bluestore block device\n")]),
        ("ocfs2", &[(8192, b"OCFSV2")]),
        ("gfs2", &[(65536, &0x0116_1970_u32.to_be_bytes())]),
        ("vmfs", &[(2 << 20, &0x2fab_f15e_u32.to_le_bytes())]),
        ("nilfs2", &[(1024, b"\x02\0\0\0"), (1024 + 6, &0x3434_u16.to_le_bytes())]),
        ("ufs", &[(65536 + 1372, &0x1954_0119_u32.to_le_bytes())]),
    ];
    for (kind, parts) in cases {
        assert_eq!(kinds(&with(parts)), [*kind], "{kind} at {}", parts[0].0);
    }
}

/// A false alarm on random data would ask for a word that means nothing; on zeros, for every drive.
#[test]
fn nothing_is_found_in_zeros_and_in_noise() {
    assert!(kinds(&vec![0; SIZE]).is_empty());
    for seed in 1..=50_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .take((1 << 20) / 8)
        .flatten()
        .collect();
        assert_eq!(kinds(&noise), Vec::<&str>::new(), "seed {seed}");
    }
}

/// The end of a boot sector alone is not a partition table, nor is it within a FAT volume.
#[test]
fn a_boot_sector_is_not_a_table() {
    assert!(kinds(&with(&[(510, b"\x55\xaa")])).is_empty());
    let code_like_entries: &[u8] =
        b"\x80\x01\x01\x00\x83\x00\x00\x00\x00\x08\x00\x00\x00\x10\x00\x00";
    let fat =
        with(&[(3, b"mkfs.fat"), (82, b"FAT32   "), (446, code_like_entries), (510, b"\x55\xaa")]);
    assert_eq!(kinds(&fat), ["vfat"]);
    let wild = with(&[(446, b"\x17\x01\x01\x00\x83"), (458, b"\x01\0\0\0"), (510, b"\x55\xaa")]);
    assert!(kinds(&wild).is_empty(), "0x17 is no boot flag");
}

/// Two systems on one disk (a stale RAID superblock under a filesystem) must both be named.
#[test]
fn several_signatures_are_all_told() {
    let md = 0xa92b_4efc_u32.to_le_bytes();
    let image = with(&[(0, b"XFSB"), (4096, &md), (512, b"EFI PART")]);
    assert_eq!(kinds(&image), ["gpt", "md", "xfs"]);
}

/// Offsets beyond the end, and lengths of zero, are not a reason to fail.
#[test]
fn small_devices_are_probed_without_reading_beyond_their_end() {
    for size in [0, 1, 511, 512, 513, 4096, 65_536, 131_071, 262_144, 1_048_577] {
        let found = probe(Bytes(size), &mut |offset, buffer| {
            assert!(offset + buffer.len() as u64 <= size, "{offset} + {} of {size}", buffer.len());
            buffer.fill(0);
            Ok(())
        });
        assert!(found.unwrap().is_empty());
    }
}

/// A region that cannot be read may hide a signature: the caller must know.
#[test]
fn a_read_error_is_an_error_and_reads_are_bounded() {
    let (mut calls, mut bytes) = (0, 0);
    probe(Bytes(1 << 40), &mut |_, buffer| {
        calls += 1;
        bytes += buffer.len();
        buffer.fill(0);
        Ok(())
    })
    .unwrap();
    assert!(calls < 100 && bytes < 2 << 20, "{calls} calls, {bytes} bytes");
    let failed = probe(Bytes(1 << 30), &mut |_, _| Err(io::Error::from_raw_os_error(5)));
    assert_eq!(failed.unwrap_err().raw_os_error(), Some(5));
}

/// The text shown to the user names the kind as `--allow` takes it.
#[test]
fn a_signature_reads_well() {
    let text =
        |kind| Signature { kind, usage: Usage::Filesystem, offset: Bytes(0x438) }.to_string();
    assert_eq!(text("ext4"), "an ext4 filesystem");
    // Some kinds are read letter by letter.
    for (kind, wanted) in [("f2fs", "an f2fs"), ("ntfs", "an ntfs"), ("xfs", "an xfs")] {
        assert_eq!(text(kind), format!("{wanted} filesystem"));
    }
    for (kind, wanted) in [("ufs", "a ufs"), ("udf", "a udf"), ("minix", "a minix")] {
        assert_eq!(text(kind), format!("{wanted} filesystem"));
    }
}

/// The formats as they are really written today.
#[test]
fn what_mkfs_tools_write_is_found() {
    let tools: [(&str, &[&str], &str); 12] = [
        ("mkfs.ext4", &["-q", "-F"], "ext4"),
        ("mkfs.ext3", &["-q", "-F"], "ext3"),
        ("mkfs.ext2", &["-q", "-F"], "ext2"),
        ("mkfs.xfs", &["-q", "-f"], "xfs"),
        ("mkfs.btrfs", &["-q", "-f"], "btrfs"),
        ("mkswap", &[], "swap"),
        ("mkfs.minix", &[], "minix"),
        ("mkfs.bfs", &[], "bfs"),
        ("mkfs.vfat", &[], "vfat"),
        ("mkfs.exfat", &[], "exfat"),
        ("mkfs.f2fs", &["-q"], "f2fs"),
        ("mkfs.ntfs", &["-Q", "-F", "-q"], "ntfs"),
    ];
    let dirs = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    for (tool, args, kind) in tools {
        if !dirs.split(':').any(|dir| std::path::Path::new(dir).join(tool).exists()) {
            skip(&format!("needs {tool}"));
            continue;
        }
        // mkfs.bfs and mkfs.minix take no larger disks, mkfs.xfs no smaller ones.
        let size = if matches!(tool, "mkfs.bfs" | "mkfs.minix") { 16 << 20 } else { 512 << 20 };
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.as_file().set_len(size).unwrap();
        run(tool, &[args, &[file.path().to_str().unwrap()]].concat());
        let (found, unread) = probe_file(&File::open(file.path()).unwrap(), Bytes(size)).unwrap();
        let found: Vec<&str> = found.iter().map(|signature| signature.kind).collect();
        assert_eq!((found, unread), (vec![kind], None), "{tool}");
        // A filesystem made over what another left may leave traces; wiping its magic must not.
        file.as_file().write_all_at(&[0; 128 << 10], 0).unwrap();
        let (found, _) = probe_file(file.as_file(), Bytes(size)).unwrap();
        assert!(found.iter().all(|signature| signature.kind != kind), "{tool} after wiping");
    }
}
