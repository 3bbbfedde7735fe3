//! Requests of any kind played on a virtual drive, and what must be so of their answers whatever they were.

use block::{Completion, Drive, Op, Request, Target, Time};
use drivescope_sim::VirtualTarget;
use proptest::prelude::*;

use super::setup;

/// A request, and nanoseconds that are let go by before the next one.
pub type Paced = (Request, u64);

/// Issues all of `requests`, at most `depth` at once, and waits for their completions. A completion's slot is the
/// place of its request in the list.
pub fn play(
    target: &mut VirtualTarget,
    requests: &[Paced],
    depth: u16,
) -> Result<Vec<Completion>, TestCaseError> {
    let mut lanes = target.open(&setup(u16::MAX)).unwrap();
    let drive = &mut lanes[0];
    let mut done = Vec::new();
    for (slot, (request, gap)) in requests.iter().enumerate() {
        let issued = slot + 1;
        let slot = u16::try_from(slot).unwrap();
        drive.submit(&[Request { slot, ..*request }]).unwrap();
        while issued - done.len() > usize::from(depth) {
            wait_for_more(drive, &mut done)?;
        }
        let until = Time(drive.now().0 + gap);
        while drive.now() < until {
            drive.wait_until(until, &mut done).unwrap();
        }
    }
    while done.len() < requests.len() {
        wait_for_more(drive, &mut done)?;
    }
    Ok(done)
}

fn wait_for_more(drive: &mut impl Drive, done: &mut Vec<Completion>) -> Result<(), TestCaseError> {
    let before = done.len();
    drive.wait_until(Time::NEVER, done).unwrap();
    prop_assert!(done.len() > before, "nothing completes any more");
    Ok(())
}

/// That each request was answered exactly once, after it was issued and in time that does not run back, and each
/// that succeeded with the bytes that it asked for.
pub fn each_is_answered_once(requests: &[Paced], done: &[Completion]) -> Result<(), TestCaseError> {
    let mut slots: Vec<usize> = done.iter().map(|c| usize::from(c.slot)).collect();
    slots.sort_unstable();
    prop_assert!(slots.windows(2).all(|w| w[0] < w[1]), "a request was answered twice");
    prop_assert!(slots.into_iter().eq(0..requests.len()), "one that was not issued was answered");
    prop_assert!(done.windows(2).all(|w| w[0].completed <= w[1].completed), "time ran back");
    for c in done {
        prop_assert!(c.completed > c.issued, "{c:?}");
        let (request, _) = &requests[usize::from(c.slot)];
        if let Ok(bytes) = c.outcome.bytes() {
            let expected = if request.op == Op::Flush { 0 } else { request.len.0 };
            prop_assert_eq!(bytes.0, expected, "{:?}", request);
        }
    }
    Ok(())
}

/// Bytes that the completed requests of one kind report as moved.
pub fn bytes_of(op: Op, requests: &[Paced], done: &[Completion]) -> u64 {
    let of_kind = done.iter().filter(|c| requests[usize::from(c.slot)].0.op == op);
    of_kind.filter_map(|c| c.outcome.bytes().ok()).map(|bytes| bytes.0).sum()
}
