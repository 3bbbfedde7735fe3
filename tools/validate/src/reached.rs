//! `reached`: the proof of that name on many stacks, against what an emulator counts of the drives under them.
//!
//! The lab boots a kernel with drives of QEMU, builds each stack and measures on it; the scenarios `reached-*` say
//! which. Here their cells become a table. What is true of a verdict is judged in the lab, by the emulator's count.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use lab::reached::{Cell, Worth};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::sheet;

/// Options of `reached`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Only this scenario of the lab
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    /// Outcomes of the same commit, as `scripts/validate lab` leaves them in target/validate/lab.json, instead of running
    /// the scenarios again
    #[arg(long, value_name = "FILE", conflicts_with = "scenario")]
    outcomes: Option<PathBuf>,
    /// Output directory of the table [default: docs/validation; target/validate with --scenario]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Outcome of a scenario.
#[derive(Debug, Deserialize)]
struct Outcome {
    name: String,
    #[serde(default)]
    skipped: Option<String>,
    faults: Vec<String>,
    steps: Vec<Step>,
    steps_wanted: usize,
    seconds: f64,
}

#[derive(Debug, Deserialize)]
struct Step {
    name: String,
    faults: Vec<String>,
    #[serde(default)]
    reached: Vec<Cell>,
}

/// Measures on all stacks and writes the table; false when a verdict was wrong, or a scenario failed.
///
/// # Errors
/// When the lab cannot run, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let out = sheet::table_dir(options.out.as_deref(), options.scenario.is_some())?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let outcomes = match &options.outcomes {
        Some(path) => read(path)?,
        None => lab(options, &sheet::work_dir()?.join("reached.json"))?,
    };
    let outcomes: Vec<Outcome> =
        outcomes.into_iter().filter(|o| o.name.starts_with("reached-")).collect();
    let cells: Vec<Cell> =
        outcomes.iter().flat_map(|o| &o.steps).flat_map(|s| s.reached.clone()).collect();
    let path = out.join("reached.csv");
    fs::write(&path, csv(&cells, "emulator"))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let seconds: f64 = outcomes.iter().map(|o| o.seconds).sum();
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let more = [
        ("Time in the scenarios", format!("{seconds:.0} s")),
        ("Build", build.to_owned()),
        ("Load average at the start", load),
    ];
    let head = sheet::provenance(&commit, &Machine::here(), "reached.csv", &more);
    let faults = faults(&outcomes);
    sheet::write(&out.join("reached.md"), &text(&head, &cells, &faults))?;
    faults.iter().for_each(|fault| eprintln!("{fault}"));
    Ok(faults.is_empty() && !cells.is_empty())
}

/// Runs the scenarios and reads what came of them.
fn lab(options: &Options, path: &Path) -> Result<Vec<Outcome>> {
    match &options.scenario {
        Some(name) => run_lab(&[name], path)?,
        None => run_lab(&["--tag", "reached"], path)?,
    }
    read(path)
}

/// Runs scenarios of the lab with the binary beside this one; what came of them is then in `path`.
///
/// # Errors
/// When the lab cannot run.
pub fn run_lab(chosen: &[&str], path: &Path) -> Result<()> {
    let _ = fs::remove_file(path);
    let mut command = Command::new("scripts/lab");
    command.arg("run").arg("--json").arg(path).args(chosen);
    command.env("LAB_PROGRAM", Binary::find()?.path());
    let status = command.stdin(Stdio::null()).status().context("scripts/lab")?;
    // 1 means that a scenario failed, which the outcomes report in detail.
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("scripts/lab ended with {status}");
    }
    Ok(())
}

/// Outcomes of scenarios, as far as a table needs them.
///
/// # Errors
/// Names the file.
pub fn read<O: DeserializeOwned>(path: &Path) -> Result<Vec<O>> {
    let shown = || path.display().to_string();
    serde_json::from_slice(&fs::read(path).with_context(shown)?).with_context(shown)
}

/// Lists the faults, by scenario and step.
fn faults(outcomes: &[Outcome]) -> Vec<String> {
    let mut faults = Vec::new();
    for outcome in outcomes {
        let name = &outcome.name;
        faults.extend(outcome.skipped.iter().map(|why| format!("{name}: skipped: {why}")));
        faults.extend(outcome.faults.iter().map(|fault| format!("{name}: {fault}")));
        for step in &outcome.steps {
            faults.extend(step.faults.iter().map(|f| format!("{name}: {}: {f}", step.name)));
        }
        if outcome.skipped.is_none() && outcome.steps.len() < outcome.steps_wanted {
            let (made, wanted) = (outcome.steps.len(), outcome.steps_wanted);
            faults.push(format!("{name}: {made} of {wanted} steps"));
        }
    }
    faults
}

/// All figures; `truth` names who counted what is true.
pub fn csv(cells: &[Cell], truth: &str) -> String {
    let mut text = format!(
        "stack,filesystem,test,direction,verdict,worth,issued_bytes,device_ratio,task_ratio,{truth}_ratio,\
         expected_low,expected_high,reason\n"
    );
    for c in cells {
        let some = |ratio: Option<f64>| ratio.map_or(String::new(), |r| format!("{r:.4}"));
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{:.4},{},{},\"{}\"",
            c.stack,
            c.filesystem,
            c.test,
            c.direction,
            c.verdict,
            words(c.worth).replace(' ', "_"),
            c.issued_bytes,
            some(c.device_ratio),
            some(c.task_ratio),
            c.true_ratio,
            c.expected[0],
            c.expected[1],
            c.reason.replace('"', "'")
        );
    }
    text
}

/// How many verdicts there are, and how many of them are wrong.
pub fn counted(cells: &[Cell]) -> String {
    let of = |worth| cells.iter().filter(|c| c.worth == worth).count();
    format!(
        "{} verdicts on {} stacks: {} wrongly proven, {} wrongly refuted, {} left open.",
        cells.len(),
        stacks(cells).len(),
        of(Worth::WrongProven),
        of(Worth::WrongRefuted),
        of(Worth::Undecided)
    )
}

/// A row for each verdict, and why some are left open.
pub fn table(cells: &[Cell]) -> String {
    let rows: Vec<Vec<String>> = cells.iter().map(row).collect();
    let columns =
        ["stack", "filesystem", "test", "", "verdict", "", "ours", "charged", "true", "should"];
    let mut text = sheet::table(6, &columns, &rows);
    let open: BTreeMap<&str, usize> =
        cells.iter().filter(|c| c.worth == Worth::Undecided).fold(BTreeMap::new(), |mut all, c| {
            *all.entry(c.reason.as_str()).or_default() += 1;
            all
        });
    if !open.is_empty() {
        text += "\n## Left open\n\n";
        open.iter().for_each(|(reason, count)| {
            let _ = writeln!(text, "- {count}: {reason}");
        });
    }
    text
}

/// The whole page; `head` states how it was made.
fn text(head: &str, cells: &[Cell], faults: &[String]) -> String {
    let mut text =
        format!("# Reached, against what the drives moved\n\n{}\n\n{head}", counted(cells));
    text += "Each row is a test of half a second in an emulated machine (`lab/scenarios/reached-*.toml`). QEMU counts what \
             crosses into each drive around it, and knows nothing of drivescope. *Ours* are the bytes that drivescope read \
             off the leaf devices' counters, *charged* those that the kernel charged to it, *true* those that QEMU \
             counted, each for a byte issued; *should* is what whoever built the stack knows of it. Proven is wrong where \
             fewer than 0.97 of the least crossed, refuted where they did.\n\n";
    text += &table(cells);
    if !faults.is_empty() {
        text += "\n## Faults\n\n";
        faults.iter().for_each(|fault| {
            let _ = writeln!(text, "- {fault}");
        });
    }
    text
}

fn stacks(cells: &[Cell]) -> std::collections::BTreeSet<(&str, &str)> {
    cells.iter().map(|c| (c.stack.as_str(), c.filesystem.as_str())).collect()
}

fn words(worth: Worth) -> &'static str {
    match worth {
        Worth::Right => "right",
        Worth::Undecided => "undecided",
        Worth::WrongProven => "wrong proven",
        Worth::WrongRefuted => "wrong refuted",
    }
}

fn row(cell: &Cell) -> Vec<String> {
    let some = |ratio: Option<f64>| ratio.map_or("–".to_owned(), |r| format!("{r:.2}"));
    let [low, high] = cell.expected;
    let should = if low == high { format!("{low}") } else { format!("{low}–{high}") };
    vec![
        cell.stack.clone(),
        cell.filesystem.clone(),
        cell.test.clone(),
        cell.direction.clone(),
        cell.verdict.clone(),
        words(cell.worth).to_owned(),
        some(cell.device_ratio),
        some(cell.task_ratio),
        format!("{:.2}", cell.true_ratio),
        should,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(worth: Worth) -> Cell {
        Cell {
            stack: "raid1".into(),
            filesystem: "xfs".into(),
            test: "SEQ1M Q2T1".into(),
            direction: "write".into(),
            verdict: "proven".into(),
            reason: "a \"reason\"".into(),
            issued_bytes: 1 << 20,
            device_ratio: Some(2.0),
            task_ratio: None,
            true_ratio: 2.004,
            expected: [2.0, 2.0],
            worth,
            ..Cell::default()
        }
    }

    // A wrong verdict that the page does not count would be sold as none.
    #[test]
    fn the_page_counts_what_was_wrong() {
        let cells = [cell(Worth::Right), cell(Worth::WrongProven), cell(Worth::Undecided)];
        let page = text("", &cells, &["reached-x: step: fault".to_owned()]);
        let title = "3 verdicts on 1 stacks: 1 wrongly proven, 0 wrongly refuted, 1 left open.";
        assert!(page.contains(title), "{page}");
        assert!(page.contains("| wrong proven | 2.00 | – | 2.00 | 2 |"), "{page}");
        assert!(page.contains("- 1: a \"reason\"") && page.contains("- reached-x: step: fault"));
        assert!(
            csv(&cells, "emulator")
                .lines()
                .nth(1)
                .is_some_and(|l| l.ends_with("2.0040,2,2,\"a 'reason'\""))
        );
    }

    #[test]
    fn a_scenario_that_did_not_end_is_a_fault() {
        let outcome = |skipped: Option<&str>, faults: &[&str], steps_wanted| Outcome {
            name: "reached-x".into(),
            skipped: skipped.map(str::to_owned),
            faults: faults.iter().map(|f| (*f).to_owned()).collect(),
            steps: vec![Step { name: "s".into(), faults: Vec::new(), reached: Vec::new() }],
            steps_wanted,
            seconds: 1.0,
        };
        assert!(faults(&[outcome(None, &[], 1)]).is_empty());
        for wrong in [outcome(None, &[], 2), outcome(None, &["x"], 1), outcome(Some("y"), &[], 1)] {
            assert_eq!(faults(&[wrong]).len(), 1);
        }
    }
}
