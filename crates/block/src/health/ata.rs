//! Health data of an ATA drive (ACS-4; the attributes are each vendor's own).

use serde::{Deserialize, Serialize};

/// All that was read of an ATA drive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtaDetail {
    /// Power state before any other command; `None` when the drive does not report it.
    pub power: Option<AtaPower>,
    /// Capabilities and settings; `None` when the drive could not be asked.
    pub capabilities: Option<AtaCapabilities>,
    /// Attributes of SMART, which each vendor makes of its own, in the drive's order.
    pub attributes: Vec<AtaAttribute>,
    /// Device statistics (log 04h), which the standard defines.
    pub statistics: Vec<AtaStatistic>,
    /// Sectors that were replaced: logical sectors by the statistics, or attribute 5; `None` when not reported.
    pub reallocated_sectors: Option<u64>,
    /// Sectors that wait for being replaced: by the statistics, or attribute 197; `None` when not reported.
    pub pending_sectors: Option<u64>,
    /// Errors of the link's checksum: by the statistics, or attribute 199; `None` when not reported.
    pub link_errors: Option<u64>,
}

/// Capabilities and settings of an ATA drive (IDENTIFY DEVICE).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtaCapabilities {
    /// Whether and how fast it turns (IDENTIFY word 217); `None` when not reported.
    pub rotation: Option<Rotation>,
    /// SMART is there (IDENTIFY word 82 bit 0).
    pub has_smart: bool,
    /// SMART is switched on (IDENTIFY word 85 bit 0).
    pub is_smart_on: bool,
    /// The write cache is on (IDENTIFY word 85 bit 5).
    pub is_write_cache_on: bool,
    /// TRIM (IDENTIFY word 169 bit 0).
    pub can_trim: bool,
    /// Security feature set.
    pub security: AtaSecurity,
    /// Sanitize feature set (IDENTIFY word 59).
    pub sanitize: AtaSanitize,
}

/// How an ATA drive rests (CHECK POWER MODE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtaPower {
    /// It rests with its motor off.
    Standby,
    /// It turns, or could, and is not busy.
    Idle,
    /// It is active or idle.
    Active,
}

/// Whether a drive turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rotation {
    /// It does not.
    None,
    /// Turns per minute.
    PerMinute(u16),
}

/// Security feature set (IDENTIFY words 128, 89 and 90).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtaSecurity {
    /// It is there (bit 0).
    pub is_supported: bool,
    /// A password is set (bit 1).
    pub is_enabled: bool,
    /// It is locked (bit 2).
    pub is_locked: bool,
    /// Its state cannot be changed before the next power cycle (bit 3).
    pub is_frozen: bool,
    /// Too many wrong passwords were tried (bit 4).
    pub is_expired: bool,
    /// Enhanced erase is there (bit 5).
    pub can_erase_enhanced: bool,
    /// Minutes that an erase takes (word 89); `None` when not reported.
    pub erase_minutes: Option<u32>,
    /// Minutes that an enhanced erase takes (word 90); `None` when not reported.
    pub erase_enhanced_minutes: Option<u32>,
}

/// Sanitize feature set (IDENTIFY word 59).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtaSanitize {
    /// It is there (bit 12).
    pub is_supported: bool,
    /// By scrambling the key (bit 13).
    pub can_crypto: bool,
    /// By overwriting (bit 14).
    pub can_overwrite: bool,
    /// By block erase (bit 15).
    pub can_block: bool,
}

/// One attribute of SMART READ DATA. What it counts, and in which unit, is the vendor's; the name is what most of them
/// mean by its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtaAttribute {
    /// Its number.
    pub id: u8,
    /// Meaning that most vendors give it; `None` when there is no such agreement.
    pub name: Option<String>,
    /// Normalised value: 1 to 253, and less is worse.
    pub value: u8,
    /// Least normalised value ever.
    pub worst: u8,
    /// Value at or below which the attribute has failed; 0 for one that never fails; `None` when not reported.
    pub threshold: Option<u8>,
    /// The six bytes behind, as a number; vendors pack several into it.
    pub raw: u64,
    /// True when failing it means that the drive will fail soon; otherwise it only shows its age.
    pub is_prefailure: bool,
    /// State relative to its threshold.
    pub state: AttributeState,
}

/// State of an attribute relative to its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttributeState {
    /// Above it, always.
    Good,
    /// Above it now, and once not.
    FailedBefore,
    /// Not above it.
    Failing,
    /// There is no threshold.
    NoThreshold,
}

/// One of the device statistics (ACS-4, log 04h).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtaStatistic {
    /// Page of the log.
    pub page: u8,
    /// Place in the page, in bytes.
    pub offset: u16,
    /// The standard's name.
    pub name: String,
    /// Its value; a temperature may be below zero.
    pub value: i64,
    /// True when the drive says that its own condition of it is met.
    pub is_condition_met: bool,
}
