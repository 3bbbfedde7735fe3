//! From the rows of one table, and what was said of it, to the table.

use super::around::Around;
use super::command::{self, Command};
use super::error::ParseError;
use super::figure::{Time, TimeUnit};
use super::micro;
use super::note::{Note, NoteKind};
use super::rows::{RawAlign, RawRates};
use super::tables::{
    AlignRow, AlignTable, Cut, DiffFrom, FindFatRow, FindFatTable, OpenAuRow, OpenAuTable, Other,
    OtherKind, Rate, Resolution, Source, Table, Told,
};

/// flashbench's defaults.
const ERASE_BYTES: u64 = 4 << 20;
const BLOCK_BYTES: u64 = 16 << 10;
const OPEN_AU_NR: u64 = 2;

/// A row that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub line: u32,
    pub kind: RowKind,
    /// Alignment or size of the row.
    pub size: u64,
    pub expected: &'static str,
    pub text: String,
}

/// The two kinds of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    Align,
    Rates,
}

impl Broken {
    pub(super) fn refused(&self, file: &str) -> ParseError {
        ParseError::Row {
            file: file.to_owned(),
            line: self.line,
            expected: self.expected.to_owned(),
            found: self.text.clone(),
        }
    }
}

/// Rows that belong together.
#[derive(Debug)]
pub(super) struct Series<T> {
    pub rows: Vec<T>,
    /// Text after them that looks like a row but cannot be read.
    pub broken: Option<Broken>,
    pub stopped: bool,
}

/// The table that is being read.
#[derive(Debug)]
pub(super) enum Rows {
    Align(Series<RawAlign>),
    Rates(Series<RawRates>),
}

impl<T> Series<T> {
    fn new() -> Series<T> {
        Series { rows: Vec::new(), broken: None, stopped: false }
    }

    /// Refuses another row behind one that could not be read, because that was not the end of the table and its
    /// contents are not known; and more rows than a table has.
    pub(super) fn may_go_on(&self, file: &str, most: usize) -> Result<(), ParseError> {
        match &self.broken {
            Some(broken) => Err(broken.refused(file)),
            None if self.rows.len() < most => Ok(()),
            None => Err(ParseError::TooManyRows { file: file.to_owned(), most }),
        }
    }
}

impl Series<RawRates> {
    /// Takes rates that were broken off from the last row, in the line before `line`. False when they were not.
    pub(super) fn goes_on(&mut self, line: u32, rates: &[(f64, f64, bool)]) -> bool {
        let columns = self.rows.first().map_or(0, |row| row.rates.len());
        let first = self.rows.len() == 1;
        let short = |row: &&mut RawRates| {
            row.line + 1 == line && (first || row.rates.len() + rates.len() <= columns)
        };
        let last = self.rows.last_mut().filter(short);
        let taken = last.map(|row| row.rates.extend_from_slice(rates));
        taken.is_some()
    }
}

impl Rows {
    pub(super) fn new(kind: RowKind) -> Rows {
        match kind {
            RowKind::Align => Rows::Align(Series::new()),
            RowKind::Rates => Rows::Rates(Series::new()),
        }
    }

    /// First and last line; `None` without rows.
    pub(super) fn lines(&self) -> Option<(u32, u32)> {
        match self {
            Rows::Align(open) => Some((open.rows.first()?.line, open.rows.last()?.line)),
            Rows::Rates(open) => Some((open.rows.first()?.line, open.rows.last()?.line)),
        }
    }

    /// True when a row of this kind and size can follow: rows get smaller.
    pub(super) fn goes_on(&self, kind: RowKind, size: u64) -> bool {
        match self {
            Rows::Align(open) => {
                kind == RowKind::Align && open.rows.last().is_none_or(|row| row.align_bytes > size)
            }
            Rows::Rates(open) => {
                kind == RowKind::Rates && open.rows.last().is_none_or(|row| row.len_bytes > size)
            }
        }
    }

    /// How many columns the first row of rates has.
    pub(super) fn columns(&self) -> Option<usize> {
        match self {
            Rows::Align(_) => None,
            Rows::Rates(open) => open.rows.first().map(|row| row.rates.len()),
        }
    }

    pub(super) fn set_broken(&mut self, broken: Broken) {
        let place = match self {
            Rows::Align(open) => &mut open.broken,
            Rows::Rates(open) => &mut open.broken,
        };
        place.get_or_insert(broken);
    }
}

/// Makes the table.
pub(super) fn build(
    rows: Rows,
    around: &mut Around,
    notes: &mut Vec<Note>,
    file: &str,
) -> Result<(Table, Told), ParseError> {
    match rows {
        Rows::Align(series) => {
            let (mut told, command) =
                around.told(|c, came| c.align && !std::mem::replace(&mut came.align, true));
            let cut = series.broken.as_ref().map(|broken| cut(broken, notes));
            let table = align(series.rows, cut, notes);
            let last = table.rows.last().map(|row| row.align_bytes);
            let default = command.is_some_and(|c| c.block_bytes.or_default(0) == Some(0));
            if default && last == Some(2 * BLOCK_BYTES) {
                told.block_bytes = Some(BLOCK_BYTES);
            }
            Ok((Table::Align(table), told))
        }
        Rows::Rates(series) => rates(series, around, notes, file),
    }
}

fn cut(broken: &Broken, notes: &mut Vec<Note>) -> Cut {
    let text = broken.text.clone();
    notes.push(Note::new(broken.line, NoteKind::CutRow { text: text.clone() }));
    Cut { line: broken.line, text }
}

fn align(mut raw: Vec<RawAlign>, cut: Option<Cut>, notes: &mut Vec<Note>) -> AlignTable {
    if let (Some(lost), Some(first)) = (micro::settle(&mut raw), raw.first()) {
        notes.push(Note::new(first.line, lost));
    }
    let commas = |row: &&RawAlign| row.times.iter().chain(&row.diff).any(|time| time.number.comma);
    if let Some(row) = raw.iter().find(commas) {
        notes.push(Note::new(row.line, NoteKind::DecimalComma));
    }
    AlignTable { rows: raw.iter().map(|row| align_row(row, notes)).collect(), cut }
}

fn align_row(raw: &RawAlign, notes: &mut Vec<Note>) -> AlignRow {
    let ns = |time: &Time, unit: TimeUnit| (time.ns_as(unit), time.step_as(unit));
    // Rows without these units were refused when they were read.
    let [pre, on, post] = raw.times.map(|time| ns(&time, time.unit.unwrap_or(TimeUnit::Ns)));
    if [pre, on, post].iter().any(|(ns, _)| *ns == 0.0) {
        notes.push(Note::new(raw.line, NoteKind::ZeroTime));
    }
    let steps = Resolution { pre_ns: pre.1, on_ns: on.1, post_ns: post.1, diff_ns: 0.0 };
    let mut row = AlignRow {
        align_bytes: raw.align_bytes,
        pre_ns: pre.0,
        on_ns: on.0,
        post_ns: post.0,
        diff_ns: None,
        diff_from: DiffFrom::Missing,
        resolution: steps,
    };
    let Some((diff, from)) = diff_of(raw, &row, notes) else { return row };
    (row.diff_ns, row.resolution.diff_ns, row.diff_from) = (Some(diff.0), diff.1, from);
    if !row.agrees_with_itself() {
        let kind =
            NoteKind::DiffDisagrees { printed_ns: diff.0, computed_ns: row.computed_diff_ns() };
        notes.push(Note::new(raw.line, kind));
    }
    row
}

/// Value and resolution of the row's last figure, and their source.
fn diff_of(
    raw: &RawAlign,
    row: &AlignRow,
    notes: &mut Vec<Note>,
) -> Option<((f64, f64), DiffFrom)> {
    let time = raw.diff.as_ref()?;
    let unit = time.unit.unwrap_or(TimeUnit::Ns);
    let diff = (time.ns_as(unit), time.step_as(unit));
    if time.unit.is_some() && !time.cut {
        return Some((diff, DiffFrom::Printed));
    }
    let text = raw.diff_text.clone();
    let (computed, off) = (row.computed_diff_ns(), row.computed_diff_off_ns());
    if (diff.0 - computed).abs() <= off + diff.1 / 2.0 {
        notes.push(Note::new(raw.line, NoteKind::DiffUnitCut { text }));
        return Some((diff, DiffFrom::CutUnit));
    }
    notes.push(Note::new(raw.line, NoteKind::DiffComputed { text }));
    Some(((computed, 2.0 * off), DiffFrom::Computed))
}

/// Kind of test that printed the rates.
fn kind(rows: &[RawRates], around: &Around) -> Kind {
    let columns = rows.first().map_or(0, |row| row.rates.len());
    let last = rows.last().map_or(0, |row| row.len_bytes);
    let first = rows.first().map_or(0, |row| row.len_bytes);
    match (&around.command, columns) {
        (Some(c), 1) if c.find_fat && !c.open_au && c.fat_nr.value() == Some(1) => Kind::FindFat,
        (_, 1) => Kind::OpenAu,
        (Some(c), 8) if c.program && !around.came.program => Kind::Program,
        // Without a command: its 13 rows begin and end at fixed sizes.
        (None, 8) if first == 2 << 20 && last <= 1 << 10 => Kind::Program,
        _ => Kind::FindFat,
    }
}

enum Kind {
    OpenAu,
    FindFat,
    Program,
}

fn rates(
    mut series: Series<RawRates>,
    around: &mut Around,
    notes: &mut Vec<Note>,
    file: &str,
) -> Result<(Table, Told), ParseError> {
    let cut = even_rows(&mut series, notes, file)?;
    if let Some(row) = series.rows.iter().find(|row| row.rates.iter().any(|rate| rate.2)) {
        notes.push(Note::new(row.line, NoteKind::DecimalComma));
    }
    let kind = kind(&series.rows, around);
    let (mut told, command) = around.told(|c, came| match kind {
        Kind::OpenAu => c.open_au && !std::mem::replace(&mut came.open_au, true),
        Kind::FindFat => c.find_fat && !std::mem::replace(&mut came.find_fat, true),
        Kind::Program => c.program && !std::mem::replace(&mut came.program, true),
    });
    sizes(&series.rows, command.as_ref(), &mut told, notes);
    // A headline applies to one table only.
    let heading = std::mem::take(&mut around.heading);
    let random = command.as_ref().map(|command| (command.random, Source::Command));
    let random = random.or(heading.random.map(|random| (random, Source::Heading)));
    let line = series.rows.first().map_or(0, |row| row.line);
    let erase_block = told.erase_bytes;
    let table = match kind {
        Kind::OpenAu => {
            let nr = nr(command.as_ref(), heading.nr, line, notes);
            Table::OpenAu(OpenAuTable {
                nr: nr.map(|(nr, _)| nr),
                nr_from: nr.map(|(_, from)| from),
                random: random.map(|(random, _)| random),
                random_from: random.map(|(_, from)| from),
                erase_block,
                rows: series.rows.iter().flat_map(open_au_rows).collect(),
                cut,
                stopped: series.stopped,
            })
        }
        Kind::FindFat => {
            let random = random.map(|(random, _)| random);
            let rows = series.rows.iter().map(find_fat_row).collect();
            Table::FindFat(FindFatTable { erase_block, random, rows, cut })
        }
        Kind::Program => {
            let lines = u32::try_from(series.rows.len()).unwrap_or(u32::MAX);
            let other = Other { kind: OtherKind::Program, lines };
            notes.push(Note::skipped(line, &other));
            Table::Other(other)
        }
    };
    Ok((table, told))
}

/// Leaves a last row out that has fewer rates than the others; refuses one before it.
fn even_rows(
    series: &mut Series<RawRates>,
    notes: &mut Vec<Note>,
    file: &str,
) -> Result<Option<Cut>, ParseError> {
    let broken = series.broken.as_ref().map(|broken| cut(broken, notes));
    let columns = series.rows.first().map_or(0, |row| row.rates.len());
    let Some(at) = series.rows.iter().position(|row| row.rates.len() != columns) else {
        return Ok(broken);
    };
    let row = &series.rows[at];
    let short = Broken {
        line: row.line,
        kind: RowKind::Rates,
        size: row.len_bytes,
        expected: "as many rates as in the first row",
        text: format!("{} of {columns} rates", row.rates.len()),
    };
    if at + 1 < series.rows.len() || row.rates.len() > columns || broken.is_some() {
        return Err(short.refused(file));
    }
    series.rows.truncate(at);
    Ok(Some(cut(&short, notes)))
}

fn rate((value, step, _): &(f64, f64, bool)) -> Rate {
    Rate { bytes_per_s: *value, step_bytes_per_s: *step }
}

/// One, for such rows have one rate.
fn open_au_rows(row: &RawRates) -> impl Iterator<Item = OpenAuRow> {
    row.rates.iter().map(|cell| OpenAuRow { len_bytes: row.len_bytes, rate: rate(cell) })
}

fn find_fat_row(row: &RawRates) -> FindFatRow {
    FindFatRow { len_bytes: row.len_bytes, rates: row.rates.iter().map(rate).collect() }
}

/// Sizes that the command left to flashbench's defaults, where the rows bear them out; and a note where they do not
/// bear out what it says.
fn sizes(rows: &[RawRates], command: Option<&Command>, told: &mut Told, notes: &mut Vec<Note>) {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return };
    if let Some(command) = command {
        if command.erase_bytes.or_default(ERASE_BYTES) == Some(first.len_bytes) {
            told.erase_bytes = Some(first.len_bytes);
        }
        if command.block_bytes.or_default(BLOCK_BYTES) == Some(last.len_bytes) {
            told.block_bytes = Some(last.len_bytes);
        }
    }
    match told.erase_bytes {
        Some(told_bytes) if told_bytes != first.len_bytes => {
            let kind = NoteKind::EraseBlockDiffers { told_bytes, first_bytes: first.len_bytes };
            notes.push(Note::new(first.line, kind));
        }
        _ => {}
    }
}

/// How many units were open, and who says so.
fn nr(
    command: Option<&Command>,
    heading: Option<u32>,
    line: u32,
    notes: &mut Vec<Note>,
) -> Option<(u32, Source)> {
    let given = command.and_then(|command| command.nr.value()).and_then(command::nr);
    if let (Some(command), Some(heading)) =
        (given, heading.filter(|heading| Some(*heading) != given))
    {
        notes.push(Note::new(line, NoteKind::NumbersDiffer { command, heading }));
    }
    let default = || {
        let absent = command?.nr.or_default(OPEN_AU_NR)?;
        command::nr(absent)
    };
    given
        .map(|nr| (nr, Source::Command))
        .or(heading.map(|nr| (nr, Source::Heading)))
        .or_else(|| default().map(|nr| (nr, Source::Default)))
}
