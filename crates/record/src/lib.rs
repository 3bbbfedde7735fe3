//! What stays of a run: the document that every verb's JSON is.

mod document;

pub use document::{Document, Envelope, Host, RunId, rfc3339};
