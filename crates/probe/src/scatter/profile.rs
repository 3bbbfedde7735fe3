//! Profile of the reads of a kind of region: levels with their shares, and how well other reads agree with them.

use super::bands::Judged;
use super::mixture::{Datum, Fit, Shape, fit, normal};
use super::turns::Turns;

/// Share of places that are unlike their region, whatever the region is: a worn page that is read twice, for example.
const STRANGE: f64 = 1e-3;

/// Places that are unlike any region lie anywhere within this many ns.
const ANYWHERE_NS: f64 = 1e7;

/// Steps to the likeliest shift of a run of places.
const STEPS: usize = 12;

/// The variance of windows as a whole is known from a handful of them, so twice as much is allowed for.
const FEW_WINDOWS: f64 = 2.0;

/// Bands are near each other at less than this share of the distance of two bands of one region.
const NEAR: f64 = 0.5;

/// The levels of a region.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Profile {
    fit: Fit,
    /// Variance of windows as a whole, ns².
    shift2: f64,
    /// The order in which its bands take turns, when there is one.
    turns: Option<Turns>,
}

impl Profile {
    /// As a model that was fitted says.
    pub(super) fn of(fit: &Fit) -> Profile {
        let n = fit.offsets.len().max(1) as f64;
        let shift2 = fit.offsets.iter().map(|offset| offset * offset).sum::<f64>() / n;
        Profile { fit: fit.clone(), shift2: FEW_WINDOWS * shift2, turns: None }
    }

    /// As a model says, with windows that may lie anywhere within that variance, ns².
    pub(super) fn shifted(fit: &Fit, shift2: f64) -> Profile {
        Profile { fit: fit.clone(), shift2, turns: None }
    }

    /// The likeliest shift of a run of places, ns.
    pub(super) fn shift_of(&self, run: &[Datum]) -> f64 {
        let mean = run.iter().map(|d| self.fit.bare(d, 0.0)).sum::<f64>() / run.len().max(1) as f64;
        self.likeliest(run, mean - self.mean()).0
    }

    /// As was judged.
    pub(super) fn judged(judged: &Judged) -> Profile {
        Profile { turns: judged.turns.clone(), ..Profile::of(&judged.fit) }
    }

    /// As the levels of one run of places say by themselves: the count of bands that fits best.
    pub(super) fn fitted(data: &[Datum], plane: Option<u64>) -> Option<Profile> {
        let shape = |bands| Shape { bands, offsets: false, plane };
        let fits = (1..=4).filter_map(|bands| fit(data, shape(bands)));
        Some(Profile::of(&fits.min_by(|a, b| a.bic.total_cmp(&b.bic))?))
    }

    /// The model.
    pub(super) fn fit(&self) -> &Fit {
        &self.fit
    }

    /// True if a band of one profile is so near a band of the other that a place in it does not soon distinguish them.
    pub(super) fn is_near(&self, other: &Profile) -> bool {
        let (own, others) = (&self.fit.centers, &other.fit.centers);
        let apart = own.iter().flat_map(|a| others.iter().map(move |b| (a - b).abs()));
        let reach = others.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        reach.is_finite() && apart.fold(f64::INFINITY, f64::min) < NEAR * reach
    }

    /// Variance of windows as a whole, ns².
    pub(super) fn shift2(&self) -> f64 {
        self.shift2
    }

    /// Mean over its levels, ns.
    pub(super) fn mean(&self) -> f64 {
        self.fit.centers.iter().zip(&self.fit.shares).map(|(center, share)| center * share).sum()
    }

    /// Variance of the mean level of `places` places, their noise apart: which bands they lie in, and the shift of
    /// their window.
    pub(super) fn mean_variance(&self, places: f64) -> f64 {
        let mean = self.mean();
        let bands = self.fit.centers.iter().zip(&self.fit.shares);
        let between: f64 = bands.map(|(center, share)| share * (center - mean).powi(2)).sum();
        (between + self.fit.spread2) / places + self.shift2
    }

    /// Logarithm of the likelihood of a run of places that lies in one region, in any order or in turns, whichever is
    /// likelier.
    pub(super) fn log_likelihood(&self, run: &[Datum]) -> f64 {
        let mixed = self.log_mixed(run);
        let turns = self.turns.as_ref().filter(|_| run.len() > 1);
        turns.map_or(mixed, |turns| mixed.max(turns.log_likelihood(run)))
    }

    /// In any order. A shift of the whole run is integrated
    /// over by Laplace's method, about the likeliest one.
    fn log_mixed(&self, run: &[Datum]) -> f64 {
        let at = |shift: f64| run.iter().map(|datum| self.density(datum, shift).ln()).sum();
        if self.shift2 < 1.0 {
            return at(0.0);
        }
        let mean = run.iter().map(|d| self.fit.bare(d, 0.0)).sum::<f64>() / run.len().max(1) as f64;
        let from = [0.0, mean - self.mean()].map(|begin| self.likeliest(run, begin));
        let prior = |shift: f64| -0.5 * shift * shift / self.shift2;
        let values = from.map(|(shift, weight): (f64, f64)| {
            at(shift) + prior(shift) - 0.5 * (self.shift2 * weight).ln()
        });
        values[0].max(values[1])
    }

    /// The likeliest shift of a run near `shift`, and how much is known of it (the inverse of its variance).
    fn likeliest(&self, run: &[Datum], mut shift: f64) -> (f64, f64) {
        let mut weight = 1.0 / self.shift2;
        for _ in 0..STEPS {
            let (mut sum, mut all) = (0.0, 1.0 / self.shift2);
            for datum in run {
                let x = self.fit.bare(datum, 0.0);
                let bands = self.bands(datum);
                let odds: Vec<f64> =
                    bands.map(|(center, share, v)| share * normal(x - center - shift, v)).collect();
                let total: f64 = odds.iter().sum::<f64>().max(f64::MIN_POSITIVE);
                for ((center, _, variance), odds) in self.bands(datum).zip(odds) {
                    sum += odds / total * (x - center) / variance;
                    all += odds / total / variance;
                }
            }
            (shift, weight) = (sum / all, all);
        }
        (shift, weight)
    }

    /// Centre, share and variance of each band at a place.
    fn bands(&self, datum: &Datum) -> impl Iterator<Item = (f64, f64, f64)> {
        let variance = datum.level.error.powi(2) + self.fit.spread2;
        let bands = self.fit.centers.iter().zip(&self.fit.shares).zip(&self.fit.center_errors);
        bands.map(move |((center, share), error)| (*center, *share, variance + error.powi(2)))
    }

    fn density(&self, datum: &Datum, shift: f64) -> f64 {
        let x = self.fit.bare(datum, shift);
        let bands = self.bands(datum);
        let density: f64 = bands.map(|(center, share, v)| share * normal(x - center, v)).sum();
        (1.0 - STRANGE) * density + STRANGE / ANYWHERE_NS
    }
}
