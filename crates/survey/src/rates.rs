//! Rates, what outstanding requests bring, and the slowest reads: from the quick benchmark and its proofs.

use mark::Direction;
use mark::body::{Reliability, Test};
use probe::Verdict;
use stats::{Better, Quantity, Unit, Verdict as Proof};

use crate::conclusion::{Conclusion, Topic, Value};
use crate::seen::Seen;
use crate::words::rounded;
use block::number::nanoseconds;

/// Depths at which random reads are asked, and how their tests are called.
const DEPTHS: [(u16, &str); 4] =
    [(1, "RND4K Q1T1"), (4, "RND4K Q4T1"), (16, "RND4K Q16T1"), (32, "RND4K Q32T1")];
/// Below this ratio, outstanding requests bring nothing to speak of.
const GROWS_MIN: f64 = 1.3;
/// A depth that brings this share of the best rate is deep enough.
const ENOUGH: f64 = 0.9;
/// Counted reads needed to report the 99.9th percentile.
const READS_FOR_P999: u64 = 10_000;
/// A 99th or 99.9th percentile above this multiple of the usual time is worth advice.
const LONG_TAIL: f64 = 20.0;

/// Rates by topic: test and direction.
const RATES: [(Topic, &str, Direction); 4] = [
    (Topic::SequentialRead, "SEQ1M Q8T1", Direction::Read),
    (Topic::SequentialWrite, "SEQ1M Q8T1", Direction::Write),
    (Topic::RandomRead, "RND4K Q1T1", Direction::Read),
    (Topic::RandomWrite, "RND4K Q1T1", Direction::Write),
];

pub fn conclude(seen: &Seen<'_>) -> Vec<Conclusion> {
    let rates = RATES.iter().filter_map(|(topic, name, direction)| {
        Some(rate(*topic, seen.test(name, *direction)?, &region(seen)))
    });
    rates.chain(depth(seen)).chain(tail(seen)).collect()
}

/// The part of the target that the benchmark used.
fn region(seen: &Seen<'_>) -> String {
    seen.mark.map_or(String::new(), |mark| format!("within {}", mark.setup.region_bytes.about()))
}

/// Why a number is not a property of the drive: its first proof that is refuted. A spread over runs is not such a
/// reason, for the interval shows it.
fn not_taken(test: &Test) -> Option<String> {
    let proofs = test.proofs.named();
    let refuted = proofs.iter().filter(|(_, proof)| !std::ptr::eq(*proof, &test.proofs.repeatable));
    match refuted.into_iter().find(|(_, proof)| proof.verdict == Proof::Refuted) {
        Some((name, proof)) => Some(format!("{name} is refuted: {}", proof.reason)),
        None if test.headline || test.runs.is_empty() => None,
        None => Some("in most runs no I/O finished in the measured time".to_owned()),
    }
}

/// Lists the proven and the unprovable proofs, in words.
fn proofs(test: &Test) -> String {
    let of = |verdict| {
        let all = test.proofs.named();
        let those: Vec<&str> =
            all.iter().filter(|(_, p)| p.verdict == verdict).map(|(name, _)| *name).collect();
        those.join(", ")
    };
    let part = |word: &str, names: String| match names.is_empty() {
        true => String::new(),
        false => format!("{word}: {names}"),
    };
    let parts = [part("proven", of(Proof::Proven)), part("unprovable", of(Proof::Unprovable))];
    let told: Vec<String> = parts.into_iter().filter(|text| !text.is_empty()).collect();
    format!("{} {}: {}", test.name, test.op, told.join("; "))
}

fn rate(topic: Topic, test: &Test, region: &str) -> Conclusion {
    let sequential = matches!(topic, Topic::SequentialRead | Topic::SequentialWrite);
    let (spread, unit) =
        if sequential { (&test.mb_s, Unit::MbPerS) } else { (&test.iops, Unit::Iops) };
    if let Some(why) = not_taken(test) {
        let measured = spread.median.filter(|rate| *rate > 0.0).map_or_else(
            || "a rate".to_owned(),
            |rate| format!("{} {}", rounded(rate), if sequential { "MB/s" } else { "IOPS" }),
        );
        let statement = format!("{measured} was measured, and is not taken for the drive's: {why}");
        return Conclusion::unknown(topic, statement).seen("mark", proofs(test));
    }
    let verb = if test.direction() == Some(Direction::Read) { "reads" } else { "writes" };
    let Some(quantity) = spread.quantity(unit).filter(|quantity| quantity.value > 0.0) else {
        return Conclusion::unknown(topic, "not one run of it was completed");
    };
    let quantity = to_one_io(quantity, test);
    if quantity.low == Some(0.0) {
        let high = quantity.high.map_or(String::new(), rounded);
        let unit = if sequential { "MB/s" } else { "a second" };
        let statement = format!(
            "too few I/Os finished while it was measured: between 0 and {high} {unit}, {} in the middle; a mark of its own \
             with --duration 30s shows more",
            rounded(quantity.value)
        );
        return Conclusion::unknown(topic, statement).seen("mark", proofs(test));
    }
    let between = match (quantity.low, quantity.high) {
        (Some(low), Some(high)) => format!(" ({} to {})", rounded(low), rounded(high)),
        _ => String::new(),
    };
    let value = rounded(quantity.value);
    let statement = if sequential {
        format!("it {verb} in sequence at {value} MB/s{between}, 1 MiB each, 8 at a time, {region}")
    } else {
        let each = nanoseconds(test.latency_ns.p50 as f64);
        format!(
            "it {verb} 4 KiB at random places {value} times a second{between}, one at a time, half of them within {each}, {region}"
        )
    };
    let sure = quantity.low.map(|_| quantity.confidence);
    let said = Conclusion::found(topic, statement, Value::Number(quantity), sure);
    Conclusion { provisional: test.reliability() != Reliability::Confirmed, ..said }
        .seen("mark", proofs(test))
}

/// A run counts whole I/Os: where it has few, its rate is known to one of them at either end, however well the runs
/// agree.
fn to_one_io(quantity: Quantity, test: &Test) -> Quantity {
    let fewest = test.runs.iter().map(|run| run.ios).min().unwrap_or(0).max(1);
    let off = quantity.value * 2.0 / fewest as f64;
    Quantity {
        low: quantity.low.map(|low| low.min(quantity.value - off).max(0.0)),
        high: quantity.high.map(|high| high.max(quantity.value + off)),
        ..quantity
    }
}

/// The rates at random places by depth, of tests whose rates are taken.
fn by_depth(seen: &Seen<'_>, direction: Direction) -> Vec<(u16, f64)> {
    let test = |(depth, name): &(u16, &str)| {
        let test = seen.test(name, direction).filter(|test| not_taken(test).is_none())?;
        Some((*depth, test.iops.median.filter(|iops| *iops > 0.0)?))
    };
    DEPTHS.iter().filter_map(test).collect()
}

/// How many times the rate of one request at a time the best rate is; `None` where either is not known.
pub fn growth(seen: &Seen<'_>, direction: Direction) -> Option<f64> {
    let rates = by_depth(seen, direction);
    let (_, first) = rates.first().filter(|(depth, _)| *depth == 1)?;
    let best = rates.iter().skip(1).map(|(_, iops)| *iops).reduce(f64::max)?;
    Some(best / first)
}

fn depth(seen: &Seen<'_>) -> Option<Conclusion> {
    let topic = Topic::QueueDepth;
    seen.test(DEPTHS[0].1, Direction::Read)?;
    let rates = by_depth(seen, Direction::Read);
    let Some(growth) = growth(seen, Direction::Read) else {
        return Some(Conclusion::unknown(topic, "rates at too few depths stand"));
    };
    let told = rates.iter().map(|(depth, iops)| format!("{depth}: {}", rounded(*iops)));
    let told = format!("random reads a second by depth: {}", told.collect::<Vec<_>>().join(", "));
    let best = rates.iter().map(|(_, iops)| *iops).fold(0.0, f64::max);
    let enough =
        rates.iter().find(|(_, iops)| *iops >= ENOUGH * best).map_or(1, |(depth, _)| *depth);
    let conclusion = if growth < GROWS_MIN {
        let statement = "it serves one request at a time: more outstanding ones bring nothing";
        Conclusion { verdict: Verdict::None, ..Conclusion::unknown(topic, statement) }
            .advise("waiting requests only wait longer: keep one outstanding")
    } else {
        let value = Value::Number(number(growth, Unit::Ratio));
        let statement = format!(
            "outstanding requests make random reads {} times as many; a depth of {enough} brings most of that",
            rounded(growth)
        );
        Conclusion::found(topic, statement, value, None).advise(format!(
            "programs that read at random places should keep {enough} requests outstanding"
        ))
    };
    Some(conclusion.seen("mark", told))
}

fn tail(seen: &Seen<'_>) -> Option<Conclusion> {
    let topic = Topic::LatencyTail;
    let test = seen.test("RND4K Q1T1", Direction::Read)?;
    if let Some(why) = not_taken(test) {
        return Some(Conclusion::unknown(topic, why).seen("mark", proofs(test)));
    }
    let reads: u64 = test.runs.iter().map(|run| run.ios).sum();
    let latency = &test.latency_ns;
    let (word, slow) = match reads >= READS_FOR_P999 {
        true => ("thousand", latency.p999),
        false => ("hundred", latency.p99),
    };
    if latency.p50 == 0 || reads < 100 {
        return Some(Conclusion::unknown(topic, format!("{reads} reads are too few to show it")));
    }
    let times = slow as f64 / latency.p50 as f64;
    let statement = format!(
        "one random read in a {word} takes {} or more, {} times the usual {}",
        nanoseconds(slow as f64),
        rounded(times),
        nanoseconds(latency.p50 as f64)
    );
    let value = Value::Number(number(slow as f64, Unit::Ns));
    let found = Conclusion::found(topic, statement, value, None)
        .seen("mark", format!("{reads} reads, one at a time"));
    Some(match times > LONG_TAIL {
        true => found.advise(
            "programs that wait for many reads at once feel this latency, not the usual one",
        ),
        false => found,
    })
}

/// A number of which no interval is known.
pub fn number(value: f64, unit: Unit) -> Quantity {
    Quantity {
        value,
        low: None,
        high: None,
        confidence: 0.0,
        unit,
        n: 1,
        n_effective: 1.0,
        better: Better::Neither,
    }
}
