//! Latent courses of a rate after the free space was used up: what the drive does, without noise.

use std::f64::consts::TAU;

use super::draw::Draw;

/// Kinds of courses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Flat,
    FlatShort,
    SlightWave,
    EarlyStep,
    Relaxed,
    LateFall,
    LateRise,
    LateSmallStep,
    Drift,
    DriftAfterFlat,
    Relaxing,
    Sine,
    Square,
    Sawtooth,
    WaveStops,
    WaveFalls,
    LongWave,
    Telegraph,
    Throttled,
    ThrottledNowAndThen,
    Walk,
    WearsOut,
    Ramp,
    Staircase,
    Dip,
}

impl Kind {
    pub(super) const ALL: [Kind; 25] = [
        Kind::Flat,
        Kind::FlatShort,
        Kind::SlightWave,
        Kind::EarlyStep,
        Kind::Relaxed,
        Kind::LateFall,
        Kind::LateRise,
        Kind::LateSmallStep,
        Kind::Drift,
        Kind::DriftAfterFlat,
        Kind::Relaxing,
        Kind::Sine,
        Kind::Square,
        Kind::Sawtooth,
        Kind::WaveStops,
        Kind::WaveFalls,
        Kind::LongWave,
        Kind::Telegraph,
        Kind::Throttled,
        Kind::ThrottledNowAndThen,
        Kind::Walk,
        Kind::WearsOut,
        Kind::Ramp,
        Kind::Staircase,
        Kind::Dip,
    ];

    /// Name and ranges.
    pub(super) fn words(self) -> &'static str {
        match self {
            Kind::Flat => "flat, 3 to 20 drive writes",
            Kind::FlatShort => "flat, 0.3 to 2.5 drive writes",
            Kind::SlightWave => "wave of ± 0.3 to 1%, period 0.3 to 2",
            Kind::EarlyStep => "step of 6 to 40%, then flat for 4 to 10",
            Kind::Relaxed => "relaxation of 10 to 60% over 0.3 to 0.9, then at rest for 4 and more",
            Kind::LateFall => "fall of 6 to 30%, 0.3 to 2.5 before the end",
            Kind::LateRise => "rise of 6 to 30%, 0.3 to 2.5 before the end",
            Kind::LateSmallStep => "step of 5 to 6%, 0.5 to 2.5 before the end",
            Kind::Drift => "drift of 1 to 10% a drive write",
            Kind::DriftAfterFlat => "the same after a flat start",
            Kind::Relaxing => "relaxation of 15 to 60% over 2 to 12, not at its end",
            Kind::Sine => "sine of ± 10 to 40%, period 0.6 to 2",
            Kind::Square => "square wave, 1 to 0.4–0.88, period 0.8 to 3",
            Kind::Sawtooth => "sawtooth of 20 to 60%, period 0.6 to 2",
            Kind::WaveStops => "wave that stops 0.5 to 3 before the end, at one of its ends",
            Kind::WaveFalls => "wave that falls to 20 to 70% for the last 0.5 to 4",
            Kind::LongWave => "sine of ± 8 to 25%, period 4 to 20",
            Kind::Telegraph => "two levels 8 to 50% apart, stays of 0.3 to 3 on average",
            Kind::Throttled => "capped at 25 to 75% for the last 0.3 to 2.5",
            Kind::ThrottledNowAndThen => "now and then at 30 to 75%, for 0.2 to 1.5",
            Kind::Walk => "random walk of 2 to 6% a root of a drive write",
            Kind::WearsOut => "falls faster and faster, by 8 to 40% in all",
            Kind::Ramp => "ramp of 8 to 30% over 2 to 4, ends within the last 1.5",
            Kind::Staircase => "steps of 4 to 10% down, every 1 to 3.5",
            Kind::Dip => "dip of 10 to 50% for 0.3 to 1, within the last 2",
        }
    }

    /// Words of the program that name it rightly.
    pub(super) fn classes(self) -> &'static [&'static str] {
        match self {
            Kind::Flat | Kind::FlatShort | Kind::SlightWave | Kind::EarlyStep | Kind::Relaxed => {
                &["steady"]
            }
            Kind::Drift | Kind::DriftAfterFlat | Kind::Relaxing | Kind::WearsOut | Kind::Walk => {
                &["drifting", "never_steady", "transition"]
            }
            Kind::LongWave => &["drifting", "never_steady", "periodic", "telegraph"],
            Kind::Ramp | Kind::Staircase => &["drifting", "never_steady", "stepped"],
            Kind::LateFall | Kind::LateRise | Kind::LateSmallStep | Kind::Dip => {
                &["stepped", "throttled"]
            }
            Kind::WaveStops | Kind::WaveFalls => &["stepped", "throttled", "telegraph"],
            Kind::Sine | Kind::Square | Kind::Sawtooth => &["periodic"],
            Kind::Telegraph => &["telegraph", "stepped", "throttled"],
            Kind::Throttled | Kind::ThrottledNowAndThen => &["throttled", "telegraph", "stepped"],
        }
    }

    /// Steady by its kind.
    pub(super) fn is_steady(self) -> bool {
        self.classes() == ["steady"]
    }
}

/// The latent rate, as a share of some level, in steps of a 200th of a drive write.
pub(super) struct Course {
    pub(super) rates: Vec<f64>,
}

/// Steps of a drive write.
pub(super) const STEPS: usize = 200;

impl Course {
    /// One of `kind`.
    pub(super) fn draw(kind: Kind, draw: &mut Draw) -> Course {
        let (fills, rate) = drawn(kind, draw);
        let steps = (fills * STEPS as f64).round().max(8.0) as usize;
        Course {
            rates: (0..steps).map(|at| rate((at as f64 + 0.5) / STEPS as f64).max(0.02)).collect(),
        }
    }
}

type Rate = Box<dyn Fn(f64) -> f64>;

/// Its drive writes, and its rate at each.
fn drawn(kind: Kind, draw: &mut Draw) -> (f64, Rate) {
    let long = draw.log_between(5.0, 20.0);
    match kind {
        Kind::Flat => (draw.log_between(3.0, 20.0), Box::new(|_| 1.0)),
        Kind::FlatShort => (draw.between(0.3, 2.5), Box::new(|_| 1.0)),
        Kind::SlightWave => {
            let (size, wave) = (draw.between(0.003, 0.01), sine(draw, 0.3, 2.0));
            (long, Box::new(move |t| 1.0 + size * wave(t)))
        }
        Kind::EarlyStep => {
            let (before, after) = (draw.between(0.5, 8.0), draw.between(4.0, 10.0));
            let to = 1.0 + draw.sign() * draw.between(0.06, 0.4);
            (before + after, Box::new(move |t| if t < before { 1.0 } else { to }))
        }
        Kind::Relaxed => {
            let (tau, size) = (draw.between(0.3, 0.9), draw.between(0.1, 0.6));
            let fills = 4.5 * tau + draw.between(4.0, 10.0);
            (fills, Box::new(move |t| 1.0 + size * (-t / tau).exp()))
        }
        Kind::LateFall | Kind::LateRise | Kind::LateSmallStep => {
            let size = match kind {
                Kind::LateFall => -draw.between(0.06, 0.3),
                Kind::LateRise => draw.between(0.06, 0.3),
                _ => draw.sign() * draw.between(0.05, 0.06),
            };
            let since = draw.between(if kind == Kind::LateSmallStep { 0.5 } else { 0.3 }, 2.5);
            (long, Box::new(move |t| if t < long - since { 1.0 } else { 1.0 + size }))
        }
        Kind::Drift => {
            let slope = draw.sign() * draw.log_between(0.01, 0.1);
            (long, Box::new(move |t| (slope * t).exp()))
        }
        Kind::DriftAfterFlat => {
            let (from, slope) =
                (long * draw.between(0.2, 0.6), draw.sign() * draw.log_between(0.01, 0.1));
            (long, Box::new(move |t| (slope * (t - from).max(0.0)).exp()))
        }
        Kind::Relaxing => {
            let (tau, size) = (draw.between(2.0, 12.0), draw.sign() * draw.between(0.15, 0.6));
            let fills = (tau * draw.between(0.4, 1.8)).clamp(2.5, 20.0);
            (fills, Box::new(move |t| 1.0 + size.max(-0.6) * (-t / tau).exp()))
        }
        Kind::Sine => {
            let (size, wave) = (draw.between(0.1, 0.4), sine(draw, 0.6, 2.0));
            (long.max(8.0), Box::new(move |t| 1.0 + size * wave(t)))
        }
        Kind::Square => {
            let (low, period, duty) =
                (draw.between(0.4, 0.88), draw.between(0.8, 3.0), draw.between(0.3, 0.7));
            let square = move |t: f64| if (t / period).fract() < duty { 1.0 } else { low };
            (long.max(5.0 * period), Box::new(square))
        }
        Kind::Sawtooth => {
            let (size, period) = (draw.between(0.2, 0.6), draw.between(0.6, 2.0));
            (long.max(8.0), Box::new(move |t| 1.0 - size * (t / period).fract()))
        }
        Kind::WaveStops | Kind::WaveFalls => {
            let (size, wave) = (draw.between(0.12, 0.35), sine(draw, 0.6, 2.0));
            let since = draw.between(0.5, if kind == Kind::WaveFalls { 4.0 } else { 3.0 });
            let to = if kind == Kind::WaveFalls {
                draw.between(0.2, 0.7)
            } else {
                1.0 + draw.sign() * size
            };
            let fills = draw.between(6.0, 14.0);
            (fills, Box::new(move |t| if t < fills - since { 1.0 + size * wave(t) } else { to }))
        }
        Kind::LongWave => {
            let (size, period, phase) =
                (draw.between(0.08, 0.25), draw.between(4.0, 20.0), draw.uniform());
            let fills = period * draw.between(0.6, 2.2);
            let wave = move |t: f64| 1.0 + size * (TAU * (t / period + phase)).sin();
            (fills.clamp(4.0, 40.0), Box::new(wave))
        }
        Kind::Telegraph => {
            let (low, stay) = (1.0 - draw.between(0.08, 0.5), draw.log_between(0.3, 3.0));
            let turns = turns(draw, long, stay, stay);
            (long, Box::new(move |t| if is_turned(&turns, t) { low } else { 1.0 }))
        }
        Kind::Throttled => {
            let (low, since) = (draw.between(0.25, 0.75), draw.between(0.3, 2.5));
            (long, Box::new(move |t| if t < long - since { 1.0 } else { low }))
        }
        Kind::ThrottledNowAndThen => {
            let low = draw.between(0.3, 0.75);
            let (rest, held) = (draw.between(0.8, 3.0), draw.between(0.2, 1.5));
            let turns = turns(draw, long, rest, held);
            (long, Box::new(move |t| if is_turned(&turns, t) { low } else { 1.0 }))
        }
        Kind::Walk => {
            let step = draw.between(0.02, 0.06) / 20.0_f64.sqrt();
            let mut place = 0.0;
            let places: Vec<f64> = (0..(long * 20.0) as usize + 2)
                .map(|_| {
                    place += step * draw.normal();
                    place
                })
                .collect();
            (long, Box::new(move |t| places[(t * 20.0) as usize].exp()))
        }
        Kind::WearsOut => {
            let (size, power) = (draw.between(0.08, 0.4), draw.between(1.5, 3.0));
            (long, Box::new(move |t| 1.0 - size * (t / long).powf(power)))
        }
        Kind::Ramp => {
            let (size, over) = (draw.sign() * draw.between(0.08, 0.3), draw.between(2.0, 4.0));
            let from = long + 2.0 - draw.between(0.0, 1.5) - over;
            let ramp = move |t: f64| 1.0 + size * ((t - from) / over).clamp(0.0, 1.0);
            (long + 2.0, Box::new(ramp))
        }
        Kind::Staircase => {
            let (size, every) = (draw.between(0.04, 0.1), draw.between(1.0, 3.5));
            let stairs = move |t: f64| (1.0 - size).powf((t / every).floor());
            (long.max(2.5 * every), Box::new(stairs))
        }
        Kind::Dip => {
            let (size, length) = (draw.between(0.1, 0.5), draw.between(0.3, 1.0));
            let from = long - length - draw.between(0.0, 1.5);
            let dip =
                move |t: f64| if (from..from + length).contains(&t) { 1.0 - size } else { 1.0 };
            (long, Box::new(dip))
        }
    }
}

fn sine(draw: &mut Draw, least: f64, most: f64) -> impl Fn(f64) -> f64 + 'static {
    let (period, phase) = (draw.between(least, most), draw.uniform());
    move |t: f64| (TAU * (t / period + phase)).sin()
}

/// Moments at which it turns over, up to `fills`.
fn turns(draw: &mut Draw, fills: f64, first: f64, second: f64) -> Vec<f64> {
    let (mut at, mut turns) = (0.0, Vec::new());
    loop {
        let mean = if turns.len() % 2 == 0 { first } else { second };
        at += draw.exponential(mean).max(0.1);
        if at > fills {
            return turns;
        }
        turns.push(at);
    }
}

fn is_turned(turns: &[f64], t: f64) -> bool {
    turns.partition_point(|at| *at <= t) % 2 == 1
}
