//! The cards that have a name: all findings about them beside the truth from `drivescope sim show`.

use std::sync::atomic::AtomicBool;

use ::probe::{Name, Task, Verdict};
use anyhow::Result;

use super::ask::{Questions, Said, ask_virtual};
use super::drive::Subject;
use super::score::Mark;
use super::table::{said, value, words};
use crate::sheet;
use crate::threads::on_threads;

/// The cards.
const CARDS: [&str; 4] = ["sdcard-4m", "usb-8m", "usb-tlc", "card-3m"];
/// Seeds of each: its own noise, and the order in which the probes ask.
const SEEDS: u64 = 3;

/// Answers about one card.
#[derive(Debug)]
struct Look {
    card: &'static str,
    seed: u64,
    subject: Subject,
    said: Said,
}

impl Look {
    /// Properties that exist and were not found right, and those that were found and do not exist. A property that
    /// does not exist needs no answer.
    fn differs(&self) -> Vec<Name> {
        let wrong = |(name, truth): &&(Name, Option<u64>)| {
            let mark = Mark::of(&self.said.of(*name), *truth);
            mark != Mark::FoundRight && (truth.is_some() || mark.is_wrong())
        };
        self.subject.truths.iter().filter(wrong).map(|(name, _)| *name).collect()
    }
}

/// Answers about all cards.
#[derive(Debug)]
pub(super) struct Cards(Vec<Look>);

/// Lets the whole chain look at each card.
///
/// # Errors
/// When one cannot be opened.
pub(super) fn look(jobs: u16, stop: &AtomicBool) -> Result<Cards> {
    let cards: Vec<(&'static str, u64)> =
        CARDS.into_iter().flat_map(|card| (0..SEEDS).map(move |seed| (card, seed))).collect();
    let looks = on_threads(jobs.into(), cards.len(), stop, |at| {
        let (card, seed) = cards[at];
        eprintln!("{card}, seed {seed}");
        let subject = Subject::of(&format!("sim:{card}?seed={seed}"))?;
        let questions =
            Questions { tasks: Task::chain(), given: Vec::new(), seed, may_write: true };
        let said = ask_virtual(&subject, &questions)?;
        Ok(Look { card, seed, subject, said })
    })?;
    Ok(Cards(looks))
}

impl Cards {
    /// Lists the differences from the truth: card, seed and property.
    pub(super) fn shortfalls(&self) -> Vec<String> {
        let of = |look: &Look| {
            let names: Vec<String> = look.differs().into_iter().map(words).collect();
            let what = || format!("`{}`, seed {}: {}", look.card, look.seed, names.join(", "));
            (!names.is_empty()).then(what)
        };
        self.0.iter().filter_map(of).collect()
    }

    /// The section.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "\n## Cards with a name\n\nThe whole chain of `drivescope probe` at its defaults, {SEEDS} seeds of each, \
             beside the truth that `drivescope sim show` tells; in brackets, the confidence. Where the truth is a \
             dash, a model has no word for it.\n"
        );
        for card in CARDS {
            let looks: Vec<&Look> = self.0.iter().filter(|look| look.card == card).collect();
            text += &format!("\n### `{card}`\n\n{}", table(&looks));
        }
        text
    }
}

fn table(looks: &[&Look]) -> String {
    let Some(first) = looks.first() else { return String::new() };
    let row = |name: &Name| {
        let truth = first.subject.truths.iter().find(|(known, _)| known == name);
        let truth = truth.map_or("–".to_owned(), |(_, truth)| value(*name, *truth));
        let mut cells = vec![words(*name), truth];
        cells.extend(looks.iter().map(|look| {
            let answer = look.said.of(*name);
            let open = answer.verdict == Verdict::Unknown;
            let why =
                if open { format!(": {}", answer.reason.replace('|', "/")) } else { String::new() };
            let text = said(&answer) + &why;
            if look.differs().contains(name) { format!("**{text}**") } else { text }
        }));
        cells
    };
    let names: Vec<Name> = first.said.findings.iter().map(|finding| finding.name).collect();
    let mut head = vec!["property".to_owned(), "true".to_owned()];
    head.extend(looks.iter().map(|look| format!("seed {}", look.seed)));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    sheet::table(head.len(), &head, &names.iter().map(row).collect::<Vec<_>>())
}
