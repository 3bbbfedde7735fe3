//! The target that the tester's own limit is measured on.
//!
//! Alone in its program: what the process reads is counted, and all of it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::sync::{Mutex, PoisonError};

use block::{Bytes, DriveKind, Op, Target};
use drivescope_linux::target::{Calibration, EngineKind};

#[path = "common/step_kit.rs"]
mod kit;
use kit::*;

fn calibration(engine: EngineKind) -> Calibration {
    let target = Calibration::new(engine, Bytes::mib(64), None);
    assert!(target.through_kernel(), "{engine}: every Linux has /dev/null");
    assert_eq!(
        (target.info().kind, target.info().capacity_bytes),
        (DriveKind::Null, Bytes::mib(64))
    );
    target
}

// A plan that cannot run here leaves its result without a ceiling, and *unhindered* unprovable.
#[test]
fn every_operation_is_answered_as_a_drive_would() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let ops = r#"[
        { op = "read", percent = 20 },
        { op = "write", percent = 20 },
        { op = "write", percent = 20, fua = true },
        { op = "flush", percent = 20 },
        { op = "discard", percent = 20 },
    ]"#;
    for engine in EngineKind::ALL {
        for depth in [1, 8] {
            let plan = plan("8KiB", &closed(depth), "{ ios = 2000 }", ops);
            let samples = run(&mut calibration(engine), &plan.steps[0]);
            assert_eq!(samples.failure, None, "{engine}");
            assert_eq!(samples.totals.ios, 2000, "{engine}");
            for op in &samples.phases[0].ops {
                assert!((300..1000).contains(&op.ios), "{engine}: {} of {:?}", op.ios, op.op);
                let meant = if op.op == Op::Flush { 0 } else { op.ios * 8192 };
                assert_eq!(op.bytes, Bytes(meant), "{engine}: {:?}", op.op);
            }
        }
    }
}

/// Held by each test: one of them counts what the process does, since a submitter's thread, which alone
/// could be asked for its own, is gone when the count is read.
static ALONE: Mutex<()> = Mutex::new(());

/// Calls of `pread(2)` and its like that this process has made.
fn read_calls() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("syscr: ")).unwrap();
    line.parse().unwrap()
}

// Without a system call per request it would be the limit of the tester's user side alone, several
// times too high, and no result would ever come near it; with more than one, too low.
#[test]
fn each_request_goes_through_the_kernel() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let plan = plan("4KiB", &closed(1), "{ ios = 5000 }", &only("read"));
    if std::fs::read_to_string("/proc/self/io").is_err() {
        println!("skipped: this machine has no /proc/self/io");
        return;
    }
    let mut target = calibration(EngineKind::Psync);
    let before = read_calls();
    run(&mut target, &plan.steps[0]);
    let calls = read_calls() - before;
    // Beside them there is what a thread reads when it begins and ends.
    assert!((5000..5100).contains(&calls), "{calls} calls for 5000 reads");
}
