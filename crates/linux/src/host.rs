//! The machine itself: its name, its kernel, its randomness.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// The machine's name, as `uname -n` prints it.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The kernel's release, as `uname -r` prints it.
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
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
