//! Location of a sector: cylinder, head, and its place in the unbroken spiral of time.

/// A zone: cylinders with equally many sectors on each track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Zone {
    /// First sector.
    pub(super) first: u64,
    /// First cylinder.
    pub(super) cylinder: u64,
    /// Position of its first sector.
    position: u64,
    /// Physical sectors of a track.
    pub(super) per_track: u64,
}

/// Parameters of a [`Geometry`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Sectors that must fit, each of one physical block.
    pub(super) sectors: u64,
    /// Duration of a turn, in nanoseconds.
    pub(super) turn: u64,
    /// Recording surfaces.
    pub(super) heads: u64,
    /// Count of zones, all of equally many cylinders.
    pub(super) zones: u64,
    /// Physical sectors of a track in the outermost zone.
    pub(super) outer: u64,
    /// Physical sectors of a track in the innermost zone.
    pub(super) inner: u64,
    /// Time between the last sector of a track and the first of the next, under the next head.
    pub(super) head_skew: u64,
    /// Likewise, on the next cylinder.
    pub(super) cylinder_skew: u64,
}

impl Shape {
    /// Physical sectors of a track in a zone.
    fn per_track(&self, zone: u64) -> u64 {
        match self.zones {
            1 => self.outer,
            n => self.outer - (self.outer - self.inner) * zone / (n - 1),
        }
    }

    /// Cylinders of each zone: one cylinder of every zone holds so much, and as many are taken as
    /// the sectors need.
    fn depth(&self) -> u64 {
        let slice: u64 = (0..self.zones).map(|zone| self.per_track(zone) * self.heads).sum();
        self.sectors.div_ceil(slice).max(1)
    }

    /// Time from a track's first sector to the next head's.
    fn track_time(&self) -> u64 {
        self.turn + self.head_skew
    }

    /// Time from a cylinder's first sector to the next one's.
    fn cylinder_time(&self) -> u64 {
        self.heads * self.track_time() - self.head_skew + self.cylinder_skew
    }

    /// Time that reading all of it takes, in nanoseconds. A [`Geometry`] of it holds as long as this
    /// is within 63 bits.
    pub(super) fn reading_time(&self) -> u128 {
        u128::from(self.zones) * u128::from(self.depth()) * u128::from(self.cylinder_time())
    }
}

/// The layout of a disk: cylinder by cylinder from the outer edge, head by head within each.
///
/// A sector's *position* is the time, in nanoseconds, at which it would begin to pass under its head
/// if the disk were read from its first sector to its last without a pause. Tracks are skewed by
/// just the time that a switch takes, so this reading never loses a turn, and the position gives
/// both things that matter: its remainder by the turn is the sector's angle, and the difference
/// of two positions is the time that streaming from one to the other takes.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    shape: Shape,
    zones: Vec<Zone>,
    cylinders: u64,
    /// Time from one cylinder's first sector to the next one's.
    cylinder_time: u64,
    /// Time from one track's first sector to the next head's.
    track_time: u64,
}

/// A sector with everything that reaching it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// The sector.
    pub(super) sector: u64,
    /// Its cylinder.
    pub(super) cylinder: u64,
    /// Its head.
    pub(super) head: u64,
    /// Its position.
    pub(super) position: u64,
}

impl Geometry {
    /// Lays out a disk. Every count in `shape` is at least 1, and its reading time within 63 bits.
    pub(super) fn new(shape: Shape) -> Geometry {
        let depth = shape.depth();
        let (track_time, cylinder_time) = (shape.track_time(), shape.cylinder_time());
        let mut zones = Vec::new();
        let mut first = 0;
        for index in 0..shape.zones {
            let cylinder = index * depth;
            let per_track = shape.per_track(index);
            zones.push(Zone { first, cylinder, position: cylinder * cylinder_time, per_track });
            first += per_track * shape.heads * depth;
        }
        Geometry { shape, zones, cylinders: shape.zones * depth, cylinder_time, track_time }
    }

    /// Count of cylinders.
    pub(super) fn cylinders(&self) -> u64 {
        self.cylinders
    }

    /// Count of sectors that can be addressed.
    pub(super) fn sectors(&self) -> u64 {
        self.shape.sectors
    }

    /// The zones, outermost first.
    pub(super) fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Streaming rate of a zone, in sectors per 10^9 turns of nothing: sectors and nanoseconds of
    /// one whole cylinder.
    pub(super) fn cylinder_rate(&self, zone: &Zone) -> (u64, u64) {
        (zone.per_track * self.shape.heads, self.cylinder_time)
    }

    fn zone_of(&self, sector: u64) -> &Zone {
        let after = self.zones.partition_point(|zone| zone.first <= sector);
        &self.zones[after.saturating_sub(1)]
    }

    /// Sectors on the track of `sector`.
    pub(super) fn per_track(&self, sector: u64) -> u64 {
        self.zone_of(sector).per_track
    }

    /// Finds a sector.
    pub(super) fn spot(&self, sector: u64) -> Spot {
        let zone = self.zone_of(sector);
        let track = (sector - zone.first) / zone.per_track;
        let on_track = (sector - zone.first) % zone.per_track;
        let (cylinder, head) = (track / self.shape.heads, track % self.shape.heads);
        let position = zone.position
            + cylinder * self.cylinder_time
            + head * self.track_time
            + on_track * self.shape.turn / zone.per_track;
        Spot { sector, cylinder: zone.cylinder + cylinder, head, position }
    }

    /// Position at which the last sector before `end` has passed; `end` is above zero.
    pub(super) fn position_after(&self, end: u64) -> u64 {
        let last = end - 1;
        let zone = self.zone_of(last);
        let on_track = (last - zone.first) % zone.per_track;
        let turn = self.shape.turn;
        let width = (on_track + 1) * turn / zone.per_track - on_track * turn / zone.per_track;
        self.spot(last).position + width
    }

    /// One beyond the last sector that has passed entirely at `position`, that is, the greatest
    /// `end` with `position_after(end) <= position`.
    pub(super) fn passed_at(&self, position: u64) -> u64 {
        let after = self.zones.partition_point(|zone| zone.position <= position);
        let zone = &self.zones[after.saturating_sub(1)];
        let in_zone = position - zone.position;
        let cylinder = in_zone / self.cylinder_time;
        let in_cylinder = in_zone % self.cylinder_time;
        let head = (in_cylinder / self.track_time).min(self.shape.heads - 1);
        let in_track = (in_cylinder - head * self.track_time).min(self.shape.turn);
        // Sector k has passed at floor((k + 1) * turn / n), so the quotient may be one short.
        let mut passed = in_track * zone.per_track / self.shape.turn;
        while (passed + 1) * self.shape.turn / zone.per_track <= in_track && passed < zone.per_track
        {
            passed += 1;
        }
        zone.first + (cylinder * self.shape.heads + head) * zone.per_track + passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Geometry {
        Geometry::new(Shape {
            sectors: 5_000,
            turn: 8_333_333,
            heads: 3,
            zones: 4,
            outer: 40,
            inner: 19,
            head_skew: 900_000,
            cylinder_skew: 1_000_000,
        })
    }

    // Breaks when a zone's edge, a skew or a rounding is off by one: a stream would then lose a turn
    // or read a sector twice.
    #[test]
    fn positions_rise_and_are_found_again_for_every_sector() {
        let geometry = small();
        let mut before = 0;
        for sector in 0..5_000 {
            let spot = geometry.spot(sector);
            let after = geometry.position_after(sector + 1);
            assert!(spot.position >= before, "sector {sector} begins before its neighbour ended");
            assert!(after > spot.position);
            assert_eq!(geometry.passed_at(after), sector + 1);
            assert_eq!(geometry.passed_at(after - 1), sector);
            before = after;
        }
    }

    #[test]
    fn a_track_takes_a_turn_and_a_switch_takes_its_skew() {
        let geometry = small();
        let zone = geometry.zones()[1];
        let start = geometry.spot(zone.first).position;
        assert_eq!(geometry.position_after(zone.first + zone.per_track) - start, 8_333_333);
        let next_head = geometry.spot(zone.first + zone.per_track);
        assert_eq!((next_head.position - start, next_head.head), (8_333_333 + 900_000, 1));
        let next_cylinder = geometry.spot(zone.first + 3 * zone.per_track);
        let gap = next_cylinder.position - geometry.position_after(zone.first + 3 * zone.per_track);
        assert_eq!((gap, next_cylinder.cylinder - zone.cylinder), (1_000_000, 1));
    }

    #[test]
    fn zones_step_down_evenly_from_outer_to_inner() {
        let geometry = small();
        let per_track: Vec<u64> = geometry.zones().iter().map(|z| z.per_track).collect();
        assert_eq!(per_track, [40, 33, 26, 19]);
        assert!(geometry.cylinders() * 3 * 118 / 4 >= 5_000);
    }
}
