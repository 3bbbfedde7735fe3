//! `outlook`: time and bytes that are announced before a run, beside those that it took, on virtual drives.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::binary::{Binary, number, text};
use crate::provenance::{self, Machine};
use crate::sheet;

/// The estimates were made without looking at the drives of these seeds.
const SEED: u64 = 8_810_000_000;
/// How far an estimate may be off: of bytes, and of time.
const BYTES_OFF: f64 = 0.1;
const TIME_OFF: f64 = 0.25;
/// Of the runs that end by a verdict, those that end inside, at least.
const INSIDE_MIN: usize = 11;

/// Runs of fixed length; `@` is the seed.
const FIXED: [&str; 12] = [
    "mark sim:tlc-pslc?seed=@ --runs 6 --write-only",
    "mark sim:tlc-pslc?seed=@ --runs 12 --duration 1s",
    "mark sim:mlc-nvme?seed=@ --runs 6 --duration 1s",
    "mark sim:sata-a?seed=@ --runs 6 --read-only --size 8GiB",
    "mark sim:hdd-7200?seed=@ --runs 6",
    "mark sim:optane?seed=@ --runs 8 --quick --mix 70",
    "mark sim:usb-8m?seed=@ --runs 6 --write-only --duration 2s",
    "mark sim:sdcard-4m?seed=@ --runs 6 --quick",
    "mark sim:enterprise-28op?seed=@ --runs 6 --write-only --mix 70 --duration 1s --tests RND4KQ32T1,SEQ1MQ8T1",
    "sweep sim:qlc-pslc?seed=@ --base RND4KQ1T1 --vary depth=1,4,16 --vary op=read,write --duration 500ms",
    "run PLAN sim:sata-b?seed=@",
    "compare sim:sata-a?seed=@ sim:sata-b?seed=@ --runs 6 --quick",
];

/// Runs that end by a verdict.
const BY_VERDICT: [&str; 12] = [
    "mark sim:tlc-pslc?seed=@",
    "mark sim:hdd-7200?seed=@",
    "mark sim:usb-8m?seed=@ --quick",
    "mark sim:sata-b?seed=@ --until 2% --budget 3m --quick",
    "mark sim:qlc-pslc?seed=@ --write-only --duration 1s",
    "compare sim:hdd-7200?seed=@ sim:hdd-wd?seed=@ --quick --until 5%",
    "probe sim:usb-8m?seed=@",
    "probe sim:sdcard-4m?seed=@",
    "probe capacity sim:fake-64g?seed=@",
    "survey sim:usb-8m?seed=@",
    "survey sim:sdcard-4m?seed=@",
    "pts wsat sim:sata-a?seed=@ --range 256MiB --minute 2s",
];

/// Plan for `run`: reads, writes and both, each with a limit of its own.
const PLAN: &str = r#"schema = "drivescope.plan/1"
seed = 7
region = { offset = "0B", length = "2GiB" }

[schedule]
runs = 5
pause = "100ms"

[[step]]
name = "reads by time"
submitters = 2
[[step.phase]]
name = "all"
measured = true
block = "16KiB"
address = { pattern = "random" }
stop = { after = "1500ms" }
arrival = { kind = "closed_loop", depth = 4 }
ops = [{ op = "read", percent = 100 }]

[[step]]
name = "writes by bytes"
submitters = 1
[[step.phase]]
name = "all"
measured = true
block = "128KiB"
address = { pattern = "sequential" }
stop = { bytes = "600MiB" }
arrival = { kind = "closed_loop", depth = 8 }
ops = [{ op = "write", percent = 100 }]

[[step]]
name = "both by time"
submitters = 1
[[step.phase]]
name = "all"
measured = true
block = "8KiB"
address = { pattern = "random" }
stop = { after = "2s" }
arrival = { kind = "closed_loop", depth = 8 }
ops = [{ op = "read", percent = 60 }, { op = "write", percent = 40 }]
"#;

/// Options of `outlook`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Seed of the first drive; another one is a trial
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Directory of the table [default: docs/validation; target/validate for trials]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A figure as it was announced, and as it came out.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figure {
    name: &'static str,
    least: f64,
    /// None where nothing bounds it.
    most: Option<f64>,
    /// None where the result does not say it.
    fact: Option<f64>,
}

impl Figure {
    fn off(&self) -> f64 {
        if self.name == "time_ns" { TIME_OFF } else { BYTES_OFF }
    }

    /// True where the estimate itself is near enough.
    fn is_near(&self) -> bool {
        match self.fact {
            None => false,
            Some(0.0) => self.least == 0.0 && self.most == Some(0.0),
            Some(fact) => (self.least / fact - 1.0).abs() <= self.off(),
        }
    }

    /// True where there is a ceiling, and the figure lies below it and not below the estimate; where there is an estimate alone,
    /// it is near enough.
    fn is_inside(&self) -> bool {
        let Some(most) = self.most else { return false };
        if most == self.least && self.fact.is_some() {
            return self.is_near();
        }
        self.fact.is_none_or(|fact| fact <= most && fact >= self.least * (1.0 - self.off()))
    }

    fn words(&self) -> String {
        let unit = |value: f64| format!("{:.3}", value / 1e9);
        let least = if self.least > 0.0 { unit(self.least) } else { "0".to_owned() };
        let range = match self.most {
            Some(most) if most == self.least => least,
            Some(most) => format!("{least} to {}", unit(most)),
            None => format!("{least} or more"),
        };
        format!("{range}: {}", self.fact.map_or("–".to_owned(), unit))
    }
}

/// A command with its three figures.
struct Row {
    command: String,
    figures: [Figure; 3],
}

/// Time, bytes read and bytes written that the records in `dir` state.
fn facts(dir: &Path) -> Result<[Option<f64>; 3]> {
    let mut all = [None; 3];
    let mut add = |found: [Option<f64>; 3]| {
        for (sum, value) in all.iter_mut().zip(found) {
            *sum = value.map_or(*sum, |value| Some(sum.unwrap_or(0.0) + value));
        }
    };
    for entry in fs::read_dir(dir).context("no records")? {
        let run = entry?.path();
        let Ok(journal) = fs::read_to_string(run.join("journal.jsonl")) else { continue };
        add(of_journal(&journal)?);
        if let Ok(document) = fs::read_to_string(run.join("document.json")) {
            let document: Value = serde_json::from_str(&document)?;
            let at = |pointer: &str| number(&document, pointer).ok();
            let spent = ["elapsed_ns", "read_bytes", "written_bytes"];
            add(spent.map(|field| at(&format!("/body/spent/{field}"))));
            add([None, None, at("/body/bytes_written")]);
        }
    }
    Ok(all)
}

/// The same, of the runs in a benchmark's journal.
fn of_journal(journal: &str) -> Result<[Option<f64>; 3]> {
    let mut sum = [None; 3];
    for line in journal.lines() {
        let line: Value = serde_json::from_str(line)?;
        let at = |field: &str| number(&line, &format!("/entry/step/figures/{field}")).ok();
        let Some(end) = at("at_ns") else { continue };
        let moved = |direction: &str| at(&format!("figures/totals/{direction}")).unwrap_or(0.0);
        let [time, read, written] = sum.map(|value| value.unwrap_or(0.0));
        sum = [Some(end.max(time)), Some(read + moved("read")), Some(written + moved("written"))];
    }
    Ok(sum)
}

/// Runs `command` on drives of `seed`.
fn row(binary: &Binary, work: &Path, command: &str, seed: u64) -> Result<Row> {
    let plan = work.join("plan.toml");
    fs::write(&plan, PLAN).with_context(|| format!("{}: cannot be written", plan.display()))?;
    let runs = work.join("runs");
    if runs.exists() {
        fs::remove_dir_all(&runs)?;
    }
    let command = command.replace('@', &seed.to_string());
    let words = command.split(' ').map(|word| match word {
        "PLAN" => plan.to_string_lossy().into_owned(),
        word => word.to_owned(),
    });
    let seeded = !command.starts_with("run ");
    let more = ["--seed".to_owned(), seed.to_string()].into_iter().filter(|_| seeded);
    let output = binary
        .command()
        .args(words.chain(more))
        .args(["--json", "--no-progress", "--runs-dir"])
        .arg(&runs)
        .stdin(Stdio::null())
        .output()
        .context("cannot start drivescope")?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("{command}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let document: Value =
        serde_json::from_slice(&output.stdout).with_context(|| format!("{command}: no JSON"))?;
    let announced = &document["envelope"]["announced"];
    text(announced, "/work").with_context(|| format!("{command}: nothing was announced"))?;
    let names = ["time_ns", "read_bytes", "written_bytes"];
    let facts = facts(&runs)?;
    let mut figures = Vec::new();
    for (name, fact) in names.into_iter().zip(facts) {
        figures.push(Figure {
            name,
            least: number(&announced[name], "/least")?,
            most: announced[name]["most"].as_f64(),
            fact,
        });
    }
    let figures = figures.try_into().ok().context("three figures")?;
    Ok(Row { command, figures })
}

fn rows(binary: &Binary, commands: &[&str], seed: u64) -> Result<Vec<Row>> {
    let work = sheet::work_dir()?.join("outlook");
    fs::create_dir_all(&work)?;
    let seeded = commands.iter().zip(seed..);
    seeded.map(|(command, seed)| row(binary, &work, command, seed)).collect()
}

fn table(rows: &[Row], verdict: impl Fn(&Figure) -> bool) -> String {
    let cells = |row: &Row| {
        let figures = row.figures.iter().map(|figure| {
            let words = figure.words();
            if verdict(figure) { words } else { format!("**{words}**") }
        });
        std::iter::once(format!("`{}`", row.command)).chain(figures).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    sheet::table(1, &["command", "time, s", "read, GB", "written, GB"], &rows)
}

fn csv(fixed: &[Row], by_verdict: &[Row]) -> String {
    let mut text = "length,command,figure,least,most,in_fact\n".to_owned();
    for (length, rows) in [("fixed", fixed), ("by_verdict", by_verdict)] {
        for row in rows {
            for Figure { name, least, most, fact } in row.figures {
                let value = |value: Option<f64>| value.map_or(String::new(), |v| v.to_string());
                let (most, fact) = (value(most), value(fact));
                let _ = writeln!(text, "{length},\"{}\",{name},{least},{most},{fact}", row.command);
            }
        }
    }
    text
}

/// Runs all commands and writes the table; false when a claim does not hold.
///
/// # Errors
/// When a run fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let out = sheet::table_dir(options.out.as_deref(), options.seed != SEED)?;
    let commit = provenance::commit()?;
    let binary = Binary::find()?;
    let fixed = rows(&binary, &FIXED, options.seed)?;
    let by_verdict = rows(&binary, &BY_VERDICT, options.seed + FIXED.len() as u64)?;
    let near = |of_time: bool| {
        let all = fixed.iter().flat_map(|row| &row.figures);
        let all = all.filter(|figure| (figure.name == "time_ns") == of_time);
        all.clone().filter(|figure| figure.is_near()).count() == all.count()
    };
    let inside = by_verdict.iter().filter(|row| row.figures.iter().all(Figure::is_inside)).count();
    let bounded = by_verdict
        .iter()
        .filter(|row| row.figures.iter().all(|figure| figure.most.is_some()))
        .count();
    let claims = [
        (format!("fixed length: bytes within {:.0}%", 100.0 * BYTES_OFF), near(false)),
        (format!("fixed length: time within {:.0}%", 100.0 * TIME_OFF), near(true)),
        (
            format!(
                "by a verdict: {inside} of {} end inside, {INSIDE_MIN} at least",
                by_verdict.len()
            ),
            inside >= INSIDE_MIN,
        ),
        (
            format!(
                "by a verdict: {bounded} of {} have a ceiling of each figure",
                by_verdict.len()
            ),
            bounded == by_verdict.len(),
        ),
    ];
    let holds = claims.iter().all(|(_, holds)| *holds);
    let claims = sheet::claims(&claims);
    let path = out.join("outlook.csv");
    fs::write(&path, csv(&fixed, &by_verdict))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(&commit, &Machine::here(), "outlook.csv", &[]);
    let page = format!(
        "# What is announced before a run, and what it takes\n\n{head}{claims}\nEach cell has what was announced (an estimate, or an \
         estimate to a ceiling) and, behind the colon, what the record of the run states; – where it does not. Time is that of the \
         virtual drive, from the first run to the end of the last; of a comparison that of both sides together. The estimate is judged \
         where a run has a fixed length. A run that ends by a verdict ends inside where each figure is at most the ceiling and not \
         below the estimate by more than the margins above; an estimate without a range is judged as above. Bold cells fail.\n\n## Fixed length\n\n{}\n## By a verdict\n\n{}",
        table(&fixed, Figure::is_near),
        table(&by_verdict, Figure::is_inside),
    );
    sheet::write(&out.join("outlook.md"), &page)?;
    Ok(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &'static str, least: f64, most: Option<f64>, fact: f64) -> Figure {
        Figure { name, least, most, fact: Some(fact) }
    }

    // Breaks when a wrong estimate, or a range without a ceiling, passes.
    #[test]
    fn what_is_off_is_found() {
        assert!(figure("read_bytes", 95.0, Some(95.0), 100.0).is_near());
        assert!(!figure("read_bytes", 85.0, Some(200.0), 100.0).is_near());
        assert!(figure("time_ns", 80.0, Some(80.0), 100.0).is_near());
        assert!(!figure("written_bytes", 1.0, Some(1.0), 0.0).is_near());
        assert!(figure("written_bytes", 0.0, Some(0.0), 0.0).is_near());
        assert!(figure("read_bytes", 0.0, Some(200.0), 100.0).is_inside());
        assert!(!figure("read_bytes", 0.0, None, 100.0).is_inside());
        assert!(!figure("read_bytes", 0.0, Some(99.0), 100.0).is_inside());
        assert!(!figure("read_bytes", 120.0, Some(300.0), 100.0).is_inside());
        assert!(figure("read_bytes", 99.0, Some(99.0), 100.0).is_inside());
        assert!(!figure("read_bytes", 70.0, Some(70.0), 100.0).is_inside());
    }

    #[test]
    fn totals_of_a_journal_are_those_of_its_runs() {
        let line = |at: u64, read: u64| {
            let totals = format!("{{\"read\":{read},\"written\":1}}");
            format!(
                "{{\"entry\":{{\"step\":{{\"figures\":{{\"at_ns\":{at},\"figures\":{{\"totals\":{totals}}}}}}}}}}}\n"
            )
        };
        let journal = line(5, 10) + "{\"entry\":{\"note\":\"x\"}}\n" + &line(9, 20);
        assert_eq!(of_journal(&journal).unwrap(), [Some(9.0), Some(30.0), Some(2.0)]);
        assert_eq!(of_journal("").unwrap(), [None; 3]);
    }
}
