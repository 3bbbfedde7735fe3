//! A scenario: the drives it wants, and the expected outcome of each step. A file of TOML in
//! `lab/scenarios`; docs/lab.md describes every key.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;

use crate::check::Expected;
use crate::drive::Drive;
use crate::machine::DRIVES_MAX;
use crate::matrix::{self, Line, State};

/// Directory of the scenarios, in the repository.
pub const DIRECTORY: &str = "lab/scenarios";

/// A scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of its file without `.toml`.
    #[serde(skip)]
    pub name: String,
    /// The behaviour that it verifies, in a line.
    pub summary: String,
    /// Tags by which it can be selected.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Modules that are loaded before the first step. `name option=value` gives options.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Modules that are at hand in the guest, but not loaded.
    #[serde(default)]
    pub modules_at_hand: Vec<String>,
    /// Programs of the host that the guest gets, with the libraries they use.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Longest that the whole may take, boot apart.
    pub timeout_s: u64,
    /// A file beside it, whose shell functions each script has.
    #[serde(default)]
    pub functions: String,
    /// Parameters of the kernel. Scenarios with unlike ones boot apart.
    #[serde(default)]
    pub kernel: String,
    /// It shares its boot with no other.
    #[serde(default)]
    pub alone: bool,
    /// Its drives.
    #[serde(default, rename = "drive")]
    pub drives: Vec<Drive>,
    /// Its steps, in order.
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
    /// After the steps, each of these lines runs in each of the states.
    #[serde(default, rename = "line")]
    pub lines: Vec<Line>,
    /// See `lines`.
    #[serde(default, rename = "state")]
    pub states: Vec<State>,
    /// Longest that a line may take in a state; 60 s when missing.
    pub cell_timeout_s: Option<u64>,
}

/// One script, or one act of the host.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The behaviour that it shows.
    pub name: String,
    /// For `sh -e` in the guest.
    #[serde(default)]
    pub run: String,
    /// Action of the host instead of a script: `remove NAME`, `add NAME`, `count`, `cut`.
    pub host: Option<String>,
    /// The host cuts the power this many seconds after the script began; what it printed is lost.
    pub cut_after_s: Option<f64>,
    /// Drives whose content is the same after the step as before.
    #[serde(default)]
    pub unchanged: Vec<String>,
    /// Drives whose content is another after the step than before.
    #[serde(default)]
    pub changed: Vec<String>,
    /// Its output is cells of [`crate::reached`]: no verdict in it may be wrong.
    #[serde(default)]
    pub reached: bool,
    /// Its expected outcome.
    #[serde(flatten)]
    pub expected: Expected,
}

/// Reads all scenarios in `directory`, by name.
///
/// # Errors
/// Names the file, and the key that is wrong.
pub fn read_all(directory: &Path) -> Result<Vec<Scenario>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<PathBuf>>>()
        .with_context(|| directory.display().to_string())?;
    paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// Reads one.
///
/// # Errors
/// Names the file, and the key that is wrong.
pub fn read(path: &Path) -> Result<Scenario> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let name = path.file_stem().and_then(|n| n.to_str()).unwrap_or_default();
    let mut scenario = parse(name, &text).with_context(|| path.display().to_string())?;
    if !scenario.functions.is_empty() {
        let beside = path.with_file_name(&scenario.functions);
        let functions =
            fs::read_to_string(&beside).with_context(|| beside.display().to_string())?;
        for step in scenario.steps.iter_mut().filter(|step| !step.run.is_empty()) {
            step.run.insert_str(0, &functions);
        }
    }
    Ok(scenario)
}

/// Makes a scenario of its text.
///
/// # Errors
/// Names the key that is wrong.
pub fn parse(name: &str, text: &str) -> Result<Scenario> {
    let mut scenario: Scenario = toml::from_str(text)?;
    scenario.name = name.to_owned();
    scenario.check()?;
    Ok(scenario)
}

impl Scenario {
    fn check(&self) -> Result<()> {
        let name_is_plain =
            |n: &str| n.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        ensure!(name_is_plain(&self.name), "its file's name is not of a to z, digits and -");
        ensure!(!self.summary.trim().is_empty(), "summary: empty");
        ensure!(!self.summary.contains('\n'), "summary: more than a line");
        ensure!(self.timeout_s > 0, "timeout_s: 0");
        ensure!(!self.steps.is_empty() || !self.lines.is_empty(), "step, line: there is none");
        ensure!(self.drives.len() <= DRIVES_MAX, "drive: more than {DRIVES_MAX}");
        for (i, drive) in self.drives.iter().enumerate() {
            drive.check().with_context(|| format!("drive {:?}", drive.name))?;
            let same = self.drives[..i].iter().any(|other| other.name == drive.name);
            ensure!(!same, "drive: two are named {:?}", drive.name);
        }
        ensure!(!self.functions.contains('/'), "functions: not the name of a file beside it");
        matrix::check(self)?;
        for step in &self.steps {
            self.check_step(step).with_context(|| format!("step {:?}", step.name))?;
        }
        Ok(())
    }

    fn check_step(&self, step: &Step) -> Result<()> {
        ensure!(!step.name.trim().is_empty(), "name: empty");
        ensure!(step.run.is_empty() || step.host.is_none(), "run: the host does something here");
        ensure!(!step.run.is_empty() || step.host.is_some(), "run: missing");
        for name in step.unchanged.iter().chain(&step.changed) {
            ensure!(self.drive(name).is_some(), "unchanged, changed: no drive is named {name:?}");
        }
        if let Some(action) = &step.host {
            self.action(action)?;
        }
        let cuts = step.cut_after_s.is_some() || step.host.as_deref() == Some("cut");
        ensure!(!cuts || self.alone, "a scenario that cuts the power needs `alone = true`");
        ensure!(
            step.cut_after_s.is_none_or(|s| (0.0..=3600.0).contains(&s)),
            "cut_after_s: 0 to 3600"
        );
        Ok(())
    }

    /// Parses an action of the host.
    ///
    /// # Errors
    /// Returns an error if there is no such action or drive.
    pub fn action(&self, words: &str) -> Result<Action> {
        let (verb, name) = words.split_once(' ').unwrap_or((words, ""));
        let drive = || {
            let found = self.drives.iter().position(|drive| drive.name == name);
            found.with_context(|| format!("host: no drive is named {name:?}"))
        };
        match verb {
            "remove" => Ok(Action::Remove(drive()?)),
            "add" => Ok(Action::Add(drive()?)),
            "cut" => Ok(Action::Cut),
            "count" => Ok(Action::Count),
            _ => bail!("host: {words:?} is none of `remove NAME`, `add NAME`, `count` and `cut`"),
        }
    }

    /// The drive of that name.
    pub fn drive(&self, name: &str) -> Option<(usize, &Drive)> {
        self.drives.iter().enumerate().find(|(_, drive)| drive.name == name)
    }
}

/// Actions of the host. A drive is given by its index in the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A drive is taken out of the running guest.
    Remove(usize),
    /// It is put in again.
    Add(usize),
    /// The power goes, and comes again.
    Cut,
    /// It is noted what the drives have moved.
    Count,
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "summary = 's'\ntimeout_s = 10\n";
    const STEP: &str = "[[step]]\nname = 'n'\nrun = 'true'\n";

    // Mistakes in a scenario must be reported before a kernel boots.
    #[test]
    fn what_is_wrong_is_named() {
        let drive = "[[drive]]\nname = 'a'\nkind = 'virtio'\nsize = '1MiB'\n";
        let cases = [
            (format!("timeout_s = 10\n{STEP}"), "summary"),
            (format!("summary = 's'\n{STEP}"), "timeout_s"),
            (format!("summary = ' '\ntimeout_s = 10\n{STEP}"), "summary: empty"),
            (HEAD.to_owned(), "step, line: there is none"),
            (format!("{HEAD}drives = 1\n{STEP}"), "unknown field `drives`"),
            (format!("{HEAD}{drive}{drive}{STEP}"), "two are named"),
            (format!("{HEAD}{drive}colour = 'red'\n{STEP}"), "unknown field `colour`"),
            (format!("{HEAD}{STEP}unchanged = ['b']"), "no drive is named \"b\""),
            (format!("{HEAD}{STEP}host = 'remove a'"), "run: the host does something"),
            (format!("{HEAD}[[step]]\nname = 'n'"), "run: missing"),
            (format!("{HEAD}[[step]]\nname = 'n'\nhost = 'remove a'"), "no drive is named \"a\""),
            (format!("{HEAD}[[step]]\nname = 'n'\nhost = 'dance'"), "is none of"),
            (format!("{HEAD}[[step]]\nname = 'n'\nhost = 'cut'"), "needs `alone = true`"),
            (format!("{HEAD}{STEP}cut_after_s = 1.0"), "needs `alone = true`"),
            (format!("{HEAD}{STEP}stdout_no = ['b']"), "stdout_no"),
            (format!("{HEAD}functions = '../x.sh'\n{STEP}"), "functions: not the name"),
        ];
        for (text, fault) in cases {
            let error = format!("{:#}", parse("name", &text).unwrap_err());
            assert!(error.contains(fault), "{text}\n{error}");
        }
        assert!(parse("Name", &format!("{HEAD}{STEP}")).is_err());
    }

    #[test]
    fn a_whole_scenario_is_understood() {
        let text = "summary = 's'\ntags = ['core']\nmodules = ['dm-flakey']\ntools = ['dmsetup']\n\
            timeout_s = 60\nkernel = 'nvme.poll_queues=1'\nalone = true\n\
            [[drive]]\nname = 'a'\nkind = 'nvme'\nsize = '64MiB'\n\
            [[step]]\nname = 'refused'\nrun = 'false'\nexit = 3\nunchanged = ['a']\n\
            json = { '/body/x' = '>= 10' }\n\
            [[step]]\nname = 'gone'\nhost = 'remove a'\n";
        let scenario = parse("whole", text).unwrap();
        assert_eq!(scenario.name, "whole");
        assert_eq!(scenario.steps.len(), 2);
        assert_eq!(scenario.action("remove a").unwrap(), Action::Remove(0));
    }
}
