//! Factors and their levels, in text: `depth=1,2,4..32`.

use std::fmt;
use std::str::FromStr;

use block::{Bytes, EngineKind, Nanos};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use workload::plan::{Order, Phase, Step};
use workload::units::{parse_bytes, parse_nanos};

use crate::notation::{DEPTH_MAX, Pattern};
use crate::options::Direction;

/// A parameter that can be varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// Access pattern: `seq` or `rnd`.
    Pattern,
    /// Size of a transfer.
    Block,
    /// Outstanding I/Os per thread (Q).
    Depth,
    /// Submitters (T).
    Threads,
    /// `read`, `write`, or `mix70` for 70% reads.
    Op,
    /// Size of the part of the target that is used, from its beginning.
    Size,
    /// Load before the measured time.
    WarmUp,
    /// Measured time.
    Duration,
    /// Whether all runs of a setting follow each other, or settings take turns: `blocked`, `interleaved`.
    Order,
    /// How requests reach the kernel: `io_uring`, `libaio`, `psync`; of files and devices.
    Engine,
}

impl Factor {
    /// All of them.
    pub const ALL: [Factor; 10] = [
        Factor::Pattern,
        Factor::Block,
        Factor::Depth,
        Factor::Threads,
        Factor::Op,
        Factor::Size,
        Factor::WarmUp,
        Factor::Duration,
        Factor::Order,
        Factor::Engine,
    ];

    /// Its name in text.
    pub fn word(self) -> &'static str {
        match self {
            Factor::Pattern => "pattern",
            Factor::Block => "block",
            Factor::Depth => "depth",
            Factor::Threads => "threads",
            Factor::Op => "op",
            Factor::Size => "size",
            Factor::WarmUp => "warm-up",
            Factor::Duration => "duration",
            Factor::Order => "order",
            Factor::Engine => "engine",
        }
    }

    /// The factor of this name; the short names are those of flags and of other programs.
    fn of_word(word: &str) -> Option<Factor> {
        let word = match word {
            "qd" | "iodepth" => "depth",
            "bs" => "block",
            "t" | "numjobs" => "threads",
            word => word,
        };
        Factor::ALL.into_iter().find(|factor| factor.word() == word)
    }

    /// One level of it.
    fn level(self, text: &str) -> Result<Level, String> {
        let within = |max: u16| {
            let count = text.parse::<u16>().ok().filter(|count| (1..=max).contains(count));
            count.ok_or_else(|| format!("`{text}` is not a count from 1 to {max}"))
        };
        let bytes = || parse_bytes(text).map_err(|error| error.to_string());
        match self {
            Factor::Pattern => match text {
                "seq" => Ok(Level::Pattern(Pattern::Sequential)),
                "rnd" => Ok(Level::Pattern(Pattern::Random)),
                _ => Err(format!("`{text}` is not a pattern: write seq or rnd")),
            },
            Factor::Block => match bytes()? {
                block if (Bytes(512)..=Phase::BLOCK_MAX).contains(&block) => {
                    Ok(Level::Block(block))
                }
                _ => Err(format!("the block `{text}` is outside 512 B to 1 GiB")),
            },
            Factor::Depth => within(DEPTH_MAX).map(Level::Depth),
            Factor::Threads => within(Step::SUBMITTERS_MAX).map(Level::Threads),
            Factor::Op => text.parse().map(Level::Op),
            Factor::Size => match bytes()? {
                Bytes::ZERO => Err("a size of nothing cannot be measured".to_owned()),
                size => Ok(Level::Size(size)),
            },
            Factor::WarmUp => time(text).map(Level::WarmUp),
            Factor::Duration => match time(text)? {
                Nanos::ZERO => Err("nothing can be measured in no time".to_owned()),
                time => Ok(Level::Duration(time)),
            },
            Factor::Order => match text {
                "blocked" => Ok(Level::Order(Order::Blocked)),
                "interleaved" => Ok(Level::Order(Order::Interleaved)),
                _ => Err(format!("`{text}` is not an order: write blocked or interleaved")),
            },
            Factor::Engine => {
                let engine =
                    text.parse().map_err(|why| format!("`{text}` is not an engine: {why}"));
                engine.map(Level::Engine)
            }
        }
    }

    /// A level of its number: the reverse of [`Level::number`].
    fn of_number(self, number: u64) -> Option<Level> {
        match self {
            Factor::Block => Some(Level::Block(Bytes(number))),
            Factor::Size => Some(Level::Size(Bytes(number))),
            Factor::Depth => u16::try_from(number).ok().map(Level::Depth),
            Factor::Threads => u16::try_from(number).ok().map(Level::Threads),
            Factor::WarmUp => Some(Level::WarmUp(Nanos(number))),
            Factor::Duration => Some(Level::Duration(Nanos(number))),
            Factor::Pattern | Factor::Op | Factor::Order | Factor::Engine => None,
        }
    }

    /// Levels from one to another: by doubling, or by a step.
    fn range(self, text: &str, from: &str, to: &str) -> Result<Vec<Level>, String> {
        let (to, step) = to.split_once('/').map_or((to, None), |(to, step)| (to, Some(step)));
        let number = |text: &str| {
            let number = self.level(text)?.number();
            number.ok_or_else(|| format!("`{text}` begins no range: name the levels one by one"))
        };
        let (low, high) = (number(from)?, number(to)?);
        if low >= high {
            return Err(format!("`{text}` does not go up"));
        }
        let numbers: Vec<u64> = match step {
            Some(step) => {
                // A step may be no level of its own, as one second of measured time less than the least.
                let step = number(step)?;
                if step == 0 {
                    return Err(format!("the step of `{text}` is nothing"));
                }
                let after = |at: &u64| at.checked_add(step).filter(|next| *next <= high);
                std::iter::successors(Some(low), after).take(LEVELS_MAX + 1).collect()
            }
            None if low > 0 && high.is_multiple_of(low) && (high / low).is_power_of_two() => {
                let after = |at: &u64| at.checked_mul(2).filter(|next| *next <= high);
                std::iter::successors(Some(low), after).collect()
            }
            None => {
                return Err(format!(
                    "`{text}` does not go from one end to the other by doubling; add a step, such as {text}/{from}"
                ));
            }
        };
        let level = |number: u64| {
            self.of_number(number).ok_or_else(|| format!("`{text}` leaves what can be measured"))
        };
        numbers.into_iter().map(level).collect()
    }
}

/// A time; a bare number counts seconds, as in the flags of diskspd.
fn time(text: &str) -> Result<Nanos, String> {
    let is_bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = if is_bare { format!("{text}s") } else { text.to_owned() };
    let time = parse_nanos(&text).map_err(|error| error.to_string())?;
    match time <= TIME_MAX {
        true => Ok(time),
        false => Err(format!("`{text}` is more than a day")),
    }
}

const TIME_MAX: Nanos = Nanos::secs(86_400);
/// Most levels of one factor: more would not be readable.
const LEVELS_MAX: usize = 256;

/// One value of a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// Of [`Factor::Pattern`].
    Pattern(Pattern),
    /// Of [`Factor::Block`].
    Block(Bytes),
    /// Of [`Factor::Depth`].
    Depth(u16),
    /// Of [`Factor::Threads`].
    Threads(u16),
    /// Of [`Factor::Op`].
    Op(Direction),
    /// Of [`Factor::Size`].
    Size(Bytes),
    /// Of [`Factor::WarmUp`].
    WarmUp(Nanos),
    /// Of [`Factor::Duration`].
    Duration(Nanos),
    /// Of [`Factor::Order`].
    Order(Order),
    /// Of [`Factor::Engine`].
    Engine(EngineKind),
}

impl Level {
    /// As a number (bytes, nanoseconds, a count); `None` of words.
    pub fn number(self) -> Option<u64> {
        match self {
            Level::Block(bytes) | Level::Size(bytes) => Some(bytes.0),
            Level::Depth(count) | Level::Threads(count) => Some(u64::from(count)),
            Level::WarmUp(time) | Level::Duration(time) => Some(time.0),
            Level::Pattern(_) | Level::Op(_) | Level::Order(_) | Level::Engine(_) => None,
        }
    }
}

/// As it is read back.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Level::Pattern(Pattern::Sequential) => "seq".to_owned(),
            Level::Pattern(Pattern::Random) => "rnd".to_owned(),
            Level::Block(bytes) | Level::Size(bytes) => bytes.to_string(),
            Level::Depth(count) | Level::Threads(count) => count.to_string(),
            Level::Op(op) => op.word(),
            Level::WarmUp(Nanos::ZERO) => "0s".to_owned(),
            Level::WarmUp(time) | Level::Duration(time) => time.to_string(),
            Level::Order(Order::Blocked) => "blocked".to_owned(),
            Level::Order(Order::Interleaved) => "interleaved".to_owned(),
            Level::Order(Order::ReadsFirst) => "reads-first".to_owned(),
            Level::Engine(engine) => engine.to_string(),
        };
        f.pad(&text)
    }
}

/// A factor and its levels, at least two, each once, in the order named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Words", try_from = "Words")]
pub struct Vary {
    /// The factor.
    pub factor: Factor,
    /// Its levels.
    pub levels: Vec<Level>,
}

/// Text that varies nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct VaryError(String);

/// Reads `FACTOR=LEVEL,…`, each level a value or a range: `1..32` doubles, `0s..10s/5s` adds.
impl FromStr for Vary {
    type Err = VaryError;

    fn from_str(text: &str) -> Result<Vary, VaryError> {
        let known = || Factor::ALL.map(Factor::word).join(", ");
        let (word, levels) = text.split_once('=').ok_or_else(|| {
            VaryError(format!("`{text}` varies nothing: write such as depth=1,2,4..32"))
        })?;
        let factor = Factor::of_word(word.trim()).ok_or_else(|| {
            let near = block::nearest(word, Factor::ALL.map(Factor::word));
            let near = near.map_or(String::new(), |near| format!("\nhint: did you mean {near}?"));
            VaryError(format!("`{word}` cannot be varied: take one of {}{near}", known()))
        })?;
        Vary::new(factor, levels.split(',').map(str::trim))
    }
}

impl Vary {
    fn new<'a>(factor: Factor, items: impl Iterator<Item = &'a str>) -> Result<Vary, VaryError> {
        let wrong = |why: String| VaryError(format!("{}: {why}", factor.word()));
        let mut levels: Vec<Level> = Vec::new();
        for item in items {
            let made = match item.split_once("..") {
                Some((from, to)) => factor.range(item, from, to),
                None => factor.level(item).map(|level| vec![level]),
            };
            for level in made.map_err(wrong)? {
                if levels.contains(&level) {
                    return Err(wrong(format!("the level {level} is named twice")));
                }
                levels.push(level);
            }
        }
        match levels.len() {
            0 | 1 => Err(wrong("one level is not varied; name two at least".to_owned())),
            2..=LEVELS_MAX => Ok(Vary { factor, levels }),
            _ => Err(wrong(format!("more than {LEVELS_MAX} levels"))),
        }
    }
}

/// A [`Vary`] in words, as records and documents have it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Words {
    factor: Factor,
    levels: Vec<String>,
}

impl From<Vary> for Words {
    fn from(vary: Vary) -> Words {
        let levels = vary.levels.iter().map(Level::to_string).collect();
        Words { factor: vary.factor, levels }
    }
}

impl TryFrom<Words> for Vary {
    type Error = VaryError;

    fn try_from(words: Words) -> Result<Vary, VaryError> {
        Vary::new(words.factor, words.levels.iter().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(text: &str) -> String {
        let vary: Vary = text.parse().unwrap();
        vary.levels.iter().map(Level::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn levels_ranges_and_both_together_are_read() {
        for (text, read) in [
            ("depth=1,2,4..32", "1 2 4 8 16 32"),
            ("threads=1..32", "1 2 4 8 16 32"),
            ("depth=3..12", "3 6 12"),
            ("qd=1,2", "1 2"),
            ("bs=4K,8K", "4KiB 8KiB"),
            ("depth=1..9/4", "1 5 9"),
            ("depth=1..10/4", "1 5 9"),
            ("block=4K..16KiB,1MiB", "4KiB 8KiB 16KiB 1MiB"),
            ("size=256M,1G..4G", "256MiB 1GiB 2GiB 4GiB"),
            ("size=1G..3G/1G", "1GiB 2GiB 3GiB"),
            ("warm-up=0,5,10", "0s 5s 10s"),
            ("warm-up=0s..1s/500ms", "0s 500ms 1s"),
            ("duration=5..20", "5s 10s 20s"),
            ("order=blocked,interleaved", "blocked interleaved"),
            ("op=read,write,mix70", "read write mix70"),
            ("pattern=rnd, seq", "rnd seq"),
            ("engine=io_uring,libaio,psync", "io_uring libaio psync"),
        ] {
            assert_eq!(levels(text), read, "{text}");
            let vary: Vary = text.parse().unwrap();
            let json = serde_json::to_string(&vary).unwrap();
            assert_eq!(serde_json::from_str::<Vary>(&json).unwrap(), vary, "{json}");
        }
    }

    // Breaks when a slip measures something else than was meant, or its error does not help to correct it.
    #[test]
    fn what_cannot_be_varied_is_refused_with_the_reason() {
        for (text, why) in [
            ("depth", "varies nothing"),
            ("deep=1,2", "take one of pattern, block, depth"),
            ("depth=1", "name two at least"),
            ("depth=", "not a count"),
            ("depth=1,,2", "`` is not a count from 1 to 16384"),
            ("depth=1,1", "the level 1 is named twice"),
            ("depth=1,2,1..4", "named twice"),
            ("depth=0..4", "not a count from 1"),
            ("depth=8..1", "does not go up"),
            ("depth=3..32", "add a step, such as 3..32/3"),
            ("depth=1..32/0", "not a count"),
            ("warm-up=0..4/0s", "is nothing"),
            ("warm-up=0..4", "add a step"),
            ("depth=1..", "not a count"),
            ("threads=1,2000", "not a count from 1 to 1024"),
            ("block=4096,8192", "write a whole number with a unit"),
            ("block=1B,4K", "outside 512 B to 1 GiB"),
            ("size=0,1G", "a size of nothing"),
            ("duration=0,1", "no time"),
            ("duration=1s,2d", "not a duration"),
            ("duration=1,90000", "more than a day"),
            ("pattern=seq..rnd", "begins no range"),
            ("op=read,erase", "read, write or mix70"),
            ("op=read,mix100", "read, write or mix70"),
            ("order=blocked,shuffled", "blocked or interleaved"),
            ("engine=libaio,mmap", "`mmap` is not an engine: write io_uring, libaio or psync"),
            ("engine=libaio..psync", "begins no range"),
            ("depth=1..16384/1", "more than 256 levels"),
        ] {
            let error = text.parse::<Vary>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
