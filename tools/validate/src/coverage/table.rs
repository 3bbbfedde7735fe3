//! From the scores to the page.

use super::score::{PROOFS, Score};
use super::{LONG_RUN, PROTOCOLS, TARGET, TRUE_RUNS};
use crate::sheet;

/// The whole page; `head` states how it was made.
pub(super) fn text(head: &str, scores: &[Score]) -> String {
    let mut text = format!("# Coverage of mark's intervals and verdicts\n\n{}\n", verdict(scores));
    text += head;
    text += &format!(
        "Each seed is a `mark {TARGET}` of a 1 GiB span, all tests, made through the binary. The \
         disk is stationary, so 95% of the intervals ought to hold the truth, and each verdict \
         against it is a false alarm. Two truths: the median of {TRUE_RUNS} runs of the same length \
         (what the interval is of), and the throughput of one run of {LONG_RUN} (what a user may \
         take it for). In brackets: bounds of Clopper and Pearson, 95%. A *shortfall* is a share \
         whose bounds leave no doubt: coverage below 95%, or false alarms above 5%.\n"
    );
    for protocol in PROTOCOLS {
        let of: Vec<&Score> = scores.iter().filter(|s| s.protocol == protocol.name).collect();
        text += &format!(
            "\n## {}: {} runs of {} after {} of warm-up, {} apart\n\n",
            protocol.name, protocol.runs, protocol.duration, protocol.warm_up, protocol.pause
        );
        text += &intervals(&of);
        text += "\nFalse alarms, and how often each proof was given:\n\n";
        text += &alarms(&of);
    }
    text
}

fn verdict(scores: &[Score]) -> String {
    let named = |score: &Score| {
        let found = score.shortfalls();
        let subject = format!("{} ({})", score.test, score.protocol);
        (!found.is_empty()).then(|| format!("- {subject}: {}\n", found.join(", ")))
    };
    let mut text = match scores.iter().filter_map(named).collect::<String>() {
        none if none.is_empty() => "No shortfall.\n".to_owned(),
        shortfalls => format!("Shortfalls:\n\n{shortfalls}"),
    };
    let long: Vec<String> = scores
        .iter()
        .filter(|score| score.misses_long_run())
        .map(|score| format!("{} ({})", score.test, score.protocol))
        .collect();
    if !long.is_empty() {
        text += &format!(
            "\nSurely fewer than 95% of the intervals hold the throughput of the long run, which \
             differs from that of short ones, in: {}.\n",
            long.join(", ")
        );
    }
    text
}

fn intervals(scores: &[&Score]) -> String {
    let row = |score: &&Score| {
        let ratio = score.truth.long_run / score.truth.of_runs;
        vec![
            score.test.clone(),
            format!("{:.4}", score.truth.of_runs),
            share(score, score.covers_runs),
            format!("{:.2}%", 100.0 * score.half_width),
            format!("{:.4} ({:+.2}%)", score.truth.long_run, 100.0 * (ratio - 1.0)),
            share(score, score.covers_long),
        ]
    };
    let head = [
        "test",
        "median of runs, MB/s",
        "intervals that hold it",
        "their half width",
        "long run, MB/s",
        "intervals that hold it",
    ];
    sheet::table(1, &head, &scores.iter().map(row).collect::<Vec<_>>())
}

fn alarms(scores: &[&Score]) -> String {
    let row = |score: &&Score| {
        let mut cells = vec![score.test.clone(), share(score, score.two_modes)];
        for proof in ["steady", "repeatable"] {
            let at = PROOFS.iter().position(|p| *p == proof).unwrap_or(0);
            cells.push(share(score, score.refuted[at]));
            let proven = 100.0 * score.proven[at] as f64 / score.seeds.max(1) as f64;
            cells.push(format!("{proven:.0}%"));
        }
        let others = PROOFS.iter().zip(score.refuted);
        let others = others.filter(|(proof, _)| !["steady", "repeatable"].contains(proof));
        cells.push(others.map(|(_, count)| count).sum::<usize>().to_string());
        cells
    };
    let head = [
        "test",
        "two modes",
        "*steady* refuted",
        "*steady* proven",
        "*repeatable* refuted",
        "*repeatable* proven",
        "other proofs refuted",
    ];
    sheet::table(1, &head, &scores.iter().map(row).collect::<Vec<_>>())
}

fn share(score: &Score, count: usize) -> String {
    score.share(count).map_or("–".to_owned(), |s| {
        format!("{:.1}% ({:.1}–{:.1})", 100.0 * s.value, 100.0 * s.low, 100.0 * s.high)
    })
}
