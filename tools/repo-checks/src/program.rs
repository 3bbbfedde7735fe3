//! The program as users run it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::repository;

/// Builds the binary in this profile and says where it is.
///
/// Building is left to Cargo rather than trusting that somebody has built it: a transcript of an old
/// binary would be checked against an old binary. It is built as `cargo test --workspace` builds it: a test beside it
/// makes Cargo choose the same features of what it depends on, or all of that would be built once more.
///
/// # Errors
/// When it does not build.
pub fn build(profile: &str) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--workspace", "--bin", "drivescope", "--test", "architecture"])
        .args(["--profile", profile, "--message-format", "json"])
        .current_dir(repository::root())
        .output()
        .context("cannot run cargo")?;
    if !built.status.success() {
        bail!("drivescope does not build:\n{}", String::from_utf8_lossy(&built.stderr));
    }
    String::from_utf8_lossy(&built.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "drivescope")
        .filter_map(|message| message.get("executable")?.as_str().map(PathBuf::from))
        .next_back()
        .context("cargo named no executable")
}

/// Output and exit code of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Standard output and standard error, in the order written.
    pub text: String,
    /// The exit code, 0 to 255; 128 and the signal's number when a signal ended it.
    pub code: i32,
}

/// Directory of runs made from here: apart from the user's own, and named from the repository's root, so that
/// no document shows a path of some machine.
pub const RUNS: &str = "target/transcripts";

/// Runs a line of shell with the binary's directory first in `PATH`.
///
/// # Errors
/// When there is no shell.
pub fn run(line: &str, binary: &Path, coloured: bool) -> Result<Printed> {
    let mut path = binary.parent().context("the binary has no directory")?.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1; {line}")]).env("PATH", path).env("LC_ALL", "C.UTF-8");
    shell.env("DRIVESCOPE_RUNS_DIR", RUNS);
    for variable in ["CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR"] {
        shell.env_remove(variable);
    }
    if coloured {
        shell.env("CLICOLOR_FORCE", "1").env("TERM", "xterm-256color");
    }
    let output = shell.current_dir(repository::root()).output().context("cannot run sh")?;
    let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
    Ok(Printed {
        text: String::from_utf8_lossy(&output.stdout).into_owned(),
        code: output.status.code().or(signal.map(|s| 128 + s)).unwrap_or(-1),
    })
}
