//! How many simulated I/Os a core does in a second.
//!
//! `cargo bench -p drivescope-sim`: each figure is I/Os of 4 KiB through the measuring engine, histograms and account
//! of addresses included, on a drive that is in its steady state (or read at random). The time that one I/O of the
//! drive itself takes is what is left when the same loop over nothing is subtracted. Time is that of the process on a
//! CPU, so that a busy machine does not count. Figures are for people, who compare them with those of the commit
//! before; nothing is asserted.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![allow(missing_docs, reason = "criterion's macro makes a function")]

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use block::{Bytes, NullSink, Op, Target};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::{Control, run_step};
use workload::plan::{Address, Arrival, Content, OpShare, Phase, Region, Step, Stop};

/// I/Os of one iteration: long beside a tick of the process' clock.
const IOS: u64 = 4_000_000;
/// A tick of the times in `/proc/PID/stat` (`USER_HZ` of every port of Linux in use).
const TICK: Duration = Duration::from_millis(10);

/// CPU time of this process and its threads so far: the fields `utime` and `stime` of `/proc/self/stat`.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // After the name, which may have spaces, come the state and ten numbers before those two.
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let ticks: u32 =
        rest.split_whitespace().skip(11).take(2).map(|n| n.parse::<u32>().unwrap()).sum();
    TICK * ticks
}

fn load(op: Op, depth: u16) -> Step {
    let phase = Phase {
        name: "measure".to_owned(),
        measured: true,
        block: Bytes::kib(4),
        address: Address::Random,
        stop: Stop { ios: Some(IOS), ..Stop::default() },
        arrival: Arrival::ClosedLoop { depth },
        ops: vec![OpShare { op, fua: false, percent: 100 }],
        region: None,
        blocks: Vec::new(),
    };
    Step { name: "step".to_owned(), submitters: 1, order: None, engine: None, phases: vec![phase] }
}

fn steady(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulated 4 KiB I/Os");
    group.throughput(Throughput::Elements(IOS)).sample_size(10);
    group.warm_up_time(Duration::from_secs(2));
    for (name, spec, op, depth) in [
        ("writes, enterprise-28op, steady", "sim:enterprise-28op?state=steady", Op::Write, 32),
        ("writes, enterprise-28op, fresh", "sim:enterprise-28op", Op::Write, 32),
        ("reads, enterprise-28op, filled", "sim:enterprise-28op?state=filled", Op::Read, 256),
        ("writes, optane", "sim:optane", Op::Write, 32),
    ] {
        let step = load(op, depth);
        let mut target: Option<drivescope_sim::VirtualTarget> = None;
        let mut seed = 0;
        group.bench_function(name, |bench| {
            // Opened once, and only when this figure is asked for.
            let target = target.get_or_insert_with(|| drivescope_sim::open(spec).unwrap());
            let length = target.info().capacity_bytes;
            let mut environment = target.environment();
            bench.iter_custom(|iterations| {
                let began = cpu_time();
                for _ in 0..iterations {
                    seed += 1;
                    let never = AtomicBool::new(false);
                    let control = Control { cancel: &never, trace_cap: 0 };
                    let seeded = (Region { offset: Bytes::ZERO, length }, Content::default(), seed);
                    let sink = &mut NullSink;
                    run_step(target, &mut environment, &step, seeded, control, sink).unwrap();
                }
                cpu_time() - began
            });
        });
    }
    group.finish();
}

criterion_group!(benches, steady);
criterion_main!(benches);
