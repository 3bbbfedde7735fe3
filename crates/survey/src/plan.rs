//! Plan of a survey, shown before it begins.

use block::{Bytes, Nanos};
use serde::Serialize;

use crate::body::LeftOut;

/// Plan of a survey, part by part.
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
    /// Questions that will not be examined.
    pub not_looked_at: Vec<LeftOut>,
}

/// A part that is planned.
#[derive(Serialize)]
pub struct PlannedPart {
    /// Its name.
    pub part: &'static str,
    /// Purpose of the part.
    pub why: &'static str,
    /// The longest that it is given.
    pub time_ns: Option<Nanos>,
}
