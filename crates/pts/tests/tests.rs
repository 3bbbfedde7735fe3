//! The tests of the specification on virtual drives: what each leaves, and what becomes of one that is broken off.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use block::{Environment, Event, Extents, LinkState, RunSink, Snapshot, Stack, Target as _};
use drivescope_pts::body::{Body, Preconditioning, RuleVerdict, StageKind};
use drivescope_pts::desk::Halt;
use drivescope_pts::kept::{Earlier, Keeper, Kept};
use drivescope_pts::options::{Minute, Options, Profile, Rule, Test, Until};
use drivescope_pts::rig::{Purged, TargetRig};
use drivescope_pts::run::{Ran, run};
use engine::Samples;
use sim::VirtualTarget;
use stats::steady::Verdict;

const DRIVE: &str = "sim:enterprise-28op?capacity=512MiB";

/// Keeps all records, and requests the end after `ends_after` whole parts.
struct Book<'a> {
    kept: Vec<Kept>,
    ends_after: usize,
    cancel: &'a AtomicBool,
}

impl RunSink for Book<'_> {
    fn event(&mut self, _: &Event) {}
}

impl Keeper for Book<'_> {
    fn keep(&mut self, kept: &Kept, _: Option<&Samples>) {
        self.kept.push(kept.clone());
        let wholes = self.kept.iter().filter(|kept| matches!(kept, Kept::Whole { .. })).count();
        if wholes == self.ends_after {
            self.cancel.store(true, Ordering::Relaxed);
        }
    }
}

fn options(tests: &[Test]) -> Options {
    let options = Options::new(tests.to_vec(), Profile::Enterprise, 7);
    Options { minute: Minute::Time(block::Nanos::millis(2)), ..options }
}

fn purged() -> Purged {
    Purged {
        method: "none".into(),
        verdict: stats::Verdict::Unprovable.into(),
        seconds: 0.0,
        words: "it is new".into(),
        is_good: true,
    }
}

/// Runs `options` on `target`, resumed from `earlier`, up to `ends_after` whole parts.
fn go(
    target: &mut VirtualTarget,
    environment: Option<&mut dyn Environment>,
    options: &Options,
    earlier: Earlier,
    ends_after: usize,
) -> (Ran, Vec<Kept>) {
    let cancel = AtomicBool::new(false);
    let mut book = Book { kept: Vec::new(), ends_after, cancel: &cancel };
    let mut own = target.environment();
    let mut rig = TargetRig {
        target,
        environment: environment.unwrap_or(&mut own),
        cancel: &cancel,
        engine: "virtual".to_owned(),
        ways: Vec::new(),
        chosen: None,
        purger: &mut |_| Ok(purged()),
        counted: &|| None,
    };
    let ran = run(&mut rig, options, earlier, &mut book).unwrap();
    (ran, book.kept)
}

// Breaks when a purge that the user stops counts as failed, or is kept: each resumption would end there.
#[test]
fn a_purge_that_is_stopped_is_made_again_when_the_run_is_resumed() {
    let options = options(&[Test::Wsat]);
    let mut target = sim::open(DRIVE).unwrap();
    let mut environment = target.environment();
    for is_error in [false, true] {
        let cancel = AtomicBool::new(false);
        let mut book = Book { kept: Vec::new(), ends_after: usize::MAX, cancel: &cancel };
        let mut stopped = |_: &mut dyn engine::IoPath| {
            cancel.store(true, Ordering::Relaxed);
            match is_error {
                true => Err("stopped".to_owned()),
                false => Ok(Purged { is_good: false, ..purged() }),
            }
        };
        let mut rig = TargetRig {
            target: &mut target,
            environment: &mut environment,
            cancel: &cancel,
            engine: "virtual".to_owned(),
            ways: Vec::new(),
            chosen: None,
            purger: &mut stopped,
            counted: &|| None,
        };
        let ran = run(&mut rig, &options, Earlier::default(), &mut book).unwrap();
        assert!(matches!(ran.halt, Some(Halt::Interrupted)), "{:?}", ran.halt);
        assert!(book.kept.is_empty(), "{:?}", book.kept);
    }
}

fn whole(options: &Options) -> Vec<Body> {
    let mut target = sim::open(DRIVE).unwrap();
    let (ran, _) = go(&mut target, None, options, Earlier::default(), usize::MAX);
    assert!(ran.halt.is_none(), "{:?}", ran.halt);
    ran.bodies
}

// The report's pages are made of these tables: one that is missing is a page that is not there.
#[test]
fn each_test_leaves_what_the_specification_wants_shown() {
    let points = ["max", "mid", "min"];
    let of_points = |what: &str| points.map(|point| format!("{point}_{what}"));
    for body in whole(&options(&Test::PTS)) {
        let demand = [
            "preconditioning",
            "between_rounds",
            "convergence",
            "demand_iops",
            "demand_art",
            "demand_cpu",
            "outstanding",
        ];
        let mut wanted: BTreeSet<String> = match body.test {
            Test::Iops => &["convergence", "iops"][..],
            Test::Throughput => &["convergence_1024k", "convergence_128k", "throughput"],
            Test::Latency => &[
                "convergence_mean",
                "convergence_max",
                "mean",
                "max",
                "five_nines",
                "histogram",
                "percentiles",
            ],
            Test::Wsat => &["samples", "curve", "histogram", "percentiles"],
            Test::Hir => &["preconditioning", "recovery", "series"],
            Test::Xsr => &["series", "groups"],
            _ => &demand,
        }
        .iter()
        .map(|key| (*key).to_owned())
        .collect();
        if matches!(body.test, Test::Cbw | Test::Dirth) {
            wanted.extend(of_points("histogram"));
            wanted.extend(of_points("percentiles"));
            wanted.extend(of_points("samples"));
        }
        let found: BTreeSet<String> = body.tables.keys().cloned().collect();
        assert_eq!(found, wanted, "{:?}", body.test);
        for (key, table) in &body.tables {
            assert!(!table.rows.is_empty(), "{:?}: {key} is empty", body.test);
            let right = table.rows.iter().all(|row| row.values.len() == table.columns.len());
            assert!(right, "{:?}: {key} has rows of another length", body.test);
        }
        assert!(body.is_whole && body.ended_by.is_none(), "{:?}", body.test);
        // Between two stretches a virtual drive has nothing to wait for.
        assert_eq!(body.gap_ns_max, 0, "{:?}", body.test);
    }
}

#[test]
fn a_body_is_read_as_it_was_written_and_so_are_options() {
    let options = options(&[Test::Wsat]);
    for until in [Rule::Pts, Rule::Bytes, Rule::Fills(2.5)] {
        let options = Options { until, ..options.clone() };
        assert_eq!(Options::from_toml(&options.to_toml().unwrap()).unwrap(), options);
    }
    for body in whole(&options) {
        let text = serde_json::to_string(&body).unwrap();
        assert_eq!(serde_json::from_str::<Body>(&text).unwrap(), body);
    }
}

// Breaks when a word of a record changes, or when one of a later version makes its record unreadable or is lost.
#[test]
fn words_of_a_body_are_those_of_its_records_and_unknown_ones_are_kept() {
    let until = Rule::Fills(1.5);
    let body = whole(&Options { until, ..options(&[Test::Wsat]) }).remove(0);
    let mut written = serde_json::to_value(&body).unwrap();
    for (place, word) in [
        ("/device/kind", "virtual"),
        ("/device/write_cache", "write_through"),
        ("/setup/profile", "enterprise"),
        ("/setup/until", "1.5 fills"),
        ("/purge/verdict", "unprovable"),
        ("/preconditioning/0/kind", "wdpc"),
        ("/steady/pts/verdict", "steady"),
        ("/steady/fio/verdict", "steady"),
        ("/steady/ours/state", "inconclusive"),
        ("/steady/ours/verdict", "not_yet"),
    ] {
        let found = written.pointer_mut(place).unwrap();
        assert_eq!(found, word, "{place}");
        *found = "of_a_later_version".into();
        let read: Body = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), written, "{place}");
    }
    assert_eq!(serde_json::to_value(StageKind::Wipc).unwrap(), "wipc");
    for verdict in [RuleVerdict::Steady, RuleVerdict::NotSteady, RuleVerdict::TooFewRounds] {
        assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
    }
}

// Preconditioning by a number of fills writes as many bytes as asked for, and reports whether they sufficed.
#[test]
fn so_many_fills_are_so_many_and_no_proof_of_anything() {
    let until = Rule::Fills(1.5);
    for test in [Test::Wsat, Test::QdSweep] {
        let body = whole(&Options { until, wipc_fills: 0, ..options(&[test]) }).remove(0);
        let stage =
            body.preconditioning.iter().find(|stage| stage.kind == StageKind::Wdpc).unwrap();
        // The last stretch of a fiftieth of a fill ends above.
        assert!((1.5..1.6).contains(&stage.fills), "{test:?}: {}", stage.fills);
        assert!(!stage.is_accepted, "{}", stage.reason);
        assert_eq!(body.setup.until, Until(until));
        assert_eq!(serde_json::to_value(&body.setup.until).unwrap(), "1.5 fills");
        assert!(body.deviations.iter().any(|words| words.contains("1.5 fills")));
        assert_ne!(body.steady.unwrap().ours.verdict, Verdict::Yes);
    }
    let wrong = Options { until: Rule::Fills(0.0), ..options(&[Test::Wsat]) };
    assert!(wrong.check().unwrap_err().to_string().contains("until"));
}

// Merged with the others, or at another rate than was asked for, response times from when requests were due would be of
// nothing.
#[test]
fn requests_arrive_at_the_share_that_was_asked_for_and_are_told_apart() {
    let options = options(&[Test::Wsat]);
    let until = Rule::Fills(2.0);
    let body = |open_loop| whole(&Options { until, open_loop, ..options.clone() }).remove(0);
    assert!(!body(None).tables.contains_key("open_loop_percentiles"));
    let body = body(Some(0.5));
    let count = |table: &str| {
        let rows = body.tables[table].rows.iter();
        rows.map(|row| row.values[0].unwrap()).sum::<f64>()
    };
    let share = count("open_loop_histogram") / count("histogram");
    assert!((0.45..0.55).contains(&share), "{share}");
    let median = |table: &str| body.tables[table].rows[0].values[0].unwrap();
    // Thirty-two at once wait for each other; at half the rate there is hardly a queue.
    assert!(median("open_loop_percentiles") < 0.5 * median("percentiles"));
    assert!(!body.caveats.iter().any(|caveat| caveat.code == "open_loop_overrun"));
    for (share, test) in [(1.5, Test::Wsat), (0.5, Test::Iops)] {
        let wrong = Options { open_loop: Some(share), tests: vec![test], ..options.clone() };
        assert!(wrong.check().unwrap_err().to_string().contains("open_loop"));
    }
}

// Rounds before an interruption belong to another run of the drive: five rounds across it would be steady by
// accident.
#[test]
fn rounds_before_a_standstill_do_not_count() {
    let options = Options { rounds_max: 8, ..options(&[Test::Iops]) };
    let mut target = sim::open(DRIVE).unwrap();
    // Sixteen parts of the fill, and three rounds.
    let (ran, kept) = go(&mut target, None, &options, Earlier::default(), 16 + 3);
    assert!(matches!(ran.halt, Some(Halt::Interrupted)), "{:?}", ran.halt);
    let entries = kept.len();
    let earlier = Earlier { kept: kept.into(), replay: false }.up_to_whole();
    assert!(earlier.kept.len() <= entries);
    let (ran, more) = go(&mut target, None, &options, earlier, usize::MAX);
    assert!(ran.halt.is_none(), "{:?}", ran.halt);
    let body = &ran.bodies[0];
    assert!(!more.iter().any(|kept| matches!(kept, Kept::Purged { .. })), "purged again");
    let window = body.steady.as_ref().unwrap().pts.window.unwrap();
    assert!(window.first_round >= 4, "{window:?}");
    assert!(body.rounds.len() >= 8, "{}", body.rounds.len());
}

// On a drive that is created again everything is done once more; a record that comes out differently is of another run.
#[test]
fn a_record_of_another_run_is_refused() {
    let options = options(&[Test::Wsat]);
    let mut target = sim::open(DRIVE).unwrap();
    let (_, kept) = go(&mut target, None, &options, Earlier::default(), 5);
    let other = Options { seed: 8, ..options };
    let mut target = sim::open(DRIVE).unwrap();
    let earlier = Earlier { kept: kept.into(), replay: true };
    let (ran, _) = go(&mut target, None, &other, earlier, usize::MAX);
    assert!(matches!(ran.halt, Some(Halt::Diverged { .. })), "{:?}", ran.halt);
}

/// Something of the drive moves in one of the stretches.
struct Moving {
    stack: Stack,
    snapshots: u64,
    at: u64,
    what: fn(bool) -> Snapshot,
}

impl Environment for Moving {
    fn snapshot(&mut self) -> Snapshot {
        self.snapshots += 1;
        (self.what)(self.snapshots > self.at)
    }

    fn stack(&self) -> &Stack {
        &self.stack
    }

    fn extents(&mut self) -> Option<Extents> {
        None
    }
}

fn throttled(is_after: bool) -> Snapshot {
    Snapshot { throttle_events: Some(u64::from(is_after)), ..Snapshot::default() }
}

fn damaged(is_after: bool) -> Snapshot {
    Snapshot { media_errors: Some(3 + u64::from(is_after)), ..Snapshot::default() }
}

fn slowed(is_after: bool) -> Snapshot {
    let speed = if is_after { "2.5 GT/s PCIe x4" } else { "8.0 GT/s PCIe x4" };
    let link = LinkState { leaf: "nvme0n1".to_owned(), speed: speed.to_owned() };
    Snapshot { links: vec![link], ..Snapshot::default() }
}

// A window in which the drive was throttled, lost data or had its link slowed down does not measure it; what was written in it
// counts all the same.
#[test]
fn a_stretch_in_which_something_moved_is_made_again() {
    for (what, word) in [
        (throttled as fn(bool) -> Snapshot, "1 thermal throttling"),
        (damaged, "1 media errors"),
        (slowed, "from 8.0 GT/s PCIe x4 to 2.5"),
    ] {
        made_again(what, word, 0, 51);
    }
}

// Bytes that a fill wrote twice wear the drive and do not fill it: counted as a fill, a part that was never written would
// be measured as if it had been; left out, a budget is exceeded.
#[test]
fn a_part_of_a_fill_that_was_made_again_is_wear_and_no_fill() {
    let stage = made_again(throttled, "1 thermal throttling", 2, 7).remove(0);
    assert!(stage.bytes_again > 0);
    assert_eq!(stage.bytes_written - stage.bytes_again, 2 * (512 << 20));
    assert_eq!((stage.fills, stage.coverage, stage.is_accepted), (2.0, 1.0, true));
}

/// Something moves at snapshot `at` of a test that begins with `wipc_fills` fills.
fn made_again(
    what: fn(bool) -> Snapshot,
    word: &str,
    wipc_fills: u32,
    at: u64,
) -> Vec<Preconditioning> {
    let options = Options { wipc_fills, rounds_max: 5, ..options(&[Test::Iops]) };
    let mut target = sim::open(DRIVE).unwrap();
    let stack = target.environment().stack().clone();
    let mut moving = Moving { stack, snapshots: 0, at, what };
    let (ran, kept) = go(&mut target, Some(&mut moving), &options, Earlier::default(), usize::MAX);
    let windows = kept.iter().filter_map(|kept| match kept {
        Kept::Window { window, .. } => Some(window),
        _ => None,
    });
    let windows: Vec<_> = windows.collect();
    let hot: Vec<_> = windows.iter().filter(|window| !window.disturbed.is_empty()).collect();
    assert_eq!(hot.len(), 1, "{hot:?}");
    assert!(hot[0].disturbed[0].contains(word), "{:?}", hot[0].disturbed);
    let after = windows.iter().find(|window| window.position == hot[0].position + 1).unwrap();
    assert_eq!(after.load, hot[0].load);
    let body = &ran.bodies[0];
    assert!(body.caveats.iter().any(|caveat| caveat.code == "stretches_repeated"));
    let of_rounds: u64 = body.rounds.iter().map(|round| round.bytes_written).sum();
    let of_stages: u64 = body.preconditioning.iter().map(|stage| stage.bytes_written).sum();
    assert_eq!(body.bytes_written, of_stages + of_rounds);
    assert_eq!(target.info().capacity_bytes.0, 512 << 20);
    ran.bodies[0].preconditioning.clone()
}
