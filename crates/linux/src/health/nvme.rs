//! Asking an NVMe drive (offsets: NVM Express base specification 2.0, Identify and Get Log Page; OCP datacenter NVMe
//! SSD specification 2.0, SMART cloud attributes).

mod decode;

use block::Bytes;
use block::health::{
    Detail, Health, NvmeController, NvmeDetail, NvmeEnduranceGroup, NvmeOcp, NvmeSanitize,
    NvmeSmart,
};

use super::asked::Asked;
use crate::passthrough::nvme::{ALL_NAMESPACES, LogPage, identify, log_page};
use crate::passthrough::{CommandError, Commands};

pub(super) use decode::celsius;
pub use decode::{controller, endurance_group, namespace, ocp, sanitize, smart};

/// Unit of the counts of data in the SMART log: a thousand times 512 bytes, rounded up.
pub const DATA_UNIT_BYTES: u64 = 512_000;

/// Bytes of the SMART, endurance, sanitize and OCP logs.
pub(super) const LOG_BYTES: usize = 512;

/// Bytes of the log of supported pages.
const SUPPORTED_BYTES: usize = 1024;

/// Reads what an NVMe drive reports about itself and about its namespace `nsid`.
///
/// No request changes anything: logs are read with "retain asynchronous event" where the drive knows it, and pages
/// that the drive may not have are not read, since many drives count a refused command as an error.
pub(super) fn read<C: Commands + ?Sized>(
    commands: &mut C,
    device: &str,
    nsid: Option<u32>,
) -> Health {
    let mut health = Health::of(device);
    let mut detail = NvmeDetail::default();
    let mut asked = Asked::default();
    let identified = asked.keep(identify(commands, 1, 0)).map(|bytes| {
        (health.model, health.serial, health.firmware) = decode::names(&bytes);
        controller(&bytes)
    });
    if let Some(nsid) = nsid.filter(|_| identified.is_some()) {
        detail.namespace = asked.keep(identify(commands, 0, nsid)).map(|b| namespace(&b, nsid));
    }
    let known = identified.clone().unwrap_or_default();
    detail.smart = asked.keep(smart_log(commands, &known));
    if identified.is_some() {
        detail.endurance_group = asked.keep(group_log(commands, &known, &detail)).flatten();
        detail.ocp = asked.keep(ocp_log(commands, &known)).flatten();
        detail.sanitize = asked.keep(sanitize_log(commands, &known)).flatten();
    }
    detail.controller = identified;
    fill(&mut health, &detail);
    explain(&mut health, &detail);
    health.detail = Detail::Nvme(Box::new(detail));
    health.complete(&asked.why("NVMe's logs do not report it"))
}

/// Version from which a log can be asked for without that counting as having seen it.
const RETAINS_FROM: [u16; 3] = [1, 3, 0];

/// Version from which a drive reports which logs it has.
const TELLS_LOGS_FROM: [u16; 3] = [2, 0, 0];

fn page<C: Commands + ?Sized, const N: usize>(
    commands: &mut C,
    controller: &NvmeController,
    name: &'static str,
    id: u8,
    specific: u16,
) -> Result<[u8; N], CommandError> {
    let retain_events = controller.version >= RETAINS_FROM;
    // The sanitize log and those of groups are of no namespace; for them all ones are taken as well as zero.
    let log = LogPage { name, id, nsid: ALL_NAMESPACES, specific, retain_events };
    let mut bytes = [0; N];
    log_page(commands, log, &mut bytes)?;
    Ok(bytes)
}

/// Reads the SMART / health log, 02h.
///
/// # Errors
/// Those of [`Commands::nvme_admin`].
pub fn smart_log<C: Commands + ?Sized>(
    commands: &mut C,
    controller: &NvmeController,
) -> Result<NvmeSmart, CommandError> {
    let name = "Get Log Page (SMART / health)";
    page::<C, LOG_BYTES>(commands, controller, name, 0x02, 0).map(|bytes| smart(&bytes))
}

fn group_log<C: Commands + ?Sized>(
    commands: &mut C,
    controller: &NvmeController,
    detail: &NvmeDetail,
) -> Result<Option<NvmeEnduranceGroup>, CommandError> {
    let group = detail.namespace.as_ref().map_or(0, |namespace| namespace.endurance_group);
    if !controller.has_endurance_groups || group == 0 {
        return Ok(None);
    }
    group_of(commands, controller, group).map(Some)
}

pub(super) fn group_of<C: Commands + ?Sized>(
    commands: &mut C,
    controller: &NvmeController,
    group: u16,
) -> Result<NvmeEnduranceGroup, CommandError> {
    let name = "Get Log Page (endurance group)";
    let bytes = page::<C, LOG_BYTES>(commands, controller, name, 0x09, group)?;
    Ok(endurance_group(&bytes, group))
}

/// Asks for OCP's log where the drive says that it has a page C0h, or where it is of a sort that usually has it: all
/// drives by OCP's specification can manage namespaces, and those for a single computer cannot.
pub(super) fn ocp_log<C: Commands + ?Sized>(
    commands: &mut C,
    controller: &NvmeController,
) -> Result<Option<NvmeOcp>, CommandError> {
    let is_there = if controller.version >= TELLS_LOGS_FROM {
        let name = "Get Log Page (supported log pages)";
        match page::<C, SUPPORTED_BYTES>(commands, controller, name, 0x00, 0) {
            Ok(bytes) => bytes[0xc0 * 4] & 1 != 0,
            Err(error) if error.is_unsupported() => false,
            Err(error) => return Err(error),
        }
    } else {
        controller.can_manage_namespaces
    };
    if !is_there {
        return Ok(None);
    }
    match ocp_page(commands, controller) {
        Err(error) if error.is_unsupported() => Ok(None),
        answer => answer,
    }
}

/// OCP's log; `None` when page C0h is something else, as its GUID shows.
pub(super) fn ocp_page<C: Commands + ?Sized>(
    commands: &mut C,
    controller: &NvmeController,
) -> Result<Option<NvmeOcp>, CommandError> {
    let name = "Get Log Page (OCP SMART)";
    page::<C, LOG_BYTES>(commands, controller, name, 0xc0, 0).map(|bytes| ocp(&bytes))
}

/// Reads the state of Sanitize, log page 81h, where the drive can sanitize.
///
/// # Errors
/// Those of [`Commands::nvme_admin`].
pub fn sanitize_log<C: Commands + ?Sized>(
    commands: &mut C,
    controller: &NvmeController,
) -> Result<Option<NvmeSanitize>, CommandError> {
    if !controller.can_sanitize() {
        return Ok(None);
    }
    let name = "Get Log Page (sanitize status)";
    page::<C, LOG_BYTES>(commands, controller, name, 0x81, 0).map(|bytes| Some(sanitize(&bytes)))
}

/// Critical warnings that say that the drive fails: spare, reliability, read-only, backup of its memory.
const FAILURES: u8 = 0b1_1101;

fn fill(health: &mut Health, detail: &NvmeDetail) {
    if let Some(controller) = &detail.controller {
        health.temperature_warning_c = controller.temperature_warning_c;
        health.temperature_critical_c = controller.temperature_critical_c;
    }
    // A namespace that is not there any more is all zeros.
    let size = detail.namespace.as_ref().and_then(|namespace| namespace.size_bytes());
    health.capacity_bytes = size.filter(|size| size.0 > 0);
    if let Some(smart) = &detail.smart {
        health.says_good = match smart.critical_warning {
            0 => Some(true),
            bits if bits & FAILURES != 0 => Some(false),
            _ => None,
        };
        health.temperature_c = celsius(smart.temperature_k);
        health.life_used_percent = Some(smart.life_used_percent.into());
        // A drive of no spare at all would warn of it.
        let counts_spare = smart.spare_percent > 0 || smart.spare_threshold_percent > 0;
        let is_told = counts_spare || smart.critical_warning & 1 != 0;
        health.spare_percent = Some(smart.spare_percent.into()).filter(|_| is_told);
        health.host_read_bytes = units(smart.data_units_read);
        health.host_write_bytes = units(smart.data_units_written);
        health.host_unit_bytes = Some(Bytes(DATA_UNIT_BYTES));
        health.power_on_hours = Some(smart.power_on_hours);
        health.power_cycles = Some(smart.power_cycles);
        health.unsafe_shutdowns = Some(smart.unsafe_shutdowns);
        health.media_errors = Some(smart.media_errors);
        let times = u64::from(smart.light_throttle_events) + u64::from(smart.heavy_throttle_events);
        let counts = detail.controller.as_ref().is_some_and(|c| c.has_thermal_management);
        health.throttle_events = Some(times).filter(|times| counts || *times > 0);
    }
    health.media_write_bytes = media_write_bytes(detail);
}

/// Bytes written to the media: from OCP's log, which counts bytes, or from that of the endurance group, which counts
/// billions of bytes.
fn media_write_bytes(detail: &NvmeDetail) -> Option<Bytes> {
    let of_group = || detail.endurance_group.as_ref()?.media_write_bytes;
    detail.ocp.as_ref().and_then(|ocp| ocp.media_write_bytes).or_else(of_group)
}

pub(super) fn units(count: u64) -> Option<Bytes> {
    count.checked_mul(DATA_UNIT_BYTES).map(Bytes)
}

/// Adds reasons that say more than "not reported".
fn explain(health: &mut Health, detail: &NvmeDetail) {
    let mut why = |name: &str, reason: &str| {
        health.missing.insert(name.to_owned(), reason.to_owned());
    };
    why("temperature_highest_c", "NVMe's log does not keep it");
    if let Some(smart) = &detail.smart {
        if smart.critical_warning != 0 {
            why("says_good", "it warns, and not of a failure");
        }
        why("spare_percent", "it states none, with a threshold of zero, and does not warn of that");
        why("temperature_c", "its log has no composite temperature");
        let beyond = "its counter holds more than a drive can have written or read";
        why("host_read_bytes", beyond);
        why("host_write_bytes", beyond);
        let thermal =
            "NVMe counts only what its thermal management by the host does, and the drive has none";
        why("throttle_events", thermal);
        let no_log =
            "no log that counts writes to the medium: neither an endurance group's nor OCP's";
        why("media_write_bytes", no_log);
    }
    if detail.controller.is_some() {
        why("temperature_warning_c", "it states no such temperature (WCTEMP is zero)");
        why("temperature_critical_c", "it states no such temperature (CCTEMP is zero)");
    }
}
