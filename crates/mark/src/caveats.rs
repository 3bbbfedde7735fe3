//! Doubts about a mark, each with its cause and what would remove it.

use block::{DriveInfo, DriveKind, EngineKind, Layer, Medium, Nanos, Op, WriteCache};
use engine::Trouble;
use stats::{Caveat, Verdict};
use workload::plan::Plan;

use crate::body::Test;
use crate::context::Context;
use crate::execute::{Broken, Executed};
use crate::options::Direction;
use crate::proofs::pattern::TAKEN_BY_CACHE;
use crate::proofs::{Case, by_cache_devices, degraded, mb_s};

/// Fewest bytes per extent at which a file counts as laid out in one piece, for a disk that turns.
const EXTENT_BYTES_MIN: u64 = 16 << 20;

/// A doubt, with its cause and what would remove it.
pub(crate) fn caveat(
    code: &str,
    subject: &str,
    cause: impl Into<String>,
    remedy: impl Into<String>,
) -> Caveat {
    Caveat {
        code: code.to_owned(),
        subject: subject.to_owned(),
        cause: cause.into(),
        remedy: remedy.into(),
    }
}

/// Doubts that concern all tests.
pub(crate) fn of_the_whole(plan: &Plan, executed: &Executed, context: &Context<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let target = context.info.name.as_str();
    if executed.interrupted || executed.broken.is_some() {
        caveats.push(caveat(
            "incomplete",
            target,
            what_ended_it(executed),
            remedy_of_the_end(executed),
        ));
    }
    if let Some(made) = executed.resumed_after {
        caveats.push(caveat(
            "resumed",
            target,
            format!(
                "the first {} made before an interruption, and the rest after it: the drive rested meanwhile, and a test file lies where it was made anew",
                if made == 1 { "run was".to_owned() } else { format!("{made} runs were") }
            ),
            "for numbers of one stretch, run it again without --resume",
        ));
    }
    if executed.broken.is_none()
        && let Some(failed) = executed.failed.first()
    {
        caveats.push(caveat(
            "failed_before",
            target,
            format!(
                "in run {} of {} the {}, after which the mark was gone on with: the drive that made these numbers is one that failed",
                failed.run, failed.step, failed.failure
            ),
            "find the cause in the kernel's log and with `drivescope health`, and begin a new run when it is mended",
        ));
    }
    if executed.out_of_budget
        && let Some(until) = plan.schedule.until
    {
        caveats.push(caveat(
            "budget",
            target,
            format!(
                "the budget of {} ended before every median was known within {}%",
                until.budget, until.half_width_percent
            ),
            "give a larger --budget, or a wider --until",
        ));
    }
    if !context.direct && context.info.kind != DriveKind::Virtual {
        caveats.push(caveat(
            "buffered",
            target,
            "I/O went through the page cache, as asked",
            "leave --buffered out to measure the drive",
        ));
    }
    if let Some(extents) = context.extents_after.as_ref().or(context.extents.as_ref())
        && context.info.rotational == Some(true)
        && extents.extents > 1 + extents.file_bytes.0 / EXTENT_BYTES_MIN
    {
        caveats.push(caveat(
            "fragmented",
            target,
            format!("the test file lies in {} pieces, so sequential tests seek", extents.extents),
            "measure on a filesystem with more free space in one piece, or the device itself",
        ));
    }
    caveats.extend(of_copying(plan, context));
    caveats.extend(of_zfs(context));
    caveats
}

/// Doubts about a filesystem that copies on write, or was told not to.
fn of_copying(plan: &Plan, context: &Context<'_>) -> Option<Caveat> {
    let target = context.info.name.as_str();
    let copying =
        context.stack.layers.iter().find(|l| l.kind == "btrfs" || l.kind == "bcachefs")?;
    if context.in_place {
        return Some(caveat(
            "written_in_place",
            target,
            "the file is written in place, which files of this filesystem usually are not: the numbers are without its checksums, its compression and its copies on write",
            "for what usual files get, leave --no-cow out, or measure one without chattr +C",
        ));
    }
    let remedy = match copying.kind.as_str() {
        "btrfs" => {
            "this is the filesystem's number; for one nearer to the drive's, add --no-cow, which makes a test file in a directory without copying and checksums, or measure the device"
        }
        _ => {
            "this is the filesystem's number; for the drive's, measure a directory without copying (chattr +C) or the device"
        }
    };
    let cause = "the filesystem copies on write and checksums: each write moves the data elsewhere, and the kernel may buffer direct writes";
    plan.alters().then(|| caveat("copy_on_write", target, cause, remedy))
}

/// Doubts about ZFS's own cache.
fn of_zfs(context: &Context<'_>) -> Option<Caveat> {
    let zfs = context.stack.layers.iter().find(|layer| layer.kind == "zfs")?;
    let version = zfs.attributes.get("version");
    let named = version.map_or("this ZFS".to_owned(), |version| format!("ZFS {version}"));
    let cause = match zfs.attributes.get("direct_io").map(String::as_str) {
        Some("honoured") => format!(
            "{named} lets direct I/O bypass its cache (ARC), unless the dataset's property direct is disabled, a transfer is not aligned, or the data are in the cache already"
        ),
        Some(_) => format!(
            "{named} ignores O_DIRECT: reads come from its cache (ARC), and writes go to it"
        ),
        None => {
            "ZFS before 2.3 ignores O_DIRECT: reads come from its cache (ARC), and writes go to it"
                .to_owned()
        }
    };
    Some(caveat("zfs_cache", &context.info.name, cause, zfs_remedy(zfs)))
}

/// How to get a dataset whose data are not cached. It is not made for the user: a dataset stays, and is mounted, when we
/// are gone.
fn zfs_remedy(zfs: &Layer) -> String {
    let dataset = zfs.attributes.get("source").map_or("POOL", String::as_str);
    format!(
        "make a dataset that keeps only metadata in the cache, `zfs create -o primarycache=metadata -o compression=off {dataset}/drivescope`, measure its mount point, and afterwards `zfs destroy {dataset}/drivescope`"
    )
}

/// What to do when it ended early, by what ended it.
fn remedy_of_the_end(executed: &Executed) -> &'static str {
    match executed.broken.as_ref().map(|broken| broken.failure.trouble()) {
        None => "bring it to its end: go on with it, or run it again",
        Some(Trouble::Gone) => {
            "see that the drive is connected and has power (cable, port, slot), and measure it anew"
        }
        Some(Trouble::Medium) => {
            "the drive has a defect at that place: look at `drivescope health`, and measure another part with --span"
        }
        Some(Trouble::Refused) => {
            "the drive does not do this there: measure another part with --span, or reads only"
        }
        Some(Trouble::Failed) => {
            "look at the kernel's log for the cause, and at `drivescope health` for the drive's own word"
        }
        Some(Trouble::Short) => "let nobody shorten it meanwhile, and measure it anew",
    }
}

fn what_ended_it(executed: &Executed) -> String {
    let early = "it ended before its plan was done, so some runs are missing";
    match &executed.broken {
        None => early.to_owned(),
        Some(Broken { step, run, failure, .. }) => {
            format!("{early}: in run {run} of {step} the {failure}")
        }
    }
}

/// Runs that have a 95% interval of their median, at least.
const FEWEST_RUNS: u32 = 6;

/// Doubts about one test, of which so many runs were `planned` where it ended early.
pub(crate) fn of_test(
    test: &Test,
    case: &Case<'_>,
    context: &Context<'_>,
    planned: Option<u32>,
) -> Vec<Caveat> {
    let subject = format!("{} {}", test.name, test.op);
    let mut caveats = Vec::new();
    let mut add = |code: &str, cause: String, remedy: &str| {
        caveats.push(caveat(code, &subject, cause, remedy));
    };
    let rates = case.rates();
    if !rates.is_empty() && test.mb_s.low.is_none() {
        add(
            "few_runs",
            match rates.len() {
                1 => "1 run has no 95% interval".to_owned(),
                runs => format!("{runs} runs have no 95% interval"),
            },
            match planned {
                Some(planned) if planned >= FEWEST_RUNS => {
                    "bring it to its end: enough runs are planned"
                }
                // So many that resemble one another are worth fewer.
                _ if rates.len() >= FEWEST_RUNS as usize => {
                    "take more --runs with a longer --pause"
                }
                _ => "take --runs 6 or more",
            },
        );
    }
    let measured: Vec<&str> =
        case.step.phases.iter().filter(|p| p.measured).map(|p| p.name.as_str()).collect();
    if let [shown, others @ ..] = &measured[..]
        && !others.is_empty()
    {
        add(
            "phases_left_out",
            format!("the figures are those of phase {shown}; {} ran too", others.join(", ")),
            "give each measured phase a step of its own, with what comes before it as warm-up",
        );
    }
    let worth = test.mb_s.n_effective;
    if worth < rates.len() as f64 {
        let cause = format!(
            "each run resembles the one before, so {} runs are worth about {worth:.0} and the interval is too narrow",
            rates.len()
        );
        add("dependent_runs", cause, "take more --runs with a longer --pause");
    }
    let empty = case.test.empty();
    if empty > 0 {
        let of = match rates.len() {
            all if all == empty => "any run".to_owned(),
            all => format!("{empty} of {all} runs"),
        };
        add(
            "nothing_finished",
            format!("no I/O finished in the measured time of {of}"),
            "take a longer --duration",
        );
    }
    let proofs = &test.proofs;
    if proofs.reached.verdict == Verdict::Refuted {
        add("not_reached", proofs.reached.reason.clone(), &reached_remedy(case, context));
    }
    if proofs.pattern.verdict == Verdict::Refuted {
        add(
            "pattern",
            proofs.pattern.reason.clone(),
            "take a --size or --span several times the drive's cache",
        );
    }
    if let Some((low_center, high_center, share_high)) = case.two_modes() {
        let cause = format!(
            "{:.0}% of the runs lie around {} MB/s and the others around {}",
            share_high * 100.0,
            mb_s(high_center),
            mb_s(low_center)
        );
        add(
            "two_modes",
            cause,
            "look at what alternates between runs (background work, zones, temperature) and take more --runs",
        );
    }
    if proofs.steady.verdict == Verdict::Refuted {
        add(
            "drift",
            "throughput changed within or between the runs".to_owned(),
            "take a longer --warm-up and --duration, or let the drive rest with --pause",
        );
    }
    if proofs.unhindered.verdict == Verdict::Refuted {
        let engine = case.step.engine.map_or(context.engine, |engine| engine.word());
        let synchronous = engine == EngineKind::Psync.word() && test.depth > 1;
        let remedy = if synchronous {
            "psync has one I/O outstanding per thread: use --engine io_uring, or depth 1"
        } else {
            "leave the machine otherwise idle, take fewer threads than CPUs, or a lighter --engine"
        };
        add("hindered", "the tester itself was a limit".to_owned(), remedy);
    }
    if proofs.undisturbed.verdict == Verdict::Refuted {
        add(
            "disturbed",
            "the device or the CPU was not ours alone".to_owned(),
            "stop what else uses the drive or the CPU and run again",
        );
    }
    caveats.extend(of_arrays(&subject, case));
    let mut add = |code: &str, cause: String, remedy: &str| {
        caveats.push(caveat(code, &subject, cause, remedy));
    };
    let raw = context.info.kind == DriveKind::BlockDevice && context.info.rotational != Some(true);
    if raw && case.does(Op::Read) && !case.does(Op::Write) && test.headline {
        add(
            "maybe_never_written",
            "a solid-state drive answers reads of blocks that were never written, or were trimmed, without its flash".to_owned(),
            "if that may be so here, write the span first, or measure a file on its filesystem",
        );
    }
    if proofs.pattern.evidence.contains_key(TAKEN_BY_CACHE) {
        add(
            TAKEN_BY_CACHE,
            proofs.pattern.reason.clone(),
            "take a longer --warm-up and --duration, so that more is written than the cache holds, or --dsync",
        );
    }
    let is_volatile = context.info.write_cache == Some(WriteCache::WriteBack);
    let may_wait = case.phase.ops.iter().any(|o| o.op == Op::Write && !o.fua);
    if is_volatile && may_wait && test.headline {
        let in_cache = "writes count as complete in the drive's volatile cache";
        // After a fall that was seen, the sustained rate stands beside the burst.
        if test.writes.as_ref().is_some_and(|writes| writes.sustained_mb_s.is_some()) {
            add("volatile_writes", in_cache.to_owned(), "add --dsync for durable writes");
        } else {
            add(
                "volatile_writes",
                format!("{in_cache}, so this is its burst speed as far as that cache reaches"),
                "add --dsync for durable writes, or a longer --duration for sustained ones",
            );
        }
    }
    caveats
}

/// Half a turn of the fastest disks that were made, of 15,000 revolutions per minute. Of two blocks that follow each other
/// on a track, the second comes by a whole turn after the first was made durable, less what the head passes meanwhile.
const HALF_TURN: Nanos = Nanos(2_000_000);
/// A durable write that takes no longer than this times one into the cache waited for nothing.
const NO_LONGER: f64 = 1.25;

/// Doubts about durable writes that take less time than they have to.
pub(crate) fn of_commits(tests: &[Test], info: &DriveInfo) -> Vec<Caveat> {
    let is_volatile = info.write_cache == Some(WriteCache::WriteBack);
    let stands = |test: &&Test| test.headline && test.latency_ns.p50 > 0;
    let of = |direction: Direction| {
        tests.iter().filter(stands).filter(move |test| test.direction() == Some(direction))
    };
    let mut caveats = Vec::new();
    for commit in of(Direction::Commit) {
        let subject = format!("{} {}", commit.name, commit.op);
        let took = Nanos(commit.latency_ns.p50);
        if is_volatile && info.rotational == Some(true) && took < HALF_TURN {
            caveats.push(caveat(
                "flush_too_short",
                &subject,
                format!("the drive says that its cache is volatile and that it rotates, and half of its durable writes took less than {HALF_TURN}, half a turn of the fastest disks: it did not wait for its platters"),
                "do not trust it with a database: it answers before the data is safe, unless a controller's battery or the host of this virtual machine keeps it",
            ));
        } else if let Some(cached) = of(Direction::Write).find(|test| test.name == commit.name)
            && took.0 as f64 <= NO_LONGER * cached.latency_ns.p50 as f64
        {
            // A cache that is stated not to be volatile is a word of the same drive, daemon or host that may ignore flushes.
            let (stated, honest) = match info.write_cache {
                Some(WriteCache::WriteBack) => {
                    ("the drive says that its cache is volatile", "capacitors keep the cache")
                }
                Some(WriteCache::WriteThrough) => {
                    ("the drive says that it has no volatile cache", "that is so")
                }
                None => {
                    ("nothing states what keeps a completed write", "each write is kept at once")
                }
            };
            caveats.push(caveat(
                "flush_for_nothing",
                &subject,
                format!("{stated}, and a durable write takes no longer than one that is not"),
                format!(
                    "either {honest}, or a drive, host or daemon ignores flushes; only the maker's word or a power cut shows which"
                ),
            ));
        }
    }
    caveats
}

/// Doubts about what several drives are together.
fn of_arrays(subject: &str, case: &Case<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    for (name, missing) in degraded(case) {
        caveats.push(caveat(
            "degraded",
            subject,
            format!("{name} lacks {missing} of its members: it writes fewer copies than it should, and makes what it lacks of the others"),
            "give the array its member back and let it rebuild, or take this for what it is",
        ));
    }
    for (op, verb) in [(Op::Read, "read"), (Op::Write, "written")] {
        let issued = case.moved(op).0;
        if let Some((names, bytes)) = by_cache_devices(case, op).filter(|_| issued > 0) {
            let share = 100.0 * bytes.0 as f64 / issued as f64;
            caveats.push(caveat(
                "cache_device",
                subject,
                format!(
                    "bcache keeps {} above the backing drive, and it moved {share:.0}% of the bytes {verb}: the figure is that of both together",
                    names.join(", ")
                ),
                "for one drive's figure, measure it by itself",
            ));
        }
    }
    caveats
}

fn reached_remedy(case: &Case<'_>, context: &Context<'_>) -> String {
    if let Some(zfs) = case.stack.layers.iter().find(|layer| layer.kind == "zfs") {
        return zfs_remedy(zfs);
    }
    usual_remedy(case, context)
}

fn usual_remedy(case: &Case<'_>, context: &Context<'_>) -> String {
    let memory = case.stack.leaves.iter().any(|l| l.medium == Medium::Ram);
    let between = case.stack.layers.iter().find(|layer| layer.page_cache.is_some());
    let unwritten = case.extents.is_some_and(|e| e.hole_bytes.0 + e.unwritten_bytes.0 > 0);
    let packed = case.extents.is_some_and(|e| e.encoded_bytes.0 > 0);
    let remedy = if context.info.kind == DriveKind::Null {
        "name a directory, a file or a device to measure one"
    } else if memory {
        "name a directory or device on a real drive"
    } else if let Some(layer) = between {
        return past_the_cache(layer);
    } else if packed {
        "measure a file that is stored neither compressed nor encrypted"
    } else if unwritten {
        "write the file fully first, or name its directory and let drivescope make one"
    } else if case.stack.layers.iter().any(|layer| layer.stored.is_some()) {
        "measure the drive under the image, or an image that was written fully, in one that stores it as it is"
    } else if !context.direct {
        "leave --buffered out"
    } else {
        "use a filesystem that honours O_DIRECT, or the device itself"
    };
    remedy.to_owned()
}

/// How to measure without the page cache that `layer` puts between the target and its drive.
pub fn past_the_cache(layer: &Layer) -> String {
    match layer.kind.as_str() {
        "loop" => format!(
            "let the loop device read its file directly (losetup --direct-io=on /dev/{}), or measure the drive itself",
            layer.name.trim_start_matches("/dev/")
        ),
        _ => "measure the drive itself".to_owned(),
    }
}

/// Joins caveats that differ only in their subject, keeping the order of first appearance.
pub(crate) fn merge(caveats: Vec<Caveat>) -> Vec<Caveat> {
    let mut merged: Vec<Caveat> = Vec::new();
    for caveat in caveats {
        let same = merged.iter_mut().find(|m| {
            m.code == caveat.code && m.cause == caveat.cause && m.remedy == caveat.remedy
        });
        match same {
            Some(same) => {
                same.subject.push_str(", ");
                same.subject.push_str(&caveat.subject);
            }
            None => merged.push(caveat),
        }
    }
    merged
}
