//! Traces made from a seed, and their replay.

use std::sync::atomic::AtomicBool;

use block::{Bytes, Nanos, Target as _};
use drivescope_trace::replay::{
    Body, Judge, Options, Plan, ReferenceReader, ReferenceWriter, Survey,
};
use drivescope_trace::{InMemory, Io, Kind, Source, TraceError, TraceInfo};
use engine::replay::{Replayed, Setup, replay};
use workload::plan::Content;
use workload::rng::Rng;

/// Requests of 4 KiB at Poisson times over the first GiB.
pub fn poisson(seed: u64, count: usize, per_s: f64, reads: f64) -> Vec<Io> {
    let (mut rng, mut at) = (Rng::for_path(seed, &[1]), 0.0);
    let ios = (0..count).map(|i| {
        at += if i > 0 { rng.exponential() / per_s * 1e9 } else { 0.0 };
        let kind = if rng.unit() < reads { Kind::Read } else { Kind::Write };
        Io::arriving(Nanos(at as u64), kind, Bytes(rng.below(1 << 18) << 12), Bytes::kib(4))
    });
    ios.collect()
}

/// A trace and how it is to be replayed.
pub struct Case {
    pub info: TraceInfo,
    pub ios: Vec<Io>,
    pub options: Options,
    pub setup: Setup,
}

/// Result of a replay.
pub struct Done {
    pub body: Body,
    /// In the order of the plan.
    pub replayed: Vec<Replayed>,
    pub reference: Vec<u8>,
}

impl Case {
    pub fn new(ios: Vec<Io>) -> Case {
        let setup = Setup { slots: 4096, content: Some(Content::default()), ..Setup::default() };
        Case { info: TraceInfo::default(), ios, options: Options::default(), setup }
    }

    pub fn options(mut self, options: Options) -> Case {
        self.options = options;
        self
    }

    pub fn source(&self) -> InMemory {
        InMemory::new(self.info.clone(), self.ios.clone())
    }

    pub fn plan(&self, spec: &str, referred: bool) -> Result<Plan, TraceError> {
        let survey = Survey::of(&mut self.source(), self.options.from, self.options.until)?;
        let target = sim::open(spec).unwrap();
        Plan::new(survey, target.info(), self.options.clone(), referred)
    }

    pub fn run(&self, spec: &str) -> Done {
        self.run_with(spec, None)
    }

    pub fn run_with(&self, spec: &str, reference: Option<Vec<u8>>) -> Done {
        let plan = self.plan(spec, reference.is_some()).unwrap();
        let source = self.source();
        let open = move || Ok(Box::new(source.clone()) as Box<dyn Source>);
        let reader = reference
            .map(|bytes| ReferenceReader::new(Box::new(std::io::Cursor::new(bytes)), "reference"));
        let mut stream = plan.stream(Box::new(open), reader).unwrap();
        let mut target = sim::open(spec).unwrap();
        let mut environment = target.environment();
        let mut judge = Judge::new(&plan, None);
        let mut writer = ReferenceWriter::new(Vec::new(), "reference");
        let mut all = Vec::new();
        let setup = Setup { block_bytes_max: plan.block_bytes_max(), ..self.setup.clone() };
        let mut sink = |batch: &[Replayed]| {
            judge.see(batch);
            writer.see(batch).unwrap();
            all.extend_from_slice(batch);
        };
        let cancel = AtomicBool::new(false);
        let ended =
            replay(&mut target, &mut environment, &mut stream, &setup, &cancel, &mut sink).unwrap();
        let (counts, original) = stream.finish();
        let (reference, count) = writer.finish().unwrap();
        assert_eq!(count, ended.issued);
        all.sort_by_key(|one| one.seq);
        let body = judge.finish(counts, &original, &ended);
        Done { body, replayed: all, reference }
    }
}
