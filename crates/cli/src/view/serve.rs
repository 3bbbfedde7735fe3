//! What a served drive has served, as a listing.

use block::{Nanos, Op};
use report::{Entry, Listing, number};
use serve::Tally;

/// Lays out what was served of the drive `title`, in `span`.
pub fn listing(title: &str, span: Nanos, tally: &Tally) -> Listing {
    let count = |op| tally.requests(op).to_string();
    let bytes = |bytes: block::Bytes| number::bytes(bytes.0 as f64);
    let late = |share| number::nanoseconds(tally.late(share).0 as f64);
    let mut facts = vec![
        ("reads", format!("{} ({})", count(Op::Read), bytes(tally.read_bytes()))),
        ("writes", format!("{} ({})", count(Op::Write), bytes(tally.write_bytes()))),
        ("flushes", count(Op::Flush)),
        ("discards", count(Op::Discard)),
        ("errors", tally.errors().to_string()),
        ("most at once", tally.outstanding_max().to_string()),
        ("content", bytes(tally.held())),
        ("replies late by", format!("{} p50, {} p99, {} max", late(0.5), late(0.99), late(1.0))),
    ];
    facts.retain(|(_, value)| value != "0");
    let entry = Entry {
        title: title.to_owned(),
        summary: format!("served for {}", number::nanoseconds(span.0 as f64)),
        facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        notes: Vec::new(),
    };
    Listing { entries: vec![entry], empty: String::new() }
}
