//! I/Os of one instant spread over the time until the next: for traces whose clock only ticks once a second.

use block::Nanos;

use crate::{Io, Stamp};

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
        if let Some(first) = self.instant.first()
            && first.arrival != io.arrival
        {
            // Not beyond what follows, should the clock tick sooner than it was taken to.
            let until_next = io.arrival.0.saturating_sub(first.arrival.0);
            self.release(self.span.min(Nanos(until_next)), batch);
        }
        if self.instant.len() == SPREAD_MAX {
            return Err(Crowded);
        }
        self.instant.push(io);
        Ok(())
    }

    /// Hands out what is left: evenly, the first at the instant itself.
    pub fn finish(&mut self, batch: &mut Vec<Io>) {
        self.release(self.span, batch);
    }

    fn release(&mut self, span: Nanos, batch: &mut Vec<Io>) {
        let count = self.instant.len() as u128;
        for (index, mut io) in self.instant.drain(..).enumerate() {
            let by = (u128::from(span.0) * index as u128 / count) as u64;
            shift(&mut io, |at| at.saturating_add(by));
            batch.push(io);
        }
    }
}

/// Moves all times of `io` that are known.
pub fn shift(io: &mut Io, by: impl Fn(u64) -> u64) {
    io.arrival = Nanos(by(io.arrival.0));
    for stamp in [&mut io.issued, &mut io.completed] {
        if let Some(at) = stamp.get() {
            *stamp = Stamp::at(Nanos(by(at.0)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use block::Bytes;

    fn spread(times: &[u64]) -> Vec<u64> {
        let (mut spread, mut batch) = (Spread::new(Nanos(1_000)), Vec::new());
        for &at in times {
            let io = Io::arriving(Nanos(at), Kind::Read, Bytes(0), Bytes(512));
            spread.push(io, &mut batch).unwrap();
        }
        spread.finish(&mut batch);
        batch.iter().map(|io| io.arrival.0).collect()
    }

    #[test]
    fn ios_of_one_tick_are_spread_over_it_evenly() {
        assert_eq!(spread(&[0, 0, 0, 0, 1_000, 1_000]), [0, 250, 500, 750, 1_000, 1_500]);
    }

    // Breaks when a time between two ticks, found by fuzzing, is overtaken by what is spread before it.
    #[test]
    fn nothing_is_spread_beyond_what_follows() {
        assert_eq!(spread(&[0, 0, 300, 1_000]), [0, 150, 300, 1_000]);
    }
}
