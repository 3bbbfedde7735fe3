//! One file per verb.

pub mod devices;
pub mod mark;
pub mod plan;
pub mod rerun;
pub mod resume;
pub mod run;
pub mod runs;
pub mod shell;
pub mod sim;
