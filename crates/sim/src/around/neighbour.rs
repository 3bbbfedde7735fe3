//! Somebody else on the same drive.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;

use block::{Bytes, DriveInfo, Nanos, Op, Time};
use serde::{Deserialize, Serialize};

use super::gauges::Gauges;
use super::inbox::earlier;
use super::shell::Shell;
use crate::check::within;
use crate::device::{Command, Device, Finished};
use crate::field::Fault;
use crate::noise::Noise;

/// Background I/O that is not the tester's: the drive counts it, and the tester's task does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Neighbour {
    /// I/Os per second on average, while active and while the drive keeps up. The gap between two is drawn
    /// uniformly between nothing and twice the mean.
    pub ios_per_s: u64,
    /// Size of each.
    pub block_bytes: u64,
    /// Share of reads, in percent; the others are writes.
    pub read_percent: u64,
    /// Order of the addresses.
    pub order: Order,
    /// First byte of the part that is used.
    pub offset_bytes: u64,
    /// Length of that part; up to the drive's end when absent.
    pub length_bytes: Option<u64>,
    /// Most I/Os that wait or are under way at once; then the neighbour waits for one to end.
    pub queue_depth: u64,
    /// When it begins.
    pub begins_ns: u64,
    /// How long it is active at a time; always when this and `quiet_ns` are zero.
    pub active_ns: u64,
    /// How long it is quiet in between.
    pub quiet_ns: u64,
}

/// The order of a neighbour's addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Any block, each as likely.
    #[default]
    Random,
    /// One after the other, and from the beginning again.
    Sequential,
}

impl Default for Neighbour {
    fn default() -> Neighbour {
        Neighbour {
            ios_per_s: 50,
            block_bytes: 65_536,
            read_percent: 100,
            order: Order::Random,
            offset_bytes: 0,
            length_bytes: None,
            queue_depth: 4,
            begins_ns: 0,
            active_ns: 0,
            quiet_ns: 0,
        }
    }
}

impl Neighbour {
    pub(super) fn check(&self, info: &DriveInfo) -> Result<(), Fault> {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let capacity = info.capacity_bytes.0;
        let block = info.logical_block_bytes;
        let room = capacity.saturating_sub(self.offset_bytes);
        let ranges = [
            ("neighbour.ios_per_s", self.ios_per_s, 1, 100_000_000),
            ("neighbour.block_bytes", self.block_bytes, block.0, 1 << 30),
            ("neighbour.read_percent", self.read_percent, 0, 100),
            ("neighbour.offset_bytes", self.offset_bytes, 0, capacity),
            ("neighbour.length_bytes", self.length(capacity), self.block_bytes, room),
            ("neighbour.queue_depth", self.queue_depth, 1, 65_535),
            ("neighbour.begins_ns", self.begins_ns, 0, 1000 * HOUR_NS),
            ("neighbour.active_ns", self.active_ns, self.quiet_ns.min(1), 1000 * HOUR_NS),
            ("neighbour.quiet_ns", self.quiet_ns, 0, 1000 * HOUR_NS),
        ];
        within(&ranges)?;
        for (key, value) in [
            ("neighbour.block_bytes", self.block_bytes),
            ("neighbour.offset_bytes", self.offset_bytes),
        ] {
            if !Bytes(value).is_multiple_of(block) {
                return Err((key, format!("{value} is not a multiple of {}", block.0)));
            }
        }
        Ok(())
    }

    fn length(&self, capacity: u64) -> u64 {
        self.length_bytes.unwrap_or(capacity.saturating_sub(self.offset_bytes))
    }

    /// The instant itself when the neighbour is active then, or else when it next is.
    fn active_from(&self, at: Time) -> Time {
        let begun = at.0.max(self.begins_ns);
        let into = (begun - self.begins_ns) % (self.active_ns + self.quiet_ns).max(1);
        if self.quiet_ns == 0 || into < self.active_ns {
            return Time(begun);
        }
        Time(begun - into + self.active_ns + self.quiet_ns)
    }
}

/// A command in the drive.
struct Issued {
    /// The drive's name for it.
    tag: u64,
    /// The engine's name for it; none when it is the neighbour's.
    of_task: Option<u64>,
    op: Op,
}

/// A drive that somebody else uses too.
///
/// When there is room in the drive for one more and both wait, task and neighbour take turns.
pub(super) struct Shared {
    inner: Box<dyn Device>,
    plan: Neighbour,
    blocks: u64,
    gauges: Arc<Gauges>,
    noise: Noise,
    /// When the neighbour's next I/O comes; none while as many as it may have are under way.
    next: Option<Time>,
    /// Block of the next sequential one.
    cursor: u64,
    backlog: VecDeque<(Op, u64)>,
    issued: Vec<Issued>,
    next_tag: u64,
    /// The neighbour handed over last, and the task was then turned away.
    neighbour_last: bool,
    turned_away: Cell<bool>,
    results: Vec<Finished>,
    now: Time,
}

/// Sets the neighbour's noise apart from the drive's, which has the same seed.
const STREAM: u64 = 0x6e65_6967_6862_6f75;

impl Shared {
    pub(super) fn new(
        plan: &Neighbour,
        (capacity, seed): (Bytes, u64),
        gauges: Arc<Gauges>,
        inner: Box<dyn Device>,
    ) -> Shared {
        let mut shared = Shared {
            inner,
            plan: plan.clone(),
            blocks: plan.length(capacity.0) / plan.block_bytes.max(1),
            gauges,
            noise: Noise::new(seed ^ STREAM),
            next: None,
            cursor: 0,
            backlog: VecDeque::new(),
            issued: Vec::new(),
            next_tag: 0,
            neighbour_last: false,
            turned_away: Cell::new(false),
            results: Vec::new(),
            now: Time::ZERO,
        };
        shared.next = Some(shared.after(Time::ZERO));
        shared
    }

    /// When the neighbour's next I/O comes after `at`.
    fn after(&mut self, at: Time) -> Time {
        let mean = 1_000_000_000 / self.plan.ios_per_s;
        let gap = Nanos(1 + self.noise.below(2 * mean));
        self.plan.active_from(self.plan.active_from(at) + gap)
    }

    fn underway(&self) -> usize {
        self.backlog.len() + self.issued.iter().filter(|issued| issued.of_task.is_none()).count()
    }

    fn may_ask(&self) -> bool {
        (self.underway() as u64) < self.plan.queue_depth
    }

    /// Time goes by. While the neighbour has I/O and the task neither has nor waits, the drive is busy
    /// with what the engine does not see.
    fn pass(&mut self, to: Time) {
        let task = self.turned_away.get() || self.issued.iter().any(|i| i.of_task.is_some());
        if !task && self.underway() > 0 {
            self.gauges.busy(to.since(self.now));
        }
        self.now = to;
    }

    /// The neighbour asks for its next I/O.
    fn ask(&mut self, at: Time) {
        let read = self.noise.below(100) < self.plan.read_percent;
        let block = match self.plan.order {
            Order::Random => self.noise.below(self.blocks),
            Order::Sequential => self.cursor,
        };
        self.cursor = (self.cursor + 1) % self.blocks.max(1);
        let offset = self.plan.offset_bytes + block * self.plan.block_bytes;
        self.backlog.push_back((if read { Op::Read } else { Op::Write }, offset));
        let next = self.after(at);
        self.next = self.may_ask().then_some(next);
    }

    fn issue(&mut self, command: Command, of_task: Option<u64>, now: Time) {
        let tag = self.next_tag;
        self.next_tag += 1;
        self.issued.push(Issued { tag, of_task, op: command.op });
        self.neighbour_last = of_task.is_none();
        self.turned_away.set(false);
        self.inner.accept(Command { tag, ..command }, now);
    }

    /// Hands the neighbour's I/Os to the drive, unless it is the task's turn.
    fn hand_over(&mut self, now: Time) {
        while let Some((op, offset)) = self.backlog.front().copied() {
            let len = self.plan.block_bytes;
            let command = Command { tag: 0, op, fua: false, offset, len };
            let others_turn = self.neighbour_last && self.turned_away.get();
            if others_turn || !self.inner.admits(&command) {
                break;
            }
            self.backlog.pop_front();
            self.issue(command, None, now);
        }
    }

    fn done(&mut self, result: Finished, finished: &mut Vec<Finished>) {
        let Some(index) = self.issued.iter().position(|issued| issued.tag == result.tag) else {
            return;
        };
        let Issued { of_task, op, .. } = self.issued.swap_remove(index);
        if let Some(tag) = of_task {
            finished.push(Finished { tag, ..result });
            return;
        }
        self.gauges.foreign(op, result.outcome.bytes().unwrap_or(Bytes::ZERO));
        if self.next.is_none() {
            self.next = Some(self.after(result.at));
        }
    }
}

impl Shell for Shared {
    fn inner(&self) -> &dyn Device {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        self.inner.as_mut()
    }

    fn admits(&self, command: &Command) -> bool {
        let admitted = self.inner.admits(command);
        if !admitted {
            self.turned_away.set(true);
        }
        admitted
    }

    fn accept(&mut self, command: Command, now: Time) {
        self.pass(now);
        self.issue(command, Some(command.tag), now);
    }

    fn next_event(&self) -> Option<Time> {
        earlier(self.next, self.inner.next_event())
    }

    fn step(&mut self, at: Time, finished: &mut Vec<Finished>) {
        self.pass(at);
        self.inner.advance(at, &mut self.results);
        let mut results = std::mem::take(&mut self.results);
        for result in results.drain(..) {
            self.done(result, finished);
        }
        self.results = results;
        while let Some(asked) = self.next.filter(|next| *next <= at) {
            self.ask(asked);
        }
        self.hand_over(at);
    }

    fn reseed(&mut self, seed: u64) {
        self.noise = Noise::new(seed ^ STREAM);
        if self.next.is_some() {
            self.next = Some(self.after(self.now));
        }
        self.inner.reseed(seed);
    }
}
