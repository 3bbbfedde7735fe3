//! State of an eMMC or SD card as the kernel shows it. Querying the card would take it from its users: the
//! kernel reads its registers once, when the card is found.

use block::health::{Detail, Health, MmcDetail, MmcKind, PreEol};

use crate::sysfs::BlockNode;

/// Reads the attributes of the card that `node` is on.
pub(super) fn read(node: &BlockNode) -> Health {
    let mut health = Health::of(node.name());
    let attr = |name: &str| node.attr(&format!("device/{name}"));
    let kind = match attr("type").as_deref() {
        Some("MMC") => MmcKind::Emmc,
        Some("SD") => MmcKind::Sd,
        _ => MmcKind::Other,
    };
    let number = |name: &str| attr(name).and_then(|text| hexadecimal(&text));
    // 0 is "not defined".
    let life = attr("life_time").and_then(|text| {
        let mut words = text.split_whitespace().map(hexadecimal);
        let (a, b) = (words.next()??, words.next()??);
        Some([u8::try_from(a).ok()?, u8::try_from(b).ok()?])
    });
    let life = life.filter(|types| types.iter().any(|told| *told != 0));
    let pre_eol = number("pre_eol_info").and_then(|told| match told {
        1 => Some(PreEol::Normal),
        2 => Some(PreEol::Warning),
        3 => Some(PreEol::Urgent),
        _ => None,
    });
    health.model = attr("name");
    health.serial = attr("serial");
    health.firmware = attr("fwrev");
    health.capacity_bytes = Some(node.size()).filter(|size| size.0 > 0);
    // The upper end of the tenth that the worse area is in: an upper bound; a lower one is never reported.
    health.life_used_percent = life.map(|types| types.map(tenths).into_iter().max().unwrap_or(0));
    health.says_good = pre_eol.map(|told| told != PreEol::Urgent);
    health.detail = Detail::Mmc(MmcDetail {
        kind,
        manufacturer_id: number("manfid"),
        oem_id: number("oemid"),
        date: attr("date"),
        life_tenths: life,
        pre_eol,
    });
    let why = match kind {
        MmcKind::Emmc => {
            "an eMMC counts its reserved blocks and, in tenths, its life, and nothing else"
        }
        _ => "an SD card does not report its wear or its errors",
    };
    health.complete(why)
}

/// 11 means more than 100%.
fn tenths(told: u8) -> u32 {
    u32::from(told.min(11)) * 10
}

fn hexadecimal(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}
