//! A drawn test as the findings of a mark judge it.

use anyhow::{Context as _, Result};
use block::{Bytes, DriveInfo, DriveKind, Nanos, Op, Snapshot, Stack, Time};
use engine::Totals;
use mark::body::{Latency, Run};
use mark::{
    Deciding, Direction, Executed, Options, RunFigures, TestRuns, TestSpec, findings, needs_more,
};
use stats::{LatencyHistogram, Verdict};
use workload::audit::Audit;
use workload::plan::Region;

use super::course::{Course, Drawn};

const REGION: Region = Region { offset: Bytes::ZERO, length: Bytes::gib(1) };
const BLOCK: u64 = 1 << 20;
/// Runs of a test that gets more while they decide, and the time for them.
const PLANNED: u32 = 6;
const DAY: Nanos = Nanos::secs(86_400);

/// A test with the verdict of the proof.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) seed: u64,
    pub(super) course: Course,
    pub(super) noise: f64,
    pub(super) runs: usize,
    pub(super) change: f64,
    pub(super) is_beyond: bool,
    pub(super) verdict: Verdict,
    reason: String,
}

impl Judged {
    pub(super) const HEAD: &str = "seed,course,noise,runs,latent change,verdict,reason";

    /// # Errors
    /// When there are no findings.
    pub(super) fn of(drawn: Drawn) -> Result<Judged> {
        let spec: TestSpec = "SEQ1MQ8T1".parse().map_err(|error| anyhow::anyhow!("{error}"))?;
        let plan = Options {
            tests: vec![spec],
            directions: vec![Direction::Read],
            duration: Nanos::secs(1),
            warm_up: Nanos::ZERO,
            runs: if drawn.may_add { PLANNED } else { drawn.windows.len() as u32 },
            decides: if drawn.may_add { Deciding::Within(DAY) } else { Deciding::Never },
            ..Options::default()
        }
        .plan();
        let mut runs: Vec<RunFigures> =
            (0..).zip(&drawn.windows).map(|(at, window)| figures(at, window)).collect();
        if drawn.may_add {
            let is_enough = |count: &usize| !needs_more(&plan, 0, &runs[..*count], Nanos::ZERO);
            runs.truncate((PLANNED as usize..runs.len()).find(is_enough).unwrap_or(runs.len()));
        }
        let drawn = drawn.first(runs.len());
        let executed = Executed {
            tests: vec![TestRuns { runs, latencies: LatencyHistogram::new(), ceiling: None }],
            ..Executed::nothing(&plan, REGION)
        };
        let (info, stack) = (info(), Stack::default());
        let context = findings::Context {
            info: &info,
            stack: &stack,
            extents: None,
            engine: "io_uring",
            direct: true,
            durable: false,
            cpus: 1,
            polling: false,
            in_place: false,
            extents_after: None,
            own_file: false,
            cache: None,
        };
        let body = findings::body(&plan, &executed, &context);
        let proof = &body.tests.first().context("no findings of the test")?.proofs.steady;
        Ok(Judged {
            seed: drawn.seed,
            course: drawn.course,
            noise: drawn.noise,
            runs: drawn.windows.len(),
            change: drawn.change(),
            is_beyond: drawn.is_beyond(),
            verdict: proof.verdict,
            reason: proof.reason.clone(),
        })
    }

    pub(super) fn line(&self) -> String {
        let verdict = self.verdict.as_str();
        format!(
            "{},\"{}\",{},{},{:.4},{verdict},\"{}\"",
            self.seed,
            self.course.words(),
            self.noise,
            self.runs,
            self.change,
            self.reason.replace('"', "'")
        )
    }
}

fn info() -> DriveInfo {
    DriveInfo {
        name: "drawn".to_owned(),
        kind: DriveKind::File,
        model: None,
        serial: None,
        capacity_bytes: REGION.length,
        logical_block_bytes: Bytes(512),
        physical_block_bytes: Bytes(4096),
        rotational: None,
        write_cache: None,
        cache_bytes: None,
        link_bytes_per_s: None,
    }
}

fn figures(position: u32, window: &[u64]) -> RunFigures {
    let bytes: u64 = window.iter().sum();
    let ios = bytes / BLOCK;
    let mut audit = Audit::new(REGION, Bytes(BLOCK));
    audit.note(Op::Read, Bytes::ZERO, Bytes(BLOCK), Time(0));
    RunFigures {
        position,
        run: Run {
            bytes,
            ios,
            duration_ns: 1_000_000_000,
            mb_s: bytes as f64 / 1e6,
            iops: ios as f64,
            latency_ns: Latency::default(),
            slat_ns: 1_000.0,
            clat_ns: 1_000_000.0,
        },
        series_bytes: window.to_vec(),
        totals: Totals { ios, read: Bytes(bytes), ..Totals::default() },
        elapsed_ns: 1_000_000_000,
        achieved_depth: 8.0,
        lag_max_ns: 0,
        audit: Audit::merge(vec![audit]),
        before: Snapshot::default(),
        after: Snapshot::default(),
        settled: None,
    }
}
