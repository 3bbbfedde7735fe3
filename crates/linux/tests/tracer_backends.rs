//! The other ways to record, on this kernel.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::{common, tracer_kit};

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use block::Bytes;
use block::trace::{Action, TraceEvent, TraceNote, Traits};
use drivescope_linux::sysfs::Roots;
use drivescope_linux::tracer::{
    self, Backend, Collected, Collector, Options, Recorded, Subject, Tracer, TracerError,
    TracerRoots,
};
use rustix::fs::OFlags;
use tempfile::TempDir;

use common::{Loop, has_means};
use tracer_kit::{TRACING, assert_alike, can_trace, only_tracer};

/// Settings that others may have made, and that a recorder must restore.
fn settings() -> Vec<String> {
    let names = [
        "current_tracer",
        "trace_clock",
        "options/bin",
        "options/context-info",
        "options/overwrite",
    ];
    names.map(|name| fs::read_to_string(Path::new(TRACING).join(name)).unwrap()).to_vec()
}

fn roots(run: &TempDir) -> TracerRoots {
    TracerRoots { run: run.path().to_owned(), ..TracerRoots::default() }
}

fn start(
    device: &Path,
    backend: Backend,
    roots: TracerRoots,
) -> Result<Tracer<Collector>, TracerError> {
    let subject = Subject::find(&Roots::default(), device).unwrap();
    let options = Options { backend: Some(backend), buffer: None, roots };
    tracer::start(&[subject], &options, Collector::new(1 << 20))
}

/// As above; waits a while for a tracer of which the machine has one.
fn start_when_free(device: &Path, roots: &TracerRoots) -> Tracer<Collector> {
    for _ in 0..200 {
        match start(device, Backend::BlkTracer, roots.clone()) {
            Err(TracerError::NoBackend(unused)) if unused[0].why.starts_with("busy") => {
                std::thread::sleep(Duration::from_millis(50));
            }
            started => return started.unwrap_or_else(|error| panic!("{error}")),
        }
    }
    panic!("the tracer blk is busy all the time");
}

fn stop(tracer: Tracer<Collector>) -> (Collected, Recorded) {
    let (collector, recorded) = tracer.stop();
    assert_eq!((&recorded.fault, recorded.malformed, recorded.lost), (&None, 0, 0));
    (collector.finish(), recorded)
}

/// Direct I/Os: writes of 4 KiB and reads of 16 KiB in turn.
fn issue(path: &Path, count: u64) -> Vec<(u64, u32, bool)> {
    let flags = OFlags::DIRECT.bits().cast_signed();
    let file: File =
        OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).unwrap();
    let mut memory = vec![0x5a; 32 << 10];
    let skip = memory.as_ptr().align_offset(4096);
    let one = |n: u64| {
        let (length, is_write) = if n.is_multiple_of(2) { (4096, true) } else { (16_384, false) };
        let offset = n.wrapping_mul(7919) % 256 * 16_384;
        let buffer = &mut memory[skip..skip + length];
        if is_write {
            file.write_all_at(buffer, offset).unwrap();
        } else {
            file.read_exact_at(buffer, offset).unwrap();
        }
        (offset / 512, length as u32, is_write)
    };
    (0..count).map(one).collect()
}

fn told(kept: &Collected, action: Action) -> Vec<(u64, u32, bool)> {
    let events = kept.events.iter().filter(|event| event.action == action);
    events.map(|e| (e.sector, e.bytes, e.traits.has(Traits::WRITE))).collect()
}

// Breaks when this tracer records less or something else than the tracepoints do, or is left on.
#[test]
fn the_tracer_blk_tells_all_and_is_put_back() {
    if !can_trace() {
        return;
    }
    let device = Loop::new(8 << 20, true);
    let run = tempfile::tempdir().unwrap();
    let roots = roots(&run);
    let _only = only_tracer();
    let found = settings();
    let tracer = start_when_free(&device.path, &roots);
    assert_eq!(tracer.backend(), Backend::BlkTracer);
    assert_eq!(fs::read_to_string(format!("{TRACING}/current_tracer")).unwrap().trim(), "blk");
    let second =
        start(&device.path, Backend::BlkTracer, roots).map(|_| ()).unwrap_err().to_string();
    assert!(second.contains("busy"), "{second}");
    let first = issue(&device.path, 100);
    tracer.mark("half").unwrap();
    let rest = issue(&device.path, 100);
    let (kept, recorded) = stop(tracer);
    let all = [first, rest].concat();
    for action in [Action::Queue, Action::Issue, Action::Complete] {
        assert_eq!(told(&kept, action), all, "{action:?}");
    }
    let mark = kept.notes.iter().find_map(|note| match note {
        TraceNote::Message { time, text } if text == "half" => Some(*time),
        _ => None,
    });
    let queued = |event: &&TraceEvent| event.action == Action::Queue;
    let before = kept.events.iter().filter(queued).filter(|event| event.time < mark.unwrap());
    assert_eq!(before.count(), 100, "the mark is not where it was made");
    assert_eq!(recorded.late, 0);
    assert_eq!(fs::read_to_string(format!("{TRACING}/current_tracer")).unwrap().trim(), "nop");
    assert_eq!(settings(), found, "something was not put back");
    let enable = format!("/sys/block/{}/trace/enable", device.name());
    assert_eq!(fs::read_to_string(enable).unwrap().trim(), "0");
    assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
}

/// Causes plugs, merges, splits and flushes on a device, with reads, flushed writes and discards.
fn exercise(device: &Loop) {
    let path = device.dev();
    let zeros = "if=/dev/zero";
    common::run(
        "dd",
        &[zeros, &format!("of={path}"), "bs=1M", "count=12", "conv=fsync", "status=none"],
    );
    common::run(
        "dd",
        &[&format!("if={path}"), "of=/dev/null", "bs=2M", "count=4", "iflag=direct", "status=none"],
    );
    common::run(
        "dd",
        &[zeros, &format!("of={path}"), "bs=4k", "count=60", "oflag=dsync", "status=none"],
    );
    common::run("blkdiscard", &["-o", "4194304", "-l", "1048576", path]);
    common::run("blkdiscard", &["-z", "-o", "6291456", "-l", "262144", path]);
    issue(&device.path, 50);
}

/// An event without its time, which each tracer takes for itself. The tracer `blk` distinguishes an unplug by the
/// scheduler from one by the task, the tracepoint does not; and it says of a flush without data that it reads.
fn alike(event: &TraceEvent) -> String {
    let TraceEvent { sector, bytes, device, pid, cpu, action, traits, error, extra, .. } = *event;
    let action = if action == Action::UnplugTimer { Action::Unplug } else { action };
    let is_flush = bytes == 0 && traits.has(Traits::FLUSH);
    let is_plug = matches!(action, Action::Plug | Action::Unplug);
    let traits = match (is_plug, is_flush) {
        // Nothing is transferred by a plug, which the tracer calls a read.
        (true, _) => 0,
        (_, true) => traits.0 & !(Traits::READ | Traits::WRITE).0,
        // Version 1 of the records has no word for zeroes that are written without being transferred.
        _ => traits.0 & !Traits::WRITE_ZEROES.0,
    };
    let sector = if is_flush { 0 } else { sector };
    // The tracepoint does not report a split's length.
    let bytes = if action == Action::Split { 0 } else { bytes };
    format!(
        "{action:?} {device} {sector}+{bytes} {traits:#x} by {pid} on {cpu}, {error}, {extra:?}"
    )
}

// Breaks when the tracepoints are taken for something else than what the kernel's own tracer makes of them: an action,
// a flag, the device of a plug, which the tracepoint does not name.
#[test]
fn tracepoints_and_the_tracer_blk_tell_the_same() {
    if !can_trace() || !has_means(&["dd", "blkdiscard"]) {
        return;
    }
    let (device, other) = (Loop::new(16 << 20, true), Loop::new(16 << 20, true));
    let run = tempfile::tempdir().unwrap();
    let roots = roots(&run);
    let _only = only_tracer();
    for scheduler in ["none", "mq-deadline"] {
        let chosen = format!("/sys/block/{}/queue/scheduler", device.name());
        if fs::write(chosen, scheduler).is_err() {
            continue;
        }
        let theirs = start_when_free(&device.path, &roots);
        let ours = start(&device.path, Backend::Tracepoints, roots.clone()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| exercise(&other));
            exercise(&device);
        });
        let (ours, _) = stop(ours);
        let (theirs, _) = stop(theirs);
        let seen = |action| theirs.events.iter().filter(|event| event.action == action).count();
        for action in
            [Action::Plug, Action::Unplug, Action::BackMerge, Action::GetRequest, Action::Insert]
        {
            println!("{scheduler}: {action:?} {}", seen(action));
        }
        assert!(seen(Action::Plug) > 100 && seen(Action::GetRequest) > 100);
        // On each CPU in the same order; between CPUs the two tracers' clocks are read at different instants. An
        // interrupt that completes a request may come when one of them has noted what is interrupted and the other not.
        for cpu in theirs.events.iter().map(|event| event.cpu).collect::<BTreeSet<_>>() {
            for completes in [false, true] {
                let of = |kept: &Collected| -> Vec<String> {
                    let events = kept.events.iter().filter(|event| event.cpu == cpu);
                    let some =
                        events.filter(|event| (event.action == Action::Complete) == completes);
                    some.map(alike).collect()
                };
                assert_alike(&format!("{scheduler}, CPU {cpu}"), &of(&ours), &of(&theirs));
            }
        }
    }
}

// Breaks when what was set before something failed is left as it is: here, a buffer that no memory is enough for.
#[test]
fn a_start_that_fails_half_way_puts_everything_back() {
    if !can_trace() {
        return;
    }
    let device = Loop::new(4 << 20, true);
    let run = tempfile::tempdir().unwrap();
    let _only = only_tracer();
    let found = settings();
    for backend in [Backend::Tracepoints, Backend::BlkTracer] {
        let subject = Subject::find(&Roots::default(), &device.path).unwrap();
        let buffer = Some(Bytes(1 << 50));
        let options = Options { backend: Some(backend), buffer, roots: roots(&run) };
        let error = tracer::start(&[subject], &options, Collector::new(1)).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("buffer_size_kb"), "{error}");
        assert_eq!(settings(), found, "{backend} left something behind");
    }
    assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
}

/// debugfs, mounted for a test.
struct Debugfs(TempDir);

impl Debugfs {
    fn mount() -> Debugfs {
        let dir = tempfile::tempdir().unwrap();
        common::run("mount", &["-t", "debugfs", "none", dir.path().to_str().unwrap()]);
        Debugfs(dir)
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

impl Drop for Debugfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

// Breaks when sessions of blktrace's kind are not read, or, where a locked kernel forbids it, are left set up.
#[test]
fn the_relay_tells_all_or_says_that_the_kernel_is_locked_down() {
    if !can_trace() || !has_means(&["mount"]) {
        return;
    }
    let device = Loop::new(8 << 20, true);
    let debugfs = Debugfs::mount();
    let run = tempfile::tempdir().unwrap();
    let roots = TracerRoots { debugfs: debugfs.path(), ..roots(&run) };
    match start(&device.path, Backend::Blktrace, roots.clone()) {
        Ok(tracer) => {
            let all = issue(&device.path, 200);
            tracer.mark("end").unwrap();
            let (kept, _) = stop(tracer);
            for action in [Action::Queue, Action::Issue, Action::Complete] {
                assert_eq!(told(&kept, action), all, "{action:?}");
            }
            let marked =
                |note: &TraceNote| matches!(note, TraceNote::Message { text, .. } if text == "end");
            assert!(kept.notes.iter().any(marked));
        }
        Err(error) => {
            assert!(error.to_string().contains("locked down"), "{error}");
            // The session was ended, or the second one would find the disk busy.
            let again = start(&device.path, Backend::Blktrace, roots).map(|_| ()).unwrap_err();
            assert!(again.to_string().contains("locked down"), "{again}");
        }
    }
    assert!(
        !debugfs.path().join("block").join(device.name()).join("dropped").exists(),
        "a session is left"
    );
    assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0, "a note is left");
}
