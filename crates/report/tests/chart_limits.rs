//! Charts that are accepted, and charts that are rejected.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use drivescope_report::chart::{
    Across, Axis, Canvas, Chart, ChartError, Hue, Layer, Line, LinePoint, Mark, Points, Scale,
    Side, Walk, Zone, png, svg, terminal,
};
use drivescope_report::{RateUnit, Style};
use proptest::prelude::*;
use stats::Unit;

const UNITS: [Unit; 8] = [
    Unit::MbPerS,
    Unit::Iops,
    Unit::Ns,
    Unit::Bytes,
    Unit::Percent,
    Unit::Ratio,
    Unit::Celsius,
    Unit::Count,
];

fn chart(layers: Vec<Layer>) -> Chart {
    let (x, y) = (Axis::new("x", Unit::Bytes), Axis::new("y", Unit::Ns));
    Chart { layers, ..Chart::new("limits", x, y) }
}

fn cloud(points: Vec<(f64, f64)>) -> Layer {
    Layer::Points(Points::new("cloud", Hue::Blue, points))
}

fn line(walk: Walk, points: Vec<LinePoint>) -> Layer {
    Layer::Line(Line { walk, ..Line::new("line", Hue::Green, points) })
}

/// Every place in an SVG.
fn places(picture: &str) -> Vec<f64> {
    let mut numbers = Vec::new();
    for (attribute, text) in
        picture.split('"').collect::<Vec<_>>().chunks(2).filter_map(|c| match c {
            [before, value] => Some((*before, *value)),
            _ => None,
        })
    {
        if [" d=", " x=", " y=", " width=", " height="].iter().any(|end| attribute.ends_with(end)) {
            let number = |c: char| !(c.is_ascii_digit() || c == '.' || c == '-');
            numbers.extend(
                text.split(number)
                    .filter(|t| !t.is_empty())
                    .map(|t| t.parse::<f64>().unwrap_or_else(|_| panic!("{t:?} in {text:?}"))),
            );
        }
    }
    numbers
}

/// Draws the chart in all ways and checks that nothing is drawn out of sight.
fn drawn(chart: &Chart) {
    for (width, height) in [(1200, 700), (320, 240)] {
        let picture =
            svg(chart, Canvas { width, height, rate: RateUnit::Mib, ..Canvas::default() }).unwrap();
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{picture}");
        let places = places(&picture);
        assert!(places.len() > 10);
        let most = f64::from(width.max(height)) + 20.0;
        let out: Vec<_> = places.iter().filter(|p| !(-20.0..=most).contains(*p)).collect();
        assert!(out.is_empty(), "{out:?}\n{chart:?}");
    }
    for width in [60, 120] {
        let text = terminal(chart, Style { width, ..Style::default() }).unwrap();
        for line in text.plain().lines() {
            assert!(unicode_width::UnicodeWidthStr::width(line) <= width, "{line:?}\n{chart:?}");
        }
    }
}

// If it failed, a probe that found nothing, or one thing, would end in a panic instead of a chart.
#[test]
fn nothing_and_little_are_drawn() {
    let point = LinePoint::between(4096.0, 5.0, 1.0, 9.0);
    let walks = [Walk::Straight, Walk::Around, Walk::After, Walk::Apart];
    let mut cases = vec![vec![], vec![cloud(vec![])], vec![cloud(vec![(0.0, 0.0)])]];
    cases.push(vec![cloud(vec![(7.0, 7.0); 100])]);
    cases.push(vec![cloud(vec![(-7.0, -7.0); 100])]);
    cases.push(vec![cloud(vec![(1e24, 1e24), (-1e24, -1e24)])]);
    cases.push(vec![cloud(vec![(1e-300, 1e-300), (0.0, 0.0)])]);
    cases.extend(walks.map(|walk| vec![line(walk, vec![])]));
    cases.extend(walks.map(|walk| vec![line(walk, vec![point])]));
    cases.extend(walks.map(|walk| vec![line(walk, vec![point, point])]));
    let zone = |from, to| {
        let (name, hue, across) = ("zone".into(), Hue::Sky, Across::X);
        Layer::Zone(Zone { name, hue, across, from, to })
    };
    cases.push(vec![zone(0.0, 1e9)]);
    cases.push(vec![zone(-1e24, 1e24), cloud(vec![(1.0, 1.0), (2.0, 3.0)])]);
    cases.push(vec![zone(5e9, 6e9), cloud(vec![(1.0, 1.0), (2.0, 3.0)])]);
    for layers in cases {
        let mut chart = chart(layers);
        drawn(&chart);
        assert!(png(&chart, Canvas::default()).unwrap().starts_with(b"\x89PNG"));
        // Nothing to say around the plot either.
        chart.title.clear();
        chart.x.label.clear();
        drawn(&chart);
    }
}

// If it failed, a computation gone wrong would be drawn as if it were a measurement.
#[test]
fn what_is_no_number_is_refused() {
    let refused = |layer: Layer| {
        let chart = chart(vec![layer]);
        let error = svg(&chart, Canvas::default()).unwrap_err();
        assert_eq!(png(&chart, Canvas::default()).unwrap_err().to_string(), error.to_string());
        assert_eq!(terminal(&chart, Style::default()).unwrap_err().to_string(), error.to_string());
        error
    };
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mark = |value, over| {
            let (name, hue, across) = ("mark".into(), Hue::Grey, Across::Y(Side::Left));
            Layer::Mark(Mark { name, hue, across, value, over })
        };
        let zone = |from, to| {
            let (name, hue, across) = ("zone".into(), Hue::Grey, Across::X);
            Layer::Zone(Zone { name, hue, across, from, to })
        };
        for layer in [
            cloud(vec![(1.0, 1.0), (2.0, bad)]),
            cloud(vec![(bad, 1.0)]),
            line(Walk::Straight, vec![LinePoint::new(bad, 1.0)]),
            line(Walk::Around, vec![LinePoint::new(1.0, bad)]),
            line(Walk::Straight, vec![LinePoint::between(1.0, 1.0, bad, 2.0)]),
            line(Walk::Straight, vec![LinePoint::between(1.0, 1.0, 0.0, bad)]),
            mark(bad, None),
            mark(1.0, Some((0.0, bad))),
            zone(bad, 1.0),
            zone(0.0, bad),
        ] {
            assert!(matches!(refused(layer), ChartError::NotFinite { .. }));
        }
    }
    assert!(matches!(refused(cloud(vec![(1e25, 1.0)])), ChartError::TooLarge { .. }));
    assert!(matches!(refused(cloud(vec![(f64::MAX, 1.0)])), ChartError::TooLarge { .. }));
    let error = refused(cloud(vec![(1.0, f64::NAN)]));
    assert_eq!(error.to_string(), "layer \"cloud\": NaN is not a number that can be drawn");
}

#[test]
fn a_logarithmic_axis_refuses_zero_and_less() {
    for scale in [Scale::Log2, Scale::Log10] {
        for value in [0.0, -0.0, -5.0, 1e-300] {
            for (x, y) in [(value, 1.0), (1.0, value)] {
                let mut chart = chart(vec![cloud(vec![(1.0, 2.0), (x, y)])]);
                chart.x = chart.x.scaled(scale);
                chart.y = chart.y.scaled(scale);
                let error = svg(&chart, Canvas::default()).unwrap_err();
                assert!(matches!(error, ChartError::NotPositive { .. }), "{error}");
            }
        }
        // The lower end of an interval may be there, and the ends of a zone: they go to the edge.
        let mut low =
            chart(vec![line(Walk::Around, vec![LinePoint::between(4.0, 1.0, -3.0, 2.0)])]);
        low.x = low.x.scaled(scale);
        low.y = low.y.scaled(scale);
        drawn(&low);
    }
}

#[test]
fn what_contradicts_itself_is_refused() {
    let error = |chart: Chart| terminal(&chart, Style::default()).unwrap_err();
    let fine = || cloud(vec![(1.0, 1.0), (2.0, 2.0)]);
    let mut upside = chart(vec![fine()]);
    upside.x = upside.x.from_to(5.0, 4.0);
    assert!(matches!(error(upside), ChartError::BadRange { .. }));
    let mut empty = chart(vec![fine()]);
    empty.y = empty.y.from_to(5.0, 5.0);
    assert!(matches!(error(empty), ChartError::BadRange { .. }));
    let mut log = chart(vec![fine()]);
    log.y = log.y.scaled(Scale::Log10).from_to(0.0, 5.0);
    assert!(matches!(error(log), ChartError::NotPositive { .. }));
    let back = vec![LinePoint::new(2.0, 1.0), LinePoint::new(1.0, 1.0)];
    for walk in [Walk::Around, Walk::After] {
        let error = error(chart(vec![line(walk, back.clone())]));
        assert!(matches!(error, ChartError::Unordered { .. }));
    }
    drawn(&chart(vec![line(Walk::Straight, back)]));
    let interval = vec![LinePoint::between(1.0, 1.0, 3.0, 2.0)];
    assert!(matches!(
        error(chart(vec![line(Walk::Straight, interval)])),
        ChartError::BadRange { .. }
    ));
    let right = Layer::Points(Points { side: Side::Right, ..Points::new("r", Hue::Sky, vec![]) });
    assert!(matches!(error(chart(vec![right])), ChartError::NoRightAxis { .. }));
}

#[test]
fn sizes_that_show_nothing_are_refused() {
    let chart = chart(vec![cloud(vec![(1.0, 1.0)])]);
    for (width, height) in [(0, 0), (319, 700), (1200, 239), (8193, 700), (u32::MAX, u32::MAX)] {
        let canvas = Canvas { width, height, ..Canvas::default() };
        assert!(matches!(svg(&chart, canvas), Err(ChartError::Size { .. })));
        assert!(matches!(png(&chart, canvas), Err(ChartError::Size { .. })));
    }
    for width in [0, 1, 39, 1001, usize::MAX] {
        let style = Style { width, ..Style::default() };
        assert!(matches!(terminal(&chart, style), Err(ChartError::Size { .. })), "{width}");
    }
}

fn value(positive: bool) -> BoxedStrategy<f64> {
    let size = (-9.0f64..24.0).prop_map(|e| 10f64.powf(e).min(5e23));
    let plain = 1.0f64..1000.0;
    let positives = prop_oneof![3 => plain, 1 => size].boxed();
    if positive {
        return positives;
    }
    (positives, any::<bool>(), 0..8)
        .prop_map(|(v, minus, zero)| {
            let v = if minus { -v } else { v };
            if zero == 0 { 0.0 } else { v }
        })
        .boxed()
}

fn layers(x: bool, y: bool, right: bool) -> impl Strategy<Value = Vec<Layer>> {
    let side = move |index: usize| if right && index % 2 == 1 { Side::Right } else { Side::Left };
    let points = prop::collection::vec((value(x), value(y)), 0..60);
    let kind = (0usize..8, points, 0usize..7, any::<bool>());
    let layer = move |(kind, mut points, hue, flag): (usize, Vec<(f64, f64)>, usize, bool)| {
        let (name, hue, side) = (format!("layer {kind}"), Hue::nth(hue), side(kind));
        let across = if flag { Across::X } else { Across::Y(side) };
        let first = points.first().copied().unwrap_or((1.0, 1.0));
        let last = points.last().copied().unwrap_or((2.0, 2.0));
        match kind {
            0..=2 => Layer::Points(Points { name, hue, points, side, stretches: flag }),
            3..=5 => {
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                let point = |(i, (x, y)): (usize, (f64, f64))| match i % 3 {
                    0 => LinePoint::new(x, y),
                    _ => LinePoint::between(x, y, y - y.abs() / 2.0, y + y.abs() / 3.0),
                };
                let points = points.into_iter().enumerate().map(point).collect();
                let walk = [Walk::Straight, Walk::Around, Walk::After][kind - 3];
                Layer::Line(Line { name, hue, points, walk, side })
            }
            6 => {
                let value = if flag { first.0 } else { first.1 };
                let over = (last.0 > first.0).then_some((first.0, last.0));
                Layer::Mark(Mark { name, hue, across, value, over })
            }
            _ => {
                let (from, to) = (first.0.min(last.0), first.0.max(last.0));
                Layer::Zone(Zone { name, hue, across, from, to })
            }
        }
    };
    prop::collection::vec(kind.prop_map(layer), 0..6)
}

fn any_chart() -> impl Strategy<Value = Chart> {
    let scale = prop_oneof![Just(Scale::Linear), Just(Scale::Log2), Just(Scale::Log10)];
    (scale.clone(), scale, any::<bool>(), 0usize..8, 0usize..8).prop_flat_map(
        |(x, y, right, a, b)| {
            let y2 = right.then(|| Axis::new("right", UNITS[(a + b) % 8]).scaled(y));
            layers(x != Scale::Linear, y != Scale::Linear, right).prop_map(move |layers| Chart {
                x: Axis::new("x", UNITS[a]).scaled(x),
                y: Axis::new("y", UNITS[b]).scaled(y),
                y2: y2.clone(),
                ..chart(layers)
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    // If it failed, some drive's numbers would end in a panic, or in a picture with parts beyond its borders.
    #[test]
    fn any_chart_is_drawn_within_its_borders(chart in any_chart()) {
        drawn(&chart);
    }

    // If it failed, a point would be neither drawn nor counted.
    #[test]
    fn every_point_is_drawn_or_counted(
        near in prop::collection::vec(1.0f64..1e8, 1..200),
        far in prop::collection::vec(1e9f64..1e12, 0..4),
    ) {
        // Each at a place of its own: those that fall on the same spot are drawn once.
        let all: Vec<(f64, f64)> =
            near.iter().chain(&far).enumerate().map(|(i, &y)| (i as f64 * 4096.0, y)).collect();
        let total = all.len();
        let chart = chart(vec![cloud(all)]);
        let text = svg(&chart, Canvas { width: 8192, height: 4000, ..Canvas::default() }).unwrap();
        let discs = text.lines().filter(|l| l.contains("linecap")).map(|l| l.matches("h0").count());
        // One of the discs is the legend's.
        let drawn = discs.sum::<usize>() - 1;
        let told = text.split("▲ ").nth(1).map_or(0, |t| t.split(' ').next().unwrap().parse().unwrap());
        prop_assert_eq!(drawn + told, total);
    }
}
