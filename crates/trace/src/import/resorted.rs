//! A trace whose rows are in any order, put in that of their arrival.

use block::Nanos;

use super::join::Joined;
use super::spread::shift;
use super::spread::{SPREAD_MAX, Spread};
use crate::sort::{Sorted, Sorter};
use crate::{Io, Source, TraceError, TraceInfo, each_batch};

/// A trace whose rows are in any order: read to its end before the first I/O is known.
pub struct Resorted {
    info: TraceInfo,
    /// Until all of it has been read.
    unordered: Option<Joined>,
    sorted: Option<Sorted>,
    spread: Option<Spread>,
    unix_offset: Option<i128>,
}

impl Resorted {
    /// All I/Os of `unordered`, whose times count from nothing.
    pub fn new(unordered: Joined, spread: Option<Nanos>, unix_offset: Option<i128>) -> Resorted {
        Resorted {
            info: unordered.info().clone(),
            unordered: Some(unordered),
            sorted: None,
            spread: spread.map(Spread::new),
            unix_offset,
        }
    }

    fn sort(&mut self, mut unordered: Joined) -> Result<Sorted, TraceError> {
        let mut sorter = Sorter::new();
        each_batch(&mut unordered, |batch, _| batch.iter().try_for_each(|io| sorter.push(*io)))?;
        let sorted = sorter.finish()?;
        self.info = unordered.info().clone();
        let first = sorted.next_arrival().unwrap_or(Nanos::ZERO);
        self.info.origin = first;
        self.info.origin_unix_ns =
            self.unix_offset.and_then(|offset| i64::try_from(i128::from(first.0) + offset).ok());
        self.info.settled.push("I/Os were sorted by their arrival, as --sort says".to_owned());
        Ok(sorted)
    }
}

impl Source for Resorted {
    fn next(&mut self, batch: &mut Vec<Io>) -> Result<(), TraceError> {
        if let Some(unordered) = self.unordered.take() {
            self.sorted = Some(self.sort(unordered)?);
        }
        let Some(sorted) = &mut self.sorted else { return Ok(()) };
        let before = batch.len();
        let mut read = Vec::new();
        while batch.len() == before {
            read.clear();
            sorted.next(&mut read)?;
            match &mut self.spread {
                None => batch.append(&mut read),
                Some(spread) if read.is_empty() => spread.finish(batch),
                Some(spread) => {
                    for io in read.drain(..) {
                        spread.push(io, batch).map_err(|_| {
                            TraceError::Unsuited(format!(
                                "more than {SPREAD_MAX} I/Os arrive in one instant; is the time in \
                                 another unit (--time-unit)?"
                            ))
                        })?;
                    }
                    continue;
                }
            }
            break;
        }
        let origin = self.info.origin.0;
        for io in &mut batch[before..] {
            shift(io, |at| at.saturating_sub(origin));
        }
        Ok(())
    }

    fn info(&self) -> &TraceInfo {
        &self.info
    }
}
