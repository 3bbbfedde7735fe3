//! The kernel's language: a directory with one file, whose reads and writes are the drive's.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use block::{Op, Time, UnixNanos};
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request,
    TimeOrNow, WriteFlags,
};
use rustix::fs::OFlags;

use crate::dispatch::{Answer, Message};
use crate::service::{Job, Reply};
use crate::time::RealTime;

/// The directory.
const ROOT: INodeNo = INodeNo::ROOT;
/// The file.
const FILE: INodeNo = INodeNo(2);

/// How long the kernel may cache names and sizes: they do not change.
const TTL: Duration = Duration::from_secs(1);

/// Asynchronous requests that the kernel has under way at once, as of io_uring, libaio and loop devices.
/// Its own default of 12 would be the queue depth of every drive. (Without root the kernel keeps its
/// limit, `/sys/module/fuse/parameters/max_user_bgreq`.)
const BACKGROUND_MAX: u16 = 4096;

/// `FALLOC_FL_KEEP_SIZE` (`linux/falloc.h`).
const KEEP_SIZE: i32 = 1;
/// `FALLOC_FL_PUNCH_HOLE` (`linux/falloc.h`).
const PUNCH_HOLE: i32 = 2;

/// Attributes of the file, as reported to the kernel.
#[derive(Clone, Debug)]
pub(crate) struct Face {
    pub(crate) name: &'static str,
    pub(crate) capacity_bytes: u64,
    pub(crate) physical_block_bytes: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// When the drive went into service.
    pub(crate) began: UnixNanos,
    /// The same instant on the clock.
    pub(crate) began_at: Time,
}

/// The filesystem. Only takes requests; all replies that take time are given by the dispatcher.
pub(crate) struct DriveFile {
    face: Face,
    clock: Arc<dyn RealTime>,
    requests: Sender<Message<Pending>>,
    /// Time of the last write, on the clock.
    written_at: AtomicU64,
}

/// A program that waits, in the kernel's words.
#[derive(Debug)]
pub(crate) enum Pending {
    Read(ReplyData),
    Write(ReplyWrite),
    Other(ReplyEmpty),
}

impl Answer for Pending {
    fn reply(self, reply: &Reply<'_>) {
        match (self, reply) {
            (Pending::Read(to), Reply::Data(data)) => to.data(data),
            (Pending::Read(to), Reply::Done(_)) => to.data(&[]),
            (Pending::Read(to), Reply::Failed(errno)) => to.error(Errno::from_i32(errno.0)),
            (Pending::Write(to), Reply::Done(bytes)) => to.written(*bytes as u32),
            (Pending::Write(to), Reply::Data(data)) => to.written(data.len() as u32),
            (Pending::Write(to), Reply::Failed(errno)) => to.error(Errno::from_i32(errno.0)),
            (Pending::Other(to), Reply::Failed(errno)) => to.error(Errno::from_i32(errno.0)),
            (Pending::Other(to), _) => to.ok(),
        }
    }
}

/// A request of no bytes.
fn plain(op: Op, answer: Pending) -> Job<Pending> {
    Job { op, fua: false, offset: 0, len: 0, data: Vec::new(), buffered: false, answer }
}

fn has(flags: OpenFlags, flag: OFlags) -> bool {
    flags.0 & flag.bits() as i32 != 0
}

impl DriveFile {
    pub(crate) fn new(
        face: Face,
        clock: Arc<dyn RealTime>,
        requests: Sender<Message<Pending>>,
    ) -> DriveFile {
        let written_at = AtomicU64::new(face.began_at.0);
        DriveFile { face, clock, requests, written_at }
    }

    /// Hands a request over. When the dispatcher is gone it is dropped, and with it its reply: the
    /// kernel then gets an I/O error.
    fn send(&self, arrived: Time, job: Job<Pending>) {
        let _ = self.requests.send(Message { job, arrived });
    }

    /// Bytes of a request that lie on the drive.
    fn within(&self, offset: u64, len: u64) -> u64 {
        len.min(self.face.capacity_bytes.saturating_sub(offset))
    }

    fn date(&self, at: Time) -> SystemTime {
        let began = u64::try_from(self.face.began.0).unwrap_or(0);
        UNIX_EPOCH + Duration::from_nanos(began.saturating_add(at.since(self.face.began_at).0))
    }

    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let began = self.date(self.face.began_at);
        let directory = FileAttr {
            ino: ROOT,
            size: 0,
            blocks: 0,
            atime: began,
            mtime: began,
            ctime: began,
            crtime: began,
            kind: FileType::Directory,
            perm: 0o700,
            nlink: 2,
            uid: self.face.uid,
            gid: self.face.gid,
            rdev: 0,
            blksize: self.face.physical_block_bytes,
            flags: 0,
        };
        let written = self.date(Time(self.written_at.load(Ordering::Relaxed)));
        match inode {
            ROOT => Some(directory),
            FILE => Some(FileAttr {
                ino: FILE,
                size: self.face.capacity_bytes,
                // The full size, as of a drive: the file must not look sparse.
                blocks: self.face.capacity_bytes / 512,
                mtime: written,
                ctime: written,
                kind: FileType::RegularFile,
                perm: 0o600,
                nlink: 1,
                ..directory
            }),
            _ => None,
        }
    }
}

impl Filesystem for DriveFile {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Each of these is refused by a kernel that does not have it, and served without.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(BACKGROUND_MAX);
        let _ = config.set_congestion_threshold(BACKGROUND_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(FILE).filter(|_| parent == ROOT && name == self.face.name) {
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

    /// As of a block device: opening it with `O_TRUNC` changes nothing, another size is refused, and
    /// times can be touched without effect.
    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let is_other_size = size.is_some_and(|size| {
            size != self.face.capacity_bytes && (size != 0 || handle.is_some())
        });
        if mode.is_some() || uid.is_some() || gid.is_some() {
            return reply.error(Errno::EPERM);
        }
        if is_other_size {
            return reply.error(Errno::EINVAL);
        }
        self.getattr_of(inode, reply);
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if inode != FILE {
            return reply.error(Errno::EISDIR);
        }
        // Bypass the page cache, whatever the program asked for: every read reaches the drive. Writes of several
        // threads run in parallel, and closing sends no flush request.
        let flags = FopenFlags::FOPEN_DIRECT_IO
            | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
            | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let arrived = self.clock.now();
        let len = self.within(offset, u64::from(size));
        if len == 0 {
            return reply.data(&[]);
        }
        let job =
            Job { buffered: !has(flags, OFlags::DIRECT), ..plain(Op::Read, Pending::Read(reply)) };
        self.send(arrived, Job { offset, len, ..job });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let arrived = self.clock.now();
        let len = self.within(offset, data.len() as u64);
        if len == 0 && !data.is_empty() {
            return reply.error(Errno::ENOSPC);
        }
        if len == 0 {
            return reply.written(0);
        }
        self.written_at.store(arrived.0, Ordering::Relaxed);
        // O_SYNC holds O_DSYNC. The kernel adds the flags of a single write (RWF_DSYNC) to the file's.
        let (fua, buffered) = (has(flags, OFlags::DSYNC), !has(flags, OFlags::DIRECT));
        let data = data[..len as usize].to_vec();
        let job = plain(Op::Write, Pending::Write(reply));
        self.send(arrived, Job { fua, offset, len, data, buffered, ..job });
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.send(self.clock.now(), plain(Op::Flush, Pending::Other(reply)));
    }

    /// Closing a drive flushes nothing.
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
        let arrived = self.clock.now();
        let is_within = self.within(offset, len) == len;
        match mode & !KEEP_SIZE {
            // Room for all of the drive is there.
            0 if is_within => reply.ok(),
            0 => reply.error(Errno::ENOSPC),
            PUNCH_HOLE if is_within => {
                let job = plain(Op::Discard, Pending::Other(reply));
                self.send(arrived, Job { offset, len, ..job });
            }
            PUNCH_HOLE => reply.error(Errno::EINVAL),
            _ => reply.error(Errno::EOPNOTSUPP),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let block = self.face.physical_block_bytes;
        let blocks = self.face.capacity_bytes / u64::from(block.max(1));
        reply.statfs(blocks, 0, 0, 2, 0, block, 255, block);
    }

    fn readdir(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if inode != ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let entries = [
            (ROOT, FileType::Directory, "."),
            (ROOT, FileType::Directory, ".."),
            (FILE, FileType::RegularFile, self.face.name),
        ];
        for (at, (inode, kind, name)) in (1..).zip(entries).skip(offset as usize) {
            if reply.add(inode, at, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    // Nothing else can be put there, and the drive cannot be taken away but by ending the server.

    fn create(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        reply.error(Errno::EPERM);
    }

    fn mknod(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(Errno::EPERM);
    }

    fn mkdir(&self, _: &Request, _: INodeNo, _: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        reply.error(Errno::EPERM);
    }

    fn unlink(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EPERM);
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: INodeNo,
        _: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EPERM);
    }
}

impl DriveFile {
    fn getattr_of(&self, inode: INodeNo, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }
}
