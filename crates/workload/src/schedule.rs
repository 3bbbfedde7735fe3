//! Which step runs when, with which seed.

use crate::plan::{Order, Plan};
use crate::rng::{Rng, mix, purpose};

/// One run of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Place in the schedule, from 0.
    pub position: u32,
    /// Index of the step in [`Plan::steps`].
    pub step: usize,
    /// Which repetition of the step, from 0; those that are not counted have the lowest numbers.
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
/// [`Order::Interleaved`] gives randomised complete blocks: each block has every step once, in an
/// order drawn anew, so that a drift of the drive falls on all steps alike. [`Order::Blocked`] gives
/// all runs of a step before those of the next. Runs that are not counted come first: the first
/// blocks, or the first runs of each step.
///
/// Without a stop rule the schedule ends. With `schedule.until` it has no end, and the caller stops;
/// beyond the least count a blocked schedule goes on in rounds of one run of each step in the plan's
/// order, since which step needs more runs is known only to the caller, after the fact.
pub fn schedule(plan: &Plan) -> Schedule {
    let steps = plan.steps.len();
    let runs = plan.schedule.runs.saturating_add(plan.schedule.discard_first);
    Schedule {
        root: plan.seed,
        names: plan.steps.iter().map(|step| name_key(&step.name)).collect(),
        blocked: plan.schedule.order == Order::Blocked,
        endless: plan.schedule.until.is_some(),
        discard_first: plan.schedule.discard_first,
        least: u32::try_from(steps as u64 * u64::from(runs)).unwrap_or(u32::MAX),
        runs,
        next: 0,
        block: (0..steps).collect(),
    }
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
    endless: bool,
    discard_first: u32,
    runs: u32,
    least: u32,
    next: u32,
    /// Order of the steps in the current block.
    block: Vec<usize>,
}

impl Schedule {
    /// Count of positions known so far: all of them, or, under a stop rule, the least count and then
    /// the end of the block that the last slot came from.
    pub fn len_known(&self) -> u32 {
        let steps = self.names.len().max(1) as u64;
        let begun = u64::from(self.next).div_ceil(steps) * steps;
        self.least.max(u32::try_from(begun).unwrap_or(u32::MAX))
    }

    /// True when only the caller ends it.
    pub fn is_endless(&self) -> bool {
        self.endless
    }
}

impl Iterator for Schedule {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        let position = self.next;
        let steps = u32::try_from(self.names.len()).ok().filter(|n| *n > 0)?;
        if position == u32::MAX || (position >= self.least && !self.endless) {
            return None;
        }
        self.next += 1;
        let (round, within) = (position / steps, position % steps);
        let (step, run) = if !self.blocked {
            if within == 0 {
                self.block = (0..self.names.len()).collect();
                Rng::for_path(self.root, &[purpose::ORDER, u64::from(round)])
                    .shuffle(&mut self.block);
            }
            (self.block[within as usize], round)
        } else if position < self.least {
            ((position / self.runs) as usize, position % self.runs)
        } else {
            (within as usize, round)
        };
        let seed =
            Rng::for_path(self.root, &[purpose::RUN, self.names[step], u64::from(run)]).next_u64();
        Some(Slot { position, step, run, counted: run >= self.discard_first, seed })
    }
}

impl std::iter::FusedIterator for Schedule {}
