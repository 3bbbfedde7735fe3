//! Health data of a SCSI drive (SPC-4 and SBC-3).

use serde::{Deserialize, Serialize};

use crate::Bytes;

use super::Rotation;

/// All that was read of a SCSI drive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScsiDetail {
    /// Log pages that it has (LOG SENSE page 00h).
    pub log_pages: Vec<u8>,
    /// Whether and how fast it turns (VPD page B1h); `None` when not reported.
    pub rotation: Option<Rotation>,
    /// Errors at writing (log page 02h); `None` when not reported.
    pub write_errors: Option<ScsiErrors>,
    /// Errors at reading (log page 03h); `None` when not reported.
    pub read_errors: Option<ScsiErrors>,
    /// Errors at verifying (log page 05h); `None` when not reported.
    pub verify_errors: Option<ScsiErrors>,
    /// Additional sense code and qualifier of what it complains about (log page 2Fh); zeros for nothing; `None` when
    /// not reported.
    pub complaint: Option<[u8; 2]>,
}

/// A page of error counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScsiErrors {
    /// Errors that were corrected (parameter 3); `None` when not reported.
    pub corrected: Option<u64>,
    /// Bytes that went through (parameter 5); `None` when not reported. Some vendors count something else.
    pub processed_bytes: Option<Bytes>,
    /// Errors that were not corrected (parameter 6); `None` when not reported.
    pub uncorrected: Option<u64>,
}
