//! Commands and answers as a text file: written by [`Recorder`], answered from by [`Playback`].
//!
//! The form, line by line; numbers are hexadecimal but for lengths, and `#` begins a remark:
//!
//! ```text
//! drivescope-commands 1                                what it is, and of which version
//! device nvme0n1                                       kernel name of the recorded device
//! protocol nvme                                        how it was spoken to: nvme, ata, scsi
//! namespace 00000001                                   of an NVMe device, where it is known
//! > nvme 06 nsid 00000000 cdw 00000001 00000000 00000000 00000000 00000000 00000000 in 4096  # Identify controller
//! < nvme 0000 result 00000000                          status and dword 0 of the completion
//! . 0000 36 1b f4 1a 30 31                             data from this place on; what is not listed is zero
//! > scsi 12 00 00 00 60 00 in 96
//! < scsi 02 transferred 0 sense 70 00 05 00 00 00 00 0a 00 00 00 00 20 00    status, and sense data or `none`
//! > scsi e5 out 8
//! . 0000 01                                            data to the drive follows the command
//! < transport 0003 0000                                the kernel's host byte and driver byte
//! > scsi e5 none
//! < errno 13                                           the kernel did not pass it on (decimal)
//! ```
//!
//! The order is part of it, and so is every byte that was sent: an answer is an answer to one command in the state
//! that the commands before it have left. How long a command may take is not.

mod parse;
mod play;
mod write;

use std::path::{Path, PathBuf};

use thiserror::Error;

pub use play::Playback;
pub use write::Recorder;

/// First word of the file.
const MAGIC: &str = "drivescope-commands";

/// Version of the form.
const VERSION: &str = "1";

/// Most that one command carries: what the kernel would take in one piece is less.
const DATA_BYTES_MAX: usize = 16 << 20;

/// Why a recording cannot be used.
#[derive(Debug, Error)]
pub enum TraceError {
    /// It cannot be read.
    #[error("{}: cannot be read: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// It has another form.
    #[error("{}: line {line}: {why}", .path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// Line number in it, from 1.
        line: usize,
        /// Description of the error, and of the expected form.
        why: String,
    },
}

impl TraceError {
    fn form(path: &Path, line: usize, why: impl Into<String>) -> TraceError {
        TraceError::Form { path: path.to_owned(), line, why: why.into() }
    }
}

/// A command as it was sent, without its name and its limit of time.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sent {
    Nvme { opcode: u8, nsid: u32, cdw10_to_15: [u32; 6] },
    Scsi { cdb: Vec<u8> },
}

/// Direction and length of a command's data.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Carried {
    None,
    In(usize),
    /// Data that was sent, of this length.
    Out(usize, Pieces),
}

/// Result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Came {
    Nvme { status: u16, result: u32 },
    Scsi { status: u8, transferred: usize, sense: Vec<u8> },
    Transport { host: u16, driver: u16 },
    Errno(i32),
}

/// Bytes at places; zero between them. So a length that a file claims costs nothing until bytes are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pieces(Vec<(usize, Vec<u8>)>);

impl Pieces {
    /// End offset of the last piece.
    fn end(&self) -> usize {
        self.0.last().map_or(0, |(at, bytes)| at + bytes.len())
    }

    /// Writes the pieces over `buffer`, which has room for them, and zero between them.
    fn spread(&self, buffer: &mut [u8]) {
        buffer.fill(0);
        for (at, bytes) in &self.0 {
            let end = (at + bytes.len()).min(buffer.len());
            if let Some(place) = buffer.get_mut(*at..end) {
                place.copy_from_slice(&bytes[..place.len()]);
            }
        }
    }

    /// True when `bytes` are these.
    fn is(&self, bytes: &[u8]) -> bool {
        let mut at = 0;
        let zero = |range: Option<&[u8]>| range.is_some_and(|r| r.iter().all(|b| *b == 0));
        for (start, piece) in &self.0 {
            if !zero(bytes.get(at..*start))
                || bytes.get(*start..*start + piece.len()) != Some(piece)
            {
                return false;
            }
            at = start + piece.len();
        }
        zero(bytes.get(at..))
    }
}

/// One command with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Exchange {
    /// Line number of the command, from 1.
    line: usize,
    sent: Sent,
    carried: Carried,
    came: Came,
    data: Pieces,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

impl std::fmt::Display for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Sent::Nvme { opcode, nsid, cdw10_to_15 } => {
                write!(f, "nvme {opcode:02x} nsid {nsid:08x} cdw")?;
                cdw10_to_15.iter().try_for_each(|word| write!(f, " {word:08x}"))
            }
            Sent::Scsi { cdb } => write!(f, "scsi {}", hex(cdb)),
        }
    }
}

impl std::fmt::Display for Carried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Carried::None => f.write_str("none"),
            Carried::In(bytes) => write!(f, "in {bytes}"),
            Carried::Out(bytes, _) => write!(f, "out {bytes}"),
        }
    }
}

impl std::fmt::Display for Came {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Came::Nvme { status, result } => write!(f, "nvme {status:04x} result {result:08x}"),
            Came::Scsi { status, transferred, sense } => {
                let sense = if sense.is_empty() { "none".to_owned() } else { hex(sense) };
                write!(f, "scsi {status:02x} transferred {transferred} sense {sense}")
            }
            Came::Transport { host, driver } => write!(f, "transport {host:04x} {driver:04x}"),
            Came::Errno(number) => write!(f, "errno {number}"),
        }
    }
}
