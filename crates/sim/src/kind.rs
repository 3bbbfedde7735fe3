//! The kinds of device that there are models of. A new kind is a variant here and a module beside `hdd`.

use block::DriveInfo;
use serde::{Deserialize, Serialize};

use crate::describe::Truth;
use crate::device::Device;
use crate::hdd::HddModel;
use crate::model::Identity;
use crate::ssd::SsdModel;

/// Names of all kinds, as model files write them.
pub(crate) const KINDS: [&str; 2] = ["hdd", "ssd"];

/// A field of a model, with its table, and what is wrong with it.
pub(crate) type Fault = (&'static str, String);

/// A field of a model, with its table, and its new value.
pub(crate) type Setting = (&'static str, toml::Value);

/// What every kind's parameters can tell and make.
pub(crate) trait DeviceModel {
    /// The model's name.
    fn name(&self) -> &str;

    /// One line for people.
    fn summary(&self) -> &str;

    /// What the device says of itself.
    fn identity(&self) -> &Identity;

    /// Finds the first value that no such device can have.
    fn check(&self) -> Result<(), Fault>;

    /// The field that a short override key stands for; `None` for a key that this kind does not know.
    fn shorthand(&self, key: &str, value: &str) -> Option<Result<Setting, String>>;

    /// What a host can ask the device about itself, when the user named it `name`.
    fn info(&self, name: &str) -> DriveInfo;

    /// What is true of the device, for scoring.
    fn truth(&self) -> Truth;

    /// Makes the device.
    ///
    /// # Errors
    /// The field that makes it impossible; none after [`DeviceModel::check`].
    fn device(&self, seed: u64) -> Result<Box<dyn Device>, Fault>;
}

/// The parameters of a model, by kind of device. Serialises as its file reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Model {
    Hdd(HddModel),
    Ssd(SsdModel),
}

impl Model {
    /// Reads a model's file; `None` when `kind` is none of [`KINDS`].
    pub(crate) fn from_text(kind: &str, text: &str) -> Option<Result<Model, toml::de::Error>> {
        match kind {
            "hdd" => Some(toml::from_str(text).map(Model::Hdd)),
            "ssd" => Some(toml::from_str(text).map(Model::Ssd)),
            _ => None,
        }
    }

    /// Reads a model of the same kind from a table.
    pub(crate) fn reread(&self, table: toml::Table) -> Result<Model, toml::de::Error> {
        match self {
            Model::Hdd(_) => HddModel::deserialize(table).map(Model::Hdd),
            Model::Ssd(_) => SsdModel::deserialize(table).map(Model::Ssd),
        }
    }

    /// Its kind, as model files write it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Model::Hdd(_) => "hdd",
            Model::Ssd(_) => "ssd",
        }
    }
}

impl std::ops::Deref for Model {
    type Target = dyn DeviceModel;

    fn deref(&self) -> &Self::Target {
        match self {
            Model::Hdd(model) => model,
            Model::Ssd(model) => model,
        }
    }
}
