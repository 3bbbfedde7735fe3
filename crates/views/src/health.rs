//! A drive's health as a listing.

use std::collections::BTreeMap;

use block::Bytes;
use block::health::{
    AtaDetail, AtaSecurity, AttributeState, Change, CounterChange, Detail, Finding, Health,
    MmcDetail, NvmeController, NvmeDetail, NvmeSanitizeState, Rotation, ScsiDetail, ScsiErrors,
    Severity, Standing,
};
use report::{Entry, Listing, Tone, number};

type Facts = Vec<(String, String)>;

/// Lays out `drives`, and what changed of them since an earlier reading.
pub fn listing(drives: &[Health], changes: Option<&[Change]>) -> Listing {
    let mut entries = Vec::new();
    for drive in drives {
        entries.push(entry(drive));
        if let Detail::Ata(detail) = &drive.detail {
            entries.extend(tables(detail));
        }
        if let Some(changes) = changes {
            let change = changes.iter().find(|change| change.device == drive.device);
            entries.push(changed(drive, change));
        }
    }
    Listing { entries, empty: "There is no drive below it that could be asked.".to_owned() }
}

fn entry(drive: &Health) -> Entry {
    let mut summary = vec![drive.protocol().to_owned()];
    summary.extend(drive.capacity_bytes.map(bytes));
    summary.extend(drive.model.clone());
    let mut facts = common(drive);
    match &drive.detail {
        Detail::Nvme(detail) => nvme(detail, &mut facts),
        Detail::Ata(detail) => ata(detail, &mut facts),
        Detail::Scsi(detail) => scsi(detail, &mut facts),
        Detail::Mmc(detail) => mmc(detail, &mut facts),
        Detail::Virtual | Detail::None => {}
    }
    let worth_knowing = drive.findings.iter().filter(|f| f.severity == Severity::Note);
    facts.extend(worth_knowing.map(|finding| ("note".to_owned(), sentence(finding))));
    facts.extend(not_told(&drive.missing));
    Entry {
        title: drive.device.clone(),
        summary: summary.join(", "),
        facts,
        notes: notes(drive),
        leads: true,
    }
}

fn bytes(count: Bytes) -> String {
    number::bytes(count.0 as f64)
}

fn sentence(finding: &Finding) -> String {
    format!("{} → {}", finding.cause, finding.remedy)
}

fn notes(drive: &Health) -> Vec<(Tone, String)> {
    let tone = |finding: &Finding| match finding.severity {
        _ if finding.is_bad() => Some(Tone::Bad),
        Severity::Critical | Severity::Warning => Some(Tone::Mixed),
        Severity::Note => None,
    };
    let (verdict, words) = match drive.standing {
        Standing::Good => (Tone::Good, "good: it judges itself so, and nothing speaks against it"),
        Standing::Attention if drive.is_bad() => {
            (Tone::Bad, "worn or damaged: it has not failed, and see below")
        }
        Standing::Attention => (Tone::Mixed, "attention: it has not failed, and see below"),
        Standing::Bad => (Tone::Bad, "bad: it fails, or says that it will"),
        Standing::NotTold => {
            (Tone::Mixed, "unknown: it does not judge itself, so neither good nor bad is known")
        }
    };
    let graver = drive.findings.iter().filter_map(|f| Some((tone(f)?, sentence(f))));
    std::iter::once((verdict, words.to_owned())).chain(graver).collect()
}

fn common(drive: &Health) -> Facts {
    let mut facts = Facts::new();
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("serial", drive.serial.clone());
    add("firmware", drive.firmware.clone());
    add("temperature", temperature(drive));
    add("life used", drive.life_used_percent.map(|percent| format!("{percent}%")));
    add("spare", spare(drive));
    add("written", written(drive));
    add("read", drive.host_read_bytes.map(|count| format!("{} by the host", bytes(count))));
    let count = |count: Option<u64>, one: &str, many: &str| {
        count.map(|count| format!("{count} {}", if count == 1 { one } else { many }))
    };
    let hours = count(drive.power_on_hours, "hour with power", "hours with power");
    let cycles = count(drive.power_cycles, "power cycle", "power cycles");
    let unsafes = count(drive.unsafe_shutdowns, "unsafe shutdown", "unsafe shutdowns");
    add("age", joined([hours, cycles, unsafes]));
    add("errors", drive.media_errors.map(|errors| format!("{errors} uncorrected")));
    add("throttling", count(drive.throttle_events, "time in its life", "times in its life"));
    facts
}

fn joined(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn temperature(drive: &Health) -> Option<String> {
    let limit =
        |what: &str, limit: Option<i32>| limit.map(|degrees| format!("{what} {degrees} °C"));
    let around = joined([
        limit("warns from", drive.temperature_warning_c),
        limit("critical from", drive.temperature_critical_c),
        limit("highest ever", drive.temperature_highest_c),
    ]);
    let now = format!("{} °C", drive.temperature_c?);
    Some(around.map_or(now.clone(), |around| format!("{now} ({around})")))
}

fn spare(drive: &Health) -> Option<String> {
    let percent = drive.spare_percent?;
    let threshold = match &drive.detail {
        Detail::Nvme(detail) => detail.smart.as_ref().map(|smart| smart.spare_threshold_percent),
        _ => None,
    };
    let threshold = threshold.map_or(String::new(), |t| format!(" (warns below {t}%)"));
    Some(format!("{percent}%{threshold}"))
}

fn written(drive: &Health) -> Option<String> {
    let host = drive.host_write_bytes.map(|count| format!("{} by the host", bytes(count)));
    let media = drive.media_write_bytes.map(|count| format!("{} to the medium", bytes(count)));
    let both = drive.host_write_bytes.zip(drive.media_write_bytes);
    let ratio = both.filter(|(host, _)| host.0 > 0).map(|(host, media)| {
        format!("write amplification {}", number::digits(media.0 as f64 / host.0 as f64))
    });
    joined([host, media, ratio])
}

fn nvme(detail: &NvmeDetail, facts: &mut Facts) {
    let mut add = |name: &str, value: String| facts.push((name.to_owned(), value));
    if let Some(smart) = &detail.smart {
        add("error log", format!("{} entries in its life", smart.error_log_entries));
    }
    if let Some(namespace) = &detail.namespace {
        let block = namespace.block_bytes().unwrap_or_default();
        let used = namespace.used_blocks.saturating_mul(block.0);
        add("namespace", format!("{}, {} in use", namespace.nsid, bytes(Bytes(used))));
        let format = |(index, format): (usize, &block::health::NvmeFormat)| {
            let metadata = match format.metadata_bytes {
                Bytes(0) => String::new(),
                more => format!(" + {}", more.0),
            };
            let now = if index == usize::from(namespace.format) { " (in use)" } else { "" };
            (format.data_bytes.0 > 0).then(|| format!("{}{metadata}{now}", format.data_bytes.0))
        };
        let formats = namespace.formats.iter().enumerate().filter_map(format);
        add("block sizes", formats.collect::<Vec<_>>().join(", "));
    }
    if let Some(controller) = &detail.controller {
        let [major, minor, tertiary] = controller.version;
        add("NVMe", format!("{major}.{minor}.{tertiary}"));
        add("can erase by", erasing(controller));
    }
    if let Some(sanitize) = &detail.sanitize {
        add("last sanitize", sanitize_words(sanitize.state).to_owned());
    }
}

fn erasing(controller: &NvmeController) -> String {
    let with_crypto =
        if controller.can_crypto_erase { "Format with crypto erase" } else { "Format" };
    let ways = [
        (controller.can_format, with_crypto),
        (controller.can_sanitize_block, "Sanitize by block erase"),
        (controller.can_sanitize_crypto, "Sanitize by crypto erase"),
        (controller.can_sanitize_overwrite, "Sanitize by overwriting"),
        (controller.can_deallocate, "deallocation"),
    ];
    let ways: Vec<&str> = ways.into_iter().filter(|(can, _)| *can).map(|(_, way)| way).collect();
    if ways.is_empty() { "nothing but writing".to_owned() } else { ways.join(", ") }
}

/// A state of Sanitize as what became of the last one.
pub fn sanitize_words(state: NvmeSanitizeState) -> &'static str {
    match state {
        NvmeSanitizeState::Never => "never",
        NvmeSanitizeState::Done => "succeeded",
        NvmeSanitizeState::DoneAllocated => "succeeded, and left blocks allocated",
        NvmeSanitizeState::Running => "is under way",
        NvmeSanitizeState::Failed => "failed",
        NvmeSanitizeState::Unknown => "in a state that is not known",
    }
}

fn rotation(rotation: Rotation) -> String {
    match rotation {
        Rotation::None => "none: it does not turn".to_owned(),
        Rotation::PerMinute(turns) => format!("{turns} turns per minute"),
    }
}

fn ata(detail: &AtaDetail, facts: &mut Facts) {
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    let sectors = |count: Option<u64>, what: &str| count.map(|count| format!("{count} {what}"));
    let reallocated = sectors(detail.reallocated_sectors, "replaced");
    add(
        "sectors",
        joined([reallocated, sectors(detail.pending_sectors, "waiting to be replaced")]),
    );
    add("link", detail.link_errors.map(|errors| format!("{errors} checksum errors")));
    let Some(can) = detail.capabilities else { return };
    add("rotation", can.rotation.map(rotation));
    add("security", Some(security(&can.security)));
    let ways = [
        (can.security.is_supported, "security erase"),
        (can.security.can_erase_enhanced, "enhanced security erase"),
        (can.sanitize.can_block, "sanitize by block erase"),
        (can.sanitize.can_crypto, "sanitize by crypto scramble"),
        (can.sanitize.can_overwrite, "sanitize by overwriting"),
        (can.can_trim, "TRIM"),
    ];
    let ways: Vec<_> = ways.into_iter().filter(|(can, _)| *can).map(|(_, way)| way).collect();
    add("can erase by", Some(ways.join(", ")).filter(|ways| !ways.is_empty()));
}

fn security(security: &AtaSecurity) -> String {
    let states = [
        (!security.is_supported, "none"),
        (security.is_supported && !security.is_enabled, "no password set"),
        (security.is_enabled, "a password is set"),
        (security.is_locked, "locked"),
        (security.is_frozen, "frozen until the next power cycle"),
        (security.is_expired, "too many passwords tried"),
    ];
    let is_so = states.into_iter().filter(|(is_so, _)| *is_so);
    is_so.map(|(_, words)| words).collect::<Vec<_>>().join(", ")
}

/// Attributes and statistics, each as an entry of its own.
fn tables(detail: &AtaDetail) -> Vec<Entry> {
    let attributes = detail.attributes.iter().map(|attribute| {
        let name = attribute.name.as_deref().unwrap_or("not known");
        let limit = match attribute.state {
            AttributeState::NoThreshold => String::new(),
            AttributeState::Good => limit(attribute.threshold, ""),
            AttributeState::FailedBefore => limit(attribute.threshold, ", once at or below it"),
            AttributeState::Failing => limit(attribute.threshold, ", at or below it now"),
        };
        let value = attribute.value;
        (attribute.id.to_string(), format!("{}: {name}; at {value}{limit}", attribute.raw))
    });
    let statistics = detail.statistics.iter().map(|one| (one.value.to_string(), one.name.clone()));
    let entry = |title: &str, summary: &str, facts: Facts| Entry {
        title: title.to_owned(),
        summary: summary.to_owned(),
        facts,
        notes: Vec::new(),
        leads: false,
    };
    let vendors = "the vendor's own, of doubtful unit: number, raw, name, normalised value";
    let all = [
        entry("SMART attributes", vendors, attributes.collect()),
        entry("device statistics", "as ATA defines them", statistics.collect()),
    ];
    all.into_iter().filter(|entry| !entry.facts.is_empty()).collect()
}

fn limit(threshold: Option<u8>, words: &str) -> String {
    threshold.map_or(String::new(), |limit| format!(" (threshold {limit}{words})"))
}

fn scsi(detail: &ScsiDetail, facts: &mut Facts) {
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    let errors = |errors: Option<ScsiErrors>| {
        let ScsiErrors { corrected, uncorrected, .. } = errors?;
        let count = |count: Option<u64>, what: &str| count.map(|count| format!("{count} {what}"));
        joined([count(corrected, "corrected"), count(uncorrected, "not corrected")])
    };
    add("rotation", detail.rotation.map(rotation));
    add("write errors", errors(detail.write_errors));
    add("read errors", errors(detail.read_errors));
    add("verify errors", errors(detail.verify_errors));
}

fn mmc(detail: &MmcDetail, facts: &mut Facts) {
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("made", detail.date.clone());
    add("manufacturer", detail.manufacturer_id.map(|id| format!("{id:#04x}")));
    let tenths = |told: u8| match told {
        0 => "not reported".to_owned(),
        told @ 1..=10 => format!("{} to {}%", (told - 1) * 10, told * 10),
        _ => "more than 100%".to_owned(),
    };
    let [a, b] = detail.life_tenths.unwrap_or_default().map(tenths);
    add("life by area", detail.life_tenths.map(|_| format!("{a} of type A, {b} of type B")));
}

/// Names that share a reason are one line, up to this many; more are "all else", which ends the list.
const NAMES_MAX: usize = 6;

/// Missing values; names that share a reason are on one line.
fn not_told(missing: &BTreeMap<String, String>) -> Facts {
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, why) in missing {
        let name = words(name);
        match by_reason.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, names)) => names.push(name),
            None => by_reason.push((why, vec![name])),
        }
    }
    by_reason.sort_by_key(|(_, names)| names.len() > NAMES_MAX);
    let line = |(why, names): (&str, Vec<String>)| {
        let names = if names.len() > NAMES_MAX { "all else".to_owned() } else { names.join(", ") };
        ("not reported".to_owned(), format!("{names}: {why}"))
    };
    by_reason.into_iter().map(line).collect()
}

/// A fact's name as people write it.
fn words(name: &str) -> String {
    let stem = ["_bytes", "_percent", "_c"].iter().find_map(|unit| name.strip_suffix(unit));
    match name {
        "says_good" => "its own judgment".to_owned(),
        "host_unit_bytes" => "unit of its counts".to_owned(),
        "host_write_bytes" => "writes by the host".to_owned(),
        "host_read_bytes" => "reads by the host".to_owned(),
        "media_write_bytes" => "writes to the medium".to_owned(),
        _ => stem.unwrap_or(name).replace('_', " "),
    }
}

fn changed(drive: &Health, change: Option<&Change>) -> Entry {
    let (mut facts, mut notes) = (Facts::new(), Vec::new());
    let summary = match change {
        None => "the earlier reading does not have this drive".to_owned(),
        Some(change) => {
            facts.extend(change.counters.iter().filter(|c| c.before != c.after).map(growth));
            facts.extend(
                change
                    .only_once
                    .iter()
                    .map(|name| (words(name), "only one of the two readings has it".to_owned())),
            );
            notes.extend(change.arisen.iter().map(|f| (Tone::Mixed, format!("new: {}", f.cause))));
            notes.extend(change.gone.iter().map(|f| (Tone::Good, format!("gone: {}", f.cause))));
            if facts.is_empty() { "nothing that it counts".to_owned() } else { String::new() }
        }
    };
    Entry { title: format!("{}: changed since", drive.device), summary, facts, notes, leads: false }
}

fn growth(counter: &CounterChange) -> (String, String) {
    let CounterChange { name, before, after } = counter;
    let text = match counter.growth() {
        None => format!("went back from {before} to {after}, which it does not by itself"),
        Some(more) if name.ends_with("_bytes") => format!("+{}", bytes(Bytes(more))),
        Some(more) if name.ends_with("_percent") => format!("+{more}%"),
        Some(more) => format!("+{more}"),
    };
    (words(name), text)
}
