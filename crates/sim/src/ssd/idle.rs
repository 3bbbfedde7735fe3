//! Work of the drive while the host is idle: data written with one bit a cell moves on.

use block::{Nanos, Time};

use super::Ssd;
use super::die::Keeping;
use super::ftl::Collected;

/// A die with more work than this before it is given no more to fold.
const BACKLOG_MAX: usize = 64;

impl Ssd {
    /// The last command is done.
    pub(super) fn begin_pause(&mut self, now: Time) {
        if let Some(folding) = self.figures.folding {
            self.idle_at = now + folding.idle;
        }
    }

    /// The next die, in turn, that has something to fold.
    fn next_to_fold(&self) -> Option<u32> {
        let dies = self.shape.dies;
        (0..dies).map(|step| (self.idle_die + step) % dies).find(
            |&die| matches!(&self.dies[die as usize].keeping, Keeping::Log(ftl) if ftl.can_fold()),
        )
    }

    /// Folds a row's worth on the next die, and plans the next step at the configured rate.
    pub(super) fn use_pause(&mut self, now: Time) {
        self.idle_at = Time::NEVER;
        let Some(folding) = self.figures.folding else { return };
        let before = self.media.folded_bytes;
        while self.media.folded_bytes == before {
            let Some(die) = self.next_to_fold() else { return };
            if self.dies[die as usize].work.len() > BACKLOG_MAX {
                break;
            }
            let collected = self.fold(die);
            self.kick(die, now);
            if collected == Collected::Nothing {
                return;
            }
            if self.media.folded_bytes > before {
                self.idle_die = (die + 1) % self.shape.dies;
            }
        }
        let row = u64::from(self.shape.row_units) * self.shape.map_bytes;
        let bytes = (self.media.folded_bytes - before).0.max(row);
        // At least a nanosecond, or a rate beyond all measure would stop the clock.
        self.idle_at = now + Nanos((bytes * 1_000_000_000 / folding.bytes_per_s).max(1));
    }
}
