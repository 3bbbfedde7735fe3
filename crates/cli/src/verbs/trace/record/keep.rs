//! Writer of a recording: pairs events to I/Os, and writes these, as they arrive.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use block::trace::{TraceEvent, TraceNote, TraceSink};
use linux::tracer::{Backend, Subject};
use trace::container::{Existing, Writer, Written};
use trace::pair::{Limits, Pairer, Unpaired};
use trace::{BATCH, Io, Space, TraceError};

/// Pairs and writes.
pub struct Keeper {
    pairer: Pairer,
    /// `None` when writing has failed.
    writer: Option<Writer>,
    failed: Option<TraceError>,
    /// Signals the failure to the code that waits for the end of the recording.
    broken: Arc<AtomicBool>,
    subjects: Vec<Subject>,
    /// As the pairer numbers them: in the order in which they are first heard of.
    spaces: Vec<Space>,
    batch: Vec<Io>,
}

/// Totals of a recording.
pub struct Kept {
    /// Counts of what was written.
    pub written: Written,
    /// Counts of what could not be paired.
    pub unpaired: Unpaired,
    /// Marks in it.
    pub marks: usize,
}

impl Keeper {
    /// Begins the file.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn create(
        path: &Path,
        existing: Existing,
        subjects: &[Subject],
    ) -> Result<Keeper, TraceError> {
        Ok(Keeper {
            pairer: Pairer::new("", Limits::default()),
            writer: Some(Writer::create(path, existing)?),
            failed: None,
            broken: Arc::new(AtomicBool::new(false)),
            subjects: subjects.to_vec(),
            spaces: Vec::new(),
            batch: Vec::with_capacity(BATCH),
        })
    }

    /// Becomes true when the recording cannot be kept any more.
    pub fn broken(&self) -> Arc<AtomicBool> {
        self.broken.clone()
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// When it could not be written, now or before.
    pub fn finish(mut self, backend: Backend) -> Result<Kept, TraceError> {
        self.pairer.finish(&mut self.batch);
        self.write();
        let info = self.pairer.info_mut();
        info.source = source(backend).to_owned();
        let subjects = &self.subjects;
        for space in &mut info.spaces {
            name(space, subjects);
        }
        match (self.writer, self.failed) {
            (Some(writer), None) => Ok(Kept {
                written: writer.finish(self.pairer.info())?,
                unpaired: self.pairer.unpaired(),
                marks: self.pairer.info().marks.len(),
            }),
            (_, Some(error)) => Err(error),
            (None, None) => Err(TraceError::Unsuited("the recording was not begun".to_owned())),
        }
    }

    fn write(&mut self) {
        if let Some(writer) = &mut self.writer
            && let Err(error) = writer.write(&self.batch, &self.spaces)
        {
            // Dropped, it takes its temporary file with it.
            self.writer = None;
            self.failed = Some(error);
            self.broken.store(true, Ordering::Release);
        }
        self.batch.clear();
    }
}

/// Source that a recording names.
fn source(backend: Backend) -> &'static str {
    match backend {
        Backend::Tracepoints => "block tracepoints",
        Backend::Blktrace => "blktrace relay",
        Backend::BlkTracer => "ftrace blk tracer",
    }
}

/// Gives a space the name and the size of its device.
fn name(space: &mut Space, subjects: &[Subject]) {
    if let Some(subject) = subjects.iter().find(|subject| Some(subject.number) == space.device) {
        space.name = subject.name.clone();
        space.capacity_bytes = Some(subject.capacity);
    }
}

impl TraceSink for Keeper {
    fn events(&mut self, events: &[TraceEvent]) {
        if self.writer.is_none() {
            return;
        }
        for event in events {
            if !self.spaces.iter().any(|space| space.device == Some(event.device)) {
                let mut space = Space { device: Some(event.device), ..Space::default() };
                name(&mut space, &self.subjects);
                self.spaces.push(space);
            }
        }
        self.pairer.events(events);
        self.pairer.drain(&mut self.batch);
        if self.batch.len() >= BATCH {
            self.write();
        }
    }

    fn note(&mut self, note: TraceNote) {
        self.pairer.note(note);
    }
}
