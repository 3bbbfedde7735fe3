//! What Ctrl-C does: first ask to stop, then stop.

use std::io::{self, Write as _};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{scheduler, scratch, terminal, tracer};

/// Exit status of a shell command that Ctrl-C ended: 128 and the signal's number.
const EXIT_INTERRUPTED: i32 = 130;

/// Signals within this time of the first are one wish.
const SAME_WISH: Duration = Duration::from_millis(500);

/// From now on, SIGINT, SIGTERM and SIGHUP set `cancel`, and whoever measures winds up on its own:
/// files are removed by their owners. A second one gives the terminal's screen back, removes the scratch files, puts
/// schedulers back and ends recordings at once, says so, and ends the process with status 130. What comes within half a
/// second of the first is taken for the same wish: `timeout` and scripts send one to the process and one to its group.
///
/// A thread of its own waits for the signals, since a handler may neither lock nor allocate.
///
/// # Errors
/// When the kernel refuses the handlers or the thread.
pub fn install(cancel: Arc<AtomicBool>) -> io::Result<()> {
    install_patient(cancel, SAME_WISH)
}

/// As [`install`], for whoever leaves something worse than files when ended half-way: a second signal is
/// taken for the same wish as the first when it comes within `patience` of it.
///
/// # Errors
/// Those of [`install`].
pub fn install_patient(cancel: Arc<AtomicBool>, patience: Duration) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        // Not read back from `cancel`, which others may set for reasons of their own.
        let mut first: Option<Instant> = None;
        for _ in signals.forever() {
            cancel.store(true, Ordering::Relaxed);
            let Some(first) = first else {
                first = Some(Instant::now());
                continue;
            };
            if first.elapsed() >= patience {
                terminal::close();
                scratch::remove_all();
                scheduler::restore_all();
                // Last, since this may wait for a moment.
                tracer::end_all();
                // Nobody may be there to read it.
                let _ = writeln!(
                    io::stderr(),
                    "ended at once by a second signal; `drivescope runs list` shows what is kept"
                );
                // Not `std::process::exit`: exit handlers may wait for threads that still measure.
                signal_hook::low_level::exit(EXIT_INTERRUPTED);
            }
        }
    })?;
    Ok(())
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
