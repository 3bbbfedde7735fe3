//! Saves a replay as a trace.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use block::Nanos;
use trace::container::{Existing, Writer};
use trace::replay::{Plan, Tap};
use trace::{Io, Space, TraceError, TraceInfo};

use crate::replay::Replay;

/// I/Os that are written to the file at a time.
const WRITTEN_AT_ONCE: usize = 8 << 10;

/// A replay that is saved as a trace.
pub struct SavedTrace {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    writer: Option<Writer>,
    spaces: Vec<Space>,
    ios: Vec<Io>,
    failure: Option<TraceError>,
}

impl SavedTrace {
    /// Creates the file at `path` for a replay by `plan`.
    ///
    /// # Errors
    /// When it exists, or cannot be created.
    pub fn create(path: &Path, plan: &Plan) -> Result<SavedTrace, TraceError> {
        let writer = Some(Writer::create(path, Existing::Keep)?);
        let spaces = vec![Space { name: plan.target.clone(), ..Space::default() }];
        let inner =
            Inner { writer, spaces, ios: Vec::with_capacity(WRITTEN_AT_ONCE), failure: None };
        Ok(SavedTrace { inner: Arc::new(Mutex::new(inner)) })
    }

    /// Takes the I/Os of the replay.
    pub fn tap(&self) -> Tap {
        let inner = self.inner.clone();
        // Its content is whole after any panic.
        Box::new(move |io| inner.lock().unwrap_or_else(PoisonError::into_inner).take(*io))
    }

    /// Completes the file when the `replay` is over.
    ///
    /// # Errors
    /// The first error of writing it.
    pub fn finish(self, replay: &Replay) -> Result<(), TraceError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.write();
        if let Some(failure) = inner.failure.take() {
            return Err(failure);
        }
        let Some(writer) = inner.writer.take() else { return Ok(()) };
        let info = TraceInfo {
            source: format!("replayed on {}", replay.info.name),
            files: replay.plan.survey.info.files.clone(),
            resolution: Nanos(1),
            spaces: inner.spaces.clone(),
            ..TraceInfo::default()
        };
        writer.finish(&info).map(|_| ())
    }
}

impl Inner {
    fn take(&mut self, io: Io) {
        self.ios.push(io);
        if self.ios.len() == WRITTEN_AT_ONCE {
            self.write();
        }
    }

    fn write(&mut self) {
        if let (Some(writer), None) = (&mut self.writer, &self.failure) {
            self.failure = writer.write(&self.ios, &self.spaces).err();
        }
        self.ios.clear();
    }
}
