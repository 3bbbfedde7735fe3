//! *Pattern*: the addresses issued were the addresses meant, and not such that the drive's own cache
//! could answer them.

use block::{Bytes, Op, WriteCache};
use stats::{Evidence, Proof, Verdict, paired_ratio};
use workload::audit::{AuditSummary, uniform_unique};
use workload::plan::{Address, Phase};

use super::{Case, percent};
use crate::body::CONFIDENCE;
use crate::cache::{ASSUMED, Answer, Found, REGION_CACHES, SHARE};
use crate::run::RunFigures;

/// Share by which an estimated count of distinct blocks may be off.
const INEXACT: f64 = 0.01;

/// Evidence that a volatile cache took the writes, and the caveat of that.
pub(crate) const TAKEN_BY_CACHE: &str = "taken_by_cache";

/// Ratio of the rate without the flush to that with it, above which the number is not the medium's.
const TWICE: f64 = 2.0;

/// Standard deviations that the count of distinct random blocks may lie from its expectation.
const SIGMAS: f64 = 6.0;

/// Blocks by which it may lie farther: where few repeats are expected, their count is Poisson's, whose tail is longer. With
/// both, chance goes beyond less than once in 10^7, however many are expected.
const REPEATS: f64 = 4.0;

pub(super) fn judge(case: &Case<'_>) -> Proof {
    let proof = addresses(case);
    if proof.verdict == Verdict::Refuted {
        return describe(case, proof);
    }
    describe(case, against_write_cache(case, against_cache(case, proof)))
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
                        let what = "nothing went outside the region; how often zones and sizes come is not \
                                    compared with the plan";
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

/// Fault in the addresses of one run, if any.
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
            (mean, SIGMAS * deviation + REPEATS)
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
    (share > SHARE + chance).then(|| {
        format!(
            "{} of the bytes were transferred again within {}, and {meant}",
            percent(share),
            Bytes(window).human()
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
    let seen = case.cache.map(|found| evidence_of(case, found));
    let told = case.info.cache_bytes.map(|cache| Limits::told(cache, "the drive's cache"));
    let usual = || (case.info.rotational == Some(true)).then(Limits::usual);
    let asked = case.cache.and_then(|found| Limits::asked(case, found));
    let none = case.cache.is_some_and(|found| found.answer == Answer::NoneSeen);
    let limits = told.or(asked).or_else(|| usual().filter(|_| !none));
    let proof = match limits {
        Some(limits) => limits.judge(case, proof),
        None if none => proof,
        None => proof.with("drive_cache", "the drive does not report its size"),
    };
    match seen {
        Some(evidence) => {
            evidence.into_iter().fold(proof, |proof, (name, value)| proof.with(name, value))
        }
        None => proof,
    }
}

/// Amounts of data that the drive's cache may have served.
struct Limits {
    /// Data that came again within this many bytes were served by it.
    surely: Option<Bytes>,
    /// Data that came again later than this were not.
    maybe: Bytes,
    /// Bytes of what the runs before read that may still be in it.
    held: Bytes,
    /// The cache, in words.
    word: &'static str,
}

impl Limits {
    fn told(cache: Bytes, word: &'static str) -> Limits {
        Limits { surely: Some(cache), maybe: cache, held: cache, word }
    }

    /// Of a disk that does not report its cache: each has one.
    fn usual() -> Limits {
        Limits { surely: None, maybe: ASSUMED, held: ASSUMED, word: "a disk's usual cache" }
    }

    /// Limits by the cache probe; `None` unless it saw a cache.
    fn asked(case: &Case<'_>, found: &Found) -> Option<Limits> {
        if found.answer != Answer::Seen {
            return None;
        }
        let held = found.held(case.phase);
        // Each submitter reads a run of its own, and one run alone was tried.
        let runs = u64::from(case.step.submitters);
        let maybe = held.not_served_bytes.map(|bytes| Bytes(bytes.0.saturating_mul(runs)));
        Some(Limits {
            surely: held.served_bytes,
            maybe: maybe.unwrap_or(ASSUMED),
            held: found.beyond().unwrap_or(ASSUMED),
            word: "the drive's cache, as reading again shows it,",
        })
    }

    fn judge(&self, case: &Case<'_>, proof: Proof) -> Proof {
        let most = |cache: Bytes| {
            case.runs().iter().map(|r| r.audit.share_within(cache)).fold(0.0, f64::max)
        };
        let region = case.phase.region.map_or(case.region.length, |part| part.length);
        let is_small = region.0 < REGION_CACHES * self.held.0;
        let word = self.word;
        let surely =
            self.surely.map(|cache| (cache, most(cache))).filter(|(_, share)| *share > SHARE);
        let proof = if let Some((cache, share)) = surely {
            let again = percent(share);
            let reason = format!(
                "{again} of the reads returned to data that fits {word} of {}",
                cache.human()
            );
            Proof { verdict: Verdict::Refuted, reason, ..proof }
        } else if most(self.maybe) > SHARE || is_small {
            let reason = format!(
                "{word} of {} may hold much of the {} that were read: take a larger --size",
                self.maybe.max(self.held).human(),
                region.human()
            );
            Proof { verdict: Verdict::Unprovable, reason, ..proof }
        } else {
            proof
        };
        proof.with("drive_cache_bytes", self.maybe.0).with("share_within_cache", most(self.maybe))
    }
}

/// Evidence of the cache probe for data that are read as this test reads them.
fn evidence_of(case: &Case<'_>, found: &Found) -> Vec<(&'static str, Evidence)> {
    let held = found.held(case.phase);
    let bytes = |name, bytes: Option<Bytes>| bytes.map(|bytes| (name, bytes.0.into()));
    let answer = Some(("cache_probe", found.answer.word().into()));
    let all = [
        answer,
        bytes("cache_probe_served_bytes", held.served_bytes),
        bytes("cache_probe_not_served_bytes", held.not_served_bytes),
    ];
    all.into_iter().flatten().collect()
}

/// Doubts the number of writes that the drive's volatile cache took, and that were not on the medium until long after: with
/// the flush that ends each run, they took more than twice as long as the number says. Where the drive reports the size of
/// its cache and a run wrote more, most of them were on the medium, whatever made the flush long. It is doubted and not
/// withdrawn, since it is what the drive does with a burst, and is shown as that.
fn against_write_cache(case: &Case<'_>, proof: Proof) -> Proof {
    let writes_only = case.phase.ops.iter().all(|share| share.op == Op::Write);
    let durable = case.phase.ops.iter().all(|share| share.fua);
    let is_flush = |phase: &Phase| phase.ops.iter().all(|share| share.op == Op::Flush);
    let is_volatile = case.info.write_cache == Some(WriteCache::WriteBack);
    if !writes_only || durable || !is_volatile {
        return proof;
    }
    let most = case.runs().iter().map(|run| run.totals.written).fold(Bytes::ZERO, Bytes::max);
    let proof = proof.with("written_bytes_run_max", most.0);
    let proof = match case.info.cache_bytes {
        Some(cache) => proof.with("write_cache_bytes", cache.0),
        None => proof,
    };
    if !case.step.phases.last().is_some_and(is_flush) {
        return proof.with("flushed", false);
    }
    let flushed =
        |run: &RunFigures| run.totals.written.0 as f64 * 1e3 / run.elapsed_ns.max(1) as f64;
    let rates: Vec<f64> = case.runs().iter().map(flushed).collect();
    let Some(ratio) = paired_ratio(&case.rates(), &rates, CONFIDENCE).map(|r| r.hodges_lehmann)
    else {
        return proof;
    };
    let proof = proof.with("rate_per_flushed_rate", ratio.ratio);
    let fits = case.info.cache_bytes.is_none_or(|cache| most <= cache);
    let Some(least) =
        ratio.low.filter(|low| *low > TWICE && fits && proof.verdict != Verdict::Refuted)
    else {
        return proof;
    };
    let reason = format!(
        "with the flush after them the writes took at least {least:.1} times as long: the drive's volatile cache took what \
         was measured, up to {most} a run"
    );
    Proof { verdict: Verdict::Unprovable, reason, ..proof }.with(TAKEN_BY_CACHE, true)
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

    // Breaks when a correct run of few accesses is refuted by chance: 87 reads of a gibibyte touched 85 blocks.
    #[test]
    fn chance_does_not_refute_random_addresses() {
        let accesses = 1000;
        for repeats in [0.003, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0] {
            let slots = (accesses as f64).powi(2) / 2.0 / repeats;
            let (mean, deviation) = uniform_unique(slots as u64, accesses);
            let most = accesses as f64 - mean + SIGMAS * deviation + REPEATS;
            // Chance of more repeats than that.
            let (mut term, mut within) = ((-repeats).exp(), 0.0);
            for count in 0..=most as u64 {
                within += term;
                term *= repeats / (count + 1) as f64;
            }
            assert!(1.0 - within < 1e-7, "{repeats}: {}", 1.0 - within);
        }
    }
}
