//! Data for the proofs of one test, and checks that several proofs share.

use std::collections::BTreeMap;

use block::{Bytes, DeviceCounters, DriveInfo, Extents, Layer, Op, Snapshot, Stack, number};
use stats::{
    ModeTest, Modes, OrderInterval, StopRule, coefficient_of_variation, median, median_interval,
    two_modes,
};
use workload::plan::{Phase, Region, Step};

use crate::body::CONFIDENCE;
use crate::cache::Found;
use crate::execute::{FailedRun, TestRuns};
use crate::run::RunFigures;
use crate::states::{Cause, State, States};

/// Relative difference between windows or runs that still counts as none.
pub(super) const MARGIN: f64 = 0.05;

/// Everything that proofs of one test may look at.
pub(crate) struct Case<'a> {
    pub(crate) step: &'a Step,
    /// The measured phase.
    pub(crate) phase: &'a Phase,
    pub(crate) test: &'a TestRuns,
    /// Its runs that I/Os failed in, in the order made.
    pub(crate) failed: Vec<&'a FailedRun>,
    pub(crate) info: &'a DriveInfo,
    pub(crate) stack: &'a Stack,
    pub(crate) extents: Option<&'a Extents>,
    /// As it was after the last run.
    pub(crate) extents_after: Option<&'a Extents>,
    /// True when this run made the target's file and wrote all of it.
    pub(crate) own_file: bool,
    pub(crate) region: Region,
    /// CPUs that the submitters could run on.
    pub(crate) cpus: usize,
    /// True when the page cache was to be bypassed.
    pub(crate) direct: bool,
    /// True when the engine polls for completions.
    pub(crate) polling: bool,
    /// Result of the cache probe, if it was made.
    pub(crate) cache: Option<&'a Found>,
    /// Its runs that began before the drive had recovered from writes: latency of small reads over that of the idle drive.
    pub(crate) stirred: Vec<f64>,
    /// Those are named by the latency from before the first writes, to which the drive did not come back.
    pub(crate) is_slower_since_writes: bool,
    /// The counted runs, as far as their rates go.
    pub(crate) series: RunSeries<'a>,
}

/// The counted runs of a test, in the order made, as far as *steady* and *repeatable* look at them.
pub(crate) struct RunSeries<'a> {
    pub(crate) runs: &'a [RunFigures],
    pub(crate) block: Bytes,
    only_writes: bool,
    /// There are more than were planned, because those left the test undecided.
    pub(crate) is_extended: bool,
    modes: Option<ModeTest>,
}

/// Seed of the two-mode test's null distribution: fixed, so that the same runs get the same answer.
const MODES_SEED: u64 = 1985;

/// Confidence of what runs beyond the planned ones decide, which is asked about several times.
const EXTENDED_CONFIDENCE: f64 = 0.98;
/// Confidence of the bounds on a change of level in the first of two such looks. With 90% after the planned runs and 98% in the
/// second look, a change is overlooked in at most 8% of tests.
const FIRST_LOOK: (usize, f64) = (12, 0.96);

impl<'a> RunSeries<'a> {
    /// `planned`: runs that would have been enough.
    pub(crate) fn new(runs: &'a [RunFigures], phase: &Phase, planned: u32) -> RunSeries<'a> {
        let rates: Vec<f64> = runs.iter().map(|run| run.run.mb_s).collect();
        RunSeries {
            runs,
            block: phase.block,
            only_writes: phase.ops.iter().all(|share| share.op == Op::Write),
            is_extended: runs.len() > planned as usize,
            modes: two_modes(&rates, MODES_SEED),
        }
    }

    pub(crate) fn rates(&self) -> Vec<f64> {
        self.runs.iter().map(|r| r.run.mb_s).collect()
    }

    /// Interval of the median of the runs from `first` on.
    pub(crate) fn interval(&self, first: usize) -> Option<OrderInterval> {
        self.interval_of(&self.rates()[first..])
    }

    /// Interval of the median of `values`, which belong to these runs.
    pub(crate) fn interval_of(&self, values: &[f64]) -> Option<OrderInterval> {
        if !self.is_extended {
            return median_interval(values, CONFIDENCE);
        }
        StopRule::new(MARGIN * 100.0, EXTENDED_CONFIDENCE).final_interval(values)
    }

    /// `confidence` of bounds on a change of level, or that of more runs than were planned.
    pub(crate) fn confidence(&self, confidence: f64) -> f64 {
        match self.is_extended {
            false => confidence,
            true if self.runs.len() <= FIRST_LOOK.0 => FIRST_LOOK.1,
            true => EXTENDED_CONFIDENCE,
        }
    }

    /// Centres of two groups of runs, low and high, and the share in the high one. Groups so close that
    /// a median between them does not mislead do not count, however clearly they are separated.
    pub(crate) fn two_modes(&self) -> Option<(f64, f64, f64)> {
        match self.modes?.modes {
            Modes::Two { low_center, high_center, share_high, .. }
                if high_center > low_center * (1.0 + MARGIN) =>
            {
                Some((low_center, high_center, share_high))
            }
            _ => None,
        }
    }

    /// Runs at the beginning of a test that writes which a cache took, until it was used up: they held a burst, and all runs after
    /// them, twice as many at least, are of one rate. 0 where that is not so. A change without such a cause may come again, and
    /// stays in the numbers.
    pub(crate) fn in_cache(&self) -> usize {
        let head = self.burst_runs();
        if 3 * head <= self.runs.len() { head } else { 0 }
    }

    /// The same, however few runs came after them.
    pub(crate) fn burst_runs(&self) -> usize {
        let rates = self.rates();
        let later = rates.len().div_ceil(2);
        let center = median(&rates[rates.len() - later..]).filter(|rate| *rate > 0.0);
        let Some(center) = center.filter(|_| self.only_writes) else { return 0 };
        let is_of_later = |rate: &f64| (rate - center).abs() <= MARGIN * center;
        let head = rates.iter().take_while(|rate| !is_of_later(rate)).count();
        let is_one = rates[head..].iter().all(is_of_later);
        let has_burst = self.runs[..head].iter().all(|run| burst_rate(run) > BURST * center);
        if is_one && has_burst { head } else { 0 }
    }

    /// States that the runs were made in; `None` where one describes them.
    pub(crate) fn states(&self) -> Option<States> {
        let rates = self.rates();
        let in_cache = self.in_cache();
        if in_cache > 0 {
            let parts = [(0..in_cache).collect(), (in_cache..rates.len()).collect()];
            let states = parts.map(|runs| state(&rates, runs)).to_vec();
            return Some(States { cause: Cause::WriteCache, answer: Some(1), states });
        }
        let (low, high, _) = self.two_modes()?;
        let middle = (low * high).sqrt();
        let (above, below): (Vec<usize>, Vec<usize>) =
            (0..rates.len()).partition(|run| rates[*run] > middle);
        let mut groups = [above, below];
        groups.sort();
        let is_once = groups[0].last() < groups[1].first();
        let states = groups.map(|runs| state(&rates, runs)).to_vec();
        let cause = match is_once {
            // Too few runs came after it for them to be the answer.
            true if self.burst_runs() > 0 => Cause::WriteCache,
            true => Cause::Changed,
            false => Cause::Alternating,
        };
        Some(States { cause, answer: None, states })
    }
}

/// Throughput of the fastest slice of a run, in MB/s.
fn burst_rate(run: &RunFigures) -> f64 {
    let slices = run.series_bytes.len().max(1) as f64;
    let most = run.series_bytes.iter().copied().max().unwrap_or(0) as f64;
    most * slices / (run.run.duration_ns.max(1) as f64) * 1e3
}

fn state(rates: &[f64], runs: Vec<usize>) -> State {
    let of_state: Vec<f64> = runs.iter().map(|run| rates[*run]).collect();
    State {
        mb_s: median(&of_state).unwrap_or(0.0),
        cv: coefficient_of_variation(&of_state).unwrap_or(0.0),
        runs,
    }
}

/// A burst is faster than what comes after it by this factor.
const BURST: f64 = 1.25;

impl Case<'_> {
    pub(crate) fn runs(&self) -> &[RunFigures] {
        &self.test.runs
    }

    pub(crate) fn rates(&self) -> Vec<f64> {
        self.series.rates()
    }

    /// True when the test does `op` at all.
    pub(crate) fn does(&self, op: Op) -> bool {
        self.phase.ops.iter().any(|o| o.op == op)
    }

    /// True when each `op` had to be durable.
    pub(crate) fn all_durable(&self, op: Op) -> bool {
        self.phase.ops.iter().filter(|o| o.op == op).all(|o| o.fua)
    }

    /// Bytes moved by `op`, over all counted runs.
    pub(crate) fn moved(&self, op: Op) -> Bytes {
        self.runs().iter().map(|r| r.moved(op)).sum()
    }
}

/// Bytes that all leaf devices together counted for `op`; `None` when a leaf cannot be counted, since
/// the others alone would seem to lack its share.
pub(super) fn device_bytes(case: &Case<'_>, snapshot: &Snapshot, op: Op) -> Option<Bytes> {
    let of = |d: &DeviceCounters| if op == Op::Read { d.read_bytes } else { d.write_bytes };
    let devices = &snapshot.devices;
    let all = !devices.is_empty() && devices.len() >= case.stack.leaves.len();
    all.then(|| devices.iter().map(of).sum())
}

/// Drives that bcache keeps as a cache above others, and what they moved of `op` over all counted runs; `None` where
/// there is no such drive, or it cannot be counted.
pub(crate) fn by_cache_devices<'a>(case: &Case<'a>, op: Op) -> Option<(Vec<&'a str>, Bytes)> {
    let layers = &case.stack.layers;
    let is_cache =
        |layer: &&Layer| layer.attributes.get("bcache_role").is_some_and(|r| r == "cache");
    let drive = |mut layer: &'a Layer| {
        while let Some(under) = layer.below.first().and_then(|&place| layers.get(place)) {
            layer = under;
        }
        layer.name.as_str()
    };
    let names: Vec<&str> = layers.iter().filter(is_cache).map(drive).collect();
    if names.is_empty() {
        return None;
    }
    let of = |d: &DeviceCounters| if op == Op::Read { d.read_bytes.0 } else { d.write_bytes.0 };
    let bytes = growth(case, |s| {
        let caches = s.devices.iter().filter(|d| names.contains(&d.name.as_str()));
        caches.map(of).reduce(|a, b| a + b)
    })?;
    Some((names, Bytes(bytes)))
}

/// The most members that each array lacked around the counted runs, of those that lacked any.
pub(crate) fn degraded(case: &Case<'_>) -> BTreeMap<String, u64> {
    let mut arrays: BTreeMap<String, u64> = BTreeMap::new();
    for array in case.runs().iter().flat_map(|r| r.before.arrays.iter().chain(&r.after.arrays)) {
        if array.degraded > 0 {
            let most = arrays.entry(array.name.clone()).or_default();
            *most = array.degraded.max(*most);
        }
    }
    arrays
}

/// Growth of a counter over all counted runs; `None` when some run lacks it.
pub(super) fn growth(case: &Case<'_>, read: impl Fn(&Snapshot) -> Option<u64>) -> Option<u64> {
    case.runs().iter().map(|r| Some(read(&r.after)?.saturating_sub(read(&r.before)?))).sum()
}

/// A throughput for a reason: with digits enough for the slowest.
pub(crate) fn mb_s(rate: f64) -> String {
    if rate.abs() < 1.0 { format!("{rate:.4}") } else { format!("{rate:.1}") }
}

/// A share for a reason: one digit below 10%, none above, and no false precision far beyond.
pub(super) fn percent(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "" };
    let size = share.abs();
    let shown = if size < 9.995 { number::share(size) } else { "more than 999%".to_owned() };
    format!("{sign}{shown}")
}

#[cfg(test)]
mod tests {
    use block::Nanos;
    use stats::Verdict;

    use super::*;
    use crate::options::{Direction, Options};
    use crate::proofs::{need_more, repeatable, steady};

    /// Runs of these rates, even within.
    fn runs(rates: &[f64]) -> Vec<RunFigures> {
        let figures = |rate: &f64| {
            let duration_ns = Nanos::secs(1).0;
            let run = crate::body::Run { mb_s: *rate, duration_ns, ..Default::default() };
            let slice = (rate * 1e6 / 50.0) as u64;
            RunFigures { run, series_bytes: vec![slice; 50], ..Default::default() }
        };
        rates.iter().map(figures).collect()
    }

    fn phase(direction: Direction) -> Phase {
        let tests = vec!["RND4KQ1T1".parse().unwrap()];
        let options = Options { tests, directions: vec![direction], ..Options::default() };
        let step = options.plan().steps.remove(0);
        step.phases.into_iter().find(|phase| phase.measured).unwrap()
    }

    fn in_cache(direction: Direction, rates: &[f64]) -> usize {
        RunSeries::new(&runs(rates), &phase(direction), 6).in_cache()
    }

    // Breaks when a first run in the drive's cache makes one number of two states.
    #[test]
    fn first_writes_into_a_cache_are_set_aside() {
        let of = |rates: &[f64]| in_cache(Direction::Write, rates);
        assert_eq!(of(&[2621.0, 655.0, 656.0, 655.0, 655.0, 655.0]), 1);
        assert_eq!(of(&[2621.0, 2600.0, 655.0, 656.0, 655.0, 655.0]), 2);
    }

    // Breaks when a change that nothing explains, noise, or a drift loses the runs that show it.
    #[test]
    fn other_changes_stay_in_the_numbers() {
        let step = [130.0, 130.0, 100.0, 100.0, 100.0, 100.0];
        assert_eq!(in_cache(Direction::Write, &step), 2);
        assert_eq!(in_cache(Direction::Read, &step), 0, "reads fill no cache for writes");
        assert_eq!(in_cache(Direction::Mix(70), &step), 0);
        let of = |rates: &[f64]| in_cache(Direction::Write, rates);
        assert_eq!(of(&[100.0, 130.0, 130.0, 131.0, 129.0, 130.0]), 0, "it became faster");
        assert_eq!(of(&[110.0, 100.0, 100.0, 100.0, 100.0, 100.0]), 0, "that is no burst");
        assert_eq!(of(&[200.0, 200.0, 200.0, 100.0, 100.0, 100.0]), 0, "either may be the state");
        assert_eq!(of(&[200.0, 100.0, 200.0, 100.0, 200.0, 100.0]), 0);
        assert_eq!(of(&[200.0, 115.0, 110.0, 105.0, 100.0, 95.0]), 0);
        assert_eq!(of(&[]), 0);
    }

    // Breaks when a test ends while its runs after the cache are too few, though more can be made.
    #[test]
    fn a_burst_of_half_the_runs_needs_more_of_them() {
        let phase = phase(Direction::Write);
        let mut rates = vec![2621.0, 2621.0, 780.0, 655.0, 655.0, 656.0];
        let made = runs(&rates);
        assert_eq!(RunSeries::new(&made, &phase, 6).in_cache(), 0);
        rates.extend([655.0; 6]);
        let mut made = runs(&rates);
        made[2].series_bytes[..5].fill((2621.0 * 1e6 / 50.0) as u64);
        assert!(need_more(&RunSeries::new(&made[..6], &phase, 6)));
        let series = RunSeries::new(&made, &phase, 6);
        assert_eq!(series.in_cache(), 3);
        assert!(!need_more(&series));
    }

    #[test]
    fn two_groups_of_runs_are_named_in_the_order_seen() {
        let states = |rates: &[f64]| {
            RunSeries::new(&runs(rates), &phase(Direction::Read), 6).states().unwrap()
        };
        let high_first = [130.0, 131.0, 130.0, 129.0, 130.0, 100.0, 101.0, 100.0, 99.0, 100.0];
        let changed = states(&high_first);
        assert_eq!((changed.cause, changed.answer), (Cause::Changed, None));
        assert_eq!(changed.states[0].runs, [0, 1, 2, 3, 4]);
        let written = RunSeries::new(&runs(&high_first), &phase(Direction::Write), 6).states();
        let written = written.unwrap();
        assert_eq!((written.cause, written.answer), (Cause::WriteCache, None));
        let turns = [130.0, 100.0, 131.0, 101.0, 130.0, 100.0, 129.0, 99.0, 130.0, 100.0];
        assert_eq!(states(&turns).cause, Cause::Alternating);
    }

    // Breaks when five runs of a state pass for six, or six are not enough.
    #[test]
    fn the_state_that_the_drive_came_to_is_decided_by_its_own_runs() {
        let phase = phase(Direction::Write);
        let mut rates = vec![2621.0, 655.0, 656.0, 655.0, 655.0, 654.0];
        let made = runs(&rates);
        let series = RunSeries::new(&made, &phase, 6);
        assert!(need_more(&series), "no interval of five runs");
        assert_eq!(repeatable::judge(&series).verdict, Verdict::Unprovable);
        rates.extend([655.0, 656.0, 655.0]);
        let made = runs(&rates);
        let series = RunSeries::new(&made, &phase, 6);
        assert_eq!(steady::judge(&series).verdict, Verdict::Proven);
        assert_eq!(repeatable::judge(&series).verdict, Verdict::Proven);
        rates.extend([655.0, 654.0, 655.0]);
        let made = runs(&rates);
        let series = RunSeries::new(&made, &phase, 6);
        assert_eq!(steady::judge(&series).verdict, Verdict::Proven);
        assert!(!need_more(&series), "it is asked again after 12 runs");
        let reads = self::phase(Direction::Read);
        let verdict = steady::judge(&RunSeries::new(&made, &reads, 6)).verdict;
        assert_ne!(verdict, Verdict::Proven, "reads that changed");
    }

    #[test]
    fn runs_that_decide_nothing_end() {
        let scattered: Vec<f64> = (0..18).map(|i| 100.0 + f64::from(i * 7 % 11)).collect();
        let (made, phase) = (runs(&scattered), phase(Direction::Read));
        let needs = |count: usize| need_more(&RunSeries::new(&made[..count], &phase, 6));
        assert!(needs(6) && needs(7) && needs(17));
        assert!(!needs(18));
    }
}
