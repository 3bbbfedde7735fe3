//! Writing a recording while commands go by.

use std::io::{self, Write};

use super::{Came, Carried, MAGIC, Pieces, Sent, VERSION};
use crate::passthrough::{
    CommandError, Commands, Data, NvmeCommand, NvmeStatus, ScsiAnswer, ScsiCommand,
};

/// Bytes of data on a line.
const LINE_BYTES: usize = 32;

/// Passes commands on to another [`Commands`] and writes each with its answer, as soon as it is there.
///
/// A failed write does not stop the commands; [`Recorder::finish`] reports it. A recording holds what the
/// drive says of itself, its serial number among it.
pub struct Recorder<C, W> {
    inner: C,
    out: W,
    trouble: Option<io::Error>,
}

impl<C: Commands, W: Write + Send> Recorder<C, W> {
    /// Begins a recording of what `inner`, a device of this kernel name, is asked. `protocol` is how it is spoken
    /// to: `nvme`, `ata` or `scsi`.
    pub fn new(inner: C, device: &str, protocol: &str, out: W) -> Recorder<C, W> {
        let mut recorder = Recorder { inner, out, trouble: None };
        recorder.line(&format!("{MAGIC} {VERSION}"));
        recorder.line(&format!("device {}", one_word(device)));
        recorder.line(&format!("protocol {}", one_word(protocol)));
        recorder
    }

    /// Notes which NVMe namespace the device is.
    pub fn namespace(&mut self, nsid: u32) {
        self.line(&format!("namespace {nsid:08x}"));
    }

    /// Ends it.
    ///
    /// # Errors
    /// The first thing that could not be written.
    pub fn finish(mut self) -> io::Result<()> {
        match self.trouble.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    fn line(&mut self, text: &str) {
        if self.trouble.is_none() {
            self.trouble = writeln!(self.out, "{text}").err();
        }
    }

    fn command(&mut self, sent: &Sent, data: &Data<'_>, name: &str) {
        let carried = match data {
            Data::None => Carried::None,
            Data::In(buffer) => Carried::In(buffer.len()),
            Data::Out(bytes) => Carried::Out(bytes.len(), Pieces::default()),
        };
        self.line(&format!("> {sent} {carried}  # {name}"));
        if let Data::Out(bytes) = data {
            self.data(bytes);
        }
    }

    fn data(&mut self, bytes: &[u8]) {
        for (index, row) in bytes.chunks(LINE_BYTES).enumerate() {
            let used = row.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            if used > 0 {
                let at = index * LINE_BYTES;
                self.line(&format!(". {at:04x} {}", super::hex(&row[..used])));
            }
        }
    }

    fn answer(&mut self, came: &Came, data: &[u8]) {
        self.line(&format!("< {came}"));
        self.data(data);
    }

    /// Records the result of a command that failed.
    fn failure(&mut self, error: &CommandError) {
        let came = match error {
            CommandError::Transport { host, driver, .. } => {
                Came::Transport { host: *host, driver: *driver }
            }
            CommandError::Nvme { status, .. } => Came::Nvme { status: status.0, result: 0 },
            CommandError::Kernel { source, .. } => {
                Came::Errno(source.raw_os_error().unwrap_or(libc::EIO))
            }
            // Nothing else comes from below.
            _ => Came::Errno(libc::EIO),
        };
        self.answer(&came, &[]);
    }
}

/// Names of devices have no white space; whatever else comes must not break the form.
fn one_word(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_whitespace() || c.is_control() || c == '#' { '_' } else { c })
        .collect()
}

fn delivered<'a>(data: &'a Data<'_>, transferred: usize) -> &'a [u8] {
    match data {
        Data::In(buffer) => &buffer[..transferred.min(buffer.len())],
        _ => &[],
    }
}

impl<C: Commands, W: Write + Send> Commands for Recorder<C, W> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn nvme_admin(
        &mut self,
        command: &NvmeCommand,
        mut data: Data<'_>,
    ) -> Result<u32, CommandError> {
        let sent = Sent::Nvme {
            opcode: command.opcode,
            nsid: command.nsid,
            cdw10_to_15: command.cdw10_to_15,
        };
        self.command(&sent, &data, command.name);
        let answer = self.inner.nvme_admin(command, data.again());
        match &answer {
            Ok(result) => {
                let came = Came::Nvme { status: NvmeStatus::SUCCESS.0, result: *result };
                self.answer(&came, delivered(&data, usize::MAX));
            }
            Err(error) => self.failure(error),
        }
        answer
    }

    fn scsi(
        &mut self,
        command: &ScsiCommand,
        mut data: Data<'_>,
    ) -> Result<ScsiAnswer, CommandError> {
        self.command(&Sent::Scsi { cdb: command.cdb.clone() }, &data, command.name);
        let answer = self.inner.scsi(command, data.again());
        match &answer {
            Ok(told) => {
                let came = Came::Scsi {
                    status: told.status,
                    transferred: told.transferred,
                    sense: told.sense.clone(),
                };
                self.answer(&came, delivered(&data, told.transferred));
            }
            Err(error) => self.failure(error),
        }
        answer
    }
}
