//! hdparm's timings: `-t` reads a device in order, `-T` reads the same of it from memory.

use block::{Bytes, Nanos};
use stats::Caveat;
use stats::remedy::Command;

use super::error::ExplainError;
use super::explained::{Order, Way};
use super::load::Load;

/// Size of hdparm's reads (hdparm 9.65, found with a loop device's counters).
const BLOCK: u64 = 2 << 20;
/// Time given to `-t`.
const DEVICE: Nanos = Nanos::secs(3);
/// Time given to `-T`.
const CACHE: Nanos = Nanos::secs(2);

/// The loads of hdparm with these options; `target` is the size of the device, where that is known.
pub(super) fn loads(words: &[String], target: Option<u64>) -> Result<Vec<Load>, ExplainError> {
    let (mut device, mut cache, mut direct) = (false, false, false);
    let mut offset = 0u64;
    let mut targets = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--direct" => direct = true,
            "--offset" => {
                let gib = words.next().and_then(|n| n.parse::<u64>().ok());
                offset = gib.and_then(|gib| gib.checked_mul(1 << 30)).ok_or_else(|| {
                    ExplainError::value(
                        "--offset",
                        "a number of GiB follows it, such as --offset 500",
                    )
                })?;
            }
            letters if letters.starts_with('-') && !letters.starts_with("--") => {
                for letter in letters.chars().skip(1) {
                    match letter {
                        't' => device = true,
                        'T' => cache = true,
                        'v' | 'q' => {}
                        _ => return Err(unknown(&format!("-{letter}"))),
                    }
                }
            }
            option if option.starts_with('-') => return Err(unknown(option)),
            path => targets.push(path.to_owned()),
        }
    }
    if targets.is_empty() {
        return Err(ExplainError::value(
            "hdparm",
            "no device is named; write such as /dev/sda behind the options",
        ));
    }
    let mut loads = Vec::new();
    let way = if direct { Way::Direct } else { Way::PageCache };
    let mut group = 0;
    for path in &targets {
        let mut add = |name: &str, time: Nanos| {
            let mut load = Load::new(name, BLOCK);
            load.targets = vec![path.clone()];
            (load.group, load.time, load.way) = (group, Some(time), way);
            group += 1;
            load
        };
        if cache {
            let mut load = add("hdparm -T", CACHE);
            (load.order, load.span) = (Order::SameBlock, Some(BLOCK));
            if way == Way::PageCache {
                load.way = Way::Memory;
            }
            let cause = match direct {
                true => {
                    "the same 2 MiB are read again and again: what answers is the drive's own cache, if it has one"
                }
                false => {
                    "the same 2 MiB are read again and again from the page cache: that is memory, and no drive"
                }
            };
            load.doubts.push(Caveat::new("same_data", "hdparm -T", cause, Command::NoCachedReads));
            loads.push(load);
        }
        if device {
            let mut load = add("hdparm -t", DEVICE);
            let room = target.map(|bytes| (bytes.saturating_sub(offset)) / BLOCK * BLOCK);
            (load.span, load.bytes) = (room, room);
            load.offset = offset;
            let cause = match offset {
                0 => "only the first gigabytes are read, which are a disk's fastest tracks: its inner ones have half the rate".to_owned(),
                offset => format!(
                    "only some gigabytes from {} on are read: a disk's outer tracks have twice the rate of its inner ones",
                    Bytes(offset).human()
                ),
            };
            load.doubts.push(Caveat::new(
                "outer_tracks",
                "hdparm -t",
                cause,
                Command::SeveralOffsets,
            ));
            loads.push(load);
        }
    }
    match loads.is_empty() {
        true => Err(ExplainError::value("hdparm", "nothing is timed; add -t")),
        false => Ok(loads),
    }
}

fn unknown(option: &str) -> ExplainError {
    ExplainError::value(
        option,
        "is not a timing of hdparm's; those are -t and -T, with --direct and --offset",
    )
}
