//! Evidence from trials of the capacity.

use serde::{Deserialize, Serialize};

/// Observations of all trials.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Capacity that the drive claims.
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
    /// Offset at which a stamp was found, and the offset at which it had been written; bytes. At most a hundred pairs.
    pub moved: Vec<(u64, u64)>,
    /// Greatest common divisor of all distances at which stamps were met.
    pub period_bytes: Option<u64>,
    /// Least of these distances.
    pub nearest_bytes: Option<u64>,
    /// A stamp written at that distance from the beginning was met at the beginning.
    pub wraps: Option<bool>,
    /// Last bounds of the search for the real end, in bytes: an offset that was kept, and the first that was lost.
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
    /// Offset of the place.
    pub offset_bytes: u64,
    /// All of it was read back as written.
    pub good: bool,
}
