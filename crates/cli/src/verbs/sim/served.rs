//! Listing of the I/O that a served drive has handled.

use block::{Nanos, Op};
use report::{Entry, Listing, number};
use serve::Tally;

/// Lays out what was served of the drive `title`, in `span`.
pub fn listing(title: &str, span: Nanos, tally: &Tally) -> Listing {
    let bytes = |bytes: block::Bytes| number::bytes(bytes.0 as f64);
    let late = |share| number::nanoseconds(tally.late(share).0 as f64);
    let moved = |op, moved| format!("{} ({})", tally.requests(op), bytes(moved));
    let [reads, writes, flushes, discards] =
        [Op::Read, Op::Write, Op::Flush, Op::Discard].map(|op| tally.requests(op));
    let total = reads + writes + flushes + discards;
    // Zero counts are left out, and so is the lateness if there were no requests.
    let facts = [
        (reads, "reads", moved(Op::Read, tally.read_bytes())),
        (writes, "writes", moved(Op::Write, tally.write_bytes())),
        (flushes, "flushes", flushes.to_string()),
        (discards, "discards", discards.to_string()),
        (tally.errors(), "errors", tally.errors().to_string()),
        (total, "most at once", tally.outstanding_max().to_string()),
        (tally.held().0, "content", bytes(tally.held())),
        (
            total,
            "replies late by",
            format!("{} p50, {} p99, {} max", late(0.5), late(0.99), late(1.0)),
        ),
    ];
    let facts = facts.into_iter().filter(|(count, ..)| *count > 0);
    let served = format!("served for {}", number::nanoseconds(span.0 as f64));
    let entry = Entry {
        title: title.to_owned(),
        summary: if total == 0 {
            format!("{served}, and nobody asked it for anything")
        } else {
            served
        },
        facts: facts.map(|(_, name, value)| (name.to_owned(), value)).collect(),
        notes: Vec::new(),
        leads: false,
    };
    Listing { entries: vec![entry], empty: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when an idle drive's replies are listed as punctual to the nanosecond.
    #[test]
    fn of_a_drive_that_served_nobody_no_figure_is_told() {
        let listing = listing("sim:usb-8m", Nanos::secs(2), &Tally::default());
        assert!(listing.entries[0].facts.is_empty(), "{:?}", listing.entries[0].facts);
        assert!(listing.entries[0].summary.contains("nobody asked"));
    }
}
