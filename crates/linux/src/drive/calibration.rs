//! The tester's own limit, measured through the kernel: the engine's real system calls on a device that
//! costs nothing.

use std::fs::{File, Metadata, OpenOptions as FileOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use block::{
    Bytes, Completion, Drive, DriveError, DriveInfo, LaneSetup, Nanos, Op, Outcome, Request,
    Target, Time,
};
use rustix::fs::{major, minor};

use super::null::{self, NullDrive, NullTarget};
use super::{Aio, AioDrive, Engine as _, Psync, PsyncDrive, Uring, UringDrive, clock, sleep};
use crate::descriptors;
use crate::target::{EngineKind, Opened};

/// The device that costs nothing, and its number (`mem(4)`).
const NOTHING: &str = "/dev/null";
const NOTHING_NUMBER: (u32, u32) = (1, 3);

/// Upper limit of a plan with the same engine: `/dev/null`, driven with the engine's own system calls. A
/// result near this limit says more about the tester than about the drive.
///
/// [`NullTarget`] makes no system call, so it leaves out the cost of entering the kernel. Here a request
/// enters the kernel and returns: only filesystem, page cache and device are missing, and no data is
/// copied. `/dev/null` reads nothing and has neither flushes nor discards; each is requested with the
/// call that the engine would make, and its answer counted as success. One case remains optimistic: a
/// discard of a block device by io_uring, which becomes the call for a file here.
///
/// Rejected: `/dev/zero`, whose reads clear the buffer, so that a large block would measure memory; a
/// `NOP` of io_uring, which the other engines do not have and which bypasses the file; and a loop
/// device or `null_blk`, which need privileges and a module.
///
/// ```no_run
/// use block::Bytes;
/// use drivescope_linux::target::{Calibration, EngineKind};
///
/// # fn ceiling<T: block::Target>(_: &mut T) {}
/// // The target's own size, so that addresses and their audit cost what they cost there.
/// let mut nothing = Calibration::new(EngineKind::IoUring, Bytes::gib(32), None);
/// ceiling(&mut nothing);
/// ```
pub struct Calibration(Way);

enum Way {
    Kernel(Opened),
    Pure(NullTarget),
}

impl Calibration {
    /// A target of `capacity` for `engine`, with submitter i on `cpus[i % n]` as
    /// [`crate::target::OpenOptions::pin_cpus`] has it.
    ///
    /// Where `/dev/null` cannot be opened or is something else, as in a bare chroot, or `engine` cannot
    /// be had, it is a [`NullTarget`]; see [`Calibration::through_kernel`].
    pub fn new(engine: EngineKind, capacity: Bytes, cpus: Option<Vec<usize>>) -> Calibration {
        Calibration(match super::probe(engine).and_then(|()| nothing()) {
            Ok(file) => Way::Kernel(Opened::nothing(file, null::info(capacity), engine, cpus)),
            Err(_) => Way::Pure(NullTarget::new(capacity).pin_cpus(cpus.unwrap_or_default())),
        })
    }

    /// True when requests go through the kernel; false when this is a [`NullTarget`], and its limit
    /// that of the tester's user side alone.
    pub fn through_kernel(&self) -> bool {
        matches!(self.0, Way::Kernel(_))
    }
}

/// Opens the device, and makes sure that writes to it go nowhere.
fn nothing() -> io::Result<File> {
    let file = FileOptions::new().read(true).write(true).open(NOTHING)?;
    if is_nothing(&file.metadata()?) { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// The number alone is not enough: the block device with the same one is a disk in memory.
fn is_nothing(of: &Metadata) -> bool {
    let number = (major(of.rdev()), minor(of.rdev()));
    of.file_type().is_char_device() && number == NOTHING_NUMBER
}

impl Target for Calibration {
    type Drive<'a> = CalibrationDrive<'a>;

    fn info(&self) -> &DriveInfo {
        match &self.0 {
            Way::Kernel(opened) => opened.info(),
            Way::Pure(null) => null.info(),
        }
    }

    fn now(&self) -> Time {
        clock::now()
    }

    fn pause(&mut self, span: Nanos) {
        sleep(span);
    }

    /// A limit that was measured without what the kernel refused is not the limit of runs that had it.
    fn notes(&self) -> Vec<String> {
        match &self.0 {
            Way::Kernel(opened) => opened.notes(),
            Way::Pure(_) => Vec::new(),
        }
    }

    fn open<'a>(
        &'a mut self,
        setup: &LaneSetup<'_>,
    ) -> Result<Vec<CalibrationDrive<'a>>, DriveError> {
        let opened = match &mut self.0 {
            Way::Kernel(opened) => &*opened,
            Way::Pure(null) => {
                let drives = null.open(setup)?.into_iter();
                return Ok(drives.map(|drive| CalibrationDrive(Through::Null(drive))).collect());
            }
        };
        descriptors::check("the tester's own limit", opened.options().engine, setup.submitters)?;
        let open = |submitter| {
            let drive = match opened.options().engine {
                EngineKind::IoUring => {
                    Through::Uring(Granted::new(Uring::open(opened, submitter, setup)?, setup))
                }
                EngineKind::Libaio => {
                    Through::Aio(Granted::new(Aio::open(opened, submitter, setup)?, setup))
                }
                EngineKind::Psync => {
                    Through::Psync(Granted::new(Psync::open(opened, submitter, setup)?, setup))
                }
            };
            Ok(CalibrationDrive(drive))
        };
        (0..setup.submitters).map(open).collect()
    }
}

/// One submitter of a [`Calibration`].
pub struct CalibrationDrive<'a>(Through<'a>);

/// Distinguished once a call, that is, once a batch: far below what can be measured, and one type for
/// the caller instead of four.
#[expect(clippy::large_enum_variant, reason = "one a submitter, and read at each call")]
enum Through<'a> {
    Uring(Granted<UringDrive<'a>>),
    Aio(Granted<AioDrive<'a>>),
    Psync(Granted<PsyncDrive<'a>>),
    Null(NullDrive<'a>),
}

/// Calls `$body` with the drive that there is.
macro_rules! with {
    ($through:expr, $drive:ident => $body:expr) => {
        match $through {
            Through::Uring($drive) => $body,
            Through::Aio($drive) => $body,
            Through::Psync($drive) => $body,
            Through::Null($drive) => $body,
        }
    };
}

impl Drive for CalibrationDrive<'_> {
    fn attach(&mut self) -> Result<(), DriveError> {
        with!(&mut self.0, drive => drive.attach())
    }

    fn now(&self) -> Time {
        clock::now()
    }

    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        with!(&mut self.0, drive => drive.submit(requests))
    }

    #[inline]
    fn has_room(&self, len: Bytes) -> bool {
        with!(&self.0, drive => drive.has_room(len))
    }

    #[inline]
    fn foresee(&mut self, next: &Request) {
        with!(&mut self.0, drive => drive.foresee(next));
    }

    #[inline]
    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        with!(&mut self.0, drive => drive.wait_until(until, done))
    }
}

/// A drive on the device that costs nothing, whose answers are made those of one that served.
struct Granted<D> {
    drive: D,
    /// Result that each slot's request completes with.
    answers: Box<[i32]>,
}

impl<D> Granted<D> {
    fn new(drive: D, setup: &LaneSetup<'_>) -> Granted<D> {
        Granted { drive, answers: vec![0; usize::from(setup.depth)].into_boxed_slice() }
    }
}

impl<D: Drive> Drive for Granted<D> {
    fn attach(&mut self) -> Result<(), DriveError> {
        self.drive.attach()
    }

    fn now(&self) -> Time {
        self.drive.now()
    }

    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        for request in requests {
            if let Some(answer) = self.answers.get_mut(usize::from(request.slot)) {
                *answer = match request.op {
                    Op::Read | Op::Write => request.len.0 as i32,
                    Op::Flush | Op::Discard => 0,
                };
            }
        }
        self.drive.submit(requests)
    }

    #[inline]
    fn has_room(&self, len: Bytes) -> bool {
        self.drive.has_room(len)
    }

    #[inline]
    fn foresee(&mut self, next: &Request) {
        self.drive.foresee(next);
    }

    #[inline]
    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        let before = done.len();
        let now = self.drive.wait_until(until, done)?;
        for completion in &mut done[before..] {
            let answer = self.answers.get(usize::from(completion.slot));
            completion.outcome = answer.map_or(completion.outcome, |&answer| Outcome(answer));
        }
        Ok(now)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

    use super::*;

    // Everything that the tester's own limit is measured with is written to it.
    #[test]
    fn only_the_device_that_costs_nothing_is_taken_for_it() {
        let is = |path: &Path| is_nothing(&std::fs::metadata(path).unwrap());
        assert!(is(Path::new(NOTHING)));
        assert!(!is(Path::new("/dev/zero")) && !is(Path::new("/proc/self/exe")));
        let ram = std::env::temp_dir().join(format!("drivescope-ram3-{}", std::process::id()));
        let number = makedev(NOTHING_NUMBER.0, NOTHING_NUMBER.1);
        match mknodat(CWD, &ram, FileType::BlockDevice, Mode::RUSR, number) {
            Ok(()) => {
                let taken = is(&ram);
                std::fs::remove_file(&ram).unwrap();
                assert!(!taken, "a block device was taken for {NOTHING}");
            }
            Err(error) => println!("skipped in part: no block device can be made here: {error}"),
        }
    }
}
