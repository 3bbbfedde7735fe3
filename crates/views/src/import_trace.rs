//! A trace that was read, as a listing.

use block::UnixNanos;
use report::{Entry, Listing, Tone, number};

use documents::trace_import::Imported;

/// Address spaces that are listed; there may be thousands.
const SPACES: usize = 16;

/// Lays out what was read.
pub fn listing(imported: &Imported) -> Listing {
    let mut entries = vec![whole(imported), settled(imported), spaces(imported)];
    entries.retain(|entry| !entry.facts.is_empty() || !entry.notes.is_empty());
    Listing { entries, empty: String::new() }
}

/// Counts are exact.
fn count(n: u64) -> String {
    n.to_string()
}

fn fact(name: &str, text: String) -> (String, String) {
    (name.to_owned(), text)
}

fn whole(imported: &Imported) -> Entry {
    let size = |bytes: u64| number::bytes(bytes as f64);
    let mut facts = vec![
        fact("I/Os", count(imported.requests)),
        fact("reads", format!("{}, {}", count(imported.reads), size(imported.bytes_read))),
        fact("writes", format!("{}, {}", count(imported.writes), size(imported.bytes_written))),
    ];
    if imported.others > 0 {
        facts.push(fact("others", count(imported.others)));
    }
    facts.push(fact("time span", number::nanoseconds(imported.span_ns as f64)));
    facts.push(fact("resolution", number::nanoseconds(imported.resolution_ns as f64)));
    if let Some(begins) = imported.begins_unix_ns {
        facts.push(fact("begins", record::rfc3339(UnixNanos(i128::from(begins)))));
    }
    let share = |n: u64| match n {
        0 => "none".to_owned(),
        n if n == imported.requests => "all".to_owned(),
        n => count(n),
    };
    facts.push(fact("with completion", share(imported.with_completion)));
    facts.push(fact("with task", share(imported.with_task)));
    for (name, n) in [
        ("ignored rows", imported.ignored_rows),
        ("skipped rows", imported.skipped_rows),
        ("lost events", imported.lost_events),
    ] {
        if n > 0 {
            facts.push(fact(name, count(n)));
        }
    }
    if let Some(written) = &imported.written {
        facts.push(fact("written", format!("{}, {}", written.file, size(written.bytes))));
    }
    let files = match imported.files.as_slice() {
        [first, _, .., last] => {
            format!("{first} to {last}, {} files", count(imported.files.len() as u64))
        }
        files => files.join(", "),
    };
    let notes = imported.faults.iter().map(|fault| (Tone::Bad, fault.clone())).collect();
    Entry {
        title: format!("drivescope trace import: {files}"),
        summary: imported.format.clone(),
        facts,
        notes,
        leads: false,
    }
}

fn settled(imported: &Imported) -> Entry {
    Entry {
        title: "how it was read".to_owned(),
        summary: String::new(),
        facts: Vec::new(),
        notes: imported.settled.iter().map(|said| (Tone::Good, said.clone())).collect(),
        leads: false,
    }
}

/// The busiest address spaces.
fn spaces(imported: &Imported) -> Entry {
    let mut spaces: Vec<_> = imported.spaces.iter().collect();
    spaces.sort_by_key(|space| std::cmp::Reverse(space.requests));
    let mut facts: Vec<_> = spaces
        .iter()
        .take(SPACES)
        .map(|space| {
            let end = number::bytes(space.end_bytes as f64);
            fact(&space.name, format!("{} I/Os, up to {end}", count(space.requests)))
        })
        .collect();
    if spaces.len() > SPACES {
        let rest: u64 = spaces[SPACES..].iter().map(|space| space.requests).sum();
        let others = spaces.len() - SPACES;
        facts.push(fact(&format!("{others} others"), format!("{} I/Os", count(rest))));
    }
    Entry {
        title: "address spaces".to_owned(),
        summary: count(imported.spaces.len() as u64),
        facts,
        notes: Vec::new(),
        leads: false,
    }
}
