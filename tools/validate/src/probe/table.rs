//! From the answers to the page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ::probe::{Finding, Name, Unit, Verdict};
use block::Bytes;
use stats::{ProportionInterval, median, quantile};

use super::cards::Cards;
use super::face::Face;
use super::plain::Plain;
use super::score::{Answer, Calibration, Mark, Score, WRONG_MAX, calibrations, unknown_max};
use super::{Card, SEEDS};
use crate::sheet;

/// Wrong answers that are listed by seed; the raw figures have all.
const LISTED: usize = 100;

/// Everything that the page shows.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Drawn cards.
    pub(super) drawn: Vec<Card>,
    pub(super) scores: Vec<Score>,
    pub(super) plain: Option<Plain>,
    pub(super) cards: Option<Cards>,
    pub(super) face: Option<Face>,
}

impl Page {
    /// True when all is as promised.
    pub(super) fn is_right(&self) -> bool {
        self.shortfalls().is_empty()
    }

    /// The whole page; `head` states how it was made.
    pub(super) fn text(&self, head: &str) -> String {
        let mut text = format!("# Probing\n\n{}\n{head}", self.verdict());
        if !self.drawn.is_empty() {
            text += &self.of_scores();
        }
        if let Some(plain) = &self.plain {
            text += &plain.text();
        }
        if let Some(cards) = &self.cards {
            text += &cards.text();
        }
        if let Some(face) = &self.face {
            text += &face.text();
        }
        text
    }

    fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.drawn.iter().flat_map(|card| &card.answers)
    }

    fn shortfalls(&self) -> Vec<String> {
        let of = |score: &Score| {
            let found = score.shortfalls();
            if found.is_empty() {
                return None;
            }
            let what = format!("{} at {}: {}", words(score.name), score.level, found.join(", "));
            let told = self.answers().filter(|answer| answer.carried);
            let told = Score::of(score.name, score.level, told);
            let hidden = told.cards < score.cards && told.shortfalls().is_empty();
            Some(what + if hidden { " (on cards whose times carry it, as promised)" } else { "" })
        };
        let mut found: Vec<String> = self.scores.iter().filter_map(of).collect();
        found.extend(self.plain.iter().flat_map(Plain::shortfalls));
        found.extend(self.cards.iter().flat_map(Cards::shortfalls));
        found.extend(self.face.iter().flat_map(Face::shortfalls));
        found
    }

    fn verdict(&self) -> String {
        let not = self.shortfalls();
        if not.is_empty() {
            return "All as promised.\n".to_owned();
        }
        let lines: String = not.iter().map(|line| format!("- {line}\n")).collect();
        format!("Not as promised:\n\n{lines}")
    }

    fn of_scores(&self) -> String {
        let mut text = method();
        let mut levels: Vec<f64> = self.scores.iter().map(|score| score.level).collect();
        levels.dedup();
        for level in levels {
            let of: Vec<&Score> = self.scores.iter().filter(|s| s.level == level).collect();
            let _ = write!(text, "\n### Noise of {level} of a step\n\n{}", table_of(&of));
        }
        let answers: Vec<Answer> = self.answers().cloned().collect();
        text += &of_hidden(&answers);
        text += &of_wrong(&answers);
        text += &of_open(&answers);
        text += &of_confidence(&answers, &self.scores);
        text + &of_cost(&self.drawn)
    }
}

fn method() -> String {
    let Bytes(typical) = Bytes::kib(4);
    format!(
        "\n## Drawn cards\n\n\
         Each seed is a card of `sim:random-card`, with its own geometry, cells, times and policies, asked by the \
         chain of probes at their defaults and those of `drivescope probe` (30 minutes, 16 GiB of writes), each probe \
         given what the earlier ones found and never the truth. \
         The noise is the level's: bell-shaped, its standard deviation as told beside each table, in steps; a step is \
         what the boundary of an erase block costs a read beyond that of a page (`read.lookup_ns`; 50 µs on cards \
         whose reads show none). One command in a hundred is spiked: it takes 6 to 12 times the card's typical read \
         longer, 9 in the mean, so that a spiked read takes some 10 times as long (`link.spike_ns` is 12 times the \
         median of 65 reads of {typical} bytes without noise). Seeds from {} on are \
         for scoring: the probes were tuned on seeds below 10,000.\n\n\
         *Wrong* counts each answer that decides and is not so, be it a value or a denial, and its upper bound must \
         not exceed {:.0}%; *unknown* must not exceed {:.0}% at a level of 0.1 and {:.0}% at 0.5. In brackets: \
         bounds of Clopper and Pearson, 95%.\n",
        SEEDS.start,
        100.0 * WRONG_MAX,
        100.0 * unknown_max(0.1).unwrap_or(1.0),
        100.0 * unknown_max(0.5).unwrap_or(1.0),
    )
}

fn table_of(scores: &[&Score]) -> String {
    let row = |score: &&Score| {
        let mut cells = vec![words(score.name), score.cards.to_string()];
        cells.extend(Mark::ALL.map(|mark| score.count(mark).to_string()));
        cells.extend([share(score.wrong()), share(score.unknown())]);
        cells.push(promised(score));
        cells
    };
    let mut head = vec!["property", "cards"];
    head.extend(Mark::ALL.map(Mark::word));
    head.extend(["wrong", "left unknown", "as promised"]);
    sheet::table(1, &head, &scores.iter().map(row).collect::<Vec<_>>())
}

fn promised(score: &Score) -> String {
    let shortfalls = score.shortfalls();
    if shortfalls.is_empty() {
        return "yes".to_owned();
    }
    format!("**no**: {}", shortfalls.join(", "))
}

/// Scores of properties that some cards hide, beside those on the other cards.
fn of_hidden(answers: &[Answer]) -> String {
    let mut rows = Vec::new();
    let mut keys: Vec<(Name, f64)> = answers.iter().map(|a| (a.said.name, a.level)).collect();
    keys.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    keys.dedup();
    for (name, level) in keys {
        let of = |carried: bool| {
            let chosen = answers.iter().filter(move |answer| answer.carried == carried);
            Score::of(name, level, chosen)
        };
        let (told, hidden) = (of(true), of(false));
        if hidden.cards == 0 {
            continue;
        }
        let mut row = vec![format!("{} at {level}", words(name)), told.cards.to_string()];
        row.extend([share(told.wrong()), share(told.unknown()), promised(&told)]);
        row.push(hidden.cards.to_string());
        row.extend(
            [Mark::FoundRight, Mark::FoundWrong, Mark::Unknown]
                .map(|m| hidden.count(m).to_string()),
        );
        rows.push(row);
    }
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        "property",
        "cards whose times carry it",
        "wrong",
        "left unknown",
        "as promised",
        "cards whose times do not",
        "found right",
        "found wrong",
        "unknown",
    ];
    format!(
        "\n### What cannot be told\n\nOn some cards crossing from one plane to the other costs nothing, so that two \
         planes cannot be told from one with pages of twice the size. Their page counts in the tables above as it \
         comes; here both kinds of cards stand apart.\n\n{}",
        sheet::table(1, &head, &rows)
    )
}

fn of_wrong(answers: &[Answer]) -> String {
    let wrong: Vec<&Answer> = answers.iter().filter(|answer| answer.mark().is_wrong()).collect();
    let mut text = format!("\n### Wrong answers\n\n{} of {}.\n", wrong.len(), answers.len());
    if wrong.is_empty() {
        return text;
    }
    let row = |answer: &&Answer| {
        let told = if answer.carried { "" } else { "not carried" };
        vec![
            words(answer.said.name),
            answer.level.to_string(),
            answer.seed.to_string(),
            said(&answer.said),
            value(answer.said.name, answer.truth),
            told.to_owned(),
            answer.said.reason.replace('|', "/"),
        ]
    };
    let head = ["property", "level", "seed", "said", "true", "", "reason given"];
    let rows: Vec<Vec<String>> = wrong.iter().take(LISTED).map(row).collect();
    let _ = write!(text, "\n{}", sheet::table(7, &head, &rows));
    if wrong.len() > LISTED {
        let _ = writeln!(text, "\nThe first {LISTED}; the raw figures have all.");
    }
    text
}

/// Why answers were left open: reasons without their numbers, by how often they were given.
fn of_open(answers: &[Answer]) -> String {
    let mut reasons: BTreeMap<(Name, String), Vec<&Answer>> = BTreeMap::new();
    for answer in answers.iter().filter(|answer| answer.mark() == Mark::Unknown) {
        let reason = without_numbers(&answer.said.reason);
        reasons.entry((answer.said.name, reason)).or_default().push(answer);
    }
    if reasons.is_empty() {
        return String::new();
    }
    let mut rows: Vec<_> = reasons.into_iter().collect();
    rows.sort_by_key(|((name, _), of)| (*name, std::cmp::Reverse(of.len())));
    let row = |((name, reason), of): &((Name, String), Vec<&Answer>)| {
        let some: Vec<String> =
            of.iter().take(3).map(|a| format!("{} at {}", a.seed, a.level)).collect();
        vec![words(*name), reason.replace('|', "/"), some.join(", "), of.len().to_string()]
    };
    let head = ["property", "reason, its numbers left out", "such as seed", "answers"];
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    format!("\n### Why answers were left open\n\n{}", sheet::table(3, &head, &rows))
}

fn without_numbers(reason: &str) -> String {
    let mut text = String::new();
    for c in reason.chars() {
        match c {
            c if c.is_ascii_digit() && text.ends_with('#') => {}
            '.' if text.ends_with('#') => {}
            c if c.is_ascii_digit() => text.push('#'),
            c => text.push(c),
        }
    }
    text
}

fn of_confidence(answers: &[Answer], scores: &[Score]) -> String {
    let row = |(what, of): (String, Calibration)| {
        let judged = if of.overstates() { "**says more than is so**" } else { "" };
        vec![
            what,
            of.answers.to_string(),
            format!("{:.2}%", 100.0 * of.stated),
            share(Some(of.right)),
            judged.to_owned(),
        ]
    };
    let mut names: Vec<(Name, f64)> = scores.iter().map(|s| (s.name, s.level)).collect();
    names.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let by_name = names.into_iter().filter_map(|(name, level)| {
        let of = answers.iter().filter(|a| a.said.name == name && a.level == level && a.carried);
        Some((format!("{} at {level}", words(name)), Calibration::of(of)?))
    });
    let rows: Vec<Vec<String>> = calibrations(answers).into_iter().map(row).collect();
    let by_name: Vec<Vec<String>> = by_name.map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = ["stated confidence", "answers", "stated, mean", "right", ""];
    let mut text = format!(
        "\n### Stated confidence against what was right\n\nAnswers that decide, of all properties and levels, by the \
         confidence that they state; then by property and level, on cards whose times carry it. An answer \
         says more than is so when even the upper bound of \
         the share that was right lies below what was stated in the mean.\n\n{}",
        sheet::table(1, &head, &rows)
    );
    let head = ["property", "answers", "stated, mean", "right", ""];
    let _ = write!(text, "\n{}", sheet::table(1, &head, &by_name));
    text
}

fn of_cost(cards: &[Card]) -> String {
    let figures = |what: &str, of: &dyn Fn(&Card) -> f64, digits: usize| {
        let all: Vec<f64> = cards.iter().map(of).collect();
        let show = |x: Option<f64>| x.map_or("–".to_owned(), |x| format!("{x:.digits$}"));
        let most = all.iter().copied().reduce(f64::max);
        vec![what.to_owned(), show(median(&all)), show(quantile(&all, 0.99)), show(most)]
    };
    let mib = |bytes: Bytes| bytes.0 as f64 / (1 << 20) as f64;
    let rows = [
        figures("virtual seconds", &|c| c.said.spent.elapsed_ns.as_secs_f64(), 1),
        figures("MiB read", &|c| mib(c.said.spent.read_bytes), 0),
        figures("MiB written", &|c| mib(c.said.spent.written_bytes), 0),
        figures("I/Os", &|c| c.said.spent.ios as f64, 0),
        figures("seconds of the scoring machine", &|c| c.said.wall.as_secs_f64(), 2),
    ];
    let halted = cards.iter().filter(|card| card.said.halted.is_some()).count();
    let head = ["what a probing took", "median", "of 99 in 100", "most"];
    let mut text = format!("\n### What it took\n\n{}", sheet::table(1, &head, &rows));
    if halted > 0 {
        let _ = writeln!(text, "\nOn {halted} cards a probe ended with an error.");
    }
    text
}

/// A share with its bounds.
fn share(share: Option<ProportionInterval>) -> String {
    share.map_or("–".to_owned(), |s| {
        format!("{:.1}% ({:.2}–{:.2})", 100.0 * s.value, 100.0 * s.low, 100.0 * s.high)
    })
}

/// A property as in the JSON.
pub(super) fn word(name: Name) -> String {
    let word = serde_json::to_value(name).ok();
    word.and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A property in words.
pub(super) fn words(name: Name) -> String {
    word(name).replace('_', " ")
}

/// A value with its unit, or that there is none.
pub(super) fn value(name: Name, value: Option<u64>) -> String {
    match (value, name.unit()) {
        (None, _) => "none".to_owned(),
        (Some(bytes), Unit::Bytes) => Bytes(bytes).to_string(),
        (Some(count), Unit::Count) => count.to_string(),
    }
}

/// The answer, with its confidence.
pub(super) fn said(said: &Finding) -> String {
    let sure = said.confidence.map_or(String::new(), |c| format!(" ({c:.4})"));
    match said.verdict {
        Verdict::Unknown => "unknown".to_owned(),
        Verdict::None | Verdict::Found => value(said.name, said.value) + &sure,
    }
}

/// A wrong answer in a line.
pub(super) fn wrong(answer: &Answer) -> String {
    let Answer { said: finding, truth, .. } = answer;
    format!(
        "{}: said {}, true is {}: {}",
        words(finding.name),
        said(finding),
        value(finding.name, *truth),
        finding.reason
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when reasons that differ in a number are counted apart: each would be given once.
    #[test]
    fn reasons_are_counted_without_their_numbers() {
        assert_eq!(without_numbers("a step of 12.5 us at 4MiB."), "a step of # us at #MiB.");
        assert_eq!(without_numbers("none"), "none");
    }
}
