//! Virtual drives and their environment, in virtual time.
//!
//! A virtual drive is a device model behind an event queue. Hours on it take milliseconds, and one
//! seed gives one history, to the bit: all times are integers, ties have an order, and the noise is a
//! stream that this crate owns. What a virtual drive *is* can be known ([`show`]), so whatever is
//! inferred about it from outside can be scored.
//!
//! The layers, from the user inwards: the spec (`sim:hdd-7200?seed=7`) names a model, a TOML file;
//! the model makes a device; [`VirtualTarget`] keeps the clock and the host's queue, and speaks the
//! domain's [`block::Target`]. Only the device knows what a platter is; a kind of device is
//! added as a sibling of the `hdd` module and a variant in `kind`.
//!
//! The models are TOML files in `models`, listed by `built_in`; `around` has what may surround a drive of any kind, such as a
//! noisy neighbour.

mod around;
mod built_in;
mod card;
mod check;
mod describe;
mod device;
mod device_model;
mod draw;
mod environment;
mod error;
mod events;
mod field;
mod hdd;
mod identity;
mod kind;
mod model;
mod noise;
mod spec;
mod ssd;
mod store;
mod target;
mod truth;

pub use around::{
    Aftermath, Beyond, CacheRule, ContentMap, FakeCache, Faults, Heat, HeatTruth, HostLimits,
    Neighbour, Order, Range, Ranges, Stored, Storm,
};
pub use describe::{ModelDescription, ModelInfo, Parameters};
pub use device::MediaCounters;
pub use environment::VirtualEnvironment;
pub use error::SimError;
pub use spec::rounded_from;
pub use target::{Lane, VirtualTarget};
pub use truth::{CardTruth, HddTruth, Truth, ZoneTruth};

/// Opens a virtual drive.
///
/// `spec` is what the user typed: `sim:MODEL`, `sim:PATH.toml`, or `sim:random-KIND` for one drawn from the
/// seed; then perhaps `?key=value&…`. Keys: `seed` (a `u64`, 0 when absent), `capacity` (`4TB`, `500GiB`),
/// `write_cache` (`write_back`, `write_through`), `state` (`fresh`, `filled`, `steady`), as far as the kind
/// of device knows them; or any field of the model with its table (`geometry.rpm=5400`), also of a table
/// that the model leaves out (`faults.vanish_at_ns=5000000000`).
///
/// # Errors
/// [`SimError`]: an unknown model (the known ones are listed), a file that cannot be read, a fault
/// in it with file and line, or an override with its key.
pub fn open(spec: &str) -> Result<VirtualTarget, SimError> {
    Ok(VirtualTarget::new(model::load(spec)?.parts()?))
}

/// The built-in models, by kind.
pub fn list() -> Vec<ModelInfo> {
    built_in::list()
}

/// Describes the drive that [`open`] would open, with the truth about it.
///
/// # Errors
/// As [`open`].
pub fn show(spec: &str) -> Result<ModelDescription, SimError> {
    model::load(spec).map(model::Loaded::describe)
}
