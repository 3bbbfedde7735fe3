//! The page.

use super::inputs::Half;
use super::score::{Card, Kind, Outcome, Scored};
use crate::sheet;

const OUTCOMES: [Outcome; 4] = [Outcome::Right, Outcome::Class, Outcome::Unknown, Outcome::Wrong];

/// A line an input.
pub(super) fn raw(scored: &[Scored]) -> String {
    let mut text = "input,half,kind,source,stated,said,outcome,by_rule_of_thumb\n".to_owned();
    for one in scored {
        let thumb = one.by_thumb.map_or("", Outcome::words);
        let cells = [
            &one.input,
            one.half.words(),
            one.kind.words(),
            &one.source,
            &one.stated,
            &one.said,
            one.outcome.words(),
            thumb,
        ];
        let quoted = |cell: &&str| format!("\"{}\"", cell.replace('"', "\"\""));
        text += &cells.iter().map(quoted).collect::<Vec<_>>().join(",");
        text.push('\n');
    }
    text
}

/// The table of all inputs.
pub(super) fn text(head: &str, scored: &[Scored], cards: &[Card]) -> String {
    let mut text = format!(
        "# Published outputs of real drives\n\n{head}\
         Tables of `flashbench -a` and rounds of fio that others published, read as users would give them, beside what the \
         pages state. Half of the addresses was set aside before the program was run on any. By the rule of thumb the erase block \
         is the alignment from 128 KiB on whose printed difference exceeds that of the next smaller one most.\n\n"
    );
    let mut rows = Vec::new();
    for half in [Half::Open, Half::Aside] {
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Unstated) {
            let of: Vec<&Scored> =
                scored.iter().filter(|one| one.half == half && one.kind == kind).collect();
            if of.is_empty() {
                continue;
            }
            rows.push(row(half.words(), kind.words(), &of));
        }
        let all: Vec<&Scored> = scored
            .iter()
            .filter(|one| one.half == half && one.outcome != Outcome::NotScored)
            .collect();
        if !all.is_empty() {
            rows.push(row(half.words(), "**all with a stated truth**", &all));
        }
    }
    let names =
        ["half", "inputs", "count", "right", "class", "unknown", "wrong", "wrong by rule of thumb"];
    text += &sheet::table(2, &names, &rows);
    text += "\n## Cards measured three times, of which nothing is stated\n\n";
    let mut rows = Vec::new();
    for half in [Half::Open, Half::Aside] {
        let of: Vec<&Card> = cards.iter().filter(|card| card.half == half).collect();
        if of.is_empty() {
            continue;
        }
        let count =
            |is: &dyn Fn(&Card) -> bool| of.iter().filter(|card| is(card)).count().to_string();
        rows.push(vec![
            half.words().to_owned(),
            of.len().to_string(),
            count(&|card| card.answered == 3),
            count(&|card| (1..3).contains(&card.answered)),
            count(&|card| card.answered == 0),
            count(&|card| card.contradicts),
            count(&|card| card.thumb_contradicts),
        ]);
    }
    let names = [
        "half",
        "cards",
        "erase block from all three",
        "from some",
        "from none",
        "contradictions",
        "contradictions by rule of thumb",
    ];
    text += &sheet::table(1, &names, &rows);
    text += "\n## Inputs with a stated truth\n\n";
    let with = scored.iter().filter(|one| one.outcome != Outcome::NotScored);
    let rows: Vec<Vec<String>> = with
        .map(|one| {
            vec![
                one.input.clone(),
                one.half.words().to_owned(),
                one.stated.clone(),
                one.said.clone(),
                one.outcome.words().to_owned(),
            ]
        })
        .collect();
    text += &sheet::table(5, &["input", "half", "stated", "said", "outcome"], &rows);
    text
}

fn row(half: &str, name: &str, of: &[&Scored]) -> Vec<String> {
    let mut row = vec![half.to_owned(), name.to_owned(), of.len().to_string()];
    for outcome in OUTCOMES {
        row.push(of.iter().filter(|one| one.outcome == outcome).count().to_string());
    }
    let thumbs: Vec<Outcome> = of.iter().filter_map(|one| one.by_thumb).collect();
    let wrong = thumbs.iter().filter(|outcome| **outcome == Outcome::Wrong).count();
    row.push(if thumbs.is_empty() {
        "–".to_owned()
    } else {
        format!("{wrong} of {}", thumbs.len())
    });
    row
}
