//! How a run was set up: what it takes, beside its plan, to go on with it or to make it again.

use anyhow::{Context as _, Result, bail};
use bench::engines;
use block::{Bytes, EngineChoice, EngineKind};
use drives::TargetSpec;
use mark::sweep::Swept;
use record::{Run, RunId, SamplesFormat};
use runner::place::Keep;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workload::plan::Plan;

use crate::args::{ConsentArgs, KeepArgs, OutputArgs, SamplesName, TargetArgs};
use crate::messages;

/// The setup of a recorded run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// What the user called it: `mark`, `run`, `rerun`.
    pub verb: String,
    /// Absolute path of the target, or its name when it is a virtual drive.
    pub target: String,
    /// Size of the test file in a directory.
    pub file_bytes: Option<Bytes>,
    /// `io_uring`, `libaio`, `psync`.
    pub engine: String,
    /// Engines that would have been used and that the kernel refused, with its answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_refused: Option<Value>,
    /// True when completions were polled for.
    pub iopoll: bool,
    /// True when I/O went through the page cache on purpose.
    pub buffered: bool,
    /// True when the test file was to be written in place (Btrfs).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_cow: bool,
    /// CPUs of the submitters, when they were chosen.
    pub cpus: Option<Vec<usize>>,
    /// Seed that a virtual drive's own noise took from the user's.
    pub drive_seed: Option<u64>,
    /// Most single I/Os kept per run.
    pub samples_max: u64,
    /// Form of the single I/Os in the record, when they are kept.
    pub samples: Option<SamplesFormat>,
    /// The run that this one repeats.
    pub repeats: Option<RunId>,
    /// The run, a survey, that this one is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<String>,
    /// The drive in a few words, known when it is open.
    pub drive: Option<String>,
    /// What the plan is, when it is a sweep's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Swept>,
}

impl Setup {
    /// What the flags of a new run come to. `file_bytes` is the size that a test file gets.
    pub fn new(
        verb: &str,
        target: &TargetArgs,
        file_bytes: Bytes,
        drive_seed: Option<u64>,
        keep: &KeepArgs,
        output: &OutputArgs,
    ) -> Setup {
        let name = absolute(&target.target);
        let is_dir = std::fs::metadata(&name).is_ok_and(|meta| meta.is_dir());
        Setup {
            verb: verb.to_owned(),
            target: name,
            file_bytes: is_dir.then_some(file_bytes),
            engine: engine_of(target).to_string(),
            engine_refused: engines::refused(),
            iopoll: target.iopoll,
            buffered: target.buffered,
            no_cow: target.no_cow,
            cpus: target.cpus.clone(),
            drive_seed,
            samples_max: output.samples_max,
            samples: keep.keep_samples.map(SamplesFormat::from),
            repeats: None,
            part_of: keep.part_of.clone(),
            drive: None,
            sweep: None,
        }
    }

    /// The verb that goes on with such a run.
    pub fn goes_on_with(&self) -> &'static str {
        if self.sweep.is_some() { "sweep" } else { "run" }
    }

    /// Reads what a record holds.
    ///
    /// # Errors
    /// When the run was not set up by a version whose setup this one knows.
    pub fn of_record(run: &Run) -> Result<Setup> {
        let id = &run.id;
        if run.is_bare() {
            bail!("{id}: was imported as a document alone, without what it takes to make it again");
        }
        serde_json::from_value(run.setup.clone())
            .with_context(|| format!("{id}: its setup.json is not one of this version"))
    }

    /// The flags that lead to this setup; consent to writing is given anew each time.
    ///
    /// # Errors
    /// When the record names an engine that this version does not have.
    pub fn target_args(&self, consent: ConsentArgs) -> Result<TargetArgs> {
        let engine = EngineKind::ALL.into_iter().find(|kind| kind.to_string() == self.engine);
        let engine = engine.with_context(|| format!("{}: no such engine here", self.engine))?;
        Ok(TargetArgs {
            anyway: true,
            target: TargetSpec::of(&self.target),
            size: self.file_bytes,
            span: None,
            engine: EngineChoice::Only(engine),
            iopoll: self.iopoll,
            buffered: self.buffered,
            no_cow: self.no_cow,
            cpus: self.cpus.clone(),
            consent,
        })
    }
}

/// The engine of a run. Only io_uring polls.
pub fn engine_of(args: &TargetArgs) -> EngineKind {
    if args.iopoll { args.engine.first() } else { engines::chosen(&args.target, args.engine) }
}

/// The name of a target so that it leads there from anywhere: a run may be gone on with from another directory.
pub fn absolute(target: &TargetSpec) -> String {
    let path = match target {
        TargetSpec::Virtual(spec) => return spec.absolute(),
        TargetSpec::Null => return target.to_string(),
        TargetSpec::Path(path) => path,
    };
    let Ok(path) = std::fs::canonicalize(path) else { return path.clone() };
    if path.to_str().is_none() {
        messages::note(
            "the target's path is no UTF-8, so this run cannot be gone on with or repeated",
        );
    }
    path.display().to_string()
}

impl KeepArgs {
    /// Whether and where a run is recorded, as the runner takes it.
    pub fn keep(&self) -> Keep {
        Keep {
            runs_dir: self.place.runs_dir.clone(),
            no_record: self.no_record,
            samples: self.keep_samples.map(SamplesFormat::from),
            part_of: self.part_of.clone(),
            is_optional: self.part_of.is_some(),
            engine_refused: Some(engines::refused),
        }
    }
}

impl From<SamplesName> for SamplesFormat {
    fn from(name: SamplesName) -> SamplesFormat {
        match name {
            SamplesName::Csv => SamplesFormat::Csv,
            SamplesName::Parquet => SamplesFormat::Parquet,
        }
    }
}

/// Size of a test file for `plan` when the user names none.
pub fn file_size(plan: &Plan) -> Bytes {
    let end = plan.region.map(|r| Bytes(r.offset.0.saturating_add(r.length.0)));
    end.unwrap_or(Bytes::gib(1))
}
