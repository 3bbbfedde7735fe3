//! From figures to the page.

use super::{Options, Peaks, Rates, SMALLER, middle};
use crate::middle::Middle;
use crate::sheet;

/// The whole page; `head` states how it was made.
pub(super) fn text(head: &str, options: &Options, rates: &[Rates], peaks: &[Peaks]) -> String {
    format!(
        "# Reading traces\n\n{}\n\n{head}{}\n{}",
        verdict(options, peaks),
        of_rates(options, rates),
        of_memory(options, peaks)
    )
}

fn verdict(options: &Options, peaks: &[Peaks]) -> String {
    let growing: Vec<_> = peaks
        .iter()
        .filter(|one| !one.is_constant())
        .map(|one| format!("{} of {}", one.verb, one.form))
        .collect();
    let most = peaks.iter().map(|one| one.large.bytes).max().unwrap_or(0);
    if growing.is_empty() {
        format!(
            "{} million rows take no more memory than a tenth of them: {} MiB at most.",
            options.rows / 1_000_000,
            most.div_ceil(1 << 20)
        )
    } else {
        format!("Memory grows with the file: {}.", growing.join(", "))
    }
}

fn of_rates(options: &Options, rates: &[Rates]) -> String {
    let mut text = format!(
        "## Rows a second\n\nMillions of rows a second on files of {} million rows, each reader with as many threads \
         as it takes by itself, in turns; the median of {} rounds with its 95% interval, where there are six. \
         drivescope's time is that of the whole program, from its start to its end; of the others it is the call \
         that reads all columns into memory. With `-o` the trace is also written as Parquet.\n\n",
        options.rate_rows as f64 / 1e6,
        options.rounds
    );
    let show = |values: &[f64]| {
        let millions: Vec<_> = values.iter().map(|rate| rate / 1e6).collect();
        match Middle::of(&millions) {
            None => "skipped".to_owned(),
            Some(middle) if middle.interval.is_none() => format!("{:.2}", middle.median),
            Some(middle) => middle.show(2),
        }
    };
    let ratio = |ours: f64, other: &[f64]| {
        if other.is_empty() { "–".to_owned() } else { format!("{:.2}", ours / middle(other)) }
    };
    let rows: Vec<Vec<String>> = rates
        .iter()
        .map(|one| {
            let ours = middle(&one.ours);
            vec![
                one.form.to_owned(),
                format!("{:.0}", one.bytes as f64 / options.rate_rows as f64),
                show(&one.ours),
                show(&one.written),
                show(&one.polars),
                show(&one.duckdb),
                ratio(ours, &one.polars),
                ratio(ours, &one.duckdb),
            ]
        })
        .collect();
    let head = [
        "format",
        "bytes a row",
        "trace import",
        "trace import -o",
        "Polars",
        "DuckDB",
        "import / Polars",
        "import / DuckDB",
    ];
    text += &sheet::table(1, &head, &rows);
    text
}

fn of_memory(options: &Options, peaks: &[Peaks]) -> String {
    let mut text = format!(
        "## Memory\n\nThe most that the process held (`VmHWM`), in MiB, on {} million rows and on {SMALLER} times as \
         many. `import -o` reads the text and writes Parquet, `analyze` reads that.\n\n",
        options.rows as f64 / SMALLER as f64 / 1e6
    );
    let mib = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
    let rows: Vec<Vec<String>> = peaks
        .iter()
        .map(|one| {
            let ratio = one.large.bytes as f64 / one.small.bytes.max(1) as f64;
            vec![
                one.form.to_owned(),
                one.verb.to_owned(),
                mib(one.small.bytes),
                mib(one.large.bytes),
                format!("{ratio:.3}"),
            ]
        })
        .collect();
    text += &sheet::table(2, &["format", "verb", "tenth", "whole", "ratio"], &rows);
    text
}
