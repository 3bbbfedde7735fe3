//! A record of blktrace, version 1.

use block::trace::Traits;
use block::trace::record::MAGIC;

use crate::{Flags, Io, Kind, Stamp};

/// Version byte of a record.
const VERSION: u32 = 7;

/// A record of version 1.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    pub action: u32,
    pub sequence: u32,
    pub time: u64,
    pub sector: u64,
    pub bytes: u32,
    pub pid: u32,
    pub device: u32,
    pub cpu: u32,
    /// Of a negative error number the low half.
    pub error: u16,
}

impl Record {
    pub fn bytes(&self, pdu_len: u16) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(48 + usize::from(pdu_len));
        for word in [MAGIC | VERSION, self.sequence] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for word in [self.time, self.sector] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for word in [self.bytes, self.action, self.pid, self.device, self.cpu] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for half in [self.error, pdu_len] {
            bytes.extend_from_slice(&half.to_le_bytes());
        }
        bytes
    }
}

/// Returns the traits of a record for an I/O's kind and flags.
pub(super) fn traits(io: &Io) -> Traits {
    let mut traits = match io.kind {
        Kind::Read => Traits::READ,
        Kind::Write | Kind::WriteZeroes | Kind::Zone => Traits::WRITE,
        Kind::Flush => Traits::WRITE | Traits::FLUSH,
        Kind::Discard => Traits::WRITE | Traits::DISCARD,
        Kind::Other => Traits::PASSTHROUGH,
    };
    for (flag, trait_) in [
        (Flags::SYNC, Traits::SYNC),
        (Flags::META, Traits::META),
        (Flags::FUA, Traits::FUA),
        (Flags::AHEAD, Traits::AHEAD),
        (Flags::PREFLUSH, Traits::FLUSH),
    ] {
        if io.flags.has(flag) {
            traits = traits | trait_;
        }
    }
    traits
}

/// An instant that is known, as it is written.
pub(super) fn instant(stamp: Stamp) -> Option<u64> {
    stamp.get().map(|at| at.0)
}
