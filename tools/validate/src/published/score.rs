//! Answers beside what the pages state.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use probe::flashbench::tables::Table as Parsed;
use probe::{Finding, Name, Verdict};
use pts::judge::{self, Judged, Known, RuleName, Text};

use super::inputs::{Cell, Half, Stated, Table};

/// An answer beside what is stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// As stated.
    Right,
    /// Several values, the stated one among them.
    Class,
    /// No answer.
    Unknown,
    /// Another answer.
    Wrong,
    /// Nothing is stated.
    NotScored,
}

impl Outcome {
    pub(super) fn words(self) -> &'static str {
        match self {
            Outcome::Right => "right",
            Outcome::Class => "class",
            Outcome::Unknown => "unknown",
            Outcome::Wrong => "wrong",
            Outcome::NotScored => "not scored",
        }
    }
}

/// Kinds of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Tables whose author states a size.
    StatedSize,
    /// Tables in which the author saw no erase block.
    NotSeen,
    /// Tables without a word.
    Unstated,
    /// Rounds of fio.
    Rounds,
}

impl Kind {
    pub(super) const ALL: [Kind; 4] =
        [Kind::StatedSize, Kind::NotSeen, Kind::Rounds, Kind::Unstated];

    pub(super) fn words(self) -> &'static str {
        match self {
            Kind::StatedSize => "`flashbench -a`, size stated by the author",
            Kind::NotSeen => "`flashbench -a`, the author saw no erase block",
            Kind::Unstated => "`flashbench -a`, nothing stated",
            Kind::Rounds => "rounds of fio, until the harness called them steady",
        }
    }
}

/// One input.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    pub(super) input: String,
    pub(super) half: Half,
    pub(super) kind: Kind,
    pub(super) source: String,
    pub(super) stated: String,
    pub(super) said: String,
    pub(super) outcome: Outcome,
    /// Reading by the rule of thumb.
    pub(super) by_thumb: Option<Outcome>,
    /// The size that was found.
    pub(super) found: Option<u64>,
    /// The size by the rule of thumb.
    pub(super) thumb: Option<u64>,
}

/// The erase block by eye: where, from the smallest alignment on, the difference rises most.
fn by_thumb(table: &Table) -> Option<u64> {
    let known: Vec<(u64, f64)> =
        table.diffs.iter().filter_map(|(align, diff)| Some((*align, (*diff)?))).collect();
    let rise = |pair: &[(u64, f64)]| (pair[0].0, pair[0].1 - pair[1].1);
    // Below 128 KiB it is pages that rise.
    let rises = known.windows(2).map(rise).filter(|(align, _)| *align >= 128 << 10);
    rises.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(align, _)| align)
}

fn of_stated(stated: &Stated, value: Option<u64>) -> Outcome {
    match (stated, value) {
        (Stated::OneOf(sizes), Some(value)) if sizes.contains(&value) => Outcome::Right,
        (Stated::OneOf(_), None) => Outcome::Unknown,
        (Stated::NotSeen, None) => Outcome::Right,
        (Stated::OneOf(_) | Stated::NotSeen, Some(_)) => Outcome::Wrong,
        (Stated::Repeat | Stated::Nothing, _) => Outcome::NotScored,
    }
}

/// Answer of `import flashbench` to `table`.
///
/// # Errors
/// When it cannot be read, or not whole.
pub(super) fn table(table: &Table) -> Result<Scored> {
    let texts = [(table.input.as_str(), table.text.as_bytes())];
    let parsed = probe::flashbench::parse_all(texts)?;
    let plain: Vec<Parsed> = parsed.into_iter().map(|parsed| parsed.table).collect();
    let rows = match plain.as_slice() {
        [Parsed::Align(align)] => align.rows.len() + usize::from(align.cut.is_some()),
        _ => 0,
    };
    ensure!(
        rows == table.diffs.len(),
        "{}: {rows} rows of {} were read",
        table.input,
        table.diffs.len()
    );
    let findings = probe::flashbench::judge(&plain, None);
    let of_block = |finding: &&Finding| finding.name == Name::EraseBlock;
    let finding = findings.iter().find(of_block);
    let found = finding.filter(|finding| finding.verdict == Verdict::Found).and_then(|f| f.value);
    let class: Vec<u64> = finding.map_or_else(Vec::new, |finding| finding.one_of.clone());
    let mut outcome = of_stated(&table.stated, found);
    if let (Stated::OneOf(sizes), false) = (&table.stated, class.is_empty()) {
        let holds = sizes.iter().any(|size| class.contains(size));
        outcome = if holds { Outcome::Class } else { Outcome::Wrong };
    }
    let said = match (found, finding) {
        (Some(bytes), Some(finding)) => {
            format!("{}, {:.3}", size(bytes), finding.confidence.unwrap_or_default())
        }
        _ if !class.is_empty() => {
            class.iter().map(|bytes| size(*bytes)).collect::<Vec<_>>().join(" or ")
        }
        (_, Some(finding)) => format!("unknown: {}", finding.reason),
        _ => "unknown".to_owned(),
    };
    let thumb = by_thumb(table);
    let (kind, stated) = match &table.stated {
        Stated::OneOf(sizes) => {
            let sizes: Vec<String> = sizes.iter().map(|bytes| size(*bytes)).collect();
            (Kind::StatedSize, sizes.join(" or "))
        }
        Stated::NotSeen => (Kind::NotSeen, "not seen".to_owned()),
        Stated::Repeat | Stated::Nothing => (Kind::Unstated, "–".to_owned()),
    };
    Ok(Scored {
        input: table.input.clone(),
        half: table.half,
        kind,
        source: table.source.clone(),
        stated,
        said,
        outcome,
        by_thumb: Some(of_stated(&table.stated, thumb)),
        found,
        thumb,
    })
}

fn judged(rounds: &[Text]) -> Result<Vec<Judged>> {
    let read = judge::rounds(judge::read(rounds)?);
    Ok(read.into_iter().map(|result| judge::judge(result, &Known::default())).collect())
}

/// Answer of `judge` to `cell` by the SNIA's rule: met with its last round, and not met without it.
///
/// # Errors
/// When it cannot be read.
pub(super) fn cell(cell: &Cell) -> Result<Scored> {
    let count = cell.rounds.len();
    let of = |judged: &[Judged], rounds: usize| {
        let [one] = judged else { return stats::Verdict::Unprovable };
        let values = one.recorded.rounds.as_ref().map_or(0, |rounds| rounds.values.len());
        let snia = one.rules.iter().find(|rule| rule.rule == RuleName::Snia);
        snia.filter(|_| values == rounds)
            .map_or(stats::Verdict::Unprovable, |rule| rule.says.verdict)
    };
    let whole = judged(&cell.rounds)?;
    let last = of(&whole, count);
    let before = match count {
        5 => None,
        _ => Some(of(&judged(&cell.rounds[..count - 1])?, count - 1)),
    };
    let wanted = |verdict, wanted| match verdict {
        stats::Verdict::Unprovable => Outcome::Unknown,
        verdict if verdict == wanted => Outcome::Right,
        _ => Outcome::Wrong,
    };
    let mut outcome = wanted(last, stats::Verdict::Proven);
    if let Some(before) = before {
        outcome = outcome.max(wanted(before, stats::Verdict::Refuted));
    }
    // Criteria of five minutes are not a steady drive: none of these wrote its drive again and again.
    if whole.iter().any(|one| one.steady.verdict == stats::Verdict::Proven) {
        outcome = Outcome::Wrong;
    }
    let word = |verdict: stats::Verdict| match verdict {
        stats::Verdict::Proven => "met",
        stats::Verdict::Refuted => "not met",
        stats::Verdict::Unprovable => "cannot say",
    };
    let said = match before {
        Some(before) => {
            format!("{} after {count} rounds, {} after {}", word(last), word(before), count - 1)
        }
        None => format!("{} after {count} rounds", word(last)),
    };
    Ok(Scored {
        input: cell.input.clone(),
        half: cell.half,
        kind: Kind::Rounds,
        source: cell.source.clone(),
        stated: format!("met after {count} rounds"),
        said,
        outcome,
        by_thumb: None,
        found: None,
        thumb: None,
    })
}

/// Three tables of one card.
#[derive(Clone, Debug)]
pub(super) struct Card {
    pub(super) half: Half,
    /// How many of its tables were answered.
    pub(super) answered: usize,
    /// Two tables were answered differently.
    pub(super) contradicts: bool,
    /// Two tables were read differently by the rule of thumb.
    pub(super) thumb_contradicts: bool,
}

/// Cards whose page states nothing, and that were measured three times.
pub(super) fn cards(tables: &[Table], scored: &[Scored]) -> Vec<Card> {
    let mut by_source: BTreeMap<&str, Vec<&Scored>> = BTreeMap::new();
    for (table, one) in tables.iter().zip(scored) {
        if table.stated == Stated::Repeat {
            by_source.entry(table.source.as_str()).or_default().push(one);
        }
    }
    let card = |all: &Vec<&Scored>| {
        let found: Vec<u64> = all.iter().filter_map(|one| one.found).collect();
        let differ = |values: Vec<u64>| values.into_iter().collect::<BTreeSet<_>>().len() > 1;
        Card {
            half: all.first().map_or(Half::Open, |one| one.half),
            answered: found.len(),
            contradicts: differ(found),
            thumb_contradicts: differ(all.iter().filter_map(|one| one.thumb).collect()),
        }
    };
    by_source.values().map(card).collect()
}

/// A size as flashbench's users write it.
fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} KiB", bytes >> 10)
    }
}
