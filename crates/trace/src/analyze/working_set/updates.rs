//! How soon blocks are written again.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use workload::rng::Mixed;

use crate::analyze::bins::{Bins, Power, Powers};
use crate::analyze::blocks::BLOCK;

/// Most blocks that are followed.
const BLOCKS_MAX: usize = 1 << 15;

/// Writes of blocks that had been written before, and the bytes and time between the two. These are `None` when no
/// block was written twice; percentiles are to 1 part in 32, rounded up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Updates {
    /// Blocks written, each as often as it was.
    pub block_writes: u64,
    /// Of these, writes of blocks that had been written before; `None` where that was not counted to the end.
    pub overwrites: Option<u64>,
    /// Share of the blocks that is followed, 1 or a half, a quarter, … The fields that follow are of these.
    pub rate: f64,
    /// Blocks that are followed.
    pub sampled_blocks: u64,
    /// Overwrites of these.
    pub sampled_overwrites: u64,
    /// Bytes written between two writes of a block, in whole blocks: 0 where it is written twice on end. Of a tenth of
    /// all overwrites it is no more.
    pub p10_bytes: Option<u64>,
    /// Of a half.
    pub p50_bytes: Option<u64>,
    /// Of nine tenths.
    pub p90_bytes: Option<u64>,
    /// Time between two writes of a block: of a tenth of all overwrites it is no more.
    pub p10_ns: Option<u64>,
    /// Of a half.
    pub p50_ns: Option<u64>,
    /// Of nine tenths.
    pub p90_ns: Option<u64>,
    /// Overwrites followed, by the bytes between the two writes, in powers of two.
    pub by_bytes: Vec<Power>,
    /// The same by the time between the two writes.
    pub by_ns: Vec<Power>,
}

/// The last write of a block.
#[derive(Clone, Copy, Debug)]
struct Write {
    /// Its number among all block writes.
    number: u64,
    at: u64,
}

/// Follows blocks from write to write: all, as long as there are no more than [`BLOCKS_MAX`], and then those whose key
/// has the lowest bits zero, of which a half is let go whenever there are too many. A block is followed from its first
/// write on, or not at all, so that no interval is cut short.
#[derive(Clone, Debug)]
pub(super) struct Rewrites {
    written: HashMap<u64, Write, Mixed>,
    /// How many bits must be zero.
    bits: u32,
    number: u64,
    overwrites: u64,
    between: Bins<5>,
    bytes: Powers,
    apart: Bins<5>,
    times: Powers,
}

impl Rewrites {
    pub fn new() -> Rewrites {
        Rewrites {
            written: HashMap::default(),
            bits: 0,
            number: 0,
            overwrites: 0,
            between: Bins::new(),
            bytes: Powers::default(),
            apart: Bins::new(),
            times: Powers::default(),
        }
    }

    #[inline]
    pub fn write(&mut self, key: u64, at: u64) {
        let number = self.number;
        self.number += 1;
        if key.trailing_zeros() < self.bits {
            return;
        }
        let Some(before) = self.written.insert(key, Write { number, at }) else {
            if self.written.len() > BLOCKS_MAX {
                self.thin();
            }
            return;
        };
        // Overwrites that were followed at a higher rate weigh less, so that all weigh as if all were followed.
        let weight = 1 << self.bits;
        let between = (number - before.number - 1).saturating_mul(BLOCK);
        let apart = at.saturating_sub(before.at);
        self.overwrites += 1;
        self.between.add_n(between, weight);
        self.bytes.add_n(between, weight);
        self.apart.add_n(apart, weight);
        self.times.add_n(apart, weight);
    }

    #[cold]
    fn thin(&mut self) {
        while self.written.len() > BLOCKS_MAX {
            self.bits += 1;
            let bits = self.bits;
            self.written.retain(|key, _| key.trailing_zeros() >= bits);
        }
    }

    pub fn finish(&self, overwrites: Option<u64>) -> Updates {
        Updates {
            block_writes: self.number,
            overwrites,
            rate: libm::exp2(-f64::from(self.bits)),
            sampled_blocks: self.written.len() as u64,
            sampled_overwrites: self.overwrites,
            p10_bytes: self.between.quantile(0.1),
            p50_bytes: self.between.quantile(0.5),
            p90_bytes: self.between.quantile(0.9),
            p10_ns: self.apart.quantile(0.1),
            p50_ns: self.apart.quantile(0.5),
            p90_ns: self.apart.quantile(0.9),
            by_bytes: self.bytes.list(),
            by_ns: self.times.list(),
        }
    }
}
