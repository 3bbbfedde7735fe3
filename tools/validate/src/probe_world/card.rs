//! A card or stick: units of any size that are mapped as a whole, of which only some are open.

/// A zone at the beginning that is mapped page by page.
#[derive(Clone, Debug)]
pub(super) struct Zone {
    pub(super) bytes: u64,
    /// Extra time of its reads; 0 where reads do not show it.
    pub(super) read_ns: u64,
}

/// A log that small writes go to.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub(super) write_max: u64,
    pub(super) bytes: u64,
    pub(super) program_ns: u64,
}

/// The order in which open units are closed to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    LeastRecent,
    Oldest,
}

/// The figures of a card.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub(super) capacity: u64,
    pub(super) unit: u64,
    pub(super) page: u64,
    pub(super) planes: u64,
    /// Groups that follow each other and are read at once.
    pub(super) parallel: u64,
    pub(super) command_ns: u64,
    /// Each unit after the first that a read touches.
    pub(super) map_ns: u64,
    /// Array read of each kind of pages, and how many groups in a row are of one kind.
    pub(super) array_ns: Vec<u64>,
    pub(super) program_ns: Vec<u64>,
    pub(super) run: u64,
    /// Extra time of the array read of each plane.
    pub(super) skew_ns: Vec<u64>,
    pub(super) page_gap_ns: u64,
    pub(super) group_gap_ns: u64,
    pub(super) codeword: u64,
    pub(super) codeword_ns: u64,
    pub(super) link_bytes_per_s: u64,
    /// The group that was read last stays in memory.
    pub(super) keeps_last: bool,
    pub(super) zone: Option<Zone>,
    pub(super) log: Option<Log>,
    /// Units that may be open in order, and of these at random; `None` for a card that maps pages.
    pub(super) open: Option<(u64, u64)>,
    pub(super) closing: Closing,
    /// Closing a unit costs this, and this for each MiB that has to be copied.
    pub(super) merge_ns: u64,
    pub(super) copy_ns_per_mib: u64,
    pub(super) write_command_ns: u64,
}

/// A unit that is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    unit: u64,
    /// Range written in order since it was opened: beginning and end.
    from: u64,
    next: u64,
    random: bool,
    held: bool,
}

/// A card with what it holds.
#[derive(Clone, Debug)]
pub(super) struct Card {
    pub(super) figures: Figures,
    /// One bit for each group that was written; `None` when all were.
    written: Option<Vec<u64>>,
    open: Vec<Open>,
    logged: Vec<(u64, u64)>,
    last: Option<u64>,
}

impl Card {
    pub(super) fn new(figures: Figures, written: bool) -> Card {
        let words = figures.capacity / (figures.page * figures.planes) / 64 + 1;
        let written = (!written).then(|| vec![0; words as usize]);
        Card { figures, written, open: Vec::new(), logged: Vec::new(), last: None }
    }

    /// Bytes of a group: the pages of all planes.
    pub(super) fn group(&self) -> u64 {
        self.figures.page * self.figures.planes
    }

    fn holds(&self, group: u64) -> bool {
        self.written.as_ref().is_none_or(|bits| {
            bits.get(group as usize / 64).is_some_and(|word| word >> (group % 64) & 1 == 1)
        })
    }

    fn mark(&mut self, from: u64, to: u64) {
        if let Some(bits) = &mut self.written {
            for group in from..to {
                if let Some(word) = bits.get_mut(group as usize / 64) {
                    *word |= 1 << (group % 64);
                }
            }
        }
    }

    fn kind(&self, group: u64, kinds: usize) -> usize {
        let per_unit = (self.figures.unit / self.group()).max(1);
        // Each unit begins its kinds where its own number says, as word lines of unlike blocks do.
        let (unit, inside) = (group / per_unit, group % per_unit);
        ((inside / self.figures.run + unit * 7 / 3) % kinds as u64) as usize
    }

    fn in_zone(&self, offset: u64) -> bool {
        self.figures.zone.as_ref().is_some_and(|zone| offset < zone.bytes)
    }

    pub(super) fn flush_ns(&self) -> u64 {
        self.figures.command_ns / 4 + 20_000
    }

    pub(super) fn read(&mut self, offset: u64, len: u64) -> u64 {
        let f = &self.figures;
        let (group, end) = (self.group(), offset + len);
        let mut time = f.command_ns + len * 1_000_000_000 / f.link_bytes_per_s;
        let mut batch: Option<(u64, u64)> = None;
        for at in offset / group..=(end - 1) / group {
            if !self.holds(at) || f.keeps_last && self.last == Some(at) {
                continue;
            }
            let (from, to) = (offset.max(at * group), end.min((at + 1) * group));
            let planes = from % group / f.page..=(to - 1) % group / f.page;
            let skew = planes.clone().map(|plane| f.skew_ns[plane as usize]).max().unwrap_or(0);
            let array = f.array_ns[self.kind(at, f.array_ns.len())] + skew;
            let inside = (planes.end() - planes.start()) * f.page_gap_ns;
            let words = (to - 1) / f.codeword - from / f.codeword + 1;
            time += inside + words * f.codeword_ns;
            let line = at / f.parallel;
            match batch {
                Some((known, longest)) if known == line => {
                    time += array.saturating_sub(longest);
                    batch = Some((line, longest.max(array)));
                }
                before => {
                    time += array + before.map_or(0, |_| f.group_gap_ns);
                    batch = Some((line, array));
                }
            }
        }
        if batch.is_some() {
            if self.in_zone(offset) {
                time += f.zone.as_ref().map_or(0, |zone| zone.read_ns);
            } else {
                time += ((end - 1) / f.unit - offset / f.unit) * f.map_ns;
            }
        }
        self.last = Some((end - 1) / group);
        time
    }

    pub(super) fn write(&mut self, offset: u64, len: u64) -> u64 {
        let group = self.group();
        self.last = None;
        let mut time =
            self.figures.write_command_ns + len * 1_000_000_000 / self.figures.link_bytes_per_s;
        let end = offset + len;
        let first_new = !self.holds(offset / group);
        if self.in_zone(offset) {
            time += self.programs(offset, end);
        } else if self.figures.log.as_ref().is_some_and(|log| len <= log.write_max) {
            time += self.log_write(offset, end);
        } else {
            let unit = self.figures.unit;
            let mut from = offset;
            while from < end {
                let to = end.min((from / unit + 1) * unit);
                time += self.unit_write(from, to, first_new);
                from = to;
            }
        }
        self.mark(offset / group, (end - 1) / group + 1);
        time
    }

    /// Programs what is touched, and reads and programs again what a beginning inside a group leaves before it.
    fn programs(&self, from: u64, to: u64) -> u64 {
        let (f, group) = (&self.figures, self.group());
        let groups = from / group..=(to - 1) / group;
        let program = |at| f.program_ns[self.kind(at, f.program_ns.len())];
        let all: u64 = groups.map(program).sum();
        let torn = if from.is_multiple_of(group) { 0 } else { f.array_ns[0] };
        all + torn
    }

    fn log_write(&mut self, from: u64, to: u64) -> u64 {
        let Some(log) = self.figures.log.clone() else { return 0 };
        let (unit, page) = (from / self.figures.unit, self.figures.page);
        let pages = (to - 1) / page - from / page + 1;
        let mut merged = 0;
        let mut used: u64 = self.logged.iter().map(|(_, bytes)| bytes).sum();
        while used + pages * page > log.bytes && !self.logged.is_empty() {
            used -= self.logged.remove(0).1;
            merged += self.merge(self.figures.unit);
        }
        match self.logged.iter_mut().find(|(known, _)| *known == unit) {
            Some((_, held)) => *held += pages * page,
            None => self.logged.push((unit, pages * page)),
        }
        merged + pages * log.program_ns
    }

    fn merge(&self, copied: u64) -> u64 {
        self.figures.merge_ns + self.figures.copy_ns_per_mib * copied / (1 << 20)
    }

    fn unit_write(&mut self, from: u64, to: u64, fresh: bool) -> u64 {
        let Some((most, random_most)) = self.figures.open else { return self.programs(from, to) };
        let size = self.figures.unit;
        let (unit, inside) = (from / size, from % size);
        let mut time = self.programs(from, to);
        let place = self.open.iter().position(|open| open.unit == unit);
        let mut open = match place {
            Some(at) => self.open.remove(at),
            None => {
                if self.open.len() as u64 >= most {
                    let closed = self.open.remove(0);
                    time += self.close(closed);
                }
                let held = !fresh || self.holds((unit + 1) * size / self.group() - 1);
                Open { unit, from: inside, next: inside, random: false, held }
            }
        };
        if inside < open.next {
            let others = self.open.iter().filter(|open| open.random).count() as u64;
            if open.random || others < random_most {
                open.random = true;
            } else if random_most > 0 {
                // The one that was written at random longest makes room.
                if let Some(at) = self.open.iter().position(|open| open.random) {
                    let oldest = self.open.remove(at);
                    time += self.close(oldest);
                }
                open.random = true;
            } else {
                time += self.close(open);
                open = Open { unit, from: inside, next: inside, random: false, held: true };
            }
        }
        open.next = open.next.max(inside + (to - from));
        if open.from == 0 && open.next >= size && !open.random {
            return time;
        }
        match (place, self.figures.closing) {
            (Some(at), Closing::Oldest) => self.open.insert(at.min(self.open.len()), open),
            _ => self.open.push(open),
        }
        time
    }

    /// A unit that held nothing is closed for nothing; of another, what was not written is copied.
    fn close(&self, open: Open) -> u64 {
        if !open.held {
            return 0;
        }
        let rest = self.figures.unit.saturating_sub(open.next - open.from);
        self.merge(if open.random { self.figures.unit } else { rest })
    }
}
