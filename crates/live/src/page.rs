//! Layout of a run in progress on a full screen.

use std::time::Duration;

use block::{Bytes, Nanos};
use mark::body::Test;
use pts::kept::{Left, Standing};
use pts::window::Window;
use report::chart::{Axis, Chart, Hue, Layer, Line, LinePoint, Points, Walk};
use report::{Item, Screen, number};
use stats::Unit;

use crate::model::{Model, Tracked};
use crate::rates::Rates;

/// Below this many bytes an I/O, people count I/Os; above it, bytes.
const SMALL: u64 = 64 << 10;

/// The screen of a run, `passed` after the view began.
pub fn screen(model: &Model, passed: Duration) -> Screen {
    let mut above: Vec<Item> = model.within.iter().cloned().map(Item::Text).collect();
    above.push(match model.share() {
        Some(share) => Item::Share(share, format!("{:.0}%   {}", share * 100.0, doing(model))),
        None => Item::Text(doing(model)),
    });
    let mut below = vec![Item::Text(present(model))];
    below.extend(model.standing.iter().cloned().map(Item::Text));
    below.extend(model.facts.iter().cloned());
    below.extend(model.last_message.iter().cloned().map(Item::Text));
    below.push(Item::Text(times(model, passed)));
    let keys = match model.is_ending {
        true => "ending: the I/O that is outstanding is waited for; Ctrl-C ends it at once",
        false => "q or Ctrl-C ends it cleanly   Ctrl-Z stops it for a while   l: a line",
    };
    let chart = Some(chart(model));
    Screen { title: model.title.clone(), above, chart, below, keys: keys.to_owned() }
}

/// The current activity.
fn doing(model: &Model) -> String {
    let Some(words) = at_hand(model) else { return "getting ready".to_owned() };
    let Some(step) = model.step.as_ref().filter(|_| model.preparing.is_none()) else {
        return words;
    };
    let of = if model.is_open { String::new() } else { format!(" of {}", step.positions) };
    format!("step {}{of}: {words}", step.position + 1)
}

/// The work before the first step, or the step at hand; `None` before either.
pub(crate) fn at_hand(model: &Model) -> Option<String> {
    if let Some((what, done, total)) = &model.preparing {
        return Some(match (*done, *total) {
            // A purge reports no position.
            (Bytes::ZERO, _) => what.clone(),
            (done, total) => format!(
                "{what}: {} of {}",
                number::bytes(done.0 as f64),
                number::bytes(total.0 as f64)
            ),
        });
    }
    let step = model.step.as_ref()?;
    let run = if model.is_once { String::new() } else { format!(", run {}", step.run + 1) };
    let phase = if step.phase.is_empty() { String::new() } else { format!(" ({})", step.phase) };
    Some(format!("{}{run}{phase}", step.name))
}

/// The rate now, and all that was moved.
fn present(model: &Model) -> String {
    let now = model.recent.rates().map(|rates| {
        let (rate, iops) = (number::digits(rates.bytes / 1e6), number::compact(rates.iops));
        format!("now {rate} MB/s, {iops} IOPS")
    });
    let (ios, bytes) = (model.moved.0 as f64, model.moved.1.0 as f64);
    let moved = format!("in all {} in {} I/Os", number::bytes(bytes), number::thousands(ios));
    match now {
        Some(now) => format!("{now}   {moved}"),
        None => moved,
    }
}

/// Time passed and left, and the drive's own where that is another.
fn times(model: &Model, passed: Duration) -> String {
    let pace = model.pace(passed);
    let left = model.left().zip(pace).map(|(left, pace)| {
        let ours = |span: Nanos| clock(span.as_secs_f64() / pace);
        match left {
            Left { least, most: Some(most) } if least == most => {
                format!("about {} left", ours(least))
            }
            Left { least, most: Some(most) } => format!("{} to {} left", ours(least), ours(most)),
            Left { least, most: None } => format!("{} left at least", ours(least)),
        }
    });
    let left = left.unwrap_or_else(|| "time left unknown".to_owned());
    let own = match model.is_virtual {
        true => format!(" (on the drive's clock {})", clock(model.spent().as_secs_f64())),
        false => String::new(),
    };
    format!("{} passed{own}, {left}", clock(passed.as_secs_f64()))
}

/// `0:07`, `12:03`, `26:00:00`.
fn clock(seconds: f64) -> String {
    let all = seconds.round() as u64;
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// The figure that is followed from round to round, when there are two rounds; else the rate over time.
fn chart(model: &Model) -> Chart {
    match &model.tracked {
        Some(tracked) if tracked.values.len() > 1 => rounds(tracked),
        _ => course(model),
    }
}

fn course(model: &Model) -> Chart {
    let (ios, bytes) = model.moved;
    let small = ios > 0 && bytes.0 / ios < SMALL;
    let y = match small {
        true => Axis::new("I/O rate", Unit::Iops),
        false => Axis::new("Throughput", Unit::MbPerS),
    };
    let value = |(at, rates): (Nanos, Rates)| LinePoint {
        x: at.0 as f64,
        y: if small { rates.iops } else { rates.bytes / 1e6 },
        interval: None,
    };
    let points: Vec<LinePoint> = model.course.rates().map(value).collect();
    let line = Line {
        name: String::new(),
        hue: Hue::Blue,
        points,
        walk: Walk::Straight,
        side: Default::default(),
    };
    let end = (model.spent().0 as f64).max(1e9);
    let x = Axis::new("Time of I/O", Unit::Ns).from_to(0.0, end);
    Chart { layers: vec![Layer::Line(line)], ..Chart::new("", x, y.with_zero()) }
}

fn rounds(tracked: &Tracked) -> Chart {
    let unit = match tracked.name.split_once(" of ").map_or("", |(figure, _)| figure) {
        "IOPS" => Unit::Iops,
        "MB/s" => Unit::MbPerS,
        _ => Unit::Ns,
    };
    let points = (1..).map(f64::from).zip(tracked.values.iter().copied()).collect();
    let x = Axis::new("Round", Unit::Count).from_to(0.5, tracked.values.len() as f64 + 0.5);
    let y = Axis::new(tracked.name.clone(), unit).with_zero();
    let layers = vec![Layer::Points(Points::new("", Hue::Blue, points))];
    Chart { layers, ..Chart::new("", x, y) }
}

/// Facts about a test of a benchmark so far: its median and its proofs.
pub fn of_test(test: &Test, whole: usize, tests: usize) -> Vec<Item> {
    let rate = test
        .mb_s
        .median
        .map_or("nothing".to_owned(), |rate| format!("{} MB/s", number::digits(rate)));
    let name = format!("{} {} {rate} ({})", test.name, test.op, test.mb_s.n);
    let proofs = test.proofs.named().map(|(name, proof)| (name, proof.clone()));
    let all = format!("{whole} of {tests} tests have all six proofs as they stand");
    vec![Item::Proofs(name, proofs.to_vec()), Item::Text(all)]
}

/// Facts about the last run of a test.
pub fn of_run(written: Bytes, temperature_c: Option<f64>) -> Option<Item> {
    let written =
        (written > Bytes::ZERO).then(|| format!("written {}", number::bytes(written.0 as f64)));
    let warm = temperature_c.map(|celsius| format!("drive at {celsius:.0} °C"));
    let facts: Vec<String> = written.into_iter().chain(warm).collect();
    (!facts.is_empty()).then(|| Item::Text(facts.join(", ")))
}

/// Facts about the last stretch of an enterprise test, and bytes written by all of them, of a budget if there is one.
pub fn of_window(window: &Window, written: Bytes, budget: Option<Bytes>) -> Vec<Item> {
    let p99 = window.latency_ns.p99.map(|ns| format!(", p99 {}", number::nanoseconds(ns as f64)));
    let amplified = window.write_amplification();
    let amplified = amplified.map(|factor| format!(", write amplification {factor:.2}"));
    let of = budget.map(|budget| format!(" of {}", number::bytes(budget.0 as f64)));
    let last = format!(
        "last {}: {} MB/s, {} IOPS{}{}",
        window.load,
        number::digits(window.mb_s),
        number::compact(window.iops),
        p99.unwrap_or_default(),
        amplified.unwrap_or_default()
    );
    let written = format!("written {}{}", number::bytes(written.0 as f64), of.unwrap_or_default());
    let disturbed = window.disturbed.iter().map(|why| Item::Warning(format!("disturbed: {why}")));
    [Item::Text(last), Item::Text(written)].into_iter().chain(disturbed).collect()
}

/// Verdicts so far, with the drive writes that they took.
pub fn of_standing(standing: &Standing) -> String {
    format!("{} after {:.2} fills", views::pts::verdicts_so_far(standing), standing.fills)
}

/// The figure that is followed from round to round.
pub fn tracked(standing: &Standing) -> Tracked {
    Tracked { name: standing.tracked.clone(), values: standing.values.clone() }
}

/// Lateness of a replay's requests, and failed ones.
pub fn of_replay(ios: u64, late_max: Nanos, failed: u64) -> Vec<Item> {
    let late = number::nanoseconds(late_max.0 as f64);
    let ios = number::thousands(ios as f64);
    let pace = Item::Text(format!("{ios} requests, issued at most {late} after they could be"));
    let failed = (failed > 0)
        .then(|| Item::Warning(format!("{} failed", number::counted(failed as usize, "request"))));
    std::iter::once(pace).chain(failed).collect()
}

#[cfg(test)]
mod tests {
    use block::Event;
    use pts::body::RuleVerdict;
    use stats::steady::State;

    use super::*;

    /// The text of a screen, without colours.
    fn text(model: &Model, passed: Duration) -> String {
        let lines = report::render_screen(&screen(model, passed), report::Style::default(), 24);
        lines.iter().map(report::Styled::plain).collect::<Vec<_>>().join("\n")
    }

    fn begun() -> Model {
        let mut model = Model::of("pts wsat", "sim:mlc-nvme");
        (model.is_open, model.is_once) = (true, true);
        let step = "round 3, RND 4KiB 0/100".to_owned();
        let planned = Some(Nanos::secs(60));
        let started = Event::StepStarted { position: 6, positions: 7, step, run: 0, planned };
        model.event(&started, Duration::ZERO);
        for second in 1..=20 {
            let (at, length) = (Nanos::secs(second), Nanos::secs(1));
            let interval = Event::Interval { at, length, ios: 30_000, bytes: Bytes(30_000 * 4096) };
            model.event(&interval, Duration::from_millis(100 * second));
        }
        model
    }

    // Breaks when what people look at a long run for is not on the screen of 80 x 24: which step, which state, how fast,
    // how much was written, how long yet.
    #[test]
    fn a_test_shows_step_state_rate_bytes_and_time() {
        let mut model = begun();
        let standing = Standing {
            tracked: "IOPS of RND 4KiB 0/100".to_owned(),
            values: vec![90e3, 60e3, 31e3, 30e3],
            fills: 1.25,
            pts: RuleVerdict::TooFewRounds,
            ours: State::Transition,
            left: Left { least: Nanos::secs(120), most: Some(Nanos::secs(600)) },
        };
        model.standing = Some(of_standing(&standing));
        model.tracked = Some(tracked(&standing));
        model.set_left(standing.left);
        let shown = text(&model, Duration::from_secs(2));
        for words in [
            "drivescope pts wsat sim:mlc-nvme",
            "step 7: round 3, RND 4KiB 0/100",
            "IOPS of RND 4KiB 0/100",
            "Round",
            "now 122.9 MB/s, 30000 IOPS",
            "by bytes transition, by PTS not yet after 1.25 fills",
            "0:02 passed (on the drive's clock 0:20), 0:12 to 1:00 left",
            "q or Ctrl-C ends it cleanly",
        ] {
            assert!(shown.contains(words), "{words:?} is missing:\n{shown}");
        }
    }

    // Breaks when the curve is empty before the first round is over, which may take hours.
    #[test]
    fn before_the_first_round_the_rate_over_time_is_shown() {
        let shown = text(&begun(), Duration::from_secs(2));
        assert!(shown.contains("I/O rate") && shown.contains("Time of I/O"), "{shown}");
        let dots = shown.chars().filter(|c| ('\u{2801}'..='\u{28ff}').contains(c)).count();
        assert!(dots > 30, "{dots} cells of braille:\n{shown}");
        assert!(shown.contains("time left unknown"), "{shown}");
    }

    // Breaks when a disturbance or a failed request is not shown while there is time to do something about it.
    #[test]
    fn what_goes_wrong_is_shown_at_once() {
        let mut model = begun();
        model.facts = of_replay(12, Nanos(3_000_000), 2);
        model.last_message = Some("note: the record ends here".to_owned());
        model.is_ending = true;
        let shown = text(&model, Duration::from_secs(2));
        for words in [
            "! 2 requests failed",
            "at most 3.00 ms after",
            "note: the record ends here",
            "ending:",
        ] {
            assert!(shown.contains(words), "{words:?} is missing:\n{shown}");
        }
    }
}
