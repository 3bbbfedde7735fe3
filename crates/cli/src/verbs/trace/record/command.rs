//! The command that is recorded.

use std::ffi::OsString;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use documents::trace_record::Ended;

use crate::messages;

/// How often it is looked whether the command has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How long a command is given to end by the Ctrl-C that reached it too, before it is asked to.
const GRACE: Duration = Duration::from_secs(1);

/// A command that is running.
pub struct Command {
    words: String,
    child: Child,
}

impl Command {
    /// Starts `words`; `None` when there are none. What it prints goes to stderr when `quiet`, so that stdout holds
    /// the result alone.
    ///
    /// # Errors
    /// When there is no such program.
    pub fn start(words: &[OsString], quiet: bool) -> Result<Option<Command>> {
        let Some((program, arguments)) = words.split_first() else { return Ok(None) };
        let mut command = std::process::Command::new(program);
        command.args(arguments);
        if quiet {
            let stderr = std::io::stderr().as_fd().try_clone_to_owned();
            command.stdout(Stdio::from(stderr.context("cannot pass on what the command prints")?));
        }
        let told: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        let words = told.join(" ");
        let child = command.spawn().with_context(|| format!("{words}: cannot be started"))?;
        Ok(Some(Command { words, child }))
    }

    /// True when it has ended.
    pub fn has_ended(&mut self) -> bool {
        // An error is that there is no such child any more.
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until it has ended. When `cancel` is set it is asked to, unless the signal that set it has reached the
    /// command too.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn wait(mut self, cancel: &AtomicBool) -> Result<Ended> {
        if !self.has_ended() && !cancel.load(Ordering::Relaxed) {
            messages::note(&format!(
                "{}: still runs, and is waited for; Ctrl-C ends it",
                self.words
            ));
        }
        let mut asked_at = None;
        loop {
            let ended =
                self.child.try_wait().with_context(|| format!("{}: is lost", self.words))?;
            if let Some(status) = ended {
                return Ok(self.ended(status));
            }
            if cancel.load(Ordering::Relaxed) {
                let since: Instant = *asked_at.get_or_insert_with(Instant::now);
                if since.elapsed() >= GRACE {
                    // It may have ended just now; then there is nothing to ask.
                    let _ = linux::signals::terminate(&self.child);
                    asked_at = Some(Instant::now());
                }
            }
            thread::sleep(LOOK);
        }
    }

    fn ended(&self, status: ExitStatus) -> Ended {
        Ended {
            command: self.words.clone(),
            success: status.success(),
            status: status.code(),
            signal: status.signal(),
        }
    }
}
