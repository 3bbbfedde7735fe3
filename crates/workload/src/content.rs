//! Content of writes: data that a drive or filesystem can neither compress nor store once, unless the
//! plan says so.
//!
//! Drives and filesystems that compress (zram, Btrfs, ZFS, older SSD controllers) or deduplicate write
//! less than they are given, and what is measured then is the processor.

use block::{Bytes, Payload};

use crate::plan::Content;
use crate::rng::{GOLDEN, Rng, mix, purpose};

/// Unit in which content is made unique: the smallest logical block.
const SECTOR: usize = 512;
/// Unit of [`Content`]'s knobs, and of the stores that compress or deduplicate.
const BLOCK: usize = 4096;
const SECTORS_PER_BLOCK: u64 = (BLOCK / SECTOR) as u64;
/// Words of the pool: 32 KiB, which stays in the first-level cache.
const POOL_WORDS: usize = 32 * 1024 / 8;
const POOL_SECTORS: u64 = (POOL_WORDS * 8 / SECTOR) as u64;
/// A repeated block is one of this many before it (4 MiB): recent enough to be still on the drive.
const REPEAT_WINDOW: u64 = 1024;

/// Content of the writes of one submitter.
///
/// Every 4 KiB block made gets the next number, and what it holds is a function of seed, submitter and
/// number alone. Sector `s` of a stream begins with a key, the image of (submitter, `s`) under a
/// bijection, so that no two sectors of a run are alike until a submitter has written 2^57 bytes; the
/// rest is a random pool, begun at a place that the key chooses, XORed with the key. The XOR leaves
/// no byte string in common between two sectors that use the same part of the pool.
///
/// Nothing is taken over from the buffer, which may hold anything, such as what a read left there.
/// Rejected for that reason: stamping a buffer that was filled once. Rejected too: drawing every word
/// at random, which leaves as little to find and takes three times as long.
pub struct SectorContent {
    pool: Box<[u64; POOL_WORDS]>,
    salt: u64,
    submitter: u64,
    /// Blocks made so far that repeat none.
    made: u64,
    /// Bytes of each sector that are not zero.
    kept: usize,
    dedup_percent: u64,
    repeats: Rng,
    /// [`SectorContent::made`] and [`SectorContent::repeats`] as they were at the mark.
    kept_state: (u64, Rng),
}

impl SectorContent {
    /// The content that `submitter` writes in the run with this `seed`.
    ///
    /// [`Content::compressible_percent`] of each sector is zero, at its end, rounded down to bytes and
    /// with 8 bytes left in any case. [`Content::dedup_percent`] of the blocks of 4 KiB, drawn at
    /// random, repeat one of the submitter's last 1,024 others; only whole blocks at multiples of
    /// 4 KiB on the target repeat, since a store that works in such blocks could not use any other.
    pub fn new(content: Content, seed: u64, submitter: u16) -> SectorContent {
        let path = [purpose::CONTENT, u64::from(submitter)];
        let mut rng = Rng::for_path(seed, &path);
        let zeros = SECTOR * usize::from(content.compressible_percent.min(100)) / 100;
        SectorContent {
            // One pool for the run would do, and one each keeps submitters off each other's cache lines.
            pool: Box::new(std::array::from_fn(|_| rng.next_u64())),
            // Not the submitter's own: the keys of all submitters are images under one bijection.
            salt: Rng::for_path(seed, &[purpose::CONTENT]).next_u64(),
            submitter: u64::from(submitter),
            made: 0,
            kept: (SECTOR - zeros).max(8),
            dedup_percent: u64::from(content.dedup_percent),
            kept_state: (0, rng.clone()),
            repeats: rng,
        }
    }

    /// Number of the block to write next: a new one, or one of the last.
    fn next_block(&mut self, may_repeat: bool) -> u64 {
        let repeat = may_repeat
            && self.dedup_percent > 0
            && self.made > 0
            && self.repeats.below(100) < self.dedup_percent;
        if repeat {
            return self.made - 1 - self.repeats.below(self.made.min(REPEAT_WINDOW));
        }
        self.made += 1;
        self.made - 1
    }

    #[inline]
    fn write_sector(&self, sector: u64, out: &mut [u8]) {
        let key = mix(((self.submitter << 48) | sector) ^ self.salt);
        // A product, since single bits of the key would tie the bytes that they are XORed into to the
        // place in the pool.
        let place = (u128::from(key.wrapping_mul(GOLDEN)) * u128::from(POOL_SECTORS)) >> 64;
        let from = place as usize * (SECTOR / 8);
        let source = &self.pool[from..from + SECTOR / 8];
        let kept = self.kept.min(out.len());
        let (data, zeros) = out.split_at_mut(kept);
        zeros.fill(0);
        let (words, rest) = data.as_chunks_mut::<8>();
        for (word, random) in words.iter_mut().zip(source) {
            *word = (random ^ key).to_le_bytes();
        }
        let tail = source.get(words.len()).map_or([0; 8], |random| (random ^ key).to_le_bytes());
        rest.copy_from_slice(&tail[..rest.len()]);
        if let Some(first) = words.first_mut() {
            *first = key.to_le_bytes();
        }
    }
}

impl Payload for SectorContent {
    fn fill(&mut self, offset: Bytes, buffer: &mut [u8]) {
        let aligned = offset.is_multiple_of(Bytes(BLOCK as u64));
        for block in buffer.chunks_mut(BLOCK) {
            let whole = aligned && block.len() == BLOCK;
            let number = self.next_block(whole);
            for (index, sector) in block.chunks_mut(SECTOR).enumerate() {
                self.write_sector(number * SECTORS_PER_BLOCK + index as u64, sector);
            }
        }
    }

    fn mark(&mut self) {
        self.kept_state = (self.made, self.repeats.clone());
    }

    fn rewind(&mut self) {
        let (made, repeats) = self.kept_state.clone();
        (self.made, self.repeats) = (made, repeats);
    }
}
