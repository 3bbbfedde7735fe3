//! Results of a replay, gathered while it runs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use block::{Bytes, Nanos, Op, Snapshot};
use engine::replay::{Ended, Planned, Reason, Replayed};
use stats::remedy::Trace;
use stats::{Caveat, LatencyHistogram};

use super::body::{
    Body, Cost, DepthHeld, ErrorSpans, Fidelity, Moment, OriginalBody, OverTime, Since,
};
use super::distance::distance;
use super::drift::drift;
use super::in_order::InOrder;
use super::lag::{Lag, Lateness};
use super::options::Mode;
use super::original::Original;
use super::overload::overload;
use super::plan::{Plan, Statement};
use super::rooms::Rooms;
use super::spans::Gather;
use super::stream::Counts;
use super::timeline::Timeline;
use super::verdict::{Facts, above, judge, tolerance};
use crate::analyze::{self, Analysis};
use crate::{Io, Kind, Space, Stamp, TraceInfo};

/// Requests held back so that those of several submitters are in the order of their issue: by how many places they
/// could be out of it.
const SHUFFLED_MAX: usize = 1 << 12;

/// Errors beyond this many kinds are counted as others.
const ERRORS_MAX: usize = 64;

/// Requests per point of the drift, at least.
const DRIFT_POINT: u64 = 8;

/// Callback that gets a replay's requests as the I/Os of a trace.
pub type Tap = Box<dyn FnMut(&Io) + Send>;

/// Takes what became of the requests of a plan, in any order and in bounded memory, and judges it.
pub struct Judge {
    statement: Statement,
    tap: Option<Tap>,
    tolerance: Option<Nanos>,
    timed: bool,
    in_order: InOrder,
    analysis: Analysis,
    by_issue: BinaryHeap<Reverse<(Nanos, u64, Late)>>,
    last_arrival: Nanos,
    seen: u64,
    /// Issued less due, and less ready; ready less due of those that waited for a slot.
    error: LatencyHistogram,
    own: LatencyHistogram,
    slot: LatencyHistogram,
    q2c: Gather,
    from_due: Gather,
    lag: Lag,
    /// Requests outstanding by the due times, without the time that the replayer took.
    backlog: Rooms,
    timeline: Timeline,
    latest_issue: Nanos,
    reordered: u64,
    no_slot: u64,
    held: Held,
    errors: BTreeMap<String, u64>,
    errors_count: u64,
    last_due: Nanos,
}

/// Data of a request for the analysis: offset, length, kind, completion, error.
type Late = (u64, u64, u8, Nanos, u16);

/// How the depth is held, and how long requests that could go did not.
#[derive(Default)]
struct Held {
    rooms: Rooms,
    planned: f64,
    held: f64,
    squares: f64,
    /// Until when what was late has been counted.
    late_until: u64,
    late: u64,
}

impl Held {
    fn see(&mut self, one: &Replayed) {
        let (issued, completed) = (one.issued.0, one.completed.0);
        let held = self.rooms.before(issued, Some(completed), one.planned.weight) as f64;
        if one.planned.room != Planned::ALL_ROOM {
            let room = one.planned.room as f64;
            self.planned += room;
            self.held += held;
            self.squares += (room - held).powi(2);
        }
        self.late += issued.saturating_sub(one.ready.0.max(self.late_until));
        self.late_until = self.late_until.max(issued);
    }
}

impl Judge {
    /// Of a replay of `plan`. Requests that are issued later than `tolerance` are late; `None` lets the result decide,
    /// see [`super::verdict`].
    pub fn new(plan: &Plan, tolerance: Option<Nanos>) -> Judge {
        let timed = matches!(plan.options.mode, Mode::Timed | Mode::Scaled(_));
        Judge {
            statement: plan.statement(),
            tap: None,
            tolerance,
            timed,
            in_order: InOrder::default(),
            analysis: Analysis::new(&analyze::Options::default()),
            by_issue: BinaryHeap::new(),
            last_arrival: Nanos::ZERO,
            seen: 0,
            error: LatencyHistogram::new(),
            own: LatencyHistogram::new(),
            slot: LatencyHistogram::new(),
            q2c: Gather::new(),
            from_due: Gather::new(),
            lag: Lag::of_span(plan.span()),
            backlog: Rooms::default(),
            timeline: Timeline::of_span(plan.span()),
            latest_issue: Nanos::ZERO,
            reordered: 0,
            no_slot: 0,
            held: Held::default(),
            errors: BTreeMap::new(),
            errors_count: 0,
            last_due: Nanos::ZERO,
        }
    }

    /// Also shows `tap` each request as the I/O of a trace, in the order of issue: the replay as a trace of its own.
    #[must_use]
    pub fn tapped(self, tap: Tap) -> Judge {
        Judge { tap: Some(tap), ..self }
    }

    /// Takes what became of requests.
    pub fn see(&mut self, replayed: &[Replayed]) {
        for one in replayed {
            self.in_order.take(*one);
        }
        while let Some(one) = self.in_order.next() {
            self.one(&one);
        }
    }

    /// Takes one, in the order of the plan.
    fn one(&mut self, one: &Replayed) {
        let since = |from: Nanos, to: Nanos| to.0.saturating_sub(from.0);
        let own = since(one.ready, one.issued);
        let q2c = since(one.issued, one.completed);
        self.seen += 1;
        self.own.record(own);
        self.q2c.add(q2c);
        self.no_slot += u64::from(one.no_slot);
        self.reordered += u64::from(one.issued < self.latest_issue);
        self.latest_issue = self.latest_issue.max(one.issued);
        self.held.see(one);
        if self.timed {
            let due = one.planned.at;
            let (error, latency) = (since(due, one.issued), since(due, one.completed));
            let slot = if one.no_slot { since(due, one.ready) } else { 0 };
            self.error.record(error);
            self.from_due.add(latency);
            self.last_due = self.last_due.max(due);
            if one.no_slot {
                self.slot.record(slot);
            }
            let drives = latency.saturating_sub(own);
            let outstanding = self.backlog.before(due.0, Some(due.0.saturating_add(drives)), 1);
            self.lag.see(&Lateness { due: due.0, error, latency: drives, outstanding, own, slot });
        }
        self.timeline.add(one.issued, Some(one.completed), one.planned.len);
        self.count_error(one);
        let kind = match one.planned.op {
            Op::Read => Kind::Read,
            Op::Write => Kind::Write,
            Op::Flush => Kind::Flush,
            Op::Discard => Kind::Discard,
        };
        let error = one.outcome.bytes().err().map_or(0, |errno| errno.0.clamp(0, 0xffff) as u16);
        let late = (one.planned.offset.0, one.planned.len.0, kind as u8, one.completed, error);
        self.by_issue.push(Reverse((one.issued, one.seq, late)));
        if self.by_issue.len() > SHUFFLED_MAX {
            self.analyse_next();
        }
    }

    fn count_error(&mut self, one: &Replayed) {
        let name = match one.outcome.bytes() {
            Ok(bytes) if bytes < one.planned.len && one.planned.op != Op::Discard => {
                "short".to_owned()
            }
            Ok(_) => return,
            Err(errno) => errno.to_string(),
        };
        self.errors_count += 1;
        let room = self.errors.len() < ERRORS_MAX || self.errors.contains_key(&name);
        *self.errors.entry(if room { name } else { "others".to_owned() }).or_default() += 1;
    }

    /// Hands the request that was issued first on to the analysis.
    fn analyse_next(&mut self) {
        let Some(Reverse((issued, _, (offset, len, kind, completed, error)))) = self.by_issue.pop()
        else {
            return;
        };
        // One that comes later than the rest by more than what is held back is taken for simultaneous.
        let arrival = issued.max(self.last_arrival);
        self.last_arrival = arrival;
        let mut io = Io::arriving(arrival, Kind::ALL[usize::from(kind)], Bytes(offset), Bytes(len));
        io.completed = Stamp::at(completed.max(arrival));
        io.error = error;
        self.analysis.see(&[io]);
        if let Some(tap) = &mut self.tap {
            tap(&io);
        }
    }

    /// The result, with what the stream counted and how the engine ended.
    pub fn finish(mut self, counts: Counts, original: &Original, ended: &Ended) -> Body {
        while let Some(one) = self.in_order.pop() {
            self.one(&one);
        }
        while !self.by_issue.is_empty() {
            self.analyse_next();
        }
        let analysis =
            std::mem::replace(&mut self.analysis, Analysis::new(&analyze::Options::default()));
        let mut run = analysis.finish(&self.info());
        run.caveats.extend(self.caveats(&counts, ended));
        let limit = self.tolerance.unwrap_or_else(|| {
            let replay = self.q2c.histogram.percentile(10.0).unwrap_or(0);
            tolerance(replay, original.q2c.percentile(10.0))
        });
        let over = self.timed.then(|| {
            let least = (self.seen / (self.seen / 8).clamp(12, 200)).max(1);
            overload(&self.lag.points(least))
        });
        let fidelity = self.fidelity(original, over.unwrap_or_default(), limit, ended);
        Body {
            run,
            elapsed_s: self.elapsed().as_secs_f64(),
            planned: counts,
            q2c: self.q2c.finish(),
            from_due: self.from_due.finish(),
            overload: over,
            original: original_body(original),
            fidelity,
            cost: cost(ended),
            course: self.course(original),
            errors_by_kind: self.errors,
            plan: self.statement,
        }
    }

    /// Returns the description of the replay as a trace, for the analysis.
    fn info(&self) -> TraceInfo {
        TraceInfo {
            source: "replay".to_owned(),
            resolution: Nanos(1),
            spaces: vec![Space { name: "target".to_owned(), ..Space::default() }],
            ..TraceInfo::default()
        }
    }

    fn fidelity(
        &self,
        original: &Original,
        overload: super::overload::Overload,
        limit: Nanos,
        ended: &Ended,
    ) -> Fidelity {
        let drift = if self.timed { drift(&self.lag.points(DRIFT_POINT)) } else { None };
        let facts = Facts {
            timed: self.timed,
            requests: self.seen,
            own: &self.own,
            slot: &self.slot,
            no_slot: self.no_slot,
            overload,
            lag: &self.lag,
            late_share: self.late_share(),
            elapsed: self.elapsed(),
            run_delay: run_delay(ended),
            starved: ended.starved,
            unheard: ended.unheard,
            tolerance: limit,
        };
        let judgement = judge(&facts);
        let error = if self.timed { &self.error } else { &self.own };
        Fidelity {
            verdict: judgement.verdict,
            reason: match ended.reason {
                Reason::Complete => judgement.reason,
                _ => format!("as far as it came: {}", judgement.reason),
            },
            evidence: judgement.evidence,
            issue_error_ns: error_spans(error),
            issue_error_since: if self.timed { Since::Due } else { Since::Ready },
            own_error_ns: error_spans(&self.own),
            drift_ppm: drift.map(|drift| drift.ppm),
            drift,
            late: above(error, limit),
            late_tolerance_ns: limit,
            reordered: self.reordered,
            no_slot: self.no_slot,
            depth_held: self.depth_held(),
            over_time: self.over_time(original),
            latency_distance: distance(&self.q2c.histogram, &original.q2c),
        }
    }

    fn elapsed(&self) -> Nanos {
        Nanos(self.timeline.end())
    }

    fn late_share(&self) -> f64 {
        let elapsed = self.elapsed().0;
        if elapsed > 0 { self.held.late as f64 / elapsed as f64 } else { 0.0 }
    }

    fn depth_held(&self) -> Option<DepthHeld> {
        let n = self.seen as f64;
        (!self.timed && self.seen > 0).then(|| DepthHeld {
            planned_mean: self.held.planned / n,
            held_mean: self.held.held / n,
            rmse: (self.held.squares / n).sqrt(),
            late_share: self.late_share(),
        })
    }

    fn over_time(&self, original: &Original) -> Option<OverTime> {
        if !self.timed || self.seen == 0 {
            return None;
        }
        let course = self.course(original);
        let seconds = course.first()?.slice_ns.as_secs_f64();
        let rate = |count: u64| count as f64 / seconds;
        let iops: Vec<(f64, f64)> =
            course.iter().map(|m| (rate(m.issued), rate(m.planned))).collect();
        let depth: Vec<(f64, f64)> =
            course.iter().filter_map(|m| Some((m.depth, m.original_depth?))).collect();
        Some(OverTime {
            slice_ns: course.first()?.slice_ns,
            slices: course.len() as u64,
            iops_rmse: rmse(&iops)?,
            iops_mape: mape(&iops),
            depth_rmse: rmse(&depth),
            depth_mape: mape(&depth),
        })
    }

    fn course(&self, original: &Original) -> Vec<Moment> {
        let width = self.timeline.width().max(original.timeline.width());
        let (width, ours) = self.timeline.slices(width);
        let (_, theirs) = original.timeline.slices(width);
        let count = ours.len().max(if self.timed { theirs.len() } else { 0 });
        let moment = |i: usize| {
            let (own, its) = (ours.get(i).copied(), theirs.get(i).copied().unwrap_or_default());
            let own = own.unwrap_or_default();
            Moment {
                at_ns: Nanos(width.0 * i as u64),
                slice_ns: width,
                planned: its.ios,
                issued: own.ios,
                issued_bytes: own.bytes,
                depth: own.depth,
                original_depth: original.depth_known.then_some(its.depth),
            }
        };
        (0..count).map(moment).collect()
    }

    fn caveats(&self, counts: &Counts, ended: &Ended) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        let mut add = |code: &str, cause: String, remedy: Trace| {
            caveats.push(Caveat::new(code, "replay", cause, remedy));
        };
        if counts.writes_as_reads > 0 {
            let cause = format!(
                "{} writes were issued as reads: the load is another one",
                counts.writes_as_reads
            );
            add("writes_as_reads", cause, Trace::WritableTarget);
        }
        let left = counts.left_out;
        if left.writes + left.flushes > 0 {
            let cause =
                format!("{} writes and {} flushes were left out", left.writes, left.flushes);
            add("writes_left_out", cause, Trace::WritableTarget);
        }
        if self.errors_count > 0 {
            let cause = format!("{} of {} I/Os failed", self.errors_count, self.seen);
            add("failed_ios", cause, Trace::LookAtFailures);
        }
        if !self.statement.injective {
            let cause = "several addresses of the trace lie on one of the target".to_owned();
            add("addresses_meet", cause, Trace::LargerTargetForReuse);
        }
        if counts.cut > 0 {
            let cause = format!("{} requests were cut to the length of the target", counts.cut);
            add("requests_cut", cause, Trace::LargerTarget);
        }
        if ended.reason != Reason::Complete {
            let requests = if ended.issued == 1 { "request" } else { "requests" };
            let cause = format!("the replay ended early, after {} {requests}", ended.issued);
            add("ended_early", cause, Trace::FiguresOfIssued);
        }
        caveats
    }
}

fn run_delay(ended: &Ended) -> Option<Nanos> {
    let (before, after): (&Snapshot, &Snapshot) = (&ended.before, &ended.after);
    let after = after.run_delay_ns?;
    Some(Nanos(after.0.saturating_sub(before.run_delay_ns.unwrap_or_default().0)))
}

fn cost(ended: &Ended) -> Cost {
    let cpu = |snapshot: &Snapshot| snapshot.process_cpu.map(|cpu| cpu.user_ns.0 + cpu.system_ns.0);
    let spent = cpu(&ended.after)
        .zip(cpu(&ended.before))
        .map(|(after, before)| after.saturating_sub(before));
    Cost {
        cpu_ns_per_io: spent.filter(|_| ended.issued > 0).map(|ns| ns as f64 / ended.issued as f64),
        run_delay_ns: run_delay(ended).map(|delay| delay.0),
        starved_ns: ended.starved.0,
        unheard_ns: ended.unheard.0,
    }
}

fn original_body(original: &Original) -> OriginalBody {
    let seconds = original.elapsed.as_secs_f64();
    let sum = (original.completed > 0).then(|| original.q2c_sum_ns() / 1e9);
    OriginalBody {
        origin: original.origin,
        requests: original.requests,
        completion_s: seconds,
        q2c_sum_s: sum,
        mean_depth: sum.filter(|_| seconds > 0.0).map(|sum| sum / seconds),
    }
}

pub(super) fn error_spans(histogram: &LatencyHistogram) -> ErrorSpans {
    let at = |percent| histogram.percentile(percent).unwrap_or(0);
    ErrorSpans {
        mean: histogram.mean().unwrap_or(0.0),
        p50: at(50.0),
        p99: at(99.0),
        p999: at(99.9),
        max: histogram.max().unwrap_or(0),
    }
}

/// Root of the mean square of the differences; `None` of none.
fn rmse(pairs: &[(f64, f64)]) -> Option<f64> {
    let sum: f64 = pairs.iter().map(|(a, b)| (a - b).powi(2)).sum();
    (!pairs.is_empty()).then(|| (sum / pairs.len() as f64).sqrt())
}

/// Mean of the differences over the second; of those that are not nothing.
fn mape(pairs: &[(f64, f64)]) -> Option<f64> {
    let shares: Vec<f64> =
        pairs.iter().filter(|(_, b)| *b > 0.0).map(|(a, b)| (a - b).abs() / b).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}
