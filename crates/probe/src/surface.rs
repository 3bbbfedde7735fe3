//! Speed and access time over the whole range of addresses.
//!
//! Speed: large reads, each of a few parts in sequence, at even places from the beginning to the end. Access time:
//! small reads at random places. As drawn by disk utilities; with slow spots, the trend along the range (a disk's
//! zones), and least, mean and greatest values.

use block::Nanos;
use serde::{Deserialize, Serialize};
use stats::{Slope, mann_kendall, median, median_absolute_deviation, theil_sen};
use workload::rng::Rng;

use crate::desk::{Desk, Halt};
use crate::finding::Outcome;
use crate::known::Known;

/// First element of the paths of this probe's random numbers.
const PURPOSE: u64 = 0x5f0c;

/// One read of a transfer: what most hosts send in one piece, or in few.
const PIECE: u64 = 1 << 20;

/// Small reads of one script.
const SCRIPT_READS: usize = 64;

/// A place is slow when it lies this many robust deviations from its neighbours and is slower by at least this factor.
const DEVIATIONS: f64 = 8.0;
const SLOWER_MIN: f64 = 1.25;

/// Neighbours on each side, with whose median a place is compared.
const NEIGHBOURS: usize = 8;

/// A trend is named at this p-value or below.
const TREND_P: f64 = 0.01;

/// Counts and sizes of the reads, and their time limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Large reads, evenly spread.
    pub transfers: u32,
    /// Bytes of each; made smaller where the region has not so much room.
    pub transfer_bytes: u64,
    /// Small reads at random places.
    pub accesses: u32,
    /// Bytes of each.
    pub access_bytes: u64,
    /// How long it may take, on the drive's clock.
    pub limit: Nanos,
}

impl Default for Options {
    /// 100 transfers of 10 MiB and 1,000 reads of 4 KiB, in 120 s at most.
    fn default() -> Options {
        Options {
            transfers: 100,
            transfer_bytes: 10 << 20,
            accesses: 1000,
            access_bytes: 4096,
            limit: Nanos::secs(120),
        }
    }
}

/// A large read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// First byte.
    pub offset: u64,
    /// Bytes read.
    pub bytes: u64,
    /// From its first piece to the end of its last, ns.
    pub ns: u64,
    /// Bytes per second.
    pub bytes_per_s: f64,
}

/// A small read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// First byte.
    pub offset: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Its time, ns.
    pub ns: u64,
}

/// A place that is slower than those around it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowSpot {
    /// First byte.
    pub offset: u64,
    /// Bytes read there.
    pub bytes: u64,
    /// Its rate over that of its neighbours, 0 to 1.
    pub share_of_neighbours: f64,
}

/// Least, mean, median and greatest of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Values.
    pub n: u64,
    /// Least.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Greatest.
    pub max: f64,
}

/// How speed moves along the range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Speed at the end over that at the beginning, along the line of Theil and Sen.
    pub end_over_begin: f64,
    /// Lower end of its interval at 95%.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// p-value of no trend (Mann and Kendall).
    pub p_value: f64,
    /// True when the p-value is small enough to speak of a trend.
    pub moves: bool,
}

/// Reads made, and their results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Large reads, by offset.
    pub transfers: Vec<Transfer>,
    /// Small reads, in the order of issue.
    pub accesses: Vec<Access>,
    /// Of the rates, bytes per second; null without any.
    pub speed_bytes_per_s: Option<Summary>,
    /// Of the access times, ns; null without any.
    pub access_ns: Option<Summary>,
    /// Places that are slower than those around them, by offset.
    pub slow_spots: Vec<SlowSpot>,
    /// The trend of speed; null with fewer than 10 transfers.
    pub trend: Option<Trend>,
    /// True when all reads that were asked for were made.
    pub complete: bool,
}

/// Reads the surface.
///
/// # Errors
/// Any [`Halt`] except a limit; at a limit it reports what it has.
pub fn probe(desk: &mut Desk<'_>, _: &Known, options: &Options) -> Result<Outcome<Evidence>, Halt> {
    let mut rng = desk.rng(&[PURPOSE]);
    let (mut transfers, mut accesses) = (Vec::new(), Vec::new());
    let ended = desk.within(options.limit, |desk| {
        let half = Nanos(options.limit.0 / 2);
        // Random reads must have their turn, however slow the drive reads on.
        let first = desk.within(half, |desk| transfer(desk, options, &mut rng, &mut transfers));
        match first {
            Err(halt) if !halt.is_limit() => return Err(halt),
            _ => {}
        }
        access(desk, options, &mut rng, &mut accesses)?;
        first
    });
    let complete = match ended {
        Ok(()) => true,
        Err(halt) if halt.is_limit() => false,
        Err(halt) => return Err(halt),
    };
    let evidence = Evidence { complete, ..infer(transfers, accesses) };
    Ok(Outcome { findings: Vec::new(), evidence, caveats: Vec::new() })
}

/// Transfers at even places, in random order: what drifts with time does not pass for a trend along the range.
fn transfer(
    desk: &mut Desk<'_>,
    options: &Options,
    rng: &mut Rng,
    done: &mut Vec<Transfer>,
) -> Result<(), Halt> {
    let (region, logical) = (desk.region(), desk.info().logical_block_bytes.0.max(512));
    let count = u64::from(options.transfers.max(1));
    let room = region.length.0 / count / logical * logical;
    let bytes = (options.transfer_bytes / logical * logical).min(room);
    if bytes == 0 {
        return Ok(());
    }
    let last = region.length.0 - bytes;
    let mut order: Vec<u64> = (0..count).collect();
    rng.shuffle(&mut order);
    for at in order {
        let share = u128::from(last) * u128::from(at) / u128::from((count - 1).max(1));
        let offset = region.offset.0 + share as u64 / logical * logical;
        let pieces = (0..bytes.div_ceil(PIECE)).map(|piece| {
            let from = piece * PIECE;
            (offset + from, PIECE.min(bytes - from))
        });
        let samples = desk.read("transfers", &pieces.collect::<Vec<_>>())?;
        if let (Some(first), Some(last)) = (samples.first(), samples.last()) {
            let ns = last.completed.0.saturating_sub(first.issued.0).max(1);
            done.push(Transfer { offset, bytes, ns, bytes_per_s: bytes as f64 * 1e9 / ns as f64 });
        }
    }
    Ok(())
}

fn access(
    desk: &mut Desk<'_>,
    options: &Options,
    rng: &mut Rng,
    done: &mut Vec<Access>,
) -> Result<(), Halt> {
    let (region, logical) = (desk.region(), desk.info().logical_block_bytes.0.max(512));
    let bytes = options.access_bytes.next_multiple_of(logical);
    let room = region.length.0 / bytes;
    if room == 0 {
        return Ok(());
    }
    let places: Vec<(u64, u64)> =
        (0..options.accesses).map(|_| (region.offset.0 + rng.below(room) * bytes, bytes)).collect();
    for part in places.chunks(SCRIPT_READS) {
        let samples = desk.read("accesses", part)?;
        done.extend(samples.iter().map(|sample| Access {
            offset: sample.offset.0,
            bytes: sample.len.0,
            ns: sample.completed.0.saturating_sub(sample.issued.0),
        }));
    }
    Ok(())
}

/// Summaries, slow spots and trend.
pub fn infer(mut transfers: Vec<Transfer>, accesses: Vec<Access>) -> Evidence {
    transfers.sort_by_key(|transfer| transfer.offset);
    let rates: Vec<f64> = transfers.iter().map(|transfer| transfer.bytes_per_s).collect();
    let times: Vec<f64> = accesses.iter().map(|access| access.ns as f64).collect();
    Evidence {
        speed_bytes_per_s: summary(&rates),
        access_ns: summary(&times),
        slow_spots: slow_spots(&transfers, &rates),
        trend: trend(&rates),
        transfers,
        accesses,
        complete: true,
    }
}

fn summary(values: &[f64]) -> Option<Summary> {
    let middle = median(values)?;
    Some(Summary {
        n: values.len() as u64,
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        mean: values.iter().sum::<f64>() / values.len() as f64,
        median: middle,
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}

/// Transfers that are far slower than their neighbours on either side: along a disk's zones all are slower at the end,
/// and where a zone begins they are as slow as those that follow. The scale is the median deviation of that ratio.
fn slow_spots(transfers: &[Transfer], rates: &[f64]) -> Vec<SlowSpot> {
    let near: Vec<f64> = (0..rates.len())
        .map(|at| {
            let below = median(&rates[at.saturating_sub(NEIGHBOURS)..at]);
            let above = median(&rates[at + 1..(at + 1 + NEIGHBOURS).min(rates.len())]);
            let sides = below.into_iter().chain(above);
            let least = sides.fold(f64::INFINITY, f64::min);
            if least.is_finite() { least } else { rates[at] }
        })
        .collect();
    let ratios: Vec<f64> = rates.iter().zip(&near).map(|(rate, near)| rate / near).collect();
    let scale = 1.4826 * median_absolute_deviation(&ratios).unwrap_or(0.0);
    let slow = |ratio: f64| ratio < 1.0 - DEVIATIONS * scale && ratio * SLOWER_MIN < 1.0;
    let spots = transfers.iter().zip(&ratios).filter(|(_, ratio)| slow(**ratio));
    spots
        .map(|(transfer, ratio)| SlowSpot {
            offset: transfer.offset,
            bytes: transfer.bytes,
            share_of_neighbours: *ratio,
        })
        .collect()
}

fn trend(rates: &[f64]) -> Option<Trend> {
    if rates.len() < 10 {
        return None;
    }
    let (middle, steps) = (median(rates)?, (rates.len() - 1) as f64);
    let Slope { slope, low, high } = theil_sen(rates, 0.95)?;
    // The line goes through the median at the middle of the range. One that would reach zero says too little.
    let over = |slope: f64| {
        let half = slope * steps / 2.0;
        (half.abs() < middle).then(|| (middle + half) / (middle - half))
    };
    let p_value = mann_kendall(rates)?.p_value;
    Some(Trend {
        end_over_begin: over(slope)?,
        low: low.and_then(over),
        high: high.and_then(over),
        p_value,
        moves: p_value <= TREND_P,
    })
}
