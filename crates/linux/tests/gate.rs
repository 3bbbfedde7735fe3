//! Each refusal of the safety gate, on real loop devices and on described machines.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;

use block::Bytes;
use common::{Loop, Machine, Mounted, Partition, has_means, run};
use drivescope_linux::devices::Use;
use drivescope_linux::gate::{self, GateError, Hazard, Reason, Refusal, Request};
use drivescope_linux::sysfs::{DevNo, Roots};

const SIZE: u64 = 64 << 20;

fn request(consent: &str, allow: &[&str]) -> Request {
    Request {
        bytes_to_write: Some(Bytes::mib(32)),
        allow: allow.iter().map(|word| word.parse().unwrap()).collect::<BTreeSet<Hazard>>(),
        consent: Some(consent.to_owned()),
    }
}

fn refused(roots: &Roots, path: &Path, request: &Request) -> Refusal {
    match gate::check(roots, path, request) {
        Err(GateError::Refused(refusal)) => *refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// The uses for which a device is refused whatever the user says.
fn in_use(device: &Loop) -> Vec<Use> {
    let everything = ["partitions", "signature:ext4", "signature:swap", "signature:btrfs"];
    let refusal = refused(&Roots::default(), &device.path, &request(device.name(), &everything));
    assert!(refusal.to_string().contains("no flag overrides this"), "{refusal}");
    let finals = refusal.reasons.into_iter().map(|reason| match reason {
        Reason::InUse(found) => found,
        other => panic!("{other} was not to be expected"),
    });
    finals.collect()
}

/// If this failed, the gate would be a wall: an empty device with consent is writable, exclusively.
#[test]
fn an_empty_device_with_consent_is_held_for_the_whole_run() {
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let permit =
        gate::check(&Roots::default(), &device.path, &request(device.name(), &[])).unwrap();
    permit.file().write_all_at(&[1; 4096], 0).unwrap();
    assert_eq!(permit.cost().drive_writes(), Some(0.5));
    let flags = rustix::fs::fcntl_getfl(permit.file()).unwrap();
    let nonblock = rustix::fs::OFlags::NONBLOCK;
    assert!(!flags.contains(nonblock), "io_uring would answer EAGAIN instead of waiting");
    let mut mkfs = Command::new("mkfs.ext4");
    assert!(!mkfs.args(["-q", "-F", device.dev()]).status().unwrap().success(), "held exclusively");

    let again = refused(&Roots::default(), &device.path, &request(device.name(), &[]));
    let busy = Reason::InUse(Use::Busy { device: device.name().to_owned() });
    assert_eq!(again.reasons, [busy], "two runs must not write to one device");
    drop(permit);
    gate::check(&Roots::default(), &device.path, &request(device.name(), &[])).unwrap();
}

#[test]
fn without_the_right_words_nothing_is_written() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    for consent in [None, Some("yes"), Some(""), Some("loop"), Some("LOOP0")] {
        let wanted = Request {
            bytes_to_write: Some(Bytes::mib(640)),
            consent: consent.map(str::to_owned),
            ..Request::default()
        };
        let refusal = refused(&Roots::default(), &device.path, &wanted);
        assert!(matches!(refusal.reasons[..], [Reason::NoConsent { .. }]), "{refusal}");
        let text = refusal.to_string();
        assert!(text.contains(&format!("--consent {}", device.name())), "{text}");
        assert!(text.contains("640 MiB would be written, 10.000 times its capacity of 64 MiB"));
    }
}

/// Other namespaces that a command reaches are named by a flag of their own; that does not skip the other checks.
#[test]
fn a_device_that_was_named_elsewhere_needs_no_word_and_all_else() {
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (device, roots) = (Loop::new(SIZE, true), Roots::default());
    let silent = Request::default();
    drop(gate::check_named(&roots, &device.path, &silent).unwrap());
    device.mkfs("ext4");
    let refusal = gate::check_named(&roots, &device.path, &silent).unwrap_err().to_string();
    assert!(refusal.contains("--allow signature:ext4"), "{refusal}");
    assert!(!refusal.contains("--consent"), "{refusal}");
    let _mounted = Mounted::new("ext4", device.dev(), "");
    let allowed = request("", &["signature:ext4"]);
    let refusal = gate::check_named(&roots, &device.path, &allowed).unwrap_err().to_string();
    assert!(refusal.contains("is mounted"), "{refusal}");
}

#[test]
fn a_mounted_device_is_refused_whatever_is_said() {
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    device.mkfs("ext4");
    let mounted = Mounted::new("ext4", device.dev(), "");
    // Other tests' processes may have taken the mount along into namespaces of their own.
    let ours = |found: &Use| !matches!(found, Use::Mounted { seen_by: Some(_), .. });
    let uses: Vec<Use> = in_use(&device).into_iter().filter(ours).collect();
    let [Use::Mounted { mount_point, fstype, .. }] = &uses[..] else { panic!("{uses:?}") };
    assert_eq!(mount_point, mounted.path());
    assert_eq!(fstype, "ext4");
    fs::write(mounted.path().join("alive"), "yes").unwrap();
}

/// A container's or another user's mount is not in our own mountinfo.
#[test]
fn a_mount_in_another_namespace_is_seen() {
    if !has_means(&["losetup", "mkfs.ext4", "unshare"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    device.mkfs("ext4");
    let dir = tempfile::tempdir().unwrap();
    let script = format!("mount {} {} && echo up && read wait", device.dev(), dir.path().display());
    let mut child = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    assert_eq!(line, "up\n");
    let uses = in_use(&device);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(matches!(&uses[..], [Use::Mounted { seen_by: Some(_), .. }]), "{uses:?}");
}

struct Swap(String);

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = Command::new("swapoff").arg(&self.0).status();
    }
}

#[test]
fn swap_is_refused_whatever_is_said_as_device_and_as_file() {
    if !has_means(&["losetup", "mkswap", "swapon"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    run("mkswap", &[device.dev()]);
    run("swapon", &[device.dev()]);
    let swap = Swap(device.dev().to_owned());
    let uses = in_use(&device);
    assert_eq!(uses, [Use::Swap { device: device.name().to_owned() }]);
    drop(swap);

    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = dir.path().join("swapfile");
    fs::write(&file, vec![0; 8 << 20]).unwrap();
    run("chmod", &["600", file.to_str().unwrap()]);
    run("mkswap", &[file.to_str().unwrap()]);
    run("swapon", &[file.to_str().unwrap()]);
    let _swap = Swap(file.to_str().unwrap().to_owned());
    let refusal = refused(&Roots::default(), &file, &request("swapfile", &[]));
    assert!(matches!(&refusal.reasons[..], [Reason::InUse(Use::Swap { .. })]), "{refusal}");
}

/// A member of a mounted Btrfs that is not the one the mount names.
#[test]
fn a_second_member_of_a_mounted_btrfs_is_refused() {
    if !has_means(&["losetup", "mkfs.btrfs"]) || !common::filesystem_is_known("btrfs") {
        return common::skip("needs btrfs");
    }
    let (one, two) = (Loop::new(256 << 20, true), Loop::new(256 << 20, true));
    run("mkfs.btrfs", &["-q", "-f", one.dev(), two.dev()]);
    run("btrfs", &["device", "scan", two.dev()]);
    let _mounted = Mounted::new("btrfs", one.dev(), "");
    for device in [&one, &two] {
        let uses = in_use(device);
        assert!(uses.iter().any(|found| matches!(found, Use::Member { .. })), "{uses:?}");
    }
}

#[test]
fn a_read_only_device_is_refused() {
    if !has_means(&["losetup"]) {
        return;
    }
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let image = dir.path().join("image");
    fs::write(&image, vec![0; 1 << 20]).unwrap();
    // Not by blockdev --setro, which outlives the loop and would hit the next user of the device.
    let path = run("losetup", &["-r", "-f", "--show", image.to_str().unwrap()]);
    let device = Loop::attached(dir, path, &image);
    let uses = in_use(&device);
    assert_eq!(uses, [Use::ReadOnly { device: device.name().to_owned() }]);
}

/// Each thing that would be lost has to be named; naming another does not help.
#[test]
fn a_signature_has_to_be_named() {
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    device.mkfs("ext4");
    for allow in [&[][..], &["partitions", "signature:xfs"]] {
        let refusal = refused(&Roots::default(), &device.path, &request(device.name(), allow));
        let [Reason::NotAllowed { hazard, .. }] = &refusal.reasons[..] else { panic!("{refusal}") };
        assert_eq!(hazard.to_string(), "signature:ext4");
        assert!(refusal.to_string().contains("--allow signature:ext4"), "{refusal}");
    }
    let wanted = request(device.name(), &["signature:ext4"]);
    gate::check(&Roots::default(), &device.path, &wanted).unwrap();
}

/// A table that the kernel has not read, as on a disk partitioned a moment ago.
#[test]
fn a_table_without_known_partitions_has_to_be_named() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let image = fs::OpenOptions::new().write(true).open(&device.path).unwrap();
    image.write_all_at(b"EFI PART", 512).unwrap();
    drop(image);
    let refusal = refused(&Roots::default(), &device.path, &request(device.name(), &[]));
    let [Reason::NotAllowed { hazard: Hazard::Partitions, .. }] = &refusal.reasons[..] else {
        panic!("{refusal}")
    };
    let wanted = request(device.name(), &["partitions"]);
    gate::check(&Roots::default(), &device.path, &wanted).unwrap();
}

/// Partitions, and what is in them; and a mounted partition makes the disk untouchable.
#[test]
fn partitions_have_to_be_named_and_mounted_ones_cannot() {
    if !has_means(&["losetup", "addpart", "delpart", "mkfs.ext4"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let _partition = Partition::of(&device);
    let part = format!("{}p1", device.dev());
    run("mkfs.ext4", &["-q", "-F", &part]);

    let refusal = refused(&Roots::default(), &device.path, &request(device.name(), &[]));
    let hazards: Vec<String> = refusal
        .reasons
        .iter()
        .map(|reason| match reason {
            Reason::NotAllowed { hazard, .. } => hazard.to_string(),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(hazards, ["partitions", "signature:ext4"], "{refusal}");
    let wanted = request(device.name(), &["partitions", "signature:ext4"]);
    drop(gate::check(&Roots::default(), &device.path, &wanted).unwrap());

    let mounted = Mounted::new("ext4", &part, "");
    let uses = in_use(&device);
    let name = format!("{}p1", device.name());
    assert!(matches!(&uses[..], [Use::Mounted { device, .. }] if *device == name), "{uses:?}");
    drop(mounted);

    let refusal = refused(&Roots::default(), part.as_ref(), &request(&name, &[]));
    assert_eq!(refusal.reasons.len(), 1, "a partition is not partitioned: {refusal}");
}

/// Holders, serial numbers and by-id names of drives that this machine does not have, upon a loop
/// device that it can open.
#[test]
fn described_drives_are_refused_when_held_and_consent_is_their_serial() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let number = DevNo::from_raw(fs::metadata(&device.path).unwrap().rdev()).to_string();
    let size = (SIZE / 512).to_string();
    let drive = |machine: &Machine, serial: &str| {
        let dir = "pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
        machine.device(
            dir,
            &number,
            &[("size", &size), ("device/serial", serial), ("device/model", "Big One")],
        );
    };
    for (upper, attribute, word) in [
        ("dm-0", "dm/name", "mapped device (vg-home)"),
        ("md0", "md/level", "md array"),
        ("bcache0", "bcache/cache_mode", "bcache device"),
    ] {
        let machine = Machine::new();
        drive(&machine, "S123");
        machine.device(&format!("virtual/block/{upper}"), "252:0", &[(attribute, "vg-home")]);
        machine.stack(upper, "nvme0n1");
        let refusal = refused(&machine.roots, &device.path, &request("S123", &["partitions"]));
        assert!(matches!(&refusal.reasons[..], [Reason::InUse(Use::Held { .. })]), "{refusal}");
        assert!(refusal.to_string().contains(word), "{refusal}");
    }

    let machine = Machine::new();
    drive(&machine, "S123");
    machine.link("dev/nvme0n1", "dev/disk/by-id/nvme-Big_One_S123");
    machine
        .write(&format!("run/udev/data/b{number}"), "S:disk/by-id/nvme-eui.0025\nE:ID_FS_TYPE=\n");
    for right in ["S123", "nvme-Big_One_S123", "/dev/disk/by-id/nvme-eui.0025", " S123 "] {
        gate::check(&machine.roots, &device.path, &request(right, &[])).unwrap();
    }
    for wrong in ["nvme0n1", "s123", "S12", "Big One", device.name()] {
        let refusal = refused(&machine.roots, &device.path, &request(wrong, &[]));
        assert!(refusal.to_string().contains("(Big One)"), "{refusal}");
        assert!(refusal.to_string().contains("--consent S123"), "{refusal}");
    }

    // A bridge without a serial number of its own says zeros: nothing to recognise a drive by.
    let machine = Machine::new();
    drive(&machine, "000000000000");
    refused(&machine.roots, &device.path, &request("000000000000", &[]));
    gate::check(&machine.roots, &device.path, &request("nvme0n1", &[])).unwrap();
}

/// A machine that has `device`, under the directory `dir` of its device tree.
fn described(device: &Loop, dir: &str, attributes: &[(&str, &str)]) -> Machine {
    let number = DevNo::from_raw(fs::metadata(&device.path).unwrap().rdev()).to_string();
    let size = (SIZE / 512).to_string();
    let machine = Machine::new();
    machine.device(dir, &number, &[&[("size", &*size)], attributes].concat());
    machine
}

/// Written to out of order, a zoned drive fails in the middle of a run, or is slow beyond measure; no word of the
/// user's makes it take such writes.
#[test]
fn a_zoned_drive_is_refused_whatever_is_said() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    for (zoned, is_refused) in [("host-managed", true), ("host-aware", true), ("none", false)] {
        let attributes = [("queue/zoned", zoned), ("device/serial", "S1")];
        let machine = described(&device, "pci0000:00/nvme/nvme0/nvme0n1", &attributes);
        let wanted = request("S1", &["partitions"]);
        if !is_refused {
            drop(gate::check(&machine.roots, &device.path, &wanted).unwrap());
            continue;
        }
        let refusal = refused(&machine.roots, &device.path, &wanted);
        let [Reason::InUse(Use::Zoned { model, .. })] = &refusal.reasons[..] else {
            panic!("{refusal}")
        };
        assert_eq!(model, zoned);
        let words = format!("nvme0n1 is a zoned drive ({zoned})");
        assert!(refusal.to_string().contains(&words), "{refusal}");
        assert!(refusal.to_string().contains("measure reads only"), "{refusal}");
        let listed = drivescope_linux::devices::list(&machine.roots);
        assert!(!listed[0].ready, "devices says what the gate says");
    }
}

/// The word for a partition must not be that of its disk: who meant the one and named the other would lose what was
/// not meant.
#[test]
fn a_partition_has_a_word_of_its_own() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let disk = "pci0000:00/ata1/block/sda";
    let machine =
        described(&device, &format!("{disk}/sda1"), &[("partition", "1"), ("start", "2048")]);
    machine.device(disk, "8:0", &[("device/serial", "S123")]);
    machine.link("dev/sda1", "dev/disk/by-id/ata-Big_One_S123-part1");
    for right in ["S123-part1", "ata-Big_One_S123-part1"] {
        drop(gate::check(&machine.roots, &device.path, &request(right, &[])).unwrap());
    }
    for wrong in ["S123", "sda1", "S123-part2", "S1231"] {
        let refusal = refused(&machine.roots, &device.path, &request(wrong, &[]));
        assert!(refusal.to_string().contains("--consent S123-part1"), "{refusal}");
    }
    // And the other way round.
    let machine = described(&device, disk, &[("device/serial", "S123")]);
    refused(&machine.roots, &device.path, &request("S123-part1", &[]));
    drop(gate::check(&machine.roots, &device.path, &request("S123", &[])).unwrap());
}

/// All namespaces of a drive have its serial number: a slip of one digit in a path would lose another than was meant.
#[test]
fn one_of_several_namespaces_has_a_word_of_its_own() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let nvme = "pci0000:00/nvme/nvme0";
    let of = |nqn, nsid| [("device/serial", "S123"), ("device/subsysnqn", nqn), ("nsid", nsid)];
    let machine = described(&device, &format!("{nvme}/nvme0n2"), &of("nqn.a", "2"));
    // Of another drive that is called the same, and alone.
    machine.device("pci0000:00/nvme/nvme1/nvme1n1", "259:7", &of("nqn.b", "1"));
    drop(gate::check(&machine.roots, &device.path, &request("S123", &[])).unwrap());
    machine.device(&format!("{nvme}/nvme0n1"), "259:8", &of("nqn.a", "1"));
    drop(gate::check(&machine.roots, &device.path, &request("S123-n2", &[])).unwrap());
    for wrong in ["S123", "S123-n1", "S123-part2"] {
        let refusal = refused(&machine.roots, &device.path, &request(wrong, &[])).to_string();
        assert!(refusal.contains("--consent S123-n2"), "{refusal}");
    }
}

/// Without udev a mapped device has no by-id name, and its number is that of the order in which it was made.
#[test]
fn a_mapped_device_is_named_by_its_name_without_udev() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let attributes = [("dm/name", "vg-home"), ("dm/uuid", "LVM-abc")];
    let machine = described(&device, "virtual/block/dm-3", &attributes);
    for right in ["vg-home", "/dev/mapper/vg-home", "LVM-abc"] {
        drop(gate::check(&machine.roots, &device.path, &request(right, &[])).unwrap());
    }
    for wrong in ["dm-3", "home", "vg-home-part1"] {
        let refusal = refused(&machine.roots, &device.path, &request(wrong, &[]));
        assert!(refusal.to_string().contains("the mapped device's name"), "{refusal}");
        assert!(refusal.to_string().contains("--consent vg-home"), "{refusal}");
    }
}

#[test]
fn an_existing_file_is_written_to_only_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("my data");
    fs::write(&file, vec![0; 8192]).unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let machine = Machine::new();
    let roots = machine.roots.clone();
    for path in [&file, &link] {
        for wrong in ["link", "data", "yes"] {
            let refusal = refused(&roots, path, &request(wrong, &[]));
            assert!(refusal.to_string().contains("--consent 'my data'"), "{refusal}");
        }
        let permit = gate::check(&roots, path, &request("my data", &[])).unwrap();
        let again = refused(&roots, path, &request("my data", &[]));
        assert!(matches!(&again.reasons[..], [Reason::InUse(Use::Busy { .. })]), "{again}");
        drop(permit);
    }
    assert_eq!(fs::read(&file).unwrap(), vec![0; 8192], "the gate itself writes nothing");
}

#[test]
fn the_file_under_a_loop_device_is_refused() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let refusal = refused(&Roots::default(), &device.image, &request("image", &[]));
    assert!(matches!(&refusal.reasons[..], [Reason::InUse(Use::LoopBacking { .. })]), "{refusal}");
}

/// A hard link is the same data: under another name the swap or the disk of someone's would be
/// overwritten.
#[test]
fn a_file_in_use_is_known_by_its_other_names() {
    if !has_means(&["losetup", "mkswap", "swapon"]) {
        return;
    }
    let roots = Roots::default();
    let device = Loop::new(SIZE, true);
    let alias = device.image.with_file_name("alias");
    fs::hard_link(&device.image, &alias).unwrap();
    let refusal = refused(&roots, &alias, &request("alias", &[]));
    assert!(matches!(&refusal.reasons[..], [Reason::InUse(Use::LoopBacking { .. })]), "{refusal}");
    // The name that it was attached by leads nowhere any more.
    fs::remove_file(&device.image).unwrap();
    let refusal = refused(&roots, &alias, &request("alias", &[]));
    assert!(matches!(&refusal.reasons[..], [Reason::InUse(Use::LoopBacking { .. })]), "{refusal}");

    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let (file, alias) = (dir.path().join("swapfile"), dir.path().join("alias"));
    fs::write(&file, vec![0; 8 << 20]).unwrap();
    run("chmod", &["600", file.to_str().unwrap()]);
    run("mkswap", &[file.to_str().unwrap()]);
    run("swapon", &[file.to_str().unwrap()]);
    let _swap = Swap(file.to_str().unwrap().to_owned());
    fs::hard_link(&file, &alias).unwrap();
    let refusal = refused(&roots, &alias, &request("alias", &[]));
    assert!(matches!(&refusal.reasons[..], [Reason::InUse(Use::Swap { .. })]), "{refusal}");
    let remedy = format!("(swapoff {})", fs::canonicalize(&alias).unwrap().display());
    assert!(refusal.to_string().contains(&remedy), "{refusal}");
}

/// A virtual machine locks bytes of its image, shared, which `flock` does not see.
#[test]
fn a_file_whose_bytes_are_locked_is_refused() {
    use rustix::fs::FlockOperation;
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("image");
    fs::write(&image, vec![0; 8192]).unwrap();
    let machine = Machine::new();
    let roots = machine.roots.clone();
    let guest = fs::File::open(&image).unwrap();
    rustix::fs::fcntl_lock(&guest, FlockOperation::NonBlockingLockShared).unwrap();
    let refusal = refused(&roots, &image, &request("image", &[]));
    assert!(matches!(&refusal.reasons[..], [Reason::InUse(Use::Busy { .. })]), "{refusal}");
    drop(guest);
    gate::check(&roots, &image, &request("image", &[])).unwrap();
}

/// A loop device claims nothing of a block device under it: no holder, and an exclusive open works.
/// Without a look at what loops lie on, a mounted filesystem would be written over.
#[test]
fn the_device_under_a_loop_device_is_refused() {
    if !has_means(&["losetup", "addpart", "delpart"]) {
        return;
    }
    let under = Loop::new(SIZE, true);
    let attach = |path: &str| {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = run("losetup", &["-f", "--show", path]);
        Loop::attached(dir, path, &under.path)
    };
    let held = |upper: &Loop, device: &str| Use::Held {
        device: device.to_owned(),
        by: upper.name().to_owned(),
        what: "a loop device".to_owned(),
    };
    let upper = attach(under.dev());
    assert_eq!(in_use(&under), [held(&upper, under.name())]);
    let all = drivescope_linux::devices::list(&Roots::default());
    let listed = all.into_iter().find(|device| device.identity.name == under.name()).unwrap();
    assert!(!listed.ready);
    assert_eq!(listed.why_not, [held(&upper, under.name())]);
    drop(upper);
    assert!(drop_is_seen(&under), "free again");

    // On a partition: neither the disk nor the partition is free, and on the disk, no partition is.
    let _partition = Partition::of(&under);
    let (part, name) = (format!("{}p1", under.dev()), format!("{}p1", under.name()));
    let upper = attach(&part);
    assert_eq!(in_use(&under), [held(&upper, &name)]);
    drop(upper);
    let upper = attach(under.dev());
    let refusal = refused(&Roots::default(), part.as_ref(), &request(&name, &[]));
    assert_eq!(refusal.reasons, [Reason::InUse(held(&upper, under.name()))]);
    drop(upper);
}

/// True when the gate opens the device within a second: detaching a loop may end a moment later.
fn drop_is_seen(device: &Loop) -> bool {
    (0..50).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        gate::check(&Roots::default(), &device.path, &request(device.name(), &[])).is_ok()
    })
}

/// Wrong use (exit code 2) is not a refusal (exit code 3).
#[test]
fn what_cannot_be_written_to_at_all_is_an_error_of_its_own() {
    let roots = Roots::default();
    let dir = tempfile::tempdir().unwrap();
    let missing = gate::check(&roots, &dir.path().join("no"), &Request::default());
    assert!(matches!(missing, Err(GateError::Io { action: "find it", .. })), "{missing:?}");
    let pipe = dir.path().join("pipe");
    run("mkfifo", &[pipe.to_str().unwrap()]);
    for path in [dir.path(), Path::new("/dev/null"), &pipe] {
        let kind = gate::check(&roots, path, &Request::default());
        assert!(matches!(kind, Err(GateError::Kind(_))), "{kind:?}");
    }
}

/// A flag for what can never be allowed must not be taken quietly.
#[test]
fn hazards_are_read_and_printed_alike() {
    for text in ["partitions", "signature:ext4"] {
        assert_eq!(text.parse::<Hazard>().unwrap().to_string(), text);
    }
    for text in ["mounted", "swap", "held", "signature", "signature:", ""] {
        let error = text.parse::<Hazard>().unwrap_err().to_string();
        assert!(error.contains("never written to"), "{error}");
    }
}
