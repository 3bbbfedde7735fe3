//! A survey as a page.

use block::Bytes;
use probe::Verdict;
use probe::advice::Subject;
use record::RunId;
use report::{Answer, Answers, Entry, Listing, Said, Style, Styled, Tone, number};
use stats::Assessment;
use survey::body::{Body, LeftOut};
use survey::parts::Sort;
use survey::{Conclusion, Topic, Value};

use survey::plan::Planned;

/// Lays out `body`, whose parts are the runs `parts` where they are recorded.
pub fn answers(body: &Body, parts: &[RunId]) -> Answers {
    let (closing, tone) = closing(body);
    let warning = warning(body);
    let mut advice: Vec<_> = body.conclusions.iter().flat_map(|said| &said.advice).collect();
    // The partition comes before what is made in it.
    advice.sort_by_key(|advice| advice.topic != Subject::Capacity);
    Answers {
        title: format!("drivescope survey: {}", super::subject(&body.target, &body.stack)),
        tone: if warning.is_some() { Tone::Bad } else { tone },
        warning,
        facts: facts(body),
        answers: body.conclusions.iter().map(answer).collect(),
        remarks: remarks(body, parts),
        advice: advice.into_iter().map(super::probe::to_do).collect(),
        caveats: crate::remedies::written(&body.caveats),
        closing,
    }
}

/// The result in one line, for a list of runs.
pub fn headline(body: &Body) -> String {
    if let Some(warning) = warning(body) {
        return warning;
    }
    let of = |topic| {
        let said = body.conclusions.iter().find(|said| said.topic == topic)?;
        Some(format!("{} {}", name(topic), value(said)?))
    };
    let kind = body.conclusions.iter().find(|said| said.topic == Topic::DriveKind).and_then(value);
    let rates =
        [Topic::SequentialRead, Topic::RandomRead, Topic::EraseBlock].into_iter().filter_map(of);
    let parts: Vec<String> = kind.into_iter().chain(rates).collect();
    if parts.is_empty() { "nothing concluded".to_owned() } else { parts.join(", ") }
}

/// The gravest conclusion against the drive, in one sentence.
pub fn warning(body: &Body) -> Option<String> {
    let bad = body.conclusions.iter().filter(|said| said.assessment == Assessment::Bad);
    let said = bad.min_by_key(|said| match said.topic {
        Topic::RealCapacity => 0,
        Topic::Health => 1,
        Topic::Trust => 3,
        _ => 2,
    })?;
    Some(match (said.topic, &said.value) {
        (Topic::RealCapacity, Some(Value::Number(found))) => {
            super::probe::counterfeit(Bytes(found.value as u64), body.target.capacity_bytes)
        }
        (Topic::RealCapacity, None) => format!("COUNTERFEIT: {}", said.statement),
        (topic, _) => format!("{}: {}", name(topic).to_uppercase(), said.statement),
    })
}

fn facts(body: &Body) -> Vec<String> {
    let setup = &body.setup;
    let writes = match (setup.may_write, body.sort) {
        (true, _) => "writing is allowed",
        (false, Sort::Directory) => "in a test file of its own, which is removed",
        (false, _) => "only reading is allowed",
    };
    let size = number::bytes(body.target.capacity_bytes.0 as f64);
    let size =
        if body.target.capacity_bytes == Bytes::ZERO { String::new() } else { format!("{size}; ") };
    let mut facts: Vec<String> = body.chosen.iter().map(|why| format!("{why}.")).collect();
    facts.push(format!("{size}{writes}; seed {}", setup.seed));
    facts
}

fn answer(said: &Conclusion) -> Answer {
    Answer {
        name: name(said.topic).to_owned(),
        said: match (said.verdict, &said.value) {
            (Verdict::Found, Some(Value::Number(quantity))) => {
                match word(said.topic, quantity.value) {
                    Some(word) => Said::Word(word),
                    None => Said::Value(*quantity),
                }
            }
            (Verdict::Found, Some(Value::Word(word))) => Said::Word(match word.as_str() {
                _ if said.topic != Topic::Trust => word.clone(),
                "yes" => "good".to_owned(),
                "no" => "poor".to_owned(),
                _ => "mixed".to_owned(),
            }),
            (Verdict::None, _) => Said::None,
            _ => Said::Unknown,
        },
        confidence: said.confidence,
        reason: format!("{}.", said.statement),
        assessment: said.assessment,
        is_provisional: said.provisional,
    }
}

/// Values whose column has no head to name their unit.
fn word(topic: Topic, value: f64) -> Option<String> {
    match topic {
        Topic::SequentialRead | Topic::SequentialWrite => {
            Some(format!("{} MB/s", number::digits(value)))
        }
        Topic::RandomRead | Topic::RandomWrite | Topic::SteadyWrite => {
            Some(format!("{}/s", number::thousands(value)))
        }
        Topic::Rotation => Some(format!("{value:.0} rpm")),
        Topic::QueueDepth => Some(format!("× {}", number::digits(value))),
        Topic::OverProvisioning | Topic::OuterToInner => Some(number::share(value)),
        _ => None,
    }
}

fn value(said: &Conclusion) -> Option<String> {
    match said.value.as_ref()? {
        Value::Word(word) => Some(word.clone()),
        Value::Number(quantity) => Some(
            word(said.topic, quantity.value)
                .unwrap_or_else(|| number::value(quantity, Style::default().rate)),
        ),
    }
}

/// Name for people.
fn name(topic: Topic) -> &'static str {
    match topic {
        Topic::DriveKind => "kind of drive",
        Topic::Rotation => "rotation",
        Topic::OuterToInner => "end to beginning",
        Topic::SlowPlaces => "slow places",
        Topic::EraseBlock => "erase block",
        Topic::Page => "page",
        Topic::OpenUnits => "open AUs, linear",
        Topic::OpenUnitsRandom => "open AUs, random",
        Topic::FatZone => "FAT zone",
        Topic::Parallelism => "served at once",
        Topic::Partitions => "partitions",
        Topic::RealCapacity => "real capacity",
        Topic::CellType => "cells",
        Topic::SlcCache => "SLC cache",
        Topic::WriteBuffer => "write buffer",
        Topic::SpeedClass => "speed classes",
        Topic::SequentialRead => "sequential read",
        Topic::SequentialWrite => "sequential write",
        Topic::RandomRead => "random read",
        Topic::RandomWrite => "random write",
        Topic::QueueDepth => "queue depth",
        Topic::LatencyTail => "slowest reads",
        Topic::SteadyWrite => "steady writes",
        Topic::OverProvisioning => "spare medium",
        Topic::Health => "health",
        Topic::Trust => "reliability",
    }
}

fn remarks(body: &Body, parts: &[RunId]) -> Vec<(String, String)> {
    let left_out = |left: &LeftOut| ("not looked at:".to_owned(), in_words(left));
    let mut remarks: Vec<(String, String)> = body.not_looked_at.iter().map(left_out).collect();
    for (part, run) in body.parts.iter().zip(parts) {
        remarks.push((format!("{}:", part.part), format!("run {run}")));
    }
    remarks
}

fn in_words(left: &LeftOut) -> String {
    let remedy =
        left.remedy.as_ref().map_or(String::new(), |remedy| format!("; to look: {remedy}"));
    format!("{}: {}{remedy}", left.what, left.why)
}

fn closing(body: &Body) -> (String, Tone) {
    let unknown = body.conclusions.iter().filter(|said| said.verdict == Verdict::Unknown).count();
    let all = body.conclusions.len();
    let parts: Vec<&str> = body.parts.iter().map(|part| part.part.as_str()).collect();
    let from =
        if parts.is_empty() { "nothing but what it says".to_owned() } else { parts.join(", ") };
    if body.interrupted {
        return (format!("Ended early, after {from}."), Tone::Bad);
    }
    let conclusions = number::counted(all - unknown, "conclusion");
    let open = number::counted(unknown, "question");
    let text = format!("{conclusions}, and {open} left open, from {from}.");
    (text, if unknown == 0 { Tone::Good } else { Tone::Mixed })
}

/// Page of a planned survey.
pub fn plan(planned: &Planned) -> Styled {
    let time = |ns: block::Nanos| format!("{} at most", number::nanoseconds(ns.0 as f64));
    let part = |part: &survey::plan::PlannedPart| {
        let time = part.time_ns.map_or("as earlier parts show".to_owned(), time);
        (part.part.to_owned(), format!("{}; {time}", part.why))
    };
    let mut facts: Vec<(String, String)> = planned.parts.iter().map(part).collect();
    facts.push(("in all".to_owned(), time(planned.time_budget_ns)));
    let writes = match planned.write_budget_bytes {
        Some(most) => format!("{} at most", number::bytes(most.0 as f64)),
        None if planned.makes_test_file => "a test file, which is removed".to_owned(),
        None => "nothing".to_owned(),
    };
    facts.push(("written".to_owned(), writes));
    facts.extend(
        planned.not_looked_at.iter().map(|left| ("not looked at".to_owned(), in_words(left))),
    );
    let entry = Entry {
        title: planned.target.clone(),
        summary: planned.chosen.clone().unwrap_or_default(),
        facts,
        notes: Vec::new(),
        leads: false,
    };
    report::render_listing(
        &Listing { entries: vec![entry], empty: String::new() },
        Style::default(),
    )
}
