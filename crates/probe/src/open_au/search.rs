//! More and more erase blocks take turns, until each visit costs a merge.

use serde::{Deserialize, Serialize};

use super::field::{Excess, Field, Turn, Visit};
use super::table::{Order, Row};
use crate::desk::{Desk, Halt};

/// Visits that a cell holds at least.
const VISITS_MIN: usize = 12;
/// Visits of a cell whose answer is not clear.
const VISITS_MAX: usize = 48;
/// A change of the excess counts from this many of its standard errors on...
const ERRORS: f64 = 5.0;
/// ...and from this share of what the writes take alone.
const SHARE: f64 = 0.05;
/// An excess of less than this share of what the writes take alone is slight.
const SLIGHT: f64 = 0.25;
/// How often the count at the limit and the one beyond take turns before the limit is believed.
const TURNS: usize = 3;
/// Ratio of a visit's excess to its writes alone from which fewer turns are enough, which spares the drive.
const GROSS: f64 = 10.0;
/// The cells of one kind lie apart from those of the other by this share of their distance.
const APART: f64 = 0.6;
/// And by this many standard errors.
const CLEAR: f64 = 8.0;
/// Beyond the limit each visit costs a merge: this share of them does, whatever the drive does beside.
const MOST: f64 = 0.65;
/// Share of visits in the first round that must cost a merge beyond the limit if the erase block is not known. A place may
/// then run on into the next block: that is one more in turn, and a drive that closes the oldest then closes others for a
/// while. In the first round no place has gone so far.
const FIRST: f64 = 0.9;
/// A visit that takes longer by more than this many times its writes alone is a merge whatever the size: no card has
/// that many planes.
const PLAIN: f64 = 4.0;
/// Greatest ratio between the shares that planes one by one add to writes of two sizes; also the most that they add, in
/// times of the writes themselves.
const ALIKE: f64 = 2.0;
const PLANES: f64 = 3.0;
/// Five standard errors of visits, as a share of the time that the writes take alone, from which on a merge could hide
/// among them.
const BLIND: f64 = 0.75;

/// Measurement with one count of erase blocks and one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// How many erase blocks took turns.
    pub nr: u32,
    /// In which order each was written.
    pub order: Order,
    /// Size of a write, in bytes.
    pub len_bytes: u64,
    /// Cost of turns beyond the same writes alone. A visit is one write in order, or two that go back.
    pub excess: Excess,
}

impl Cell {
    /// The line of a table as flashbench prints it.
    pub(super) fn row(&self) -> Row {
        let writes = if self.order == Order::Linear { 1.0 } else { 2.0 };
        Row {
            len_bytes: self.len_bytes,
            ns_per_io: self.excess.each_ns,
            error_ns: Some(self.excess.error_ns / writes),
        }
    }
}

/// Result for one count of erase blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// As fast as one less.
    Fast,
    /// Each visit costs the same time more, whatever the size.
    Cliff,
    /// Neither is clear.
    Unclear,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    /// `open` blocks may be open; the excess beyond is `clear` times its error.
    Limit { open: u32, clear: f64 },
    /// As many as may be open when they are written in order.
    AsInOrder { open: u32, clear: f64 },
    /// No limit up to this number.
    NoLimit { up_to: u32 },
    /// Reads in turn take longer too, at this number.
    ReadsToo { nr: u32 },
    /// At this number, which was taken as fast, a visit costs a good part of a merge.
    Partly { nr: u32 },
    /// It does not know: between these.
    Unclear { from: u32, to: u32 },
    /// Ended by a limit of time or bytes after this number was seen to be fast.
    Cut { fast: u32 },
}

/// A search.
pub(crate) struct Search<'a> {
    field: &'a mut Field,
    order: Order,
    sizes: (u64, u64),
    /// All that was measured.
    pub(crate) cells: Vec<Cell>,
    /// Cost of turns without merges: at the smaller size, and at the larger once that was measured.
    level: (Excess, Option<Excess>),
    /// Share of the visits in the first round of the last cell that took longer by more than half of its excess.
    first: f64,
    /// Why it ended before it knew.
    pub(crate) halt: Option<Halt>,
}

/// No excess at all, as if it were known without error.
const NOTHING: Excess =
    Excess { visits: 0, excess_ns: 0.0, error_ns: 0.0, share: 0.0, alone_ns: 0.0, each_ns: 0.0 };

impl<'a> Search<'a> {
    pub(crate) fn new(field: &'a mut Field, order: Order, small: u64) -> Search<'a> {
        let sizes = field.sizes(small);
        let level = (NOTHING, None);
        Search { field, order, sizes, cells: Vec::new(), level, first: 0.0, halt: None }
    }

    /// Goes from one erase block to `nr_max`.
    ///
    /// # Errors
    /// Any [`Halt`] except a limit.
    pub(crate) fn run(&mut self, desk: &mut Desk<'_>, nr_max: u32) -> Result<End, Halt> {
        let mut fast = 0;
        match self.climb(desk, nr_max.min(self.field.turns_max()), &mut fast) {
            Ok(end) => Ok(end),
            Err(halt) if halt.is_limit() => {
                self.halt = Some(halt);
                Ok(End::Cut { fast })
            }
            Err(halt) => Err(halt),
        }
    }

    /// `end`, where one more at random than may be open in order costs what it must; nothing shows on blocks that hold
    /// nothing.
    ///
    /// # Errors
    /// Any [`Halt`] except a limit.
    pub(crate) fn as_in_order(&mut self, desk: &mut Desk<'_>, end: End) -> Result<End, Halt> {
        let End::AsInOrder { open, .. } = end else { return Ok(end) };
        match self.step(desk, open + 1) {
            Ok(Step::Cliff) => Ok(end),
            Ok(_) => Ok(End::Unclear { from: open, to: open + 1 }),
            Err(halt) if halt.is_limit() => {
                self.halt = Some(halt);
                Ok(End::Cut { fast: open })
            }
            Err(halt) => Err(halt),
        }
    }

    /// Time that a visit beyond `end` took longer, in nanoseconds; `None` if `end` is not a limit.
    pub(crate) fn merge_ns(&self, end: End) -> Option<f64> {
        let (End::Limit { open, .. } | End::AsInOrder { open, .. }) = end else { return None };
        let beyond =
            self.cells.iter().filter(|cell| cell.nr == open + 1 && cell.order == self.order);
        let excesses: Vec<f64> = beyond.map(|cell| cell.excess.excess_ns).collect();
        stats::quantile(&excesses, 0.5)
    }

    /// Cost of a visit the last time that `nr` blocks took turns at the smaller size.
    pub(super) fn last(&self, nr: u32) -> Option<&Excess> {
        let alike =
            |cell: &&Cell| (cell.nr, cell.order, cell.len_bytes) == (nr, self.order, self.sizes.0);
        self.cells.iter().rev().find(alike).map(|cell| &cell.excess)
    }

    /// Time that a visit takes longer with `nr` in turn than in order when it reads, in nanoseconds.
    ///
    /// # Errors
    /// A [`Halt`], limits too.
    pub(super) fn reads_in_turn(&mut self, desk: &mut Desk<'_>, nr: u32) -> Result<f64, Halt> {
        let len = self.sizes.0;
        let taken = self.field.take(desk, nr as usize, len)?;
        let turn = Turn { units: &taken, order: self.order, len, also: None };
        self.field.reads_in_turn(desk, &turn)
    }

    fn climb(&mut self, desk: &mut Desk<'_>, to: u32, fast: &mut u32) -> Result<End, Halt> {
        for nr in 1..=to {
            let mut step = self.step(desk, nr)?;
            if step == Step::Unclear {
                // Occasional background work of the drive is over, or elsewhere, the next time.
                step = self.step(desk, nr)?;
            }
            match step {
                Step::Fast => *fast = nr,
                Step::Unclear => return Ok(End::Unclear { from: nr - 1, to: nr }),
                // One written in order cannot be too many: whatever it was, it was no cliff.
                Step::Cliff if nr == 1 && self.order == Order::Linear => {
                    return Ok(End::Unclear { from: 0, to: 1 });
                }
                Step::Cliff => return self.confirm(desk, nr),
            }
        }
        Ok(End::NoLimit { up_to: *fast })
    }

    /// Measures with `nr` and says what that is.
    pub(crate) fn step(&mut self, desk: &mut Desk<'_>, nr: u32) -> Result<Step, Halt> {
        let (small, large) = self.sizes;
        let mut first = self.cell(desk, nr, small, VISITS_MIN)?;
        let Some(level) = self.level.1 else {
            if !first.differs(&self.level.0) {
                return Ok(first.as_fast());
            }
            if first.excess_ns > PLAIN * first.alone_ns {
                return Ok(Step::Cliff);
            }
            // An effect that rarely happens by chance rarely happens twice.
            first = self.cell(desk, nr, small, VISITS_MAX)?;
            if !first.differs(&self.level.0) {
                return Ok(first.as_fast());
            }
            return self.ask_larger(desk, nr, first);
        };
        // Turns cost something in proportion to the size. Beyond the limit merges take the place of that, and may by
        // chance cost as much at one size, but not at two.
        let second = self.cell(desk, nr, large, VISITS_MIN)?;
        if !first.differs(&self.level.0) && !second.differs(&level) {
            return Ok(if second.is_blind() { Step::Unclear } else { first.as_fast() });
        }
        first = self.cell(desk, nr, small, VISITS_MAX)?;
        self.ask_larger(desk, nr, first)
    }

    /// Sets writes of larger sizes beside the excess of the smaller.
    fn ask_larger(&mut self, desk: &mut Desk<'_>, nr: u32, small: Excess) -> Result<Step, Halt> {
        let (size, large) = self.sizes;
        let second = self.cell(desk, nr, large, VISITS_MAX)?;
        let mut step = split(small, second, large as f64 / size as f64);
        let vanishes = !second.differs(&NOTHING) && second.excess_ns < 0.3 * small.excess_ns;
        if step == Step::Unclear && vanishes && small.excess_ns < SLIGHT * small.alone_ns {
            // Slight, and only where writes are smaller than what is programmed at once: no merge does that.
            step = Step::Fast;
        } else if step == Step::Unclear && large > 2 * size {
            // A host splits large writes, and what a change of blocks costs may hide behind the transfer of the
            // rest: source 000's stick shows its cliff up to 64 KiB and not at 128.
            let between = self.cell(desk, nr, 2 * size, VISITS_MAX)?;
            step = match split(small, between, 2.0) {
                Step::Cliff if small.excess_ns > SLIGHT * small.alone_ns => Step::Cliff,
                _ => Step::Unclear,
            };
        }
        if step == Step::Fast {
            self.level = (small, Some(second));
        }
        Ok(step)
    }

    /// Has one less and as many take turns with each other: else it was the drive that changed, and not the count.
    /// A drive that collects garbage is slow for a while and then fast for a while.
    fn confirm(&mut self, desk: &mut Desk<'_>, cliff: u32) -> Result<End, Halt> {
        let (open, len) = (cliff - 1, self.telling_size());
        let (mut within, mut beyond) = (Vec::new(), Vec::new());
        let gross = self
            .cells
            .last()
            .is_some_and(|cell| cell.excess.excess_ns > GROSS * cell.excess.alone_ns);
        let mut runs_on = false;
        for _ in 0..if gross { TURNS - 1 } else { TURNS } {
            within.push(self.within(desk, open, len)?);
            beyond.push(self.cell(desk, cliff, len, VISITS_MIN)?);
            runs_on |= self.field.may_run_on() && self.first < FIRST;
        }
        let all = |cells: &[Excess]| cells.iter().map(|cell| cell.excess_ns).collect::<Vec<f64>>();
        let (fast, slow) = (Range::of(&all(&within)), Range::of(&all(&beyond)));
        // The cost of planes one by one vanishes as merges come: beyond may be less.
        let gap = (slow.low - fast.high).max(fast.low - slow.high);
        let rise = (slow.low + slow.high - fast.low - fast.high).abs() / 2.0;
        let error = within.iter().chain(&beyond).map(|cell| cell.error_ns).fold(1.0, f64::max);
        let most = beyond.iter().all(|cell| cell.share >= MOST);
        if gap < APART * rise || gap < CLEAR * error || !most || runs_on {
            return Ok(End::Unclear { from: 0, to: cliff });
        }
        Ok(End::Limit { open, clear: gap / error })
    }

    /// As many as are open; where not even one is, one that is written in order, for two writes as a visit has them.
    fn within(&mut self, desk: &mut Desk<'_>, open: u32, len: u64) -> Result<Excess, Halt> {
        if open > 0 {
            return self.cell(desk, open, len, VISITS_MIN);
        }
        let order = std::mem::replace(&mut self.order, Order::Linear);
        let within = self.cell(desk, 1, len, VISITS_MIN);
        self.order = order;
        let within = within?;
        Ok(Excess { excess_ns: 2.0 * within.excess_ns, error_ns: 2.0 * within.error_ns, ..within })
    }

    /// The size at which the last step changed most.
    fn telling_size(&self) -> u64 {
        let (small, large) = self.sizes;
        let change = |len: u64, level: &Excess| {
            let cell = self.cells.iter().rev().find(|cell| cell.len_bytes == len)?;
            Some(cell.excess.over(level).0.abs())
        };
        let at_large = self.level.1.and_then(|level| change(large, &level));
        if at_large > change(small, &self.level.0) { large } else { small }
    }

    /// Measures one cell, with more visits while their spread is too large to decide.
    pub(crate) fn cell(
        &mut self,
        desk: &mut Desk<'_>,
        nr: u32,
        len: u64,
        visits_min: usize,
    ) -> Result<Excess, Halt> {
        let mut visits: Vec<Visit> = Vec::new();
        let enough = |visits: &[Visit]| {
            let vague = |excess: Excess| ERRORS * excess.error_ns > 2.0 * SHARE * excess.alone_ns;
            let sure = visits.len() >= VISITS_MAX || !Excess::of(visits).is_some_and(vague);
            plain(visits) || visits.len() >= visits_min && sure
        };
        let mut result = Ok(());
        // A block has few places: more are needed for few blocks.
        for _ in 0..VISITS_MAX {
            let taken = self.field.take(desk, nr as usize, len)?;
            let turn = Turn { units: &taken, order: self.order, len, also: None };
            result = self.field.turns(desk, &turn, &mut visits, &enough);
            if result.is_err() || enough(&visits) {
                break;
            }
        }
        let excess = Excess::of(&visits);
        if let Some(excess) = excess {
            let round = &visits[..visits.len().min(nr as usize)];
            let longer = round.iter().filter(|visit| visit.excess > excess.excess_ns / 2.0);
            self.first = longer.count() as f64 / round.len() as f64;
            self.cells.push(Cell { nr, order: self.order, len_bytes: len, excess });
        }
        result?;
        // Every block has room for two visits: there are some.
        Ok(excess.unwrap_or(NOTHING))
    }
}

/// Splits the excess into a part that is the same for two sizes, one `ratio` times the other, and one in proportion
/// to the size.
///
/// The excess itself is split, not its growth: a card that programs its planes one by one on return does not do so
/// where it opens a block again, so beyond its limit that part disappears as the merges appear.
fn split(small: Excess, large: Excess, ratio: f64) -> Step {
    let grows = large.excess_ns / small.excess_ns;
    let constant = (ratio * small.excess_ns - large.excess_ns) / (ratio - 1.0);
    let error = (ratio * small.error_ns).hypot(large.error_ns) / (ratio - 1.0);
    let least = (ERRORS * error).max(SHARE * small.alone_ns);
    // How far it is from constant, 0, to in proportion, 1.
    let share = (grows - 1.0) / (ratio - 1.0);
    let most = small.share.min(large.share) >= MOST;
    if constant > least && most && (-0.2..0.4).contains(&share) {
        Step::Cliff
    } else if small.excess_ns > 0.0 && (0.6..2.0).contains(&share) && small.is_like(&large) {
        Step::Fast
    } else {
        Step::Unclear
    }
}

/// True when it makes no sense to torture the drive any further.
fn plain(visits: &[Visit]) -> bool {
    let merges = visits.iter().filter(|visit| visit.excess > PLAIN * visit.alone).count();
    visits.len() >= 4 && merges * 4 >= visits.len() * 3
}

impl Excess {
    /// Increase over `before`, and its standard error.
    pub(crate) fn over(&self, before: &Excess) -> (f64, f64) {
        (self.excess_ns - before.excess_ns, self.error_ns.hypot(before.error_ns))
    }

    /// True when visits differ so much that a merge could hide among them.
    fn is_blind(&self) -> bool {
        ERRORS * self.error_ns > BLIND * self.alone_ns
    }

    /// True when both are as planes one by one make them.
    fn is_like(&self, other: &Excess) -> bool {
        let [one, other] = [self, other].map(|excess| excess.excess_ns / excess.alone_ns);
        one.max(other) <= PLANES && (1.0 / ALIKE..=ALIKE).contains(&(one / other))
    }

    fn as_fast(&self) -> Step {
        if self.is_blind() { Step::Unclear } else { Step::Fast }
    }

    /// True when it is not what it was `before`.
    pub(crate) fn differs(&self, before: &Excess) -> bool {
        let (change, error) = self.over(before);
        change.abs() > (ERRORS * error).max(SHARE * self.alone_ns)
    }
}

/// From the least to the greatest.
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn of(values: &[f64]) -> Range {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        Range { low, high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max) }
    }
}
