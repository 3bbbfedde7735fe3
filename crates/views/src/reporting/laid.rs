//! One layout of a result for a terminal and for a page.

use report::html::{Block, Cell, Facts, Row, Table};
use report::number;
use report::{Answers, Listing, Said, Sheet, Standing, Style, Styled, Tables, ToDo, Tone};
use report::{render_answers, render_listing, render_sheet, render_tables};
use stats::{Assessment, Caveat, Verdict};

/// A result that was laid out.
pub enum Laid {
    /// Tests with their proofs.
    Sheet(Box<Sheet>),
    /// Answers about a drive.
    Answers(Box<Answers>),
    /// Tables of several kinds.
    Tables(Box<Tables>),
    /// Several of these.
    Several(Vec<Tables>),
    /// Things with facts.
    Listing(Listing),
}

/// The same for a page.
#[derive(Default)]
pub struct Laying {
    /// Heading: the command and its subject.
    pub title: String,
    /// Warning that must not be overlooked; empty if there is none.
    pub banner: String,
    /// Content.
    pub blocks: Vec<Block>,
}

impl Laid {
    /// As text for a terminal.
    pub fn text(&self, style: Style) -> Styled {
        match self {
            Laid::Sheet(sheet) => render_sheet(sheet, style),
            Laid::Answers(answers) => render_answers(answers, style),
            Laid::Tables(tables) => render_tables(tables, style),
            Laid::Several(all) => {
                let mut text = Styled::default();
                for (index, one) in all.iter().enumerate() {
                    if index > 0 {
                        text += &Styled::of_lines("\n");
                    }
                    text += &render_tables(one, style);
                }
                text
            }
            Laid::Listing(listing) => render_listing(listing, style),
        }
    }

    /// For a page.
    pub fn laying(&self, style: Style) -> Laying {
        match self {
            Laid::Sheet(sheet) => {
                let blocks = sheet.groups.iter().flat_map(|group| of_group(group, style)).collect();
                let closing = (sheet.closing.as_str(), sheet.tone);
                laying(&sheet.title, &sheet.facts, closing, blocks, &sheet.caveats)
            }
            Laid::Answers(answers) => {
                let closing = (answers.closing.as_str(), answers.tone);
                let blocks = of_answers(answers, style);
                let laid =
                    laying(&answers.title, &answers.facts, closing, blocks, &answers.caveats);
                match &answers.warning {
                    Some(warning) => Laying { banner: format!("✗ {warning}"), ..laid },
                    None => laid,
                }
            }
            Laid::Tables(tables) => of_tables(tables),
            Laid::Several(all) => {
                let mut all = all.iter().map(of_tables);
                let first = all.next().unwrap_or_default();
                all.fold(first, |mut first, next| {
                    first.blocks.push(Block::Heading(next.title));
                    first.blocks.extend(next.blocks);
                    first
                })
            }
            Laid::Listing(listing) => of_listing(listing),
        }
    }
}

fn of_tables(tables: &Tables) -> Laying {
    let blocks = tables.tables.iter().map(of_table).collect();
    let closing = (tables.closing.as_str(), tables.tone);
    laying(&tables.title, &tables.facts, closing, blocks, &tables.caveats)
}

fn laying(
    title: &str,
    facts: &[String],
    (closing, tone): (&str, Tone),
    tables: Vec<Block>,
    caveats: &[Caveat],
) -> Laying {
    // The command is listed with the environment; a title names the subject.
    let title = title.strip_prefix("drivescope ").unwrap_or(title).to_owned();
    let mut blocks = Vec::new();
    if tone != Tone::Bad {
        blocks.push(Block::Heading(closing.to_owned()));
    }
    blocks.extend(facts.iter().cloned().map(Block::Paragraph));
    blocks.extend(tables);
    if !caveats.is_empty() {
        blocks.push(Block::Heading("Caveats and what to do".to_owned()));
    }
    blocks.extend(caveats.iter().cloned().map(Block::Caveat));
    let banner = if tone == Tone::Bad { closing.to_owned() } else { String::new() };
    Laying { title, banner, blocks }
}

/// Numbers of one direction, and under them their proofs, where there are any.
fn of_group(group: &report::Group, style: Style) -> Vec<Block> {
    let mut columns = vec!["Test".to_owned()];
    columns.extend(group.columns.iter().cloned());
    columns.push(if group.columns.is_empty() { "ranks" } else { "runs" }.to_owned());
    let mut notes = Vec::new();
    let mut row = |row: &report::Row| {
        let mut cells: Vec<Cell> = match &row.standing {
            Standing::Stands(cells) => cells.iter().map(|cell| number_of(cell, style)).collect(),
            Standing::Withdrawn { reason, instead } => {
                notes.push(format!("{}: withdrawn: {reason}. {instead}", row.name));
                let first = Cell::words("withdrawn").toned(Tone::Bad);
                std::iter::once(first)
                    .chain(vec![Cell::default(); group.columns.len() - 1])
                    .collect()
            }
            Standing::Open(reason) => {
                notes.push(format!("{}: {reason}", row.name));
                vec![Cell::default(); group.columns.len()]
            }
        };
        // Counts beside the numbers; sentences under the table, where a narrow page has a place for them.
        let (counts, words) = row.detail.split_at(row.detail.len().min(1));
        cells.push(Cell::words(counts.join("; ")));
        notes.extend(words.iter().map(|words| format!("{}: {words}", row.name)));
        Row { name: row.name.clone(), cells }
    };
    let rows = group.rows.iter().map(&mut row).collect();
    let numbers = Table { caption: group.title.clone(), columns, rows, notes };
    let proofs = Some(proofs(group)).filter(|proofs| !proofs.rows.is_empty());
    std::iter::once(numbers).chain(proofs).map(Block::Table).collect()
}

fn number_of(cell: &report::Cell, style: Style) -> Cell {
    Cell::number(match cell {
        report::Cell::Word(word) => return Cell::words(*word),
        report::Cell::Value(quantity) => number::value(quantity, style.rate),
        report::Cell::Interval(quantity) => number::interval(quantity, style.rate),
        report::Cell::Unknown => "–".to_owned(),
    })
}

/// Verdicts of the proofs, with reasons of those that do not hold.
fn proofs(group: &report::Group) -> Table {
    let names: Vec<&str> = group
        .rows
        .iter()
        .find_map(|row| match row.proofs.as_slice() {
            [] => None,
            proofs => Some(proofs.iter().map(|(name, _)| *name).collect()),
        })
        .unwrap_or_default();
    let mut notes = Vec::new();
    let mut rows = Vec::new();
    for row in group.rows.iter().filter(|row| !row.proofs.is_empty()) {
        let cell = |(name, proof): &(&str, stats::Proof)| {
            let (word, tone) = match proof.verdict {
                Verdict::Proven => ("✓ confirmed", Tone::Good),
                Verdict::Refuted => ("✗ rejected", Tone::Bad),
                Verdict::Unprovable => ("? inconclusive", Tone::Mixed),
            };
            if proof.verdict != Verdict::Proven {
                notes.push(format!("{}, {name}: {}.", row.name, proof.reason));
            }
            Cell::words(word).toned(tone)
        };
        let cells = row.proofs.iter().map(cell).collect();
        rows.push(Row { name: row.name.clone(), cells });
    }
    let columns = std::iter::once("Test").chain(names).map(str::to_owned).collect();
    Table { caption: format!("{}: proofs", group.title), columns, rows, notes }
}

/// Coloured only where it is good or bad for the user.
fn assessed(cell: Cell, assessment: Assessment) -> Cell {
    match assessment {
        Assessment::Good => cell.toned(Tone::Good),
        Assessment::Neutral => cell,
        Assessment::Bad => cell.toned(Tone::Bad),
    }
}

fn of_answers(answers: &Answers, style: Style) -> Vec<Block> {
    let row = |answer: &report::Answer| {
        let said = match &answer.said {
            Said::Value(quantity) => {
                assessed(Cell::number(number::value(quantity, style.rate)), answer.assessment)
            }
            Said::Word(word) => assessed(Cell::words(word.clone()), answer.assessment),
            Said::None => Cell::words("none"),
            Said::Unknown if answer.assessment == Assessment::Bad => {
                Cell::words("unknown").toned(Tone::Bad)
            }
            Said::Unknown => Cell::words("unknown").toned(Tone::Mixed),
        };
        let said = if answer.is_provisional { said.toned(Tone::Mixed) } else { said };
        let mut sure = answer.confidence.map_or(String::new(), report::confidence);
        if answer.is_provisional {
            sure.push_str(" provisional");
        }
        let cells = vec![said, Cell::number(sure), Cell::words(answer.reason.clone())];
        Row { name: answer.name.clone(), cells }
    };
    let mut blocks = Vec::new();
    if !answers.answers.is_empty() {
        blocks.push(Block::Table(Table {
            caption: "Answers".to_owned(),
            columns: ["About", "answer", "confidence", "why"].map(str::to_owned).into(),
            rows: answers.in_order().map(row).collect(),
            notes: Vec::new(),
        }));
    }
    if !answers.remarks.is_empty() {
        let trimmed = |name: &String| name.trim_end_matches(':').to_owned();
        let facts = answers.remarks.iter().map(|(name, text)| (trimmed(name), text.clone()));
        let (title, facts) = ("Also observed".to_owned(), facts.collect());
        blocks.push(Block::Facts(Facts { title, facts }));
    }
    if !answers.advice.is_empty() {
        blocks.push(Block::Heading("What to do".to_owned()));
    }
    for ToDo { erases, command, why } in &answers.advice {
        blocks.extend(erases.clone().map(Block::Paragraph));
        blocks.push(match command {
            Some(command) => Block::Command { command: command.clone(), why: why.clone() },
            None => Block::Paragraph(why.clone()),
        });
    }
    blocks
}

fn of_table(table: &report::Table) -> Block {
    let of_words = |field: &String| field.chars().filter(|c| c.is_alphabetic()).count() > 12;
    let cell = |field: &String| match of_words(field) {
        true => Cell::words(field.clone()),
        false => Cell::number(field.clone()),
    };
    let row = |(name, fields): &(String, Vec<String>)| Row {
        name: name.clone(),
        cells: fields.iter().map(cell).collect(),
    };
    let columns = std::iter::once(String::new()).chain(table.columns.iter().cloned()).collect();
    Block::Table(Table {
        caption: if table.title.is_empty() { "In all".to_owned() } else { table.title.clone() },
        columns,
        rows: table.rows.iter().map(row).collect(),
        notes: table.notes.clone(),
    })
}

fn of_listing(listing: &Listing) -> Laying {
    let mut blocks = Vec::new();
    let mut banner = Vec::new();
    for entry in &listing.entries {
        if listing.entries.len() > 1 {
            blocks.push(Block::Heading(entry.title.clone()));
        }
        let (title, facts) = (entry.summary.clone(), entry.facts.clone());
        blocks.push(Block::Facts(Facts { title, facts }));
        for (tone, note) in &entry.notes {
            match tone {
                Tone::Bad => banner.push(note.clone()),
                _ => blocks.push(Block::Paragraph(note.clone())),
            }
        }
    }
    let title = listing.entries.first().map_or_else(|| listing.empty.clone(), |e| e.title.clone());
    Laying { title, banner: banner.join("; "), blocks }
}
