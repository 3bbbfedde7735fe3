//! A running guest, from power-on to power-off.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use crate::link::{Link, listen};
use crate::machine::{self, EMULATOR, Parts, Slotted};
use crate::monitor::Monitor;
use crate::protocol::{Reply, Request};
use crate::reached::Count;
use crate::volatile::Volatile;

/// Longest that the emulator takes to start.
const START: Duration = Duration::from_secs(60);
/// Longest that a kernel takes to boot: 7 s on an idle machine, a hundred beside nine other jobs on a CPU.
const BOOT: Duration = Duration::from_secs(400);
/// Longest that a guest takes to let go of a drive.
const REMOVAL: Duration = Duration::from_secs(60);
/// Lines of the console that are shown when a guest has died.
const CONSOLE_LINES: usize = 25;

/// Longest that a guest that runs is silent: 2 s by its own clock, many times that on a busy host.
const SILENCE: Duration = Duration::from_secs(100);
/// Time that a kernel gets to print its state.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// The emulator runs and its guest does not: no process in it, not even its kernel, has done anything for long. Nothing
/// that a program in the guest does brings that about, so it says something of the emulator alone.
#[derive(Debug, thiserror::Error)]
#[error("the guest has shown no sign of life for {seconds} s\n{words}", seconds = SILENCE.as_secs())]
pub struct Frozen {
    words: String,
}

/// Settings shared by all boots of a batch.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kernel.
    pub kernel: PathBuf,
    /// Its first root directory.
    pub initramfs: PathBuf,
    /// Parameters of the kernel besides the lab's own.
    pub parameters: String,
    /// Directory of images and console log.
    pub directory: PathBuf,
    /// Drives in their slots.
    pub drives: Vec<Slotted>,
}

/// A guest that has booted.
#[derive(Debug)]
pub struct Guest {
    emulator: Child,
    monitor: Monitor,
    link: Link,
    console: PathBuf,
    volatile: Vec<Volatile>,
    _sockets: TempDir,
    /// Release of its kernel.
    pub kernel: String,
    /// From the emulator's start to the guest's first word.
    pub took: Duration,
}

impl Plan {
    /// Creates all images, empty; replaces existing ones.
    ///
    /// # Errors
    /// Names the image.
    pub fn make_images(&self) -> Result<()> {
        fs::create_dir_all(&self.directory)?;
        for slotted in &self.drives {
            for image in slotted.drive.images(&slotted.scenario) {
                let path = self.directory.join(&image.file);
                let file = File::create(&path).with_context(|| path.display().to_string())?;
                file.set_len(image.bytes).with_context(|| path.display().to_string())?;
            }
        }
        Ok(())
    }

    /// Drives of which a power cut takes something.
    fn serve_volatile(&self, sockets: &Path) -> Result<Vec<Volatile>> {
        let mut served = Vec::new();
        for slotted in &self.drives {
            if let Some(socket) = slotted.volatile_socket(sockets) {
                for image in slotted.images(&self.directory) {
                    served.push(Volatile::serve(&image, &socket)?);
                }
            }
        }
        Ok(served)
    }
}

impl Guest {
    /// Boots.
    ///
    /// # Errors
    /// When it does not come up; the error shows the end of its console.
    pub fn boot(plan: &Plan) -> Result<Guest> {
        let begun = Instant::now();
        // A socket's path is short, and the directory of images may not be.
        let sockets = tempfile::Builder::new().prefix("lab-").tempdir()?;
        let (port, monitor) = (sockets.path().join("port"), sockets.path().join("monitor"));
        let (port_listener, monitor_listener) = (listen(&port)?, listen(&monitor)?);
        let console = plan.directory.join("console");
        let volatile = plan.serve_volatile(sockets.path())?;
        let parts = Parts {
            kernel: &plan.kernel,
            initramfs: &plan.initramfs,
            parameters: &plan.parameters,
            images: &plan.directory,
            sockets: sockets.path(),
            port: &port,
            monitor: &monitor,
            console: &console,
        };
        let said = plan.directory.join("emulator");
        let mut emulator = Command::new(EMULATOR)
            .args(machine::arguments(&parts, &plan.drives)?)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&said)?)
            .spawn()
            .with_context(|| format!("cannot start {EMULATOR}"))?;
        let connected = (|| {
            let mut alive = || emulator.try_wait().is_ok_and(|status| status.is_none());
            let monitor = Link::accept(&monitor_listener, START, &mut alive)?;
            Ok::<_, anyhow::Error>((monitor, Link::accept(&port_listener, START, &mut alive)?))
        })();
        let (monitor, link) = match connected {
            Ok(links) => links,
            Err(error) => {
                let _ = emulator.kill();
                let _ = emulator.wait();
                let words = fs::read_to_string(&said).unwrap_or_default();
                return Err(error.context(words.trim().to_owned()));
            }
        };
        let monitor = Monitor::new(monitor);
        let mut guest = match monitor {
            Ok(monitor) => Guest {
                emulator,
                monitor,
                link,
                console,
                volatile,
                _sockets: sockets,
                kernel: String::new(),
                took: Duration::ZERO,
            },
            Err(error) => {
                let _ = emulator.kill();
                let _ = emulator.wait();
                return Err(error);
            }
        };
        match guest.receive(BOOT)? {
            Some(Reply::Ready { kernel }) => guest.kernel = kernel,
            Some(other) => bail!("the guest's first word is {other:?}"),
            None => bail!("not booted within {} s\n{}", BOOT.as_secs(), guest.last_words()),
        }
        guest.took = begun.elapsed();
        Ok(guest)
    }

    /// Asks.
    ///
    /// # Errors
    /// When the guest is gone.
    pub fn send(&mut self, request: &Request) -> Result<()> {
        let line = serde_json::to_string(request)?;
        self.link.send(&line).map_err(|error| error.context(self.last_words()))
    }

    /// The next answer; none when none came within `limit`.
    ///
    /// # Errors
    /// When the guest is gone: the error shows the end of its console. [`Frozen`] when it shows no sign of life.
    pub fn receive(&mut self, limit: Duration) -> Result<Option<Reply>> {
        let (begun, mut heard) = (Instant::now(), Instant::now());
        loop {
            let left = limit.saturating_sub(begun.elapsed());
            match self.link.receive(left.min(SILENCE.saturating_sub(heard.elapsed()))) {
                Ok(Some(line)) => match serde_json::from_str(&line).context(line)? {
                    Reply::Alive => heard = Instant::now(),
                    reply => return Ok(Some(reply)),
                },
                Ok(None) if begun.elapsed() >= limit => return Ok(None),
                Ok(None) if heard.elapsed() < SILENCE => {}
                // Before it has booted a guest has nothing to say.
                Ok(None) if self.kernel.is_empty() => heard = Instant::now(),
                Ok(None) => return Err(self.frozen().into()),
                Err(error) => return Err(error.context(self.last_words())),
            }
        }
    }

    /// Collects the state of a guest that does not answer: CPU registers and the end of its console.
    fn frozen(&mut self) -> Frozen {
        let condition = self.monitor.condition();
        // The kernel's answer to the interrupt.
        std::thread::sleep(LAST_WORDS);
        Frozen { words: format!("{condition}\n{}", self.last_words()) }
    }

    /// Takes a drive out.
    ///
    /// # Errors
    /// When the guest does not let go of it.
    pub fn remove(&mut self, slotted: &Slotted) -> Result<()> {
        let id = slotted.drive.removable(&slotted.id);
        self.monitor.command("device_del", serde_json::json!({"id": id}))?;
        self.monitor.deleted(&id, REMOVAL)
    }

    /// Returns the bytes that `drives` together have moved since power-on, as counted by the emulator.
    ///
    /// # Errors
    /// Returns an error if the emulator does not answer.
    pub fn count(&mut self, drives: &[Slotted]) -> Result<Count> {
        let answer = self.monitor.counts()?;
        let is_ours = |node: &str| {
            node.rsplit_once('-').is_some_and(|(id, _)| drives.iter().any(|d| d.id == id))
        };
        Ok(Count::of(&answer, is_ours))
    }

    /// Puts a drive in again that was taken out.
    ///
    /// # Errors
    /// When the emulator refuses it.
    pub fn add(&mut self, slotted: &Slotted) -> Result<()> {
        let removed = slotted.drive.removable(&slotted.id);
        let mut devices = slotted.drive.devices(&slotted.id, slotted.slot, &slotted.serial)?;
        let first =
            devices.iter().position(|device| device["id"] == Value::String(removed.clone()));
        let first = first.with_context(|| format!("{removed} is none of the drive's devices"))?;
        for device in devices.split_off(first) {
            self.monitor.command("device_add", device)?;
        }
        Ok(())
    }

    /// The end of the console, which shows why a guest died.
    pub fn last_words(&self) -> String {
        let text = fs::read(&self.console).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let from = lines.len().saturating_sub(CONSOLE_LINES);
        format!("the guest's console ends so:\n    {}", lines[from..].join("\n    "))
    }

    /// Cuts the power: what the guest has not written to its drives is lost, and of what it has not flushed to those
    /// that are volatile, what `seed` takes.
    ///
    /// # Errors
    /// Names the image that cannot be written.
    pub fn cut(mut self, seed: u64) -> Result<()> {
        self.kill();
        for (drive, seed) in self.volatile.iter().zip(seed..) {
            let (older, held) = drive.cut(seed)?;
            eprintln!(
                "power cut: {older} of {held} sectors in a drive's cache are not what was last written"
            );
        }
        Ok(())
    }

    fn kill(&mut self) {
        let _ = self.emulator.kill();
        let _ = self.emulator.wait();
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.kill();
    }
}
