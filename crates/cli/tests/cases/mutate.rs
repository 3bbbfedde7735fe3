//! A document with one thing wrong in it, for each thing that can be: by hand, by another version, by a bad disk.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use serde_json::{Map, Value, json};

/// A way in which a document is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A key is not there.
    Removed,
    /// A value of another type.
    Retyped,
    /// A number that nothing can be.
    Huge,
    /// A number below everything.
    Negative,
    /// An unknown key.
    Extra,
    /// The form of a later version.
    Version,
    /// The text ends early.
    Cut,
    /// A byte is another.
    Flipped,
    /// A key occurs twice.
    Doubled,
}

/// A document that is wrong.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub change: Change,
    /// The key that is wrong, as a path with `*` for any place in a list; empty for the text as a whole.
    pub path: String,
    pub document: Value,
}

impl Mutant {
    /// The last word of the path: what an error names.
    pub fn key(&self) -> &str {
        self.path.rsplit('/').find(|word| *word != "*").unwrap_or_default()
    }
}

/// Every mutant of a document, of things at most `depth` tables deep; of a list, the first entry represents all.
pub fn mutants(sound: &Value, depth: usize) -> Vec<Mutant> {
    let mut places = Vec::new();
    walk(sound, "", "", depth, &mut places);
    places.iter().flat_map(|(pointer, path)| of_place(sound, pointer, path)).collect()
}

fn walk(
    value: &Value,
    pointer: &str,
    path: &str,
    depth: usize,
    places: &mut Vec<(String, String)>,
) {
    if !pointer.is_empty() {
        places.push((pointer.to_owned(), path.to_owned()));
    }
    match value {
        Value::Object(entries) if depth > 0 => {
            for (key, value) in entries {
                let below =
                    |to: &str| format!("{to}/{}", key.replace('~', "~0").replace('/', "~1"));
                walk(value, &below(pointer), &below(path), depth - 1, places);
            }
        }
        Value::Array(entries) => {
            if let Some(first) = entries.first() {
                walk(first, &format!("{pointer}/0"), &format!("{path}/*"), depth, places);
            }
        }
        _ => {}
    }
}

fn of_place(sound: &Value, pointer: &str, path: &str) -> Vec<Mutant> {
    let mut found = Vec::new();
    let mut add = |change, edit: &dyn Fn(&mut Value)| {
        let mut document = sound.clone();
        edit(document.pointer_mut(pointer).unwrap());
        found.push(Mutant { change, path: path.to_owned(), document });
    };
    let value = sound.pointer(pointer).unwrap();
    match value {
        Value::Null => {}
        Value::String(_) => add(Change::Retyped, &|at| *at = json!([17])),
        Value::Bool(_) => add(Change::Retyped, &|at| *at = json!("perhaps")),
        Value::Array(_) => add(Change::Retyped, &|at| *at = json!("none")),
        Value::Object(_) => {
            add(Change::Retyped, &|at| *at = json!(7));
            add(Change::Extra, &|at| {
                at.as_object_mut().unwrap().insert("nobody_knows".to_owned(), json!(1));
            });
        }
        Value::Number(_) => {
            add(Change::Retyped, &|at| *at = json!("many"));
            add(Change::Huge, &|at| *at = json!(9_000_000_000_000_000_000_u64));
            add(Change::Negative, &|at| *at = json!(-7));
        }
    }
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    if key == "schema" {
        let later = format!("{}9", value.as_str().unwrap());
        add(Change::Version, &|at| *at = json!(later));
    }
    if let Some(Value::Object(entries)) = sound.pointer(parent) {
        let mut document = sound.clone();
        let less: Map<String, Value> = entries
            .iter()
            .filter(|(name, _)| *name != key)
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        *document.pointer_mut(parent).unwrap() = Value::Object(less);
        found.push(Mutant { change: Change::Removed, path: path.to_owned(), document });
    }
    found
}

/// The text cut at each quarter, and with a byte changed in each.
pub fn torn(bytes: &[u8]) -> Vec<(Change, Vec<u8>)> {
    let mut found = Vec::new();
    for quarter in 0..4 {
        found.push((Change::Cut, bytes[..bytes.len() * quarter / 4].to_vec()));
        let mut flipped = bytes.to_vec();
        let at = bytes.len() * quarter / 4 + bytes.len() / 8;
        flipped[at] ^= 0x15;
        found.push((Change::Flipped, flipped));
    }
    found
}
