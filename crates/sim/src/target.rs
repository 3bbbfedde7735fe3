//! The engine: virtual time, the host's queue, and one lane for all submitters.

use std::collections::VecDeque;
use std::sync::Arc;

use block::{
    Bytes, Completion, Drive, DriveError, DriveInfo, Errno, LaneSetup, Nanos, Op, Outcome, Request,
    Target, Time,
};

use crate::around::ContentMap;
use crate::device::{Command, Device, Finished, MediaCounters};
use crate::environment::{Counters, Published, Surroundings, VirtualEnvironment};
use crate::store::{Hands, Store};

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
    /// Data written through lanes that were opened for data.
    store: Store,
    device: Box<dyn Device>,
    now: Time,
    /// Requests taken so far.
    sequence: u64,
    /// Requests of lanes before the current one have lower numbers; their completions are dropped.
    first: u64,
    tickets: Tickets,
    /// Waits for a slot in the device, in order; places among the tickets.
    queued: VecDeque<u32>,
    /// Commands in the device.
    active: usize,
    /// Never reaches the device; finishes at the given time. In order of time, since each is refused
    /// after the same span.
    refused: VecDeque<(Time, Ticket, Errno)>,
    /// Room for one step's results, kept so that no I/O allocates.
    finished: Vec<Finished>,
    together: Vec<(u64, Completion)>,
    counters: Counters,
    published: Arc<Published>,
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
struct Ticket {
    command: Command,
    /// Order of submission.
    sequence: u64,
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

/// The requests that are on their way, each at a place of its own, which is the tag of its command and is used again
/// afterwards: whatever finishes is found at once, however many are under way.
#[derive(Debug, Default)]
struct Tickets {
    tickets: Vec<Ticket>,
    free: Vec<u32>,
}

impl Tickets {
    fn add(&mut self, mut ticket: Ticket) -> u32 {
        let place = self.free.pop().unwrap_or(self.tickets.len() as u32);
        ticket.command.tag = place.into();
        match self.tickets.get_mut(place as usize) {
            Some(old) => *old = ticket,
            None => self.tickets.push(ticket),
        }
        place
    }

    fn get(&self, place: u32) -> &Ticket {
        &self.tickets[place as usize]
    }

    /// Takes the ticket of a command that a device had.
    fn take(&mut self, tag: u64) -> Ticket {
        self.free.push(tag as u32);
        self.tickets[tag as usize]
    }
}

/// Everything that a model gives the engine.
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
            store: Store::of(&parts.content),
            content: parts.content,
            device: parts.device,
            now: Time::ZERO,
            sequence: 0,
            first: 0,
            tickets: Tickets::default(),
            queued: VecDeque::new(),
            active: 0,
            refused: VecDeque::new(),
            finished: Vec::new(),
            together: Vec::new(),
            counters: Counters::default(),
            published: Arc::default(),
        }
    }

    /// Restarts the drive's noise from `seed`. Before the first request and the first pause this is the same as opening
    /// it with `?seed=`, except for a model that was drawn from its seed: that does not change.
    pub fn reseed(&mut self, seed: u64) {
        self.device.reseed(seed);
    }

    /// The environment of this drive. It counts on while the drive is in use, and may be asked for
    /// as often as needed.
    pub fn environment(&self) -> VirtualEnvironment {
        VirtualEnvironment::new(
            Arc::clone(&self.published),
            &self.info,
            &self.leaf,
            self.around.clone(),
            self.device.tells_endurance(),
        )
    }

    /// Returns the traffic inside the drive, as the model knows it; for scoring inferences, never for making them.
    pub fn media(&self) -> MediaCounters {
        self.device.media()
    }

    /// True when the drive does discards at all.
    pub fn discards(&self) -> bool {
        self.device.supports(Op::Discard)
    }

    /// Returns the map of where the drive keeps written data. The drive itself keeps none of it, but for writes
    /// through lanes opened for data ([`Target::open_for_data`]).
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
        let Request { op, fua, submitter, slot, offset, len } = *request;
        let bytes = if op == Op::Flush { 0 } else { len.0 };
        let command = Command { tag: 0, op, fua, offset: offset.0, len: bytes };
        let (sequence, issued) = (self.sequence, self.now);
        self.sequence += 1;
        let ticket = Ticket { command, sequence, submitter, slot, issued };
        match self.refusal(request) {
            Some(errno) => self.refused.push_back((self.now + REFUSAL, ticket, errno)),
            None => {
                self.counters.requested(op, len);
                let place = self.tickets.add(ticket);
                let command = Command { tag: place.into(), ..command };
                // Handed over from here where it can be: fetched back from its ticket a moment later, it would have
                // to wait until the processor has stored it there.
                if self.queued.is_empty() && self.device.admits(&command) {
                    self.device.accept(command, self.now);
                    self.active += 1;
                } else {
                    self.queued.push_back(place);
                }
            }
        }
    }

    /// Hands over what the device admits, in order: the first that must wait holds up the rest.
    fn dispatch(&mut self) {
        while let Some(&place) = self.queued.front() {
            let command = self.tickets.get(place).command;
            if !self.device.admits(&command) {
                break;
            }
            self.queued.pop_front();
            self.device.accept(command, self.now);
            self.active += 1;
        }
    }

    fn under_way(&self) -> bool {
        self.active > 0 || !self.queued.is_empty()
    }

    /// Lets things happen until something finishes, but not beyond `until`; beyond one event only while nothing
    /// waits in the host, since any event may make the device admit it.
    fn step(&mut self, until: Time, done: &mut Vec<Completion>) {
        let refused_at = self.refused.front().map_or(Time::NEVER, |(at, ..)| *at);
        let until = until.min(refused_at);
        let mut finished = std::mem::take(&mut self.finished);
        let to = if self.queued.is_empty() {
            self.device.advance_to_first(until, &mut finished)
        } else {
            let to = self.device.next_event().map_or(until, |at| at.min(until));
            self.device.advance(to, &mut finished);
            to
        };
        // An event that was due before this wait has no time of its own any more.
        let to = to.max(self.now);
        if self.under_way() {
            self.counters.busy(to.since(self.now));
        }
        self.now = to;
        match finished.as_slice() {
            [] if refused_at > to => {}
            // The usual case; a list that is sorted and copied costs more than all the rest.
            [one] if refused_at > to => {
                let (ticket, completion) = self.completed(one);
                if ticket.sequence >= self.first {
                    done.push(completion);
                }
            }
            several => self.complete(several, done),
        }
        finished.clear();
        self.finished = finished;
        self.dispatch();
    }

    /// Takes note of a command that the device is done with.
    #[inline]
    fn completed(&mut self, finished: &Finished) -> (Ticket, Completion) {
        self.active -= 1;
        let ticket = self.tickets.take(finished.tag);
        let bytes = finished.outcome.bytes().unwrap_or(Bytes::ZERO);
        self.counters.completed(ticket.command.op, bytes);
        (ticket, ticket.completion(finished.at, finished.outcome))
    }

    /// Completes what finished or was refused by now, in order.
    fn complete(&mut self, finished: &[Finished], done: &mut Vec<Completion>) {
        let mut list = std::mem::take(&mut self.together);
        for finished in finished {
            let (ticket, completion) = self.completed(finished);
            list.push((ticket.sequence, completion));
        }
        while let Some((at, ticket, errno)) = self.refused.front().copied()
            && at <= self.now
        {
            self.refused.pop_front();
            list.push((ticket.sequence, ticket.completion(at, Outcome(-errno.0))));
        }
        list.sort_unstable_by_key(|(sequence, completion)| {
            (completion.completed, completion.submitter, *sequence)
        });
        let first = self.first;
        let heard = list.drain(..).filter(|(sequence, _)| *sequence >= first);
        done.extend(heard.map(|(_, completion)| completion));
        self.together = list;
    }

    /// Advances to `until` or to the first instant at which something completes.
    fn run(&mut self, until: Time, done: &mut Vec<Completion>) {
        self.dispatch();
        let until = until.max(self.now);
        let before = done.len();
        while done.len() == before {
            // Nothing outstanding and no end: a real drive would hang, a virtual one stays where it is.
            if until == Time::NEVER && !self.under_way() && self.refused.is_empty() {
                break;
            }
            self.step(until, done);
            if self.now >= until {
                break;
            }
        }
        self.published.set(&self.counters, &self.device.media());
    }
}

impl std::fmt::Debug for VirtualTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VirtualTarget")
            .field("info", &self.info)
            .field("now", &self.now)
            .field("queued", &self.queued.len())
            .field("active", &self.active)
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
        self.first = self.sequence;
        // Never up to the end of time, an instant that never comes.
        let until = Time((self.now + span).0.min(Time::NEVER.0 - 1));
        while self.now < until {
            self.run(until, &mut Vec::new());
        }
    }

    /// Opens one lane for all submitters. Requests of an earlier lane that are still under way are
    /// carried out, but their completions are dropped.
    fn open<'a>(&'a mut self, _: &LaneSetup<'_>) -> Result<Vec<Lane<'a>>, DriveError> {
        self.first = self.sequence;
        Ok(vec![Lane { target: self, hands: None }])
    }

    /// Opens a lane that keeps written data, sparsely, where [`VirtualTarget::content`] says, and gives it back to
    /// reads through such lanes. A write through any other lane takes its time and leaves the content as it is.
    fn open_for_data<'a>(&'a mut self, setup: &LaneSetup<'_>) -> Result<Vec<Lane<'a>>, DriveError> {
        self.first = self.sequence;
        let hands = Some(Box::new(Hands::new(setup)));
        Ok(vec![Lane { target: self, hands }])
    }
}

/// The one drive that a virtual target opens, for all submitters.
#[derive(Debug)]
pub struct Lane<'a> {
    target: &'a mut VirtualTarget,
    /// The data of what is under way, where it was opened for data.
    hands: Option<Box<Hands>>,
}

impl Lane<'_> {
    /// When something next happens in the drive, asked for or not; `None` when nothing ever will. For
    /// callers that let virtual time pass in real time. A request counts from the first
    /// [`Drive::wait_until`] after its submission on.
    pub fn next_event(&self) -> Option<Time> {
        let refused = self.target.refused.front().map(|(at, ..)| *at);
        match (self.target.device.next_event(), refused) {
            (Some(device), Some(refused)) => Some(device.min(refused)),
            (device, refused) => device.or(refused),
        }
    }
}

impl Drive for Lane<'_> {
    fn now(&self) -> Time {
        self.target.now
    }

    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        if let Some(hands) = &mut self.hands {
            requests.iter().for_each(|request| hands.take(request));
        }
        for request in requests {
            self.target.take(request);
        }
        Ok(())
    }

    /// Returns all completions of the first instant that has any, ordered by (time, submitter, order
    /// of submission). With nothing outstanding and `until` at [`Time::NEVER`] it returns at once.
    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        let before = done.len();
        self.target.run(until, done);
        if let Some(hands) = &mut self.hands {
            let VirtualTarget { content, store, device, .. } = &mut *self.target;
            let holds = |place| device.holds(place);
            done[before..]
                .iter()
                .for_each(|completion| hands.complete(completion, content, store, &holds));
        }
        Ok(self.target.now)
    }

    fn data(&self, slot: u16) -> Option<&[u8]> {
        self.hands.as_ref()?.data(slot)
    }
}
