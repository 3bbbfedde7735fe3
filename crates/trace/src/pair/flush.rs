//! Flushes and other I/Os without data, whose events carry no length.
//!
//! The kernel answers a flush with a request of its own (`FN`, for all bios that wait), and then completes the bio's
//! flush with no bytes. On a device without requests the bio completes alone. A write that the kernel makes durable by
//! such flushes is completed with its data, and again, with no bytes, when the last flush is done.

use block::trace::{Action, TraceEvent, Traits};

use block::Nanos;

use crate::{Flags, Io, Kind, Stamp};

use super::device::Device;
use super::{Pairer, SEQUENCE, kind};

impl Pairer {
    /// An event without bytes.
    pub(super) fn empty(&mut self, space: u32, event: &TraceEvent) {
        // The kernel records the flush request as a read; a bio that flushes is a write.
        let machinery = event.traits.has(Traits::FLUSH) && !event.traits.has(Traits::WRITE);
        match event.action {
            Action::Queue => {
                let io = self.arrived(space, event);
                let slot = self.arrive(space, io);
                Device::push(&mut self.devices.get_mut(space).empty, slot);
            }
            Action::GetRequest | Action::Insert | Action::SleepRequest => {
                self.stamp_empty(space, event);
            }
            Action::Issue if machinery => self.flush_issued(space, event),
            Action::Complete if machinery => self.flush_done(space, event),
            Action::Issue => {
                if let Some(slot) = self.find_empty(space, event, |io| !io.issued.known()) {
                    self.issue_empty(slot, event);
                }
            }
            Action::Complete => {
                let found = self
                    .find_empty(space, event, |io| io.issued.known() && self.timely(io, event))
                    .or_else(|| self.find_empty(space, event, |io| self.timely(io, event)));
                if found.is_none() && self.sequence_done(space, event) {
                    return;
                }
                // Some drivers leave in a flush the sector of the request before it.
                let found = found.or_else(|| {
                    let is_flush = |io: &Io| io.kind == Kind::Flush && self.timely(io, event);
                    let waiting = self.devices.get(space).empty.iter().copied();
                    let mut waiting = waiting.filter(|&slot| is_flush(&self.pending.get(slot).io));
                    waiting.next().filter(|_| event.traits.has(Traits::FLUSH))
                });
                if let Some(slot) = found {
                    let state = self.pending.get_mut(slot);
                    state.io.completed = Stamp::at(event.time);
                    state.io.error = event.error;
                    state.ended = true;
                    state.awaited = false;
                    self.devices.get_mut(space).forget(slot);
                }
            }
            _ => {}
        }
    }

    /// The last completion of a write whose data completed before; false where none waits for it.
    fn sequence_done(&mut self, space: u32, event: &TraceEvent) -> bool {
        let found = self.devices.get(space).flushing.iter().position(|&slot| {
            let state = self.pending.get(slot);
            let in_time = |at: Nanos| at.0.saturating_add(SEQUENCE.0) >= event.time.0;
            state.flushing
                && state.start == event.sector
                && state.done()
                && state.io.completed.get().is_some_and(in_time)
        });
        let Some(slot) = found.and_then(|nth| self.devices.get_mut(space).flushing.remove(nth))
        else {
            return false;
        };
        let state = self.pending.get_mut(slot);
        state.flushing = false;
        state.io.completed = state.io.completed.max(Stamp::at(event.time));
        if event.error != 0 {
            state.io.error = event.error;
        }
        true
    }

    /// The oldest I/O without data that an event can mean: of its sector, and of its kind; but the last event of a
    /// flush is recorded as that of a write.
    fn find_empty(
        &self,
        space: u32,
        event: &TraceEvent,
        admits: impl Fn(&Io) -> bool,
    ) -> Option<u32> {
        let kind = kind(event.traits, event.bytes);
        self.devices.get(space).empty.iter().copied().find(|&slot| {
            let io = &self.pending.get(slot).io;
            let alike =
                io.kind == kind || (io.kind == Kind::Flush && event.traits.has(Traits::WRITE));
            io.offset.0 == event.sector.saturating_mul(512) && alike && admits(io)
        })
    }

    /// False when, by the events so far, the I/O ended so long ago that it may have been handed out.
    fn timely(&self, io: &Io, event: &TraceEvent) -> bool {
        io.completed.get().is_none_or(|at| at.0.saturating_add(self.limits.skew.0) >= event.time.0)
    }

    fn stamp_empty(&mut self, space: u32, event: &TraceEvent) {
        let at = Stamp::at(event.time);
        let insert = event.action == Action::Insert;
        let found = self
            .find_empty(space, event, |io| !io.issued.known() && (insert || !io.allocated.known()));
        let Some(slot) = found else { return };
        let io = &mut self.pending.get_mut(slot).io;
        match event.action {
            Action::GetRequest => {
                io.allocated = at;
                io.flags = io.flags.with(Flags::HEAD);
            }
            Action::Insert => io.inserted = at,
            _ => io.slept = at,
        }
    }

    fn issue_empty(&mut self, slot: u32, event: &TraceEvent) {
        let io = &mut self.pending.get_mut(slot).io;
        io.issued = Stamp::at(event.time);
        io.flags = io.flags.with(Flags::HEAD);
    }

    /// One flush for all that wait.
    fn flush_issued(&mut self, space: u32, event: &TraceEvent) {
        // If arrivals are not recorded, the issue is the I/O.
        let device = self.devices.get_mut(space);
        if device.undecided() && device.issue_makes_one() {
            let slot = self.insert(self.arrived(space, event));
            self.pending.provisional(slot);
            let device = self.devices.get_mut(space);
            Device::push(&mut device.empty, slot);
            device.remember_provisional(slot);
        }
        for nth in 0..self.devices.get(space).empty.len() {
            let slot = self.devices.get(space).empty[nth];
            let io = &self.pending.get(slot).io;
            if io.kind == Kind::Flush && !io.issued.known() {
                self.issue_empty(slot, event);
            }
        }
    }

    /// The flush is done, and those that waited for it will be: with events of their own, or now, where the kernel
    /// records none.
    fn flush_done(&mut self, space: u32, event: &TraceEvent) {
        for nth in 0..self.devices.get(space).empty.len() {
            let slot = self.devices.get(space).empty[nth];
            let state = self.pending.get_mut(slot);
            if state.io.kind == Kind::Flush && state.io.issued.known() && !state.ended {
                state.io.completed = Stamp::at(event.time);
                state.io.error = event.error;
                state.ended = true;
                state.awaited = true;
            }
        }
    }
}
