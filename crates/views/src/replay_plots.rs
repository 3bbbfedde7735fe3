//! Replays as charts: load over time beside the plan, how late requests were, and what a trace of the replay shows.

use documents::replay::ReplayBody;
use report::chart::{Axis, Chart, Hue, Layer, Line, LinePoint, Scale, Walk};
use report::number;
use stats::Unit;
use trace::replay::{ErrorSpans, Moment, Since};

use super::trace_plots;

/// All charts: fidelity, then the replayed load.
pub fn charts(body: &ReplayBody) -> Vec<Chart> {
    let replayed = trace_plots::charts(&body.replay.run).into_iter().map(|(_, chart)| chart);
    noted(body, fidelity(body).chain(replayed).collect())
}

/// Fidelity alone, for a single picture.
pub fn main(body: &ReplayBody) -> Vec<Chart> {
    noted(body, fidelity(body).collect())
}

fn fidelity(body: &ReplayBody) -> impl Iterator<Item = Chart> {
    [rate(body), depth(body), lateness(body)].into_iter().flatten()
}

fn noted(body: &ReplayBody, mut charts: Vec<Chart>) -> Vec<Chart> {
    let note = format!("{} on {}; seed {}", body.file.display(), body.drive.target.name, body.seed);
    charts.iter_mut().for_each(|chart| chart.note.clone_from(&note));
    charts
}

/// A value of each slice of the replay, from its beginning on.
fn course(
    body: &ReplayBody,
    (name, hue): (&str, Hue),
    of: impl Fn(&Moment) -> Option<f64>,
) -> Option<Layer> {
    let moments = &body.replay.course;
    let points = moments.iter().filter_map(|m| Some(LinePoint::new(m.at_ns.0 as f64, of(m)?)));
    let points: Vec<LinePoint> = points.collect();
    let line = Line { walk: Walk::After, ..Line::new(name, hue, points) };
    (!line.points.is_empty()).then_some(Layer::Line(line))
}

fn over_time(body: &ReplayBody, title: &str, y: Axis, layers: Vec<Option<Layer>>) -> Option<Chart> {
    let slice = body.replay.course.first()?.slice_ns.0 as f64;
    let subtitle = format!("in slices of {}", number::nanoseconds(slice));
    let layers: Vec<Layer> = layers.into_iter().flatten().collect();
    let x = Axis::new("Time since the replay's start", Unit::Ns);
    (!layers.is_empty()).then(|| Chart { subtitle, layers, ..Chart::new(title, x, y) })
}

fn rate(body: &ReplayBody) -> Option<Chart> {
    let per_second = |count: u64, moment: &Moment| {
        let seconds = moment.slice_ns.as_secs_f64();
        (seconds > 0.0).then(|| count as f64 / seconds)
    };
    let layers = vec![
        course(body, ("planned", Hue::Vermillion), |m| per_second(m.planned, m)),
        course(body, ("issued", Hue::Blue), |m| per_second(m.issued, m)),
    ];
    let y = Axis::new("Requests", Unit::Iops).with_zero();
    over_time(body, "Fidelity: rate over time", y, layers)
}

fn depth(body: &ReplayBody) -> Option<Chart> {
    let layers = vec![
        course(body, ("original", Hue::Vermillion), |m| m.original_depth),
        course(body, ("replayed", Hue::Blue), |m| Some(m.depth)),
    ];
    let y = Axis::new("Requests outstanding, mean", Unit::Ratio).with_zero();
    over_time(body, "Fidelity: depth over time", y, layers)
}

/// The lateness that one request in N exceeds.
fn lateness(body: &ReplayBody) -> Option<Chart> {
    let fidelity = &body.replay.fidelity;
    let issued = match fidelity.issue_error_since {
        Since::Due => "issued − due",
        Since::Ready => "issued − possible",
    };
    let requests = body.replay.run.counts.requests as f64;
    let line = |name: &str, hue: Hue, spans: &ErrorSpans| {
        let known = [(2.0, spans.p50), (100.0, spans.p99), (1000.0, spans.p999)];
        let inner = known.into_iter().filter(|(one_in, _)| *one_in < requests);
        // Times that were not late at all have no position on a logarithmic axis.
        let points = inner.chain([(requests, spans.max)]).filter(|(_, ns)| *ns > 0);
        let points = points.map(|(one_in, ns)| LinePoint::new(one_in, ns as f64));
        let line = Line::new(name, hue, points.collect());
        (!line.points.is_empty()).then_some(Layer::Line(line))
    };
    if requests < 2.0 {
        return None;
    }
    let mut layers = vec![line(issued, Hue::Vermillion, &fidelity.issue_error_ns)];
    if fidelity.issue_error_since == Since::Due {
        layers.push(line("by the replayer itself", Hue::Blue, &fidelity.own_error_ns));
    }
    if let Some(kernel) = &body.kernel {
        let spans = kernel.kernel.issue_error_ns.as_ref();
        layers.push(spans.and_then(|spans| line("kernel's Q − due", Hue::Green, spans)));
    }
    let layers: Vec<Layer> = layers.into_iter().flatten().collect();
    let x = Axis::new("One request in N is later", Unit::Count).scaled(Scale::Log10);
    let y = Axis::new("Lateness", Unit::Ns).scaled(Scale::Log10);
    let subtitle = "half of all, 99%, 99.9%, and the latest".to_owned();
    let title = "Fidelity: lateness by share of requests";
    (!layers.is_empty()).then(|| Chart { subtitle, layers, ..Chart::new(title, x, y) })
}
