//! Finding, reading, overriding and checking models.

use std::io::Read as _;
use std::sync::Arc;

use block::{Bytes, DriveInfo};
use serde::Deserialize;
use toml::de::{DeTable, DeValue};

use crate::around::{Around, ContentMap, Gauges, TABLES};
use crate::built_in;
use crate::describe::{ModelDescription, Parameters};
use crate::environment::{Surroundings, Thermometer};
use crate::error::{SimError, in_words};
use crate::field::Fault;
use crate::kind::{KINDS, Model};
use crate::spec::{self, Spec};
use crate::target::Parts;
use crate::truth::Truth;

/// The schema that this version reads.
pub(crate) const SCHEMA: &str = "drivescope.model/1";

/// Header of every model's file.
#[derive(Deserialize)]
struct Header {
    schema: String,
    kind: String,
}

/// A whole model: a device, and the wrappers around it.
#[derive(Clone, Debug)]
struct Whole {
    model: Model,
    around: Around,
}

impl Whole {
    /// Reads both from a table: from its text, so that models are decoded by one piece of code.
    fn from_table(like: &Model, table: &toml::Table) -> Result<Whole, toml::de::Error> {
        let text = table.to_string();
        let (device, around) = apart(&text)?;
        Ok(Whole { model: like.reread(device)?, around: Around::deserialize(around)? })
    }

    /// The device inside: of a drive that claims more than it holds, the smaller one that there really is.
    fn inside(&self) -> Result<Model, Fault> {
        const KEY: &str = "faults.real_capacity_bytes";
        let Some(real) = self.around.real_capacity_bytes() else { return Ok(self.model.clone()) };
        let fault = |what: String| (KEY, what);
        let Some(setting) = self.model.shorthand("capacity", &real.to_string()) else {
            return Err(fault(format!("a {} has one capacity only", self.model.kind())));
        };
        let (path, value) = setting.map_err(fault)?;
        let mut table = toml::Table::try_from(&self.model).map_err(|e| fault(e.to_string()))?;
        set(&mut table, path, value).map_err(fault)?;
        let text = table.to_string();
        let model = toml::Deserializer::parse(&text).and_then(|file| self.model.reread(file));
        let model = model.map_err(|e| fault(e.message().to_owned()))?;
        model.check().map_err(|(field, what)| fault(format!("{field}: {what}")))?;
        Ok(model)
    }

    /// Finds the first value that no such drive can have.
    fn check(&self) -> Result<(), Fault> {
        self.model.check()?;
        self.model.identity().check()?;
        self.around.check(&self.model.info(""))?;
        self.inside().map(|_| ())
    }
}

/// A model, its spec applied.
#[derive(Debug)]
pub(crate) struct Loaded {
    name: String,
    whole: Whole,
    /// [`Whole::inside`].
    inside: Model,
    seed: u64,
}

impl Loaded {
    fn new(name: &str, whole: Whole, seed: u64) -> Result<Loaded, SimError> {
        let inside = whole.inside().map_err(|fault| of_file(name, fault))?;
        Ok(Loaded { name: name.to_owned(), whole, inside, seed })
    }

    fn info(&self) -> DriveInfo {
        let mut info = self.whole.model.info(&self.name);
        if self.whole.model.identity().withholds_cache {
            info.cache_bytes = None;
        }
        self.whole.around.tell(&mut info);
        info
    }

    /// Real capacity of the drive.
    fn real_bytes(&self) -> u64 {
        self.inside.info(&self.name).capacity_bytes.0
    }

    pub(crate) fn parts(self) -> Result<Parts, SimError> {
        let Whole { model, around } = &self.whole;
        let bare = self.inside.device(self.seed).map_err(|fault| of_file(&self.name, fault))?;
        let (info, real) = (self.info(), self.real_bytes());
        let gauges: Arc<Gauges> = Arc::default();
        let device = around.wrap(bare, &info, (real, self.seed), &gauges);
        let thermometer = match (&around.heat, model.identity().temperature_c) {
            (Some(_), _) => Thermometer::Gauge,
            (None, Some(degrees)) => Thermometer::Constant(degrees),
            (None, None) => Thermometer::None,
        };
        Ok(Parts {
            info,
            leaf: model.name().to_owned(),
            around: Surroundings { gauges, thermometer },
            content: ContentMap::new(real, around.faults.as_ref()),
            device,
        })
    }

    pub(crate) fn describe(self) -> ModelDescription {
        let (info, real) = (self.info(), self.real_bytes());
        let Whole { model, around } = self.whole;
        let mut truth = self.inside.truth();
        if around.real_capacity_bytes().is_some() {
            truth.real_capacity_bytes = Some(Bytes(real));
        }
        let truth = Truth {
            host: around.host.clone(),
            faults: around.faults.clone(),
            heat: around.heat.clone(),
            heat_limits: around.heat.as_ref().map(|heat| heat.truth()),
            neighbour: around.neighbour.clone(),
            aftermath: around.aftermath.clone(),
            ..truth
        };
        ModelDescription {
            name: model.name().to_owned(),
            kind: model.kind().to_owned(),
            summary: model.summary().to_owned(),
            seed: self.seed,
            info,
            truth,
            parameters: Parameters { model, around },
        }
    }
}

/// A fault that no check found, which is the model's as a whole.
fn of_file(file: &str, (key, what): Fault) -> SimError {
    SimError::Value { file: file.to_owned(), line: 1, key: key.to_owned(), what }
}

/// Finds the model that a spec names and applies its overrides.
pub(crate) fn load(text: &str) -> Result<Loaded, SimError> {
    let spec = Spec::parse(text)?;
    let seed = seed(&spec)?;
    let (whole, table) = find(&spec, seed)?;
    let whole = override_with(whole, table, &spec)?;
    Loaded::new(text, whole, seed)
}

fn seed(spec: &Spec) -> Result<u64, SimError> {
    let Some((key, value)) = spec.overrides.iter().find(|(key, _)| key == "seed") else {
        return Ok(0);
    };
    let what = format!("`{value}` is not a whole number from 0 to {}", u64::MAX);
    value.parse().map_err(|_| SimError::Override { key: key.clone(), what })
}

/// Longest model; the built-in ones have some KiB.
const MODEL_MAX: u64 = 1 << 20;

fn read(path: &str) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MODEL_MAX + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MODEL_MAX {
        true => Err(std::io::Error::other("it is longer than 1 MiB, and no model is")),
        false => Ok(text),
    }
}

/// The model that a spec names, as its file has it or as the seed draws it.
fn find(spec: &Spec, seed: u64) -> Result<(Whole, toml::Table), SimError> {
    if spec.is_path() {
        let path = spec.model.clone();
        return match read(&path) {
            Ok(text) => parse(&path, &text),
            Err(source) => Err(SimError::Read { path, source }),
        };
    }
    let file = format!("{}.toml", spec.model);
    if let Some(text) = built_in::text(&spec.model) {
        return parse(&file, text);
    }
    let Some(model) = built_in::drawn_kind(&spec.model).and_then(|k| Model::random(k, seed)) else {
        if let Some(meant) = parted(&spec.model) {
            return Err(SimError::Separator { name: spec.model.clone(), meant });
        }
        return Err(SimError::UnknownModel {
            name: spec.model.clone(),
            hint: nearest(&spec.model)
                .map_or(String::new(), |name| format!("did you mean sim:{name}? ")),
        });
    };
    model.check().map_err(|fault| of_file(&file, fault))?;
    let unwritten = |e: toml::ser::Error| of_file(&file, ("kind", e.to_string()));
    let table = toml::Table::try_from(&model).map_err(unwritten)?;
    Ok((Whole { model, around: Around::default() }, table))
}

/// The model that was probably meant by `name`.
fn nearest(name: &str) -> Option<String> {
    let known: Vec<String> = built_in::list().into_iter().map(|info| info.name).collect();
    block::nearest(name, known.iter().map(String::as_str)).map(str::to_owned)
}

/// `hdd-wd,seed=3,capacity=1TB` as it is written: `hdd-wd?seed=3&capacity=1TB`. None where no model's name begins it.
fn parted(name: &str) -> Option<String> {
    let at = name.find([',', '&', ';', ':'])?;
    let (model, rest) = (&name[..at], &name[at + 1..]);
    let is_known = built_in::text(model).is_some() || built_in::drawn_kind(model).is_some();
    (is_known && rest.contains('=')).then(|| format!("{model}?{}", rest.replace([',', ';'], "&")))
}

/// Reads and checks a model's text.
fn parse(file: &str, text: &str) -> Result<(Whole, toml::Table), SimError> {
    let syntax = |e: toml::de::Error| SimError::Syntax {
        file: file.to_owned(),
        line: e.span().map_or(1, |span| line_at(text, span.start)),
        what: in_words(e.message()),
    };
    let value = |(key, what): Fault| SimError::Value {
        file: file.to_owned(),
        line: line_of(text, key),
        key: key.to_owned(),
        what,
    };
    let header: Header = toml::from_str(text).map_err(syntax)?;
    if header.schema != SCHEMA {
        let what = format!("`{}` is not `{SCHEMA}`, which this version reads", header.schema);
        return Err(value(("schema", what)));
    }
    let (device, around) = apart(text).map_err(syntax)?;
    let Some(model) = Model::read(&header.kind, device) else {
        let known = KINDS.join(", ");
        let what = format!("`{}` is not a kind of device; known are {known}", header.kind);
        return Err(value(("kind", what)));
    };
    let model = model.map_err(syntax)?;
    let around = Around::deserialize(around).map_err(syntax)?;
    let whole = Whole { model, around };
    whole.check().map_err(value)?;
    Ok((whole, toml::from_str(text).map_err(syntax)?))
}

/// A file's two parts, each still with its line numbers: the device, and the wrappers around it.
fn apart(text: &str) -> Result<(toml::Deserializer<'_>, toml::Deserializer<'_>), toml::de::Error> {
    let mut device = DeTable::parse(text)?;
    let mut around = DeTable::new();
    for name in TABLES {
        around.extend(device.get_mut().remove_entry(name));
    }
    let around = toml::Spanned::new(device.span(), around);
    Ok((device.into(), around.into()))
}

/// Applies the overrides of `spec`; an error names the one that is at fault.
/// A dotted key is a field of the model's file; the others are shorthands.
fn override_with(mut whole: Whole, mut table: toml::Table, spec: &Spec) -> Result<Whole, SimError> {
    let mut paths: Vec<(String, &String)> = Vec::new();
    // A field may be possible only beside one that comes later, as in a table that was left out.
    let mut pending: Option<SimError> = None;
    for (key, value) in spec.overrides.iter().filter(|(key, _)| key != "seed") {
        let fault = |what: String| SimError::Override { key: key.clone(), what };
        let (path, new) = match whole.model.shorthand(key, value) {
            Some(setting) => setting.map_err(fault)?,
            None if key.contains('.') => (key.as_str(), spec::value(value)),
            None => return Err(fault(unknown(key, &whole.model))),
        };
        set(&mut table, path, new).map_err(fault)?;
        paths.push((path.to_owned(), key));
        match Whole::from_table(&whole.model, &table) {
            Ok(read) => (whole, pending) = (read, None),
            Err(e) => pending = pending.or_else(|| Some(fault(in_words(e.message())))),
        }
    }
    if let Some(error) = pending {
        return Err(error);
    }
    // All together: one override may be possible only beside another.
    whole.check().map_err(|(field, what)| {
        let own = paths.iter().find(|(path, _)| path == field);
        match own.or(paths.last()) {
            Some((path, key)) if path == field => SimError::Override { key: (*key).clone(), what },
            Some((_, key)) => {
                SimError::Override { key: (*key).clone(), what: format!("{field}: {what}") }
            }
            None => SimError::Override { key: field.to_owned(), what },
        }
    })?;
    Ok(whole)
}

/// Message for a short key that the kind does not know.
fn unknown(key: &str, model: &Model) -> String {
    let known = model.shorthands();
    let near = block::nearest(key, known.iter().copied().chain(["seed"]));
    let near = near.map_or(String::new(), |near| format!("\nhint: did you mean {near}?"));
    format!(
        "unknown; a model of kind {} knows seed, {}, and any field of the model with its table, such as \
         identity.serial or faults.vanish_at_ns{near}",
        model.kind(),
        known.join(", ")
    )
}

/// Puts `value` at a dotted path and makes the tables that are missing; decoding decides whether they may
/// exist.
fn set(table: &mut toml::Table, path: &str, value: toml::Value) -> Result<(), String> {
    let mut keys: Vec<&str> = path.split('.').collect();
    let Some(last) = keys.pop() else { return Ok(()) };
    let mut at = table;
    for key in keys {
        let inner = at.entry(key).or_insert_with(|| toml::Table::new().into());
        at = match inner {
            toml::Value::Table(inner) => inner,
            _ => return Err(format!("`{key}` is a field and no table")),
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
