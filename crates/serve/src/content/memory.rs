//! Content in memory, as sparse as it was written.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use block::{Bytes, Errno};

use super::{Content, ENOSPC};

/// Unit of storing. That of the smallest common write, or random writes would take a multiple of their
/// size.
const CHUNK: usize = 4096;

/// Memory of a chunk beside its bytes: its place in the map, rounded up.
const OVERHEAD: u64 = 64;

/// A part of the drive that is not all zeros.
#[derive(Debug)]
enum Chunk {
    /// One byte over and over, as testers like to write: takes no memory.
    Fill(u8),
    /// The patterns of f3, which writes all of a drive.
    Chains(Box<Chains>),
    /// Anything else.
    Data(Box<[u8; CHUNK]>),
}

impl Chunk {
    fn bytes(&self) -> u64 {
        match self {
            Chunk::Fill(_) => OVERHEAD,
            Chunk::Chains(_) => size_of::<Chains>() as u64 + OVERHEAD,
            Chunk::Data(_) => CHUNK as u64 + OVERHEAD,
        }
    }
}

/// The first two words of each sector, from which f3 makes the others: the offset and, for f3probe, a salt.
type Chains = [[u64; 2]; CHUNK / SECTOR];

const SECTOR: usize = 512;

/// The word after `word` in a sector of f3 (`random_number` in its `libutils.h`).
fn next(word: u64) -> u64 {
    word.wrapping_mul(4_294_967_311).wrapping_add(17)
}

/// The chains of a chunk that f3 wrote.
fn chains(whole: &[u8; CHUNK]) -> Option<Box<Chains>> {
    let mut chains = [[0; 2]; CHUNK / SECTOR];
    for (sector, chain) in whole.as_chunks::<SECTOR>().0.iter().zip(&mut chains) {
        let mut words = sector.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        *chain = [words.next()?, words.next()?];
        let mut last = chain[1];
        let follows = |word: u64| {
            last = next(last);
            word == last
        };
        if !words.all(follows) {
            return None;
        }
    }
    Some(Box::new(chains))
}

/// Results that [`chains`] was made of.
fn unchain(chains: &Chains) -> [u8; CHUNK] {
    let mut whole = [0; CHUNK];
    for (sector, &[first, second]) in whole.as_chunks_mut::<SECTOR>().0.iter_mut().zip(chains) {
        let words = std::iter::once(first)
            .chain(std::iter::successors(Some(second), |word| Some(next(*word))));
        for (word, out) in words.zip(sector.as_chunks_mut::<8>().0) {
            *out = word.to_le_bytes();
        }
    }
    whole
}

/// Content in memory, up to a limit.
#[derive(Debug)]
pub(crate) struct Memory {
    chunks: HashMap<u64, Chunk>,
    held_bytes: u64,
    limit_bytes: u64,
}

impl Memory {
    /// Nothing written yet, and at most `limit` to be kept.
    pub(crate) fn new(limit: Bytes) -> Memory {
        Memory { chunks: HashMap::new(), held_bytes: 0, limit_bytes: limit.0 }
    }

    /// Replaces the chunk at `index`; `None` is zeros.
    fn put(&mut self, index: u64, chunk: Option<Chunk>) -> Result<(), Errno> {
        let before = self.chunks.get(&index).map_or(0, Chunk::bytes);
        let after = chunk.as_ref().map_or(0, Chunk::bytes);
        let held = self.held_bytes - before + after;
        if after > before && held > self.limit_bytes {
            return Err(ENOSPC);
        }
        self.held_bytes = held;
        match chunk {
            Some(chunk) => self.chunks.insert(index, chunk),
            None => self.chunks.remove(&index),
        };
        Ok(())
    }

    /// Writes a part of one chunk.
    fn patch(&mut self, index: u64, at: usize, data: &[u8]) -> Result<(), Errno> {
        if let Entry::Occupied(mut entry) = self.chunks.entry(index)
            && let Chunk::Data(kept) = entry.get_mut()
            && data.len() < CHUNK
        {
            kept[at..at + data.len()].copy_from_slice(data);
            return Ok(());
        }
        let mut whole = [0; CHUNK];
        match self.chunks.get(&index) {
            Some(Chunk::Fill(byte)) => whole.fill(*byte),
            Some(Chunk::Chains(chains)) => whole = unchain(chains),
            Some(Chunk::Data(kept)) => whole.copy_from_slice(&kept[..]),
            None => {}
        }
        whole[at..at + data.len()].copy_from_slice(data);
        self.put(index, pack(&whole))
    }
}

/// The smallest form of a chunk; `None` when it is all zeros.
fn pack(whole: &[u8; CHUNK]) -> Option<Chunk> {
    let first = whole[0];
    match whole.iter().all(|&byte| byte == first) {
        true if first == 0 => None,
        true => Some(Chunk::Fill(first)),
        false => Some(match chains(whole) {
            Some(chains) => Chunk::Chains(chains),
            None => Chunk::Data(Box::new(*whole)),
        }),
    }
}

/// Cuts a range at the bounds of chunks: (chunk, where in it, count of bytes).
fn parts(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let place = offset + done as u64;
        let at = (place % CHUNK as u64) as usize;
        let count = (CHUNK - at).min(len - done);
        done += count;
        (count > 0).then_some((place / CHUNK as u64, at, count))
    })
}

impl Content for Memory {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        let mut rest = into;
        for (index, at, count) in parts(offset, rest.len()) {
            let (part, after) = rest.split_at_mut(count);
            match self.chunks.get(&index) {
                Some(Chunk::Fill(byte)) => part.fill(*byte),
                Some(Chunk::Chains(chains)) => {
                    part.copy_from_slice(&unchain(chains)[at..at + count]);
                }
                Some(Chunk::Data(kept)) => part.copy_from_slice(&kept[at..at + count]),
                None => part.fill(0),
            }
            rest = after;
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        let mut rest = data;
        for (index, at, count) in parts(offset, data.len()) {
            let (part, after) = rest.split_at(count);
            self.patch(index, at, part)?;
            rest = after;
        }
        Ok(())
    }

    fn discard(&mut self, offset: u64, len: u64) -> Result<(), Errno> {
        let end = offset + len;
        let (first, last) = (offset.div_ceil(CHUNK as u64), end / CHUNK as u64);
        if first > last {
            // Within one chunk.
            return self.write(offset, &vec![0; len as usize]);
        }
        self.write(offset, &vec![0; (first * CHUNK as u64 - offset) as usize])?;
        self.write(last * CHUNK as u64, &vec![0; (end - last * CHUNK as u64) as usize])?;
        // By whichever is less: the places of the range, or what is kept.
        if last - first <= self.chunks.len() as u64 {
            for index in first..last {
                self.put(index, None)?;
            }
        } else {
            self.chunks.retain(|index, _| !(first..last).contains(index));
            self.held_bytes = self.chunks.values().map(Chunk::bytes).sum();
        }
        Ok(())
    }

    fn held(&self) -> Bytes {
        Bytes(self.held_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SPACE: usize = 8 * CHUNK;

    #[derive(Clone, Debug)]
    enum Step {
        Write(usize, usize, u8, bool),
        Discard(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let range = (0..SPACE, 0..3 * CHUNK);
        prop_oneof![
            (range.clone(), any::<u8>(), any::<bool>())
                .prop_map(|((at, len), byte, mixed)| Step::Write(at, len, byte, mixed)),
            range.prop_map(|(at, len)| Step::Discard(at, len)),
        ]
    }

    proptest! {
        // Breaks when a chunk's bound, a fill or a discard makes the drive forget or invent a byte.
        #[test]
        fn it_reads_as_a_plain_array_does(steps in prop::collection::vec(step(), 1..40)) {
            let mut plain = vec![0_u8; SPACE];
            let mut memory = Memory::new(Bytes::mib(1));
            for step in steps {
                match step {
                    Step::Write(at, len, byte, mixed) => {
                        let end = (at + len).min(SPACE);
                        for (i, b) in plain[at..end].iter_mut().enumerate() {
                            *b = if mixed { byte.wrapping_add(i as u8) } else { byte };
                        }
                        memory.write(at as u64, &plain[at..end]).unwrap();
                    }
                    Step::Discard(at, len) => {
                        let end = (at + len).min(SPACE);
                        plain[at..end].fill(0);
                        memory.discard(at as u64, (end - at) as u64).unwrap();
                    }
                }
                let mut seen = vec![1; SPACE];
                memory.read(0, &mut seen).unwrap();
                prop_assert!(seen == plain);
                let counted: u64 = memory.chunks.values().map(Chunk::bytes).sum();
                prop_assert_eq!(memory.held(), Bytes(counted));
            }
        }
    }

    // Breaks when zeros and fills take memory: a wiped drive of terabytes would not fit any machine.
    #[test]
    fn zeros_take_nothing_and_fills_next_to_nothing() {
        let mut memory = Memory::new(Bytes::mib(1));
        memory.write(0, &vec![0; 4 << 20]).unwrap();
        assert_eq!(memory.held(), Bytes::ZERO);
        memory.write(0, &vec![0x5a; 4 << 20]).unwrap();
        assert_eq!(memory.held(), Bytes(1024 * OVERHEAD));
        memory.discard(0, 1 << 60).unwrap();
        assert_eq!(memory.held(), Bytes::ZERO);
    }

    // Breaks when what f3 writes takes the memory of a drive, or comes back otherwise.
    #[test]
    fn what_f3_writes_takes_little() {
        // As f3write writes it: each sector begins with its offset.
        let sector = |offset: u64| {
            std::iter::successors(Some(offset), |word| Some(next(*word)))
                .take(SECTOR / 8)
                .flat_map(u64::to_le_bytes)
        };
        let mut data: Vec<u8> = (0..2048).flat_map(|n| sector(n * 512)).collect();
        let mut memory = Memory::new(Bytes::mib(2));
        memory.write(0, &data).unwrap();
        assert_eq!(memory.held(), Bytes(256 * (128 + OVERHEAD)));
        memory.write(5000, &[1; 10]).unwrap();
        data[5000..5010].fill(1);
        assert_eq!(memory.held(), Bytes(255 * (128 + OVERHEAD) + CHUNK as u64 + OVERHEAD));
        let mut seen = vec![0; 10_000];
        memory.read(0, &mut seen).unwrap();
        assert!(seen == data[..10_000]);
        memory.read(513, &mut seen[..700]).unwrap();
        assert!(seen[..700] == data[513..1213]);
    }

    // Breaks when the limit does not hold, or when data within it can no longer be overwritten.
    #[test]
    fn the_limit_is_one_and_what_is_kept_can_be_written_again() {
        let mut memory = Memory::new(Bytes::kib(64));
        let mixed: Vec<u8> = (0..=255).cycle().take(CHUNK).collect();
        let fits = (64 << 10) / (CHUNK as u64 + OVERHEAD);
        for index in 0..fits {
            memory.write(index * CHUNK as u64, &mixed).unwrap();
        }
        assert_eq!(memory.write(fits * CHUNK as u64, &mixed), Err(ENOSPC));
        let mut other = mixed.clone();
        other.reverse();
        memory.write(0, &other).unwrap();
        memory.discard(0, CHUNK as u64).unwrap();
        memory.write(fits * CHUNK as u64, &mixed).unwrap();
    }
}
