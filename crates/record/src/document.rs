//! `{"envelope": …, "body": …}`: what a result is, apart from what it says.
//!
//! The body of a run on a virtual drive depends on plan, model and seed alone; everything that
//! depends on the host, the date or the binary is in the envelope.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Announced, RunId};

/// A result with what is known about its making.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document<B> {
    /// Origin of the result: machine, date and program.
    pub envelope: Envelope,
    /// The result.
    pub body: B,
}

impl<B: Serialize> Document<B> {
    /// The document as JSON, indented, with a line feed at its end.
    ///
    /// # Errors
    /// When JSON cannot represent the body: a map whose keys are not text.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

/// Origin of a result: machine, date and program.
///
/// Fields that came later are optional, so that the documents of older versions are still read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Name and version of the body's form, such as `drivescope.mark/1`.
    pub schema: String,
    /// RFC 3339, UTC.
    pub date: String,
    /// The machine.
    pub host: Host,
    /// Names the run.
    pub run_id: RunId,
    /// Version of drivescope.
    pub version: String,
    /// The program file, where it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<Binary>,
    /// The arguments, program name left out.
    pub arguments: Vec<String>,
    /// Identity of the drive, as the measuring program describes it; a resumed run is compared with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<Value>,
    /// Runs that it was made of, in the order in which they were made; none of most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<RunId>,
    /// Plan, cost and known doubts, as they were announced before it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<Box<Announced>>,
}

/// The machine that a result was made on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Kernel release, as `uname -r` prints it.
    pub kernel: String,
    /// CPUs that this process may use.
    pub cpus: usize,
    /// The machine's hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// Hardware of a machine. `None` where the machine does not report it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of its CPUs, as the kernel names it.
    pub cpu_model: Option<String>,
    /// Architecture, as `uname -m` prints it.
    pub architecture: Option<String>,
    /// Main memory, in bytes.
    pub memory_bytes: Option<u64>,
}

/// The program that made a result, so that the very same can be found again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binary {
    /// Version that it states of itself.
    pub version: String,
    /// SHA-256 of its file, in hexadecimal.
    pub sha256: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document of version 0.1: a change that cannot read it orphans every result kept so far.
    const OLD: &str = r#"{
        "envelope": {
            "schema": "drivescope.mark/1", "date": "2023-11-14T22:13:20Z",
            "host": {"name": "h", "kernel": "6.1.0", "cpus": 2},
            "run_id": "20231114T221320Z-00000007", "version": "0.1.0", "arguments": ["mark", "x"]
        },
        "body": {"mb_s": 0.1}
    }"#;

    #[test]
    fn a_document_without_the_later_fields_is_read_and_written_as_it_was() {
        let old: Document<Value> = serde_json::from_str(OLD).unwrap();
        assert_eq!((&old.envelope.binary, &old.envelope.host.machine), (&None, &None));
        let again: Value = serde_json::from_str(&old.to_json().unwrap()).unwrap();
        assert_eq!(again, serde_json::from_str::<Value>(OLD).unwrap());
    }

    #[test]
    fn a_document_whose_run_id_could_not_be_one_is_refused() {
        let evil = OLD.replace("20231114T221320Z-00000007", "../../etc");
        let error = serde_json::from_str::<Document<Value>>(&evil).unwrap_err().to_string();
        assert!(error.contains("../../etc"), "{error}");
    }

    #[test]
    fn floats_come_back_to_the_last_bit() {
        // Without float_roundtrip about one in a thousand of these is read one unit off.
        let mut bits = 0x3fb9_9999_9999_999a_u64;
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let value = f64::from_bits(bits);
            if value.is_finite() {
                let text = serde_json::to_string(&value).unwrap();
                let again: f64 = serde_json::from_str(&text).unwrap();
                assert_eq!(again.to_bits(), bits, "{text}");
            }
        }
    }
}
