//! fio's logs of virtual drives, stopped before and after they came to rest; `scripts/validate judge` does the same with
//! fio itself on drives that are served.

use std::fmt::Write as _;

use block::Target as _;
use drivescope_pts::judge::{Judged, Known, Start, Text, judge, read};
use stats::Verdict;

use crate::addresses::Addresses;
use crate::load::{Load, issue};

const UNIT: u64 = 4096;

/// Logs to write.
#[derive(Clone, Copy, Debug)]
enum Logs {
    /// One thread's bandwidth, in windows.
    Bandwidth,
    /// Three threads' IOPS, in windows, with a JSON that has the block size.
    Iops,
    /// A line an I/O.
    PerIo,
}

/// A case: a drive, and after how many fills its user stopped.
#[derive(Clone, Copy, Debug)]
struct Case {
    over_provisioning: f64,
    state: &'static str,
    fills: f64,
    logs: Logs,
    seed: u64,
}

/// When each write came back, since the first was issued.
fn completions(case: Case) -> (Vec<u64>, u64) {
    let spec = format!(
        "sim:enterprise-28op?seed={}&capacity=48MiB&state={}&layout.over_provisioning={}&memory.write_bytes=1048576\
         &nand.channels=1&nand.dies_per_channel=1&nand.pages_per_block=8",
        case.seed, case.state, case.over_provisioning
    );
    let mut target = sim::open(&spec).unwrap();
    let capacity = target.info().capacity_bytes.0;
    let mut addresses = Addresses(case.seed);
    let mut left = (capacity as f64 * case.fills / UNIT as f64) as u64;
    let begun = target.now();
    let mut times = Vec::new();
    let next = || {
        left = left.checked_sub(1)?;
        Some(addresses.below(capacity / UNIT) * UNIT)
    };
    let load = Load { op: block::Op::Write, block: UNIT, depth: 32 };
    issue(&mut target, load, next, |done| times.push(done.completed.since(begun).0)).unwrap();
    (times, capacity)
}

/// fio's files of it.
fn files(case: Case, times: &[u64]) -> Vec<Text> {
    let last = times.last().copied().unwrap_or(0);
    let text = |file: String, text: String| Text { file, text };
    let fills = (case.fills * 60.0).max(8.0);
    let step_ms = ((last as f64 / 1e6 / fills) as u64).max(1);
    let windows = |thread: usize, threads: usize, scale: f64| {
        let mut lines = String::new();
        let own = || times.iter().enumerate().filter(|(at, _)| at % threads == thread);
        let bins = (last / (step_ms * 1_000_000)) as usize;
        let mut counts = vec![0_u64; bins + 1];
        own().for_each(|(_, ns)| counts[(ns / (step_ms * 1_000_000)) as usize] += 1);
        for (at, count) in counts.iter().take(bins).enumerate() {
            let rate = *count as f64 * scale * 1e3 / step_ms as f64;
            let _ = writeln!(lines, "{}, {}, 1, 0, 0", (at as u64 + 1) * step_ms, rate as u64);
        }
        lines
    };
    match case.logs {
        Logs::Bandwidth => vec![text("x_bw.1.log".to_owned(), windows(0, 1, 4.0))],
        Logs::Iops => {
            let mut files: Vec<Text> =
                (0..3).map(|t| text(format!("x_iops.{}.log", t + 1), windows(t, 3, 1.0))).collect();
            let json = format!(
                r#"{{"fio version" : "fio-3.33", "jobs" : [{{"jobname" : "x", "error" : 0, "job options" : {{
                "rw" : "randwrite", "bs" : "4k", "norandommap" : "1", "numjobs" : "3", "write_iops_log" : "x" }},
                "write" : {{"io_bytes" : {}, "total_ios" : {}, "iops" : 1.0}}}}]}}"#,
                times.len() as u64 * UNIT,
                times.len()
            );
            files.push(text("x.json".to_owned(), json));
            files
        }
        Logs::PerIo => {
            let line = |ns: &u64| format!("{}, 1, 1, 4096, 0\n", ns / 1_000_000);
            vec![text("x_lat.1.log".to_owned(), times.iter().map(line).collect())]
        }
    }
}

fn judged(case: Case, known: &Known) -> Judged {
    let (times, _) = completions(case);
    let mut results = read(&files(case, &times)).unwrap();
    assert_eq!(results.len(), 1, "{case:?}");
    judge(results.remove(0), known)
}

fn capacity(case: Case) -> u64 {
    completions(Case { fills: 0.01, ..case }).1
}

/// All cases: before the free space is used up, on the way, and long after.
fn cases() -> Vec<(Case, bool)> {
    let mut cases = Vec::new();
    let logs = [Logs::Bandwidth, Logs::Iops, Logs::PerIo];
    for (nth, over_provisioning) in [0.07, 0.15, 0.28, 0.5].into_iter().enumerate() {
        let stops = [
            ("fresh", 0.3, false),
            ("fresh", 0.95, false),
            ("fresh", 1.0 + 0.9 * over_provisioning, false),
            ("fresh", 1.6 + over_provisioning, false),
            ("fresh", 15.0, true),
            ("filled", 0.03, false),
            ("filled", 0.5 * over_provisioning, false),
            ("filled", 12.0, true),
            ("steady", 0.5, false),
            ("fresh", 0.7, false),
        ];
        for (at, (state, fills, is_steady)) in stops.into_iter().enumerate() {
            let (logs, seed) = (logs[(nth + at) % 3], 10 * nth as u64 + at as u64);
            cases.push((Case { over_provisioning, state, fills, logs, seed }, is_steady));
        }
    }
    cases
}

// The point of the verb. Breaks when a fresh plateau passes for a steady state, or a steady state is not known as one.
#[test]
fn each_case_is_told_rightly_and_no_fresh_plateau_is_steady() {
    let cases = cases();
    assert!(cases.len() >= 40);
    let mut wrong = Vec::new();
    for (case, is_steady) in cases {
        let start = match case.state {
            "fresh" => Start::Purged,
            "filled" => Start::Filled,
            // Any other start is unknown: half a fill of a steady drive is as flat as that of a fresh one.
            _ => Start::Unknown,
        };
        let known = Known {
            drive_bytes: Some(capacity(case)),
            start,
            over_provisioning: Some(case.over_provisioning),
            is_uniform: true,
            ..Known::default()
        };
        let judged = judged(case, &known);
        let is_proven = judged.steady.verdict == Verdict::Proven;
        if is_proven != is_steady {
            wrong.push(format!("{case:?}: {:?} {}", judged.steady.verdict, judged.steady.reason));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

// Breaks when something that was not said is taken for granted.
#[test]
fn what_is_missing_makes_it_unprovable() {
    let case = Case {
        over_provisioning: 0.28,
        state: "fresh",
        fills: 12.0,
        logs: Logs::Bandwidth,
        seed: 3,
    };
    let known = Known {
        drive_bytes: Some(capacity(case)),
        start: Start::Purged,
        over_provisioning: Some(0.28),
        is_uniform: true,
        ..Known::default()
    };
    assert_eq!(judged(case, &known).steady.verdict, Verdict::Proven);
    for (known, word) in [
        (Known { drive_bytes: None, ..known }, "the drive's size"),
        (Known { is_uniform: false, ..known }, "which addresses"),
    ] {
        let judged = judged(case, &known);
        assert_eq!(judged.steady.verdict, Verdict::Unprovable, "{}", judged.steady.reason);
        assert!(judged.steady.reason.contains(word), "{}", judged.steady.reason);
        assert!(judged.remedy.is_some());
    }
}

// Breaks when the mean of a whole run passes for that of its steady part: here it is far above.
#[test]
fn the_way_there_is_found_in_the_figure() {
    let case =
        Case { over_provisioning: 0.28, state: "fresh", fills: 12.0, logs: Logs::PerIo, seed: 4 };
    let known = Known {
        drive_bytes: Some(capacity(case)),
        start: Start::Purged,
        is_uniform: true,
        ..Known::default()
    };
    let judged = judged(case, &known);
    assert_eq!(judged.steady.verdict, Verdict::Proven, "{}", judged.steady.reason);
    assert_eq!(judged.transient.included, Some(true), "{}", judged.transient.reason);
}
