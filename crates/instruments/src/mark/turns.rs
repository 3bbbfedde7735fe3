//! Several measurements on one machine, taking turns: one makes its runs of a block while the others wait, then the next,
//! in an order that is drawn for each block.
//!
//! Each measurement is the same as it would be alone, on a thread of its own. This module only decides which may run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use live::progress::{self, Bar};
use workload::rng::Rng;

/// Interval at which waiting benchmarks look for a request to stop.
const GLANCE: Duration = Duration::from_millis(100);

/// The order of turns.
pub struct Turns {
    seats: Mutex<Vec<Seat>>,
    moved: Condvar,
    cancel: Arc<AtomicBool>,
    seed: u64,
    blocks: u32,
    bar: Bar,
}

/// State of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seat {
    /// It gets ready: opens its target, writes its test file.
    Preparing,
    /// It waits for its turn in this block.
    Waiting(u32),
    /// It is its turn.
    Making,
    /// It is over.
    Left,
}

/// One measurement's place.
#[derive(Clone)]
pub struct Turn {
    turns: Arc<Turns>,
    index: usize,
    name: String,
}

impl Turns {
    /// Places for as many measurements as there are `names`, for each one when the one before has got ready: writing a
    /// test file would disturb who measures. `blocks` is shown when `progress` is wanted.
    pub fn among(names: &[String], seed: u64, blocks: u32, progress: bool) -> Vec<Turn> {
        let bar = progress::bar(progress);
        bar.set(0, u64::from(blocks));
        let turns = Arc::new(Turns {
            seats: Mutex::new(vec![Seat::Preparing; names.len()]),
            moved: Condvar::new(),
            cancel: Arc::new(AtomicBool::new(false)),
            seed,
            blocks,
            bar,
        });
        let of = |(index, name): (usize, &String)| Turn {
            turns: turns.clone(),
            index,
            name: name.clone(),
        };
        names.iter().enumerate().map(of).collect()
    }

    fn seats(&self) -> MutexGuard<'_, Vec<Seat>> {
        // Seats are plain values: a thread that panicked left none of them half-written.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time left when `block` begins, by that of the blocks before it.
    fn left(&self, block: u32) -> Option<Duration> {
        let later = self.blocks.saturating_sub(block);
        (block > 0).then(|| self.bar.elapsed() * later / block)
    }

    /// Place of a seat in the order of a block.
    fn rank(&self, block: u32, index: usize) -> u64 {
        Rng::for_path(self.seed, &[u64::from(block), index as u64]).next_u64()
    }

    /// The benchmark whose turn it is, when none makes a run and all are ready.
    fn next(&self, seats: &[Seat]) -> Option<usize> {
        if seats.iter().any(|seat| matches!(seat, Seat::Preparing | Seat::Making)) {
            return None;
        }
        let waiting = seats.iter().enumerate().filter_map(|(index, seat)| match seat {
            Seat::Waiting(block) => Some((*block, self.rank(*block, index), index)),
            _ => None,
        });
        waiting.min().map(|(_, _, index)| index)
    }
}

impl Turn {
    /// The wish to stop, which all share.
    pub fn cancel(&self) -> Arc<AtomicBool> {
        self.turns.cancel.clone()
    }

    /// Waits until those before have got ready.
    pub fn prepare(&self) {
        let is_ready = |seats: &[Seat]| !seats[..self.index].contains(&Seat::Preparing);
        self.wait(|_, seats| is_ready(seats));
        self.turns.bar.set_message(None, &format!("getting {} ready", self.name));
    }

    /// Gives the turn away, and waits for that of `block`.
    pub fn take(&self, block: u32) {
        self.set(Seat::Waiting(block));
        self.wait(|turns, seats| turns.next(seats) == Some(self.index));
        self.set(Seat::Making);
        self.turns.bar.set_position(u64::from(block));
        self.turns.bar.set_message(self.turns.left(block), &self.name);
    }

    /// It is over; when by a failure, the others end too.
    pub fn leave(&self, failed: bool) {
        if failed {
            self.turns.cancel.store(true, Ordering::Relaxed);
        }
        self.set(Seat::Left);
        if self.turns.seats().iter().all(|seat| *seat == Seat::Left) {
            self.turns.bar.finish_and_clear();
        }
    }

    fn set(&self, seat: Seat) {
        self.turns.seats()[self.index] = seat;
        self.turns.moved.notify_all();
    }

    /// Waits until `is_so` holds or the measurement is cancelled.
    fn wait(&self, is_so: impl Fn(&Turns, &[Seat]) -> bool) {
        let mut seats = self.turns.seats();
        while !is_so(&self.turns, &seats) && !self.turns.cancel.load(Ordering::Relaxed) {
            let waited = self.turns.moved.wait_timeout(seats, GLANCE);
            seats = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Makes `blocks` blocks on each seat and returns who made which when.
    fn course(seats: usize, blocks: u32) -> Vec<(usize, u32)> {
        let names: Vec<String> = (0..seats).map(|seat| seat.to_string()).collect();
        let made = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for turn in Turns::among(&names, 7, blocks, false) {
                let made = &made;
                scope.spawn(move || {
                    turn.prepare();
                    for block in 0..blocks {
                        turn.take(block);
                        made.lock().unwrap().push((turn.index, block));
                    }
                    turn.leave(false);
                });
            }
        });
        made.into_inner().unwrap()
    }

    #[test]
    fn each_block_has_every_seat_once_and_the_order_changes() {
        let course = course(3, 40);
        let mut orders = std::collections::BTreeSet::new();
        for (block, made) in course.chunks(3).enumerate() {
            assert!(made.iter().all(|(_, of)| *of == block as u32), "{made:?}");
            let order: Vec<usize> = made.iter().map(|(seat, _)| *seat).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
            orders.insert(order);
        }
        assert_eq!(orders.len(), 6, "all orders come");
    }

    #[test]
    fn who_fails_ends_the_others_and_who_left_is_not_waited_for() {
        let names = ["a".to_owned(), "b".to_owned()];
        let [a, b] = <[Turn; 2]>::try_from(Turns::among(&names, 7, 5, false)).ok().unwrap();
        a.leave(false);
        b.prepare();
        b.take(0);
        assert!(!b.cancel().load(Ordering::Relaxed));
        b.leave(true);
        assert!(a.cancel().load(Ordering::Relaxed));
    }
}
