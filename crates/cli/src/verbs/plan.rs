//! `drivescope plan`: the plan that `mark` would run, as text.

use anyhow::Result;

use crate::args::{PlanArgs, Span};
use crate::envelope::{SystemClock, document, run_id, seed_of};
use crate::exit::Exit;
use crate::messages;
use crate::verbs::mark::options;

/// Runs the verb.
///
/// # Errors
/// When the plan cannot be written.
pub fn main(args: &PlanArgs) -> Result<Exit> {
    args.load.check()?;
    let seed = seed_of(args.load.seed)?;
    let mut plan = options(&args.load, seed, true).plan();
    plan.region = match args.span {
        Some(Span::Part(region)) => Some(region),
        Some(Span::All) | None => None,
    };
    plan.check()?;
    if args.json {
        let document = document(workload::plan::SCHEMA, run_id(seed), &SystemClock, &plan);
        messages::document(&document)?;
    } else {
        messages::plain(&plan.to_toml()?)?;
    }
    Ok(Exit::Done)
}
