//! Enterprise tests: preconditioning, steady state, and the tests of the SNIA Solid State Storage Performance Test
//! Specification (PTS), on real and virtual drives.
//!
//! [`options`] says what is asked for; [`run`](mod@run) makes the tests, each of which has a file in [`tests`](mod@tests);
//! they ask a [`desk`] for stretches of I/O, which a [`rig`] issues. [`tracker`] follows the value that steady state is
//! judged by, and [`body`] is what is left. [`judge`] looks at what other programs measured.
//! [`judge`] has a file for each format of other programs; a result of them that can become a run is in `judge/measured.rs`.

pub mod ask;
pub mod body;
pub mod desk;
pub mod estimate;
mod fill;
pub mod judge;
pub mod kept;
pub mod options;
mod ours;
pub mod precondition;
pub mod rig;
pub mod run;
pub mod table;
pub mod tests;
pub mod tracker;
pub mod window;
