//! Records for the tests inside this crate.

use block::UnixNanos;
use serde_json::{Value, json};

use crate::{Document, Envelope, Head, Host, RunId, SamplesFormat, StepEntry};

pub(crate) fn id() -> RunId {
    RunId::new(UnixNanos(0), 7)
}

pub(crate) fn head() -> Head {
    let host = Host { name: "h".into(), kernel: "6.1.0".into(), cpus: 2, machine: None };
    let envelope = Envelope {
        schema: "drivescope.mark/1".into(),
        date: "1970-01-01T00:00:00Z".into(),
        host,
        run_id: id(),
        version: "0.1.0".into(),
        binary: None,
        arguments: Vec::new(),
        drive: None,
        parts: Vec::new(),
        announced: None,
    };
    Head {
        envelope,
        begun: UnixNanos(5),
        plan: "seed = 7\n".into(),
        setup: json!({ "verb": "mark" }),
        steps: Some(2),
        samples: Some(SamplesFormat::Csv),
    }
}

/// A step whose name is `name`.
pub(crate) fn step(position: u32, name: &str) -> StepEntry {
    StepEntry {
        position,
        step: name.to_owned(),
        run: position,
        counted: true,
        series: Vec::new(),
        histograms: Vec::new(),
        figures: json!({ "mb_s": 0.1, "most": u64::MAX }),
    }
}

pub(crate) fn document() -> Document<Value> {
    Document { envelope: head().envelope, body: json!({ "mb_s": 0.1 }) }
}
