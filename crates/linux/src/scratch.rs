//! The test file that a directory gets: fully written, checked, and removed on every way out that a
//! process can see.
//!
//! The file is locked as long as its owner lives. A file of that name without a lock was left by a
//! process that had no chance to clean up (`kill -9`, power loss); [`leftovers`] finds those. An extended
//! attribute, [`HEADER`], shows that it is ours: its content is what the measurement leaves there.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use block::{Bytes, Extents, Payload, UnixNanos};
use rustix::fs::{Advice, FlockOperation, IFlags, OFlags};
use rustix::io::Errno;
use thiserror::Error;

use crate::extents;

mod header;

pub use header::HEADER;

/// Written at a time. Large enough that a disk which turns is not slowed by it.
const CHUNK: Bytes = Bytes::mib(4);
/// Alignment of memory, offsets and lengths with direct I/O: suits every filesystem with blocks up
/// to a page, and Btrfs, which silently writes through the page cache otherwise.
const ALIGN: Bytes = Bytes::kib(4);
/// Least space left free on the filesystem, if one percent of it is less than this.
const RESERVE_MIN: Bytes = Bytes::mib(64);

/// How long the kernel is given to let go of what a dead process held: two seconds.
const RECLAIM_TRIES: u32 = 100;
const RECLAIM_WAIT: Duration = Duration::from_millis(20);

/// Scratch files of this process that exist now.
static ALIVE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn alive() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is whole after any panic; losing it would leave files behind.
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why there is no test file.
#[derive(Debug, Error)]
pub enum ScratchError {
    /// Not a directory.
    #[error("{}: is not a directory; a test file is made in a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The filesystem has too little room, counted before anything was written.
    #[error(
        "{}: a test file of {} does not fit: {} are available and {} have to stay free; {}", .dir.display(),
        .needed.human(), .available.human(), .reserve.human(), less(*available, *reserve)
    )]
    TooSmall {
        /// The directory.
        dir: PathBuf,
        /// Size of the file.
        needed: Bytes,
        /// Space that this user may use.
        available: Bytes,
        /// Part of it that is left alone.
        reserve: Bytes,
    },
    /// The filesystem (or a quota) was full while the file was written; the file was removed.
    #[error(
        "{}: no space left after {} of {}; the test file was removed; take a smaller one (--size; -c of \
         diskspd), or another directory", .dir.display(), .written.human(), .needed.human()
    )]
    Full {
        /// The directory.
        dir: PathBuf,
        /// Size of the file.
        needed: Bytes,
        /// Written before the space ended.
        written: Bytes,
    },
    /// A size of zero.
    #[error("a test file of no bytes cannot be measured; choose a larger size")]
    Empty,
    /// The run identifier cannot be part of a file name.
    #[error("run id {0:?} cannot be part of a file name: use letters, digits, '-' and '_'")]
    RunId(String),
    /// A file of this run is there already.
    #[error("{}: exists already; the run that made it may still go on", .0.display())]
    Exists(PathBuf),
    /// The user asked to stop; the file was removed.
    #[error(
        "stopped while the test file was written; it was removed, and the same command starts again"
    )]
    Cancelled,
    /// The filesystem does not make files that are written in place on request.
    #[error(
        "{}: --no-cow is for Btrfs, and this filesystem has no such flag ({source}): leave it out", .dir.display()
    )]
    NoCow {
        /// The directory.
        dir: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel refused something.
    #[error("{}: cannot {action}: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Action that failed, as the end of "cannot …".
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// How a filesystem that copies on write treats a test file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Copying {
    /// As any file: on Btrfs each write goes to a new place, with a checksum, compressed where the mount says so.
    #[default]
    Usual,
    /// Written in place, without checksums and compression (`chattr +C`, `FS_NOCOW_FL` of `ioctl_iflags(2)`), which Btrfs
    /// alone lets be asked for, of an empty file.
    Off,
}

/// A test file. Removed when dropped.
#[derive(Debug)]
pub struct ScratchFile {
    file: File,
    path: PathBuf,
    size: Bytes,
    extents: Extents,
    direct: bool,
}

/// Advice for a file that does not fit.
fn less(available: Bytes, reserve: Bytes) -> &'static str {
    match available > reserve {
        true => "take a smaller one (--size; -c of diskspd), or another directory",
        false => "make room, take another directory, or name a file that is there: it is read",
    }
}

impl ScratchFile {
    /// Makes `.drivescope-<run_id>.scratch` in `dir` and writes `size` bytes of `payload` to it,
    /// with direct I/O where the filesystem has it. When this returns, the data is on the device
    /// (as far as `fsync(2)` promises), the page cache holds none of it, and its extents were read.
    ///
    /// `progress` receives (done, total) after each chunk; `cancel` is checked before each.
    ///
    /// # Errors
    /// [`ScratchError`]; on every error nothing is left behind.
    pub fn create(
        dir: &Path,
        size: Bytes,
        run_id: &str,
        payload: &mut dyn Payload,
        progress: &mut dyn FnMut(Bytes, Bytes),
        cancel: &AtomicBool,
    ) -> Result<ScratchFile, ScratchError> {
        ScratchFile::create_with(Copying::Usual, dir, size, run_id, payload, progress, cancel)
    }

    /// As [`ScratchFile::create`], treated by the filesystem as `copying` says.
    ///
    /// # Errors
    /// As there, and [`ScratchError::NoCow`].
    pub fn create_with(
        copying: Copying,
        dir: &Path,
        size: Bytes,
        run_id: &str,
        payload: &mut dyn Payload,
        progress: &mut dyn FnMut(Bytes, Bytes),
        cancel: &AtomicBool,
    ) -> Result<ScratchFile, ScratchError> {
        let io = |path: &Path, action| {
            let path = path.to_owned();
            move |source: io::Error| ScratchError::Io { path, action, source }
        };
        if !header::is_run_id(run_id) {
            return Err(ScratchError::RunId(run_id.to_owned()));
        }
        // Absolute, so that removing it does not depend on the working directory of a later time.
        let real = fs::canonicalize(dir).map_err(io(dir, "use this directory"))?;
        if !real.is_dir() {
            return Err(ScratchError::NotADirectory(dir.to_owned()));
        }
        if size == Bytes::ZERO {
            return Err(ScratchError::Empty);
        }
        check_space(dir, size)?;
        let path = header::path_of(&real, run_id);
        let file = make(&path)?;
        // From here on, dropping `scratch` removes the file.
        let mut scratch =
            ScratchFile { file, path, size, extents: Extents::default(), direct: false };
        if copying == Copying::Off {
            write_in_place(&scratch.file)
                .map_err(|source| ScratchError::NoCow { dir: dir.to_owned(), source })?;
        }
        match scratch.fill(payload, progress, cancel) {
            Ok(true) => {}
            Ok(false) => return Err(ScratchError::Cancelled),
            Err((written, error)) if is_full(&error) => {
                return Err(ScratchError::Full { dir: dir.to_owned(), needed: size, written });
            }
            Err((_, error)) => return Err(io(&scratch.path, "write the test file")(error)),
        }
        scratch.extents = extents::of(&scratch.file);
        Ok(scratch)
    }

    /// The file's path, absolute and without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file, open for reading and writing without direct I/O. Its descriptor carries the lock.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The file's length.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Its layout right after writing; physical offsets are the filesystem's own.
    pub fn extents(&self) -> &Extents {
        &self.extents
    }

    /// True when all whole chunks were written with direct I/O.
    pub fn written_directly(&self) -> bool {
        self.direct
    }

    /// Writes everything; `Ok(false)` when cancelled. An error comes with the bytes written before it.
    fn fill(
        &mut self,
        payload: &mut dyn Payload,
        progress: &mut dyn FnMut(Bytes, Bytes),
        cancel: &AtomicBool,
    ) -> Result<bool, (Bytes, io::Error)> {
        let mut memory = vec![0; (CHUNK.0 + ALIGN.0) as usize];
        // Direct I/O wants aligned memory. Skipping to an aligned address inside a larger buffer
        // needs no unsafe allocation.
        let skip = memory.as_ptr().align_offset(ALIGN.0 as usize);
        let buffer = &mut memory[skip..skip + CHUNK.0 as usize];
        self.direct = self.set_direct(true).is_ok();
        let mut done = Bytes::ZERO;
        progress(done, self.size);
        while done < self.size {
            if cancel.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let length = CHUNK.min(self.size - done);
            let chunk = &mut buffer[..length.0 as usize];
            payload.fill(done, chunk);
            self.write_chunk(chunk, done).map_err(|error| (done, error))?;
            done += length;
            progress(done, self.size);
        }
        self.settle().map_err(|error| (done, error))?;
        Ok(true)
    }

    fn write_chunk(&mut self, chunk: &[u8], at: Bytes) -> io::Result<()> {
        let whole = Bytes(chunk.len() as u64).round_down(ALIGN).0 as usize;
        let (aligned, rest) = chunk.split_at(whole);
        match self.file.write_all_at(aligned, at.0) {
            // The filesystem took the flag and not the write, e.g. with blocks above a page.
            Err(error) if self.direct && error.raw_os_error() == Some(libc::EINVAL) => {
                self.direct = false;
                self.set_direct(false)?;
                self.file.write_all_at(aligned, at.0)?;
            }
            result => result?,
        }
        if !rest.is_empty() {
            self.set_direct(false)?;
            self.file.write_all_at(rest, at.0 + whole as u64)?;
            self.direct = self.direct && self.set_direct(true).is_ok();
        }
        if !self.direct {
            // Page by page behind the writer, or a large file would push everybody's pages out.
            self.file.sync_data()?;
            forget(&self.file)?;
        }
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        self.set_direct(false).or_else(|error| if self.direct { Err(error) } else { Ok(()) })?;
        self.file.sync_all()?;
        forget(&self.file)
    }

    fn set_direct(&self, on: bool) -> io::Result<()> {
        let mut flags = rustix::fs::fcntl_getfl(&self.file)?;
        flags.set(OFlags::DIRECT, on);
        Ok(rustix::fs::fcntl_setfl(&self.file, flags)?)
    }
}

/// Leaves nothing of a file in the page cache that is on its device already.
///
/// # Errors
/// The kernel's answer.
pub fn forget(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, Advice::DontNeed)?)
}

impl ScratchFile {
    /// Removes it and reports whether that could be done, which a drop cannot. False when somebody else has removed it, or
    /// its directory, while it was measured.
    ///
    /// # Errors
    /// The kernel's answer; the file is still there, and a later run finds it ([`leftovers`]).
    pub fn remove(self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        let mut alive = alive();
        // A drop cannot report; what stays is found by `leftovers` once the lock is gone.
        let _ = fs::remove_file(&self.path);
        alive.retain(|path| *path != self.path);
    }
}

/// Lets an empty file be written in place, and looks whether it will be: the flag alone can be taken and dropped.
fn write_in_place(file: &File) -> io::Result<()> {
    let flags = rustix::fs::ioctl_getflags(file)?;
    rustix::fs::ioctl_setflags(file, flags | IFlags::NOCOW)?;
    match is_written_in_place(file) {
        true => Ok(()),
        false => Err(Errno::OPNOTSUPP.into()),
    }
}

/// True for a file of a filesystem that copies on write, which is exempt from that (`chattr +C`).
pub fn is_written_in_place(file: &File) -> bool {
    rustix::fs::ioctl_getflags(file).is_ok_and(|flags| flags.contains(IFlags::NOCOW))
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
}

/// Looks whether a filesystem has room for so much more, and for what has to stay free.
///
/// # Errors
/// When it has not.
pub fn check_space(dir: &Path, needed: Bytes) -> Result<(), ScratchError> {
    let fs = rustix::fs::statvfs(dir).map_err(|error| ScratchError::Io {
        path: dir.to_owned(),
        action: "ask for its free space",
        source: error.into(),
    })?;
    // It has no room, either: but room is not what is missing.
    if fs.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY) {
        return Err(ScratchError::Io {
            path: dir.to_owned(),
            action: "make a test file",
            source: Errno::ROFS.into(),
        });
    }
    let bytes = |blocks: u64| Bytes(blocks.saturating_mul(fs.f_frsize));
    let available = bytes(fs.f_bavail);
    let reserve = RESERVE_MIN.max(Bytes(bytes(fs.f_blocks).0 / 100));
    if needed.0.saturating_add(reserve.0) > available.0 {
        let dir = dir.to_owned();
        return Err(ScratchError::TooSmall { dir, needed, available, reserve });
    }
    Ok(())
}

/// Makes the empty file, locked and known to [`remove_all`].
fn make(path: &Path) -> Result<File, ScratchError> {
    let fail = |action| move |source| ScratchError::Io { path: path.to_owned(), action, source };
    loop {
        // Under the registry's lock, so that the file cannot exist without being registered when
        // another thread removes all.
        let mut alive = alive();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ScratchError::Exists(path.to_owned()));
            }
            result => result.map_err(fail("make a test file"))?,
        };
        alive.push(path.to_owned());
        drop(alive);
        let locked = goes_on(rustix::fs::flock(&file, FlockOperation::LockExclusive))
            .map_err(|errno| fail("lock the test file")(errno.into()))
            .and_then(|()| file.metadata().map_err(fail("look at the test file")));
        match locked {
            // Someone took it for a leftover before it was locked, and removed it: once more.
            Ok(meta) if meta.nlink() == 0 => forget_path(path),
            Ok(_) => {
                // On filesystems without such attributes, name, owner and mode must suffice.
                let _ = header::put(&file, path);
                return Ok(file);
            }
            Err(error) => {
                let _ = fs::remove_file(path);
                forget_path(path);
                return Err(error);
            }
        }
    }
}

/// A filesystem without locks can be measured as well; [`leftovers`] lists no file there, since it could not
/// distinguish a file in use from one left behind.
fn goes_on(locked: Result<(), Errno>) -> Result<(), Errno> {
    match locked {
        Err(Errno::NOSYS | Errno::OPNOTSUPP) => Ok(()),
        other => other,
    }
}

fn forget_path(path: &Path) {
    alive().retain(|known| known != path);
}

/// Removes every scratch file of this process: for a second Ctrl-C, which does not wait for the owners to drop them.
pub fn remove_all() {
    for path in alive().drain(..) {
        // Errors are ignored: `leftovers` of a later run finds what stays.
        let _ = fs::remove_file(path);
    }
}

/// A scratch file whose owner died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// Path of the file.
    pub path: PathBuf,
    /// Its length.
    pub size: Bytes,
    /// When it was last written.
    pub modified: UnixNanos,
    /// True when it carries [`HEADER`], and on filesystems that have no such attributes.
    pub is_ours: bool,
    inode: (u64, u64),
}

/// Scratch files in `dir` that no process holds, by path: only those with a name, an owner and a mode as
/// [`ScratchFile::create`] gives them, for this user. On a filesystem without locks there are none.
pub fn leftovers(dir: &Path) -> Vec<Leftover> {
    let names = crate::sysfs::names_in(dir).into_iter();
    names
        .filter(|name| header::id_of(Path::new(name)).is_some())
        .filter_map(|name| Some(unowned(&dir.join(name)).ok()??.1))
        .collect()
}

/// The scratch file that the run of this name left in `dir` and no process holds, as [`leftovers`].
pub fn left_by(dir: &Path, run_id: &str) -> Option<Leftover> {
    Some(unowned(&header::path_of(dir, run_id)).ok()??.1)
}

/// Removes the test file that an earlier process of this very run left in `dir`, and returns its description. The
/// caller knows that the process is dead, but the kernel may hold its lock a moment longer, until the last I/O of an
/// io_uring has ended.
///
/// # Errors
/// Why it cannot be removed; [`io::ErrorKind::ResourceBusy`] when another process holds it all the same.
pub fn reclaim(dir: &Path, run_id: &str) -> io::Result<Option<Leftover>> {
    let path = header::path_of(dir, run_id);
    for _ in 0..RECLAIM_TRIES {
        match unowned(&path) {
            Ok(Some((_held, leftover))) => return fs::remove_file(&path).map(|()| Some(leftover)),
            Ok(None) => std::thread::sleep(RECLAIM_WAIT),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "it belongs to another process"))
}

/// Looks whether a scratch file can be made in `dir`.
///
/// # Errors
/// The system's answer where it cannot: no permission, or a filesystem that is read-only.
pub fn may_create(dir: &Path) -> io::Result<()> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    // As the process acts, not as who called it: a program may be run for another.
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, dir, wanted, AtFlags::EACCESS).map_err(io::Error::from)
}

/// True on filesystems that keep no modes and show the same for every file: sticks and cards.
fn shows_modes_of_its_own(file: &File) -> bool {
    // linux/magic.h: MSDOS_SUPER_MAGIC, EXFAT_SUPER_MAGIC, NTFS3 ("sftn"), FUSE_SUPER_MAGIC.
    const MAGICS: [u64; 4] = [0x4d44, 0x2011_BAB0, 0x7366_746e, 0x6573_5546];
    rustix::fs::fstatfs(file).is_ok_and(|fs| MAGICS.contains(&(fs.f_type as u64 & 0xFFFF_FFFF)))
}

/// The file at `path`, locked by us now, if it is a regular file with the owner and mode of a scratch file of this
/// user, and no other process has locked it.
fn unowned(path: &Path) -> io::Result<Option<(File, Leftover)>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    let is_private = meta.mode() & 0o7777 == 0o600 || shows_modes_of_its_own(&file);
    let is_ours = meta.uid() == rustix::process::geteuid().as_raw() && is_private;
    if !meta.is_file()
        || !is_ours
        || rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
    {
        return Ok(None);
    }
    let leftover = Leftover {
        path: path.to_owned(),
        size: Bytes(meta.len()),
        is_ours: header::is_on(&file, path),
        modified: UnixNanos(
            i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec()),
        ),
        inode: (meta.dev(), meta.ino()),
    };
    Ok(Some((file, leftover)))
}

impl Leftover {
    /// Removes the file, if it is ours, still the one that was found, and still not in use.
    ///
    /// # Errors
    /// The kernel's answer; [`io::ErrorKind::ResourceBusy`] when a process has taken it meanwhile;
    /// [`io::ErrorKind::InvalidData`] when it does not carry [`HEADER`].
    pub fn remove(&self) -> io::Result<()> {
        match unowned(&self.path)? {
            Some((_, found)) if !found.is_ours => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it does not carry the header of a test file",
            )),
            // `_file` holds the lock until the name is gone.
            Some((_file, found)) if found.inode == self.inode => fs::remove_file(&self.path),
            _ => Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "it belongs to another process by now",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filesystem that has no locks must not be barred from being measured; a lock that could not
    /// be had for another reason must not be taken for had.
    #[test]
    fn only_a_filesystem_without_locks_is_gone_on_with() {
        for without in [Errno::NOSYS, Errno::OPNOTSUPP] {
            assert_eq!(goes_on(Err(without)), Ok(()));
        }
        for other in [Errno::NOLCK, Errno::INTR, Errno::IO] {
            assert_eq!(goes_on(Err(other)), Err(other));
        }
    }
}
