//! Results laid out for reading: which numbers stand where. How they look is the report's business.

pub mod devices;
pub mod import;
pub mod mark;
pub mod plots;
pub mod probe;
pub mod rerun;
pub mod row;
pub mod runs;
pub mod serve;
pub mod sim;
