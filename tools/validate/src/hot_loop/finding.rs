//! From the rounds to what they say of each claim.

use std::collections::BTreeMap;

use stats::{RatioInterval, median, paired_ratio};

use super::contend::{Figures, Length};
use super::round::{Row, Setup};
use super::setting::{Claim, Contender, Setting, USER_NS_AIM};
use crate::engine::Engine;
use crate::middle::{CONFIDENCE, Middle};

/// Position of an interval relative to a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// All of it is on the right side.
    Met,
    /// All of it is on the wrong side.
    NotMet,
    /// The bound lies within it, or there is none.
    Undecided,
}

impl Answer {
    /// Whether values between `low` and `high` are at least `bound`.
    pub(super) fn at_least(bound: f64, interval: Option<(f64, f64)>) -> Answer {
        match interval {
            Some((low, _)) if low >= bound => Answer::Met,
            Some((_, high)) if high < bound => Answer::NotMet,
            _ => Answer::Undecided,
        }
    }

    /// Whether values between `low` and `high` are at most `bound`.
    pub(super) fn at_most(bound: f64, interval: Option<(f64, f64)>) -> Answer {
        Answer::at_least(-bound, interval.map(|(low, high)| (-high, -low)))
    }
}

/// Two contenders side by side.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) setting: Setting,
    pub(super) ours: Contender,
    pub(super) theirs: Contender,
    /// IOPS of ours over theirs.
    pub(super) ratio: Option<RatioInterval>,
    /// The claim, if there is one.
    pub(super) at_least: Option<f64>,
}

impl Comparison {
    pub(super) fn interval(&self) -> Option<(f64, f64)> {
        self.ratio.and_then(|ratio| ratio.low.zip(ratio.high))
    }

    pub(super) fn answer(&self) -> Option<Answer> {
        self.at_least.map(|bound| Answer::at_least(bound, self.interval()))
    }
}

/// Results of one contender in one setting.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) setting: Setting,
    pub(super) contender: Contender,
    pub(super) iops: f64,
    pub(super) latency_ns: f64,
    /// In the window, user and kernel, by the program's own account.
    pub(super) window_cpu_ns: f64,
    /// In the window, user, by the program's own account.
    pub(super) window_user_ns: f64,
    /// User CPU per I/O of the whole process.
    pub(super) user_ns: f64,
    /// The same less what the program's start and end take.
    pub(super) user_less_start_ns: Option<Middle>,
}

/// All that the rounds say.
#[derive(Clone, Debug)]
pub(super) struct Findings {
    pub(super) comparisons: Vec<Comparison>,
    pub(super) standings: Vec<Standing>,
    /// User CPU time of start and end, in nanoseconds.
    pub(super) start_ups: BTreeMap<Contender, f64>,
    /// Whether the aim for user CPU per I/O is met.
    pub(super) aim: Option<(Middle, Answer)>,
}

impl Findings {
    pub(super) fn of(
        settings: &[Setting],
        rows: &[Row],
        start_ups: &BTreeMap<Contender, f64>,
        setup: &Setup,
    ) -> Findings {
        let length = Length { ramp_ms: setup.ramp_ms, window_ms: setup.window_ms };
        let mut comparisons = Vec::new();
        let mut standings = Vec::new();
        for setting in settings {
            let runs = Runs::of(*setting, rows);
            comparisons.extend(runs.comparisons());
            let start_up = |contender| start_ups.get(&contender).copied();
            standings.extend(
                runs.contenders().into_iter().filter_map(|c| runs.standing(c, length, start_up(c))),
            );
        }
        let aim = standings.iter().find(|s| s.setting == Setting::ALL[0] && s.contender == AIMED);
        let aim = aim.and_then(|standing| standing.user_less_start_ns);
        let aim = aim.map(|middle| (middle, Answer::at_most(USER_NS_AIM, middle.interval)));
        Findings { comparisons, standings, start_ups: start_ups.clone(), aim }
    }

    /// True when the rounds do not show each claim that they are about: one that is undecided is not
    /// shown either. The aim for CPU is not a claim.
    pub(super) fn any_not_shown(&self) -> bool {
        self.comparisons.iter().any(|c| c.answer().is_some_and(|answer| answer != Answer::Met))
    }
}

/// Contender that the aim for user CPU applies to.
const AIMED: Contender = Contender::Drivescope(Engine::IoUring);

/// The runs of one setting, by contender and round.
struct Runs {
    setting: Setting,
    by_contender: BTreeMap<Contender, BTreeMap<u32, Figures>>,
}

impl Runs {
    fn of(setting: Setting, rows: &[Row]) -> Runs {
        let mut by_contender: BTreeMap<Contender, BTreeMap<u32, Figures>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.setting == setting) {
            by_contender.entry(row.contender).or_default().insert(row.round, row.figures);
        }
        Runs { setting, by_contender }
    }

    fn contenders(&self) -> Vec<Contender> {
        self.by_contender.keys().copied().collect()
    }

    /// The claims first; then each of ours beside others of the same engine, for information.
    fn comparisons(&self) -> Vec<Comparison> {
        let mut all: Vec<Comparison> = Claim::all()
            .into_iter()
            .filter(|claim| claim.setting == self.setting)
            .map(|claim| self.compare(claim.ours, claim.theirs, Some(claim.at_least)))
            .collect();
        for ours in self.contenders().into_iter().filter(|c| c.is_ours()) {
            for theirs in self.contenders().into_iter().filter(|c| same_engine(ours, *c)) {
                if !all.iter().any(|c| c.ours == ours && c.theirs == theirs) {
                    all.push(self.compare(ours, theirs, None));
                }
            }
        }
        all
    }

    fn compare(&self, ours: Contender, theirs: Contender, at_least: Option<f64>) -> Comparison {
        let ratio = self.by_contender.get(&ours).zip(self.by_contender.get(&theirs)).and_then(
            |(of_ours, of_theirs)| {
                let both =
                    |(round, a): (&u32, &Figures)| Some((a.iops, of_theirs.get(round)?.iops));
                let (a, b): (Vec<f64>, Vec<f64>) = of_ours.iter().filter_map(both).unzip();
                paired_ratio(&a, &b, CONFIDENCE)
            },
        );
        Comparison { setting: self.setting, ours, theirs, ratio, at_least }
    }

    fn standing(
        &self,
        contender: Contender,
        length: Length,
        start_up_ns: Option<f64>,
    ) -> Option<Standing> {
        let runs: Vec<Figures> = self.by_contender.get(&contender)?.values().copied().collect();
        let middle = |f: &dyn Fn(&Figures) -> f64| median(&runs.iter().map(f).collect::<Vec<_>>());
        // A program that paused between ramp and window, or went at another pace, would be wronged;
        // both programs go on without a gap.
        let ios =
            |figures: &Figures| figures.iops * f64::from(length.window_ms) / 1e3 * length.windows();
        let less_start = start_up_ns.and_then(|start| {
            let per_io = |f: &Figures| (f.cpu.user_ns as f64 - start) / ios(f);
            Middle::of(&runs.iter().map(per_io).collect::<Vec<f64>>())
        });
        Some(Standing {
            setting: self.setting,
            contender,
            iops: middle(&|f| f.iops)?,
            latency_ns: middle(&|f| f.latency_ns)?,
            window_cpu_ns: middle(&|f| f.window_cpu_ns)?,
            window_user_ns: middle(&|f| f.window_user_ns)?,
            user_ns: middle(&|f| f.cpu.user_ns as f64 / ios(f))?,
            user_less_start_ns: less_start,
        })
    }
}

fn same_engine(ours: Contender, theirs: Contender) -> bool {
    use Contender::{Drivescope, Fio, FioDefaults, FioTuned, TIoUring};
    match (ours, theirs) {
        (Drivescope(a), Fio(b) | FioDefaults(b) | FioTuned(b)) => a == b,
        (Drivescope(a), TIoUring) => a == Engine::IoUring,
        _ => false,
    }
}
