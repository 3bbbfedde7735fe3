//! `lab`: every scenario of `lab/scenarios`, with what came of it.
//!
//! All of them take an hour or more under emulation, so a run may be of some only: their rows are replaced, the others
//! stay, and each row says at which commit it was made.

mod safety;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ::lab::outcome::{CellOutcome, Outcome};
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
    /// Output directory of the table [default: docs/validation]
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
    /// Of lines in states, by state, in the order run.
    states: Vec<InState>,
    seconds: f64,
}

impl Row {
    fn cells(&self) -> usize {
        self.states.iter().map(|state| state.cells).sum()
    }

    /// Cells after which a watched drive had other content than before, controls apart.
    fn changed(&self) -> usize {
        self.states.iter().filter(|state| !state.control).map(|state| state.changed).sum()
    }
}

/// All lines in one state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct InState {
    name: String,
    /// Lines may write there, and have to.
    control: bool,
    /// Lines that ran.
    cells: usize,
    /// Those of which something was not as it should be.
    faulty: usize,
    /// Those after which a watched drive had other content than before.
    changed: usize,
    /// How many ended with which exit status.
    exits: BTreeMap<i32, usize>,
    /// SHA-256 of each watched drive before the first line and after the last.
    sha256: BTreeMap<String, [String; 2]>,
}

impl InState {
    fn count(&mut self, cell: &CellOutcome) {
        self.cells += 1;
        self.faulty += usize::from(!cell.faults.is_empty());
        self.changed += usize::from(cell.sha256.values().any(|[before, after]| before != after));
        *self.exits.entry(cell.exit).or_default() += 1;
        for (drive, [before, after]) in &cell.sha256 {
            let whole = self.sha256.entry(drive.clone()).or_insert([before.clone(), String::new()]);
            whole[1].clone_from(after);
        }
    }
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
    sheet::write(&out.join("safety.md"), &safety::text(&head, &rows))?;
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
    let mut states: Vec<InState> = Vec::new();
    for cell in &outcome.cells {
        if states.last().is_none_or(|state| state.name != cell.state) {
            let control = controls.contains(&cell.state);
            states.push(InState { name: cell.state.clone(), control, ..InState::default() });
        }
        if let Some(state) = states.last_mut() {
            state.count(cell);
        }
    }
    Row {
        states,
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
    use ::lab::outcome::StepOutcome;

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
        assert_eq!((row.cells(), row.changed(), row.green), (3, 1, true));
        let swap = &row.states[2];
        assert_eq!((swap.changed, swap.exits[&0], &swap.sha256["a"][1]), (1, 1, &"y".to_owned()));
    }
}
