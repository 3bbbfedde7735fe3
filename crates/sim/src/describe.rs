//! Description of a model before anything is issued to it.

use block::DriveInfo;
use serde::Serialize;

use crate::around::Around;
use crate::kind::Model;
use crate::truth::Truth;

/// A built-in model, for lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelInfo {
    /// Name after `sim:`.
    pub name: String,
    /// Kind of device: `hdd`.
    pub kind: String,
    /// One line for people.
    pub summary: String,
}

/// Everything about one model, with the overrides of its spec applied.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelDescription {
    /// The model's name.
    pub name: String,
    /// Kind of device: `hdd`.
    pub kind: String,
    /// One line for people.
    pub summary: String,
    /// Seed of its noise.
    pub seed: u64,
    /// Description that a host can read from the drive.
    pub info: DriveInfo,
    /// Truth about the drive, hidden from hosts: inferences are scored against it.
    pub truth: Truth,
    /// The model's parameters, as in its file.
    pub parameters: Parameters,
}

/// The parameters of a model. Serialises as the model's file reads, overrides applied.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameters {
    #[serde(flatten)]
    pub(crate) model: Model,
    #[serde(flatten)]
    pub(crate) around: Around,
}
