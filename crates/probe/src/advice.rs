//! Advice that follows from the findings: aligned partitions, filesystems that know the erase block, streams that stay open.

mod fat;
mod item;
mod site;

use block::{Bytes, DriveInfo, DriveKind, Layout, quoted};

use crate::finding::{Name, Verdict};
use crate::known::Known;

pub use item::{Advice, Subject};
use item::{FS_BLOCK, new, size};

/// Segment of f2fs (mkfs.f2fs(8)).
const F2FS_SEGMENT: u64 = 2 << 20;
/// Number of logs that f2fs keeps open by default, and the other numbers that it accepts (kernel:
/// Documentation/filesystems/f2fs.rst, `active_logs`).
const F2FS_LOGS: [u64; 3] = [6, 4, 2];

/// Advice that follows from `known` for a drive, and from what is not known of its capacity: a partition of all that it reports
/// is lost on a drive that holds less. `write_flags` are those that a command needs to write to the drive.
pub fn with_doubt(
    known: &Known,
    info: &DriveInfo,
    layout: &Layout,
    write_flags: &str,
) -> Vec<Advice> {
    let mut advice = of(known, info, layout);
    match known.finding(Name::RealCapacity) {
        None => {
            if advice.iter().any(|advice| advice.topic == Subject::Partition) {
                let why = "before it is partitioned: its capacity was not checked, and a counterfeit loses what is written \
                           beyond what it holds";
                advice.insert(0, ask_capacity(info, "", write_flags, why));
            }
        }
        Some(finding) if finding.verdict == Verdict::Unknown => {
            advice.retain(|advice| !advice.topic.known().is_some_and(Subject::is_layout));
            let why = "to learn how much it holds: until then, store nothing on it; this erases everything on it";
            advice.insert(0, ask_capacity(info, " --full", write_flags, why));
        }
        Some(finding) if finding.confidence.is_none() => {
            let why = "to prove that it holds all that it reports; this erases everything on it, and takes as long as writing \
                       and reading all of it";
            advice.push(ask_capacity(info, " --full", write_flags, why));
        }
        Some(_) => {}
    }
    advice
}

/// Advice that follows from `known`, for a drive with this `layout`.
pub fn of(known: &Known, info: &DriveInfo, layout: &Layout) -> Vec<Advice> {
    let name = device_of(info);
    let mut advice = Vec::new();
    // Before the filesystems: it is the partition that they go into.
    let less = capacity(known, info);
    let is_less = less.is_some();
    let erases = site::erases(layout, name);
    let with = |erases: &Option<String>, one: Advice| Advice {
        erases: erases.clone().filter(|_| one.command.is_some()),
        command: one.command.map(|command| if erases.is_some() { over(&command) } else { command }),
        ..one
    };
    advice.extend(less.map(|one| with(&erases, one)));
    if let Some(erase) = known.value(Name::EraseBlock).filter(|bytes| *bytes > 0) {
        let is_part = layout.part_of.is_some();
        let is_kept = !is_less && !is_part && site::is_aligned(layout, erase);
        advice.extend(site::found(layout, erase).filter(|_| !is_less || is_part));
        let is_new = !is_less && !is_part && !is_kept;
        advice.extend(is_new.then(|| with(&erases, partition(erase, name))));
        let first = if is_part { name.to_owned() } else { first_partition(name) };
        let on_first = match is_part {
            true => erases.clone(),
            false => site::erases_first(layout, name, &first),
        };
        // Only the user knows which of several kept partitions may be emptied.
        if !is_kept || layout.parts.len() == 1 {
            let systems = [ext4(known, erase, &first), f2fs(known, erase, &first)];
            advice.extend(systems.into_iter().flatten().map(|one| with(&on_first, one)));
        }
        if is_new || is_part {
            let fat = fat_systems(known, erase, info, layout, (name, &first));
            advice.extend(fat.into_iter().map(|one| {
                with(if one.topic == Subject::FatPartition { &erases } else { &on_first }, one)
            }));
        }
    }
    advice.extend(streams(known));
    advice.extend(fat_zone(known).filter(|_| advice.iter().all(|one| one.topic != Subject::Vfat)));
    advice.extend(cache(known));
    advice
}

/// The command for a place that holds something, of which it is to leave nothing that could be taken for a filesystem.
fn over(command: &str) -> String {
    command.replacen("| sfdisk ", "| sfdisk --wipe always ", 1).replacen(
        "mkfs.f2fs ",
        "mkfs.f2fs -f ",
        1,
    )
}

/// The device that commands are for; where a drive is virtual, one of its kind has to be named.
fn device_of(info: &DriveInfo) -> &str {
    match info.kind {
        DriveKind::Virtual => "/dev/sdX",
        _ => &info.name,
    }
}

/// Start of the first partition: a multiple of the erase block of at least 4 MiB, which leaves room for the partition table.
fn start(erase: u64) -> u64 {
    erase * (4_u64 << 20).div_ceil(erase)
}

/// Advice to ask a drive for its capacity.
fn ask_capacity(info: &DriveInfo, how: &str, write_flags: &str, why: &str) -> Advice {
    let name = quoted(&info.name);
    let consent = match info.kind {
        DriveKind::Virtual => String::new(),
        _ => format!(" {write_flags}"),
    };
    let command = format!("drivescope probe capacity {name}{how}{consent}");
    new(Subject::Unchecked, Some(command), why.to_owned())
}

/// Partitions that begin and end with an erase block.
fn partition(erase: u64, name: &str) -> Advice {
    new(
        Subject::Partition,
        Some(format!("echo 'start={}' | sfdisk --label gpt {name}", size(start(erase)))),
        format!(
            "a partition that begins at a multiple of {} shares no erase block with another",
            Bytes(erase).human()
        ),
    )
}

fn ext4(known: &Known, erase: u64, first: &str) -> Option<Advice> {
    let page = known.value(Name::MultiPlanePage).or_else(|| known.value(Name::Page));
    let whole = erase.is_multiple_of(FS_BLOCK);
    let stride = page.unwrap_or(FS_BLOCK).max(FS_BLOCK) / FS_BLOCK;
    let width = erase / FS_BLOCK;
    whole.then(|| {
        new(
            Subject::Ext4,
            Some(format!("mkfs.ext4 -E stride={stride},stripe-width={width} {first}")),
            format!(
                "allocation then keeps to pages of {} and erase blocks of {}",
                Bytes(stride * FS_BLOCK).human(),
                Bytes(erase).human()
            ),
        )
    })
}

/// A section is what f2fs cleans as a whole: it should be whole erase blocks.
fn f2fs(known: &Known, erase: u64, first: &str) -> Option<Advice> {
    let segments = lcm(erase, F2FS_SEGMENT)? / F2FS_SEGMENT;
    let open = known.value(Name::OpenAuLinear);
    let limit = known.finding(Name::OpenAuLinear).is_some_and(|f| f.verdict == Verdict::Found);
    let logs = open.filter(|_| limit).filter(|open| *open < F2FS_LOGS[0]);
    let logs = logs.map(|open| F2FS_LOGS.into_iter().find(|logs| *logs <= open).unwrap_or(2));
    let mount = match logs {
        Some(logs) => format!("; mount with -o active_logs={logs}, since few units may be open"),
        None => String::new(),
    };
    Some(new(
        Subject::F2fs,
        Some(format!("mkfs.f2fs -s {segments} {first}")),
        format!(
            "in place of ext4: a section of {segments} segments is {}, whole erase blocks{mount}",
            Bytes(segments * F2FS_SEGMENT).human()
        ),
    ))
}

/// Least common multiple; `None` where it leaves 64 bits.
fn lcm(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).checked_mul(b)
}

fn streams(known: &Known) -> Option<Advice> {
    let linear = known.finding(Name::OpenAuLinear)?.value?;
    let random = known.finding(Name::OpenAuRandom).and_then(|finding| finding.value);
    let random = match random {
        Some(0) => ", and only in order: writing out of order closes even one".to_owned(),
        Some(random) if random < linear => format!(", {random} of them out of order"),
        _ => String::new(),
    };
    Some(new(
        Subject::Streams,
        None,
        format!(
            "write to {linear} erase block{} at a time at most{random}; beyond that every write costs a merge",
            if linear == 1 { "" } else { "s" }
        ),
    ))
}

/// FAT and exFAT, for the partition `first` of the disk `name` or of its own.
fn fat_systems(
    known: &Known,
    erase: u64,
    info: &DriveInfo,
    layout: &Layout,
    (name, first): (&str, &str),
) -> Vec<Advice> {
    let (capacity, sector) = (info.capacity_bytes.0, info.logical_block_bytes.0.max(512));
    let zone = known.value(Name::FatZone).filter(|zone| *zone > 0);
    if let Some(part) = &layout.part_of {
        let place = fat::Place { start: part.start.0, length: capacity, sector, erase };
        return fat::advice(place, zone, None, first);
    }
    let place = fat::place(erase, zone, capacity, sector, start(erase));
    // Its table is of the old form, which cameras and players read.
    let place = place.filter(|_| capacity / sector <= fat::MBR_SECTORS);
    place.map_or_else(Vec::new, |place| fat::advice(place, zone, Some(name), first))
}

fn fat_zone(known: &Known) -> Option<Advice> {
    let zone = known.finding(Name::FatZone)?.value?;
    Some(new(
        Subject::Fat,
        None,
        format!(
            "the first {} take small writes in any order: file allocation tables, a journal or a bitmap do well there",
            Bytes(zone).human()
        ),
    ))
}

fn cache(known: &Known) -> Option<Advice> {
    let cache = known.finding(Name::SlcCache)?.value?;
    Some(new(
        Subject::Cache,
        None,
        format!(
            "bursts of writes up to {} are fast; a benchmark that writes less measures that part alone",
            Bytes(cache).human()
        ),
    ))
}

/// A partition that ends where the drive really does. Its table is of the old form (MBR): a GPT has a copy at the end that is
/// stated, which on such a drive lies over something else, or is lost.
fn capacity(known: &Known, info: &DriveInfo) -> Option<Advice> {
    let (real, stated) = (known.finding(Name::RealCapacity)?.value?, info.capacity_bytes.0);
    let erase = known.value(Name::EraseBlock).filter(|bytes| *bytes > 0).unwrap_or(4 << 20);
    let start = start(erase);
    let length = real.saturating_sub(start) / erase * erase;
    let is_told = real / info.logical_block_bytes.0.max(512) <= fat::MBR_SECTORS && length > 0;
    let command = is_told.then(|| {
        format!(
            "echo 'start={}, size={}' | sfdisk --label dos {}",
            size(start),
            size(length),
            device_of(info)
        )
    });
    (real < stated).then(|| {
        new(
            Subject::Capacity,
            command,
            format!(
                "to use it anyway, partition only the {} that it holds of {}: data beyond is lost",
                Bytes(real).human(),
                Bytes(stated).human()
            ),
        )
    })
}

/// How the kernel calls the first partition of a disk.
fn first_partition(name: &str) -> String {
    let digit = name.ends_with(|c: char| c.is_ascii_digit());
    if digit { format!("{name}p1") } else { format!("{name}1") }
}

#[cfg(test)]
mod tests {
    use block::{Part, PartOf};

    use super::*;
    use crate::finding::Finding;

    fn known(findings: &[(Name, u64)]) -> Known {
        let mut known = Known::new();
        for (name, value) in findings {
            known.learn(&[Finding::found(*name, *value, 0.99, "seen")]);
        }
        known
    }

    fn drive(name: &str) -> DriveInfo {
        DriveInfo {
            name: name.to_owned(),
            kind: DriveKind::BlockDevice,
            model: None,
            serial: None,
            capacity_bytes: Bytes::gib(8),
            logical_block_bytes: Bytes(512),
            physical_block_bytes: Bytes(512),
            rotational: None,
            write_cache: None,
            cache_bytes: None,
            link_bytes_per_s: None,
        }
    }

    /// Topics as JSON has them.
    fn words(advice: Vec<Advice>) -> Vec<String> {
        let word = |advice: Advice| serde_json::to_value(advice.topic).unwrap();
        advice.into_iter().map(|advice| word(advice).as_str().unwrap().to_owned()).collect()
    }

    fn commands(known: &Known, name: &str) -> Vec<String> {
        of(known, &drive(name), &Layout::default())
            .into_iter()
            .filter_map(|advice| advice.command)
            .collect()
    }

    // Breaks when a unit is given in another one than the command takes: sectors, blocks, segments.
    #[test]
    fn commands_speak_in_the_units_of_their_programs() {
        let card = known(&[
            (Name::EraseBlock, 4 << 20),
            (Name::Page, 8 << 10),
            (Name::MultiPlanePage, 16 << 10),
            (Name::OpenAuLinear, 2),
            (Name::OpenAuRandom, 1),
        ]);
        assert_eq!(
            commands(&card, "/dev/mmcblk0"),
            [
                "echo 'start=4MiB' | sfdisk --label gpt /dev/mmcblk0",
                "mkfs.ext4 -E stride=4,stripe-width=1024 /dev/mmcblk0p1",
                "mkfs.f2fs -s 2 /dev/mmcblk0p1",
                "echo 'start=4MiB, size=8188MiB, type=c' | sfdisk --label dos /dev/mmcblk0",
                "mkfs.vfat -F 32 -s 64 -R 4096 /dev/mmcblk0p1",
                "mkfs.exfat -c 32K -b 2048K /dev/mmcblk0p1",
            ]
        );
        let why: Vec<_> = of(&card, &drive("/dev/mmcblk0"), &Layout::default())
            .into_iter()
            .map(|advice| advice.why)
            .collect();
        assert!(why[2].ends_with("active_logs=2, since few units may be open"), "{}", why[2]);
        assert!(why[6].contains("2 erase blocks at a time"), "{}", why[6]);
    }

    // Breaks when an erase block of 3 x 2^k is rounded to a power of two.
    #[test]
    fn an_erase_block_that_is_no_power_of_two_is_kept_to() {
        let card = known(&[(Name::EraseBlock, 3 << 20)]);
        assert_eq!(
            commands(&card, "/dev/sdb"),
            [
                "echo 'start=6MiB' | sfdisk --label gpt /dev/sdb",
                "mkfs.ext4 -E stride=1,stripe-width=768 /dev/sdb1",
                "mkfs.f2fs -s 3 /dev/sdb1",
                "echo 'start=6MiB, size=8184MiB, type=c' | sfdisk --label dos /dev/sdb",
                "mkfs.vfat -F 32 -s 64 -R 2048 /dev/sdb1",
                "mkfs.exfat -c 32K -b 4096K /dev/sdb1",
            ]
        );
    }

    // Breaks when advice is to partition all of a card whose real capacity was not probed.
    #[test]
    fn capacity_is_asked_before_all_of_it_is_used() {
        let topics = |known: &Known| {
            let advice =
                with_doubt(known, &drive("/dev/sdb"), &Layout::default(), "--write --consent WORD");
            words(advice)
        };
        let blind = known(&[(Name::EraseBlock, 4 << 20)]);
        assert_eq!(topics(&blind)[..2], ["unchecked", "partition"]);
        let honest = known(&[(Name::EraseBlock, 4 << 20), (Name::RealCapacity, 8 << 30)]);
        assert_eq!(topics(&honest)[0], "partition");
        let fake = known(&[(Name::EraseBlock, 4 << 20), (Name::RealCapacity, 1 << 30)]);
        assert_eq!(topics(&fake)[0], "capacity");
        assert!(
            topics(&known(&[(Name::OpenAuLinear, 2)])).iter().all(|topic| topic != "unchecked")
        );
    }

    // Breaks when a drive of unknown capacity is to be partitioned, or samples pass for proof.
    #[test]
    fn a_layout_waits_for_the_capacity() {
        let advised = |finding: Finding| {
            let mut known = known(&[(Name::EraseBlock, 4 << 20)]);
            known.learn(&[finding]);
            with_doubt(&known, &drive("/dev/sdb"), &Layout::default(), "--write --consent WORD")
        };
        let doubted = advised(Finding::unknown(Name::RealCapacity, "addresses wrap"));
        assert_eq!(words(doubted), ["unchecked"]);
        let found = Finding::found(Name::RealCapacity, 8 << 30, 0.99, "seen");
        let sampled = advised(Finding { confidence: None, ..found.clone() });
        let last = sampled.last().and_then(|advice| advice.command.clone());
        let full = "drivescope probe capacity /dev/sdb --full --write --consent WORD";
        assert_eq!(last.as_deref(), Some(full));
        assert_eq!(words(sampled)[0], "partition");
        assert!(!words(advised(found)).contains(&"unchecked".to_owned()));
    }

    fn part(number: u64, start: u64, holds: &str, clusters: Option<u64>) -> Part {
        let holds = if holds.is_empty() { Vec::new() } else { vec![holds.to_owned()] };
        let clusters = clusters.map(Bytes);
        Part { number, start: Bytes(start), length: Bytes::gib(1), holds, clusters }
    }

    fn advised(layout: &Layout) -> Vec<Advice> {
        let card = known(&[(Name::EraseBlock, 4 << 20), (Name::RealCapacity, 8 << 30)]);
        of(&card, &drive("/dev/sdb"), layout)
    }

    // Breaks when a command that erases is given without a word of what is lost.
    #[test]
    fn commands_say_first_what_they_erase() {
        let card = known(&[(Name::EraseBlock, 4 << 20), (Name::RealCapacity, 1 << 30)]);
        let raw = Layout { holds: vec!["a vfat filesystem".to_owned()], ..Layout::default() };
        let parts = vec![part(1, 1 << 20, "an ext4 filesystem", None), part(2, 5 << 20, "", None)];
        let parted = Layout { parts, ..Layout::default() };
        let unread = Layout { unread: Some("denied".to_owned()), ..Layout::default() };
        let used = Layout { uses: vec!["sdb is held by dm-0".to_owned()], ..Layout::default() };
        for (layout, words) in [
            (&raw, "a vfat filesystem"),
            (&parted, "partition 1 at 1 MiB (an ext4 filesystem), partition 2 at 5 MiB"),
            (&unread, "contents that cannot be read (denied)"),
            (&used, "end this first: sdb is held by dm-0"),
        ] {
            for advice in advised(layout).into_iter().chain(of(&card, &drive("/dev/sdb"), layout)) {
                assert_eq!(advice.erases.is_some(), advice.command.is_some(), "{advice:?}");
                let is_table = advice.command.is_some_and(|command| command.contains("sfdisk"));
                if is_table {
                    let erases = advice.erases.unwrap();
                    assert!(erases.starts_with("this erases /dev/sdb: "), "{erases}");
                    assert!(erases.contains(words), "{erases}");
                }
            }
        }
        assert!(advised(&Layout::default()).iter().all(|advice| advice.erases.is_none()));
        // Of the partition that is there already, only what it holds is lost with a new filesystem.
        let ext4 =
            advised(&parted).into_iter().find(|advice| advice.topic == Subject::Ext4).unwrap();
        assert_eq!(ext4.erases.unwrap(), "this erases /dev/sdb1: an ext4 filesystem");
    }

    // Breaks when a partition off the grid is not reported with its distance, or one that is on it is to be erased.
    #[test]
    fn partitions_are_held_against_the_grid() {
        let topics = |layout: &Layout| words(advised(layout));
        let off = Layout { parts: vec![part(1, 1 << 20, "", None)], ..Layout::default() };
        let made = ["partition", "ext4", "f2fs", "fat-partition", "vfat", "exfat"];
        assert_eq!(topics(&off)[0], "partitions");
        assert_eq!(topics(&off)[1..], made);
        let why = &advised(&off)[0].why;
        let places = "partition 1 begins at 1 MiB, 1 MiB into an erase block of 4 MiB and 3 MiB before the next one";
        assert!(why.contains(places), "{why}");
        // As the SD Association has cards formatted: the clusters begin with an erase block.
        let vfat = part(1, 4 << 20, "a vfat filesystem", Some(8 << 20));
        let factory = Layout { parts: vec![vfat.clone()], ..Layout::default() };
        assert_eq!(topics(&factory), ["keep", "ext4", "f2fs"]);
        let shifted = Part { clusters: Some(Bytes(5 << 20)), ..vfat.clone() };
        assert_eq!(topics(&Layout { parts: vec![shifted], ..Layout::default() })[0], "partitions");
        let two = Layout { parts: vec![vfat, part(2, 1 << 30, "", None)], ..Layout::default() };
        assert_eq!(topics(&two), ["keep"]);
    }

    // Breaks when a partition is taken for a disk: a table within it, or one more digit behind its name.
    #[test]
    fn a_partition_is_advised_as_one() {
        let card = known(&[(Name::EraseBlock, 4 << 20)]);
        for (start, words, reserved, bound) in [
            (1 << 20, "only a new partition table moves it", 2048, 2048),
            (8 << 20, "it can stay", 4096, 2048),
        ] {
            let disk = "/dev/sdb".to_owned();
            let part_of = Some(PartOf { disk, number: 1, start: Bytes(start) });
            let layout = Layout {
                part_of,
                holds: vec!["an ext4 filesystem".to_owned()],
                ..Layout::default()
            };
            let advice = of(&card, &drive("/dev/sdb1"), &layout);
            assert!(advice[0].why.starts_with("this is partition 1 of /dev/sdb, which begins at "));
            assert!(advice[0].why.contains(words), "{}", advice[0].why);
            let commands: Vec<_> = advice.iter().filter_map(|a| a.command.as_deref()).collect();
            let expected = [
                "mkfs.ext4 -E stride=1,stripe-width=1024 /dev/sdb1".to_owned(),
                "mkfs.f2fs -f -s 2 /dev/sdb1".to_owned(),
                format!("mkfs.vfat -F 32 -s 64 -R {reserved} /dev/sdb1"),
                format!("mkfs.exfat -c 32K -b {bound}K /dev/sdb1"),
            ];
            assert_eq!(commands, expected);
            let erases = advice[1].erases.as_deref();
            assert_eq!(erases, Some("this erases /dev/sdb1: an ext4 filesystem"));
        }
    }

    // Breaks when the advice contains a command that no machine can run.
    #[test]
    fn what_was_found_on_a_virtual_drive_is_for_a_real_one() {
        let known = known(&[(Name::EraseBlock, 4 << 20), (Name::RealCapacity, 1 << 30)]);
        let info = DriveInfo { kind: DriveKind::Virtual, ..drive("sim:fake-64g") };
        let advice = of(&known, &info, &Layout::default());
        let commands: Vec<_> =
            advice.iter().filter_map(|advice| advice.command.as_deref()).collect();
        assert_eq!(commands.len(), 3);
        // One partition, all of it within what is there, beside no copy of its table at the end that is stated.
        assert_eq!(commands[0], "echo 'start=4MiB, size=1020MiB' | sfdisk --label dos /dev/sdX");
        assert!(commands.iter().all(|command| command.contains(" /dev/sdX")), "{commands:?}");
    }

    #[test]
    fn nothing_found_is_nothing_to_do() {
        let mut none = Known::new();
        none.learn(&[
            Finding::unknown(Name::EraseBlock, "noise"),
            Finding::none(Name::OpenAuLinear, 0.99, "no cliff"),
        ]);
        assert!(of(&none, &drive("/dev/sdb"), &Layout::default()).is_empty());
    }
}
