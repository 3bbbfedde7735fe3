//! Accesses written out one by one, in groups that follow each other: what an instrument issues that looks at the
//! answers before it asks further.
//!
//! A [`Plan`](crate::plan::Plan) describes load by its pattern, since the accesses of three seconds are too many to
//! write out. A script is the opposite: some hundred accesses, each with a purpose of its own.

use block::{Bytes, Nanos};

pub use crate::stream::Access;

/// Accesses in groups. Those of one group are issued together; a group is issued when the one before it has
/// completed, and its pause is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    accesses: Vec<Access>,
    groups: Vec<Group>,
}

/// Some accesses that are issued together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    /// Index after the last of its accesses.
    end: usize,
    /// Idle time before it.
    pause: Nanos,
}

impl Script {
    /// A script of nothing.
    pub fn new() -> Script {
        Script::default()
    }

    /// Each access by itself, at queue depth 1.
    pub fn one_by_one(accesses: impl IntoIterator<Item = Access>) -> Script {
        let mut script = Script::new();
        accesses.into_iter().for_each(|access| script.group(Nanos::ZERO, &[access]));
        script
    }

    /// Adds a group after `pause` of idle time. A group of nothing adds nothing, its pause neither.
    pub fn group(&mut self, pause: Nanos, accesses: &[Access]) {
        if !accesses.is_empty() {
            self.accesses.extend_from_slice(accesses);
            self.groups.push(Group { end: self.accesses.len(), pause });
        }
    }

    /// All accesses, in order.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }

    /// The groups in order: the pause before each, and the range of its accesses.
    pub fn groups(&self) -> impl Iterator<Item = (Nanos, std::ops::Range<usize>)> + '_ {
        let begins = std::iter::once(0).chain(self.groups.iter().map(|group| group.end));
        self.groups.iter().zip(begins).map(|(group, begin)| (group.pause, begin..group.end))
    }

    /// The most accesses in one group: the queue depth that it takes.
    pub fn depth(&self) -> usize {
        self.groups().map(|(_, range)| range.len()).max().unwrap_or(0)
    }

    /// The largest transfer.
    pub fn block_max(&self) -> Bytes {
        self.accesses.iter().map(|access| access.len).max().unwrap_or(Bytes::ZERO)
    }

    /// Idle time of all groups together.
    pub fn pauses(&self) -> Nanos {
        self.groups.iter().map(|group| group.pause).sum()
    }
}

#[cfg(test)]
mod tests {
    use block::Op;

    use super::*;

    fn read(offset: u64) -> Access {
        Access { op: Op::Read, fua: false, offset: Bytes(offset), len: Bytes(512) }
    }

    // Breaks when a group loses an access to its neighbour: times would be taken of the wrong place.
    #[test]
    fn groups_cover_the_accesses_in_order() {
        let mut script = Script::one_by_one([read(0), read(512)]);
        script.group(Nanos::secs(1), &[]);
        script.group(Nanos::millis(5), &[read(1024), read(2048), read(4096)]);
        let groups: Vec<_> = script.groups().collect();
        assert_eq!(groups, [(Nanos::ZERO, 0..1), (Nanos::ZERO, 1..2), (Nanos::millis(5), 2..5)]);
        assert_eq!((script.depth(), script.accesses().len()), (3, 5));
        assert_eq!(script.pauses(), Nanos::millis(5));
        assert_eq!(Script::new().depth(), 0);
    }
}
