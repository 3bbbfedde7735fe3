//! Nothing is written when the kernel's list of users cannot be read: a mount that cannot be seen may
//! still exist.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use common::{Loop, Machine, has_means};
use drivescope_linux::devices::{self, Use};
use drivescope_linux::gate::{self, GateError, Hazard, Reason, Refusal, Request};
use drivescope_linux::sysfs::{DevNo, Roots};

const SIZE: u64 = 16 << 20;

/// A way to hide something: what is done to the machine, and what is not known then.
type Hiding = (&'static str, fn(&Machine), &'static str);

fn consented(to: &str) -> Request {
    Request { consent: Some(to.to_owned()), ..Request::default() }
}

fn allowing(to: &str, hazard: Hazard) -> Request {
    Request { allow: [hazard].into(), ..consented(to) }
}

fn remove(machine: &Machine, path: &str) {
    let path = machine.path().join(path);
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

/// Refused for nothing but what could not be seen.
#[track_caller]
fn unseen(roots: &Roots, path: &Path, consent: &str) -> (Refusal, Vec<&'static str>) {
    let refusal = match gate::check(roots, path, &consented(consent)) {
        Err(GateError::Refused(refusal)) => *refusal,
        other => panic!("not refused: {other:?}"),
    };
    let what = |reason: &Reason| match reason {
        Reason::InUse(Use::Unseen { what, .. }) => Some(*what),
        // Its users as well, which is not final.
        Reason::NotAllowed { hazard: Hazard::UnknownUsers, .. } => None,
        other => panic!("{other} was not to be expected"),
    };
    let all = refusal.reasons.iter().filter_map(what).collect();
    assert!(refusal.to_string().contains("no flag overrides this"), "{refusal}");
    (refusal, all)
}

/// Sources that a sandbox, a container or a kernel of another make can hide.
const HIDDEN: [Hiding; 8] = [
    ("no /proc", |m| remove(m, "proc"), "mounted"),
    ("no mountinfo", |m| remove(m, "proc/self/mountinfo"), "mounted"),
    ("an empty mountinfo", |m| m.write("proc/self/mountinfo", ""), "mounted"),
    ("a mountinfo of another form", |m| m.write("proc/self/mountinfo", "a b c\n"), "mounted"),
    ("no list of swap areas", |m| remove(m, "proc/swaps"), "in use as swap"),
    ("an empty list of swap areas", |m| m.write("proc/swaps", ""), "in use as swap"),
    ("no list of disks", |m| remove(m, "sys/block"), "under a loop device"),
    ("no sysfs", |m| remove(m, "sys"), "in use"),
];

#[test]
fn a_device_of_which_nothing_is_known_is_refused() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let number = DevNo::from_raw(fs::metadata(&device.path).unwrap().rdev()).to_string();
    let machine = || {
        let machine = Machine::new();
        let size = (SIZE / 512).to_string();
        machine.device("pci0/sda", &number, &[("size", &size), ("device/serial", "S123")]);
        machine
    };
    gate::check(&machine().roots, &device.path, &consented("S123")).unwrap();
    for (case, hide, what) in HIDDEN {
        println!("{case}");
        let machine = machine();
        hide(&machine);
        let (refusal, all) = unseen(&machine.roots, &device.path, "S123");
        assert!(all.contains(&what), "{refusal}");
        assert!(refusal.to_string().contains("is unknown"), "{refusal}");
    }
    assert_eq!(fs::read(&device.image).unwrap(), vec![0; SIZE as usize]);
}

#[test]
fn a_file_of_which_nothing_is_known_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("image");
    fs::write(&file, vec![0; 8192]).unwrap();
    gate::check(&Machine::new().roots, &file, &consented("image")).unwrap();
    for (case, hide, what) in HIDDEN {
        println!("{case}");
        let machine = Machine::new();
        hide(&machine);
        // The gate still knows that no process has it open; but a layer of an overlay need not be open.
        let wanted = match what {
            "mounted" if case != "no /proc" => {
                let refusal = gate::check(&machine.roots, &file, &consented("image")).unwrap_err();
                assert!(refusal.to_string().contains("--allow unknown:users"), "{refusal}");
                let allowed = allowing("image", Hazard::UnknownUsers);
                gate::check(&machine.roots, &file, &allowed).unwrap();
                continue;
            }
            "mounted" => "in use as swap",
            "in use" => "under a loop device",
            what => what,
        };
        let (refusal, all) = unseen(&machine.roots, &file, "image");
        assert_eq!(all, [wanted], "{refusal}");
    }
}

/// A kernel without swap has no list of it; refusing there would make the gate a wall.
#[test]
fn a_kernel_without_swap_says_so_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("image");
    fs::write(&file, vec![0; 8192]).unwrap();
    let machine = Machine::new();
    remove(&machine, "proc/swaps");
    machine.write("proc/meminfo", "MemTotal: 1024 kB\nSwapTotal:       0 kB\n");
    gate::check(&machine.roots, &file, &consented("image")).unwrap();
    machine.write("proc/meminfo", "MemTotal: 1024 kB\nSwapTotal:    2048 kB\n");
    let (_, all) = unseen(&machine.roots, &file, "image");
    assert_eq!(all, ["in use as swap"]);
}

/// `devices` shows the reasons against writing before anybody tries.
#[test]
fn a_device_that_may_be_in_use_is_listed_as_not_ready() {
    let machine = Machine::new();
    machine.device("pci0/sda", "8:0", &[]);
    assert!(devices::list(&machine.roots)[0].ready);
    machine.write("proc/swaps", "");
    let listed = devices::list(&machine.roots).remove(0);
    assert!(!listed.ready && listed.readable);
    let [Use::Unseen { device, what: "in use as swap", .. }] = &listed.why_not[..] else {
        panic!("{:?}", listed.why_not)
    };
    assert_eq!(device, "sda");
}

/// In a container, or for a user who may not look into other processes, the gate does not see who has a device open.
/// It must neither take that for "not in use" nor refuse for good: a user who knows more may allow it, by that name
/// and no other.
#[test]
fn users_that_cannot_be_seen_have_to_be_allowed_by_name() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let number = DevNo::from_raw(fs::metadata(&device.path).unwrap().rdev()).to_string();
    let machine = || {
        let machine = Machine::new();
        let size = (SIZE / 512).to_string();
        machine.device("pci0/sda", &number, &[("size", &size), ("device/serial", "S123")]);
        machine
    };
    for (hidden, why) in
        [("proc/self/ns/pid", "this container"), ("proc/1", "of other users are hidden")]
    {
        let machine = machine();
        remove(&machine, hidden);
        for request in [consented("S123"), allowing("S123", Hazard::Partitions)] {
            let refusal = gate::check(&machine.roots, &device.path, &request).unwrap_err();
            let refusal = refusal.to_string();
            assert!(refusal.contains(why), "{refusal}");
            assert!(refusal.contains("--allow unknown:users"), "{refusal}");
            assert!(!refusal.contains("no flag"), "{refusal}");
        }
        let allowed = allowing("S123", Hazard::UnknownUsers);
        gate::look(&machine.roots, &device.path, &allowed).unwrap();
        gate::check(&machine.roots, &device.path, &allowed).unwrap();
    }
}
