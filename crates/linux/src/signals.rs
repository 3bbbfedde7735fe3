//! Signals that end a program: one path for all of them.
//!
//! Without a handler, SIGQUIT, SIGUSR1 or SIGXCPU would end the process on the spot, and with it everything that has to be
//! removed or put back. So [`start`] catches each signal that ends a program and can be caught, for every verb. What
//! happens then depends on what the process is doing:
//!
//! - Nothing that needs an end of its own: it cleans up and ends at once, also while it waits for a file or a person.
//! - It measures ([`orderly`]): the first signal sets its flag, and it winds up on its own. A second one cleans up and ends
//!   the process, unless it comes so soon that it is the same wish.
//! - It puts data back ([`protect`]): no signal ends it.
//!
//! Faults (SIGSEGV and the like) are left alone, since returning from their handlers repeats them. A signal that was
//! ignored when the process began stays ignored: that is how `nohup` works, and the `&` of a shell script.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTRAP, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGXCPU, SIGXFSZ,
};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{exit, signal_name};

use crate::{scheduler, scratch, terminal, tracer};

/// Exit status of a shell command that Ctrl-C ended: 128 and the signal's number.
const EXIT_INTERRUPTED: i32 = 130;

/// Signals within this time of the first are one wish: `timeout` and scripts send one to the process and one to its group.
pub const SAME_WISH: Duration = Duration::from_millis(500);

/// How often at most the process says why it does not end.
const SAY_EVERY: Duration = Duration::from_secs(1);

/// Signals that end a program unless it catches them; those for real-time use come in addition.
const ENDING: [i32; 15] = [
    SIGHUP,
    SIGINT,
    SIGQUIT,
    SIGTRAP,
    SIGABRT,
    SIGUSR1,
    SIGUSR2,
    SIGALRM,
    SIGTERM,
    SIGXCPU,
    SIGVTALRM,
    SIGPROF,
    SIGIO,
    libc::SIGSTKFLT,
    libc::SIGPWR,
];

/// Signals that people send, and send again when nothing seems to happen. Timers send others by themselves: SIGXCPU comes
/// each second.
const OF_PEOPLE: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

static STATE: Mutex<State> =
    Mutex::new(State { first: None, winding_up: Vec::new(), protected: Vec::new(), said: None });

/// A pipe that is readable from the first signal on.
static WAKE: OnceLock<(PipeReader, PipeWriter)> = OnceLock::new();

struct State {
    /// The first signal, and when it came.
    first: Option<(i32, Instant)>,
    /// The flags of those who end on their own, with the time that each gets before a second signal counts.
    winding_up: Vec<(Arc<AtomicBool>, Duration)>,
    /// Work that must not be interrupted, such as "putting the original data back".
    protected: Vec<&'static str>,
    /// When the process last said that it does not end yet.
    said: Option<Instant>,
}

fn state() -> MutexGuard<'static, State> {
    // Whole after any panic.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Catches signals from now on. To be called once, before anything is done.
///
/// A thread of its own waits for the signals, since a handler may neither lock nor allocate.
///
/// # Errors
/// When the kernel refuses the handlers, the pipe or the thread.
pub fn start() -> io::Result<()> {
    let ignored = ignored();
    let is_ours = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
    // Handled rather than ignored, so that programs started from here find it as it was: writing answers EFBIG then. What
    // SIGPIPE is about comes as EPIPE, since Rust ignores it and gives it back to the programs that it starts.
    if is_ours(&SIGXFSZ) {
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    }
    let _ = WAKE.set(io::pipe()?);
    let ending = ENDING.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX());
    let mut signals = Signals::new(ending.filter(is_ours))?;
    let heed = move || signals.forever().for_each(take);
    thread::Builder::new().name("signals".to_owned()).spawn(heed)?;
    Ok(())
}

/// The signals that are ignored, each as a bit (`proc_pid_status(5)`, `SigIgn`).
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Acts on one signal.
fn take(signal: i32) {
    let mut state = state();
    let Some((_, at)) = state.first else {
        state.first = Some((signal, Instant::now()));
        if let Some((_, wake)) = WAKE.get() {
            let _ = { wake }.write_all(&[0]);
        }
        state.winding_up.iter().for_each(|(flag, _)| flag.store(true, Ordering::Relaxed));
        if state.winding_up.is_empty() && state.protected.is_empty() {
            end(&format!("error: stopped by {}", name(signal)));
        }
        return;
    };
    let patience = state.winding_up.iter().map(|(_, patience)| *patience).max();
    if !OF_PEOPLE.contains(&signal) || at.elapsed() < patience.unwrap_or(SAME_WISH) {
        return;
    }
    let Some(what) = state.protected.last() else {
        end("ended at once by a second signal; `drivescope runs list` shows what is kept");
    };
    if state.said.is_none_or(|said| said.elapsed() >= SAY_EVERY) {
        let _ = writeln!(io::stderr(), "note: {what}; please wait");
        state.said = Some(Instant::now());
    }
}

/// Gives the terminal's screen back, removes scratch files, puts schedulers back, ends recordings and then the process.
fn end(said: &str) -> ! {
    terminal::close();
    scratch::remove_all();
    scheduler::restore_all();
    // Last, since this may wait for a moment.
    tracer::end_all();
    // Errors are ignored: stderr may be closed.
    let _ = writeln!(io::stderr(), "{said}");
    // Not `std::process::exit`: exit handlers may wait for threads that still measure.
    exit(EXIT_INTERRUPTED);
}

/// While this lives, the first signal only sets its flag.
#[derive(Debug)]
#[must_use = "signals end the process at once when it is dropped"]
pub struct Orderly(Arc<AtomicBool>);

/// From now on the first signal sets `cancel`, and the caller winds up on its own. A second signal ends the process
/// unless it comes within [`SAME_WISH`] of the first. The flag is set at once when a signal came before.
pub fn orderly(cancel: &Arc<AtomicBool>) -> Orderly {
    orderly_within(cancel, SAME_WISH)
}

/// As [`orderly`], for work that leaves something worse than files when it is ended half-way: a second signal is taken for
/// the same wish when it comes within `patience` of the first.
pub fn orderly_within(cancel: &Arc<AtomicBool>, patience: Duration) -> Orderly {
    let mut state = state();
    if state.first.is_some() {
        cancel.store(true, Ordering::Relaxed);
    }
    state.winding_up.push((Arc::clone(cancel), patience));
    Orderly(Arc::clone(cancel))
}

impl Drop for Orderly {
    fn drop(&mut self) {
        let mut state = state();
        let own = state.winding_up.iter().position(|(flag, _)| Arc::ptr_eq(flag, &self.0));
        own.map(|at| state.winding_up.swap_remove(at));
    }
}

/// While this lives, no signal ends the process.
#[derive(Debug)]
#[must_use = "signals end the process again when it is dropped"]
pub struct Protected(&'static str);

/// From now on no signal that can be caught ends the process. A second one makes it say `what` it is doing, such as
/// "putting the original data back".
pub fn protect(what: &'static str) -> Protected {
    state().protected.push(what);
    Protected(what)
}

impl Drop for Protected {
    fn drop(&mut self) {
        let mut state = state();
        let own = state.protected.iter().position(|what| *what == self.0);
        own.map(|at| state.protected.swap_remove(at));
    }
}

/// The first signal that came, if one did.
pub fn received() -> Option<i32> {
    state().first.map(|(signal, _)| signal)
}

/// The signal that stopped the process, by name, where that is not simply Ctrl-C.
pub fn stopped_by() -> Option<String> {
    received().filter(|signal| *signal != SIGINT).map(name)
}

/// A signal's name: `SIGQUIT`, `SIGRTMIN+3`.
pub fn name(signal: i32) -> String {
    match signal_name(signal) {
        Some(name) => name.to_owned(),
        None if signal == libc::SIGPWR => "SIGPWR".to_owned(),
        None if signal == libc::SIGSTKFLT => "SIGSTKFLT".to_owned(),
        None if signal == libc::SIGRTMIN() => "SIGRTMIN".to_owned(),
        None => format!("SIGRTMIN+{}", signal - libc::SIGRTMIN()),
    }
}

/// Readable from the first signal on: for a wait that a signal has to end. `None` before [`start`].
pub fn wake() -> Option<BorrowedFd<'static>> {
    WAKE.get().map(|(wake, _)| wake.as_fd())
}

/// Asks a child to end (SIGTERM).
///
/// # Errors
/// When it has ended already and was waited for.
pub fn terminate(child: &Child) -> io::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(rustix::io::Errno::SRCH)?;
    Ok(kill_process(pid, Signal::TERM)?)
}
