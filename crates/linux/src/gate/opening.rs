//! Opening what was looked at, and nothing else that has its name by then.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat};

use super::look::Mode;
use crate::locks::Unlocking;
use crate::syscalls;

const BUSY_TRIES: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(50);

/// Opens a device that is free in a `mode`, and exclusively; for a look inside otherwise.
///
/// A claim may last for a moment only: `losetup -f` claims each device that it tries, and udev
/// claims what it looks at; and the kernel gives up that of a run that was killed only when its I/O has ended. So a busy
/// device is tried again for a second.
pub(super) fn device(real: &Path, seen: &fs::Metadata, mode: Option<Mode>) -> io::Result<File> {
    let claim = if mode.is_some() { OFlags::EXCL } else { OFlags::empty() };
    let mut tries_left = BUSY_TRIES;
    loop {
        match open(real, seen, mode, claim) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && tries_left > 0 => {
                tries_left -= 1;
                std::thread::sleep(BUSY_PAUSE);
            }
            result => return result,
        }
    }
}

/// Opens a regular file.
pub(super) fn file(real: &Path, seen: &fs::Metadata, mode: Mode) -> io::Result<File> {
    open(real, seen, Some(mode), OFlags::empty())
}

fn open(real: &Path, seen: &fs::Metadata, mode: Option<Mode>, claim: OFlags) -> io::Result<File> {
    // Neither a link nor a pipe that took the name meanwhile is followed or waited for.
    let flags = claim | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(mode == Some(Mode::Take)).custom_flags(flags.bits() as i32);
    let file = options.open(real)?;
    if !is_same(&file.metadata()?, seen) {
        return Err(io::Error::other("another took its name while it was looked at"));
    }
    if mode == Some(Mode::Look) {
        accessat(CWD, real, Access::WRITE_OK, AtFlags::EACCESS)?;
    }
    // io_uring answers EAGAIN on such a descriptor where it would have waited.
    let flags = rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK;
    rustix::fs::fcntl_setfl(&file, flags)?;
    Ok(file)
}

/// A device is its number, whatever node leads to it; a file is its inode.
fn is_same(opened: &fs::Metadata, seen: &fs::Metadata) -> bool {
    let (now, then) = (opened.file_type(), seen.file_type());
    match then.is_block_device() {
        true => now.is_block_device() && opened.rdev() == seen.rdev(),
        false => now == then && (opened.dev(), opened.ino()) == (seen.dev(), seen.ino()),
    }
}

/// True when someone else has locked the file, in either of the two ways that do not see each other:
/// another measurement of ours (`flock`), or a virtual machine (byte ranges of its image). Takes the
/// lock of the first kind otherwise.
pub(super) fn is_locked(file: &Unlocking) -> io::Result<bool> {
    // Asked before our own lock is taken: NFS makes a lock on bytes of that.
    let bytes_locked = match syscalls::has_byte_locks(file) {
        // A filesystem without such locks has no lock holders.
        Err(error) => match error.raw_os_error() {
            Some(libc::EINVAL | libc::ENOSYS | libc::EOPNOTSUPP | libc::ENOLCK) => false,
            _ => return Err(error),
        },
        Ok(locked) => locked,
    };
    if bytes_locked {
        return Ok(true);
    }
    match file.lock() {
        // NFS takes such a lock only by a descriptor that can write, which one for a look is not.
        Err(error) if error.raw_os_error() == Some(libc::EBADF) => Ok(false),
        taken => Ok(!taken.unwrap_or(false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between the look and the opening the name may have been given to another file, to a link or
    /// to a pipe: were that written to, it would be without consent, and the pipe waited for.
    #[test]
    fn what_took_the_name_meanwhile_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("mine"), "mine").unwrap();
        fs::write(at("other"), "other").unwrap();
        let seen = fs::symlink_metadata(at("mine")).unwrap();
        let file = |path: &Path, seen: &fs::Metadata| file(path, seen, Mode::Take);
        file(&at("mine"), &seen).unwrap();
        fs::hard_link(at("mine"), at("alias")).unwrap();
        file(&at("alias"), &seen).unwrap();
        assert!(file(&at("other"), &seen).unwrap_err().to_string().contains("took its name"));

        std::os::unix::fs::symlink(at("mine"), at("link")).unwrap();
        let error = file(&at("link"), &seen).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ELOOP));
        let pipe = at("pipe");
        rustix::fs::mknodat(
            CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(file(&pipe, &seen).unwrap_err().to_string().contains("took its name"));
        // A file where a device was seen, and a device of another number.
        let null = fs::metadata("/dev/null").unwrap();
        assert!(!is_same(&seen, &null) && !is_same(&null, &seen));
    }
}
