//! A virtual drive whose submitter does not get the CPU that it asks for.
//!
//! Nothing about the drive changes. What changes is when its submitter runs: a wait that ends while it has no CPU goes
//! on until it has one, and completions are seen only then, as they are by a thread that the kernel does not schedule.

use ::sim::VirtualTarget;
use block::{
    Bytes, Completion, Drive, DriveError, DriveInfo, LaneSetup, Nanos, Request, Target, Time,
};
use workload::rng::Rng;

/// When a submitter runs.
#[derive(Clone, Debug)]
pub(super) enum Cpu {
    /// In each `period` for as long as `on`, and then no more: a quota.
    Quota { period: Nanos, on: Nanos },
    /// In turns with somebody else, for exponential times with these means.
    Shared { on: Nanos, off: Nanos, rng: Rng, turns: Vec<(Time, Time)> },
    /// Always, but each request costs it so much.
    Slow { each: Nanos },
}

impl Cpu {
    pub fn shared(on: Nanos, off: Nanos, rng: Rng) -> Cpu {
        Cpu::Shared { on, off, rng, turns: Vec::new() }
    }

    /// When it runs again, at `time` or later.
    fn from(&mut self, time: Time) -> Time {
        match self {
            Cpu::Slow { .. } => time,
            Cpu::Quota { period, on } => {
                let within = time.0 % period.0;
                if within < on.0 { time } else { Time(time.0 - within + period.0) }
            }
            Cpu::Shared { on, off, rng, turns } => {
                let mut draw = |mean: Nanos| Nanos((rng.exponential() * mean.0 as f64) as u64 + 1);
                // A turn is when it does not run: from, until.
                while turns.last().is_none_or(|(_, until)| *until <= time) {
                    let last = turns.last().map_or(Time::ZERO, |(_, until)| *until);
                    let from = last + draw(*on);
                    let until = from + draw(*off);
                    turns.push((from, until));
                }
                let at = turns.partition_point(|(_, until)| *until <= time);
                let (from, until) = turns[at];
                if time >= from { until } else { time }
            }
        }
    }

    fn each(&self) -> Nanos {
        if let Cpu::Slow { each } = self { *each } else { Nanos::ZERO }
    }
}

/// The target around the drive.
pub(super) struct Starved {
    pub inner: VirtualTarget,
    pub cpu: Cpu,
}

impl Target for Starved {
    type Drive<'a> = StarvedDrive<'a>;

    fn info(&self) -> &DriveInfo {
        self.inner.info()
    }

    fn now(&self) -> Time {
        self.inner.now()
    }

    fn pause(&mut self, span: Nanos) {
        self.inner.pause(span);
    }

    fn open<'a>(&'a mut self, setup: &LaneSetup<'_>) -> Result<Vec<StarvedDrive<'a>>, DriveError> {
        let cpu = &self.cpu;
        let drives = self.inner.open(setup)?.into_iter();
        Ok(drives.map(|inner| StarvedDrive { inner, cpu: cpu.clone(), seen: Vec::new() }).collect())
    }
}

/// The drive, as its submitter sees it.
pub(super) struct StarvedDrive<'a> {
    inner: <VirtualTarget as Target>::Drive<'a>,
    cpu: Cpu,
    /// Completions that arrived while the submitter was busy.
    seen: Vec<Completion>,
}

impl StarvedDrive<'_> {
    /// Lets time go by until `until`.
    fn pass(&mut self, until: Time) -> Result<Time, DriveError> {
        let mut now = self.inner.now();
        while now < until {
            now = self.inner.wait_until(until, &mut self.seen)?;
        }
        Ok(now)
    }
}

impl Drive for StarvedDrive<'_> {
    fn attach(&mut self) -> Result<(), DriveError> {
        self.inner.attach()
    }

    fn now(&self) -> Time {
        self.inner.now()
    }

    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        for request in requests {
            self.inner.submit(&[*request])?;
            let each = self.cpu.each();
            if each > Nanos::ZERO {
                self.pass(self.inner.now() + each)?;
            }
        }
        Ok(())
    }

    fn has_room(&self, len: Bytes) -> bool {
        self.inner.has_room(len)
    }

    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        let mut now = self.inner.now();
        if self.seen.is_empty() {
            now = self.inner.wait_until(until, &mut self.seen)?;
        }
        let runs = self.cpu.from(now);
        // Somebody who slept sees what is done when he runs again, and not before.
        now = self.pass(runs)?;
        for mut completion in self.seen.drain(..) {
            completion.completed = completion.completed.max(now);
            done.push(completion);
        }
        Ok(now)
    }
}
