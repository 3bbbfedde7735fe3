//! Blocks that are counted.

use serde::{Deserialize, Serialize};
use workload::rng::{GOLDEN, mix};

/// Size of the blocks that are counted: 4 KiB. A part of a block counts as the block.
pub const BLOCK: u64 = 4096;
pub(super) const BLOCK_SHIFT: u32 = BLOCK.trailing_zeros();

/// Different bytes, in whole blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distinct {
    /// Read.
    pub read_bytes: u64,
    /// Written.
    pub written_bytes: u64,
    /// Read or written.
    pub total_bytes: u64,
}

/// Returns the number by which [`key`] separates the blocks of an address space from those of others.
#[inline]
pub(super) fn salt(space: u32) -> u64 {
    mix(u64::from(space) + GOLDEN)
}

/// A block of an address space as one number, all of whose bits are as good as drawn by lot. Two blocks share theirs
/// once in 2^64: among a billion blocks, with a chance of 3%.
#[inline]
pub(super) fn key(salt: u64, block: u64) -> u64 {
    mix(salt ^ block)
}
