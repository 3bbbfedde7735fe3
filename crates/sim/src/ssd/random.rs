//! Solid-state drives drawn from a seed, for scoring what is inferred about them.

use super::model::{
    AreaModel, CollectionModel, LayoutModel, LinkModel, MappingModel, MemoryModel, NandModel,
    ProtocolModel, SlcModel, SsdModel, StateModel, WhenFullModel,
};
use crate::draw::Draw;
use crate::identity::{Identity, WriteCacheModel};
use crate::model::SCHEMA;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Keeps the stream that draws the drive apart from that of the drive's own noise.
const STREAM: u64 = 0x0073_7364;

/// Unit of mapping of all drawn drives, the usual one.
const MAP_BYTES: u64 = 4 * KIB;

/// Fewest blocks of a die: enough that one more or less hardly shows.
const BLOCKS_MIN: u64 = 40;

impl SsdModel {
    /// Draws a drive: geometry, cells, over-provisioning, policies, caches, times and noise. One seed gives
    /// one drive.
    ///
    /// Drives are small, 2 to 12 GiB, so that filling one several times takes seconds: what is inferred of a
    /// drive hangs on ratios. Over-provisioning is 7 to 50%, erase blocks of a die are 0.25 to 24 MiB,
    /// times are those of data sheets for 1 to 4 bits a cell.
    pub(crate) fn random(seed: u64) -> SsdModel {
        let mut draw = Draw::new(seed, STREAM);
        let nand = nand(&mut draw);
        let layout = layout(&mut draw, &nand);
        let slc = (nand.bits_per_cell > 1 && draw.percent(50)).then(|| slc(&mut draw, &layout));
        let memory = memory(&mut draw);
        SsdModel {
            schema: SCHEMA.to_owned(),
            kind: "ssd".to_owned(),
            name: "random-ssd".to_owned(),
            summary: "a solid-state drive drawn from the seed".to_owned(),
            identity: Identity {
                model: "drivescope random SSD".to_owned(),
                serial: Some(format!("{seed:020}")),
                temperature_c: None,
                withholds_cache: false,
            },
            layout,
            nand,
            slc,
            memory,
            link: link(&mut draw),
        }
    }
}

fn nand(draw: &mut Draw) -> NandModel {
    let bits = draw.one(&[1, 2, 2, 3, 3, 3, 3, 4]);
    // From the data sheets of such cells: the fastest page, and how much each further one takes.
    let (read, program, erase) = [(25, 200, 2), (50, 300, 3), (60, 450, 5), (90, 900, 8)][bits - 1];
    let mut next_read = draw.between(read, 3 * read / 2) * US;
    let mut next_program = draw.between(program, 3 * program / 2) * US;
    let (mut read_ns, mut program_ns) = (Vec::new(), Vec::new());
    for _ in 0..bits {
        read_ns.push(next_read);
        program_ns.push(next_program);
        next_read += draw.between(5, 30) * US;
        next_program = next_program * draw.between(12, 18) / 10;
    }
    let rows = draw.one(&[64, 96, 128, 192]);
    let (planes, page_bytes) =
        draw.one(&[(1, 4), (1, 8), (1, 16), (2, 8), (2, 16), (4, 4), (4, 8)]);
    // A block in single-bit mode must end with a page, so the count of pages is one of whole cells.
    let (bits, pages_per_block) = (bits as u32, rows * bits as u32);
    // No more dies than leave each of them its blocks.
    let block = page_bytes * KIB * u64::from(planes) * u64::from(pages_per_block);
    let most = (8 * GIB / (BLOCKS_MIN * block)) as u32;
    let channels = draw.one(&[1, 2, 4, 8]).min(most);
    NandModel {
        channels,
        dies_per_channel: draw.one(&[1, 2, 4]).min(most / channels),
        planes,
        page_bytes: page_bytes * KIB,
        pages_per_block,
        bits_per_cell: bits,
        read_ns,
        program_ns,
        erase_ns: draw.between(erase, 2 * erase) * MS,
        jitter_permille: draw.between(10, 120),
        spikes_per_million: draw.one(&[0, 10, 50, 300]),
        spike_ns: draw.scaled(MS / 2, 4),
        channel_bytes_per_s: draw.one(&[200, 333, 400, 800, 1_200]) * 1_000_000,
        copyback: draw.percent(15),
        reads_before_program: draw.one(&[1, 4, 16, 64]),
    }
}

fn layout(draw: &mut Draw, nand: &NandModel) -> LayoutModel {
    let dies = u64::from(nand.channels * nand.dies_per_channel);
    let block = nand.page_bytes * u64::from(nand.planes) * u64::from(nand.pages_per_block);
    let chunk_bytes = MAP_BYTES * draw.one(&[1, 4, 16]);
    let least = dies * block * draw.between(BLOCKS_MIN, 60);
    let wanted = GIB * draw.between(2, 4);
    let capacity = wanted.max(least);
    let collection = draw.one(&[
        CollectionModel::Greedy,
        CollectionModel::Greedy,
        CollectionModel::Fifo,
        CollectionModel::Choices,
    ]);
    LayoutModel {
        capacity_bytes: capacity - capacity % (dies * chunk_bytes),
        logical_block_bytes: 512,
        physical_block_bytes: MAP_BYTES,
        map_bytes: MAP_BYTES,
        mapping: MappingModel::Page,
        over_provisioning: draw.between(70, 500) as f64 / 1000.0,
        chunk_bytes,
        collection,
        choices: (collection == CollectionModel::Choices).then(|| draw.between(2, 10) as u32),
        state: draw.one(&[StateModel::Fresh, StateModel::Filled, StateModel::Steady]),
    }
}

fn slc(draw: &mut Draw, layout: &LayoutModel) -> SlcModel {
    SlcModel {
        area: draw.one(&[AreaModel::Static, AreaModel::Dynamic]),
        bytes: layout.capacity_bytes / 1000 * draw.between(20, 150),
        read_ns: draw.between(20, 30) * US,
        program_ns: draw.between(160, 300) * US,
        fold_bytes_per_s: draw.between(50, 500) * 1_000_000,
        idle_before_fold_ns: draw.between(100, 3_000) * MS,
        when_full: draw.one(&[WhenFullModel::Direct, WhenFullModel::Fold]),
    }
}

fn memory(draw: &mut Draw) -> MemoryModel {
    let write_back = draw.percent(85);
    MemoryModel {
        write_bytes: MIB * draw.one(&[1, 2, 4, 8, 16, 32, 64]),
        write_cache: if write_back {
            WriteCacheModel::WriteBack
        } else {
            WriteCacheModel::WriteThrough
        },
        power_loss_protection: draw.percent(25),
        page_register: draw.percent(50),
    }
}

fn link(draw: &mut Draw) -> LinkModel {
    if draw.percent(35) {
        return LinkModel {
            protocol: ProtocolModel::Sata,
            bytes_per_s: draw.one(&[270_000_000, 550_000_000]),
            command_ns: draw.between(5, 12) * US,
            command_jitter_ns: draw.between(200, 3_000),
            latency_ns: draw.between(15, 50) * US,
            queue_depth: 32,
        };
    }
    LinkModel {
        protocol: ProtocolModel::Nvme,
        bytes_per_s: draw.one(&[1_600_000_000, 3_360_000_000, 6_800_000_000]),
        command_ns: draw.between(700, 3_000),
        command_jitter_ns: draw.between(50, 600),
        latency_ns: draw.between(4, 15) * US,
        queue_depth: draw.one(&[64, 256, 1024]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_model::DeviceModel;

    // Breaks when some draw leaves the range that a drive can have: a score over many seeds would end at
    // the first of them.
    #[test]
    fn every_seed_gives_a_drive_that_can_be() {
        let (mut cached, mut steady) = (0, 0);
        for seed in 0..10_000 {
            let model = SsdModel::random(seed);
            assert_eq!(model.check(), Ok(()), "seed {seed}: {model:?}");
            let truth = model.truth();
            let op = truth.over_provisioning.unwrap();
            // Whole blocks, of which a die has at least forty, round it up.
            assert!((0.07..0.53).contains(&op), "seed {seed}: {op}");
            let block = truth.erase_block_bytes.unwrap().0;
            assert!((256 * KIB..=24 * MIB).contains(&block), "seed {seed}: {block}");
            let capacity = truth.real_capacity_bytes.unwrap().0;
            assert!((2 * GIB - GIB / 8..=12 * GIB).contains(&capacity), "seed {seed}: {capacity}");
            cached += u32::from(truth.slc_cache_bytes.is_some());
            steady += u32::from(truth.initial_state.as_deref() == Some("steady"));
        }
        // Binomial of 10,000: standard deviations 50 and 47.
        assert!((4_175..4_575).contains(&cached), "{cached} of 10000 have a cache");
        assert!((3_150..3_520).contains(&steady), "{steady} of 10000 begin steady");
    }

    #[test]
    fn one_seed_gives_one_drive() {
        let text = |seed| toml::to_string(&SsdModel::random(seed)).unwrap();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
        let read: SsdModel = toml::from_str(&text(7)).unwrap();
        assert_eq!(read, SsdModel::random(7), "a drawn drive can be kept as a file");
    }
}
