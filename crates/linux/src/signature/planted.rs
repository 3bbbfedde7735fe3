//! Each signature as bytes on a drive: what the laboratory plants, so that every verb can be seen to spare it.
//!
//! A signature that was added to the table, and that no verb was tried on, would be believed to protect. So the states
//! of the scenario are made of the table itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use block::Bytes;

use super::magics::MAGICS;
use super::{Usage, kinds, probe};

/// Size of the scenario's drive.
const SIZE: u64 = 8 << 20;
/// When set to `overwrite`, the test writes the states in the scenario again.
const RENEW: &str = "LAB_MATRIX";
const SCENARIO: &str = "../../lab/scenarios/matrix-signatures.toml";
const BEGIN: &str = "# States, made from the table of signatures.\n";
const END: &str = "# End of states.\n";
/// Lines that are tried on the further places of a kind; on its first place, all are.
const FEW: &str = "['mark --plan', 'probe capacity', 'trace replay', 'flashbench -O']";

/// Bytes at places that make one signature.
struct Planted {
    kind: &'static str,
    usage: Usage,
    /// The magic number first, then what else has to hold.
    parts: Vec<(u64, Vec<u8>)>,
}

impl Planted {
    fn new(kind: &'static str, usage: Usage, at: u64, bytes: &[u8]) -> Planted {
        Planted { kind, usage, parts: vec![(at, bytes.to_vec())] }
    }

    fn and(mut self, at: u64, bytes: &[u8]) -> Planted {
        self.parts.push((at, bytes.to_vec()));
        self
    }

    fn image(&self) -> Vec<u8> {
        let mut image = vec![0; SIZE as usize];
        for (at, bytes) in &self.parts {
            image[*at as usize..*at as usize + bytes.len()].copy_from_slice(bytes);
        }
        image
    }

    /// Name of the hazard that the gate requires to be allowed.
    fn hazard(&self) -> String {
        match self.usage {
            Usage::Table => "partitions".to_owned(),
            _ => format!("signature:{}", self.kind),
        }
    }

    fn name(&self) -> String {
        let (at, bytes) = &self.parts[0];
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let is_word = bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_ .".contains(b));
        let shown = match is_word {
            true => String::from_utf8_lossy(bytes).trim().to_owned(),
            false => digits,
        };
        format!("{} at {at} ({shown})", self.kind)
    }

    fn state(&self, is_first: bool) -> String {
        let plant = |(at, bytes): &(u64, Vec<u8>)| {
            let octal: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
            format!("printf '{octal}' | dd of=$A bs=1 seek={at} conv=notrunc 2>/dev/null\n")
        };
        let setup: String = self.parts.iter().map(plant).collect();
        let only = if is_first { String::new() } else { format!("only = {FEW}\n") };
        format!(
            "\n[[state]]\nname = '{}'\nexit = 3\nstderr = ['--allow {}']\n{only}setup = '''\n{setup}'''\nteardown = 'dd \
             if=/dev/zero of=$A bs=1M count=8 2>/dev/null'\n",
            self.name(),
            self.hazard()
        )
    }
}

/// Adds the bytes that each kind needs besides its magic number.
fn confirmed(planted: Planted) -> Planted {
    let at = planted.parts[0].0;
    match (planted.kind, at) {
        ("nilfs2", _) => planted.and(at - 6, &2_u32.to_le_bytes()),
        ("minix", 0x418) => planted.and(at - 0x18, &[1]),
        ("minix", _) => planted.and(at - 0x10, &[1]),
        ("lvm2", _) => planted.and(at + 24, b"LVM2 001"),
        ("vfat", _) => planted.and(510, &[0x55, 0xAA]),
        ("hfsplus", _) => planted.and(at + 2, &[0, 4]),
        ("hfs", _) => planted.and(at + 20, &512_u32.to_be_bytes()),
        _ => planted,
    }
}

/// All of the table, and those that code recognises.
fn all() -> Vec<Planted> {
    let of_table = MAGICS.iter().map(|magic| {
        let at = magic.at.resolve(SIZE).expect("a place on the drive");
        confirmed(Planted::new(magic.kind, magic.usage, at, magic.bytes))
    });
    let mut all: Vec<Planted> = of_table.collect();
    let ext = |kind| Planted::new(kind, Usage::Filesystem, 0x438, &[0x53, 0xEF]);
    all.push(ext("ext2"));
    all.push(ext("ext3").and(0x45C, &[4]));
    all.push(ext("ext4").and(0x460, &[0x40]));
    all.push(ext("jbd").and(0x460, &[8]));
    for label in [0, 256 << 10, SIZE - (512 << 10), SIZE - (256 << 10)] {
        for number in [0x00BA_B10C_u64.to_le_bytes(), 0x00BA_B10C_u64.to_be_bytes()] {
            all.push(Planted::new("zfs", Usage::Member, label + (128 << 10), &number));
        }
    }
    for page in [4_u64 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10] {
        for word in ["SWAPSPACE2", "SWAP-SPACE"] {
            all.push(Planted::new("swap", Usage::Swap, page - 10, word.as_bytes()));
        }
        for word in ["S1SUSPEND", "S2SUSPEND", "ULSUSPEND", "LINHIB0001"] {
            all.push(Planted::new("suspend", Usage::Swap, page - 10, word.as_bytes()));
        }
    }
    let entry = [0x83, 0, 0, 0, 0, 8, 0, 0, 0, 16, 0, 0];
    all.push(Planted::new("mbr", Usage::Table, 510, &[0x55, 0xAA]).and(450, &entry));
    all
}

/// Breaks when what is planted is not what the gate knows: the laboratory would then try nothing.
#[test]
fn what_is_planted_is_found() {
    for planted in all() {
        let image = planted.image();
        let found = probe(Bytes(SIZE), &mut |offset, buffer| {
            buffer.copy_from_slice(&image[offset as usize..offset as usize + buffer.len()]);
            Ok(())
        });
        let found = found.expect("an image in memory");
        let is_there =
            found.iter().any(|one| one.kind == planted.kind && one.usage == planted.usage);
        assert!(is_there, "{}: {found:?}", planted.name());
        let is_offered = planted.usage == Usage::Table || kinds().contains(planted.kind);
        assert!(is_offered, "{}: is none of the kinds", planted.name());
    }
}

/// Breaks when a signature was added to the table, and the laboratory plants it nowhere.
#[test]
fn the_scenario_has_every_signature() {
    let mut kinds = BTreeSet::new();
    let mut names = BTreeSet::new();
    let mut states = String::new();
    for planted in all() {
        assert!(names.insert(planted.name()), "{} twice", planted.name());
        states.push_str(&planted.state(kinds.insert(planted.kind)));
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(SCENARIO);
    let text = fs::read_to_string(&path).expect("the scenario");
    let (before, rest) = text.split_once(BEGIN).expect("the mark where states begin");
    let (held, after) = rest.split_once(END).expect("the mark where states end");
    if std::env::var(RENEW).is_ok_and(|said| said == "overwrite") {
        fs::write(&path, format!("{before}{BEGIN}{states}\n{END}{after}")).expect("writable");
        return;
    }
    assert!(
        held.trim() == states.trim(),
        "its states are not those of the table; make them again with {RENEW}=overwrite"
    );
}
