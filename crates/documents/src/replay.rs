//! Documents of a replay and of a comparison of drives under one trace.

use std::collections::BTreeMap;
use std::path::PathBuf;

use block::{DriveInfo, Stack};
use serde::{Deserialize, Serialize};
use serde_json::{Error, Value};
use trace::replay::{
    Body, Cost, Counts, Fidelity, Kernel, Moment, OriginalBody, Overload, Spans, Statement,
};

use crate::{Decode, decode, field};

/// The form of a replay's body.
pub const REPLAY: &str = "drivescope.trace-replay/1";

/// The form of a comparison's body.
pub const COMPARE: &str = "drivescope.trace-compare/1";

/// A drive that was replayed on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drive {
    /// Facts about the drive.
    pub target: DriveInfo,
    /// How I/O was issued.
    pub engine: String,
    /// Layers that I/O to it passes through.
    pub stack: Stack,
    /// The I/O scheduler that was set for the replay.
    pub scheduler: Option<Scheduler>,
}

/// An I/O scheduler that was set for a replay, and put back.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scheduler {
    /// The one that was set.
    pub set: String,
    /// The one before, and after.
    pub before: String,
}

/// Replay that supplied the outstanding I/O.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReferenceBody {
    /// On which drive.
    pub drive: String,
    /// Factor that times were multiplied by.
    pub factor: f64,
    /// Its completion time.
    pub completion_s: f64,
}

/// A replay.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayBody {
    /// The trace's file, as the user named it.
    pub file: PathBuf,
    /// On which drive.
    #[serde(flatten)]
    pub drive: Drive,
    /// Of what was written, of hashed addresses, and of a virtual drive's noise.
    pub seed: u64,
    /// Source of the outstanding I/O, if the trace has none.
    pub reference: Option<ReferenceBody>,
    /// Outcome.
    #[serde(flatten)]
    pub replay: Body,
    /// The kernel tracer's account of it, with `--verify`.
    pub kernel: Option<Verified>,
}

/// A comparison.
#[derive(Clone, Debug, Serialize)]
pub struct CompareBody {
    /// The trace's file, as the user named it.
    pub file: PathBuf,
    /// The drives, A first.
    pub on: Vec<Drive>,
    /// Statement of the I/O issued in each round on each drive.
    pub plan: Statement,
    /// Of the first round; each round has one of its own.
    pub seed: u64,
    /// Source of the outstanding I/O, if the trace has none.
    pub reference: Option<ReferenceBody>,
    /// Result of the comparison.
    #[serde(flatten)]
    pub compared: trace::replay::CompareBody,
}

/// The kernel's account of a replay.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// By which of the kernel's tracers.
    pub recorder: String,
    /// Events that the tracer lost, or that were more than could be kept.
    pub lost_events: u64,
    /// The account itself.
    #[serde(flatten)]
    pub kernel: Kernel,
}

decode!(
    Drive,
    Kernel,
    Option<ReferenceBody>,
    PathBuf,
    Statement,
    trace::analyze::body::Body,
    trace::replay::CompareBody,
);

/// Fields of a replay's body that an analysis does not have.
#[derive(Deserialize)]
struct Beside {
    plan: Statement,
    planned: Counts,
    elapsed_s: f64,
    q2c: Option<Spans>,
    from_due: Option<Spans>,
    overload: Option<Overload>,
    original: OriginalBody,
    fidelity: Fidelity,
    cost: Cost,
    errors_by_kind: BTreeMap<String, u64>,
    course: Vec<Moment>,
}

// The parts share one object, and each is read from it by itself: with `flatten`, serde would hold the object in a form of
// its own, and everything in the parts would be compiled a second time for that form.
impl Decode for Body {
    fn decode(value: Value) -> Result<Self, Error> {
        let run = trace::analyze::body::Body::decode(value.clone())?;
        let Beside {
            plan,
            planned,
            elapsed_s,
            q2c,
            from_due,
            overload,
            original,
            fidelity,
            cost,
            errors_by_kind,
            course,
        } = serde_json::from_value(value)?;
        Ok(Body {
            plan,
            planned,
            run,
            elapsed_s,
            q2c,
            from_due,
            overload,
            original,
            fidelity,
            cost,
            errors_by_kind,
            course,
        })
    }
}

impl Decode for ReplayBody {
    fn decode(value: Value) -> Result<Self, Error> {
        Ok(ReplayBody {
            file: field(&value, "file")?,
            drive: Drive::decode(value.clone())?,
            seed: field(&value, "seed")?,
            reference: field(&value, "reference")?,
            kernel: field(&value, "kernel")?,
            replay: Body::decode(value)?,
        })
    }
}

impl Decode for CompareBody {
    fn decode(value: Value) -> Result<Self, Error> {
        Ok(CompareBody {
            file: field(&value, "file")?,
            on: field(&value, "on")?,
            plan: field(&value, "plan")?,
            seed: field(&value, "seed")?,
            reference: field(&value, "reference")?,
            compared: trace::replay::CompareBody::decode(value)?,
        })
    }
}

impl Decode for Option<Verified> {
    fn decode(value: Value) -> Result<Self, Error> {
        if value.is_null() {
            return Ok(None);
        }
        let (recorder, lost_events) = (field(&value, "recorder")?, field(&value, "lost_events")?);
        Ok(Some(Verified { recorder, lost_events, kernel: Kernel::decode(value)? }))
    }
}
