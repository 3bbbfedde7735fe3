//! Runs the scenarios of a batch, one after the other in one guest; a guest that dies or hangs takes one scenario
//! with it, and the others go on in the next.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use crate::boot::{Frozen, Guest, Plan};
use crate::group::Batch;
use crate::initramfs::{self, Contents};
use crate::kernel::Kernel;
use crate::machine::{self, Slotted};
use crate::outcome::{Outcome, StepOutcome};
use crate::protocol::{Ran, Reply, Request};
use crate::reached::{self, Cell, Count};
use crate::scenario::{Action, Scenario, Step};
use crate::tools;

/// How much longer than a script may take the host waits for the guest, before it holds it for dead.
const GRACE: Duration = Duration::from_secs(45);
/// Longest that beginning and cleaning up take.
const ASIDE: Duration = Duration::from_secs(300);
/// Before content is compared: what the guest holds back is written.
const SYNC: &str = "sync";

/// Parts shared by all boots of a run.
#[derive(Clone, Debug)]
pub struct Lab {
    /// The guest's kernel.
    pub kernel: Kernel,
    /// drivescope.
    pub program: PathBuf,
    /// The guest's side of the lab.
    pub agent: PathBuf,
    /// Directory of images, consoles and archives.
    pub directory: PathBuf,
    /// Images stay when all is over.
    pub keep: bool,
}

/// The reason why `scenario` cannot run on this machine.
pub fn hindrance(scenario: &Scenario) -> Option<String> {
    let missing = scenario.tools.iter().find(|name| tools::find(name).is_none());
    missing.map(|name| format!("{name} is not installed"))
}

impl Lab {
    /// Runs a batch; `told` hears of each outcome as it comes.
    pub fn run(&self, number: usize, batch: &Batch, told: &dyn Fn(&Outcome)) -> Vec<Outcome> {
        let directory = self.directory.join(format!("boot-{number}"));
        let _ = fs::remove_dir_all(&directory);
        let mut outcomes = Vec::new();
        let mut left = batch.scenarios.as_slice();
        let mut frozen = Vec::new();
        while !left.is_empty() {
            let booted = self.boot(&directory, &batch.kernel, left);
            let (plan, mut guest) = match booted {
                Ok(booted) => booted,
                Err(error) => {
                    let failed = left.iter().map(|s| Outcome::unmade(s, &format!("{error:#}")));
                    outcomes.extend(failed.inspect(|outcome| told(outcome)));
                    break;
                }
            };
            eprintln!(
                "boot {number}: Linux {} after {:.1} s",
                guest.kernel,
                guest.took.as_secs_f64()
            );
            while let Some((scenario, rest)) = left.split_first() {
                let from = left;
                left = rest;
                let mut run = Run::new(&plan, scenario, guest);
                run.outcome.frozen.append(&mut frozen);
                if let Err(words) = run.whole() {
                    // Once: what freezes its guest again is more than the emulator's bad day.
                    if run.outcome.frozen.is_empty() {
                        eprintln!("{}: once more, in a new guest: {words}", scenario.name);
                        frozen.push(words);
                        left = from;
                        break;
                    }
                    run.outcome.faults.push(words);
                }
                told(&run.outcome);
                outcomes.push(run.outcome);
                match run.guest {
                    Some(alive) => guest = alive,
                    None => break,
                }
            }
        }
        if !self.keep {
            let _ = fs::remove_dir_all(&directory);
        }
        outcomes
    }

    fn boot(
        &self,
        directory: &Path,
        kernel: &str,
        scenarios: &[Scenario],
    ) -> Result<(Plan, Guest)> {
        fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
        let plan = self.plan(directory, kernel, scenarios)?;
        plan.make_images()?;
        let guest = Guest::boot(&plan)?;
        Ok((plan, guest))
    }

    /// Makes what the guest boots from.
    fn plan(&self, directory: &Path, kernel: &str, scenarios: &[Scenario]) -> Result<Plan> {
        let drives = machine::slots(scenarios)?;
        let initramfs = directory.join("initramfs");
        let bare = |module: &String| module.split(' ').next().unwrap_or_default().to_owned();
        let at_hand: BTreeSet<String> = scenarios
            .iter()
            .flat_map(|s| s.modules.iter().chain(&s.modules_at_hand))
            .map(bare)
            .collect();
        let contents = Contents {
            kernel: &self.kernel,
            program: &self.program,
            agent: &self.agent,
            tools: scenarios.iter().flat_map(|s| s.tools.clone()).collect(),
            modules: machine::modules(&drives).iter().map(|m| (*m).to_owned()).collect(),
            modules_at_hand: at_hand,
        };
        initramfs::write(&initramfs, &contents)?;
        Ok(Plan {
            kernel: self.kernel.image.clone(),
            initramfs,
            parameters: kernel.to_owned(),
            directory: directory.to_owned(),
            drives,
        })
    }
}

/// A scenario while it runs.
pub(crate) struct Run<'a> {
    plan: &'a Plan,
    pub(crate) scenario: &'a Scenario,
    /// None when it has died.
    guest: Option<Guest>,
    variables: BTreeMap<String, String>,
    begun: Instant,
    /// Bytes that the drives had moved at each `count` of the current step.
    counts: Vec<Count>,
    /// Power cuts so far: what a volatile drive loses is chosen by their number.
    cuts: u64,
    pub(crate) outcome: Outcome,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, scenario: &'a Scenario, guest: Guest) -> Run<'a> {
        let outcome = Outcome::of(scenario);
        Run {
            plan,
            scenario,
            guest: Some(guest),
            variables: BTreeMap::new(),
            begun: Instant::now(),
            counts: Vec::new(),
            cuts: 0,
            outcome,
        }
    }

    /// From its beginning to its end, whatever comes of it; an error when its guest froze.
    fn whole(&mut self) -> Result<(), String> {
        let mut froze = Ok(());
        if let Err(error) = self.begin().and_then(|()| self.all()) {
            let words = format!("{error:#}");
            if error.downcast_ref::<Frozen>().is_some() {
                froze = Err(words);
            } else {
                self.outcome.faults.push(words);
            }
        }
        if let Err(error) = self.end() {
            self.outcome.faults.push(format!("cleaning up: {error:#}"));
            self.guest = None;
        }
        self.outcome.seconds = self.begun.elapsed().as_secs_f64();
        froze
    }

    fn begin(&mut self) -> Result<()> {
        let request = Request::Begin {
            modules: self.scenario.modules.clone(),
            places: self.drives().map(Slotted::place).collect(),
        };
        match self.ask(&request, ASIDE)? {
            Reply::Begun { variables } => self.variables = variables,
            other => bail!("asked to begin, the guest says {other:?}"),
        }
        Ok(())
    }

    /// The steps up to the first that fails, and then the matrix.
    fn all(&mut self) -> Result<()> {
        for step in &self.scenario.steps {
            let outcome = self.step(step)?;
            let failed = !outcome.faults.is_empty();
            self.outcome.steps.push(outcome);
            if failed {
                return Ok(());
            }
        }
        self.matrix()
    }

    fn end(&mut self) -> Result<()> {
        if self.guest.is_none() {
            return Ok(());
        }
        match self.ask(&Request::End, ASIDE)? {
            Reply::Ended { leftovers } => {
                // Leftovers of a scenario that failed are not a fault of their own.
                if self.outcome.is_green() {
                    self.outcome
                        .faults
                        .extend(leftovers.iter().map(|l| format!("left behind: {l}")));
                }
                Ok(())
            }
            other => bail!("asked to clean up, the guest says {other:?}"),
        }
    }

    fn step(&mut self, step: &Step) -> Result<StepOutcome> {
        let begun = Instant::now();
        let watched: BTreeSet<&String> = step.unchanged.iter().chain(&step.changed).collect();
        let before = self.contents(&watched)?;
        self.counts.clear();
        let mut outcome = StepOutcome { name: step.name.clone(), ..StepOutcome::default() };
        match (&step.host, step.cut_after_s) {
            (Some(action), _) => {
                if let Err(error) = self.act(self.scenario.action(action)?) {
                    outcome.faults.push(format!("{action}: {error:#}"));
                }
            }
            (None, Some(seconds)) => {
                self.run_until_cut(&step.run, Duration::from_secs_f64(seconds))?
            }
            (None, None) => {
                let ran = self.script(&step.run)?;
                outcome.faults = step.expected.faults(&ran, |text| self.fill(text));
                outcome.exit = Some(ran.exit);
                if step.reached {
                    match reached::cells(&ran.stdout, &self.counts) {
                        Ok(cells) => outcome.reached = cells,
                        Err(error) => outcome.faults.push(format!("{error:#}")),
                    }
                    outcome.faults.extend(outcome.reached.iter().flat_map(Cell::faults));
                }
                outcome.json = serde_json::from_str(&ran.stdout).ok();
                outcome.stdout = if outcome.json.is_some() { String::new() } else { ran.stdout };
                outcome.stderr = ran.stderr;
            }
        }
        let after = self.contents(&watched)?;
        for name in watched {
            let same = before[name] == after[name];
            if step.unchanged.contains(name) && !same {
                outcome.faults.push(format!("the content of {name} is not what it was"));
            }
            if step.changed.contains(name) && same {
                outcome.faults.push(format!("the content of {name} is what it was"));
            }
            outcome.sha256.insert(name.clone(), [before[name].clone(), after[name].clone()]);
        }
        outcome.seconds = begun.elapsed().as_secs_f64();
        Ok(outcome)
    }

    /// Runs a script in the guest, and does meanwhile what it asks for.
    pub(crate) fn script(&mut self, script: &str) -> Result<Ran> {
        self.script_within(script, Duration::MAX)
    }

    /// The same, for `limit` at most.
    pub(crate) fn script_within(&mut self, script: &str, limit: Duration) -> Result<Ran> {
        let limit = limit.min(self.left()?);
        self.send_script(script, limit)?;
        loop {
            match self.receive(limit + GRACE)? {
                Reply::Ran(ran) => return Ok(ran),
                Reply::Wish { action } => {
                    let done = self.scenario.action(&action).and_then(|action| self.act(action));
                    let error = done.err().map(|error| format!("{error:#}"));
                    self.guest()?.send(&Request::Done { error })?;
                }
                other => bail!("asked to run a script, the guest says {other:?}"),
            }
        }
    }

    fn run_until_cut(&mut self, script: &str, after: Duration) -> Result<()> {
        let limit = self.left()?;
        self.send_script(script, limit)?;
        let begun = Instant::now();
        while let Some(rest) = after.checked_sub(begun.elapsed()) {
            // A script that ends before is cut all the same.
            if self.guest()?.receive(rest)?.is_some() {
                std::thread::sleep(after.saturating_sub(begun.elapsed()));
            }
        }
        self.act(Action::Cut)
    }

    fn send_script(&mut self, script: &str, limit: Duration) -> Result<()> {
        let timeout_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let script = script.to_owned();
        self.guest()?.send(&Request::Run { script, variables: BTreeMap::new(), timeout_ms })
    }

    fn act(&mut self, action: Action) -> Result<()> {
        let slotted = |i: usize| {
            let drive = self.drives().nth(i).cloned();
            drive.context("a drive without a slot")
        };
        match action {
            Action::Remove(i) => {
                let drive = slotted(i)?;
                self.guest()?.remove(&drive)
            }
            Action::Add(i) => {
                let drive = slotted(i)?;
                self.guest()?.add(&drive)
            }
            Action::Count => {
                let drives: Vec<Slotted> = self.drives().cloned().collect();
                let count = self.guest()?.count(&drives)?;
                self.counts.push(count);
                Ok(())
            }
            Action::Cut => {
                if let Some(guest) = self.guest.take() {
                    self.cuts += 1;
                    guest.cut(self.cuts)?;
                }
                self.guest = Some(Guest::boot(self.plan)?);
                self.begin()
            }
        }
    }

    /// SHA-256 of drives by name, after the guest has written what it held back.
    pub(crate) fn contents(
        &mut self,
        names: &BTreeSet<&String>,
    ) -> Result<BTreeMap<String, String>> {
        if !names.is_empty() {
            let ran = self.script(SYNC)?;
            ensure!(ran.exit == 0, "sync: {}", ran.stderr);
        }
        self.held(names)
    }

    /// SHA-256 of drives by name, of what the host holds of them.
    pub(crate) fn held(&self, names: &BTreeSet<&String>) -> Result<BTreeMap<String, String>> {
        let wanted = self.drives().filter(|slotted| names.contains(&slotted.drive.name));
        wanted
            .map(|slotted| {
                Ok((slotted.drive.name.clone(), sha256(&slotted.images(&self.plan.directory))?))
            })
            .collect()
    }

    fn ask(&mut self, request: &Request, limit: Duration) -> Result<Reply> {
        self.guest()?.send(request)?;
        self.receive(limit)
    }

    /// The guest's next word; one that says none is dead.
    fn receive(&mut self, limit: Duration) -> Result<Reply> {
        match self.guest()?.receive(limit) {
            Ok(Some(Reply::Failed { why })) => bail!(why),
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => {
                let words = self.guest()?.last_words();
                self.guest = None;
                bail!("the guest has said nothing for {} s\n{words}", limit.as_secs())
            }
            Err(error) => {
                self.guest = None;
                Err(error)
            }
        }
    }

    fn guest(&mut self) -> Result<&mut Guest> {
        self.guest.as_mut().context("the guest is gone")
    }

    /// Returns the time left for the scenario.
    fn left(&self) -> Result<Duration> {
        let limit = Duration::from_secs(self.scenario.timeout_s);
        let left = limit.checked_sub(self.begun.elapsed());
        left.with_context(|| format!("took longer than its {} s", self.scenario.timeout_s))
    }

    fn drives(&self) -> impl Iterator<Item = &'a Slotted> + use<'a> {
        let name = &self.scenario.name;
        self.plan.drives.iter().filter(move |slotted| slotted.scenario == *name)
    }

    /// `text` with the guest's variables, the longest names first.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut names: Vec<&String> = self.variables.keys().collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        names.iter().fold(text.to_owned(), |text, name| {
            text.replace(&format!("${name}"), &self.variables[*name])
        })
    }
}

fn sha256(images: &[PathBuf]) -> Result<String> {
    let mut hash = Sha256::new();
    for image in images {
        let mut file = fs::File::open(image).with_context(|| image.display().to_string())?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            match std::io::Read::read(&mut file, &mut buffer)? {
                0 => break,
                n => hash.update(&buffer[..n]),
            }
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
