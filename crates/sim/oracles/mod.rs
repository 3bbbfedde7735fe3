//! Oracles for virtual drives: theory, and small programs that share no line with them. Tests, the benchmark and
//! `scripts/validate sim` take this directory in by its path; it is not part of the product.

#![allow(dead_code, reason = "each of those who take this in uses its own part")]
#![allow(unused_imports, reason = "a benchmark has the modules of tests, without their functions")]

pub mod addresses;
pub mod bare_ftl;
pub mod load;
pub mod model;
pub mod queue;
pub mod theory;
