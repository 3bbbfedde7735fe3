//! A purge for people.

use block::Bytes;
use documents::purge::{Body, DriveReport, Outcome, verdict_words};
use linux::purge::Status;
use linux::purge::read_back::Verdict;
use report::{Entry, Listing, Tone, number};

use super::health::sanitize_words;
use super::remedies;

type Facts = Vec<(String, String)>;
type Notes = Vec<(Tone, String)>;

/// Listing of the methods on offer, the outcome and its verification.
pub fn listing(body: &Body) -> Listing {
    let mut entries = vec![offered(body)];
    entries.extend(body.outcome.as_ref().map(|outcome| done(body, outcome)));
    // A purge that failed, or kept data, comes first.
    if !body.is_good() {
        entries.reverse();
    }
    Listing { entries, empty: String::new() }
}

fn offered(body: &Body) -> Entry {
    let device = &body.device;
    let size = number::bytes(device.capacity_bytes.0 as f64);
    let summary: Vec<String> = [Some(size), device.model.clone()].into_iter().flatten().collect();
    let mut facts = Facts::new();
    facts.extend(device.serial.clone().map(|serial| ("serial".to_owned(), serial)));
    facts.push(("method".to_owned(), format!("{}, {}", body.method, body.why)));
    facts.push(("empties".to_owned(), body.blast_radius.join(", ")));
    facts.extend(others(body));
    let mut notes = Notes::new();
    if body.outcome.is_none() {
        notes.push((Tone::Mixed, "a dry run: nothing was done".to_owned()));
    }
    Entry { title: device.name.clone(), summary: summary.join(", "), facts, notes, leads: false }
}

/// The methods that were not used; those that are missing for one reason on one line.
fn others(body: &Body) -> Facts {
    let mut lines: Vec<(&str, Vec<&str>, &str)> = Vec::new();
    for capability in body.capabilities.iter().filter(|c| c.method != body.method) {
        let word = if capability.can { "also offers" } else { "not offered" };
        let (name, why) = (capability.method.word(), capability.why.as_str());
        match lines.iter_mut().find(|(known, _, reason)| (*known, *reason) == (word, why)) {
            Some((_, names, _)) => names.push(name),
            None => lines.push((word, vec![name], why)),
        }
    }
    let line = |(word, names, why): (&str, Vec<&str>, &str)| {
        (word.to_owned(), format!("{}: {why}", names.join(", ")))
    };
    lines.into_iter().map(line).collect()
}

fn done(body: &Body, outcome: &Outcome) -> Entry {
    let ended = &outcome.ended;
    let verified = &outcome.verified;
    let mut facts = Facts::new();
    facts.push(("ended".to_owned(), ended.words.clone()));
    facts.push(("took".to_owned(), number::nanoseconds(outcome.seconds * 1e9)));
    let seen = verified.read_back.as_ref().map_or("nothing was read", |seen| &seen.reason);
    facts.push(("read back".to_owned(), seen.to_owned()));
    if let (Some(before), Some(after)) = (&verified.told_before, &verified.told_after) {
        facts.extend(told(before, after));
    }
    let mut notes = Notes::new();
    if !ended.next.is_empty() {
        notes.push((Tone::Mixed, format!("to do: {}", ended.next)));
    }
    let doubt =
        |c: &stats::Caveat| (Tone::Mixed, format!("{} → {}", c.cause, remedies::sentence(c)));
    notes.extend(body.caveats.iter().map(doubt));
    let (tone, status) = match ended.status {
        Status::Done => (Tone::Good, "done"),
        Status::Failed => (Tone::Bad, "failed"),
        Status::Stopped => (Tone::Bad, "stopped before its end"),
        Status::Running => (Tone::Mixed, "not waited for: the drive is still at it"),
    };
    let tone = match (tone, outcome.verdict()) {
        (Tone::Good, Verdict::Refuted) => Tone::Bad,
        (Tone::Good, Verdict::Unprovable) => Tone::Mixed,
        (tone, _) => tone,
    };
    notes.push((tone, format!("{status}; {}", verdict_words(outcome.verdict()))));
    Entry { title: "purge".to_owned(), summary: String::new(), facts, notes, leads: true }
}

/// State that the drive reported before and after.
fn told(before: &DriveReport, after: &DriveReport) -> Facts {
    let mut facts = Facts::new();
    let bytes = |count: Bytes| number::bytes(count.0 as f64);
    if let (Some(was), Some(is)) = (before.used_bytes, after.used_bytes) {
        facts.push(("allocated".to_owned(), format!("{} before, {} now", bytes(was), bytes(is))));
    }
    if let (Some(block), Some(format)) = (after.logical_block_bytes, after.lba_format) {
        facts.push(("format".to_owned(), format!("{format}, blocks of {} bytes", block.0)));
    }
    if let Some(sanitize) = &after.sanitize {
        facts.push(("last sanitize".to_owned(), sanitize_words(sanitize.state).to_owned()));
    }
    facts
}
