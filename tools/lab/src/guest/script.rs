//! A script while it runs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::protocol::Ran;

const SCRIPT: &str = "/run/lab-script";
const STDOUT: &str = "/run/lab-stdout";
const STDERR: &str = "/run/lab-stderr";
/// Bytes of each stream that are returned, at most.
const TOLD_BYTES_MAX: u64 = 8 << 20;

/// Longest that a script takes to die.
const DEATH: Duration = Duration::from_secs(20);

/// It writes to files, not pipes: what it leaves in the background holds them open, and must not be waited for.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    begun: Instant,
}

impl Running {
    /// Starts it, with all it starts in a process group of its own.
    pub(super) fn start(script: &str, variables: &BTreeMap<String, String>) -> Result<Running> {
        fs::write(SCRIPT, script).context(SCRIPT)?;
        let child = Command::new("/bin/sh")
            .args(["-e", SCRIPT])
            .envs(variables)
            .env("HOME", "/scenario")
            .env("DRIVESCOPE_RUNS_DIR", "/scenario/runs")
            .current_dir("/scenario")
            .stdin(Stdio::null())
            .stdout(File::create(STDOUT).context(STDOUT)?)
            .stderr(File::create(STDERR).context(STDERR)?)
            .process_group(0)
            .spawn()
            .context("/bin/sh")?;
        Ok(Running { child, begun: Instant::now() })
    }

    /// Returns the result once the script has ended; kills it after `limit`.
    pub(super) fn ended(&mut self, limit: Duration) -> Result<Option<Ran>> {
        if let Some(status) = self.child.try_wait()? {
            return self.ran(status, false).map(Some);
        }
        if self.begun.elapsed() < limit {
            return Ok(None);
        }
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let killed = Instant::now();
        while killed.elapsed() < DEATH {
            if let Some(status) = self.child.try_wait()? {
                return self.ran(status, true).map(Some);
            }
            thread::sleep(DEATH / 100);
        }
        // One that hangs in the kernel does not die. The host shows the console, which says where it hangs.
        let _ = fs::write("/proc/sysrq-trigger", "w");
        bail!("the script hangs in the kernel: it took longer than it may, and cannot be killed")
    }

    fn ran(&self, status: ExitStatus, timed_out: bool) -> Result<Ran> {
        let exit = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(-1);
        let took = self.begun.elapsed();
        Ok(super::ran(exit, timed_out, took, &head(STDOUT)?, &head(STDERR)?))
    }
}

fn head(path: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).context(path.to_owned())?.take(TOLD_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Runs what is the lab's own.
pub(super) fn quietly(script: &str) -> Result<()> {
    let output = Command::new("/bin/sh").args(["-c", script]).output().context("/bin/sh")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}
