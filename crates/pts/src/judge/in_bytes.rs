//! The rule in bytes ([`stats::steady::Detector`]), and what it needs to know.

use stats::remedy::Command;
use stats::steady::{Detector, Judgement, Level, Prior, Span, State};
use stats::verdict::Evidence;
use stats::{Proof, Remedy, Verdict};

use super::known::{Answer, Known, Start, Transient};
use super::recorded::{Pattern, Recorded, Window};

/// More than any drive is written in its life: larger counts of bytes are not believed.
const BYTES_MAX: u64 = 1 << 60;

/// Size of the drive, and whether it was given or only inferred.
struct Drive {
    bytes: u64,
    is_told: bool,
}

/// Answer of the rule in bytes for `recorded`.
pub(super) fn answer(recorded: &Recorded, known: &Known) -> Answer {
    let Some(spans) = spans(recorded) else {
        return Answer::unprovable(
            "the series does not record how many bytes were written, and a drive's state depends on bytes, not on time",
            Command::BandwidthLogOrJson,
        );
    };
    let drive = drive(recorded, known, &spans);
    let prior = prior(recorded, known, &drive);
    let Some(judgement) = prior.as_ref().and_then(|prior| judged(prior, &spans)) else {
        return Answer::unprovable(
            "the bytes written, the capacity or the over-provisioning make no sense",
            Command::CheckSizes,
        );
    };
    let answer = of_judgement(recorded, known, &drive, &spans, &judgement);
    with_evidence(answer, known, &drive, &spans, &judgement)
}

/// The series as the detector takes it, after what was written before it; `None` when bytes are not known.
fn spans(recorded: &Recorded) -> Option<Vec<Span>> {
    let mut spans = Vec::new();
    let skipped = recorded.series.as_ref().map_or(0, |series| series.skipped_bytes);
    let before = recorded.before.written_bytes.saturating_add(skipped);
    if before > 0 {
        spans.push(span(before, 0, f64::NAN));
    }
    if let Some(series) = &recorded.series {
        for window in &series.windows {
            spans.push(span(window.written_bytes?, window.duration_ns, window.value));
        }
    } else {
        let rounds = recorded.rounds.as_ref()?;
        let bytes = rounds.written_bytes.as_ref()?;
        // A round has many cells, and none of them gives its length: one second each, since only the order counts.
        let one = |(value, bytes): (&f64, &u64)| span(*bytes, 1_000_000_000, *value);
        spans.extend(rounds.values.iter().zip(bytes).map(one));
    }
    Some(spans)
}

fn span(bytes_written: u64, duration_ns: u64, value: f64) -> Span {
    Span { bytes_written, duration_ns, value, amplification: None, disturbed: false, idle_ns: 0 }
}

fn total(spans: &[Span]) -> u64 {
    spans.iter().fold(0, |sum, span| sum.saturating_add(span.bytes_written))
}

/// How large the drive is: what the user says, what the file says, and else at least what was addressed.
fn drive(recorded: &Recorded, known: &Known, spans: &[Span]) -> Drive {
    let range = recorded.range_bytes;
    let told = known.drive_bytes.or(recorded.drive_bytes);
    let told = told.or(range.filter(|_| known.range_is_drive));
    Drive { bytes: told.or(range).unwrap_or_else(|| total(spans).max(1)), is_told: told.is_some() }
}

fn prior(recorded: &Recorded, known: &Known, drive: &Drive) -> Option<Prior> {
    let range = recorded.range_bytes.unwrap_or(drive.bytes).min(drive.bytes);
    let start = match (known.start, recorded.before.filled) {
        (Start::Filled, _) | (Start::Unknown, true) => stats::steady::Start::SequentialFill,
        (Start::Purged, _) => stats::steady::Start::Purged,
        (Start::Unknown, false) => stats::steady::Start::Unknown,
    };
    let mut prior = Prior::new(range, start);
    // The rest of a drive is spare space of the range that is written.
    let of_range =
        |share: f64| ((1.0 + share) * drive.bytes as f64 - range as f64) / range.max(1) as f64;
    prior.over_provisioning = known.over_provisioning.map(of_range);
    prior.over_provisioning_range = prior.over_provisioning_range.map(of_range);
    prior.uniform_random = is_uniform(recorded, known);
    prior.is_valid().then_some(prior)
}

/// Of what may be uniform the detector asks more, so that only what is known to be something else is not.
fn is_uniform(recorded: &Recorded, known: &Known) -> bool {
    known.is_uniform
        || !matches!(recorded.load.pattern, Pattern::Sequential | Pattern::Permutations)
}

fn judged(prior: &Prior, spans: &[Span]) -> Option<Judgement> {
    if total(spans).max(prior.range_bytes) > BYTES_MAX {
        return None;
    }
    let mut detector = Detector::new(*prior)?;
    for span in spans {
        detector.push(span);
    }
    detector.conclude();
    Some(detector.judgement().clone())
}

fn of_judgement(
    recorded: &Recorded,
    known: &Known,
    drive: &Drive,
    spans: &[Span],
    judgement: &Judgement,
) -> Answer {
    let more = Remedy::MoreOfLoad { missing: judgement.missing.clone() };
    match (judgement.state, judgement.value) {
        (State::Steady, Some(level)) => accepted(recorded, known, drive, judgement, level),
        (State::Periodic, Some(level)) => periodic(recorded, judgement, level),
        (State::Throttled, _) => Answer::refuted(&judgement.reason, Command::RemoveHindrance),
        (state, _) if state.is_against() => Answer::refuted(&judgement.reason, more),
        (State::Fresh, _) if is_fresh_for_sure(known, drive, spans) => Answer::refuted(
            "less was written than a purged drive has free: it was measured fresh",
            more,
        ),
        _ if !drive.is_told => unknown_drive(recorded),
        _ => Answer::unprovable(&judgement.reason, more),
    }
}

/// Up and down without end: a state with a mean and a range, but not a steady one.
fn periodic(recorded: &Recorded, judgement: &Judgement, level: Level) -> Answer {
    let mut reason = judgement.reason.clone();
    if let Some([low, high]) = judgement.range {
        reason += &format!(
            "; it goes from {:.0}% to {:.0}% of its mean",
            100.0 * low / level.mean,
            100.0 * high / level.mean
        );
    }
    let mut answer = Answer::refuted(reason, Command::MeanOfPeriods);
    answer.transient = transient(recorded, &level);
    answer
}

/// Purged, and not even its capacity written since: whatever the over-provisioning is, nothing was collected.
fn is_fresh_for_sure(known: &Known, drive: &Drive, spans: &[Span]) -> bool {
    known.start == Start::Purged && drive.is_told && total(spans) < drive.bytes
}

fn unknown_drive(recorded: &Recorded) -> Answer {
    let range = recorded.range_bytes.map_or(String::new(), |bytes| {
        format!("; the {bytes} bytes that were addressed may be a part of it")
    });
    Answer::unprovable(format!("the drive's size is not recorded{range}"), Command::NameCapacity)
}

/// Answer for a series that the detector finds steady, unless other evidence contradicts it.
fn accepted(
    recorded: &Recorded,
    known: &Known,
    drive: &Drive,
    judgement: &Judgement,
    level: Level,
) -> Answer {
    if !drive.is_told {
        return unknown_drive(recorded);
    }
    let has = |code: &str| recorded.caveats.iter().any(|caveat| caveat.code == code);
    let is_told = matches!(
        recorded.load.pattern,
        Pattern::Uniform | Pattern::Sequential | Pattern::Permutations
    );
    let is_fios = recorded.load.pattern == Pattern::Random
        && recorded.format == super::Format::FioJson
        && !has("perhaps_replayed")
        && !has("each_round_the_same");
    if !(is_told || is_fios || known.is_uniform) {
        return Answer::unprovable(
            "it is flat, and which addresses were written is not recorded: one permutation written again and again is as flat, \
             with a write amplification of 1",
            Command::NameUniform,
        );
    }
    let transient = transient(recorded, &level);
    let steady = Proof::new(Verdict::Proven, judgement.reason.clone());
    Answer { steady, remedy: None, transient, state: None }
}

/// Whether what was measured before the steady part moves the mean of all by more than the steady part's own interval.
fn transient(recorded: &Recorded, level: &Level) -> Transient {
    let mean = mean_of_all(recorded);
    let Some(mean) = mean else {
        return Transient {
            included: None,
            reason: "there is no mean to compare with".to_owned(),
            steady_mean: Some(level.mean),
        };
    };
    let skipped = recorded.series.as_ref().is_some_and(|series| series.skipped_bytes > 0);
    let is_within = (level.low..=level.high).contains(&mean) && !skipped;
    let reason = if skipped {
        "the series begins after the job, whose figures are of all of it".to_owned()
    } else if is_within {
        "the mean of all is within the interval of the steady part".to_owned()
    } else {
        format!(
            "the mean of all is {:.1}% off that of the steady part: the way there is in it",
            100.0 * (mean / level.mean - 1.0)
        )
    };
    Transient { included: Some(!is_within), reason, steady_mean: Some(level.mean) }
}

/// Mean over time of the whole series, or of the rounds that were reported.
fn mean_of_all(recorded: &Recorded) -> Option<f64> {
    if let Some(series) = &recorded.series {
        let time: f64 = series.windows.iter().map(|window| window.duration_ns as f64).sum();
        let amount = |window: &Window| window.value * window.duration_ns as f64;
        let sum: f64 = series.windows.iter().map(amount).sum();
        return (time > 0.0).then_some(sum / time);
    }
    recorded.figures.first().map(|figure| figure.value)
}

/// The figures that the answer rests on.
fn with_evidence(
    mut answer: Answer,
    known: &Known,
    drive: &Drive,
    spans: &[Span],
    judgement: &Judgement,
) -> Answer {
    let written = total(spans);
    for (name, evidence) in &judgement.evidence {
        answer.steady.evidence.insert(name.clone(), evidence.clone());
    }
    let fills_of = |bytes: u64| bytes as f64 / drive.bytes.max(1) as f64;
    let mut tell = |name: &str, evidence: Evidence| {
        answer.steady.evidence.insert(name.to_owned(), evidence);
    };
    tell("state", judgement.state.as_str().into());
    answer.state = Some(judgement.state);
    if let Some(end) = judgement.end {
        tell("level_last_fill", end.mean.into());
        tell("level_last_fill_bounds", [end.low, end.high].into());
    }
    if let Some(range) = judgement.range {
        tell("level_range", range.into());
    }
    if let Some(plateau) = judgement.earlier {
        tell("earlier_level", plateau.mean.into());
        tell("earlier_fills", [fills_of(plateau.from_bytes), fills_of(plateau.to_bytes)].into());
    }
    if let Some(missing) = &judgement.missing {
        tell("missing", missing.as_str().into());
    }
    if judgement.verdict == stats::steady::Verdict::Yes {
        tell("verdict_fills", fills_of(judgement.at_bytes).into());
        tell("verdict_bytes", judgement.at_bytes.into());
        tell("verdict_seconds", seconds_until(spans, judgement.at_bytes).into());
    }
    answer.steady = answer.steady.with("written_bytes", written);
    if drive.is_told {
        let fills = written as f64 / drive.bytes.max(1) as f64;
        answer.steady = answer.steady.with("drive_bytes", drive.bytes).with("fills", fills);
    }
    if let Some(share) = known.over_provisioning {
        answer.steady = answer.steady.with("over_provisioning", share);
    }
    answer
}

/// Seconds until `bytes` had been written.
fn seconds_until(spans: &[Span], bytes: u64) -> f64 {
    let (mut written, mut time) = (0_u64, 0_u64);
    for span in spans {
        if written >= bytes {
            break;
        }
        written = written.saturating_add(span.bytes_written);
        time = time.saturating_add(span.duration_ns);
    }
    time as f64 / 1e9
}
