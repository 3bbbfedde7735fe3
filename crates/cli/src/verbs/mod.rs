//! One file per verb.

pub mod devices;
pub mod mark;
pub mod plan;
pub mod run;
pub mod shell;
pub mod sim;
