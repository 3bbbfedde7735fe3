//! The job of fio's that a result is of.

use serde_json::Value;

/// Options and time of a job's run, by which runs of the same job are recognized.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// All options, as the JSON has them.
    pub(super) options: String,
    /// Second of 1970 in which fio wrote the JSON.
    pub(super) ended_s: u64,
    /// Seconds since fio began, the last of them unfinished.
    pub(super) elapsed_s: u64,
}

impl Cell {
    /// That of `job` in `document`; none without options or a date.
    pub(super) fn of(document: &Value, job: &Value) -> Option<Cell> {
        let own = job.get("job options")?.as_object().filter(|own| !own.is_empty())?;
        let global = document.get("global options").cloned().unwrap_or_default();
        Some(Cell {
            options: format!("{global}{}", Value::Object(own.clone())),
            ended_s: document.get("timestamp")?.as_u64()?,
            elapsed_s: job.get("elapsed")?.as_u64()?,
        })
    }
}
