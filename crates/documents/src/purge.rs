//! Result of a purge: the body of its document.

use block::health::{Detail, Health, NvmeSanitize};
use block::{Bytes, EngineKind};
use linux::purge::read_back::{ReadBack, Verdict};
use linux::purge::{Capability, Ended, Method, Status};
use serde::{Deserialize, Serialize};
use stats::Caveat;

/// The form of the document.
pub const SCHEMA: &str = "drivescope.purge/1";

/// A purge, from what was offered to what became of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Body {
    /// The target as the user named it.
    pub target: String,
    /// Identity of the drive.
    pub device: Device,
    /// How it was emptied.
    pub method: Method,
    /// Why in this way.
    pub why: String,
    /// All methods, and what speaks for or against each.
    pub capabilities: Vec<Capability>,
    /// Kernel names of all that was emptied.
    pub blast_radius: Vec<String>,
    /// How a drive of this machine was read, and written to by `zero`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineKind>,
    /// Outcome; null if nothing was emptied, as in a dry run.
    pub outcome: Option<Outcome>,
    /// Doubts.
    pub caveats: Vec<Caveat>,
}

/// Identity of a drive.
#[derive(Debug, Serialize, Deserialize)]
pub struct Device {
    /// Kernel name, or a virtual drive's.
    pub name: String,
    /// Model as it states it.
    pub model: Option<String>,
    /// Serial number as it states it.
    pub serial: Option<String>,
    /// Firmware revision as it states it.
    pub firmware: Option<String>,
    /// Its size.
    pub capacity_bytes: Bytes,
    /// Its unit of addressing.
    pub logical_block_bytes: Bytes,
}

/// Outcome of a purge.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    #[serde(flatten)]
    pub ended: Ended,
    /// How long it took, in seconds, without the reading before and afterwards; virtual time on a virtual drive.
    pub seconds: f64,
    /// Evidence beyond the drive's own report.
    pub verified: Verified,
}

/// Evidence for a purge beyond the drive's own report.
#[derive(Debug, Serialize, Deserialize)]
pub struct Verified {
    /// The same places, read before and afterwards; null when the drive is still at it, and serves no reads.
    pub read_back: Option<ReadBack>,
    /// The drive's report before, if it gave one.
    pub told_before: Option<DriveReport>,
    /// And afterwards.
    pub told_after: Option<DriveReport>,
}

/// Values from a drive's report that a purge may change, or must not.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveReport {
    /// Bytes allocated in an NVMe namespace (NUSE). Drives that do not keep track of it report its size.
    pub used_bytes: Option<Bytes>,
    /// Size of what can be addressed.
    pub capacity_bytes: Option<Bytes>,
    /// Place of the LBA format of an NVMe namespace.
    pub lba_format: Option<u16>,
    /// Its logical block.
    pub logical_block_bytes: Option<Bytes>,
    /// Sanitize status of an NVMe drive.
    pub sanitize: Option<NvmeSanitize>,
    /// True when an ATA drive has a password.
    pub has_password: Option<bool>,
    /// Bytes that the host wrote in its life.
    pub host_write_bytes: Option<Bytes>,
    /// Share of its rated life that is used, in percent.
    pub life_used_percent: Option<u32>,
    /// Errors that it could not correct.
    pub media_errors: Option<u64>,
}

impl DriveReport {
    /// Extracts these values from a drive's health.
    pub fn of(health: &Health) -> DriveReport {
        let mut told = DriveReport {
            capacity_bytes: health.capacity_bytes,
            host_write_bytes: health.host_write_bytes,
            life_used_percent: health.life_used_percent,
            media_errors: health.media_errors,
            ..DriveReport::default()
        };
        match &health.detail {
            Detail::Nvme(detail) => {
                told.sanitize = detail.sanitize.clone();
                if let Some(namespace) = &detail.namespace {
                    let block = namespace.block_bytes();
                    let used = block.and_then(|block| namespace.used_blocks.checked_mul(block.0));
                    told.used_bytes = used.map(Bytes);
                    told.lba_format = Some(namespace.format);
                    told.logical_block_bytes = block;
                }
            }
            Detail::Ata(detail) => {
                told.has_password = detail.capabilities.map(|can| can.security.is_enabled);
            }
            _ => {}
        }
        told
    }

    /// True when what must stay as it was is no longer so.
    pub fn differs_in_form(&self, other: &DriveReport) -> bool {
        let form =
            |told: &DriveReport| (told.capacity_bytes, told.lba_format, told.logical_block_bytes);
        form(self) != form(other)
    }
}

crate::decode!(Body);

impl Body {
    /// True when all was done and nothing speaks against it.
    pub fn is_good(&self) -> bool {
        self.outcome.as_ref().is_none_or(|outcome| {
            outcome.ended.status == Status::Done && outcome.verdict() != Verdict::Refuted
        })
    }

    /// The result in one line.
    pub fn headline(&self) -> String {
        let Some(outcome) = &self.outcome else { return format!("{} would be used", self.method) };
        let status = match outcome.ended.status {
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Stopped => "stopped",
            Status::Running => "still running",
        };
        format!("{} {status}, {}", self.method, verdict_words(outcome.verdict()))
    }
}

impl Outcome {
    /// Verdict of reading back; [`Verdict::Unprovable`] if nothing was read.
    pub fn verdict(&self) -> Verdict {
        self.verified.read_back.as_ref().map_or(Verdict::Unprovable, |seen| seen.verdict)
    }
}

/// A verdict in words.
pub fn verdict_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Proven => "confirmed by reading back",
        Verdict::Refuted => "FAILED: old data is still readable",
        Verdict::Unprovable => "cannot be confirmed by reading back",
    }
}
