//! A log for small writes, kept in cells of one bit and merged into the units later.

use std::collections::VecDeque;

use block::Bytes;

use super::medium::Medium;
use super::model::{CardModel, LogModel};
use super::writing::Writer;

/// The log. It is a ring: what was written first is merged first, unit by unit.
#[derive(Debug)]
pub(super) struct SmallLog {
    model: LogModel,
    page: u64,
    used: u64,
    /// Units with data in the log, in the order of their first write, and how many bytes of it each has.
    units: VecDeque<(u64, u64)>,
}

impl SmallLog {
    /// The log of a model that has one.
    pub(super) fn new(model: &CardModel) -> Option<SmallLog> {
        let page = model.geometry.page_bytes;
        let log = model.log.clone()?;
        Some(SmallLog { model: log, page, used: 0, units: VecDeque::new() })
    }

    /// True when a write of `len` bytes belongs here.
    pub(super) fn takes(&self, len: u64) -> bool {
        len <= self.model.write_bytes_max
    }

    /// Without commands for so long, merging begins.
    pub(super) fn idle_ns(&self) -> u64 {
        self.model.idle_ns
    }

    /// True when there is something to merge.
    pub(super) fn holds_data(&self) -> bool {
        self.used > 0
    }

    /// Takes `len` bytes of a unit. Returns the time of programming, and that of merging what had to
    /// make room.
    pub(super) fn put(
        &mut self,
        medium: &mut Medium,
        writer: &mut Writer,
        unit: u64,
        len: u64,
    ) -> (u64, u64) {
        let pages = len.div_ceil(self.page);
        let bytes = pages * self.page;
        let mut merged = 0;
        while self.used > 0 && self.used + bytes > self.model.bytes {
            merged += self.merge_oldest(medium, writer);
        }
        self.used += bytes;
        match self.units.iter_mut().find(|(known, _)| *known == unit) {
            Some((_, held)) => *held += bytes,
            None => self.units.push_back((unit, bytes)),
        }
        medium.counters.medium_write_bytes += Bytes(bytes);
        (pages * self.model.program_ns, merged)
    }

    /// Merges the unit whose data has been in the log longest.
    pub(super) fn merge_oldest(&mut self, medium: &mut Medium, writer: &mut Writer) -> u64 {
        let Some((unit, bytes)) = self.units.pop_front() else { return 0 };
        self.used -= bytes;
        writer.merge(medium, unit, bytes.div_ceil(medium.layout.group))
    }

    /// A unit holds nothing any more, nor does the log of it.
    pub(super) fn forget(&mut self, unit: u64) {
        let of_unit = |(known, bytes): &(u64, u64)| if *known == unit { *bytes } else { 0 };
        self.used -= self.units.iter().map(of_unit).sum::<u64>();
        self.units.retain(|(known, _)| *known != unit);
    }
}
