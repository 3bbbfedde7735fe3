//! Verdict on a replay's bottleneck: the rule, and its basis.
//!
//! A reader of a replay compares drives by its latencies and its completion time. The verdict says whether these are
//! the drive's answer to the load that was meant. Three things decide, and each has the bound at which such a reader
//! would be misled:
//!
//! - **The replayer.** A request whose time, room and slot had come and that was issued later than the *tolerance* was
//!   held up by the replayer. By Little's law a drive that takes t for a request has rate × t outstanding, and a delay
//!   of d makes a burst of rate × d: a delay changes the load when it is not small beside t. So the tolerance is what
//!   the drive takes when nothing holds it up, the 10th percentile of Q2C, or the original's where it is known and
//!   smaller. It is at least 100 µs, within which a replayer of traces is commonly held to be on time (Buttress:
//!   Anderson and others, FAST 2004), and at most 10 ms. A higher percentile would not do: a starved replayer also
//!   sees completions late, and must not excuse itself by that. When more than 1% of the requests are so, the 99th
//!   percentile, the highest that is commonly compared, is the replayer's.
//! - **Slots.** A request that waits for a slot longer than the tolerance waits for the drive: the schedule is bent.
//!   The same 1%.
//! - **Overload.** The drive took every request on time and fell ever further behind: what latencies say
//!   then depends on how long the trace is. The same 1%, of the requests that fell into it.
//!
//! When both were material, the one that was so first is the cause: a starved replayer fetches completions late and so
//! runs out of slots, and what it made late it issues in a burst; a drive that cannot keep up holds nothing up but its
//! own slots. In one and the same slice of time it is the replayer; and it is in any case when for more than half of
//! the time some request could have been issued and was not.
//!
//! A replay without times (outstanding, afap) has no schedule to bend: there the drive sets the pace, and the replayer
//! is the limit when requests that could go stood still for more than 5% of the time, or when its submitters waited
//! for a CPU for so long, by which they saw completions late; completion times are wrong by about as much. The drive's
//! side is the limit when more than 1% found no slot: what the original had outstanding does not fit.

use std::collections::BTreeMap;

use block::Nanos;
use block::number::nanoseconds;
use stats::{Evidence, LatencyHistogram};

use super::body::Limit;
use super::lag::{Lag, Waited};
use super::overload::Overload;

/// Share of the requests from which on the 99th percentile is spoiled.
const SHARE: f64 = 0.01;

/// Share of a closed loop's time that the replayer may take: the same as where load is generated.
const LATE_SHARE: f64 = 0.05;

/// Share of the time in which a replayer that is behind is so more often than not.
const BEHIND: f64 = 0.5;

/// Ends of the tolerance where it is not named.
const TOLERANCE: (Nanos, Nanos) = (Nanos::micros(100), Nanos::millis(10));

/// Data for a verdict.
pub(super) struct Facts<'a> {
    pub timed: bool,
    pub requests: u64,
    pub own: &'a LatencyHistogram,
    pub slot: &'a LatencyHistogram,
    pub no_slot: u64,
    pub overload: Overload,
    pub lag: &'a Lag,
    pub late_share: f64,
    pub elapsed: Nanos,
    pub run_delay: Option<Nanos>,
    pub starved: Nanos,
    pub unheard: Nanos,
    pub tolerance: Nanos,
}

/// A verdict.
pub(super) struct Judgement {
    pub verdict: Limit,
    pub reason: String,
    pub evidence: BTreeMap<String, Evidence>,
}

/// The tolerance where none is named, from the 10th percentiles of Q2C in nanoseconds.
pub(super) fn tolerance(replay: u64, original: Option<u64>) -> Nanos {
    let typical = original.map_or(replay, |original| original.min(replay));
    Nanos(typical.clamp(TOLERANCE.0.0, TOLERANCE.1.0))
}

/// Judges.
pub(super) fn judge(facts: &Facts<'_>) -> Judgement {
    let tolerance = facts.tolerance;
    let (verdict, reason) = match facts.requests {
        0 => (Limit::Faithful, "nothing was to be issued".to_owned()),
        _ if facts.timed => timed(facts, tolerance),
        _ => untimed(facts),
    };
    Judgement { verdict, reason, evidence: evidence(facts, tolerance) }
}

fn share(count: u64, facts: &Facts<'_>) -> f64 {
    count as f64 / facts.requests.max(1) as f64
}

fn timed(facts: &Facts<'_>, tolerance: Nanos) -> (Limit, String) {
    let own = share(above(facts.own, tolerance), facts);
    let slot = share(above(facts.slot, tolerance), facts);
    let overload = facts.overload.request_share;
    let drive = slot > SHARE || overload > SHARE;
    if own <= SHARE && !drive {
        return (Limit::Faithful, on_time(own, facts, tolerance));
    }
    let replayer_first = || {
        let own = facts.lag.first_slice(Waited::Replayer, tolerance, SHARE);
        let slot = facts.lag.first_slice(Waited::Slot, tolerance, SHARE).filter(|_| slot > SHARE);
        let over =
            facts.overload.first_ns.filter(|_| overload > SHARE).map(|at| facts.lag.slice_of(at));
        let drive = slot.into_iter().chain(over).min();
        // Counted by powers of two, a share just above the bound may be missed: then the other one came first.
        own.is_some_and(|own| drive.is_none_or(|drive| own <= drive))
    };
    if own > SHARE && (!drive || facts.late_share > BEHIND || replayer_first()) {
        let also = if drive { "; what waited for the drive followed from that" } else { "" };
        return (Limit::ReplayerLimited, replayer_reason(own, facts, tolerance) + also);
    }
    let also = if own > SHARE { "; only then the replayer was late too" } else { "" };
    let reason = if overload > SHARE {
        format!(
            "the drive could not keep up: {} of the requests fell into a backlog that grew by {:.3} s a second, \
             up to {:.3} s{also}",
            percent(overload),
            facts.overload.growth,
            facts.overload.backlog_ns / 1e9
        )
    } else {
        format!(
            "{} of the requests waited for a slot longer than {}: the drive freed none{also}",
            percent(slot),
            nanoseconds(tolerance.0 as f64)
        )
    };
    (Limit::DriveLimited, reason)
}

fn untimed(facts: &Facts<'_>) -> (Limit, String) {
    let delay = delay_share(facts).unwrap_or(0.0);
    if facts.late_share > LATE_SHARE {
        let reason = format!(
            "for {} of the time a request could have been issued and was not",
            percent(facts.late_share)
        );
        return (Limit::ReplayerLimited, reason);
    }
    if delay > LATE_SHARE {
        let reason = format!("for {} of the time the submitters waited for a CPU", percent(delay));
        return (Limit::ReplayerLimited, reason);
    }
    let without = share(facts.no_slot, facts);
    if without > SHARE {
        let reason = format!("{} of the requests had room and found no slot", percent(without));
        return (Limit::DriveLimited, reason);
    }
    let reason = "the depth was held: requests were issued as soon as there was room for them";
    (Limit::Faithful, reason.to_owned())
}

fn on_time(own: f64, facts: &Facts<'_>, tolerance: Nanos) -> String {
    let late = above(facts.own, tolerance);
    if late == 0 {
        format!(
            "every request was issued within {} of its time, and the drive kept up",
            nanoseconds(tolerance.0 as f64)
        )
    } else {
        format!(
            "all but {} of the requests were issued within {} of their time, and the drive kept up",
            percent(own),
            nanoseconds(tolerance.0 as f64)
        )
    }
}

fn replayer_reason(own: f64, facts: &Facts<'_>, tolerance: Nanos) -> String {
    let what = format!(
        "{} of the requests were issued more than {} after their time, room and slot had come",
        percent(own),
        nanoseconds(tolerance.0 as f64)
    );
    let late = facts.late_share * facts.elapsed.0 as f64;
    let causes = [
        (facts.run_delay.map_or(0, |delay| delay.0), "the submitters waited for a CPU"),
        (facts.starved.0, "the trace was not read fast enough"),
        (facts.unheard.0, "what had happened was not taken down fast enough"),
    ];
    match causes.into_iter().max_by_key(|(span, _)| *span) {
        Some((span, cause)) if span as f64 > 0.2 * late => format!("{what}: {cause}"),
        _ => what,
    }
}

fn delay_share(facts: &Facts<'_>) -> Option<f64> {
    let delay = facts.run_delay?.0 as f64;
    (facts.elapsed.0 > 0).then(|| delay / facts.elapsed.0 as f64)
}

fn evidence(facts: &Facts<'_>, tolerance: Nanos) -> BTreeMap<String, Evidence> {
    let mut evidence = BTreeMap::new();
    let mut tell = |name: &str, value: Evidence| evidence.insert(name.to_owned(), value);
    tell("tolerance_ns", tolerance.0.into());
    tell("replayer_late_share", share(above(facts.own, tolerance), facts).into());
    tell("replayer_late_time_share", facts.late_share.into());
    if facts.timed {
        tell("slot_late_share", share(above(facts.slot, tolerance), facts).into());
        tell("overload_request_share", facts.overload.request_share.into());
        tell("overload_growth", facts.overload.growth.into());
    }
    tell("no_slot_share", share(facts.no_slot, facts).into());
    if let Some(delay) = delay_share(facts) {
        tell("run_delay_share", delay.into());
    }
    evidence
}

/// A share for a sentence.
fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// How many lie above a limit, to the 0.1% that histograms keep.
pub(super) fn above(histogram: &LatencyHistogram, limit: Nanos) -> u64 {
    histogram.iter().filter(|(ns, _)| *ns > limit.0).map(|(_, count)| count).sum()
}
