//! *Reached*: the bytes were served by the device, not by a cache above it.

use block::{ArcCounters, Bytes, DriveKind, Layer, Medium, Op, TaskIo};
use stats::{Proof, Verdict};

use super::expected::Expected;
use super::ratios::{CACHED_SHARE, RATIO, TASK_MIN, UNWRITTEN_SHARE, between, through_cache};
use super::{Case, below, degraded, device_bytes, events, growth, percent};

/// Bytes of metadata, per byte issued, that a write of a filesystem that copies on write may be charged besides.
const TREES: f64 = 1.0;

pub(super) fn judge(case: &Case<'_>) -> Proof {
    if let Some(refuted) = by_construction(case) {
        return with_arc(case, refuted);
    }
    let mut proofs = [Op::Read, Op::Write]
        .into_iter()
        .filter(|op| case.does(*op))
        .map(|op| by_counters(case, op));
    let first = proofs.next().unwrap_or_else(|| {
        Proof::new(Verdict::Unprovable, "nothing was transferred that a device could count")
    });
    with_arc(case, proofs.fold(first, worse))
}

/// Adds what ZFS's own cache counted.
fn with_arc(case: &Case<'_>, proof: Proof) -> Proof {
    match arc(case) {
        Some((looked_up, fetched)) => {
            proof.with("arc_data_lookups", looked_up).with("arc_data_fetched", fetched)
        }
        None => proof,
    }
}

/// Of two directions of one test, the one that proves less counts; evidence of both is kept.
fn worse(a: Proof, b: Proof) -> Proof {
    let rank = |p: &Proof| match p.verdict {
        Verdict::Refuted => 0,
        Verdict::Unprovable => 1,
        Verdict::Proven => 2,
    };
    let (mut stands, other) = if rank(&b) < rank(&a) { (b, a) } else { (a, b) };
    stands.evidence.extend(other.evidence);
    stands
}

/// Refutes *reached* by the stack and the file's layout alone, before any counter is examined.
pub(super) fn by_construction(case: &Case<'_>) -> Option<Proof> {
    if case.info.kind == DriveKind::Null {
        let reason = "null: transfers nothing: this is what the tester itself can do";
        return Some(Proof::new(Verdict::Refuted, reason));
    }
    if let Some(leaf) = case.stack.leaves.iter().find(|l| l.medium == Medium::Ram) {
        let reason = format!(
            "{} keeps its data in this machine's memory: there is no device to reach",
            leaf.name
        );
        return Some(Proof::new(Verdict::Refuted, reason).with("leaf", leaf.name.as_str()));
    }
    // Nothing counts what ZFS reads from its members. For other caches the leaves show what came past them.
    let zfs = below::page_cache(case).filter(|(layer, _)| layer.kind == "zfs");
    if let Some((_, cache)) = zfs.filter(|_| !is_fetched(case)) {
        return Some(Proof::new(Verdict::Refuted, between(cache)).with("page_cache", cache));
    }
    let extents = case.extents.filter(|e| case.does(Op::Read) && e.unknown.is_none())?;
    let unread = extents.unwritten_bytes + extents.hole_bytes;
    let share = unread.0 as f64 / (extents.file_bytes.0.max(1)) as f64;
    (share > UNWRITTEN_SHARE).then(|| {
        let reason = format!(
            "{} of the file was never written (sparse or preallocated): reads of it return zeros without the device",
            percent(share)
        );
        Proof::new(Verdict::Refuted, reason)
            .with("unwritten_bytes", extents.unwritten_bytes.0)
            .with("hole_bytes", extents.hole_bytes.0)
            .with("file_bytes", extents.file_bytes.0)
    })
}

/// A layer above the leaf keeps what passes through it. Too little at the leaf was served by it; enough of it may have
/// crossed at another time than the test waited for.
fn by_cache(case: &Case<'_>, op: Op, device: f64, (layer, cache): (&Layer, &str)) -> Proof {
    let reason = between(cache);
    let proof = if device < *RATIO.start() {
        let missing = percent(1.0 - device);
        let verb = if op == Op::Read { "read" } else { "written" };
        let reason =
            format!("{reason}; {missing} of the bytes {verb} did not cross into the device");
        Proof::new(Verdict::Refuted, reason)
    } else if let Some(file) = below::resident(case, layer).filter(|_| op == Op::Read) {
        let reason = format!("{reason}; it held all of {file} before the test began");
        Proof::new(Verdict::Refuted, reason)
    } else {
        let reason = format!(
            "{reason}; the devices counted {device:.2} bytes for each byte, and whether each was waited for is not known"
        );
        Proof::new(Verdict::Unprovable, reason)
    };
    proof.with("page_cache", cache)
}

/// The verdict of the counters, weakened by a layer that may answer by itself.
fn doubted(proof: Proof, op: Op, device: f64, doubt: Option<below::Doubt>) -> Proof {
    let Some(doubt) = doubt else { return proof };
    let is_short = device < *RATIO.start();
    let proof = match proof.verdict {
        Verdict::Unprovable if is_short && doubt.answers => {
            let missing = percent(1.0 - device);
            let verb = if op == Op::Read { "read" } else { "written" };
            let reason = format!(
                "{missing} of the bytes {verb} never crossed into the device: {}",
                doubt.reason
            );
            Proof::new(Verdict::Refuted, reason)
        }
        Verdict::Proven => Proof::new(doubt.verdict(), doubt.reason),
        Verdict::Unprovable if doubt.answers_all => Proof::new(Verdict::Refuted, doubt.reason),
        _ => proof,
    };
    match doubt.lacking {
        Some((file, bytes)) => proof.with("below_file", file).with("below_lacking_bytes", bytes),
        None => proof,
    }
}

/// Lookups of data in ZFS's own cache in all counted runs, and what was fetched for them: when they were made, or before,
/// because ZFS foresaw them. `None` where ZFS does not report it.
fn arc(case: &Case<'_>) -> Option<(u64, u64)> {
    let of = |count: fn(&ArcCounters) -> u64| growth(case, |s| s.arc.as_ref().map(count));
    let missed = of(|arc| arc.demand_data_misses)?;
    Some((of(|arc| arc.demand_data_hits)? + missed, missed + of(|arc| arc.prefetch_data_misses)?))
}

/// True of a test of reads when ZFS fetched nearly everything that was looked up, as it does in a dataset that keeps only
/// metadata in its cache. The counters are of all programs, so that proves nothing; but the cache alone refutes nothing then.
fn is_fetched(case: &Case<'_>) -> bool {
    let fetched = |(looked_up, fetched): (u64, u64)| {
        looked_up > 0 && fetched as f64 >= (1.0 - CACHED_SHARE) * looked_up as f64
    };
    !case.does(Op::Write) && arc(case).is_some_and(fetched)
}

/// Bytes issued against bytes counted by the leaf devices and by the kernel for this process, and against its events.
fn by_counters(case: &Case<'_>, op: Op) -> Proof {
    let issued = case.moved(op);
    let device = growth(case, |s| device_bytes(case, s, op).map(|b| b.0)).map(Bytes);
    let task = growth(case, |s| s.task.map(|t| task_bytes(t, op).0)).map(Bytes);
    let ratio = |bytes: Option<Bytes>| bytes.map(|b| b.0 as f64 / issued.0.max(1) as f64);
    let charged = ratio(task).map(|r| without_metadata(case, op, uncounted_twice(case, op, r)));
    let proof = by_sums(case, op, issued, ratio(device), (ratio(task), charged));
    let expected = expected(case, op);
    let proof = events::settle(case, op, issued, proof, charged, (expected.low, expected.high));
    evidence(case, proof, op, issued, device, task)
}

/// The verdict of what the devices counted for each byte, and of what was charged for it: as it is, and counted once.
fn by_sums(
    case: &Case<'_>,
    op: Op,
    issued: Bytes,
    device: Option<f64>,
    (task, charged): (Option<f64>, Option<f64>),
) -> Proof {
    let verb = if op == Op::Read { "read" } else { "written" };
    if issued == Bytes::ZERO {
        let reason = format!("nothing was {verb} in the counted runs");
        return Proof::new(Verdict::Unprovable, reason);
    }
    let Some(device) = device else { return without_device(case, task) };
    if let Some(cache) = below::page_cache(case).filter(|(l, _)| l.kind != "zfs") {
        return by_cache(case, op, device, cache);
    }
    if let Some(packed) = packed(case, op).filter(|_| device < *RATIO.start()) {
        return packed;
    }
    let proof = by_ratios(op, device, charged, &expected(case, op));
    let proof = doubted(proof, op, device, below::doubt(case, op));
    match through_cache(case, op, issued) {
        Some(reason) if proof.verdict == Verdict::Proven => Proof::new(Verdict::Unprovable, reason),
        _ => proof,
    }
}

/// Judges the bytes that the device counted per byte issued, and those that the kernel charged to this process, if it did.
///
/// The device counts the I/O of all processes, so its count alone can only refute: reads of another process may replace ours
/// that a cache served.
fn by_ratios(op: Op, device: f64, task: Option<f64>, expected: &Expected) -> Proof {
    let verb = if op == Op::Read { "read" } else { "written" };
    let charged = task.unwrap_or(1.0);
    let least = if op == Op::Read { *RATIO.start() } else { TASK_MIN };
    let ours = task.is_some_and(|task| RATIO.contains(&task));
    let counted = format!("the devices counted {device:.3} bytes for each byte {verb}");
    let (verdict, reason) = if device < *RATIO.start() && ours {
        let reason = format!(
            "the kernel charged this process one block-layer byte for each byte issued, and the device counted {device:.2}: the counters contradict each other"
        );
        (Verdict::Unprovable, reason)
    } else if device < *RATIO.start() {
        let missing = percent(1.0 - device);
        let reason = format!(
            "{missing} of the bytes {verb} never crossed into the device: a cache above it served them"
        );
        (Verdict::Refuted, reason)
    } else if op == Op::Read && charged < TASK_MIN {
        let missing = percent(1.0 - charged);
        let reason = format!(
            "{missing} of the bytes read were not fetched for this process: a cache served them, and what the device counted was for others"
        );
        (Verdict::Refuted, reason)
    } else if charged < least {
        let reason = format!(
            "the device counted {device:.2} bytes for each byte issued, but the kernel charged this process {charged:.2}: foreign I/O may stand in for what a cache served"
        );
        (Verdict::Unprovable, reason)
    } else if device < *RATIO.start() * expected.low {
        let reason = format!(
            "{counted}, and {} makes {} of each: a cache above them may have kept some, or not all copies were written",
            expected.why.as_deref().unwrap_or("the stack"),
            expected.words()
        );
        (Verdict::Unprovable, reason)
    } else if device <= *RATIO.end() * expected.high {
        let reason = match expected.why.as_deref() {
            Some(why) => format!("{counted}, as {why} makes {} of each", expected.words()),
            None => format!("the device counted {device:.3} bytes for each byte issued"),
        };
        (Verdict::Proven, reason)
    } else if ours {
        let reason = format!(
            "the kernel charged this process one block-layer byte for each byte issued; the device counted {device:.2}, so others used it, or copies and metadata were written too"
        );
        (Verdict::Proven, reason)
    } else {
        let reason = format!(
            "the device counted {device:.2} bytes for each byte issued: foreign I/O hides what was ours"
        );
        (Verdict::Unprovable, reason)
    };
    Proof::new(verdict, reason)
}

/// Expected amplification by the layers of the stack, with the members that its arrays lacked in the counted runs.
fn expected(case: &Case<'_>, op: Op) -> Expected {
    let degraded = degraded(case);
    Expected::of(case.stack, op, &|name| degraded.get(name).copied().unwrap_or(0))
}

/// The charge per byte issued, where the same byte is charged more than once: a loop device does so again for what
/// lies under it, so that one loop with direct I/O makes it 2.0; and what could not be split or queued without waiting
/// is handed in again. A share served by a cache stays visible, as what lies between whole multiples is left as it is.
fn uncounted_twice(case: &Case<'_>, op: Op, ratio: f64) -> f64 {
    let loops = case.stack.layers.iter().filter(|l| l.kind == "loop").count();
    let again = usize::from(handed_in_again(case, op));
    let multiples = (1..=loops + 1 + again).map(|n| ratio / n as f64);
    multiples.rev().find(|r| RATIO.contains(r)).unwrap_or(ratio)
}

/// The charge without what a filesystem that copies on write adds for us: with the data it moves its trees, and it
/// does so in the process that wrote.
fn without_metadata(case: &Case<'_>, op: Op, ratio: f64) -> f64 {
    let copies = case.stack.layers.iter().any(|l| l.kind == "btrfs" || l.kind == "bcachefs");
    let some = op == Op::Write && copies && ratio <= *RATIO.end() + TREES;
    if some { ratio.min(*RATIO.end()) } else { ratio }
}

/// True where the kernel may hand in a request twice and charge it twice: io_uring asks for I/O that does not wait,
/// and gets a request back that has to be split. So it is with block devices (since 6.2, and 5.15 and 6.1 as they are
/// kept up; `block/fops.c`), and with writes of the filesystems that use `fs/direct-io.c`.
fn handed_in_again(case: &Case<'_>, op: Op) -> bool {
    const FILESYSTEMS: [&str; 12] = [
        "affs", "exfat", "ext2", "hfs", "hfsplus", "jfs", "nilfs2", "ntfs3", "ocfs2", "reiserfs",
        "udf", "vfat",
    ];
    let kind = |layer: &Layer| FILESYSTEMS.contains(&layer.kind.as_str());
    case.info.kind == DriveKind::BlockDevice
        || op == Op::Write && case.stack.layers.iter().any(kind)
}

/// A file that is stored compressed or encrypted: what is read of it is unpacked by this machine,
/// and kept in its page cache.
fn packed(case: &Case<'_>, op: Op) -> Option<Proof> {
    let extents = case.extents.filter(|e| op == Op::Read && e.unknown.is_none())?;
    let share = extents.encoded_bytes.0 as f64 / extents.file_bytes.0.max(1) as f64;
    (share > UNWRITTEN_SHARE).then(|| {
        let reason = format!(
            "{} of the file is stored compressed or encrypted: what is read is unpacked and cached by this machine",
            percent(share)
        );
        Proof::new(Verdict::Refuted, reason).with("encoded_bytes", extents.encoded_bytes.0)
    })
}

/// Without the counters of every leaf nothing is proven; and nothing refuted, for not every filesystem
/// has its I/O charged to who asked for it (FUSE, virtiofs).
fn without_device(case: &Case<'_>, task_ratio: Option<f64>) -> Proof {
    let leaves: Vec<&str> = case.stack.leaves.iter().map(|l| l.name.as_str()).collect();
    let what = if leaves.is_empty() { "no device is known".to_owned() } else { leaves.join(", ") };
    let charged = task_ratio.map_or(String::new(), |r| {
        format!("; the kernel charged this process {r:.2} bytes for each byte issued")
    });
    Proof::new(
        Verdict::Unprovable,
        format!("no counter shows what reached the device ({what}){charged}"),
    )
}

fn evidence(
    case: &Case<'_>,
    mut proof: Proof,
    op: Op,
    issued: Bytes,
    device: Option<Bytes>,
    task: Option<Bytes>,
) -> Proof {
    let kind = if op == Op::Read { "read" } else { "write" };
    let expected = expected(case, op);
    proof = proof
        .with(&format!("issued_{kind}_bytes"), issued.0)
        .with(&format!("expected_{kind}_ratio"), [expected.low, expected.high]);
    if let Some((_, bytes)) = super::by_cache_devices(case, op) {
        proof = proof.with(&format!("cache_device_{kind}_bytes"), bytes.0);
    }
    for (who, bytes) in [("device", device), ("task", task)] {
        if let Some(bytes) = bytes {
            let ratio = bytes.0 as f64 / issued.0.max(1) as f64;
            proof = proof
                .with(&format!("{who}_{kind}_bytes"), bytes.0)
                .with(&format!("{who}_{kind}_ratio"), ratio);
        }
    }
    let cached =
        case.runs().iter().filter_map(|r| r.after.page_cache).map(|c| c.cached_bytes).max();
    if let Some(cached) = cached {
        proof = proof.with("page_cache_bytes_max", cached.0);
    }
    if let Some(extents) = case.extents.filter(|e| e.unknown.is_none()) {
        proof = proof.with("extents_written_bytes", extents.written_bytes.0);
    }
    proof
}

fn task_bytes(task: TaskIo, op: Op) -> Bytes {
    if op == Op::Read { task.read_bytes } else { task.write_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If it failed, a busy neighbour would turn a cache's speed into a drive's.
    #[test]
    fn a_neighbours_reads_prove_nothing_of_ours() {
        let once = Expected { low: 1.0, high: 1.0, why: None };
        let verdict = |device, task| by_ratios(Op::Read, device, task, &once).verdict;
        assert_eq!(verdict(1.0, Some(0.0)), Verdict::Refuted);
        assert_eq!(verdict(5.0, Some(0.0)), Verdict::Refuted);
        assert_eq!(verdict(1.0, Some(0.8)), Verdict::Unprovable);
        assert_eq!(by_ratios(Op::Write, 1.0, Some(0.0), &once).verdict, Verdict::Unprovable);
        assert_eq!(verdict(5.0, None), Verdict::Unprovable);
        assert_eq!(verdict(5.0, Some(1.0)), Verdict::Proven);
        assert_eq!(verdict(1.0, Some(1.0)), Verdict::Proven);
        assert_eq!(verdict(1.0, None), Verdict::Proven);
        for task in [None, Some(0.0), Some(0.9)] {
            assert_eq!(verdict(0.96, task), Verdict::Refuted);
        }
        assert_eq!(verdict(0.0, Some(1.0)), Verdict::Unprovable, "one of the counters is wrong");
    }
}
