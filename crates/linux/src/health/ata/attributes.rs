//! SMART's attributes. Their numbers, units and thresholds are each vendor's own; the form is what SFF-8035i has left.

use block::health::{AtaAttribute, AttributeState};

use crate::health::bytes::{array, byte};

/// Attributes in a table.
const COUNT: usize = 30;

/// Bytes of an attribute, and of a threshold.
const ENTRY_BYTES: usize = 12;

/// Reads SMART READ DATA, and SMART READ THRESHOLDS where there is one; `None` when the data's checksum is wrong.
/// Thresholds with a wrong checksum are left out.
pub fn attributes(data: &[u8; 512], limits: Option<&[u8; 512]>) -> Option<Vec<AtaAttribute>> {
    let is_whole =
        |table: &[u8; 512]| table.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte)) == 0;
    if !is_whole(data) {
        return None;
    }
    let limits = limits.filter(|table| is_whole(table));
    let threshold = |id: u8| {
        let entries = limits?.get(2..2 + COUNT * ENTRY_BYTES)?.chunks(ENTRY_BYTES);
        entries.map(|entry| (entry[0], entry[1])).find(|(of, _)| *of == id).map(|(_, t)| t)
    };
    let entries = data[2..2 + COUNT * ENTRY_BYTES].chunks(ENTRY_BYTES);
    let used = entries.filter(|entry| entry[0] != 0);
    Some(used.map(|entry| attribute(entry, threshold(entry[0]))).collect())
}

fn attribute(entry: &[u8], threshold: Option<u8>) -> AtaAttribute {
    let (id, flags) = (byte(entry, 0), byte(entry, 1));
    let (value, worst) = (byte(entry, 3), byte(entry, 4));
    let [a, b, c, d, e, f] = array(entry, 5);
    let state = match threshold {
        // A threshold of 0 never fails, and 255 is for tests; 254 and 255 are not values.
        None | Some(0) => AttributeState::NoThreshold,
        Some(limit) if (1..=253).contains(&value) && value <= limit => AttributeState::Failing,
        Some(limit) if (1..=253).contains(&worst) && worst <= limit => AttributeState::FailedBefore,
        Some(_) => AttributeState::Good,
    };
    AtaAttribute {
        id,
        name: name(id).map(str::to_owned),
        value,
        worst,
        threshold,
        raw: u64::from_le_bytes([a, b, c, d, e, f, 0, 0]),
        is_prefailure: flags & 1 != 0,
        state,
    }
}

/// Name of an attribute as most vendors use its number. If they disagree, the name gives the vendor or alternatives.
fn name(id: u8) -> Option<&'static str> {
    Some(match id {
        1 => "read error rate",
        2 => "throughput",
        3 => "spin-up time",
        4 => "starts and stops",
        5 => "reallocated sectors",
        7 => "seek error rate",
        8 => "seek time",
        9 => "power-on time",
        10 => "spin-up retries",
        11 => "recalibration retries",
        12 => "power cycles",
        22 => "helium level",
        165 => "total block erases (SanDisk, Silicon Motion)",
        166 | 167 => "block erases: least or average (SanDisk, Silicon Motion)",
        169 => "remaining life (Silicon Motion)",
        170 => "reserved blocks",
        171 => "program failures",
        172 => "erase failures",
        173 => "block erases or wear levelling (Crucial, Kingston)",
        174 => "power losses without notice",
        175 => "power loss protection",
        176 => "erase failures of a chip",
        177 => "wear levelling (Samsung)",
        178 | 179 => "used reserved blocks (Samsung)",
        180 => "unused reserved blocks",
        181 => "program failures or unaligned accesses",
        182 => "erase failures",
        183 => "link downshifts or bad blocks at run time",
        184 => "end-to-end errors",
        187 => "reported uncorrectable errors",
        188 => "commands timed out",
        189 => "writes with the head too high",
        190 => "temperature of the air flow, or its distance to a limit",
        191 => "shocks",
        192 => "power-off retracts or power losses without notice",
        193 => "head loads",
        194 => "temperature",
        195 => "errors corrected by ECC",
        196 => "reallocation events",
        197 => "sectors that wait for reallocation",
        198 => "uncorrectable sectors",
        199 => "checksum errors of the link",
        200 => "write error rate",
        202 => "life used or left (Crucial, Micron)",
        206 => "write error rate",
        210 => "recoveries by parity",
        220 => "disk shift",
        222 => "loaded hours",
        225 => "host writes or head loads (Intel: units of 32 MiB)",
        226 => "workload: wear of media (Intel)",
        227 => "workload: share of reads (Intel)",
        228 => "workload: minutes (Intel)",
        231 => "life left or temperature (SandForce, Kingston)",
        232 => "reserved space left",
        233 => "media wear-out (Intel) or writes to flash",
        234 => "writes to flash or erase counts",
        235 => "power loss protection or sudden power losses",
        240 => "head flying hours",
        241 => "host writes, in a unit of the vendor's",
        242 => "host reads, in a unit of the vendor's",
        246 => "host writes in sectors (Crucial, Micron)",
        247 => "host pages written (Crucial, Micron)",
        248 => "pages written by the drive itself (Crucial, Micron)",
        249 => "writes to flash in GiB (Intel)",
        250 => "read retries",
        254 => "free falls",
        _ => return None,
    })
}
