//! SCSI commands, and the sense data that says why one was not done (SPC-4).

use std::fmt;

use super::{CommandError, Commands, Data};

/// Long enough for whatever answers without moving a medium.
pub const SHORT_MS: u32 = 10_000;

/// Status byte GOOD.
pub const GOOD: u8 = 0x00;

/// Status byte CHECK CONDITION: sense data says the rest.
pub const CHECK_CONDITION: u8 = 0x02;

/// A SCSI command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScsiCommand {
    /// Name in errors and recordings, such as `INQUIRY`.
    pub name: &'static str,
    /// The command descriptor block: 6, 10, 12, 16 or up to 32 bytes.
    pub cdb: Vec<u8>,
    /// How long the kernel waits before it takes the drive for dead and resets it, in milliseconds; 0 for the
    /// kernel's own limit, 60 s.
    pub timeout_ms: u32,
}

/// Result of a SCSI command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScsiAnswer {
    /// Status byte, such as [`GOOD`].
    pub status: u8,
    /// Sense data as it came; empty when there is none.
    pub sense: Vec<u8>,
    /// Bytes of data that were transferred, of those asked for.
    pub transferred: usize,
}

/// Host bytes of the kernel that come with a status of the drive's own: `DID_OK`, and from some drivers
/// `DID_TARGET_FAILURE` and `DID_NEXUS_FAILURE`, `DID_ALLOC_FAILURE`, `DID_MEDIUM_ERROR`, which only sum it up.
const HOST_BYTES_OF_ANSWERS: [u16; 5] = [0x00, 0x10, 0x11, 0x12, 0x13];

impl ScsiAnswer {
    /// This answer, when `bytes` (the kernel's host byte and driver byte) say that it is the drive's.
    pub(super) fn arrived(
        self,
        (host, driver): (u16, u16),
        device: &str,
        command: &'static str,
    ) -> Result<ScsiAnswer, CommandError> {
        let has_answer = self.status != GOOD || host == 0;
        // The driver byte, gone since Linux 5.14, says with bit 3 no more than that sense data came.
        if HOST_BYTES_OF_ANSWERS.contains(&host) && has_answer && driver & 0x07 == 0 {
            Ok(self)
        } else {
            Err(CommandError::Transport { device: device.to_owned(), command, host, driver })
        }
    }

    /// The answer itself, when the status is GOOD; `device` is what the error calls it.
    ///
    /// # Errors
    /// [`CommandError::Scsi`] for any other status.
    pub fn good(self, device: &str, command: &'static str) -> Result<ScsiAnswer, CommandError> {
        match self.status {
            GOOD => Ok(self),
            status => Err(CommandError::Scsi {
                device: device.to_owned(),
                command,
                status,
                sense: Sense::parse(&self.sense),
            }),
        }
    }
}

/// Sends a command that delivers data into `buffer`, and gives the part of it that was delivered.
///
/// # Errors
/// Those of [`Commands::scsi`], and [`CommandError::Scsi`] for a status that is not GOOD.
pub fn fetch<'a, C: Commands + ?Sized>(
    commands: &mut C,
    command: &ScsiCommand,
    buffer: &'a mut [u8],
) -> Result<&'a [u8], CommandError> {
    let answer = commands.scsi(command, Data::In(buffer))?.good(commands.name(), command.name)?;
    Ok(&buffer[..answer.transferred.min(buffer.len())])
}

/// Standard INQUIRY data, or with `page` a page of vital product data.
pub fn inquiry(page: Option<u8>, bytes: u16) -> ScsiCommand {
    let [high, low] = bytes.to_be_bytes();
    ScsiCommand {
        name: if page.is_some() { "INQUIRY (vital product data)" } else { "INQUIRY" },
        cdb: vec![0x12, u8::from(page.is_some()), page.unwrap_or(0), high, low, 0],
        timeout_ms: SHORT_MS,
    }
}

/// LOG SENSE of one page, with cumulative values.
pub fn log_sense(page: u8, bytes: u16) -> ScsiCommand {
    let [high, low] = bytes.to_be_bytes();
    ScsiCommand {
        name: "LOG SENSE",
        cdb: vec![0x4d, 0, 0x40 | (page & 0x3f), 0, 0, 0, 0, high, low, 0],
        timeout_ms: SHORT_MS,
    }
}

/// REQUEST SENSE, which reports the state of power and wakes nothing.
pub fn request_sense() -> ScsiCommand {
    ScsiCommand { name: "REQUEST SENSE", cdb: vec![0x03, 0, 0, 0, 252, 0], timeout_ms: SHORT_MS }
}

/// Sense data, as far as both of its forms have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sense {
    /// Sense key, 0 to 15.
    pub key: u8,
    /// Additional sense code.
    pub asc: u8,
    /// Additional sense code qualifier.
    pub ascq: u8,
    /// The bytes as they came.
    pub bytes: Vec<u8>,
}

impl Sense {
    /// Reads sense data of the fixed form (response codes 70h and 71h) or with descriptors (72h and 73h); `None` for
    /// anything else.
    pub fn parse(bytes: &[u8]) -> Option<Sense> {
        let at = |place: usize| bytes.get(place).copied();
        // Sense data that is too short for the code has none: zero means "no more information".
        let or_zero = |place: usize| at(place).unwrap_or(0);
        let (key, asc, ascq) = match at(0)? & 0x7f {
            0x70 | 0x71 => (at(2)?, or_zero(12), or_zero(13)),
            0x72 | 0x73 => (at(1)?, or_zero(2), or_zero(3)),
            _ => return None,
        };
        Some(Sense { key: key & 0x0f, asc, ascq, bytes: bytes.to_owned() })
    }

    /// True when the command, or a field of it, is not known.
    pub fn is_illegal_request(&self) -> bool {
        self.key == 0x05
    }

    /// True when it says that the unit rests in a standby condition, from which it would have to spin up.
    pub fn is_standby(&self) -> bool {
        // Low power condition on: 02 and 04 standby by timer and by command, 09 and 0A the same of standby_y, 43 on its
        // way there, 45 to sleep. 04/02: stopped, and to be started first.
        matches!(
            (self.asc, self.ascq),
            (0x5e, 0x02 | 0x04 | 0x09 | 0x0a | 0x43 | 0x45) | (0x04, 0x02)
        )
    }

    /// A descriptor of this type, from its first byte on.
    pub fn descriptor(&self, kind: u8) -> Option<&[u8]> {
        if !matches!(self.bytes.first()? & 0x7f, 0x72 | 0x73) {
            return None;
        }
        let end = self.bytes.len().min(8 + usize::from(*self.bytes.get(7)?));
        let mut rest = self.bytes.get(8..end)?;
        while let [this, length, ..] = *rest {
            let whole = 2 + usize::from(length);
            let descriptor = rest.get(..whole)?;
            if this == kind {
                return Some(descriptor);
            }
            rest = &rest[whole..];
        }
        None
    }

    fn key_words(&self) -> &'static str {
        [
            "no sense",
            "recovered error",
            "not ready",
            "medium error",
            "hardware error",
            "illegal request",
            "unit attention",
            "data protect",
            "blank check",
            "vendor specific",
            "copy aborted",
            "aborted command",
            "reserved",
            "volume overflow",
            "miscompare",
            "completed",
        ][usize::from(self.key & 0x0f)]
    }
}

impl fmt::Display for Sense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sense { key, asc, ascq, .. } = *self;
        f.write_str(self.key_words())?;
        if let Some(words) = code_words(asc, ascq) {
            write!(f, ", {words}")?;
        }
        write!(f, " (sense key {key:x}h, code {asc:02x}h/{ascq:02x}h)")
    }
}

/// The codes that drives return for the commands of this crate, and those that report a drive's state.
fn code_words(asc: u8, ascq: u8) -> Option<&'static str> {
    Some(match (asc, ascq) {
        (0x00, 0x1d) => "ATA pass-through information available",
        (0x04, 0x00) => "logical unit not ready",
        (0x04, 0x01) => "becoming ready",
        (0x04, 0x02) => "it has to be started first",
        (0x04, 0x03) => "it needs somebody's hand",
        (0x04, 0x04) => "format in progress",
        (0x04, 0x09) => "self-test in progress",
        (0x04, 0x1b) => "sanitize in progress",
        (0x0b, 0x01) => "specified temperature exceeded",
        (0x0c, _) => "write error",
        (0x11, _) => "unrecovered read error",
        (0x15, _) => "positioning error",
        (0x20, 0x00) => "invalid command operation code",
        (0x21, 0x00) => "logical block address out of range",
        (0x24, 0x00) => "invalid field in the command",
        (0x25, 0x00) => "logical unit not supported",
        (0x26, 0x00) => "invalid field in the parameters",
        (0x27, _) => "write protected",
        (0x29, _) => "power on, reset or bus reset occurred",
        (0x2a, _) => "parameters changed",
        (0x2c, 0x00) => "command sequence error",
        (0x31, 0x00) => "medium format corrupted",
        (0x31, 0x01) => "format command failed",
        (0x31, 0x03) => "sanitize command failed",
        (0x32, 0x00) => "no defect spare location available",
        (0x3a, _) => "medium not present",
        (0x3e, 0x03) => "failed its self-test",
        (0x44, _) => "internal target failure",
        (0x47, _) => "interface CRC error",
        (0x5d, _) => "failure prediction threshold exceeded",
        (0x5e, _) => "in a low power condition",
        (0x74, 0x71) => "the logical unit's access is not authorised",
        _ => return None,
    })
}

/// A status that is not GOOD, in words.
pub(super) fn words(status: u8, sense: &Option<Sense>) -> String {
    match (status, sense) {
        (CHECK_CONDITION, Some(sense)) => sense.to_string(),
        (CHECK_CONDITION, None) => "refused without saying why (no sense data)".to_owned(),
        (0x08, _) => "busy (status 08h)".to_owned(),
        (0x18, _) => "reservation conflict (status 18h)".to_owned(),
        (0x28, _) => "its queue is full (status 28h)".to_owned(),
        (0x30, _) => "ACA active (status 30h)".to_owned(),
        (0x40, _) => "task aborted (status 40h)".to_owned(),
        _ => format!("ended with status {status:02x}h"),
    }
}

/// Describes a failure between the kernel and the drive (`DID_…` in `scsi/scsi_status.h`).
pub(super) fn transport_words(host: u16, driver: u16) -> String {
    let what = match host {
        0x01 => "no connection to the drive",
        0x02 => "the bus stayed busy",
        0x03 => "no answer in time",
        0x04 => "not the drive that was asked",
        0x05 => "aborted",
        0x06 => "parity error on the way",
        0x07 => "internal error of the host adapter",
        0x08 => "the bus was reset",
        0x0b | 0x0c => "the drive wants it tried again",
        0x0e | 0x0f => "the transport was disrupted",
        0x14 => "the transport is hardly there",
        _ => "lost on the way to the drive",
    };
    format!("{what} (host byte {host:02x}h, driver byte {driver:02x}h)")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Both forms carry the same; were one misread, a command that a drive does not know would pass for an error
    // of its medium.
    #[test]
    fn both_forms_of_sense_data_are_read() {
        let mut fixed = vec![0xf0, 0, 0x05, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0x00, 0, 0, 0, 0];
        let plain = Sense::parse(&fixed).unwrap();
        assert_eq!(
            plain.to_string(),
            "illegal request, invalid command operation code (sense key 5h, code 20h/00h)"
        );
        assert!(plain.is_illegal_request() && plain.descriptor(9).is_none());
        fixed.truncate(8);
        assert_eq!(Sense::parse(&fixed).unwrap().asc, 0);

        let described = [0x72, 0x0b, 0x47, 0x00, 0, 0, 0, 4, 0x02, 2, 0xaa, 0xbb];
        let sense = Sense::parse(&described).unwrap();
        assert_eq!((sense.key, sense.asc), (0x0b, 0x47));
        assert_eq!(sense.descriptor(2), Some(&[2, 2, 0xaa, 0xbb][..]));
        assert_eq!(sense.descriptor(9), None);
        assert_eq!(Sense::parse(&[]), None);
        assert_eq!(Sense::parse(&[0x12, 0x05]), None);
    }

    // A descriptor may claim more than came.
    #[test]
    fn a_descriptor_that_ends_beyond_the_data_is_none() {
        let cut = Sense::parse(&[0x72, 0x01, 0, 0x1d, 0, 0, 0, 14, 0x09, 0x0c, 0, 1]).unwrap();
        assert_eq!(cut.descriptor(9), None);
        let empty = Sense::parse(&[0x72, 0x01]).unwrap();
        assert_eq!(empty.descriptor(9), None);
    }

    #[test]
    fn what_did_not_arrive_is_no_answer() {
        let answer = |status| ScsiAnswer { status, sense: Vec::new(), transferred: 0 };
        assert!(answer(GOOD).arrived((0, 0), "d", "c").is_ok());
        assert!(answer(CHECK_CONDITION).arrived((0x10, 0x08), "d", "c").is_ok());
        let lost = answer(GOOD).arrived((0x03, 0), "d", "c").unwrap_err().to_string();
        assert_eq!(lost, "d: c: no answer in time (host byte 03h, driver byte 00h)");
        // A summary without a status behind it says that something failed, not what.
        assert!(answer(GOOD).arrived((0x10, 0), "d", "c").is_err());
        assert!(answer(GOOD).arrived((0, 0x06), "d", "c").is_err());
    }
}
