//! Announces what a verb will do before it begins, and ends there when that was asked for.

use anyhow::{Context as _, Result};
use block::DriveInfo;
use drives::TargetSpec;
use instruments::announce::{Cost, Foreseen, on_target, together};
use record::Announced;
use runner::announce;

use crate::args::FilesArgs;
use crate::exit::{Exit, InMemory};
use crate::messages;
use crate::verbs::print_json;

/// The form of what `--dry-run --json` prints.
const DRY_RUN: &str = "drivescope.dry-run/1";

/// Continuation after an announcement.
pub enum Next {
    /// The run, which was announced as far as its target can be looked at.
    Run(Option<Box<Announced>>),
    /// Nothing: it was a dry run.
    End(Exit),
}

/// Announces work on `target`, whose `cost` depends on what that reports of itself. `anyway`: also where there is no drive to
/// measure.
///
/// # Errors
/// As [`next`].
pub fn announced(
    target: &TargetSpec,
    cost: &dyn Fn(&DriveInfo) -> Cost,
    files: &FilesArgs,
    anyway: bool,
) -> Result<Next> {
    next(on_target(target, cost, anyway).map(Some), files)
}

/// As [`announced`], of work on several targets.
///
/// # Errors
/// As [`next`].
pub fn announced_together(
    costs: &[(&TargetSpec, Cost)],
    files: &FilesArgs,
    anyway: bool,
) -> Result<Next> {
    let foreseen = costs.iter().map(|(target, cost)| on_target(target, &|_| cost.clone(), anyway));
    let all = foreseen.reduce(|all, next| {
        let (all, next) = (all?, next?);
        let is_pointless = all.is_pointless || next.is_pointless;
        Ok(Foreseen { announced: together(all.announced, next.announced), is_pointless })
    });
    next(all.transpose(), files)
}

/// Announces what is foreseen. What cannot be looked at is refused by the code that opens it, but for a dry run.
///
/// # Errors
/// [`InMemory`] where there is no drive to measure; in a dry run, when the target cannot be looked at.
pub fn next(foreseen: Result<Option<Foreseen>>, files: &FilesArgs) -> Result<Next> {
    if files.dry_run {
        let Foreseen { announced, is_pointless } =
            foreseen?.context("--dry-run: nothing is left to be measured")?;
        return dry_run(&announced, is_pointless, files.result.json).map(Next::End);
    }
    let Ok(Some(Foreseen { announced, is_pointless })) = foreseen else {
        return Ok(Next::Run(None));
    };
    if is_pointless {
        return Err(InMemory(announced.target).into());
    }
    announce::say(&announced);
    Ok(Next::Run(Some(Box::new(announced))))
}

/// Prints what the command would do; returns [`Exit::No`] when there is no drive to measure.
///
/// # Errors
/// When it cannot be printed.
pub fn dry_run(announced: &Announced, is_pointless: bool, json: bool) -> Result<Exit> {
    match json {
        true => print_json(DRY_RUN, announced)?,
        false => messages::result(&announce::text(announced))?,
    }
    Ok(if is_pointless { Exit::No } else { Exit::Done })
}
