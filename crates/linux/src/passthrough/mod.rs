//! Commands in a drive's own language, past the block layer: NVMe admin commands, SCSI commands, and ATA commands
//! inside of SCSI ones.
//!
//! All of it goes through one small trait, [`Commands`], which has three implementations: [`Device`] asks the
//! kernel, [`Recorder`] writes down what another one was asked and what it answered, and [`Playback`] answers from
//! such a recording. So whatever is built upon it is tested without the hardware, and a recording that somebody
//! sends is as good as the drive.
//!
//! Nothing here judges whether a command is harmless. Code that sends one that changes anything holds the safety
//! gate's permit first, and sends it through the permit's own file ([`Device::from_file`]).

pub mod ata;
mod device;
mod ioctl;
pub mod nvme;
mod recorded;
pub mod scsi;

use std::io;
use std::path::PathBuf;

use thiserror::Error;

pub use ata::{AtaCommand, AtaProtocol, AtaRegisters};
pub use device::Device;
pub use nvme::{NvmeCommand, NvmeStatus};
pub use recorded::{Playback, Recorder, TraceError};
pub use scsi::{ScsiAnswer, ScsiCommand, Sense};

/// Data carried by a command.
#[derive(Debug)]
pub enum Data<'a> {
    /// Nothing.
    None,
    /// The drive fills this. Where it delivers less, what lies behind is as it was.
    In(&'a mut [u8]),
    /// The drive takes this.
    Out(&'a [u8]),
}

impl Data<'_> {
    /// Bytes carried, in either direction.
    pub fn len(&self) -> usize {
        match self {
            Data::None => 0,
            Data::In(buffer) => buffer.len(),
            Data::Out(bytes) => bytes.len(),
        }
    }

    /// True when nothing is carried.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same data, for one call more.
    pub fn again(&mut self) -> Data<'_> {
        match self {
            Data::None => Data::None,
            Data::In(buffer) => Data::In(buffer),
            Data::Out(bytes) => Data::Out(bytes),
        }
    }
}

/// Something that takes commands in a drive's own language, one at a time.
pub trait Commands: Send {
    /// Name in errors: path of the device or of the recording.
    fn name(&self) -> &str;

    /// Sends an NVMe admin command and waits for its end. The answer is dword 0 of the completion.
    ///
    /// # Errors
    /// [`CommandError::Nvme`] with the drive's status; [`CommandError::Kernel`] when the command did not reach it.
    fn nvme_admin(&mut self, command: &NvmeCommand, data: Data<'_>) -> Result<u32, CommandError>;

    /// Sends a SCSI command and waits for its end, whatever that is: [`ScsiAnswer::good`] makes an error of anything
    /// but the status GOOD.
    ///
    /// # Errors
    /// [`CommandError::Kernel`] and [`CommandError::Transport`] when the command did not reach the drive.
    fn scsi(&mut self, command: &ScsiCommand, data: Data<'_>) -> Result<ScsiAnswer, CommandError>;

    /// Sends an ATA command inside of a SCSI one (SAT, ATA PASS-THROUGH (16)) and waits for its end. The answer is
    /// the content of the drive's registers afterwards; all zero after one that carried data.
    ///
    /// # Errors
    /// [`CommandError::Ata`] when the drive has set the error bit or the fault bit; those of [`Commands::scsi`];
    /// [`CommandError::Scsi`] when what is between us and the drive knows no ATA.
    fn ata(&mut self, command: &AtaCommand, data: Data<'_>) -> Result<AtaRegisters, CommandError> {
        ata::send(self, command, data)
    }
}

impl<C: Commands + ?Sized> Commands for Box<C> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn nvme_admin(&mut self, command: &NvmeCommand, data: Data<'_>) -> Result<u32, CommandError> {
        (**self).nvme_admin(command, data)
    }

    fn scsi(&mut self, command: &ScsiCommand, data: Data<'_>) -> Result<ScsiAnswer, CommandError> {
        (**self).scsi(command, data)
    }
}

/// Why a command did not do what it should.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The kernel did not pass it on.
    #[error("{device}: {command}: {source}{}", advice(.source))]
    Kernel {
        /// [`Commands::name`].
        device: String,
        /// The command's name.
        command: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// An NVMe drive refused it, or failed at it.
    #[error("{device}: {command}: {status}")]
    Nvme {
        /// [`Commands::name`].
        device: String,
        /// The command's name.
        command: &'static str,
        /// The drive's answer.
        status: NvmeStatus,
    },
    /// An ATA drive refused it, or failed at it.
    #[error("{device}: {command}: {registers}")]
    Ata {
        /// [`Commands::name`].
        device: String,
        /// The command's name.
        command: &'static str,
        /// The drive's answer.
        registers: AtaRegisters,
    },
    /// A SCSI drive, or a bridge that speaks SCSI for it, refused it or failed at it.
    #[error("{device}: {command}: {}", scsi::words(*.status, .sense))]
    Scsi {
        /// [`Commands::name`].
        device: String,
        /// The command's name.
        command: &'static str,
        /// The status byte, such as 02h for CHECK CONDITION.
        status: u8,
        /// Sense data, if there was any.
        sense: Option<Sense>,
    },
    /// It was lost between the kernel and the drive.
    #[error("{device}: {command}: {}", scsi::transport_words(*.host, *.driver))]
    Transport {
        /// [`Commands::name`].
        device: String,
        /// The command's name.
        command: &'static str,
        /// The kernel's host byte (`DID_…`).
        host: u16,
        /// The kernel's driver byte.
        driver: u16,
    },
    /// A drive's answer came and is not what such an answer is.
    #[error("{device}: {command}: {why}")]
    Answer {
        /// [`Commands::name`].
        device: String,
        /// The command's name.
        command: &'static str,
        /// Description of the defect.
        why: String,
    },
    /// A recording has no answer to it.
    #[error("{}: line {line}: {why}", .file.display())]
    Playback {
        /// The recording.
        file: PathBuf,
        /// Line number in it, from 1.
        line: usize,
        /// Command that was sent, and the recorded one instead.
        why: String,
    },
}

impl CommandError {
    /// True when the kernel did not permit it: another user may get an answer.
    pub fn is_permission(&self) -> bool {
        matches!(self, CommandError::Kernel { source, .. }
            if matches!(source.raw_os_error(), Some(libc::EACCES | libc::EPERM)))
    }

    /// True when the drive, or what speaks for it, says that it does not know the command or a field of it.
    pub fn is_unsupported(&self) -> bool {
        match self {
            CommandError::Kernel { source, .. } => {
                // Some drivers, such as loop, answer EINVAL to an ioctl that they do not know.
                let unknown = [libc::ENOTTY, libc::EOPNOTSUPP, libc::EINVAL];
                source.raw_os_error().is_some_and(|number| unknown.contains(&number))
            }
            CommandError::Nvme { status, .. } => status.is_unsupported(),
            CommandError::Ata { registers, .. } => registers.is_abort(),
            CommandError::Scsi { sense, .. } => {
                sense.as_ref().is_some_and(Sense::is_illegal_request)
            }
            _ => false,
        }
    }
}

/// Advice on an error from the kernel.
fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            " (a drive's own commands are for root: CAP_SYS_ADMIN for NVMe, CAP_SYS_RAWIO for SCSI and ATA)"
        }
        Some(libc::ENOTTY) => " (its driver takes no such commands)",
        Some(libc::EINVAL) => " (its driver takes no such commands, or not in this form)",
        Some(libc::ENODEV | libc::ENXIO) => " (the drive has gone)",
        Some(libc::EINTR) => " (a signal ended the wait; the drive may still be at it)",
        _ => "",
    }
}
