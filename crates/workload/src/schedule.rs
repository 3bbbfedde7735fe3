//! Order and seeds of the runs of a plan's steps.

use block::Nanos;

use crate::plan::{Order, Phase, Plan};
use crate::rng::{Rng, mix, purpose};

/// One run of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Place in the schedule, from 0.
    pub position: u32,
    /// Index of the step in [`Plan::steps`].
    pub step: usize,
    /// Number of the step's repetition, from 0; those that are not counted have the lowest numbers.
    pub run: u32,
    /// False for a run whose numbers are kept and not used.
    pub counted: bool,
    /// Root of the run's random streams.
    ///
    /// Derived from the plan's seed, the step's name and the run alone: it differs in every run, so
    /// that no run reads what the one before left in the drive's cache, and stays the same when
    /// steps are added, left out or put in another order.
    pub seed: u64,
}

/// The runs of `plan`, in order.
///
/// [`Order::Interleaved`] gives randomised complete blocks: each block has every step once, in a new
/// random order, so that a drift of the drive affects all steps alike. [`Order::ReadsFirst`] gives such
/// blocks of the steps that only read, and then of the others. [`Order::Blocked`] gives all runs of a step
/// before those of the next. Runs that are not counted come first: the first blocks, or the first runs of
/// each step.
///
/// Without a stop rule the schedule ends. With `schedule.until` it has no end, and the caller stops;
/// beyond the least count a blocked schedule continues in rounds of one run of each step in the plan's
/// order, since only the caller knows which step needs more runs, after the fact.
///
/// Where a step has an order of its own, so that both orders are in one plan: first the blocks of the
/// interleaved steps until half of their counted runs are made, then all runs of each blocked step, the
/// steps in an order that is drawn, and then the blocks that are left. So both kinds lie around the same
/// moment, and what changes steadily with time falls on both alike.
///
/// With `schedule.decide_within`, [`Schedule::next_with`] adds rounds of the steps that need more runs: of those that only read
/// before the others begin, where they come first.
pub fn schedule(plan: &Plan) -> Schedule {
    let steps = plan.steps.len();
    let runs = plan.schedule.runs.saturating_add(plan.schedule.discard_first);
    Schedule {
        root: plan.seed,
        names: plan.steps.iter().map(|step| name_key(&step.name)).collect(),
        blocked: plan.schedule.order == Order::Blocked,
        reading: reading(plan),
        endless: plan.schedule.until.is_some(),
        discard_first: plan.schedule.discard_first,
        least: u32::try_from(steps as u64 * u64::from(runs)).unwrap_or(u32::MAX),
        runs,
        laid_out: laid_out(plan, runs),
        next: 0,
        planned: 0,
        block: (0..steps).collect(),
        adds: plan.schedule.decide_within > Nanos::ZERO,
        added: vec![0; steps],
        round: Vec::new(),
    }
}

/// Step and run of each position, where steps have orders of their own; empty where none has.
fn laid_out(plan: &Plan, runs: u32) -> Vec<(usize, u32)> {
    let all = u64::from(runs).saturating_mul(plan.steps.len() as u64);
    if plan.steps.iter().all(|step| step.order.is_none()) || all > Plan::LAID_OUT_MAX {
        return Vec::new();
    }
    let order = |step: &usize| plan.steps[*step].order.unwrap_or(plan.schedule.order);
    let (mut blocked, interleaved): (Vec<usize>, Vec<usize>) =
        (0..plan.steps.len()).partition(|step| order(step) == Order::Blocked);
    // No block of steps has this number.
    Rng::for_path(plan.seed, &[purpose::ORDER, u64::MAX]).shuffle(&mut blocked);
    let half = plan.schedule.discard_first.saturating_add(plan.schedule.runs.div_ceil(2));
    let round = |round: u32| {
        let mut block = interleaved.clone();
        Rng::for_path(plan.seed, &[purpose::ORDER, u64::from(round)]).shuffle(&mut block);
        block.into_iter().map(move |step| (step, round))
    };
    let before = (0..half).flat_map(round);
    let between = blocked.iter().flat_map(|&step| (0..runs).map(move |run| (step, run)));
    let after = (half..runs).flat_map(round);
    before.chain(between).chain(after).collect()
}

/// The steps that only read, where they come first.
fn reading(plan: &Plan) -> Vec<usize> {
    let reads = |step: &usize| !plan.steps[*step].phases.iter().any(Phase::alters);
    let is_first = plan.schedule.order == Order::ReadsFirst;
    (0..plan.steps.len()).filter(|_| is_first).filter(reads).collect()
}

/// A step's name as one path element: FNV-1a over its bytes, mixed.
fn name_key(name: &str) -> u64 {
    mix(name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    }))
}

/// The iterator that [`schedule`] returns.
#[derive(Clone, Debug)]
pub struct Schedule {
    root: u64,
    names: Vec<u64>,
    blocked: bool,
    /// Steps that come before all others.
    reading: Vec<usize>,
    endless: bool,
    discard_first: u32,
    runs: u32,
    least: u32,
    /// Step and run of each position, where they do not follow from it.
    laid_out: Vec<(usize, u32)>,
    next: u32,
    /// Planned runs so far.
    planned: u32,
    /// Order of the steps in the current block.
    block: Vec<usize>,
    /// Steps may get more runs than planned.
    adds: bool,
    /// Runs beyond the planned ones, by step.
    added: Vec<u32>,
    /// Steps that are left of a round of such runs.
    round: Vec<usize>,
}

impl Schedule {
    /// Count of positions known so far: all of them, or, under a stop rule, the least count and then
    /// the end of the block that the last slot came from.
    pub fn len_known(&self) -> u32 {
        if self.adds {
            let added: u32 = self.added.iter().sum();
            return self.least.saturating_add(added + self.round.len() as u32);
        }
        let steps = self.names.len().max(1) as u64;
        let begun = u64::from(self.next).div_ceil(steps) * steps;
        self.least.max(u32::try_from(begun).unwrap_or(u32::MAX))
    }

    /// True when only the caller ends it.
    pub fn is_endless(&self) -> bool {
        self.endless
    }
}

impl Schedule {
    /// Step and run of a position in blocks that have each step once, or each step of a part of the plan.
    fn interleaved(&mut self, position: u32) -> (usize, u32) {
        let all: Vec<usize> = (0..self.names.len()).collect();
        let (reading, altering): (Vec<usize>, Vec<usize>) =
            all.iter().partition(|step| self.reading.contains(step));
        let reads = (reading.len() as u32).saturating_mul(self.runs);
        let (steps, position) = match position {
            at if at >= self.least => (all, at),
            at if at < reads => (reading.clone(), at),
            at => (altering, at - reads),
        };
        let count = steps.len() as u32;
        let (round, within) = (position / count, position % count);
        if within == 0 {
            self.block = steps;
            Rng::for_path(self.root, &[purpose::ORDER, u64::from(round)]).shuffle(&mut self.block);
            // Stable: what was drawn stays within both parts.
            self.block.sort_by_key(|step| !self.reading.contains(step));
        }
        (self.block[within as usize], round)
    }
}

impl Schedule {
    /// The next run. `needs_more` is asked of each step before each round of runs beyond the planned ones.
    pub fn next_with(&mut self, needs_more: &mut dyn FnMut(usize) -> bool) -> Option<Slot> {
        let position = self.next;
        if position == u32::MAX {
            return None;
        }
        let (step, run) = match self.more(needs_more) {
            Some(more) => more,
            None => self.planned_run()?,
        };
        self.next += 1;
        let seed =
            Rng::for_path(self.root, &[purpose::RUN, self.names[step], u64::from(run)]).next_u64();
        Some(Slot { position, step, run, counted: run >= self.discard_first, seed })
    }

    /// A run beyond the planned ones, where those of the reading steps or of all are over.
    fn more(&mut self, needs_more: &mut dyn FnMut(usize) -> bool) -> Option<(usize, u32)> {
        let reads = (self.reading.len() as u32).saturating_mul(self.runs);
        let is_reading = self.planned == reads && reads > 0;
        if !self.adds || !(is_reading || self.planned == self.least) {
            return None;
        }
        if self.round.is_empty() {
            let is_of_part =
                |step: &usize| self.reading.is_empty() || self.reading.contains(step) == is_reading;
            let all = 0..self.names.len();
            self.round = all.filter(is_of_part).filter(|step| needs_more(*step)).collect();
            Rng::for_path(self.root, &[purpose::ORDER, MORE, u64::from(self.next)])
                .shuffle(&mut self.round);
        }
        let step = self.round.pop()?;
        self.added[step] += 1;
        Some((step, self.runs + self.added[step] - 1))
    }

    fn planned_run(&mut self) -> Option<(usize, u32)> {
        let at = self.planned;
        let steps = u32::try_from(self.names.len()).ok().filter(|n| *n > 0)?;
        if at >= self.least && !self.endless {
            return None;
        }
        self.planned += 1;
        Some(if let Some(slot) = self.laid_out.get(at as usize) {
            *slot
        } else if !self.blocked {
            self.interleaved(at)
        } else if at < self.least {
            ((at / self.runs) as usize, at % self.runs)
        } else {
            ((at % steps) as usize, at / steps)
        })
    }
}

/// Stream of the order of runs beyond the planned ones; no block of steps has this number.
const MORE: u64 = u64::MAX - 1;

impl Iterator for Schedule {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        self.next_with(&mut |_| false)
    }
}

impl std::iter::FusedIterator for Schedule {}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::plan::Until;

    fn plan(steps: &[&str], runs: u32, discard_first: u32, order: Order) -> Plan {
        let mut text = String::from("schema = \"drivescope.plan/1\"\nseed = 11\n");
        for name in steps {
            text += &format!(
                r#"
                [[step]]
                name = "{name}"
                submitters = 1
                [[step.phase]]
                name = "all"
                measured = true
                block = "4KiB"
                address = {{ pattern = "random" }}
                stop = {{ ios = 1 }}
                arrival = {{ kind = "closed_loop", depth = 1 }}
                ops = [{{ op = "read", percent = 100 }}]
                "#
            );
        }
        let mut plan = Plan::from_toml(&text).unwrap();
        plan.schedule.runs = runs;
        plan.schedule.discard_first = discard_first;
        plan.schedule.order = order;
        plan
    }

    fn endless(mut plan: Plan) -> Plan {
        plan.schedule.until = Some(Until { half_width_percent: 2.0, budget: Nanos::secs(300) });
        plan
    }

    #[test]
    fn each_block_of_an_interleaved_schedule_has_every_step_once() {
        let slots: Vec<Slot> =
            schedule(&plan(&["a", "b", "c"], 6, 2, Order::Interleaved)).collect();
        assert_eq!(slots.len(), 24);
        for (round, block) in slots.chunks(3).enumerate() {
            let steps: HashSet<usize> = block.iter().map(|s| s.step).collect();
            assert_eq!(steps.len(), 3, "round {round}");
            assert!(block.iter().all(|s| s.run as usize == round && s.counted == (round >= 2)));
        }
        assert!(slots.iter().enumerate().all(|(i, s)| s.position as usize == i));
        let orders: HashSet<Vec<usize>> =
            slots.chunks(3).map(|block| block.iter().map(|s| s.step).collect()).collect();
        assert!(orders.len() > 2, "the order is drawn for each block: {orders:?}");
    }

    // Breaks when reads that need more runs are made in the wake of writes, or a step gets a run that was not asked for.
    #[test]
    fn more_runs_come_where_their_part_ends() {
        let mut plan = plan(&["a", "b", "c", "d"], 3, 0, Order::ReadsFirst);
        for step in [0, 2] {
            plan.steps[step].phases[0].ops[0].op = block::Op::Write;
        }
        plan.schedule.decide_within = Nanos::secs(300);
        let mut slots = schedule(&plan);
        let mut asked = [0; 4];
        // b needs two more runs, c one, and d one.
        let mut needs_more = |step: usize| {
            asked[step] += 1;
            asked[step] <= [0, 2, 1, 1][step]
        };
        let mut made: Vec<Slot> = Vec::new();
        while let Some(slot) = slots.next_with(&mut needs_more) {
            made.push(slot);
        }
        let of = |step: usize| made.iter().filter(move |slot| slot.step == step);
        assert_eq!([0, 1, 2, 3].map(|step| of(step).count()), [3, 5, 4, 4]);
        assert!((0..4).all(|step| of(step).zip(0..).all(|(slot, run)| slot.run == run)));
        assert!(made.iter().zip(0..).all(|(slot, position)| slot.position == position));
        assert_eq!(slots.len_known(), 16);
        let first_write = made.iter().position(|slot| slot.step % 2 == 0).unwrap();
        assert!(made[first_write..].iter().all(|slot| slot.step % 2 == 0));
        let seeds: HashSet<u64> = made.iter().map(|slot| slot.seed).collect();
        assert_eq!(seeds.len(), 16);
        // The runs that were planned come as they would without.
        let without = Plan {
            schedule: crate::plan::Schedule { decide_within: Nanos::ZERO, ..plan.schedule.clone() },
            ..plan
        };
        let key = |slot: &Slot| (slot.step, slot.run, slot.seed);
        let planned: Vec<_> = schedule(&without).map(|slot| key(&slot)).collect();
        let these: Vec<_> = made.iter().filter(|slot| slot.run < 3).map(key).collect();
        assert_eq!(these, planned);
    }

    #[test]
    fn reads_come_before_all_that_alters() {
        let mut plan = plan(&["a", "b", "c", "d"], 3, 1, Order::ReadsFirst);
        for step in [0, 2] {
            plan.steps[step].phases[0].ops[0].op = block::Op::Write;
        }
        let slots: Vec<Slot> = schedule(&plan).collect();
        assert_eq!(slots.len(), 16);
        for (round, block) in slots.chunks(2).enumerate() {
            let steps: HashSet<usize> = block.iter().map(|s| s.step).collect();
            let wanted = if round < 4 { [1, 3] } else { [0, 2] };
            assert_eq!(steps, HashSet::from(wanted), "round {round}");
            assert!(block.iter().all(|s| s.run as usize == round % 4 && s.counted == (s.run >= 1)));
        }
        let orders: HashSet<Vec<usize>> =
            slots.chunks(2).map(|block| block.iter().map(|s| s.step).collect()).collect();
        assert!(orders.len() > 2, "the order within a part is drawn: {orders:?}");
        for block in
            schedule(&endless(plan.clone())).skip(16).take(40).collect::<Vec<_>>().chunks(4)
        {
            let parts: Vec<bool> = block.iter().map(|s| [1, 3].contains(&s.step)).collect();
            assert_eq!(
                parts,
                [true, true, false, false],
                "each further round begins with the reads"
            );
        }
        for op in [block::Op::Read, block::Op::Write] {
            plan.steps.iter_mut().for_each(|step| step.phases[0].ops[0].op = op);
            let alike = schedule(&plan).map(|s| (s.step, s.seed)).collect::<Vec<_>>();
            plan.schedule.order = Order::Interleaved;
            assert_eq!(schedule(&plan).map(|s| (s.step, s.seed)).collect::<Vec<_>>(), alike);
            plan.schedule.order = Order::ReadsFirst;
        }
    }

    #[test]
    fn a_blocked_schedule_finishes_a_step_before_the_next() {
        let all = schedule(&plan(&["a", "b"], 2, 1, Order::Blocked));
        let slots: Vec<_> = all.map(|s| (s.step, s.run, s.counted)).collect();
        let step = |n| [(n, 0, false), (n, 1, true), (n, 2, true)];
        assert_eq!(slots, [step(0), step(1)].concat());
    }

    // Breaks when one of the two orders has the earlier or the later half to itself, or loses a run.
    #[test]
    fn steps_with_orders_of_their_own_lie_around_the_same_moment() {
        let mut mixed = plan(&["a", "b", "c", "d", "e"], 4, 1, Order::Interleaved);
        for step in [1, 3, 4] {
            mixed.steps[step].order = Some(Order::Blocked);
        }
        let slots: Vec<Slot> = schedule(&mixed).collect();
        assert_eq!((slots.len(), schedule(&mixed).len_known()), (25, 25));
        let made: HashSet<(usize, u32)> = slots.iter().map(|s| (s.step, s.run)).collect();
        assert_eq!(made.len(), 25, "each run once");
        assert!(slots.iter().all(|s| s.counted == (s.run >= 1)));
        for (round, block) in slots[..6].chunks(2).chain(slots[21..].chunks(2)).enumerate() {
            let steps: HashSet<usize> = block.iter().map(|s| s.step).collect();
            assert_eq!(steps, HashSet::from([0, 2]));
            assert!(block.iter().all(|s| s.run as usize == round));
        }
        for step in slots[6..21].chunks(5) {
            assert!(
                step.iter()
                    .enumerate()
                    .all(|(run, s)| s.step == step[0].step && s.run as usize == run)
            );
        }
        let orders: HashSet<Vec<usize>> = (0..60)
            .map(|seed| {
                mixed.seed = seed;
                schedule(&mixed).skip(6).step_by(5).take(3).map(|s| s.step).collect()
            })
            .collect();
        assert_eq!(orders.len(), 6, "the steps that are not interleaved come in a drawn order");
        // An order that says what the schedule says anyway changes no run's seed.
        let key = |s: &Slot| (s.step, s.run, s.seed);
        let plain = plan(&["a", "b"], 3, 0, Order::Interleaved);
        let mut said = plain.clone();
        said.steps[0].order = Some(Order::Interleaved);
        assert_eq!(
            schedule(&plain).map(|s| key(&s)).collect::<Vec<_>>(),
            schedule(&said).map(|s| key(&s)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn orders_of_their_own_are_refused_where_no_end_is_known() {
        let mut endless = endless(plan(&["a", "b"], 2, 0, Order::Interleaved));
        endless.steps[0].order = Some(Order::Blocked);
        assert!(endless.check().unwrap_err().to_string().contains("schedule.until"));
        let mut huge = plan(&["a", "b"], 600_000, 0, Order::Interleaved);
        huge.steps[0].order = Some(Order::Blocked);
        assert!(huge.check().unwrap_err().to_string().contains("1000000 runs at most"));
        let mut first = plan(&["a", "b"], 2, 0, Order::ReadsFirst);
        assert!(first.check().is_ok());
        first.steps[0].order = Some(Order::Blocked);
        assert!(first.check().unwrap_err().to_string().contains("a whole plan"));
        let text = plan(&["a"], 1, 0, Order::Blocked).to_toml().unwrap();
        let with = text.replace("submitters = 1", "submitters = 1\norder = \"blocked\"");
        let read = Plan::from_toml(&with).unwrap();
        assert_eq!(read.steps[0].order, Some(Order::Blocked));
        assert_eq!(Plan::from_toml(&read.to_toml().unwrap()).unwrap(), read);
    }

    #[test]
    fn a_stop_rule_makes_it_endless_and_the_known_length_grows_by_blocks() {
        let mut rounds = schedule(&endless(plan(&["a", "b"], 2, 0, Order::Blocked)));
        assert!(rounds.is_endless());
        let head: Vec<_> = rounds.by_ref().take(4).map(|s| (s.step, s.run)).collect();
        assert_eq!(head, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(rounds.len_known(), 4);
        let more: Vec<_> = rounds.by_ref().take(3).map(|s| (s.step, s.run)).collect();
        assert_eq!(more, [(0, 2), (1, 2), (0, 3)]);
        assert_eq!(rounds.len_known(), 8);

        let interleaved = endless(plan(&["a", "b", "c"], 1, 0, Order::Interleaved));
        assert_eq!(schedule(&interleaved).take(1000).count(), 1000);
        let mut ends = schedule(&plan(&["a"], 3, 0, Order::Interleaved));
        assert_eq!((ends.len_known(), ends.is_endless()), (3, false));
        assert_eq!((ends.by_ref().count(), ends.next()), (3, None));
    }

    #[test]
    fn no_two_runs_share_a_seed_and_no_reordering_changes_one() {
        let key = |plan: &Plan, slot: &Slot| (plan.steps[slot.step].name.clone(), slot.run);
        let first = plan(&["a", "b", "c"], 50, 3, Order::Interleaved);
        let seeds: std::collections::HashMap<_, _> =
            schedule(&first).map(|s| (key(&first, &s), s.seed)).collect();
        let distinct: HashSet<u64> = seeds.values().copied().collect();
        assert_eq!(distinct.len(), 159);
        for other in [
            plan(&["a", "b", "c"], 50, 3, Order::Blocked),
            plan(&["c", "a"], 53, 0, Order::Interleaved),
            plan(&["x", "b"], 20, 0, Order::Blocked),
        ] {
            for slot in schedule(&other).filter(|s| other.steps[s.step].name != "x") {
                assert_eq!(seeds.get(&key(&other, &slot)), Some(&slot.seed));
            }
        }
    }

    #[test]
    fn the_order_and_the_seeds_are_frozen() {
        // By tests/frozen.py.
        let slots = schedule(&plan(&["a", "b", "c", "d"], 2, 0, Order::Interleaved));
        let slots: Vec<_> = slots.map(|s| (s.step, s.seed)).collect();
        assert_eq!(
            slots,
            [
                (0, 0x94d5_e09a_e33c_111f),
                (2, 0xfe7f_b701_805d_13ea),
                (3, 0xb951_02fb_cf7f_5eb5),
                (1, 0xfe67_8712_833c_be25),
                (0, 0xe0c3_10e5_792f_b692),
                (1, 0xe069_d20c_e259_7a94),
                (2, 0x153d_87ae_3c5e_e4ce),
                (3, 0x9d2a_e0a9_71d4_c8d1)
            ]
        );
    }

    #[test]
    fn a_schedule_of_nothing_ends_and_a_huge_one_does_not_wrap() {
        let mut nothing = plan(&["a"], 1, 0, Order::Interleaved);
        nothing.steps.clear();
        assert_eq!(schedule(&endless(nothing)).next(), None);
        let huge = schedule(&plan(&["a", "b"], u32::MAX, 5, Order::Blocked));
        assert_eq!(huge.len_known(), u32::MAX);
    }
}
