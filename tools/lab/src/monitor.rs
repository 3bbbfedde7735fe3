//! The emulator's monitor: drives are put in and taken out through it. Its protocol is QMP, lines of JSON, see
//! QEMU's `docs/interop/qmp-spec.txt`.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::link::Link;

/// Longest that a command is waited for; the emulator answers at once unless the machine is overloaded.
const ANSWER: Duration = Duration::from_secs(20);

/// A monitor that takes commands.
#[derive(Debug)]
pub struct Monitor {
    link: Link,
    /// Events that came while something else was awaited.
    events: Vec<Value>,
}

impl Monitor {
    /// Over a link that has just been made.
    ///
    /// # Errors
    /// When the emulator does not answer.
    pub fn new(link: Link) -> Result<Monitor> {
        let mut monitor = Monitor { link, events: Vec::new() };
        monitor.command("qmp_capabilities", json!({}))?;
        Ok(monitor)
    }

    /// Runs a command.
    ///
    /// # Errors
    /// When the emulator refuses it, with its message, or does not answer.
    pub fn command(&mut self, name: &str, arguments: Value) -> Result<Value> {
        self.link.send(&json!({"execute": name, "arguments": arguments}).to_string())?;
        let begun = Instant::now();
        while let Some(message) = self.message(ANSWER.saturating_sub(begun.elapsed()))? {
            if let Some(value) = message.get("return") {
                return Ok(value.clone());
            }
            if let Some(error) = message.get("error") {
                bail!("{name}: {}", error["desc"].as_str().unwrap_or("refused"));
            }
            self.events.push(message);
        }
        bail!("{name}: the emulator does not answer")
    }

    /// Returns the counters of each drive since power-on, as QEMU answers `query-blockstats`.
    ///
    /// # Errors
    /// Returns an error if the emulator does not answer.
    pub fn counts(&mut self) -> Result<Value> {
        self.command("query-blockstats", json!({}))
    }

    /// Returns the CPU registers of a guest that does not answer, for diagnosis. Also sends it an NMI, so that
    /// its kernel prints the rest on the console.
    pub fn condition(&mut self) -> String {
        let arguments = json!({"command-line": "info registers -a"});
        let registers = self.command("human-monitor-command", arguments);
        let words = match &registers {
            Ok(registers) => registers.as_str().unwrap_or_default(),
            Err(error) => return format!("{error:#}"),
        };
        let told =
            |line: &&str| ["CPU#", "RIP=", "CR0="].iter().any(|start| line.starts_with(start));
        let told: Vec<&str> = words.lines().filter(told).collect();
        let interrupted = self.command("inject-nmi", json!({}));
        let refused = interrupted.err().map(|error| format!("\n{error:#}"));
        told.join("\n") + &refused.unwrap_or_default()
    }

    /// Waits until the guest has let go of a device.
    ///
    /// # Errors
    /// When it does not within `limit`.
    pub fn deleted(&mut self, id: &str, limit: Duration) -> Result<()> {
        let is_it = |m: &Value| m["event"] == "DEVICE_DELETED" && m["data"]["device"] == id;
        let begun = Instant::now();
        loop {
            if let Some(at) = self.events.iter().position(is_it) {
                self.events.remove(at);
                return Ok(());
            }
            match self.message(limit.saturating_sub(begun.elapsed()))? {
                Some(message) => self.events.push(message),
                None => bail!("{id}: the guest does not let go of it"),
            }
        }
    }

    fn message(&mut self, limit: Duration) -> Result<Option<Value>> {
        let Some(line) = self.link.receive(limit)? else { return Ok(None) };
        Ok(Some(serde_json::from_str(&line)?))
    }
}
