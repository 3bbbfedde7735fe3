//! A closed loop over a target, for loads of too many I/Os to keep any of them.

use block::{Bytes, Completion, Drive, DriveError, LaneSetup, Op, Request, Target, Time};

/// Load to issue.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Reads or writes.
    pub op: Op,
    /// Bytes of each.
    pub block: u64,
    /// I/Os outstanding at once.
    pub depth: u16,
}

/// Issues I/Os at the offsets that `next` gives until it gives none, and waits for the last; shows `each` what
/// completed.
///
/// # Errors
/// When the target cannot be opened or fails as a whole.
///
/// # Panics
/// When an I/O fails, which none does on a drive without faults.
pub fn issue<T: Target>(
    target: &mut T,
    load: Load,
    mut next: impl FnMut() -> Option<u64>,
    mut each: impl FnMut(&Completion),
) -> Result<(), DriveError> {
    let Load { op, block, depth } = load;
    let setup = LaneSetup { depth, block_bytes_max: Bytes(block), ..LaneSetup::default() };
    let mut lanes = target.open(&setup)?;
    let Some(drive) = lanes.first_mut() else { return Ok(()) };
    let request = |slot, offset: u64| Request {
        op,
        fua: false,
        submitter: 0,
        slot,
        offset: Bytes(offset),
        len: Bytes(block),
    };
    let mut requests: Vec<Request> =
        (0..depth).map_while(|slot| Some(request(slot, next()?))).collect();
    let mut outstanding = requests.len();
    let mut done = Vec::with_capacity(usize::from(depth));
    while outstanding > 0 {
        drive.submit(&requests)?;
        requests.clear();
        done.clear();
        drive.wait_until(Time::NEVER, &mut done)?;
        for completion in &done {
            assert_eq!(completion.outcome.bytes().ok(), Some(Bytes(block)), "an I/O failed");
            each(completion);
            match next() {
                Some(offset) => requests.push(request(completion.slot, offset)),
                None => outstanding -= 1,
            }
        }
    }
    Ok(())
}

/// Completions of each span of time, one after the other.
#[derive(Clone, Debug)]
pub struct Series {
    /// Length of a span.
    pub span_ns: u64,
    /// When the first began.
    pub begun: Time,
    /// Completions in each.
    pub counts: Vec<u64>,
}

impl Series {
    /// An empty one, of spans of `span_ns` from `begun` on.
    pub fn new(begun: Time, span_ns: u64) -> Series {
        Series { span_ns, begun, counts: Vec::new() }
    }

    /// Counts a completion.
    #[inline]
    pub fn add(&mut self, completion: &Completion) {
        let at = (completion.completed.since(self.begun).0 / self.span_ns) as usize;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
    }

    /// I/Os a second in each span but the last, which is not whole.
    pub fn rates(&self) -> Vec<f64> {
        let whole = self.counts.split_last().map_or(&[][..], |(_, whole)| whole);
        whole.iter().map(|count| *count as f64 * 1e9 / self.span_ns as f64).collect()
    }
}
