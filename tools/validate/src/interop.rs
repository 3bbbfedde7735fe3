//! `interop`: what fio's tools, fio-plot, pandas and DuckDB read in our exports, against what `--json` says.
//!
//! fio-plot, pandas and DuckDB are installed from PyPI into an environment of their own; what cannot be installed is skipped, with
//! the reason in the table.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::binary::{Binary, number, text};
use crate::provenance::{self, Machine};
use crate::sheet;

/// The readers as a program.
const SCRIPT: &str = include_str!("../fixtures/interop.py");
/// How far fio-plot may be off: of an even number of runs the median lies between two of them.
const PLOT_OFF: f64 = 0.01;
/// How far a median of the rows may be off: decimal digits.
const CSV_OFF: f64 = 1e-6;
/// The sweep that fio-plot draws.
const SWEEP: &str =
    "sweep sim:sata-a?seed=7 --base=RND4KQ1T1 --vary=depth=1,2,4,8,16,32 --duration=500ms --seed=7";
/// The runs whose rows are read.
const TABLES: [(&str, &str); 3] = [
    ("mark", "mark sim:hdd-7200?seed=7 --quick --read-only --seed=7"),
    ("sweep", SWEEP),
    ("compare", "compare sim:sata-a?seed=7 sim:sata-b?seed=7 --quick --read-only --seed=7"),
];

/// Options of `interop`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Output directory of the table [default: docs/validation]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Values by name.
type Values = Vec<(String, f64)>;

/// A line of the table.
struct Row {
    reader: String,
    what: String,
    /// Values that were compared, and the farthest from ours, as a share; or why it was skipped.
    found: Result<(usize, f64), String>,
    most: f64,
}

impl Row {
    fn is_right(&self) -> bool {
        self.found.as_ref().map_or(true, |(count, off)| *count > 0 && *off <= self.most)
    }

    fn words(&self) -> [String; 2] {
        match &self.found {
            Err(why) => ["–".to_owned(), format!("skipped: {why}")],
            Ok((count, off)) => {
                let verdict = if self.is_right() { "within" } else { "BEYOND" };
                [
                    count.to_string(),
                    format!("{:.4}%, {verdict} {:.4}%", off * 100.0, self.most * 100.0),
                ]
            }
        }
    }
}

/// Exports, reads and writes the table; false when a reader reads something else.
///
/// # Errors
/// When drivescope fails, a reader that is installed does, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let out = sheet::table_dir(options.out.as_deref(), false)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let dir = sheet::work_dir()?.join("interop");
    let _ = fs::remove_dir_all(dir.join("files"));
    fs::create_dir_all(dir.join("files"))
        .with_context(|| format!("{}: cannot be made", dir.display()))?;
    let dir = dir.canonicalize().context("the directory of trials has no path")?;
    let files = dir.join("files");
    let python = environment(&dir);
    let mut rows = plotted(&binary, &files, &python)?;
    for (name, line) in TABLES {
        let table = files.join(format!("{name}.csv"));
        let body = recorded(&binary, line, &files, &[format!("--csv={}", table.display())])?;
        let ours = medians(name, &body)?;
        for reader in ["pandas", "duckdb"] {
            let found = read(&python, &dir, &[reader, &table.to_string_lossy()])?;
            rows.push(row(reader, &format!("`{line} --csv`: medians"), found, &ours, CSV_OFF)?);
        }
    }
    let path = out.join("interop.csv");
    fs::write(&path, csv(&rows))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let testers = [("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "interop.csv", &testers);
    let cells = |row: &Row| -> Vec<String> {
        [row.reader.clone(), row.what.clone()].into_iter().chain(row.words()).collect()
    };
    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let columns = ["reader", "what it reads", "values", "farthest from --json"];
    let mut page = "# Exports, as other programs read them\n\n".to_owned();
    let wrong = rows.iter().filter(|row| !row.is_right()).count();
    let skipped = rows.iter().filter(|row| row.found.is_err()).count();
    let _ = writeln!(page, "{} reads, {skipped} skipped, {wrong} wrong.\n\n{head}", rows.len());
    page.push_str(&sheet::table(2, &columns, &cells));
    sheet::write(&out.join("interop.md"), &page)?;
    Ok(wrong == 0)
}

/// The sweep as fio-plot and fio's own tool read it.
fn plotted(binary: &Binary, files: &Path, python: &Result<PathBuf, String>) -> Result<Vec<Row>> {
    let body = recorded(binary, SWEEP, files, &[])?;
    let runs = format!("--runs-dir={}", files.join("runs").display());
    let export = |output: &Path| -> Result<()> {
        let mut command = binary.command();
        command
            .args(["runs", "export", "last", "--format=fio-json", &runs, "--output"])
            .arg(output);
        done(command.output().context("drivescope cannot be started")?, "runs export").map(drop)
    };
    let (one, many) = (files.join("sweep.json"), files.join("fio"));
    fs::create_dir_all(&many).context("the directory of exports cannot be made")?;
    export(&one)?;
    export(&many)?;
    let settings = body["settings"].as_array().context("a sweep has settings")?;
    let iops = |setting: &Value| -> Result<(String, f64)> {
        let depth = number(setting, "/load/depth")?;
        Ok((format!("depth {depth:.0}"), number(setting, "/iops/median")?))
    };
    let ours: Values = settings.iter().map(iops).collect::<Result<_>>()?;
    let (dir, picture) = (many.join("4k"), files.join("sweep.png"));
    let args = ["fio-plot", &dir.to_string_lossy(), &picture.to_string_lossy()];
    let found = read(python, files, &args)?;
    let mut rows =
        vec![row("fio-plot", &format!("`{SWEEP}`: IOPS by depth"), found, &ours, PLOT_OFF)?];
    if rows[0].found.is_ok() && !picture.is_file() {
        bail!("fio-plot drew nothing");
    }
    rows.push(clat2csv(&one, settings.len())?);
    Ok(rows)
}

/// Jobs that fio's own tool makes a table of.
fn clat2csv(document: &Path, jobs: usize) -> Result<Row> {
    let tool = "fio_jsonplus_clat2csv";
    let tables = document.with_extension("clat.csv");
    let ran = Command::new(tool).arg(document).arg(&tables).output();
    let found = match ran {
        Err(error) => Err(format!("{tool}: {error}")),
        Ok(output) => {
            done(output, tool)?;
            let stem = tables.with_extension("");
            let made = (0..)
                .take_while(|job| Path::new(&format!("{}_job{job}.csv", stem.display())).is_file());
            let made = made.count();
            Ok((made, (made as f64 - jobs as f64).abs() / jobs as f64))
        }
    };
    let what = "the same sweep in one document: a table for each job".to_owned();
    Ok(Row { reader: tool.to_owned(), what, found, most: 0.0 })
}

fn row(
    reader: &str,
    what: &str,
    found: Result<(String, Values), String>,
    ours: &Values,
    most: f64,
) -> Result<Row> {
    let what = what.to_owned();
    let (version, theirs) = match found {
        Ok(found) => found,
        Err(why) => return Ok(Row { reader: reader.to_owned(), what, found: Err(why), most }),
    };
    if theirs.len() != ours.len() {
        bail!("{reader} reads {} values of {what}, and there are {}", theirs.len(), ours.len());
    }
    let mut farthest = 0.0_f64;
    for (name, value) in ours {
        let same = theirs.iter().find(|(theirs, _)| theirs == name);
        let (_, read) = same.with_context(|| format!("{reader} reads no {name} in {what}"))?;
        farthest = farthest.max((read / value - 1.0).abs());
    }
    Ok(Row { reader: format!("{reader} {version}"), what, found: Ok((ours.len(), farthest)), most })
}

/// The medians of throughput that `--json` says, in MB/s, by side, test and operation.
fn medians(verb: &str, body: &Value) -> Result<Values> {
    let list = |name: &str| body[name].as_array().with_context(|| format!("{verb} has no {name}"));
    let mut values = Values::new();
    if verb == "sweep" {
        for setting in list("settings")? {
            let name = format!("{} {}", text(setting, "/test")?, text(setting, "/load/op")?);
            values.push((name, number(setting, "/mb_s/median")?));
        }
        return Ok(values);
    }
    for test in list("tests")? {
        let name = format!("{} {}", text(test, "/name")?, text(test, "/op")?);
        if verb == "mark" {
            values.push((name, number(test, "/mb_s/median")?));
            continue;
        }
        for (side, letter) in ["A", "B"].into_iter().enumerate() {
            let median = number(test, &format!("/sides/{side}/mb_s/median"))?;
            values.push((format!("{letter} {name}"), median));
        }
    }
    Ok(values)
}

/// Runs a line of drivescope's, which is recorded, and gives its body.
fn recorded(binary: &Binary, line: &str, files: &Path, more: &[String]) -> Result<Value> {
    let mut command = binary.command();
    command.args(line.split(' ')).args(["--json", "--no-progress", "--force"]).args(more);
    command.arg(format!("--runs-dir={}", files.join("runs").display()));
    let output = done(command.output().context("drivescope cannot be started")?, line)?;
    let mut document: Value = serde_json::from_slice(&output.stdout).context(line.to_owned())?;
    Ok(document["body"].take())
}

/// Python with the readers; or why there is none.
fn environment(dir: &Path) -> Result<PathBuf, String> {
    let home = dir.join("venv");
    let python = home.join("bin/python3");
    let run = |command: &mut Command, what: &str| match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{what}: {}", said.trim().lines().last().unwrap_or("it failed")))
        }
        Err(error) => Err(format!("{what}: {error}")),
    };
    if !python.is_file() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&home), "python3 -m venv")?;
    }
    let install = ["-m", "pip", "install", "--quiet", "fio-plot", "pandas", "duckdb"];
    run(Command::new(&python).args(install), "pip install")?;
    Ok(python)
}

/// The reader with its version and the values it read, or the reason for skipping it.
fn read(
    python: &Result<PathBuf, String>,
    dir: &Path,
    args: &[&str],
) -> Result<Result<(String, Values), String>> {
    let python = match python {
        Ok(python) => python,
        Err(why) => return Ok(Err(why.clone())),
    };
    let script = dir.join("read.py");
    fs::write(&script, SCRIPT)
        .with_context(|| format!("{}: cannot be written", script.display()))?;
    let output = Command::new(python).arg(&script).args(args).current_dir(dir).output();
    let output = done(output.context("python3 cannot be started")?, args[0])?;
    let said = String::from_utf8_lossy(&output.stdout);
    // fio-plot says first what it has done.
    let line = said.lines().last().unwrap_or_default();
    let at = line.find("{\"version\"").unwrap_or(0);
    let found: Value =
        serde_json::from_str(&line[at..]).with_context(|| format!("{}: {said}", args[0]))?;
    let value = |pair: &Value| Ok((text(pair, "/0")?.to_owned(), number(pair, "/1")?));
    let values = found["values"].as_array().context("no values")?.iter().map(value);
    Ok(Ok((text(&found, "/version")?.to_owned(), values.collect::<Result<_>>()?)))
}

fn done(output: Output, what: &str) -> Result<Output> {
    match output.status.code() {
        Some(0 | 1) if !output.stdout.is_empty() || output.status.success() => Ok(output),
        _ => bail!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim()),
    }
}

fn csv(rows: &[Row]) -> String {
    let mut text = "reader,what,values,farthest,at_most,skipped\n".to_owned();
    for row in rows {
        let (count, off, why) = match &row.found {
            Ok((count, off)) => (count.to_string(), off.to_string(), String::new()),
            Err(why) => (String::new(), String::new(), why.replace('"', "'")),
        };
        let _ =
            writeln!(text, "{},\"{}\",{count},{off},{},\"{why}\"", row.reader, row.what, row.most);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(all: &[(&str, f64)]) -> Values {
        all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    // Breaks when a reader that adds up six runs, or misses a value, passes.
    #[test]
    fn what_is_read_otherwise_is_found() {
        let ours = values(&[("depth 1", 100.0), ("depth 2", 200.0)]);
        let read = |one, two| Ok(("1".to_owned(), values(&[("depth 1", one), ("depth 2", two)])));
        assert!(row("fio-plot", "", read(100.5, 200.0), &ours, 0.01).unwrap().is_right());
        assert!(!row("fio-plot", "", read(600.0, 1200.0), &ours, 0.01).unwrap().is_right());
        let one = Ok(("1".to_owned(), values(&[("depth 1", 100.0)])));
        assert!(row("fio-plot", "", one, &ours, 0.01).is_err());
        let skipped = row("fio-plot", "", Err("no network".to_owned()), &ours, 0.01).unwrap();
        assert!(skipped.is_right() && skipped.words()[1] == "skipped: no network");
    }
}
