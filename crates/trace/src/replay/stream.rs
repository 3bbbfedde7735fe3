//! From the I/Os of a trace to requests on a target, as they are needed.

use std::collections::VecDeque;

use block::{Bytes, Nanos, Op};
use engine::replay::{Feed, FeedError, Planned};
use serde::{Deserialize, Serialize};

use super::options::{Clock, Count, Mode, Writes};
use super::original::Original;
use super::pace::Pace;
use super::plan::{Origin, Plan};
use super::reference::ReferenceReader;
use super::requests::{Requests, Taken};
use super::rooms::Rooms;
use super::survey::inside;
use crate::{Flags, Io, Kind, Source, Stamp, TraceError};

/// The unit that outstanding load is counted in, whatever the block of a drive (source: blktrace's sectors).
const SECTOR: u64 = 512;

/// Opens the trace from its beginning, once for each loop.
pub type Opener = Box<dyn FnMut() -> Result<Box<dyn Source>, TraceError> + Send>;

/// Counts of requests planned and I/Os left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests planned, of all sorts.
    pub requests: u64,
    /// Reads, those that were writes among them.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes, those that precede a write's data among them.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// Writes with forced unit access.
    pub fua: u64,
    /// Writes that are issued as reads.
    pub writes_as_reads: u64,
    /// Flushes made of writes that flush before their data: they are issued with the write, not before it.
    pub preflushes: u64,
    /// Requests whose ends were moved outwards to whole blocks.
    pub repaired: u64,
    /// Bytes that this added.
    pub repaired_bytes: Bytes,
    /// Requests that were moved back from the end of the target.
    pub moved: u64,
    /// Requests that were cut to the target's length.
    pub cut: u64,
    /// I/Os that are part of a request that is planned (from D).
    pub merged: u64,
    /// I/Os left out.
    pub left_out: LeftOut,
}

/// I/Os that were left out, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Writes, because the target is not to be written.
    pub writes: u64,
    /// Flushes, for the same reason.
    pub flushes: u64,
    /// Discards, because they were not consented to.
    pub discards: u64,
    /// Writes of zeroes.
    pub write_zeroes: u64,
    /// Zone commands.
    pub zone: u64,
    /// Others.
    pub other: u64,
    /// Reads, writes and discards of no bytes.
    pub empty: u64,
    /// I/Os that never reached the driver, as far as is known (from D).
    pub without_issue: u64,
}

/// The requests of a replay, in order, made as they are asked for, in memory that does not grow with the trace.
pub struct Stream {
    plan: Plan,
    open: Opener,
    reference: Option<ReferenceReader>,
    source: Option<Box<dyn Source>>,
    batch: Vec<Io>,
    next: usize,
    loops_done: u32,
    /// The loop has read all that it replays.
    read: bool,
    requests: Requests,
    pace: Pace,
    rooms: Rooms,
    counts: Counts,
    original: Original,
    ready: VecDeque<Planned>,
}

/// One request before it is known when it may be issued.
struct Draft {
    op: Op,
    fua: bool,
    offset: Bytes,
    len: Bytes,
}

impl Stream {
    pub(super) fn new(plan: &Plan, open: Opener, reference: Option<ReferenceReader>) -> Stream {
        let origin = plan.original();
        let own_time = plan.options.mode == Mode::Timed;
        Stream {
            open,
            reference,
            source: None,
            batch: Vec::new(),
            next: 0,
            loops_done: 0,
            read: false,
            requests: Requests::default(),
            pace: Pace::new(plan.options.mode),
            rooms: Rooms::default(),
            counts: Counts::default(),
            original: Original::new(origin, plan.span(), own_time),
            ready: VecDeque::new(),
            plan: plan.clone(),
        }
    }

    /// Returns the counts and the original's metrics; complete once the stream is at its end.
    pub fn finish(self) -> (Counts, Original) {
        (self.counts, self.original)
    }

    /// Appends the requests that follow, at most `most`; none at the end.
    ///
    /// # Errors
    /// Those of the source, and those of [`Plan::new`] when the trace is not what it was when it was surveyed.
    pub fn next(&mut self, most: usize, out: &mut Vec<Planned>) -> Result<(), TraceError> {
        let full = out.len().saturating_add(most);
        while out.len() < full {
            match self.ready.pop_front() {
                Some(planned) => out.push(planned),
                None if self.step()? => {}
                None => break,
            }
        }
        Ok(())
    }

    /// Goes on by one I/O; false at the end.
    fn step(&mut self) -> Result<bool, TraceError> {
        if self.next == self.batch.len() && !self.refill()? {
            // The loop is at its end: what still waits for its issue leaves, then the next one begins.
            if let Some(io) = self.requests.next(None) {
                self.plan_io(&io)?;
                return Ok(true);
            }
            self.source = None;
            self.read = false;
            self.loops_done += 1;
            return Ok(self.loops_done < self.plan.options.loops);
        }
        let io = self.batch[self.next];
        if self.plan.options.clock == Clock::Issue
            && let Some(earlier) = self.requests.next(Some(Stamp::at(io.arrival)))
        {
            self.plan_io(&earlier)?;
            return Ok(true);
        }
        self.next += 1;
        let (from, until) = (self.plan.options.from, self.plan.options.until);
        if !inside(&io, from, until) {
            return Ok(true);
        }
        match self.plan.options.clock {
            Clock::Queue => self.plan_io(&io)?,
            Clock::Issue => match self.requests.take(io) {
                Taken::Waits => {}
                Taken::Merged => self.counts.merged += 1,
                Taken::Unknown => self.counts.left_out.without_issue += 1,
            },
        }
        Ok(true)
    }

    /// Reads the next I/Os of this loop; false when there are no more.
    fn refill(&mut self) -> Result<bool, TraceError> {
        let behind = |io: &Io| self.plan.options.until.is_some_and(|end| io.arrival >= end);
        self.read |= self.batch.last().is_some_and(behind);
        self.batch.clear();
        self.next = 0;
        if self.read || self.loops_done >= self.plan.options.loops {
            return Ok(false);
        }
        if self.source.is_none() {
            self.source = Some((self.open)()?);
        }
        if let Some(source) = &mut self.source {
            source.next(&mut self.batch)?;
        }
        self.read = self.batch.is_empty();
        Ok(!self.read)
    }

    fn plan_io(&mut self, io: &Io) -> Result<(), TraceError> {
        let Some(draft) = self.draft(io)? else { return Ok(()) };
        let (time, completed) = self.times(io);
        if draft.op == Op::Write && io.flags.has(Flags::PREFLUSH) {
            self.counts.preflushes += 1;
            let flush = Draft { op: Op::Flush, fua: false, offset: Bytes::ZERO, len: Bytes::ZERO };
            // Weighs nothing: the write that it belongs to counts for both.
            self.emit(&flush, time, completed, true)?;
        }
        self.emit(&draft, time, completed, false)
    }

    /// The instant that counts and the completion, since the replay's first request, loops included.
    fn times(&self, io: &Io) -> (u64, Option<u64>) {
        let at = match self.plan.options.clock {
            Clock::Queue => io.arrival,
            Clock::Issue => io.issued.get().unwrap_or(io.arrival),
        };
        let shift = u64::from(self.loops_done).saturating_mul(self.plan.period());
        let first = self.plan.first().0;
        let since = |instant: Nanos| instant.0.saturating_sub(first).saturating_add(shift);
        (since(at), io.completed.get().map(since))
    }

    /// Returns the request for an I/O on the target; `None` when it is left out.
    fn draft(&mut self, io: &Io) -> Result<Option<Draft>, TraceError> {
        let left = &mut self.counts.left_out;
        let writes = self.plan.options.writes;
        let mut fua = false;
        let op = match io.kind {
            Kind::Read => Op::Read,
            // A write of nothing that flushes is what a flush looks like to some tracers.
            Kind::Write if io.length == Bytes::ZERO && io.flags.has(Flags::PREFLUSH) => Op::Flush,
            Kind::Write => match writes {
                Writes::Issue => {
                    fua = io.flags.has(Flags::FUA);
                    Op::Write
                }
                Writes::AsReads => Op::Read,
                Writes::LeaveOut => {
                    left.writes += 1;
                    return Ok(None);
                }
            },
            Kind::Flush => Op::Flush,
            Kind::Discard => Op::Discard,
            Kind::WriteZeroes => return Ok(leave(&mut left.write_zeroes)),
            Kind::Zone => return Ok(leave(&mut left.zone)),
            Kind::Other => return Ok(leave(&mut left.other)),
        };
        match op {
            Op::Flush if writes != Writes::Issue => return Ok(leave(&mut left.flushes)),
            Op::Flush => {
                let none = Bytes::ZERO;
                return Ok(Some(Draft { op, fua, offset: none, len: none }));
            }
            Op::Discard if !self.plan.options.discards => return Ok(leave(&mut left.discards)),
            _ if io.length == Bytes::ZERO => return Ok(leave(&mut left.empty)),
            _ => {}
        }
        self.counts.writes_as_reads += u64::from(io.kind == Kind::Write && op == Op::Read);
        let (offset, len) = self.placed(io)?;
        Ok(Some(Draft { op, fua, offset, len }))
    }

    fn placed(&mut self, io: &Io) -> Result<(Bytes, Bytes), TraceError> {
        let placed = self.plan.map.place(io.space, io.offset, io.length).ok_or_else(|| {
            TraceError::Unsuited(format!(
                "an I/O at byte {} of address space {} lies outside all that the trace had when it was first read: \
                 was the file changed?",
                io.offset.0, io.space
            ))
        })?;
        self.counts.repaired += u64::from(placed.repaired);
        if placed.repaired && !placed.cut {
            self.counts.repaired_bytes += placed.len.saturating_sub(io.length);
        }
        self.counts.moved += u64::from(placed.moved);
        self.counts.cut += u64::from(placed.cut);
        Ok((placed.offset, placed.len))
    }

    /// Says when a request may be issued, and hands it out. `part` is true of a flush that belongs to the write behind
    /// it.
    fn emit(
        &mut self,
        draft: &Draft,
        time: u64,
        completed: Option<u64>,
        part: bool,
    ) -> Result<(), TraceError> {
        let Draft { op, fua, offset, len } = *draft;
        let (time, completed) = match &mut self.reference {
            Some(reference) => {
                let (issued, completed) = reference.next()?;
                (issued, Some(completed))
            }
            None => (time, completed),
        };
        let at = self.pace.due(time, completed);
        let (room, weight) = match self.plan.options.mode {
            Mode::Timed | Mode::Scaled(_) => (Planned::ALL_ROOM, 1),
            Mode::Afap(depth) => (u64::from(depth) - 1, 1),
            Mode::Outstanding(count) => {
                let weight = match count {
                    Count::Blocks if matches!(op, Op::Read | Op::Write) => len.0.div_ceil(SECTOR),
                    Count::Blocks => 0,
                    Count::Ios => u64::from(!part),
                };
                (self.rooms.before(time, completed, weight), weight)
            }
        };
        if !part {
            let due = match self.plan.options.mode {
                Mode::Timed | Mode::Scaled(_) => at,
                Mode::Outstanding(_) | Mode::Afap(_) => Nanos(time),
            };
            self.original.see(time, completed, due, len);
        }
        self.count(op, fua);
        self.ready.push_back(Planned { at, room, weight, op, fua, offset, len });
        Ok(())
    }

    fn count(&mut self, op: Op, fua: bool) {
        self.counts.requests += 1;
        self.counts.fua += u64::from(fua);
        let of_kind = match op {
            Op::Read => &mut self.counts.reads,
            Op::Write => &mut self.counts.writes,
            Op::Flush => &mut self.counts.flushes,
            Op::Discard => &mut self.counts.discards,
        };
        *of_kind += 1;
    }
}

fn leave(count: &mut u64) -> Option<Draft> {
    *count += 1;
    None
}

impl Feed for Stream {
    fn fill(&mut self, most: usize, out: &mut Vec<Planned>) -> Result<(), FeedError> {
        self.next(most, out).map_err(Into::into)
    }
}

impl Plan {
    /// The requests of this plan, of the trace that `open` opens; with the times of a reference replay when the plan
    /// was made for one.
    ///
    /// # Errors
    /// [`TraceError::Unsuited`] when the plan asks for a reference and gets none, or the reverse.
    pub fn stream(
        &self,
        open: Opener,
        reference: Option<ReferenceReader>,
    ) -> Result<Stream, TraceError> {
        if (self.original() == Origin::Reference) != reference.is_some() {
            return Err(TraceError::Unsuited(
                "the times of a reference replay belong to a plan that was made for them, and to no other".to_owned(),
            ));
        }
        Ok(Stream::new(self, open, reference))
    }
}
