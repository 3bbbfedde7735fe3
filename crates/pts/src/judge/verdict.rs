//! Verdict on a result: three rules beside each other, and the answer that follows.
//!
//! The SNIA's rule and fio's count time, and a freshly purged drive is flat for minutes or hours: a pass is
//! reported, but proves nothing. The answer rests on the rule in bytes, and on it alone.

use serde::Serialize;
use stats::remedy::{Command, Values};
use stats::steady::{State, fio, snia};
use stats::{Proof, Remedy, Verdict};

use super::in_bytes;
use super::known::{Answer, Known, Transient};
use super::recorded::{Claim, FioSteadyState, Pattern, Recorded, Series};

/// Name of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleName {
    /// The SNIA's, on rounds.
    Snia,
    /// fio's `steadystate`.
    Fio,
    /// Ours, in bytes.
    InBytes,
}

impl RuleName {
    /// Its name for people.
    pub fn words(self) -> &'static str {
        match self {
            RuleName::Snia => "SNIA PTS, 5 rounds",
            RuleName::Fio => "fio steadystate",
            RuleName::InBytes => "in bytes written",
        }
    }
}

/// Finding of one rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleSays {
    /// The rule.
    pub rule: RuleName,
    /// Whether it holds, and why.
    pub says: Proof,
}

/// A result and what can be shown of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The result.
    pub recorded: Recorded,
    /// Whether the drive was in a steady state when it was measured: proven, refuted or unprovable.
    pub steady: Proof,
    /// The evidence that would prove it; `None` when it is proven.
    #[serde(skip)]
    pub remedy: Option<Remedy>,
    /// The remedy as a sentence, once it is written.
    #[serde(rename = "remedy")]
    pub sentence: Option<String>,
    /// Its code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy_code: Option<&'static str>,
    /// Its values.
    #[serde(skip_serializing_if = "Values::is_empty")]
    pub remedy_values: Values,
    /// Findings of all rules.
    pub rules: Vec<RuleSays>,
    /// Whether the figure has the way there in it.
    pub transient: Transient,
    /// State of the drive by the rule in bytes, also named in the evidence; `None` if that rule was not applied.
    #[serde(skip)]
    pub state: Option<State>,
}

/// Judges `recorded`.
pub fn judge(recorded: Recorded, known: &Known) -> Judged {
    let answer = answer(&recorded, known);
    let mut rules = vec![RuleSays { rule: RuleName::Snia, says: by_snia(&recorded) }];
    if let Some(Claim::Fio(state)) = &recorded.claim {
        rules.push(RuleSays { rule: RuleName::Fio, says: by_fio(state) });
    }
    rules.push(RuleSays { rule: RuleName::InBytes, says: answer.steady.clone() });
    Judged {
        recorded,
        steady: answer.steady,
        sentence: None,
        remedy_code: answer.remedy.as_ref().and_then(Remedy::code),
        remedy_values: answer.remedy.as_ref().map(Remedy::values).unwrap_or_default(),
        remedy: answer.remedy,
        rules,
        transient: answer.transient,
        state: answer.state,
    }
}

/// The answer: what excludes one comes first, then what is missing, then the rule in bytes.
fn answer(recorded: &Recorded, known: &Known) -> Answer {
    let has = |code: &str| recorded.caveats.iter().any(|caveat| caveat.code == code);
    if has("no_drive") {
        return Answer::unprovable(
            "no drive was measured: the engine is null",
            Command::AsynchronousIo,
        );
    }
    if recorded.load.pattern == Pattern::Replayed {
        return Answer::refuted(
            "one permutation was written again and again, which is a sequential overwrite to the drive and prepares it for \
             nothing else",
            Command::MeasureUniform,
        );
    }
    if recorded.load.pattern == Pattern::ReadsOnly {
        return Answer::unprovable(
            "reads change nothing: the state is what earlier writes left, and they are not in this result",
            Command::JudgeWrites,
        );
    }
    let no_series = recorded.series.as_ref().is_none_or(|series| series.windows.is_empty());
    if no_series && recorded.rounds.is_none() {
        return Answer::unprovable(
            "there is no time series, and a mean does not show how it came about",
            series_remedy(recorded),
        );
    }
    in_bytes::answer(recorded, known)
}

fn series_remedy(recorded: &Recorded) -> Command {
    use super::recorded::Format;
    match recorded.format {
        Format::FioJson | Format::FioLog => Command::LogBandwidth,
        Format::Ezfio => Command::JudgeLogsOfFio,
        Format::Tkperf => Command::TestWithRounds,
        Format::Diskspd | Format::DiskspdXml => Command::FioForDiskspd,
        Format::CrystalDiskMark => Command::FioForCrystaldiskmark,
        Format::FioHistLog => Command::BandwidthLogToo,
    }
}

/// Means over minutes, as PTS samples a saturation test, of what is whole.
fn minutes(series: &Series) -> Vec<f64> {
    const MINUTE_NS: u64 = 60_000_000_000;
    let mut rounds = Vec::new();
    let (mut time, mut sum) = (0_u64, 0.0);
    for window in &series.windows {
        time = time.saturating_add(window.duration_ns);
        sum += window.value * window.duration_ns as f64;
        if time >= MINUTE_NS {
            rounds.push(sum / time as f64);
            (time, sum) = (0, 0.0);
        }
    }
    rounds
}

/// The SNIA's rule on the last five rounds: those that a tool worked in, or minutes.
fn by_snia(recorded: &Recorded) -> Proof {
    let (values, what) = match (&recorded.rounds, &recorded.series) {
        (Some(rounds), _) => (rounds.values.clone(), "rounds"),
        (None, Some(series)) => (minutes(series), "minutes"),
        (None, None) => (Vec::new(), "rounds"),
    };
    let last = values.len().checked_sub(snia::WINDOW_ROUNDS).and_then(|from| values.get(from..));
    let Some(window) = last.and_then(|five| snia::Window::of(five, values.len())) else {
        return Proof::new(
            Verdict::Unprovable,
            format!(
                "there are {} {what}, and the rule looks at {}",
                values.len(),
                snia::WINDOW_ROUNDS
            ),
        )
        .with("rounds", values.len() as u64);
    };
    let share = |x: f64| 100.0 * x / window.average;
    let (verdict, words) =
        if window.passes { (Verdict::Proven, "pass") } else { (Verdict::Refuted, "do not pass") };
    let reason = format!(
        "the last {} {what} {words}: they range by {:.1}% of their mean (20% allowed) and drift by {:.1}% (10% allowed)",
        snia::WINDOW_ROUNDS,
        share(window.range),
        share(window.slope_excursion.abs())
    );
    Proof::new(verdict, reason)
        .with("average", window.average)
        .with("range", window.range)
        .with("allowed_range", window.allowed_range)
        .with("slope_excursion", window.slope_excursion)
        .with("allowed_slope_excursion", window.allowed_slope_excursion)
        .with("rounds", values.len() as u64)
}

/// fio's rule once more on the samples that it reports, with sums that do not overflow.
fn by_fio(state: &FioSteadyState) -> Proof {
    let said = if state.attained { "attained" } else { "not attained" };
    let again = again(state);
    let Some(check) = again else {
        return Proof::new(
            Verdict::Unprovable,
            format!("fio says {said}, and the samples that it looked at are not all in the file"),
        )
        .with("fio_says", state.attained);
    };
    let (verdict, words) = match (check.attained, state.attained) {
        (true, true) => (Verdict::Proven, "its samples, recomputed, say the same"),
        (false, false) => (Verdict::Refuted, "its samples, recomputed, say the same"),
        (false, true) => (Verdict::Refuted, "its samples, recomputed, are not within its limit"),
        (true, false) => (
            Verdict::Unprovable,
            "its samples, recomputed, are within its limit: it stopped for another reason",
        ),
    };
    Proof::new(verdict, format!("fio says {said}; {words}"))
        .with("fio_says", state.attained)
        .with("criterion", check.criterion)
        .with("limit", state.limit)
        .with("samples", state.samples().len() as u64)
}

fn again(state: &FioSteadyState) -> Option<fio::Check> {
    let criterion = match state.criterion.as_str() {
        "iops" => fio::Criterion::Iops,
        "iops_slope" => fio::Criterion::IopsSlope,
        "bw" => fio::Criterion::Bw,
        "bw_slope" => fio::Criterion::BwSlope,
        _ => return None,
    };
    let limit = if state.percent {
        fio::Limit::Percent(state.limit)
    } else {
        fio::Limit::Absolute(state.limit)
    };
    let samples: Vec<u64> = state.samples().iter().map(|x| x.max(0.0).round() as u64).collect();
    // A sample a second, whatever time is between them: the arithmetic has only their count.
    let window_s = u32::try_from(samples.len()).ok()?;
    if samples.len() as u64 != state.samples_count() {
        return None;
    }
    let settings = fio::Settings::new(fio::Version::V3_33, criterion, limit, window_s);
    fio::judge(settings, &samples)?.last
}
