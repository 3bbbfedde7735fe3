//! Writes: into memory over the link, then each unit to its place in a row that fills, and the row to its die.

use block::{Bytes, Op, Time};

use super::Ssd;
use super::crossings::{Crossing, Incoming, Piece};
use super::die::{Keeping, NOBODY, Program, Source, Work};
use super::ftl::{Collected, Stream};
use super::shape::Place;
use crate::device::Command;

/// Units of the largest piece in which a write crosses the link.
const PIECE_UNITS: u64 = 64;

impl Ssd {
    pub(super) fn write(&mut self, place: u32, command: &Command, now: Time) {
        let (next, end) = self.units(command);
        let first = self.shape.place(next);
        if let Keeping::Log(ftl) = &self.dies[first.die as usize].keeping {
            ftl.touch_to_write(first.unit);
        }
        self.incoming.push_back(Incoming { place, next, end });
        self.receive(now);
    }

    /// Lets data cross the link, in order, as far as there is room for it.
    pub(super) fn receive(&mut self, now: Time) {
        while let Some(first) = self.incoming.front_mut() {
            let count = (first.end - first.next).min(self.room).min(PIECE_UNITS);
            if count == 0 {
                self.relieve(now);
                return;
            }
            let (place, start) = (first.place, first.next);
            first.next += count;
            let is_last = first.next == first.end;
            if is_last {
                self.incoming.pop_front();
            }
            self.room -= count;
            self.pieces += 1;
            let command = self.holding.get(place).command;
            let shift = self.shape.map_shift;
            let (from, to) = (start << shift, (start + count) << shift);
            let bytes = command.end().min(to) - command.offset.max(from);
            let piece = Piece { place, first: start, count: count as u32, is_last };
            self.link_in.push(now, self.figures.on_link(bytes), Crossing::In(piece));
        }
    }

    /// The buffer is full. When it is full of rows that wait for more, nothing would ever free it: the fullest of
    /// them is programmed as it is.
    fn relieve(&mut self, now: Time) {
        if self.programs > 0 || self.pieces > 0 {
            return;
        }
        let fullest = (0..self.shape.dies)
            .max_by_key(|&die| (self.dies[die as usize].open_units(), std::cmp::Reverse(die)));
        if let Some(die) = fullest {
            self.pad(die, NOBODY, now);
        }
    }

    /// A piece is in the buffer.
    pub(super) fn received(&mut self, piece: Piece, now: Time) {
        self.pieces -= 1;
        let command = self.holding.get(piece.place).command;
        let waits = !self.figures.protected && (command.fua || !self.figures.write_back);
        let waiter = if waits { piece.place } else { NOBODY };
        if waits && self.holding.get(piece.place).parts == 0 {
            // Its own part, until all of it has come.
            self.holding.get(piece.place).parts = 1;
        }
        let mut bytes = 0;
        for unit in piece.first..piece.first + u64::from(piece.count) {
            let part = self.overlap(&command, unit);
            bytes += part;
            self.put(self.shape.place(unit), part < self.shape.map_bytes, waiter, now);
        }
        self.media.host_write_bytes += Bytes(bytes);
        if waits {
            self.media.medium_served_write_bytes += Bytes(bytes);
        } else {
            self.media.cache_taken_write_bytes += Bytes(bytes);
        }
        if piece.is_last && waits {
            self.pad_rows_of(piece.place, &command, now);
            self.part_done(piece.place, now);
        } else if piece.is_last {
            self.finish(piece.place, now);
        }
        if !self.incoming.is_empty() {
            self.receive(now);
        }
    }

    /// Programs the rows that wait for more and have something of a write that waits for them.
    fn pad_rows_of(&mut self, place: u32, command: &Command, now: Time) {
        let (first, end) = self.units(command);
        if end - first < u64::from(self.shape.dies) {
            for unit in first..end {
                self.pad(self.shape.place(unit).die, place, now);
            }
        } else {
            (0..self.shape.dies).for_each(|die| self.pad(die, place, now));
        }
    }

    /// Gives a unit its place. `partly`: only a part of it is new.
    fn put(&mut self, at: Place, partly: bool, waiter: u32, now: Time) {
        let row_units = self.shape.row_units;
        if partly && let Some(row) = self.row_of(at) {
            // The rest is read before the row is programmed; the host does not wait for it.
            let page = self.page_of(at.die, row);
            self.dies[at.die as usize].work.push_back(Work::Fetch { page, units: 1 });
        }
        let die = &mut self.dies[at.die as usize];
        if let Keeping::Log(ftl) = &mut die.keeping
            && let Some(slot) = ftl.slot(at.unit)
            && let Some(stream) = die.opened(slot / row_units)
        {
            // It is still in memory, in a row that is not on its way: it takes the place of what was there.
            let open = die.open(stream);
            open.waiter = if waiter == NOBODY { open.waiter } else { waiter };
            self.room += 1;
            return;
        }
        let Some((slot, stream)) = self.new_slot(at, now) else {
            self.room += 1;
            return;
        };
        let row = slot / row_units;
        let open = self.dies[at.die as usize].open(stream);
        open.row = row;
        open.units += 1;
        if waiter != NOBODY {
            open.waiter = waiter;
        }
        if (slot + 1).is_multiple_of(row_units) {
            self.program(at.die, stream, now);
        }
    }

    /// A slot for a unit, after the collection that must come before it. `None` cannot be while at least a block's
    /// worth of a die's slots is stale, which the check of a model sees to.
    fn new_slot(&mut self, at: Place, now: Time) -> Option<(u32, Stream)> {
        loop {
            let Keeping::Log(ftl) = &mut self.dies[at.die as usize].keeping else {
                return Some((at.unit, Stream::Main));
            };
            let stream = match ftl.has_room(Stream::Slc) {
                true => Stream::Slc,
                false => Stream::Main,
            };
            let waits = self.figures.folding.is_some_and(|f| f.writes_wait)
                && (ftl.fold_is_due() || (stream == Stream::Main && ftl.can_fold()));
            if !waits
                && !ftl.is_behind()
                && let Some(slot) = ftl.write(at.unit, stream)
            {
                return Some((slot, stream));
            }
            let collected = if waits { self.fold(at.die) } else { self.make_room(at.die) };
            if collected == Collected::Nothing {
                let Keeping::Log(ftl) = &mut self.dies[at.die as usize].keeping else {
                    return None;
                };
                let slot = ftl.write(at.unit, stream);
                debug_assert!(slot.is_some(), "a die has nothing to collect and no room");
                return slot.map(|slot| (slot, stream));
            }
            self.kick(at.die, now);
        }
    }

    /// The open row of a stream is handed to its die.
    fn program(&mut self, die: u32, stream: Stream, now: Time) {
        let open = self.dies[die as usize].close(stream);
        let page = self.page_of(die, open.row);
        if open.waiter != NOBODY {
            self.holding.get(open.waiter).parts += 1;
        }
        let epoch = self.epochs.begin();
        self.programs += 1;
        let from = Source::Host { units: open.units, waiter: open.waiter, epoch };
        let program = Program { page, from };
        let it = &mut self.dies[die as usize];
        it.rows.push_back(open.row);
        it.work.push_back(Work::Program(program));
        self.kick(die, now);
    }

    /// Programs the open rows of a die as they are.
    pub(super) fn pad(&mut self, die: u32, waiter: u32, now: Time) {
        for stream in [Stream::Main, Stream::Slc] {
            let row_units = self.shape.row_units;
            let it = &mut self.dies[die as usize];
            if it.open(stream).units == 0 || (waiter != NOBODY && it.open(stream).waiter != waiter)
            {
                continue;
            }
            if let Keeping::Log(ftl) = &mut it.keeping {
                ftl.pad(row_units, stream);
            }
            self.program(die, stream, now);
        }
    }

    /// The host's data in a row is on the medium.
    pub(super) fn programmed(&mut self, units: u32, waiter: u32, epoch: u64, now: Time) {
        self.programs -= 1;
        self.room += u64::from(units);
        self.epochs.end(epoch);
        if waiter != NOBODY {
            self.part_done(waiter, now);
        }
        while let Some(flush) = self.epochs.settled() {
            self.finish(flush, now);
        }
        if !self.incoming.is_empty() {
            self.receive(now);
        }
    }

    pub(super) fn flush(&mut self, place: u32, now: Time) {
        if self.figures.protected {
            self.finish(place, now);
            return;
        }
        for die in 0..self.shape.dies {
            self.pad(die, NOBODY, now);
        }
        self.epochs.close(place);
        while let Some(flush) = self.epochs.settled() {
            self.finish(flush, now);
        }
    }

    /// Forgets the units that lie wholly in a range.
    pub(super) fn trim(&mut self, command: &Command) {
        debug_assert_eq!(command.op, Op::Discard);
        let shift = self.shape.map_shift;
        let first = (command.offset + self.shape.map_bytes - 1) >> shift;
        for unit in first..command.end() >> shift {
            let at = self.shape.place(unit);
            if let Keeping::Log(ftl) = &mut self.dies[at.die as usize].keeping {
                ftl.trim(at.unit);
            }
        }
    }
}
