//! Content, for those who look at it: as sparse as it was written.
//!
//! Time does not depend on what a virtual drive holds, so it usually holds nothing. A lane that is opened for data
//! keeps what is written through it, where the drive's faults say that it goes.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use block::{Bytes, Completion, LaneSetup, Op, Payload, Request};

use crate::around::{ContentMap, FakeCache, Stored};

/// Unit of keeping: the least that a drive can write. A larger one would keep what a probe of a fake drive writes here
/// and there with as many zeros around it.
const PIECE: usize = 512;

/// Content of a medium; zeros where nothing was written.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pieces: HashMap<u64, Box<[u8; PIECE]>>,
    /// By place, ranges whose content is made again when it is read; none overlaps another or a piece.
    made: BTreeMap<u64, Made>,
    sources: Vec<Source>,
    /// Zeros were written: what reads as zeros may be those.
    is_zeroed: bool,
    /// Write cache of a fake drive.
    cache: Option<FakeCache>,
}

/// A range whose content a payload makes.
#[derive(Clone, Copy, Debug)]
struct Made {
    len: u64,
    /// Index of the payload.
    source: usize,
    /// Offset for which it was made, which differs from the place where addresses wrap.
    offset: u64,
}

/// A payload whose content is a function of the offset alone.
struct Source(Box<dyn Payload>);

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Source").finish_non_exhaustive()
    }
}

impl Store {
    /// Content of a drive of this map before the first write.
    pub(crate) fn of(map: &ContentMap) -> Store {
        Store { cache: map.cache(), ..Store::default() }
    }

    /// Whole pieces around a range: their beginning and end.
    fn around(offset: u64, len: usize) -> (u64, u64) {
        let piece = PIECE as u64;
        (offset / piece * piece, (offset + len as u64).next_multiple_of(piece))
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        let (from, to) = Store::around(offset, data.len());
        if to - from != data.len() as u64 {
            let mut whole = vec![0; (to - from) as usize];
            self.read(from, &mut whole);
            let begin = (offset - from) as usize;
            whole[begin..begin + data.len()].copy_from_slice(data);
            return self.write(from, &whole);
        }
        // Zeros are what reads without a piece: a drive that is zeroed takes no memory for it.
        if data.iter().all(|byte| *byte == 0) {
            self.is_zeroed = true;
            return self.forget(offset, data.len() as u64);
        }
        self.cut(from, to);
        for (number, piece) in (from / PIECE as u64..).zip(data.as_chunks::<PIECE>().0) {
            // A piece that is put back as it was takes no memory either.
            let may_be_old = !self.is_zeroed && piece[..8] == word(&mut seed(number));
            if may_be_old && *piece == old(number) {
                self.pieces.remove(&number);
                continue;
            }
            match self.pieces.entry(number) {
                Entry::Occupied(mut kept) => **kept.get_mut() = *piece,
                Entry::Vacant(free) => {
                    free.insert(Box::new(*piece));
                }
            }
        }
    }

    /// Keeps that `source` made a range for `offset`: whole pieces.
    fn make(&mut self, place: u64, len: u64, source: usize, offset: u64) {
        self.forget(place, len);
        if let Some((begin, before)) = self.made.range_mut(..place).next_back()
            && begin + before.len == place
            && (before.source, before.offset + before.len) == (source, offset)
        {
            before.len += len;
        } else {
            self.made.insert(place, Made { len, source, offset });
        }
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) {
        let (from, to) = Store::around(offset, into.len());
        if to - from != into.len() as u64 {
            let mut whole = vec![0; (to - from) as usize];
            self.read(from, &mut whole);
            let begin = (offset - from) as usize;
            return into.copy_from_slice(&whole[begin..begin + into.len()]);
        }
        let (mut at, mut rest) = (from, into);
        while at < to {
            let before = self.made.range(..=at).next_back();
            let made = before.filter(|(begin, made)| *begin + made.len > at);
            let end = match made {
                Some((begin, made)) => begin + made.len,
                None => self.made.range(at..).next().map_or(to, |(begin, _)| *begin),
            };
            let (part, after) = rest.split_at_mut((end.min(to) - at) as usize);
            match made {
                Some((begin, made)) => {
                    let source = self.sources.get_mut(made.source);
                    let offset = Bytes(made.offset + (at - begin));
                    source.into_iter().for_each(|Source(source)| source.fill(offset, part));
                }
                None => {
                    let pieces = part.as_chunks_mut::<PIECE>().0;
                    for (number, piece) in (at / PIECE as u64..).zip(pieces) {
                        *piece = self.pieces.get(&number).map_or([0; PIECE], |kept| **kept);
                    }
                }
            }
            at = end.min(to);
            rest = after;
        }
    }

    /// Ends that anything from `from` to `to` is made.
    fn cut(&mut self, from: u64, to: u64) {
        let begins = |made: &BTreeMap<u64, Made>| made.range(..to).next_back().map(|(at, _)| *at);
        while let Some(begin) = begins(&self.made)
            && let Some(&made) = self.made.get(&begin)
            && begin + made.len > from
        {
            self.made.remove(&begin);
            if begin + made.len > to {
                let cut = to - begin;
                let after = Made { len: made.len - cut, offset: made.offset + cut, ..made };
                self.made.insert(to, after);
            }
            if begin < from {
                self.made.insert(begin, Made { len: from - begin, ..made });
            }
        }
    }

    /// Shows data of before the first look where the drive `holds` some and nothing else is known: a drive that was
    /// written does not read as zeros.
    fn read_old(&self, offset: u64, into: &mut [u8], holds: &dyn Fn(u64) -> bool) {
        if self.is_zeroed || self.cache.is_some() {
            return;
        }
        let (from, to) = Store::around(offset, into.len());
        for piece in from / PIECE as u64..to / PIECE as u64 {
            let begin = piece * PIECE as u64;
            if self.pieces.contains_key(&piece) || self.is_made(begin) || !holds(begin) {
                continue;
            }
            let (first, last) =
                (begin.max(offset), (begin + PIECE as u64).min(offset + into.len() as u64));
            let within = |at: u64, of: u64| (at - of) as usize;
            into[within(first, offset)..within(last, offset)]
                .copy_from_slice(&old(piece)[within(first, begin)..within(last, begin)]);
        }
    }

    /// True where the content at `place` is made again when it is read.
    fn is_made(&self, place: u64) -> bool {
        let before = self.made.range(..=place).next_back();
        before.is_some_and(|(begin, made)| begin + made.len > place)
    }

    fn forget(&mut self, offset: u64, len: u64) {
        let (first, last) = (offset.div_ceil(PIECE as u64), (offset + len) / PIECE as u64);
        self.cut(first * PIECE as u64, last * PIECE as u64);
        if last.saturating_sub(first) < self.pieces.len() as u64 {
            for piece in first..last {
                self.pieces.remove(&piece);
            }
        } else {
            self.pieces.retain(|piece, _| !(first..last).contains(piece));
        }
    }
}

/// The data of what is under way in one lane.
pub(crate) struct Hands {
    payload: Vec<Box<dyn Payload>>,
    depth: u16,
    /// By submitter and slot: the request, and its buffer.
    slots: Vec<(Option<Request>, Vec<u8>)>,
    /// By submitter, its payload among the sources of the store; `None` of one that cannot be a source, and before
    /// the first write.
    sources: Vec<Option<usize>>,
}

impl fmt::Debug for Hands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hands").field("slots", &self.slots.len()).finish_non_exhaustive()
    }
}

impl Hands {
    pub(crate) fn new(setup: &LaneSetup<'_>) -> Hands {
        let count = usize::from(setup.submitters) * usize::from(setup.depth);
        let payload = setup.payload.map(|make| (0..setup.submitters).map(make).collect());
        Hands {
            payload: payload.unwrap_or_default(),
            depth: setup.depth,
            slots: (0..count).map(|_| (None, Vec::new())).collect(),
            sources: vec![None; usize::from(setup.submitters)],
        }
    }

    fn at(&self, submitter: u16, slot: u16) -> usize {
        usize::from(submitter) * usize::from(self.depth) + usize::from(slot)
    }

    /// A request is issued; a write's content is made.
    pub(crate) fn take(&mut self, request: &Request) {
        let at = self.at(request.submitter, request.slot);
        let Some((under_way, buffer)) = self.slots.get_mut(at) else { return };
        *under_way = Some(*request);
        if matches!(request.op, Op::Read | Op::Write) {
            buffer.resize(request.len.0 as usize, 0);
        }
        if request.op == Op::Write
            && let Some(payload) = self.payload.get_mut(usize::from(request.submitter))
        {
            payload.fill(request.offset, buffer);
        }
    }

    /// The place of a submitter's payload among the sources of a store.
    fn source(&mut self, submitter: u16, store: &mut Store) -> Option<usize> {
        let known = self.sources.get_mut(usize::from(submitter))?;
        if known.is_none() {
            let payload = self.payload.get(usize::from(submitter))?.by_offset()?;
            store.sources.push(Source(payload));
            *known = Some(store.sources.len() - 1);
        }
        *known
    }

    /// A request is done: what it carried goes to the medium or comes from it. One that failed carried nothing.
    pub(crate) fn complete(
        &mut self,
        done: &Completion,
        map: &ContentMap,
        store: &mut Store,
        holds: &dyn Fn(u64) -> bool,
    ) {
        let at = self.at(done.submitter, done.slot);
        let Some((under_way, _)) = self.slots.get_mut(at) else { return };
        let Some(request) = under_way.take() else { return };
        if done.outcome.bytes().is_err() || request.op == Op::Flush {
            return;
        }
        let source = match request.op {
            Op::Write => self.source(request.submitter, store),
            _ => None,
        };
        let Some((_, buffer)) = self.slots.get_mut(at) else { return };
        let mut from = 0;
        while from < request.len.0 {
            let (stored, Bytes(run)) = map.run(Bytes(request.offset.0 + from));
            let count = run.clamp(1, request.len.0 - from);
            let part = from as usize..(from + count) as usize;
            match (request.op, stored) {
                (Op::Write, Stored::At(place) | Stored::Corrupt(place)) => {
                    let offset = request.offset.0 + from;
                    let is_whole = |at: u64| at.is_multiple_of(PIECE as u64);
                    match source {
                        Some(source) if [offset, place.0, count].into_iter().all(is_whole) => {
                            store.make(place.0, count, source, offset);
                        }
                        _ => store.write(place.0, &buffer[part]),
                    }
                }
                (Op::Read, Stored::At(place)) => {
                    store.read(place.0, &mut buffer[part.clone()]);
                    store.read_old(place.0, &mut buffer[part], holds);
                }
                (Op::Read, Stored::Corrupt(place)) => {
                    store.read(place.0, &mut buffer[part.clone()]);
                    spoil(place.0, &mut buffer[part]);
                }
                (Op::Read, Stored::Lost) => buffer[part].fill(0),
                (Op::Discard, Stored::At(place) | Stored::Corrupt(place))
                    if !map.keeps_discarded() =>
                {
                    store.forget(place.0, count);
                }
                (Op::Discard, _) | (Op::Write, Stored::Lost) | (Op::Flush, _) => {}
            }
            from += count;
        }
        let Some(cache) = &mut store.cache else { return };
        let (offset, len) = (request.offset.0, request.len.0);
        match request.op {
            Op::Write => cache.write(offset, &buffer[..len as usize]),
            Op::Read => cache.read(offset, &mut buffer[..len as usize]),
            Op::Discard if !map.keeps_discarded() => cache.forget(offset, len),
            Op::Discard | Op::Flush => {}
        }
    }

    /// The buffer of a slot of the first submitter.
    pub(crate) fn data(&self, slot: u16) -> Option<&[u8]> {
        self.slots.get(usize::from(slot)).map(|(_, buffer)| buffer.as_slice())
    }
}

/// Data of a piece that was written before anybody looked; no two are alike.
fn old(piece: u64) -> [u8; PIECE] {
    let mut bytes = [0; PIECE];
    let mut state = seed(piece);
    bytes.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&word(&mut state)));
    bytes
}

/// Seed of that data.
fn seed(piece: u64) -> u64 {
    piece ^ 0x6f6c_6420_6461_7461
}

/// The next eight bytes of it (SplitMix64).
fn word(state: &mut u64) -> [u8; 8] {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).to_le_bytes()
}

/// Turns one bit of each sector, the same one each time.
fn spoil(place: u64, data: &mut [u8]) {
    for (index, sector) in data.chunks_mut(PIECE).enumerate() {
        let number = place / PIECE as u64 + index as u64;
        let bit = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55;
        if let Some(byte) = sector.get_mut((bit / 8) as usize) {
            *byte ^= 1 << (bit % 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a piece that is written in part loses the rest, or what was forgotten comes back.
    #[test]
    fn what_is_written_is_kept_and_the_rest_is_zero() {
        let mut store = Store::default();
        store.write(1000, &[7; 600]);
        let mut seen = [1; 2048];
        store.read(0, &mut seen);
        assert!(seen[..1000].iter().all(|b| *b == 0) && seen[1600..].iter().all(|b| *b == 0));
        assert!(seen[1000..1600].iter().all(|b| *b == 7));
        store.forget(1024, 512);
        store.read(0, &mut seen);
        assert_eq!((seen[1023], seen[1024], seen[1535], seen[1536]), (7, 0, 0, 7));
    }

    /// Each sector holds its own number.
    struct Numbers;

    impl Payload for Numbers {
        fn fill(&mut self, offset: Bytes, buffer: &mut [u8]) {
            for (sector, out) in (offset.0 / 512..).zip(buffer.chunks_mut(512)) {
                out.fill(sector as u8);
            }
        }

        fn by_offset(&self) -> Option<Box<dyn Payload>> {
            Some(Box::new(Numbers))
        }
    }

    // Breaks when content that is made again differs from what was written, or covers what was written later.
    #[test]
    fn what_is_made_again_is_what_was_written() {
        let mut store = Store { sources: vec![Source(Box::new(Numbers))], ..Store::default() };
        store.make(0, 4096, 0, 512 * 100);
        store.make(4096, 4096, 0, 512 * 108);
        assert_eq!(store.made.len(), 1);
        store.write(1024, &[7; 1024]);
        store.forget(4096, 512);
        store.write(5000, &[9; 10]);
        store.make(7680, 1024, 0, 0);
        let mut seen = vec![1; 17 * 512];
        store.read(0, &mut seen);
        let firsts: Vec<u8> = seen.chunks(512).map(|sector| sector[0]).collect();
        let right = [100, 101, 7, 7, 104, 105, 106, 107, 0, 109, 110, 111, 112, 113, 114, 0, 1];
        assert_eq!(firsts, right);
        assert_eq!((seen[4999], seen[5000], seen[5009], seen[5010]), (109, 9, 9, 109));
        let mut part = [0; 700];
        store.read(300, &mut part);
        assert_eq!(part, seen[300..1000]);
    }
}
