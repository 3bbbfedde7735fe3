//! diskspd for Linux, as it is and not as it is documented: what its source does with offsets, seeds and alignment.
//!
//! github.com/microsoft/diskspd-for-linux: `thread.cc` (each I/O outstanding continues from its own last offset; each
//! thread has the same seed), `target.h` (threads begin at the same place), `options.h` (`-r` alone keeps 64 KiB).
//! A command that only diskspd for Windows understands is explained as that program's notes describe it; it was not run.

mod windows;

use block::{Bytes, Nanos};
use stats::Caveat;
use stats::remedy::Command;

use super::error::ExplainError;
use super::explained::{Order, Way};
use super::load::{Content, Durable, Load};
use crate::diskspd::{Engine, Fill, Options, Seed};
use windows::Windows;

/// Alignment of `-r` without a size.
const ALIGN: u64 = 64 << 10;

/// Variant of diskspd that the command is for.
struct Program {
    /// True for diskspd for Windows.
    windows: bool,
    /// Options that only that one accepts.
    only: Windows,
}

/// The loads of diskspd with these options; `target` is the size of what it works on, where that is known, and `exe` that
/// the program's name is one of Windows's.
pub(super) fn loads(
    words: &[String],
    target: Option<u64>,
    exe: bool,
) -> Result<Vec<Load>, ExplainError> {
    let (kept, mut only) = windows::read(words);
    let options =
        Options::parse(&kept).map_err(|error| ExplainError::value("diskspd", error.to_string()))?;
    for option in &options.windows {
        // The replacement of another option was noted as it was typed.
        if words.contains(option) && !only.told_by.contains(option) {
            only.told_by.push(option.clone());
        }
    }
    let program = Program { windows: exe || !only.told_by.is_empty(), only };
    Ok(options.targets.iter().map(|path| load(&options, &program, path, target)).collect())
}

fn load(options: &Options, program: &Program, path: &str, target: Option<u64>) -> Load {
    let mut load = Load::new("diskspd", options.block);
    load.targets = vec![path.to_owned()];
    load.copies = u64::from(options.threads_of_target());
    load.read_percent = 100 - options.write_percent;
    let end = match (options.end, options.create.or(target)) {
        (Some(end), Some(size)) => Some(end.min(size)),
        (end, size) => end.or(size),
    };
    load.span = end.map(|end| end.saturating_sub(options.base_offset));
    // Random offsets are drawn from all of it, wherever a thread begins.
    let apart = options.thread_stride.unwrap_or(0);
    load.increment = if options.random.is_some() { 0 } else { apart };
    // A thread that comes to the end continues from its beginning, so that none is beyond it.
    load.limit = load.span;
    load.offset = options.base_offset;
    load.time = Some(Nanos::secs(u64::from(options.duration_s)));
    load.warm_up = Nanos::secs(u64::from(options.warm_up_s) + u64::from(options.cool_down_s));
    load.rate = match program.only.iops {
        Some(ios) => Some(ios as f64 * options.block as f64),
        None => options.bytes_per_ms.map(|bytes| bytes as f64 * 1000.0),
    };
    load.way = if options.caching.direct { Way::Direct } else { Way::PageCache };
    let asked = u64::from(options.depth);
    // The kernel does buffered I/O within io_submit(2), which returns when it is done.
    let is_libaio = options.engine == Engine::Libaio && !program.windows;
    let one = load.way == Way::PageCache && is_libaio;
    load.depth = (asked, if one { 1 } else { asked });
    load.durable = if options.caching.durable { Durable::Each } else { Durable::No };
    load.content = match options.buffers.fill {
        // A doubt of its own describes a buffer with a size.
        _ if program.only.source.is_some() => Content::Unknown,
        Fill::Zeros => Content::Zeros,
        Fill::Random if program.windows => Content::Random,
        Fill::Ramp | Fill::Random => Content::Repeated,
    };
    match program.windows {
        true => order_on_windows(options, &mut load),
        false => order(options, asked, &mut load),
    }
    doubts(options, program, &mut load);
    load
}

fn order(options: &Options, depth: u64, load: &mut Load) {
    if let Some(random) = options.random {
        let align_bytes = random.align.unwrap_or(ALIGN);
        load.order =
            if random.percent.is_some() { Order::Other } else { Order::RandomFree { align_bytes } };
        load.alike = true;
        load.same_each_time = options.seed != Seed::Fresh;
        return;
    }
    let stride = options.stride.unwrap_or_default();
    let step = stride.bytes.unwrap_or(options.block);
    load.order = match (stride.interlocked, step == options.block) {
        // One cursor for all: as if each thread had a part of its own.
        (true, true) => {
            load.span = load.span.map(|span| span / load.copies);
            load.increment = load.span.unwrap_or(0).max(1);
            Order::Sequential
        }
        // A thread with a single cursor is plain sequential, as in any program.
        (false, true) if depth == 1 => Order::Sequential,
        (false, true) => Order::PrivateCursors { cursors: depth },
        (true, false) if step > options.block => {
            load.span = load.span.map(|span| span / load.copies);
            load.increment = load.span.unwrap_or(0).max(1);
            Order::Strided { step_bytes: step }
        }
        (false, false) if step > options.block => {
            load.cursors = depth;
            Order::Strided { step_bytes: step }
        }
        (_, false) => Order::Other,
    };
}

/// One cursor for a thread's queue, a seed for each thread, and random offsets that are multiples of the block.
fn order_on_windows(options: &Options, load: &mut Load) {
    match options.random {
        Some(random) => {
            let align_bytes = random.align.unwrap_or(options.block);
            let is_mix = random.percent.is_some();
            load.order = if is_mix { Order::Other } else { Order::RandomFree { align_bytes } };
            load.same_each_time = options.seed != Seed::Fresh;
        }
        None => order(options, 1, load),
    }
}

fn doubts(options: &Options, program: &Program, load: &mut Load) {
    let writes = load.writes();
    let mut add = |code: &str, cause: String, remedy: Command| {
        load.doubts.push(Caveat::new(code, "diskspd", cause, remedy));
    };
    if !program.only.strange.is_empty() {
        let cause = format!(
            "what {} does is not predicted here; the prediction may be wrong",
            program.only.strange.join(", ")
        );
        add("not_predicted", cause, Command::LeaveOut);
    }
    if let Some(source) = program.only.source.as_ref().filter(|_| writes) {
        let cause = format!(
            "all that is written is taken from {source} of random bytes: it does not compress, and repeats"
        );
        add("same_content", cause, Command::GeneratedData);
    }
    if program.windows {
        let why = match program.only.told_by.is_empty() {
            true => "the program's name is that of".to_owned(),
            false => format!("{}: known only to", program.only.told_by.join(", ")),
        };
        let cause = format!(
            "{why} diskspd for Windows: this follows its description and was not run; the one for Linux does otherwise"
        );
        add("of_windows", cause, Command::LineForLinux);
        return;
    }
    if options.random.is_some_and(|random| random.align.is_none()) && options.block != ALIGN {
        let cause = format!(
            "-r without a size draws multiples of {}, and not of the block: no other {} are ever touched",
            Bytes(ALIGN).human(),
            Bytes(options.block).human()
        );
        add("aligned_to_64k", cause, Command::StateAlignment);
    }
    if options.latency && options.warm_up_s == 0 {
        let cause = "with -W0 the first latencies are of I/Os whose beginning was never noted: hours, or nothing".to_owned();
        add("latency_of_garbage", cause, Command::WarmUpOrNoLatency);
    }
    add(
        "units",
        "its MB/s are MiB/s (4.9% less than MB/s), over the time that was asked for and not the one it took".to_owned(),
        Command::ConvertMib,
    );
    if options.caching.direct {
        let cause = "its buffers are aligned to 512 bytes: btrfs then reads through the page cache, without a word".to_owned();
        add("buffers_misaligned", cause, Command::OtherFilesystem);
    }
    if options.create.is_some() {
        let cause = "-c fills the file with a ramp of bytes that compresses to nothing, and takes a file that is there as it is".to_owned();
        add("file_compresses", cause, Command::RandomFile);
    }
}
