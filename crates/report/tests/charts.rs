//! Charts as people see them.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod common;

use common::MIB;
use drivescope_report::chart::{
    Across, Axis, Canvas, Chart, Ground, Hue, Layer, Line, LinePoint, Mark, Points, Scale, Side,
    Zone, png, svg, terminal,
};
use drivescope_report::{RateUnit, Style};
use snapbox::{assert_data_eq, file};
use stats::Unit;

const SMALL: Canvas = Canvas { width: 640, height: 400, rate: RateUnit::Mb, ground: Ground::Light };

fn plain(chart: &Chart, width: usize) -> String {
    let style = Style { width, ..Style::default() };
    terminal(chart, style).unwrap().plain()
}

fn points(values: impl IntoIterator<Item = (f64, f64)>) -> Chart {
    let (x, y) = (Axis::new("Offset", Unit::Bytes), Axis::new("Access time", Unit::Ns));
    let points = Points::new("one", Hue::Blue, values.into_iter().collect());
    Chart { layers: vec![Layer::Points(points)], ..Chart::new("points", x, y) }
}

// The drawings are a contract with people's eyes: look at each one that you change.
#[test]
fn small_charts_are_drawn_as_they_were() {
    let (scatter, align) = (common::scatter(120), common::align());
    assert_data_eq!(plain(&scatter, 72), file!["snapshots/scatter.txt"].raw());
    assert_data_eq!(plain(&align, 80), file!["snapshots/align.txt"].raw());
    assert_data_eq!(plain(&common::surface(), 80), file!["snapshots/surface.txt"].raw());
    assert_data_eq!(plain(&common::heat(40, 16), 72), file!["snapshots/heat.txt"].raw());
    let heat = svg(&common::heat(24, 10), SMALL).unwrap();
    assert_data_eq!(heat, file!["snapshots/heat.svg"].raw());
    assert_data_eq!(svg(&scatter, SMALL).unwrap(), file!["snapshots/scatter.svg"].raw());
    assert_data_eq!(svg(&align, SMALL).unwrap(), file!["snapshots/align.svg"].raw());
}

// If it failed, a picture could not be compared with that of another machine or day.
#[test]
fn the_same_chart_gives_the_same_bytes() {
    for (name, chart) in common::all() {
        let again = chart.clone();
        assert_eq!(svg(&chart, SMALL), svg(&again, SMALL), "{name}");
        assert_eq!(png(&chart, SMALL), png(&again, SMALL), "{name}");
        let style = Style::default();
        assert_eq!(terminal(&chart, style), terminal(&again, style), "{name}");
    }
}

/// Pixels of a PNG, four bytes each, and its width and height.
fn pixels(file: &[u8]) -> (Vec<u8>, u32, u32) {
    let mut reader = ::png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (pixels, info.width, info.height)
}

// If it failed, the picture would lack a band, the shade of the zone, or its letters.
#[test]
fn a_png_has_the_size_asked_for_and_shows_all_classes() {
    let canvas = Canvas { width: 1000, height: 600, ..SMALL };
    let file = png(&common::scatter(4096), canvas).unwrap();
    let (pixels, width, height) = pixels(&file);
    assert_eq!((width, height), (1000, 600));
    let count = |rgb: [u8; 3], rows: std::ops::Range<usize>| {
        let rows = &pixels[rows.start * 4000..rows.end * 4000];
        rows.chunks(4).filter(|p| p.iter().zip(rgb).all(|(a, b)| a.abs_diff(b) < 24)).count()
    };
    let plot = 150..520;
    // Blue, vermillion and orange dots, and a light orange ground of an eighth of the plot.
    for rgb in [[0, 114, 178], [213, 94, 0], [110, 75, 0]] {
        assert!(count(rgb, plot.clone()) > 300, "{rgb:?}: {}", count(rgb, plot));
    }
    let shade = count([251, 240, 214], plot.clone()) as f64 / (370.0 * 900.0);
    assert!((0.07..0.15).contains(&shade), "{shade}");
    assert!(count([32, 33, 36], 10..40) > 500, "no title");
    assert!(count([32, 33, 36], 525..560) > 100, "no labels");
}

// If it failed, what was clipped would be lost without a word.
#[test]
fn what_lies_beyond_is_counted_with_its_extreme() {
    let bulk = (0..1000).map(|i| (f64::from(i) * 4096.0, 1e6 + f64::from(i % 10) * 1e4));
    let far = (0..7).map(|i| (f64::from(i) * 5e5, 20e6 + f64::from(i)));
    let chart = points(bulk.clone().chain(far));
    for text in [plain(&chart, 80), svg(&chart, SMALL).unwrap()] {
        assert!(text.contains("▲ 7 above, up to 20.0 ms") && text.contains("one (1007)"), "{text}");
    }
    // Beside a long title in fewer letters, rather than cut.
    let mut long = chart.clone();
    long.y = Axis::new(
        "Access time of single reads after pauses of one second, each at a place",
        Unit::Ns,
    );
    let brief = svg(&long, SMALL).unwrap();
    assert!(brief.contains("▲ 7 to 20.0 ms<") && !brief.contains("7 above"), "{brief}");
    let arrows = svg(&chart, SMALL).unwrap().matches("Z\" fill=\"#0072b2\"").count();
    assert_eq!(arrows, 7);
    let none = points(bulk);
    assert!(!plain(&none, 80).contains("above") && !plain(&none, 80).contains('▲'));
    // A given range is kept, and the values outside it are counted as well.
    let mut given = none;
    given.y = given.y.from_to(1.035e6, 2e6);
    given.x = given.x.from_to(4096.0, 1e9);
    let text = plain(&given, 80);
    assert!(
        text.contains("▼ 399 below, down to 1 ms") && text.contains("1 beyond the sides"),
        "{text}"
    );
}

// If it failed, a rate that does not change would fill the picture with its noise.
#[test]
fn an_axis_with_zero_begins_there_and_clips_as_any_other() {
    let flat = (0..1000).map(|i| (f64::from(i) * 4096.0, 1e6 + f64::from(i % 10) * 1e4));
    let far = (0..7).map(|i| (f64::from(i) * 5e5, 20e6));
    let mut chart = points(flat.chain(far));
    let lowest = |chart: &Chart| {
        let frame = plain(chart, 80);
        frame.lines().rfind(|line| line.contains('┤')).unwrap_or_default().to_owned()
    };
    assert!(!lowest(&chart).trim_start().starts_with('0'), "{}", lowest(&chart));
    chart.y = chart.y.with_zero();
    assert!(lowest(&chart).trim_start().starts_with('0'), "{}", plain(&chart, 80));
    assert!(plain(&chart, 80).contains("▲ 7 above, up to 20 ms"), "{}", plain(&chart, 80));
    chart.y = chart.y.scaled(Scale::Log10);
    assert!(!plain(&chart, 80).is_empty(), "a logarithmic axis has no zero");
}

// If it failed, one slow read in a zone of a dozen would press all bands to the ground.
#[test]
fn a_spike_in_a_small_class_flattens_nothing() {
    let Layer::Points(many) = points((0..500).map(|i| (f64::from(i), 1e6))).layers.remove(0) else {
        panic!("points are points");
    };
    let few = (0..12).map(|i| (f64::from(i), if i == 5 { 30e6 } else { 2e6 })).collect();
    let mut chart = points([]);
    chart.layers = vec![Layer::Points(many), Layer::Points(Points::new("zone", Hue::Brown, few))];
    let text = plain(&chart, 80);
    assert!(text.contains("▲ 1 above, up to 30 ms"), "{text}");
}

// If it failed, a probe without a result would look like one that draws wrongly.
#[test]
fn an_empty_chart_says_so() {
    let empty = points([]);
    assert!(plain(&empty, 80).contains("no values"));
    assert!(svg(&empty, SMALL).unwrap().contains("no values"));
    assert!(!plain(&points([(1.0, 1.0)]), 80).contains("no values"));
}

// If it failed, one of two axes would count the clipped values of the other.
#[test]
fn each_axis_tells_its_own() {
    let mut chart = common::surface();
    chart.y2 = Some(Axis::new("Access time", Unit::Ns).from_to(0.0, 14e6));
    let text = plain(&chart, 100);
    assert!(text.contains("▲ Access time: ") && !text.contains("Read rate: "), "{text}");
    assert!(text.contains("├ 10 ms") && text.contains("200 ┤"), "{text}");
}

// If it failed, a reader without colours could not distinguish the layers.
#[test]
fn every_layer_has_its_own_glyph() {
    let text = plain(&common::scatter(4096), 80);
    for (glyph, name) in [("●", "fast band"), ("○", "slow band"), ("■", "slow zone")] {
        assert!(text.contains(&format!("{glyph} {name}")), "{text}");
        assert!(text.matches(glyph).count() > 8, "{text}");
    }
    assert!(text.contains("│slow zone 0–4 MiB") && text.contains('░'), "{text}");
    // Lines that lie on each other are all to be seen.
    let text = plain(&common::open_units(), 80);
    for glyph in ["●", "○", "■", "□", "◆"] {
        assert!(text.matches(glyph).count() >= 3, "{glyph}\n{text}");
    }
}

#[test]
fn colours_are_there_and_say_nothing_more() {
    let chart = common::scatter(4096);
    let coloured = terminal(&chart, Style::default()).unwrap();
    let coloured = coloured.as_str();
    assert!(coloured.contains("\u{1b}[34m") && coloured.contains("\u{1b}[31m"));
    // A line that is cut off does not leave its colour on.
    for line in coloured.lines().filter(|l| l.contains('\u{1b}')) {
        assert!(line.trim_end().contains("\u{1b}[0m"), "{line:?}");
    }
}

// If it failed, lines would break where the terminal ends.
#[test]
fn a_terminal_of_any_width_holds_every_line() {
    for (name, chart) in common::all() {
        for width in [44, 57, 80, 113, 200] {
            for line in plain(&chart, width).lines() {
                let columns = unicode_width::UnicodeWidthStr::width(line);
                assert!(columns <= width, "{name} at {width}: {columns} {line:?}");
            }
        }
    }
}

#[test]
fn throughput_is_shown_in_the_unit_asked_for() {
    let mut chart = common::surface();
    chart.layers.push(Layer::Mark(Mark {
        name: "mean".into(),
        hue: Hue::Grey,
        across: Across::Y(Side::Left),
        value: 104.8576,
        over: None,
    }));
    let style = Style { rate: RateUnit::Mib, ..Style::default() };
    let text = terminal(&chart, style).unwrap().plain();
    assert!(text.contains("Read rate (MiB/s)") && text.contains("mean 100 MiB/s"), "{text}");
    let picture = svg(&chart, Canvas { rate: RateUnit::Mib, ..SMALL }).unwrap();
    assert!(picture.contains("Read rate (MiB/s)") && picture.contains("mean 100 MiB/s"));
    assert!(plain(&chart, 80).contains("mean 105 MB/s"));
}

// Names come from drives and runs of other machines.
#[test]
fn no_name_is_obeyed() {
    let evil = "\u{1b}[2Jx\r\u{9b}2J\u{202e}\n</text><script>$a$ & \"b\"\u{7}".to_owned();
    let mut chart = common::scatter(100);
    chart.title.clone_from(&evil);
    chart.subtitle.clone_from(&evil);
    chart.note.clone_from(&evil);
    chart.x.label.clone_from(&evil);
    chart.y.label.clone_from(&evil);
    for layer in &mut chart.layers {
        match layer {
            Layer::Points(p) => p.name.clone_from(&evil),
            Layer::Zone(z) => z.name.clone_from(&evil),
            _ => {}
        }
    }
    let text = terminal(&chart, Style { width: 160, ..Style::default() }).unwrap();
    let text = text.as_str();
    assert!(!text.contains("\u{1b}[2J") && !text.contains(['\r', '\u{7}', '\u{9b}', '\u{202e}']));
    let picture = svg(&chart, SMALL).unwrap();
    assert!(!picture.contains("<script") && !picture.contains(['\u{1b}', '\u{202e}']));
    assert!(picture.contains("&lt;script&gt;$a$ &amp; &quot;b&quot;"), "{picture}");
    assert!(png(&chart, SMALL).is_ok());
}

// If it failed, a drive with a regular period would be drawn under a heap of names.
#[test]
fn zones_of_one_name_are_told_once_with_their_count() {
    let mut chart = common::scatter(500);
    chart.layers.retain(|l| !matches!(l, Layer::Zone(_)));
    for i in 0..12 {
        let from = (2.5 * f64::from(i) + 0.5) * MIB;
        let (across, to, name) = (Across::X, from + 0.5 * MIB, "slow stripe".to_owned());
        chart.layers.push(Layer::Zone(Zone { name, hue: Hue::Purple, across, from, to }));
    }
    for text in [plain(&chart, 80), svg(&chart, SMALL).unwrap()] {
        assert_eq!(text.matches("slow stripe").count(), 1, "{text}");
        assert!(text.contains("slow stripe (12×)"), "{text}");
    }
    // Each of the twelve is shaded and has its bar, and the legend has one.
    let boxes = svg(&chart, SMALL).unwrap().matches("fill=\"#be5f96\"").count();
    assert_eq!(boxes, 12 + 12 + 1);
}

// If it failed, marks near each other would be written over each other.
#[test]
fn names_above_the_plot_do_not_touch() {
    let mut chart = common::align();
    chart.layers.retain(|l| !matches!(l, Layer::Mark(_)));
    for (index, power) in [12, 13, 14, 15, 25].into_iter().enumerate() {
        let value = libm::exp2(f64::from(power));
        let (name, hue) = (format!("a mark with a long name {index}"), Hue::nth(index));
        chart.layers.push(Layer::Mark(Mark { name, hue, across: Across::X, value, over: None }));
    }
    let text = plain(&chart, 80);
    for (index, size) in ["4 KiB", "8 KiB", "16 KiB", "32 KiB", "32 MiB"].iter().enumerate() {
        assert!(text.contains(&format!("name {index} {size}")), "{text}");
    }
    let picture = svg(&chart, SMALL).unwrap();
    for index in 0..5 {
        assert_eq!(picture.matches(&format!("long name {index}")).count(), 1);
    }
}

// If it failed, a trace of a million samples would make a file that no browser opens.
#[test]
fn long_lines_and_dense_clouds_stay_small_files() {
    let mut noise = common::Noise(1);
    let many: Vec<(f64, f64)> =
        (0..200_000).map(|i| (f64::from(i), 1e6 * (1.0 + noise.draw()))).collect();
    let line = many.iter().map(|&(x, y)| LinePoint::new(x, y)).collect();
    let mut chart = points(many.iter().map(|&(x, y)| (x, 1e5 * (y / 1e5).round())));
    chart.layers.push(Layer::Line(Line::new("line", Hue::Vermillion, line)));
    let picture = svg(&chart, Canvas::default()).unwrap();
    assert!(picture.len() < 600_000, "{} bytes", picture.len());
    // The extremes survive.
    let top = many.iter().map(|v| v.1).fold(0.0, f64::max);
    let thin = svg(&points([(0.0, top)]), Canvas::default()).unwrap();
    assert!(thin.len() < 10_000);
}

#[test]
fn a_logarithmic_axis_spaces_factors_evenly() {
    let mut chart = points([1.0, 2.0, 4.0, 8.0].map(|x| (x * MIB, 1e6)));
    chart.x = chart.x.scaled(Scale::Log2);
    let picture = svg(&chart, SMALL).unwrap();
    let dots = picture.lines().filter(|l| l.contains("linecap")).nth(1).unwrap();
    let path = dots.split('"').nth(1).unwrap();
    let at = |spot: &str| spot.split(' ').next().unwrap().parse::<f64>().unwrap();
    let xs: Vec<f64> = path.split('M').skip(1).map(at).collect();
    assert_eq!(xs.len(), 4);
    let steps: Vec<f64> = xs.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().all(|s| (s - steps[0]).abs() <= 1.0 && *s > 50.0), "{steps:?}");
}
