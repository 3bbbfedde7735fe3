//! Partition tables that the kernel has not read: what lies in their partitions has to be named all the same.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use common::{Loop, has_means, run};
use drivescope_linux::devices::{self, Use};
use drivescope_linux::gate::{self, GateError, Reason, Request};
use drivescope_linux::sysfs::Roots;

const SIZE: u64 = 64 << 20;
/// The first sector of the partition, and the one behind it.
const PARTITION: (u64, u64) = (2048, 2048 + 65536);

/// Writes this to the device behind the kernel's back: it reads the table only on request.
fn write(device: &Loop, at: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(&device.path).unwrap();
    file.write_all_at(bytes, at).unwrap();
    file.sync_all().unwrap();
}

fn mbr(device: &Loop) {
    let mut table = [0_u8; 66];
    table[4] = 0x83;
    table[8..12].copy_from_slice(&(PARTITION.0 as u32).to_le_bytes());
    table[12..16].copy_from_slice(&((PARTITION.1 - PARTITION.0) as u32).to_le_bytes());
    table[64..].copy_from_slice(&[0x55, 0xAA]);
    write(device, 446, &table);
}

fn gpt(device: &Loop, entries: u32) {
    let mut header = [0_u8; 92];
    header[..8].copy_from_slice(b"EFI PART");
    header[72..80].copy_from_slice(&2_u64.to_le_bytes());
    header[80..84].copy_from_slice(&entries.to_le_bytes());
    header[84..88].copy_from_slice(&128_u32.to_le_bytes());
    write(device, 512, &header);
    let mut entry = [0_u8; 48];
    entry[..16].fill(0xAB);
    entry[32..40].copy_from_slice(&PARTITION.0.to_le_bytes());
    entry[40..].copy_from_slice(&(PARTITION.1 - 1).to_le_bytes());
    write(device, 1024, &entry);
}

/// Hazards that still have to be allowed.
fn missing(device: &Loop, allow: &[&str]) -> Vec<String> {
    let request = Request {
        consent: Some(device.name().to_owned()),
        allow: allow.iter().map(|word| word.parse().unwrap()).collect(),
        ..Request::default()
    };
    let before = fs::read(&device.image).unwrap();
    let reasons = match gate::check(&Roots::default(), &device.path, &request) {
        Ok(_) => Vec::new(),
        Err(GateError::Refused(refusal)) => refusal.reasons,
        Err(error) => panic!("{error}"),
    };
    assert!(fs::read(&device.image).unwrap() == before);
    let hazard = |reason: &Reason| match reason {
        Reason::NotAllowed { hazard, .. } => hazard.to_string(),
        other => panic!("{other}"),
    };
    let mut hazards: Vec<String> = reasons.iter().map(hazard).collect();
    hazards.sort();
    hazards
}

/// As on a disk that was partitioned a moment ago, or on whose device no partitions are made: its filesystems would be lost to
/// who allowed a table alone.
#[test]
fn filesystems_in_partitions_that_the_kernel_does_not_show_have_to_be_named() {
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let tables: [fn(&Loop); 2] = [mbr, |device| gpt(device, 128)];
    for table in tables {
        let device = Loop::new(SIZE, true);
        table(&device);
        assert_eq!(missing(&device, &[]), ["partitions"]);
        assert!(missing(&device, &["partitions"]).is_empty());
        let offset = format!("offset={}", PARTITION.0 * 512);
        run("mkfs.ext4", &["-q", "-F", "-E", &offset, device.dev(), "32768k"]);
        table(&device);
        assert_eq!(missing(&device, &[]), ["partitions", "signature:ext4"]);
        assert_eq!(missing(&device, &["partitions"]), ["signature:ext4"]);
        assert_eq!(missing(&device, &["partitions", "signature:xfs"]), ["signature:ext4"]);
        assert!(missing(&device, &["partitions", "signature:ext4"]).is_empty());

        let listed = devices::list(&Roots::default());
        let listed = listed.iter().find(|listed| listed.path == device.path).unwrap();
        let inside = format!("{}, partition 1 of its table", device.name());
        let is_inside = |found: &Use| {
            matches!(found, Use::Signed { device, signature }
                if *device == inside && signature.kind == "ext4")
        };
        assert!(listed.why_not.iter().any(is_inside), "{:?}", listed.why_not);
    }
}

#[test]
fn a_table_that_cannot_be_read_in_full_has_to_be_allowed_by_name() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    gpt(&device, 5000);
    assert_eq!(missing(&device, &[]), ["partitions", "unknown:content"]);
    assert_eq!(missing(&device, &["partitions", "unknown:users"]), ["unknown:content"]);
    assert!(missing(&device, &["partitions", "unknown:content"]).is_empty());
}
