//! Comparison of the state after a cut with the promises made before it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::author::{FILES, MEASURED, RUNS, hex};
use crate::promise::{Beginning, Standing};

/// Findings after a cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Promises that were looked at.
    pub promises: u64,
    /// Those that do not hold, in words.
    pub losses: Vec<String>,
    /// Other faults: a verb that fails, a run that cannot be read or resumed, a file that neither belongs to
    /// the run nor is offered for removal.
    pub faults: Vec<String>,
    /// Runs that were shown as begun and not finished.
    pub unfinished: u32,
    /// Those of them that went on to their end.
    pub resumed: u32,
    /// Test files of the program that the cut left, and that it offered to remove.
    pub offered: u32,
}

/// Looks at filesystems after cuts.
pub struct Checker<'a> {
    /// The program.
    pub program: &'a Path,
    /// A directory elsewhere, for it to work in.
    pub work: &'a Path,
    /// Bodies of the documents of runs on virtual drives, made without a cut.
    pub bodies: &'a BTreeMap<String, Value>,
}

/// Outcome of one call of the program.
struct Called {
    code: Option<i32>,
    printed: Value,
    said: String,
}

impl Checker<'_> {
    /// Looks at the filesystem that is mounted on `dir`.
    ///
    /// # Errors
    /// When it cannot be looked at: what the program does wrong is in the verdict.
    pub fn check(&self, dir: &Path, standing: &Standing) -> Result<Verdict> {
        let mut verdict = Verdict { promises: standing.count(), ..Verdict::default() };
        let look = Look { checker: self, dir, standing };
        look.runs(&mut verdict)?;
        look.files(&mut verdict);
        look.goes_on(&mut verdict)?;
        look.leftovers(&mut verdict)?;
        Ok(verdict)
    }
}

/// One look.
struct Look<'a> {
    checker: &'a Checker<'a>,
    dir: &'a Path,
    standing: &'a Standing,
}

impl Look<'_> {
    /// Everything that was promised of runs, and that each of them can be read.
    fn runs(&self, verdict: &mut Verdict) -> Result<()> {
        let listed = self.call(&["runs", "list", "--json"])?;
        listed.ends(&[0], "runs list", verdict);
        let body = &listed.printed["body"];
        for entry in body["unreadable"].as_array().into_iter().flatten() {
            verdict.faults.push(format!("cannot be read: {entry}"));
        }
        let mut states = BTreeMap::new();
        for row in body["runs"].as_array().into_iter().flatten() {
            let [id, state] = ["id", "state"].map(|name| row[name].as_str().unwrap_or_default());
            states.insert(id, state);
            self.shown(id, state, verdict)?;
        }
        let Standing { finished, steps, removed, .. } = self.standing;
        for (run, sum) in finished {
            if states.get(run.as_str()) != Some(&"finished") {
                verdict
                    .losses
                    .push(format!("{run}: finished, and is {:?}", states.get(run.as_str())));
            }
            expect_sum(&self.run(run).join("document.json"), sum, &mut verdict.losses);
        }
        for (run, beginning) in steps {
            self.begins(run, beginning, &mut verdict.losses);
        }
        for run in removed.iter().filter(|run| states.contains_key(run.as_str())) {
            verdict.losses.push(format!("{run}: was removed, and is there"));
        }
        Ok(())
    }

    /// A run that is listed is shown, and its files are those that were recorded.
    fn shown(&self, run: &str, state: &str, verdict: &mut Verdict) -> Result<()> {
        let shown = self.call(&["runs", "show", run, "--json"])?;
        shown.ends(&[0], &format!("runs show {run}"), verdict);
        let record = &shown.printed["record"];
        let integrity = if state == "running" { "unsealed" } else { "as_recorded" };
        let is_whole = record["state"] == state && record["integrity"] == integrity;
        if !is_whole || record["live"] != false {
            verdict.faults.push(format!("{run}: is listed as {state}, and shown as {record}"));
        }
        if state != "finished" {
            verdict.unfinished += 1;
        }
        Ok(())
    }

    /// The journal begins as it was promised, and the program counts its steps.
    fn begins(&self, run: &str, beginning: &Beginning, losses: &mut Vec<String>) {
        let journal = fs::read(self.run(run).join("journal.jsonl")).unwrap_or_default();
        let promised = journal.get(..beginning.bytes as usize);
        if promised.map(hex).as_ref() != Some(&beginning.sha256) {
            let (lines, bytes) = (beginning.lines, journal.len());
            losses.push(format!("{run}: {lines} lines were saved; its journal has {bytes} bytes"));
        }
    }

    fn files(&self, verdict: &mut Verdict) {
        for (name, sum) in &self.standing.files {
            expect_sum(&self.dir.join(FILES).join(name), sum, &mut verdict.losses);
        }
    }

    /// Resumes the unfinished runs, makes a new one, and looks for leftovers of interrupted work.
    fn goes_on(&self, verdict: &mut Verdict) -> Result<()> {
        let listed = self.call(&["runs", "list", "--json"])?;
        for row in listed.printed["body"]["runs"].as_array().into_iter().flatten() {
            let [run, target] = ["id", "target"].map(|name| row[name].as_str().unwrap_or_default());
            // A run on a real drive would now continue on a different one.
            if target.starts_with("sim:") && row["state"] != "finished" {
                self.resumes(run, verdict)?;
            }
        }
        let new = ["mark", "sim:hdd-7200", "--tests", "RND4KQ1T1", "--runs", "1", "--size", "1MiB"];
        let short = ["--duration", "1ms", "--warm-up", "1ms", "--pause", "1ms", "--seed", "9"];
        let made = [&new[..], &short, &["--json", "--no-progress"]].concat();
        self.call(&made)?.ends(&[0, 1], "a new run", verdict);
        self.call(&["runs", "reindex", "--json"])?.ends(&[0], "runs reindex", verdict);
        // The commands above must have removed everything half made or half removed.
        for entry in fs::read_dir(self.dir.join(RUNS))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.starts_with(".new") || name.starts_with(".removed") {
                verdict.faults.push(format!("{name} stays"));
            }
        }
        Ok(())
    }

    /// Resumes a run to its end, and compares its body with that of a run without the cut, where that is
    /// known.
    fn resumes(&self, run: &str, verdict: &mut Verdict) -> Result<()> {
        let ended = self.call(&["run", "--resume", run, "--json", "--no-progress"])?;
        if ended.ends(&[0, 1], &format!("--resume {run}"), verdict) {
            verdict.resumed += 1;
            let body = self.checker.bodies.get(run);
            if body.is_some_and(|body| ended.printed["body"] != *body) {
                verdict.faults.push(format!("{run}: resumed, its body is another one"));
            }
        }
        Ok(())
    }

    /// Leftover test files have to be reported, and removed on request.
    fn leftovers(&self, verdict: &mut Verdict) -> Result<()> {
        let dir = self.dir.join(MEASURED);
        let left = scratch_files(&dir);
        if left.is_empty() {
            return Ok(());
        }
        let name = dir.to_string_lossy();
        let mark = ["mark", &name, "--tests", "RND4KQ1T1", "--runs", "1", "--size", "1MiB"];
        let short = ["--duration", "1ms", "--warm-up", "1ms", "--pause", "1ms", "--no-record"];
        let asked = [&mark[..], &short, &["--json", "--no-progress"]].concat();
        let told = self.call(&asked)?;
        told.ends(&[0, 1], "a mark beside a test file", verdict);
        let removing = self.call(&[&asked[..], &["--remove-leftovers"]].concat())?;
        removing.ends(&[0, 1], "--remove-leftovers", verdict);
        for file in &left {
            if told.said.contains(file.as_str()) && told.said.contains("--remove-leftovers") {
                verdict.offered += 1;
            } else {
                verdict.faults.push(format!("{file}: is not offered for removal: {}", told.said));
            }
        }
        let stays = scratch_files(&dir);
        if !stays.is_empty() {
            verdict.faults.push(format!("{stays:?} stay, and were to be removed"));
        }
        Ok(())
    }

    fn run(&self, run: &str) -> std::path::PathBuf {
        self.dir.join(RUNS).join(run)
    }

    fn call(&self, arguments: &[&str]) -> Result<Called> {
        let output = Command::new(self.checker.program)
            .args(arguments)
            .env("DRIVESCOPE_RUNS_DIR", self.dir.join(RUNS))
            .current_dir(self.checker.work)
            .stdin(Stdio::null())
            .output()
            .context("drivescope cannot be started")?;
        Ok(Called {
            code: output.status.code(),
            printed: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }
}

impl Called {
    /// True when it ended with one of `codes`; else that is a fault.
    fn ends(&self, codes: &[i32], what: &str, verdict: &mut Verdict) -> bool {
        let is_so = self.code.is_some_and(|code| codes.contains(&code)) && !self.printed.is_null();
        if !is_so {
            verdict.faults.push(format!("{what}: exit code {:?}: {}", self.code, self.said));
        }
        is_so
    }
}

/// Adds a loss unless `path` is a file with this sum.
fn expect_sum(path: &Path, sum: &str, losses: &mut Vec<String>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match fs::read(path) {
        Ok(bytes) if hex(&bytes) == sum => {}
        Ok(bytes) => losses.push(format!("{name}: has {} other bytes", bytes.len())),
        Err(error) => losses.push(format!("{name}: {error}")),
    }
}

/// Names of test files in `dir`.
fn scratch_files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".drivescope-") && name.ends_with(".scratch")).collect()
}
