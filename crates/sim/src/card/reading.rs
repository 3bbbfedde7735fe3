//! How long a read takes.

use block::{Bytes, Nanos, Time};

use super::layout::Piece;
use super::medium::Medium;
use super::model::{CardModel, CrossingModel};
use crate::device::Command;

/// The reader: its figures, and what it has in memory.
#[derive(Debug)]
pub(super) struct Reader {
    command: u64,
    lookup: u64,
    fat_lookup: u64,
    group: u64,
    page: u64,
    parallel: u64,
    crossings: Vec<CrossingModel>,
    /// The group read last stays in memory.
    keeps_last: bool,
    ahead: u64,
    /// Groups in memory: first, and one beyond the last.
    kept: (u64, u64),
    /// When the last of them is.
    kept_at: Time,
    /// End of the last read.
    end: u64,
}

/// Cost of a read on the medium.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stream {
    /// From the command to the first array read.
    pub(super) command: u64,
    /// From then until the first codeword is ready for the link.
    pub(super) first: u64,
    /// Until the last is.
    pub(super) all: u64,
    /// Bytes in the last codeword.
    pub(super) last_bytes: u64,
}

impl Reader {
    pub(super) fn new(model: &CardModel) -> Reader {
        let read = &model.read;
        Reader {
            command: read.command_ns,
            lookup: read.lookup_ns,
            fat_lookup: model.fat.as_ref().map_or(0, |fat| fat.lookup_ns),
            group: read.group_ns,
            page: read.page_ns,
            parallel: read.parallel_groups,
            crossings: read.crossings.clone(),
            keeps_last: read.page_buffer,
            ahead: read.read_ahead_groups,
            kept: (0, 0),
            kept_at: Time::ZERO,
            end: u64::MAX,
        }
    }

    /// Drops the data in memory, which the medium no longer holds.
    pub(super) fn forget(&mut self) {
        self.kept = (0, 0);
        self.end = u64::MAX;
    }

    fn has(&self, group: u64) -> bool {
        (self.kept.0..self.kept.1).contains(&group)
    }

    /// Takes a read at `now` through the medium.
    pub(super) fn read(&mut self, medium: &mut Medium, command: &Command, now: Time) -> Stream {
        let layout = medium.layout;
        let (from, to) = (command.offset, command.end());
        let in_codeword = (to - 1) % layout.codeword + 1;
        let last_bytes = in_codeword.min(command.len);
        let mut stream = Stream { command: self.command, last_bytes, ..Stream::default() };
        let mut looked_up = None;
        let mut batches = Batches::new(self.parallel, self.group);
        let mut wait = Some(self.kept_at.since(now).0);
        for piece in layout.pieces(from, to) {
            let bytes = Bytes(piece.to - piece.from);
            if !medium.holds(piece.group) {
                medium.counters.cache_served_read_bytes += bytes;
                continue;
            }
            stream.command += self.look_up(medium, piece.group, &mut looked_up);
            if self.has(piece.group) {
                stream.command += wait.take().unwrap_or(0);
                medium.counters.cache_served_read_bytes += bytes;
            } else {
                medium.counters.medium_served_read_bytes += bytes;
                let array = medium.array_ns(piece.group) + medium.planes_ns(piece);
                stream.all += batches.read(piece.group, array);
            }
            let out = medium.stream_ns(piece) + self.inside(medium, piece);
            if stream.first == 0 {
                stream.first = stream.all + out / medium.codewords(piece).max(1);
            }
            stream.all += out;
        }
        self.keep(medium, from, to, now, stream);
        stream
    }

    /// The map of a group's unit, when it is not the one looked up last. The first is part of the command.
    fn look_up(&self, medium: &Medium, group: u64, last: &mut Option<u64>) -> u64 {
        let unit = medium.layout.unit_of(group);
        let (in_fat, before) = (medium.layout.in_fat(group), *last);
        *last = Some(unit);
        match before {
            None if in_fat => self.fat_lookup,
            Some(before) if before != unit => self.lookup,
            _ => 0,
        }
    }

    /// Returns the time of crossing boundaries within one group.
    fn inside(&self, medium: &Medium, piece: Piece) -> u64 {
        let crossed = |size: u64| (piece.to - 1) / size - piece.from / size;
        let pages = crossed(medium.layout.page);
        let smaller: u64 = self.crossings.iter().map(|c| (crossed(c.bytes) - pages) * c.ns).sum();
        pages * self.page + smaller
    }

    /// Keeps in memory the data that stays there after a read of `from..to` that began at `now`.
    fn keep(&mut self, medium: &Medium, from: u64, to: u64, now: Time, stream: Stream) {
        let last = (to - 1) / medium.layout.group;
        let sequential = self.end == from;
        self.end = to;
        let begun = now + Nanos(stream.command);
        if self.ahead > 0 && sequential {
            let upto = (last + 1 + self.ahead).min(medium.layout.groups());
            let new = self.kept.1.clamp(last + 1, upto)..upto;
            let arrays = new.filter(|group| medium.holds(*group)).map(|g| medium.array_ns(g));
            // The arrays go on reading while what was asked for crosses the link.
            self.kept_at = self.kept_at.max(begun) + Nanos(arrays.sum::<u64>() / self.parallel);
            self.kept = (last, upto);
        } else if self.keeps_last || self.ahead > 0 {
            self.kept = (last, last + 1);
            self.kept_at = begun;
        }
    }
}

/// Array reads of one command. Groups of one batch, which follow each other, lie on different dies and
/// are read at once: a batch takes as long as its slowest.
#[derive(Debug)]
struct Batches {
    parallel: u64,
    /// Starting each batch after the first.
    next: u64,
    /// First group of the batch read last, and how long it takes.
    current: Option<(u64, u64)>,
}

impl Batches {
    fn new(parallel: u64, next: u64) -> Batches {
        Batches { parallel, next, current: None }
    }

    /// Reads one more group; returns the time that it adds.
    fn read(&mut self, group: u64, array: u64) -> u64 {
        match self.current {
            Some((first, longest)) if group - first < self.parallel => {
                self.current = Some((first, longest.max(array)));
                array.saturating_sub(longest)
            }
            before => {
                self.current = Some((group, array));
                array + if before.is_some() { self.next } else { 0 }
            }
        }
    }
}
