//! Emptying a drive through nothing but its requests: what a virtual drive knows, and how a real one is read and zeroed with
//! another engine than psync.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use block::{Bytes, Completion, Drive, Errno, LaneSetup, Nanos, Op, Payload, Request, Time};
use engine::IoPath;
use linux::purge::read_back::{self, Content, Place};
use linux::purge::{Ended, Method, Status};

/// Length of a discard.
const DISCARD_BYTES: u64 = 1 << 30;
/// Length of a write of zeros.
const WRITE_BYTES: u64 = 1 << 20;

/// When it is to be given up.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Set when the user asks for an end.
    pub cancel: &'a AtomicBool,
    /// Longest time, on the drive's own clock.
    pub time: Option<Nanos>,
}

/// Data that a purge has to remove: different in each block, and never blank.
struct Marks;

impl Payload for Marks {
    fn fill(&mut self, offset: Bytes, buffer: &mut [u8]) {
        for (index, word) in buffer.chunks_mut(8).enumerate() {
            let mark = (offset.0 + 8 * index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            word.copy_from_slice(&mark.to_le_bytes()[..word.len()]);
        }
    }
}

/// Zeros.
struct Zeros;

impl Payload for Zeros {
    fn fill(&mut self, _: Bytes, buffer: &mut [u8]) {
        buffer.fill(0);
    }
}

fn setup<'a>(
    block_bytes_max: Bytes,
    payload: Option<&'a dyn Fn(u16) -> Box<dyn Payload>>,
) -> LaneSetup<'a> {
    LaneSetup { block_bytes_max, payload, ..LaneSetup::default() }
}

/// One request to its end; none when the drive cannot say how it went.
fn one(lane: &mut dyn Drive, op: Op, offset: Bytes, len: Bytes) -> Result<Result<Bytes, Errno>> {
    let request = Request { op, fua: false, submitter: 0, slot: 0, offset, len };
    lane.submit(&[request])?;
    let mut done: Vec<Completion> = Vec::new();
    for _ in 0..2 {
        lane.wait_until(Time::NEVER, &mut done)?;
        if let Some(completion) = done.first() {
            return Ok(completion.outcome.bytes());
        }
    }
    bail!("the drive did not answer a {} at {offset}", op.word())
}

/// Opens one lane for data, for this thread.
fn lane<'a>(target: &'a mut dyn IoPath, setup: &LaneSetup<'_>) -> Result<Box<dyn Drive + 'a>> {
    let mut lanes = target.open_for_data(setup)?;
    match lanes.pop() {
        Some(mut lane) => {
            lane.attach()?;
            Ok(lane)
        }
        None => bail!("the drive opened no lane"),
    }
}

/// Writes something at each place. A place that cannot be written to holds nothing then.
pub fn mark(target: &mut dyn IoPath, places: &[Place]) -> Result<()> {
    let payload: &dyn Fn(u16) -> Box<dyn Payload> = &|_| Box::new(Marks);
    let longest = places.iter().map(|place| place.len).max().unwrap_or_default();
    let mut lane = lane(target, &setup(longest, Some(payload)))?;
    for place in places {
        let _ = one(&mut *lane, Op::Write, place.offset, place.len)?;
    }
    let _ = one(&mut *lane, Op::Flush, Bytes::ZERO, Bytes::ZERO)?;
    Ok(())
}

/// Reads each place.
pub fn look(target: &mut dyn IoPath, places: &[Place]) -> Result<Vec<Content>> {
    let longest = places.iter().map(|place| place.len).max().unwrap_or_default();
    let mut lane = lane(target, &setup(longest, None))?;
    Ok(read_back::look(places, &mut |offset, buffer| {
        let len = Bytes(buffer.len() as u64);
        let answer = one(&mut *lane, Op::Read, offset, len).map_err(std::io::Error::other)?;
        answer.map_err(|errno| std::io::Error::from_raw_os_error(errno.0))?;
        let data = lane.data(0).and_then(|data| data.get(..buffer.len()));
        buffer.copy_from_slice(data.ok_or_else(|| std::io::Error::other("no data came"))?);
        Ok(())
    }))
}

/// Zeroes all of a drive for [`Method::Zero`], and discards it otherwise: a virtual drive knows nothing else.
pub fn empty(
    target: &mut dyn IoPath,
    method: Method,
    limits: Limits<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<Ended> {
    let (op, slice) = match method {
        Method::Zero => (Op::Write, WRITE_BYTES),
        _ => (Op::Discard, DISCARD_BYTES),
    };
    let (size, begun) = (target.info().capacity_bytes, target.now());
    let payload: &dyn Fn(u16) -> Box<dyn Payload> = &|_| Box::new(Zeros);
    let mut lane = lane(target, &setup(Bytes(WRITE_BYTES), Some(payload)))?;
    let mut done = 0;
    let share = |done: u64| done as f64 / size.0.max(1) as f64;
    while done < size.0 {
        let is_late = limits.time.is_some_and(|limit| lane.now().since(begun) >= limit);
        if is_late || limits.cancel.load(Ordering::Relaxed) {
            let why = if is_late { "because its time was up" } else { "on request" };
            return Ok(Ended {
                status: Status::Stopped,
                words: format!("ended {why}; what lies behind was not touched"),
                next: "purge it again".to_owned(),
                done_share: Some(share(done)),
            });
        }
        let len = slice.min(size.0 - done);
        if let Err(errno) = one(&mut *lane, op, Bytes(done), Bytes(len))? {
            let words = format!("{method} failed in the slice that begins at byte {done}: {errno}");
            let failed = Ended::failed(words, "look at the drive's health");
            return Ok(Ended { done_share: Some(share(done)), ..failed });
        }
        done += len;
        progress(share(done));
    }
    let _ = one(&mut *lane, Op::Flush, Bytes::ZERO, Bytes::ZERO)?;
    Ok(Ended::done(format!("all of it went through {method}")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "these are tests")]
mod tests {
    use super::*;

    /// Bytes per second of random writes of 4 KiB, 32 at a time.
    fn random_writes(target: &mut dyn IoPath) -> f64 {
        // Several times what its memory takes.
        const WRITES: u64 = 100_000;
        let blocks = target.info().capacity_bytes.0 >> 12;
        let mut lane = target.open(&LaneSetup { depth: 32, ..setup(Bytes(4096), None) }).unwrap();
        let lane = &mut **lane.first_mut().unwrap();
        let (begun, mut done, mut issued) = (lane.now(), Vec::new(), 0_u64);
        let mut next = |lane: &mut dyn Drive, slot| {
            issued += 1;
            let block = issued.wrapping_mul(0x9e37_79b9_7f4a_7c15) % blocks;
            let (offset, len) = (Bytes(block << 12), Bytes(4096));
            let request = Request { op: Op::Write, fua: false, submitter: 0, slot, offset, len };
            lane.submit(&[request]).unwrap();
        };
        (0..32).for_each(|slot| next(lane, slot));
        let mut count = 0;
        while count < WRITES {
            lane.wait_until(Time::NEVER, &mut done).unwrap();
            for completion in done.drain(..) {
                assert!(completion.outcome.bytes().is_ok());
                next(lane, completion.slot);
                count += 1;
            }
        }
        (WRITES << 12) as f64 * 1e9 / lane.now().since(begun).0 as f64
    }

    fn purged(spec: &str) -> (sim::VirtualTarget, Ended) {
        let mut target = sim::open(spec).unwrap();
        let cancel = AtomicBool::new(false);
        let limits = Limits { cancel: &cancel, time: None };
        let ended = empty(&mut target, Method::Discard, limits, &mut |_| {}).unwrap();
        (target, ended)
    }

    // The purpose of a purge: a drive in its steady state writes like a fresh one again. A drive that ignores discards stays
    // slow, and no report can make up for that.
    #[test]
    fn a_purged_drive_is_back_at_its_fresh_plateau() {
        const STEADY: &str = "sim:mlc-nvme?state=steady&capacity=8GiB";
        let fresh =
            random_writes(&mut sim::open("sim:mlc-nvme?state=fresh&capacity=8GiB").unwrap());
        let steady = random_writes(&mut sim::open(STEADY).unwrap());
        assert!(steady < 0.5 * fresh, "fresh {fresh:.0}, steady {steady:.0} B/s");
        let (mut target, ended) = purged(STEADY);
        assert_eq!(ended.status, Status::Done);
        let after = random_writes(&mut target);
        assert!((0.9..1.1).contains(&(after / fresh)), "fresh {fresh:.0}, purged {after:.0} B/s");
        let (mut target, ended) = purged(&format!("{STEADY}&faults.ignores_discard=true"));
        assert_eq!(ended.status, Status::Done, "it says so");
        let after = random_writes(&mut target);
        assert!(after < 0.5 * fresh, "fresh {fresh:.0}, not purged {after:.0} B/s");
    }
}
