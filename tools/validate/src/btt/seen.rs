//! A recording as btt sees it: btt keeps one queued bio for each first sector, and finds a bio only inside the
//! range of an issue or completion.
//!
//! So a bio that was split never ends; and one that waits when another of the same first sector arrives is lost, the
//! newcomer in its place. Both are counted as queued.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use trace::{Flags, Io};

/// I/Os as btt has them.
#[derive(Debug, Default)]
pub struct Seen {
    /// Those that it follows to the end.
    pub followed: Vec<Io>,
    /// Those that it loses to another of the same first sector, the split ones left out.
    pub replaced: u64,
    /// Those that it loses because they were split.
    pub split: u64,
}

/// Sorts `ios`, which are in the order of their arrival.
pub fn seen(ios: &[Io]) -> Seen {
    let mut seen = Seen::default();
    // End and number of the I/O that waits.
    let mut waiting: BTreeMap<(u32, u64), (u64, usize)> = BTreeMap::new();
    let mut ends: BinaryHeap<Reverse<(u64, u32, u64, u64)>> = BinaryHeap::new();
    let mut lost = vec![false; ios.len()];
    for (number, io) in ios.iter().enumerate().filter(|(_, io)| io.length.0 > 0) {
        while let Some(Reverse((at, space, from, to))) = ends.peek().copied() {
            if at > io.arrival.0 {
                break;
            }
            ends.pop();
            let inside = waiting.range((space, from)..(space, to));
            let ended: Vec<_> =
                inside.filter(|(_, (end, _))| *end <= to).map(|(key, _)| *key).collect();
            for key in ended {
                waiting.remove(&key);
            }
        }
        // A split bio's completions are those of its parts, none of which holds it.
        let split = io.flags.has(Flags::SPLIT);
        lost[number] = split;
        seen.split += u64::from(split);
        if let Some(at) = io.completed.get().filter(|_| !split) {
            ends.push(Reverse((at.0, io.space, io.offset.0, io.end().0)));
        }
        let before = waiting.insert((io.space, io.offset.0), (io.end().0, number));
        if let Some((_, before)) = before.filter(|(_, before)| !lost[*before]) {
            lost[before] = true;
            seen.replaced += 1;
        }
    }
    let kept = ios.iter().zip(&lost).filter(|(io, lost)| io.length.0 > 0 && !**lost);
    seen.followed = kept.map(|(io, _)| *io).collect();
    seen
}

#[cfg(test)]
mod tests {
    use block::{Bytes, Nanos};
    use trace::{Kind, Stamp};

    use super::*;

    fn io(arrival: u64, completed: u64, offset: u64) -> Io {
        let io = Io::arriving(Nanos(arrival), Kind::Read, Bytes(offset), Bytes(4096));
        Io { completed: Stamp::at(Nanos(completed)), ..io }
    }

    // Breaks when an I/O is held for lost that btt follows, or the other way round.
    #[test]
    fn one_waits_for_each_sector() {
        let split = Io { flags: Flags::SPLIT, ..io(70, 80, 8192) };
        let ios = [
            io(0, 100, 0), // Waits still when the third arrives.
            io(10, 20, 4096),
            io(30, 40, 0),
            io(50, 60, 4096), // The second is gone.
            split,
            io(110, 120, 8192), // In the place of one that never ends.
            io(130, 140, 0),
        ];
        let seen = seen(&ios);
        assert_eq!((seen.replaced, seen.split), (1, 1));
        let arrivals: Vec<u64> = seen.followed.iter().map(|io| io.arrival.0).collect();
        assert_eq!(arrivals, [10, 30, 50, 110, 130]);
    }
}
