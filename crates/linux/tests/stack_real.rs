//! Storage stacks of this machine.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::path::Path;

use block::{Medium, Stack};
use common::{Loop, Mounted, Zram, filesystem_is_known, has_means, skip};
use drivescope_linux::stack;
use drivescope_linux::sysfs::Roots;

const SIZE: u64 = 512 << 20;

fn resolve(path: &Path) -> Stack {
    stack::resolve(&Roots::default(), path).unwrap()
}

fn leaf_of_var_tmp() -> Vec<String> {
    resolve(Path::new("/var/tmp")).leaves.into_iter().map(|leaf| leaf.name).collect()
}

/// If the leaf of a loop were the loop, *reached* would be proven by a page cache's block counters.
#[test]
fn filesystems_on_loops_reach_the_disk_under_the_image() {
    for fstype in ["ext4", "xfs", "btrfs"] {
        if !has_means(&["losetup", &format!("mkfs.{fstype}")]) || !filesystem_is_known(fstype) {
            skip(fstype);
            continue;
        }
        for direct in [false, true] {
            let device = Loop::new(SIZE, direct);
            device.mkfs(fstype);
            let mounted = Mounted::new(fstype, device.dev(), "");
            fs::write(mounted.path().join("file"), "data").unwrap();
            let stack = resolve(&mounted.path().join("file"));
            let kinds: Vec<&str> = stack.layers.iter().map(|l| l.kind.as_str()).collect();
            assert_eq!(kinds[..4], ["file", fstype, "loop", "file"], "{fstype}");
            let leaves: Vec<String> = stack.leaves.iter().map(|l| l.name.clone()).collect();
            assert_eq!(leaves, leaf_of_var_tmp());
            let is_direct = stack.layers[2].attributes["loop_direct_io"] == "1";
            assert_eq!(is_direct, direct, "the loop took the mode that was asked for");
            assert_eq!(stack.layers[2].page_cache.is_some(), !direct, "{fstype}");
            assert_eq!(stack.layers[2].name, device.name());
        }
    }
}

#[test]
fn a_loop_device_named_itself_is_the_first_layer() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let stack = resolve(&device.path);
    assert_eq!(stack.layers[0].kind, "loop");
    assert_eq!(stack.layers[0].name, device.name());
    assert_eq!(stack.layers[0].attributes["size_bytes"], SIZE.to_string());
    assert_eq!(stack.layers[1].kind, "file");
}

/// tmpfs takes O_DIRECT since Linux 6.6: only its leaf shows that it is memory.
#[test]
fn memory_is_memory_however_it_is_dressed() {
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let tmpfs = Mounted::new("tmpfs", "tmpfs", "size=64m");
    let stack = resolve(tmpfs.path());
    assert_eq!(stack.leaves[0].medium, Medium::Ram);

    let dir = tempfile::tempdir_in(tmpfs.path()).unwrap();
    let image = dir.path().join("image");
    fs::File::create(&image).unwrap().set_len(32 << 20).unwrap();
    let device = Loop::on(dir, &image, false);
    let stack = resolve(&device.path);
    let media: Vec<Medium> = stack.leaves.iter().map(|leaf| leaf.medium).collect();
    assert_eq!(media, [Medium::Ram], "a loop on tmpfs");
    drop(device);

    let Some(zram) = Zram::new("64M") else { return skip("needs zram") };
    common::run("mkfs.ext4", &["-q", "-F", zram.path().to_str().unwrap()]);
    let mounted = Mounted::new("ext4", zram.path().to_str().unwrap(), "");
    let stack = resolve(mounted.path());
    assert_eq!(stack.leaves[0].medium, Medium::Ram);
    assert_eq!(stack.leaves[0].name, zram.name());
}

/// A container's root is an overlay; its st_dev is anonymous and its files lie in other directories.
/// A file of the lower layer is read from there; a directory of it is written to in the upper one.
#[test]
fn overlays_reach_what_is_under_the_directory_that_serves() {
    if !has_means(&["mount"]) || !filesystem_is_known("overlay") {
        return skip("needs overlay");
    }
    let base = tempfile::tempdir_in("/var/tmp").unwrap();
    for name in ["upper", "work"] {
        fs::create_dir_all(base.path().join(name)).unwrap();
    }
    let lower = Mounted::new("tmpfs", "tmpfs", "size=16m");
    fs::create_dir_all(lower.path().join("deep")).unwrap();
    fs::write(lower.path().join("deep/old"), "old").unwrap();
    let dir = |name: &str| base.path().join(name).to_str().unwrap().to_owned();
    let below = lower.path().to_str().unwrap();
    let options = format!("lowerdir={below},upperdir={},workdir={}", dir("upper"), dir("work"));
    let mounted = Mounted::new("overlay", "overlay", &options);
    fs::write(mounted.path().join("new"), "new").unwrap();
    for name in ["new", "deep", ""] {
        let stack = resolve(&mounted.path().join(name));
        let leaves: Vec<String> = stack.leaves.iter().map(|leaf| leaf.name.clone()).collect();
        assert_eq!(leaves, leaf_of_var_tmp(), "{name}");
        assert_eq!(stack.layers[1].kind, "overlay");
    }
    let stack = resolve(&mounted.path().join("deep/old"));
    assert_eq!(stack.leaves[0].medium, Medium::Ram, "never copied up");
}

/// If the member were taken from the mount's source alone, the second disk would go uncounted.
#[test]
fn btrfs_over_two_loops_has_both_under_it() {
    if !has_means(&["losetup", "mkfs.btrfs"]) || !filesystem_is_known("btrfs") {
        return skip("needs btrfs");
    }
    let (one, two) = (Loop::new(SIZE, true), Loop::new(SIZE, true));
    common::run("mkfs.btrfs", &["-q", "-f", "-d", "raid0", one.dev(), two.dev()]);
    common::run("btrfs", &["device", "scan", two.dev()]);
    let mounted = Mounted::new("btrfs", one.dev(), "");
    let stack = resolve(mounted.path());
    let loops: Vec<&str> =
        stack.layers.iter().filter(|l| l.kind == "loop").map(|l| l.name.as_str()).collect();
    assert_eq!(loops.len(), 2, "{loops:?}");
    assert!(loops.contains(&one.name()) && loops.contains(&two.name()));
}
