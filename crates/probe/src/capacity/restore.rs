//! Puts original data back that a probe left on the drive half overwritten, when its process was killed.

use std::collections::BTreeMap;

use block::{Bytes, Op, Payload};
use serde::Serialize;

use super::stamp::{Kept, Original, SECTOR, Stamps};
use super::trial::{no_content, script, settle};
use crate::desk::{Desk, Halt};

/// Outcome of restoring the original data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Written back.
    pub put_back_bytes: Bytes,
    /// On the drive already: not overwritten, or put back before.
    pub there_bytes: Bytes,
    /// Left alone, since the drive holds something there that neither is the original nor was written by the probe.
    pub changed_bytes: Bytes,
    /// Could not be read or written.
    pub failed_bytes: Bytes,
}

impl Restored {
    /// True when the drive holds all of the original data.
    pub fn is_whole(&self) -> bool {
        self.changed_bytes == Bytes::ZERO && self.failed_bytes == Bytes::ZERO
    }
}

/// Puts original data back, place by place.
#[derive(Clone, Copy, Debug)]
pub struct Restorer {
    stamps: Stamps,
    /// Also what was changed since is overwritten.
    all: bool,
    /// Outcome for the places so far.
    pub restored: Restored,
}

impl Restorer {
    /// Puts back what stamps of `salt` have overwritten; with `all`, whatever is there now.
    pub fn new(salt: u64, all: bool) -> Restorer {
        Restorer { stamps: Stamps::new(salt), all, restored: Restored::default() }
    }

    /// Puts back one place: of sectors that hold a stamp, the original is written. Others are left as they are.
    ///
    /// # Errors
    /// [`Halt`]; an I/O that fails is not an error, and is counted.
    pub fn place(&mut self, desk: &mut Desk<'_>, offset: u64, original: &[u8]) -> Result<(), Halt> {
        let place = [(offset, original.len() as u64)];
        let mut now = Vec::new();
        let read = script(Op::Read, &place);
        match desk.run_for_data("look", &read, &no_content, &mut |_, data| now = data.to_vec()) {
            Err(Halt::Failed(_)) => {
                self.restored.failed_bytes += place_bytes(original);
                return Ok(());
            }
            done => done?,
        };
        let (mut writes, mut there, mut changed) = (0, 0, 0);
        let sectors = now.chunks_mut(SECTOR as usize).zip(original.chunks(SECTOR as usize));
        for (number, (now, original)) in sectors.enumerate() {
            let at = offset + number as u64 * SECTOR;
            if now == original {
                there += original.len();
            } else if self.all || self.stamps.is_ours(at, now, original) {
                now.copy_from_slice(original);
                writes += original.len();
            } else {
                changed += original.len();
            }
        }
        if writes > 0 {
            // Whole blocks can be written only: sectors that were changed since get what they hold.
            let whole = Kept::new(BTreeMap::from([(offset, Original::Data(now))]));
            let content = || -> Box<dyn Payload> { Box::new(whole.clone()) };
            match desk.put_back("put back", &script(Op::Write, &place), &content) {
                Ok(()) => self.restored.put_back_bytes += Bytes(writes as u64),
                Err(Halt::Failed(_)) => self.restored.failed_bytes += Bytes(writes as u64),
                Err(halt) => return Err(halt),
            }
        }
        self.restored.there_bytes += Bytes(there as u64);
        self.restored.changed_bytes += Bytes(changed as u64);
        Ok(())
    }

    /// Has what was written reach the medium.
    ///
    /// # Errors
    /// [`Halt`].
    pub fn finish(self, desk: &mut Desk<'_>) -> Result<Restored, Halt> {
        settle(desk)?;
        Ok(self.restored)
    }
}

fn place_bytes(data: &[u8]) -> Bytes {
    Bytes(data.len() as u64)
}
