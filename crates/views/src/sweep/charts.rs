//! A sweep as charts: throughput by the factors, how far runs spread, each run over time, and the distribution of runs of
//! each setting.

use mark::sweep::body::{SettingFigures, Standing};
use mark::sweep::{Body, Factor, Level, Vary};
use report::chart::{
    Across, Axis, Chart, Heat, HeatCell, Hue, Layer, Line, LinePoint, Mark, Points, Scale, Side,
};
use stats::Unit;

use crate::drive;

/// Settings that are drawn as strips.
const STRIPS_MAX: usize = 32;
/// Most lines that can be distinguished in one chart.
const LINES_MAX: usize = 8;
/// Unstable settings whose runs are drawn alone.
const ALONE_MAX: usize = 2;
/// From this factor on between the slowest and the fastest, speeds are drawn on a logarithmic axis.
const WIDE: f64 = 8.0;

/// The chart for a terminal.
pub fn first(body: &Body) -> Option<Chart> {
    lines(body).into_iter().next().or_else(|| heat(body))
}

/// All charts, the most important first.
pub fn all(body: &Body) -> Vec<Chart> {
    let mut charts: Vec<Chart> = heat(body).into_iter().collect();
    charts.extend(lines(body));
    charts.extend(spreads(body));
    charts.extend([over_time(body), strips(body)].into_iter().flatten());
    let mut unstable: Vec<&SettingFigures> =
        body.settings.iter().filter(|s| s.stability.standing == Standing::Unstable).collect();
    unstable.sort_by(|a, b| b.mb_s.cv.total_cmp(&a.mb_s.cv));
    charts.extend(unstable.into_iter().take(ALONE_MAX).map(|setting| alone(body, setting)));
    charts
}

fn chart(body: &Body, title: &str, subtitle: String, (x, y): (Axis, Axis)) -> Chart {
    let base = &body.sweep.base;
    Chart {
        subtitle,
        note: format!(
            "{}, {}; {} {}; {} each; seed {}",
            body.target.name,
            drive(&body.target, &body.stack),
            base.test(),
            base.op.word(),
            report::number::counted(
                body.settings.iter().map(|setting| setting.runs.len()).max().unwrap_or(0),
                "run"
            ),
            body.setup.seed
        ),
        ..Chart::new(title, x, y)
    }
}

/// Settings with a number that stands.
fn standing(body: &Body) -> impl Iterator<Item = &SettingFigures> {
    let has_rates = |s: &&SettingFigures| s.rates().iter().any(|rate| *rate > 0.0);
    body.settings.iter().filter(|setting| setting.headline).filter(has_rates)
}

/// The factors that make axes: those with most levels first, numbers before words.
fn axes(body: &Body) -> Vec<usize> {
    let mut factors: Vec<usize> = (0..body.sweep.vary.len()).collect();
    factors.sort_by_key(|factor| {
        let vary = &body.sweep.vary[*factor];
        (!is_numeric(vary), std::cmp::Reverse(vary.levels.len()))
    });
    factors
}

fn is_numeric(vary: &Vary) -> bool {
    vary.levels.iter().all(|level| level.number().is_some())
}

fn classes(vary: &Vary) -> Axis {
    Axis::of_classes(label(vary.factor), vary.levels.iter().map(Level::to_string).collect())
}

fn label(factor: Factor) -> &'static str {
    match factor {
        Factor::Pattern => "Pattern",
        Factor::Block => "Block size",
        Factor::Depth => "Queue depth",
        Factor::Threads => "Threads",
        Factor::Op => "Operation",
        Factor::Size => "Size",
        Factor::WarmUp => "Warm-up",
        Factor::Duration => "Measured time",
        Factor::Order => "Order of runs",
        Factor::Engine => "Engine",
    }
}

/// The axis of a factor, and where each of its levels is on it.
fn axis(vary: &Vary) -> (Axis, Vec<f64>) {
    let numbers: Option<Vec<f64>> =
        vary.levels.iter().map(|level| level.number().map(|number| number as f64)).collect();
    let Some(numbers) = numbers else {
        return (classes(vary), (0..vary.levels.len()).map(|at| at as f64).collect());
    };
    let unit = match vary.factor {
        Factor::Block | Factor::Size => Unit::Bytes,
        Factor::WarmUp | Factor::Duration => Unit::Ns,
        _ => Unit::Count,
    };
    let axis = Axis::new(label(vary.factor), unit);
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(0.0, f64::max);
    let is_wide = least > 0.0 && most / least >= WIDE;
    (if is_wide { axis.scaled(Scale::Log2) } else { axis }, numbers)
}

/// The geometric mean of medians of the settings at these levels of two factors; of settings that stand.
fn mean(body: &Body, levels: &[(usize, usize)]) -> Option<f64> {
    let is_there = |s: &&SettingFigures| {
        levels.iter().all(|(factor, level)| s.levels[*factor] == *level)
            && (!body.sweep.one_at_a_time || is_about_base(s, levels))
    };
    let logs: Vec<f64> = standing(body)
        .filter(is_there)
        .filter_map(|s| s.mb_s.median.filter(|median| *median > 0.0))
        .map(f64::ln)
        .collect();
    let count = logs.len() as f64;
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / count).exp())
}

/// One at a time, what is not named is at the base.
fn is_about_base(setting: &SettingFigures, levels: &[(usize, usize)]) -> bool {
    let is_named = |factor: usize| levels.iter().any(|(named, _)| *named == factor);
    setting.levels.iter().enumerate().all(|(factor, level)| is_named(factor) || *level == 0)
}

fn rest(body: &Body, shown: &[usize]) -> String {
    let others = (0..body.sweep.vary.len()).filter(|factor| !shown.contains(factor));
    let names: Vec<&str> = others.map(|factor| body.sweep.vary[factor].factor.word()).collect();
    match names.as_slice() {
        [] => "medians of runs".to_owned(),
        names if body.sweep.one_at_a_time => {
            format!("medians of runs; {} as in the base", names.join(", "))
        }
        names => format!("geometric mean of medians over {}", names.join(", ")),
    }
}

/// Two factors of which all levels met, as shades.
fn heat(body: &Body) -> Option<Chart> {
    let factors = axes(body);
    let [x, y, ..] = factors.as_slice() else { return None };
    let (of_x, of_y) = (&body.sweep.vary[*x], &body.sweep.vary[*y]);
    let is_grid = of_x.levels.len() > 2 && of_y.levels.len() > 2;
    if body.sweep.one_at_a_time || !is_grid {
        return None;
    }
    let mut cells = Vec::new();
    for column in 0..of_x.levels.len() {
        for row in 0..of_y.levels.len() {
            if let Some(value) = mean(body, &[(*x, column), (*y, row)]) {
                cells.push(HeatCell { column: column as u32, row: row as u32, value });
            }
        }
    }
    if cells.is_empty() {
        return None;
    }
    let (name, unit) = ("throughput, MB/s".to_owned(), Unit::MbPerS);
    let size = (of_x.levels.len() as u32, of_y.levels.len() as u32);
    let (from, step) = ((-0.5, -0.5), (1.0, 1.0));
    let title = format!("Throughput by {} and {}", of_x.factor.word(), of_y.factor.word());
    let axes = (classes(of_x), classes(of_y));
    let mut chart = chart(body, &title, rest(body, &[*x, *y]), axes);
    chart.layers.push(Layer::Heat(Heat { name, unit, from, step, size, cells }));
    Some(chart)
}

/// The levels of a second factor that are drawn: all, or the first and the last and some between.
fn drawn(vary: Option<&Vary>) -> Vec<usize> {
    let count = vary.map_or(1, |vary| vary.levels.len());
    if count <= LINES_MAX {
        return (0..count).collect();
    }
    (0..LINES_MAX).map(|line| line * (count - 1) / (LINES_MAX - 1)).collect()
}

/// The factors by which values are drawn: the two that make axes; one at a time, each by itself.
fn drawn_by(body: &Body) -> Vec<(usize, Option<usize>)> {
    let factors = axes(body);
    match (body.sweep.one_at_a_time, factors.as_slice()) {
        (true, factors) => factors.iter().map(|factor| (*factor, None)).collect(),
        (false, [first, second, ..]) => vec![(*first, Some(*second))],
        (false, factors) => factors.iter().map(|factor| (*factor, None)).collect(),
    }
}

/// Values by one factor, a line for each level of a second one.
fn by_factors(
    body: &Body,
    (first, second): (usize, Option<usize>),
    (title, subtitle): (&str, &str),
    y: Axis,
    value: impl Fn(&[(usize, usize)]) -> Option<LinePoint>,
) -> Option<Chart> {
    let of_second = second.map(|second| &body.sweep.vary[second]);
    let (x, places) = axis(&body.sweep.vary[first]);
    let shown: Vec<usize> = [Some(first), second].into_iter().flatten().collect();
    let rest = rest(body, &shown);
    let title = format!("{title} by {}", body.sweep.vary[first].factor.word());
    let subtitle = if subtitle.is_empty() { rest } else { format!("{subtitle}; {rest}") };
    let mut chart = chart(body, &title, subtitle, (x, y));
    let lines = drawn(of_second);
    let of = lines.len() as u8;
    for (index, level) in lines.into_iter().enumerate() {
        let mut points: Vec<LinePoint> = places
            .iter()
            .enumerate()
            .filter_map(|(column, x)| {
                let mut at = vec![(first, column)];
                at.extend(second.map(|second| (second, level)));
                value(&at).map(|point| LinePoint { x: *x, ..point })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let name = match of_second {
            Some(vary) => format!("{} {}", vary.factor.word(), vary.levels[level]),
            None => String::new(),
        };
        let is_ordered = of_second.is_some_and(is_numeric) && of > 6;
        let hue = if is_ordered { Hue::Step { index: index as u8, of } } else { Hue::nth(index) };
        if !points.is_empty() {
            chart.layers.push(Layer::Line(Line::new(name, hue, points)));
        }
    }
    (!chart.layers.is_empty()).then_some(chart)
}

/// The only setting at these levels.
fn only<'a>(body: &'a Body, levels: &[(usize, usize)]) -> Option<&'a SettingFigures> {
    let is_there = |s: &&SettingFigures| {
        levels.iter().all(|(factor, level)| s.levels[*factor] == *level)
            && (!body.sweep.one_at_a_time || is_about_base(s, levels))
    };
    let mut there = standing(body).filter(is_there);
    there.next().filter(|_| there.next().is_none())
}

fn lines(body: &Body) -> Vec<Chart> {
    let y = Axis::new("Throughput", Unit::MbPerS);
    let y = if is_wide(body) { y.scaled(Scale::Log10) } else { y.with_zero() };
    let value = |levels: &[(usize, usize)]| {
        let interval = only(body, levels).and_then(|s| s.mb_s.low.zip(s.mb_s.high));
        mean(body, levels).map(|y| LinePoint { x: 0.0, y, interval })
    };
    let of = |factors| by_factors(body, factors, ("Throughput", ""), y.clone(), value);
    drawn_by(body).into_iter().filter_map(of).collect()
}

fn is_wide(body: &Body) -> bool {
    let medians = || standing(body).filter_map(|setting| setting.mb_s.median);
    let least = medians().fold(f64::INFINITY, f64::min);
    medians().fold(0.0, f64::max) > WIDE * least
}

/// How far runs spread, beside the limit.
fn spreads(body: &Body) -> Vec<Chart> {
    let percent = |share: f64| 100.0 * share;
    let y = Axis::new("R/Avg of 20 runs", Unit::Percent).with_zero();
    let words = ("Spread of runs", "by the deviation of runs, with its 95% interval");
    let value = |levels: &[(usize, usize)]| {
        let spread = only(body, levels).and_then(|s| s.stability.r_over_avg_of_20);
        if let Some(ends) = spread {
            let (low, high) = (percent(ends.low), percent(ends.high));
            return Some(LinePoint::between(0.0, percent(ends.value), low, high));
        }
        // Of several settings the median spread.
        let is_there =
            |s: &&SettingFigures| levels.iter().all(|(factor, level)| s.levels[*factor] == *level);
        let all: Vec<f64> = standing(body)
            .filter(is_there)
            .filter_map(|s| Some(s.stability.r_over_avg_of_20?.value))
            .collect();
        stats::median(&all).map(|y| LinePoint::new(0.0, percent(y)))
    };
    let limit = Layer::Mark(Mark {
        name: "limit".to_owned(),
        hue: Hue::Vermillion,
        across: Across::Y(Side::Left),
        value: percent(body.limits.r_over_avg_of_20),
        over: None,
    });
    let of = |factors| {
        let mut chart = by_factors(body, factors, words, y.clone(), value)?;
        chart.layers.push(limit.clone());
        Some(chart)
    };
    drawn_by(body).into_iter().filter_map(of).collect()
}

/// Index in [`CLASSES`] of the class in which a run is drawn.
fn class(setting: &SettingFigures, run: usize) -> usize {
    let stability = &setting.stability;
    match (&stability.modes, stability.standing) {
        (Some(modes), _) if modes.low_runs.contains(&run) => 3,
        (_, Standing::Unstable) => 2,
        (_, Standing::Undecided) => 1,
        _ => 0,
    }
}

const CLASSES: [(&str, Hue); 4] = [
    ("usable settings", Hue::Blue),
    ("undecided", Hue::Green),
    ("unstable", Hue::Brown),
    ("the lower of two groups", Hue::Vermillion),
];

/// All runs by class, each with the place that `at` gives it; classes without runs are left out.
fn runs_by_class<'a>(
    settings: impl Iterator<Item = (usize, &'a SettingFigures)>,
    at: impl Fn(usize, &SettingFigures, usize) -> Option<(f64, f64)>,
) -> Vec<Layer> {
    let mut classes: [Vec<(f64, f64)>; 4] = Default::default();
    for (index, setting) in settings {
        for run in 0..setting.runs.len() {
            classes[class(setting, run)].extend(at(index, setting, run));
        }
    }
    let drawn = classes.into_iter().zip(CLASSES).filter(|(points, _)| !points.is_empty());
    drawn.map(|(points, (name, hue))| Layer::Points(Points::new(name, hue, points))).collect()
}

/// Each run beside its setting's median, in the order made.
fn over_time(body: &Body) -> Option<Chart> {
    let x = Axis::new("Run, in the order made", Unit::Count);
    let y = Axis::new("To the median of its setting", Unit::Percent);
    let subtitle = "each run of each setting: what happened at one time stands in one column";
    let mut chart = chart(body, "Runs over time", subtitle.to_owned(), (x, y));
    chart.layers = runs_by_class(standing(body).enumerate(), |_, setting, run| {
        let median = setting.mb_s.median.filter(|median| *median > 0.0)?;
        let run = &setting.runs[run];
        Some((f64::from(run.position), 100.0 * run.run.mb_s / median))
    });
    (!chart.layers.is_empty()).then_some(chart)
}

/// All runs of each setting on a line of its own; of many settings, those that are not usable.
fn strips(body: &Body) -> Option<Chart> {
    let all: Vec<&SettingFigures> = standing(body).collect();
    let is_all = all.len() <= STRIPS_MAX;
    let is_shown = |s: &&SettingFigures| is_all || s.stability.standing != Standing::Usable;
    let mut shown: Vec<&SettingFigures> = all.into_iter().filter(is_shown).collect();
    shown.truncate(STRIPS_MAX);
    if shown.is_empty() {
        return None;
    }
    // The first at the top.
    shown.reverse();
    let x = Axis::new("Throughput of a run", Unit::MbPerS);
    let rates = || shown.iter().flat_map(|setting| setting.rates()).filter(|rate| *rate > 0.0);
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let x = if most > WIDE * least { x.scaled(Scale::Log10) } else { x };
    let names = shown.iter().map(|setting| setting.name.clone()).collect();
    let subtitle = if is_all { "" } else { "settings that are not usable" };
    let axes = (x, Axis::of_classes("Setting", names));
    let mut chart = chart(body, "Runs of each setting", subtitle.to_owned(), axes);
    chart.layers = runs_by_class(shown.into_iter().enumerate(), |index, setting, run| {
        let rate = setting.runs[run].run.mb_s;
        (rate > 0.0).then_some((rate, index as f64))
    });
    Some(chart)
}

/// The runs of one setting in the order made, with what is known of their groups.
fn alone(body: &Body, setting: &SettingFigures) -> Chart {
    let x = Axis::new("Run, in the order made", Unit::Count);
    let y = Axis::new("Throughput", Unit::MbPerS);
    let why = setting.stability.reasons.join("; ");
    let mut chart = chart(body, &format!("Unstable: {}", setting.name), why, (x, y));
    chart.layers = runs_by_class(std::iter::once((0, setting)), |_, setting, run| {
        let run = &setting.runs[run];
        Some((f64::from(run.position), run.run.mb_s))
    });
    let mut mark = |name: &str, value: f64| {
        let (name, hue) = (name.to_owned(), Hue::Grey);
        let across = Across::Y(Side::Left);
        chart.layers.push(Layer::Mark(Mark { name, hue, across, value, over: None }));
    };
    match (&setting.stability.modes, setting.mb_s.median) {
        (Some(modes), _) => {
            mark("lower group", modes.low_mb_s);
            mark("upper group", modes.high_mb_s);
        }
        (None, Some(median)) => mark("median", median),
        (None, None) => {}
    }
    chart
}
