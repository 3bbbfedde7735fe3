//! A stream of lines between this process and the emulator.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// How often a connection that is awaited is looked for.
const LOOK: Duration = Duration::from_millis(10);

/// Both directions, a line at a time.
#[derive(Debug)]
pub struct Link {
    out: UnixStream,
    lines: Receiver<String>,
}

/// A socket that the emulator will connect to.
///
/// # Errors
/// When it cannot be made; a path may have 107 bytes.
pub fn listen(path: &Path) -> Result<UnixListener> {
    let listener = UnixListener::bind(path).with_context(|| path.display().to_string())?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl Link {
    /// Waits for the emulator to connect; `alive` returns whether it still can.
    ///
    /// # Errors
    /// When it does not, within `limit`.
    pub fn accept(
        listener: &UnixListener,
        limit: Duration,
        mut alive: impl FnMut() -> bool,
    ) -> Result<Link> {
        let begun = Instant::now();
        loop {
            match listener.accept() {
                Ok((stream, _)) => return Link::new(stream),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            if !alive() {
                bail!("the emulator has ended");
            }
            if begun.elapsed() > limit {
                bail!("the emulator did not connect within {} s", limit.as_secs());
            }
            thread::sleep(LOOK);
        }
    }

    fn new(stream: UnixStream) -> Result<Link> {
        stream.set_nonblocking(false)?;
        let reader = BufReader::new(stream.try_clone()?);
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in reader.split(b'\n').map_while(std::io::Result::ok) {
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if !line.is_empty() && sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Link { out: stream, lines })
    }

    /// Sends a line.
    ///
    /// # Errors
    /// When the other side is gone.
    pub fn send(&mut self, line: &str) -> Result<()> {
        self.out.write_all(format!("{line}\n").as_bytes()).context("the guest is gone")
    }

    /// The next line; none when none came within `limit`.
    ///
    /// # Errors
    /// When the other side is gone.
    pub fn receive(&mut self, limit: Duration) -> Result<Option<String>> {
        match self.lines.recv_timeout(limit) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("the guest is gone"),
        }
    }
}
