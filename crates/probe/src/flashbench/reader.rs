//! From lines to tables: which rows belong together, and what was said of them before.

use super::around::{Around, Came};
use super::build::{self, Broken, RowKind, Rows};
use super::command::{self, Heading};
use super::error::ParseError;
use super::lines::{Line, clip};
use super::note::Note;
use super::rows::{self, Found, RawAlign, RawRates};
use super::scatter::{self, RawPoint};
use super::tables::{Other, OtherKind, Parsed, Table, Told};

/// Most rows of a table: one for each power of two and each three times one, twice over.
const ROWS_MAX: usize = 256;

/// Most tables of a text.
const TABLES_MAX: usize = 1024;

/// As much of a line as may contain anything but rows.
const WORDS_BYTES_MAX: usize = 4096;

/// As much of a row as may be broken over lines.
const PARTIAL_BYTES_MAX: usize = 400;

/// Rows of `--align` that make a comment one whose line ends were lost; a comment that shows a row has one.
const COMMENT_ROWS_MIN: usize = 2;

pub(super) struct Reader<'a> {
    file: &'a str,
    done: Vec<Parsed>,
    /// Rows of the table that is being read.
    open: Option<Rows>,
    /// A row that could not be read, before any that could.
    ahead: Option<Broken>,
    /// A row of `--align` that goes on in the next line, and where it began.
    partial: Option<(u32, String)>,
    /// Points of the scatter table that is being read, and those of this run of lines.
    points: Vec<RawPoint>,
    run: Vec<RawPoint>,
    others: Vec<(u32, u32, Other)>,
    around: Around,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str) -> Reader<'a> {
        Reader {
            file,
            done: Vec::new(),
            open: None,
            ahead: None,
            partial: None,
            points: Vec::new(),
            run: Vec::new(),
            others: Vec::new(),
            around: Around::default(),
        }
    }

    /// Takes the next line.
    pub(super) fn line(&mut self, line: &Line) -> Result<(), ParseError> {
        let joined = self.join(line)?;
        let text = joined.as_deref().unwrap_or(&line.text).trim();
        if text.is_empty() {
            return Ok(());
        }
        if let Some(point) = scatter::point(text, line.number) {
            return self.point(point);
        }
        self.end_run()?;
        if let Some(kind) = other(text) {
            return self.other(kind, line.number);
        }
        let is_command = || command::command(clip(text, WORDS_BYTES_MAX)).is_some();
        if text.starts_with('#') && !is_command() && align_rows(text) < COMMENT_ROWS_MIN {
            return self.words(text);
        }
        self.rows(text, line.number)
    }

    /// Ends the text.
    pub(super) fn finish(mut self) -> Result<Vec<Parsed>, ParseError> {
        self.settle_partial()?;
        self.end_run()?;
        self.close()?;
        self.close_points()?;
        let found = !self.done.is_empty() || !self.others.is_empty();
        if let Some(broken) = self.ahead.filter(|_| !found) {
            return Err(broken.refused(self.file));
        }
        for (first, last, other) in self.others {
            let notes = vec![Note::skipped(first, &other)];
            let told = Told::default();
            let (table, file, lines) = (Table::Other(other), self.file.to_owned(), (first, last));
            self.done.push(Parsed { table, told, file, lines, notes });
        }
        Ok(self.done)
    }

    /// Puts a row together that the line before began. Gives what follows it in this line, if so.
    fn join(&mut self, line: &Line) -> Result<Option<String>, ParseError> {
        let Some((from, begun)) = self.partial.take() else { return Ok(None) };
        let joined = format!("{begun} {}", line.text);
        match rows::align(&joined, from) {
            Found::Row { at: 0, row, rest } if row.diff.is_some() => {
                let rest = rest.to_owned();
                self.align(row)?;
                Ok(Some(rest))
            }
            Found::Broken { at: 0, open: true, .. } if joined.len() <= PARTIAL_BYTES_MAX => {
                self.partial = Some((from, joined));
                Ok(Some(String::new()))
            }
            _ => {
                self.partial = Some((from, begun));
                self.settle_partial()?;
                Ok(None)
            }
        }
    }

    /// Takes a row that was begun, and does not go on, for what it is.
    fn settle_partial(&mut self) -> Result<(), ParseError> {
        let Some((line, text)) = self.partial.take() else { return Ok(()) };
        match rows::align(&text, line) {
            Found::Row { row, .. } => self.align(row),
            Found::Broken { align_bytes, expected, .. } => {
                self.broken_align(line, align_bytes, expected, &text);
                Ok(())
            }
            Found::Nothing => Ok(()),
        }
    }

    /// Takes all rows of a line, and the words beside them.
    fn rows(&mut self, line: &str, number: u32) -> Result<(), ParseError> {
        let mut text = line;
        loop {
            match rows::align(text, number) {
                Found::Row { at, row, rest } => {
                    self.words(&text[..at])?;
                    if row.diff.is_none() && rest.trim().is_empty() {
                        self.partial = Some((number, text[at..].to_owned()));
                        return Ok(());
                    }
                    self.align(row)?;
                    text = rest;
                }
                Found::Broken { at, align_bytes, expected, open } => {
                    self.words(&text[..at])?;
                    let text = &text[at..];
                    if open && text.len() <= PARTIAL_BYTES_MAX {
                        self.partial = Some((number, text.to_owned()));
                    } else {
                        self.broken_align(number, align_bytes, expected, text);
                    }
                    return Ok(());
                }
                Found::Nothing => return self.rates_and_words(text, number),
            }
        }
    }

    fn rates_and_words(&mut self, line: &str, number: u32) -> Result<(), ParseError> {
        let mut text = line;
        loop {
            let found = rows::rates(text, number);
            if found.rows.is_empty() && found.broken.is_none() {
                break;
            }
            if !found.rows.is_empty() {
                self.words(&text[..found.at])?;
            }
            for row in found.rows {
                self.rates(row)?;
            }
            if let Some((size, text)) = found.broken {
                let (kind, expected) = (RowKind::Rates, "a rate like 8.79M/s");
                self.broken(Broken { line: number, kind, size, expected, text });
                return Ok(());
            }
            text = &text[found.end..];
        }
        let rates = rows::bare_rates(text);
        if let (Some(rates), Some(Rows::Rates(open))) = (rates, &mut self.open)
            && open.goes_on(number, &rates)
        {
            return Ok(());
        }
        if rows::begins_align(text) {
            let from = text.rfind("align").unwrap_or(0);
            self.partial = Some((number, text[from..].to_owned()));
            text = &text[..from];
        }
        self.words(text)
    }

    /// Takes a line that is not a row: a command, a comment or a person's words.
    fn words(&mut self, text: &str) -> Result<(), ParseError> {
        let text = clip(text.trim(), WORDS_BYTES_MAX);
        if text.is_empty() {
            return Ok(());
        }
        if text.starts_with("^C") {
            if let Some(Rows::Rates(open)) = &mut self.open {
                open.stopped = true;
            }
            return Ok(());
        }
        if let Some(command) = command::command(text) {
            self.close()?;
            self.close_points()?;
            self.around.came = Came::default();
            if command.nr == command::Given::Absent {
                // People add to a command what they did not type: (nr=3).
                self.around.heading.learn(Heading::of(text));
            }
            self.around.command = Some(command);
            return Ok(());
        }
        let heading = Heading::of(text);
        if !heading.is_empty() {
            self.close()?;
            self.around.heading.learn(heading);
        }
        let device = text.trim_start_matches('#').trim_start().strip_prefix("device:");
        if let Some(device) = device {
            self.around.device = Some(clip(device.trim(), command::DEVICE_BYTES_MAX).to_owned());
        }
        if let Some(bytes) = command::capacity(text) {
            self.around.capacity_bytes = Some(bytes);
        }
        Ok(())
    }

    fn align(&mut self, row: RawAlign) -> Result<(), ParseError> {
        if let Rows::Align(open) = self.opened(RowKind::Align, row.align_bytes, 0)? {
            open.rows.push(row);
        }
        Ok(())
    }

    fn rates(&mut self, row: RawRates) -> Result<(), ParseError> {
        let columns = row.rates.len();
        if let Rows::Rates(open) = self.opened(RowKind::Rates, row.len_bytes, columns)? {
            open.rows.push(row);
        }
        Ok(())
    }

    /// The table to which a row of this kind, size and count of columns belongs.
    fn opened(
        &mut self,
        kind: RowKind,
        size: u64,
        columns: usize,
    ) -> Result<&mut Rows, ParseError> {
        let file = self.file;
        let goes_on = self.open.as_ref().is_some_and(|open| {
            open.goes_on(kind, size) && open.columns().is_none_or(|first| columns <= first)
        });
        if !goes_on {
            self.close()?;
            let twice = size.saturating_mul(2);
            let follows =
                |broken: &Broken| broken.kind == kind && (size..=twice).contains(&broken.size);
            if let Some(broken) = self.ahead.take().filter(follows) {
                return Err(broken.refused(file));
            }
        }
        let open = self.open.get_or_insert_with(|| Rows::new(kind));
        match open {
            Rows::Align(open) => open.may_go_on(file, ROWS_MAX)?,
            Rows::Rates(open) => open.may_go_on(file, ROWS_MAX)?,
        }
        Ok(open)
    }

    fn broken_align(&mut self, line: u32, size: u64, expected: &'static str, text: &str) {
        let text = clip(text, 200).to_owned();
        self.broken(Broken { line, kind: RowKind::Align, size, expected, text });
    }

    /// Takes a row that cannot be read. It may end a table. Where it would begin one, what follows decides.
    fn broken(&mut self, broken: Broken) {
        match &mut self.open {
            Some(open) if open.goes_on(broken.kind, broken.size) => open.set_broken(broken),
            _ => self.ahead = Some(broken),
        }
    }

    fn point(&mut self, point: RawPoint) -> Result<(), ParseError> {
        let last = self.run.last().or(self.points.last());
        // Offsets that wrap around come to 0 again.
        if point.is_first() && !last.is_some_and(RawPoint::is_negative) {
            self.end_run()?;
            self.close_points()?;
        }
        self.run.push(point);
        let most = scatter::POINTS_MAX;
        if self.points.len() + self.run.len() <= most {
            return Ok(());
        }
        Err(ParseError::TooManyRows { file: self.file.to_owned(), most })
    }

    /// Ends a run of lines of two numbers: a long one is of a table.
    fn end_run(&mut self) -> Result<(), ParseError> {
        if self.run.len() >= scatter::POINTS_MIN {
            self.points.append(&mut self.run);
        }
        self.run.clear();
        Ok(())
    }

    fn close_points(&mut self) -> Result<(), ParseError> {
        let points = std::mem::take(&mut self.points);
        match scatter::build(&points) {
            None => Ok(()),
            Some(Ok((table, notes))) => {
                let lines = (points.first(), points.last());
                let lines = (lines.0.map_or(0, |p| p.line), lines.1.map_or(0, |p| p.line));
                let told = self.around.told(|command, came| {
                    command.scatter && !std::mem::replace(&mut came.scatter, true)
                });
                self.keep(Table::Scatter(table), told.0, lines, notes)
            }
            Some(Err(wrong)) => Err(ParseError::Row {
                file: self.file.to_owned(),
                line: wrong.line,
                expected: wrong.expected.to_owned(),
                found: "another".to_owned(),
            }),
        }
    }

    fn other(&mut self, kind: OtherKind, line: u32) -> Result<(), ParseError> {
        match self.others.last_mut() {
            Some((_, last, other)) if other.kind == kind => {
                *last = line;
                other.lines += 1;
            }
            _ => self.others.push((line, line, Other { kind, lines: 1 })),
        }
        fits(self.others.len(), self.file, line)
    }

    /// Ends the table that is being read.
    fn close(&mut self) -> Result<(), ParseError> {
        let Some(rows) = self.open.take() else { return Ok(()) };
        let Some(lines) = rows.lines() else { return Ok(()) };
        let mut notes = Vec::new();
        let (table, told) = build::build(rows, &mut self.around, &mut notes, self.file)?;
        notes.sort_by_key(|note| note.line);
        self.keep(table, told, lines, notes)
    }

    fn keep(
        &mut self,
        table: Table,
        told: Told,
        lines: (u32, u32),
        notes: Vec<Note>,
    ) -> Result<(), ParseError> {
        self.done.push(Parsed { table, told, file: self.file.to_owned(), lines, notes });
        fits(self.done.len(), self.file, lines.0)
    }
}

/// Refuses what no output of flashbench has, so that time and memory stay bounded.
fn fits(tables: usize, file: &str, line: u32) -> Result<(), ParseError> {
    if tables <= TABLES_MAX {
        return Ok(());
    }
    Err(ParseError::Row {
        file: file.to_owned(),
        line,
        expected: format!("at most {TABLES_MAX} tables"),
        found: "another".to_owned(),
    })
}

/// How many whole rows of `--align` a line has, up to the count that matters.
fn align_rows(line: &str) -> usize {
    let mut rest = line;
    let mut count = 0;
    while let Found::Row { row, rest: behind, .. } = rows::align(rest, 0) {
        count += usize::from(row.diff.is_some());
        rest = behind;
        if count >= COMMENT_ROWS_MIN {
            break;
        }
    }
    count
}

/// The kind of table of which `text` is a line, where that is one that is not kept.
fn other(text: &str) -> Option<OtherKind> {
    let has = |parts: &[&str]| parts.iter().all(|part| text.contains(part));
    let interval = has(&[" bytes: min ", " avg ", " max "])
        || has(&[" MB/s, ", " access time"])
        || text.starts_with("bytes ") && has(&[", time ", " overhead "]);
    if interval {
        return Some(OtherKind::Interval);
    }
    has(&[" bytes: aligned ", " unaligned ", " diff "]).then_some(OtherKind::Unaligned)
}
