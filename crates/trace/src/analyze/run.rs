//! Reading a trace and looking at it at the same time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use crate::analyze::body::Body;
use crate::analyze::{Analysis, Options};
use crate::source::BATCH;
use crate::{Io, Source, TraceError};

/// Batches between the reader and a lens. Enough that none waits for the other's hiccups.
const AHEAD: usize = 4;

/// Reads `source` to its end and says what is in it. The lenses work on threads beside the reader's.
///
/// # Errors
/// What the source says; [`TraceError::Unsuited`] when it has none of the devices that were asked for.
pub fn run(options: &Options, source: &mut dyn Source) -> Result<Body, TraceError> {
    let mut analysis = Analysis::new(options);
    let Analysis { course, load, .. } = &mut analysis;
    let read = thread::scope(|scope| {
        let mut givers = Vec::new();
        let mut channel = || {
            let (give, take) = sync_channel(AHEAD);
            givers.push(give);
            take
        };
        let batches = channel();
        scope.spawn(move || batches.iter().for_each(|batch: Batch| course.see(&batch)));
        if let Some(load) = load {
            let batches = channel();
            scope.spawn(move || batches.iter().for_each(|batch: Batch| load.see(&batch)));
        }
        // `feed` drops the senders at its end, which ends the threads.
        feed(options, source, givers)
    });
    read?;
    let info = source.info();
    if let Some(chosen) = options.chosen(info).filter(|chosen| !chosen.contains(&true)) {
        return Err(no_such_device(options, source, chosen.len()));
    }
    Ok(analysis.finish(info))
}

/// I/Os that several look at.
type Batch = Arc<Vec<Io>>;

/// Reads batch by batch. The memory of a batch is used again once all receivers are done with it.
fn feed(
    options: &Options,
    source: &mut dyn Source,
    givers: Vec<SyncSender<Batch>>,
) -> Result<(), TraceError> {
    let mut given: VecDeque<Batch> = VecDeque::new();
    loop {
        let mut batch = given.pop_front().map_or_else(Vec::new, |oldest| {
            // Still looked at: it comes back when it is the oldest again.
            Arc::try_unwrap(oldest).unwrap_or_else(|oldest| {
                given.push_front(oldest);
                Vec::new()
            })
        });
        batch.clear();
        batch.reserve(BATCH);
        source.next(&mut batch)?;
        if batch.is_empty() {
            return Ok(());
        }
        let ended = leave_out(options, source, &mut batch);
        let batch = Arc::new(batch);
        given.push_back(Arc::clone(&batch));
        // A send fails only when the other thread has panicked, which the end of its scope reports.
        let gone = givers.iter().any(|give| give.send(Arc::clone(&batch)).is_err());
        if gone || ended {
            return Ok(());
        }
    }
}

/// Leaves out what was not asked for; true when all that is still to come would be left out.
fn leave_out(options: &Options, source: &dyn Source, batch: &mut Vec<Io>) -> bool {
    if let Some(chosen) = options.chosen(source.info()) {
        batch.retain(|io| chosen.get(io.space as usize).copied().unwrap_or(false));
    }
    if let Some(from) = options.from {
        batch.retain(|io| io.arrival >= from);
    }
    let Some(until) = options.until else { return false };
    let inside = batch.partition_point(|io| io.arrival < until);
    let ended = inside < batch.len();
    batch.truncate(inside);
    ended
}

fn no_such_device(options: &Options, source: &dyn Source, spaces: usize) -> TraceError {
    let named = |space: &crate::Space| match space.device {
        Some(device) if device.to_string() != space.name => format!("{} ({device})", space.name),
        _ => space.name.clone(),
    };
    let some: Vec<String> = source.info().spaces.iter().take(16).map(named).collect();
    let more = if spaces > some.len() { ", …" } else { "" };
    let asked = options.devices.join(", ");
    TraceError::Unsuited(format!(
        "no device of the trace is called {asked}: it has {}{more}",
        some.join(", ")
    ))
}
