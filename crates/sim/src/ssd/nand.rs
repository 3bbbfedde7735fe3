//! The dies at work: what each does next, and what crosses the channels.

use block::{Bytes, Time};

use super::Ssd;
use super::agenda::Event;
use super::crossings::Transfer;
use super::die::{Doing, Keeping, Page, Program, RowRead, Source, Work};
use super::ftl::Collected;

/// Kind of work of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chore {
    Collect,
    Fold,
}

impl Ssd {
    /// The type of a row's pages.
    pub(super) fn page_of(&self, die: u32, row: u32) -> Page {
        let shape = &self.shape;
        if let Keeping::Log(ftl) = &self.dies[die as usize].keeping
            && shape.log.slc.is_some()
            && ftl.is_slc(row * shape.row_units)
        {
            return Page::Single;
        }
        Page::Bit((row % shape.rows_per_block % shape.bits) as u8)
    }

    /// Gives a die that is at rest its next task, and the channel what the die needs for those after it.
    pub(super) fn kick(&mut self, at: u32, now: Time) {
        self.stage(at, now);
        let figures = &self.figures;
        let die = &mut self.dies[at as usize];
        if !matches!(die.doing, Doing::Nothing) {
            return;
        }
        let ready = die.is_ready();
        let chore = matches!(die.work.front(), Some(Work::Fetch { .. } | Work::Erase));
        let reads_first = !(ready || chore) || die.reads_in_a_row < figures.reads_before_program;
        if reads_first && let Some(read) = die.reads.pop_front() {
            die.reads_in_a_row += u32::from(ready || chore);
            self.begin_read(at, read, now);
            return;
        }
        die.reads_in_a_row = 0;
        let (doing, span) = if ready && let Some((program, _)) = die.staged.pop_front() {
            (Doing::Program(program), figures.program(program.page, &mut self.noise))
        } else if chore && let Some(work) = die.work.pop_front() {
            match work {
                Work::Fetch { page, units } => {
                    (Doing::Fetch { units }, figures.read(page, &mut self.noise))
                }
                _ => (Doing::Erase, figures.erase(&mut self.noise)),
            }
        } else {
            return;
        };
        die.doing = doing;
        self.heap.push(now + span, Event::Die(at));
        // A place in the registers may have come free.
        self.stage(at, now);
    }

    fn begin_read(&mut self, at: u32, read: RowRead, now: Time) {
        let die = &mut self.dies[at as usize];
        die.doing = Doing::Read(read);
        let span = if self.figures.page_register && die.register == Some(read.row) {
            block::Nanos::ZERO
        } else {
            self.figures.read(read.page, &mut self.noise)
        };
        self.heap.push(now + span, Event::Die(at));
    }

    /// Lets the data of the next programs cross the channel.
    fn stage(&mut self, at: u32, now: Time) {
        while let Some(program) = self.dies[at as usize].stage() {
            let stays = self.figures.copyback && matches!(program.from, Source::Moves);
            self.dies[at as usize].staged.push_back((program, stays));
            if !stays {
                let bytes = u64::from(self.shape.row_units) * self.shape.map_bytes;
                self.transfer(at, bytes, Transfer::In { die: at }, now);
            }
        }
    }

    fn channel_of(&self, die: u32) -> u32 {
        die % self.shape.channels
    }

    fn transfer(&mut self, die: u32, bytes: u64, transfer: Transfer, now: Time) {
        let channel = self.channel_of(die);
        let span = self.figures.on_channel(bytes);
        let ends = self.channels[channel as usize].push(now, span, transfer);
        self.heap.push(ends, Event::Channel(channel));
    }

    /// A channel has brought what was at the head of its line.
    pub(super) fn transferred(&mut self, channel: u32, now: Time) {
        match self.channels[channel as usize].pop() {
            Some(Transfer::Out { request, bytes }) => self.send(request, bytes.into(), now),
            Some(Transfer::In { die }) => {
                self.dies[die as usize].arrived();
                self.kick(die, now);
            }
            None => {}
        }
    }

    /// A die has done what it did.
    pub(super) fn die_ended(&mut self, at: u32, now: Time) {
        let die = &mut self.dies[at as usize];
        let doing = std::mem::replace(&mut die.doing, Doing::Nothing);
        die.register = match doing {
            Doing::Read(read) => Some(read.row),
            _ => None,
        };
        match doing {
            Doing::Nothing => {}
            Doing::Read(RowRead { request, bytes, .. }) => {
                self.media.medium_read_bytes += Bytes(bytes.into());
                self.transfer(at, bytes.into(), Transfer::Out { request, bytes }, now);
            }
            Doing::Program(program) => self.program_ended(at, &program, now),
            Doing::Fetch { units, .. } => {
                let bytes = u64::from(units) * self.shape.map_bytes;
                self.media.medium_read_bytes += Bytes(bytes);
                if !self.figures.copyback {
                    // Only the program waits for its end, and comes after it in the same line.
                    let span = self.figures.on_channel(bytes);
                    let channel = self.channel_of(at);
                    self.channels[channel as usize].occupy(now, span);
                }
            }
            Doing::Erase => self.media.erases += 1,
        }
        self.kick(at, now);
    }

    fn program_ended(&mut self, at: u32, program: &Program, now: Time) {
        self.dies[at as usize].rows.pop_front();
        let bytes = u64::from(self.shape.row_units) * self.shape.map_bytes;
        self.media.medium_write_bytes += Bytes(bytes);
        if let Source::Host { units, waiter, epoch } = program.from {
            self.programmed(units, waiter, epoch, now);
        }
    }

    /// Gains free slots on a die: by the next step of its collection.
    pub(super) fn make_room(&mut self, at: u32) -> Collected {
        self.chore(at, Chore::Collect)
    }

    /// Moves a row's worth of units out of the oldest block in single-bit mode. Where there is no room to move them
    /// to, that is made first.
    pub(super) fn fold(&mut self, at: u32) -> Collected {
        let Keeping::Log(ftl) = &self.dies[at as usize].keeping else { return Collected::Nothing };
        self.chore(at, if ftl.is_behind() { Chore::Collect } else { Chore::Fold })
    }

    /// One step: what is moved, is read and programmed by the die; what is empty is erased.
    fn chore(&mut self, at: u32, chore: Chore) -> Collected {
        let row_units = self.shape.row_units;
        let mut moves = std::mem::take(&mut self.moves);
        moves.clear();
        let die = &mut self.dies[at as usize];
        let Keeping::Log(ftl) = &mut die.keeping else { return Collected::Nothing };
        let each = |from, to| moves.push((from, to));
        let collected = match chore {
            Chore::Collect => ftl.collect(row_units, each),
            Chore::Fold => ftl.fold(row_units, each),
        };
        for run in moves.chunk_by(|a, b| a.0 / row_units == b.0 / row_units) {
            let row = run[0].0 / row_units;
            let die = &mut self.dies[at as usize];
            // A row that the step before read, with data not moved yet, is still in memory.
            if die.fetched.replace(row) != Some(row) && !die.in_memory(row) {
                let page = self.page_of(at, row);
                // All of it that is still valid comes out of the die, also what a later step moves.
                let later = match &self.dies[at as usize].keeping {
                    Keeping::Log(ftl) => ftl.valid_in(row * row_units, row_units),
                    Keeping::InPlace => 0,
                };
                let units = run.len() as u32 + later;
                self.dies[at as usize].work.push_back(Work::Fetch { page, units });
            }
        }
        for &(_, to) in &moves {
            let row = to / row_units;
            let die = &mut self.dies[at as usize];
            die.moving = Some(row);
            if (to + 1).is_multiple_of(row_units) {
                die.moving = None;
                die.rows.push_back(row);
                let page = Page::Bit((row % self.shape.rows_per_block % self.shape.bits) as u8);
                die.work.push_back(Work::Program(Program { page, from: Source::Moves }));
            }
        }
        let bytes = Bytes(moves.len() as u64 * self.shape.map_bytes);
        // The collection folds too, where blocks in single-bit mode are taken from those that are free.
        match moves.first().map(|&(from, _)| self.page_of(at, from / row_units)) {
            Some(Page::Single) => self.media.folded_bytes += bytes,
            _ => self.media.copied_bytes += bytes,
        }
        if let Collected::Erased(_) = collected {
            let die = &mut self.dies[at as usize];
            die.fetched = None;
            die.work.push_back(Work::Erase);
        }
        self.moves = moves;
        collected
    }
}
