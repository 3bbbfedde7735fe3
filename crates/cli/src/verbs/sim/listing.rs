//! Virtual drives as a listing.

use report::{Entry, Listing, number};
use serde_json::{Map, Value};
use sim::{ModelDescription, ModelInfo};

/// Parts of the truth that are tables of their own in a model's file, with what they are.
const PARTS: [(&str, &str); 5] = [
    ("host", "the host before it"),
    ("faults", "what is wrong with it"),
    ("heat", "how it warms"),
    ("neighbour", "who else uses it"),
    ("aftermath", "work that it goes on with after writes"),
];

/// Lays out the models that there are, by kind.
pub fn listing(models: &[ModelInfo]) -> Listing {
    let mut entries: Vec<Entry> = Vec::new();
    for model in models {
        let fact = (format!("sim:{}", model.name), model.summary.clone());
        match entries.last_mut().filter(|entry| entry.title == model.kind) {
            Some(entry) => entry.facts.push(fact),
            None => entries.push(entry(&model.kind, "", vec![fact])),
        }
    }
    Listing { entries, empty: String::new() }
}

/// Lists a model's reported properties, its true ones, and its surroundings, without those that it does not have; its
/// parameters are in the JSON only.
///
/// # Errors
/// When the description has no JSON form.
pub fn description(model: &ModelDescription) -> Result<Listing, serde_json::Error> {
    let mut told = Vec::new();
    flatten("", &serde_json::to_value(&model.info)?, &mut told);
    told.retain(|(name, _)| name != "name" && name != "kind");
    told.insert(0, ("kind".to_owned(), model.kind.clone()));
    told.insert(1, ("seed".to_owned(), model.seed.to_string()));
    let mut entries = vec![entry(&format!("sim:{}", model.name), &model.summary, told)];

    let mut truth = serde_json::to_value(&model.truth)?;
    if let (Some(hdd), Some(zones)) = (truth.get_mut("hdd"), zones(model)) {
        hdd["zones"] = Value::String(zones);
    }
    if let Some(faults) = truth.get_mut("faults").and_then(Value::as_object_mut) {
        pertinent(faults);
    }
    let limits = truth.get_mut("heat_limits").map(Value::take).unwrap_or_default();
    let parts = PARTS.map(|(part, title)| {
        let mut facts = Vec::new();
        flatten("", &truth.get_mut(part).map(Value::take).unwrap_or_default(), &mut facts);
        if part == "heat" {
            flatten("", &limits, &mut facts);
        }
        entry(title, "", facts)
    });
    let mut facts = Vec::new();
    flatten("", &truth, &mut facts);
    entries.push(entry("what is true of it", "", facts));
    entries.extend(parts.into_iter().filter(|part| !part.facts.is_empty()));
    Ok(Listing { entries, empty: String::new() })
}

fn entry(title: &str, summary: &str, facts: Vec<(String, String)>) -> Entry {
    Entry {
        title: title.to_owned(),
        summary: summary.to_owned(),
        facts,
        notes: Vec::new(),
        leads: false,
    }
}

/// Leaves out what says how a fault works that the drive has not, and names what a storm is made of.
fn pertinent(faults: &mut Map<String, Value>) {
    let is_empty = |value: Option<&Value>| match value {
        Some(Value::Array(items)) => items.is_empty(),
        other => other.is_none_or(Value::is_null),
    };
    if is_empty(faults.get("real_capacity_bytes")) {
        faults.remove("beyond");
    }
    if faults.get("cache_bytes") == Some(&Value::from(0)) {
        faults.remove("cache_bytes");
        faults.remove("cache_rule");
    }
    if is_empty(faults.get("unreadable")) && is_empty(faults.get("unwritable")) {
        faults.remove("error_after_ns");
    }
    for ignored in ["ignores_discard", "ignores_flush"] {
        if faults.get(ignored) == Some(&Value::Bool(false)) {
            faults.remove(ignored);
        }
    }
    if let Some(Value::Object(storm)) = faults.remove("storm") {
        faults.extend(storm.into_iter().map(|(name, value)| (format!("storm_{name}"), value)));
    }
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

/// One line per field that has a value; units move from the name to the value. Fields that every drive has come before
/// tables for its kind.
fn flatten(name: &str, value: &Value, facts: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            let (tables, plain): (Vec<_>, Vec<_>) =
                fields.iter().partition(|(_, value)| value.is_object());
            plain.into_iter().chain(tables).for_each(|(name, value)| flatten(name, value, facts));
        }
        Value::Null => {}
        Value::Array(items) if items.is_empty() => {}
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| one_of(name, item)).collect();
            facts.push((words(name), items.join(", ")));
        }
        Value::String(text) => facts.push((words(name), text.replace('_', "-"))),
        Value::Bool(yes) => facts.push((words(name), if *yes { "yes" } else { "no" }.to_owned())),
        Value::Number(_) => facts.push(with_unit(name, value)),
    }
}

/// An item of a list: a range of addresses, or whatever else it is.
fn one_of(name: &str, item: &Value) -> String {
    let field = |name: &str| item.get(name).and_then(Value::as_f64).map(number::bytes);
    match (field("offset_bytes"), field("length_bytes")) {
        (Some(offset), Some(length)) => format!("{length} from {offset}"),
        _ if item.is_number() => with_unit(name, item).1,
        _ => item.to_string(),
    }
}

fn with_unit(name: &str, value: &Value) -> (String, String) {
    let number = value.as_f64().unwrap_or(f64::NAN);
    let plain = |unit: &str| format!("{value} {unit}");
    let (stem, text) = if let Some(stem) = name.strip_suffix("_bytes_per_s") {
        (stem, format!("{} MB/s", number::digits(number / 1e6)))
    } else if let Some(stem) = name.strip_suffix("_bytes") {
        (stem, number::bytes(number))
    } else if let Some(stem) = name.strip_suffix("_bytes_max") {
        (stem, format!("{} at most", number::bytes(number)))
    } else if let Some(stem) = name.strip_suffix("_ns") {
        (stem, number::nanoseconds(number))
    } else if let Some(stem) = name.strip_suffix("_per_s") {
        (stem, plain("per second"))
    } else if let Some(stem) = name.strip_suffix("_percent") {
        (stem, plain("%"))
    } else if let Some(stem) = name.strip_suffix("_nj_per_4kib") {
        (stem, format!("{} µJ per 4 KiB", number::digits(number / 1e3)))
    } else if let Some(stem) = name.strip_suffix("_mc_per_w") {
        (stem, format!("{} °C per watt", number::digits(number / 1e3)))
    } else if let Some(stem) = name.strip_suffix("_mw") {
        (stem, format!("{} W", number::digits(number / 1e3)))
    } else if let Some(stem) = name.strip_suffix("_c") {
        (stem, format!("{value} °C"))
    } else if name == "over_provisioning" {
        (name, number::share(number))
    } else {
        (name, value.to_string())
    };
    (words(stem), text)
}

/// A field's name as people write it.
fn words(name: &str) -> String {
    let word = |word: &str| match word {
        "au" => "AU".to_owned(),
        "fat" => "FAT".to_owned(),
        "ios" => "I/Os".to_owned(),
        "slc" => "SLC".to_owned(),
        other => other.to_owned(),
    };
    name.split('_').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(spec: &str, title: &str) -> Vec<(String, String)> {
        let listing = description(&sim::show(spec).unwrap()).unwrap();
        listing.entries.into_iter().find(|entry| entry.title == title).unwrap().facts
    }

    // Breaks when a vanishing drive is listed with retries of 3 s and wrapping, or a storm's length does not say that it is
    // a storm's.
    #[test]
    fn faults_are_told_with_what_belongs_to_them_only() {
        let names = |query: &str| -> Vec<String> {
            let facts = shown(&format!("sim:usb-8m?{query}"), "what is wrong with it");
            facts.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("faults.vanish_at_ns=5000000000"), ["vanish at"]);
        assert_eq!(names("faults.unreadable=1GiB+64KiB"), ["error after", "unreadable"]);
        assert_eq!(names("faults.real_capacity_bytes=1073741824"), ["beyond", "real capacity"]);
        let storm = ["storm added", "storm factor", "storm length", "storm period"];
        assert_eq!(names("faults.storm.factor=20"), storm);
    }

    // Breaks when what every drive has is looked for behind what only a card has.
    #[test]
    fn what_is_told_of_every_drive_comes_first() {
        let facts = shown("sim:usb-8m", "what is true of it");
        let at = |name: &str| facts.iter().position(|fact| fact.0 == name).unwrap();
        assert!(at("erase block") < at("merge"), "{facts:?}");
    }
}
