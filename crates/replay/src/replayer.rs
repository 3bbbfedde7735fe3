//! Replays a trace on drives: each is opened, the requests are planned for it, issued, and shown to an observer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, anyhow, bail};
use bench::consent::{self, Consent};
use bench::opening::{self, Opened, Place, Visitor};
use block::{Bounds, Environment};
use drives::TargetSpec;
use engine::IoPath;
use engine::replay::Reason;
use linux::scheduler::Held;
use linux::signals::Orderly;
use linux::sysfs::Roots;
use trace::replay::{Mode, Opener, Options, Plan, Survey, Writes};
use trace::{Kind, Source, import};

use crate::replay::{Observer, Prepared, Replay, ReplayTarget};
use crate::settings::{Settings, bytes_changed};
use crate::times::ReferenceTimes;

/// A file of a trace, which is read more than once.
#[derive(Clone, Debug)]
pub struct TraceFile {
    files: Vec<PathBuf>,
    options: import::Options,
}

impl TraceFile {
    /// The trace in the file at `path`.
    ///
    /// # Errors
    /// When it can be read only once.
    pub fn new(path: &Path, options: import::Options) -> Result<TraceFile> {
        if path == Path::new("-") {
            bail!(
                "a replay reads its trace more than once, and standard input can be read once: \
                 `drivescope trace import - -o FILE.parquet` makes a file of it"
            );
        }
        Ok(TraceFile { files: vec![path.to_owned()], options })
    }

    /// The file, as the readers take it.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.files[0]
    }

    /// How it is read.
    pub fn options(&self) -> &import::Options {
        &self.options
    }

    fn opener(&self) -> Opener {
        let trace = self.clone();
        Box::new(move || import::open(&trace.files, &trace.options))
    }
}

/// Replays one trace by the same settings on any drive.
pub struct Replayer {
    /// The settings.
    pub settings: Settings,
    /// The trace.
    pub trace: TraceFile,
    /// Set by Ctrl-C.
    pub cancel: Arc<AtomicBool>,
    _orderly: Orderly,
    survey: Survey,
}

impl Replayer {
    /// Reads the `trace` once, of which `source` is opened at its beginning.
    ///
    /// # Errors
    /// When the trace cannot be read, or needs no reference drive.
    pub fn new(settings: Settings, trace: TraceFile, source: &mut dyn Source) -> Result<Replayer> {
        let Options { from, until, .. } = settings.options;
        let survey = Survey::of(source, from, until)?;
        if let Some(reference) = settings.reference.as_ref().filter(|_| survey.has_completions()) {
            bail!(
                "--reference {}: {} has its own completions, so what was outstanding is known; leave it out",
                reference.target,
                trace.path().display()
            );
        }
        // Not before the trace was read, which a signal ends on the spot.
        let cancel = Arc::new(AtomicBool::new(false));
        let orderly = linux::signals::orderly(&cancel);
        Ok(Replayer { settings, trace, cancel, _orderly: orderly, survey })
    }

    /// Replays by `options` on a drive; `times` are those of a replay on a reference drive.
    ///
    /// # Errors
    /// When the drive cannot be opened, the trace does not fit it, or the observer refuses.
    pub fn replay(
        &self,
        on: ReplayTarget<'_>,
        options: &Options,
        times: Option<&mut ReferenceTimes>,
        observer: &mut dyn Observer,
    ) -> Result<Replay> {
        let Settings { tester, allow, .. } = &self.settings;
        let options = self.settings.options_on(options, &self.survey, on.target)?;
        self.check_scheduler(on.target)?;
        let changed = bytes_changed(&self.survey, &options);
        let place = Place {
            target: on.target,
            engine: tester.engine,
            cpus: tester.cpus.as_deref(),
            buffered: false,
            write: self.settings.writes == Some(Writes::Issue),
            consent: on.consent,
            allow,
            seed: Some(on.seed),
            what: "replayed to",
        };
        opening::open(place, changed, &mut Visit { replayer: self, on, options, times, observer })
    }

    /// Time, bytes read and bytes written of a replay on `target`, as far as the trace shows them.
    ///
    /// # Errors
    /// A refusal when the user has not consented to the writes of the trace.
    pub fn outlook(&self, target: &TargetSpec) -> Result<[Bounds; 3]> {
        let Survey { first_arrival, last_arrival, bytes, .. } = &self.survey;
        let options = self.settings.options_on(&self.settings.options, &self.survey, target)?;
        let span = last_arrival.0.saturating_sub(first_arrival.0);
        let time = match options.mode {
            Mode::Timed => Bounds::of(span),
            Mode::Scaled(scale) => {
                let scaled = (span as f64 * scale.factor) as u64;
                let is_whole = scale.idle_max.is_none() && !scale.idle_only;
                if is_whole { Bounds::of(scaled) } else { Bounds::up_to(Some(scaled.max(span))) }
            }
            Mode::Outstanding(_) | Mode::Afap(_) => Bounds::up_to(None),
        };
        let of = |kind: Kind| bytes[kind as usize].0;
        let instead = if options.writes == Writes::AsReads { of(Kind::Write) } else { 0 };
        let loops = u64::from(options.loops);
        let read = Bounds::of(of(Kind::Read).saturating_add(instead)).times(loops);
        let written = Bounds::of(bytes_changed(&self.survey, &options).unwrap_or_default().0);
        Ok([time.times(loops), read, written])
    }

    /// Checks that a drive which a later replay writes to is not refused: before an earlier one has written to another
    /// drive, which would then have lost its data for nothing.
    ///
    /// # Errors
    /// The safety gate's refusal.
    pub fn check(&self, on: ReplayTarget<'_>) -> Result<()> {
        let Settings { tester, allow, options, .. } = &self.settings;
        opening::check_name(on.target, "replayed to")?;
        opening::note_without_effect(on.target, tester.engine, tester.cpus.as_deref(), &[]);
        let options = self.settings.options_on(options, &self.survey, on.target)?;
        let consent = Consent { consent: on.consent, allow };
        match bytes_changed(&self.survey, &options) {
            Some(bytes) if on.target.is_real() => {
                consent::foresee(consent, on.target.as_path(), Some(bytes))?;
            }
            _ => {}
        }
        drives::look(on.target)?;
        Ok(())
    }

    /// Checks that the scheduler that the user wants can be set. It is set when the safety gate has allowed writing.
    fn check_scheduler(&self, target: &TargetSpec) -> Result<()> {
        match &self.settings.tester.scheduler {
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

/// Replays on the drive that is open.
struct Visit<'a> {
    replayer: &'a Replayer,
    on: ReplayTarget<'a>,
    options: Options,
    times: Option<&'a mut ReferenceTimes>,
    observer: &'a mut dyn Observer,
}

impl Visitor for Visit<'_> {
    type Out = Replay;

    fn visit(
        &mut self,
        target: &mut dyn IoPath,
        environment: &mut dyn Environment,
        opened: &Opened<'_>,
    ) -> Result<Replay> {
        let Replayer { settings, trace, survey, cancel, .. } = self.replayer;
        let info = target.info().clone();
        let stack = environment.stack().clone();
        let has_reference = self.times.is_some();
        let plan = Plan::new(survey.clone(), &info, self.options.clone(), has_reference)?;
        let reader = self.times.as_mut().map(|times| times.reader()).transpose()?;
        let mut stream = plan.stream(trace.opener(), reader)?;
        let setup = settings.setup(&plan, info.kind, self.on.seed);
        let engine = opened.engine.clone();
        let path = self.on.target.as_path();
        let hold = |wanted: &String| linux::scheduler::hold(&Roots::default(), path, wanted);
        let held: Option<Held> = settings.tester.scheduler.as_ref().map(hold).transpose()?;
        let scheduler = held.as_ref().map(|held| (held.now().to_owned(), held.before().to_owned()));
        let (identity, set) = (&opened.identity, scheduler.as_ref());
        self.observer.begin(Prepared { plan: &plan, identity, scheduler: set })?;
        let ended = engine::replay::replay(
            target,
            environment,
            &mut stream,
            &setup,
            cancel,
            &mut |replayed| self.observer.observe(replayed),
        )
        .with_context(|| self.on.target.to_string())?;
        let failure = ended.failure.as_ref().filter(|_| ended.reason == Reason::Errors);
        let broken = failure.map(|failure| {
            let failed = report::number::counted(ended.errors as usize, "I/O");
            let errors = format!("{failed} failed, and --errors allows {}", setup.errors_max);
            anyhow!("{failure}").context(errors).context(self.on.target.to_string())
        });
        let (counts, original) = stream.finish();
        Ok(Replay { plan, info, engine, stack, ended, broken, counts, original, scheduler })
    }
}
