//! One life of a run for every instrument: a record is begun or resumed, the drive is compared with that of the record, the
//! instrument measures, each step is on disk before the next begins, and the record is closed with the state in which the
//! run ended.
//!
//! - [`instrument`] is the trait of an instrument on an open drive, and [`instrument::run`] its life.
//! - [`recorder`] is the open record of a run, [`place`] the directory of runs.
//! - [`announce`] says what a run does and costs before it begins.
//! - [`envelope`] has the circumstances of a result, [`exit`] how a verb ends, [`messages`] the only way to stderr and stdout.

pub mod announce;
pub mod envelope;
pub mod exit;
pub mod instrument;
pub mod messages;
pub mod place;
pub mod recorder;
