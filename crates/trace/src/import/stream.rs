//! One file's I/Os in the order of their arrival: what is slightly out of it is put right, what cannot be read is
//! counted or refused, and whole seconds are spread.

use block::Nanos;

use super::records::{FAULTS_TOLD, Record, Records, Told, Trouble};
use super::spread::{SPREAD_MAX, Spread};
use crate::sort::{TooLate, Window};
use crate::{Io, Place, TraceError};

/// How many I/Os are held to put them in order: one may come this many rows late.
pub const WINDOW: usize = 4 << 10;

/// How the I/Os of a file are handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handling {
    /// Leave out what cannot be read.
    pub lenient: bool,
    /// Hand out in the order of the file: somebody else puts it right.
    pub unordered: bool,
    /// Spread what arrives in one instant over this long, evenly.
    pub spread: Option<Nanos>,
}

/// Statistics of a file.
#[derive(Clone, Debug, Default)]
pub struct Met {
    /// I/Os.
    pub ios: u64,
    /// Rows that could not be read.
    pub skipped: u64,
    /// Rows that are not I/Os.
    pub ignored: u64,
    /// The first faults, with their places.
    pub faults: Vec<String>,
    /// I/Os that came after one that arrived later, and were put in their place.
    pub late: u64,
    /// By how much at most.
    pub late_max: Nanos,
}

/// One file's I/Os. Times are those of the file's clock.
pub struct Stream {
    records: Box<dyn Records>,
    handling: Handling,
    /// Data of the records besides their I/Os.
    pub told: Told,
    /// Statistics so far.
    pub met: Met,
    /// Window that sorts them, unless they are sorted later.
    window: Option<Window>,
    ended: bool,
    spread: Option<Spread>,
}

impl Stream {
    /// The I/Os of `records`.
    pub fn new(records: Box<dyn Records>, handling: Handling) -> Stream {
        Stream {
            records,
            handling,
            told: Told::default(),
            met: Met::default(),
            window: (!handling.unordered).then(|| Window::new(WINDOW)),
            ended: false,
            // Spread before they are sorted, I/Os of one instant would be spread in parts.
            spread: handling.spread.filter(|_| !handling.unordered).map(Spread::new),
        }
    }

    /// Appends the next I/Os; none when there are no more.
    ///
    /// # Errors
    /// [`TraceError`] with the place.
    pub fn next(&mut self, batch: &mut Vec<Io>) -> Result<(), TraceError> {
        let Some(mut spread) = self.spread.take() else {
            return self.ordered(batch);
        };
        let result = self.spread(&mut spread, batch);
        self.spread = Some(spread);
        result
    }

    fn spread(&mut self, spread: &mut Spread, batch: &mut Vec<Io>) -> Result<(), TraceError> {
        let before = batch.len();
        let mut read = Vec::with_capacity(WINDOW);
        while batch.len() == before {
            self.ordered(&mut read)?;
            if read.is_empty() {
                spread.finish(batch);
                break;
            }
            for io in read.drain(..) {
                spread.push(io, batch).map_err(|_| self.crowded())?;
            }
        }
        Ok(())
    }

    fn crowded(&self) -> TraceError {
        TraceError::Malformed {
            file: self.records.file().to_owned(),
            place: self.records.place(),
            reason: format!(
                "more than {SPREAD_MAX} I/Os arrive in one instant, too many to be spread over it: \
                 is the time in another column, or in another unit (--time-unit)?"
            ),
        }
    }

    /// The next I/Os in order, as they arrive; in the order of the file where somebody else puts them right.
    fn ordered(&mut self, batch: &mut Vec<Io>) -> Result<(), TraceError> {
        let enough = batch.len() + WINDOW;
        while !self.ended && !self.window.as_ref().map_or(batch.len() >= enough, Window::is_full) {
            match self.records.next(&mut self.told) {
                Ok(Record::Io(io)) => self.take(io, batch)?,
                Ok(Record::Ignored) => self.met.ignored += 1,
                Ok(Record::Blank) => {}
                Ok(Record::End) => self.end()?,
                Err(trouble) => self.skip(trouble)?,
            }
        }
        match &mut self.window {
            Some(window) if self.ended => window.finish(batch),
            Some(window) => window.give(batch),
            None => {}
        }
        Ok(())
    }

    fn take(&mut self, io: Io, batch: &mut Vec<Io>) -> Result<(), TraceError> {
        self.met.ios += 1;
        match self.window.as_mut().map(|window| window.push(io)) {
            None => batch.push(io),
            Some(Ok(None)) => {}
            Some(Ok(Some(by))) => {
                self.met.late += 1;
                self.met.late_max = self.met.late_max.max(by);
            }
            Some(Err(TooLate { by })) => {
                return Err(too_late(self.records.file(), self.records.place(), by));
            }
        }
        Ok(())
    }

    /// A record that cannot be read, or a file that cannot be read on.
    fn skip(&mut self, trouble: Trouble) -> Result<(), TraceError> {
        let file = self.records.file().to_owned();
        let (error, on) = match trouble {
            Trouble::Record { place, reason } => {
                (TraceError::Malformed { file, place, reason }, true)
            }
            Trouble::Broken(error) => (error, false),
        };
        // A read error of the system is not a fault of the file's content.
        if !self.handling.lenient || !matches!(error, TraceError::Malformed { .. }) {
            return Err(error);
        }
        self.met.skipped += 1;
        if self.met.faults.len() < FAULTS_TOLD {
            self.met.faults.push(error.to_string());
        }
        if on { Ok(()) } else { self.end() }
    }

    /// Nothing more comes. A file of which more than half is wrong is something else than it was taken for.
    fn end(&mut self) -> Result<(), TraceError> {
        self.ended = true;
        let Met { ios, skipped, ignored, .. } = self.met;
        if skipped <= ios + ignored {
            return Ok(());
        }
        let all = ios + ignored + skipped;
        let first = self.met.faults.first().map_or("", String::as_str);
        Err(TraceError::Malformed {
            file: self.records.file().to_owned(),
            place: Place::Whole,
            reason: format!(
                "{skipped} of {all} rows cannot be read, more than half, so that it is hardly what it was \
                 taken for (the first: {first}); say --format, or --columns"
            ),
        })
    }
}

/// Refuses what comes later than the window is long.
pub fn too_late(file: &str, place: Place, by: Nanos) -> TraceError {
    TraceError::Malformed {
        file: file.to_owned(),
        place,
        reason: format!(
            "arrives {by} before a row above it, and more than {WINDOW} rows late, so that it cannot be put \
             in its order while reading; say --sort"
        ),
    }
}
