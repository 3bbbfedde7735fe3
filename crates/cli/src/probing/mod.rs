//! One probing from its first note to its exit code: probed, recorded, shown.

pub mod restore;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, anyhow, bail};
use bench::consent;
use bench::opening;
use bench::originals;
use block::{Bytes, DriveInfo, DriveKind};
use documents::instrument::Instrument;
use drives::TargetSpec;
use engine::Bench;
use instruments::probe::{
    Limits, Opened, ProbeRun, cost, in_directory, left_behind, takes_directory, will_write,
    with_bench,
};
use live::{Display, Progress, When};
use probe::chain::Earlier;
use probe::{Body, Halt, Name, Plan, Task, capacity};
use record::{Announced, Document, SamplesFormat};
use runner::instrument::{self, Resumed};
use runner::place::Keep;
use runner::recorder::Closed;

use crate::announcing::{Next, announced};
use crate::args::{FilesArgs, Given, PlaceArgs, ProbePlaceArgs, RecordArgs};
use crate::envelope::{run_id, seed_of};
use crate::exit::Exit;
use crate::recorded::of_printed;
use crate::records::{self, Next as Then};
use crate::{files, messages};
use stats::Assessment;

/// The form of a probing's body.
pub use documents::instrument::PROBE as SCHEMA;

/// Description of a probe run.
pub struct Job<'a> {
    /// Verb, as typed: `probe`, `probe align`.
    pub verb: String,
    /// Target and limits.
    pub place: &'a ProbePlaceArgs,
    /// How it is shown.
    pub output: &'a FilesArgs,
    /// Whether and where to record it, and the run to resume.
    pub record: &'a RecordArgs,
    /// Flags that were typed.
    pub given: &'a Given,
    /// The probes.
    pub tasks: Vec<Task>,
    /// Directory for original data, as given by the user.
    pub keep_originals: Option<&'a Path>,
    /// Announcement, kept for the record.
    pub announced: Option<Box<Announced>>,
}

/// Completed probe run, recorded as far as possible.
pub struct Made<'a> {
    verb: String,
    output: &'a FilesArgs,
    document: Document<Body>,
    closed: Closed,
    broken: Option<Halt>,
    /// Location of the record.
    place: &'a PlaceArgs,
}

/// A recorded run that is to go on, with its plan.
struct Resumable {
    resumed: Resumed,
    plan: Plan,
}

impl<'a> Job<'a> {
    /// Announces what it takes; `plan` is that of the record where it resumes one.
    fn announced(&self, place: &ProbePlaceArgs, plan: Option<&Plan>) -> Result<Next> {
        let target = place.target();
        let (tasks, time, bytes) = match plan {
            Some(plan) => (&plan.tasks, plan.time_budget_ns, plan.write_budget_bytes),
            None => (&self.tasks, place.time_budget, place.write_budget),
        };
        let may_write =
            !target.is_real() || place.writing.write || takes_directory(place.place(), tasks);
        let time = match self.is_full() && !self.given.has("time_budget") {
            true => capacity::full::TIME,
            false => time,
        };
        let limits = Limits { time, bytes: if may_write { bytes } else { Bytes::ZERO } };
        let cost = |info: &DriveInfo| cost(tasks, info, limits);
        announced(target, &cost, self.output, place.anyway)
    }

    /// Probes, and records the result; the inner error is how a dry run ends.
    ///
    /// # Errors
    /// What makes probing impossible.
    pub fn make(mut self) -> Result<Result<Made<'a>, Exit>> {
        let cancel = Arc::new(AtomicBool::new(false));
        let _orderly = linux::signals::orderly(&cancel);
        let mut resumed = self.record.resume.as_ref().map(|run| self.resumed(run)).transpose()?;
        let mut place = self.place.clone();
        if let Some(Resumable { resumed, plan }) = &resumed {
            let setup = &resumed.run.setup;
            place.target = place.target.or_else(|| setup["target"].as_str().map(TargetSpec::of));
            place.seed = setup["drive_seed"].as_u64();
            if let Some(verb) = setup["verb"].as_str() {
                verb.clone_into(&mut self.verb);
            }
            let is_real = place.target().is_real();
            if let Some(left) = left_behind(&resumed.run).filter(|_| is_real) {
                messages::note(&format!("{}: {left}", resumed.run.id));
            }
            let might = is_real && plan.may_write;
            records::check_write(&resumed.run.id, might, is_real && place.writing.write)?;
        }
        let seed = match &resumed {
            Some(Resumable { plan, .. }) => plan.seed,
            None => seed_of(self.place.seed)?,
        };
        let (tasks, most) = match &resumed {
            Some(Resumable { plan, .. }) => (&plan.tasks, plan.write_budget_bytes),
            None => (&self.tasks, place.write_budget),
        };
        let plan = resumed.as_ref().map(|resumable| &resumable.plan);
        match self.announced(&place, plan)? {
            Next::Run(announced) => self.announced = announced,
            Next::End(exit) => return Ok(Err(exit)),
        }
        if self.output.plot.is_some() && !tasks.iter().any(views::plots::is_drawn) {
            bail!(
                "--plot: {} has results in words and numbers only, and no plot; leave it out",
                self.verb
            );
        }
        // Also `align` writes where it may: what reads do not show.
        let most = match tasks.as_slice() {
            // The gate says what will be written, where that is known.
            [task] => linux::target::size_of(place.target().as_path())
                .ok()
                .and_then(|size| will_write(task, size))
                .map_or(most, |will| if self.is_full() { will } else { will.min(most) }),
            _ => most,
        };
        let writes = (place.writing.write || tasks.iter().any(Task::must_write)).then_some(most);
        let saved_in = self.saved_in(&place, tasks)?;
        if self.is_full() {
            self.announce_full(&place)?;
        }
        let in_file = takes_directory(place.place(), tasks).then(|| run_id(seed));
        // Before the target is open: the gate cannot inspect a device that is held.
        let is_named = in_file.is_none() && place.target().is_real();
        let flags = is_named.then(|| consent::known_flags(place.target().as_str())).flatten();
        let mut work = |bench: &mut dyn Bench, opened: &Opened| {
            let flags = flags.as_deref().unwrap_or(views::remedies::WRITE_FLAGS);
            let kept = (saved_in.clone(), flags);
            self.on(bench, opened, seed, resumed.take(), kept)
        };
        let made = match in_file {
            Some(run_id) => in_directory(place.place(), run_id.as_str(), &cancel, &mut work),
            None => with_bench(place.place(), writes, &cancel, &mut work),
        };
        made.map(Ok)
    }

    /// True of a drive that is to be written as a whole.
    fn is_full(&self) -> bool {
        matches!(self.tasks.as_slice(), [Task::Capacity(options)] if options.full)
    }

    /// Says, before anybody consents to it, that everything is erased.
    fn announce_full(&self, place: &ProbePlaceArgs) -> Result<()> {
        let name = place.target();
        if self.record.resume.is_some() || !name.is_real() {
            return Ok(());
        }
        let size = linux::target::size_of(name.as_path())?;
        if self.given.has("write_budget") && place.write_budget < size {
            bail!(
                "--write-budget {}: --full writes all {} of {name}\n    hint: leave --write-budget out",
                place.write_budget,
                size.human()
            );
        }
        messages::note(&format!(
            "{name}: --full erases everything on it: all {} are written and read back, and nothing is put back",
            size.about()
        ));
        Ok(())
    }

    /// Directory for original data, if probes restore it; virtual drives need none.
    fn saved_in(&self, place: &ProbePlaceArgs, tasks: &[Task]) -> Result<Option<PathBuf>> {
        let options = tasks.iter().find_map(|task| match task {
            Task::Capacity(options) if options.keeps => Some(options),
            _ => None,
        });
        let target = place.target();
        let Some(options) = options.filter(|_| place.writing.write && target.is_real()) else {
            return Ok(None);
        };
        opening::check_name(target, "probed")?;
        let capacity = linux::target::size_of(target.as_path())?;
        let most = capacity::kept_most(capacity, Bytes(4096), options);
        let runs_dir = self.record.keep.place.runs_dir.as_deref();
        originals::choose(self.keep_originals, runs_dir, target.as_str(), most)
    }

    /// The run of this name, which is to go on.
    fn resumed(&self, name: &str) -> Result<Resumable> {
        records::check_beside_resume(self.given.recorded())?;
        let runs = self.record.keep.place.runs()?;
        let id = records::to_resume(&runs, name, Instrument::Probing)?;
        let resumed = records::resume(&runs, &id, Instrument::Probing, &self.record.keep.place)?;
        let plan = Plan::from_toml(&resumed.run.plan);
        let plan = plan.with_context(|| format!("{id}: its plan.toml"))?;
        Ok(Resumable { resumed, plan })
    }

    fn on(
        &self,
        bench: &mut dyn Bench,
        opened: &Opened,
        seed: u64,
        resumed: Option<Resumable>,
        (saved_in, write_flags): (Option<PathBuf>, &str),
    ) -> Result<Made<'a>> {
        let (plan, resumed) = match resumed {
            // Consent is required again each time.
            Some(Resumable { plan, resumed }) => {
                (Plan { may_write: opened.may_write, ..plan }, Some(resumed))
            }
            None => (self.plan(seed, opened.may_write, bench.info())?, None),
        };
        // Foreseeable errors are reported before anything is recorded.
        plan.terms(bench.info())?;
        let keeps = |task: &Task| matches!(task, Task::Capacity(options) if options.keeps);
        if plan.tasks.iter().any(keeps) {
            originals::refuse(&opened.identity, self.record.keep.place.runs_dir.as_deref())?;
        }
        if let [Task::Capacity(options)] = plan.tasks.as_slice()
            && opened.identity.kind != DriveKind::Virtual
            && opened.may_write
        {
            let back =
                if options.keeps { "up to half of that puts back what was there; " } else { "" };
            let most = report::number::bytes(plan.write_budget_bytes.0 as f64);
            let fake = format!("if it is a fake, more is written, up to {most} (--write-budget)");
            messages::note(&format!("{}: {back}{fake}", opened.identity.name));
        }
        let progress = Progress::of(&Display {
            live: When::OnKey,
            is_quiet: self.output.result.no_progress,
            verb: &self.verb,
            target: &opened.identity.name,
        })?;
        let keep = Keep { announced: self.announced.clone(), ..self.record.keep.keep() };
        let mut probing = ProbeRun {
            bench,
            opened,
            plan,
            verb: &self.verb,
            drive_seed: self.place.seed,
            saved_in,
            samples: keep.samples.unwrap_or(SamplesFormat::Parquet),
            write_flags,
            progress: Some(progress),
            earlier: Earlier::default(),
            halt: None,
        };
        let ended = instrument::run(&mut probing, &keep, run_id(seed), resumed)?;
        Ok(Made {
            verb: self.verb.clone(),
            output: self.output,
            broken: probing.halt,
            document: ended.document,
            closed: ended.closed,
            place: &self.record.keep.place,
        })
    }

    fn plan(&self, seed: u64, may_write: bool, info: &DriveInfo) -> Result<Plan> {
        let given = [(Name::EraseBlock, self.place.erase_block), (Name::Page, self.place.page)];
        let given = given.into_iter().filter_map(|(name, bytes)| Some((name, bytes?.0)));
        let mut plan = Plan {
            schema: probe::plan::SCHEMA.to_owned(),
            seed,
            time_budget_ns: self.place.time_budget,
            write_budget_bytes: if may_write { self.place.write_budget } else { Bytes::ZERO },
            may_write,
            region: self.place.region.and_then(|span| span.region()),
            given: given.collect::<BTreeMap<_, _>>(),
            tasks: self.tasks.clone(),
        };
        if self.is_full() {
            let capacity = info.capacity_bytes;
            plan.tasks = Task::full(capacity, info.logical_block_bytes);
            plan.write_budget_bytes = if may_write { capacity } else { Bytes::ZERO };
            if !self.given.has("time_budget") {
                plan.time_budget_ns = capacity::full::TIME;
            }
        }
        Ok(plan)
    }

    /// Probes, records and shows.
    ///
    /// # Errors
    /// What makes probing impossible, or its result unwritable.
    pub fn run(self) -> Result<Exit> {
        self.make()?.map_or_else(Ok, Made::show)
    }
}

/// A probe run as part of something else, which ends and shows it.
pub struct Taken {
    /// Result.
    pub body: Body,
    /// Its record.
    pub record: Closed,
    /// Error that ended it early, if any.
    pub broken: Option<Halt>,
}

impl Made<'_> {
    /// Hands over the result.
    pub fn take(self) -> Taken {
        Taken { body: self.document.body, record: self.closed, broken: self.broken }
    }

    /// Result.
    pub fn body(&self) -> &Body {
        &self.document.body
    }

    /// Prints it, draws its plot where one is asked for, and says how it ended.
    ///
    /// # Errors
    /// When it cannot be shown, or as [`Made::end`].
    pub fn show(self) -> Result<Exit> {
        let (output, document) = (self.output, &self.document);
        if !output.is_csv_on_stdout() {
            show(&self.verb, document, output.result.json)?;
        }
        let ended = files::Ended {
            record: &self.closed,
            place: self.place,
            is_halted: document.body.interrupted,
            document: &|| of_printed(&document.to_json()?, None),
        };
        let written = files::write(output, false, &ended);
        let exit = self.end(output.result.has_page())?;
        written.map(|()| exit)
    }

    /// Prints how to resume the run or show it. JSON (`quiet`) has the run's name anyway.
    ///
    /// # Errors
    /// When the record is not whole, or an I/O ended the probing.
    pub fn end(self, quiet: bool) -> Result<Exit> {
        let body = &self.document.body;
        let next = if body.interrupted { Then::Resume("probe") } else { Then::Show };
        records::end(self.closed, next, self.place, quiet)?;
        if let Some(halt) = self.broken {
            return Err(anyhow!(halt).context(body.target.name.clone()));
        }
        let is_bad = |finding| body.assessment(finding) == Assessment::Bad;
        let is_no =
            body.findings.iter().any(is_bad) || body.off_grid().is_some() || body.found_nothing();
        Ok(match (body.interrupted, is_no) {
            (true, _) => Exit::Interrupted,
            (false, true) => Exit::No,
            (false, false) => Exit::Done,
        })
    }
}

/// Prints a probing; `verb` is what the user called it.
///
/// # Errors
/// When it cannot be printed.
pub fn show(verb: &str, document: &Document<Body>, json: bool) -> Result<()> {
    if json {
        return messages::document(document);
    }
    let style = report::Style::default();
    let answers = views::probe::answers(verb, &document.body);
    let plot = views::plots::in_terminal(&document.body, style)?;
    let gap = if plot.as_str().is_empty() { "" } else { "\n" };
    messages::result(
        &(report::render_answers(&answers, style) + report::Styled::of_lines(gap) + plot),
    )
}
