//! What a newcomer types by mistake: each is told in the words of who typed it, with what to type instead.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;

use common::{run, scratch_dir};

/// Breaks when a bare 2 is 2 % of one flag and twice the whole of another.
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

/// Breaks when a list as `taskset` takes it is refused, or a CPU that is not there is told as a fault of the drive.
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
    wrong("1-0", &["`1-0` is no CPU", "such as 0,2-3"]);
    wrong("x", &["`x` is no CPU"]);
    wrong("0,", &["`` is no CPU"]);
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
