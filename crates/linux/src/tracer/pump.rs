//! The two threads of a recording: one empties the kernel's buffers and does nothing else, so that a disk which is
//! slow to take the recording does not make the kernel lose events; the other makes events of what it read, puts them
//! in order, and passes them to the sink.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use block::Nanos;
use block::trace::{TraceEvent, TraceNote, TraceSink};

use super::chunk::{Chunk, Gathered};
use super::feed::{Decode, Feed};
use super::order::{Order, WINDOW};
use super::plugs::Plugs;
use crate::drive;

/// How long the reader sleeps when the buffers were empty.
const IDLE: Duration = Duration::from_millis(20);
/// How long it sleeps when something was in them. A buffer of 1 MiB lasts for as long at 1.5 million events a second.
const BUSY: Duration = Duration::from_millis(5);
/// Bytes that may wait for the sink. Beyond, the kernel's own buffers fill, and it counts. Bytes and not chunks, of
/// which there are hundreds a second, most of them small.
const WAITING_MAX: usize = 128 << 20;
/// Priority of the thread that empties the buffers, as nice(2) has it.
const READER_NICE: i32 = -15;
/// Events passed to the sink at a time.
const BATCH: usize = 4096;
/// How long a writer in the kernel is given to finish what it began before the recording was halted.
const SETTLE: Duration = Duration::from_millis(2);

/// State shared by both threads and their owner.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    stop: AtomicBool,
    /// True when the reader has ended and the kernel's tracer is gone.
    over: AtomicBool,
    /// Bytes that wait for the sink.
    waiting: AtomicUsize,
    pub(crate) events: AtomicU64,
    pub(crate) lost: AtomicU64,
}

/// Result of the thread that feeds the sink.
#[derive(Debug)]
pub(crate) struct Worked<S> {
    pub sink: S,
    pub malformed: u64,
    pub late: u64,
}

/// The two threads.
#[derive(Debug)]
pub(crate) struct Pump<S> {
    pub(crate) shared: Arc<Shared>,
    reader: Option<JoinHandle<Option<String>>>,
    worker: Option<JoinHandle<Worked<S>>>,
}

/// Recordings of this process that go on, so that a hasty exit can end them.
static ALIVE: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// Asks all recordings of this process to end and waits a moment for them: for an exit that runs no destructors.
pub(crate) fn end_all() {
    let alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
    let alive: Vec<_> = alive.iter().filter_map(Weak::upgrade).collect();
    for shared in &alive {
        shared.stop.store(true, Ordering::Release);
    }
    for _ in 0..100 {
        if alive.iter().all(|shared| shared.over.load(Ordering::Acquire)) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

impl<S: TraceSink + Send + 'static> Pump<S> {
    /// Starts them.
    pub(crate) fn start(
        feed: Box<dyn Feed>,
        decoder: Box<dyn Decode>,
        mut sink: S,
    ) -> io::Result<Pump<S>> {
        let shared = Arc::new(Shared::default());
        let (sender, receiver) = channel();
        sink.note(clock_note());
        let worker = {
            let shared = shared.clone();
            thread::Builder::new()
                .name("trace-events".to_owned())
                .spawn(move || work(&receiver, decoder, sink, &shared))?
        };
        let reader = {
            let shared = shared.clone();
            thread::Builder::new().name("trace-reader".to_owned()).spawn(move || {
                let fault = read(feed, &shared, &sender);
                shared.over.store(true, Ordering::Release);
                fault
            })?
        };
        let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
        alive.retain(|shared| shared.strong_count() > 0);
        alive.push(Arc::downgrade(&shared));
        drop(alive);
        Ok(Pump { shared, reader: Some(reader), worker: Some(worker) })
    }

    /// Ends the recording, and waits until the sink has received all of it. The second value is the failure, if any.
    pub(crate) fn stop(mut self) -> (Worked<S>, Option<String>) {
        let fault = self.end_reader();
        let worked = self.worker.take().map(JoinHandle::join);
        match worked {
            Some(Ok(worked)) => (worked, fault),
            // The sink is the caller's, and so is its panic.
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => unreachable!("only this function takes the worker"),
        }
    }
}

impl<S> Pump<S> {
    /// True when the recording has ended by itself, which it does when the tracer cannot be read any more.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Acquire)
    }

    fn end_reader(&mut self) -> Option<String> {
        let reader = self.reader.take()?;
        self.shared.stop.store(true, Ordering::Release);
        reader.thread().unpark();
        reader
            .join()
            .unwrap_or_else(|_| Some("the thread that reads the tracer has panicked".to_owned()))
    }
}

impl<S> Drop for Pump<S> {
    fn drop(&mut self) {
        self.end_reader();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

/// The date that the monotonic clock shows now: the middle of two readings around that of the date.
fn clock_note() -> TraceNote {
    use rustix::time::{ClockId, clock_gettime};
    let before = drive::now();
    let date = clock_gettime(ClockId::Realtime);
    let after = drive::now();
    let unix = i128::from(date.tv_sec) * 1_000_000_000 + i128::from(date.tv_nsec);
    let time = Nanos(before.0 + after.since(before).0 / 2);
    TraceNote::Clock { time, unix: block::UnixNanos(unix) }
}

fn read(mut feed: Box<dyn Feed>, shared: &Shared, to: &Sender<Chunk>) -> Option<String> {
    // It has little to do, and what it does late is lost. Only this thread; without permission it keeps its priority.
    let _ = rustix::process::setpriority_process(None, READER_NICE);
    let mut complete = Nanos::ZERO;
    loop {
        if shared.waiting.load(Ordering::Acquire) >= WAITING_MAX {
            thread::sleep(BUSY);
            continue;
        }
        let stopping = shared.stop.load(Ordering::Acquire);
        if stopping {
            if let Err(error) = feed.halt() {
                return Some(format!("the recording cannot be ended: {error}"));
            }
            thread::sleep(SETTLE);
        }
        let mut chunk = Chunk::at(Nanos(drive::now().0));
        let more = match feed.collect(&mut chunk) {
            Ok(more) => more,
            Err(error) => return Some(format!("the tracer cannot be read any more: {error}")),
        };
        if more {
            // Data left in the buffers may be as old as the last chunk that was complete.
            chunk.until = complete;
        }
        complete = chunk.until;
        let lost: u64 = chunk.lost.iter().map(|(_, events)| events).sum();
        shared.lost.fetch_add(lost, Ordering::Relaxed);
        let idle = chunk.is_empty();
        let bytes = chunk.data.len();
        // An empty one too, since it shows up to when the order of time is settled; but not one after the other to a
        // sink that has no time for them.
        if shared.waiting.fetch_add(bytes, Ordering::AcqRel) > 0 && idle && !stopping {
            thread::park_timeout(IDLE);
            continue;
        }
        if to.send(chunk).is_err() {
            return Some("the thread that takes the events has ended".to_owned());
        }
        match (more, stopping) {
            (true, _) => {}
            (false, true) => return None,
            (false, false) => thread::park_timeout(if idle { IDLE } else { BUSY }),
        }
    }
}

fn work<S: TraceSink>(
    from: &Receiver<Chunk>,
    mut decoder: Box<dyn Decode>,
    mut sink: S,
    shared: &Shared,
) -> Worked<S> {
    let (mut order, mut plugs) = (Order::default(), Plugs::default());
    let mut gathered = Gathered::default();
    let mut batch = Vec::new();
    let mut malformed = 0;
    let tell = |events: &mut Vec<TraceEvent>, sink: &mut S| {
        for events in events.chunks(BATCH) {
            sink.events(events);
        }
        shared.events.fetch_add(events.len() as u64, Ordering::Relaxed);
        events.clear();
    };
    for mut chunk in from {
        for (cpu, part) in &chunk.parts {
            decoder.take(*cpu, &chunk.data[part.clone()], &mut gathered);
        }
        for note in chunk.notes.drain(..).chain(gathered.notes.drain(..)) {
            sink.note(note);
        }
        for (cpu, events) in chunk.lost.drain(..) {
            sink.note(TraceNote::Lost { cpu, events });
        }
        malformed += std::mem::take(&mut gathered.malformed);
        order.take(&mut gathered.events);
        for event in order.release(Nanos(chunk.until.0.saturating_sub(WINDOW.0))) {
            plugs.take(event, &mut batch);
        }
        tell(&mut batch, &mut sink);
        shared.waiting.fetch_sub(chunk.data.len(), Ordering::AcqRel);
    }
    for event in order.release(Nanos(u64::MAX)) {
        plugs.take(event, &mut batch);
    }
    plugs.finish(&mut batch);
    tell(&mut batch, &mut sink);
    // The same losses counted in two ways: the kernel's counters, and what pages and streams say of themselves.
    let known = shared.lost.load(Ordering::Acquire);
    if gathered.missed > known {
        sink.note(TraceNote::Lost { cpu: None, events: gathered.missed - known });
        shared.lost.store(gathered.missed, Ordering::Release);
    }
    Worked { sink, malformed, late: order.late }
}
