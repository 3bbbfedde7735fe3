//! Reads: what is in memory or nowhere is sent at once, the rest comes from the dies.

use block::{Bytes, Time};

use super::Ssd;
use super::die::RowRead;
use super::shape::Place;
use crate::device::Command;

/// Bits of a row's number in the list of what a read needs.
const ROW_BITS: u32 = 32;

impl Ssd {
    /// Units that bytes lie in: the first, and one beyond the last.
    #[inline]
    pub(super) fn units(&self, command: &Command) -> (u64, u64) {
        let shift = self.shape.map_shift;
        (command.offset >> shift, ((command.end() - 1) >> shift) + 1)
    }

    /// Bytes of a command that lie in `unit`.
    #[inline]
    pub(super) fn overlap(&self, command: &Command, unit: u64) -> u64 {
        let start = unit << self.shape.map_shift;
        let end = start + self.shape.map_bytes;
        command.end().min(end) - command.offset.max(start)
    }

    /// The row of the medium that a unit must be read from; `None` when memory has it, or nothing was written there.
    #[inline]
    pub(super) fn row_of(&self, at: Place) -> Option<u32> {
        let die = &self.dies[at.die as usize];
        let row = die.slot(at.unit)? / self.shape.row_units;
        (!die.in_memory(row)).then_some(row)
    }

    pub(super) fn read(&mut self, place: u32, command: &Command, now: Time) {
        let (first, end) = self.units(command);
        let mut at_hand = 0;
        self.rows.clear();
        for unit in first..end {
            let at = self.shape.place(unit);
            let bytes = self.overlap(command, unit);
            match self.row_of(at) {
                Some(row) => self.rows.push(u64::from(at.die) << ROW_BITS | u64::from(row)),
                None => at_hand += bytes,
            }
        }
        self.media.cache_served_read_bytes += Bytes(at_hand);
        self.media.medium_served_read_bytes += Bytes(command.len - at_hand);
        if at_hand > 0 {
            self.holding.get(place).parts += 1;
            self.send(place, at_hand, now);
        }
        if !self.rows.is_empty() {
            // The ends of a command may be less than a unit: its bytes are shared out evenly, which differs from the
            // truth by less than a unit a command.
            let total = command.len - at_hand;
            self.read_rows(place, total, now);
        }
    }

    /// Hands what a read needs to the dies, once for each row.
    fn read_rows(&mut self, place: u32, bytes: u64, now: Time) {
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_unstable();
        let (units, mut given) = (rows.len() as u64, 0);
        for run in rows.chunk_by(|a, b| a == b) {
            let (die, row) = ((run[0] >> ROW_BITS) as u32, run[0] as u32);
            given += run.len() as u64;
            let before = bytes * (given - run.len() as u64) / units;
            let part = (bytes * given / units - before) as u32;
            self.holding.get(place).parts += 1;
            let page = self.page_of(die, row);
            let read = RowRead { request: place, row, bytes: part, page };
            self.dies[die as usize].reads.push_back(read);
            self.kick(die, now);
        }
        rows.clear();
        self.rows = rows;
    }
}
