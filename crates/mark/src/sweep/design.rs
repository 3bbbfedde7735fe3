//! From what is varied to settings, and to one plan of all of them.

use block::{Bytes, EngineKind, Nanos, Op};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use workload::plan::{Order, Plan, Region, Step};

use super::vary::{Factor, Level, Vary};
use crate::notation::{Pattern, TestSpec};
use crate::options::{Deciding, Direction, Options};

/// Design of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The factors, in the order named; each once.
    pub vary: Vec<Vary>,
    /// True when each factor is varied about the base, false when all levels of all meet.
    pub one_at_a_time: bool,
    /// Levels of the factors that are not varied; the base if one factor is varied at a time.
    pub base: Load,
}

/// Everything that a sweep can vary, at one level each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Access pattern.
    pub pattern: Pattern,
    /// Size of a transfer.
    #[serde(rename = "block_bytes", alias = "block")]
    pub block: Bytes,
    /// Outstanding I/Os per thread.
    pub depth: u16,
    /// Submitters.
    pub threads: u16,
    /// Direction of the I/O.
    pub op: Direction,
    /// Size of the part of the target that is used, from the beginning of the region; all of it when absent.
    #[serde(rename = "size_bytes", alias = "size")]
    pub size: Option<Bytes>,
    /// Load before the measured time.
    #[serde(rename = "warm_up_ns", alias = "warm_up")]
    pub warm_up: Nanos,
    /// Measured time.
    #[serde(rename = "duration_ns", alias = "duration")]
    pub duration: Nanos,
    /// Whether all runs follow each other.
    pub order: Order,
    /// How requests reach the kernel; absent where that is not varied, and as the run has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineKind>,
}

/// One combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// `depth=4 threads=1`, or `base`; unique.
    pub name: String,
    /// All of its levels.
    pub load: Load,
    /// Index of its level, by factor.
    pub levels: Vec<usize>,
}

/// A sweep that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SweepError {
    /// Nothing is varied.
    #[error("nothing is varied: add such as --vary depth=1,2,4..32")]
    Nothing,
    /// A factor is named twice.
    #[error("{0} is varied twice: name all its levels in one --vary")]
    Twice(&'static str),
    /// More settings than are kept apart.
    #[error(
        "{0} settings are too many (at most {most}): take fewer levels, or --one-at-a-time",
        most = Sweep::SETTINGS_MAX
    )]
    TooMany(usize),
}

impl Load {
    /// As the familiar notation has it.
    pub fn test(&self) -> TestSpec {
        TestSpec {
            pattern: self.pattern,
            block: self.block,
            depth: self.depth,
            threads: self.threads,
        }
    }

    /// The level of a factor; `None` of a size that is all there is, and of an engine that is the run's.
    pub fn level(&self, factor: Factor) -> Option<Level> {
        Some(match factor {
            Factor::Pattern => Level::Pattern(self.pattern),
            Factor::Block => Level::Block(self.block),
            Factor::Depth => Level::Depth(self.depth),
            Factor::Threads => Level::Threads(self.threads),
            Factor::Op => Level::Op(self.op),
            Factor::Size => Level::Size(self.size?),
            Factor::WarmUp => Level::WarmUp(self.warm_up),
            Factor::Duration => Level::Duration(self.duration),
            Factor::Order => Level::Order(self.order),
            Factor::Engine => Level::Engine(self.engine?),
        })
    }

    fn set(&mut self, level: Level) {
        match level {
            Level::Pattern(pattern) => self.pattern = pattern,
            Level::Block(block) => self.block = block,
            Level::Depth(depth) => self.depth = depth,
            Level::Threads(threads) => self.threads = threads,
            Level::Op(op) => self.op = op,
            Level::Size(size) => self.size = Some(size),
            Level::WarmUp(time) => self.warm_up = time,
            Level::Duration(time) => self.duration = time,
            Level::Order(order) => self.order = order,
            Level::Engine(engine) => self.engine = Some(engine),
        }
    }
}

impl Sweep {
    /// Most settings: each has proofs and runs of its own.
    pub const SETTINGS_MAX: usize = 10_000;

    /// A sweep of these factors. One at a time, the base's own level is the first of each factor, and is added where it was
    /// not named; a size has to be named, since it has no other base.
    ///
    /// # Errors
    /// [`SweepError`].
    pub fn new(vary: Vec<Vary>, one_at_a_time: bool, base: Load) -> Result<Sweep, SweepError> {
        if vary.is_empty() {
            return Err(SweepError::Nothing);
        }
        for (index, one) in vary.iter().enumerate() {
            if vary[..index].iter().any(|other| other.factor == one.factor) {
                return Err(SweepError::Twice(one.factor.word()));
            }
        }
        let mut sweep = Sweep { vary, one_at_a_time, base };
        if one_at_a_time {
            for vary in &mut sweep.vary {
                let Some(own) = sweep.base.level(vary.factor) else {
                    sweep.base.set(vary.levels[0]);
                    continue;
                };
                vary.levels.retain(|level| *level != own);
                vary.levels.insert(0, own);
            }
        }
        let count = sweep.count();
        match count {
            0..=Sweep::SETTINGS_MAX => Ok(sweep),
            _ => Err(SweepError::TooMany(count)),
        }
    }

    /// How many settings it has.
    fn count(&self) -> usize {
        let levels = self.vary.iter().map(|vary| vary.levels.len());
        match self.one_at_a_time {
            true => 1 + levels.map(|count| count - 1).sum::<usize>(),
            false => levels.fold(1, usize::saturating_mul),
        }
    }

    /// The settings: all combinations, the last factor fastest; or the base, and each other level of each factor.
    pub fn settings(&self) -> Vec<Setting> {
        let none = vec![0; self.vary.len()];
        if self.one_at_a_time {
            let others = self.vary.iter().enumerate().flat_map(|(factor, vary)| {
                let none = &none;
                (1..vary.levels.len()).map(move |level| {
                    let mut levels = none.clone();
                    levels[factor] = level;
                    levels
                })
            });
            let all = std::iter::once(none.clone()).chain(others);
            return all.map(|levels| self.setting(levels)).collect();
        }
        let combination = |index: usize| {
            let mut left = index;
            let mut levels = none.clone();
            for (factor, vary) in self.vary.iter().enumerate().rev() {
                levels[factor] = left % vary.levels.len();
                left /= vary.levels.len();
            }
            self.setting(levels)
        };
        (0..self.count()).map(combination).collect()
    }

    fn setting(&self, levels: Vec<usize>) -> Setting {
        let mut load = self.base;
        let mut words = Vec::new();
        for (vary, level) in self.vary.iter().zip(&levels) {
            load.set(vary.levels[*level]);
            if !self.one_at_a_time || *level > 0 {
                words.push(format!("{}={}", vary.factor.word(), vary.levels[*level]));
            }
        }
        let name = if words.is_empty() { "base".to_owned() } else { words.join(" ") };
        Setting { name, load, levels }
    }

    /// True when `factor` has several levels.
    pub fn varies(&self, factor: Factor) -> bool {
        self.vary.iter().any(|vary| vary.factor == factor)
    }

    /// True when some setting writes.
    pub fn alters(&self) -> bool {
        self.settings().iter().any(|setting| setting.load.op != Direction::Read)
    }

    /// The largest size that is varied to, or that all settings have.
    pub fn size_max(&self) -> Option<Bytes> {
        let sizes = self.settings().into_iter().map(|setting| setting.load.size);
        sizes.max().flatten()
    }

    /// One plan of all settings, each a step of its name. `common` says what is the same in all of them: runs, pauses,
    /// seed, content, durability.
    ///
    /// Where runs of a setting follow each other, settings come in an order that is drawn: that of their levels would be
    /// taken for what time does.
    pub fn plan(&self, common: &Options) -> Plan {
        let is_plain = !self.varies(Factor::Order) && self.base.order == Order::Interleaved;
        let step = |setting: Setting| {
            let order = (!is_plain).then_some(setting.load.order);
            Step { order, ..step(setting, common) }
        };
        let region = self.size_max().map(|length| Region { offset: Bytes::ZERO, length });
        let steps = self.settings().into_iter().map(step).collect();
        let plan = Options {
            order: Order::Interleaved,
            until: None,
            decides: Deciding::Never,
            region,
            ..common.clone()
        };
        Plan { steps, ..Options { tests: Vec::new(), ..plan }.plan() }
    }

    /// How long the runs of `plan` take: warm-up, measured time and pauses, without flushes and what a test file takes.
    pub fn time(plan: &Plan) -> Nanos {
        let runs = u64::from(plan.schedule.runs) + u64::from(plan.schedule.discard_first);
        let each = plan.steps.iter().map(|step| step.planned_at_least() + plan.schedule.pause);
        let once: Nanos = each.sum();
        Nanos(once.0.saturating_mul(runs))
    }
}

fn step(setting: Setting, common: &Options) -> Step {
    let Load { op, size, warm_up, duration, .. } = setting.load;
    let one = Options {
        tests: vec![setting.load.test()],
        directions: vec![op],
        warm_up,
        duration,
        ..common.clone()
    };
    let mut step = one.plan().steps.remove(0);
    (step.name, step.engine) = (setting.name, setting.load.engine);
    if let Some(length) = size {
        let moves = |op: Op| op != Op::Flush;
        for phase in &mut step.phases {
            if phase.ops.iter().any(|share| moves(share.op)) {
                phase.region = Some(Region { offset: Bytes::ZERO, length });
            }
        }
    }
    step
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use workload::schedule::schedule;

    use super::*;

    fn base() -> Load {
        Load {
            pattern: Pattern::Random,
            block: Bytes::kib(4),
            depth: 1,
            threads: 1,
            op: Direction::Read,
            size: None,
            warm_up: Nanos::millis(100),
            duration: Nanos::millis(500),
            order: Order::Interleaved,
            engine: None,
        }
    }

    fn sweep(vary: &[&str], one_at_a_time: bool) -> Result<Sweep, SweepError> {
        let vary = vary.iter().map(|text| text.parse().unwrap()).collect();
        Sweep::new(vary, one_at_a_time, base())
    }

    fn common(runs: u32) -> Options {
        Options { runs, discard_first: 1, seed: 7, ..Options::default() }
    }

    #[test]
    fn all_levels_meet_once() {
        let sweep = sweep(&["depth=1,2,4", "op=read,write", "size=1M,2M,4M,8M"], false).unwrap();
        let settings = sweep.settings();
        assert_eq!(settings.len(), 24);
        assert_eq!(settings[1].name, "depth=1 op=read size=2MiB");
        let names: HashSet<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
        let levels: HashSet<&[usize]> = settings.iter().map(|s| s.levels.as_slice()).collect();
        assert_eq!((names.len(), levels.len()), (24, 24));
        assert!(sweep.alters());
        assert_eq!(sweep.size_max(), Some(Bytes::mib(8)));
    }

    #[test]
    fn one_at_a_time_goes_about_the_base() {
        let sweep = sweep(&["depth=2,1,4", "size=1M,2M", "warm-up=0,5"], true).unwrap();
        let names: Vec<String> = sweep.settings().into_iter().map(|s| s.name).collect();
        let expected = ["base", "depth=2", "depth=4", "size=2MiB", "warm-up=0s", "warm-up=5s"];
        assert_eq!(names, expected);
        assert_eq!(sweep.base.size, Some(Bytes::mib(1)));
    }

    #[test]
    fn what_cannot_be_swept_is_refused() {
        assert_eq!(sweep(&[], false), Err(SweepError::Nothing));
        assert_eq!(sweep(&["depth=1,2", "depth=4,8"], false), Err(SweepError::Twice("depth")));
        let wide = ["depth=1..101/1", "threads=1..101/1"];
        assert_eq!(sweep(&wide, false), Err(SweepError::TooMany(10_201)));
        assert!(sweep(&wide, true).is_ok());
    }

    // Breaks when a setting lacks runs, a block lacks settings, or a seed does not make the same design again.
    #[test]
    fn every_block_is_complete_and_a_seed_makes_it_again() {
        let sweep = sweep(&["depth=1,2,4", "op=read,write"], false).unwrap();
        let plan = sweep.plan(&common(5));
        plan.check().unwrap();
        assert_eq!(Plan::from_toml(&plan.to_toml().unwrap()).unwrap(), plan);
        let slots: Vec<_> = schedule(&plan).collect();
        assert_eq!(slots.len(), 36);
        for (block, slots) in slots.chunks(6).enumerate() {
            let steps: HashSet<usize> = slots.iter().map(|slot| slot.step).collect();
            assert!(steps.len() == 6 && slots.iter().all(|slot| slot.run as usize == block));
        }
        assert_eq!(schedule(&sweep.plan(&common(5))).collect::<Vec<_>>(), slots);
        let other = sweep.plan(&Options { seed: 8, ..common(5) });
        assert_ne!(
            schedule(&other).map(|s| s.step).collect::<Vec<_>>(),
            slots.iter().map(|s| s.step).collect::<Vec<_>>()
        );
        // 6 runs of 6 settings of 600 ms, and the pauses.
        assert_eq!(Sweep::time(&plan), Nanos::millis(36 * (600 + 200)));
    }

    #[test]
    fn both_orders_are_in_one_plan() {
        let sweep = sweep(&["order=blocked,interleaved", "depth=1,2"], false).unwrap();
        let plan = sweep.plan(&common(4));
        plan.check().unwrap();
        let slots: Vec<_> =
            schedule(&plan).map(|slot| (plan.steps[slot.step].order, slot.step)).collect();
        assert_eq!(slots.len(), 20);
        let blocked = slots.iter().position(|slot| slot.0 == Some(Order::Blocked)).unwrap();
        assert_eq!(blocked, 6, "half of the blocks come before");
        assert!(slots[6..11].iter().all(|slot| slot == &slots[6]), "{slots:?}");
        let base = Load { order: Order::Blocked, ..base() };
        let all = Sweep::new(vec!["depth=1,2".parse().unwrap()], false, base).unwrap();
        assert!(all.plan(&common(4)).steps.iter().all(|step| step.order == Some(Order::Blocked)));
    }

    #[test]
    fn each_setting_issues_what_its_levels_say() {
        let sweep = sweep(
            &["block=4K,64K", "threads=1,2", "size=1M,2M", "warm-up=0,1", "op=read,mix30"],
            false,
        )
        .unwrap();
        let plan = sweep.plan(&common(1));
        assert_eq!(plan.region.map(|region| region.length), Some(Bytes::mib(2)));
        for (step, setting) in plan.steps.iter().zip(sweep.settings()) {
            let load = setting.load;
            let measured = step.phases.iter().find(|phase| phase.measured).unwrap();
            assert_eq!(step.submitters, load.threads);
            assert_eq!(measured.block, load.block);
            assert_eq!(measured.region.map(|region| region.length), load.size);
            assert_eq!(measured.stop.after, Some(load.duration));
            assert_eq!(step.phases[0].measured, load.warm_up == Nanos::ZERO);
            assert_eq!(step.writes(), load.op != Direction::Read);
        }
    }

    #[test]
    fn a_sweep_is_read_back_from_its_record() {
        let sweep = sweep(&["depth=1..32", "op=read,mix70", "warm-up=0,5,10"], false).unwrap();
        let json = serde_json::to_string(&sweep).unwrap();
        assert_eq!(serde_json::from_str::<Sweep>(&json).unwrap(), sweep, "{json}");
    }
}
