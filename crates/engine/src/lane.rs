//! The loop: one drive, and the submitters that it serves, from idle to idle.

use std::sync::atomic::{AtomicBool, Ordering};

use block::{Bytes, Completion, Drive, DriveError, Nanos, Request, Time};

use crate::samples::Totals;
use crate::submitter::Submitter;

/// Message from a running lane. Sent at most once per [`TELL_EVERY`], never per I/O.
pub(crate) enum Word {
    /// A phase begins, by index.
    Phase(usize),
    /// Completions since the last message.
    Interval { at: Nanos, length: Nanos, ios: u64, bytes: Bytes },
}

/// Interval at which a lane reports what it completed.
const TELL_EVERY: Nanos = Nanos::millis(100);

/// Reasons to stop that all lanes of a step check: the user's wish, and a failure on another lane.
#[derive(Clone, Copy)]
pub(crate) struct Flags<'a> {
    pub(crate) cancel: &'a AtomicBool,
    pub(crate) failed: &'a AtomicBool,
}

impl Flags<'_> {
    pub(crate) fn raised(&self) -> bool {
        self.cancel.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}

/// Runs `submitters` on `drive` from `start` until the last request has completed; returns that instant.
///
/// # Errors
/// Those of the drive as a whole. The failure of one I/O is kept in its submitter.
pub(crate) fn run<D: Drive>(
    drive: &mut D,
    submitters: &mut [Submitter],
    start: Time,
    flags: Flags<'_>,
    mut tell: impl FnMut(Word),
) -> Result<Time, DriveError> {
    let slots: usize = submitters.iter().map(Submitter::slots).sum();
    let first = submitters.first().map_or(0, Submitter::id);
    let mut requests: Vec<Request> = Vec::with_capacity(slots);
    let mut done: Vec<Completion> = Vec::with_capacity(slots);
    let mut teller = Teller::new(start);
    // With several submitters on one drive it is unknown whose write comes next.
    let writes = submitters.len() == 1 && submitters[0].writes();
    submitters.iter_mut().for_each(|s| s.begin(start));
    tell(Word::Phase(0));
    let mut now = start;
    loop {
        if flags.raised() {
            submitters.iter_mut().for_each(Submitter::halt);
        }
        requests.clear();
        let mut until = teller.next;
        let mut idle = true;
        for submitter in &mut *submitters {
            submitter.advance(now);
            submitter.top_up(now, &mut requests);
            until = until.min(submitter.wakes());
            idle &= submitter.idle();
        }
        if idle && requests.is_empty() {
            teller.flush(now, submitters, &mut tell);
            return Ok(now);
        }
        if !requests.is_empty() {
            drive.submit(&requests)?;
        }
        if writes {
            for submitter in &mut *submitters {
                if let Some(next) = submitter.next_write() {
                    drive.foresee(&next);
                }
            }
        }
        now = drive.wait_until(until, &mut done)?;
        for completion in done.drain(..) {
            let submitter = &mut submitters[usize::from(completion.submitter - first)];
            if submitter.complete(&completion).is_err() {
                flags.failed.store(true, Ordering::Relaxed);
            }
        }
        teller.tell(now, submitters, &mut tell);
    }
}

/// Adds up what the submitters of a lane completed, for its reports.
struct Teller {
    start: Time,
    last: Time,
    next: Time,
    phase: usize,
    /// Totals reported so far.
    told: Totals,
}

impl Teller {
    fn new(start: Time) -> Teller {
        Teller { start, last: start, next: start + TELL_EVERY, phase: 0, told: Totals::default() }
    }

    #[inline]
    fn tell(&mut self, now: Time, submitters: &[Submitter], tell: &mut impl FnMut(Word)) {
        let phase = submitters[0].phase();
        if phase != self.phase {
            self.phase = phase;
            tell(Word::Phase(phase));
        }
        if now >= self.next {
            self.flush(now, submitters, tell);
        }
    }

    /// Reports by how much the submitters' totals grew since the last time, so that nothing is counted
    /// a second time for it between two I/Os.
    #[cold]
    fn flush(&mut self, now: Time, submitters: &[Submitter], tell: &mut impl FnMut(Word)) {
        let mut totals = Totals::default();
        submitters.iter().for_each(|s| totals.merge(&s.totals));
        let length = now.since(self.last);
        if length > Nanos::ZERO {
            let (ios, bytes) = (totals.ios - self.told.ios, totals.bytes() - self.told.bytes());
            tell(Word::Interval { at: now.since(self.start), length, ios, bytes });
            self.told = totals;
        }
        (self.last, self.next) = (now, now + TELL_EVERY);
    }
}
