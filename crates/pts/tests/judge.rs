//! Results of other tools: files that fio made, random texts, and virtual drives whose truth is known.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

#[path = "../../sim/oracles/addresses.rs"]
#[allow(dead_code, reason = "shared with the tests of virtual drives")]
mod addresses;
#[path = "../../sim/oracles/load.rs"]
#[allow(dead_code, reason = "shared with the tests of virtual drives")]
mod load;

#[path = "judge/files.rs"]
mod files;
#[path = "judge/nonsense.rs"]
mod nonsense;
#[path = "judge/public.rs"]
mod public;
#[path = "judge/shared_logs.rs"]
mod shared_logs;
#[path = "judge/virtual_drives.rs"]
mod virtual_drives;
