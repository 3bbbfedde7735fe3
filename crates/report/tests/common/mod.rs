//! Charts such as the instruments make, from made-up drives: the same at each call.

use drivescope_report::chart::{
    Across, Axis, Chart, Heat, HeatCell, Hue, Layer, Line, LinePoint, Mark, Points, Scale, Side,
    Walk, Zone,
};
use stats::Unit;

pub const KIB: f64 = 1024.0;
pub const MIB: f64 = 1024.0 * KIB;
pub const GIB: f64 = 1024.0 * MIB;
const MS: f64 = 1e6;

/// Numbers from 0 to 1 that look random (Numerical Recipes' generator, upper bits).
pub struct Noise(pub u64);

impl Noise {
    pub fn draw(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }

    /// Near `value`, by a share of it.
    fn near(&mut self, value: f64, share: f64) -> f64 {
        value * (1.0 + share * (self.draw() + self.draw() - 1.0))
    }
}

/// Thousands of access times in two bands and a slow zone, one in a hundred ten times as long.
pub fn scatter(count: usize) -> Chart {
    let mut noise = Noise(7);
    let (mut zone, mut fast, mut slow) = (vec![], vec![], vec![]);
    for index in 0..count {
        let offset = 32.0 * MIB * index as f64 / count as f64;
        let (class, time) = match offset {
            _ if offset < 4.0 * MIB => (&mut zone, 2.3 * MS),
            _ if noise.draw() < 0.35 => (&mut slow, 1.6 * MS),
            _ => (&mut fast, 0.9 * MS),
        };
        let spike = if noise.draw() < 0.01 { 10.0 } else { 1.0 };
        class.push((offset, spike * noise.near(time, 0.08)));
    }
    Chart {
        title: "Access time against offset: two bands and a slow zone".into(),
        subtitle: "reads of 16 KiB, each place at its fastest of 8".into(),
        x: Axis::new("Offset", Unit::Bytes),
        y: Axis::new("Access time", Unit::Ns),
        y2: None,
        layers: vec![
            Layer::Zone(Zone {
                name: "slow zone".into(),
                hue: Hue::Brown,
                across: Across::X,
                from: 0.0,
                to: 4.0 * MIB,
            }),
            Layer::Points(Points::new("fast band", Hue::Blue, fast)),
            Layer::Points(Points::new("slow band", Hue::Vermillion, slow)),
            Layer::Points(Points::new("slow zone", Hue::Brown, zone)),
        ],
        note: "sim:usb-8m, seed 7".into(),
    }
}

/// The cost of crossing a boundary against its alignment: two steps.
pub fn align() -> Chart {
    let mut noise = Noise(3);
    let classes: Vec<LinePoint> = (10..26)
        .map(|power| {
            let cost = match power {
                _ if power >= 22 => 180e3,
                _ if power >= 14 => 62e3,
                _ => 2e3,
            };
            let (cost, wide) = (noise.near(cost, 0.05), 4e3 + 9e3 * noise.draw());
            LinePoint::between(libm::exp2(f64::from(power)), cost, cost - wide, cost + wide)
        })
        .collect();
    let mark = |name: &str, value, hue| {
        Layer::Mark(Mark { name: name.into(), hue, across: Across::X, value, over: None })
    };
    Chart {
        title: "What it costs to cross a boundary: erase block 4 MiB, page 16 KiB".into(),
        subtitle:
            "reads of 8 KiB across boundaries of exactly this alignment, less those beside them"
                .into(),
        x: Axis::new("Alignment", Unit::Bytes).scaled(Scale::Log2),
        y: Axis::new("Cost", Unit::Ns),
        y2: None,
        layers: vec![
            mark("page", 16.0 * KIB, Hue::Green),
            mark("erase block", 4.0 * MIB, Hue::Vermillion),
            Layer::Line(Line {
                walk: Walk::Around,
                ..Line::new("median and 95% interval", Hue::Blue, classes)
            }),
        ],
        note: "sim:sdcard-4m, seed 1".into(),
    }
}

/// Throughput against block size at one to five open units, which collapses at the fourth.
pub fn open_units() -> Chart {
    let mut noise = Noise(5);
    let line = |nr: u8| {
        let rate = |power: i32, noise: &mut Noise| {
            let size = libm::exp2(f64::from(power));
            let whole = size / (0.4e-3 + size / 22e6) / 1e6;
            let copying = size / 0.33 / 1e6;
            noise.near(if nr > 3 { copying.min(whole) } else { whole }, 0.06)
        };
        let mut noise = Noise(noise.draw().to_bits());
        let point =
            |power: i32| LinePoint::new(libm::exp2(f64::from(power)), rate(power, &mut noise));
        let name = if nr == 1 { "1 open unit".to_owned() } else { format!("{nr}") };
        Layer::Line(Line::new(
            name,
            Hue::Step { index: nr - 1, of: 5 },
            (14..=22).map(point).collect(),
        ))
    };
    Chart {
        title: "Writing to several allocation units at once: 3 stay fast".into(),
        subtitle: "linear writes of each size, in turn to each unit".into(),
        x: Axis::new("Block size", Unit::Bytes).scaled(Scale::Log2),
        y: Axis::new("Throughput", Unit::MbPerS).scaled(Scale::Log10),
        y2: None,
        layers: (1..=5).map(line).collect(),
        note: String::new(),
    }
}

/// Speed and access time over a whole disk.
pub fn surface() -> Chart {
    let mut noise = Noise(11);
    let size = 931.5 * GIB;
    let speed = (0..400)
        .map(|i| {
            let at = f64::from(i) / 400.0;
            let dip = if (150..153).contains(&i) { 0.3 } else { 1.0 };
            LinePoint::new(at * size, dip * noise.near(205.0 - 105.0 * at * at, 0.02))
        })
        .collect();
    let times = (0..1000)
        .map(|_| (noise.draw() * size, noise.near(4.0 * MS, 0.2) + 11.0 * MS * noise.draw()))
        .collect();
    Chart {
        title: "Speed and access time over the whole drive".into(),
        subtitle: "400 reads of 1 MiB in order, 1000 reads of 4 KiB at random".into(),
        x: Axis::new("Offset", Unit::Bytes),
        y: Axis::new("Read rate", Unit::MbPerS),
        y2: Some(Axis::new("Access time", Unit::Ns)),
        layers: vec![
            Layer::Points(Points {
                side: Side::Right,
                ..Points::new("access time", Hue::Green, times)
            }),
            Layer::Line(Line::new("read rate", Hue::Blue, speed)),
        ],
        note: "sim:hdd-7200, seed 11".into(),
    }
}

/// Throughput while a drive fills up: a cache, what follows, and what folds.
pub fn cache() -> Chart {
    let mut noise = Noise(13);
    let rate = |gib: f64| match gib {
        _ if gib < 24.0 => 450.0,
        _ if gib < 80.0 => 110.0,
        _ => 42.0,
    };
    let points = (0..1000)
        .map(|i| {
            let gib = 120.0 * f64::from(i) / 1000.0;
            LinePoint::new(gib * GIB, noise.near(rate(gib), 0.1))
        })
        .collect();
    let plateau = |name: &str, value, from: f64, to: f64| {
        let over = Some((from * GIB, to * GIB));
        let (name, across) = (name.into(), Across::Y(Side::Left));
        Layer::Mark(Mark { name, hue: Hue::Vermillion, across, value, over })
    };
    Chart {
        title: "Throughput while writing: a cache of 24 GiB".into(),
        subtitle: "sequential writes of 1 MiB, one after the other".into(),
        x: Axis::new("Written", Unit::Bytes),
        y: Axis::new("Throughput", Unit::MbPerS),
        y2: None,
        layers: vec![
            Layer::Line(Line { walk: Walk::After, ..Line::new("throughput", Hue::Blue, points) }),
            plateau("cache", 450.0, 0.0, 24.0),
            plateau("direct", 110.0, 24.0, 80.0),
            plateau("folding", 42.0, 80.0, 120.0),
            Layer::Mark(Mark {
                name: "cache ends".into(),
                hue: Hue::Grey,
                across: Across::X,
                value: 24.0 * GIB,
                over: None,
            }),
        ],
        note: "sim:usb-tlc, seed 13".into(),
    }
}

/// A trace's accesses by address and time: a scan, a hot spot that pauses, and little elsewhere.
pub fn heat(columns: u32, rows: u32) -> Chart {
    let mut noise = Noise(3);
    let mut cells = vec![];
    for row in 0..rows {
        for column in 0..columns {
            let scan = row == column * rows / columns;
            let hot = row == rows / 5 && (column * 5 / columns).is_multiple_of(2);
            let value = match () {
                () if hot => 2_000.0 + 3_000.0 * noise.draw(),
                () if scan => 300.0 + 200.0 * noise.draw(),
                () if noise.draw() < 0.25 => (1.0 + 6.0 * noise.draw()).floor(),
                () => continue,
            };
            cells.push(HeatCell { column, row, value });
        }
    }
    let step = (60e9 / f64::from(columns), 64.0 * GIB / f64::from(rows));
    let (x, y) = (Axis::new("Time", Unit::Ns), Axis::new("Address", Unit::Bytes));
    Chart {
        subtitle: "reads by where and when they begin".to_owned(),
        layers: vec![Layer::Heat(Heat {
            name: format!("reads in {:.0} ms and {:.0} MiB", step.0 / 1e6, step.1 / MIB),
            unit: Unit::Count,
            from: (0.0, 0.0),
            step,
            size: (columns, rows),
            cells,
        })],
        note: "made up".to_owned(),
        ..Chart::new("Where and when a trace reads", x, y)
    }
}

/// All of them, by name.
pub fn all() -> [(&'static str, Chart); 6] {
    [
        ("scatter", scatter(4096)),
        ("align", align()),
        ("open-units", open_units()),
        ("surface", surface()),
        ("cache", cache()),
        ("heat", heat(128, 64)),
    ]
}
