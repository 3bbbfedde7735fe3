//! A drive of this machine, asked through the kernel.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::ioctl::{self, PassthruCommand};
use super::{CommandError, Commands, Data, NvmeCommand, NvmeStatus, ScsiAnswer, ScsiCommand};

/// A block device, or the character device of an NVMe controller, that takes commands.
#[derive(Debug)]
pub struct Device {
    name: String,
    file: File,
}

impl Device {
    /// Opens a device to ask it for something: for reading, since closing a descriptor that could write makes udev
    /// look at the whole device again, and without waiting for a medium.
    ///
    /// The kernel resumes a suspended device when it is opened. A caller that must not wake it reads
    /// `power/runtime_status` before.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn open(path: &Path) -> io::Result<Device> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        Ok(Device::from_file(file, &path.display().to_string()))
    }

    /// A device that is open, such as for exclusive use. `name` is what it is called in errors.
    pub fn from_file(file: File, name: &str) -> Device {
        Device { name: name.to_owned(), file }
    }

    fn kernel(&self, command: &'static str, source: io::Error) -> CommandError {
        CommandError::Kernel { device: self.name.clone(), command, source }
    }
}

impl Commands for Device {
    fn name(&self) -> &str {
        &self.name
    }

    fn nvme_admin(&mut self, command: &NvmeCommand, data: Data<'_>) -> Result<u32, CommandError> {
        if !command.carries(&data) {
            let why = io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("opcode {:02x}h does not carry data that way", command.opcode),
            );
            return Err(self.kernel(command.name, why));
        }
        let mut form = PassthruCommand::of(command);
        let status = ioctl::nvme_admin(&self.file, &mut form, data)
            .map_err(|source| self.kernel(command.name, source))?;
        match NvmeStatus(status) {
            NvmeStatus::SUCCESS => Ok(form.result),
            status => {
                Err(CommandError::Nvme { device: self.name.clone(), command: command.name, status })
            }
        }
    }

    fn scsi(&mut self, command: &ScsiCommand, data: Data<'_>) -> Result<ScsiAnswer, CommandError> {
        let answer = ioctl::sg_io(&self.file, &command.cdb, data, command.timeout_ms)
            .map_err(|source| self.kernel(command.name, source))?;
        ScsiAnswer::arrived(
            ScsiAnswer {
                status: answer.status,
                sense: answer.sense,
                transferred: answer.transferred,
            },
            (answer.host, answer.driver),
            &self.name,
            command.name,
        )
    }
}
