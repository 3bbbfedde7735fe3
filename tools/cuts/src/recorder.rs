//! A disk as a file for a loop device, which keeps a log of what is done to it (FUSE).
//!
//! The kernel's dm-log-writes does the same below a device mapper; this needs none, and its log is in memory.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use fuser::{
    BackgroundSession, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, Session, WriteFlags,
};

use crate::disk::Disk;
use crate::log::{Entry, Log};

const FILE: INodeNo = INodeNo(2);
const NAME: &str = "disk";
/// Names and sizes do not change.
const TTL: Duration = Duration::from_secs(3600);
/// `FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE` (linux/falloc.h).
const PUNCH_HOLE: i32 = 3;

/// Content of the disk, and the log of the operations that produced it.
#[derive(Debug, Default)]
struct Recorded {
    disk: Disk,
    log: Log,
}

impl Recorded {
    fn add(&mut self, entry: Entry) {
        self.disk.apply(&entry);
        self.log.entries.push(entry);
    }
}

/// A disk in service until it is dropped.
#[derive(Debug)]
pub struct Recorder {
    recorded: Arc<Mutex<Recorded>>,
    file: PathBuf,
    _session: BackgroundSession,
}

impl Recorder {
    /// Puts an empty disk of `len_bytes` up in `dir`, an empty directory.
    ///
    /// # Errors
    /// Without root or /dev/fuse.
    pub fn start(dir: &Path, len_bytes: u64) -> Result<Recorder> {
        let recorded = Arc::new(Mutex::new(Recorded::default()));
        let mut config = fuser::Config::default();
        config.mount_options = vec![MountOption::FSName("cuts".to_owned()), MountOption::NoAtime];
        let face = Face { recorded: Arc::clone(&recorded), len_bytes };
        let session = Session::new(face, dir, &config);
        let session = session.context("cannot put a disk up, which takes root and /dev/fuse")?;
        Ok(Recorder { recorded, file: dir.join(NAME), _session: session.spawn()? })
    }

    /// The disk, as a file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Says something at this moment: after all that has taken effect on the disk, before all that will.
    pub fn mark(&self, text: String) {
        held(&self.recorded).add(Entry::Mark(text));
    }

    /// Entries so far.
    pub fn entries(&self) -> usize {
        held(&self.recorded).log.entries.len()
    }

    /// Takes the log so far; the next one is empty, and begins at what is then on the disk.
    pub fn take_log(&self) -> Log {
        std::mem::take(&mut held(&self.recorded).log)
    }
}

fn held(recorded: &Mutex<Recorded>) -> MutexGuard<'_, Recorded> {
    // An entry is added whole or not at all.
    recorded.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The disk in the kernel's language: a directory with one file.
struct Face {
    recorded: Arc<Mutex<Recorded>>,
    len_bytes: u64,
}

impl Face {
    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let file = FileAttr {
            ino: inode,
            size: self.len_bytes,
            blocks: self.len_bytes / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: FileType::RegularFile,
            perm: 0o600,
            nlink: 1,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        };
        match inode {
            INodeNo::ROOT => {
                Some(FileAttr { kind: FileType::Directory, perm: 0o700, nlink: 2, size: 0, ..file })
            }
            FILE => Some(file),
            _ => None,
        }
    }

    /// Bytes of a request that lie on the disk.
    fn within(&self, offset: u64, len: u64) -> usize {
        len.min(self.len_bytes.saturating_sub(offset)) as usize
    }
}

impl Filesystem for Face {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(FILE).filter(|_| parent == INodeNo::ROOT && name == NAME) {
            Some(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Past the page cache: it would hold back writes that the loop device has reported as done.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut data = vec![0; self.within(offset, u64::from(size))];
        held(&self.recorded).disk.read(offset, &mut data);
        reply.data(&data);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let data = &data[..self.within(offset, data.len() as u64)];
        // Loop devices have no forced writes: the kernel makes them of a write and a flush.
        let entry = Entry::Write { offset_bytes: offset, data: data.to_vec(), fua: false };
        held(&self.recorded).add(entry);
        reply.written(data.len() as u32);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        held(&self.recorded).add(Entry::Flush);
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        len: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if mode != PUNCH_HOLE || self.within(offset, len) as u64 != len {
            return reply.error(Errno::EOPNOTSUPP);
        }
        held(&self.recorded).add(Entry::Discard { offset_bytes: offset, len_bytes: len });
        reply.ok();
    }
}
