//! The safety gate through the command line: what exists is only read, and written to only by who named
//! it and everything on it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use common::storage::{Loop, Mounted, has_means, tool};
use common::{Ran, assert_reached, mark, names, run, scratch_dir, tests, written_file};

const SIZE: u64 = 64 << 20;
const TESTS: &str = "--tests=SEQ1MQ1T1,RND4KQ8T1";

fn write(device: &Loop, consent: &str, more: &[&str]) -> Ran {
    let args = [&[TESTS, "--write", "--consent", consent], more].concat();
    mark(&device.path, &args)
}

/// Refused, and nothing changed.
#[track_caller]
fn refused(device: &Loop, before: &[u8], ran: Ran, why: &[&str]) {
    ran.fails(3, &[&["refused to write to", device.dev()], why].concat());
    assert!(fs::read(&device.image).unwrap() == before, "something was written");
}

fn ops(ran: &Ran) -> Vec<String> {
    tests(&ran.body()).iter().map(|t| t["op"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_device_and_a_file_are_only_read_unasked() {
    let dir = scratch_dir();
    let path = dir.path().join("precious");
    written_file(&path, SIZE);
    let before = fs::read(&path).unwrap();
    let ran = mark(&path, &[TESTS]).exits(0);
    assert_eq!(ops(&ran), ["read", "read"]);
    mark(&path, &[TESTS, "--mix=70"]).fails(3, &["precious", "--write --consent"]);
    mark(&path, &[TESTS, "--write-only"]).fails(3, &["precious", "--write --consent"]);
    mark(&path, &[TESTS, "--write"]).fails(3, &["precious", "--consent"]);
    assert!(fs::read(&path).unwrap() == before, "the file was written to");
    assert_eq!(names(dir.path()), ["precious"]);
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let before = fs::read(&device.image).unwrap();
    let ran = mark(&device.path, &[TESTS]).exits(0);
    assert_eq!(ops(&ran), ["read", "read"]);
    mark(&device.path, &[TESTS, "--mix=70"]).fails(3, &["--write --consent"]);
    assert!(fs::read(&device.image).unwrap() == before, "the device was written to");
}

#[test]
fn a_blank_device_is_written_to_by_who_names_it_and_only_inside_the_span() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let before = fs::read(&device.image).unwrap();
    let without = mark(&device.path, &[TESTS, "--write"]);
    refused(&device, &before, without, &["to consent", "--consent", device.name()]);
    let wrong = write(&device, "loop-of-someone-else", &[]);
    refused(&device, &before, wrong, &["loop-of-someone-else", device.name()]);
    let ran = write(&device, device.name(), &["--span=16MiB+32MiB"]).exits(0);
    assert_eq!(ops(&ran), ["read", "read", "write", "write"]);
    assert_reached(&ran.body());
    let after = fs::read(&device.image).unwrap();
    let (from, to) = (16 << 20, 48 << 20);
    assert!(after[..from] == before[..from], "written before the span");
    assert!(after[to..] == before[to..], "written behind the span");
    assert!(after[from..to] != before[from..to], "nothing was written at all");
    // The device is free as soon as the process has ended: the next run must not find it held.
    write(&device, device.name(), &["--span=16MiB+32MiB"]).exits(0);
}

#[test]
fn a_file_is_written_to_by_who_names_it() {
    let dir = scratch_dir();
    let path = dir.path().join("image");
    written_file(&path, SIZE);
    let before = fs::read(&path).unwrap();
    let args = [TESTS, "--write", "--consent"];
    mark(&path, &[&args[..], &["other"]].concat()).fails(3, &["\"other\"", "image"]);
    assert!(fs::read(&path).unwrap() == before);
    mark(&path, &[&args[..], &["image"]].concat()).exits(0);
    let after = fs::read(&path).unwrap();
    assert!(after.len() == before.len() && after != before);
}

#[test]
fn a_filesystem_has_to_be_named_and_a_mounted_one_is_final() {
    if !has_means(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    device.mkfs("ext4");
    let content = || fs::read(&device.image).unwrap();
    refused(&device, &content(), write(&device, device.name(), &[]), &["ext4", "--allow"]);
    let wrong = write(&device, device.name(), &["--allow=signature:xfs"]);
    refused(&device, &content(), wrong, &["signature:ext4"]);
    let no_consent = mark(&device.path, &[TESTS, "--write", "--allow=signature:ext4"]);
    refused(&device, &content(), no_consent, &["--consent"]);
    {
        let mounted = Mounted::new("ext4", device.dev(), "");
        tool("sync", &["-f", mounted.path().to_str().unwrap()]);
        for _ in 0..2 {
            let allow = ["--allow=signature:ext4,partitions"];
            let ran = write(&device, device.name(), &allow).fails(3, &["mounted", "no flag"]);
            let point = mounted.path().to_str().unwrap();
            assert!(ran.stderr.contains(point), "{}", ran.stderr);
        }
        // The loop's own file is somebody's disk, too.
        let image = device.image.to_str().unwrap();
        mark(image, &[TESTS, "--write", "--consent=image"]).fails(3, &[device.name(), image]);
        assert_eq!(names(mounted.path()), ["lost+found"]);
    }
    let before = content();
    let ran = write(&device, device.name(), &["--allow=signature:ext4"]);
    // Whether reads reach the disk below is not asked: ext4 had zeroed parts of the device, for which
    // the loop's file has unwritten extents.
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    assert_eq!(ops(&ran), ["read", "read", "write", "write"]);
    assert!(content() != before, "nothing was written");
}

/// An MBR with one Linux partition of 32 MiB at 1 MiB.
fn partition(path: &Path) {
    let mut table = [0u8; 66];
    table[4] = 0x83;
    table[8..12].copy_from_slice(&2048u32.to_le_bytes());
    table[12..16].copy_from_slice(&65536u32.to_le_bytes());
    table[64..].copy_from_slice(&[0x55, 0xAA]);
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(&table, 446).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn a_partitioned_device_has_to_be_named_as_such() {
    if !has_means(&["losetup"]) {
        return;
    }
    // With and without the kernel's knowing of the partitions.
    for flags in [&["--direct-io=on", "--partscan"][..], &["--direct-io=on"]] {
        let dir = scratch_dir();
        let image = dir.path().join("image");
        written_file(&image, SIZE);
        let zeros = vec![0; 1 << 20];
        File::options().write(true).open(&image).unwrap().write_all_at(&zeros, 0).unwrap();
        partition(&image);
        let device = Loop::on(dir, &image, flags);
        let before = fs::read(&device.image).unwrap();
        refused(&device, &before, write(&device, device.name(), &[]), &["partition", "--allow"]);
        write(&device, device.name(), &["--allow=partitions"]).exits(0);
        assert!(fs::read(&device.image).unwrap() != before);
    }
}

/// Swap that is taken out again when the test ends.
struct Swap<'a>(&'a Loop);

impl Drop for Swap<'_> {
    fn drop(&mut self) {
        let _ = Command::new("swapoff").arg(self.0.dev()).status();
    }
}

#[test]
fn swap_is_final() {
    if !has_means(&["losetup", "mkswap", "swapon"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    tool("mkswap", &[device.dev()]);
    let signed = write(&device, device.name(), &[]);
    refused(&device, &fs::read(&device.image).unwrap(), signed, &["swap"]);
    tool("swapon", &["--priority=0", device.dev()]);
    let _swap = Swap(&device);
    let allow = ["--allow=signature:swap,partitions"];
    write(&device, device.name(), &allow).fails(3, &["swap", "no flag"]);
}

/// Plots and lists are written to a file: over a drive, that would be without consent.
#[test]
fn no_result_is_written_over_a_drive() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let dir = scratch_dir();
    let drawing = dir.path().join("plot.svg");
    std::os::unix::fs::symlink(&device.path, &drawing).unwrap();
    let drawing = drawing.to_str().unwrap();
    let out = format!("--out={}", device.dev());
    let before = fs::read(&device.image).unwrap();
    let probe = ["probe", "scatter", "sim:usb-8m", "--order=4", "--no-record", "--no-progress"];
    let trace = dir.path().join("trace.csv");
    fs::write(&trace, "128166372003061629,h,0,Write,0,4096,1000\n").unwrap();
    let commands: [&[&str]; 4] = [
        &[&probe[..], &["--plot", drawing]].concat(),
        &[&probe[..], &["--data", device.dev()]].concat(),
        &["flashbench", "-s", "--scatter-order=8", &out, "sim:usb-8m"],
        &["trace", "analyze", trace.to_str().unwrap(), "--plot", drawing],
    ];
    for command in commands {
        println!("{command:?}");
        run(command).exits(3).says(&["error:", "is a block device"]);
        assert!(fs::read(&device.image).unwrap() == before, "the device was written to");
    }
}

/// A word that allows nothing must not look as if it did.
#[test]
fn what_cannot_be_allowed_is_said() {
    let dir = scratch_dir();
    let path = dir.path().join("image");
    written_file(&path, 4 << 20);
    for word in ["mounted", "swap", "signature:", "everything"] {
        let args = [TESTS, "--write", "--consent=image", "--allow", word];
        mark(&path, &args).fails(2, &[word, "cannot be allowed"]);
    }
    mark(&path, &[TESTS, "--consent=image"]).fails(2, &["--write"]);
}
