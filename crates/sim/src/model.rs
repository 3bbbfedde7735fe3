//! Finding, reading, overriding and checking models.

use serde::{Deserialize, Serialize};
use toml::de::{DeTable, DeValue};

use crate::describe::{ModelDescription, ModelInfo, Parameters};
use crate::error::SimError;
use crate::kind::{KINDS, Model};
use crate::spec::{self, Spec};
use crate::target::Parts;

/// The schema that this version reads.
const SCHEMA: &str = "drivescope.model/1";

/// A built-in model with its text.
struct BuiltIn {
    info: ModelInfo,
    text: &'static str,
}

static BUILT_IN: [BuiltIn; 3] = [
    BuiltIn { info: MODELS[0], text: include_str!("../models/hdd-7200.toml") },
    BuiltIn { info: MODELS[1], text: include_str!("../models/hdd-sg.toml") },
    BuiltIn { info: MODELS[2], text: include_str!("../models/hdd-wd.toml") },
];

/// The built-in models.
pub(crate) static MODELS: [ModelInfo; 3] = [
    ModelInfo {
        name: "hdd-7200",
        kind: "hdd",
        summary: "3.5\" SATA disk, 4 TB, 7200 rpm, 64 MiB cache",
    },
    ModelInfo {
        name: "hdd-sg",
        kind: "hdd",
        summary: "3.5\" SATA disk, 4 TB, 5900 rpm, 64 MiB cache, few dirty runs",
    },
    ModelInfo {
        name: "hdd-wd",
        kind: "hdd",
        summary: "3.5\" SATA disk, 4 TB, 5400 rpm, 64 MiB cache, many dirty runs",
    },
];

/// What a device says of itself, in every kind of model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    pub(crate) model: String,
    #[serde(default)]
    pub(crate) serial: Option<String>,
    /// Constant temperature; none when the drive has no sensor.
    #[serde(default)]
    pub(crate) temperature_c: Option<f64>,
}

/// What every model's file begins with.
#[derive(Deserialize)]
struct Header {
    schema: String,
    kind: String,
}

/// A model, its spec applied.
#[derive(Debug)]
pub(crate) struct Loaded {
    name: String,
    model: Model,
    seed: u64,
}

impl Loaded {
    pub(crate) fn parts(self) -> Result<Parts, SimError> {
        let device = self.model.device(self.seed).map_err(|(key, what)| SimError::Value {
            file: self.name.clone(),
            line: 1,
            key: key.to_owned(),
            what,
        })?;
        Ok(Parts {
            info: self.model.info(&self.name),
            leaf: self.model.name().to_owned(),
            temperature_c: self.model.identity().temperature_c,
            device,
        })
    }

    pub(crate) fn describe(self) -> ModelDescription {
        ModelDescription {
            name: self.model.name().to_owned(),
            kind: self.model.kind().to_owned(),
            summary: self.model.summary().to_owned(),
            seed: self.seed,
            info: self.model.info(&self.name),
            truth: self.model.truth(),
            parameters: Parameters(self.model),
        }
    }
}

/// Finds the model that a spec names and applies its overrides.
pub(crate) fn load(text: &str) -> Result<Loaded, SimError> {
    let spec = Spec::parse(text)?;
    let (file, source) = source(&spec)?;
    let model = parse(&file, &source)?;
    let (model, seed) = override_with(model, &file, &source, &spec)?;
    Ok(Loaded { name: text.to_owned(), model, seed })
}

fn source(spec: &Spec) -> Result<(String, String), SimError> {
    if spec.is_path() {
        let path = spec.model.clone();
        return match std::fs::read_to_string(&path) {
            Ok(text) => Ok((path, text)),
            Err(source) => Err(SimError::Read { path, source }),
        };
    }
    match BUILT_IN.iter().find(|b| b.info.name == spec.model) {
        Some(built_in) => Ok((format!("{}.toml", spec.model), built_in.text.to_owned())),
        None => Err(SimError::UnknownModel {
            name: spec.model.clone(),
            known: MODELS.map(|m| m.name).join(", "),
        }),
    }
}

/// Reads and checks a model's text.
fn parse(file: &str, text: &str) -> Result<Model, SimError> {
    let syntax = |e: toml::de::Error| SimError::Syntax {
        file: file.to_owned(),
        line: e.span().map_or(1, |span| line_at(text, span.start)),
        what: e.message().to_owned(),
    };
    let value = |key: &str, what: String| SimError::Value {
        file: file.to_owned(),
        line: line_of(text, key),
        key: key.to_owned(),
        what,
    };
    let header: Header = toml::from_str(text).map_err(syntax)?;
    if header.schema != SCHEMA {
        let what = format!("`{}` is not `{SCHEMA}`, which this version reads", header.schema);
        return Err(value("schema", what));
    }
    let Some(model) = Model::from_text(&header.kind, text) else {
        let known = KINDS.join(", ");
        let what = format!("`{}` is not a kind of device; known are {known}", header.kind);
        return Err(value("kind", what));
    };
    let model = model.map_err(syntax)?;
    model.check().map_err(|(key, what)| value(key, what))?;
    Ok(model)
}

/// Applies the overrides of `spec`; an error names the one that is at fault.
/// A dotted key is a field of the model's file; the others are shorthands.
fn override_with(
    mut model: Model,
    file: &str,
    text: &str,
    spec: &Spec,
) -> Result<(Model, u64), SimError> {
    let mut seed = 0;
    let mut paths: Vec<(String, &String)> = Vec::new();
    let mut table: toml::Table = toml::from_str(text).map_err(|e| SimError::Syntax {
        file: file.to_owned(),
        line: 1,
        what: e.message().to_owned(),
    })?;
    for (key, value) in &spec.overrides {
        let fault = |what: String| SimError::Override { key: key.clone(), what };
        if key == "seed" {
            let what = format!("`{value}` is not a whole number from 0 to {}", u64::MAX);
            seed = value.parse().map_err(|_| fault(what))?;
            continue;
        }
        let (path, new) = match model.shorthand(key, value) {
            Some(setting) => setting.map_err(fault)?,
            None if key.contains('.') => (key.as_str(), spec::value(value)),
            None => {
                return Err(fault(
                    "unknown; known are seed, capacity, write_cache, and any field of the model \
                     with its table, such as geometry.rpm"
                        .into(),
                ));
            }
        };
        set(&mut table, path, new).map_err(fault)?;
        model = model.reread(table.clone()).map_err(|e| fault(e.message().to_owned()))?;
        paths.push((path.to_owned(), key));
    }
    // All together: one override may be possible only beside another.
    model.check().map_err(|(field, what)| {
        let own = paths.iter().find(|(path, _)| path == field);
        match own.or(paths.last()) {
            Some((path, key)) if path == field => SimError::Override { key: (*key).clone(), what },
            Some((_, key)) => {
                SimError::Override { key: (*key).clone(), what: format!("{field}: {what}") }
            }
            None => SimError::Override { key: field.to_owned(), what },
        }
    })?;
    Ok((model, seed))
}

/// Puts `value` at a dotted path whose tables exist.
fn set(table: &mut toml::Table, path: &str, value: toml::Value) -> Result<(), String> {
    let mut keys: Vec<&str> = path.split('.').collect();
    let Some(last) = keys.pop() else { return Ok(()) };
    let mut at = table;
    for key in keys {
        at = match at.get_mut(key) {
            Some(toml::Value::Table(inner)) => inner,
            _ => return Err(format!("the model has no table `{key}`")),
        };
    }
    at.insert(last.to_owned(), value);
    Ok(())
}

/// Line of a byte, counted from 1.
fn line_at(text: &str, byte: usize) -> usize {
    1 + text.bytes().take(byte).filter(|b| *b == b'\n').count()
}

/// Line of a dotted key; that of the innermost table that exists when the key does not.
fn line_of(text: &str, path: &str) -> usize {
    let Ok(root) = DeTable::parse(text) else { return 1 };
    let mut line = 1;
    let mut table = Some(root.get_ref());
    for key in path.split('.') {
        let Some((name, value)) = table.and_then(|t| t.iter().find(|(k, _)| k.get_ref() == key))
        else {
            break;
        };
        line = line_at(text, name.span().start);
        table = match value.get_ref() {
            DeValue::Table(inner) => Some(inner),
            _ => None,
        };
    }
    line
}
