//! Cost of each lens on load, per I/O.
//!
//! `cargo bench -p drivescope-trace --bench lenses` runs all of them, and with a word after `--` those with it in
//! their names. Each round looks at a whole trace with a fresh lens. Figures are for people; nothing is asserted.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]
#![allow(missing_docs, reason = "criterion's macro makes a function")]

use std::hint::black_box;
use std::time::Duration;

use block::{Bytes, Nanos};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use drivescope_trace::analyze::bursts::Bursts;
use drivescope_trace::analyze::heat::Heat;
use drivescope_trace::analyze::mix::Mix;
use drivescope_trace::analyze::regions::Regions;
use drivescope_trace::analyze::reuse::Reuse;
use drivescope_trace::analyze::sequential::Sequential;
use drivescope_trace::analyze::sizes::Sizes;
use drivescope_trace::analyze::timeline::Timeline;
use drivescope_trace::analyze::working_set::WorkingSet;
use drivescope_trace::{Io, Kind, Stamp};
use workload::rng::Rng;

const IOS: u64 = 400_000;

/// Reads and writes 7 to 3 over 128 GiB, half of them in a hundredth of it, at a depth of about 8.
fn trace(pages: impl Fn(&mut Rng) -> u64, random: bool) -> Vec<Io> {
    let mut rng = Rng::for_path(1, &[]);
    let (mut at, mut next) = (0, 0);
    let one = |_| {
        at += rng.below(20_000);
        let pages = pages(&mut rng);
        let place = match random {
            true if rng.below(2) == 0 => rng.below(1 << 18),
            true => rng.below(1 << 25),
            false => next,
        };
        next = place + pages;
        let kind = if rng.below(10) < 7 { Kind::Read } else { Kind::Write };
        let issued = at + 2_000;
        Io {
            issued: Stamp::at(Nanos(issued)),
            completed: Stamp::at(Nanos(issued + 40_000 + rng.below(80_000))),
            ..Io::arriving(Nanos(at), kind, Bytes(place * 4096), Bytes(pages * 4096))
        }
    };
    (0..IOS).map(one).collect()
}

fn lenses(criterion: &mut Criterion) {
    let traces = [
        ("random 4 KiB", trace(|_| 1, true)),
        ("random 4-64 KiB", trace(|rng| 1 << rng.below(5), true)),
        ("in order 128 KiB", trace(|_| 32, false)),
    ];
    for (name, ios) in &traces {
        let mut group = criterion.benchmark_group(*name);
        group.throughput(Throughput::Elements(IOS)).sample_size(10);
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
        macro_rules! lens {
            ($($word:literal $new:expr),*) => {$(
                group.bench_function($word, |bench| bench.iter(|| {
                    let mut lens = $new;
                    ios.iter().for_each(|io| lens.see(io));
                    black_box(lens)
                }));
            )*};
        }
        lens!("mix" Mix::new(), "sizes" Sizes::new(), "sequential" Sequential::new());
        lens!("bursts" Bursts::new(), "timeline" Timeline::new(), "heat" Heat::new());
        lens!("regions" Regions::new(), "working set" WorkingSet::new());
        lens!("reuse, sampled" Reuse::new(), "reuse, exact" Reuse::with_blocks(1 << 24));
        group.finish();
    }
}

criterion_group!(benches, lenses);
criterion_main!(benches);
