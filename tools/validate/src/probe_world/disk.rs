//! A disk that turns, behind a bridge that does not say so.

/// A disk with where its arm is.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    pub(super) capacity: u64,
    pub(super) turn_ns: u64,
    pub(super) seek_ns: (u64, u64),
    pub(super) bytes_per_s: u64,
    at: u64,
}

impl Disk {
    pub(super) fn new(capacity: u64, turn_ns: u64, seek_ns: (u64, u64), bytes_per_s: u64) -> Disk {
        Disk { capacity, turn_ns, seek_ns, bytes_per_s, at: 0 }
    }

    fn reach(&mut self, offset: u64, len: u64, now: u64) -> u64 {
        let way = self.at.abs_diff(offset) as f64 / self.capacity as f64;
        let follows = self.at == offset;
        self.at = offset + len;
        let transfer = len * 1_000_000_000 / self.bytes_per_s;
        if follows {
            return 50_000 + transfer;
        }
        let (short, long) = self.seek_ns;
        let seek = short + ((long - short) as f64 * way.sqrt()) as u64;
        let track = self.bytes_per_s * self.turn_ns / 1_000_000_000;
        let angle = offset % track * self.turn_ns / track;
        let arrived = (now + seek) % self.turn_ns;
        seek + (angle + self.turn_ns - arrived) % self.turn_ns + transfer
    }

    pub(super) fn read(&mut self, offset: u64, len: u64, now: u64) -> u64 {
        self.reach(offset, len, now)
    }

    pub(super) fn write(&mut self, offset: u64, len: u64, now: u64) -> u64 {
        self.reach(offset, len, now)
    }
}
