//! Lets drivescope work on a filesystem, and marks what it promises.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::promise::Promise;

/// How often a journal is looked at while a run is made.
const LOOK: Duration = Duration::from_micros(500);
/// Exit code of a run that was interrupted.
const INTERRUPTED: i32 = 130;

/// The directory of runs on the filesystem.
pub const RUNS: &str = "runs";
/// The directory of other files on it: archives, samples, traces.
pub const FILES: &str = "files";
/// The directory on it that is measured.
pub const MEASURED: &str = "measured";

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// One of each.
    Few,
    /// Three of each that differ.
    Full,
}

/// Runs drivescope on a filesystem.
pub struct Author<'a> {
    /// The program.
    pub program: &'a Path,
    /// Mount point of the filesystem.
    pub dir: &'a Path,
    /// Working directory, which receives its output: not on that filesystem.
    pub work: &'a Path,
    /// Called with each promise at once.
    pub say: &'a dyn Fn(&Promise),
}

/// Interruption planned for a watched run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Left,
    /// This signal, as soon as its journal has this many lines.
    Signalled(Signal, u32),
}

/// How a watched run ended.
struct Ended {
    status: ExitStatus,
    /// Its standard output.
    printed: String,
}

impl Author<'_> {
    /// Does all of it; returns the body of each run's document by the run's name, of those on virtual drives.
    ///
    /// # Errors
    /// When drivescope fails at anything.
    pub fn work(&self, scale: Scale) -> Result<BTreeMap<String, Value>> {
        for dir in [FILES, MEASURED] {
            fs::create_dir(self.dir.join(dir))?;
        }
        let rounds = if scale == Scale::Full { 3 } else { 1 };
        for round in 0..rounds {
            self.round(round).with_context(|| format!("round {round}"))?;
        }
        self.bodies()
    }

    fn round(&self, round: u32) -> Result<()> {
        let seed = |n: u32| (round * 10 + n).to_string();
        let plain = self.finish(&self.mark("sim:hdd-7200", 3, &seed(1)), Fate::Left)?;
        let samples = self.dir.join(FILES).join(format!("samples-{round}.csv"));
        let mut more = self.mark("sim:sata-a", 2, &seed(2));
        more.extend(["--keep-samples", "parquet", "--samples"].map(str::to_owned));
        more.push(samples.to_string_lossy().into_owned());
        let sampled = self.finish(&more, Fate::Left)?;
        self.written(&samples)?;
        self.interrupt_and_resume(&seed(3), Signal::INT)?;
        self.interrupt_and_resume(&seed(4), Signal::KILL)?;
        self.measure_here(&seed(5))?;
        self.move_out_and_in(round, &plain, &sampled)?;
        self.trace(round)?;
        self.plain(&["runs", "reindex", "--json"]).map(drop)
    }

    fn mark(&self, target: &str, runs: u32, seed: &str) -> Vec<String> {
        let runs = runs.to_string();
        ["mark", target, "--tests", "SEQ64KQ1T1,RND4KQ4T1", "--runs", &runs, "--size", "256MiB"]
            .into_iter()
            .chain(["--seed", seed, "--duration", "50ms", "--warm-up", "10ms", "--pause", "1ms"])
            .chain(["--json", "--no-progress"])
            .map(str::to_owned)
            .collect()
    }

    /// A run is stopped after some steps, and resumed.
    fn interrupt_and_resume(&self, seed: &str, signal: Signal) -> Result<()> {
        let known = self.runs()?;
        let arguments = self.mark("sim:hdd-7200", 6, seed);
        let ended = self.watch(&arguments, Fate::Signalled(signal, 4))?;
        let new: Vec<String> = self.runs()?.difference(&known).cloned().collect();
        let [run] = new.as_slice() else { bail!("{new:?}: are not one run more") };
        if ended.status.code() == Some(INTERRUPTED) {
            // It has said so, and how to go on.
            self.say_lines(run, self.lines(run)?)?;
        }
        let resume = ["run", "--resume", run, "--json", "--no-progress"].map(str::to_owned);
        self.finish(&resume, Fate::Left).map(drop)
    }

    /// A directory of this filesystem is measured: its test file is what a cut leaves behind.
    fn measure_here(&self, seed: &str) -> Result<()> {
        let dir = self.dir.join(MEASURED);
        let mut arguments = self.mark(&dir.to_string_lossy(), 1, seed);
        let size = arguments.iter_mut().find(|word| *word == "256MiB");
        *size.context("--size")? = "2MiB".to_owned();
        self.finish(&arguments, Fate::Left).map(drop)
    }

    /// Two runs are exported, one of them removed and taken in again.
    fn move_out_and_in(&self, round: u32, first: &str, second: &str) -> Result<()> {
        let archive = self.dir.join(FILES).join(format!("runs-{round}.tar.gz"));
        let name = archive.to_string_lossy();
        self.plain(&["runs", "export", first, second, "--output", &name, "--json"])?;
        self.written(&archive)?;
        (self.say)(&Promise::Open { run: first.to_owned() });
        self.plain(&["runs", "rm", first, "--yes", "--json"])?;
        (self.say)(&Promise::Removed { run: first.to_owned() });
        (self.say)(&Promise::Open { run: first.to_owned() });
        let imported = self.plain(&["runs", "import", &name, "--json"])?;
        ensure!(imported["body"]["added"][0] == first, "{first} was not imported: {imported}");
        self.say_finished(first)
    }

    /// A trace is taken into a file of our own, and written in the form of another program.
    fn trace(&self, round: u32) -> Result<()> {
        let source = self.work.join("trace.log");
        let line =
            |n: u64| format!("{n} sda {} {} 4096\n", ["read", "write"][n as usize % 2], n * 8192);
        let lines: String = (0..400).map(line).collect();
        fs::write(&source, format!("fio version 3 iolog\n0 sda add\n1 sda open\n{lines}"))?;
        let ours = self.dir.join(FILES).join(format!("trace-{round}.parquet"));
        let theirs = self.dir.join(FILES).join(format!("trace-{round}.csv"));
        let [from, kept, to] = [&source, &ours, &theirs].map(|path| path.to_string_lossy());
        self.plain(&["trace", "import", &from, "--output", &kept, "--json"])?;
        self.written(&ours)?;
        self.plain(&["trace", "export", &kept, "--to", "msr", "--output", &to, "--json"])?;
        self.written(&theirs)
    }

    /// Makes a run to its end, and promises all of it; returns its name.
    fn finish(&self, arguments: &[String], fate: Fate) -> Result<String> {
        let ended = self.watch(arguments, fate)?;
        let command = arguments.join(" ");
        ensure!(matches!(ended.status.code(), Some(0 | 1)), "{command}: {}", ended.status);
        let document: Value = serde_json::from_str(&ended.printed).context(command.clone())?;
        let run = document["envelope"]["run_id"].as_str().context(command)?;
        self.say_finished(run)?;
        Ok(run.to_owned())
    }

    fn say_finished(&self, run: &str) -> Result<()> {
        let document = fs::read(self.run(run).join("document.json")).context("document.json")?;
        (self.say)(&Promise::Finished { run: run.to_owned(), sha256: hex(&document) });
        Ok(())
    }

    /// A file that the program has ended well with.
    fn written(&self, path: &Path) -> Result<()> {
        let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
        let sha256 = hex(&fs::read(path).with_context(|| name.clone())?);
        (self.say)(&Promise::File { name, sha256 });
        Ok(())
    }

    fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(self.program);
        command.args(arguments).env("DRIVESCOPE_RUNS_DIR", self.dir.join(RUNS));
        command.stdin(Stdio::null()).current_dir(self.work);
        command
    }

    /// Runs it to its good end, and returns what it printed.
    fn plain(&self, arguments: &[&str]) -> Result<Value> {
        let words: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let output = self.command(&words).output().context("drivescope cannot be started")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {}", words.join(" "), said.trim());
        serde_json::from_slice(&output.stdout).with_context(|| words.join(" "))
    }

    /// Makes a run, and promises a line of its journal when the next one is there: a step is begun when the
    /// one before it is on disk, and not earlier.
    fn watch(&self, arguments: &[String], fate: Fate) -> Result<Ended> {
        let known = self.finished()?;
        let (out, said) = (self.work.join("stdout"), self.work.join("stderr"));
        let mut command = self.command(arguments);
        command.stdout(File::create(&out)?).stderr(File::create(&said)?);
        let mut child = Running(command.spawn().context("drivescope cannot be started")?);
        let mut promised = BTreeMap::new();
        let mut is_signalled = false;
        let status = loop {
            if let Some(status) = child.0.try_wait()? {
                break status;
            }
            for run in self.runs()?.difference(&known) {
                let lines = self.lines(run).unwrap_or(0);
                let before = promised.insert(run.clone(), lines).unwrap_or(0);
                if lines > before.max(1) {
                    self.say_lines(run, lines - 1)?;
                }
                if let Fate::Signalled(signal, at) = fate
                    && lines >= at
                    && !is_signalled
                {
                    kill_process(Pid::from_child(&child.0), signal)?;
                    is_signalled = true;
                }
            }
            sleep(LOOK);
        };
        if !matches!(status.code(), None | Some(0 | 1 | INTERRUPTED)) {
            bail!("{}: {}", arguments.join(" "), fs::read_to_string(&said)?.trim());
        }
        Ok(Ended { status, printed: fs::read_to_string(&out)? })
    }

    /// Promises the first lines of a journal.
    fn say_lines(&self, run: &str, lines: u32) -> Result<()> {
        let journal = fs::read(self.run(run).join("journal.jsonl")).context("journal")?;
        let ends = journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let Some((end, _)) = ends.take(lines as usize).last() else { return Ok(()) };
        let (bytes, sha256) = (end as u64 + 1, hex(&journal[..=end]));
        (self.say)(&Promise::Steps { run: run.to_owned(), lines, bytes, sha256 });
        Ok(())
    }

    /// Whole lines of a journal.
    fn lines(&self, run: &str) -> Result<u32> {
        let journal = fs::read(self.run(run).join("journal.jsonl"))?;
        Ok(journal.iter().filter(|byte| **byte == b'\n').count() as u32)
    }

    fn run(&self, run: &str) -> PathBuf {
        self.dir.join(RUNS).join(run)
    }

    fn runs(&self) -> Result<BTreeSet<String>> {
        let dir = self.dir.join(RUNS);
        if !dir.exists() {
            return Ok(BTreeSet::new());
        }
        let mut runs = BTreeSet::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') && entry.file_type()?.is_dir() {
                runs.insert(name);
            }
        }
        Ok(runs)
    }

    /// Runs that have ended well.
    fn finished(&self) -> Result<BTreeSet<String>> {
        let mut runs = self.runs()?;
        runs.retain(|run| {
            let end = fs::read(self.run(run).join("end.json")).unwrap_or_default();
            let end: Value = serde_json::from_slice(&end).unwrap_or_default();
            end["state"] == "finished"
        });
        Ok(runs)
    }

    fn bodies(&self) -> Result<BTreeMap<String, Value>> {
        let mut bodies = BTreeMap::new();
        for run in self.runs()? {
            let text = fs::read(self.run(&run).join("document.json")).context(run.clone())?;
            let mut document: Value = serde_json::from_slice(&text)?;
            let arguments = &document["envelope"]["arguments"];
            let is_virtual = arguments[1].as_str().is_some_and(|word| word.starts_with("sim:"));
            if is_virtual {
                bodies.insert(run, document["body"].take());
            }
        }
        Ok(bodies)
    }
}

/// A child that does not outlive this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Without effect on one that has been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The SHA-256 of `bytes`, in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
