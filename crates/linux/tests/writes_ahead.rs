//! Writes that are made while others are outstanding hold what they would have held otherwise.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::path::Path;

use block::{Bytes, Payload};
use drivescope_linux::target::{AnyTarget, EngineKind, OpenOptions, RealTarget};
use engine::Samples;
use workload::content::SectorContent;
use workload::plan::{Content, Plan, Step};

use crate::{drive_kit, step_kit};
use step_kit::{closed, plan, run};

/// Returns the content of a file of 8 MiB after 60 I/Os by `engine`.
fn written(engine: EngineKind, depth: u16, block: &str, ops: &str) -> Vec<u8> {
    let name = format!("ahead-{engine}-{depth}-{block}-{}", ops.len());
    let file = drive_kit::Scratch::new(&name, Bytes::mib(8));
    let mut plan = plan(block, &closed(depth), "{ ios = 60 }", ops);
    // One block after the other: what lies where two outstanding writes meet is anybody's guess.
    let phase = &mut plan.steps[0].phases[0];
    phase.address = workload::plan::Address::Sequential { share: workload::plan::Share::Partition };
    let samples = run_on(file.path(), engine, &plan.steps[0]);
    assert_eq!(samples.totals.ios, 60);
    std::fs::read(file.path()).unwrap()
}

fn run_on(path: &Path, engine: EngineKind, step: &Step) -> Samples {
    let options = OpenOptions { engine, ..drive_kit::writable() };
    let samples = match RealTarget::open(path, options).unwrap().engine().unwrap() {
        AnyTarget::IoUring(mut target) => run(&mut target, step),
        AnyTarget::Libaio(mut target) => run(&mut target, step),
        AnyTarget::Psync(mut target) => run(&mut target, step),
    };
    assert_eq!(samples.failure, None);
    samples
}

/// Reads and writes until `stop`, then as many writes as fill a file of 8 MiB once.
fn two_phases(stop: &str) -> Plan {
    let phase = |name: &str, block: &str, stop: &str, ops: &str| {
        format!(
            r#"
            [[step.phase]]
            name = "{name}"
            measured = true
            block = "{block}"
            address = {{ pattern = "sequential" }}
            stop = {stop}
            arrival = {}
            ops = {ops}
            "#,
            closed(1)
        )
    };
    let mixed = r#"[{ op = "write", percent = 50 }, { op = "read", percent = 50 }]"#;
    let text = format!(
        r#"
        schema = "drivescope.plan/1"
        seed = 1
        [[step]]
        name = "test"
        submitters = 1
        {}{}
        "#,
        phase("mixed", "64KiB", stop, mixed),
        phase("writes", "128KiB", "{ ios = 64 }", &step_kit::only("write")),
    );
    Plan::from_toml(&text).unwrap_or_else(|error| panic!("{error}"))
}

// A write is foreseen and does not come when its phase ends before it. If what was drawn for it were gone,
// each write after it would hold other data than with an engine that had no time to make it.
#[test]
fn a_write_that_does_not_come_changes_none_that_do() {
    const SIZE: usize = 8 << 20;
    let stops = (1..=6).map(|n| format!("{{ ios = {n} }}"));
    let stops = stops.chain(["{ bytes = \"256KiB\" }".into(), "{ after = \"15ms\" }".into()]);
    for stop in stops {
        for engine in EngineKind::ALL {
            let file = drive_kit::Scratch::new(&format!("two-{engine}"), Bytes(SIZE as u64));
            let samples = run_on(file.path(), engine, &two_phases(&stop).steps[0]);
            // All that is written in the order of the writes is one stream, however long a phase was.
            let mut stream = SectorContent::new(Content::default(), 7, 0);
            let before = samples.totals.written.0 as usize - SIZE;
            stream.fill(Bytes::ZERO, &mut vec![0; before]);
            let mut wanted = vec![0; SIZE];
            stream.fill(Bytes::ZERO, &mut wanted);
            let got = std::fs::read(file.path()).unwrap();
            // The cursor's first block is drawn.
            let begin = (0..SIZE).step_by(128 << 10).find(|&at| got[at..at + 512] == wanted[..512]);
            let begin = begin.unwrap_or_else(|| panic!("{engine}, {stop}: of another write"));
            wanted.rotate_right(begin);
            assert!(got == wanted, "{engine}, {stop}");
        }
    }
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
