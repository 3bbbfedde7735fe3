//! The drive of a replay as its document has it.

use documents::replay::{Drive, Scheduler};

use super::play::Played;

/// The drive that was replayed on.
pub fn drive_of(played: &Played) -> Drive {
    let scheduler = played.scheduler.clone();
    Drive {
        target: played.info.clone(),
        engine: played.engine.clone(),
        stack: played.stack.clone(),
        scheduler: scheduler.map(|(set, before)| Scheduler { set, before }),
    }
}
