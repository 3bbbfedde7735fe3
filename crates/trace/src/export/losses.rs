//! Information in a trace, so that what a format does not hold can be reported.

use crate::{Flags, Io, Kind, Stamp, TraceInfo};

/// Information seen in the I/Os of a trace.
#[derive(Debug, Default)]
pub(super) struct Seen {
    kinds: [u64; Kind::ALL.len()],
    flags: Flags,
    phases: bool,
    errors: u64,
    tasks: bool,
    cpus: bool,
    requests: bool,
    completed: u64,
    finest: Finest,
}

/// The finest parts of a nanosecond's decimals that times have.
#[derive(Debug, Default)]
struct Finest {
    below_100ns: bool,
    below_1us: bool,
    below_1ms: bool,
}

impl Seen {
    pub(super) fn see(&mut self, io: &Io) {
        self.kinds[io.kind as usize] += 1;
        self.flags = self.flags.with(io.flags);
        let phases = [io.remapped, io.allocated, io.slept, io.inserted, io.merged, io.issued];
        self.phases |= phases.into_iter().any(Stamp::known);
        self.errors += u64::from(io.error != 0);
        self.tasks |= io.pid != 0;
        self.cpus |= io.cpu != 0;
        self.requests |= io.request_bytes.0 != 0;
        self.completed += u64::from(io.completed.known());
        let at = io.arrival.0;
        self.finest.below_100ns |= !at.is_multiple_of(100);
        self.finest.below_1us |= !at.is_multiple_of(1_000);
        self.finest.below_1ms |= !at.is_multiple_of(1_000_000);
    }

    /// All I/Os.
    pub(super) fn ios(&self) -> u64 {
        self.kinds.iter().sum()
    }

    /// I/Os whose completion is known.
    pub(super) fn completed(&self) -> u64 {
        self.completed
    }

    /// I/Os of kinds that `kept` does not have, and a sentence that counts them when there are any.
    pub(super) fn left_out(&self, kept: impl Fn(Kind) -> bool) -> (u64, Option<String>) {
        let others = Kind::ALL.into_iter().filter(|kind| !kept(*kind));
        let counts = others.map(|kind| (kind, self.kinds[kind as usize]));
        let counts: Vec<_> = counts.filter(|(_, count)| *count > 0).collect();
        let sum = counts.iter().map(|(_, count)| count).sum();
        let listed: Vec<_> =
            counts.iter().map(|(kind, count)| format!("{count} {}", kind.word())).collect();
        let sentence = format!(
            "The format has no word for some I/Os, which are left out: {}.",
            listed.join(", ")
        );
        (sum, (sum > 0).then_some(sentence))
    }

    /// Discards among the I/Os.
    pub(super) fn discards(&self) -> u64 {
        self.kinds[Kind::Discard as usize]
    }

    /// That arrivals are kept in steps of `step_ns`, where they were finer.
    pub(super) fn coarser(&self, step_ns: u64) -> Option<String> {
        let (finer, step) = match step_ns {
            100 => (self.finest.below_100ns, "100 ns"),
            1_000 => (self.finest.below_1us, "microseconds"),
            _ => (self.finest.below_1ms, "milliseconds"),
        };
        finer.then(|| format!("Times are cut to {step}."))
    }

    /// Returns the losses common to fio's log and MSR's files, a sentence each.
    pub(super) fn common(&self, info: &TraceInfo) -> Vec<String> {
        let mut lost = Vec::new();
        if self.phases {
            lost.push(
                "When I/Os were allocated, inserted, merged and issued is not kept, only when they arrived."
                    .to_owned(),
            );
        }
        let set = Flags::ALL.into_iter().filter(|(flag, _)| self.flags.has(*flag));
        let words: Vec<_> = set.map(|(_, word)| word).collect();
        if !words.is_empty() {
            lost.push(format!("What was special about I/Os is not kept: {}.", words.join(", ")));
        }
        let details = [
            (self.tasks || !info.processes.is_empty(), "tasks"),
            (self.cpus, "CPUs"),
            (self.requests, "lengths of requests"),
            (self.errors > 0, "errors"),
            (!info.marks.is_empty(), "marks"),
        ];
        let details: Vec<_> =
            details.into_iter().filter_map(|(there, word)| there.then_some(word)).collect();
        if !details.is_empty() {
            lost.push(format!("Not kept: {}.", details.join(", ")));
        }
        lost
    }
}
