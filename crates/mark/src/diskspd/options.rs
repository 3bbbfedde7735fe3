//! Options of diskspd's command line.

use std::collections::BTreeMap;

use super::usage::UsageError;
use super::words::Words;

/// Text of `--help`.
pub const HELP: &str = "\
Usage: diskspd [OPTION]... TARGET...

Loads each TARGET, a file, a block device or a virtual drive (sim:hdd-7200), and
prints diskspd's report. A value stands right behind its option. Sizes are whole
numbers of bytes, or with K, M, G (2^10, 2^20, 2^30) or b (blocks of -b) behind.

What is issued:
  -b SIZE      size of a transfer [default: 64K]
  -w[PERCENT]  share of writes [default: 0]. What TARGET holds is overwritten
  -r[SIZE]     random, at multiples of SIZE [default: the block size]
  -s[i]SIZE    sequential, SIZE from one offset to the next [default: the block
               size]; with i, threads of a target share one cursor
  -o N         transfers outstanding per thread and target [default: 2]
  -t N         threads per target [default: 1]
  -F N         threads in all, each of which loads every target
  -T SIZE      offset from one thread's beginning to the next one's
  -g SIZE      bytes per millisecond and thread, at most
  -z[SEED]     seed of all randomness [default, and without SEED: a new one]

Where:
  -c SIZE      create TARGET of this size; to a smaller one, add
  -B SIZE      first byte used [default: 0]
  -f SIZE      end of what is used [default: the end of TARGET]

How:
  -d SECONDS   measured time [default: 10]
  -W SECONDS   load before it [default: 5]
  -C SECONDS   load after it [default: 0] (of diskspd for Windows)
  -S MODE      d bypasses the page cache (O_DIRECT), s makes each write durable
               (O_SYNC), h does both; u, w and b are d, s and neither as diskspd
               for Windows calls them [default: through the page cache]
  -x ENGINE    k for libaio, p for POSIX AIO [default: k]
  -a CPUS      run on these processors, such as 0-3,7 [default: on all of them]
  -n           leave it to the kernel where threads run
  -Z BUFFERS   z writes zeros, r random bytes; s for buffers of writes that are
               not those of reads

Report:
  -L           latencies
  -D[MS]       deviation of I/Os per second, over intervals [default: 1000]
  -R FORMAT    text or xml (of diskspd for Windows) [default: text]
  -v           print more on stderr
  -?, --help   print this
";

/// Largest size of anything, in bytes: offsets are signed.
const SIZE_MAX: u64 = i64::MAX as u64;

/// Options given, with diskspd's defaults for the rest. Sizes and offsets are in bytes; sizes given in blocks are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Files, devices or virtual drives, as typed; one at least.
    pub targets: Vec<String>,
    /// `-a`: processors to keep threads on, in rising order and each once; `None` is all of them.
    pub cpus: Option<Vec<usize>>,
    /// `-n`: threads are not bound to processors, whatever `-a` says.
    pub no_affinity: bool,
    /// `-b`: size of a transfer, from 1.
    pub block: u64,
    /// `-B`: the first byte that is used.
    pub base_offset: u64,
    /// `-c`: files are created with this size, from 1; one that is as large already is taken as it is.
    pub create: Option<u64>,
    /// `-d`: measured time in seconds, from 1.
    pub duration_s: u32,
    /// `-D`: reports the deviation of I/Os per second, over intervals of this many milliseconds, from 1.
    pub iops_interval_ms: Option<u32>,
    /// `-f`: behind the last byte that is used, counted from the target's beginning, from 1.
    pub end: Option<u64>,
    /// `-t` or `-F`.
    pub threads: Threads,
    /// `-g`: most bytes per millisecond, for each thread and target, from 1.
    pub bytes_per_ms: Option<u64>,
    /// `-L`: reports latencies.
    pub latency: bool,
    /// `-o`: transfers outstanding, for each thread and target, from 1.
    pub depth: u32,
    /// `-r`: offsets are random. Takes precedence over `stride`.
    pub random: Option<Random>,
    /// `-s`: how offsets follow each other; without it, block by block.
    pub stride: Option<Stride>,
    /// `-S`.
    pub caching: Caching,
    /// `-T`: from the beginning of one thread to that of the next on the same target. In both diskspds 0 without it,
    /// so that all threads begin at the same place.
    pub thread_stride: Option<u64>,
    /// `-v`: reports progress.
    pub verbose: bool,
    /// `-x`.
    pub engine: Engine,
    /// `-w`: share of writes in percent, 0 to 100.
    pub write_percent: u8,
    /// `-W`: load before the measured time, in seconds.
    pub warm_up_s: u32,
    /// `-C`: load after the measured time, in seconds. diskspd for Linux has no such option.
    pub cool_down_s: u32,
    /// `-z`.
    pub seed: Seed,
    /// `-Z`.
    pub buffers: Buffers,
    /// `-R`. diskspd for Linux has no such option.
    pub results: ResultFormat,
    /// Options as typed that diskspd for Linux would refuse, since only the one for Windows knows them.
    pub windows: Vec<String>,
}

impl Default for Options {
    /// diskspd's defaults: no target.
    fn default() -> Options {
        Options {
            targets: Vec::new(),
            cpus: None,
            no_affinity: false,
            block: 64 << 10,
            base_offset: 0,
            create: None,
            duration_s: 10,
            iops_interval_ms: None,
            end: None,
            threads: Threads::PerTarget(1),
            bytes_per_ms: None,
            latency: false,
            depth: 2,
            random: None,
            stride: None,
            caching: Caching::default(),
            thread_stride: None,
            verbose: false,
            engine: Engine::Libaio,
            write_percent: 0,
            warm_up_s: 5,
            cool_down_s: 0,
            seed: Seed::Unsaid,
            buffers: Buffers::default(),
            results: ResultFormat::Text,
            windows: Vec::new(),
        }
    }
}

/// How many threads there are; each count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// `-t`: this many for each target.
    PerTarget(u32),
    /// `-F`: this many in all, each of which loads every target.
    Total(u32),
}

/// `-r`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Random {
    /// Alignment of offsets, from 1, counted from the first byte used. Without a value, it is the block size as documented;
    /// diskspd for Linux takes 65536.
    pub align: Option<u64>,
    /// `-rs`, of diskspd for Windows: share in percent of accesses that are random, 1 to 99; the others follow the
    /// one before. `None` is all of them.
    pub percent: Option<u8>,
}

/// `-s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stride {
    /// `i`: the threads of a target take turns on one cursor.
    pub interlocked: bool,
    /// From one offset to the next, from 1; the block size when not given.
    pub bytes: Option<u64>,
}

/// `-S`: through which caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caching {
    /// `d`, `h`, and `u` of Windows: the page cache is bypassed (O_DIRECT).
    pub direct: bool,
    /// `s`, `h`, and `w` of Windows: a write is durable when it completes (O_SYNC).
    pub durable: bool,
    /// `m` of Windows: memory mapped.
    pub mapped: bool,
}

/// `-x`: how I/O is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// `k`: the kernel's `io_submit(2)`.
    Libaio,
    /// `p`: POSIX AIO, which the C library does in threads.
    PosixAio,
}

/// `-z`: where randomness begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// No `-z`: 0 in both diskspds, so that each run repeats the one before.
    Unsaid,
    /// `-z` alone: a new one each time.
    Fresh,
    /// This one.
    Given(u64),
}

/// `-Z`: what buffers hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Content of the writes.
    pub fill: Fill,
    /// `s`: writes have buffers of their own, so that what was read is not written elsewhere.
    pub separate: bool,
}

/// Content of the writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// The bytes 0 to 255 over and over.
    #[default]
    Ramp,
    /// `z`.
    Zeros,
    /// `r`: random bytes; in diskspd for Linux the same block over and over.
    Random,
}

/// `-R`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultFormat {
    /// The report for people.
    Text,
    /// XML as diskspd for Windows prints it.
    Xml,
}

impl Options {
    /// Reads the arguments after the program's name as `argp_parse(3)` does: a value directly follows its letter, or, where
    /// an option requires one, may be the next word; letters without a value may be joined; long names may be shortened as
    /// long as they are unambiguous; targets may appear anywhere; after `--` there are no options.
    ///
    /// Other than diskspd for Linux, 0 is taken for -B and -T, whose default it is.
    ///
    /// # Errors
    /// [`UsageError`], naming the option.
    pub fn parse<S: AsRef<str>>(args: &[S]) -> Result<Options, UsageError> {
        let Words { options: given, targets } = Words::read(args)?;
        let mut options = Options { targets, ..Options::default() };
        // Other sizes may count blocks, wherever -b appears.
        if let Some(value) = given.get(&'b') {
            if value.ends_with('b') {
                return wrong('b', value, "a block is not a number of blocks; write K, M or G");
            }
            options.block = size('b', value, 1)?;
        }
        for (&option, value) in &given {
            options.take(option, value)?;
        }
        options.check(&given)?;
        Ok(options)
    }

    fn take(&mut self, option: char, value: &str) -> Result<(), UsageError> {
        let block = self.block;
        let bytes = || size(option, value, block);
        match option {
            'a' => self.cpus = Some(cpus(value)?),
            'B' => self.base_offset = if value == "0" { 0 } else { bytes()? },
            'c' => self.create = Some(bytes()?),
            'C' => self.cool_down_s = number(option, value, 0)?,
            'd' => self.duration_s = number(option, value, 1)?,
            'D' if value.is_empty() => self.iops_interval_ms = Some(1000),
            'D' => self.iops_interval_ms = Some(number(option, value, 1)?),
            'f' => self.end = Some(bytes()?),
            'F' => self.threads = Threads::Total(number(option, value, 1)?),
            'g' => self.bytes_per_ms = Some(bytes()?),
            'L' => self.latency = true,
            'n' => self.no_affinity = true,
            'o' => self.depth = number(option, value, 1)?,
            'r' => self.random = Some(random(value, block)?),
            'R' => self.results = results(value)?,
            's' => self.stride = Some(stride(value, block)?),
            'S' => self.caching = caching(value)?,
            't' => self.threads = Threads::PerTarget(number(option, value, 1)?),
            'T' => self.thread_stride = Some(if value == "0" { 0 } else { bytes()? }),
            'v' => self.verbose = true,
            'w' if value.is_empty() => self.write_percent = 0,
            'w' => self.write_percent = percent(option, value, value, 0..=100)?,
            'W' => self.warm_up_s = number(option, value, 0)?,
            'x' => self.engine = engine(value)?,
            'z' if value.is_empty() => self.seed = Seed::Fresh,
            'z' => self.seed = Seed::Given(digits(option, value)?),
            'Z' => self.buffers = buffers(value)?,
            // -b was taken before all others.
            _ => {}
        }
        let of_windows = match option {
            'C' | 'R' => true,
            'r' => value.starts_with('s'),
            'S' => value.contains(['b', 'm', 'u', 'w']),
            _ => false,
        };
        if of_windows {
            self.windows.push(format!("-{option}{value}"));
        }
        Ok(())
    }

    /// Checks options that depend on each other.
    fn check(&self, given: &BTreeMap<char, String>) -> Result<(), UsageError> {
        let both = |a, b| given.contains_key(&a) && given.contains_key(&b);
        if both('t', 'F') {
            let why = "-t counts threads per target and -F all of them; leave one out";
            return Err(UsageError::Conflict { options: ["t", "F"], why });
        }
        let interlocked = self.random.is_none() && self.stride.is_some_and(|s| s.interlocked);
        if interlocked && self.thread_stride.is_some_and(|bytes| bytes > 0) {
            let why = "threads that share a cursor have no beginnings of their own; leave one out";
            return Err(UsageError::Conflict { options: ["T", "si"], why });
        }
        if let Some(end) = self.end.filter(|end| *end <= self.base_offset) {
            let why = format!("ends at or before -B, byte {}; take a larger one", self.base_offset);
            return wrong('f', &end.to_string(), &why);
        }
        if self.targets.is_empty() { Err(UsageError::NoTarget) } else { Ok(()) }
    }

    /// All threads, over all targets.
    pub fn total_threads(&self) -> u64 {
        match self.threads {
            Threads::PerTarget(threads) => u64::from(threads) * self.targets.len() as u64,
            Threads::Total(threads) => u64::from(threads),
        }
    }

    /// Threads that load any one target.
    pub fn threads_of_target(&self) -> u32 {
        match self.threads {
            Threads::PerTarget(threads) | Threads::Total(threads) => threads,
        }
    }
}

fn wrong<T>(option: char, value: &str, why: &str) -> Result<T, UsageError> {
    Err(UsageError::Wrong { option, value: value.to_owned(), why: why.to_owned() })
}

/// A whole number. Leading zeros are refused: elsewhere they mean octal.
fn digits(option: char, value: &str) -> Result<u64, UsageError> {
    let plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok().filter(|_| plain && (value == "0" || !value.starts_with('0')));
    match number {
        Some(number) => Ok(number),
        None => wrong(option, value, "has to be a whole number, without unit or leading zeros"),
    }
}

/// A whole number from `least` on.
fn number(option: char, value: &str, least: u32) -> Result<u32, UsageError> {
    let number = digits(option, value)?;
    match u32::try_from(number) {
        Ok(number) if number >= least => Ok(number),
        _ => wrong(option, value, &format!("has to be from {least} to {}", u32::MAX)),
    }
}

/// A size, from 1 byte; `block` is the value of the unit `b`.
fn size(option: char, value: &str, block: u64) -> Result<u64, UsageError> {
    part(option, value, value, block)
}

/// As [`size`], of a value that has more in front of it.
fn part(option: char, value: &str, text: &str, block: u64) -> Result<u64, UsageError> {
    let (count, unit) = match text.char_indices().next_back() {
        Some((at, 'K')) => (&text[..at], 1 << 10),
        Some((at, 'M')) => (&text[..at], 1 << 20),
        Some((at, 'G')) => (&text[..at], 1 << 30),
        Some((at, 'b')) => (&text[..at], block),
        _ => (text, 1),
    };
    let plain = count.bytes().all(|byte| byte.is_ascii_digit());
    if count.is_empty() || !plain || count.starts_with('0') {
        let why = "has to be a whole number above 0, with K, M, G or b (blocks) behind, or nothing";
        return wrong(option, value, why);
    }
    let bytes = count.parse::<u64>().ok().and_then(|count| count.checked_mul(unit));
    match bytes.filter(|bytes| *bytes <= SIZE_MAX) {
        Some(bytes) => Ok(bytes),
        None => wrong(option, value, "is more bytes than a file can have"),
    }
}

/// A share; `text` is the part of `value` that says it.
fn percent(
    option: char,
    value: &str,
    text: &str,
    allowed: std::ops::RangeInclusive<u64>,
) -> Result<u8, UsageError> {
    let share = digits(option, text).ok().filter(|share| allowed.contains(share));
    match share.and_then(|share| u8::try_from(share).ok()) {
        Some(share) => Ok(share),
        None => {
            let why = format!("has to be a share from {} to {}", allowed.start(), allowed.end());
            wrong(option, value, &why)
        }
    }
}

/// `0-3,7`.
fn cpus(value: &str) -> Result<Vec<usize>, UsageError> {
    /// More processors than any kernel counts.
    const END: usize = 8192;
    let one = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<usize>().ok().filter(|cpu| plain && *cpu < END)
    };
    let mut all = Vec::new();
    for range in value.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        match (one(first), one(last)) {
            (Some(first), Some(last)) if first <= last => all.extend(first..=last),
            _ => return wrong('a', value, "has to list processors, such as 0-3,7"),
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn random(value: &str, block: u64) -> Result<Random, UsageError> {
    let (share, align) = match value.strip_prefix('s') {
        // On Windows a stride may follow the share with a comma between them.
        Some(rest) => {
            let (share, align) = rest.split_once(',').unwrap_or((rest, ""));
            (Some(percent('r', value, share, 1..=100)?), align)
        }
        None => (None, value),
    };
    let align = match align {
        "" => None,
        align => Some(part('r', value, align, block)?),
    };
    Ok(Random { align, percent: share.filter(|share| *share < 100) })
}

fn stride(value: &str, block: u64) -> Result<Stride, UsageError> {
    let bytes = value.strip_prefix('i');
    let stride = match bytes.unwrap_or(value) {
        "" => None,
        bytes => Some(part('s', value, bytes, block)?),
    };
    Ok(Stride { interlocked: bytes.is_some(), bytes: stride })
}

fn caching(value: &str) -> Result<Caching, UsageError> {
    let mut caching = Caching::default();
    for letter in value.chars() {
        match letter {
            'd' | 'u' => caching.direct = true,
            's' | 'w' => caching.durable = true,
            'h' => (caching.direct, caching.durable) = (true, true),
            'm' => caching.mapped = true,
            // The default, said aloud.
            'b' => {}
            _ => {
                let why = "has to be made of d, s and h, or of u, w, m and b as on Windows";
                return wrong('S', value, why);
            }
        }
    }
    let cached = value.contains(['b', 'm']) && caching.direct;
    match cached {
        true => wrong('S', value, "cannot both bypass the page cache and go through it"),
        false => Ok(caching),
    }
}

fn engine(value: &str) -> Result<Engine, UsageError> {
    match value {
        "k" => Ok(Engine::Libaio),
        "p" => Ok(Engine::PosixAio),
        _ => wrong('x', value, "has to be k (libaio) or p (POSIX AIO)"),
    }
}

fn buffers(value: &str) -> Result<Buffers, UsageError> {
    let mut buffers = Buffers::default();
    for letter in value.chars() {
        let fill = match letter {
            's' => {
                buffers.separate = true;
                continue;
            }
            'z' => Fill::Zeros,
            'r' => Fill::Random,
            _ => return wrong('Z', value, "has to be made of z or r, and s"),
        };
        if ![Fill::Ramp, fill].contains(&buffers.fill) {
            return wrong('Z', value, "z and r exclude each other; leave one out");
        }
        buffers.fill = fill;
    }
    Ok(buffers)
}

fn results(value: &str) -> Result<ResultFormat, UsageError> {
    match value {
        "" | "text" => Ok(ResultFormat::Text),
        "xml" => Ok(ResultFormat::Xml),
        _ => wrong('R', value, "has to be text or xml"),
    }
}

#[cfg(test)]
mod tests;
