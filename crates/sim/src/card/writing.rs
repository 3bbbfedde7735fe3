//! How long a write takes: block-mapped units, of which a few are open for writing.
//!
//! An open unit has a log, an erased block that takes what is written; the unit's other data stays
//! where it was until the unit is closed. The kinds of merge are those of hybrid mappings (Kim and
//! others, "A Space-Efficient Flash Translation Layer for CompactFlash Systems", 2002): a log that
//! holds the whole unit replaces its old block (switch merge); one with room for the rest gets the
//! rest copied into it (partial merge); else everything is copied to a third block (full merge).

use super::layout::{GroupSet, Piece};
use super::medium::Medium;
use super::model::{CardModel, MergeModel};

/// The writer of block-mapped units.
#[derive(Debug)]
pub(super) struct Writer {
    linear: usize,
    random: usize,
    merge: MergeModel,
    merge_ns: u64,
    together_on_return: bool,
    /// Open units, the one that was left alone longest first.
    open: Vec<Log>,
    /// The unit written last.
    last: Option<u64>,
    /// Groups programmed since the last erase, for cards on which merges do not erase.
    appended: u64,
}

/// An open unit.
#[derive(Debug)]
struct Log {
    unit: u64,
    /// Groups that the log holds the newest data of, counted from the unit's first.
    groups: GroupSet,
    /// How many these are.
    count: u64,
    /// Groups of the log that are programmed, or begun.
    used: u64,
    /// Offset from the card's beginning at which a write in order continues.
    next: u64,
    /// Writes have come out of order.
    random: bool,
    /// The group that is filled in part.
    partial: Option<Partial>,
    /// The unit had data before, in a block that will be erased.
    replaces: bool,
}

/// A group whose beginning is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial {
    group: u64,
    filled: u64,
}

impl Partial {
    /// The group.
    pub(super) fn group(&self) -> u64 {
        self.group
    }
}

/// Cost of a write on the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Programming of what the host sent, which may go on while more of it arrives.
    pub(super) program: u64,
    /// Everything else: reading, completing, merging, erasing.
    pub(super) beside: u64,
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        self.program += other.program;
        self.beside += other.beside;
    }
}

/// Puts a piece into `partial`'s log; a piece that neither fills its group nor goes on where `partial`
/// ended is a read-modify-write. True beside the work when a new group of the log is begun.
pub(super) fn put(
    partial: &mut Option<Partial>,
    medium: &mut Medium,
    piece: Piece,
    apart: bool,
) -> (Work, bool) {
    let size = medium.layout.group;
    let mut work = Work { program: medium.program_ns(piece, apart), beside: 0 };
    let goes_on = partial.is_some_and(|p| p.group == piece.group && p.filled == piece.from);
    if !goes_on {
        let superseded = piece.from == 0 && partial.is_some_and(|p| p.group == piece.group);
        if let Some(left) = partial.take().filter(|_| !superseded) {
            work.beside += complete(left, medium);
        }
        let before = Piece { to: piece.from, from: 0, ..piece };
        work.beside += medium.fetch_ns(before);
        work.beside += medium.program_ns(before, apart);
    }
    let (group, filled) = (piece.group, piece.to);
    *partial = (filled < size).then_some(Partial { group, filled });
    (work, !goes_on)
}

/// Completes a group that is filled in part with what the medium held there.
fn complete(partial: Partial, medium: &mut Medium) -> u64 {
    let Partial { group, filled } = partial;
    let rest = Piece { group, from: filled, to: medium.layout.group };
    medium.fetch_ns(rest) + medium.program_ns(rest, false)
}

impl Writer {
    pub(super) fn new(model: &CardModel) -> Writer {
        let write = &model.write;
        Writer {
            linear: write.open_au_linear as usize,
            random: write.open_au_random as usize,
            merge: write.merge,
            merge_ns: write.merge_ns,
            together_on_return: write.multi_plane_on_return,
            open: Vec::new(),
            last: None,
            appended: 0,
        }
    }

    /// Writes pieces of one unit, in order.
    pub(super) fn write(
        &mut self,
        medium: &mut Medium,
        unit: u64,
        pieces: impl Iterator<Item = Piece>,
    ) -> Work {
        let mut work = Work::default();
        let returns = self.last.replace(unit).is_some_and(|last| last != unit);
        let apart = returns && !self.together_on_return && self.is_open(unit);
        for piece in pieces {
            let at = piece.group * medium.layout.group;
            work.beside += self.make_room(medium, unit, at + piece.from);
            let Some(log) = self.open.last_mut() else { continue };
            let (more, begun) = put(&mut log.partial, medium, piece, apart);
            work += more;
            log.used += u64::from(begun);
            log.next = at + piece.to;
            let first = medium.layout.unit_groups(unit).start;
            log.count += u64::from(log.groups.insert(piece.group - first));
            medium.fill(piece.group);
            work.beside += self.wear(medium, begun);
        }
        work.beside += self.close_if_complete(medium);
        work
    }

    /// Closes a unit that is to hold nothing, without any work.
    pub(super) fn drop_log(&mut self, unit: u64) {
        self.open.retain(|log| log.unit != unit);
    }

    fn is_open(&self, unit: u64) -> bool {
        self.open.iter().any(|log| log.unit == unit)
    }

    /// Makes the unit's log the last in `open`, with room for one more group written at byte `at`.
    fn make_room(&mut self, medium: &mut Medium, unit: u64, at: u64) -> u64 {
        let mut time = 0;
        if let Some(index) = self.open.iter().position(|log| log.unit == unit) {
            let groups = medium.layout.unit_groups(unit);
            let log = self.open.remove(index);
            let goes_on = log.partial.is_some() && log.next == at;
            let full = log.used == groups.end - groups.start && !goes_on;
            let random = log.random || at < log.next;
            if full || (random && self.random == 0) {
                time += self.close(log, medium);
            } else {
                let turned = random && !log.random;
                self.open.push(Log { random, ..log });
                if turned {
                    time += self.limit_random(medium);
                }
                return time;
            }
        }
        while self.open.len() >= self.linear {
            let oldest = self.open.remove(0);
            time += self.close(oldest, medium);
        }
        let groups = medium.layout.unit_groups(unit);
        self.open.push(Log {
            unit,
            groups: GroupSet::new(groups.end - groups.start, false),
            count: 0,
            used: 0,
            next: at,
            random: false,
            partial: None,
            replaces: medium.held(unit) > 0,
        });
        time
    }

    /// Closes the oldest random logs beyond the limit; the last of `open` has just become one.
    fn limit_random(&mut self, medium: &mut Medium) -> u64 {
        let mut time = 0;
        while self.open.iter().filter(|log| log.random).count() > self.random {
            let Some(index) = self.open.iter().position(|log| log.random) else { break };
            let log = self.open.remove(index);
            time += self.close(log, medium);
        }
        time
    }

    /// Closes the log written last when it holds the whole unit.
    fn close_if_complete(&mut self, medium: &mut Medium) -> u64 {
        let complete = |log: &mut Log| {
            let groups = medium.layout.unit_groups(log.unit);
            log.partial.is_none() && log.count == groups.end - groups.start
        };
        match self.open.pop_if(complete) {
            Some(log) if log.replaces && self.merge == MergeModel::Copy => medium.erase_ns(),
            _ => 0,
        }
    }

    /// Closes a log that does not hold the whole unit.
    fn close(&mut self, log: Log, medium: &mut Medium) -> u64 {
        let time = log.partial.map_or(0, |partial| complete(partial, medium));
        if self.merge == MergeModel::Switch {
            return time + self.merge_ns;
        }
        let groups = medium.layout.unit_groups(log.unit);
        let (room, held) = (groups.end - groups.start - log.used, medium.held(log.unit));
        let rest = held.saturating_sub(log.count);
        if rest == 0 && log.used == log.count && !log.replaces {
            // A block that nothing was in before: the log becomes the unit's block.
            return time;
        }
        let full = rest > room;
        let copied = medium.copy_ns(if full { held } else { rest });
        let erased = if log.replaces { medium.erase_ns() } else { 0 };
        let third = if full { medium.erase_ns() } else { 0 };
        time + self.merge_ns + copied + erased + third
    }

    /// Merges what small writes left elsewhere into a unit, everything of it copied to a new block.
    pub(super) fn merge(&mut self, medium: &mut Medium, unit: u64, small_groups: u64) -> u64 {
        if self.merge == MergeModel::Switch {
            return self.merge_ns + medium.copy_ns(small_groups);
        }
        let index = self.open.iter().position(|log| log.unit == unit);
        let log = index.map(|index| self.open.remove(index));
        let open = log.map_or(0, |log| {
            log.partial.map_or(0, |partial| complete(partial, medium)) + medium.erase_ns()
        });
        open + self.merge_ns + medium.copy_ns(medium.held(unit)) + medium.erase_ns()
    }

    /// Time of erasing where merges do not erase: one block for each block's worth of programmed groups.
    fn wear(&mut self, medium: &mut Medium, begun: bool) -> u64 {
        if self.merge != MergeModel::Switch || !begun {
            return 0;
        }
        self.appended += 1;
        if self.appended < medium.layout.unit / medium.layout.group {
            return 0;
        }
        self.appended = 0;
        medium.erase_ns()
    }
}
