//! Our verdict on steady state, fed with what a test sees.

use block::Bytes;
use stats::steady::{self, Prior, Span, Start, State, Verdict};
use stats::verdict::Evidence;

use crate::body::{Body, Ours, Spread};
use crate::options::{Addresses, Options};
use crate::window::Window;

/// Fills after which a drive that is not steady yet is judged never to become so.
const FILLS_MAX: f64 = 40.0;
/// Spare space of a drive, as a share of its capacity, when it is not known: from 5% to 100%.
const OVER_PROVISIONING: [f64; 2] = [0.05, 1.0];
/// Idle time assumed when it is unknown: one hour.
const UNKNOWN_IDLE_NS: u64 = 3_600_000_000_000;

/// Follows bytes and values.
pub struct Detector {
    steady: Option<steady::Detector>,
    /// Addresses that keep a drive as fast as when it was empty are never accepted.
    is_replayed: bool,
    /// Time that the drive was idle before the next span.
    idle_ns: u64,
}

impl Detector {
    /// For a test on `range` that has been purged and filled as `body` says.
    pub fn new(body: &Body, options: &Options, range: Bytes) -> Detector {
        let was_filled = body.preconditioning.iter().any(|stage| stage.coverage >= 0.999);
        let start = match (was_filled, &body.purge) {
            (true, _) => Start::SequentialFill,
            (false, Some(_)) => Start::Purged,
            (false, None) => Start::Unknown,
        };
        // The rest of a purged drive is spare space of the range.
        let beside = body.device.capacity_bytes as f64 / range.0.max(1) as f64;
        let of_range = |share: f64| ((1.0 + share) * beside - 1.0).max(0.01);
        let prior = Prior {
            over_provisioning: options.over_provisioning.map(of_range),
            over_provisioning_range: OVER_PROVISIONING.map(of_range),
            in_place: options.in_place,
            uniform_random: options.addresses == Addresses::Uniform,
            fills_max: FILLS_MAX,
            ..Prior::new(range.0, start)
        };
        Detector {
            steady: steady::Detector::new(prior),
            is_replayed: options.addresses == Addresses::Replayed,
            idle_ns: 0,
        }
    }

    /// The drive was idle for an unknown time.
    pub fn breaks(&mut self) {
        self.idle_ns = UNKNOWN_IDLE_NS;
    }

    /// A stretch is over; its rate counts where its load `is_tracked`.
    pub fn see(&mut self, window: &Window, is_tracked: bool) {
        let Some(steady) = &mut self.steady else { return };
        let slices = window.series.ios.len();
        let in_slices: u64 = window.series.bytes.iter().sum();
        // I/Os that completed after the end of the stretch are in no slice.
        let is_sliced = is_tracked && slices > 1 && in_slices > 0 && window.read_percent == 0;
        let idle = std::mem::take(&mut self.idle_ns);
        let span = |bytes_written, duration_ns, value, idle_ns| Span {
            bytes_written,
            duration_ns,
            value,
            amplification: window.write_amplification(),
            disturbed: !window.disturbed.is_empty(),
            idle_ns,
        };
        if !is_sliced {
            let value = if is_tracked { window.iops } else { f64::NAN };
            steady.push(&span(window.bytes_written, window.duration_ns, value, idle));
            return;
        }
        let slice_ns = window.series.slice_ns;
        for (at, (ios, bytes)) in window.series.ios.iter().zip(&window.series.bytes).enumerate() {
            let value = *ios as f64 * 1e9 / slice_ns as f64;
            steady.push(&span(*bytes, slice_ns, value, if at == 0 { idle } else { 0 }));
        }
        let rest = window.bytes_written.saturating_sub(in_slices);
        let rest_ns = window.duration_ns.saturating_sub(slice_ns * slices as u64);
        if rest > 0 {
            steady.push(&span(rest, rest_ns, f64::NAN, 0));
        }
    }

    fn judgement(&self) -> Option<&steady::Judgement> {
        self.steady.as_ref().map(steady::Detector::judgement)
    }

    /// True when there is an answer.
    pub fn is_settled(&self) -> bool {
        self.judgement().is_some_and(|judgement| judgement.verdict != Verdict::NotYet)
    }

    /// True when the drive is steady and will stay so.
    pub fn is_steady(&self) -> bool {
        !self.is_replayed
            && self.judgement().is_some_and(|judgement| judgement.verdict == Verdict::Yes)
    }

    /// Bytes written so far, in capacities of the range.
    pub fn fills(&self) -> f64 {
        self.steady.as_ref().map_or(0.0, steady::Detector::fills)
    }

    /// Fills before which no verdict is to be expected; `None` while that is unknown.
    pub fn fills_at_least(&self) -> Option<f64> {
        let judgement = self.judgement()?;
        Some(figure(judgement, "settled_fills")?.max(figure(judgement, "exhausted_fills")?))
    }

    /// The state of the drive. With replayed addresses it is always fresh, whatever the rates are.
    pub fn state(&self) -> State {
        match self.judgement() {
            None => State::Transition,
            Some(_) if self.is_replayed => State::Fresh,
            Some(judgement) => judgement.state,
        }
    }

    /// The verdict.
    pub fn tell(&self) -> Ours {
        let nothing = Ours {
            state: self.state().into(),
            verdict: Verdict::NotYet.into(),
            at_bytes: None,
            from_bytes: None,
            value: None,
            reason: "nothing can be judged of this range".to_owned(),
            over_provisioning: None,
            expected_ratio: None,
        };
        let Some(judgement) = self.judgement() else { return nothing };
        if self.is_replayed {
            return Ours {
                reason: "the order of the first pass was replayed: the drive has nothing to move, and would fall with \
                         any other load"
                    .to_owned(),
                ..nothing
            };
        }
        Ours {
            state: judgement.state.into(),
            verdict: judgement.verdict.into(),
            at_bytes: (judgement.verdict == Verdict::Yes).then_some(judgement.at_bytes),
            from_bytes: judgement.value.map(|level| level.from_bytes),
            value: judgement.value.map(|level| Spread {
                median: level.mean,
                low: level.low,
                high: level.high,
            }),
            reason: judgement.reason.clone(),
            over_provisioning: figure(judgement, "over_provisioning_by_cliff"),
            expected_ratio: figure(judgement, "expected_steady_share_of_fresh"),
        }
    }
}

fn figure(judgement: &steady::Judgement, name: &str) -> Option<f64> {
    match judgement.evidence.get(name) {
        Some(Evidence::Value(value)) => Some(*value),
        _ => None,
    }
}
