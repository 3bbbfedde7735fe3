//! `trace analyze --btt` beside btt itself, on recordings whose every event is drawn here.
//!
//! Real recordings are compared by `scripts/validate btt`, which can trace; this needs btt alone. What is left out is
//! what btt 1.2.0 gets wrong (docs/method/trace-analyze.md): the median of distances, and the idle time and share of
//! activity, which it counts from time 0 instead of the first issue.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::{drivescope, run, scratch_dir};

// Actions and categories of blktrace_api.h.
const QUEUE: u32 = 1;
const BACK_MERGE: u32 = 2;
const FRONT_MERGE: u32 = 3;
const GET_REQUEST: u32 = 4;
const SLEEP: u32 = 5;
const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;
const PLUG: u32 = 9;
const UNPLUG: u32 = 10;
const UNPLUG_TIMER: u32 = 11;
const INSERT: u32 = 12;
const READ: u32 = 1 << 16;
const WRITE: u32 = 2 << 16;
const FLUSH: u32 = 4 << 16;

/// An event of a recording.
#[derive(Clone, Copy)]
struct Event {
    at: u64,
    action: u32,
    sector: u64,
    bytes: u32,
    pid: u32,
    device: u32,
    /// How many requests an unplug lets go.
    requests: u64,
}

/// A record of version 1, as `blkparse -d` writes it.
fn record(event: &Event) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(0x6561_7407u32.to_le_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(event.at.to_le_bytes());
    bytes.extend(event.sector.to_le_bytes());
    bytes.extend(event.bytes.to_le_bytes());
    bytes.extend(event.action.to_le_bytes());
    bytes.extend(event.pid.to_le_bytes());
    bytes.extend(event.device.to_le_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(0u16.to_le_bytes());
    let unplug = matches!(event.action & 0xffff, UNPLUG | UNPLUG_TIMER);
    bytes.extend((if unplug { 8u16 } else { 0 }).to_le_bytes());
    if unplug {
        bytes.extend(event.requests.to_be_bytes());
    }
    bytes
}

/// Draws a recording (xorshift: the same for a seed).
struct Drawer {
    state: u64,
    events: Vec<Event>,
    scheduler: bool,
    requests: u64,
}

impl Drawer {
    fn below(&mut self, bound: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % bound
    }

    /// A request of one task, with some I/Os merged into it. No two begin at the same sector, which btt cannot distinguish,
    /// and none is split, which it loses.
    fn request(&mut self, at: u64) -> u64 {
        self.requests += 1;
        let device = (8 << 20) | (self.below(2) as u32 * 16);
        let pid = 100 + self.below(3) as u32;
        let kind = if self.below(3) == 0 { WRITE } else { READ };
        let blocks = 1 + self.below(16);
        let middle = (self.requests * 7919 % 100_003) * 4096 + 2048;
        let mut now = at;
        let tell = |drawer: &mut Drawer, now: u64, action, sector, sectors: u64, requests| {
            let bytes = sectors as u32 * 512;
            drawer.events.push(Event { at: now, action, sector, bytes, pid, device, requests });
        };
        let plugged = self.below(2) == 0;
        if plugged {
            tell(self, now, PLUG, 0, 0, 0);
        }
        now += 1 + self.below(2_000);
        let mut ios = vec![(middle, blocks)];
        tell(self, now, QUEUE | kind, middle, blocks, 0);
        if self.below(8) == 0 {
            now += 1 + self.below(300);
            tell(self, now, SLEEP | kind, middle, blocks, 0);
        }
        now += 1 + self.below(500);
        tell(self, now, GET_REQUEST | kind, middle, blocks, 0);
        let (mut from, mut to) = (middle, middle + blocks);
        for _ in 0..self.below(4) {
            let sectors = 1 + self.below(16);
            let (sector, how) = match self.below(3) {
                0 => (from - sectors, FRONT_MERGE),
                _ => (to, BACK_MERGE),
            };
            (from, to) = (from.min(sector), to.max(sector + sectors));
            now += 1 + self.below(2_000);
            tell(self, now, QUEUE | kind, sector, sectors, 0);
            now += 1 + self.below(100);
            tell(self, now, how | kind, sector, sectors, 0);
            ios.push((sector, sectors));
        }
        if plugged {
            now += 1 + self.below(1_000);
            let how = if self.below(10) == 0 { UNPLUG_TIMER } else { UNPLUG };
            tell(self, now, how, 0, 0, 1);
        }
        if self.scheduler {
            now += 1 + self.below(300);
            // The kernel names the request by its first sector; btt finds the bio that holds it.
            tell(self, now, INSERT | kind, from, to - from, 0);
        }
        let issued = now + 1 + self.below(10_000);
        tell(self, issued, ISSUE | kind, from, to - from, 0);
        if self.below(50) > 0 {
            let completed = issued + 2_000 + self.below(400_000);
            tell(self, completed, COMPLETE | kind, from, to - from, 0);
        }
        now
    }

    /// A flush without data, which btt passes over.
    fn flush(&mut self, at: u64) {
        for (step, action) in [QUEUE, GET_REQUEST, ISSUE, COMPLETE].into_iter().enumerate() {
            let (at, action) = (at + step as u64 * 700, action | FLUSH | WRITE);
            let event =
                Event { at, action, sector: 0, bytes: 0, pid: 7, device: 8 << 20, requests: 0 };
            self.events.push(event);
        }
    }
}

/// Events in the order of their time, no two at once, the first at 0 as blkparse has it.
fn draw(seed: u64, scheduler: bool) -> Vec<Event> {
    let mut drawer = Drawer { state: seed, events: Vec::new(), scheduler, requests: 0 };
    let mut now = 0;
    for _ in 0..3_000 {
        // Pauses, so that there are periods without activity: of a single one btt prints no length.
        let pause = if drawer.below(30) == 0 { 2_000_000 } else { 20_000 };
        now += 1 + drawer.below(pause);
        if drawer.below(100) == 0 {
            drawer.flush(now);
        } else if drawer.below(4) == 0 {
            // One request after another of the same task.
            now = drawer.request(now);
        } else {
            drawer.request(now);
        }
    }
    let mut events = drawer.events;
    events.sort_by_key(|event| event.at);
    for index in 1..events.len() {
        events[index].at = events[index].at.max(events[index - 1].at + 1);
    }
    // btt opens a device at its first Q; a plug before would be counted by neither.
    let first = events.iter().position(|event| event.action & 0xffff == QUEUE).unwrap();
    events.drain(..first);
    let begun = events[0].at;
    events.iter_mut().for_each(|event| event.at -= begun);
    events
}

/// The columns that are compared: all but the medians, and idle time and share of activity.
fn comparable(text: &str) -> Vec<Vec<String>> {
    let mut section = String::new();
    let mut rows = Vec::new();
    for line in text.lines().take_while(|line| !line.starts_with("# Total System")) {
        if line.starts_with("====") {
            section = line.to_owned();
        }
        let spaced = line.replace(['|', '('], " ").replace("%", " ").replace(')', " ");
        let mut fields: Vec<String> = spaced.split_whitespace().map(str::to_owned).collect();
        let data = line.contains('|') && !line.contains("DEV") && !line.contains("----");
        let columns = line.split('|').nth(1).map_or(0, |rest| rest.split_whitespace().count());
        if data && section.contains("Seek") && columns == 3 && !line.contains("NSEEKS") {
            let mode = line.rsplit('|').next().unwrap().split_whitespace().count();
            let mode_fields = mode + line.rsplit('|').next().unwrap().matches('(').count();
            let median = fields.len() - mode_fields - 1;
            fields[median] = "median".to_owned();
        }
        if data && section.contains("Active Period") {
            fields.truncate(fields.len() - 2);
        }
        rows.push(fields);
    }
    while rows.last().is_some_and(Vec::is_empty) {
        rows.pop();
    }
    rows
}

/// Equal, or decimal fractions that differ by one in their last place: sums are rounded in another order.
fn same(ours: &str, theirs: &str) -> bool {
    let last_place = |text: &str| text.split_once('.').map(|(_, places)| places.len() as i32);
    match (ours.parse::<f64>(), theirs.parse::<f64>()) {
        _ if ours == theirs => true,
        (Ok(a), Ok(b)) => match (last_place(ours), last_place(theirs)) {
            (Some(x), Some(y)) if x == y => (a - b).abs() < 1.01 * 10f64.powi(-x),
            _ => false,
        },
        _ => false,
    }
}

fn differences(ours: &str, theirs: &str) -> String {
    let (ours, theirs) = (comparable(ours), comparable(theirs));
    let mut said = String::new();
    for index in 0..ours.len().max(theirs.len()) {
        let (a, b) = (ours.get(index), theirs.get(index));
        let alike = a
            .zip(b)
            .is_some_and(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)));
        if !alike {
            writeln!(said, "ours: {a:?}\nbtt:  {b:?}").unwrap();
        }
    }
    said
}

fn btt(dir: &Path, recording: &str) -> String {
    // In the directory: btt leaves files for plots wherever it is started.
    let output = Command::new("btt").args(["-i", recording]).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Breaks when a count, a phase, a sum, a merge, a seek, a plug or the layout differs from btt's.
#[test]
fn the_summary_is_that_of_btt() {
    if Command::new("btt").arg("-V").output().is_err() {
        println!("skipped: btt is not installed");
        return;
    }
    for (seed, scheduler) in [(1, true), (2, false), (3, true), (4, false)] {
        let dir = scratch_dir();
        let events = draw(seed, scheduler);
        let bytes: Vec<u8> = events.iter().flat_map(record).collect();
        let file = dir.path().join("drawn.bin");
        fs::write(&file, bytes).unwrap();
        let theirs = btt(dir.path(), "drawn.bin");
        let path = file.to_str().unwrap();
        let ours = run(&["trace", "analyze", path, "--btt"]).exits(0);
        let said = differences(&ours.stdout, &theirs);
        assert!(said.is_empty(), "seed {seed}:\n{said}");
        // The events make rows of all kinds: an empty comparison shows nothing.
        for phase in ["Q2Q", "Q2G", "S2G", "Q2M", "M2D", "D2C", "Q2C"] {
            assert!(theirs.lines().any(|line| line.starts_with(phase)), "no {phase}:\n{theirs}");
        }
        assert_eq!(
            theirs.contains("G2I") && theirs.lines().any(|l| l.starts_with("G2I")),
            scheduler
        );
    }
}

/// Breaks when the body loses a field of the contract, or one has another unit.
#[test]
fn the_body_is_the_contract() {
    let dir = scratch_dir();
    let bytes: Vec<u8> = draw(5, true).iter().flat_map(record).collect();
    let file = dir.path().join("drawn.bin");
    fs::write(&file, bytes).unwrap();
    let path = file.to_str().unwrap();
    let body = drivescope(["trace", "analyze", path, "--json"]).output().unwrap();
    let body = common::Ran::from(body).exits(0).body();
    let number = |field: &str| body[field].as_f64().unwrap_or_else(|| panic!("{field}: {body}"));
    let sum = number("reads") + number("writes") + number("flushes") + number("discards");
    assert_eq!(number("requests"), sum + number("others"));
    for phase in ["q2q", "q2g", "s2g", "g2i", "q2m", "i2d", "m2d", "d2c", "q2c"] {
        let of = |field: &str| {
            body["phases"][phase][field].as_f64().unwrap_or_else(|| panic!("{phase} {field}"))
        };
        assert!(of("n") > 0.0 && of("min_ns") <= of("p50_ns"), "{phase}");
        assert!(of("p50_ns") <= of("p99_ns") && of("p99_ns") <= of("p999_ns"), "{phase}");
        assert!(of("p999_ns") <= of("max_ns") && of("mean_ns") <= of("max_ns"), "{phase}");
    }
    // The mean depth is the sum of Q2C over the completion time.
    let depth = body["queue_depth"]["mean"].as_f64().unwrap();
    assert!((depth - number("q2c_sum_s") / number("completion_s")).abs() < 1e-9 * depth);
    assert!(body["queue_depth"]["max"].as_u64().unwrap() >= depth.ceil() as u64);
    assert!(number("never_completed") > 0.0);
    let codes: Vec<&str> =
        body["caveats"].as_array().unwrap().iter().map(|c| c["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"never_completed"), "{codes:?}");
}

/// Breaks when a part of a trace is not that part, or a device that is not there is passed over in silence.
#[test]
fn a_part_can_be_chosen() {
    let dir = scratch_dir();
    let events = draw(6, true);
    let bytes: Vec<u8> = events.iter().flat_map(record).collect();
    let file = dir.path().join("drawn.bin");
    fs::write(&file, bytes).unwrap();
    let path = file.to_str().unwrap();
    let (from, until) = (5_000_000, 9_000_000);
    let queued = |admits: &dyn Fn(&Event) -> bool| {
        events.iter().filter(|e| e.action & 0xffff == QUEUE && admits(e)).count() as u64
    };
    let requests = |args: &[&str]| {
        let all = [&["trace", "analyze", path, "--json", "--only", "phases"], args].concat();
        run(&all).exits(0).body()["requests"].as_u64().unwrap()
    };
    let window = |e: &Event| (from..until).contains(&e.at);
    assert_eq!(requests(&["--from", "5ms", "--until", "9ms"]), queued(&window));
    let second = |e: &Event| e.device == (8 << 20 | 16);
    assert_eq!(requests(&["--device", "8,16"]), queued(&second));
    let both = |e: &Event| window(e) && second(e);
    assert_eq!(requests(&["--device", "8,16", "--from", "5ms", "--until", "9ms"]), queued(&both));
    let nobody = run(&["trace", "analyze", path, "--device", "sdz"]);
    nobody.fails(2, &["sdz", "8,0", "8,16"]);
    run(&["trace", "analyze", path, "--from", "9ms", "--until", "5ms"]).fails(2, &["9ms", "5ms"]);
}
