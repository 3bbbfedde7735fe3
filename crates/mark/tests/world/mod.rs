//! Runs made up for a proof: a sound world, in which each check spoils one thing.

#![allow(dead_code, reason = "each file of tests takes a part of it")]

use block::{
    Bytes, CpuTimes, DeviceCounters, DriveInfo, DriveKind, Extents, Layer, Leaf, Medium, Nanos, Op,
    PageCache, Snapshot, Stack, TaskIo, Time,
};
use drivescope_mark::body::{Body, Latency, Run, Test};
use drivescope_mark::cache::Found;
use drivescope_mark::{
    Broken, Ceiling, Direction, Executed, FailedRun, Options, RunFigures, TestRuns, TestSpec,
    findings,
};
use engine::Totals;
use stats::{LatencyHistogram, Verdict};
use workload::audit::{Audit, AuditSummary};
use workload::plan::{Plan, Region};

pub const MIB: u64 = 1 << 20;
pub const REGION: Region = Region { offset: Bytes::ZERO, length: Bytes::gib(1) };

/// A world in which one test was run; each check spoils one thing in it.
pub struct World {
    pub plan: Plan,
    pub info: DriveInfo,
    pub stack: Stack,
    pub extents: Option<Extents>,
    pub extents_after: Option<Extents>,
    pub own_file: bool,
    pub runs: Vec<RunFigures>,
    pub ceiling: Option<Ceiling>,
    pub engine: &'static str,
    pub direct: bool,
    pub in_place: bool,
    pub cache: Option<Found>,
    pub broken: Option<Broken>,
    pub failed: Vec<FailedRun>,
}

pub fn plan(test: &str, direction: Direction) -> Plan {
    let test: TestSpec = test.parse().unwrap_or_else(|e| panic!("{e}"));
    Options {
        tests: vec![test],
        directions: vec![direction],
        duration: Nanos::secs(1),
        warm_up: Nanos::ZERO,
        pause: Nanos::ZERO,
        runs: 8,
        seed: 1,
        ..Options::default()
    }
    .plan()
}

impl World {
    /// A disk that is read in order at about `rate` MiB/s, without a flaw.
    pub fn sound() -> World {
        World {
            plan: plan("SEQ1MQ8T1", Direction::Read),
            info: DriveInfo {
                name: "/srv".to_owned(),
                kind: DriveKind::File,
                model: None,
                serial: None,
                capacity_bytes: Bytes::gib(1),
                logical_block_bytes: Bytes(512),
                physical_block_bytes: Bytes(4096),
                rotational: Some(false),
                write_cache: None,
                cache_bytes: None,
                link_bytes_per_s: None,
            },
            stack: Stack {
                layers: vec![Layer { kind: "disk".to_owned(), ..Layer::default() }],
                leaves: vec![leaf(Medium::Device)],
            },
            extents: Some(Extents {
                file_bytes: Bytes::gib(1),
                written_bytes: Bytes::gib(1),
                extents: 1,
                ..Extents::default()
            }),
            extents_after: None,
            own_file: false,
            runs: [500, 503, 498, 501, 499, 502, 497, 500].map(sequential).to_vec(),
            ceiling: Some(Ceiling { iops: 1e6, through_kernel: true }),
            engine: "io_uring",
            direct: true,
            in_place: false,
            cache: None,
            broken: None,
            failed: Vec::new(),
        }
    }

    pub fn each(mut self, change: impl Fn(usize, &mut RunFigures)) -> World {
        self.runs.iter_mut().enumerate().for_each(|(index, run)| change(index, run));
        self
    }

    pub fn body(&self) -> Body {
        let executed = Executed {
            tests: vec![TestRuns {
                runs: self.runs.clone(),
                latencies: LatencyHistogram::new(),
                ceiling: self.ceiling,
            }],
            broken: self.broken.clone(),
            failed: self.failed.clone(),
            written: self.runs.iter().map(|run| (run.position, run.totals.written)).collect(),
            ..Executed::nothing(&self.plan, REGION)
        };
        let context = findings::Context {
            info: &self.info,
            stack: &self.stack,
            extents: self.extents.clone(),
            engine: self.engine,
            direct: self.direct,
            durable: false,
            cpus: 2,
            polling: false,
            in_place: self.in_place,
            extents_after: self.extents_after.clone(),
            own_file: self.own_file,
            cache: self.cache.clone(),
        };
        findings::body(&self.plan, &executed, &context)
    }

    pub fn test(&self) -> Test {
        self.body().tests.remove(0)
    }

    /// The verdicts that are not proven, by name.
    pub fn doubts(&self) -> Vec<(&'static str, Verdict)> {
        let test = self.test();
        let doubts = test.proofs.named();
        doubts
            .into_iter()
            .filter(|(_, p)| p.verdict != Verdict::Proven)
            .map(|(n, p)| (n, p.verdict))
            .collect()
    }
}

pub fn leaf(medium: Medium) -> Leaf {
    Leaf { name: "sda".to_owned(), medium, model: None }
}

/// A run of one second that reads `mib` blocks of 1 MiB in order.
pub fn sequential(mib: u64) -> RunFigures {
    let offsets: Vec<u64> = (0..mib).map(|i| i % 1024).collect();
    figures(mib * MIB, mib, audit(MIB, &offsets))
}

pub fn audit(block: u64, slots: &[u64]) -> AuditSummary {
    let mut audit = Audit::new(REGION, Bytes(block));
    for (at, slot) in (0..).zip(slots) {
        audit.note(Op::Read, Bytes(slot * block), Bytes(block), Time(at));
    }
    Audit::merge(vec![audit])
}

pub fn figures(bytes: u64, ios: u64, audit: AuditSummary) -> RunFigures {
    let counted = |bytes: u64| Snapshot {
        task: Some(TaskIo { read_bytes: Bytes(bytes), write_bytes: Bytes::ZERO }),
        devices: vec![DeviceCounters {
            name: "sda".to_owned(),
            read_bytes: Bytes(bytes),
            ..DeviceCounters::default()
        }],
        process_cpu: Some(CpuTimes { user_ns: Nanos(bytes / 100), system_ns: Nanos(bytes / 100) }),
        steal_ns: Some(Nanos::ZERO),
        page_cache: Some(PageCache { cached_bytes: Bytes::ZERO, dirty_bytes: None }),
        throttle_events: Some(3),
        ..Snapshot::default()
    };
    RunFigures {
        position: 0,
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
        series_bytes: vec![bytes / 50; 50],
        totals: Totals { ios, read: Bytes(bytes), ..Totals::default() },
        elapsed_ns: 1_000_000_000,
        achieved_depth: 7.99,
        lag_max_ns: 5_000,
        audit,
        before: counted(1 << 40),
        after: counted((1 << 40) + bytes),
        settled: None,
    }
}
