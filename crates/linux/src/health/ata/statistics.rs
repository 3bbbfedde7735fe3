//! The device statistics log (ACS-4, log 04h): what the standard itself defines, which is why it is preferred.

use block::health::AtaStatistic;

use crate::health::bytes::{byte, u64_le};

/// How the value of a statistic is kept in its lower bytes.
#[derive(Clone, Copy)]
enum Kind {
    /// A count of this many bytes.
    Count(u32),
    /// Degrees Celsius in one byte with a sign.
    Degrees,
}

/// Statistics that are known here: page, place, name, kind.
const KNOWN: [(u8, u16, &str, Kind); 40] = [
    (1, 0x08, "power-on resets", Kind::Count(4)),
    (1, 0x10, "power-on hours", Kind::Count(4)),
    (1, 0x18, "logical sectors written", Kind::Count(6)),
    (1, 0x20, "write commands", Kind::Count(6)),
    (1, 0x28, "logical sectors read", Kind::Count(6)),
    (1, 0x30, "read commands", Kind::Count(6)),
    (1, 0x40, "pending errors", Kind::Count(4)),
    (1, 0x48, "workload utilisation in percent", Kind::Count(2)),
    (3, 0x08, "spindle motor power-on hours", Kind::Count(4)),
    (3, 0x10, "head flying hours", Kind::Count(4)),
    (3, 0x18, "head loads", Kind::Count(4)),
    (3, 0x20, "reallocated logical sectors", Kind::Count(4)),
    (3, 0x28, "read recovery attempts", Kind::Count(4)),
    (3, 0x30, "mechanical start failures", Kind::Count(4)),
    (3, 0x38, "logical sectors that wait for reallocation", Kind::Count(4)),
    (3, 0x40, "high priority unloads", Kind::Count(4)),
    (4, 0x08, "reported uncorrectable errors", Kind::Count(4)),
    (4, 0x10, "resets between acceptance and completion", Kind::Count(4)),
    (4, 0x18, "physical elements that changed state", Kind::Count(4)),
    (5, 0x08, "temperature", Kind::Degrees),
    (5, 0x10, "average temperature, short term", Kind::Degrees),
    (5, 0x18, "average temperature, long term", Kind::Degrees),
    (5, 0x20, "highest temperature", Kind::Degrees),
    (5, 0x28, "lowest temperature", Kind::Degrees),
    (5, 0x30, "highest average temperature, short term", Kind::Degrees),
    (5, 0x38, "lowest average temperature, short term", Kind::Degrees),
    (5, 0x40, "highest average temperature, long term", Kind::Degrees),
    (5, 0x48, "lowest average temperature, long term", Kind::Degrees),
    (5, 0x50, "minutes too hot", Kind::Count(4)),
    (5, 0x58, "highest temperature to be operated at", Kind::Degrees),
    (5, 0x60, "minutes too cold", Kind::Count(4)),
    (5, 0x68, "lowest temperature to be operated at", Kind::Degrees),
    (6, 0x08, "hardware resets", Kind::Count(4)),
    (6, 0x10, "ASR events", Kind::Count(4)),
    (6, 0x18, "interface CRC errors", Kind::Count(4)),
    (7, 0x08, "life used in percent", Kind::Count(1)),
    (2, 0x08, "free falls", Kind::Count(4)),
    (2, 0x10, "shocks beyond the limit", Kind::Count(4)),
    (1, 0x58, "resource availability", Kind::Count(2)),
    (1, 0x60, "random write resources used", Kind::Count(1)),
];

/// Pages that the drive has, from page 0 of the log: a count, then their numbers.
pub fn supported_pages(page: &[u8; 512]) -> Vec<u8> {
    let count = usize::from(byte(page, 8));
    page[9..].iter().take(count).copied().collect()
}

/// Statistics of page `number` that are known here, that the drive has, and whose values it calls valid. None from a
/// page that says that it is another.
pub fn statistics(page: &[u8; 512], number: u8) -> Vec<AtaStatistic> {
    // Bytes 1:0 are the revision, byte 2 the page's number.
    if byte(page, 2) != number {
        return Vec::new();
    }
    let known = KNOWN.iter().filter(|(of, ..)| *of == number);
    known
        .filter_map(|(_, offset, name, kind)| statistic(page, number, *offset, name, *kind))
        .collect()
}

fn statistic(
    page: &[u8; 512],
    number: u8,
    offset: u16,
    name: &str,
    kind: Kind,
) -> Option<AtaStatistic> {
    let entry = u64_le(page, usize::from(offset));
    // Flags in the uppermost byte: supported, valid, and whether the drive's own condition is met.
    let flags = (entry >> 56) as u8;
    if flags & 0xc0 != 0xc0 {
        return None;
    }
    let value = match kind {
        Kind::Count(bytes) => {
            let mask = (1_u64 << (8 * bytes)) - 1;
            i64::try_from(entry & mask).ok()?
        }
        Kind::Degrees => i64::from((entry & 0xff) as u8 as i8),
    };
    Some(AtaStatistic {
        page: number,
        offset,
        name: name.to_owned(),
        value,
        is_condition_met: flags & 0x08 != 0,
    })
}
