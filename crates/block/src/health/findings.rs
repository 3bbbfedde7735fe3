//! Findings about the health data of a drive: pure functions of the facts.
//!
//! A finding rests on what the drive says of itself or on a limit that it states; no limit is ours, but for two that
//! everybody shares: life that is used up, and errors that are more than none.

use serde::{Deserialize, Serialize};

use super::{
    AtaDetail, AttributeState, Detail, Health, MmcDetail, NvmeDetail, NvmeSanitizeState, NvmeSmart,
    PreEol, ScsiDetail,
};

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The drive fails, or says that it will: save the data.
    Critical,
    /// Something is wrong, or near its end.
    Warning,
    /// Worth knowing.
    Note,
}

/// One thought about a drive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name for programs, such as `spare_low`.
    pub code: String,
    /// How grave it is.
    pub severity: Severity,
    /// Cause, without a full stop.
    pub cause: String,
    /// Remedy, without a full stop.
    pub remedy: String,
}

/// Verdict on a drive, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It judges itself good, and nothing speaks against it.
    Good,
    /// Something speaks against it, and it has not failed.
    Attention,
    /// It has failed, or says that it will.
    Bad,
    /// It does not judge itself, and nothing that it reports speaks against it. That does not make it good.
    NotTold,
}

/// Life used, in percent, from which an end is near.
const LIFE_NEARLY_USED_PERCENT: u32 = 90;

/// Codes of warnings that last: wear at its end, and data that were lost.
const LASTING: [&str; 5] =
    ["life_used_up", "media_errors", "attribute_used_up", "pending_sectors", "reserve_low"];

impl Finding {
    /// True of a failure, of wear at its end and of data that were lost: it is bad for the user, and does not pass as heat does.
    pub fn is_bad(&self) -> bool {
        self.severity == Severity::Critical || LASTING.contains(&self.code.as_str())
    }
}

const SAVE: &str = "save the data on it now, and replace it";
const REPLACE: &str = "plan its replacement";

/// Findings while they are made.
#[derive(Default)]
struct Found(Vec<Finding>);

impl Found {
    fn add(&mut self, severity: Severity, code: &str, cause: impl Into<String>, remedy: &str) {
        self.0.push(Finding {
            code: code.to_owned(),
            severity,
            cause: cause.into(),
            remedy: remedy.to_owned(),
        });
    }

    fn critical(&mut self, code: &str, cause: impl Into<String>, remedy: &str) {
        self.add(Severity::Critical, code, cause, remedy);
    }

    fn warning(&mut self, code: &str, cause: impl Into<String>, remedy: &str) {
        self.add(Severity::Warning, code, cause, remedy);
    }

    fn note(&mut self, code: &str, cause: impl Into<String>, remedy: &str) {
        self.add(Severity::Note, code, cause, remedy);
    }
}

/// All findings, the worst first.
pub(super) fn all(health: &Health) -> Vec<Finding> {
    let mut found = Found::default();
    match &health.detail {
        Detail::Nvme(detail) => nvme(detail, &mut found),
        Detail::Ata(detail) => ata(detail, health, &mut found),
        Detail::Scsi(detail) => scsi(detail, &mut found),
        Detail::Mmc(detail) => mmc(detail, &mut found),
        Detail::Virtual | Detail::None => {}
    }
    common(health, &mut found);
    found.0.sort_by_key(|finding| finding.severity);
    found.0
}

/// The word for it all.
pub(super) fn standing(says_good: Option<bool>, findings: &[Finding]) -> Standing {
    let has = |severity| findings.iter().any(|finding| finding.severity == severity);
    match says_good {
        Some(false) => Standing::Bad,
        _ if has(Severity::Critical) => Standing::Bad,
        _ if has(Severity::Warning) => Standing::Attention,
        Some(true) => Standing::Good,
        None => Standing::NotTold,
    }
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn common(health: &Health, found: &mut Found) {
    if health.is_asleep {
        found.note(
            "asleep",
            "it rests with its motor off, and was not asked what could wake it",
            "ask again when it is in use, or with --wake",
        );
    }
    temperature(health, found);
    match health.life_used_percent {
        Some(percent) if percent >= 100 => found.warning(
            "life_used_up",
            format!("life used: {percent}%; its rated endurance is used up"),
            "plan its replacement; it may go on for long, and its maker no longer vouches for it",
        ),
        Some(percent) if percent >= LIFE_NEARLY_USED_PERCENT => {
            found.note("life_nearly_used", format!("life used: {percent}%"), REPLACE);
        }
        _ => {}
    }
    if let Some(errors) = health.media_errors.filter(|errors| *errors > 0) {
        found.warning(
            "media_errors",
            format!("{} over its life", plural(errors, "uncorrected error", "uncorrected errors")),
            "check the data on it against a copy, and watch whether the count grows",
        );
    }
    if let Some(times) = health.unsafe_shutdowns.filter(|times| *times > 0) {
        found.note(
            "unsafe_shutdowns",
            format!("power went without notice {}", plural(times, "time", "times")),
            "none, where that is known; where the count grows, look at power supply and shutdown",
        );
    }
}

fn temperature(health: &Health, found: &mut Found) {
    let Some(degrees) = health.temperature_c else { return };
    let reached = |limit: Option<i32>| limit.filter(|limit| degrees >= *limit);
    if let Some(limit) = reached(health.temperature_critical_c) {
        found.critical(
            "temperature_critical",
            format!("{degrees} °C, at or above the {limit} °C that it calls critical"),
            "stop the load and cool it",
        );
    } else if let Some(limit) = reached(health.temperature_warning_c) {
        found.warning(
            "temperature_warning",
            format!("{degrees} °C, at or above the {limit} °C from which it warns"),
            "cool it before measuring: it may slow itself down",
        );
    }
}

fn nvme(detail: &NvmeDetail, found: &mut Found) {
    if let Some(smart) = &detail.smart {
        critical_warnings(smart, found);
        heat(smart, found);
    }
    if let Some(ocp) = &detail.ocp
        && let Some(level) = ocp.throttle_now.filter(|level| *level > 0)
    {
        found.warning(
            "throttled_now",
            format!("heat slows it down now, at level {level}"),
            "cool it before measuring",
        );
    }
    if let Some(group) = &detail.endurance_group
        && group.critical_warning & 0x0d != 0
    {
        found.critical(
            "endurance_group_warning",
            format!("endurance group {} warns ({:#04x})", group.id, group.critical_warning),
            SAVE,
        );
    }
    match detail.sanitize.as_ref().map(|sanitize| sanitize.state) {
        Some(NvmeSanitizeState::Failed) => found.critical(
            "sanitize_failed",
            "its last sanitize failed, and it takes no I/O until one succeeds",
            "sanitize it again, or replace it",
        ),
        Some(NvmeSanitizeState::Running) => found.warning(
            "sanitize_running",
            "a sanitize is under way, and it takes no I/O until that ends",
            "wait for its end",
        ),
        _ => {}
    }
}

fn critical_warnings(smart: &NvmeSmart, found: &mut Found) {
    let warns = |bit: u8| smart.critical_warning & 1 << bit != 0;
    let NvmeSmart { spare_percent, spare_threshold_percent, .. } = *smart;
    if warns(0) || spare_percent < spare_threshold_percent {
        found.critical(
            "spare_low",
            format!("spare {spare_percent}%, and its threshold is {spare_threshold_percent}%"),
            SAVE,
        );
    }
    if warns(1) {
        found.warning(
            "temperature_outside",
            "critical warning: its temperature is outside its own thresholds",
            "cool it, or warm it, before measuring",
        );
    }
    if warns(2) {
        found.critical(
            "reliability_degraded",
            "critical warning: its reliability is degraded by errors",
            SAVE,
        );
    }
    if warns(3) {
        found.critical("read_only", "critical warning: its medium is read-only", SAVE);
    }
    if warns(4) {
        found.critical(
            "backup_failed",
            "critical warning: the backup of its volatile memory has failed: what it calls durable is lost with power",
            SAVE,
        );
    }
    if warns(5) {
        found.warning(
            "persistent_memory",
            "critical warning: its persistent memory region is read-only or unreliable",
            "do not use that region",
        );
    }
}

fn heat(smart: &NvmeSmart, found: &mut Found) {
    let minutes = |count: u32| plural(count.into(), "minute", "minutes");
    if smart.critical_temperature_minutes > 0 {
        let spent = minutes(smart.critical_temperature_minutes);
        found.warning(
            "critical_heat_seen",
            format!("{spent} of its life at or above its critical temperature"),
            "look at its cooling",
        );
    }
    if smart.warning_temperature_minutes > 0 {
        let spent = minutes(smart.warning_temperature_minutes);
        found.note(
            "heat_seen",
            format!("{spent} of its life at or above its warning temperature"),
            "look at its cooling, if that count grows",
        );
    }
    let throttled = u64::from(smart.light_throttle_events) + u64::from(smart.heavy_throttle_events);
    if throttled > 0 {
        found.note(
            "throttling_seen",
            format!("heat slowed it down {} in its life", plural(throttled, "time", "times")),
            "look at its cooling; what is measured while the count grows is not its speed",
        );
    }
}

fn ata(detail: &AtaDetail, health: &Health, found: &mut Found) {
    if health.says_good == Some(false) {
        found.critical(
            "smart_failing",
            "SMART says that it fails: an attribute is at or below its threshold",
            SAVE,
        );
    }
    for attribute in &detail.attributes {
        let name = attribute.name.as_deref().unwrap_or("unknown");
        let which = format!("attribute {} ({name})", attribute.id);
        match (attribute.state, attribute.is_prefailure) {
            (AttributeState::Failing, true) => {
                found.critical("attribute_failing", format!("{which} has failed"), SAVE);
            }
            (AttributeState::Failing, false) => {
                found.warning("attribute_used_up", format!("{which} is used up"), REPLACE);
            }
            (AttributeState::FailedBefore, _) => found.note(
                "attribute_failed_before",
                format!("{which} was at or below its threshold before, and is not now"),
                "look at what it counts",
            ),
            _ => {}
        }
    }
    let (has_smart, is_smart_on) =
        detail.capabilities.map_or((true, true), |can| (can.has_smart, can.is_smart_on));
    if !has_smart {
        found.note("no_smart", "it has no SMART", "watch for errors in the kernel's log");
    } else if !is_smart_on {
        found.note(
            "smart_off",
            "SMART is switched off, and it judges nothing",
            "switch it on, with smartctl --smart=on",
        );
    }
    if let Some(sectors) = detail.pending_sectors.filter(|sectors| *sectors > 0) {
        found.warning(
            "pending_sectors",
            format!("{} could not be read", plural(sectors, "sector", "sectors")),
            "check the data on it against a copy; writing the sectors again replaces or heals them",
        );
    }
    if let Some(sectors) = detail.reallocated_sectors.filter(|sectors| *sectors > 0) {
        found.note(
            "reallocated_sectors",
            format!("{} replaced by spare ones", plural(sectors, "sector was", "sectors were")),
            "watch whether the count grows",
        );
    }
    if let Some(errors) = detail.link_errors.filter(|errors| *errors > 0) {
        found.note(
            "link_errors",
            format!("{} on its cable", plural(errors, "checksum error", "checksum errors")),
            "change the cable, if that count grows",
        );
    }
}

fn scsi(detail: &ScsiDetail, found: &mut Found) {
    match detail.complaint {
        Some([0x5d, qualifier]) => found.critical(
            "failure_predicted",
            format!("it predicts its own failure (5Dh/{qualifier:02X}h)"),
            SAVE,
        ),
        Some([0x0b, 0x01]) => found.warning(
            "temperature_outside",
            "it warns of its temperature (0Bh/01h)",
            "cool it before measuring",
        ),
        Some([0x0b, qualifier]) => found.warning(
            "drive_warns",
            format!("it warns (0Bh/{qualifier:02X}h)"),
            "look the code up in SPC, additional sense codes",
        ),
        _ => {}
    }
}

fn mmc(detail: &MmcDetail, found: &mut Found) {
    match detail.pre_eol {
        Some(PreEol::Urgent) => {
            found.critical("reserve_urgent", "90% of its reserved blocks are used", SAVE);
        }
        Some(PreEol::Warning) => {
            found.warning("reserve_low", "80% of its reserved blocks are used", REPLACE);
        }
        Some(PreEol::Normal) | None => {}
    }
}
