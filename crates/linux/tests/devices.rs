//! The list of devices: their identity, their content, and the reasons against writing.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::fs;

use block::{Bytes, DriveKind, Medium, WriteCache};
use common::{Loop, Machine, Mounted, has_means};
use drivescope_linux::devices::{self, Bus, Device, InUse, Use};
use drivescope_linux::sysfs::{BlockNode, Roots};

fn device(machine: &Machine, name: &str) -> Device {
    let found = devices::list(&machine.roots).into_iter().find(|d| d.identity.name == name);
    found.unwrap_or_else(|| panic!("{name} is not listed"))
}

/// Gives `dir`, a directory of the device tree, its subsystem.
fn on_bus(machine: &Machine, dir: &str, bus: &str) {
    fs::create_dir_all(machine.path().join(format!("sys/bus/{bus}"))).unwrap();
    machine.link(&format!("sys/bus/{bus}"), &format!("sys/devices/{dir}/subsystem"));
}

/// `<disk>/device` leads to the SCSI device, as in sysfs, so that the way up starts there.
fn scsi(machine: &Machine, device: &str, disk: &str, number: &str, attrs: &[(&str, &str)]) {
    machine.device(&format!("{device}/block/{disk}"), number, attrs);
    machine.link(
        &format!("sys/devices/{device}"),
        &format!("sys/devices/{device}/block/{disk}/device"),
    );
    on_bus(machine, device, "scsi");
}

#[test]
fn a_sata_disk_with_partitions_swap_and_a_mount() {
    let machine = Machine::new();
    let port = "pci0000:00/0000:00:17.0/ata3";
    let home = format!("{port}/host2/target2:0:0/2:0:0:0");
    scsi(
        &machine,
        &home,
        "sda",
        "8:0",
        &[
            ("size", "1953525168"),
            ("queue/rotational", "1"),
            ("queue/physical_block_size", "4096"),
            ("queue/write_cache", "write back"),
            ("queue/fua", "0"),
            ("queue/scheduler", "none [mq-deadline] bfq"),
            ("queue/discard_max_bytes", "0"),
        ],
    );
    machine.write(&format!("sys/devices/{home}/model"), "ST1000DM003-1SB1\n");
    machine.write(&format!("sys/devices/{home}/vendor"), "ATA     \n");
    machine.write(&format!("sys/devices/{home}/rev"), "CC43\n");
    machine.write(&format!("sys/devices/{home}/wwid"), "naa.5000c500a1b2c3d4\n");
    machine.write(&format!("sys/devices/{home}/vpd_pg80"), b"\x00\x80\x00\x08Z9A0B1C2");
    machine.write(&format!("sys/devices/{port}/ata_port/ata3/port_no"), "3");
    machine.write(&format!("sys/devices/{port}/link3/ata_link/link3/sata_spd"), "3.0 Gbps\n");
    let part = |n: u32| format!("{home}/block/sda/sda{n}");
    machine.device(
        &part(10),
        "8:10",
        &[("partition", "10"), ("start", "999424"), ("size", "1000")],
    );
    machine.device(&part(2), "8:2", &[("partition", "2"), ("start", "4096"), ("size", "1000")]);
    machine.device(&part(1), "8:1", &[("partition", "1"), ("start", "2048"), ("size", "2048")]);
    machine.link("dev/sda", "dev/disk/by-id/ata-ST1000DM003_Z9A0B1C2");
    machine.link("dev/sda1", "dev/disk/by-id/ata-ST1000DM003_Z9A0B1C2-part1");
    machine.write(
        "run/udev/data/b8:1",
        "S:disk/by-uuid/1234\nE:ID_FS_TYPE=xfs\nE:ID_FS_TYPE_OTHER=no\n",
    );
    machine.write("proc/self/mountinfo", "30 1 8:1 / / rw - xfs /dev/root rw\n");
    machine.write("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 500 0 -2\n");

    let sda = device(&machine, "sda");
    let id = &sda.identity;
    assert_eq!(id.bus, Bus::Ata);
    assert_eq!(id.model.as_deref(), Some("ST1000DM003-1SB1"), "ATA is not a vendor");
    assert_eq!(id.serial.as_deref(), Some("Z9A0B1C2"));
    assert_eq!(id.firmware.as_deref(), Some("CC43"));
    assert_eq!(id.wwid.as_deref(), Some("naa.5000c500a1b2c3d4"));
    assert_eq!(id.by_id, ["ata-ST1000DM003_Z9A0B1C2"]);
    assert_eq!(id.size_bytes, Bytes(1_953_525_168 * 512));
    assert_eq!(id.link_bytes_per_s, Some(300_000_000), "3 Gb/s, 8b/10b");
    assert_eq!(sda.scheduler.as_deref(), Some("mq-deadline"));
    assert_eq!(sda.discard_bytes_max, None);
    assert_eq!(sda.medium, Medium::Device);
    let names: Vec<&str> = sda.partitions.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["sda1", "sda2", "sda10"], "in the order of the disk");
    assert_eq!(
        sda.partitions[0].mounts,
        [std::path::Path::new("/")],
        "whatever the source is called"
    );
    assert_eq!(sda.partitions[0].content.told_by_udev.as_deref(), Some("xfs"));
    assert!(sda.partitions[1].swap && !sda.partitions[0].swap);
    assert!(!sda.ready);
    let told: Vec<String> = sda.why_not.iter().map(Use::to_string).collect();
    let expected = [
        "sda1 is mounted on / (xfs)",
        "sda2 is in use as swap",
        "sda is partitioned: sda1, sda2, sda10",
    ];
    assert_eq!(told, expected);

    let info = id.drive_info("/dev/sda");
    assert_eq!((info.kind, info.rotational), (DriveKind::BlockDevice, Some(true)));
    assert_eq!(info.write_cache, Some(WriteCache::WriteBack));
    assert_eq!(info.physical_block_bytes, Bytes(4096));
    let json = serde_json::to_value(&sda).unwrap();
    assert_eq!(json["name"], "sda");
    assert_eq!(json["number"], "8:0");
    assert_eq!(json["bus"], "ata");
    assert_eq!(json["why_not"][0]["use"], "mounted");
    let first = devices::identity(&machine.roots, "8:1".parse().unwrap()).unwrap();
    assert_eq!(first.serial.as_deref(), Some("Z9A0B1C2"), "a partition has its disk's identity");
    assert_eq!(first.by_id, ["ata-ST1000DM003_Z9A0B1C2-part1"]);
}

/// A USB 2 bridge caps whatever is behind it: 500 MB/s from it are nonsense.
#[test]
fn a_usb_stick_has_its_slowest_link_as_ceiling() {
    let machine = Machine::new();
    let hub = "pci0000:00/0000:00:14.0/usb1";
    let stick = format!("{hub}/1-4");
    let home = format!("{stick}/1-4:1.0/host6/target6:0:0/6:0:0:0");
    for (dir, speed) in [(hub, "10000"), (stick.as_str(), "480")] {
        machine.write(&format!("sys/devices/{dir}/speed"), speed);
        machine.write(&format!("sys/devices/{dir}/busnum"), "1");
        on_bus(&machine, dir, "usb");
    }
    machine.write(&format!("sys/devices/{stick}/serial"), "AA00000000000489");
    scsi(
        &machine,
        &home,
        "sdb",
        "8:16",
        &[("removable", "1"), ("queue/write_cache", "write through")],
    );
    machine.write(&format!("sys/devices/{home}/model"), "Ultra           ");
    machine.write(&format!("sys/devices/{home}/vendor"), "SanDisk ");

    let sdb = device(&machine, "sdb");
    assert_eq!(sdb.identity.bus, Bus::Usb);
    assert_eq!(sdb.identity.model.as_deref(), Some("SanDisk Ultra"));
    assert_eq!(sdb.identity.serial.as_deref(), Some("AA00000000000489"));
    assert_eq!(sdb.identity.link_bytes_per_s, Some(60_000_000));
    assert_eq!(sdb.identity.links.len(), 2);
    assert_eq!(sdb.identity.links[0].speed, "480 Mb/s");
    assert!(sdb.removable && sdb.ready, "{:?}", sdb.why_not);
}

#[test]
fn an_nvme_drive_on_a_narrow_slot() {
    let machine = Machine::new();
    let bridge = "pci0000:00/0000:00:1d.0";
    let function = format!("{bridge}/0000:03:00.0");
    let home = format!("{function}/nvme/nvme0");
    for (dir, speed, width) in [(bridge, "8.0 GT/s PCIe", "1"), (&function, "16.0 GT/s PCIe", "4")]
    {
        machine.write(&format!("sys/devices/{dir}/current_link_speed"), speed);
        machine.write(&format!("sys/devices/{dir}/current_link_width"), width);
    }
    machine.device(&format!("{home}/nvme0n1"), "259:0", &[("wwid", "eui.00253")]);
    machine.link(&format!("sys/devices/{home}"), &format!("sys/devices/{home}/nvme0n1/device"));
    on_bus(&machine, &home, "nvme");
    machine.write(&format!("sys/devices/{home}/model"), "Samsung SSD 980 PRO 1TB   ");
    machine.write(&format!("sys/devices/{home}/serial"), "S5GX     ");
    machine.write(&format!("sys/devices/{home}/firmware_rev"), "5B2QGXA7");
    let drive = device(&machine, "nvme0n1").identity;
    assert_eq!(drive.bus, Bus::Nvme);
    assert_eq!(drive.serial.as_deref(), Some("S5GX"));
    assert_eq!(drive.firmware.as_deref(), Some("5B2QGXA7"));
    assert_eq!(drive.link_bytes_per_s, Some(984_615_384), "one lane of generation 3");
    assert_eq!(drive.links[0].speed, "16.0 GT/s PCIe x4");
}

#[test]
fn registers_of_an_emmc_are_shown() {
    let machine = Machine::new();
    let home = "platform/soc/fe320000.mmc/mmc_host/mmc0/mmc0:0001";
    machine.device(&format!("{home}/block/mmcblk0"), "179:0", &[("ro", "0")]);
    machine
        .link(&format!("sys/devices/{home}"), &format!("sys/devices/{home}/block/mmcblk0/device"));
    machine.device(&format!("{home}/block/mmcblk0/mmcblk0boot0"), "179:8", &[("ro", "1")]);
    on_bus(&machine, home, "mmc");
    let registers = [
        ("cid", "150100424a544434520648a3b7c1a900"),
        ("csd", "d02701320f5903fff6dbffef8e40400d"),
        ("name", "BJTD4R"),
        ("manfid", "0x000015"),
        ("date", "10/2019"),
        ("fwrev", "0x0600000000000000"),
        ("preferred_erase_size", "4194304"),
        ("erase_size", "524288"),
        ("serial", "0x48a3b7c1"),
        ("type", "MMC"),
    ];
    for (name, value) in registers {
        machine.write(&format!("sys/devices/{home}/{name}"), value);
    }
    let card = device(&machine, "mmcblk0");
    assert_eq!(card.identity.bus, Bus::Mmc);
    assert_eq!(card.identity.model.as_deref(), Some("BJTD4R"));
    assert_eq!(card.identity.serial.as_deref(), Some("0x48a3b7c1"));
    for (name, value) in registers {
        assert_eq!(card.registers[name], value);
    }
    let boot = device(&machine, "mmcblk0boot0");
    assert!(boot.read_only);
    assert_eq!(boot.why_not, [Use::ReadOnly { device: "mmcblk0boot0".into() }]);
}

/// Members without a mount of their own: dm, md, bcache and Btrfs must be seen on the lower device.
#[test]
fn members_of_what_is_in_use_are_not_ready() {
    let machine = Machine::new();
    let disk = |name: &str, number: &str| machine.device(&format!("x/block/{name}"), number, &[]);
    for (name, number) in
        [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32"), ("sdd", "8:48"), ("sde", "8:64")]
    {
        disk(name, number);
    }
    machine.device("x/block/sda/sda3", "8:3", &[("partition", "3"), ("start", "2048")]);
    machine.device("virtual/block/dm-0", "252:0", &[("dm/name", "vg-root")]);
    machine.stack("dm-0", "sda3");
    machine.device("virtual/block/md127", "9:127", &[("md/level", "raid5")]);
    machine.stack("md127", "sdb");
    machine.link("sys/class/block/sdc", "sys/fs/btrfs/f00d/devices/sdc");
    machine.write("sys/devices/x/block/sdd/bcache/set", "cache");
    let told = |name: &str| -> Vec<String> {
        device(&machine, name).why_not.iter().map(Use::to_string).collect()
    };
    assert_eq!(told("sda")[0], "sda3 is held by dm-0, a mapped device (vg-root)");
    assert_eq!(told("sdb"), ["sdb is held by md127, an md array"]);
    assert_eq!(told("sdc"), ["sdc is a member of the Btrfs filesystem f00d"]);
    assert_eq!(told("sdd"), ["sdd is a member of a bcache set"]);
    assert!(device(&machine, "sde").ready);
    assert_eq!(device(&machine, "sda").holders, ["dm-0"]);
    assert_eq!(device(&machine, "md127").slaves, ["sdb"]);
    assert_eq!(device(&machine, "md127").identity.bus, Bus::Md);
    // A partition shares the fate of a disk that is used as a whole, not of its siblings.
    machine.device("x/block/sdb/sdb1", "8:17", &[("partition", "1"), ("start", "64")]);
    machine.device("x/block/sda/sda4", "8:4", &[("partition", "4"), ("start", "9000")]);
    let in_use = InUse::now(&machine.roots);
    let of = |name: &str| in_use.of(&machine.roots, &machine.node(name));
    assert!(matches!(&of("sdb1")[..], [Use::Held { .. }]));
    assert!(of("sda4").is_empty());
}

/// Members of ZFS have no holder in sysfs: only their labels show that they are members.
#[test]
fn labels_on_a_described_disk_are_read_through_its_node() {
    let machine = Machine::new();
    machine.device("x/block/sda", "8:0", &[("size", "4096")]);
    let mut disk = vec![0; 4096 * 512];
    disk[128 << 10..][..8].copy_from_slice(&0x00ba_b10c_u64.to_le_bytes());
    machine.write("dev/sda", &disk);
    let sda = device(&machine, "sda");
    assert!(sda.readable);
    let kinds: Vec<&str> = sda.content.signatures.iter().map(|s| s.kind).collect();
    assert_eq!(kinds, ["zfs"]);
    assert!(!sda.ready);
    // Nothing to be read there: no node, and no claim that there is no signature.
    fs::remove_file(machine.path().join("dev/sda")).unwrap();
    let sda = device(&machine, "sda");
    assert!(!sda.readable);
    assert!(sda.content.unread.as_deref().unwrap().contains("No such file"));
    assert!(!sda.ready, "who knows what it carries");
    let [Use::Unread { device: name, why }] = &sda.why_not[..] else { panic!("{:?}", sda.why_not) };
    assert_eq!(name, "sda");
    assert!(why.contains("No such file"), "{why}");

    // The same for a partition of a disk that can be read.
    let machine = Machine::new();
    machine.device("x/block/sdb", "8:16", &[]);
    machine.device("x/block/sdb/sdb1", "8:17", &[("partition", "1"), ("start", "2048")]);
    fs::remove_file(machine.path().join("dev/sdb1")).unwrap();
    let sdb = device(&machine, "sdb");
    assert!(sdb.readable && !sdb.ready);
    let told: Vec<String> = sdb.why_not.iter().map(Use::to_string).collect();
    assert_eq!(told[0], "sdb is partitioned: sdb1");
    assert!(told[1].starts_with("what sdb1 carries is not known ("), "{told:?}");
}

/// This machine's own list holds together, and a loop device made here is in it.
#[test]
fn the_list_of_this_machine() {
    let roots = Roots::default();
    for device in devices::list(&roots) {
        let node = BlockNode::by_number(&roots, device.number.unwrap()).unwrap();
        assert_eq!(node.name(), device.identity.name);
        assert!(device.identity.size_bytes > Bytes::ZERO);
    }
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let made = Loop::new(64 << 20, true);
    let find = || {
        let all = devices::list(&roots);
        all.into_iter().find(|device| device.identity.name == made.name()).unwrap()
    };
    assert!(find().ready, "{:?}", find().why_not);
    assert_eq!(find().backing_file.as_deref(), made.image.to_str());
    assert_eq!(find().identity.bus, Bus::Loop);
    made.mkfs("ext4");
    assert_eq!(find().content.signatures[0].kind, "ext4");
    let mounted = Mounted::new("ext4", made.dev(), "");
    let found = find();
    assert_eq!(found.mounts, [mounted.path()]);
    assert!(matches!(&found.why_not[..], [Use::Mounted { .. }, Use::Signed { .. }]));
}
