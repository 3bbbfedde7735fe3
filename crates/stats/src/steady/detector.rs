//! The verdict: bytes, gates, and a window that is shown to stand still.

use std::collections::BTreeMap;

use super::gate::Gate;
use super::history::{Cell, History, amplifications, costs, mean_rate};
use super::judgement::{Judgement, Level, Prior, Span, Start, State, Verdict};
use super::window::Rest;
use super::{periodic, theory, window};
use crate::sample;
use crate::verdict::Evidence;

/// Looks in a fill.
const LOOKS_PER_FILL: u64 = 4;
/// Least length of the window, in fills: a turn of the log. Blocks come round after (1 + OP) / WA fills, which is
/// below one for any over-provisioning, so that waves of the collection are averaged out.
const WINDOW_FILLS_MIN: f64 = 1.0;
/// The window is this share of what was written since the free space was used up: what was before has less and less
/// of a say, and a drive whose noise is too much for a short window gets longer ones.
const WINDOW_SHARE: f64 = 1.0 / 3.0;
/// Least cells of a window.
const WINDOW_CELLS_MIN: usize = 8;
/// Share of the least window that must be from after the latest moment at which free space can end. A step of h at
/// the last quarter of a window gives the fitted line a rise of 6 x 3/4 x 1/4 h, more than h.
const AFTER_SHARE: f64 = 0.25;
/// Share of what was written since the free space was used up in which waves are looked for.
const WAVE_SHARE: f64 = 2.0 / 3.0;
/// Errors granted to all looks together.
const ERROR: f64 = 0.05;
/// A half fill that is off by so many margins has left the state.
const LEFT_MARGINS: f64 = 2.0;

/// Judges a drive that is written, from what it wrote and how fast.
///
/// Steady is what satisfies all of these: the free space was used up, and what was never written does not matter any
/// more; in a window of at least a fill, the interval of where the rate is going lies within the
/// margin of its mean ([`window::rest`]); every half fill in it is within the margin too; and so is the
/// amplification, where the drive tells it. Looks are made every quarter of a fill, and the k-th look that could accept
/// has an error of 5 % x (2^(-(k-1)/4) - 2^(-k/4)), which add up to 5 % for any count of looks.
///
/// ```
/// use drivescope_stats::steady::{Detector, Prior, Span, Start, State, Verdict};
///
/// // A drive with 10 % over-provisioning that was filled in order, and then written at random.
/// let mut prior = Prior::new(1 << 30, Start::SequentialFill);
/// prior.over_provisioning = Some(0.10);
/// let mut detector = Detector::new(prior).unwrap();
/// for at in 0..400 {
///     let value = if at < 10 { 90_000.0 } else { 15_000.0 + f64::from(at * 37 % 11) };
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
    /// Looks that could have accepted.
    looks: i32,
    current: Judgement,
}

/// What a look found in its window.
struct Look {
    /// Of costs: time for what is counted.
    rest: Option<Rest>,
    /// Least and greatest mean of a half fill, of costs.
    half_fills: Option<(f64, f64)>,
    amplification: Option<Rest>,
    /// All cells told it.
    amplification_told: bool,
    window_fills: f64,
}

impl Detector {
    /// One that has seen nothing. `None` when the prior makes no sense ([`Prior::is_valid`]).
    pub fn new(prior: Prior) -> Option<Detector> {
        prior.is_valid().then(|| Detector {
            prior,
            history: History::new(prior.range_bytes),
            next_look_bytes: 0,
            looks: 0,
            current: judgement(State::Fresh, Verdict::NotYet, 0, "too little was written yet"),
        })
    }

    /// Takes the next stretch of writes. Looks when a quarter of a fill has come together.
    pub fn push(&mut self, span: &Span) {
        let closed = self.history.push(span);
        let written = self.history.written_bytes();
        if span.disturbed {
            self.current = self.throttled();
        } else if closed && written >= self.next_look_bytes {
            let between = (self.prior.range_bytes / LOOKS_PER_FILL).max(1);
            self.next_look_bytes = (written / between + 1).saturating_mul(between);
            self.look();
        }
    }

    /// What the last look found.
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
        if let Some(kept) = self.kept() {
            self.current = kept;
            return;
        }
        let mut found = self.find(&gate, &mut evidence);
        found.evidence.append(&mut evidence);
        self.current = found;
    }

    /// An acceptance stands until a half fill is far off it.
    fn kept(&self) -> Option<Judgement> {
        let level = self.current.value.filter(|_| self.current.verdict == Verdict::Yes)?;
        let cells = self.history.since(self.history.fills() - 0.5);
        let period = self.current.period_bytes.unwrap_or(0);
        let is_wave = self.history.fills_of(period) > 0.0;
        let off = (mean_rate(cells) / level.mean - 1.0).abs();
        (is_wave || off <= LEFT_MARGINS * self.prior.margin).then(|| self.current.clone())
    }

    fn find(&mut self, gate: &Gate, evidence: &mut BTreeMap<String, Evidence>) -> Judgement {
        let (written, fills) = (self.history.written_bytes(), self.history.fills());
        if self.history.undisturbed_fills() < WINDOW_FILLS_MIN {
            return self.throttled();
        }
        let not_yet = |state, reason: String| judgement(state, Verdict::NotYet, written, reason);
        let has_fallen = gate.cliff_fills.is_some();
        if fills < gate.exhausted_fills {
            let needed = gate.exhausted_fills;
            let reason =
                format!("{fills:.2} fills were written, and free space may last for {needed:.2}");
            return not_yet(if has_fallen { State::Transition } else { State::Fresh }, reason);
        }
        // Without a cliff the free space may have ended as late as it can: then this much of the window is from after it,
        // and a fall of 5 % within the window has a slope that the window does not pass with.
        let exhausted = gate.cliff_fills.unwrap_or(if self.prior.in_place {
            0.0
        } else {
            (gate.exhausted_fills - (1.0 - AFTER_SHARE) * WINDOW_FILLS_MIN).max(0.0)
        });
        let since = (fills - exhausted).max(0.0);
        let window_fills = (WINDOW_SHARE * since).max(WINDOW_FILLS_MIN);
        let look = self.window(fills - window_fills);
        look.tell(evidence);
        let settled = fills >= gate.settled_fills;
        let covered = since + 1e-9 >= WINDOW_FILLS_MIN
            && look.window_fills + 0.1 >= WINDOW_FILLS_MIN.min(window_fills);
        let verdict = if !settled {
            Err(format!(
                "addresses that were never written still act as spare space, until {:.1} fills",
                gate.settled_fills
            ))
        } else if !covered {
            Err("less than a fill was written since the free space was used up".to_owned())
        } else {
            self.looks += 1;
            look.verdict(self.prior.margin, error_of(self.looks))
        };
        match verdict {
            Ok(rest) => self.steady(rest, &look, gate, evidence),
            Err(reason) => self.otherwise(settled.then_some(exhausted), reason, evidence),
        }
    }

    /// The window that begins at `from_fills`, with the error of the next look.
    fn window(&self, from_fills: f64) -> Look {
        let mut cells = self.history.since(from_fills);
        if cells.len() < WINDOW_CELLS_MIN {
            let together = self.history.since(0.0);
            cells = &together[together.len().saturating_sub(WINDOW_CELLS_MIN)..];
        }
        let cell_fills = self.history.cell_fills(cells);
        let window_fills = cell_fills * cells.len() as f64;
        let error = error_of(self.looks + 1);
        let half = half_fill(cell_fills);
        let costs = costs(cells);
        let told = amplifications(cells);
        Look {
            rest: window::rest(&costs, window_fills, error),
            half_fills: window::extremes(&costs, half.min(costs.len())),
            amplification_told: told.is_some(),
            amplification: told.and_then(|told| window::rest(&told, window_fills, error)),
            window_fills,
        }
    }

    fn steady(
        &self,
        rest: Rest,
        look: &Look,
        gate: &Gate,
        evidence: &mut BTreeMap<String, Evidence>,
    ) -> Judgement {
        let cells = self.history.since(self.history.fills() - look.window_fills);
        let of_window = mean_rate(cells);
        let written = self.history.written_bytes();
        // What is fitted is cost: the more of it, the lower the rate.
        let mean = of_window / rest.estimate();
        let [low, high] = rest.ends().map(|cost| of_window / cost);
        let Some(value) = level(cells, mean, [high, low]) else {
            let reason = "the rates of the window have no mean";
            return judgement(State::Transition, Verdict::NotYet, written, reason);
        };
        if let Some(plateau) = gate.plateau {
            evidence.insert("steady_share_of_fresh".to_owned(), (mean / plateau).into());
        }
        let reason = format!(
            "the last {:.2} fills lead to within {:.1} % of their mean",
            look.window_fills,
            100.0 * rest.bound()
        );
        Judgement { value: Some(value), ..judgement(State::Steady, Verdict::Yes, written, reason) }
    }

    /// The window did not pass: up and down, given up, or on the way. Waves are looked for since `exhausted`.
    fn otherwise(
        &self,
        exhausted: Option<f64>,
        reason: String,
        evidence: &mut BTreeMap<String, Evidence>,
    ) -> Judgement {
        let (written, fills) = (self.history.written_bytes(), self.history.fills());
        if let Some(found) = exhausted.and_then(|from| self.wave(from, evidence)) {
            return found;
        }
        if fills >= self.prior.fills_max {
            let reason = format!("after {fills:.1} fills, {reason}");
            return judgement(State::NeverSteady, Verdict::No, written, reason);
        }
        judgement(State::Transition, Verdict::NotYet, written, reason)
    }

    /// A rate that comes round: *periodic*, or *steady* when half fills do not leave the margin. A wave makes the noise
    /// of a window worth few values, however slight it is, and whole periods are what it can be judged by.
    fn wave(&self, exhausted: f64, evidence: &mut BTreeMap<String, Evidence>) -> Option<Judgement> {
        let (written, fills) = (self.history.written_bytes(), self.history.fills());
        let cells = self.history.since(fills - WAVE_SHARE * (fills - exhausted));
        let half = half_fill(self.history.cell_fills(cells));
        let error = error_of(self.looks.max(1));
        let wave = periodic::wave(&costs(cells), half, self.prior.margin, error)?;
        let whole = &cells[cells.len() - wave.values..];
        let (mean, share) = (mean_rate(whole), 1.0 + wave.half_width);
        let value = level(whole, mean, [mean / share, mean * share])?;
        let bytes: u64 = whole.iter().map(|cell| cell.to_bytes - cell.from_bytes).sum();
        let periods = (wave.values / wave.length) as u64;
        let period_bytes = bytes / periods;
        let period_fills = self.history.fills_of(period_bytes);
        evidence.insert("period_correlation".to_owned(), wave.correlation.into());
        evidence.insert("period_fills".to_owned(), period_fills.into());
        evidence.insert("periods".to_owned(), periods.into());
        let round = format!("the rate goes up and down every {period_fills:.2} fills");
        let found = |state, reason| judgement(state, Verdict::Yes, written, reason);
        if wave.leaves {
            let reason = format!("{round}, {periods} times by now, and comes back to its level");
            let found = found(State::Periodic, reason);
            return Some(Judgement {
                value: Some(value),
                period_bytes: Some(period_bytes),
                ..found
            });
        }
        // Few periods have a wide interval, and a bound is what a steady value promises.
        let reason = format!("{round}, and no half fill leaves the margin");
        (wave.half_width <= self.prior.margin)
            .then(|| Judgement { value: Some(value), ..found(State::Steady, reason) })
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
            // What was filled in order, or nobody knows how, may fall for other reasons as well.
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
}

impl Look {
    fn verdict(&self, margin: f64, error: f64) -> Result<Rest, String> {
        let percent = 100.0 * margin;
        let Some(rest) = self.rest else {
            return Err("the window has too few values that are independent of each other".into());
        };
        let (least, greatest) = self.half_fills.unwrap_or((f64::NAN, f64::NAN));
        let within = |level: f64| (level / rest.mean - 1.0).abs() <= margin;
        if !within(least) || !within(greatest) {
            return Err(format!("a half fill is more than {percent:.0} % off the window's mean"));
        }
        if rest.bound().is_nan() || rest.bound() > margin {
            return Err(format!(
                "the rate may still go {:.1} % from the window's mean, at an error of {error:.4}",
                100.0 * rest.bound()
            ));
        }
        let rests = self.amplification.is_some_and(|waf| waf.bound() <= margin);
        if self.amplification_told && !rests {
            return Err("the drive's own write amplification has not come to rest".to_owned());
        }
        Ok(rest)
    }

    fn tell(&self, evidence: &mut BTreeMap<String, Evidence>) {
        let mut tell = |name: &str, value: f64| evidence.insert(name.to_owned(), value.into());
        tell("window_fills", self.window_fills);
        if let Some(rest) = self.rest {
            // The slope is that of the cost.
            tell("slope_percent_per_fill", -100.0 * rest.slope_per_fill);
            tell("distance_bound_percent", 100.0 * rest.bound());
            tell("values_effective", rest.n_effective);
        }
        if let Some(waf) = self.amplification {
            tell("write_amplification", waf.mean);
        }
        if let Some((rest, (least, greatest))) = self.rest.zip(self.half_fills) {
            let range = [100.0 * (rest.mean / greatest - 1.0), 100.0 * (rest.mean / least - 1.0)];
            evidence.insert("half_fills_off_percent".to_owned(), range.into());
        }
    }
}

/// The error of the k-th look, for each end.
fn error_of(look: i32) -> f64 {
    let left = |look: i32| 2.0_f64.powf(-f64::from(look) / 4.0);
    ERROR * (left(look - 1) - left(look))
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
        reason: reason.into(),
        evidence: BTreeMap::new(),
    }
}
