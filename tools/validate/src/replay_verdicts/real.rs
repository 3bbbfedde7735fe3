//! The same cases on a real device: a loop device, which the kernel makes slow, and a replayer, from which it takes
//! CPU.
//!
//! A slow drive is one whose reads the kernel throttles (blkio, cgroup v1) to less than is offered. A starved submitter
//! is one in a group whose CPU has a quota, from its first reads on, of less than half of what it uses for a read. Both
//! are the kernel's own doing, and nothing in the replayer knows of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::trace::container::{self, Existing};
use ::trace::replay::Limit;
use ::trace::{InMemory, Io, Kind, TraceInfo};
use anyhow::{Context as _, Result, bail};
use block::{Bytes, Nanos};
use serde_json::Value;
use workload::rng::Rng;

use crate::binary::{Binary, text};
use crate::loop_device::{LoopOnNewFile, read_trimmed};

/// Size of the device.
const SIZE: Bytes = Bytes::mib(256);

/// How long a case lasts, about.
const SPAN: Nanos = Nanos::secs(3);

/// Period of the quota: so long that the least quota that the kernel takes, 1 ms, is less than is wanted.
const PERIOD_US: u64 = 200_000;

/// CPU for each read that a starved submitter is given, drawn between these. One that sleeps and then spins is awake
/// for 60 µs before each read at the least (`Waiter` in crates/linux), and then has the read to issue.
const STARVED_US: (f64, f64) = (5.0, 30.0);

/// The replay is under way when the device has counted this many of its reads.
const UNDER_WAY: u64 = 20;

/// Directory of the kernel's control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// Why this machine cannot have these cases; `None` when it can.
pub(super) fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("groups and loop devices take root".to_owned());
    }
    let needed =
        ["cpu", "blkio/blkio.throttle.read_iops_device"].map(|name| Path::new(GROUPS).join(name));
    let absent = needed.into_iter().find(|path| !path.exists())?;
    Some(format!("{} is not there: cgroup v1 is needed", absent.display()))
}

/// Resources for all cases.
pub(super) struct Bench {
    binary: Binary,
    device: LoopOnNewFile,
    trace: PathBuf,
}

/// A group of the kernel's that is removed when dropped.
struct Group(PathBuf);

impl Group {
    fn make(controller: &str, settings: &[(&str, String)]) -> Result<Group> {
        let name = format!("drivescope-validate-{}", std::process::id());
        let path = Path::new(GROUPS).join(controller).join(name);
        fs::create_dir(&path).with_context(|| format!("{}: cannot be made", path.display()))?;
        let group = Group(path);
        for (name, value) in settings {
            group.set(name, value)?;
        }
        Ok(group)
    }

    fn set(&self, name: &str, value: &str) -> Result<()> {
        let file = self.0.join(name);
        fs::write(&file, value).with_context(|| format!("{}: {value} is refused", file.display()))
    }

    fn tasks(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.0) {
            eprintln!("warning: {}: cannot be removed: {error}", self.0.display());
        }
    }
}

impl Bench {
    /// Makes the device in `dir`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(dir: &Path) -> Result<Bench> {
        let device = LoopOnNewFile::make(dir, SIZE, &AtomicBool::new(false))?;
        let trace = dir.join(format!("drivescope-validate-{}.parquet", std::process::id()));
        Ok(Bench { binary: Binary::find()?, device, trace })
    }

    /// Judges the case that `seed` draws for `planted`: the verdict, its reason, and the drawn parameters.
    ///
    /// # Errors
    /// Returns an error if it cannot be replayed.
    pub fn judged(&self, seed: u64, planted: Limit) -> Result<(Limit, String, String)> {
        let mut rng = Rng::for_path(seed, &[planted as u64, 0x7265_616c]);
        let per_s = 200.0 * 5_f64.powf(rng.unit());
        let count = (per_s * SPAN.as_secs_f64()) as usize;
        self.save(&mut rng, count, per_s)?;
        let mut quota = None;
        let (group, drawn) = match planted {
            Limit::Faithful => (None, String::new()),
            Limit::DriveLimited => {
                let most = (per_s * (0.3 + 0.4 * rng.unit())) as u64;
                let device = read_trimmed(&self.number_file())?;
                let limit = ("blkio.throttle.read_iops_device", format!("{device} {most}"));
                (Some(Group::make("blkio", &[limit])?), format!("{most} reads/s at most"))
            }
            Limit::ReplayerLimited => {
                let (least, most) = STARVED_US;
                let us = least + (most - least) * rng.unit();
                let amount = (us * per_s * PERIOD_US as f64 / 1e6).max(1_000.0) as u64;
                quota = Some(amount);
                let group = Group::make("cpu", &[("cpu.cfs_period_us", PERIOD_US.to_string())])?;
                (Some(group), format!("{amount} of {PERIOD_US} us of CPU"))
            }
        };
        let body = self.replay(group.as_ref(), quota)?;
        let said = text(&body, "/fidelity/verdict")?;
        let verdicts = [Limit::Faithful, Limit::DriveLimited, Limit::ReplayerLimited];
        let verdict = verdicts.into_iter().find(|v| v.word() == said);
        let verdict = verdict.with_context(|| format!("{said}: is no verdict"))?;
        let reason = text(&body, "/fidelity/reason")?.to_owned();
        Ok((verdict, reason, format!("{per_s:.0} reads/s, {drawn}")))
    }

    fn number_file(&self) -> PathBuf {
        let name = self.device.device.path().file_name().unwrap_or_default();
        Path::new("/sys/block").join(name).join("dev")
    }

    /// Reads at Poisson times all over the device.
    fn save(&self, rng: &mut Rng, count: usize, per_s: f64) -> Result<()> {
        let len = Bytes::kib(4 << rng.below(3));
        let (mut at, blocks) = (0.0, SIZE.0 / len.0);
        let io = |_| {
            let io =
                Io::arriving(Nanos(at as u64), Kind::Read, Bytes(rng.below(blocks) * len.0), len);
            at += rng.exponential() / per_s * 1e9;
            io
        };
        let ios: Vec<Io> = (0..count).map(io).collect();
        let mut source = InMemory::new(TraceInfo::default(), ios);
        container::save(&mut source, &self.trace, Existing::Replace)?;
        Ok(())
    }

    /// Runs the replay, in `group` from its first instruction on; with `quota`, in microseconds, the group's CPU is that
    /// once the replay is under way, so that what it does before is not held up for minutes.
    fn replay(&self, group: Option<&Group>, quota: Option<u64>) -> Result<Value> {
        let own = self.binary.command();
        let mut command = Command::new("sh");
        let join = "test -z \"$1\" || echo $$ > \"$1\"; shift; exec \"$@\"";
        command.args(["-c", join, "sh"]).arg(group.map(Group::tasks).unwrap_or_default());
        command.arg(own.get_program()).args(["trace", "replay"]).arg(&self.trace);
        command.arg(self.device.device.path()).args([
            "--reads-only",
            "--json",
            "--no-progress",
            "--no-record",
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let before = self.device.device.counters()?.reads;
        let mut child = command.spawn().context("cannot start drivescope")?;
        let starved = match group.zip(quota) {
            Some((group, quota)) => self.starve(&mut child, before, group, quota),
            None => Ok(()),
        };
        let output = child.wait_with_output().context("cannot wait for drivescope")?;
        starved?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("trace replay ended with {}: {}", output.status, said.trim());
        }
        let mut document: Value =
            serde_json::from_slice(&output.stdout).context("trace replay printed no JSON")?;
        Ok(document["body"].take())
    }

    /// Gives `group` its quota as soon as the device has seen reads of `child`, after the `before` that it had seen.
    fn starve(&self, child: &mut Child, before: u64, group: &Group, quota: u64) -> Result<()> {
        while self.device.device.counters()?.reads < before + UNDER_WAY {
            if child.try_wait()?.is_some() {
                bail!("the replay was over before it could be starved");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        group.set("cpu.cfs_quota_us", &quota.to_string())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // It may not have been made yet.
        let _ = fs::remove_file(&self.trace);
    }
}
