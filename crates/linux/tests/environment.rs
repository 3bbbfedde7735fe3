//! Counters and extents, on this machine's filesystems and on described ones.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use block::{Bytes, Environment, Layer, Leaf, Medium, Nanos, Stack};
use common::{Loop, Machine, Mounted, Zram, filesystem_is_known, has_means, skip};
use drivescope_linux::environment::RealEnvironment;
use drivescope_linux::sysfs::Roots;
use drivescope_linux::{extents, stack};

const MIB: usize = 1 << 20;

fn environment(path: &Path) -> RealEnvironment {
    let roots = Roots::default();
    let stack = stack::resolve(&roots, path).unwrap();
    RealEnvironment::new(roots, stack, Some(File::open(path).unwrap()))
}

/// Reads the whole file with direct I/O.
fn read_directly(path: &Path, bytes: usize) {
    let flags = rustix::fs::OFlags::DIRECT.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).unwrap();
    let mut memory = vec![0; MIB + 4096];
    let skip = memory.as_ptr().align_offset(4096);
    for at in (0..bytes).step_by(MIB) {
        file.read_exact_at(&mut memory[skip..skip + MIB], at as u64).unwrap();
    }
}

fn is_on_a_device() -> bool {
    let stack = stack::resolve(&Roots::default(), Path::new("/var/tmp")).unwrap();
    let ok = stack.leaves.iter().all(|leaf| leaf.medium == Medium::Device);
    if !ok {
        skip("/var/tmp is not on a local block device");
    }
    ok
}

/// The core of *reached*: bytes read are seen by the task's and by the device's counters, and a
/// read from the page cache by neither.
#[test]
fn direct_reads_are_counted_and_cached_ones_are_not() {
    let name = "environment::direct_reads_are_counted_and_cached_ones_are_not";
    if !common::has_its_own_process(name) || !is_on_a_device() {
        return;
    }
    let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    file.as_file().write_all_at(&vec![5; 16 * MIB], 0).unwrap();
    file.as_file().sync_all().unwrap();
    let mut environment = environment(file.path());

    let before = environment.snapshot();
    assert_eq!(before.page_cache.unwrap().cached_bytes, Bytes::mib(16));
    fs::read(file.path()).unwrap();
    let cached = environment.snapshot();
    // Reads by this process for itself stay below the size of this file.
    let task = |s: &block::Snapshot| s.task.unwrap().read_bytes.0;
    assert!(task(&cached) - task(&before) < 16 << 20, "cached reads are free");

    rustix::fs::fadvise(file.as_file(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let before = environment.snapshot();
    assert_eq!(before.page_cache.unwrap().cached_bytes, Bytes::ZERO);
    read_directly(file.path(), 16 * MIB);
    let after = environment.snapshot();
    assert!(task(&after) - task(&before) >= 16 << 20);
    let device = |s: &block::Snapshot| s.devices.iter().map(|d| d.read_bytes.0).sum::<u64>();
    assert!(device(&after) - device(&before) >= 16 << 20);
    assert_eq!(after.page_cache.unwrap().cached_bytes, Bytes::ZERO, "direct I/O leaves no pages");
    assert!(after.devices[0].reads > before.devices[0].reads);
    assert!(after.devices[0].busy_ns >= before.devices[0].busy_ns);
    let cpu = after.process_cpu.unwrap();
    assert!(cpu.user_ns.0 + cpu.system_ns.0 > 0);
}

/// If a hollow file passed for data, zeros from nowhere would be sold as the drive's speed.
#[test]
fn extents_tell_data_from_holes_and_from_promises() {
    for fstype in ["ext4", "xfs", "btrfs"] {
        if !has_means(&["losetup", &format!("mkfs.{fstype}")]) || !filesystem_is_known(fstype) {
            skip(fstype);
            continue;
        }
        let device = Loop::new(512 << 20, true);
        device.mkfs(fstype);
        let mounted = Mounted::new(fstype, device.dev(), "");
        let make = |name: &str| File::create_new(mounted.path().join(name)).unwrap();

        let full = make("full");
        full.write_all_at(&vec![9; 3 * MIB + 100], 0).unwrap();
        let layout = extents::of(&File::open(mounted.path().join("full")).unwrap());
        assert_eq!(layout.unknown, None, "{fstype}");
        assert_eq!(layout.written_bytes, Bytes(3 * (1 << 20) + 100), "{fstype}: {layout:?}");
        assert_eq!(layout.hole_bytes + layout.unwritten_bytes, Bytes::ZERO);
        assert!(layout.extents >= 1);
        assert_eq!(layout.physical_range.is_some(), fstype != "btrfs");

        let hollow = make("hollow");
        rustix::fs::fallocate(&hollow, rustix::fs::FallocateFlags::empty(), 0, 4 << 20).unwrap();
        hollow.write_all_at(&vec![9; MIB], 0).unwrap();
        let layout = extents::of(&hollow);
        assert_eq!(layout.written_bytes, Bytes::mib(1), "{fstype}");
        assert_eq!(layout.unwritten_bytes, Bytes::mib(3), "{fstype}");

        let sparse = make("sparse");
        sparse.set_len(4 << 20).unwrap();
        sparse.write_all_at(&vec![9; MIB], 1 << 20).unwrap();
        let layout = extents::of(&sparse);
        assert_eq!(layout.written_bytes, Bytes::mib(1), "{fstype}");
        assert_eq!(layout.hole_bytes, Bytes::mib(3), "{fstype}");
        assert_eq!(extents::of(&make("empty")).file_bytes, Bytes::ZERO);
    }
}

/// Compressed extents: the device transfers fewer bytes than the file has.
#[test]
fn compressed_and_inline_data_are_told() {
    if !has_means(&["losetup", "mkfs.btrfs"]) || !filesystem_is_known("btrfs") {
        return skip("needs btrfs");
    }
    let device = Loop::new(512 << 20, true);
    device.mkfs("btrfs");
    let mounted = Mounted::new("btrfs", device.dev(), "compress-force=zlib");
    let file = File::create_new(mounted.path().join("zeros")).unwrap();
    file.write_all_at(&vec![0; 4 * MIB], 0).unwrap();
    let layout = extents::of(&file);
    assert_eq!(layout.encoded_bytes, Bytes::mib(4), "{layout:?}");
    let file = File::create_new(mounted.path().join("small")).unwrap();
    file.write_all_at(b"small", 0).unwrap();
    let layout = extents::of(&file);
    assert_eq!(layout.inline_bytes, Bytes(5), "{layout:?}");
}

/// tmpfs has no FIEMAP: the fallback has to see its holes.
#[test]
fn without_fiemap_holes_are_found_by_seeking() {
    if !has_means(&["mount"]) {
        return;
    }
    let mounted = Mounted::new("tmpfs", "tmpfs", "size=64m");
    let path = mounted.path().join("file");
    let file = File::create_new(&path).unwrap();
    file.set_len(8 << 20).unwrap();
    file.write_all_at(&vec![1; MIB], 2 << 20).unwrap();
    file.write_all_at(&vec![1; MIB], 7 << 20).unwrap();
    let layout = extents::of(&file);
    assert_eq!(layout.unknown, None);
    assert_eq!(layout.written_bytes, Bytes::mib(2));
    assert_eq!(layout.hole_bytes, Bytes::mib(6));
    assert_eq!(layout.extents, 2);

    let mut environment = environment(&path);
    let snapshot = environment.snapshot();
    assert!(snapshot.devices.is_empty(), "memory has no device to count");
    assert!(snapshot.missing.keys().any(|key| key.starts_with("device tmpfs")), "{snapshot:?}");
    assert!(environment.extents().is_some());
}

/// Physical offsets are reported for the leaf where they hold, and not where a layer remaps them.
#[test]
fn physical_ranges_lie_within_the_leaf_or_are_not_told() {
    if is_on_a_device() {
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.as_file().write_all_at(&vec![5; 4 * MIB], 0).unwrap();
        let mut environment = environment(file.path());
        let size: u64 =
            environment.stack().layers.last().unwrap().attributes["size_bytes"].parse().unwrap();
        if let Some((low, high)) = environment.extents().unwrap().physical_range {
            assert!(low < high && high.0 <= size, "{low} to {high} of {size}");
        }
    }
    if has_means(&["losetup", "mkfs.ext4"]) {
        let device = Loop::new(64 << 20, true);
        device.mkfs("ext4");
        let mounted = Mounted::new("ext4", device.dev(), "");
        let path = mounted.path().join("file");
        fs::write(&path, vec![1; MIB]).unwrap();
        assert_eq!(environment(&path).extents().unwrap().physical_range, None);
    }
}

/// A filesystem counts from the beginning of its partition, the leaf from the beginning of the disk.
#[test]
fn physical_offsets_are_moved_by_the_partitions_start() {
    let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    file.as_file().write_all_at(&vec![5; MIB], 0).unwrap();
    let Some((low, high)) = extents::of(file.as_file()).physical_range else {
        return skip("the filesystem of /var/tmp does not tell physical offsets");
    };
    let layer = |kind: &str| Layer { kind: kind.to_owned(), ..Layer::default() };
    let mut partition = layer("partition");
    partition.attributes.insert("start_bytes".to_owned(), "1048576".to_owned());
    let leaf = Leaf { name: "sda".to_owned(), medium: Medium::Device, model: None };
    let layers = vec![layer("file"), layer("ext4"), partition, layer("disk")];
    let stack = Stack { layers, leaves: vec![leaf] };
    let target = Some(file.as_file().try_clone().unwrap());
    let mut environment = RealEnvironment::new(Machine::new().roots, stack, target);
    let moved = environment.extents().unwrap().physical_range;
    assert_eq!(moved, Some((low + Bytes::mib(1), high + Bytes::mib(1))));
}

/// Dirty pages are data that the device has not got yet.
#[test]
fn the_page_cache_of_files_and_of_devices_is_seen() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(64 << 20, true);
    let mut environment = environment(&device.path);
    assert_eq!(environment.extents(), None, "a device is not a file");
    let file = OpenOptions::new().write(true).open(&device.path).unwrap();
    file.write_all_at(&vec![3; 2 * MIB], 0).unwrap();
    let cache = environment.snapshot().page_cache.unwrap();
    assert!(cache.cached_bytes >= Bytes::mib(2), "{cache:?}");
    assert_eq!(cache.dirty_bytes, Some(Bytes::mib(2)));
    file.sync_all().unwrap();
    assert_eq!(environment.snapshot().page_cache.unwrap().dirty_bytes, Some(Bytes::ZERO));
}

/// The block layer counts what goes to zram: only the leaf's medium shows that it is memory.
#[test]
fn zram_is_counted_and_is_memory() {
    if !has_means(&["losetup"]) {
        return;
    }
    let Some(zram) = Zram::new("64M") else { return skip("needs zram") };
    let file = OpenOptions::new().write(true).open(zram.path()).unwrap();
    let mut environment = environment(&zram.path());
    let before = environment.snapshot().devices[0].clone();
    file.write_all_at(&vec![3; 2 * MIB], 0).unwrap();
    file.sync_all().unwrap();
    let after = environment.snapshot().devices[0].clone();
    assert!(after.write_bytes - before.write_bytes >= Bytes::mib(2));
    assert_eq!(environment.stack().leaves[0].medium, Medium::Ram);
}

/// Each counter from the field that the kernel documents, with units; what is absent says why.
#[test]
fn a_described_machine_is_read_field_by_field() {
    let machine = Machine::new();
    let stat = "  100 1 2000 3   40 5 600 7  0 8 9  10 11 12 13  14 15";
    machine.device(
        "pci0/nvme/nvme0/nvme0n1",
        "259:0",
        &[("stat", stat), ("device/hwmon1/temp1_input", "41850")],
    );
    machine.write(
        "proc/self/io",
        "rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 7\n",
    );
    machine.write("proc/stat", "cpu  1 2 3 4 5 6 7 250 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
    for (cpu, count) in [("cpu0", "3"), ("cpu1", "4")] {
        machine.write(
            &format!("sys/devices/system/cpu/{cpu}/thermal_throttle/core_throttle_count"),
            count,
        );
    }
    let stack = stack::resolve_device(&machine.roots, "259:0".parse().unwrap()).unwrap();
    let mut environment = RealEnvironment::new(machine.roots.clone(), stack.clone(), None);
    let snapshot = environment.snapshot();
    let device = &snapshot.devices[0];
    assert_eq!((device.reads, device.read_bytes), (100, Bytes(2000 * 512)));
    assert_eq!((device.writes, device.write_bytes), (40, Bytes(600 * 512)));
    assert_eq!((device.flushes, device.busy_ns), (14, Nanos::millis(8)));
    assert_eq!(snapshot.task.unwrap().write_bytes, Bytes(8192));
    assert_eq!(snapshot.steal_ns, Some(Nanos(2_500_000_000)), "250 ticks of 10 ms");
    assert_eq!(snapshot.temperature_c, Some(41.85));
    assert_eq!(snapshot.throttle_events, Some(7));
    // Its node is a plain file here, which takes no commands.
    assert_eq!(snapshot.missing.keys().collect::<Vec<_>>(), ["drive nvme0n1", "page_cache"]);

    // Kernels before 5.5 count no flushes, before 4.18 no discards.
    let old = machine.node("nvme0n1").dir().join("stat");
    fs::write(&old, "1 0 8 0 2 0 16 0 0 5 5").unwrap();
    let device = environment.snapshot().devices[0].clone();
    assert_eq!((device.reads, device.write_bytes, device.flushes), (1, Bytes(8192), 0));

    // A device that vanishes keeps its place and its last counts, and is named.
    fs::write(&old, "").unwrap();
    let snapshot = environment.snapshot();
    assert_eq!(snapshot.devices[0].reads, 1);
    assert!(snapshot.missing.contains_key("device nvme0n1"));

    let bare = Machine::new();
    let mut environment = RealEnvironment::new(bare.roots.clone(), stack, None);
    let snapshot = environment.snapshot();
    assert_eq!(snapshot.task, None);
    let missing: Vec<&str> = snapshot.missing.keys().map(String::as_str).collect();
    let all = ["device nvme0n1", "page_cache", "steal", "task", "temperature", "throttle"];
    assert_eq!(missing, all);
}

fn snapshot_of(machine: &Machine, stack: Stack) -> block::Snapshot {
    RealEnvironment::new(machine.roots.clone(), stack, None).snapshot()
}

/// Counters that do not advance would contradict every correct number.
#[test]
fn counters_that_do_not_count_are_missing_and_not_zero() {
    let machine = Machine::new();
    machine.device("x/block/sda", "8:0", &[("queue/iostats", "0")]);
    machine.device("x/block/sdb", "8:16", &[("queue/iostats", "1")]);
    let stack =
        |number: &str| stack::resolve_device(&machine.roots, number.parse().unwrap()).unwrap();
    let snapshot = snapshot_of(&machine, stack("8:0"));
    assert!(snapshot.devices.is_empty());
    let why = &snapshot.missing["device sda"];
    assert!(why.contains("switched off (queue/iostats)"), "{why}");
    assert_eq!(snapshot_of(&machine, stack("8:16")).devices.len(), 1);

    // With dax the processor reads the medium itself; but only where the device can.
    for (can, options, counted) in [
        ("1", "rw,dax", false),
        ("1", "rw,dax=always", false),
        ("1", "rw,dax=inode", true),
        ("0", "rw,dax", true),
    ] {
        let machine = Machine::new();
        machine.device("x/block/pmem0", "259:0", &[("queue/dax", can)]);
        let file = machine.mounted("259:0 /", &format!("ext4 /dev/pmem0 {options}"));
        let stack = stack::resolve(&machine.roots, &file).unwrap();
        let snapshot = snapshot_of(&machine, stack);
        assert_eq!(!snapshot.devices.is_empty(), counted, "{can} {options}");
        assert_eq!(!snapshot.missing.contains_key("device pmem0"), counted, "{can} {options}");
    }
}

/// The head of a multipath namespace counts nothing before Linux 6.3: its paths do, each its part.
#[test]
fn a_multipath_namespace_is_counted_at_its_paths() {
    let machine = Machine::new();
    let head = "virtual/nvme-subsystem/nvme-subsys1/nvme1n2";
    machine.device(head, "259:9", &[("stat", "7 0 7 0 0 0 0 0 0 0 0")]);
    let hidden = |name: &str, number: &str, reads: u64| {
        let stat = format!("{reads} 0 {} 0 1 0 8 0 0 3 3", reads * 8);
        let dir = format!("pci0000:00/nvme/nvme1/{name}");
        machine.device(&dir, number, &[("hidden", "1"), ("stat", &stat)])
    };
    hidden("nvme1c1n2", "259:1", 100);
    let second = hidden("nvme1c12n2", "259:2", 20);
    // Another namespace, and another subsystem.
    hidden("nvme1c1n1", "259:3", 1000);
    hidden("nvme11c1n2", "259:4", 1000);
    let stack = stack::resolve_device(&machine.roots, "259:9".parse().unwrap()).unwrap();
    let mut environment = RealEnvironment::new(machine.roots.clone(), stack.clone(), None);
    let snapshot = environment.snapshot();
    let [device] = &snapshot.devices[..] else { panic!("{:?}", snapshot.devices) };
    assert_eq!(device.name, "nvme1n2");
    assert_eq!((device.reads, device.read_bytes), (120, Bytes(120 * 4096)));
    assert_eq!((device.writes, device.busy_ns), (2, Nanos::millis(6)));
    // An incomplete sum is not used: the last complete one stays, and the device is missing.
    fs::write(second.dir().join("stat"), "").unwrap();
    let snapshot = environment.snapshot();
    assert_eq!(snapshot.devices[0].reads, 120);
    assert!(snapshot.missing.contains_key("device nvme1n2"));

    machine.write("sys/devices/pci0000:00/nvme/nvme1/nvme1c1n2/queue/iostats", "0");
    assert!(snapshot_of(&machine, stack).missing["device nvme1n2"].contains("switched off"));
}

/// A link that slows down while a drive is measured makes the figures those of another machine.
#[test]
fn links_are_told_at_each_instant() {
    let machine = Machine::new();
    let function = "sys/devices/pci0000:00/0000:03:00.0";
    machine.write(&format!("{function}/current_link_speed"), "8.0 GT/s PCIe");
    machine.write(&format!("{function}/current_link_width"), "4");
    machine.device("pci0000:00/0000:03:00.0/nvme/nvme0/nvme0n1", "259:0", &[]);
    let stack = stack::resolve_device(&machine.roots, "259:0".parse().unwrap()).unwrap();
    let mut environment = RealEnvironment::new(machine.roots.clone(), stack, None);
    let mut speeds = || {
        let links = environment.snapshot().links.into_iter();
        links.map(|link| format!("{} {}", link.leaf, link.speed)).collect::<Vec<_>>()
    };
    assert_eq!(speeds(), ["nvme0n1 8.0 GT/s PCIe x4"]);
    machine.write(&format!("{function}/current_link_speed"), "2.5 GT/s PCIe");
    assert_eq!(speeds(), ["nvme0n1 2.5 GT/s PCIe x4"]);
    // A device that has gone reports nothing.
    machine.write(&format!("{function}/current_link_width"), "0");
    assert!(speeds().is_empty());
}

/// Every CPU shows its core's and its package's count: one event must not look like eight.
#[test]
fn throttling_is_counted_once_a_core_and_once_a_package() {
    let machine = Machine::new();
    for (cpu, package, core, core_count) in
        [(0, 0, 0, 3), (1, 0, 1, 4), (2, 0, 0, 3), (3, 0, 1, 4), (4, 1, 0, 5), (5, 1, 0, 5)]
    {
        let dir = format!("sys/devices/system/cpu/cpu{cpu}");
        machine.write(&format!("{dir}/topology/physical_package_id"), package.to_string());
        machine.write(&format!("{dir}/topology/core_id"), core.to_string());
        let throttle = format!("{dir}/thermal_throttle");
        machine.write(&format!("{throttle}/core_throttle_count"), core_count.to_string());
        machine.write(&format!("{throttle}/package_throttle_count"), (10 + package).to_string());
    }
    let snapshot = snapshot_of(&machine, Stack::default());
    assert_eq!(snapshot.throttle_events, Some(3 + 4 + 5 + 10 + 11));
}

/// The measured part of a file may be hollow where the rest is full, and the other way round.
#[test]
fn a_part_of_a_file_is_told_of_by_itself() {
    // Of a filesystem with FIEMAP and, where it is memory, of one without.
    for dir in ["/var/tmp", "/dev/shm"] {
        let Ok(file) = tempfile::NamedTempFile::new_in(dir) else {
            skip(dir);
            continue;
        };
        file.as_file().set_len(8 << 20).unwrap();
        file.as_file().write_all_at(&vec![5; 2 * MIB], 2 << 20).unwrap();
        file.as_file().sync_all().unwrap();
        let mut environment = environment(file.path());
        let mut part = |offset, length| {
            let layout = environment.extents_within(Bytes::mib(offset), Bytes::mib(length));
            let layout = layout.unwrap();
            (layout.file_bytes, layout.written_bytes, layout.hole_bytes)
        };
        let mib = Bytes::mib;
        assert_eq!(part(0, 8), (mib(8), mib(2), mib(6)), "{dir}");
        assert_eq!(part(3, 3), (mib(3), mib(1), mib(2)), "{dir}");
        assert_eq!(part(2, 2), (mib(2), mib(2), mib(0)), "{dir}");
        assert_eq!(part(0, 2), (mib(2), mib(0), mib(2)), "{dir}");
        assert_eq!(part(6, 99), (mib(2), mib(0), mib(2)), "no further than the file: {dir}");
        assert_eq!(part(9, 1).0, Bytes::ZERO, "{dir}");
    }
    let mut device = RealEnvironment::new(Roots::default(), Stack::default(), None);
    assert_eq!(device.extents_within(Bytes::ZERO, Bytes::mib(1)), None);
}
