//! The I/Os that have not been handed out, in the order of their arrival, and where each is on its device.

use std::collections::VecDeque;

use block::Nanos;

use crate::{Flags, Io, Kind};

use super::device::{CROWD, Devices};
use super::granules::{self, Granules, NONE};

/// Longest I/O that is looked up by granule; longer ones (discards) are in a list of their device as well.
const SHORT_GRANULES: u64 = 64;

/// An I/O and how far it has come.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The I/O; times are the tracer's.
    pub io: Io,
    /// First sector, and the first behind.
    pub start: u64,
    /// See `start`.
    pub end: u64,
    /// Sectors issued, and completed: a bio that was split comes in parts.
    pub issued: u64,
    /// See `issued`.
    pub completed: u64,
    /// Sectors from its first on that have completed without a gap.
    pub ended_before: u64,
    /// Number of the first bio of the request that this was issued in, for discards.
    pub request: u64,
    /// Neighbours in the ring of its granule, itself when it is alone.
    next: u32,
    prev: u32,
    /// In the rings, to be found.
    pub linked: bool,
    /// Ended, though it has no sectors to be counted.
    pub ended: bool,
    /// Ended, and its last event may follow.
    pub awaited: bool,
    /// Its data are written, or will be, and the kernel's flush behind them may follow.
    pub flushing: bool,
    /// Too many others have arrived since; no event is expected any more.
    pub given_up: bool,
    /// Number in the order of arrival events.
    pub sequence: u64,
    /// Made from an issue, since the device has recorded no arrivals so far.
    pub provisional: bool,
    /// Not to be handed out.
    pub dropped: bool,
}

impl Slot {
    /// True when all of it has completed.
    pub fn done(&self) -> bool {
        self.ended || (self.end > self.start && self.completed >= self.end - self.start)
    }

    /// Sectors of it.
    pub fn sectors(&self) -> u64 {
        self.end - self.start
    }
}

/// Condition on the I/Os that an event can mean, besides kind and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Without a request yet.
    Unallocated,
    /// Not inserted yet.
    Uninserted,
    /// Not merged yet.
    Unmerged,
    /// Not handed on yet.
    Unremapped,
    /// Any.
    Alive,
}

impl Want {
    /// One that has completed, and is still to be found by its issue only, is none.
    fn admits(self, state: &Slot) -> bool {
        let io = &state.io;
        !state.done()
            && match self {
                Want::Unallocated => !io.allocated.known(),
                Want::Uninserted => !io.inserted.known(),
                Want::Unmerged => !io.merged.known(),
                Want::Unremapped => !io.remapped.known(),
                Want::Alive => true,
            }
    }
}

/// The I/Os that have not been handed out.
#[derive(Debug, Default)]
pub struct Pending {
    slots: Vec<Slot>,
    free: Vec<u32>,
    order: VecDeque<u32>,
    granules: Granules,
    /// Arrivals so far, and the slots of the last of them.
    arrivals: u64,
    recent: VecDeque<u32>,
}

impl Pending {
    /// How many there are.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.order.len()
    }

    /// The first that arrived.
    pub fn oldest(&self) -> Option<u32> {
        self.order.front().copied()
    }

    /// An I/O.
    pub fn get(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// An I/O.
    pub fn get_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    /// Takes in an I/O that arrived.
    pub fn insert(&mut self, io: Io, devices: &mut Devices) -> u32 {
        let start = io.offset.0 / 512;
        let fresh = Slot {
            io,
            start,
            // A length that is not a multiple of a sector (commands) covers the sector that it touches.
            end: start.saturating_add(io.length.0.div_ceil(512)),
            issued: 0,
            completed: 0,
            ended_before: 0,
            request: u64::MAX,
            next: NONE,
            prev: NONE,
            linked: false,
            ended: false,
            awaited: false,
            flushing: false,
            given_up: false,
            sequence: self.arrivals,
            provisional: false,
            dropped: false,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = fresh;
                slot
            }
            None => {
                self.slots.push(fresh);
                // The window is far below.
                (self.slots.len() - 1) as u32
            }
        };
        self.enqueue(slot, io.arrival);
        self.recent.push_back(slot);
        self.arrivals += 1;
        if io.length.0 > 0 && io.kind != Kind::Other {
            self.link(slot, devices);
        }
        slot
    }

    /// Gives up the I/O after which `window` others have arrived, unless it has come to its end. By count and not by
    /// what is held at the moment: so the outcome is the same however the events come in batches.
    pub fn expire(&mut self, window: usize, devices: &mut Devices) {
        while self.recent.len() > window {
            let Some(slot) = self.recent.pop_front() else { return };
            let state = self.get(slot);
            let is_it = state.sequence + self.recent.len() as u64 + 1 == self.arrivals;
            if is_it && state.flushing {
                self.get_mut(slot).flushing = false;
            }
            let state = self.get(slot);
            if is_it && !state.done() && !state.given_up {
                let (space, provisional) = (state.io.space, state.provisional);
                self.give_up(slot, devices);
                if provisional {
                    devices.get_mut(space).decide_for_requests();
                }
            }
        }
    }

    fn enqueue(&mut self, slot: u32, arrival: Nanos) {
        if self.order.back().is_none_or(|&last| self.get(last).io.arrival <= arrival) {
            self.order.push_back(slot);
            return;
        }
        let at =
            self.order.partition_point(|&other| self.slots[other as usize].io.arrival <= arrival);
        self.order.insert(at, slot);
    }

    fn link(&mut self, slot: u32, devices: &mut Devices) {
        let Slot { start, end, io, .. } = self.slots[slot as usize];
        let granule = granules::of(start);
        let head = self.granules.head(io.space, granule);
        if head == NONE {
            let own = self.get_mut(slot);
            (own.next, own.prev) = (slot, slot);
            self.granules.set(io.space, granule, slot);
        } else {
            let tail = self.get(head).prev;
            let own = self.get_mut(slot);
            (own.next, own.prev) = (head, tail);
            self.get_mut(tail).next = slot;
            self.get_mut(head).prev = slot;
        }
        self.get_mut(slot).linked = true;
        let device = devices.get_mut(io.space);
        if granules::of(end - 1) - granule > SHORT_GRANULES {
            device.long.push_back(slot);
            if device.long.len() > CROWD as usize {
                // The new one is at the back, so there is a front.
                let oldest = device.long[0];
                self.give_up(oldest, devices);
            }
        } else {
            device.reach = device.reach.max(granules::of(end - 1) - granule);
        }
        self.uncrowd(io.space, granule, devices);
    }

    /// Gives up the oldest of a granule that has too many. It counts only at every `CROWD`-th insertion.
    fn uncrowd(&mut self, space: u32, granule: u64, devices: &mut Devices) {
        let device = devices.get_mut(space);
        device.inserted = device.inserted.wrapping_add(1);
        if !device.inserted.is_multiple_of(CROWD) {
            return;
        }
        let head = self.granules.head(space, granule);
        let mut length = 0;
        let mut at = head;
        while at != NONE {
            length += 1;
            at = self.get(at).next;
            if at == head {
                break;
            }
        }
        for _ in CROWD..length {
            let head = self.granules.head(space, granule);
            self.give_up(head, devices);
        }
    }

    fn give_up(&mut self, slot: u32, devices: &mut Devices) {
        self.unlink(slot, devices);
        self.get_mut(slot).given_up = true;
        self.forget(slot, devices);
    }

    /// Takes an I/O out of the lists of its device.
    fn forget(&self, slot: u32, devices: &mut Devices) {
        let io = &self.get(slot).io;
        let listed = io.length.0 == 0
            || matches!(io.kind, Kind::Other | Kind::Discard)
            || io.flags.0 & (Flags::APPEND.0 | Flags::PREFLUSH.0 | Flags::FUA.0) != 0;
        if listed {
            devices.get_mut(io.space).forget(slot);
        }
    }

    /// Takes an I/O out of the rings: no event will find it any more.
    pub fn unlink(&mut self, slot: u32, devices: &mut Devices) {
        let Slot { start, end, io, next, prev, linked, .. } = self.slots[slot as usize];
        if !linked {
            return;
        }
        let granule = granules::of(start);
        if next == slot {
            self.granules.clear(io.space, granule);
        } else {
            self.get_mut(prev).next = next;
            self.get_mut(next).prev = prev;
            if self.granules.head(io.space, granule) == slot {
                self.granules.set(io.space, granule, next);
            }
        }
        self.get_mut(slot).linked = false;
        if granules::of(end - 1) - granule > SHORT_GRANULES {
            devices.get_mut(io.space).long.retain(|&long| long != slot);
        }
    }

    /// Takes out the first that arrived.
    pub fn remove_oldest(&mut self, slot: u32, devices: &mut Devices) -> Slot {
        debug_assert_eq!(self.oldest(), Some(slot));
        self.unlink(slot, devices);
        self.forget(slot, devices);
        let gone = *self.get(slot);
        self.order.pop_front();
        self.free.push(slot);
        gone
    }

    /// Makes an I/O that was only thought to be one vanish.
    pub fn drop_provisional(&mut self, slot: u32, devices: &mut Devices) {
        self.unlink(slot, devices);
        self.forget(slot, devices);
        self.get_mut(slot).dropped = true;
    }

    /// Slots of a granule, oldest first.
    fn ring(&self, space: u32, granule: u64) -> impl Iterator<Item = u32> {
        let head = self.granules.head(space, granule);
        let mut at = head;
        std::iter::from_fn(move || {
            if at == NONE {
                return None;
            }
            let slot = at;
            let next = self.get(slot).next;
            at = if next == head { NONE } else { next };
            Some(slot)
        })
    }

    /// The I/O of `kind` that an event at `sector` means: one that begins there, of the event's task if there is one,
    /// else one that holds the sector; of several the oldest.
    pub fn holding(
        &self,
        devices: &Devices,
        space: u32,
        sector: u64,
        kind: Kind,
        want: Want,
        pid: u32,
    ) -> Option<u32> {
        let mut exact = None;
        for slot in self.ring(space, granules::of(sector)) {
            let state = self.get(slot);
            if state.start == sector && state.io.kind == kind && want.admits(state) {
                if state.io.pid == pid {
                    return Some(slot);
                }
                exact = exact.or(Some(slot));
            }
        }
        exact.or_else(|| {
            self.around(devices, space, sector, |state| state.io.kind == kind && want.admits(state))
        })
    }

    /// The oldest I/O that holds `sector` without beginning there, of those that `admits` lets pass.
    pub fn around(
        &self,
        devices: &Devices,
        space: u32,
        sector: u64,
        admits: impl Fn(&Slot) -> bool,
    ) -> Option<u32> {
        let device = devices.get(space);
        let last = granules::of(sector);
        let first = last.saturating_sub(device.reach);
        let holds = |slot: &u32| {
            let state = self.get(*slot);
            state.start < sector && sector < state.end && admits(state)
        };
        let near = (first..=last).flat_map(|granule| self.ring(space, granule)).find(holds);
        near.or_else(|| device.long.iter().copied().find(holds))
    }

    /// Of the I/Os that begin at `from` and that `rank` lets pass, the oldest of the highest rank.
    pub fn starting(
        &self,
        space: u32,
        from: u64,
        rank: impl Fn(&Slot) -> Option<u32>,
    ) -> Option<u32> {
        let mut best: Option<(u32, u32)> = None;
        for slot in self.ring(space, granules::of(from)) {
            let state = self.get(slot);
            if state.start != from {
                continue;
            }
            if let Some(rank) = rank(state)
                && best.is_none_or(|(highest, _)| rank > highest)
            {
                best = Some((rank, slot));
            }
        }
        best.map(|(_, slot)| slot)
    }

    /// Of the I/Os that begin behind `from` and end by `to`, and that `admits` lets pass, the one that begins first.
    pub fn following(
        &self,
        space: u32,
        from: u64,
        to: u64,
        admits: impl Fn(&Slot) -> bool,
    ) -> Option<u32> {
        let last = granules::of(to.saturating_sub(1));
        let first = granules::of(from);
        // Requests are short; what is longer has no bios within that lie apart.
        for granule in first..=last.min(first + SHORT_GRANULES) {
            let mut nearest: Option<u32> = None;
            for slot in self.ring(space, granule) {
                let state = self.get(slot);
                let inside = state.start > from && state.end <= to;
                if inside
                    && admits(state)
                    && nearest.is_none_or(|other| self.get(other).start > state.start)
                {
                    nearest = Some(slot);
                }
            }
            if nearest.is_some() {
                return nearest;
            }
        }
        None
    }

    /// Marks an I/O as one that the device's issues made.
    pub fn provisional(&mut self, slot: u32) {
        let state = self.get_mut(slot);
        state.provisional = true;
        state.io.flags = state.io.flags.with(Flags::HEAD);
    }
}
