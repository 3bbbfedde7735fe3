//! Advice is carried out on copies of cards in many states: it does what it says, and what it did not announce stays.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::advice::{Parted, advice, of, sparse, tables_and_clusters};
use super::common::scratch_dir;
use super::common::storage::{Loop, Mounted, has_means, tool};

const SIZE: u64 = 256 << 20;
const MIB: u64 = 1 << 20;

/// A card in some state.
struct State {
    name: &'static str,
    /// Partition table, and filesystems or volumes by partition; 0 is the whole card.
    table: &'static str,
    made: &'static [(u32, &'static [&'static str])],
    /// Partition that is probed; 0 is the whole card.
    probed: u32,
    is_mounted: bool,
    /// Words of what is said to be erased by a new partition table, or by a filesystem where a partition is probed.
    erased: &'static [&'static str],
    /// True where all can stay.
    is_kept: bool,
}

const USUAL: State = State {
    name: "",
    table: "",
    made: &[],
    probed: 0,
    is_mounted: false,
    erased: &[],
    is_kept: false,
};

fn states() -> Vec<State> {
    const OFF: &str = "label: gpt\nstart=1MiB, size=100MiB\nstart=120MiB, size=100MiB\n";
    const ON: &str = "label: gpt\nstart=4MiB, size=100MiB\nstart=120MiB, size=100MiB\n";
    const OLD: &str = "label: dos\nstart=1MiB, type=c\n";
    const FACTORY: &str = "label: dos\nstart=4MiB, type=7\n";
    vec![
        State { name: "empty", ..USUAL },
        State {
            name: "GPT off the grid",
            table: OFF,
            made: &[(1, &["mkfs.ext4", "-q"])],
            erased: &["partition 1 at 1 MiB (an ext4 filesystem)", "partition 2 at 120 MiB"],
            ..USUAL
        },
        State { name: "GPT on the grid", table: ON, is_kept: true, ..USUAL },
        State {
            name: "factory exFAT",
            table: FACTORY,
            made: &[(1, &["mkfs.exfat", "-b", "4M"])],
            is_kept: true,
            ..USUAL
        },
        State {
            name: "MBR with a FAT off the grid",
            table: OLD,
            made: &[(1, &["mkfs.vfat"])],
            erased: &["partition 1 at 1 MiB (a vfat filesystem)"],
            ..USUAL
        },
        State {
            name: "raw FAT",
            made: &[(0, &["mkfs.vfat", "-I"])],
            erased: &["a vfat filesystem"],
            ..USUAL
        },
        State {
            name: "raw exFAT",
            made: &[(0, &["mkfs.exfat"])],
            erased: &["an exfat filesystem"],
            ..USUAL
        },
        State {
            name: "raw ext4",
            made: &[(0, &["mkfs.ext4", "-q", "-F"])],
            erased: &["an ext4 filesystem"],
            ..USUAL
        },
        State {
            name: "LUKS",
            made: &[(0, &["cryptsetup"])],
            erased: &["a luks encrypted volume"],
            ..USUAL
        },
        State {
            name: "mounted",
            table: OLD,
            made: &[(1, &["mkfs.ext4", "-q"])],
            is_mounted: true,
            erased: &[
                "partition 1 at 1 MiB (an ext4 filesystem)",
                "; end this first: ",
                "mounted on",
            ],
            ..USUAL
        },
        State {
            name: "a partition off the grid is probed",
            table: OFF,
            made: &[(1, &["mkfs.ext4", "-q"])],
            probed: 1,
            erased: &["p1: an ext4 filesystem"],
            ..USUAL
        },
        State {
            name: "a partition on the grid is probed",
            table: ON,
            made: &[(1, &["mkfs.vfat"]), (2, &["mkfs.ext4", "-q"])],
            probed: 1,
            is_kept: true,
            erased: &["p1: a vfat filesystem"],
            ..USUAL
        },
    ]
}

impl State {
    fn make(&self) -> Parted {
        let device = sparse(SIZE);
        let device = if self.table.is_empty() { device } else { device.table(self.table) };
        for (number, command) in self.made {
            let target = match number {
                0 => device.dev().to_owned(),
                number => device.part(*number),
            };
            let (program, args) = command.split_first().unwrap();
            if *program == "cryptsetup" {
                let key = device.0.image.with_extension("key");
                fs::write(&key, "key").unwrap();
                let cheap = ["-q", "luksFormat", "--pbkdf=pbkdf2", "--pbkdf-force-iterations=1000"];
                let key = ["--key-file", key.to_str().unwrap(), &target];
                tool(program, &[&cheap[..], &key[..]].concat());
            } else {
                tool(program, &[args, &[target.as_str()][..]].concat());
            }
        }
        device
    }
}

/// A card with the same content.
fn copy(device: &Parted) -> Parted {
    tool("sync", &["--file-system", device.0.image.to_str().unwrap()]);
    tool("blockdev", &["--flushbufs", device.dev()]);
    let dir = scratch_dir();
    let image = dir.path().join("image");
    let (from, to) = (device.0.image.to_str().unwrap(), image.to_str().unwrap());
    tool("cp", &["--sparse=always", from, to]);
    Parted(Loop::on(dir, &image, &[]))
}

/// Bytes of a card outside of its first partition, by way of the device.
fn outside(device: &Parted, (start, end): (u64, u64)) -> Vec<u8> {
    tool("blockdev", &["--flushbufs", &device.part(1)]);
    tool("blockdev", &["--flushbufs", device.dev()]);
    let mut bytes = vec![0; (SIZE - (end - start)) as usize];
    let (before, behind) = bytes.split_at_mut(start as usize);
    let file = fs::File::open(device.dev()).unwrap();
    file.read_exact_at(before, 0).unwrap();
    file.read_exact_at(behind, end).unwrap();
    bytes
}

/// Carries out the advice about `topic` of the card `from` on the card `to`.
#[track_caller]
fn follow(one: &Value, from: &Parted, to: &Parted) {
    let command = one["command"].as_str().unwrap().replace(from.dev(), to.dev());
    let ran = Command::new("sh").args(["-c", &command]).output().unwrap();
    let (said, error) =
        (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{command}: {said}{error}");
}

/// Beginning and end of the first partition.
fn first_partition(device: &Parted) -> (u64, u64) {
    let part = device.part(1);
    let sys =
        format!("/sys/class/block/{}", Path::new(&part).file_name().unwrap().to_str().unwrap());
    let number = |file: &str| {
        let text = fs::read_to_string(format!("{sys}/{file}")).unwrap();
        text.trim().parse::<u64>().unwrap() * 512
    };
    (number("start"), number("start") + number("size"))
}

/// Makes each filesystem of the advice on copies whose first partition is there, and looks where it lies.
#[track_caller]
fn make_systems(all: &[Value], from: &Parted, card: &Parted, topics: &[&str]) {
    for topic in topics {
        let Some(one) = of(all, topic) else { continue };
        let device = copy(card);
        let place = first_partition(&device);
        let before = outside(&device, place);
        follow(one, from, &device);
        assert!(before == outside(&device, place), "{topic} writes outside of its partition");
        let kind = tool(
            "blkid",
            &["--probe", "--output", "value", "--match-tag", "TYPE", &device.part(1)],
        );
        assert_eq!(kind, *topic, "{one}");
        if matches!(*topic, "vfat" | "exfat") {
            let (tables, clusters) = tables_and_clusters(&device);
            assert_eq!(clusters % (4 * MIB), 0, "{one}");
            let why = one["why"].as_str().unwrap();
            let places = [clusters, tables].map(|place| block::Bytes(place).human());
            for place in places {
                assert!(why.contains(&format!("at {place}")), "{why}, but it is at {place}");
            }
        }
    }
}

// Breaks when a card in some state is erased by a command that does not say so, or a command does something else than it
// says: another place for a partition, tables or clusters, something beside the partition overwritten, an old filesystem
// still seen behind the new table.
#[test]
fn advice_does_what_it_says_in_each_state_of_a_card() {
    let tools = [
        "losetup",
        "partx",
        "sfdisk",
        "mkfs.vfat",
        "mkfs.exfat",
        "mkfs.ext4",
        "mkfs.f2fs",
        "cryptsetup",
        "blkid",
        "blockdev",
    ];
    if !has_means(&tools) {
        return;
    }
    let states = states();
    assert_eq!(states.len(), 12);
    for state in states {
        println!("{}", state.name);
        let device = state.make();
        let mounted = state.is_mounted.then(|| Mounted::new("ext4", &device.part(1), ""));
        let probed =
            if state.probed == 0 { device.dev().to_owned() } else { device.part(state.probed) };
        let all = advice(&probed);
        drop(mounted);
        let holds = |one: &Value, words: &[&str]| {
            let erases = one["erases"].as_str().unwrap_or_else(|| panic!("{}: {one}", state.name));
            words
                .iter()
                .for_each(|word| assert!(erases.contains(word), "{}: {erases}", state.name));
        };
        assert_eq!(of(&all, "keep").is_some(), state.is_kept, "{}: {all:?}", state.name);
        if state.probed > 0 {
            let systems = ["ext4", "f2fs", "vfat", "exfat"];
            systems.iter().for_each(|topic| holds(of(&all, topic).unwrap(), state.erased));
            assert!(of(&all, "partition").is_none() && of(&all, "fat-partition").is_none());
            make_systems(&all, &device, &device, &systems);
            continue;
        }
        if state.is_kept {
            assert!(of(&all, "partition").is_none() && of(&all, "fat-partition").is_none());
            make_systems(&all, &device, &device, &["ext4", "f2fs"]);
            continue;
        }
        for (topic, systems) in
            [("partition", ["ext4", "f2fs"]), ("fat-partition", ["vfat", "exfat"])]
        {
            let one = of(&all, topic).unwrap_or_else(|| panic!("{}: {all:?}", state.name));
            match state.erased {
                [] => assert!(one["erases"].is_null(), "{one}"),
                words => holds(one, words),
            }
            let card = copy(&device);
            follow(one, &device, &card);
            // Removes the kernel's remaining partitions of the previous table.
            let _ = Command::new("partx").args(["--delete", card.dev()]).output();
            let (start, _) = first_partition(&card);
            let command = one["command"].as_str().unwrap();
            assert!(
                command.contains(&format!("start={}", block::Bytes(start))),
                "{command}: {start}"
            );
            let kinds = tool("wipefs", &["--noheadings", "--output", "TYPE", card.dev()]);
            let is_table = |kind: &str| matches!(kind.trim(), "gpt" | "dos" | "PMBR");
            assert!(kinds.lines().all(is_table), "{}: {kinds}", state.name);
            make_systems(&all, &device, &card, &systems);
        }
    }
}
