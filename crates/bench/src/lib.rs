//! An open target with everything between it and the user: consent, engine, outputs, original data.
//!
//! - [`opening`] opens a target of any kind for an instrument, with the consent to write to it.
//! - [`consent`] asks the safety gate, and a person at a terminal.
//! - [`engines`] chooses the kernel's engine; [`other_engine`] opens a target again with another one.
//! - [`limit`] measures the tester itself, on a device that costs nothing.
//! - [`outputs`] keeps output files off drives and targets, and publishes each only when it is whole; [`durable`] waits until
//!   a file is on its device.
//! - [`originals`] saves what a probe overwrites until it is put back.

pub mod consent;
pub mod durable;
pub mod engines;
pub mod limit;
pub mod opening;
pub mod originals;
pub mod other_engine;
pub mod outputs;
