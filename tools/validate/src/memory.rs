//! The most memory that a program held.

use std::fs;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// How often it is looked at. The kernel keeps the greatest; only what comes in the last moment of a process, which
/// has read its file by then, can be missed.
const EACH: Duration = Duration::from_millis(5);

/// Output of a program that came to its end, and its peak memory.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Most memory that is not the file's cache, in bytes.
    pub peak_bytes: u64,
}

/// Runs `command` to its end.
///
/// # Errors
/// When it cannot be started, or fails.
pub fn run(mut command: Command) -> Result<Ran> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .context("cannot start drivescope")?;
    let mut stdout = child.stdout.take().context("no output")?;
    // Its output may be longer than a pipe holds.
    let reading = std::thread::spawn(move || {
        let mut text = Vec::new();
        stdout.read_to_end(&mut text).map(|_| text)
    });
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak_bytes = 0;
    let status = loop {
        if let Some(now) = fs::read_to_string(&status_file).ok().as_deref().and_then(high_water) {
            peak_bytes = now.max(peak_bytes);
        }
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(EACH);
    };
    let stdout = reading.join().map_err(|_| anyhow::anyhow!("a thread died"))??;
    if !status.success() {
        bail!("drivescope ended with {status}");
    }
    Ok(Ran { stdout, peak_bytes })
}

/// `VmHWM` of proc_pid_status(5), in bytes.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Another line's figure would hide that memory grows.
    #[test]
    fn the_high_water_mark_is_found() {
        let status = "Name:\tx\nVmPeak:\t 9 kB\nVmHWM:\t   12 kB\nVmRSS:\t 3 kB\n";
        assert_eq!(high_water(status), Some(12 << 10));
        assert_eq!(high_water("Name:\tzombie\n"), None);
    }
}
