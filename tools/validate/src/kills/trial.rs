//! One kill, and what comes of it.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

use super::life::{Class, Life, Moment};
use super::{AGAIN, STEPS, Target, below, body_text, drivescope};
use crate::binary::Binary;

/// The binary and the directories of the trials.
#[derive(Clone, Debug)]
pub(super) struct Bench {
    pub(super) binary: Binary,
    /// The directory that is measured.
    pub(super) dir: PathBuf,
    /// The runs directory.
    pub(super) runs: PathBuf,
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// Killed before it was recorded: `--resume` says that there is no run.
    NoRun,
    /// Killed when all of it was recorded, before its end: `--resume` says that it is finished.
    Finished,
    /// Went on to the end.
    Resumed,
    /// Was killed again while it went on, and went on to the end after that.
    ResumedTwice,
}

impl Outcome {
    pub(super) const ALL: [Outcome; 4] =
        [Outcome::NoRun, Outcome::Finished, Outcome::Resumed, Outcome::ResumedTwice];

    pub(super) fn word(self) -> &'static str {
        match self {
            Outcome::NoRun => "no run yet, and said so",
            Outcome::Finished => "finished already, and said so",
            Outcome::Resumed => "resumed to the end",
            Outcome::ResumedTwice => "killed again, then resumed to the end",
        }
    }
}

/// One kill.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) target: Target,
    pub(super) class: Class,
    pub(super) moment: Moment,
    /// Milliseconds from exec to the kill.
    pub(super) at_ms: f64,
    /// Steps in the journal then, and after a second kill.
    pub(super) steps: (usize, usize),
    pub(super) outcome: Outcome,
    /// The fault, if there was one.
    pub(super) fault: Option<String>,
}

impl Trial {
    pub(super) const HEAD: &str =
        "target,class,moment,at_ms,steps_at_kill,steps_at_resume,outcome,fault";

    /// As a line of the raw figures.
    pub(super) fn line(&self) -> String {
        let Trial { target, class, moment, at_ms, steps, outcome, fault } = self;
        let fault = fault.clone().unwrap_or_default().replace([',', '\n'], ";");
        format!(
            "{},{},{moment},{at_ms:.3},{},{},{outcome:?},{fault}",
            target.word(),
            class.word(),
            steps.0,
            steps.1
        )
    }
}

/// Result of a check: an error is a fault of drivescope, not of this validation.
type Checked = Result<(), String>;

fn holds(is_so: bool, what: impl FnOnce() -> String) -> Checked {
    if is_so { Ok(()) } else { Err(what()) }
}

impl Bench {
    /// Makes it in `work`, empty.
    pub(super) fn new(work: &Path, binary: Binary) -> Result<Bench> {
        let work = fs::canonicalize(work)?.join(format!("kills-{}", std::process::id()));
        let bench = Bench { binary, dir: work.join("measured"), runs: work.join("runs") };
        bench.clear()?;
        Ok(bench)
    }

    /// Takes away what the last run left.
    pub(super) fn clear(&self) -> Result<()> {
        for dir in [&self.dir, &self.runs] {
            if dir.exists() {
                fs::remove_dir_all(dir).with_context(|| dir.display().to_string())?;
            }
            fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
        }
        Ok(())
    }

    /// The directory of the only run, when it is there.
    pub(super) fn run(&self) -> Result<Option<PathBuf>> {
        let entries = fs::read_dir(&self.runs)?.collect::<std::io::Result<Vec<_>>>()?;
        let shown = |name: &std::ffi::OsStr| !name.to_string_lossy().starts_with('.');
        let mut found = entries.iter().filter(|e| shown(&e.file_name())).map(|e| e.path());
        Ok(found.find(|path| path.is_dir()))
    }

    fn resume(&self, run: &str) -> std::process::Command {
        let arguments = ["run", "--resume", run, "--json", "--no-progress"];
        drivescope(self, &arguments.map(str::to_owned))
    }

    /// Kills `command` at `moment`; returns how long it lived, in milliseconds, or nothing when it had
    /// ended by itself before.
    fn kill(&self, mut command: std::process::Command, moment: Moment) -> Result<Option<f64>> {
        let began = Instant::now();
        // The output of a killed process is not read; a pipe that is not read would hold it up.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start drivescope")?;
        moment.wait(self, &mut child, began)?;
        child.kill()?;
        let at_ms = began.elapsed().as_secs_f64() * 1e3;
        let status = child.wait()?;
        Ok(status.signal().map(|_| at_ms))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(work) = self.runs.parent() {
            // If this fails, the files stay in a scratch directory.
            let _ = fs::remove_dir_all(work);
        }
    }
}

/// Kills a run, resumes it, and holds what is there against what was.
pub(super) fn make(
    bench: &Bench,
    target: Target,
    arguments: &[String],
    life: &Life,
    reference: &str,
    dice: &mut Xoshiro256PlusPlus,
) -> Result<Trial> {
    let class = Class::draw(dice);
    let (moment, at_ms) = loop {
        bench.clear()?;
        let moment = life.draw(class, dice);
        // A process that had ended before its moment was not killed: another moment of its class is drawn.
        if let Some(at_ms) = bench.kill(drivescope(bench, arguments), moment)? {
            break (moment, at_ms);
        }
    };
    let again = (below(dice, AGAIN) == 0).then(|| life.draw(Class::draw(dice), dice));
    let mut trial = Trial {
        target,
        class,
        moment,
        at_ms,
        steps: (0, 0),
        outcome: Outcome::Resumed,
        fault: None,
    };
    trial.fault = go_on(bench, again, reference, &mut trial)?.err();
    Ok(trial)
}

/// Resumes what was killed; outer errors are of this validation, inner ones of drivescope.
fn go_on(
    bench: &Bench,
    again: Option<Moment>,
    reference: &str,
    trial: &mut Trial,
) -> Result<Checked> {
    let Some(run) = bench.run()? else {
        trial.outcome = Outcome::NoRun;
        return Ok(refuses(&bench.resume("last").output()?, "holds no runs"));
    };
    let before = match steps(&run) {
        Ok(steps) => steps,
        Err(fault) => return Ok(Err(fault)),
    };
    trial.steps = (before.len(), before.len());
    let is_finished = || run.join("end.json").exists();
    if is_finished() {
        trial.outcome = Outcome::Finished;
        return Ok(refuses(&bench.resume("last").output()?, "is finished")
            .and_then(|()| whole(&run, None, &before, trial.target, reference)));
    }
    let mut kept = before.clone();
    if let Some(moment) = again {
        if bench.kill(bench.resume("last"), moment)?.is_some() {
            trial.outcome = Outcome::ResumedTwice;
        }
        kept = match steps(&run) {
            Ok(steps) => steps,
            Err(fault) => return Ok(Err(fault)),
        };
        trial.steps.1 = kept.len();
        if !kept.starts_with(&before) {
            return Ok(Err("a second kill changed steps that were finished".to_owned()));
        }
        if is_finished() {
            return Ok(whole(&run, None, &before, trial.target, reference));
        }
    }
    let output = bench.resume("last").output()?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Ok(Err(format!("--resume ended with {}: {said}", output.status)));
    }
    let left = fs::read_dir(&bench.dir)?.count();
    Ok(holds(left == 0, || "the test file of the killed process stayed".to_owned())
        .and_then(|()| whole(&run, Some(&output), &kept, trial.target, reference)))
}

/// An error that says why, and no result.
fn refuses(output: &Output, why: &str) -> Checked {
    let said = String::from_utf8_lossy(&output.stderr);
    let is_so = output.status.code() == Some(2) && output.stdout.is_empty() && said.contains(why);
    holds(is_so, || format!("--resume ended with {}: {}", output.status, said.trim()))
}

/// The finished steps of a journal: whole lines, numbered without a gap.
fn steps(run: &Path) -> Result<Vec<Value>, String> {
    let text = fs::read(run.join("journal.jsonl")).map_err(|e| format!("journal: {e}"))?;
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut steps = Vec::new();
    for (number, line) in text[..end].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let mut line: Value =
            serde_json::from_slice(line).map_err(|e| format!("journal, line {number}: {e}"))?;
        holds(line["entry"]["seq"] == number, || format!("journal, line {number}: out of order"))?;
        let step = line["entry"]["step"].take();
        steps.extend((!step.is_null()).then_some(step));
    }
    Ok(steps)
}

/// Holds a finished run against what was finished before it went on, and against the reference.
fn whole(
    run: &Path,
    printed: Option<&Output>,
    before: &[Value],
    target: Target,
    reference: &str,
) -> Checked {
    let after = steps(run)?;
    holds(after.starts_with(before), || "steps that were finished were changed".to_owned())?;
    let positions = after.iter().map(|step| step["position"].as_u64());
    holds(positions.eq((0..STEPS).map(Some)), || "not every step is there once".to_owned())?;
    let read =
        |name: &str| fs::read_to_string(run.join(name)).map_err(|error| format!("{name}: {error}"));
    let document = read("document.json")?;
    if let Some(output) = printed {
        let same = output.stdout == document.as_bytes();
        holds(same, || "the document is not what was printed".to_owned())?;
    }
    let body = |text| body_text(text).map_err(|error| error.to_string()).map(str::to_owned);
    let parsed: Value = serde_json::from_str(&document).map_err(|error| error.to_string())?;
    match target {
        Target::Virtual => {
            let same = body(&document)? == body(reference)?;
            holds(same, || "the body is not that of the run that was not killed".to_owned())?;
        }
        Target::Directory => {
            let caveats = parsed["body"]["caveats"].as_array().cloned().unwrap_or_default();
            let is_told = caveats.iter().any(|caveat| caveat["code"] == "resumed");
            let was_resumed = printed.is_some() && !before.is_empty();
            holds(is_told || !was_resumed, || "the caveat of a resumed run is missing".to_owned())?;
        }
    }
    let sums = std::process::Command::new("sha256sum")
        .args(["--check", "--strict", "--status", "SHA256SUMS"])
        .current_dir(run)
        .status()
        .map_err(|error| format!("sha256sum: {error}"))?;
    holds(sums.success(), || "a file has not its checksum".to_owned())
}
