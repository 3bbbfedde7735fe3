//! Layout of a picture of a chart: text around the plot, axes, and the box of the plot.

use super::describe::{Chart, ChartError, Layer, Side};
use super::frame::{Frame, Key, NOTHING, Tag};
use super::ground::Ground;
use super::heat;
use super::paint;
use super::plot::Plot;
use super::shape::{Anchor, Rgb, Shape, Spot};
use super::text::{bold_width, shortened, width};
use super::tick::{self, Tick};
use crate::number::RateUnit;

/// Size of a picture. Words and lines grow with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// Pixels, from 320 to 8192.
    pub width: u32,
    /// Pixels, from 240 to 8192.
    pub height: u32,
    /// Unit of throughput.
    pub rate: RateUnit,
    /// The page.
    pub ground: Ground,
}

impl Default for Canvas {
    /// 1200 x 700, in MB/s, on white.
    fn default() -> Self {
        Canvas { width: 1200, height: 700, rate: RateUnit::Mb, ground: Ground::Light }
    }
}

const LEAST: (u32, u32) = (320, 240);
const MOST: u32 = 8192;
/// The size that all lengths here are meant for. Others are drawn smaller or larger as a whole, within limits:
/// letters stay readable in small pictures, and large ones are not of thin lines and crumbs.
const USUAL: (f64, f64) = (1200.0, 700.0);
const ZOOM: (f64, f64) = (0.75, 8.0);

pub(super) const INK: Rgb = [32, 33, 36];
const MUTED: Rgb = [95, 99, 104];
const GRID: Rgb = [232, 234, 237];
const EDGE: Rgb = [128, 134, 139];

const TITLE: f64 = 22.0;
const WORDS: f64 = 15.0;
const LABEL: f64 = 14.0;
const NOTE: f64 = 12.0;
/// Free space at the border of the picture.
const BORDER: f64 = 20.0;
/// Height of a line of words.
const ROW: f64 = 20.0;
/// Most rows of names above the plot; what finds no room is shaded and not named.
const TAG_ROWS: usize = 5;
/// Least and usual distance of ticks.
const TICK_X: f64 = 95.0;
const TICK_Y: f64 = 55.0;

/// All shapes of the chart, from the bottom up, on white.
pub(super) fn shapes(chart: &Chart, canvas: Canvas) -> Result<Vec<Shape>, ChartError> {
    laid_out(chart, canvas).map(|(shapes, _)| shapes)
}

/// The same, with the plot's box: left, top, right and bottom.
pub(super) fn laid_out(
    chart: &Chart,
    canvas: Canvas,
) -> Result<(Vec<Shape>, [f64; 4]), ChartError> {
    let Canvas { width, height, .. } = canvas;
    if width < LEAST.0 || height < LEAST.1 || width > MOST || height > MOST {
        return Err(ChartError::Size {
            width: width as usize,
            height: height as usize,
            least_width: LEAST.0 as usize,
            least_height: LEAST.1 as usize,
            most: MOST as usize,
        });
    }
    let frame = Frame::new(chart)?;
    let (width, height) = (f64::from(width), f64::from(height));
    let zoom = (width / USUAL.0).min(height / USUAL.1).clamp(ZOOM.0, ZOOM.1);
    let (width, height) = (width / zoom, height / zoom);
    let mut page =
        Page { frame, width, height, rate: canvas.rate, ground: canvas.ground, shapes: Vec::new() };
    let Plot { left, top, right, bottom, .. } = page.draw();
    let shapes = page.shapes.into_iter().map(|shape| shape.scaled(zoom)).collect();
    Ok((shapes, [left, top, right, bottom].map(|edge| edge * zoom)))
}

struct Page<'a> {
    frame: Frame<'a>,
    width: f64,
    height: f64,
    rate: RateUnit,
    ground: Ground,
    shapes: Vec<Shape>,
}

/// Ticks of all axes.
struct Ticks {
    x: Vec<Tick>,
    left: Vec<Tick>,
    right: Vec<Tick>,
}

impl Page<'_> {
    /// Draws all of it; returns the plot's box.
    fn draw(&mut self) -> Plot {
        let chart = self.frame.chart;
        let right_end = self.width - BORDER;
        let mut at = self.head();
        at = self.legend(at);
        // The y axes' titles are above them, where their letters need not be turned.
        let titles = at + ROW;
        let columns = self.frame.tags(true, self.rate);
        let rows = self.frame.tags(false, self.rate);
        let mut plot = Plot {
            left: BORDER,
            top: titles + 12.0,
            right: right_end,
            bottom: self.height - self.foot(),
            ground: self.ground,
        };
        let ticks = self.ticks(&plot);
        let widest =
            |ticks: &[Tick]| ticks.iter().map(|t| width(&t.label, LABEL)).fold(0.0, f64::max);
        plot.left += widest(&ticks.left) + 12.0;
        plot.right -= if chart.y2.is_some() { widest(&ticks.right) + 12.0 } else { 4.0 };
        let outside = chart.y2.is_none();
        if outside {
            plot.right -= self.name_room(&rows);
        }
        let flags = flags(&columns, &plot, right_end);
        plot.top += flags.iter().map(|f| f.row + 1).max().unwrap_or(0) as f64 * ROW;

        for (tags, column) in [(&rows, false), (&columns, true)] {
            tags.iter().filter(|t| t.zone).for_each(|tag| self.shade(tag, column, &plot));
        }
        self.axes(&plot, &ticks);
        self.axis_titles(titles, &plot);
        // A vertical line is seen between the data; a horizontal one would be lost in a band.
        columns.iter().filter(|t| !t.zone).for_each(|tag| self.mark(tag, true, &plot));
        for layer in &chart.layers {
            paint::layer(&self.frame, layer, &plot, &mut self.shapes);
        }
        rows.iter().filter(|t| !t.zone).for_each(|tag| self.mark(tag, false, &plot));
        if self.frame.is_empty() {
            let middle = plot.spot((0.5, 0.5));
            self.text(middle, NOTHING.to_owned(), WORDS, Anchor::Middle, MUTED);
        }
        self.border(&plot);
        self.columns(&columns, &flags, &plot);
        self.rows(&rows, &plot, outside);
        plot
    }

    fn text(&mut self, spot: Spot, text: String, size: f64, anchor: Anchor, ink: Rgb) {
        let (x, y) = spot;
        self.shapes.push(Shape::Text { x, y, text, size, anchor, ink, bold: false });
    }

    fn bold(&mut self, spot: Spot, text: String, size: f64, anchor: Anchor, ink: Rgb) {
        let (x, y) = spot;
        self.shapes.push(Shape::Text { x, y, text, size, anchor, ink, bold: true });
    }

    /// Title and subtitle; returns where the next line may begin.
    fn head(&mut self) -> f64 {
        let chart = self.frame.chart;
        let room = self.width - 2.0 * BORDER;
        let mut at = BORDER - 4.0;
        if !chart.title.is_empty() {
            at += TITLE;
            let title = shortened(&chart.title, TITLE, room / 1.13);
            self.bold((BORDER, at), title, TITLE, Anchor::Start, INK);
            at += 6.0;
        }
        if !chart.subtitle.is_empty() {
            at += WORDS + 2.0;
            let subtitle = shortened(&chart.subtitle, WORDS, room);
            self.text((BORDER, at), subtitle, WORDS, Anchor::Start, MUTED);
            at += 6.0;
        }
        at + 4.0
    }

    /// Keys from left to right, in as many rows as they take.
    fn legend(&mut self, top: f64) -> f64 {
        let keys = self.frame.keys();
        let room = self.width - BORDER;
        let (mut x, mut row) = (BORDER, 0);
        for key in &keys {
            let text = shortened(&key.text, WORDS, room - BORDER - 34.0);
            let wide = 34.0 + width(&text, WORDS);
            if x + wide > room && x > BORDER {
                (x, row) = (BORDER, row + 1);
            }
            let base = top + 16.0 + f64::from(row) * (ROW + 2.0);
            self.swatch(key, (x, base - 5.0));
            self.text((x + 30.0, base), text, WORDS, Anchor::Start, INK);
            x += wide + 22.0;
        }
        let after =
            if keys.is_empty() { top } else { top + f64::from(row + 1) * (ROW + 2.0) + 4.0 };
        self.shades(after)
    }

    /// A row for each grid: what it shows, and its shades between the least and the greatest value.
    fn shades(&mut self, mut top: f64) -> f64 {
        const BAR: f64 = 220.0;
        let chart = self.frame.chart;
        for layer in &chart.layers {
            let Layer::Heat(grid) = layer else { continue };
            let Some((name, low, high)) = heat::legend(grid, self.rate) else { continue };
            let base = top + 16.0;
            let room = self.width - 2.0 * BORDER - BAR - 40.0;
            let room = room - width(&low, WORDS) - width(&high, WORDS);
            let name = shortened(&name, WORDS, room);
            let mut x = BORDER;
            for (text, gap) in [(name, 16.0), (low, 8.0)] {
                let wide = width(&text, WORDS);
                self.text((x, base), text, WORDS, Anchor::Start, INK);
                x += wide + gap;
            }
            heat::bar((x, base - 12.0), (BAR, 14.0), self.ground, &mut self.shapes);
            self.text((x + BAR + 8.0, base), high, WORDS, Anchor::Start, INK);
            top += ROW + 6.0;
        }
        top
    }

    fn swatch(&mut self, key: &Key, (x, y): Spot) {
        let fill = key.hue.rgb();
        let shape = match &self.frame.chart.layers[key.layer] {
            Layer::Points(_) => {
                let spots = vec![(x + 12.0, y)];
                Shape::Dots { spots, radius: 6.0, fill, opacity: 1.0 }
            }
            Layer::Line(_) => Shape::line((x, y), (x + 24.0, y), fill, 4.0),
            _ => {
                let (width, height) = (24.0, 14.0);
                Shape::Box { x, y: y - 7.0, width, height, fill, opacity: paint::SHADE }
            }
        };
        self.shapes.push(shape);
    }

    /// Height of everything below the plot.
    fn foot(&self) -> f64 {
        let note = if self.frame.chart.note.is_empty() { 0.0 } else { NOTE + 8.0 };
        BORDER + (1.0 + self.label_rows() as f64) * ROW + 4.0 + note
    }

    /// Rows of labels under the plot: names of classes are in two rows if one is too short for all of them.
    fn label_rows(&self) -> usize {
        let names = &self.frame.chart.x.classes;
        let widest = names.iter().map(|name| width(name, LABEL)).fold(0.0, f64::max);
        let each = (self.width - 2.0 * BORDER - TICK_X) / names.len().max(1) as f64;
        if names.len() > 1 && widest + 10.0 > each { 2 } else { 1 }
    }

    fn ticks(&self, plot: &Plot) -> Ticks {
        let rate = self.rate;
        let most = |length: f64, each: f64| (length / each).floor().max(2.0) as usize;
        let rows = most(plot.bottom - plot.top, TICK_Y);
        let frame = &self.frame;
        let side = |side: Side| {
            let (span, axis) = frame.side(side);
            tick::ticks(axis, span.low, span.high, rows, rate)
        };
        let columns = most(plot.right - plot.left, TICK_X);
        Ticks {
            x: tick::ticks(&frame.chart.x, frame.x.low, frame.x.high, columns, rate),
            left: side(Side::Left),
            right: if frame.chart.y2.is_some() { side(Side::Right) } else { vec![] },
        }
    }

    /// Grid lines, and labels beside them where they do not touch.
    fn axes(&mut self, plot: &Plot, ticks: &Ticks) {
        let mut free = vec![f64::NEG_INFINITY; self.label_rows()];
        for tick in &ticks.x {
            let x = plot.x(self.frame.x.place(tick.value).clamp(0.0, 1.0));
            self.shapes.push(Shape::line((x, plot.top), (x, plot.bottom), GRID, 1.0));
            self.shapes.push(Shape::line((x, plot.bottom), (x, plot.bottom + 5.0), EDGE, 1.0));
            let half = width(&tick.label, LABEL) / 2.0;
            if let Some(row) = free.iter().position(|free| x - half >= *free) {
                free[row] = x + half + 10.0;
                let spot = (x, plot.bottom + (1 + row) as f64 * ROW);
                self.text(spot, tick.label.clone(), LABEL, Anchor::Middle, INK);
            }
        }
        let (left, _) = self.frame.side(Side::Left);
        let left = *left;
        for tick in &ticks.left {
            let y = plot.y(left.place(tick.value).clamp(0.0, 1.0));
            // On an axis with both signs, zero is the line to compare with.
            let stroke = if tick.value == 0.0 && left.low < 0.0 { EDGE } else { GRID };
            self.shapes.push(Shape::line((plot.left, y), (plot.right, y), stroke, 1.0));
            self.shapes.push(Shape::line((plot.left - 5.0, y), (plot.left, y), EDGE, 1.0));
            let spot = (plot.left - 9.0, y + 5.0);
            self.text(spot, tick.label.clone(), LABEL, Anchor::End, INK);
        }
        let (right, _) = self.frame.side(Side::Right);
        let right = *right;
        for tick in &ticks.right {
            let y = plot.y(right.place(tick.value).clamp(0.0, 1.0));
            self.shapes.push(Shape::line((plot.right, y), (plot.right + 5.0, y), EDGE, 1.0));
            let spot = (plot.right + 9.0, y + 5.0);
            self.text(spot, tick.label.clone(), LABEL, Anchor::Start, INK);
        }
    }

    /// Titles of the axes, what lies beyond the plot, and the note.
    fn axis_titles(&mut self, base: f64, plot: &Plot) {
        let chart = self.frame.chart;
        let rate = self.rate;
        let size = WORDS;
        let left = tick::axis_title(&chart.y, rate);
        let from = BORDER + bold_width(&left, size) + 30.0;
        self.bold((BORDER, base), left, WORDS, Anchor::Start, self.axis_ink(Side::Left));
        let end = self.width - BORDER;
        let mut to = end;
        if let Some(axis) = &chart.y2 {
            let right = tick::axis_title(axis, rate);
            to -= bold_width(&right, size) + 30.0;
            self.bold((end, base), right, WORDS, Anchor::End, self.axis_ink(Side::Right));
        }
        let mut beyond = self.frame.beyond(rate).join("   ");
        if width(&beyond, LABEL) > to - from {
            beyond = self.frame.beyond_in_brief(rate).join("   ");
        }
        if !beyond.is_empty() {
            let text = shortened(&beyond, LABEL, to - from);
            self.text((to, base), text, LABEL, Anchor::End, MUTED);
        }
        let middle = (plot.left + plot.right) / 2.0;
        let title = tick::axis_title(&chart.x, rate);
        self.bold(
            (middle, plot.bottom + (1 + self.label_rows()) as f64 * ROW + 4.0),
            title,
            WORDS,
            Anchor::Middle,
            INK,
        );
        if !chart.note.is_empty() {
            let room = end - BORDER;
            let note = shortened(&chart.note, NOTE, room);
            let spot = (BORDER, self.height - 12.0);
            self.text(spot, note, NOTE, Anchor::Start, MUTED);
        }
    }

    /// If there are two y axes, the title of an axis whose data has one colour is in that colour.
    fn axis_ink(&self, side: Side) -> Rgb {
        let chart = self.frame.chart;
        let hue = |layer: &Layer| match layer {
            Layer::Points(p) if p.side == side => Some(p.hue),
            Layer::Line(l) if l.side == side => Some(l.hue),
            _ => None,
        };
        let hues: Vec<_> = chart.layers.iter().filter_map(hue).collect();
        match hues.first() {
            Some(first) if chart.y2.is_some() && hues.iter().all(|h| h == first) => first.ink(),
            _ => INK,
        }
    }

    /// The stretch of a zone, under the data.
    fn shade(&mut self, tag: &Tag, column: bool, plot: &Plot) {
        let (a, b) = if column {
            ((plot.x(tag.from), plot.top), (plot.x(tag.to), plot.bottom))
        } else {
            ((plot.left, plot.y(tag.to)), (plot.right, plot.y(tag.from)))
        };
        // Never so narrow that it is not seen.
        let (width, height) = ((b.0 - a.0).max(2.0), (b.1 - a.1).max(2.0));
        let (x, y) = a;
        let (fill, opacity) = (tag.hue.rgb(), paint::SHADE);
        self.shapes.push(Shape::Box { x, y, width, height, fill, opacity });
    }

    /// The line of a mark.
    fn mark(&mut self, tag: &Tag, column: bool, plot: &Plot) {
        let (from, to) = tag.over.unwrap_or((0.0, 1.0));
        let spots = if column {
            let x = crisp(plot.x(tag.from));
            vec![(x, plot.y(to)), (x, plot.y(from))]
        } else {
            let y = crisp(plot.y(tag.from));
            vec![(plot.x(from), y), (plot.x(to), y)]
        };
        let dashed = tag.over.is_none();
        self.shapes.push(Shape::Path { spots, stroke: tag.hue.rgb(), width: 2.0, dashed });
    }

    /// Names above the plot, each with a stem to its zone or mark.
    fn columns(&mut self, tags: &[Tag], flags: &[Flag], plot: &Plot) {
        for tag in tags.iter().filter(|t| t.zone) {
            let (x, y) = (plot.x(tag.from), plot.top - 4.0);
            let (width, fill) = ((plot.x(tag.to) - x).max(2.0), tag.hue.rgb());
            self.shapes.push(Shape::Box { x, y, width, height: 4.0, fill, opacity: 1.0 });
        }
        for flag in flags {
            let tag = &tags[flag.tag];
            let base = plot.top - 9.0 - flag.row as f64 * ROW;
            let stem = (plot.x(tag.from) + 0.5, base - 11.0);
            let foot = (stem.0, plot.top);
            self.shapes.push(Shape::line(stem, foot, tag.hue.rgb(), 1.0));
            let text = tag.text.clone();
            self.text((flag.from, base), text, LABEL, Anchor::Start, tag.hue.ink());
        }
    }

    /// Room at the right for names of what lies across the y axis.
    fn name_room(&self, rows: &[Tag]) -> f64 {
        let wide = |t: &Tag| width(&t.text, LABEL) + 10.0;
        let most = 0.3 * self.width;
        rows.iter().filter(|t| t.over.is_none()).map(wide).fold(0.0, f64::max).min(most)
    }

    /// Names of what lies across a y axis: at the right of the plot, or in it where an axis is in the way;
    /// names of plateaus over them.
    fn rows(&mut self, tags: &[Tag], plot: &Plot, outside: bool) {
        let mut named: Vec<&Tag> = tags.iter().filter(|t| !t.text.is_empty()).collect();
        named.sort_by(|a, b| (b.from + b.to).total_cmp(&(a.from + a.to)));
        let mut free = f64::NEG_INFINITY;
        for tag in named {
            let middle = plot.y((tag.from + tag.to) / 2.0);
            if let Some((from, to)) = tag.over {
                let half = width(&tag.text, LABEL) / 2.0 + 6.0;
                let x = plot.x((from + to) / 2.0);
                let base = self.clear_of_data(middle, (x - half, x + half), plot);
                self.backed((x, base), &tag.text, Anchor::Middle, tag.hue.ink(), plot);
            } else if outside {
                let base = (middle + 5.0).max(free);
                free = base + LABEL + 3.0;
                let room = self.width - plot.right - 12.0;
                let text = shortened(&tag.text, LABEL, room);
                self.text((plot.right + 8.0, base), text, LABEL, Anchor::Start, tag.hue.ink());
            } else {
                let base = (middle - 6.0).max(free);
                free = base + LABEL + 3.0;
                self.backed((plot.right - 8.0, base), &tag.text, Anchor::End, tag.hue.ink(), plot);
            }
        }
    }

    /// Baseline of a name for a line at `middle`: above all that is drawn between two columns, or below it
    /// where there is no room above.
    fn clear_of_data(&self, middle: f64, (from, to): (f64, f64), plot: &Plot) -> f64 {
        let mut lowest = middle;
        let mut highest = middle;
        for (x, y) in paint::spots(&self.frame, plot) {
            if x >= from && x <= to {
                (highest, lowest) = (highest.min(y), lowest.max(y));
            }
        }
        let above = highest - 8.0;
        let below = lowest + LABEL + 8.0;
        match () {
            () if above - LABEL > plot.top + 4.0 => above,
            () if below < plot.bottom - 4.0 => below,
            () => middle - 8.0,
        }
    }

    /// Words in the plot, on a ground that data does not shine through, and within it.
    fn backed(&mut self, spot: Spot, text: &str, anchor: Anchor, ink: Rgb, plot: &Plot) {
        let text = shortened(text, LABEL, plot.right - plot.left - 12.0);
        let wide = width(&text, LABEL);
        let start = match anchor {
            Anchor::Start => spot.0,
            Anchor::Middle => spot.0 - wide / 2.0,
            Anchor::End => spot.0 - wide,
        };
        let x = start.min(plot.right - wide - 6.0).max(plot.left + 6.0);
        let y = spot.1.max(plot.top + 18.0);
        let height = LABEL + 6.0;
        let ground = Shape::Box {
            x: x - 4.0,
            y: y - height + 5.0,
            width: wide + 8.0,
            height,
            fill: [255, 255, 255],
            opacity: 0.85,
        };
        self.shapes.push(ground);
        self.text((x, y), text, LABEL, Anchor::Start, ink);
    }

    /// The plot's frame.
    fn border(&mut self, plot: &Plot) {
        let Plot { left, top, right, bottom, .. } = *plot;
        let spots = vec![(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        self.shapes.push(Shape::Path { spots, stroke: EDGE, width: 1.0, dashed: false });
    }
}

/// The middle of a pixel: a line of two pixels there is as dark as any other.
fn crisp(at: f64) -> f64 {
    at.round()
}

/// Position of a column's name.
struct Flag {
    tag: usize,
    row: usize,
    from: f64,
}

/// Places names above the plot so that no name touches another nor the stem of another.
fn flags(tags: &[Tag], plot: &Plot, end: f64) -> Vec<Flag> {
    let stem = |tag: &Tag| plot.x(tag.from);
    let mut order: Vec<usize> = (0..tags.len()).filter(|&i| !tags[i].text.is_empty()).collect();
    // From the right: a name is then placed above the stems that its words would cross.
    order.sort_by(|&a, &b| tags[b].from.total_cmp(&tags[a].from));
    let mut placed: Vec<(Flag, f64, f64)> = Vec::new();
    for tag in order {
        let at = stem(&tags[tag]);
        let wide = width(&tags[tag].text, LABEL);
        let from = (at + 5.0).min(end - wide).max(BORDER);
        let clear = |row: usize| {
            placed.iter().all(|(other, to, foot)| {
                let apart = from + wide + 12.0 < other.from || from > to + 12.0;
                let under_words = at > other.from - 4.0 && at < to + 4.0 && row > other.row;
                let over_stem = *foot > from - 4.0 && *foot < from + wide + 4.0 && other.row > row;
                (row != other.row || apart) && !under_words && !over_stem
            })
        };
        if let Some(row) = (0..TAG_ROWS).find(|&row| clear(row)) {
            placed.push((Flag { tag, row, from }, from + wide, at));
        }
    }
    placed.into_iter().map(|(flag, _, _)| flag).collect()
}
