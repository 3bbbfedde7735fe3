//! From the scores to the page.

use super::rules::RULES;
use super::score::{Score, Scored};
use super::series::Before;
use super::truth::Kind;
use crate::sheet;

/// The whole page; `head` states how it was made.
pub(super) fn text(head: &str, drives: &[Scored], fills: usize) -> String {
    let scores: Vec<Score> = (0..RULES.len()).map(|rule| Score::of(rule, drives)).collect();
    let mut text = format!("# Rules of steady state\n\n{}\n{head}", verdict(&scores));
    text += &format!(
        "Each drive is `sim:random-ssd` of one seed at 1 GiB, with over-provisioning of 5 to 40%, purged or filled in \
         order, and then written at random for {fills} fills, 4 KiB at depth 64. One in eight is written in passes, each \
         in an order of its own; one in eight is made slower without end, by 8 to 25% a fill. Truth: the mean rate \
         of the last 5 fills; *steady* where all half fills in them are within 5% of it, *periodic* where they keep leaving \
         and whole fills do not and the load comes round, *irregular* where it does not come round, *never* where whole fills leave \
         too, *unsettled* otherwise. *Earliest*: from there on each half fill \
         is within 5%. A minute is what writes a round while the drive is fresh; rounds are of 0.02 to 1 fill. Bounds are Clopper and \
         Pearson's, one-sided, 95%. *Granted* is 1.5 times the earliest moment and a window of one fill.\n\n"
    );
    let kinds = [Kind::Steady, Kind::Periodic, Kind::Never, Kind::Irregular, Kind::Unsettled];
    let count = |kind: Kind| drives.iter().filter(|drive| drive.truth.kind == kind).count();
    let counts: Vec<String> =
        kinds.iter().map(|kind| format!("{} {}", count(*kind), kind.word())).collect();
    text += &format!("{} drives: {}.\n\n## All drives\n\n", drives.len(), counts.join(", "));
    text += &table(&scores);
    for (title, before) in
        [("From a purge", Before::Purge), ("From a sequential fill", Before::SequentialFill)]
    {
        let part: Vec<Scored> =
            drives.iter().filter(|drive| drive.case.before == before).cloned().collect();
        let scores: Vec<Score> = (0..RULES.len()).map(|rule| Score::of(rule, &part)).collect();
        text += &format!("\n## {title}\n\n{}", table(&scores));
    }
    text
}

/// True when nothing that was promised is missing.
pub(super) fn is_whole(drives: &[Scored]) -> bool {
    (0..RULES.len()).all(|rule| Score::of(rule, drives).shortfalls().is_empty())
}

fn verdict(scores: &[Score]) -> String {
    let lines = scores.iter().filter_map(|score| {
        let found = score.shortfalls();
        (!found.is_empty()).then(|| format!("- {}: {}\n", score.rule, found.join("; ")))
    });
    match lines.collect::<String>() {
        none if none.is_empty() => "No shortfall.\n".to_owned(),
        shortfalls => format!("Shortfalls:\n\n{shortfalls}"),
    }
}

fn table(scores: &[Score]) -> String {
    let fills = |fills: Option<f64>| fills.map_or("–".to_owned(), |fills| format!("{fills:.2}"));
    let row = |score: &Score| {
        let mut cells = vec![
            score.rule.to_owned(),
            format!("{} of {}", score.accepted, score.drives),
            fills(score.at_fills),
            fills(score.earliest_fills),
            score.beyond_granted_fills.map_or("–".to_owned(), |beyond| format!("{beyond:+.2}")),
            score.off_median.map_or("–".to_owned(), |off| format!("{:.1}%", 100.0 * off)),
            score.off_share().map_or("–".to_owned(), |share| {
                let (off, accepted) = (score.off, score.accepted);
                format!(
                    "{off} of {accepted}: {:.1}% (at most {:.1})",
                    100.0 * share.value,
                    100.0 * share.high
                )
            }),
        ];
        cells.extend(score.named.iter().map(|(_, right, all)| format!("{right} of {all}")));
        cells
    };
    let head = [
        "rule",
        "accepted",
        "at, fills",
        "earliest, fills",
        "later than granted, fills",
        "off, median",
        "off by more than 5%",
        "steady named so",
        "periodic",
        "never",
        "irregular: periodic or never",
    ];
    sheet::table(1, &head, &scores.iter().map(row).collect::<Vec<_>>())
}
