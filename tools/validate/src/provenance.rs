//! Provenance of a table: command, commit, date, machine. Never the machine's name or paths, which are private.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use block::UnixNanos;
use serde::{Deserialize, Serialize};

/// The machine, as far as it matters for a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// CPU model.
    pub cpu: String,
    /// CPUs that this process may use.
    pub cpus: usize,
    /// Kernel release.
    pub kernel: String,
    /// Memory in GiB, rounded.
    pub memory_gib: u64,
}

impl Machine {
    /// This one.
    pub fn here() -> Machine {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kib = field(&meminfo, "MemTotal").and_then(|v| v.split(' ').next()?.parse().ok());
        Machine {
            cpu: field(&cpuinfo, "model name").unwrap_or("unknown").to_owned(),
            cpus: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| "unknown".to_owned(), |s| s.trim().to_owned()),
            memory_gib: (kib.unwrap_or(0u64) + (1 << 19)) >> 20,
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Machine { cpu, cpus, kernel, memory_gib } = self;
        write!(f, "{cpu}, {cpus} CPUs, {memory_gib} GiB, Linux {kernel}")
    }
}

/// The first `name : value` of a file like those in /proc.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

/// The commit that is checked out, with `+` behind it when its code was changed since.
///
/// # Errors
/// Outside a checkout.
pub fn commit() -> Result<String> {
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    // Tables are left out: they change by being written.
    let code = [
        "status",
        "--porcelain",
        "--",
        "crates",
        "fuzz",
        "lab",
        "scripts",
        "Cargo.toml",
        "Cargo.lock",
    ];
    Ok(if git(&code)?.is_empty() { commit } else { commit + "+" })
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).output().context("cannot start git")?;
    if !output.status.success() {
        bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Now, in RFC 3339.
pub fn date() -> String {
    record::rfc3339(UnixNanos(i128::try_from(since_epoch_ns()).unwrap_or(0)))
}

/// A seed that differs from run to run. It is recorded, so that a run's orders can be drawn again.
pub fn fresh_seed() -> u64 {
    (since_epoch_ns() as u64) >> 10
}

fn since_epoch_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// Mean count of runnable tasks over the last minute: shows readers how quiet the machine was.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}

/// The name of the filesystem that `dir` is on, such as `ext4`. From `findmnt(8)`, since the number that
/// `statfs(2)` gives is the same for ext2, ext3 and ext4.
///
/// # Errors
/// Names the directory.
pub fn filesystem(dir: &Path) -> Result<String> {
    let output = Command::new("findmnt")
        .args(["--noheadings", "--raw", "--output", "FSTYPE", "--target"])
        .arg(dir)
        .output()
        .context("findmnt (util-linux) is missing")?;
    if !output.status.success() {
        bail!("{}: is on no filesystem that findmnt knows", dir.display());
    }
    // Of several mounts on one directory, one a line, the last hides the others.
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().last().unwrap_or("unknown").trim().to_owned())
}

/// The command that was given, as it is typed, without the directories of this machine.
pub fn command() -> String {
    shown(std::env::args().skip(1))
}

fn shown(arguments: impl Iterator<Item = String>) -> String {
    let mut text = "scripts/validate".to_owned();
    let mut is_directory = false;
    for argument in arguments {
        let name = argument.split('=').next().unwrap_or_default();
        let names_directory = ["--out", "--keep"].contains(&name);
        if !is_directory && !names_directory {
            text += &format!(" {argument}");
        }
        is_directory = names_directory && name == argument;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_without_directories() {
        let given = ["logs", "--out", "/srv/out", "--logs", "9", "--keep=/srv/logs", "--threads=2"];
        let text = shown(given.into_iter().map(str::to_owned));
        assert_eq!(text, "scripts/validate logs --logs 9 --threads=2");
    }

    // A wrong field would put another machine's figures, or none, under every table.
    #[test]
    fn fields_of_proc_files_are_found_by_their_whole_name() {
        let text = "model\t\t: 2\nmodel name\t: AMD EPYC\nMemTotal:       24000000 kB\n";
        assert_eq!(field(text, "model name"), Some("AMD EPYC"));
        assert_eq!(field(text, "MemTotal"), Some("24000000 kB"));
        assert_eq!(field(text, "name"), None);
    }
}
