//! Options of a mark, and the plan made of them.

use std::str::FromStr;

use block::{Bytes, Nanos, Op};
use serde::{Deserialize, Serialize};
use workload::plan::{
    Address, Arrival, Content, OpShare, Order, Phase, Plan, Region, SCHEMA, Schedule, Share, Step,
    Stop, Until,
};

use crate::notation::{Pattern, TestSpec};

/// A named list of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// SEQ1M Q8T1, SEQ1M Q1T1, RND4K Q32T1, RND4K Q1T1.
    Default,
    /// SEQ1M Q8T1, SEQ128K Q32T1, RND4K Q32T16, RND4K Q1T1.
    Nvme,
    /// SEQ1M Q8T1, RND4K Q32T1.
    Peak,
    /// SEQ1M Q1T1, RND4K Q1T1.
    RealWorld,
    /// SEQ4K, SEQ8K and SEQ16K Q1T1: a database's log.
    Commit,
}

impl Profile {
    /// The tests of the profile, in the order shown.
    pub fn tests(self) -> Vec<TestSpec> {
        let test = |pattern, block, depth, threads| TestSpec { pattern, block, depth, threads };
        let seq = |block, depth| test(Pattern::Sequential, block, depth, 1);
        let rnd = |depth, threads| test(Pattern::Random, Bytes::kib(4), depth, threads);
        let (mib, kib) = (Bytes::mib(1), Bytes::kib(128));
        match self {
            Profile::Default => vec![seq(mib, 8), seq(mib, 1), rnd(32, 1), rnd(1, 1)],
            Profile::Nvme => vec![seq(mib, 8), seq(kib, 32), rnd(32, 16), rnd(1, 1)],
            Profile::Peak => vec![seq(mib, 8), rnd(32, 1)],
            Profile::RealWorld => vec![seq(mib, 1), rnd(1, 1)],
            Profile::Commit => [4, 8, 16].map(|block| seq(Bytes::kib(block), 1)).to_vec(),
        }
    }
}

/// Direction of a test's I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Direction {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads in this percentage of I/Os (1–99), writes in the others.
    Mix(u8),
    /// Writes that are durable when they complete, whatever the others are: what `fdatasync` after each write comes to.
    Commit,
}

impl Direction {
    /// The word in step names and in JSON.
    pub fn word(self) -> String {
        match self {
            Direction::Read => "read".to_owned(),
            Direction::Write => "write".to_owned(),
            Direction::Mix(reads) => format!("mix{reads}"),
            Direction::Commit => "commit".to_owned(),
        }
    }

    /// Reads what [`Direction::word`] writes, also the word that no user types; `None` of another.
    pub fn of_word(word: &str) -> Option<Direction> {
        match word {
            "commit" => Some(Direction::Commit),
            word => word.parse().ok(),
        }
    }

    /// I/O mix of this direction; with `fua`, writes are durable when they complete.
    pub(crate) fn ops(self, fua: bool) -> Vec<OpShare> {
        let share = |op, percent| OpShare { op, fua: fua && op == Op::Write, percent };
        match self {
            Direction::Read => vec![share(Op::Read, 100)],
            Direction::Write => vec![share(Op::Write, 100)],
            Direction::Mix(reads) => vec![share(Op::Read, reads), share(Op::Write, 100 - reads)],
            Direction::Commit => vec![OpShare { op: Op::Write, fua: true, percent: 100 }],
        }
    }
}

/// Reads what [`Direction::word`] writes.
impl FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> Result<Direction, String> {
        let share = |reads: &str| reads.parse::<u8>().ok().filter(|reads| (1..=99).contains(reads));
        match (text, text.strip_prefix("mix").and_then(share)) {
            ("read", _) => Ok(Direction::Read),
            ("write", _) => Ok(Direction::Write),
            (_, Some(reads)) => Ok(Direction::Mix(reads)),
            _ => Err(format!(
                "`{text}` is not an operation: write read, write or mix70 (70% reads; 1 to 99)"
            )),
        }
    }
}

impl TryFrom<String> for Direction {
    type Error = String;

    fn try_from(text: String) -> Result<Direction, String> {
        text.parse()
    }
}

impl From<Direction> for String {
    fn from(direction: Direction) -> String {
        direction.word()
    }
}

/// Time for runs beyond the planned ones, of tests that those leave undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deciding {
    /// None, as where the count of runs was asked for.
    Never,
    /// Half as much again as the planned runs take, and enough to triple the usual runs of one test.
    ByHalf,
    /// So that all runs together take about this long.
    Within(Nanos),
}

/// Options of a mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The tests, in the order shown.
    pub tests: Vec<TestSpec>,
    /// Directions of each test, in the order shown.
    pub directions: Vec<Direction>,
    /// Length of the measured phase of a run.
    pub duration: Nanos,
    /// Load before the measured phase, without a gap to it.
    pub warm_up: Nanos,
    /// Idle time before each run.
    pub pause: Nanos,
    /// Most time that a run in the wake of writes waits until the drive is as quick as before them; zero for none.
    pub settle: Nanos,
    /// Runs of each test; the least count under `until`.
    pub runs: u32,
    /// Runs of each test that are made and not counted.
    pub discard_first: u32,
    /// Order of the runs.
    pub order: Order,
    /// Most time for the cache probe, which runs after the measurement where it decides; zero for never.
    pub cache_probe: Nanos,
    /// Adds runs until the medians are this precise.
    pub until: Option<Until>,
    /// Tests that `runs` leave undecided get more of them.
    pub decides: Deciding,
    /// A measured phase of one submitter lasts until this many I/Os have completed, up to [`Stop::LONGEST`] times its time.
    pub at_least_ios: Option<u64>,
    /// Root of all randomness.
    pub seed: u64,
    /// Part of the target to use; all of it when absent.
    pub region: Option<Region>,
    /// Content of writes.
    pub content: Content,
    /// Writes carry FUA: each is durable when it completes.
    pub durable: bool,
    /// How submitters share a sequential region.
    pub share: Share,
}

impl Default for Options {
    /// The default mark, with seed 0.
    fn default() -> Options {
        Options {
            tests: Profile::Default.tests(),
            directions: vec![Direction::Read, Direction::Write],
            duration: Options::DURATION,
            warm_up: Options::WARM_UP,
            pause: Options::PAUSE,
            settle: Options::SETTLE,
            runs: Options::RUNS,
            discard_first: 0,
            order: Order::ReadsFirst,
            cache_probe: Schedule::CACHE_PROBE,
            until: None,
            decides: Deciding::ByHalf,
            at_least_ios: Some(Options::AT_LEAST_IOS),
            seed: 0,
            region: None,
            content: Content::default(),
            durable: false,
            share: Share::Partition,
        }
    }
}

/// Time within which tests are to be decided, flushes after the last run not counted.
const DECIDED_WITHIN: Nanos = Nanos::secs(285);

/// Runs that a test may get beyond six.
const MORE_RUNS: u64 = 12;

impl Options {
    /// Length of the measured phase by default: 48 runs of the default profile stay under 4 minutes.
    pub const DURATION: Nanos = Nanos::secs(3);
    /// Warm-up by default.
    pub const WARM_UP: Nanos = Nanos::millis(1_000);
    /// Idle time before a run by default: lets the drive finish what the run before left it.
    pub const PAUSE: Nanos = Nanos::millis(200);
    /// Longest wait for an idle drive by default: what most drives need to empty their memory.
    pub const SETTLE: Nanos = Nanos::secs(5);
    /// The fewest runs that have a 95% interval of the median.
    pub const RUNS: u32 = 6;
    /// I/Os of which one more or less, at the end of a run, is under 2%.
    pub const AT_LEAST_IOS: u64 = 64;
    /// Length of the measured phase with `--quick`.
    pub const QUICK_DURATION: Nanos = Nanos::millis(500);
    /// Warm-up with `--quick`.
    pub const QUICK_WARM_UP: Nanos = Nanos::millis(100);
    /// Longest wait for an idle drive with `--quick`.
    pub const QUICK_SETTLE: Nanos = Nanos::secs(1);
    /// Idle time with `--quick`.
    pub const QUICK_PAUSE: Nanos = Nanos::millis(50);

    /// The plan that does this.
    pub fn plan(&self) -> Plan {
        let steps: Vec<Step> = self
            .directions
            .iter()
            .flat_map(|d| self.tests.iter().map(|t| self.step(*t, *d)))
            .collect();
        let runs = u64::from(self.runs) + u64::from(self.discard_first);
        let planned = self.run_time(runs.saturating_mul(steps.len() as u64));
        Plan {
            schema: SCHEMA.to_owned(),
            seed: self.seed,
            region: self.region,
            content: self.content,
            schedule: Schedule {
                runs: self.runs,
                order: self.order,
                discard_first: self.discard_first,
                pause: self.pause,
                settle: self.settle,
                cache_probe: self.cache_probe,
                decide_within: match self.decides {
                    _ if self.until.is_some() => Nanos::ZERO,
                    Deciding::Never => Nanos::ZERO,
                    Deciding::ByHalf => {
                        let more = (planned.0 / 2).max(self.run_time(MORE_RUNS).0);
                        let all = Nanos(planned.0.saturating_add(more));
                        all.min(planned.max(DECIDED_WITHIN))
                    }
                    Deciding::Within(span) => span,
                },
                write_budget: None,
                until: self.until,
            },
            steps,
        }
    }

    /// Time that this number of runs takes.
    fn run_time(&self, runs: u64) -> Nanos {
        let one = self.pause + self.warm_up + self.duration;
        Nanos(one.0.saturating_mul(runs))
    }

    fn step(&self, test: TestSpec, direction: Direction) -> Step {
        let phase = |name: &str, measured, after| Phase {
            name: name.to_owned(),
            measured,
            block: test.block,
            address: match test.pattern {
                Pattern::Sequential => Address::Sequential { share: self.share },
                Pattern::Random => Address::Random,
            },
            stop: Stop { after: Some(after), ..Stop::default() },
            arrival: Arrival::ClosedLoop { depth: test.depth },
            ops: direction.ops(self.durable),
            region: None,
            blocks: Vec::new(),
        };
        let mut phases = Vec::new();
        if self.warm_up > Nanos::ZERO {
            phases.push(phase("warm-up", false, self.warm_up));
        }
        let mut measure = phase("measure", true, self.duration);
        // Submitters that were put off apart would measure each other's end.
        measure.stop.at_least_ios = self.at_least_ios.filter(|_| test.threads == 1);
        phases.push(measure);
        if direction != Direction::Read {
            phases.push(Phase {
                name: "flush".to_owned(),
                measured: false,
                stop: Stop { ios: Some(u64::from(test.threads)), ..Stop::default() },
                ops: vec![OpShare { op: Op::Flush, fua: false, percent: 100 }],
                ..phase("", false, Nanos::ZERO)
            });
        }
        let name = format!("{test} {}", direction.word());
        Step { name, submitters: test.threads, order: None, engine: None, phases }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        Options {
            tests: Profile::Nvme.tests(),
            directions: vec![Direction::Read, Direction::Write, Direction::Mix(70)],
            duration: Options::DURATION,
            warm_up: Options::WARM_UP,
            pause: Options::PAUSE,
            settle: Options::SETTLE,
            runs: Options::RUNS,
            discard_first: 0,
            order: Order::Interleaved,
            cache_probe: Schedule::CACHE_PROBE,
            until: None,
            decides: Deciding::ByHalf,
            at_least_ios: Some(Options::AT_LEAST_IOS),
            seed: 7,
            region: None,
            content: Content::default(),
            durable: false,
            share: Share::Partition,
        }
    }

    #[test]
    fn every_profile_makes_a_plan_that_prints_and_reads_back() {
        for profile in
            [Profile::Default, Profile::Nvme, Profile::Peak, Profile::RealWorld, Profile::Commit]
        {
            let plan = Options { tests: profile.tests(), ..options() }.plan();
            let text = plan.to_toml().unwrap();
            assert_eq!(Plan::from_toml(&text).unwrap(), plan, "{text}");
        }
    }

    #[test]
    fn the_default_grid_is_planned_under_four_minutes() {
        let mut options = options();
        options.tests = Profile::Default.tests();
        options.directions = vec![Direction::Read, Direction::Write];
        let plan = options.plan();
        let one: Nanos = plan
            .steps
            .iter()
            .map(|s| {
                options.pause + s.phases[0].stop.after.unwrap() + s.phases[1].stop.after.unwrap()
            })
            .sum();
        // 40 s are left for filling the test file, flushes and the calibration.
        assert!(Nanos(one.0 * u64::from(options.runs)) <= Nanos::secs(205), "{one}");
        // Those that are left undecided have their answer within about five.
        assert!(plan.schedule.decide_within <= Nanos::secs(300), "{plan:?}");
    }

    #[test]
    fn only_plans_with_writes_alter_the_target() {
        let reading = Options { directions: vec![Direction::Read], ..options() };
        assert!(!reading.plan().alters());
        assert!(options().plan().alters());
    }
}
