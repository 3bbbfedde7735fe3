//! One run of one step: lanes on threads, counters around them, samples merged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, ScopedJoinHandle};

use block::{Drive, Environment, Event, LaneSetup, Payload, RunSink, Snapshot, Target, Time};
use workload::audit::Audit;
use workload::content::SectorContent;
use workload::plan::{Content, Region, Step};
use workload::stream::SharedCursors;

use crate::error::EngineError;
use crate::gate::{Arrival, Gate};
use crate::lane::{self, Flags, Word};
use crate::recorder;
use crate::samples::{PhaseSamples, Samples, Totals};
use crate::submitter::{Context, Submitter};

/// Controls of a run besides its plan.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Set from outside (Ctrl-C) to end the run early; what was seen so far is kept.
    pub cancel: &'a AtomicBool,
    /// Most single I/Os to keep in [`Samples::trace`]; 0 keeps none.
    pub trace_cap: usize,
}

/// Runs `step` once, from idle to idle, and returns the samples of all submitters together.
///
/// `region` is the part of the target that the plan may touch, `seed` the run's own
/// ([`workload::schedule::Slot::seed`]). Counters are read when every lane is ready with its
/// buffers touched, and again when the last I/O has completed, so that device and tester count the
/// same I/Os.
///
/// # Errors
/// [`EngineError`] when the target cannot be opened or fails as a whole. An I/O that fails ends the
/// run and is returned in [`Samples::failure`].
pub fn run_step<T: Target>(
    target: &mut T,
    environment: &mut dyn Environment,
    step: &Step,
    (region, content, seed): (Region, Content, u64),
    control: Control<'_>,
    sink: &mut dyn RunSink,
) -> Result<Samples, EngineError> {
    let ran = run(target, environment, step, (region, content, seed), control, sink)?;
    Ok(ask(merge(ran, control, None), environment))
}

/// As [`run_step`], and what each submitter saw, by submitter, beside all of them together. Takes twice the memory.
///
/// # Errors
/// As [`run_step`].
pub fn run_step_apart<T: Target>(
    target: &mut T,
    environment: &mut dyn Environment,
    step: &Step,
    (region, content, seed): (Region, Content, u64),
    control: Control<'_>,
    sink: &mut dyn RunSink,
) -> Result<(Samples, Vec<Vec<PhaseSamples>>), EngineError> {
    let ran = run(target, environment, step, (region, content, seed), control, sink)?;
    let mut apart = Vec::with_capacity(ran.submitters.len());
    let samples = merge(ran, control, Some(&mut apart));
    Ok((ask(samples, environment), apart))
}

/// With what the environment knows of a device that failed.
fn ask(samples: Samples, environment: &mut dyn Environment) -> Samples {
    Samples { failure: samples.failure.map(|failure| failure.ask(environment)), ..samples }
}

fn run<T: Target>(
    target: &mut T,
    environment: &mut dyn Environment,
    step: &Step,
    (region, content, seed): (Region, Content, u64),
    control: Control<'_>,
    sink: &mut dyn RunSink,
) -> Result<Ran, EngineError> {
    let payload = |submitter: u16| -> Box<dyn Payload> {
        Box::new(SectorContent::new(content, seed, submitter))
    };
    let setup = LaneSetup {
        submitters: step.submitters,
        depth: step.depth_max(),
        block_bytes_max: step.block_max(),
        payload: if step.writes() { Some(&payload) } else { None },
        ..LaneSetup::default()
    };
    let context = Context {
        step,
        region,
        seed,
        shared: Arc::new(SharedCursors::new(step, region, seed)),
        trace_cap: control.trace_cap / usize::from(step.submitters),
    };
    let mut submitters: Vec<Submitter> =
        (0..step.submitters).map(|id| Submitter::new(id, &context)).collect();
    let drives = target.open(&setup)?;
    let group = submitters.len().div_ceil(drives.len().max(1));
    let lanes: Vec<(T::Drive<'_>, Vec<Submitter>)> = drives
        .into_iter()
        .map(|drive| {
            let rest = submitters.split_off(group.min(submitters.len()));
            (drive, std::mem::replace(&mut submitters, rest))
        })
        .collect();
    run_lanes(lanes, environment, step, control, sink)
}

/// Results of the lanes, before they are merged.
struct Ran {
    submitters: Vec<Submitter>,
    start: Time,
    end: Time,
    before: Snapshot,
    after: Snapshot,
}

fn run_lanes<D: Drive>(
    lanes: Vec<(D, Vec<Submitter>)>,
    environment: &mut dyn Environment,
    step: &Step,
    control: Control<'_>,
    sink: &mut dyn RunSink,
) -> Result<Ran, EngineError> {
    let gate = Gate::new();
    let (sender, words) = channel();
    let mut before = Snapshot::default();
    let results = std::thread::scope(|scope| {
        let mut handles = Vec::with_capacity(lanes.len());
        let mut refused = false;
        for (index, (drive, submitters)) in lanes.into_iter().enumerate() {
            let (gate, words) = (&gate, sender.clone());
            let flags = Flags { cancel: control.cancel, failed: &gate.failed };
            let lane = move || run_lane(index, drive, submitters, gate, flags, &words);
            match Builder::new().name(format!("submitter {index}")).spawn_scoped(scope, lane) {
                Ok(handle) => handles.push(handle),
                Err(source) => {
                    gate.fail(EngineError::Thread { submitter: index, source });
                    refused = true;
                    break;
                }
            }
        }
        drop(sender);
        gate.await_lanes(handles.len());
        before = environment.snapshot();
        gate.open(refused);
        for (lane, word) in words {
            tell(lane, &word, step, sink);
        }
        handles.into_iter().map(ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    let after = environment.snapshot();
    let mut lanes = Vec::with_capacity(results.len());
    for result in results {
        match result {
            Ok(lane) => lanes.push(lane),
            // A defect of ours: numbers of the other lanes would pass for the whole.
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    let start = gate.end()?;
    Ok(Ran {
        end: lanes.iter().map(|(_, end)| *end).max().unwrap_or(Time::ZERO),
        submitters: lanes.into_iter().flat_map(|(submitters, _)| submitters).collect(),
        start: start.unwrap_or(Time::ZERO),
        before,
        after,
    })
}

/// A lane's life on its thread.
fn run_lane<D: Drive>(
    index: usize,
    mut drive: D,
    mut submitters: Vec<Submitter>,
    gate: &Gate,
    flags: Flags<'_>,
    words: &Sender<(usize, Word)>,
) -> (Vec<Submitter>, Time) {
    let arrival = Arrival(gate);
    if let Err(error) = drive.attach() {
        gate.fail(error.into());
    }
    drop(arrival);
    let Some(start) = gate.pass(|| drive.now()) else { return (submitters, Time::ZERO) };
    // A receiver that is gone has lost interest; the samples are kept all the same.
    let tell = |word| drop(words.send((index, word)));
    let end = lane::run(&mut drive, &mut submitters, start, flags, tell).unwrap_or_else(|error| {
        gate.fail(error.into());
        drive.now()
    });
    (submitters, end)
}

fn tell(lane: usize, word: &Word, step: &Step, sink: &mut dyn RunSink) {
    match *word {
        Word::Phase(index) => {
            if let (0, Some(phase)) = (lane, step.phases.get(index)) {
                let (phase, measured) = (phase.name.clone(), phase.measured);
                sink.event(&Event::PhaseStarted { phase, measured });
            }
        }
        Word::Interval { at, length, ios, bytes } => {
            sink.event(&Event::Interval { at, length, ios, bytes });
        }
    }
}

fn merge(
    ran: Ran,
    control: Control<'_>,
    mut apart: Option<&mut Vec<Vec<PhaseSamples>>>,
) -> Samples {
    let mut totals = Totals::default();
    let mut trace = Vec::new();
    let mut trace_dropped = 0;
    let mut failure = None;
    let mut audits: Vec<Audit> = Vec::with_capacity(ran.submitters.len());
    let mut phases: Vec<PhaseSamples> = Vec::new();
    for mut submitter in ran.submitters {
        totals.merge(&submitter.totals);
        trace.append(&mut submitter.trace);
        trace_dropped += submitter.trace_dropped;
        failure = failure.or(submitter.failure.take());
        let (legs, audit) = submitter.finish(ran.end);
        audits.push(audit);
        if let Some(apart) = &mut apart {
            apart.push(legs.clone());
        }
        for (index, leg) in legs.into_iter().enumerate() {
            match phases.get_mut(index) {
                Some(phase) => recorder::merge(phase, leg),
                None => phases.push(leg),
            }
        }
    }
    trace.sort_by_key(|s| (s.completed, s.submitter, s.issued));
    Samples {
        phases,
        totals,
        audit: Audit::merge(audits),
        before: ran.before,
        after: ran.after,
        elapsed: ran.end.since(ran.start),
        trace,
        trace_dropped: if control.trace_cap == 0 { 0 } else { trace_dropped },
        interrupted: control.cancel.load(Ordering::Relaxed),
        failure,
    }
}
