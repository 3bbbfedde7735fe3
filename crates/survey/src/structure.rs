//! Structure of a flash drive, from probes: erase and program units, open units, the zone for file allocation tables,
//! parallelism, real capacity.

use probe::advice::{Advice, Subject};
use probe::{Finding, Name, Verdict};
use stats::{Assessment, Better, Quantity, Unit};

use crate::conclusion::{Conclusion, Topic, Value};
use crate::seen::Seen;
use block::Bytes;

/// The topics whose answer is that of one probe: its name, and what advice belongs to it.
const ANSWERS: [(Topic, Name, &[Subject]); 6] = [
    (
        Topic::EraseBlock,
        Name::EraseBlock,
        &[Subject::Unchecked, Subject::Partition, Subject::Ext4, Subject::F2fs],
    ),
    (Topic::Page, Name::MultiPlanePage, &[]),
    (Topic::OpenUnits, Name::OpenAuLinear, &[Subject::Streams]),
    (Topic::OpenUnitsRandom, Name::OpenAuRandom, &[]),
    (Topic::FatZone, Name::FatZone, &[Subject::Fat]),
    (Topic::RealCapacity, Name::RealCapacity, &[Subject::Capacity, Subject::Unchecked]),
];

pub fn conclude(seen: &Seen<'_>) -> Vec<Conclusion> {
    // The units of flash do not apply to a rotational disk.
    if seen.target.rotational == Some(true) {
        return Vec::new();
    }
    let answers = ANSWERS.iter().filter_map(|(topic, name, about)| {
        let (body, finding) = seen.answer(*name)?;
        let words = |value| words(*topic, value, seen);
        let mut said = of_finding(*topic, finding, words);
        // All flash is erased in blocks and programmed in pages: that none shows is not that there is none.
        if finding.verdict == Verdict::None && matches!(topic, Topic::EraseBlock | Topic::Page) {
            let why = format!("there is one, and it does not show: {}", finding.reason);
            said = Conclusion::unknown(*topic, why).seen("probe", finding.reason.clone());
        }
        said.advice = advice(seen, about);
        let bound = body.bound_in_words().filter(|_| *name == Name::RealCapacity);
        let statement = bound.unwrap_or(said.statement);
        said = Conclusion { statement, ..said };
        Some(said.assessed(body.assessment(finding)))
    });
    answers.chain(partitions(seen)).chain(parallelism(seen)).collect()
}

/// Partitions that begin within an erase block: each file then costs more than its own blocks. Of those on the grid nothing is
/// said but what is advised.
fn partitions(seen: &Seen<'_>) -> Option<Conclusion> {
    let why = seen.probes.iter().find_map(|body| body.off_grid())?;
    let word = Value::Word("off the grid".to_owned());
    let said = Conclusion::found(Topic::Partitions, why, word, None).assessed(Assessment::Bad);
    Some(said.seen("probe", why).advise("partition it again: the probe's advice has the command"))
}

/// Converts a probe's finding to a conclusion; `words` describes a value.
pub fn of_finding(topic: Topic, finding: &Finding, words: impl Fn(u64) -> String) -> Conclusion {
    let said = match (finding.verdict, finding.value) {
        (Verdict::Found, Some(value)) => Conclusion::found(
            topic,
            words(value),
            Value::Number(quantity(finding, value)),
            finding.confidence,
        ),
        (Verdict::None, _) => {
            Conclusion::none(topic, finding.reason.clone(), finding.confidence.unwrap_or(0.0))
        }
        _ => Conclusion::unknown(topic, finding.reason.clone()),
    };
    said.seen("probe", finding.reason.clone())
}

fn quantity(finding: &Finding, value: u64) -> Quantity {
    let unit = match finding.unit {
        probe::Unit::Bytes => Unit::Bytes,
        probe::Unit::Count => Unit::Count,
    };
    Quantity {
        value: value as f64,
        low: finding.low.map(|low| low as f64),
        high: finding.high.map(|high| high as f64),
        confidence: finding.confidence.unwrap_or(0.0),
        unit,
        n: 1,
        n_effective: 1.0,
        better: Better::Neither,
    }
}

fn words(topic: Topic, value: u64, seen: &Seen<'_>) -> String {
    let units = |count: u64| if count == 1 { "unit" } else { "units" };
    match topic {
        Topic::EraseBlock => format!("it erases and maps in units of {}", Bytes(value).about()),
        Topic::Page => {
            let page = seen.value(Name::Page).filter(|page| *page > 0 && *page < value);
            let planes = page.map_or(String::new(), |page| {
                format!(": pages of {} on {} planes", Bytes(page).about(), value / page)
            });
            format!("it programs {} at once{planes}", Bytes(value).about())
        }
        Topic::OpenUnits => format!(
            "{value} {} may be written in order at once; one more costs a merge each",
            units(value)
        ),
        Topic::OpenUnitsRandom if value == 0 => {
            "writing out of order closes even one unit".to_owned()
        }
        Topic::OpenUnitsRandom => {
            format!("{value} {} may be written out of order at once", units(value))
        }
        Topic::FatZone => {
            format!("its first {} are kept in another way, for small writes", Bytes(value).about())
        }
        Topic::RealCapacity if value < seen.target.capacity_bytes.0 => format!(
            "it holds {} of the {} that it states: what is written beyond is lost",
            Bytes(value).about(),
            seen.target.capacity_bytes.about()
        ),
        _ => {
            let is_sure = seen.finding(Name::RealCapacity).is_some_and(|f| f.confidence.is_some());
            let limit = if is_sure { "" } else { ", as far as samples can show" };
            format!("it holds the {} that it states{limit}", Bytes(value).about())
        }
    }
}

/// Advice of the probes on these topics. The first probe run that gave any counts: a later one that was given an erase block
/// does not know the page.
pub fn advice(seen: &Seen<'_>, about: &[Subject]) -> Vec<Advice> {
    let is_of_capacity = about.contains(&Subject::Capacity);
    let on = |topic: &Subject| {
        let of = |body: &&probe::Body| -> Vec<Advice> {
            body.advice.iter().filter(|advice| advice.topic == *topic).cloned().collect()
        };
        let asked =
            |body: &&probe::Body| !is_of_capacity || body.finding(Name::RealCapacity).is_some();
        let bodies = seen.probes.iter().copied().filter(asked);
        bodies.map(|body| of(&body)).find(|advice| !advice.is_empty())
    };
    // One partition is enough, and it ends where the drive really does.
    let is_less =
        seen.probes.iter().any(|body| body.advice.iter().any(|a| a.topic == Subject::Capacity));
    let asked = seen.finding(Name::RealCapacity);
    let is_doubted = asked.is_some_and(|finding| finding.verdict == Verdict::Unknown);
    let is_due = |topic: &&Subject| match topic {
        Subject::Partition => !is_less && !is_doubted,
        topic if topic.is_layout() => !is_doubted,
        Subject::Unchecked => asked.is_none() || is_of_capacity,
        _ => true,
    };
    about.iter().filter(is_due).filter_map(on).flatten().collect()
}

fn parallelism(seen: &Seen<'_>) -> Option<Conclusion> {
    let (interleave, chunk) = (seen.finding(Name::Interleave)?, seen.value(Name::Chunk));
    Some(of_finding(Topic::Parallelism, interleave, |value| match chunk {
        Some(chunk) => {
            format!(
                "{value} reads of {} are served at once, where they lie apart",
                Bytes(chunk).about()
            )
        }
        None => format!("{value} reads are served at once"),
    }))
}
