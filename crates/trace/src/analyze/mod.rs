//! What a trace says: phases of I/Os, seeks, load over time, sizes, addresses, reuse.
//!
//! [`run`] reads a source once, batch by batch, and hands each batch to the lenses, which work beside the reader on
//! threads of their own. [`body::Body`] is what they say. Everything is collected in bounded memory: distributions
//! in histograms, the most frequent in tables of fixed size, courses in steps that grow longer.

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

mod caveats;
mod lanes;
mod moments;
mod options;
mod run;
mod series;

use crate::analyze::body::{Body, Origin};
use crate::analyze::lanes::{Lanes, Wanted};
use crate::analyze::phases::Collector;
use crate::analyze::rates::Rates;
use crate::analyze::tasks::Tasks;
use crate::{Io, Kind, TraceInfo};

pub use lanes::DEVICES_MAX;
pub use options::{Lens, Options};
pub use phases::Phase;
pub use run::run;
pub use tasks::TASKS_MAX;

/// Everything that is collected of a trace.
#[derive(Debug)]
pub struct Analysis {
    options: Options,
    course: CourseLenses,
}

/// What btt tells too: where I/Os were how long.
#[derive(Debug)]
struct CourseLenses {
    /// I/Os that are handed on are counted where they go.
    split_stacks: bool,
    lanes: Lanes,
    tasks: Tasks,
    flushes: Collector,
    rates: Option<Rates>,
    last_arrival: u64,
}

impl CourseLenses {
    fn new(options: &Options) -> CourseLenses {
        let wants = |lens| options.wants(lens);
        CourseLenses {
            split_stacks: options.devices.is_empty(),
            lanes: Lanes::new(Wanted { seeks: wants(Lens::Seeks), depth: wants(Lens::Depth) }),
            tasks: Tasks::default(),
            flushes: Collector::default(),
            rates: wants(Lens::Rates).then(Rates::default),
            last_arrival: 0,
        }
    }

    fn see(&mut self, io: &Io) {
        let stacked = self.split_stacks && io.remapped.known();
        self.lanes.see(io, stacked);
        self.last_arrival = io.arrival.0;
        if stacked {
            return;
        }
        self.tasks.see(io);
        if io.kind == Kind::Flush && io.length.0 == 0 {
            self.flushes.see(io);
        }
        if let Some(rates) = &mut self.rates {
            rates.see(io);
        }
    }
}

impl Analysis {
    /// Nothing seen yet.
    pub fn new(options: &Options) -> Analysis {
        Analysis { options: options.clone(), course: CourseLenses::new(options) }
    }

    /// Takes I/Os, which come in the order of their arrival. All are looked at: [`run`] is what leaves out those that
    /// the options do not name.
    pub fn see(&mut self, batch: &[Io]) {
        batch.iter().for_each(|io| self.course.see(io));
    }

    /// What was seen; `info` is complete.
    pub fn finish(mut self, info: &TraceInfo) -> Body {
        let course = &mut self.course;
        course.lanes.close();
        let (counts, phases) = course.lanes.all();
        let (first, last) = course.lanes.span();
        let first = first.unwrap_or(0);
        let sum_s = |phase: Phase| {
            let spans = phases.of(phase);
            (spans.n() > 0).then(|| spans.sum() as f64 / 1e9)
        };
        let windowed = self.options.from.is_some() || self.options.until.is_some();
        let mut body = Body {
            trace: Origin::of(info, &self.options),
            arrivals_s: (course.last_arrival.saturating_sub(first)) as f64 / 1e9,
            completion_s: last.map(|last| last.saturating_sub(first) as f64 / 1e9),
            q2c_sum_s: sum_s(Phase::Q2c),
            d2c_sum_s: sum_s(Phase::D2c),
            overhead: phases.overhead(),
            phases: phases.phases(),
            flush_phases: course.flushes.phases(),
            queue_depth: course.lanes.whole.outstanding.finish(),
            device_depth: course.lanes.whole.issued.finish(),
            activity: course.lanes.whole.live.finish(),
            busy: course.lanes.whole.busy.finish(),
            rates: course.rates.as_ref().and_then(Rates::finish),
            devices: course.lanes.devices(&info.spaces, windowed),
            stacked: course.lanes.stacked(),
            processes: course.tasks.finish(&info.processes, last.is_some()),
            counts,
            caveats: Vec::new(),
        };
        body.caveats = caveats::of(&body, course.lanes.early());
        body
    }
}
