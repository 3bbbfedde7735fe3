//! What a drive really holds: fake drives, found by sampling.
//!
//! A drive that claims too much either drops what is written above its real end, or writes it elsewhere: the address
//! wraps. A run of stamps at the very end finds both: it cannot be read back, or it is met again further down. A
//! cache hides that for as much as fits into it, so the run grows until no likely cache takes it.

mod ask;
pub mod full;
mod judge;
mod restore;
mod search;
mod stamp;
mod trial;

use block::Bytes;
use serde::{Deserialize, Serialize};

pub use judge::infer;
pub use restore::{Restored, Restorer};
pub use stamp::Kept;

use self::ask::Asker;
use crate::desk::{Desk, Halt};
use crate::finding::Outcome;
use crate::known::Known;

/// What may be chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// What was there is kept and put back.
    pub keeps: bool,
    /// Least share of bad places that is to be noticed; 0 to 1.
    pub bad_share: f64,
    /// Probability of not noticing that many; 0 to 1.
    pub error: f64,
    /// All of the drive is written and read back, see [`full`]; nothing is put back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
    /// Memory for what is kept; 1 GiB when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options { keeps: true, bad_share: 0.05, error: 0.02, full: false, memory_bytes: None }
    }
}

impl Options {
    /// Places to be sampled: so many good ones in a row would come of so many bad ones with no more than the stated
    /// probability, `(1 - bad_share)^n <= error`.
    pub fn samples(&self) -> u64 {
        let (bad, error) = (self.bad_share.clamp(1e-4, 0.5), self.error.clamp(1e-9, 0.5));
        (error.ln() / (1.0 - bad).ln()).ceil() as u64
    }

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

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// What the drive claims.
    pub claimed_bytes: u64,
    /// First byte of the run of stamps at its end.
    pub run_begin_bytes: u64,
    /// Length of that run.
    pub run_bytes: u64,
    /// Of these, sectors that were read back as written.
    pub run_good: u64,
    /// Sectors of it.
    pub run_sectors: u64,
    /// First sector of the run that was lost, in bytes; None when all were kept.
    pub run_lost_from: Option<u64>,
    /// Sectors at the very end of the run that were kept though others before them were lost: as many bytes as a
    /// cache holds back.
    pub run_kept_last: u64,
    /// The first sector lost was kept when nothing was written after it, as in a cache; None when that was not tried.
    pub kept_alone: Option<bool>,
    /// Places sampled at random.
    pub samples: Vec<Place>,
    /// Where a stamp was met, and where it had been written; bytes. At most a hundred.
    pub moved: Vec<(u64, u64)>,
    /// Greatest common divisor of all distances at which stamps were met.
    pub period_bytes: Option<u64>,
    /// Least of these distances.
    pub nearest_bytes: Option<u64>,
    /// A stamp written at that distance from the beginning was met at the beginning.
    pub wraps: Option<bool>,
    /// Where what is written is lost from, and where it is still kept before that; the search's last bounds.
    pub end: Option<(u64, u64)>,
    /// Requests that failed with an I/O error.
    pub failed: u64,
    /// Largest write cache with which a fake would have been seen that lacks more than the cache holds; None when
    /// no trial kept everything.
    pub cache_limit_bytes: Option<u64>,
    /// All of the drive was written at once and read back.
    pub is_whole: bool,
    /// False when the drive delivered no data to look at.
    pub has_data: bool,
    /// Every place was tried that was to be tried.
    pub complete: bool,
    /// Probability of not noticing what the options say.
    pub error: f64,
    /// Least share of bad places that would have been noticed.
    pub bad_share: f64,
    /// The limit that ended it, if one did.
    pub limit: Option<String>,
}

/// A sampled place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Where.
    pub offset_bytes: u64,
    /// All of it was read back as written.
    pub good: bool,
}

/// Asks the drive.
///
/// # Errors
/// [`Halt`] that is no limit. What was overwritten was put back before this returns, with [`Options::keeps`].
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
