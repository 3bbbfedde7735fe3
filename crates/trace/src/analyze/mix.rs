//! Composition of a trace: operations, flags, address spaces, and how addresses and lengths are aligned.

use serde::{Deserialize, Serialize};

use crate::{Flags, Io, Kind};

/// Most address spaces that a lens counts separately; those numbered beyond are counted together.
pub const SPACES_MAX: usize = 4096;

/// Units at which alignment is judged: 512 bytes to 1 MiB.
pub const UNITS: [u64; 12] = {
    let mut units = [512; 12];
    let mut index = 1;
    while index < units.len() {
        units[index] = units[index - 1] * 2;
        index += 1;
    }
    units
};
/// log2 of the first unit.
const FIRST: u32 = UNITS[0].trailing_zeros();

/// Flags that are counted.
const COUNTED: [Flags; 5] = [Flags::SYNC, Flags::META, Flags::FUA, Flags::PREFLUSH, Flags::AHEAD];
const ANY: u16 = Flags::SYNC.0 | Flags::META.0 | Flags::FUA.0 | Flags::PREFLUSH.0 | Flags::AHEAD.0;

/// I/Os and the bytes that they speak of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// I/Os.
    pub ios: u64,
    /// Bytes. Sums stop at the greatest number.
    pub bytes: u64,
}

impl Count {
    #[inline]
    fn add(&mut self, bytes: u64) {
        self.ios += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn merge(&mut self, other: &Count) {
        self.ios += other.ios;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// A count for each kind of I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named as the kinds are")]
pub struct ByKind {
    pub read: Count,
    pub write: Count,
    pub flush: Count,
    pub discard: Count,
    pub write_zeroes: Count,
    pub zone: Count,
    pub other: Count,
}

impl ByKind {
    fn of(counts: &[Count; 7]) -> ByKind {
        let of = |kind: Kind| counts[kind as usize];
        ByKind {
            read: of(Kind::Read),
            write: of(Kind::Write),
            flush: of(Kind::Flush),
            discard: of(Kind::Discard),
            write_zeroes: of(Kind::WriteZeroes),
            zone: of(Kind::Zone),
            other: of(Kind::Other),
        }
    }
}

/// I/Os with a flag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flagged {
    /// Reads.
    pub read: Count,
    /// Writes.
    pub write: Count,
    /// Everything else: flushes, discards, …
    pub other: Count,
}

/// A count for each flag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByFlag {
    /// Somebody waited for it.
    pub sync: Flagged,
    /// Metadata of a filesystem.
    pub meta: Flagged,
    /// Force unit access.
    pub fua: Flagged,
    /// Flushes the drive's cache before its data.
    pub preflush: Flagged,
    /// Read ahead.
    pub ahead: Flagged,
}

/// Composition of some I/Os.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// I/Os of all kinds.
    pub ios: u64,
    /// By kind.
    pub kinds: ByKind,
    /// By flag.
    pub flags: ByFlag,
    /// Share of reads among reads and writes; `None` when there are neither.
    pub read_share: Option<f64>,
    /// Share of the bytes read among those read and written; `None` when there are none.
    pub read_bytes_share: Option<f64>,
}

/// Composition of the I/Os of one address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpaceParts {
    /// Number of the space.
    pub space: u32,
    /// Its I/Os.
    #[serde(flatten)]
    pub parts: Parts,
}

/// How transfers lie to the boundaries of one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alignment {
    /// The unit, in bytes.
    pub unit_bytes: u64,
    /// I/Os that begin at a boundary.
    pub offset_aligned: u64,
    /// I/Os whose length is a multiple of it.
    pub length_aligned: u64,
    /// I/Os that begin and end at boundaries: all others write a part of a unit.
    pub whole: u64,
    /// I/Os that touch one unit more than their length needs, because of where they begin.
    pub straddling: u64,
}

/// Alignment of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aligned {
    /// I/Os judged: those that are longer than nothing.
    pub ios: u64,
    /// For each of [`UNITS`].
    pub units: Vec<Alignment>,
}

/// Composition of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MixBody {
    /// All of it.
    pub total: Parts,
    /// Each address space that has I/Os, the first [`SPACES_MAX`] of them.
    pub spaces: Vec<SpaceParts>,
    /// All spaces beyond these together; `None` when there are no more.
    pub further_spaces: Option<Parts>,
    /// How reads are aligned.
    pub reads: Aligned,
    /// How writes are aligned.
    pub writes: Aligned,
}

/// Counts what a trace consists of. Memory: at most 1.6 MiB.
#[derive(Clone, Debug, Default)]
pub struct Mix {
    spaces: Vec<Tally>,
    further: Tally,
    reads: Lying,
    writes: Lying,
}

impl Mix {
    /// Nothing seen.
    pub fn new() -> Mix {
        Mix::default()
    }

    /// Counts an I/O.
    #[inline]
    pub fn see(&mut self, io: &Io) {
        let space = io.space as usize;
        if space >= self.spaces.len() && space < SPACES_MAX {
            self.spaces.resize(space + 1, Tally::default());
        }
        self.spaces.get_mut(space).unwrap_or(&mut self.further).add(io);
        if io.length.0 > 0 {
            match io.kind {
                Kind::Read => self.reads.add(io.offset.0, io.length.0),
                Kind::Write => self.writes.add(io.offset.0, io.length.0),
                _ => {}
            }
        }
    }

    /// Returns the result.
    pub fn finish(&self) -> MixBody {
        let mut total = self.further;
        self.spaces.iter().for_each(|space| total.merge(space));
        let spaces = (0..).zip(&self.spaces);
        let spaces = spaces.map(|(space, tally)| SpaceParts { space, parts: tally.parts() });
        let further = self.further.parts();
        MixBody {
            total: total.parts(),
            spaces: spaces.filter(|space| space.parts.ios > 0).collect(),
            further_spaces: (further.ios > 0).then_some(further),
            reads: self.reads.finish(),
            writes: self.writes.finish(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    kinds: [Count; 7],
    /// By flag, and by read, write, other.
    flags: [[Count; 3]; 5],
}

impl Tally {
    #[inline]
    fn add(&mut self, io: &Io) {
        self.kinds[io.kind as usize].add(io.length.0);
        if io.flags.0 & ANY != 0 {
            for (counts, flag) in self.flags.iter_mut().zip(COUNTED) {
                if io.flags.has(flag) {
                    counts[(io.kind as usize).min(2)].add(io.length.0);
                }
            }
        }
    }

    fn merge(&mut self, other: &Tally) {
        self.kinds.iter_mut().zip(&other.kinds).for_each(|(mine, theirs)| mine.merge(theirs));
        let flags = self.flags.iter_mut().flatten().zip(other.flags.iter().flatten());
        flags.for_each(|(mine, theirs)| mine.merge(theirs));
    }

    fn parts(&self) -> Parts {
        let kinds = ByKind::of(&self.kinds);
        let flag = |index: usize| {
            let [read, write, other] = self.flags[index];
            Flagged { read, write, other }
        };
        let share = |part: u64, rest: u64| {
            let whole = part as f64 + rest as f64;
            (whole > 0.0).then(|| part as f64 / whole)
        };
        Parts {
            ios: self.kinds.iter().map(|count| count.ios).sum(),
            kinds,
            flags: ByFlag {
                sync: flag(0),
                meta: flag(1),
                fua: flag(2),
                preflush: flag(3),
                ahead: flag(4),
            },
            read_share: share(kinds.read.ios, kinds.write.ios),
            read_bytes_share: share(kinds.read.bytes, kinds.write.bytes),
        }
    }
}

/// How transfers of one direction lie to all units. One increment in each of four tables, instead of four tests for
/// each of twelve units.
#[derive(Clone, Debug)]
struct Lying {
    ios: u64,
    /// By the greatest unit that divides the offset (row 0: none).
    offsets: [u64; UNITS.len() + 1],
    /// By the greatest unit that divides the length.
    lengths: [u64; UNITS.len() + 1],
    /// By the greatest unit that divides both.
    both: [u64; UNITS.len() + 1],
    /// By the set of units that are straddled.
    straddled: Box<[u64; 1 << UNITS.len()]>,
}

impl Default for Lying {
    fn default() -> Lying {
        const ROWS: usize = UNITS.len() + 1;
        let straddled = Box::new([0; 1 << UNITS.len()]);
        Lying { ios: 0, offsets: [0; ROWS], lengths: [0; ROWS], both: [0; ROWS], straddled }
    }
}

impl Lying {
    /// `length` is above zero.
    #[inline]
    fn add(&mut self, offset: u64, length: u64) {
        let row = |value: u64| {
            (value.trailing_zeros() + 1).saturating_sub(FIRST).min(UNITS.len() as u32) as usize
        };
        self.ios += 1;
        self.offsets[row(offset)] += 1;
        self.lengths[row(length)] += 1;
        self.both[row(offset | length)] += 1;
        // With o and l the rests of offset and length - 1, a unit more than needed is touched where o + l >= unit:
        // where the sum of both carries into the unit's bit. The carries into all bits of a sum are its exclusive
        // or with what was added.
        let last = length - 1;
        let carries = offset ^ last ^ offset.wrapping_add(last);
        let set = (carries >> FIRST) & ((1 << UNITS.len()) - 1);
        self.straddled[set as usize] += 1;
    }

    fn finish(&self) -> Aligned {
        let from = |rows: &[u64], index: usize| rows[index + 1..].iter().sum();
        let straddling = |index: usize| {
            let sets = self.straddled.iter().enumerate();
            sets.filter(|(set, _)| set >> index & 1 == 1).map(|(_, count)| count).sum()
        };
        let unit = |(index, &unit_bytes): (usize, &u64)| Alignment {
            unit_bytes,
            offset_aligned: from(&self.offsets, index),
            length_aligned: from(&self.lengths, index),
            whole: from(&self.both, index),
            straddling: straddling(index),
        };
        Aligned { ios: self.ios, units: UNITS.iter().enumerate().map(unit).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Bytes, Nanos};
    use proptest::prelude::*;

    fn io(kind: Kind, offset: u64, length: u64) -> Io {
        Io::arriving(Nanos::ZERO, kind, Bytes(offset), Bytes(length))
    }

    /// If it failed, kinds, flags or spaces would be counted as one another.
    #[test]
    fn everything_is_counted_where_it_belongs() {
        let mut mix = Mix::new();
        mix.see(&io(Kind::Read, 0, 4096));
        mix.see(&Io { flags: Flags::SYNC.with(Flags::META), ..io(Kind::Read, 0, 512) });
        mix.see(&Io { flags: Flags::FUA.with(Flags::HEAD), space: 2, ..io(Kind::Write, 0, 1024) });
        mix.see(&Io { flags: Flags::PREFLUSH, space: 2, ..io(Kind::Flush, 0, 0) });
        mix.see(&Io { space: u32::MAX, ..io(Kind::Discard, 0, u64::MAX) });
        mix.see(&Io { space: u32::MAX, ..io(Kind::Discard, 0, 1) });
        let body = mix.finish();
        assert_eq!(body.total.ios, 6);
        assert_eq!(body.total.kinds.read, Count { ios: 2, bytes: 4608 });
        assert_eq!(body.total.kinds.discard, Count { ios: 2, bytes: u64::MAX });
        assert_eq!(body.total.flags.sync.read, Count { ios: 1, bytes: 512 });
        assert_eq!(body.total.flags.meta.read.ios, 1);
        assert_eq!(body.total.flags.fua.write, Count { ios: 1, bytes: 1024 });
        assert_eq!(body.total.flags.preflush.other.ios, 1);
        assert_eq!(body.total.flags.ahead, Flagged::default());
        assert_eq!(body.total.read_share, Some(2.0 / 3.0));
        assert_eq!(body.total.read_bytes_share, Some(4608.0 / 5632.0));
        let spaces: Vec<(u32, u64)> = body.spaces.iter().map(|s| (s.space, s.parts.ios)).collect();
        assert_eq!(spaces, [(0, 2), (2, 2)]);
        assert_eq!(body.further_spaces.map(|further| further.ios), Some(2));
        assert_eq!(body.spaces[1].parts.read_share, Some(0.0));
        assert_eq!(Mix::new().finish().total.read_share, None);
    }

    proptest! {
        /// Against the definitions, taken word by word. If it failed, a partition that begins at sector 63 would
        /// pass for aligned, or an aligned one not.
        #[test]
        fn alignment_is_what_its_words_say(
            ios in prop::collection::vec((0..1u64 << 24, 1..1u64 << 22, 0..13u32, 0..13u32), 1..200)
        ) {
            let mut mix = Mix::new();
            let ios: Vec<(u64, u64)> = ios
                .into_iter()
                .map(|(offset, length, down, less)| {
                    (offset >> (down + 8) << (down + 8), (length >> less << less).max(1))
                })
                .collect();
            ios.iter().for_each(|&(offset, length)| mix.see(&io(Kind::Write, offset, length)));
            let body = mix.finish();
            prop_assert_eq!(body.reads.ios, 0);
            prop_assert_eq!(body.writes.ios, ios.len() as u64);
            for unit in &body.writes.units {
                let u = unit.unit_bytes;
                let count = |is: &dyn Fn(u64, u64) -> bool| {
                    ios.iter().filter(|&&(offset, length)| is(offset, length)).count() as u64
                };
                prop_assert_eq!(unit.offset_aligned, count(&|o, _| o % u == 0));
                prop_assert_eq!(unit.length_aligned, count(&|_, l| l % u == 0));
                prop_assert_eq!(unit.whole, count(&|o, l| o % u == 0 && (o + l) % u == 0));
                let touched = |o: u64, l: u64| (o + l - 1) / u - o / u + 1;
                prop_assert_eq!(unit.straddling, count(&|o, l| touched(o, l) > l.div_ceil(u)));
            }
        }
    }
}
