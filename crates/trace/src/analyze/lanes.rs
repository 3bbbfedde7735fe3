//! Collected data of each device, and of all together.

use crate::analyze::activity::Stretches;
use crate::analyze::body::{ActiveAtQueue, Device, DriveFlushes, Stacked, clip};
use crate::analyze::depth::Depth;
use crate::analyze::histogram::Histogram;
use crate::analyze::merges::Merges;
use crate::analyze::moments::{Moment, Moments, Pending};
use crate::analyze::phases::{Collector, Phase};
use crate::analyze::plugs::PlugFigures;
use crate::analyze::seeks::Seeks;
use crate::analyze::tally::Counts;
use crate::{Io, Space};

/// Most devices that are counted separately; I/Os of those numbered beyond are counted together.
pub const DEVICES_MAX: usize = 4096;
/// How many distances are counted one by one: on each of the first devices, and on each of the many others.
const EXACT: usize = 1 << 16;
const EXACT_OF_MANY: usize = 1 << 10;
const MANY: usize = 8;

/// Selection of the data to collect: each item costs time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Distances between I/Os.
    pub(super) seeks: bool,
    /// I/Os outstanding over time, activity, I/Os active at Q, distances between requests.
    pub(super) depth: bool,
}

/// Everything about the course of a trace.
#[derive(Debug)]
pub(super) struct Lanes {
    wanted: Wanted,
    moments: Moments,
    devices: Vec<Option<Box<Lane>>>,
    pub(super) whole: Course,
    gaps: Histogram,
    first_arrival: Option<u64>,
    last_arrival: Option<u64>,
    last_completion: Option<u64>,
}

/// Depth and activity of a device, or of all.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// Q to C, I/Os.
    pub(super) outstanding: Depth,
    /// D to C, requests.
    pub(super) issued: Depth,
    /// D to C.
    pub(super) live: Stretches,
    /// Q to C.
    pub(super) busy: Stretches,
}

#[derive(Debug)]
struct Lane {
    counts: Counts,
    phases: Collector,
    /// I/Os that are another device's too.
    stacked: Counts,
    stacked_phases: Collector,
    merges: Merges,
    course: Course,
    by_arrival: Seeks,
    by_issue: Seeks,
    /// Arrived, but neither merged nor issued.
    waiting: u64,
    waiting_sum: u128,
    arrivals: u64,
    issues: u64,
    first: Option<u64>,
    last: u64,
}

impl Lane {
    fn new(index: usize) -> Lane {
        let exact = if index < MANY { EXACT } else { EXACT_OF_MANY };
        Lane {
            counts: Counts::default(),
            phases: Collector::default(),
            stacked: Counts::default(),
            stacked_phases: Collector::default(),
            merges: Merges::default(),
            course: Course::default(),
            by_arrival: Seeks::new(exact),
            by_issue: Seeks::new(exact),
            waiting: 0,
            waiting_sum: 0,
            arrivals: 0,
            issues: 0,
            first: None,
            last: 0,
        }
    }

    /// An I/O arrives; everything before it has been processed.
    fn arrive(&mut self, io: &Io, stacked: bool, wanted: Wanted) {
        let (counts, phases) = match stacked {
            true => (&mut self.stacked, &mut self.stacked_phases),
            false => (&mut self.counts, &mut self.phases),
        };
        counts.see(io);
        let arrival = io.arrival.0;
        self.first.get_or_insert(arrival);
        self.last = self.last.max(io.completed.get().map_or(arrival, |at| at.0));
        if io.length.0 == 0 {
            return;
        }
        phases.see(io);
        self.merges.see(io);
        if wanted.seeks {
            self.by_arrival.see(io.offset.0, io.length.0);
        }
        if wanted.depth {
            self.arrivals += 1;
            self.waiting_sum += u128::from(self.waiting);
            self.waiting += 1;
            self.course.arrive(io);
        }
    }

    fn pass(&mut self, at: u64, moment: Moment, io: &Pending, wanted: Wanted) {
        match moment {
            Moment::Merge => self.waiting = self.waiting.saturating_sub(1),
            Moment::Issue => {
                if !io.merged.known() {
                    self.waiting = self.waiting.saturating_sub(1);
                }
                if io.head() {
                    self.issues += 1;
                    if wanted.seeks {
                        self.by_issue.see(io.offset, io.request);
                    }
                }
            }
            Moment::Complete => {}
        }
        self.course.pass(at, moment, io);
    }

    fn device(
        &self,
        index: usize,
        space: Option<&Space>,
        completions: bool,
        windowed: bool,
    ) -> Device {
        let mut phases = self.phases.clone();
        phases.merge(&self.stacked_phases);
        let mut counts = self.counts.clone();
        counts.merge(&self.stacked);
        let span = self.last - self.first.unwrap_or(0);
        // A tally is of the whole recording, and says nothing of a part.
        let tally = space.filter(|_| !windowed).map(|space| &space.tally);
        Device {
            space: u32::try_from(index).unwrap_or(u32::MAX),
            name: match space {
                Some(space) => space.name.clone(),
                None => format!("space {index}"),
            },
            device: space.and_then(|space| space.device).map(|device| device.to_string()),
            capacity_bytes: space.and_then(|space| space.capacity_bytes).map(|bytes| bytes.0),
            stacked: self.stacked.requests > 0 && self.counts.requests == 0,
            counts: counts.close(completions),
            span_ns: span,
            q2c_sum_ns: clip(phases.of(Phase::Q2c).sum()),
            overhead: phases.overhead(),
            phases: phases.phases(),
            queue_depth: self.course.outstanding.finish(),
            device_depth: self.course.issued.finish(),
            activity: self.course.live.finish(),
            busy: self.course.busy.finish(),
            merges: self.merges.finish(tally),
            seeks_q2q: self.by_arrival.finish(),
            seeks_d2d: self.by_issue.finish(),
            drive_flushes: tally.and_then(DriveFlushes::of),
            plugs: tally.and_then(|tally| PlugFigures::of(tally, span)),
            active_at_q: (self.issues > 0 && self.arrivals > 0).then(|| ActiveAtQueue {
                n: self.arrivals,
                mean: self.waiting_sum as f64 / self.arrivals as f64,
            }),
        }
    }
}

impl Course {
    fn arrive(&mut self, io: &Io) {
        let Some(completed) = io.completed.get() else { return };
        self.outstanding.enter(io.arrival.0);
        self.busy.add(io.arrival.0, completed.0.max(io.arrival.0));
    }

    fn pass(&mut self, at: u64, moment: Moment, io: &Pending) {
        match moment {
            Moment::Merge => {}
            Moment::Issue => {
                let Some(completed) = io.completed.get() else { return };
                self.live.add(at, completed.0.max(at));
                if io.head() {
                    self.issued.enter(at);
                }
            }
            Moment::Complete => {
                self.outstanding.leave(at);
                if io.head() && io.issued.known() {
                    self.issued.leave(at);
                }
            }
        }
    }

    /// `at` is an end of the time over which the mean is taken: the first arrival, or the last completion.
    fn bound(&mut self, at: u64) {
        self.outstanding.advance(at);
    }
}

impl Lanes {
    pub(super) fn new(wanted: Wanted) -> Lanes {
        Lanes {
            wanted,
            moments: Moments::default(),
            devices: Vec::new(),
            whole: Course {
                outstanding: Depth::with_course(),
                issued: Depth::with_course(),
                ..Course::default()
            },
            gaps: Histogram::default(),
            first_arrival: None,
            last_arrival: None,
            last_completion: None,
        }
    }

    /// Takes an I/O; `stacked` when it is to count for its own device alone.
    pub(super) fn see(&mut self, io: &Io, stacked: bool) {
        let arrival = io.arrival.0;
        if self.wanted.depth {
            self.pass(arrival);
        }
        if let Some(completed) = io.completed.get() {
            self.last_completion = self.last_completion.max(Some(completed.0));
        }
        let index = (io.space as usize).min(DEVICES_MAX);
        let wanted = self.wanted;
        self.lane(index).arrive(io, stacked, wanted);
        if self.wanted.depth {
            if self.first_arrival.is_none() {
                self.whole.bound(arrival);
            }
            if io.length.0 > 0 {
                self.moments.push(Pending { stacked, ..Pending::of(io, index as u32) });
            }
        }
        self.first_arrival.get_or_insert(arrival);
        if stacked || io.length.0 == 0 {
            return;
        }
        if let Some(last) = self.last_arrival.replace(arrival) {
            self.gaps.record(arrival.saturating_sub(last));
        }
        if self.wanted.depth {
            self.whole.arrive(io);
        }
    }

    fn lane(&mut self, index: usize) -> &mut Lane {
        if self.devices.len() <= index {
            self.devices.resize_with(index + 1, || None);
        }
        self.devices[index].get_or_insert_with(|| Box::new(Lane::new(index)))
    }

    /// Passes all that happens up to `until` to the lanes and to the whole.
    fn pass(&mut self, until: u64) {
        while let Some((at, moment, io)) = self.moments.pop(until) {
            if let Some(Some(lane)) = self.devices.get_mut(io.lane as usize) {
                lane.pass(at, moment, &io, self.wanted);
            }
            if !io.stacked {
                self.whole.pass(at, moment, &io);
            }
        }
    }

    /// No more I/Os come.
    pub(super) fn close(&mut self) {
        self.pass(u64::MAX);
        let last = self.last_completion;
        if let Some(last) = last.filter(|_| self.wanted.depth && self.first_arrival.is_some()) {
            self.whole.bound(last);
        }
    }

    /// When the first I/O arrived, and when the last completed.
    pub(super) fn span(&self) -> (Option<u64>, Option<u64>) {
        (self.first_arrival, self.last_completion)
    }

    /// I/Os and phases of all devices, without what is another device's too.
    pub(super) fn all(&self) -> (Counts, Collector) {
        let (mut counts, mut phases) = (Counts::default(), Collector::default());
        for lane in self.devices.iter().flatten() {
            counts.merge(&lane.counts);
            phases.merge(&lane.phases);
        }
        (counts.close(self.last_completion.is_some()), phases.with_gaps(self.gaps.clone()))
    }

    /// I/Os and phases of devices that hand them on to others.
    pub(super) fn stacked(&self) -> Option<Stacked> {
        let (mut counts, mut phases) = (Counts::default(), Collector::default());
        for lane in self.devices.iter().flatten() {
            counts.merge(&lane.stacked);
            phases.merge(&lane.stacked_phases);
        }
        (counts.requests > 0).then(|| Stacked {
            counts: counts.close(self.last_completion.is_some()),
            phases: phases.phases(),
        })
    }

    /// All devices that had I/Os; `windowed` when not all of the trace was looked at.
    pub(super) fn devices(&self, spaces: &[Space], windowed: bool) -> Vec<Device> {
        let known = self.last_completion.is_some();
        let lanes = self
            .devices
            .iter()
            .enumerate()
            .filter_map(|(index, lane)| Some((index, lane.as_ref()?)));
        lanes.map(|(index, lane)| lane.device(index, spaces.get(index), known, windowed)).collect()
    }

    /// Moments that were processed before their time, because too many I/Os were outstanding.
    pub(super) fn early(&self) -> u64 {
        self.moments.early()
    }
}
