#![expect(unsafe_code, reason = "io_uring shares memory with the kernel")]
//! An io_uring with its buffers: safe to use, because it alone lends them out.
//!
//! Beyond the `io-uring` crate it does two things by hand: entering through a registered ring
//! descriptor (the crate keeps its index to itself, in a value that cannot be stored beside the ring)
//! and passing the timeout without rebuilding the crate's argument type at each call.

use std::io;
use std::mem::{ManuallyDrop, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::thread::ThreadId;

use block::{Bytes, Nanos, Time};
use io_uring::{IoUring, opcode, squeue, types};

use super::command::{Command, entry};
use super::setup::best;
use super::slots::Slots;
use crate::drive::clock;
use crate::drive::queued::{Queue, Turn};
use crate::target::EngineKind;

/// `IORING_MAX_ENTRIES`: the deepest submission queue that the kernel makes.
pub(crate) const DEPTH_MAX: u16 = 32_768;
/// `IORING_MAX_REG_BUFFERS`: more buffers than this cannot be registered.
pub(crate) const BUFFERS_MAX: usize = 1 << 14;
/// A single registered buffer is at most this long.
const BUFFER_BYTES_MAX: usize = 1 << 30;

/// Marks the alarm in place of a slot number; no slot has this number (see [`DEPTH_MAX`]).
const ALARM: u16 = u16::MAX;
/// A wait that may take at least this long is ended by the alarm, a shorter one by a timeout of its own.
const ALARM_MIN: Nanos = Nanos::millis(10);

const ENTER_GETEVENTS: u32 = 1;
const ENTER_EXT_ARG: u32 = 8;
const ENTER_REGISTERED_RING: u32 = 16;
const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;
/// How long a drop waits for I/O that does not come back before it leaks the buffers instead.
const DRAIN_MAX: Nanos = Nanos::secs(30);

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct WaitArg {
    sigmask: u64,
    sigmask_len: u32,
    min_wait_us: u32,
    timeout: u64,
}
const _: () = assert!(size_of::<WaitArg>() == 24);

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct RingUpdate {
    index: u32,
    reserved: u32,
    fd: u64,
}
const _: () = assert!(size_of::<RingUpdate>() == 16);

/// How a call into the kernel ended, apart from what it completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// Normally, or because the time was up.
    Returned,
    /// By a signal.
    Interrupted,
    /// The kernel was short of something and took less than it was given.
    Short,
}

/// One submitter's ring on one file.
pub(crate) struct Ring<'a> {
    uring: IoUring,
    file: BorrowedFd<'a>,
    /// Dropped by hand, only when the kernel is known to be done with it.
    slots: ManuallyDrop<Slots>,
    /// Completions are only seen on entering.
    polled: bool,
    fixed_file: bool,
    fixed_buffers: bool,
    can_discard: bool,
    /// Index among the owner thread's registered rings.
    index: Option<u32>,
    owner: Option<ThreadId>,
    /// Slots lent and pushed, but not yet entered with, oldest first; [`ALARM`] among them.
    queued: Vec<u16>,
    /// Requests that the kernel has and has not completed, the alarm not counted.
    in_kernel: u32,
    alarm: Alarm,
}

/// A timer in the kernel that many waits have in common. With a timeout of its own each wait that sleeps would
/// have the kernel arm a timer and take it back, at depth 1 for every I/O.
struct Alarm {
    /// The kernel may be asked for one.
    usable: bool,
    /// It is among what is queued.
    queued: bool,
    /// When the one that was asked for rings, until it has.
    due: Option<Time>,
    /// The same for the kernel, which reads it when entered with the request.
    spec: Box<types::Timespec>,
}

impl<'a> Ring<'a> {
    /// Sets a ring up for `slots`, with the best mode that the kernel has. It does nothing before
    /// [`Ring::arm`].
    pub fn new(file: BorrowedFd<'a>, slots: Slots, iopoll: bool) -> io::Result<Ring<'a>> {
        let depth = slots.depth();
        // One more than slots, for the alarm, if there is one more.
        let entries = (u32::from(depth) + 1).next_power_of_two().min(u32::from(DEPTH_MAX));
        let uring = best(entries, iopoll)?;
        Ok(Ring {
            uring,
            file,
            slots: ManuallyDrop::new(slots),
            polled: iopoll,
            fixed_file: false,
            fixed_buffers: false,
            can_discard: false,
            index: None,
            owner: None,
            queued: Vec::with_capacity(usize::from(depth) + 1),
            in_kernel: 0,
            alarm: Alarm {
                // A ring that polls takes nothing that does not complete that way.
                usable: !iopoll && entries > u32::from(depth),
                queued: false,
                due: None,
                spec: Box::new(types::Timespec::new()),
            },
        })
    }

    /// Binds the ring to the calling thread. Registers file, buffers and ring, as far as the kernel permits;
    /// passes what it refused to `note`.
    pub fn arm(&mut self, note: &mut dyn FnMut(String)) -> io::Result<()> {
        let submitter = self.uring.submitter();
        match submitter.register_files(&[self.file.as_raw_fd()]) {
            Ok(()) => self.fixed_file = true,
            Err(error) => note(format!("io_uring: the file is not registered: {error}")),
        }
        let iovecs = self.slots.iovecs();
        if iovecs.len() <= BUFFERS_MAX && iovecs.iter().all(|v| v.iov_len <= BUFFER_BYTES_MAX) {
            // SAFETY: the kernel pins these pages, so they outlive even an unmapping of ours.
            match unsafe { submitter.register_buffers(&iovecs) } {
                Ok(()) => self.fixed_buffers = true,
                Err(error) => note(format!(
                    "io_uring: buffers are not registered: {error} (more CPU per I/O; raise \
                     `ulimit -l` above {} KiB)",
                    iovecs.iter().map(|v| v.iov_len >> 10).sum::<usize>()
                )),
            }
        } else {
            note("io_uring: buffers are not registered: there are too many, or too large".into());
        }
        submitter.register_enable_rings()?;
        self.owner = Some(std::thread::current().id());
        self.index = self.register_self();
        Ok(())
    }

    /// Finds out whether the kernel discards ranges of this block device through the ring: an empty
    /// range is `EINVAL` where it does, and changes nothing. Before Linux 5.19 that is the answer to
    /// the command itself, so the ring is asked first whether it knows it.
    pub fn probe_discard(&mut self) -> io::Result<()> {
        if !self.knows(opcode::UringCmd16::CODE) {
            return Ok(());
        }
        let probe = Command::Discard { offset: Bytes::ZERO, len: Bytes::ZERO };
        self.slots.claim(0, Bytes::ZERO).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.push(0, probe)?;
        while self.in_kernel > 0 || !self.queued.is_empty() {
            self.enter(clock::now(), Some(Time::NEVER))?;
            let mut answer = 0;
            self.reap(|_, _, result| answer = result);
            self.can_discard = answer == -libc::EINVAL;
        }
        Ok(())
    }

    /// True when the kernel says that it has the operation; false when it cannot be asked (before
    /// Linux 5.6, or under a filter).
    fn knows(&self, operation: u8) -> bool {
        let mut probe = io_uring::Probe::new();
        let asked = self.uring.submitter().register_probe(&mut probe);
        asked.is_ok() && probe.is_supported(operation)
    }

    /// True when [`Command::Discard`] works here.
    pub fn can_discard(&self) -> bool {
        self.can_discard
    }

    /// Queues `command` for a claimed slot; [`Ring::enter`] hands it over.
    #[inline]
    pub fn push(&mut self, slot: u16, command: Command) -> io::Result<()> {
        let lent = self.slots.lend(slot);
        // The file was registered alone, so its index is 0; the flag says that it is an index.
        let (file, flags) = match self.fixed_file {
            true => (types::Fd(0), squeue::Flags::FIXED_FILE),
            false => (types::Fd(self.file.as_raw_fd()), squeue::Flags::empty()),
        };
        let buffer_index = self.fixed_buffers.then_some(lent.index);
        let entry = entry(file, lent.address, buffer_index, command)
            .flags(flags)
            .user_data(u64::from(slot));
        // SAFETY: the buffer is lent until the slot's completion is reaped, and not freed before
        // (see `drop`); the file outlives the ring by its lifetime. Both descriptors are valid.
        let pushed = unsafe { self.uring.submission().push(&entry) };
        // One request a slot and as many entries as slots: the queue cannot be full.
        pushed.map_err(|_| io::Error::other("the submission queue is full"))?;
        self.queued.push(slot);
        Ok(())
    }

    /// Returns the timeout to pass with a wait from `now` to `until`; `None` when the wait has no limit, or
    /// the alarm goes off by then.
    #[inline]
    fn limit(&mut self, now: Time, until: Time) -> Option<Nanos> {
        if until == Time::NEVER || self.alarm.due == Some(until) {
            return None;
        }
        let rest = until.since(now);
        (rest < ALARM_MIN || !self.set_alarm(until)).then_some(rest)
    }

    /// Queues the request for an alarm at `due`. False if that cannot be had, or another one is due.
    #[cold]
    fn set_alarm(&mut self, due: Time) -> bool {
        if !self.alarm.usable || self.alarm.due.is_some() {
            return false;
        }
        let at = clock::timespec(Nanos(due.0));
        *self.alarm.spec = types::Timespec::new().sec(at.tv_sec as u64).nsec(at.tv_nsec as u32);
        let entry = opcode::Timeout::new(&raw const *self.alarm.spec)
            .flags(types::TimeoutFlags::ABS)
            .build()
            .user_data(u64::from(ALARM));
        // SAFETY: the kernel reads the timespec when it takes the entry, and not again; it lives as long as
        // the ring and is not changed before `due` is cleared, which takes the entry's completion.
        let pushed = unsafe { self.uring.submission().push(&entry) };
        self.alarm.usable = pushed.is_ok();
        if pushed.is_ok() {
            self.alarm.due = Some(due);
            self.alarm.queued = true;
            self.queued.push(ALARM);
        }
        pushed.is_ok()
    }

    /// Hands over what is queued, stamped `now`, and, if `wait` is set, waits until something
    /// completes or that instant has come.
    #[inline]
    pub fn enter(&mut self, now: Time, wait: Option<Time>) -> io::Result<Entered> {
        let timeout = wait.and_then(|until| self.limit(now, until));
        for &slot in &self.queued {
            self.slots.stamp(slot, now);
        }
        let handed = self.queued.len();
        let (fd, flag) = match self.index {
            Some(index) => (index as i32, ENTER_REGISTERED_RING),
            None => (self.uring.as_raw_fd(), 0),
        };
        match enter(fd, handed as u32, u32::from(wait.is_some()), flag, timeout) {
            Ok(taken) => {
                self.in_kernel += taken - self.alarms_among(taken);
                if taken as usize == handed {
                    self.queued.clear();
                    Ok(Entered::Returned)
                } else {
                    self.queued.drain(..taken as usize);
                    Ok(Entered::Short)
                }
            }
            Err(error) => ended(error),
        }
    }

    /// How many of the first `taken` that are queued are not requests: 1 if the alarm is among them.
    #[inline]
    fn alarms_among(&mut self, taken: u32) -> u32 {
        if !self.alarm.queued {
            return 0;
        }
        let went = self.queued[..taken as usize].contains(&ALARM);
        self.alarm.queued = !went;
        u32::from(went)
    }

    /// Gives back every slot that has completed, in the order in which the kernel says so, with the
    /// instant of its hand-over and the kernel's result. The queue's head is published on return:
    /// the next wait would otherwise count these completions again and come back at once.
    #[inline]
    pub fn reap(&mut self, mut each: impl FnMut(u16, Time, i32)) {
        let Ring { uring, slots, in_kernel, alarm, .. } = self;
        for completion in uring.completion() {
            let slot = completion.user_data() as u16;
            if slot == ALARM {
                alarm.due = None;
                // Anything else is a kernel that has no such timer.
                alarm.usable = completion.result() == -libc::ETIME;
                continue;
            }
            *in_kernel = in_kernel.saturating_sub(1);
            if let Some(issued) = slots.take_back(slot) {
                each(slot, issued, completion.result());
            }
        }
    }

    /// Registers the ring's own descriptor with the calling thread; saves a lookup at each call.
    fn register_self(&self) -> Option<u32> {
        let fd = self.uring.as_raw_fd();
        let mut update = RingUpdate { index: u32::MAX, reserved: 0, fd: fd as u64 };
        // SAFETY: the kernel reads one `RingUpdate` and writes the index it chose back into it.
        let answer = unsafe {
            libc::syscall(libc::SYS_io_uring_register, fd, REGISTER_RING_FDS, &raw mut update, 1)
        };
        (answer == 1).then_some(update.index)
    }

    /// Frees the thread's entry again: a thread has only 16.
    fn unregister_self(&mut self) {
        let on_owner = self.owner == Some(std::thread::current().id());
        let Some(index) = self.index.take().filter(|_| on_owner) else {
            return;
        };
        let fd = self.uring.as_raw_fd();
        let update = RingUpdate { index, reserved: 0, fd: 0 };
        // SAFETY: the kernel only reads the one `RingUpdate`.
        unsafe {
            libc::syscall(
                libc::SYS_io_uring_register,
                fd,
                UNREGISTER_RING_FDS,
                &raw const update,
                1,
            )
        };
    }

    /// Gives file and buffers back now. Closing a ring only begins its end: the kernel's worker lets go of
    /// what is registered later. Until then, even after our process has ended, the device counts as held
    /// and its filesystem cannot be unmounted; and the buffers are charged to the user's limit of locked
    /// memory, so that the next ring could not register its own. On another thread the kernel refuses, and
    /// it takes longer.
    fn let_go(&mut self) {
        if std::mem::take(&mut self.fixed_file) {
            let _ = self.uring.submitter().unregister_files();
        }
        if std::mem::take(&mut self.fixed_buffers) {
            let _ = self.uring.submitter().unregister_buffers();
        }
    }

    /// Waits until the kernel has nothing more of ours. False when that cannot be established: the
    /// ring belongs to another thread, or the drive does not answer.
    fn drain(&mut self) -> bool {
        self.unregister_self();
        let until = clock::now() + DRAIN_MAX;
        self.reap(|_, _, _| {});
        while self.in_kernel > 0 {
            let fd = self.uring.as_raw_fd();
            let ended_well = match enter(fd, 0, 1, 0, Some(Nanos::secs(1))) {
                Ok(_) => true,
                Err(error) => ended(error).is_ok(),
            };
            self.reap(|_, _, _| {});
            if self.in_kernel > 0 && (!ended_well || clock::now() >= until) {
                return false;
            }
        }
        true
    }
}

impl Queue for Ring<'_> {
    const KIND: EngineKind = EngineKind::IoUring;
    const ENTERING: &'static str = "enter the ring";

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

    /// One `io_uring_enter`, and completions without any.
    #[inline]
    fn turn(
        &mut self,
        now: Time,
        wait: Option<Time>,
        mut each: impl FnMut(u16, Time, i32, Time),
    ) -> io::Result<Turn> {
        let interrupted = self.enter(now, wait)? == Entered::Interrupted;
        let now = clock::now();
        self.reap(|slot, issued, result| each(slot, issued, result, now));
        Ok(Turn { now, interrupted })
    }

    /// As far as can be seen without entering the kernel. A device that is polled has its news only then.
    #[inline]
    fn has_news(&mut self) -> bool {
        self.polled || !self.uring.completion().is_empty() || self.uring.submission().taskrun()
    }
}

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        // Slots that were queued but never entered with are unknown to the kernel and need no wait.
        if self.drain() {
            self.let_go();
            // SAFETY: nothing is in flight, and `slots` is not used again: this is the drop. When
            // draining fails the buffers are leaked on purpose, since the kernel may still write.
            unsafe { ManuallyDrop::drop(&mut self.slots) };
        }
    }
}

/// `io_uring_enter(2)`, always with `GETEVENTS`: deferred completions are only delivered by it.
#[inline]
fn enter(fd: i32, submit: u32, want: u32, flag: u32, limit: Option<Nanos>) -> io::Result<u32> {
    let timeout;
    let mut wait = WaitArg { sigmask: 0, sigmask_len: 0, min_wait_us: 0, timeout: 0 };
    // Without a timeout there is no argument, which the kernel would have to fetch.
    let (mut extended, mut argument, mut size) = (0, std::ptr::null(), 0);
    if let Some(limit) = limit {
        timeout = clock::timespec(limit);
        wait.timeout = &raw const timeout as u64;
        (extended, argument, size) = (ENTER_EXT_ARG, &raw const wait, size_of::<WaitArg>());
    }
    let flags = flag | ENTER_GETEVENTS | extended;
    // SAFETY: the arguments are those of io_uring_enter, with EXT_ARG or without a signal mask; the struct
    // and the timespec that it points to live until the call returns, and the kernel keeps neither. What the
    // queue makes the kernel do to memory was answered for when the entries were pushed.
    let answer =
        unsafe { libc::syscall(libc::SYS_io_uring_enter, fd, submit, want, flags, argument, size) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as u32) }
}

/// Separates the ends of a call that are part of normal work from errors.
#[cold]
fn ended(error: io::Error) -> io::Result<Entered> {
    match error.raw_os_error() {
        Some(libc::ETIME) => Ok(Entered::Returned),
        Some(libc::EINTR) => Ok(Entered::Interrupted),
        Some(libc::EAGAIN | libc::EBUSY) => Ok(Entered::Short),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use io::Write as _;

    use super::super::setup::{SETUPS, build};
    use super::*;

    fn ring(file: &std::fs::File) -> Ring<'_> {
        use std::os::fd::AsFd;
        Ring::new(
            file.as_fd(),
            Slots::new(2, false, (Bytes(4096), Bytes(u64::MAX)), Bytes(512)).unwrap(),
            false,
        )
        .unwrap()
    }

    // The steps down are met only on older kernels; each must at least be a mode that a kernel knows.
    #[test]
    fn every_mode_can_be_set_up_and_read_through() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        for step in 0..SETUPS {
            let mut ring = ring(&file);
            match build(step, 2, false) {
                Ok(uring) => ring.uring = uring,
                // This kernel is older than the mode.
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => continue,
                Err(error) => panic!("mode {step}: {error}"),
            }
            ring.arm(&mut |note| panic!("mode {step}: {note}")).unwrap();
            ring.slots_mut().claim(1, Bytes(64)).unwrap();
            ring.push(1, Command::Read { offset: Bytes(0), len: Bytes(64) }).unwrap();
            let mut result = None;
            while result.is_none() {
                ring.enter(clock::now(), Some(clock::now() + Nanos::secs(60))).unwrap();
                ring.reap(|slot, _, outcome| result = Some((slot, outcome)));
            }
            assert_eq!(result, Some((1, 64)), "mode {step}");
            assert_eq!(ring.slots().buffer(1).unwrap()[..4], *b"\x7fELF", "mode {step}");
        }
    }

    // Were a wait that the alarm is to end not ended, a drive that does not answer would look like one
    // that is about to; were its alarm taken for a request, the ring would never be idle again.
    #[test]
    fn a_long_wait_is_ended_by_the_alarm_and_a_short_one_by_its_timeout() {
        let (pipe, mut end) = io::pipe().unwrap();
        let file = std::fs::File::from(std::os::fd::OwnedFd::from(pipe));
        for span in [Nanos::millis(30), Nanos::millis(1)] {
            let mut ring = ring(&file);
            ring.arm(&mut |_| {}).unwrap();
            ring.slots_mut().claim(1, Bytes(64)).unwrap();
            ring.push(1, Command::Read { offset: Bytes(0), len: Bytes(64) }).unwrap();
            for round in 0..5 {
                let until = clock::now() + span;
                let mut turns = 0;
                while clock::now() < until {
                    ring.turn(clock::now(), Some(until), |slot, _, _, _| {
                        panic!("{slot} completed")
                    })
                    .unwrap();
                    assert_eq!(ring.in_kernel, 1, "{span}, round {round}");
                    turns += 1;
                }
                assert!(
                    turns < 5,
                    "{span}, round {round}: it did not sleep but turned {turns} times"
                );
                assert_eq!(ring.alarm.due, None, "{span}, round {round}");
                assert!(ring.alarm.usable);
            }
            // Or the drop would wait for it.
            end.write_all(&[0; 64]).unwrap();
        }
    }

    // A thread can register 16 rings. Were they not given back, the steps after the 16th would pay
    // for a lookup at each call, and a run's first steps would look faster than its last.
    #[test]
    fn a_dropped_ring_gives_its_place_back() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let registered = (0..40).filter(|_| {
            let mut ring = ring(&file);
            ring.arm(&mut |_| {}).unwrap();
            ring.index.is_some()
        });
        let count = registered.count();
        assert!(count == 40 || count == 0, "{count} of 40; 0 where the kernel is older than 5.18");
    }

    // A file that stays open after the run keeps its filesystem from being unmounted, and its lock
    // from being taken by the next run.
    #[test]
    fn a_dropped_ring_lets_go_of_its_file() {
        use rustix::fs::{FlockOperation, flock};
        let path = std::env::current_exe().unwrap();
        for round in 0..20 {
            let file = std::fs::File::open(&path).unwrap();
            flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap_or_else(|error| {
                panic!("round {round}: the file of the round before is still open: {error}")
            });
            let mut ring = ring(&file);
            ring.arm(&mut |_| {}).unwrap();
        }
    }

    // If the kernel were not asked rightly, either no drive would be discarded through the ring, or
    // one on an old kernel would be sent commands that it does not have.
    #[test]
    fn operations_are_told_apart_by_the_kernel_itself() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let mut ring = ring(&file);
        ring.arm(&mut |_| {}).unwrap();
        assert!(ring.knows(opcode::Read::CODE));
        assert!(!ring.knows(u8::MAX), "no kernel has this one");
    }
}
