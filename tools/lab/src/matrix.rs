//! Command lines times states of a drive: each line runs in each state, and has to end as the state says, with the
//! content of every watched drive as it was. In a control state the lines may write, and have to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::check::{Exit, Expected};
use crate::outcome::{CellOutcome, StepOutcome};
use crate::run::Run;
use crate::scenario::Scenario;

/// Longest that a cell takes, when the scenario does not say.
const CELL_S: u64 = 60;

/// A command line.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Its name, unique in the scenario.
    pub name: String,
    /// For the shell; `{device}`, `{serial}` and `{consent}` are what the state says.
    pub run: String,
    /// Exit statuses that are right in a control state.
    #[serde(default)]
    pub exit: Exit,
    /// Why it changes nothing even where it may.
    pub unchanging: Option<String>,
}

/// A state that a drive is in.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Its name, unique in the scenario.
    pub name: String,
    /// For the shell, in place of `{device}`: `$A`, or a path that `setup` made.
    #[serde(default = "first_device")]
    pub device: String,
    /// For the shell, in place of `{serial}`.
    #[serde(default = "first_serial")]
    pub serial: String,
    /// For the shell, in place of `{consent}`: words of consent, or nothing where one is missing.
    #[serde(default = "first_consent")]
    pub consent: String,
    /// Puts the drive into the state, once for all lines.
    #[serde(default)]
    pub setup: String,
    /// Runs before each line.
    #[serde(default)]
    pub before: String,
    /// Takes the drive out of the state.
    #[serde(default)]
    pub teardown: String,
    /// Exit statuses that are right. In a control state those of the line are.
    pub exit: Option<Exit>,
    /// Texts that standard error of each line must contain.
    #[serde(default)]
    pub stderr: Vec<String>,
    /// Lines write here, and have to.
    #[serde(default)]
    pub control: bool,
    /// Drives whose content has to stay; all when missing.
    pub watch: Option<Vec<String>>,
    /// Only lines whose names begin with one of these.
    #[serde(default)]
    pub only: Vec<String>,
}

fn first_device() -> String {
    "$A".to_owned()
}

fn first_serial() -> String {
    "$A_SERIAL".to_owned()
}

fn first_consent() -> String {
    "--consent=$A_SERIAL".to_owned()
}

/// Checks the lines and states of a scenario.
///
/// # Errors
/// Returns an error that names the invalid key.
pub fn check(scenario: &Scenario) -> Result<()> {
    let Scenario { lines, states, .. } = scenario;
    ensure!(
        lines.is_empty() == states.is_empty(),
        "line, state: one is of no use without the other"
    );
    let unique = |names: Vec<&String>| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    ensure!(unique(lines.iter().map(|l| &l.name).collect()), "line: two have the same name");
    ensure!(unique(states.iter().map(|s| &s.name).collect()), "state: two have the same name");
    for line in lines {
        ensure!(!line.run.trim().is_empty(), "line {:?}: run: empty", line.name);
    }
    for state in states {
        let within = || format!("state {:?}", state.name);
        ensure!(
            state.control == state.exit.is_none(),
            "{}: exit: of a state that is no control",
            within()
        );
        for name in state.watch.iter().flatten() {
            ensure!(
                scenario.drive(name).is_some(),
                "{}: watch: no drive is named {name:?}",
                within()
            );
        }
        for start in &state.only {
            let some = lines.iter().any(|line| line.name.starts_with(start));
            ensure!(some, "{}: only: no line begins with {start:?}", within());
        }
    }
    Ok(())
}

impl State {
    /// True when the state applies to `line`. A state of the device's path does not apply to a line that names its
    /// drive itself, or takes it from a record.
    fn takes(&self, line: &Line) -> bool {
        let named = self.only.is_empty() || self.only.iter().any(|s| line.name.starts_with(s));
        named && (self.device == first_device() || line.run.contains("{device}"))
    }

    /// Returns the script of a cell. It ends with `sync`, since content is compared then.
    fn script(&self, line: &Line) -> String {
        let words =
            [("{device}", &self.device), ("{serial}", &self.serial), ("{consent}", &self.consent)];
        let filled = |line: String, (name, word): (&str, &String)| line.replace(name, word);
        let command = words.into_iter().fold(line.run.clone(), filled);
        format!("set +e\n(\n{}\n)\ncode=$?\nsync\nexit $code\n", command.trim())
    }

    fn expected(&self, line: &Line) -> Expected {
        let exit = if self.control { &line.exit } else { self.exit.as_ref().unwrap_or(&line.exit) };
        Expected {
            exit: exit.clone(),
            stderr: self.stderr.clone(),
            stderr_not: vec!["panicked".to_owned()],
            ..Expected::default()
        }
    }

    /// Describes what `line` did wrong to the drives, of which `changed` have new content.
    fn faults(&self, line: &Line, changed: &[String]) -> Vec<String> {
        match (self.control, changed) {
            (true, []) if line.unchanging.is_none() => {
                vec!["wrote nothing where it may: its other cells show nothing".to_owned()]
            }
            (true, [_, ..]) if line.unchanging.is_some() => {
                vec!["wrote, though the scenario says that it does not".to_owned()]
            }
            (false, [_, ..]) => vec![format!("wrote to {}", changed.join(", "))],
            _ => Vec::new(),
        }
    }
}

impl Run<'_> {
    /// All cells, state by state. A state that cannot be made fails, and the others go on.
    pub(crate) fn matrix(&mut self) -> Result<()> {
        for state in &self.scenario.states {
            let begun = Instant::now();
            let mut outcome =
                StepOutcome { name: format!("state {}", state.name), ..StepOutcome::default() };
            let setup = self.aside(&state.setup)?;
            if setup.is_empty() {
                outcome.faults = self.cells(state)?;
            }
            outcome.faults.extend(setup.into_iter().map(|fault| format!("setup: {fault}")));
            let teardown = self.aside(&state.teardown)?;
            outcome.faults.extend(teardown.into_iter().map(|fault| format!("teardown: {fault}")));
            outcome.seconds = begun.elapsed().as_secs_f64();
            self.outcome.steps.push(outcome);
        }
        Ok(())
    }

    /// Runs a script that is not under test; returns its faults.
    fn aside(&mut self, script: &str) -> Result<Vec<String>> {
        if script.is_empty() {
            return Ok(Vec::new());
        }
        let ran = self.script(script)?;
        let faults = Expected::default().faults(&ran, str::to_owned);
        let said = ran.stderr.trim();
        Ok(faults.into_iter().map(|fault| format!("{fault}: {said}")).collect())
    }

    fn cells(&mut self, state: &State) -> Result<Vec<String>> {
        let scenario = self.scenario;
        let all: Vec<String> = scenario.drives.iter().map(|drive| drive.name.clone()).collect();
        let names = state.watch.clone().unwrap_or(all);
        let watched: BTreeSet<&String> = names.iter().collect();
        let mut faults = Vec::new();
        let mut content = self.contents(&watched)?;
        for line in scenario.lines.iter().filter(|line| state.takes(line)) {
            let cell = self.cell(state, line, &watched, &mut content)?;
            faults.extend(cell.faults.iter().map(|fault| format!("{}: {fault}", line.name)));
            self.outcome.cells.push(cell);
        }
        Ok(faults)
    }

    fn cell(
        &mut self,
        state: &State,
        line: &Line,
        watched: &BTreeSet<&String>,
        content: &mut BTreeMap<String, String>,
    ) -> Result<CellOutcome> {
        let begun = Instant::now();
        if !state.before.is_empty() {
            // `before` may write: the baseline is taken after it, so that only the line itself counts.
            let faults = self.aside(&state.before)?;
            ensure!(faults.is_empty(), "state {:?}: before: {}", state.name, faults.join("; "));
            *content = self.contents(watched)?;
        }
        let limit = Duration::from_secs(self.scenario.cell_timeout_s.unwrap_or(CELL_S));
        let ran = self.script_within(&state.script(line), limit)?;
        let mut faults = state.expected(line).faults(&ran, |text| self.fill(text));
        let after = self.held(watched).context("content")?;
        let changed: Vec<String> = after
            .iter()
            .filter(|(name, hash)| content.get(*name) != Some(hash))
            .map(|(n, _)| n.clone())
            .collect();
        faults.extend(state.faults(line, &changed));
        if !faults.is_empty() {
            let said = ran.stderr.trim();
            faults.push(format!("stderr: {}", said.lines().last().unwrap_or_default()));
        }
        let sha256 = content
            .iter()
            .map(|(name, before)| (name.clone(), [before.clone(), after[name].clone()]));
        let sha256 = sha256.collect();
        *content = after;
        Ok(CellOutcome {
            state: state.name.clone(),
            line: line.name.clone(),
            exit: ran.exit,
            faults,
            sha256,
            seconds: begun.elapsed().as_secs_f64(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::State;
    use crate::scenario::parse;

    const HEAD: &str = "summary = 's'\ntimeout_s = 10\n\
        [[drive]]\nname = 'a'\nkind = 'virtio'\nsize = '1MiB'\n";
    const LINE: &str =
        "[[line]]\nname = 'mark'\nrun = 'drivescope mark {device} --consent {serial}'\n";

    #[test]
    fn what_is_wrong_with_a_matrix_is_named() {
        let state = |more: &str| format!("[[state]]\nname = 'free'\n{more}\n");
        let cases = [
            (LINE.to_owned(), "line, state: one"),
            (format!("{LINE}{LINE}{}", state("control = true")), "line: two have"),
            (format!("{LINE}{0}{0}", state("control = true")), "state: two have"),
            (format!("{LINE}{}", state("")), "exit: of a state"),
            (format!("{LINE}{}", state("control = true\nexit = 3")), "exit: of a state"),
            (format!("{LINE}{}", state("exit = 3\nwatch = ['b']")), "watch: no drive"),
            (format!("{LINE}{}", state("exit = 3\nonly = ['probe']")), "only: no line"),
        ];
        for (text, fault) in cases {
            let error = format!("{:#}", parse("m", &format!("{HEAD}{text}")).unwrap_err());
            assert!(error.contains(fault), "{text}\n{error}");
        }
    }

    // A cell whose command lost its drive would be refused for that, and prove nothing.
    #[test]
    fn a_cell_runs_the_line_on_the_drive_of_the_state() {
        let more = "[[line]]\nname = 'run'\nrun = 'drivescope run p {consent} {device}'\n";
        let state = "[[state]]\nname = 's'\nexit = 3\ndevice = '$A1'\nconsent = ''\n";
        let scenario = parse("m", &format!("{HEAD}{LINE}{more}{state}")).unwrap();
        let script = |line: usize| scenario.states[0].script(&scenario.lines[line]);
        assert!(script(0).contains("\ndrivescope mark $A1 --consent $A_SERIAL\n"), "{}", script(0));
        assert!(script(1).contains("\ndrivescope run p  $A1\n"), "{}", script(1));
    }

    #[test]
    fn a_control_has_to_write_and_every_other_state_must_not() {
        let text = format!(
            "{HEAD}{LINE}[[line]]\nname = 'look'\nrun = 'true'\nunchanging = 'reads'\n\
             [[state]]\nname = 'free'\ncontrol = true\n[[state]]\nname = 'held'\nexit = 3\nonly = ['mark']\n"
        );
        let scenario = parse("m", &text).unwrap();
        let (free, held) = (&scenario.states[0], &scenario.states[1]);
        let (mark, look) = (&scenario.lines[0], &scenario.lines[1]);
        let changed = ["a".to_owned()];
        assert_eq!(free.faults(mark, &changed), [""; 0]);
        assert_eq!(free.faults(mark, &[]).len(), 1);
        assert_eq!(free.faults(look, &[]), [""; 0]);
        assert_eq!(free.faults(look, &changed).len(), 1);
        assert_eq!(held.faults(mark, &[]), [""; 0]);
        assert_eq!(held.faults(mark, &changed), ["wrote to a"]);
        assert!(held.takes(mark) && !held.takes(look) && free.takes(look));
        // `look` would look at the drive itself, whatever the link leads to.
        let link = State { device: "link".to_owned(), ..free.clone() };
        assert!(link.takes(mark) && !link.takes(look));
    }
}
