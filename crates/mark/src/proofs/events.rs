//! Verdicts that the kernel's block events at the leaves decide: each request has an address there, so what others move
//! elsewhere on the device does not count.

use block::{Bytes, LeafEvents, Medium, Op};
use stats::{Proof, Verdict};

use super::ratios::{RATIO, TASK_MIN, between, through_cache};
use super::{Case, below, growth, percent};

/// Events of one direction over all counted runs.
#[derive(Clone, Copy, Debug)]
struct Seen {
    bytes: Bytes,
    issued: Bytes,
    /// For each byte issued.
    ratio: f64,
    lost: u64,
    /// True when these are the places of the measured part alone.
    is_mapped: bool,
    /// True when those places changed between two looks.
    moved: bool,
}

impl Seen {
    /// `None` where some counted run was made without events.
    fn of(case: &Case<'_>, op: Op, issued: Bytes) -> Option<Seen> {
        let sum = |of: fn(&LeafEvents) -> u64| growth(case, |s| s.leaf_events.as_ref().map(of));
        let bytes = match op {
            Op::Read => sum(|events| events.read_bytes.0)?,
            _ => sum(|events| events.write_bytes.0)?,
        };
        let after = || case.runs().iter().filter_map(|run| run.after.leaf_events);
        Some(Seen {
            bytes: Bytes(bytes),
            issued,
            ratio: bytes as f64 / issued.0.max(1) as f64,
            lost: sum(|events| events.lost)?,
            is_mapped: after().all(|events| events.is_mapped),
            moved: after().any(|events| events.moves > 0),
        })
    }
}

/// The verdict of counters and charge, settled by events where there are any. `charged` is what the kernel charged to this
/// process for each byte, counted once; `expected` what the layers make of a byte, least and most.
pub(super) fn settle(
    case: &Case<'_>,
    op: Op,
    issued: Bytes,
    proof: Proof,
    charged: Option<f64>,
    expected: (f64, f64),
) -> Proof {
    let Some(seen) = Seen::of(case, op, issued).filter(|_| issued > Bytes::ZERO) else {
        return proof;
    };
    let proof = match decide(case, op, seen, &proof, charged, expected) {
        Some((verdict, reason)) => {
            Proof { evidence: proof.evidence, ..Proof::new(verdict, reason) }
        }
        None => proof,
    };
    let kind = if op == Op::Read { "read" } else { "write" };
    let proof = proof
        .with(&format!("events_{kind}_bytes"), seen.bytes.0)
        .with(&format!("events_{kind}_ratio"), seen.ratio);
    if seen.lost > 0 { proof.with("events_lost", seen.lost) } else { proof }
}

/// `None` where the events do not say more than is known.
fn decide(
    case: &Case<'_>,
    op: Op,
    seen: Seen,
    proof: &Proof,
    charged: Option<f64>,
    (least, most): (f64, f64),
) -> Option<(Verdict, String)> {
    let verb = if op == Op::Read { "read" } else { "written" };
    let leaves: Vec<&str> = case.stack.leaves.iter().map(|leaf| leaf.name.as_str()).collect();
    let at = leaves.join(", ");
    let is_device = case.stack.leaves.iter().all(|leaf| leaf.medium == Medium::Device);
    if proof.verdict == Verdict::Refuted || !is_device {
        return None;
    }
    if seen.ratio < *RATIO.start() {
        // A journal of data has them at other places first. Too little may have been seen as well.
        let elsewhere = op == Op::Write && below::journals_data(case);
        let complete = seen.lost == 0 && !seen.moved && !elsewhere;
        return complete.then(|| {
            let missing = percent(1.0 - seen.ratio);
            let seen = format!(
                "{missing} of the bytes {verb} never came to their places on {at}, as the kernel's block events show"
            );
            let reason = match below::page_cache(case) {
                Some((_, cache)) => format!("{}; {seen}", between(cache)),
                None => format!("{seen}: a layer above kept or served them"),
            };
            (Verdict::Refuted, reason)
        });
    }
    let is_settled = proof.verdict == Verdict::Proven || below::is_packed(case, op);
    if is_settled || seen.ratio < *RATIO.start() * least {
        return None;
    }
    let counted =
        format!("the kernel's block events on {at} show {:.3} bytes for each", seen.ratio);
    if below::page_cache(case).is_some() {
        // Only what had to be durable waited for the device.
        let waited = op == Op::Write && case.all_durable(op) && seen.is_mapped;
        return waited.then(|| {
            let reason =
                format!("{counted} byte written, in its own places, and each write was durable");
            (Verdict::Proven, reason)
        });
    }
    if through_cache(case, op, seen.issued).is_some() || below::lacks_data(case, op) {
        return None;
    }
    let ours = charged.is_none_or(|charged| op == Op::Write || charged >= TASK_MIN);
    if seen.is_mapped && ours {
        return Some((Verdict::Proven, format!("{counted} byte {verb}, in its own places")));
    }
    // If the part may lie anywhere in those files, total and charge have to show that no other process did the I/O.
    let alone = seen.ratio <= *RATIO.end() * most && charged.is_some_and(|c| RATIO.contains(&c));
    (alone && !seen.is_mapped).then(|| {
        let reason = format!(
            "{counted} byte {verb}, in the files underneath, and the kernel charged them to this process"
        );
        (Verdict::Proven, reason)
    })
}
