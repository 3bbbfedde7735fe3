//! Records of a lane, in batches that go to the caller's thread and come back empty.

use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel};

use block::{Nanos, Outcome, Time};

use super::{Planned, Replayed};

/// Records of one batch.
const BATCH: usize = 1024;
/// Batches that all lanes together may have on their way, some 30 MB: more than a second of a fast drive.
const BATCHES: usize = 256;
/// Longest time before records are sent, while there is nothing else to do.
const TELL_EVERY: Nanos = Nanos::millis(100);

/// A batch, and where it goes when it is empty again.
pub(super) type Told = (Vec<Replayed>, Sender<Vec<Replayed>>);

/// Most batches that wait to be taken.
pub(super) const QUEUED_MAX: usize = BATCHES;

/// An empty batch whose memory is there: the kernel finds a page only when it is first written to, which takes longer
/// than all else that is done for a request.
fn fresh() -> Vec<Replayed> {
    let nothing = Replayed {
        seq: u64::MAX,
        submitter: 0,
        planned: Planned::NOTHING,
        ready: Nanos::ZERO,
        no_slot: false,
        issued: Nanos::ZERO,
        completed: Nanos::ZERO,
        outcome: Outcome(0),
    };
    let mut batch = vec![nothing; BATCH];
    batch.clear();
    batch
}

/// A lane's side.
pub(super) struct Teller {
    batch: Vec<Replayed>,
    last: Time,
    told: SyncSender<Told>,
    empty: Receiver<Vec<Replayed>>,
    give_back: Sender<Vec<Replayed>>,
    /// Batches that may still be made.
    unmade: usize,
    unheard: Nanos,
}

impl Teller {
    /// One of `lanes`, whose batches go to `told`.
    pub fn new(told: SyncSender<Told>, lanes: usize) -> Teller {
        let (give_back, empty) = channel();
        Teller {
            batch: fresh(),
            last: Time::ZERO,
            told,
            empty,
            give_back,
            unmade: (BATCHES / lanes.max(1)).max(4),
            unheard: Nanos::ZERO,
        }
    }

    /// Keeps `record`; when the batch is full it is sent.
    #[inline]
    pub fn note(&mut self, record: Replayed, now: impl Fn() -> Time) {
        self.batch.push(record);
        if self.batch.len() == BATCH {
            self.send(now);
        }
    }

    /// Sends what there is if that is much, or old.
    #[inline]
    pub fn tell(&mut self, now: Time, clock: impl Fn() -> Time) {
        let much = self.batch.len() >= BATCH / 2;
        if much || (!self.batch.is_empty() && now.since(self.last) >= TELL_EVERY) {
            self.last = now;
            self.send(clock);
        }
    }

    #[cold]
    fn send(&mut self, now: impl Fn() -> Time) {
        let began = now();
        let next = self.empty_batch();
        let full = std::mem::replace(&mut self.batch, next);
        // A send that fails means that the receiver is no longer interested.
        let _ = self.told.send((full, self.give_back.clone()));
        // Handing over takes some microseconds; more is somebody who does not listen.
        let took = now().since(began);
        if took > Nanos::millis(1) {
            self.unheard += took;
        }
    }

    /// A batch that came back, or a new one; with as many on their way as may be, it waits for one.
    fn empty_batch(&mut self) -> Vec<Replayed> {
        match self.empty.try_recv() {
            Ok(batch) => return batch,
            Err(TryRecvError::Empty) if self.unmade == 0 => {
                if let Ok(batch) = self.empty.recv() {
                    return batch;
                }
            }
            Err(_) => self.unmade = self.unmade.saturating_sub(1),
        }
        fresh()
    }

    /// Sends the rest. Returns how long it has waited for the receiver in all.
    pub fn end(&mut self, now: impl Fn() -> Time) -> Nanos {
        if !self.batch.is_empty() {
            self.send(now);
        }
        self.unheard
    }
}
