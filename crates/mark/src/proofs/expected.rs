//! Amplification by the layers: bytes that the leaves together should move for one byte at the target.

use block::{Layer, Op, Stack};

/// Bytes that the leaves should move for one byte at the target, from least to most.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expected {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Reason if it differs from 1, in words.
    pub(super) why: Option<String>,
}

impl Expected {
    const ONE: Expected = Expected { low: 1.0, high: 1.0, why: None };

    /// For `op` through all of a stack. `missing` returns how many members an array of this name lacked at worst.
    pub(super) fn of(stack: &Stack, op: Op, missing: &dyn Fn(&str) -> u64) -> Expected {
        below(stack, 0, op, missing, &mut Vec::new())
    }

    /// `2.00`, or `1.50 to 2.00`.
    pub(super) fn words(&self) -> String {
        if self.low == self.high {
            format!("{:.2}", self.low)
        } else {
            format!("{:.2} to {:.2}", self.low, self.high)
        }
    }
}

/// The layer at `place` and all below it. Members of an array may differ; each byte goes to some of them, so what it
/// becomes lies between the least and the most of them.
fn below(
    stack: &Stack,
    place: usize,
    op: Op,
    missing: &dyn Fn(&str) -> u64,
    way: &mut Vec<usize>,
) -> Expected {
    // Nothing lies upon itself, but a described machine or a record that was tampered with could say so.
    let found = stack.layers.get(place).filter(|_| !way.contains(&place));
    let Some(layer) = found else { return Expected::ONE };
    way.push(place);
    let members = layer.below.iter().map(|&place| below(stack, place, op, missing, way));
    let under = members.reduce(widest).unwrap_or(Expected::ONE);
    way.pop();
    let own = factor(layer, op, missing(&layer.name));
    let why = match (own.why, under.why) {
        (Some(own), Some(under)) => Some(format!("{own} on {under}")),
        (own, under) => own.or(under),
    };
    Expected { low: own.low * under.low, high: own.high * under.high, why }
}

fn widest(a: Expected, b: Expected) -> Expected {
    Expected { low: a.low.min(b.low), high: a.high.max(b.high), why: a.why.or(b.why) }
}

/// Amplification by one layer alone.
fn factor(layer: &Layer, op: Op, missing: u64) -> Expected {
    let write = op == Op::Write;
    match layer.kind.as_str() {
        "md" => md(layer, write, missing as f64),
        "btrfs" if write => btrfs(layer),
        "bcache" if write => {
            // Written to the cache, and to the backing device at once or later; or past the cache.
            between(1.0, 2.0, "a bcache")
        }
        "bcachefs" if write => between(1.0, members(layer), "bcachefs with its replicas"),
        "dm" if write => dm(layer),
        _ => Expected::ONE,
    }
}

fn between(low: f64, high: f64, why: impl Into<String>) -> Expected {
    if low == 1.0 && high <= 1.0 {
        return Expected::ONE;
    }
    Expected { low, high, why: Some(why.into()) }
}

fn members(layer: &Layer) -> f64 {
    layer.below.len().max(1) as f64
}

fn count(layer: &Layer, name: &str) -> Option<u64> {
    layer.attributes.get(name)?.parse().ok()
}

/// Kernel: `Documentation/admin-guide/md.rst`; md(4).
fn md(layer: &Layer, write: bool, missing: f64) -> Expected {
    let level = layer.attributes.get("md_level").map_or("", String::as_str);
    let disks = count(layer, "md_raid_disks").map_or(members(layer), |n| n as f64);
    let lacking =
        if missing > 0.0 { format!(", {missing:.0} of them missing,") } else { String::new() };
    let name = |level: &str| format!("RAID {level} over {disks:.0} members{lacking}");
    match (level, write) {
        ("raid1", true) => between((disks - missing).max(1.0), disks, name("1")),
        ("raid10", true) => {
            // Copies near each other in the low byte, copies far apart in the next.
            let layout = count(layer, "md_layout").unwrap_or(0x102);
            let copies = ((layout & 0xff) * (layout >> 8 & 0xff)).max(1) as f64;
            between((copies - missing).max(1.0), copies, name("10"))
        }
        ("raid4" | "raid5", true) => parity(disks, 1.0, missing, name(&level[4..])),
        ("raid6", true) => parity(disks, 2.0, missing, name("6")),
        // Data of a missing member is rebuilt from all other members.
        ("raid4" | "raid5" | "raid6", false) if missing > 0.0 => {
            between(1.0, (disks - 1.0).max(1.0), name(&level[4..]))
        }
        _ => Expected::ONE,
    }
}

/// From full stripes, whose parity serves many bytes, to single blocks, each of which has its own. A missing member is
/// written neither as data nor as parity.
fn parity(disks: f64, parity: f64, missing: f64, why: String) -> Expected {
    let data = (disks - parity).max(1.0);
    between(((disks - missing) / data).max(1.0), 1.0 + parity, why)
}

/// btrfs(5), "Profiles". A filesystem that is being converted has more than one.
fn btrfs(layer: &Layer) -> Expected {
    let profiles = layer.attributes.get("data_profile").map_or("single", String::as_str);
    let members = members(layer);
    let of = |profile: &str| {
        let name = || format!("Btrfs with data as {profile}");
        match profile {
            "dup" | "raid1" | "raid10" => between(2.0, 2.0, name()),
            "raid1c3" => between(3.0, 3.0, name()),
            "raid1c4" => between(4.0, 4.0, name()),
            "raid5" => parity(members, 1.0, 0.0, name()),
            "raid6" => parity(members, 2.0, 0.0, name()),
            _ => Expected::ONE,
        }
    };
    profiles.split(',').map(of).reduce(widest).unwrap_or(Expected::ONE)
}

/// sysfs does not show what a mapping does, only who made it and what it is built upon.
fn dm(layer: &Layer) -> Expected {
    let uuid = layer.attributes.get("dm_uuid").map_or("", String::as_str);
    match uuid {
        // Its journal has everything once more, beside the checksums.
        _ if uuid.starts_with("CRYPT-INTEGRITY-") => between(1.0, 2.2, "dm-integrity"),
        // Paths to one drive.
        _ if uuid.starts_with("mpath-") => Expected::ONE,
        _ => between(1.0, members(layer), "a mapping over several devices, which may keep copies,"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(kind: &str, facts: &[(&str, &str)], below: &[usize]) -> Layer {
        Layer {
            kind: kind.to_owned(),
            name: format!("{kind}0"),
            page_cache: None,
            stored: None,
            attributes: facts.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            below: below.to_vec(),
        }
    }

    fn range(layers: Vec<Layer>, op: Op, missing: u64) -> (f64, f64) {
        let stack = Stack { layers, leaves: Vec::new() };
        let of = |name: &str| if name == "md0" { missing } else { 0 };
        let expected = Expected::of(&stack, op, &of);
        let plain = expected.low == 1.0 && expected.high == 1.0;
        assert_eq!(expected.why.is_none(), plain, "{expected:?}");
        (expected.low, expected.high)
    }

    fn array(level: &str, disks: usize, layout: &str) -> Vec<Layer> {
        let count = disks.to_string();
        let facts = [("md_level", level), ("md_raid_disks", count.as_str()), ("md_layout", layout)];
        let places: Vec<usize> = (1..=disks).collect();
        let mut layers = vec![layer("md", &facts, &places)];
        layers.extend(places.iter().map(|_| layer("disk", &[], &[])));
        layers
    }

    /// A wrong factor would refute a sound array, or let a cache of that size through.
    #[test]
    fn each_level_of_md() {
        for (level, disks, layout, whole, one_missing) in [
            ("raid0", 3, "0", (1.0, 1.0), (1.0, 1.0)),
            ("linear", 2, "0", (1.0, 1.0), (1.0, 1.0)),
            ("raid1", 2, "0", (2.0, 2.0), (1.0, 2.0)),
            ("raid1", 3, "0", (3.0, 3.0), (2.0, 3.0)),
            ("raid10", 4, "258", (2.0, 2.0), (1.0, 2.0)),
            ("raid10", 4, "513", (2.0, 2.0), (1.0, 2.0)),
            ("raid10", 4, "259", (3.0, 3.0), (2.0, 3.0)),
            ("raid5", 3, "2", (1.5, 2.0), (1.0, 2.0)),
            ("raid4", 5, "0", (1.25, 2.0), (1.0, 2.0)),
            ("raid6", 4, "2", (2.0, 3.0), (1.5, 3.0)),
        ] {
            assert_eq!(range(array(level, disks, layout), Op::Write, 0), whole, "{level}");
            assert_eq!(range(array(level, disks, layout), Op::Write, 1), one_missing, "{level}");
            assert_eq!(range(array(level, disks, layout), Op::Read, 0), (1.0, 1.0), "{level}");
        }
        assert_eq!(range(array("raid5", 3, "2"), Op::Read, 1), (1.0, 2.0));
        assert_eq!(range(array("raid1", 2, "0"), Op::Read, 1), (1.0, 1.0));
    }

    #[test]
    fn each_profile_of_btrfs() {
        for (profile, of_three) in [
            ("single", (1.0, 1.0)),
            ("raid0", (1.0, 1.0)),
            ("dup", (2.0, 2.0)),
            ("raid1", (2.0, 2.0)),
            ("raid1c3", (3.0, 3.0)),
            ("raid10", (2.0, 2.0)),
            ("raid5", (1.5, 2.0)),
            ("raid6", (3.0, 3.0)),
            ("raid1,single", (1.0, 2.0)),
        ] {
            let mut layers = vec![layer("file", &[], &[1])];
            layers.push(layer("btrfs", &[("data_profile", profile)], &[2, 3, 4]));
            layers.extend((2..5).map(|_| layer("disk", &[], &[])));
            assert_eq!(range(layers.clone(), Op::Write, 0), of_three, "{profile}");
            assert_eq!(range(layers, Op::Read, 0), (1.0, 1.0), "{profile}");
        }
    }

    /// Layers multiply, and a part of a volume on a mirror counts as the mirror does.
    #[test]
    fn arrays_upon_arrays() {
        let mirror = [("md_level", "raid1"), ("md_raid_disks", "2")];
        let layers = vec![
            layer("btrfs", &[("data_profile", "raid1")], &[1, 4]),
            layer("md", &mirror, &[2, 3]),
            layer("disk", &[], &[]),
            layer("disk", &[], &[]),
            layer("disk", &[], &[]),
        ];
        assert_eq!(range(layers, Op::Write, 0), (2.0, 4.0));
        let crypt = [("dm_uuid", "CRYPT-LUKS2-x")];
        let layers = vec![layer("dm", &crypt, &[1]), layer("disk", &[], &[])];
        assert_eq!(range(layers, Op::Write, 0), (1.0, 1.0));
        let paths = [("dm_uuid", "mpath-3600")];
        let layers =
            vec![layer("dm", &paths, &[1, 2]), layer("disk", &[], &[]), layer("disk", &[], &[])];
        assert_eq!(range(layers, Op::Write, 0), (1.0, 1.0));
        let layers =
            vec![layer("bcache", &[], &[1, 2]), layer("disk", &[], &[]), layer("disk", &[], &[])];
        assert_eq!(range(layers, Op::Write, 0), (1.0, 2.0));
    }

    /// A record that says of a layer that it lies upon itself must not hang its reader.
    #[test]
    fn a_circle_ends() {
        assert_eq!(range(vec![layer("file", &[], &[0, 0, 7])], Op::Write, 0), (1.0, 1.0));
    }
}
