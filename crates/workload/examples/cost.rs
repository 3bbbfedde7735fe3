//! What the generators cost: nanoseconds per access and gigabytes of content per second.
//!
//! `cargo run --release -p drivescope-workload --example cost`. Figures are for people; nothing is
//! asserted. An example may read the clock, which the rooms themselves may not.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use block::{Bytes, Op, Payload, Time};
use drivescope_workload::arrival::Arrivals;
use drivescope_workload::audit::Audit;
use drivescope_workload::content::SectorContent;
use drivescope_workload::plan::{Arrival, Content, Gaps, Plan, Region};
use drivescope_workload::rng::Rng;
use drivescope_workload::stream::{Access, SharedCursors, Stream};

const ROUNDS: u32 = 9;

/// Best of some rounds, in nanoseconds for each of the `n` things that `work` does.
fn best(n: u64, mut work: impl FnMut()) -> f64 {
    let round = || {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e9 / n as f64
    };
    std::iter::repeat_with(round).take(ROUNDS as usize).fold(f64::INFINITY, f64::min)
}

fn stream(address: &str, ops: &str, region: Region) -> Stream {
    let text = format!(
        r#"
        schema = "drivescope.plan/1"
        seed = 1
        [[step]]
        name = "cost"
        submitters = 1
        [[step.phase]]
        name = "all"
        measured = true
        block = "4KiB"
        address = {address}
        stop = {{ after = "1s" }}
        arrival = {{ kind = "closed_loop", depth = 32 }}
        ops = {ops}
        "#
    );
    let plan = Plan::from_toml(&text).unwrap_or_else(|e| panic!("{e}"));
    let shared = Arc::new(SharedCursors::new(&plan.steps[0], region, 7));
    Stream::new(&plan.steps[0], region, 0, 7, shared)
}

fn main() {
    const N: u64 = 1 << 20;
    let gib = |n| Region { offset: Bytes::ZERO, length: Bytes::gib(n) };
    let read = r#"[{ op = "read", percent = 100 }]"#;
    let mixed = r#"[{ op = "read", percent = 70 }, { op = "write", percent = 30 }]"#;
    let mut batch = [Access::default(); 64];
    for (name, address, ops) in [
        ("sequential, own cursor", r#"{ pattern = "sequential" }"#, read),
        ("sequential, shared cursor", r#"{ pattern = "sequential", share = "cursor" }"#, read),
        ("random", r#"{ pattern = "random" }"#, read),
        ("random, 70/30", r#"{ pattern = "random" }"#, mixed),
    ] {
        let mut stream = stream(address, ops, gib(1));
        let ns = best(N, || (0..N / 64).for_each(|_| stream.fill(black_box(&mut batch))));
        println!("fill, {name}: {ns:.2} ns per access");
    }

    for (name, size) in [("1 GiB", 1), ("64 GiB (2^24 blocks)", 64), ("1 TiB (hashed)", 1024)] {
        let mut rng = Rng::for_path(3, &[]);
        let offsets: Vec<Bytes> = (0..N).map(|_| Bytes(rng.below(size << 18) * 4096)).collect();
        let mut audit = Audit::new(gib(size), Bytes::kib(4));
        let ns = best(N, || {
            for (i, offset) in offsets.iter().enumerate() {
                audit.note(Op::Read, *offset, Bytes::kib(4), Time(i as u64));
            }
        });
        println!("note, random 4 KiB in {name}: {ns:.2} ns per access");
    }

    for gaps in [Gaps::Constant, Gaps::Exponential] {
        let arrival = Arrival::Timed { depth: 1, per_s: 12_345.6, gaps };
        let mut arrivals = Arrivals::new(&arrival, Rng::for_path(4, &[]));
        let ns = best(N, || {
            (0..N).for_each(|_| {
                black_box(arrivals.next_due());
            })
        });
        println!("next_due, {gaps:?}: {ns:.2} ns");
    }

    for (name, size) in [("4 KiB", 4 << 10), ("1 MiB", 1 << 20)] {
        for percent in [0, 50] {
            let content = Content { compressible_percent: percent, dedup_percent: percent };
            let mut payload = SectorContent::new(content, 1, 0);
            let mut buffers = vec![vec![0u8; size]; 8];
            let total = 256u64 << 20;
            let ns = best(total, || {
                for i in 0..total as usize / size {
                    payload.fill(Bytes((i * size) as u64), black_box(&mut buffers[i % 8]));
                }
            });
            println!("content, {name} writes, knobs at {percent} %: {:.1} GB/s", 1.0 / ns);
        }
    }
}
