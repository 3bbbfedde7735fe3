//! Advice after a probe knows what the device holds: each state is made on a loop device of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::common::storage::{Loop, Mounted, has_means, has_tools, tool};
use super::common::{drivescope, wait_for};

/// Failing inputs of others with their right values, beside the workspace where they are at hand.
const CASES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases/public-2026-11/flash");

const SIZE: u64 = 64 << 20;

/// A loop device with a partition table.
pub(super) struct Parted(pub Loop);

impl Parted {
    fn new(bytes: u64, table: &str) -> Parted {
        Parted(Loop::new(bytes, true)).table(table)
    }

    /// With this partition table.
    pub fn table(self, table: &str) -> Parted {
        let parted = self;
        let mut sfdisk = Command::new("sfdisk");
        let piped = sfdisk.args(["--quiet", parted.dev()]).stdin(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), table.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        parted
    }

    pub fn dev(&self) -> &str {
        self.0.dev()
    }

    /// A partition as a device, by way of partx(8): kernels for virtual machines may read no table themselves.
    pub fn part(&self, number: u32) -> String {
        let part = format!("{}p{number}", self.dev());
        if !Path::new(&part).exists() {
            tool("partx", &["--add", "--nr", &number.to_string(), self.dev()]);
        }
        wait_for("the partition", || Path::new(&part).exists().then_some(()));
        part
    }
}

impl Drop for Parted {
    fn drop(&mut self) {
        // They outlive the loop device otherwise.
        let _ = Command::new("partx").args(["--delete", self.dev()]).output();
    }
}

/// The advice on a device with erase blocks of 4 MiB.
pub(super) fn advice(device: &str) -> Vec<Value> {
    let args = ["probe", "interval", device, "--erase-block=4MiB", "--time-budget=2s", "--json"];
    let mut command = drivescope(args);
    let ran: super::common::Ran =
        command.args(["--no-record", "--no-progress"]).output().unwrap().into();
    let body = ran.body();
    // Reading of it must not be what advice depends on.
    let advice = body["advice"].as_array().unwrap_or_else(|| panic!("{}", ran.stderr)).clone();
    for one in &advice {
        let text = one["command"].as_str().unwrap_or_default();
        let alters = text.contains("sfdisk") || text.contains("mkfs");
        assert!(alters || one["erases"].is_null(), "{one}");
    }
    advice
}

pub(super) fn of<'a>(advice: &'a [Value], topic: &str) -> Option<&'a Value> {
    advice.iter().find(|one| one["topic"] == topic)
}

#[track_caller]
fn holds(text: &Value, words: &[&str]) {
    let text = text.as_str().unwrap_or_else(|| panic!("nothing is said, but {words:?} should be"));
    for word in words {
        assert!(text.contains(word), "{word:?} is missing: {text}");
    }
}

/// All commands that alter the device say what they erase.
#[track_caller]
fn all_say(advice: &[Value]) {
    let topics: Vec<&str> = advice.iter().filter_map(|one| one["topic"].as_str()).collect();
    for topic in ["partition", "ext4", "f2fs", "fat-partition", "vfat", "exfat"] {
        let Some(one) = of(advice, topic) else { continue };
        assert!(one["erases"].is_string(), "{topic} of {topics:?}: {one}");
    }
    assert!(of(advice, "ext4").is_some(), "{topics:?}");
}

// Breaks when an empty drive is said to lose something, or the command that is advised does not do what it says.
#[test]
fn of_an_empty_device_nothing_is_erased_and_the_commands_do_what_they_say() {
    if !has_means(&["losetup", "partx", "sfdisk", "mkfs.ext4"]) {
        return;
    }
    let device = Parted(Loop::new(SIZE, true));
    let empty = advice(device.dev());
    assert!(empty.iter().all(|one| one["erases"].is_null()), "{empty:?}");
    let command = of(&empty, "partition").unwrap()["command"].as_str().unwrap().to_owned();
    let ran = Command::new("sh").args(["-c", &command]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    device.part(1);
    let mkfs = of(&empty, "ext4").unwrap()["command"].as_str().unwrap().to_owned();
    let ran = Command::new("sh").args(["-c", &mkfs]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    // The new filesystem is aligned, and the next run says so.
    let made = advice(device.dev());
    let kept = of(&made, "keep").unwrap_or_else(|| panic!("{made:?}"));
    holds(
        &kept["why"],
        &["partition 1 (an ext4 filesystem) begins at 4 MiB, with an erase block of 4 MiB"],
    );
    assert!(of(&made, "partition").is_none(), "{made:?}");
    holds(&of(&made, "ext4").unwrap()["erases"], &["p1: an ext4 filesystem"]);
}

/// Number of a boot sector, least byte first.
fn number(boot: &[u8], at: usize, len: usize) -> u64 {
    boot[at..at + len].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Runs what is advised under `topic`, of the virtual drive's `/dev/sdX` on `device`; returns what it said.
#[track_caller]
fn follow(advice: &[Value], topic: &str, device: &Parted) -> String {
    let command =
        of(advice, topic).unwrap_or_else(|| panic!("no {topic} in {advice:?}"))["command"]
            .as_str()
            .unwrap()
            .replace("/dev/sdX1", &format!("{}p1", device.dev()))
            .replace("/dev/sdX", device.dev());
    let flag =
        if topic == "f2fs" { command.replacen("mkfs.f2fs", "mkfs.f2fs -f", 1) } else { command };
    let ran = Command::new("sh").args(["-c", &flag]).output().unwrap();
    assert!(ran.status.success(), "{flag}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// Beginnings of the tables and of the clusters on the drive, as the boot sector of the FAT or exFAT filesystem on partition
/// 1 says.
pub(super) fn tables_and_clusters(device: &Parted) -> (u64, u64) {
    let mut boot = vec![0; 512];
    let part = device.part(1);
    std::io::Read::read_exact(&mut fs::File::open(&part).unwrap(), &mut boot).unwrap();
    let name = Path::new(&part).file_name().unwrap().to_str().unwrap();
    let start = fs::read_to_string(format!("/sys/class/block/{name}/start")).unwrap();
    let start = start.trim().parse::<u64>().unwrap() * 512;
    let (tables, clusters) = match &boot[3..11] == b"EXFAT   " {
        true => (number(&boot, 80, 4) << boot[108], number(&boot, 88, 4) << boot[108]),
        false => {
            let sector = number(&boot, 11, 2);
            let reserved = number(&boot, 14, 2);
            (reserved * sector, (reserved + 2 * number(&boot, 36, 4)) * sector)
        }
    };
    (start + tables, start + clusters)
}

/// A loop device of `bytes` on a file without content.
pub(super) fn sparse(bytes: u64) -> Parted {
    let dir = super::common::scratch_dir();
    let image = dir.path().join("image");
    fs::File::create(&image).unwrap().set_len(bytes).unwrap();
    Parted(Loop::on(dir, &image, &[]))
}

// Breaks when a command of the advice puts tables or clusters elsewhere than its text says, or one filesystem cannot be
// made after the partition that is advised for it. The drives differ in whether the zone for small writes ends with an
// erase block.
#[test]
fn each_filesystem_is_laid_out_as_the_advice_says() {
    let tools = ["losetup", "partx", "sfdisk", "mkfs.vfat", "mkfs.exfat", "mkfs.ext4", "fsck.fat"];
    if !has_means(&tools) {
        return;
    }
    const MIB: u64 = 1 << 20;
    let zones = [("sim:usb-8m", 8 * MIB, None), ("sim:sdcard-4m", 4 * MIB, Some(4 * MIB))];
    for (model, erase, zone) in zones {
        let ran: super::common::Ran =
            drivescope(["probe", model, "--seed=7", "--json", "--no-record", "--no-progress"])
                .output()
                .unwrap()
                .into();
        let body = ran.body();
        let advice = body["advice"].as_array().unwrap();
        let text = |topic: &str| of(advice, topic).unwrap()["why"].as_str().unwrap().to_owned();
        let device = sparse(body["target"]["capacity_bytes"].as_u64().unwrap());
        follow(advice, "fat-partition", &device);
        let part = device.part(1);
        for topic in ["vfat", "exfat"] {
            follow(advice, topic, &device);
            let (tables, clusters) = tables_and_clusters(&device);
            assert_eq!(clusters % erase, 0, "{topic}: {clusters}");
            let (at, from) = (block::Bytes(clusters).human(), block::Bytes(tables).human());
            let words = text(topic);
            assert!(words.contains(&format!("clusters begin at {at}")), "{words}, but at {at}");
            assert!(words.contains(&format!(" at {from}")), "{words}, but at {from}");
            let is_within = words.contains("within the first 4 MiB, which take small writes");
            assert_eq!(is_within, zone.is_some_and(|zone| clusters <= zone), "{words}");
            if topic == "vfat" {
                let checked = tool("fsck.fat", &["-n", "-v", &part]);
                let offset = clusters - MIB * first_mib(&text("fat-partition"));
                assert!(
                    checked.contains(&format!("Data area starts at byte {offset} ")),
                    "{checked}"
                );
            } else {
                tool("fsck.exfat", &["-n", &part]);
            }
        }
        // The other layout, of which text and commands do not name the first.
        let device = sparse(body["target"]["capacity_bytes"].as_u64().unwrap());
        follow(advice, "partition", &device);
        device.part(1);
        let made = follow(advice, "ext4", &device);
        assert!(made.contains("filesystem") || made.contains("Creating"), "{made}");
        if has_tools(&["mkfs.f2fs"]) {
            follow(advice, "f2fs", &device);
        }
        let all: Vec<String> = advice.iter().map(|one| one.to_string()).collect();
        assert!(!all.join(" ").contains("keep the file allocation tables"), "{all:?}");
    }
}

/// Number of MiB that a text says its partition begins at.
fn first_mib(text: &str) -> u64 {
    let after = text.split("begins at ").nth(1).unwrap();
    after.split(" MiB").next().unwrap().parse().unwrap()
}

// Breaks when a table is overwritten by a command that says nothing of it, or the distance from the grid is left out.
#[test]
fn partitions_are_named_with_their_distance_from_the_grid() {
    if !has_means(&["losetup", "partx", "sfdisk", "mkfs.ext4"]) {
        return;
    }
    let device = Parted::new(SIZE, "label: gpt\nstart=2048, size=40960\nstart=65536, size=40960\n");
    tool("mkfs.ext4", &["-q", &device.part(1)]);
    let before = fs::read(&device.0.image).unwrap();
    let parted = advice(device.dev());
    let why = "partition 1 (an ext4 filesystem) begins at 1 MiB, 1 MiB into an erase block of 4 MiB and 3 MiB before";
    holds(
        &of(&parted, "partitions").unwrap()["why"],
        &[why, "partition 2 begins at 32 MiB, with an"],
    );
    let erases = &of(&parted, "partition").unwrap()["erases"];
    holds(erases, &["partition 1 at 1 MiB (an ext4 filesystem), partition 2 at 32 MiB"]);
    all_say(&parted);
    // Of a partition, its place on the disk counts.
    let first = advice(&device.part(1));
    holds(&of(&first, "partitions").unwrap()["why"], &["this is partition 1 of ", "3 MiB before"]);
    assert!(of(&first, "partition").is_none(), "{first:?}");
    let mkfs = of(&first, "ext4").unwrap();
    assert!(mkfs["command"].as_str().unwrap().ends_with(&format!(" {}", device.part(1))));
    holds(&mkfs["erases"], &["p1: an ext4 filesystem"]);
    assert!(fs::read(&device.0.image).unwrap() == before, "looking changed something");
    // A mount has to end first, whatever is done.
    let mounted = Mounted::new("ext4", &device.part(1), "");
    let used = advice(device.dev());
    let point = mounted.path().to_str().unwrap();
    holds(
        &of(&used, "partition").unwrap()["erases"],
        &["end this first: ", " is mounted on ", point],
    );
    all_say(&used);
}

// Breaks when what lies on a drive without partitions passes for nothing.
#[test]
fn contents_without_a_table_are_named() {
    if !has_means(&["losetup", "mkfs.vfat", "cryptsetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    tool("mkfs.vfat", &[device.dev()]);
    let raw = advice(device.dev());
    holds(&of(&raw, "partition").unwrap()["erases"], &["a vfat filesystem"]);
    all_say(&raw);
    let device = Loop::new(SIZE, true);
    let key = device.image.with_extension("key");
    fs::write(&key, "key").unwrap();
    let key = key.to_str().unwrap();
    let cheap = ["--pbkdf=pbkdf2", "--pbkdf-force-iterations=1000"];
    let args = [&["-q", "luksFormat"], &cheap[..], &["--key-file", key, device.dev()]].concat();
    tool("cryptsetup", &args);
    let luks = advice(device.dev());
    holds(&of(&luks, "partition").unwrap()["erases"], &["a luks encrypted volume"]);
    all_say(&luks);
}

// Breaks when the advice is to format a card whose factory layout is right: its clusters begin with an erase block, though
// the partition may not.
#[test]
fn the_layout_of_a_factory_is_kept() {
    if !has_means(&["losetup", "partx", "sfdisk", "mkfs.exfat", "mkfs.vfat"]) {
        return;
    }
    let device = Parted::new(SIZE, "label: dos\nstart=4MiB, type=7\n");
    tool("mkfs.exfat", &["-b", "4M", &device.part(1)]);
    let kept = advice(device.dev());
    let words =
        ["keep its partitions", "(an exfat filesystem) begins at 4 MiB", "its clusters begin at "];
    holds(&of(&kept, "keep").unwrap_or_else(|| panic!("{kept:?}"))["why"], &words);
    assert!(of(&kept, "partition").is_none() && of(&kept, "ext4").is_some(), "{kept:?}");
    let device = Parted::new(SIZE, "label: dos\nstart=4MiB, type=c\n");
    tool("mkfs.vfat", &["-a", &device.part(1)]);
    let off = advice(device.dev());
    holds(
        &of(&off, "partitions").unwrap()["why"],
        &["its clusters begin at ", "before the next one"],
    );
}

/// Runs the command of a case that others published, without recording; `None` where the case is not at hand.
fn case(name: &str) -> Option<super::common::Ran> {
    let path = format!("{CASES}/{name}");
    let Ok(command) = fs::read_to_string(&path) else {
        println!("skipped: this machine has no {path}");
        return None;
    };
    let words = command.trim().strip_prefix("drivescope ").unwrap();
    let args = words.split_whitespace().map(|word| word.trim_matches('\''));
    Some(drivescope(args).output().unwrap().into())
}

// Breaks when one line puts the partition behind the zone in which another wants the file allocation tables, or FAT and
// exFAT have no command.
#[test]
fn the_stick_of_a_public_case_has_one_layout() {
    let Some(ran) = case("advice-fat-zone.cmd") else { return };
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "echo 'start=1MiB, size=7639MiB, type=c' | sfdisk --label dos /dev/sdX",
        "the partition begins at 1 MiB, within the first 4 MiB, which take small writes in any order",
        "mkfs.vfat -F 32 -s 64 -R ",
        "its clusters begin at 8 MiB, with an erase block",
        "mkfs.exfat -c 32K -b 4096K /dev/sdX1",
    ] {
        assert!(text.contains(words), "{words:?} is missing: {text}");
    }
    assert!(!text.contains("keep the file allocation tables"), "{text}");
}

// Breaks when noise hides that a card was never written, which is read and not only timed.
#[test]
fn the_fresh_and_noisy_card_of_a_public_case_is_known_for_one() {
    let Some(ran) = case("align-fresh-noisy.cmd") else { return };
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("100% of the places read hold zeros or ones alone"), "{text}");
    assert!(text.contains("state=filled"), "{text}");
}

// Breaks when a class is named without the figures that it rests on.
#[test]
fn the_slow_card_of_a_public_case_is_told_in_figures() {
    let Some(ran) = case("speed-class-no-figures.cmd") else { return };
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "recording: slowest of 8 units of 4 MiB ",
        " MB/s, fastest ",
        " IOPS one at a time (A1 asks for 1500)",
        " IOPS one at a time (A1 asks for 500)",
        "not tested: the speed class control command",
    ] {
        assert!(text.contains(words), "{words:?} is missing: {text}");
    }
}

// Breaks when the classes of a mounted card cannot be asked for, or a test file stays behind or replaces something.
#[test]
fn speed_classes_are_judged_in_a_directory() {
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let device = sparse(480 << 20);
    tool("mkfs.ext4", &["-q", device.dev()]);
    let mounted = Mounted::new("ext4", device.dev(), "");
    let dir = mounted.path();
    fs::write(dir.join("mine"), "mine").unwrap();
    let args = ["probe", "speed-class", dir.to_str().unwrap(), "--json", "--no-record"];
    let ran: super::common::Ran = drivescope(args).arg("--no-progress").output().unwrap().into();
    let ran = ran.says(&["writes a test file of 256 MiB, and removes it at the end"]);
    let evidence = &ran.body()["evidence"]["speed_class"];
    assert!(evidence["writes"]["per_s"].as_f64().unwrap() > 0.0, "{evidence}");
    assert_eq!(evidence["units_bytes_per_s"].as_array().unwrap().len(), 8, "{evidence}");
    holds(&evidence["unit_from"], &["a file does not show the card's"]);
    let conditions = evidence["not_kept"].as_array().unwrap();
    holds(conditions.last().unwrap(), &["it is a file"]);
    let names = super::common::names(dir);
    assert!(names.contains(&"mine".to_owned()), "{names:?}");
    assert!(names.iter().all(|name| name == "mine" || name == "lost+found"), "{names:?}");
    assert_eq!(fs::read_to_string(dir.join("mine")).unwrap(), "mine");
    // Other probes need the device, and say so.
    let refused: super::common::Ran =
        drivescope(["probe", "align", dir.to_str().unwrap()]).output().unwrap().into();
    refused.fails(2, &["is a directory"]);
}

// Breaks on the card of a public report, which was to be overwritten without a word.
#[test]
fn the_card_of_a_public_report_is_said_to_be_off_the_grid() {
    let path = format!("{CASES}/advice-partitioned-card.sh");
    let Ok(script) = fs::read_to_string(&path) else {
        println!("skipped: this machine has no {path}");
        return;
    };
    if !has_means(&["losetup", "partx", "sfdisk"]) {
        return;
    }
    let table = script.split("printf '").nth(1).unwrap().split('\'').next().unwrap();
    let device = Parted::new(512 << 20, &table.replace("\\n", "\n"));
    let card = advice(device.dev());
    let places = "partition 1 begins at 1 MiB, 1 MiB into an erase block of 4 MiB and 3 MiB before the next one";
    holds(&of(&card, "partitions").unwrap()["why"], &[places]);
    holds(&of(&card, "partition").unwrap()["erases"], &["this erases ", ": partition 1 at 1 MiB"]);
    all_say(&card);
}
