//! Figures by task: I/Os by the task that they arrived from.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use workload::rng::Mixed;

use crate::Io;
use crate::analyze::phases::{Collector, Phases};
use crate::analyze::tally::Counts;

/// Most tasks that are counted separately; those that come later are counted together.
pub const TASKS_MAX: usize = 256;

/// Collects I/Os by task.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks {
    places: HashMap<u32, u32, Mixed>,
    tasks: Vec<Task>,
    further: Task,
    last: Option<(u32, usize)>,
}

#[derive(Clone, Debug, Default)]
struct Task {
    pid: u32,
    counts: Counts,
    phases: Collector,
}

impl Tasks {
    /// Takes an I/O.
    #[inline]
    pub(super) fn see(&mut self, io: &Io) {
        let place = match self.last {
            Some((pid, place)) if pid == io.pid => place,
            _ => self.place(io.pid),
        };
        self.last = Some((io.pid, place));
        let task = self.tasks.get_mut(place).unwrap_or(&mut self.further);
        task.counts.see(io);
        if io.length.0 > 0 {
            task.phases.see(io);
        }
    }

    fn place(&mut self, pid: u32) -> usize {
        if let Some(place) = self.places.get(&pid) {
            return *place as usize;
        }
        if self.tasks.len() >= TASKS_MAX {
            return usize::MAX;
        }
        self.places.insert(pid, self.tasks.len() as u32);
        self.tasks.push(Task { pid, ..Task::default() });
        self.tasks.len() - 1
    }

    /// Returns the tasks' figures, the busiest first; none where no task is known.
    pub(super) fn finish(&self, names: &BTreeMap<u32, String>, completions: bool) -> Vec<Process> {
        if self.tasks.iter().all(|task| task.pid == 0) && names.is_empty() {
            return Vec::new();
        }
        let tell = |task: &Task, pid: Option<u32>| Process {
            pid,
            name: pid.and_then(|pid| names.get(&pid)).cloned(),
            counts: task.counts.clone().close(completions),
            phases: task.phases.phases(),
        };
        let mut processes: Vec<Process> =
            self.tasks.iter().map(|task| tell(task, Some(task.pid))).collect();
        processes.sort_by(|a, b| b.counts.requests.cmp(&a.counts.requests).then(a.pid.cmp(&b.pid)));
        if self.further.counts.requests > 0 {
            processes.push(tell(&self.further, None));
        }
        processes
    }
}

/// I/Os of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Its number; none for all tasks beyond the first [`TASKS_MAX`] together.
    pub pid: Option<u32>,
    /// Its name, where the trace records it.
    pub name: Option<String>,
    /// Its I/Os.
    #[serde(flatten)]
    pub counts: Counts,
    /// Their phases; Q2Q is between two arrivals from the same task.
    pub phases: Phases,
}

#[cfg(test)]
mod tests {
    use block::{Bytes, Nanos};

    use super::*;
    use crate::{Kind, Stamp};

    fn io(pid: u32, arrival: u64) -> Io {
        let io = Io::arriving(Nanos(arrival), Kind::Read, Bytes(0), Bytes(512));
        Io { pid, completed: Stamp::at(Nanos(arrival + 7)), ..io }
    }

    #[test]
    fn tasks_are_told_apart_and_named() {
        let mut tasks = Tasks::default();
        for (pid, arrival) in [(10, 0), (20, 5), (20, 15), (10, 100), (20, 200)] {
            tasks.see(&io(pid, arrival));
        }
        let names = BTreeMap::from([(20, "fio".to_owned())]);
        let said = tasks.finish(&names, true);
        let who: Vec<_> =
            said.iter().map(|p| (p.pid, p.name.as_deref(), p.counts.requests)).collect();
        assert_eq!(who, [(Some(20), Some("fio"), 3), (Some(10), None, 2)]);
        assert_eq!(said[1].phases.q2q.unwrap().min_ns, 100);
        assert_eq!(said[0].phases.q2c.unwrap().mean_ns, 7.0);
    }

    #[test]
    fn a_trace_without_tasks_has_none_and_one_with_too_many_is_bounded() {
        let mut tasks = Tasks::default();
        tasks.see(&io(0, 1));
        assert_eq!(tasks.finish(&BTreeMap::new(), true), []);
        (1..1000).for_each(|pid| tasks.see(&io(pid, 1)));
        let said = tasks.finish(&BTreeMap::new(), true);
        assert_eq!(said.len(), TASKS_MAX + 1);
        assert_eq!(
            said.last().map(|p| (p.pid, p.counts.requests)),
            Some((None, 1000 - TASKS_MAX as u64))
        );
    }
}
