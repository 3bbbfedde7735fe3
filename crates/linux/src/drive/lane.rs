//! What the drives of all engines do alike: take requests, fill writes, sit on their CPU.

use std::io;

use block::{Bytes, DriveError, LaneSetup, Op, Payload, Request};

use super::pin::Pin;
use super::sys::slots::{Misuse, Slots};
use crate::target::{EngineKind, Opened};

/// One submitter's side of a drive.
pub(crate) struct Lane<'a> {
    name: &'a str,
    /// The submitter that this drive serves.
    pub submitter: u16,
    payload: Option<Box<dyn Payload>>,
    cpu: Option<usize>,
    pin: Option<Pin>,
}

impl<'a> Lane<'a> {
    /// A lane on the target that the user named `name`, to be held on `cpu` if there is one.
    pub fn new(name: &'a str, cpu: Option<usize>, submitter: u16, setup: &LaneSetup<'_>) -> Self {
        let payload = setup.payload.map(|make| make(submitter));
        Lane { name, submitter, payload, cpu, pin: None }
    }

    /// The lane of a submitter of an opened target.
    pub fn of(target: &'a Opened, submitter: u16, setup: &LaneSetup<'_>) -> Self {
        Lane::new(target.name(), target.cpu_of(submitter), submitter, setup)
    }

    /// Maps the buffers for `setup`.
    pub fn buffers(&self, setup: &LaneSetup<'_>, align: Bytes) -> Result<Slots, DriveError> {
        Slots::new(setup.depth, setup.block_bytes_max, align).map_err(|source| {
            let action = format!(
                "map {} buffers of {} for submitter {}",
                setup.depth, setup.block_bytes_max, self.submitter
            );
            self.setup_error(action, source, "take a smaller block, a lower depth or fewer threads")
        })
    }

    /// Settles on the calling thread: pinned, with its buffers present.
    pub fn attach(&mut self, slots: &mut Slots) -> Result<(), DriveError> {
        if let Some(cpu) = self.cpu {
            let pin = Pin::to(cpu).map_err(|source| {
                let action = format!("keep submitter {} on CPU {cpu}", self.submitter);
                self.setup_error(action, source, "name CPUs that are online and allowed to you")
            })?;
            self.pin = Some(pin);
        }
        slots.touch();
        Ok(())
    }

    /// Takes a request: claims its slot and, for a write, fills its buffer.
    #[inline]
    pub fn admit(&mut self, slots: &mut Slots, request: &Request) -> Result<(), DriveError> {
        let transfer = match request.op {
            Op::Read if request.fua => return Err(self.no_fua_read()),
            Op::Read | Op::Write => request.len,
            Op::Flush | Op::Discard => Bytes::ZERO,
        };
        slots.claim(request.slot, transfer).map_err(|misuse| self.misuse(request, misuse))?;
        if request.op == Op::Write {
            match &mut self.payload {
                Some(payload) => {
                    payload.fill(request.offset, slots.buffer_mut(request.slot, request.len));
                }
                None => {
                    slots.take_back(request.slot);
                    return Err(self.misuse(request, Misuse::NoPayload));
                }
            }
        }
        Ok(())
    }

    /// An error that ends the drive.
    #[cold]
    pub fn setup_error(&self, action: String, source: io::Error, remedy: &str) -> DriveError {
        DriveError::Setup {
            target: self.name.to_owned(),
            action,
            source,
            remedy: remedy.to_owned(),
        }
    }

    /// The kernel refused the engine as a whole.
    #[cold]
    pub fn engine_error(&self, kind: EngineKind, action: &str, source: io::Error) -> DriveError {
        let remedy = kind.remedy(&source);
        self.setup_error(format!("{action} ({kind})"), source, remedy)
    }

    #[cold]
    fn misuse(&self, request: &Request, misuse: Misuse) -> DriveError {
        let why = match misuse {
            Misuse::NoSuchSlot => "the step was opened with fewer slots",
            Misuse::Outstanding => "its last request has not completed",
            Misuse::TooLong => "it is longer than the step's largest block",
            Misuse::NoPayload => "the step was opened without data to write",
        };
        let action = format!("take {:?} of {} on slot {}", request.op, request.len, request.slot);
        self.setup_error(action, io::Error::new(io::ErrorKind::InvalidInput, why), "")
    }

    #[cold]
    fn no_fua_read(&self) -> DriveError {
        DriveError::Unsupported {
            target: self.name.to_owned(),
            op: Op::Read,
            why: "Linux has no read with force unit access short of SCSI or NVMe pass-through; \
                  leave fua off for reads"
                .to_owned(),
        }
    }
}
