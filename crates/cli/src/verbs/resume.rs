//! `--resume RUN`: a recorded run goes on where it was interrupted or killed.

use anyhow::{Context as _, Result, bail};
use block::{EngineChoice, EngineKind};
use documents::instrument::Instrument;
use instruments::mark::{Job, RunMode, Setup, TargetSettings, Turn, file_size};
use record::{Run, RunId};
use runner::instrument::Resumed;
use workload::plan::Plan;

use crate::args::{Given, KeepArgs, OutputArgs, TargetArgs};
use crate::exit::Exit;
use crate::records;
use crate::session::Session;

/// Flags typed beside `--resume`. They may only repeat what the record says, as when the first
/// command is recalled and extended: a run has one plan.
pub struct Asked<'a> {
    /// Flags about the target.
    pub target: &'a TargetArgs,
    /// Flags that were typed.
    pub given: &'a Given,
    /// The plan that the flags describe, if any, for the seed of the record.
    pub plan: &'a dyn Fn(u64) -> Result<Option<Plan>>,
    /// Names of the flags that are compared with the record by that plan.
    pub plan_flags: Vec<String>,
    /// The seed that was typed.
    pub seed: Option<u64>,
}

/// Resumes the run of this name.
///
/// # Errors
/// Returns an error if there is no such run, it is finished, other flags contradict it, the drive is
/// another one, or a measurement is impossible.
pub fn main(name: &str, asked: &Asked<'_>, keep: &KeepArgs, output: &OutputArgs) -> Result<Exit> {
    with(name, asked, keep, output, |session| session.run())
}

/// Opens the run of this name for resumption and passes the session to `go`.
///
/// # Errors
/// As [`main`].
pub fn with<R>(
    name: &str,
    asked: &Asked<'_>,
    keep: &KeepArgs,
    output: &OutputArgs,
    go: impl FnOnce(Session<'_>) -> Result<R>,
) -> Result<R> {
    let runs = keep.place.runs()?;
    let id = records::to_resume(&runs, name, Instrument::Mark)?;
    // From here on the run is ours: a test file that it left has no other owner.
    let resumed = records::resume(&runs, &id, Instrument::Mark, &keep.place)?;
    let recorded = Recorded::of(&resumed.run)?;
    let Recorded { setup, plan } = &recorded;
    let agreed = agree(asked, setup, plan);
    let agreed = agreed.and_then(|()| agree_on_samples(asked, setup, keep, output));
    agreed.with_context(|| {
        format!("{id}: its record says otherwise; leave out what is not about output")
    })?;
    let mut target = setup.target(asked.target.consent.settings())?;
    if asked.given.has("target") {
        // A drive may have another name by now; that it is the same one is checked when it is open.
        target.target.clone_from(&asked.target.target);
    }
    recorded.resume(resumed, &target, None, (keep, output), go)
}

/// Setup and plan of a recorded benchmark.
pub struct Recorded {
    /// Its setup.
    pub setup: Setup,
    plan: Plan,
}

impl Recorded {
    /// Those of `run`.
    ///
    /// # Errors
    /// When they are not in the form of this version.
    pub fn of(run: &Run) -> Result<Recorded> {
        let plan = Plan::from_toml(&run.plan);
        let plan = plan.with_context(|| format!("{}: its plan.toml", run.id))?;
        Ok(Recorded { setup: Setup::of_record(run)?, plan })
    }

    /// Lets `go` have the rest of the run on `target`, in turns with others where it has a `turn`.
    ///
    /// # Errors
    /// When the kernel refuses its engine here, and the errors of `go`.
    pub fn resume<R>(
        self,
        resumed: Resumed,
        target: &TargetSettings,
        turn: Option<&Turn>,
        (keep, output): (&KeepArgs, &OutputArgs),
        go: impl FnOnce(Session<'_>) -> Result<R>,
    ) -> Result<R> {
        let Recorded { setup, plan } = self;
        let run_id = resumed.run.id.clone();
        check_engine(&run_id, target)?;
        let job = Job {
            target,
            plan: &|_| Ok(plan.clone()),
            default_size: file_size(&plan),
            default_span: None,
            may_widen: false,
            run_id: run_id.as_str(),
            drive_seed: setup.drive_seed,
            trace_cap: trace_cap(&setup, keep, output),
            turn,
        };
        let course = RunMode::Resumed(Box::new(resumed));
        go(Session { job: &job, run_id: run_id.clone(), setup, course, keep, output })
    }
}

/// Single I/Os to keep per run: as the record has it, or for a file that is asked for now.
pub fn trace_cap(setup: &Setup, keep: &KeepArgs, output: &OutputArgs) -> usize {
    match setup.samples {
        Some(_) => usize::try_from(setup.samples_max).unwrap_or(usize::MAX),
        None => output.trace_cap(keep),
    }
}

/// A record has single I/Os of all its runs, in one form, or of none.
fn agree_on_samples(
    asked: &Asked<'_>,
    setup: &Setup,
    keep: &KeepArgs,
    output: &OutputArgs,
) -> Result<()> {
    let form = keep.keep_samples;
    if form.is_some() && form != setup.samples {
        bail!("--keep-samples is not that of the record");
    }
    let is_kept = setup.samples.is_some() && asked.given.has("samples_max");
    if is_kept && output.samples_max != setup.samples_max {
        bail!("--samples-max is not that of the record, {}", setup.samples_max);
    }
    Ok(())
}

/// Whether `engine` is that of the record, or any that the kernel allows.
fn is_recorded(engine: EngineChoice, setup: &Setup) -> bool {
    match engine {
        EngineChoice::From(_) => true,
        EngineChoice::Only(kind) => kind.word() == setup.engine,
    }
}

/// The runs of one record are made with one engine.
///
/// # Errors
/// When the kernel refuses it here.
fn check_engine(id: &RunId, target: &TargetSettings) -> Result<()> {
    let engine = target.engine.first();
    let refused = match target.target.is_real() {
        false => None,
        true => linux::engines::probe(engine).err().filter(linux::engines::is_refusal),
    };
    let Some(error) = refused else { return Ok(()) };
    let others = if engine == EngineKind::IoUring { "libaio" } else { "psync" };
    bail!(
        "{id}: was made with {engine}, which is blocked here ({error})\nhint: allow {engine}, or begin a new run with \
         --engine {others}"
    )
}

fn agree(asked: &Asked<'_>, setup: &Setup, plan: &Plan) -> Result<()> {
    let TargetArgs { size, span, engine, iopoll, buffered, no_cow, cpus, .. } = asked.target;
    let region = plan.region.map(|r| r.length);
    let contradicts = [
        ("size", size.is_some() && *size != setup.file_bytes && *size != region),
        ("span", span.is_some_and(|span| span.region() != plan.region)),
        ("engine", !is_recorded(*engine, setup)),
        ("iopoll", *iopoll != setup.iopoll),
        ("buffered", *buffered != setup.buffered),
        ("no-cow", *no_cow != setup.no_cow),
        ("cpus", *cpus != setup.cpus),
    ];
    let is_compared = |flag: &str| {
        let mut target = contradicts.iter().map(|(name, _)| name.replace('-', "_"));
        ["seed", "keep_samples"].contains(&flag)
            || target.any(|name| name == flag)
            || asked.plan_flags.iter().any(|name| name == flag)
    };
    records::check_beside_resume(asked.given.recorded().filter(|flag| !is_compared(flag)))?;
    for (flag, differs) in contradicts {
        if differs && asked.given.has(&flag.replace('-', "_")) {
            bail!("--{flag} is not that of the record; leave it out with --resume");
        }
    }
    if asked.seed.is_some_and(|seed| seed != plan.seed) {
        bail!("--seed is not that of the record, {}", plan.seed);
    }
    let Some(mut other) = (asked.plan)(plan.seed)? else { return Ok(()) };
    (other.seed, other.region) = (plan.seed, plan.region);
    other.schedule.write_budget = plan.schedule.write_budget;
    // Without permission to write, the run only read.
    if !plan.alters() && other.alters() {
        other.steps.retain(|step| !step.writes());
    }
    if other != *plan {
        bail!("the plan that is asked for is not that of the record");
    }
    Ok(())
}
