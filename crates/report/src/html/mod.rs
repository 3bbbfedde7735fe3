//! Reports as pages in one HTML file: to be read without a network, by day and by night, on paper, and aloud.
//!
//! A [`Document`] is plain data, as a [`Chart`] is, and knows no instrument. The file that [`render`] makes of it
//! holds everything that it needs: its style, and charts as SVG within it. Each page of the report is a page on paper.
//! A page that stays as it is holds no script, and asks browsers to run none, whatever the names of drives have in them;
//! one that answers ([`Document::answers`]) holds one of our own, which sorts tables, zooms charts and reads them out, and
//! asks browsers to run that one alone, by its checksum. Nothing is missing without it.
//!
//! Rejected: charts as pictures in `data:` URIs. They could not follow the reader's choice of light or dark, nor be
//! read aloud, and would be a third larger. Rejected, too: a library of charts in the page, which would be larger than
//! all that a report has to say, and would have a second opinion of every axis.

mod figure;
mod render;
mod view;

use stats::Caveat;

use crate::chart::{Chart, ChartError};
use crate::number::RateUnit;
use crate::sheet::Tone;

pub use render::render;

/// A report.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Heading: the command and its subject.
    pub title: String,
    /// Program and version that made it; at the foot of every page.
    pub imprint: String,
    /// Its pages, in order.
    pub pages: Vec<Page>,
    /// Whether it contains our script, with charts for narrow screens and the values of each chart.
    pub answers: bool,
    /// Unit of throughput in charts of a page that answers.
    pub rate: RateUnit,
}

impl Document {
    /// How many charts it has.
    fn charts(&self) -> usize {
        let blocks = self.pages.iter().flat_map(|page| &page.blocks);
        blocks.filter(|block| matches!(block, Block::Chart(_))).count()
    }
}

/// A page, on screen and on paper.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The part of the report that it belongs to; pages of one part are grouped in the list of pages.
    pub part: String,
    /// Title.
    pub title: String,
    /// Warning for readers who see this page alone; may be empty.
    pub banner: String,
    /// Subject and conditions of the measurement, in groups.
    pub header: Vec<Facts>,
    /// Content, from top to bottom.
    pub blocks: Vec<Block>,
}

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Block {
    /// A line over what follows.
    Heading(String),
    /// Words.
    Paragraph(String),
    /// A command to run.
    Command {
        /// As it is typed.
        command: String,
        /// Reason to run it.
        why: String,
    },
    /// Named facts.
    Facts(Facts),
    /// Numbers.
    Table(Table),
    /// A picture of them.
    Chart(Box<Chart>),
    /// A doubt, with what to do about it.
    Caveat(Caveat),
    /// Source data.
    Data(Data),
}

/// Data for other programs, to be looked at and saved.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// Caption.
    pub caption: String,
    /// Name of the file that it is saved as.
    pub file: String,
    /// All of it, as text.
    pub text: String,
}

/// Names, each with its fact.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Subject; may be empty.
    pub title: String,
    /// Names with facts. An empty fact is shown as [`NOT_STATED`].
    pub facts: Vec<(String, String)>,
}

/// Text in place of an unknown fact: that it is unknown is a finding, too.
pub const NOT_STATED: &str = "not stated";

/// A table. Its text is ready: numbers are written by [`crate::number`].
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Caption.
    pub caption: String,
    /// Heads of its columns, that of the rows' names first.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Remarks, under the rows.
    pub notes: Vec<String>,
}

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// A cell a column, without that of the name.
    pub cells: Vec<Cell>,
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Text; shown as a dash if empty.
    pub text: String,
    /// Text rather than a number.
    pub is_words: bool,
    /// How much it is beside the others, from 0 to 1; it is shaded so.
    pub share: Option<f64>,
    /// How it stands, where it is a verdict.
    pub tone: Option<Tone>,
    /// The page that it names, from 1; it leads there.
    pub to_page: Option<usize>,
}

impl Table {
    /// True for a table whose last column of words has a line of its own in each row on narrow screens. With more columns the
    /// rows would no longer be read as columns.
    fn folds(&self) -> bool {
        const COLUMNS_MAX: usize = 6;
        let columns = self.of_words();
        columns.len() <= COLUMNS_MAX && columns.last() == Some(&true)
    }

    /// Flags the columns that contain text, that of the names first. Such a column is aligned to the left as a whole,
    /// numbers in it included.
    fn of_words(&self) -> Vec<bool> {
        let widest = self.rows.iter().map(|row| row.cells.len() + 1).max().unwrap_or(0);
        let mut columns = vec![false; widest.max(self.columns.len())];
        for row in &self.rows {
            let cells = columns.iter_mut().skip(1).zip(&row.cells);
            cells.for_each(|(is_of_words, cell)| *is_of_words |= cell.is_words);
        }
        columns
    }
}

impl Cell {
    /// A number, or nothing.
    pub fn number(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// Words.
    pub fn words(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), is_words: true, ..Cell::default() }
    }

    /// The number of a page, which leads there.
    pub fn page(number: usize) -> Cell {
        Cell { text: number.to_string(), to_page: Some(number), ..Cell::default() }
    }

    /// The same cell, shaded by how much it is beside others.
    #[must_use]
    pub fn shaded(self, share: f64) -> Cell {
        Cell { share: Some(share), ..self }
    }

    /// The same cell as a verdict.
    #[must_use]
    pub fn toned(self, tone: Tone) -> Cell {
        Cell { tone: Some(tone), ..self }
    }
}

/// Reasons why a report cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum HtmlError {
    /// A chart cannot be drawn.
    #[error("the chart {title:?}: {error}")]
    Chart {
        /// Its title.
        title: String,
        /// Why.
        error: ChartError,
    },
    /// The pages cannot be put together.
    #[error("the pages could not be put together: {0}")]
    Template(#[from] askama::Error),
}
