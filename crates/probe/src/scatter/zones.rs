//! Whether reads at the beginning of the region are unlike those of the rest.

use super::bands::{Answer, DISTANCE_MIN, Judged};
use super::mixture::Datum;
use super::profile::Profile;

/// The beginning is another region when a description of its own is likelier by e^8 (3,000 to 1) than that of the
/// rest, the price of its parameters paid.
const ODDS: f64 = 8.0;

/// A zone's reads differ by more than this, or by this share of a read's time, whichever is more.
const SHIFT_NS: f64 = 2_500.0;
const SHIFT_MIN: f64 = 0.0015;

/// [`throughout`] leaves out one place in this many.
const FEW: usize = 8;

/// A shift of the mean that is less than this many of its standard errors may be chance.
const ERRORS: f64 = 3.0;

/// How the beginning compares.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Beginning {
    /// It is unlike the rest.
    Zone(Box<Other>),
    /// It is like the rest, within the noise: a shift of the mean would be less than this, ns.
    Same(f64),
    /// Not decided. True when more reads of the same places can change that.
    Open(bool),
}

/// A beginning that is unlike the rest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Other {
    pub(super) zone: Profile,
    pub(super) rest: Profile,
    /// By how much its reads take longer, ns.
    pub(super) slower: f64,
    /// Probability of a difference.
    pub(super) confidence: f64,
}

/// Compares the beginning with the rest, which `judged` describes; `base` is the time of a read, ns; `groups_known`
/// when each place is a group of pages.
pub(super) fn compare(
    beginning: &[Datum],
    judged: &Judged,
    base: f64,
    groups_known: bool,
) -> Option<Beginning> {
    match judged.answer {
        // Regions differ anyway.
        Answer::Open(_, false) => return Some(Beginning::Open(false)),
        // It is not known which places are of one page, so neither is the profile of the rest.
        Answer::Open(_, true) if !groups_known => return Some(Beginning::Open(true)),
        _ => {}
    }
    let rest = Profile::judged(judged);
    let zone = Profile::fitted(beginning, judged.fit.shape.plane)?;
    let as_rest = rest.log_likelihood(beginning);
    // Schwarz's criterion differs from the likelihood by the price of the parameters.
    let fit = zone.fit();
    let own = zone.log_likelihood(beginning) - (fit.bic / 2.0 + fit.log_likelihood);
    let (slower, error) = shift(beginning, &rest);
    if own - as_rest > ODDS && throughout(beginning, &zone, &rest) {
        let confidence = (1.0 - (as_rest - own).exp()).min(0.995);
        return Some(Beginning::Zone(Box::new(Other { zone, rest, slower, confidence })));
    }
    let count = match judged.answer {
        Answer::Bands(count, _) => count,
        Answer::One(..) => 1,
        Answer::Open(_, more) => return Some(Beginning::Open(more)),
    };
    let seen = if count > 1 {
        // The same bands at the same levels: no zone of other cells looks so.
        as_rest - flat(beginning) > ODDS && own < as_rest
    } else {
        slower.abs() + ERRORS * error < shift_min(base)
    };
    let reach = slower.abs() + ERRORS * error;
    Some(if seen { Beginning::Same(reach) } else { Beginning::Open(rest.shift2() < 1.0) })
}

/// A shift of the mean, ns, that no zone in other cells or with a map of its own is expected to be below: what is
/// looked up and what an array read takes agree so closely by chance alone.
fn shift_min(base: f64) -> f64 {
    SHIFT_NS.min(DISTANCE_MIN * base).max(SHIFT_MIN * base)
}

/// True when a description of its own is likelier even without the places that are least like the rest: a few odd
/// places are not a zone.
fn throughout(beginning: &[Datum], zone: &Profile, rest: &Profile) -> bool {
    let odds = |datum: &Datum| {
        let place = std::slice::from_ref(datum);
        zone.log_likelihood(place) - rest.log_likelihood(place)
    };
    let mut places: Vec<(f64, Datum)> =
        beginning.iter().map(|datum| (odds(datum), *datum)).collect();
    places.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    places.truncate(places.len() - places.len() / FEW);
    let mut places: Vec<Datum> = places.into_iter().map(|(_, datum)| datum).collect();
    places.sort_unstable_by_key(|datum| datum.offset);
    zone.log_likelihood(&places) - rest.log_likelihood(&places) > ODDS
}

/// By how much the mean of the levels is above that of the rest, and the standard error of that, ns.
fn shift(run: &[Datum], rest: &Profile) -> (f64, f64) {
    let n = run.len().max(1) as f64;
    let mean = run.iter().map(|datum| rest.fit().bare(datum, 0.0)).sum::<f64>() / n;
    let noise = run.iter().map(|datum| datum.level.error.powi(2)).sum::<f64>() / (n * n);
    (mean - rest.mean(), (noise + rest.mean_variance(n)).sqrt())
}

/// Logarithm of the likelihood of one level for all places, whatever it is.
fn flat(data: &[Datum]) -> f64 {
    let weight = |datum: &Datum| datum.level.error.powi(-2);
    let sum: f64 = data.iter().map(weight).sum();
    let center = data.iter().map(|datum| weight(datum) * datum.level.mean).sum::<f64>() / sum;
    let density = |datum: &Datum| {
        let variance = datum.level.error.powi(2);
        -0.5 * ((datum.level.mean - center).powi(2) / variance
            + (std::f64::consts::TAU * variance).ln())
    };
    data.iter().map(density).sum()
}
