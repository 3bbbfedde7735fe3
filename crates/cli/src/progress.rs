//! Progress on stderr, from the run's events. Drawn on the thread that receives them, which is none of
//! those that measure.

use std::collections::VecDeque;

use block::{Bytes, Event, Nanos, RunSink};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Draws one line.
pub struct Progress {
    bar: ProgressBar,
    step: String,
    phase: String,
    recent: VecDeque<(Nanos, Bytes)>,
    /// Steps are repeated, and it is told which time it is.
    repeats: bool,
    /// Lines below it.
    notes: Vec<String>,
}

impl Progress {
    /// Draws when stderr is a terminal and `wanted`; otherwise stays silent.
    pub fn new(wanted: bool) -> Progress {
        let bar = bar(wanted);
        let (step, phase) = (String::new(), String::new());
        let (recent, notes) = (VecDeque::new(), Vec::new());
        Progress { bar, step, phase, recent, repeats: true, notes }
    }

    /// For steps of which none is made twice.
    pub fn once(mut self) -> Progress {
        self.repeats = false;
        self
    }

    /// Shows `notes` below from now on, each in a line of its own.
    pub fn note(&mut self, notes: impl IntoIterator<Item = String>) {
        self.notes = notes.into_iter().collect();
        self.show();
    }

    fn rate(&self) -> String {
        let (span, bytes) = self
            .recent
            .iter()
            .fold((0u64, 0u64), |(span, bytes), (n, b)| (span + n.0, bytes + b.0));
        if span == 0 {
            return String::new();
        }
        format!("{} MB/s", report::number::digits(bytes as f64 * 1e3 / span as f64))
    }

    fn show(&self) {
        let mut lines = format!("{} {} {}", self.step, self.phase, self.rate());
        for note in &self.notes {
            lines += "\n        ";
            lines += note;
        }
        self.bar.set_message(lines);
    }
}

/// A line with a bar, as everything here is shown; drawn when stderr is a terminal and `wanted`.
pub fn bar(wanted: bool) -> ProgressBar {
    let target = if wanted { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    // The template is a constant of this file, and a test reads it.
    let style =
        ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸ "));
    bar
}

const TEMPLATE: &str = "{pos:>3}/{len} {bar:16.cyan} {elapsed:>4} {msg}";

/// Intervals that the rate shown is taken over.
const RECENT: usize = 5;

impl RunSink for Progress {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Preparing { what, done_bytes, total_bytes } => {
                self.bar.set_length(total_bytes.0 >> 20);
                self.bar.set_position(done_bytes.0 >> 20);
                self.bar.set_message(format!("MiB {what}"));
            }
            Event::StepStarted { position, positions, step, run, .. } => {
                self.bar.set_length(u64::from(*positions));
                self.bar.set_position(u64::from(*position));
                self.step = match self.repeats {
                    true => format!("{step}, run {}", run + 1),
                    false => step.clone(),
                };
                self.phase.clear();
                self.recent.clear();
                self.show();
            }
            Event::PhaseStarted { phase, .. } => {
                // The only phase of a step has its name.
                self.phase = match self.step.ends_with(phase.as_str()) {
                    true => String::new(),
                    false => format!("({phase})"),
                };
                self.recent.clear();
                self.show();
            }
            Event::Interval { length, bytes, .. } => {
                self.recent.push_back((*length, *bytes));
                if self.recent.len() > RECENT {
                    self.recent.pop_front();
                }
                self.show();
            }
            Event::StepFinished { position, .. } => self.bar.set_position(u64::from(*position) + 1),
            Event::Pausing { .. } => {}
        }
    }
}

impl Drop for Progress {
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
