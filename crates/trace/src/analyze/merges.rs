//! How many I/Os make a request, and how long requests are.

use serde::{Deserialize, Serialize};

use crate::{EventTally, Flags, Io};

/// Counts I/Os and requests of one device.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Merges {
    queued: u64,
    back: u64,
    front: u64,
    requests: u64,
    completed: u64,
    bytes: u128,
    min: u64,
    max: u64,
}

impl Merges {
    /// Takes an I/O that has a length.
    #[inline]
    pub(super) fn see(&mut self, io: &Io) {
        self.queued += 1;
        self.back += u64::from(io.flags.has(Flags::MERGED_BACK));
        self.front += u64::from(io.flags.has(Flags::MERGED_FRONT));
        if !io.flags.has(Flags::HEAD) || !io.issued.known() {
            return;
        }
        self.requests += 1;
        if io.completed.known() {
            let bytes = if io.request_bytes.0 == 0 { io.length.0 } else { io.request_bytes.0 };
            self.min = if self.completed == 0 { bytes } else { self.min.min(bytes) };
            self.max = self.max.max(bytes);
            self.completed += 1;
            self.bytes += u128::from(bytes);
        }
    }

    /// Returns the figures; `None` where no request is known. `told` are the requests of the recording: the parts of
    /// a bio that was split are requests, but are not I/Os to be counted here.
    pub(super) fn finish(&self, told: Option<&EventTally>) -> Option<MergeFigures> {
        let issued = told.map_or(self.requests, |told| told.issued_requests.max(self.requests));
        // Their lengths are known of each only where each was seen.
        let parts =
            told.filter(|told| told.issued_requests > self.requests && told.issued_bytes > 0);
        if let Some(parts) = parts {
            let each = Merges {
                completed: parts.issued_requests,
                bytes: u128::from(parts.issued_bytes),
                min: parts.issued_min_bytes,
                max: parts.issued_max_bytes,
                ..self.clone()
            };
            return each.figures(issued);
        }
        self.figures(issued)
    }

    fn figures(&self, issued: u64) -> Option<MergeFigures> {
        (self.requests > 0).then(|| MergeFigures {
            queued: self.queued,
            issued,
            heads: self.requests,
            ratio: self.queued as f64 / issued as f64,
            merged_back: self.back,
            merged_front: self.front,
            request_min_bytes: self.min,
            request_mean_bytes: if self.completed == 0 {
                0.0
            } else {
                self.bytes as f64 / self.completed as f64
            },
            request_max_bytes: self.max,
            request_total_bytes: u64::try_from(self.bytes).unwrap_or(u64::MAX),
        })
    }
}

/// Figures of merging.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeFigures {
    /// I/Os that arrived (Q).
    pub queued: u64,
    /// Requests that were issued (D): each issue in the recording, or else as many as [`Self::heads`].
    pub issued: u64,
    /// I/Os that were issued as a request, or as the first of one.
    pub heads: u64,
    /// I/Os to a request.
    pub ratio: f64,
    /// I/Os merged at the back of a request.
    pub merged_back: u64,
    /// I/Os merged at the front of a request.
    pub merged_front: u64,
    /// The shortest request that completed; of all that were issued where some are parts of a bio that was split.
    pub request_min_bytes: u64,
    /// Mean of the requests that completed, in bytes.
    pub request_mean_bytes: f64,
    /// The longest.
    pub request_max_bytes: u64,
    /// Their sum.
    pub request_total_bytes: u64,
}

#[cfg(test)]
mod tests {
    use block::{Bytes, Nanos};

    use super::*;
    use crate::{Kind, Stamp};

    #[test]
    fn requests_are_counted_by_their_heads() {
        let known =
            |io: Io| Io { issued: Stamp::at(Nanos(5)), completed: Stamp::at(Nanos(9)), ..io };
        let io = Io::arriving(Nanos(1), Kind::Write, Bytes(0), Bytes(4096));
        let mut merges = Merges::default();
        assert_eq!(merges.finish(None), None);
        merges.see(&known(Io { flags: Flags::HEAD, request_bytes: Bytes(12288), ..io }));
        merges.see(&known(Io { flags: Flags::MERGED_BACK, ..io }));
        merges.see(&known(Io { flags: Flags::MERGED_FRONT, ..io }));
        merges.see(&known(Io { flags: Flags::HEAD, request_bytes: Bytes(4096), ..io }));
        // Waits still: no request yet.
        merges.see(&Io { flags: Flags::HEAD, ..io });
        let said = merges.finish(None).unwrap();
        assert_eq!((said.queued, said.issued, said.ratio), (5, 2, 2.5));
        let told = EventTally { issued_requests: 3, ..EventTally::default() };
        assert_eq!(merges.finish(Some(&told)).map(|said| (said.issued, said.heads)), Some((3, 2)));
        assert_eq!((said.merged_back, said.merged_front), (1, 1));
        assert_eq!((said.request_min_bytes, said.request_max_bytes), (4096, 12288));
        assert_eq!((said.request_mean_bytes, said.request_total_bytes), (8192.0, 16384));
    }
}
