//! Drawing addresses where zones have shares of their own, or sizes are mixed.

use block::Bytes;

use crate::address::{Zone, grain};
use crate::plan::{Address, Phase};
use crate::rng::Rng;

/// Zone and size for each hundredth of the accesses.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    /// `[begin, end)` of the zone, in bytes on the target.
    zones: [(u64, u64); 100],
    /// Length, and what its offsets are multiples of, from the region's beginning.
    sizes: [(u64, u64); 100],
    base: u64,
}

impl Draw {
    /// None for a phase that needs none. `base` and `length` are the phase's part of the target.
    pub(super) fn new(phase: &Phase, (base, length): (u64, u64)) -> Option<Draw> {
        let zones = match phase.address {
            Address::Zoned { zones } => zones,
            Address::Random if !phase.blocks.is_empty() => {
                [Zone { space_percent: 100, access_percent: 100 }, Zone::default(), Zone::default()]
            }
            _ => return None,
        };
        let smallest = phase.sizes().min().unwrap_or(phase.block);
        let mut sizes = [(phase.block.0, phase.block.0); 100];
        let by_share = phase
            .blocks
            .iter()
            .flat_map(|share| std::iter::repeat_n(share.block, usize::from(share.percent)));
        for (size, block) in sizes.iter_mut().zip(by_share) {
            *size = (block.0, grain(block, smallest).0.max(1));
        }
        Some(Draw { zones: by_hundredth(&zones, (base, length), phase.block.0), sizes, base })
    }

    /// The next place and length. A size that does not fit into a zone goes to the zone's beginning.
    #[inline]
    pub(super) fn next(&self, rng: &mut Rng) -> (Bytes, Bytes) {
        let (begin, end) = self.zones[rng.below(100) as usize];
        let (len, grain) = self.sizes[rng.below(100) as usize];
        let first = (begin - self.base).div_ceil(grain);
        let last = (end - self.base).saturating_sub(len) / grain;
        let at = first + rng.below(last.saturating_sub(first) + 1);
        (Bytes(self.base + at * grain), Bytes(len))
    }
}

/// Zones end on whole blocks, and each has one at least.
fn by_hundredth(zones: &[Zone; 3], (base, length): (u64, u64), block: u64) -> [(u64, u64); 100] {
    let blocks = length.checked_div(block).unwrap_or(0);
    let mut of_access = [(base, base + length); 100];
    let (mut space, mut access) = (0, 0);
    for zone in zones {
        let cut = |percent: u64| (u128::from(blocks) * u128::from(percent) / 100) as u64;
        let from = cut(space).min(blocks.saturating_sub(1));
        space += u64::from(zone.space_percent);
        let to = cut(space).clamp(from + 1, blocks.max(from + 1));
        let share = usize::from(zone.access_percent);
        for place in of_access.iter_mut().skip(access).take(share) {
            *place = (base + from * block, base + (to * block).min(length));
        }
        access += share;
    }
    of_access
}
