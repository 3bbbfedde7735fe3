//! Rounds, and the five of them that the specification's verdict rests on.

use pts::body::{Body, PtsWindow, RuleVerdict};
use pts::table::Table;
use report::chart::{Across, Axis, Chart, Hue, Layer, Line, LinePoint, Mark, Scale, Side};
use report::number;
use stats::Unit;
use stats::steady::snia;

use super::parts::{bare, hue, labelled, stem};

/// The tracked value by round, and what the specification makes of it.
#[derive(Clone, Debug)]
pub struct Tracked {
    /// Name of the tracked value.
    pub name: String,
    /// Axis, with its title and unit.
    pub axis: Axis,
    /// Rounds with their values.
    pub rounds: Vec<(f64, f64)>,
    /// The five rounds of the measurement window.
    pub window: PtsWindow,
    /// True if they are within both bounds.
    pub passes: bool,
}

impl Tracked {
    /// Of a column of rounds: the five that the specification would end at.
    pub fn of_column(table: &Table, column: usize, name: &str, axis: Axis) -> Option<Tracked> {
        Tracked::of(labelled(table, column), name, axis)
    }

    /// Of rounds with their values, the first of which is 1.
    pub fn of(rounds: Vec<(f64, f64)>, name: &str, axis: Axis) -> Option<Tracked> {
        let values: Vec<f64> = rounds.iter().map(|round| round.1).collect();
        let (window, passes) = match snia::judge(&values) {
            snia::Judgement::Reached { window } => (window, true),
            snia::Judgement::NotReached { window } => (window, false),
            snia::Judgement::TooFew { window, .. } => (window?, false),
        };
        let window = PtsWindow::from(window);
        Some(Tracked { name: name.to_owned(), axis, rounds, window, passes })
    }

    /// Of the rounds of a test, by its own verdict; `value` is what of a round was tracked.
    pub fn of_body(
        body: &Body,
        axis: Axis,
        value: impl Fn(&pts::body::Round) -> f64,
    ) -> Option<Tracked> {
        let steady = body.steady.as_ref()?;
        let window = steady.pts.window?;
        let rounds =
            body.rounds.iter().map(|round| (f64::from(round.index), value(round))).collect();
        let passes = steady.pts.verdict == RuleVerdict::Steady;
        Some(Tracked { name: steady.tracked.clone(), axis, rounds, window, passes })
    }

    /// The five rounds.
    pub fn five(&self) -> Vec<(f64, f64)> {
        let first = f64::from(self.window.first_round);
        let within = |round: &&(f64, f64)| round.0 >= first && round.0 < first + 5.0;
        self.rounds.iter().filter(within).copied().collect()
    }

    /// The best fit, as the specification writes it.
    pub fn formula(&self) -> String {
        let PtsWindow { slope_per_round, intercept, .. } = self.window;
        let sign = |value: f64, plus: &'static str| if value < 0.0 { "−" } else { plus };
        let figure = |value: f64| match self.axis.unit {
            Unit::Ns => number::nanoseconds(value.abs()),
            _ => number::digits(value.abs()),
        };
        format!(
            "{}{} · R {} {}",
            sign(slope_per_round, ""),
            figure(slope_per_round),
            sign(intercept, "+"),
            figure(intercept)
        )
    }
}

/// All columns of a table of rounds. `ends` marks the five rounds of the verdict.
pub fn convergence(body: &Body, table: &Table, y: Axis, ends: Option<&PtsWindow>) -> Option<Chart> {
    let factor = factor(y.unit);
    let mut chart = bare(body, &table.title, Axis::new("Round", Unit::Count), y);
    let of = table.columns.len();
    for (at, name) in table.columns.iter().enumerate() {
        // A round without a single completion has no place on a logarithmic axis.
        let has = |value: f64| chart.y.scale == Scale::Linear || value > 0.0;
        let points: Vec<LinePoint> = labelled(table, at)
            .into_iter()
            .filter(|(_, value)| has(*value))
            .map(|(round, value)| LinePoint::new(round, value * factor))
            .collect();
        chart.layers.push(Layer::Line(Line::new(stem(name), hue(at, of), points)));
    }
    if let Some(window) = ends {
        chart.layers.push(Layer::Zone(report::chart::Zone {
            name: "measurement window".to_owned(),
            hue: Hue::Grey,
            across: Across::X,
            from: f64::from(window.first_round),
            to: f64::from(window.first_round) + 4.0,
        }));
    }
    let has_data = chart.layers.iter().any(|layer| match layer {
        Layer::Line(line) => line.points.len() > 1,
        _ => false,
    });
    has_data.then_some(chart)
}

/// Values of tables are microseconds where axes have nanoseconds.
fn factor(unit: Unit) -> f64 {
    if unit == Unit::Ns { 1e3 } else { 1.0 }
}

/// The measurement window: five rounds, their average, ten percent around it, and the best fit.
pub fn window(body: &Body, tracked: &Tracked) -> Option<Chart> {
    let five = tracked.five();
    if five.len() < 2 {
        return None;
    }
    let average = tracked.window.average;
    let values = || five.iter().map(|round| round.1);
    let (least, most) =
        (values().fold(0.88 * average, f64::min), values().fold(1.12 * average, f64::max));
    let pad = 0.02 * average.abs();
    let title = format!("Steady-state window: {}", tracked.name);
    let first = f64::from(tracked.window.first_round);
    let x = Axis::new("Round", Unit::Count).from_to(first - 0.25, first + 4.25);
    let mut chart = bare(body, &title, x, tracked.axis.clone().from_to(least - pad, most + pad));
    let points = |rounds: &[(f64, f64)]| {
        rounds.iter().map(|round| LinePoint::new(round.0, round.1)).collect::<Vec<_>>()
    };
    let PtsWindow { slope_per_round, intercept, .. } = tracked.window;
    let fit: Vec<(f64, f64)> =
        five.iter().map(|round| (round.0, slope_per_round * round.0 + intercept)).collect();
    let name = format!("best fit: {}", tracked.formula());
    chart.layers.push(Layer::Line(Line::new(name, Hue::Vermillion, points(&fit))));
    chart.layers.push(Layer::Line(Line::new(&tracked.name, Hue::Blue, points(&five))));
    for (name, hue, share) in
        [("110%", Hue::Grey, 1.1), ("average", Hue::Green, 1.0), ("90%", Hue::Grey, 0.9)]
    {
        chart.layers.push(Layer::Mark(Mark {
            name: name.to_owned(),
            hue,
            across: Across::Y(Side::Left),
            value: average * share,
            over: None,
        }));
    }
    Some(chart)
}
