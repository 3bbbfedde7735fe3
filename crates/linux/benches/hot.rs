//! Benchmarks of the work done for every I/O.
//!
//! `cargo bench -p drivescope-linux` runs all of them, or those with the word after `--` in their names.
//! Times are per batch of 64 for the parts, and throughput is per I/O. Figures are for people, who
//! compare them with those of the commit before; nothing is asserted. It is here, and not beside each
//! part, because the whole loop needs the drives.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![allow(missing_docs, reason = "criterion's macro makes a function")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use block::{Bytes, Op, Payload, Target, Time};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use drivescope_linux::target::{Calibration, EngineKind, NullTarget};
use stats::LatencyHistogram;
use workload::arrival::Arrivals;
use workload::audit::Audit;
use workload::content::SectorContent;
use workload::plan::{Arrival, Content, Gaps, Region};
use workload::rng::Rng;
use workload::stream::{Access, SharedCursors, Stream};

#[path = "../tests/common/step_kit.rs"]
mod kit;

const BATCH: usize = 64;

fn gib(n: u64) -> Region {
    Region { offset: Bytes::ZERO, length: Bytes::gib(n) }
}

/// Choice of the next accesses.
fn streams(criterion: &mut Criterion) {
    let mixed = r#"[{ op = "read", percent = 70 }, { op = "write", percent = 30 }]"#;
    let mut group = criterion.benchmark_group("stream fill");
    group.throughput(Throughput::Elements(BATCH as u64));
    for (name, ops) in [("random", kit::only("read")), ("random 70-30", mixed.to_owned())] {
        let plan = kit::plan("4KiB", &kit::closed(32), r#"{ after = "1s" }"#, &ops);
        let shared = Arc::new(SharedCursors::new(&plan.steps[0], gib(1), 7));
        let mut stream = Stream::new(&plan.steps[0], gib(1), 0, 7, shared);
        let mut batch = [Access::default(); BATCH];
        group.bench_function(name, |b| b.iter(|| stream.fill(black_box(&mut batch))));
    }
}

/// The account of what was issued: with a bit for each block, and by hash where there are too many.
fn audit(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("audit note");
    group.throughput(Throughput::Elements(BATCH as u64));
    for (name, size) in [("1 GiB", 1), ("64 GiB", 64), ("1 TiB, hashed", 1024)] {
        let mut rng = Rng::for_path(3, &[]);
        let offsets: Vec<Bytes> =
            (0..1 << 20).map(|_| Bytes(rng.below(size << 18) * 4096)).collect();
        let mut audit = Audit::new(gib(size), Bytes::kib(4));
        let mut batches = offsets.chunks_exact(BATCH).cycle();
        group.bench_function(name, |b| {
            b.iter(|| {
                for offset in batches.next().unwrap() {
                    audit.note(Op::Read, *offset, Bytes::kib(4), Time(offset.0));
                }
            });
        });
    }
}

fn histogram(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("histogram record");
    group.throughput(Throughput::Elements(BATCH as u64));
    let mut rng = Rng::for_path(5, &[]);
    // Around 80 µs, as an SSD's reads are.
    let latencies: Vec<u64> =
        (0..1 << 14).map(|_| 60_000 + (20_000.0 * rng.exponential()) as u64).collect();
    let mut histogram = LatencyHistogram::new();
    let mut batches = latencies.chunks_exact(BATCH).cycle();
    group.bench_function("one by one", |b| {
        b.iter(|| batches.next().unwrap().iter().for_each(|ns| histogram.record(*ns)));
    });
}

fn arrivals(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("arrival");
    group.throughput(Throughput::Elements(1));
    for gaps in [Gaps::Constant, Gaps::Exponential] {
        let arrival = Arrival::Timed { depth: 1, per_s: 12_345.6, gaps };
        let mut arrivals = Arrivals::new(&arrival, Rng::for_path(4, &[]));
        group.bench_function(format!("{gaps:?}"), |b| b.iter(|| arrivals.next_due()));
    }
}

fn content(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("content");
    for (name, size) in [("4 KiB", 4 << 10), ("1 MiB", 1 << 20)] {
        for percent in [0, 50] {
            let knobs = Content { compressible_percent: percent, dedup_percent: percent };
            let mut payload = SectorContent::new(knobs, 1, 0);
            let mut buffer = vec![0u8; size];
            let mut offset = 0;
            group.throughput(Throughput::Bytes(size as u64));
            group.bench_function(format!("{name}, knobs at {percent}%"), |b| {
                b.iter(|| {
                    payload.fill(Bytes(offset), black_box(&mut buffer));
                    offset += size as u64;
                });
            });
        }
    }
}

/// The whole loop with every latency recorded: on nothing at all, and through the kernel.
fn lane(criterion: &mut Criterion) {
    const IOS: u64 = 200_000;
    let mut group = criterion.benchmark_group("loop");
    group.throughput(Throughput::Elements(IOS)).sample_size(20);
    for depth in [1, 32] {
        let plan = kit::plan("512B", &kit::closed(depth), "{ ios = 200000 }", &kit::only("read"));
        let step = &plan.steps[0];
        let mut null = NullTarget::new(Bytes::mib(64));
        group.bench_function(format!("null Q{depth}"), |b| b.iter(|| once(&mut null, step)));
        for engine in EngineKind::ALL {
            let mut nothing = Calibration::new(engine, Bytes::mib(64), None);
            group.bench_function(format!("{engine} on nothing Q{depth}"), |b| {
                b.iter(|| once(&mut nothing, step));
            });
        }
    }
}

fn once<T: Target>(target: &mut T, step: &workload::plan::Step) {
    assert_eq!(kit::run(target, step).failure, None);
}

criterion_group! {
    name = hot;
    config = Criterion::default().measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    targets = streams, audit, histogram, arrivals, content, lane
}
criterion_main!(hot);
