//! The plot of a terminal: cells, and the finer dots of braille within them.

use anstyle::Style as Ansi;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::clip::Place;
use super::hue::Hue;
use crate::styled::Styled;

/// One cell. A cell of no character follows a wide one and is not printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub glyph: Option<char>,
    pub hue: Option<Hue>,
    pub dim: bool,
}

impl Cell {
    pub(super) const BLANK: Cell = Cell { glyph: Some(' '), hue: None, dim: false };

    pub(super) fn of(glyph: char, hue: Hue) -> Cell {
        Cell { glyph: Some(glyph), hue: Some(hue), dim: false }
    }

    fn style(self) -> Ansi {
        let style = match self.hue {
            Some(hue) => hue.ansi().on_default(),
            None => Ansi::new(),
        };
        if self.dim { style.dimmed() } else { style }
    }
}

/// Cells as text, without blanks at the end; colours change only where they must.
pub(super) fn written(cells: &[Cell]) -> Styled {
    let used = cells.iter().rposition(|c| c.glyph != Some(' ')).map_or(0, |last| last + 1);
    let mut text = Styled::default();
    let mut current = Ansi::new();
    for cell in &cells[..used] {
        let Some(glyph) = cell.glyph else { continue };
        let style = if glyph == ' ' { current } else { cell.style() };
        if style != current {
            text.restyle(current, style);
            current = style;
        }
        text.push(glyph);
    }
    text.restyle(current, Ansi::new());
    text
}

/// Columns that a terminal gives to words. Not textwrap's count: without its tables it takes every box
/// character for a wide one.
pub(super) fn columns(text: &str) -> usize {
    text.width()
}

/// Writes words into cells from `column` on, as far as there are cells.
pub(super) fn put(cells: &mut [Cell], column: usize, words: &str, hue: Option<Hue>) {
    let mut at = column;
    for c in block::text::harmless(words).chars() {
        let wide = c.width().unwrap_or(0);
        if wide == 0 || at + wide > cells.len() {
            continue;
        }
        cells[at] = Cell { glyph: Some(c), hue, dim: false };
        for rest in &mut cells[at + 1..at + wide] {
            *rest = Cell { glyph: None, hue, dim: false };
        }
        at += wide;
    }
}

/// Rows of cells, addressed by places in the unit square.
pub(super) struct Grid {
    pub width: usize,
    pub height: usize,
    pub rows: Vec<Vec<Cell>>,
    /// Whether a cell shows data, which words may not cover.
    taken: Vec<Vec<bool>>,
    /// Braille dots, and whose they are.
    dots: Vec<Vec<(u8, Hue)>>,
}

/// Bits of braille's two columns from top to bottom (Unicode, block U+2800).
const BRAILLE: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

impl Grid {
    pub(super) fn new(width: usize, height: usize) -> Grid {
        Grid {
            width,
            height,
            rows: vec![vec![Cell::BLANK; width]; height],
            taken: vec![vec![false; width]; height],
            dots: vec![vec![(0, Hue::Grey); width]; height],
        }
    }

    /// Column of a place from 0 to 1.
    pub(super) fn column(&self, u: f64) -> usize {
        ((u * self.width as f64) as usize).min(self.width - 1)
    }

    /// Row of a place from 0 (bottom) to 1 (top); rows are counted from the top.
    pub(super) fn row(&self, v: f64) -> usize {
        (((1.0 - v) * self.height as f64) as usize).min(self.height - 1)
    }

    /// A glyph that is data.
    pub(super) fn mark(&mut self, row: usize, column: usize, cell: Cell) {
        self.rows[row][column] = cell;
        self.taken[row][column] = true;
    }

    /// One dot of braille.
    pub(super) fn dot(&mut self, (u, v): Place, hue: Hue) {
        let (columns, rows) = (2 * self.width, 4 * self.height);
        let x = ((u * columns as f64) as usize).min(columns - 1);
        let y = (((1.0 - v) * rows as f64) as usize).min(rows - 1);
        let cell = &mut self.dots[y / 4][x / 2];
        *cell = (cell.0 | BRAILLE[x % 2][y % 4], hue);
    }

    /// Dots along the way from one place to another.
    pub(super) fn stroke(&mut self, from: Place, to: Place, hue: Hue) {
        let across = (to.0 - from.0).abs() * 2.0 * self.width as f64;
        let along = (to.1 - from.1).abs() * 4.0 * self.height as f64;
        // Twice as fine as the dots, so that rounding leaves no gap.
        let steps = (2.0 * across.max(along)).ceil().max(1.0) as usize;
        for step in 0..=steps {
            let share = step as f64 / steps as f64;
            self.dot((from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1)), hue);
        }
    }

    /// Puts the dots drawn so far into the cells, over what is there.
    pub(super) fn settle(&mut self) {
        for row in 0..self.height {
            for column in 0..self.width {
                let (bits, hue) = std::mem::replace(&mut self.dots[row][column], (0, Hue::Grey));
                if bits != 0 {
                    let glyph = char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ');
                    self.mark(row, column, Cell::of(glyph, hue));
                }
            }
        }
    }

    /// Whether words of this width hide no data there, with a cell free at both ends.
    pub(super) fn free(&self, row: usize, column: usize, width: usize) -> bool {
        let from = column.saturating_sub(1);
        let to = column + width + 1;
        to <= self.width + 1 && self.taken[row][from..to.min(self.width)].iter().all(|taken| !taken)
    }

    /// Writes words into the plot; their cells then count as taken.
    pub(super) fn words(&mut self, row: usize, column: usize, words: &str, hue: Hue) {
        put(&mut self.rows[row], column, words, Some(hue));
        let end = (column + columns(words)).min(self.width);
        self.taken[row][column..end].fill(true);
    }
}
