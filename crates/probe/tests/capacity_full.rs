//! A drive that is written and read back as a whole, on drives that keep what they are given or do not.

use std::sync::atomic::{AtomicBool, Ordering};

use block::{Bytes, Layout};
use drivescope_probe::capacity::full;
use drivescope_probe::chain::{self, Around, Done, Earlier};
use drivescope_probe::{Body, Keeper, Plan, Task, Verdict, plan};
use engine::{Sample, TargetBench};

/// Keeps what is recorded, and stops the run after `stop_after` parts.
struct Recorder<'a> {
    done: Vec<Done>,
    stop_after: usize,
    cancel: &'a AtomicBool,
}

impl block::RunSink for Recorder<'_> {
    fn event(&mut self, _: &block::Event) {}
}

impl Keeper for Recorder<'_> {
    fn samples(&mut self, _: &str, _: &[Sample]) {}
}

impl chain::Recorder for Recorder<'_> {
    fn finished(&mut self, done: &Done) {
        self.done.push(done.clone());
        if self.done.len() == self.stop_after {
            self.cancel.store(true, Ordering::Relaxed);
        }
    }
}

fn plan_of(capacity: Bytes) -> Plan {
    Plan {
        schema: plan::SCHEMA.to_owned(),
        seed: 7,
        time_budget_ns: full::TIME,
        write_budget_bytes: capacity,
        may_write: true,
        region: None,
        given: Default::default(),
        tasks: Task::full(capacity, Bytes(512)),
    }
}

/// Runs on the drive, which stays as it is between runs.
fn run(
    target: &mut sim::VirtualTarget,
    earlier: Vec<Done>,
    stop_after: usize,
) -> (Body, Vec<Done>) {
    let cancel = AtomicBool::new(false);
    let mut environment = target.environment();
    let plan = plan_of(block::Target::info(target).capacity_bytes);
    let mut bench = TargetBench::new(target, &mut environment, &cancel);
    let mut keeper = Recorder { done: Vec::new(), stop_after, cancel: &cancel };
    let around = Around {
        earlier: Earlier { done: earlier, replay: false },
        engine: "virtual",
        claims: &[],
        classes: &[],
        write_flags: "--write --consent WORD",
        layout: &Layout::default,
        recorder: &mut keeper,
    };
    let (body, broken) = chain::run(&mut bench, &plan, around).unwrap();
    assert!(broken.is_none(), "{broken:?}");
    (body, keeper.done)
}

fn all(spec: &str) -> Body {
    run(&mut sim::open(spec).unwrap(), Vec::new(), 0).0
}

const DRIVE: &str = "sim:usb-8m?capacity=256MiB";

// Breaks when a fake passes though all of it was written, or an honest drive does not.
#[test]
fn all_of_it_is_what_it_holds() {
    for (faults, real) in [
        ("", 256 << 20),
        ("&faults.real_capacity_bytes=134217728&faults.beyond=lose", 128 << 20),
        (
            "&faults.real_capacity_bytes=134217728&faults.beyond=lose&faults.cache_bytes=4194304",
            128 << 20,
        ),
        (
            "&faults.real_capacity_bytes=134217728&faults.beyond=fail&faults.error_after_ns=1000",
            128 << 20,
        ),
        ("&faults.real_capacity_bytes=100663296", 96 << 20),
    ] {
        let body = all(&format!("{DRIVE}{faults}"));
        let found = &body.findings[0];
        assert_eq!(
            (found.verdict, found.value),
            (Verdict::Found, Some(real)),
            "{faults}: {found:?}"
        );
        let full = body.evidence.full.as_ref().unwrap();
        // Of writes that fail, nothing counts as written.
        let written = if faults.contains("beyond=fail") { real } else { 256 << 20 };
        assert_eq!((full.written_bytes, full.verified_bytes), (written, 256 << 20));
        assert_eq!((full.rates.len(), body.probes.len()), (32, 1));
        assert_eq!(full.bad_bytes > 0, real < 256 << 20, "{faults}");
        assert_eq!(body.smaller_capacity().is_some(), real < 256 << 20, "{faults}");
    }
}

// Breaks when a card with its write-protect switch on is called damaged: it kept nothing, since it took nothing.
#[test]
fn a_drive_that_takes_no_write_is_not_judged() {
    let all = 256 << 20;
    let evidence = full::Evidence {
        claimed_bytes: all,
        verified_bytes: all,
        delivered_bytes: all,
        bad_bytes: all,
        bad_places: 1,
        bad: vec![(0, all)],
        failed: 512,
        ..full::Evidence::default()
    };
    let found = full::infer(&evidence);
    assert_eq!((found.verdict, found.value), (Verdict::Unknown, None));
    assert!(found.reason.contains("write-protected"), "{}", found.reason);
    assert_eq!(full::lost(&evidence), None);
    let took = full::infer(&full::Evidence { written_bytes: all, ..evidence });
    assert_eq!((took.verdict, took.value), (Verdict::Found, Some(0)));
}

// Breaks when one bad block among all the good ones is missed, or its place is not said.
#[test]
fn one_bad_block_is_found() {
    for (kind, at) in [("corrupt", 70_008_832_u64), ("lost", 0), ("unreadable", 134_217_728)] {
        let body = all(&format!("{DRIVE}&faults.{kind}={at}+4096&faults.error_after_ns=1000"));
        let found = &body.findings[0];
        assert_eq!(found.verdict, Verdict::Unknown, "{kind}: {found:?}");
        assert!(found.reason.starts_with("the drive is damaged"), "{kind}: {found:?}");
        assert!(found.reason.contains(&format!("the first at byte {at}")), "{kind}: {found:?}");
        let full = body.evidence.full.unwrap();
        // Of a request that fails all of its sectors may be bad.
        let most = if kind == "unreadable" { 1 << 20 } else { 4096 };
        assert!((512..=most).contains(&full.bad_bytes), "{kind}: {} bad", full.bad_bytes);
        assert_eq!(full.bad_places, 1, "{kind}: {:?}", full.bad);
    }
}

// Breaks when a run that was stopped begins again, forgets what it had found, or takes what it wrote for another's.
#[test]
fn a_run_that_was_stopped_resumes() {
    let spec = format!("{DRIVE}&faults.real_capacity_bytes=100663296&faults.beyond=lose");
    let whole = all(&spec).evidence.full.unwrap();
    for stop_after in [1, 7, 16, 17, 31] {
        let mut target = sim::open(&spec).unwrap();
        let (body, done) = run(&mut target, Vec::new(), stop_after);
        assert!(body.interrupted && done.len() == stop_after, "{} parts", done.len());
        assert_eq!(body.findings[0].verdict, Verdict::Unknown);
        assert!(body.findings[0].reason.contains("were read back so far"), "{:?}", body.findings);
        let (body, rest) = run(&mut target, done, 0);
        assert_eq!(rest.len(), 32 - stop_after);
        assert_eq!(body.findings[0].value, Some(96 << 20), "{:?}", body.findings);
        let full = body.evidence.full.unwrap();
        assert_eq!((full.bad_bytes, full.bad), (whole.bad_bytes, whole.bad.clone()));
    }
}
