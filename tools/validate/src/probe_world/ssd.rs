//! A solid-state drive: dies behind a map of pages, memory for writes, cells that are written fast at first, waves.

/// The figures of a drive.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub(super) dies: u64,
    /// Bytes that lie on one die before the next has its turn.
    pub(super) stripe: u64,
    pub(super) link_ns: u64,
    pub(super) link_bytes_per_s: u64,
    pub(super) array_ns: Vec<u64>,
    /// Bytes that one page of the map covers, and the time to look up a further one.
    pub(super) map_bytes: u64,
    pub(super) map_ns: u64,
    /// Speed of all dies together, in bytes per second, while the fast cells last, and behind.
    pub(super) fast: u64,
    pub(super) slow: u64,
    /// Bytes of fast cells.
    pub(super) cache: u64,
    /// Memory for writes; 0 where each waits for its page.
    pub(super) memory: u64,
    pub(super) program_ns: u64,
    /// Bytes between two waits of a write, and the length of a wait.
    pub(super) wave: Option<(u64, u64)>,
}

/// A drive with what it is doing.
#[derive(Clone, Debug)]
pub(super) struct Ssd {
    pub(super) figures: Figures,
    written: bool,
    /// MiB that were written since.
    holds: Vec<bool>,
    die_free: Vec<u64>,
    /// Bytes in memory at an instant.
    dirty: (f64, u64),
    total: u64,
}

impl Ssd {
    pub(super) fn new(figures: Figures, capacity: u64, written: bool) -> Ssd {
        let dies = figures.dies as usize;
        let holds = vec![written; (capacity >> 20) as usize + 1];
        Ssd { figures, written, holds, die_free: vec![0; dies], dirty: (0.0, 0), total: 0 }
    }

    pub(super) fn read(&mut self, offset: u64, len: u64, now: u64) -> u64 {
        let f = &self.figures;
        let end = offset + len;
        let mut until = now;
        for part in offset / f.stripe..=(end - 1) / f.stripe {
            if !self.written && !self.holds[((part * f.stripe) >> 20) as usize] {
                continue;
            }
            let die = (part % f.dies) as usize;
            // Kinds of pages change with the stripe over all dies.
            let kind = (part / f.dies) as usize % f.array_ns.len();
            let done = self.die_free[die].max(now) + f.array_ns[kind];
            self.die_free[die] = done;
            until = until.max(done);
        }
        let maps = (end - 1) / f.map_bytes - offset / f.map_bytes;
        until - now + f.link_ns + maps * f.map_ns + len * 1_000_000_000 / f.link_bytes_per_s
    }

    /// Counts `bytes` as written before.
    pub(super) fn wear(&mut self, bytes: u64) {
        self.total += bytes;
    }

    fn rate(&self) -> f64 {
        let f = &self.figures;
        (if self.total < f.cache { f.fast } else { f.slow }) as f64
    }

    fn drained(&self, now: u64) -> f64 {
        let (bytes, at) = self.dirty;
        (bytes - now.saturating_sub(at) as f64 / 1e9 * self.rate()).max(0.0)
    }

    pub(super) fn write(&mut self, offset: u64, len: u64, now: u64) -> u64 {
        for part in offset >> 20..=(offset + len - 1) >> 20 {
            if let Some(held) = self.holds.get_mut(part as usize) {
                *held = true;
            }
        }
        let f = &self.figures;
        let mut time = f.link_ns + len * 1_000_000_000 / f.link_bytes_per_s;
        let before = self.total;
        self.total += len;
        if let Some((every, pause)) = f.wave
            && before / every != self.total / every
        {
            time += pause;
        }
        let full = self.drained(now + time) + len as f64;
        let over = (full - f.memory as f64).max(0.0);
        let wait = (over / self.rate() * 1e9) as u64;
        if f.memory == 0 {
            time += f.program_ns.max(wait);
            self.dirty = (0.0, now + time);
        } else {
            time += wait;
            self.dirty = (full.min(f.memory as f64), now + time);
        }
        time
    }

    pub(super) fn flush(&mut self, now: u64) -> u64 {
        let left = self.drained(now);
        self.dirty = (0.0, now);
        let wait = if left > 0.0 { self.figures.program_ns } else { 0 };
        self.figures.link_ns + wait + (left / self.rate() * 1e9) as u64
    }
}
