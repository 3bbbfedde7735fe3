//! Series: rates and response times over time, over bytes, over drive fills.

use pts::body::{Body, RuleVerdict};
use pts::table::Table;
use report::chart::{
    Across, Axis, Chart, Hue, Layer, Line, LinePoint, Mark, Points, Scale, Side, Zone,
};
use stats::Unit;
use stats::steady::Verdict;

use super::parts::{bare, hue, pairs};

/// A rate below this share of the fresh plateau is no longer of it.
const CLIFF: f64 = 0.8;
/// Least number of values that define the plateau.
const FALL: usize = 3;

/// Quantity on the x axis of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// Seconds since the series began.
    Time,
    /// Gigabytes written.
    Written,
    /// The same as a multiple of the range.
    Fills,
}

impl Along {
    fn column(self) -> &'static str {
        match self {
            Along::Time => "time, s",
            Along::Written => "written, GB",
            Along::Fills => "written, fills",
        }
    }

    fn axis(self) -> Axis {
        match self {
            Along::Time => Axis::new("Time", Unit::Ns),
            Along::Written => Axis::new("Written (GB)", Unit::Ratio),
            Along::Fills => Axis::new("Written (drive fills)", Unit::Ratio),
        }
    }

    fn factor(self) -> f64 {
        if self == Along::Time { 1e9 } else { 1.0 }
    }
}

/// The curve of a test that has one, in fine slices.
pub fn curve(body: &Body) -> Option<Chart> {
    let table = ["curve", "series", "samples"].iter().find_map(|key| body.tables.get(*key))?;
    let points = line_of(table, Along::Time, ("IOPS", 1.0));
    let mut chart = bare(
        body,
        &table.title,
        Along::Time.axis(),
        Axis::new("Random I/O", Unit::Iops).with_zero(),
    );
    chart.layers.push(Layer::Line(Line::new("IOPS", Hue::Blue, points)));
    drawable(chart)
}

/// One figure of the samples of a series.
pub fn rates(body: &Body, table: &Table, along: Along) -> Option<Chart> {
    let title = format!("IOPS by {}", words(along));
    let mut chart =
        bare(body, &title, along.axis(), Axis::new("Random I/O", Unit::Iops).with_zero());
    let points = line_of(table, along, ("IOPS", 1.0));
    chart.layers.push(Layer::Line(Line::new("IOPS, samples of a minute", Hue::Blue, points)));
    if let Some(value) = steady_value(body) {
        chart.layers.push(value);
    }
    drawable(chart)
}

/// Response times of the samples of a series: mean, five nines, greatest.
pub fn response_times(body: &Body, table: &Table, along: Along) -> Option<Chart> {
    let title = format!("response times by {}", words(along));
    let y = Axis::new("Response time", Unit::Ns).scaled(Scale::Log10);
    let mut chart = bare(body, &title, along.axis(), y);
    for (name, column, hue) in [
        ("greatest (MRT)", "MRT, us", Hue::Vermillion),
        ("99.999%", "p99.999, us", Hue::Purple),
        ("mean (ART)", "ART, us", Hue::Blue),
    ] {
        let points: Vec<LinePoint> =
            line_of(table, along, (column, 1e3)).into_iter().filter(|p| p.y > 0.0).collect();
        if points.len() > 1 {
            chart.layers.push(Layer::Line(Line::new(name, hue, points)));
        }
    }
    drawable(chart)
}

fn words(along: Along) -> &'static str {
    match along {
        Along::Time => "time",
        Along::Written => "gigabytes written",
        Along::Fills => "drive fills written",
    }
}

fn line_of(table: &Table, along: Along, (column, factor): (&str, f64)) -> Vec<LinePoint> {
    let point = |(x, y): (f64, f64)| LinePoint::new(x * along.factor(), y * factor);
    pairs(table, along.column(), column).into_iter().map(point).collect()
}

fn drawable(chart: Chart) -> Option<Chart> {
    let has = |layer: &Layer| match layer {
        Layer::Line(line) => line.points.len() > 1,
        Layer::Points(points) => points.points.len() > 1,
        _ => false,
    };
    chart.layers.iter().any(has).then_some(chart)
}

/// Parts of a drive's life, on the time axis of its curve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Phases {
    /// Rate of the fresh drive.
    pub plateau: f64,
    /// Time at which it fell below that, in seconds.
    pub cliff_s: Option<f64>,
    /// Start of the window on which the drive was found steady by bytes, in seconds.
    pub steady_s: Option<f64>,
}

/// Finds the fresh plateau and its end in the curve, and the window on which the drive was found steady.
pub fn phases(body: &Body) -> Option<Phases> {
    let points = pairs(body.tables.get("curve")?, "time, s", "IOPS");
    let (plateau, fall) = plateau(&points)?;
    let cliff_s = fall.filter(|_| !body.setup.in_place);
    let ours = body.steady.as_ref().map(|steady| &steady.ours);
    let found = ours.filter(|ours| ours.verdict == Verdict::Yes);
    let from_bytes = found.and_then(|ours| ours.from_bytes.or(ours.at_bytes));
    let steady_s = from_bytes.and_then(|bytes| {
        let samples = pairs(body.tables.get("samples")?, "time, s", "written, GB");
        samples.into_iter().find(|sample| sample.1 * 1e9 >= bytes as f64 * 0.999).map(|s| s.0)
    });
    Some(Phases { plateau, cliff_s, steady_s })
}

/// The rate at first, and when it fell off that, of `points` in time. A dip shorter than half of the values that define the
/// plateau does not end it.
fn plateau(points: &[(f64, f64)]) -> Option<(f64, Option<f64>)> {
    let length = (points.len() / 50).max(FALL);
    let level =
        |run: &[(f64, f64)]| stats::median(&run.iter().map(|point| point.1).collect::<Vec<_>>());
    let plateau = level(points.get(..length)?)?;
    let is_low = |rate: f64| rate < CLIFF * plateau;
    let is_fallen = |run: &&[(f64, f64)]| is_low(run[0].1) && level(run).is_some_and(is_low);
    Some((plateau, points.windows(length).find(is_fallen).map(|run| run[0].0)))
}

/// Write saturation: IOPS over time with the fresh plateau, the cliff, the transition and the steady state.
pub fn saturation(body: &Body) -> Option<Chart> {
    let mut chart = curve(body)?;
    chart.title = format!("{}: IOPS over time", body.test.title());
    let Some(phases) = phases(body) else { return Some(chart) };
    let end = match chart.layers.first() {
        Some(Layer::Line(line)) => line.points.last()?.x,
        _ => return Some(chart),
    };
    let mut zone = |name: &str, hue, from: f64, to: f64| {
        if to > from {
            let (name, across) = (name.to_owned(), Across::X);
            chart.layers.push(Layer::Zone(Zone { name, hue, across, from, to }));
        }
    };
    let steady = phases.steady_s.map(|at| at * 1e9);
    let cliff = phases.cliff_s.map(|at| at * 1e9);
    if let Some(cliff) = cliff {
        zone("fresh", Hue::Sky, 0.0, cliff);
        zone("transition", Hue::Brown, cliff, steady.unwrap_or(end));
    }
    if let Some(steady) = steady {
        zone("steady", Hue::Green, steady, end);
    }
    if let Some(cliff) = cliff {
        chart.layers.push(Layer::Mark(Mark {
            name: "fresh plateau".to_owned(),
            hue: Hue::Sky,
            across: Across::Y(Side::Left),
            value: phases.plateau,
            over: None,
        }));
        chart.layers.push(Layer::Mark(Mark {
            name: "cliff".to_owned(),
            hue: Hue::Vermillion,
            across: Across::X,
            value: cliff,
            over: None,
        }));
    }
    chart.layers.extend(steady_value(body));
    Some(chart)
}

/// The value that was found steady by bytes; else that which the specification's five rounds report, called so.
fn steady_value(body: &Body) -> Option<Layer> {
    let steady = body.steady.as_ref()?;
    let ours = steady.ours.value.filter(|_| steady.ours.verdict == Verdict::Yes);
    let five = steady.pts.window.filter(|_| steady.pts.verdict == RuleVerdict::Steady);
    let (name, hue, value) = match (ours, five) {
        (Some(value), _) => ("steady by bytes", Hue::Green, value.median),
        (None, Some(window)) => ("by PTS", Hue::Purple, window.average),
        (None, None) => return None,
    };
    let (name, across) = (name.to_owned(), Across::Y(Side::Left));
    Some(Layer::Mark(Mark { name, hue, across, value, over: None }))
}

/// Host idle recovery: stretches of writes after pauses, and without, over time.
pub fn recovery(body: &Body) -> Option<Chart> {
    let table = body.tables.get("series")?;
    let y = Axis::new("RND 4 KiB writes", Unit::Iops).with_zero();
    let mut chart = bare(body, "IOPS over time, all pauses", Along::Time.axis(), y);
    let (mut paused, mut unpaused) = (Vec::new(), Vec::new());
    let mut begun: Vec<(String, f64)> = Vec::new();
    let values = pairs(table, "time, s", "IOPS");
    for (row, (time, iops)) in table.rows.iter().zip(values) {
        let spot = (time * 1e9, iops);
        let (state, _) = row.label.split_once(',').unwrap_or((&row.label, ""));
        let part = if state.starts_with('A') { &mut paused } else { &mut unpaused };
        part.push(spot);
        if state.starts_with('A') && begun.last().is_none_or(|(last, _)| last != state) {
            begun.push((state.to_owned(), spot.0));
        }
    }
    chart.layers.push(Layer::Points(Points::new("back to back", Hue::Grey, unpaused)));
    chart.layers.push(Layer::Points(Points::new("after a pause", Hue::Blue, paused)));
    for (state, from) in begun {
        chart.layers.push(Layer::Mark(Mark {
            name: format!("{} pauses, from", state.trim_start_matches("A ")),
            hue: Hue::Purple,
            across: Across::X,
            value: from,
            over: None,
        }));
    }
    if let Some(window) = body.steady.as_ref().and_then(|steady| steady.pts.window) {
        chart.layers.push(Layer::Mark(Mark {
            name: "baseline".to_owned(),
            hue: Hue::Green,
            across: Across::Y(Side::Left),
            value: window.average,
            over: None,
        }));
    }
    drawable(chart)
}

/// Names of the groups of cross stimulus recovery.
const GROUPS: [(&str, &str); 3] =
    [("G1", "SEQ 1024 KiB"), ("G2", "RND 8 KiB"), ("G3", "SEQ 1024 KiB again")];

/// Cross stimulus recovery: throughput over time; all of it, or the last minutes of the group `zoom` and as many of
/// the next one.
pub fn stimuli(body: &Body, zoom: Option<usize>) -> Option<Chart> {
    const ZOOM_MINUTES: usize = 120;
    let table = body.tables.get("series")?;
    let title = match zoom {
        None => "throughput over time".to_owned(),
        Some(at) => format!("the change from {} to {}", GROUPS[at].0, GROUPS[at + 1].0),
    };
    let y = Axis::new("Writes", Unit::MbPerS).with_zero();
    let mut chart = bare(body, &title, Along::Time.axis(), y);
    for (at, (group, name)) in GROUPS.iter().enumerate() {
        let mut points = group_of(table, group, ("throughput, MB/s", 1.0));
        match zoom {
            Some(zoom) if at == zoom => {
                points = points.split_off(points.len().saturating_sub(ZOOM_MINUTES));
            }
            Some(zoom) if at == zoom + 1 => points.truncate(ZOOM_MINUTES),
            Some(_) => continue,
            None => {}
        }
        let name = format!("{group}: {name}");
        chart.layers.push(Layer::Line(Line::new(name, hue(at, GROUPS.len()), points)));
    }
    let first = group_of(table, GROUPS[0].0, ("throughput, MB/s", 1.0));
    if zoom != Some(0) && !first.is_empty() {
        let sum: f64 = first.iter().map(|point| point.y).sum();
        chart.layers.push(Layer::Mark(Mark {
            name: "mean of G1".to_owned(),
            hue: Hue::Grey,
            across: Across::Y(Side::Left),
            value: sum / first.len() as f64,
            over: None,
        }));
    }
    drawable(chart)
}

fn group_of(table: &Table, group: &str, (column, factor): (&str, f64)) -> Vec<LinePoint> {
    let rows = table.rows.iter().filter(|row| row.label.starts_with(group)).cloned().collect();
    line_of(&Table { rows, ..table.clone() }, Along::Time, (column, factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a queue that fills up, or a dip, is drawn as the end of the fresh plateau; or its end is drawn where it is not.
    #[test]
    fn the_plateau_ends_where_the_rate_stays_low() {
        let curve = |rate: &dyn Fn(usize) -> f64| {
            (0..1000).map(|at| (at as f64 / 100.0, rate(at))).collect::<Vec<_>>()
        };
        let (dips, cliff) = ([1, 2, 3, 4, 300, 301, 302, 303, 304], 500);
        let fresh = curve(&|at| if dips.contains(&at) { 70e3 } else { 160e3 });
        assert_eq!(plateau(&fresh), Some((160e3, None)));
        let worn = curve(&|at| match at {
            at if at >= cliff => 90e3,
            at if dips.contains(&at) => 70e3,
            _ => 160e3,
        });
        assert_eq!(plateau(&worn), Some((160e3, Some(5.0))));
        assert_eq!(plateau(&worn[..FALL - 1]), None);
    }
}
