//! The models that come with the program.

use serde::Deserialize;

use crate::describe::ModelInfo;
use crate::kind::{KINDS, Model};

/// Names and texts of the files in `models`.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../models/", $name, ".toml")))),*]
    };
}

/// A line here adds a model; only its file says what it is.
static FILES: &[(&str, &str)] = files! {
    "hdd-7200",
    "hdd-sg",
    "hdd-wd",
    "sdcard-4m",
    "usb-8m",
    "usb-tlc",
    "card-3m",
    "fake-64g",
    "mlc-nvme",
    "tlc-pslc",
    "qlc-pslc",
    "enterprise-28op",
    "optane",
    "sata-a",
    "sata-b",
};

/// Prefix of the kind in the name of a model that is drawn from the seed.
const DRAWN: &str = "random-";

/// The part of a model's file that a list shows.
#[derive(Deserialize)]
struct Head {
    kind: String,
    summary: String,
}

/// The text of a built-in model.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The kind of which `name` asks for a model drawn from the seed; `None` when it asks for no such thing,
/// or for a kind that cannot be drawn.
pub(crate) fn drawn_kind(name: &str) -> Option<&'static str> {
    let kind = name.strip_prefix(DRAWN)?;
    KINDS.into_iter().find(|known| *known == kind && Model::random(kind, 0).is_some())
}

/// All models, by kind in the order of [`KINDS`], the drawn one last in each.
pub(crate) fn list() -> Vec<ModelInfo> {
    let files = FILES.iter().filter_map(|(name, text)| {
        let Head { kind, summary } = toml::from_str(text).ok()?;
        Some(ModelInfo { name: (*name).to_owned(), kind, summary })
    });
    let files: Vec<ModelInfo> = files.collect();
    let of_kind = |kind: &str| {
        let drawn = Model::random(kind, 0).map(|model| ModelInfo {
            name: format!("{DRAWN}{kind}"),
            kind: kind.to_owned(),
            summary: model.summary().to_owned(),
        });
        files.iter().filter(|info| info.kind == kind).cloned().chain(drawn).collect::<Vec<_>>()
    };
    KINDS.iter().flat_map(|kind| of_kind(kind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{open, show};

    // Breaks when a file is left out of the list (its head cannot be read), or is called otherwise inside.
    #[test]
    fn each_file_is_listed_and_opens_under_its_own_name() {
        let listed = list();
        for (name, text) in FILES {
            let described = show(&format!("sim:{name}")).unwrap();
            assert_eq!(described.name, *name, "the file's `name` is not the file's name");
            open(&format!("sim:{name}")).unwrap();
            let info = listed.iter().find(|info| info.name == *name).unwrap();
            assert_eq!((&info.kind, &info.summary), (&described.kind, &described.summary));
            assert!(text.contains(&format!("name = \"{name}\"")));
        }
        let drawn = listed.iter().filter(|info| info.name.starts_with(DRAWN)).count();
        assert_eq!(listed.len(), FILES.len() + drawn, "a model is not listed, or listed twice");
    }

    // Breaks when a file is added to `models` and to nothing else.
    #[test]
    fn no_file_is_left_out() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/models");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(text(name).is_some(), "{name} is not in the table of built-in models");
        }
    }
}
