//! Progress on stderr, from the run's events: a line, or a live view. Drawn on the thread that receives them or on one of
//! its own, which is none of those that measure.

use std::time::Duration;

use anyhow::Result;
use block::text::harmless_lines;
use block::{Event, Nanos, RunSink};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use linux::host::Stopwatch;
use runner::messages;

use crate::keys::Keys;
use crate::model::Model;
use crate::page;
use crate::view::{Display, Live};

/// Progress of a run.
pub enum Progress {
    /// In a line, if at all.
    Line(Box<Line>),
    /// On a full screen.
    Live(Live),
}

/// Draws one line.
pub struct Line {
    bar: Bar,
    model: Model,
    began: Stopwatch,
    /// Lines below it.
    notes: Vec<String>,
    keys: LineKeys,
    /// True when it is drawn where there is a terminal.
    wanted: bool,
}

/// The key that brings the live view.
enum LineKeys {
    /// Waited for from the first event on, when all questions have been answered.
    Soon,
    /// Waited for, if the terminal is good for it.
    Now(Option<Keys>),
    /// Not waited for.
    Never,
}

impl Progress {
    /// A line, drawn when stderr is a terminal and `wanted`.
    pub fn new(wanted: bool) -> Progress {
        let line = Line::of(Model::default(), Stopwatch::start(), LineKeys::Never, wanted);
        Progress::Line(Box::new(line))
    }

    /// A live view, or a line where there is to be none.
    ///
    /// # Errors
    /// When a live view is asked for, and the terminal is not good for it.
    pub fn of(display: &Display<'_>) -> Result<Progress> {
        let model = display.model();
        if display.is_live()? {
            return Ok(Progress::Live(Live::new(model)));
        }
        let keys = if display.may_become_live() { LineKeys::Soon } else { LineKeys::Never };
        let line = Line::of(model, Stopwatch::start(), keys, !display.is_quiet);
        Ok(Progress::Line(Box::new(line)))
    }

    /// For steps of which none is made twice.
    pub fn once(mut self) -> Progress {
        self.update(|model| model.is_once = true);
        self
    }

    /// True where a live view is shown, which can show more than a line.
    pub fn is_live(&self) -> bool {
        matches!(self, Progress::Live(_))
    }

    /// Changes the model of what is shown.
    pub fn update(&mut self, change: impl FnOnce(&mut Model)) {
        match self {
            Progress::Live(live) => live.update(change),
            Progress::Line(line) => change(&mut line.model),
        }
    }

    /// Shows `notes` below the line from now on, each in a line of its own. A live view shows more, by [`Self::update`].
    pub fn note(&mut self, notes: impl IntoIterator<Item = String>) {
        if let Progress::Line(line) = self {
            line.notes = notes.into_iter().collect();
            line.show();
        }
    }

    /// Shows a live view in place of the line, or the line in place of it, when the user typed the key.
    fn change(&mut self) {
        let other = match self {
            Progress::Line(line) if line.is_live_wanted() => {
                let (model, began) = (std::mem::take(&mut line.model), line.began);
                // The terminal is given back before the view takes it.
                line.keys = LineKeys::Never;
                line.bar.finish_and_clear();
                Progress::Live(Live::of_running(model, began))
            }
            Progress::Live(live) => match live.left() {
                Some((model, began)) => {
                    Progress::Line(Box::new(Line::of(model, began, LineKeys::Soon, true)))
                }
                None => return,
            },
            Progress::Line(_) => return,
        };
        *self = other;
    }
}

impl Line {
    fn of(model: Model, began: Stopwatch, keys: LineKeys, wanted: bool) -> Line {
        let mut bar = bar(wanted);
        bar.0 = bar.0.with_elapsed(began.elapsed());
        if let Some(step) = &model.step {
            bar.set(u64::from(step.position), u64::from(step.positions));
        }
        if wanted {
            let drawn = bar.0.clone();
            let suspend = move |print: &mut dyn FnMut()| drawn.suspend(print);
            messages::print_above(Some(Box::new(suspend)));
        }
        Line { bar, model, began, notes: Vec::new(), keys, wanted }
    }

    fn is_live_wanted(&self) -> bool {
        matches!(&self.keys, LineKeys::Now(Some(keys)) if keys.is_live_wanted())
    }

    fn rate(&self) -> String {
        let rate = self.model.recent.rates();
        rate.map_or(String::new(), |rate| {
            format!("{} MB/s", report::number::digits(rate.bytes / 1e6))
        })
    }

    /// Time left on our clock, where it is known.
    fn left(&self) -> Option<Duration> {
        let left = self.model.left()?.most?;
        // A virtual drive's clock is another one.
        let pace = match self.model.is_virtual {
            true => self.model.pace(self.began.elapsed())?,
            false => 1.0,
        };
        Duration::try_from_secs_f64(left.as_secs_f64() / pace).ok()
    }

    fn show(&self) {
        let Some(work) = page::at_hand(&self.model) else { return };
        let key = if matches!(self.keys, LineKeys::Now(Some(_))) { "   l: live view" } else { "" };
        let mut lines = self.rate();
        for line in [&(work + key)].into_iter().chain(&self.notes) {
            lines += "\n        ";
            lines += line;
        }
        self.bar.set_message(self.left(), &lines);
    }
}

/// A line with a bar. Its text may come from outside: names of steps, files and drives.
pub struct Bar(ProgressBar);

impl Bar {
    /// Shows a position out of a length.
    pub fn set(&self, position: u64, length: u64) {
        self.0.set_length(length);
        self.0.set_position(position);
    }

    /// Shows a position.
    pub fn set_position(&self, position: u64) {
        self.0.set_position(position);
    }

    /// Shows `text` behind the bar, without what a terminal would obey, and before it the time left, where that is known.
    pub fn set_message(&self, left: Option<Duration>, text: &str) {
        let left = left.map_or(String::new(), |left| {
            let ns = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            format!(", {} left", Nanos(ns).about())
        });
        self.0.set_message(format!("{left}  {}", harmless_lines(text)));
    }

    /// Time since it was made.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// Takes it from the terminal.
    pub fn finish_and_clear(&self) {
        self.0.finish_and_clear();
    }
}

/// A line with a bar; drawn when stderr is a terminal and `wanted`.
pub fn bar(wanted: bool) -> Bar {
    styled(Some(0), TEMPLATE, wanted)
}

/// A line with the time since it was made; drawn when stderr is a terminal and `wanted`. `what` is a word without braces.
pub fn timer(what: &str, wanted: bool) -> Bar {
    styled(None, &format!("{what} {{elapsed:>4}} elapsed{{msg}}"), wanted)
}

fn styled(length: Option<u64>, template: &str, wanted: bool) -> Bar {
    let target = if wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(length, target);
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸ "));
    Bar(bar)
}

const TEMPLATE: &str = "{pos:>3}/{len} {bar:16.cyan} {elapsed:>4} elapsed{msg}";

impl RunSink for Progress {
    fn event(&mut self, event: &Event) {
        self.change();
        match self {
            Progress::Line(line) => line.event(event),
            Progress::Live(live) => live.event(event),
        }
    }
}

impl RunSink for Line {
    fn event(&mut self, event: &Event) {
        if matches!(self.keys, LineKeys::Soon) {
            self.keys = LineKeys::Now(Keys::watch());
        }
        self.model.event(event, self.began.elapsed());
        match event {
            Event::Preparing { done_bytes, total_bytes, .. } => {
                self.bar.set(done_bytes.0 >> 20, total_bytes.0 >> 20);
                self.show();
            }
            Event::StepStarted { position, positions, .. } => {
                self.bar.set(u64::from(*position), u64::from(*positions));
                self.show();
            }
            Event::PhaseStarted { .. } | Event::Interval { .. } => self.show(),
            Event::StepFinished { position, .. } => self.bar.set_position(u64::from(*position) + 1),
            Event::Pausing { .. } => {}
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.wanted {
            messages::print_above(None);
        }
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_one() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }

    // Breaks when the time left is not that of the plan, or is said where more runs may come.
    #[test]
    fn a_line_says_what_is_left() {
        let Progress::Line(mut line) = Progress::new(false) else { panic!("a line") };
        assert_eq!(line.left(), None);
        let planned = Some(Nanos::secs(4));
        let step = "RND4KQ1T1 read".to_owned();
        line.event(&Event::StepStarted { position: 0, positions: 10, step, run: 0, planned });
        let (at, bytes) = (Nanos::secs(1), block::Bytes(4096));
        line.event(&Event::Interval { at, length: at, ios: 1, bytes });
        assert_eq!(line.left(), Some(Duration::from_secs(39)));
        line.model.is_open = true;
        assert_eq!(line.left(), None);
    }
}
