//! Charts as text: braille and glyphs in a frame of box characters.

use std::collections::BTreeMap;

use super::describe::{Chart, ChartError, Heat, Layer, Line, Points, Side};
use super::frame::{Frame, NOTHING, Span, Tag};
use super::grid::{Cell, Grid, columns, put, written};
use super::heat;
use super::hue::Hue;
use super::tick::{self, Tick};
use crate::styled::Styled;
use crate::terminal::{BOLD, DIM, Page, Style, paint};

/// Glyphs of layers in their order, for few and for many values in a cell; so that layers are distinct
/// without colours.
const GLYPHS: [(char, char); 8] = [
    ('•', '●'),
    ('◦', '○'),
    ('▪', '■'),
    ('▫', '□'),
    ('⬩', '◆'),
    ('⋄', '◇'),
    ('+', '╋'),
    ('x', '╳'),
];

/// Least columns: what is narrower shows nothing.
const NARROWEST: usize = 40;
/// Most columns and lines, so that a mistaken size does not fill the memory.
const WIDEST: usize = 1000;
/// Least rows of a plot.
const LOWEST: usize = 6;
/// Columns from one marker of a long line to the next.
const STRIDE: usize = 8;
/// Most rows of names above the plot; more are listed below it.
const TAG_ROWS: usize = 4;

/// The chart as text with a line feed at its end, `style.width` columns wide and about a third as high. Escape
/// codes are always written, as in all text of this room, and nothing is lost without them: each layer has a
/// glyph of its own (small where few values lie in a cell), zones are shaded and named, lines are braille.
/// Of intervals those of lines with few values are drawn.
///
/// # Errors
///
/// When the chart has a value that cannot be drawn, or the style has fewer than 40 columns.
pub fn terminal(chart: &Chart, style: Style) -> Result<Styled, ChartError> {
    drawn(chart, style, (style.width / 4).clamp(10, 28))
}

/// The same in `lines` lines at most, for a screen that holds no more: the plot is as high as the words around it leave
/// it, and never lower than six rows.
///
/// # Errors
///
/// As [`terminal`].
pub fn terminal_within(chart: &Chart, style: Style, lines: usize) -> Result<Styled, ChartError> {
    let mut height = lines.clamp(LOWEST, WIDEST);
    loop {
        let text = drawn(chart, style, height)?;
        let over = text.as_str().lines().count().saturating_sub(lines);
        // A name may find room beside a higher plot and not beside a lower one, so once may not be enough.
        if over == 0 || height == LOWEST {
            return Ok(text);
        }
        height = height.saturating_sub(over).max(LOWEST);
    }
}

/// The chart with a plot of `height` rows.
fn drawn(chart: &Chart, style: Style, height: usize) -> Result<Styled, ChartError> {
    if !(NARROWEST..=WIDEST).contains(&style.width) {
        return Err(ChartError::Size {
            width: style.width,
            height,
            least_width: NARROWEST,
            least_height: 10,
            most: WIDEST,
        });
    }
    let frame = Frame::new(chart)?;
    let left = ticks(&frame, Side::Left, height, style);
    let right = if chart.y2.is_some() { ticks(&frame, Side::Right, height, style) } else { vec![] };
    let room = |ticks: &[Tick]| ticks.iter().map(|t| columns(&t.label)).max().unwrap_or(0) + 1;
    let (before, after) = (room(&left), if right.is_empty() { 0 } else { room(&right) });
    // Two columns are the frame's own.
    let width = style.width.saturating_sub(before + after + 2);
    if width < NARROWEST / 2 {
        let (least_width, least_height) = (NARROWEST / 2 + before + after + 2, 10);
        let (width, most) = (style.width, WIDEST);
        return Err(ChartError::Size { width, height, least_width, least_height, most });
    }
    let sheet = Sheet {
        single: data(chart).count() == 1 && lines(chart).count() == 0,
        grid: Grid::new(width, height),
        page: Page::new(style),
        before,
        left,
        right,
        frame,
        style,
    };
    Ok(sheet.draw())
}

fn ticks(frame: &Frame<'_>, side: Side, height: usize, style: Style) -> Vec<Tick> {
    let (span, axis) = frame.side(side);
    tick::ticks(axis, span.low, span.high, height / 3, style.rate)
}

/// The layers of data, with their numbers.
fn data(chart: &Chart) -> impl Iterator<Item = (usize, &Layer)> {
    let is_data = |(_, layer): &(usize, &Layer)| matches!(layer, Layer::Points(_) | Layer::Line(_));
    chart.layers.iter().enumerate().filter(is_data)
}

fn lines(chart: &Chart) -> impl Iterator<Item = (usize, &Line)> {
    data(chart).filter_map(|(index, layer)| match layer {
        Layer::Line(line) => Some((index, line)),
        _ => None,
    })
}

fn clouds(chart: &Chart) -> impl Iterator<Item = (usize, &Points)> {
    data(chart).filter_map(|(index, layer)| match layer {
        Layer::Points(points) => Some((index, points)),
        _ => None,
    })
}

/// The glyphs of a layer of data.
fn glyphs(chart: &Chart, layer: usize) -> (char, char) {
    let index = data(chart).take_while(|(other, _)| *other != layer).count();
    GLYPHS[index % GLYPHS.len()]
}

/// Columns above and below which something lies beyond the plot.
#[derive(Default)]
struct Arrows {
    up: Vec<(usize, Hue)>,
    down: Vec<(usize, Hue)>,
}

struct Sheet<'a> {
    frame: Frame<'a>,
    style: Style,
    /// Whether points are all the data and of one layer: they are drawn in the finer dots of braille.
    single: bool,
    grid: Grid,
    page: Page,
    /// Columns of the labels at the left.
    before: usize,
    left: Vec<Tick>,
    right: Vec<Tick>,
}

impl Sheet<'_> {
    fn draw(mut self) -> Styled {
        let chart = self.frame.chart;
        self.head();
        let (upright, level) =
            (self.frame.tags(true, self.style.rate), self.frame.tags(false, self.style.rate));
        self.shades(&upright, true);
        self.shades(&level, false);
        self.grids();
        self.clouds();
        self.courses();
        let arrows = self.arrows();
        if self.frame.is_empty() {
            let from = self.grid.width.saturating_sub(columns(NOTHING)) / 2;
            self.grid.words(self.grid.height / 2, from, NOTHING, Hue::Grey);
        }
        let mut unplaced = self.flags(&upright);
        unplaced.extend(self.names(&level));
        self.top(&upright, &arrows.up);
        self.rows();
        self.bottom(&arrows.down);
        for (text, hue) in unplaced {
            let lead = paint(hue.ansi().on_default(), "╌") + " ";
            self.page.hanging(&lead, "  ", &text, anstyle::Style::new());
        }
        if !chart.note.is_empty() {
            self.page.wrapped("", &chart.note, DIM);
        }
        self.page.text
    }

    /// Title, subtitle, legend and the titles of the y axes.
    fn head(&mut self) {
        let chart = self.frame.chart;
        if !chart.title.is_empty() {
            self.page.wrapped("", &chart.title, BOLD);
        }
        if !chart.subtitle.is_empty() {
            self.page.wrapped("", &chart.subtitle, DIM);
        }
        self.legend();
        let rate = self.style.rate;
        let left = tick::axis_title(&chart.y, rate);
        let right = chart.y2.as_ref().map_or(String::new(), |axis| tick::axis_title(axis, rate));
        let mut cells = vec![Cell::BLANK; self.style.width];
        put(&mut cells, 0, &left, None);
        put(&mut cells, self.style.width.saturating_sub(columns(&right)), &right, None);
        let beyond = self.frame.beyond(rate).join("  ");
        let from = columns(&left) + 2;
        let to =
            self.style.width.saturating_sub(columns(&right) + if right.is_empty() { 0 } else { 2 });
        let wide = columns(&beyond);
        if wide + from <= to {
            put(&mut cells, to - wide, &beyond, None);
            self.page.line(&written(&cells));
        } else {
            self.page.wrapped("", &beyond, anstyle::Style::new());
            self.page.line(&written(&cells));
        }
    }

    fn legend(&mut self) {
        let chart = self.frame.chart;
        let mut line = Styled::default();
        let mut used = 0;
        for key in self.frame.keys() {
            let glyph = match &chart.layers[key.layer] {
                Layer::Points(_) if self.single => '⠿',
                Layer::Points(_) if lines(chart).count() > 0 => glyphs(chart, key.layer).0,
                Layer::Points(_) => glyphs(chart, key.layer).1,
                Layer::Line(line) => self.marker(key.layer, line).unwrap_or('⠒'),
                _ => '░',
            };
            let text = block::text::harmless(&key.text);
            let wide = 2 + columns(&text);
            if used > 0 && used + 3 + wide > self.style.width {
                self.page.line(&line);
                (line, used) = (Styled::default(), 0);
            }
            let gap = if used > 0 { "   " } else { "" };
            let glyph = paint(key.hue.ansi().on_default(), &glyph.to_string());
            line = line + gap + glyph + " " + text;
            used += gap.len() + wide;
        }
        if used > 0 {
            self.page.line(&line);
        }
        for layer in &chart.layers {
            if let Layer::Heat(grid) = layer {
                self.scale(grid);
            }
        }
    }

    /// Writes the legend of the glyphs of a grid.
    fn scale(&mut self, grid: &Heat) {
        let mut line = Styled::default();
        let mut used = 0;
        let mut lead = vec![(' ', Hue::Grey, format!("{}:", block::text::harmless(&grid.name)))];
        if columns(&lead[0].2) > self.style.width {
            self.page.wrapped("", &grid.name, anstyle::Style::new());
            lead.clear();
        }
        for (glyph, hue, text) in lead.into_iter().chain(heat::glyphs(grid, self.style.rate)) {
            let glyph = if glyph == ' ' { String::new() } else { format!("{glyph} ") };
            let wide = columns(&glyph) + columns(&text);
            if used > 0 && used + 2 + wide > self.style.width {
                self.page.line(&line);
                (line, used) = (Styled::default(), 0);
            }
            let gap = if used > 0 { "  " } else { "" };
            line = line + gap;
            if !glyph.is_empty() {
                line += &paint(hue.ansi().on_default(), &glyph);
            }
            line = line + text;
            used += gap.len() + wide;
        }
        self.page.line(&line);
    }

    /// Zones and marks, under the data.
    fn shades(&mut self, tags: &[Tag], column: bool) {
        for tag in tags {
            let (from, to) = tag.over.unwrap_or((0.0, 1.0));
            let (us, vs) = if column {
                ((tag.from, tag.to), (from, to))
            } else {
                ((from, to), (tag.from, tag.to))
            };
            let glyph = match (tag.zone, column) {
                (true, _) => '░',
                (false, true) => '╎',
                (false, false) => '╌',
            };
            // A zone ends before the cell in which only its end lies.
            let last = |cell: usize, first: usize, exact: f64| {
                if tag.zone && cell > first && exact.fract() == 0.0 { cell - 1 } else { cell }
            };
            let (left, right) = (self.grid.column(us.0), self.grid.column(us.1));
            let right = last(right, left, us.1 * self.grid.width as f64);
            for row in self.grid.row(vs.1)..=self.grid.row(vs.0) {
                for cell in &mut self.grid.rows[row][left..=right] {
                    *cell = Cell { dim: tag.zone, ..Cell::of(glyph, tag.hue) };
                }
            }
        }
    }

    /// Values beyond the plot, with their columns.
    fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::default();
        let column = |u: f64, hue: Hue| (self.grid.column(u), hue);
        for (_, points) in clouds(self.frame.chart) {
            let dots = self.frame.dots(points);
            arrows.up.extend(dots.above.into_iter().map(|u| column(u, points.hue)));
            arrows.down.extend(dots.below.into_iter().map(|u| column(u, points.hue)));
        }
        for (_, line) in lines(self.frame.chart) {
            for knot in self.frame.knots(line) {
                match knot.at {
                    (u, v) if v > 1.0 => arrows.up.push(column(u, line.hue)),
                    (u, v) if v < 0.0 => arrows.down.push(column(u, line.hue)),
                    _ => {}
                }
            }
        }
        arrows
    }

    /// The glyph on the values of a line: on each of a few; of many on some, where other lines are about.
    fn marker(&self, layer: usize, line: &Line) -> Option<char> {
        let chart = self.frame.chart;
        let marked = self.sparse(line) || lines(chart).count() > 1;
        marked.then(|| glyphs(chart, layer).1)
    }

    fn sparse(&self, line: &Line) -> bool {
        2 * line.points.len() <= self.grid.width
    }

    /// Lines in braille over all points, and their markers over all lines.
    fn courses(&mut self) {
        let chart = self.frame.chart;
        for (_, line) in lines(chart) {
            for piece in self.frame.course(line) {
                for pair in piece.windows(2) {
                    self.grid.stroke(pair[0], pair[1], line.hue);
                }
            }
            if self.sparse(line) {
                for knot in self.frame.knots(line) {
                    if let Some((low, high)) = knot.interval {
                        self.grid.stroke((knot.at.0, low), (knot.at.0, high), line.hue);
                    }
                }
            }
        }
        self.grid.settle();
        self.markers();
    }

    /// Draws the markers; those of lines that overlap alternate, so that each is visible.
    fn markers(&mut self) {
        let chart = self.frame.chart;
        let mut claims: BTreeMap<(usize, usize), Vec<Cell>> = BTreeMap::new();
        for (index, line) in lines(chart) {
            let Some(glyph) = self.marker(index, line) else { continue };
            let mut next = 0;
            for knot in self.frame.knots(line) {
                let column = self.grid.column(knot.at.0);
                if (0.0..=1.0).contains(&knot.at.1) && (self.sparse(line) || column >= next) {
                    let place = (column, self.grid.row(knot.at.1));
                    claims.entry(place).or_default().push(Cell::of(glyph, line.hue));
                    next = column + STRIDE;
                }
            }
        }
        let mut before = None;
        let mut turn = 0;
        for ((column, row), cells) in claims {
            turn += usize::from(before.is_some_and(|before| before != column));
            before = Some(column);
            self.grid.mark(row, column, cells[turn % cells.len()]);
        }
    }

    /// Grids of shades: a cell shows the most that any cell of the grid has there.
    fn grids(&mut self) {
        let chart = self.frame.chart;
        let (width, height) = (self.grid.width, self.grid.height);
        for layer in &chart.layers {
            let Layer::Heat(grid) = layer else { continue };
            let Some(scale) = heat::Scale::of(grid) else { continue };
            let mut most = vec![0.0f64; width * height];
            for cell in &grid.cells {
                let (from, to) = grid.corners(cell.column, cell.row);
                let (Some(from), Some(to)) = (self.frame.spot(from), self.frame.spot(to)) else {
                    continue;
                };
                // Half a hair inside, so that a cell does not reach into that of its neighbour.
                let hair = (1e-6, 1e-6);
                let (left, right) =
                    (self.grid.column(from.0 + hair.0), self.grid.column(to.0 - hair.0));
                let (top, bottom) = (self.grid.row(to.1 - hair.1), self.grid.row(from.1 + hair.1));
                for row in top..=bottom.max(top) {
                    for best in &mut most[row * width + left..=row * width + right.max(left)] {
                        *best = best.max(cell.value);
                    }
                }
            }
            for (place, value) in most.into_iter().enumerate().filter(|(_, value)| *value > 0.0) {
                let (glyph, hue) = heat::glyph(&scale, value);
                self.grid.mark(place / width, place % width, Cell::of(glyph, hue));
            }
        }
    }

    /// All layers of points: a cell shows the layer that has most of its values there.
    fn clouds(&mut self) {
        let chart = self.frame.chart;
        let (width, height) = (self.grid.width, self.grid.height);
        let mut most: Vec<(usize, usize)> = vec![(0, 0); width * height];
        for (index, points) in clouds(chart) {
            let mut counts = vec![0usize; width * height];
            for place in self.frame.dots(points).inside {
                if self.single {
                    self.grid.dot(place, points.hue);
                } else {
                    counts[self.grid.row(place.1) * width + self.grid.column(place.0)] += 1;
                }
            }
            for (best, count) in most.iter_mut().zip(counts) {
                if count > best.0 {
                    *best = (count, index);
                }
            }
        }
        self.grid.settle();
        let full = most.iter().filter(|best| best.0 > 0).count().max(1);
        let mean = most.iter().map(|best| best.0).sum::<usize>() / full;
        // Large glyphs would leave nothing of a line.
        let small = lines(chart).count() > 0;
        for (cell, (count, layer)) in most.into_iter().enumerate().filter(|(_, best)| best.0 > 0) {
            if let Layer::Points(points) = &chart.layers[layer] {
                let (few, many) = glyphs(chart, layer);
                let glyph = if small || 4 * count < mean { few } else { many };
                self.grid.mark(cell / width, cell % width, Cell::of(glyph, points.hue));
            }
        }
    }

    /// Names above the plot with their stems; returns those that found no room.
    fn flags(&mut self, tags: &[Tag]) -> Vec<(String, Hue)> {
        let mut named: Vec<&Tag> = tags.iter().filter(|t| !t.text.is_empty()).collect();
        // From the right: a name is then placed above the stems that its words would cross.
        named.sort_by(|a, b| b.from.total_cmp(&a.from));
        let width = self.style.width;
        let mut rows = vec![vec![Cell::BLANK; width]; TAG_ROWS];
        let mut unplaced = vec![];
        let mut used = 0;
        for tag in named {
            let stem = self.before + 1 + self.grid.column(tag.from);
            let wide = columns(&tag.text);
            // Right of its stem, or left of it where the line ends.
            let from = if stem + 1 + wide <= width { stem + 1 } else { stem.saturating_sub(wide) };
            let (start, end) = (from.min(stem), (from + wide).max(stem + 1));
            let blank = |cells: &[Cell]| cells.iter().all(|c| c.glyph == Some(' '));
            let clear = |row: &usize| {
                let around = start.saturating_sub(1)..(end + 1).min(width);
                end <= width
                    && blank(&rows[*row][around])
                    && (0..*row).all(|r| blank(&rows[r][stem..=stem]))
            };
            let Some(row) = (0..TAG_ROWS).find(clear) else {
                unplaced.push((tag.text.clone(), tag.hue));
                continue;
            };
            used = used.max(row + 1);
            for cells in &mut rows[..=row] {
                cells[stem] = Cell::of('│', tag.hue);
            }
            put(&mut rows[row], from, &tag.text, Some(tag.hue));
        }
        for row in rows[..used].iter().rev() {
            self.page.line(&written(row));
        }
        unplaced.reverse();
        unplaced
    }

    /// Names of what lies across a y axis, near it where no data is hidden; returns those that found no room.
    fn names(&mut self, tags: &[Tag]) -> Vec<(String, Hue)> {
        let mut unplaced = vec![];
        for tag in tags.iter().filter(|t| !t.text.is_empty()) {
            let (from, to) = tag.over.unwrap_or((0.0, 1.0));
            let (first, last) = (self.grid.column(from), self.grid.column(to));
            let row = self.grid.row((tag.from + tag.to) / 2.0);
            let wide = columns(&tag.text);
            let near =
                [row.checked_sub(1), Some(row + 1), row.checked_sub(2), Some(row + 2), Some(row)];
            let place =
                near.into_iter().flatten().filter(|&r| r < self.grid.height).find_map(|r| {
                    let column = |c: &usize| c + wide <= last + 1 && self.grid.free(r, *c, wide);
                    (first + 1..=last).rev().find(column).map(|column| (r, column))
                });
            match place {
                Some((row, column)) => self.grid.words(row, column, &tag.text, tag.hue),
                None => unplaced.push((tag.text.clone(), tag.hue)),
            }
        }
        unplaced
    }

    /// The frame's upper line: zones are thick in it, and arrows show what lies above.
    fn top(&mut self, tags: &[Tag], arrows: &[(usize, Hue)]) {
        let mut cells = self.line('┌', '┐');
        for tag in tags.iter().filter(|t| t.zone) {
            let (from, to) = (self.grid.column(tag.from), self.grid.column(tag.to));
            for cell in &mut cells[self.before + 1 + from..=self.before + 1 + to] {
                *cell = Cell::of('━', tag.hue);
            }
        }
        for &(column, hue) in arrows {
            cells[self.before + 1 + column] = Cell::of('▲', hue);
        }
        self.page.line(&written(&cells));
    }

    fn line(&self, from: char, to: char) -> Vec<Cell> {
        let mut cells = vec![Cell::BLANK; self.style.width];
        let bar = "─".repeat(self.grid.width);
        put(&mut cells, self.before, &format!("{from}{bar}{to}"), None);
        cells
    }

    /// The plot's rows between the labels of the y axes.
    fn rows(&mut self) {
        let (left, _) = self.frame.side(Side::Left);
        let (right, _) = self.frame.side(Side::Right);
        let (left, right) = (self.labels(&self.left, left), self.labels(&self.right, right));
        let end = self.before + 1 + self.grid.width;
        for row in 0..self.grid.height {
            let mut cells = vec![Cell::BLANK; self.style.width];
            let (label, post) = match &left[row] {
                Some(label) => (label.as_str(), '┤'),
                None => ("", '│'),
            };
            put(&mut cells, self.before.saturating_sub(1 + columns(label)), label, None);
            put(&mut cells, self.before, &post.to_string(), None);
            cells[self.before + 1..end].copy_from_slice(&self.grid.rows[row]);
            let (label, post) = match &right[row] {
                Some(label) => (label.as_str(), '├'),
                None => ("", '│'),
            };
            put(&mut cells, end, &post.to_string(), None);
            put(&mut cells, end + 2, label, None);
            self.page.line(&written(&cells));
        }
    }

    /// The label of each row, if it has one.
    fn labels(&self, ticks: &[Tick], span: &Span) -> Vec<Option<String>> {
        let mut labels = vec![None; self.grid.height];
        for tick in ticks {
            let row = self.grid.row(span.place(tick.value).clamp(0.0, 1.0));
            labels[row].get_or_insert_with(|| tick.label.clone());
        }
        labels
    }

    /// The frame's lower line, the labels of the x axis, and its title.
    fn bottom(&mut self, arrows: &[(usize, Hue)]) {
        let chart = self.frame.chart;
        let (span, width) = (self.frame.x, self.grid.width);
        let ticks = tick::ticks(&chart.x, span.low, span.high, width / 11, self.style.rate);
        let mut line = self.line('└', '┘');
        let mut labels = vec![Cell::BLANK; self.style.width];
        let mut free = 0;
        for tick in &ticks {
            let at = self.before + 1 + self.grid.column(span.place(tick.value).clamp(0.0, 1.0));
            line[at] = Cell { glyph: Some('┬'), ..Cell::BLANK };
            let wide = columns(&tick.label);
            let from = at.saturating_sub(wide / 2).min(self.style.width.saturating_sub(wide));
            if from >= free {
                put(&mut labels, from, &tick.label, None);
                free = from + wide + 1;
            }
        }
        for &(column, hue) in arrows {
            line[self.before + 1 + column] = Cell::of('▼', hue);
        }
        let title = tick::axis_title(&chart.x, self.style.rate);
        let mut below = vec![Cell::BLANK; self.style.width];
        let middle = self.before + 1 + width / 2;
        put(&mut below, middle.saturating_sub(columns(&title) / 2), &title, None);
        for cells in [line, labels, below] {
            self.page.line(&written(&cells));
        }
    }
}
