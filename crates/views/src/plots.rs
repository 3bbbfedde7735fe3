//! Probings as charts.

use anyhow::Result;
use formats::flashbench as line;
use probe::capacity::full;
use probe::scatter::{Evidence, Part, Point};
use probe::{Body, Name, Task, align, interval, open_au, slc_cache, surface};
use report::chart::{
    Across, Axis, Chart, Hue, Layer, Line, LinePoint, Mark, Points, Scale, Side, Walk, Zone,
    terminal,
};
use report::{Style, Styled, number};
use stats::Unit;

use crate::drive;

/// The plot of a single probe, for a terminal; empty where there is none.
///
/// # Errors
/// When a value cannot be drawn.
pub fn in_terminal(body: &Body, style: Style) -> Result<Styled> {
    match (body.probes.as_slice(), charts(body).first()) {
        ([_], Some(chart)) => Ok(terminal(chart, style)?),
        _ => Ok(Styled::default()),
    }
}

/// Offset (MiB) and least time (ms) of each place from the beginning on, as flashbench writes them.
pub fn gnuplot(body: &Body) -> String {
    let points = body.evidence.scatter.iter().flat_map(|evidence| &evidence.points);
    points
        .filter(|point| point.part == Part::Beginning)
        .map(|point| line::scatter(point.offset, point.min_ns as i64) + "\n")
        .collect()
}

/// True of a probe that [`charts`] can draw.
pub fn is_drawn(task: &Task) -> bool {
    match task {
        Task::Align(_)
        | Task::OpenAu(_)
        | Task::Scatter(_)
        | Task::Interval(_)
        | Task::SlcCache(_)
        | Task::Full(_)
        | Task::Surface(_) => true,
        Task::Capacity(options) => options.full,
        Task::Fat | Task::Parallelism | Task::WriteBuffer | Task::SpeedClass => false,
    }
}

/// All charts, the most informative first.
pub fn charts(body: &Body) -> Vec<Chart> {
    let evidence = &body.evidence;
    let charts = [
        evidence.scatter.as_ref().and_then(|scatter| scattered(body, scatter)),
        evidence.align.as_ref().and_then(|align| aligned(body, align)),
        evidence.open_au.as_ref().and_then(|open| opened(body, open)),
        evidence.surface.as_ref().and_then(|surface| surfaced(body, surface)),
        evidence.full.as_ref().and_then(|full| written(body, full)),
        evidence.slc_cache.as_ref().and_then(|cache| filled(body, cache)),
        evidence.interval.as_ref().and_then(|interval| sized(body, interval)),
    ];
    charts.into_iter().flatten().collect()
}

fn chart(body: &Body, title: &str, subtitle: String, (x, y): (Axis, Axis)) -> Chart {
    Chart {
        title: title.to_owned(),
        subtitle,
        x,
        y,
        y2: None,
        layers: Vec::new(),
        note: format!(
            "{}, {}; seed {}",
            body.target.name,
            drive(&body.target, &body.stack),
            body.setup.seed
        ),
    }
}

/// Access times from the beginning on, in the colours of their bands.
fn scattered(body: &Body, evidence: &Evidence) -> Option<Chart> {
    let points: Vec<&Point> =
        evidence.points.iter().filter(|point| point.part == Part::Beginning).collect();
    let end = points.iter().map(|point| point.offset + point.len).max()?;
    let subtitle = format!(
        "mean of reads of {} at each place, bands separated window by window",
        number::bytes(evidence.read_bytes as f64)
    );
    let axes = (Axis::new("Offset", Unit::Bytes), Axis::new("Access time", Unit::Ns));
    let mut chart = chart(body, "Access times by offset", subtitle, axes);
    for zone in evidence.zones.iter().filter(|zone| zone.offset < end) {
        let name = if zone.slower_ns > 0.0 { "slow zone" } else { "fast zone" };
        chart.layers.push(Layer::Zone(Zone {
            name: name.to_owned(),
            hue: Hue::Brown,
            across: Across::X,
            from: zone.offset as f64,
            to: (zone.offset + zone.length).min(end) as f64,
        }));
    }
    let of = |class: Class| {
        let of_class = points.iter().filter(|point| class_of(point, evidence) == class);
        of_class.map(|point| (point.offset as f64, point.mean_ns)).collect::<Vec<_>>()
    };
    let mut layer = |name: String, hue: Hue, points: Vec<(f64, f64)>| {
        if !points.is_empty() {
            chart.layers.push(Layer::Points(Points::new(name, hue, points)));
        }
    };
    let bands = points.iter().filter_map(|point| match class_of(point, evidence) {
        Class::Band(band) => Some(band + 1),
        _ => None,
    });
    let bands = bands.max().unwrap_or(0);
    for band in 0..bands {
        layer(format!("band {}", band + 1), Hue::nth(band as usize), of(Class::Band(band)));
    }
    layer("in the zone".to_owned(), Hue::Purple, of(Class::InZone));
    let name = if bands == 0 { "reads" } else { "in no band" };
    layer(name.to_owned(), Hue::Grey, of(Class::Other));
    Some(chart)
}

/// Series in which a point is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Band(u32),
    InZone,
    Other,
}

/// Places of a zone are drawn apart, since their bands are not those of the others. Places in a window that is inconclusive
/// by itself are drawn in the nearest band of the whole drive.
fn class_of(point: &Point, evidence: &Evidence) -> Class {
    let away = |center: f64| (center - point.mean_ns).abs();
    let nearest = || {
        let bands = (0..).zip(&evidence.bands);
        let nearest = bands.min_by(|a, b| away(a.1.center_ns).total_cmp(&away(b.1.center_ns)));
        nearest.map(|(band, _)| band)
    };
    match (point.zone, point.band.or_else(nearest)) {
        (Some(_), _) => Class::InZone,
        (None, Some(band)) => Class::Band(band),
        (None, None) => Class::Other,
    }
}

/// Cost of crossing boundaries by their alignment, for the block size that gave the answer.
fn aligned(body: &Body, evidence: &align::Evidence) -> Option<Chart> {
    let spoke = evidence.spoke_bytes;
    let block = evidence.blocks.iter().find(|block| Some(block.block_bytes) == spoke);
    let block = block.or(evidence.blocks.first())?;
    let subtitle = format!(
        "reads of {} across a boundary, less the mean of those on both sides; 95% intervals",
        number::bytes(block.block_bytes.0 as f64)
    );
    let x = Axis::new("Alignment of the boundary", Unit::Bytes).scaled(Scale::Log2);
    let mut chart =
        chart(body, "What crossing boundaries costs", subtitle, (x, Axis::new("Cost", Unit::Ns)));
    for (factor, name) in [(1, "2^k"), (3, "3 x 2^k")] {
        let rows = block.rows.iter().filter(|row| row.class.factor == factor);
        let points = rows.map(|row| {
            let (cost, half) = (row.diff.value_ns, 1.96 * row.diff.error_ns);
            LinePoint::between(row.align_bytes as f64, cost, cost - half, cost + half)
        });
        let line = Line::new(name, Hue::nth(usize::from(factor / 2)), points.collect());
        chart.layers.push(Layer::Line(Line { walk: Walk::Around, ..line }));
    }
    for (name, word) in [
        (Name::Page, "page"),
        (Name::MultiPlanePage, "multi-plane page"),
        (Name::EraseBlock, "erase block"),
    ] {
        let value = body.finding(name).and_then(|finding| finding.value);
        let double = name == Name::MultiPlanePage
            && value == body.finding(Name::Page).and_then(|finding| finding.value);
        chart.layers.extend(value.filter(|_| !double).map(|value| {
            Layer::Mark(Mark {
                name: word.to_owned(),
                hue: Hue::Vermillion,
                across: Across::X,
                value: value as f64,
                over: None,
            })
        }));
    }
    Some(chart)
}

/// Rates of writing to erase blocks in turn, by the size of the writes.
fn opened(body: &Body, evidence: &open_au::Evidence) -> Option<Chart> {
    let tables = &evidence.tables;
    if tables.is_empty() {
        return None;
    }
    let axes = (
        Axis::new("Size of a write", Unit::Bytes).scaled(Scale::Log2),
        Axis::new("Rate", Unit::MbPerS).scaled(Scale::Log10),
    );
    let subtitle = "erase blocks written in turn, N at once".to_owned();
    let mut chart = chart(body, "Writing to several erase blocks", subtitle, axes);
    for (at, table) in tables.iter().enumerate() {
        let mut rows: Vec<_> = table.rows.iter().filter(|row| row.ns_per_io > 0.0).collect();
        rows.sort_by_key(|row| row.len_bytes);
        let order = if table.order == open_au::Order::Random { "at random" } else { "in order" };
        let rate = |row: &&open_au::Row| {
            LinePoint::new(row.len_bytes as f64, row.len_bytes as f64 * 1e3 / row.ns_per_io)
        };
        // By table and not by count: as many in order and at random are two lines.
        let (index, of) = (at.min(255) as u8, tables.len().min(255) as u8);
        let points = rows.iter().map(rate).collect();
        let name = format!("{} {order}", table.nr);
        chart.layers.push(Layer::Line(Line::new(name, Hue::Step { index, of }, points)));
    }
    Some(chart)
}

/// Speed and access time over the whole range, as GNOME Disks draws them.
fn surfaced(body: &Body, evidence: &surface::Evidence) -> Option<Chart> {
    if evidence.transfers.is_empty() && evidence.accesses.is_empty() {
        return None;
    }
    let subtitle = format!(
        "{} large reads at even distances, {} small ones at random places",
        evidence.transfers.len(),
        evidence.accesses.len()
    );
    let axes = (Axis::new("Offset", Unit::Bytes), Axis::new("Speed", Unit::MbPerS));
    let mut chart = chart(body, "Speed and access time over the drive", subtitle, axes);
    chart.y2 = Some(Axis::new("Access time", Unit::Ns));
    let accesses = evidence.accesses.iter().map(|a| (a.offset as f64, a.ns as f64)).collect();
    let accesses = Points::new("access time", Hue::Green, accesses);
    chart.layers.push(Layer::Points(Points { side: Side::Right, ..accesses }));
    let speeds = evidence.transfers.iter();
    let speeds = speeds.map(|t| LinePoint::new(t.offset as f64, t.bytes_per_s / 1e6)).collect();
    chart.layers.push(Layer::Line(Line::new("speed", Hue::Blue, speeds)));
    Some(chart)
}

/// Speed of the parts of a drive that was written and read back as a whole.
fn written(body: &Body, evidence: &full::Evidence) -> Option<Chart> {
    let axes = (Axis::new("Offset", Unit::Bytes), Axis::new("Speed", Unit::MbPerS));
    let subtitle = format!("{} parts, one after the other", evidence.rates.len());
    let mut chart = chart(body, "Speed of all of the drive", subtitle, axes);
    for (verify, name, hue) in [(false, "write", Hue::Blue), (true, "read", Hue::Green)] {
        let rates = evidence.rates.iter().filter(|rate| rate.verify == verify);
        let point =
            |rate: &full::Rate| LinePoint::new(rate.offset_bytes as f64, rate.bytes_per_s / 1e6);
        let points: Vec<LinePoint> = rates.map(point).collect();
        if !points.is_empty() {
            chart.layers.push(Layer::Line(Line::new(name, hue, points)));
        }
    }
    (!chart.layers.is_empty()).then_some(chart)
}

/// Access time by the size of the read.
fn sized(body: &Body, evidence: &interval::Evidence) -> Option<Chart> {
    let axes = (
        Axis::new("Size of a read", Unit::Bytes).scaled(Scale::Log2),
        Axis::new("Time", Unit::Ns).scaled(Scale::Log10),
    );
    let subtitle = "median of reads at fresh places, with its 95% interval".to_owned();
    let mut chart = chart(body, "Time by size", subtitle, axes);
    let points = evidence.sizes.iter().map(|size| {
        let interval = size.low_ns.zip(size.high_ns);
        LinePoint { x: size.bytes as f64, y: size.median_ns, interval }
    });
    let points: Vec<LinePoint> = points.filter(|point| point.y > 0.0).collect();
    if points.is_empty() {
        return None;
    }
    chart.layers.push(Layer::Line(Line::new("reads", Hue::Blue, points)));
    Some(chart)
}

/// Rate over what was written, with its plateaus.
fn filled(body: &Body, evidence: &slc_cache::Evidence) -> Option<Chart> {
    let fill = &evidence.fill;
    let group = fill.group_bytes as f64;
    let mut before = 0;
    let rates = fill.ends_ns.iter().enumerate().map(|(index, end)| {
        let took = end.saturating_sub(before).max(1);
        before = *end;
        ((index as f64 + 0.5) * group, group * 1e3 / took as f64)
    });
    let rates: Vec<(f64, f64)> = rates.collect();
    if rates.is_empty() {
        return None;
    }
    let subtitle = format!("written in order, {} at a time", number::bytes(group));
    let axes = (Axis::new("Written", Unit::Bytes), Axis::new("Rate", Unit::MbPerS));
    let mut chart = chart(body, "Sustained writing", subtitle, axes);
    chart.layers.push(Layer::Points(Points::new("groups of writes", Hue::Blue, rates)));
    for plateau in &evidence.plateaus {
        chart.layers.push(Layer::Mark(Mark {
            name: "plateau".to_owned(),
            hue: Hue::Vermillion,
            across: Across::Y(Side::Left),
            value: plateau.bytes_per_s / 1e6,
            over: Some((plateau.from_bytes as f64, plateau.to_bytes as f64)),
        }));
    }
    Some(chart)
}
