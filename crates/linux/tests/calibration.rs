//! The target that the tester's own limit is measured on.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

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

/// Calls of `pread(2)` and its like that this thread has made.
fn read_calls() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("syscr: ")).unwrap();
    line.parse().unwrap()
}

// Without a system call per request it would be the limit of the tester's user side alone, several
// times too high, and no result would ever come near it.
#[test]
fn each_request_goes_through_the_kernel() {
    let plan = plan("4KiB", &closed(1), "{ ios = 5000 }", &only("read"));
    if std::fs::read_to_string("/proc/self/io").is_err() {
        println!("skipped: this machine has no /proc/self/io");
        return;
    }
    let mut target = calibration(EngineKind::Psync);
    let before = read_calls();
    run(&mut target, &plan.steps[0]);
    let calls = read_calls() - before;
    assert!(calls >= 5000, "{calls} calls for 5000 reads");
}
