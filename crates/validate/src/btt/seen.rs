//! What btt can see of a recording: it keeps one queued bio for each first sector, and finds a bio only inside the
//! range of an issue or completion.
//!
//! So a bio that arrives while another of the same first sector waits is not counted at all, and one that was split
//! never ends, which makes btt blind for later ones at its first sector too.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use trace::{Flags, Io};

/// I/Os as btt has them.
#[derive(Debug, Default)]
pub struct Seen {
    /// Those that it counts.
    pub queued: Vec<Io>,
    /// Of these, those that it follows to the end.
    pub followed: Vec<Io>,
    /// Those that it does not count: another of the same first sector waited.
    pub refused: u64,
    /// Those that it loses because they were split.
    pub split: u64,
}

/// Sorts `ios`, which are in the order of their arrival.
pub fn seen(ios: &[Io]) -> Seen {
    let mut seen = Seen::default();
    let mut waiting: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    let mut ends: BinaryHeap<Reverse<(u64, u32, u64, u64)>> = BinaryHeap::new();
    for io in ios.iter().filter(|io| io.length.0 > 0) {
        while let Some(Reverse((at, space, from, to))) = ends.peek().copied() {
            if at > io.arrival.0 {
                break;
            }
            ends.pop();
            let inside = waiting.range((space, from)..(space, to));
            let ended: Vec<_> =
                inside.filter(|(_, end)| **end <= to).map(|(key, _)| *key).collect();
            ended.iter().for_each(|key| drop(waiting.remove(key)));
        }
        // A split bio's completions are those of its parts, none of which holds it.
        let split = io.flags.has(Flags::SPLIT);
        if let Some(at) = io.completed.get().filter(|_| !split) {
            ends.push(Reverse((at.0, io.space, io.offset.0, io.end().0)));
        }
        if waiting.contains_key(&(io.space, io.offset.0)) {
            seen.refused += 1;
            continue;
        }
        waiting.insert((io.space, io.offset.0), io.end().0);
        seen.queued.push(*io);
        if split {
            seen.split += 1;
        } else {
            seen.followed.push(*io);
        }
    }
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

    // Breaks when an I/O is refused that btt counts, or the other way round.
    #[test]
    fn one_waits_for_each_sector() {
        let split = Io { flags: Flags::SPLIT, ..io(70, 80, 8192) };
        let ios = [
            io(0, 100, 0),
            io(10, 20, 4096),
            io(30, 40, 0),    // The first waits still.
            io(50, 60, 4096), // The second is gone.
            split,
            io(110, 120, 8192), // Behind one that never ends.
            io(130, 140, 0),
        ];
        let seen = seen(&ios);
        assert_eq!((seen.refused, seen.split), (2, 1));
        let arrivals = |ios: &[Io]| ios.iter().map(|io| io.arrival.0).collect::<Vec<_>>();
        assert_eq!(arrivals(&seen.queued), [0, 10, 50, 70, 130]);
        assert_eq!(arrivals(&seen.followed), [0, 10, 50, 130]);
    }
}
