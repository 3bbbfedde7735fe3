//! Equivalents to run instead: lines of `drivescope mark`, and one plan.

use std::collections::BTreeSet;

use block::{Bytes, Nanos, Op};
use workload::plan::{
    Address, Arrival, Content as PlanContent, Gaps, OpShare, Phase, Plan, Region, SCHEMA, Schedule,
    Share, Step, Stop,
};

use super::explained::{Equivalent, Order, Way};
use super::load::{Content, Durable, Load};
use crate::notation::{Pattern, TestSpec};
use crate::options::{Direction, Options};

/// A seed of the plan: any will do, and the same command gives the same plan.
const SEED: u64 = 1;

/// Builds commands and a plan that do to a drive what `loads` are meant to do.
pub(super) fn of(loads: &[Load]) -> Equivalent {
    let mut differs = Vec::new();
    let mut note = |text: &str| {
        if !differs.iter().any(|known| known == text) {
            differs.push(text.to_owned());
        }
    };
    let useful: Vec<&Load> = loads.iter().filter(|load| load.way != Way::Memory).collect();
    if useful.is_empty() {
        note("nothing of it is I/O on a drive");
        return Equivalent { commands: Vec::new(), plan: None, differs };
    }
    for load in &useful {
        differences(load, &mut note);
    }
    let together = useful.iter().any(|a| useful.iter().filter(|b| b.group == a.group).count() > 1);
    if together {
        note("jobs that would run at the same time are measured one after the other");
    }
    let plan = plan(&useful).filter(|plan| plan.check().is_ok());
    if plan.is_none() {
        note("this has no plan, since its sizes or counts are beyond what a plan may have");
    }
    let commands = commands(&useful, plan.is_some());
    Equivalent { commands, plan, differs }
}

fn differences(load: &Load, note: &mut impl FnMut(&str)) {
    if load.offset > 0 && region(load).is_none() && place(load).starts_with("/dev/") {
        note(
            "16 GiB are gone over from where it begins, since the command does not say where it ends",
        );
    }
    if load.time.is_none() {
        note("mark ends a run by time (3 s, after 1 s of warm-up); the plan ends it by bytes");
    }
    if load.sharers() > 1 && !load.order.is_random() {
        note(
            "threads have a part of the data each, with one cursor for its queue, so that no data come twice",
        );
    }
    if matches!(load.order, Order::PrivateCursors { cursors } if cursors > 1) && load.sharers() == 1
    {
        note("one cursor serves the whole queue, so that no data come twice");
    }
    if load.order == Order::RandomOnce {
        note(
            "random addresses are drawn each from all, as an application's are, and not each once",
        );
    }
    if matches!(load.order, Order::Strided { .. } | Order::SameBlock | Order::Other) {
        note("steps and uneven draws are not in the plan: it goes in order, or uniformly");
    }
    if matches!(load.order, Order::RandomFree { align_bytes } if load.block() != Some(align_bytes))
    {
        note("random offsets are multiples of the block");
    }
    if load.files > 1 || (load.own_files && load.copies > 1) {
        note("one file or device is used, as large as all of them together");
    }
    if load.block().is_none() {
        note("blocks of several sizes are those of the plan; mark takes the largest");
    }
    if matches!(load.durable, Durable::Every(_)) {
        note("each write is durable, instead of every Nth");
    }
    if load.depth.0 > load.depth.1 {
        note("the depth is the one that was asked for, and is kept");
    }
    if load.reads_back {
        note("nothing is read back");
    }
    if load.way == Way::PageCache {
        note("the page cache is bypassed; add --buffered to measure it on purpose");
    }
    if load.writes() && matches!(load.content, Content::Zeros | Content::Repeated) {
        note("what is written neither compresses nor repeats");
    }
}

/// Bytes that all copies go over.
fn region(load: &Load) -> Option<Bytes> {
    let whole = match load.order {
        Order::RandomOnce | Order::RandomFree { .. } | Order::Other | Order::Strided { .. } => {
            load.span.map(|span| {
                let others = (load.sharers() - 1).saturating_mul(load.increment);
                let files = if load.own_files {
                    load.files.saturating_mul(load.copies)
                } else {
                    load.files
                };
                let all = span.saturating_add(others).saturating_mul(files);
                all.min(load.limit.unwrap_or(u64::MAX))
            })
        }
        // A short last transfer is left out.
        _ => load.reach().map(|bytes| match load.block() {
            Some(block) if load.short_end => bytes / block * block,
            _ => bytes,
        }),
    };
    whole.filter(|bytes| *bytes > 0).map(Bytes)
}

/// Gone over from an offset on, where the command names no end.
const FROM_OFFSET: Bytes = Bytes::gib(16);

fn depth(load: &Load) -> u16 {
    u16::try_from(load.depth.0).unwrap_or(u16::MAX)
}

fn test(load: &Load) -> Option<TestSpec> {
    let pattern = if load.order.is_random() { Pattern::Random } else { Pattern::Sequential };
    let threads = u16::try_from(load.copies).ok()?;
    let spec = TestSpec { pattern, block: Bytes(load.block_max()), depth: depth(load), threads };
    // Only what can be read back.
    spec.to_string().parse().ok()
}

/// Flags of consent, with a placeholder: the serial number is printed on the drive, and is not part of the command.
const CONSENT: &str = " --write --consent SERIAL";

const READING: &str = "--read-only";
const WRITING: &str = "--write-only";

/// A line of `mark`.
struct Line {
    place: String,
    tests: Vec<String>,
    /// Flags after the tests.
    flags: String,
}

/// Lines of `mark`, one for all tests that have the rest in common; of mixes and paced loads, a line that runs the plan.
fn commands(loads: &[&Load], has_plan: bool) -> Vec<String> {
    let mut lines: Vec<Line> = Vec::new();
    let mut planned: BTreeSet<String> = BTreeSet::new();
    for load in loads {
        let is_plain = load.read_percent == 0 || load.read_percent == 100;
        let Some(test) = test(load).filter(|_| is_plain && load.rate.is_none()) else {
            let may = if load.writes() && is_device(load) { CONSENT } else { "" };
            planned.insert(format!("{}{may}", place(load)));
            continue;
        };
        let (place, flags) = (place(load), flags(load));
        let name: String = test.to_string().split_whitespace().collect();
        match lines.iter_mut().find(|line| line.place == place && line.flags == flags) {
            Some(line) if line.tests.contains(&name) => {}
            Some(line) => line.tests.push(name),
            None => lines.push(Line { place, tests: vec![name], flags }),
        }
    }
    both_ways(&mut lines);
    let mut commands: Vec<String> = lines
        .iter()
        .map(|Line { place, tests, flags }| {
            format!("drivescope mark {place} --tests {} {flags}", tests.join(","))
        })
        .collect();
    if has_plan {
        commands
            .extend(planned.into_iter().map(|place| format!("drivescope run PLAN.toml {place}")));
    }
    commands
}

/// Merges a line that reads and one that writes, if they are otherwise the same: `mark` does both.
fn both_ways(lines: &mut Vec<Line>) {
    for index in (0..lines.len()).rev() {
        let writing = lines[index].flags.replacen(READING, WRITING, 1);
        let is_twin = |other: &Line| {
            other.place == lines[index].place
                && other.tests == lines[index].tests
                && other.flags == writing
        };
        let twin = lines.iter().position(is_twin).filter(|twin| *twin != index);
        if let Some(twin) = twin {
            lines[index].flags = lines[index].flags.replacen(READING, "", 1).trim().to_owned();
            lines.remove(twin);
        }
    }
}

/// The directory of a file, or the device.
fn place(load: &Load) -> String {
    // No flag, whatever it is called.
    let quoted = |text: &str| match text.starts_with('-') {
        true => block::quoted(&format!("./{text}")),
        false => block::quoted(text),
    };
    match load.targets.first() {
        None => ".".to_owned(),
        Some(path) if path.starts_with("/dev/") => quoted(path),
        Some(path) => match path.rsplit_once('/') {
            Some(("", _)) => "/".to_owned(),
            Some((directory, _)) => quoted(directory),
            None => ".".to_owned(),
        },
    }
}

/// The flag that says how much is used, and of a device from where. Of a device it has to say so even where the command leaves
/// it to the device: `mark` takes only the first GiB by itself.
fn extent(load: &Load) -> Option<String> {
    let region = region(load);
    match (place(load).starts_with("/dev/"), load.offset) {
        (false, _) => region.map(|bytes| format!("--size {bytes}")),
        (true, 0) => {
            Some(region.map_or("--span all".to_owned(), |bytes| format!("--span {bytes}")))
        }
        (true, offset) => {
            Some(format!("--span {}+{}", Bytes(offset), region.unwrap_or(FROM_OFFSET)))
        }
    }
}

fn is_device(load: &Load) -> bool {
    place(load).starts_with("/dev/")
}

fn flags(load: &Load) -> String {
    let mut flags = vec![if load.reads() { READING } else { WRITING }.to_owned()];
    if let Some(time) = load.time.filter(|time| time.0 > 0) {
        flags.push(format!("--duration {time}"));
        if load.warm_up > Nanos::ZERO {
            flags.push(format!("--warm-up {}", load.warm_up));
        }
    }
    flags.extend(extent(load));
    if load.writes() && matches!(load.durable, Durable::Each | Durable::Every(_)) {
        flags.push("--dsync".to_owned());
    }
    if let (true, Content::Shares(packs, repeats)) = (load.writes(), load.content) {
        flags.push(format!("--compressible {packs} --dedup {repeats}"));
    }
    if load.writes() && is_device(load) {
        flags.push(CONSENT.trim_start().to_owned());
    }
    flags.join(" ")
}

fn plan(loads: &[&Load]) -> Option<Plan> {
    let mut steps: Vec<Step> = Vec::new();
    let parts = Parts::of(loads);
    for load in loads {
        let mut name = load.name.clone();
        for again in 2.. {
            if !steps.iter().any(|step| step.name == name) {
                break;
            }
            name = format!("{} ({again})", load.name);
        }
        steps.push(step(load, name, parts.within(load))?);
    }
    let content = loads.iter().find_map(|load| match load.content {
        Content::Shares(packs, repeats) if load.writes() => {
            Some(PlanContent { compressible_percent: packs, dedup_percent: repeats })
        }
        _ => None,
    });
    Some(Plan {
        schema: SCHEMA.to_owned(),
        seed: SEED,
        region: parts.whole,
        content: content.unwrap_or_default(),
        schedule: Schedule { runs: Options::RUNS, pause: Options::PAUSE, ..Schedule::default() },
        steps,
    })
}

/// Regions of a target that loads use.
struct Parts {
    /// Region that contains all of them; `None` if one of them extends to the end of the target.
    whole: Option<Region>,
}

impl Parts {
    fn of(loads: &[&Load]) -> Parts {
        let parts: Option<Vec<Region>> = loads.iter().map(|load| part(load)).collect();
        let parts = parts.unwrap_or_default();
        let begin = parts.iter().map(|part| part.offset.0).min();
        let end = parts.iter().map(|part| part.offset.0.saturating_add(part.length.0)).max();
        let whole = begin
            .zip(end)
            .map(|(begin, end)| Region { offset: Bytes(begin), length: Bytes(end - begin) });
        Parts { whole }
    }

    /// The part of `load`, from the beginning of what holds all; none when it is that.
    fn within(&self, load: &Load) -> Option<Region> {
        let part = part(load)?;
        match self.whole {
            Some(whole) if whole == part => None,
            Some(whole) => Some(Region { offset: Bytes(part.offset.0 - whole.offset.0), ..part }),
            // The size of a file that is only created for the load is not stated.
            None => place(load).starts_with("/dev/").then_some(part),
        }
    }
}

/// Region of `load`, on a device or in a file that is made for it.
fn part(load: &Load) -> Option<Region> {
    let unit = if load.block_max().is_multiple_of(4096) { 4096 } else { 512 };
    // Each copy has room for a block at least, and in sequence for a pass: what copies share, the plan parts among them.
    let of_copy = load.pass().filter(|_| !load.order.is_random()).unwrap_or(0);
    let least = of_copy.max(load.block_max()).checked_mul(load.copies)?;
    let length = Bytes(region(load)?.0.max(least).checked_next_multiple_of(unit)?);
    Some(Region { offset: Bytes(if is_device(load) { load.offset } else { 0 }), length })
}

fn step(load: &Load, name: String, region: Option<Region>) -> Option<Step> {
    let depth = depth(load);
    let submitters = u16::try_from(load.copies).ok()?;
    let block = load.block_max();
    let arrival = match load.rate {
        Some(rate) => {
            Arrival::Timed { depth, per_s: rate / load.block_mean(), gaps: Gaps::Constant }
        }
        None => Arrival::ClosedLoop { depth },
    };
    let durable = matches!(load.durable, Durable::Each | Durable::Every(_));
    let direction = match load.read_percent {
        0 => Direction::Write,
        100 => Direction::Read,
        percent => Direction::Mix(percent),
    };
    let phase = |name: &str, measured, stop| Phase {
        name: name.to_owned(),
        measured,
        block: Bytes(block),
        blocks: Vec::new(),
        address: match load.order.is_random() {
            true => Address::Random,
            false => Address::Sequential { share: Share::Partition },
        },
        stop,
        arrival,
        ops: direction.ops(durable),
        region,
    };
    let mut phases = Vec::new();
    if load.warm_up > Nanos::ZERO {
        phases.push(phase("warm-up", false, Stop { after: Some(load.warm_up), ..Stop::default() }));
    }
    let bytes = load.bytes.map(|bytes| Bytes(bytes.saturating_mul(load.copies)));
    let mut stop = Stop { after: load.time, bytes, ..Stop::default() };
    if stop.after.is_none() && stop.bytes.is_none() {
        stop.after = Some(Options::DURATION);
    }
    phases.push(phase("measure", true, stop));
    if load.writes() {
        let flush = Stop { ios: Some(u64::from(submitters)), ..Stop::default() };
        let ops = vec![OpShare { op: Op::Flush, fua: false, percent: 100 }];
        let arrival = Arrival::ClosedLoop { depth };
        phases.push(Phase { ops, arrival, ..phase("flush", false, flush) });
    }
    Some(Step { name, submitters, order: None, engine: None, phases })
}
