//! One probing from its first note to its exit code: probed, recorded, shown.

mod keep;
mod open;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, anyhow};
use block::Bytes;
use engine::Bench;
use probe::chain::{self, Around};
use probe::{Body, Halt, Name, Plan, Task};
use record::{Document, RunId, State, Summary};

use crate::args::{KeepArgs, ProbeOutputArgs, ProbePlaceArgs};
use crate::envelope::{SystemClock, envelope};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::verbs::mark::{run_id, seed_of};
use crate::{talk, view};

use keep::ProbeRecord;
pub use open::must_write;
use open::{Opened, with_bench};

/// The form of a probing's body.
pub const SCHEMA: &str = "drivescope.probe/1";

/// What is to be probed.
pub struct Job<'a> {
    /// What the user called it: `probe`, `probe align`.
    pub verb: String,
    /// Where, and within which limits.
    pub place: &'a ProbePlaceArgs,
    /// How it is shown.
    pub output: &'a ProbeOutputArgs,
    /// Whether and where it is recorded.
    pub keep: &'a KeepArgs,
    /// The probes.
    pub tasks: Vec<Task>,
}

/// What was found, recorded as far as that was possible.
pub struct Made {
    /// The result with its envelope.
    pub document: Document<Body>,
    /// The run's name, or why it is not recorded to its end.
    recorded: Result<Option<RunId>>,
    broken: Option<Halt>,
}

impl Job<'_> {
    /// Probes, and records the result.
    ///
    /// # Errors
    /// What makes probing impossible.
    pub fn make(self) -> Result<Made> {
        let cancel = Arc::new(AtomicBool::new(false));
        linux::signals::install(cancel.clone()).context("cannot watch for Ctrl-C")?;
        let seed = seed_of(self.place.seed)?;
        let writes = self.tasks.iter().any(Task::must_write).then_some(self.place.write_budget);
        with_bench(self.place, writes, &cancel, &mut |bench, opened| self.on(bench, opened, seed))
    }

    fn on(&self, bench: &mut dyn Bench, opened: &Opened, seed: u64) -> Result<Made> {
        let plan = self.plan(seed, opened.may_write);
        // What can be known to fail is told before anything is recorded.
        plan.terms(bench.info())?;
        let mut envelope = envelope(SCHEMA, run_id(seed), &SystemClock);
        let progress = Progress::new(!self.output.no_progress);
        let mut record = ProbeRecord::begin(
            self.keep,
            &mut envelope,
            &plan,
            &self.verb,
            &opened.identity,
            progress,
        )?;
        let around = Around {
            engine: &opened.engine,
            claims: &opened.claims,
            classes: &opened.classes,
            keeper: &mut record,
        };
        let (body, broken) = chain::run(bench, &plan, around)?;
        let document = Document { envelope, body };
        let state = match (&broken, document.body.interrupted) {
            (Some(_), _) => State::Broken,
            (None, true) => State::Interrupted,
            (None, false) => State::Finished,
        };
        let summary = Summary {
            verb: self.verb.clone(),
            target: self.place.name().to_owned(),
            drive: view::probe::drive(&document.body),
            headline: view::probe::headline(&document.body),
        };
        let recorded = record.close(&document, state, &summary);
        Ok(Made { document, recorded, broken })
    }

    fn plan(&self, seed: u64, may_write: bool) -> Plan {
        let given = [(Name::EraseBlock, self.place.erase_block), (Name::Page, self.place.page)];
        let given = given.into_iter().filter_map(|(name, bytes)| Some((name, bytes?.0)));
        Plan {
            schema: probe::plan::SCHEMA.to_owned(),
            seed,
            time_budget_ns: self.place.time_budget,
            write_budget_bytes: if may_write { self.place.write_budget } else { Bytes::ZERO },
            may_write,
            region: self.place.region.and_then(|span| span.region()),
            given: given.collect::<BTreeMap<_, _>>(),
            tasks: self.tasks.clone(),
        }
    }

    /// Probes, records and shows.
    ///
    /// # Errors
    /// What makes probing impossible, or its result unwritable.
    pub fn run(self) -> Result<Exit> {
        let (output, keep, verb) = (self.output, self.keep, self.verb.clone());
        self.make()?.show(&verb, output, keep)
    }
}

impl Made {
    /// Prints it, draws its plot where one is asked for, and says how it ended.
    ///
    /// # Errors
    /// When it cannot be shown, or as [`Made::end`].
    pub fn show(self, verb: &str, output: &ProbeOutputArgs, keep: &KeepArgs) -> Result<Exit> {
        show(verb, &self.document, output.json)?;
        if let Some(path) = &output.plot {
            view::plots::draw(&self.document.body, path)?;
        }
        self.end(output.json, keep)
    }

    /// Says where the run is kept, and how it ended.
    ///
    /// # Errors
    /// When the record is not whole, or an I/O ended the probing.
    pub fn end(self, json: bool, keep: &KeepArgs) -> Result<Exit> {
        if let Some(id) = self.recorded?
            && !json
            && std::io::stderr().is_terminal()
        {
            let place = keep.place.flag();
            talk::note(&format!("recorded; to see it again: drivescope runs show {id}{place}"));
        }
        let body = &self.document.body;
        if let Some(halt) = self.broken {
            return Err(anyhow!(halt).context(body.target.name.clone()));
        }
        Ok(match (body.interrupted, body.found_nothing()) {
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
        return talk::result(&document.to_json().context("cannot write the result as JSON")?);
    }
    let answers = view::probe::answers(verb, &document.body);
    talk::result(&report::render_answers(&answers, report::Style::default()))
}
