//! The turning disk and its arm: when a sector can be reached.

use block::{Nanos, Time};

use super::geometry::{Geometry, Spot};
use super::model::HddModel;
use super::seek::SeekCurve;
use crate::field::Fault;
use crate::noise::Noise;

/// Direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Write,
}

/// Continuation of an access that has just ended, without a seek: the sector after it, and when that
/// begins to pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trail {
    pub(super) mode: Mode,
    pub(super) spot: Spot,
    pub(super) begins: Time,
}

/// The mechanics. Everything but the arm's place and the angle at time zero is fixed by the model.
#[derive(Clone, Debug)]
pub(super) struct Platters {
    pub(super) geometry: Geometry,
    seek: SeekCurve,
    turn: u64,
    head_switch: u64,
    write_settle: u64,
    settle_jitter: u64,
    guard: u64,
    /// Angle at time zero, as a share of `turn`.
    phase: u64,
    cylinder: u64,
    head: u64,
    mode: Mode,
}

/// An access that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// When the first sector begins to pass.
    pub(super) begins: Time,
    /// The arm moved or the head changed.
    pub(super) sought: bool,
    /// The sector came by before the arm had settled, and was waited for once more.
    pub(super) lost_turn: bool,
}

impl Platters {
    pub(super) fn new(model: &HddModel) -> Result<Platters, Fault> {
        let geometry = model.layout();
        let seek = model.seek_curve(geometry.cylinders())?;
        Ok(Platters {
            geometry,
            seek,
            turn: model.turn_ns(),
            head_switch: model.geometry.head_switch_ns,
            write_settle: model.seek.write_settle_ns,
            settle_jitter: model.seek.settle_jitter_ns,
            guard: model.seek.guard_ns,
            phase: 0,
            cylinder: 0,
            head: 0,
            mode: Mode::Read,
        })
    }

    /// Draws the angle at time zero.
    pub(super) fn spin_up(&mut self, noise: &mut Noise) {
        self.phase = noise.below(self.turn);
    }

    /// Duration of a turn.
    pub(super) fn turn(&self) -> Nanos {
        Nanos(self.turn)
    }

    /// The arm is where `sector` is.
    pub(super) fn rest_at(&mut self, spot: Spot, mode: Mode) {
        (self.cylinder, self.head, self.mode) = (spot.cylinder, spot.head, mode);
    }

    /// Time to be settled over the track of `spot`, without noise.
    fn travel(&self, spot: &Spot, mode: Mode) -> u64 {
        let distance = spot.cylinder.abs_diff(self.cylinder);
        let moved = match (distance, spot.head == self.head) {
            (0, true) => 0,
            (0, false) => self.head_switch,
            _ => self.seek.time(distance).max(self.head_switch),
        };
        let settles = mode == Mode::Write && (moved > 0 || self.mode == Mode::Read);
        moved + if settles { self.write_settle } else { 0 }
    }

    /// From `at` until `spot` next begins to pass.
    fn wait(&self, spot: &Spot, at: u64) -> u64 {
        let angle = at.wrapping_add(self.phase) % self.turn;
        (spot.position % self.turn + self.turn - angle) % self.turn
    }

    /// When `spot` begins to pass if `trail` is followed to it: only forward, within a track's length,
    /// in the same mode, and not once a write's next sector has gone by.
    fn along(&self, trail: Option<&Trail>, spot: &Spot, mode: Mode, now: Time) -> Option<Time> {
        let trail = trail.filter(|t| t.mode == mode && t.spot.sector <= spot.sector)?;
        let near = spot.position - trail.spot.position <= self.turn;
        let live = mode == Mode::Read || trail.begins >= now;
        (near && live).then(|| trail.begins + Nanos(spot.position - trail.spot.position))
    }

    /// Returns the time that the scheduler expects from `now` until `spot` begins to pass.
    pub(super) fn expected(
        &self,
        trail: Option<&Trail>,
        spot: &Spot,
        mode: Mode,
        now: Time,
    ) -> Nanos {
        if let Some(begins) = self.along(trail, spot, mode, now) {
            // Continuing with the very next sector counts as no time at all, even across the gap
            // between two tracks: otherwise a request that lies a little cheaper elsewhere would
            // break up a sequential queue, and cost a seek back.
            let next = trail.is_some_and(|t| t.spot.sector == spot.sector);
            return if next { Nanos::ZERO } else { begins.since(now) };
        }
        let travel = self.travel(spot, mode);
        let wait = self.wait(spot, now.0 + travel);
        let late = travel > 0 && wait < self.guard;
        Nanos(travel + wait + if late { self.turn } else { 0 })
    }

    /// Sets out for `spot`.
    pub(super) fn reach(
        &mut self,
        trail: Option<&Trail>,
        spot: &Spot,
        mode: Mode,
        now: Time,
        noise: &mut Noise,
    ) -> Access {
        let along = self.along(trail, spot, mode, now);
        let travel = self.travel(spot, mode);
        self.rest_at(*spot, mode);
        if let Some(begins) = along {
            return Access { begins, sought: false, lost_turn: false };
        }
        let wait = self.wait(spot, now.0 + travel);
        if travel == 0 {
            return Access { begins: now + Nanos(wait), sought: false, lost_turn: false };
        }
        // Arriving earlier or later changes nothing until the sector has gone by.
        let late = noise.bell(self.settle_jitter);
        let lost_turn = late > 0 && late.unsigned_abs() > wait;
        let turns = if lost_turn { self.turn } else { 0 };
        Access { begins: now + Nanos(travel + wait + turns), sought: true, lost_turn }
    }
}
