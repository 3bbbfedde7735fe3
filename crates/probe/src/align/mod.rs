//! Finds boundaries: erase block, page and multi-plane page, from the cost of reading across them.
//!
//! Three reads test a boundary: of the block that ends at it, of the block that lies half on either side, and of
//! the block that begins at it. The cost of crossing is the time of the second beyond the others, and depends on
//! what the boundary is a multiple of. So boundaries are grouped into classes by the powers that they are multiples
//! of ([`Class`]), each class at places all over the drive, and the answer is the size from which on crossing costs
//! more ([`infer`]). For the assumptions about noise see docs/method/probe-align.md.

mod class;
mod doubt;
mod erase;
mod estimate;
mod family;
mod groups;
mod model;
mod next;
mod options;
mod page;
mod place;
mod row;
mod sampler;
mod survey;
mod sweep;
mod verdict;

use block::{Bytes, DriveInfo, DriveKind, Nanos};
use serde::{Deserialize, Serialize};
use stats::remedy::Run;
use stats::{Caveat, Remedy};

pub use self::class::Class;
pub use self::erase::{Candidate, Hypothesis};
pub use self::estimate::Estimate;
pub use self::options::Options;
pub use self::page::Layout;
pub use self::row::{Row, Source};
pub use self::survey::Conditions;
pub use self::sweep::BlockEvidence;
pub use self::verdict::{Judgement, infer};
use crate::desk::{Desk, Halt};
use crate::finding::{Finding, Name, Outcome, Verdict};
use crate::known::Known;

/// Evidence for the answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Conditions found before the boundaries were tested.
    pub conditions: Conditions,
    /// By block size, in ascending order.
    pub blocks: Vec<BlockEvidence>,
    /// The block size that the answers are of; null when nothing could be judged.
    pub spoke_bytes: Option<Bytes>,
}

/// Reads before, across and after boundaries of all classes and all over the drive, with blocks of several sizes,
/// until the answers are decided or time is over. Nothing is written. Answers are about [`Name::EraseBlock`],
/// [`Name::Page`] and [`Name::MultiPlanePage`], in this order.
///
/// # Errors
/// Any [`Halt`] except a limit.
pub fn probe(
    desk: &mut Desk<'_>,
    known: &Known,
    options: &Options,
) -> Result<Outcome<Evidence>, Halt> {
    // Single boundaries are asked about when rows have had their time.
    let both = Nanos(options.time.0 + options.time.0 / 2);
    desk.within(both, |desk| ask(desk, known, options))
}

fn ask(desk: &mut Desk<'_>, known: &Known, options: &Options) -> Result<Outcome<Evidence>, Halt> {
    let region = desk.region();
    let range = (region.offset.0, region.offset.0 + region.length.0);
    let least = 2 * desk.info().logical_block_bytes.0;
    let fits = |block: &u64| {
        block.is_power_of_two() && *block >= least && range.1 - range.0 >= 1024 * block
    };
    let mut blocks: Vec<u64> = options.blocks.iter().copied().filter(fits).collect();
    let Some(&smallest) = blocks.iter().min() else {
        return Ok(unknown(
            "the drive is too small for blocks of two logical blocks",
            Evidence::default(),
        ));
    };
    blocks.sort_by_key(|block| *block != smallest);
    let conditions = survey::survey(desk, range, smallest)?;
    if conditions.seeks() {
        let reason =
            "times depend on how far a place is from the one before, as on a disk whose heads move";
        let seen = unknown(reason, Evidence { conditions, ..Evidence::default() });
        let caveats = caveats(&seen.findings, &seen.evidence.conditions, range, desk.info());
        return Ok(Outcome { caveats, ..seen });
    }
    let ground = conditions.ground(range);
    let sweep = sweep::Sweep::new(&blocks, &ground, known.given(Name::EraseBlock), options);
    let (mut findings, blocks, spoke) = sweep.run(desk)?;
    if conditions.serves_at_once() {
        let reason = "two reads are served at once: a step may be that of a stripe over dies or of a map of pages, as \
                      on drives that are not cards";
        let found = |finding: &Finding| {
            finding.verdict == Verdict::Found && known.given(finding.name).is_none()
                || !finding.one_of.is_empty()
        };
        for finding in findings.iter_mut().filter(|finding| found(finding)) {
            *finding = Finding::unknown(finding.name, reason);
        }
    }
    let evidence = Evidence { conditions, blocks, spoke_bytes: Some(Bytes(spoke)) };
    let caveats = caveats(&findings, &evidence.conditions, range, desk.info());
    Ok(Outcome { findings, evidence, caveats })
}

/// Nothing is known, and why.
fn unknown(reason: &str, evidence: Evidence) -> Outcome<Evidence> {
    let names = [Name::EraseBlock, Name::Page, Name::MultiPlanePage];
    let findings = names.map(|name| Finding::unknown(name, reason)).to_vec();
    Outcome { findings, evidence, caveats: Vec::new() }
}

/// How to write all of a drive, for boundaries that are to be seen.
fn written_once(info: &DriveInfo, or_data_sheet: bool) -> Remedy {
    match info.kind {
        DriveKind::Virtual => Remedy::FilledState { or_data_sheet },
        _ => {
            let (drive, bytes) = (info.name.clone(), info.capacity_bytes.0);
            Remedy::WriteDriveOnce { drive, bytes, or_data_sheet }
        }
    }
}

fn caveats(
    findings: &[Finding],
    conditions: &Conditions,
    (from, to): (u64, u64),
    info: &DriveInfo,
) -> Vec<Caveat> {
    let caveat =
        |code: &str, cause: String, remedy: Remedy| Caveat::new(code, "align", cause, remedy);
    let mut caveats = Vec::new();
    let empty: u64 = conditions.never_written.iter().map(|(from, to)| to - from).sum();
    let is_virtual = info.kind == DriveKind::Virtual;
    // Of virtual drives cards alone know what they hold, and they report no cache; all others read as zeros.
    let is_blank = conditions.is_blank() && (!is_virtual || info.cache_bytes.is_none());
    let is_none = findings.iter().any(|finding| finding.verdict == Verdict::None);
    let is_found = findings.first().is_some_and(|finding| finding.verdict == Verdict::Found);
    if empty > 0 {
        let percent = 100 * empty / (to - from).max(1);
        caveats.push(caveat(
            "never_written",
            format!("{percent}% of the region answer much faster, as what was never written does, and were left out"),
            written_once(info, false),
        ));
    } else if is_blank && !is_found && !is_none {
        let percent = 100.0 * conditions.blank.unwrap_or_default();
        caveats.push(caveat(
            "never_written",
            format!(
                "{percent:.0}% of the places read hold zeros or ones alone, at {:.0} µs a read: what was never written, was \
                 discarded or only formatted is answered without the medium, and shows no boundaries",
                conditions.read_ns / 1e3
            ),
            written_once(info, false),
        ));
    }
    if is_none {
        let cause = match is_blank {
            true => {
                "all or most of what was read is zeros or ones: a drive that was never written or was discarded shows \
                     no boundaries, and its erase blocks have a size all the same"
            }
            false => {
                "a drive that was never written shows no boundaries either, and its erase blocks have a size all the \
                      same"
            }
        };
        let remedy = match is_virtual && !is_blank {
            true => Run::WriteOnceOrDataSheet.into(),
            false => written_once(info, true),
        };
        caveats.push(caveat("nothing_shows", cause.to_owned(), remedy));
    }
    if conditions.has_read_cache() {
        caveats.push(caveat(
            "read_cache",
            "what was read is answered from memory when it is read again, so no two reads overlap, and errors are wider"
                .to_owned(),
            Run::Nothing.into(),
        ));
    }
    caveats
}
