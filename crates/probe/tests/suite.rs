//! All tests of the crate in one program, which takes a fraction of the time to build that one for each file would.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod bench;
mod cards;
mod common;
mod reading;

mod align;
mod align_made;
mod align_tables;
mod capacity;
mod capacity_full;
mod fat;
mod flashbench_damage;
mod flashbench_face;
mod flashbench_forms;
mod flashbench_published;
mod flashbench_rates;
mod flashbench_round_trip;
mod interval;
mod open_au;
mod open_au_boundary;
mod open_au_flashbench;
mod open_au_tables;
mod parallelism;
mod scatter;
mod slc_cache;
mod speed_class;
mod surface;
mod truth;
mod write_buffer;
