//! How many bands the levels of places lie in: the comparison of models, and what must hold before a count is named.

use std::collections::BTreeMap;

use super::mixture::{Datum, Fit, Shape, fit};
use super::turns::{self, Turns};

/// Most bands that are looked for: one more than the four bits of the densest cells sold, so that what is spread
/// evenly is not forced into four.
const BANDS_MAX: usize = 5;

/// By how much -2 ln L must favour a count of bands over every other, beyond the price of its parameters: odds of
/// 1,000 to 1. The levels are looked at again and again while reads come in, so it is more than one look would need.
const MARGIN: f64 = 14.0;

/// By how much a count of levels in turns must be ahead of greater ones.
const MORE_MARGIN: f64 = 3.0;

/// Greatest confidence of an answer: a band may hide two, and one band may be more.
const SURE_MAX: f64 = 0.99;

/// Neighbouring bands lie at least this many deviations of a place apart, so that few places are between.
const SEPARATION_MIN: f64 = 4.0;

/// A band has at least this share of an even one's places.
const SHARE_MIN: f64 = 0.4;

/// A band that hides two hides them at less than this share of the distance to the next band; see [`split_max`].
const SPLIT_MAX: f64 = 0.3;

/// Bands closer than this share of a read's time are not looked for; the least that published tables show is 1.4%.
pub(super) const DISTANCE_MIN: f64 = 0.0075;

/// Windows alternate in opposite ways when the lesser contrast is this share of the greater.
const OPPOSITE: f64 = 0.3;

/// In at least this share of the windows every band appears: pages of one region differ, and zones do not pass for
/// bands.
const WINDOWS_MIN: f64 = 0.5;

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    /// Number of bands, two or more, and the confidence.
    Bands(usize, f64),
    /// One band, at this confidence: two would lie closer than this many ns.
    One(f64, f64),
    /// Not decided, and why. True when more reads of the same places can change that.
    Open(String, bool),
}

/// The answer with the model that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    pub(super) answer: Answer,
    pub(super) fit: Fit,
    /// The order in which bands take turns, when there is one.
    pub(super) turns: Option<Turns>,
}

/// Input of a judgement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question<'a> {
    /// Levels, in windows.
    pub(super) data: &'a [Datum],
    /// Page sizes to try when places may lie on different planes; empty when they all lie on the same.
    pub(super) planes: &'a [u64],
    /// Bytes of a group of pages, where groups are known: kinds may then be distinguished by their turns.
    pub(super) turns: Option<u64>,
    /// False if each place was read once: then noise cannot be distinguished from a band that is two.
    pub(super) noise_known: bool,
    /// Bands closer than this, ns, are not looked for.
    pub(super) closest: f64,
}

/// Judges; none when there are too few places.
pub(super) fn judge(question: &Question<'_>) -> Option<Judged> {
    let fits = candidates(question);
    let best = fits.iter().min_by(|a, b| a.bic.total_cmp(&b.bic))?.clone();
    // A band more always gains something; whether one may be two is asked of each band by itself.
    let fewer = fits.iter().filter(|fit| fit.shape.bands < best.shape.bands);
    let margin = fewer.map(|fit| fit.bic - best.bic).fold(f64::INFINITY, f64::min);
    let sure = (1.0 - (-0.5 * margin).exp()).min(SURE_MAX);
    let answer = if best.shape.bands == 1 {
        one(question, &best)
    } else if margin < MARGIN {
        Answer::Open(format!("{} bands fit best, and fewer almost as well", best.shape.bands), true)
    } else {
        several(question, &best, sure)
    };
    let mixed = Judged { answer, fit: best, turns: None };
    Some(match question.turns {
        Some(grain) => in_turns(question, mixed, &turns::fit(question.data, grain)),
        None => mixed,
    })
}

/// Adds what regular turns show: a count where single places leave it open, and the order.
fn in_turns(question: &Question<'_>, mixed: Judged, all: &[Turns]) -> Judged {
    let Some(best) = all.iter().min_by(|a, b| a.bic.total_cmp(&b.bic)) else { return mixed };
    let count = best.levels.len();
    let margin = |of: &dyn Fn(usize) -> bool| {
        let others = all.iter().filter(|turns| of(turns.levels.len()));
        others.map(|turns| turns.bic - best.bic).fold(f64::INFINITY, f64::min)
    };
    // An order of more levels can imitate one of fewer, and gains by the noise; it only has to be worth its price.
    let (fewer, more) = (margin(&|levels| levels < count), margin(&|levels| levels > count));
    let closest = question.closest;
    let told = best.narrowest() > SEPARATION_MIN * std::f64::consts::SQRT_2 * best.error;
    let regular =
        count > 1 && fewer >= MARGIN && more >= MORE_MARGIN && told && best.narrowest() >= closest;
    let windows = mixed.fit.offsets.len();
    match mixed.answer {
        Answer::Bands(found, _) if regular && found == count => {
            Judged { turns: Some(best.clone()), ..mixed }
        }
        Answer::Open(_, true) if regular => {
            let confidence =
                (1.0 - (-0.5 * fewer).exp() - (-0.5 * more).exp()).clamp(0.5, SURE_MAX);
            let fit = best.as_fit(windows);
            Judged { answer: Answer::Bands(count, confidence), fit, turns: Some(best.clone()) }
        }
        Answer::Open(_, true) if count == 1 && mixed.fit.shape.bands == 1 => {
            let apart = apart_max(question, all);
            let answer = if apart < closest { Answer::One(0.97, apart) } else { mixed.answer };
            Judged { answer, fit: best.as_fit(windows), turns: None }
        }
        _ => mixed,
    }
}

/// How far apart levels that take turns can lie, ns, when one level describes the places best: as far as the best
/// order that can be found in the noise, and two standard errors of the difference of two halves of a window more.
fn apart_max(question: &Question<'_>, all: &[Turns]) -> f64 {
    let widest = all.iter().map(Turns::range).fold(0.0, f64::max);
    let windows = question.data.chunk_by(|a, b| a.window == b.window).count().max(1) as f64;
    let data = question.data;
    let noise = data.iter().map(|datum| datum.level.error.powi(2)).sum::<f64>() / data.len() as f64;
    widest + 2.0 * 2.0 * (noise * windows / data.len() as f64).sqrt()
}

/// All candidate models. Planes only if one band, as narrow as reads can show, does not explain everything.
fn candidates(question: &Question<'_>) -> Vec<Fit> {
    let mut fits = Vec::new();
    let several = question.data.iter().any(|datum| datum.window > 0);
    let all = |plane, fits: &mut Vec<Fit>| {
        for offsets in [false, true].into_iter().filter(|offsets| several || !offsets) {
            let shape = |bands| Shape { bands, offsets, plane };
            fits.extend((1..=BANDS_MAX).filter_map(|bands| fit(question.data, shape(bands))));
        }
    };
    all(None, &mut fits);
    let best = fits.iter().min_by(|a, b| a.bic.total_cmp(&b.bic));
    let everything: Vec<&Datum> = question.data.iter().collect();
    let narrow = |fit: &Fit| split_max(fit, &everything, 0) <= question.closest;
    if !best.is_some_and(|best| best.shape.bands == 1 && narrow(best)) {
        let planes = question.planes.iter().filter(|plane| tied(question.data, **plane));
        planes.for_each(|plane| all(Some(*plane), &mut fits));
    }
    fits
}

/// False when times alternate with the address the one way in some windows and the other way in others: planes do not.
/// A model of planes with exceptions would describe such kinds of pages better than one of kinds in any order.
fn tied(data: &[Datum], plane: u64) -> bool {
    let contrast = |places: &[Datum]| {
        let mean = |second: bool| {
            let half = places.iter().filter(|d| ((d.offset / plane) % 2 == 1) == second);
            let (sum, n) = half.fold((0.0, 0.0), |(sum, n), d| (sum + d.level.mean, n + 1.0));
            sum / n
        };
        mean(true) - mean(false)
    };
    let contrasts = data.chunk_by(|a, b| a.window == b.window).map(contrast);
    let ends = contrasts.filter(|contrast| contrast.is_finite());
    let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    (-low).min(high) < OPPOSITE * (-low).max(high)
}

/// One band fits best. Is it narrow enough to say that there are not two?
fn one(question: &Question<'_>, fit: &Fit) -> Answer {
    let closest = question.closest;
    let all: Vec<&Datum> = question.data.iter().collect();
    let span = |values: &[f64]| {
        let ends =
            values.iter().fold((0.0_f64, 0.0_f64), |(low, high), x| (low.min(*x), high.max(*x)));
        ends.1 - ends.0
    };
    if fit.shape.offsets && span(&fit.offsets) > closest {
        return Answer::Open(
            "levels differ from region to region, and not within".to_owned(),
            false,
        );
    }
    let apart = split_max(fit, &all, 0);
    if fit.shape.plane.is_some() && fit.plane_ns.abs() > closest {
        let what = "times alternate with the address in the same way everywhere: planes, or kinds of pages";
        return Answer::Open(what.to_owned(), false);
    }
    if apart > closest {
        let what = "the noise of reads leaves open whether there is more than one band";
        return Answer::Open(what.to_owned(), true);
    }
    Answer::One(SURE_MAX, apart)
}

/// Several bands fit best. Do they look like kinds of pages?
fn several(question: &Question<'_>, fit: &Fit, sure: f64) -> Answer {
    let count = fit.shape.bands;
    if count == BANDS_MAX {
        return Answer::Open("times of places are spread, and not in bands".to_owned(), true);
    }
    let gaps: Vec<f64> = fit.centers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let narrowest = gaps.iter().copied().fold(f64::INFINITY, f64::min);
    let data = question.data;
    let error2 =
        data.iter().map(|datum| datum.level.error.powi(2)).sum::<f64>() / data.len() as f64;
    let deviation = (error2 + fit.spread2).sqrt();
    if narrowest < SEPARATION_MIN * deviation {
        return Answer::Open(format!("{count} bands that overlap fit best"), true);
    }
    if narrowest < question.closest {
        return Answer::Open("the bands lie closer than kinds of pages do".to_owned(), false);
    }
    if fit.shares.iter().any(|share| *share < SHARE_MIN / count as f64) {
        return Answer::Open(format!("of {count} bands one has hardly any places"), true);
    }
    // Two zones lie apart once on the way through the drive; windows that each show some of the kinds do so now and again.
    let apart = |pair: &&[f64]| (pair[1] - pair[0]).abs() > SPLIT_MAX * narrowest;
    if fit.shape.offsets && fit.offsets.windows(2).filter(apart).count() > 1 {
        return Answer::Open(
            format!(
                "{count} bands fit best, and lie elsewhere from region to region: they may be more"
            ),
            false,
        );
    }
    if fit.shape.plane.is_some() && fit.plane_ns.abs() > question.closest && in_phase(data, fit) {
        let what = "times alternate with the address in the same way everywhere: planes, or more kinds of pages";
        return Answer::Open(what.to_owned(), false);
    }
    let members = assigned(question.data, fit);
    for (band, places) in members.iter().enumerate() {
        let below = band.checked_sub(1).and_then(|below| gaps.get(below));
        let near = below.into_iter().chain(gaps.get(band)).copied().fold(f64::INFINITY, f64::min);
        if question.noise_known && split_max(fit, places, band) > SPLIT_MAX * near {
            return Answer::Open(format!("of {count} bands one may be two"), true);
        }
    }
    if windows_with_all(&members, count) < WINDOWS_MIN {
        return Answer::Open(
            "levels differ from region to region, and not within".to_owned(),
            true,
        );
    }
    Answer::Bands(count, sure)
}

/// True when bands follow the address in the same way in all windows, as kinds of pages on a stripe over dies do: twice as
/// many of them then look like planes.
fn in_phase(data: &[Datum], fit: &Fit) -> bool {
    let first = data.chunk_by(|a, b| a.window == b.window).next().unwrap_or(&[]);
    let ends = first.first().zip(first.last());
    let span = ends.map_or(1, |(a, b)| (b.offset - a.offset + 1).next_power_of_two());
    let (mut seen, mut same, mut all) = (BTreeMap::new(), 0, 0);
    for datum in data {
        let band = fit.band(datum).0;
        let known = *seen.entry(datum.offset % span).or_insert((band, datum.window));
        if known.1 != datum.window {
            all += 1;
            same += usize::from(known.0 == band);
        }
    }
    all > 0 && 10 * same >= 9 * all
}

/// The places of each band.
fn assigned<'a>(data: &'a [Datum], fit: &Fit) -> Vec<Vec<&'a Datum>> {
    let mut members = vec![Vec::new(); fit.centers.len()];
    for datum in data {
        members[fit.band(datum).0].push(datum);
    }
    members
}

/// Share of the windows in which each band has a place.
fn windows_with_all(members: &[Vec<&Datum>], count: usize) -> f64 {
    let windows = members.iter().flatten().map(|datum| datum.window + 1).max().unwrap_or(1);
    let has = |window| {
        members.iter().filter(|places| places.iter().any(|d| d.window == window)).count() == count
    };
    let seen = |window| members.iter().flatten().any(|datum| datum.window == window);
    let all = (0..windows).filter(|window| seen(*window));
    let (with, of) = all.fold((0, 0), |(with, of), w| (with + u32::from(has(w)), of + 1));
    f64::from(with) / f64::from(of.max(1))
}

/// How far apart two bands of like shares can lie, ns, that pass for the one band of `places`: their variance about
/// the centre is at most what is measured beyond the noise, and 2.33 standard errors of that more (99%). Two halves
/// at a distance d have the variance d²/4.
fn split_max(fit: &Fit, places: &[&Datum], band: usize) -> f64 {
    let Some(center) = fit.centers.get(band) else { return f64::INFINITY };
    let n = places.len() as f64;
    if places.len() < 4 {
        return f64::INFINITY;
    }
    let mean = |of: &dyn Fn(&Datum) -> f64| places.iter().map(|d| of(d)).sum::<f64>() / n;
    let noise = mean(&|d| d.level.error.powi(2));
    let seen = mean(&|d| (fit.own(d) - center).powi(2)) * n / (n - 1.0);
    let excess = (seen - noise).max(0.0) + 2.33 * noise * (2.0 / n).sqrt();
    2.0 * excess.sqrt()
}
