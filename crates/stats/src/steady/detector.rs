//! The verdict: bytes, gates, and an end that is shown to be at rest.

use std::collections::BTreeMap;

use super::ending::{Ending, Shape, ending};
use super::gate::Gate;
use super::history::{Cell, History, amplifications, costs, even, mean_rate};
use super::judgement::{Judgement, Level, Prior, Span, Start, State, Verdict};
use super::{periodic, theory, window};
use crate::sample;
use crate::verdict::Evidence;

/// Looks in a drive write.
const LOOKS_PER_FILL: u64 = 4;
/// Drive writes that must have been seen since the free space was used up: a turn of the log. Blocks come round after
/// (1 + OP) / WA drive writes, which is below one for any over-provisioning, so that waves of the collection are averaged out.
const WINDOW_FILLS_MIN: f64 = 1.0;
/// Share of the least window that must be from after the latest moment at which free space can end.
const AFTER_SHARE: f64 = 0.25;
/// Drive writes before the end that are looked at.
const HISTORY_FILLS_MAX: f64 = 64.0;
/// Share of what was written since the free space was used up in which waves are looked for.
const WAVE_SHARE: f64 = 2.0 / 3.0;
/// Drive writes that must have passed since a wave stopped.
const SINCE_WAVE_FILLS: f64 = 6.0;
/// Error of the interval of a wave's mean, each way.
const WAVE_ERROR: f64 = 0.025;
/// Error of the bound on the amplification, each way.
const AMPLIFICATION_ERROR: f64 = 0.01;
/// Most drive writes and least values in which the amplification is looked at.
const AMPLIFICATION_FILLS_MAX: f64 = 3.0;
const AMPLIFICATION_CELLS_MIN: usize = 8;

/// Judges a drive that is written, from what it wrote and how fast.
///
/// Steady is what satisfies all of these at the end of the data: the free space was used up, and what was never written does
/// not matter any more; the last stretch without a change of the level is long enough for what came before it; the bounds on
/// level and slope lie within the margin; and so does the amplification, where the drive reports it. Each look, every quarter
/// of a drive write, judges all that was written so far: an acceptance is withdrawn by any later evidence against it.
///
/// ```
/// use drivescope_stats::steady::{Detector, Prior, Span, Start, State, Verdict};
///
/// // A drive with 10% over-provisioning that was filled in order, and then written at random.
/// let mut prior = Prior::new(1 << 30, Start::SequentialFill);
/// prior.over_provisioning = Some(0.10);
/// let mut detector = Detector::new(prior).unwrap();
/// for at in 0..400 {
///     let value = if at < 10 { 90_000.0 } else { 15_000.0 + f64::from(at * at * 37% 101) };
///     detector.push(&Span {
///         bytes_written: (1 << 30) / 100,
///         duration_ns: 1_000_000_000,
///         value,
///         amplification: None,
///         disturbed: false,
///         idle_ns: 0,
///     });
/// }
/// let judgement = detector.judgement();
/// assert_eq!((judgement.state, judgement.verdict), (State::Steady, Verdict::Yes));
/// ```
#[derive(Clone, Debug)]
pub struct Detector {
    prior: Prior,
    history: History,
    next_look_bytes: u64,
    current: Judgement,
    /// State that was accepted and where that was, until evidence speaks against it.
    accepted: Option<(State, u64)>,
    /// The last acceptance that was withdrawn: where it was given, and where it was found void.
    withdrawn: Option<[u64; 2]>,
    /// Bytes that had been written when a wave was last seen to continue, and its length in bytes.
    wave: Option<[u64; 2]>,
}

impl Detector {
    /// One that has seen nothing. `None` when the prior makes no sense ([`Prior::is_valid`]).
    pub fn new(prior: Prior) -> Option<Detector> {
        prior.is_valid().then(|| Detector {
            prior,
            history: History::new(prior.range_bytes),
            next_look_bytes: 0,
            current: judgement(State::Fresh, Verdict::NotYet, 0, "too little was written yet"),
            accepted: None,
            withdrawn: None,
            wave: None,
        })
    }

    /// Takes the next stretch of writes. Looks when a quarter of a drive write has come together.
    pub fn push(&mut self, span: &Span) {
        let closed = self.history.push(span);
        let written = self.history.written_bytes();
        if span.disturbed {
            self.take(self.throttled());
        } else if closed && written >= self.next_look_bytes {
            let between = (self.prior.range_bytes / LOOKS_PER_FILL).max(1);
            self.next_look_bytes = (written / between + 1).saturating_mul(between);
            self.look();
        }
    }

    /// Looks once more when there is nothing left to push: the verdict is about the end of the data.
    pub fn conclude(&mut self) {
        if self.history.undisturbed_fills() > 0.0 {
            self.history.close();
            self.look();
        }
    }

    /// The judgement of the last look.
    pub fn judgement(&self) -> &Judgement {
        &self.current
    }

    /// Bytes written so far, in capacities of the range.
    pub fn fills(&self) -> f64 {
        self.history.fills()
    }

    fn look(&mut self) {
        let gate = Gate::of(&self.prior, &self.history);
        let mut evidence = self.gate_evidence(&gate);
        let mut found = self.find(&gate, &mut evidence);
        found.evidence.append(&mut evidence);
        self.take(found);
    }

    /// Replaces the judgement. An acceptance keeps the moment at which it was given first, unless evidence has spoken against it since.
    fn take(&mut self, mut found: Judgement) {
        match (found.verdict, self.accepted) {
            (Verdict::Yes, Some((state, at_bytes))) if state == found.state => {
                found.at_bytes = at_bytes;
                self.withdrawn = self.withdrawn.filter(|[from, _]| *from != at_bytes);
            }
            (Verdict::Yes, _) => self.accepted = Some((found.state, found.at_bytes)),
            (_, Some((_, at_bytes))) => {
                if self.current.verdict == Verdict::Yes {
                    self.withdrawn = Some([at_bytes, self.history.written_bytes()]);
                }
                // Evidence against it ends an acceptance; too little evidence suspends it.
                self.accepted = self.accepted.filter(|_| !found.state.is_against());
            }
            _ => {}
        }
        if let Some(period) = found.period_bytes {
            self.wave = Some([self.history.written_bytes(), period]);
        }
        if let Some([from, to]) = self.withdrawn {
            let fills = |bytes| self.history.fills_of(bytes);
            found.evidence.insert("accepted_at_fills".to_owned(), fills(from).into());
            found.evidence.insert("withdrawn_at_fills".to_owned(), fills(to).into());
            if found.state.is_against() {
                found.reason += &format!(
                    "; it was accepted after {:.1} drive writes, and that was withdrawn after {:.1}",
                    fills(from),
                    fills(to)
                );
            }
        }
        if let Some((value, earlier)) = found.value.zip(found.earlier) {
            found.reason += &format!(
                "; before, until {:.1} drive writes, the rate was {:+.1}% off that",
                self.history.fills_of(earlier.to_bytes),
                100.0 * (earlier.mean / value.mean - 1.0)
            );
        }
        self.current = found;
    }

    fn find(&self, gate: &Gate, evidence: &mut BTreeMap<String, Evidence>) -> Judgement {
        let (written, fills) = (self.history.written_bytes(), self.history.fills());
        if self.history.undisturbed_fills() < WINDOW_FILLS_MIN {
            return self.throttled();
        }
        let not_yet = |state, reason: String| judgement(state, Verdict::NotYet, written, reason);
        if fills < gate.exhausted_fills {
            let needed = gate.exhausted_fills;
            let reason =
                format!("{fills:.2} fills were written, and free space may last for {needed:.2}");
            let mut found = not_yet(State::Fresh, reason);
            if gate.cliff_fills.is_some() {
                found.state = State::Transition;
            }
            found.missing = Some(format!("{:.1} drive writes", needed - fills));
            return found;
        }
        // Without a cliff the free space may have ended as late as it can: then a quarter of a drive write is from after it.
        let latest = (gate.exhausted_fills - (1.0 - AFTER_SHARE) * WINDOW_FILLS_MIN).max(0.0);
        let exhausted = if self.prior.in_place { 0.0 } else { gate.cliff_fills.unwrap_or(latest) };
        let settled = fills >= gate.settled_fills;
        if let Some(wave) = self.wave(exhausted, evidence).filter(|_| settled) {
            return wave;
        }
        let since = self.history.since(exhausted.max(fills - HISTORY_FILLS_MAX));
        // The cell in which the rate fell holds some of both.
        let is_mixed = gate.cliff_fills.is_some() && exhausted >= fills - HISTORY_FILLS_MAX;
        let cells = &even(&since[usize::from(is_mixed).min(since.len())..]);
        let cell_fills = self.history.cell_fills(cells);
        // A change while free space may still run out is put down to that.
        let free = cells.partition_point(|cell| {
            self.history.fills_of(cell.from_bytes) < gate.exhausted_fills + cell_fills
        });
        let Some(ending) = ending(cells, cell_fills, free, self.prior.margin) else {
            let mut found = not_yet(
                State::Inconclusive,
                "fewer than eight values have been measured since the free space was used up"
                    .to_owned(),
            );
            found.missing = Some("8 values, and a drive write".to_owned());
            return self.given_up(found, evidence);
        };
        self.tell(cells, cell_fills, &ending, evidence);
        let mut found = self.of_ending(cells, &ending, gate, evidence);
        if let Some(since) = self.since_wave()
            && matches!(found.state, State::Steady | State::Inconclusive)
        {
            let reason =
                format!("the rate went up and down until {since:.1} drive writes before the end");
            let (end, range) = (found.end, found.range);
            found = Judgement { end, range, ..not_yet(State::Stepped, reason) };
        }
        if found.verdict == Verdict::Yes && !settled {
            let reason = format!(
                "addresses that were never written still act as spare space, until {:.1} fills",
                gate.settled_fills
            );
            let missing = Some(format!("{:.1} drive writes", gate.settled_fills - fills));
            let end = found.end;
            found = Judgement { missing, end, ..not_yet(State::Inconclusive, reason) };
        }
        if found.verdict == Verdict::Yes && !self.amplification_rests(ending.fills, evidence) {
            let reason = "the drive's own write amplification has not come to rest".to_owned();
            found = Judgement { end: found.end, ..not_yet(State::Drifting, reason) };
        }
        self.given_up(found, evidence)
    }

    /// Drive writes since a wave stopped, where that is too short ago to call the rest steady.
    fn since_wave(&self) -> Option<f64> {
        let [bytes, period] = self.wave?;
        let since = self.history.fills() - self.history.fills_of(bytes);
        (since < SINCE_WAVE_FILLS.max(2.0 * self.history.fills_of(period))).then_some(since)
    }

    /// Turns *not yet* into *no* when the drive writes granted are used up.
    fn given_up(&self, mut found: Judgement, evidence: &BTreeMap<String, Evidence>) -> Judgement {
        if found.verdict == Verdict::NotYet && self.history.fills() >= self.prior.fills_max {
            found.verdict = Verdict::No;
            let has_changed = |changes: &Evidence| matches!(changes, Evidence::Count(3..));
            let keeps_changing =
                found.state == State::Stepped && evidence.get("changes").is_some_and(has_changed);
            if keeps_changing || matches!(found.state, State::Drifting | State::Transition) {
                found.state = State::NeverSteady;
                found.reason = format!("after {:.1} fills, {}", self.history.fills(), found.reason);
            }
        }
        found
    }

    /// True unless the drive reports an amplification that moves within the last `fills`.
    fn amplification_rests(&self, fills: f64, evidence: &mut BTreeMap<String, Evidence>) -> bool {
        let mut cells =
            self.history.since(self.history.fills() - fills.min(AMPLIFICATION_FILLS_MAX));
        if cells.len() < AMPLIFICATION_CELLS_MIN {
            let together = self.history.since(0.0);
            cells = &together[together.len().saturating_sub(AMPLIFICATION_CELLS_MIN)..];
        }
        let Some(told) = amplifications(cells).filter(|told| !told.is_empty()) else { return true };
        let fills = self.history.cell_fills(cells) * cells.len() as f64;
        let rest = window::rest(&told, fills, AMPLIFICATION_ERROR);
        if let Some(rest) = rest {
            evidence.insert("write_amplification".to_owned(), rest.mean.into());
        }
        rest.is_some_and(|rest| rest.bound() <= self.prior.margin)
    }

    fn of_ending(
        &self,
        cells: &[Cell],
        ending: &Ending,
        gate: &Gate,
        evidence: &mut BTreeMap<String, Evidence>,
    ) -> Judgement {
        let written = self.history.written_bytes();
        let [low, high] = ending.bounds;
        let of =
            |from: usize, rates: [f64; 3]| level(&cells[from..], rates[0], [rates[1], rates[2]]);
        let rates = [1.0 / ending.level, 1.0 / high, 1.0 / low];
        let last = cells.partition_point(|cell| {
            self.history.fills_of(cell.from_bytes) < self.history.fills() - 1.0 - 1e-9
        });
        let (state, verdict) = match ending.shape {
            Shape::Rest => (State::Steady, Verdict::Yes),
            Shape::Thin => (State::Inconclusive, Verdict::NotYet),
            Shape::Drifting => (State::Drifting, Verdict::NotYet),
            Shape::Stepped => (State::Stepped, Verdict::NotYet),
            Shape::Throttled => (State::Throttled, Verdict::NotYet),
            Shape::Telegraph => (State::Telegraph, Verdict::NotYet),
        };
        let mut found = judgement(state, verdict, written, ending.reason.clone());
        found.end = of(last.min(cells.len() - 1), rates);
        found.missing.clone_from(&ending.missing);
        found.earlier = ending.earlier.and_then(|(from, to, cost)| {
            level(&cells[from..=to], 1.0 / cost, [1.0 / cost, 1.0 / cost])
        });
        if ending.changes > 0 {
            found.range = Some([1.0 / ending.range[1], 1.0 / ending.range[0]]);
        }
        if found.verdict == Verdict::Yes {
            found.value = of(ending.from, rates);
            if let Some(plateau) = gate.plateau {
                let share = 1.0 / ending.level / plateau;
                evidence.insert("steady_share_of_fresh".to_owned(), share.into());
            }
            if found.value.is_none() {
                let reason = "the rates of the window have no mean";
                return judgement(State::Inconclusive, Verdict::NotYet, written, reason);
            }
        }
        found
    }

    /// A rate that comes round, up to the end. What stays within the margin is for [`ending`] to judge.
    fn wave(&self, exhausted: f64, evidence: &mut BTreeMap<String, Evidence>) -> Option<Judgement> {
        let (written, fills) = (self.history.written_bytes(), self.history.fills());
        let since = (fills - exhausted).min(HISTORY_FILLS_MAX);
        let cells = &even(self.history.since(fills - WAVE_SHARE * since));
        let half = half_fill(self.history.cell_fills(cells));
        let wave = periodic::wave(&costs(cells), half, self.prior.margin, WAVE_ERROR)?;
        if !wave.leaves {
            return None;
        }
        let whole = &cells[cells.len() - wave.values..];
        let (mean, share) = (mean_rate(whole), 1.0 + wave.half_width);
        let value = level(whole, mean, [mean / share, mean * share])?;
        let bytes: u64 = whole.iter().map(|cell| cell.to_bytes - cell.from_bytes).sum();
        let periods = (wave.values / wave.length) as u64;
        let period_bytes = bytes / periods;
        let period_fills = self.history.fills_of(period_bytes);
        let (least, greatest) = window::extremes(&costs(whole), half.min(wave.length))?;
        evidence.insert("period_correlation".to_owned(), wave.correlation.into());
        evidence.insert("period_fills".to_owned(), period_fills.into());
        evidence.insert("periods".to_owned(), periods.into());
        let round = format!(
            "the rate goes up and down every {period_fills:.2} fills, {periods} times by now"
        );
        let reason = format!("{round}, and comes back to its level");
        Some(Judgement {
            value: Some(value),
            period_bytes: Some(period_bytes),
            end: self.last_fill(cells),
            range: Some([1.0 / greatest, 1.0 / least]),
            ..judgement(State::Periodic, Verdict::Yes, written, reason)
        })
    }

    /// Mean over the last drive write, whatever it did, with bounds for what its first cell may hold of the time before.
    fn last_fill(&self, cells: &[Cell]) -> Option<Level> {
        let from = cells.partition_point(|cell| {
            self.history.fills_of(cell.from_bytes) < self.history.fills() - 1.0 - 1e-9
        });
        let last = &cells[from.min(cells.len().checked_sub(1)?)..];
        let mean = mean_rate(last);
        let (least, greatest) = window::extremes(&costs(last), 1)?;
        let n = last.len() as f64;
        let wide = (0.5 * (greatest - least) * mean / n.sqrt()).min(0.9);
        level(last, mean, [mean / (1.0 + wide), mean / (1.0 - wide)])
    }

    fn throttled(&self) -> Judgement {
        let reason = "something else held the drive up within the last fill";
        judgement(State::Throttled, Verdict::NotYet, self.history.written_bytes(), reason)
    }

    fn gate_evidence(&self, gate: &Gate) -> BTreeMap<String, Evidence> {
        let mut evidence = BTreeMap::new();
        let mut tell = |name: &str, value: f64| evidence.insert(name.to_owned(), value.into());
        tell("written_fills", self.history.fills());
        tell("exhausted_fills", gate.exhausted_fills);
        tell("settled_fills", gate.settled_fills);
        if let Some(at) = gate.cliff_fills {
            tell("cliff_fills", at);
            // A drive that was filled in order, or whose past is unknown, may fall for other
            // reasons as well.
            let was_purged = self.prior.start == Start::Purged;
            if let Some(op) =
                theory::op_from_cliff(at, true).filter(|_| was_purged && !self.prior.in_place)
            {
                tell("over_provisioning_by_cliff", op);
                if let Some(share) = theory::expected_steady_ratio(op) {
                    tell("expected_steady_share_of_fresh", share);
                }
            }
        }
        evidence
    }

    fn tell(
        &self,
        cells: &[Cell],
        cell_fills: f64,
        ending: &Ending,
        evidence: &mut BTreeMap<String, Evidence>,
    ) {
        let mut tell = |name: &str, value: Evidence| evidence.insert(name.to_owned(), value);
        tell("window_fills", ending.fills.into());
        tell("window_fills_wanted", ending.fills_wanted.into());
        tell("changes", (ending.changes as u64).into());
        // The slope is that of the cost.
        tell("slope_percent_per_fill", (-100.0 * ending.slope).into());
        tell("slope_bound_percent_per_fill", (100.0 * ending.slope_bound).into());
        let half = (ending.bounds[1] - ending.bounds[0]) / 2.0 / ending.level;
        tell("level_bound_percent", (100.0 * half).into());
        let costs = costs(&cells[ending.from..]);
        if let Some((least, greatest)) =
            window::extremes(&costs, half_fill(cell_fills).min(costs.len()))
        {
            let off = |cost: f64| 100.0 * (ending.level / cost - 1.0);
            tell("half_fills_off_percent", [off(greatest), off(least)].into());
        }
    }
}

/// Cells of half a fill.
fn half_fill(cell_fills: f64) -> usize {
    if cell_fills > 0.0 { ((0.5 / cell_fills).round() as usize).max(1) } else { 1 }
}

fn level(cells: &[Cell], mean: f64, [low, high]: [f64; 2]) -> Option<Level> {
    let (first, last) = (cells.first()?, cells.last()?);
    sample::usable(&[mean, low, high]).then_some(Level {
        mean,
        low,
        high,
        from_bytes: first.from_bytes,
        to_bytes: last.to_bytes,
    })
}

fn judgement(
    state: State,
    verdict: Verdict,
    at_bytes: u64,
    reason: impl Into<String>,
) -> Judgement {
    Judgement {
        state,
        verdict,
        at_bytes,
        value: None,
        period_bytes: None,
        end: None,
        earlier: None,
        range: None,
        missing: None,
        reason: reason.into(),
        evidence: BTreeMap::new(),
    }
}
