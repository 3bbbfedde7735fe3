//! The kernel's events made into I/Os.
//!
//! A [`Pairer`] takes events ([`TraceSink`]) and hands out [`Io`]s in the order of their arrival. It finds what belongs
//! together by device, kind and sectors, as btt does: an issue (D) or completion (C) of a request stamps every queued
//! bio inside the request's range, so that merged bios have times of their own. Beyond btt:
//!
//! - bios of the same first sector may wait at once; the oldest that the event can mean is taken;
//! - a bio that was split is issued with its first part and completes with its last, while btt loses it;
//! - a completion whose time is a little before its issue (clocks of two CPUs) finds it;
//! - flushes, whose events carry no sectors, and commands passed through are I/Os too.
//!
//! A write that the kernel makes durable by flushes before and behind its data (preflush; force unit access on a drive
//! that lacks it) ends with the last completion of that sequence, since that is what its submitter waits for; in btt it
//! ends with its data. Those flushes at the drive are counted and timed by themselves ([`crate::EventTally`]).
//!
//! Memory is bounded by what is outstanding and [`Limits::window`]: an I/O whose completion does not come is handed
//! out without one when that many others have arrived after it, and counted.

mod device;
mod flush;
mod granules;
mod notes;
mod order;
mod pending;
mod requests;
mod tally;

use block::Nanos;
use block::trace::{Action, Extra, TraceEvent, TraceNote, TraceSink, Traits};

use crate::{Flags, Io, Kind, Stamp, TraceInfo};

use device::{Device, Devices};
use notes::Notes;
use order::Sorter;
use pending::{Pending, Want};

/// How long after its data the last completion of a durable write is waited for. A disk may take a second to empty its
/// cache.
const SEQUENCE: Nanos = Nanos::secs(2);

/// How far a [`Pairer`] looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most I/Os that wait behind one whose completion has not come.
    pub window: usize,
    /// By how much clocks of two CPUs may differ: for so long a completion waits for its issue.
    pub skew: Nanos,
    /// By how much an event may come later than one that was after it. Events are held back and put in order for
    /// so long; zero for those that come in order, which are then not copied.
    pub lateness: Nanos,
}

impl Default for Limits {
    /// For recordings in the order of their time: 262,144 I/Os, 1 ms, none.
    fn default() -> Limits {
        Limits { window: 1 << 18, skew: Nanos::millis(1), lateness: Nanos::ZERO }
    }
}

/// Counts of I/Os and events that could not be paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unpaired {
    /// I/Os handed out without a completion.
    pub unfinished: u64,
    /// Issues and completions of which no I/O was known: queued before the recording began, or lost.
    pub strays: u64,
    /// I/Os whose arrival came so late that it was moved to that of the last one handed out.
    pub disordered: u64,
}

/// A stretch of a request that lies in one I/O.
#[derive(Clone, Copy, Debug)]
struct Part {
    slot: u32,
    /// Sectors of the I/O before it.
    from: u64,
    sectors: u64,
}

/// Makes I/Os of events.
#[derive(Debug)]
pub struct Pairer {
    limits: Limits,
    devices: Devices,
    pending: Pending,
    notes: Notes,
    sorter: Sorter,
    unpaired: Unpaired,
    /// Latest time seen.
    now: Nanos,
    /// Earliest time seen.
    first: Option<Nanos>,
    /// Arrival of the first I/O handed out.
    origin: Option<Nanos>,
    /// Parts of the request that is looked at; kept for its memory.
    parts: Vec<Part>,
}

impl Pairer {
    /// One that has seen nothing. `source` is for [`TraceInfo::source`].
    pub fn new(source: &str, limits: Limits) -> Pairer {
        Pairer {
            limits,
            devices: Devices::default(),
            pending: Pending::default(),
            notes: Notes::new(source),
            sorter: Sorter::default(),
            unpaired: Unpaired::default(),
            now: Nanos::ZERO,
            first: None,
            origin: None,
            parts: Vec::new(),
        }
    }

    /// Appends to `batch` the I/Os that are known to the end, in the order of their arrival.
    pub fn drain(&mut self, batch: &mut Vec<Io>) {
        while let Some(slot) = self.pending.oldest() {
            if !self.ready(slot) {
                return;
            }
            self.hand_out(slot, batch);
        }
    }

    /// Appends all other I/Os, finished or not, and completes the [`TraceInfo`]. No events may follow.
    pub fn finish(&mut self, batch: &mut Vec<Io>) {
        let held = self.sorter.take_all();
        for event in &held {
            self.event(event);
        }
        while let Some(slot) = self.pending.oldest() {
            self.hand_out(slot, batch);
        }
        self.notes.finish(&self.devices, self.origin, self.first);
    }

    /// Returns the information on the trace; complete after [`Pairer::finish`].
    pub fn info(&self) -> &TraceInfo {
        self.notes.info()
    }

    /// The same, for the caller to add which files were read and what was left out of them.
    pub fn info_mut(&mut self) -> &mut TraceInfo {
        self.notes.info_mut()
    }

    /// Returns the counts of what could not be paired so far.
    pub fn unpaired(&self) -> Unpaired {
        self.unpaired
    }

    /// True when nothing more will be said of an I/O, and none can come before it.
    fn ready(&self, slot: u32) -> bool {
        let state = self.pending.get(slot);
        if state.io.arrival.0.saturating_add(self.limits.skew.0) > self.now.0 {
            return false;
        }
        if state.dropped || state.given_up {
            return true;
        }
        if state.provisional && self.devices.get(state.io.space).undecided() {
            return false;
        }
        match state.io.completed.get() {
            Some(at) if state.done() => {
                let open = state.linked || state.awaited || state.flushing;
                let wait = if state.flushing { SEQUENCE } else { Nanos::ZERO };
                !open || at.0.saturating_add(wait.0 + self.limits.skew.0) < self.now.0
            }
            _ => false,
        }
    }

    fn hand_out(&mut self, slot: u32, batch: &mut Vec<Io>) {
        let state = self.pending.remove_oldest(slot, &mut self.devices);
        if state.dropped {
            self.notes.info_mut().ignored_rows += 1;
            return;
        }
        if !state.done() {
            self.unpaired.unfinished += 1;
        }
        let mut io = state.io;
        if !state.done() {
            // Of a part only: the whole is not known to have completed.
            io.completed = Stamp::NONE;
        }
        let origin = *self.origin.get_or_insert(io.arrival);
        io.arrival = Nanos(io.arrival.0 - origin.0);
        for stamp in [
            &mut io.remapped,
            &mut io.allocated,
            &mut io.slept,
            &mut io.inserted,
            &mut io.merged,
            &mut io.issued,
            &mut io.completed,
        ] {
            if let Some(at) = stamp.get() {
                *stamp = Stamp::at(Nanos(at.0.saturating_sub(origin.0)));
            }
        }
        batch.push(io);
    }

    fn event(&mut self, event: &TraceEvent) {
        self.now = self.now.max(event.time);
        self.first = Some(self.first.map_or(event.time, |first| first.min(event.time)));
        let Some(space) = self.devices.space(event.device) else {
            self.notes.info_mut().ignored_rows += 1;
            return;
        };
        if space as usize == self.notes.info().spaces.len() {
            self.notes.space(event.device);
        }
        self.devices.get_mut(space).tally.see(event);
        if event.traits.has(Traits::PASSTHROUGH) {
            self.command(space, event);
            return;
        }
        if event.bytes == 0 && event.action != Action::Split {
            self.empty(space, event);
            return;
        }
        match event.action {
            Action::Queue => self.queue(space, event),
            Action::Issue => self.issue(space, event),
            Action::Complete => self.complete(space, event),
            Action::Requeue => self.requeue(space, event),
            Action::GetRequest => self.stamp(space, event, Want::Unallocated),
            Action::Insert => self.stamp(space, event, Want::Uninserted),
            Action::BackMerge | Action::FrontMerge => self.stamp(space, event, Want::Unmerged),
            Action::SleepRequest => self.stamp(space, event, Want::Unallocated),
            Action::Split => self.stamp(space, event, Want::Alive),
            Action::Remap => self.remap(event),
            _ => {}
        }
    }

    fn queue(&mut self, space: u32, event: &TraceEvent) {
        let io = self.arrived(space, event);
        self.arrive(space, io);
        let early = self.devices.get_mut(space).take_strays(event, self.limits.skew);
        for stray in &early {
            self.event_again(space, stray);
        }
    }

    /// Takes in an I/O whose arrival is recorded.
    fn arrive(&mut self, space: u32, io: Io) -> u32 {
        for slot in self.devices.get_mut(space).queue_seen() {
            self.pending.drop_provisional(slot, &mut self.devices);
        }
        self.insert(io)
    }

    fn insert(&mut self, mut io: Io) -> u32 {
        // Whatever arrived before may have been handed out.
        let earliest = Nanos(self.now.0.saturating_sub(self.limits.skew.0));
        if io.arrival < earliest {
            self.unpaired.disordered += 1;
            io.arrival = earliest;
        }
        let slot = self.pending.insert(io, &mut self.devices);
        if io.flags.has(Flags::APPEND) && io.kind == Kind::Write {
            Device::push(&mut self.devices.get_mut(io.space).scattered, slot);
        }
        self.pending.expire(self.limits.window, &mut self.devices);
        slot
    }

    /// Takes an event that had come before the I/O that it speaks of.
    fn event_again(&mut self, space: u32, event: &TraceEvent) {
        match event.action {
            Action::Issue => {
                // It was counted as a stray when it came.
                self.unpaired.strays = self.unpaired.strays.saturating_sub(1);
                self.issue(space, event);
            }
            Action::GetRequest => self.stamp(space, event, Want::Unallocated),
            Action::Insert => self.stamp(space, event, Want::Uninserted),
            Action::BackMerge | Action::FrontMerge => self.stamp(space, event, Want::Unmerged),
            _ => {}
        }
    }

    /// G, S, I, M, F, X: of the one bio that begins at the sector, or holds it.
    fn stamp(&mut self, space: u32, event: &TraceEvent, want: Want) {
        let find = |want| {
            let kind = kind(event.traits, event.bytes);
            self.pending.holding(&self.devices, space, event.sector, kind, want, event.pid)
        };
        let Some(slot) = find(want) else {
            // A part of a split bio whose first part is known already is not a stray.
            if find(Want::Alive).is_none() {
                self.devices.get_mut(space).keep_stray(event);
            }
            return;
        };
        let at = Stamp::at(event.time);
        let state = self.pending.get_mut(slot);
        match event.action {
            Action::GetRequest => {
                state.io.allocated = state.io.allocated.min(at);
                state.io.flags = state.io.flags.with(Flags::HEAD);
                if u64::from(event.bytes) < state.io.length.0 {
                    state.io.flags = state.io.flags.with(Flags::SPLIT);
                }
            }
            Action::SleepRequest => state.io.slept = at,
            // The first, as everywhere: `want` has seen to it, but for requests that were split.
            Action::Insert => state.io.inserted = state.io.inserted.min(at),
            Action::BackMerge | Action::FrontMerge => {
                let how = match event.action {
                    Action::BackMerge => Flags::MERGED_BACK,
                    _ => Flags::MERGED_FRONT,
                };
                state.io.merged = at;
                state.io.flags = state.io.flags.with(how);
                if state.io.kind == Kind::Discard {
                    Device::push(&mut self.devices.get_mut(space).merged_discards, slot);
                }
            }
            Action::Split => state.io.flags = state.io.flags.with(Flags::SPLIT),
            _ => {}
        }
    }

    /// A: on the device below, of a bio of the device above. One that the kernel moved from a partition to its disk
    /// has its Q after it, there: nothing waits above.
    fn remap(&mut self, event: &TraceEvent) {
        let Extra::From { device, sector } = event.extra else { return };
        let Some(above) = self.devices.known(device) else { return };
        let found = self.pending.holding(
            &self.devices,
            above,
            sector,
            kind(event.traits, event.bytes),
            Want::Unremapped,
            event.pid,
        );
        if let Some(slot) = found {
            self.pending.get_mut(slot).io.remapped = Stamp::at(event.time);
        }
    }
}

impl TraceSink for Pairer {
    fn events(&mut self, events: &[TraceEvent]) {
        if self.limits.lateness == Nanos::ZERO {
            for event in events {
                self.event(event);
            }
            return;
        }
        let due = self.sorter.take(events, self.limits.lateness);
        for event in &due {
            self.event(event);
        }
        self.sorter.give_back(due);
    }

    fn note(&mut self, note: TraceNote) {
        self.notes.note(note);
    }
}

/// Returns the kind of an I/O by its traits. Version 1 of blktrace separates zeroing from writing no better than the
/// kernel did.
pub(crate) fn kind(traits: Traits, bytes: u32) -> Kind {
    const ZONES: u64 = Traits::ZONE_RESET.0
        | Traits::ZONE_RESET_ALL.0
        | Traits::ZONE_FINISH.0
        | Traits::ZONE_OPEN.0
        | Traits::ZONE_CLOSE.0;
    if bytes == 0 && traits.has(Traits::FLUSH) {
        return Kind::Flush;
    }
    if traits.0 & (Traits::READ.0 | Traits::WRITE.0) == Traits::READ.0 {
        Kind::Read
    } else if traits.has(Traits::PASSTHROUGH) {
        Kind::Other
    } else if traits.has(Traits::DISCARD) {
        Kind::Discard
    } else if traits.has(Traits::WRITE_ZEROES) {
        Kind::WriteZeroes
    } else if traits.0 & ZONES != 0 {
        Kind::Zone
    } else if traits.has(Traits::WRITE) || traits.has(Traits::ZONE_APPEND) {
        Kind::Write
    } else {
        Kind::Other
    }
}

/// The flags of an I/O, by its traits.
pub(crate) fn flags(traits: Traits, bytes: u32) -> Flags {
    let table = [
        (Traits::SYNC, Flags::SYNC),
        (Traits::META, Flags::META),
        (Traits::FUA, Flags::FUA),
        (Traits::AHEAD, Flags::AHEAD),
        (Traits::ZONE_APPEND, Flags::APPEND),
    ];
    let mut flags = Flags::NONE;
    for (trait_, flag) in table {
        if traits.has(trait_) {
            flags = flags.with(flag);
        }
    }
    if traits.has(Traits::FLUSH) && bytes > 0 {
        flags = flags.with(Flags::PREFLUSH);
    }
    flags
}

#[cfg(test)]
mod tests;
