//! The offsets of diskspd for Linux, made again after its source (`thread.cc`, `target.h`): each I/O outstanding goes on
//! from its own last offset, each thread has the same seed, and `-r` alone keeps 64 KiB.

use anyhow::{Context as _, Result, bail};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::measure::{Accesses, Done};

/// Completions of each thread: many rounds of a queue, and so few that draws of one thread hardly repeat themselves.
const COMPLETIONS: u64 = 2_000;
/// Seed of the completion order. The drive decides it, so any order will do, the same each time.
const ORDER_SEED: u64 = 20_231_112;

struct Line {
    block: u64,
    depth: u64,
    threads: u64,
    size: u64,
    random_align: Option<u64>,
    write_percent: u64,
}

/// The I/O of a diskspd command line, as far as addresses go.
pub(super) fn made(words: &[String]) -> Result<Done> {
    let line = read(words)?;
    // A completion order for each thread, and one sequence of draws for all.
    let mut order = Xoshiro256PlusPlus::seed_from_u64(ORDER_SEED);
    let mut accesses = Accesses::default();
    let slots = line.random_align.map_or(1, |align| (line.size - line.block) / align + 1);
    // A sequential run ends where its first cursor would begin again, so that no cursor makes a second pass.
    let blocks = line.size / line.block;
    let completions = match line.random_align {
        Some(_) => COMPLETIONS,
        None => COMPLETIONS.min(blocks.saturating_sub(line.depth) * line.depth),
    };
    for _ in 0..line.threads {
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(0);
        let mut draw = || line.random_align.map(|align| draws.next_u64() % slots * align);
        let mut cursors: Vec<u64> =
            (0..line.depth).map(|op| draw().unwrap_or(op % blocks * line.block)).collect();
        for turn in 0..completions {
            // Mostly in order, as drives complete; now and then not.
            let random = order.next_u64();
            let op = if random % 8 == 0 { random >> 32 } else { turn };
            let Some(cursor) = cursors.get_mut((op % line.depth) as usize) else { continue };
            accesses.note(*cursor, line.block);
            *cursor = draw().unwrap_or_else(|| {
                let next = *cursor + line.block;
                if next + line.block > line.size { 0 } else { next }
            });
        }
    }
    let ios = completions * line.threads;
    let bytes = ios * line.block;
    let writes = bytes * line.write_percent / 100;
    Ok(Done {
        name: "diskspd".to_owned(),
        read_bytes: bytes - writes,
        write_bytes: writes,
        ios,
        unique_bytes: Some(accesses.unique()),
        only_shares: true,
        ..Done::default()
    })
}

fn read(words: &[String]) -> Result<Line> {
    let mut line = Line {
        block: 64 << 10,
        depth: 2,
        threads: 1,
        size: 0,
        random_align: None,
        write_percent: 0,
    };
    for word in words.iter().skip(1) {
        let Some(rest) = word.strip_prefix('-') else { continue };
        let (letter, value) = rest.split_at(1);
        let number = || size(value).with_context(|| format!("{word}: is no number"));
        match letter {
            "b" => line.block = number()?,
            "o" => line.depth = number()?,
            "t" => line.threads = number()?,
            "c" => line.size = number()?,
            "w" => line.write_percent = number()?,
            "r" => line.random_align = Some(if value.is_empty() { 64 << 10 } else { number()? }),
            "d" | "W" | "S" | "Z" | "L" => {}
            _ => bail!("{word}: the streams of this are not known here"),
        }
    }
    if line.size < line.block * line.depth {
        bail!("-c is missing, or smaller than what is outstanding");
    }
    Ok(line)
}

fn size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (count, unit) = text.split_at_checked(digits)?;
    let shift = match unit {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    Some(count.parse::<u64>().ok()? << shift)
}
