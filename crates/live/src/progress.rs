//! Progress on stderr, from the run's events: a line, or a live view. Drawn on the thread that receives them or on one of
//! its own, which is none of those that measure.

use anyhow::Result;
use block::text::harmless_lines;
use block::{Event, RunSink};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::model::Model;
use crate::rates::Recent;
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
    step: String,
    phase: String,
    recent: Recent,
    /// True when steps are repeated, and numbered.
    repeats: bool,
    /// Lines below it.
    notes: Vec<String>,
}

impl Progress {
    /// A line, drawn when stderr is a terminal and `wanted`.
    pub fn new(wanted: bool) -> Progress {
        let bar = bar(wanted);
        let (step, phase) = (String::new(), String::new());
        let (recent, notes) = (Recent::default(), Vec::new());
        Progress::Line(Box::new(Line { bar, step, phase, recent, repeats: true, notes }))
    }

    /// A live view, or a line where there is to be none.
    ///
    /// # Errors
    /// When a live view is asked for, and the terminal is not good for it.
    pub fn of(display: &Display<'_>) -> Result<Progress> {
        Ok(match display.is_live()? {
            true => Progress::Live(Live::new(display)),
            false => Progress::new(!display.is_quiet),
        })
    }

    /// For steps of which none is made twice.
    pub fn once(mut self) -> Progress {
        match &mut self {
            Progress::Line(line) => line.repeats = false,
            Progress::Live(live) => live.update(|model| model.is_once = true),
        }
        self
    }

    /// True where a live view is shown, which can show more than a line.
    pub fn is_live(&self) -> bool {
        matches!(self, Progress::Live(_))
    }

    /// Changes the model of a live view.
    pub fn update(&self, change: impl FnOnce(&mut Model)) {
        if let Progress::Live(live) = self {
            live.update(change);
        }
    }

    /// Shows `notes` below the line from now on, each in a line of its own. A live view shows more, by [`Self::update`].
    pub fn note(&mut self, notes: impl IntoIterator<Item = String>) {
        if let Progress::Line(line) = self {
            line.notes = notes.into_iter().collect();
            line.show();
        }
    }
}

impl Line {
    fn rate(&self) -> String {
        let rate = self.recent.rates();
        rate.map_or(String::new(), |rate| {
            format!("{} MB/s", report::number::digits(rate.bytes / 1e6))
        })
    }

    fn show(&self) {
        let mut lines = format!("{} {} {}", self.step, self.phase, self.rate());
        for note in &self.notes {
            lines += "\n        ";
            lines += note;
        }
        self.bar.set_message(&lines);
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

    /// Shows `text` behind the bar, without what a terminal would obey.
    pub fn set_message(&self, text: &str) {
        self.0.set_message(harmless_lines(text).into_owned());
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
    styled(None, &format!("{what} {{elapsed:>4}}  {{msg}}"), wanted)
}

fn styled(length: Option<u64>, template: &str, wanted: bool) -> Bar {
    let target = if wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(length, target);
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸ "));
    Bar(bar)
}

const TEMPLATE: &str = "{pos:>3}/{len} {bar:16.cyan} {elapsed:>4} {msg}";

impl RunSink for Progress {
    fn event(&mut self, event: &Event) {
        match self {
            Progress::Line(line) => line.event(event),
            Progress::Live(live) => live.event(event),
        }
    }
}

impl RunSink for Line {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Preparing { what, done_bytes, total_bytes } => {
                self.bar.set(done_bytes.0 >> 20, total_bytes.0 >> 20);
                self.bar.set_message(&format!("MiB {what}"));
            }
            Event::StepStarted { position, positions, step, run, .. } => {
                self.bar.set(u64::from(*position), u64::from(*positions));
                self.step = match self.repeats {
                    true => format!("{step}, run {}", run + 1),
                    false => step.clone(),
                };
                self.phase.clear();
                self.recent = Recent::default();
                self.show();
            }
            Event::PhaseStarted { phase, .. } => {
                // The only phase of a step has its name.
                self.phase = match self.step.ends_with(phase.as_str()) {
                    true => String::new(),
                    false => format!("({phase})"),
                };
                self.show();
            }
            Event::Interval { at, length, ios, bytes } => {
                self.recent.add(*at, *length, *ios, *bytes);
                self.show();
            }
            Event::StepFinished { position, .. } => self.bar.set_position(u64::from(*position) + 1),
            Event::Pausing { .. } => {}
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
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
}
