//! Cases whose verdict is known because it was planted.

use ::engine::replay::Setup;
use ::trace::replay::{Body, Fit, Limit, Mode, Options as How, Writes};
use ::trace::{InMemory, Io, Kind, Stamp, TraceInfo};
use anyhow::Result;
use block::{Bytes, Nanos};
use workload::plan::Content;
use workload::rng::Rng;

use super::starved::{Cpu, Starved};
use crate::replay::drive;

/// Drives that keep up when they are given time, of every kind.
const DRIVES: [&str; 7] = [
    "sata-a?state=filled",
    "sata-b?state=filled",
    "mlc-nvme?state=filled",
    "tlc-pslc?state=filled",
    "enterprise-28op?state=filled",
    "optane",
    "hdd-7200",
];

/// Outstanding requests with which it is found how fast a drive can be.
const FLAT_OUT: u32 = 256;

/// A case of one seed, as it was drawn.
pub(super) struct Case {
    pub seed: u64,
    pub planted: Limit,
    spec: String,
    ios: Vec<Io>,
    slots: u16,
    known: bool,
    rng: Rng,
    /// The schedule's length over the shortest time in which the drive serves it.
    pub room: f64,
    /// How the submitter was starved.
    pub starved: String,
}

/// How requests arrive.
#[derive(Clone, Copy)]
enum Arrivals {
    Even,
    Poisson,
    /// In bursts at `peak` times the mean rate.
    Bursts {
        peak: f64,
    },
}

impl Case {
    /// The case that `seed` draws for `planted`.
    ///
    /// # Errors
    /// When the drive cannot be opened.
    pub fn draw(seed: u64, planted: Limit) -> Result<Case> {
        let mut rng = Rng::for_path(seed, &[planted as u64, 0x7265_706c]);
        let drive = DRIVES[rng.below(DRIVES.len() as u64) as usize];
        let joint = if drive.contains('?') { '&' } else { '?' };
        let spec = format!("sim:{drive}{joint}seed={seed}");
        let count = 400 + rng.below(2600) as usize;
        let arrivals = match rng.below(3) {
            0 => Arrivals::Even,
            1 => Arrivals::Poisson,
            _ => Arrivals::Bursts { peak: 1.0 + rng.unit() },
        };
        let mut ios = addresses(&mut rng, count);
        schedule(&mut rng, &mut ios, arrivals, 1e9);
        let mut case = Case {
            seed,
            planted,
            spec,
            ios,
            slots: 1 << (7 + rng.below(6)),
            known: rng.below(2) == 0,
            rng,
            room: 0.0,
            starved: String::new(),
        };
        let shortest = case.shortest()?;
        // Requests at a rate that the drive can serve, bursts included, or 1.4 to 5 times that.
        case.room = match planted {
            Limit::DriveLimited => 0.2 + 0.5 * case.rng.unit(),
            Limit::Faithful | Limit::ReplayerLimited => 4.0 * 5_f64.powf(case.rng.unit()),
        };
        schedule(&mut case.rng, &mut case.ios, arrivals, shortest * case.room);
        Ok(case)
    }

    /// The time in nanoseconds in which the drive serves all requests when it is kept busy.
    fn shortest(&self) -> Result<f64> {
        let body = self.replay(Mode::Afap(FLAT_OUT), None, false)?;
        Ok(body.elapsed_s * 1e9)
    }

    /// Replays it, starved where that is planted.
    ///
    /// # Errors
    /// When the drive cannot be opened.
    pub fn judged(&mut self) -> Result<Body> {
        let calm = self.replay(Mode::Timed, None, true)?;
        if self.planted != Limit::ReplayerLimited {
            return Ok(calm);
        }
        let typical = calm.q2c.map_or(0.0, |q2c| q2c.p50.value);
        let cpu = self.starve(typical, calm.original.completion_s * 1e9);
        self.replay(Mode::Timed, Some(cpu), true)
    }

    /// Draws how the submitter is starved: for spans that matter beside what the drive takes for a request, and for a
    /// good part of the time.
    fn starve(&mut self, typical_ns: f64, span_ns: f64) -> Cpu {
        let rng = &mut self.rng;
        let away = Nanos((typical_ns.max(2e6) * 3.0 * 5_f64.powf(rng.unit())) as u64);
        // At least ten times in the schedule, else a case may hold none.
        let away = Nanos(away.0.min((span_ns / 10.0) as u64));
        let here = Nanos((away.0 as f64 * (0.05 + rng.unit())) as u64 + 1);
        let cpu = match rng.below(3) {
            0 => Cpu::Quota { period: Nanos(away.0 + here.0), on: here },
            1 => Cpu::shared(here, away, rng.clone()),
            _ => {
                let gap = span_ns / self.ios.len() as f64;
                Cpu::Slow { each: Nanos((gap * (1.2 + rng.unit())) as u64) }
            }
        };
        self.starved = match &cpu {
            Cpu::Quota { period, on } => format!("quota {on} in {period}"),
            Cpu::Shared { on, off, .. } => format!("shared {on} and {off} in the mean"),
            Cpu::Slow { each } => format!("{each} for each request"),
        };
        cpu
    }

    fn replay(&self, mode: Mode, cpu: Option<Cpu>, bounded: bool) -> Result<Body> {
        let mut ios = self.ios.clone();
        if self.known && matches!(mode, Mode::Timed) {
            // As if recorded on a drive of its own, with latencies about those of a disk cache.
            for (io, twist) in ios.iter_mut().zip([80_000, 120_000, 95_000, 400_000].iter().cycle())
            {
                io.completed = Stamp::at(Nanos(io.arrival.0 + twist));
            }
        }
        let how = How { mode, fit: Fit::Wrap, writes: Writes::Issue, ..How::default() };
        let source = InMemory::new(TraceInfo::default(), ios);
        let setup = Setup {
            slots: if bounded { self.slots } else { u16::MAX },
            content: Some(Content::default()),
            buffer_bytes_max: Bytes(u64::MAX),
            ..Setup::default()
        };
        let mut inner = ::sim::open(&self.spec)?;
        let mut environment = inner.environment();
        let done = match cpu {
            None => drive::run_on(&mut inner, &mut environment, &setup, &source, &how, None)?,
            Some(cpu) => {
                let mut starved = Starved { inner, cpu };
                drive::run_on(&mut starved, &mut environment, &setup, &source, &how, None)?
            }
        };
        Ok(done.body)
    }

    /// The drawn parameters, for the raw figures.
    pub fn line(&self) -> String {
        format!("{},{},{},{}", self.spec, self.ios.len(), self.slots, self.starved)
    }
}

/// Requests of one size or several, in order or not, reads and writes.
fn addresses(rng: &mut Rng, count: usize) -> Vec<Io> {
    let reads = [0.0, 0.5, 0.7, 1.0][rng.below(4) as usize];
    let sizes: &[u64] = [&[4][..], &[8], &[64], &[4, 4, 16, 128]][rng.below(4) as usize];
    let (in_order, span) = (rng.below(4) == 0, 1_u64 << (28 + rng.below(7)));
    let mut next = 0;
    let io = |_| {
        let len = sizes[rng.below(sizes.len() as u64) as usize] << 10;
        let offset = if in_order { next } else { rng.below(span >> 12) << 12 };
        next += len;
        let kind = if rng.unit() < reads { Kind::Read } else { Kind::Write };
        Io::arriving(Nanos::ZERO, kind, Bytes(offset), Bytes(len))
    };
    (0..count).map(io).collect()
}

/// Gives requests their times, over about `span_ns`.
fn schedule(rng: &mut Rng, ios: &mut [Io], arrivals: Arrivals, span_ns: f64) {
    let mean = span_ns / ios.len() as f64;
    let mut at = 0.0;
    for (index, io) in ios.iter_mut().enumerate() {
        io.arrival = Nanos(at as u64);
        at += match arrivals {
            Arrivals::Even => mean,
            Arrivals::Poisson => mean * rng.exponential(),
            // Fifty at the peak's rate, then the time that is left.
            Arrivals::Bursts { peak } if index % 50 == 49 => mean * (50.0 - 49.0 / peak),
            Arrivals::Bursts { peak } => mean / peak,
        };
    }
}
