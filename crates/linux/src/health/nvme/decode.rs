//! NVMe's data structures, taken apart. Nothing here can fail: a field that a drive leaves out is zero.

use block::Bytes;
use block::health::{
    NvmeController, NvmeEnduranceGroup, NvmeFormat, NvmeNamespace, NvmeOcp, NvmeSanitize,
    NvmeSanitizeState, NvmeSmart,
};

use crate::health::bytes::{array, byte, text, u16_le, u32_le, u64_le, u128_le};

/// OCP's GUID of its page C0h, as in bytes 511:496, the last byte first.
const OCP_GUID: u128 = 0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5;

/// Unit of the counts of an endurance group.
const GROUP_UNIT_BYTES: u64 = 1_000_000_000;

/// Zero degrees Celsius in the specification's whole kelvins.
const ZERO_CELSIUS_K: i32 = 273;

/// Degrees Celsius of the whole kelvins that the drive reports; `None` for zero, which means "not reported".
pub(in crate::health) fn celsius(kelvin: u16) -> Option<i32> {
    (kelvin != 0).then(|| i32::from(kelvin) - ZERO_CELSIUS_K)
}

/// Model, serial number and firmware revision of Identify controller.
pub(super) fn names(bytes: &[u8]) -> (Option<String>, Option<String>, Option<String>) {
    let field = |from: usize, to: usize| text(bytes.get(from..to).unwrap_or_default());
    (field(24, 64), field(4, 24), field(64, 72))
}

/// Identify controller (CNS 01h), 4096 bytes.
pub fn controller(bytes: &[u8]) -> NvmeController {
    let version = u32_le(bytes, 80);
    let sanitize = u32_le(bytes, 328);
    let admin = u16_le(bytes, 256);
    let commands = u16_le(bytes, 520);
    let format = byte(bytes, 524);
    let capacity = |at: usize| Some(Bytes(u128_le(bytes, at))).filter(|told| told.0 > 0);
    // Managing namespaces makes both capacities mandatory; without it zero means "not reported".
    let manages = admin & 1 << 3 != 0;
    let unallocated = Some(Bytes(u128_le(bytes, 296)));
    NvmeController {
        vendor_id: u16_le(bytes, 0),
        version: [(version >> 16) as u16, (version >> 8 & 0xff) as u16, (version & 0xff) as u16],
        total_bytes: capacity(280),
        unallocated_bytes: unallocated.filter(|bytes| manages || bytes.0 > 0),
        namespaces_max: u32_le(bytes, 516),
        temperature_warning_c: celsius(u16_le(bytes, 266)),
        temperature_critical_c: celsius(u16_le(bytes, 268)),
        can_security: admin & 1 != 0,
        can_format: admin & 1 << 1 != 0,
        can_manage_namespaces: manages,
        formats_all: format & 1 != 0,
        erases_all: format & 1 << 1 != 0,
        can_crypto_erase: format & 1 << 2 != 0,
        can_sanitize_crypto: sanitize & 1 != 0,
        can_sanitize_block: sanitize & 1 << 1 != 0,
        can_sanitize_overwrite: sanitize & 1 << 2 != 0,
        can_deallocate: commands & 1 << 2 != 0,
        can_write_zeroes: commands & 1 << 3 != 0,
        has_volatile_cache: byte(bytes, 525) & 1 != 0,
        has_endurance_groups: u32_le(bytes, 96) & 1 << 4 != 0,
        has_thermal_management: u16_le(bytes, 322) & 1 != 0,
    }
}

/// Identify namespace (CNS 00h), 4096 bytes, of the namespace `nsid`.
pub fn namespace(bytes: &[u8], nsid: u32) -> NvmeNamespace {
    // Counted from zero; there is room for 64.
    let count = usize::from(byte(bytes, 25)).min(63) + 1;
    let format = |index: usize| {
        let [metadata_low, metadata_high, shift, performance] = array(bytes, 128 + 4 * index);
        // A block has at least 512 bytes, and at most what a page of 64 bits can hold; the rest is not a format.
        let data =
            Some(shift).filter(|shift| (9..63).contains(shift)).map_or(0, |shift| 1 << shift);
        NvmeFormat {
            data_bytes: Bytes(data),
            metadata_bytes: Bytes(u16::from_le_bytes([metadata_low, metadata_high]).into()),
            performance: performance & 3,
        }
    };
    let flbas = byte(bytes, 26);
    // Bits 6:5 go on where 16 formats are not enough; drives before NVMe 2.0 may hold anything there.
    let upper = if count > 16 { flbas >> 5 & 3 } else { 0 };
    NvmeNamespace {
        nsid,
        size_blocks: u64_le(bytes, 0),
        capacity_blocks: u64_le(bytes, 8),
        used_blocks: u64_le(bytes, 16),
        format: u16::from(upper) << 4 | u16::from(flbas & 0x0f),
        formats: (0..count).map(format).collect(),
        has_extended_metadata: flbas & 1 << 4 != 0,
        protection_type: byte(bytes, 29) & 7,
        is_protection_first: byte(bytes, 29) & 1 << 3 != 0,
        endurance_group: u16_le(bytes, 102),
    }
}

/// SMART / health information (log page 02h), 512 bytes.
pub fn smart(bytes: &[u8]) -> NvmeSmart {
    let mut sensors_k = [0; 8];
    for (index, sensor) in sensors_k.iter_mut().enumerate() {
        *sensor = u16_le(bytes, 200 + 2 * index);
    }
    NvmeSmart {
        critical_warning: byte(bytes, 0),
        temperature_k: u16_le(bytes, 1),
        spare_percent: byte(bytes, 3),
        spare_threshold_percent: byte(bytes, 4),
        life_used_percent: byte(bytes, 5),
        data_units_read: u128_le(bytes, 32),
        data_units_written: u128_le(bytes, 48),
        host_reads: u128_le(bytes, 64),
        host_writes: u128_le(bytes, 80),
        busy_minutes: u128_le(bytes, 96),
        power_cycles: u128_le(bytes, 112),
        power_on_hours: u128_le(bytes, 128),
        unsafe_shutdowns: u128_le(bytes, 144),
        media_errors: u128_le(bytes, 160),
        error_log_entries: u128_le(bytes, 176),
        warning_temperature_minutes: u32_le(bytes, 192),
        critical_temperature_minutes: u32_le(bytes, 196),
        sensors_k,
        light_throttle_events: u32_le(bytes, 216),
        heavy_throttle_events: u32_le(bytes, 220),
        light_throttle_seconds: u32_le(bytes, 224),
        heavy_throttle_seconds: u32_le(bytes, 228),
    }
}

/// Endurance group information (log page 09h), 512 bytes, of the group `id`.
pub fn endurance_group(bytes: &[u8], id: u16) -> NvmeEnduranceGroup {
    // Zero is "not reported".
    let billions = |at: usize| {
        u128_le(bytes, at).checked_mul(GROUP_UNIT_BYTES).filter(|told| *told > 0).map(Bytes)
    };
    NvmeEnduranceGroup {
        id,
        critical_warning: byte(bytes, 0),
        spare_percent: byte(bytes, 3),
        spare_threshold_percent: byte(bytes, 4),
        life_used_percent: byte(bytes, 5),
        endurance_bytes: billions(32),
        host_read_bytes: billions(48),
        host_write_bytes: billions(64),
        media_write_bytes: billions(80),
        media_errors: u128_le(bytes, 128),
    }
}

/// OCP's SMART / health information (log page C0h), 512 bytes; `None` when its GUID is another, or none.
pub fn ocp(bytes: &[u8]) -> Option<NvmeOcp> {
    if u128::from_le_bytes(array(bytes, 496)) != OCP_GUID {
        return None;
    }
    // Fields that a drive does not have are all ones.
    let long = |at: usize| {
        let value = u128::from_le_bytes(array(bytes, at));
        u64::try_from(value).ok().filter(|told| *told != u64::MAX).map(Bytes)
    };
    let of_six = |at: usize| {
        let value = u64_le(bytes, at) & 0xffff_ffff_ffff;
        Some(value).filter(|told| *told != 0xffff_ffff_ffff)
    };
    let of_eight = |at: usize| Some(u64_le(bytes, at)).filter(|told| *told != u64::MAX);
    let of_four = |at: usize| Some(u32_le(bytes, at)).filter(|told| *told != u32::MAX);
    let of_one = |at: usize| Some(byte(bytes, at)).filter(|told| *told != u8::MAX);
    Some(NvmeOcp {
        media_write_bytes: long(0),
        media_read_bytes: long(16),
        bad_user_blocks: of_six(32),
        bad_system_blocks: of_six(40),
        parity_recoveries: of_eight(48),
        uncorrectable_reads: of_eight(56),
        system_life_used_percent: of_one(80),
        erases_max: of_four(88),
        erases_min: of_four(92),
        // All ones are a count here, after which it wraps.
        throttle_events: Some(byte(bytes, 96)),
        throttle_now: of_one(97),
        incomplete_shutdowns: of_four(112),
        free_blocks_percent: of_one(120),
        capacitor_percent: Some(u16_le(bytes, 128)).filter(|told| *told != u16::MAX),
        page_version: u16_le(bytes, 494),
    })
}

/// Sanitize status (log page 81h), 512 bytes.
pub fn sanitize(bytes: &[u8]) -> NvmeSanitize {
    let status = u16_le(bytes, 2);
    let seconds = |at: usize| Some(u32_le(bytes, at)).filter(|told| *told != u32::MAX);
    NvmeSanitize {
        progress_65536ths: u16_le(bytes, 0),
        state: match status & 7 {
            0 => NvmeSanitizeState::Never,
            1 => NvmeSanitizeState::Done,
            2 => NvmeSanitizeState::Running,
            3 => NvmeSanitizeState::Failed,
            4 => NvmeSanitizeState::DoneAllocated,
            _ => NvmeSanitizeState::Unknown,
        },
        is_unwritten_since: status & 1 << 8 != 0,
        overwrite_seconds: seconds(8),
        block_seconds: seconds(12),
        crypto_seconds: seconds(16),
    }
}
