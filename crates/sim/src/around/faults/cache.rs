//! The write cache of a fake drive: it hides for a while that there is nothing behind an address.

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};

/// Unit of caching: the least that a drive can write.
const SECTOR: u64 = 512;

/// Writes that the cache of a fake drive holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheRule {
    /// Those beyond its real end.
    #[default]
    Beyond,
    /// All of them.
    All,
}

/// The last sectors written, as far as the rule lets them in; those written first leave first.
#[derive(Debug)]
pub struct FakeCache {
    /// Addresses from here on are held.
    from: u64,
    sectors: usize,
    held: HashMap<u64, (u64, Box<[u8; SECTOR as usize]>)>,
    /// Numbers of sectors with the count of writes when they came; outdated where a sector was written again.
    order: VecDeque<(u64, u64)>,
    writes: u64,
}

impl FakeCache {
    /// A cache of `bytes` for addresses from `from` on.
    pub(super) fn new(bytes: u64, from: u64) -> FakeCache {
        let sectors = (bytes / SECTOR) as usize;
        FakeCache { from, sectors, held: HashMap::new(), order: VecDeque::new(), writes: 0 }
    }

    /// Takes in what is written. Whole sectors only: no drive takes less.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        let (sectors, _) = data.as_chunks::<{ SECTOR as usize }>();
        for (number, sector) in (offset / SECTOR..).zip(sectors) {
            if number * SECTOR < self.from {
                continue;
            }
            self.writes += 1;
            self.held.insert(number, (self.writes, Box::new(*sector)));
            self.order.push_back((number, self.writes));
            while self.held.len() > self.sectors {
                let Some((oldest, written)) = self.order.pop_front() else { break };
                if self.held.get(&oldest).is_some_and(|(last, _)| *last == written) {
                    self.held.remove(&oldest);
                }
            }
            if self.order.len() > 2 * self.sectors + 1024 {
                let held = &self.held;
                self.order.retain(|(number, written)| {
                    held.get(number).is_some_and(|(last, _)| last == written)
                });
            }
        }
    }

    /// Puts over `into`, which was read at `offset`, what is held of it.
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        if self.held.is_empty() {
            return;
        }
        let (sectors, _) = into.as_chunks_mut::<{ SECTOR as usize }>();
        for (number, sector) in (offset / SECTOR..).zip(sectors) {
            if let Some((_, held)) = self.held.get(&number) {
                *sector = **held;
            }
        }
    }

    /// Forgets a range that was discarded.
    pub fn forget(&mut self, offset: u64, len: u64) {
        let (first, last) = (offset.div_ceil(SECTOR), (offset + len) / SECTOR);
        self.held.retain(|number, _| !(first..last).contains(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a fake's cache holds more or less than it says, or lets go of what was written last.
    #[test]
    fn the_last_sectors_written_are_held() {
        let mut cache = FakeCache::new(4 * SECTOR, 2048);
        let seen = |cache: &FakeCache, at: u64| {
            let mut sector = [0; 512];
            cache.read(at, &mut sector);
            sector[0]
        };
        cache.write(0, &[1; 8 * 512]);
        assert_eq!([1536, 2048, 3584].map(|at| seen(&cache, at)), [0, 1, 1]);
        cache.write(2048, &[2; 512]);
        cache.write(8192, &[3; 2 * 512]);
        let held = [2048, 2560, 3072, 3584, 8192, 8704].map(|at| seen(&cache, at));
        assert_eq!(held, [2, 0, 0, 1, 3, 3], "what was written again stays longer");
        cache.forget(8192, 512);
        assert_eq!([8192, 8704].map(|at| seen(&cache, at)), [0, 3]);
    }
}
