//! The entry: one text or several of one device.

use super::command;
use super::lines::each_line;
use super::note::{Note, NoteKind};
use super::reader::Reader;
use super::tables::{Parsed, Source, Table};

pub use super::error::{ParseError, TEXT_BYTES_MAX};

/// All tables in a text, in their order. `name` is that of its file: errors contain it, and it may give the number of
/// open units (`card-nr3.txt`).
///
/// # Errors
/// When there is no table, when a row that is not the last of its table cannot be read, or when the text is too long.
pub fn parse(name: &str, text: &[u8]) -> Result<Vec<Parsed>, ParseError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(ParseError::TooLong { file: name.to_owned(), bytes: text.len() });
    }
    let mut reader = Reader::new(name);
    each_line(text, |line| reader.line(line))?;
    let mut tables = reader.finish()?;
    tables.sort_by_key(|parsed| parsed.lines);
    leave_out_repeats(&mut tables);
    if tables.is_empty() {
        return Err(ParseError::NoTable { file: name.to_owned() });
    }
    by_file_name(name, &mut tables);
    Ok(tables)
}

/// All tables of several texts about one device, in the order given. Tables of `--open-au` without a number of open
/// units are numbered from 1 in that order, if none has one and there are at least two.
///
/// # Errors
/// As [`parse`], for the first text that is refused.
pub fn parse_all<'a>(
    texts: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Result<Vec<Parsed>, ParseError> {
    let mut tables = Vec::new();
    for (name, text) in texts {
        tables.extend(parse(name, text)?);
    }
    by_order(&mut tables);
    Ok(tables)
}

/// A file's name may describe the one table of `--open-au` in it.
fn by_file_name(name: &str, tables: &mut [Parsed]) {
    let (nr, random) = command::file_name(name);
    let mut open = tables.iter_mut().filter_map(|parsed| match &mut parsed.table {
        Table::OpenAu(table) => Some(table),
        _ => None,
    });
    if let (Some(table), None) = (open.next(), open.next()) {
        if table.nr.is_none() && nr.is_some() {
            (table.nr, table.nr_from) = (nr, Some(Source::FileName));
        }
        if table.random.is_none() && random.is_some() {
            (table.random, table.random_from) = (random, Some(Source::FileName));
        }
    }
}

/// Linear and random tables are counted apart.
fn by_order(tables: &mut [Parsed]) {
    for order in [None, Some(false), Some(true)] {
        let open = tables.iter_mut().filter_map(|parsed| match &mut parsed.table {
            Table::OpenAu(table) if table.random == order => Some(table),
            _ => None,
        });
        let mut open: Vec<_> = open.collect();
        if open.len() >= 2 && open.iter().all(|table| table.nr.is_none()) {
            for (nr, table) in (1..).zip(&mut open) {
                (table.nr, table.nr_from) = (Some(nr), Some(Source::Order));
            }
        }
    }
}

/// Rows that make a repetition certain; fewer may be alike by chance.
const REPEATED_ROWS_MIN: usize = 3;

/// Answers in mailing lists quote tables. A table whose rows are all in an earlier one is left out, with a note there.
fn leave_out_repeats(tables: &mut Vec<Parsed>) {
    let mut kept: Vec<Parsed> = Vec::new();
    for parsed in tables.drain(..) {
        match kept.iter_mut().find(|earlier| repeats(earlier, &parsed)) {
            Some(earlier) => {
                let line = parsed.lines.0;
                earlier.notes.push(Note::new(earlier.lines.0, NoteKind::RepeatLeftOut { line }));
            }
            None => kept.push(parsed),
        }
    }
    *tables = kept;
}

fn repeats(earlier: &Parsed, later: &Parsed) -> bool {
    fn within<T: PartialEq>(rows: &[T], all: &[T], least: usize) -> bool {
        rows.len() >= least && rows.iter().all(|row| all.contains(row))
    }
    match (&earlier.table, &later.table) {
        // Four figures in a row are alike by chance less easily.
        (Table::Align(all), Table::Align(rows)) => within(&rows.rows, &all.rows, 1),
        (Table::OpenAu(all), Table::OpenAu(rows)) => {
            let same = rows.nr.is_none() || rows.nr == all.nr;
            same && within(&rows.rows, &all.rows, REPEATED_ROWS_MIN)
        }
        (Table::FindFat(all), Table::FindFat(rows)) => {
            within(&rows.rows, &all.rows, REPEATED_ROWS_MIN)
        }
        _ => false,
    }
}
