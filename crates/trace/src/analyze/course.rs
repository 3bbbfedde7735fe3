//! Figures that btt reports too: the time that I/Os spent in each phase, by device and by task.

use stats::Caveat;
use stats::remedy::Trace;

use crate::analyze::body::{Body, Origin};
use crate::analyze::lanes::{Lanes, Wanted};
use crate::analyze::phases::{Collector, Phase};
use crate::analyze::rates::Rates;
use crate::analyze::tasks::Tasks;
use crate::analyze::{Lens, LoadBody, Options, caveats};
use crate::{Io, Kind, TraceInfo};

/// Collects what becomes of I/Os.
#[derive(Debug)]
pub(super) struct CourseLenses {
    /// I/Os that are handed on are counted where they go.
    split_stacks: bool,
    lanes: Lanes,
    tasks: Tasks,
    flushes: Collector,
    rates: Option<Rates>,
    last_arrival: u64,
}

impl CourseLenses {
    pub(super) fn new(options: &Options) -> CourseLenses {
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

    /// Takes I/Os.
    pub(super) fn see(&mut self, batch: &[Io]) {
        batch.iter().for_each(|io| self.see_one(io));
    }

    fn see_one(&mut self, io: &Io) {
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

    /// Returns the result; `info` must be complete.
    pub(super) fn finish(mut self, info: &TraceInfo, options: &Options) -> Body {
        self.lanes.close();
        let (counts, phases) = self.lanes.all();
        let (first, last) = self.lanes.span();
        let first = first.unwrap_or(0);
        let sum_s = |phase: Phase| {
            let spans = phases.of(phase);
            (spans.n() > 0).then(|| spans.sum() as f64 / 1e9)
        };
        let windowed = options.from.is_some() || options.until.is_some();
        let whole = &self.lanes.whole;
        let mut body = Body {
            trace: Origin::of(info, options),
            arrivals_s: self.last_arrival.saturating_sub(first) as f64 / 1e9,
            completion_s: last.map(|last| last.saturating_sub(first) as f64 / 1e9),
            q2c_sum_s: sum_s(Phase::Q2c),
            d2c_sum_s: sum_s(Phase::D2c),
            overhead: phases.overhead(),
            phases: phases.phases(),
            flush_phases: self.flushes.phases(),
            queue_depth: whole.outstanding.finish(),
            device_depth: whole.issued.finish(),
            activity: whole.live.finish(),
            busy: whole.busy.finish(),
            rates: self.rates.as_ref().and_then(Rates::finish),
            devices: self.lanes.devices(&info.spaces, windowed),
            stacked: self.lanes.stacked(),
            processes: self.tasks.finish(&info.processes, last.is_some()),
            load: LoadBody::default(),
            counts,
            caveats: Vec::new(),
        };
        body.caveats = caveats::of(&body, self.lanes.early());
        let has = |action: &str| info.spaces.iter().any(|s| s.tally.events.contains_key(action));
        if has("D") && !has("Q") {
            without_arrivals(&mut body);
        }
        body
    }
}

/// Takes out what needs arrivals, of a recording that has issues and completions only: there an I/O was made of each
/// request, as if it had arrived when it was issued.
fn without_arrivals(body: &mut Body) {
    let phases = [&mut body.phases, &mut body.flush_phases].into_iter();
    let devices = body.devices.iter_mut().map(|device| &mut device.phases);
    let tasks = body.processes.iter_mut().map(|process| &mut process.phases);
    for phases in phases.chain(devices).chain(tasks) {
        (phases.q2q, phases.q2c) = (None, None);
    }
    (body.q2c_sum_s, body.overhead) = (None, None);
    for device in &mut body.devices {
        (device.q2c_sum_ns, device.overhead) = (0, None);
    }
    body.caveats.push(Caveat::new(
        "no_arrivals",
        "trace",
        "the recording has issues and completions (D, C) and no arrivals (Q): what I/Os waited for before they were issued is not known",
        Trace::RecordQueueEvents,
    ));
}
