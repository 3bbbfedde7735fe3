//! Doubts about a mark, each with its cause and what would remove it.

use block::{Bytes, DriveInfo, DriveKind, EngineKind, Layer, Medium, Nanos, Op, WriteCache};
use engine::Trouble;
use stats::remedy::Run;
use stats::{Caveat, Remedy, Verdict};
use workload::plan::Plan;

use crate::body::{Latency, Test};
use crate::burst::{Shown, Writes};
use crate::context::Context;
use crate::execute::{Broken, Executed};
use crate::options::Direction;
use crate::proofs::pattern::TAKEN_BY_CACHE;
use crate::proofs::{Case, by_cache_devices, degraded, mb_s};

/// Fewest bytes per extent at which a file counts as laid out in one piece, for a disk that turns.
const EXTENT_BYTES_MIN: u64 = 16 << 20;

/// Doubts that concern all tests.
pub(crate) fn of_the_whole(plan: &Plan, executed: &Executed, context: &Context<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let target = context.info.name.as_str();
    if executed.interrupted || executed.broken.is_some() {
        caveats.push(Caveat::new(
            "incomplete",
            target,
            what_ended_it(executed),
            remedy_of_the_end(executed),
        ));
    }
    if let Some(made) = executed.resumed_after {
        caveats.push(Caveat::new(
            "resumed",
            target,
            format!(
                "the first {} made before an interruption, and the rest after it: the drive rested meanwhile, and a test file may lie elsewhere",
                if made == 1 { "run was".to_owned() } else { format!("{made} runs were") }
            ),
            Run::OneStretch,
        ));
    }
    if executed.broken.is_none()
        && let Some(failed) = executed.failed.first()
    {
        caveats.push(Caveat::new(
            "failed_before",
            target,
            format!(
                "in run {} of {} the {}, after which the mark was gone on with: the drive that made these numbers is one that failed",
                failed.run, failed.step, failed.failure
            ),
            Run::MendDrive,
        ));
    }
    if executed.out_of_budget
        && let Some(until) = plan.schedule.until
    {
        caveats.push(Caveat::new(
            "budget",
            target,
            format!(
                "the budget of {} ended before every median was known within {}%",
                until.budget, until.half_width_percent
            ),
            Run::LargerBudget,
        ));
    }
    if let Some(budget) = plan.schedule.write_budget.filter(|_| executed.out_of_write_budget) {
        caveats.push(Caveat::new(
            "write_budget",
            target,
            of_write_budget(plan, executed, budget),
            Run::LargerWriteBudget,
        ));
    }
    if !context.direct && context.info.kind != DriveKind::Virtual {
        caveats.push(Caveat::new(
            "buffered",
            target,
            "I/O went through the page cache, as asked",
            Run::DirectIo,
        ));
    }
    if let Some(extents) = context.extents_after.as_ref().or(context.extents.as_ref())
        && context.info.rotational == Some(true)
        && extents.extents > 1 + extents.file_bytes.0 / EXTENT_BYTES_MIN
    {
        caveats.push(Caveat::new(
            "fragmented",
            target,
            format!("the test file lies in {} pieces, so sequential tests seek", extents.extents),
            Run::ContiguousFile,
        ));
    }
    caveats.extend(of_copying(plan, context));
    caveats.extend(of_zfs(context));
    caveats
}

/// Runs that a budget cut short, or steps that it left out.
fn of_write_budget(plan: &Plan, executed: &Executed, budget: Bytes) -> String {
    let none = plan.steps.iter().zip(&executed.tests).filter(|(_, test)| test.runs.is_empty());
    let none: Vec<&str> =
        none.filter(|(step, _)| step.writes()).map(|(step, _)| step.name.as_str()).collect();
    let most = format!("all runs may write {} at most", budget.human());
    let is_whole = !executed.interrupted && executed.broken.is_none();
    if none.is_empty() || !is_whole {
        return format!("runs that write were cut short or left out: {most}");
    }
    format!("no run of {}, whose share is less than a block: {most}", none.join(", "))
}

/// Doubts about a filesystem that copies on write, or that writes this file in place all the same.
fn of_copying(plan: &Plan, context: &Context<'_>) -> Option<Caveat> {
    let target = context.info.name.as_str();
    let copying =
        context.stack.layers.iter().find(|l| l.kind == "btrfs" || l.kind == "bcachefs")?;
    if context.in_place {
        return Some(Caveat::new(
            "written_in_place",
            target,
            "the file is written in place, which files of this filesystem usually are not: the numbers are without its checksums, its compression and its copies on write",
            Run::UsualFile,
        ));
    }
    let remedy = match copying.kind.as_str() {
        "btrfs" => Run::NoCopyOnWrite,
        _ => Run::NoCopyOnWriteDirectory,
    };
    let cause = "the filesystem copies on write and checksums: each write moves the data elsewhere, and the kernel may buffer direct writes";
    plan.alters().then(|| Caveat::new("copy_on_write", target, cause, remedy))
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
    Some(Caveat::new("zfs_cache", &context.info.name, cause, zfs_remedy(zfs)))
}

/// A dataset whose data are not cached.
fn zfs_remedy(zfs: &Layer) -> Remedy {
    Remedy::UncachedDataset { dataset: zfs.attributes.get("source").cloned() }
}

/// Remedy for a mark that ended early, by its cause.
fn remedy_of_the_end(executed: &Executed) -> Run {
    match executed.broken.as_ref().map(|broken| broken.failure.trouble()) {
        None => Run::FinishOrRepeat,
        Some(Trouble::Gone) => Run::Reconnect,
        Some(Trouble::Medium) => Run::AvoidDefect,
        Some(Trouble::Refused) => Run::AnotherPart,
        Some(Trouble::Failed) => Run::FindCause,
        Some(Trouble::Short) => Run::KeepLength,
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

/// Doubts about one test, of which `planned` runs were planned where it ended early.
pub(crate) fn of_test(
    test: &Test,
    case: &Case<'_>,
    context: &Context<'_>,
    planned: Option<u32>,
) -> Vec<Caveat> {
    let subject = format!("{} {}", test.name, test.op);
    let mut caveats = Vec::new();
    let mut add = |code: &str, cause: String, remedy: Remedy| {
        caveats.push(Caveat::new(code, &subject, cause, remedy));
    };
    let rates = case.rates().split_off(case.series.in_cache());
    if !rates.is_empty() && test.mb_s.low.is_none() {
        add(
            "few_runs",
            match rates.len() {
                1 => "1 run has no 95% interval".to_owned(),
                runs => format!("{runs} runs have no 95% interval"),
            },
            match planned {
                Some(planned) if planned >= FEWEST_RUNS => Run::FinishPlannedRuns.into(),
                // There are enough runs, but they resemble one another and are worth fewer.
                _ if rates.len() >= FEWEST_RUNS as usize => Run::MoreRunsApart.into(),
                _ => Remedy::MoreRuns { runs: u64::from(FEWEST_RUNS) },
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
            Run::StepPerPhase.into(),
        );
    }
    let worth = test.mb_s.n_effective;
    if worth < rates.len() as f64 {
        let cause = format!(
            "each run resembles the one before, so {} runs are worth about {worth:.0} and the interval is too narrow",
            rates.len()
        );
        add("dependent_runs", cause, Run::MoreRunsApart.into());
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
            Run::LongerDuration.into(),
        );
    }
    let proofs = &test.proofs;
    if proofs.reached.verdict == Verdict::Refuted {
        add("not_reached", proofs.reached.reason.clone(), reached_remedy(case, context));
    }
    if proofs.pattern.verdict == Verdict::Refuted {
        add("pattern", proofs.pattern.reason.clone(), Run::LargerSpan.into());
    }
    let modes = case.series.two_modes().filter(|_| case.series.in_cache() == 0);
    if let Some((low_center, high_center, share_high)) = modes {
        let cause = format!(
            "{:.0}% of the runs lie around {} MB/s and the others around {}",
            share_high * 100.0,
            mb_s(high_center),
            mb_s(low_center)
        );
        let is_burst = case.series.burst_runs() > 0;
        let remedy = if is_burst { Run::SustainedRate } else { Run::FindAlternation };
        add("two_modes", cause, remedy.into());
    }
    if let Some(most) = case.stirred.iter().copied().reduce(f64::max) {
        let (count, all) = (case.stirred.len(), case.runs().len());
        let cause = if case.is_slower_since_writes {
            format!(
                "in {count} of {all} runs small reads took up to {most:.1}x as long as before the first writes: the drive may not \
                 have recovered from them, or reads what was written more slowly"
            )
        } else {
            format!(
                "{count} of {all} runs began before the drive had recovered from earlier writes: small reads took up to {most:.1}x \
                 as long as when it was idle"
            )
        };
        let for_good = case.is_slower_since_writes;
        let remedy = if for_good { Run::WriteSpanFirst } else { Run::LongerSettle };
        add("not_settled", cause, remedy.into());
    }
    if proofs.steady.verdict == Verdict::Refuted {
        add(
            "drift",
            "throughput changed within or between the runs".to_owned(),
            Run::LongerWarmUp.into(),
        );
    }
    if proofs.unhindered.verdict == Verdict::Refuted {
        let engine = case.step.engine.map_or(context.engine, |engine| engine.word());
        let synchronous = engine == EngineKind::Psync.word() && test.depth > 1;
        let remedy = if synchronous { Run::AsynchronousEngine } else { Run::LighterTester };
        add("hindered", "the tester itself was a limit".to_owned(), remedy.into());
    }
    if proofs.undisturbed.verdict == Verdict::Refuted {
        add(
            "disturbed",
            "other processes used the device or the CPU".to_owned(),
            Run::StopOthers.into(),
        );
    }
    caveats.extend(of_arrays(&subject, case));
    let mut add = |code: &str, cause: String, remedy: Run| {
        caveats.push(Caveat::new(code, &subject, cause, remedy));
    };
    let raw = context.info.kind == DriveKind::BlockDevice && context.info.rotational != Some(true);
    if raw && case.does(Op::Read) && !case.does(Op::Write) && test.headline {
        add(
            "maybe_never_written",
            "a solid-state drive answers reads of blocks that were never written, or were trimmed, without its flash".to_owned(),
            Run::WriteSpanFirst,
        );
    }
    if proofs.pattern.evidence.contains_key(TAKEN_BY_CACHE) {
        add(TAKEN_BY_CACHE, proofs.pattern.reason.clone(), Run::OverfillCache);
    }
    let is_volatile = context.info.write_cache == Some(WriteCache::WriteBack);
    let may_wait = case.phase.ops.iter().any(|o| o.op == Op::Write && !o.fua);
    if is_volatile && may_wait && test.headline {
        let cause = "writes count as complete in the drive's volatile cache";
        add("volatile_writes", cause.to_owned(), Run::DurableWrites);
    }
    if let Some((cause, remedy)) = test.writes.as_ref().and_then(|w| not_sustained(w, context.info))
    {
        add("not_sustained", cause.to_owned(), remedy);
    }
    caveats
}

/// Why the numbers of writes are not what the drive keeps up, and what shows that.
fn not_sustained(writes: &Writes, info: &DriveInfo) -> Option<(&'static str, Run)> {
    match (writes.shown, writes.sustained_mb_s) {
        (Some(Shown::Burst), _) if info.rotational == Some(true) => Some((
            "this is a burst: the drive's cache may have taken what was written",
            Run::OverfillCache,
        )),
        (Some(Shown::Burst), _) => Some((
            "this is a burst: once the drive is full, or has written more, it may be slower",
            Run::SustainedRate,
        )),
        (None, Some(_)) => {
            Some(("the rate fell, and may fall further once the drive is full", Run::SustainedRate))
        }
        _ => None,
    }
}

/// Half a turn of the fastest disks that were made, of 15,000 revolutions per minute. Of two blocks that follow each other
/// on a track, the second comes by a whole turn after the first was made durable, less what the head passes meanwhile.
const HALF_TURN: Nanos = Nanos(2_000_000);
/// A durable write that takes no longer than this times one into the cache waited for nothing.
const NO_LONGER: f64 = 1.25;

/// Most by which medians may differ where means do not: where a drive answers in one of two times, chance decides which of them
/// the median is.
const MODES: f64 = 1.5;

fn is_no_longer(commit: &Latency, cached: &Latency) -> bool {
    let median = commit.p50 as f64 / cached.p50 as f64;
    let same_mean = cached.mean > 0.0 && commit.mean <= NO_LONGER * cached.mean;
    median <= NO_LONGER || (same_mean && median <= MODES)
}

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
            caveats.push(Caveat::new(
                "flush_too_short",
                &subject,
                format!("the drive says that its cache is volatile and that it rotates, and half of its durable writes took less than {HALF_TURN}, half a turn of the fastest disks: it did not wait for its platters"),
                Run::DistrustFlushes,
            ));
        } else if let Some(cached) = of(Direction::Write).find(|test| test.name == commit.name)
            && is_no_longer(&commit.latency_ns, &cached.latency_ns)
        {
            // A cache that is stated not to be volatile is a word of the same drive, daemon or host that may ignore flushes.
            let stated = match info.write_cache {
                Some(WriteCache::WriteBack) => "the drive says that its cache is volatile",
                Some(WriteCache::WriteThrough) => "the drive says that it has no volatile cache",
                None => "nothing states what keeps a completed write",
            };
            let volatile_cache = info.write_cache.map(|cache| cache == WriteCache::WriteBack);
            caveats.push(Caveat::new(
                "flush_for_nothing",
                &subject,
                format!("{stated}, and a durable write takes no longer than one that is not"),
                Remedy::ProveFlushes { volatile_cache },
            ));
        }
    }
    caveats
}

/// Doubts about what several drives are together.
fn of_arrays(subject: &str, case: &Case<'_>) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    for (name, missing) in degraded(case) {
        caveats.push(Caveat::new(
            "degraded",
            subject,
            format!("{name} lacks {missing} of its members: it writes fewer copies than it should, and makes what it lacks of the others"),
            Run::RebuildArray,
        ));
    }
    for (op, verb) in [(Op::Read, "read"), (Op::Write, "written")] {
        let issued = case.moved(op).0;
        if let Some((names, bytes)) = by_cache_devices(case, op).filter(|_| issued > 0) {
            let share = 100.0 * bytes.0 as f64 / issued as f64;
            caveats.push(Caveat::new(
                "cache_device",
                subject,
                format!(
                    "bcache keeps {} above the backing drive, and it moved {share:.0}% of the bytes {verb}: the figure is that of both together",
                    names.join(", ")
                ),
                Run::MeasureAlone,
            ));
        }
    }
    caveats
}

fn reached_remedy(case: &Case<'_>, context: &Context<'_>) -> Remedy {
    if let Some(zfs) = case.stack.layers.iter().find(|layer| layer.kind == "zfs") {
        return zfs_remedy(zfs);
    }
    usual_remedy(case, context)
}

fn usual_remedy(case: &Case<'_>, context: &Context<'_>) -> Remedy {
    let memory = case.stack.leaves.iter().any(|l| l.medium == Medium::Ram);
    let between = case.stack.layers.iter().find(|layer| layer.page_cache.is_some());
    let unwritten = case.extents.is_some_and(|e| e.hole_bytes.0 + e.unwritten_bytes.0 > 0);
    let packed = case.extents.is_some_and(|e| e.encoded_bytes.0 > 0);
    let remedy = if context.info.kind == DriveKind::Null {
        Run::NameTarget
    } else if memory {
        Run::RealDrive
    } else if let Some(layer) = between {
        return past_the_cache(layer);
    } else if packed {
        Run::PlainFile
    } else if unwritten {
        Run::WrittenFile
    } else if case.stack.layers.iter().any(|layer| layer.stored.is_some()) {
        Run::DriveUnderImage
    } else if !context.direct {
        Run::DirectToDrive
    } else {
        Run::HonourDirectIo
    };
    remedy.into()
}

/// How to measure without the page cache that `layer` puts between the target and its drive.
pub fn past_the_cache(layer: &Layer) -> Remedy {
    match layer.kind.as_str() {
        "loop" => Remedy::DirectLoop { device: layer.name.trim_start_matches("/dev/").to_owned() },
        _ => Run::MeasureDrive.into(),
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
