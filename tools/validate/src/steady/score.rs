//! Quality of a rule's answers, over all drives.

use stats::{ProportionInterval, median, proportion_interval};

use super::rules::{Answer, PROMISED, RULES};
use super::series::{Before, Case, Load4k};
use super::truth::{Kind, MARGIN, Truth};

/// Share of accepted values that may be off, at most, as an upper bound of 95%.
const OFF_MAX: f64 = 0.01;
/// Acceptance may come this much later than it could, in the median, and a window on top.
const LATE_MAX: f64 = 1.5;
/// The least window of the rule that is scored, in fills.
const WINDOW_FILLS: f64 = 1.0;
/// Least share of periodic drives, and of those that never come to rest, that must be called so.
const NAMED_MIN: f64 = 0.95;

/// A drive with its truth and the answers of all rules.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    pub(super) case: Case,
    pub(super) over_provisioning: f64,
    pub(super) truth: Truth,
    pub(super) answers: Vec<Answer>,
}

pub(super) const RAW_HEAD: &str =
    "seed,before,load,slowing_per_fill,round_fills,over_provisioning,truth,rate,earliest_fills";

impl Scored {
    /// A line of the raw figures.
    pub(super) fn line(&self) -> String {
        let Scored { case, truth, .. } = self;
        let before = match case.before {
            Before::Purge => "purge",
            Before::SequentialFill => "sequential",
        };
        let load = match case.load {
            Load4k::Uniform => "uniform",
            Load4k::Passes => "passes",
        };
        let number = |number: Option<f64>| number.map_or(String::new(), |n| format!("{n:.3}"));
        let mut line = format!(
            "{},{before},{load},{},{:.4},{:.4},{},{:.0},{}",
            case.seed,
            case.slowing_per_fill,
            case.round_fills,
            self.over_provisioning,
            truth.kind.word(),
            truth.rate,
            number(truth.earliest_fills),
        );
        for answer in &self.answers {
            let at = number(answer.accepted.map(|(at, _)| at));
            let off = answer.accepted.map(|(_, rate)| format!("{:.4}", rate / truth.rate - 1.0));
            line += &format!(",{},{at},{}", answer.named, off.unwrap_or_default());
        }
        line
    }
}

/// Results of a rule.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Score {
    pub(super) rule: &'static str,
    pub(super) is_promised: bool,
    pub(super) drives: usize,
    pub(super) accepted: usize,
    /// Median fills at acceptance.
    pub(super) at_fills: Option<f64>,
    /// Of steady drives that were accepted: median of the earliest right moment, and of fills beyond what is granted.
    pub(super) earliest_fills: Option<f64>,
    pub(super) beyond_granted_fills: Option<f64>,
    /// Median distance of accepted values from the truth, as a share of it.
    pub(super) off_median: Option<f64>,
    /// Accepted values that are farther off than the margin.
    pub(super) off: usize,
    /// Named right, and how many there were.
    pub(super) named: [(Kind, usize, usize); 4],
}

impl Score {
    pub(super) fn of(rule: usize, drives: &[Scored]) -> Score {
        let mut errors = Vec::new();
        let mut at_fills = Vec::new();
        let mut beyond = Vec::new();
        let mut earliest = Vec::new();
        let kinds = [Kind::Steady, Kind::Periodic, Kind::Never, Kind::Irregular];
        let mut named = kinds.map(|kind| (kind, 0, 0));
        for drive in drives {
            let answer = &drive.answers[rule];
            for (kind, right, all) in &mut named {
                *all += usize::from(drive.truth.kind == *kind);
                let is_right = match kind {
                    // It goes up and down, and does not come to rest: either is a word for it.
                    Kind::Irregular => ["never", "periodic"].contains(&answer.named),
                    _ => answer.named == kind.word(),
                };
                *right += usize::from(drive.truth.kind == *kind && is_right);
            }
            let Some((at, rate)) = answer.accepted else { continue };
            at_fills.push(at);
            errors.push((rate / drive.truth.rate - 1.0).abs());
            if let Some(could) = drive.truth.earliest_fills {
                earliest.push(could);
                beyond.push(at - (LATE_MAX * could + WINDOW_FILLS));
            }
        }
        Score {
            rule: RULES[rule],
            is_promised: PROMISED.contains(&rule),
            drives: drives.len(),
            accepted: errors.len(),
            at_fills: median(&at_fills),
            earliest_fills: median(&earliest),
            beyond_granted_fills: median(&beyond),
            off_median: median(&errors),
            off: errors.iter().filter(|error| **error > MARGIN).count(),
            named,
        }
    }

    /// Share of accepted values that are off; its ends alone are bounds of 95%.
    pub(super) fn off_share(&self) -> Option<ProportionInterval> {
        proportion_interval(self.off, self.accepted, 0.90)
    }

    /// Lists the promises of our rule that do not hold.
    pub(super) fn shortfalls(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !self.is_promised {
            return found;
        }
        if self.off_share().is_none_or(|share| share.high > OFF_MAX) {
            found.push("more than 1% of accepted values may be off by more than 5%".to_owned());
        }
        if self.beyond_granted_fills.is_none_or(|beyond| beyond > 0.0) {
            found.push(
                "acceptance comes later than 1.5 times the earliest moment and a window".to_owned(),
            );
        }
        for (kind, right, all) in &self.named[1..3] {
            if *all > 0 && (*right as f64) < NAMED_MIN * *all as f64 {
                found.push(format!("{right} of {all} named {}", kind.word()));
            }
        }
        found
    }
}
