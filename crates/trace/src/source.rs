//! Sources of I/Os, read batch by batch.

use crate::{Io, TraceError, TraceInfo};

/// How many I/Os a source hands out at a time, about.
pub const BATCH: usize = 8 << 10;

/// A trace that is read from its beginning to its end, in bounded memory.
///
/// I/Os come in the order of their arrival. A source whose origin is in disorder puts it in order before, or refuses.
pub trait Source: Send {
    /// Appends the next I/Os to `batch`, about [`BATCH`] of them; appends none when there are no more.
    ///
    /// # Errors
    /// [`TraceError`] with the file and the place in it; what came before stands.
    fn next(&mut self, batch: &mut Vec<Io>) -> Result<(), TraceError>;

    /// Returns the information known so far; complete when [`Source::next`] has appended no I/Os.
    fn info(&self) -> &TraceInfo;
}

/// Hands all that is left of `source` to `take`, batch by batch, each with what is known by then.
///
/// # Errors
/// Those of the source, and of `take`.
pub fn each_batch(
    source: &mut dyn Source,
    mut take: impl FnMut(&[Io], &TraceInfo) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        batch.clear();
        source.next(&mut batch)?;
        if batch.is_empty() {
            return Ok(());
        }
        take(&batch, source.info())?;
    }
}

/// I/Os that are in memory anyway.
#[derive(Clone, Debug, Default)]
pub struct InMemory {
    info: TraceInfo,
    ios: Vec<Io>,
    next: usize,
}

impl InMemory {
    /// A source of `ios`, which are in the order of their arrival.
    pub fn new(info: TraceInfo, ios: Vec<Io>) -> InMemory {
        InMemory { info, ios, next: 0 }
    }
}

impl Source for InMemory {
    fn next(&mut self, batch: &mut Vec<Io>) -> Result<(), TraceError> {
        let end = self.ios.len().min(self.next + BATCH);
        batch.extend_from_slice(&self.ios[self.next..end]);
        self.next = end;
        Ok(())
    }

    fn info(&self) -> &TraceInfo {
        &self.info
    }
}
