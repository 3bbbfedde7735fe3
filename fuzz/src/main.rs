//! Feeds arbitrary bytes to one of the readers of traces, results, command lines and records, under libFuzzer:
//! `scripts/fuzz`.
//!
//! One binary for all targets, so that there is one to build and to link: `DRIVESCOPE_FUZZ` names the target, or is
//! `list`.

#![no_main]

mod check;
mod records;
mod results;
mod target;

use cap::Cap;
use libfuzzer_sys::fuzz_target;
use std::alloc::System;
use target::Target;

/// Memory limit of the process: a reader that takes a claim of the file for a size goes beyond it, and the
/// refusal ends the process. Windows, batches and tables of a reader are far below.
const MEMORY_BYTES: usize = 256 << 20;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, MEMORY_BYTES);

fuzz_target!(
    init: {
        Target::named();
    },
    |data: &[u8]| Target::named().run(data)
);
