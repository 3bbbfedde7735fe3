//! Marks made of other programs' results: each run belongs to the test of its load, with the figures of its source
//! and no others.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use std::collections::BTreeMap;

use block::{Bytes, Nanos};
use drivescope_mark::imported::{Origin, Source, Told, ToldPercentile, body};
use drivescope_mark::{Body, Pattern, TestSpec};
use proptest::prelude::*;
use stats::{LatencyHistogram, Verdict};

/// Loads that differ from each other in one thing each: taken for one, they would be runs of one test.
const LOADS: [(Pattern, u64, u16, u16); 6] = [
    (Pattern::Random, 4096, 32, 1),
    (Pattern::Sequential, 4096, 32, 1),
    (Pattern::Random, 4608, 32, 1),
    (Pattern::Random, 4096, 31, 1),
    (Pattern::Random, 4096, 32, 16),
    (Pattern::Sequential, 1 << 20, 8, 1),
];
const OPS: [&str; 4] = ["read", "write", "mix70", "mix69"];

fn sources() -> impl Strategy<Value = Source> {
    // A load that is not known in full has the name of its job alone.
    let load =
        (prop::option::of(prop::sample::select(&LOADS)), 0..3_u8, prop::sample::select(&OPS));
    let counts = (
        prop::option::of(1..1_u64 << 40),
        prop::option::of(1..1_u64 << 30),
        prop::option::of(1..1_u64 << 40),
    );
    let rates =
        (1..1_u64 << 40, prop::option::of(1..1_u64 << 30), prop::option::of(1..1_u64 << 20));
    let values = prop::collection::vec(1..1_u64 << 30, 1..20);
    let latency = (prop::option::of(1..1_u64 << 30), prop::option::of(1..1_u64 << 30));
    let percentiles = prop::collection::btree_map(
        prop::sample::select(&[1_u32, 500, 990, 999]),
        1..1_u64 << 30,
        0..4,
    );
    let rest = (prop::option::of(values), latency, percentiles, prop::option::of(any::<bool>()));
    (load, counts, rates, rest).prop_map(|(load, counts, rates, rest)| {
        let spec = load.0.map(|(pattern, block, depth, threads)| TestSpec {
            pattern,
            block: Bytes(block),
            depth,
            threads,
        });
        let histogram = |values: Vec<u64>| {
            let mut all = LatencyHistogram::new();
            values.into_iter().for_each(|ns| all.record(ns));
            all
        };
        Source {
            file: "f.json".to_owned(),
            job: format!("job {}", load.1),
            spec,
            op: load.2.to_owned(),
            told: Told { direct: rest.3, ..Told::default() },
            bytes: counts.0,
            ios: counts.1,
            duration: counts.2.map(Nanos),
            bytes_per_s: rates.0 as f64,
            iops: rates.1.map(|iops| iops as f64),
            submission_ns: rates.2.map(|ns| ns as f64),
            mean_ns: rest.1.0.map(|ns| ns as f64),
            max_ns: rest.1.1,
            percentiles: rest
                .2
                .into_iter()
                .map(|(tenths, ns)| ToldPercentile { percent: f64::from(tenths) / 10.0, ns })
                .collect(),
            latencies: rest.0.map(histogram),
            ..Source::default()
        }
    })
}

fn made(sources: &[Source]) -> Body {
    let origin = Origin { tool: "fio".to_owned(), version: None, format: "fio JSON".to_owned() };
    body(origin, sources)
}

/// Sources by the test that they are runs of, in their order.
fn by_test(sources: &[Source]) -> BTreeMap<(String, String), Vec<&Source>> {
    let mut tests: BTreeMap<(String, String), Vec<&Source>> = BTreeMap::new();
    for source in sources {
        let name = source.spec.map_or_else(|| source.job.clone(), |spec| spec.to_string());
        tests.entry((name, source.op.clone())).or_default().push(source);
    }
    tests
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    // A run in the test of another load or direction moves the medians of both; a figure that is missing and not listed
    // as a gap would be a measured 0.
    #[test]
    fn each_run_stands_in_its_test_with_what_it_told(sources in prop::collection::vec(sources(), 1..16)) {
        let found = made(&sources);
        let kept = &found.imported.as_ref().unwrap().tests;
        let expected = by_test(&sources);
        prop_assert_eq!((found.tests.len(), kept.len()), (expected.len(), expected.len()));
        for (test, kept) in found.tests.iter().zip(kept) {
            let runs = &expected[&(test.name.clone(), test.op.clone())];
            prop_assert_eq!((test.runs.len(), kept.runs.len()), (runs.len(), runs.len()));
            if let Some(spec) = runs[0].spec {
                let load = (test.block_bytes, test.depth, test.threads);
                prop_assert_eq!(load, (spec.block, spec.depth, spec.threads));
            }
            let verdicts = test.proofs.named().iter().map(|(_, proof)| proof.verdict).collect::<Vec<_>>();
            prop_assert!(verdicts.iter().all(|verdict| *verdict == Verdict::Unprovable));
            for ((run, kept), source) in test.runs.iter().zip(&kept.runs).zip(runs) {
                prop_assert_eq!(run.mb_s, source.bytes_per_s / 1e6);
                prop_assert_eq!(&kept.percentiles, &source.percentiles);
                let is_gap = |name: &str| kept.not_told.iter().any(|gap| gap == name);
                for (name, figure, told) in [
                    ("bytes", run.bytes as f64, source.bytes.map(|n| n as f64)),
                    ("ios", run.ios as f64, source.ios.map(|n| n as f64)),
                    ("duration_ns", run.duration_ns as f64, source.duration.map(|time| time.0 as f64)),
                    ("iops", run.iops, source.iops),
                    ("slat_ns", run.slat_ns, source.submission_ns),
                    ("clat_ns", run.clat_ns, source.mean_ns),
                ] {
                    prop_assert_eq!((figure, is_gap(name)), (told.unwrap_or(0.0), told.is_none()), "{}", name);
                }
                // Percentiles in the file take precedence over those of bins; a percentile that neither gives is a gap.
                let counted = |percent: f64| source.latencies.as_ref().and_then(|all| all.percentile(percent));
                for (name, percent, figure) in [
                    ("latency_ns.p50", 50.0, run.latency_ns.p50),
                    ("latency_ns.p99", 99.0, run.latency_ns.p99),
                    ("latency_ns.p999", 99.9, run.latency_ns.p999),
                ] {
                    let told = source.percentiles.iter().find(|told| told.percent == percent);
                    let told = told.map(|told| told.ns).or(counted(percent));
                    prop_assert_eq!((figure, is_gap(name)), (told.unwrap_or(0), told.is_none()), "{}", name);
                }
            }
        }
    }

    // A test whose figures are those of one of its runs, or of another test, hides what was measured six times.
    #[test]
    fn a_test_is_made_of_all_of_its_runs_in_any_order(
        (sources, shuffled) in prop::collection::vec(sources(), 2..16)
            .prop_flat_map(|sources| (Just(sources.clone()), Just(sources).prop_shuffle())),
    ) {
        let (found, other) = (made(&sources), made(&shuffled));
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
        for test in &found.tests {
            let runs = &by_test(&sources)[&(test.name.clone(), test.op.clone())];
            let twin = other.tests.iter().find(|other| (&other.name, &other.op) == (&test.name, &test.op)).unwrap();
            prop_assert_eq!((test.mb_s.median, test.mb_s.best), (twin.mb_s.median, twin.mb_s.best));
            prop_assert_eq!((test.mb_s.n, test.iops.median), (runs.len(), twin.iops.median));
            let mut rates: Vec<f64> = runs.iter().map(|run| run.bytes_per_s / 1e6).collect();
            rates.sort_by(f64::total_cmp);
            let middle = f64::midpoint(rates[(rates.len() - 1) / 2], rates[rates.len() / 2]);
            prop_assert!(near(test.mb_s.median.unwrap(), middle));
            let (ours, theirs) = (test.latency_ns, twin.latency_ns);
            prop_assert_eq!((ours.p50, ours.p99, ours.p999, ours.max), (theirs.p50, theirs.p99, theirs.p999, theirs.max));
            prop_assert!(near(ours.mean, theirs.mean));
            if runs.len() < 2 {
                continue;
            }
            let histograms: Option<Vec<&LatencyHistogram>> = runs.iter().map(|run| run.latencies.as_ref()).collect();
            let Some(histograms) = histograms else {
                // Percentiles of one of them, or their mean, are those of no run.
                prop_assert_eq!((ours.p50, ours.p99, ours.p999), (0, 0, 0));
                let longest = runs.iter().map(|run| run.max_ns).collect::<Option<Vec<u64>>>();
                prop_assert_eq!(ours.max, longest.and_then(|all| all.into_iter().max()).unwrap_or(0));
                // Each I/O weighs alike, whichever run it was of.
                let weighed = runs.iter().map(|run| Some((run.ios? as f64, run.mean_ns?)));
                let mean = weighed.collect::<Option<Vec<(f64, f64)>>>().map_or(0.0, |all| {
                    let ios: f64 = all.iter().map(|(ios, _)| ios).sum();
                    all.iter().map(|(ios, ns)| ios * ns).sum::<f64>() / ios
                });
                prop_assert!(near(ours.mean, mean), "{} {mean}", ours.mean);
                continue;
            };
            let mut all = LatencyHistogram::new();
            histograms.into_iter().for_each(|one| all.merge(one));
            prop_assert_eq!(Some(ours.p50), all.percentile(50.0));
            prop_assert_eq!(Some(ours.p999), all.percentile(99.9));
            prop_assert_eq!(Some(ours.max), all.max());
        }
    }
}
