//! Records for the tests.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "these are tests")]

pub mod faults;
pub mod memory;

use std::io::Read as _;
use std::path::Path;

use block::{Bytes, Op, UnixNanos};
use drivescope_record::{
    Document, Envelope, Files, Head, Host, PhaseHistogram, PhaseSeries, RunId, SampleRow,
    SamplesFormat, StepEntry, Summary, rfc3339,
};
use serde_json::{Value, json};

/// The id of the `n`th run; later ones sort after earlier ones.
pub fn id(n: u32) -> RunId {
    RunId::new(date(n), u64::from(n))
}

fn date(n: u32) -> UnixNanos {
    UnixNanos((1_700_000_000 + i128::from(n)) * 1_000_000_000)
}

pub fn envelope(n: u32) -> Envelope {
    Envelope {
        schema: "drivescope.mark/1".into(),
        date: rfc3339(date(n)),
        host: Host { name: "host".into(), kernel: "6.1.0".into(), cpus: 2, machine: None },
        run_id: id(n),
        version: "0.1.0".into(),
        binary: None,
        arguments: vec!["mark".into(), "sim:usb".into()],
        drive: Some(json!({ "serial": "S1" })),
        parts: Vec::new(),
        announced: None,
    }
}

pub fn head(n: u32, samples: Option<SamplesFormat>) -> Head {
    Head {
        envelope: envelope(n),
        begun: date(n),
        plan: "seed = 7\n".into(),
        setup: json!({ "verb": "mark", "target": "sim:usb", "flags": [0.1, 1e300] }),
        steps: Some(5),
        samples,
    }
}

/// A step with a name that needs quoting, floats that need all their digits, and large integers.
pub fn step(position: u32) -> StepEntry {
    let n = u64::from(position);
    StepEntry {
        position,
        step: format!("SEQ1M, \"Q8\"T{position}"),
        run: position / 2,
        counted: position > 0,
        series: vec![PhaseSeries {
            phase: "timed".into(),
            measured: true,
            began_ns: n * 1_000_000_000,
            slice_ns: 100_000_000,
            ios: vec![n, 2, 3],
            bytes: vec![n << 20, 2, u64::MAX],
        }],
        histograms: vec![PhaseHistogram {
            phase: "timed".into(),
            op: "read".into(),
            began_ns: n * 1_000_000_000,
            window_ns: 300_000_000,
            max_ns: 1_500_000,
            encoded: "HISTFAAAAAA=".into(),
        }],
        figures: json!({ "mb_s": 0.1 + f64::from(position), "latency": { "p50": u64::MAX } }),
    }
}

pub fn rows(position: u32, count: u64) -> impl Iterator<Item = SampleRow> {
    (0..count).map(move |n| SampleRow {
        step: format!("SEQ1M, \"Q8\"T{position}"),
        run: position / 2,
        submitter: (n % 3) as u16,
        op: [Op::Read, Op::Write, Op::Flush, Op::Discard][(n % 4) as usize],
        offset: Bytes(n * 4096),
        len: Bytes(4096),
        intended_ns: n * 1000,
        issued_ns: n * 1000 + 1,
        completed_ns: u64::MAX - n,
    })
}

pub fn document(n: u32) -> Document<Value> {
    Document {
        envelope: envelope(n),
        body: json!({ "mb_s": 0.1, "target": { "name": "sim:usb" } }),
    }
}

pub fn summary() -> Summary {
    Summary {
        verb: "mark".into(),
        target: "sim:usb".into(),
        drive: "usb-8m".into(),
        headline: "read 30 MB/s".into(),
    }
}

/// A file's bytes.
pub fn bytes<F: Files>(files: &F, path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    files.open(path).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}
