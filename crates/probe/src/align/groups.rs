//! Boundaries in groups that the same numbers divide, with what each costs and how well that is known.
//!
//! Groups that are read at once make the boundaries within a line of them cost less than those between lines, and pages
//! those inside a page. So the boundaries of each power of two below some line have a level of their own, and those from
//! it on share one: a size shows within the levels, in those boundaries that its odd number divides. All lines up to
//! [`LINE_MAX`] are weighed, each level of its own at the price of a further unknown.
//!
//! Visits to one boundary share what is particular to it (kinds of pages, a zone). So each group's error counts its
//! boundaries, and not its visits alone.

use std::f64::consts::TAU;

use super::estimate::{self, Estimate};
use super::model::ln_sum;
use super::place::{Place, signature};

/// Powers of two.
const POWERS: usize = 28;
/// Lines of groups that are read at once are no longer than 2^21 bytes: 16 groups of four planes of 32 KiB.
const LINE_MAX: u32 = 21;
/// Visits and places by which the variance within one power of two leans to that of all.
const LEAN: f64 = 10.0;
/// Least places beyond one in each group.
const FREEDOM_MIN: f64 = 30.0;

/// Boundaries that the same numbers divide.
#[derive(Clone, Copy, Debug)]
struct Group {
    at: u64,
    mean: f64,
    /// One over the variance of the mean.
    weight: f64,
}

impl Group {
    fn power(&self) -> usize {
        power(self.at)
    }
}

fn power(at: u64) -> usize {
    (at.trailing_zeros() as usize).min(POWERS - 1)
}

/// All groups, with their levels taken off that of all.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    groups: Vec<Group>,
    /// Time of a read: a step or a level may be anything up to it.
    time: f64,
    /// Powers of two of the lines that are weighed.
    lines: Vec<usize>,
}

/// A step over the levels below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub(super) step: f64,
    pub(super) error: f64,
    /// Over all lines.
    pub(super) ln_evidence: f64,
    /// The most probable line's power of two.
    pub(super) line: usize,
}

/// Weights and weighted sums of groups that step and of those that do not.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    weight: f64,
    sum: f64,
    count: f64,
}

impl Side {
    fn add(self, other: Side) -> Side {
        Side {
            weight: self.weight + other.weight,
            sum: self.sum + other.sum,
            count: self.count + other.count,
        }
    }

    /// Part of the squares that its level explains.
    fn explained(self) -> f64 {
        if self.weight > 0.0 { self.sum * self.sum / self.weight } else { 0.0 }
    }
}

impl Groups {
    /// Groups of `places`, which differ by `spread` beyond their errors; `None` where there are too few.
    pub(super) fn new(places: &[Place], spread: f64, time: f64) -> Option<Groups> {
        // Sorted by group and boundary. Rejected: maps of maps, which make the program larger by some kilobytes.
        let mut sorted: Vec<(u64, u64, f64)> =
            places.iter().map(|place| (signature(place.at), place.at, place.cost)).collect();
        sorted.sort_unstable_by_key(|&(group, at, _)| (group, at));
        let tallies: Vec<Tally> = sorted.chunk_by(|a, b| a.0 == b.0).map(Tally::new).collect();
        let freedom: f64 = tallies.iter().map(|tally| tally.places - 1.0).sum();
        if tallies.len() < 8 || freedom < FREEDOM_MIN {
            return None;
        }
        let sum = |of: &dyn Fn(&Tally) -> f64| tallies.iter().map(of).sum::<f64>();
        let (visits, returns) =
            (sum(&|tally| tally.within), sum(&|tally| tally.visits - tally.places));
        // If no place was visited twice, all variance counts as between places.
        let within = if returns >= FREEDOM_MIN { visits / returns } else { 0.0 };
        let between = |of: &dyn Fn(&Tally) -> bool, lean: Option<f64>| {
            let of = || tallies.iter().filter(|tally| of(tally));
            let squares: f64 =
                of().map(|tally| tally.squares - (tally.visits - 1.0) * within).sum();
            let freedom: f64 =
                of().map(|tally| tally.visits - tally.visits / tally.places_effective).sum();
            let (more, count) = lean.map_or((0.0, 0.0), |lean| (LEAN * lean, LEAN));
            ((squares + more) / (freedom + count).max(1.0)).max(0.0)
        };
        let all = between(&|_| true, None);
        let by_power: Vec<f64> =
            (0..POWERS).map(|n| between(&|tally| power(tally.at) == n, Some(all))).collect();
        let mut groups: Vec<Group> = tallies
            .iter()
            .map(|tally| {
                let places = by_power.get(power(tally.at)).copied().unwrap_or(all);
                let variance =
                    within / tally.visits + places / tally.places_effective + spread * spread;
                Group { at: tally.at, mean: tally.mean, weight: variance.max(1e-6).recip() }
            })
            .collect();
        let level =
            estimate::median(&mut groups.iter().map(|group| group.mean).collect::<Vec<_>>());
        groups.iter_mut().for_each(|group| group.mean -= level);
        let least = groups.iter().map(Group::power).min().unwrap_or(0);
        let lines = (least..=(LINE_MAX as usize).max(least)).collect();
        Some(Groups { groups, time, lines })
    }

    /// Log-likelihood without any level: the residual squares and all terms that do not depend on the fit.
    fn ln_least(&self) -> f64 {
        let one = |group: &Group| {
            -0.5 * group.weight * group.mean * group.mean + 0.5 * (group.weight / TAU).ln()
        };
        self.groups.iter().map(one).sum()
    }

    /// Those that step and those that do not, by power of two.
    fn sides(&self, steps: impl Fn(u64) -> bool) -> [[Side; 2]; POWERS] {
        let mut sides = [[Side::default(); 2]; POWERS];
        for group in &self.groups {
            let side = &mut sides[group.power()][usize::from(steps(group.at))];
            let (weight, sum) = (group.weight, group.weight * group.mean);
            *side = side.add(Side { weight, sum, count: 1.0 });
        }
        sides
    }

    /// The levels below `line` one by one, and the one above.
    fn levels(sides: &[[Side; 2]; POWERS], line: usize) -> impl Iterator<Item = [Side; 2]> {
        let above = sides[line..]
            .iter()
            .fold([Side::default(); 2], |all, one| [all[0].add(one[0]), all[1].add(one[1])]);
        let own = sides[..line].iter().copied();
        own.chain([above]).filter(|[below, above]| below.weight + above.weight > 0.0)
    }

    /// Natural logarithm of what an unknown of weight `weight` costs.
    fn occam(&self, weight: f64) -> f64 {
        0.5 * (TAU / weight).ln() - self.time.ln()
    }

    /// Least squares of levels and a step of `size`; `None` where fewer than two groups step, or fewer than two do not.
    pub(super) fn fit(&self, size: u64) -> Option<Fit> {
        let sides = self.sides(|at| at.is_multiple_of(size));
        let least = 1e-3 * self.time;
        let ln_least = self.ln_least();
        let one = |&line: &usize| -> Option<Fit> {
            let (mut ln, mut weight, mut sum, mut counts) = (ln_least, 0.0, 0.0, [0.0; 2]);
            for [below, above] in Groups::levels(&sides, line) {
                let all = below.add(above);
                ln += 0.5 * all.explained() + self.occam(all.weight);
                if below.weight > 0.0 && above.weight > 0.0 {
                    let share = below.weight * above.weight / all.weight;
                    weight += share;
                    sum += share * (above.sum / above.weight - below.sum / below.weight);
                    counts = [counts[0] + below.count, counts[1] + above.count];
                }
            }
            if counts[0] < 2.0 || counts[1] < 2.0 {
                return None;
            }
            let free = sum / weight;
            // A step may be anything up to the time of a read.
            let step = free.max(least);
            ln += 0.5 * weight * (free * free - (free - step).powi(2)) + self.occam(weight);
            Some(Fit { step, error: weight.recip().sqrt(), ln_evidence: ln, line })
        };
        let fits: Vec<Fit> = self.lines.iter().filter_map(one).collect();
        let all: Vec<f64> = fits.iter().map(|fit| fit.ln_evidence).collect();
        let best = *fits.iter().max_by(|a, b| a.ln_evidence.total_cmp(&b.ln_evidence))?;
        Some(Fit { ln_evidence: ln_sum(&all), ..best })
    }

    /// Evidence of levels alone.
    pub(super) fn nothing(&self) -> f64 {
        let sides = self.sides(|_| false);
        let ln_least = self.ln_least();
        let one = |&line: &usize| {
            let level = |[below, _]: [Side; 2]| 0.5 * below.explained() + self.occam(below.weight);
            ln_least + Groups::levels(&sides, line).map(level).sum::<f64>()
        };
        ln_sum(&self.lines.iter().map(one).collect::<Vec<_>>())
    }

    /// Evidence of groups of which each costs what most of its level do, or anything else.
    pub(super) fn any_pattern(&self) -> f64 {
        let sides = self.sides(|_| false);
        let one = |&line: &usize| {
            let mut means: Vec<Vec<f64>> = vec![Vec::new(); line + 1];
            for group in &self.groups {
                means[group.power().min(line)].push(group.mean);
            }
            let bases: Vec<f64> = means.iter_mut().map(|of| estimate::median(of)).collect();
            let off = |group: &Group| group.mean - bases[group.power().min(line)];
            let range = self.groups.iter().map(|g| off(g).abs()).fold(0.02 * self.time, f64::max);
            let density = |group: &Group| {
                let ln = 0.5 * (group.weight / TAU).ln() - 0.5 * group.weight * off(group).powi(2);
                let flat = (2.0 * range).hypot(group.weight.sqrt().recip()).recip();
                (0.5 * ln.exp() + 0.5 * flat).ln()
            };
            let levels = Groups::levels(&sides, line).map(|[all, _]| self.occam(all.weight));
            self.groups.iter().map(density).sum::<f64>() + levels.sum::<f64>()
        };
        ln_sum(&self.lines.iter().map(one).collect::<Vec<_>>())
    }

    /// Mean square by which groups lie off the fit of `size`, in their errors, and how many there are.
    pub(super) fn misfit(&self, fit: &Fit, size: u64) -> (f64, f64) {
        let steps = |at: u64| if at.is_multiple_of(size) { fit.step } else { 0.0 };
        let mut levels = vec![Side::default(); fit.line + 1];
        for group in &self.groups {
            let sum = group.weight * (group.mean - steps(group.at));
            let level = &mut levels[group.power().min(fit.line)];
            *level = level.add(Side { weight: group.weight, sum, count: 1.0 });
        }
        let square = |group: &Group| {
            let level = levels[group.power().min(fit.line)];
            let off = group.mean - steps(group.at) - level.sum / level.weight;
            (group.weight * off * off).min(16.0)
        };
        let count = self.groups.len() as f64;
        (self.groups.iter().map(square).sum::<f64>() / count, count)
    }
}

/// Summary of a group's visits and places.
#[derive(Clone, Copy, Debug)]
struct Tally {
    at: u64,
    visits: f64,
    places: f64,
    /// Places that would say as much if all were visited alike often.
    places_effective: f64,
    mean: f64,
    /// Squares about the mean, and about those of places.
    squares: f64,
    within: f64,
}

impl Tally {
    /// Of the visits to a group (its signature, the boundary, the cost), in the order of boundaries.
    fn new(visits: &[(u64, u64, f64)]) -> Tally {
        let mean_of = |of: &[(u64, u64, f64)]| {
            of.iter().map(|visit| visit.2).sum::<f64>() / of.len().max(1) as f64
        };
        let about = |of: &[(u64, u64, f64)], mean: f64| -> f64 {
            of.iter().map(|visit| (visit.2 - mean).powi(2)).sum()
        };
        let (mean, count) = (mean_of(visits), visits.len() as f64);
        let (mut places, mut same, mut within) = (0.0, 0.0, 0.0);
        for place in visits.chunk_by(|a, b| a.1 == b.1) {
            places += 1.0;
            same += (place.len() as f64).powi(2);
            within += about(place, mean_of(place));
        }
        Tally {
            at: visits.first().map_or(1, |visit| visit.0),
            visits: count,
            places,
            places_effective: count * count / same,
            mean,
            squares: about(visits, mean),
            within,
        }
    }
}

/// Values of boundaries with their levels taken off: those that do not step have a mean of nothing.
pub(super) struct Levelled {
    size: u64,
    values: Vec<(u64, f64)>,
}

impl Levelled {
    /// Values of `places` by the levels below the power of two `line` and the one above, for a step of `size`. Levels that
    /// step everywhere say nothing.
    pub(super) fn new(
        places: &[Place],
        size: u64,
        line: usize,
        of: impl Fn(&Place) -> f64,
    ) -> Levelled {
        let mut levels: Vec<Vec<f64>> = vec![Vec::new(); line + 1];
        for place in places.iter().filter(|place| !place.at.is_multiple_of(size)) {
            levels[power(place.at).min(line)].push(of(place));
        }
        let levels: Vec<Option<Estimate>> =
            levels.iter_mut().map(|of| estimate::fenced_mean(of)).collect();
        let value = |place: &Place| {
            let level = levels[power(place.at).min(line)]?;
            Some((place.at, of(place) - level.value_ns))
        };
        Levelled { size, values: places.iter().filter_map(value).collect() }
    }

    /// In ascending order those that step, or those that do not.
    pub(super) fn sorted(&self, steps: bool) -> Vec<f64> {
        let of = self.values.iter().filter(|(at, _)| at.is_multiple_of(self.size) == steps);
        let mut values: Vec<f64> = of.map(|(_, value)| *value).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// Mean of those that are `wanted`.
    pub(super) fn mean(&self, wanted: impl Fn(u64) -> bool) -> Option<Estimate> {
        let of = self.values.iter().filter(|(at, _)| wanted(*at));
        estimate::fenced_mean(&mut of.map(|(_, value)| *value).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use workload::rng::Rng;

    use super::*;
    use crate::align::family::weigh;

    const MIB: u64 = 1 << 20;

    /// Boundaries at multiples of 4 KiB up to 2 GiB, each power of two as often as any, each visited `visits` times. All cost
    /// `of`, and noise of 5 µs.
    fn read(visits: usize, of: impl Fn(u64) -> f64) -> Vec<Place> {
        let mut rng = Rng::for_path(1, &[visits as u64]);
        let mut places = Vec::new();
        for log2 in 12..27 {
            for _ in 0..400 {
                let at = (1 + 2 * rng.below((1 << 30) >> log2)) << log2;
                for _ in 0..visits {
                    let normal: f64 = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
                    let cost = of(at) + 5_000.0 * normal;
                    places.push(Place { at, cost, beyond: cost });
                }
            }
        }
        places
    }

    fn named(places: &[Place]) -> Option<u64> {
        weigh(places, 0.0, 400_000.0).decided().map(|size| size.bytes)
    }

    fn steps(at: u64, size: u64) -> f64 {
        if at.is_multiple_of(size) { 50_000.0 } else { 0.0 }
    }

    // Breaks when groups of pages that are read at once, whose boundaries cost less than those between lines of them, hide
    // the size above, or a line without a size is taken for one that is not a power of two.
    #[test]
    fn a_size_shows_above_a_line_of_groups() {
        let line = |at: u64| match at.trailing_zeros() {
            0..14 => -200_000.0,
            14..18 => -120_000.0,
            _ => 0.0,
        };
        for size in [5 * MIB, 7 * MIB / 4, 4 * MIB, 12 * MIB] {
            let places = read(1, |at| line(at) + steps(at, size));
            assert_eq!(named(&places), Some(size));
            assert_eq!(weigh(&places, 0.0, 400_000.0).line, 1 << 18);
        }
        // A step at a power of two alone is what a line makes too: no odd number comes of it.
        assert!(named(&read(1, line)).is_none_or(u64::is_power_of_two));
    }

    // Breaks when sizes that share all boundaries at multiples of 128 KiB are not distinguished by those between.
    #[test]
    fn small_sizes_are_told_from_their_halves() {
        for size in [7 << 15, 7 << 16, 7 << 17] {
            assert_eq!(named(&read(1, |at| steps(at, size))), Some(size));
        }
    }

    // Breaks when many visits to few boundaries of different kinds count as that many boundaries: then no size fits, or
    // the differences pass for a step.
    #[test]
    fn visits_to_one_place_are_not_places() {
        let size = 13 * MIB;
        let kinds = |at: u64| (at / 4096).wrapping_mul(0x9e37_79b9) % 3;
        let places = read(6, |at| steps(at, size) + 20_000.0 * kinds(at) as f64);
        assert_eq!(named(&places), Some(size));
        assert_eq!(named(&read(6, |at| 20_000.0 * kinds(at) as f64)), None);
    }

    // Breaks when a delay of some milliseconds at a boundary or two leaves no size that fits.
    #[test]
    fn a_spike_hides_no_size() {
        let size = 9 * MIB;
        let mut places =
            read(1, |at| steps(at, size) - if at.trailing_zeros() < 15 { 300_000.0 } else { 0.0 });
        for place in places.iter_mut().step_by(97) {
            place.cost += 1_500_000.0;
        }
        assert_eq!(named(&places), Some(size));
    }
}
