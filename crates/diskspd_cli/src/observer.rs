//! Observes the load of a target: progress, and how busy the processors are in the measured time.

use block::{Event, RunSink};
use formats::diskspd::Processor;
use linux::host::{ProcessorTimes, processor_times};
use live::Progress;
use runner::messages;
use workload::plan::Plan;

/// Observes the load of one target.
pub struct LoadObserver {
    progress: Progress,
    /// Phases are printed on stderr.
    verbose: bool,
    /// The load costs processors something.
    is_real: bool,
    before: Vec<ProcessorTimes>,
    after: Vec<ProcessorTimes>,
}

impl LoadObserver {
    /// Observes a run of `plan`; `drawn` when its progress is shown.
    pub fn new(plan: &Plan, verbose: bool, drawn: bool, is_real: bool) -> LoadObserver {
        let mut progress = Progress::new(drawn).once();
        if let Some(step) = plan.steps.first() {
            let (name, planned) = (step.name.clone(), step.planned());
            progress.event(&Event::StepStarted {
                position: 0,
                positions: 1,
                step: name,
                run: 0,
                planned,
            });
        }
        LoadObserver { progress, verbose, is_real, before: Vec::new(), after: Vec::new() }
    }

    /// How busy the processors were. A virtual drive has one, which is always idle.
    pub fn processors(mut self) -> Vec<Processor> {
        if !self.is_real {
            return vec![Processor { id: 0, idle: 1.0, ..Processor::default() }];
        }
        if self.after.is_empty() {
            self.after = processor_times();
        }
        let pairs = self.after.iter().filter_map(|after| {
            let before = self.before.iter().find(|before| before.id == after.id)?;
            Some(shares(before, after))
        });
        pairs.collect()
    }
}

fn shares(before: &ProcessorTimes, after: &ProcessorTimes) -> Processor {
    let spent = |of: fn(&ProcessorTimes) -> u64| of(after).saturating_sub(of(before)) as f64;
    let [user, kernel, waiting, idle] =
        [spent(|t| t.user), spent(|t| t.kernel), spent(|t| t.waiting), spent(|t| t.idle)];
    let all = (user + kernel + waiting + idle).max(1.0);
    Processor {
        id: after.id,
        user: user / all,
        kernel: kernel / all,
        waiting: waiting / all,
        idle: idle / all,
    }
}

impl RunSink for LoadObserver {
    fn event(&mut self, event: &Event) {
        self.progress.event(event);
        let Event::PhaseStarted { phase, measured } = event else { return };
        if self.verbose {
            messages::note(&format!("phase {phase} begins"));
        }
        if !self.is_real {
            return;
        }
        if *measured {
            self.before = processor_times();
        } else if !self.before.is_empty() && self.after.is_empty() {
            self.after = processor_times();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_between() {
        let at =
            |user, kernel, waiting, idle| ProcessorTimes { id: 3, user, kernel, waiting, idle };
        let shares = shares(&at(10, 10, 10, 10), &at(20, 15, 15, 90));
        assert_eq!((shares.id, shares.user, shares.kernel), (3, 0.1, 0.05));
        assert_eq!((shares.waiting, shares.idle), (0.05, 0.8));
    }
}
