//! `drivescope run PLAN.toml`: a plan from a file.

use std::fs::{File, metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use drives::TargetSpec;
use instruments::mark::{Job, RunMode, Setup, file_size};
use workload::plan::Plan;

use crate::args::{Given, KeepArgs, OutputArgs, RecordArgs, RunArgs, TargetArgs};
use crate::envelope::run_id;
use crate::exit::Exit;
use crate::session::Session;
use crate::verbs::resume::{self, Asked};
use crate::wrong_verb::{self, PLANS, Reader};

/// Runs the verb; `given` are the flags that the user typed.
///
/// # Errors
/// When the plan cannot be read, or what makes a measurement impossible.
pub fn main(args: &RunArgs, given: &Given) -> Result<Exit> {
    let RunArgs { plan: path, target, seed, record: RecordArgs { keep, resume }, output } = args;
    if let Some(run) = resume {
        // A single name that is not a plan is the target; the record has the plan.
        let is_plan = |path: &PathBuf| {
            let is_named_so = path.extension().is_some_and(|end| end == "toml");
            path == Path::new("-") || is_named_so || path.is_file() && read(path).is_ok()
        };
        let (path, target, given) = match path {
            Some(name) if !given.has("target") && !is_plan(name) => {
                let named = TargetSpec::of(&name.display().to_string());
                let named = TargetArgs { target: named, ..target.clone() };
                (None, named, given.clone().and("target"))
            }
            path => (path.as_ref(), target.clone(), given.clone()),
        };
        let asked = |_| path.map(|path| read(path)).transpose();
        let asked = Asked {
            target: &target,
            given: &given,
            plan: &asked,
            plan_flags: vec!["plan".to_owned()],
            seed: *seed,
        };
        return resume::main(run, &asked, keep, output);
    }
    output.check(keep, given)?;
    let path = path.as_deref().context("name a plan, as `drivescope plan` prints it")?;
    plan("run", path, target, *seed, keep, output)
}

/// Runs the plan at `path`; `verb` is what the user called it, `seed` takes the place of the plan's.
///
/// # Errors
/// When the plan cannot be read, or what makes a measurement impossible.
pub fn plan(
    verb: &str,
    path: &Path,
    target: &TargetArgs,
    seed: Option<u64>,
    keep: &KeepArgs,
    output: &OutputArgs,
) -> Result<Exit> {
    let mut plan = read(path)?;
    plan.seed = seed.unwrap_or(plan.seed);
    let run_id = run_id(plan.seed);
    let default_size = file_size(&plan);
    let target = &target.settings();
    let job = Job {
        target,
        plan: &|_| Ok(plan.clone()),
        default_size,
        default_span: None,
        may_widen: false,
        run_id: &run_id.to_string(),
        drive_seed: seed,
        trace_cap: output.trace_cap(keep),
        turn: None,
    };
    let file_bytes = target.size.unwrap_or(default_size);
    let setup = Setup::new(verb, target, file_bytes, seed, &keep.keep(), output.samples_max);
    Session { job: &job, run_id, setup, course: RunMode::New, keep, output }.run()
}

/// The plan at `path`, or on standard input for `-`.
///
/// # Errors
/// When it cannot be read or is not a plan.
pub fn read(path: &Path) -> Result<Plan> {
    let name = path.display();
    let is_target = |target: &TargetSpec| {
        let is_device = || metadata(path).is_ok_and(|meta| meta.file_type().is_block_device());
        !target.is_real() || is_device()
    };
    if let Some(target) = TargetSpec::of_argument(path).filter(is_target) {
        bail!(
            "{target}: is a target, and a plan stands before it: drivescope run PLAN.toml {target} ({PLANS})"
        );
    }
    let text = if path == Path::new("-") {
        let text = limited(std::io::stdin());
        if text.as_ref().is_ok_and(|text| text.trim().is_empty()) {
            bail!("-: standard input is empty, and a plan belongs there: {PLANS}");
        }
        text
    } else {
        File::open(path).and_then(limited)
    };
    // The words of system and parser are for those who write plans.
    let other = || wrong_verb::advice(path, Reader::Plan).map(|advice| anyhow!(advice));
    let text = match text {
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            let advice = other();
            return Err(
                advice.unwrap_or_else(|| anyhow!("{name}: is not text, and a plan is: {PLANS}"))
            );
        }
        text => text.map_err(|error| {
            other().unwrap_or_else(|| anyhow!(error).context(format!("{name}: cannot be read")))
        })?,
    };
    Plan::from_toml(&text).map_err(|error| {
        let what = format!("{name}: is not a plan that can be run ({PLANS})");
        // The parser's error quotes the line, and a file that is not a plan may be a single line.
        let line = |line: &str| line.chars().take(LINE_MAX).collect::<String>();
        let error = error.to_string().lines().map(line).collect::<Vec<_>>().join("\n");
        other().unwrap_or_else(|| anyhow!(error).context(what))
    })
}

/// So much is read of what should be a plan; the largest are of some KiB.
const PLAN_MAX: u64 = 4 << 20;
/// So much of a line is quoted.
const LINE_MAX: usize = 200;

/// Reads all of it; fails at a size that no plan has.
fn limited(from: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    from.take(PLAN_MAX).read_to_string(&mut text)?;
    match text.len() as u64 {
        PLAN_MAX => Err(ErrorKind::InvalidData.into()),
        _ => Ok(text),
    }
}
