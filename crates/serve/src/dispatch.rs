//! The thread that owns the drive: sleeps until something is due, and replies.

use std::num::NonZeroU64;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use block::{DriveError, Errno, Nanos, Time};
use sim::VirtualTarget;

use crate::content::Content;
use crate::service::{Job, Reply, Service};
use crate::tally::Tally;
use crate::time::RealTime;

/// Sleeping ends this much before a reply is due, and the rest is spun: what waking a thread takes. On a
/// virtual machine with two CPUs, half of all replies were late by more than 20 µs without spinning, by
/// 10 µs with this, and by no less with 60 µs, which takes the CPU from the programs that are served.
const SPIN: Nanos = Nanos::micros(25);

/// While no program waits, the drive's own events (destaging, folding) are processed at most this often: their exact
/// time is not visible, and a later request finds the drive in the right state.
const IDLE: Nanos = Nanos::millis(20);

/// Channel to the program that asked.
pub(crate) trait Answer: Send {
    /// Sends the reply.
    fn reply(self, reply: &Reply<'_>);
}

/// A request and its arrival.
pub(crate) struct Message<A> {
    pub(crate) job: Job<A>,
    pub(crate) arrived: Time,
}

/// Serves until all senders of requests are gone.
///
/// # Errors
/// The drive's own, when it fails as a whole; what is under way is then left unanswered, which the kernel
/// takes for an I/O error.
pub(crate) fn run<A: Answer>(
    mut target: VirtualTarget,
    content: Box<dyn Content>,
    inbox: &Receiver<Message<A>>,
    clock: &dyn RealTime,
    tally: &Arc<Mutex<Tally>>,
) -> Result<(), DriveError> {
    // The kernel may delay wake-ups by this much to join them; 50 µs by default. Where it does not
    // listen, replies are that much later, and counted as such.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let mut service = Service::new(&mut target, content)?;
    loop {
        match wait(&service, inbox, clock) {
            Woken::By(message) => service.take(message.job, message.arrived)?,
            Woken::Due => {}
            Woken::Over => return Ok(()),
        }
        // The clock is read before the inbox is emptied, so that the drive is not moved beyond the
        // arrival of a request that is in the inbox already.
        let now = clock.now();
        while let Ok(message) = inbox.try_recv() {
            service.take(message.job, message.arrived)?;
        }
        let outstanding = service.outstanding();
        let mut counted = false;
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        service.advance(now, |answer: A, op, reply, due| {
            answer.reply(&reply);
            tally.answered(op, bytes_of(&reply), due, clock.now());
            counted = true;
        })?;
        if counted {
            tally.saw(outstanding, service.held(), service.writes_without_room());
        }
    }
}

fn bytes_of(reply: &Reply<'_>) -> Result<u64, Errno> {
    match reply {
        Reply::Data(data) => Ok(data.len() as u64),
        Reply::Done(bytes) => Ok(*bytes),
        Reply::Failed(errno) => Err(*errno),
    }
}

/// Why the thread woke up.
enum Woken<A> {
    By(Message<A>),
    Due,
    Over,
}

/// Sleeps until a request comes or something is due in the drive.
fn wait<A>(
    service: &Service<'_, A>,
    inbox: &Receiver<Message<A>>,
    clock: &dyn RealTime,
) -> Woken<A> {
    let Some(due) = service.next_event() else {
        return inbox.recv().map_or(Woken::Over, Woken::By);
    };
    let now = clock.now();
    let (due, spin) =
        if service.outstanding() > 0 { (due, SPIN) } else { (due.max(now + IDLE), Nanos::ZERO) };
    let sleep = due.since(now).0.saturating_sub(spin.0);
    if sleep > 0 {
        match inbox.recv_timeout(Duration::from_nanos(sleep)) {
            Ok(message) => return Woken::By(message),
            Err(RecvTimeoutError::Disconnected) => return Woken::Over,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    while clock.now() < due {
        match inbox.try_recv() {
            Ok(message) => return Woken::By(message),
            Err(TryRecvError::Disconnected) => return Woken::Over,
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    Woken::Due
}
