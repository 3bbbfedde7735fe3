//! Results of others and what can be shown of them, for people.

use pts::judge::{Figure, Judged};
use report::{Entry, Listing, Tone, number};
use stats::Verdict;
use stats::steady::State;

use crate::remedies;

type Facts = Vec<(String, String)>;
type Notes = Vec<(Tone, String)>;

/// Lays out `results`.
pub fn listing(results: &[Judged]) -> Listing {
    let entries = results.iter().map(entry).collect();
    Listing { entries, empty: "There is no result in the files.".to_owned() }
}

fn entry(judged: &Judged) -> Entry {
    let recorded = &judged.recorded;
    let mut facts = Facts::new();
    let mut add = |name: &str, value: String| facts.push((name.to_owned(), value));
    add("from", files(&recorded.files));
    add("load", recorded.load.words.clone());
    let figures: Vec<String> = recorded.figures.iter().map(figure).collect();
    if !figures.is_empty() {
        add("reported", figures.join("; "));
    }
    if let Some(written) = recorded.written_bytes {
        let range =
            recorded.range_bytes.map(|bytes| format!(", over {}", number::bytes(bytes as f64)));
        add("written", number::bytes(written as f64) + &range.unwrap_or_default());
    }
    if let Some(series) = &recorded.series {
        let length: u64 = series.windows.iter().map(|window| window.duration_ns).sum();
        let threads = if series.threads > 1 {
            format!(", {} threads", series.threads)
        } else {
            String::new()
        };
        let windows = series.windows.len();
        add(
            "series",
            format!(
                "{}: {windows} windows, {}{threads}",
                series.source,
                number::nanoseconds(length as f64)
            ),
        );
    }
    for rule in &judged.rules {
        add(rule.rule.words(), format!("{}: {}", rule_word(rule.says.verdict), rule.says.reason));
    }
    let included = match judged.transient.included {
        Some(true) => "in the figure",
        Some(false) => "not in the figure",
        None => "not known",
    };
    add("way there", format!("{included}: {}", judged.transient.reason));
    Entry {
        title: recorded.name.clone(),
        summary: recorded
            .tool_version
            .clone()
            .unwrap_or_else(|| recorded.format.words().to_owned()),
        facts,
        notes: notes(judged),
        leads: false,
    }
}

fn files(files: &[String]) -> String {
    match files {
        [] => "–".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

fn figure(figure: &Figure) -> String {
    let value = match figure.unit {
        "ns" => number::nanoseconds(figure.value),
        "B/s" => format!("{}/s", number::bytes(figure.value)),
        unit => format!("{} {unit}", number::digits(figure.value)),
    };
    format!("{} {value}", figure.name)
}

fn rule_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Proven => "yes",
        Verdict::Refuted => "no",
        Verdict::Unprovable => "cannot say",
    }
}

fn notes(judged: &Judged) -> Notes {
    let caveat = |caveat: &stats::Caveat| {
        (Tone::Mixed, format!("{} → {}", caveat.cause, remedies::sentence(caveat)))
    };
    let mut notes: Notes = judged.recorded.caveats.iter().map(caveat).collect();
    let (tone, word) = match (judged.steady.verdict, judged.state) {
        (Verdict::Proven, _) => (Tone::Good, "steady"),
        (Verdict::Refuted, Some(State::Drifting)) => (Tone::Bad, "not steady, drifting"),
        (Verdict::Refuted, Some(State::Stepped)) => (Tone::Bad, "not steady, stepped"),
        (Verdict::Refuted, Some(State::Throttled)) => (Tone::Bad, "not steady, throttled"),
        (Verdict::Refuted, Some(State::Telegraph)) => (Tone::Bad, "not steady, telegraph-like"),
        (Verdict::Refuted, Some(State::Periodic)) => (Tone::Mixed, "periodic"),
        (Verdict::Refuted, _) => (Tone::Bad, "not steady"),
        (Verdict::Unprovable, _) => (Tone::Mixed, "inconclusive"),
    };
    let remedy = judged.remedy.as_ref().map(remedies::words);
    let remedy = remedy.map_or(String::new(), |remedy| format!(" → {remedy}"));
    notes.push((tone, format!("{word}: {}{remedy}", judged.steady.reason)));
    notes
}
