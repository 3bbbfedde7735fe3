//! From a target to the open drive, with all that an instrument needs to know around it.

use std::os::fd::AsRawFd as _;
use std::path::Path;

use block::health::Health;
use block::{
    Bytes, DriveIdentity, DriveInfo, DriveKind, EngineKind, Environment, Layer, Leaf, Medium,
    Stack, Target as _,
};
use linux::drive::NullTarget;
use linux::environment::RealEnvironment;
use linux::gate::Permit;
use linux::scratch::ScratchFile;
use linux::stack::StackError;
use linux::sysfs::Roots;
use linux::target::{Access, AnyTarget, OpenOptions, RealTarget, TargetError};
use sim::{SimError, VirtualTarget};

use crate::spec::{TargetSpec, VirtualSpec};

/// Failure to open a target, in the words of what failed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No such virtual drive.
    #[error(transparent)]
    Virtual(#[from] SimError),
    /// The devices below the target are unknown.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The file or device cannot be opened as asked.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The kernel has no descriptor left.
    #[error("cannot keep the target open")]
    Keep(#[source] std::io::Error),
}

/// Test file of this run in a directory.
#[derive(Clone, Copy)]
pub struct TestFile<'a> {
    /// The file. Its owner keeps it until the run ends.
    pub file: &'a ScratchFile,
    /// Top of the stack that is reported: the file, or its directory.
    pub top: &'a Path,
}

/// Target, and how it is to be opened.
pub struct OpenRequest<'a> {
    /// Target as the user named it.
    pub target: &'a TargetSpec,
    /// The test file in the directory that the target is: it is opened in its place, and may be written to.
    pub test_file: Option<TestFile<'a>>,
    /// How requests reach the kernel.
    pub engine: EngineKind,
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Poll for completions instead of being interrupted.
    pub polling: bool,
    /// CPUs that submitters are kept on.
    pub cpus: Option<&'a [usize]>,
    /// Seed of a virtual drive's own noise, where it is not that of its name.
    pub seed: Option<u64>,
    /// Write permit for a file or device that exists; without one it is only read.
    pub permit: Option<Permit>,
}

impl<'a> OpenRequest<'a> {
    /// Read `target` past the page cache.
    pub fn read(target: &'a TargetSpec, engine: EngineKind) -> OpenRequest<'a> {
        OpenRequest {
            target,
            test_file: None,
            engine,
            direct: true,
            polling: false,
            cpus: None,
            seed: None,
            permit: None,
        }
    }

    fn options(&self, access: Access) -> OpenOptions {
        OpenOptions {
            engine: self.engine,
            access,
            direct: self.direct,
            iopoll: self.polling,
            pin_cpus: self.cpus.map(<[usize]>::to_vec),
            ..OpenOptions::default()
        }
    }
}

/// Target of any kind that is open and has no engine yet.
pub enum OpenTarget {
    /// Virtual drive.
    Virtual(Box<VirtualTarget>),
    /// `null:`.
    Null(NullTarget),
    /// File or device.
    Real(Box<RealTarget>),
}

impl OpenTarget {
    /// Sizes and names.
    pub fn info(&self) -> &DriveInfo {
        match self {
            OpenTarget::Virtual(target) => target.info(),
            OpenTarget::Null(target) => target.info(),
            OpenTarget::Real(target) => target.info(),
        }
    }

    /// The target with its engine.
    ///
    /// # Errors
    /// As [`RealTarget::engine`].
    pub fn engine(self) -> Result<DrivenTarget, TargetError> {
        Ok(match self {
            OpenTarget::Virtual(target) => DrivenTarget::Virtual(target),
            OpenTarget::Null(target) => DrivenTarget::Null(target),
            OpenTarget::Real(target) => DrivenTarget::Real(target.engine()?),
        })
    }
}

/// Target of any kind, with its engine.
pub enum DrivenTarget {
    /// Virtual drive.
    Virtual(Box<VirtualTarget>),
    /// `null:`.
    Null(NullTarget),
    /// File or device.
    Real(AnyTarget),
}

impl DrivenTarget {
    /// The target as instruments see it.
    #[inline(never)]
    pub fn io_path(&mut self) -> &mut dyn engine::IoPath {
        match self {
            DrivenTarget::Virtual(target) => crate::path::of_virtual(target),
            DrivenTarget::Null(target) => crate::path::of_null(target),
            DrivenTarget::Real(target) => crate::path::of_real(target),
        }
    }

    /// Name of what issues the I/O: `virtual`, `null`, or the kernel's interface.
    pub fn engine(&self) -> &'static str {
        match self {
            DrivenTarget::Virtual(_) => "virtual",
            DrivenTarget::Null(_) => "null",
            DrivenTarget::Real(AnyTarget::IoUring(_)) => EngineKind::IoUring.word(),
            DrivenTarget::Real(AnyTarget::Libaio(_)) => EngineKind::Libaio.word(),
            DrivenTarget::Real(AnyTarget::Psync(_)) => EngineKind::Psync.word(),
        }
    }
}

/// Open drive, whose target is of one kind or of any.
pub struct OpenDrive<T = OpenTarget> {
    /// Target of the I/O.
    pub target: T,
    /// Counters and devices around it.
    pub environment: Box<dyn Environment>,
    /// Identity of the drive.
    pub identity: DriveIdentity,
    /// Write permit that it was opened with. It keeps everybody else away from the device as long as it lives.
    pub permit: Option<Permit>,
}

impl<T> OpenDrive<T> {
    /// The same with another form of its target.
    fn map<U>(self, form: impl FnOnce(T) -> U) -> OpenDrive<U> {
        let OpenDrive { target, environment, identity, permit } = self;
        OpenDrive { target: form(target), environment, identity, permit }
    }
}

/// Opens a target.
///
/// # Errors
/// [`OpenError`].
pub fn open(request: OpenRequest<'_>) -> Result<OpenDrive, OpenError> {
    match request.target {
        TargetSpec::Virtual(spec) => {
            let drive = open_virtual(spec, request.seed)?;
            Ok(drive.map(|target| OpenTarget::Virtual(Box::new(target))))
        }
        TargetSpec::Null => {
            let null = NullTarget::default();
            let target = match request.cpus {
                Some(cpus) => null.pin_cpus(cpus.to_vec()),
                None => null,
            };
            Ok(OpenDrive {
                environment: Box::new(RealEnvironment::new(Roots::default(), null_stack(), None)),
                identity: identity_by_name(target.info()),
                target: OpenTarget::Null(target),
                permit: None,
            })
        }
        TargetSpec::Path(_) => {
            let drive = open_path(request)?;
            Ok(drive.map(|target| OpenTarget::Real(Box::new(target))))
        }
    }
}

/// Opens a virtual drive, with `seed` for its own noise where that is not the seed of its name.
///
/// # Errors
/// As [`VirtualSpec::open`].
pub fn open_virtual(
    spec: &VirtualSpec,
    seed: Option<u64>,
) -> Result<OpenDrive<VirtualTarget>, SimError> {
    let mut target = spec.open()?;
    if let Some(seed) = seed {
        target.reseed(seed);
    }
    Ok(OpenDrive {
        environment: Box::new(target.environment()),
        identity: identity_by_name(target.info()),
        target,
        permit: None,
    })
}

/// Opens a file or device, or the test file in a directory.
///
/// # Errors
/// [`OpenError`]; the name of a virtual drive is that of a file which is not there.
pub fn open_path(request: OpenRequest<'_>) -> Result<OpenDrive<RealTarget>, OpenError> {
    let path = request.target.as_path();
    let roots = Roots::default();
    let stack = linux::stack::resolve(&roots, request.test_file.map_or(path, |own| own.top))?;
    let name = request.target.as_str();
    let mut target = match (request.test_file, &request.permit) {
        // By the descriptor that marks the file as owned for other runs: any user who may write to the directory could
        // have put another file under the name meanwhile.
        (Some(own), _) => {
            let same = format!("/proc/self/fd/{}", own.file.file().as_raw_fd());
            RealTarget::open(same, request.options(Access::ReadWrite))?
        }
        (None, Some(permit)) => {
            let file = permit.file().try_clone().map_err(OpenError::Keep)?;
            RealTarget::from_file(file, name, request.options(Access::ReadWrite))?
        }
        (None, None) => RealTarget::open(path, request.options(Access::ReadOnly))?,
    };
    target.describe(|info| {
        if request.test_file.is_some() {
            name.clone_into(&mut info.name);
        }
        linux::describe::describe(&roots, &stack, info);
    });
    let identity = linux::describe::identify(&roots, &stack, path, target.info());
    let watched = target.file().try_clone().map_err(OpenError::Keep)?;
    let environment = Box::new(RealEnvironment::new(roots, stack, Some(watched)));
    Ok(OpenDrive { environment, identity, target, permit: request.permit })
}

/// Facts about a target that nothing was issued to.
pub struct Look {
    /// Sizes and names. A directory has no size, as no test file was made.
    pub info: DriveInfo,
    /// Layers that I/O to it passes through.
    pub stack: Stack,
    /// Identity of the target.
    pub identity: DriveIdentity,
    /// Health of a virtual drive; real ones have to be asked.
    pub health: Option<Health>,
    /// True of a directory.
    pub is_directory: bool,
}

impl Look {
    /// Of a target that is known by its name.
    fn by_name(info: DriveInfo, stack: Stack, health: Option<Health>) -> Look {
        Look { identity: identity_by_name(&info), info, stack, health, is_directory: false }
    }
}

/// Looks at a target without holding it: a file or device is opened for reading, as long as it takes to know its size.
///
/// # Errors
/// [`OpenError`].
pub fn look(target: &TargetSpec) -> Result<Look, OpenError> {
    let path = match target {
        TargetSpec::Virtual(spec) => {
            let opened = spec.open()?;
            let mut environment = opened.environment();
            let health = Health::of_virtual(opened.info(), &environment.snapshot());
            let stack = environment.stack().clone();
            return Ok(Look::by_name(opened.info().clone(), stack, Some(health)));
        }
        TargetSpec::Null => {
            let info = DriveInfo { kind: DriveKind::Null, ..unopened(target.as_str()) };
            return Ok(Look::by_name(info, null_stack(), None));
        }
        TargetSpec::Path(path) => Path::new(path),
    };
    let roots = Roots::default();
    let stack = linux::stack::resolve(&roots, path)?;
    let (is_directory, is_file) = (path.is_dir(), path.is_file());
    let mut info = unopened(target.as_str());
    if !is_directory {
        info.capacity_bytes = linux::target::size_of(path)?;
    }
    if !is_directory && !is_file {
        info.kind = DriveKind::BlockDevice;
    }
    linux::describe::describe(&roots, &stack, &mut info);
    let identity = linux::describe::identify(&roots, &stack, path, &info);
    Ok(Look { info, stack, identity, health: None, is_directory })
}

/// Identity of a target without layers under it: its name says what it is, and is made to lead there from everywhere.
pub fn identity_by_name(info: &DriveInfo) -> DriveIdentity {
    let name = match TargetSpec::of(&info.name) {
        TargetSpec::Virtual(spec) => spec.absolute(),
        TargetSpec::Null | TargetSpec::Path(_) => info.name.clone(),
    };
    DriveIdentity {
        kind: info.kind,
        name,
        capacity_bytes: info.capacity_bytes,
        filesystem: None,
        filesystem_id: None,
        inode: None,
        part: None,
        leaves: Vec::new(),
    }
}

/// Layers of `null:`, which I/O to nothing passes through.
pub fn null_stack() -> Stack {
    let name = TargetSpec::Null.to_string();
    let layer = Layer { kind: "null".to_owned(), name: name.clone(), ..Default::default() };
    Stack { layers: vec![layer], leaves: vec![Leaf { name, medium: Medium::Unknown, model: None }] }
}

/// Facts about a file before it is there, such as the test file of a directory: what every file is at least.
pub fn unopened(name: &str) -> DriveInfo {
    DriveInfo {
        name: name.to_owned(),
        kind: DriveKind::File,
        model: None,
        serial: None,
        capacity_bytes: Bytes::ZERO,
        logical_block_bytes: Bytes(1),
        physical_block_bytes: Bytes(1),
        rotational: None,
        write_cache: None,
        cache_bytes: None,
        link_bytes_per_s: None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use workload::content::SectorContent;
    use workload::plan::Content;

    use super::*;

    fn read(name: &str) -> Result<OpenDrive, OpenError> {
        open(OpenRequest {
            direct: false,
            ..OpenRequest::read(&TargetSpec::of(name), EngineKind::Psync)
        })
    }

    // Breaks when a virtual drive forgets its seed, or is known by another name.
    #[test]
    fn a_virtual_drive_is_open_with_its_environment() {
        let mut drive = read("sim:hdd-7200?seed=7").unwrap();
        assert!(matches!(drive.target, OpenTarget::Virtual(_)));
        assert_eq!(drive.target.info().kind, DriveKind::Virtual);
        assert_eq!(drive.identity.name, "sim:hdd-7200?seed=7");
        assert_eq!(drive.identity.capacity_bytes, drive.target.info().capacity_bytes);
        assert!(drive.permit.is_none());
        let looked = look(&TargetSpec::of("sim:hdd-7200?seed=7")).unwrap();
        assert_eq!(looked.info, *drive.target.info());
        assert_eq!(looked.stack, *drive.environment.stack());
        assert_eq!(looked.identity, drive.identity);
        assert!(looked.health.is_some() && !looked.is_directory);
        assert!(drive.environment.gone().is_none());
        let error = read("sim:no-such-model").err().unwrap();
        assert!(matches!(error, OpenError::Virtual(_)), "{error}");
    }

    #[test]
    fn null_is_open_and_has_one_layer() {
        let drive = read("null:").unwrap();
        assert!(matches!(drive.target, OpenTarget::Null(_)));
        assert_eq!((drive.target.info().kind, &*drive.identity.name), (DriveKind::Null, "null:"));
        assert_eq!(*drive.environment.stack(), null_stack());
        assert_eq!(look(&TargetSpec::Null).unwrap().identity.kind, DriveKind::Null);
    }

    // Breaks when a file that is only read is opened for writing: users without write permission could not read it.
    #[test]
    fn a_file_is_only_read_without_a_permit() {
        use std::io::Write as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![7; 1 << 16]).unwrap();
        let drive = read(path.to_str().unwrap()).unwrap();
        let OpenTarget::Real(target) = &drive.target else { panic!("a file is not virtual") };
        assert_eq!(target.info().capacity_bytes, Bytes(1 << 16));
        assert!(target.file().try_clone().unwrap().write(b"x").is_err());
        let looked = look(&TargetSpec::of(path.to_str().unwrap())).unwrap();
        assert_eq!(looked.identity, drive.identity);
        assert_eq!(looked.stack, *drive.environment.stack());
        assert_eq!(looked.info.capacity_bytes, Bytes(1 << 16));
        let gone = dir.path().join("gone");
        let error = read(gone.to_str().unwrap()).err().unwrap();
        assert!(matches!(error, OpenError::Stack(_)), "{error}");
    }

    // Breaks when a record names the test file, which is gone when the run ends, in the place of its directory.
    #[test]
    fn a_test_file_is_known_by_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(dir.path()).unwrap();
        let target = TargetSpec::of(dir.path().to_str().unwrap());
        let mut payload = SectorContent::new(Content::default(), 1, u16::MAX);
        let (id, cancel) = ("20261127T000000Z-0000001", AtomicBool::new(false));
        let size = Bytes::mib(1);
        let file = ScratchFile::create(&real, size, id, &mut payload, &mut |_, _| {}, &cancel);
        let file = file.unwrap();
        for top in [file.path(), &real] {
            let drive = open(OpenRequest {
                direct: false,
                test_file: Some(TestFile { file: &file, top }),
                ..OpenRequest::read(&target, EngineKind::Psync)
            });
            let drive = drive.unwrap();
            assert_eq!(drive.target.info().name, target.as_str());
            assert_eq!(drive.target.info().capacity_bytes, size);
            assert_eq!(Path::new(&drive.identity.name), real);
            assert_eq!(drive.identity.capacity_bytes, Bytes::ZERO);
            assert_eq!(Path::new(&drive.environment.stack().layers[0].name), top);
        }
        let looked = look(&target).unwrap();
        assert!(looked.is_directory && looked.info.capacity_bytes == Bytes::ZERO);
        assert!(file.remove().unwrap());
    }
}
