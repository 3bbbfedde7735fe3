//! Session of a probe: issues scripts, keeps within time and budgets, and passes on every I/O.

use std::borrow::Cow;

use block::{Bytes, DriveInfo, Event, Nanos, Op, Payload, RunSink, Snapshot, Stack};
use engine::{Bench, BenchError, Failure, Sample};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use workload::content::SectorContent;
use workload::plan::{Content, Region};
use workload::rng::Rng;
use workload::script::{Access, Script};

use crate::capacity::Kept;

/// Permissions and limits of a probe run.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// The part of the drive that may be touched.
    pub region: Region,
    /// True when what the region holds may be overwritten.
    pub may_write: bool,
    /// How long it may take, on the drive's clock.
    pub time_budget: Nanos,
    /// How much it may write.
    pub write_budget: Bytes,
    /// Root of all randomness.
    pub seed: u64,
}

impl Terms {
    /// The whole drive, without budgets.
    pub fn unlimited(drive: &DriveInfo, may_write: bool) -> Terms {
        let length = drive.capacity_bytes.round_down(drive.logical_block_bytes);
        Terms {
            region: Region { offset: Bytes::ZERO, length },
            may_write,
            // Added to the drive's clock: eleven days, which nothing takes.
            time_budget: Nanos::secs(1_000_000),
            write_budget: Bytes(u64::MAX),
            seed: 0,
        }
    }
}

/// I/Os, bytes and time spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// I/Os made.
    pub ios: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Bytes written.
    pub written_bytes: Bytes,
    /// Time gone by, on the drive's clock.
    pub elapsed_ns: Nanos,
}

impl Spent {
    /// Adds what `more` was spent.
    pub(crate) fn add(&mut self, more: Spent) {
        self.ios += more.ios;
        self.read_bytes += more.read_bytes;
        self.written_bytes += more.written_bytes;
        self.elapsed_ns += more.elapsed_ns;
    }

    /// I/Os, bytes and time spent since `before`.
    pub fn since(self, before: Spent) -> Spent {
        Spent {
            ios: self.ios - before.ios,
            read_bytes: self.read_bytes - before.read_bytes,
            written_bytes: self.written_bytes - before.written_bytes,
            elapsed_ns: self.elapsed_ns - before.elapsed_ns,
        }
    }
}

/// Receives the progress of a probe and its single I/Os.
pub trait Keeper: RunSink {
    /// I/Os that a probe made for one purpose, in the order of issue; `part` says which, such as `1024B classes`.
    fn samples(&mut self, part: &str, samples: &[Sample]);

    /// A probe is about to overwrite what `kept` holds, with stamps of `salt`. Must not return before that is safe: the
    /// process may be killed from now on.
    ///
    /// # Errors
    /// Why it cannot be saved. Then nothing is overwritten.
    fn secure(&mut self, _salt: u64, _kept: &Kept) -> Result<(), String> {
        Ok(())
    }

    /// Called when the secured data was written back; `is_whole` is false if part of it could not be written.
    fn restored(&mut self, _is_whole: bool) {}
}

/// A keeper that keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeeper;

impl RunSink for NoKeeper {
    fn event(&mut self, _: &Event) {}
}

impl Keeper for NoKeeper {
    fn samples(&mut self, _: &str, _: &[Sample]) {}
}

/// Why a probe cannot go on.
#[derive(Debug, Error)]
pub enum Halt {
    /// The time that it may take is over.
    #[error("its time is over")]
    Time,
    /// The next write exceeds the write budget.
    #[error("it would write {} more, and {} are left of what it may write (--write-budget)", .needed.about(), .left.about())]
    WriteBudget {
        /// Bytes that it would write next.
        needed: Bytes,
        /// Bytes that it may still write.
        left: Bytes,
    },
    /// It would have to write, and may not.
    #[error("it would have to write, which needs consent")]
    NoConsent,
    /// The user wanted to stop.
    #[error("stopped")]
    Interrupted,
    /// It would leave the part of the drive that it may touch.
    #[error("{} at byte {offset} are outside the part of the drive that may be touched", .len.human())]
    Outside {
        /// Offset of the access.
        offset: u64,
        /// How long it is.
        len: Bytes,
    },
    /// The data that it would overwrite cannot be saved.
    #[error("the original data cannot be saved, so nothing was overwritten: {0}")]
    Originals(String),
    /// An I/O failed.
    #[error("{0}")]
    Failed(Failure),
    /// The drive as a whole failed.
    #[error(transparent)]
    Drive(#[from] block::DriveError),
}

impl Halt {
    /// True for a limit that was set: what was seen so far may still be judged, and the next probe may begin.
    pub fn is_limit(&self) -> bool {
        matches!(self, Halt::Time | Halt::WriteBudget { .. } | Halt::NoConsent)
    }
}

impl From<BenchError> for Halt {
    fn from(error: BenchError) -> Halt {
        match error {
            BenchError::Drive(error) => Halt::Drive(error),
            BenchError::Failed(failure) => Halt::Failed(failure),
            BenchError::Interrupted => Halt::Interrupted,
        }
    }
}

/// Called for each access of a stream that completes; returns how far it is.
pub(crate) type Each<'a> = &'a mut dyn FnMut(Nanos, usize, Option<&[u8]>, bool) -> Event;

/// The desk.
pub struct Desk<'a> {
    bench: &'a mut dyn Bench,
    keeper: &'a mut dyn Keeper,
    terms: Terms,
    spent: Spent,
    /// When the current probe must be done.
    until: Nanos,
    /// Scripts so far: content that is written twice to a place differs.
    scripts: u64,
    /// False while what is done is recorded already.
    recording: bool,
    /// Beginning of the target on its disk; not 0 for a partition.
    begins: Bytes,
    /// Added to all places that a probe names.
    shift: Bytes,
}

impl<'a> Desk<'a> {
    /// A desk at which `terms` hold. Time counts from now on.
    pub fn new(bench: &'a mut dyn Bench, terms: Terms, keeper: &'a mut dyn Keeper) -> Desk<'a> {
        let until = bench.now() + terms.time_budget;
        Desk {
            bench,
            keeper,
            terms,
            spent: Spent::default(),
            until,
            scripts: 0,
            recording: true,
            begins: Bytes::ZERO,
            shift: Bytes::ZERO,
        }
    }

    /// Description of the drive.
    pub fn info(&self) -> &DriveInfo {
        self.bench.info()
    }

    /// Layers that I/O to the drive passes through.
    pub fn stack(&self) -> Stack {
        self.bench.stack()
    }

    /// The part of the drive that may be touched.
    pub fn region(&self) -> Region {
        let Region { offset, length } = self.terms.region;
        Region { offset: offset + self.shift, length }
    }

    /// Notes where the target begins on its disk.
    pub(crate) fn begins_at(&mut self, begins: Bytes) {
        self.begins = begins;
    }

    /// Lets `work` count places from the beginning of the disk, as its erase blocks are counted, not of the partition.
    pub(crate) fn on_disk<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        self.shift = self.begins;
        let result = work(self);
        self.shift = Bytes::ZERO;
        result
    }

    /// The script with places of the target.
    fn on_target<'s>(&self, script: &'s Script) -> Result<Cow<'s, Script>, Halt> {
        if self.shift == Bytes::ZERO {
            return Ok(Cow::Borrowed(script));
        }
        let mut shifted = Script::new();
        for (pause, range) in script.groups() {
            let mut group = script.accesses()[range].to_vec();
            for access in group.iter_mut().filter(|access| access.op != Op::Flush) {
                let (at, len) = (access.offset, access.len);
                let inside = at.0.checked_sub(self.shift.0);
                access.offset = Bytes(inside.ok_or(Halt::Outside { offset: at.0, len })?);
            }
            shifted.group(pause, &group);
        }
        Ok(Cow::Owned(shifted))
    }

    /// True when the region may be overwritten.
    pub fn may_write(&self) -> bool {
        self.terms.may_write
    }

    /// Bytes that may still be written.
    pub fn writes_left(&self) -> Bytes {
        self.terms.write_budget.saturating_sub(self.spent.written_bytes)
    }

    /// Time left.
    pub fn time_left(&self) -> Nanos {
        Nanos(self.until.0.saturating_sub(self.bench.now().0))
    }

    /// The current instant, since the bench was set up.
    pub fn now(&self) -> Nanos {
        self.bench.now()
    }

    /// I/Os, bytes and time spent so far.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// Random numbers for a purpose of the caller's; the same each time for one seed and `path`.
    pub fn rng(&self, path: &[u64]) -> Rng {
        Rng::for_path(self.terms.seed, path)
    }

    /// Reads every counter around the drive.
    pub fn snapshot(&mut self) -> Snapshot {
        self.bench.snapshot()
    }

    /// Gives `work` at most `span` of the time that is left.
    pub fn within<R>(&mut self, span: Nanos, work: impl FnOnce(&mut Self) -> R) -> R {
        let until = self.until;
        self.until = until.min(self.bench.now() + span);
        let result = work(self);
        self.until = until;
        result
    }

    /// Lets `span` go by with nothing issued.
    ///
    /// # Errors
    /// [`Halt::Time`] when there is not so much time left; then nothing goes by.
    pub fn pause(&mut self, span: Nanos) -> Result<(), Halt> {
        if span > self.time_left() {
            return Err(Halt::Time);
        }
        self.bench.pause(span);
        self.spent.elapsed_ns += span;
        Ok(())
    }

    /// Reads each of `places` (offset and length) by itself, in order.
    ///
    /// # Errors
    /// As [`Desk::run`].
    pub fn read(&mut self, part: &str, places: &[(u64, u64)]) -> Result<Vec<Sample>, Halt> {
        let access = |&(offset, len)| one(Op::Read, offset, len);
        self.run(part, &Script::one_by_one(places.iter().map(access)))
    }

    /// As [`Desk::read`], and shows `each` what every read delivered, with its number.
    ///
    /// # Errors
    /// As [`Desk::run`].
    pub(crate) fn read_for_data(
        &mut self,
        part: &str,
        places: &[(u64, u64)],
        each: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<Vec<Sample>, Halt> {
        let access = |&(offset, len)| one(Op::Read, offset, len);
        let script = Script::one_by_one(places.iter().map(access));
        let content =
            || -> Box<dyn Payload> { Box::new(SectorContent::new(Content::default(), 0, 0)) };
        self.run_for_data(part, &script, &content, each)
    }

    /// Writes each of `places` (offset and length) by itself, in order.
    ///
    /// # Errors
    /// As [`Desk::run`].
    pub fn write(&mut self, part: &str, places: &[(u64, u64)]) -> Result<Vec<Sample>, Halt> {
        let access = |&(offset, len)| one(Op::Write, offset, len);
        self.run(part, &Script::one_by_one(places.iter().map(access)))
    }

    /// Issues `script`, with content that nothing compresses and nothing repeats. Samples come in the order of its
    /// accesses; see [`Bench::run`]. Time is looked at before it begins, so a script should be short beside what a
    /// probe may take.
    ///
    /// # Errors
    /// [`Halt`]: at a limit nothing was issued.
    pub fn run(&mut self, part: &str, script: &Script) -> Result<Vec<Sample>, Halt> {
        let seed = Rng::for_path(self.terms.seed, &[self.scripts]).next_u64();
        let content =
            || -> Box<dyn Payload> { Box::new(SectorContent::new(Content::default(), seed, 0)) };
        self.run_with(part, script, &content)
    }

    /// As [`Desk::run`], with content of the caller's.
    ///
    /// # Errors
    /// As [`Desk::run`].
    pub fn run_with(
        &mut self,
        part: &str,
        script: &Script,
        payload: &dyn Fn() -> Box<dyn Payload>,
    ) -> Result<Vec<Sample>, Halt> {
        let script = &*self.on_target(script)?;
        self.allow(script)?;
        let before = self.bench.now();
        let samples = self.bench.run(script, payload)?;
        Ok(self.note(part, samples, before))
    }

    /// As [`Desk::run_with`], and shows `each` what every read delivered, with the access's place in the script.
    /// Nothing is shown of a drive that has no data.
    ///
    /// # Errors
    /// As [`Desk::run`].
    pub fn run_for_data(
        &mut self,
        part: &str,
        script: &Script,
        payload: &dyn Fn() -> Box<dyn Payload>,
        each: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<Vec<Sample>, Halt> {
        let script = &*self.on_target(script)?;
        self.allow(script)?;
        let before = self.bench.now();
        let samples = self.bench.run_for_data(script, payload, each)?;
        Ok(self.note(part, samples, before))
    }

    /// Issues the accesses of `script` in order, `depth` under way at any time. `each` sees every one that completes as
    /// [`Bench::stream`] says, and returns the progress to show. No single one is recorded.
    ///
    /// # Errors
    /// As [`Desk::run`], but an access that fails is not an error.
    pub(crate) fn stream(
        &mut self,
        script: &Script,
        depth: u16,
        payload: &dyn Fn() -> Box<dyn Payload>,
        each: Each<'_>,
    ) -> Result<(), Halt> {
        self.allow(script)?;
        let before = self.bench.now();
        let (keeper, spent, accesses) = (&mut self.keeper, &mut self.spent, script.accesses());
        let done = self.bench.stream(script, depth, payload, &mut |now, at, data, is_failed| {
            spent.ios += 1;
            match accesses.get(at) {
                Some(access) if access.op == Op::Write => spent.written_bytes += access.len,
                Some(access) => spent.read_bytes += access.len,
                None => {}
            }
            keeper.event(&each(now, at, data, is_failed));
        });
        self.spent.elapsed_ns += Nanos(self.bench.now().0 - before.0);
        Ok(done?)
    }

    /// Starts time and budgets again from now, so that what takes hours may be resumed day after day.
    pub(crate) fn renew(&mut self) {
        self.until = self.bench.now() + self.terms.time_budget;
        self.terms.write_budget += self.spent.written_bytes;
    }

    /// Puts back what a probe has overwritten: whatever limit has come, and even when the user wants to stop. What it
    /// writes counts all the same.
    ///
    /// # Errors
    /// [`Halt::Failed`] and [`Halt::Drive`]; [`Halt::NoConsent`] and [`Halt::Outside`], since nothing of the kind can
    /// have been overwritten.
    pub fn put_back(
        &mut self,
        part: &str,
        script: &Script,
        payload: &dyn Fn() -> Box<dyn Payload>,
    ) -> Result<(), Halt> {
        let script = &*self.on_target(script)?;
        self.place(script)?;
        let before = self.bench.now();
        let samples = self.bench.run_to_the_end(script, payload)?;
        self.note(part, samples, before);
        Ok(())
    }

    /// Counts what was done, and hands it on.
    fn note(&mut self, part: &str, mut samples: Vec<Sample>, before: Nanos) -> Vec<Sample> {
        self.scripts += 1;
        self.spent.elapsed_ns += Nanos(self.bench.now().0 - before.0);
        for sample in &samples {
            self.spent.ios += 1;
            match sample.op {
                Op::Read => self.spent.read_bytes += sample.len,
                Op::Write => self.spent.written_bytes += sample.len,
                Op::Flush | Op::Discard => {}
            }
        }
        if self.recording {
            self.keeper.samples(part, &samples);
        }
        samples.iter_mut().for_each(|sample| sample.offset += self.shift);
        samples
    }

    /// Passes an event to the keeper.
    pub fn tell(&mut self, event: &Event) {
        self.keeper.event(event);
    }

    /// Has what is about to be overwritten saved.
    pub(crate) fn secure(&mut self, salt: u64, kept: &Kept) -> Result<(), Halt> {
        self.keeper.secure(salt, kept).map_err(Halt::Originals)
    }

    /// Reports that the saved data was written back, and whether all of it was.
    pub(crate) fn restored(&mut self, is_whole: bool) {
        self.keeper.restored(is_whole);
    }

    /// Takes what was spent before into account: of time and bytes only the rest is left.
    pub(crate) fn account(&mut self, spent: impl Iterator<Item = Spent>) {
        for spent in spent {
            self.spent.add(spent);
            self.until = Nanos(self.until.0.saturating_sub(spent.elapsed_ns.0));
        }
    }

    /// Whether I/Os are handed on from now on.
    pub(crate) fn record(&mut self, recording: bool) {
        self.recording = recording;
    }

    /// Whether the accesses are where and what they may be.
    fn place(&self, script: &Script) -> Result<(), Halt> {
        let region = self.terms.region;
        let end = region.offset.0.saturating_add(region.length.0);
        let inside = |access: &&Access| {
            let last = access.offset.0.checked_add(access.len.0);
            access.op == Op::Flush
                || access.offset >= region.offset && last.is_some_and(|last| last <= end)
        };
        if let Some(&Access { offset, len, .. }) = script.accesses().iter().find(|a| !inside(a)) {
            return Err(Halt::Outside { offset: offset.0, len });
        }
        let alters = |access: &&Access| matches!(access.op, Op::Write | Op::Discard);
        if !self.terms.may_write && script.accesses().iter().any(|access| alters(&access)) {
            return Err(Halt::NoConsent);
        }
        Ok(())
    }

    /// Whether a script may be issued now.
    fn allow(&self, script: &Script) -> Result<(), Halt> {
        self.place(script)?;
        if self.time_left() <= script.pauses() {
            return Err(Halt::Time);
        }
        let writes = script.accesses().iter().filter(|access| access.op == Op::Write);
        let (needed, left) = (writes.map(|access| access.len).sum(), self.writes_left());
        if needed > left {
            return Err(Halt::WriteBudget { needed, left });
        }
        Ok(())
    }
}

/// One access.
fn one(op: Op, offset: u64, len: u64) -> Access {
    Access { op, fua: false, offset: Bytes(offset), len: Bytes(len) }
}
