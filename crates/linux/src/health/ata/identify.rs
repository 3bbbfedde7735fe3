//! IDENTIFY DEVICE, taken apart (ACS-4).

use block::Bytes;
use block::health::{AtaCapabilities, AtaSanitize, AtaSecurity, Rotation};

use crate::health::bytes::{text, u16_le};

/// Fields of IDENTIFY DEVICE that are used here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtaIdentity {
    /// Words 27 to 46.
    pub model: Option<String>,
    /// Words 10 to 19.
    pub serial: Option<String>,
    /// Words 23 to 26.
    pub firmware: Option<String>,
    /// Sectors of words 100 to 103, or 60 to 61, in bytes.
    pub capacity_bytes: Option<Bytes>,
    /// Words 106, 117 and 118; 512 where they say nothing.
    pub logical_block_bytes: Bytes,
    /// Word 84 or 87 bit 5: the general purpose logs.
    pub has_general_logs: bool,
    /// Words 59, 82, 85, 89, 90, 128, 169 and 217.
    pub capabilities: AtaCapabilities,
}

/// Reads the 512 bytes of IDENTIFY DEVICE.
pub fn identify(bytes: &[u8; 512]) -> AtaIdentity {
    let word = |index: usize| u16_le(bytes, 2 * index);
    let bit = |index: usize, bit: u16| word(index) & 1 << bit != 0;
    // Words 83 and 84, and 87, hold something only with bits 15:14 being 01.
    let holds = |index: usize| word(index) >> 14 == 1;
    let logical_block_bytes = if word(106) >> 14 == 1 && bit(106, 12) {
        // Counted in words.
        let words = u32::from(word(118)) << 16 | u32::from(word(117));
        Bytes(u64::from(words) * 2)
    } else {
        Bytes(512)
    };
    let of_28_bits = u64::from(word(61)) << 16 | u64::from(word(60));
    let of_48_bits = (0..4).fold(0, |sum, i| sum | u64::from(word(100 + i)) << (16 * i));
    let is_48_bit = holds(83) && bit(83, 10) && of_48_bits > 0;
    let sectors = if is_48_bit { of_48_bits } else { of_28_bits };
    AtaIdentity {
        model: swapped(bytes, 27, 46),
        serial: swapped(bytes, 10, 19),
        firmware: swapped(bytes, 23, 26),
        capacity_bytes: sectors
            .checked_mul(logical_block_bytes.0)
            .filter(|bytes| *bytes > 0)
            .map(Bytes),
        logical_block_bytes,
        has_general_logs: holds(84) && bit(84, 5) || holds(87) && bit(87, 5),
        capabilities: AtaCapabilities {
            rotation: match word(217) {
                1 => Some(Rotation::None),
                rate @ 0x0401..=0xfffe => Some(Rotation::PerMinute(rate)),
                _ => None,
            },
            has_smart: bit(82, 0),
            is_smart_on: bit(82, 0) && bit(85, 0),
            is_write_cache_on: bit(85, 5),
            can_trim: bit(169, 0),
            security: security(word(128), word(89), word(90)),
            sanitize: AtaSanitize {
                is_supported: bit(59, 12),
                can_crypto: bit(59, 12) && bit(59, 13),
                can_overwrite: bit(59, 12) && bit(59, 14),
                can_block: bit(59, 12) && bit(59, 15),
            },
        },
    }
}

fn security(state: u16, erase: u16, enhanced: u16) -> AtaSecurity {
    let bit = |bit: u16| state & 1 << bit != 0;
    // Two minutes each: in 15 bits when bit 15 says so, otherwise in 8.
    let minutes = |word: u16| {
        let steps = if word & 0x8000 != 0 { word & 0x7fff } else { word & 0x00ff };
        (steps != 0).then(|| u32::from(steps) * 2)
    };
    AtaSecurity {
        is_supported: bit(0),
        is_enabled: bit(1),
        is_locked: bit(2),
        is_frozen: bit(3),
        is_expired: bit(4),
        can_erase_enhanced: bit(5),
        erase_minutes: minutes(erase).filter(|_| bit(0)),
        erase_enhanced_minutes: minutes(enhanced).filter(|_| bit(0) && bit(5)),
    }
}

/// Text of words `from` to `to`, each of which holds its first letter in its upper half.
fn swapped(bytes: &[u8; 512], from: usize, to: usize) -> Option<String> {
    let field: Vec<u8> =
        bytes[2 * from..2 * to + 2].chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    text(&field)
}
