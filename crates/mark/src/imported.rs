//! Results of other programs in the form of a mark: runs that can be shown and compared beside ours.
//!
//! Nothing of them is proven. A value that a file does not contain stays unknown: a figure of 0 whose name is in
//! [`ImportedRun::not_told`], an option that is `None` in [`Told`]. Percentiles of several runs are made of histograms, where
//! all runs have one, and of nothing else.

mod told;

use std::collections::BTreeSet;

use block::{Bytes, DriveInfo, DriveKind, Nanos, Stack};
use stats::remedy::Command;
use stats::{Caveat, LatencyHistogram, Proof, Remedy, Unit, Verdict};

use crate::body::{Body, Latency, Proofs, Run, Setup, Test};
use crate::findings::spread;
use crate::notation::TestSpec;
use crate::run::latency;

pub use told::{Imported, ImportedRun, ImportedTest, Told, ToldPercentile};

/// One run as it was read.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The file.
    pub file: String,
    /// Name in the file.
    pub job: String,
    /// The load in our notation, where all of it is known.
    pub spec: Option<TestSpec>,
    /// `read`, `write`, or `mix70` for 70% reads.
    pub op: String,
    /// Size of a transfer, where it is known.
    pub block: Option<Bytes>,
    /// Target, if the file names it.
    pub target: Option<String>,
    /// Settings of the program.
    pub told: Told,
    /// Bytes that were moved.
    pub bytes: Option<u64>,
    /// I/Os that completed.
    pub ios: Option<u64>,
    /// How long that took.
    pub duration: Option<Nanos>,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// I/Os a second.
    pub iops: Option<f64>,
    /// Mean time to issue an I/O, in nanoseconds.
    pub submission_ns: Option<f64>,
    /// Mean latency, in nanoseconds.
    pub mean_ns: Option<f64>,
    /// Longest latency, in nanoseconds.
    pub max_ns: Option<u64>,
    /// Percentiles of latency.
    pub percentiles: Vec<ToldPercentile>,
    /// All latencies.
    pub latencies: Option<LatencyHistogram>,
    /// Doubts about it.
    pub caveats: Vec<Caveat>,
}

/// Origin of the results: the program and the format of its file.
#[derive(Clone, Debug)]
pub struct Origin {
    /// As in [`Imported::tool`].
    pub tool: String,
    /// As in [`Imported::version`].
    pub version: Option<String>,
    /// As in [`Imported::format`].
    pub format: String,
}

/// The mark that `sources` make: those of one load and direction are runs of one test, in the order given.
pub fn body(origin: Origin, sources: &[Source]) -> Body {
    let mut tests: Vec<(String, Vec<&Source>)> = Vec::new();
    for source in sources {
        let name = source.spec.map_or_else(|| source.job.clone(), |spec| spec.to_string());
        match tests.iter_mut().find(|(of, runs)| *of == name && runs[0].op == source.op) {
            Some((_, runs)) => runs.push(source),
            None => tests.push((name, vec![source])),
        }
    }
    let told = told(sources);
    let mut files: Vec<String> = sources.iter().map(|source| source.file.clone()).collect();
    files.dedup();
    let mut caveats = of_the_whole(&origin, &told, sources);
    let made: Vec<Test> = tests.iter().map(|(name, runs)| test(name, runs, &origin.tool)).collect();
    tests.iter().for_each(|(name, runs)| caveats.extend(of_test(&origin.tool, name, runs)));
    let all: Vec<Caveat> = sources.iter().flat_map(|source| source.caveats.clone()).collect();
    Body {
        target: target(sources),
        stack: Stack::default(),
        extents: None,
        setup: setup(&origin.tool, &told, &tests),
        tests: made,
        caveats: crate::caveats::merge([caveats, all].concat()),
        interrupted: false,
        planned_runs: None,
        elapsed_ns: Nanos::ZERO,
        settle_ns: Nanos::ZERO,
        read_bytes: Bytes::ZERO,
        written_bytes: Bytes::ZERO,
        cache: None,
        imported: Some(Imported {
            tool: origin.tool,
            version: origin.version,
            format: origin.format,
            files,
            told,
            tests: tests.iter().map(|(_, runs)| kept(runs)).collect(),
        }),
    }
}

/// Settings that all sources give, with the same value.
fn told(sources: &[Source]) -> Told {
    fn alike<T: PartialEq + Clone>(sources: &[Source], of: fn(&Told) -> &Option<T>) -> Option<T> {
        let first = of(&sources.first()?.told).clone();
        first.filter(|first| sources.iter().all(|source| of(&source.told).as_ref() == Some(first)))
    }
    Told {
        engine: alike(sources, |told| &told.engine),
        direct: alike(sources, |told| &told.direct),
        durable: alike(sources, |told| &told.durable),
        region_bytes: alike(sources, |told| &told.region_bytes),
        duration_ns: alike(sources, |told| &told.duration_ns),
        warm_up_ns: alike(sources, |told| &told.warm_up_ns),
        seed: alike(sources, |told| &told.seed),
        loops: alike(sources, |told| &told.loops),
    }
}

/// Target of the sources, named if all name the same one.
fn target(sources: &[Source]) -> DriveInfo {
    let names: BTreeSet<Option<&str>> = sources.iter().map(|s| s.target.as_deref()).collect();
    let name = match names.into_iter().collect::<Vec<_>>().as_slice() {
        [Some(name)] => (*name).to_owned(),
        _ => "a drive that the files do not name".to_owned(),
    };
    let is_device =
        name.starts_with("/dev/") || name.starts_with("\\\\.\\") || name.starts_with('#');
    DriveInfo {
        kind: if is_device { DriveKind::BlockDevice } else { DriveKind::File },
        name,
        model: None,
        serial: None,
        capacity_bytes: Bytes::ZERO,
        logical_block_bytes: Bytes::ZERO,
        physical_block_bytes: Bytes::ZERO,
        rotational: None,
        write_cache: None,
        cache_bytes: None,
        link_bytes_per_s: None,
    }
}

fn setup(tool: &str, told: &Told, tests: &[(String, Vec<&Source>)]) -> Setup {
    let order =
        |(_, runs): &(String, Vec<&Source>)| (0_u32..).zip(runs).map(|(at, _)| at).collect();
    Setup {
        engine: told.engine.clone().unwrap_or_else(|| tool.to_owned()),
        direct: told.direct == Some(true),
        in_place: false,
        durable: told.durable == Some(true),
        region_bytes: told.region_bytes.unwrap_or_default(),
        region_offset_bytes: Bytes::ZERO,
        duration_ns: told.duration_ns.unwrap_or_default(),
        warm_up_ns: told.warm_up_ns.unwrap_or_default(),
        pause_ns: Nanos::ZERO,
        seed: told.seed.unwrap_or(0),
        order: tests.iter().map(order).collect(),
    }
}

fn test(name: &str, sources: &[&Source], tool: &str) -> Test {
    let runs: Vec<Run> = sources.iter().map(|source| run(source)).collect();
    let rates: Vec<f64> = runs.iter().map(|run| run.mb_s).collect();
    let iops: Vec<f64> = runs.iter().map(|run| run.iops).collect();
    let first = sources.first();
    let spec = first.and_then(|source| source.spec);
    let block = spec.map(|spec| spec.block).or_else(|| first.and_then(|source| source.block));
    Test {
        name: name.to_owned(),
        op: first.map_or_else(String::new, |source| source.op.clone()),
        block_bytes: block.unwrap_or_default(),
        depth: spec.map_or(0, |spec| spec.depth),
        threads: spec.map_or(0, |spec| spec.threads),
        headline: true,
        mb_s: spread(&rates, Unit::MbPerS, None),
        iops: spread(&iops, Unit::Iops, None),
        latency_ns: of_all(sources, &runs),
        writes: None,
        states: None,
        proofs: proofs(tool, sources.len()),
        runs,
    }
}

fn run(source: &Source) -> Run {
    Run {
        bytes: source.bytes.unwrap_or(0),
        ios: source.ios.unwrap_or(0),
        duration_ns: source.duration.unwrap_or_default().0,
        mb_s: source.bytes_per_s / 1e6,
        iops: source.iops.unwrap_or(0.0),
        latency_ns: of_one(source),
        slat_ns: source.submission_ns.unwrap_or(0.0),
        clat_ns: source.mean_ns.unwrap_or(0.0),
    }
}

/// Latencies of one source. Percentiles in the file take precedence over those of its histogram, which are only as precise as
/// its bins.
fn of_one(source: &Source) -> Latency {
    let counted = source.latencies.as_ref().map(latency).unwrap_or_default();
    let told = |percent: f64, counted: u64| {
        let found = source.percentiles.iter().find(|told| (told.percent - percent).abs() < 1e-6);
        found.map_or(counted, |told| told.ns)
    };
    Latency {
        p50: told(50.0, counted.p50),
        p99: told(99.0, counted.p99),
        p999: told(99.9, counted.p999),
        max: source.max_ns.unwrap_or(counted.max),
        mean: source.mean_ns.unwrap_or(counted.mean),
    }
}

fn of_all(sources: &[&Source], runs: &[Run]) -> Latency {
    if let ([_], [run]) = (sources, runs) {
        return run.latency_ns;
    }
    let histograms: Option<Vec<&LatencyHistogram>> =
        sources.iter().map(|source| source.latencies.as_ref()).collect();
    if let Some(histograms) = histograms {
        let mut all = LatencyHistogram::new();
        histograms.into_iter().for_each(|one| all.merge(one));
        return latency(&all);
    }
    let ios: u64 = runs.iter().fold(0, |sum, run| sum.saturating_add(run.ios));
    let is_told = sources.iter().all(|source| source.mean_ns.is_some() && source.ios.is_some());
    let sum: f64 = runs.iter().map(|run| run.latency_ns.mean * run.ios as f64).sum();
    let max = sources.iter().map(|source| source.max_ns).collect::<Option<Vec<u64>>>();
    Latency {
        max: max.and_then(|all| all.into_iter().max()).unwrap_or(0),
        mean: if is_told && ios > 0 { sum / ios as f64 } else { 0.0 },
        ..Latency::default()
    }
}

fn kept(sources: &[&Source]) -> ImportedTest {
    let one = |source: &&Source| {
        let found = of_one(source);
        let figures = [
            ("bytes", source.bytes.is_some()),
            ("ios", source.ios.is_some()),
            ("duration_ns", source.duration.is_some()),
            ("iops", source.iops.is_some()),
            ("latency_ns.p50", found.p50 > 0),
            ("latency_ns.p99", found.p99 > 0),
            ("latency_ns.p999", found.p999 > 0),
            ("latency_ns.max", found.max > 0),
            ("latency_ns.mean", found.mean > 0.0),
            ("slat_ns", source.submission_ns.is_some()),
            ("clat_ns", source.mean_ns.is_some()),
        ];
        let missing = figures.into_iter().filter(|(_, is_told)| !is_told);
        ImportedRun {
            file: source.file.clone(),
            job: source.job.clone(),
            not_told: missing.map(|(name, _)| name.to_owned()).collect(),
            percentiles: source.percentiles.clone(),
            latencies: source.latencies.clone(),
        }
    };
    ImportedTest { runs: sources.iter().map(one).collect() }
}

/// Proofs of an imported test. The file holds the program's own figures, and nothing was checked from outside.
fn proofs(tool: &str, runs: usize) -> Proofs {
    let proof = |reason: String| Proof::new(Verdict::Unprovable, reason);
    let repeatable = match runs {
        1 => "1 run has no spread, and no 95% interval of the median".to_owned(),
        2..=5 => format!("{runs} runs have no 95% interval of the median; at least 6 are needed"),
        _ => format!("that {runs} runs were of one drive in one state is in no file"),
    };
    Proofs {
        reached: proof(format!("{tool} reports what it moved, not what the drive served")),
        pattern: proof(format!("the addresses that {tool} issued are not in the file")),
        steady: proof(
            "totals do not show how the run changed over time; judge reads the logs".to_owned(),
        ),
        repeatable: proof(repeatable).with("n", runs as u64),
        unhindered: proof(format!("whether {tool} was the limit is unknown")),
        undisturbed: proof("what else the drive and the machine did is unknown".to_owned()),
    }
}

/// A setting in words, where it is known.
type Setting = fn(&Told) -> Option<String>;

fn of_the_whole(origin: &Origin, told: &Told, sources: &[Source]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let whole = "the import";
    if sources.iter().any(|source| source.told.direct == Some(false)) {
        caveats.push(Caveat::new(
            "buffered",
            whole,
            "the page cache was not bypassed (direct=0): the numbers may be of memory".to_owned(),
            Command::UseDirectIo,
        ));
    } else if told.direct.is_none() {
        caveats.push(Caveat::new(
            "direct_not_told",
            whole,
            "not all files record whether the page cache was bypassed".to_owned(),
            Remedy::StateDirectIo { tool: origin.tool.clone(), log: origin.format.contains("log") },
        ));
    }
    let differ = |of: Setting| {
        let values: BTreeSet<String> = sources.iter().filter_map(|s| of(&s.told)).collect();
        values.len() > 1
    };
    let settings: [(&str, Setting); 5] = [
        ("engine", |told| told.engine.clone()),
        ("direct I/O", |told| told.direct.map(|is_so| is_so.to_string())),
        ("durable writes", |told| told.durable.map(|is_so| is_so.to_string())),
        ("region", |told| told.region_bytes.map(|bytes| bytes.to_string())),
        ("warm-up", |told| told.warm_up_ns.map(|time| time.to_string())),
    ];
    let differing: Vec<&str> =
        settings.into_iter().filter(|(_, of)| differ(*of)).map(|(name, _)| name).collect();
    if !differing.is_empty() {
        caveats.push(Caveat::new(
            "settings_differ",
            whole,
            format!("the files were not asked the same: {}", differing.join(", ")),
            Command::FilesOfOneTest,
        ));
    }
    caveats
}

fn of_test(tool: &str, name: &str, sources: &[&Source]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let tool = || tool.to_owned();
    let mut doubt = |code: &str, cause: String, remedy: Remedy| {
        let op = sources.first().map_or("", |source| source.op.as_str());
        caveats.push(Caveat::new(code, &format!("{name} {op}"), cause, remedy));
    };
    if sources.iter().any(|source| source.duration == Some(Nanos::ZERO)) {
        let cause = "a run has a length of 0: what it says a second is made of nothing";
        doubt("no_time", cause.to_owned(), Command::LongerRun.into());
    }
    if let Some(loops) =
        sources.iter().filter_map(|source| source.told.loops).max().filter(|n| *n > 1)
    {
        let cause = format!(
            "it was gone through {loops} times: caches may have served all but the first pass"
        );
        doubt("loops", cause, Remedy::MeasureByTime { tool: tool() });
    }
    let seeds: Vec<u64> = sources.iter().filter_map(|source| source.told.seed).collect();
    let distinct: BTreeSet<u64> = seeds.iter().copied().collect();
    if seeds.len() > 1 && distinct.len() < seeds.len() {
        let cause = "runs have equal seeds: they went to the same random addresses, which a cache may still have held";
        doubt("equal_seeds", cause.to_owned(), Remedy::SeedPerRun { tool: tool() });
    }
    let has_percentiles = sources.iter().any(|source| !source.percentiles.is_empty());
    let has_all = sources.iter().all(|source| source.latencies.is_some());
    if sources.len() > 1 && has_percentiles && !has_all {
        let cause =
            "percentiles of several runs cannot be made of their percentiles, and are left out";
        doubt(
            "percentiles_not_merged",
            cause.to_owned(),
            Remedy::AddableLatencies { tool: tool() },
        );
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(rate: f64) -> Source {
        Source {
            spec: "RND4KQ8T1".parse().ok(),
            op: "read".to_owned(),
            told: Told { direct: Some(true), seed: Some(7), ..Told::default() },
            bytes: Some(4096),
            ios: Some(1),
            duration: Some(Nanos::secs(1)),
            bytes_per_s: rate * 1e6,
            iops: Some(rate * 1e6 / 4096.0),
            percentiles: vec![ToldPercentile { percent: 99.0, ns: 100 }],
            ..Source::default()
        }
    }

    fn of(sources: &[Source]) -> Body {
        let origin =
            Origin { tool: "fio".to_owned(), version: None, format: "fio JSON".to_owned() };
        body(origin, sources)
    }

    fn codes(body: &Body) -> Vec<&str> {
        body.caveats.iter().map(|caveat| caveat.code.as_str()).collect()
    }

    // A number of another program that counts as proven is the very thing that this program is there to prevent.
    #[test]
    fn runs_of_one_load_are_one_test_of_which_nothing_is_proven() {
        let found = of(&[source(1.0), source(3.0), source(2.0)]);
        let [test] = found.tests.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (test.name.as_str(), test.runs.len(), test.mb_s.median),
            ("RND4K Q8T1", 3, Some(2.0))
        );
        assert!(test.proofs.named().iter().all(|(_, proof)| proof.verdict == Verdict::Unprovable));
        // Three plain percentiles are not one.
        assert_eq!(test.latency_ns.p99, 0);
        assert_eq!(codes(&found), ["equal_seeds", "percentiles_not_merged"]);
    }

    // Histograms that are averaged instead of merged would show a p99 that no I/O had.
    #[test]
    fn histograms_are_merged_and_told_percentiles_kept() {
        let with = |ns: u64, count: u64| {
            let mut latencies = LatencyHistogram::new();
            latencies.record_n(ns, count);
            Source { latencies: Some(latencies), percentiles: Vec::new(), ..source(1.0) }
        };
        let found = of(&[with(100, 98), with(1_000_000, 2)]);
        assert_eq!(
            (found.tests[0].latency_ns.p50, found.tests[0].latency_ns.p99),
            (100, 1_000_000)
        );
        let one = of(&[source(1.0)]);
        assert_eq!(one.tests[0].latency_ns.p99, 100);
        let run = &one.imported.as_ref().unwrap().tests[0].runs[0];
        assert!(run.not_told.contains(&"latency_ns.p50".to_owned()) && run.percentiles.len() == 1);
    }

    // A buffered fio that passes without a word is the most frequent false number there is.
    #[test]
    fn faults_that_the_file_shows_are_caveats() {
        let told = |told| Source { told, ..source(1.0) };
        let buffered = told(Told { direct: Some(false), loops: Some(3), ..Told::default() });
        assert_eq!(codes(&of(&[buffered])), ["buffered", "loops"]);
        assert_eq!(codes(&of(&[told(Told::default())])), ["direct_not_told"]);
        let still = Source { duration: Some(Nanos::ZERO), ..source(1.0) };
        assert_eq!(codes(&of(&[still])), ["no_time"]);
        let mixed = [
            source(1.0),
            told(Told { direct: Some(true), engine: Some("a".to_owned()), ..Told::default() }),
            told(Told { direct: Some(true), engine: Some("b".to_owned()), ..Told::default() }),
        ];
        assert!(codes(&of(&mixed)).contains(&"settings_differ"));
    }
}
