//! The part of the medium that is written with one bit a cell: size, plateaus, recovery after idle time.
//!
//! Two kinds are looked for. Cards keep a log for small writes ([`ring`]); drives of many dies take everything in
//! cells of one bit until those are used up, and move it on while the host is quiet ([`fill`]).

mod evidence;
pub mod fill;
mod judge;
pub mod ring;

use block::Nanos;
use serde::{Deserialize, Serialize};

pub use evidence::{Evidence, Recovery};
pub use judge::{Facts, MEMORY_BYTES_MAX, infer};

use self::fill::{Cursor, Drop, Fill, GROUP};
use crate::desk::{Desk, Halt};
use crate::finding::Name;
use crate::finding::Outcome;
use crate::known::Known;

/// Options of the cache probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Pauses after which is looked how much of the fast part came back; the longest also comes first.
    pub idle: Vec<Nanos>,
}

impl Default for Options {
    fn default() -> Options {
        Options { idle: vec![Nanos::secs(1), Nanos::secs(10), Nanos::secs(30)] }
    }
}

/// Asks the drive. It is left alone first, since what such a cache holds is moved on while the host is quiet.
///
/// # Errors
/// Any [`Halt`] except a limit.
pub fn probe(
    desk: &mut Desk<'_>,
    known: &Known,
    options: &Options,
) -> Result<Outcome<Evidence>, Halt> {
    let mut evidence = Evidence::default();
    let facts = Facts::of(desk, known);
    if desk.info().rotational != Some(true) {
        match ask(desk, known, options, &mut evidence) {
            Err(halt) if !halt.is_limit() => return Err(halt),
            Err(limit) => evidence.limit = Some(limit.to_string()),
            Ok(()) => {}
        }
    }
    evidence.plateaus = evidence.fill.plateaus();
    let finding = infer(&evidence, &facts);
    Ok(Outcome { findings: vec![finding], evidence, caveats: Vec::new() })
}

fn ask(
    desk: &mut Desk<'_>,
    known: &Known,
    options: &Options,
    evidence: &mut Evidence,
) -> Result<(), Halt> {
    if !desk.may_write() {
        return Err(Halt::NoConsent);
    }
    ring::ask(desk, known, &mut evidence.rings)?;
    if ring::infer(&evidence.rings, known.value(Name::Page)).is_some() {
        return Ok(());
    }
    let longest = options.idle.iter().copied().max().unwrap_or(Nanos::ZERO);
    desk.pause(longest)?;
    let mut cursor = Cursor::new(desk);
    let enough = desk.info().capacity_bytes.0 / 2;
    let drops = &mut evidence.drops;
    let filled = fill::write(desk, &mut cursor, "fill", &mut evidence.fill, |fill| {
        *drops = drops_of(fill);
        let beyond_memory = |drop: &Drop| !judge::may_be_memory(drop);
        drops.iter().any(beyond_memory) || fill.bytes() >= enough
    });
    evidence.drops = drops_of(&evidence.fill);
    filled?;
    if evidence.drops.is_empty() {
        return Ok(());
    }
    for pause in pauses(&evidence.drops, options) {
        evidence.recovery.push(recover(desk, &mut cursor, &evidence.drops, pause)?);
    }
    Ok(())
}

/// The first drop, and where that may be memory's the next.
fn drops_of(fill: &Fill) -> Vec<Drop> {
    let mut drops: Vec<Drop> = fill.drop(0).into_iter().collect();
    if let Some(first) = drops.first().filter(|drop| judge::may_be_memory(drop)) {
        let beyond = first.at_bytes as u64 + GROUP;
        drops.extend(fill.drop(beyond));
    }
    drops
}

/// The pauses: a short one first where memory must be distinguished from cells. Memory is emptied at the slow speed
/// from the first moment on.
fn pauses(drops: &[Drop], options: &Options) -> Vec<Nanos> {
    let small = drops.first().filter(|drop| judge::may_be_memory(drop));
    let short = small.map(|_| Nanos((judge::half_life(drops) * 1e9) as u64));
    short.into_iter().chain(options.idle.iter().copied()).collect()
}

/// Writes on after a pause until it is slow again.
fn recover(
    desk: &mut Desk<'_>,
    cursor: &mut Cursor,
    drops: &[Drop],
    pause: Nanos,
) -> Result<Recovery, Halt> {
    let (fast, slow) = drops.last().map_or((1.0, 1.0), |drop| (drop.fast, drop.slow));
    let most = drops.last().map_or(0.0, |drop| 1.25 * drop.at_bytes) as u64 + 16 * GROUP;
    cursor.make_room(most);
    desk.pause(pause)?;
    let mut fill = Fill::default();
    let limit = (fast * slow).sqrt();
    fill::write(desk, cursor, "after a pause", &mut fill, |fill| {
        fill.bytes() >= most || fill.pace_of_last(8).is_some_and(|bytes_per_s| bytes_per_s < limit)
    })?;
    Ok(Recovery {
        idle_ns: pause.0,
        written_bytes: fill.bytes(),
        fast_bytes: fill.fast_bytes(limit),
    })
}
