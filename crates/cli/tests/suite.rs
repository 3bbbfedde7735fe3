//! Nearly all tests of the program in one program, which takes a fraction of the time to build that one for each file
//! would, and has something to do while one of them waits.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod cases {
    pub mod fixture;
    pub mod known;
    pub mod mutate;
    pub mod values;
}
mod common;
/// The program's own definitions; here, what they are for is not looked at.
#[allow(dead_code, unused_imports, missing_docs, reason = "only the tree of flags is looked at")]
#[path = "../src"]
mod product {
    pub mod args;
}
use product::args;

mod advice;
mod advice_states;
mod announced;
mod bad_ends;
mod beside_resume;
mod btt;
mod bursts;
mod capacity_full;
mod commits;
mod compare;
mod completing;
mod contract;
mod decisive;
mod diskspd;
mod dying;
mod explain;
mod field_trial;
mod files;
mod flashbench;
mod gate;
mod gate_states;
mod health;
mod help;
mod hints;
mod hostile;
mod import;
mod judge;
mod judge_memory;
mod lifecycles;
mod live;
mod manual;
mod matrix;
mod nonsense;
mod output_targets;
mod outputs;
mod plans;
mod probe;
mod probe_restore;
mod prompts;
mod pts;
mod pts_report;
mod purge;
mod reached;
mod reached_layers;
mod record;
mod refusals;
mod remedies;
mod report;
mod report_page;
mod rerun;
mod resume;
mod runs;
mod samples;
mod schemas;
mod serve;
mod slips;
mod survey;
mod sweep;
mod tidy;
mod trace_memory;
mod trace_record;
mod trace_replay;
mod trend;
mod virtual_disk;
mod virtual_drives;
