//! Setup of a run: everything beside its plan that resuming or repeating it needs.

use anyhow::{Context as _, Result, bail};
use bench::engines;
use block::{Bytes, EngineChoice, EngineKind};
use drives::TargetSpec;
use mark::sweep::Swept;
use record::{Run, RunId, SamplesFormat};
use runner::messages;
use runner::place::Keep;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workload::plan::Plan;

use super::target::{TargetSettings, WriteConsent};

/// The setup of a recorded run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Verb as the user typed it: `mark`, `run`, `rerun`.
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
    /// The sweep that the plan belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Swept>,
}

impl Setup {
    /// Setup of a new run. `file_bytes` is the size that a test file gets.
    pub fn new(
        verb: &str,
        target: &TargetSettings,
        file_bytes: Bytes,
        drive_seed: Option<u64>,
        keep: &Keep,
        samples_max: u64,
    ) -> Setup {
        let name = absolute(&target.target);
        let is_dir = std::fs::metadata(&name).is_ok_and(|meta| meta.is_dir());
        Setup {
            verb: verb.to_owned(),
            target: name,
            file_bytes: is_dir.then_some(file_bytes),
            engine: target.kernel_engine().to_string(),
            engine_refused: engines::refused(),
            iopoll: target.iopoll,
            buffered: target.buffered,
            no_cow: target.no_cow,
            cpus: target.cpus.clone(),
            drive_seed,
            samples_max,
            samples: keep.samples,
            repeats: None,
            part_of: keep.part_of.clone(),
            drive: None,
            sweep: None,
        }
    }

    /// The verb that resumes such a run: the one that the user typed, if that takes `--resume`.
    pub fn goes_on_with(&self) -> &'static str {
        match self.verb.as_str() {
            _ if self.sweep.is_some() => "sweep",
            "mark" => "mark",
            _ => "run",
        }
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

    /// The target of this setup; consent to writing is given again each time.
    ///
    /// # Errors
    /// When the record names an engine that this version does not have.
    pub fn target(&self, consent: WriteConsent) -> Result<TargetSettings> {
        let engine = EngineKind::ALL.into_iter().find(|kind| kind.to_string() == self.engine);
        let engine = engine.with_context(|| format!("{}: no such engine here", self.engine))?;
        Ok(TargetSettings {
            anyway: true,
            // That of the runs is in the plan.
            write_budget: None,
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

/// The name of a target that is valid from anywhere: a run may be resumed from another directory.
pub fn absolute(target: &TargetSpec) -> String {
    let path = match target {
        TargetSpec::Virtual(spec) => return spec.absolute(),
        TargetSpec::Null => return target.to_string(),
        TargetSpec::Path(path) => path,
    };
    let Ok(path) = std::fs::canonicalize(path) else { return path.clone() };
    if path.to_str().is_none() {
        messages::note(
            "the target's path is not UTF-8, so this run cannot be gone on with or repeated",
        );
    }
    path.display().to_string()
}

/// Size of a test file for `plan` when the user names none.
pub fn file_size(plan: &Plan) -> Bytes {
    let end = plan.region.map(|r| Bytes(r.offset.0.saturating_add(r.length.0)));
    end.unwrap_or(Bytes::gib(1))
}
