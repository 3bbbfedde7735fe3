//! Virtual drives as a listing.

use report::{Entry, Listing, number};
use serde_json::Value;
use sim::{ModelDescription, ModelInfo};

/// Lays out the models that there are.
pub fn listing(models: &[ModelInfo]) -> Listing {
    let entry = |model: &ModelInfo| Entry {
        title: format!("sim:{}", model.name),
        summary: model.summary.clone(),
        facts: Vec::new(),
        notes: Vec::new(),
    };
    Listing { entries: models.iter().map(entry).collect(), empty: String::new() }
}

/// Lays out what a model shows of itself and what is true of it; its parameters are in the JSON.
///
/// # Errors
/// When the description has no JSON form.
pub fn description(model: &ModelDescription) -> Result<Listing, serde_json::Error> {
    let mut facts = Vec::new();
    flatten("", &serde_json::to_value(&model.info)?, &mut facts);
    facts.retain(|(name, _)| name != "name");
    let mut truth = serde_json::to_value(&model.truth)?;
    if let (Some(hdd), Some(zones)) = (truth.get_mut("hdd"), zones(model)) {
        hdd["zones"] = Value::String(zones);
    }
    flatten("", &truth, &mut facts);
    let entry = Entry {
        title: format!("sim:{}", model.name),
        summary: model.summary.clone(),
        facts,
        notes: Vec::new(),
    };
    Ok(Listing { entries: vec![entry], empty: String::new() })
}

/// How many zones, and their rates from the outer edge to the inner one.
fn zones(model: &ModelDescription) -> Option<String> {
    let zones = &model.truth.hdd.as_ref()?.zones;
    let rate = |bytes_per_s: u64| number::digits(bytes_per_s as f64 / 1e6);
    let (outer, inner) = (zones.first()?, zones.last()?);
    Some(format!(
        "{}, from {} MB/s at the outer edge to {} MB/s at the inner",
        zones.len(),
        rate(outer.streaming_bytes_per_s),
        rate(inner.streaming_bytes_per_s)
    ))
}

/// One line per field that has a value; names lose their unit to the value.
fn flatten(name: &str, value: &Value, facts: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| flatten(name, value, facts));
        }
        Value::Null => {}
        Value::String(text) => facts.push((words(name), text.replace('_', "-"))),
        other => facts.push(with_unit(name, other)),
    }
}

fn with_unit(name: &str, value: &Value) -> (String, String) {
    let number = value.as_f64().unwrap_or(f64::NAN);
    if let Some(stem) = name.strip_suffix("_bytes_per_s") {
        (words(stem), format!("{} MB/s", number::digits(number / 1e6)))
    } else if let Some(stem) = name.strip_suffix("_bytes") {
        (words(stem), number::bytes(number))
    } else if let Some(stem) = name.strip_suffix("_ns") {
        (words(stem), number::nanoseconds(number))
    } else {
        (words(name), value.to_string())
    }
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}
