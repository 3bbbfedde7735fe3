//! Ends of a run of replays: with a result, or early.

use record::{Document, State};
use runner::instrument::Ended;
use runner::recorder::Closed;

/// Why a replay, or a run of replays, ended before it had a result.
pub enum EndedEarly {
    /// The user stopped it.
    Stopped,
    /// I/O errors ended it.
    Broken(anyhow::Error),
}

/// A run of replays with a result.
pub struct Finished<B> {
    /// The result.
    pub document: Document<B>,
    /// Its record.
    pub closed: Closed,
    /// State in which the run ended.
    pub state: State,
    /// The I/O errors that ended it.
    pub broken: Option<anyhow::Error>,
    /// Why the replay could not be saved as a trace.
    pub unsaved: Option<anyhow::Error>,
}

impl<B> Finished<B> {
    /// A run that ended in this state.
    pub fn new(ended: Ended<B>, state: State, broken: Option<anyhow::Error>) -> Finished<B> {
        let Ended { document, closed } = ended;
        Finished { document, closed, state, broken, unsaved: None }
    }
}
