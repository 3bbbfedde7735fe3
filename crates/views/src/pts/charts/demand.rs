//! Performance by load: block size, threads, depth.

use pts::body::Body;
use pts::table::Table;
use report::chart::{Axis, Chart, Hue, Layer, Line, LinePoint, Points, Scale, Side};
use stats::Unit;

use super::parts::{bare, hue, labelled, pairs, stem};

/// IOPS by block size, a line a share of reads; both axes logarithmic.
pub fn by_block(body: &Body, table: &Table) -> Option<Chart> {
    let x = Axis::new("Block size", Unit::Bytes).scaled(Scale::Log2);
    let y = Axis::new("Random I/O", Unit::Iops).scaled(Scale::Log10);
    let mut chart = bare(body, "by block size and share of reads", x, y);
    let of = table.columns.len();
    for (at, name) in table.columns.iter().enumerate() {
        let points: Vec<LinePoint> = labelled(table, at)
            .into_iter()
            .filter(|(_, value)| *value > 0.0)
            .map(|(kib, value)| LinePoint::new(kib * 1024.0, value))
            .collect();
        let name = format!("R/W {}", stem(name));
        chart.layers.push(Layer::Line(Line::new(name, hue(at, of), points)));
    }
    drawable(chart)
}

fn drawable(chart: Chart) -> Option<Chart> {
    let has = |layer: &Layer| matches!(layer, Layer::Line(line) if line.points.len() > 1);
    chart.layers.iter().any(has).then_some(chart)
}

fn depth_of(column: &str) -> Option<f64> {
    column.rsplit(' ').next()?.parse().ok()
}

/// Rows of a table of threads by depth as lines over the depth, the fewest threads first.
fn by_depth_of(table: &Table) -> Vec<(String, Vec<(f64, f64)>)> {
    let row = |row: &pts::table::Row| {
        let cells = table.columns.iter().zip(&row.values);
        let mut values: Vec<(f64, f64)> =
            cells.filter_map(|(column, value)| Some((depth_of(column)?, (*value)?))).collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let plural = if row.label == "1" { "" } else { "s" };
        (format!("{} thread{plural}", row.label), values)
    };
    table.rows.iter().rev().map(row).collect()
}

/// A table of threads by depth: a line a number of threads, over the depth.
fn over_depth(body: &Body, key: &str, title: &str, y: Axis) -> Option<Chart> {
    let table = body.tables.get(key)?;
    let x = Axis::new("Queue depth of each thread", Unit::Count).scaled(Scale::Log2);
    let mut chart = bare(body, title, x, y);
    let lines = by_depth_of(table);
    let of = lines.len();
    for (at, (name, values)) in lines.into_iter().enumerate() {
        let points = values.into_iter().map(|(x, y)| LinePoint::new(x, y)).collect();
        chart.layers.push(Layer::Line(Line::new(name, hue(at, of), points)));
    }
    drawable(chart)
}

/// Demand variation: IOPS by depth, a line a number of threads.
pub fn variation(body: &Body) -> Option<Chart> {
    let y = Axis::new("I/O of the load", Unit::Iops).with_zero();
    over_depth(body, "demand_iops", "demand variation", y)
}

/// Demand intensity: mean response time by IOPS, a line a number of threads; the depth rises along each.
pub fn intensity(body: &Body) -> Option<Chart> {
    let iops = by_depth_of(body.tables.get("demand_iops")?);
    let art = by_depth_of(body.tables.get("demand_art")?);
    let y = Axis::new("Mean response time", Unit::Ns).scaled(Scale::Log10);
    let x = Axis::new("I/O of the load", Unit::Iops);
    let mut chart = bare(body, "demand intensity", x, y);
    let of = iops.len();
    for (at, ((name, rates), (_, times))) in iops.into_iter().zip(art).enumerate() {
        let point = |(rate, time): (&(f64, f64), &(f64, f64))| {
            (time.1 > 0.0).then(|| LinePoint::new(rate.1, time.1 * 1e3))
        };
        let points = rates.iter().zip(&times).filter_map(point).collect();
        chart.layers.push(Layer::Line(Line::new(name, hue(at, of), points)));
    }
    drawable(chart)
}

/// CPU of this program by depth, a line a number of threads.
pub fn cpu(body: &Body) -> Option<Chart> {
    let y = Axis::new("CPU of this program, of one CPU", Unit::Percent).with_zero();
    over_depth(body, "demand_cpu", "CPU by threads and depth", y)
}

/// IOPS and mean response time by all requests outstanding.
pub fn outstanding(body: &Body) -> Option<Chart> {
    let table = body.tables.get("outstanding")?;
    let x = Axis::new("Requests outstanding, all threads", Unit::Count).scaled(Scale::Log2);
    let mut chart = bare(
        body,
        "by requests outstanding",
        x,
        Axis::new("I/O of the load", Unit::Iops).with_zero(),
    );
    chart.y2 = Some(Axis::new("Mean response time", Unit::Ns).scaled(Scale::Log10));
    let times = labelled(table, 1).into_iter().filter(|point| point.1 > 0.0);
    let mut art = Points::new("ART", Hue::Vermillion, times.map(|(x, y)| (x, y * 1e3)).collect());
    art.side = Side::Right;
    chart.layers.push(Layer::Points(Points::new("IOPS", Hue::Blue, labelled(table, 0))));
    chart.layers.push(Layer::Points(art));
    (!table.rows.is_empty()).then_some(chart)
}

/// IOPS by depth of one thread, a line an engine.
pub fn by_depth(body: &Body, table: &Table) -> Option<Chart> {
    of_engines(body, table, ("IOPS", 1.0), Axis::new("RND 4 KiB writes", Unit::Iops).with_zero())
}

/// Mean response time by depth of one thread, a line an engine.
pub fn response_by_depth(body: &Body, table: &Table) -> Option<Chart> {
    let y = Axis::new("Mean response time", Unit::Ns).scaled(Scale::Log10);
    of_engines(body, table, ("ART, us", 1e3), y)
}

fn of_engines(body: &Body, table: &Table, (what, factor): (&str, f64), y: Axis) -> Option<Chart> {
    let x = Axis::new("Queue depth, one thread", Unit::Count).scaled(Scale::Log2);
    let title = if what == "IOPS" { "IOPS" } else { "response times" };
    let mut chart = bare(body, title, x, y);
    for (at, column) in table.columns.iter().enumerate() {
        let Some((engine, figure)) = column.split_once(": ") else { continue };
        if figure != what {
            continue;
        }
        let points: Vec<LinePoint> = labelled(table, at)
            .into_iter()
            .map(|(depth, value)| LinePoint::new(depth, value * factor))
            .collect();
        let hue = Hue::nth(chart.layers.len());
        chart.layers.push(Layer::Line(Line::new(engine, hue, points)));
    }
    drawable(chart)
}

/// ezFIO's sweeps by threads: reads, the mix, writes.
pub fn by_threads(body: &Body) -> Option<Chart> {
    let x = Axis::new("Threads, one request each", Unit::Count).scaled(Scale::Log2);
    let mut chart =
        bare(body, "RND 4 KiB by threads", x, Axis::new("Random I/O", Unit::Iops).with_zero());
    for (key, name) in [
        ("rnd_read_threads", "reads"),
        ("mixed_threads", "70% reads"),
        ("rnd_write_threads", "writes"),
    ] {
        let Some(table) = body.tables.get(key) else { continue };
        let points = labelled(table, 0).into_iter().map(|(x, y)| LinePoint::new(x, y)).collect();
        let hue = Hue::nth(chart.layers.len());
        chart.layers.push(Layer::Line(Line::new(name, hue, points)));
    }
    drawable(chart)
}

/// ezFIO's sweeps by block size, as megabytes per second.
pub fn sizes(body: &Body) -> Option<Chart> {
    let x = Axis::new("Block size", Unit::Bytes).scaled(Scale::Log2);
    let mut chart = bare(
        body,
        "throughput by block size",
        x,
        Axis::new("Throughput", Unit::MbPerS).with_zero(),
    );
    for (key, name) in [
        ("seq_read", "SEQ reads"),
        ("rnd_read", "RND reads"),
        ("seq_write", "SEQ writes"),
        ("rnd_write", "RND writes"),
    ] {
        let Some(table) = body.tables.get(key) else { continue };
        let points = labelled(table, 1).into_iter().map(|(x, y)| LinePoint::new(x, y)).collect();
        let hue = Hue::nth(chart.layers.len());
        chart.layers.push(Layer::Line(Line::new(name, hue, points)));
    }
    drawable(chart)
}

/// IOPS over the minutes of a series of samples.
pub fn long(body: &Body) -> Option<Chart> {
    let table = body.tables.get("long")?;
    let y = Axis::new("Random I/O", Unit::Iops).with_zero();
    let mut chart = bare(body, &table.title, Axis::new("Time", Unit::Ns), y);
    let points =
        pairs(table, "time, s", "IOPS").into_iter().map(|(x, y)| LinePoint::new(x * 1e9, y));
    chart.layers.push(Layer::Line(Line::new("70% reads", Hue::Blue, points.collect())));
    drawable(chart)
}

/// Sequential reads and writes by block size.
pub fn throughput(body: &Body, table: &Table) -> Option<Chart> {
    let x = Axis::new("Block size", Unit::Bytes).scaled(Scale::Log2);
    let highest = table.rows.iter().flat_map(|row| row.values.iter().flatten()).copied();
    let most = highest.fold(0.0, f64::max);
    // From zero on: the two sizes are compared with each other.
    let y = Axis::new("Throughput", Unit::MbPerS).from_to(0.0, (1.1 * most).max(1.0));
    let mut chart = bare(body, "by block size", x, y);
    for (at, name) in table.columns.iter().enumerate() {
        let points = labelled(table, at)
            .into_iter()
            .map(|(kib, value)| LinePoint::new(kib * 1024.0, value))
            .collect();
        chart.layers.push(Layer::Line(Line::new(stem(name), hue(at, 2), points)));
    }
    drawable(chart)
}
