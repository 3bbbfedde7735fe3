//! The terminal on stderr as a screen of its own, or as a source of single keys, and as it was before on every way out.
//!
//! There is one terminal, so there is one state, which any thread can give back: the one that draws, one that panics, the
//! one that takes a second Ctrl-C. Ctrl-C stays a signal, so that it works whatever hangs. Ctrl-Z and Ctrl-\ come as
//! keys, so that the screen is given back before the kernel stops or ends the process.

use std::io::{self, PipeReader, Write as _, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;
use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group, kill_process};
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr,
};
use signal_hook::consts::SIGCONT;

/// A terminal's size in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

/// Ctrl-Z, as it comes while keys are taken.
pub const SUSPEND: u8 = 0x1a;
/// Ctrl-\, likewise.
pub const QUIT: u8 = 0x1c;

/// Alternate screen, no cursor, nothing on it.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
/// No colours, the cursor again, the normal screen.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// Longest time that the end of the process waits for a frame that is being written: a terminal that takes no text must
/// not keep the process from ending.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long the kernel is given to stop this process.
const STOPPING: Duration = Duration::from_millis(200);

/// A terminal whose keys this process takes.
struct Taken {
    /// The modes to be given back.
    before: Termios,
    /// True when the screen is taken, too.
    has_screen: bool,
}

/// The terminal, while it is taken.
static TAKEN: Mutex<Option<Taken>> = Mutex::new(None);

/// True from when the terminal was given back for good.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Raised when the process goes on after it was stopped.
static CONTINUED: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    // The value is intact after any panic.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The size of the terminal on stderr; `None` without a terminal, or when it does not report its size.
pub fn size() -> Option<Size> {
    let told = tcgetwinsize(stderr()).ok()?;
    let size = Size { columns: told.ws_col.into(), rows: told.ws_row.into() };
    (size.columns > 0 && size.rows > 0).then_some(size)
}

/// True when this process is not stopped for using the terminal on stderr: it is in the foreground, or stderr is not
/// its controlling terminal.
pub fn is_ours() -> bool {
    match tcgetpgrp(stderr()) {
        Ok(foreground) => foreground == getpgrp(),
        Err(error) => error == Errno::NOTTY && tcgetattr(stderr()).is_ok(),
    }
}

/// Takes keys one by one from the terminal, which is not cleared.
///
/// # Errors
/// When stderr is not a terminal, the process is in the background, or the terminal was given back for good.
pub fn listen() -> io::Result<()> {
    take_keys(&mut locked(&TAKEN)).map(|_| ())
}

/// Takes keys and the screen, which is empty then: true when it was not taken already.
///
/// # Errors
/// Those of [`listen`].
pub fn take() -> io::Result<bool> {
    let mut taken = locked(&TAKEN);
    let taken = take_keys(&mut taken)?;
    if taken.has_screen {
        return Ok(false);
    }
    taken.has_screen = true;
    stderr().write_all(ENTER)?;
    Ok(true)
}

fn take_keys(taken: &mut Option<Taken>) -> io::Result<&mut Taken> {
    let before = match taken.take() {
        Some(already) => return Ok(taken.insert(already)),
        None if CLOSED.load(Ordering::Relaxed) || !is_ours() => {
            let why = "stderr is not a terminal that this process is in front of";
            return Err(io::Error::other(why));
        }
        None => tcgetattr(stderr())?,
    };
    watch_continuing()?;
    let mut modes = before.clone();
    modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    // A key comes as soon as it is typed, and 0 switches a special key off.
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    modes.special_codes[SpecialCodeIndex::VSUSP] = 0;
    modes.special_codes[SpecialCodeIndex::VQUIT] = 0;
    tcsetattr(stderr(), OptionalActions::Now, &modes)?;
    Ok(taken.insert(Taken { before, has_screen: false }))
}

/// Gives the terminal back as it was. Does nothing when it is not taken.
pub fn give_back() {
    give(&mut locked(&TAKEN));
}

/// Gives the terminal back for good, when the process is about to end and cannot wait for long.
pub fn close() {
    const STEP: Duration = Duration::from_millis(10);
    CLOSED.store(true, Ordering::Relaxed);
    let mut waited = Duration::ZERO;
    while waited < PATIENCE {
        match TAKEN.try_lock() {
            Ok(mut taken) => return give(&mut taken),
            Err(TryLockError::Poisoned(poisoned)) => return give(&mut poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => thread::sleep(STEP),
        }
        waited += STEP;
    }
}

fn give(taken: &mut Option<Taken>) {
    let Some(Taken { before, has_screen }) = taken.take() else { return };
    // In the background it is the shell's, which has given itself a screen; setting modes would stop this process.
    if !is_ours() {
        return;
    }
    if has_screen {
        let _ = stderr().write_all(LEAVE);
    }
    // Keys that were typed at a screen were meant for it, and not for the next reader.
    let keys = if has_screen { OptionalActions::Flush } else { OptionalActions::Now };
    let _ = tcsetattr(stderr(), keys, &before);
}

/// Writes to the screen, if it is taken.
///
/// # Errors
/// When the terminal is gone.
pub fn show(text: &[u8]) -> io::Result<()> {
    let taken = locked(&TAKEN);
    match *taken {
        Some(Taken { has_screen: true, .. }) => stderr().write_all(text),
        _ => Ok(()),
    }
}

/// Keys typed, after at most `wait`; at once when the other end of `wake` is closed. None when keys are not taken, or stderr
/// can only be written to.
pub fn keys(wake: &PipeReader, wait: Duration) -> Vec<u8> {
    let readable = locked(&TAKEN).is_some()
        && is_ours()
        && fcntl_getfl(stderr()).is_ok_and(|flags| flags.contains(OFlags::RDWR));
    let mut ends = vec![PollFd::new(wake, PollFlags::IN)];
    let stderr = stderr();
    if readable {
        ends.push(PollFd::new(&stderr, PollFlags::IN));
    }
    let span = Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    };
    // A signal ends it early, which does no harm.
    let _ = poll(&mut ends, Some(&span));
    let has_keys = ends.get(1).is_some_and(|end| end.revents().contains(PollFlags::IN));
    let mut keys = vec![0; if has_keys { 64 } else { 0 }];
    let count = if has_keys { rustix::io::read(stderr, &mut keys).unwrap_or(0) } else { 0 };
    keys.truncate(count);
    keys
}

/// With the terminal given back, stops this process and those started with it, as Ctrl-Z does. Returns when it is
/// resumed; at once where nothing could resume it.
pub fn suspend() {
    // The kernel decides: a process that no shell looks after is not stopped.
    let _ = kill_current_process_group(Signal::TSTP);
    // Another thread may be given the signal, and this one goes on for a moment.
    thread::sleep(STOPPING);
}

/// Asks this process and what was started with it to end, as Ctrl-\ does.
pub fn quit() {
    let _ = kill_current_process_group(Signal::QUIT);
}

/// Asks this process to end, as Ctrl-C does.
pub fn interrupt() {
    let _ = kill_process(getpid(), Signal::INT);
}

/// True once after the process was stopped by others and goes on. The screen may be anything then; in the background the
/// terminal is no longer taken.
pub fn was_continued() -> bool {
    let continued =
        locked(&CONTINUED).as_ref().is_some_and(|flag| flag.swap(false, Ordering::Relaxed));
    if continued && !is_ours() {
        *locked(&TAKEN) = None;
    }
    continued
}

fn watch_continuing() -> io::Result<()> {
    let mut continued = locked(&CONTINUED);
    if continued.is_none() {
        let flag = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGCONT, Arc::clone(&flag))?;
        *continued = Some(flag);
    }
    Ok(())
}
