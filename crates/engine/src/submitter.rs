//! One logical submitter: which request comes next, and what became of those that are out.

use std::sync::Arc;

use block::{Bytes, Completion, Op, Request, Time};
use workload::arrival::Arrivals;
use workload::audit::Audit;
use workload::plan::{Address, Arrival, Phase, Region, Share, Step};
use workload::rng::Rng;
use workload::stream::{Access, SharedCursors, Stream};

use crate::recorder::{Recorder, Seen};
use crate::samples::{Failure, FailureKind, PhaseSamples, Sample, Totals};

/// Accesses generated ahead of the loop at a time.
const BATCH: usize = 64;

/// What a slot's outstanding request was, or, between requests, since when the slot is free.
#[derive(Clone, Copy)]
struct Slot {
    op: Op,
    offset: Bytes,
    len: Bytes,
    ready: Time,
}

/// Where a submitter stands among its phases, on one side of the loop.
///
/// Issue and completion sides move apart by the requests in flight: the issue side enters the next
/// phase as soon as the last request of the phase is issued, so that no gap opens; the completion
/// side follows when that many have completed, or when the time is up.
#[derive(Clone, Copy)]
struct Side {
    phase: usize,
    ios: u64,
    bytes: Bytes,
}

impl Side {
    const START: Side = Side { phase: 0, ios: 0, bytes: Bytes::ZERO };

    fn add(&mut self, bytes: Bytes) {
        self.ios += 1;
        self.bytes += bytes;
    }

    fn next(&mut self) {
        *self = Side { phase: self.phase + 1, ..Side::START };
    }
}

/// A phase as one submitter runs it.
struct Leg {
    phase: Phase,
    /// This submitter's share of the phase's count of I/Os.
    ios: Option<u64>,
    /// This submitter's share of the phase's bytes.
    bytes: Option<Bytes>,
    recorder: Recorder,
    /// When the time limit is up; known once the completion side has entered the phase.
    end: Time,
}

impl Leg {
    fn timed(&self) -> bool {
        matches!(self.phase.arrival, Arrival::Timed { .. })
    }

    fn spent(&self, side: &Side) -> bool {
        self.ios.is_some_and(|n| side.ios >= n) || self.bytes.is_some_and(|n| side.bytes >= n)
    }
}

pub(crate) struct Submitter {
    id: u16,
    legs: Vec<Leg>,
    stream: Stream,
    batch: [Access; BATCH],
    batch_len: usize,
    batch_used: usize,
    arrivals: Vec<Arrivals>,
    issue_began: Time,
    next_due: Time,
    issue: Side,
    complete: Side,
    free: Vec<u16>,
    slots: Vec<Slot>,
    start: Time,
    halted: bool,
    pub(crate) totals: Totals,
    pub(crate) audit: Audit,
    pub(crate) trace: Vec<Sample>,
    pub(crate) trace_dropped: u64,
    pub(crate) failure: Option<Failure>,
}

/// What is the same for all submitters of a step.
pub(crate) struct Context<'a> {
    pub(crate) step: &'a Step,
    pub(crate) region: Region,
    pub(crate) seed: u64,
    pub(crate) shared: Arc<SharedCursors>,
    pub(crate) trace_cap: usize,
}

impl Submitter {
    pub(crate) fn new(id: u16, context: &Context<'_>) -> Submitter {
        let step = context.step;
        let share = |total: u64| {
            let (n, i) = (u64::from(step.submitters), u64::from(id));
            total / n + u64::from(i < total % n)
        };
        let legs: Vec<Leg> = step
            .phases
            .iter()
            .map(|phase| Leg {
                phase: phase.clone(),
                ios: phase.stop.ios.map(share),
                bytes: phase.stop.bytes.map(|b| Bytes(share(b.0))),
                recorder: Recorder::new(phase),
                end: Time::NEVER,
            })
            .collect();
        let arrivals = (0..)
            .zip(&step.phases)
            .map(|(index, phase)| {
                let rng = Rng::for_path(context.seed, &[ARRIVALS, u64::from(id), index]);
                Arrivals::new(&phase.arrival, rng)
            })
            .collect();
        let depth = step.depth_max();
        let idle = Slot { op: Op::Flush, offset: Bytes::ZERO, len: Bytes::ZERO, ready: Time::ZERO };
        Submitter {
            id,
            legs,
            stream: Stream::new(step, context.region, id, context.seed, context.shared.clone()),
            batch: [Access { op: Op::Read, fua: false, offset: Bytes::ZERO, len: Bytes::ZERO };
                BATCH],
            batch_len: batch_len(&step.phases[0]),
            batch_used: batch_len(&step.phases[0]),
            arrivals,
            issue_began: Time::ZERO,
            next_due: Time::ZERO,
            issue: Side::START,
            complete: Side::START,
            free: (0..depth).rev().collect(),
            slots: vec![idle; usize::from(depth)],
            start: Time::ZERO,
            halted: false,
            totals: Totals::default(),
            audit: Audit::new(context.region, step.block_min()),
            trace: Vec::with_capacity(context.trace_cap),
            trace_dropped: 0,
            failure: None,
        }
    }

    /// Sets the step's first instant and enters the first phase on both sides.
    pub(crate) fn begin(&mut self, start: Time) {
        self.start = start;
        self.slots.iter_mut().for_each(|slot| slot.ready = start);
        self.enter_complete(start);
        self.enter_issue(start);
    }

    /// Index of the phase that completions count for; past the last one when the step is over.
    pub(crate) fn phase(&self) -> usize {
        self.complete.phase
    }

    pub(crate) fn id(&self) -> u16 {
        self.id
    }

    /// Most requests that can be outstanding.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn outstanding(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// True when no further request will come and none is out.
    pub(crate) fn idle(&self) -> bool {
        self.outstanding() == 0 && (self.halted || self.complete.phase >= self.legs.len())
    }

    /// Issues nothing more.
    pub(crate) fn halt(&mut self) {
        self.halted = true;
    }

    /// The next instant at which this submitter has something to do unasked.
    pub(crate) fn wakes(&self) -> Time {
        if self.halted {
            return Time::NEVER;
        }
        let end = self.legs.get(self.complete.phase).map_or(Time::NEVER, |leg| leg.end);
        match self.legs.get(self.issue.phase) {
            Some(leg) if self.has_room(leg) => end.min(self.next_due),
            _ => end,
        }
    }

    fn has_room(&self, leg: &Leg) -> bool {
        self.outstanding() < usize::from(leg.phase.arrival.depth())
    }

    /// Moves on to the phases that have begun by `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        while let Some(leg) = self.legs.get(self.complete.phase) {
            if now >= leg.end {
                self.leave_complete(leg.end);
            } else if leg.spent(&self.complete) {
                // A share of nothing: the phase has fewer I/Os than there are submitters.
                self.leave_complete(now);
            } else {
                break;
            }
        }
    }

    /// Appends the requests that are due at `now`.
    #[inline]
    pub(crate) fn top_up(&mut self, now: Time, out: &mut Vec<Request>) {
        while !self.halted {
            let Some(leg) = self.legs.get(self.issue.phase) else { return };
            if leg.spent(&self.issue) || now >= leg.end {
                self.issue.next();
                self.enter_issue(now);
                continue;
            }
            if self.next_due > now || !self.has_room(leg) {
                return;
            }
            let Some(slot) = self.free.pop() else { return };
            let access = self.next_access();
            self.issue.add(access.len);
            let due = self.take_due();
            let state = &mut self.slots[usize::from(slot)];
            let ready = due.unwrap_or(state.ready);
            *state = Slot { op: access.op, offset: access.offset, len: access.len, ready };
            out.push(Request {
                op: access.op,
                fua: access.fua,
                submitter: self.id,
                slot,
                offset: access.offset,
                len: access.len,
            });
        }
    }

    #[inline]
    fn next_access(&mut self) -> Access {
        if self.batch_used == self.batch_len {
            self.stream.fill(&mut self.batch[..self.batch_len]);
            self.batch_used = 0;
        }
        self.batch_used += 1;
        self.batch[self.batch_used - 1]
    }

    /// The intended time of the request about to be issued, when arrivals are timed; sets the next.
    fn take_due(&mut self) -> Option<Time> {
        let arrivals = &mut self.arrivals[self.issue.phase];
        if !self.legs[self.issue.phase].timed() {
            return None;
        }
        let due = self.next_due;
        self.next_due = arrivals.next_due().map_or(Time::NEVER, |at| self.issue_began + at);
        Some(due)
    }

    /// Takes note of a completion.
    #[inline]
    pub(crate) fn complete(&mut self, completion: &Completion) {
        self.advance(completion.completed);
        let slot = self.slots[usize::from(completion.slot)];
        self.slots[usize::from(completion.slot)].ready = completion.completed;
        self.free.push(completion.slot);
        let kind = match completion.outcome.bytes() {
            Ok(bytes) if bytes == slot.len || slot.op == Op::Flush || slot.op == Op::Discard => {
                None
            }
            Ok(bytes) => Some(FailureKind::Short(bytes)),
            Err(errno) => Some(FailureKind::Error(errno)),
        };
        if let Some(kind) = kind {
            let Slot { op, offset, len, .. } = slot;
            self.failure.get_or_insert(Failure { op, offset, len, at: completion.completed, kind });
            self.halted = true;
            return;
        }
        self.count(&slot, completion);
    }

    fn count(&mut self, slot: &Slot, completion: &Completion) {
        self.totals.add(slot.op, slot.len);
        if slot.op != Op::Flush {
            self.audit.note(slot.op, slot.offset, slot.len, completion.issued);
        }
        if self.trace.len() < self.trace.capacity() {
            self.trace.push(Sample {
                submitter: self.id,
                op: slot.op,
                offset: slot.offset,
                len: slot.len,
                intended: slot.ready.since(self.start),
                issued: completion.issued.since(self.start),
                completed: completion.completed.since(self.start),
            });
        } else {
            self.trace_dropped += 1;
        }
        let Some(leg) = self.legs.get_mut(self.complete.phase) else { return };
        leg.recorder.record(Seen {
            op: slot.op,
            bytes: slot.len,
            ready: slot.ready,
            issued: completion.issued,
            completed: completion.completed,
        });
        self.complete.add(slot.len);
        if leg.spent(&self.complete) {
            self.leave_complete(completion.completed);
        }
    }

    fn leave_complete(&mut self, at: Time) {
        self.legs[self.complete.phase].recorder.end(at);
        self.complete.next();
        self.enter_complete(at);
    }

    fn enter_complete(&mut self, at: Time) {
        if let Some(leg) = self.legs.get_mut(self.complete.phase) {
            leg.recorder.begin(at);
            leg.end = leg.phase.stop.after.map_or(Time::NEVER, |after| at + after);
        }
    }

    fn enter_issue(&mut self, at: Time) {
        let index = self.issue.phase;
        if index >= self.legs.len() {
            return;
        }
        let goes_on = index > 0 && self.legs[index].phase.continues(&self.legs[index - 1].phase);
        if !goes_on {
            // What was generated ahead belongs to the phase before; accesses of one that goes on are
            // kept, or a sequential cursor would skip the blocks that were never issued.
            self.stream.enter(index);
            self.batch_len = batch_len(&self.legs[index].phase);
            self.batch_used = self.batch_len;
        }
        self.issue_began = at;
        self.next_due = self.arrivals[index].next_due().map_or(Time::ZERO, |due| at + due);
    }

    /// What each phase saw, without those never entered, and the audit of the addresses.
    pub(crate) fn finish(self, end: Time) -> (Vec<PhaseSamples>, Audit) {
        let start = self.start;
        let legs = self.legs.into_iter().filter_map(|leg| leg.recorder.finish(start, end));
        (legs.collect(), self.audit)
    }
}

/// Blocks of a shared cursor are claimed one by one: claimed ahead, they would be visited by each
/// submitter in runs of its own.
fn batch_len(phase: &Phase) -> usize {
    match phase.address {
        Address::Sequential { share: Share::Cursor } => 1,
        _ => BATCH,
    }
}

/// Names the arrivals' random streams among all streams of a run.
const ARRIVALS: u64 = 0x6172_7269_7661_6c73;
