//! Recording under load: nothing is lost, or it is known how much.
//!
//! In a program of its own: it takes all CPUs, and what it shows depends on how fast.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use block::Bytes;
use block::trace::{Action, TraceEvent, TraceNote, TraceSink};
use drivescope_linux::sysfs::Roots;
use drivescope_linux::tracer::{self, Collected, Options, Recorded, Subject};
use rustix::fs::OFlags;

use common::{Zram, has_means, skip};

/// I/Os of each thread.
const IOS: u64 = 150_000;
const THREADS: u64 = 2;
/// A zram disk handles bios itself: each is queued and completes, and nothing else happens.
const EVENTS: u64 = 2 * IOS * THREADS;

fn zram() -> Option<Zram> {
    if !has_means(&[]) {
        return None;
    }
    if !Path::new("/sys/kernel/tracing/instances").is_dir() {
        skip("needs /sys/kernel/tracing/instances");
        return None;
    }
    let zram = Zram::new("64M");
    if zram.is_none() {
        skip("needs zram");
    }
    zram
}

/// Reads of 4 KiB at scattered places, as fast as they go.
fn read(path: &Path, seed: u64) {
    let flags = OFlags::DIRECT.bits().cast_signed();
    let file: File = OpenOptions::new().read(true).custom_flags(flags).open(path).unwrap();
    let mut memory = vec![0; 8192];
    let skip = memory.as_ptr().align_offset(4096);
    let buffer = &mut memory[skip..skip + 4096];
    for n in 0..IOS {
        let page = (n + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) % (64 << 8);
        file.read_exact_at(buffer, page * 4096).unwrap();
    }
}

/// A sink that has no time, at first.
struct Stalling {
    events: u64,
    stall: Duration,
}

impl TraceSink for Stalling {
    fn events(&mut self, events: &[TraceEvent]) {
        thread::sleep(std::mem::take(&mut self.stall));
        self.events += events.len() as u64;
    }

    fn note(&mut self, _: TraceNote) {}
}

/// Reads all at once.
fn read_all(path: &Path) {
    thread::scope(|scope| {
        for seed in 0..THREADS {
            scope.spawn(move || read(path, seed << 32));
        }
    });
}

/// Records all reads; with how long they took.
fn record(zram: &Zram, buffer: Option<Bytes>) -> (Duration, Collected, Recorded) {
    let path = zram.path();
    let subject = Subject::find(&Roots::default(), &path).unwrap();
    assert!(!subject.has_requests);
    let options = Options { buffer, ..Options::default() };
    let work = |_: &_| {
        let begun = Instant::now();
        read_all(&path);
        begun.elapsed()
    };
    let (took, kept, recorded) =
        tracer::record_while(&[subject], &options, 2 * EVENTS as usize, work).unwrap();
    assert_eq!((&recorded.fault, recorded.malformed, kept.left_out), (&None, 0, 0));
    (took, kept, recorded)
}

fn lost(kept: &Collected) -> u64 {
    let lost = |note: &TraceNote| match note {
        TraceNote::Lost { events, .. } => *events,
        _ => 0,
    };
    kept.notes.iter().map(lost).sum()
}

// Breaks when events vanish without a word: what is recorded and what is lost must be what was issued, to the event.
#[test]
fn at_a_hundred_thousand_events_a_second_nothing_vanishes() {
    let Some(zram) = zram() else { return };
    // The speed of the reads depends on this machine and its other users: tried three times at most, and printed.
    for _ in 0..3 {
        let (took, kept, recorded) = record(&zram, None);
        let rate = EVENTS as f64 / took.as_secs_f64();
        println!("{rate:.0} events/s, {} lost, {} late", recorded.lost, recorded.late);
        let count =
            |action| kept.events.iter().filter(|event| event.action == action).count() as u64;
        assert!(kept.events.len() as u64 + recorded.lost >= EVENTS, "events vanished");
        assert_eq!(lost(&kept), recorded.lost, "losses were not told to the sink");
        if recorded.lost == 0 {
            assert_eq!(kept.events.len() as u64, EVENTS);
            assert_eq!(count(Action::Queue), IOS * THREADS);
            assert_eq!(count(Action::Complete), IOS * THREADS);
        }
        if rate > 100_000.0 {
            return;
        }
    }
}

// Breaks when losses are estimated: a buffer that is far too small loses much, and each event of it is counted.
#[test]
fn what_a_small_buffer_loses_is_counted() {
    let Some(zram) = zram() else { return };
    let (_, kept, recorded) = record(&zram, Some(Bytes::kib(64)));
    assert!(recorded.lost > EVENTS / 100, "hardly anything was lost, so nothing was shown");
    // An event of another device, whose interrupt comes during an event of ours, finds the full buffer before the
    // filter that would have dropped it: the kernel counts some that would not have been recorded, and never too few.
    let excess = (kept.events.len() as u64 + recorded.lost).checked_sub(EVENTS);
    let excess = excess.expect("events vanished without being counted");
    assert!(excess < EVENTS / 1000, "{excess} events are counted that never were");
    assert_eq!(lost(&kept), recorded.lost, "losses were not told to the sink");
}

// Breaks when the kernel's buffers are emptied only as fast as the sink takes what was in them: a disk that stalls for
// a second while the recording is written to it would cost events.
#[test]
fn a_sink_that_stalls_costs_nothing() {
    let Some(zram) = zram() else { return };
    let subject = Subject::find(&Roots::default(), &zram.path()).unwrap();
    // Half of what is recorded.
    let options = Options { buffer: Some(Bytes::mib(8)), ..Options::default() };
    let sink = Stalling { events: 0, stall: Duration::from_secs(2) };
    let tracer = tracer::start(&[subject], &options, sink).unwrap();
    read_all(&zram.path());
    let (sink, recorded) = tracer.stop();
    assert_eq!((sink.events, recorded.lost), (EVENTS, 0));
}
