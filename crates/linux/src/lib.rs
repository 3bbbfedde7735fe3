//! Real drives on Linux: engines, environment, identity, storage stack and the safety gate.
//!
//! `drive` has the engines (io_uring, libaio, psync, `null:`), `target` opens them, and `scratch` is the test file in a directory. `stack`
//! has the layers under a path, `environment` the counters, `gate` the safety gate. `passthrough` has a drive's own commands
//! behind one trait; `health` reads what a drive reports about itself, `purge` empties it, `tracer` records with the kernel's
//! tracer. `terminal` takes the terminal and gives it back. Unsafe code exists in this crate only.

pub mod claims;
pub mod describe;
pub mod descriptors;
pub mod devices;
pub mod drive;
pub mod engines;
pub mod environment;
pub mod extents;
pub mod gate;
pub mod health;
pub mod host;
pub mod mounts;
pub mod passthrough;
pub mod purge;
pub mod scheduler;
pub mod scratch;
pub mod signals;
pub mod signature;
pub mod stack;
pub mod sysfs;
pub mod target;
pub mod terminal;
pub mod tracer;
pub mod written;

mod leaf_events;
mod locks;
mod page_cache;
mod stored;
mod syscalls;
mod thermometers;
mod zfs;
