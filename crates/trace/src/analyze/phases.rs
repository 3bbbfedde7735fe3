//! The phases of I/Os: how long they were where, from arrival to completion.
//!
//! Definitions are those of btt (Alan D. Brunelle, *btt User Guide*, 2007): every bio has phases of its own, also one
//! that was merged into another's request.

use serde::{Deserialize, Serialize};

use crate::analyze::histogram::{Histogram, Spread};
use crate::{Io, Stamp};

/// A stretch of an I/O's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Phase {
    /// From the arrival before to this one; of no single I/O.
    Q2q,
    /// From the arrival to being handed on to the device below.
    Q2a,
    /// From the arrival to the allocation of a request.
    Q2g,
    /// From going to sleep for want of a request to its allocation; part of Q2G.
    S2g,
    /// From the allocation of the request to its insertion into the scheduler.
    G2i,
    /// From the arrival to being merged into a request.
    Q2m,
    /// From the insertion into the scheduler to the issue.
    I2d,
    /// From the merge to the issue of the request merged into.
    M2d,
    /// From the issue to the completion: what the drive and its driver took.
    D2c,
    /// From the arrival to the completion.
    Q2c,
}

impl Phase {
    /// All of them, in the order of an I/O's life.
    pub const ALL: [Phase; 10] = [
        Phase::Q2q,
        Phase::Q2a,
        Phase::Q2g,
        Phase::S2g,
        Phase::G2i,
        Phase::Q2m,
        Phase::I2d,
        Phase::M2d,
        Phase::D2c,
        Phase::Q2c,
    ];

    /// As btt writes it: `Q2Q`, `D2C`, …
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Q2q => "Q2Q",
            Phase::Q2a => "Q2A",
            Phase::Q2g => "Q2G",
            Phase::S2g => "S2G",
            Phase::G2i => "G2I",
            Phase::Q2m => "Q2M",
            Phase::I2d => "I2D",
            Phase::M2d => "M2D",
            Phase::D2c => "D2C",
            Phase::Q2c => "Q2C",
        }
    }
}

/// Collects the phases of I/Os.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collector {
    spans: [Histogram; 10],
    last_arrival: Option<u64>,
}

impl Collector {
    /// Takes an I/O; they come in the order of their arrival.
    #[inline]
    pub fn see(&mut self, io: &Io) {
        let arrival = io.arrival.0;
        if let Some(last) = self.last_arrival.replace(arrival) {
            self.add(Phase::Q2q, arrival.saturating_sub(last));
        }
        self.see_life(io);
    }

    /// Takes what an I/O is by itself, without the gap to the one before.
    #[inline]
    fn see_life(&mut self, io: &Io) {
        let queued = Stamp::at(io.arrival);
        if io.remapped.known() {
            self.span(Phase::Q2a, queued, io.remapped);
        }
        if io.allocated.known() {
            self.span(Phase::Q2g, queued, io.allocated);
            self.span(Phase::S2g, io.slept, io.allocated);
            self.span(Phase::G2i, io.allocated, io.inserted);
        }
        if io.merged.known() {
            self.span(Phase::Q2m, queued, io.merged);
        }
        if io.issued.known() {
            // A bio that was inserted has no phase between its merge and the issue, even if it was merged later.
            if io.inserted.known() {
                self.span(Phase::I2d, io.inserted, io.issued);
            } else {
                self.span(Phase::M2d, io.merged, io.issued);
            }
            self.span(Phase::D2c, io.issued, io.completed);
        }
        self.span(Phase::Q2c, queued, io.completed);
    }

    #[inline]
    fn span(&mut self, phase: Phase, from: Stamp, to: Stamp) {
        if let Some(span) = to.since(from) {
            self.add(phase, span.0);
        }
    }

    #[inline]
    fn add(&mut self, phase: Phase, ns: u64) {
        self.spans[phase as usize].record(ns);
    }

    /// Adds what another collected of other I/Os. The gaps between arrivals stay those of each: the gap from the last
    /// I/O of one to the first of the other belongs to neither.
    pub fn merge(&mut self, other: &Collector) {
        for (ours, theirs) in self.spans.iter_mut().zip(&other.spans) {
            ours.merge(theirs);
        }
    }

    /// The same with other gaps between arrivals: those of all devices together are of no single one.
    #[must_use]
    pub(super) fn with_gaps(mut self, gaps: Histogram) -> Collector {
        self.spans[Phase::Q2q as usize] = gaps;
        self
    }

    /// One phase.
    pub fn of(&self, phase: Phase) -> &Histogram {
        &self.spans[phase as usize]
    }

    /// Returns the figures.
    pub fn phases(&self) -> Phases {
        let of = |phase: Phase| self.of(phase).spread();
        Phases {
            q2q: of(Phase::Q2q),
            q2a: of(Phase::Q2a),
            q2g: of(Phase::Q2g),
            s2g: of(Phase::S2g),
            g2i: of(Phase::G2i),
            q2m: of(Phase::Q2m),
            i2d: of(Phase::I2d),
            m2d: of(Phase::M2d),
            d2c: of(Phase::D2c),
            q2c: of(Phase::Q2c),
        }
    }

    /// How Q2C is made up; `None` where nothing completed.
    pub fn overhead(&self) -> Option<Overhead> {
        let total = self.of(Phase::Q2c).sum();
        if total == 0 {
            return None;
        }
        let share = |phase: Phase| self.of(phase).sum() as f64 / total as f64;
        let [q2g, g2i, q2m] = [Phase::Q2g, Phase::G2i, Phase::Q2m].map(share);
        let [i2d, m2d, d2c] = [Phase::I2d, Phase::M2d, Phase::D2c].map(share);
        let unaccounted = 1.0 - (q2g + g2i + q2m + i2d + m2d + d2c);
        Some(Overhead { q2g, g2i, q2m, i2d, m2d, d2c, unaccounted })
    }
}

/// Phases; those that no I/O had are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// Between arrivals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q2q: Option<Spread>,
    /// Arrival to the device below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q2a: Option<Spread>,
    /// Arrival to request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q2g: Option<Spread>,
    /// Sleep to request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s2g: Option<Spread>,
    /// Request to scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub g2i: Option<Spread>,
    /// Arrival to merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q2m: Option<Spread>,
    /// Scheduler to issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub i2d: Option<Spread>,
    /// Merge to issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub m2d: Option<Spread>,
    /// Issue to completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d2c: Option<Spread>,
    /// Arrival to completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q2c: Option<Spread>,
}

impl Phases {
    /// One of them.
    pub fn of(&self, phase: Phase) -> Option<Spread> {
        match phase {
            Phase::Q2q => self.q2q,
            Phase::Q2a => self.q2a,
            Phase::Q2g => self.q2g,
            Phase::S2g => self.s2g,
            Phase::G2i => self.g2i,
            Phase::Q2m => self.q2m,
            Phase::I2d => self.i2d,
            Phase::M2d => self.m2d,
            Phase::D2c => self.d2c,
            Phase::Q2c => self.q2c,
        }
    }
}

/// Share of each phase in the sum of Q2C.
///
/// The sums are of all I/Os that had the phase, as in btt; phases of I/Os that never completed are among them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// Waiting for a request.
    pub q2g: f64,
    /// On the way to the scheduler.
    pub g2i: f64,
    /// Until merged.
    pub q2m: f64,
    /// In the scheduler.
    pub i2d: f64,
    /// Merged, in the scheduler or a plug.
    pub m2d: f64,
    /// In driver and drive.
    pub d2c: f64,
    /// The remainder: without a scheduler no event says when a request was inserted, and the time from its allocation
    /// to its issue (in a plug, mostly) is in no phase.
    pub unaccounted: f64,
}

#[cfg(test)]
mod tests {
    use block::{Bytes, Nanos};

    use super::*;
    use crate::Kind;

    fn io(arrival: u64) -> Io {
        Io::arriving(Nanos(arrival), Kind::Write, Bytes(4096), Bytes(4096))
    }

    fn at(ns: u64) -> Stamp {
        Stamp::at(Nanos(ns))
    }

    /// Through a scheduler: sleeps at 110, gets its request at 130, is inserted at 140, issued at 200.
    fn scheduled() -> Io {
        Io {
            slept: at(110),
            allocated: at(130),
            inserted: at(140),
            issued: at(200),
            completed: at(1200),
            ..io(100)
        }
    }

    /// Merged into it.
    fn merged() -> Io {
        Io { merged: at(155), issued: at(200), completed: at(1200), ..io(150) }
    }

    fn n_and_sum(phases: &Collector, phase: Phase) -> (u64, u128) {
        (phases.of(phase).n(), phases.of(phase).sum())
    }

    #[test]
    fn every_phase_is_between_its_letters() {
        let mut phases = Collector::default();
        phases.see(&scheduled());
        phases.see(&merged());
        phases.see(&Io { remapped: at(907), completed: at(1000), ..io(900) });
        let expected = [
            (Phase::Q2q, (2, 50 + 750)),
            (Phase::Q2a, (1, 7)),
            (Phase::Q2g, (1, 30)),
            (Phase::S2g, (1, 20)),
            (Phase::G2i, (1, 10)),
            (Phase::Q2m, (1, 5)),
            (Phase::I2d, (1, 60)),
            (Phase::M2d, (1, 45)),
            (Phase::D2c, (2, 2000)),
            (Phase::Q2c, (3, 1100 + 1050 + 100)),
        ];
        for (phase, sums) in expected {
            assert_eq!(n_and_sum(&phases, phase), sums, "{}", phase.name());
        }
        let said = phases.phases();
        let q2c = said.q2c.unwrap();
        assert_eq!((q2c.n, q2c.min_ns, q2c.max_ns), (3, 100, 1100));
        assert_eq!(q2c.mean_ns, 750.0);
    }

    // Breaks when a time that is not known, or two in the wrong order, count as a phase of no length.
    #[test]
    fn what_is_not_known_is_no_phase() {
        let mut phases = Collector::default();
        phases.see(&io(5));
        phases.see(&Io { issued: at(50), completed: at(40), ..io(20) });
        let known: Vec<_> = Phase::ALL.iter().filter(|p| phases.of(**p).n() > 0).collect();
        assert_eq!(known, [&Phase::Q2q, &Phase::Q2c]);
        assert_eq!(n_and_sum(&phases, Phase::Q2c), (1, 20));
        assert_eq!(phases.phases().d2c, None);
    }

    #[test]
    fn shares_are_of_q2c_and_the_rest_is_told() {
        let mut phases = Collector::default();
        // No scheduler: from 130 to 200 it is in no phase.
        phases.see(&Io { inserted: Stamp::NONE, slept: Stamp::NONE, ..scheduled() });
        let overhead = phases.overhead().unwrap();
        assert_eq!((overhead.q2g, overhead.g2i, overhead.i2d), (30.0 / 1100.0, 0.0, 0.0));
        assert_eq!(overhead.d2c, 1000.0 / 1100.0);
        assert!((overhead.unaccounted - 70.0 / 1100.0).abs() < 1e-12);
        let mut arrivals = Collector::default();
        arrivals.see(&io(1));
        assert_eq!(arrivals.overhead(), None);
    }
}
