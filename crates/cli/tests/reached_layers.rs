//! *Reached*, where a layer between the target and the disk may answer by itself: images with holes, and page caches below.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use common::storage::{Loop, Mounted, filesystem_is_known, has_means, has_tools, skip, tool};
use common::{
    Alive, assert_not_reached, assert_reached, mark, scratch_dir, tests, verdict, written_file,
};
use tempfile::TempDir;

const IMAGE: u64 = 128 << 20;
const RANDOM: [&str; 3] = ["--span=all", "--read-only", "--tests=RND4KQ1T1"];

/// Another program that uses the same disk as fast as it can.
struct Other {
    _uses: Alive,
    _dir: TempDir,
}

const READS: &str = "while dd if=\"$0\" of=/dev/null bs=1M iflag=direct 2>/dev/null; do :; done";
const WRITES: &str = "while dd if=\"$0\" of=\"$0\" bs=1M iflag=direct oflag=direct conv=notrunc 2>/dev/null; do :; done";

fn other(again: &str) -> Other {
    let dir = scratch_dir();
    let file = dir.path().join("other");
    written_file(&file, 64 << 20);
    let mut command = Command::new("sh");
    command.args(["-c", again]).arg(&file).stdin(Stdio::null());
    Other { _uses: Alive::start(&mut command), _dir: dir }
}

/// An image of which `make` writes something, or nothing.
fn image(make: impl FnOnce(&Path)) -> Loop {
    let dir = scratch_dir();
    let path = dir.path().join("image");
    File::create(&path).unwrap().set_len(IMAGE).unwrap();
    make(&path);
    Loop::on(dir, &path, &["--direct-io=on"])
}

/// True when the kernel's block events at the disk were recorded, which takes tracefs.
fn has_events(test: &serde_json::Value) -> bool {
    let evidence = &test["proofs"]["reached"]["evidence"];
    let has = |kind: &str| !evidence[format!("events_{kind}_ratio")].is_null();
    let there = Path::new("/sys/kernel/tracing/instances").is_dir();
    assert_eq!(has("read") || has("write"), there, "{test}");
    there
}

fn preallocate(path: &Path) {
    tool("fallocate", &["-l", &IMAGE.to_string(), path.to_str().unwrap()]);
}

/// If it failed, zeros that a filesystem made up would pass for reads of a disk, as soon as anybody else reads that disk.
#[test]
fn an_image_that_was_never_written_is_not_reached_whoever_reads_the_disk_meanwhile() {
    if !has_means(&["losetup", "fallocate"]) {
        return;
    }
    let _reader = other(READS);
    for make in [|_: &Path| {}, preallocate] {
        let device = image(make);
        assert_not_reached(mark(&device.path, &RANDOM), "never written");
    }
    let punched = image(|path| {
        written_file(path, IMAGE);
        let half = (IMAGE / 2).to_string();
        tool("fallocate", &["-p", "-o", "0", "-l", &half, path.to_str().unwrap()]);
    });
    let body = mark(&punched.path, &RANDOM).body();
    for test in tests(&body) {
        assert_ne!(verdict(test, "reached"), "proven", "half of it is a hole: {test}");
        let evidence = &test["proofs"]["reached"]["evidence"];
        assert_eq!(evidence["below_lacking_bytes"], IMAGE / 2, "{test}");
    }
    let stored = &body["stack"]["layers"][1]["stored"];
    assert_eq!(
        (&stored["is_mapped"], &stored["extents"]["hole_bytes"]),
        (&true.into(), &(IMAGE / 2).into())
    );
}

/// If it failed, only the first of two images would be looked at, or the wrong part of the second.
#[test]
fn an_image_in_a_filesystem_on_an_image_is_followed_to_the_disk() {
    if !has_means(&["losetup", "fallocate", "mkfs.xfs"]) {
        return;
    }
    if !filesystem_is_known("xfs") {
        return skip("the kernel has no xfs");
    }
    let dir = scratch_dir();
    let outer_image = dir.path().join("outer");
    File::create(&outer_image).unwrap().set_len(512 << 20).unwrap();
    let outer = Loop::on(dir, &outer_image, &["--direct-io=on"]);
    outer.mkfs("xfs");
    let mounted = Mounted::new("xfs", outer.dev(), "");
    // Data written by this run is in the image, however sparse the rest of it is.
    let read = ["--size=32MiB", "--read-only", "--tests=SEQ1MQ1T1"];
    assert_reached(&mark(mounted.path(), &read).exits(0).body());
    let inner_image = mounted.path().join("inner");
    preallocate(&inner_image);
    let attach = || {
        let path =
            tool("losetup", &["-f", "--show", "--direct-io=on", inner_image.to_str().unwrap()]);
        Loop::attached(path, &inner_image)
    };
    {
        let _reader = other(READS);
        let inner = attach();
        assert_not_reached(mark(&inner.path, &RANDOM), "never written");
    }
    written_file(&inner_image, IMAGE);
    let inner = attach();
    let body = mark(&inner.path, &RANDOM).exits(0).body();
    assert_reached(&body);
    let layers = body["stack"]["layers"].as_array().unwrap();
    let stored: Vec<_> = layers.iter().filter_map(|layer| layer.get("stored")).collect();
    assert_eq!(stored.len(), 2, "{layers:?}");
    for stored in stored {
        assert_eq!(stored["extents"]["written_bytes"], IMAGE, "the measured part alone: {stored}");
    }
}

/// If it failed, addresses that are Btrfs's own would be taken for places in its image, or nothing on it be proven.
#[test]
fn btrfs_on_a_sparse_image_is_reached_by_what_this_run_wrote() {
    if !has_means(&["losetup", "mkfs.btrfs"]) {
        return;
    }
    if !filesystem_is_known("btrfs") {
        return skip("the kernel has no btrfs");
    }
    let dir = scratch_dir();
    let path = dir.path().join("image");
    File::create(&path).unwrap().set_len(512 << 20).unwrap();
    let device = Loop::on(dir, &path, &["--direct-io=on"]);
    device.mkfs("btrfs");
    let mounted = Mounted::new("btrfs", device.dev(), "");
    let read = ["--size=32MiB", "--read-only", "--tests=SEQ1MQ1T1"];
    assert_reached(&mark(mounted.path(), &read).exits(0).body());
    let file = mounted.path().join("file");
    written_file(&file, 32 << 20);
    for test in tests(&mark(&file, &read[1..]).body()) {
        let reason = test["proofs"]["reached"]["reason"].as_str().unwrap();
        if has_events(test) {
            assert_eq!(verdict(test, "reached"), "proven", "{test}");
            assert!(reason.contains("block events"), "{reason}");
        } else {
            assert_eq!(verdict(test, "reached"), "unprovable", "{test}");
            assert!(reason.contains("do not say whether the measured part lies there"), "{reason}");
        }
    }
}

/// If it failed, another program's writes, or reads, of the same disk would count for bytes that Btrfs packed.
#[test]
fn what_btrfs_compresses_is_not_proven_by_what_others_move() {
    if !has_means(&["losetup", "mkfs.btrfs"]) {
        return;
    }
    if !filesystem_is_known("btrfs") {
        return skip("the kernel has no btrfs");
    }
    let device = Loop::new(512 << 20, true);
    device.mkfs("btrfs");
    let mounted = Mounted::new("btrfs", device.dev(), "compress-force=zstd");
    {
        let _writer = other(WRITES);
        let write = ["--size=32MiB", "--write-only", "--compressible=100", "--tests=SEQ1MQ1T1"];
        for test in tests(&mark(mounted.path(), &write).body()) {
            assert_ne!(verdict(test, "reached"), "proven", "{test}");
        }
    }
    // The same of an image that is stored so.
    let image = mounted.path().join("image");
    std::fs::write(&image, vec![b'a'; 64 << 20]).unwrap();
    File::open(&image).unwrap().sync_all().unwrap();
    let _reader = other(READS);
    let path = tool("losetup", &["-f", "--show", "--direct-io=on", image.to_str().unwrap()]);
    let inner = Loop::attached(path, &image);
    for test in tests(&mark(&inner.path, &RANDOM).body()) {
        assert_ne!(verdict(test, "reached"), "proven", "{test}");
        assert_eq!(
            test["proofs"]["reached"]["evidence"]["below_lacking_bytes"],
            64 << 20,
            "{test}"
        );
    }
}

/// If it failed, durable writes that all came to the disk would be withdrawn.
#[test]
fn durable_writes_through_a_buffered_loop_are_not_withdrawn() {
    if !has_means(&["losetup", "mkfs.ext4"]) || !has_tools(&["mount"]) {
        return;
    }
    let device = Loop::new(256 << 20, false);
    device.mkfs("ext4");
    let mounted = Mounted::new("ext4", device.dev(), "");
    let write = ["--size=32MiB", "--write-only", "--dsync", "--tests=SEQ1MQ1T1"];
    for test in tests(&mark(mounted.path(), &write).body()) {
        let reached = &test["proofs"]["reached"];
        let (wanted, why) = match has_events(test) {
            true => ("proven", "each write was durable"),
            false => ("unprovable", "page cache"),
        };
        assert_eq!(reached["verdict"], wanted, "{test}");
        assert!(reached["reason"].as_str().unwrap().contains(why), "{test}");
        let ratio = reached["evidence"]["device_write_ratio"].as_f64().unwrap();
        assert!(ratio >= 0.97, "every byte crossed: {ratio}");
    }
}
