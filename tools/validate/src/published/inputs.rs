//! The inputs: numbers that others published, each with its address and what its page states.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use pts::judge::Text;
use serde_json::{Map, Value, json};

/// Rows of flashbench's tables, as printed.
const ALIGN: &str = include_str!("../../fixtures/published/align.tsv");
/// Figures of fio's JSON, a line a round.
const ROUNDS: &str = include_str!("../../fixtures/published/rounds.tsv");

/// Half that an input is in: by the first hexadecimal digit of the SHA-256 of its address, odd is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Half {
    /// Looked at while the program was changed.
    Open,
    /// Scored only.
    Aside,
}

impl Half {
    fn of(word: &str) -> Result<Half> {
        match word {
            "open" => Ok(Half::Open),
            "aside" => Ok(Half::Aside),
            _ => anyhow::bail!("{word} is not a half"),
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Half::Open => "open",
            Half::Aside => "set aside",
        }
    }
}

/// Erase block that a page states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stated {
    /// One of these sizes, in bytes.
    OneOf(Vec<u64>),
    /// Its author saw none in the table.
    NotSeen,
    /// Nothing; the table was measured several times.
    Repeat,
    /// Nothing.
    Nothing,
}

impl Stated {
    fn of(word: &str) -> Result<Stated> {
        Ok(match word {
            "unknown" => Stated::NotSeen,
            "repeat" => Stated::Repeat,
            "not stated" => Stated::Nothing,
            sizes => {
                let size =
                    |text: &str| text.parse::<u64>().with_context(|| format!("{text}: no size"));
                Stated::OneOf(sizes.split(" or ").map(size).collect::<Result<_>>()?)
            }
        })
    }
}

/// A table of `flashbench -a`.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) input: String,
    pub(super) half: Half,
    pub(super) source: String,
    pub(super) stated: Stated,
    /// As flashbench prints it.
    pub(super) text: String,
    /// Alignments with the printed difference, from the largest alignment on.
    pub(super) diffs: Vec<(u64, Option<f64>)>,
}

/// Lines of a table of ours: named fields of each line but the first.
fn lines(text: &'static str) -> impl Iterator<Item = BTreeMap<&'static str, &'static str>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    lines.map(move |line| names.iter().copied().zip(line.split('\t')).collect())
}

fn field(line: &BTreeMap<&'static str, &'static str>, name: &str) -> Result<&'static str> {
    line.get(name).copied().with_context(|| format!("a line without {name}"))
}

/// All tables.
///
/// # Errors
/// When the file of them is damaged.
pub(super) fn tables() -> Result<Vec<Table>> {
    let mut tables: Vec<Table> = Vec::new();
    for line in lines(ALIGN) {
        let of = |name: &str| field(&line, name);
        let input = of("input")?;
        if !input.is_empty() {
            tables.push(Table {
                input: input.to_owned(),
                half: Half::of(of("half")?)?,
                source: of("source")?.to_owned(),
                stated: Stated::of(of("truth")?)?,
                text: format!("$ flashbench -a /dev/sdX --blocksize={}\n", of("block_bytes")?),
                diffs: Vec::new(),
            });
        }
        let table = tables.last_mut().context("rows before the first table")?;
        let [align, pre, on, post] = [of("align")?, of("pre")?, of("on")?, of("post")?];
        let diff = of("diff").unwrap_or_default();
        let end = if diff.is_empty() { String::new() } else { format!("\tdiff {diff}") };
        table.text += &format!("align {align}\tpre {pre}\ton {on}\tpost {post}{end}\n");
        table.diffs.push((align.parse()?, nanoseconds(diff)));
    }
    Ok(tables)
}

/// `35.1µs` as nanoseconds; none where the unit is cut off or the number is not one.
fn nanoseconds(text: &str) -> Option<f64> {
    let end = text.find(|c: char| c.is_alphabetic() && c != 'e').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale = match unit {
        "ns" => 1.0,
        "µs" | "µ" => 1e3,
        "ms" => 1e6,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}

/// Rounds of one cell, a JSON of fio's each. The harness went on until each of the last five values, and the line fitted to
/// them, lay within 10% of their mean; of the cells kept here the SNIA's text says the same, before the last round too.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) input: String,
    pub(super) half: Half,
    pub(super) source: String,
    pub(super) rounds: Vec<Text>,
}

/// All cells.
///
/// # Errors
/// When the file of them is damaged.
pub(super) fn cells() -> Result<Vec<Cell>> {
    let mut cells: Vec<Cell> = Vec::new();
    let mut options = Value::Null;
    for line in lines(ROUNDS) {
        let of = |name: &str| field(&line, name);
        let input = of("input")?;
        if !input.is_empty() {
            cells.push(Cell {
                input: input.to_owned(),
                half: Half::of(of("half")?)?,
                source: of("source")?.to_owned(),
                rounds: Vec::new(),
            });
        }
        if !of("options")?.is_empty() {
            options = serde_json::from_str(of("options")?)?;
        }
        let number = |name: &str| -> Result<Value> { Ok(serde_json::from_str(of(name)?)?) };
        let way = |way: &str| -> Result<Value> {
            let bytes: u64 = of(&format!("{way}_bytes"))?.parse()?;
            Ok(json!({
                "iops": number(&format!("{way}_iops"))?, "io_bytes": bytes, "io_kbytes": bytes / 1024, "bw": 0,
                "total_ios": number(&format!("{way}_ios"))?, "runtime": number(&format!("{way}_ms"))?,
            }))
        };
        let mut job = Map::new();
        job.insert("jobname".to_owned(), "wdpc".into());
        job.insert("groupid".to_owned(), 0.into());
        job.insert("error".to_owned(), 0.into());
        job.insert("elapsed".to_owned(), number("elapsed_s")?);
        job.insert("job options".to_owned(), options.clone());
        job.insert("read".to_owned(), way("read")?);
        job.insert("write".to_owned(), way("write")?);
        let document =
            json!({ "fio version": "fio-3.8", "timestamp": number("ended_s")?, "jobs": [job] });
        let cell = cells.last_mut().context("rounds before the first cell")?;
        let file = format!("round{}.json", cell.rounds.len() + 1);
        cell.rounds.push(Text { file, text: document.to_string() });
    }
    ensure!(cells.iter().all(|cell| cell.rounds.len() >= 5), "a cell with fewer than 5 rounds");
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    // A row or a round lost on the way would be scored as a verdict on other data.
    #[test]
    fn all_rows_are_read() {
        let tables = tables().unwrap();
        let rows: usize = tables.iter().map(|table| table.diffs.len()).sum();
        assert_eq!(rows, ALIGN.lines().count() - 1);
        assert!(tables.iter().filter(|table| table.stated == Stated::Repeat).count() % 3 == 0);
        let cells = cells().unwrap();
        let rounds: usize = cells.iter().map(|cell| cell.rounds.len()).sum();
        assert_eq!(rounds, ROUNDS.lines().count() - 1);
        for half in [Half::Open, Half::Aside] {
            assert!(cells.iter().any(|cell| cell.half == half));
        }
    }

    #[test]
    fn printed_times_are_numbers() {
        let printed = ["35.1µs", "1.04ms", "9ns", "1e+03µ", "-90026n", ""];
        let read: Vec<Option<f64>> = printed.iter().map(|text| nanoseconds(text)).collect();
        assert_eq!(read, [Some(35_100.0), Some(1_040_000.0), Some(9.0), Some(1e6), None, None]);
    }
}
