//! A first look at a trace: how far it reaches, and what of it is known.

use block::{Bytes, Nanos};

use crate::{BATCH, Io, Kind, Source, TraceError, TraceInfo};

/// Addresses that were used in one space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// I/Os that have an address there.
    pub ios: u64,
    /// First byte that was used.
    pub low: Bytes,
    /// First byte behind all that were used.
    pub high: Bytes,
}

/// Properties of a trace that its first planned request depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survey {
    /// The trace as a whole.
    pub info: TraceInfo,
    /// I/Os, by [`Kind`]'s number.
    pub ios: [u64; Kind::ALL.len()],
    /// Bytes, by [`Kind`]'s number.
    pub bytes: [Bytes; Kind::ALL.len()],
    /// I/Os whose completion is known.
    pub completed: u64,
    /// I/Os whose issue to the driver is known, and those merged into one that was issued.
    pub issued: u64,
    /// Arrival of the first I/O.
    pub first_arrival: Nanos,
    /// Arrival of the last one.
    pub last_arrival: Nanos,
    /// The first issue to the driver.
    pub first_issue: Option<Nanos>,
    /// Longest read or write, or request of several.
    pub longest: Bytes,
    /// Range that reads and writes used of each space, by its number; `None` if unused.
    pub reaches: Vec<Option<Reach>>,
    /// The same of discards. They often cover a whole disk, and where they are left out a target needs no room for
    /// them.
    pub discards: Vec<Option<Reach>>,
}

/// More spaces than this are not from a trace, but from a number read at the wrong place.
const SPACES_MAX: usize = 1 << 20;

/// Of the I/Os, at least this share has to have what a mode asks for. What was under way when a recording ended has no
/// completion, which in a short recording may be several in a hundred; where more lack it, the load that is left is
/// another one.
const KNOWN_MIN: f64 = 0.9;

impl Survey {
    /// True when the trace records completions, so that what was outstanding is known and needs no reference.
    pub fn has_completions(&self) -> bool {
        self.completed > 0 && self.completed as f64 >= KNOWN_MIN * self.total() as f64
    }

    /// Looks at what `source` has from `from` until `until`, since the trace's origin.
    ///
    /// # Errors
    /// Those of the source, and [`TraceError::Unsuited`] when there is no I/O in that time.
    pub fn of(
        source: &mut dyn Source,
        from: Nanos,
        until: Option<Nanos>,
    ) -> Result<Survey, TraceError> {
        let mut survey = Survey::default();
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            batch.clear();
            source.next(&mut batch)?;
            if batch.is_empty() {
                break;
            }
            for io in batch.iter().filter(|io| inside(io, from, until)) {
                survey.see(io)?;
            }
            if until.is_some_and(|end| batch.last().is_some_and(|io| io.arrival >= end)) {
                break;
            }
        }
        survey.info = source.info().clone();
        if survey.total() == 0 {
            return Err(TraceError::Unsuited(
                "nothing to replay: the trace has no I/O in the time asked for".to_owned(),
            ));
        }
        Ok(survey)
    }

    /// All I/Os.
    pub fn total(&self) -> u64 {
        self.ios.iter().sum()
    }

    fn see(&mut self, io: &Io) -> Result<(), TraceError> {
        if self.total() == 0 {
            self.first_arrival = io.arrival;
        }
        self.last_arrival = self.last_arrival.max(io.arrival);
        let kind = io.kind as usize;
        self.ios[kind] += 1;
        self.bytes[kind] = Bytes(self.bytes[kind].0.saturating_add(io.length.0));
        self.completed += u64::from(io.completed.known());
        self.issued += u64::from(io.issued.known());
        if let Some(issue) = io.issued.get() {
            self.first_issue = Some(self.first_issue.map_or(issue, |first| first.min(issue)));
        }
        if io.kind.transfers() {
            self.longest = self.longest.max(io.length).max(io.request_bytes);
        }
        self.reach(io)
    }

    /// Counts what discards used among what reads and writes did.
    pub(super) fn with_discards(mut self) -> Survey {
        for (space, reach) in std::mem::take(&mut self.discards).into_iter().enumerate() {
            if let Some(reach) = reach {
                widen(&mut self.reaches, space, reach);
            }
        }
        self
    }

    fn reach(&mut self, io: &Io) -> Result<(), TraceError> {
        let reaches = match io.kind {
            Kind::Read | Kind::Write => &mut self.reaches,
            Kind::Discard => &mut self.discards,
            _ => return Ok(()),
        };
        let space = io.space as usize;
        if space >= SPACES_MAX {
            return Err(TraceError::Unsuited(format!(
                "an I/O lies in address space {space}, and a trace has at most {SPACES_MAX}"
            )));
        }
        if io.length > Bytes::ZERO {
            widen(reaches, space, Reach { ios: 1, low: io.offset, high: io.end() });
        }
        Ok(())
    }
}

/// Adds what was used of one space.
fn widen(reaches: &mut Vec<Option<Reach>>, space: usize, more: Reach) {
    if space >= reaches.len() {
        reaches.resize(space + 1, None);
    }
    let joined = |was: Reach| Reach {
        ios: was.ios + more.ios,
        low: was.low.min(more.low),
        high: was.high.max(more.high),
    };
    reaches[space] = Some(reaches[space].map_or(more, joined));
}

/// True when an I/O belongs to the part of a trace from `from` until `until`.
pub(super) fn inside(io: &Io, from: Nanos, until: Option<Nanos>) -> bool {
    io.arrival >= from && until.is_none_or(|end| io.arrival < end)
}
