//! Machines that show or allow less than this one: a sandbox without `/sys`, a container's filter, an older kernel. What
//! is missing leads to a fallback or to one clear error; never to a wrong proof, and never to a write.
//!
//! In a program of its own: its sandboxes would take along what other tests have mounted, and keep it busy.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::storage::{Loop, has_means, has_tools, tool};
use common::{Ran, names, runs_dir, scratch_dir, tests, verdict, written_file};
use rustix::io::Errno;
use serde_json::Value;
use tempfile::TempDir;

const SIZE: u64 = 16 << 20;
const READ: [&str; 9] = [
    "--tests=RND4KQ1T1",
    "--read-only",
    "--size=16MiB",
    "--duration=50ms",
    "--warm-up=10ms",
    "--pause=1ms",
    "--runs=1",
    "--no-progress",
    "--json",
];

/// Something that is hidden: a name, and what a shell does to hide it from itself and what it becomes.
#[derive(Clone, Copy)]
struct Hidden {
    name: &'static str,
    script: &'static str,
    /// Without it the users of a device cannot be found.
    unsafe_to_write: bool,
}

const fn hidden(name: &'static str, script: &'static str, unsafe_to_write: bool) -> Hidden {
    Hidden { name, script, unsafe_to_write }
}

const HIDDEN: [Hidden; 10] = [
    hidden("nothing", "true", false),
    hidden("/sys", "mount -t tmpfs none /sys", true),
    hidden("/proc", "mount -t tmpfs none /proc", true),
    hidden("mounts", "mount --bind /dev/null /proc/$$/mountinfo", true),
    hidden("swap areas", "mount --bind /dev/null /proc/swaps", true),
    hidden("disks", "mount -t tmpfs none /sys/block", true),
    hidden("block devices", "mount -t tmpfs none /sys/dev/block", true),
    hidden("the task's I/O", "mount --bind /dev/null /proc/$$/io", false),
    hidden("CPU times", "mount --bind /dev/null /proc/stat", false),
    hidden("other processes", "mount -t proc -o hidepid=2 none /proc", false),
];

/// The program's command where something is hidden from it.
fn command_without(hidden: &Hidden, args: &[&str]) -> Command {
    let script = format!("{} && exec \"$@\"", hidden.script);
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script, "sh", env!("CARGO_BIN_EXE_drivescope")]).args(args);
    command.env("DRIVESCOPE_RUNS_DIR", runs_dir()).stdin(Stdio::null());
    command
}

fn without(hidden: &Hidden, args: &[&str]) -> Ran {
    command_without(hidden, args).output().unwrap().into()
}

/// Not a crash: it ended by itself, with a result or with one error.
#[track_caller]
fn clean(case: &str, ran: &Ran) {
    assert!(matches!(ran.code, Some(0..=3)), "{case}: {ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{case}: {}", ran.stderr);
    let errors = ran.stderr.lines().filter(|line| line.starts_with("error:")).count();
    let failed = matches!(ran.code, Some(2 | 3));
    assert_eq!(errors, usize::from(failed), "{case}: {ran:?}");
    assert!(!failed || ran.stdout.is_empty(), "{case}: an error came with a result");
}

fn has_namespaces() -> bool {
    has_means(&["losetup", "unshare", "mount"])
}

/// If a proof were made of what could not be read, a cache's number would be sold as the drive's.
#[test]
fn what_is_hidden_makes_a_proof_unprovable_and_never_wrong() {
    if !has_namespaces() {
        return;
    }
    let dir = scratch_dir();
    let file = dir.path().join("file");
    written_file(&file, SIZE);
    for hidden in HIDDEN {
        let buffered = without(&hidden, &mark_line(&file, &["--buffered"]));
        clean(hidden.name, &buffered);
        if buffered.code != Some(2) {
            // Out of the page cache: whatever is hidden, this must not be taken for the device.
            assert_ne!(reached(&buffered), "proven", "{}: {}", hidden.name, buffered.stdout);
        }
        let direct = without(&hidden, &mark_line(&file, &[]));
        clean(hidden.name, &direct);
        if direct.code != Some(2) {
            assert_ne!(reached(&direct), "refuted", "{}: {}", hidden.name, direct.stdout);
        }
        println!("{}: {:?} {:?}", hidden.name, buffered.code, direct.code);
    }
    assert_eq!(names(dir.path()), ["file"]);
}

fn mark_line<'a>(target: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    [&["mark", target.to_str().unwrap()], &READ[..], more].concat()
}

fn reached(ran: &Ran) -> String {
    verdict(&tests(&ran.body())[0], "reached").to_owned()
}

#[test]
fn a_directory_is_measured_or_refused_and_nothing_is_left() {
    if !has_namespaces() {
        return;
    }
    let dir = scratch_dir();
    for hidden in HIDDEN {
        let ran = without(&hidden, &mark_line(dir.path(), &[]));
        clean(hidden.name, &ran);
        assert!(names(dir.path()).is_empty(), "{}: {:?}", hidden.name, names(dir.path()));
    }
}

/// That nothing is known of a mount is not that there is none.
#[test]
fn where_nobody_knows_who_uses_a_device_nothing_is_written() {
    if !has_namespaces() {
        return;
    }
    let device = Loop::new(SIZE, true);
    let before = fs::read(&device.image).unwrap();
    let consent = format!("--consent={}", device.name());
    let writing = [
        vec![
            "mark",
            device.dev(),
            "--tests=RND4KQ1T1",
            "--write-only",
            "--runs=1",
            "--duration=9ms",
        ],
        vec!["probe", "open-au", device.dev(), "--time-budget=100ms"],
        vec!["probe", "capacity", device.dev(), "--destructive"],
    ];
    for hidden in HIDDEN.iter().filter(|hidden| hidden.unsafe_to_write) {
        for line in &writing {
            let said = ["--write", &consent, "--no-progress", "--no-record"];
            let ran = without(hidden, &[line, &said[..]].concat());
            ran.fails(3, &[device.dev(), "is unknown", "no flag overrides this"]);
            assert!(fs::read(&device.image).unwrap() == before, "{}: {line:?}", hidden.name);
        }
    }
    let free = without(&HIDDEN[0], &[&writing[0][..], &["--write", &consent, "--json"]].concat());
    assert!(matches!(free.code, Some(0 | 1)), "{free:?}");
    assert!(fs::read(&device.image).unwrap() != before, "with all to be seen, it is written to");
}

#[test]
fn other_verbs_say_what_they_miss() {
    if !has_namespaces() {
        return;
    }
    let device = Loop::new(SIZE, true);
    let dir = scratch_dir();
    let recording = dir.path().join("recording.parquet");
    for hidden in HIDDEN {
        let devices = without(&hidden, &["devices", "--json"]);
        clean(hidden.name, &devices);
        let health = without(&hidden, &["health", device.dev()]);
        clean(hidden.name, &health);
        let probe = ["probe", "align", device.dev(), "--time-budget=200ms", "--no-progress"];
        let probe = without(&hidden, &probe);
        clean(hidden.name, &probe);
        let traced = ["trace", "record", device.dev(), "--duration=20ms", "-o"];
        let traced = without(&hidden, &[&traced[..], &[recording.to_str().unwrap()]].concat());
        clean(hidden.name, &traced);
        let _ = fs::remove_file(&recording);
        for ran in [&devices, &health, &probe, &traced] {
            if ran.code == Some(2) {
                let says = ran.stderr.contains(device.dev()) || ran.stderr.contains("/sys");
                assert!(says, "{}: {}", hidden.name, ran.stderr);
            }
        }
        if hidden.unsafe_to_write && devices.code == Some(0) {
            for listed in devices.body()["devices"].as_array().unwrap() {
                assert_eq!(listed["ready"], false, "{}: {listed}", hidden.name);
            }
        }
    }
}

/// The program with calls that the kernel denies.
struct Filter {
    _dir: TempDir,
    deny: PathBuf,
}

impl Filter {
    fn new() -> Option<Filter> {
        has_tools(&["cc"]).then(|| {
            let dir = scratch_dir();
            let deny = dir.path().join("deny");
            let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/deny.c");
            tool("cc", &["-O1", "-o", deny.to_str().unwrap(), source]);
            Filter { _dir: dir, deny }
        })
    }

    fn run(&self, denied: &[String], args: &[&str]) -> Ran {
        let mut command = Command::new(&self.deny);
        command.args(denied).args(["--", env!("CARGO_BIN_EXE_drivescope")]).args(args);
        command.env("DRIVESCOPE_RUNS_DIR", runs_dir()).stdin(Stdio::null());
        let ran: Ran = command.output().unwrap().into();
        assert_ne!(ran.code, Some(125), "the filter itself: {}", ran.stderr);
        ran
    }
}

fn denied(group: &str, error: Errno) -> Vec<String> {
    vec![format!("{group}={}", error.raw_os_error())]
}

/// Errors of a container's filter, and of a kernel that does not know the call.
const ANSWERS: [Errno; 2] = [Errno::PERM, Errno::NOSYS];

/// An error about a denied engine names the next one, and that one works.
#[test]
fn an_engine_that_is_denied_names_the_next_one() {
    let Some(filter) = Filter::new() else { return };
    let dir = scratch_dir();
    let file = dir.path().join("file");
    written_file(&file, SIZE);
    for error in ANSWERS {
        for (group, engine, next) in [
            ("io_uring", "io_uring", "libaio"),
            ("register", "io_uring", "libaio"),
            ("libaio", "libaio", "psync"),
        ] {
            let own = format!("--engine={engine}");
            let ran = filter.run(&denied(group, error), &mark_line(&file, &[&own]));
            let advice = format!("--engine {next}");
            ran.fails(2, &[engine, &advice]);
            let next = format!("--engine={next}");
            let ran = filter.run(&denied(group, error), &mark_line(&file, &[&next]));
            clean(group, &ran);
            assert_eq!(ran.body()["setup"]["engine"], next["--engine=".len()..]);
        }
        let named = ["probe", "align", file.to_str().unwrap(), "--engine=io_uring", "--no-record"];
        filter.run(&denied("io_uring", error), &named).fails(2, &["--engine libaio"]);
    }
}

/// Each verb that measures, on `file`, in a short form; `trace` is one that is replayed there.
fn measuring<'a>(file: &'a str, trace: &'a str) -> [Vec<&'a str>; 8] {
    const SHORT: [&str; 5] =
        ["--duration=20ms", "--warm-up=5ms", "--pause=1ms", "--runs=1", "--size=4MiB"];
    fn own<'a>(verb: &[&'a str], file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [verb, &[file], more].concat()
    }
    let loads = ["--tests=RND4KQ1T1", "--read-only"];
    [
        own(&["mark"], file, &[&SHORT[..], &loads].concat()),
        own(&["compare", file], file, &[&SHORT[..], &loads].concat()),
        own(
            &["sweep"],
            file,
            &[&SHORT[..3], &["--vary=depth=1,2", "--runs=3", "--span=4MiB"]].concat(),
        ),
        own(&["probe", "align"], file, &["--time-budget=100ms"]),
        own(&["survey"], file, &["--time-budget=2s", "--no-live"]),
        own(&["trace", "replay", trace], file, &["--format=msr"]),
        own(&["flashbench", "--engine=auto", "-a", "-b", "65536", "-c", "1"], file, &[]),
        own(&["diskspd", "--engine=auto", "-b4K", "-d1", "-W0"], file, &[]),
    ]
}

/// Engines that records in `runs` name, and those that they say were refused.
fn recorded_engines(runs: &Path) -> Vec<(Value, Value)> {
    let read = |name: &String, file: &str| -> Option<Value> {
        serde_json::from_str(&fs::read_to_string(runs.join(name).join(file)).ok()?).ok()
    };
    let of = |name: &String| {
        let setup = read(name, "setup.json")?;
        let document = read(name, "document.json")?;
        let body = &document["body"];
        // A replay has no setup beside it.
        let engine = body["setup"].get("engine").unwrap_or(&body["engine"]).clone();
        Some((engine, setup["engine_refused"][0]["engine"].clone())).filter(|(e, _)| e.is_string())
    };
    names(runs).iter().filter_map(of).collect()
}

/// In a container io_uring is denied as a rule, and the first command of a user would end in an error.
#[test]
fn where_io_uring_is_denied_the_next_engine_measures_and_is_named() {
    let Some(filter) = Filter::new() else { return };
    let dir = scratch_dir();
    let file = dir.path().join("file");
    written_file(&file, SIZE);
    let trace = dir.path().join("trace.csv");
    let row = |at: u64| format!("{},host,0,Read,{},4096,1000\n", 1 << 57 | at, at % SIZE);
    fs::write(&trace, (0..20).map(|at| row(at << 12)).collect::<String>()).unwrap();
    for (groups, next) in [
        (&[("io_uring", Errno::PERM)][..], "libaio"),
        (&[("register", Errno::NOSYS)], "libaio"),
        (&[("io_uring", Errno::PERM), ("libaio", Errno::NOSYS)], "psync"),
    ] {
        let runs = scratch_dir();
        let groups: Vec<String> =
            groups.iter().flat_map(|&(group, error)| denied(group, error)).collect();
        for line in measuring(file.to_str().unwrap(), trace.to_str().unwrap()) {
            let is_face = matches!(line[0], "flashbench" | "diskspd");
            let place = format!("--runs-dir={}", runs.path().display());
            let more = [place.as_str(), "--no-progress"];
            let more = if is_face { &[][..] } else { &more[..] };
            let ran = filter.run(&groups, &[&line[..], more].concat());
            assert!(matches!(ran.code, Some(0 | 1)), "{line:?} {groups:?}: {ran:?}");
            let notes: Vec<&str> =
                ran.stderr.lines().filter(|line| line.contains("blocked here")).collect();
            assert!(matches!(&notes[..], [one] if one.ends_with(next)), "{line:?}: {notes:?}");
        }
        let engines = recorded_engines(runs.path());
        // A mark, two sides, a sweep, a probe and a replay; a survey makes parts by their verbs.
        assert!(engines.len() >= 6, "{engines:?}");
        assert!(engines.iter().all(|(engine, _)| engine == next), "{engines:?}");
        let refused = |(_, refused): &&(Value, Value)| refused == "io_uring";
        assert!(engines.iter().filter(refused).count() >= 6, "{engines:?}");
    }
}

/// A run that is repeated where its engine is denied is made with the next one; one that goes on is not.
#[test]
fn a_recorded_engine_that_is_denied_is_replaced_only_where_runs_stay_alike() {
    let Some(filter) = Filter::new() else { return };
    let (dir, runs) = (scratch_dir(), scratch_dir());
    let file = dir.path().join("file");
    written_file(&file, SIZE);
    let place = format!("--runs-dir={}", runs.path().display());
    let ran = filter.run(&[], &mark_line(&file, &[&place]));
    assert_eq!(ran.body()["setup"]["engine"], "io_uring");
    let blocked = denied("io_uring", Errno::PERM);
    let rerun = ["rerun", "last", "--json", "--no-progress", &place];
    let again = filter.run(&blocked, &rerun);
    clean("rerun", &again);
    assert_eq!(again.body()["setup"]["engine"], "libaio", "{}", again.stderr);
    assert_eq!(again.stderr.matches("blocked here").count(), 1, "{}", again.stderr);
    let named = filter.run(&[], &[&rerun[..], &["--engine=psync"]].concat());
    assert_eq!(named.body()["setup"]["engine"], "psync", "{}", named.stderr);
    filter.run(&blocked, &[&rerun[..], &["--engine=io_uring"]].concat()).fails(2, &["libaio"]);
}

/// A purge reads and zeroes with the engine that it is given.
#[test]
fn a_purge_uses_the_engine_that_it_is_given() {
    if !has_means(&["losetup"]) {
        return;
    }
    let Some(filter) = Filter::new() else { return };
    for (engine, denies, used) in [
        ("psync", "io_uring", "psync"),
        ("auto", "io_uring", "libaio"),
        ("io_uring", "mincore", "io_uring"),
    ] {
        let device = Loop::new(SIZE, true);
        written_file(&device.image, SIZE);
        let (consent, flag) =
            (format!("--consent={}", device.name()), format!("--engine={engine}"));
        let line = ["purge", device.dev(), "--method=zero", "--json", "--no-record"];
        let line = [&line[..], &["--no-progress", &consent, &flag]].concat();
        let ran = filter.run(&denied(denies, Errno::PERM), &line).exits(0);
        assert_eq!(ran.body()["engine"], used, "{}", ran.stderr);
        assert!(fs::read(&device.image).unwrap().iter().all(|byte| *byte == 0), "{engine}");
    }
}

/// Sysfs that cannot be opened for want of descriptors would look like a drive of which nothing is known.
#[test]
fn too_few_descriptors_are_said_to_be_too_few() {
    let dir = scratch_dir();
    let file = dir.path().join("file");
    written_file(&file, SIZE);
    let limited = |files: u32, args: &[&str]| -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {files} && exec \"$@\""), "sh"]);
        command.arg(env!("CARGO_BIN_EXE_drivescope")).args(args);
        command.env("DRIVESCOPE_RUNS_DIR", runs_dir()).stdin(Stdio::null());
        command.output().unwrap().into()
    };
    limited(12, &["devices"]).fails(2, &["more files can be opened", "ulimit -n"]);
    let many = mark_line(&file, &["--no-record"]);
    let is_tests = |word: &&str| word.starts_with("--tests");
    let many: Vec<&str> = many.into_iter().filter(|word| !is_tests(word)).collect();
    let many = [&many[..], &["--tests=RND4KQ1T64"]].concat();
    limited(40, &many).fails(2, &["64 submitters", "more files can be opened", "ulimit -n"]);
    let other = limited(40, &[&many[..], &["--engine=libaio"]].concat());
    assert!(matches!(other.code, Some(0 | 1)), "{other:?}");
}

/// Features that a kernel may lack one by one: the way round is taken, and measures the same.
#[test]
fn a_feature_that_is_denied_is_gone_round() {
    let Some(filter) = Filter::new() else { return };
    let dir = scratch_dir();
    let file = dir.path().join("file");
    written_file(&file, SIZE);
    let usual = filter.run(&[], &mark_line(&file, &["--buffered"]));
    let seen = |ran: &Ran| -> (Option<i32>, String, Value) {
        let body = ran.body();
        (ran.code, reached(ran), body["target"]["capacity_bytes"].clone())
    };
    for error in ANSWERS {
        for group in ["cachestat", "statx", "affinity", "fallocate", "mlock"] {
            let ran = filter.run(&denied(group, error), &mark_line(&file, &["--buffered"]));
            clean(group, &ran);
            assert_eq!(seen(&ran), seen(&usual), "{group}: {}", ran.stderr);
            let made = filter.run(&denied(group, error), &mark_line(dir.path(), &[]));
            clean(group, &made);
            assert!(matches!(made.code, Some(0 | 1)), "{group}: {}", made.stderr);
        }
        let both = [denied("cachestat", error), denied("mincore", error)].concat();
        let ran = filter.run(&both, &mark_line(&file, &["--buffered"]));
        clean("no way to look into the page cache", &ran);
        assert_ne!(reached(&ran), "proven");
    }
    assert_eq!(names(dir.path()), ["file"]);
}

/// Ways to set a ring up came one by one: what a kernel does not know is left out, and measures the same.
#[test]
fn rings_of_older_kernels_are_made_without_what_they_lack() {
    const R_DISABLED: u32 = 1 << 6;
    if !has_means(&["cc"]) {
        return;
    }
    let Some(filter) = Filter::new() else { return };
    let dir = scratch_dir();
    let file = dir.path().join("file");
    written_file(&file, SIZE);
    let lacking = |flags: u32| denied(&format!("setup:{flags:#x}"), Errno::INVAL);
    let own = mark_line(&file, &["--engine=io_uring", "--buffered"]);
    let usual = filter.run(&[], &own);
    // From include/uapi/linux/io_uring.h, with the kernels that brought them: 6.6 NO_SQARRAY, 6.1 DEFER_TASKRUN, 6.0
    // SINGLE_ISSUER, 5.19 COOP_TASKRUN and TASKRUN_FLAG, 5.18 SUBMIT_ALL.
    let mut lacks = 0;
    for flags in [1 << 16, 1 << 13, 1 << 12, 1 << 8 | 1 << 9, 1 << 7] {
        lacks |= flags;
        let ran = filter.run(&lacking(lacks), &own);
        clean(&format!("without {lacks:#x}"), &ran);
        assert_eq!((ran.code, reached(&ran)), (usual.code, reached(&usual)), "{}", ran.stderr);
        assert_eq!(ran.body()["setup"]["engine"], "io_uring");
    }
    let ran = filter.run(&denied("ring_fds", Errno::INVAL), &own);
    clean("without registered rings", &ran);
    assert_eq!(ran.code, usual.code, "{}", ran.stderr);
    // Before 5.10 there is no ring that can be used at all.
    filter.run(&lacking(R_DISABLED), &own).fails(2, &["io_uring", "--engine libaio"]);
}

/// If no seed can be drawn, one can be given.
#[test]
fn without_randomness_a_seed_is_asked_for() {
    let Some(filter) = Filter::new() else { return };
    let line = ["mark", "sim:hdd-7200", "--tests=RND4KQ1T1", "--runs=1", "--no-progress"];
    filter.run(&denied("getrandom", Errno::NOSYS), &line).fails(2, &["--seed"]);
    let seeded =
        filter.run(&denied("getrandom", Errno::NOSYS), &[&line[..], &["--seed=7"]].concat());
    assert_eq!(seeded.code, Some(0), "{}", seeded.stderr);
}
