//! The kinds of device that there are models of. A new kind is a variant here and a module beside `hdd`.

use block::DriveInfo;
use serde::{Deserialize, Serialize};

use crate::describe::Truth;
use crate::device::Device;
use crate::hdd::{Hdd, HddModel};

/// Names of all kinds, as model files write them.
pub(crate) const KINDS: [&str; 1] = ["hdd"];

/// A field of a model, with its table, and what is wrong with it.
pub(crate) type Fault = (&'static str, String);

/// A field of a model, with its table, and its new value.
pub(crate) type Setting = (&'static str, toml::Value);

/// The parameters of a model, by kind of device. Serialises as its file reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Model {
    Hdd(HddModel),
}

impl Model {
    /// Reads a model's file; `None` when `kind` is none of [`KINDS`].
    pub(crate) fn from_text(kind: &str, text: &str) -> Option<Result<Model, toml::de::Error>> {
        match kind {
            "hdd" => Some(toml::from_str(text).map(Model::Hdd)),
            _ => None,
        }
    }

    /// Reads a model of the same kind from a table.
    pub(crate) fn reread(&self, table: toml::Table) -> Result<Model, toml::de::Error> {
        match self {
            Model::Hdd(_) => HddModel::deserialize(table).map(Model::Hdd),
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Model::Hdd(_) => "hdd",
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Model::Hdd(model) => &model.name,
        }
    }

    pub(crate) fn summary(&self) -> &str {
        match self {
            Model::Hdd(model) => &model.summary,
        }
    }

    pub(crate) fn temperature_c(&self) -> Option<f64> {
        match self {
            Model::Hdd(model) => model.identity.temperature_c,
        }
    }

    /// Finds the first value that no such device can have.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        match self {
            Model::Hdd(model) => model.check(),
        }
    }

    /// The field that a short override key stands for; `None` for a key that this kind does not know.
    pub(crate) fn shorthand(&self, key: &str, value: &str) -> Option<Result<Setting, String>> {
        match self {
            Model::Hdd(model) => model.shorthand(key, value),
        }
    }

    /// What a host can ask the device about itself.
    pub(crate) fn info(&self, name: &str) -> DriveInfo {
        match self {
            Model::Hdd(model) => model.info(name),
        }
    }

    /// What is true of the device, for scoring.
    pub(crate) fn truth(&self) -> Truth {
        match self {
            Model::Hdd(model) => model.truth(),
        }
    }

    /// Makes the device.
    ///
    /// # Errors
    /// The field that makes it impossible; none after [`Model::check`].
    pub(crate) fn device(&self, seed: u64) -> Result<Box<dyn Device>, Fault> {
        match self {
            Model::Hdd(model) => Ok(Box::new(Hdd::new(model, seed)?)),
        }
    }
}
