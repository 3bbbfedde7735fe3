//! The loop of a replay: one drive, and the submitters that it serves.

use block::{Completion, Drive, DriveError, Nanos, Op, Request, Time};

use super::ledger::Ledger;
use super::queue::{Claim, Claimant, Next};
use super::teller::Teller;
use super::{Planned, Replayed};
use crate::lane::Flags;
use crate::samples::{Failure, FailureKind};

/// Longest wait before a lane looks whether it is to stop.
const LOOK_EVERY: Nanos = Nanos::millis(100);
/// How long a lane waits before it looks again at what other threads do: another lane's completions, or the feeder.
const ASK_EVERY: Nanos = Nanos::micros(50);
/// With less time than this before the next request, a lane does nothing else.
const QUIET: Nanos = Nanos::micros(30);

/// State shared by all lanes.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub flags: Flags<'a>,
    pub ledger: &'a Ledger,
    pub errors_max: u64,
    /// There is no other lane.
    pub alone: bool,
    /// Time does not advance while a lane waits for another thread.
    pub is_virtual: bool,
}

impl Shared<'_> {
    fn stopped(&self) -> bool {
        self.flags.raised() || self.ledger.errors() > self.errors_max
    }
}

/// Result of a lane.
#[derive(Default)]
pub(super) struct Left {
    /// It was stopped before the end of the feed.
    pub halted: bool,
    /// The first failure that it saw.
    pub failure: Option<Failure>,
    /// See [`super::Ended::starved`].
    pub starved: Nanos,
    /// See [`super::Ended::unheard`].
    pub unheard: Nanos,
}

/// A request that is claimed and waits.
struct Head {
    next: Next,
    /// It was looked at when its time had come, and there was no room or it was not its turn.
    waited: bool,
}

/// A request that is issued.
#[derive(Clone, Copy)]
struct Flight {
    seq: u64,
    planned: Planned,
    ready: Time,
    no_slot: bool,
}

/// The slots of one drive.
struct Slots {
    /// First submitter of the drive.
    first: u16,
    depth: usize,
    /// By submitter: which are free.
    free: Vec<Vec<u16>>,
    free_count: usize,
    /// Submitter whose free slots are tried first.
    turn: usize,
    /// Since when one has been free without a break.
    since: Time,
    /// By submitter and slot.
    flights: Vec<Flight>,
}

impl Slots {
    fn new(submitters: &std::ops::Range<u16>, depth: u16) -> Slots {
        let idle = Flight { seq: 0, planned: Planned::NOTHING, ready: Time::ZERO, no_slot: false };
        let count = submitters.len() * usize::from(depth);
        Slots {
            first: submitters.start,
            depth: usize::from(depth),
            free: submitters.clone().map(|_| (0..depth).rev().collect()).collect(),
            free_count: count,
            turn: 0,
            since: Time::ZERO,
            flights: vec![idle; count],
        }
    }

    fn all_free(&self) -> bool {
        self.free_count == self.flights.len()
    }

    /// Takes a free slot of the submitters in turn.
    #[inline]
    fn take(&mut self, flight: Flight) -> Option<(u16, u16)> {
        for _ in 0..self.free.len() {
            let submitter = self.turn;
            self.turn = if submitter + 1 == self.free.len() { 0 } else { submitter + 1 };
            if let Some(slot) = self.free[submitter].pop() {
                self.free_count -= 1;
                self.flights[submitter * self.depth + usize::from(slot)] = flight;
                return Some((self.first + submitter as u16, slot));
            }
        }
        None
    }

    #[inline]
    fn give_back(&mut self, completion: &Completion) -> Flight {
        let submitter = usize::from(completion.submitter - self.first);
        if self.free_count == 0 {
            self.since = completion.completed;
        }
        self.free_count += 1;
        self.free[submitter].push(completion.slot);
        self.flights[submitter * self.depth + usize::from(completion.slot)]
    }
}

/// One drive with its submitters.
pub(super) struct Lane<'a> {
    drive: Box<dyn Drive + 'a>,
    slots: Slots,
    shared: Shared<'a>,
    claimant: Claimant<'a>,
    teller: Teller,
    start: Time,
    head: Option<Head>,
    /// Nothing more is claimed.
    over: bool,
    /// Since when the feeder is behind.
    dry: Option<Time>,
    /// Since when there has been memory for the request at the head; never while there is none.
    memory: Time,
    /// Sum of the weights outstanding just before a slot came free again, with those issued since, until the
    /// next wait; otherwise zero.
    full: u64,
    /// When the last request could have been issued.
    turn: Time,
    /// Something is handed to the drive that the kernel does not have yet.
    pending: bool,
    left: Left,
}

impl<'a> Lane<'a> {
    pub fn new(
        drive: Box<dyn Drive + 'a>,
        (submitters, depth): (std::ops::Range<u16>, u16),
        shared: Shared<'a>,
        claimant: Claimant<'a>,
        teller: Teller,
    ) -> Self {
        Lane {
            drive,
            slots: Slots::new(&submitters, depth),
            shared,
            claimant,
            teller,
            start: Time::ZERO,
            head: None,
            over: false,
            dry: None,
            memory: Time::ZERO,
            full: 0,
            turn: Time::ZERO,
            pending: false,
            left: Left::default(),
        }
    }

    pub fn attach(&mut self) -> Result<(), DriveError> {
        self.drive.attach()
    }

    pub fn now(&self) -> Time {
        self.drive.now()
    }

    /// Issues what it claims, from `start` until nothing is left to claim and all has completed.
    ///
    /// # Errors
    /// Those of the drive as a whole.
    pub fn run(mut self, start: Time) -> Result<Left, DriveError> {
        self.start = start;
        let mut done: Vec<Completion> = Vec::with_capacity(self.slots.flights.len());
        let mut now = self.drive.now();
        loop {
            if self.shared.stopped() {
                self.halt();
            }
            let until = self.issue(now)?;
            self.full = 0;
            if self.over && self.head.is_none() && self.slots.all_free() {
                self.left.unheard = self.teller.end(|| self.drive.now());
                return Ok(self.left);
            }
            if !self.pending {
                self.claimant.warm();
                if until.since(now) > QUIET {
                    self.teller.tell(now, || self.drive.now());
                }
            }
            self.foresee();
            now = self.drive.wait_until(until.min(now + LOOK_EVERY), &mut done)?;
            self.pending = false;
            for completion in done.drain(..) {
                self.complete(&completion);
            }
        }
    }

    /// Claims nothing more.
    #[cold]
    fn halt(&mut self) {
        self.left.halted |= !self.over || self.head.is_some();
        self.over = true;
        self.head = None;
    }

    /// Hands over what can be issued at `now`. When there will be more to do, unless something completes first.
    #[inline]
    fn issue(&mut self, now: Time) -> Result<Time, DriveError> {
        loop {
            if self.head.is_none() && !self.claim(now) {
                return Ok(if self.dry.is_some() { now + ASK_EVERY } else { Time::NEVER });
            }
            let Some(head) = &mut self.head else { return Ok(Time::NEVER) };
            let due = self.start + head.next.planned.at;
            if due > now {
                return Ok(due);
            }
            if !self.shared.ledger.admits(&head.next) {
                head.waited = true;
                if self.shared.alone {
                    return Ok(Time::NEVER);
                }
                // With fewer CPUs than lanes, those that are awake would keep the one that they wait for from its CPU.
                std::thread::yield_now();
                return Ok(now + ASK_EVERY);
            }
            if !self.drive.has_room(head.next.planned.len) {
                self.memory = Time::NEVER;
                return Ok(Time::NEVER);
            }
            self.hand_over(due)?;
        }
    }

    /// Issues the request at the head.
    #[inline]
    fn hand_over(&mut self, due: Time) -> Result<(), DriveError> {
        let Some(Head { next, waited }) = self.head.take() else { return Ok(()) };
        let ledger = self.shared.ledger;
        // Not looked at while there was no slot, there was no room for it either.
        let waited = waited || self.full > next.planned.room;
        // Events on other lanes may be later than `now`, but never than the clock when this one is issued.
        let cleared = due.max(ledger.cleared(&next, waited));
        let slot = self.slots.since.max(self.memory);
        let ready = cleared.max(slot).max(self.turn).max(ledger.turn(&next));
        self.turn = ready;
        let planned = next.planned;
        let flight = Flight { seq: next.seq, planned, ready, no_slot: ready > cleared };
        let Some((submitter, slot)) = self.slots.take(flight) else { return Ok(()) };
        ledger.issue(&planned, cleared, ready);
        if self.full > 0 {
            self.full += planned.weight;
        }
        self.memory = Time::ZERO;
        self.pending = true;
        self.drive.submit(&[request(&planned, submitter, slot)])
    }

    /// Claims the next request for a free slot. False when there is no slot, or nothing to be claimed now.
    #[inline]
    fn claim(&mut self, now: Time) -> bool {
        if self.slots.free_count == 0 || self.over {
            return false;
        }
        loop {
            match self.claimant.claim() {
                Claim::Request(next) => {
                    if let Some(since) = self.dry.take() {
                        self.left.starved += now.since(since);
                    }
                    self.head = Some(Head { next, waited: false });
                    return true;
                }
                Claim::End => {
                    self.over = true;
                    self.dry = None;
                    return false;
                }
                Claim::Dry => {
                    if self.shared.is_virtual && !self.shared.stopped() {
                        self.claimant.wait();
                        continue;
                    }
                    self.dry.get_or_insert(now);
                    if self.slots.all_free() {
                        self.claimant.wait();
                    }
                    return false;
                }
            }
        }
    }

    /// Announces the write at the head to the drive, unless another submitter of the drive may issue it.
    #[inline]
    fn foresee(&mut self) {
        if let (Some(head), [_]) = (&self.head, self.slots.free.as_slice())
            && head.next.planned.op == Op::Write
        {
            self.drive.foresee(&request(&head.next.planned, self.slots.first, 0));
        }
    }

    #[inline]
    fn complete(&mut self, completion: &Completion) {
        if self.slots.free_count == 0 {
            self.full = self.shared.ledger.outstanding();
        }
        let flight = self.slots.give_back(completion);
        self.shared.ledger.complete(flight.planned.weight, completion.completed);
        if self.memory == Time::NEVER
            && let Some(head) = &self.head
            && self.drive.has_room(head.next.planned.len)
        {
            self.memory = completion.completed;
        }
        if let Some(kind) = failure(&flight.planned, completion) {
            self.fail(&flight.planned, completion, kind);
        }
        let start = self.start;
        let record = Replayed {
            seq: flight.seq,
            submitter: completion.submitter,
            planned: flight.planned,
            ready: flight.ready.since(start),
            no_slot: flight.no_slot,
            issued: completion.issued.since(start),
            completed: completion.completed.since(start),
            outcome: completion.outcome,
        };
        self.teller.note(record, || self.drive.now());
    }

    #[cold]
    fn fail(&mut self, planned: &Planned, completion: &Completion, kind: FailureKind) {
        self.shared.ledger.fail();
        let &Planned { op, offset, len, .. } = planned;
        self.left.failure.get_or_insert(Failure {
            op,
            offset,
            len,
            at: completion.completed,
            kind,
            gone: None,
        });
    }
}

fn request(planned: &Planned, submitter: u16, slot: u16) -> Request {
    let &Planned { op, fua, offset, len, .. } = planned;
    Request { op, fua, submitter, slot, offset, len }
}

/// How an I/O failed, if it did.
#[inline]
fn failure(planned: &Planned, completion: &Completion) -> Option<FailureKind> {
    match completion.outcome.bytes() {
        Ok(bytes) if bytes == planned.len => None,
        Ok(_) if matches!(planned.op, Op::Flush | Op::Discard) => None,
        Ok(bytes) => Some(FailureKind::Short(bytes)),
        Err(errno) => Some(FailureKind::Error(errno)),
    }
}
