//! A drive of this world: a clock, noise, and one of three kinds of devices behind them.

use block::{
    Bytes, Completion, Drive, DriveError, DriveInfo, DriveKind, Environment, Extents, LaneSetup,
    Layer, Leaf, Medium, Nanos, Op, Outcome, Request, Snapshot, Stack, Target, Time,
};

use super::card::Card;
use super::chance::Chance;
use super::disk::Disk;
use super::ssd::Ssd;

/// The device behind the link.
#[derive(Clone, Debug)]
pub(super) enum Device {
    Card(Box<Card>),
    Ssd(Box<Ssd>),
    Disk(Disk),
}

/// Noise of the link and the controller, and heat.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    /// Standard deviation of a command's time, in nanoseconds.
    pub(super) sigma_ns: f64,
    /// Commands in a million that take longer, and by how much in the mean.
    pub(super) spikes_ppm: u64,
    pub(super) spike_ns: f64,
    /// Seconds of work after which the drive is slow, for how many, and by which factor.
    pub(super) throttle: Option<(f64, f64, f64)>,
}

/// A drive of this world.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) info: DriveInfo,
    pub(super) device: Device,
    pub(super) noise: Noise,
    pub(super) chance: Chance,
    pub(super) now: u64,
    /// Nanoseconds of work so far, by which heat is modelled.
    pub(super) worked: u64,
    /// When the link is free.
    pub(super) free: u64,
    /// Commands that are under way: when they complete, and what they are.
    pub(super) under_way: Vec<(u64, u64, Request)>,
}

impl World {
    /// A drive with these facts, at the beginning of its clock.
    pub(super) fn new(
        name: String,
        capacity: u64,
        device: Device,
        noise: Noise,
        seed: u64,
    ) -> World {
        let info = DriveInfo {
            name,
            kind: DriveKind::Virtual,
            model: None,
            serial: None,
            capacity_bytes: Bytes(capacity),
            logical_block_bytes: Bytes(512),
            physical_block_bytes: Bytes(512),
            rotational: None,
            write_cache: None,
            cache_bytes: None,
            link_bytes_per_s: None,
        };
        let chance = Chance::new(seed, 0x6e6f_6973);
        let under_way = Vec::new();
        World { info, device, noise, chance, now: 0, worked: 0, free: 0, under_way }
    }

    /// The time of one command that begins at `at`, and when it completes.
    fn serve(&mut self, request: &Request, at: u64) -> u64 {
        let (offset, len) = (request.offset.0, request.len.0);
        let begun = match &self.device {
            Device::Ssd(_) => at,
            // Cards and disks serve one command after the other.
            Device::Card(_) | Device::Disk(_) => at.max(self.free),
        };
        let taken = match (&mut self.device, request.op) {
            (Device::Card(card), Op::Read) => card.read(offset, len),
            (Device::Card(card), Op::Write) => card.write(offset, len),
            (Device::Card(card), Op::Flush) => card.flush_ns(),
            (Device::Ssd(ssd), Op::Read) => ssd.read(offset, len, begun),
            (Device::Ssd(ssd), Op::Write) => ssd.write(offset, len, begun),
            (Device::Ssd(ssd), Op::Flush) => ssd.flush(begun),
            (Device::Disk(disk), Op::Read) => disk.read(offset, len, begun),
            (Device::Disk(disk), Op::Write) => disk.write(offset, len, begun),
            (Device::Disk(_), Op::Flush) => 5_000_000,
            (_, Op::Discard) => 100_000,
        };
        let done = begun + self.noisy(taken);
        self.worked += done - begun;
        self.free = self.free.max(done);
        done
    }

    fn noisy(&mut self, taken: u64) -> u64 {
        let mut time = taken as f64 + self.noise.sigma_ns * self.chance.normal();
        if self.chance.below(1_000_000) < self.noise.spikes_ppm {
            time += self.noise.spike_ns * (0.5 + self.chance.unit());
        }
        if let Some((cool, hot, factor)) = self.noise.throttle {
            let phase = (self.worked as f64 / 1e9) % (cool + hot);
            if phase > cool {
                time *= factor;
            }
        }
        // No command ends before a twentieth of its own time.
        time.max(0.05 * taken as f64).max(1000.0) as u64
    }
}

impl Target for World {
    type Drive<'a> = Lane<'a>;

    fn info(&self) -> &DriveInfo {
        &self.info
    }

    fn now(&self) -> Time {
        Time(self.now)
    }

    fn pause(&mut self, span: Nanos) {
        self.now += span.0;
    }

    fn open<'a>(&'a mut self, _: &LaneSetup<'_>) -> Result<Vec<Lane<'a>>, DriveError> {
        Ok(vec![Lane { world: self }])
    }
}

/// The one queue of a drive.
pub(super) struct Lane<'a> {
    world: &'a mut World,
}

impl Drive for Lane<'_> {
    fn now(&self) -> Time {
        Time(self.world.now)
    }

    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        let at = self.world.now;
        for request in requests {
            let done = self.world.serve(request, at);
            self.world.under_way.push((done, at, *request));
        }
        Ok(())
    }

    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        let world = &mut *self.world;
        let first = world.under_way.iter().map(|(at, ..)| *at).min();
        match first {
            Some(first) if first <= until.0 => world.now = world.now.max(first),
            _ => {
                world.now = world.now.max(until.0);
                return Ok(Time(world.now));
            }
        }
        let now = world.now;
        world.under_way.retain(|(at, issued, request)| {
            if *at <= now {
                done.push(Completion {
                    submitter: request.submitter,
                    slot: request.slot,
                    issued: Time(*issued),
                    completed: Time(*at),
                    outcome: Outcome(i32::try_from(request.len.0).unwrap_or(i32::MAX)),
                });
            }
            *at > now
        });
        Ok(Time(now))
    }
}

/// The surroundings of a drive that has none worth counting.
#[derive(Debug)]
pub(super) struct Nothing {
    stack: Stack,
}

impl Nothing {
    pub(super) fn new(name: &str) -> Nothing {
        let layer = Layer { kind: "virtual".to_owned(), name: name.to_owned(), ..Layer::default() };
        let leaf = Leaf { name: name.to_owned(), medium: Medium::Virtual, model: None };
        Nothing { stack: Stack { layers: vec![layer], leaves: vec![leaf] } }
    }
}

impl Environment for Nothing {
    fn snapshot(&mut self) -> Snapshot {
        Snapshot::default()
    }

    fn stack(&self) -> &Stack {
        &self.stack
    }

    fn extents(&mut self) -> Option<Extents> {
        None
    }
}
