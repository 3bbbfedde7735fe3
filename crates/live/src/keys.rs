//! The key that brings the live view while a line of progress is drawn.

use std::io::{self, IsTerminal as _, PipeReader, PipeWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use linux::terminal;

use crate::view::{self, LIVE_OR_LINE};

/// Time until it is seen that this process is in front again.
const PATIENCE: Duration = Duration::from_secs(1);

/// A thread that waits for the key; the terminal is given back when this is dropped.
pub(crate) struct Keys {
    /// True once the key was typed, or is no longer waited for.
    is_over: Arc<AtomicBool>,
    /// The thread, and the end whose closing wakes it.
    waiting: Option<(JoinHandle<()>, PipeWriter)>,
}

impl Keys {
    /// `None` where there can be no live view, or keys are typed for another program: the input is not a terminal.
    pub(crate) fn watch() -> Option<Keys> {
        if view::hindrance().is_some() || !io::stdin().is_terminal() {
            return None;
        }
        let (wake, waker) = io::pipe().ok()?;
        view::restore_on_panic();
        let is_over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_over);
        let wait = move || wait(&wake, &flag);
        let thread = thread::Builder::new().name("keys".to_owned()).spawn(wait).ok()?;
        Some(Keys { is_over, waiting: Some((thread, waker)) })
    }

    /// True once the key was typed.
    pub(crate) fn is_live_wanted(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some((thread, waker)) = self.waiting.take() {
            drop(waker);
            let _ = thread.join();
        }
    }
}

/// Takes keys until the user asks for the live view, or the caller stops waiting for it.
fn wait(wake: &PipeReader, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        terminal::was_continued();
        // In the background there are no keys, until this process is in front again.
        let _ = terminal::listen();
        for key in terminal::keys(wake, PATIENCE) {
            match key {
                LIVE_OR_LINE => is_over.store(true, Ordering::Relaxed),
                terminal::SUSPEND => {
                    terminal::give_back();
                    terminal::suspend();
                }
                terminal::QUIT => {
                    terminal::give_back();
                    terminal::quit();
                }
                _ => {}
            }
        }
    }
    terminal::give_back();
}
