//! What a survey will do, as it is said before it begins.

use block::{Bytes, Nanos};
use serde::Serialize;

use crate::body::LeftOut;

/// What a survey will do, part by part.
#[derive(Serialize)]
pub struct Planned {
    /// The target.
    pub target: String,
    /// Why it was taken, when the user named none.
    pub chosen: Option<String>,
    /// How long all parts may take.
    pub time_budget_ns: Nanos,
    /// Most that is written to what exists; none where only reading is allowed.
    pub write_budget_bytes: Option<Bytes>,
    /// A test file is made in the target, a directory, and removed.
    pub makes_test_file: bool,
    /// The parts, as far as they can be foreseen: what an earlier one shows decides about a later one.
    pub parts: Vec<PlannedPart>,
    /// What is not looked at.
    pub not_looked_at: Vec<LeftOut>,
}

/// A part that is planned.
#[derive(Serialize)]
pub struct PlannedPart {
    /// Its name.
    pub part: &'static str,
    /// What it is made for.
    pub why: &'static str,
    /// The longest that it is given.
    pub time_ns: Option<Nanos>,
}
