//! Programs that issue the schedule's reads.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use block::{Bytes, Nanos, Op, Waiting};
use engine::replay::{Feed, FeedError, Planned, Reason, Replayed, Setup, replay};
use linux::environment::RealEnvironment;
use linux::stack;
use linux::sysfs::Roots;
use linux::target::{AnyTarget, OpenOptions, RealTarget};

use super::schedule::Schedule;
use crate::engine::Engine;

/// Time limit of a peer for a schedule of some seconds.
const LIMIT_S: u32 = 60;

/// One of those that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arm {
    /// Ours.
    Drivescope(Waiting),
    /// The few lines of crates/linux/examples/bare_loop.rs.
    Bare(Waiting),
    /// `fio --read_iolog`.
    Fio(Engine),
    /// blktrace's own.
    Btreplay,
}

impl Arm {
    pub const ALL: [Arm; 7] = [
        Arm::Drivescope(Waiting::Spin),
        Arm::Bare(Waiting::Spin),
        Arm::Drivescope(Waiting::SleepThenSpin),
        Arm::Bare(Waiting::SleepThenSpin),
        Arm::Fio(Engine::IoUring),
        Arm::Fio(Engine::Libaio),
        Arm::Btreplay,
    ];

    pub fn name(self) -> String {
        let how = |waiting| match waiting {
            Waiting::Sleep => "sleep",
            Waiting::SleepThenSpin => "sleep then spin",
            Waiting::Spin => "spin",
        };
        match self {
            Arm::Drivescope(waiting) => format!("drivescope, {}", how(waiting)),
            Arm::Bare(waiting) => format!("bare loop, {}", how(waiting)),
            Arm::Fio(engine) => format!("fio {}", engine.name()),
            Arm::Btreplay => "btreplay".to_owned(),
        }
    }
}

/// Figures that an arm reports of its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// The schedule's first instant, on the monotonic clock.
    pub start_ns: Option<u64>,
    /// Time that the submitter was ready to run and had no CPU.
    pub run_delay_ns: Option<u64>,
    /// It was ended at its limit.
    pub ended: bool,
}

/// Resources shared by all arms.
pub(super) struct Ground<'a> {
    pub schedule: &'a Schedule,
    pub device: &'a Path,
    /// For the peers' files.
    pub dir: &'a Path,
    pub cancel: &'a AtomicBool,
}

impl Ground<'_> {
    /// Writes the peers' files.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn prepare(&self) -> Result<()> {
        let device = self.device.to_string_lossy();
        let write = |path: PathBuf, bytes: Vec<u8>| {
            fs::write(&path, bytes)
                .with_context(|| format!("{}: cannot be written", path.display()))
        };
        write(self.fio_log(), self.schedule.fio_log(&device).into_bytes())?;
        write(self.plain(), self.schedule.plain().into_bytes())?;
        write(self.btreplay_file(), self.schedule.btreplay_file())
    }

    fn fio_log(&self) -> PathBuf {
        self.dir.join("replay-timing.iolog")
    }

    fn plain(&self) -> PathBuf {
        self.dir.join("replay-timing.txt")
    }

    fn device_name(&self) -> String {
        self.device.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn btreplay_file(&self) -> PathBuf {
        self.dir.join(format!("{}.replay.0", self.device_name()))
    }

    /// Has `arm` issue the schedule.
    ///
    /// # Errors
    /// When the arm fails, with its own message; a peer that was ended at its limit did not fail.
    pub fn run(&self, arm: Arm) -> Result<Told> {
        match arm {
            Arm::Drivescope(waiting) => self.drivescope(waiting),
            Arm::Bare(waiting) => self.bare(waiting),
            Arm::Fio(engine) => self.fio(engine),
            Arm::Btreplay => self.btreplay(),
        }
    }

    fn drivescope(&self, waiting: Waiting) -> Result<Told> {
        let target = RealTarget::open(self.device, OpenOptions::default())?;
        let AnyTarget::IoUring(mut target) = target.engine()? else { bail!("no io_uring here") };
        let roots = Roots::default();
        let stack = stack::resolve(&roots, self.device)?;
        let mut environment = RealEnvironment::new(roots, stack, None);
        let setup =
            Setup { block_bytes_max: Bytes(self.schedule.block), waiting, ..Setup::default() };
        let mut feed = Fed { schedule: self.schedule, given: 0 };
        let mut completed = 0;
        let mut sink = |batch: &[Replayed]| completed += batch.len();
        let ended =
            replay(&mut target, &mut environment, &mut feed, &setup, self.cancel, &mut sink)?;
        if ended.reason != Reason::Complete || completed != self.schedule.reads.len() {
            bail!(
                "a replay ended as {:?} after {completed} reads: {:?}",
                ended.reason,
                ended.failure
            );
        }
        if ended.starved > Nanos::ZERO || ended.unheard > Nanos::ZERO {
            eprintln!("starved for {}, unheard for {}", ended.starved, ended.unheard);
        }
        let delay = |snapshot: &block::Snapshot| snapshot.run_delay_ns;
        let run_delay_ns = delay(&ended.after)
            .zip(delay(&ended.before))
            .map(|(after, before)| after.0.saturating_sub(before.0));
        Ok(Told { start_ns: Some(ended.start.0), run_delay_ns, ended: false })
    }

    fn bare(&self, waiting: Waiting) -> Result<Told> {
        let own = std::env::current_exe().context("cannot tell where this program is")?;
        let program = own.with_file_name("examples").join("bare_loop");
        let mode = if waiting == Waiting::Spin { "spin" } else { "sleep" };
        let plain = fs::File::open(self.plain()).context("the schedule is gone")?;
        let output = limited()
            .arg(&program)
            .arg(mode)
            .arg(self.device)
            .stdin(plain)
            .output()
            .context("cannot start timeout (coreutils)")?;
        let ended = was_ended(&output, "the bare loop, which scripts/validate builds,")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let start_ns = text.trim().parse().ok();
        if start_ns.is_none() && !ended {
            bail!("the bare loop printed {text:?}");
        }
        Ok(Told { start_ns, run_delay_ns: None, ended })
    }

    fn fio(&self, engine: Engine) -> Result<Told> {
        let log = self.fio_log();
        let output = limited()
            .args(["fio", "--name=replay", "--direct=1", "--iodepth=1024", "--thread"])
            .arg(format!("--ioengine={}", engine.name()))
            .arg(format!("--read_iolog={}", log.display()))
            .stdin(Stdio::null())
            .output()
            .context("cannot start timeout (coreutils)")?;
        Ok(Told { ended: was_ended(&output, "fio")?, ..Told::default() })
    }

    fn btreplay(&self) -> Result<Told> {
        let output = limited()
            .arg("btreplay")
            .arg(format!("--input-directory={}", self.dir.display()))
            .arg(self.device_name())
            .stdin(Stdio::null())
            .output()
            .context("cannot start timeout (coreutils)")?;
        Ok(Told { ended: was_ended(&output, "btreplay (package blktrace)")?, ..Told::default() })
    }
}

impl Drop for Ground<'_> {
    fn drop(&mut self) {
        for path in [self.fio_log(), self.plain(), self.btreplay_file()] {
            let _ = fs::remove_file(path);
        }
    }
}

/// A `timeout` command, which ends the program named after it once [`LIMIT_S`] has passed.
fn limited() -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &LIMIT_S.to_string()]);
    command
}

/// True when `timeout(1)` had to end the program; any other failure is an error with its own words. Where it has to kill
/// the program, it is killed with it.
fn was_ended(output: &Output, who: &str) -> Result<bool> {
    match (output.status.code(), output.status.signal()) {
        (Some(0), _) => Ok(false),
        (Some(124 | 137), _) | (None, Some(9)) => Ok(true),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{who} ended with {}: {}", output.status, said.trim());
        }
    }
}

/// The schedule as our replay is given it.
struct Fed<'a> {
    schedule: &'a Schedule,
    given: usize,
}

impl Feed for Fed<'_> {
    fn fill(&mut self, most: usize, out: &mut Vec<Planned>) -> std::result::Result<(), FeedError> {
        let rest = &self.schedule.reads[self.given..];
        let portion = &rest[..rest.len().min(most)];
        out.extend(portion.iter().map(|read| Planned {
            at: Nanos(read.at_ns),
            room: Planned::ALL_ROOM,
            weight: 1,
            op: Op::Read,
            fua: false,
            offset: Bytes(read.offset),
            len: Bytes(self.schedule.block),
        }));
        self.given += portion.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A peer that hangs, also one that does not heed being asked to end, must cost its limit and not the whole run; one
    // that fails must not pass for one that hung.
    #[test]
    fn a_peer_that_was_ended_is_told_from_one_that_failed() {
        let ended = |script: &str| {
            let arguments = ["--kill-after=0.2", "0.2", "sh", "-c", script];
            was_ended(&Command::new("timeout").args(arguments).output().unwrap(), "it")
        };
        assert!(!ended("true").unwrap());
        assert!(ended("exec sleep 60").unwrap());
        assert!(ended("trap '' TERM; while :; do sleep 1; done").unwrap());
        assert!(ended("echo broken >&2; exit 3").unwrap_err().to_string().contains("broken"));
    }
}
