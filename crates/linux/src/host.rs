//! The machine itself: its name, its kernel, its randomness.

use std::fs;
use std::io;

use block::Bytes;
use rustix::rand::{GetRandomFlags, getrandom};

/// The machine's name, as `uname -n` prints it.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The kernel's release, as `uname -r` prints it.
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The architecture, as `uname -m` prints it.
pub fn architecture() -> String {
    rustix::system::uname().machine().to_string_lossy().into_owned()
}

/// The model of the first CPU, where `/proc/cpuinfo` names one (not on every architecture).
pub fn cpu_model() -> Option<String> {
    let told = fs::read_to_string("/proc/cpuinfo").ok()?;
    let named = |line: &str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    };
    told.lines().find_map(named)
}

/// Main memory.
pub fn memory() -> Option<Bytes> {
    let told = fs::read_to_string("/proc/meminfo").ok()?;
    let total = told.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes::kib(kib))
}

/// A fresh seed for a run, below 2^53 so that whatever reads JSON as floating point keeps it.
///
/// # Errors
/// When the kernel gives no randomness.
pub fn fresh_seed() -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    // Eight bytes are never returned in part (getrandom(2): up to 256 are not interrupted).
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes) >> 11)
}
