//! Redundancy in a stack: the devices under each layer, levels, profiles, and whether arrays are whole.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::fs;

use block::{ArrayState, Environment, Stack};
use common::Machine;
use drivescope_linux::environment::RealEnvironment;
use drivescope_linux::stack;

const SDA: &str = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
const SDB: &str = "pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block/sdb";

/// Each layer's kind with the kinds right under it.
fn tree(stack: &Stack) -> Vec<(&str, Vec<&str>)> {
    let kind = |place: &usize| stack.layers[*place].kind.as_str();
    let each = stack.layers.iter();
    each.map(|layer| (layer.kind.as_str(), layer.below.iter().map(kind).collect())).collect()
}

fn mirror(machine: &Machine) {
    machine.device(SDA, "8:0", &[]);
    machine.device(SDB, "8:16", &[]);
    let facts = [
        ("md/level", "raid1"),
        ("md/raid_disks", "2"),
        ("md/degraded", "0"),
        ("md/sync_action", "idle"),
        ("md/chunk_size", "0"),
    ];
    machine.device("virtual/block/md0", "9:0", &facts);
    machine.stack("md0", "sda");
    machine.stack("md0", "sdb");
}

/// If a layer hung under the wrong one, a mirror under half of a volume would double all of it.
#[test]
fn layers_know_what_lies_right_under_them() {
    let machine = Machine::new();
    mirror(&machine);
    for (name, start) in [("md0p1", "0"), ("md0p2", "1000")] {
        let dir = format!("virtual/block/md0/{name}");
        let number = format!("259:{}", name.len() + usize::from(start == "0"));
        machine.device(&dir, &number, &[("partition", "1"), ("start", start), ("size", "1000")]);
    }
    machine.device("virtual/block/dm-0", "252:0", &[("dm/name", "vg-lv"), ("dm/uuid", "LVM-x")]);
    machine.stack("dm-0", "md0p1");
    machine.stack("dm-0", "md0p2");
    let file = machine.mounted("252:0 /", "ext4 /dev/mapper/vg-lv rw");

    let stack = stack::resolve(&machine.roots, &file).unwrap();
    assert_eq!(
        tree(&stack),
        [
            ("file", vec!["ext4"]),
            ("ext4", vec!["dm"]),
            ("dm", vec!["partition", "partition"]),
            ("partition", vec!["md"]),
            ("md", vec!["disk", "disk"]),
            ("disk", vec![]),
            ("disk", vec![]),
            // The array is shown once, and lies under this one too.
            ("partition", vec!["md"]),
        ]
    );
    let md = &stack.layers[4].attributes;
    assert_eq!((md["md_raid_disks"].as_str(), md["md_degraded"].as_str()), ("2", "0"));
}

/// If the copies of Btrfs were not known, its double writes would pass for others' use of the drives.
#[test]
fn btrfs_tells_its_profiles() {
    let machine = Machine::new();
    machine.device(SDA, "8:0", &[]);
    machine.device(SDB, "8:16", &[]);
    for member in ["sda", "sdb"] {
        let link = format!("sys/fs/btrfs/aaaa/devices/{member}");
        machine.link(&format!("sys/class/block/{member}"), &link);
    }
    for file in ["data/raid1/used_bytes", "data/single/used_bytes", "metadata/raid1/used_bytes"] {
        machine.write(&format!("sys/fs/btrfs/aaaa/allocation/{file}"), "0");
    }
    machine.write("sys/fs/btrfs/aaaa/allocation/data/total_bytes", "1");
    let file = machine.mounted("0:44 /", "btrfs /dev/sda rw");
    let stack = stack::resolve(&machine.roots, &file).unwrap();
    let btrfs = &stack.layers[1];
    assert_eq!(btrfs.attributes["data_profile"], "raid1,single");
    assert_eq!(btrfs.attributes["metadata_profile"], "raid1");
    assert_eq!(btrfs.below, [2, 3]);
}

/// If bcache's cache were not distinguished from the drive behind it, its speed would be reported as that drive's.
#[test]
fn bcache_tells_the_cache_from_the_drive_behind_it() {
    let machine = Machine::new();
    machine.device(SDA, "8:0", &[("bcache/state", "clean")]);
    machine.device(SDB, "8:16", &[]);
    let partition = [
        ("partition", "1"),
        ("start", "0"),
        ("size", "9"),
        ("bcache/priority_stats", "Unused: 9%"),
    ];
    machine.device(&format!("{SDB}/sdb1"), "8:17", &partition);
    machine.device("virtual/block/bcache0", "251:0", &[("bcache/cache_mode", "[writeback]")]);
    machine.stack("bcache0", "sda");
    machine.stack("bcache0", "sdb1");
    let stack = stack::resolve_device(&machine.roots, "251:0".parse().unwrap()).unwrap();
    let roles: Vec<_> =
        stack.layers.iter().map(|l| (l.name.as_str(), l.attributes.get("bcache_role"))).collect();
    let (cache, backing) = ("cache".to_owned(), "backing".to_owned());
    assert_eq!(
        roles,
        [("bcache0", None), ("sda", Some(&backing)), ("sdb1", Some(&cache)), ("sdb", None)]
    );
}

/// If an array were asked only once, a member that fails during a test, or a rebuild that begins, would go unseen.
#[test]
fn arrays_are_asked_at_each_snapshot() {
    let machine = Machine::new();
    mirror(&machine);
    let stack = stack::resolve_device(&machine.roots, "9:0".parse().unwrap()).unwrap();
    let mut environment = RealEnvironment::new(machine.roots.clone(), stack, None);
    let state = |degraded, sync_action: Option<&str>| {
        vec![ArrayState {
            name: "md0".to_owned(),
            degraded,
            sync_action: sync_action.map(str::to_owned),
        }]
    };
    assert_eq!(environment.snapshot().arrays, state(0, None));
    machine.write("sys/devices/virtual/block/md0/md/degraded", "1");
    machine.write("sys/devices/virtual/block/md0/md/sync_action", "recover");
    assert_eq!(environment.snapshot().arrays, state(1, Some("recover")));

    // Stripes without redundancy cannot lack a member.
    fs::remove_file(machine.path().join("sys/devices/virtual/block/md0/md/degraded")).unwrap();
    let stack = stack::resolve_device(&machine.roots, "9:0".parse().unwrap()).unwrap();
    let mut environment = RealEnvironment::new(machine.roots.clone(), stack, None);
    assert_eq!(environment.snapshot().arrays, []);
}
