//! Work that a drive continues by itself after writes, and that delays reads meanwhile.

use block::{Nanos, Op, Time};
use serde::{Deserialize, Serialize};

use super::inbox::earlier;
use super::late::Late;
use super::shell::Shell;
use crate::check::within;
use crate::device::{Command, Device, Finished};
use crate::field::Fault;
use crate::noise::Noise;

/// Work that writes leave to the drive: it empties a cache, moves data, erases. While some of it is left, reads take longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Aftermath {
    /// Work that each MiB written leaves.
    pub work_per_mib_ns: u64,
    /// Most work that is left at once.
    pub most_ns: u64,
    /// Mean time by which a read takes longer meanwhile; each is drawn uniformly between nothing and twice that.
    pub read_added_ns: u64,
}

impl Default for Aftermath {
    fn default() -> Aftermath {
        Aftermath { work_per_mib_ns: 4_000_000, most_ns: 4_000_000_000, read_added_ns: 1_000_000 }
    }
}

impl Aftermath {
    pub(super) fn check(&self) -> Result<(), Fault> {
        const HOUR_NS: u64 = 3_600_000_000_000;
        within(&[
            ("aftermath.work_per_mib_ns", self.work_per_mib_ns, 1, HOUR_NS),
            ("aftermath.most_ns", self.most_ns, 1, 1000 * HOUR_NS),
            ("aftermath.read_added_ns", self.read_added_ns, 0, HOUR_NS),
        ])
    }

    /// Work that a write of `bytes` leaves.
    fn left_by(&self, bytes: u64) -> Nanos {
        let ns = (u128::from(bytes) * u128::from(self.work_per_mib_ns)) >> 20;
        Nanos(u64::try_from(ns).unwrap_or(u64::MAX).min(self.most_ns))
    }
}

/// A drive that goes on working after writes. The drive inside knows nothing of it.
pub(super) struct Busy {
    inner: Box<dyn Device>,
    plan: Aftermath,
    noise: Noise,
    /// When the work that is left will be done.
    until: Time,
    /// Reads that take longer, each with the time that is added.
    slowed: Vec<(u64, Nanos)>,
    late: Late,
}

/// Sets the noise apart from the drive's, which has the same seed.
const STREAM: u64 = 0x6166_7465_726d_6174;

impl Busy {
    pub(super) fn new(plan: &Aftermath, seed: u64, inner: Box<dyn Device>) -> Busy {
        Busy {
            inner,
            plan: plan.clone(),
            noise: Noise::new(seed ^ STREAM),
            until: Time::ZERO,
            slowed: Vec::new(),
            late: Late::new(),
        }
    }
}

impl Shell for Busy {
    fn inner(&self) -> &dyn Device {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        self.inner.as_mut()
    }

    fn accept(&mut self, command: Command, now: Time) {
        match command.op {
            Op::Write => {
                let until = self.until.max(now) + self.plan.left_by(command.len);
                self.until = until.min(now + Nanos(self.plan.most_ns));
            }
            Op::Read if now < self.until => {
                let added = self.noise.below(2 * self.plan.read_added_ns + 1);
                self.slowed.push((command.tag, Nanos(added)));
            }
            _ => {}
        }
        self.inner.accept(command, now);
    }

    fn next_event(&self) -> Option<Time> {
        earlier(self.late.next_at(), self.inner.next_event())
    }

    fn step(&mut self, at: Time, finished: &mut Vec<Finished>) {
        let slowed = &mut self.slowed;
        self.late.step(self.inner.as_mut(), at, finished, |result| {
            let index = slowed.iter().position(|(tag, _)| *tag == result.tag);
            index.map_or(Nanos::ZERO, |index| slowed.swap_remove(index).1)
        });
    }

    fn reseed(&mut self, seed: u64) {
        self.noise = Noise::new(seed ^ STREAM);
        self.inner.reseed(seed);
    }
}
