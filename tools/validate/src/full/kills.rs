//! Runs of `probe capacity --full` that are killed, and resumed to the same answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;
use serde_json::Value;

use crate::binary::Binary;
use crate::loop_device::LoopDevice;
use crate::serve::server::Server;

/// A fast fake, so that its life is a second or two.
const FAKE: &str = "optane?capacity=512MiB&faults.real_capacity_bytes=335544320&faults.beyond=lose";

/// A run that was killed.
#[derive(Clone, Debug)]
pub struct Kill {
    pub at_us: u64,
    /// Parts that it had recorded.
    pub parts: usize,
    /// When resumed it gave the answer of an undisturbed run.
    pub is_same: bool,
}

struct Bench<'a> {
    binary: &'a Binary,
    device: LoopDevice,
    runs: PathBuf,
}

/// Values that have to be equal.
#[derive(Debug, PartialEq)]
struct Answer([Value; 5]);

impl Answer {
    fn of(document: &[u8]) -> Result<Answer> {
        let document: Value = serde_json::from_slice(document).context("no JSON")?;
        let body = &document["body"];
        let full = &body["evidence"]["full"];
        let names = ["bad_bytes", "bad", "verified_bytes"].map(|name| full[name].clone());
        let [bytes, bad, verified] = names;
        let finding = &body["findings"][0];
        Ok(Answer([finding["verdict"].clone(), finding["value"].clone(), bytes, bad, verified]))
    }
}

/// Kills `kills` runs.
///
/// # Errors
/// When drivescope cannot be run, or an undisturbed run does not find the fake.
pub fn run(
    work: &Path,
    binary: &Binary,
    kills: u32,
    dice: &mut Xoshiro256PlusPlus,
) -> Result<Vec<Kill>> {
    let server = Server::start(binary, FAKE)?;
    let device = LoopDevice::attach_writable(server.file())?;
    let bench = Bench { binary, device, runs: work.join("runs") };
    let began = Instant::now();
    let output = bench.begin()?.output().context("cannot start drivescope")?;
    let life = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    let undisturbed = Answer::of(&output.stdout)?;
    if undisturbed.0[1] != 335_544_320 {
        bail!("a run that nobody disturbed says {undisturbed:?}");
    }
    eprintln!("a run takes {} ms, then come the kills", life / 1000);
    let mut done = Vec::new();
    while done.len() < kills as usize {
        let at_us = dice.next_u64() % life;
        let mut child = bench.begin()?.stdout(Stdio::null()).spawn()?;
        sleep(Duration::from_micros(at_us));
        child.kill()?;
        let is_over = child.wait()?.code().is_some();
        // Killed before it had a record, it left nothing to resume, and nothing was written.
        let Some(parts) = bench.parts().filter(|_| !is_over) else { continue };
        let output = bench.resume().output().context("cannot start drivescope")?;
        let is_same = Answer::of(&output.stdout).is_ok_and(|answer| answer == undisturbed);
        if !is_same {
            eprintln!("{at_us} us: {}", String::from_utf8_lossy(&output.stderr));
        }
        done.push(Kill { at_us, parts, is_same });
    }
    drop(bench);
    server.stop()?;
    Ok(done)
}

impl Bench<'_> {
    fn drivescope(&self, words: &[&str]) -> Command {
        let device = self.device.path().to_string_lossy().into_owned();
        let word = device.trim_start_matches("/dev/").to_owned();
        let mut command = self.binary.command();
        command.args(["probe", "capacity", &device]).args(words);
        command.args(["--write", "--consent", &word, "--json", "--no-progress"]);
        command.env("DRIVESCOPE_RUNS_DIR", &self.runs).stdin(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// A run that is the only one with a record.
    fn begin(&self) -> Result<Command> {
        if self.runs.exists() {
            fs::remove_dir_all(&self.runs)?;
        }
        let mut command = self.drivescope(&["--full"]);
        command.stderr(Stdio::null());
        Ok(command)
    }

    fn resume(&self) -> Command {
        self.drivescope(&["--resume", "last"])
    }

    /// Parts that the run has recorded; `None` where there is no record that can be resumed.
    fn parts(&self) -> Option<usize> {
        // The directory of a run that is still being made begins with a dot.
        let is_run = |entry: &fs::DirEntry| !entry.file_name().as_encoded_bytes().starts_with(b".");
        let runs = fs::read_dir(&self.runs).ok()?.flatten().filter(is_run);
        let journals =
            runs.filter_map(|run| fs::read_to_string(run.path().join("journal.jsonl")).ok());
        journals.map(|text| text.lines().count().saturating_sub(1)).max()
    }
}
