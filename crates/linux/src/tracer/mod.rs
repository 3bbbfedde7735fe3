//! Recording what a block device is asked to do, by the kernel's own tracers and no other program.
//!
//! [`start`] picks a back end and passes events and notes to a [`TraceSink`] until [`Tracer::stop`]:
//!
//! | back end | what it is | who can use it at a time |
//! |---|---|---|
//! | [`Backend::Tracepoints`] | block tracepoints in a tracefs instance of our own | everybody |
//! | [`Backend::Blktrace`] | what blktrace uses: ioctls, and relay files in debugfs | one a device |
//! | [`Backend::BlkTracer`] | the tracer `blk` of ftrace | one a machine |
//!
//! All times are of `CLOCK_MONOTONIC`, the clock of the drives that we measure. Threads, and the order of time:
//! `pump.rs`. docs/method/trace-record.md describes what each back end sees, costs and loses.

mod chunk;
mod claim;
mod collect;
mod events;
mod feed;
mod format;
mod global;
mod instance;
mod order;
mod page;
mod places;
mod plugs;
mod pump;
mod relay;
mod roots;
mod rwbs;
mod started;
mod stream;
mod subject;
mod tracepoints;

use std::fmt;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use block::Bytes;
use block::trace::TraceSink;
use rustix::fs::FlockOperation;
use serde::Serialize;
use thiserror::Error;

pub use collect::{Collected, Collector, record_while};
pub(crate) use places::{PlaceWatch, Places, Ranges};
pub use roots::TracerRoots;
pub use subject::{Subject, SubjectError};

use feed::Marker;
use pump::Pump;
use relay::Ioctls;
use started::{BUFFER_MIN, Started};
use subject::Subjects;

/// Most memory for the kernel's buffers of all CPUs together, unless somebody asks for more.
const BUFFERS_MAX: Bytes = Bytes::mib(256);
/// Buffer of one CPU, where that allows it: 1.5 seconds at 100,000 events a second.
const BUFFER_USUAL: Bytes = Bytes::mib(8);
/// Longest mark; the kernel cuts off what is longer than about a page.
const MARK_BYTES_MAX: usize = 512;

/// Ends all that this process records, for an exit that runs no destructors.
pub(crate) fn end_all() {
    places::end_all();
    pump::end_all();
}

/// A kernel interface that reports what block devices are asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// Block tracepoints in a tracefs instance of our own.
    Tracepoints,
    /// The relay of blktrace: ioctls on the device, and files in debugfs.
    Blktrace,
    /// The tracer `blk` of ftrace, of which the machine has one.
    BlkTracer,
}

impl Backend {
    /// All, in the order in which they are tried.
    pub const ALL: [Backend; 3] = [Backend::Tracepoints, Backend::Blktrace, Backend::BlkTracer];

    /// `tracepoints`, `blktrace` or `blk-tracer`.
    pub const fn word(self) -> &'static str {
        match self {
            Backend::Tracepoints => "tracepoints",
            Backend::Blktrace => "blktrace",
            Backend::BlkTracer => "blk-tracer",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A back end that was not used, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unused {
    /// The back end.
    pub backend: Backend,
    /// Why: a sentence.
    pub why: String,
}

/// How to record.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The one back end to use; `None` for the first that can be had.
    pub backend: Option<Backend>,
    /// Buffer of each CPU; `None` for one that lasts for 1.5 seconds at 100,000 events a second, or less where the
    /// buffers of all CPUs together would take more than 256 MiB.
    pub buffer: Option<Bytes>,
    /// Directories of the kernel's tracers.
    pub roots: TracerRoots,
}

/// Why nothing is recorded.
#[derive(Debug, Error)]
pub enum TracerError {
    /// The named subject cannot be traced.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// No back end can be used.
    #[error("nothing can be recorded here:{}", list(.0))]
    NoBackend(Vec<Unused>),
    /// The system refuses a thread.
    #[error("cannot start to record: {0}")]
    Thread(#[from] io::Error),
    /// A mark was not taken.
    #[error("the mark cannot be written into the recording: {0}")]
    Mark(io::Error),
}

fn list(unused: &[Unused]) -> String {
    unused.iter().map(|unused| format!("\n  {}: {}", unused.backend, unused.why)).collect()
}

/// A recording that goes on. Dropping it ends it, and leaves nothing of it in the kernel.
pub struct Tracer<S> {
    pump: Pump<S>,
    backend: Backend,
    unused: Vec<Unused>,
    marker: Option<Weak<dyn Marker>>,
    buffer: Bytes,
    removed: Vec<String>,
}

/// Summary of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// The back end that was used.
    pub backend: Backend,
    /// Those before it that were not, and why.
    pub unused: Vec<Unused>,
    /// Events passed to the sink.
    pub events: u64,
    /// Events that the kernel lost, as it counts them.
    pub lost: u64,
    /// Records that made no sense; none, unless the kernel speaks in a way that is not known here.
    pub malformed: u64,
    /// Events that were passed to the sink after later ones.
    pub late: u64,
    /// Buffer of each CPU.
    pub buffer: Bytes,
    /// Leftovers of dead recorders in the kernel, removed before this one began.
    pub removed: Vec<String>,
    /// Failure that ended the recording early.
    pub fault: Option<String>,
}

/// Removes what recorders of ours that are dead have left in the kernel; what that was. What belongs to a living one
/// or to somebody else is left alone. [`start`] does it too.
pub fn clean_up(roots: &TracerRoots) -> Vec<String> {
    clean(roots, FlockOperation::LockExclusive)
}

/// Like [`clean_up`], for those who do not trace: does not wait for other processes, and does nothing without the
/// permissions that recording takes.
pub fn clean_up_aside(roots: &TracerRoots) -> Vec<String> {
    match rustix::process::geteuid().is_root() {
        true => clean(roots, FlockOperation::NonBlockingLockExclusive),
        false => Vec::new(),
    }
}

fn clean(roots: &TracerRoots, how: FlockOperation) -> Vec<String> {
    let mut removed = tracepoints::remove_dead(roots, how);
    removed.extend(relay::remove_dead(roots, &Ioctls));
    removed.extend(global::remove_dead(roots));
    removed
}

/// Starts passing to `sink` what the devices `subjects` are asked to do.
///
/// A thread of its own calls the sink, in the order of time but for what [`Recorded::late`] counts. The first note
/// gives the date of the clock.
///
/// # Errors
/// [`TracerError::Subject`] when two devices overlap or none is named, [`TracerError::NoBackend`] when no back end can
/// be used, with the reason for each.
pub fn start<S: TraceSink + Send + 'static>(
    subjects: &[Subject],
    options: &Options,
    sink: S,
) -> Result<Tracer<S>, TracerError> {
    let subjects = Subjects::new(subjects)?;
    let roots = &options.roots;
    let removed = clean_up(roots);
    let buffer = options.buffer.unwrap_or_else(usual_buffer).max(BUFFER_MIN);
    let mut unused = Vec::new();
    for backend in Backend::ALL {
        if options.backend.is_some_and(|wanted| wanted != backend) {
            continue;
        }
        let started = match backend {
            Backend::Tracepoints => tracepoints::start(roots, &subjects, buffer),
            Backend::Blktrace => relay::start(roots, &subjects, buffer, Arc::new(Ioctls)),
            Backend::BlkTracer => global::start(roots, &subjects, buffer),
        };
        match started {
            Ok(Started { feed, decoder, marker, buffer }) => {
                let pump = Pump::start(feed, decoder, sink)?;
                return Ok(Tracer { pump, backend, unused, marker, buffer, removed });
            }
            Err(why) => unused.push(Unused { backend, why }),
        }
    }
    Err(TracerError::NoBackend(unused))
}

fn usual_buffer() -> Bytes {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    Bytes(BUFFERS_MAX.0 / cpus).min(BUFFER_USUAL).round_down(Bytes::kib(4))
}

impl<S: TraceSink + Send + 'static> Tracer<S> {
    /// Writes `text` into the recording, as a [`block::trace::TraceNote::Message`] of this instant: the first line of
    /// it, up to 512 bytes.
    ///
    /// # Errors
    /// [`TracerError::Mark`] when the kernel does not take it.
    pub fn mark(&self, text: &str) -> Result<(), TracerError> {
        let Some(marker) = self.marker.as_ref().and_then(Weak::upgrade) else {
            let none = "the back end takes none here, or the recording has ended by itself";
            return Err(TracerError::Mark(io::Error::new(io::ErrorKind::Unsupported, none)));
        };
        let line = text.lines().next().unwrap_or_default();
        let end =
            (0..=line.len().min(MARK_BYTES_MAX)).rev().find(|&end| line.is_char_boundary(end));
        marker.mark(&line[..end.unwrap_or(0)]).map_err(TracerError::Mark)
    }

    /// The back end that is used.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Back ends that come before it and are not used, and why.
    pub fn unused(&self) -> &[Unused] {
        &self.unused
    }

    /// Events that were passed to the sink so far.
    pub fn events(&self) -> u64 {
        self.pump.shared.events.load(Ordering::Relaxed)
    }

    /// Events that are known to be lost so far.
    pub fn lost(&self) -> u64 {
        self.pump.shared.lost.load(Ordering::Relaxed)
    }

    /// True when the recording has ended by itself; [`Recorded::fault`] will say why.
    pub fn is_over(&self) -> bool {
        self.pump.is_over()
    }

    /// Ends the recording: when this returns, the sink has received all of it, and nothing of it is left in the
    /// kernel.
    pub fn stop(self) -> (S, Recorded) {
        let Tracer { pump, backend, unused, buffer, removed, .. } = self;
        let shared = pump.shared.clone();
        let (worked, fault) = pump.stop();
        let recorded = Recorded {
            backend,
            unused,
            events: shared.events.load(Ordering::Relaxed),
            lost: shared.lost.load(Ordering::Relaxed),
            malformed: worked.malformed,
            late: worked.late,
            buffer,
            removed,
            fault,
        };
        (worked.sink, recorded)
    }
}
