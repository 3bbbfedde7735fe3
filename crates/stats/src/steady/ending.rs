//! State of the end of a series: what its last stretch without a change is, what came before it, and which later evidence
//! speaks against calling it steady.
//!
//! All sizes are shares of the level. A change counts when it is certain and of at least [`MATERIAL`]; both are needed, so
//! that neither noise nor a certain trifle decides.

use super::history::{Cell, costs};
use super::segments::{self, Segment};
use super::wander::Wander;
use crate::sample;

/// Least change of the level that counts.
pub(super) const MATERIAL: f64 = 0.025;
/// Least change over a window that counts as a drift, and least one for each drive write where it is less than [`MATERIAL`].
const DRIFT: f64 = 0.015;
const DRIFT_PER_FILL: f64 = 0.006;
/// Standard errors at which a change is certain, all places and windows that are tried included.
const CERTAIN: f64 = 4.0;
/// One-sided 95%.
const Z_BOUND: f64 = 1.645;
/// Standard errors to each side of the level, with a reserve for noise whose correlation is estimated too small.
const Z_LEVEL: f64 = 2.3;
/// Drive writes over which the bound on the slope has to stay within the margin: a change that takes as long is refused.
const SLOPE_FILLS: f64 = 3.0;
/// Window from which the slope of the end is taken, at least and as a share of the stretch.
const SLOPE_WINDOW_FILLS: f64 = 4.0;
const SLOPE_WINDOW_SHARE: f64 = 2.0 / 3.0;
/// Longest window from which the level of the end is taken.
const LEVEL_WINDOW_FILLS: f64 = 3.0;
/// Drive writes at which a stretch is long.
const ENOUGH_FILLS: f64 = 4.0;
/// Drive writes that must have been seen, less what a cell may lack of them.
const FILLS_MIN: f64 = 0.95;
/// Drive writes that must have passed since a single step.
const SINCE_STEP_FILLS: f64 = 3.0;
/// Drive writes that must have passed since a rate stopped going up and down, at least and at most.
const SINCE_REVERSAL_FILLS: [f64; 2] = [6.0, 16.0];
/// Drive writes without a change that a gradual change asks for, as a share of what it took and at most.
const SINCE_DRIFT_SHARE: f64 = 0.75;
/// The same of a step that is not the first, as a share of the longest stretch between steps.
const SINCE_STAIR_SHARE: f64 = 1.4;
/// Share of a change that happens within a drive write, from which on it is a step.
const SHARP: f64 = 0.75;
/// Drive writes over which the slope counts after a step, which may have been the beginning of a gradual change.
const SLOPE_FILLS_STEPPED: f64 = 4.0;
/// Drive writes over which the slope counts after a gradual change.
const SLOPE_FILLS_GRADUAL: f64 = 6.0;
/// Times the spread that noise explains from which on quarters of a drive write go up and down.
const RESTLESS_TIMES: f64 = 2.5;
const SINCE_DRIFT_FILLS_MAX: f64 = 8.0;
/// Drive writes from which on a stretch is a plateau; a shorter one is a part of a gradual change.
const PLATEAU_FILLS: f64 = 2.0;
/// Error of a half drive write from which on noise that lasts asks for more drive writes, and how many times that of what lies close
/// together it has to be.
const SLOW: f64 = 0.012;
const SLOW_TIMES: f64 = 1.8;
/// Standard deviation of quarters of a drive write, about a line, from which on a stretch is one that went up and down.
const RESTLESS: f64 = 0.03;
/// A fall by this share that lasts is that of a drive that is held up.
const THROTTLED: f64 = 0.2;

/// How the end of a series behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Bounds on level and slope are within the margin.
    Rest,
    /// Nothing speaks against it, and the bounds are too wide.
    Thin,
    /// It changes gradually.
    Drifting,
    /// It went from one level to another.
    Stepped,
    /// It went to a much lower rate.
    Throttled,
    /// It goes back and forth between levels, not in step.
    Telegraph,
}

/// Findings about the end of a series.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    pub(super) shape: Shape,
    /// Mean cost over the last drive write.
    pub(super) level: f64,
    /// Its interval.
    pub(super) bounds: [f64; 2],
    /// Slope of the cost for each drive write, as a share of the level.
    pub(super) slope: f64,
    /// Most that the slope may be, either way.
    pub(super) slope_bound: f64,
    /// First cell of the last stretch without a change, and its drive writes.
    pub(super) from: usize,
    pub(super) fills: f64,
    /// Drive writes without a change at which it would have been long enough.
    pub(super) fills_wanted: f64,
    /// Changes before that stretch.
    pub(super) changes: usize,
    /// Least and greatest cost of a stretch.
    pub(super) range: [f64; 2],
    /// First and last cell and cost of the plateau before.
    pub(super) earlier: Option<(usize, usize, f64)>,
    /// Why, without a full stop.
    pub(super) reason: String,
    /// Data that a thin answer needs.
    pub(super) missing: Option<String>,
}

/// Looks at the end of `cells`, each about `cell_fills` drive writes long; stretches within the first `free` of them do not count as
/// history. `None` for fewer than eight cells, or when a cost is
/// not usable.
pub(super) fn ending(cells: &[Cell], cell_fills: f64, free: usize, margin: f64) -> Option<Ending> {
    let all = costs(cells);
    if all.len() < 8 || !sample::usable(&all) || cell_fills <= 0.0 {
        return None;
    }
    let found = segments::segments(&all, cell_fills, MATERIAL)?;
    let mut last = *found.stretches.last()?;
    // A long stretch can do without what may be from before the free space was used up.
    if (all.len() - free.min(all.len())) as f64 * cell_fills >= ENOUGH_FILLS {
        last.start = last.start.max(free);
    }
    let costs = &all[last.start..];
    let level = sample::mean(costs);
    if !(level > 0.0 && level.is_finite()) {
        return None;
    }
    let end = End {
        cells,
        all: &all,
        costs,
        cell_fills,
        level,
        noise: found.noise / level,
        quick_noise: found.quick_noise / level,
        margin,
    };
    let before = &found.stretches[..found.stretches.len() - 1];
    let from = before.partition_point(|segment| segment.end <= free);
    Some(end.judged(&before[from..], last))
}

/// The last stretch.
struct End<'a> {
    cells: &'a [Cell],
    /// All costs, and those of the last stretch.
    all: &'a [f64],
    costs: &'a [f64],
    cell_fills: f64,
    level: f64,
    /// Standard deviation of a cell as a share of the level, of independent ones that are worth as much.
    noise: f64,
    /// The same of what lies close together.
    quick_noise: f64,
    margin: f64,
}

/// A line through the last part of the stretch.
#[derive(Clone, Copy)]
struct Line {
    fills: f64,
    mean: f64,
    /// For each drive write, as a share.
    slope: f64,
    slope_error: f64,
    mean_error: f64,
}

impl End<'_> {
    fn fills(&self) -> f64 {
        self.costs.len() as f64 * self.cell_fills
    }

    fn cells_of(&self, fills: f64) -> usize {
        ((fills / self.cell_fills).round() as usize).clamp(1, self.costs.len())
    }

    fn error_of(&self, cells: usize) -> f64 {
        self.noise / (cells.max(1) as f64).sqrt()
    }

    fn line(&self, fills: f64) -> Line {
        let count = self.cells_of(fills);
        let part = &self.costs[self.costs.len() - count..];
        let mean = sample::mean(part);
        let middle = (count as f64 - 1.0) / 2.0;
        let place = |at: usize| (at as f64 - middle) * self.cell_fills;
        let squares: f64 = (0..count).map(|at| place(at).powi(2)).sum();
        let products: f64 = part.iter().enumerate().map(|(at, c)| place(at) * (c - mean)).sum();
        let (slope, slope_error) = if squares > 0.0 {
            (products / squares / self.level, self.noise / squares.sqrt())
        } else {
            (0.0, f64::INFINITY)
        };
        Line {
            fills: count as f64 * self.cell_fills,
            mean,
            slope,
            slope_error,
            mean_error: self.error_of(count),
        }
    }

    fn judged(&self, before: &[Segment], last: Segment) -> Ending {
        let fills = self.fills();
        let slope = self.line(SLOPE_WINDOW_FILLS.max(SLOPE_WINDOW_SHARE * fills));
        let bound = slope.slope.abs() + Z_BOUND * slope.slope_error;
        let (fills_wanted, shape_before) = self.wanted(before);
        let range = before
            .iter()
            .map(|segment| segment.mean)
            .chain([self.level])
            .fold([f64::INFINITY, 0.0_f64], |[least, most], mean| {
                [least.min(mean), most.max(mean)]
            });
        let earlier = before.last().map(|segment| (segment.start, segment.end - 1, segment.mean));
        let mut ending = Ending {
            shape: Shape::Rest,
            level: self.level,
            bounds: [0.0; 2],
            slope: slope.slope,
            slope_bound: bound,
            from: last.start,
            fills,
            fills_wanted,
            changes: before.len(),
            range,
            earlier,
            reason: String::new(),
            missing: None,
        };
        let (mut late, drift) = (self.late_change(), self.drift());
        if drift.is_some() && late.as_ref().is_some_and(|late| !self.is_step(late.0)) {
            late = None;
        }
        let late = late.map(|late| late.1);
        let is_moving = late.is_some() || drift.is_some();
        self.put_level(&mut ending, is_moving);
        let is_recent = fills + 1e-9 < fills_wanted;
        if let Some((shape, reason)) = late
            .or_else(|| {
                let change = shape_before.filter(|_| is_recent);
                change.map(|shape| (shape, self.recent(before, shape))).or(drift)
            })
            .or_else(|| self.wanders())
        {
            (ending.shape, ending.reason) = (shape, reason);
        } else if is_recent {
            ending.shape = Shape::Thin;
            ending.missing = Some(format!("{:.1} drive writes", fills_wanted - fills));
            ending.reason = format!("only {fills:.1} drive writes have passed without a change");
        } else {
            let slope_fills = match shape_before {
                None => SLOPE_FILLS,
                Some(Shape::Drifting) => SLOPE_FILLS_GRADUAL,
                Some(_) => SLOPE_FILLS_STEPPED,
            };
            self.bounded(&mut ending, slope_fills);
        }
        ending
    }

    /// Drive writes without a change that are asked for after what came before, and what that was.
    fn wanted(&self, before: &[Segment]) -> (f64, Option<Shape>) {
        let long = |segment: &Segment| (segment.end - segment.start) as f64 * self.cell_fills;
        let Some(newest) = before.last() else { return (FILLS_MIN, None) };
        let means: Vec<f64> =
            before.iter().map(|segment| segment.mean).chain([self.level]).collect();
        let ups = means.windows(2).filter(|pair| pair[1] > pair[0]).count();
        let is_restless = before.iter().any(|segment| self.is_restless(segment));
        let is_monotone = (ups == 0 || ups == before.len()) && !is_restless;
        let rise = self.level / newest.mean - 1.0;
        if is_monotone {
            let gradual: f64 = before.iter().map(long).filter(|fills| *fills < PLATEAU_FILLS).sum();
            let is_sharp = self.is_sharp(newest);
            let wanted = if is_sharp && before.len() > 1 {
                // Another step of a staircase may come as late as the last one did.
                SINCE_STAIR_SHARE * before.iter().skip(1).map(long).fold(0.0, f64::max)
            } else {
                SINCE_DRIFT_SHARE * gradual
            };
            let keeps_going = before.len() >= 3 && long(newest) < PLATEAU_FILLS;
            let shape = if !is_sharp || keeps_going {
                Shape::Drifting
            } else if rise > THROTTLED {
                Shape::Throttled
            } else {
                Shape::Stepped
            };
            return (wanted.clamp(SINCE_STEP_FILLS, SINCE_DRIFT_FILLS_MAX), Some(shape));
        }
        let longest = before.iter().skip(1).map(long).fold(0.0, f64::max);
        let [least, most] = SINCE_REVERSAL_FILLS;
        let (low, high) = means
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), mean| (low.min(*mean), high.max(*mean)));
        let near = |mean: &f64| {
            (mean / low - 1.0).abs() < 2.0 * MATERIAL || (mean / high - 1.0).abs() < 2.0 * MATERIAL
        };
        let shape = if !is_restless && !self.is_sharp(newest) {
            Shape::Drifting
        } else if before.len() == 2 {
            let fell = before[1].mean / before[0].mean - 1.0 > THROTTLED;
            if fell { Shape::Throttled } else { Shape::Stepped }
        } else if means.iter().all(near) {
            Shape::Telegraph
        } else if before.iter().skip(1).all(|segment| long(segment) < PLATEAU_FILLS) {
            Shape::Drifting
        } else {
            Shape::Stepped
        };
        ((2.0 * longest).clamp(least, most), Some(shape))
    }

    /// Quarters of a drive write go up and down by more than noise explains.
    fn is_restless(&self, segment: &Segment) -> bool {
        let (quarter, part) = (self.cells_of(0.25), &self.all[segment.start..segment.end]);
        let means: Vec<f64> = part.rchunks_exact(quarter).map(sample::mean).collect();
        if means.len() < 6 {
            return false;
        }
        // Half of the squared steps of neighbours, and a slope does not count.
        let steps: Vec<f64> = means.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let spread =
            (sample::sum_of_squares(&steps, sample::mean(&steps)) / steps.len() as f64 / 2.0)
                .sqrt();
        let explained = segments::spread(part, 1) / (quarter as f64).sqrt();
        spread > RESTLESS * segment.mean && spread > RESTLESS_TIMES * explained
    }

    /// The level changed within a drive write, and not on the way.
    fn is_sharp(&self, newest: &Segment) -> bool {
        let (quarter, at) = (self.cells_of(0.25), newest.end);
        let apart = quarter.div_ceil(2);
        let before = &self.all[at.saturating_sub(2 * quarter)..at.saturating_sub(apart)];
        let after = &self.all[(at + apart).min(self.all.len())..];
        let after = &after[..after.len().min(2 * quarter - apart)];
        if before.is_empty() || after.is_empty() {
            return true;
        }
        let change = self.level - newest.mean;
        (sample::mean(after) - sample::mean(before)) / change >= SHARP
    }

    fn wander(&self) -> Option<Wander> {
        Wander::of(self.costs, self.cell_fills, self.level, self.quick_noise)
    }

    /// Half drive writes vary by more than what lies close together explains.
    fn wanders(&self) -> Option<(Shape, String)> {
        self.wander().filter(Wander::is_certain).map(|wander| {
            let reason = format!(
                "half drive writes wander by ± {:.1}%, and noise explains ± {:.1}%",
                100.0 * wander.spread,
                100.0 * wander.explained
            );
            (Shape::Drifting, reason)
        })
    }

    fn recent(&self, before: &[Segment], shape: Shape) -> String {
        let fills = self.fills();
        let rate = before.last().map_or(0.0, |segment| segment.mean / self.level - 1.0);
        match shape {
            Shape::Telegraph => format!(
                "the rate went back and forth between levels {} times, last {fills:.1} drive writes before the end",
                before.len()
            ),
            Shape::Drifting => format!(
                "the rate changed gradually until {fills:.1} drive writes before the end, last by {:+.1}%",
                100.0 * rate
            ),
            _ => format!(
                "the rate changed by {:+.1}% {fills:.1} drive writes before the end",
                100.0 * rate
            ),
        }
    }

    /// A change within the last part, too short for a stretch of its own.
    fn late_change(&self) -> Option<(usize, (Shape, String))> {
        let n = self.costs.len();
        let shortest = self.cells_of(0.125).max(3);
        let mut found: Option<(f64, usize, f64)> = None;
        let mut sum = 0.0;
        let total: f64 = self.costs.iter().sum();
        for (length, cost) in (1..=n / 2).zip(self.costs.iter().rev()) {
            sum += cost;
            if length < shortest {
                continue;
            }
            let (late, early) = (sum / length as f64, (total - sum) / (n - length) as f64);
            let change = late / early - 1.0;
            let error = self.noise * (1.0 / length as f64 + 1.0 / (n - length) as f64).sqrt();
            let certain = change.abs() / error.max(1e-12);
            if change.abs() > MATERIAL
                && certain > CERTAIN
                && found.is_none_or(|(best, ..)| certain > best)
                && self.medians_agree(length, change)
            {
                found = Some((certain, length, change));
            }
        }
        let (_, length, change) = found?;
        let rate = 100.0 * (1.0 / (1.0 + change) - 1.0);
        let fills = length as f64 * self.cell_fills;
        let reason =
            format!("the rate changed by {rate:+.1}% within the last {fills:.1} drive writes");
        let shape = if change > THROTTLED { Shape::Throttled } else { Shape::Stepped };
        Some((length, (shape, reason)))
    }

    /// A step `length` cells before the end fits better than a line.
    fn is_step(&self, length: usize) -> bool {
        let (early, late) = self.costs.split_at(self.costs.len() - length);
        let squares = |part: &[f64]| sample::sum_of_squares(part, sample::mean(part));
        let line = self.line(self.fills());
        let middle = (self.costs.len() as f64 - 1.0) / 2.0;
        let of_line = |(at, cost): (usize, &f64)| {
            (cost - line.mean - line.slope * self.level * (at as f64 - middle) * self.cell_fills)
                .powi(2)
        };
        let along: f64 = self.costs.iter().enumerate().map(of_line).sum();
        squares(early) + squares(late) < along
    }

    /// A single stall moves a mean, and no median.
    fn medians_agree(&self, length: usize, change: f64) -> bool {
        let (early, late) = self.costs.split_at(self.costs.len() - length);
        let median = |part: &[f64]| sample::sorted(part).map(|v| sample::median_of_sorted(&v));
        median(early).zip(median(late)).is_some_and(|(early, late)| {
            let moved = late / early - 1.0;
            moved * change > 0.0 && moved.abs() > 0.5 * change.abs()
        })
    }

    /// A certain slope over one of the windows.
    fn drift(&self) -> Option<(Shape, String)> {
        let mut fills = 1.5;
        let all = self.fills();
        let mut windows = Vec::new();
        while fills < all {
            windows.push(fills);
            fills *= 1.5;
        }
        windows.push(all);
        let lines = windows.iter().map(|fills| self.line(*fills));
        let certain = lines.filter(|line| {
            line.fills >= 1.0
                && (line.slope * line.fills).abs() > DRIFT
                && ((line.slope * line.fills).abs() > MATERIAL || line.slope.abs() > DRIFT_PER_FILL)
                && line.slope.abs() > CERTAIN * line.slope_error
        });
        let line = certain.max_by(|a, b| a.fills.total_cmp(&b.fills))?;
        Some((
            Shape::Drifting,
            format!(
                "the rate drifts by {:+.1}% a drive write over the last {:.1}",
                -100.0 * line.slope,
                line.fills
            ),
        ))
    }

    /// The level over the last drive write, with its interval.
    fn put_level(&self, ending: &mut Ending, is_moving: bool) {
        let (level, error) = if is_moving || self.fills() < 1.5 {
            self.last_fill()
        } else {
            // The line through more of it, where the middle of the last drive write is.
            let line = self.line(LEVEL_WINDOW_FILLS);
            let ahead = line.fills / 2.0 - 0.5;
            let (slope, error) = (line.slope, line.slope_error);
            let known =
                if slope == 0.0 { 0.0 } else { slope.powi(2) / (slope.powi(2) + error.powi(2)) };
            (
                line.mean * (1.0 + slope * known * ahead),
                (line.mean_error.powi(2) + (error * ahead).powi(2)).sqrt(),
            )
        };
        let half = (Z_LEVEL * error).min(0.9);
        ending.level = level;
        ending.bounds = [level * (1.0 - half), level * (1.0 + half)];
    }

    /// Mean of the last drive write, whatever it did, and its error: what its first cell may hold of the time before is in it.
    fn last_fill(&self) -> (f64, f64) {
        let total: u64 = self.cells.iter().map(|cell| cell.to_bytes - cell.from_bytes).sum();
        let per_fill = total as f64 / (self.cell_fills * self.all.len() as f64);
        let (mut left, mut sum, mut count) = (per_fill, 0.0, 0.0);
        let (mut least, mut greatest) = (f64::INFINITY, 0.0_f64);
        for (cell, cost) in self.cells.iter().zip(self.all).rev() {
            if left <= 0.0 {
                break;
            }
            let part = ((cell.to_bytes - cell.from_bytes) as f64).min(left);
            (left, sum, count) = (left - part, sum + part * cost, count + 1.0);
            (least, greatest) = (least.min(*cost), greatest.max(*cost));
        }
        let mean = sum / (per_fill - left);
        let edge = 0.5 * (greatest - least) / mean / count;
        (mean, self.level / mean * self.noise / count.sqrt() + edge)
    }

    /// Tolerances decide on bounds.
    fn bounded(&self, ending: &mut Ending, slope_fills: f64) {
        let percent = |share: f64| format!("{:.1}%", 100.0 * share);
        let margin = self.margin;
        let width = (ending.bounds[1] - ending.bounds[0]) / 2.0 / ending.level;
        let halves = self.cells_of(0.5);
        let error = Z_BOUND * self.error_of(halves);
        let off = |part: &[f64]| (sample::mean(part) / self.level - 1.0).abs();
        let newest = self.costs.rchunks(halves).take(2).filter(|part| part.len() == halves);
        let newest = newest.map(off).fold(0.0, f64::max);
        // Older values are history.
        let recent = &self.costs[self.costs.len() - self.cells_of(SINCE_REVERSAL_FILLS[0])..];
        let greatest = recent.windows(halves).map(off).fold(0.0, f64::max);
        let ahead = slope_fills * ending.slope_bound;
        let is_slow = self.noise > SLOW_TIMES * self.quick_noise && self.error_of(halves) > SLOW;
        let missing = if is_slow && self.fills() < SINCE_REVERSAL_FILLS[0] {
            let reason = "values resemble those long before them: few of them are independent";
            Some((reason.to_owned(), margin * (SINCE_REVERSAL_FILLS[0] / self.fills()).powf(1.5)))
        } else if let Some(excess) =
            self.wander().and_then(|found| found.exceeds(ending.changes > 0))
        {
            let reason = format!(
                "{} vary by ± {}, more than the ± {} of a level that does not wander",
                excess.of,
                percent(excess.spread),
                percent(excess.allowed)
            );
            Some((reason, margin * excess.spread / excess.allowed))
        } else if ahead > margin {
            Some((
                format!(
                    "the rate may change by {} over {slope_fills:.0} drive writes",
                    percent(ahead)
                ),
                ahead,
            ))
        } else if width > margin {
            Some((format!("the level is known to ± {}", percent(width)), width))
        } else if newest + error > margin {
            let bound = newest + error;
            Some((
                format!("the last half drive writes may be {} off the level", percent(bound)),
                bound,
            ))
        } else if greatest > margin {
            Some((format!("a half drive write is {} off the level", percent(greatest)), greatest))
        } else {
            None
        };
        let Some((reason, bound)) = missing else {
            ending.reason = format!(
                "over the last {:.1} drive writes the level is known to ± {} and changes by at most {} a drive write",
                ending.fills,
                percent(width),
                percent(ending.slope_bound)
            );
            return;
        };
        ending.shape = Shape::Thin;
        ending.reason = reason;
        // A bound on a slope falls with the power 3/2 of what was written.
        let more = ending.fills * ((bound / margin).powf(2.0 / 3.0) - 1.0);
        ending.missing = Some(format!("about {:.1} drive writes", more.clamp(0.5, 32.0)));
    }
}
