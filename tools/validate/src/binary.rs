//! The drivescope binary, as its users run it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// The binary built beside this one.
#[derive(Clone, Debug)]
pub struct Binary(PathBuf);

impl Binary {
    /// Finds it.
    ///
    /// # Errors
    /// When it was not built.
    pub fn find() -> Result<Binary> {
        let own = std::env::current_exe().context("cannot tell where this program is")?;
        let path = own.with_file_name("drivescope");
        if !path.is_file() {
            bail!("drivescope is not built beside this program; start through scripts/validate");
        }
        Ok(Binary(path))
    }

    /// Another one.
    pub fn at(path: PathBuf) -> Binary {
        Binary(path)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// It, without arguments yet.
    pub fn command(&self) -> Command {
        Command::new(&self.0)
    }

    /// Runs it with `arguments` and `--json`, and gives the body of the document that it prints.
    /// Exit code 1, a refuted number, is an answer too and is left to the body. Nothing is recorded: the
    /// tables keep what is needed, and records of tens of thousands of runs would only cost time.
    ///
    /// # Errors
    /// When it fails; its own words are in the error.
    pub fn body(&self, arguments: &[String]) -> Result<Value> {
        let output = Command::new(&self.0)
            .args(arguments)
            .args(["--json", "--no-progress", "--no-record"])
            .stdin(Stdio::null())
            .output()
            .context("cannot start drivescope")?;
        let said = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!("drivescope {} ended with {}: {}", arguments.join(" "), output.status, said());
        }
        let mut document: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("drivescope {} printed no JSON", arguments.join(" ")))?;
        Ok(document["body"].take())
    }

    /// Runs a plan on `target`, as [`Binary::body`] does, with `more` flags.
    ///
    /// # Errors
    /// The same.
    pub fn run_plan(&self, plan: &Path, target: &Path, more: &[String]) -> Result<Value> {
        let mut arguments = vec!["run".to_owned()];
        arguments.extend([plan, target].map(|path| path.to_string_lossy().into_owned()));
        arguments.extend_from_slice(more);
        self.body(&arguments)
    }
}

/// The number at `pointer` (RFC 6901).
///
/// # Errors
/// When there is none, with the pointer.
pub fn number(value: &Value, pointer: &str) -> Result<f64> {
    value.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no number {pointer}"))
}

/// The text at `pointer` (RFC 6901).
///
/// # Errors
/// When there is none, with the pointer.
pub fn text<'a>(value: &'a Value, pointer: &str) -> Result<&'a str> {
    value.pointer(pointer).and_then(Value::as_str).with_context(|| format!("no text {pointer}"))
}
