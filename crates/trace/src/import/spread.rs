//! I/Os of one instant spread over the time until the next: for traces whose clock only ticks once a second.

use block::Nanos;

use super::stream::shift;
use crate::Io;

/// The most I/Os that may arrive in one instant.
pub const SPREAD_MAX: usize = 1 << 20;

/// More than [`SPREAD_MAX`] I/Os arrive in one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowded;

/// Spreads I/Os that come in order.
#[derive(Debug)]
pub struct Spread {
    /// From one instant to the next.
    span: Nanos,
    /// I/Os of one instant, which is not over.
    instant: Vec<Io>,
}

impl Spread {
    /// Spreads over `span`.
    pub fn new(span: Nanos) -> Spread {
        Spread { span, instant: Vec::new() }
    }

    /// Takes the next I/O, and hands out those of the instant before, when that is over.
    ///
    /// # Errors
    /// [`Crowded`].
    pub fn push(&mut self, io: Io, batch: &mut Vec<Io>) -> Result<(), Crowded> {
        if self.instant.first().is_some_and(|first| first.arrival != io.arrival) {
            self.finish(batch);
        }
        if self.instant.len() == SPREAD_MAX {
            return Err(Crowded);
        }
        self.instant.push(io);
        Ok(())
    }

    /// Hands out what is left: evenly, the first at the instant itself.
    pub fn finish(&mut self, batch: &mut Vec<Io>) {
        let count = self.instant.len() as u128;
        for (index, mut io) in self.instant.drain(..).enumerate() {
            let by = (u128::from(self.span.0) * index as u128 / count) as u64;
            shift(&mut io, |at| at.saturating_add(by));
            batch.push(io);
        }
    }
}
