//! Sheets and listings as terminal text.

use anstyle::{AnsiColor, Style as Ansi};
use block::text::harmless;
use stats::{Caveat, Proof, Verdict};

use crate::number::{self, RateUnit};
use crate::sheet::{Cell, Entry, Group, Listing, Row, Sheet, Standing, Tone};
use crate::styled::Styled;

/// How text is made for a terminal. Escape codes are always written; the printing code strips them where
/// they are not wanted.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Columns; text is broken before them.
    pub width: usize,
    /// Unit of throughput.
    pub rate: RateUnit,
}

impl Default for Style {
    fn default() -> Self {
        Style { width: 80, rate: RateUnit::Mb }
    }
}

pub(crate) const BOLD: Ansi = Ansi::new().bold();
pub(crate) const DIM: Ansi = Ansi::new().dimmed();
pub(crate) const GREEN: Ansi = AnsiColor::Green.on_default();
pub(crate) const YELLOW: Ansi = AnsiColor::Yellow.on_default();
pub(crate) const RED: Ansi = AnsiColor::Red.on_default();

pub(crate) fn paint(style: Ansi, text: &str) -> Styled {
    Styled::painted(style, text)
}

pub(crate) fn of_tone(tone: Tone) -> Ansi {
    match tone {
        Tone::Good => GREEN,
        Tone::Mixed => YELLOW,
        Tone::Bad => RED,
    }
}

/// Sign and colour of a verdict. The sign alone is enough where there is no colour.
fn sign(verdict: Verdict) -> (&'static str, Ansi) {
    match verdict {
        Verdict::Proven => ("✓", GREEN),
        Verdict::Refuted => ("✗", RED),
        Verdict::Unprovable => ("?", YELLOW),
    }
}

/// The signs of all proofs in one line.
pub(crate) fn signs(proofs: &[(&str, Proof)]) -> Styled {
    let mut line = Styled::default();
    for (index, (name, proof)) in proofs.iter().enumerate() {
        let (sign, colour) = sign(proof.verdict);
        let gap = if index > 0 { " " } else { "" };
        line = line + gap + paint(colour, &format!("{sign}{name}"));
    }
    line
}

/// A sheet as text, with a line feed at its end.
pub fn render_sheet(sheet: &Sheet, style: Style) -> Styled {
    let mut page = Page::new(style);
    page.wrapped("", &sheet.title, BOLD);
    for fact in &sheet.facts {
        page.wrapped("  ", fact, DIM);
    }
    page.bad(sheet.tone, &sheet.closing);
    for group in &sheet.groups {
        page.blank();
        page.group(group);
    }
    if !sheet.caveats.is_empty() {
        page.blank();
        page.caveats(&sheet.caveats);
    }
    page.blank();
    page.wrapped("", &sheet.closing, of_tone(sheet.tone));
    page.text
}

/// A listing as text, with a line feed at its end.
pub fn render_listing(listing: &Listing, style: Style) -> Styled {
    let mut page = Page::new(style);
    if listing.entries.is_empty() {
        page.wrapped("", &listing.empty, Ansi::new());
    }
    for (index, entry) in listing.entries.iter().enumerate() {
        if index > 0 {
            page.blank();
        }
        page.entry(entry);
    }
    page.text
}

/// Width of the first column; `RND4K Q32T16` fits, and longer names push their row to the right.
const NAME: usize = 12;
/// Widths of value and interval columns.
const VALUE: usize = 7;
const INTERVAL: usize = 12;

/// Text that grows line by line.
pub(crate) struct Page {
    pub(crate) text: Styled,
    style: Style,
    /// Reasons of withdrawn numbers of the group at hand, each with the row that it is printed in.
    withdrawn: Vec<(String, String)>,
}

impl Page {
    pub(crate) fn new(style: Style) -> Page {
        Page { text: Styled::default(), style, withdrawn: Vec::new() }
    }

    pub(crate) fn line(&mut self, line: &Styled) {
        self.text += line;
        self.text.end_line();
    }

    pub(crate) fn blank(&mut self) {
        self.text.end_line();
    }

    /// Breaks `words` before the last column; every line begins with `indent`.
    pub(crate) fn wrapped(&mut self, indent: &str, words: &str, style: Ansi) {
        self.hanging(&indent.into(), indent, words, style);
    }

    /// Breaks `words` before the last column; the first line begins with `first`, the others with `rest`.
    pub(crate) fn hanging(&mut self, first: &Styled, rest: &str, words: &str, style: Ansi) {
        let options = textwrap::Options::new(self.style.width)
            .initial_indent(first.as_str())
            .subsequent_indent(rest)
            // Names and commands are copied from here: they are parted where they have a space.
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .break_words(false);
        let mut lead = first.clone();
        for line in textwrap::wrap(&harmless(words), options) {
            let text = line.strip_prefix(lead.as_str()).unwrap_or(&line);
            self.line(&(lead + paint(style, text)));
            lead = rest.into();
        }
    }

    fn group(&mut self, group: &Group) {
        self.withdrawn.clear();
        let cells = group.rows.iter().find_map(|row| match &row.standing {
            Standing::Stands(cells) => Some(cells),
            Standing::Withdrawn { .. } | Standing::Open(_) => None,
        });
        // As wide as their heads, too.
        let width = |(index, column): (usize, &String)| {
            let is_interval =
                cells.and_then(|c| c.get(index)).is_some_and(|c| matches!(c, Cell::Interval(_)));
            column.chars().count().max(if is_interval { INTERVAL } else { VALUE })
        };
        let widths: Vec<usize> = group.columns.iter().enumerate().map(width).collect();
        let title = if widths.is_empty() { 0 } else { group.title.chars().count() };
        let name = title.max(NAME);
        let mut head = format!("{:<name$}", group.title);
        for (index, (column, width)) in group.columns.iter().zip(&widths).enumerate() {
            match cells.and_then(|cells| cells.get(index)) {
                Some(Cell::Word(_)) => head.push_str(&format!(" {column}")),
                _ => head.push_str(&format!(" {column:>width$}")),
            }
        }
        self.line(&paint(BOLD, head.trim_end()));
        let mut reasoned = false;
        for row in &open_together(&group.rows) {
            // Reasons run over several lines; a blank one shows where the next row begins.
            if reasoned {
                self.blank();
            }
            self.row(row, name, &widths);
            reasoned = !unproven(row).is_empty();
        }
    }

    fn row(&mut self, row: &Row, name: usize, widths: &[usize]) {
        match &row.standing {
            Standing::Stands(cells) => {
                let mut line = format!("{:<name$}", row.name);
                for (cell, width) in cells.iter().zip(widths) {
                    let text = match cell {
                        Cell::Value(q) => number::value(q, self.style.rate),
                        Cell::Interval(q) => number::interval(q, self.style.rate),
                        Cell::Word(word) => {
                            line.push_str(&format!(" {word}"));
                            continue;
                        }
                        Cell::Unknown => "–".to_owned(),
                    };
                    line.push_str(&format!(" {text:>width$}"));
                }
                self.line(&line.into());
            }
            Standing::Withdrawn { reason, instead } => {
                let name = format!("{:<name$} ", row.name);
                let lead = Styled::from(name) + paint(RED, "withdrawn: ");
                let reason = self.reason(reason, &row.name);
                self.hanging(&lead, "    ", &reason, Ansi::new());
                if !instead.is_empty() {
                    self.wrapped("    ", instead, DIM);
                }
            }
            Standing::Open(reason) => {
                let lead = format!("{:<name$} ", row.name);
                self.hanging(&lead.into(), "    ", reason, Ansi::new());
            }
        }
        for detail in &row.detail {
            self.wrapped("  ", detail, DIM);
        }
        self.proofs(row);
    }

    /// A reason, or the row above that has the same.
    fn reason(&mut self, reason: &str, name: &str) -> String {
        if let Some((_, first)) = self.withdrawn.iter().find(|(said, _)| said == reason) {
            return format!("see {first} above");
        }
        self.withdrawn.push((reason.to_owned(), name.to_owned()));
        reason.to_owned()
    }

    /// The signs of all proofs on one line, then the reason of each that is not proven.
    fn proofs(&mut self, row: &Row) {
        if row.proofs.is_empty() {
            return;
        }
        self.line(&(Styled::from("  ") + signs(&row.proofs)));
        for (name, proof) in unproven(row) {
            let (sign, colour) = sign(proof.verdict);
            let lead = Styled::from("    ") + paint(colour, sign) + " " + name + ": ";
            self.hanging(&lead, "      ", &proof.reason, Ansi::new());
        }
    }

    pub(crate) fn caveats(&mut self, caveats: &[Caveat]) {
        for caveat in caveats {
            let lead = paint(YELLOW, "!") + " ";
            let text = format!("{}: {}.", caveat.subject, caveat.cause);
            self.hanging(&lead, "  ", &text, Ansi::new());
            self.hanging(&"  → ".into(), "    ", &format!("{}.", caveat.sentence()), Ansi::new());
        }
    }

    /// A sentence that is bad for the user, over all that it rests on.
    pub(crate) fn bad(&mut self, tone: Tone, sentence: &str) {
        if tone == Tone::Bad {
            self.blank();
            self.wrapped("", &format!("✗ {sentence}"), of_tone(tone).bold());
        }
    }

    fn entry(&mut self, entry: &Entry) {
        let lead = paint(BOLD, &entry.title) + "  ";
        self.hanging(&lead, "  ", &entry.summary, Ansi::new());
        let leads = |note: &&(Tone, String)| entry.leads && note.0 == Tone::Bad;
        entry.notes.iter().filter(leads).for_each(|note| self.note(note));
        let name = entry
            .facts
            .iter()
            .map(|(name, _)| textwrap::core::display_width(&harmless(name)))
            .max()
            .unwrap_or(0);
        for (fact, value) in &entry.facts {
            let lead = Styled::from("  ") + paint(DIM, &format!("{fact:<name$}")) + "  ";
            match fact == "command" && value.starts_with(COMMAND) {
                // Not broken: it is there to be copied.
                true => self.line(&(lead + value)),
                false => self.hanging(&lead, &" ".repeat(name + 4), value, Ansi::new()),
            }
        }
        entry.notes.iter().filter(|note| !leads(note)).for_each(|note| self.note(note));
    }

    fn note(&mut self, (tone, note): &(Tone, String)) {
        let sign = match tone {
            Tone::Good => "✓",
            Tone::Mixed => "!",
            Tone::Bad => "✗",
        };
        let lead = Styled::from("  ") + paint(of_tone(*tone), sign) + " ";
        match note.split_once(COMMAND).filter(|(why, _)| why.ends_with(": ")) {
            Some((why, words)) => {
                self.hanging(&lead, "    ", why.trim_end(), Ansi::new());
                self.line(&(Styled::from("    ") + COMMAND + words));
            }
            None => self.hanging(&lead, "    ", note, Ansi::new()),
        }
    }
}

/// Beginning of commands that are shown to users.
const COMMAND: &str = "drivescope ";

/// Proofs whose reason is worth a line: those not proven, but for the one that a withdrawn row begins with.
fn unproven(row: &Row) -> Vec<&(&'static str, Proof)> {
    let said = match &row.standing {
        Standing::Withdrawn { reason, .. } | Standing::Open(reason) => Some(reason),
        Standing::Stands(_) => None,
    };
    let open = |p: &&(&str, Proof)| p.1.verdict != Verdict::Proven && Some(&p.1.reason) != said;
    row.proofs.iter().filter(open).collect()
}

/// Rows without numbers for the same reason as one, with all their names, where nothing else is known of them.
fn open_together(rows: &[Row]) -> Vec<Row> {
    let mut together: Vec<Row> = Vec::new();
    let is_bare = |row: &Row| row.detail.is_empty() && row.proofs.is_empty();
    for row in rows {
        let reason = |row: &Row| match &row.standing {
            Standing::Open(reason) if is_bare(row) => Some(reason.clone()),
            _ => None,
        };
        match (together.last_mut(), reason(row)) {
            (Some(last), Some(own)) if reason(last) == Some(own.clone()) => {
                last.name = format!("{}, {}", last.name, row.name);
            }
            _ => together.push(row.clone()),
        }
    }
    together
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, standing: Standing) -> Row {
        Row { name: name.to_owned(), standing, detail: vec![], proofs: vec![] }
    }

    // Breaks when one reason is printed for each number that it withdraws or leaves open.
    #[test]
    fn a_reason_is_printed_once() {
        let open = || Standing::Open("1 run is too few".to_owned());
        let withdrawn = || Standing::Withdrawn {
            reason: "there is no device to reach".to_owned(),
            instead: "measured: 5 MB/s of memory".to_owned(),
        };
        let group = |rows| Group { title: "Read".to_owned(), columns: vec![], rows };
        let sheet = Sheet {
            title: "mark".to_owned(),
            facts: vec![],
            groups: vec![
                group(vec![row("SEQ1M", withdrawn()), row("RND4K", withdrawn())]),
                group(vec![row("SEQ1M", open()), row("RND4K", open())]),
            ],
            caveats: vec![],
            closing: "All results rejected.".to_owned(),
            tone: Tone::Bad,
        };
        let text = render_sheet(&sheet, Style::default()).plain();
        assert_eq!(text.matches("there is no device to reach").count(), 1, "{text}");
        assert_eq!(text.matches("measured: 5 MB/s").count(), 2, "{text}");
        assert!(text.contains("RND4K        withdrawn: see SEQ1M above\n"), "{text}");
        assert!(text.contains("\nSEQ1M, RND4K 1 run is too few\n"), "{text}");
    }

    /// The run of another machine may carry whatever its maker liked in its names.
    #[test]
    fn no_name_commands_the_terminal() {
        let evil = "\u{1b}[2J\u{1b}[35m\u{9b}2Jx\r\ny\u{7}\u{202e}".to_owned();
        let row = |standing| Row { name: evil.clone(), standing, detail: vec![], proofs: vec![] };
        let withdrawn = Standing::Withdrawn { reason: evil.clone(), instead: evil.clone() };
        let rows = vec![row(Standing::Stands(vec![])), row(withdrawn)];
        let sheet = Sheet {
            title: evil.clone(),
            facts: vec![evil.clone()],
            groups: vec![Group { title: evil.clone(), columns: vec![evil.clone()], rows }],
            caveats: vec![Caveat::new(
                &evil,
                &evil,
                evil.as_str(),
                stats::Remedy::Words(evil.clone()),
            )],
            closing: evil.clone(),
            tone: Tone::Bad,
        };
        let listing = Listing {
            entries: vec![Entry {
                title: evil.clone(),
                summary: evil.clone(),
                facts: vec![
                    (evil.clone(), evil.clone()),
                    ("command".to_owned(), format!("{COMMAND}{evil}")),
                ],
                notes: vec![(Tone::Bad, evil.clone()), (Tone::Bad, format!("x: {COMMAND}{evil}"))],
                leads: false,
            }],
            empty: String::new(),
        };
        let style = Style::default();
        for text in [render_sheet(&sheet, style), render_listing(&listing, style)] {
            // Only line feeds and colours of our own are left, and magenta is not one of them.
            assert!(!text.as_str().contains("\u{1b}[35m"), "{text:?}");
            let plain = text.plain();
            assert!(plain.contains("\u{fffd}[2J\u{fffd}[35m\u{fffd}2Jx"), "{plain:?}");
            let is_obeyed = |c: char| c != '\n' && block::text::is_hostile(c);
            assert!(!plain.contains(is_obeyed), "{plain:?}");
        }
    }
}
