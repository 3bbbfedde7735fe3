//! A simple heat model: work warms, the air cools, and a drive that is too hot slows down.

use std::sync::Arc;

use block::{Nanos, Op, Time};
use serde::{Deserialize, Serialize};

use super::gauges::Gauges;
use super::inbox::{Inbox, earlier};
use super::shell::Shell;
use crate::check::within;
use crate::device::{Command, Device, Finished};
use crate::field::Fault;

/// How a drive warms and what it does about it. Each figure left out is that of a small solid-state drive
/// without a heat sink.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Heat {
    /// Temperature around the drive, in degrees Celsius.
    pub ambient_c: i64,
    /// Temperature of the drive at the beginning; that at which it idles when absent.
    pub begins_c: Option<i64>,
    /// Power when nothing happens, in milliwatts.
    pub idle_mw: u64,
    /// Energy to read 4 KiB, in nanojoules.
    pub read_nj_per_4kib: u64,
    /// Energy to write 4 KiB, in nanojoules.
    pub write_nj_per_4kib: u64,
    /// How much warmer than the air the drive stays for each watt, in thousandths of a degree.
    pub rise_mc_per_w: u64,
    /// Time in which the way to the temperature of a new load is gone but for 37%.
    pub time_constant_ns: u64,
    /// Above this the drive slows down, in degrees Celsius.
    pub throttle_above_c: i64,
    /// Below this it is fast again; under the other.
    pub resume_below_c: i64,
    /// Rate of reads and writes together that the hot drive takes.
    pub throttled_bytes_per_s: u64,
}

impl Default for Heat {
    fn default() -> Heat {
        Heat {
            ambient_c: 25,
            begins_c: None,
            idle_mw: 800,
            read_nj_per_4kib: 8_000,
            write_nj_per_4kib: 10_000,
            rise_mc_per_w: 12_000,
            time_constant_ns: 90_000_000_000,
            throttle_above_c: 80,
            resume_below_c: 74,
            throttled_bytes_per_s: 300_000_000,
        }
    }
}

/// Limits that follow from the figures of [`Heat`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HeatTruth {
    /// Temperature of the idle drive in the long run, in degrees Celsius.
    pub idle_temperature_c: f64,
    /// Rate of reading that the drive bears for ever without slowing down; none when it bears any.
    pub bearable_read_bytes_per_s: Option<u64>,
    /// The same for writing.
    pub bearable_write_bytes_per_s: Option<u64>,
}

/// Steps per time constant at which the temperature is computed. With this many, they differ from the
/// exponential that they approximate by less than 0.05% of the way.
const STEPS: u64 = 1024;

/// Billionths of a degree in a thousandth, and in one.
const NANO_PER_MILLI: i128 = 1_000_000;
const NANO_PER_DEGREE: i128 = 1_000_000_000;

impl Heat {
    pub(super) fn check(&self) -> Result<(), Fault> {
        let degrees = [
            ("heat.ambient_c", self.ambient_c, -100, 200),
            ("heat.begins_c", self.begins_c.unwrap_or(self.ambient_c), -100, 1000),
            ("heat.throttle_above_c", self.throttle_above_c, -100, 1000),
            ("heat.resume_below_c", self.resume_below_c, -100, self.throttle_above_c),
        ];
        within(&degrees)?;
        let figures = [
            ("heat.idle_mw", self.idle_mw, 0, 1_000_000),
            ("heat.read_nj_per_4kib", self.read_nj_per_4kib, 0, 1 << 40),
            ("heat.write_nj_per_4kib", self.write_nj_per_4kib, 0, 1 << 40),
            ("heat.rise_mc_per_w", self.rise_mc_per_w, 1, 10_000_000),
            ("heat.time_constant_ns", self.time_constant_ns, 1_000_000, 1 << 50),
            ("heat.throttled_bytes_per_s", self.throttled_bytes_per_s, 1_000, 1 << 50),
        ];
        within(&figures)
    }

    /// Temperature of the idle drive in the long run, in billionths of a degree.
    fn idle_nc(&self) -> i128 {
        let rise = i128::from(self.idle_mw) * i128::from(self.rise_mc_per_w) / 1000;
        i128::from(self.ambient_c) * NANO_PER_DEGREE + rise * NANO_PER_MILLI
    }

    pub(crate) fn truth(&self) -> HeatTruth {
        let room_nc = i128::from(self.throttle_above_c) * NANO_PER_DEGREE - self.idle_nc();
        let bearable = |nj_per_4kib: u64| {
            // Watts that the room is good for, in nanowatts, over nanojoules per byte.
            let nw = room_nc.max(0) * 1000 / i128::from(self.rise_mc_per_w);
            let rate = (nw * 4096).checked_div(i128::from(nj_per_4kib))?;
            u64::try_from(rate).ok()
        };
        HeatTruth {
            idle_temperature_c: self.idle_nc() as f64 / 1e9,
            bearable_read_bytes_per_s: bearable(self.read_nj_per_4kib),
            bearable_write_bytes_per_s: bearable(self.write_nj_per_4kib),
        }
    }
}

/// A drive that gets warm. What it does while it is too hot is let in at a limited rate.
pub(super) struct Warm {
    inner: Box<dyn Device>,
    heat: Heat,
    gauges: Arc<Gauges>,
    thermometer: Thermometer,
    /// Reads and writes in the drive, with their energy.
    held: Vec<(u64, u64)>,
    inbox: Inbox,
    /// When the next byte may be let in while the drive is hot.
    free_at: Time,
    now: Time,
}

impl Warm {
    pub(super) fn new(heat: &Heat, gauges: Arc<Gauges>, inner: Box<dyn Device>) -> Warm {
        let thermometer = Thermometer::new(heat);
        gauges.set_temperature(thermometer.milli_c());
        Warm {
            inner,
            heat: heat.clone(),
            gauges,
            thermometer,
            held: Vec::new(),
            inbox: Inbox::default(),
            free_at: Time::ZERO,
            now: Time::ZERO,
        }
    }

    fn energy_nj(&self, command: &Command) -> u64 {
        let per_4kib = match command.op {
            Op::Read => self.heat.read_nj_per_4kib,
            Op::Write => self.heat.write_nj_per_4kib,
            Op::Flush | Op::Discard => 0,
        };
        let nj = u128::from(per_4kib) * u128::from(command.len) / 4096;
        u64::try_from(nj).unwrap_or(u64::MAX)
    }

    /// Lets time pass for the temperature, where others can read it.
    fn warm(&mut self, to: Time) {
        if self.thermometer.advance(to) {
            self.gauges.set_temperature(self.thermometer.milli_c());
            self.gauges.throttled(std::mem::take(&mut self.thermometer.throttles));
        }
    }

    /// When a command may be let in.
    fn release(&mut self, command: &Command) -> Time {
        if !self.thermometer.hot || matches!(command.op, Op::Flush | Op::Discard) {
            return self.now;
        }
        let rate = u128::from(self.heat.throttled_bytes_per_s);
        let ns = u128::from(command.len) * 1_000_000_000 / rate;
        let release = self.free_at.max(self.now);
        self.free_at = release + Nanos(u64::try_from(ns).unwrap_or(u64::MAX));
        release
    }
}

impl Shell for Warm {
    fn inner(&self) -> &dyn Device {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        self.inner.as_mut()
    }

    fn admits(&self, command: &Command) -> bool {
        !self.inbox.is_empty() || self.inner.admits(command)
    }

    fn accept(&mut self, command: Command, now: Time) {
        self.warm(now);
        self.now = now;
        self.held.push((command.tag, self.energy_nj(&command)));
        let from = self.release(&command);
        self.inbox.push(from, command);
        self.inbox.hand_over(self.inner.as_mut(), now);
    }

    fn next_event(&self) -> Option<Time> {
        earlier(self.inbox.next_event(self.now), self.inner.next_event())
    }

    fn step(&mut self, at: Time, finished: &mut Vec<Finished>) {
        let first = finished.len();
        self.inner.advance(at, finished);
        for result in &finished[first..] {
            if let Some(index) = self.held.iter().position(|(tag, _)| *tag == result.tag) {
                let (_, energy_nj) = self.held.swap_remove(index);
                self.warm(result.at);
                self.thermometer.add(energy_nj);
            }
        }
        self.warm(at);
        self.now = at;
        self.inbox.hand_over(self.inner.as_mut(), at);
    }
}

/// The temperature of a drive, computed step by step in whole numbers.
///
/// In each step of a [`STEPS`]th of the time constant it goes a [`STEPS`]th of the way to where the power
/// of the step before would bring it in the long run. A platform's `exp` would take fewer steps, and could
/// differ in its last bit from machine to machine.
struct Thermometer {
    step_ns: u64,
    idle_nc: i128,
    rise_mc_per_w: i128,
    above_nc: i128,
    below_nc: i128,
    now_nc: i128,
    /// Steps taken.
    steps: u64,
    /// Energy of the step under way.
    energy_nj: u64,
    hot: bool,
    /// Times that it became hot, since they were last taken.
    throttles: u64,
}

impl Thermometer {
    fn new(heat: &Heat) -> Thermometer {
        let nano = |degrees: i64| i128::from(degrees) * NANO_PER_DEGREE;
        Thermometer {
            step_ns: heat.time_constant_ns / STEPS,
            idle_nc: heat.idle_nc(),
            rise_mc_per_w: i128::from(heat.rise_mc_per_w),
            above_nc: nano(heat.throttle_above_c),
            below_nc: nano(heat.resume_below_c),
            now_nc: heat.begins_c.map_or(heat.idle_nc(), nano),
            steps: 0,
            energy_nj: 0,
            hot: false,
            throttles: 0,
        }
    }

    fn add(&mut self, energy_nj: u64) {
        self.energy_nj = self.energy_nj.saturating_add(energy_nj);
    }

    /// Takes the steps until `to`; true when there were any.
    fn advance(&mut self, to: Time) -> bool {
        let due = to.0 / self.step_ns;
        let begun = self.steps < due;
        while self.steps < due {
            self.steps += 1;
            // Nanojoules per nanosecond are watts.
            let energy = i128::from(std::mem::take(&mut self.energy_nj));
            let rise = energy * self.rise_mc_per_w * NANO_PER_MILLI / i128::from(self.step_ns);
            let way = self.idle_nc + rise - self.now_nc;
            // Rounded away from zero, so that the way has an end.
            let step = (way.abs() + i128::from(STEPS) - 1) / i128::from(STEPS);
            self.now_nc += step * way.signum();
            self.judge();
            if way == 0 {
                // It stays where it is for as long as nothing is done: an idle year costs nothing.
                self.steps = due;
            }
        }
        begun
    }

    fn judge(&mut self) {
        if !self.hot && self.now_nc > self.above_nc {
            self.hot = true;
            self.throttles += 1;
        } else if self.hot && self.now_nc < self.below_nc {
            self.hot = false;
        }
    }

    /// In thousandths of a degree Celsius.
    fn milli_c(&self) -> i64 {
        i64::try_from(self.now_nc / NANO_PER_MILLI).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_watts(thermometer: &mut Thermometer, watts: u64, from_ns: u64, to_ns: u64) {
        for step in from_ns / thermometer.step_ns..to_ns / thermometer.step_ns {
            thermometer.add(watts * thermometer.step_ns);
            thermometer.advance(Time((step + 1) * thermometer.step_ns));
        }
    }

    // Breaks when the steps do not come to what the differential equation says.
    #[test]
    fn it_follows_the_exponential_of_the_time_constant() {
        let heat = Heat { throttle_above_c: 900, resume_below_c: 900, ..Heat::default() };
        let mut thermometer = Thermometer::new(&heat);
        let idle = 25.0 + 0.8 * 12.0;
        assert_eq!(thermometer.milli_c(), (idle * 1000.0) as i64);
        for constants in 1..=5_u64 {
            let tau = heat.time_constant_ns;
            at_watts(&mut thermometer, 4, (constants - 1) * tau, constants * tau);
            let expected = idle + 48.0 * (1.0 - (-(constants as f64)).exp());
            let told = thermometer.milli_c() as f64 / 1000.0;
            assert!((told - expected).abs() < 0.03, "after {constants}: {told}, not {expected}");
        }
        // And down again, to the very temperature at which it idles, at no cost for the year after.
        thermometer.advance(Time(31_536_000_000_000_000));
        assert_eq!(thermometer.now_nc, heat.idle_nc());
    }

    #[test]
    fn it_is_hot_from_the_upper_limit_until_the_lower() {
        let heat = Heat { throttle_above_c: 60, resume_below_c: 50, ..Heat::default() };
        let mut thermometer = Thermometer::new(&heat);
        let tau = heat.time_constant_ns;
        at_watts(&mut thermometer, 4, 0, 3 * tau);
        assert!(thermometer.hot && thermometer.throttles == 1, "80 degrees");
        let mut at = 3 * tau;
        while thermometer.hot {
            at += thermometer.step_ns;
            assert!(thermometer.milli_c() >= 50_000 - 100, "{}", thermometer.milli_c());
            thermometer.advance(Time(at));
        }
        assert!(thermometer.milli_c() < 50_000);
        assert_eq!(thermometer.throttles, 1);
        at_watts(&mut thermometer, 4, at, at + tau);
        assert_eq!(thermometer.throttles, 2);
    }

    #[test]
    fn the_bearable_rate_is_the_one_that_just_reaches_the_limit() {
        let heat = Heat::default();
        let rate = heat.truth().bearable_write_bytes_per_s.unwrap();
        let mut thermometer = Thermometer::new(&heat);
        let per_step = u128::from(rate) * u128::from(thermometer.step_ns) / 1_000_000_000;
        let energy = |share: u128| (per_step * share / 100 * 10_000 / 4096) as u64;
        for (share, hot) in [(99, false), (101, true)] {
            let begin = thermometer.steps;
            for step in begin..begin + 20 * STEPS {
                thermometer.add(energy(share));
                thermometer.advance(Time((step + 1) * thermometer.step_ns));
            }
            assert_eq!(thermometer.hot, hot, "{share}% of it: {}", thermometer.milli_c());
        }
        let cold = Heat { read_nj_per_4kib: 0, ..heat };
        assert_eq!(cold.truth().bearable_read_bytes_per_s, None, "it costs nothing");
    }
}
