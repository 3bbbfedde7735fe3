//! The probe for fake drives, on drives that keep what they are given or do not.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::bench;
use block::{Bytes, Nanos, Op, Payload, Target};
use drivescope_probe::capacity::{self, Evidence, Kept, Options, Restorer};
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

// Breaks when a fake passes for genuine because a cache held what was written beyond its end; or when what the cache
// held makes it a damaged drive.
#[test]
fn a_cache_hides_no_fake() {
    for spec in [
        // The figures of f3's issues 50 and 52.
        "sim:fake-64g?faults.real_capacity_bytes=7977566208&faults.beyond=lose&faults.cache_bytes=3145728",
        "sim:usb-8m?faults.real_capacity_bytes=4294967296&faults.beyond=lose&faults.cache_bytes=66060288",
        "sim:fake-64g?faults.beyond=lose&faults.cache_bytes=104857600&faults.cache_rule=all",
        "sim:fake-64g?faults.cache_bytes=66060288&faults.cache_rule=all",
    ] {
        let (found, evidence) = asked(spec);
        assert_eq!(found.verdict, Verdict::Found, "{spec}: {found:?}");
        assert_eq!(found.value, Some(truth(spec)), "{spec}: {found:?} {:?}", evidence.end);
        assert!(found.reason.contains("fake"), "{spec}: {found:?}");
    }
}

// Breaks when a drive whose end gives I/O errors cannot be asked, or its size is missed.
#[test]
fn a_drive_that_fails_beyond_its_end_is_told_to_the_byte() {
    let spec = "sim:usb-8m?faults.real_capacity_bytes=5368709120&faults.beyond=fail&faults.error_after_ns=1000000";
    let (found, _) = asked(spec);
    assert_eq!((found.verdict, found.value), (Verdict::Found, Some(5 << 30)), "{found:?}");
    assert!(found.reason.contains("damaged or a fake: I/O fails"), "{found:?}");
}

// Breaks when a small card gets no answer: it is written as a whole, and the answer has a confidence.
#[test]
fn a_small_card_is_written_as_a_whole() {
    let (found, evidence) = asked("sim:usb-8m?capacity=64MiB");
    assert_eq!((found.value, found.confidence), (Some(64 << 20), Some(0.98)), "{found:?}");
    assert!(evidence.is_whole && found.reason.contains("genuine"), "{found:?}");
    for rest in
        ["", "&faults.cache_bytes=4194304", "&faults.cache_bytes=4194304&faults.cache_rule=all"]
    {
        let fake = "faults.real_capacity_bytes=33554432&faults.beyond=lose";
        let spec = format!("sim:usb-8m?capacity=64MiB&{fake}{rest}");
        let (found, _) = asked(&spec);
        assert_eq!(
            (found.verdict, found.value),
            (Verdict::Found, Some(32 << 20)),
            "{spec}: {found:?}"
        );
    }
}

// Breaks when the statement of how much is written is less than what is.
#[test]
fn no_more_is_written_than_was_said() {
    for spec in ["sim:usb-8m", "sim:usb-8m?capacity=64MiB"] {
        let (written, most) = bench::at(spec, |desk| {
            let options = Options::default();
            capacity::probe(desk, &Known::new(), &options).unwrap();
            (desk.spent().written_bytes.0, options.writes(desk.info().capacity_bytes.0))
        });
        assert!(written <= most && written >= most / 10 * 9, "{spec}: {written} of {most}");
    }
}

// Breaks when memory, bytes or time that are short make a verdict that says more than was tried.
#[test]
fn what_was_not_tried_is_stated() {
    let options = Options { memory_bytes: Some(200 << 20), ..Options::default() };
    let found = bench::at("sim:usb-8m", |desk| {
        capacity::probe(desk, &Known::new(), &options).unwrap().findings.remove(0)
    });
    assert_eq!(found.verdict, Verdict::Found);
    assert!(found.reason.contains("a write cache of more than 128 MiB"), "{found:?}");
}

// Breaks when an honest drive is called a fake, or sizes above some bound are not reached.
#[test]
fn a_genuine_drive_holds_what_it_claims() {
    for spec in ["sim:usb-8m", "sim:sdcard-4m", "sim:enterprise-28op", "sim:optane", "sim:hdd-7200"]
    {
        let (found, evidence) = asked(spec);
        assert_eq!(found.verdict, Verdict::Found, "{spec}: {found:?}");
        assert_eq!(found.value, Some(truth(spec)), "{spec}: {found:?}");
        assert_eq!(evidence.is_whole, truth(spec) < 768 << 20, "{spec}");
        if evidence.is_whole {
            assert_eq!(found.confidence, Some(0.98), "{spec}: {found:?}");
            continue;
        }
        // (1 - 0.05)^77 < 0.02, no more and no fewer places than that.
        assert!((72..=77).contains(&evidence.samples.len()), "{spec}");
        // A drive that dies late passes every sample.
        assert_eq!(found.confidence, None, "{spec}: {found:?}");
        assert!(found.reason.contains("a write cache of more than 512 MiB"), "{spec}: {found:?}");
        assert!(found.reason.contains("only writing all of it"), "{spec}: {found:?}");
        assert_eq!(evidence.cache_limit_bytes, Some(512 << 20), "{spec}");
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
    for spec in [
        "sim:usb-8m",
        "sim:usb-8m?capacity=64MiB",
        "sim:fake-64g",
        "sim:fake-64g?faults.beyond=lose",
        "sim:fake-64g?faults.beyond=lose&faults.cache_bytes=66060288",
    ] {
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

/// Wants to stop, as Ctrl-C does, after `after` scripts.
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

/// Salt, and what is saved and not yet put back.
type Saved = Rc<RefCell<Option<(u64, Vec<(u64, Vec<u8>)>)>>>;

/// Keeps what is saved, and sees whether it was saved before anything was written.
#[derive(Default)]
struct Saver {
    refuses: bool,
    /// The part of a trial after which the process dies.
    dies_after: &'static str,
    written_unsaved: u64,
    written: u64,
    saved: Saved,
    restored: u64,
}

impl block::RunSink for Saver {
    fn event(&mut self, _: &block::Event) {}
}

impl Keeper for Saver {
    fn samples(&mut self, part: &str, samples: &[Sample]) {
        let written = samples.iter().filter(|sample| sample.op == Op::Write).count() as u64;
        self.written += written;
        if self.saved.borrow().is_none() {
            self.written_unsaved += written;
        }
        if part == self.dies_after {
            std::panic::resume_unwind(Box::new("killed"));
        }
    }
    fn secure(&mut self, salt: u64, kept: &Kept) -> Result<(), String> {
        assert!(self.saved.borrow().is_none(), "what was saved before is not put back");
        if self.refuses {
            return Err("no room".to_owned());
        }
        let pieces = kept.places().zip(kept.pieces());
        let saved = pieces.map(|((offset, len), piece)| {
            assert_eq!(piece.len() as u64, len);
            (offset, piece.to_vec())
        });
        *self.saved.borrow_mut() = Some((salt, saved.collect()));
        Ok(())
    }
    fn restored(&mut self, is_whole: bool) {
        assert!(is_whole);
        *self.saved.borrow_mut() = None;
        self.restored += 1;
    }
}

// Breaks when something is overwritten before it is saved, or what was saved is thrown away before it is put back.
#[test]
fn what_is_overwritten_is_saved_first() {
    for spec in ["sim:usb-8m", "sim:fake-64g", "sim:fake-64g?faults.beyond=lose"] {
        let mut saver = Saver::default();
        let kept = still_there(
            spec,
            |_| {},
            &mut saver,
            &AtomicBool::new(false),
            |desk| {
                capacity::probe(desk, &Known::new(), &Options::default()).unwrap();
            },
        );
        assert!(kept && saver.restored > 0 && saver.written > 0, "{spec}");
        assert!(saver.saved.borrow().is_none(), "{spec}");
        assert_eq!(saver.written_unsaved, 0, "{spec}");
    }
}

#[test]
fn what_cannot_be_saved_is_not_overwritten() {
    let mut saver = Saver { refuses: true, ..Saver::default() };
    let kept = still_there(
        "sim:usb-8m",
        |_| {},
        &mut saver,
        &AtomicBool::new(false),
        |desk| {
            let halt = capacity::probe(desk, &Known::new(), &Options::default()).unwrap_err();
            assert!(halt.to_string().contains("no room"), "{halt}");
        },
    );
    assert!(kept && saver.written == 0);
}

// Breaks when a killed probe leaves what cannot be put back from what it saved: on a drive that wraps, too, where a stamp
// lies at another place than it was written to.
#[test]
fn what_a_killed_probe_overwrote_is_put_back_from_what_it_saved() {
    for spec in ["sim:usb-8m", "sim:fake-64g", "sim:fake-64g?faults.beyond=lose"] {
        for dies_after in ["stamp", "read back", "look for stamps"] {
            let mut saver = Saver { dies_after, ..Saver::default() };
            let saved = Rc::clone(&saver.saved);
            let kept = still_there(
                spec,
                |_| {},
                &mut saver,
                &AtomicBool::new(false),
                |desk| {
                    let died = catch_unwind(AssertUnwindSafe(|| {
                        capacity::probe(desk, &Known::new(), &Options::default())
                    }));
                    assert!(died.is_err(), "it lives");
                    let (salt, pieces) = saved.borrow_mut().take().unwrap();
                    let mut restorer = Restorer::new(salt, false);
                    for (offset, data) in &pieces {
                        restorer.place(desk, *offset, data).unwrap();
                    }
                    let restored = restorer.finish(desk).unwrap();
                    assert!(
                        restored.is_whole() && restored.put_back_bytes > Bytes::ZERO,
                        "{restored:?}"
                    );
                },
            );
            assert!(kept, "{spec}, killed after {dies_after}");
        }
    }
}
