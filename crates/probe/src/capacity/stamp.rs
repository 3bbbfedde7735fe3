//! Stamps: sectors that contain their own address, so that one that is read elsewhere shows where it was written.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use block::{Bytes, Payload};
use workload::rng::Rng;

/// Unit of stamping: the least that a drive can write.
pub const SECTOR: u64 = 512;

/// Words of a sector.
const WORDS: usize = SECTOR as usize / 8;

/// Writes stamps. What a sector holds is a function of salt and offset alone.
#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    salt: u64,
}

/// Kind of content read from a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Its own stamp.
    Own,
    /// The stamp of another place, with the same salt.
    Of(u64),
    /// Neither.
    Other,
}

impl Stamps {
    /// Stamps of one trial; another salt makes other stamps of all places.
    pub fn new(salt: u64) -> Stamps {
        Stamps { salt }
    }

    fn sector(self, offset: u64) -> [u8; SECTOR as usize] {
        let mut rng = Rng::for_path(self.salt, &[offset]);
        let mut sector = [0; SECTOR as usize];
        let (words, _) = sector.as_chunks_mut::<8>();
        for (at, word) in words.iter_mut().enumerate().take(WORDS) {
            *word = match at {
                0 => self.salt,
                1 => offset,
                _ => rng.next_u64(),
            }
            .to_le_bytes();
        }
        sector
    }

    /// True when `sector`, read at `offset` where `original` belongs, holds nothing foreign: the original, a stamp of
    /// any place, or a mixture of its own stamp and the original, as an interrupted write leaves it.
    pub fn is_ours(self, offset: u64, sector: &[u8], original: &[u8]) -> bool {
        let own = self.sector(offset);
        let is_either = |at: usize| {
            let word = |bytes: &[u8]| bytes.get(at..at + 8).map(<[u8]>::to_vec);
            word(sector) == word(&own) || word(sector) == word(original)
        };
        sector == original
            || self.look(offset, sector) != Seen::Other
            || (0..sector.len()).step_by(8).all(is_either)
    }

    /// Classifies the content of `sector`, read at `offset`.
    pub fn look(self, offset: u64, sector: &[u8]) -> Seen {
        if sector == self.sector(offset) {
            return Seen::Own;
        }
        let word = |at: usize| {
            sector.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes)
        };
        match (word(0), word(8)) {
            (Some(salt), Some(of)) if salt == self.salt && sector == self.sector(of) => {
                Seen::Of(of)
            }
            _ => Seen::Other,
        }
    }
}

impl Payload for Stamps {
    fn fill(&mut self, offset: Bytes, buffer: &mut [u8]) {
        for (at, part) in buffer.chunks_mut(SECTOR as usize).enumerate() {
            let sector = self.sector(offset.0 + at as u64 * SECTOR);
            part.copy_from_slice(&sector[..part.len()]);
        }
    }

    fn by_offset(&self) -> Option<Box<dyn Payload>> {
        Some(Box::new(*self))
    }
}

/// Content of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Original {
    /// One byte over and over, as on drives that are fresh: takes no memory.
    Fill(u8, usize),
    /// Anything else.
    Data(Vec<u8>),
}

impl Original {
    /// Takes the content of a place.
    pub fn of(data: &[u8]) -> Original {
        match data.first() {
            Some(&first) if data.iter().all(|byte| *byte == first) => {
                Original::Fill(first, data.len())
            }
            _ => Original::Data(data.to_vec()),
        }
    }

    fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Original::Fill(byte, len) => Cow::Owned(vec![*byte; *len]),
            Original::Data(data) => Cow::Borrowed(data),
        }
    }

    fn len(&self) -> usize {
        match self {
            Original::Fill(_, len) => *len,
            Original::Data(data) => data.len(),
        }
    }
}

/// Original data of places, to be written back.
#[derive(Clone, Debug, Default)]
pub struct Kept(Arc<BTreeMap<u64, Original>>);

impl Kept {
    /// Keeps what was read, by offset.
    pub fn new(data: BTreeMap<u64, Original>) -> Kept {
        Kept(Arc::new(data))
    }

    /// Places kept, with their lengths.
    pub fn places(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(offset, data)| (*offset, data.len() as u64))
    }

    /// The data of each place, in the order of [`Kept::places`].
    pub fn pieces(&self) -> impl Iterator<Item = Cow<'_, [u8]>> {
        self.0.values().map(Original::bytes)
    }

    /// Original data of the place at `offset`.
    pub(super) fn at(&self, offset: u64) -> Option<Cow<'_, [u8]>> {
        self.0.get(&offset).map(Original::bytes)
    }
}

impl Payload for Kept {
    fn fill(&mut self, offset: Bytes, buffer: &mut [u8]) {
        let place = self.0.range(..=offset.0).next_back();
        let Some((start, original)) = place else { return };
        let from = (offset.0 - start) as usize;
        match original {
            Original::Fill(byte, len) if from + buffer.len() <= *len => buffer.fill(*byte),
            Original::Data(data) => {
                if let Some(data) = data.get(from..from + buffer.len()) {
                    buffer.copy_from_slice(data);
                }
            }
            Original::Fill(..) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a stamp is taken for that of its own place though it was written elsewhere or damaged: a fake drive
    // would pass.
    #[test]
    fn a_stamp_is_known_for_what_it_is() {
        let mut stamps = Stamps::new(7);
        let mut data = vec![0; 2048];
        stamps.fill(Bytes(4096), &mut data);
        assert_eq!(stamps.look(4096 + 512, &data[512..1024]), Seen::Own);
        assert_eq!(stamps.look(0, &data[512..1024]), Seen::Of(4608));
        assert_eq!(Stamps::new(8).look(4608, &data[512..1024]), Seen::Other);
        data[700] ^= 1;
        assert_eq!(stamps.look(4608, &data[512..1024]), Seen::Other);
        assert_eq!(stamps.look(0, &[0; 512]), Seen::Other);
    }

    // Breaks when a write that is prepared in pieces gets the wrong part of what was kept.
    #[test]
    fn what_was_kept_is_given_back_piece_by_piece() {
        let data: Vec<u8> = (0..8192_u32).map(|n| (n / 512) as u8).collect();
        let originals = [(1 << 20, Original::of(&data)), (0, Original::of(&[9; 1024]))];
        assert_eq!(originals[1].1, Original::Fill(9, 1024));
        let mut kept = Kept::new(BTreeMap::from(originals));
        assert_eq!(kept.places().collect::<Vec<_>>(), [(0, 1024), (1 << 20, 8192)]);
        let mut piece = vec![0; 4096];
        kept.fill(Bytes((1 << 20) + 4096), &mut piece);
        assert_eq!(piece, data[4096..]);
        kept.fill(Bytes(512), &mut piece[..512]);
        assert_eq!(piece[..513], [&[9; 512][..], &data[4608..4609]].concat());
    }
}
