//! Analyses of traces as charts.

use report::chart::{
    Across, Axis, Chart, Heat, HeatCell, Hue, Layer, Line, LinePoint, Mark, Scale, Side, Walk,
};
use report::number;
use stats::Unit;
use trace::analyze::body::Body;
use trace::analyze::bursts::BurstsBody;
use trace::analyze::heat::{HeatBody, HeatMap, Spot};
use trace::analyze::reuse::ReuseBody;
use trace::analyze::sizes::{SizeTable, SizesBody};
use trace::analyze::timeline::{Slice, SliceLatency, TimelineBody};
use trace::analyze::working_set::WorkingSetBody;

/// Address spaces that have maps of their own: those with most transfers.
const MAPS: usize = 2;
/// Most steps of a course over time.
const STEPS: usize = 160;

/// All charts, each with a name: offsets over time, load over time, then distributions.
pub fn charts(body: &Body) -> Vec<(&'static str, Chart)> {
    let load = &body.load;
    let mut charts = Vec::new();
    if let Some(heat) = &load.heat {
        charts.extend(maps(heat, body));
    }
    if let Some(timeline) = load.timeline.as_ref().filter(|timeline| !timeline.slices.is_empty()) {
        let coarser = coarser(timeline);
        charts.push(("rate", rate(&coarser)));
        charts.push(("throughput", throughput(&coarser)));
        charts.extend(depth(&coarser).map(|chart| ("depth", chart)));
        charts.extend(latency(timeline).map(|chart| ("latency", chart)));
    }
    charts.extend(load.working_set.as_ref().and_then(working_set).map(|c| ("working-set", c)));
    charts.extend(phases(body).map(|chart| ("phases", chart)));
    charts.extend(load.sizes.as_ref().and_then(sizes).map(|chart| ("sizes", chart)));
    charts.extend(load.reuse.as_ref().and_then(misses).map(|chart| ("misses", chart)));
    charts.extend(load.bursts.as_ref().and_then(gaps).map(|chart| ("gaps", chart)));
    charts.extend(load.bursts.as_ref().and_then(dispersion).map(|chart| ("dispersion", chart)));
    let note = body.trace.files.join(", ");
    charts.iter_mut().for_each(|(_, chart)| chart.note.clone_from(&note));
    charts
}

fn line(name: &str, hue: Hue, walk: Walk, points: Vec<LinePoint>) -> Layer {
    Layer::Line(Line { walk, ..Line::new(name, hue, points) })
}

/// Reads and writes of the address spaces that have most, each on a map of its own.
fn maps(heat: &HeatBody, body: &Body) -> Vec<(&'static str, Chart)> {
    let ios = |map: &HeatMap| map.spots.iter().map(|spot| spot.reads + spot.writes).sum::<u64>();
    let mut maps: Vec<&HeatMap> = heat.maps.iter().collect();
    maps.sort_by_key(|map| std::cmp::Reverse(ios(map)));
    let several = maps.len() > 1;
    let mut charts = Vec::new();
    for map in maps.into_iter().take(MAPS) {
        let device = body.devices.iter().find(|device| device.space == map.space);
        let name = device.map_or_else(|| format!("space {}", map.space), |d| d.name.clone());
        let place = if several { format!(" of {name}") } else { String::new() };
        let reads = grid(heat, map, "reads", |spot| spot.reads);
        let writes = grid(heat, map, "writes", |spot| spot.writes);
        charts
            .extend(reads.map(|g| ("reads", heat_map(format!("Where and when: reads{place}"), g))));
        charts.extend(
            writes.map(|g| ("writes", heat_map(format!("Where and when: writes{place}"), g))),
        );
    }
    charts
}

/// `None` where there are none.
fn grid(heat: &HeatBody, map: &HeatMap, what: &str, of: fn(&Spot) -> u64) -> Option<Heat> {
    let cell =
        |spot: &Spot| HeatCell { column: spot.column, row: spot.row, value: of(spot) as f64 };
    let cells: Vec<HeatCell> = map.spots.iter().filter(|s| of(s) > 0).map(cell).collect();
    let (wide, high) = (heat.column_ns as f64, map.row_bytes as f64);
    (!cells.is_empty()).then(|| Heat {
        name: format!("{what} in {} and {}", number::nanoseconds(wide), number::bytes(high)),
        unit: Unit::Count,
        from: (0.0, map.from_bytes as f64),
        step: (wide, high),
        size: (heat.columns, map.rows),
        cells,
    })
}

fn heat_map(title: String, grid: Heat) -> Chart {
    let end = |from: f64, step: f64, count: u32| from + step * f64::from(count);
    let (right, top) =
        (end(grid.from.0, grid.step.0, grid.size.0), end(grid.from.1, grid.step.1, grid.size.1));
    let x = Axis::new("Time", Unit::Ns).from_to(grid.from.0, right);
    let y = Axis::new("Address", Unit::Bytes).from_to(grid.from.1, top);
    let layers = vec![Layer::Heat(grid)];
    let subtitle =
        "by where and when they begin; each shade stands for as large a factor".to_owned();
    Chart { subtitle, layers, ..Chart::new(title, x, y) }
}

/// The same in slices so long that a course of steps through them can be read. Latencies of several slices are not those
/// of their sum, and are left out.
fn coarser(timeline: &TimelineBody) -> TimelineBody {
    let group = timeline.slices.len().div_ceil(STEPS).max(1);
    let merged = |slices: &[Slice]| {
        let sum = |of: fn(&Slice) -> u64| slices.iter().map(of).sum::<u64>();
        let depths = slices.iter().filter_map(|slice| slice.depth_mean);
        let known = slices.iter().any(|slice| slice.depth_mean.is_some());
        Slice {
            reads: sum(|slice| slice.reads),
            writes: sum(|slice| slice.writes),
            others: sum(|slice| slice.others),
            bytes_read: sum(|slice| slice.bytes_read),
            bytes_written: sum(|slice| slice.bytes_written),
            completed: sum(|slice| slice.completed),
            depth_mean: known.then(|| depths.sum::<f64>() / slices.len() as f64),
            depth_max: slices.iter().filter_map(|slice| slice.depth_max).max(),
            ..Slice::default()
        }
    };
    TimelineBody {
        slice_ns: timeline.slice_ns * group as u64,
        slices: timeline.slices.chunks(group).map(merged).collect(),
        ..timeline.clone()
    }
}

/// A value of each slice, from its beginning on. A last slice of less than a half is too short for a rate.
fn over_time(timeline: &TimelineBody, of: impl Fn(&Slice, f64) -> Option<f64>) -> Vec<LinePoint> {
    let slice = timeline.slice_ns;
    let mut points = Vec::new();
    for (index, this) in (0..).zip(&timeline.slices) {
        let from: u64 = index * slice;
        let length = slice.min(timeline.until_ns.saturating_sub(from)).max(1);
        let whole = 2 * length >= slice || index == 0;
        if let Some(value) = of(this, length as f64 / 1e9).filter(|_| whole) {
            points.push(LinePoint::new(from as f64, value));
            let end = (from + length) as f64;
            if timeline.slices.len() as u64 == index + 1 {
                points.push(LinePoint::new(end, value));
            }
        }
    }
    points
}

fn time_line(timeline: &TimelineBody, title: &str, y: Axis, layers: Vec<Layer>) -> Chart {
    let subtitle = format!("in slices of {}", number::nanoseconds(timeline.slice_ns as f64));
    Chart { subtitle, layers, ..Chart::new(title, Axis::new("Time", Unit::Ns), y) }
}

fn rate(timeline: &TimelineBody) -> Chart {
    let of = |name: &str, hue: Hue, of: fn(&Slice) -> u64| {
        let any = timeline.slices.iter().any(|slice| of(slice) > 0);
        let points = over_time(timeline, |slice, s| Some(of(slice) as f64 / s));
        any.then(|| line(name, hue, Walk::After, points))
    };
    let layers = [
        of("reads", Hue::Blue, |slice| slice.reads),
        of("writes", Hue::Vermillion, |slice| slice.writes),
        of("others", Hue::Green, |slice| slice.others),
    ];
    let layers = layers.into_iter().flatten().collect();
    time_line(timeline, "Arrivals over time", Axis::new("Arrivals", Unit::Iops), layers)
}

fn throughput(timeline: &TimelineBody) -> Chart {
    let of = |name: &str, hue: Hue, of: fn(&Slice) -> u64| {
        let any = timeline.slices.iter().any(|slice| of(slice) > 0);
        let points = over_time(timeline, |slice, s| Some(of(slice) as f64 / s / 1e6));
        any.then(|| line(name, hue, Walk::After, points))
    };
    let layers = [
        of("read", Hue::Blue, |slice| slice.bytes_read),
        of("written", Hue::Vermillion, |slice| slice.bytes_written),
    ];
    let layers = layers.into_iter().flatten().collect();
    time_line(timeline, "Bytes asked for over time", Axis::new("Asked for", Unit::MbPerS), layers)
}

/// `None` where no completions are known.
fn depth(timeline: &TimelineBody) -> Option<Chart> {
    let most = over_time(timeline, |slice, _| slice.depth_max.map(|depth| depth as f64));
    let mean = over_time(timeline, |slice, _| slice.depth_mean);
    let layers = vec![
        line("most at once", Hue::Sky, Walk::After, most),
        line("mean", Hue::Blue, Walk::After, mean),
    ];
    let known = timeline.slices.iter().any(|slice| slice.depth_mean.is_some());
    known.then(|| {
        let y = Axis::new("I/Os outstanding (Q to C)", Unit::Count);
        time_line(timeline, "Queue depth over time", y, layers)
    })
}

/// Of Q2C, where it is known.
fn latency(timeline: &TimelineBody) -> Option<Chart> {
    let of = |name: &str, hue: Hue, of: fn(&SliceLatency) -> u64| {
        let points = over_time(timeline, |slice, _| slice.q2c.map(|q2c| of(&q2c).max(1) as f64));
        line(name, hue, Walk::Straight, points)
    };
    let known = timeline.slices.iter().any(|slice| slice.q2c.is_some());
    known.then(|| {
        let layers = vec![
            of("longest", Hue::Vermillion, |q2c| q2c.max_ns),
            of("99% within", Hue::Brown, |q2c| q2c.p99_ns),
            of("half within", Hue::Blue, |q2c| q2c.p50_ns),
        ];
        let y = Axis::new("From arrival to completion (Q2C)", Unit::Ns).scaled(Scale::Log10);
        time_line(timeline, "Latency over time", y, layers)
    })
}

fn working_set(set: &WorkingSetBody) -> Option<Chart> {
    let steps = |of: &dyn Fn(usize) -> Option<u64>| {
        let at = |index: usize| index as f64 * set.window_ns as f64;
        let last = set.windows.len().checked_sub(1);
        let mut points: Vec<LinePoint> = (0..set.windows.len())
            .filter_map(|index| of(index).map(|bytes| LinePoint::new(at(index), bytes as f64)))
            .collect();
        // The last window has its width, too.
        points
            .extend(last.and_then(|l| of(l).map(|bytes| LinePoint::new(at(l + 1), bytes as f64))));
        points
    };
    let window = |index: usize| set.windows[index].distinct;
    let layers = vec![
        line("read", Hue::Blue, Walk::After, steps(&|i| Some(window(i).read_bytes))),
        line("written", Hue::Vermillion, Walk::After, steps(&|i| Some(window(i).written_bytes))),
        line(
            "touched for the first time",
            Hue::Green,
            Walk::After,
            steps(&|i| set.windows[i].new_bytes),
        ),
    ];
    let subtitle = format!(
        "different bytes in windows of {}; {} in all",
        number::nanoseconds(set.window_ns as f64),
        number::bytes(set.distinct.total_bytes as f64)
    );
    let (x, y) = (Axis::new("Time", Unit::Ns), Axis::new("Working set", Unit::Bytes));
    let chart = Chart { subtitle, layers, ..Chart::new("Working set over time", x, y) };
    (!set.windows.is_empty()).then_some(chart)
}

/// Latency percentiles of each phase.
fn phases(body: &Body) -> Option<Chart> {
    let phases = &body.phases;
    let all = [
        ("Q2C", Hue::Blue, phases.q2c),
        ("D2C", Hue::Vermillion, phases.d2c),
        ("I2D", Hue::Green, phases.i2d),
        ("Q2G", Hue::Purple, phases.q2g),
        ("G2I", Hue::Brown, phases.g2i),
        ("Q2M", Hue::Sky, phases.q2m),
    ];
    let mut layers = Vec::new();
    for (name, hue, spread) in all {
        let Some(spread) = spread.filter(|spread| spread.n >= 2) else { continue };
        let n = spread.n as f64;
        let known = [(2.0, spread.p50_ns), (100.0, spread.p99_ns), (1000.0, spread.p999_ns)];
        let inner = known.into_iter().filter(|(one_in, _)| *one_in < n);
        let points = inner.chain([(n, spread.max_ns)]);
        let points = points.map(|(one_in, ns)| LinePoint::new(one_in, ns.max(1) as f64));
        layers.push(line(name, hue, Walk::Straight, points.collect()));
    }
    let x = Axis::new("One I/O in N takes longer", Unit::Count).scaled(Scale::Log10);
    let y = Axis::new("Time", Unit::Ns).scaled(Scale::Log10);
    let subtitle = "half of all, 99%, 99.9%, and the longest".to_owned();
    let any = !layers.is_empty();
    any.then(|| Chart { subtitle, layers, ..Chart::new("Phases of I/Os", x, y) })
}

/// Shares of `total`, in percent, of what is counted from powers of two on to below the next; `None` where nothing is.
fn shares(
    name: &str,
    hue: Hue,
    ranges: impl Iterator<Item = (u64, u64)>,
    total: u64,
) -> Option<Layer> {
    let mut points: Vec<LinePoint> = Vec::new();
    let mut end = None;
    for (from, count) in ranges {
        let from = from as f64;
        // A gap between ranges drops the line to zero.
        let breaks = end.filter(|end| *end < from);
        points.extend(breaks.map(|end| LinePoint::new(end, 0.0)));
        if breaks.is_some() || end.is_none() {
            points.push(LinePoint::new(from, 0.0));
        }
        points.push(LinePoint::new(from, 100.0 * count as f64 / total.max(1) as f64));
        end = Some(2.0 * from);
    }
    points.extend(end.map(|end| LinePoint::new(end, 0.0)));
    (!points.is_empty()).then(|| line(name, hue, Walk::After, points))
}

fn sizes(sizes: &SizesBody) -> Option<Chart> {
    let of = |name: &str, hue: Hue, table: &SizeTable| {
        let ranges = table.ranges.iter().filter(|range| range.from_bytes > 0);
        shares(name, hue, ranges.map(|range| (range.from_bytes, range.ios)), table.ios)
    };
    let layers = [
        of("reads", Hue::Blue, &sizes.reads),
        of("writes", Hue::Vermillion, &sizes.writes),
        of("discards", Hue::Green, &sizes.discards),
    ];
    let layers: Vec<Layer> = layers.into_iter().flatten().collect();
    let x = Axis::new("Size, from this to below its double", Unit::Bytes).scaled(Scale::Log2);
    let y = Axis::new("Share of I/Os", Unit::Percent);
    let common = sizes.transfers.common.iter().take(3);
    let share = |share: f64| number::share(share);
    let common: Vec<String> = common
        .map(|size| format!("{} ({})", number::bytes(size.bytes as f64), share(size.share)))
        .collect();
    let subtitle = match common.is_empty() {
        true => String::new(),
        false => format!("most frequent: {}", common.join(", ")),
    };
    let any = !layers.is_empty();
    any.then(|| Chart { subtitle, layers, ..Chart::new("Sizes", x, y) })
}

fn misses(reuse: &ReuseBody) -> Option<Chart> {
    let percent = |at: u64, ratio: f64| LinePoint::new(at as f64, 100.0 * ratio);
    let curve = &reuse.curve;
    let all = curve.iter().map(|point| percent(point.cache_bytes, point.miss_ratio)).collect();
    let reads: Vec<LinePoint> = curve
        .iter()
        .filter_map(|point| point.read_miss_ratio.map(|ratio| percent(point.cache_bytes, ratio)))
        .collect();
    let mut layers = vec![line("reads and writes", Hue::Vermillion, Walk::Straight, all)];
    if !reads.is_empty() {
        layers.push(line("reads", Hue::Blue, Walk::Straight, reads));
    }
    let known = match reuse.exact {
        true => "exact".to_owned(),
        false => format!("from a sample, to {} on average", number::share(reuse.error)),
    };
    let x = Axis::new("Cache (LRU)", Unit::Bytes).scaled(Scale::Log2);
    let y = Axis::new("Accesses that it misses", Unit::Percent).from_to(0.0, 100.0);
    let subtitle = format!(
        "of {} of data in blocks of 4 KiB, {known}",
        number::bytes(reuse.footprint_bytes as f64)
    );
    let any = !curve.is_empty();
    any.then(|| Chart { subtitle, layers, ..Chart::new("What a cache would miss", x, y) })
}

fn gaps(bursts: &BurstsBody) -> Option<Chart> {
    let gaps = &bursts.gaps;
    let ranges = gaps.by_ns.iter().filter(|range| range.from > 0);
    let course = shares("", Hue::Blue, ranges.map(|range| (range.from, range.count)), gaps.count)?;
    let mut layers = vec![course];
    layers.extend(gaps.mean_ns.filter(|mean| *mean >= 1.0).map(|value| {
        let (name, hue, across) = ("mean".to_owned(), Hue::Vermillion, Across::X);
        Layer::Mark(Mark { name, hue, across, value, over: None })
    }));
    let x = Axis::new("Gap, from this to below its double", Unit::Ns).scaled(Scale::Log10);
    let y = Axis::new("Share of gaps", Unit::Percent);
    let subtitle = gaps.cv.map_or(String::new(), |cv| {
        format!(
            "standard deviation {} times the mean; 1 where arrivals are independent",
            number::digits(cv)
        )
    });
    Some(Chart { subtitle, layers, ..Chart::new("Gaps between arrivals", x, y) })
}

fn dispersion(bursts: &BurstsBody) -> Option<Chart> {
    let windows = bursts.windows.iter();
    let point = |at: u64, value: f64| LinePoint::new(at as f64, value);
    let known = windows.filter_map(|w| w.dispersion.map(|value| (w.window_ns, value)));
    let points: Vec<LinePoint> =
        known.filter(|(_, value)| *value > 1e-9).map(|(at, value)| point(at, value)).collect();
    if points.len() < 2 {
        return None;
    }
    let mark = Mark {
        name: "independent arrivals".to_owned(),
        hue: Hue::Grey,
        across: Across::Y(Side::Left),
        value: 1.0,
        over: None,
    };
    let layers = vec![line("", Hue::Blue, Walk::Straight, points), Layer::Mark(mark)];
    let x = Axis::new("Length of a window", Unit::Ns).scaled(Scale::Log10);
    let y = Axis::new("Variance of arrivals over their mean", Unit::Ratio).scaled(Scale::Log10);
    let subtitle = match bursts.hurst.wavelet {
        Some(hurst) => format!("Hurst exponent {}", number::digits(hurst)),
        None => String::new(),
    };
    Some(Chart { subtitle, layers, ..Chart::new("How long bursts last", x, y) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Bytes, Nanos};
    use report::chart::{Canvas, svg, terminal};
    use trace::analyze::{Options, run};
    use trace::{InMemory, Io, Kind, Space, Stamp, TraceInfo};

    /// A scan with rewrites of a hot place, of which completions are known or not.
    fn body(ios: u64, completions: bool) -> Body {
        let io = |i: u64| {
            let at = Nanos(i * 50_000 + i * i % 7_919 * 10);
            let (kind, offset) = match i % 3 {
                0 => (Kind::Write, (1 << 30) + i * i % 64 * 4096),
                _ => (Kind::Read, i * 16_384),
            };
            let issued = at.0 + 1_000;
            let stamp = |ns: u64| if completions { Stamp::at(Nanos(ns)) } else { Stamp::NONE };
            Io {
                issued: stamp(issued),
                completed: stamp(issued + 60_000 + i * i % 997 * 100),
                ..Io::arriving(at, kind, Bytes(offset), Bytes(4096 << (i % 4)))
            }
        };
        let spaces = vec![Space { name: "sda".to_owned(), ..Space::default() }];
        let (resolution, files) = (Nanos(1), vec!["app.parquet".to_owned()]);
        let info = TraceInfo { spaces, resolution, files, ..TraceInfo::default() };
        let mut source = InMemory::new(info, (0..ios).map(io).collect());
        run(&Options::default(), &mut source).unwrap()
    }

    fn words(body: &Body) -> Vec<&'static str> {
        charts(body).into_iter().map(|(word, _)| word).collect()
    }

    /// If it failed, what was looked at would not be seen, or be drawn from nothing.
    #[test]
    fn what_is_known_is_drawn_and_nothing_else() {
        let all = [
            "reads",
            "writes",
            "rate",
            "throughput",
            "depth",
            "latency",
            "working-set",
            "phases",
            "sizes",
            "misses",
            "gaps",
            "dispersion",
        ];
        assert_eq!(words(&body(20_000, true)), all);
        let told = |word: &&str| !["depth", "latency", "phases"].contains(word);
        let arrivals: Vec<&str> = all.into_iter().filter(told).collect();
        assert_eq!(words(&body(20_000, false)), arrivals);
        assert!(!words(&body(1, false)).contains(&"gaps"));
    }

    /// If it failed, the plot of some trace would end in an error.
    #[test]
    fn every_chart_is_drawn_on_paper_and_in_a_terminal() {
        for (ios, completions) in [(1, true), (2, false), (20_000, true)] {
            for (word, chart) in charts(&body(ios, completions)) {
                assert_eq!(chart.note, "app.parquet");
                svg(&chart, Canvas::default()).unwrap_or_else(|error| panic!("{word}: {error}"));
                let text = terminal(&chart, report::Style::default()).unwrap().plain();
                assert!(text.lines().count() <= 32, "{word}: {text}");
            }
        }
    }

    /// If it failed, the chart would show another load than the trace has.
    #[test]
    fn the_rates_drawn_are_those_of_the_trace() {
        let body = body(20_000, true);
        let timeline = coarser(body.load.timeline.as_ref().unwrap());
        assert!(timeline.slices.len() <= STEPS);
        assert_eq!(timeline.slices.iter().map(|s| s.reads + s.writes).sum::<u64>(), 20_000);
        let Layer::Line(reads) = &rate(&timeline).layers[0] else { panic!("rates are lines") };
        // Two of three are reads, one every 50 µs.
        let middle = reads.points[reads.points.len() / 2].y;
        assert!((middle - 13_333.0).abs() < 300.0, "{middle}");
        let share = |layer: Option<Layer>| match layer {
            Some(Layer::Line(line)) => line.points.iter().map(|p| (p.x, p.y)).collect(),
            _ => Vec::new(),
        };
        let course = share(shares("", Hue::Blue, [(4, 1), (8, 2), (64, 1)].into_iter(), 4));
        let expected = [
            (4.0, 0.0),
            (4.0, 25.0),
            (8.0, 50.0),
            (16.0, 0.0),
            (64.0, 0.0),
            (64.0, 25.0),
            (128.0, 0.0),
        ];
        assert_eq!(course, expected);
    }
}
