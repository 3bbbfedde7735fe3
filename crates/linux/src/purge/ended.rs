//! How a purge ends, and how long somebody waits for that.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use block::Nanos;
use serde::{Deserialize, Serialize};

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All of it was done, by the word of the drive or the kernel.
    Done,
    /// It failed.
    Failed,
    /// It was ended half-way, and nothing is under way any more.
    Stopped,
    /// drivescope no longer waits for it, and the drive is still at work.
    Running,
}

/// The end of a purge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// How.
    pub status: Status,
    /// Summary of what was done and what was not, without a full stop.
    pub words: String,
    /// Next step for the user, or how to see the drive's progress; empty when there is nothing to do.
    pub next: String,
    /// Share that was done, 0 to 1, where it is known.
    pub done_share: Option<f64>,
}

impl Ended {
    /// Done in full.
    pub fn done(words: impl Into<String>) -> Ended {
        let (words, next) = (words.into(), String::new());
        Ended { status: Status::Done, words, next, done_share: Some(1.0) }
    }

    /// Not done.
    pub fn failed(words: impl Into<String>, next: impl Into<String>) -> Ended {
        let (words, next) = (words.into(), next.into());
        Ended { status: Status::Failed, words, next, done_share: None }
    }
}

/// The time limit of a wait, the flag that cancels it, and the receiver of its progress.
pub struct Patience<'a> {
    cancel: &'a AtomicBool,
    begun: Instant,
    limit: Option<Duration>,
    told: &'a mut dyn FnMut(f64),
}

impl<'a> Patience<'a> {
    /// Waits until `cancel` is set, at most `limit` from now on. `told` receives shares, 0 to 1.
    pub fn new(
        cancel: &'a AtomicBool,
        limit: Option<Nanos>,
        told: &'a mut dyn FnMut(f64),
    ) -> Patience<'a> {
        let limit = limit.map(|limit| Duration::from_nanos(limit.0));
        Patience { cancel, begun: Instant::now(), limit, told }
    }

    /// Reports the progress.
    pub fn tell(&mut self, share: f64) {
        (self.told)(share.clamp(0.0, 1.0));
    }

    /// Why nothing more is to be waited for, as the end of "ended …"; `None` to go on.
    pub fn is_over(&self) -> Option<&'static str> {
        if self.cancel.load(Ordering::Relaxed) {
            return Some("on request");
        }
        let limit = self.limit.filter(|limit| self.begun.elapsed() >= *limit);
        limit.map(|_| "because its time was up")
    }

    /// Time since the beginning.
    pub fn elapsed(&self) -> Nanos {
        Nanos(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
