//! A log drawn from its seed, with the latent truth behind it.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use super::course::{Course, Kind, STEPS};
use super::draw::Draw;

/// Kinds of noise of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noise {
    White,
    Correlated,
    Stalls,
    Skewed,
    Ripple,
}

impl Noise {
    pub(super) const ALL: [Noise; 5] =
        [Noise::White, Noise::Correlated, Noise::Stalls, Noise::Skewed, Noise::Ripple];

    pub(super) fn words(self) -> &'static str {
        match self {
            Noise::White => "white",
            Noise::Correlated => "correlated over 0.01 to 0.08 drive writes",
            Noise::Stalls => "stalls of 1 to 3% of the lines",
            Noise::Skewed => "log-normal",
            Noise::Ripple => "half of it a ripple of 0.03 to 0.12 drive writes",
        }
    }
}

/// True state of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    /// At rest at its end, for three drive writes or more.
    Steady,
    /// At rest, for less.
    SteadyShort,
    /// Half drive writes of its own data contradict a steady state.
    NotSteady,
    /// Between these.
    Neither,
}

/// A log.
pub(super) struct Log {
    pub(super) seed: u64,
    pub(super) kind: Kind,
    pub(super) noise: Noise,
    /// Standard deviation of a line, as a share.
    pub(super) cv: f64,
    pub(super) lines: usize,
    pub(super) lines_per_fill: f64,
    pub(super) capacity_bytes: u64,
    pub(super) over_provisioning: f64,
    pub(super) is_purged: bool,
    /// Drive writes until the free space is used up.
    pub(super) free_fills: f64,
    pub(super) fills: f64,
    pub(super) text: String,
    pub(super) truth: Truth,
    /// Mean latent rate over the last drive write, in bytes a second.
    pub(super) level: f64,
    /// Drive writes at which it was steady for three, at the earliest.
    pub(super) earliest_fills: Option<f64>,
}

impl Log {
    pub(super) fn draw(seed: u64) -> Log {
        let mut draw = Draw::new(seed);
        let kinds = Kind::ALL.len() as u64;
        let kind = Kind::ALL[(seed % kinds) as usize];
        let noise = Noise::ALL[(seed / kinds % Noise::ALL.len() as u64) as usize];
        let cv = draw.log_between(0.002, 0.12);
        let capacity_bytes = draw.log_between(4e9, 6e13) as u64;
        let lines_per_fill = draw.log_between(24.0, 500.0);
        let is_purged = draw.chance(0.2);
        let over_provisioning =
            if is_purged { draw.between(0.3, 1.0) } else { draw.log_between(0.03, 1.0) };
        let fresh = draw.log_between(1.2, 8.0);
        let mut course = Course::draw(kind, &mut draw).rates;
        let free_fills = over_provisioning + if is_purged { 1.0 } else { 0.0 };
        // Unwritten space acts as spare space: until writes reach it, a purged drive's rate still falls a little.
        let gate_fills =
            if is_purged { 7.0_f64.max(1.2 * free_fills) } else { 1.1 * over_provisioning };
        if is_purged && kind.is_steady() && kind != Kind::FlatShort {
            let more = course.first().copied().unwrap_or(1.0);
            let missing = ((gate_fills - free_fills).max(0.0) * STEPS as f64) as usize;
            course.splice(0..0, std::iter::repeat_n(more, missing));
        }
        let halves = halves(&course);
        let truth = truth(kind, &halves);
        let onset = onset(&halves, free_fills + course.len() as f64 / STEPS as f64);
        let earliest_fills =
            (truth == Truth::Steady).then(|| onset.max(gate_fills).max(free_fills) + 3.0);
        let before = (free_fills * STEPS as f64).round() as usize;
        let rates: Vec<f64> =
            std::iter::repeat_n(fresh * course.first().copied().unwrap_or(1.0), before)
                .chain(course.iter().copied())
                .collect();
        // At the level of the end, a drive write takes `lines_per_fill` lines.
        let last = rates.len().saturating_sub(STEPS);
        let end = mean_rate(&rates[last.max(before.min(rates.len() - 1))..]);
        let interval_s = draw.log_between(1.0, 30.0).round();
        let level = capacity_bytes as f64 / (lines_per_fill * interval_s);
        let mut log = Log {
            seed,
            kind,
            noise,
            cv,
            lines: 0,
            lines_per_fill,
            capacity_bytes,
            over_provisioning,
            is_purged,
            free_fills,
            fills: rates.len() as f64 / STEPS as f64,
            text: String::new(),
            truth,
            level,
            earliest_fills,
        };
        log.write(&rates, end, interval_s, &mut draw);
        log
    }

    /// Goes through the course line by line: bytes of a line are its rate, noise included, times its length.
    fn write(&mut self, rates: &[f64], end: f64, interval_s: f64, draw: &mut Draw) {
        let step_bytes = self.capacity_bytes as f64 / STEPS as f64;
        let mut noise = NoiseOf::new(self.noise, self.cv, self.lines_per_fill, draw);
        let (mut place, mut time_s) = (0.0_f64, 0.0);
        while place < rates.len() as f64 {
            let factor = noise.next(draw);
            // Bytes of the line: through the steps, each at its own rate.
            let (mut left_s, mut bytes) = (interval_s, 0.0);
            while left_s > 1e-9 && place < rates.len() as f64 {
                let rate = factor * self.level * rates[place as usize] / end;
                let whole = (place.floor() + 1.0 - place) * step_bytes;
                let part = whole.min(rate * left_s);
                left_s -= part / rate;
                bytes += part;
                place = if part >= whole { place.floor() + 1.0 } else { place + part / step_bytes };
            }
            if left_s > 1e-9 {
                break;
            }
            time_s += interval_s;
            self.lines += 1;
            let kib = (bytes / interval_s / 1024.0).round();
            let _ = writeln!(self.text, "{}, {kib}, 1, 0, 0", (time_s * 1e3) as u64);
        }
    }
}

/// Factors of lines, whose mean is one.
struct NoiseOf {
    noise: Noise,
    cv: f64,
    keeps: f64,
    last: f64,
    share: f64,
    depth: f64,
    period: f64,
    at: f64,
}

impl NoiseOf {
    fn new(noise: Noise, cv: f64, lines_per_fill: f64, draw: &mut Draw) -> NoiseOf {
        let length = (draw.log_between(0.01, 0.08) * lines_per_fill).max(0.5);
        let share = draw.between(0.01, 0.03);
        NoiseOf {
            noise,
            cv,
            keeps: (-1.0 / length).exp(),
            last: draw.normal(),
            share,
            // The deviation of all is that asked for, as far as a stall can go.
            depth: (cv / share.sqrt()).min(0.9),
            period: (draw.between(0.03, 0.12) * lines_per_fill).max(2.5),
            at: draw.uniform(),
        }
    }

    fn next(&mut self, draw: &mut Draw) -> f64 {
        let cv = self.cv;
        let factor = match self.noise {
            Noise::White => 1.0 + cv * draw.normal(),
            Noise::Correlated => {
                self.last =
                    self.keeps * self.last + (1.0 - self.keeps * self.keeps).sqrt() * draw.normal();
                1.0 + cv * self.last
            }
            Noise::Stalls => {
                let quiet = 1.0 + 0.3 * cv * draw.normal();
                let stall = if draw.chance(self.share) { 1.0 - self.depth } else { 1.0 };
                quiet * stall / (1.0 - self.share * self.depth)
            }
            Noise::Skewed => {
                let deviation = (1.0 + cv * cv).ln().sqrt();
                (deviation * draw.normal() - deviation * deviation / 2.0).exp()
            }
            Noise::Ripple => {
                self.at += 1.0 / self.period;
                let half = cv * 0.5_f64.sqrt();
                1.0 + half * (draw.normal() + 2.0_f64.sqrt() * (TAU * self.at).sin())
            }
        };
        factor.max(0.05)
    }
}

/// Bytes over time.
fn mean_rate(rates: &[f64]) -> f64 {
    rates.len() as f64 / rates.iter().map(|rate| 1.0 / rate).sum::<f64>()
}

/// Half drive writes, aligned with the end.
fn halves(course: &[f64]) -> Vec<f64> {
    let half = STEPS / 2;
    let skipped = course.len() % half;
    let last = mean_rate(&course[course.len().saturating_sub(STEPS)..]);
    if course.len() < half {
        return vec![1.0];
    }
    course[skipped..].chunks(half).map(|part| mean_rate(part) / last).collect()
}

fn range(halves: &[f64]) -> f64 {
    let ends = halves
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), x| (least.min(*x), most.max(*x)));
    ends.1 / ends.0 - 1.0
}

fn last(halves: &[f64], count: usize) -> &[f64] {
    &halves[halves.len().saturating_sub(count)..]
}

/// Half drive writes at the end that are within 2.5% of each other.
fn resting(halves: &[f64]) -> usize {
    (1..=halves.len()).take_while(|count| range(last(halves, *count)) <= 0.025).last().unwrap_or(0)
}

/// Drive writes at which the rest of the end began.
fn onset(halves: &[f64], fills: f64) -> f64 {
    fills - resting(halves) as f64 / 2.0
}

fn truth(kind: Kind, halves: &[f64]) -> Truth {
    let resting = resting(halves);
    if kind.is_steady() {
        return if resting >= 6 { Truth::Steady } else { Truth::SteadyShort };
    }
    // The last six drive writes are not within 5%, and the last three not within 2.5%.
    let is_seen = range(last(halves, 12)) >= 0.05 && resting < 6;
    if is_seen { Truth::NotSteady } else { Truth::Neither }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A score is worth what its truth is worth.
    #[test]
    fn logs_hold_what_their_truth_says() {
        let mut truths = [0; 4];
        for seed in 0..250 {
            let log = Log::draw(7_000_000 + seed);
            let rates: Vec<f64> = log
                .text
                .lines()
                .map(|line| line.split(", ").nth(1).unwrap().parse().unwrap())
                .collect();
            let end = (log.lines_per_fill.round() as usize).min(rates.len());
            let mean = rates[rates.len() - end..].iter().sum::<f64>() / end as f64 * 1024.0;
            // Eight standard errors of correlated lines.
            let allowed = 0.03 + 8.0 * log.cv * (0.2 + (4.0 / end as f64).sqrt());
            if log.fills - log.free_fills > 1.0 {
                assert!((mean / log.level - 1.0).abs() < allowed, "{seed}: {mean} {}", log.level);
            }
            truths[log.truth as usize] += 1;
        }
        assert!(truths[Truth::Steady as usize] > 25 && truths[Truth::NotSteady as usize] > 100);
        assert_eq!(Log::draw(5).text, Log::draw(5).text);
    }
}
