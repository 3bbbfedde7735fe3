//! Requests as the driver got them, in the order of their issue.

use std::collections::{BTreeMap, HashMap};

use block::Bytes;

use crate::{Flags, Io, Stamp};

/// Outcome for an I/O that was to be put in the order of issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It waits for its issue.
    Waits,
    /// It is part of a request that another one heads.
    Merged,
    /// When it was issued is not known.
    Unknown,
}

/// Puts I/Os, which come in the order of their arrival, in the order of their issue to the driver, and makes requests
/// of those that were merged. Holds those that have arrived and were not issued yet, which the original's queue did
/// too.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    waiting: BTreeMap<(Stamp, u64), Io>,
    /// Requests that wait, by space and first byte: what a front merge is looked up by.
    starts: HashMap<(u32, Bytes), (Stamp, u64)>,
    taken: u64,
}

impl Requests {
    /// Takes the next I/O.
    pub(super) fn take(&mut self, mut io: Io) -> Taken {
        if io.flags.has(Flags::MERGED_FRONT) {
            self.grow_front(&io);
            return Taken::Merged;
        }
        if io.flags.has(Flags::MERGED_BACK) {
            return Taken::Merged;
        }
        if !io.issued.known() {
            return Taken::Unknown;
        }
        if io.flags.has(Flags::HEAD) && io.request_bytes > Bytes::ZERO {
            io.length = io.request_bytes;
        }
        let key = (io.issued, self.taken);
        self.taken += 1;
        self.starts.insert((io.space, io.offset), key);
        self.waiting.insert(key, io);
        Taken::Waits
    }

    /// The next request that was issued before anything that arrives at `now` or later; the next at all for `None`.
    pub(super) fn next(&mut self, now: Option<Stamp>) -> Option<Io> {
        let (&key, _) = self.waiting.first_key_value()?;
        if now.is_some_and(|now| key.0 >= now) {
            return None;
        }
        let io = self.waiting.remove(&key)?;
        if self.starts.get(&(io.space, io.offset)) == Some(&key) {
            self.starts.remove(&(io.space, io.offset));
        }
        Some(io)
    }

    /// A request that was merged into from the front begins with what was merged; its length counts that already.
    fn grow_front(&mut self, io: &Io) {
        let Some(key) = self.starts.get(&(io.space, io.end())).copied() else { return };
        if let Some(head) = self.waiting.get_mut(&key).filter(|head| head.issued == io.issued) {
            self.starts.remove(&(io.space, head.offset));
            head.offset = io.offset;
            self.starts.insert((io.space, io.offset), key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use block::Nanos;

    fn io(arrival: u64, issued: u64, offset: u64, flags: Flags) -> Io {
        let mut io = Io::arriving(Nanos(arrival), Kind::Read, Bytes(offset), Bytes(512));
        io.issued = Stamp::at(Nanos(issued));
        io.flags = flags;
        io
    }

    #[test]
    fn requests_leave_in_the_order_of_issue() {
        let mut requests = Requests::default();
        for (arrival, issued) in [(0, 50), (10, 20), (30, 40)] {
            assert_eq!(
                requests.take(io(arrival, issued, arrival * 512, Flags::HEAD)),
                Taken::Waits
            );
        }
        // Something that arrives at 40 may be issued at once, so what was issued at 40 has to wait.
        let issued = |io: Option<Io>| io.and_then(|io| io.issued.get()).map(|at| at.0);
        assert_eq!(issued(requests.next(Some(Stamp::at(Nanos(40))))), Some(20));
        assert_eq!(issued(requests.next(Some(Stamp::at(Nanos(40))))), None);
        assert_eq!(issued(requests.next(None)), Some(40));
        assert_eq!(issued(requests.next(None)), Some(50));
        assert_eq!(issued(requests.next(None)), None);
    }

    #[test]
    fn a_request_is_all_that_was_merged_into_it() {
        // A request replayed from where its first bio began would read behind its end.
        let mut requests = Requests::default();
        let mut head = io(0, 90, 4096, Flags::HEAD);
        head.request_bytes = Bytes(2048);
        assert_eq!(requests.take(head), Taken::Waits);
        assert_eq!(requests.take(io(1, 90, 4608, Flags::MERGED_BACK)), Taken::Merged);
        assert_eq!(requests.take(io(2, 90, 3584, Flags::MERGED_FRONT)), Taken::Merged);
        assert_eq!(requests.take(io(3, 90, 3072, Flags::MERGED_FRONT)), Taken::Merged);
        let whole = requests.next(None).map(|io| (io.offset, io.length));
        assert_eq!(whole, Some((Bytes(3072), Bytes(2048))));
    }

    #[test]
    fn what_was_never_issued_is_told() {
        let mut requests = Requests::default();
        let io = Io::arriving(Nanos(0), Kind::Read, Bytes(0), Bytes(512));
        assert_eq!(requests.take(io), Taken::Unknown);
    }
}
