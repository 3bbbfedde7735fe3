//! One measurement from its first note to its exit code: measured, recorded, shown.

use std::cell::OnceCell;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use documents::recorded::ResultBody;
use instruments::mark::{
    Closed, Job, Measured, Recording, RunMode, SamplesFile, Setup, check_consent, foresee, measure,
};
use live::{Display, Progress};
use mark::compare::RunLatencies;
use mark::sweep::Swept;
use mark::{Body, Broken};
use record::{Announced, Document, Run, RunId, State, Summary};
use report::{RateUnit, Style};
use runner::announce;
use runner::instrument::Outcome;
use serde_json::Value;
use workload::plan::Plan;

use crate::announcing::dry_run;
use crate::args::{FilesArgs, KeepArgs, OutputArgs, PlaceArgs};
use crate::envelope::{SystemClock, envelope};
use crate::exit::Exit;
use crate::recorded::of_printed;
use crate::records::{self, Next};
use crate::{files, messages};

/// The form of a mark's body.
pub use documents::instrument::MARK as SCHEMA;

/// Further entries of a record, by kind.
pub type Notes = Vec<(&'static str, Value)>;

/// Inputs of a measurement.
pub struct Session<'a> {
    /// The benchmark: target and plan.
    pub job: &'a Job<'a>,
    /// ID of the run, unless a recorded one is resumed.
    pub run_id: RunId,
    /// Settings needed to repeat the run.
    pub setup: Setup,
    /// New, resumed or repeated.
    pub course: RunMode,
    /// Whether and where to record it.
    pub keep: &'a KeepArgs,
    /// How it is shown.
    pub output: &'a OutputArgs,
}

/// Completed measurement, recorded as far as possible.
pub struct Made {
    /// The result, and its record.
    closed: Closed,
    broken: Option<Broken>,
    /// Location of the record.
    place: PlaceArgs,
    /// Its page was written, or a program reads its name from JSON.
    has_page: bool,
    /// The verb that resumes it.
    goes_on_with: &'static str,
    /// The file that has its single I/Os.
    samples: Option<PathBuf>,
}

impl Session<'_> {
    /// Measures, and records the result, with what `derive` makes of it beside it.
    ///
    /// # Errors
    /// Returns an error if a measurement is impossible.
    pub fn make(self, derive: &dyn Fn(&Body) -> Result<Notes>) -> Result<Made> {
        self.make_headed(derive, &|document| views::mark::headline(&document.body))
    }

    /// As [`Session::make`]; `headline` sums up the result for lists of runs.
    fn make_headed(
        self,
        derive: &dyn Fn(&Body) -> Result<Notes>,
        headline: &dyn Fn(&Document<Body>) -> String,
    ) -> Result<Made> {
        self.output.live.when(false).check()?;
        let mut keep = self.keep.keep();
        keep.announced = self.announce();
        let FilesArgs { result, .. } = &self.output.files;
        let force = result.force;
        let create = |path| SamplesFile::create(path, force);
        let samples = self.output.samples.as_deref().map(create).transpose()?;
        let (verb, target) = (self.setup.verb.clone(), self.setup.target.clone());
        let goes_on_with = self.setup.goes_on_with();
        let envelope = envelope(SCHEMA, self.run_id, &SystemClock);
        let recording = Recording::prepare(keep, envelope, self.setup, self.course)?;
        let progress = Progress::of(&Display {
            live: self.output.live.when(verb == "sweep"),
            is_quiet: result.no_progress,
            verb: &verb,
            target: &target,
        })?;
        let mut recording = recording.with(samples, progress).in_turns(self.job.turn);
        let measured = measure(self.job, &mut recording)?;
        let Measured { mut body, broken, notes } = measured;
        views::remedies::write(&mut body.caveats);
        notes.iter().for_each(|note| messages::note(note));
        let state = match (&broken, body.interrupted) {
            (Some(_), _) => State::Broken,
            (None, true) => State::Interrupted,
            (None, false) => State::Finished,
        };
        let notes = derive(&body)?;
        let outcome = Outcome { notes, ..Outcome::new(body, state) };
        let closed = recording.close(outcome, |document| Summary {
            verb,
            target,
            drive: views::drive(&document.body.target, &document.body.stack),
            headline: headline(document),
        });
        Ok(Made {
            closed,
            broken,
            place: self.keep.place.clone(),
            has_page: result.has_page(),
            goes_on_with,
            samples: self.output.samples.clone(),
        })
    }

    /// The name of a step of its plan.
    fn noun(&self) -> &'static str {
        match self.setup.verb.as_str() {
            "run" => "step",
            "sweep" => "setting",
            _ => "test",
        }
    }

    /// Announces the run; those that take turns are announced together. What makes it impossible is said by who makes it.
    fn announce(&self) -> Option<Box<Announced>> {
        if self.job.turn.is_some() {
            return None;
        }
        let announced = foresee(self.job, self.noun()).ok()?.announced;
        announce::say(&announced);
        Some(Box::new(announced))
    }

    /// Prints what would be done.
    ///
    /// # Errors
    /// When the measurement is impossible, as far as it shows beforehand.
    pub fn dry_run(&self) -> Result<Exit> {
        let foreseen = foresee(self.job, self.noun())?;
        check_consent(self.job)?;
        dry_run(&foreseen.announced, foreseen.is_pointless, self.output.files.result.json)
    }

    /// Measures, records and shows.
    ///
    /// # Errors
    /// What makes a measurement impossible, or its result unwritable.
    pub fn run(self) -> Result<Exit> {
        if self.output.files.dry_run {
            return self.dry_run();
        }
        if let Some(swept) = self.setup.sweep.clone() {
            return self.run_as_sweep(&swept);
        }
        let (output, verb) = (self.output, self.setup.verb.clone());
        let made = self.make(&|_| Ok(Vec::new()))?;
        let shown = match output.files.is_csv_on_stdout() {
            true => Ok(()),
            false => show(&verb, &made.closed.document, output.files.result.json, output.mib),
        };
        made.shown(shown, output, None)
    }

    /// Measures, records and shows what was measured as a sweep.
    ///
    /// # Errors
    /// What makes a measurement impossible, or its result unwritable.
    pub fn run_as_sweep(self, swept: &Swept) -> Result<Exit> {
        if self.output.files.dry_run {
            return self.dry_run();
        }
        let output = self.output;
        let plan = (self.job.plan)(true)?;
        let found = OnceCell::new();
        let find = |document: &_| views::sweep::found(swept, &plan, document);
        let made = self.make_headed(&|_| Ok(Vec::new()), &|document| {
            views::sweep::headline(found.get_or_init(|| find(document)))
        })?;
        let found = found.into_inner().unwrap_or_else(|| find(&made.closed.document));
        let shown = match output.files.is_csv_on_stdout() {
            true => Ok(()),
            false => crate::swept::show(&found, output.files.result.json, output.mib),
        };
        made.shown(shown, output, Some(&found))
    }
}

/// A result whose maker ends nothing and shows nothing: a part of something else.
pub struct Taken {
    /// The result.
    pub body: Body,
    /// Its record.
    pub record: runner::recorder::Closed,
    /// The I/O that ended it early, if one did.
    pub broken: Option<Broken>,
}

impl Made {
    /// The latencies of each run, of a measurement in turns.
    pub fn latencies(&self) -> &RunLatencies {
        &self.closed.latencies
    }

    /// The result with its envelope.
    pub fn document(&self) -> &Document<Body> {
        &self.closed.document
    }

    /// The run, when it is recorded.
    pub fn id(&self) -> Option<&RunId> {
        self.closed.record.id.as_ref()
    }

    /// Hands over what was made.
    pub fn take(self) -> Taken {
        let Closed { document, record, .. } = self.closed;
        Taken { body: document.body, record, broken: self.broken }
    }

    /// Ends the session when the result was shown; otherwise the error says how to show the record, if there is one.
    fn shown(
        self,
        shown: Result<()>,
        output: &OutputArgs,
        sweep: Option<&Document<mark::sweep::Body>>,
    ) -> Result<Exit> {
        let made = self;
        match (&made.closed.record.id, &made.closed.record.failure) {
            (Some(id), None) => shown.with_context(|| {
                let place = made.place.flag();
                format!(
                    "the result is recorded and not shown; see drivescope runs show {id}{place}"
                )
            })?,
            _ => shown?,
        }
        let written = made.write(output, sweep);
        let exit = made.end()?;
        written.map(|()| exit)
    }

    /// Writes the files that were asked for beside the result.
    ///
    /// # Errors
    /// As [`files::write`].
    pub fn write(
        &self,
        output: &OutputArgs,
        sweep: Option<&Document<mark::sweep::Body>>,
    ) -> Result<()> {
        let Closed { document, record, .. } = &self.closed;
        let ended = files::Ended {
            record,
            place: &self.place,
            is_halted: document.body.interrupted,
            document: &|| match sweep {
                None => of_printed(&document.to_json()?, None),
                Some(sweep) => {
                    let found = ResultBody::Sweep(Box::new(sweep.body.clone()));
                    of_printed(&sweep.to_json()?, Some(found))
                }
            },
        };
        files::write(&output.files, output.mib, &ended)
    }

    /// Says where the run is kept, and how it ended.
    ///
    /// # Errors
    /// When the record is not whole, or an I/O ended the measurement.
    pub fn end(self) -> Result<Exit> {
        let Made { closed: Closed { document, record, .. }, .. } = self;
        let body = &document.body;
        if let Some(samples) = self.samples.filter(|_| body.interrupted && record.id.is_some()) {
            messages::note(&format!(
                "{} has the I/Os so far; the later ones go to another file",
                samples.display()
            ));
        }
        let next = if body.interrupted { Next::Resume(self.goes_on_with) } else { Next::Show };
        records::end(record, next, &self.place, self.has_page)?;
        if let Some(broken) = self.broken {
            return Err(broken.into());
        }
        let is_bad = body.refuted() || body.unsafe_cache().is_some();
        Ok(match (body.interrupted, is_bad) {
            (true, _) => Exit::Interrupted,
            (false, true) => Exit::No,
            (false, false) => Exit::Done,
        })
    }
}

/// Prints the result of a recorded run as it was printed then: a mark, or a sweep.
///
/// # Errors
/// When it cannot be printed, or its plan is of another version.
pub fn show_recorded(run: &Run, document: &Document<Body>, mib: bool) -> Result<()> {
    let swept = if run.is_bare() { None } else { Setup::of_record(run)?.sweep };
    let Some(swept) = swept.filter(|_| run.summary.verb == "sweep") else {
        return show(&run.summary.verb, document, false, mib);
    };
    let plan = Plan::from_toml(&run.plan).with_context(|| format!("{}: its plan.toml", run.id))?;
    crate::swept::show(&views::sweep::found(&swept, &plan, document), false, mib)
}

/// Prints a mark; `verb` is what the user called it.
///
/// # Errors
/// When it cannot be printed.
pub fn show(verb: &str, document: &Document<Body>, json: bool, mib: bool) -> Result<()> {
    if json {
        return messages::document(document);
    }
    let rate = if mib { RateUnit::Mib } else { RateUnit::Mb };
    let sheet = views::mark::sheet(verb, &document.body, rate);
    messages::result(&report::render_sheet(&sheet, Style { rate, ..Style::default() }))
}
