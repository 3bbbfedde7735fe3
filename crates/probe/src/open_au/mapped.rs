//! Whether a drive maps pages one by one: then any number of erase blocks can be written at once.
//!
//! Many fast blocks in turn do not show it: more may be open than were tried, or a log takes what would cost merges.
//! But no log takes everything: on a drive that maps whole blocks, writes all over it come to cost merges once the log
//! is full. So more than logs hold is written at random places, twice, and the total time counts, not the usual time.

use crate::desk::{Desk, Halt};

/// Bytes written in one pass over the places. Twice as many are written as are known of logs for small writes.
const PASS: u64 = 256 << 20;
/// Writes of one look, and bytes of a run in order.
const LOOK: usize = 512;
const RUN: u64 = 128 << 20;
/// Writes at random may take at most this many times as long as in order: all together, and in each look.
const ALL: f64 = 1.25;
const EACH: f64 = 1.6;
/// From here on it is not worth going on.
const CLEAR: f64 = 3.0;

/// `Ok` when writes of `len` bytes all over the drive, from byte `from` on, take no longer than in order; else why
/// that was not seen.
///
/// # Errors
/// Any [`Halt`] except a limit.
pub(super) fn maps_pages(
    desk: &mut Desk<'_>,
    from: u64,
    len: u64,
) -> Result<Result<(), String>, Halt> {
    match look(desk, from, len) {
        Err(halt) if halt.is_limit() => {
            Ok(Err(format!("whether a log takes them was not seen: {halt}")))
        }
        other => other,
    }
}

fn look(desk: &mut Desk<'_>, from: u64, len: u64) -> Result<Result<(), String>, Halt> {
    let region = desk.region();
    let slots = (region.offset.0 + region.length.0).saturating_sub(from) / len;
    let count = (PASS / len) as usize;
    if slots < 8 * count as u64 {
        return Ok(Err("the region is too small to see whether a log takes them".to_owned()));
    }
    let mut rng = desk.rng(&[0x6d61_7070]);
    // Each place lies in a part of its own.
    let part = slots / count as u64;
    let mut places: Vec<u64> =
        (0..count as u64).map(|n| from + (n * part + rng.below(part)) * len).collect();
    let first = in_order(desk, from, len)?;
    let mut looks = Vec::new();
    for _ in 0..2 {
        rng.shuffle(&mut places);
        for some in places.chunks(LOOK) {
            let took = timed(desk, "all over", some, len)?;
            looks.push(took);
            if took > CLEAR * first {
                return Ok(Err("writes all over the drive take longer".to_owned()));
            }
        }
    }
    let usual = first.max(in_order(desk, from, len)?);
    let mean = looks.iter().sum::<f64>() / looks.len() as f64;
    let most = looks.iter().copied().fold(0.0, f64::max);
    if mean > ALL * usual || most > EACH * usual {
        return Ok(Err("writes all over the drive take longer".to_owned()));
    }
    Ok(Ok(()))
}

/// Mean time of the last writes of a run in order from `at` on, long enough to leave nothing in a log that would have to
/// be merged meanwhile.
fn in_order(desk: &mut Desk<'_>, at: u64, len: u64) -> Result<f64, Halt> {
    let mut last = 0.0;
    for run in 0..RUN / (LOOK as u64 * len) {
        let places: Vec<u64> =
            (0..LOOK as u64).map(|n| at + (run * LOOK as u64 + n) * len).collect();
        last = timed(desk, "in order", &places, len)?;
    }
    Ok(last)
}

/// Mean time of writes, all of it.
fn timed(desk: &mut Desk<'_>, part: &str, places: &[u64], len: u64) -> Result<f64, Halt> {
    let places: Vec<(u64, u64)> = places.iter().map(|at| (*at, len)).collect();
    let before = desk.now();
    desk.write(part, &places)?;
    Ok((desk.now().0 - before.0) as f64 / places.len().max(1) as f64)
}
