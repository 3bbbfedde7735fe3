//! A drive in service for one test.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use block::{Bytes, Time, UnixNanos};
use drivescope_serve::{Backing, Ended, Options, RealTime, Served, serve};
use tempfile::TempDir;

/// 3 September 2026.
pub const DATE: UnixNanos = UnixNanos(1_788_393_600_000_000_000);

pub struct Clock(pub Instant);

impl RealTime for Clock {
    fn now(&self) -> Time {
        Time(u64::try_from(self.0.elapsed().as_nanos()).unwrap())
    }
}

/// A served drive, which goes with the test.
pub struct Drive {
    served: Option<Served>,
    pub dir: TempDir,
}

impl Drive {
    /// Serves `spec`; says why not where this machine cannot.
    pub fn new(spec: &str) -> Option<Drive> {
        Drive::with(spec, Backing::Memory(Bytes::mib(256)))
    }

    pub fn with(spec: &str, backing: Backing) -> Option<Drive> {
        if !std::path::Path::new("/dev/fuse").exists() {
            println!("skipped: needs /dev/fuse");
            return None;
        }
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let options = Options {
            mountpoint: dir.path().to_owned(),
            backing,
            source: spec.to_owned(),
            date: DATE,
        };
        let target = sim::open(spec).unwrap();
        match serve(target, Arc::new(Clock(Instant::now())), &options) {
            Ok(served) => Some(Drive { served: Some(served), dir }),
            Err(drivescope_serve::ServeError::Mount { source, .. })
                if source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                println!("skipped: FUSE mounts are not permitted");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub fn served(&self) -> &Served {
        self.served.as_ref().unwrap()
    }

    pub fn path(&self) -> PathBuf {
        self.served().file()
    }

    /// Opens the file for reading and writing, with these `O_` flags.
    pub fn open(&self, flags: rustix::fs::OFlags) -> File {
        let flags = flags.bits() as i32;
        File::options().read(true).write(true).custom_flags(flags).open(self.path()).unwrap()
    }

    pub fn stop(mut self) -> Ended {
        self.served.take().unwrap().stop().unwrap()
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        if let Some(served) = self.served.take() {
            let _ = served.stop();
        }
    }
}

/// How long `run` took.
pub fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let result = run();
    (result, began.elapsed())
}
