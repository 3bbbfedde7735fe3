//! Why a target cannot be measured as asked, and what to do about it.

use std::os::unix::fs::FileTypeExt as _;
use std::{fs, io};

use thiserror::Error;

use super::EngineKind;
use super::options::{Access, OpenOptions};

/// Why a path cannot be a target. Each names the path, what is wrong, and a way out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TargetError {
    /// Nothing is there.
    #[error("{path}: no such file or device; `drivescope devices` lists what can be measured")]
    NotFound {
        /// As the user named it.
        path: String,
    },
    /// It may not be opened like that.
    #[error("{path}: no permission to {what} it; {remedy}")]
    Permission {
        /// As the user named it.
        path: String,
        /// Question to the kernel.
        what: &'static str,
        /// The way out.
        remedy: &'static str,
    },
    /// It is a directory.
    #[error("{path}: is a directory; name a device (drivescope devices lists them) or a file")]
    Directory {
        /// As the user named it.
        path: String,
    },
    /// It is neither a file nor a block device.
    #[error("{path}: {what} is not storage; name a regular file or a block device")]
    NotStorage {
        /// As the user named it.
        path: String,
        /// Kind of file that it is.
        what: &'static str,
    },
    /// It holds nothing.
    #[error("{path}: it has no content to measure; {remedy}")]
    Empty {
        /// As the user named it.
        path: String,
        /// The way out.
        remedy: &'static str,
    },
    /// Exclusive use was asked for, and somebody else uses it.
    #[error(
        "{path}: in use, mounted or held by another layer; free it, or read it without exclusive use"
    )]
    Busy {
        /// As the user named it.
        path: String,
    },
    /// Medium, switch or filesystem do not allow writing.
    #[error("{path}: it cannot be written; measure reads only (--read-only)")]
    WriteProtected {
        /// As the user named it.
        path: String,
    },
    /// The descriptor handed over is not open for reading and writing.
    #[error("{path}: it is not open for reading and writing; open it with both")]
    NotOpenForWriting {
        /// As the user named it.
        path: String,
    },
    /// The filesystem has no direct I/O for this file.
    #[error(
        "{path}: no direct I/O on this filesystem; use --buffered, and expect its cache to answer"
    )]
    NoDirectIo {
        /// As the user named it.
        path: String,
    },
    /// Polling was asked for without what it needs.
    #[error("{path}: polling for completions needs --engine io_uring and direct I/O")]
    PollNeedsRing {
        /// As the user named it.
        path: String,
    },
    /// The kernel does not let us use the engine.
    #[error("{path}: engine {engine} cannot be used: {source}; {remedy}")]
    Engine {
        /// As the user named it.
        path: String,
        /// The engine.
        engine: EngineKind,
        /// The kernel's answer.
        source: io::Error,
        /// The way out.
        remedy: &'static str,
    },
    /// Anything else that the kernel refused.
    #[error("{path}: cannot {action} it: {source}")]
    Io {
        /// As the user named it.
        path: String,
        /// Action that failed.
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl TargetError {
    /// The error for `source`, met on opening `path` as `options` say.
    pub(super) fn opening(path: &str, options: &OpenOptions, source: io::Error) -> TargetError {
        let is_device = fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device());
        let path = path.to_owned();
        match source.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => TargetError::NotFound { path },
            Some(libc::EISDIR) => TargetError::Directory { path },
            Some(libc::EACCES | libc::EPERM) => match options.access {
                Access::ReadOnly => TargetError::Permission {
                    path,
                    what: "read",
                    remedy: match is_device {
                        true => {
                            "run as root, or as a member of the group disk; a container must also be given the device"
                        }
                        false => "run as root, or as a user who may",
                    },
                },
                Access::ReadWrite => TargetError::Permission {
                    path,
                    what: "read and write",
                    remedy: "run as a user who may, or measure reads only (--read-only)",
                },
            },
            Some(libc::EBUSY) => TargetError::Busy { path },
            Some(libc::EROFS | libc::ETXTBSY) => TargetError::WriteProtected { path },
            Some(libc::ENOMEDIUM) => {
                TargetError::Empty { path, remedy: "put a medium into the drive" }
            }
            // EINVAL is the kernel's word for a filesystem without direct I/O (open(2)).
            Some(libc::EINVAL) if options.direct => {
                match rustix::fs::statfs(&*path).is_ok_and(|found| is_made_up(&found)) {
                    true => TargetError::made_up(&path),
                    false => TargetError::NoDirectIo { path },
                }
            }
            _ => TargetError::Io { path, action: "open", source },
        }
    }

    /// The error for a file that is not storage, whatever it looks like.
    pub(super) fn made_up(path: &str) -> TargetError {
        TargetError::NotStorage {
            path: path.to_owned(),
            what: "a file whose content the kernel makes up (as in /proc and /sys)",
        }
    }

    /// Makes the error for whatever else fails while doing `action` to `path`.
    pub(super) fn io<E: Into<io::Error>>(
        path: &str,
        action: &'static str,
    ) -> impl FnOnce(E) -> TargetError {
        move |source| TargetError::Io { path: path.to_owned(), action, source: source.into() }
    }
}

/// True on filesystems that show what the kernel knows as files: nothing of them lies on a drive.
pub(super) fn is_made_up(found: &rustix::fs::StatFs) -> bool {
    // linux/magic.h: PROC, SYSFS, DEBUGFS, TRACEFS, SECURITYFS, CGROUP, CGROUP2, BPF_FS.
    const MAGICS: [u64; 8] = [
        0x9fa0,
        0x6265_6572,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x0027_e0eb,
        0x6367_7270,
        0xcafe_4a11,
    ];
    MAGICS.contains(&(found.f_type as u64 & 0xFFFF_FFFF))
}

/// Remedy for an `error` of `engine`.
pub(crate) fn engine_remedy(engine: EngineKind, error: &io::Error) -> &'static str {
    match (engine, error.raw_os_error()) {
        (EngineKind::IoUring, Some(libc::EMFILE | libc::ENFILE)) => {
            "each submitter needs an open file of its own: raise the limit (ulimit -n), take fewer \
             threads, or use --engine libaio, which needs none"
        }
        (EngineKind::IoUring, Some(libc::EPERM)) => {
            "io_uring is switched off or filtered here, see sysctl kernel.io_uring_disabled and \
             the container's seccomp profile; use --engine libaio"
        }
        (EngineKind::IoUring, Some(libc::ENOMEM)) => {
            "raise `ulimit -l`, lower the depth, or use --engine libaio"
        }
        (EngineKind::IoUring, Some(libc::EEXIST)) => {
            "a drive belongs to the thread that attached it"
        }
        (EngineKind::IoUring, Some(libc::EBADFD)) => "a drive is attached before it is used",
        (EngineKind::IoUring, _) => "use --engine libaio",
        (EngineKind::Libaio, Some(libc::EAGAIN)) => {
            "sysctl fs.aio-max-nr is used up: raise it, lower the depth, or use --engine io_uring"
        }
        (EngineKind::Libaio, _) => "use --engine psync",
        (EngineKind::Psync, _) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // As root these cannot be provoked, and a user who meets them has only this text to go by.
    #[test]
    fn what_the_kernel_says_becomes_what_to_do() {
        let read = OpenOptions::default();
        let write = OpenOptions { access: Access::ReadWrite, ..OpenOptions::default() };
        let text = |options: &OpenOptions, errno| {
            TargetError::opening("disk", options, io::Error::from_raw_os_error(errno)).to_string()
        };
        assert!(text(&read, libc::EACCES).contains("no permission to read it; run as root"));
        assert!(text(&write, libc::EACCES).contains("--read-only"));
        assert!(text(&write, libc::EROFS).contains("--read-only"));
        assert!(text(&read, libc::ENOMEDIUM).contains("put a medium"));
        assert!(text(&read, libc::EINVAL).contains("--buffered"));
        let buffered = OpenOptions { direct: false, ..OpenOptions::default() };
        assert!(!text(&buffered, libc::EINVAL).contains("--buffered"), "it already is");
        let disabled =
            engine_remedy(EngineKind::IoUring, &io::Error::from_raw_os_error(libc::EPERM));
        assert!(disabled.contains("kernel.io_uring_disabled") && disabled.contains("libaio"));
        let short = engine_remedy(EngineKind::IoUring, &io::Error::from_raw_os_error(libc::EMFILE));
        assert!(short.contains("ulimit -n") && short.contains("fewer threads"));
        let full = engine_remedy(EngineKind::Libaio, &io::Error::from_raw_os_error(libc::EAGAIN));
        assert!(full.contains("fs.aio-max-nr"));
    }
}
