//! Registered buffers under the limit of locked memory that most users have.
//!
//! Alone in its program: limits are the process's.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use block::{Bytes, Target as _};
use drivescope_linux::target::{AnyTarget, Calibration, EngineKind, OpenOptions, RealTarget};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

#[path = "common/drive_kit.rs"]
mod drive_kit;
#[path = "common/step_kit.rs"]
mod step_kit;
use step_kit::{closed, only, plan, run};

/// Limit that systemd sets for a user's session.
const COMMON: u64 = 8 << 20;

/// Makes this process (it holds only this test) one that the limit applies to. False when there is less
/// memory to lock than is common.
fn become_ordinary() -> bool {
    let limit = getrlimit(Resource::Memlock);
    if limit.current.is_some_and(|now| now < COMMON) {
        return false;
    }
    let soft = Rlimit { current: Some(COMMON), ..limit };
    setrlimit(Resource::Memlock, soft).unwrap();
    let mut sets = capabilities(None).unwrap();
    sets.effective.remove(CapabilitySet::IPC_LOCK);
    set_capabilities(None, sets).unwrap();
    true
}

// The kernel ends a closed ring some time later, and gives back then what its buffers were charged. The
// next run, begun at once, would not get its own, so that runs of one mark would be made with registered
// buffers and without by turns, and differ by that.
#[test]
fn each_run_registers_its_buffers_under_a_common_limit_of_locked_memory() {
    if !become_ordinary() {
        println!("skipped: less than 8 MiB of memory may be locked");
        return;
    }
    let file = drive_kit::Scratch::new("memlock", Bytes::mib(8));
    // 5 MiB of buffers: once they fit, twice they do not.
    let plan = plan("128KiB", &closed(40), "{ ios = 80 }", &only("read"));
    let options = OpenOptions { engine: EngineKind::IoUring, ..OpenOptions::default() };
    let refused = |round: u32| {
        let opened = RealTarget::open(file.path(), options.clone()).unwrap();
        let AnyTarget::IoUring(mut target) = opened.engine().unwrap() else { unreachable!() };
        assert_eq!(run(&mut target, &plan.steps[0]).failure, None, "round {round}");
        target.notes()
    };
    let first = refused(0);
    if !first.is_empty() {
        eprintln!("{first:?}");
        println!("skipped: io_uring registers no buffers");
        return;
    }
    for round in 1..30 {
        assert_eq!(refused(round), Vec::<String>::new(), "round {round}");
    }

    // The notes must report when the tester's own limit was measured without registered buffers.
    let mut nothing = Calibration::new(EngineKind::IoUring, Bytes::mib(64), None);
    assert_eq!(run(&mut nothing, &plan.steps[0]).failure, None);
    assert_eq!(nothing.notes(), Vec::<String>::new());
    let larger = step_kit::plan("128KiB", &closed(80), "{ ios = 80 }", &only("read"));
    assert_eq!(run(&mut nothing, &larger.steps[0]).failure, None);
    let notes = nothing.notes();
    assert!(notes.iter().any(|n| n.contains("not registered")), "{notes:?}");
}
