//! From rows to answers.

use serde::{Deserialize, Serialize};

use super::erase::{self, Candidate, Hypothesis};
use super::page::{self, Layout};
use super::row::{Row, Source};
use crate::finding::{Finding, Name};

/// What rows say: answers, and how probable what else there is.
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
            crate::Verdict::Unknown => false,
            crate::Verdict::None => true,
            crate::Verdict::Found => {
                self.erase_block.first().is_none_or(|best| best.probability >= enough)
            }
        });
        block && self.pages.first().is_some_and(|best| best.probability >= enough)
    }
}

/// A multi-plane page is hardly larger than this: above it rows are compared for the erase block at first.
const GROUP_LOG2_MAX: u32 = 17;
/// Hypotheses that are kept for show.
const SHOWN: usize = 6;
/// Planes that cost the same leave no trace of their own. How probable such a card is a priori, when there is a
/// smaller step right below the plateau, and when there is none.
const EVEN_PLANES: (f64, f64) = (0.1, 0.02);

/// Where a step of this share of a read's time, and of so many nanoseconds, would have been seen, none is one.
const HIDDEN: (f64, f64) = (0.03, 15_000.0);

/// What a source allows.
struct Standard {
    /// Least probability of an answer.
    sure: f64,
    /// Most of the step that rows of one level may differ in.
    uneven: f64,
}

impl Standard {
    fn of(source: Source) -> Standard {
        match source {
            Source::Measured => Standard { sure: 0.99, uneven: 0.2 },
            Source::Published => Standard { sure: 0.8, uneven: 0.25 },
        }
    }
}

/// Judges `rows`, one for each class that was looked at, of one block size. With `given`, the size of the erase block
/// in bytes is taken as known and not judged.
pub fn infer(rows: &[Row], source: Source, given: Option<u64>) -> Judgement {
    let mut rows: Vec<Row> = rows.iter().copied().filter(is_sound).collect();
    rows.sort_by_key(|row| (row.class.log2, row.class.factor));
    let time = typical(&rows);
    if source == Source::Published && rows.len() > 10 {
        // The row of the largest size: its last places lie beyond the end of the drive, and wrap to anywhere.
        rows.pop();
    }
    let first = if source == Source::Published { GROUP_LOG2_MAX - 3 } else { GROUP_LOG2_MAX };
    let mut candidates = erase::judge(&rows, source, first, time);
    let mut block = given.or_else(|| decided(&candidates, source));
    let mut pages = layouts(&rows, block, source, time);
    // Classes begin high enough for what we measure; a table has few rows, and needs them all.
    if given.is_none()
        && source == Source::Published
        && let Some(start) = plateau_start(&pages, source)
        && start != first
    {
        candidates = erase::judge(&rows, source, start, time);
        block = decided(&candidates, source);
        pages = layouts(&rows, block, source, time);
    }
    let erase_block = match given {
        Some(block) => Finding::found(Name::EraseBlock, block, 1.0, "it was given"),
        None => stripes(&rows, block, source, &candidates)
            .unwrap_or_else(|| erase_finding(&candidates, source, time)),
    };
    let sound = erase_block.verdict;
    let (page, group) = page_findings(&rows, &pages, source, time, sound);
    candidates.truncate(SHOWN);
    pages.truncate(SHOWN);
    Judgement { findings: vec![erase_block, page, group], erase_block: candidates, pages }
}

fn is_sound(row: &Row) -> bool {
    let estimates = [row.diff, row.excess, row.sides];
    let times = [row.pre_ns, row.on_ns, row.post_ns];
    times.iter().all(|time| time.is_finite() && *time > 0.0)
        && estimates.iter().all(|e| e.value_ns.is_finite() && e.error_ns.is_finite())
}

/// Time of a read that crosses nothing.
fn typical(rows: &[Row]) -> f64 {
    let mut times: Vec<f64> = rows.iter().map(|row| (row.pre_ns + row.post_ns) / 2.0).collect();
    super::estimate::median(&mut times)
}

/// The erase block, if the candidates decide for one.
fn decided(candidates: &[Candidate], source: Source) -> Option<u64> {
    let standard = Standard::of(source);
    let best = candidates.first()?;
    let Hypothesis::Block(block) = best.hypothesis else { return None };
    let stands = best.probability >= standard.sure
        && best.step_ns >= 3.0 * best.step_error_ns
        && best.spread_ns <= standard.uneven * best.step_ns;
    stands.then_some(block)
}

fn layouts(rows: &[Row], block: Option<u64>, source: Source, time: f64) -> Vec<Layout> {
    let below = |row: &&Row| {
        block.is_none_or(|block| row.align_bytes < block && !row.align_bytes.is_multiple_of(block))
    };
    let rows: Vec<Row> = rows.iter().filter(below).copied().collect();
    page::judge(&rows, source == Source::Measured, time)
}

/// The power of two with which the plateau begins, if that is as good as sure.
fn plateau_start(pages: &[Layout], source: Source) -> Option<u32> {
    let best = pages.first()?;
    let sum: f64 =
        pages.iter().filter(|l| l.group_bytes == best.group_bytes).map(|l| l.probability).sum();
    (sum >= Standard::of(source).sure).then(|| best.group_bytes.ilog2())
}

fn erase_finding(candidates: &[Candidate], source: Source, time: f64) -> Finding {
    let name = Name::EraseBlock;
    let Some(best) = candidates.first() else {
        return Finding::unknown(name, "there are too few rows above those of pages");
    };
    if let Some(block) = decided(candidates, source) {
        let (low, high) = range(candidates, block);
        let reason = format!(
            "crossing it costs {:.1} ± {:.1} us more than crossing pages, and no smaller boundary does",
            best.step_ns / 1e3,
            best.step_error_ns / 1e3
        );
        return Finding::found(name, block, best.probability.min(0.9999), reason)
            .between(low, high);
    }
    match best.hypothesis {
        Hypothesis::None if source == Source::Measured => {
            let most = candidates
                .iter()
                .filter(|c| matches!(c.hypothesis, Hypothesis::Block(_)))
                .map(|c| c.step_ns.max(0.0) + 3.0 * c.step_error_ns)
                .fold(3.0 * best.spread_ns, f64::max);
            if best.probability >= 0.5 && most < HIDDEN.0 * time && most < HIDDEN.1 {
                let reason = format!(
                    "no alignment costs more than {:.1} us beyond another, {:.1} % of a read",
                    most / 1e3,
                    100.0 * most / time
                );
                return Finding::none(name, best.probability.min(0.9999), reason);
            }
            Finding::unknown(
                name,
                format!("no step is seen, and one of {:.1} us could be hidden", most / 1e3),
            )
        }
        Hypothesis::None => {
            Finding::unknown(name, "no row begins a step that holds in all rows above it")
        }
        Hypothesis::Trend => {
            Finding::unknown(name, "costs change evenly with the alignment, without a step")
        }
        Hypothesis::Block(block) => Finding::unknown(
            name,
            format!(
                "{block} bytes are the likeliest, with probability {:.2}, a step of {:.1} ± {:.1} us and rows that \
                 differ by {:.1} us",
                best.probability,
                best.step_ns / 1e3,
                best.step_error_ns / 1e3,
                best.spread_ns / 1e3
            ),
        ),
    }
}

/// Whether what looks like an erase block is a stripe: where both sides are read at once and the slower one is waited
/// for, a boundary between pages of unlike kinds costs more than one between like ones, and the latter are those
/// within a stripe over the drive's dies.
fn stripes(
    rows: &[Row],
    block: Option<u64>,
    source: Source,
    candidates: &[Candidate],
) -> Option<Finding> {
    let best = candidates.first()?;
    let step = erase::step_beyond(rows, block?, source, best.spread_ns);
    let holds = step.value_ns >= 3.0 * step.error_ns && step.value_ns >= 0.4 * best.step_ns;
    (!holds).then(|| {
        let reason = format!(
            "at {} bytes both sides of a boundary begin to differ, and the slower is waited for: a stripe over dies \
             looks like that",
            block.unwrap_or(0)
        );
        Finding::unknown(Name::EraseBlock, reason)
    })
}

/// Least and greatest block that is not ruled out.
fn range(candidates: &[Candidate], block: u64) -> (u64, u64) {
    let possible = candidates.iter().filter(|c| c.probability >= 0.01);
    possible.fold((block, block), |(low, high), c| match c.hypothesis {
        Hypothesis::Block(other) => (low.min(other), high.max(other)),
        _ => (low, high),
    })
}

fn page_findings(
    rows: &[Row],
    pages: &[Layout],
    source: Source,
    time: f64,
    erase: crate::Verdict,
) -> (Finding, Finding) {
    let both = |reason: &str| {
        (Finding::unknown(Name::Page, reason), Finding::unknown(Name::MultiPlanePage, reason))
    };
    let (Some(best), Some(lowest)) = (pages.first(), rows.first()) else {
        return both("there are too few rows below the erase block's");
    };
    let standard = Standard::of(source);
    let group = best.group_bytes;
    let sum = |of: &dyn Fn(&Layout) -> bool| -> f64 {
        pages.iter().filter(|l| of(l)).map(|l| l.probability).sum()
    };
    let group_sure = sum(&|l| l.group_bytes == group);
    let at_the_bottom = group <= lowest.class.align();
    if erase != crate::Verdict::Found {
        let flat =
            best.plateau_ns.abs() + 3.0 * best.plateau_error_ns.hypot(best.spread_ns) < 0.03 * time;
        if erase == crate::Verdict::None && at_the_bottom && flat && group_sure >= standard.sure {
            let reason = "no alignment costs more than another";
            let none = |name| Finding::none(name, group_sure.min(0.9999), reason);
            return (none(Name::Page), none(Name::MultiPlanePage));
        }
        return both(
            "without an erase block a step may be of a page or of any other unit of the drive",
        );
    }
    if at_the_bottom {
        return both(
            "the smallest boundaries that were crossed cost as much as those of pages: it is no larger",
        );
    }
    if group_sure < standard.sure || best.spread_ns > standard.uneven * best.plateau_ns {
        return both("rows below the erase block's do not settle on one level from a size on");
    }
    let reason = format!("from it on crossing any boundary costs {:.1} us", best.plateau_ns / 1e3);
    let multi = Finding::found(Name::MultiPlanePage, group, group_sure.min(0.9999), reason);
    (page_finding(best, pages, group, group_sure, rows, &standard), multi)
}

fn page_finding(
    best: &Layout,
    pages: &[Layout],
    group: u64,
    group_sure: f64,
    rows: &[Row],
    standard: &Standard,
) -> Finding {
    let planes_sure = best.probability / group_sure;
    if best.planes == 2
        && best.plane_ns >= 3.0 * best.plane_error_ns
        && best.probability >= standard.sure
    {
        let reason = format!(
            "its two halves of a multi-plane page differ by {:.1} us, in the row of this size one way and in all above \
             the other",
            best.plane_ns / 1e3
        );
        return Finding::found(Name::Page, group / 2, best.probability.min(0.9999), reason);
    }
    if best.planes == 2 || planes_sure < standard.sure {
        let odds: f64 = pages.iter().filter(|l| l.planes == 2).map(|l| l.probability).sum();
        return Finding::unknown(
            Name::Page,
            format!(
                "it is {group} bytes on one plane, or half of it on two with probability {odds:.2}"
            ),
        );
    }
    let half_step = steps_below(rows, group);
    let even = if half_step { EVEN_PLANES.0 } else { EVEN_PLANES.1 };
    let low = if half_step { group / 2 } else { group };
    let confidence = (best.probability * (1.0 - even)).min(0.9999);
    let reason = if half_step {
        "it shows no second plane; a smaller step below it is one inside a page, unless planes cost the same"
    } else {
        "it shows no second plane"
    };
    Finding::found(Name::Page, group, confidence, reason).between(low, group)
}

/// True when the row right below the multi-plane page stands out from that below it.
fn steps_below(rows: &[Row], group: u64) -> bool {
    let row =
        |bytes: u64| rows.iter().find(|row| row.class.factor == 1 && row.align_bytes == bytes);
    let (Some(half), Some(quarter)) = (row(group / 2), row(group / 4)) else { return false };
    let step = half.diff.value_ns - quarter.diff.value_ns;
    step > 3.0 * half.diff.error_ns.hypot(quarter.diff.error_ns)
}
