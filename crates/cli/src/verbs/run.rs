//! `drivescope run PLAN.toml`: a plan from a file.

use std::io::Read;
use std::path::Path;

use anyhow::{Context as _, Result};
use block::Bytes;
use workload::plan::Plan;

use crate::args::{OutputArgs, RunArgs, TargetArgs};
use crate::exit::Exit;
use crate::measure::Job;
use crate::verbs::mark::{run_id, show};

/// Runs the verb.
///
/// # Errors
/// When the plan cannot be read, or what makes a measurement impossible.
pub fn main(args: &RunArgs) -> Result<Exit> {
    plan("run", &args.plan, &args.target, args.seed, &args.output)
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
    output: &OutputArgs,
) -> Result<Exit> {
    let mut plan = read(path)?;
    plan.seed = seed.unwrap_or(plan.seed);
    let run_id = run_id(plan.seed);
    let end = plan.region.map(|r| Bytes(r.offset.0.saturating_add(r.length.0)));
    let job = Job {
        target,
        plan: &|_| Ok(plan.clone()),
        default_size: end.unwrap_or(Bytes::gib(1)),
        default_span: None,
        run_id: &run_id.to_string(),
        drive_seed: seed,
        trace_cap: output.trace_cap(),
    };
    show(verb, &job, run_id, output)
}

fn read(path: &Path) -> Result<Plan> {
    let name = path.display();
    let text = if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.with_context(|| format!("{name}: cannot be read"))?;
    Plan::from_toml(&text).with_context(|| format!("{name}: is no plan that can be run"))
}
