//! Blocks that have been read and written: a bit for each, or sketches where there are too many.

use std::collections::HashMap;

use workload::rng::Mixed;

use crate::analyze::blocks::{BLOCK, Distinct, key, salt};
use crate::analyze::sketch::Sketch;

/// Most chunks.
pub(super) const CHUNKS_MAX: usize = 1 << 17;
/// Blocks of a chunk: 16 MiB.
const CHUNK: u64 = 4096;
const WORDS: usize = (CHUNK / 64) as usize;

/// Different blocks, to 0.8%.
type All = Sketch<14>;

pub(super) fn error() -> f64 {
    All::error()
}

/// Bits of the blocks read and written.
#[derive(Clone, Debug)]
struct Chunk {
    read: [u64; WORDS],
    written: [u64; WORDS],
}

#[derive(Clone, Debug)]
pub(super) struct Touched {
    chunks_max: usize,
    /// By space and number of the chunk.
    places: HashMap<(u32, u64), usize, Mixed>,
    chunks: Vec<Chunk>,
    /// Chunk of the last access: the next one is often there too.
    last: Option<((u32, u64), usize)>,
    /// Blocks read, written, and either.
    read: u64,
    written: u64,
    total: u64,
    /// Block writes to blocks that had been written.
    rewritten: u64,
    sketches: Option<Box<(All, All)>>,
}

impl Touched {
    pub fn new(chunks_max: usize) -> Touched {
        Touched {
            chunks_max,
            places: HashMap::default(),
            chunks: Vec::new(),
            last: None,
            read: 0,
            written: 0,
            total: 0,
            rewritten: 0,
            sketches: None,
        }
    }

    /// True when blocks are not counted one by one any more.
    pub fn estimates(&self) -> bool {
        self.sketches.is_some()
    }

    /// Block writes to blocks that had been written; `None` where they were not counted to the end.
    pub fn rewritten(&self) -> Option<u64> {
        (!self.estimates()).then_some(self.rewritten)
    }

    /// Notes an access to the blocks from `first` to `last`; returns how many of them were not touched before. Once
    /// there is no room left, nothing is noted and bits become sketches.
    #[inline]
    pub fn touch(&mut self, space: u32, first: u64, last: u64, write: bool) -> u64 {
        if self.estimates() {
            return 0;
        }
        let mut fresh = 0;
        for chunk in first / CHUNK..=last / CHUNK {
            let Some(place) = self.place((space, chunk)) else {
                self.give_up();
                return fresh;
            };
            let from = first.max(chunk * CHUNK) % CHUNK;
            let to = if last / CHUNK == chunk { last % CHUNK } else { CHUNK - 1 };
            fresh += self.set(place, from as usize, to as usize, write);
        }
        fresh
    }

    #[inline]
    fn place(&mut self, chunk: (u32, u64)) -> Option<usize> {
        if let Some((_, place)) = self.last.filter(|(last, _)| *last == chunk) {
            return Some(place);
        }
        let next = self.chunks.len();
        let place = match self.places.get(&chunk) {
            Some(place) => *place,
            None if next == self.chunks_max => return None,
            None => {
                self.chunks.push(Chunk { read: [0; WORDS], written: [0; WORDS] });
                self.places.insert(chunk, next);
                next
            }
        };
        self.last = Some((chunk, place));
        Some(place)
    }

    /// Sets bits `from..=to` of a chunk, a word at a time; returns how many blocks were new.
    #[inline]
    fn set(&mut self, place: usize, from: usize, to: usize, write: bool) -> u64 {
        let chunk = &mut self.chunks[place];
        let (mut fresh, mut first, mut again) = (0, 0, 0);
        for word in from / 64..=to / 64 {
            let low = if word == from / 64 { from % 64 } else { 0 };
            let high = if word == to / 64 { to % 64 } else { 63 };
            let mask = (u64::MAX >> (63 - high)) & (u64::MAX << low);
            let (read, written) = (&mut chunk.read[word], &mut chunk.written[word]);
            fresh += (mask & !(*read | *written)).count_ones();
            let bits = if write { written } else { read };
            first += (mask & !*bits).count_ones();
            again += (mask & *bits).count_ones();
            *bits |= mask;
        }
        self.total += u64::from(fresh);
        if write {
            self.written += u64::from(first);
            self.rewritten += u64::from(again);
        } else {
            self.read += u64::from(first);
        }
        u64::from(fresh)
    }

    /// Sketches of what the bits say, instead of the bits.
    #[cold]
    fn give_up(&mut self) {
        let mut sketches = Box::new((All::default(), All::default()));
        for ((space, chunk), place) in std::mem::take(&mut self.places) {
            let salt = salt(space);
            let bits = &self.chunks[place];
            for block in 0..CHUNK {
                let (word, bit) = ((block / 64) as usize, block % 64);
                let number = key(salt, chunk * CHUNK + block);
                if bits.read[word] >> bit & 1 == 1 {
                    sketches.0.add(number);
                }
                if bits.written[word] >> bit & 1 == 1 {
                    sketches.1.add(number);
                }
            }
        }
        self.chunks = Vec::new();
        self.last = None;
        self.sketches = Some(sketches);
    }

    /// Notes an access in the sketches.
    pub fn sketch(&mut self, salt: u64, first: u64, last: u64, write: bool) {
        if let Some(sketches) = &mut self.sketches {
            let sketch = if write { &mut sketches.1 } else { &mut sketches.0 };
            (first..=last).for_each(|block| sketch.add(key(salt, block)));
        }
    }

    pub fn distinct(&self) -> Distinct {
        let (read, written, total) = match &self.sketches {
            None => (self.read, self.written, self.total),
            Some(sketches) => {
                let mut both = sketches.0.clone();
                both.merge(&sketches.1);
                (sketches.0.count(), sketches.1.count(), both.count())
            }
        };
        Distinct {
            read_bytes: read.saturating_mul(BLOCK),
            written_bytes: written.saturating_mul(BLOCK),
            total_bytes: total.saturating_mul(BLOCK),
        }
    }
}
