//! Replays from their flags to their exit codes: what `trace replay` and `trace compare` share.

mod around;
pub mod ask;
mod body;
mod keep;
mod listen;
mod play;
mod reference;
mod times;
mod verify;

pub use around::caveats;
pub use body::drive_of;
pub use documents::replay::{COMPARE, CompareBody, REPLAY, ReferenceBody, ReplayBody, Verified};
pub use keep::{Replaying, left_behind};
pub use listen::{Begin, Ear, Heard, Wanted};
pub use play::{Job, On, Played, Start};
pub use reference::referred;
pub use times::Reference;
pub use verify::verified;
