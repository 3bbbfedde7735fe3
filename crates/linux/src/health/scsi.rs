//! Asking a SCSI drive (SPC-4 for the commands, SBC-3 for the pages).

use block::Bytes;
use block::health::{Detail, Health, Rotation, ScsiDetail, ScsiErrors};

use super::asked::Asked;
use super::bytes::{byte, number_be, text, u16_be};
use crate::passthrough::scsi::{fetch, inquiry, log_sense, request_sense};
use crate::passthrough::{CommandError, Commands, Sense};

/// Most that is read of a page: no page that is read here is longer.
const PAGE_BYTES: u16 = 1024;

/// Peripheral device types that are disks: direct access, and host managed zoned.
const DISKS: [u8; 2] = [0x00, 0x14];

/// Reads what a SCSI drive reports about itself. A drive that rests is only identified, unless `may_wake`.
pub(super) fn read<C: Commands + ?Sized>(commands: &mut C, device: &str, may_wake: bool) -> Health {
    let mut health = Health::of(device);
    let mut detail = ScsiDetail::default();
    let mut asked = Asked::default();
    health.is_asleep = !may_wake && rests(commands);
    if introduce(commands, &mut health, &mut detail, &mut asked) && !health.is_asleep {
        pages(commands, &mut health, &mut detail, &mut asked);
    }
    let errors = [detail.write_errors, detail.read_errors, detail.verify_errors];
    let uncorrected = errors.iter().flatten().filter_map(|errors| errors.uncorrected);
    health.media_errors = uncorrected.reduce(u64::saturating_add);
    health.host_write_bytes = detail.write_errors.and_then(|errors| errors.processed_bytes);
    health.host_read_bytes = detail.read_errors.and_then(|errors| errors.processed_bytes);
    health.says_good = match detail.complaint {
        Some([0x00, _]) => Some(true),
        Some([0x5d, _]) => Some(false),
        _ => None,
    };
    explain(&mut health, &detail);
    let why = if health.is_asleep {
        "it rests, and asking could wake it".to_owned()
    } else {
        asked.why("none of its log pages reports it")
    };
    health.detail = Detail::Scsi(Box::new(detail));
    health.complete(&why)
}

fn rests<C: Commands + ?Sized>(commands: &mut C) -> bool {
    let mut buffer = [0; 252];
    let sense = fetch(commands, &request_sense(), &mut buffer).ok().and_then(Sense::parse);
    sense.is_some_and(|sense| sense.is_standby())
}

/// Reads the drive's identity; false when it is not a disk, or does not answer.
fn introduce<C: Commands + ?Sized>(
    commands: &mut C,
    health: &mut Health,
    detail: &mut ScsiDetail,
    asked: &mut Asked,
) -> bool {
    let mut buffer = [0; 96];
    let Some(standard) = asked.keep(fetch(commands, &inquiry(None, 96), &mut buffer)) else {
        return false;
    };
    let field = |from: usize, to: usize| standard.get(from..to).and_then(text);
    let (vendor, product) = (field(8, 16), field(16, 32));
    health.model = match (vendor, product) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (vendor, product) => vendor.or(product),
    };
    health.firmware = field(32, 36);
    if !DISKS.contains(&(byte(standard, 0) & 0x1f)) {
        asked.note("it is not a disk");
        return false;
    }
    // Pages that it does not list are not asked for.
    let listed = vital_page(commands, 0x00).unwrap_or_default();
    if listed.contains(&0x80) {
        health.serial = asked.keep(vital_page(commands, 0x80)).and_then(|page| text(&page));
    }
    if listed.contains(&0xb1) {
        let page = asked.keep(vital_page(commands, 0xb1)).unwrap_or_default();
        detail.rotation = match u16_be(&page, 0) {
            1 => Some(Rotation::None),
            rate @ 0x0401..=0xfffe => Some(Rotation::PerMinute(rate)),
            _ => None,
        };
    }
    true
}

/// A page of vital product data without its head of four bytes.
fn vital_page<C: Commands + ?Sized>(commands: &mut C, page: u8) -> Result<Vec<u8>, CommandError> {
    let mut buffer = [0; 252];
    let answer = fetch(commands, &inquiry(Some(page), 252), &mut buffer)?;
    Ok(body_of(answer, page, 0x01))
}

/// Returns the body of a page of vital product data or of a log: the page code is in byte `at_code` of the
/// header, the length in bytes 3:2. Empty for a page with another code.
fn body_of(answer: &[u8], page: u8, at_code: usize) -> Vec<u8> {
    // Byte 0 of a log page holds two flags above the code.
    let mask = if at_code == 0 { 0x3f } else { 0xff };
    let Some(rest) = answer.get(4..).filter(|_| answer[at_code] & mask == page) else {
        return Vec::new();
    };
    let length = usize::from(u16_be(answer, 2)).min(rest.len());
    rest[..length].to_vec()
}

/// A parameter of a log page: its code and its value.
type Parameter<'a> = (u16, &'a [u8]);

/// Takes the body of a log page apart. A parameter that is cut off ends it.
fn parameters(body: &[u8]) -> impl Iterator<Item = Parameter<'_>> {
    let mut rest = body;
    std::iter::from_fn(move || {
        let length = usize::from(*rest.get(3)?);
        let value = rest.get(4..4 + length)?;
        let code = u16_be(rest, 0);
        rest = &rest[4 + length..];
        Some((code, value))
    })
}

fn log_page<C: Commands + ?Sized>(commands: &mut C, page: u8) -> Result<Vec<u8>, CommandError> {
    let mut buffer = [0; PAGE_BYTES as usize];
    let answer = fetch(commands, &log_sense(page, PAGE_BYTES), &mut buffer)?;
    Ok(body_of(answer, page, 0))
}

fn pages<C: Commands + ?Sized>(
    commands: &mut C,
    health: &mut Health,
    detail: &mut ScsiDetail,
    asked: &mut Asked,
) {
    match log_page(commands, 0x00) {
        Ok(listed) => detail.log_pages = listed.iter().map(|code| code & 0x3f).collect(),
        Err(error) if error.is_unsupported() => asked.note("it has no log pages"),
        Err(error) => asked.note(&error.to_string()),
    }
    for page in [0x02, 0x03, 0x05, 0x0d, 0x0e, 0x11, 0x15, 0x2f] {
        if detail.log_pages.contains(&page)
            && let Some(body) = asked.keep(log_page(commands, page))
        {
            take(page, &body, health, detail);
        }
    }
}

/// Stores the values of a log page in `health` and `detail`.
fn take(page: u8, body: &[u8], health: &mut Health, detail: &mut ScsiDetail) {
    let find = |code: u16| parameters(body).find(|(of, _)| *of == code).map(|(_, value)| value);
    // 255 means "not reported".
    let degrees = |value: &[u8], at: usize| {
        value.get(at).filter(|told| **told != 0xff).map(|told| i32::from(*told))
    };
    match page {
        0x02 => detail.write_errors = Some(errors(body)),
        0x03 => detail.read_errors = Some(errors(body)),
        0x05 => detail.verify_errors = Some(errors(body)),
        0x0d => {
            health.temperature_c = find(0).and_then(|value| degrees(value, 1));
            health.temperature_warning_c = find(1).and_then(|value| degrees(value, 1));
        }
        // Starts and stops over the life; for a drive without a motor, its power cycles.
        0x0e => health.power_cycles = find(4).map(number_be),
        // Byte 3 of the value.
        0x11 => health.life_used_percent = find(1).and_then(|v| v.get(3).map(|p| u32::from(*p))),
        // Minutes with power, in the first four bytes.
        0x15 => health.power_on_hours = find(0).and_then(|v| v.get(..4)).map(|v| number_be(v) / 60),
        0x2f => {
            let told = find(0).unwrap_or_default();
            detail.complaint = told.get(..2).map(|code| [code[0], code[1]]);
            health.temperature_c = health.temperature_c.or_else(|| degrees(told, 2));
        }
        _ => {}
    }
}

fn errors(body: &[u8]) -> ScsiErrors {
    let count =
        |code: u16| parameters(body).find(|(of, _)| *of == code).map(|(_, value)| number_be(value));
    ScsiErrors { corrected: count(3), processed_bytes: count(5).map(Bytes), uncorrected: count(6) }
}

fn explain(health: &mut Health, detail: &ScsiDetail) {
    let mut why = |name: &str, reason: &str| {
        health.missing.insert(name.to_owned(), reason.to_owned());
    };
    if let Some([code, qualifier]) = detail.complaint {
        why("says_good", &format!("it complains ({code:02X}h/{qualifier:02X}h), not of a failure"));
    }
    why("throttle_events", "SCSI does not count it");
    why("unsafe_shutdowns", "SCSI does not count it");
    why("media_write_bytes", "SCSI does not count it");
    why("temperature_highest_c", "SCSI's log does not keep it");
    why("temperature_critical_c", "SCSI knows one limit, the reference temperature");
    why("host_unit_bytes", "its pages do not report the unit of their counts");
}
