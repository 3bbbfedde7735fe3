//! Sizes that follow from a model: in units of mapping, rows of pages and blocks.

use super::ftl;
use super::model::{AreaModel, CollectionModel, MappingModel, SsdModel, StateModel, WhenFullModel};

/// Location of a unit of mapping by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) die: u32,
    /// Number of the unit on its die.
    pub(super) unit: u32,
}

/// A drive in units of mapping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) map_bytes: u64,
    /// The same as a power of two.
    pub(super) map_shift: u32,
    pub(super) dies: u32,
    pub(super) channels: u32,
    chunk_units: u32,
    /// Units of a page of all planes: what is read and programmed at once.
    pub(super) row_units: u32,
    pub(super) rows_per_block: u32,
    pub(super) bits: u32,
    /// The log of each die.
    pub(super) log: ftl::Shape,
    /// Blocks of a die in single-bit mode that can be filled at full speed.
    slc_blocks: u32,
    /// Units that can be addressed on a die.
    units: u32,
    is_log: bool,
}

impl Shape {
    /// The shape of a model whose single values were checked; sums of them may still be too large for what
    /// counts them ([`Shape::fits`]).
    pub(super) fn of(model: &SsdModel) -> Shape {
        let (layout, nand) = (&model.layout, &model.nand);
        let dies = nand.channels * nand.dies_per_channel;
        let chunk_units = layout.chunk_bytes / layout.map_bytes;
        let row_units = nand.page_bytes * u64::from(nand.planes) / layout.map_bytes;
        let chunks = (layout.capacity_bytes / layout.map_bytes).div_ceil(chunk_units);
        let units = chunks.div_ceil(u64::from(dies)) * chunk_units;
        let units_per_block = row_units * u64::from(nand.pages_per_block);
        let net = (units as f64 * (1.0 + layout.over_provisioning)).ceil() as u64;
        let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let slots = row_units * u64::from(nand.pages_per_block / nand.bits_per_cell);
        let slc_block_bytes = slots * layout.map_bytes * u64::from(dies);
        let slc_blocks = model.slc.as_ref().map_or(0, |slc| slc.bytes.div_ceil(slc_block_bytes));
        let slc = model.slc.as_ref().map(|slc| {
            // One more fills while another is folded.
            let more = u64::from(slc.when_full == WhenFullModel::Fold);
            ftl::SlcShape {
                blocks: narrow(slc_blocks + more),
                units_per_block: narrow(slots),
                is_static: slc.area == AreaModel::Static,
            }
        });
        Shape {
            map_bytes: layout.map_bytes,
            map_shift: layout.map_bytes.trailing_zeros(),
            dies,
            channels: nand.channels,
            chunk_units: narrow(chunk_units),
            row_units: narrow(row_units),
            rows_per_block: nand.pages_per_block,
            bits: nand.bits_per_cell,
            log: ftl::Shape {
                units: narrow(units),
                data_blocks: narrow(net.div_ceil(units_per_block)),
                units_per_block: narrow(units_per_block),
                slc,
            },
            slc_blocks: narrow(slc_blocks),
            units: narrow(units),
            is_log: layout.mapping == MappingModel::Page,
        }
    }

    /// True when all slots of a die can be numbered; the two highest numbers mean something else.
    pub(super) fn fits(&self) -> bool {
        let set_aside = self.log.slc.map_or(0, |slc| slc.blocks);
        let blocks = u64::from(self.log.data_blocks) + u64::from(set_aside) + 16;
        blocks * u64::from(self.log.units_per_block) < u64::from(u32::MAX)
    }

    /// Returns the location of `unit`, counted over the whole drive.
    #[inline]
    pub(super) fn place(&self, unit: u64) -> Place {
        // 2^32 units of at least 512 bytes: `fits` holds for each die, and a drive has no more than this.
        let unit = unit as u32;
        let (chunk, within) = (unit / self.chunk_units, unit % self.chunk_units);
        Place { die: chunk % self.dies, unit: chunk / self.dies * self.chunk_units + within }
    }

    /// Over-provisioning as it is, with whole blocks.
    pub(super) fn over_provisioning(&self) -> f64 {
        let slots = f64::from(self.log.data_blocks) * f64::from(self.log.units_per_block);
        slots / f64::from(self.units) - 1.0
    }

    /// Data that fits into the single-bit part of all dies as the drive begins: blocks that are not set aside can be
    /// lent only where they are free.
    pub(super) fn slc_bytes(&self, state: ftl::InitialState) -> Option<u64> {
        let slc = self.log.slc.filter(|_| self.is_log)?;
        let lent = if slc.is_static { u32::MAX } else { self.log.blocks_to_lend(state) };
        let slots = u64::from(self.slc_blocks.min(lent)) * u64::from(slc.units_per_block);
        Some(slots * u64::from(self.dies) * self.map_bytes)
    }
}

/// The policy of a model.
pub(super) fn collection(model: &SsdModel) -> ftl::Collection {
    match model.layout.collection {
        CollectionModel::Greedy => ftl::Collection::Greedy,
        CollectionModel::Fifo => ftl::Collection::Fifo,
        CollectionModel::Choices => ftl::Collection::Choices(model.layout.choices.unwrap_or(1)),
    }
}

/// The initial state of a model.
pub(super) fn initial(model: &SsdModel) -> ftl::InitialState {
    match model.layout.state {
        StateModel::Fresh => ftl::InitialState::Fresh,
        StateModel::Filled => ftl::InitialState::Filled,
        StateModel::Steady => ftl::InitialState::Steady,
    }
}
