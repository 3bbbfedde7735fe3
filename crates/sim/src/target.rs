//! The engine: virtual time, the host's queue, and one lane for all submitters.

use std::collections::VecDeque;
use std::sync::Arc;

use block::{
    Bytes, Completion, Drive, DriveError, DriveInfo, Errno, LaneSetup, Nanos, Op, Outcome, Request,
    Target, Time,
};

use crate::around::ContentMap;
use crate::device::{Command, Device, Finished, MediaCounters};
use crate::environment::{Counters, Surroundings, VirtualEnvironment};

/// How long the kernel takes to refuse a request that never reaches the device. Not zero: a closed
/// loop over refused requests would otherwise turn for ever within one instant.
const REFUSAL: Nanos = Nanos(5_000);

/// Invalid argument (`EINVAL`): outside the drive, or not a multiple of its logical block.
const EINVAL: Errno = Errno(22);
/// Operation not supported (`EOPNOTSUPP`), the block layer's word for a discard that no device does.
const EOPNOTSUPP: Errno = Errno(95);

/// A virtual drive as a target. Its clock begins at zero, moves only in [`Drive::wait_until`] and
/// [`Target::pause`], and its device keeps its state (caches, arm, dirty data) from open to open.
pub struct VirtualTarget {
    info: DriveInfo,
    leaf: String,
    around: Surroundings,
    content: ContentMap,
    device: Box<dyn Device>,
    now: Time,
    next_tag: u64,
    /// Commands of lanes before the current one have lower tags; nobody waits for them.
    first_tag: u64,
    /// Waits for a slot in the device, in order.
    queued: VecDeque<Ticket>,
    /// In the device.
    active: Vec<Ticket>,
    /// Never reaches the device; finishes at the given time. In order of time, since each is refused
    /// after the same span.
    refused: VecDeque<(Time, Ticket, Errno)>,
    /// Room for one step's results, kept so that no I/O allocates.
    finished: Vec<Finished>,
    completed: Vec<(u64, Completion)>,
    counters: Arc<Counters>,
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
struct Ticket {
    command: Command,
    submitter: u16,
    slot: u16,
    issued: Time,
}

impl Ticket {
    fn completion(&self, completed: Time, outcome: Outcome) -> Completion {
        let Ticket { submitter, slot, issued, .. } = *self;
        Completion { submitter, slot, issued, completed, outcome }
    }
}

/// Everything that a model tells the engine.
pub(crate) struct Parts {
    pub(crate) info: DriveInfo,
    /// Name of the leaf device.
    pub(crate) leaf: String,
    pub(crate) around: Surroundings,
    pub(crate) content: ContentMap,
    pub(crate) device: Box<dyn Device>,
}

impl VirtualTarget {
    pub(crate) fn new(parts: Parts) -> VirtualTarget {
        VirtualTarget {
            info: parts.info,
            leaf: parts.leaf,
            around: parts.around,
            content: parts.content,
            device: parts.device,
            now: Time::ZERO,
            next_tag: 0,
            first_tag: 0,
            queued: VecDeque::new(),
            active: Vec::new(),
            refused: VecDeque::new(),
            finished: Vec::new(),
            completed: Vec::new(),
            counters: Arc::default(),
        }
    }

    /// Starts the drive's noise anew. Before the first request this is the same as opening it with
    /// `?seed=`.
    pub fn reseed(&mut self, seed: u64) {
        self.device.reseed(seed);
    }

    /// The environment of this drive. It counts on while the drive is in use, and may be asked for
    /// as often as needed.
    pub fn environment(&self) -> VirtualEnvironment {
        VirtualEnvironment::new(
            Arc::clone(&self.counters),
            &self.info,
            &self.leaf,
            self.around.clone(),
        )
    }

    /// What moved inside the drive, as the model knows it; for scoring inferences, never for making them.
    pub fn media(&self) -> MediaCounters {
        self.device.media()
    }

    /// Where the drive keeps what is written to it. The drive itself keeps none of it.
    pub fn content(&self) -> &ContentMap {
        &self.content
    }

    /// Why the block layer would not hand `request` to this device.
    fn refusal(&self, request: &Request) -> Option<Errno> {
        if !self.device.supports(request.op) {
            return Some(EOPNOTSUPP);
        }
        if request.op == Op::Flush {
            return None;
        }
        let block = self.info.logical_block_bytes;
        let end = request.offset.0.checked_add(request.len.0);
        let fits = request.len > Bytes::ZERO
            && i32::try_from(request.len.0).is_ok()
            && request.offset.is_multiple_of(block)
            && request.len.is_multiple_of(block)
            && end.is_some_and(|end| end <= self.info.capacity_bytes.0);
        if fits { None } else { Some(EINVAL) }
    }

    fn take(&mut self, request: &Request) {
        let len = if request.op == Op::Flush { 0 } else { request.len.0 };
        let command = Command {
            tag: self.next_tag,
            op: request.op,
            fua: request.fua,
            offset: request.offset.0,
            len,
        };
        self.next_tag += 1;
        let Request { submitter, slot, .. } = *request;
        let ticket = Ticket { command, submitter, slot, issued: self.now };
        match self.refusal(request) {
            Some(errno) => self.refused.push_back((self.now + REFUSAL, ticket, errno)),
            None => {
                self.counters.requested(request.op, request.len);
                self.queued.push_back(ticket);
            }
        }
    }

    /// Hands over what the device admits, in order: the first that must wait holds up the rest.
    fn dispatch(&mut self) {
        while let Some(ticket) = self.queued.front().copied() {
            if !self.device.admits(&ticket.command) {
                break;
            }
            self.queued.pop_front();
            self.device.accept(ticket.command, self.now);
            self.active.push(ticket);
        }
    }

    fn under_way(&self) -> bool {
        !(self.active.is_empty() && self.queued.is_empty())
    }

    fn next_event(&self) -> Option<Time> {
        let refused = self.refused.front().map(|(at, ..)| *at);
        match (self.device.next_event(), refused) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Moves to `to`, which is not later than the next event, and lets that happen.
    fn step(&mut self, to: Time, done: &mut Vec<(u64, Completion)>) {
        if self.under_way() || self.device.busy() {
            self.counters.busy(to.since(self.now));
        }
        self.now = to;
        self.device.advance(to, &mut self.finished);
        let mut finished_now = std::mem::take(&mut self.finished);
        for finished in finished_now.drain(..) {
            let Some(index) = self.active.iter().position(|t| t.command.tag == finished.tag) else {
                continue;
            };
            let ticket = self.active.swap_remove(index);
            let bytes = finished.outcome.bytes().unwrap_or(Bytes::ZERO);
            self.counters.completed(ticket.command.op, bytes);
            self.finish(&ticket, finished.at, finished.outcome, done);
        }
        self.finished = finished_now;
        while let Some((at, ticket, errno)) = self.refused.front().copied() {
            if at > to {
                break;
            }
            self.refused.pop_front();
            self.finish(&ticket, at, Outcome(-errno.0), done);
        }
        self.counters.set_media(&self.device.media());
        self.dispatch();
    }

    fn finish(
        &self,
        ticket: &Ticket,
        at: Time,
        outcome: Outcome,
        done: &mut Vec<(u64, Completion)>,
    ) {
        if ticket.command.tag >= self.first_tag {
            done.push((ticket.command.tag, ticket.completion(at, outcome)));
        }
    }

    /// Advances to `until` or to the first instant at which something completes.
    fn run(&mut self, until: Time, done: &mut Vec<Completion>) {
        self.dispatch();
        // Nothing outstanding and no end: a real drive would hang, a virtual one stays where it is.
        if until == Time::NEVER && !self.under_way() && self.refused.is_empty() {
            return;
        }
        let mut completed = std::mem::take(&mut self.completed);
        while completed.is_empty() {
            match self.next_event() {
                Some(at) if at <= until => self.step(at.max(self.now), &mut completed),
                _ => {
                    self.step(until.max(self.now), &mut completed);
                    break;
                }
            }
        }
        completed
            .sort_by_key(|(tag, completion)| (completion.completed, completion.submitter, *tag));
        done.extend(completed.drain(..).map(|(_, completion)| completion));
        self.completed = completed;
    }
}

impl std::fmt::Debug for VirtualTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VirtualTarget")
            .field("info", &self.info)
            .field("now", &self.now)
            .field("queued", &self.queued.len())
            .field("active", &self.active.len())
            .finish_non_exhaustive()
    }
}

impl Target for VirtualTarget {
    type Drive<'a> = Lane<'a>;

    fn info(&self) -> &DriveInfo {
        &self.info
    }

    fn now(&self) -> Time {
        self.now
    }

    /// Virtual time goes by; read-ahead and destaging go on meanwhile.
    fn pause(&mut self, span: Nanos) {
        self.first_tag = self.next_tag;
        let until = self.now + span;
        while self.now < until {
            self.run(until, &mut Vec::new());
        }
    }

    /// Opens one lane for all submitters. Requests of an earlier lane that are still under way are
    /// carried out, and nobody hears of them.
    fn open<'a>(&'a mut self, _: &LaneSetup<'_>) -> Result<Vec<Lane<'a>>, DriveError> {
        self.first_tag = self.next_tag;
        Ok(vec![Lane { target: self }])
    }
}

/// The one drive that a virtual target opens, for all submitters.
#[derive(Debug)]
pub struct Lane<'a> {
    target: &'a mut VirtualTarget,
}

impl Drive for Lane<'_> {
    fn now(&self) -> Time {
        self.target.now
    }

    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        for request in requests {
            self.target.take(request);
        }
        Ok(())
    }

    /// Returns all completions of the first instant that has any, ordered by (time, submitter, order
    /// of submission). With nothing outstanding and `until` at [`Time::NEVER`] it returns at once.
    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        self.target.run(until, done);
        Ok(self.target.now)
    }
}
