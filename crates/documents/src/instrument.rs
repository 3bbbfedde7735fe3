//! The instruments whose results are recorded and shown again: one row each.
//!
//! A new instrument adds a row here, its body to [`ResultBody`], and the view of that.

use serde_json::{Error, Value};

use crate::recorded::ResultBody;
use crate::{Decode as _, purge, replay};

/// The form of a mark's document.
pub const MARK: &str = "drivescope.mark/1";
/// The form of a probing's.
pub const PROBE: &str = "drivescope.probe/1";
/// The form of a survey's.
pub const SURVEY: &str = "drivescope.survey/1";
/// The form of enterprise tests'.
pub const PTS: &str = "drivescope.pts/1";
/// The form of a comparison of sides.
pub const COMPARISON: &str = "drivescope.comparison/1";
/// The form of an analysis of a trace.
pub const ANALYSIS: &str = "drivescope.trace-analysis/1";

/// Instrument that makes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrument {
    /// `mark`, `run`, `sweep`, one side of `compare`, `rerun`.
    Mark,
    /// `probe`.
    Probing,
    /// `survey`.
    Survey,
    /// `pts`.
    Tests,
    /// `purge`.
    Purge,
    /// `trace replay`.
    Replay,
    /// `compare`.
    Comparison,
    /// `trace compare`.
    TraceComparison,
    /// `trace analyze`, which keeps no record.
    Analysis,
}

/// How a run that was stopped is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// By this verb.
    By(&'static str),
    /// By the verb that its setup names.
    AsSetUp,
    /// Not at all: it is made again.
    Never,
}

/// Properties of an instrument.
#[derive(Clone, Copy)]
pub struct Row {
    /// The instrument.
    pub instrument: Instrument,
    /// The form of its documents.
    pub schema: &'static str,
    /// Name of a result, with its article.
    pub noun: &'static str,
    /// How one that was stopped is resumed.
    pub resume: Resume,
    /// Reads the body of a document.
    pub decode: fn(&Value) -> Result<ResultBody, Error>,
}

/// All instruments.
pub const ALL: [Row; 9] = [
    Row {
        instrument: Instrument::Mark,
        schema: MARK,
        noun: "a mark",
        resume: Resume::AsSetUp,
        decode: |body| Ok(ResultBody::Mark(decoded(body)?, Vec::new())),
    },
    Row {
        instrument: Instrument::Probing,
        schema: PROBE,
        noun: "a probing",
        resume: Resume::By("probe"),
        decode: |body| Ok(ResultBody::Probe(decoded(body)?)),
    },
    Row {
        instrument: Instrument::Survey,
        schema: SURVEY,
        noun: "a survey",
        resume: Resume::By("survey"),
        decode: |body| Ok(ResultBody::Survey(decoded(body)?)),
    },
    Row {
        instrument: Instrument::Tests,
        schema: PTS,
        noun: "a run of pts",
        resume: Resume::By("pts"),
        decode: |body| Ok(ResultBody::Tests(bodies_of_tests(body)?)),
    },
    Row {
        instrument: Instrument::Purge,
        schema: purge::SCHEMA,
        noun: "a purge",
        resume: Resume::Never,
        decode: |body| Ok(ResultBody::Purge(decoded(body)?)),
    },
    Row {
        instrument: Instrument::Replay,
        schema: replay::REPLAY,
        noun: "a replay",
        resume: Resume::Never,
        decode: |body| Ok(ResultBody::Replay(decoded(body)?)),
    },
    Row {
        instrument: Instrument::Comparison,
        schema: COMPARISON,
        noun: "a comparison",
        resume: Resume::By("compare"),
        decode: |body| Ok(ResultBody::Comparison(decoded(body)?)),
    },
    Row {
        instrument: Instrument::TraceComparison,
        schema: replay::COMPARE,
        noun: "a comparison under a trace",
        resume: Resume::Never,
        decode: |body| Ok(ResultBody::Compare(decoded(body)?)),
    },
    Row {
        instrument: Instrument::Analysis,
        schema: ANALYSIS,
        noun: "an analysis of a trace",
        resume: Resume::Never,
        decode: |body| Ok(ResultBody::Analysis(decoded(body)?)),
    },
];

/// The instrument whose documents have the form `schema`.
pub fn of_schema(schema: &str) -> Option<&'static Row> {
    const ROWS: &[Row] = &ALL;
    ROWS.iter().find(|row| row.schema == schema)
}

/// The tests of a document's body: one, or several.
///
/// # Errors
/// When it is not in the form of this version.
pub fn bodies_of_tests(body: &Value) -> Result<Vec<pts::body::Body>, Error> {
    match body.get("tests") {
        Some(tests) => Vec::decode(tests.clone()),
        None => Ok(vec![pts::body::Body::decode(body.clone())?]),
    }
}

fn decoded<B: crate::Decode>(body: &Value) -> Result<Box<B>, Error> {
    B::decode(body.clone()).map(Box::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when two rows are of one instrument or one form, of which the second would never be found.
    #[test]
    fn each_row_is_found_by_its_form() {
        for row in ALL {
            let found = of_schema(row.schema).unwrap();
            assert_eq!(found.instrument, row.instrument);
        }
        assert!(of_schema("drivescope.plan/1").is_none());
    }

    // Breaks when a document that lacks a field passes for one.
    #[test]
    fn what_is_no_body_is_refused() {
        for row in ALL {
            assert!((row.decode)(&serde_json::json!({})).is_err(), "{}", row.schema);
        }
    }
}
