//! NVMe admin commands and what a drive answers to them (NVM Express base specification 2.0).

use std::fmt;

use super::{CommandError, Commands, Data};

/// Namespace identifier that means all namespaces, and the drive as a whole where a log is requested.
pub const ALL_NAMESPACES: u32 = 0xffff_ffff;

/// Long enough for whatever answers from the drive's memory.
pub const SHORT_MS: u32 = 10_000;

/// Bytes of what Identify delivers.
pub const IDENTIFY_BYTES: usize = 4096;

/// An admin command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvmeCommand {
    /// Name in errors and recordings, such as `Identify controller`.
    pub name: &'static str,
    /// Opcode. Its two lowest bits say which way data goes: 0 none, 1 to the drive, 2 from it.
    pub opcode: u8,
    /// Namespace, or [`ALL_NAMESPACES`], or 0 where none is meant.
    pub nsid: u32,
    /// Command dwords 10 to 15.
    pub cdw10_to_15: [u32; 6],
    /// How long the kernel waits before it takes the drive for dead and resets it, in milliseconds; 0 for the
    /// kernel's own limit, 60 s.
    pub timeout_ms: u32,
}

impl NvmeCommand {
    /// True when `data` goes the way that the opcode says. A command that may carry data need not.
    pub fn carries(&self, data: &Data<'_>) -> bool {
        match data {
            Data::None => true,
            Data::Out(_) => self.opcode & 3 == 1,
            Data::In(_) => self.opcode & 3 == 2,
        }
    }
}

/// Asks for an Identify data structure. `cns` says which: 0 a namespace, 1 the controller, 2 the active namespaces.
///
/// # Errors
/// Those of [`Commands::nvme_admin`].
pub fn identify<C: Commands + ?Sized>(
    commands: &mut C,
    cns: u8,
    nsid: u32,
) -> Result<Vec<u8>, CommandError> {
    let name = match cns {
        0 => "Identify namespace",
        1 => "Identify controller",
        2 => "Identify active namespaces",
        _ => "Identify",
    };
    let command = NvmeCommand {
        name,
        opcode: 0x06,
        nsid,
        cdw10_to_15: [u32::from(cns), 0, 0, 0, 0, 0],
        timeout_ms: SHORT_MS,
    };
    let mut answer = vec![0; IDENTIFY_BYTES];
    commands.nvme_admin(&command, Data::In(&mut answer))?;
    Ok(answer)
}

/// Log page to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPage {
    /// Name in errors and recordings.
    pub name: &'static str,
    /// Log identifier.
    pub id: u8,
    /// Namespace, or [`ALL_NAMESPACES`].
    pub nsid: u32,
    /// Log specific identifier, such as an endurance group's; 0 where there is none.
    pub specific: u16,
    /// Retain the event that the log reports: reading does not count as having seen it. From NVMe 1.3 on; an older
    /// drive may refuse the command.
    pub retain_events: bool,
}

/// Fills `page` from a log page's beginning.
///
/// # Errors
/// Those of [`Commands::nvme_admin`]; [`CommandError::Answer`] for a length of zero or of a partial dword.
pub fn log_page<C: Commands + ?Sized>(
    commands: &mut C,
    log: LogPage,
    page: &mut [u8],
) -> Result<(), CommandError> {
    // Counted in dwords from zero.
    let dwords = u32::try_from(page.len() / 4).ok().and_then(|count| count.checked_sub(1));
    let Some(dwords) = dwords.filter(|_| page.len().is_multiple_of(4)) else {
        return Err(CommandError::Answer {
            device: commands.name().to_owned(),
            command: log.name,
            why: format!("{} bytes of a log are not a count of dwords", page.len()),
        });
    };
    let retain = u32::from(log.retain_events) << 15;
    let command = NvmeCommand {
        name: log.name,
        opcode: 0x02,
        nsid: log.nsid,
        cdw10_to_15: [
            u32::from(log.id) | retain | (dwords & 0xffff) << 16,
            dwords >> 16 | u32::from(log.specific) << 16,
            0,
            0,
            0,
            0,
        ],
        timeout_ms: SHORT_MS,
    };
    commands.nvme_admin(&command, Data::In(page))?;
    Ok(())
}

/// The status field of a completion, as the kernel gives it: status code in bits 7:0, its type in 10:8, "more" in
/// 13, "do not retry" in 14.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvmeStatus(pub u16);

impl NvmeStatus {
    /// All is well.
    pub const SUCCESS: NvmeStatus = NvmeStatus(0);

    /// Status code type: 0 generic, 1 of the command, 2 of the medium, 3 of the path, 7 the vendor's.
    pub fn code_type(self) -> u8 {
        (self.0 >> 8 & 7) as u8
    }

    /// Status code, within its type.
    pub fn code(self) -> u8 {
        (self.0 & 0xff) as u8
    }

    /// True when the same command would fail again.
    pub fn is_final(self) -> bool {
        self.0 & 0x4000 != 0
    }

    /// True when the drive does not know the command, a field of it, or the log page that was asked for.
    pub fn is_unsupported(self) -> bool {
        matches!((self.code_type(), self.code()), (0, 0x01 | 0x02) | (1, 0x09))
    }

    /// Meaning of the code in the specification's words; `None` for a code that it does not define.
    pub fn words(self) -> Option<&'static str> {
        match self.code_type() {
            0 => generic(self.code()),
            1 => of_command(self.code()),
            2 => of_medium(self.code()),
            3 => of_path(self.code()),
            _ => None,
        }
    }
}

impl fmt::Display for NvmeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code_type, code) = (self.code_type(), self.code());
        match (self.words(), code_type) {
            (Some(words), _) => f.write_str(words)?,
            (None, 7) => f.write_str("a status of the vendor's own")?,
            (None, _) => f.write_str("a status that the specification does not define")?,
        }
        write!(f, " (status type {code_type}, code {code:02x}h")?;
        f.write_str(if self.is_final() { ", do not retry)" } else { ")" })
    }
}

fn generic(code: u8) -> Option<&'static str> {
    Some(match code {
        0x00 => "success",
        0x01 => "invalid command opcode",
        0x02 => "invalid field in command",
        0x03 => "command ID conflict",
        0x04 => "data transfer error",
        0x05 => "aborted because of a power loss notification",
        0x06 => "internal error",
        0x07 => "abort requested",
        0x08 => "aborted because its submission queue was deleted",
        0x0b => "invalid namespace or format",
        0x0c => "command sequence error",
        0x12 => "invalid use of the controller memory buffer",
        0x13 => "invalid PRP offset",
        0x15 => "operation denied",
        0x1c => "sanitize failed: only another sanitize is permitted",
        0x1d => "sanitize in progress",
        0x20 => "the namespace is write protected",
        0x21 => "command interrupted",
        0x22 => "transient transport error",
        0x23 => "prohibited by command and feature lockdown",
        0x24 => "the medium for this admin command is not ready",
        0x80 => "LBA out of range",
        0x81 => "capacity exceeded",
        0x82 => "namespace not ready",
        0x83 => "reservation conflict",
        0x84 => "format in progress",
        _ => return None,
    })
}

fn of_command(code: u8) -> Option<&'static str> {
    Some(match code {
        0x00 => "invalid completion queue",
        0x01 => "invalid queue identifier",
        0x02 => "invalid queue size",
        0x05 => "asynchronous event request limit exceeded",
        0x06 => "invalid firmware slot",
        0x07 => "invalid firmware image",
        0x09 => "invalid log page",
        0x0a => "invalid format",
        0x0b => "firmware activation requires a conventional reset",
        0x0d => "feature identifier not saveable",
        0x0e => "feature not changeable",
        0x0f => "feature not namespace specific",
        0x10 => "firmware activation requires a reset of the NVM subsystem",
        0x11 => "firmware activation requires a controller level reset",
        0x14 => "overlapping range",
        0x15 => "insufficient capacity for the namespace",
        0x16 => "namespace identifier unavailable",
        0x18 => "namespace already attached",
        0x19 => "namespace is private",
        0x1a => "namespace not attached",
        0x1d => "device self-test in progress",
        0x1e => "boot partition write prohibited",
        0x1f => "invalid controller identifier",
        0x23 => "sanitize prohibited while the persistent memory region is enabled",
        0x2c => "invalid I/O command set",
        0x80 => "conflicting attributes",
        0x81 => "invalid protection information",
        0x82 => "attempted write to a read only range",
        _ => return None,
    })
}

fn of_medium(code: u8) -> Option<&'static str> {
    Some(match code {
        0x80 => "write fault",
        0x81 => "unrecovered read error",
        0x82 => "end-to-end guard check error",
        0x83 => "end-to-end application tag check error",
        0x84 => "end-to-end reference tag check error",
        0x85 => "compare failure",
        0x86 => "access denied",
        0x87 => "deallocated or unwritten logical block",
        _ => return None,
    })
}

fn of_path(code: u8) -> Option<&'static str> {
    Some(match code {
        0x00 => "internal path error",
        0x01 => "asymmetric access: persistent loss",
        0x02 => "asymmetric access: inaccessible",
        0x03 => "asymmetric access: in transition",
        0x60 => "controller pathing error",
        0x70 => "host pathing error",
        0x71 => "aborted by the host",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // If the fields were taken from other bits, a refused Format would be reported as a broken drive.
    #[test]
    fn a_status_is_told_in_words_with_type_and_code() {
        let refused = NvmeStatus(0x4000 | 0x10a);
        assert_eq!(refused.to_string(), "invalid format (status type 1, code 0ah, do not retry)");
        assert!(refused.is_final() && !refused.is_unsupported());
        assert_eq!(NvmeStatus(0x281).words(), Some("unrecovered read error"));
        assert!(NvmeStatus(0x4002).is_unsupported() && NvmeStatus(0x109).is_unsupported());
        let vendors = NvmeStatus(0x7c5).to_string();
        assert_eq!(vendors, "a status of the vendor's own (status type 7, code c5h)");
        for code in 0..=u16::MAX {
            assert!(!NvmeStatus(code).to_string().is_empty());
        }
    }

    #[test]
    fn data_goes_the_way_that_the_opcode_says() {
        let of =
            |opcode| NvmeCommand { name: "", opcode, nsid: 0, cdw10_to_15: [0; 6], timeout_ms: 0 };
        assert!(of(0x06).carries(&Data::In(&mut [0])) && !of(0x06).carries(&Data::Out(&[0])));
        assert!(of(0x81).carries(&Data::Out(&[0])) && !of(0x81).carries(&Data::In(&mut [0])));
        // Format carries nothing: the kernel would map memory that the drive does not know of.
        assert!(of(0x80).carries(&Data::None) && !of(0x80).carries(&Data::In(&mut [0])));
    }
}
