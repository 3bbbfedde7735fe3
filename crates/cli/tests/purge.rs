//! Purging through the command line: it erases everything with consent, nothing without, and its messages are true.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::process::Stdio;
use std::time::Duration;

use common::storage::{Loop, Mounted, has_means};
use common::{Alive, Ran, drivescope, run, runs_dir};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const SIZE: u64 = 64 << 20;

fn purge(device: &str, more: &[&str]) -> Ran {
    run([&["purge", device], more].concat())
}

/// Puts data at both ends too, where `Loop` leaves zeros so that nothing is taken for a table.
fn fill(device: &Loop) {
    let file = fs::File::options().write(true).open(&device.image).unwrap();
    let noise: Vec<u8> =
        (0..1_u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    file.write_all_at(&noise[4096..], 4096).unwrap();
    file.sync_all().unwrap();
}

fn outcome(ran: &Ran) -> Value {
    ran.body()["outcome"].clone()
}

#[test]
fn a_device_is_emptied_by_discard_and_by_zeros_and_read_back() {
    if !has_means(&["losetup"]) {
        return;
    }
    for method in ["auto", "zero"] {
        let device = Loop::new(SIZE, true);
        fill(&device);
        let args = ["--method", method, "--consent", device.name(), "--json"];
        let ran = purge(device.dev(), &args).exits(0);
        let (body, outcome) = (ran.body(), outcome(&ran));
        assert_eq!(body["method"], if method == "auto" { "discard" } else { "zero" });
        assert_eq!(body["blast_radius"], serde_json::json!([device.name()]));
        assert_eq!(outcome["status"], "done", "{outcome}");
        assert_eq!(outcome["done_share"], 1.0);
        let seen = &outcome["verified"]["read_back"];
        assert_eq!((&seen["verdict"], &seen["kept"]), (&"proven".into(), &0.into()), "{seen}");
        assert_eq!(seen["zero_share"], 1.0, "{seen}");
        assert!(seen["held_data_before"].as_u64().unwrap() > 700, "{seen}");
        assert!(fs::read(&device.image).unwrap().iter().all(|byte| *byte == 0));
        // It is recorded, and can be seen again.
        let id = ran.json()["envelope"]["run_id"].as_str().unwrap().to_owned();
        run(["runs", "show", &id]).exits(0).prints(&["purge", "confirmed by reading back"]);
        run(["run", "--resume", &id]).fails(2, &["finished"]);
        run(["rerun", &id]).fails(2, &["purge"]);
    }
}

#[test]
fn nothing_is_touched_without_consent_and_all_of_it_is_named_first() {
    if !has_means(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let content = || fs::read(&device.image).unwrap();
    let before = content();
    let refused = |args: &[&str], words: &[&str]| purge(device.dev(), args).fails(3, words);
    refused(&[], &["--consent", device.name()]);
    refused(&["--consent", "loop-of-someone-else"], &["loop-of-someone-else"]);
    let dry = purge(device.dev(), &["--dry-run", "--json"]).exits(0);
    // Obstacles are reported before anything is tried.
    let dry = dry.says(&["without --dry-run: refused", "--consent"]);
    assert_eq!(dry.body()["outcome"], Value::Null);
    let zeros = purge(device.dev(), &["--dry-run", "--method", "zero"]).exits(0);
    zeros.says(&["would be written, 1.000 times its capacity"]);
    assert!(content() == before, "something was lost");

    device.mkfs("ext4");
    let before = content();
    refused(&["--consent", device.name()], &["ext4", "--allow signature:ext4"]);
    assert!(content() == before, "something was lost");
    {
        let _mounted = Mounted::new("ext4", device.dev(), "");
        let args = ["--consent", device.name(), "--allow", "signature:ext4,partitions"];
        refused(&args, &["mounted", "no flag"]);
    }
    let args = ["--consent", device.name(), "--allow", "signature:ext4"];
    purge(device.dev(), &args).exits(0).prints(&["confirmed by reading back"]);
    assert!(content().iter().all(|byte| *byte == 0));
}

/// Partitions that the kernel still shows after their table is gone would mislead the next program.
#[test]
fn partitions_are_named_first_and_gone_afterwards() {
    if !has_means(&["losetup"]) {
        return;
    }
    let dir = common::scratch_dir();
    let image = dir.path().join("image");
    common::written_file(&image, SIZE);
    let file = fs::File::options().write(true).open(&image).unwrap();
    file.write_all_at(&vec![0; 1 << 20], 0).unwrap();
    // An MBR with one partition of 32 MiB at 1 MiB.
    let mut table = [0_u8; 66];
    table[4] = 0x83;
    table[8..12].copy_from_slice(&2048_u32.to_le_bytes());
    table[12..16].copy_from_slice(&65536_u32.to_le_bytes());
    table[64..].copy_from_slice(&[0x55, 0xaa]);
    file.write_all_at(&table, 446).unwrap();
    file.sync_all().unwrap();
    let device = Loop::on(dir, &image, &["--direct-io=on", "--partscan"]);
    purge(device.dev(), &["--consent", device.name()]).fails(3, &["--allow partitions"]);
    let args = ["--consent", device.name(), "--allow=partitions", "--json"];
    let ran = purge(device.dev(), &args).exits(0);
    let partition = format!("/sys/block/{0}/{0}p1", device.name());
    assert!(!std::path::Path::new(&partition).exists(), "{:?}", ran.body()["caveats"]);
}

/// A time limit that is over before the second slice: what is said is how far it came.
#[test]
fn what_is_not_waited_for_is_not_called_done() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE * 2, true);
    fill(&device);
    let args = ["--method=zero", "--timeout=1ns", "--consent", device.name(), "--json"];
    let ran = purge(device.dev(), &args).exits(1);
    let outcome = outcome(&ran);
    assert_eq!(outcome["status"], "stopped", "{outcome}");
    assert_eq!(outcome["verified"]["read_back"]["verdict"], "refuted", "{outcome}");
    assert!(outcome["words"].as_str().unwrap().contains("its time was up"), "{outcome}");
    assert!(fs::read(&device.image).unwrap().iter().any(|byte| *byte != 0));
}

#[test]
fn what_is_no_drive_or_has_no_such_way_is_told_apart() {
    let dir = common::scratch_dir();
    let file = dir.path().join("file");
    fs::write(&file, vec![1; 1 << 20]).unwrap();
    purge(file.to_str().unwrap(), &["--consent=file"]).fails(2, &["not a block device"]);
    purge("/dev/does-not-exist", &[]).fails(2, &["does-not-exist"]);
    purge("sim:mlc-nvme", &["--method=secure-discard"]).fails(2, &["only an eMMC"]);
    purge("sim:mlc-nvme", &["--method=discard", "--ses=1"]).fails(2, &["--ses", "nvme-format"]);
    purge("sim:hdd-7200", &[]).fails(2, &["Neither is a purge"]);
    purge("sim:mlc-nvme", &["--method=burn"]).fails(2, &["burn", "secure-discard"]);
    assert_eq!(fs::read(&file).unwrap(), vec![1; 1 << 20]);
    assert!(drivescope(["purge"]).output().unwrap().status.code() == Some(2));
    assert!(runs_dir().exists());
}

/// A drive that says that it discarded, and did not: the whole reason for reading back.
#[test]
fn a_drive_that_ignores_discards_is_found_out() {
    let sound = purge("sim:sata-a", &["--seed=7", "--json"]).exits(0);
    assert_eq!(outcome(&sound)["verified"]["read_back"]["verdict"], "proven");
    let page = purge("sim:sata-a?faults.ignores_discard=true", &["--seed=7"]).exits(1).stdout;
    assert!(page.lines().nth(1).is_some_and(|line| line.starts_with("  ✗ ")), "{page}");
    let deaf = purge("sim:sata-a?faults.ignores_discard=true", &["--seed=7", "--json"]).exits(1);
    let outcome = outcome(&deaf);
    assert_eq!(outcome["status"], "done", "the drive says so: {outcome}");
    let seen = &outcome["verified"]["read_back"];
    assert_eq!(seen["verdict"], "refuted", "{seen}");
    assert_eq!(seen["kept"], seen["samples"], "{seen}");
    let again = purge("sim:sata-a?faults.ignores_discard=true", &["--seed=7", "--json"]);
    assert_eq!(again.body(), deaf.body(), "one seed, one result");
}

/// Ctrl-C in the middle of hours of writing: what is said is how far it came.
#[test]
fn ctrl_c_ends_in_a_report() {
    let args = ["purge", "sim:hdd-7200", "--method=zero", "--seed=7", "--json", "--no-record"];
    let mut child = Alive::start(drivescope(args).stdout(Stdio::piped()).stderr(Stdio::piped()));
    std::thread::sleep(Duration::from_secs(2));
    let pid = Pid::from_child(child.child());
    kill_process(pid, Signal::INT).unwrap();
    let ran = child.end().exits(130);
    let outcome = outcome(&ran);
    assert_eq!(outcome["status"], "stopped", "{outcome}");
    let share = outcome["done_share"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&share), "{outcome}");
    assert!(outcome["words"].as_str().unwrap().contains("on request"), "{outcome}");
    assert_eq!(outcome["verified"]["read_back"]["verdict"], "refuted", "{outcome}");
}
