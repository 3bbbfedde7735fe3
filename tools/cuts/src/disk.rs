//! A disk's content, and what a power cut leaves of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::log::{Entry, Log};

/// Unit that the medium writes whole or not at all: the physical sector of today's drives.
pub const SECTOR_BYTES: u64 = 4096;

/// The content of a disk. Sectors that were never written are zeros and take no memory; copies share what
/// they have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    sectors: BTreeMap<u64, Arc<[u8]>>,
}

impl Disk {
    /// Writes `data` at `offset_bytes`.
    pub fn write(&mut self, offset_bytes: u64, data: &[u8]) {
        for (sector, within, piece) in pieces(offset_bytes, data) {
            let old = self.sectors.get(&sector);
            let mut new = old.map_or_else(zeros, |old| old.to_vec());
            new[within..within + piece.len()].copy_from_slice(piece);
            self.sectors.insert(sector, new.into());
        }
    }

    /// Makes zeros of a range.
    pub fn discard(&mut self, offset_bytes: u64, len_bytes: u64) {
        let end = offset_bytes.saturating_add(len_bytes);
        let (first, last) = (offset_bytes / SECTOR_BYTES, end.div_ceil(SECTOR_BYTES));
        let known: Vec<u64> = self.sectors.range(first..last).map(|(sector, _)| *sector).collect();
        for sector in known {
            let begin = sector * SECTOR_BYTES;
            let (from, to) = (offset_bytes.max(begin), end.min(begin + SECTOR_BYTES));
            if to - from == SECTOR_BYTES {
                self.sectors.remove(&sector);
            } else {
                self.write(from, &zeros()[..(to - from) as usize]);
            }
        }
    }

    /// Reads into `data` from `offset_bytes`.
    pub fn read(&self, offset_bytes: u64, data: &mut [u8]) {
        let len = data.len() as u64;
        let mut done = 0;
        while done < len {
            let at = offset_bytes + done;
            let within = at % SECTOR_BYTES;
            let step = (SECTOR_BYTES - within).min(len - done);
            let to = &mut data[done as usize..(done + step) as usize];
            match self.sectors.get(&(at / SECTOR_BYTES)) {
                Some(sector) => to.copy_from_slice(&sector[within as usize..][..to.len()]),
                None => to.fill(0),
            }
            done += step;
        }
    }

    /// Does what an entry says, as if nothing were cached.
    pub fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Write { offset_bytes, data, .. } => self.write(*offset_bytes, data),
            Entry::Discard { offset_bytes, len_bytes } => self.discard(*offset_bytes, *len_bytes),
            Entry::Flush | Entry::Mark(_) => {}
        }
    }

    /// Writes it to a new file of `len_bytes`, with holes where nothing was written.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn save(&self, path: &Path, len_bytes: u64) -> io::Result<()> {
        let file = File::create(path)?;
        file.set_len(len_bytes)?;
        let mut held = self.sectors.iter();
        held.try_for_each(|(sector, data)| file.write_all_at(data, sector * SECTOR_BYTES))
    }
}

fn zeros() -> Vec<u8> {
    vec![0; SECTOR_BYTES as usize]
}

/// `data` as it lies in sectors: sector, offset within it, piece.
fn pieces(offset_bytes: u64, data: &[u8]) -> impl Iterator<Item = (u64, usize, &[u8])> {
    let mut rest = data;
    let mut at = offset_bytes;
    std::iter::from_fn(move || {
        let within = at % SECTOR_BYTES;
        let step = rest.len().min((SECTOR_BYTES - within) as usize);
        let (piece, later) = rest.split_at(step);
        let sector = at / SECTOR_BYTES;
        rest = later;
        at += step as u64;
        (step > 0).then_some((sector, within as usize, piece))
    })
}

/// Fate of the sectors in the disk's cache when the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cached {
    /// None reached the medium.
    Lost,
    /// All did.
    Kept,
    /// Each did or did not, by a coin.
    Some,
}

impl Cached {
    /// All of them.
    pub const ALL: [Cached; 3] = [Cached::Lost, Cached::Some, Cached::Kept];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Cached::Lost => "lost",
            Cached::Kept => "kept",
            Cached::Some => "kept by a coin",
        }
    }
}

/// A power cut: after this many entries of a log, with this fate of what was in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    /// Entries that took effect before.
    pub entries: usize,
    /// Fate of the cached sectors.
    pub cached: Cached,
}

/// A log that is replayed from its beginning towards its end.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    log: &'a Log,
    /// Durable content of the medium.
    medium: Disk,
    /// Entries that were replayed.
    done: usize,
    /// Those of them since the last flush, in order: in the cache, but for forced writes.
    cached: Vec<&'a Entry>,
}

impl<'a> Replay<'a> {
    /// Before the first entry.
    pub fn new(log: &'a Log) -> Replay<'a> {
        Replay { log, medium: Disk::default(), done: 0, cached: Vec::new() }
    }

    /// Returns the disk as `cut` leaves it. Cuts must be requested in the order of the log; one that lies
    /// before an earlier one is made where that was.
    pub fn disk_after(&mut self, cut: Cut, seed: u64) -> Disk {
        while self.done < cut.entries.min(self.log.entries.len()) {
            self.step(&self.log.entries[self.done]);
            self.done += 1;
        }
        let mut disk = self.medium.clone();
        let mut coin = Xoshiro256PlusPlus::seed_from_u64(seed ^ cut.entries as u64);
        for entry in &self.cached {
            match cut.cached {
                Cached::Some if !is_forced(entry) => apply_some(&mut disk, entry, &mut coin),
                Cached::Lost if !is_forced(entry) => {}
                _ => disk.apply(entry),
            }
        }
        disk
    }

    /// Bytes of writes that a cut now could lose.
    pub fn cached_bytes(&self) -> u64 {
        let bytes = |entry: &&Entry| match entry {
            Entry::Write { data, fua: false, .. } => data.len() as u64,
            _ => 0,
        };
        self.cached.iter().map(bytes).sum()
    }

    fn step(&mut self, entry: &'a Entry) {
        match entry {
            Entry::Flush => {
                self.cached.drain(..).for_each(|entry| self.medium.apply(entry));
            }
            // A forced write, too, so that it stays behind what is older and of the same place.
            Entry::Write { .. } | Entry::Discard { .. } => self.cached.push(entry),
            Entry::Mark(_) => {}
        }
    }
}

/// True when nothing that happens can undo it.
fn is_forced(entry: &Entry) -> bool {
    matches!(entry, Entry::Write { fua: true, .. })
}

fn apply_some(disk: &mut Disk, entry: &Entry, coin: &mut Xoshiro256PlusPlus) {
    match entry {
        Entry::Write { offset_bytes, data, .. } => {
            let mut at = *offset_bytes;
            for (_, _, piece) in pieces(*offset_bytes, data) {
                if coin.next_u64() >> 63 == 1 {
                    disk.write(at, piece);
                }
                at += piece.len() as u64;
            }
        }
        // A discard promises nothing; the drive did it or not.
        entry if coin.next_u64() >> 63 == 1 => disk.apply(entry),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use proptest::prelude::*;

    use super::*;

    fn write(offset_bytes: u64, byte: u8, len: usize) -> Entry {
        Entry::Write { offset_bytes, data: vec![byte; len], fua: false }
    }

    fn byte(disk: &Disk, at: u64) -> u8 {
        let mut one = [0];
        disk.read(at, &mut one);
        one[0]
    }

    fn after(log: &Log, entries: usize, cached: Cached) -> Disk {
        Replay::new(log).disk_after(Cut { entries, cached }, 7)
    }

    // The heart of it: a replay that keeps what was never flushed finds no loss, whatever the program does.
    #[test]
    fn only_what_was_flushed_or_forced_survives_for_certain() {
        let forced = Entry::Write { offset_bytes: 8192, data: vec![3; 4096], fua: true };
        let entries = vec![write(0, 1, 4096), Entry::Flush, write(0, 2, 4096), forced];
        let log = Log { entries };
        let bytes = |entries, cached| {
            let disk = after(&log, entries, cached);
            (byte(&disk, 0), byte(&disk, 8192))
        };
        assert_eq!(bytes(1, Cached::Lost), (0, 0));
        assert_eq!(bytes(1, Cached::Kept), (1, 0));
        assert_eq!(bytes(2, Cached::Lost), (1, 0));
        assert_eq!(bytes(3, Cached::Lost), (1, 0));
        assert_eq!(bytes(4, Cached::Lost), (1, 3), "a forced write overtakes a cached one");
        assert_eq!(bytes(4, Cached::Kept), (2, 3));
    }

    #[test]
    fn a_forced_write_is_not_undone_by_an_older_one_of_the_same_place() {
        let forced = Entry::Write { offset_bytes: 0, data: vec![2; 512], fua: true };
        let log = Log { entries: vec![write(0, 1, 4096), forced] };
        for cached in Cached::ALL {
            assert_eq!(byte(&after(&log, 2, cached), 0), 2, "{cached:?}");
        }
    }

    #[test]
    fn a_coin_leaves_some_sectors_and_never_half_a_one() {
        let log = Log { entries: vec![write(0, 1, 4096 * 64)] };
        let disk = after(&log, 1, Cached::Some);
        let kept = (0..64).filter(|n| byte(&disk, n * SECTOR_BYTES) == 1).count();
        assert!((10..=54).contains(&kept), "{kept}");
        for sector in 0..64 {
            let mut data = vec![9; 4096];
            disk.read(sector * SECTOR_BYTES, &mut data);
            assert!(data.iter().all(|byte| *byte == data[0]), "sector {sector} is torn");
        }
        assert_eq!(disk, after(&log, 1, Cached::Some), "the same cut leaves the same disk");
    }

    #[test]
    fn a_replay_that_goes_on_is_one_from_the_beginning() {
        let entries = (0..40u8)
            .flat_map(|n| {
                let flush = (n % 7 == 6).then_some(Entry::Flush);
                [Some(write(u64::from(n % 5) * 3000, n + 1, 3000)), flush].into_iter().flatten()
            })
            .collect();
        let log = Log { entries };
        let mut going = Replay::new(&log);
        for entries in 0..=log.entries.len() {
            for cached in Cached::ALL {
                let disk = going.disk_after(Cut { entries, cached }, 7);
                assert_eq!(disk, after(&log, entries, cached), "{entries} {cached:?}");
            }
        }
        assert_eq!(after(&log, log.entries.len(), Cached::Kept).sectors.len(), 4);
    }

    proptest! {
        // Against bytes in a row: whatever lies across sectors, and reads of what was never written.
        #[test]
        fn a_disk_holds_what_was_written(
            steps in prop::collection::vec((0u64..60_000, 0usize..9_000, any::<u8>(), any::<bool>()), 0..30)
        ) {
            let mut disk = Disk::default();
            let mut bytes = vec![0u8; 70_000];
            for (at, len, byte, is_discard) in steps {
                let byte = if is_discard { 0 } else { byte };
                bytes[at as usize..at as usize + len].fill(byte);
                if is_discard {
                    disk.discard(at, len as u64);
                } else {
                    disk.write(at, &vec![byte; len]);
                }
            }
            let mut read = vec![1u8; 70_000];
            disk.read(0, &mut read);
            prop_assert!(read == bytes);
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("image");
            disk.save(&path, 70_000 + SECTOR_BYTES).unwrap();
            let saved = std::fs::read(&path).unwrap();
            prop_assert!(saved[..70_000] == bytes && saved.len() == 74_096);
        }
    }
}
