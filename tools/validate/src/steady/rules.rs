//! Answer of each rule about a drive, and its time.

use stats::steady::fio::{self, Criterion, Limit, Settings, Version};
use stats::steady::{Detector, Prior, Span as Told, Start, Verdict, snia};

use super::series::{Before, Case, SPANS_PER_FILL, Series};

/// A rule's answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    /// Fills at which it accepted, and the rate that it gives, in bytes a second.
    pub(super) accepted: Option<(f64, f64)>,
    /// State that it finally assigns to the drive.
    pub(super) named: &'static str,
}

/// The rules, by name.
pub(super) const RULES: [&str; 9] = [
    "PTS, rounds of equal bytes",
    "PTS, rounds of equal time",
    "fio 3.42, slope 0.1%, 30 min",
    "fio 3.33, slope 0.1%, 30 min",
    "fio 3.33, slope 0.1%, 5 min",
    "fio 3.42, deviation 5%, 5 min",
    "bytes, amplification told",
    "bytes, nothing told",
    "bytes, nothing told, spans as long as rounds",
];

/// Ours, as it is used, with figures as often as the drive is asked. The last one shows what coarse spans cost.
pub(super) const PROMISED: std::ops::Range<usize> = 6..8;

/// Answers of all rules, in the order of [`RULES`].
pub(super) fn answers(case: &Case, series: &Series) -> Vec<Answer> {
    let clock = Clock::of(series);
    // A minute writes a round as long as the drive is fresh.
    let minute_ns = case.round_fills * clock.fresh_fill_ns;
    let slope = |version, window| {
        let limit = Limit::Percent(0.1);
        fio_rule(Settings::new(version, Criterion::IopsSlope, limit, window), &clock, minute_ns)
    };
    let deviation = Settings::new(Version::V3_42, Criterion::Iops, Limit::Percent(5.0), 300);
    let spans_per_round = ((case.round_fills * SPANS_PER_FILL as f64).round() as usize).max(1);
    vec![
        pts_by_bytes(series, spans_per_round),
        pts_by_time(&clock, minute_ns),
        slope(Version::V3_42, 1_800),
        slope(Version::V3_33, 1_800),
        slope(Version::V3_33, 300),
        fio_rule(deviation, &clock, minute_ns),
        ours(case, series, 1, true),
        ours(case, series, 1, false),
        ours(case, series, spans_per_round, false),
    ]
}

/// Bytes written by when.
struct Clock {
    /// Time and bytes at the end of each span.
    ends: Vec<(f64, f64)>,
    fill_bytes: f64,
    /// Time of a fill at the rate of the first tenth of one.
    fresh_fill_ns: f64,
}

impl Clock {
    fn of(series: &Series) -> Clock {
        let (mut ns, mut bytes) = (0.0, 0.0);
        let ends: Vec<(f64, f64)> = series
            .spans
            .iter()
            .map(|span| {
                ns += span.duration_ns as f64;
                bytes += span.bytes as f64;
                (ns, bytes)
            })
            .collect();
        let fills = series.spans.len() as f64 / SPANS_PER_FILL as f64;
        let tenth = ends.get(SPANS_PER_FILL / 10 - 1).map_or(0.0, |end| end.0);
        Clock { fill_bytes: bytes / fills, fresh_fill_ns: 10.0 * tenth, ends }
    }

    /// Bytes a second in each interval of `interval_ns`, and bytes written at its end.
    fn intervals(&self, interval_ns: f64) -> Vec<(f64, f64)> {
        let mut intervals = Vec::new();
        let (mut before, mut begun, mut next) = ((0.0, 0.0), 0.0, interval_ns);
        for end in &self.ends {
            while end.0 >= next {
                let share = (next - before.0) / (end.0 - before.0);
                let bytes = before.1 + share * (end.1 - before.1);
                intervals.push(((bytes - begun) * 1e9 / interval_ns, bytes));
                begun = bytes;
                next = interval_ns * (intervals.len() + 1) as f64;
            }
            before = *end;
        }
        intervals
    }
}

fn pts(judgement: snia::Judgement, fills_at: impl Fn(usize) -> f64) -> Answer {
    match judgement {
        snia::Judgement::Reached { window } => Answer {
            accepted: Some((fills_at(window.last_round), window.average)),
            named: "steady",
        },
        _ => Answer { accepted: None, named: "not reached" },
    }
}

fn pts_by_bytes(series: &Series, spans: usize) -> Answer {
    let rounds: Vec<f64> = (0..series.spans.len() / spans)
        .map(|round| series.rate(round * spans, (round + 1) * spans))
        .collect();
    pts(snia::judge(&rounds), |round| (round * spans) as f64 / SPANS_PER_FILL as f64)
}

fn pts_by_time(clock: &Clock, minute_ns: f64) -> Answer {
    let intervals = clock.intervals(minute_ns);
    let rounds: Vec<f64> = intervals.iter().map(|(rate, _)| *rate).collect();
    pts(snia::judge(&rounds), |round| intervals[round - 1].1 / clock.fill_bytes)
}

fn fio_rule(settings: Settings, clock: &Clock, minute_ns: f64) -> Answer {
    // A second here moves the same share as a second of a full-size drive; the IOPS differ by a factor.
    const BLOCK: f64 = 4096.0;
    let intervals = clock.intervals(minute_ns / 60.0);
    let rates: Vec<u64> = intervals.iter().map(|(rate, _)| (rate / BLOCK) as u64).collect();
    let attained = fio::judge(settings, &rates).and_then(|judgement| judgement.attained);
    let accepted = attained.map(|check| {
        let at = intervals[check.interval as usize - 1].1 / clock.fill_bytes;
        (at, check.mean as f64 * BLOCK)
    });
    Answer { named: if accepted.is_some() { "steady" } else { "not reached" }, accepted }
}

fn ours(case: &Case, series: &Series, spans_per_push: usize, tells: bool) -> Answer {
    let fill: u64 = series.spans.iter().take(SPANS_PER_FILL).map(|span| span.bytes).sum();
    let start = match case.before {
        Before::Purge => Start::Purged,
        Before::SequentialFill => Start::SequentialFill,
    };
    let Some(mut detector) = Detector::new(Prior::new(fill, start)) else {
        return Answer { accepted: None, named: "no prior" };
    };
    for spans in series.spans.chunks(spans_per_push) {
        let bytes: u64 = spans.iter().map(|span| span.bytes).sum();
        let duration_ns: u64 = spans.iter().map(|span| span.duration_ns).sum();
        let media: u64 = spans.iter().map(|span| span.media_bytes).sum();
        detector.push(&Told {
            bytes_written: bytes,
            duration_ns,
            value: bytes as f64 * 1e9 / duration_ns as f64,
            amplification: tells.then_some(media as f64 / bytes as f64),
            disturbed: false,
            idle_ns: 0,
        });
        // The measurement ends when the verdict is settled.
        if detector.judgement().verdict != Verdict::NotYet {
            break;
        }
    }
    let judgement = detector.judgement();
    let level = judgement.value.filter(|_| judgement.verdict == Verdict::Yes);
    Answer {
        accepted: level.map(|level| (judgement.at_bytes as f64 / fill as f64, level.mean)),
        named: word(judgement.state),
    }
}

fn word(state: stats::steady::State) -> &'static str {
    use stats::steady::State;
    match state {
        State::Fresh => "fresh",
        State::Transition => "transition",
        State::Steady => "steady",
        State::Periodic => "periodic",
        State::Throttled => "throttled",
        State::NeverSteady | State::Drifting | State::Telegraph => "never",
        State::Stepped | State::Inconclusive => "transition",
    }
}
