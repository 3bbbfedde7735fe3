//! Counts of what was served, and the lateness of replies.

use block::{Bytes, Errno, Nanos, Op, Time};
use hdrhistogram::Histogram;
use serde::Serialize;
use serde::ser::SerializeStruct;

/// Lateness above this is counted in the last bin: one minute.
const LATENESS_MAX: Nanos = Nanos::secs(60);

/// Counts of what a served drive has answered.
///
/// A reply is late by what lies between its virtual completion and the instant at which it was handed to
/// the kernel. What a program sees on top of the drive's own latency is this, and the way of request and
/// reply through the kernel, which cannot be seen from here.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Reads, writes, flushes and discards that were answered, failed ones too.
    requests: [u64; 4],
    read_bytes: Bytes,
    write_bytes: Bytes,
    errors: u64,
    without_room: u64,
    outstanding_max: u64,
    held: Bytes,
    lateness: Histogram<u64>,
    late_max: Nanos,
}

/// The counts of a drive that has not answered any request yet.
impl Default for Tally {
    fn default() -> Tally {
        Tally::new()
    }
}

impl Tally {
    #[expect(clippy::expect_used, reason = "the bounds are constants within those of hdrhistogram")]
    pub(crate) fn new() -> Tally {
        Tally {
            requests: [0; 4],
            read_bytes: Bytes::ZERO,
            write_bytes: Bytes::ZERO,
            errors: 0,
            without_room: 0,
            outstanding_max: 0,
            held: Bytes::ZERO,
            lateness: Histogram::new_with_bounds(1, LATENESS_MAX.0, 3)
                .expect("1 <= low, 2 low <= high"),
            late_max: Nanos::ZERO,
        }
    }

    /// A request was answered at `replied` that was due at `due`.
    pub(crate) fn answered(
        &mut self,
        op: Op,
        outcome: Result<u64, Errno>,
        due: Time,
        replied: Time,
    ) {
        self.requests[index(op)] += 1;
        match (op, outcome) {
            (Op::Read, Ok(bytes)) => self.read_bytes += Bytes(bytes),
            (Op::Write, Ok(bytes)) => self.write_bytes += Bytes(bytes),
            (_, Ok(_)) => {}
            (_, Err(_)) => self.errors += 1,
        }
        let late = replied.since(due);
        self.lateness.saturating_record(late.0);
        self.late_max = self.late_max.max(late);
    }

    /// Records the requests outstanding, the bytes that the content occupies, and the writes that did not fit in.
    pub(crate) fn saw(&mut self, outstanding: usize, held: Bytes, without_room: u64) {
        self.outstanding_max = self.outstanding_max.max(outstanding as u64);
        self.held = held;
        self.without_room = without_room;
    }

    /// Answered requests of this kind, failed ones included.
    pub fn requests(&self, op: Op) -> u64 {
        self.requests[index(op)]
    }

    /// Bytes that went to readers.
    pub fn read_bytes(&self) -> Bytes {
        self.read_bytes
    }

    /// Bytes that were taken from writers.
    pub fn write_bytes(&self) -> Bytes {
        self.write_bytes
    }

    /// Requests that were answered with an error.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Writes that failed only because there is no room for their content: an error of the server, that
    /// no drive of the model would have given.
    pub fn writes_without_room(&self) -> u64 {
        self.without_room
    }

    /// Most requests that were under way at once.
    pub fn outstanding_max(&self) -> u64 {
        self.outstanding_max
    }

    /// Room that the content takes.
    pub fn held(&self) -> Bytes {
        self.held
    }

    /// The lateness that this share of all replies kept within, 0 to 1; zero before the first reply.
    /// To three significant digits; the greatest is exact.
    pub fn late(&self, share: f64) -> Nanos {
        if share >= 1.0 || self.lateness.is_empty() {
            return self.late_max;
        }
        Nanos(self.lateness.value_at_quantile(share).min(self.late_max.0))
    }
}

fn index(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Flush => 2,
        Op::Discard => 3,
    }
}

/// As a document shows it: counts, bytes and nanoseconds.
impl Serialize for Tally {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Tally", 13)?;
        fields.serialize_field("reads", &self.requests(Op::Read))?;
        fields.serialize_field("writes", &self.requests(Op::Write))?;
        fields.serialize_field("flushes", &self.requests(Op::Flush))?;
        fields.serialize_field("discards", &self.requests(Op::Discard))?;
        fields.serialize_field("read_bytes", &self.read_bytes)?;
        fields.serialize_field("write_bytes", &self.write_bytes)?;
        fields.serialize_field("errors", &self.errors)?;
        fields.serialize_field("writes_without_room", &self.without_room)?;
        fields.serialize_field("outstanding_max", &self.outstanding_max)?;
        fields.serialize_field("content_bytes", &self.held)?;
        fields.serialize_field("late_p50_ns", &self.late(0.5))?;
        fields.serialize_field("late_p99_ns", &self.late(0.99))?;
        fields.serialize_field("late_max_ns", &self.late(1.0))?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when the worst reply is rounded away, or when an error counts as bytes served.
    #[test]
    fn lateness_keeps_its_worst_and_errors_carry_no_bytes() {
        let mut tally = Tally::new();
        assert_eq!(tally.late(0.99), Nanos::ZERO);
        for late in 1..=99 {
            tally.answered(Op::Read, Ok(512), Time(1000), Time(1000 + late));
        }
        tally.answered(Op::Write, Err(Errno::IO), Time(0), Time(123_456_789));
        assert_eq!(tally.late(0.5), Nanos(50));
        assert_eq!(tally.late(1.0), Nanos(123_456_789));
        assert_eq!((tally.read_bytes(), tally.write_bytes()), (Bytes(99 * 512), Bytes::ZERO));
        assert_eq!((tally.requests(Op::Write), tally.errors()), (1, 1));
    }
}
