//! Restoring what `probe capacity` overwrote: at once after a signal that can be caught, and by `probe --restore` if the
//! process was killed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use common::storage::{Loop, Mounted, has_means};
use common::{Alive, Ran, drivescope, mark, names, run, runs_dir, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The least that is probed is 128 MiB.
const SIZE: u64 = 144 << 20;

fn begin(target: &str, word: &str, more: &[&str]) -> Alive {
    let args = ["probe", "capacity", target, "--write", "--consent", word, "--no-progress"];
    Alive::start(drivescope(args).args(more))
}

fn send(alive: &mut Alive, signal: Signal) {
    kill_process(Pid::from_child(alive.child()), signal).unwrap();
}

fn restore(name: &str, word: &str, more: &[&str]) -> Ran {
    run([&["probe", "--restore", name, "--write", "--consent", word], more].concat())
}

fn originals() -> PathBuf {
    runs_dir().join(".originals")
}

/// The descriptions of saved original data.
fn saved(dir: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    names.filter(|path| path.extension().is_some_and(|end| end == "json")).collect()
}

/// Kills a probe of `device` when something of it is overwritten. It is stopped each time somebody looks, and one that got
/// to its end meanwhile is made again.
fn killed(device: &Loop, before: &[u8], more: &[&str], dir: &Path) -> PathBuf {
    wait_for("the original data to be overwritten", || {
        let mut probe = begin(device.dev(), device.name(), more);
        while probe.child().try_wait().unwrap().is_none() {
            let found = saved(dir).pop();
            if let Some(found) = found {
                send(&mut probe, Signal::STOP);
                if fs::read(&device.path).unwrap() != before && found.exists() {
                    send(&mut probe, Signal::KILL);
                    assert_eq!(probe.end().code, None);
                    return Some(found);
                }
                send(&mut probe, Signal::CONT);
            }
            thread::sleep(Duration::from_millis(1));
        }
        probe.end().exits(0);
        None
    })
}

fn id_of(description: &Path) -> String {
    description.file_stem().unwrap().to_str().unwrap().to_owned()
}

// Breaks when a signal at some moment costs the user data: the moments are spread over a whole probe.
#[test]
fn whatever_ends_a_probe_the_data_is_there_again() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let before = fs::read(&device.path).unwrap();
    let began = Instant::now();
    begin(device.dev(), device.name(), &[]).end().exits(0);
    let life = began.elapsed();
    assert!(fs::read(&device.path).unwrap() == before, "a whole probe");
    let signals = [Signal::KILL, Signal::QUIT, Signal::USR1, Signal::XCPU];
    for (moment, signal) in (1..=8).zip(signals.into_iter().cycle()) {
        let mut probe = begin(device.dev(), device.name(), &[]);
        thread::sleep(life.mul_f64(f64::from(moment) / 9.0));
        // It may have ended by then.
        let _ = kill_process(Pid::from_child(probe.child()), signal);
        let ended = probe.end();
        assert!(ended.code.is_none_or(|code| [0, 130].contains(&code)), "{signal:?}: {ended:?}");
        assert_eq!(
            ended.code.is_none(),
            signal == Signal::KILL && ended.code != Some(0),
            "{ended:?}"
        );
        if !saved(&originals()).is_empty() {
            assert_eq!(ended.code, None, "{signal:?} left original data to be put back: {ended:?}");
            restore("last", device.name(), &[]).exits(0).prints(&["put back"]);
        }
        assert!(fs::read(&device.path).unwrap() == before, "{signal:?} at moment {moment}");
        assert!(saved(&originals()).is_empty());
    }
}

// Breaks when the user does not learn that a drive holds stamps, or when a command makes them the new originals.
#[test]
fn the_next_commands_say_what_is_to_be_put_back_and_do_not_overwrite_it() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let before = fs::read(&device.path).unwrap();
    let id = id_of(&killed(&device, &before, &[], &originals()));
    let hint = format!("drivescope probe --restore {id} {}", device.dev());
    let read = ["--read-only", "--tests=RND4KQ1T1"];
    mark(&device.path, &read).exits(0).says(&[&hint, "was killed before it had put back"]);
    run(["devices", device.dev()]).exits(0).says(&[&hint]);
    assert!(run(["runs", "show", &id]).exits(0).stdout.contains("--restore"));
    let left = fs::read(&device.path).unwrap();
    for args in [
        &["probe", "capacity", device.dev()][..],
        &["probe", "--resume", &id],
        &["runs", "rm", &id, "--yes"],
    ] {
        let mut command = drivescope(args);
        if args[0] == "probe" {
            command.args(["--write", "--consent", device.name(), "--no-progress"]);
        }
        let ran: Ran = command.output().unwrap().into();
        ran.fails(3, &[&hint]);
    }
    // Without consent nothing is written, and another drive gets nothing.
    run(["probe", "--restore", &id]).fails(3, &["--write --consent", device.name()]);
    restore(&id, "loop999", &[]).fails(3, &[device.dev()]);
    let other = Loop::new(SIZE, true);
    restore(&id, other.name(), &[other.dev()]).fails(2, &["is not the drive"]);
    assert!(fs::read(&device.path).unwrap() == left);
    let body = restore(&id, device.name(), &["--json"]).exits(0).body();
    assert!(body["put_back_bytes"].as_u64().unwrap() > 0, "{body}");
    assert!(fs::read(&device.path).unwrap() == before);
    assert_eq!(mark(&device.path, &read).exits(0).said(), "", "nothing is left to tell of");
    restore(&id, device.name(), &[]).fails(2, &[&id]);
}

// Breaks when what the user wrote after the kill is overwritten with older data.
#[test]
fn what_was_changed_since_is_left_alone() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let before = fs::read(&device.path).unwrap();
    let description = killed(&device, &before, &[], &originals());
    let described: Value =
        serde_json::from_str(&fs::read_to_string(&description).unwrap()).unwrap();
    let place = described["places"][0][0].as_u64().unwrap();
    let file = File::options().write(true).open(&device.path).unwrap();
    file.write_all_at(&[0xAB; 4096], place).unwrap();
    file.sync_all().unwrap();
    drop(file);
    restore("last", device.name(), &[])
        .exits(1)
        .prints(&["4 KiB hold something else", "--restore-all"]);
    let mut expected = before.clone();
    expected[place as usize..][..4096].fill(0xAB);
    assert!(fs::read(&device.path).unwrap() == expected);
    assert!(description.exists(), "what was not put back stays saved");
    restore("last", device.name(), &["--restore-all"]).exits(0);
    assert!(fs::read(&device.path).unwrap() == before);
    assert!(!description.exists());
}

// Breaks when the directory that the user names is not used, or is not found again without being named.
#[test]
fn the_user_names_where_the_original_data_is_saved() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let before = fs::read(&device.path).unwrap();
    let dir = common::scratch_dir();
    let keep = format!("--keep-originals={}", dir.path().display());
    let here = dir.path().join(".originals");
    let description = killed(&device, &before, &[&keep, "--no-record"], &here);
    let data = description.with_extension("data");
    assert_eq!(
        names(&originals()),
        [format!("{}.json", id_of(&description))],
        "the data is elsewhere"
    );
    // Damaged data is not written.
    let good = fs::read(&data).unwrap();
    fs::write(&data, &good[1..]).unwrap();
    restore("last", device.name(), &[]).fails(2, &[data.to_str().unwrap()]);
    fs::write(&data, &good).unwrap();
    restore("last", device.name(), &[]).exits(0);
    assert!(fs::read(&device.path).unwrap() == before);
    assert!(saved(&originals()).is_empty() && saved(&here).is_empty() && !data.exists());
}

// Breaks when the only copy lies on the drive that is overwritten.
#[test]
fn original_data_is_not_saved_on_the_drive_that_is_probed() {
    if !has_means(&["losetup", "mkfs.ext4", "addpart", "delpart"]) {
        return;
    }
    let device = Loop::new(2 * SIZE, true);
    let part = |number| format!("{}p{number}", device.dev());
    // Without a partition table: reading one again fails while another program has the device open.
    let sectors = (SIZE / 512 - 2048).to_string();
    for (number, start) in [("1", 2048), ("2", SIZE / 512)] {
        let start = start.to_string();
        common::storage::tool("addpart", &[device.dev(), number, &start, &sectors]);
    }
    common::storage::tool("mkfs.ext4", &["-q", &part(2)]);
    let mounted = Mounted::new("ext4", &part(2), "");
    let runs = mounted.path().join("runs");
    let word = format!("{}p1", device.name());
    let keep = format!("--keep-originals={}", mounted.path().display());
    let elsewhere = common::scratch_dir();
    let probe = |more: &[&str]| -> Ran {
        let args = ["probe", "capacity", &part(1), "--write", "--consent", &word, "--no-progress"];
        let mut command = drivescope(args);
        command.args(more).env("XDG_CACHE_HOME", elsewhere.path());
        command.arg(format!("--runs-dir={}", runs.display())).output().unwrap().into()
    };
    probe(&[&keep]).fails(2, &["lies on the drive that is probed"]);
    let said = probe(&[]);
    let said =
        said.exits(0).says(&["lies on the drive that is probed; the original data is kept in"]);
    let there = elsewhere.path().join("drivescope/originals");
    assert!(said.stderr.contains(there.to_str().unwrap()), "{}", said.stderr);
    assert!(saved(&there).is_empty() && !runs.join(".originals").exists());
    drop(mounted);
    for number in ["1", "2"] {
        common::storage::tool("delpart", &[device.dev(), number]);
    }
}
