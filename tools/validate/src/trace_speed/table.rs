//! From the rounds to the table.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use stats::{RatioInterval, median, paired_ratio};

use super::recording::{Agreement, Recording};
use super::{Arm, Row};
use crate::sheet;

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;
/// How many times as fast as blkparse and btt it has to be.
const END_TO_END: f64 = 8.0;
/// How many times as fast as btt alone.
const BTT_ALONE: f64 = 2.5;

/// Results of all rounds on one recording.
#[derive(Debug)]
pub(super) struct Finding {
    nth: usize,
    /// Median seconds: blkparse, btt, phases, everything, parquet, reuse.
    medians: [f64; 6],
    /// (blkparse + btt) / phases.
    end_to_end: Option<RatioInterval>,
    /// btt / phases.
    btt_alone: Option<RatioInterval>,
}

impl Finding {
    /// True when both ratios are above what is promised, with the whole of their intervals.
    pub(super) fn reached(&self) -> bool {
        let above = |ratio: Option<RatioInterval>, least: f64| {
            ratio.and_then(|ratio| ratio.low).is_some_and(|low| low >= least)
        };
        above(self.end_to_end, END_TO_END) && above(self.btt_alone, BTT_ALONE)
    }
}

/// Looks at each recording.
pub(super) fn findings(recordings: &[Recording], rows: &[Row]) -> Vec<Finding> {
    (0..recordings.len()).map(|nth| finding(nth, rows)).collect()
}

fn finding(nth: usize, rows: &[Row]) -> Finding {
    let of = |arm: Arm, seconds: fn(&Row) -> f64| -> Vec<f64> {
        let mut runs: Vec<&Row> =
            rows.iter().filter(|row| row.recording == nth && row.arm == arm).collect();
        runs.sort_by_key(|row| row.round);
        runs.into_iter().map(seconds).collect()
    };
    let whole = |row: &Row| row.seconds + row.btt_seconds;
    let ours = of(Arm::Phases, whole);
    let middle = |seconds: Vec<f64>| median(&seconds).unwrap_or(f64::NAN);
    Finding {
        nth,
        medians: [
            middle(of(Arm::Debian, |row| row.seconds)),
            middle(of(Arm::Debian, |row| row.btt_seconds)),
            middle(ours.clone()),
            middle(of(Arm::Everything, whole)),
            middle(of(Arm::Parquet, whole)),
            middle(of(Arm::Reuse, whole)),
        ],
        end_to_end: paired_ratio(&of(Arm::Debian, whole), &ours, CONFIDENCE),
        btt_alone: paired_ratio(&of(Arm::Debian, |row| row.btt_seconds), &ours, CONFIDENCE),
    }
}

fn interval(ratio: Option<RatioInterval>) -> String {
    match ratio {
        Some(RatioInterval { ratio, low: Some(low), high: Some(high), .. }) => {
            format!("{ratio:.2} ({low:.2}–{high:.2})")
        }
        Some(RatioInterval { ratio, .. }) => format!("{ratio:.2} (too few rounds)"),
        None => "–".to_owned(),
    }
}

/// The whole file.
pub(super) fn text(
    provenance: &str,
    recordings: &[Recording],
    agreed: &[Agreement],
    findings: &[Finding],
) -> String {
    let mut text = format!(
        "# Speed of reading a recording\n\n{provenance}\
         From the files that blktrace writes, one for each CPU and all in the page cache, to phases with percentiles: \
         `blkparse -d` and then btt, which knows no percentiles, beside `trace analyze --only phases`. Rounds are \
         interleaved; ratios are of runs of one round, with {:.0}% intervals of their median. Promised are \
         {END_TO_END} times for both programs and {BTT_ALONE} times for btt alone, with the whole interval.\n\n",
        CONFIDENCE * 100.0
    );
    for recording in recordings {
        let (events, mb) = (recording.events, recording.bytes() as f64 / 1e6);
        let _ =
            writeln!(text, "- {}: {events} events, {mb:.0} MB: {}", recording.name, recording.what);
    }
    let name = |finding: &Finding| recordings[finding.nth].name.clone();
    let rows: Vec<Vec<String>> = findings
        .iter()
        .map(|finding| {
            let [blkparse, btt, phases, ..] = finding.medians;
            let rate = recordings[finding.nth].events as f64 / phases / 1e6;
            vec![
                name(finding),
                format!("{blkparse:.3}"),
                format!("{btt:.3}"),
                format!("{phases:.3}"),
                format!("{rate:.1}"),
                interval(finding.end_to_end),
                interval(finding.btt_alone),
                if finding.reached() { "yes" } else { "no" }.to_owned(),
            ]
        })
        .collect();
    text += "\nMedians in seconds; the rate is ours.\n\n";
    let head = [
        "recording",
        "blkparse -d",
        "btt",
        "ours",
        "M events/s",
        "both / ours",
        "btt / ours",
        "reached",
    ];
    text += &sheet::table(1, &head, &rows);
    let rows: Vec<Vec<String>> = findings
        .iter()
        .map(|finding| {
            let [.., everything, parquet, reuse] = finding.medians;
            vec![
                name(finding),
                format!("{everything:.3}"),
                format!("{parquet:.3}"),
                format!("{reuse:.3}"),
            ]
        })
        .collect();
    text += "\nWhat else takes how long, from the same files, in seconds: all that `trace analyze` tells, \
             `trace import` into a Parquet file, and phases with exact reuse distances.\n\n";
    text += &sheet::table(1, &["recording", "everything", "Parquet", "reuse"], &rows);
    text += "\nHow many bios each found in a phase:\n\n";
    let rows: Vec<Vec<String>> = agreed
        .iter()
        .flat_map(|agreement| {
            agreement.rows.iter().map(|(phase, btt, ours)| {
                vec![agreement.name.clone(), phase.clone(), btt.to_string(), ours.to_string()]
            })
        })
        .collect();
    text += &sheet::table(2, &["recording", "phase", "btt", "ours"], &rows);
    text
}

/// Writes every run.
pub(super) fn write_rows(path: &Path, recordings: &[Recording], rows: &[Row]) -> Result<()> {
    let mut text = "recording,round,arm,seconds,btt_seconds\n".to_owned();
    for row in rows {
        let name = &recordings[row.recording].name;
        let _ = writeln!(
            text,
            "{name},{},{},{:.6},{:.6}",
            row.round, row.arm, row.seconds, row.btt_seconds
        );
    }
    std::fs::write(path, text).with_context(|| format!("{}: cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks when a ratio is turned about, or pairs runs of different rounds.
    #[test]
    fn ratios_are_of_runs_of_one_round() {
        let mut rows = Vec::new();
        for round in 0..8 {
            let slow = f64::from(round + 1);
            let row =
                |arm, seconds, btt_seconds| Row { recording: 0, round, arm, seconds, btt_seconds };
            rows.insert(0, row(Arm::Debian, 7.0 * slow, 3.0 * slow));
            rows.push(row(Arm::Phases, slow, 0.0));
        }
        let finding = finding(0, &rows);
        let ratio = |ratio: Option<RatioInterval>| ratio.map_or(0.0, |ratio| ratio.ratio);
        assert!((ratio(finding.end_to_end) - 10.0).abs() < 1e-9);
        assert!((ratio(finding.btt_alone) - 3.0).abs() < 1e-9);
        assert!(finding.reached());
        let slower: Vec<Row> = rows
            .into_iter()
            .map(|row| {
                if row.arm == Arm::Phases { Row { seconds: row.seconds * 1.3, ..row } } else { row }
            })
            .collect();
        assert!(!super::finding(0, &slower).reached());
    }
}
