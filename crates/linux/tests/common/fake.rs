//! A drive made of answers: whatever a test wants it to say, and a list of what it was asked.

use std::sync::{Arc, Mutex};

use drivescope_linux::passthrough::{
    CommandError, Commands, Data, NvmeCommand, NvmeStatus, ScsiAnswer, ScsiCommand,
};

type NvmeAnswers = Box<dyn FnMut(&NvmeCommand) -> Result<Vec<u8>, u16> + Send>;
type ScsiAnswers = Box<dyn FnMut(&[u8]) -> Result<Vec<u8>, ScsiAnswer> + Send>;

/// The drive.
pub struct Fake {
    nvme: NvmeAnswers,
    scsi: ScsiAnswers,
    asked: Arc<Mutex<Vec<String>>>,
}

/// Sense data of a command that is not known.
pub const UNKNOWN: [u8; 18] = [0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0];

/// A drive's answer to a SCSI command that it does not support.
pub fn unknown() -> ScsiAnswer {
    ScsiAnswer { status: 2, sense: UNKNOWN.to_vec(), transferred: 0 }
}

/// Answer to an ATA command that ended with these registers.
pub fn registers(status: u8, error: u8, count: u8, lba: u32) -> ScsiAnswer {
    let [low, middle, high, _] = lba.to_le_bytes();
    let mut sense = vec![0x72, 1, 0, 0x1d, 0, 0, 0, 14, 9, 12, 0, error, 0, count];
    sense.extend([0, low, 0, middle, 0, high, 0x40, status]);
    ScsiAnswer { status: 2, sense, transferred: 0 }
}

impl Fake {
    /// An NVMe drive: data, or a status.
    pub fn nvme(
        answers: impl FnMut(&NvmeCommand) -> Result<Vec<u8>, u16> + Send + 'static,
    ) -> Fake {
        let scsi = Box::new(|_: &[u8]| Err(unknown()));
        Fake { nvme: Box::new(answers), scsi, asked: Arc::default() }
    }

    /// A SCSI drive, or an ATA drive behind one: data, or what else comes.
    pub fn scsi(
        answers: impl FnMut(&[u8]) -> Result<Vec<u8>, ScsiAnswer> + Send + 'static,
    ) -> Fake {
        Fake { nvme: Box::new(|_| Err(1)), scsi: Box::new(answers), asked: Arc::default() }
    }

    /// Names of the commands sent so far; still available when the drive is given away.
    pub fn asked(&self) -> Arc<Mutex<Vec<String>>> {
        Arc::clone(&self.asked)
    }
}

impl Commands for Fake {
    fn name(&self) -> &str {
        "fake"
    }

    fn nvme_admin(&mut self, command: &NvmeCommand, data: Data<'_>) -> Result<u32, CommandError> {
        self.asked.lock().unwrap().push(command.name.to_owned());
        let fail = |status| CommandError::Nvme {
            device: "fake".to_owned(),
            command: command.name,
            status: NvmeStatus(status),
        };
        let answer = (self.nvme)(command).map_err(fail)?;
        if let Data::In(buffer) = data {
            buffer.fill(0);
            let length = buffer.len().min(answer.len());
            buffer[..length].copy_from_slice(&answer[..length]);
        }
        Ok(0)
    }

    fn scsi(&mut self, command: &ScsiCommand, data: Data<'_>) -> Result<ScsiAnswer, CommandError> {
        self.asked.lock().unwrap().push(command.name.to_owned());
        let answer = match (self.scsi)(&command.cdb) {
            Ok(answer) => answer,
            Err(answer) => return Ok(answer),
        };
        let Data::In(buffer) = data else { return Ok(ScsiAnswer::default()) };
        let transferred = buffer.len().min(answer.len());
        buffer[..transferred].copy_from_slice(&answer[..transferred]);
        Ok(ScsiAnswer { transferred, ..ScsiAnswer::default() })
    }
}
