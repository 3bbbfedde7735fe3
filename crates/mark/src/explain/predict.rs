//! From a load to what comes of it: bytes, addresses, repetitions, and what ends it.
//!
//! Everything is arithmetic on the command. Where something depends on how fast the drive is, its bounds are given.

use block::{Bytes, Nanos};
use workload::audit::uniform_unique;

use super::explained::{Amount, EndsBy, Job, Order, Reuse, Share};
use super::load::{Durable, Load};
use super::what;

/// Standard deviations within which a drawn count is expected: beyond that are 6 of 100,000.
const DEVIATIONS: f64 = 4.0;
/// A rate limit is kept over seconds, not over each I/O: what a paced load may be off, as a share.
const PACE: f64 = 0.05;

/// Predicts the job of `load`.
pub(super) fn job(load: &Load) -> Job {
    let ends_by = ends_by(load);
    let total = total(load, ends_by);
    let (read_bytes, write_bytes) = directions(load, total);
    let unique_bytes = unique(load, total, read_bytes, write_bytes);
    let transferred = sum(read_bytes, write_bytes);
    Job {
        name: load.name.clone(),
        what: what::sentence(load),
        targets: load.targets.clone(),
        group: load.group,
        threads: load.copies,
        block_bytes_min: Bytes(load.block_min()),
        block_bytes_max: Bytes(load.block_max()),
        order: load.order,
        depth_asked: load.depth.0,
        depth_effective: load.depth.1,
        way: load.way,
        span_bytes: load.reach().map(Bytes),
        read_bytes,
        write_bytes,
        ios: ios(load, transferred),
        unique_bytes,
        duplicate_share: duplicates(load, ends_by, transferred, unique_bytes),
        reuse: reuse(load, ends_by),
        flushes: flushes(load, write_bytes),
        ends_by,
        time_max_ns: load.time.map(|time| Nanos(time.0.saturating_add(load.warm_up.0))),
        early_above_bytes_per_s: early_above(load, ends_by),
        laid_out_bytes: load.laid_out.then(|| laid_out(load)).flatten(),
    }
}

/// All that is addressed, gaps included: fio writes the whole file.
fn laid_out(load: &Load) -> Option<Bytes> {
    let one = load.span?.saturating_add((load.sharers() - 1).saturating_mul(load.increment));
    let files = if load.own_files { load.files.saturating_mul(load.copies) } else { load.files };
    Some(Bytes(one.saturating_mul(files)))
}

fn ends_by(load: &Load) -> EndsBy {
    match (load.bytes, load.time, load.rate) {
        (Some(_), None, _) => EndsBy::Size,
        (None, Some(_), _) => EndsBy::Time,
        (None, None, _) => EndsBy::Target,
        // A paced load needs at least this long; whether it is slower is not known.
        (Some(bytes), Some(time), Some(rate))
            if bytes as f64 > (1.0 + PACE) * rate * (time + load.warm_up).as_secs_f64() =>
        {
            EndsBy::Time
        }
        (Some(_), Some(_), _) => EndsBy::SizeOrTime,
    }
}

fn early_above(load: &Load, ends_by: EndsBy) -> Option<f64> {
    let seconds = (load.time? + load.warm_up).as_secs_f64();
    let bytes = load.bytes?.saturating_mul(load.copies) as f64;
    (ends_by == EndsBy::SizeOrTime && seconds > 0.0).then(|| bytes / seconds)
}

/// Bytes of all copies, before what is read back.
fn total(load: &Load, ends_by: EndsBy) -> Amount {
    let all = load.bytes.map(|bytes| bytes.saturating_mul(load.copies));
    let paced = load
        .rate
        .zip(load.time)
        .map(|(rate, time)| rate * (time + load.warm_up).as_secs_f64() * load.copies as f64);
    match (ends_by, all, paced) {
        // Steps over a larger file end with the span; where the file ends with it, fio goes around.
        (EndsBy::Size, Some(all), _) if matches!(load.order, Order::Strided { .. }) => {
            let pass = load.pass().unwrap_or(0).saturating_mul(load.copies);
            Amount { min: pass.min(all), expected: None, max: Some(all) }
        }
        (EndsBy::Size, Some(all), _) => Amount::exactly(all),
        (EndsBy::Time | EndsBy::SizeOrTime, all, Some(paced)) => {
            let slack =
                load.block_max().saturating_mul(load.copies.saturating_mul(load.depth.0.max(1)));
            let most = (((1.0 + PACE) * paced) as u64).saturating_add(slack);
            Amount {
                min: 0,
                expected: Some((paced as u64).min(all.unwrap_or(u64::MAX))),
                max: Some(most.min(all.unwrap_or(u64::MAX))),
            }
        }
        (_, all, _) => Amount::up_to(all),
    }
}

fn directions(load: &Load, total: Amount) -> (Amount, Amount) {
    let (read, written) = match load.read_percent {
        0 => (Amount::exactly(0), total),
        1..=99 => {
            let reads = load.read_share.unwrap_or(f64::from(load.read_percent) / 100.0);
            (drawn(load, total, reads), drawn(load, total, 1.0 - reads))
        }
        _ => (total, Amount::exactly(0)),
    };
    if load.reads_back { (sum(read, written), written) } else { (read, written) }
}

/// The part of `total` that each I/O belongs to with this probability.
fn drawn(load: &Load, total: Amount, share: f64) -> Amount {
    let spread = |bytes: u64| {
        let ios = (bytes as f64 / load.block_mean()).max(1.0);
        DEVIATIONS * (share * (1.0 - share) * ios).sqrt() * load.block_max() as f64
    };
    let most = |bytes: u64| ((share * bytes as f64 + spread(bytes)) as u64).min(bytes);
    Amount {
        min: (share * total.min as f64 - spread(total.min)).max(0.0) as u64,
        expected: total.expected.map(|bytes| (share * bytes as f64) as u64),
        max: total.max.map(most),
    }
}

fn sum(a: Amount, b: Amount) -> Amount {
    Amount {
        min: a.min.saturating_add(b.min),
        expected: a.expected.zip(b.expected).map(|(a, b)| a.saturating_add(b)),
        max: a.max.zip(b.max).map(|(a, b)| a.saturating_add(b)),
    }
}

fn ios(load: &Load, transferred: Amount) -> Amount {
    if let (Some(block), Some(bytes)) = (load.block(), load.bytes) {
        // Each copy's last transfer may be a short one.
        let each = bytes.div_ceil(block);
        let back = if load.reads_back { 2 } else { 1 };
        let all = |each: u64| each.checked_mul(load.copies)?.checked_mul(back);
        if let (Some(bytes), Some(ios)) = (all(bytes), all(each))
            && transferred.exact() == Some(bytes)
        {
            return Amount::exactly(ios);
        }
    }
    match load.block() {
        Some(block) => transferred.scaled(|bytes| bytes.div_ceil(block)),
        // A map leaves gaps into which only small blocks fit: how many there will be is not known.
        None if load.order == Order::RandomOnce => Amount {
            min: transferred.min / load.block_max(),
            expected: None,
            max: transferred.max.map(|bytes| bytes / load.block_min()),
        },
        None => {
            let spread = |bytes: u64| {
                let ios = bytes as f64 / load.block_mean();
                let of_sizes = (load.block_max() - load.block_min()) as f64 / load.block_mean();
                DEVIATIONS * of_sizes * ios.sqrt() + 2.0
            };
            let mean = |bytes: u64| bytes as f64 / load.block_mean();
            Amount {
                min: (mean(transferred.min) - spread(transferred.min)).max(0.0) as u64,
                expected: transferred.expected.map(|bytes| mean(bytes) as u64),
                max: transferred.max.map(|bytes| (mean(bytes) + spread(bytes)) as u64),
            }
        }
    }
}

fn unique(load: &Load, total: Amount, read: Amount, written: Amount) -> Amount {
    let (Some(pass), Some(reach)) = (load.pass(), load.reach()) else {
        return Amount { min: 0, expected: None, max: total.max };
    };
    let alone = load.sharers() == 1;
    let one = |bytes: u64| bytes / load.copies.max(1);
    match load.order {
        Order::Sequential | Order::Strided { .. }
            if load.cursor_each && load.writes() && load.reads() =>
        {
            // Two cursors from the same place: the faster one has been wherever the slower one has.
            let longer = |a: u64, b: u64| a.max(b).min(reach);
            Amount {
                min: longer(read.min, written.min) / load.sharers(),
                expected: read.expected.zip(written.expected).map(|(a, b)| longer(a, b)),
                max: Some(read.max.zip(written.max).map_or(reach, |(a, b)| longer(a, b))),
            }
        }
        Order::Sequential | Order::Strided { .. } | Order::SameBlock | Order::RandomOnce
            if load.block().is_some() || load.order == Order::Sequential =>
        {
            let touched = |bytes: u64| touched(load, one(bytes).min(pass), pass, reach);
            // Independent permutations of which each is cut short overlap as they like.
            let is_drawn = load.order == Order::RandomOnce && !alone;
            match total.exact() {
                Some(bytes) if !is_drawn || one(bytes) >= pass => Amount::exactly(touched(bytes)),
                _ if is_drawn => overlapping(load, total, pass, reach),
                _ => Amount {
                    min: touched(total.min),
                    expected: total.expected.map(touched),
                    max: total.max.map_or(Some(reach), |max| Some(max.min(reach))),
                },
            }
        }
        Order::PrivateCursors { .. } => Amount {
            min: 0,
            expected: None,
            max: total.max.map_or(Some(reach), |max| Some(max.min(reach))),
        },
        Order::RandomFree { .. } => free(load, total, pass),
        _ => Amount {
            min: 0,
            expected: None,
            max: total.max.map_or(Some(reach), |max| Some(max.min(reach))),
        },
    }
}

/// Different bytes when each copy has gone over `each` bytes from where it begins.
fn touched(load: &Load, each: u64, pass: u64, reach: u64) -> u64 {
    if load.own_files {
        return each.saturating_mul(load.copies);
    }
    if each >= pass {
        return reach;
    }
    let step = load.increment.min(each);
    each.saturating_add((load.copies - 1).saturating_mul(step))
}

/// Each of the copies has taken blocks of its own choice: of `slots`, an equal share each.
fn overlapping(load: &Load, total: Amount, pass: u64, reach: u64) -> Amount {
    let missed = |bytes: u64| {
        let each = (bytes as f64 / load.copies as f64 / pass.max(1) as f64).min(1.0);
        (1.0 - (1.0 - each).powf(load.copies as f64)) * pass as f64
    };
    let expected = total.expected.filter(|_| load.increment == 0).map(|bytes| missed(bytes) as u64);
    Amount { min: 0, expected, max: total.max.map_or(Some(reach), |max| Some(max.min(reach))) }
}

/// Uniform draws, each from all blocks.
fn free(load: &Load, total: Amount, pass: u64) -> Amount {
    let block = load.block_max();
    let most = total.max.map_or(Some(pass), |max| Some(max.min(pass.saturating_mul(load.copies))));
    let (Some(bytes), Some(_), true) = (total.exact(), load.block(), load.increment == 0) else {
        return Amount { min: 0, expected: None, max: most };
    };
    // Copies with one seed draw the same; copies with files of their own do not meet.
    let apart = if load.own_files { load.copies } else { 1 };
    let together = if load.own_files || load.alike { load.copies } else { 1 };
    let (mean, deviation) = uniform_unique(pass / block, bytes / block / together);
    let (mean, deviation) = (mean * apart as f64, deviation * (apart as f64).sqrt());
    let bytes_of = |blocks: f64| (blocks.max(0.0) * block as f64) as u64;
    Amount {
        min: bytes_of((mean - DEVIATIONS * deviation - 1.0).floor()),
        expected: Some(bytes_of(mean.round())),
        max: Some(bytes_of((mean + DEVIATIONS * deviation + 1.0).ceil())),
    }
}

fn duplicates(load: &Load, ends_by: EndsBy, transferred: Amount, unique: Amount) -> Share {
    let share = |unique: u64, total: u64| {
        if total == 0 { 0.0 } else { (1.0 - unique as f64 / total as f64).max(0.0) }
    };
    if let Some(total) = transferred.exact().filter(|total| *total > 0) {
        return Share {
            min: unique.max.map_or(0.0, |most| share(most, total)),
            expected: unique.expected.map(|unique| share(unique, total)),
            max: share(unique.min, total),
        };
    }
    let same_place = load.increment == 0 && load.sharers() > 1;
    let wraps = load.bytes.is_none() || load.bytes > load.pass();
    let of = |times: u64| 1.0 - 1.0 / times.max(1) as f64;
    let one_after_another = match load.order {
        Order::Sequential | Order::Strided { .. } => {
            Some(load.sharers().saturating_mul(load.cursors))
        }
        Order::PrivateCursors { cursors } => Some(cursors.saturating_mul(load.sharers())),
        Order::RandomFree { .. } if load.alike => Some(load.sharers()),
        _ => None,
    };
    let drawn_once = load.order == Order::RandomOnce && !wraps && load.sharers() == 1;
    let mixes = load.reads() && load.writes();
    match one_after_another {
        _ if load.order == Order::SameBlock => Share { min: 0.0, expected: Some(1.0), max: 1.0 },
        _ if drawn_once => Share { min: 0.0, expected: Some(0.0), max: 0.0 },
        Some(times) if !mixes && (same_place || times == 1 || load.order != Order::Sequential) => {
            let expected = (ends_by != EndsBy::Time || !wraps || times > 1).then(|| of(times));
            // Copies that are not abreast have each their own part of the way.
            let most = if wraps { 1.0 } else { of(times) };
            Share { min: 0.0, expected: expected.filter(|_| !wraps || times > 1), max: most }
        }
        _ => Share { min: 0.0, expected: None, max: 1.0 },
    }
}

fn reuse(load: &Load, ends_by: EndsBy) -> Reuse {
    let block = load.block_max();
    let abreast = load.sharers().saturating_mul(load.depth.1.max(1)).saturating_mul(block);
    let wraps = match (load.bytes, load.pass()) {
        (Some(bytes), Some(pass)) => bytes > pass,
        (None, _) => ends_by == EndsBy::Time,
        (Some(_), None) => false,
    };
    let same_place = load.sharers() > 1 && load.increment == 0;
    match (load.order, load.reach()) {
        (Order::SameBlock, _) => Reuse::AtOnce { within_bytes: block },
        (Order::PrivateCursors { cursors }, _) if cursors > 1 => Reuse::AtOnce {
            within_bytes: cursors.saturating_mul(block).saturating_mul(load.sharers()),
        },
        (Order::RandomFree { .. }, _) if load.alike && same_place => {
            Reuse::AtOnce { within_bytes: abreast }
        }
        (Order::RandomFree { .. } | Order::Other, Some(bytes)) => Reuse::AtRandom { bytes },
        (Order::RandomOnce, Some(bytes)) if load.sharers() > 1 => Reuse::AtRandom { bytes },
        (Order::Sequential | Order::Strided { .. }, _) if same_place || load.cursors > 1 => {
            Reuse::AtOnce { within_bytes: abreast }
        }
        (_, Some(bytes))
            if wraps || load.increment > 0 && load.increment < load.span.unwrap_or(0) =>
        {
            Reuse::AfterPass { bytes }
        }
        _ if load.reads_back => Reuse::AfterPass { bytes: load.pass().unwrap_or(0) },
        (_, None) if load.order.is_random() || wraps => Reuse::Unknown,
        _ => Reuse::Never,
    }
}

fn flushes(load: &Load, written: Amount) -> Amount {
    match (load.durable, load.block()) {
        (Durable::Every(writes), Some(block))
            if written.exact().is_some() && load.read_percent == 0 =>
        {
            // None follows the last write.
            let each = (written.min / load.copies / block).saturating_sub(1) / writes.max(1);
            Amount::exactly(each.saturating_mul(load.copies))
        }
        (Durable::Every(writes), _) => {
            let most =
                |bytes: u64| (bytes / load.block_min() / writes.max(1)).saturating_add(load.copies);
            Amount::up_to(written.max.map(most))
        }
        (Durable::AtEnd, _) if load.writes() => Amount::exactly(load.copies),
        (Durable::No | Durable::Each | Durable::AtEnd, _) => Amount::exactly(0),
    }
}
