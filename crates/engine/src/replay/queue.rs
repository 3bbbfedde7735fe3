//! Requests read ahead: filled by one thread in chunks, claimed by all lanes in order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Feed, FeedError, Planned};

/// Requests handed over at a time, so that neither side takes a lock per request.
const CHUNK: usize = 1024;
/// Chunks read ahead, besides one for each lane that still looks at an old one: some 5 MB in all.
const AHEAD: usize = 64;
/// Longest wait for the feeder before a lane looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// A request on its way from the feed to the drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    /// Its place in the feed.
    pub seq: u64,
    /// How many before it ask for room.
    pub behind: u64,
    pub planned: Planned,
}

/// Requests that follow each other.
#[derive(Default)]
struct Chunk {
    requests: Vec<Next>,
    /// How many are claimed; beyond their count once somebody has come in vain.
    claimed: AtomicUsize,
}

/// Requests read ahead.
pub(super) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
}

struct State {
    /// Full chunks, in order.
    ready: VecDeque<Arc<Chunk>>,
    /// The one that is being claimed.
    current: Arc<Chunk>,
    /// As much is read ahead as may be, or there is no more.
    primed: bool,
    /// The feeder adds nothing more.
    ended: bool,
    /// No lane claims any more.
    closed: bool,
    error: Option<FeedError>,
}

/// Result of a claim.
pub(super) enum Claim {
    Request(Next),
    /// The feeder is behind.
    Dry,
    /// There is no more.
    End,
}

impl Queue {
    pub fn new() -> Queue {
        let state = State {
            ready: VecDeque::with_capacity(AHEAD),
            current: Arc::default(),
            primed: false,
            ended: false,
            closed: false,
            error: None,
        };
        Queue { state: Mutex::new(state), filled: Condvar::new(), emptied: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole after any panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads `feed` ahead until it ends or the queue is closed; for `lanes` that claim.
    pub fn fill_from(&self, feed: &mut dyn Feed, lanes: usize) {
        let _end = Ending(self);
        let mut pool: Vec<Arc<Chunk>> = Vec::with_capacity(AHEAD + lanes);
        let mut batch = Vec::with_capacity(CHUNK);
        let (mut seq, mut behind) = (0, 0);
        while let Some(place) = self.spare(&mut pool) {
            batch.clear();
            if let Err(error) = feed.fill(CHUNK, &mut batch) {
                self.state().error = Some(error);
                return;
            }
            if batch.is_empty() {
                return;
            }
            // A spare chunk has no other owner.
            let Some(chunk) = Arc::get_mut(&mut pool[place]) else { return };
            *chunk.claimed.get_mut() = 0;
            chunk.requests.clear();
            for &planned in &batch {
                chunk.requests.push(Next { seq, behind, planned });
                seq += 1;
                behind += u64::from(planned.room != Planned::ALL_ROOM);
            }
            self.state().ready.push_back(Arc::clone(&pool[place]));
            self.filled.notify_all();
        }
    }

    /// A chunk of `pool` that no lane looks at any more, which may take a while; `None` when the queue is closed.
    fn spare(&self, pool: &mut Vec<Arc<Chunk>>) -> Option<usize> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(place) = pool.iter_mut().position(|chunk| Arc::get_mut(chunk).is_some()) {
                return Some(place);
            }
            if pool.len() < pool.capacity() {
                let requests = Vec::with_capacity(CHUNK);
                pool.push(Arc::new(Chunk { requests, ..Chunk::default() }));
                return Some(pool.len() - 1);
            }
            state.primed = true;
            self.filled.notify_all();
            state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until as much is read ahead as may be.
    pub fn await_primed(&self) {
        let mut state = self.state();
        while !state.primed {
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits a while for the feeder.
    pub fn await_more(&self) {
        let state = self.state();
        if state.ready.is_empty() && !state.ended {
            drop(self.filled.wait_timeout(state, LOOK));
        }
    }

    /// Lets the feeder go home.
    pub fn close(&self) {
        self.state().closed = true;
        self.emptied.notify_all();
    }

    /// Why the feed could not go on, if it could not.
    pub fn into_error(self) -> Option<FeedError> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).error
    }

    /// Moves on from `old`, of which everything is claimed. `Err` is what to answer when there is nothing yet.
    fn advance(&self, old: &mut Arc<Chunk>) -> Result<(), Claim> {
        let mut state = self.state();
        if Arc::ptr_eq(&state.current, old) {
            let Some(next) = state.ready.pop_front() else {
                return Err(if state.ended { Claim::End } else { Claim::Dry });
            };
            state.current = next;
        }
        *old = Arc::clone(&state.current);
        self.emptied.notify_one();
        Ok(())
    }
}

/// Says that the feeder is done, also when it panics.
struct Ending<'a>(&'a Queue);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        (state.ended, state.primed) = (true, true);
        self.0.filled.notify_all();
    }
}

/// A lane's hand in the queue.
pub(super) struct Claimant<'a> {
    queue: &'a Queue,
    chunk: Arc<Chunk>,
}

impl<'a> Claimant<'a> {
    pub fn new(queue: &'a Queue) -> Claimant<'a> {
        let chunk = Arc::clone(&queue.state().current);
        Claimant { queue, chunk }
    }

    /// Claims the first request that is still unclaimed.
    #[inline]
    pub fn claim(&mut self) -> Claim {
        loop {
            let place = self.chunk.claimed.fetch_add(1, Ordering::Relaxed);
            if let Some(&next) = self.chunk.requests.get(place) {
                return Claim::Request(next);
            }
            if let Err(answer) = self.queue.advance(&mut self.chunk) {
                return answer;
            }
        }
    }

    /// Looks at the request that will be claimed next, without claiming it: the feeder has written it on another CPU, and
    /// fetching it from there would otherwise delay the request before it, which is issued only when this one is known.
    #[inline]
    pub fn warm(&self) {
        let place = self.chunk.claimed.load(Ordering::Relaxed);
        std::hint::black_box(self.chunk.requests.get(place).copied());
    }

    /// Waits a while for the feeder.
    pub fn wait(&self) {
        self.queue.await_more();
    }
}

#[cfg(test)]
mod tests {
    use block::{Bytes, Nanos, Op};

    use super::*;

    /// Counts up to its end, in portions of all sizes; every third request asks for room.
    struct Count {
        next: u64,
        end: u64,
    }

    impl Feed for Count {
        fn fill(&mut self, most: usize, out: &mut Vec<Planned>) -> Result<(), FeedError> {
            let portion = (self.next * 7 % most as u64 + 1).min(self.end - self.next);
            for _ in 0..portion {
                let room = if self.next.is_multiple_of(3) { 5 } else { Planned::ALL_ROOM };
                out.push(Planned {
                    at: Nanos(self.next),
                    room,
                    weight: 1,
                    op: Op::Read,
                    fua: false,
                    offset: Bytes(self.next * 512),
                    len: Bytes(512),
                });
                self.next += 1;
            }
            Ok(())
        }
    }

    // Breaks when a request is lost, which leaves a gap in the load, or claimed twice, which adds load that was not
    // planned. Chunks that are used again while a lane still reads them would cause both.
    #[test]
    fn each_request_is_claimed_once_and_each_lane_sees_them_in_order() {
        let (end, lanes) = (400_000, 4);
        let queue = Queue::new();
        let mut seen: Vec<u64> = std::thread::scope(|scope| {
            scope.spawn(|| queue.fill_from(&mut Count { next: 0, end }, lanes));
            let claim = || {
                let (mut hand, mut seen) = (Claimant::new(&queue), Vec::new());
                loop {
                    match hand.claim() {
                        Claim::Request(next) => {
                            assert_eq!(next.planned.at, Nanos(next.seq));
                            assert_eq!(next.behind, next.seq.div_ceil(3));
                            seen.push(next.seq);
                        }
                        Claim::Dry => hand.wait(),
                        Claim::End => return seen,
                    }
                }
            };
            let hands: Vec<_> = (0..lanes).map(|_| scope.spawn(claim)).collect();
            let parts = hands.into_iter().map(|hand| hand.join().unwrap());
            parts.inspect(|part| assert!(part.is_sorted())).flatten().collect()
        });
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..end));
    }

    // Were it not, a replay that is given up would never end.
    #[test]
    fn a_feeder_whose_queue_is_closed_goes_home() {
        let queue = Queue::new();
        std::thread::scope(|scope| {
            let feeder =
                scope.spawn(|| queue.fill_from(&mut Count { next: 0, end: u64::MAX / 1024 }, 1));
            queue.await_primed();
            queue.close();
            feeder.join().unwrap();
        });
    }
}
