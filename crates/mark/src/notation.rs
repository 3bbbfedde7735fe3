//! The familiar notation of quick benchmarks: `SEQ1MQ8T1`, `RND4K Q32T16`.

use std::fmt;
use std::str::FromStr;

use block::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use workload::plan::Step;

/// Access pattern of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One block after the other.
    Sequential,
    /// Uniform over the blocks.
    Random,
}

/// One test: pattern, block size, queue depth, threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TestSpec {
    /// Access pattern.
    pub pattern: Pattern,
    /// Size of a transfer: 512 B to 1 GiB.
    pub block: Bytes,
    /// Outstanding I/Os per thread, at least 1 (Q).
    pub depth: u16,
    /// Submitters, at least 1 (T).
    pub threads: u16,
}

/// Text that names no test.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a test: {why}; write such as SEQ1MQ8T1 or RND4KQ32T16")]
pub struct NotationError {
    text: String,
    why: &'static str,
}

/// Deepest queue of one submitter: the largest completion ring that the kernel makes is twice that.
pub(crate) const DEPTH_MAX: u16 = 16_384;

impl FromStr for TestSpec {
    type Err = NotationError;

    fn from_str(text: &str) -> Result<TestSpec, NotationError> {
        read(text).map_err(|why| NotationError { text: text.to_owned(), why })
    }
}

fn read(text: &str) -> Result<TestSpec, &'static str> {
    let compact: String =
        text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_uppercase();
    let (pattern, rest) = if let Some(rest) = compact.strip_prefix("SEQ") {
        (Pattern::Sequential, rest)
    } else if let Some(rest) = compact.strip_prefix("RND") {
        (Pattern::Random, rest)
    } else {
        return Err("it begins with neither SEQ nor RND");
    };
    let (block, rest) = number(rest).ok_or("no block size follows")?;
    let (shift, rest) = match rest.as_bytes().first() {
        Some(b'K') => (10, &rest[1..]),
        Some(b'M') => (20, &rest[1..]),
        Some(b'G') => (30, &rest[1..]),
        Some(b'B') => (0, &rest[1..]),
        _ => return Err("the block size has no unit (B, K, M or G)"),
    };
    let rest = rest.strip_prefix('Q').ok_or("no queue depth (Q) follows the block size")?;
    let (depth, rest) = number(rest).ok_or("no number follows Q")?;
    let rest = rest.strip_prefix('T').ok_or("no thread count (T) follows the queue depth")?;
    let (threads, rest) = number(rest).ok_or("no number follows T")?;
    if !rest.is_empty() {
        return Err("something follows the thread count");
    }
    let block = Bytes(block.saturating_mul(1 << shift));
    if block < Bytes(512) || block > Bytes::gib(1) {
        return Err("the block size is outside 512 B to 1 GiB");
    }
    let within = |n: u64, max: u16| u16::try_from(n).ok().filter(|n| (1..=max).contains(n));
    Ok(TestSpec {
        pattern,
        block,
        depth: within(depth, DEPTH_MAX).ok_or("the queue depth is outside 1 to 16384")?,
        threads: within(threads, Step::SUBMITTERS_MAX)
            .ok_or("the thread count is outside 1 to 1024")?,
    })
}

fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Prints `SEQ1M Q8T1`; the same is read back.
impl fmt::Display for TestSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = match self.pattern {
            Pattern::Sequential => "SEQ",
            Pattern::Random => "RND",
        };
        let (count, unit) = match self.block.0 {
            n if n.is_multiple_of(1 << 30) => (n >> 30, "G"),
            n if n.is_multiple_of(1 << 20) => (n >> 20, "M"),
            n if n.is_multiple_of(1 << 10) => (n >> 10, "K"),
            n => (n, "B"),
        };
        f.pad(&format!("{pattern}{count}{unit} Q{}T{}", self.depth, self.threads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_is_read_and_printed() {
        for (text, printed) in [
            ("SEQ1MQ8T1", "SEQ1M Q8T1"),
            ("rnd4kq32t16", "RND4K Q32T16"),
            ("SEQ128K Q32 T1", "SEQ128K Q32T1"),
            ("RND512BQ1T1", "RND512B Q1T1"),
            ("SEQ1024KQ1T1", "SEQ1M Q1T1"),
        ] {
            let spec: TestSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), printed);
            assert_eq!(spec.to_string().parse(), Ok(spec));
        }
    }

    #[test]
    fn what_is_no_test_is_refused_with_the_reason() {
        for (text, why) in [
            ("SQ1MQ8T1", "neither SEQ nor RND"),
            ("SEQQ8T1", "no block size"),
            ("SEQ1Q8T1", "no unit"),
            ("SEQ1MT1", "no queue depth"),
            ("SEQ1MQ8", "no thread count"),
            ("SEQ1MQ8T1X", "something follows"),
            ("SEQ1MQ0T1", "1 to 16384"),
            ("SEQ1MQ1T99999", "1 to 1024"),
            ("SEQ99999999999999999999MQ1T1", "no block size"),
            ("RND100BQ1T1", "512 B to 1 GiB"),
            ("SEQ18446744073709551615GQ1T1", "512 B to 1 GiB"),
        ] {
            let error = text.parse::<TestSpec>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
