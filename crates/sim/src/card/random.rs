//! Cards drawn from a seed, for scoring what is inferred about them.

use super::model::{
    CardModel, CellModel, CrossingModel, FatModel, GeometryModel, InitialState, LinkModel,
    LogModel, MergeModel, ReadModel, WriteModel,
};
use crate::draw::Draw;
use crate::identity::Identity;
use crate::model::SCHEMA;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Keeps the stream that draws the card apart from that of the card's own noise.
const STREAM: u64 = 0x6361_7264;

impl CardModel {
    /// Draws a card: geometry, cells, policies, times and noise. One seed gives one card.
    ///
    /// Ranges are those of the cards that flashbench's tables were published of: erase blocks of 1 to
    /// 24 MiB, a third of them 3 x 2^k; pages of 4 to 32 KiB; reads of 1 KiB in 0.3 to 2.2 ms. One in
    /// ten is a modern card, whose reads show nothing.
    pub(crate) fn random(seed: u64) -> CardModel {
        let mut draw = Draw::new(seed, STREAM);
        let geometry = geometry(&mut draw);
        let flat = draw.percent(10);
        let bits = draw.one(&[1, 2, 2, 2, 2, 2, 3, 3, 3, 3]);
        let cells = cells(&mut draw, &geometry, bits, flat);
        let read = read(&mut draw, &geometry, flat);
        let link = link(&mut draw, read.command_ns);
        let write = write(&mut draw, &geometry, &cells, &link);
        let fat = draw.percent(40).then(|| fat(&mut draw, &geometry));
        let log = draw.percent(15).then(|| log(&mut draw, &geometry));
        CardModel {
            schema: SCHEMA.to_owned(),
            kind: "card".to_owned(),
            name: "random-card".to_owned(),
            summary: "a card or stick drawn from the seed".to_owned(),
            identity: Identity {
                model: "drivescope random card".to_owned(),
                serial: Some(format!("{seed:020}")),
                temperature_c: None,
                withholds_cache: false,
            },
            geometry,
            link,
            cells,
            read,
            write,
            fat,
            log,
        }
    }
}

fn geometry(draw: &mut Draw) -> GeometryModel {
    let erase_block_bytes = MIB * draw.one(&[1, 2, 3, 4, 4, 6, 8, 8, 12, 16, 24]);
    let page_bytes = KIB * draw.one(&[4, 8, 16, 32]);
    let nominal = (1 << 30) * draw.one(&[1, 2, 4, 8, 16, 32]);
    // Some of the cells are the card's own.
    let capacity = nominal / 1000 * draw.between(900, 990);
    GeometryModel {
        capacity_bytes: capacity - capacity % erase_block_bytes,
        logical_block_bytes: 512,
        erase_block_bytes,
        page_bytes,
        planes: draw.one(&[1, 2]),
        state: InitialState::Filled,
    }
}

fn link(draw: &mut Draw, command: u64) -> LinkModel {
    LinkModel {
        queue_depth: 1,
        bytes_per_s: draw.one(&[12_500_000, 20_000_000, 25_000_000, 35_000_000, 43_000_000]),
        pipelined: draw.percent(50),
        // Half a percent of a read's time to six.
        jitter_ns: command * draw.between(5, 60) / 1000,
        spike_ppm: draw.one(&[0, 200, 1_000, 5_000]),
        spike_ns: draw.scaled(MS, 4),
        discard: draw.percent(50),
    }
}

fn cells(draw: &mut Draw, geometry: &GeometryModel, bits: u64, flat: bool) -> CellModel {
    let mut read = draw.between(25, 30) * US * (1 + bits) / 2;
    let mut program = draw.between(200, 300) * US * (1 + bits) / 2;
    let (mut read_ns, mut program_ns) = (Vec::new(), Vec::new());
    for _ in 0..bits {
        read_ns.push(read);
        program_ns.push(program);
        read += if flat { 0 } else { draw.between(25, 60) * US };
        program = program * draw.between(18, 25) / 10;
    }
    // Planes that cost the same leave no trace of their own: the boundary between their pages is then, to the
    // nanosecond, a crossing inside one larger page; no measurement can find it, so it must not be scored.
    let uneven = geometry.planes == 2 && !flat;
    CellModel {
        levels: 1 << bits,
        run_groups: draw.one(&[1, 2]),
        read_ns,
        program_ns,
        erase_ns: draw.between(2, 10) * MS,
        plane_ns: if uneven { vec![draw.between(10, 60) * US, 0] } else { Vec::new() },
        codeword_bytes: draw.one(&[512, 1024]),
        codeword_ns: if flat { 0 } else { draw.between(2, 30) * US },
    }
}

fn read(draw: &mut Draw, geometry: &GeometryModel, flat: bool) -> ReadModel {
    let command_ns = draw.scaled(240 * US, 3);
    let crossing = CrossingModel { bytes: geometry.page_bytes / 2, ns: draw.between(5, 20) * US };
    ReadModel {
        command_ns,
        lookup_ns: if flat { 0 } else { draw.scaled(20 * US, 4) },
        group_ns: if flat { 0 } else { draw.between(0, 400) * US },
        page_ns: if flat || geometry.planes == 1 { 0 } else { draw.between(5, 60) * US },
        parallel_groups: if flat { 16 } else { 1 },
        crossings: if draw.percent(25) && !flat { vec![crossing] } else { Vec::new() },
        page_buffer: draw.percent(15),
        read_ahead_groups: if draw.percent(10) { draw.between(1, 8) } else { 0 },
    }
}

fn write(
    draw: &mut Draw,
    geometry: &GeometryModel,
    cells: &CellModel,
    link: &LinkModel,
) -> WriteModel {
    let merge = if draw.percent(70) { MergeModel::Copy } else { MergeModel::Switch };
    let open_au_linear = draw.between(1, 8);
    let command_ns = draw.scaled(150 * US, 4);
    let group = geometry.page_bytes * geometry.planes;
    let transfer = group * 1_000_000_000 / link.bytes_per_s;
    let multi_plane_on_return = draw.percent(70);
    let times = if multi_plane_on_return { 1 } else { geometry.planes };
    let program = times * cells.program_ns.iter().sum::<u64>() / cells.program_ns.len() as u64;
    WriteModel {
        command_ns,
        open_au_linear,
        open_au_random: draw.between(0, open_au_linear),
        merge,
        merge_ns: match merge {
            MergeModel::Copy => draw.between(5, 80) * MS,
            // Copying only the map takes as long as some writes of a group.
            MergeModel::Switch => (command_ns + transfer + program) * draw.between(25, 50) / 10,
        },
        multi_plane_on_return,
    }
}

fn fat(draw: &mut Draw, geometry: &GeometryModel) -> FatModel {
    let units = geometry.erase_block_bytes * draw.between(1, 2);
    FatModel {
        bytes: draw.one(&[4 * MIB, 8 * MIB, units]),
        lookup_ns: draw.between(20, 200) * US,
        read_ns: draw.between(20, 30) * US,
        program_ns: draw.between(200, 300) * US,
    }
}

fn log(draw: &mut Draw, geometry: &GeometryModel) -> LogModel {
    LogModel {
        write_bytes_max: KIB * draw.one(&[4, 8, 16]),
        bytes: geometry.erase_block_bytes * draw.between(1, 4),
        program_ns: draw.between(200, 300) * US,
        idle_ns: draw.between(100, 2_000) * MS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_model::DeviceModel;

    // Breaks when some draw leaves the range that a card can have: a score over many seeds would end
    // at the first of them.
    #[test]
    fn every_seed_gives_a_card_that_can_be() {
        let (mut flat, mut three) = (0, 0);
        for seed in 0..10_000 {
            let model = CardModel::random(seed);
            assert_eq!(model.check(), Ok(()), "seed {seed}: {model:?}");
            let truth = model.truth();
            let card = truth.card.clone().unwrap();
            flat += u32::from(!card.reads_show_boundaries);
            assert!(card.reads_show_boundaries || !card.reads_show_cells);
            three += u32::from(!truth.erase_block_bytes.unwrap().0.is_power_of_two());
            assert!((1..=8).contains(&truth.open_au_linear.unwrap()));
        }
        // Binomial of 10,000: standard deviations 30 and 48.
        assert!((850..1150).contains(&flat), "{flat} of 10000 show nothing");
        assert!((3400..3900).contains(&three), "{three} of 10000 have erase blocks of 3 x 2^k");
    }

    #[test]
    fn one_seed_gives_one_card() {
        let text = |seed| toml::to_string(&CardModel::random(seed)).unwrap();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
        // Frozen: a score names seeds, and means these cards.
        let CardModel { geometry: g, read: r, write: w, .. } = CardModel::random(7);
        let drawn = [g.capacity_bytes, g.erase_block_bytes, g.page_bytes, r.command_ns, w.merge_ns];
        assert_eq!(drawn, [16_779_313_152, 6_291_456, 32_768, 675_838, 72_000_000]);
        let read: CardModel = toml::from_str(&text(7)).unwrap();
        assert_eq!(read, CardModel::random(7), "a drawn card can be kept as a file");
    }
}
