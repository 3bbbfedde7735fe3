//! The real end of a drive of which something was lost, and the size at which addresses wrap.

use super::ask::{Asker, CACHES, FLOOD, SAMPLE, Stage, note_moved};
use super::evidence::{Evidence, Place};
use super::stamp::SECTOR;
use super::trial::{REQUEST, Shown};
use crate::desk::Halt;

/// Places that one round of the search for the end tries: few where a round is short, many where each has to push
/// its stamps out of a large cache.
const ROUND_MIN: u64 = 16;
const ROUND_MAX: u64 = 512;
/// Requests that were issued together reach a cache in any order. Its border may be off by so much.
const REORDERED: u64 = 16 << 20;
/// Run below a run that may lie in the cache as a whole, or nearly so.
pub(super) const BELOW: u64 = 48 << 20;
/// Run below a wrap's end, beside the cache that it is to exceed.
const RUN_BELOW: u64 = 16 << 20;

impl Asker<'_, '_> {
    /// True when what was lost lies above what was kept, as on a fake, and what was kept late lay in a cache.
    pub fn is_fake_like(&mut self, evidence: &mut Evidence) -> Result<bool, Halt> {
        let Some(lost_from) = evidence.run_lost_from else { return Ok(false) };
        let bad = evidence.samples.iter().filter(|p| !p.good).map(|p| p.offset_bytes).min();
        let lost = bad.unwrap_or(lost_from).min(lost_from);
        if evidence.samples.iter().any(|place| place.good && place.offset_bytes >= lost) {
            return Ok(false);
        }
        // It is not known which part of a request failed.
        if evidence.kept_late() == 0 || evidence.failed > 0 {
            return Ok(evidence.kept_late() == 0);
        }
        self.is_kept_alone(evidence, lost_from)
    }

    /// True when a place that was lost is kept if nothing is written after it, as in a cache; a damaged one is lost
    /// again.
    pub fn is_kept_alone(&mut self, evidence: &mut Evidence, place: u64) -> Result<bool, Halt> {
        let place = (place / self.unit * self.unit, SAMPLE.max(self.unit));
        let len = place.1.min(evidence.claimed_bytes - place.0);
        let shown = self.run(vec![(place.0, len)], Vec::new(), Vec::new())?;
        let is_kept = shown.lost.is_empty();
        evidence.kept_alone = Some(is_kept);
        Ok(is_kept)
    }

    /// Narrows down where what is written is lost from, between what was kept and what was lost of `stage`.
    pub fn search_end(&mut self, evidence: &mut Evidence, stage: &Stage) -> Result<(), Halt> {
        let (unit, lost_from) = (self.unit, evidence.run_lost_from.unwrap_or(stage.begin));
        let is_failing = evidence.failed > 0;
        let from = lost_from / unit * unit;
        evidence.end = Some((self.kept_below(evidence, from), from));
        if is_failing {
            // A request that failed may begin below the end.
            let lost = (from + REQUEST).min(stage.end) - unit;
            let kept = match from > stage.begin {
                true => from - unit,
                false => self.kept_below(evidence, lost),
            };
            return self.narrow(evidence, stage, (kept, lost));
        }
        if evidence.kept_late() == 0 {
            if from > stage.begin {
                // All of the run below was kept.
                evidence.end = Some((from - unit, from));
                return Ok(());
            }
            return self.narrow(evidence, stage, (self.kept_below(evidence, from), from));
        }
        // Requests that were issued together reach a cache in any order: what was kept shortly before may be in it.
        let near = if from - stage.begin > REORDERED { from - REORDERED } else { stage.begin };
        let window = match near > stage.begin {
            true => near,
            false => near.saturating_sub(BELOW),
        } / unit
            * unit;
        let after = vec![(from, stage.end - from), (0, FLOOD.min(window / unit * unit))];
        let shown = self.run_in_order(vec![(window, from - window)], after)?;
        let lost = shown.lost.iter().min().map_or(from, |first| first / unit * unit);
        evidence.end = Some((lost.saturating_sub(unit), lost));
        if lost == window && window > 0 {
            let below = Stage::of(window, stage.end);
            self.narrow(evidence, &below, (self.kept_below(evidence, lost), lost))?;
        }
        self.confirm(evidence, stage)
    }

    /// Narrows down where what is written is lost from, between a place that was kept and one that was lost.
    fn narrow(
        &mut self,
        evidence: &mut Evidence,
        stage: &Stage,
        (kept, lost): (u64, u64),
    ) -> Result<(), Halt> {
        let (unit, is_failing) = (self.unit, evidence.failed > 0);
        let caches = evidence.kept_late() > 0;
        let size = SAMPLE.max(unit);
        // A sample that was lost in part may begin below the end.
        let bad = evidence.samples.iter().filter(|p| !p.good).map(|p| p.offset_bytes + size - unit);
        let mut lost = bad.min().unwrap_or(lost).min(lost) / unit;
        let mut kept = match kept < lost * unit {
            true => kept,
            false => self.kept_below(evidence, lost * unit),
        } / unit;
        while lost - kept > 1 {
            let mut after = vec![(0, FLOOD.min(kept * unit))];
            if !is_failing && (caches || kept * unit < FLOOD) {
                after.insert(0, self.flood(evidence, stage));
            }
            let flood: u64 = after.iter().map(|(_, len)| len >> 20).sum();
            let count = flood.clamp(ROUND_MIN, ROUND_MAX).min(lost - kept - 1);
            let tried: Vec<u64> =
                (1..=count).map(|n| kept + (lost - kept) * n / (count + 1)).collect();
            let places = tried.iter().map(|at| (at * unit, unit)).collect();
            let shown = self.run_in_order(places, after)?;
            let is_lost = |at: &u64| shown.lost_within(at * unit, (at + 1) * unit) > 0;
            match tried.iter().position(is_lost) {
                Some(first) => {
                    lost = tried[first];
                    kept = first.checked_sub(1).map_or(kept, |before| tried[before]);
                }
                None => kept = tried[tried.len() - 1],
            }
            evidence.end = Some((kept * unit, lost * unit));
        }
        evidence.end = Some((kept * unit, lost * unit));
        Ok(())
    }

    /// Range at the end of `stage` whose writes push earlier ones out of the cache that was seen.
    fn flood(&self, evidence: &Evidence, stage: &Stage) -> (u64, u64) {
        let held = evidence.kept_late() * SECTOR;
        let len = (held + FLOOD + 2 * REORDERED).min(stage.end - stage.begin);
        let begin = (stage.end - len) / self.unit * self.unit;
        (begin, stage.end - begin)
    }

    /// Tries places close below the end that was found, and above it: they join the samples, with which it must agree.
    fn confirm(&mut self, evidence: &mut Evidence, stage: &Stage) -> Result<(), Halt> {
        let (unit, Some((_, lost))) = (self.unit, evidence.end) else { return Ok(()) };
        let flood = self.flood(evidence, &Stage::of(lost, stage.end));
        let steps = || (0..u64::BITS - 1).map(|power| unit << power);
        let least = FLOOD.min(lost / 2);
        let below = steps().map_while(|step| lost.checked_sub(step).filter(|at| *at >= least));
        let above = steps().map(|step| lost + step).take_while(|at| at + unit <= flood.0);
        let mut tried: Vec<u64> = below.chain(above).collect();
        tried.sort_unstable();
        let places = tried.iter().map(|at| (*at, unit)).collect();
        let shown = self.run_in_order(places, vec![flood, (0, least / unit * unit)])?;
        let good = |at: u64| shown.lost_within(at, at + unit) == 0;
        let place = |offset_bytes: u64| Place { offset_bytes, good: good(offset_bytes) };
        evidence.samples.extend(tried.into_iter().map(place));
        Ok(())
    }

    /// Looks where else a place above a lost one is kept: in drives whose addresses wrap above their real end.
    pub fn look_below(&mut self, evidence: &mut Evidence) -> Result<(), Halt> {
        let lost = evidence.samples.iter().filter(|p| !p.good).map(|p| p.offset_bytes).min();
        let kept = evidence.samples.iter().filter(|p| p.good).map(|p| p.offset_bytes).max();
        let (Some(lost), Some(kept)) = (lost, kept) else { return Ok(()) };
        if lost < kept {
            let powers = (0..u64::BITS).map(|power| 1_u64 << power);
            let places = powers.filter(|power| power.is_multiple_of(self.unit) && *power < kept);
            let looked_at = places.map(|power| (kept - power, self.unit)).collect();
            let shown = self.run(vec![(kept, self.unit)], Vec::new(), looked_at)?;
            note_moved(evidence, &shown);
        }
        Ok(())
    }

    /// The highest sample below `lost` that was kept; 0 when there is none.
    fn kept_below(&self, evidence: &Evidence, lost: u64) -> u64 {
        let good = evidence.samples.iter().filter(|place| place.good && place.offset_bytes < lost);
        good.map(|place| place.offset_bytes).max().unwrap_or(0)
    }

    /// True when addresses wrap at the distance at which stamps were met; then also looks at all below that.
    pub fn wraps(&mut self, evidence: &mut Evidence, stage: &Stage) -> Result<bool, Halt> {
        let unit = self.unit;
        let nearest = evidence.nearest_bytes.filter(|p| p.is_multiple_of(unit));
        let Some(period) = nearest.filter(|_| evidence.period_bytes == nearest) else {
            return Ok(false);
        };
        // A cache may hold the one stamp back until a run pushes it out, which may wrap to the same place.
        for after in [Vec::new(), vec![stage.run()]] {
            let shown = self.run(vec![(period, unit)], after, vec![(0, unit)])?;
            let meets = |shown: &Shown| {
                shown.moved.iter().any(|(met, of)| *met == 0 && of.is_multiple_of(period))
            };
            evidence.wraps = Some(meets(&shown));
            if evidence.wraps == Some(true) {
                break;
            }
        }
        if evidence.wraps != Some(true) {
            return Ok(false);
        }
        // The real end may lie below that, and a cache hide it as it hides any end.
        for cache in CACHES {
            let len = ((RUN_BELOW + cache).min(period / 2) / unit * unit).max(unit.min(period));
            if cache > 0 && self.options.keeps && len > self.memory() {
                break;
            }
            let below = Stage::of(period - len, period);
            let (mut places, sampled) = self.samples((FLOOD.min(below.begin), below.begin));
            places.push(below.run());
            let shown = self.run(places, vec![(0, FLOOD.min(below.begin))], Vec::new())?;
            let (moved, nearest) = (std::mem::take(&mut evidence.moved), evidence.nearest_bytes);
            self.note(evidence, &shown, &sampled, (below.begin, period));
            (evidence.moved, evidence.nearest_bytes, evidence.period_bytes) =
                (moved, nearest, Some(period));
            if evidence.run_good < evidence.run_sectors && self.is_fake_like(evidence)? {
                self.search_end(evidence, &below)?;
                break;
            }
        }
        Ok(true)
    }
}

impl Evidence {
    /// Sectors of the run that were kept though one before them was lost.
    pub fn kept_late(&self) -> u64 {
        let begin = self.run_begin_bytes;
        let before = self.run_lost_from.map_or(self.run_sectors, |from| (from - begin) / SECTOR);
        self.run_good.saturating_sub(before)
    }
}
