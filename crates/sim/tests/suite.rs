//! All tests of the crate in one program, which takes a fraction of the time to build that one for each file would.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;
mod flashbench;
#[path = "../oracles/mod.rs"]
mod oracles;

mod any_load;
mod around;
mod card_any;
mod card_parts;
mod card_tables;
mod diskspd;
mod documents;
mod durability;
mod engine;
mod extremes;
mod figures;
mod golden;
mod hdd_golden;
mod makes;
mod overrides;
mod rotation;
mod specs;
mod ssd_any_load;
mod ssd_figures;
mod ssd_laws;
mod ssd_semantics;
mod waiting;
