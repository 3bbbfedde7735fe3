//! Requests through a drive's virtual time and its content. Knows no clock, no thread and no kernel, so
//! that tests say what time it is.

use block::{
    Bytes, Completion, Drive, DriveError, Errno, LaneSetup, Op, Outcome, Request, Target, Time,
};
use sim::{Lane, VirtualTarget};

use crate::content::{Content, ENOSPC};

/// Most bytes of one discard; a longer one is carried out in parts, one after the other, as the block
/// layer does. (The engine's outcomes end at 2 GiB.)
const DISCARD_MAX: u64 = 1 << 30;

/// A request of some program.
#[derive(Debug)]
pub(crate) struct Job<A> {
    /// The operation.
    pub(crate) op: Op,
    /// Complete only when the medium holds it.
    pub(crate) fua: bool,
    /// First byte.
    pub(crate) offset: u64,
    /// Count of bytes; of a write, that of `data`.
    pub(crate) len: u64,
    /// Data to write; empty otherwise.
    pub(crate) data: Vec<u8>,
    /// The program did not ask for direct I/O: what does not fill the drive's blocks is carried out as a
    /// page cache would, instead of being refused.
    pub(crate) buffered: bool,
    /// Data needed to reply.
    pub(crate) answer: A,
}

/// How a job went.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply<'a> {
    /// Data that was read.
    Data(&'a [u8]),
    /// The rest: bytes that were written or discarded, none of a flush.
    Done(u64),
    /// Why not.
    Failed(Errno),
}

/// A job in the drive.
#[derive(Debug)]
struct Underway<A> {
    job: Job<A>,
    /// Parts that the drive has to do after the present one, in reverse order.
    rest: Vec<Part>,
}

/// Part of a job that the drive does at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    op: Op,
    offset: u64,
    len: u64,
}

/// A job that the drive has completed, and whose reply has not been sent yet.
#[derive(Debug)]
struct Finished<A> {
    job: Job<A>,
    due: Time,
    outcome: Outcome,
}

/// A drive and its content, with what is under way. `A` is what it takes to reply.
pub(crate) struct Service<'a, A> {
    lane: Lane<'a>,
    block_bytes: u64,
    content: Box<dyn Content>,
    /// By number; free ones are empty.
    jobs: Vec<Option<Underway<A>>>,
    free: Vec<u32>,
    finished: Vec<Finished<A>>,
    /// Kept so that no request allocates them.
    completions: Vec<Completion>,
    buffer: Vec<u8>,
    writes_without_room: u64,
}

impl<'a, A> Service<'a, A> {
    /// Puts a drive into service.
    ///
    /// # Errors
    /// The drive's own.
    pub(crate) fn new(
        target: &'a mut VirtualTarget,
        content: Box<dyn Content>,
    ) -> Result<Service<'a, A>, DriveError> {
        let block_bytes = target.info().logical_block_bytes.0;
        // A virtual drive takes no notice of any of it.
        let setup = LaneSetup::default();
        let mut lanes = target.open(&setup)?.into_iter();
        let Some(lane) = lanes.next() else {
            let why = "it opened no lane".to_owned();
            return Err(DriveError::Unsupported { target: "sim".to_owned(), op: Op::Read, why });
        };
        Ok(Service {
            lane,
            block_bytes,
            content,
            jobs: Vec::new(),
            free: Vec::new(),
            finished: Vec::new(),
            completions: Vec::new(),
            buffer: Vec::new(),
            writes_without_room: 0,
        })
    }

    /// Takes a request that arrived at `arrived`. Should the drive have gone beyond that already, by an
    /// event of its own, it arrives at that event.
    ///
    /// # Errors
    /// The drive's own, when it fails as a whole.
    pub(crate) fn take(&mut self, job: Job<A>, arrived: Time) -> Result<(), DriveError> {
        self.run_to(arrived)?;
        let number = self.free.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            (self.jobs.len() - 1) as u32
        });
        let mut rest = parts(&job, self.block_bytes);
        let first = rest.pop();
        self.jobs[number as usize] = Some(Underway { job, rest });
        // There always is one.
        first.map_or(Ok(()), |part| self.submit(number, part))?;
        // Only now is the request in the device, and only now does the device know its next event.
        self.run_to(self.lane.now())
    }

    /// Lets everything happen up to `now`, and replies to what is complete, in the order of completion.
    /// `reply` is also given the instant at which the reply is due.
    ///
    /// # Errors
    /// The drive's own, when it fails as a whole.
    pub(crate) fn advance(
        &mut self,
        now: Time,
        mut reply: impl FnMut(A, Op, Reply<'_>, Time),
    ) -> Result<(), DriveError> {
        self.run_to(now)?;
        let mut finished = std::mem::take(&mut self.finished);
        for Finished { job, due, outcome } in finished.drain(..) {
            let op = job.op;
            let done = outcome.bytes().and_then(|_| self.settle(&job));
            let done = match (done, op) {
                (Err(errno), _) => Reply::Failed(errno),
                (Ok(()), Op::Read) => Reply::Data(&self.buffer[..job.len as usize]),
                (Ok(()), _) => Reply::Done(job.len),
            };
            reply(job.answer, op, done, due);
        }
        self.finished = finished;
        Ok(())
    }

    /// When something next happens in the drive, asked for or not; `None` when nothing ever will.
    pub(crate) fn next_event(&self) -> Option<Time> {
        self.lane.next_event()
    }

    /// Count of requests under way.
    pub(crate) fn outstanding(&self) -> usize {
        self.jobs.len() - self.free.len()
    }

    /// Room that the content takes.
    pub(crate) fn held(&self) -> Bytes {
        self.content.held()
    }

    /// Writes that failed only because there is no room for their content.
    pub(crate) fn writes_without_room(&self) -> u64 {
        self.writes_without_room
    }

    /// Moves the drive to `until`, unless it is there already.
    fn run_to(&mut self, until: Time) -> Result<(), DriveError> {
        loop {
            let mut completions = std::mem::take(&mut self.completions);
            let reached = self.lane.wait_until(until.max(self.lane.now()), &mut completions)?;
            let is_quiet = completions.is_empty();
            for completion in completions.drain(..) {
                self.complete(&completion)?;
            }
            self.completions = completions;
            if is_quiet && reached >= until {
                return Ok(());
            }
        }
    }

    /// A part of a job is done: the next one, or all of it.
    fn complete(&mut self, completion: &Completion) -> Result<(), DriveError> {
        let number = u32::from(completion.submitter) << 16 | u32::from(completion.slot);
        let Some(underway) = &mut self.jobs[number as usize] else { return Ok(()) };
        if completion.outcome.bytes().is_ok()
            && let Some(part) = underway.rest.pop()
        {
            return self.submit(number, part);
        }
        let Some(Underway { job, .. }) = self.jobs[number as usize].take() else { return Ok(()) };
        self.free.push(number);
        let Completion { completed: due, outcome, .. } = *completion;
        self.finished.push(Finished { job, due, outcome });
        Ok(())
    }

    /// Hands a part of a job to the drive.
    fn submit(&mut self, number: u32, part: Part) -> Result<(), DriveError> {
        let request = Request {
            op: part.op,
            fua: part.op == Op::Write
                && self.jobs[number as usize].as_ref().is_some_and(|underway| underway.job.fua),
            submitter: (number >> 16) as u16,
            slot: number as u16,
            offset: Bytes(part.offset),
            len: Bytes(part.len),
        };
        self.lane.submit(&[request])
    }

    /// Does to the content what the drive has taken its time for; a read leaves it in the buffer.
    fn settle(&mut self, job: &Job<A>) -> Result<(), Errno> {
        match job.op {
            Op::Flush => Ok(()),
            Op::Discard => self.content.discard(job.offset, job.len),
            Op::Read => {
                let len = job.len as usize;
                if self.buffer.len() < len {
                    self.buffer.resize(len, 0);
                }
                self.content.read(job.offset, &mut self.buffer[..len])
            }
            Op::Write => {
                let written = self.content.write(job.offset, &job.data);
                if written == Err(ENOSPC) {
                    self.writes_without_room += 1;
                }
                written
            }
        }
    }
}

/// Splits a job into its parts for the drive, the last first.
fn parts<A>(job: &Job<A>, block: u64) -> Vec<Part> {
    let &Job { op, offset, len, .. } = job;
    let end = offset + len;
    let is_whole = offset.is_multiple_of(block) && len.is_multiple_of(block);
    match op {
        Op::Discard => {
            let cut = |i| {
                let offset = offset + i * DISCARD_MAX;
                Part { op, offset, len: DISCARD_MAX.min(end - offset) }
            };
            (0..len.div_ceil(DISCARD_MAX).max(1)).rev().map(cut).collect()
        }
        Op::Read | Op::Write if job.buffered && !is_whole => {
            let (first, last) = (offset - offset % block, (end - 1) - (end - 1) % block);
            let mut parts = vec![Part { op, offset: first, len: last + block - first }];
            if op == Op::Write {
                // The rest of the blocks at both ends has to be known before they can be written.
                let known = |offset| Part { op: Op::Read, offset, len: block };
                parts.extend((!end.is_multiple_of(block) && last != first).then(|| known(last)));
                parts
                    .extend((!offset.is_multiple_of(block) || last == first).then(|| known(first)));
            }
            parts
        }
        Op::Read | Op::Write | Op::Flush => vec![Part { op, offset, len }],
    }
}

#[cfg(test)]
mod tests;
