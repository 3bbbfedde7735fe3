//! Load of one job of fio.

use block::{Bytes, Nanos};
use stats::remedy::Command;
use stats::{Caveat, Remedy};

use super::engine::{Engine, engine};
use super::known::{self, Kind};
use super::sections::Job;
use super::span::{Span, span, transferred};
use crate::explain::error::ExplainError;
use crate::explain::explained::{Order, Way};
use crate::explain::load::{Content, Durable, Load};

/// fio's default block (HOWTO, "blocksize").
const BLOCK: u64 = 4096;
/// Share of reads of a mix by default, in percent.
const MIX: u64 = 50;

/// Value of `rw`.
struct Direction<'a> {
    reads: bool,
    writes: bool,
    random: bool,
    suffix: Option<&'a str>,
}

/// Reads the options of `job`, for all of its copies or for one of them; `target` is the size of what it works on, where that is known.
pub(super) fn load(
    job: &Job,
    target: Option<u64>,
    copy: Option<u64>,
) -> Result<Load, ExplainError> {
    let direction = direction(job)?;
    let read_percent = read_percent(job, &direction)?;
    let (blocks, read_share) = blocks(job, &direction, read_percent)?;
    let mut load = Load::new(&job.name, BLOCK);
    (load.blocks, load.read_percent, load.read_share) =
        (blocks, read_percent, Some(read_share).filter(|share| share.is_finite()));
    load.cursor_each = !direction.random;
    load.copies = job.number("numjobs")?.unwrap_or(1).clamp(1, 1 << 16);
    let span = span(job, target, copy)?;
    if copy.is_some() {
        load.copies = 1;
    }
    (load.files, load.span) = (span.files, span.bytes);
    (load.offset, load.increment) = (span.offset, span.increment);
    names(job, &mut load);
    load.order = order(job, &direction, &load)?;
    if let (Some(span), Some(block)) = (load.span, load.block())
        && span < block
        && load.order != Order::SameBlock
    {
        let what = format!(
            "is {} for each file, less than a block of {}; take a larger one",
            Bytes(span).human(),
            Bytes(block).human()
        );
        return Err(job.error("size", what));
    }
    ends(job, &direction, &span, &mut load)?;
    let zoned = job.text("zonemode").is_some_and(|mode| mode != "none");
    if !zoned && job.number("zonesize")?.is_some_and(|bytes| bytes > 0) {
        return Err(job.error("zonesize", "fio refuses it without zonemode; add zonemode=strided"));
    }
    // Random I/O in blocks that differ by direction ends where fio's map has no room left, which is not known here.
    let by_direction = direction.random
        && job.text("bs").is_some_and(|text| {
            text.split_once(',').is_some_and(|(first, rest)| rest.split(',').any(|b| b != first))
        });
    if zoned || by_direction {
        (load.order, load.bytes) = (Order::Other, None);
    }
    if job.switch("create_only")? {
        (load.bytes, load.time) = (Some(0), None);
    }
    issued(job, &mut load)?;
    written(job, &mut load)?;
    let repeats =
        job.maybe_switch("randrepeat")?.or(job.maybe_switch("allrandrepeat")?) != Some(false);
    load.same_each_time = load.order.is_random() && (repeats || job.given("randseed").is_some());
    let is_device =
        load.targets.iter().all(|name| name.starts_with("/dev/")) && !load.targets.is_empty();
    let makes = load.reads() || job.switch("overwrite")?;
    load.laid_out = makes && !is_device && load.way != Way::Memory;
    doubts(job, &mut load)?;
    Ok(load)
}

fn direction(job: &Job) -> Result<Direction<'_>, ExplainError> {
    let text = job.text("rw").unwrap_or("read");
    let (word, suffix) =
        text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
    let of = |reads, writes, random| Ok(Direction { reads, writes, random, suffix });
    match word.trim() {
        "read" => of(true, false, false),
        "write" => of(false, true, false),
        "randread" => of(true, false, true),
        "randwrite" => of(false, true, true),
        "rw" | "readwrite" => of(true, true, false),
        "randrw" => of(true, true, true),
        word if word.contains("trim") => Err(job.error(
            "rw",
            format!("`{word}` discards, which is not explained; take reads and writes"),
        )),
        word => Err(job.error(
            "rw",
            format!(
                "`{word}` is not a pattern of fio's; write such as read, randread, write or randrw"
            ),
        )),
    }
}

fn read_percent(job: &Job, direction: &Direction<'_>) -> Result<u8, ExplainError> {
    let share = |name: &str| -> Result<Option<u64>, ExplainError> {
        match job.number(name)? {
            Some(share) if share > 100 => {
                Err(job.error(name, format!("{share} is not a share from 0 to 100")))
            }
            share => Ok(share),
        }
    };
    let reads =
        share("rwmixread")?.or(share("rwmixwrite")?.map(|writes| 100 - writes)).unwrap_or(MIX);
    Ok(match (direction.reads, direction.writes) {
        (true, false) => 100,
        (false, _) => 0,
        (true, true) => u8::try_from(reads).unwrap_or(100),
    })
}

/// Sizes of transfers with their shares, and the share of bytes that are read. `bs=4k,8k` names reads and writes; with one size
/// it is for both.
fn blocks(
    job: &Job,
    direction: &Direction<'_>,
    read_percent: u8,
) -> Result<(Vec<(u64, f64)>, f64), ExplainError> {
    let part = |text: &str, is_read: bool| -> String {
        let mut parts = text.split(',').map(str::trim);
        let first = parts.next().unwrap_or_default();
        let of_writes = parts.next().filter(|part| !part.is_empty()).unwrap_or(first);
        if is_read { first.to_owned() } else { of_writes.to_owned() }
    };
    let sizes = |is_read: bool| -> Result<Vec<(u64, f64)>, ExplainError> {
        if let Some(text) = job.text("bssplit") {
            return split(job, &part(text, is_read));
        }
        if let Some(text) = job.text("bsrange") {
            let text = part(text, is_read);
            let (low, high) = text.split_once(['-', ':']).ok_or_else(|| {
                job.error("bsrange", format!("`{text}` is not a range; write such as 4k-16k"))
            })?;
            let (low, high) = (job.bytes_of("bsrange", low)?, job.bytes_of("bsrange", high)?);
            let (low, high) = (low.min(high), low.max(high));
            return Ok(vec![(low, 50.0), (high, 50.0)]);
        }
        match job.text("bs") {
            Some(text) => Ok(vec![(job.bytes_of("bs", &part(text, is_read))?, 100.0)]),
            None => Ok(vec![(BLOCK, 100.0)]),
        }
    };
    let mut blocks = Vec::new();
    let mut moved = [0.0; 2];
    for (is_there, is_read, share) in [
        (direction.reads && read_percent > 0, true, f64::from(read_percent)),
        (direction.writes && read_percent < 100, false, 100.0 - f64::from(read_percent)),
    ] {
        if is_there {
            let of_it = sizes(is_read)?.into_iter();
            let of_it: Vec<_> = of_it.map(|(block, of)| (block, of * share / 100.0)).collect();
            moved[usize::from(!is_read)] = of_it.iter().map(|(block, of)| *block as f64 * of).sum();
            blocks.extend(of_it);
        }
    }
    match blocks.iter().any(|(block, _)| *block == 0 || *block > 1 << 40) {
        true => Err(job.error("bs", "a block has to be from 1 byte to 1 TiB")),
        false => Ok((blocks, moved[0] / (moved[0] + moved[1]))),
    }
}

/// `4k/60:64k/40`; entries without a share have equal parts of what is left.
fn split(job: &Job, text: &str) -> Result<Vec<(u64, f64)>, ExplainError> {
    let mut blocks = Vec::new();
    for entry in text.split(':') {
        let (block, share) = entry.split_once('/').unwrap_or((entry, ""));
        let share = match share.trim() {
            "" => None,
            share => {
                Some(share.parse::<f64>().ok().filter(|s| (0.0..=100.0).contains(s)).ok_or_else(
                    || {
                        job.error(
                            "bssplit",
                            format!("`{entry}` has no share from 0 to 100 behind its slash"),
                        )
                    },
                )?)
            }
        };
        blocks.push((job.bytes_of("bssplit", block)?, share));
    }
    let named: f64 = blocks.iter().filter_map(|(_, share)| *share).sum();
    let open = blocks.iter().filter(|(_, share)| share.is_none()).count().max(1);
    let rest = (100.0 - named).max(0.0) / open as f64;
    Ok(blocks.into_iter().map(|(block, share)| (block, share.unwrap_or(rest))).collect())
}

fn names(job: &Job, load: &mut Load) {
    load.targets = job
        .text("filename")
        .map(|names| names.split(':').map(str::to_owned).collect())
        .unwrap_or_default();
    let directory = job.text("directory").map(|directory| directory.trim_end_matches('/'));
    if let Some(directory) = directory {
        for name in load.targets.iter_mut().filter(|name| !name.starts_with('/')) {
            *name = format!("{directory}/{name}");
        }
    }
    let of_each = load.targets.iter().any(|name| name.contains("$jobnum"));
    load.own_files = load.targets.is_empty() || of_each;
    if let (true, Some(directory)) = (load.targets.is_empty(), directory) {
        load.targets.push(format!("{directory}/"));
    }
}

fn order(job: &Job, direction: &Direction<'_>, load: &Load) -> Result<Order, ExplainError> {
    let partly = job.number("percentage_random")?.is_some_and(|share| share < 100);
    let uneven = job.text("random_distribution").is_some_and(|text| text != "random");
    let Some(block) = load.block() else {
        return Ok(match direction.random {
            true if partly || uneven => Order::Other,
            true => varied(job)?,
            false => Order::Sequential,
        });
    };
    if !direction.random {
        let Some(suffix) = direction.suffix else { return Ok(Order::Sequential) };
        let (back, size) = suffix.strip_prefix('-').map_or((false, suffix), |size| (true, size));
        let gap = job.bytes_of("rw", size)?;
        return Ok(match (back, gap) {
            (_, 0) => Order::Sequential,
            (true, gap) if gap == block => Order::SameBlock,
            (true, _) => Order::Other,
            // If the last step does not end with the span, fio stops instead of wrapping around.
            (false, gap) if load.span.is_some_and(|span| span % block.saturating_add(gap) == 0) => {
                Order::Strided { step_bytes: block.saturating_add(gap) }
            }
            (false, _) => Order::Other,
        });
    }
    let runs = direction.suffix.and_then(|suffix| suffix.trim().parse::<u64>().ok()).unwrap_or(1);
    if runs > 1 || partly || uneven {
        return Ok(Order::Other);
    }
    let align = job
        .text("ba")
        .map(|text| job.bytes_of("ba", text.split(',').next().unwrap_or(text)))
        .transpose()?;
    Ok(match (align, job.switch("norandommap")?) {
        // Any alignment turns the map off, says fio.
        (Some(align_bytes), _) if align_bytes > 0 => Order::RandomFree { align_bytes },
        // This generator repeats nothing by itself.
        (_, true) if job.text("random_generator") == Some("lfsr") => Order::RandomOnce,
        (_, true) => Order::RandomFree { align_bytes: block },
        (_, false) => Order::RandomOnce,
    })
}

/// Random blocks of several sizes: with a map each byte once, else as it comes.
fn varied(job: &Job) -> Result<Order, ExplainError> {
    Ok(if job.switch("norandommap")? || job.given("ba").is_some() {
        Order::Other
    } else {
        Order::RandomOnce
    })
}

fn ends(
    job: &Job,
    direction: &Direction<'_>,
    span: &Span,
    load: &mut Load,
) -> Result<(), ExplainError> {
    let nanos = |seconds: f64| Nanos((seconds * 1e9) as u64);
    let time = job.seconds("runtime", 1.0)?.filter(|seconds| *seconds > 0.0).map(nanos);
    load.time = time;
    load.warm_up = job.seconds("ramp_time", 1.0)?.map_or(Nanos::ZERO, nanos);
    let is_free =
        matches!(load.order, Order::RandomFree { .. } | Order::Other) || load.block().is_none();
    let pass = if load.order == Order::SameBlock { load.span } else { load.pass() };
    // In steps too, as many bytes are transferred as there are in the span: it is gone through several times.
    let pass = if matches!(load.order, Order::Strided { .. }) {
        load.span.map(|s| s.saturating_mul(load.files))
    } else {
        pass
    };
    let bytes = transferred(job, span, pass, load.block(), is_free)?;
    load.bytes = bytes.filter(|_| !(job.switch("time_based").unwrap_or(false) && time.is_some()));
    if !direction.random && load.order == Order::Other {
        // Steps that do not come out even: fio ends with the span, somewhere before its bytes.
        load.bytes = None;
    }
    Ok(())
}

fn issued(job: &Job, load: &mut Load) -> Result<(), ExplainError> {
    let asked = job.number("iodepth")?.unwrap_or(1).max(1);
    let direct = job
        .maybe_switch("direct")?
        .or(job.maybe_switch("buffered")?.map(|on| !on))
        .unwrap_or(false);
    let name = job.text("ioengine").unwrap_or("psync");
    let name = name.split(':').next().unwrap_or(name);
    let Engine { depth, way, is_storage, is_known } = engine(name, asked, direct);
    load.depth = (asked, depth);
    load.way = way;
    if !is_storage {
        load.doubts.push(Caveat::new(
            "no_drive",
            &load.name,
            format!("the engine {name} does no I/O on a drive: what is measured is fio"),
            Command::StorageEngine,
        ));
    } else if !is_known {
        load.doubts.push(Caveat::new(
            "engine_not_predicted",
            &load.name,
            format!("how the engine {name} issues I/O is not known here; it is taken to keep {depth} outstanding"),
            Command::PredictableEngine,
        ));
    }
    let of = |name: &str| -> Result<Option<u64>, ExplainError> {
        let Some(text) = job.text(name) else { return Ok(None) };
        let mut parts = text.split(',').map(str::trim);
        let first = parts.next().unwrap_or_default();
        let other = parts.next().filter(|part| !part.is_empty()).unwrap_or(first);
        let part = if load.reads() { first } else { other };
        if part.is_empty() { Ok(None) } else { job.bytes_of(name, part).map(Some) }
    };
    let per_s = match (of("rate")?, of("rate_iops")?) {
        (Some(rate), _) => Some(rate as f64),
        (None, Some(iops)) => Some(iops as f64 * load.block_mean()),
        (None, None) => None,
    };
    // Each direction of a mix is paced by itself, and in what proportion the other follows is not known.
    load.rate = per_s.filter(|rate| *rate > 0.0 && !(load.reads() && load.writes()));
    if per_s.is_some() && load.rate.is_none() {
        load.doubts.push(not_predicted(&load.name, &["rate"]));
    }
    Ok(())
}

fn written(job: &Job, load: &mut Load) -> Result<(), ExplainError> {
    let sync = job.text("sync").is_some_and(|text| !["0", "none"].contains(&text))
        || job.given("sync").is_some_and(|given| given.value.is_none());
    let every = job.number("fsync")?.or(job.number("fdatasync")?).filter(|writes| *writes > 0);
    load.durable = match (sync, every) {
        (true, _) => Durable::Each,
        (false, Some(writes)) => Durable::Every(writes),
        (false, None) if job.switch("end_fsync")? || job.switch("fsync_on_close")? => {
            Durable::AtEnd
        }
        (false, None) => Durable::No,
    };
    let share = |name: &str| -> Result<u8, ExplainError> {
        Ok(u8::try_from(job.number(name)?.unwrap_or(0).min(100)).unwrap_or(100))
    };
    let (packs, repeats) = (share("buffer_compress_percentage")?, share("dedupe_percentage")?);
    load.content = if job.switch("zero_buffers")? {
        Content::Zeros
    } else if job.given("buffer_pattern").is_some() {
        Content::Repeated
    } else if packs + repeats > 0 {
        Content::Shares(packs, repeats)
    } else if !job.switch("refill_buffers")? && job.maybe_switch("scramble_buffers")? == Some(false)
    {
        Content::Repeated
    } else {
        Content::Random
    };
    let verify = job.text("verify").is_some_and(|text| !["0", "none"].contains(&text));
    load.reads_back = verify && load.writes() && job.maybe_switch("do_verify")? != Some(false);
    Ok(())
}

fn doubts(job: &Job, load: &mut Load) -> Result<(), ExplainError> {
    let name = load.name.clone();
    let mut found = Vec::new();
    let mut add = |code: &str, cause: String, remedy: Remedy| {
        found.push(Caveat::new(code, &name, cause, remedy));
    };
    let has_time = load.time.is_some();
    if job.switch("time_based")? && !has_time {
        let cause = "time_based without runtime does nothing: the job ends when its data do";
        add("time_based_without_runtime", cause.to_owned(), Command::AddRuntime.into());
    }
    if load.warm_up > Nanos::ZERO && load.bytes.is_some() {
        let cause = format!(
            "what is transferred in the {} of ramp_time counts towards size, and not towards the figures",
            load.warm_up
        );
        add("ramp_uses_size", cause, Command::EndByTime.into());
    }
    if job.switch("create_only")? {
        let cause = "create_only writes the file and issues nothing of the job".to_owned();
        add("nothing_issued", cause, Command::LetItRun.into());
    }
    if job.maybe_switch("invalidate")? == Some(false) && load.way == Way::PageCache && load.reads()
    {
        let cause = "invalidate=0 leaves in the page cache what laying the file out has put there"
            .to_owned();
        add("warm_cache", cause, Command::ColdDirectReads.into());
    }
    if job.given("steadystate").is_some() {
        let cause = "fio's steadystate ends the job when a short window is flat, which a fresh drive is as well".to_owned();
        add("ends_when_flat", cause, Command::PreconditionAndJudge.into());
    }
    if job.given("thinktime").is_some() {
        let cause = "thinktime idles between I/Os: the rate is that of the pauses, and a drive that sleeps wakes up each time".to_owned();
        add("paced", cause, Command::NoPauses.into());
    }
    if load.rate.is_some() {
        let cause = "the rate is given: a faster drive measures no more, and fio counts latency from when it gets to an I/O".to_owned();
        add("paced", cause, Command::IntendedTimes.into());
    }
    // Of a standard's suffix fio makes the other one.
    let reversed = ["bs", "size", "filesize", "io_size", "offset", "offset_increment"]
        .into_iter()
        .filter(|option| {
            job.text(option).is_some_and(|text| text.to_ascii_lowercase().contains("ib"))
        })
        .collect::<Vec<_>>();
    if !reversed.is_empty() && job.kb_base() == 1024 {
        let cause = format!(
            "fio reads KiB, MiB and GiB as powers of 1000 (kb_base=1024): {} is smaller than it looks",
            reversed.join(", ")
        );
        add("units_reversed", cause, Command::BinaryUnits.into());
    }
    let mut strange = Vec::new();
    for name in job.names().filter(|name| known::kind(name) == Kind::NotPredicted) {
        let Some(meant) = known::meant(name) else {
            strange.push(name);
            continue;
        };
        let cause = format!("fio has no option {name}, and refuses to run");
        add("no_such_option", cause, Remedy::WriteOption { option: meant.to_owned() });
    }
    if !strange.is_empty() {
        found.push(not_predicted(&name, &strange));
    }
    load.doubts.extend(found);
    Ok(())
}

fn not_predicted(job: &str, options: &[&str]) -> Caveat {
    let options = options.join(", ");
    Caveat::new(
        "not_predicted",
        job,
        format!(
            "what {options} does to the I/O is not predicted here; the prediction may be wrong"
        ),
        Command::LookAtAddresses,
    )
}
