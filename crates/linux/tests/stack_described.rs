//! Storage stacks of machines that are described, not had.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::fs;

use block::{Bytes, Environment as _, Medium, Stack};
use common::Machine;
use drivescope_linux::environment::RealEnvironment;
use drivescope_linux::stack::{self, StackError};

fn kinds(stack: &Stack) -> Vec<&str> {
    stack.layers.iter().map(|layer| layer.kind.as_str()).collect()
}

fn leaves(stack: &Stack) -> Vec<(&str, Medium)> {
    stack.leaves.iter().map(|leaf| (leaf.name.as_str(), leaf.medium)).collect()
}

const NVME: &str = "pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
const SDA: &str = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
const SDB: &str = "pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block/sdb";

/// If slaves were not followed, an encrypted disk would be judged at a device that counts nothing.
#[test]
fn a_file_on_dm_crypt_on_a_partition() {
    let machine = Machine::new();
    machine.device(
        NVME,
        "259:0",
        &[("queue/scheduler", "[none] mq-deadline"), ("device/model", "Fast 1")],
    );
    let partition = [("partition", "2"), ("start", "2048"), ("size", "1000")];
    machine.device(&format!("{NVME}/nvme0n1p2"), "259:2", &partition);
    machine.device(
        "virtual/block/dm-0",
        "252:0",
        &[("dm/name", "luks-home"), ("dm/uuid", "CRYPT-LUKS2-x")],
    );
    machine.stack("dm-0", "nvme0n1p2");
    let file = machine.mounted("252:0 /", "ext4 /dev/mapper/luks-home rw,errors=remount-ro");

    let stack = stack::resolve(&machine.roots, &file).unwrap();
    assert_eq!(kinds(&stack), ["file", "ext4", "dm", "partition", "disk"]);
    assert_eq!(leaves(&stack), [("nvme0n1", Medium::Device)]);
    assert_eq!(stack.leaves[0].model.as_deref(), Some("Fast 1"));
    assert_eq!(stack.layers[1].attributes["options"], "rw,rw,errors=remount-ro");
    assert_eq!(stack.layers[2].attributes["dm_name"], "luks-home");
    assert_eq!(stack.layers[4].attributes["scheduler"], "none");
    assert!(stack.layers.iter().all(|layer| layer.page_cache.is_none()));
    assert_eq!(stack::filesystem_start_on_leaf(&stack), None, "dm maps addresses anew");
}

/// A measurement that says that it polled, and did not, would show the cost of interrupts as that of polling.
#[test]
fn a_device_without_a_queue_for_polling_is_named() {
    let machine = Machine::new();
    machine.device(NVME, "259:0", &[("queue/io_poll", "1")]);
    machine.device(SDA, "8:0", &[("queue/io_poll", "0")]);
    machine.device(SDB, "8:16", &[]);
    let found = |number: &str| {
        let stack = stack::resolve_device(&machine.roots, number.parse().unwrap()).unwrap();
        stack::without_polling(&machine.roots, &stack)
    };
    assert_eq!(found("259:0"), None);
    assert_eq!(found("8:0").as_deref(), Some("sda"));
    assert_eq!(found("8:16"), None, "a kernel that does not tell is not held against the device");
}

/// If a member were left out, half the bytes of a mirror would be missing from the count.
#[test]
fn md_spreads_over_all_its_members_and_shared_ones_count_once() {
    let machine = Machine::new();
    machine.device(SDA, "8:0", &[]);
    machine.device(SDB, "8:16", &[]);
    machine.device("virtual/block/md0", "9:0", &[("md/level", "raid1")]);
    machine.stack("md0", "sda");
    machine.stack("md0", "sdb");
    machine.device("virtual/block/dm-1", "252:1", &[("dm/name", "vg-a")]);
    machine.stack("dm-1", "md0");
    machine.stack("dm-1", "sda");

    let stack = stack::resolve_device(&machine.roots, "252:1".parse().unwrap()).unwrap();
    assert_eq!(kinds(&stack), ["dm", "md", "disk", "disk"]);
    assert_eq!(leaves(&stack), [("sda", Medium::Device), ("sdb", Medium::Device)]);
    assert_eq!(stack.layers[1].attributes["md_level"], "raid1");
}

/// If the cached device of bcache were the leaf, the SSD that answers would go uncounted.
#[test]
fn bcache_reaches_both_the_cache_and_the_backing_disk() {
    let machine = Machine::new();
    machine.device(SDA, "8:0", &[("bcache/state", "clean")]);
    machine.device(NVME, "259:0", &[("bcache/priority_stats", "x")]);
    machine.device(
        "virtual/block/bcache0",
        "251:0",
        &[("bcache/cache_mode", "writethrough [writeback]")],
    );
    machine.stack("bcache0", "sda");
    machine.stack("bcache0", "nvme0n1");
    let file = machine.mounted("251:0 /", "xfs /dev/bcache0 rw");

    let stack = stack::resolve(&machine.roots, &file).unwrap();
    assert_eq!(kinds(&stack), ["file", "xfs", "bcache", "disk", "disk"]);
    assert_eq!(leaves(&stack), [("nvme0n1", Medium::Device), ("sda", Medium::Device)]);
    assert!(stack.layers[2].attributes["bcache_mode"].contains("[writeback]"));
}

/// Hidden paths of a multipath namespace have no node in /dev: looking for one ended diskspd.
#[test]
fn nvme_multipath_has_the_namespace_as_leaf_and_hides_its_paths() {
    let machine = Machine::new();
    let head = "virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
    machine.device(head, "259:1", &[("device/model", "Twin Port"), ("device/serial", "S9")]);
    let path =
        machine.device("pci0000:00/0000:01:00.0/nvme/nvme0/nvme0c0n1", "259:0", &[("hidden", "1")]);
    fs::remove_file(path.dev_path(&machine.roots)).unwrap();
    let file = machine.mounted("259:1 /", "ext4 /dev/nvme0n1 rw");

    let stack = stack::resolve(&machine.roots, &file).unwrap();
    assert_eq!(leaves(&stack), [("nvme0n1", Medium::Device)]);
    assert_eq!(stack.leaves[0].model.as_deref(), Some("Twin Port"));
    let names: Vec<String> = drivescope_linux::devices::list(&machine.roots)
        .into_iter()
        .map(|device| device.identity.name)
        .collect();
    assert_eq!(names, ["nvme0n1"]);
}

/// With several paths the namespace lies under its subsystem, and only the controllers show that they are reached over
/// a network: its server's memory must not pass for a local drive.
#[test]
fn nvme_multipath_over_a_network_is_another_machine() {
    for (transports, medium) in [
        (["pcie", "pcie"], Medium::Device),
        (["tcp", "tcp"], Medium::Network),
        (["pcie", "rdma"], Medium::Network),
    ] {
        let machine = Machine::new();
        let home = "virtual/nvme-subsystem/nvme-subsys0";
        machine.device(&format!("{home}/nvme0n1"), "259:1", &[]);
        machine.link(&format!("sys/devices/{home}"), &format!("sys/devices/{home}/nvme0n1/device"));
        for (at, transport) in transports.iter().enumerate() {
            let controller = format!("sys/devices/virtual/nvme-fabrics/ctl/nvme{at}");
            machine.write(&format!("{controller}/transport"), transport);
            machine.link(&controller, &format!("sys/devices/{home}/nvme{at}"));
        }
        let stack = stack::resolve_device(&machine.roots, "259:1".parse().unwrap()).unwrap();
        assert_eq!(leaves(&stack), [("nvme0n1", medium)], "{transports:?}");
    }
}

/// An anonymous st_dev was fatal to diskspd; here Btrfs resolves to every member.
#[test]
fn btrfs_resolves_to_its_members_through_sysfs() {
    let machine = Machine::new();
    machine.device(SDA, "8:0", &[]);
    machine.device(SDB, "8:16", &[]);
    machine.device(NVME, "259:0", &[]);
    for (fsid, member) in [("aaaa", "sda"), ("aaaa", "sdb"), ("bbbb", "nvme0n1")] {
        machine.link(
            &format!("sys/class/block/{member}"),
            &format!("sys/fs/btrfs/{fsid}/devices/{member}"),
        );
    }
    machine.write("sys/fs/btrfs/aaaa/sectorsize", "4096");
    machine.write("sys/fs/btrfs/features/raid56", "0");
    let file = machine.mounted("0:44 /@home", "btrfs /dev/sdb rw,subvol=/@home");

    let stack = stack::resolve(&machine.roots, &file).unwrap();
    assert_eq!(kinds(&stack), ["file", "btrfs", "disk", "disk"]);
    assert_eq!(leaves(&stack), [("sda", Medium::Device), ("sdb", Medium::Device)]);
    assert_eq!(stack.layers[1].attributes["sector_bytes"], "4096");
    assert_eq!(stack::filesystem_start_on_leaf(&stack), None, "Btrfs tells its own addresses");
}

/// Nothing without a local block device is fatal, and none of it may pass for a device.
#[test]
fn filesystems_without_a_local_device_have_leaves_that_say_so() {
    for (rest, medium, word) in [
        ("tmpfs tmpfs rw", Medium::Ram, "memory"),
        ("nfs4 server:/export rw,vers=4.2", Medium::Network, "no local block device"),
        ("fuse.sshfs me@host:/ rw", Medium::Network, "no local block device"),
        ("fuse.mergerfs a:b rw", Medium::Unknown, "FUSE"),
        ("zfs tank/home rw,xattr", Medium::Unknown, "zpool"),
        ("9p hostshare rw", Medium::Unknown, "host"),
        (
            "overlay overlay rw,lowerdir=/nowhere/l,upperdir=/nowhere/u",
            Medium::Unknown,
            "out of sight",
        ),
        ("newfs what rw", Medium::Unknown, "no local block device is known"),
    ] {
        let machine = Machine::new();
        let file = machine.mounted("0:60 /", rest);
        let stack = stack::resolve(&machine.roots, &file).unwrap();
        assert_eq!(stack.leaves.len(), 1, "{rest}");
        assert_eq!(stack.leaves[0].medium, medium, "{rest}");
        let note = &stack.layers[1].attributes["note"];
        assert!(note.contains(word), "{rest}: {note}");
    }
}

/// ARC and a FUSE daemon answer reads from memory, with direct I/O too (the 5.6 GB/s USB disk).
#[test]
fn caches_of_zfs_and_of_fuse_daemons_are_told() {
    let machine = Machine::new();
    let file = machine.mounted("0:60 /", "zfs tank/home rw");
    let stack = stack::resolve(&machine.roots, &file).unwrap();
    assert!(stack.layers[1].page_cache.as_deref().unwrap().contains("ARC"));

    let machine = Machine::new();
    machine.device(SDA, "8:0", &[]);
    let file = machine.mounted("8:0 /", "fuseblk /dev/sda rw");
    let stack = stack::resolve(&machine.roots, &file).unwrap();
    assert_eq!(leaves(&stack), [("sda", Medium::Device)]);
    assert!(stack.layers[1].page_cache.as_deref().unwrap().contains("sda"));
}

/// Breaks when a ZFS that ignores O_DIRECT is believed to honour it, and its cache's speed with it; or when one that honours it
/// is refuted for a cache that was bypassed.
#[test]
fn zfs_is_told_by_its_version() {
    for (version, enabled, ignores) in [
        ("2.1.5-1ubuntu6", None, true),
        ("2.2.6-1", None, true),
        ("2.3.0-1", None, false),
        ("2.3.1", Some("0"), true),
        ("2.10.0-rc2", Some("1"), false),
        ("3.0.0", None, false),
        ("unknown", None, true),
    ] {
        let machine = Machine::new();
        let module = machine.roots.sys.join("module/zfs");
        fs::create_dir_all(module.join("parameters")).unwrap();
        fs::write(module.join("version"), format!("{version}\n")).unwrap();
        if let Some(enabled) = enabled {
            fs::write(module.join("parameters/zfs_dio_enabled"), enabled).unwrap();
        }
        let file = machine.mounted("0:60 /", "zfs tank/home rw");
        let stack = stack::resolve(&machine.roots, &file).unwrap();
        let zfs = &stack.layers[1];
        assert_eq!(zfs.page_cache.is_some(), ignores, "{version}");
        assert_eq!(zfs.attributes["version"], version);
        let word = if ignores { "ignored" } else { "honoured" };
        assert_eq!(zfs.attributes["direct_io"], word, "{version}");
        assert_eq!(zfs.attributes["source"], "tank/home", "the remedy names it");
    }
}

/// Breaks when what ZFS's cache did is not counted around the runs.
#[test]
fn the_counters_of_zfs_are_read() {
    let machine = Machine::new();
    let file = machine.mounted("0:60 /", "zfs tank/home rw");
    let stack = stack::resolve(&machine.roots, &file).unwrap();
    let mut environment = RealEnvironment::new(machine.roots.clone(), stack.clone(), None);
    assert!(environment.snapshot().missing["arc"].contains("arcstats"));
    let kstat = machine.roots.proc.join("spl/kstat/zfs");
    fs::create_dir_all(&kstat).unwrap();
    let text = "9 1 0x01 147 39984 6083 10\nname type data\nhits 4 900\ndemand_data_hits 4 700\n\
                demand_data_misses 4 50\nprefetch_data_hits 4 1\nprefetch_data_misses 4 20\n";
    fs::write(kstat.join("arcstats"), text).unwrap();
    let snapshot = environment.snapshot();
    let arc = snapshot.arc.unwrap();
    let counts = (arc.demand_data_hits, arc.demand_data_misses, arc.prefetch_data_misses);
    assert_eq!(counts, (700, 50, 20));
    assert!(!snapshot.missing.contains_key("arc"));
}

/// Physical offsets must be those of the disk: an outer zone is judged by them.
#[test]
fn a_filesystem_on_a_partition_begins_where_the_partition_does() {
    let machine = Machine::new();
    machine.device(SDA, "8:0", &[]);
    let partition = [("partition", "1"), ("start", "4096"), ("size", "1000")];
    machine.device(&format!("{SDA}/sda1"), "8:1", &partition);
    let file = machine.mounted("8:1 /", "ext4 /dev/sda1 rw");
    let stack = stack::resolve(&machine.roots, &file).unwrap();
    assert_eq!(stack::filesystem_start_on_leaf(&stack), Some(Bytes(4096 * 512)));
}

/// A loop's backing file in another filesystem: the leaf is the disk under that one.
#[test]
fn a_loop_is_followed_to_the_disk_under_its_file() {
    for (dio, cached) in [("0", true), ("1", false)] {
        let machine = Machine::new();
        machine.device(SDA, "8:0", &[]);
        let image = machine.mounted("8:0 /", "ext4 /dev/sda rw");
        let image = image.to_str().unwrap();
        machine.device(
            "virtual/block/loop3",
            "7:3",
            &[("loop/backing_file", image), ("loop/dio", dio)],
        );
        let stack = stack::resolve_device(&machine.roots, "7:3".parse().unwrap()).unwrap();
        assert_eq!(kinds(&stack), ["loop", "file", "ext4", "disk"]);
        assert_eq!(leaves(&stack), [("sda", Medium::Device)]);
        assert_eq!(stack.layers[0].page_cache.is_some(), cached);
    }
}

/// Memory and other machines behind block devices must not pass for local drives.
#[test]
fn leaves_that_are_memory_or_remote() {
    let machine = Machine::new();
    machine.write("proc/devices", "Character devices:\n  1 mem\n\nBlock devices:\n 43 nbd\n  1 ramdisk\n254 virtblk\n250 nullb\n");
    machine.device("virtual/block/zram0", "253:0", &[("mm_stat", "0 0 0")]);
    machine.device("virtual/block/ram0", "1:0", &[]);
    machine.device("virtual/block/nbd0", "43:0", &[]);
    machine.device("virtual/block/nullb0", "250:0", &[]);
    machine.device("virtual/block/vda", "254:0", &[]);
    machine.device(
        "virtual/nvme-fabrics/ctl/nvme1/nvme1n1",
        "259:9",
        &[("device/transport", "tcp")],
    );
    for (number, medium) in [
        ("253:0", Medium::Ram),
        ("1:0", Medium::Ram),
        ("43:0", Medium::Network),
        ("250:0", Medium::Ram),
        ("254:0", Medium::Device),
        ("259:9", Medium::Network),
    ] {
        let stack = stack::resolve_device(&machine.roots, number.parse().unwrap()).unwrap();
        assert_eq!(stack.leaves[0].medium, medium, "{number}");
    }
}

/// A loop of devices in a broken description must end, not hang.
#[test]
fn a_device_stacked_upon_itself_ends() {
    let machine = Machine::new();
    machine.device("virtual/block/dm-0", "252:0", &[("dm/name", "a")]);
    machine.device("virtual/block/dm-1", "252:1", &[("dm/name", "b")]);
    machine.stack("dm-0", "dm-1");
    machine.stack("dm-1", "dm-0");
    let stack = stack::resolve_device(&machine.roots, "252:0".parse().unwrap()).unwrap();
    assert_eq!(kinds(&stack), ["dm", "dm"]);
}

/// The only fatal cases, with words that say what to do.
#[test]
fn paths_that_cannot_be_measured() {
    let machine = Machine::new();
    let missing = stack::resolve(&machine.roots, &machine.path().join("no")).unwrap_err();
    assert!(missing.to_string().contains("No such file"), "{missing}");
    let null = stack::resolve(&machine.roots, "/dev/null".as_ref()).unwrap_err();
    assert!(matches!(null, StackError::Kind { what: "a character device", .. }));
    assert!(null.to_string().contains("name a directory"), "{null}");
    let device = stack::resolve_device(&machine.roots, "99:1".parse().unwrap()).unwrap_err();
    assert!(device.to_string().contains("99:1"));
}
