//! The kinds of device that there are models of. A new kind is a variant here and a module beside `hdd`.

use serde::{Deserialize, Serialize};

use crate::card::CardModel;
use crate::device_model::DeviceModel;
use crate::hdd::HddModel;
use crate::ssd::SsdModel;

/// Names of all kinds, as model files write them.
pub(crate) const KINDS: [&str; 3] = ["hdd", "card", "ssd"];

/// Draws a model from a seed.
type Draw = fn(u64) -> Model;

/// The kinds of which a model can be drawn, and how.
const DRAWN: [(&str, Draw); 2] = [
    ("card", |seed| Model::Card(CardModel::random(seed))),
    ("ssd", |seed| Model::Ssd(SsdModel::random(seed))),
];

/// The parameters of a model, by kind of device. Serialises as its file reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Model {
    Hdd(HddModel),
    Card(CardModel),
    Ssd(SsdModel),
}

impl Model {
    /// Reads a model's file without the tables that any kind may have; `None` when `kind` is none of
    /// [`KINDS`].
    pub(crate) fn read(
        kind: &str,
        file: toml::Deserializer<'_>,
    ) -> Option<Result<Model, toml::de::Error>> {
        match kind {
            "hdd" => Some(HddModel::deserialize(file).map(Model::Hdd)),
            "card" => Some(CardModel::deserialize(file).map(Model::Card)),
            "ssd" => Some(SsdModel::deserialize(file).map(Model::Ssd)),
            _ => None,
        }
    }

    /// Draws a model of a kind from a seed; `None` for a kind that cannot be drawn.
    pub(crate) fn random(kind: &str, seed: u64) -> Option<Model> {
        DRAWN.iter().find(|(known, _)| *known == kind).map(|(_, draw)| draw(seed))
    }

    /// Reads a model of the same kind from the text of its file.
    pub(crate) fn reread(&self, file: toml::Deserializer<'_>) -> Result<Model, toml::de::Error> {
        match self {
            Model::Hdd(_) => HddModel::deserialize(file).map(Model::Hdd),
            Model::Card(_) => CardModel::deserialize(file).map(Model::Card),
            Model::Ssd(_) => SsdModel::deserialize(file).map(Model::Ssd),
        }
    }

    /// Its kind, as model files write it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Model::Hdd(_) => "hdd",
            Model::Card(_) => "card",
            Model::Ssd(_) => "ssd",
        }
    }
}

impl std::ops::Deref for Model {
    type Target = dyn DeviceModel;

    fn deref(&self) -> &Self::Target {
        match self {
            Model::Hdd(model) => model,
            Model::Card(model) => model,
            Model::Ssd(model) => model,
        }
    }
}
