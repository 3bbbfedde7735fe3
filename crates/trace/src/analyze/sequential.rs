//! How sequential a trace is: not only from one I/O to the next, but by streams, of which several run at once.

use serde::{Deserialize, Serialize};

use super::bins::{Power, Powers};
use super::mix::SPACES_MAX;
use crate::{Io, Kind};

/// Streams that are followed at once in each address space and direction. As many as drives and kernels follow for
/// read-ahead, about; with more, I/Os at random places would be taken for streams by chance.
pub const STREAMS: usize = 32;
/// Strides that are counted at once.
const STRIDES: usize = 64;
/// Strides that are listed.
const LISTED: usize = 8;

/// Streams of I/Os that each begin where the one before ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// How many: an I/O that continues nothing begins one, and may remain its only one.
    pub count: u64,
    /// Mean of their I/Os; `None` when there are none.
    pub mean_ios: Option<f64>,
    /// Mean of their bytes; `None` when there are none.
    pub mean_bytes: Option<f64>,
    /// I/Os of the longest.
    pub max_ios: u64,
    /// Bytes of the longest.
    pub max_bytes: u64,
    /// Streams by number of I/Os, in powers of two.
    pub by_ios: Vec<Power>,
    /// Streams by number of bytes, in powers of two.
    pub by_bytes: Vec<Power>,
}

/// A distance that recurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stride {
    /// From the beginning of an I/O to that of the next, in bytes; below zero where addresses fall.
    pub bytes: i64,
    /// Strided I/Os at this distance.
    pub ios: u64,
    /// By how much that may be too many, because the distance was not followed from the beginning
    /// (Metwally, Agrawal and El Abbadi, 2005). Zero: exact.
    pub over: u64,
}

/// How sequential the I/Os of a direction are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sequentiality {
    /// I/Os judged.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// I/Os that begin where one of the last [`STREAMS`] streams of their space and direction ended.
    pub sequential_ios: u64,
    /// Their bytes.
    pub sequential_bytes: u64,
    /// Share of I/Os that are sequential; `None` when there are none.
    pub share: Option<f64>,
    /// Share of bytes that are.
    pub bytes_share: Option<f64>,
    /// I/Os that begin where the I/O before ended, in their space, whatever its direction: the plain definition.
    pub after_previous_ios: u64,
    /// Their share.
    pub after_previous_share: Option<f64>,
    /// The streams.
    pub runs: Runs,
    /// I/Os that continue no stream, and are as far from the I/O before, of their space and direction, as that was
    /// from the one before it.
    pub strided_ios: u64,
    /// The most frequent distances of these.
    pub strides: Vec<Stride>,
}

/// How sequential a trace is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SequentialBody {
    /// [`STREAMS`].
    pub streams: u64,
    /// Reads and writes, each after its own direction.
    pub transfers: Sequentiality,
    /// Reads.
    pub reads: Sequentiality,
    /// Writes.
    pub writes: Sequentiality,
    /// Reads and writes in address spaces beyond the first 4,096, which are not judged.
    pub unjudged_ios: u64,
}

/// Follows streams. Memory: 2.5 KiB for each address space, at most 10 MiB.
#[derive(Clone, Debug, Default)]
pub struct Sequential {
    spaces: Vec<Option<Box<Space>>>,
    directions: [Tally; 2],
    unjudged: u64,
}

#[derive(Clone, Debug, Default)]
struct Space {
    /// End of the previous I/O, of either direction.
    end: Option<u64>,
    directions: [Streams; 2],
}

impl Sequential {
    /// Nothing seen.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// Follows an I/O. One that transfers nothing does not belong to a stream.
    #[inline]
    pub fn see(&mut self, io: &Io) {
        let direction = match io.kind {
            Kind::Read => 0,
            Kind::Write => 1,
            _ => return,
        };
        if io.length.0 == 0 {
            return;
        }
        let index = io.space as usize;
        if index >= self.spaces.len() && index < SPACES_MAX {
            self.spaces.resize(index + 1, None);
        }
        let Some(space) = self.spaces.get_mut(index) else {
            self.unjudged += 1;
            return;
        };
        let space = space.get_or_insert_default();
        let tally = &mut self.directions[direction];
        tally.ios += 1;
        tally.bytes = tally.bytes.saturating_add(io.length.0);
        let previous = space.end.replace(io.end().0);
        tally.after_previous += u64::from(previous == Some(io.offset.0));
        space.directions[direction].see(io, tally);
    }

    /// Returns the result; streams that still run end here.
    pub fn finish(&self) -> SequentialBody {
        let mut directions = self.directions.clone();
        for space in self.spaces.iter().flatten() {
            for (streams, tally) in space.directions.iter().zip(&mut directions) {
                streams.runs.iter().filter(|run| run.ios > 0).for_each(|run| tally.end(run));
            }
        }
        let [reads, writes] = &directions;
        let mut all = reads.clone();
        all.merge(writes);
        SequentialBody {
            streams: STREAMS as u64,
            transfers: all.finish(),
            reads: reads.finish(),
            writes: writes.finish(),
            unjudged_ios: self.unjudged,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// End of its last I/O.
    end: u64,
    ios: u64,
    bytes: u64,
}

/// The last streams of one space and direction.
#[derive(Clone, Debug)]
struct Streams {
    /// Some bits of where each stream ended: all are compared at once, and those few that agree are looked at.
    tags: [u32; STREAMS],
    runs: [Run; STREAMS],
    /// Numbers of the streams, the last used first.
    order: [u8; STREAMS],
    /// Beginning of the I/O before, and its distance from the one before it.
    start: Option<u64>,
    stride: Option<i64>,
}

impl Default for Streams {
    fn default() -> Streams {
        Streams {
            tags: [0; STREAMS],
            runs: [Run::default(); STREAMS],
            order: std::array::from_fn(|index| index as u8),
            start: None,
            stride: None,
        }
    }
}

const fn tag(end: u64) -> u32 {
    ((end >> 9) ^ (end >> 41) ^ (end << 23)) as u32
}

impl Streams {
    #[inline]
    fn see(&mut self, io: &Io, tally: &mut Tally) {
        let (offset, length) = (io.offset.0, io.length.0);
        let stride = self.start.replace(offset).map(|start| offset.wrapping_sub(start) as i64);
        let before = std::mem::replace(&mut self.stride, stride);
        match self.find(offset) {
            Some(stream) => {
                tally.sequential_ios += 1;
                tally.sequential_bytes = tally.sequential_bytes.saturating_add(length);
                self.go_on(stream, length);
            }
            None => {
                if let (Some(stride), true) = (stride, stride == before && stride != Some(0)) {
                    tally.strided += 1;
                    tally.strides.add(stride);
                }
                self.begin(offset, length, tally);
            }
        }
    }

    /// The stream that ended at `offset`.
    #[inline]
    fn find(&self, offset: u64) -> Option<usize> {
        let wanted = tag(offset);
        let mut alike = 0u32;
        for (index, tag) in self.tags.iter().enumerate() {
            alike |= u32::from(*tag == wanted) << index;
        }
        while alike != 0 {
            let index = alike.trailing_zeros() as usize;
            let run = &self.runs[index];
            if run.end == offset && run.ios > 0 {
                return Some(index);
            }
            alike &= alike - 1;
        }
        None
    }

    #[inline]
    fn go_on(&mut self, stream: usize, length: u64) {
        let run = &mut self.runs[stream];
        run.end = run.end.saturating_add(length);
        run.ios += 1;
        run.bytes = run.bytes.saturating_add(length);
        self.tags[stream] = tag(run.end);
        if usize::from(self.order[0]) != stream {
            let place = self.order.iter().position(|&index| usize::from(index) == stream);
            self.order[..=place.unwrap_or(0)].rotate_right(1);
        }
    }

    /// A new stream, in the place of the one that has not gone on for longest.
    fn begin(&mut self, offset: u64, length: u64, tally: &mut Tally) {
        self.order.rotate_right(1);
        let stream = usize::from(self.order[0]);
        let run = &mut self.runs[stream];
        if run.ios > 0 {
            tally.end(run);
        }
        *run = Run { end: offset.saturating_add(length), ios: 1, bytes: length };
        self.tags[stream] = tag(run.end);
    }
}

#[derive(Clone, Debug, Default)]
struct Tally {
    ios: u64,
    bytes: u64,
    sequential_ios: u64,
    sequential_bytes: u64,
    after_previous: u64,
    strided: u64,
    strides: Frequent,
    runs: u64,
    longest_ios: u64,
    longest_bytes: u64,
    by_ios: Powers,
    by_bytes: Powers,
}

impl Tally {
    fn end(&mut self, run: &Run) {
        self.runs += 1;
        self.longest_ios = self.longest_ios.max(run.ios);
        self.longest_bytes = self.longest_bytes.max(run.bytes);
        self.by_ios.add(run.ios);
        self.by_bytes.add(run.bytes);
    }

    fn merge(&mut self, other: &Tally) {
        self.ios += other.ios;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.sequential_ios += other.sequential_ios;
        self.sequential_bytes = self.sequential_bytes.saturating_add(other.sequential_bytes);
        self.after_previous += other.after_previous;
        self.strided += other.strided;
        self.strides.merge(&other.strides);
        self.runs += other.runs;
        self.longest_ios = self.longest_ios.max(other.longest_ios);
        self.longest_bytes = self.longest_bytes.max(other.longest_bytes);
        self.by_ios.merge(&other.by_ios);
        self.by_bytes.merge(&other.by_bytes);
    }

    fn finish(&self) -> Sequentiality {
        let ratio = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        Sequentiality {
            ios: self.ios,
            bytes: self.bytes,
            sequential_ios: self.sequential_ios,
            sequential_bytes: self.sequential_bytes,
            share: ratio(self.sequential_ios, self.ios),
            bytes_share: ratio(self.sequential_bytes, self.bytes),
            after_previous_ios: self.after_previous,
            after_previous_share: ratio(self.after_previous, self.ios),
            runs: Runs {
                count: self.runs,
                mean_ios: ratio(self.ios, self.runs),
                mean_bytes: ratio(self.bytes, self.runs),
                max_ios: self.longest_ios,
                max_bytes: self.longest_bytes,
                by_ios: self.by_ios.list(),
                by_bytes: self.by_bytes.list(),
            },
            strided_ios: self.strided,
            strides: self.strides.list(),
        }
    }
}

/// The most frequent distances, in bounded memory: a distance that finds no room takes the counter of the least
/// frequent one, and its count (Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements
/// in data streams", 2005).
#[derive(Clone, Debug, Default)]
struct Frequent(Vec<Stride>);

impl Frequent {
    fn add(&mut self, bytes: i64) {
        if let Some(known) = self.0.iter_mut().find(|stride| stride.bytes == bytes) {
            known.ios += 1;
        } else if self.0.len() < STRIDES {
            self.0.push(Stride { bytes, ios: 1, over: 0 });
        } else if let Some(least) = self.0.iter_mut().min_by_key(|stride| stride.ios) {
            *least = Stride { bytes, ios: least.ios + 1, over: least.ios };
        }
    }

    /// Counts of both. A distance that one of two full tables does not know may have been there as often as its least
    /// frequent one.
    fn merge(&mut self, other: &Frequent) {
        let least = |table: &Frequent| match table.0.len() {
            STRIDES => table.0.iter().map(|stride| stride.ios).min().unwrap_or(0),
            _ => 0,
        };
        let (mine, theirs) = (least(self), least(other));
        for stride in &mut self.0 {
            let known = other.0.iter().find(|known| known.bytes == stride.bytes);
            stride.ios += known.map_or(theirs, |known| known.ios);
            stride.over += known.map_or(theirs, |known| known.over);
        }
        for stride in &other.0 {
            if !self.0.iter().any(|known| known.bytes == stride.bytes) {
                let (ios, over) = (stride.ios + mine, stride.over + mine);
                self.0.push(Stride { ios, over, ..*stride });
            }
        }
    }

    fn list(&self) -> Vec<Stride> {
        let mut list = self.0.clone();
        list.sort_by_key(|stride| (std::cmp::Reverse(stride.ios), stride.bytes));
        list.truncate(LISTED);
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Bytes, Nanos};
    use proptest::prelude::*;
    use workload::rng::Rng;

    fn io(kind: Kind, offset: u64, length: u64) -> Io {
        Io::arriving(Nanos::ZERO, kind, Bytes(offset), Bytes(length))
    }

    fn seen(ios: impl IntoIterator<Item = Io>) -> SequentialBody {
        let mut lens = Sequential::new();
        ios.into_iter().for_each(|io| lens.see(&io));
        lens.finish()
    }

    /// If it failed, a drive that reads twenty files at once would be called random.
    #[test]
    fn interleaved_streams_are_sequential_where_the_plain_definition_sees_none() {
        let streams = 20;
        let ios =
            (0..2000u64).map(|i| io(Kind::Read, ((i % streams) << 32) + i / streams * 4096, 4096));
        let reads = seen(ios).reads;
        assert_eq!((reads.sequential_ios, reads.after_previous_ios), (2000 - streams, 0));
        assert_eq!((reads.runs.count, reads.runs.max_ios), (streams, 2000 / streams));
        assert_eq!(reads.runs.mean_bytes, Some(409_600.0));
        assert_eq!(reads.runs.by_ios, [Power { from: 64, count: streams }]);
        // One more stream than are followed, in turn: each is forgotten just before it goes on.
        let streams = STREAMS as u64 + 1;
        let ios =
            (0..3300u64).map(|i| io(Kind::Read, ((i % streams) << 32) + i / streams * 4096, 4096));
        assert_eq!(seen(ios).reads.sequential_ios, 0);
    }

    /// If it failed, a mixed copy of a file would be called random, or its reads and writes one stream.
    #[test]
    fn directions_and_spaces_are_streams_of_their_own() {
        let copy = (0..100u64).flat_map(|i| {
            [io(Kind::Read, i * 4096, 4096), Io { space: 3, ..io(Kind::Write, i * 4096, 4096) }]
        });
        let body = seen(copy);
        assert_eq!((body.reads.sequential_ios, body.writes.sequential_ios), (99, 99));
        assert_eq!((body.reads.after_previous_ios, body.transfers.sequential_ios), (99, 198));
        // Reads and writes of one space in turn: each follows one of the other direction, and none its own.
        let turns = seen((0..50u64).flat_map(|i| {
            [io(Kind::Read, i * 8192, 4096), io(Kind::Write, i * 8192 + 4096, 4096)]
        }));
        assert_eq!((turns.transfers.sequential_ios, turns.transfers.after_previous_ios), (0, 99));
        let far = seen([Io { space: 5000, ..io(Kind::Read, 0, 512) }, io(Kind::Flush, 0, 0)]);
        assert_eq!((far.unjudged_ios, far.transfers.ios, far.transfers.share), (1, 0, None));
    }

    #[test]
    fn strides_are_found_and_random_ones_are_not() {
        let body = seen((0..1000u64).map(|i| io(Kind::Write, (1 << 40) - i * 65536, 4096)));
        assert_eq!(body.writes.strided_ios, 998);
        assert_eq!(body.writes.strides, [Stride { bytes: -65536, ios: 998, over: 0 }]);
        let mut rng = Rng::for_path(5, &[]);
        let body = seen((0..20_000).map(|_| io(Kind::Read, rng.below(1 << 28) * 4096, 4096)));
        assert_eq!((body.reads.strided_ios, body.reads.runs.max_ios < 3), (0, true));
    }

    proptest! {
        /// Against a list of streams, the last used first. If it failed, streams would be mixed up or forgotten in
        /// another order than was said.
        #[test]
        fn streams_are_those_of_a_plain_list(
            steps in prop::collection::vec((0..60u64, 1..4u64, prop::bool::ANY), 1..600)
        ) {
            let mut naive: Vec<u64> = Vec::new();
            let (mut expected, mut ends) = (0, [0u64; 60]);
            let ios: Vec<Io> = steps
                .iter()
                .map(|&(stream, pages, jump)| {
                    let at = &mut ends[stream as usize];
                    *at = if jump || *at == 0 { (stream << 40) + (*at + 8192) % (1 << 40) } else { *at };
                    let this = io(Kind::Read, *at, pages * 4096);
                    *at = this.end().0;
                    this
                })
                .collect();
            for this in &ios {
                match naive.iter().position(|end| *end == this.offset.0) {
                    Some(place) => {
                        expected += 1;
                        naive.remove(place);
                    }
                    None => naive.truncate(STREAMS - 1),
                }
                naive.insert(0, this.end().0);
            }
            let body = seen(ios.iter().copied());
            prop_assert_eq!(body.reads.sequential_ios, expected);
            let runs: u64 = body.reads.runs.by_ios.iter().map(|run| run.count).sum();
            prop_assert_eq!(runs, body.reads.runs.count);
            prop_assert_eq!(runs + expected, ios.len() as u64);
        }
    }
}
