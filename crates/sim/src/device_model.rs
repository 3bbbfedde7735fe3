//! Interface of a kind of device to all code that does not know which kind it is.

use block::DriveInfo;

use crate::device::Device;
use crate::field::{Fault, Setting};
use crate::identity::Identity;
use crate::truth::Truth;

/// Parameters of a kind of device.
pub(crate) trait DeviceModel {
    /// The model's name.
    fn name(&self) -> &str;

    /// One line for people.
    fn summary(&self) -> &str;

    /// Returns the identity that the device reports.
    fn identity(&self) -> &Identity;

    /// Finds the first value that no such device can have.
    fn check(&self) -> Result<(), Fault>;

    /// The short override keys that this kind knows, for the error about another.
    fn shorthands(&self) -> &'static [&'static str] {
        &["capacity", "state", "write_cache"]
    }

    /// The field that a short override key sets; `None` for a key that this kind does not know.
    fn shorthand(&self, key: &str, value: &str) -> Option<Result<Setting, String>>;

    /// Returns the description that a host can read from the device, when the user named it `name`.
    fn info(&self, name: &str) -> DriveInfo;

    /// Returns the truth about the device, for scoring.
    fn truth(&self) -> Truth;

    /// Makes the device.
    ///
    /// # Errors
    /// The field that makes it impossible; none after [`DeviceModel::check`].
    fn device(&self, seed: u64) -> Result<Box<dyn Device>, Fault>;
}
