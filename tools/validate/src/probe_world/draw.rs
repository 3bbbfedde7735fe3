//! Drives of this world, drawn from a seed wider than anything that is sold, and what is true of them.

use ::probe::Name;

use super::card::{Card, Closing, Figures, Log, Zone};
use super::chance::Chance;
use super::device::{Device, Noise, World};
use super::disk::Disk;
use super::ssd::{self, Ssd};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const US: u64 = 1000;

/// A drive with what is true of it.
pub(super) struct Drawn {
    pub(super) world: World,
    /// `card`, `ssd` or `disk`, with its state.
    pub(super) kind: &'static str,
    /// True values; `None` if there is no such thing.
    pub(super) truths: Vec<(Name, Option<u64>)>,
    /// True for a card whose reads show the boundaries of its units to an oracle that knows how it is drawn: it holds data,
    /// crossing a boundary costs something, and the unit is of a number up to 27 times a power of two.
    pub(super) shows_units: bool,
}

impl Drawn {
    /// The drive of `seed` at a noise of `level` times what a boundary of its units costs a read. Of a hundred,
    /// 78 are cards, 19 solid-state drives and 3 disks.
    pub(super) fn new(seed: u64, level: f64) -> Drawn {
        let mut chance = Chance::new(seed, 0x6472_6177);
        match chance.below(100) {
            0..78 => card(seed, level, &mut chance),
            78..97 => solid(seed, level, &mut chance),
            _ => disk(seed, &mut chance),
        }
    }

    pub(super) fn truth(&self, name: Name) -> Option<u64> {
        self.truths.iter().find(|(known, _)| *known == name).and_then(|(_, value)| *value)
    }
}

/// Noise of `level` times `step_ns`, a hundredth of the commands spiked, and heat on one drive in seven.
fn noise(level: f64, step_ns: u64, usual_ns: u64, chance: &mut Chance) -> Noise {
    let throttle = chance.percent(14).then(|| {
        let (cool, hot) = (5.0 + 55.0 * chance.unit(), 2.0 + 18.0 * chance.unit());
        (cool, hot, 1.3 + 2.7 * chance.unit())
    });
    Noise {
        sigma_ns: level * step_ns as f64,
        spikes_ppm: chance.one(&[0, 1000, 10_000]),
        spike_ns: 8.0 * usual_ns as f64,
        throttle,
    }
}

/// A unit of any odd number up to 27 times a power of two, one in twenty of a greater one, in whole groups.
fn unit(group: u64, capacity: u64, chance: &mut Chance) -> u64 {
    loop {
        let odd = match chance.below(100) {
            0..30 => 1,
            30..50 => 3,
            50..95 => 5 + 2 * chance.below(12),
            _ => 29 + 2 * chance.below(36),
        };
        let size = odd << (10 + chance.below(18));
        let fits = (128 * KIB..=128 * MIB).contains(&size) && size.is_multiple_of(group);
        if fits && size >= 8 * group && capacity / size >= 48 {
            return size;
        }
    }
}

fn card(seed: u64, level: f64, chance: &mut Chance) -> Drawn {
    let page = KIB * chance.one(&[2, 4, 8, 8, 16, 16, 32]);
    let planes = chance.one(&[1, 1, 2, 2, 2, 4]);
    let group = page * planes;
    let capacity = GIB * chance.one(&[1, 2, 4, 8, 16, 32, 64]) / 1000 * (900 + chance.below(100));
    let size = unit(group, capacity, chance);
    let capacity = capacity / size * size;
    let bits = chance.one(&[1, 2, 2, 3, 3, 4]);
    let mapped = !chance.percent(10);
    let flat = !mapped || chance.percent(12);
    let first = chance.between(20 * US, 80 * US);
    let apart = if flat { 0 } else { chance.between(15 * US, 80 * US) };
    let program = chance.between(200 * US, 900 * US);
    let uneven = planes > 1 && !flat && chance.percent(60);
    let skew = if uneven { chance.between(10 * US, 60 * US) } else { 0 };
    let command_ns = chance.between(80 * US, 2000 * US);
    let map_ns = if flat { 0 } else { chance.between(15 * US, 400 * US) };
    let most = match chance.below(10) {
        0 => 33 + chance.below(32),
        1 => 9 + chance.below(24),
        _ => 1 + chance.below(8),
    };
    let zone = (mapped && chance.percent(35)).then(|| Zone {
        bytes: MIB * chance.one(&[1, 2, 4, 4, 8, 16, 32, 48, 64, 96, 128]),
        read_ns: if chance.percent(40) { 0 } else { chance.between(20 * US, 150 * US) },
    });
    let zone = zone.filter(|zone| zone.bytes < capacity / 4);
    let log = (mapped && chance.percent(35)).then(|| Log {
        write_max: KIB * chance.one(&[4, 8, 16, 32, 64, 128, 256]),
        bytes: MIB * chance.one(&[1, 2, 4, 8, 16, 32, 64]),
        program_ns: chance.between(150 * US, 400 * US),
    });
    let open = mapped.then(|| {
        let random = chance.one(&[0, 0, 1, 1, 2, most]).min(most);
        (most, random)
    });
    let figures = Figures {
        capacity,
        unit: size,
        page,
        planes,
        parallel: if flat { 16 } else { chance.one(&[1, 1, 1, 1, 2, 4]) },
        command_ns,
        map_ns,
        array_ns: (0..bits).map(|bit| first + bit * apart).collect(),
        program_ns: (0..bits).map(|bit| program << bit.min(2)).collect(),
        run: chance.one(&[1, 1, 2, 4]),
        skew_ns: (0..planes).map(|plane| if plane % 2 == 0 { skew } else { 0 }).collect(),
        page_gap_ns: if flat || chance.percent(40) { 0 } else { chance.between(5 * US, 60 * US) },
        group_gap_ns: if flat { 0 } else { chance.below(300) * US },
        codeword: chance.one(&[512, 1024, 2048]),
        codeword_ns: if flat { 0 } else { chance.between(US, 20 * US) },
        link_bytes_per_s: chance.between(10_000_000, 400_000_000),
        keeps_last: chance.percent(25),
        zone,
        log,
        open,
        closing: chance.one(&[Closing::LeastRecent, Closing::LeastRecent, Closing::Oldest]),
        merge_ns: chance.between(2000 * US, 20_000 * US),
        copy_ns_per_mib: chance.between(5000 * US, 60_000 * US),
        write_command_ns: command_ns / 2,
    };
    let written = chance.percent(75);
    let bands = figures.array_ns.iter().collect::<std::collections::BTreeSet<_>>().len() as u64;
    let truths = vec![
        (Name::EraseBlock, mapped.then_some(size)),
        (Name::Page, Some(page)),
        (Name::MultiPlanePage, Some(group)),
        (Name::OpenAuLinear, open.map(|(most, _)| most)),
        (Name::OpenAuRandom, open.map(|(_, random)| random)),
        (Name::FatZone, figures.zone.as_ref().map(|zone| zone.bytes)),
        (Name::CellBands, (bands > 1).then_some(bands)),
        (Name::WriteBuffer, None),
    ];
    let step = if map_ns > 0 { map_ns } else { 50 * US };
    let noise = noise(level, step, command_ns + first, chance);
    let kind = if written { "card, filled" } else { "card, never written" };
    let device = Device::Card(Box::new(Card::new(figures, written)));
    let world = World::new(format!("world:card-{seed}"), capacity, device, noise, seed);
    let shows_units = written && !flat && size >> size.trailing_zeros() <= 27;
    Drawn { world, kind, truths, shows_units }
}

fn solid(seed: u64, level: f64, chance: &mut Chance) -> Drawn {
    let capacity = GIB * chance.one(&[4, 8, 16, 32]);
    let bits = chance.one(&[1, 2, 3, 3, 4]);
    let (first, apart) = (chance.between(20 * US, 70 * US), chance.between(10 * US, 60 * US));
    let fast = chance.between(200_000_000, 3_000_000_000);
    let memory = MIB * chance.one(&[0, 1, 4, 16, 32, 64]);
    let figures = ssd::Figures {
        dies: chance.one(&[2, 3, 4, 6, 8, 12, 16, 32]),
        stripe: KIB * chance.one(&[4, 16, 32, 64, 128]),
        link_ns: chance.between(8 * US, 250 * US),
        link_bytes_per_s: chance.between(300_000_000, 7_000_000_000),
        array_ns: (0..bits).map(|bit| first + bit * apart).collect(),
        map_bytes: MIB * chance.one(&[2, 4, 6, 8, 16]),
        map_ns: if chance.percent(50) { 0 } else { chance.between(10 * US, 80 * US) },
        fast,
        slow: (fast as f64 * (0.1 + 0.6 * chance.unit())) as u64,
        cache: capacity / 100 * chance.one(&[0, 3, 10, 30]),
        memory,
        program_ns: chance.between(300 * US, 2000 * US),
        wave: chance
            .percent(40)
            .then(|| (MIB * chance.between(8, 500), chance.between(2000 * US, 50_000 * US))),
    };
    let (kind, written, before) = chance.one(&[
        ("ssd, never written", false, 0),
        ("ssd, filled", true, 0),
        ("ssd, steady", true, capacity),
    ]);
    let truths = vec![
        (Name::EraseBlock, None),
        (Name::Page, None),
        (Name::MultiPlanePage, None),
        (Name::OpenAuLinear, None),
        (Name::OpenAuRandom, None),
        (Name::FatZone, None),
        (Name::CellBands, (bits > 1).then_some(bits)),
        (Name::WriteBuffer, (memory > 0).then_some(memory)),
    ];
    let noise = noise(level, 10 * US, figures.link_ns + first, chance);
    let mut drive = Ssd::new(figures, capacity, written);
    drive.wear(before);
    let device = Device::Ssd(Box::new(drive));
    let world = World::new(format!("world:ssd-{seed}"), capacity, device, noise, seed);
    Drawn { world, kind, truths, shows_units: false }
}

fn disk(seed: u64, chance: &mut Chance) -> Drawn {
    let capacity = GIB * chance.one(&[80, 500, 2000]);
    let turn = 60_000_000_000 / chance.one(&[5400, 7200, 10_000]);
    let seek = (chance.between(500 * US, 2000 * US), chance.between(8000 * US, 20_000 * US));
    let disk = Disk::new(capacity, turn, seek, chance.between(50_000_000, 250_000_000));
    let noise = noise(0.1, 50 * US, 5000 * US, chance);
    let truths = super::SCORED.into_iter().map(|name| (name, None)).collect();
    let world = World::new(format!("world:disk-{seed}"), capacity, Device::Disk(disk), noise, seed);
    Drawn { world, kind: "disk", truths, shows_units: false }
}
