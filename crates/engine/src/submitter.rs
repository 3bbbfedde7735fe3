//! One logical submitter: which request comes next, and what became of those that are out.

use std::sync::Arc;

use block::{Bytes, Completion, Nanos, Op, Request, Time};
use workload::arrival::Arrivals;
use workload::audit::Audit;
use workload::plan::{Arrival, Phase, Region, Step, Stop};
use workload::rng::Rng;
use workload::stream::{Access, SharedCursors, Stream};

use crate::recorder::{Recorder, Seen, slice_for};
use crate::samples::{Failure, FailureKind, PhaseSamples, Sample, Totals};

/// Accesses generated ahead of the loop at a time.
const BATCH: usize = 64;

/// A phase is put off by this part of its time, rounded up to whole slices of its series.
const STRETCH: u64 = 4;

/// State of a slot: its outstanding request, or, between requests, since when it has been free.
#[derive(Clone, Copy)]
struct Slot {
    op: Op,
    offset: Bytes,
    len: Bytes,
    /// When it was meant to be issued: its intended time, or as soon as the slot was free.
    intended: Time,
    /// When it could have been issued: its intended time, or later, when the slot was free.
    ready: Time,
    /// Phase that it was issued for.
    leg: u32,
}

/// I/Os and bytes, counted up to a share.
#[derive(Clone, Copy, Default)]
struct Count {
    ios: u64,
    bytes: Bytes,
}

impl Count {
    fn add(&mut self, bytes: Bytes) {
        self.ios += 1;
        self.bytes += bytes;
    }
}

/// A phase as one submitter runs it.
///
/// A submitter issues for one phase and completes in another, the requests in flight apart: it issues
/// for the next phase as soon as the last request of a phase is issued, so that no gap opens. A phase
/// with a time limit lasts until that is up; any other until the last request that was issued for it
/// has completed, whatever of its neighbours completes in between.
struct Leg {
    phase: Phase,
    /// The arrival's depth.
    depth: usize,
    /// Arrivals are timed.
    timed: bool,
    /// Some of its operations are writes.
    writes: bool,
    /// This submitter's share of the phase's count of I/Os; the greatest number where there is no limit.
    ios: u64,
    /// This submitter's share of the phase's bytes, likewise.
    bytes: Bytes,
    issued: Count,
    completed: Count,
    recorder: Recorder,
    /// When the time limit is up; known once the phase has been entered by completions.
    end: Time,
    /// This submitter's share of the count for whose sake the phase lasts longer.
    least_ios: u64,
    /// When the time limit is up whatever has completed.
    latest: Time,
}

impl Leg {
    #[inline]
    fn spent(&self, count: &Count) -> bool {
        count.ios >= self.ios || count.bytes >= self.bytes
    }

    /// Puts off the end of a phase in which too few I/Os have completed.
    fn put_off(&mut self, now: Time) {
        let Some(after) = self.phase.stop.after else { return };
        while now >= self.end && self.end < self.latest && self.completed.ios < self.least_ios {
            let stretch = after.0.div_ceil(STRETCH).next_multiple_of(slice_for(&self.phase).0);
            self.end = (self.end + Nanos(stretch)).min(self.latest);
        }
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
    /// The phase that requests are issued for.
    issuing: usize,
    /// The phase that completions fall into.
    completing: usize,
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

/// An I/O of a submitter failed.
pub(crate) struct Failed;

/// Context common to all submitters of a step.
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
                depth: usize::from(phase.arrival.depth()),
                timed: matches!(phase.arrival, Arrival::Timed { .. }),
                writes: phase.ops.iter().any(|o| o.op == Op::Write),
                ios: phase.stop.ios.map_or(u64::MAX, share),
                bytes: Bytes(phase.stop.bytes.map_or(u64::MAX, |b| share(b.0))),
                issued: Count::default(),
                completed: Count::default(),
                recorder: Recorder::new(phase),
                end: Time::NEVER,
                least_ios: phase.stop.at_least_ios.map_or(0, share),
                latest: Time::NEVER,
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
        let (offset, len) = (Bytes::ZERO, Bytes::ZERO);
        let free = Time::ZERO;
        let idle = Slot { op: Op::Flush, offset, len, intended: free, ready: free, leg: 0 };
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
            issuing: 0,
            completing: 0,
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
        self.completing
    }

    pub(crate) fn id(&self) -> u16 {
        self.id
    }

    /// Most requests that can be outstanding.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// True when some phase writes.
    pub(crate) fn writes(&self) -> bool {
        self.legs.iter().any(|leg| leg.writes)
    }

    /// The write that will be issued next in this phase, as far as it is known: of accesses generated ahead,
    /// and none where blocks of a shared cursor must not be, nor beyond the phase's last I/O. It may still
    /// not come, when the phase's time is up.
    #[inline]
    pub(crate) fn next_write(&mut self) -> Option<Request> {
        let leg = self.legs.get(self.issuing)?;
        if self.halted || !leg.writes || leg.spent(&leg.issued) || self.batch_len < BATCH {
            return None;
        }
        if self.batch_used == self.batch_len {
            self.stream.fill(&mut self.batch[..self.batch_len]);
            self.batch_used = 0;
        }
        let mut count = leg.issued;
        for access in &self.batch[self.batch_used..self.batch_len] {
            if access.op == Op::Write {
                let &Access { op, fua, offset, len } = access;
                return Some(Request { op, fua, submitter: self.id, slot: 0, offset, len });
            }
            count.add(access.len);
            if leg.spent(&count) {
                break;
            }
        }
        None
    }

    pub(crate) fn outstanding(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// True when no further request will come and none is out.
    pub(crate) fn idle(&self) -> bool {
        self.outstanding() == 0 && (self.halted || self.completing >= self.legs.len())
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
        let end = self.legs.get(self.completing).map_or(Time::NEVER, |leg| leg.end);
        match self.legs.get(self.issuing) {
            Some(leg) if self.has_room(leg) => end.min(self.next_due),
            _ => end,
        }
    }

    fn has_room(&self, leg: &Leg) -> bool {
        self.outstanding() < leg.depth
    }

    /// Moves on to the phases that have begun by `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        if let Some(leg) = self.legs.get(self.completing)
            && (now >= leg.end || leg.spent(&leg.completed))
        {
            self.leave_phases(now);
        }
    }

    #[cold]
    fn leave_phases(&mut self, now: Time) {
        while let Some(leg) = self.legs.get_mut(self.completing) {
            leg.put_off(now);
            if now >= leg.end {
                let end = leg.end;
                self.leave_complete(end);
            } else if leg.spent(&leg.completed) {
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
            let Some(leg) = self.legs.get(self.issuing) else { return };
            if leg.spent(&leg.issued) || now >= leg.end {
                self.issuing += 1;
                self.enter_issue(now);
                continue;
            }
            if self.next_due > now || !self.has_room(leg) {
                return;
            }
            let Some(slot) = self.free.pop() else { return };
            let access = self.next_access(slot);
            self.legs[self.issuing].issued.add(access.len);
            let due = self.take_due();
            let leg = self.issuing as u32;
            let state = &mut self.slots[usize::from(slot)];
            let intended = due.unwrap_or(state.ready);
            let ready = intended.max(state.ready);
            let Access { op, offset, len, .. } = access;
            *state = Slot { op, offset, len, intended, ready, leg };
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

    /// The access to be made next, in this slot.
    #[inline]
    fn next_access(&mut self, slot: u16) -> Access {
        if self.batch_used == self.batch_len {
            self.stream.fill_for(slot, &mut self.batch[..self.batch_len]);
            self.batch_used = 0;
        }
        self.batch_used += 1;
        self.batch[self.batch_used - 1]
    }

    /// The intended time of the request about to be issued, when arrivals are timed; sets the next.
    #[inline]
    fn take_due(&mut self) -> Option<Time> {
        if !self.legs[self.issuing].timed {
            return None;
        }
        let arrivals = &mut self.arrivals[self.issuing];
        let due = self.next_due;
        self.next_due = arrivals.next_due().map_or(Time::NEVER, |at| self.issue_began + at);
        Some(due)
    }

    /// Takes note of a completion.
    ///
    /// # Errors
    /// [`Failed`] when it is that of an I/O that failed: what it was is in `failure`, and this submitter
    /// issues nothing more.
    #[inline]
    pub(crate) fn complete(&mut self, completion: &Completion) -> Result<(), Failed> {
        self.advance(completion.completed);
        let state = &mut self.slots[usize::from(completion.slot)];
        let slot = *state;
        state.ready = completion.completed;
        self.free.push(completion.slot);
        match completion.outcome.bytes() {
            Ok(bytes) if bytes == slot.len || matches!(slot.op, Op::Flush | Op::Discard) => {}
            Ok(bytes) => return Err(self.fail(&slot, completion, FailureKind::Short(bytes))),
            Err(errno) => return Err(self.fail(&slot, completion, FailureKind::Error(errno))),
        }
        self.count(&slot, completion);
        Ok(())
    }

    #[cold]
    fn fail(&mut self, slot: &Slot, completion: &Completion, kind: FailureKind) -> Failed {
        let &Slot { op, offset, len, .. } = slot;
        let at = completion.completed;
        self.failure.get_or_insert(Failure { op, offset, len, at, kind, gone: None });
        self.halted = true;
        Failed
    }

    #[inline]
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
                intended: slot.intended.since(self.start),
                issued: completion.issued.since(self.start),
                completed: completion.completed.since(self.start),
            });
        } else {
            self.trace_dropped += 1;
        }
        self.legs[slot.leg as usize].completed.add(slot.len);
        if self.legs.get(self.completing).is_none_or(|leg| leg.recorder.is_older(completion.issued))
        {
            self.outlived(completion);
        }
        let Some(leg) = self.legs.get_mut(self.completing) else { return };
        leg.recorder.record(Seen {
            op: slot.op,
            bytes: slot.len,
            intended: slot.intended,
            ready: slot.ready,
            issued: completion.issued,
            completed: completion.completed,
        });
        self.advance(completion.completed);
    }

    /// The I/O was issued in a phase that is over.
    #[cold]
    fn outlived(&mut self, completion: &Completion) {
        for leg in self.legs[..self.completing].iter_mut().rev() {
            leg.recorder.outlived(completion.issued, completion.completed);
            if !leg.recorder.is_older(completion.issued) {
                break;
            }
        }
    }

    fn leave_complete(&mut self, at: Time) {
        self.legs[self.completing].recorder.end(at);
        self.completing += 1;
        self.enter_complete(at);
    }

    fn enter_complete(&mut self, at: Time) {
        if let Some(leg) = self.legs.get_mut(self.completing) {
            leg.recorder.begin(at);
            let end = |times| {
                leg.phase.stop.after.map_or(Time::NEVER, |after| at + Nanos(after.0 * times))
            };
            (leg.end, leg.latest) = (end(1), end(Stop::LONGEST));
        }
    }

    fn enter_issue(&mut self, at: Time) {
        let index = self.issuing;
        if index >= self.legs.len() {
            return;
        }
        let goes_on = index > 0 && self.legs[index].phase.continues(&self.legs[index - 1].phase);
        if !goes_on {
            // Accesses generated ahead belong to the phase before; those of a phase that continues
            // are kept, or a sequential cursor would skip the blocks that were never issued.
            self.stream.enter(index);
            self.batch_len = batch_len(&self.legs[index].phase);
            self.batch_used = self.batch_len;
        }
        self.issue_began = at;
        self.next_due = self.arrivals[index].next_due().map_or(Time::ZERO, |due| at + due);
    }

    /// Returns the samples of each phase that was entered, and the audit of the addresses.
    pub(crate) fn finish(self, end: Time) -> (Vec<PhaseSamples>, Audit) {
        let start = self.start;
        let legs = self.legs.into_iter().filter_map(|leg| leg.recorder.finish(start, end));
        (legs.collect(), self.audit)
    }
}

/// Blocks of a shared cursor are claimed one by one: claimed ahead, they would be visited by each
/// submitter in runs of its own. So are those that follow from what completed.
fn batch_len(phase: &Phase) -> usize {
    match phase.address {
        address if address.is_shared() || address.is_by_slot() => 1,
        _ => BATCH,
    }
}

/// Names the arrivals' random streams among all streams of a run.
const ARRIVALS: u64 = 0x6172_7269_7661_6c73;
