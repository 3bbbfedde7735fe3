//! A drive on the bench: scripts of single accesses, issued from the caller's own thread, each answered with its
//! times before the next script is thought of.
//!
//! [`run_step`](crate::run_step) is for load, of which only sums can be kept; this is for questions. It allocates
//! once a script and never between a request and its completion.

use std::sync::atomic::{AtomicBool, Ordering};

use block::{
    Bytes, Completion, Drive, DriveError, DriveInfo, Environment, LaneSetup, Nanos, Op, Payload,
    Request, Snapshot, Stack, Time,
};
use thiserror::Error;
use workload::script::{Access, Script};

use crate::IoPath;
use crate::samples::{Failure, FailureKind, Sample};

/// How often a wait looks whether the user wants to stop.
const LOOK_EVERY: Nanos = Nanos::millis(100);

/// A drive that answers scripts. Without the drive's type in it, so that instruments are compiled once: beside an
/// I/O one call through a table is nothing.
pub trait Bench {
    /// Returns the description of the drive.
    fn info(&self) -> &DriveInfo;

    /// Returns the layers that I/O to it passes through.
    fn stack(&self) -> Stack;

    /// Time since the bench was set up, on the drive's clock.
    fn now(&self) -> Nanos;

    /// Reads every counter around the drive.
    fn snapshot(&mut self) -> Snapshot;

    /// Lets `span` go by with nothing issued, or less of it when the user wants to stop.
    fn pause(&mut self, span: Nanos);

    /// Issues `script`, content of writes from `payload`. The samples come in the order of the script's accesses;
    /// their times count from when the bench was set up. An access's intended time is the instant at which its
    /// group was to be issued.
    ///
    /// # Errors
    /// [`BenchError`]; what was issued before is lost to the caller, though not to the drive.
    fn run(
        &mut self,
        script: &Script,
        payload: &dyn Fn() -> Box<dyn Payload>,
    ) -> Result<Vec<Sample>, BenchError>;

    /// As [`Bench::run`], and shows `each` what every read delivered, with the access's place in the script. A
    /// bench whose drive has no data shows nothing; see [`Drive::data`].
    ///
    /// # Errors
    /// As [`Bench::run`].
    fn run_for_data(
        &mut self,
        script: &Script,
        payload: &dyn Fn() -> Box<dyn Payload>,
        _each: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<Vec<Sample>, BenchError> {
        self.run(script, payload)
    }

    /// Issues the accesses of `script` in order, `depth` under way at any time, whatever its groups and pauses are, and
    /// calls `each` for every one that completes: with the current instant, its place in the script, what a read
    /// delivered, and whether it failed. Nothing is kept of them.
    ///
    /// # Errors
    /// [`BenchError::Drive`] and [`BenchError::Interrupted`]; an access that fails is not an error.
    fn stream(
        &mut self,
        script: &Script,
        depth: u16,
        payload: &dyn Fn() -> Box<dyn Payload>,
        each: Streamed<'_>,
    ) -> Result<(), BenchError>;

    /// As [`Bench::run_for_data`], to the end even when the user wants to stop: it puts back what was there.
    ///
    /// # Errors
    /// As [`Bench::run`], but never [`BenchError::Interrupted`].
    fn run_to_the_end(
        &mut self,
        script: &Script,
        payload: &dyn Fn() -> Box<dyn Payload>,
    ) -> Result<Vec<Sample>, BenchError> {
        self.run(script, payload)
    }
}

/// Called for each access of a stream that completes; see [`Bench::stream`].
pub type Streamed<'a> = &'a mut dyn FnMut(Nanos, usize, Option<&[u8]>, bool);

/// Why a script did not come to its end.
#[derive(Debug, Error)]
pub enum BenchError {
    /// The drive as a whole failed.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// An I/O failed.
    #[error("{0}")]
    Failed(Failure),
    /// The user wanted to stop.
    #[error("stopped")]
    Interrupted,
}

/// A target with its environment on the bench.
pub struct TargetBench<'a> {
    target: &'a mut dyn IoPath,
    environment: &'a mut dyn Environment,
    cancel: &'a AtomicBool,
    origin: Time,
}

impl<'a> TargetBench<'a> {
    /// Sets `target` up. `cancel` is set from outside (Ctrl-C) to end what goes on.
    pub fn new(
        target: &'a mut dyn IoPath,
        environment: &'a mut dyn Environment,
        cancel: &'a AtomicBool,
    ) -> TargetBench<'a> {
        let origin = target.now();
        TargetBench { target, environment, cancel, origin }
    }
}

impl Bench for TargetBench<'_> {
    fn info(&self) -> &DriveInfo {
        self.target.info()
    }

    fn stack(&self) -> Stack {
        self.environment.stack().clone()
    }

    fn now(&self) -> Nanos {
        self.target.now().since(self.origin)
    }

    fn snapshot(&mut self) -> Snapshot {
        self.environment.snapshot()
    }

    fn pause(&mut self, span: Nanos) {
        let mut left = span;
        while left > Nanos::ZERO && !self.cancel.load(Ordering::Relaxed) {
            let part = left.min(LOOK_EVERY);
            self.target.pause(part);
            left = left - part;
        }
    }

    fn run(
        &mut self,
        script: &Script,
        payload: &dyn Fn() -> Box<dyn Payload>,
    ) -> Result<Vec<Sample>, BenchError> {
        let (cancel, origin) = (self.cancel, self.origin);
        let played = with_setup(script, payload, |setup| {
            let mut drives = self.target.open(setup)?;
            let Some(drive) = drives.first_mut() else { return Ok(Vec::new()) };
            drive.attach()?;
            Hand { drive: &mut **drive, cancel, origin }.play(script, &mut |_, _| {})
        });
        self.with_cause(played)
    }

    fn run_for_data(
        &mut self,
        script: &Script,
        payload: &dyn Fn() -> Box<dyn Payload>,
        each: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<Vec<Sample>, BenchError> {
        self.play_for_data(script, payload, self.cancel, each)
    }

    fn stream(
        &mut self,
        script: &Script,
        depth: u16,
        payload: &dyn Fn() -> Box<dyn Payload>,
        each: Streamed<'_>,
    ) -> Result<(), BenchError> {
        let (cancel, origin) = (self.cancel, self.origin);
        with_setup(script, payload, |setup| {
            let setup = LaneSetup { depth, payload: setup.payload, ..*setup };
            let mut drives = self.target.open_for_data(&setup)?;
            let Some(drive) = drives.first_mut() else { return Ok(()) };
            drive.attach()?;
            Hand { drive: &mut **drive, cancel, origin }.stream(script.accesses(), depth, each)
        })
    }

    fn run_to_the_end(
        &mut self,
        script: &Script,
        payload: &dyn Fn() -> Box<dyn Payload>,
    ) -> Result<Vec<Sample>, BenchError> {
        self.play_for_data(script, payload, &AtomicBool::new(false), &mut |_, _| {})
    }
}

impl TargetBench<'_> {
    fn play_for_data(
        &mut self,
        script: &Script,
        payload: &dyn Fn() -> Box<dyn Payload>,
        cancel: &AtomicBool,
        each: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<Vec<Sample>, BenchError> {
        let origin = self.origin;
        let played = with_setup(script, payload, |setup| {
            let mut drives = self.target.open_for_data(setup)?;
            let Some(drive) = drives.first_mut() else { return Ok(Vec::new()) };
            drive.attach()?;
            Hand { drive: &mut **drive, cancel, origin }.play(script, each)
        });
        self.with_cause(played)
    }

    /// Adds to a failure what the environment knows of it.
    fn with_cause(
        &mut self,
        played: Result<Vec<Sample>, BenchError>,
    ) -> Result<Vec<Sample>, BenchError> {
        played.map_err(|error| match error {
            BenchError::Failed(failure) => BenchError::Failed(failure.ask(self.environment)),
            other => other,
        })
    }
}

/// Calls `then` with what a drive must be ready for to play `script`.
fn with_setup<R>(
    script: &Script,
    payload: &dyn Fn() -> Box<dyn Payload>,
    then: impl FnOnce(&LaneSetup<'_>) -> R,
) -> R {
    let writes = script.accesses().iter().any(|access| access.op == Op::Write);
    let content = |_: u16| payload();
    then(&LaneSetup {
        submitters: 1,
        depth: u16::try_from(script.depth()).unwrap_or(u16::MAX),
        block_bytes_max: script.block_max(),
        payload: if writes { Some(&content) } else { None },
        ..LaneSetup::default()
    })
}

/// Issues one script on one drive.
struct Hand<'a> {
    drive: &'a mut dyn Drive,
    cancel: &'a AtomicBool,
    origin: Time,
}

impl Hand<'_> {
    /// Shows `each` what every read delivered, when all of its group have completed.
    fn play(
        &mut self,
        script: &Script,
        each: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<Vec<Sample>, BenchError> {
        let mut samples = Vec::with_capacity(script.accesses().len());
        let mut requests = Vec::with_capacity(script.depth());
        let mut done = Vec::with_capacity(script.depth());
        for (pause, range) in script.groups() {
            self.sleep(pause)?;
            let group = &script.accesses()[range];
            let intended = self.drive.now().since(self.origin);
            requests.clear();
            for (slot, access) in group.iter().enumerate() {
                requests.push(Request {
                    op: access.op,
                    fua: access.fua,
                    submitter: 0,
                    slot: slot as u16,
                    offset: access.offset,
                    len: access.len,
                });
                samples.push(Sample {
                    submitter: 0,
                    op: access.op,
                    offset: access.offset,
                    len: access.len,
                    intended,
                    issued: intended,
                    completed: intended,
                });
            }
            let begin = samples.len() - group.len();
            self.drive.submit(&requests)?;
            self.collect(&mut samples[begin..], &mut done)?;
            for (slot, access) in group.iter().enumerate().filter(|(_, a)| a.op == Op::Read) {
                let data = self.drive.data(slot as u16);
                if let Some(data) = data.and_then(|data| data.get(..access.len.0 as usize)) {
                    each(begin + slot, data);
                }
            }
            if self.cancel.load(Ordering::Relaxed) {
                return Err(BenchError::Interrupted);
            }
        }
        Ok(samples)
    }

    /// Keeps `depth` accesses under way until all have completed, or until the user wants to stop.
    fn stream(
        &mut self,
        accesses: &[Access],
        depth: u16,
        each: Streamed<'_>,
    ) -> Result<(), BenchError> {
        let mut free: Vec<u16> = (0..depth).rev().collect();
        let mut under_way = vec![0; usize::from(depth)];
        let (mut requests, mut done) = (Vec::new(), Vec::new());
        let mut rest = accesses.iter().enumerate();
        loop {
            let is_over = self.cancel.load(Ordering::Relaxed);
            requests.clear();
            while !is_over && let Some(slot) = free.pop() {
                let Some((at, access)) = rest.next() else {
                    free.push(slot);
                    break;
                };
                under_way[usize::from(slot)] = at;
                let &Access { op, fua, offset, len } = access;
                requests.push(Request { op, fua, submitter: 0, slot, offset, len });
            }
            if !requests.is_empty() {
                self.drive.submit(&requests)?;
            }
            if free.len() == usize::from(depth) {
                return if is_over { Err(BenchError::Interrupted) } else { Ok(()) };
            }
            let now = self.drive.wait_until(Time::NEVER, &mut done)?.since(self.origin);
            for completion in done.drain(..) {
                let at = under_way[usize::from(completion.slot)];
                let Some(access) = accesses.get(at) else { continue };
                let is_failed = completion.outcome.bytes().ok() != Some(access.len);
                let data = match access.op {
                    Op::Read => self.drive.data(completion.slot),
                    _ => None,
                };
                let data = data.and_then(|data| data.get(..access.len.0 as usize));
                each(now, at, data.filter(|_| !is_failed), is_failed);
                free.push(completion.slot);
            }
        }
    }

    /// Waits until all of `group` have completed: none is left behind, whatever became of another.
    fn collect(
        &mut self,
        group: &mut [Sample],
        done: &mut Vec<Completion>,
    ) -> Result<(), BenchError> {
        let mut left = group.len();
        let mut failed = None;
        while left > 0 {
            self.drive.wait_until(Time::NEVER, done)?;
            for completion in done.drain(..) {
                left -= 1;
                let Some(sample) = group.get_mut(usize::from(completion.slot)) else { continue };
                sample.issued = completion.issued.since(self.origin);
                sample.completed = completion.completed.since(self.origin);
                failed = failed.or(failure(sample, &completion));
            }
        }
        failed.map_or(Ok(()), |failure| Err(BenchError::Failed(failure)))
    }

    fn sleep(&mut self, span: Nanos) -> Result<(), BenchError> {
        let until = self.drive.now() + span;
        let mut none = Vec::new();
        while self.drive.now() < until {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(BenchError::Interrupted);
            }
            let next = until.min(self.drive.now() + LOOK_EVERY);
            self.drive.wait_until(next, &mut none)?;
        }
        Ok(())
    }
}

/// Returns the failure of a completed access, if any.
fn failure(sample: &Sample, completion: &Completion) -> Option<Failure> {
    let kind = match completion.outcome.bytes() {
        Err(errno) => FailureKind::Error(errno),
        // The kernel answers a discard and a flush with 0.
        Ok(_) if matches!(sample.op, Op::Discard | Op::Flush) => return None,
        Ok(got) if got == sample.len => return None,
        Ok(got) => FailureKind::Short(got),
    };
    let len = if sample.op == Op::Flush { Bytes::ZERO } else { sample.len };
    Some(Failure {
        op: sample.op,
        offset: sample.offset,
        len,
        at: completion.completed,
        kind,
        gone: None,
    })
}
