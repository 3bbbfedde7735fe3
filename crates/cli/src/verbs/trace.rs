//! `drivescope trace`: record, read, analyse, replay, compare.

mod analyze;
mod compare;
mod export;
pub mod import;
pub mod record;
mod replay;
mod replaying;

pub use compare::show as show_compare;
pub use replay::show as show_replay;

use anyhow::Result;

use crate::args::{TraceArgs, TraceVerb};
use crate::exit::Exit;

/// Runs the verb.
///
/// # Errors
/// What makes it impossible.
pub fn main(args: &TraceArgs) -> Result<Exit> {
    match &args.verb {
        TraceVerb::Record(args) => record::main(args),
        TraceVerb::Import(args) => import::main(args),
        TraceVerb::Export(args) => export::main(args),
        TraceVerb::Analyze(args) => analyze::main(args),
        TraceVerb::Replay(args) => replay::main(args),
        TraceVerb::Compare(args) => compare::main(args),
    }
}
