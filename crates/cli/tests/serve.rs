//! `sim serve` as its users start and end it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use common::served::Server;
use common::{run, wait_for};
use rustix::process::Signal;

fn is_mounted(dir: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().any(|line| line.split(' ').nth(4) == dir.to_str())
}

// Breaks when a script cannot find out where the drive is, or Ctrl-C leaves a mount that hangs on access.
#[test]
fn it_says_where_the_drive_is_and_leaves_nothing_behind() {
    let Some(mut server) = Server::start(&["hdd-7200?seed=7"]) else { return };
    assert_eq!(server.beginning["envelope"]["schema"], "drivescope.sim.serve/1");
    let body = &server.beginning["body"];
    assert_eq!(body["file"], server.file().to_str().unwrap());
    assert_eq!(body["drive"]["capacity_bytes"], 4_000_787_030_016_u64);
    let file = File::options().read(true).write(true).open(server.file()).unwrap();
    file.write_all_at(&[9; 4096], 1 << 30).unwrap();
    let mut seen = [0; 8192];
    file.read_exact_at(&mut seen, 1 << 30).unwrap();
    assert!(seen[..4096].iter().all(|b| *b == 9) && seen[4096..].iter().all(|b| *b == 0));
    drop(file);
    server.signal(Signal::INT);
    let (ran, dir) = server.end();
    let ran = ran.exits(0);
    let body = ran.body();
    assert_eq!((&body["reads"], &body["writes"]), (&1.into(), &1.into()));
    assert_eq!((&body["read_bytes"], &body["write_bytes"]), (&8192.into(), &4096.into()));
    assert_eq!((&body["errors"], &body["was_busy"]), (&0.into(), &false.into()));
    assert!(body["late_max_ns"].as_u64().unwrap() > 0);
    assert!(!is_mounted(dir.path()));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

// Breaks when a server continues for a drive that cannot be reached any more.
#[test]
fn unmounting_it_ends_the_service() {
    let Some(server) = Server::start(&["hdd-7200"]) else { return };
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return;
    }
    let umount = Command::new("umount").arg(server.dir.path()).status().unwrap();
    assert!(umount.success());
    let (ran, _dir) = server.end();
    ran.exits(0);
}

// Breaks when Ctrl-C waits for programs that have the drive open, or the mount stays.
#[test]
fn a_drive_in_use_is_pulled_out() {
    let Some(mut server) = Server::start(&["hdd-7200"]) else { return };
    let file = File::open(server.file()).unwrap();
    server.signal(Signal::TERM);
    let (ran, dir) = server.end();
    let ran = ran.exits(0).says(&["some program has it open still"]);
    assert_eq!(ran.body()["was_busy"], true);
    assert!(!is_mounted(dir.path()));
    assert!(file.read_at(&mut [0; 512], 0).is_err());
}

// Breaks when Ctrl-C that reaches the server twice, from the terminal and from a script's trap, ends it before
// it has removed its mount: any access to the directory then fails.
#[test]
fn being_asked_twice_at_once_leaves_no_dead_mount() {
    for _ in 0..5 {
        let Some(mut server) = Server::start(&["hdd-7200"]) else { return };
        server.signal(Signal::INT);
        server.signal(Signal::TERM);
        server.signal(Signal::INT);
        let (ran, dir) = server.end();
        let left = is_mounted(dir.path());
        if left {
            let _ = Command::new("umount").arg("-l").arg(dir.path()).status();
        }
        assert!(!left, "{:?} {}", ran.code, ran.stderr);
        ran.exits(0);
    }
}

// Breaks when the remains of a killed server lead to an incomprehensible error.
#[test]
fn a_dead_mount_is_told_from_a_missing_directory() {
    let Some(mut server) = Server::start(&["hdd-7200"]) else { return };
    server.signal(Signal::KILL);
    let (_, dir) = server.end();
    wait_for("the kernel to notice", || fs::read_dir(dir.path()).err());
    let path = dir.path().to_str().unwrap();
    run(["sim", "serve", "hdd-7200", path]).fails(2, &["server died", "fusermount3 -u", path]);
    let umount = |tool: &str, flag: &str| {
        Command::new(tool).args([flag, path]).status().is_ok_and(|s| s.success())
    };
    assert!(umount("umount", "-l") || umount("fusermount3", "-uz"));
    run(["sim", "serve", "hdd-7200", &format!("{path}/none")]).fails(2, &["mkdir -p"]);
    run(["sim", "serve", "hdd-7201", path]).fails(2, &["hdd-7201", "hdd-7200"]);
    run(["sim", "serve", "hdd-7200", path, "--store", "/nonexistent"]).fails(2, &["/nonexistent"]);
}

// Breaks when a full store is reported as a failing drive, without what to do.
#[test]
fn a_full_store_says_what_to_do() {
    let Some(mut server) = Server::start(&["hdd-7200", "--memory=64KiB"]) else { return };
    let file = File::options().write(true).open(server.file()).unwrap();
    let data: Vec<u8> = (0..1 << 20).map(|i: u32| (i % 251) as u8).collect();
    assert_eq!(file.write_all_at(&data, 0).unwrap_err().raw_os_error(), Some(28));
    drop(file);
    // The note is said by a look that comes twenty times a second.
    std::thread::sleep(std::time::Duration::from_millis(300));
    server.signal(Signal::INT);
    let (ran, _dir) = server.end();
    let ran = ran.exits(0).says(&["--memory", "--store", "64KiB"]);
    assert_eq!(ran.body()["writes_without_room"], 1);
}

// Breaks when a loop device on it is none: the way to a block device of a virtual drive.
#[test]
fn a_loop_device_makes_a_block_device_of_it() {
    let Some(mut server) = Server::start(&["hdd-7200?capacity=16GB"]) else { return };
    if !common::storage::has_means(&["losetup", "blockdev"]) {
        return;
    }
    let file = server.file();
    let path = file.to_str().unwrap();
    let device = common::storage::tool("losetup", &["-f", "--show", "--direct-io=on", path]);
    let size = common::storage::tool("blockdev", &["--getsize64", &device]);
    let is_direct = common::storage::tool("losetup", &["-n", "-O", "DIO", &device]);
    let block = File::options().read(true).write(true).open(&device).unwrap();
    let data: Vec<u8> = (0..3 << 20).map(|i: u32| (i % 241) as u8).collect();
    block.write_all_at(&data, 5 << 20).unwrap();
    block.sync_all().unwrap();
    let mut seen = vec![0; data.len()];
    File::open(&file).unwrap().read_exact_at(&mut seen, 5 << 20).unwrap();
    drop(block);
    common::storage::tool("losetup", &["-d", &device]);
    assert_eq!((size.as_str(), is_direct.trim()), ("16000000000", "1"));
    assert!(seen == data);
    // Detaching ends a moment later.
    let attached = format!("/sys/block/{}/loop/backing_file", device.trim_start_matches("/dev/"));
    wait_for("the loop device to go", || (!Path::new(&attached).exists()).then_some(()));
    server.signal(Signal::INT);
    let (ran, _dir) = server.end();
    assert!(ran.exits(0).body()["flushes"].as_u64().unwrap() > 0);
}
