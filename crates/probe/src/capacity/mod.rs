//! Real capacity of a drive: detects fake drives by sampling.
//!
//! A drive that claims too much either drops what is written above its real end, or writes it elsewhere: the address
//! wraps. A run of stamps at the very end finds both: it cannot be read back, or it is met again further down. A
//! cache hides that for as much as fits into it, so the run grows until no likely cache takes it.

mod ask;
mod evidence;
pub mod full;
mod judge;
mod options;
mod restore;
mod search;
mod stamp;
mod trial;

use block::Bytes;

pub use evidence::{Evidence, Place};
pub use judge::infer;
pub use options::Options;
pub use restore::{Restored, Restorer};
pub use stamp::Kept;

use self::ask::Asker;
use crate::desk::{Desk, Halt};
use crate::finding::Outcome;
use crate::known::Known;

impl Options {
    /// Most bytes that are written to a genuine drive of `claimed` bytes, putting back included.
    pub fn writes(&self, claimed: u64) -> u64 {
        if self.full {
            return claimed;
        }
        let all = |stage: &ask::Stage| {
            let back = if self.keeps { stage.puts_back(self) } else { 0 };
            stage.writes(self) + back
        };
        ask::stages(claimed, 1).iter().map(all).sum()
    }
}

/// Most original data of a drive of this size that has to be kept at a time.
pub fn kept_most(capacity: Bytes, unit: Bytes, options: &Options) -> Bytes {
    let stages = ask::stages(capacity.0, unit.0);
    let most = stages.iter().map(|stage| stage.writes(options)).max().unwrap_or_default();
    // The search for the end begins with a run that is a little longer.
    Bytes((most + search::BELOW).min(capacity.0))
}

/// Asks the drive.
///
/// # Errors
/// Any [`Halt`] except a limit. What was overwritten was put back before this returns, with [`Options::keeps`].
pub fn probe(desk: &mut Desk<'_>, _: &Known, options: &Options) -> Result<Outcome<Evidence>, Halt> {
    let mut evidence = Evidence {
        claimed_bytes: desk.info().capacity_bytes.0,
        error: options.error,
        bad_share: options.bad_share,
        has_data: true,
        ..Evidence::default()
    };
    match Asker::new(desk, options).ask(&mut evidence) {
        Err(halt) if !halt.is_limit() => return Err(halt),
        Err(limit) => evidence.limit = Some(limit.to_string()),
        Ok(()) => {}
    }
    let finding = infer(&evidence);
    Ok(Outcome { findings: vec![finding], evidence, caveats: Vec::new() })
}
