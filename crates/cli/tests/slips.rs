//! Typical mistakes of newcomers: each error is in the user's own terms, and says what to type instead.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::path::Path;

use common::{run, scratch_dir};

/// Breaks when a bare 2 is 2% of one flag and twice the whole of another.
#[test]
fn a_share_is_never_guessed() {
    for (flag, line) in [
        ("--until", &["mark", "sim:hdd-wd"][..]),
        ("--margin", &["rerun", "last"]),
        ("--margin", &["trend", "sim:hdd-wd"]),
        ("--margin", &["compare", "a.json", "b.json"]),
        ("--tolerance", &["compare", "a.json", "b.json"]),
        ("--margin", &["sweep", "sim:hdd-wd", "--vary=depth=1,2"]),
        ("--unstable-above", &["sweep", "sim:hdd-wd", "--vary=depth=1,2"]),
        ("--over-provisioning", &["judge", "x"]),
        ("--over-provisioning", &["pts", "iops", "sim:mlc-nvme"]),
        ("--open-loop", &["pts", "iops", "sim:mlc-nvme"]),
    ] {
        for bare in ["2", "1", "1.5", "2.0"] {
            let said = format!("{flag}={bare}");
            let percent = format!("write {}%", bare.trim_end_matches(".0"));
            run(line.iter().copied().chain([&*said])).fails(2, &[flag, bare, "is it", &percent]);
        }
        for wrong in ["0", "0%", "-2%", "x", "1001%", "NaN", "inf", ""] {
            let said = format!("{flag}={wrong}");
            run(line.iter().copied().chain([&*said])).fails(2, &[flag, "such as 2% or 0.02"]);
        }
    }
    let plan = |share: &str| run(["plan", "--tests=RND4KQ1T1", "--seed=7", share]).exits(0).stdout;
    for (share, percent) in [("7%", "7.0"), ("0.07", "7.0"), ("0.5", "50.0"), ("0.5%", "0.5")] {
        let plan = plan(&format!("--until={share}"));
        assert!(plan.contains(&format!("half_width_percent = {percent}\n")), "{share}: {plan}");
    }
}

/// Breaks when a percentage may not have its sign, or a fraction is cut down to none.
#[test]
fn a_percentage_may_have_its_sign() {
    let plan = |flag: &str| run(["plan", "--tests=RND4KQ1T1", "--seed=7", flag]);
    for flag in ["--mix=70", "--compressible=50", "--dedup=0"] {
        let bare = plan(flag).exits(0).stdout;
        assert_eq!(bare, plan(&format!("{flag}%")).exits(0).stdout, "{flag}");
    }
    plan("--mix=0.7").fails(2, &["--mix", "0.7", "from 1 to 99", "50%"]);
    plan("--compressible=101%").fails(2, &["--compressible", "from 0 to 100"]);
}

/// Breaks when a list as `taskset` takes it is refused, or a missing CPU is reported as a fault of the drive.
#[test]
fn cpus_are_numbers_and_ranges() {
    let first = linux::host::allowed_processors()[0];
    let wrong = |cpus: &str, words: &[&str]| {
        let dir = scratch_dir();
        let cpus = format!("--cpus={cpus}");
        for line in [
            &["mark", "null:"][..],
            &["mark", dir.path().to_str().unwrap()],
            &["compare", "sim:hdd-wd", "sim:hdd-sg"],
            &["probe", "align", "sim:usb-8m"],
            &["pts", "iops", "sim:mlc-nvme"],
            &["trace", "replay", "x", "sim:mlc-nvme"],
        ] {
            let ran = run(line.iter().copied().chain([&*cpus]));
            ran.fails(2, &[&["--cpus"], words].concat());
        }
    };
    wrong("9999", &["no CPU 9999 that this program may use", &first.to_string()]);
    wrong(&format!("{first}-9999"), &["that this program may use"]);
    wrong("1-0", &["`1-0` is not a CPU", "such as 0,2-3"]);
    wrong("x", &["`x` is not a CPU"]);
    wrong("0,", &["`` is not a CPU"]);
    let quick = ["--tests=RND4KQ1T1", "--duration=20ms", "--warm-up=0", "--runs=1", "--no-record"];
    let range = format!("--cpus={first}-{first},{first}");
    let ran = run(["mark", "null:", &range].iter().chain(&quick));
    assert!(ran.code != Some(2) && !ran.stderr.contains("--cpus"), "{}", ran.stderr);
}

/// Breaks when a flag that reaches nothing is taken in silence.
#[test]
fn flags_of_the_kernel_are_told_on_a_virtual_drive() {
    let first = linux::host::allowed_processors()[0];
    let cpus = format!("--cpus={first}");
    let quick = ["--tests=RND4KQ1T1", "--duration=20ms", "--warm-up=0", "--runs=1", "--no-record"];
    let mark = |target: &str, flags: &[&str]| {
        run(["mark", target, "--no-progress"].iter().chain(&quick).chain(flags)).stderr
    };
    let said = mark("sim:hdd-wd", &["--engine=psync", "--buffered", &cpus]);
    let words = "--engine, --cpus, --buffered do nothing on sim:hdd-wd: no kernel stands before it";
    assert!(said.contains(words), "{said}");
    let said = mark("null:", &["--engine=psync", &cpus]);
    assert!(said.contains("--engine does nothing on null:"), "{said}");
    assert!(!mark("sim:hdd-wd", &[]).contains("nothing on"));
    let probe = ["probe", "align", "sim:usb-8m", "--engine=psync", "--time-budget=1s"];
    let said = run(probe.iter().chain(&["--no-record", "--no-progress"])).stderr;
    assert_eq!(said.matches("--engine does nothing on sim:usb-8m").count(), 1, "{said}");
}

/// Breaks when an error is in the words of the language that this is written in.
#[test]
fn numbers_are_asked_for_in_words() {
    for (flag, words) in [
        ("--runs=x", "write a whole number"),
        ("--runs=2.5", "write a whole number"),
        ("--runs=", "a number is wanted"),
        ("--runs=0", "write a whole number from 1 to 100000"),
        ("--seed=abc", "write a whole number"),
        ("--seed=-1", "without sign"),
        ("--seed=99999999999999999999", "too large"),
        ("--samples-max=0", "from 1 to 20000000"),
        ("--discard-first=is not in 3..4", "write a whole number"),
    ] {
        let ran = run(["mark", "sim:hdd-wd", flag]);
        assert!(!ran.stderr.contains("digit"), "{}", ran.stderr);
        let (name, value) = flag.split_once('=').unwrap();
        ran.fails(2, &[name, value, words]);
    }
}

/// Breaks when an error about a virtual drive's name uses a programmer's types.
#[test]
fn a_virtual_drive_is_asked_for_in_words() {
    let wrong = |name: &str, words: &[&str]| {
        run(["sim", "show", name]).fails(2, words);
    };
    wrong("hdd-wd,capacity=1GiB,seed=3", &["sim:hdd-wd?capacity=1GiB&seed=3"]);
    wrong("usb-8m?faults.ignores_flush=2", &["?faults.ignores_flush", "`2` is not true or false"]);
    wrong("hdd-wd?link.rate=1", &["?link.rate", "no field `rate`", "bytes_per_s"]);
    wrong("hdd-wd?link.bytes_per_s=x", &["?link.bytes_per_s", "`x` is not a whole number"]);
}

/// Files as newcomers have them.
fn files(dir: &Path) {
    let quick = ["--tests=RND4KQ1T1", "--duration=20ms", "--warm-up=0", "--runs=1", "--seed=7"];
    let mark = ["mark", "sim:hdd-wd", "--json", "--no-progress", "--no-record"];
    let printed = run(mark.iter().chain(&quick)).exits(0).stdout;
    let flashbench = run(["flashbench", "sim:usb-8m", "-a"]).stdout;
    let path = |name: &str| dir.join(name);
    fs::write(path("mark.txt"), &printed).unwrap();
    fs::write(path("mark.json"), &printed).unwrap();
    fs::write(path("cut.json"), &printed[..printed.len() / 2]).unwrap();
    fs::write(path("a.json"), "{\"a\": 1}").unwrap();
    fs::write(path("empty"), "").unwrap();
    fs::write(path("empty.json"), "").unwrap();
    fs::write(path("random"), [0x91, 0xc3, 0x28, 0xff].repeat(1000)).unwrap();
    fs::write(path("runs.tar.gz"), [0x1f, 0x8b, 8, 0]).unwrap();
    fs::write(path("align.txt"), flashbench).unwrap();
    fs::create_dir(path("directory")).unwrap();
}

/// Breaks when a file of another kind is called an unknown run, or its error does not lead to the verb that reads it.
#[test]
fn a_file_for_another_verb_is_told_as_what_it_is() {
    let dir = scratch_dir();
    files(dir.path());
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let wrong = |verb: &[&str], name: &str, words: &[&str]| {
        let path = at(name);
        let ran = run(verb.iter().copied().chain([&*path]));
        for raw in ["struct", "EOF", "invalid type", "expected value", "has the form none"] {
            assert!(!ran.stderr.contains(raw), "{raw}: {}", ran.stderr);
        }
        ran.fails(2, &[&[&*path], words].concat());
    };
    for verb in ["report", "show"] {
        wrong(&[verb], "random", &["is neither a recorded run nor what --json printed"]);
        wrong(&[verb], "empty", &["is empty"]);
        wrong(&[verb], "a.json", &["has no envelope", "give what --json printed"]);
        wrong(&[verb], "cut.json", &["is not whole JSON", "line"]);
        wrong(&[verb], "directory", &["is a directory"]);
        wrong(&[verb], "align.txt", &["flashbench", "drivescope import flashbench"]);
        wrong(&[verb], "runs.tar.gz", &["drivescope runs import"]);
    }
    run(["show", &at("mark.txt")]).exits(0);
    wrong(&["compare", &at("mark.json")], "a.json", &["has no envelope"]);
    wrong(&["compare", &at("mark.json")], "empty.json", &["is empty"]);
    run(["compare", &at("mark.json"), &at("mark.txt")]).exits(0);
    wrong(&["runs", "import"], "a.json", &["has no envelope", "nothing was imported"]);
    wrong(&["runs", "import"], "random", &["neither an archive", "nothing was imported"]);
    wrong(&["runs", "import"], "empty", &["is empty"]);
    wrong(&["runs", "import"], "align.txt", &["drivescope import flashbench"]);
    wrong(&["import"], "mark.json", &["drivescope runs import"]);
    wrong(&["import"], "runs.tar.gz", &["drivescope runs import"]);
    wrong(&["import"], "align.txt", &["drivescope import flashbench"]);
    wrong(&["import", "flashbench"], "mark.json", &["drivescope runs import"]);
    wrong(&["mark", "--plan"], "random", &["is not text", "drivescope plan"]);
    wrong(&["mark", "--plan"], "directory", &["is a directory", "drivescope plan"]);
    wrong(&["run"], "empty", &["is empty", "drivescope plan"]);
    wrong(&["run"], "a.json", &["is JSON", "drivescope plan"]);
    wrong(&["run"], "mark.json", &["drivescope.mark/1", "drivescope report"]);
    wrong(&["run"], "align.txt", &["drivescope import flashbench"]);
    fs::write(at("job.fio"), "[a]\nrw=randread\nfilename=/dev/sdb\n").unwrap();
    wrong(&["run"], "job.fio", &["job file of fio", "drivescope explain --plan"]);
    // A plan is some KiB; a file that is not a plan is neither read to its end nor quoted.
    fs::write(at("long.toml"), "x".repeat(1 << 20)).unwrap();
    fs::write(at("image"), "x".repeat(5 << 20)).unwrap();
    for name in ["long.toml", "image"] {
        let ran = run(["run", &at(name), "sim:usb-8m"]).fails(2, &["drivescope plan"]);
        assert!(ran.stderr.len() < 4096, "{name}: {} bytes", ran.stderr.len());
    }
    let log = "{\"fio version\" : \"fio-3.36\", \"jobs\" : []}";
    fs::write(at("fio.json"), log).unwrap();
    wrong(&["runs", "import"], "fio.json", &["result of fio", "drivescope import"]);
    wrong(&["report"], "fio.json", &["result of fio", "drivescope import"]);
    wrong(
        &["judge"],
        "mark.json",
        &["already says which results are confirmed", "drivescope show"],
    );
    wrong(&["judge"], "align.txt", &["drivescope import flashbench"]);
    wrong(&["trace", "analyze"], "mark.json", &["drivescope's own", "drivescope report"]);
    wrong(&["trace", "import"], "fio.json", &["no trace", "drivescope import"]);
    run(["import", "fio", &at("fio.json")])
        .fails(2, &["fio: there is no such file", "is not named"]);
    wrong(&["diskspd"], "empty", &["is empty; -c with a size"]);
    wrong(&["trace", "import", "x", "--output"], "no/out", &["there is no directory"]);
    wrong(&["trace", "export", "x", "--to=fio", "-o"], "no/out", &["there is no directory"]);
    run(["trace", "record", "sim:hdd-wd"]).fails(2, &["sim:hdd-wd", "drivescope sim serve"]);
    run(["mark", "/proc/cpuinfo"]).fails(2, &["/proc/cpuinfo", "is not storage"]);
    run(["mark", "/proc/cpuinfo", "--buffered"]).fails(2, &["/proc/cpuinfo", "is not storage"]);
}

/// Breaks when a slip in a directory's name makes a directory.
#[test]
fn a_directory_that_is_not_there_is_not_indexed() {
    let dir = scratch_dir();
    let nowhere = dir.path().join("nowhere");
    let ran = run(["runs", "reindex", "--runs-dir", nowhere.to_str().unwrap()]);
    ran.fails(2, &["nowhere", "there is no such directory"]);
    assert!(!nowhere.exists());
}

/// Breaks when a list of runs leaves the result of some out, or finds a virtual drive by its long name only.
#[test]
fn a_list_says_what_each_probe_has_come_to() {
    let dir = scratch_dir();
    let place = format!("--runs-dir={}", dir.path().display());
    for verb in ["interval", "surface", "speed-class"] {
        // It finds the allocation unit first, and records before it writes at random.
        let time = if verb == "speed-class" { "--time-budget=120s" } else { "--time-budget=20s" };
        let probe = ["probe", verb, "sim:usb-8m", time, "--seed=7", "--no-progress"];
        let ran = run(probe.iter().copied().chain([&*place])).exits(0);
        if verb == "speed-class" {
            ran.prints(&["allocation unit:", "8 MiB, the erase block, found by reads"]);
        }
    }
    // As one line, whatever the width of the page.
    let listed = |words: &[&str]| {
        let ran = run(["runs", "list", &place].iter().chain(words)).exits(0);
        ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let list = listed(&[]);
    assert!(!list.contains("nothing found"), "{list}");
    for words in ["access time:", "rate beyond it:", "speed: mean", "not met: A1, A2"] {
        assert!(list.contains(words), "{words}: {list}");
    }
    for name in ["sim:usb-8m", "usb-8m", "drivescope USB stick 8GB", "DRIVESCOPE usb stick 8gb"] {
        let found = listed(&["--drive", name]);
        assert_eq!(found.matches("probe ").count(), 3, "{name}: {found}");
    }
    run(["runs", "list", &place, "--drive", "usb-8"]).fails(2, &["usb-8"]);
    let sweep = ["sweep", "sim:hdd-wd", "--vary=depth=1,2", "--runs=3", "--duration=100ms", &place];
    let told = run(sweep).stdout;
    let counts = told.lines().find(|line| line.contains(" settings are usable")).expect(&told);
    let counts = counts.trim_end_matches('.').split(';').next().unwrap();
    let list = listed(&[]);
    assert!(list.to_lowercase().contains(&counts.to_lowercase()), "{counts}: {list}");
}

/// Breaks when an error leads nowhere.
#[test]
fn errors_say_what_to_type_instead() {
    let pts = ["pts", "iops", "sim:hdd-wd", "--minute=1ms", "--no-progress", "--no-record"];
    run(pts).fails(2, &["sim:hdd-wd: cannot be purged", "it takes no discards", "add --no-purge"]);
    let method = ["pts", "iops", "sim:mlc-nvme", "--purge-method=ata-erase", "--no-record"];
    run(method).fails(2, &["ata-erase is not possible here", "possible: discard", "--no-purge"]);
    let resume = ["pts", "iops", "sim:hdd-wd", "--resume=last"];
    run(resume).fails(2, &["is in the record", "leave it out: drivescope pts --resume last"]);
    run(["probe", "sim:usb-8m", "--row", "--json"]).fails(2, &["--row", "--json"]);
    let explain = |size: &str| run(["explain", "SEQ1MQ8T1", "--target-size", size]).exits(0).stdout;
    assert_eq!(explain("1073741824"), explain("1GiB"));
    run(["probe", "aligm", "sim:usb-8m"])
        .fails(2, &["aligm: there is no such probe", "open-au", "hint: did you mean align?"]);
    run(["probe", "sim:usb-8m", "align"]).fails(2, &["drivescope probe align sim:usb-8m"]);
    run(["report", "last", "--markdown", "x.md"]).fails(2, &["--markdown=x.md"]);
    for verb in [&["judge"][..], &["run"], &["trace", "analyze"], &["import"], &["runs", "import"]]
    {
        let line = verb.iter().copied().chain(["not/there"]);
        run(line).fails(2, &["not/there", "(os error 2); is its name right?"]);
    }
    // The nearest model is named, and none where none is near.
    run(["mark", "hdd-7200"])
        .fails(2, &["no such file or device", "hint: did you mean sim:hdd-7200?"]);
    run(["mark", "sim:sata-a?capacty=1GiB"]).fails(2, &["hint: did you mean capacity?"]);
    let fio = run(["explain", "fio", "--name=x"]).fails(2, &["hint: put the fio command after --"]);
    assert!(fio.stderr.starts_with("error: "), "{}", fio.stderr);
    run(["mark", "sim:sata-ssd"]).fails(2, &["no model is named sata-ssd", "mean sim:sata-a?"]);
    let far = run(["mark", "sim:nothing-like-it"]).fails(2, &["drivescope sim list"]).stderr;
    assert!(!far.contains("did you mean"), "{far}");
    run(["health", "--wake"]).fails(2, &["<DEVICE>"]);
    run(["health", "/dev/not-there"]).fails(2, &["(os error 2); drivescope devices lists"]);
    let dir = scratch_dir();
    let table = dir.path().join("table.csv");
    let rows: String =
        (0..50).map(|row| format!("{},R,{},4096\n", row * 1000, row * 4096)).collect();
    fs::write(&table, format!("time,op,offset,size\n{rows}")).unwrap();
    let both = ["--time-unit ns or", "--address-unit bytes or"];
    run(["trace", "analyze", table.to_str().unwrap()]).fails(2, &both);
}

/// Breaks when a drive in a file's place is looked for as a file, or a name that says one form gets another.
#[test]
fn what_stands_in_the_wrong_place_is_told() {
    let (drive, file) = ("sim:sata-a", "app.parquet");
    for line in [
        &["trace", "replay", drive, file][..],
        &["trace", "compare", drive, "sim:sata-b", file],
        &["trace", "analyze", drive],
    ] {
        run(line.iter().copied()).fails(2, &["sim:sata-a: is a drive, and a trace belongs there"]);
    }
    for verb in ["import", "judge"] {
        run([verb, drive]).fails(2, &["sim:sata-a: is a drive, and a file belongs there"]);
    }
    run(["devices", drive]).fails(2, &["drivescope sim show sim:sata-a"]);
    run(["pts", "sim:mlc-nvme", "iops"]).fails(2, &["drivescope pts iops sim:mlc-nvme"]);
    let record = ["trace", "record", "/dev/null", "no-such-program", "x.sh"];
    run(record)
        .fails(2, &["put a command to record after --", "/dev/null -- no-such-program x.sh"]);
    run(["explain", "SEQ1MQ8"]).fails(2, &["such as SEQ1MQ8T1"]);
    let ioping =
        run(["explain", "ioping", "-c", "10", "."]).fails(2, &["`ioping` is not a program"]);
    assert!(!ioping.stderr.contains("command after --"), "{}", ioping.stderr);
    let dir = scratch_dir();
    let image = dir.path().join("x.img");
    fs::write(&image, [0; 4096]).unwrap();
    run(["explain", image.to_str().unwrap()]).fails(2, &["x.img", "is binary"]);
    for (line, end) in [
        (&["report", "last", "--output=x.pdf"][..], ".html"),
        (&["survey", drive, "--report=x.md"], ".html"),
        (&["mark", drive, "--samples=x.parquet"], ".csv"),
        (&["sweep", drive, "--vary=depth=1,2", "--csv=x.json"], ".csv"),
        (&["trace", "import", "x", "--output=x.csv"], ".parquet"),
        (&["runs", "export", "--output=x.zip"], ".tar.gz"),
    ] {
        run(line.iter().copied()).fails(2, &["is something else", end]);
    }
}

/// Breaks when a result that is gone is said to be on its way, or a history leaves runs out without a word.
#[test]
fn a_record_that_is_damaged_is_told() {
    let dir = scratch_dir();
    let place = format!("--runs-dir={}", dir.path().display());
    let mark = ["mark", "sim:usb-8m", "--quick", "--tests=SEQ1MQ1T1", "--read-only", &place];
    run(mark).exits(0);
    run(["compare", "last", "last", &place])
        .fails(2, &["is on more than one side", "name another"]);
    let runs = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let [one] = &runs.filter(|path| path.is_dir()).collect::<Vec<_>>()[..] else { panic!("one") };
    let document = one.join("document.json");
    fs::write(&document, "{").unwrap();
    run(["trend", "sim:usb-8m", &place])
        .fails(2, &["left out, for it cannot be read, whatever drive it is of"]);
    fs::remove_file(&document).unwrap();
    let words = ["its result (document.json) is gone", "runs import", "drivescope rerun"];
    run(["show", "last", &place]).fails(2, &words);
}

/// Breaks when rates that most runs do not have are called the drive's, or the tester is blamed for a slow drive.
#[test]
fn a_drive_that_is_slower_than_the_window_is_no_fault_of_the_tester() {
    let mark = ["mark", "sim:usb-tlc", "--duration=50ms", "--seed=7", "--write-only", "--span=all"];
    let tests = ["--tests=RND4KQ32T1,RND4KQ1T1", "--no-record"];
    let ran = run(mark.iter().chain(&tests).copied()).exits(1);
    assert!(ran.stdout.contains("no I/O finished in the measured time"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("the tester itself"), "{}", ran.stdout);
    let longer = ["mark", "sim:usb-tlc", "--seed=7", "--write-only", "--span=all", "--no-record"];
    let ran = run(longer.iter().chain(&["--tests=RND4KQ32T1", "--duration=10s"]).copied());
    assert!(!ran.stdout.contains("the tester itself"), "{}", ran.stdout);
}
