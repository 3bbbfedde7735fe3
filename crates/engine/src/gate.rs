//! The gate at which lanes wait for each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use block::Time;

use crate::error::EngineError;

/// Keeps lanes and counters in step: no lane starts before all are attached and the counters are read,
/// and no thread waits for a lane that will never come.
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    /// Something failed: every lane stops.
    pub(crate) failed: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Lanes that are attached, or have given up.
    attached: usize,
    /// The counters are read.
    open: bool,
    /// A lane could not be had, so none starts.
    aborted: bool,
    /// The step's first instant, read by the first lane to go.
    start: Option<Time>,
    error: Option<EngineError>,
}

impl Gate {
    pub(crate) fn new() -> Gate {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Gate { state, changed, failed: AtomicBool::new(false) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole after any panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn fail(&self, error: EngineError) {
        self.failed.store(true, Ordering::Relaxed);
        self.state().error.get_or_insert(error);
    }

    /// Waits until `count` lanes are attached or have given up.
    pub(crate) fn await_lanes(&self, count: usize) {
        let mut state = self.state();
        while state.attached < count {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the lanes go, or, when one could not be had, go home.
    pub(crate) fn open(&self, aborted: bool) {
        let mut state = self.state();
        (state.open, state.aborted) = (true, aborted);
        self.changed.notify_all();
    }

    /// Waits at the gate; the step's first instant, or `None` when it is not to be.
    pub(crate) fn pass(&self, now: impl FnOnce() -> Time) -> Option<Time> {
        let mut state = self.state();
        while !state.open {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.aborted { None } else { Some(*state.start.get_or_insert_with(now)) }
    }

    /// When all lanes have gone home: the first instant, if any lane passed.
    pub(crate) fn end(self) -> Result<Option<Time>, EngineError> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.error.map_or(Ok(state.start), Err)
    }
}

/// Says that a lane has arrived, also when it panics on its way.
pub(crate) struct Arrival<'a>(pub(crate) &'a Gate);

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        self.0.state().attached += 1;
        self.0.changed.notify_all();
    }
}
