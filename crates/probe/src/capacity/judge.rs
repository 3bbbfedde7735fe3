//! What stamps say of a drive's size.

use block::Bytes;

use super::Evidence;
use crate::{Finding, Name};

/// What the evidence says.
pub fn infer(evidence: &Evidence) -> Finding {
    let unknown = |reason: String| Finding::unknown(Name::RealCapacity, reason);
    let claimed = Bytes(evidence.claimed_bytes);
    if !evidence.has_data {
        return unknown("it delivers no data to look at".to_owned());
    }
    if let Some(limit) = &evidence.limit {
        return unknown(format!("not all places were tried: {limit}"));
    }
    if !evidence.complete {
        return unknown("it takes the whole drive, of which only a part may be touched".to_owned());
    }
    if evidence.nearest_bytes.is_some() {
        return wrapped(evidence);
    }
    if let Some((kept, lost)) = evidence.end {
        return ended(evidence, kept, lost);
    }
    let bad = evidence.samples.iter().filter(|place| !place.good).count();
    if bad > 0 {
        return unknown(format!(
            "the drive is damaged: {bad} of {} places did not keep what was written, and its end did",
            evidence.samples.len()
        ));
    }
    let reason = format!(
        "all of {} places and the last {} kept what was written, and nothing was met elsewhere: less than {:.1} % of \
         it is bad",
        evidence.samples.len(),
        Bytes(evidence.run_bytes),
        100.0 * evidence.bad_share
    );
    Finding::found(Name::RealCapacity, claimed.0, 1.0 - evidence.error, reason)
}

/// Addresses wrap.
fn wrapped(evidence: &Evidence) -> Finding {
    let nearest = evidence.nearest_bytes.unwrap_or(0);
    if evidence.period_bytes != Some(nearest) || evidence.wraps != Some(true) {
        return Finding::unknown(
            Name::RealCapacity,
            format!(
                "the drive is not what it claims: what was written at one place was met {} away, and not always so",
                Bytes(nearest)
            ),
        );
    }
    let below = evidence.samples.iter().filter(|p| p.offset_bytes < nearest && !p.good).count();
    let (met, written) = evidence.moved.first().copied().unwrap_or((0, nearest));
    let aliases = evidence.moved.iter().filter(|(met, _)| *met < nearest).count();
    if below > aliases {
        return Finding::unknown(
            Name::RealCapacity,
            format!(
                "addresses wrap at {}, and of what is below {below} places are damaged",
                Bytes(nearest)
            ),
        );
    }
    Finding::found(
        Name::RealCapacity,
        nearest,
        1.0 - evidence.error,
        format!(
            "the drive is a fake, its addresses wrap: what was written at byte {written} is found at byte {met}"
        ),
    )
}

/// What is written above some place is lost.
fn ended(evidence: &Evidence, kept: u64, lost: u64) -> Finding {
    let wrong = evidence.samples.iter().filter(|place| place.good != (place.offset_bytes < lost));
    let count = wrong.count();
    if count > 0 || evidence.run_good > 0 {
        return Finding::unknown(
            Name::RealCapacity,
            format!(
                "the drive is damaged: what was written was lost in some places and kept in others, above and below \
                 byte {lost}"
            ),
        );
    }
    let above = evidence.samples.iter().filter(|place| place.offset_bytes >= lost).count();
    let reason = format!(
        "the drive is a fake: what was written at byte {lost}, at {above} places above and at its end was lost, and \
         below it was kept"
    );
    let low = kept + (lost - kept).min(super::SECTOR);
    Finding::found(Name::RealCapacity, lost, 1.0 - evidence.error, reason)
        .between(low.min(lost), lost)
}
