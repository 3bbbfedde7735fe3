//! From what libFuzzer said to the page.

use std::fmt::Write as _;

use super::{BINARY, Fuzzed, ROUNDS};
use crate::sheet;

/// The whole page; `head` states how it was made.
pub(super) fn text(head: &str, all: &[Fuzzed]) -> String {
    let mut text = format!("# Readers of traces under libFuzzer\n\n{}\n\n{head}", verdict(all));
    let _ = write!(
        text,
        "Each reader is fed by libFuzzer, strictly and leniently, with flags drawn from the input's bytes. An input is \
         a fault when it panics (arithmetic is checked), takes 10 s, makes the process hold more than 256 MiB, or \
         breaks a promise: I/Os in the order of their arrival, in batches; nothing left out by a strict reading; a \
         lenient one takes at least what a strict one takes. Coverage is counted in edges between basic blocks of all \
         code but the standard library's. A target ends when the last of at least {ROUNDS} rounds reached no new \
         edge. Inputs of the format `drivescope` come with their checksums made right.\n\n"
    );
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let head = [
        "reader",
        "format",
        "inputs",
        "a second",
        "edges",
        "new in the last round",
        "kept",
        "peak MB",
        "faults",
    ];
    text += &sheet::table(2, &head, &rows);
    text
}

fn verdict(all: &[Fuzzed]) -> String {
    let faulty: Vec<_> =
        all.iter().filter(|one| one.fault.is_some()).map(|one| &*one.target).collect();
    let growing: Vec<_> =
        all.iter().filter(|one| one.edges_of_last_round > 0).map(|one| &*one.target).collect();
    let mut text = if faulty.is_empty() {
        let inputs: u64 = all.iter().map(|one| one.executed).sum();
        format!("No fault in {:.1} million inputs to {} readers.", inputs as f64 / 1e6, all.len())
    } else {
        format!("Faults in {}.", faulty.join(", "))
    };
    if growing.is_empty() {
        text += " Coverage stands still in all of them.";
    } else {
        let _ = write!(text, " Coverage still grew in {}.", growing.join(", "));
    }
    text
}

fn row(one: &Fuzzed) -> Vec<String> {
    let format = if BINARY.contains(&&*one.target) { "binary" } else { "text" };
    vec![
        one.target.clone(),
        if one.target == "detection" { "any" } else { format }.to_owned(),
        one.executed.to_string(),
        format!("{:.0}", one.executed as f64 / one.seconds.max(1e-9)),
        one.edges.to_string(),
        one.edges_of_last_round.to_string(),
        one.kept.to_string(),
        one.peak_mb.to_string(),
        one.fault.as_ref().map_or("0".to_owned(), |fault| fault.replace('|', "\\|")),
    ]
}

/// One target, as a line of progress.
pub(super) fn line(one: &Fuzzed) -> String {
    format!(
        "{}: {} inputs in {:.0} s, {} edges, {} of them in the last round{}",
        one.target,
        one.executed,
        one.seconds,
        one.edges,
        one.edges_of_last_round,
        one.fault.as_ref().map_or(String::new(), |fault| format!(": {fault}"))
    )
}

/// The raw figures.
pub(super) fn csv(all: &[Fuzzed]) -> String {
    let mut text =
        "target,inputs,seconds,edges,edges_of_last_round,kept,peak_mb,fault\n".to_owned();
    for one in all {
        let fault = one.fault.as_deref().unwrap_or_default().replace(['"', ','], " ");
        let _ = writeln!(
            text,
            "{},{},{:.1},{},{},{},{},{fault}",
            one.target,
            one.executed,
            one.seconds,
            one.edges,
            one.edges_of_last_round,
            one.kept,
            one.peak_mb
        );
    }
    text
}
