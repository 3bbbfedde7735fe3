//! The probe for fake drives, on drives that keep what they are given or do not.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::bench;
use block::{Bytes, Nanos, Op, Payload, Target};
use drivescope_probe::capacity::{self, Evidence, Options};
use drivescope_probe::chain::Done;
use drivescope_probe::{Desk, Finding, Halt, Keeper, Known, NoKeeper, Terms, Verdict};
use engine::{Bench, Sample, TargetBench};
use workload::content::SectorContent;
use workload::plan::{Content, Region};
use workload::script::{Access, Script};

fn asked(spec: &str) -> (Finding, Evidence) {
    bench::at(spec, |desk| {
        let mut outcome = capacity::probe(desk, &Known::new(), &Options::default()).unwrap();
        (outcome.findings.remove(0), outcome.evidence)
    })
}

fn truth(spec: &str) -> u64 {
    sim::show(spec).unwrap().truth.real_capacity_bytes.unwrap().0
}

// Breaks when a fake passes for what it claims, or its real size is missed by a block.
#[test]
fn a_fake_is_told_to_the_byte() {
    for spec in [
        "sim:fake-64g",
        "sim:fake-64g?faults.beyond=lose",
        "sim:fake-64g?faults.real_capacity_bytes=4194304000",
        "sim:fake-64g?faults.real_capacity_bytes=1073741824",
        "sim:fake-64g?faults.real_capacity_bytes=33554432000&faults.beyond=lose",
        "sim:usb-8m?faults.real_capacity_bytes=2147483648&faults.beyond=lose",
        "sim:usb-8m?faults.real_capacity_bytes=7992246272",
        "sim:mlc-nvme?faults.real_capacity_bytes=34359738368",
    ] {
        let (found, evidence) = asked(spec);
        assert_eq!(found.verdict, Verdict::Found, "{spec}: {found:?}");
        assert_eq!(found.value, Some(truth(spec)), "{spec}: {found:?} {:?}", evidence.moved);
        assert!(found.reason.contains("fake"), "{spec}: {found:?}");
    }
}

// Breaks when an honest drive is called a fake, or sizes above some bound are not reached.
#[test]
fn a_genuine_drive_holds_what_it_claims() {
    for spec in ["sim:usb-8m", "sim:sdcard-4m", "sim:enterprise-28op", "sim:optane", "sim:hdd-7200"]
    {
        let (found, evidence) = asked(spec);
        assert_eq!(found.verdict, Verdict::Found, "{spec}: {found:?}");
        assert_eq!(found.value, Some(truth(spec)), "{spec}: {found:?}");
        // (1 - 0.05)^77 < 0.02, no more and no fewer places than that.
        assert_eq!(found.confidence, Some(0.98));
        assert!((72..=77).contains(&evidence.samples.len()), "{spec}");
    }
}

// Breaks when a drive with lost or spoilt places is given a size as if it were sound or a fake.
#[test]
fn a_damaged_drive_is_given_no_size() {
    for faults in [
        "faults.corrupt=1GiB+2GiB",
        "faults.lost=1GiB+3GiB",
        "faults.unreadable=2GiB+1GiB&faults.error_after_ns=1000000",
        "faults.unwritable=2GiB+1GiB&faults.error_after_ns=1000000",
    ] {
        let (found, _) = asked(&format!("sim:usb-8m?{faults}"));
        assert_eq!(found.verdict, Verdict::Unknown, "{faults}: {found:?}");
        assert!(found.reason.contains("damaged"), "{faults}: {found:?}");
    }
}

/// Writes known content to places of a drive, lets `work` have a desk, and says whether the content is still there.
fn still_there(
    spec: &str,
    terms: impl FnOnce(&mut Terms),
    keeper: &mut dyn Keeper,
    cancel: &AtomicBool,
    work: impl FnOnce(&mut Desk<'_>),
) -> bool {
    let mut target = sim::open(spec).unwrap();
    let mut environment = target.environment();
    let capacity = target.info().capacity_bytes.0;
    let region = Region { offset: Bytes::ZERO, length: Bytes(capacity) };
    let mut given = Terms {
        region,
        may_write: true,
        time_budget: Nanos::secs(100_000),
        write_budget: Bytes(u64::MAX),
        seed: 3,
    };
    terms(&mut given);
    let real = sim::show(spec).unwrap().truth.real_capacity_bytes.unwrap().0;
    // The beginning and the end, which any trial overwrites.
    let places = [(0, 1 << 20), (8 << 20, 1 << 20), (real - (1 << 20), 1 << 20)];
    let script = |op| {
        let access = |&(offset, len): &(u64, u64)| Access {
            op,
            fua: false,
            offset: Bytes(offset),
            len: Bytes(len),
        };
        Script::one_by_one(places.iter().map(access))
    };
    let content =
        || -> Box<dyn Payload> { Box::new(SectorContent::new(Content::default(), 42, 0)) };
    let calm = AtomicBool::new(false);
    let read = |bench: &mut TargetBench<'_>| {
        let mut all = Vec::new();
        bench
            .run_for_data(&script(Op::Read), &content, &mut |_, data| all.extend_from_slice(data))
            .unwrap();
        all
    };
    let mut bench = TargetBench::new(&mut target, &mut environment, &calm);
    // Only lanes for data keep it.
    bench.run_to_the_end(&script(Op::Write), &content).unwrap();
    let before = read(&mut bench);
    assert!(before.iter().any(|byte| *byte != 0));
    let mut bench = TargetBench::new(&mut target, &mut environment, cancel);
    work(&mut Desk::new(&mut bench, given, keeper));
    let mut bench = TargetBench::new(&mut target, &mut environment, &calm);
    read(&mut bench) == before
}

// Breaks when what a user had on the drive is gone after a probe that promised to put it back.
#[test]
fn what_was_there_is_put_back() {
    for spec in ["sim:usb-8m", "sim:fake-64g", "sim:fake-64g?faults.beyond=lose"] {
        let probe = |keeps| {
            still_there(
                spec,
                |_| {},
                &mut NoKeeper,
                &AtomicBool::new(false),
                |desk| {
                    let options = Options { keeps, ..Options::default() };
                    capacity::probe(desk, &Known::new(), &options).unwrap();
                },
            )
        };
        assert!(probe(true), "{spec}");
        assert!(
            !probe(false),
            "{spec}: the places of this test are not those that are overwritten"
        );
    }
}

/// Wants to stop, as Ctrl-C does, when so many scripts were done.
struct Impatient<'a> {
    cancel: &'a AtomicBool,
    after: AtomicU64,
}

impl block::RunSink for Impatient<'_> {
    fn event(&mut self, _: &block::Event) {}
}

impl Keeper for Impatient<'_> {
    fn samples(&mut self, _: &str, _: &[Sample]) {
        if self.after.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.cancel.store(true, Ordering::Relaxed);
        }
    }
    fn finished(&mut self, _: &Done) {}
}

// Breaks when Ctrl-C, or a budget that ends in between, leaves stamps where the user's data was.
#[test]
fn what_was_there_is_put_back_when_it_is_interrupted() {
    let mut stopped = 0;
    for after in 1..6 {
        let cancel = AtomicBool::new(false);
        let mut keeper = Impatient { cancel: &cancel, after: AtomicU64::new(after) };
        let kept = still_there(
            "sim:usb-8m",
            |_| {},
            &mut keeper,
            &cancel,
            |desk| {
                let result = capacity::probe(desk, &Known::new(), &Options::default());
                stopped += u32::from(matches!(result, Err(Halt::Interrupted)));
            },
        );
        assert!(kept, "after {after} scripts");
    }
    assert!(stopped >= 4, "{stopped}");
    for millis in [300, 1000, 2000, 3000] {
        let shorten = |terms: &mut Terms| terms.time_budget = Nanos::millis(millis);
        let calm = AtomicBool::new(false);
        let kept = still_there("sim:usb-8m", shorten, &mut NoKeeper, &calm, |desk| {
            let outcome = capacity::probe(desk, &Known::new(), &Options::default()).unwrap();
            assert_eq!(outcome.findings[0].verdict, Verdict::Unknown);
        });
        assert!(kept, "after {millis} ms");
    }
}

// Breaks when a probe without consent, or with a budget too small to put everything back, writes at all.
#[test]
fn nothing_is_written_that_could_not_be_put_back() {
    for change in [
        (|terms: &mut Terms| terms.may_write = false) as fn(&mut Terms),
        |terms: &mut Terms| terms.write_budget = Bytes::mib(40),
        |terms: &mut Terms| terms.region.offset = Bytes::mib(1),
    ] {
        let (verdict, spent) = bench::on_terms("sim:usb-8m", change, |desk| {
            let outcome = capacity::probe(desk, &Known::new(), &Options::default()).unwrap();
            (outcome.findings[0].verdict, desk.spent())
        });
        assert_eq!((verdict, spent.written_bytes), (Verdict::Unknown, Bytes::ZERO));
    }
}
