//! The medium: what holds data, and how long its cells take.

use block::Bytes;

use super::layout::{GroupSet, Layout, Piece};
use super::model::{CardModel, CellModel, InitialState};
use crate::device::MediaCounters;

/// The medium, with the counters of what moved to and from it.
#[derive(Debug)]
pub(super) struct Medium {
    pub(super) layout: Layout,
    cells: CellModel,
    /// Array read and program time of a group in the zone at the beginning.
    fat_read: u64,
    fat_program: u64,
    planes: u64,
    /// Groups that hold data.
    data: GroupSet,
    /// For each unit, how many of its block-mapped groups do.
    held: Vec<u32>,
    pub(super) counters: MediaCounters,
}

impl Medium {
    pub(super) fn new(model: &CardModel) -> Medium {
        let layout = Layout::new(model);
        let full = model.geometry.state == InitialState::Filled;
        let held = |unit| {
            let groups = layout.unit_groups(unit);
            if full { (groups.end - groups.start) as u32 } else { 0 }
        };
        Medium {
            layout,
            cells: model.cells.clone(),
            fat_read: model.fat.as_ref().map_or(0, |fat| fat.read_ns),
            fat_program: model.fat.as_ref().map_or(0, |fat| fat.program_ns),
            planes: model.geometry.planes,
            data: GroupSet::new(layout.groups(), full),
            held: (0..layout.units()).map(held).collect(),
            counters: MediaCounters::default(),
        }
    }

    /// True when a group holds data.
    pub(super) fn holds(&self, group: u64) -> bool {
        self.data.has(group)
    }

    /// Count of a unit's block-mapped groups that hold data.
    pub(super) fn held(&self, unit: u64) -> u64 {
        self.held.get(unit as usize).copied().map_or(0, u64::from)
    }

    /// A group holds data from now on; true when it did not.
    pub(super) fn fill(&mut self, group: u64) -> bool {
        let new = self.data.insert(group);
        if new
            && !self.layout.in_fat(group)
            && let Some(held) = self.held.get_mut(self.layout.unit_of(group) as usize)
        {
            *held += 1;
        }
        new
    }

    /// A unit holds nothing from now on.
    pub(super) fn empty(&mut self, unit: u64) {
        let per_unit = self.layout.unit / self.layout.group;
        for group in unit * per_unit..(unit + 1) * per_unit {
            self.data.remove(group);
        }
        if let Some(held) = self.held.get_mut(unit as usize) {
            *held = 0;
        }
    }

    /// Reading a group into its page register.
    pub(super) fn array_ns(&self, group: u64) -> u64 {
        if self.layout.in_fat(group) {
            return self.fat_read;
        }
        self.cells.read_ns.get(self.layout.kind(group)).copied().unwrap_or(0)
    }

    /// Additional time of reading from the planes that a piece touches: that of the slowest.
    pub(super) fn planes_ns(&self, piece: Piece) -> u64 {
        let (first, last) = (piece.from / self.layout.page, (piece.to - 1) / self.layout.page);
        let planes = self.cells.plane_ns.get(first as usize..=last as usize);
        planes.and_then(|planes| planes.iter().max()).copied().unwrap_or(0)
    }

    /// Count of codewords that hold a piece.
    pub(super) fn codewords(&self, piece: Piece) -> u64 {
        let size = self.layout.codeword;
        piece.to.div_ceil(size) - piece.from / size
    }

    /// Getting a piece out of the page register and checking it.
    pub(super) fn stream_ns(&mut self, piece: Piece) -> u64 {
        let count = self.codewords(piece);
        self.counters.medium_read_bytes += Bytes(count * self.layout.codeword);
        count * self.cells.codeword_ns
    }

    /// Reading a piece for the card's own use; nothing when it holds no data or is empty.
    pub(super) fn fetch_ns(&mut self, piece: Piece) -> u64 {
        if piece.from == piece.to || !self.holds(piece.group) {
            return 0;
        }
        self.array_ns(piece.group) + self.stream_ns(piece)
    }

    /// Programming a piece of a group. A page is programmed once for all that fills it, and each
    /// part pays its share. With `apart`, the planes are programmed one after the other.
    pub(super) fn program_ns(&mut self, piece: Piece, apart: bool) -> u64 {
        let (layout, bytes) = (&self.layout, piece.to - piece.from);
        let whole = if layout.in_fat(piece.group) {
            self.fat_program
        } else {
            let kind = layout.kind(piece.group);
            self.cells.program_ns.get(kind).copied().unwrap_or(0)
        };
        self.counters.medium_write_bytes += Bytes(bytes);
        let times = if apart { self.planes } else { 1 };
        whole * times * bytes / layout.group
    }

    /// Copying `count` groups within the card, at the mean over the kinds of pages.
    pub(super) fn copy_ns(&mut self, count: u64) -> u64 {
        let (size, cells) = (self.layout.group, &self.cells);
        let kinds = cells.read_ns.len() as u64;
        let arrays: u64 = cells.read_ns.iter().chain(&cells.program_ns).sum();
        let codewords = size / self.layout.codeword * cells.codeword_ns;
        self.counters.medium_read_bytes += Bytes(count * size);
        self.counters.medium_write_bytes += Bytes(count * size);
        count * (arrays / kinds.max(1) + codewords)
    }

    /// Erasing a unit.
    pub(super) fn erase_ns(&mut self) -> u64 {
        self.counters.erases += 1;
        self.cells.erase_ns
    }
}
