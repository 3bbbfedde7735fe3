//! Access time and rate from reads of growing size.
//!
//! Each size is read at places of its own, spread over the region and in random order, so that no read finds what the
//! one before left in the drive's memory. Time grows with size as access time + size / rate as long as one part of
//! the drive is the bottleneck; where the slope changes is a knee.

use block::Nanos;
use serde::{Deserialize, Serialize};
use stats::{median, median_interval};

use crate::desk::{Desk, Halt};
use crate::finding::Outcome;
use crate::known::Known;

/// First element of the paths of this probe's random numbers.
const PURPOSE: u64 = 0x1a7e;

/// Smaller reads are not part of the line: many drives read 4 KiB for them anyway.
const LINE_FROM: u64 = 4096;

/// Confidence of all intervals.
const CONFIDENCE: f64 = 0.95;

/// The slope changes by at least this factor at a knee.
const KNEE_MIN: f64 = 1.5;

/// Options of the reads of growing size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Sizes: 2^0 to 2^(order - 1) logical blocks, 1 to 20.
    pub order: u32,
    /// Reads of each size.
    pub count: u32,
    /// How long it may take, on the drive's clock.
    pub limit: Nanos,
}

impl Default for Options {
    /// 14 sizes, to 4 MiB from 512 bytes, 32 reads of each, in 60 s at most.
    fn default() -> Options {
        Options { order: 14, count: 32, limit: Nanos::secs(60) }
    }
}

/// Reads of one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// Bytes of one read.
    pub bytes: u64,
    /// Time of each read, ns, in the order of issue.
    pub times_ns: Vec<u64>,
    /// Least, median and greatest time, ns.
    pub min_ns: u64,
    /// Median, ns.
    pub median_ns: f64,
    /// Interval for the median at 95%, ns; null with fewer than 6 reads.
    pub low_ns: Option<f64>,
    /// Its upper end, ns.
    pub high_ns: Option<f64>,
    /// Greatest time, ns.
    pub max_ns: u64,
    /// Bytes per second by the median.
    pub bytes_per_s: f64,
}

/// A line through the times of sizes: access time + bytes x slope.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Time of a read of nothing, ns.
    pub access_ns: f64,
    /// Interval of that at 95%, ns.
    pub access_low_ns: f64,
    /// Its upper end, ns.
    pub access_high_ns: f64,
    /// Rate, bytes per second; null where time does not grow with size.
    pub bytes_per_s: Option<f64>,
    /// Lower end of its interval at 95%; null where none is.
    pub bytes_per_s_low: Option<f64>,
    /// Upper end; null where it is not bounded.
    pub bytes_per_s_high: Option<f64>,
}

/// A size at which time begins to grow faster or slower.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// Size, bytes.
    pub bytes: u64,
    /// Rate below, bytes per second.
    pub below_bytes_per_s: f64,
    /// Rate above, bytes per second.
    pub above_bytes_per_s: f64,
}

/// Times by size, and the line and knees that follow from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The sizes, ascending.
    pub sizes: Vec<Size>,
    /// The line through sizes from 4 KiB on; null with fewer than three of them.
    pub line: Option<Line>,
    /// Knees, ascending.
    pub knees: Vec<Knee>,
}

/// Reads sizes in random order at fresh places.
///
/// # Errors
/// Any [`Halt`] except a limit; at a limit it judges what it has.
pub fn probe(desk: &mut Desk<'_>, _: &Known, options: &Options) -> Result<Outcome<Evidence>, Halt> {
    let (region, logical) = (desk.region(), desk.info().logical_block_bytes.0.max(512));
    let largest = region.length.0 / 4;
    let sizes: Vec<u64> = (0..options.order.clamp(1, 20))
        .map(|power| logical << power)
        .take_while(|bytes| *bytes <= largest)
        .collect();
    let mut rng = desk.rng(&[PURPOSE]);
    let mut times: Vec<(u64, Vec<u64>)> = sizes.iter().map(|bytes| (*bytes, Vec::new())).collect();
    let read = |desk: &mut Desk<'_>| -> Result<(), Halt> {
        for round in 0..u64::from(options.count) {
            let mut order: Vec<usize> = (0..sizes.len()).collect();
            rng.shuffle(&mut order);
            let places: Vec<(u64, u64)> = order
                .iter()
                .map(|size| {
                    // Each round has a part of the region of its own, so that no place is read twice.
                    let part = region.length.0 / u64::from(options.count);
                    let unit = sizes[*size].max(LINE_FROM);
                    let room = part.saturating_sub(unit) / unit;
                    let at = region.offset.0 + round * part + rng.below(room.max(1)) * unit;
                    let last = region.offset.0 + region.length.0 - sizes[*size];
                    (at.min(last) / logical * logical, sizes[*size])
                })
                .collect();
            let samples = desk.read("sizes", &places)?;
            for (size, sample) in order.iter().zip(samples) {
                times[*size].1.push(sample.completed.0.saturating_sub(sample.issued.0));
            }
        }
        Ok(())
    };
    match desk.within(options.limit, read) {
        Err(halt) if !halt.is_limit() => return Err(halt),
        _ => {}
    }
    Ok(Outcome { findings: Vec::new(), evidence: infer(&times), caveats: Vec::new() })
}

/// Line and knees from the times, ns, of each size, bytes.
pub fn infer(times: &[(u64, Vec<u64>)]) -> Evidence {
    let sizes: Vec<Size> = times.iter().filter_map(|(bytes, times)| size(*bytes, times)).collect();
    let large: Vec<&Size> = sizes.iter().filter(|size| size.bytes >= LINE_FROM).collect();
    let (line, knees) = (line(&large), knees(&large));
    Evidence { line, knees, sizes }
}

fn size(bytes: u64, times: &[u64]) -> Option<Size> {
    let values: Vec<f64> = times.iter().map(|ns| *ns as f64).collect();
    let middle = median(&values)?;
    let interval = median_interval(&values, CONFIDENCE);
    Some(Size {
        bytes,
        min_ns: times.iter().copied().min()?,
        max_ns: times.iter().copied().max()?,
        median_ns: middle,
        low_ns: interval.map(|interval| interval.low),
        high_ns: interval.map(|interval| interval.high),
        bytes_per_s: if middle > 0.0 { bytes as f64 * 1e9 / middle } else { 0.0 },
        times_ns: times.to_vec(),
    })
}

/// The line of Theil and Sen through the medians of the sizes. Its intervals are from the rounds: one read of each size
/// gives a line by itself, the lines of rounds are independent, and the median of their slopes has an exact interval.
fn line(sizes: &[&Size]) -> Option<Line> {
    if sizes.len() < 3 {
        return None;
    }
    let by_median: Vec<(f64, f64)> =
        sizes.iter().map(|size| (size.bytes as f64, size.median_ns)).collect();
    let (slope, access) = theil_sen(&by_median)?;
    let rounds = sizes.iter().map(|size| size.times_ns.len()).min()?;
    let round = |at: usize| -> Option<(f64, f64)> {
        let points: Vec<(f64, f64)> =
            sizes.iter().map(|size| (size.bytes as f64, size.times_ns[at] as f64)).collect();
        theil_sen(&points)
    };
    let fits: Vec<(f64, f64)> = (0..rounds).filter_map(round).collect();
    let slopes: Vec<f64> = fits.iter().map(|fit| fit.0).collect();
    let accesses: Vec<f64> = fits.iter().map(|fit| fit.1).collect();
    let slopes = median_interval(&slopes, CONFIDENCE)?;
    let accesses = median_interval(&accesses, CONFIDENCE)?;
    let rate = |slope: f64| (slope > 0.0).then(|| 1e9 / slope);
    Some(Line {
        access_ns: access,
        access_low_ns: accesses.low.min(access),
        access_high_ns: accesses.high.max(access),
        bytes_per_s: rate(slope),
        bytes_per_s_low: rate(slopes.high.max(slope)),
        bytes_per_s_high: rate(slopes.low.min(slope)),
    })
}

/// Slope and intercept: medians over all pairs, and over what the slope leaves (Theil 1950, Sen 1968). Unlike the
/// function of that name in `stats`, the distances of the points differ here.
fn theil_sen(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let pairs = points
        .iter()
        .enumerate()
        .flat_map(|(at, a)| points[at + 1..].iter().map(move |b| (b.1 - a.1) / (b.0 - a.0)));
    let slope = median(&pairs.collect::<Vec<_>>())?;
    let rest: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    Some((slope, median(&rest)?))
}

/// Knees: sizes at which the rate changes by more than the intervals of the medians allow.
fn knees(sizes: &[&Size]) -> Vec<Knee> {
    let knee = |three: &[&Size]| -> Option<Knee> {
        let [a, b, c] = three else { return None };
        let low = slope_range(a, b)?;
        let high = slope_range(b, c)?;
        let apart = high.0 > KNEE_MIN * low.1 || low.0 > KNEE_MIN * high.1;
        let rate = |from: &Size, to: &Size| {
            (to.bytes - from.bytes) as f64 * 1e9 / (to.median_ns - from.median_ns)
        };
        let positive = b.median_ns > a.median_ns && c.median_ns > b.median_ns;
        (apart && positive).then(|| Knee {
            bytes: b.bytes,
            below_bytes_per_s: rate(a, b),
            above_bytes_per_s: rate(b, c),
        })
    };
    sizes.windows(3).filter_map(knee).collect()
}

/// Least and greatest slope between two sizes that the intervals of their medians allow, ns a byte.
fn slope_range(a: &Size, b: &Size) -> Option<(f64, f64)> {
    let bytes = (b.bytes - a.bytes) as f64;
    let low = (b.low_ns? - a.high_ns?) / bytes;
    let high = (b.high_ns? - a.low_ns?) / bytes;
    Some((low.max(0.0), high.max(0.0)))
}
