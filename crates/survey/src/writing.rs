//! Steady-state write rate of the drive, and its over-provisioning.

use probe::{Name, Verdict};
use pts::body::{Body, Ours};
use stats::steady;
use stats::{Assessment, Better, Quantity, Unit};

use crate::conclusion::{Conclusion, Topic, Value};
use crate::rates::number;
use crate::seen::Seen;
use crate::words::rounded;
use block::Bytes;

/// How far what theory expects of the over-provisioning that was read off the curve may be from what the drive did.
const AGREES: f64 = 0.15;
/// Windows at the beginning whose rate is that of a fresh drive.
const FRESH_ROUNDS: usize = 5;

pub fn conclude(seen: &Seen<'_>) -> Vec<Conclusion> {
    let Some(body) = seen.wsat else { return Vec::new() };
    let Some(steady) = &body.steady else { return Vec::new() };
    let told = format!(
        "{} of random writes of 4 KiB; {}",
        Bytes(body.bytes_written).about(),
        steady.ours.reason
    );
    let rate = rate(body, &steady.ours).seen("wsat", told.clone());
    vec![rate, over_provisioning(seen, body, &steady.ours).seen("wsat", told)]
}

fn rate(body: &Body, ours: &Ours) -> Conclusion {
    let topic = Topic::SteadyWrite;
    let Some(value) = ours.value.filter(|_| ours.verdict == steady::Verdict::Yes) else {
        let assessment = match ours.verdict == steady::Verdict::No {
            true => Assessment::Bad,
            false => Assessment::Neutral,
        };
        let when = if assessment == Assessment::Bad { "" } else { " yet" };
        return Conclusion::unknown(topic, format!("it is not steady{when}: {}", ours.reason))
            .assessed(assessment);
    };
    let quantity = Quantity {
        low: Some(value.low),
        high: Some(value.high),
        confidence: 0.95,
        better: Better::Higher,
        n: body.rounds.len(),
        n_effective: body.rounds.len() as f64,
        ..number(value.median, Unit::Iops)
    };
    let beside = fresh(body).map_or(String::new(), |fresh| {
        format!(", {}% of what it does when empty", rounded(value.median / fresh * 100.0))
    });
    let statement = format!(
        "written to at random without end, it keeps up {} writes of 4 KiB a second{beside}",
        rounded(value.median)
    );
    let said = Conclusion::found(topic, statement, Value::Number(quantity), 0.95);
    match fresh(body) {
        Some(fresh) if value.median < fresh / 2.0 => said.advise(
            "leave a part of it unpartitioned and trimmed: spare room is what keeps random writes fast",
        ),
        _ => said,
    }
}

/// The rate of a fresh drive: the median of the first rounds.
fn fresh(body: &Body) -> Option<f64> {
    let first: Vec<f64> = body.rounds.iter().take(FRESH_ROUNDS).map(|round| round.iops).collect();
    stats::median(&first).filter(|iops| first.len() == FRESH_ROUNDS && *iops > 0.0)
}

/// The bytes written when a fresh drive slows down are what its medium holds. That is its spare share only where
/// nothing else slowed it down: a part with one bit a cell ends long before, or late, and the rate that remains is not
/// the one that theory has for the share. So the share is reported only where the drive's own write amplification, or
/// its rates, agree with it.
fn over_provisioning(seen: &Seen<'_>, body: &Body, ours: &Ours) -> Conclusion {
    let topic = Topic::OverProvisioning;
    let (Some(share), Some(expected)) = (ours.over_provisioning, ours.expected_ratio) else {
        return Conclusion::unknown(topic, "where a fresh drive slows down was not seen");
    };
    if seen.finding(Name::SlcCache).is_some_and(|cache| cache.verdict == Verdict::Found) {
        return Conclusion::unknown(
            topic,
            "a part with one bit a cell hides where the medium is full",
        );
    }
    let ratio = match (body.write_amplification, ours.value.zip(fresh(body))) {
        (Some(amplification), _) => {
            Some((1.0 / amplification.median, "its own count of what it programs"))
        }
        (None, Some((steady, fresh))) => Some((steady.median / fresh, "the rate that remains")),
        (None, None) => None,
    };
    let Some((ratio, what)) = ratio.filter(|_| ours.verdict == steady::Verdict::Yes) else {
        return Conclusion::unknown(
            topic,
            "without a steady state, nothing confirms where it slowed down",
        );
    };
    if (ratio / expected - 1.0).abs() > AGREES {
        return Conclusion::unknown(
            topic,
            format!(
                "where it slowed down would mean {}%, and {what} does not agree",
                rounded(share * 100.0)
            ),
        );
    }
    // The drive slowed down somewhere within a round, and the check above confirms the share to within `AGREES` of it.
    let round = body.rounds.first().map_or(0.0, |round| round.bytes_written as f64)
        / body.setup.range_bytes.max(1) as f64;
    let off = round.max(0.01) + share * AGREES;
    let value = Quantity {
        low: Some((share - off).max(0.0)),
        high: Some(share + off),
        confidence: 0.9,
        ..number(share, Unit::Ratio)
    };
    let statement =
        format!("{}% more medium than it shows is there to work with", rounded(share * 100.0));
    Conclusion::found(topic, statement, Value::Number(value), 0.9)
}
