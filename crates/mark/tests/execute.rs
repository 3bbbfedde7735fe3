//! Marks that begin with what an earlier process made, on a drive whose answers are known.
#![allow(clippy::unwrap_used, reason = "these are tests")]

#[path = "../../engine/tests/metronome/mod.rs"]
mod metronome;

use std::sync::atomic::{AtomicBool, Ordering};

use block::{Bytes, Event, Nanos, Outcome, RunSink, Target};
use drivescope_mark::{
    Around, Deciding, Direction, Earlier, Engines, Executed, FailedRun, Keeper, Kept, MarkError,
    NoKeeper, Options, TracedRun, execute, needs_more,
};
use engine::{Control, Samples};
use metronome::{Metronome, Nowhere};
use workload::plan::{Order, Plan, Region, Until};

/// Keeps what a record would.
#[derive(Default)]
struct Shelf(Vec<Kept>, Vec<FailedRun>);

impl RunSink for Shelf {
    fn event(&mut self, _: &Event) {}
}

impl Keeper for Shelf {
    fn over(&mut self, kept: &Kept, samples: &Samples) {
        assert_eq!(samples.totals.ios, kept.figures.as_ref().unwrap().totals.ios);
        self.0.push(kept.clone());
    }

    fn failed(&mut self, run: &FailedRun) {
        self.1.push(run.clone());
    }

    fn traced(&mut self, _: TracedRun) {}
}

fn plan(change: impl FnOnce(&mut Options)) -> Plan {
    let mut options = Options {
        tests: vec!["RND4KQ1T1".parse().unwrap(), "SEQ1MQ8T1".parse().unwrap()],
        directions: vec![Direction::Read],
        duration: Nanos::millis(50),
        warm_up: Nanos::millis(5),
        pause: Nanos::millis(1),
        runs: 3,
        discard_first: 1,
        seed: 11,
        decides: Deciding::Never,
        ..Options::default()
    };
    change(&mut options);
    options.plan()
}

fn drive() -> Metronome {
    Metronome::new(2, Nanos::micros(100))
}

fn make(
    plan: &Plan,
    drive: &mut Metronome,
    earlier: Earlier,
    keeper: &mut dyn Keeper,
) -> Result<Executed, MarkError> {
    let control = Control { cancel: &AtomicBool::new(false), trace_cap: 0 };
    execute(
        plan,
        drive,
        &mut Nowhere::default(),
        Around { engines: Engines::default(), ceilings: &[], earlier, control, keeper, needs_more },
    )
}

fn kept(plan: &Plan) -> Vec<Kept> {
    let mut shelf = Shelf::default();
    make(plan, &mut drive(), Earlier::default(), &mut shelf).unwrap();
    shelf.0
}

fn runs(executed: &Executed) -> Vec<Vec<u32>> {
    executed.tests.iter().map(|t| t.runs.iter().map(|r| r.position).collect()).collect()
}

#[test]
fn every_run_is_kept_in_order_also_those_that_do_not_count() {
    let all = kept(&plan(|_| ()));
    assert_eq!(all.len(), 8);
    assert!(all.iter().enumerate().all(|(index, kept)| kept.position as usize == index));
    assert_eq!(all.iter().filter(|kept| !kept.counted).count(), 2);
    assert!(all.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns));
}

/// A drive that is there all the time: runs that were made are not made again, and count.
#[test]
fn a_mark_goes_on_where_another_process_was_stopped() {
    for order in [Order::Interleaved, Order::Blocked] {
        let plan = plan(|options| options.order = order);
        let all = kept(&plan);
        let whole = make(&plan, &mut drive(), Earlier::default(), &mut NoKeeper).unwrap();
        for made in 0..=all.len() {
            let earlier = Earlier { runs: all[..made].to_vec(), failed: Vec::new(), replay: false };
            let (mut rest, mut drive) = (Shelf::default(), drive());
            let executed = make(&plan, &mut drive, earlier, &mut rest).unwrap();
            assert_eq!(rest.0.len(), all.len() - made);
            assert_eq!(runs(&executed), runs(&whole));
            assert_eq!(executed.resumed_after, (made > 0).then_some(made as u32));
            assert_eq!(drive.taken.is_empty(), made == all.len(), "nothing is left to issue");
            let counts = executed.tests.iter().zip(&whole.tests);
            assert!(counts.into_iter().all(|(a, b)| a.latencies.count() == b.latencies.count()));
        }
    }
}

/// A virtual drive that began again: completed runs are made again, must come out the same, and are kept once.
#[test]
fn a_replay_brings_a_virtual_drive_to_where_it_was() {
    let plan = plan(|_| ());
    let all = kept(&plan);
    for made in 0..=all.len() {
        let earlier = Earlier { runs: all[..made].to_vec(), failed: Vec::new(), replay: true };
        let (mut rest, mut drive) = (Shelf::default(), drive());
        let executed = make(&plan, &mut drive, earlier, &mut rest).unwrap();
        assert_eq!(rest.0, all[made..]);
        assert_eq!(executed.resumed_after, None);
    }
    let mut other = all;
    other[4].figures.as_mut().unwrap().totals.ios += 1;
    let earlier = Earlier { runs: other, failed: Vec::new(), replay: true };
    let error = make(&plan, &mut drive(), earlier, &mut NoKeeper).unwrap_err();
    assert!(matches!(error, MarkError::Diverged { run: 3, .. }), "{error}");
}

/// Asks to stop when the run at this position begins.
struct Stopper<'a>(u32, &'a AtomicBool);

impl RunSink for Stopper<'_> {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::StepStarted { position, .. } if *position == self.0) {
            self.1.store(true, Ordering::Relaxed);
        }
    }
}

impl Keeper for Stopper<'_> {
    fn over(&mut self, kept: &Kept, _: &Samples) {
        panic!("run {} was recorded before", kept.position);
    }

    fn failed(&mut self, run: &FailedRun) {
        panic!("{run:?}");
    }

    fn traced(&mut self, run: TracedRun) {
        panic!("the single I/Os of run {} were recorded before", run.position);
    }
}

/// Ctrl-C while runs are made once more: what is recorded of them stays, all of it, and nothing is
/// recorded again.
#[test]
fn a_replay_that_is_stopped_loses_nothing() {
    let plan = plan(|_| ());
    let all = kept(&plan);
    let earlier = Earlier { runs: all[..6].to_vec(), failed: Vec::new(), replay: true };
    let cancel = AtomicBool::new(false);
    let keeper = &mut Stopper(2, &cancel);
    let around = Around {
        engines: Engines::default(),
        ceilings: &[],
        earlier,
        control: Control { cancel: &cancel, trace_cap: 100 },
        keeper,
        needs_more,
    };
    let executed = execute(&plan, &mut drive(), &mut Nowhere::default(), around).unwrap();
    assert!(executed.interrupted);
    let counted: Vec<u32> = all[..6].iter().filter(|k| k.counted).map(|k| k.position).collect();
    let mut found: Vec<u32> = runs(&executed).concat();
    found.sort_unstable();
    assert_eq!(found, counted);
}

/// The numbers of a drive that failed once must not look like those of one that never did, whichever process resumes.
#[test]
fn a_failure_is_kept_and_stays_with_the_mark_that_goes_on() {
    let plan = plan(|_| ());
    for replay in [false, true] {
        let (mut first, mut bad) = (Shelf::default(), drive());
        bad.fails = Some((1_500, Outcome(-5)));
        let executed = make(&plan, &mut bad, Earlier::default(), &mut first).unwrap();
        let Shelf(runs, failed) = first;
        assert!(executed.broken.is_some() && executed.failed == failed, "{failed:?}");
        assert_eq!((failed.len(), failed[0].position as usize), (1, runs.len()));

        // A drive that is created again fails again, and that is the same failure; another one is new.
        let again = || Earlier { runs: runs.clone(), failed: failed.clone(), replay };
        let (mut second, mut bad) = (Shelf::default(), drive());
        bad.fails = Some((if replay { 1_500 } else { 10 }, Outcome(-5)));
        let executed = make(&plan, &mut bad, again(), &mut second).unwrap();
        assert_eq!(executed.failed.len(), if replay { 1 } else { 2 });
        assert_eq!(second.1.len(), executed.failed.len() - 1);

        let executed = make(&plan, &mut drive(), again(), &mut NoKeeper).unwrap();
        assert!(executed.broken.is_none() && executed.failed == failed);
    }
}

/// Runs of another plan must not be filed under this one's tests.
#[test]
fn what_is_no_beginning_of_the_plan_is_refused() {
    let plan = plan(|_| ());
    let all = kept(&plan);
    let changes: [fn(&mut Kept); 4] = [
        |kept| kept.position += 1,
        |kept| kept.run += 1,
        |kept| kept.counted = !kept.counted,
        |kept| kept.step.push('x'),
    ];
    for change in changes {
        let mut runs = all.clone();
        change(&mut runs[3]);
        let earlier = Earlier { runs, failed: Vec::new(), replay: false };
        let error = make(&plan, &mut drive(), earlier, &mut NoKeeper).unwrap_err();
        assert!(matches!(error, MarkError::Diverged { .. }), "{error}");
    }
}

/// The budget is one of the whole mark: if each process got it again, a mark that is stopped
/// often enough would never end.
#[test]
fn the_budget_counts_what_earlier_processes_took() {
    let until = Until { half_width_percent: 1e-9, budget: Nanos::millis(600) };
    let plan = plan(|options| options.until = Some(until));
    let all = kept(&plan);
    assert!(all.last().unwrap().at_ns >= until.budget.0);
    let most = all.len();
    let earlier = Earlier { runs: all, failed: Vec::new(), replay: false };
    let mut rest = Shelf::default();
    let executed = make(&plan, &mut drive(), earlier, &mut rest).unwrap();
    assert!(executed.out_of_budget && rest.0.is_empty(), "{most} and {} runs", rest.0.len());
}

/// The target's own description is not asked for: what is held is the plan alone.
#[test]
fn a_plan_that_does_not_fit_is_refused_before_anything_is_issued() {
    let mut plan = plan(|_| ());
    plan.region = Some(Region { offset: Bytes::gib(1), length: Bytes::gib(1) });
    let mut drive = drive();
    assert!(make(&plan, &mut drive, Earlier::default(), &mut NoKeeper).is_err());
    assert!(drive.taken.is_empty() && drive.info().capacity_bytes < Bytes::gib(1));
}
