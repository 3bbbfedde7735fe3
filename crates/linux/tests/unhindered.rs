//! *Unhindered* on real targets: limits of the tester are distinguished from those of the drive.
//!
//! In a program of its own: what limits is measured, and must not be another test.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use block::{Bytes, Environment, Nanos, Target};
use drivescope_linux::environment::RealEnvironment;
use drivescope_linux::stack;
use drivescope_linux::sysfs::Roots;
use drivescope_linux::target::{AnyTarget, Calibration, EngineKind, OpenOptions, RealTarget};
use engine::{Control, IoPath};
use mark::{Around, Deciding, Direction, Earlier, Engines, NoKeeper, Options, findings};
use stats::{Evidence, Proof, Verdict};
use workload::plan::{Content, Order, Plan, Share, Step};

#[path = "common/drive_kit.rs"]
mod kit;
use kit::*;

/// Lock that runs these tests one at a time: one must not become the bottleneck of another on two CPUs.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reads(test: &str) -> Plan {
    Options {
        tests: vec![test.parse().unwrap()],
        directions: vec![Direction::Read],
        duration: Nanos::millis(150),
        warm_up: Nanos::millis(20),
        pause: Nanos::ZERO,
        runs: 3,
        discard_first: 0,
        order: Order::Interleaved,
        cache_probe: Nanos::ZERO,
        until: None,
        decides: Deciding::Never,
        at_least_ios: None,
        settle: Nanos::ZERO,
        seed: 1,
        region: None,
        content: Content::default(),
        durable: false,
        share: Share::Partition,
    }
    .plan()
}

/// Result of the check for reads of `path`, as the binary would find it.
fn unhindered(path: &Path, engine: EngineKind, direct: bool, test: &str) -> Proof {
    let options = OpenOptions { engine, direct, ..OpenOptions::default() };
    let opened = RealTarget::open(path, options).unwrap();
    let roots = Roots::default();
    let stack = stack::resolve(&roots, path).unwrap();
    let file = opened.file().try_clone().unwrap();
    let mut environment = RealEnvironment::new(roots, stack, Some(file));
    match opened.engine().unwrap() {
        AnyTarget::IoUring(mut target) => judged(&mut target, &mut environment, engine, test),
        AnyTarget::Libaio(mut target) => judged(&mut target, &mut environment, engine, test),
        AnyTarget::Psync(mut target) => judged(&mut target, &mut environment, engine, test),
    }
}

fn judged<T: Target>(
    target: &mut T,
    environment: &mut RealEnvironment,
    engine: EngineKind,
    test: &str,
) -> Proof {
    let plan = reads(test);
    let cancel = AtomicBool::new(false);
    let control = Control { cancel: &cancel, trace_cap: 0 };
    let mut nothing = Calibration::new(engine, target.info().capacity_bytes, None);
    let null: (&mut dyn IoPath, bool) = (&mut nothing, true);
    let ceiling = mark::ceiling(&plan.steps[0], &plan, null, environment, control).unwrap();
    let (ceilings, earlier) = ([ceiling], Earlier::default());
    let around = Around {
        engines: Engines::default(),
        ceilings: &ceilings,
        earlier,
        control,
        keeper: &mut NoKeeper,
        needs_more: mark::needs_more,
    };
    let mut done = mark::execute(&plan, target, environment, around).unwrap();
    let look = |step: &Step| mark::ceiling(step, &plan, (&mut nothing, true), environment, control);
    mark::look_again(&plan, &mut done, look).unwrap();
    assert_eq!(done.broken, None);
    let context = findings::Context {
        info: target.info(),
        stack: environment.stack(),
        extents: None,
        engine: &engine.to_string(),
        direct: true,
        durable: false,
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        polling: false,
        in_place: false,
        extents_after: None,
        own_file: false,
        cache: None,
    };
    findings::body(&plan, &done, &context).tests.remove(0).proofs.unhindered
}

/// Share of what the tester can do at most that was asked of it.
fn load(proof: &Proof) -> f64 {
    match proof.evidence["load_share_of_null"] {
        Evidence::Value(share) => share,
        ref other => panic!("no share: {other:?}"),
    }
}

/// Result of the check for reads of `/dev/null`, on which the limit itself is measured.
fn of_nothing(engine: EngineKind, test: &str) -> Proof {
    let mut environment = RealEnvironment::new(Roots::default(), block::Stack::default(), None);
    let mut nothing = Calibration::new(engine, Bytes::mib(64), None);
    assert!(nothing.through_kernel(), "{engine}: every Linux has /dev/null");
    judged(&mut nothing, &mut environment, engine, test)
}

// The limit must be one that can be reached: were it measured otherwise than runs are, or too high, no drive
// would ever come near it and the check would say nothing.
#[test]
fn what_runs_at_the_testers_limit_is_refuted_by_it() {
    let _alone = alone();
    for engine in EngineKind::ALL {
        for test in ["RND4KQ32T1", "RND4KQ1T1"] {
            // While others take the CPU away it is not reached: tried again then.
            let mut tries = (0..10).map(|_| of_nothing(engine, test));
            let wanted = tries.find(|p| load(p) > 0.8);
            let proof = wanted.unwrap_or_else(|| panic!("{engine}, {test}: never at its limit"));
            assert_eq!(proof.verdict, Verdict::Refuted, "{engine}, {test}: {proof:?}");
            assert!(load(&proof) < 1.5, "{engine}, {test}: the limit was not the limit: {proof:?}");
        }
    }
}

// Reads from memory are near the limit and those from a device far from it. Were both alike, the limit
// would measure something unrelated to the tester's work.
#[test]
fn the_page_cache_comes_nearer_to_the_limit_than_a_loop_device() {
    let _alone = alone();
    let Some(device) = LoopDevice::new("unhindered-share", Bytes::mib(64)) else { return };
    let file = Scratch::new("unhindered-share-file", Bytes::mib(32));
    std::fs::read(file.path()).unwrap();
    for engine in EngineKind::ALL {
        let mut shares = Vec::new();
        let near = (0..10).any(|_| {
            let cached = load(&unhindered(file.path(), engine, false, "RND512BQ32T1"));
            let device = load(&unhindered(&device.path, engine, true, "RND4KQ1T1"));
            shares.push((cached, device));
            cached >= 3.0 * device
        });
        println!("{engine}: {shares:.3?}");
        assert!(near, "{engine}: (page cache, loop device): {shares:.3?}");
    }
}

// Reads from the page cache cost only the tester's own time and the kernel's: attributing them to the
// drive is the classic wrong result.
#[test]
fn reads_from_the_page_cache_are_the_testers_limit() {
    let _alone = alone();
    let file = Scratch::new("unhindered", Bytes::mib(32));
    std::fs::read(file.path()).unwrap();
    for engine in EngineKind::ALL {
        for test in ["RND4KQ32T1", "RND4KQ1T1"] {
            // While others take the CPU away the tester does not use it up: tried again then.
            let mut tries = (0..10).map(|_| unhindered(file.path(), engine, false, test));
            let last = tries.find(|proof| proof.verdict == Verdict::Refuted);
            assert!(last.is_some(), "{engine}, {test}: not refuted in ten tries");
        }
    }
}

// If a drive that makes the tester wait were refuted too, the verdict would say nothing.
#[test]
fn a_loop_device_with_direct_io_is_not() {
    let _alone = alone();
    let Some(device) = LoopDevice::new("unhindered-loop", Bytes::mib(64)) else { return };
    for engine in EngineKind::ALL {
        let mut tries = (0..10).map(|_| unhindered(&device.path, engine, true, "RND4KQ1T1"));
        let wanted = tries.find(|proof| proof.verdict != Verdict::Refuted);
        let proof = wanted.unwrap_or_else(|| panic!("{engine}: refuted in ten tries"));
        for name in ["null_iops", "load_share_of_null"] {
            assert!(proof.evidence.contains_key(name), "{name} is missing: {proof:?}");
        }
    }
}
