//! Content of a drive that does not keep what it is given.

use block::{Bytes, Errno};
use sim::{ContentMap, FakeCache, Stored};

use super::Content;

/// Fate of the content of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is kept at this address of the medium, which another address may share.
    At(u64),
    /// Writes are acknowledged and not kept: reads give zeros, as of a medium never written.
    Lost,
    /// It is kept at this address of the medium, and read back with wrong bits.
    Corrupt(u64),
}

/// Fate of content on a drive: a function of the address alone.
pub(crate) trait Fates: Send {
    /// Returns the fate of the byte at `offset`, and the count of bytes from there on that share it, where kept at
    /// consecutive addresses. At least one.
    fn run(&self, offset: u64) -> (Fate, u64);

    /// True when what is discarded stays.
    fn keeps_discarded(&self) -> bool {
        false
    }

    /// The write cache that hides what is not kept; `None` where there is none.
    fn cache(&self) -> Option<FakeCache> {
        None
    }
}

impl Fates for ContentMap {
    fn run(&self, offset: u64) -> (Fate, u64) {
        let (stored, Bytes(len)) = ContentMap::run(self, Bytes(offset));
        let fate = match stored {
            Stored::At(Bytes(place)) => Fate::At(place),
            Stored::Lost => Fate::Lost,
            Stored::Corrupt(Bytes(place)) => Fate::Corrupt(place),
        };
        (fate, len)
    }

    fn keeps_discarded(&self) -> bool {
        ContentMap::keeps_discarded(self)
    }

    fn cache(&self) -> Option<FakeCache> {
        ContentMap::cache(self)
    }
}

/// A store behind a drive that spoils content.
pub(crate) struct Faulty<F> {
    fates: F,
    cache: Option<FakeCache>,
    store: Box<dyn Content>,
}

/// Of each of these, one bit is read wrongly: the unit in which a drive checks and corrects.
const SECTOR: u64 = 512;

impl<F: Fates> Faulty<F> {
    pub(crate) fn new(fates: F, store: Box<dyn Content>) -> Faulty<F> {
        Faulty { cache: fates.cache(), fates, store }
    }

    /// Calls `each` with every part of a range: its fate, where in the range it begins, and its length.
    fn parts(
        &mut self,
        offset: u64,
        len: u64,
        mut each: impl FnMut(&mut dyn Content, Fate, u64, u64) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let mut done = 0;
        while done < len {
            let (fate, run) = self.fates.run(offset + done);
            let count = run.clamp(1, len - done);
            each(self.store.as_mut(), fate, done, count)?;
            done += count;
        }
        Ok(())
    }
}

/// Turns the wrong bits of `data`, which lies at `place` of the medium: the same ones each time.
fn spoil(place: u64, data: &mut [u8]) {
    let end = place + data.len() as u64;
    for sector in place / SECTOR..end.div_ceil(SECTOR) {
        // Bits of the golden ratio's multiples lie well spread (Knuth's multiplicative hash).
        let spread = sector.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
        let at = sector * SECTOR + spread / 8;
        if (place..end).contains(&at) {
            data[(at - place) as usize] ^= 1 << (spread % 8);
        }
    }
}

impl<F: Fates> Content for Faulty<F> {
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.parts(offset, into.len() as u64, |store, fate, at, len| {
            let part = &mut into[at as usize..(at + len) as usize];
            match fate {
                Fate::At(place) => store.read(place, part)?,
                Fate::Lost => part.fill(0),
                Fate::Corrupt(place) => {
                    store.read(place, part)?;
                    spoil(place, part);
                }
            }
            Ok(())
        })?;
        if let Some(cache) = &self.cache {
            cache.read(offset, into);
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.parts(offset, data.len() as u64, |store, fate, at, len| match fate {
            Fate::At(place) | Fate::Corrupt(place) => {
                store.write(place, &data[at as usize..(at + len) as usize])
            }
            Fate::Lost => Ok(()),
        })?;
        if let Some(cache) = &mut self.cache {
            cache.write(offset, data);
        }
        Ok(())
    }

    fn discard(&mut self, offset: u64, len: u64) -> Result<(), Errno> {
        if self.fates.keeps_discarded() {
            return Ok(());
        }
        self.parts(offset, len, |store, fate, _, len| match fate {
            Fate::At(place) | Fate::Corrupt(place) => store.discard(place, len),
            Fate::Lost => Ok(()),
        })?;
        if let Some(cache) = &mut self.cache {
            cache.forget(offset, len);
        }
        Ok(())
    }

    fn held(&self) -> Bytes {
        self.store.held()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Memory;

    /// 64 KiB that claim to be more: the second half of what is claimed is lost, and 4 KiB are bad.
    struct Fake;

    impl Fates for Fake {
        fn run(&self, offset: u64) -> (Fate, u64) {
            const REAL: u64 = 64 << 10;
            match offset {
                ..8192 => (Fate::At(offset), 8192 - offset),
                8192..12288 => (Fate::Corrupt(offset), 12288 - offset),
                12288..REAL => (Fate::At(offset), REAL - offset),
                REAL.. if offset < 2 * REAL => (Fate::At(offset - REAL), 2 * REAL - offset),
                _ => (Fate::Lost, u64::MAX - offset),
            }
        }
    }

    // Breaks when a fake drive keeps all of its claimed capacity, so that a fake-capacity test finds nothing.
    #[test]
    fn content_wraps_is_lost_and_is_altered() {
        let mut content = Faulty::new(Fake, Box::new(Memory::new(Bytes::mib(1))));
        let data: Vec<u8> = (0..128_u32 << 10).map(|i| (i / 512 % 251) as u8).collect();
        content.write(64 << 10, &data).unwrap();
        let mut seen = vec![1; 192 << 10];
        content.read(0, &mut seen).unwrap();
        let wrong = |range: std::ops::Range<usize>, of: &[u8]| -> u32 {
            seen[range].iter().zip(of).map(|(a, b)| (a ^ b).count_ones()).sum()
        };
        // Data written above the real end is found below it.
        assert_eq!(wrong(0..8192, &data), 0);
        assert_eq!(wrong(12288..65536, &data[12288..]), 0);
        assert_eq!(wrong(65536..131_072, &data), 0);
        assert!(seen[131_072..].iter().all(|b| *b == 0), "the rest was not kept");
        // One wrong bit in each sector, and the same in a read that begins elsewhere.
        assert_eq!(wrong(8192..12288, &data[8192..]), 8);
        let mut part = vec![0; 1000];
        content.read(9001, &mut part).unwrap();
        assert!(part == seen[9001..10001]);
        content.discard(0, 4096).unwrap();
        content.read(64 << 10, &mut part).unwrap();
        assert_eq!(part, [0; 1000]);
    }
}
