//! Verdict on a drive's size.

use block::Bytes;

use super::ask::SAMPLE;
use super::evidence::{Evidence, Place};
use super::stamp::SECTOR;
use crate::{Finding, Name};

/// Caveat of every verdict that only some places were asked for.
const LATE: &str = "a drive that fails only once much of it is written passes too: only writing all of it and reading \
                    it back shows that (--full)";

/// Infers the real capacity from the evidence.
pub fn infer(evidence: &Evidence) -> Finding {
    if !evidence.has_data {
        return unknown("it delivers no data to look at");
    }
    if evidence.end.is_some() {
        return ended(evidence);
    }
    if let Some(limit) = &evidence.limit {
        return unknown(format!("not all places were tried: {limit}"));
    }
    if !evidence.complete {
        return unknown("it takes the whole drive, of which only a part may be touched");
    }
    if evidence.nearest_bytes.is_some() {
        return wrapped(evidence);
    }
    let bad = evidence.samples.iter().filter(|place| !place.good).count();
    let lost = evidence.run_sectors - evidence.run_good;
    if bad > 0 || lost > 0 {
        return unknown(format!(
            "the drive is damaged: {bad} of {} places did not keep what was written, and of the last {} {} were lost",
            evidence.samples.len(),
            Bytes(evidence.run_bytes).human(),
            Bytes(lost * SECTOR).human()
        ));
    }
    genuine(evidence)
}

fn unknown(reason: impl Into<String>) -> Finding {
    Finding::unknown(Name::RealCapacity, reason)
}

/// Nothing was lost and nothing moved. A size has a confidence only where all of it was written.
fn genuine(evidence: &Evidence) -> Finding {
    let (claimed, sure) = (evidence.claimed_bytes, 1.0 - evidence.error);
    if evidence.is_whole {
        let reason = "all of it was written and read back: genuine, unless it has a cache as large as what is missing";
        return Finding::found(Name::RealCapacity, claimed, sure, reason);
    }
    let limit = match evidence.cache_limit_bytes {
        Some(0) | None => "unless it has a write cache".to_owned(),
        Some(limit) => format!(
            "unless it has a write cache of more than {}, or as large as what is missing",
            Bytes(limit).human()
        ),
    };
    let reason = format!(
        "{} places and the last {} kept what was written, and nothing was met elsewhere: genuine, {limit}; {LATE}",
        evidence.samples.len(),
        Bytes(evidence.run_bytes).human(),
    );
    Finding { confidence: None, ..Finding::found(Name::RealCapacity, claimed, sure, reason) }
}

/// Addresses wrap.
fn wrapped(evidence: &Evidence) -> Finding {
    let nearest = evidence.nearest_bytes.unwrap_or(0);
    if evidence.period_bytes != Some(nearest) || evidence.wraps != Some(true) {
        return unknown(format!(
            "the drive is not what it claims: what was written at one place was met {} away, and not always so",
            Bytes(nearest).human()
        ));
    }
    let bad = evidence.samples.iter().filter(|place| !place.good).count();
    if bad > 0 || evidence.run_good < evidence.run_sectors {
        return unknown(format!(
            "addresses wrap at {}, and of what is below {bad} places are damaged",
            Bytes(nearest).human()
        ));
    }
    let (met, written) = evidence.moved.first().copied().unwrap_or((0, nearest));
    let reason = format!(
        "the drive is a fake, its addresses wrap: what was written at byte {written} is found at byte {met}"
    );
    Finding::found(Name::RealCapacity, nearest, 1.0 - evidence.error, reason)
}

/// Judges a drive that loses data written above some place.
fn ended(evidence: &Evidence) -> Finding {
    let Some((kept, lost)) = evidence.end else { return unknown("its end was not looked for") };
    let what = match evidence.failed > 0 {
        true => "the drive is damaged or a fake: I/O fails",
        false => "the drive is a fake: what is written is lost",
    };
    if let Some(limit) = &evidence.limit {
        return unknown(format!(
            "{what} from somewhere between byte {kept} and byte {lost} on, and not all places were tried: {limit}"
        ));
    }
    // A sample across the end is lost in part.
    let is_right = |place: &Place| {
        let at = place.offset_bytes;
        place.good == (at < lost) || at < lost && lost < at + SAMPLE
    };
    if !evidence.samples.iter().all(is_right) {
        return unknown(format!(
            "the drive is damaged: what was written was lost in some places and kept in others, above and below byte \
             {lost}"
        ));
    }
    let above = evidence.samples.iter().filter(|place| place.offset_bytes >= lost).count();
    let cache = match evidence.kept_late() * SECTOR {
        0 => String::new(),
        held => format!("; a cache holds back the last {} written there", Bytes(held).human()),
    };
    let places = if above == 0 { String::new() } else { format!("at {above} places above and ") };
    let reason =
        format!("{what} from byte {lost} on, {places}at its end, and below it was kept{cache}");
    let low = kept + (lost - kept).min(SECTOR);
    Finding::found(Name::RealCapacity, lost, 1.0 - evidence.error, reason)
        .between(low.min(lost), lost)
}
