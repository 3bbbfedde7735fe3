//! `lab`: every scenario of `lab/scenarios`, with what came of it.
//!
//! All of them take an hour or more under emulation, so a run may be of some only: their rows are replaced, the others
//! stay, and each row says at which commit it was made.

mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ::lab::outcome::Outcome;
use ::lab::scenario;
use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::provenance::{self, Machine};
use crate::sheet;

/// The raw figures.
const RAW: &str = "lab.json";

/// Options of `lab`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Only this scenario; may be given several times
    #[arg(long, value_name = "NAME")]
    scenario: Vec<String>,
    /// drivescope, for the emulated machine [default: the static one that scripts/validate builds]
    #[arg(long)]
    program: Option<PathBuf>,
    /// Where the table goes [default: docs/validation]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A scenario, as the table has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Row {
    summary: String,
    commit: String,
    skipped: Option<String>,
    green: bool,
    steps: Vec<Step>,
    steps_wanted: usize,
    /// Lines in states that ran, and those of which something was not as it should be.
    cells: usize,
    cells_faulty: usize,
    /// Cells after which a watched drive had other content than before, controls apart.
    cells_changed: usize,
    seconds: f64,
}

/// A step of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Step {
    name: String,
    exit: Option<i32>,
    seconds: f64,
    faults: Vec<String>,
    sha256: BTreeMap<String, [String; 2]>,
}

/// Rows by scenario.
type Rows = BTreeMap<String, Row>;

/// Runs scenarios, and writes the table; false when one failed.
///
/// # Errors
/// When the lab cannot be run, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let known = scenario::read_all(Path::new(scenario::DIRECTORY))?;
    if let Some(name) = options.scenario.iter().find(|name| !known.iter().any(|s| s.name == **name))
    {
        bail!("no scenario is named {name:?}");
    }
    let out = sheet::table_dir(options.out.as_deref(), false)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let outcomes = outcomes(options)?;
    let mut rows = read(&out.join(RAW))?;
    rows.retain(|name, _| known.iter().any(|s| s.name == *name));
    let green = outcomes.iter().all(|o| o.is_green() || o.skipped.is_some());
    for outcome in outcomes {
        let controls: Vec<String> = known
            .iter()
            .filter(|s| s.name == outcome.name)
            .flat_map(|s| {
                s.states.iter().filter(|state| state.control).map(|state| state.name.clone())
            })
            .collect();
        rows.insert(outcome.name.clone(), row(&commit, outcome, &controls));
    }
    let path = out.join(RAW);
    let text = serde_json::to_string_pretty(&rows)? + "\n";
    fs::write(&path, text).with_context(|| format!("{}: cannot be written", path.display()))?;
    let more = [("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), RAW, &more);
    sheet::write(&out.join("lab.md"), &table::text(&head, &rows))?;
    Ok(green)
}

fn outcomes(options: &Options) -> Result<Vec<Outcome>> {
    let json = sheet::work_dir()?.join(RAW);
    let mut lab = Command::new("scripts/lab");
    lab.arg("run").args(&options.scenario).arg("--json").arg(&json);
    if options.scenario.is_empty() {
        lab.arg("--all");
    }
    if let Some(program) = &options.program {
        lab.arg("--program").arg(program);
    }
    let status = lab.status().context("cannot start scripts/lab")?;
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("scripts/lab ended with {status}");
    }
    let text = fs::read(&json).with_context(|| json.display().to_string())?;
    serde_json::from_slice(&text).with_context(|| json.display().to_string())
}

fn read(path: &Path) -> Result<Rows> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).with_context(|| path.display().to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Rows::new()),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

fn row(commit: &str, outcome: Outcome, controls: &[String]) -> Row {
    let green = outcome.is_green();
    let changed = outcome.cells.iter().filter(|cell| {
        !controls.contains(&cell.state)
            && cell.sha256.values().any(|[before, after]| before != after)
    });
    Row {
        cells: outcome.cells.len(),
        cells_faulty: outcome.cells.iter().filter(|cell| !cell.faults.is_empty()).count(),
        cells_changed: changed.count(),
        green,
        commit: commit.to_owned(),
        skipped: outcome.skipped,
        summary: outcome.summary,
        seconds: outcome.seconds,
        steps_wanted: outcome.steps_wanted,
        steps: outcome
            .steps
            .into_iter()
            .map(|step| Step {
                name: step.name,
                exit: step.exit,
                seconds: step.seconds,
                faults: step.faults,
                sha256: step.sha256,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::lab::outcome::{CellOutcome, StepOutcome};

    fn cell(state: &str, after: &str) -> CellOutcome {
        let sha256 = [("a".to_owned(), ["x".to_owned(), after.to_owned()])].into();
        CellOutcome { state: state.to_owned(), sha256, ..CellOutcome::default() }
    }

    // A control has to write; counted with the others it would hide one that must not.
    #[test]
    fn only_cells_that_had_to_leave_the_drive_alone_count_as_changed() {
        let outcome = Outcome {
            name: "matrix".into(),
            steps: vec![StepOutcome::default()],
            steps_wanted: 1,
            cells: vec![cell("free", "y"), cell("mounted", "x"), cell("swap", "y")],
            ..Outcome::default()
        };
        let row = row("0123", outcome, &["free".to_owned()]);
        assert_eq!((row.cells, row.cells_changed, row.green), (3, 1, true));
    }
}
