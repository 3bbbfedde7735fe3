//! From rows to answers.

use serde::{Deserialize, Serialize};

use super::class::GROUP_LOG2_MAX;
use super::doubt;
use super::erase::{self, Candidate, Hypothesis};
use super::family::{self, Family, Place};
use super::page::{self, Layout};
use super::row::{Row, Source};
use super::sampler::{Sampler, Triple};
use crate::finding::{Finding, Name, Verdict};

/// Judgement of rows: the answers, and the probabilities of the alternatives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Erase block, page and multi-plane page.
    pub findings: Vec<Finding>,
    /// Hypotheses about the erase block, the most probable first.
    pub erase_block: Vec<Candidate>,
    /// Hypotheses about pages and planes, the most probable first.
    pub pages: Vec<Layout>,
}

impl Judgement {
    /// True when nothing is gained by asking on: the erase block is answered, and of the layouts of pages one has at
    /// least the probability `enough`, whatever can be said of it.
    pub fn is_settled(&self, enough: f64) -> bool {
        let block = self.findings.first().is_some_and(|finding| match finding.verdict {
            Verdict::Unknown => false,
            Verdict::None => true,
            Verdict::Found => {
                self.erase_block.first().is_none_or(|best| best.probability >= enough)
            }
        });
        block && self.pages.first().is_some_and(|best| best.probability >= enough)
    }

    /// Inference from single boundaries. Rows show which contrast varies less where all of a class are averaged; here each
    /// boundary counts, and those of one size may lie between kinds of pages of their own. So this takes the contrast in
    /// which boundaries differ less, and the other one if that leaves a doubt.
    pub(super) fn family(&self, sampler: &Sampler) -> Family {
        let spread = self.erase_block.first().map_or(0.0, |best| best.spread_ns);
        let (from, to) = sampler.range();
        let head = HEAD_BYTES.min((to - from) / 8);
        let triples: Vec<Triple> = at_one_speed(
            sampler.from(PLACES_LOG2_MIN).filter(|triple| triple.at >= head).copied().collect(),
        );
        let mut times: Vec<f64> = triples.iter().map(|t| (t.pre + t.post) / 2.0).collect();
        let time = super::estimate::median(&mut times).max(1.0);
        let weigh = |share: f64| {
            let place = |triple: &Triple| Place {
                at: triple.at,
                cost: triple.cost(share),
                beyond: triple.on - triple.pre.max(triple.post),
            };
            let places: Vec<Place> = triples.iter().map(place).collect();
            family::weigh(&places, spread, time)
        };
        let width = |share: f64| {
            let of = triples.iter().filter(|triple| triple.at.trailing_zeros() >= GROUP_LOG2_MAX);
            let mut costs: Vec<f64> = of.map(|triple| triple.cost(share)).collect();
            costs.sort_by(f64::total_cmp);
            let at = |share: usize| costs.get(costs.len() * share / 10).copied().unwrap_or(0.0);
            at(7) - at(3)
        };
        let shares = if width(1.0) < width(0.5) { [1.0, 0.5] } else { [0.5, 1.0] };
        let [first, second] = shares;
        let one = weigh(first);
        if one.decided().is_some() {
            return one;
        }
        let other = weigh(second);
        if other.decided().is_some() { other } else { one }
    }
}

/// Triples as they would be at one speed. A drive that slows down now and then takes longer for everything: where
/// scripts differ so, times count as shares of the time that their script's reads take.
fn at_one_speed(mut triples: Vec<Triple>) -> Vec<Triple> {
    let speeds: Vec<f64> = triples.iter().map(|t| t.script).filter(|speed| *speed > 0.0).collect();
    let [low, middle, high] = [0.05, 0.5, 0.95].map(|share| stats::quantile(&speeds, share));
    let (Some(low), Some(middle), Some(high)) = (low, middle, high) else { return triples };
    if high > SLOWER * low {
        for triple in triples.iter_mut().filter(|triple| triple.script > 0.0) {
            let scale = middle / triple.script;
            for time in [&mut triple.pre, &mut triple.on, &mut triple.post] {
                *time *= scale;
            }
        }
    }
    triples
}

/// Scripts that differ by more than this ratio are of a drive that slows down: less than that is what places differ by.
const SLOWER: f64 = 1.15;
/// Single boundaries are multiples of this power of two: no erase block of 128 KiB and more is of a lesser one.
const PLACES_LOG2_MIN: u32 = 12;
/// A zone at the beginning is hardly longer: single boundaries in it would be few beside the others of their kind, and are
/// left out.
const HEAD_BYTES: u64 = 128 << 20;

/// Boundaries up to these are compared for pages.
const PAGES_LOG2_MAX: u32 = 21;
/// Hypotheses that are kept for show.
const SHOWN: usize = 6;
/// No answer is surer than this: the model of noise itself may be wrong.
const SUREST: f64 = 0.9999;
/// Largest step that may stay hidden when the answer is *none*: as a share of a read's time, and in nanoseconds.
const HIDDEN: (f64, f64) = (0.03, 15_000.0);
/// Erase blocks up to this size must hold [`GROUPS_MIN`] groups of pages: below, a step may be that of groups which are
/// read at once.
const SMALL: u64 = 512 << 10;
/// Up to this size there must be a lesser step below, that of pages: 16 groups of four planes of 32 KiB that are read at
/// once are as large.
const LONE: u64 = 2 << 20;
const GROUPS_MIN: u64 = 17;
/// Planes, dies and channels that a controller reads at once are a power of two of them, or three times that.
const AT_ONCE_ODD_MAX: u64 = 3;
/// A boundary of pages, which costs another array read, costs this share of the step at least; codewords cost less.
const PAGES_COST: f64 = 0.2;
const PAGE_MIN: u64 = 2 << 10;
/// The first row of a plateau lies this share of it off the others, or less, whatever the errors; and never more than
/// that.
const OFF: f64 = 0.08;
const OFF_MAX: f64 = 0.25;
/// Single boundaries deny a step when that is so probable.
const NOTHING: f64 = 0.99;

/// Thresholds for answers, by the source of the rows.
struct Standard {
    /// Least probability of an answer about the erase block, and of one about pages.
    sure: f64,
    sure_pages: f64,
    /// Most of the step that rows of one level may differ in.
    uneven: f64,
}

impl Standard {
    fn of(source: Source) -> Standard {
        match source {
            Source::Measured => Standard { sure: 0.99, sure_pages: 0.97, uneven: 0.2 },
            Source::Published => Standard { sure: 0.9, sure_pages: 0.8, uneven: 0.25 },
        }
    }
}

/// Judges `rows`, one for each class that was looked at, of one block size. With `given`, the size of the erase block
/// in bytes is taken as known and not judged. The answers are about [`Name::EraseBlock`], [`Name::Page`] and
/// [`Name::MultiPlanePage`], in this order.
pub fn infer(rows: &[Row], source: Source, given: Option<u64>) -> Judgement {
    judge(rows, source, given, None)
}

/// As [`infer`], of our own rows and with what single boundaries say.
pub(super) fn infer_named(rows: &[Row], given: Option<u64>, family: &Family) -> Judgement {
    judge(rows, Source::Measured, given, Some(family))
}

fn judge(rows: &[Row], source: Source, given: Option<u64>, family: Option<&Family>) -> Judgement {
    let mut rows: Vec<Row> = rows.iter().copied().filter(Row::is_sound).collect();
    rows.sort_by_key(|row| (row.class.log2, row.class.factor));
    if source == Source::Published && rows.len() > 10 {
        // The row of the largest size: its last places lie beyond the end of the drive, and wrap to anywhere.
        rows.pop();
    }
    let case = Case { time: typical(&rows), rows, source, given, family };
    let (mut candidates, mut pages) = case.weigh();
    let erase_block = case.erase_block(&candidates, &pages);
    let (page, group) = case.pages(&pages, erase_block.verdict);
    candidates.truncate(SHOWN);
    pages.truncate(SHOWN);
    Judgement { findings: vec![erase_block, page, group], erase_block: candidates, pages }
}

/// Time of a read that crosses nothing.
fn typical(rows: &[Row]) -> f64 {
    let mut times: Vec<f64> = rows.iter().map(|row| (row.pre_ns + row.post_ns) / 2.0).collect();
    super::estimate::median(&mut times)
}

/// Input of a judgement.
struct Case<'a> {
    rows: Vec<Row>,
    family: Option<&'a Family>,
    source: Source,
    given: Option<u64>,
    /// Time of a read that crosses nothing, in nanoseconds.
    time: f64,
}

impl Case<'_> {
    /// The hypotheses about erase blocks, and those about pages below the erase block.
    fn weigh(&self) -> (Vec<Candidate>, Vec<Layout>) {
        // A table has few rows; those of pages do no harm, since one or two wild rows do none.
        let published = self.source == Source::Published;
        let first = if published { GROUP_LOG2_MAX - 3 } else { GROUP_LOG2_MAX };
        let candidates = erase::judge(&self.rows, self.source, first, self.time);
        let pages = self.layouts(&candidates);
        match self.plateau_start(&pages) {
            // A level that begins higher up is that of erase blocks, and no page's.
            Some(start) if published && start != first && start <= GROUP_LOG2_MAX => {
                let candidates = erase::judge(&self.rows, self.source, start, self.time);
                let pages = self.layouts(&candidates);
                (candidates, pages)
            }
            _ => (candidates, pages),
        }
    }

    fn layouts(&self, candidates: &[Candidate]) -> Vec<Layout> {
        let block = self.given.or_else(|| self.named()).or_else(|| self.decided(candidates));
        // Boundaries far apart are few, and lie in few erase blocks, each of which has its kinds of pages in an order
        // of its own: their sides differ by more than their errors.
        let few = |row: &Row| self.source == Source::Measured && row.class.log2 > PAGES_LOG2_MAX;
        let below = |row: &&Row| {
            !few(row)
                && block.is_none_or(|block| {
                    row.align_bytes < block && erase::shown(row.class, block, self.source) == 0.0
                })
        };
        let rows: Vec<Row> = self.rows.iter().filter(below).copied().collect();
        page::judge(&rows, self.source, self.time)
    }

    /// The erase block, if the candidates decide for one.
    fn decided(&self, candidates: &[Candidate]) -> Option<u64> {
        let standard = Standard::of(self.source);
        let best = candidates.first()?;
        let Hypothesis::Block(block) = best.hypothesis else { return None };
        let stands = best.probability >= standard.sure
            && best.step_ns >= 3.0 * best.step_error_ns
            && best.spread_ns <= standard.uneven * best.step_ns;
        stands.then_some(block)
    }

    /// The power of two with which the plateau begins, if that is as good as sure.
    fn plateau_start(&self, pages: &[Layout]) -> Option<u32> {
        let best = pages.first()?;
        let sure = share_of(pages, |layout| layout.group_bytes == best.group_bytes);
        (sure >= Standard::of(self.source).sure_pages).then(|| best.group_bytes.ilog2())
    }

    /// The erase block, if single boundaries decide for one.
    fn named(&self) -> Option<u64> {
        Some(self.family?.decided()?.bytes)
    }

    /// The erase block, with the results for single boundaries: only they distinguish a size from another that shares a
    /// fraction of its boundaries.
    fn erase_block(&self, candidates: &[Candidate], pages: &[Layout]) -> Finding {
        let Some(family) = self.family.filter(|_| self.given.is_none()) else {
            return self.by_rows(candidates);
        };
        let unknown = |reason: String| Finding::unknown(Name::EraseBlock, reason);
        let Some(size) = family.decided() else {
            let rows = self.by_rows(candidates);
            let nothing = family.none > NOTHING;
            return match (rows.verdict, &family.doubt) {
                (Verdict::None, _) if nothing => rows,
                (Verdict::Unknown, None) => rows,
                (Verdict::Unknown, _) if nothing => rows,
                (_, Some(doubt)) => unknown(doubt.clone()),
                (_, None) => unknown("too few boundaries were read".to_owned()),
            };
        };
        let bottom = self.rows.first().map_or(0, |row| row.class.align());
        let group = pages.first().map_or(0, |best| best.group_bytes);
        let plateau = pages.first().map_or(0.0, |best| best.plateau_ns);
        // Without the lesser step of pages below, it may be theirs. Groups that are read at once are 2^n or 3 x 2^n.
        let lone = group <= bottom || plateau < PAGES_COST * size.step_ns;
        let at_once = (size.bytes >> size.bytes.trailing_zeros()) <= AT_ONCE_ODD_MAX;
        let few = size.bytes <= SMALL && size.bytes < GROUPS_MIN * group;
        if at_once && (size.bytes <= LONE && lone || few) {
            return unknown(
                "it is the only step: it may be that of pages that are read at once".to_owned(),
            );
        }
        let spread_ns = candidates.first().map_or(0.0, |best| best.spread_ns);
        let share = candidates.first().map_or(0.5, |best| best.share);
        let candidate = Candidate {
            hypothesis: Hypothesis::Block(size.bytes),
            probability: size.probability,
            step_ns: size.step_ns,
            step_error_ns: size.error_ns,
            spread_ns,
            share,
        };
        if let Some(doubt) = doubt::about_named(&self.rows, size.bytes, &candidate, self.time) {
            return unknown(doubt);
        }
        let reason = format!(
            "crossing it costs {} more than crossing pages, and at all of its multiples and nowhere else",
            Step(&candidate)
        );
        Finding::found(Name::EraseBlock, size.bytes, size.probability.min(SUREST), reason)
    }

    fn by_rows(&self, candidates: &[Candidate]) -> Finding {
        let name = Name::EraseBlock;
        if let Some(block) = self.given {
            return Finding::found(name, block, 1.0, "it was given");
        }
        let Some(best) = candidates.first() else {
            return Finding::unknown(name, "there are too few rows above those of pages");
        };
        let step = Step(best);
        if let Some(block) = self.decided(candidates) {
            if let Some(doubt) = doubt::about(&self.rows, block, self.source, best, self.time) {
                return Finding::unknown(name, doubt);
            }
            let (low, high) = range(candidates, block);
            let reason =
                format!("crossing it costs {step} more than crossing pages, and from it on all do");
            return Finding::found(name, block, best.probability.min(SUREST), reason)
                .between(low, high);
        }
        if let Some(none) = self.no_erase_block(candidates) {
            return none;
        }
        let reason = match best.hypothesis {
            Hypothesis::None => "no row begins a step that holds in all rows above it".to_owned(),
            Hypothesis::Trend => {
                "costs change evenly with the alignment, without a step".to_owned()
            }
            Hypothesis::Block(block) => format!(
                "{block} bytes are the likeliest, with probability {:.2}, a step of {step}, and rows that differ by \
                 {:.1} µs otherwise",
                best.probability,
                best.spread_ns / 1e3
            ),
        };
        Finding::unknown(name, reason)
    }

    /// None, where no size can have a step worth the name.
    fn no_erase_block(&self, candidates: &[Candidate]) -> Option<Finding> {
        if self.source != Source::Measured {
            // The least of eight times at the same few places may be that of a memory.
            return None;
        }
        let blocks = candidates.iter().filter(|c| matches!(c.hypothesis, Hypothesis::Block(_)));
        let most = blocks
            .map(|c| c.step_ns.max(0.0) + 3.0 * c.step_error_ns.max(c.spread_ns))
            .fold(0.0, f64::max);
        if most >= HIDDEN.0 * self.time || most >= HIDDEN.1 {
            return None;
        }
        let reason = format!(
            "no alignment costs more than {:.1} µs beyond another, {:.1}% of a read",
            most / 1e3,
            100.0 * most / self.time
        );
        // Each size by itself is ruled out by three errors, one-sided.
        let none = candidates.iter().find(|c| c.hypothesis == Hypothesis::None);
        let none = none.map_or(0.0, |c| c.probability);
        Some(Finding::none(Name::EraseBlock, none + 0.9987 * (1.0 - none), reason))
    }

    /// Page and multi-plane page.
    fn pages(&self, pages: &[Layout], erase_block: Verdict) -> (Finding, Finding) {
        let both = |reason: &str| {
            (Finding::unknown(Name::Page, reason), Finding::unknown(Name::MultiPlanePage, reason))
        };
        let (Some(best), Some(lowest)) = (pages.first(), self.rows.first()) else {
            return both("there are too few rows below the erase block's");
        };
        let standard = Standard::of(self.source);
        let group = best.group_bytes;
        let sure = share_of(pages, |layout| layout.group_bytes == group);
        let at_the_bottom = group <= lowest.class.align();
        if erase_block == Verdict::None
            && at_the_bottom
            && sure >= standard.sure_pages
            && self.is_flat(best)
        {
            let none = |name| {
                Finding::none(name, sure.min(SUREST), "no alignment costs more than another")
            };
            return (none(Name::Page), none(Name::MultiPlanePage));
        }
        if erase_block != Verdict::Found {
            return both(
                "without an erase block a step may be of a page or of any other unit of the drive",
            );
        }
        if at_the_bottom {
            return both(
                "all boundaries that were crossed cost the same: a page is no larger than the smallest",
            );
        }
        if sure < standard.sure_pages || best.spread_ns > standard.uneven * best.plateau_ns {
            return both("rows below the erase block's do not settle on one level from a size on");
        }
        if let Some(line) = self.other_line(group) {
            return both(&format!(
                "rows settle from {} on, and single boundaries from {} on",
                block::Bytes(group).about(),
                block::Bytes(line).about()
            ));
        }
        if self.begins_above(best) {
            let reason =
                "the first of the rows that settle on one level does not cost what the others do";
            return (
                Finding::one_of(
                    Name::Page,
                    [group / 4, group / 2, group, group * 2].into(),
                    reason,
                ),
                Finding::one_of(Name::MultiPlanePage, [group, group * 2, group * 4].into(), reason),
            );
        }
        if let Some(reason) = self.off_the_plateau(best) {
            // Up to eight planes, or groups that are read at once: each halves the page or doubles what is read together.
            let class = |name, sizes: [u64; 3]| Finding::one_of(name, sizes.into(), reason.clone());
            return (
                class(Name::Page, [group / 4, group / 2, group]),
                class(Name::MultiPlanePage, [group, group * 2, group * 4]),
            );
        }
        if let Some(reason) = self.other_planes(best) {
            let class = |name| Finding::one_of(name, parts_of(group), reason.clone());
            return (class(Name::Page), class(Name::MultiPlanePage));
        }
        let reason = format!(
            "from {} on crossing any boundary costs {:.1} µs",
            block::Bytes(group).about(),
            best.plateau_ns / 1e3
        );
        let page = self.page(best, pages, sure);
        let multi = if self.source == Source::Measured && !page.one_of.is_empty() {
            let reason = format!(
                "{reason}, and no planes show: groups that are read at once look like one of them"
            );
            Finding::one_of(Name::MultiPlanePage, page.one_of.clone(), reason)
        } else {
            Finding::found(Name::MultiPlanePage, group, sure.min(SUREST), reason)
        };
        (page, multi)
    }

    /// Bytes from which on single boundaries all cost the same, where that is not `group`. Rows below the power of two in
    /// an odd size may be too few to see that groups are read at once.
    fn other_line(&self, group: u64) -> Option<u64> {
        let line = self.family.filter(|family| family.decided().is_some())?.line;
        // Smaller ones were not looked at.
        let at_least = |bytes: u64| bytes.max(1 << PLACES_LOG2_MIN);
        (at_least(line) != at_least(group)).then_some(line)
    }

    /// True when the first row of the plateau costs less than half of it: it begins higher up, or there are two.
    fn begins_above(&self, best: &Layout) -> bool {
        let of_first = |row: &&Row| row.class.factor == 1 && row.align_bytes == best.group_bytes;
        let first = self.rows.iter().find(of_first).filter(|_| self.source == Source::Measured);
        first.is_some_and(|row| row.diff.value_ns < 0.5 * best.plateau_ns)
    }

    /// Why the first row of the plateau is not of it, as where four planes or groups that are read at once make the
    /// sides of boundaries differ below it.
    fn off_the_plateau(&self, best: &Layout) -> Option<String> {
        let of_first = |row: &&Row| row.class.factor == 1 && row.align_bytes == best.group_bytes;
        let first = self.rows.iter().find(of_first).filter(|_| self.source == Source::Measured)?;
        let off = (first.diff.value_ns - best.plateau_ns).abs();
        let error = first.diff.error_ns.hypot(best.plateau_error_ns).hypot(best.spread_ns);
        (off > (4.0 * error).max(OFF * best.plateau_ns) || off > OFF_MAX * best.plateau_ns).then(|| {
            format!(
                "boundaries of {} cost {:.1} µs, and larger ones {:.1}: more than two planes, or groups that are read \
                 at once",
                block::Bytes(best.group_bytes).about(),
                first.diff.value_ns / 1e3,
                best.plateau_ns / 1e3
            )
        })
    }

    /// Why the sides of boundaries are not those of two planes: they are one way right below the plateau, the other way on
    /// it, and alike further below. More planes, or groups that are read at once, make them differ there too.
    fn other_planes(&self, best: &Layout) -> Option<String> {
        if self.source != Source::Measured || best.planes != 2 {
            return None;
        }
        let fits = |row: &Row| {
            let (sides, error) = (row.sides.value_ns, row.sides.error_ns);
            if 2 * row.align_bytes == best.group_bytes {
                sides + 2.0 * error >= 0.5 * best.plane_ns
            } else {
                sides.abs() <= (0.3 * best.plane_ns).max(4.0 * error)
            }
        };
        let below = |row: &&Row| row.class.factor == 1 && row.align_bytes < best.group_bytes;
        let off = self.rows.iter().filter(below).find(|row| !fits(row))?;
        Some(format!(
            "the sides of boundaries of {} differ by {:.1} µs, which two planes do not explain: more of them, or groups \
             that are read at once",
            block::Bytes(off.align_bytes).about(),
            off.sides.value_ns / 1e3
        ))
    }

    fn is_flat(&self, layout: &Layout) -> bool {
        let most = layout.plateau_ns.abs() + 3.0 * layout.plateau_error_ns.max(layout.spread_ns);
        most < HIDDEN.0 * self.time
    }

    /// The page, when the multi-plane page is `best.group_bytes` with probability `sure`.
    fn page(&self, best: &Layout, pages: &[Layout], sure: f64) -> Finding {
        let standard = Standard::of(self.source);
        let group = best.group_bytes;
        let two = best.planes == 2;
        if two
            && best.plane_ns >= 3.0 * best.plane_error_ns
            && best.probability >= standard.sure_pages
        {
            let reason = format!(
                "two planes differ by {:.1} µs, one way at boundaries of this size and the other way above",
                best.plane_ns / 1e3
            );
            return Finding::found(Name::Page, group / 2, best.probability.min(SUREST), reason);
        }
        if two || best.probability / sure < standard.sure_pages {
            let odds = share_of(pages, |l| l.planes == 2 && l.group_bytes == group) / sure;
            let reason = format!(
                "it is {group} bytes on one plane, or half of it on two with probability {odds:.2}"
            );
            return Finding::one_of(Name::Page, parts_of(group), reason);
        }
        let values = parts_of(group);
        let reason = format!(
            "{}: no step between planes shows, nor would one between planes that are alike",
            in_words(&values)
        );
        Finding::one_of(Name::Page, values, reason)
    }
}

/// Probability of the layouts that are `of` a kind.
fn share_of(pages: &[Layout], of: impl Fn(&Layout) -> bool) -> f64 {
    pages.iter().filter(|layout| of(layout)).map(|layout| layout.probability).sum()
}

/// Least and greatest block that is not ruled out.
fn range(candidates: &[Candidate], block: u64) -> (u64, u64) {
    let possible = candidates.iter().filter(|c| c.probability >= 0.01);
    possible.fold((block, block), |(low, high), c| match c.hypothesis {
        Hypothesis::Block(other) => (low.min(other), high.max(other)),
        _ => (low, high),
    })
}

/// Pages of which `group` bytes look like one: planes that cost the same leave no trace, nor do groups that are read at
/// once. Flash with pages of less than 2 KiB is not made.
fn parts_of(group: u64) -> Vec<u64> {
    (0..5).map(|log2| group >> log2).filter(|page| *page >= PAGE_MIN || *page == group).collect()
}

/// `4 KiB, 8 KiB or 16 KiB`.
pub(crate) fn in_words(values: &[u64]) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let words: Vec<String> = sorted.iter().map(|bytes| block::Bytes(*bytes).about()).collect();
    match words.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// A step with its error, for a reason.
struct Step<'a>(&'a Candidate);

impl std::fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} ± {:.1} µs", self.0.step_ns / 1e3, self.0.step_error_ns / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when the speed of a script passes for what its boundaries cost, or places that differ a little for a drive
    // that slows down.
    #[test]
    fn scripts_of_a_drive_that_slows_down_are_compared_at_one_speed() {
        let made = |slow: f64| -> Vec<Triple> {
            let one = |n: u32| {
                let speed = if n.is_multiple_of(3) { slow } else { 1.0 };
                let [pre, on, post] = [100.0, 180.0, 120.0].map(|time| time * speed);
                Triple { pre, on, post, at: 0, script: 110.0 * speed }
            };
            (0..300).map(one).collect()
        };
        for triple in at_one_speed(made(2.5)) {
            assert!((triple.cost(0.5) - 70.0).abs() < 1e-6, "{triple:?}");
        }
        let alike = at_one_speed(made(1.1));
        assert!((alike[0].cost(0.5) - 77.0).abs() < 1e-6, "{:?}", alike[0]);
    }
}
