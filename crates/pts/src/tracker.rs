//! Follows the value that steady state is judged by, and says by three rules whether it is there.

use std::collections::VecDeque;

use block::Nanos;
use stats::Unit;
use stats::steady::fio::{Criterion, Limit, Settings, Version};
use stats::steady::{fio, snia};

use crate::body::{
    Body, FioVerdict, PtsVerdict, PtsWindow, Round, RuleVerdict, Steady, amplification,
};
use crate::desk::{Desk, Made};
use crate::kept::{Left, Standing};
use crate::options::{Options, Rule};
use crate::ours::Detector;
use crate::window::Window;

/// fio's rule as it is often given: at most a tenth of a percent a second, over five minutes.
const FIO_LIMIT_PERCENT: f64 = 0.1;
const FIO_WINDOW_S: u32 = 300;
const FIO_RULE: &str =
    "steadystate=iops_slope:0.1% steadystate_duration=300 (3.42, seconds scaled with the minute)";
/// Rounds of ours, where no other end is given.
const ROUNDS_MAX_BYTES: u32 = 4_096;
/// Rounds whose pace is that of those to come.
const PACE_ROUNDS: usize = 3;
/// Rounds of the specification's window.
const PTS_ROUNDS: u32 = 5;
/// Windows over which write amplification is reported.
const TOLD_WINDOWS: usize = 5;

/// Figure of a stretch that is tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// I/Os per second.
    Iops,
    /// Megabytes (10^6 bytes) per second.
    MbPerS,
    /// Mean response time, in nanoseconds.
    MeanLatency,
}

impl Figure {
    fn words(self) -> &'static str {
        match self {
            Figure::Iops => "IOPS",
            Figure::MbPerS => "MB/s",
            Figure::MeanLatency => "mean response time",
        }
    }

    fn unit(self) -> Unit {
        match self {
            Figure::Iops => Unit::Iops,
            Figure::MbPerS => Unit::MbPerS,
            Figure::MeanLatency => Unit::Ns,
        }
    }
}

/// Follows a value.
pub struct Tracker {
    tracked: String,
    until: Rule,
    rounds_max: u32,
    figure: Figure,
    minute_ns: Option<u64>,
    rounds: Vec<Round>,
    /// Windows of the rounds' values.
    windows: Vec<Window>,
    /// Bytes written in the current round, and when it began.
    round_bytes: u64,
    /// The first round after the drive was idle: earlier rounds do not belong to the same continuous run.
    first: usize,
    fio_rates: Vec<u64>,
    /// I/Os that do not fill a sample yet, and its time so far.
    fio_rest: (f64, f64),
    ours: Detector,
    /// Of the last rounds: when each ended, on the run's clock, and the fills written by then.
    pace: VecDeque<(u64, f64)>,
    /// Fills after which rounds end, where nothing else ends them.
    fills_wanted: Option<f64>,
}

impl Tracker {
    /// Follows a `figure` of a `load` in a test that has been purged and filled as `body` says.
    pub fn new(desk: &Desk<'_>, body: &Body, (figure, load): (Figure, &str)) -> Tracker {
        let options: &Options = desk.options;
        Tracker {
            tracked: format!("{} of {load}", figure.words()),
            until: options.until,
            rounds_max: options.rounds_max,
            figure,
            minute_ns: desk.minutes(1.0).after.map(|minute| minute.0),
            rounds: Vec::new(),
            windows: Vec::new(),
            round_bytes: 0,
            first: 0,
            fio_rates: Vec::new(),
            fio_rest: (0.0, 0.0),
            ours: Detector::new(body, options, desk.region().length),
            pace: VecDeque::new(),
            fills_wanted: match options.until {
                Rule::Fills(fills) => Some(fills),
                Rule::Pts | Rule::Bytes => None,
            },
        }
    }

    /// Most rounds.
    pub fn rounds_max(&self) -> u32 {
        match self.until {
            Rule::Pts => self.rounds_max,
            Rule::Bytes | Rule::Fills(_) => ROUNDS_MAX_BYTES,
        }
    }

    /// A stretch is over; `is_tracked` when its load is that whose value is followed.
    pub fn see(&mut self, made: &Made, is_tracked: bool) {
        let window = &made.window;
        self.minute_ns = self.minute_ns.or(Some(window.duration_ns));
        if made.after_break {
            self.first = self.rounds.len();
            self.fio_rates.clear();
            self.fio_rest = (0.0, 0.0);
            self.ours.breaks();
        }
        for disturbed in &made.disturbed {
            self.round_bytes += disturbed.bytes_written;
            self.ours.see(disturbed, false);
        }
        self.round_bytes += window.bytes_written;
        self.ours.see(window, is_tracked);
        if is_tracked {
            self.sample(window);
        }
    }

    /// Cuts a window into fio's seconds, which are sixtieths of a minute.
    fn sample(&mut self, window: &Window) {
        let second = self.minute_ns.unwrap_or(60_000_000_000) as f64 / 60.0;
        let slice = window.series.slice_ns as f64;
        if slice <= 0.0 || second <= 0.0 {
            return;
        }
        for ios in &window.series.ios {
            let (mut ios, mut left) = (*ios as f64, slice);
            while left > 0.0 {
                let wanted = second - self.fio_rest.1;
                let part = left.min(wanted);
                let of_part = ios * part / left;
                self.fio_rest = (self.fio_rest.0 + of_part, self.fio_rest.1 + part);
                (ios, left) = (ios - of_part, left - part);
                if self.fio_rest.1 >= second * (1.0 - 1e-9) {
                    self.fio_rates.push((self.fio_rest.0 * 1e9 / second).round() as u64);
                    self.fio_rest = (0.0, 0.0);
                }
            }
        }
    }

    fn value(&self, window: &Window) -> f64 {
        match self.figure {
            Figure::Iops => window.iops,
            Figure::MbPerS => window.mb_s,
            Figure::MeanLatency => window.latency_ns.mean,
        }
    }

    /// A round is over, whose value is that of `window`; reports the state of the test.
    pub fn round(&mut self, desk: &mut Desk<'_>, index: u32, window: Window) {
        let ended_ns = window.began_ns + window.duration_ns;
        self.pace.push_back((ended_ns, self.ours.fills()));
        if self.pace.len() > PACE_ROUNDS + 1 {
            self.pace.pop_front();
        }
        self.rounds.push(Round {
            index,
            bytes_written: std::mem::take(&mut self.round_bytes),
            iops: window.iops,
            mb_s: window.mb_s,
            latency_ns: window.latency_ns,
        });
        self.windows.push(window);
        desk.stands(&self.standing());
    }

    fn standing(&self) -> Standing {
        let pts = verdict_of(&self.pts());
        Standing {
            tracked: self.tracked.clone(),
            values: self.windows.iter().map(|window| self.value(window)).collect(),
            fills: self.ours.fills(),
            pts,
            ours: self.ours.state(),
            left: self.left(pts == RuleVerdict::Steady),
        }
    }

    /// Time until rounds end, at least and at most, at the pace of the last ones.
    fn left(&self, is_pts_steady: bool) -> Left {
        let (Some(first), Some(last)) = (self.pace.front(), self.pace.back()) else {
            return Left::default();
        };
        let between = (self.pace.len() - 1).max(1) as f64;
        // It is not known when the first round began; its end since the run's first stretch is an upper bound.
        let ns = if self.pace.len() > 1 { last.0 - first.0 } else { last.0 } as f64;
        let fills = if self.pace.len() > 1 { last.1 - first.1 } else { last.1 };
        let rounds = |count: u32| Nanos((ns / between * f64::from(count)) as u64);
        let bytes = |wanted: f64| {
            let missing = (wanted - self.ours.fills()).max(0.0);
            (fills > 0.0).then(|| Nanos((ns / fills * missing) as u64))
        };
        if let Some(wanted) = self.fills_wanted {
            let left = bytes(wanted);
            return Left { least: left.unwrap_or_default(), most: left };
        }
        let made = (self.rounds.len() - self.first) as u32;
        match self.until {
            Rule::Pts if is_pts_steady => Left { least: Nanos::ZERO, most: Some(Nanos::ZERO) },
            Rule::Pts => Left {
                least: rounds(PTS_ROUNDS.saturating_sub(made).max(1)),
                most: Some(rounds(self.rounds_max.saturating_sub(self.rounds.len() as u32))),
            },
            Rule::Bytes | Rule::Fills(_) => {
                let least = self.ours.fills_at_least().and_then(bytes);
                Left { least: least.unwrap_or_default(), most: None }
            }
        }
    }

    /// Rounds end after this many fills, and not for any other reason.
    pub fn ends_after(&mut self, fills: f64) {
        self.fills_wanted = Some(fills);
    }

    /// True when the rule that was asked for has an answer.
    pub fn is_over(&self) -> bool {
        self.is_over_by(self.until)
    }

    /// True when `rule` has an answer.
    pub fn is_over_by(&self, rule: Rule) -> bool {
        match rule {
            Rule::Pts => self.pts().reached_at().is_some(),
            Rule::Bytes => self.ours.is_settled(),
            Rule::Fills(fills) => self.ours.fills() >= fills,
        }
    }

    /// True when the drive is steady by ours.
    pub fn is_steady(&self) -> bool {
        self.ours.is_steady()
    }

    fn pts(&self) -> snia::Judgement {
        let values: Vec<f64> = self.windows[self.first..].iter().map(|w| self.value(w)).collect();
        snia::judge(&values)
    }

    /// Puts rounds and verdicts into `body`.
    pub fn tell(&self, body: &mut Body) {
        body.rounds = self.rounds.clone();
        let last = &self.windows[self.windows.len().saturating_sub(TOLD_WINDOWS)..];
        body.write_amplification = amplification(last);
        body.steady = Some(Steady {
            tracked: self.tracked.clone(),
            unit: Some(self.figure.unit()),
            pts: self.pts_verdict(),
            fio: self.fio_verdict(),
            ours: self.ours.tell(),
        });
    }

    fn pts_verdict(&self) -> PtsVerdict {
        let judgement = self.pts();
        let window = match judgement {
            snia::Judgement::Reached { window } | snia::Judgement::NotReached { window } => {
                Some(window)
            }
            snia::Judgement::TooFew { window, .. } => window,
        };
        let before = self.first as u32;
        PtsVerdict {
            verdict: verdict_of(&judgement).into(),
            round: judgement.reached_at().map(|round| round as u32 + before),
            window: window.map(|window| {
                let of_run = PtsWindow::from(window);
                let intercept = window.intercept - window.slope_per_round * f64::from(before);
                PtsWindow { first_round: of_run.first_round + before, intercept, ..of_run }
            }),
        }
    }

    fn fio_verdict(&self) -> Option<FioVerdict> {
        let limit = Limit::Percent(FIO_LIMIT_PERCENT);
        let settings = Settings::new(Version::V3_42, Criterion::IopsSlope, limit, FIO_WINDOW_S);
        let judged = fio::judge(settings, &self.fio_rates)?;
        judged.last?;
        let at = judged.attained;
        let value = at.map(|check| check.mean as f64);
        let second = self.minute_ns.unwrap_or(60_000_000_000) as f64 / 60e9;
        Some(FioVerdict {
            verdict: match at {
                Some(_) => RuleVerdict::Steady,
                None => RuleVerdict::NotSteady,
            }
            .into(),
            at_s: at.map(|check| check.interval as f64 * second),
            rule: FIO_RULE.to_owned(),
            value,
        })
    }
}

fn verdict_of(judgement: &snia::Judgement) -> RuleVerdict {
    match judgement {
        snia::Judgement::Reached { .. } => RuleVerdict::Steady,
        snia::Judgement::NotReached { .. } => RuleVerdict::NotSteady,
        snia::Judgement::TooFew { .. } => RuleVerdict::TooFewRounds,
    }
}
