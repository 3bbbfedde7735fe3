//! *Undisturbed*: nothing else was using the drive; no thermal throttling, no CPU steal, no error, no link that changed its
//! speed.

use block::{Bytes, Op};
use stats::{Proof, Verdict};

use super::{Case, degraded, device_bytes, growth, percent};

/// Foreign bytes per byte of ours that do not matter.
const FOREIGN: f64 = 0.05;
/// Share of the CPUs' time that a hypervisor may take.
const STEAL: f64 = 0.02;
/// Bytes that every system writes now and then, whatever is measured.
const FOREIGN_FLOOR: Bytes = Bytes::mib(1);

/// The run in which an I/O failed is not counted, but the drive that failed in it made the counted ones.
pub(super) fn by_failure(case: &Case<'_>) -> Option<Proof> {
    let (first, others) = case.failed.split_first()?;
    let mut reason = format!("in run {} the {}", first.run, first.failure);
    match others.len() {
        0 => {}
        1 => reason.push_str(", and one in another run"),
        n => reason.push_str(&format!(", and one each in {n} other runs")),
    }
    Some(Proof::new(Verdict::Refuted, reason).with("errors", case.failed.len() as u64))
}

pub(super) fn judge(case: &Case<'_>) -> Proof {
    if let Some(refuted) = by_failure(case) {
        return refuted;
    }
    let foreign = foreign(case);
    let steal = steal(case);
    let throttled = growth(case, |s| s.throttle_events);
    let hot = case.runs().iter().filter_map(|r| r.after.temperature_c).fold(f64::NAN, f64::max);
    let verdict = match (foreign, steal, throttled) {
        (_, _, Some(events)) if events > 0 => Proof::new(
            Verdict::Refuted,
            format!(
                "the drive or the CPU was throttled by heat, or warned of it, {}",
                if events == 1 { "once".to_owned() } else { format!("{events} times") }
            ),
        ),
        (Some((bytes, share)), _, _) if share > FOREIGN && bytes > FOREIGN_FLOOR => Proof::new(
            Verdict::Refuted,
            format!("others moved {} of this test's bytes on the same device", percent(share)),
        ),
        (_, Some(share), _) if share > STEAL => Proof::new(
            Verdict::Refuted,
            format!("the hypervisor took {} of the CPUs' time", percent(share)),
        ),
        (None, _, _) => {
            Proof::new(Verdict::Unprovable, "no counter shows whether others used the device")
        }
        (Some((_, share)), _, _) => Proof::new(
            Verdict::Proven,
            format!(
                "others moved {} of this test's bytes, no throttling, no error",
                percent(share)
            ),
        ),
    };
    let media_errors = growth(case, |s| s.media_errors);
    let verdict = match syncing(case).or_else(|| link(case)).or_else(|| media(media_errors)) {
        Some(reason) => Proof::new(Verdict::Refuted, reason),
        None => verdict,
    };
    let mut proof = verdict.with("errors", 0u64);
    if let Some(count) = media_errors {
        proof = proof.with("media_errors", count);
    }
    if let Some((bytes, share)) = foreign {
        proof = proof.with("foreign_bytes", bytes.0).with("foreign_share", share);
    }
    let missing: u64 = degraded(case).values().sum();
    if missing > 0 {
        proof = proof.with("array_members_missing", missing);
    }
    if let Some(share) = steal {
        proof = proof.with("steal_share", share);
    }
    if let Some(events) = throttled {
        proof = proof.with("throttle_events", events);
    }
    if hot.is_finite() {
        proof = proof.with("temperature_c_max", hot);
    }
    proof
}

/// Bytes on the leaf devices beyond ours, and their share of ours.
///
/// A test that writes makes its filesystem write journal and metadata, and mirrors double it, so
/// device writes beyond ours are foreign only in a test that does not write at all. On some stacks
/// writing reads as well: parity, copies of what shares a block, maps.
fn foreign(case: &Case<'_>) -> Option<(Bytes, f64)> {
    let writes = case.does(Op::Write);
    let counted = [(Op::Read, !writes || !reads_to_write(case)), (Op::Write, !writes)];
    let mut foreign = Bytes::ZERO;
    let mut ours = Bytes::ZERO;
    for run in case.runs() {
        for (op, counts) in counted {
            let before = device_bytes(case, &run.before, op)?;
            let moved = device_bytes(case, &run.after, op)?.saturating_sub(before);
            ours += run.moved(op);
            if counts {
                foreign += moved.saturating_sub(run.moved(op));
            }
        }
    }
    Some((foreign, foreign.0 as f64 / ours.0.max(1) as f64))
}

/// True on stacks that read in order to write.
fn reads_to_write(case: &Case<'_>) -> bool {
    const KINDS: [&str; 6] = ["md", "dm", "bcache", "btrfs", "zfs", "bcachefs"];
    case.stack.layers.iter().any(|layer| KINDS.contains(&layer.kind.as_str()))
}

/// An array that reads and writes its members on its own account. Its writes would pass for ours in a test that
/// writes, so it is asked what it does.
fn syncing(case: &Case<'_>) -> Option<String> {
    let mut arrays = case.runs().iter().flat_map(|r| r.before.arrays.iter().chain(&r.after.arrays));
    let (name, action) = arrays.find_map(|a| Some((&a.name, a.sync_action.as_ref()?)))?;
    Some(format!("{name} was busy with its members on its own account ({action})"))
}

/// A link that ran at another speed after a run than before it: what was measured is of neither.
fn link(case: &Case<'_>) -> Option<String> {
    let mut changed = case.runs().iter().flat_map(|run| run.after.changed_links(&run.before));
    let (then, now) = changed.next()?;
    Some(format!("{}'s link went from {} to {} in a run", now.leaf, then.speed, now.speed))
}

/// Media errors during the runs, in our reads or while the drive moved data: it retries, which takes time.
fn media(errors: Option<u64>) -> Option<String> {
    let count = errors.filter(|count| *count > 0)?;
    let plural = if count == 1 { "" } else { "s" };
    Some(format!("the drive counted {count} media error{plural} during the runs"))
}

fn steal(case: &Case<'_>) -> Option<f64> {
    let stolen = growth(case, |s| s.steal_ns.map(|n| n.0))?;
    let elapsed: u64 = case.runs().iter().map(|r| r.elapsed_ns).sum();
    (elapsed > 0).then(|| stolen as f64 / elapsed as f64 / case.cpus.max(1) as f64)
}
