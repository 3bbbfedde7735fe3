//! Who listens to a replay: the judge, the kernel's check, the file that keeps it, the line of progress.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow};
use bench::outputs;
use block::{Bytes, Event, Nanos, RunSink as _};
use engine::replay::Replayed;
use live::Progress;
use live::page;
use trace::container::{Existing, Writer};
use trace::replay::{Body, Check, Judge, Mode, Plan};
use trace::{Io, Space, TraceError, TraceInfo};

use super::play::{Listener, Played, Start};

/// Requests that are held against the kernel's tracer, at most: some 50 MB.
pub const CHECKED_MAX: usize = 1_000_000;

/// How often progress is told.
const TELL_EVERY: Nanos = Nanos::millis(200);

/// I/Os that are written to the file at a time.
const KEPT_AT_ONCE: usize = 8 << 10;

/// Begins the record of a replay, and keeps it for whoever ends it.
pub type Begin<'a> = &'a mut dyn FnMut(Start<'_>) -> Result<()>;

/// What is to be listened for.
#[derive(Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// The replay as a trace of its own.
    pub save: Option<&'a Path>,
    /// Its requests, for the kernel's check.
    pub check: bool,
}

/// Listens to one replay.
pub struct Ear<'a> {
    wanted: Wanted<'a>,
    /// Before the first request, so that a replay which is killed has left its record.
    record: Begin<'a>,
    progress: Progress,
    /// What is shown as being done, and which of how many it is.
    what: (String, u32, u32),
    judge: Option<Judge>,
    check: Option<Check>,
    saver: Option<Saver>,
    /// The latest due time.
    last_due: Nanos,
    told: Nanos,
    since: (u64, u64),
    /// Requests, the longest that one was issued after it could be, and those that failed.
    seen: (u64, Nanos, u64),
}

impl<'a> Ear<'a> {
    /// For a replay that is shown as `what`, the `position`th (from 0) of `positions`; `record` is called before its
    /// first request.
    pub fn new(
        wanted: Wanted<'a>,
        record: Begin<'a>,
        progress: Progress,
        what: &str,
        (position, positions): (u32, u32),
    ) -> Ear<'a> {
        Ear {
            wanted,
            record,
            progress,
            what: (what.to_owned(), position, positions),
            judge: None,
            check: None,
            saver: None,
            last_due: Nanos::ZERO,
            told: Nanos::ZERO,
            since: (0, 0),
            seen: (0, Nanos::ZERO, 0),
        }
    }

    /// What was heard: the judge's words on `played`, and what the kernel's words are to be held against.
    pub fn finish(self, played: &Played) -> Heard {
        let Ear { progress, judge, check, saver, last_due, .. } = self;
        drop(progress);
        let body = judge.map(|judge| judge.finish(played.counts, &played.original, &played.ended));
        let unsaved = saver.and_then(|saver| saver.finish(played).err()).map(unsaved);
        Heard { body, check, last_due, unsaved }
    }

    fn tell(&mut self, replayed: &[Replayed]) {
        for one in replayed {
            self.since.0 += 1;
            self.since.1 += one.planned.len.0;
            self.last_due = self.last_due.max(one.planned.at);
            let (ios, late, failed) = self.seen;
            let late = late.max(Nanos(one.issued.0.saturating_sub(one.ready.0)));
            self.seen = (ios + 1, late, failed + u64::from(one.outcome.bytes().is_err()));
        }
        let Some(at) = replayed.iter().map(|one| one.completed).max() else { return };
        if at.0 >= self.told.0.saturating_add(TELL_EVERY.0) {
            let length = Nanos(at.0 - self.told.0);
            let (ios, bytes) = (self.since.0, Bytes(self.since.1));
            self.progress.event(&Event::Interval { at, length, ios, bytes });
            let (ios, late, failed) = self.seen;
            self.progress.update(|model| model.facts = page::of_replay(ios, late, failed));
            (self.told, self.since) = (at, (0, 0));
        }
    }
}

impl Listener for Ear<'_> {
    fn begin(&mut self, start: Start<'_>) -> Result<()> {
        (self.record)(start)?;
        let plan = start.plan;
        let (step, position, positions) = self.what.clone();
        self.progress.event(&Event::StepStarted {
            position,
            positions,
            step,
            run: 0,
            planned: plan.planned(),
        });
        let mut judge = Judge::new(plan, None);
        if let Some(path) = self.wanted.save {
            let saver = Saver::create(path, plan).map_err(|error| match error {
                TraceError::Io { source, file } if source.kind() == ErrorKind::AlreadyExists => {
                    anyhow!("--save {file}: exists, and nothing is written over; name another file")
                }
                error => unsaved(error),
            })?;
            judge = judge.tapped(saver.tap());
            self.saver = Some(saver);
        }
        self.judge = Some(judge);
        if self.wanted.check {
            let timed = matches!(plan.options.mode, Mode::Timed | Mode::Scaled(_));
            self.check = Some(Check::new(timed, CHECKED_MAX));
        }
        Ok(())
    }

    fn see(&mut self, replayed: &[Replayed]) {
        if let Some(judge) = &mut self.judge {
            judge.see(replayed);
        }
        if let Some(check) = &mut self.check {
            check.see(replayed);
        }
        self.tell(replayed);
    }
}

/// What was heard of a replay.
pub struct Heard {
    /// The judge's words; none when the replay never began.
    pub body: Option<Body>,
    /// What the kernel's words are to be held against.
    pub check: Option<Check>,
    /// The last due time.
    pub last_due: Nanos,
    /// Why the file that keeps the replay could not be written.
    pub unsaved: Option<anyhow::Error>,
}

/// That the file which keeps a replay cannot be written.
fn unsaved(error: TraceError) -> anyhow::Error {
    match error {
        TraceError::Io { source, file } => {
            outputs::cannot(Path::new(&file))(source).context("--save")
        }
        error => error.into(),
    }
}

/// Keeps a replay as a trace.
struct Saver {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    writer: Option<Writer>,
    spaces: Vec<Space>,
    ios: Vec<Io>,
    trouble: Option<TraceError>,
}

impl Saver {
    fn create(path: &Path, plan: &Plan) -> Result<Saver, TraceError> {
        let writer = Some(Writer::create(path, Existing::Keep)?);
        let spaces = vec![Space { name: plan.target.clone(), ..Space::default() }];
        let inner = Inner { writer, spaces, ios: Vec::with_capacity(KEPT_AT_ONCE), trouble: None };
        Ok(Saver { inner: Arc::new(Mutex::new(inner)) })
    }

    fn tap(&self) -> trace::replay::Tap {
        let inner = self.inner.clone();
        // What is in it is whole after any panic.
        Box::new(move |io| inner.lock().unwrap_or_else(PoisonError::into_inner).take(*io))
    }

    fn finish(self, played: &Played) -> Result<(), TraceError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.write();
        if let Some(trouble) = inner.trouble.take() {
            return Err(trouble);
        }
        let Some(writer) = inner.writer.take() else { return Ok(()) };
        let info = TraceInfo {
            source: format!("replayed on {}", played.info.name),
            files: played.plan.survey.info.files.clone(),
            resolution: Nanos(1),
            spaces: inner.spaces.clone(),
            ..TraceInfo::default()
        };
        writer.finish(&info).map(|_| ())
    }
}

impl Inner {
    fn take(&mut self, io: Io) {
        self.ios.push(io);
        if self.ios.len() == KEPT_AT_ONCE {
            self.write();
        }
    }

    fn write(&mut self) {
        if let (Some(writer), None) = (&mut self.writer, &self.trouble) {
            self.trouble = writer.write(&self.ios, &self.spaces).err();
        }
        self.ios.clear();
    }
}
