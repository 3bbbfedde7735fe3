//! Cells, and the caches in front of them: bits per cell, SLC cache, write buffer, speed classes.

use probe::advice::Subject;
use probe::speed_class::{Class, Reached};
use probe::{Name, ProbeName, Verdict};

use crate::conclusion::{Conclusion, Topic, Value};
use crate::seen::Seen;
use crate::structure::{advice, of_finding};
use block::Bytes;

pub fn conclude(seen: &Seen<'_>) -> Vec<Conclusion> {
    let is_disk = seen.target.rotational == Some(true);
    let cells = (!is_disk).then(|| [cell_type(seen), slc_cache(seen)]).into_iter().flatten();
    cells.chain([write_buffer(seen), speed_class(seen)]).flatten().collect()
}

/// Each bit of a cell is read in a time of its own, so that pages lie in as many bands as a cell has bits. One band may
/// be one bit, or a drive whose reads do not show it.
fn cell_type(seen: &Seen<'_>) -> Option<Conclusion> {
    let topic = Topic::CellType;
    let bands = seen.finding(Name::CellBands)?;
    let word = match (bands.verdict, bands.value) {
        (Verdict::Found, Some(2)) => "MLC",
        (Verdict::Found, Some(3)) => "TLC",
        (Verdict::Found, Some(4)) => "QLC",
        _ => {
            return Some(
                Conclusion::unknown(topic, bands.reason.clone())
                    .seen("probe", bands.reason.clone()),
            );
        }
    };
    let bits = bands.value.unwrap_or_default();
    let statement = format!(
        "its cells hold {bits} bits ({word}): reads of neighbouring pages take {bits} times"
    );
    let value = Value::Word(word.to_owned());
    Some(
        Conclusion::found(topic, statement, value, bands.confidence)
            .seen("probe", bands.reason.clone()),
    )
}

fn slc_cache(seen: &Seen<'_>) -> Option<Conclusion> {
    let finding = seen.finding(Name::SlcCache)?;
    let mut said = of_finding(Topic::SlcCache, finding, |value| {
        format!(
            "the first {} of a burst of writes go to cells with one bit, and are fast",
            Bytes(value).about()
        )
    });
    said.advice = advice(seen, &[Subject::Cache]);
    if finding.verdict == Verdict::None && may_have_been_full(seen) {
        let why = "what was written before may have filled it: the drive is too small to show it";
        return Some(
            Conclusion::unknown(Topic::SlcCache, why).seen("probe", finding.reason.clone()),
        );
    }
    Some(said)
}

/// True when the probes before it wrote half as much as it did itself: a part that was full from the beginning makes
/// nothing slower.
fn may_have_been_full(seen: &Seen<'_>) -> bool {
    seen.probes.iter().any(|body| {
        let at = body.probes.iter().position(|worked| worked.probe == ProbeName::SlcCache);
        at.is_some_and(|at| {
            let written = |worked: &probe::body::Worked| worked.spent.written_bytes.0;
            let before: u64 = body.probes[..at].iter().map(written).sum();
            before >= written(&body.probes[at]) / 2
        })
    })
}

fn write_buffer(seen: &Seen<'_>) -> Option<Conclusion> {
    let finding = seen.finding(Name::WriteBuffer)?;
    Some(of_finding(Topic::WriteBuffer, finding, |value| {
        format!("memory takes the first {} of a burst of writes", Bytes(value).about())
    }))
}

fn speed_class(seen: &Seen<'_>) -> Option<Conclusion> {
    let topic = Topic::SpeedClass;
    let evidence = seen.probes.iter().find_map(|body| body.evidence.speed_class.as_ref())?;
    let stated: Vec<&String> = seen.probes.iter().flat_map(|body| &body.classes).collect();
    let names = |reached: Reached| -> Vec<&str> {
        let those = evidence.classes.iter().filter(|class: &&Class| class.reached == reached);
        those.map(|class| class.name.as_str()).collect()
    };
    let (met, missed) = (names(Reached::Met), names(Reached::NotMet));
    let told = format!(
        "met: {}; not met: {}; undecided: {}",
        list(&met),
        list(&missed),
        list(&names(Reached::Undecided))
    );
    // Only what misses the slowest class is known to reach none.
    if met.is_empty() && !missed.contains(&"C2") {
        let why = match (&evidence.limit, missed.is_empty()) {
            (Some(limit), _) => limit.clone(),
            (None, true) => "no class was decided".to_owned(),
            (None, false) => {
                format!("it is too slow for {}, and slower classes are not decided", list(&missed))
            }
        };
        return Some(Conclusion::unknown(topic, why).seen("speed-class", told));
    }
    let broken: Vec<&str> = stated
        .iter()
        .filter(|name| missed.contains(&name.as_str()))
        .map(|name| name.as_str())
        .collect();
    let statement = match (broken.is_empty(), met.is_empty()) {
        (false, _) => {
            format!("it says that it is of class {}, and does not reach it", list(&broken))
        }
        (true, true) => "it reaches no speed class that was asked".to_owned(),
        (true, false) => format!("it reaches the speeds of the classes {}", list(&met)),
    };
    let value = Value::Word(list(&met));
    Some(Conclusion::found(topic, statement, value, 0.95).seen("speed-class", told))
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
