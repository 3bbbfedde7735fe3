//! diskspd's face: its command line and its report, with right offsets, on virtual drives and real filesystems.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use common::storage::{Loop, Mounted, filesystem_is_known, has_means, has_tools, skip, tool};
use common::{Alive, Ran, run, scratch_dir, written_file};

/// The face, called by diskspd's own name.
fn face(line: &str, dir: &Path) -> Ran {
    let name = dir.join("diskspd");
    if !name.exists() {
        symlink(env!("CARGO_BIN_EXE_drivescope"), &name).unwrap();
    }
    let words = line.split_whitespace();
    Command::new(name).args(words).current_dir(dir).output().unwrap().into()
}

/// Rate as the common one-liner takes it from a report: the sixth word of the first total.
fn rate(report: &str) -> f64 {
    let table = report.lines().skip_while(|line| *line != "Total IO");
    let total = table.into_iter().find(|line| line.starts_with("total")).expect("a total");
    total.split_whitespace().nth(5).unwrap().parse().unwrap()
}

// Breaks when the report, or anything in it, depends on the machine or on the moment.
#[test]
fn a_virtual_drive_gives_the_same_report_each_time() {
    let dir = scratch_dir();
    let line = "-b4K -r -o4 -t2 -d2 -W1 -w30 -Zr -L -D500 -z7 sim:hdd-wd";
    let (once, again) = (face(line, dir.path()).exits(0), face(line, dir.path()).exits(0));
    assert_eq!(once.stdout, again.stdout);
    assert_ne!(once.stdout, face(&line.replace("-z7", "-z8"), dir.path()).stdout);
    let by_verb = run([&["diskspd"], &line.split(' ').collect::<Vec<_>>()[..]].concat()).exits(0);
    let after = |report: &str| report.split_once("System info").unwrap().1.to_owned();
    assert_eq!(after(&by_verb.stdout), after(&once.stdout));
    let ran = once.says(&["seed 7", "verdict on sim:hdd-wd: reached confirmed, pattern "]);
    assert!(!ran.stdout.contains("verdict"), "scripts read stdout: {}", ran.stdout);
}

// The article's figures of one disk: 175 to 180 MiB/s are what it reads, and 300 to 400 what diskspd said.
#[test]
fn emulated_cursors_read_the_cache_and_right_ones_the_disk() {
    let dir = scratch_dir();
    let line = "-b1M -d10 -o8 -t1 -W5 -Sd -w0 -z1 -f1G sim:hdd-wd";
    let right = face(line, dir.path()).exits(0).says(&["pattern confirmed"]);
    assert!((165.0..185.0).contains(&rate(&right.stdout)), "{}", right.stdout);
    let emulated = format!("--emulate=diskspd-linux {line}");
    let told = ["each block is transferred 8 times", "pattern rejected", "leave --emulate out"];
    let ran = face(&emulated, dir.path()).exits(0).says(&told);
    assert!(rate(&ran.stdout) > 1.4 * rate(&right.stdout), "{}", ran.stdout);
    // Scripts run unchanged, unless they ask for errors.
    face(&format!("--strict {emulated}"), dir.path()).exits(1);
    face(&format!("--strict {line}"), dir.path()).exits(0);
}

#[test]
fn all_threads_draw_alike_only_where_that_is_emulated() {
    let dir = scratch_dir();
    let line = "-b4K -r -t8 -o1 -d5 -W1 -f1G sim:hdd-wd";
    face(&format!("-z1 {line}"), dir.path()).exits(0).says(&["pattern confirmed"]);
    let ran = face(&format!("--emulate diskspd-linux {line}"), dir.path()).exits(0);
    let told = ["seed 0", "all threads draw the same offsets", "pattern rejected"];
    let ran = ran.says(&told);
    assert!(ran.stdout.contains("using random I/O (alignment: 65536)"), "{}", ran.stdout);
}

#[test]
fn several_targets_have_rows_of_their_own() {
    let dir = scratch_dir();
    let rows = |line: &str| -> Vec<(u32, String)> {
        let ran = face(line, dir.path()).exits(0);
        let table = ran.stdout.split_once("Total IO").unwrap().1.split_once("total:").unwrap().0;
        let row = |line: &str| {
            let (thread, rest) = line.split_once('|')?;
            let target = rest.rsplit_once("| ")?.1.split(' ').next()?.to_owned();
            Some((thread.trim().parse().ok()?, target))
        };
        table.lines().filter_map(row).collect()
    };
    let of = |rows: &[(u32, &str)]| -> Vec<(u32, String)> {
        rows.iter().map(|(thread, target)| (*thread, (*target).to_owned())).collect()
    };
    let (sg, wd) = ("sim:hdd-sg", "sim:hdd-wd");
    let each = rows("-t2 -d1 -W0 -z1 sim:hdd-sg sim:hdd-wd");
    assert_eq!(each, of(&[(0, sg), (1, sg), (2, wd), (3, wd)]));
    let all = rows("-F2 -d1 -W0 -z1 sim:hdd-sg sim:hdd-wd");
    assert_eq!(all, of(&[(0, sg), (0, wd), (1, sg), (1, wd)]));
}

#[test]
fn a_throttle_holds_and_a_cool_down_is_not_counted() {
    let dir = scratch_dir();
    let ran = face("-b64K -g64K -o4 -d4 -W1 -C2 -z1 -f256M sim:sata-a", dir.path()).exits(0);
    // 64 KiB a millisecond.
    assert!((62.0..63.0).contains(&rate(&ran.stdout)), "{}", ran.stdout);
    ran.says(&["-g: "]);
}

#[test]
fn xml_is_printed_when_it_is_asked_for() {
    let dir = scratch_dir();
    let ran = face("-Rxml -L -d1 -W0 -z1 sim:hdd-wd", dir.path()).exits(0);
    assert!(ran.stdout.starts_with("<Results>\n") && ran.stdout.ends_with("</Results>\n"));
    let count = ran.stdout.split_once("<BytesCount>").unwrap().1.split_once('<').unwrap().0;
    assert!(count.parse::<u64>().unwrap() > 100 << 20, "{}", ran.stdout);
    assert!(!ran.stdout.contains("ComputerName"), "a virtual drive is on no machine");
}

#[test]
fn wrong_use_is_one_clear_error() {
    let dir = scratch_dir();
    let fails = |line: &str, words: &[&str]| {
        let ran = face(line, dir.path()).fails(2, words);
        assert_eq!(ran.stdout, "", "{line}");
    };
    fails("-b4K", &["no target"]);
    fails("-b4K -b4K sim:hdd-wd", &["-b", "twice"]);
    fails("-Xfile.xml sim:hdd-wd", &["-X", "Windows"]);
    fails("-d5 no-such-file", &["no-such-file", "-c"]);
    fails("-d5 -b1000 sim:hdd-wd", &["-b1000", "512"]);
    fails("-d5 -f9999G sim:hdd-wd", &["-f", "4000787030016"]);
    fails("-d5 -W0 sim:no-such-drive sim:hdd-wd", &["no-such-drive"]);
    fails("--emulate=fio sim:hdd-wd", &["--emulate", "diskspd-linux"]);
    fails("-d1 .", &["directory"]);
    let help = face("--help", dir.path()).exits(0);
    assert!(help.stdout.contains("-T SIZE") && help.stdout.contains("--emulate"));
    assert_eq!(face("-h", dir.path()).exits(0).stdout, help.stdout);
    assert!(run(["help", "diskspd"]).exits(0).stdout.contains("-T SIZE"));
    fails("-h sim:hdd-wd", &["-h", "Windows"]);
    let version = face("--version", dir.path()).exits(0).stdout;
    assert_eq!(version, concat!("diskspd (drivescope ", env!("CARGO_PKG_VERSION"), ")\n"));
}

// Breaks when what is not one's own to lose is written to: a device asks for a word, whatever diskspd did.
#[test]
fn files_are_written_as_asked_and_devices_with_consent() {
    let dir = scratch_dir();
    let file = dir.path().join("data");
    written_file(&file, 8 << 20);
    let before = fs::read(&file).unwrap();
    face("-d1 -W0 -b64K -Sd data", dir.path()).exits(0);
    assert!(fs::read(&file).unwrap() == before, "it was only to be read");
    let line = "-d1 -W0 -b64K -Sd -w100 -Zr data";
    face(line, dir.path()).fails(3, &["data", "--consent data"]);
    assert!(fs::read(&file).unwrap() == before, "written to without consent");
    face(&format!("--consent=data {line}"), dir.path()).exits(0);
    assert!(fs::read(&file).unwrap() != before);
    assert_eq!(fs::metadata(&file).unwrap().len(), 8 << 20);
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(32 << 20, true);
    let line = format!("-d1 -W0 -b64K -Sd -w100 -Zr {}", device.dev());
    let before = fs::read(device.dev()).unwrap();
    face(&line, dir.path()).fails(3, &["--consent"]);
    assert!(fs::read(device.dev()).unwrap() == before, "written to without consent");
}

#[test]
fn a_file_is_created_whole_and_taken_as_it_is_when_it_is_as_large() {
    let dir = scratch_dir();
    face("-c4M -d1 -W0 -Sd new", dir.path()).exits(0);
    let file = dir.path().join("new");
    let made = fs::read(&file).unwrap();
    assert_eq!(made.len(), 4 << 20);
    assert!(
        made[..4096] != made[4096..8192],
        "what compresses or repeats is not a test of a drive"
    );
    face("-c2M -d1 -W0 -Sd new", dir.path()).exits(0);
    assert!(fs::read(&file).unwrap() == made);
    let names = common::names(dir.path());
    assert_eq!(names.len(), 2, "nothing else is left: {names:?}");
    face("-c1M -d1 /dev/null", dir.path()).fails(2, &["/dev/null"]);
}

// Breaks when a file that is somebody's is replaced because it is smaller than what -c says.
#[test]
fn a_smaller_file_keeps_what_it_holds() {
    let dir = scratch_dir();
    let file = dir.path().join("mine");
    let mine = vec![7; 5000];
    fs::write(&file, &mine).unwrap();
    let ran = face("-c2M -d1 -W0 -b4K -w0 -Sd mine", dir.path()).exits(0);
    assert!(ran.stderr.contains("mine was there, of 5000 B"), "{}", ran.stderr);
    let now = fs::read(&file).unwrap();
    assert_eq!(now.len(), 2 << 20);
    assert!(now[..5000] == mine, "what was there is lost");
    assert!(now[8192..12288] != now[12288..16384], "what repeats is not a test of a drive");
    face("-c90000G -d1 -W0 -b4K -w0 -Sd mine", dir.path()).fails(2, &["mine", "does not fit"]);
    let before = fs::read(&file).unwrap();
    face("-d1 -W0 -b4K -w100 -Sd --consent=other mine", dir.path()).fails(3, &["mine", "other"]);
    assert!(fs::read(&file).unwrap() == before, "a word of another file was taken");
    face("-d1 -W0 -b4K -w100 -Sd mine", dir.path()).fails(3, &["--consent mine"]);
    assert!(fs::read(&file).unwrap() == before, "no word was said");
    face("-c3M -d1 -W0 -b4K -w100 -Sd mine", dir.path()).fails(3, &["--consent mine"]);
    assert!(fs::read(&file).unwrap() == before, "it was made larger, and then refused");
    // Each target has a word of its own.
    let line = "-d1 -W0 -b4K -w100 -Sd --consent=other --consent=mine mine";
    face(line, dir.path()).exits(0);
    let line = "-c3M -d1 -W0 -b4K -w100 -Sd --consent=mine mine";
    let ran = face(line, dir.path()).exits(0);
    assert!(ran.stderr.contains("mine was there, of"), "{}", ran.stderr);
    assert_eq!(fs::metadata(&file).unwrap().len(), 3 << 20);
}

// Breaks when a file that a command makes itself is taken for somebody's, or somebody's for its own.
#[test]
fn a_file_that_it_makes_needs_no_word_and_no_name_is_taken_away() {
    let dir = scratch_dir();
    face("-c4M -d1 -W0 -b64K -w100 -Sd new", dir.path()).exits(0);
    assert_eq!(fs::metadata(dir.path().join("new")).unwrap().len(), 4 << 20);
    face("-c4M -d1 -W0 -b64K -w100 -Sd new", dir.path()).fails(3, &["--consent new"]);
    symlink("nowhere", dir.path().join("link")).unwrap();
    face("-c4M -d1 -W0 -w100 -Sd link", dir.path()).fails(2, &["link that leads nowhere"]);
    assert_eq!(fs::read_link(dir.path().join("link")).unwrap(), Path::new("nowhere"));
    // Nothing is made before all targets were permitted.
    let before = fs::read(dir.path().join("new")).unwrap();
    face("-c8M -d1 -W0 -w100 -Sd other new", dir.path()).fails(3, &["--consent new"]);
    assert_eq!(common::names(dir.path()), ["diskspd", "link", "new"]);
    assert!(fs::read(dir.path().join("new")).unwrap() == before);
}

// Breaks when a file that another program uses is made larger before the safety gate is asked.
#[test]
fn a_file_in_use_is_not_made_larger() {
    let dir = scratch_dir();
    let file = dir.path().join("data");
    written_file(&file, 1 << 20);
    let state = || {
        let meta = fs::metadata(&file).unwrap();
        (meta.len(), meta.modified().unwrap())
    };
    let before = state();
    let refused = |why: &str| {
        for line in ["-c16M -w0", "-c16M -w100 --consent=data"] {
            face(&format!("{line} -d1 -W0 -b4K -Sd data"), dir.path()).fails(3, &["data", why]);
            assert!(state() == before, "{line}: it was changed");
        }
    };
    let stdin = fs::File::open(&file).unwrap();
    let reader = Alive::start(Command::new("sleep").arg("1000").stdin(stdin));
    refused("is open in sleep");
    drop(reader);
    let held = fs::File::open(&file).unwrap();
    held.lock().unwrap();
    refused("held for exclusive use");
    held.unlock().unwrap();
    drop(held);
    if !has_means(&["losetup"]) {
        return;
    }
    let path = tool("losetup", &["-f", "--show", file.to_str().unwrap()]);
    let device = Loop::attached(path, &file);
    refused("is the backing file of loop");
    drop(device);
    face("-c16M -w0 -d1 -W0 -b4K -Sd data", dir.path()).exits(0);
    assert_eq!(fs::metadata(&file).unwrap().len(), 16 << 20);
}

/// As people write them: one measurement after the other, of which awk takes one figure each.
const SCRIPT: &str = r#"#! /bin/bash
# TYPE FILE COUNT Read|Write SECONDS WARM-UP
block=${1:3:2}; depth=${1##*Q}; depth=${depth%T*}; threads=${1#*T}
[ "$4" = Read ] && writes=0 || writes=100
[ "${1:0:3}" = RND ] && random=-r || random=
echo "No.,Type,Target,Read_Write,result"
for i in $(seq "$3"); do
  echo -n "$i,$1,$2,$4,"
  ${DISKSPD} -Zr -b${block} -d$5 -o${depth} -t${threads} -W$6 -Sd -w${writes} ${random} $2 \
    | awk '/^Total IO$/ {while(1) {getline; if ($0 ~ /^total/) {print $6; break}} }'
done
"#;

/// Runs the script on a filesystem of this kind; the figures, and what was said.
fn script_on(fstype: &str) -> Option<Vec<(String, Vec<f64>, String)>> {
    if !has_means(&["losetup", &format!("mkfs.{fstype}")]) || !has_tools(&["awk", "bash"]) {
        return None;
    }
    if !filesystem_is_known(fstype) {
        skip(&format!("the kernel has no {fstype}"));
        return None;
    }
    let device = Loop::new(512 << 20, true);
    device.mkfs(fstype);
    let mounted = Mounted::new(fstype, device.dev(), "");
    let data = mounted.path().join("data");
    written_file(&data, 64 << 20);
    let dir = scratch_dir();
    let (script, diskspd) = (dir.path().join("measure.sh"), dir.path().join("diskspd"));
    fs::write(&script, SCRIPT).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    symlink(env!("CARGO_BIN_EXE_drivescope"), &diskspd).unwrap();
    let loads = ["SEQ1MQ8T1", "RND4KQ32T1", "RND4KQ1T2"];
    let runs = loads.iter().flat_map(|load| [(*load, "Read"), (*load, "Write")]);
    let ran = runs.map(|(load, way)| {
        let mut command = Command::new("bash");
        command.arg(&script).args([load, data.to_str().unwrap(), "2", way, "1", "0"]);
        // It did not create the file that it writes to, which requires consent.
        let program = format!("{} --consent=data", diskspd.display());
        let ran: Ran = command.env("DISKSPD", program).output().unwrap().into();
        let ran = ran.exits(0);
        let figures = ran.stdout.lines().skip(1).map(|line| {
            let figure = line.rsplit(',').next().unwrap();
            figure
                .parse()
                .unwrap_or_else(|_| panic!("{fstype} {load} {way}: {line}: {}", ran.stderr))
        });
        (format!("{load} {way}"), figures.collect(), ran.stderr.clone())
    });
    Some(ran.collect())
}

// Breaks when a script that was written for diskspd has to be changed.
#[test]
fn a_script_for_diskspd_runs_unchanged_on_ext4() {
    is_measured_by_a_script_on("ext4");
}

// Breaks when the figures that such a script collects never came from a device: on Btrfs diskspd's own buffers were not
// aligned, and it reported the speed of the page cache.
#[test]
fn a_script_for_diskspd_runs_unchanged_on_btrfs() {
    is_measured_by_a_script_on("btrfs");
}

fn is_measured_by_a_script_on(fstype: &str) {
    for (load, figures, said) in script_on(fstype).into_iter().flatten() {
        assert_eq!(figures.len(), 2, "{fstype} {load}");
        assert!(figures.iter().all(|figure| *figure > 0.0), "{fstype} {load}: {figures:?}");
        if load.ends_with("Read") {
            let confirmed = said.matches("reached confirmed").count();
            assert_eq!(confirmed, 2, "{fstype} {load}: {said}");
        }
    }
}
