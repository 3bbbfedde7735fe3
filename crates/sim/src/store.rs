//! Content, for those who look at it: as sparse as it was written.
//!
//! Time does not depend on what a virtual drive holds, so it usually holds nothing. A lane that is opened for data
//! keeps what is written through it, where the drive's faults say that it goes.

use std::collections::HashMap;

use block::{Bytes, Completion, LaneSetup, Op, Payload, Request};

use crate::around::{ContentMap, FakeCache, Stored};

/// Unit of keeping: the least that a drive can write. A larger one would keep what a probe of a fake drive writes here
/// and there with as many zeros around it.
const PIECE: usize = 512;

/// What a medium holds; zeros where nothing was written.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pieces: HashMap<u64, Box<[u8; PIECE]>>,
    /// Write cache of a fake drive.
    cache: Option<FakeCache>,
}

impl Store {
    /// Content of a drive of this map that nobody has written to.
    pub(crate) fn of(map: &ContentMap) -> Store {
        Store { cache: map.cache(), ..Store::default() }
    }

    /// Calls `each` with every piece of a range: its number, where in it the range is, and where in the range.
    fn pieces(offset: u64, len: usize, mut each: impl FnMut(u64, usize, std::ops::Range<usize>)) {
        let mut done = 0;
        while done < len {
            let at = offset + done as u64;
            let within = (at % PIECE as u64) as usize;
            let count = (PIECE - within).min(len - done);
            each(at / PIECE as u64, within, done..done + count);
            done += count;
        }
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        // Zeros are what reads without a piece: a drive that is zeroed takes no memory for it.
        let is_whole = offset.is_multiple_of(PIECE as u64) && data.len().is_multiple_of(PIECE);
        if is_whole && data.iter().all(|byte| *byte == 0) {
            return self.forget(offset, data.len() as u64);
        }
        Store::pieces(offset, data.len(), |piece, within, part| {
            let kept = self.pieces.entry(piece).or_insert_with(|| Box::new([0; PIECE]));
            kept[within..within + part.len()].copy_from_slice(&data[part]);
        });
    }

    fn read(&self, offset: u64, into: &mut [u8]) {
        Store::pieces(offset, into.len(), |piece, within, part| match self.pieces.get(&piece) {
            Some(kept) => {
                let end = within + part.len();
                into[part].copy_from_slice(&kept[within..end]);
            }
            None => into[part].fill(0),
        });
    }

    fn forget(&mut self, offset: u64, len: u64) {
        let (first, last) = (offset.div_ceil(PIECE as u64), (offset + len) / PIECE as u64);
        if last.saturating_sub(first) < self.pieces.len() as u64 {
            for piece in first..last {
                self.pieces.remove(&piece);
            }
        } else {
            self.pieces.retain(|piece, _| !(first..last).contains(piece));
        }
    }
}

/// The data of what is under way in one lane.
pub(crate) struct Hands {
    payload: Vec<Box<dyn Payload>>,
    depth: u16,
    /// By submitter and slot: the request, and its buffer.
    slots: Vec<(Option<Request>, Vec<u8>)>,
}

impl std::fmt::Debug for Hands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hands").field("slots", &self.slots.len()).finish_non_exhaustive()
    }
}

impl Hands {
    pub(crate) fn new(setup: &LaneSetup<'_>) -> Hands {
        let count = usize::from(setup.submitters) * usize::from(setup.depth);
        let payload = setup.payload.map(|make| (0..setup.submitters).map(make).collect());
        Hands {
            payload: payload.unwrap_or_default(),
            depth: setup.depth,
            slots: (0..count).map(|_| (None, Vec::new())).collect(),
        }
    }

    fn at(&self, submitter: u16, slot: u16) -> usize {
        usize::from(submitter) * usize::from(self.depth) + usize::from(slot)
    }

    /// A request is issued; a write's content is made.
    pub(crate) fn take(&mut self, request: &Request) {
        let at = self.at(request.submitter, request.slot);
        let Some((under_way, buffer)) = self.slots.get_mut(at) else { return };
        *under_way = Some(*request);
        if matches!(request.op, Op::Read | Op::Write) {
            buffer.resize(request.len.0 as usize, 0);
        }
        if request.op == Op::Write
            && let Some(payload) = self.payload.get_mut(usize::from(request.submitter))
        {
            payload.fill(request.offset, buffer);
        }
    }

    /// A request is done: what it carried goes to the medium or comes from it. One that failed carried nothing.
    pub(crate) fn complete(&mut self, done: &Completion, map: &ContentMap, store: &mut Store) {
        let at = self.at(done.submitter, done.slot);
        let Some((under_way, buffer)) = self.slots.get_mut(at) else { return };
        let Some(request) = under_way.take() else { return };
        if done.outcome.bytes().is_err() || request.op == Op::Flush {
            return;
        }
        let mut from = 0;
        while from < request.len.0 {
            let (stored, Bytes(run)) = map.run(Bytes(request.offset.0 + from));
            let count = run.clamp(1, request.len.0 - from);
            let part = from as usize..(from + count) as usize;
            match (request.op, stored) {
                (Op::Write, Stored::At(place) | Stored::Corrupt(place)) => {
                    store.write(place.0, &buffer[part]);
                }
                (Op::Read, Stored::At(place)) => store.read(place.0, &mut buffer[part]),
                (Op::Read, Stored::Corrupt(place)) => {
                    store.read(place.0, &mut buffer[part.clone()]);
                    spoil(place.0, &mut buffer[part]);
                }
                (Op::Read, Stored::Lost) => buffer[part].fill(0),
                (Op::Discard, Stored::At(place) | Stored::Corrupt(place))
                    if !map.keeps_discarded() =>
                {
                    store.forget(place.0, count);
                }
                (Op::Discard, _) | (Op::Write, Stored::Lost) | (Op::Flush, _) => {}
            }
            from += count;
        }
        let Some(cache) = &mut store.cache else { return };
        let (offset, len) = (request.offset.0, request.len.0);
        match request.op {
            Op::Write => cache.write(offset, &buffer[..len as usize]),
            Op::Read => cache.read(offset, &mut buffer[..len as usize]),
            Op::Discard if !map.keeps_discarded() => cache.forget(offset, len),
            Op::Discard | Op::Flush => {}
        }
    }

    /// The buffer of a slot of the first submitter.
    pub(crate) fn data(&self, slot: u16) -> Option<&[u8]> {
        self.slots.get(usize::from(slot)).map(|(_, buffer)| buffer.as_slice())
    }
}

/// Turns one bit of each sector, the same one each time.
fn spoil(place: u64, data: &mut [u8]) {
    for (index, sector) in data.chunks_mut(PIECE).enumerate() {
        let number = place / PIECE as u64 + index as u64;
        let bit = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55;
        if let Some(byte) = sector.get_mut((bit / 8) as usize) {
            *byte ^= 1 << (bit % 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a piece that is written in part loses the rest, or what was forgotten comes back.
    #[test]
    fn what_is_written_is_kept_and_the_rest_is_zero() {
        let mut store = Store::default();
        store.write(1000, &[7; 600]);
        let mut seen = [1; 2048];
        store.read(0, &mut seen);
        assert!(seen[..1000].iter().all(|b| *b == 0) && seen[1600..].iter().all(|b| *b == 0));
        assert!(seen[1000..1600].iter().all(|b| *b == 7));
        store.forget(1024, 512);
        store.read(0, &mut seen);
        assert_eq!((seen[1023], seen[1024], seen[1535], seen[1536]), (7, 0, 0, 7));
    }
}
