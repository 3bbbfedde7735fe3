//! Grids of shades, their page backgrounds, and pictures of several charts.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod common;

use common::MIB;
use drivescope_report::Style;
use drivescope_report::chart::{
    Canvas, Chart, Ground, Heat, HeatCell, Layer, png, png_of_all, svg, svg_of_all, terminal,
};

fn small() -> Canvas {
    Canvas { width: 640, height: 400, ..Canvas::default() }
}

fn plain(chart: &Chart, width: usize) -> String {
    let style = Style { width, ..Style::default() };
    terminal(chart, style).unwrap().plain()
}

/// A chart whose grid was changed.
fn with(size: u32, change: impl Fn(&mut Heat)) -> Chart {
    let mut chart = common::heat(size, size);
    let Layer::Heat(heat) = &mut chart.layers[0] else { panic!("a heat map has a grid") };
    change(heat);
    chart
}

/// Pixels of a PNG, four bytes each, and its width and height.
fn pixels(file: &[u8]) -> (Vec<u8>, u32, u32) {
    let mut reader = ::png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (pixels, info.width, info.height)
}

/// Pixels of a colour, about.
fn of_colour(file: &[u8], rgb: [u8; 3]) -> usize {
    let (pixels, ..) = pixels(file);
    pixels.chunks(4).filter(|p| p.iter().zip(rgb).all(|(a, b)| a.abs_diff(b) < 12)).count()
}

/// Positions of a glyph in the plot, as row and column.
fn places(text: &str, glyph: char) -> Vec<(usize, usize)> {
    let plot = text.lines().enumerate().filter(|(_, line)| line.contains(['│', '┤']));
    let place = |(row, line): (usize, &str)| {
        let columns = line.chars().enumerate().filter(|(_, c)| *c == glyph);
        columns.map(|(column, _)| (row, column)).collect::<Vec<_>>()
    };
    plot.flat_map(place).collect()
}

// If it failed, much would look like little on one of the pages, or cells would be drawn where they are not.
#[test]
fn shades_stand_where_they_belong_and_tell_much_from_little() {
    let cell = |column, row, value| HeatCell { column, row, value };
    let chart = with(1, |heat| {
        heat.size = (4, 2);
        heat.step = (15e9, 32.0 * 1024.0 * MIB);
        heat.cells = vec![cell(0, 0, 1.0), cell(3, 1, 1e6), cell(1, 0, 1e3)];
    });
    let picture = svg(&chart, small()).unwrap();
    // The page, three cells, and a bar of shades in the legend.
    assert_eq!(picture.matches("<rect").count(), 1 + 3 + 32, "{picture}");
    let text = plain(&chart, 80);
    let (little, some, much) = (places(&text, '·'), places(&text, '▒'), places(&text, '█'));
    assert!(little.len() > 50 && much.len() > 50 && some.len() > 50, "{text}");
    let (first, last) = (little[0], much[much.len() - 1]);
    assert!(first.0 >= last.0 && some[0].0 == first.0, "{text}");
    assert!(little.iter().all(|l| some.iter().all(|s| l.1 < s.1)), "{text}");
    assert!(some.iter().all(|s| much.iter().all(|m| s.1 < m.1)), "{text}");
    assert!(text.contains("· 1–16"), "{text}");
    let pages = [(Ground::Light, [255; 3], [68, 1, 84]), (Ground::Dark, [28; 3], [253, 231, 37])];
    for (ground, page, most) in pages {
        let file = png(&chart, Canvas { ground, ..small() }).unwrap();
        let (page, most) = (of_colour(&file, page), of_colour(&file, most));
        assert!(page > 100_000 && most > 10_000, "{ground:?}: {page} of the page, {most} of much");
    }
}

// If it failed, a cell could be drawn over the axes, or a zero as little.
#[test]
fn a_grid_that_cannot_be_drawn_is_refused() {
    let refused = |change: &dyn Fn(&mut Heat)| {
        let chart = with(4, change);
        let error = svg(&chart, small()).unwrap_err().to_string();
        assert_eq!(terminal(&chart, Style::default()).unwrap_err().to_string(), error);
        error
    };
    let cell = HeatCell { column: 4, row: 0, value: 1.0 };
    assert!(refused(&|heat| heat.cells.push(cell)).contains("column 4 and row 0 is outside"));
    assert!(refused(&|heat| heat.cells[0].value = 0.0).contains("logarithmic"));
    assert!(refused(&|heat| heat.cells[0].value = f64::NAN).contains("not a number"));
    assert!(refused(&|heat| heat.step.0 = 0.0).contains("upside down or empty"));
    assert!(refused(&|heat| heat.step.1 = f64::NAN).contains("not a number"));
    assert!(plain(&with(4, |heat| heat.cells.clear()), 80).contains("no values"));
}

// If it failed, only colour would distinguish the heat of a long trace from its noise.
#[test]
fn a_name_longer_than_the_line_is_broken_and_the_scale_is_kept() {
    let chart = with(16, |heat| heat.name = "reads of a very long name ".repeat(5));
    let text = plain(&chart, 60);
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    assert!(text.contains("· 1–") && text.contains("█ "), "{text}");
}

// If it failed, panels would lie on each other.
#[test]
fn several_charts_share_a_picture() {
    let charts = common::all().map(|(_, chart)| chart);
    let canvas = Canvas { width: 400, height: 300, ..small() };
    let picture = svg_of_all(&charts, canvas, 2).unwrap();
    assert!(picture.contains("viewBox=\"0 0 800 900\""), "{}", &picture[..200]);
    assert!(charts.iter().all(|chart| picture.contains(&chart.title[..8])));
    let (_, width, height) = pixels(&png_of_all(&charts, canvas, 2).unwrap());
    assert_eq!((width, height), (800, 900));
    assert_eq!(svg_of_all(&charts[..1], small(), 3), svg(&charts[0], small()));
    let wide = Canvas { width: 8192, ..small() };
    assert!(svg_of_all(&charts, wide, 6).unwrap_err().to_string().contains("does not fit"));
}
