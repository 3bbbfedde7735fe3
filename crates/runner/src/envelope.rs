//! Circumstances of a result: date, machine, binary, command line.

use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use block::WallClock;
pub use linux::host::SystemClock;
use record::{Binary, Document, Envelope, Host, Machine, RunId, rfc3339};

/// A document of form `schema` around `body`.
pub fn document<B>(schema: &str, run_id: RunId, clock: &dyn WallClock, body: B) -> Document<B> {
    Document { envelope: envelope(schema, run_id, clock), body }
}

/// The circumstances of now.
pub fn envelope(schema: &str, run_id: RunId, clock: &dyn WallClock) -> Envelope {
    Envelope {
        schema: schema.to_owned(),
        date: rfc3339(clock.now()),
        host: Host {
            name: linux::host::host_name(),
            kernel: linux::host::kernel_release(),
            cpus: std::thread::available_parallelism().map_or(0, usize::from),
            machine: Some(Machine {
                cpu_model: linux::host::cpu_model(),
                architecture: Some(linux::host::architecture()),
                memory_bytes: linux::host::memory().map(|bytes| bytes.0),
            }),
        },
        run_id,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        binary: binary(),
        arguments: without_consent(&arguments()),
        drive: None,
        parts: Vec::new(),
        announced: None,
    }
}

/// A name for a new run. Not made of the seed alone: two runs of one seed may begin in the same second and in the same
/// directory, and each has its own test file.
pub fn run_id(seed: u64) -> RunId {
    RunId::new(SystemClock.now(), linux::host::fresh_seed().unwrap_or(seed))
}

/// The seed that was asked for, or a fresh one.
///
/// # Errors
/// When the kernel gives no randomness.
pub fn seed_of(asked: Option<u64>) -> Result<u64> {
    match asked {
        Some(seed) => Ok(seed),
        None => linux::host::fresh_seed().context("cannot draw a seed; give one with --seed"),
    }
}

/// The words typed after the program's name.
pub fn arguments() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// A command without the words that consent to writing: those are typed, each time, and kept nowhere.
pub fn without_consent(words: &[String]) -> Vec<String> {
    let mut left = Vec::with_capacity(words.len());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--consent" => drop(words.next()),
            word if word.starts_with("--consent=") => {}
            _ => left.push(word.clone()),
        }
    }
    left
}

/// The program itself. Hashed once; it cannot change while it runs.
fn binary() -> Option<Binary> {
    static BINARY: OnceLock<Option<Binary>> = OnceLock::new();
    let hash = || {
        let sha256 = record::sha256_of_file(std::path::Path::new("/proc/self/exe")).ok()?;
        Some(Binary { version: env!("CARGO_PKG_VERSION").to_owned(), sha256 })
    };
    BINARY.get_or_init(hash).clone()
}
