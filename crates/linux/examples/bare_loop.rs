//! Reads at given times with as little around them as can be: the yardstick of `scripts/validate replay-timing`.
//!
//!     bare_loop spin|sleep DEVICE < SCHEDULE
//!
//! Each line of the schedule is a time in nanoseconds and an offset in bytes; each read is of 4 KiB. One ring, set up
//! as the measuring engine's is, file and buffers registered. `spin` looks at the clock until a read is due; `sleep`
//! sleeps until 50 µs before, on a timer without slack, and then looks at the clock. Nothing is kept, counted or
//! checked beyond that each read was good. Prints the instant (`CLOCK_MONOTONIC`, ns) from which the schedule counts.
#![expect(unsafe_code, reason = "io_uring shares memory with the kernel")]

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

use io_uring::{IoUring, opcode, squeue, types};
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_gettime};

const BLOCK: usize = 4096;
const SLOTS: usize = 1024;
const LEAD_NS: u64 = 5_000_000;
/// Enough for all but one in a hundred of a quiet machine's wake-ups.
const MARGIN_NS: u64 = 50_000;

fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn sleep_until(ns: u64) {
    let at = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ };
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &at);
}

/// Gives back the buffers of reads that are done.
fn reap(ring: &mut IoUring, free: &mut Vec<u16>) -> Result<(), Box<dyn Error>> {
    for done in ring.completion() {
        if done.result() != BLOCK as i32 {
            return Err(format!("a read answered {}", done.result()).into());
        }
        free.push(done.user_data() as u16);
    }
    Ok(())
}

/// Waits for `due`; takes what completes meanwhile.
fn wait(
    ring: &mut IoUring,
    due: u64,
    asleep: bool,
    free: &mut Vec<u16>,
) -> Result<(), Box<dyn Error>> {
    loop {
        let before = now();
        if before >= due {
            return Ok(());
        }
        if ring.submission().taskrun() {
            // Has the kernel deliver what waits to be delivered.
            ring.submitter().submit_and_wait(0)?;
        }
        reap(ring, free)?;
        if asleep && before + MARGIN_NS < due {
            sleep_until(due - MARGIN_NS);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let [mode, device] = &std::env::args().skip(1).collect::<Vec<_>>()[..] else {
        return Err("usage: bare_loop spin|sleep DEVICE < SCHEDULE".into());
    };
    let asleep = mode == "sleep";
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut schedule: Vec<(u64, u64)> = Vec::new();
    for line in text.lines() {
        let (at, offset) = line.split_once(' ').ok_or("a line without an offset")?;
        schedule.push((at.parse()?, offset.parse()?));
    }
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(device)?;
    // One block more than is used, to begin at a multiple of the block.
    let mut memory = vec![1u8; (SLOTS + 1) * BLOCK];
    let shift = memory.as_ptr().align_offset(BLOCK);
    let base = memory[shift..].as_mut_ptr();
    let mut ring = IoUring::builder()
        .setup_defer_taskrun()
        .setup_single_issuer()
        .setup_coop_taskrun()
        .setup_taskrun_flag()
        .build(SLOTS as u32)?;
    ring.submitter().register_files(&[file.as_raw_fd()])?;
    let buffer = libc::iovec { iov_base: base.cast(), iov_len: SLOTS * BLOCK };
    // SAFETY: the memory is ours, is not looked at while reads are under way, and lives until the end of `main`.
    unsafe { ring.submitter().register_buffers(&[buffer]) }?;
    set_current_timer_slack(Some(NonZeroU64::MIN))?;
    let mut free: Vec<u16> = (0..SLOTS as u16).rev().collect();
    let start = now() + LEAD_NS;
    for (at, offset) in schedule {
        wait(&mut ring, start + at, asleep, &mut free)?;
        while free.is_empty() {
            ring.submitter().submit_and_wait(1)?;
            reap(&mut ring, &mut free)?;
        }
        let slot = free.pop().ok_or("no buffer is free")?;
        // SAFETY: the slot's block lies in the memory.
        let place = unsafe { base.add(usize::from(slot) * BLOCK) };
        let entry = opcode::ReadFixed::new(types::Fd(0), place, BLOCK as u32, 0)
            .offset(offset)
            .build()
            .flags(squeue::Flags::FIXED_FILE)
            .user_data(u64::from(slot));
        // SAFETY: only the kernel uses the block until the read's completion gives it back.
        unsafe { ring.submission().push(&entry) }?;
        ring.submitter().submit_and_wait(0)?;
        reap(&mut ring, &mut free)?;
    }
    while free.len() < SLOTS {
        ring.submitter().submit_and_wait(1)?;
        reap(&mut ring, &mut free)?;
    }
    drop(ring);
    drop(memory);
    println!("{start}");
    Ok(())
}
