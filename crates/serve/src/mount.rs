//! Puts a drive up as a file, and takes it down.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use block::{Bytes, DriveError, Target, UnixNanos};
use fuser::{MountOption, Session, SessionUnmounter};
use rustix::mount::{UnmountFlags, unmount};
use sim::VirtualTarget;

use crate::content::{Content, Directory, Faulty, Memory};
use crate::dispatch;
use crate::error::ServeError;
use crate::filesystem::{DriveFile, Face};
use crate::tally::Tally;
use crate::time::RealTime;

/// Name of the drive's file in its directory.
pub const FILE_NAME: &str = "drive";

/// Transport endpoint is not connected (`ENOTCONN`): the server of a mount is gone.
const ENOTCONN: i32 = 107;

/// Storage of the content.
#[derive(Clone, Debug)]
pub enum Backing {
    /// In memory, up to a limit. Zeros and blocks of one repeated byte take next to nothing.
    Memory(Bytes),
    /// In a sparse file without a name in this directory; goes with the process.
    Directory(PathBuf),
}

/// How a drive is served.
#[derive(Clone, Debug)]
pub struct Options {
    /// An empty directory, in which the drive appears as [`FILE_NAME`].
    pub mountpoint: PathBuf,
    /// Storage of its content.
    pub backing: Backing,
    /// Its name in the table of mounts.
    pub source: String,
    /// The date of now, which becomes that of the file.
    pub date: UnixNanos,
}

/// A drive in service, until [`Served::stop`] or until somebody unmounts it.
#[derive(Debug)]
pub struct Served {
    directory: PathBuf,
    unmounter: SessionUnmounter,
    receiver: JoinHandle<io::Result<()>>,
    dispatcher: JoinHandle<Result<(), DriveError>>,
    tally: Arc<Mutex<Tally>>,
}

/// How service ended.
#[derive(Debug)]
pub struct Ended {
    /// Counts of what was served.
    pub tally: Tally,
    /// True when some program had the drive open still: for it, the drive is pulled out when this
    /// process ends.
    pub was_busy: bool,
}

/// Puts `target` up as a file.
///
/// # Errors
/// [`ServeError`]: the mount point cannot be used, the drive cannot be mounted, or there is no place for the content.
pub fn serve(
    target: VirtualTarget,
    clock: Arc<dyn RealTime>,
    options: &Options,
) -> Result<Served, ServeError> {
    let directory = checked(&options.mountpoint)?;
    let info = target.info();
    let face = Face {
        name: FILE_NAME,
        capacity_bytes: info.capacity_bytes.0,
        physical_block_bytes: u32::try_from(info.physical_block_bytes.0).unwrap_or(4096),
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        began: options.date,
        began_at: clock.now(),
    };
    let medium = target.content();
    let store = store(&options.backing, medium.medium_bytes())?;
    let content = Box::new(Faulty::new(medium.clone(), store));
    let tally = Arc::new(Mutex::new(Tally::new()));
    let (requests, inbox) = mpsc::channel();
    let file = DriveFile::new(face, Arc::clone(&clock), requests);
    let mut session = mount(file, &directory, &options.source)?;
    let unmounter = session.unmount_callable();
    let counted = Arc::clone(&tally);
    let dispatcher = punctual("drive", move || {
        dispatch::run(target, content, &inbox, clock.as_ref(), &counted)
    })?;
    let receiver = punctual("fuse", move || session.run())?;
    Ok(Served { directory, unmounter, receiver, dispatcher, tally })
}

/// Starts a thread that others should not keep waiting; threads that it starts are like it.
fn punctual<T: Send + 'static>(
    name: &'static str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, ServeError> {
    let first = move || {
        // Counts for this thread alone (sched(7)), and takes root. Without it, a busy machine makes
        // replies later, which is counted.
        let _ = rustix::process::nice(-20);
        run()
    };
    let started = thread::Builder::new().name(name.to_owned()).spawn(first);
    started.map_err(|source| ServeError::Resource { action: "start a thread", source })
}

impl Served {
    /// The file.
    pub fn file(&self) -> PathBuf {
        self.directory.join(FILE_NAME)
    }

    /// True when service is over: somebody has unmounted it, or the drive has failed as a whole.
    pub fn is_over(&self) -> bool {
        self.receiver.is_finished() || self.dispatcher.is_finished()
    }

    /// Writes that failed so far only because there is no room for their content. Cheaper than
    /// [`Served::tally`], which makes replies wait for as long as it copies.
    pub fn writes_without_room(&self) -> u64 {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).writes_without_room()
    }

    /// Counts of what was served so far.
    pub fn tally(&self) -> Tally {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Unmounts the drive, even when it is in use: its path disappears, and programs that have it open lose it when
    /// this process ends.
    ///
    /// # Errors
    /// [`ServeError::Drive`] when the drive failed as a whole, [`ServeError::Mount`] when the mount cannot
    /// be taken away.
    pub fn stop(self) -> Result<Ended, ServeError> {
        let Served { directory, mut unmounter, receiver, dispatcher, tally } = self;
        let was_busy = match unmounter.unmount() {
            // Without root it is detached at once, and a program that has it open keeps the session alive.
            Ok(()) => !ends(&receiver),
            Err(error) if error.raw_os_error() == Some(EBUSY) => {
                let detached = unmount(&directory, UnmountFlags::DETACH);
                detached.map_err(|source| ServeError::Mount {
                    path: directory,
                    source: source.into(),
                    remedy: "",
                })?;
                true
            }
            Err(source) => {
                return Err(ServeError::Mount { path: directory, source, remedy: "" });
            }
        };
        // Programs that still have the drive open keep the threads alive; they end with the process.
        if !was_busy || dispatcher.is_finished() {
            let ended = dispatcher.join().map_err(|_| ServeError::Resource {
                action: "go on",
                source: io::Error::other("the drive's thread has panicked"),
            })?;
            ended?;
        }
        let tally = tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Ended { tally, was_busy })
    }
}

/// Waits for a thread that is about to end; false when it does not end within a second.
fn ends<T>(thread: &JoinHandle<T>) -> bool {
    for _ in 0..100 {
        if thread.is_finished() {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    false
}

/// Device or resource busy (`EBUSY`).
const EBUSY: i32 = 16;

/// The mount point as an absolute path, when it can be used.
fn checked(path: &Path) -> Result<PathBuf, ServeError> {
    let path = path.to_owned();
    let told = |error: io::Error, path: PathBuf| match error.raw_os_error() {
        Some(ENOTCONN) => ServeError::Stale { path },
        _ if error.kind() == io::ErrorKind::NotFound => ServeError::NoDirectory { path },
        _ if error.kind() == io::ErrorKind::NotADirectory => ServeError::NotDirectory { path },
        _ => ServeError::Mount { path, source: error, remedy: "" },
    };
    // Asked for in this order since a stale mount answers to nothing else.
    let mut entries = fs::read_dir(&path).map_err(|e| told(e, path.clone()))?;
    if entries.next().is_some() {
        return Err(ServeError::NotEmpty { path });
    }
    fs::canonicalize(&path).map_err(|e| told(e, path.clone()))
}

fn store(backing: &Backing, capacity: Bytes) -> Result<Box<dyn Content>, ServeError> {
    match backing {
        Backing::Memory(limit) => Ok(Box::new(Memory::new(*limit))),
        Backing::Directory(path) => match Directory::new(path, capacity) {
            Ok(directory) => Ok(Box::new(directory)),
            Err(source) => Err(ServeError::Store { path: path.clone(), source }),
        },
    }
}

fn mount(
    file: DriveFile,
    directory: &Path,
    source: &str,
) -> Result<Session<DriveFile>, ServeError> {
    let mut config = fuser::Config::default();
    config.mount_options = vec![
        MountOption::FSName(name_of(source)),
        MountOption::Subtype("drivescope".to_owned()),
        // The kernel checks who may open it: owner and root, by the mode.
        MountOption::DefaultPermissions,
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::NoAtime,
    ];
    Session::new(file, directory, &config).map_err(|source| {
        let remedy = remedy(&source);
        ServeError::Mount { path: directory.to_owned(), source, remedy }
    })
}

/// Returns the name of a source in the table of mounts. Without root it goes through fusermount3, where a
/// comma ends an option and a backslash escapes the next character; with root neither is special, so
/// escapes would be visible.
fn name_of(source: &str) -> String {
    source.replace([',', '\\'], ";")
}

fn remedy(error: &io::Error) -> &'static str {
    if !Path::new("/dev/fuse").exists() {
        " (this machine has no /dev/fuse; as root: modprobe fuse)"
    } else if error.kind() == io::ErrorKind::NotFound {
        " (without root this takes the program fusermount3, of the package fuse3)"
    } else if error.kind() == io::ErrorKind::PermissionDenied {
        " (it takes root, or a /dev/fuse that you may open)"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a model with a list in its overrides cannot be served without root.
    #[test]
    fn no_source_ends_the_option_that_it_stands_in() {
        assert_eq!(name_of("sim:usb-8m?cells.read_ns=[1,2]"), "sim:usb-8m?cells.read_ns=[1;2]");
        assert_eq!(name_of("sim:a\\b.toml"), "sim:a;b.toml");
    }
}
