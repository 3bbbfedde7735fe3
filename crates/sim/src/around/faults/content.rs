//! Location of the content of a virtual drive.

use block::Bytes;

use super::cache::{CacheRule, FakeCache};
use super::table::{Beyond, Faults};
use crate::around::ranges::Ranges;

/// Storage of the content of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is kept at this address of the medium; two addresses of the drive may share one there.
    At(Bytes),
    /// Writes are acknowledged and not kept: reads give the original content of the medium.
    Lost,
    /// It is kept at this address of the medium, and read back with wrong bits.
    Corrupt(Bytes),
}

/// Location of a drive's content: a pure function of the address, the same at all times.
///
/// The drive itself keeps none, since its timing does not depend on it; a program that serves a virtual
/// drive to other programs keeps the content, and looks up its location here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentMap {
    real: u64,
    beyond: Beyond,
    corrupt: Ranges,
    lost: Ranges,
    keeps_discarded: bool,
    /// Size of the write cache, and the address from which on it holds what is written.
    cache: (u64, u64),
}

impl ContentMap {
    /// The map of a drive that really holds `real` bytes.
    pub(crate) fn new(real: u64, faults: Option<&Faults>) -> ContentMap {
        let faults = faults.cloned().unwrap_or_default();
        let Faults { beyond, corrupt, lost, ignores_discard, cache_bytes, cache_rule, .. } = faults;
        let from = if cache_rule == CacheRule::All { 0 } else { real };
        let cache = (cache_bytes, from);
        ContentMap { real, beyond, corrupt, lost, keeps_discarded: ignores_discard, cache }
    }

    /// Returns the storage of the byte at `offset` of the drive.
    pub fn stored(&self, offset: Bytes) -> Stored {
        self.run(offset).0
    }

    /// Returns the storage of the byte at `offset`, and the count, at least one, of bytes from there on that are
    /// stored alike: those of [`Stored::At`] and [`Stored::Corrupt`] follow each other on the medium.
    pub fn run(&self, offset: Bytes) -> (Stored, Bytes) {
        let at = offset.0;
        let real = self.real.max(1);
        let wraps = real - at % real;
        let edge = self.corrupt.edge_after(at).min(self.lost.edge_after(at));
        let length = Bytes(wraps.min(edge - at));
        let within = |ranges: &Ranges| ranges.touch(at, at.saturating_add(1));
        let beyond = at >= real && self.beyond != Beyond::Wrap;
        let medium = Bytes(at % real);
        let stored = if beyond || within(&self.lost) {
            Stored::Lost
        } else if within(&self.corrupt) {
            Stored::Corrupt(medium)
        } else {
            Stored::At(medium)
        };
        (stored, length)
    }

    /// True when what was discarded is still there.
    pub fn keeps_discarded(&self) -> bool {
        self.keeps_discarded
    }

    /// The write cache, empty, for a caller that keeps content; `None` where the drive has none.
    pub fn cache(&self) -> Option<FakeCache> {
        let (bytes, from) = self.cache;
        (bytes > 0).then(|| FakeCache::new(bytes, from))
    }

    /// Size of the medium that content is kept on.
    pub fn medium_bytes(&self) -> Bytes {
        Bytes(self.real)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::around::ranges::Range;

    fn ranges(list: &[(u64, u64)]) -> Ranges {
        let range = |&(offset_bytes, length_bytes)| Range { offset_bytes, length_bytes };
        Ranges(list.iter().map(range).collect())
    }

    #[test]
    fn a_sound_drive_keeps_everything_in_its_place() {
        let map = ContentMap::new(1000, None);
        assert_eq!(map.run(Bytes(0)), (Stored::At(Bytes(0)), Bytes(1000)));
        assert_eq!(map.run(Bytes(999)), (Stored::At(Bytes(999)), Bytes(1)));
    }

    // Breaks when a server that walks a request by runs would skip or repeat a byte, or join what differs.
    #[test]
    fn runs_are_the_longest_stretches_of_what_is_told_byte_by_byte() {
        for beyond in [Beyond::Wrap, Beyond::Lose, Beyond::Fail] {
            let faults = Faults {
                beyond,
                corrupt: ranges(&[(10, 5), (12, 8), (150, 1)]),
                lost: ranges(&[(18, 4), (99, 2)]),
                ..Faults::default()
            };
            let map = ContentMap::new(100, Some(&faults));
            let mut at = 0;
            while at < 300 {
                let (first, Bytes(length)) = map.run(Bytes(at));
                assert!(length > 0);
                for step in 0..length {
                    let expected = match first {
                        Stored::At(Bytes(medium)) => Stored::At(Bytes(medium + step)),
                        Stored::Corrupt(Bytes(medium)) => Stored::Corrupt(Bytes(medium + step)),
                        Stored::Lost => Stored::Lost,
                    };
                    assert_eq!(map.stored(Bytes(at + step)), expected, "{at} + {step}");
                }
                at += length;
            }
            assert_eq!(map.stored(Bytes(14)), Stored::Corrupt(Bytes(14)));
            assert_eq!(map.stored(Bytes(19)), Stored::Lost, "what is lost cannot be corrupt");
            assert_eq!(map.stored(Bytes(100)), Stored::Lost, "both sides of the real end are lost");
            let told = map.stored(Bytes(250));
            match beyond {
                Beyond::Wrap => assert_eq!(told, Stored::At(Bytes(50))),
                Beyond::Lose | Beyond::Fail => assert_eq!(told, Stored::Lost),
            }
        }
    }
}
