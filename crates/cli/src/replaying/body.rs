//! What a replay and a comparison leave as documents.

use std::path::PathBuf;

use block::{DriveInfo, Stack};
use serde::{Deserialize, Serialize};
use trace::replay::{Body, Statement};

use super::play::Played;
use super::verify::Verified;

/// The form of a replay's body.
pub const REPLAY: &str = "drivescope.trace-replay/1";

/// The form of a comparison's body.
pub const COMPARE: &str = "drivescope.trace-compare/1";

/// A drive that was replayed on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drive {
    /// What is known of it.
    pub target: DriveInfo,
    /// How I/O was issued.
    pub engine: String,
    /// What I/O to it passes through.
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

impl Drive {
    /// The drive of a replay.
    pub fn of(played: &Played) -> Drive {
        let scheduler = played.scheduler.clone();
        Drive {
            target: played.info.clone(),
            engine: played.engine.clone(),
            stack: played.stack.clone(),
            scheduler: scheduler.map(|(set, before)| Scheduler { set, before }),
        }
    }
}

/// The replay that what was outstanding comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReferenceBody {
    /// On which drive.
    pub drive: String,
    /// What times were multiplied by.
    pub factor: f64,
    /// Its completion time.
    pub completion_s: f64,
}

/// A replay.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReplayBody {
    /// The trace's file, as the user named it.
    pub file: PathBuf,
    /// On which drive.
    #[serde(flatten)]
    pub drive: Drive,
    /// Of what was written, of hashed addresses, and of a virtual drive's noise.
    pub seed: u64,
    /// Where what was outstanding comes from, when the trace does not tell.
    pub reference: Option<ReferenceBody>,
    /// What became of it.
    #[serde(flatten)]
    pub replay: Body,
    /// What the kernel's tracer saw of it.
    pub kernel: Option<Verified>,
}

/// A comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CompareBody {
    /// The trace's file, as the user named it.
    pub file: PathBuf,
    /// The drives, A first.
    pub on: Vec<Drive>,
    /// What was issued, in each round on each drive.
    pub plan: Statement,
    /// Of the first round; each round has one of its own.
    pub seed: u64,
    /// Where what was outstanding comes from, when the trace does not tell.
    pub reference: Option<ReferenceBody>,
    /// What follows.
    #[serde(flatten)]
    pub compared: trace::replay::CompareBody,
}
