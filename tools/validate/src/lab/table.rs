//! The table of scenarios.

use std::fmt::Write as _;

use super::{Row, Rows};
use crate::sheet;

pub(super) fn text(head: &str, rows: &Rows) -> String {
    let green = rows.values().filter(|row| row.green).count();
    let skipped = rows.values().filter(|row| row.skipped.is_some()).count();
    let cells: usize = rows.values().map(Row::cells).sum();
    let changed: usize = rows.values().map(Row::changed).sum();
    let steps: usize = rows.values().map(|row| row.steps.len()).sum();
    let minutes = rows.values().map(|row| row.seconds).sum::<f64>() / 60.0;
    let mut text = String::from("# Scenarios on emulated drives\n\n");
    let _ = writeln!(
        text,
        "{green} of {} scenarios are green ({skipped} skipped), with {steps} steps and {cells} cells of lines in \
         states, in {minutes:.0} minutes without boots. After {changed} of the cells that had to leave the drives alone \
         a drive had other content than before.\n",
        rows.len(),
    );
    text.push_str(head);
    text.push_str(
        "A row is made anew by `scripts/validate lab --scenario NAME` and says at which commit it was; what a step or a \
         cell is, see [docs/lab.md](../lab.md).\n\n",
    );
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|(name, row)| {
            let result = match (&row.skipped, row.green) {
                (Some(why), _) => format!("skipped: {why}"),
                (None, true) => "green".to_owned(),
                (None, false) => "failed".to_owned(),
            };
            let steps = match row.steps.len() {
                n if n == row.steps_wanted => n.to_string(),
                n => format!("{n} of {}", row.steps_wanted),
            };
            vec![
                name.clone(),
                row.summary.replace('|', "\\|"),
                format!("`{}`", row.commit),
                result,
                steps,
                row.cells().to_string(),
                format!("{:.0}", row.seconds),
            ]
        })
        .collect();
    let head = ["scenario", "what holds", "commit", "result", "steps", "cells", "seconds"];
    text.push_str(&sheet::table(4, &head, &lines));
    text
}

#[cfg(test)]
mod tests {
    use super::super::{InState, Step};
    use super::*;

    #[test]
    fn a_scenario_that_broke_off_is_not_green_and_says_how_far_it_came() {
        let row = |green, steps| Row {
            summary: "it holds".into(),
            commit: "0123".into(),
            green,
            steps: vec![Step::default(); steps],
            steps_wanted: 2,
            states: vec![InState { cells: 3, changed: 1, ..InState::default() }],
            seconds: 60.0,
            ..Row::default()
        };
        let rows = [("one".to_owned(), row(true, 2)), ("two".to_owned(), row(false, 1))].into();
        let text = text("", &rows);
        assert!(text.contains("1 of 2 scenarios are green (0 skipped), with 3 steps and 6 cells"));
        assert!(text.contains("After 2 of the cells"), "{text}");
        assert!(text.contains("| one | it holds | `0123` | green | 2 | 3 | 60 |"), "{text}");
        assert!(text.contains("| two | it holds | `0123` | failed | 1 of 2 | 3 | 60 |"), "{text}");
    }
}
