//! Writes that are made while others are outstanding hold what they would have held otherwise.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use block::Bytes;
use drivescope_linux::target::{AnyTarget, EngineKind, OpenOptions, RealTarget};

#[path = "common/drive_kit.rs"]
mod drive_kit;
#[path = "common/step_kit.rs"]
mod step_kit;
use step_kit::{closed, plan, run};

/// What a file of 8 MiB holds after 60 I/Os by `engine`.
fn written(engine: EngineKind, depth: u16, block: &str, ops: &str) -> Vec<u8> {
    let name = format!("ahead-{engine}-{depth}-{block}-{}", ops.len());
    let file = drive_kit::Scratch::new(&name, Bytes::mib(8));
    let mut plan = plan(block, &closed(depth), "{ ios = 60 }", ops);
    // One block after the other: what lies where two outstanding writes meet is anybody's guess.
    let phase = &mut plan.steps[0].phases[0];
    phase.address = workload::plan::Address::Sequential { share: workload::plan::Share::Partition };
    let options = OpenOptions { engine, ..drive_kit::writable() };
    let samples = match RealTarget::open(file.path(), options).unwrap().engine().unwrap() {
        AnyTarget::IoUring(mut target) => run(&mut target, &plan.steps[0]),
        AnyTarget::Libaio(mut target) => run(&mut target, &plan.steps[0]),
        AnyTarget::Psync(mut target) => run(&mut target, &plan.steps[0]),
    };
    assert_eq!((&samples.failure, samples.totals.ios), (&None, 60));
    std::fs::read(file.path()).unwrap()
}

// psync makes each write when it is due. Were one made ahead to hold anything else, or to be changed on
// its way to the kernel, a run and its repetition with another engine would write different data.
#[test]
fn what_is_written_does_not_depend_on_when_it_was_made() {
    let writes = r#"[{ op = "write", percent = 100 }]"#;
    let mixed = r#"[{ op = "write", percent = 50 }, { op = "read", percent = 50 }]"#;
    for (depth, block, ops) in
        [(1, "128KiB", writes), (4, "128KiB", writes), (1, "96KiB", mixed), (3, "4KiB", mixed)]
    {
        let wanted = written(EngineKind::Psync, depth, block, ops);
        for engine in [EngineKind::IoUring, EngineKind::Libaio] {
            let got = written(engine, depth, block, ops);
            let differs = got.iter().zip(&wanted).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{engine} Q{depth} {block} {ops}: first byte that differs");
        }
    }
}
