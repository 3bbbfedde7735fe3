//! Sessions on a debugfs that is a plain directory, with requests that are played.

use std::sync::Mutex;

use block::trace::{Action, TraceNote};
use tempfile::TempDir;

use super::super::collect::Collector;
use super::super::pump::Pump;
use super::super::stream::tests::record;
use super::super::subject::tests::subject;
use super::*;
use crate::sysfs::Roots;

/// A simulated kernel, on files.
struct Played {
    debugfs: PathBuf,
    told: Mutex<Vec<String>>,
    /// Of what `start` fails.
    fails: Option<i32>,
}

impl Played {
    fn tell(&self, what: &str, disk: &Path) -> String {
        let name = disk.file_name().unwrap().to_str().unwrap().to_owned();
        self.told.lock().unwrap().push(format!("{what} {name}"));
        name
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

impl Control for Played {
    fn start(&self, disk: &Path, _: u32, _: u32) -> io::Result<()> {
        if let Some(error) = self.fails {
            return Err(io::Error::from_raw_os_error(error));
        }
        let dir = self.debugfs.join("block").join(self.tell("start", disk));
        for (name, text) in [("trace0", ""), ("trace1", ""), ("dropped", "0\n"), ("msg", "")] {
            fs::write(dir.join(name), text)?;
        }
        Ok(())
    }

    fn halt(&self, disk: &Path) -> io::Result<()> {
        self.tell("halt", disk);
        Ok(())
    }

    fn end(&self, disk: &Path) -> io::Result<()> {
        let dir = self.debugfs.join("block").join(self.tell("end", disk));
        for name in ["trace0", "trace1", "dropped", "msg"] {
            let _ = fs::remove_file(dir.join(name));
        }
        Ok(())
    }
}

struct Machine {
    dir: TempDir,
    roots: TracerRoots,
    played: Arc<Played>,
}

impl Machine {
    fn new(fails: Option<i32>) -> Machine {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("debug/block/sda")).unwrap();
        let devices =
            Roots { sys: at("sys"), proc: at("proc"), dev: at("dev"), run_udev: at("udev") };
        let roots =
            TracerRoots { devices, tracefs: at("tracing"), debugfs: at("debug"), run: at("run") };
        let played = Played { debugfs: roots.debugfs.clone(), told: Mutex::default(), fails };
        Machine { roots, dir, played: Arc::new(played) }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join("debug/block/sda").join(name)
    }

    fn start(&self) -> Result<Started, String> {
        let subjects = Subjects::new(&[subject("sda", 0, None)]).unwrap();
        start(&self.roots, &subjects, Bytes::mib(4), self.played.clone())
    }

    fn refusal(&self) -> String {
        self.start().map(|_| ()).unwrap_err()
    }
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

// Breaks when two CPUs' streams are mixed up, a loss is not reported, or the session is left behind.
#[test]
fn a_session_is_read_and_ended() {
    let machine = Machine::new(None);
    let started = machine.start().unwrap();
    started.marker.as_ref().unwrap().upgrade().unwrap().mark("here").unwrap();
    assert_eq!(fs::read_to_string(machine.file("msg")).unwrap(), "here");
    assert!(machine.refusal().contains("busy"), "a disk has one session");
    let first = record(1000, 8, 4096, 0x0001_0001, b"");
    append(&machine.file("trace0"), &first[..20]);
    append(&machine.file("trace1"), &record(900, 0, 4096, 0x0001_0001, b""));
    let pump = Pump::start(started.feed, started.decoder, Collector::new(100)).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(30));
    append(&machine.file("trace0"), &first[20..]);
    fs::write(machine.file("dropped"), "7\n").unwrap();
    let shared = pump.shared.clone();
    let (worked, fault) = pump.stop();
    assert_eq!((fault, worked.malformed, worked.late), (None, 0, 0));
    let kept = worked.sink.finish();
    let said: Vec<_> = kept.events.iter().map(|e| (e.time.0, e.sector, e.action)).collect();
    assert_eq!(said, [(900, 0, Action::Queue), (1000, 8, Action::Queue)]);
    assert_eq!(shared.lost.load(std::sync::atomic::Ordering::Relaxed), 7);
    assert!(kept.notes.contains(&TraceNote::Lost { cpu: None, events: 7 }));
    assert_eq!(machine.played.told(), ["start sda", "halt sda", "end sda"]);
    assert!(crate::sysfs::names_in(&machine.roots.run).is_empty(), "a note was left");
}

#[test]
fn each_refusal_has_its_reason() {
    let why = |error| Machine::new(Some(error)).refusal();
    assert!(why(libc::EBUSY).contains("somebody else"));
    assert!(why(libc::ENOTTY).contains("CONFIG_BLK_DEV_IO_TRACE"));
    assert!(why(libc::EPERM).contains("root"));
    let machine = Machine::new(None);
    fs::remove_dir_all(machine.dir.path().join("debug")).unwrap();
    assert!(machine.refusal().contains("debugfs is not mounted"));
}

/// Leaves a session as a killed recorder does: set up and noted, but without an owner.
fn killed(machine: &Machine) {
    machine.played.start(Path::new("/dev/sda"), 0, 0).unwrap();
    fs::create_dir_all(&machine.roots.run).unwrap();
    let which = identity(&machine.file("")).unwrap();
    fs::write(machine.roots.run.join("blktrace-sda"), which).unwrap();
}

// Breaks when a dead recorder's session stays, so that the disk cannot be traced any more.
#[test]
fn the_session_of_a_dead_recorder_is_ended() {
    let machine = Machine::new(None);
    killed(&machine);
    let removed = remove_dead(&machine.roots, &*machine.played);
    assert_eq!(removed, ["a blktrace session on sda"]);
    assert_eq!(machine.played.told(), ["start sda", "end sda"]);
    assert!(remove_dead(&machine.roots, &*machine.played).is_empty(), "once is enough");
}

// Breaks when somebody's session is ended because one of ours was there once.
#[test]
fn a_session_that_came_after_ours_is_left_alone() {
    let machine = Machine::new(None);
    killed(&machine);
    machine.played.end(Path::new("/dev/sda")).unwrap();
    // Or the new file may get the inode and the instant of the old one.
    fs::write(machine.file("other"), "").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    machine.played.start(Path::new("/dev/sda"), 0, 0).unwrap();
    assert!(remove_dead(&machine.roots, &*machine.played).is_empty());
    assert_eq!(machine.played.told(), ["start sda", "end sda", "start sda"]);
}

#[test]
fn the_session_of_a_living_recorder_is_left_alone() {
    let machine = Machine::new(None);
    let started = machine.start().unwrap();
    assert!(remove_dead(&machine.roots, &*machine.played).is_empty());
    drop(started);
    assert_eq!(machine.played.told(), ["start sda", "end sda"]);
}
