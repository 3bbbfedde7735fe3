//! Invariants of every trace, regardless of its format.

use trace::{BATCH, Io, Source, Stamp, TraceError, TraceInfo};

/// Result of reading a trace to its end.
pub struct Read {
    /// I/Os.
    pub ios: u64,
    /// Information about the whole trace.
    pub info: TraceInfo,
    /// The fault that ended it.
    pub error: Option<TraceError>,
}

/// Reads `source` to its end, and panics when what it promises does not hold.
pub fn read(source: &mut dyn Source) -> Read {
    let mut batch = Vec::new();
    let mut last = None;
    let mut ios = 0;
    let error = loop {
        batch.clear();
        let answer = source.next(&mut batch);
        // About a batch: what is put right by a window may come at once.
        assert!(batch.len() <= 256 * BATCH, "a batch of {} I/Os", batch.len());
        for io in &batch {
            one(io, last);
            last = Some(*io);
        }
        ios += batch.len() as u64;
        match answer {
            Ok(()) if batch.is_empty() => break None,
            Ok(()) => {}
            Err(error) => break Some(error),
        }
    };
    if let Some(error) = &error {
        let said = error.to_string();
        assert!(!said.trim().is_empty(), "an error without words: {error:?}");
    }
    Read { ios, info: source.info().clone(), error }
}

/// Checks the invariants of an I/O, and of it and the one before.
fn one(io: &Io, last: Option<Io>) {
    if let Some(last) = last {
        assert!(last.arrival <= io.arrival, "{last:?} is before {io:?}");
    }
    // Lengths of time are taken of what is known, and none is negative.
    for later in [io.issued, io.completed] {
        let _ = later.since(Stamp::at(io.arrival));
    }
    assert!(io.end() >= io.offset, "{io:?}");
}
