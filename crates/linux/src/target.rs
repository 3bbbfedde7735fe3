//! Targets: a file or a block device, opened for measuring, and the engine to measure it with.
//!
//! [`RealTarget::open`] (or [`RealTarget::from_file`], for a descriptor that the safety gate already
//! holds) finds out what the target is; [`RealTarget::engine`] gives it one of the engines. The caller
//! matches on [`AnyTarget`] once, and from there on everything is compiled for that engine alone.

mod error;
mod geometry;
mod opened;
mod options;

use std::fs::{File, OpenOptions as FileOptions};
use std::marker::PhantomData;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;

use block::{Bytes, DriveError, DriveInfo, DriveKind, LaneSetup, Nanos, Target, Time};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::descriptors;
use crate::drive::{Aio, Engine, Psync, Uring, now, sleep};

pub use crate::drive::{
    AioDrive, Buffers, Calibration, CalibrationDrive, NullDrive, NullTarget, PsyncDrive, UringDrive,
};
pub use block::EngineKind;
pub use error::TargetError;
pub(crate) use error::engine_remedy;
pub use geometry::Alignment;
use geometry::Geometry;
pub(crate) use opened::{Opened, cpu_of};
pub use options::{Access, OpenOptions};

/// A file or block device that was opened and looked at, but has no engine yet.
pub struct RealTarget {
    opened: Opened,
}

impl RealTarget {
    /// Opens `path`.
    ///
    /// # Errors
    /// [`TargetError`], for each way in which a path is not what can be measured as asked.
    pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<RealTarget, TargetError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        // Looked at before it is opened: opening a FIFO waits, and opening a tape rewinds it.
        let metadata =
            std::fs::metadata(path).map_err(|e| TargetError::opening(&name, &options, e))?;
        let is_device =
            geometry::check_type(&name, metadata.file_type())? == DriveKind::BlockDevice;
        let mut flags = OFlags::empty();
        flags.set(OFlags::DIRECT, options.direct);
        flags.set(OFlags::DSYNC, options.dsync);
        flags.set(OFlags::EXCL, options.exclusive && is_device);
        let file = FileOptions::new()
            .read(true)
            .write(options.access == Access::ReadWrite)
            .custom_flags(flags.bits() as i32)
            .open(path)
            .map_err(|e| TargetError::opening(&name, &options, e))?;
        let target = RealTarget::adopt(file, &name, options)?;
        if target.opened.options.direct && !target.is_direct()? {
            // Not switched on by other means: what took it away would do so again, and the I/O that reaches the
            // device shows that the page cache is in use.
            target.opened.note("direct I/O was asked for and is not in force".to_owned());
        }
        Ok(target)
    }

    /// Takes over a descriptor that is already open, such as the safety gate's, and holds it for as
    /// long as the target lives. `name` is what the user called it. `options.exclusive` is the
    /// opener's business and ignored.
    ///
    /// Direct I/O is switched on or off as asked. `O_DSYNC` cannot be switched on an open descriptor:
    /// where it is missing each write is given the same meaning by itself (`RWF_DSYNC`).
    ///
    /// # Errors
    /// [`TargetError`]: it is not a file or block device, has no content, is not open for what is asked, or does no
    /// direct I/O.
    pub fn from_file(
        file: File,
        name: &str,
        options: OpenOptions,
    ) -> Result<RealTarget, TargetError> {
        let mut flags = fcntl_getfl(&file).map_err(TargetError::io(name, "read the flags of"))?;
        if flags.contains(OFlags::DIRECT) != options.direct {
            flags.set(OFlags::DIRECT, options.direct);
            fcntl_setfl(&file, flags)
                .map_err(|error| TargetError::opening(name, &options, error.into()))?;
        }
        RealTarget::adopt(file, name, options)
    }

    /// Takes over a descriptor with the flags that it has.
    fn adopt(file: File, name: &str, options: OpenOptions) -> Result<RealTarget, TargetError> {
        if options.iopoll && (options.engine != EngineKind::IoUring || !options.direct) {
            return Err(TargetError::PollNeedsRing { path: name.to_owned() });
        }
        let flags = fcntl_getfl(&file).map_err(TargetError::io(name, "read the flags of"))?;
        let writable = flags & OFlags::RWMODE == OFlags::RDWR;
        if options.access == Access::ReadWrite && !writable {
            return Err(TargetError::NotOpenForWriting { path: name.to_owned() });
        }
        let geometry = Geometry::of(&file, name, options.direct)?;
        let opened = Opened {
            info: geometry.info(name),
            alignment: geometry.alignment,
            dsync_each_write: options.dsync && !flags.contains(OFlags::DSYNC),
            file,
            options,
            notes: Mutex::default(),
        };
        Ok(RealTarget { opened })
    }

    fn is_direct(&self) -> Result<bool, TargetError> {
        let flags = fcntl_getfl(&self.opened.file)
            .map_err(TargetError::io(self.opened.name(), "read the flags of"))?;
        Ok(flags.contains(OFlags::DIRECT))
    }

    /// Description of the target.
    pub fn info(&self) -> &DriveInfo {
        &self.opened.info
    }

    /// Lets the caller add what only it knows: model, serial, cache, link.
    pub fn describe(&mut self, fill: impl FnOnce(&mut DriveInfo)) {
        fill(&mut self.opened.info);
    }

    /// Alignment of memory and offsets in transfers.
    pub fn alignment(&self) -> Alignment {
        self.opened.alignment
    }

    /// The open file, for counters that need a descriptor.
    pub fn file(&self) -> &File {
        &self.opened.file
    }

    /// The same open file or device once more.
    ///
    /// # Errors
    /// [`TargetError::Io`] when the kernel has no descriptor left.
    pub fn try_clone(&self) -> Result<RealTarget, TargetError> {
        let name = self.opened.name();
        let file = self.opened.file.try_clone().map_err(TargetError::io(name, "keep open"))?;
        let mut same = RealTarget::adopt(file, name, self.opened.options.clone())?;
        same.describe(|told| told.clone_from(&self.opened.info));
        Ok(same)
    }

    /// The same open file or device with `engine`, beside what this one becomes.
    ///
    /// # Errors
    /// As [`RealTarget::try_clone`] and [`RealTarget::engine`], and when only another engine does what is asked, as
    /// polling.
    pub fn again(&self, engine: EngineKind) -> Result<AnyTarget, TargetError> {
        if self.opened.options.iopoll && engine != EngineKind::IoUring {
            return Err(TargetError::PollNeedsRing { path: self.opened.name().to_owned() });
        }
        let mut same = self.try_clone()?;
        same.opened.options.engine = engine;
        same.engine()
    }

    /// Gives the target the engine that its options name, after asking the kernel whether it can be
    /// used here.
    ///
    /// # Errors
    /// [`TargetError::Engine`] when it cannot, with the engine to use instead.
    pub fn engine(self) -> Result<AnyTarget, TargetError> {
        Ok(match self.opened.options.engine {
            EngineKind::IoUring => AnyTarget::IoUring(self.with_engine()?),
            EngineKind::Libaio => AnyTarget::Libaio(self.with_engine()?),
            EngineKind::Psync => AnyTarget::Psync(self.with_engine()?),
        })
    }

    /// Gives the target the engine `E`, whatever its options name.
    ///
    /// # Errors
    /// As [`RealTarget::engine`].
    pub fn with_engine<E: Engine>(self) -> Result<EngineTarget<E>, TargetError> {
        let mut opened = self.opened;
        E::probe().map_err(|source| TargetError::Engine {
            path: opened.name().to_owned(),
            engine: E::KIND,
            remedy: engine_remedy(E::KIND, &source),
            source,
        })?;
        opened.options.engine = E::KIND;
        Ok(EngineTarget { opened, engine: PhantomData })
    }
}

/// Length of the file or block device at `path`, which is only opened for reading.
///
/// # Errors
/// As [`RealTarget::open`].
pub fn size_of(path: &Path) -> Result<Bytes, TargetError> {
    let options = OpenOptions { direct: false, ..OpenOptions::default() };
    Ok(RealTarget::open(path, options)?.info().capacity_bytes)
}

/// A target with its engine: match once, then everything below is compiled for that engine.
pub enum AnyTarget {
    /// With io_uring.
    IoUring(UringTarget),
    /// With libaio.
    Libaio(AioTarget),
    /// With psync.
    Psync(PsyncTarget),
}

/// A real target measured with engine `E`: a drive, that is a thread's worth, for each submitter.
pub struct EngineTarget<E> {
    opened: Opened,
    engine: PhantomData<E>,
}

/// A real target measured with io_uring.
pub type UringTarget = EngineTarget<Uring>;
/// A real target measured with libaio.
pub type AioTarget = EngineTarget<Aio>;
/// A real target measured with psync.
pub type PsyncTarget = EngineTarget<Psync>;

impl<E: Engine> EngineTarget<E> {
    /// Lets the caller add what only it knows: model, serial, cache, link.
    pub fn describe(&mut self, fill: impl FnOnce(&mut DriveInfo)) {
        fill(&mut self.opened.info);
    }

    /// Alignment of memory and offsets in transfers.
    pub fn alignment(&self) -> Alignment {
        self.opened.alignment
    }

    /// The open file, for counters that need a descriptor.
    pub fn file(&self) -> &File {
        &self.opened.file
    }
}

impl<E: Engine> Target for EngineTarget<E> {
    type Drive<'a> = E::Drive<'a>;

    fn info(&self) -> &DriveInfo {
        &self.opened.info
    }

    fn now(&self) -> Time {
        now()
    }

    fn pause(&mut self, span: Nanos) {
        sleep(span);
    }

    fn notes(&self) -> Vec<String> {
        self.opened.notes()
    }

    fn open<'a>(&'a mut self, setup: &LaneSetup<'_>) -> Result<Vec<E::Drive<'a>>, DriveError> {
        let opened = &self.opened;
        descriptors::check(opened.name(), E::KIND, setup.submitters)?;
        (0..setup.submitters).map(|submitter| E::open(opened, submitter, setup)).collect()
    }
}
