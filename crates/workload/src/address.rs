//! Offsets and lengths of transfers.

use block::{Bytes, Op};
use serde::{Deserialize, Serialize};

use crate::plan::Phase;
use crate::units;

/// Pattern of offsets, which are multiples of the block size from the region's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "pattern", rename_all = "snake_case", deny_unknown_fields)]
pub enum Address {
    /// One block after the other, around and around, from a block drawn from the seed.
    Sequential {
        /// How submitters share the region.
        #[serde(default)]
        share: Share,
    },
    /// Uniform over the block-size slots, each draw independent.
    Random,
    /// One block after the other, around and around, from a given block: goes on where an earlier phase ended. All
    /// submitters take from one cursor.
    Onward {
        /// Blocks from the region's beginning.
        from: u64,
    },
    /// Each block once a pass, in a new random order for each pass. All submitters take from one cursor.
    Permutation {
        /// The orders' own, so that a phase can go on with those of another.
        seed: u64,
        /// Blocks that earlier phases have taken, over all passes.
        #[serde(default)]
        from: u64,
        /// Every pass has the order of the first: what a random map does whose generator begins each pass with the
        /// same seed. For a drive that writes out of place this is a sequential overwrite.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        replayed: bool,
    },
    /// One block after the other at a distance of its own, from the region's beginning, and back to where it began when
    /// the next block would not fit.
    Strided {
        /// From one offset to the next.
        #[serde(with = "units::bytes")]
        stride: Bytes,
        /// From where one submitter begins to where the next one does.
        #[serde(default, with = "units::bytes")]
        apart: Bytes,
        /// Owner of each cursor.
        cursors: Cursors,
    },
    /// Uniform over the multiples of a distance at which a block fits, each draw independent.
    Aligned {
        /// The distance, from the region's beginning.
        #[serde(with = "units::bytes")]
        align: Bytes,
        /// Every submitter draws what the others draw: the defect of a tester that gives all of them one seed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        alike: bool,
    },
    /// Uniform within parts of the region, which have shares of the accesses of their own: hot and cold data.
    Zoned {
        /// The parts, from the region's beginning to its end.
        zones: [Zone; 3],
    },
}

/// How submitters share a region that is read or written sequentially.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// Each has a part of its own, with one cursor for its whole queue.
    #[default]
    Partition,
    /// All take from one cursor.
    Cursor,
}

/// Owner of each cursor of [`Address::Strided`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cursors {
    /// A submitter, from what it issued last.
    #[default]
    Submitter,
    /// All submitters, from what any of them issued last.
    Shared,
    /// Each place in a submitter's queue, from what completed there: so that each block is transferred as often as
    /// the queue is deep. The defect of a tester that takes the next offset from the I/O that has completed.
    Slot,
}

/// A part of a region with its share of the accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Share of the region, in percent.
    pub space_percent: u8,
    /// Share of the accesses, in percent.
    pub access_percent: u8,
}

/// A size of transfers with its share of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockShare {
    /// The size.
    #[serde(with = "units::bytes")]
    pub block: Bytes,
    /// Share of the transfers, 1–100.
    pub percent: u8,
}

impl Address {
    /// True when all submitters take their blocks from one cursor, one by one.
    pub fn is_shared(&self) -> bool {
        match self {
            Address::Sequential { share } => *share == Share::Cursor,
            Address::Strided { cursors, .. } => *cursors == Cursors::Shared,
            Address::Onward { .. } | Address::Permutation { .. } => true,
            Address::Random | Address::Aligned { .. } | Address::Zoned { .. } => false,
        }
    }

    /// True when an address depends on the place in the queue that it is for.
    pub fn is_by_slot(&self) -> bool {
        matches!(self, Address::Strided { cursors: Cursors::Slot, .. })
    }

    /// True when the next address is drawn and not the one after the last.
    pub fn is_random(&self) -> bool {
        match self {
            Address::Random | Address::Aligned { .. } => true,
            Address::Permutation { .. } | Address::Zoned { .. } => true,
            Address::Sequential { .. } | Address::Onward { .. } | Address::Strided { .. } => false,
        }
    }

    /// Places at which a block of a phase in `length` bytes may lie, where they have a distance of their own.
    pub fn places(&self, length: Bytes, block: Bytes) -> Option<u64> {
        let distance = match self {
            Address::Strided { stride, .. } => *stride,
            Address::Aligned { align, .. } => *align,
            _ => return None,
        };
        let room = length.0.checked_sub(block.0);
        Some(room.map_or(0, |room| room / distance.0.max(1) + 1))
    }

    /// True when distances of its own are whole blocks, so that blocks can be counted.
    pub fn is_in_blocks(&self, block: Bytes) -> bool {
        match self {
            Address::Strided { stride, apart, .. } => {
                stride.is_multiple_of(block) && apart.is_multiple_of(block)
            }
            Address::Aligned { align, .. } => align.is_multiple_of(block),
            _ => true,
        }
    }
}

/// Transfers of this size and of its multiples lie on its multiples in a mix of sizes: the page of most systems.
const PAGE: Bytes = Bytes(4096);

/// Alignment of a transfer of `len` in a mix of sizes: 4 KiB if `len` is a multiple of it, otherwise the
/// smallest size.
pub(crate) fn grain(len: Bytes, smallest: Bytes) -> Bytes {
    if len.is_multiple_of(PAGE) { PAGE } else { smallest }
}

/// Checks the addresses and sizes of `phase`; an error has the field, and what to write instead.
pub(crate) fn check(phase: &Phase) -> Result<(), (&'static str, String)> {
    if let Address::Zoned { zones } = phase.address {
        let sum = |of: fn(&Zone) -> u8| zones.iter().map(|z| u32::from(of(z))).sum::<u32>();
        let (space, access) = (sum(|z| z.space_percent), sum(|z| z.access_percent));
        if (space, access) != (100, 100) {
            let what = format!(
                "the zones have {space} percent of the region and {access} percent of the accesses; each must add up to 100"
            );
            return Err(("address", what));
        }
        if zones.iter().any(|z| z.space_percent == 0 && z.access_percent > 0) {
            return Err(("address", "a zone without space cannot be accessed".to_owned()));
        }
    }
    match phase.address {
        Address::Strided { stride: Bytes::ZERO, .. } => {
            return Err((
                "address.stride",
                "from 0 bytes nothing goes on; write such as 1MiB".to_owned(),
            ));
        }
        Address::Strided { cursors: Cursors::Shared, apart, .. } if apart > Bytes::ZERO => {
            let what = "submitters that share a cursor begin at one place; leave it out";
            return Err(("address.apart", what.to_owned()));
        }
        Address::Aligned { align: Bytes::ZERO, .. } => {
            return Err((
                "address.align",
                "nothing is a multiple of 0; write such as 4KiB".to_owned(),
            ));
        }
        _ => {}
    }
    check_blocks(phase)
}

/// Checks that this many submitters can use the addresses of `phase` in `length` bytes of a target with this logical block.
pub(crate) fn fit(
    phase: &Phase,
    submitters: u16,
    length: Bytes,
    logical: Bytes,
) -> Result<(), (&'static str, String)> {
    let distances = match phase.address {
        Address::Strided { stride, apart, .. } => {
            [("address.stride", stride), ("address.apart", apart)]
        }
        Address::Aligned { align, .. } => [("address.align", align); 2],
        _ => return Ok(()),
    };
    if let Some((field, bytes)) = distances.iter().find(|(_, d)| !d.is_multiple_of(logical)) {
        return Err((field, format!("{bytes} is not a multiple of the logical block, {logical}")));
    }
    let Address::Strided { apart, .. } = phase.address else { return Ok(()) };
    let last = apart.0.checked_mul(u64::from(submitters.saturating_sub(1)));
    let end = last.and_then(|begin| begin.checked_add(phase.block.0));
    if end.is_none_or(|end| end > length.0) {
        let what = format!("the last of {submitters} submitters would begin beyond {length}");
        return Err(("address.apart", format!("{what}; take fewer, or a shorter distance")));
    }
    Ok(())
}

fn check_blocks(phase: &Phase) -> Result<(), (&'static str, String)> {
    if phase.blocks.is_empty() {
        return Ok(());
    }
    let wrong = |what: String| Err(("blocks", what));
    let total: u32 = phase.blocks.iter().map(|share| u32::from(share.percent)).sum();
    if total != 100 || phase.blocks.iter().any(|share| share.percent == 0) {
        return wrong(format!(
            "the shares add up to {total} percent; each must be at least 1 and all together 100"
        ));
    }
    let largest = phase.blocks.iter().map(|share| share.block).max().unwrap_or_default();
    if largest != phase.block || phase.blocks.iter().any(|share| share.block == Bytes::ZERO) {
        return wrong(format!("block has to be the largest of them, {largest}, and none may be 0"));
    }
    if !matches!(phase.address, Address::Random | Address::Zoned { .. }) {
        return wrong("several sizes go with random or zoned addresses only".to_owned());
    }
    if phase.ops.iter().any(|share| !matches!(share.op, Op::Read | Op::Write)) {
        return wrong("several sizes go with reads and writes only".to_owned());
    }
    Ok(())
}
