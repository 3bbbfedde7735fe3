//! Commands that people run, as data.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use block::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::binary::Binary;

/// The commands, as they are in the repository.
const CASES: &str = include_str!("../../cases/explain.toml");

#[derive(Deserialize)]
struct All {
    case: Vec<Case>,
}

/// A command, where it is from, and what is set so that it fits here.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub from: String,
    command: Option<String>,
    job: Option<String>,
    #[serde(default)]
    pub set: Vec<String>,
    run: Option<String>,
}

/// Values of FILE and LOOP.
pub(super) struct Place<'a> {
    pub dir: &'a Path,
    pub device: &'a Path,
}

/// All cases.
pub(super) fn all() -> Result<Vec<Case>> {
    let all: All = toml::from_str(CASES).context("cases/explain.toml cannot be read")?;
    for case in &all.case {
        if case.command.is_some() == case.job.is_some() {
            bail!("cases/explain.toml: `{}` has to have either a command or a job file", case.from);
        }
    }
    Ok(all.case)
}

/// Command to run: a program with its arguments, or a job file's text.
#[derive(Clone, Debug)]
pub(super) enum Runs {
    Words(Vec<String>),
    JobFile(String),
}

impl Case {
    /// As published.
    pub(super) fn shown(&self) -> &str {
        self.command.as_deref().or(self.job.as_deref()).unwrap_or_default().trim()
    }

    /// Runs `drivescope explain` on it, and returns the body.
    pub(super) fn explained(
        &self,
        binary: &Binary,
        place: &Place<'_>,
        target: Bytes,
    ) -> Result<Value> {
        let text = place.filled(&self.with_set(self.shown()));
        let path = place.dir.join("command.txt");
        fs::write(&path, &text)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
        let mut command = binary.command();
        command.arg("explain").arg(&path).arg("--json");
        if text.contains(&*place.device.to_string_lossy()) {
            command.arg(format!("--target-size={target}"));
        }
        let output =
            command.stdin(Stdio::null()).output().context("drivescope cannot be started")?;
        let said = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let mut document: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("drivescope explain printed no JSON: {}", said()))?;
        Ok(document["body"].take())
    }

    /// The command to run.
    pub(super) fn runs(&self, place: &Place<'_>) -> Runs {
        match (&self.run, &self.job) {
            (Some(run), _) => Runs::Words(words(&place.filled(run))),
            (None, Some(job)) => Runs::JobFile(place.filled(&self.with_set(job))),
            (None, None) => Runs::Words(words(&place.filled(&self.with_set(self.shown())))),
        }
    }

    /// `text` with each option of `set` in place of the one that is there, or added after the program.
    fn with_set(&self, text: &str) -> String {
        self.set.iter().fold(text.to_owned(), |text, set| set_in(&text, set))
    }
}

fn set_in(text: &str, set: &str) -> String {
    let (name, value) = set.split_once('=').unwrap_or((set, ""));
    let mut found = false;
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            let words: Vec<String> = line
                .split(' ')
                .map(|word| {
                    let bare = word.trim_start_matches('-');
                    if bare == name && value.ends_with("iB") {
                        // A word by itself, such as a size.
                        found = true;
                        return value.to_owned();
                    }
                    match bare.split_once('=') {
                        Some((known, _)) if known == name => {
                            found = true;
                            format!("{}{name}={value}", &word[..word.len() - bare.len()])
                        }
                        _ => word.to_owned(),
                    }
                })
                .collect();
            words.join(" ")
        })
        .collect();
    let text = lines.join("\n");
    match (found, text.split_once(' ')) {
        (false, Some((program, rest))) => format!("{program} --{set} {rest}"),
        _ => text,
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

impl Place<'_> {
    /// The file that replaces FILE.
    pub(super) fn file(&self) -> std::path::PathBuf {
        self.dir.join("file")
    }

    fn filled(&self, text: &str) -> String {
        text.replace("FILE", &self.file().to_string_lossy())
            .replace("LOOP", &self.device.to_string_lossy())
    }
}
