//! Answers about a log, compared with its truth.

use anyhow::{Context as _, Result};
use pts::judge::{Known, RuleName, Start, Text, judge, read};
use stats::steady::fio::{self, Criterion, Limit, Settings, Version};
use stats::verdict::Evidence;
use stats::{Proof, Verdict};

use super::world::{Log, Truth};

/// Samples of fio's window, at most; a third of the log, where that is less.
const FIO_SAMPLES_MAX: usize = 300;
const FIO_LIMIT_PERCENT: f64 = 0.1;

/// Quality of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Verdict and word are right.
    Right,
    /// The verdict is right; the word is that of another way not to be steady.
    Class,
    /// Inconclusive.
    Unknown,
    /// Steady, where it is not, or not steady, where it is.
    Wrong,
    /// The truth is neither.
    Open,
}

/// A log and what is said of it.
pub(super) struct Scored {
    pub(super) log: Log,
    pub(super) verdict: Verdict,
    pub(super) state: String,
    pub(super) reason: String,
    /// Drive writes at which it was accepted.
    pub(super) at_fills: Option<f64>,
    /// Level over the last drive write, as a share of the latent one.
    pub(super) bounds: Option<[f64; 2]>,
    /// True when the PTS rule calls it steady; `None` when it has too few rounds.
    pub(super) pts: Option<bool>,
    /// The same of fio's.
    pub(super) fio: Option<bool>,
}

impl Scored {
    pub(super) fn of(log: Log) -> Result<Scored> {
        let texts = [Text { file: "x_bw.1.log".to_owned(), text: log.text.clone() }];
        let result = read(&texts).with_context(|| format!("seed {}", log.seed))?;
        let recorded = result.into_iter().next().context("a log holds one result")?;
        let known = Known {
            drive_bytes: Some(log.capacity_bytes),
            range_is_drive: false,
            start: if log.is_purged { Start::Purged } else { Start::Filled },
            over_provisioning: Some(log.over_provisioning),
            is_uniform: true,
        };
        let rates: Vec<u64> = recorded.series.as_ref().map_or_else(Vec::new, |series| {
            series.windows.iter().map(|window| window.value as u64).collect()
        });
        let judged = judge(recorded, &known);
        let snia = judged.rules.iter().find(|rule| rule.rule == RuleName::Snia);
        let said = |verdict: Verdict| match verdict {
            Verdict::Proven => Some(true),
            Verdict::Refuted => Some(false),
            Verdict::Unprovable => None,
        };
        let (low, high) = match judged.steady.evidence.get("level_last_fill_bounds") {
            Some(Evidence::Range([low, high])) => (Some(*low), Some(*high)),
            _ => (None, None),
        };
        Ok(Scored {
            verdict: judged.steady.verdict,
            state: word(&judged.steady),
            at_fills: value(&judged.steady, "verdict_fills"),
            bounds: low.zip(high).map(|(low, high)| [low / log.level, high / log.level]),
            pts: snia.and_then(|rule| said(rule.says.verdict)),
            fio: by_fio(&rates),
            reason: judged.steady.reason,
            log,
        })
    }

    pub(super) fn mark(&self) -> Mark {
        let is_named = self.log.kind.classes().contains(&self.state.as_str());
        match (self.log.truth, self.verdict) {
            (Truth::Neither, _) => Mark::Open,
            (_, Verdict::Unprovable) => Mark::Unknown,
            (Truth::Steady | Truth::SteadyShort, Verdict::Proven) => Mark::Right,
            (Truth::NotSteady, Verdict::Refuted) if is_named => Mark::Right,
            (Truth::NotSteady, Verdict::Refuted) => Mark::Class,
            _ => Mark::Wrong,
        }
    }

    /// Drive writes by which it was accepted later than the earliest moment.
    pub(super) fn late_fills(&self) -> Option<f64> {
        Some(self.at_fills? - self.log.earliest_fills?)
    }

    /// Steady for three drive writes, at a deviation of at most 5%: where it has to be recognised.
    pub(super) fn is_due(&self) -> bool {
        self.log.truth == Truth::Steady && self.log.cv <= 0.05
    }

    /// Enough data for a narrow bound.
    pub(super) fn is_rich(&self) -> bool {
        self.log.cv <= 0.05 && self.log.fills - self.log.free_fills >= 3.0
    }

    pub(super) fn is_covered(&self) -> Option<bool> {
        self.bounds.map(|[low, high]| low <= 1.0 && 1.0 <= high)
    }

    pub(super) fn line(&self) -> String {
        let log = &self.log;
        let figure = |x: Option<f64>| x.map_or(String::new(), |x| format!("{x:.4}"));
        let rule = |said: Option<bool>| match said {
            Some(true) => "steady",
            Some(false) => "not steady",
            None => "",
        };
        format!(
            "{},{:?},{:?},{:.4},{},{:.1},{:.3},{},{:.2},{:?},{:?},{},{:?},{},{},{},{},{},{},\"{}\"",
            log.seed,
            log.kind,
            log.noise,
            log.cv,
            log.lines,
            log.lines_per_fill,
            log.over_provisioning,
            log.is_purged,
            log.fills,
            log.truth,
            self.verdict,
            self.state,
            self.mark(),
            figure(self.at_fills),
            figure(log.earliest_fills),
            figure(self.bounds.map(|bounds| bounds[0])),
            figure(self.bounds.map(|bounds| bounds[1])),
            rule(self.pts),
            rule(self.fio),
            self.reason.replace('"', "'")
        )
    }
}

pub(super) const HEAD: &str = "seed,kind,noise,cv,lines,lines_per_fill,over_provisioning,purged,fills,truth,verdict,state,mark,\
                               at_fills,earliest_fills,low,high,pts,fio,reason\n";

fn value(proof: &Proof, name: &str) -> Option<f64> {
    match proof.evidence.get(name) {
        Some(Evidence::Value(value)) => Some(*value),
        _ => None,
    }
}

fn word(proof: &Proof) -> String {
    match proof.evidence.get("state") {
        Some(Evidence::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

/// fio's `bw_slope:0.1%`, one sample a line, as it ended: true when it would have stopped within the log.
fn by_fio(rates: &[u64]) -> Option<bool> {
    let samples = u32::try_from(FIO_SAMPLES_MAX.min(rates.len() / 3)).ok()?;
    let limit = Limit::Percent(FIO_LIMIT_PERCENT);
    let settings = Settings::new(Version::V3_33, Criterion::BwSlope, limit, samples);
    let judged = fio::judge(settings, rates)?;
    judged.last.map(|_| judged.attained.is_some())
}
