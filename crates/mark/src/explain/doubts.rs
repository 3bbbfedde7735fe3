//! Reasons why the numbers of a load may mislead, whatever the program.

use block::Bytes;
use stats::Caveat;
use stats::remedy::Command;

use super::explained::{Job, Order, Reuse, Way};
use super::load::{Content, Durable, Load};

/// The largest caches that disks are sold with: data within that may come from there.
const DRIVE_CACHE: Bytes = Bytes::mib(512);

/// Doubts about one load.
pub(super) fn of(load: &Load, job: &Job) -> Vec<Caveat> {
    let mut doubts = Vec::new();
    let mut add = |code: &str, cause: String, remedy: Command| {
        doubts.push(Caveat::new(code, &load.name, cause, remedy));
    };
    if job.way != Way::Memory {
        addresses(load, job, &mut add);
        caches(load, job, &mut add);
        ends(load, job, &mut add);
        content(load, &mut add);
    }
    doubts.extend(load.doubts.iter().cloned());
    doubts
}

/// Doubts about the command as a whole.
pub(super) fn of_all(loads: &[Load]) -> Vec<Caveat> {
    let mut doubts = Vec::new();
    let together =
        |load: &&Load| loads.iter().filter(|other| other.group == load.group).count() > 1;
    let names: Vec<&str> = loads.iter().filter(together).map(|load| load.name.as_str()).collect();
    if !names.is_empty() {
        let directions: Vec<bool> = loads.iter().filter(together).map(Load::reads).collect();
        let mixed = directions.iter().any(|reads| *reads) && directions.iter().any(|reads| !*reads);
        let more = if mixed { ", reads against writes" } else { "" };
        doubts.push(Caveat::new(
            "at_the_same_time",
            &names.join(", "),
            format!(
                "these {} jobs run at the same time{more}: no figure is of one load by itself",
                names.len()
            ),
            Command::OneAfterTheOther,
        ));
    }
    if loads.iter().any(|load| load.way != Way::Memory) {
        doubts.push(Caveat::new(
            "one_run",
            "the command",
            "one run says nothing of how far the next will be from it",
            Command::SixRuns,
        ));
    }
    doubts
}

fn addresses(load: &Load, job: &Job, add: &mut impl FnMut(&str, String, Command)) {
    let sharers = load.sharers();
    // Those that begin further on come to the same data later, and not at once.
    let overlap = sharers > 1 && load.increment == 0;
    let in_order = matches!(load.order, Order::Sequential | Order::Strided { .. });
    match load.order {
        Order::PrivateCursors { cursors } if cursors.saturating_mul(sharers) > 1 => {
            let times = cursors.saturating_mul(if load.increment == 0 { sharers } else { 1 });
            add(
                "same_addresses",
                format!(
                    "each of the {cursors} I/Os outstanding goes through all by itself{}: every block is transferred {times} \
                     times within moments, and all but the first come from a cache",
                    if sharers > 1 { ", in each thread" } else { "" }
                ),
                Command::OneCursor,
            );
        }
        Order::RandomFree { .. } if load.alike && sharers > 1 => add(
            "same_addresses",
            format!(
                "all {sharers} threads draw from the same seed: each address is transferred {sharers} times within moments"
            ),
            Command::OneThread,
        ),
        Order::SameBlock => add(
            "same_addresses",
            "the same block is transferred over and over: a cache answers".to_owned(),
            Command::OtherBlocks,
        ),
        _ if load.cursors > 1 => add(
            "same_addresses",
            format!(
                "each of the {} I/Os outstanding goes through all by itself: every block is transferred {} times within moments",
                load.cursors,
                load.cursors.saturating_mul(if load.increment == 0 { sharers } else { 1 })
            ),
            Command::OneCursor,
        ),
        _ if in_order && load.limit.is_some() && runs_into_the_next(load, sharers) => add(
            "same_addresses",
            format!(
                "{sharers} threads begin {} apart, and each goes on into what the next has been through: that may come from a cache",
                Bytes(load.increment).human()
            ),
            Command::EndBeforeNext,
        ),
        _ if in_order && overlap => add(
            "same_addresses",
            format!(
                "{sharers} threads go over the same data side by side: {}",
                match load.read_percent {
                    0 => "each block is overwritten at once, and a cache may keep all but the last",
                    _ => "all but one find it in a cache",
                }
            ),
            Command::PartPerThread,
        ),
        _ => {}
    }
    if let (Order::RandomFree { .. }, false, Some(unique), Some(reach)) =
        (load.order, load.alike && sharers > 1, job.unique_bytes.expected, job.span_bytes)
    {
        let share = 100.0 * unique as f64 / reach.0.max(1) as f64;
        if share < 99.5 {
            add(
                "not_all_touched",
                format!(
                    "draws without a map repeat themselves: about {share:.0}% of the data are touched, some of it several times"
                ),
                Command::RandomMap,
            );
        }
    }
    if load.same_each_time {
        add(
            "same_each_time",
            "each run draws the same addresses in the same order, which the run before may have left in the drive's cache".to_owned(),
            Command::OtherAddressesEachTime,
        );
    }
    let passes = load.bytes.zip(load.pass()).is_some_and(|(bytes, pass)| bytes > pass);
    if load.order == Order::RandomOnce && passes && load.same_each_time && load.writes() {
        add(
            "replayed_order",
            "each pass writes in the order of the first, which a drive that writes out of place sees as a sequential overwrite".to_owned(),
            Command::NoRandomMap,
        );
    }
    if load.cursor_each && load.reads() && load.writes() && !load.reads_back {
        add(
            "mix_on_two_cursors",
            "reads and writes go in order from the same place, each by itself: one finds in the cache what the other left".to_owned(),
            Command::MixAtRandom,
        );
    }
    if load.reads_back {
        add(
            "read_back",
            "what is written is read once more to verify it, within the same job: its reads are of what was just written".to_owned(),
            Command::VerifyApart,
        );
    }
}

fn caches(load: &Load, job: &Job, add: &mut impl FnMut(&str, String, Command)) {
    let cached = load.way == Way::PageCache;
    if cached && load.reads() {
        add(
            "page_cache",
            "reads go through the page cache, which reads ahead and keeps what it has: what it holds is not read from the drive".to_owned(),
            Command::DirectReads,
        );
    }
    if cached && load.writes() && load.durable == Durable::No {
        add(
            "writes_to_memory",
            "writes end in memory: none has to reach the drive before the time is taken".to_owned(),
            Command::FlushedDirectWrites,
        );
    }
    if !cached {
        add(
            "direct_is_a_request",
            "past the page cache is asked for, and nothing shows that it was so: btrfs, ZFS and tmpfs may do otherwise without a word".to_owned(),
            Command::CountAtDevice,
        );
    }
    if !cached && load.writes() && load.durable == Durable::No {
        add(
            "volatile_cache",
            "a write is done when the drive's own cache has it: short runs measure that cache"
                .to_owned(),
            Command::FlushWithinTime,
        );
    }
    let (asked, effective) = load.depth;
    if asked > effective {
        let cause = match load.way {
            Way::PageCache => format!(
                "{asked} I/Os are asked for and {effective} is outstanding: through the page cache each is waited for"
            ),
            _ => format!(
                "{asked} I/Os are asked for and {effective} is outstanding: this engine waits for each"
            ),
        };
        add("depth_not_kept", cause, Command::AsynchronousDirect);
    }
    let small = |bytes: u64| bytes <= DRIVE_CACHE.0;
    match job.reuse {
        Reuse::AfterPass { bytes } if small(bytes) && !load.reads_back => add(
            "fits_a_cache",
            format!(
                "it goes around {}, which fits into a drive's own cache: from the second pass on that may answer",
                Bytes(bytes).human()
            ),
            Command::MoreThanCache,
        ),
        Reuse::AtRandom { bytes } if small(bytes) => add(
            "fits_a_cache",
            format!(
                "all of it is {}, which fits into a drive's own cache; and a disk seeks only so far",
                Bytes(bytes).human()
            ),
            Command::MoreThanCache,
        ),
        _ => {}
    }
}

/// True of copies that begin apart, and nearer to each other than each goes.
fn runs_into_the_next(load: &Load, sharers: u64) -> bool {
    sharers > 1 && load.increment > 0 && load.increment < load.span.unwrap_or(u64::MAX)
}

fn ends(load: &Load, job: &Job, add: &mut impl FnMut(&str, String, Command)) {
    if let (Some(rate), Some(time)) = (job.early_above_bytes_per_s, job.time_max_ns) {
        add(
            "ends_early",
            format!(
                "above {} MB/s the data end before {time} are over, and a fast drive is measured for moments",
                if rate < 1e7 {
                    format!("{:.2}", rate / 1e6)
                } else {
                    format!("{:.0}", rate / 1e6)
                }
            ),
            Command::MoreData,
        );
    }
    if load.span.is_none() {
        add(
            "size_not_told",
            "how much is gone over is the size of the target, which the command does not give"
                .to_owned(),
            Command::NameTargetSize,
        );
    }
    if let Some(bytes) = job.laid_out_bytes {
        add(
            "laid_out_first",
            format!(
                "a file that is missing or too short is written first ({}): what is read lies in the fast cells and caches of a fresh write",
                bytes.human()
            ),
            Command::FileInAdvance,
        );
    }
}

fn content(load: &Load, add: &mut impl FnMut(&str, String, Command)) {
    if !load.writes() {
        return;
    }
    match load.content {
        Content::Zeros => add(
            "zeros",
            "zeros are written, which some drives and filesystems do not store at all".to_owned(),
            Command::RandomData,
        ),
        Content::Repeated => add(
            "same_content",
            "the same few bytes are written over and over, which compress and deduplicate to nothing".to_owned(),
            Command::NewData,
        ),
        Content::Shares(packs, repeats) => add(
            "content_given",
            format!("{packs}% of the data compress and {repeats}% repeat: a drive that packs its data gains by that"),
            Command::ReportShares,
        ),
        Content::Random | Content::Unknown => {}
    }
}
