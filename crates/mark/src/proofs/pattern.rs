//! *Pattern*: the addresses issued were the addresses meant, and not such that the drive's own cache
//! could answer them.

use block::{Bytes, Op};
use stats::{Proof, Verdict};
use workload::audit::{AuditSummary, uniform_unique};
use workload::plan::{Address, Phase};

use super::{Case, percent};

/// Most that the drive's cache may have been able to serve before the number is the cache's.
const CACHE_SHARE: f64 = 0.05;

/// A region of fewer caches than this may be served from what the runs before left in the cache.
const REGION_CACHES: u64 = 2;

/// DRAM of a disk that does not tell: the largest that common disks have.
const ASSUMED_DISK_CACHE: Bytes = Bytes::mib(256);

/// Share by which an estimated count of distinct blocks may be off.
const INEXACT: f64 = 0.01;

/// Standard deviations that the count of distinct random blocks may lie from its expectation.
const SIGMAS: f64 = 6.0;

pub(super) fn judge(case: &Case<'_>) -> Proof {
    let proof = addresses(case);
    if proof.verdict == Verdict::Refuted {
        return describe(case, proof);
    }
    describe(case, against_cache(case, proof))
}

/// True when every phase of the step that carries addresses draws them alike. There is one account of
/// addresses per step, and no pattern to hold it against when its phases have several.
fn of_one_kind(case: &Case<'_>) -> bool {
    let kind = |phase: &Phase| (phase.block, phase.address, phase.region);
    let mut phases = case.step.phases.iter().filter(|phase| phase.transfers());
    phases.all(|phase| kind(phase) == kind(case.phase))
}

/// Compares the distinct blocks of each run with what the pattern makes of that many I/Os.
fn addresses(case: &Case<'_>) -> Proof {
    let outside = case.runs().iter().any(|run| run.audit.outside_bytes > Bytes::ZERO);
    if !outside && !of_one_kind(case) {
        let reason = "the step's phases differ in address, size or region, and their addresses are counted together";
        return Proof::new(Verdict::Unprovable, reason);
    }
    if !outside && !case.phase.address.is_in_blocks(case.phase.block) {
        let reason = "offsets are no multiples of the block size, and what is counted are blocks";
        return Proof::new(Verdict::Unprovable, reason);
    }
    case.runs()
        .iter()
        .filter(|run| run.audit.accesses > 0)
        .find_map(|run| fault(case, &run.audit))
        .map_or_else(
            || {
                let what = match case.phase.address {
                    _ if is_mixed(case.phase) => {
                        let what = "nothing went outside the region; how often zones and sizes come is not held \
                                    against what is expected of them";
                        return Proof::new(Verdict::Unprovable, what);
                    }
                    Address::Sequential { .. } | Address::Onward { .. } => {
                        "each block was visited once per lap"
                    }
                    Address::Strided { .. } => "each place was visited once per lap",
                    Address::Aligned { .. } => "places were drawn uniformly over the whole region",
                    Address::Permutation { .. } => "each block was visited once per pass",
                    Address::Random | Address::Zoned { .. } => {
                        "blocks were drawn uniformly over the whole region"
                    }
                };
                Proof::new(Verdict::Proven, what)
            },
            |reason| Proof::new(Verdict::Refuted, reason),
        )
}

/// True when zones or sizes have shares of their own.
fn is_mixed(phase: &Phase) -> bool {
    matches!(phase.address, Address::Zoned { .. }) || !phase.blocks.is_empty()
}

/// What is wrong with the addresses of one run, if anything.
fn fault(case: &Case<'_>, audit: &AuditSummary) -> Option<String> {
    if audit.outside_bytes > Bytes::ZERO {
        return Some(format!("{} went outside the region", audit.outside_bytes));
    }
    if is_mixed(case.phase) {
        return None;
    }
    // A phase may keep to a part of the region that is accounted for.
    let slots = case.phase.region.map_or(audit.slots, |part| part.length.0 / case.phase.block.0);
    let length = case.phase.region.map_or(case.region.length, |part| part.length);
    let slots = case.phase.address.places(length, case.phase.block).unwrap_or(slots);
    let meant = match case.phase.address {
        Address::Strided { .. } => "one cursor makes",
        Address::Aligned { alike: true, .. } => "draws of each submitter's own make",
        _ => "the pattern makes",
    };
    let (expected, tolerance) = match case.phase.address {
        Address::Strided { .. } => (audit.accesses.min(slots) as f64, 1.0),
        Address::Sequential { .. } => laps(audit, slots, case.step.submitters),
        Address::Onward { .. } | Address::Permutation { .. } => laps(audit, slots, 1),
        Address::Random | Address::Aligned { .. } | Address::Zoned { .. } => {
            let (mean, deviation) = uniform_unique(slots, audit.accesses);
            (mean, SIGMAS * deviation + 1.0)
        }
    };
    let slack = if audit.exact { 0.0 } else { INEXACT * expected };
    let distinct = audit.blocks_touched as f64;
    if let Some(reason) = too_soon(case, audit, slots) {
        return Some(reason);
    }
    ((distinct - expected).abs() > tolerance + slack).then(|| {
        format!(
            "{} I/Os touched {distinct:.0} distinct blocks, and {meant} {expected:.0}",
            audit.accesses
        )
    })
}

/// Data that came again sooner than their pattern brings them, whose count says nothing once all blocks have been
/// visited.
fn too_soon(case: &Case<'_>, audit: &AuditSummary, places: u64) -> Option<String> {
    let block = case.phase.block.0;
    let (window, chance, meant) = match case.phase.address {
        Address::Strided { .. } => {
            (places.saturating_mul(block) / 2, 0.0, "one cursor goes around all places first")
        }
        Address::Aligned { .. } => {
            let queues = u64::from(case.step.submitters) * u64::from(case.phase.arrival.depth());
            let near = 2 * queues;
            let chance = 2.0 * near as f64 / places.max(1) as f64;
            (near.saturating_mul(block), chance, "draws of each submitter's own seldom meet")
        }
        _ => return None,
    };
    let share = audit.share_within(Bytes(window));
    (share > CACHE_SHARE + chance).then(|| {
        format!(
            "{} of the bytes were transferred again within {}, and {meant}",
            percent(share),
            Bytes(window)
        )
    })
}

/// Distinct blocks of a sequential run and their tolerance: as many as I/Os, until a submitter has gone
/// around its part. Submitters differ in speed, so one may go around while another has not; what
/// cannot be is that two submitters visit the same block.
fn laps(audit: &AuditSummary, slots: u64, submitters: u16) -> (f64, f64) {
    let expected = audit.accesses.min(slots) as f64;
    let lapped = audit.accesses as f64 * 2.0 > slots as f64 / f64::from(submitters);
    let uneven = submitters > 1 && lapped && audit.repeated_across_bytes == Bytes::ZERO;
    (expected, if uneven { expected } else { 1.0 })
}

/// Withdraws the number when the drive's cache could have served a good part of the reads.
fn against_cache(case: &Case<'_>, proof: Proof) -> Proof {
    if !case.does(Op::Read) {
        return proof;
    }
    let (cache, known) = match (case.info.cache_bytes, case.info.rotational) {
        (Some(cache), _) => (cache, true),
        (None, Some(true)) => (ASSUMED_DISK_CACHE, false),
        _ => return proof.with("drive_cache", "the drive does not tell its size"),
    };
    let share = case.runs().iter().map(|r| r.audit.share_within(cache)).fold(0.0, f64::max);
    let word = if known { "the drive's" } else { "a disk's usual" };
    let region = case.phase.region.map_or(case.region.length, |part| part.length);
    let small = region.0 < REGION_CACHES * cache.0;
    let proof = if share > CACHE_SHARE && known {
        let again = percent(share);
        let reason =
            format!("{again} of the reads returned to data that fits {word} cache of {cache}");
        Proof { verdict: Verdict::Refuted, reason, ..proof }
    } else if share > CACHE_SHARE || small {
        let reason = format!(
            "{word} cache of {cache} may hold much of the {region} that were read: take a larger --size"
        );
        Proof { verdict: Verdict::Unprovable, reason, ..proof }
    } else {
        proof
    };
    proof.with("drive_cache_bytes", cache.0).with("share_within_cache", share)
}

fn describe(case: &Case<'_>, proof: Proof) -> Proof {
    let total: Bytes = case.runs().iter().map(|r| r.audit.total_bytes).sum();
    let unique: Bytes = case.runs().iter().map(|r| r.audit.unique_bytes).sum();
    let coverage = case.runs().iter().map(|r| r.audit.coverage).fold(0.0, f64::max);
    proof
        .with("total_bytes", total.0)
        .with("unique_bytes_within_runs", unique.0)
        .with("coverage_max", coverage)
        .with("region_bytes", case.region.length.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cursor_goes_around_once() {
        let audit = |accesses| AuditSummary { accesses, ..AuditSummary::default() };
        assert_eq!(laps(&audit(10), 1024, 1), (10.0, 1.0));
        assert_eq!(laps(&audit(5000), 1024, 1), (1024.0, 1.0));
    }

    #[test]
    fn submitters_may_differ_in_speed_but_never_meet() {
        let mut audit = AuditSummary { accesses: 1000, ..AuditSummary::default() };
        assert_eq!(laps(&audit, 1024, 4), (1000.0, 1000.0));
        audit.repeated_across_bytes = Bytes::mib(1);
        assert_eq!(laps(&audit, 1024, 4), (1000.0, 1.0));
    }
}
