//! A replay from its feed to its end: feeder, lanes and the caller's ear, each on a thread.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, ScopedJoinHandle};

use block::{Drive, DriveKind, Environment, LaneSetup, Nanos, Payload, Snapshot, Time};
use workload::content::SectorContent;

use super::lane::{Lane, Left, Shared};
use super::ledger::Ledger;
use super::queue::{Claimant, Queue};
use super::teller::{QUEUED_MAX, Teller};
use super::{Ended, Feed, Reason, Replayed, Setup};
use crate::IoPath;
use crate::error::EngineError;
use crate::gate::{Arrival, Gate};
use crate::lane::Flags;
use crate::samples::Failure;

/// From the moment when all lanes may go to the first instant of a replay in real time: the first request would
/// otherwise be late by what it takes to wake a thread.
const LEAD: Nanos = Nanos::millis(5);

/// Issues the requests of `feed` on `target`, once each, and reports the outcome of each to `sink`.
///
/// The sink is called on this thread, with batches of completed requests: those of one submitter in the order of their
/// completion, on a virtual drive all of them. While it works, batches pile up to some 30 MB; then submitters wait, which
/// [`Ended::unheard`] reports. `cancel` is set from outside (Ctrl-C) to end the replay early: nothing more is issued, and
/// what is outstanding is waited for. Counters of `environment` are read from idle to idle, as [`crate::run_step`] does.
///
/// # Errors
/// [`EngineError`] when the target cannot be opened or fails as a whole, or the feed does. An I/O that fails is reported
/// like any other, and ends the replay only when [`Setup::errors_max`] is passed.
pub fn replay(
    target: &mut dyn IoPath,
    environment: &mut dyn Environment,
    feed: &mut dyn Feed,
    setup: &Setup,
    cancel: &AtomicBool,
    sink: &mut dyn FnMut(&[Replayed]),
) -> Result<Ended, EngineError> {
    let content = setup.content.unwrap_or_default();
    let payload = |submitter: u16| -> Box<dyn Payload> {
        Box::new(SectorContent::new(content, setup.seed, submitter))
    };
    let submitters = setup.submitters.max(1);
    let depth = setup.slots.max(1);
    let is_virtual = target.info().kind == DriveKind::Virtual;
    let drives = target.open(&LaneSetup {
        submitters,
        depth,
        block_bytes_max: setup.block_bytes_max,
        payload: if setup.content.is_some() { Some(&payload) } else { None },
        buffer_bytes_max: setup.buffer_bytes_max,
        waiting: setup.waiting,
    })?;
    let each = if drives.len() == usize::from(submitters) { 1 } else { submitters };
    let (gate, queue, ledger) = (Gate::new(), Queue::new(), Ledger::default());
    let shared = Shared {
        flags: Flags { cancel, failed: &gate.failed },
        ledger: &ledger,
        errors_max: setup.errors_max,
        alone: drives.len() == 1,
        is_virtual,
    };
    let run = Run { gate: &gate, queue: &queue, shared };
    let (left, before) = run.lanes(drives, (each, depth), environment, feed, sink);
    let after = environment.snapshot();
    let (errors, issued, end) = (ledger.errors(), ledger.issued(), ledger.end());
    let start = gate.end()?.unwrap_or(Time::ZERO);
    if let Some(error) = queue.into_error() {
        return Err(EngineError::Feed(error));
    }
    let reason = match left.iter().any(|left| left.halted) {
        _ if errors > setup.errors_max => Reason::Errors,
        true => Reason::Cancelled,
        false => Reason::Complete,
    };
    Ok(Ended {
        reason,
        start,
        elapsed: end.since(start),
        issued,
        errors,
        starved: left.iter().map(|left| left.starved).sum(),
        unheard: left.iter().map(|left| left.unheard).sum(),
        failure: first(left).map(|failure| failure.ask(environment)),
        before,
        after,
    })
}

/// The failure that was seen first.
fn first(left: Vec<Left>) -> Option<Failure> {
    left.into_iter().filter_map(|left| left.failure).min_by_key(|failure| failure.at)
}

/// State shared by the threads of a replay.
#[derive(Clone, Copy)]
struct Run<'a> {
    gate: &'a Gate,
    queue: &'a Queue,
    shared: Shared<'a>,
}

impl Run<'_> {
    /// Runs a lane for each of `drives`, of `each` submitters with `depth` slots; what they left, and the counters as
    /// they were before the first request.
    fn lanes(
        self,
        drives: Vec<Box<dyn Drive + '_>>,
        (each, depth): (u16, u16),
        environment: &mut dyn Environment,
        feed: &mut dyn Feed,
        sink: &mut dyn FnMut(&[Replayed]),
    ) -> (Vec<Left>, Snapshot) {
        let count = drives.len();
        let (told, hear) = sync_channel(QUEUED_MAX.max(4 * count));
        let mut before = Snapshot::default();
        let results = std::thread::scope(|scope| {
            let mut handles = Vec::with_capacity(count);
            let feeder = Builder::new()
                .name("feeder".to_owned())
                .spawn_scoped(scope, move || self.queue.fill_from(feed, count));
            let mut refused = feeder.as_ref().err().map(std::io::Error::kind);
            let mut first = 0;
            for (index, drive) in drives.into_iter().enumerate() {
                let submitters = first..first + each;
                first += each;
                let (hand, teller) = (Claimant::new(self.queue), Teller::new(told.clone(), count));
                let lane = Lane::new(drive, (submitters, depth), self.shared, hand, teller);
                let name = format!("replayer {index}");
                match Builder::new().name(name).spawn_scoped(scope, move || self.lane(lane)) {
                    Ok(handle) => handles.push(handle),
                    Err(source) => {
                        refused = Some(source.kind());
                        self.gate.fail(EngineError::Thread { submitter: index, source });
                        break;
                    }
                }
            }
            drop(told);
            self.gate.await_lanes(handles.len());
            match refused {
                None => self.queue.await_primed(),
                Some(kind) => {
                    self.gate.fail(EngineError::Thread { submitter: 0, source: kind.into() });
                }
            }
            before = environment.snapshot();
            self.gate.open(refused.is_some());
            for (mut batch, give_back) in hear {
                sink(&batch);
                batch.clear();
                // The lane may have ended.
                let _ = give_back.send(batch);
            }
            self.queue.close();
            handles.into_iter().map(ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        let mut left = Vec::with_capacity(results.len());
        for result in results {
            match result {
                Ok(lane) => left.push(lane),
                // A defect of ours: numbers of the other lanes would pass for the whole.
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        (left, before)
    }

    /// A lane's life on its thread.
    fn lane(self, mut lane: Lane<'_>) -> Left {
        let arrival = Arrival(self.gate);
        if let Err(error) = lane.attach() {
            self.gate.fail(error.into());
        }
        drop(arrival);
        let lead = if self.shared.is_virtual { Nanos::ZERO } else { LEAD };
        let Some(start) = self.gate.pass(|| lane.now() + lead) else { return Left::default() };
        lane.run(start).unwrap_or_else(|error| {
            self.gate.fail(error.into());
            Left { halted: true, ..Left::default() }
        })
    }
}
