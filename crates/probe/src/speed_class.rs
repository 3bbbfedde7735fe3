//! Speed classes of SD cards: A1 and A2, C, U and V, by the specification's conditions as far as plain reads and writes
//! can keep them.
//!
//! A class is a promise of a card in a host that uses its commands. This probe reports whether the drive reaches the
//! speeds of a class under the conditions that are printed with the answer; it makes no finding.

use block::{Bytes, DriveKind, Nanos, Op};
use serde::{Deserialize, Serialize};
use workload::script::{Access, Script};

use crate::desk::{Desk, Halt};
use crate::finding::{Outcome, Verdict};
use crate::known::Known;
use crate::{Name, align};

/// Range of random accesses (SD physical layer specification, application performance class).
const RANGE: u64 = 256 << 20;
/// Size of a random access.
const BLOCK: u64 = 4096;
/// A recording unit of the faster classes.
const RECORDING_UNIT: u64 = 512 << 10;
/// Allocation units written.
const UNITS: u64 = 8;
/// Allocation unit where the erase block is not known: that of most cards up to 32 GB (SD physical layer specification,
/// AU_SIZE).
const USUAL_UNIT: u64 = 4 << 20;
/// Depth at which A2 is asked: that of a card's command queue.
const QUEUE: usize = 32;
/// Accesses that are looked at together, and how many batches are made at least and at most.
const BATCH: usize = 64;
const BATCHES: std::ops::Range<usize> = 8..64;
/// Nearer to what is required than this, a class is undecided: other units, or another day, may decide otherwise.
const MARGIN: f64 = 0.05;

/// Bytes per second that a class of sequential recording needs, in the order of speed.
const RECORDING: [(&str, f64); 11] = [
    ("C2", 2e6),
    ("C4", 4e6),
    ("C6", 6e6),
    ("V6", 6e6),
    ("C10", 10e6),
    ("U1", 10e6),
    ("V10", 10e6),
    ("U3", 30e6),
    ("V30", 30e6),
    ("V60", 60e6),
    ("V90", 90e6),
];
/// Reads and writes a second that an application class needs, and whether they are queued; each needs 10 MB/s besides.
pub const APPLICATION: [(&str, f64, f64, bool); 2] =
    [("A1", 1500.0, 500.0, false), ("A2", 4000.0, 2000.0, true)];
const APPLICATION_BYTES_PER_S: f64 = 10e6;

/// Whether a class's speeds are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    /// All of them, by more than the margin.
    Met,
    /// One at least is not, by more than the margin.
    NotMet,
    /// Too near, or not measured.
    Undecided,
}

/// One class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// `A1`, `V30`, …
    pub name: String,
    /// The answer.
    pub reached: Reached,
    /// Measured by required, of what is furthest behind; absent when something was not measured.
    pub margin: Option<f64>,
}

/// Accesses a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Mean.
    pub per_s: f64,
    /// Least and greatest at 95%, from the spread of batches.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// Accesses made.
    pub count: u64,
}

/// Measured rates, and the classes that follow from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Random reads of 4 KiB within 256 MiB, one at a time.
    pub reads: Option<Rate>,
    /// Random writes, likewise.
    pub writes: Option<Rate>,
    /// Random reads, 32 together.
    pub queued_reads: Option<Rate>,
    /// Random writes, 32 together.
    pub queued_writes: Option<Rate>,
    /// Size of an allocation unit.
    pub unit_bytes: Option<u64>,
    /// How that size is known; null where none was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_from: Option<String>,
    /// Bytes per second, averaged over each allocation unit written.
    pub units_bytes_per_s: Vec<f64>,
    /// The classes.
    pub classes: Vec<Class>,
    /// Conditions of the specification that could not be kept.
    pub not_kept: Vec<String>,
    /// The limit that ended it, if one did.
    pub limit: Option<String>,
}

/// Asks the drive. The size of an allocation unit is that of the erase block: known before, or found by reads.
///
/// # Errors
/// Any [`Halt`] except a limit.
pub fn probe(desk: &mut Desk<'_>, known: &Known) -> Result<Outcome<Evidence>, Halt> {
    let mut evidence = Evidence {
        unit_bytes: known.value(Name::EraseBlock),
        not_kept: not_kept(desk.info().kind),
        ..Evidence::default()
    };
    match find_unit(desk, known, &mut evidence).and_then(|()| ask(desk, &mut evidence)) {
        Err(halt) if !halt.is_limit() => return Err(halt),
        Err(limit) => evidence.limit = Some(limit.to_string()),
        Ok(()) => {}
    }
    evidence.classes = infer(&evidence);
    Ok(Outcome { findings: Vec::new(), evidence, caveats: Vec::new() })
}

fn not_kept(kind: DriveKind) -> Vec<String> {
    let of_all = [
        "file allocation tables were not updated between recording units",
        "the speed class control command was not sent, nor were allocation units erased first",
        "a card's command queue and cache are on or off as the kernel's driver has them: A2 counts with both",
        "the bus mode is that in which the card is",
    ];
    let of_files =
        "it is a file: its filesystem decides where on the card it lies, and works in between";
    of_all
        .into_iter()
        .chain((kind == DriveKind::File).then_some(of_files))
        .map(str::to_owned)
        .collect()
}

/// The size of an allocation unit. If it is not known, reads across boundaries look for it; if these do not decide, the
/// usual size is used.
fn find_unit(desk: &mut Desk<'_>, known: &Known, evidence: &mut Evidence) -> Result<(), Halt> {
    if !desk.may_write() {
        return Ok(());
    }
    let is_enough = |unit: &u64| *unit >= RECORDING_UNIT;
    if let Some(unit) = evidence.unit_bytes {
        let given = known.given(Name::EraseBlock).is_some();
        let from = if given { "as given" } else { "the erase block that was found" };
        evidence.unit_from = Some(from.to_owned());
        if is_enough(&unit) {
            return Ok(());
        }
    }
    let from = if evidence.unit_bytes.is_some() {
        "the usual size, since that of the erase block is less than a recording unit".to_owned()
    } else if desk.info().kind == DriveKind::File {
        "the usual size, since a file does not show the card's".to_owned()
    } else {
        let options = align::Options::default();
        let outcome = desk.on_disk(|desk| align::probe(desk, known, &options))?;
        let stated = outcome.findings.into_iter().next().map(|finding| known.stated(finding));
        let found = stated.filter(|it| it.verdict == Verdict::Found);
        if let Some((unit, found)) = found.and_then(|it| Some((it.value.filter(is_enough)?, it))) {
            let percent = 100.0 * found.confidence.unwrap_or_default();
            evidence.unit_bytes = Some(unit);
            evidence.unit_from = Some(format!("the erase block, found by reads, {percent:.0}%"));
            return Ok(());
        }
        "the usual size, since reads did not show the erase block".to_owned()
    };
    evidence.unit_bytes = Some(USUAL_UNIT);
    evidence.unit_from = Some(from);
    Ok(())
}

fn ask(desk: &mut Desk<'_>, evidence: &mut Evidence) -> Result<(), Halt> {
    let region = desk.region();
    let range = RANGE.min(region.length.0 / 4) / BLOCK * BLOCK;
    let begin = (region.offset.0 + region.length.0 / 2) / RANGE * RANGE;
    if !desk.may_write() {
        evidence.reads = Some(random(desk, Op::Read, begin, range, 1)?);
        evidence.queued_reads = Some(random(desk, Op::Read, begin, range, QUEUE)?);
        return Err(Halt::NoConsent);
    }
    if let Some(unit) = evidence.unit_bytes.filter(|unit| *unit >= RECORDING_UNIT) {
        record(desk, unit, evidence)?;
    }
    // The range that is read must have been written.
    let fill: Vec<(u64, u64)> = (0..range >> 20).map(|n| (begin + (n << 20), 1 << 20)).collect();
    desk.write("fill", &fill)?;
    evidence.reads = Some(random(desk, Op::Read, begin, range, 1)?);
    evidence.queued_reads = Some(random(desk, Op::Read, begin, range, QUEUE)?);
    evidence.writes = Some(random(desk, Op::Write, begin, range, 1)?);
    evidence.queued_writes = Some(random(desk, Op::Write, begin, range, QUEUE)?);
    Ok(())
}

/// Recording units, in order, into allocation units that lie apart.
fn record(desk: &mut Desk<'_>, unit: u64, evidence: &mut Evidence) -> Result<(), Halt> {
    let region = desk.region();
    let first = (region.offset.0 + region.length.0 / 8).div_ceil(unit);
    let last = (region.offset.0 + region.length.0) / unit;
    let count = UNITS.min(last.saturating_sub(first));
    for n in 0..count {
        let begin = (first + (last - first) * n / count) * unit;
        let writes: Vec<(u64, u64)> = (0..unit.div_ceil(RECORDING_UNIT))
            .map(|at| at * RECORDING_UNIT)
            .map(|at| (begin + at, RECORDING_UNIT.min(unit - at)))
            .collect();
        let samples = desk.write("recording units", &writes)?;
        let span: u64 = samples.iter().map(|s| s.completed.0 - s.issued.0).sum();
        evidence.units_bytes_per_s.push(unit as f64 / span.max(1) as f64 * 1e9);
    }
    Ok(())
}

/// Random accesses until their rate is known to the margin, or for as long as it is worth.
fn random(desk: &mut Desk<'_>, op: Op, begin: u64, range: u64, depth: usize) -> Result<Rate, Halt> {
    let block = BLOCK.max(desk.info().logical_block_bytes.0);
    let mut rng = desk.rng(&[0x7370_6565, op as u64, depth as u64]);
    let mut batches: Vec<f64> = Vec::new();
    while batches.len() < BATCHES.end {
        let mut script = Script::new();
        for _ in 0..BATCH.div_ceil(depth) {
            let group: Vec<Access> = (0..depth)
                .map(|_| Access {
                    op,
                    fua: false,
                    offset: Bytes(begin + rng.below(range / block) * block),
                    len: Bytes(block),
                })
                .collect();
            script.group(Nanos::ZERO, &group);
        }
        let samples = desk.run("random accesses", &script)?;
        let from = samples.iter().map(|s| s.issued.0).min().unwrap_or(0);
        let to = samples.iter().map(|s| s.completed.0).max().unwrap_or(0);
        batches.push(to.saturating_sub(from).max(1) as f64 / samples.len() as f64);
        let rate = rate(&batches, BATCH as u64);
        if batches.len() >= BATCHES.start && rate.high - rate.low < MARGIN * rate.per_s {
            break;
        }
    }
    Ok(rate(&batches, BATCH as u64))
}

/// Mean of the batches' nanoseconds an access, with 1.96 standard errors on both sides, as a rate.
fn rate(batches: &[f64], each: u64) -> Rate {
    let n = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / n;
    let squares: f64 = batches.iter().map(|x| (x - mean) * (x - mean)).sum();
    let error = 1.96 * (squares / (n - 1.0).max(1.0) / n).sqrt();
    Rate {
        per_s: 1e9 / mean,
        low: 1e9 / (mean + error),
        high: 1e9 / (mean - error).max(mean * 1e-3),
        count: batches.len() as u64 * each,
    }
}

/// Judges for each class whether its speeds are reached.
pub fn infer(evidence: &Evidence) -> Vec<Class> {
    let worst = evidence.units_bytes_per_s.iter().copied().reduce(f64::min);
    // One unit that is too slow breaks the promise; all but a few that were not written may be slower than those.
    let recording = worst
        .filter(|_| evidence.limit.is_none() || evidence.units_bytes_per_s.len() as u64 == UNITS);
    let recorded = |needed: f64| recording.map(|worst| (worst / needed, worst / needed));
    let share = |rate: Option<Rate>, needed: f64| rate.map(|r| (r.low / needed, r.high / needed));
    let application = APPLICATION.iter().map(|&(name, reads, writes, queued)| {
        let (r, w) = if queued {
            (evidence.queued_reads, evidence.queued_writes)
        } else {
            (evidence.reads, evidence.writes)
        };
        let shares = [share(r, reads), share(w, writes), recorded(APPLICATION_BYTES_PER_S)];
        class(name, &shares)
    });
    application
        .chain(RECORDING.iter().map(|&(name, needed)| class(name, &[recorded(needed)])))
        .collect()
}

/// A class from the least and greatest share of each of its speeds that was reached.
fn class(name: &str, shares: &[Option<(f64, f64)>]) -> Class {
    let measured: Vec<(f64, f64)> = shares.iter().copied().flatten().collect();
    let all = measured.len() == shares.len();
    let reached = if measured.iter().any(|(_, high)| *high < 1.0 - MARGIN) {
        Reached::NotMet
    } else if all && measured.iter().all(|(low, _)| *low > 1.0 + MARGIN) {
        Reached::Met
    } else {
        Reached::Undecided
    };
    let least = measured.iter().map(|(low, high)| (low + high) / 2.0).reduce(f64::min);
    Class {
        name: name.to_owned(),
        reached,
        margin: least.filter(|_| all || reached == Reached::NotMet),
    }
}
