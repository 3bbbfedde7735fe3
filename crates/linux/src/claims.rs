//! Internals that devices claim: erase and write units, speed classes. For comparison with measurements, never to be
//! believed.

use block::{Bytes, Stack};

use crate::sysfs::{BlockNode, Roots};

/// One size that a device, or the kernel for it, states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The word of its source, such as `preferred_erase_size` or `AU_SIZE`.
    pub name: String,
    /// Short description of the size.
    pub meaning: &'static str,
    /// Path of the attribute read.
    pub source: String,
    /// The size.
    pub bytes: Bytes,
}

/// A class of speed that a card states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// `C10`, `U3`, `V30`, `A1`.
    pub name: String,
    /// Path of the attribute read.
    pub source: String,
}

/// Everything that the device under a target states; nothing when there are several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Sizes.
    pub sizes: Vec<Claim>,
    /// Classes of speed.
    pub classes: Vec<Class>,
}

/// Attributes in sysfs that are sizes in bytes.
const ATTRIBUTES: [(&str, &str); 6] = [
    ("device/preferred_erase_size", "unit that the card prefers to be erased in"),
    ("device/erase_size", "least unit that the card erases"),
    ("queue/discard_granularity", "unit of discarding"),
    ("queue/optimal_io_size", "size of I/O that the device prefers"),
    ("queue/minimum_io_size", "least size of I/O without a penalty"),
    ("queue/physical_block_size", "unit that the device writes without reading first"),
];

/// Reads what the device under `stack` states.
pub fn of(roots: &Roots, stack: &Stack) -> Claims {
    let [leaf] = stack.leaves.as_slice() else { return Claims::default() };
    let Some(node) = BlockNode::by_name(roots, &leaf.name).map(|node| node.disk()) else {
        return Claims::default();
    };
    let mut claims = Claims::default();
    for (attribute, meaning) in ATTRIBUTES {
        // 0 is the kernel's word for "the device does not say".
        let stated = node.attr_u64(attribute).filter(|bytes| *bytes > 0);
        claims.sizes.extend(stated.map(|bytes| Claim {
            name: attribute.rsplit('/').next().unwrap_or(attribute).to_owned(),
            meaning,
            source: format!("/sys/block/{}/{attribute}", node.name()),
            bytes: Bytes(bytes),
        }));
    }
    let register = node.attr("device/ssr").and_then(|text| SdStatus::parse(&text));
    if let Some(status) = register {
        let source = format!("/sys/block/{}/device/ssr", node.name());
        claims.sizes.extend(status.au_size().map(|bytes| Claim {
            name: "AU_SIZE".to_owned(),
            meaning: "allocation unit of the card",
            source: source.clone(),
            bytes,
        }));
        let class = |name| Class { name, source: source.clone() };
        claims.classes.extend(status.classes().into_iter().map(class));
    }
    claims
}

/// The SD Status register: 512 bits, of which the kernel prints the highest first (SD Physical Layer Simplified
/// Specification, 4.10.2).
struct SdStatus(Vec<u8>);

impl SdStatus {
    fn parse(text: &str) -> Option<SdStatus> {
        let nibble = |c: char| c.to_digit(16).map(|digit| digit as u8);
        let nibbles: Vec<u8> = text.trim().chars().map(nibble).collect::<Option<_>>()?;
        (nibbles.len() == 128 && nibbles.iter().any(|n| *n != 0)).then_some(SdStatus(nibbles))
    }

    /// The field whose highest bit is `high`, of `digits` digits of four bits.
    fn field(&self, high: usize, digits: usize) -> u32 {
        let first = (511 - high) / 4;
        self.0[first..first + digits].iter().fold(0, |sum, nibble| sum << 4 | u32::from(*nibble))
    }

    /// `UHS_AU_SIZE` where the card has one, else `AU_SIZE`; both have one table, of which the former allows a part.
    fn au_size(&self) -> Option<Bytes> {
        let size = |code: u32| match code {
            1..=9 => Some(Bytes::kib(8 << code)),
            10 => Some(Bytes::mib(8)),
            11 => Some(Bytes::mib(12)),
            12 => Some(Bytes::mib(16)),
            13 => Some(Bytes::mib(24)),
            14 => Some(Bytes::mib(32)),
            15 => Some(Bytes::mib(64)),
            _ => None,
        };
        size(self.field(395, 1)).or_else(|| size(self.field(431, 1)))
    }

    fn classes(&self) -> Vec<String> {
        let mut classes = Vec::new();
        let speed = match self.field(447, 2) {
            code @ 1..=3 => code * 2,
            4 => 10,
            _ => 0,
        };
        let stated = [
            ("C", speed),
            ("U", self.field(399, 1)),
            ("V", self.field(391, 2)),
            ("A", self.field(339, 1)),
        ];
        for (letter, class) in stated {
            if class > 0 {
                classes.push(format!("{letter}{class}"));
            }
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use block::{Leaf, Medium};

    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots, Stack) {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { sys: dir.path().join("sys"), ..Roots::default() };
        for (name, text) in files {
            let path = roots.sys.join("block/mmcblk0").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let leaf = Leaf { name: "mmcblk0".to_owned(), medium: Medium::Device, model: None };
        (dir, roots, Stack { layers: Vec::new(), leaves: vec![leaf] })
    }

    /// A register of zeros with some fields, each by the position of its highest bit.
    fn register(fields: &[(usize, &str)]) -> String {
        let mut digits = vec!['0'; 128];
        for (high, text) in fields {
            let first = (511 - high) / 4;
            text.chars().enumerate().for_each(|(at, digit)| digits[first + at] = digit);
        }
        digits.into_iter().collect()
    }

    // Breaks when a field is taken from the wrong bits: measurements would be compared with an allocation unit that
    // no card states.
    #[test]
    fn a_card_states_its_unit_and_classes() {
        let ssr = register(&[(447, "04"), (431, "9"), (399, "3"), (391, "1e"), (339, "1")]);
        let (_dir, roots, stack) = machine(&[
            ("device/ssr", &ssr),
            ("device/preferred_erase_size", "4194304\n"),
            ("queue/optimal_io_size", "0\n"),
        ]);
        let claims = of(&roots, &stack);
        let sizes: Vec<(&str, u64)> =
            claims.sizes.iter().map(|claim| (claim.name.as_str(), claim.bytes.0)).collect();
        assert_eq!(sizes, [("preferred_erase_size", 4 << 20), ("AU_SIZE", 4 << 20)]);
        let classes: Vec<&str> = claims.classes.iter().map(|class| class.name.as_str()).collect();
        assert_eq!(classes, ["C10", "U3", "V30", "A1"]);
    }

    // Breaks when the larger unit of fast cards is passed over, or the uneven steps of the table slip by one.
    #[test]
    fn the_unit_of_fast_cards_comes_first() {
        let status = SdStatus::parse(&register(&[(431, "9"), (395, "d")])).unwrap();
        assert_eq!(status.au_size(), Some(Bytes::mib(24)));
        let of = |code: &str| SdStatus::parse(&register(&[(431, code)])).unwrap().au_size();
        assert_eq!(of("1"), Some(Bytes::kib(16)));
        assert_eq!(of("b"), Some(Bytes::mib(12)));
        assert_eq!(of("f"), Some(Bytes::mib(64)));
        assert!(SdStatus::parse(&"0".repeat(128)).is_none(), "a register of zeros says nothing");
        assert!(SdStatus::parse("12").is_none());
    }

    #[test]
    fn several_devices_state_nothing_together() {
        let (_dir, roots, mut stack) = machine(&[("device/erase_size", "512")]);
        assert_eq!(of(&roots, &stack).sizes.len(), 1);
        stack.leaves.push(stack.leaves[0].clone());
        assert_eq!(of(&roots, &stack), Claims::default());
    }
}
