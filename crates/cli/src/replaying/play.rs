//! One replay on one drive: opened, planned, issued, told to whoever listens.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, anyhow, bail};
use bench::consent::{self, Consent};
use bench::opening::{self, Opened, Place, Visitor};
use block::{DriveIdentity, DriveInfo, Environment, Stack};
use documents::replay::ReplayBody;
use drives::TargetSpec;
use engine::IoPath;
use engine::replay::{Reason, Replayed};
use linux::scheduler::Held;
use linux::signals::Orderly;
use linux::sysfs::Roots;
use record::{State, Summary};
use runner::instrument::{Ended, Outcome, Running};
use serde_json::json;
use trace::import;
use trace::replay::{Counts, Opener, Options, Original, Plan, Survey};

use super::ask;
use super::times::Reference;
use crate::args::{PlayArgs, ReadingArgs};
use crate::envelope::seed_of;
use crate::trace_files::opened;

/// A trace that is read as often as it takes.
#[derive(Clone, Debug)]
struct Trace {
    files: Vec<PathBuf>,
    options: import::Options,
}

impl Trace {
    /// The trace in the file at `path`.
    ///
    /// # Errors
    /// When it can be read only once.
    fn new(path: &Path, options: import::Options) -> Result<Trace> {
        if path == Path::new("-") {
            bail!(
                "a replay reads its trace more than once, and standard input can be read once: \
                 `drivescope trace import - -o FILE.parquet` makes a file of it"
            );
        }
        Ok(Trace { files: vec![path.to_owned()], options })
    }

    /// What has to be known before its first request can be planned.
    ///
    /// # Errors
    /// Those of reading it.
    fn survey(&self, options: &Options) -> Result<Survey> {
        let mut source = opened(&self.files, &self.options)?;
        Ok(Survey::of(source.as_mut(), options.from, options.until)?)
    }

    fn opener(&self) -> Opener {
        let trace = self.clone();
        Box::new(move || import::open(&trace.files, &trace.options))
    }
}

/// What is the same for every replay of a command.
pub struct Job<'a> {
    /// How the trace is replayed and how requests reach a drive.
    pub args: &'a PlayArgs,
    /// The same in the words of the room that replays, but for what may be written.
    pub options: Options,
    /// Root of all randomness.
    pub seed: u64,
    /// Ctrl-C.
    pub cancel: Arc<AtomicBool>,
    _orderly: Orderly,
    trace: Trace,
    survey: Survey,
}

impl<'a> Job<'a> {
    /// Reads the trace in the file at `path` once.
    ///
    /// # Errors
    /// When flags do not go together, or the trace cannot be read.
    pub fn new(path: &Path, reading: &ReadingArgs, args: &'a PlayArgs) -> Result<Job<'a>> {
        let seed = seed_of(args.tester.seed)?;
        let options = ask::options(args, seed)?;
        let trace = Trace::new(path, reading.options())?;
        let survey = trace.survey(&options)?;
        if let Some(name) = args.reference.as_ref().filter(|_| survey.has_completions()) {
            bail!(
                "--reference {name}: {} tells its own completions, so what was outstanding is known; leave it out",
                path.display()
            );
        }
        // Not before the trace was read, which a signal ends on the spot.
        let cancel = Arc::new(AtomicBool::new(false));
        let orderly = linux::signals::orderly(&cancel);
        Ok(Job { args, options, seed, cancel, _orderly: orderly, trace, survey })
    }
}

/// The drive of one replay.
#[derive(Clone, Copy)]
pub struct On<'a> {
    /// The drive or file.
    pub target: &'a TargetSpec,
    /// The word of consent for it.
    pub consent: Option<&'a String>,
    /// Of its own noise, when it is a virtual one, and of what is written.
    pub seed: u64,
}

/// What a replay left.
pub struct Played {
    /// What was issued.
    pub plan: Plan,
    /// The drive.
    pub info: DriveInfo,
    /// How I/O was issued.
    pub engine: String,
    /// What I/O to it passes through.
    pub stack: Stack,
    /// How it ended.
    pub ended: engine::replay::Ended,
    /// Why it ended early, when I/O errors did that.
    pub broken: Option<anyhow::Error>,
    /// What was planned and what was not.
    pub counts: Counts,
    /// What the original did.
    pub original: Original,
    /// The scheduler that was set for it, and the one before.
    pub scheduler: Option<(String, String)>,
}

impl Played {
    /// Ends the record of this replay, whose result is `body`.
    pub fn close(&self, mut running: Running, body: ReplayBody) -> Ended<ReplayBody> {
        let state = match self.ended.reason {
            Reason::Complete => State::Finished,
            Reason::Cancelled => State::Interrupted,
            Reason::Errors => State::Broken,
        };
        // A replay that ended early is not a whole step.
        if state == State::Finished {
            let verdict = body.replay.fidelity.verdict.word();
            running.recorder.step(0, "replay", &json!({ "verdict": verdict }), Vec::new());
        }
        running.close(Outcome::new(body, state), |document| summary(&document.body))
    }
}

/// The line about a replay in lists of runs.
fn summary(body: &ReplayBody) -> Summary {
    let ReplayBody { drive, .. } = body;
    Summary {
        verb: "trace replay".to_owned(),
        target: drive.target.name.clone(),
        drive: views::drive(&drive.target, &drive.stack),
        headline: views::replay::headline(body),
    }
}

/// What is known before the first request.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// What will be issued.
    pub plan: &'a Plan,
    /// Who the drive is.
    pub identity: &'a DriveIdentity,
    /// The scheduler that was set for it, and the one before.
    pub scheduler: Option<&'a (String, String)>,
}

/// Whoever is told what becomes of requests.
pub trait Listener {
    /// Before the first request.
    ///
    /// # Errors
    /// What makes the replay pointless.
    fn begin(&mut self, start: Start<'_>) -> Result<()>;

    /// A batch of completed requests.
    fn see(&mut self, replayed: &[Replayed]);
}

impl Job<'_> {
    /// Replays by `options` on a drive; `reference` are the times of a reference replay.
    ///
    /// # Errors
    /// What makes it impossible.
    pub fn play(
        &self,
        on: On<'_>,
        options: &Options,
        reference: Option<&mut Reference>,
        listener: &mut dyn Listener,
    ) -> Result<Played> {
        let tester = &self.args.tester;
        let may_write = ask::writes(self.args, &self.survey, on.target)?;
        let discards = may_write == trace::replay::Writes::Issue;
        let options = Options { writes: may_write, discards, ..options.clone() };
        self.check_scheduler(on.target)?;
        let changes = ask::changes(&self.survey, &options);
        let place = Place {
            target: on.target,
            engine: tester.engine,
            cpus: tester.cpus.as_deref(),
            buffered: false,
            write: self.args.consent.write,
            consent: on.consent,
            allow: &self.args.consent.allow,
            seed: Some(on.seed),
            what: "replayed to",
        };
        let mut player = Player { job: self, on, options, reference, listener };
        opening::open(place, changes, &mut player)
    }

    /// Finds out whether a drive that a later replay writes to would be refused: before an earlier one has written to
    /// another drive, which would then have lost its data for nothing.
    ///
    /// # Errors
    /// The safety gate's refusal.
    pub fn foresee(&self, on: On<'_>) -> Result<()> {
        let tester = &self.args.tester;
        opening::check_name(on.target, "replayed to")?;
        let cpus = tester.cpus.as_deref();
        opening::note_without_effect(on.target, tester.engine, cpus, &[]);
        let writes = ask::writes(self.args, &self.survey, on.target)?;
        let discards = writes == trace::replay::Writes::Issue;
        let options = Options { writes, discards, ..self.options.clone() };
        let said = Consent { consent: on.consent, allow: &self.args.consent.allow };
        match ask::changes(&self.survey, &options) {
            Some(bytes) if on.target.is_real() => {
                consent::foresee(said, on.target.as_path(), Some(bytes))
            }
            _ => Ok(()),
        }
    }

    /// Finds out whether the scheduler that the user wants can be set. That is done behind the safety gate.
    fn check_scheduler(&self, target: &TargetSpec) -> Result<()> {
        match &self.args.tester.scheduler {
            Some(wanted) if target.is_real() => {
                Ok(linux::scheduler::check(&Roots::default(), target.as_path(), wanted)?)
            }
            Some(wanted) => bail!(
                "--scheduler {wanted}: {target} has no I/O scheduler; it is for block devices, leave it out"
            ),
            _ => Ok(()),
        }
    }
}

struct Player<'a> {
    job: &'a Job<'a>,
    on: On<'a>,
    options: Options,
    reference: Option<&'a mut Reference>,
    listener: &'a mut dyn Listener,
}

impl Visitor for Player<'_> {
    type Out = Played;

    fn visit(
        &mut self,
        target: &mut dyn IoPath,
        environment: &mut dyn Environment,
        opened: &Opened<'_>,
    ) -> Result<Played> {
        let info = target.info().clone();
        let stack = environment.stack().clone();
        let referred = self.reference.is_some();
        let plan = Plan::new(self.job.survey.clone(), &info, self.options.clone(), referred)?;
        let reader = self.reference.as_mut().map(|reference| reference.reader()).transpose()?;
        let mut stream = plan.stream(self.job.trace.opener(), reader)?;
        let setup = ask::setup(self.job.args, &plan, info.kind, self.on.seed);
        let engine = opened.engine.clone();
        let wanted = self.job.args.tester.scheduler.as_ref();
        let held: Option<Held> = wanted
            .map(|wanted| {
                linux::scheduler::hold(&Roots::default(), self.on.target.as_path(), wanted)
            })
            .transpose()?;
        let scheduler = held.as_ref().map(|held| (held.now().to_owned(), held.before().to_owned()));
        let start =
            Start { plan: &plan, identity: &opened.identity, scheduler: scheduler.as_ref() };
        self.listener.begin(start)?;
        let ended = engine::replay::replay(
            target,
            environment,
            &mut stream,
            &setup,
            &self.job.cancel,
            &mut |replayed| self.listener.see(replayed),
        )
        .with_context(|| self.on.target.to_string())?;
        let failure = ended.failure.as_ref().filter(|_| ended.reason == Reason::Errors);
        let broken = failure.map(|failure| {
            let failed = report::number::counted(ended.errors as usize, "I/O");
            let errors = format!("{failed} failed, and --errors allows {}", setup.errors_max);
            anyhow!("{failure}").context(errors).context(self.on.target.to_string())
        });
        let (counts, original) = stream.finish();
        Ok(Played { plan, info, engine, stack, ended, broken, counts, original, scheduler })
    }
}
