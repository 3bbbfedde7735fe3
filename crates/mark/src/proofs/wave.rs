//! Waves within windows: a rate that goes up and down at one frequency in most of them, more than noise does.

use std::f64::consts::TAU;

/// Most cycles in a window: each half of a cycle then lasts a tenth of it.
const CYCLES_MAX: usize = 5;
/// Frequencies whose power is that of the noise, in cycles.
const NOISE: std::ops::Range<usize> = 6..12;
/// Fewest slices of a window that is looked at.
const SLICES_MIN: usize = 24;
/// Quantile of the normal distribution for 1% over all frequencies.
const Z: f64 = 2.88;

/// A wave.
pub(super) struct Wave {
    /// Greatest distance from the mean, as a share.
    pub(super) amplitude: f64,
    /// In each window.
    pub(super) cycles: usize,
}

/// The strongest wave that noise does not explain; `None` where there is none. One in `stray_share` windows, the strongest,
/// do not count.
///
/// By the mean power over the windows at one to five cycles, beside that at six to eleven, which is noise. The differences of
/// neighbouring parts, by which levels are found, hold a fast wave themselves.
pub(super) fn strongest(windows: &[&[u64]], stray_share: usize) -> Option<Wave> {
    let windows: Vec<Vec<f64>> = windows.iter().filter_map(|window| shares(window)).collect();
    let all = windows.len();
    let counted = all - all / stray_share;
    if counted == 0 {
        return None;
    }
    // Mean and variance of the sum of the least `counted` of as many exponential variables of mean 1.
    let weights = (0..counted).map(|at| (counted - at) as f64 / (all - at) as f64);
    let (sum, squares) = weights.fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
    let power = |cycles: usize| {
        let mut powers: Vec<f64> = windows.iter().map(|window| power(window, cycles)).collect();
        powers.sort_unstable_by(f64::total_cmp);
        powers[..counted].iter().sum::<f64>() / sum
    };
    let noise = NOISE.map(power).sum::<f64>() / NOISE.len() as f64;
    // The quantile of a gamma distribution of that mean and variance (Wilson and Hilferty, 1931).
    let part = squares / (9.0 * sum * sum);
    let by_chance = noise * (1.0 - part + Z * part.sqrt()).powi(3);
    (1..=CYCLES_MAX)
        .map(|cycles| (cycles, power(cycles)))
        .filter(|(_, power)| *power > by_chance)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(cycles, power)| Wave { amplitude: (power - noise).max(0.0).sqrt(), cycles })
}

/// Slices over their mean.
fn shares(window: &[u64]) -> Option<Vec<f64>> {
    let mean = window.iter().sum::<u64>() as f64 / window.len() as f64;
    (window.len() >= SLICES_MIN && mean > 0.0)
        .then(|| window.iter().map(|bytes| *bytes as f64 / mean).collect())
}

/// Square of the amplitude of a wave with `cycles` in each window.
fn power(window: &[f64], cycles: usize) -> f64 {
    let n = window.len() as f64;
    let angle = |at: usize| TAU * (cycles * at % window.len()) as f64 / n;
    let along = |of: fn(f64) -> f64| {
        window.iter().enumerate().map(|(at, share)| share * of(angle(at))).sum::<f64>()
    };
    (along(f64::cos).powi(2) + along(f64::sin).powi(2)) * 4.0 / (n * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 50 slices with noise that does not repeat, and a wave in the first of them.
    fn windows(count: usize, with_wave: usize, amplitude: f64) -> Vec<Vec<u64>> {
        let mut state = 7_u64;
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1 << 24) as f64 - 0.5
        };
        let mut window = |index: usize| -> Vec<u64> {
            let amplitude = if index < with_wave { amplitude } else { 0.0 };
            let wave =
                |at: usize| amplitude * (TAU * (at as f64 / 20.0 + index as f64 / 3.0)).sin();
            (0..50).map(|at| (1e6 * (1.0 + wave(at) + 0.1 * noise())) as u64).collect()
        };
        (0..count).map(&mut window).collect()
    }

    fn found(windows: &[Vec<u64>]) -> Option<Wave> {
        strongest(&windows.iter().map(Vec::as_slice).collect::<Vec<_>>(), 4)
    }

    #[test]
    fn a_fast_wave_has_its_size_and_noise_is_none() {
        let wave = found(&windows(8, 8, 0.1)).unwrap();
        assert!((0.06..0.11).contains(&wave.amplitude) && (2..=3).contains(&wave.cycles));
        assert!(found(&windows(8, 0, 0.0)).is_none_or(|wave| wave.amplitude < 0.01));
    }

    // Another program that used the drive during one window of eight must not count as a state of the drive.
    #[test]
    fn what_few_windows_have_does_not_count() {
        assert!(found(&windows(8, 2, 0.3)).is_none_or(|wave| wave.amplitude < 0.025));
        assert!(found(&windows(8, 4, 0.3)).unwrap().amplitude > 0.05);
    }

    #[test]
    fn windows_without_slices_or_bytes_have_no_wave() {
        assert!(found(&[]).is_none());
        assert!(found(&[vec![5; 10], vec![0; 50]]).is_none());
    }
}
