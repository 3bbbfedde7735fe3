//! The picture: bands window by window, where which count of them appears, and periods along the offset.

use super::bands::{Answer, DISTANCE_MIN, Question, judge};
use super::evidence::{Band, Part, Period, Stretch, Window};
use super::mixture::{Datum, Fit};
use super::profile::Profile;
use super::spots::Level;

/// Least number of places in a window at the beginning, and about the greatest number of windows.
const WINDOW_PLACES: usize = 64;
const WINDOWS_MAX: usize = 128;

/// A window has the bands of the region, or one, at odds of e^8.
const ODDS: f64 = 8.0;

/// A correlation is named when it is at least this, and this many standard errors from none.
const CORRELATION_MIN: f64 = 0.3;
const ERRORS: f64 = 5.0;

/// A period is one of its own when it beats the shorter ones that it is a multiple of by this much.
const BETTER: f64 = 0.1;

/// Periods named, at most.
const PERIODS_MAX: usize = 4;

/// Levels of the places of one part, with the bytes from one to the next.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    pub(super) part: Part,
    pub(super) data: Vec<Datum>,
    pub(super) step: u64,
    /// Time of a read, ns.
    pub(super) base: f64,
}

/// Cuts places that follow each other into windows of a size in which bands can be counted; none crosses `cut`, where
/// a zone ends.
pub(super) fn in_windows(mut data: Vec<Datum>, cut: Option<u64>) -> Vec<Datum> {
    let size = WINDOW_PLACES.max(data.len() / WINDOWS_MAX);
    let (mut window, mut held) = (0, 0);
    let side = |offset: u64| cut.is_some_and(|cut| offset >= cut);
    let mut before = data.first().is_some_and(|datum| side(datum.offset));
    for datum in &mut data {
        if held == size || side(datum.offset) != before {
            (window, held, before) = (window + 1, 0, side(datum.offset));
        }
        datum.window = window;
        held += 1;
    }
    data
}

/// The windows of a series, each judged by itself; where that leaves it open and the bands of the region are known,
/// by whether it has those or one.
pub(super) fn windows(series: &Series, noise_known: bool, known: Option<&Fit>) -> Vec<Window> {
    let each = series.data.chunk_by(|a, b| a.window == b.window);
    each.filter_map(|places| window(series, places, noise_known, known)).collect()
}

fn window(
    series: &Series,
    places: &[Datum],
    noise_known: bool,
    known: Option<&Fit>,
) -> Option<Window> {
    let (first, last) = (places.first()?, places.last()?);
    let alone: Vec<Datum> = places.iter().map(|datum| Datum { window: 0, ..*datum }).collect();
    // One band is narrower than the bands of the region are apart.
    let apart = known.map_or(f64::INFINITY, |fit| narrowest(fit) / 2.0);
    let closest = apart.min(DISTANCE_MIN * series.base);
    let judged = judge(&Question { data: &alone, planes: &[], turns: None, noise_known, closest })?;
    let by_known = || known.and_then(|fit| as_known(&alone, fit, series.base));
    let (count, fit) = match judged.answer {
        Answer::Bands(count, _) => (Some(count), judged.fit),
        Answer::One(..) => (Some(1), judged.fit),
        Answer::Open(..) => by_known().map_or((None, judged.fit), |(n, fit)| (Some(n), fit)),
    };
    let centers = fit.centers.iter().zip(&fit.shares);
    Some(Window {
        part: series.part,
        from: first.offset,
        to: last.offset + series.step,
        places: places.len() as u64,
        count: count.and_then(|count| u32::try_from(count).ok()),
        bands: centers.map(|(&center_ns, &share)| Band { center_ns, share }).collect(),
    })
}

/// Least distance of two bands, ns.
fn narrowest(fit: &Fit) -> f64 {
    fit.centers.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min)
}

/// Whether a window has the bands of `fit` or one, wherever it lies as a whole, when that is clear; with its bands.
fn as_known(places: &[Datum], fit: &Fit, base: f64) -> Option<(usize, Fit)> {
    let anywhere = base * base;
    let one = Fit {
        centers: vec![fit.centers.iter().sum::<f64>() / fit.centers.len() as f64],
        center_errors: vec![0.0],
        shares: vec![1.0],
        ..fit.clone()
    };
    let odds = Profile::shifted(fit, anywhere).log_likelihood(places)
        - Profile::shifted(&one, anywhere).log_likelihood(places);
    let bands = if odds > ODDS { fit } else { &one };
    let shift = Profile::shifted(bands, anywhere).shift_of(places);
    let centers = bands.centers.iter().map(|center| center + shift).collect();
    (odds.abs() > ODDS).then(|| (bands.centers.len(), Fit { centers, ..bands.clone() }))
}

/// Ranges by their count of bands: consecutive windows of one part that have the same count.
pub(super) fn stretches(windows: &[Window]) -> Vec<Stretch> {
    let told = |window: &Window| Some((window.part, window.count?));
    let runs = windows.chunk_by(|a, b| told(a) == told(b) && told(a).is_some());
    let stretch = |run: &[Window]| {
        let (first, last) = (run.first()?, run.last()?);
        let windows = run.len() as u64;
        Some(Stretch { from: first.from, to: last.to, count: first.count?, windows })
    };
    runs.filter_map(stretch).collect()
}

/// Periods of the levels within windows, by their autocorrelation: any distance up to half a window, not only powers
/// of two. What varies with a period P correlates at P, 2P …; the shortest of them is named.
pub(super) fn periods(series: &Series) -> Vec<Period> {
    let windows: Vec<&[Datum]> = series.data.chunk_by(|a, b| a.window == b.window).collect();
    let centred: Vec<Vec<f64>> = windows.iter().map(|places| centre(places)).collect();
    let longest = windows.iter().map(|places| places.len()).max().unwrap_or(0);
    let square = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>();
    let places: usize = centred.iter().map(Vec::len).sum();
    let variance = centred.iter().map(|values| square(values)).sum::<f64>() / places.max(1) as f64;
    if variance <= 0.0 {
        return Vec::new();
    }
    let correlation = |lag: usize| {
        let products = centred.iter().flat_map(|v| v.iter().zip(v.iter().skip(lag)));
        let (sum, n) = products.fold((0.0, 0.0), |(sum, n), (a, b)| (sum + a * b, n + 1.0));
        if n < 8.0 { (0.0, f64::INFINITY) } else { (sum / n / variance, f64::sqrt(1.0 / n)) }
    };
    let all: Vec<(f64, f64)> = (0..=longest / 2).map(correlation).collect();
    let mut found: Vec<(usize, f64)> = Vec::new();
    for lag in 2..all.len().saturating_sub(1) {
        let (value, error) = all[lag];
        let peak = value >= all[lag - 1].0 && value > all[lag + 1].0;
        let sure = value > CORRELATION_MIN && value > ERRORS * error;
        let multiple = found.iter().any(|(of, as_much)| lag % of == 0 && value < as_much + BETTER);
        if peak && sure && !multiple {
            found.push((lag, value));
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.truncate(PERIODS_MAX);
    let period = |(lag, correlation)| Period { bytes: lag as u64 * series.step, correlation };
    found.into_iter().map(period).collect()
}

/// The levels of a window about their mean.
fn centre(places: &[Datum]) -> Vec<f64> {
    let mean = places.iter().map(|datum| datum.level.mean).sum::<f64>() / places.len() as f64;
    places.iter().map(|datum| datum.level.mean - mean).collect()
}

/// A level without repeats: its error is not known, and taken as `error`.
pub(super) fn single(time: f64, error: f64) -> Level {
    Level { mean: time, error, n: 1 }
}
