//! Versions of the record's form, and how an older one is read.
//!
//! A record, in whatever files it is kept, is one value: `schema`, `run_id`, `steps`, `samples`, `envelope`, `plan`,
//! `setup`, `entries`, `end`, `document`. Each migration takes such a value from one version to the next, so that code
//! elsewhere knows the present form alone. Version 0 is what there was before records: the bare document of a verb.

use std::path::Path;

use serde_json::{Value, json};

use crate::RecordError;

/// Name and version of the form that is written.
pub const SCHEMA: &str = "drivescope.record/1";
const NAME: &str = "drivescope.record/";

/// `CHAIN[n]` takes version n to n + 1.
const CHAIN: [fn(Value) -> Value; 1] = [from_bare_document];

/// The version that a record says it has.
///
/// # Errors
/// [`RecordError::Newer`], or [`RecordError::Damaged`] when it is not a record; both name `path`.
pub(crate) fn version(path: &Path, schema: Option<&str>) -> Result<usize, RecordError> {
    let schema = schema.ok_or_else(|| RecordError::damaged(path, "has no schema"))?;
    let number = schema.strip_prefix(NAME).and_then(|n| n.parse::<usize>().ok());
    match number {
        Some(n) if (1..=CHAIN.len()).contains(&n) => Ok(n),
        Some(n) if n > CHAIN.len() => Err(RecordError::Newer {
            path: path.to_owned(),
            schema: schema.to_owned(),
            newest: SCHEMA,
        }),
        _ => Err(RecordError::damaged(
            path,
            format!("has schema {schema:?}, which is not a record's"),
        )),
    }
}

/// True when a record of this version needs no migration.
pub(crate) fn is_present(version: usize) -> bool {
    version == CHAIN.len()
}

/// Takes a record of version `from` to the present one.
pub(crate) fn migrate(value: Value, from: usize) -> Value {
    CHAIN.iter().skip(from).fold(value, |value, step| step(value))
}

/// Version 0, a document as `--json` printed it. It records neither plan nor steps.
fn from_bare_document(document: Value) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let arguments = &document["envelope"]["arguments"];
    let verb = text(&arguments[0]);
    let target = text(&document["body"]["target"]["name"]);
    let drive = text(&document["body"]["target"]["model"]);
    let interrupted = document["body"]["interrupted"].as_bool() == Some(true);
    let state = if interrupted { "interrupted" } else { "finished" };
    json!({
        "schema": "drivescope.record/1",
        "run_id": document["envelope"]["run_id"],
        "steps": null,
        "samples": null,
        "envelope": document["envelope"],
        "plan": "",
        "setup": { "bare": true, "verb": verb, "target": target, "arguments": arguments },
        "entries": [],
        "end": {
            "state": state,
            "entries": 0,
            "steps": null,
            "samples_lost": [],
            "summary": { "verb": verb, "target": target, "drive": drive, "headline": "" },
        },
        "document": document,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_the_one_that_is_written() {
        assert_eq!(SCHEMA, format!("{NAME}{}", CHAIN.len()));
        let path = Path::new("record.json");
        assert_eq!(version(path, Some(SCHEMA)).unwrap(), CHAIN.len());
        let same = json!({ "schema": SCHEMA, "x": 1 });
        assert_eq!(migrate(same.clone(), CHAIN.len()), same);
    }

    #[test]
    fn a_newer_version_is_named_and_nonsense_is_no_version() {
        let path = Path::new("record.json");
        let newer = version(path, Some("drivescope.record/2")).unwrap_err().to_string();
        assert!(newer.contains("drivescope.record/2") && newer.contains("newer one"), "{newer}");
        for schema in [None, Some("drivescope.mark/1"), Some("drivescope.record/0"), Some("")] {
            let error = version(path, schema).unwrap_err();
            assert!(matches!(error, RecordError::Damaged { .. }), "{schema:?}: {error}");
        }
    }
}
