//! Comparisons as charts: every run of all sides, test by test, and percentiles of their latencies beside each other.

use documents::replay::CompareBody;
use mark::body::Latency;
use mark::compare::{ComparedTest, Comparison, Figures};
use report::chart::{Axis, Chart, Hue, Layer, Line, LinePoint, Points, Scale, Walk};
use stats::{Quantity, Unit};
use trace::replay::Score;

use crate::compare::label;
use crate::mark_plots::speeds;

/// Share of a test's place that the sides fill together.
const FILLED: f64 = 0.7;

/// Both charts of a comparison.
pub fn charts(comparison: &Comparison) -> Vec<Chart> {
    [runs(comparison), latencies(comparison)].into_iter().flatten().collect()
}

/// Places of a test's sides on an axis of tests.
struct Places {
    sides: usize,
}

impl Places {
    fn width(&self) -> f64 {
        FILLED / self.sides.max(1) as f64
    }

    fn of(&self, test: usize, side: usize) -> f64 {
        let middle = (self.sides as f64 - 1.0) / 2.0;
        test as f64 + (side as f64 - middle) * self.width()
    }

    /// The places of `values`, from left to right in the order made.
    fn spread(&self, at: f64, values: impl ExactSizeIterator<Item = f64>) -> Vec<(f64, f64)> {
        let (count, width) = (values.len() as f64, self.width() * 0.6);
        let place = |nth: usize| at + (nth as f64 + 0.5) / count * width - width / 2.0;
        values.enumerate().map(|(nth, value)| (place(nth), value)).collect()
    }
}

/// Tests with their directions, so short that eight fit beside each other.
fn classes(comparison: &Comparison) -> Axis {
    let name = |test: &ComparedTest| {
        let op = match test.op.as_str() {
            "read" => "R",
            "write" => "W",
            op => op,
        };
        format!("{} {op}", test.name.strip_suffix("T1").unwrap_or(&test.name))
    };
    Axis::of_classes("Test (R reads, W writes)", comparison.tests.iter().map(name).collect())
}

/// A layer of points for each side, and over them a point with its interval.
fn layers(
    sides: &[String],
    points: impl Fn(usize) -> Vec<(f64, f64)>,
    (name, medians): (&str, Vec<LinePoint>),
) -> Vec<Layer> {
    let of_side = |(side, label): (usize, &String)| {
        Layer::Points(Points::new(label.clone(), Hue::nth(side), points(side)))
    };
    let mut layers: Vec<Layer> = sides.iter().enumerate().map(of_side).collect();
    let medians = Line { walk: Walk::Apart, ..Line::new(name, Hue::Grey, medians) };
    layers.push(Layer::Line(medians));
    layers
}

fn labels(comparison: &Comparison) -> Vec<String> {
    (0..comparison.sides.len()).map(|side| label(comparison, side)).collect()
}

/// Every run of every side.
fn runs(comparison: &Comparison) -> Option<Chart> {
    let places = Places { sides: comparison.sides.len() };
    let mut medians = Vec::new();
    let mut rates = Vec::new();
    for (index, test) in comparison.tests.iter().enumerate() {
        for (side, figures) in test.sides.iter().enumerate() {
            let Some(figures) = figures else { continue };
            rates.extend(figures.runs.iter().map(|run| run.mb_s));
            let Some(y) = figures.mb_s.median.filter(|median| *median > 0.0) else { continue };
            let interval = figures.mb_s.low.zip(figures.mb_s.high);
            rates.push(y);
            medians.push(LinePoint { x: places.of(index, side), y, interval });
        }
    }
    if medians.is_empty() {
        return None;
    }
    let points = |side: usize| {
        let of_test = |(index, test): (usize, &ComparedTest)| {
            let runs = test.sides[side].as_ref().map_or(&[][..], |figures| &figures.runs);
            let rates: Vec<f64> = runs.iter().map(|run| run.mb_s).filter(|r| *r > 0.0).collect();
            places.spread(places.of(index, side), rates.into_iter())
        };
        comparison.tests.iter().enumerate().flat_map(of_test).collect()
    };
    let sides = labels(comparison);
    let layers = layers(&sides, points, ("median and its 95% interval", medians));
    Some(Chart {
        subtitle: "runs from left to right in the order made".to_owned(),
        note: note(comparison),
        layers,
        ..Chart::new("Throughput: every run", classes(comparison), speeds(rates.into_iter()))
    })
}

/// Percentiles of the latencies of all sides.
fn latencies(comparison: &Comparison) -> Option<Chart> {
    let places = Places { sides: comparison.sides.len() };
    let known = |figures: &Figures| -> Option<Latency> {
        Some(figures.latency_ns).filter(|latency| latency.p50 > 0)
    };
    let mut spans = Vec::new();
    for (index, test) in comparison.tests.iter().enumerate() {
        for (side, figures) in test.sides.iter().enumerate() {
            let Some(latency) = figures.as_ref().and_then(known) else { continue };
            let [p50, p99, p999] = [latency.p50, latency.p99, latency.p999].map(|ns| ns as f64);
            let x = places.of(index, side);
            spans.push(LinePoint { x, y: p99.max(p50), interval: Some((p50, p999.max(p50))) });
        }
    }
    if spans.is_empty() {
        return None;
    }
    let points = |side: usize| {
        let of_test = |(index, test): (usize, &ComparedTest)| {
            let latency = test.sides[side].as_ref().and_then(known);
            let at = places.of(index, side);
            let levels = latency.map(|latency| [latency.p50, latency.p99, latency.p999]);
            levels.into_iter().flatten().filter(|ns| *ns > 0).map(move |ns| (at, ns as f64))
        };
        comparison.tests.iter().enumerate().flat_map(of_test).collect()
    };
    let sides = labels(comparison);
    let mut layers = layers(&sides, points, ("from the median to 99.9%", spans));
    // Under the points, which say whose it is.
    layers.rotate_right(1);
    let y = Axis::new("Latency", Unit::Ns).scaled(Scale::Log10);
    Some(Chart {
        subtitle: "median, 99% and 99.9% of all I/Os of all runs".to_owned(),
        note: note(comparison),
        layers,
        ..Chart::new("Latency: median to 99.9%", classes(comparison), y)
    })
}

fn note(comparison: &Comparison) -> String {
    let drives: Vec<&str> = comparison.sides.iter().map(|side| side.drive.trim()).collect();
    let known = drives.into_iter().filter(|drive| !drive.is_empty()).collect::<Vec<_>>();
    known.join("; ")
}

/// Rounds of a trace on two drives: how long each took, and how long its requests did.
pub fn of_trace(body: &CompareBody) -> Vec<Chart> {
    type Of =
        (&'static str, fn(&trace::replay::Contestant) -> &Option<Quantity>, fn(&Score) -> f64);
    const MEASURES: [Of; 5] = [
        ("completion", |drive| &drive.completion, |score| score.completion_s * 1e9),
        ("Q2C mean", |drive| &drive.q2c_mean, |score| score.q2c_mean_ns),
        ("Q2C median", |drive| &drive.q2c_p50, |score| score.q2c_p50_ns),
        ("Q2C 99%", |drive| &drive.q2c_p99, |score| score.q2c_p99_ns),
        ("Q2C 99.9%", |drive| &drive.q2c_p999, |score| score.q2c_p999_ns),
    ];
    let drives = &body.compared.drives;
    let places = Places { sides: drives.len() };
    let mut medians = Vec::new();
    for (index, (_, quantity, _)) in MEASURES.iter().enumerate() {
        for (side, drive) in drives.iter().enumerate() {
            if let Some(found) = quantity(drive).filter(|found| found.value > 0.0) {
                let (x, interval) = (places.of(index, side), found.low.zip(found.high));
                medians.push(LinePoint { x, y: found.value, interval });
            }
        }
    }
    if medians.is_empty() {
        return Vec::new();
    }
    let points = |side: usize| {
        let of_measure = |(index, (_, _, of)): (usize, &Of)| {
            let values: Vec<f64> =
                drives[side].rounds.iter().map(of).filter(|ns| *ns > 0.0).collect();
            places.spread(places.of(index, side), values.into_iter())
        };
        MEASURES.iter().enumerate().flat_map(of_measure).collect()
    };
    let letters = ["A", "B"];
    let is_same = drives[0].name == drives[1].name;
    let name = |(drive, letter): (&trace::replay::Contestant, &str)| match is_same {
        true => format!("{letter}: {}", drive.name),
        false => drive.name.clone(),
    };
    let sides: Vec<String> = drives.iter().zip(letters).map(name).collect();
    let x =
        Axis::of_classes("Time", MEASURES.iter().map(|(name, ..)| (*name).to_owned()).collect());
    let y = Axis::new("Time", Unit::Ns).scaled(Scale::Log10);
    vec![Chart {
        subtitle: "rounds from left to right in the order made".to_owned(),
        note: format!("{}; seed {}", body.file.display(), body.seed),
        layers: layers(&sides, points, ("median and its 95% interval", medians)),
        ..Chart::new("Times: every round", x, y)
    }]
}
