//! Tests that leave the rest of their process alone in one program, which takes a fraction of the time to build that one
//! for each file would, and waits for one device while it asks another. A program of its own has whatever cannot stand
//! beside others: it says why.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;
#[macro_use]
#[path = "common/drive_kit.rs"]
mod drive_kit;
#[path = "common/step_kit.rs"]
mod step_kit;
#[path = "common/tracer_kit.rs"]
mod tracer_kit;

mod devices;
mod drives;
mod drives_targets;
mod drives_waiting;
mod environment;
mod gate;
mod gate_content;
mod gate_unseen;
mod gate_users;
mod health_ata;
mod health_nvme;
mod health_scsi;
mod passthrough;
mod purge_ata;
mod purge_nvme;
mod scratch;
mod signals;
mod signatures;
mod stack_arrays;
mod stack_described;
mod stack_real;
mod tracer;
mod tracer_backends;
mod writes_ahead;
