//! Chunk and interleaving from reads that are issued together: two that meet on one die take twice the time.
//!
//! After Chen, Lee and Zhang (HPCA 2011), who compare bandwidths of strides. Here each address is paired with a few
//! fixed ones, so that one scan shows both which addresses lie on one die, and how long their runs are.

use block::{Bytes, Nanos, Op};
use serde::{Deserialize, Serialize};
use workload::script::{Access, Script};

use crate::desk::{Desk, Halt};
use crate::finding::Outcome;
use crate::known::Known;
use crate::{Finding, Name};

/// Addresses that all others are paired with, and so often.
const REFERENCES: u64 = 6;
const REPEATS: usize = 2;
/// Distance between addresses, and how many there are: two turns of drives of 4 MiB a turn.
const STEP: u64 = 4096;
const STEPS: u64 = 2048;
/// Bytes left out at the beginning, which may be kept in another way.
const FIRST: u64 = 64 << 20;
/// Distance of the references from the beginning of the scan.
const APART: u64 = 32 << 20;
/// A page of flash takes at least this long to be read; what waits for less waits for something else.
const PAGE_NS_MIN: f64 = 30_000.0;
/// A drive that serves one command at a time takes longer than this for it; two short ones follow each other on any
/// link.
const SERIAL_NS_MIN: f64 = 150_000.0;
/// Waits between these shares of the longest are ambiguous: a slow channel that two dies share causes them. At most
/// this share of the number of longer waits may be ambiguous.
const UNCLEAR: std::ops::Range<f64> = 0.3..0.63;
const UNCLEAR_SHARE: f64 = 0.05;
/// Share of pairs that may meet at least: that of 128 dies.
const MEETING_MIN: f64 = 0.995;
/// Least number of references that must agree.
const AGREE: usize = 3;
/// Probability that the layout is right where at least [`AGREE`] references agree and none differs.
const CONFIDENCE: f64 = 0.99;

/// Pairs of one reference with all addresses of the scan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    /// The reference.
    pub reference_bytes: u64,
    /// By address of the scan, from when the pair was issued to when both had completed; the least of the repeats.
    pub times_ns: Vec<u64>,
}

/// Evidence for the answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// First byte of the scan.
    pub from_bytes: u64,
    /// Distance between its addresses.
    pub step_bytes: u64,
    /// Times of single reads, each somewhere else.
    pub singles_ns: Vec<u64>,
    /// Times of pairs of reads, each pair somewhere else.
    pub pairs_ns: Vec<u64>,
    /// One for each reference.
    pub scans: Vec<Scan>,
    /// The scanned range had been written in order first.
    pub written: bool,
    /// The disk turns: there are no dies.
    pub rotational: bool,
    /// The limit that ended it, if one did.
    pub limit: Option<String>,
}

/// Asks the drive: by reads alone at first; where no two meet, and it may be written, after writing in order what is
/// then read.
///
/// # Errors
/// Any [`Halt`] except a limit.
pub fn probe(desk: &mut Desk<'_>, _: &Known) -> Result<Outcome<Evidence>, Halt> {
    let mut evidence = Evidence {
        step_bytes: STEP.max(desk.info().logical_block_bytes.0),
        rotational: desk.info().rotational == Some(true),
        ..Evidence::default()
    };
    match ask(desk, &mut evidence) {
        Err(halt) if !halt.is_limit() => return Err(halt),
        Err(limit) => evidence.limit = Some(limit.to_string()),
        Ok(()) => {}
    }
    Ok(Outcome { findings: infer(&evidence), evidence, caveats: Vec::new() })
}

fn ask(desk: &mut Desk<'_>, evidence: &mut Evidence) -> Result<(), Halt> {
    let (region, step) = (desk.region(), evidence.step_bytes);
    let span = STEPS * step;
    let first = FIRST.min(region.length.0 / 4).next_multiple_of(step);
    if evidence.rotational || region.length.0 < first + 2 * APART + span {
        return Ok(());
    }
    evidence.from_bytes = (region.offset.0 + first).next_multiple_of(span);
    look(desk, evidence)?;
    if is_serial(evidence) || layout(evidence).is_some() || !desk.may_write() {
        return Ok(());
    }
    for begin in [evidence.from_bytes, evidence.from_bytes + APART] {
        let writes: Vec<(u64, u64)> =
            (0..span >> 20).map(|n| (begin + (n << 20), 1 << 20)).collect();
        desk.write("in order", &writes)?;
    }
    let flush = Access { op: Op::Flush, fua: false, offset: Bytes::ZERO, len: Bytes::ZERO };
    desk.run("flush", &Script::one_by_one([flush]))?;
    evidence.written = true;
    look(desk, evidence)
}

/// Single reads and pairs at random, then the scan.
fn look(desk: &mut Desk<'_>, evidence: &mut Evidence) -> Result<(), Halt> {
    let (from, step) = (evidence.from_bytes, evidence.step_bytes);
    let mut rng = desk.rng(&[0x7061_7261, u64::from(evidence.written)]);
    let places: Vec<u64> = (0..192).map(|_| from + rng.below(STEPS) * step).collect();
    let singles: Vec<&[u64]> = places[..64].chunks(1).collect();
    let pairs: Vec<&[u64]> = places[64..].chunks(2).collect();
    evidence.singles_ns = groups(desk, "single reads", &singles, step)?;
    evidence.pairs_ns = groups(desk, "pairs of reads", &pairs, step)?;
    evidence.scans.clear();
    if is_serial(evidence) {
        return Ok(());
    }
    for _ in 0..REFERENCES {
        let reference = from + APART + rng.below(STEPS) * step;
        evidence.scans.push(scan(desk, from, step, reference)?);
    }
    Ok(())
}

/// Pairs every address with one reference. One after the other, since a reference that lies on the die of another
/// would drive that one's page out of the die's register.
fn scan(desk: &mut Desk<'_>, from: u64, step: u64, reference: u64) -> Result<Scan, Halt> {
    // The reference comes second: were it first, it might still be at hand from the pair before, and not meet the
    // other at all.
    let asked: Vec<[u64; 2]> = (0..STEPS).map(|at| [from + at * step, reference]).collect();
    let all: Vec<&[u64]> =
        asked.iter().flat_map(|pair| std::iter::repeat_n(&pair[..], REPEATS)).collect();
    let took = groups(desk, "scan", &all, step)?;
    let least = |times: &[u64]| times.iter().copied().min().unwrap_or(0);
    Ok(Scan { reference_bytes: reference, times_ns: took.chunks(REPEATS).map(least).collect() })
}

/// Reads groups of addresses, each issued together; gives the time of each group.
fn groups(desk: &mut Desk<'_>, part: &str, all: &[&[u64]], len: u64) -> Result<Vec<u64>, Halt> {
    let mut script = Script::new();
    for group in all {
        let access = |&offset: &u64| Access {
            op: Op::Read,
            fua: false,
            offset: Bytes(offset),
            len: Bytes(len),
        };
        script.group(Nanos::ZERO, &group.iter().map(access).collect::<Vec<_>>());
    }
    let samples = desk.run(part, &script)?;
    let mut rest = samples.as_slice();
    let mut times = Vec::with_capacity(all.len());
    for group in all {
        let (these, others) = rest.split_at(group.len().min(rest.len()));
        let issued = these.iter().map(|s| s.issued.0).min().unwrap_or(0);
        let completed = these.iter().map(|s| s.completed.0).max().unwrap_or(0);
        times.push(completed.saturating_sub(issued));
        rest = others;
    }
    Ok(times)
}

/// True when two reads always take the time of both.
fn is_serial(evidence: &Evidence) -> bool {
    let floats = |times: &[u64]| times.iter().map(|&t| t as f64).collect::<Vec<f64>>();
    let single = stats::median(&floats(&evidence.singles_ns));
    let pair = stats::quantile(&floats(&evidence.pairs_ns), 0.05);
    single.zip(pair).is_some_and(|(single, pair)| single > SERIAL_NS_MIN && pair > 1.7 * single)
}

/// Length of a run of addresses on one die, and of a turn around all dies, in steps.
fn layout(evidence: &Evidence) -> Option<(usize, usize)> {
    let least: Vec<u64> = (0..evidence.scans.first()?.times_ns.len())
        .map(|at| evidence.scans.iter().filter_map(|scan| scan.times_ns.get(at)).min().copied())
        .collect::<Option<_>>()?;
    // The time of an address by itself is common to all references.
    let waits = |scan: &Scan| -> Vec<f64> {
        scan.times_ns.iter().zip(&least).map(|(time, least)| time.abs_diff(*least) as f64).collect()
    };
    let waits: Vec<Vec<f64>> = evidence.scans.iter().map(waits).collect();
    let most = stats::quantile(&waits.concat(), MEETING_MIN)?;
    if most < PAGE_NS_MIN {
        return None;
    }
    let count = |range: std::ops::Range<f64>| {
        waits.iter().flatten().filter(|wait| range.contains(&(**wait / most))).count() as f64
    };
    if count(UNCLEAR) > UNCLEAR_SHARE * count(UNCLEAR.end..f64::INFINITY) {
        return None;
    }
    let seen: Vec<Option<(usize, usize)>> = waits
        .iter()
        .map(|waits| period(&waits.iter().map(|wait| *wait > most / 2.0).collect::<Vec<bool>>()))
        .collect();
    let found: Vec<(usize, usize)> = seen.into_iter().flatten().collect();
    let first = *found.first()?;
    (found.len() >= AGREE && found.iter().all(|each| *each == first)).then_some(first)
}

/// Length of runs and distance of their beginnings, where both are the same throughout: three runs at least that
/// neither begin nor end with the scan.
fn period(meets: &[bool]) -> Option<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in meets.iter().enumerate().filter(|(_, meets)| **meets) {
        match runs.last_mut() {
            Some((start, len)) if *start + *len == at => *len += 1,
            _ => runs.push((at, 1)),
        }
    }
    let whole = |&&(start, len): &&(usize, usize)| start > 0 && start + len < meets.len();
    let runs: Vec<(usize, usize)> = runs.iter().filter(whole).copied().collect();
    let (first, second) = (runs.first()?, runs.get(1)?);
    let (len, turn) = (first.1, second.0 - first.0);
    let same =
        runs.iter().all(|run| run.1 == len) && runs.windows(2).all(|w| w[1].0 - w[0].0 == turn);
    (runs.len() >= 3 && same && turn.is_multiple_of(len) && turn > len).then_some((len, turn))
}

/// Infers the chunk and the interleaving from the evidence.
pub fn infer(evidence: &Evidence) -> Vec<Finding> {
    let both =
        |finding: &dyn Fn(Name) -> Finding| vec![finding(Name::Chunk), finding(Name::Interleave)];
    if evidence.rotational {
        return both(&|name| Finding::none(name, 0.999, "it turns: there are no dies"));
    }
    if let Some((run, turn)) = layout(evidence) {
        let (chunk, ways) = (run as u64 * evidence.step_bytes, (turn / run) as u64);
        let reason = format!(
            "reads that are {} apart wait for each other, and those of {} beside them",
            Bytes(turn as u64 * evidence.step_bytes).human(),
            Bytes(chunk).human()
        );
        return vec![
            Finding::found(Name::Chunk, chunk, CONFIDENCE, reason.clone()),
            Finding::found(Name::Interleave, ways, CONFIDENCE, reason),
        ];
    }
    if is_serial(evidence) {
        let reason = "it serves one read after the other";
        return both(&|name| Finding::none(name, 0.99, reason));
    }
    let reason = match &evidence.limit {
        Some(limit) => format!("the scan did not come to its end: {limit}"),
        None if evidence.written => "reads that wait for each other show no pattern".to_owned(),
        None => "reads do not wait for each other in a pattern: perhaps nothing was written there"
            .to_owned(),
    };
    both(&|name| Finding::unknown(name, reason.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a turn is derived from runs that differ, or from too few of them.
    #[test]
    fn a_period_is_one_only_when_it_repeats() {
        let every = |run: usize, turn: usize, n: usize| -> Vec<bool> {
            (0..n).map(|at| (at + 1) % turn < run).collect()
        };
        assert_eq!(period(&every(4, 32, 200)), Some((4, 32)));
        assert_eq!(period(&every(1, 7, 100)), Some((1, 7)));
        assert_eq!(period(&every(4, 32, 96)), None, "two whole runs");
        let mut broken = every(4, 32, 200);
        broken[70] = true;
        assert_eq!(period(&broken), None);
        assert_eq!(period(&[true; 100]), None);
        assert_eq!(period(&every(3, 32, 200)), None, "no whole count of chunks makes a turn");
    }
}
