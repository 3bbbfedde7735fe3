//! From the scores to the page.

use anyhow::Result;

use super::{DRIVES, Outcome};
use crate::sheet;

/// The whole page; `head` states how it was made.
pub(super) fn text(head: &str, outcomes: &[Outcome], faults: &[String]) -> Result<String> {
    let verdict = if faults.is_empty() {
        "What the document found comes out.".to_owned()
    } else {
        format!("Not as it should be: {}.", faults.join("; "))
    };
    let mut text = format!("# Two replayers, two drives\n\n{verdict}\n\n{head}");
    text += "The document's tables (timed and outstanding replays of two workloads on two SSDs), beside the same on \
             `sim:sata-a` and `sim:sata-b`, both filled. One factor for the time of each trace, the same for both \
             replayers and both drives. The traces are excerpts that know arrivals only: what was outstanding is that \
             of a timed replay on A, on which the document recorded its TPC-C. The original is the stretched trace; \
             for an outstanding replay, that replay on A. Medians of the rounds.\n\n";
    for outcome in outcomes.iter().step_by(2) {
        let workload = outcome.workload;
        text += &format!("- {}, time × {}: {}.\n", workload.name, workload.factor, workload.why);
    }
    text += "\n";
    let head = [
        "workload",
        "replayer",
        "drive",
        "Σ Q2C, s",
        "completion, s",
        "completion / original",
        "mean depth",
        "document: Σ Q2C, s",
        "completion, s",
        "completion / original",
        "mean depth",
    ];
    let mut rows = Vec::new();
    for outcome in outcomes {
        for drive in 0..DRIVES.len() {
            rows.push(row(outcome, drive)?);
        }
    }
    text += &sheet::table(3, &head, &rows);
    text += "\n## What is said of them\n\n";
    let rows: Vec<Vec<String>> = outcomes.iter().map(said).collect();
    let head = ["workload", "replayer", "verdict", "why", "A / B, Σ Q2C", "A / B, completion"];
    text += &sheet::table(4, &head, &rows);
    Ok(text)
}

fn row(outcome: &Outcome, drive: usize) -> Result<Vec<String>> {
    let workload = outcome.workload;
    let (q2c, completion) = workload.document[outcome.replayer as usize][drive];
    let ours = outcome.middle(drive, |score| score.completion_s)?;
    Ok(vec![
        workload.name.to_owned(),
        outcome.replayer.word().to_owned(),
        ["A", "B"][drive].to_owned(),
        format!("{:.4}", outcome.middle(drive, |score| score.q2c_sum_s)?),
        format!("{ours:.4}"),
        format!("{:.3}", ours / outcome.original_s),
        format!("{:.2}", outcome.middle(drive, |score| score.mean_depth)?),
        format!("{q2c:.0}"),
        format!("{completion:.0}"),
        format!("{:.3}", completion / workload.original_s),
        format!("{:.2}", q2c / completion),
    ])
}

fn said(outcome: &Outcome) -> Vec<String> {
    let ratio = |ratio: Option<trace::replay::compare::Ratio>| match ratio {
        None => "unknown".to_owned(),
        Some(ratio) => match (ratio.estimate.low, ratio.estimate.high) {
            (Some(low), Some(high)) => format!("{:.4} ({low:.4}–{high:.4})", ratio.estimate.ratio),
            _ => format!("{:.4}", ratio.estimate.ratio),
        },
    };
    let compared = &outcome.compared;
    vec![
        outcome.workload.name.to_owned(),
        outcome.replayer.word().to_owned(),
        compared.winner.clone().unwrap_or_else(|| "none".to_owned()),
        compared.reason.clone(),
        ratio(compared.q2c_sum_ratio),
        ratio(compared.completion_ratio),
    ]
}
