//! Health data of an NVMe drive (NVM Express base specification 2.0; OCP datacenter NVMe SSD specification 2.0).

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// All that was read of a namespace and its controller.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NvmeDetail {
    /// Capabilities of the controller; `None` when it could not be asked.
    pub controller: Option<NvmeController>,
    /// How this namespace is made; `None` when it could not be asked.
    pub namespace: Option<NvmeNamespace>,
    /// SMART / health information, log page 02h; `None` when it could not be asked.
    pub smart: Option<NvmeSmart>,
    /// Log page 09h of the namespace's endurance group; `None` when the drive has none.
    pub endurance_group: Option<NvmeEnduranceGroup>,
    /// Log page C0h as OCP defines it; `None` when the drive has none.
    pub ocp: Option<NvmeOcp>,
    /// Log page 81h; `None` when the drive cannot sanitize.
    pub sanitize: Option<NvmeSanitize>,
}

/// From Identify controller (CNS 01h).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmeController {
    /// PCI vendor identifier (bytes 1:0).
    pub vendor_id: u16,
    /// Version of NVMe as major, minor, tertiary (bytes 83:80); zeros before NVMe 1.2.
    pub version: [u16; 3],
    /// Capacity of all namespaces and what is not in one (TNVMCAP, bytes 295:280); `None` when not reported.
    pub total_bytes: Option<Bytes>,
    /// Capacity in no namespace (UNVMCAP, bytes 311:296); `None` when not reported.
    pub unallocated_bytes: Option<Bytes>,
    /// Most namespaces (NN, bytes 519:516).
    pub namespaces_max: u32,
    /// Composite temperature from which it warns, in degrees Celsius (WCTEMP, bytes 267:266); `None` when not reported.
    pub temperature_warning_c: Option<i32>,
    /// Composite temperature that is critical, in degrees Celsius (CCTEMP, bytes 269:268); `None` when not reported.
    pub temperature_critical_c: Option<i32>,
    /// Security Send and Receive (OACS bit 0).
    pub can_security: bool,
    /// Format NVM (OACS bit 1).
    pub can_format: bool,
    /// Namespaces can be made and removed (OACS bit 3).
    pub can_manage_namespaces: bool,
    /// Format applies to all namespaces (FNA bit 0).
    pub formats_all: bool,
    /// Erasing by Format applies to all namespaces (FNA bit 1).
    pub erases_all: bool,
    /// Format can erase cryptographically (FNA bit 2).
    pub can_crypto_erase: bool,
    /// Sanitize by cryptographic erase (SANICAP bit 0).
    pub can_sanitize_crypto: bool,
    /// Sanitize by block erase (SANICAP bit 1).
    pub can_sanitize_block: bool,
    /// Sanitize by overwriting (SANICAP bit 2).
    pub can_sanitize_overwrite: bool,
    /// Dataset management, which deallocates (ONCS bit 2).
    pub can_deallocate: bool,
    /// Write Zeroes (ONCS bit 3).
    pub can_write_zeroes: bool,
    /// A volatile write cache (VWC bit 0).
    pub has_volatile_cache: bool,
    /// Endurance groups (CTRATT bit 4).
    pub has_endurance_groups: bool,
    /// Thermal management by the host (HCTMA bit 0), whose transitions are all that NVMe counts of throttling.
    pub has_thermal_management: bool,
}

impl NvmeController {
    /// True when Sanitize is there in any form.
    pub fn can_sanitize(&self) -> bool {
        self.can_sanitize_crypto || self.can_sanitize_block || self.can_sanitize_overwrite
    }
}

/// From Identify namespace (CNS 00h).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmeNamespace {
    /// Its identifier.
    pub nsid: u32,
    /// Size in logical blocks (NSZE, bytes 7:0).
    pub size_blocks: u64,
    /// Logical blocks that may be allocated at once (NCAP, bytes 15:8).
    pub capacity_blocks: u64,
    /// Logical blocks that are allocated (NUSE, bytes 23:16). Drives that do not follow it show the size.
    pub used_blocks: u64,
    /// The format in use, as a place in `formats` (FLBAS).
    pub format: u16,
    /// Formats that it can be given.
    pub formats: Vec<NvmeFormat>,
    /// Metadata is transferred at the end of each block's data, and not by itself (FLBAS bit 4).
    #[serde(default)]
    pub has_extended_metadata: bool,
    /// Type of end-to-end protection; 0 for none (DPS bits 2:0, byte 29).
    #[serde(default)]
    pub protection_type: u8,
    /// Protection information is at the beginning of the metadata (DPS bit 3).
    #[serde(default)]
    pub is_protection_first: bool,
    /// Endurance group that it lies in; 0 for none (bytes 103:102).
    pub endurance_group: u16,
}

impl NvmeNamespace {
    /// Size of a logical block as it is formatted; `None` when the drive names a format that it does not have.
    pub fn block_bytes(&self) -> Option<Bytes> {
        let format = self.formats.get(usize::from(self.format))?;
        Some(format.data_bytes).filter(|bytes| bytes.0 > 0)
    }

    /// Its size.
    pub fn size_bytes(&self) -> Option<Bytes> {
        self.size_blocks.checked_mul(self.block_bytes()?.0).map(Bytes)
    }
}

/// One LBA format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmeFormat {
    /// Data of a logical block; zero for a place that holds no format.
    pub data_bytes: Bytes,
    /// Metadata of a logical block.
    pub metadata_bytes: Bytes,
    /// 0 best, 1 better, 2 good, 3 degraded.
    pub performance: u8,
}

/// SMART / health information (log page 02h). Counters that are longer than 64 bits in the drive and do not fit stop at
/// the greatest number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmeSmart {
    /// Critical warning (byte 0): bit 0 spare, 1 temperature, 2 reliability, 3 read-only, 4 backup of the volatile
    /// memory, 5 persistent memory region.
    pub critical_warning: u8,
    /// Composite temperature in kelvin (bytes 2:1); 0 when not reported.
    pub temperature_k: u16,
    /// Available spare in percent (byte 3).
    pub spare_percent: u8,
    /// Spare below which it warns, in percent (byte 4).
    pub spare_threshold_percent: u8,
    /// Estimate of the life used in percent; 255 means 255 or more (byte 5). Updated once per hour of power.
    pub life_used_percent: u8,
    /// Data read in units of 1000 × 512 bytes, rounded up (bytes 47:32).
    pub data_units_read: u64,
    /// Data written in units of 1000 × 512 bytes, rounded up (bytes 63:48).
    pub data_units_written: u64,
    /// Read commands (bytes 79:64).
    pub host_reads: u64,
    /// Write commands (bytes 95:80).
    pub host_writes: u64,
    /// Minutes busy with I/O (bytes 111:96).
    pub busy_minutes: u64,
    /// Power cycles (bytes 127:112).
    pub power_cycles: u64,
    /// Hours with power, perhaps without those in a state of low power (bytes 143:128).
    pub power_on_hours: u64,
    /// Power losses without notice (bytes 159:144).
    pub unsafe_shutdowns: u64,
    /// Unrecovered data integrity errors (bytes 175:160).
    pub media_errors: u64,
    /// Entries of the error log over its life (bytes 191:176). Commands that the drive refused count too.
    pub error_log_entries: u64,
    /// Minutes at or above the warning temperature (bytes 195:192).
    pub warning_temperature_minutes: u32,
    /// Minutes at or above the critical temperature (bytes 199:196).
    pub critical_temperature_minutes: u32,
    /// Sensors 1 to 8 in kelvin; 0 for one that is not there (bytes 215:200).
    pub sensors_k: [u16; 8],
    /// Transitions into the light state of thermal management (bytes 219:216).
    pub light_throttle_events: u32,
    /// Transitions into the heavy state of thermal management (bytes 223:220).
    pub heavy_throttle_events: u32,
    /// Seconds in the light state (bytes 227:224).
    pub light_throttle_seconds: u32,
    /// Seconds in the heavy state (bytes 231:228).
    pub heavy_throttle_seconds: u32,
}

/// Endurance group information (log page 09h). The counts of bytes are kept in thousands of millions, rounded up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmeEnduranceGroup {
    /// Its identifier.
    pub id: u16,
    /// Critical warning (byte 0): bit 0 spare, 2 reliability, 3 read-only.
    pub critical_warning: u8,
    /// Available spare in percent (byte 3).
    pub spare_percent: u8,
    /// Spare below which it warns, in percent (byte 4).
    pub spare_threshold_percent: u8,
    /// Life used in percent (byte 5).
    pub life_used_percent: u8,
    /// Bytes that may be written in its life (bytes 47:32); `None` when not reported.
    pub endurance_bytes: Option<Bytes>,
    /// Bytes that hosts read (bytes 63:48); `None` when not reported.
    pub host_read_bytes: Option<Bytes>,
    /// Bytes that hosts wrote (bytes 79:64); `None` when not reported.
    pub host_write_bytes: Option<Bytes>,
    /// Bytes that its medium was programmed with (bytes 95:80); `None` when not reported.
    pub media_write_bytes: Option<Bytes>,
    /// Unrecovered data integrity errors (bytes 143:128).
    pub media_errors: u64,
}

/// OCP's SMART / health information (log page C0h). A field that a drive fills with ones is not reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmeOcp {
    /// Bytes that the medium was programmed with (bytes 15:0).
    pub media_write_bytes: Option<Bytes>,
    /// Bytes that were read from the medium (bytes 31:16).
    pub media_read_bytes: Option<Bytes>,
    /// Bad blocks of user data (bytes 37:32).
    pub bad_user_blocks: Option<u64>,
    /// Bad blocks of the drive's own data (bytes 45:40).
    pub bad_system_blocks: Option<u64>,
    /// Recoveries by parity across dies (bytes 55:48).
    pub parity_recoveries: Option<u64>,
    /// Reads that could not be corrected (bytes 63:56).
    pub uncorrectable_reads: Option<u64>,
    /// Life used of the drive's own data, in percent (byte 80).
    pub system_life_used_percent: Option<u8>,
    /// Most erasures of a block (bytes 91:88).
    pub erases_max: Option<u32>,
    /// Least erasures of a block (bytes 95:92).
    pub erases_min: Option<u32>,
    /// Times at which heat slowed it (byte 96; it wraps after 255).
    pub throttle_events: Option<u8>,
    /// How much heat slows it now (byte 97): 0 not at all, then levels.
    pub throttle_now: Option<u8>,
    /// Shutdowns that did not save everything (bytes 115:112).
    pub incomplete_shutdowns: Option<u32>,
    /// Share of blocks that are free, in percent (byte 120).
    pub free_blocks_percent: Option<u8>,
    /// Energy margin of the capacitors, in percent of what it must be when the drive leaves the factory (bytes
    /// 129:128).
    pub capacitor_percent: Option<u16>,
    /// Version of the page (bytes 495:494).
    pub page_version: u16,
}

/// Result of the last Sanitize (log page 81h).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvmeSanitize {
    /// Progress in 65536ths (bytes 1:0); 65535 when none is under way.
    pub progress_65536ths: u16,
    /// State (SSTAT bits 2:0, byte 2).
    pub state: NvmeSanitizeState,
    /// True when nothing was written since the last one that succeeded, or since the drive was made (SSTAT bit 8).
    pub is_unwritten_since: bool,
    /// Seconds that overwriting would take (bytes 11:8); `None` when not reported.
    pub overwrite_seconds: Option<u32>,
    /// Seconds that block erase would take (bytes 15:12); `None` when not reported.
    pub block_seconds: Option<u32>,
    /// Seconds that cryptographic erase would take (bytes 19:16); `None` when not reported.
    pub crypto_seconds: Option<u32>,
}

/// States of Sanitize.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NvmeSanitizeState {
    /// None was ever begun.
    #[default]
    Never,
    /// The last one succeeded.
    Done,
    /// One is under way.
    Running,
    /// The last one failed.
    Failed,
    /// The last one succeeded and left blocks allocated.
    DoneAllocated,
    /// A state that is not known.
    Unknown,
}
