//! State of a run for a live view: made from its events, without a clock and without a terminal.

use std::time::Duration;

use block::{Bytes, Event, Nanos};
use drives::TargetSpec;
use pts::kept::Left;
use report::Item;

use crate::rates::{RateSeries, Recent};

/// State of a run.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Verb and target.
    pub title: String,
    /// The run that it is a part of.
    pub within: Option<String>,
    /// True when more steps may come than are known.
    pub is_open: bool,
    /// True when no step is made twice.
    pub is_once: bool,
    /// True when the target's clock is its own.
    pub is_virtual: bool,
    /// Work before the first step: what, done, of how many.
    pub preparing: Option<(String, Bytes, Bytes)>,
    /// The step at hand.
    pub step: Option<StepAtHand>,
    /// The rate over the time that steps took.
    pub course: RateSeries,
    /// The rate now.
    pub recent: Recent,
    /// I/Os and bytes of all steps.
    pub moved: (u64, Bytes),
    /// Figure that is followed from round to round.
    pub tracked: Option<Tracked>,
    /// Facts from the verb, in lines.
    pub facts: Vec<Item>,
    /// Verdicts about the steady state so far.
    pub standing: Option<String>,
    /// The last message.
    pub last_message: Option<String>,
    /// True when the user has asked for its end.
    pub is_ending: bool,
    /// Time on the drive's clock of the steps that are over, and of the pauses between them.
    over: Nanos,
    /// Number of steps that are over.
    count: u32,
    /// Time left as the verb announced it, and when it did so on the drive's clock.
    announced: Option<(Left, Nanos)>,
    /// When the first step began, since the view began.
    began: Option<Duration>,
}

/// A step that is being made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepAtHand {
    /// Its name.
    pub name: String,
    /// Repetition, from 0.
    pub run: u32,
    /// Its position in the schedule, from 0.
    pub position: u32,
    /// Number of positions, as far as is known.
    pub positions: u32,
    /// Its phase, where it has another name.
    pub phase: String,
    /// Planned duration, where it is known.
    pub planned: Option<Nanos>,
    /// Time spent in it.
    pub at: Nanos,
    is_over: bool,
}

/// Values of one figure, a round each.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracked {
    /// Name of the figure, such as `IOPS of RND 4KiB 0/100`.
    pub name: String,
    /// Its values.
    pub values: Vec<f64>,
}

impl Model {
    /// Of a run that has not begun.
    pub fn of(verb: &str, target: &str) -> Model {
        let title = format!("drivescope {verb} {target}");
        Model { title, is_virtual: TargetSpec::of(target).is_virtual(), ..Model::default() }
    }

    /// Takes note of `event`, which came at `now` since the view began.
    pub fn event(&mut self, event: &Event, now: Duration) {
        match event {
            Event::Preparing { what, done_bytes, total_bytes } => {
                self.preparing = Some((what.clone(), *done_bytes, *total_bytes));
            }
            Event::StepStarted { position, positions, step, run, planned } => {
                self.end_step();
                self.preparing = None;
                self.began.get_or_insert(now);
                self.recent = Recent::default();
                let (position, positions, run) = (*position, *positions, *run);
                let (name, planned) = (step.clone(), *planned);
                let step =
                    StepAtHand { name, run, position, positions, planned, ..StepAtHand::default() };
                self.step = Some(step);
            }
            Event::PhaseStarted { phase, .. } => {
                if let Some(step) = &mut self.step {
                    // The only phase of a step has its name.
                    let is_other = !step.name.ends_with(phase.as_str());
                    step.phase = if is_other { phase.clone() } else { String::new() };
                }
            }
            Event::Interval { at, length, ios, bytes } => {
                self.recent.add(*at, *length, *ios, *bytes);
                self.course.add(self.over + *at, *length, *ios, *bytes);
                self.moved = (self.moved.0 + ios, self.moved.1 + *bytes);
                if let Some(step) = &mut self.step {
                    step.at = step.at.max(*at);
                }
            }
            Event::StepFinished { .. } => self.end_step(),
            Event::Pausing { span, .. } => {
                self.end_step();
                self.over += *span;
            }
        }
    }

    fn end_step(&mut self) {
        if let Some(step) = self.step.as_mut().filter(|step| !step.is_over) {
            step.is_over = true;
            self.over += step.at;
            self.count += 1;
        }
    }

    /// Sets the time left from now on.
    pub fn set_left(&mut self, left: Left) {
        self.announced = Some((left, self.spent()));
    }

    /// Time spent on the drive's clock.
    pub fn spent(&self) -> Nanos {
        let at_hand =
            self.step.as_ref().filter(|step| !step.is_over).map_or(Nanos::ZERO, |step| step.at);
        self.over + at_hand
    }

    /// Time left on the drive's clock; `None` when it is unknown.
    pub fn left(&self) -> Option<Left> {
        if let Some((left, since)) = self.announced {
            let gone = self.spent().0.saturating_sub(since.0);
            let rest = |span: Nanos| Nanos(span.0.saturating_sub(gone));
            return Some(Left { least: rest(left.least), most: left.most.map(rest) });
        }
        let step = self.step.as_ref().filter(|_| !self.is_open)?;
        let mean = (self.count > 0).then(|| Nanos(self.over.0 / u64::from(self.count)));
        let whole = step.planned.or(mean)?;
        let of_this = if step.is_over { 0 } else { whole.0.saturating_sub(step.at.0) };
        let later = u64::from(step.positions.saturating_sub(step.position + 1));
        let left = Nanos(of_this + later * mean.unwrap_or(whole).0);
        Some(Left { least: left, most: Some(left) })
    }

    /// Speed of the drive's clock relative to ours since the first step; `None` before anything was measured.
    pub fn pace(&self, now: Duration) -> Option<f64> {
        let passed = now.saturating_sub(self.began?).as_secs_f64();
        let spent = self.spent().as_secs_f64();
        (passed > 0.2 && spent > 0.0).then(|| spent / passed)
    }

    /// Share of the run that is over, from 0 to 1, where it is known.
    pub fn share(&self) -> Option<f64> {
        if let Some((_, done, total)) = &self.preparing {
            return (total.0 > 0).then(|| done.0 as f64 / total.0 as f64);
        }
        let left = self.left()?;
        let (spent, most) = (self.spent().0 as f64, left.most?.0 as f64);
        (spent + most > 0.0).then(|| spent / (spent + most))
    }
}

#[cfg(test)]
mod tests {
    use block::Time;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn started(position: u32, planned: Option<Nanos>) -> Event {
        let step = "RND4KQ1T1 read".to_owned();
        Event::StepStarted { position, positions: 10, step, run: 0, planned }
    }

    fn interval(at: u64) -> Event {
        let (at, length) = (Nanos(at * SECOND), Nanos(SECOND));
        Event::Interval { at, length, ios: 100, bytes: Bytes(400_000) }
    }

    /// A model that has seen `events`, one every tenth of a second.
    fn after(events: &[Event]) -> Model {
        let mut model = Model::default();
        for (index, event) in (0u32..).zip(events) {
            model.event(event, Duration::from_millis(100) * index);
        }
        model
    }

    // Breaks when the time left of a plan is wrong: it is what one decides by whether to wait.
    #[test]
    fn time_left_follows_plan_and_pace() {
        let planned = Some(Nanos(4 * SECOND));
        let model = after(&[started(0, planned), interval(1)]);
        assert_eq!(model.left().unwrap().most, Some(Nanos((3 + 9 * 4) * SECOND)));
        let pausing = Event::Pausing { span: Nanos(SECOND), since: Time::ZERO };
        let whole =
            [pausing, started(0, planned), interval(1), interval(2), interval(3), interval(4)];
        let mut all = whole.to_vec();
        all.push(started(1, planned));
        all.push(interval(2));
        let model = after(&all);
        // The pause counts: a step takes 5 s.
        assert_eq!(model.spent(), Nanos(7 * SECOND));
        assert_eq!(model.left().unwrap().most, Some(Nanos((2 + 8 * 5) * SECOND)));
        // 7 s of the drive in 0.6 s of ours, since the first step.
        let pace = model.pace(Duration::from_millis(700)).unwrap();
        assert!((pace - 7.0 / 0.6).abs() < 1e-9, "{pace}");
        let share = model.share().unwrap();
        assert!((share - 7.0 / 49.0).abs() < 1e-9, "{share}");
    }

    // Breaks when a run that may go on is said to end soon, or what the test itself says is not believed.
    #[test]
    fn an_open_run_ends_when_its_verb_says_so() {
        let mut model = after(&[started(0, Some(Nanos(4 * SECOND))), interval(1)]);
        model.is_open = true;
        assert_eq!(model.left(), None);
        let (least, most) = (Nanos(10 * SECOND), Some(Nanos(60 * SECOND)));
        model.set_left(Left { least, most });
        model.event(&interval(3), Duration::from_secs(1));
        let left = model.left().unwrap();
        assert_eq!((left.least, left.most), (Nanos(8 * SECOND), Some(Nanos(58 * SECOND))));
    }

    // Breaks when steps are drawn over each other, or a step that is over counts twice.
    #[test]
    fn steps_follow_each_other_on_the_curve() {
        let finished = Event::StepFinished {
            position: 0,
            ios: 200,
            bytes: Bytes(800_000),
            duration: Nanos(2 * SECOND),
        };
        let model = after(&[
            started(0, None),
            interval(1),
            interval(2),
            finished,
            started(1, None),
            interval(1),
        ]);
        assert_eq!(model.spent(), Nanos(3 * SECOND));
        let points: Vec<_> = model.course.rates().collect();
        assert_eq!(points.len(), 30);
        assert!(points.iter().all(|(_, rates)| (rates.bytes - 400_000.0).abs() < 1.0));
        assert_eq!(model.moved, (300, Bytes(1_200_000)));
        assert_eq!(model.left().unwrap().most, Some(Nanos((1 + 8 * 2) * SECOND)));
    }
}
