//! The few system calls that no safe library offers, each behind a safe function.
#![expect(unsafe_code, reason = "the kernel is called here, so that nowhere else has to")]

use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use block::{Bytes, CpuTimes, Nanos};

/// Number of `cachestat(2)`, the same on every architecture but Alpha (Linux 6.5).
const SYS_CACHESTAT: libc::c_long = 451;

/// Ioctl `FS_IOC_FIEMAP`: `_IOWR('f', 11, struct fiemap)` (`linux/fiemap.h`, `linux/fs.h`).
const FS_IOC_FIEMAP: libc::Ioctl =
    rustix::ioctl::opcode::read_write::<[u64; 4]>(b'f', 11) as libc::Ioctl;

/// Ioctl `LOOP_GET_STATUS64` (`linux/loop.h`).
const LOOP_GET_STATUS64: libc::Ioctl = 0x4C05;

/// Extents asked for in one call.
const FIEMAP_EXTENTS: usize = 256;

/// Flush the file first, so that delayed allocation is settled.
const FIEMAP_FLAG_SYNC: u32 = 1;

/// Bytes mapped at a time to ask `mincore(2)`: one byte of answer a page.
const MINCORE_WINDOW: u64 = 1 << 30;

/// Kernel's answer of `cachestat(2)`: counts of pages (`linux/mman.h`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CacheStat {
    pub cached: u64,
    pub dirty: u64,
    pub writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// `struct fiemap_extent` (`linux/fiemap.h`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FiemapExtent {
    pub logical: u64,
    pub physical: u64,
    pub length: u64,
    pub reserved64: [u64; 2],
    pub flags: u32,
    pub reserved: [u32; 3],
}

/// The beginning of `struct loop_info64` (`linux/loop.h`), which says what a loop device lies on,
/// with the numbers of devices as `stat(2)` gives them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopStatus {
    /// `st_dev` of the backing file.
    pub device: u64,
    /// `st_ino` of it.
    pub inode: u64,
    /// `st_rdev` of it; zero for a regular file.
    pub rdevice: u64,
    rest: [u64; 26],
}

#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FiemapExtent; FIEMAP_EXTENTS],
}

fn check(result: impl Into<i64>) -> io::Result<()> {
    if result.into() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Pages of the whole file that are in the page cache.
pub(crate) fn cachestat(file: &File) -> io::Result<CacheStat> {
    // The range: offset zero, length zero, which means to the end.
    let range = [0_u64; 2];
    let mut answer = CacheStat::default();
    // SAFETY: `range` is laid out as struct cachestat_range (two u64), `answer` as struct cachestat
    // (five u64), both live through the call, and the descriptor is open as long as `file` is.
    let result = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_raw_fd(),
            range.as_ptr(),
            ptr::from_mut(&mut answer),
            0_u32,
        )
    };
    check(result)?;
    Ok(answer)
}

/// Bytes of the first `len` bytes of a file that are resident, by `mincore(2)`.
pub(crate) fn mincore(file: &File, len: u64) -> io::Result<Bytes> {
    let page = page_bytes();
    let mut resident_pages = 0_u64;
    let mut offset = 0;
    while offset < len {
        let window = (len - offset).min(MINCORE_WINDOW);
        let length = usize::try_from(window).map_err(io::Error::other)?;
        let mut pages = vec![0_u8; window.div_ceil(page) as usize];
        // SAFETY: a fresh private mapping at an address of the kernel's choice, never read through;
        // `pages` has one byte for each page of it; it is unmapped before anything else happens.
        let result = unsafe {
            let start = rustix::mm::mmap(
                ptr::null_mut(),
                length,
                rustix::mm::ProtFlags::READ,
                rustix::mm::MapFlags::PRIVATE,
                file.as_fd(),
                offset,
            )?;
            let result = check(libc::mincore(start, length, pages.as_mut_ptr()));
            rustix::mm::munmap(start, length)?;
            result
        };
        result?;
        resident_pages += pages.iter().filter(|&&page| page & 1 == 1).count() as u64;
        offset += window;
    }
    Ok(Bytes((resident_pages * page).min(len)))
}

/// The next extents of a file at and after `start`, appended to `found`; false when there are none.
pub(crate) fn fiemap(file: &File, start: u64, found: &mut Vec<FiemapExtent>) -> io::Result<bool> {
    let mut request = Box::new(Fiemap {
        start,
        length: u64::MAX - start,
        flags: FIEMAP_FLAG_SYNC,
        mapped_extents: 0,
        extent_count: FIEMAP_EXTENTS as u32,
        reserved: 0,
        extents: [FiemapExtent::default(); FIEMAP_EXTENTS],
    });
    // SAFETY: the argument is a struct fiemap followed by as many extents as `extent_count` says,
    // which is all that the kernel writes to.
    let result =
        unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, ptr::from_mut(&mut *request)) };
    check(result)?;
    let count = (request.mapped_extents as usize).min(FIEMAP_EXTENTS);
    found.extend_from_slice(&request.extents[..count]);
    Ok(count > 0)
}

/// Returns the backing file or device of a loop device.
pub(crate) fn loop_status(file: &File) -> io::Result<LoopStatus> {
    let mut answer = LoopStatus { device: 0, inode: 0, rdevice: 0, rest: [0; 26] };
    // SAFETY: `answer` is as long as struct loop_info64, which is all that a loop device writes; the
    // caller made sure that it is a block device, and no other driver has this number.
    let result =
        unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64, ptr::from_mut(&mut answer)) };
    check(result)?;
    Ok(answer)
}

/// True when someone else holds a byte-range lock, shared or exclusive, on any part of the file:
/// of a process (POSIX) or of an open file description, as a virtual machine holds on its image.
pub(crate) fn has_byte_locks(file: &File) -> io::Result<bool> {
    // SAFETY: struct flock is plain numbers, for which zeros are valid: from 0, to the end.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as _;
    lock.l_whence = libc::SEEK_SET as _;
    // SAFETY: the kernel reads and writes one struct flock, and keeps no reference to it.
    let result =
        unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, ptr::from_mut(&mut lock)) };
    check(result)?;
    Ok(i32::from(lock.l_type) != libc::F_UNLCK)
}

/// Fcntl `F_SETSIG` (`asm-generic/fcntl.h`), which libc does not name.
const F_SETSIG: libc::c_int = 10;

/// The kernel's answer to a write lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lease {
    /// Granted: it is open through this open file alone.
    Idle,
    /// Somebody else has it open, or mapped.
    InUse,
    /// No answer, with the number of the error.
    Unknown(i32),
}

/// Whether the regular file is open other than through this open file (with its duplicates): takes a write lease on it
/// (fcntl(2), `F_SETLEASE`) and gives it back at once.
///
/// If another process opens the file in that moment, the kernel sends a signal. It is `SIGURG`, which does nothing
/// unless it is handled, rather than `SIGIO`, which ends the process.
pub(crate) fn sole_user(file: &File) -> Lease {
    let call = |command, argument: libc::c_int| {
        // SAFETY: these commands take a number; the descriptor is open as long as `file` is.
        check(unsafe { libc::fcntl(file.as_raw_fd(), command, argument) })
    };
    let unknown = |error: io::Error| Lease::Unknown(error.raw_os_error().unwrap_or(0));
    if let Err(error) = call(F_SETSIG, libc::SIGURG) {
        return unknown(error);
    }
    match call(libc::F_SETLEASE, libc::F_WRLCK) {
        Ok(()) => call(libc::F_SETLEASE, libc::F_UNLCK).map_or_else(unknown, |()| Lease::Idle),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Lease::InUse,
        Err(error) => unknown(error),
    }
}

/// CPU time of this process, all threads.
pub(crate) fn process_cpu() -> io::Result<CpuTimes> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the whole structure, which may hold any bits, or fails.
    let usage = unsafe {
        check(libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()))?;
        usage.assume_init()
    };
    let nanos = |time: libc::timeval| {
        Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000)
    };
    Ok(CpuTimes { user_ns: nanos(usage.ru_utime), system_ns: nanos(usage.ru_stime) })
}

/// `struct blk_user_trace_setup` of `linux/blktrace_api.h`.
#[repr(C)]
struct TraceSetup {
    name: [u8; 32],
    act_mask: u16,
    buf_size: u32,
    buf_nr: u32,
    start_lba: u64,
    end_lba: u64,
    pid: u32,
}

/// `struct blk_user_trace_setup2`: since the version after Linux 6.18.
#[repr(C)]
struct TraceSetup2 {
    name: [u8; 64],
    act_mask: u64,
    buf_size: u32,
    buf_nr: u32,
    start_lba: u64,
    end_lba: u64,
    pid: u32,
    flags: u32,
    reserved: [u64; 11],
}

/// Ioctl `BLKTRACESETUP`: `_IOWR(0x12, 115, struct blk_user_trace_setup)`.
const BLKTRACESETUP: libc::Ioctl =
    rustix::ioctl::opcode::read_write::<TraceSetup>(0x12, 115) as libc::Ioctl;
/// Ioctl `BLKTRACESETUP2`: `_IOWR(0x12, 142, struct blk_user_trace_setup2)`.
const BLKTRACESETUP2: libc::Ioctl =
    rustix::ioctl::opcode::read_write::<TraceSetup2>(0x12, 142) as libc::Ioctl;

/// Commands to a tracing session of a block device, without an argument (`linux/fs.h`).
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(crate) enum BlockTrace {
    /// `BLKTRACESTART`: record.
    Start = 0x1274,
    /// `BLKTRACESTOP`: record no more; what was recorded can still be read.
    Stop = 0x1275,
    /// `BLKTRACETEARDOWN`: the session is over.
    Teardown = 0x1276,
}

/// Makes a tracing session on a block device, with `parts` buffers of `part_bytes` for each CPU: all actions, all
/// sectors, all tasks.
pub(crate) fn block_trace_setup(file: &File, part_bytes: u32, parts: u32) -> io::Result<()> {
    let mut setup = TraceSetup {
        name: [0; 32],
        act_mask: u16::MAX,
        buf_size: part_bytes,
        buf_nr: parts,
        start_lba: 0,
        end_lba: 0,
        pid: 0,
    };
    // SAFETY: the kernel reads and writes one such structure, and keeps no reference to it; other drivers than those
    // of block devices do not know the number.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), BLKTRACESETUP, ptr::from_mut(&mut setup)) };
    check(result)
}

/// As [`block_trace_setup`], for records of version 2.
pub(crate) fn block_trace_setup2(file: &File, part_bytes: u32, parts: u32) -> io::Result<()> {
    let mut setup = TraceSetup2 {
        name: [0; 64],
        act_mask: u64::MAX,
        buf_size: part_bytes,
        buf_nr: parts,
        start_lba: 0,
        end_lba: 0,
        pid: 0,
        flags: 0,
        reserved: [0; 11],
    };
    // SAFETY: as above, with the structure that this number is made of.
    let result =
        unsafe { libc::ioctl(file.as_raw_fd(), BLKTRACESETUP2, ptr::from_mut(&mut setup)) };
    check(result)
}

/// Controls the tracing session of a block device.
pub(crate) fn block_trace(file: &File, what: BlockTrace) -> io::Result<()> {
    // SAFETY: these requests take no argument.
    check(unsafe { libc::ioctl(file.as_raw_fd(), what as u32 as libc::Ioctl) })
}

/// Operations of a block device on a range of its bytes (`linux/fs.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum RangeCall {
    /// `BLKDISCARD`, `_IO(0x12, 119)`: it holds nothing worth keeping.
    Discard = 0x1277,
    /// `BLKSECDISCARD`, `_IO(0x12, 125)`: the same, and copies of it are erased too.
    SecureDiscard = 0x127d,
    /// `BLKZEROOUT`, `_IO(0x12, 127)`: it reads as zeros afterwards, whether the drive does that or zeros are written.
    ZeroOut = 0x127f,
}

/// Performs `call` on `len` bytes of a block device from `offset` on, and waits for its end.
pub(crate) fn block_range(
    file: &File,
    call: RangeCall,
    offset: Bytes,
    len: Bytes,
) -> io::Result<()> {
    let range = [offset.0, len.0];
    // SAFETY: the kernel reads two u64 from the address, and keeps no reference to them; it refuses a descriptor that
    // is not open for writing, and other drivers than those of block devices do not know the numbers.
    check(unsafe { libc::ioctl(file.as_raw_fd(), call as u32 as libc::Ioctl, range.as_ptr()) })
}

/// Ioctl `BLKRRPART`, `_IO(0x12, 95)` (`linux/fs.h`).
const BLKRRPART: libc::Ioctl = 0x125f;

/// Makes the kernel read a disk's partition table again.
pub(crate) fn read_partitions_again(file: &File) -> io::Result<()> {
    // SAFETY: the request takes no argument.
    check(unsafe { libc::ioctl(file.as_raw_fd(), BLKRRPART) })
}

fn sysconf(name: libc::c_int, usual: u64) -> u64 {
    // SAFETY: reads a constant of the system.
    let answer = unsafe { libc::sysconf(name) };
    u64::try_from(answer).ok().filter(|&answer| answer > 0).unwrap_or(usual)
}

/// Size of a page of memory.
pub(crate) fn page_bytes() -> u64 {
    sysconf(libc::_SC_PAGESIZE, 4096)
}

/// Length of the tick that `/proc/stat` counts in.
pub(crate) fn tick() -> Nanos {
    Nanos(1_000_000_000 / sysconf(libc::_SC_CLK_TCK, 100))
}

const _: () = assert!(size_of::<FiemapExtent>() == 56 && size_of::<CacheStat>() == 40);
const _: () = assert!(size_of::<LoopStatus>() == 232);
const _: () = assert!(size_of::<TraceSetup>() == 72 && size_of::<TraceSetup2>() == 192);
