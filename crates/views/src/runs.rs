//! Recorded runs as listings.

use std::path::Path;

use record::{Integrity, Row, Run, State};
use report::{Entry, Listing, Tone, number};

/// Lays out all runs of the directory `dir`.
pub fn listing(dir: &Path, runs: &record::Listing) -> Listing {
    let mut entries: Vec<Entry> = runs.runs.iter().map(row).collect();
    entries.extend(runs.unreadable.iter().map(|(path, why)| Entry {
        title: path.display().to_string(),
        summary: String::new(),
        facts: Vec::new(),
        notes: vec![(Tone::Bad, format!("cannot be read: {why}"))],
        leads: false,
    }));
    Listing { entries, empty: format!("No run is recorded in {}.", dir.display()) }
}

fn row(row: &Row) -> Entry {
    let (word, tone) = state(row.state, row.live);
    let mut summary = vec![format!("{} {}", row.verb, row.target)];
    if !row.drive.is_empty() && !row.target.contains(&row.drive) {
        summary.push(row.drive.clone());
    }
    let mut notes = Vec::new();
    if row.state != State::Finished {
        let each = if row.verb == "survey" { "part" } else { "run" };
        let done = match row.steps_known {
            Some(known) if known == row.steps_done => "all that was to be recorded".to_owned(),
            Some(known) => {
                format!("{} of {}", row.steps_done, number::counted(known as usize, each))
            }
            None => number::counted(row.steps_done as usize, each),
        };
        notes.push((tone, format!("{word} after {done}")));
    }
    let result = Some(&row.headline).filter(|headline| !headline.is_empty());
    let facts = result.map(|result| ("result".to_owned(), result.clone())).into_iter().collect();
    Entry { title: row.id.to_string(), summary: summary.join(", "), facts, notes, leads: false }
}

fn state(state: State, live: bool) -> (&'static str, Tone) {
    match (state, live) {
        (_, true) => ("being made,", Tone::Mixed),
        // By a signal, by the machine's end, or where there was no room for its own.
        (State::Running, false) => ("broken off", Tone::Bad),
        (State::Interrupted, false) => ("interrupted", Tone::Mixed),
        (State::Broken, false) => ("ended by an error", Tone::Bad),
        (State::Finished, false) => ("finished", Tone::Good),
    }
}

/// Facts about one run beside its result. `unfinished` says how to resume one that has not ended, and what it left behind.
pub fn about(run: &Run, integrity: &Integrity, live: bool, unfinished: &[String]) -> Listing {
    let (word, tone) = state(run.state, live);
    let known = run.steps_known.map_or(String::new(), |known| format!(" of {known}"));
    let envelope = &run.envelope;
    let host = &envelope.host;
    let cpu = host.machine.as_ref().and_then(|m| m.cpu_model.clone());
    let machine = cpu.map_or(String::new(), |cpu| format!(", {} × {cpu}", host.cpus));
    let binary = envelope.binary.as_ref().map(|b| format!(", sha256 {}", b.sha256));
    let facts = [
        ("made", format!("{} on {}, Linux {}{machine}", envelope.date, host.name, host.kernel)),
        ("with", format!("drivescope {}{}", envelope.version, binary.unwrap_or_default())),
        ("command", format!("drivescope {}", block::command_line(&envelope.arguments))),
        ("target", run.summary.target.clone()),
        ("drive", run.summary.drive.clone()),
        ("runs", format!("{}{known}", run.steps.len())),
        ("directory", run.dir.display().to_string()),
    ];
    let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
    let mut notes = Vec::new();
    if run.state != State::Finished {
        let (first, others) = unfinished
            .split_first()
            .map_or((None, unfinished), |(first, others)| (Some(first), others));
        let how = match first {
            _ if live => "it is being made".to_owned(),
            _ if run.is_bare() => {
                format!("{word}; imported as a document alone, so it cannot be gone on with")
            }
            Some(how) => format!("{word}; {how}"),
            None => word.to_owned(),
        };
        notes.push((tone, how));
        notes.extend(others.iter().filter(|_| !live).map(|how| (Tone::Mixed, how.clone())));
    }
    notes.push(match integrity {
        Integrity::AsRecorded { files } => {
            let have = if *files == 1 { "has its checksum" } else { "have their checksums" };
            (Tone::Good, format!("as recorded: {} {have}", number::counted(*files, "file")))
        }
        Integrity::Unsealed => (Tone::Mixed, "no checksums yet: it has not ended".to_owned()),
        Integrity::Altered(files) => (Tone::Bad, format!("altered: {}", files.join(", "))),
    });
    let entry = Entry {
        title: run.id.to_string(),
        summary: word.trim_end_matches(',').to_owned(),
        facts: facts.map(|(name, value)| (name.to_owned(), value)).collect(),
        notes,
        leads: false,
    };
    Listing { entries: vec![entry], empty: String::new() }
}
