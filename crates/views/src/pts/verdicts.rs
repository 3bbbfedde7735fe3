//! Steady or not, by three rules side by side, with the reason of each.

use pts::body::{Body, Ours, RuleVerdict, Steady};
use report::{Tone, number};
use stats::steady::{self, State};
use stats::{Lenient, Unit};

/// Verdict of one rule.
pub struct Verdict {
    /// Name of the rule.
    pub rule: &'static str,
    /// The verdict in a word or two.
    pub word: String,
    /// Tone of the verdict.
    pub tone: Tone,
    /// Round or time at which it was reached.
    pub at: String,
    /// The value that the rule would have reported.
    pub value: String,
    /// Reason, in a sentence without a full stop; may be empty.
    pub reason: String,
}

/// The three rules, that of the specification first; empty where the test has none.
pub fn of(body: &Body) -> Vec<Verdict> {
    let Some(steady) = &body.steady else { return Vec::new() };
    vec![pts(steady), fio(steady), ours(steady, body)]
}

/// A state in words.
pub fn state_words(state: State) -> &'static str {
    match state {
        State::NeverSteady => "never steady",
        State::Telegraph => "telegraph-like",
        state => state.as_str(),
    }
}

/// Tone of the specification's rule and of fio's; a word that this version does not know speaks for nothing.
fn tone(verdict: &Lenient<RuleVerdict>) -> Tone {
    match verdict.known() {
        Some(RuleVerdict::Steady) => Tone::Good,
        Some(RuleVerdict::TooFewRounds) => Tone::Mixed,
        Some(RuleVerdict::NotSteady) | None => Tone::Bad,
    }
}

fn tone_of_ours(ours: &Ours) -> Tone {
    match ours.verdict.known() {
        _ if ours.state == State::Periodic => Tone::Mixed,
        Some(steady::Verdict::Yes) => Tone::Good,
        Some(steady::Verdict::NotYet) => Tone::Mixed,
        Some(steady::Verdict::No) | None => Tone::Bad,
    }
}

fn pts(steady: &Steady) -> Verdict {
    let pts = &steady.pts;
    let reason = pts.window.map_or_else(String::new, |window| {
        let share = |value: f64| number::share(value / window.average.abs().max(f64::MIN_POSITIVE));
        format!(
            "rounds {} to {}: values range over {} of their mean (20% allowed), the fit changes by {} (10% allowed)",
            window.first_round,
            window.first_round + 4,
            share(window.range),
            share(window.slope_excursion),
        )
    });
    Verdict {
        rule: "PTS",
        word: match pts.window {
            // Five rounds were judged, and more may come.
            Some(_) if pts.verdict == RuleVerdict::TooFewRounds => "not yet".to_owned(),
            _ => pts.verdict.text(RuleVerdict::as_str).replace('_', " "),
        },
        tone: tone(&pts.verdict),
        at: pts.round.map_or_else(String::new, |round| format!("round {round}")),
        value: pts.window.map_or_else(String::new, |w| tracked_value(steady, w.average)),
        reason,
    }
}

fn fio(steady: &Steady) -> Verdict {
    let Some(fio) = &steady.fio else {
        return Verdict {
            rule: "fio",
            word: "no answer".to_owned(),
            tone: Tone::Mixed,
            at: String::new(),
            value: String::new(),
            reason: "fewer samples than its window has".to_owned(),
        };
    };
    Verdict {
        rule: "fio",
        word: fio.verdict.text(RuleVerdict::as_str).replace('_', " "),
        tone: tone(&fio.verdict),
        at: fio.at_s.map_or_else(String::new, |at| format!("{} s", number::digits(at))),
        value: fio.value.map_or_else(String::new, iops),
        reason: fio.rule.clone(),
    }
}

fn ours(steady: &Steady, body: &Body) -> Verdict {
    let ours = &steady.ours;
    let range = body.setup.range_bytes.max(1) as f64;
    let mut reason = ours.reason.clone();
    if let (Some(op), Some(ratio)) = (ours.over_provisioning, ours.expected_ratio) {
        let told = format!(
            "the end of the fresh plateau indicates {} over-provisioning, with which theory has a steady rate of {} of the fresh one",
            number::share(op),
            number::share(ratio)
        );
        reason = if reason.is_empty() { told } else { format!("{reason}; {told}") };
    }
    Verdict {
        rule: "by bytes",
        word: ours.state.text(state_words).to_owned(),
        tone: tone_of_ours(ours),
        at: ours.at_bytes.map_or_else(String::new, |at| format!("{:.2} fills", at as f64 / range)),
        value: ours.value.map_or_else(String::new, |value| iops(value.median)),
        reason,
    }
}

/// A value of the rules by bytes and of fio's, which are of I/Os a second whatever is tracked.
fn iops(rate: f64) -> String {
    figure(Some(Unit::Iops), "", rate)
}

fn tracked_value(steady: &Steady, value: f64) -> String {
    figure(steady.unit, &steady.tracked, value)
}

/// A value of what is `tracked`, with its unit.
pub fn figure(unit: Option<Unit>, tracked: &str, value: f64) -> String {
    match unit.or_else(|| unit_of_name(tracked)) {
        Some(Unit::Ns) => number::nanoseconds(value),
        Some(Unit::MbPerS) => format!("{} MB/s", number::digits(value)),
        Some(Unit::Iops) => format!("{} IOPS", number::compact(value)),
        _ => number::compact(value),
    }
}

/// Results of older versions have the unit in the name alone.
fn unit_of_name(tracked: &str) -> Option<Unit> {
    match tracked.split_once(" of ")?.0 {
        "IOPS" => Some(Unit::Iops),
        "MB/s" => Some(Unit::MbPerS),
        "mean response time" => Some(Unit::Ns),
        _ => None,
    }
}
