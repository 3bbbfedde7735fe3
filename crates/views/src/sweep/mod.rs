//! A sweep as a page, as pictures and as rows.

pub mod charts;
mod csv;
mod tables;

use mark::sweep::{Body, Swept, findings};
use record::Document;
use workload::plan::Plan;

use crate::remedies;

pub use csv::csv;
pub use tables::{headline, page, plan};

/// The form of a sweep's body.
const SCHEMA: &str = "drivescope.sweep/1";

/// The mark of a sweep's plan as what it is.
pub fn found(swept: &Swept, plan: &Plan, mark: &Document<mark::Body>) -> Document<Body> {
    let mut envelope = mark.envelope.clone();
    SCHEMA.clone_into(&mut envelope.schema);
    let mut body = findings(&swept.sweep, plan, &mark.body, swept.limits);
    remedies::write(&mut body.caveats);
    Document { envelope, body }
}
