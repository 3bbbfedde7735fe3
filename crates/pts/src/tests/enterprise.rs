//! Sizes and hot data of the enterprise composite.

use block::Bytes;
use workload::address::{Address, BlockShare, Zone};

/// Sizes of the composite in bytes, with their shares in percent (JESD219, the enterprise workload).
pub(super) const SIZES: [(u64, u8); 12] = [
    (512, 4),
    (1024, 1),
    (1536, 1),
    (2048, 1),
    (2560, 1),
    (3072, 1),
    (3584, 1),
    (4096, 67),
    (8192, 10),
    (16384, 7),
    (32768, 3),
    (65536, 3),
];

/// Hot and cold data of the composite: half of the accesses to a twentieth of the range.
pub(crate) const COMPOSITE_ZONES: Address = Address::Zoned {
    zones: [
        Zone { space_percent: 5, access_percent: 50 },
        Zone { space_percent: 15, access_percent: 30 },
        Zone { space_percent: 80, access_percent: 20 },
    ],
};

/// The composite's sizes for a drive whose smallest transfer is `smallest`: what is not a multiple of it becomes 4 KiB.
pub(crate) fn composite_blocks(smallest: Bytes) -> Vec<BlockShare> {
    let mut shares: Vec<BlockShare> = Vec::new();
    for (bytes, percent) in SIZES {
        let block = if bytes % smallest.0 == 0 { Bytes(bytes) } else { Bytes::kib(4) };
        match shares.iter_mut().find(|share| share.block == block) {
            Some(share) => share.percent += percent,
            None => shares.push(BlockShare { block, percent }),
        }
    }
    shares
}
