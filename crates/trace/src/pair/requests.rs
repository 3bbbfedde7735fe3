//! Requests: what is issued (D), comes back (R) and completes (C), with all the bios in it; and commands passed
//! through, which are requests without bios.

use block::Nanos;
use block::trace::{Action, TraceEvent, Traits};

use crate::{Flags, Io, Kind, Stamp};

use super::device::Device;
use super::pending::Slot;
use super::{Pairer, Part, kind};

/// Event of a request, applied to the I/Os in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Issue,
    Requeue,
    Complete,
}

impl Step {
    /// How well an I/O fits, in a request that ends at `to`; `None` when not at all.
    fn rank(self, state: &Slot, to: u64, earliest: Nanos) -> Option<u32> {
        let issued = state.issued > 0;
        // A completion that was seen before its issue, and not so long ago that it may have been handed out.
        let early = self == Step::Issue
            && !issued
            && state.io.completed.get().is_some_and(|at| at >= earliest);
        if state.done() && !early {
            return None;
        }
        let progress = match self {
            // An I/O that was issued completely is issued again only if no other fits.
            Step::Issue => state.issued < state.sectors(),
            Step::Requeue | Step::Complete => issued,
        };
        let place = match state.end.cmp(&to) {
            std::cmp::Ordering::Equal => 2,
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Greater => 0,
        };
        (self != Step::Requeue || issued).then_some(u32::from(progress) * 4 + place)
    }
}

impl Pairer {
    /// The parts of a request, from its first sector to its last. Bios of a request are neighbours; where one is
    /// missing (lost, or queued before the recording began) the next that lies in the request goes on.
    fn parts(&self, space: u32, event: &TraceEvent, step: Step, mut each: impl FnMut(Part)) {
        let kind = kind(event.traits, event.bytes);
        let earliest = Nanos(event.time.0.max(self.now.0).saturating_sub(self.limits.skew.0));
        let to = event.sector.saturating_add(u64::from(event.bytes).div_ceil(512));
        let mut first: Option<u32> = None;
        let mut at = event.sector;
        while at < to {
            let fits = |state: &Slot| {
                let alike = state.io.kind == kind && self.beside(state, space, step, first);
                if alike { step.rank(state, to, earliest) } else { None }
            };
            let found = self.pending.starting(space, at, fits).or_else(|| {
                self.pending.around(&self.devices, space, at, |state| fits(state).is_some())
            });
            let next = match found {
                Some(slot) => slot,
                // Discards of one request may lie anywhere: one that is not adjacent is not known to belong to it.
                None if kind == Kind::Discard => return,
                None => {
                    let inside = |state: &Slot| fits(state).is_some();
                    match self.pending.following(space, at, to, inside) {
                        Some(slot) => slot,
                        None => return,
                    }
                }
            };
            let state = self.pending.get(next);
            let from = at.max(state.start);
            let end = state.end.min(to);
            first = first.or(Some(next));
            each(Part { slot: next, from: from - state.start, sectors: end - from });
            at = end;
        }
    }

    /// Whether an I/O beside others of a request may be of it: all are, but for discards, of which neighbours may have
    /// been issued each for itself, together with others far away.
    fn beside(&self, state: &Slot, space: u32, step: Step, first: Option<u32>) -> bool {
        let Some(first) = first else { return true };
        if state.io.kind != Kind::Discard {
            return true;
        }
        let first = self.pending.get(first);
        match step {
            // If merges of discards are recorded, all bios of a request have one but the one it was allocated for.
            Step::Issue => {
                state.io.merged.known()
                    || first.io.flags.has(Flags::MERGED_FRONT)
                    || self.devices.get(space).merged_discards.is_empty()
            }
            Step::Requeue | Step::Complete => state.request == first.request,
        }
    }

    fn collect(&mut self, space: u32, event: &TraceEvent, step: Step) -> Vec<Part> {
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        self.parts(space, event, step, |part| parts.push(part));
        parts
    }

    pub(super) fn issue(&mut self, space: u32, event: &TraceEvent) {
        self.devices.get_mut(space).issues = true;
        let mut parts = self.collect(space, event, Step::Issue);
        if parts.is_empty() {
            self.parts = parts;
            self.issue_of_nothing(space, event);
            return;
        }
        let head = self.pending.get(parts[0].slot);
        let request = head.sequence;
        if head.io.kind == Kind::Discard {
            self.add_merged_discards(space, event, &mut parts);
        }
        for (nth, part) in parts.iter().enumerate() {
            let state = self.pending.get_mut(part.slot);
            let again = state.issued >= state.sectors() || state.io.flags.has(Flags::REQUEUED);
            let io = &mut state.io;
            if state.issued == 0 || again {
                if again {
                    io.flags = io.flags.with(Flags::REQUEUED);
                    state.issued = 0;
                }
                io.issued = Stamp::at(event.time);
                io.request_bytes.0 = 0;
                // The head of the request is known for good only now: of the bios that were merged at the front, or
                // with the requests that they had been allocated, it is the first.
                io.flags = Flags(io.flags.0 & !Flags::HEAD.0);
            }
            if nth == 0 {
                io.flags = io.flags.with(Flags::HEAD);
                io.request_bytes.0 = io.request_bytes.0.saturating_add(u64::from(event.bytes));
            }
            state.issued = state.issued.saturating_add(part.sectors);
            state.request = request;
            // If the drive has force unit access, the issued request keeps that flag.
            let io = &state.io;
            let durable = io.flags.has(Flags::PREFLUSH)
                || io.flags.has(Flags::FUA) && !event.traits.has(Traits::FUA);
            if durable && io.kind == Kind::Write && !state.flushing {
                state.flushing = true;
                Device::push(&mut self.devices.get_mut(space).flushing, part.slot);
            }
            let state = self.pending.get(part.slot);
            if state.done() {
                // Its completion was seen before.
                self.pending.unlink(part.slot, &mut self.devices);
            }
        }
        self.parts = parts;
    }

    /// The bios of a discard that are not adjacent: those merged first, as long as they fit.
    fn add_merged_discards(&mut self, space: u32, event: &TraceEvent, parts: &mut Vec<Part>) {
        let mut left = u64::from(event.bytes).div_ceil(512);
        left = left.saturating_sub(parts.iter().map(|part| part.sectors).sum());
        while left > 0 {
            let merged = &mut self.devices.get_mut(space).merged_discards;
            let Some(&slot) = merged.front() else { return };
            let state = self.pending.get(slot);
            let known = parts.iter().any(|part| part.slot == slot);
            let free = state.issued == 0 && !state.done() && !known;
            if free && state.sectors() > left {
                return;
            }
            merged.pop_front();
            if free {
                let sectors = state.sectors();
                left -= sectors;
                parts.push(Part { slot, from: 0, sectors });
                Device::push(&mut self.devices.get_mut(space).scattered, slot);
            }
        }
    }

    /// An issue whose bios are not known. Where arrivals are not recorded at all, it is the I/O.
    fn issue_of_nothing(&mut self, space: u32, event: &TraceEvent) {
        let device = self.devices.get_mut(space);
        if !device.issue_makes_one() {
            self.unpaired.strays += 1;
            self.devices.get_mut(space).keep_stray(event);
            return;
        }
        let slot = self.insert(self.arrived(space, event));
        self.pending.provisional(slot);
        let state = self.pending.get_mut(slot);
        state.io.issued = Stamp::at(event.time);
        state.io.request_bytes = state.io.length;
        state.issued = state.sectors();
        self.devices.get_mut(space).remember_provisional(slot);
    }

    pub(super) fn requeue(&mut self, space: u32, event: &TraceEvent) {
        let parts = self.collect(space, event, Step::Requeue);
        for part in &parts {
            let state = self.pending.get_mut(part.slot);
            state.io.flags = state.io.flags.with(Flags::REQUEUED);
            state.issued = state.issued.saturating_sub(part.sectors);
        }
        self.parts = parts;
    }

    pub(super) fn complete(&mut self, space: u32, event: &TraceEvent) {
        let mut parts = self.collect(space, event, Step::Complete);
        if parts.is_empty() {
            self.parts = parts;
            if !self.complete_append(space, event) {
                self.unpaired.strays += 1;
            }
            return;
        }
        if self.pending.get(parts[0].slot).io.kind == Kind::Discard {
            self.add_issued_discards(space, event, &mut parts);
        }
        for part in &parts {
            self.complete_part(space, event, part);
        }
        self.parts = parts;
    }

    fn complete_part(&mut self, space: u32, event: &TraceEvent, part: &Part) {
        let issues = self.devices.get(space).issues;
        let state = self.pending.get_mut(part.slot);
        // Old kernels report each part of a split bio as if it completed all sectors from the first on.
        let again = state.ended_before.saturating_sub(part.from);
        let sectors = part.sectors.saturating_sub(again);
        if part.from <= state.ended_before {
            state.ended_before = state.ended_before.max(part.from + part.sectors);
        }
        state.completed = state.completed.saturating_add(sectors);
        let at = Stamp::at(event.time);
        if !state.io.completed.known() || state.io.completed < at {
            state.io.completed = at;
        }
        if event.error != 0 {
            state.io.error = event.error;
        }
        // One that was not issued yet stays to be found by its issue, which may come a little late.
        if state.done() && (state.issued > 0 || !issues) {
            self.pending.unlink(part.slot, &mut self.devices);
        }
    }

    /// The bios of a discard request that are not adjacent to its first.
    fn add_issued_discards(&mut self, space: u32, event: &TraceEvent, parts: &mut Vec<Part>) {
        let covered: u64 = parts.iter().map(|part| part.sectors).sum();
        if covered >= u64::from(event.bytes).div_ceil(512) {
            return;
        }
        let request = self.pending.get(parts[0].slot).request;
        for &slot in &self.devices.get(space).scattered {
            let state = self.pending.get(slot);
            let of_it = state.request == request && state.issued > 0 && !state.done();
            if of_it && !parts.iter().any(|part| part.slot == slot) {
                parts.push(Part { slot, from: 0, sectors: state.sectors() });
            }
        }
    }

    /// A completed append says where it was written, not where it was sent: the oldest of its length is taken.
    fn complete_append(&mut self, space: u32, event: &TraceEvent) -> bool {
        let is_it = |&slot: &u32| {
            let state = self.pending.get(slot);
            state.io.flags.has(Flags::APPEND)
                && !state.done()
                && state.start <= event.sector
                && state.io.length.0 == u64::from(event.bytes)
        };
        let scattered = &self.devices.get(space).scattered;
        let Some(slot) = scattered.iter().copied().find(is_it) else { return false };
        let sectors = self.pending.get(slot).sectors();
        self.complete_part(space, event, &Part { slot, from: 0, sectors });
        true
    }

    /// An I/O that arrives with `event`.
    pub(super) fn arrived(&self, space: u32, event: &TraceEvent) -> Io {
        let mut io = Io::arriving(
            event.time,
            kind(event.traits, event.bytes),
            block::Bytes(event.sector.saturating_mul(512)),
            block::Bytes(u64::from(event.bytes)),
        );
        io.space = space;
        io.pid = event.pid;
        io.cpu = u16::try_from(event.cpu).unwrap_or(u16::MAX);
        io.flags = super::flags(event.traits, event.bytes);
        io
    }

    /// Commands have no bios: the first event of one is its arrival.
    pub(super) fn command(&mut self, space: u32, event: &TraceEvent) {
        let commands = self.devices.get(space).commands.iter().copied();
        let find = |admits: &dyn Fn(&Io) -> bool| {
            let mut found = None;
            for slot in commands.clone() {
                let state = self.pending.get(slot);
                if state.done() {
                    continue;
                }
                let io = &state.io;
                if admits(io) && io.length.0 == u64::from(event.bytes) {
                    return Some(slot);
                }
                if admits(io) {
                    found = found.or(Some(slot));
                }
            }
            found
        };
        match event.action {
            Action::Queue | Action::GetRequest | Action::Insert => {
                self.new_command(space, event);
            }
            Action::Issue => {
                let same = |io: &Io| !io.issued.known() && io.length.0 == u64::from(event.bytes);
                let slot = find(&same).unwrap_or_else(|| self.new_command(space, event));
                let state = self.pending.get_mut(slot);
                state.io.issued = Stamp::at(event.time);
                state.io.flags = state.io.flags.with(Flags::HEAD);
                state.io.request_bytes = state.io.length;
            }
            Action::Complete => match find(&|io: &Io| io.issued.known()) {
                Some(slot) => {
                    let state = self.pending.get_mut(slot);
                    state.io.completed = Stamp::at(event.time);
                    state.io.error = event.error;
                    state.ended = true;
                    self.devices.get_mut(space).forget(slot);
                }
                None => self.unpaired.strays += 1,
            },
            _ => {}
        }
    }

    fn new_command(&mut self, space: u32, event: &TraceEvent) -> u32 {
        let mut io = self.arrived(space, event);
        io.kind = Kind::Other;
        if event.action == Action::Insert {
            io.inserted = Stamp::at(event.time);
        }
        let slot = self.insert(io);
        Device::push(&mut self.devices.get_mut(space).commands, slot);
        slot
    }
}
