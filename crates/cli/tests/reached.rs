//! *Reached*, on the real kernel: proven where bytes come from a device, refuted where a cache or this
//! machine's memory serves them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use common::storage::{
    Loop, Mounted, Zram, filesystem_is_known, has_means, has_tools, mkfs, skip, tool,
};
use common::{
    assert_not_reached, assert_reached, mark, mark_command, names, scratch_dir, tests, verdict,
    written_file,
};
use serde_json::Value;

const ENGINES: [&str; 3] = ["io_uring", "libaio", "psync"];
const READ: [&str; 3] = ["--size=64MiB", "--read-only", "--tests=SEQ1MQ1T1,RND4KQ1T1"];

/// Bytes that the device counted, or else that the kernel charged to the process, per byte issued.
/// The machine's other work adds to the first; the second is ours alone.
fn assert_read_ratio(test: &Value) {
    let evidence = &test["proofs"]["reached"]["evidence"];
    let ratio = |who: &str| evidence[format!("{who}_read_ratio")].as_f64();
    let device = ratio("device").expect("the device is counted");
    assert!(device >= 0.97, "{evidence}");
    let task = ratio("task").expect("the kernel accounts for tasks");
    // Through a loop a byte may be charged twice: to it, and to the file under it.
    let charged_once = [1.0, 2.0].map(|times| (0.97..=1.10).contains(&(task / times)));
    assert!(device <= 1.10 || charged_once.contains(&true), "{evidence}");
}

/// If it failed, a drive under an ordinary directory could not be measured at all.
#[test]
fn a_directory_on_a_disk_is_reached_by_every_engine() {
    let dir = scratch_dir();
    for engine in ENGINES {
        // The disk's own cache of such a small file is the subject of another proof.
        let size = ["--size=64MiB", "--cache-probe=0s"];
        let args = ["--tests=SEQ1MQ1T1,RND4KQ1T1", "--engine", engine];
        let ran = mark(dir.path(), &[&size[..], &args].concat());
        let body = ran.body();
        if body["stack"]["layers"][1]["kind"] != "ext4" {
            return skip("the build directory is not on ext4");
        }
        ran.exits(0);
        assert_reached(&body);
        assert_eq!(body["setup"]["engine"], engine);
        assert_eq!(body["extents"]["written_bytes"], 64 << 20, "fully written");
        let ops: Vec<&str> = tests(&body).iter().map(|t| t["op"].as_str().unwrap()).collect();
        assert_eq!(ops, ["read", "read", "write", "write"]);
        for test in tests(&body).iter().filter(|t| t["op"] == "read") {
            assert_read_ratio(test);
            assert_eq!(verdict(test, "pattern"), "proven", "{test}");
        }
        assert!(names(dir.path()).is_empty(), "the test file is gone");
    }
}

#[test]
fn filesystems_on_a_loop_with_direct_io_reach_the_disk_under_it() {
    for fstype in ["ext4", "xfs", "btrfs"] {
        if !has_means(&["losetup", &format!("mkfs.{fstype}")]) {
            continue;
        }
        if !filesystem_is_known(fstype) {
            skip(&format!("the kernel has no {fstype}"));
            continue;
        }
        let device = Loop::new(512 << 20, true);
        device.mkfs(fstype);
        let mounted = Mounted::new(fstype, device.dev(), "");
        let ran = mark(mounted.path(), &READ).exits(0);
        let body = ran.body();
        assert_reached(&body);
        tests(&body).iter().for_each(assert_read_ratio);
        let leaf = body["stack"]["leaves"][0]["name"].as_str().unwrap();
        assert_ne!(leaf, device.name(), "the leaf is what lies under the loop's file");
        assert!(names(mounted.path()).iter().all(|name| !name.contains("drivescope")));
    }
}

/// If it failed, the drive's own speed on Btrfs could not be measured, or the output would not say what that omits; and a
/// flag without effect would be accepted on other filesystems.
#[test]
fn a_file_without_copy_on_write_reaches_the_disk_under_btrfs() {
    if !has_means(&["losetup", "mkfs.btrfs", "mkfs.ext4"]) {
        return;
    }
    if !filesystem_is_known("btrfs") {
        return skip("the kernel has no btrfs");
    }
    let device = Loop::new(512 << 20, true);
    device.mkfs("btrfs");
    let mounted = Mounted::new("btrfs", device.dev(), "");
    let write = ["--size=64MiB", "--write-only", "--quick", "--tests=SEQ1MQ1T1", "--runs=3"];
    let codes = |body: &Value| -> Vec<String> {
        let caveats = body["caveats"].as_array().unwrap();
        caveats.iter().map(|caveat| caveat["code"].as_str().unwrap().to_owned()).collect()
    };
    let has = |codes: &[String], code: &str| codes.iter().any(|known| known == code);
    let in_place = mark(mounted.path(), &[&write[..], &["--no-cow"]].concat()).exits(0).body();
    assert_reached(&in_place);
    assert_eq!(in_place["setup"]["in_place"], true);
    let told = codes(&in_place);
    assert!(has(&told, "written_in_place") && !has(&told, "copy_on_write"), "{told:?}");
    let usual = mark(mounted.path(), &write).body();
    assert!(usual["setup"]["in_place"].is_null());
    let caveats = usual["caveats"].as_array().unwrap();
    let offer = caveats.iter().find(|caveat| caveat["code"] == "copy_on_write").unwrap();
    assert!(offer["remedy"].as_str().unwrap().contains("--no-cow"), "{offer}");
    assert!(names(mounted.path()).iter().all(|name| !name.contains("drivescope")));

    let elsewhere = Loop::new(256 << 20, true);
    elsewhere.mkfs("ext4");
    let ext4 = Mounted::new("ext4", elsewhere.dev(), "");
    let refused = mark(ext4.path(), &[&write[..], &["--no-cow"]].concat()).exits(2);
    assert!(refused.stderr.contains("--no-cow is for Btrfs"), "{}", refused.stderr);
    assert!(names(ext4.path()).iter().all(|name| !name.contains("drivescope")), "nothing is left");
}

#[test]
fn a_loop_device_with_direct_io_reaches_the_disk_under_it() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(64 << 20, true);
    let body = mark(&device.path, &READ).exits(0).body();
    assert_reached(&body);
    tests(&body).iter().for_each(assert_read_ratio);
}

/// tmpfs takes O_DIRECT since Linux 6.6, so no refused flag gives it away.
#[test]
fn tmpfs_is_memory() {
    if !has_means(&["mount"]) {
        return;
    }
    let mounted = Mounted::new("tmpfs", "tmpfs", "size=256m");
    assert_not_reached(mark(mounted.path(), &[&READ[..], &["--anyway"]].concat()), "memory");
    assert!(names(mounted.path()).is_empty());
}

/// All bytes cross the block layer, and still none comes from a drive.
#[test]
fn zram_is_memory_bare_and_under_a_filesystem() {
    if !has_means(&["mkfs.ext4"]) {
        return;
    }
    let Some(zram) = Zram::new("256M") else { return skip("needs zram") };
    assert_not_reached(mark(zram.path(), &[&READ[..], &["--anyway"]].concat()), "memory");
    mkfs("ext4", &zram.path());
    let mounted = Mounted::new("ext4", zram.path().to_str().unwrap(), "");
    assert_not_reached(mark(mounted.path(), &[&READ[..], &["--anyway"]].concat()), "memory");
}

#[test]
fn a_loop_on_a_cached_file_is_a_page_cache_bare_and_under_a_filesystem() {
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let device = Loop::new(256 << 20, false);
    assert_not_reached(mark(&device.path, &READ), "page cache");
    device.mkfs("ext4");
    let mounted = Mounted::new("ext4", device.dev(), "");
    assert_not_reached(mark(mounted.path(), &READ), "page cache");
}

/// The text for people must not show a withdrawn number in the place of a headline.
#[test]
fn a_withdrawn_number_is_shown_only_as_what_it_is() {
    let dir = Path::new("/dev/shm");
    if !dir.is_dir() {
        return skip("needs /dev/shm");
    }
    let settings = ["--anyway", "--duration=500ms", "--warm-up=0", "--runs=1", "--no-progress"];
    let mut command = common::drivescope(["mark", "/dev/shm"]);
    let ran: common::Ran = command.args(READ).args(settings).output().unwrap().into();
    let text = ran.exits(1).stdout;
    let about: Vec<&str> = text.lines().filter(|line| line.contains("MB/s")).collect();
    for line in &about[1..] {
        assert!(line.contains("memory") && line.contains("not of the drive"), "{line}\n{text}");
    }
    assert!(text.contains("All results rejected"), "{text}");
    for row in text.lines().filter(|l| l.starts_with("SEQ1M Q1T1") || l.starts_with("RND4K Q1T1")) {
        assert!(row.contains("withdrawn: "), "{row}");
        assert!(!row.contains('–'), "an interval of a withdrawn number: {row}");
    }
}

/// Three minutes of memory's speed say nothing of a drive, and fill the memory meanwhile.
#[test]
fn a_target_in_memory_is_answered_before_anything_is_made_or_measured() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        return skip("needs /dev/shm");
    };
    let mut command = common::drivescope(["mark", "--json"]);
    let ran: common::Ran = command.arg(memory.path()).output().unwrap().into();
    assert!(ran.stderr.contains("--anyway"), "{}", ran.stderr);
    let body = ran.exits(1).body();
    assert_eq!(tests(&body).len(), 8);
    for test in tests(&body) {
        assert_eq!(verdict(test, "reached"), "refuted", "{test}");
        assert!(test["runs"].as_array().unwrap().is_empty() && test["headline"] == false, "{test}");
    }
    assert!(names(memory.path()).is_empty(), "a test file was made");
    let mut command = common::drivescope(["mark"]);
    let ran: common::Ran = command.arg(memory.path()).output().unwrap().into();
    let text = ran.exits(1).stdout;
    assert!(text.contains("memory") && text.contains("All results rejected"), "{text}");
}

/// Reads of what was never written return zeros without the device. The file is not ours: it must
/// stay as it was.
#[test]
fn a_sparse_or_preallocated_file_is_refuted_and_left_alone() {
    let dir = scratch_dir();
    let (sparse, preallocated) = (dir.path().join("sparse"), dir.path().join("preallocated"));
    File::create(&sparse).unwrap().set_len(64 << 20).unwrap();
    let file = File::create(&preallocated).unwrap();
    let flags = rustix::fs::FallocateFlags::empty();
    if rustix::fs::fallocate(&file, flags, 0, 64 << 20).is_err() {
        return skip("the filesystem does not preallocate");
    }
    for path in [&sparse, &preallocated] {
        let before = fs::metadata(path).unwrap();
        assert_not_reached(mark(path, &READ), "never written");
        let after = fs::metadata(path).unwrap();
        assert_eq!(before.blocks(), after.blocks());
        assert_eq!(before.modified().unwrap(), after.modified().unwrap());
        assert!(fs::read(path).unwrap().iter().all(|byte| *byte == 0));
    }
}

/// The plainest cache: asked for, and warm.
#[test]
fn a_warm_page_cache_is_refuted_with_every_engine() {
    let dir = scratch_dir();
    let path = dir.path().join("file");
    written_file(&path, 64 << 20);
    let bytes = fs::read(&path).unwrap();
    for engine in ENGINES {
        let ran = mark(&path, &[&READ[..], &["--buffered", "--engine", engine]].concat());
        assert_not_reached(ran, "cache");
    }
    assert!(bytes == fs::read(&path).unwrap(), "a file that exists is only read");
}

/// A kernel or a library that silently drops O_DIRECT. The program believes that it has direct
/// I/O; only the counters show that it does not.
#[test]
fn direct_io_that_is_stripped_in_silence_is_refuted_with_every_engine() {
    if !has_tools(&["cc"]) {
        return;
    }
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return skip("the shim knows x86_64 and aarch64");
    }
    let dir = scratch_dir();
    let shim = dir.path().join("shim.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/strip_direct.c");
    tool("cc", &["-shared", "-fPIC", "-O1", "-o", shim.to_str().unwrap(), source, "-ldl"]);
    let path = dir.path().join("file");
    written_file(&path, 64 << 20);
    fs::read(&path).unwrap();
    let stripped = |target: &Path, engine: &str| -> common::Ran {
        common::finishing(|longer| {
            let args = [&READ[..], &["--engine", engine], longer].concat();
            let mut command = mark_command(target, &args);
            command.env("LD_PRELOAD", &shim);
            command
        })
    };
    for engine in ENGINES {
        for target in [path.as_path(), dir.path()] {
            let ran = stripped(target, engine);
            assert_eq!(ran.json()["body"]["setup"]["direct"], true, "it believes in direct I/O");
            assert_not_reached(ran, "cache");
        }
        let control = mark(&path, &[&READ[..], &["--engine", engine]].concat()).exits(0);
        assert_reached(&control.body());
    }
    assert_eq!(names(dir.path()), ["file", "shim.so"]);
}
