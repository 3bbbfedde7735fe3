#![expect(unsafe_code, reason = "the kernel's asynchronous I/O takes raw pointers")]
//! The kernel's older asynchronous I/O (`io_submit(2)`), by its system calls: libaio itself is only a
//! thin wrapper, and linking it would cost the static build a C library.

use std::io;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, offset_of, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};

use block::{Bytes, Nanos, Time};

use super::slots::Slots;
use crate::drive::clock;
use crate::drive::queued::{Queue, Turn};
use crate::target::EngineKind;

/// `struct iocb` of `<linux/aio_abi.h>`, as Linux 4.13 left it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Iocb {
    data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    rw_flags: i32,
    #[cfg(target_endian = "big")]
    key: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}
const _: () = assert!(size_of::<Iocb>() == 64 && offset_of!(Iocb, buffer) == 24);

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}
const _: () = assert!(size_of::<Event>() == 32);

/// The call that fetches events and takes a timespec of 64 bits a field. On processors of 32 bits `io_getevents(2)` takes one
/// of 32, and would read a wait of less than a second as none; `io_pgetevents_time64` (Linux 5.1, the same number everywhere) takes a signal mask behind it, which
/// `io_getevents` does not look at.
#[cfg(target_pointer_width = "64")]
const GET_EVENTS: libc::c_long = libc::SYS_io_getevents;
#[cfg(target_pointer_width = "32")]
const GET_EVENTS: libc::c_long = 416;

const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FDSYNC: u16 = 3;

/// Operation that the kernel performs on a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    /// Transfer into the slot's buffer.
    Read { offset: Bytes, len: Bytes },
    /// Transfer from the slot's buffer; `dsync` makes it durable before it completes.
    Write { offset: Bytes, len: Bytes, dsync: bool },
    /// `fdatasync(2)`, Linux 4.18.
    Sync,
}

/// A kernel context for asynchronous I/O; destroyed when dropped.
struct Context(libc::c_ulong);

impl Context {
    fn new(depth: u16) -> io::Result<Context> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the kernel writes the new context's id to the pointer and keeps nothing of it.
        let answer = unsafe {
            libc::syscall(libc::SYS_io_setup, libc::c_long::from(depth.max(1)), &raw mut id)
        };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(Context(id)) }
    }
}

impl Drop for Context {
    /// Waits for all that is in flight: the kernel returns from `io_destroy` only then (`io_destroy(2)`).
    fn drop(&mut self) {
        // SAFETY: the id came from io_setup and is used no more.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

/// One submitter's context on one file, and its buffers.
pub(crate) struct Aio<'a> {
    /// Dropped by hand, before the buffers.
    context: ManuallyDrop<Context>,
    file: PhantomData<BorrowedFd<'a>>,
    fd: i32,
    slots: Slots,
    iocbs: Box<[Iocb]>,
    /// Pointers into `iocbs` for the kernel, rebuilt at each submission.
    pointers: Vec<*mut Iocb>,
    events: Box<[Event]>,
    /// Slots lent but not yet submitted, oldest first.
    queued: Vec<u16>,
    in_kernel: u32,
}

// SAFETY: the pointers lead into this value's own heap memory and are only used during a call; an
// aio context belongs to the process, not to a thread.
unsafe impl Send for Aio<'_> {}

/// Asks whether the kernel has this interface, and a place left in `fs.aio-max-nr`.
pub(crate) fn probe() -> io::Result<()> {
    Context::new(1).map(drop)
}

impl<'a> Aio<'a> {
    /// A context for as many requests as there are slots.
    ///
    /// # Errors
    /// `EAGAIN` when `fs.aio-max-nr` is used up, `ENOSYS` without the interface.
    pub fn new(file: BorrowedFd<'a>, slots: Slots) -> io::Result<Aio<'a>> {
        let depth = usize::from(slots.depth());
        Ok(Aio {
            context: ManuallyDrop::new(Context::new(slots.depth())?),
            file: PhantomData,
            fd: file.as_raw_fd(),
            slots,
            iocbs: vec![Iocb::default(); depth].into_boxed_slice(),
            pointers: Vec::with_capacity(depth),
            events: vec![Event::default(); depth].into_boxed_slice(),
            queued: Vec::with_capacity(depth),
            in_kernel: 0,
        })
    }

    /// Queues `command` for a claimed slot; [`Aio::submit`] hands it over.
    #[inline]
    pub fn push(&mut self, slot: u16, command: Command) {
        let buffer = self.slots.lend(slot).address as u64;
        let iocb = Iocb { data: u64::from(slot), file: self.fd as u32, ..Iocb::default() };
        self.iocbs[usize::from(slot)] = match command {
            Command::Read { offset, len } => {
                Iocb { opcode: PREAD, buffer, bytes: len.0, offset: offset.0 as i64, ..iocb }
            }
            Command::Write { offset, len, dsync } => {
                let rw_flags = if dsync { libc::RWF_DSYNC } else { 0 };
                let offset = offset.0 as i64;
                Iocb { opcode: PWRITE, buffer, bytes: len.0, offset, rw_flags, ..iocb }
            }
            Command::Sync => Iocb { opcode: FDSYNC, ..iocb },
        };
        self.queued.push(slot);
    }

    /// Hands over what is queued, stamped `now`. A request that the kernel refuses on sight is given
    /// back through `refused`, with its stamp and result. Stops early, without an error, while the
    /// kernel is short of memory and has requests of ours that will complete.
    #[inline]
    fn submit(&mut self, now: Time, mut refused: impl FnMut(u16, Time, i32)) -> io::Result<()> {
        self.pointers.clear();
        for &slot in &self.queued {
            self.slots.stamp(slot, now);
            self.pointers.push(&raw mut self.iocbs[usize::from(slot)]);
        }
        let mut taken = 0;
        let mut result = Ok(());
        while taken < self.pointers.len() {
            let rest = &mut self.pointers[taken..];
            // SAFETY: each pointer leads to an initialised iocb that lives through the call (the
            // kernel copies it); each buffer in them is lent until its event is reaped, and is freed
            // only after the context was destroyed; the file outlives this value by its lifetime.
            let answer = unsafe {
                libc::syscall(libc::SYS_io_submit, self.context.0, rest.len(), rest.as_mut_ptr())
            };
            if answer > 0 {
                taken += answer as usize;
                self.in_kernel += answer as u32;
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EAGAIN) if self.in_kernel > 0 => break,
                Some(libc::EFAULT | libc::ENOSYS) | None => {
                    result = Err(error);
                    break;
                }
                // The first of the rest is at fault; those after it may be good.
                Some(errno) => {
                    let slot = self.queued[taken];
                    taken += 1;
                    if let Some(issued) = self.slots.take_back(slot) {
                        refused(slot, issued, -errno);
                    }
                }
            }
        }
        self.queued.drain(..taken);
        result
    }

    /// Gives back what has completed, waiting for at least one when `wait` is set, for at most `timeout`. Returns the
    /// instant after the call, and whether a signal ended it.
    #[inline]
    fn reap(
        &mut self,
        wait: bool,
        timeout: Option<Nanos>,
        mut each: impl FnMut(u16, Time, i32, Time),
    ) -> io::Result<(Time, bool)> {
        let limit = clock::timespec(timeout.unwrap_or_default());
        let unlimited = wait && timeout.is_none();
        // SAFETY: the kernel writes at most as many events as the slice holds, and only reads the
        // timespec; both live through the call.
        let answer = unsafe {
            libc::syscall(
                GET_EVENTS,
                self.context.0,
                libc::c_long::from(wait),
                self.events.len() as libc::c_long,
                self.events.as_mut_ptr(),
                if unlimited { std::ptr::null() } else { &raw const limit },
                std::ptr::null::<libc::c_void>(),
            )
        };
        if answer < 0 {
            let error = io::Error::last_os_error();
            let interrupted = error.kind() == io::ErrorKind::Interrupted;
            return if interrupted { Ok((clock::now(), true)) } else { Err(error) };
        }
        let now = clock::now();
        for event in &self.events[..answer as usize] {
            let slot = event.data as u16;
            self.in_kernel = self.in_kernel.saturating_sub(1);
            if let Some(issued) = self.slots.take_back(slot) {
                each(slot, issued, event.result as i32, now);
            }
        }
        Ok((now, false))
    }
}

impl Queue for Aio<'_> {
    const KIND: EngineKind = EngineKind::Libaio;
    const ENTERING: &'static str = "submit requests or wait for them";

    fn slots(&self) -> &Slots {
        &self.slots
    }

    #[inline]
    fn slots_mut(&mut self) -> &mut Slots {
        &mut self.slots
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.in_kernel == 0 && self.queued.is_empty()
    }

    #[inline]
    fn holds(&self) -> bool {
        !self.queued.is_empty()
    }

    /// `io_submit`, then `io_getevents`.
    #[inline]
    fn turn(
        &mut self,
        now: Time,
        wait: Option<Time>,
        mut each: impl FnMut(u16, Time, i32, Time),
    ) -> io::Result<Turn> {
        let mut any_refused = false;
        self.submit(now, |slot, issued, result| {
            any_refused = true;
            each(slot, issued, result, clock::now());
        })?;
        let wait = wait.filter(|_| !any_refused && self.in_kernel > 0);
        let timeout = wait.filter(|&until| until != Time::NEVER).map(|until| until.since(now));
        // Submitting takes long when the kernel does the I/O there and then, but the clock is not read
        // again for it: whatever it did by then is waiting to be reaped.
        let (now, interrupted) = self.reap(wait.is_some(), timeout, each)?;
        Ok(Turn { now, interrupted })
    }

    /// Only a call to the kernel can find out, so this is always true.
    #[inline]
    fn has_news(&mut self) -> bool {
        true
    }
}

impl Drop for Aio<'_> {
    fn drop(&mut self) {
        // SAFETY: the context is not used again. Destroying it waits for everything in flight, so
        // that the buffers, which are dropped after this function, are no longer the kernel's.
        unsafe { ManuallyDrop::drop(&mut self.context) };
    }
}
