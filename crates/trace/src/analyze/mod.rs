//! Analysis of a trace: phases of I/Os, seeks, load over time, sizes, addresses, reuse.
//!
//! [`run`] reads a source once, batch by batch, and hands each batch to the lenses, which work beside the reader on
//! threads of their own. [`body::Body`] is their result. Everything is collected in bounded memory: distributions in
//! histograms, the most frequent in tables of fixed size, courses in steps that grow longer.

pub mod activity;
pub mod body;
pub mod depth;
pub mod histogram;
pub mod merges;
pub mod phases;
pub mod plugs;
pub mod rates;
pub mod seeks;
pub mod tally;
pub mod tasks;

// Lenses on what was asked for, whatever became of it.
pub mod bins;
pub mod bursts;
pub mod heat;
pub mod mix;
pub mod reach;
pub mod regions;
pub mod reuse;
pub mod sequential;
pub mod sizes;
pub mod sketch;
pub mod timeline;
pub mod working_set;

mod blocks;
mod caveats;
mod course;
mod lanes;
mod load;
mod moments;
mod options;
mod run;

use crate::analyze::body::Body;
use crate::analyze::course::CourseLenses;
use crate::analyze::load::Load;
use crate::{Io, TraceInfo};

pub use lanes::DEVICES_MAX;
pub use load::LoadBody;
pub use options::{Lens, Options};
pub use phases::Phase;
pub use run::run;
pub use tasks::TASKS_MAX;

/// Everything that is collected of a trace.
#[derive(Debug)]
pub struct Analysis {
    options: Options,
    course: CourseLenses,
    load: Option<Load>,
}

impl Analysis {
    /// Nothing seen yet.
    pub fn new(options: &Options) -> Analysis {
        Analysis {
            options: options.clone(),
            course: CourseLenses::new(options),
            load: Load::new(options),
        }
    }

    /// Takes I/Os, which come in the order of their arrival. All are looked at: [`run`] is what leaves out those that
    /// the options do not name.
    pub fn see(&mut self, batch: &[Io]) {
        self.course.see(batch);
        if let Some(load) = &mut self.load {
            load.see(batch);
        }
    }

    /// Returns the result; `info` must be complete.
    pub fn finish(self, info: &TraceInfo) -> Body {
        let mut body = self.course.finish(info, &self.options);
        body.load = self.load.map(|load| load.finish(info)).unwrap_or_default();
        body
    }
}
