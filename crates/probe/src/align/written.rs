//! Pages, where writes have shown the erase block that reads did not.

use super::Evidence;
use super::row::Source;
use super::verdict;
use crate::finding::{Finding, Name, Verdict};

/// Judges pages once more by the rows in `evidence`, with an erase block of `block` bytes. Reads alone had left them open, because
/// without an erase block a step may be that of any other unit. Empty where another reason left them open too.
pub(crate) fn pages(evidence: &Evidence, findings: &[Finding], block: u64) -> Vec<Finding> {
    let is_page = |name: Name| matches!(name, Name::Page | Name::MultiPlanePage);
    let is_open =
        |finding: &Finding| finding.verdict == Verdict::Unknown && finding.one_of.is_empty();
    let pages = findings.iter().filter(|finding| is_page(finding.name));
    if evidence.conditions.serves_at_once() || !pages.clone().all(is_open) {
        return Vec::new();
    }
    let spoke = |one: &&super::BlockEvidence| Some(one.block_bytes) == evidence.spoke_bytes;
    let Some(rows) = evidence.blocks.iter().find(spoke).map(|one| &one.rows) else {
        return Vec::new();
    };
    let judged = verdict::infer(rows, Source::Measured, Some(block)).findings;
    judged.into_iter().filter(|finding| is_page(finding.name)).collect()
}
