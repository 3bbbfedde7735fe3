//! dd of GNU coreutils: `if`, `of`, `bs`, `count`, `skip`, `seek`, `iflag`, `oflag` and `conv`.

use block::Bytes;
use stats::Caveat;
use stats::remedy::Command;

use super::error::ExplainError;
use super::explained::Way;
use super::load::{Content, Durable, Load};

/// dd's default block (coreutils manual, "dd invocation").
const BLOCK: u64 = 512;

/// Source of bytes that costs no I/O.
const ZEROS: &str = "/dev/zero";
const RANDOM: [&str; 2] = ["/dev/urandom", "/dev/random"];
const NOWHERE: &str = "/dev/null";

/// No read(2) or write(2) of Linux transfers more than this.
const CALL_MAX: u64 = 0x7fff_f000;

#[derive(Default)]
struct Given {
    input: Option<String>,
    output: Option<String>,
    ibs: Option<u64>,
    obs: Option<u64>,
    count: Option<u64>,
    count_is_bytes: bool,
    skip: Option<(u64, bool)>,
    seek: Option<(u64, bool)>,
    iflag: Vec<String>,
    oflag: Vec<String>,
    conv: Vec<String>,
    strange: Vec<String>,
}

/// The loads of dd with these operands; `target` is the size of what is read, where that is known.
pub(super) fn loads(words: &[String], target: Option<u64>) -> Result<Vec<Load>, ExplainError> {
    let given = read(words)?;
    let mut loads = Vec::new();
    let copies = |load: &mut Load, block: u64, flags: &[String]| {
        let has = |flag: &str| flags.iter().any(|given| given == flag);
        load.blocks = vec![(block.min(CALL_MAX), 100.0)];
        load.short_end = true;
        load.way = if has("direct") { Way::Direct } else { Way::PageCache };
        if has("dsync") || has("sync") {
            load.durable = Durable::Each;
        }
    };
    let (ibs, obs) = (given.ibs.unwrap_or(BLOCK), given.obs.unwrap_or(BLOCK));
    let place = |given: Option<(u64, bool)>, block: u64| match given {
        Some((count, true)) => count,
        Some((count, false)) => count.saturating_mul(block),
        None => 0,
    };
    let (skipped, sought) = (place(given.skip, ibs), place(given.seek, obs));
    // A read that was cut short counts as a block, unless fullblock asks for the rest of it.
    let is_full = given.iflag.iter().any(|flag| flag == "fullblock");
    let a_read = if is_full { ibs } else { ibs.min(CALL_MAX) };
    let counted = given.count.map(|count| match given.count_is_bytes {
        true => (count / ibs).saturating_mul(a_read).saturating_add((count % ibs).min(a_read)),
        false => count.saturating_mul(a_read),
    });
    let room = target.map(|bytes| bytes.saturating_sub(skipped));
    let bytes = match (counted, room) {
        (Some(counted), Some(room)) => Some(counted.min(room)),
        (counted, room) => counted.or(room),
    };
    let source = given.input.as_deref().unwrap_or("-");
    let is_made = source == ZEROS || RANDOM.contains(&source);
    if !is_made {
        let mut load = Load::new("dd reads", ibs);
        load.targets = vec![source.to_owned()];
        copies(&mut load, ibs, &given.iflag);
        load.durable = Durable::No;
        (load.bytes, load.span, load.offset) = (bytes, bytes, skipped);
        loads.push(load);
    }
    if let Some(output) = given.output.as_deref().filter(|output| *output != NOWHERE) {
        let mut load = Load::new("dd writes", obs);
        load.targets = vec![output.to_owned()];
        copies(&mut load, obs, &given.oflag);
        load.read_percent = 0;
        (load.bytes, load.span, load.offset) = (bytes, bytes, sought);
        let has = |word: &str| given.conv.iter().any(|conv| conv == word);
        if load.durable == Durable::No && (has("fsync") || has("fdatasync")) {
            load.durable = Durable::AtEnd;
        }
        load.content = match source {
            ZEROS => Content::Zeros,
            source if RANDOM.contains(&source) => Content::Random,
            _ => Content::Unknown,
        };
        writing_doubts(&given, source, bytes.is_none(), &mut load);
        loads.push(load);
    }
    if loads.is_empty() {
        return Ok(vec![within_memory(source, ibs, counted)]);
    }
    let Some(first) = loads.first_mut() else { return Ok(loads) };
    if ibs > CALL_MAX && !is_full {
        first.doubts.push(Caveat::new(
            "short_reads",
            "dd",
            "a read transfers 2147479552 bytes at most, and counts as a block of bs even so: less is copied than bs times count",
            Command::WholeBlocks,
        ));
    }
    first.doubts.push(Caveat::new(
        "one_at_a_time",
        "dd",
        "dd has one I/O outstanding and copies between two buffers: a drive that needs more to be busy is not",
        Command::DeeperQueueToo,
    ));
    // Through the page cache most calls find or leave their data in memory; all others wait for the drive.
    let waits = first.way == Way::Direct || first.writes() && first.durable == Durable::Each;
    if first.block_max() < 64 << 10 && !waits {
        let cause = format!(
            "blocks of {} measure the system calls more than the drive",
            Bytes(first.block_max()).human()
        );
        first.doubts.push(Caveat::new("small_blocks", "dd", cause, Command::LargerBlocks));
    }
    if !given.strange.is_empty() {
        let cause = format!(
            "what {} does is not predicted here; the prediction may be wrong",
            given.strange.join(", ")
        );
        first.doubts.push(Caveat::new("not_predicted", "dd", cause, Command::LeaveOut));
    }
    Ok(loads)
}

/// Load of a copy from memory to nowhere.
fn within_memory(source: &str, block: u64, bytes: Option<u64>) -> Load {
    let mut load = Load::new("dd reads", block.min(CALL_MAX));
    load.targets = vec![source.to_owned()];
    load.way = Way::Memory;
    load.short_end = true;
    (load.bytes, load.span) = (bytes, bytes);
    load.doubts.push(Caveat::new(
        "no_drive",
        "dd",
        "nothing but memory is read and written: no drive is reached, and the rate is the processor's",
        Command::NameFile,
    ));
    if bytes.is_none() {
        load.doubts.push(Caveat::new(
            "no_end",
            "dd",
            "without count it does not end",
            Command::LimitAmount,
        ));
    }
    load
}

fn writing_doubts(given: &Given, source: &str, endless: bool, load: &mut Load) {
    let mut add = |code: &str, cause: &str, remedy: Command| {
        load.doubts.push(Caveat::new(code, "dd writes", cause, remedy))
    };
    if RANDOM.contains(&source) {
        add(
            "source_is_the_limit",
            "the kernel's random numbers come at some hundred MB/s, in turn with the writes: that is what is measured",
            Command::PreparedData,
        );
    }
    if endless && (source == ZEROS || RANDOM.contains(&source)) {
        add("no_end", "without count it ends when the target is full", Command::LimitAmount);
    }
    if !given.conv.iter().any(|conv| conv == "notrunc")
        && !load.targets.iter().any(|name| name.starts_with("/dev/"))
    {
        add(
            "truncated",
            "an existing file is emptied first, so that blocks are allocated again within the time that is taken",
            Command::OverwriteInPlace,
        );
    }
}

fn read(words: &[String]) -> Result<Given, ExplainError> {
    let mut given = Given::default();
    let list = |value: &str| value.split(',').map(str::to_owned).collect::<Vec<_>>();
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            return Err(ExplainError::value(word, "is not an operand of dd; write such as bs=1M"));
        };
        let number = || number(name, value);
        match name {
            "if" => given.input = Some(value.to_owned()),
            "of" => given.output = Some(value.to_owned()),
            "bs" => (given.ibs, given.obs) = (Some(block(name, value)?), Some(block(name, value)?)),
            "ibs" => given.ibs = Some(block(name, value)?),
            "obs" => given.obs = Some(block(name, value)?),
            "count" => {
                (given.count, given.count_is_bytes) =
                    (Some(number()?), value.ends_with('B') && value.len() > 1)
            }
            "skip" | "iseek" => {
                given.skip = Some((number()?, value.ends_with('B') && value.len() > 1))
            }
            "seek" | "oseek" => given.seek = Some((number()?, false)),
            "iflag" => given.iflag = list(value),
            "oflag" => given.oflag = list(value),
            "conv" => given.conv = list(value),
            "status" => {}
            _ => given.strange.push(word.clone()),
        }
    }
    // A number with a plain B behind it counts bytes in newer versions, and a kB or MB does not.
    let plain = |text: &str| {
        text.strip_suffix('B').is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
    };
    let by_flag = given.iflag.iter().any(|flag| flag == "count_bytes");
    let of =
        |name: &str| words.iter().rev().find_map(|word| word.strip_prefix(name)).is_some_and(plain);
    given.count_is_bytes = by_flag || of("count=");
    let skip_by_flag = given.iflag.iter().any(|flag| flag == "skip_bytes");
    let is_bytes = skip_by_flag || of("skip=") || of("iseek=");
    given.skip = given.skip.map(|(count, _)| (count, is_bytes));
    let seek_by_flag = given.oflag.iter().any(|flag| flag == "seek_bytes");
    let is_bytes = seek_by_flag || of("seek=") || of("oseek=");
    given.seek = given.seek.map(|(count, _)| (count, is_bytes));
    const FLAGS: [&str; 12] = [
        "direct",
        "dsync",
        "sync",
        "fullblock",
        "count_bytes",
        "skip_bytes",
        "seek_bytes",
        "nonblock",
        "noatime",
        "nocache",
        "append",
        "",
    ];
    const CONVS: [&str; 8] =
        ["notrunc", "fsync", "fdatasync", "noerror", "sync", "nocreat", "excl", ""];
    let odd = |names: &[String], known: &[&str]| {
        names.iter().filter(|name| !known.contains(&name.as_str())).cloned().collect::<Vec<_>>()
    };
    given.strange.extend(odd(&given.iflag, &FLAGS));
    given.strange.extend(odd(&given.oflag, &FLAGS));
    given.strange.extend(odd(&given.conv, &CONVS));
    Ok(given)
}

fn block(name: &str, value: &str) -> Result<u64, ExplainError> {
    match number(name, value)? {
        0 => Err(ExplainError::value(
            name,
            "a block of 0 bytes transfers nothing; write such as bs=1M",
        )),
        bytes => Ok(bytes),
    }
}

/// dd's numbers: `M` and `MiB` are 2^20, `MB` is 10^6, `b` is 512 and `w` 2; `2x4k` multiplies.
fn number(name: &str, value: &str) -> Result<u64, ExplainError> {
    let wrong = || {
        ExplainError::value(
            name,
            format!("`{value}` is not a number of dd's; write such as 1M (2^20) or 1MB (10^6)"),
        )
    };
    let mut product = 1u64;
    for factor in value.split('x') {
        let digits = factor.find(|c: char| !c.is_ascii_digit()).unwrap_or(factor.len());
        let (count, suffix) = factor.split_at(digits);
        let count: u64 = count.parse().map_err(|_| wrong())?;
        let scale = match suffix {
            "" | "B" | "c" => 1,
            "w" => 2,
            "b" => 512,
            _ => {
                let (letter, rest) =
                    suffix.split_at(suffix.chars().next().map_or(0, char::len_utf8));
                let power = match letter {
                    "k" | "K" => 1,
                    "M" => 2,
                    "G" => 3,
                    "T" => 4,
                    _ => return Err(wrong()),
                };
                match rest {
                    "" | "iB" => 1024u64.pow(power),
                    "B" => 1000u64.pow(power),
                    _ => return Err(wrong()),
                }
            }
        };
        product =
            count.checked_mul(scale).and_then(|n| n.checked_mul(product)).ok_or_else(wrong)?;
    }
    Ok(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    // MB taken for MiB is 4.9% of the count.
    #[test]
    fn numbers_are_those_of_dd() {
        for (text, expected) in [
            ("1M", 1 << 20),
            ("1MB", 1_000_000),
            ("1MiB", 1 << 20),
            ("2x512", 1024),
            ("1b", 512),
            ("3kB", 3000),
        ] {
            assert_eq!(number("bs", text), Ok(expected), "{text}");
        }
        for text in ["", "x", "1q", "1.5M", "99999999999T", "Mx2"] {
            assert!(number("bs", text).is_err(), "{text}");
        }
    }
}
