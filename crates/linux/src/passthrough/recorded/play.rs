//! Answering from a recording.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Came, Carried, Exchange, Sent, TraceError, parse};
use crate::passthrough::{
    CommandError, Commands, Data, NvmeCommand, NvmeStatus, ScsiAnswer, ScsiCommand,
};

/// Longest file that is read: some hundred times what a drive's health takes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Answers commands as a recording has them: in its order, byte for byte, and nothing else.
#[derive(Debug)]
pub struct Playback {
    path: PathBuf,
    name: String,
    device: String,
    protocol: String,
    namespace: Option<u32>,
    exchanges: VecDeque<Exchange>,
    /// Line number of the last exchange.
    line: usize,
}

impl Playback {
    /// Reads a recording.
    ///
    /// # Errors
    /// [`TraceError`], with the line where the file's form is left.
    pub fn open(path: &Path) -> Result<Playback, TraceError> {
        let fail = |source| TraceError::Io { path: path.to_owned(), source };
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(fail)?;
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(fail)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            let why = format!("is longer than {FILE_BYTES_MAX} bytes: no recording of commands is");
            return Err(TraceError::form(path, 1, why));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..good].iter().filter(|b| **b == b'\n').count() + 1;
            TraceError::form(path, line, "is not text")
        })?;
        Playback::from_text(path, &text)
    }

    /// Reads a recording that is there already; `path` is what errors call it.
    ///
    /// # Errors
    /// [`TraceError::Form`].
    pub fn from_text(path: &Path, text: &str) -> Result<Playback, TraceError> {
        let parsed = parse::parse(path, text)?;
        Ok(Playback {
            path: path.to_owned(),
            name: path.display().to_string(),
            device: parsed.device,
            protocol: parsed.protocol,
            namespace: parsed.namespace,
            exchanges: parsed.exchanges.into(),
            line: 1,
        })
    }

    /// Kernel name of the device that was recorded.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// How it was spoken to.
    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// Namespace of the device that was recorded, where that was known.
    pub fn namespace(&self) -> Option<u32> {
        self.namespace
    }

    /// Commands that have not been asked yet.
    pub fn remaining(&self) -> usize {
        self.exchanges.len()
    }

    fn next(&mut self, asked: &Sent, data: &Data<'_>) -> Result<Exchange, CommandError> {
        let way = match data {
            Data::None => "none".to_owned(),
            Data::In(buffer) => format!("in {}", buffer.len()),
            Data::Out(bytes) => format!("out {}", bytes.len()),
        };
        let fail = |line, why| CommandError::Playback { file: self.path.clone(), line, why };
        let Some(recorded) = self.exchanges.front() else {
            let why = format!("the recording has ended, and `{asked} {way}` is asked");
            return Err(fail(self.line, why));
        };
        let line = recorded.line;
        if recorded.sent != *asked || recorded.carried.to_string() != way {
            let Exchange { sent, carried, .. } = recorded;
            let why = format!("`{sent} {carried}` is recorded, and `{asked} {way}` is asked");
            return Err(fail(line, why));
        }
        if let (Carried::Out(_, pieces), Data::Out(bytes)) = (&recorded.carried, data)
            && !pieces.is(bytes)
        {
            let why = format!("`{asked} {way}` is asked with other data than was recorded");
            return Err(fail(line, why));
        }
        self.line = line;
        self.exchanges.pop_front().ok_or_else(|| CommandError::Playback {
            file: self.path.clone(),
            line,
            why: "the recording has ended".to_owned(),
        })
    }

    fn kernel(&self, command: &'static str, number: i32) -> CommandError {
        let source = std::io::Error::from_raw_os_error(number);
        CommandError::Kernel { device: self.name.clone(), command, source }
    }
}

impl Commands for Playback {
    fn name(&self) -> &str {
        &self.name
    }

    fn nvme_admin(&mut self, command: &NvmeCommand, data: Data<'_>) -> Result<u32, CommandError> {
        let NvmeCommand { opcode, nsid, cdw10_to_15, .. } = *command;
        let exchange = self.next(&Sent::Nvme { opcode, nsid, cdw10_to_15 }, &data)?;
        let (device, command) = (self.name.clone(), command.name);
        match exchange.came {
            Came::Nvme { status: 0, result } => {
                if let Data::In(buffer) = data {
                    exchange.data.spread(buffer);
                }
                Ok(result)
            }
            Came::Nvme { status, .. } => {
                Err(CommandError::Nvme { device, command, status: NvmeStatus(status) })
            }
            Came::Errno(number) => Err(self.kernel(command, number)),
            Came::Transport { host, driver } => {
                Err(CommandError::Transport { device, command, host, driver })
            }
            Came::Scsi { .. } => Err(self.kernel(command, libc::EIO)),
        }
    }

    fn scsi(&mut self, command: &ScsiCommand, data: Data<'_>) -> Result<ScsiAnswer, CommandError> {
        let exchange = self.next(&Sent::Scsi { cdb: command.cdb.clone() }, &data)?;
        let (device, command) = (self.name.clone(), command.name);
        match exchange.came {
            Came::Scsi { status, transferred, sense } => {
                if let Data::In(buffer) = data {
                    let room = buffer.len().min(transferred);
                    exchange.data.spread(&mut buffer[..room]);
                }
                Ok(ScsiAnswer { status, sense, transferred })
            }
            Came::Errno(number) => Err(self.kernel(command, number)),
            Came::Transport { host, driver } => {
                Err(CommandError::Transport { device, command, host, driver })
            }
            Came::Nvme { .. } => Err(self.kernel(command, libc::EIO)),
        }
    }
}
