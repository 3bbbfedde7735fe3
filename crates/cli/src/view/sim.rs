//! Virtual drives as a listing.

use report::{Entry, Listing};
use serde_json::Value;
use sim::{ModelDescription, ModelInfo};

/// Lays out the models that there are.
pub fn listing(models: &[ModelInfo]) -> Listing {
    let entry = |model: &ModelInfo| Entry {
        title: format!("sim:{}", model.name),
        summary: model.summary.to_owned(),
        facts: Vec::new(),
        notes: Vec::new(),
    };
    Listing { entries: models.iter().map(entry).collect(), empty: String::new() }
}

/// Lays out what a model is: every field of its truth that the model has.
pub fn description(model: &ModelDescription) -> Result<Listing, serde_json::Error> {
    let mut facts = Vec::new();
    flatten("", &serde_json::to_value(model)?, &mut facts);
    let entry = Entry {
        title: format!("sim:{}", model.name),
        summary: model.summary.to_string(),
        facts,
        notes: Vec::new(),
    };
    Ok(Listing { entries: vec![entry], empty: String::new() })
}

fn flatten(prefix: &str, value: &Value, facts: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path =
                    if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&path, value, facts);
            }
        }
        Value::Null => {}
        Value::String(text) => facts.push((prefix.to_owned(), text.clone())),
        other => facts.push((prefix.to_owned(), other.to_string())),
    }
}
