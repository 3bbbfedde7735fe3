//! How many I/Os there were, of what kind, and what became of them.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Flags, Io, Kind};

/// Counts of I/Os.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// I/Os of all kinds.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes, those that flush before or write through among them.
    pub writes: u64,
    /// Flushes without data.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// All others: zeroes written without a transfer, zones managed, commands passed through.
    pub others: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Bytes discarded.
    pub bytes_discarded: u64,
    /// I/Os whose completion is known.
    pub completed: u64,
    /// I/Os whose completion is not known although the trace has such times: they were under way when the recording
    /// ended, or their completions were lost.
    pub never_completed: u64,
    /// I/Os that completed with an error.
    pub errors: u64,
    /// Errors by their number (`errno`); 0 is none of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default, deserialize_with = "by_number")]
    pub errors_by_number: BTreeMap<u16, u64>,
    /// I/Os that were issued more than once.
    pub requeued: u64,
    /// I/Os that were split.
    pub split: u64,
}

/// A map by numbers, whose keys are strings in JSON: in a flattened struct, serde does not read them as numbers.
fn by_number<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<u16, u64>, D::Error> {
    let named = BTreeMap::<String, u64>::deserialize(from)?;
    let number =
        |(name, times): (String, u64)| Ok((name.parse().map_err(D::Error::custom)?, times));
    named.into_iter().map(number).collect()
}

impl Counts {
    /// Counts an I/O. Sums of bytes stop at the greatest number.
    #[inline]
    pub(super) fn see(&mut self, io: &Io) {
        self.requests += 1;
        let bytes = io.length.0;
        match io.kind {
            Kind::Read => {
                self.reads += 1;
                self.bytes_read = self.bytes_read.saturating_add(bytes);
            }
            Kind::Write => {
                self.writes += 1;
                self.bytes_written = self.bytes_written.saturating_add(bytes);
            }
            Kind::Flush => self.flushes += 1,
            Kind::Discard => {
                self.discards += 1;
                self.bytes_discarded = self.bytes_discarded.saturating_add(bytes);
            }
            Kind::WriteZeroes | Kind::Zone | Kind::Other => self.others += 1,
        }
        self.completed += u64::from(io.completed.known());
        if io.error != 0 {
            self.errors += 1;
            *self.errors_by_number.entry(io.error).or_insert(0) += 1;
        }
        self.requeued += u64::from(io.flags.has(Flags::REQUEUED));
        self.split += u64::from(io.flags.has(Flags::SPLIT));
    }

    /// Adds what another counted.
    pub(super) fn merge(&mut self, other: &Counts) {
        let sums = [
            (&mut self.requests, other.requests),
            (&mut self.reads, other.reads),
            (&mut self.writes, other.writes),
            (&mut self.flushes, other.flushes),
            (&mut self.discards, other.discards),
            (&mut self.others, other.others),
            (&mut self.bytes_read, other.bytes_read),
            (&mut self.bytes_written, other.bytes_written),
            (&mut self.bytes_discarded, other.bytes_discarded),
            (&mut self.completed, other.completed),
            (&mut self.errors, other.errors),
            (&mut self.requeued, other.requeued),
            (&mut self.split, other.split),
        ];
        sums.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(more));
        for (number, times) in &other.errors_by_number {
            *self.errors_by_number.entry(*number).or_insert(0) += times;
        }
    }

    /// Counts what did not complete, in a trace that has completions (`known`).
    pub(super) fn close(mut self, known: bool) -> Counts {
        self.never_completed = if known { self.requests - self.completed } else { 0 };
        self
    }
}

#[cfg(test)]
mod tests {
    use block::{Bytes, Nanos};

    use super::*;
    use crate::Stamp;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Wrapped {
        #[serde(flatten)]
        counts: Counts,
    }

    #[test]
    fn every_kind_is_counted_once() {
        let io = |kind, length| Io::arriving(Nanos(0), kind, Bytes(0), Bytes(length));
        let mut counts = Counts::default();
        for kind in Kind::ALL {
            counts.see(&io(kind, 512));
        }
        counts.see(&Io { completed: Stamp::at(Nanos(3)), error: 5, ..io(Kind::Read, 1024) });
        let mut both = counts.clone();
        both.merge(&counts);
        assert_eq!((both.requests, both.completed, both.errors), (16, 2, 2));
        let kinds = both.reads + both.writes + both.flushes + both.discards + both.others;
        assert_eq!(kinds, both.requests);
        assert_eq!((both.bytes_read, both.bytes_written, both.bytes_discarded), (3072, 1024, 1024));
        assert_eq!(both.errors_by_number, BTreeMap::from([(5, 2)]));
        // Also as part of something else.
        let wrapped = Wrapped { counts: both.clone() };
        let json = serde_json::to_string(&wrapped).unwrap();
        assert_eq!(serde_json::from_str::<Wrapped>(&json).unwrap(), wrapped);
        assert_eq!(both.clone().close(true).never_completed, 14);
        assert_eq!(both.close(false).never_completed, 0);
    }
}
