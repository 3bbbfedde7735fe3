//! Identity of devices, as models write it.

use serde::{Deserialize, Serialize};

use crate::check::within;
use crate::field::Fault;

/// Identity that a device reports, in every kind of model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    pub(crate) model: String,
    #[serde(default)]
    pub(crate) serial: Option<String>,
    /// Constant temperature; none when the drive has no sensor.
    #[serde(default)]
    pub(crate) temperature_c: Option<f64>,
    /// True when it does not report how large its memory is, as real drives do not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) withholds_cache: bool,
}

impl Identity {
    /// Finds the first value that no device says of itself.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        // Far beyond any drive that works.
        let celsius = self.temperature_c.unwrap_or(0.0);
        within(&[("identity.temperature_c", celsius, -100.0, 200.0)])
    }
}

/// [`block::WriteCache`] as models write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WriteCacheModel {
    /// A write is complete when memory holds it.
    WriteBack,
    /// A write is complete when the medium holds it.
    WriteThrough,
}

impl From<WriteCacheModel> for block::WriteCache {
    fn from(model: WriteCacheModel) -> block::WriteCache {
        match model {
            WriteCacheModel::WriteBack => block::WriteCache::WriteBack,
            WriteCacheModel::WriteThrough => block::WriteCache::WriteThrough,
        }
    }
}
