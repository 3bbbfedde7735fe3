//! End of a run of replays.

use record::{Document, State};
use runner::instrument::Ended;
use runner::recorder::Closed;

/// End of a run of replays.
pub enum Ending<B> {
    /// With a result.
    Result(Box<Finished<B>>),
    /// Before there was a result.
    Early(EndedEarly),
}

/// Why a replay ended early.
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
