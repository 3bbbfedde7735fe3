//! Windows of one test, drawn about a latent rate.

use crate::compare::Draw;

/// Slices of a window, as a mark has them.
pub(super) const SLICES: usize = 50;
/// Parts of a window whose latent means are compared.
const PARTS: usize = 5;
/// Change that the proof calls none.
const MARGIN: f64 = 0.05;
/// The share of windows that may show several levels, by the proof's own rule.
const STRAY_SHARE: usize = 4;
/// Bytes of a slice at the level.
const SLICE_BYTES: f64 = 2e7;

/// Course of the latent rate over a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    Steady,
    Drift,
    Step,
    /// A state for each run.
    StatesOfRuns,
    /// States that last parts of a window.
    StatesWithin,
    Wave,
    SlowWave,
}

impl Course {
    pub(super) const ALL: [Course; 7] = [
        Course::Steady,
        Course::Drift,
        Course::Step,
        Course::StatesOfRuns,
        Course::StatesWithin,
        Course::Wave,
        Course::SlowWave,
    ];

    pub(super) fn words(self) -> &'static str {
        match self {
            Course::Steady => "steady",
            Course::Drift => "drift of 2 to 20% over the test",
            Course::Step => "step of 5 to 30%",
            Course::StatesOfRuns => "two states, one a run, 5 to 30% apart",
            Course::StatesWithin => "two states within windows, 5 to 30% apart",
            Course::Wave => "wave of ± 3 to 20%, period 0.4 to 3 windows",
            Course::SlowWave => "wave of ± 3 to 20%, period 3 runs to the whole test",
        }
    }
}

/// Source of the noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noise {
    Runs,
    Slices,
    /// Slices that resemble the one before, with this correlation in hundredths.
    Alike(u8),
    Both,
}

/// One test.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) seed: u64,
    pub(super) course: Course,
    pub(super) noise: f64,
    /// Six runs are planned, and the others made while they are needed.
    pub(super) may_add: bool,
    /// Bytes by slice, for each run.
    pub(super) windows: Vec<Vec<u64>>,
    /// Latent means of the parts of each window.
    latent: Vec<[f64; PARTS]>,
}

impl Drawn {
    /// Runs of 6, 10 or 20, or 6 to 18 as they decide; windows take 10 to 75% of the time between them.
    pub(super) fn new(seed: u64, course: Course, noise: f64) -> Drawn {
        let mut draw = Draw::of(seed, course as u64);
        let (runs, may_add) =
            [(6, false), (10, false), (20, false), (18, true)][(draw.unit() * 4.0) as usize];
        let between = |draw: &mut Draw, low: f64, high: f64| low + (high - low) * draw.unit();
        let duty = between(&mut draw, 0.1, 0.75);
        let rate = latent(course, runs, duty, &mut draw);
        let source = match (draw.unit() * 4.0) as usize {
            0 => Noise::Runs,
            1 => Noise::Slices,
            2 => Noise::Alike(between(&mut draw, 50.0, 90.0) as u8),
            _ => Noise::Both,
        };
        let windows = rate.iter().map(|window| noisy(window, source, noise, &mut draw)).collect();
        let parts = |window: &Vec<f64>| {
            let length = SLICES / PARTS;
            std::array::from_fn(|part| mean(&window[part * length..(part + 1) * length]))
        };
        let latent = rate.iter().map(parts).collect();
        Drawn { seed, course, noise, may_add, windows, latent }
    }

    /// The first `runs` of it.
    pub(super) fn first(mut self, runs: usize) -> Drawn {
        self.windows.truncate(runs);
        self.latent.truncate(runs);
        self
    }

    /// Greatest change between latent means of windows, or of parts of windows where more of them than may be stray have one.
    pub(super) fn change(&self) -> f64 {
        let apart = |values: &[f64]| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            values.iter().copied().fold(0.0, f64::max) / low - 1.0
        };
        let means: Vec<f64> = self.latent.iter().map(|window| mean(window)).collect();
        let mut within: Vec<f64> = self.latent.iter().map(|window| apart(window)).collect();
        within.sort_unstable_by(|a, b| b.total_cmp(a));
        apart(&means).max(within[within.len() / STRAY_SHARE])
    }

    /// The latent rate changes by more than the proof calls none.
    pub(super) fn is_beyond(&self) -> bool {
        self.change() > MARGIN
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Latent rate of each slice of each window, about 1.
fn latent(course: Course, runs: usize, duty: f64, draw: &mut Draw) -> Vec<Vec<f64>> {
    // Time in runs, from 0 to `runs`.
    let at = |run: usize, slice: usize| {
        run as f64 + 1.0 - duty + duty * (slice as f64 + 0.5) / SLICES as f64
    };
    let all = runs as f64;
    let sign = if draw.unit() < 0.5 { 1.0 } else { -1.0 };
    let size = draw.unit();
    let place = draw.unit();
    let length = draw.unit();
    let apart = 0.05 + 0.25 * size;
    let high = 1.0 / (1.0 - apart);
    let mut states = States { draw, high: place < 0.5, left: 0.0 };
    let mut rate = |run: usize, slice: usize| match course {
        Course::Steady => 1.0,
        Course::Drift => 1.0 + sign * (0.02 + 0.18 * size) * (at(run, slice) / all - 0.5),
        Course::Step => {
            // At least one window is on each side.
            let step_at = 1.0 + place * (all - 1.0 - duty);
            let is_after = at(run, slice) > step_at;
            if is_after == (sign > 0.0) { high } else { 1.0 }
        }
        Course::StatesOfRuns => {
            if slice == 0 {
                states.high = states.draw.unit() < 0.5;
            }
            if states.high { high } else { 1.0 }
        }
        Course::StatesWithin => {
            states.pass(1.0 / SLICES as f64, 0.1 * 15.0_f64.powf(length));
            if states.high { high } else { 1.0 }
        }
        Course::Wave | Course::SlowWave => {
            let period = if course == Course::Wave {
                duty * 0.4 * 7.5_f64.powf(length)
            } else {
                3.0 + (all - 3.0) * length
            };
            let phase = std::f64::consts::TAU * (at(run, slice) / period + place);
            1.0 + (0.03 + 0.17 * size) * phase.sin()
        }
    };
    (0..runs).map(|run| (0..SLICES).map(|slice| rate(run, slice)).collect()).collect()
}

/// Two states.
struct States<'a> {
    draw: &'a mut Draw,
    high: bool,
    /// Windows that this one lasts yet.
    left: f64,
}

impl States<'_> {
    /// Lets a part of a window pass, with stays of exponential length and this mean.
    fn pass(&mut self, windows: f64, stay: f64) {
        self.left -= windows;
        while self.left < 0.0 {
            self.high = !self.high;
            self.left -= stay * (1.0 - self.draw.unit()).ln();
        }
    }
}

/// Bytes of each slice: the mean of a window has the deviation `noise`, as a share.
fn noisy(window: &[f64], source: Noise, noise: f64, draw: &mut Draw) -> Vec<u64> {
    let (of_run, of_slices, alike) = match source {
        Noise::Runs => (noise, 0.01, 0.0),
        Noise::Slices => (0.0, noise, 0.0),
        Noise::Alike(hundredths) => (0.0, noise, f64::from(hundredths) / 100.0),
        Noise::Both => (noise / 2.0_f64.sqrt(), noise / 2.0_f64.sqrt(), 0.0),
    };
    let factor = |deviation: f64, z: f64| {
        // Log-normal with mean 1.
        let log = (1.0 + deviation * deviation).ln();
        (log.sqrt() * z - log / 2.0).exp()
    };
    let run = factor(of_run, draw.normal());
    let worth = SLICES as f64 * (1.0 - alike) / (1.0 + alike);
    let deviation = if source == Noise::Runs { of_slices } else { of_slices * worth.sqrt() };
    let slices = draw.correlated(window.len(), alike);
    let bytes = |(rate, z): (&f64, f64)| (SLICE_BYTES * rate * run * factor(deviation, z)) as u64;
    window.iter().zip(slices).map(bytes).collect()
}
