//! Suggested commands work: each that is shown with a recorded run is run as printed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::recorded::{Recorded, at, lines_in, only, recorded};
use common::{
    Alive, Ran, drivescope, names, scratch_dir, wait_for, wait_for_test_file, written_file,
};
use record::RunId;
use rustix::process::{Pid, Signal, kill_process};

/// Verbs that record, quick on virtual drives.
const VERBS: [&[&str]; 5] = [
    &["mark", "sim:hdd-7200", "--quick", "--seed=7", "--tests=RND4KQ1T1", "--runs=2"],
    &["probe", "align", "sim:usb-8m", "--seed=7"],
    &["survey", "sim:card-3m", "--seed=7", "--time-budget=1min", "--no-live"],
    &[
        "pts",
        "latency",
        "sim:enterprise-28op?capacity=512MiB",
        "--minute=0.1%",
        "--no-purge",
        "--seed=5",
        "--no-live",
    ],
    &["purge", "sim:enterprise-28op?capacity=512MiB"],
];

/// Makes of an ended run one that was killed before its first step was whole.
fn kill(run: &Recorded) {
    kill_after(run, 0);
}

/// As [`kill`], after the first `entries` entries of its journal.
fn kill_after(run: &Recorded, entries: usize) {
    for name in ["end.json", "SHA256SUMS", "document.json", "series.csv", "histograms.hlog"] {
        // A killed purge starts over, as another run.
        let _ = fs::remove_file(run.path(name));
    }
    let journal = run.text("journal.jsonl");
    let kept: String = journal.split_inclusive('\n').take(entries).collect();
    fs::write(run.path("journal.jsonl"), kept).unwrap();
}

/// The commands of drivescope in `text` that do something, without those that show.
fn told(text: &str) -> Vec<Vec<String>> {
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let commands = whole.split("drivescope ").skip(1);
    // Text after a command in a listing begins with a mark.
    let words = |line: &str| -> Vec<String> {
        line.split(' ')
            .take_while(|word| !["!", "✗", "✓"].contains(word))
            .map(str::to_owned)
            .collect()
    };
    let verbs: Vec<&str> =
        VERBS.iter().map(|verb| verb[0]).chain(["run", "rerun", "sweep"]).collect();
    commands.map(words).filter(|words| verbs.contains(&words[0].as_str())).collect()
}

/// Runs the last command that `ran` printed, the hint, in a shell; the run's own command is printed above it.
fn try_hint(ran: &Ran, runs: &Path) -> Ran {
    let text = format!("{} {}", ran.stdout, ran.stderr);
    let words = told(&text).pop().unwrap_or_else(|| panic!("no command is told: {text}"));
    in_shell(&words.join(" "), runs)
}

fn in_shell(words: &str, runs: &Path) -> Ran {
    let line = format!("{} {words}", env!("CARGO_BIN_EXE_drivescope"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).env("DRIVESCOPE_RUNS_DIR", runs).stdin(Stdio::null());
    shell.current_dir(runs).output().unwrap().into()
}

/// As [`try_hint`], which has to be possible.
fn follow(ran: &Ran, runs: &Path) -> Ran {
    let ran = try_hint(ran, runs);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    ran
}

/// Runs `args` in the directory of its runs, and stops it when something is recorded.
fn stopped(args: &[&str], runs: &Path) -> Ran {
    stopped_at(args, runs, 1)
}

/// As [`stopped`], when there are more than `lines` lines of journals.
fn stopped_at(args: &[&str], runs: &Path, lines: u64) -> Ran {
    stopped_when(args, runs, || lines_in(runs) > lines)
}

fn stopped_when(args: &[&str], runs: &Path, is_time: impl Fn() -> bool) -> Ran {
    let mut command = drivescope(args);
    let mut alive = Alive::start(command.env("DRIVESCOPE_RUNS_DIR", runs).current_dir(runs));
    wait_for("a step", || is_time().then_some(()));
    let pid = Pid::from_raw(i32::try_from(alive.child().id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    alive.end().exits(130)
}

// Breaks when the printed command for resuming an unfinished run is refused.
#[test]
fn a_run_that_was_killed_goes_on_as_it_is_told_everywhere() {
    for verb in VERBS {
        let dir = scratch_dir();
        at(dir.path(), verb);
        let first = recorded(dir.path()).remove(0);
        let whole = at(dir.path(), &["runs", "show", &first.id()]).exits(0).stdout;
        for ask in [&["runs", "show"][..], &["show"], &["rerun"], &["report"]] {
            kill(&first);
            let ran = at(dir.path(), &[ask, &[&first.id()]].concat());
            follow(&ran, dir.path());
            // A purge starts over.
            if verb[0] != "purge" {
                let again = at(dir.path(), &["runs", "show", &first.id()]).exits(0).stdout;
                assert_eq!(again.lines().next(), whole.lines().next(), "{verb:?} after {ask:?}");
            }
        }
    }
}

// Breaks when the printed command for repeating a finished run is refused.
#[test]
fn a_finished_run_is_made_again_as_it_is_told() {
    for verb in VERBS {
        let dir = scratch_dir();
        at(dir.path(), verb);
        let first = recorded(dir.path()).remove(0);
        for ask in ["run", "probe", "survey", "pts"] {
            let ran = at(dir.path(), &[ask, "--resume", &first.id()]);
            assert_eq!(ran.code, Some(2), "{verb:?} went on with {ask}");
            follow(&ran, dir.path());
        }
    }
}

// Breaks when the printed command for repeating a run names files that exist.
#[test]
fn what_is_made_again_has_files_of_its_own() {
    let dir = scratch_dir();
    let words = "survey sim:usb-8m --seed=7 --no-live --report 'a page.html'";
    in_shell(words, dir.path()).exits(0);
    let before = fs::read(dir.path().join("a page.html")).unwrap();
    let ran = in_shell("survey --resume last", dir.path()).fails(2, &["'a page-2.html'"]);
    follow(&ran, dir.path());
    assert!(dir.path().join("a page-2.html").is_file());
    assert!(fs::read(dir.path().join("a page.html")).unwrap() == before);
}

// Breaks when what failed before its first step is kept: it would be the last run, which nothing can be done with.
#[test]
fn what_fails_before_its_first_step_leaves_no_record() {
    let dir = scratch_dir();
    at(dir.path(), VERBS[0]).exits(0);
    let kept = only(dir.path()).id();
    for wrong in [
        &["mark", "sim:hdd-7200", "--quick", "--size=99TB"][..],
        &["sweep", "sim:hdd-7200", "--vary=block=4KiB,8KiB", "--size=99TB"],
        &["run", "docs/no-plan.toml", "sim:hdd-7200"],
        &["probe", "sim:usb-8m", "--region=16GiB"],
        &["pts", "iops", "sim:mlc-nvme", "--rounds-max=4"],
    ] {
        at(dir.path(), wrong).fails(2, &["error:"]);
        assert_eq!(only(dir.path()).id(), kept, "{wrong:?}: {:?}", names(dir.path()));
    }
}

/// A sweep of more runs than are made before it is stopped.
const SWEEP: [&str; 11] = [
    "sweep",
    "sim:hdd-7200",
    "--vary=block=4KiB,64KiB",
    "--vary=depth=1,4",
    "--runs=60",
    "--duration=100ms",
    "--warm-up=10ms",
    "--seed=3",
    "--no-live",
    "--csv=out.csv",
    "--plot=a picture.svg",
];

// Breaks when a hint leaves out the files that were asked for, so that they hold what there was when it was stopped.
#[test]
fn what_is_told_to_go_on_with_writes_the_files_that_were_asked_for() {
    let pts = [
        "pts",
        "iops",
        "sim:enterprise-28op?capacity=512MiB",
        "--no-purge",
        "--minute=0.2%",
        "--seed=5",
        "--no-live",
        "--csv=out.csv",
        "--plot=a picture.svg",
        "--report=out.html",
    ];
    for (args, files) in [(&SWEEP[..], 2), (&pts, 3)] {
        let dir = scratch_dir();
        let ran = stopped(args, dir.path());
        let rows = || fs::read_to_string(dir.path().join("out.csv")).unwrap().lines().count();
        let before = rows();
        let told = told(&ran.stderr).pop().unwrap().join(" ");
        assert!(told.starts_with(&format!("{} --resume", args[0])), "{told}");
        follow(&ran, dir.path());
        assert!(rows() > before, "{told}: {before} rows stayed {}", rows());
        let is_file = |name: &String| ["csv", "svg", "html"].iter().any(|end| name.ends_with(end));
        let written: Vec<String> = names(dir.path()).into_iter().filter(is_file).collect();
        assert_eq!(written.len(), files, "{written:?}");
    }
}

// Breaks when a hint writes over what it did not write: what a run is shown with later, or elsewhere, may find other files
// under the names of its own.
#[test]
fn what_came_to_the_place_of_a_file_meanwhile_is_left() {
    let dir = scratch_dir();
    stopped(&SWEEP, dir.path());
    let made = only(dir.path());
    for is_killed in [false, true] {
        if is_killed {
            kill(&made);
        }
        fs::write(dir.path().join("out.csv"), "mine").unwrap();
        let shown = in_shell(&format!("runs show {}", made.id()), dir.path());
        try_hint(&shown, dir.path()).fails(2, &["out.csv", "exists", "--force"]);
        assert_eq!(fs::read_to_string(dir.path().join("out.csv")).unwrap(), "mine");
    }
}

// Breaks when the files that a run was begun with are forgotten as soon as one command goes on without them, or written
// over by one that did not write them.
#[test]
fn files_that_are_left_out_once_are_told_of_and_come_back() {
    let dir = scratch_dir();
    stopped(&SWEEP, dir.path());
    let id = only(dir.path()).id();
    let rows = || fs::read_to_string(dir.path().join("out.csv")).unwrap().lines().count();
    let before = rows();
    let without = ["sweep", "--resume", &id, "--no-live"];
    let ran = stopped_at(&without, dir.path(), lines_in(dir.path()) + 2);
    assert!(ran.stderr.contains("out.csv, 'a picture.svg': asked for when"), "{}", ran.stderr);
    assert_eq!(rows(), before);
    let files = "--csv out.csv --plot 'a picture.svg'";
    assert_eq!(
        ran.stderr.lines().filter(|line| line.ends_with(files)).count(),
        2,
        "{}",
        ran.stderr
    );
    let words = told(&ran.stderr).pop().unwrap().join(" ");
    in_shell(&words, dir.path()).fails(2, &["out.csv", "--force"]);
    let ran = in_shell(&format!("{words} --force"), dir.path());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    assert!(rows() > before);
}

// Breaks when the command for resuming or repeating a part of a survey is the survey's, or has flags of the survey.
#[test]
fn a_part_of_a_survey_leads_on_as_what_it_is() {
    let dir = scratch_dir();
    let words = "survey sim:usb-8m --seed=7 --no-live --report=out.html";
    let page = in_shell(words, dir.path()).exits(0).stdout;
    let shown = at(dir.path(), &["runs", "show", "last"]).exits(0).stdout;
    assert!(shown.starts_with(&page), "the last part is taken for the whole: {shown}");
    for part in recorded(dir.path()) {
        let whole = part.json("document.json")["envelope"]["schema"].clone();
        kill(&part);
        let ran = at(dir.path(), &["runs", "show", &part.id()]);
        let words = told(&ran.stdout).pop().unwrap();
        assert_eq!(
            words.iter().any(|word| word == "--report"),
            whole == "drivescope.survey/1",
            "{words:?}"
        );
        if whole != "drivescope.survey/1" {
            follow(&ran, dir.path());
            let anew = at(dir.path(), &["probe", "--resume", &part.id()]);
            assert!(!told(&anew.stderr).pop().unwrap().contains(&"survey".to_owned()));
        }
    }
}

// Breaks when a resumed survey restarts the part during which it was stopped, or then has other findings.
#[test]
fn a_survey_goes_on_within_its_part() {
    let conclusions = |runs: &Path| {
        let document = recorded(runs)[0].json("document.json");
        document["body"]["conclusions"].clone()
    };
    // A stick in each of its parts; of an enterprise drive, whose survey takes longer, in the last one, write saturation.
    let enterprise = "sim:enterprise-28op?capacity=512MiB";
    for (drive, parts, from) in [("sim:usb-8m", 4, 0), (enterprise, 4, 3)] {
        let dir = scratch_dir();
        at(dir.path(), &["survey", drive, "--seed=7", "--no-live"]).exits(0);
        let (whole, found) = (recorded(dir.path()), conclusions(dir.path()));
        assert_eq!(whole.len() - 1, parts, "{drive}");
        // From the last part to the first one; what came after it had not been begun.
        for stopped in (from..parts).rev() {
            let all = recorded(dir.path());
            all.iter().skip(2 + stopped).for_each(|later| fs::remove_dir_all(&later.0).unwrap());
            let part = &all[1 + stopped];
            // A step of the survey may also be a part that was left out.
            let steps = all[0].text("journal.jsonl");
            let step = steps.lines().position(|line| line.contains(&part.id())).unwrap();
            kill_after(&all[0], step);
            kill_after(part, part.text("journal.jsonl").lines().count() / 2);
            let ran = at(dir.path(), &["survey", "--resume", &all[0].id(), "--no-live"]).exits(0);
            assert!(ran.stderr.contains(&format!("goes on: {}", part.id())), "{}", ran.stderr);
            assert_eq!(recorded(dir.path()).len(), parts + 1, "after {stopped} parts");
            assert_eq!(conclusions(dir.path()), found, "after {stopped} parts");
        }
    }
}

// Breaks when what might write goes on as what may not, and so comes to an end without a result; or when data is said to be
// lost of a trial of capacity that saves its original data, of which none is left to be put back.
#[test]
fn what_wrote_goes_on_only_when_that_is_said_again() {
    let dir = scratch_dir();
    written_file(&dir.path().join("image"), 64 << 20);
    let words = "probe write-buffer image --write --consent image --seed 7 --time-budget 2s";
    in_shell(words, dir.path());
    let capacity = scratch_dir();
    written_file(&capacity.path().join("image"), 256 << 20);
    let words = "probe capacity image --write --consent image --seed 7";
    in_shell(words, capacity.path()).exits(0);
    for dir in [&dir, &capacity] {
        let made = only(dir.path());
        kill(&made);
        let shown = at(dir.path(), &["runs", "show", "last"]).exits(0).stdout;
        assert!(shown.contains("add the word of consent"), "{shown}");
        assert!(!shown.contains("was not written back"), "{shown}");
        let ran = at(dir.path(), &["probe", "--resume", "last"]);
        let ran = ran.fails(3, &["was made with --write; say so again"]);
        assert!(!ran.stderr.contains("was not written back"), "{}", ran.stderr);
        assert!(!made.is_ended());
        let ran = at(dir.path(), &["probe", "--resume", "last", "--write", "--consent", "image"]);
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
        assert!(made.is_ended());
    }
}

// Breaks when a survey is passed on without the runs that it names, or those are left behind in silence.
#[test]
fn a_survey_is_passed_on_with_its_parts() {
    let (dir, other) = (scratch_dir(), scratch_dir());
    in_shell("survey sim:usb-8m --seed=7 --no-live", dir.path()).exits(0);
    let all = recorded(dir.path());
    let survey = all[0].id();
    in_shell(&format!("runs export {survey} -o all.tar.gz"), dir.path()).exits(0);
    let archive = dir.path().join("all.tar.gz");
    at(other.path(), &["runs", "import", archive.to_str().unwrap()]).exits(0);
    assert_eq!(recorded(other.path()).len(), all.len());
    let ran = at(dir.path(), &["runs", "rm", &survey, "--yes"]).exits(0);
    let line = ran.stderr.split_once("drivescope ").expect(&ran.stderr).1;
    in_shell(&format!("{} --yes", line.trim()), dir.path()).exits(0);
    assert!(recorded(dir.path()).is_empty());
}

// Breaks when a stopped repetition is reported to differ, or does not lead back to the run that it repeats.
#[test]
fn a_stopped_rerun_is_not_judged_and_leads_to_the_comparison() {
    let dir = scratch_dir();
    let load = ["--tests=RND4KQ1T1", "--runs=100", "--duration=100ms", "--warm-up=10ms"];
    at(dir.path(), &[&["mark", "sim:hdd-wd"], &load[..]].concat());
    let first = only(dir.path()).id();
    let ran = stopped_at(&["rerun", "last"], dir.path(), lines_in(dir.path()) + 1);
    assert!(!ran.stdout.contains("Not identical"), "{}", ran.stdout);
    let told = ran.stderr.lines().filter_map(|line| line.split_once(": drivescope "));
    let told: Vec<String> = told.map(|(_, words)| words.to_owned()).collect();
    assert_eq!(told.len(), 2, "{}", ran.stderr);
    assert!(told[1].starts_with(&format!("compare {first} ")), "{told:?}");
    for words in told {
        let ran = in_shell(&words, dir.path());
        assert!(matches!(ran.code, Some(0 | 1)), "{words}: {}", ran.stderr);
    }
}

// Breaks when the sides of a stopped comparison cannot be finished and compared, or when single I/Os that are missing in a
// file are not mentioned.
#[test]
fn a_stopped_comparison_and_a_file_of_ios_lead_on() {
    let dir = scratch_dir();
    let load = ["--tests=RND4KQ1T1", "--runs=100", "--duration=100ms", "--warm-up=10ms"];
    let args = [&["compare", "sim:hdd-wd", "sim:hdd-sg", "--margin=5%"], &load[..]].concat();
    let ran = stopped(&args, dir.path());
    let told: Vec<String> = (ran.stderr.lines())
        .filter_map(|line| Some(line.split_once(": drivescope ")?.1.split(" (").next()?.to_owned()))
        .collect();
    let [command] = told.as_slice() else { panic!("{}", ran.stderr) };
    assert!(command.starts_with("compare --resume "), "{command}");
    // A comparison that was killed said nothing: the list has it, and each of its sides.
    let shown = |name: &str| at(dir.path(), &["runs", "show", name]).exits(0).stdout;
    let lead = |shown: &str| shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(lead(&shown("last")).contains(&format!("drivescope {command}")), "{}", shown("last"));
    let is_side = |run: &Recorded| run.json("setup.json")["part_of"].is_string();
    let side = recorded(dir.path()).into_iter().find(is_side).unwrap().id();
    let resume = format!("to resume all its sides in turns: drivescope {command}");
    assert!(lead(&shown(&side)).contains(&resume), "{}", shown(&side));
    let ran = in_shell(command, dir.path());
    assert!(matches!(ran.code, Some(0 | 1)), "{command}: {}", ran.stderr);
    assert!(!shown(&side).contains("in turns"), "{}", shown(&side));
    let dir = scratch_dir();
    let args = [&["mark", "sim:hdd-wd", "--samples=ios.csv"], &load[..]].concat();
    let ran = stopped(&args, dir.path());
    assert!(ran.stderr.contains("ios.csv has the I/Os so far;"), "{}", ran.stderr);
    follow(&ran, dir.path());
    let rows = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap().lines().count();
    assert!(rows("ios.csv") > 1 && rows("ios-2.csv") > 1);
}

// Breaks when the hint for resuming a run that writes does not name the word of consent that is needed again, or names a
// word that is not the file's.
#[test]
fn consent_is_asked_for_again_with_its_word() {
    let dir = scratch_dir();
    let file = dir.path().join("a file");
    written_file(&file, 4 << 20);
    let load = ["--tests=RND4KQ1T1", "--runs=40", "--duration=50ms", "--warm-up=2ms"];
    let args = [&["mark", "a file", "--write", "--consent", "a file"], &load[..]].concat();
    let ran = stopped(&args, dir.path());
    let words = told(&ran.stderr).pop().unwrap().join(" ");
    assert!(words.ends_with(" --write"), "{words}");
    let word = "--consent 'a file'";
    in_shell(&words, dir.path()).fails(3, &[word]);
    let ran = in_shell(&format!("{words} {word}"), dir.path());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    let trace = dir.path().join("trace.csv");
    fs::write(&trace, "0,W,0,4096\n10,W,4096,4096\n").unwrap();
    fs::copy(only(dir.path()).path("plan.toml"), dir.path().join("plan.toml")).unwrap();
    for words in [
        "probe slc-cache 'a file'",
        "pts iops 'a file'",
        "run plan.toml 'a file'",
        "trace replay trace.csv 'a file' --columns time:us,op,offset:bytes,size:bytes",
    ] {
        in_shell(words, dir.path()).fails(3, &[&format!("--write {word}")]);
    }
}

// Breaks when a run cannot be resumed on a drive that has another name by now, or no hint says how.
#[test]
fn a_target_that_moved_is_named_by_the_word_that_is_told() {
    let dir = scratch_dir();
    written_file(&dir.path().join("image"), 4 << 20);
    let load = ["--tests=RND4KQ1T1", "--runs=40", "--duration=50ms", "--warm-up=2ms"];
    stopped(&[&["mark", "image"], &load[..]].concat(), dir.path());
    fs::rename(dir.path().join("image"), dir.path().join("moved")).unwrap();
    for verb in ["run", "mark"] {
        let ran = at(dir.path(), &[verb, "--resume", "last"]).fails(2, &["image", "not there"]);
        let words = told(&ran.stderr).pop().unwrap().join(" ");
        assert!(words.contains(" TARGET"), "{words}");
        if verb == "mark" {
            let words = words.replace("TARGET", "moved");
            let words: Vec<&str> = words.split(' ').collect();
            let ran = stopped_at(&words, dir.path(), lines_in(dir.path()) + 2);
            assert!(
                told(&ran.stderr).pop().unwrap().contains(&"moved".to_owned()),
                "{}",
                ran.stderr
            );
            follow(&ran, dir.path());
        }
    }
}

// Breaks when Ctrl-C names another verb than the one that was typed, or `last` a run that this verb cannot resume.
#[test]
fn the_typed_verb_resumes_the_last_of_its_unfinished_runs() {
    let dir = scratch_dir();
    written_file(&dir.path().join("image"), 4 << 20);
    let mark =
        ["mark", "image", "--tests=RND4KQ1T1", "--duration=20ms", "--warm-up=2ms", "--runs=400"];
    let ran = stopped(&mark, dir.path());
    let id = recorded(dir.path()).remove(0).id();
    assert!(
        ran.stderr.contains(&format!("resume it: drivescope mark --resume {id}")),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains(" of 400 runs."), "{}", ran.stdout);
    at(dir.path(), &["probe", "align", "sim:usb-8m", "--seed=7"]);
    let resumed = format!("resuming {id}");
    let most = lines_in(dir.path()) + 1;
    let goes_on = || lines_in(dir.path()) > most;
    stopped_when(&["mark", "--resume=last"], dir.path(), goes_on).says(&[&resumed]);
    at(dir.path(), &["sweep", "--resume=last"]).fails(2, &["a probing, and finished"]);
}

// Breaks when a mark without a number is compared with a target that then has to be measured for nothing.
#[test]
fn a_mark_without_a_number_is_told_before_the_other_side_is_measured() {
    let dir = scratch_dir();
    written_file(&dir.path().join("image"), 4 << 20);
    let mark = ["mark", "image", "--tests=RND4KQ1T1", "--duration=60s", "--warm-up=2ms"];
    let has_record = || names(dir.path()).iter().any(|name| name.parse::<RunId>().is_ok());
    stopped_when(&mark, dir.path(), has_record);
    let ran = in_shell("compare last image", dir.path()).fails(2, &["no number"]);
    assert!(told(&ran.stderr)[0].join(" ").starts_with("mark --resume"), "{}", ran.stderr);
    assert_eq!(recorded(dir.path()).len(), 1, "the other side was measured");
    in_shell("trend image", dir.path()).fails(2, &["mark with a number"]);
}

// Breaks when a hint has a flag that the verb lacks, or a command that does not remove the file.
#[test]
fn what_a_killed_comparison_left_can_be_removed_as_it_is_told() {
    let dir = scratch_dir();
    let work = dir.path().join("d 1");
    fs::create_dir(&work).unwrap();
    let load = "--size 4MiB --tests RND4KQ1T1 --runs 2 --duration 20ms --warm-up 2ms --no-record";
    let mut alive = Alive::start(
        drivescope(["mark", "d 1", "--size=4MiB", "--runs=1000", "--tests=RND4KQ1T1"])
            .current_dir(dir.path()),
    );
    let left = wait_for_test_file(&work, 4 << 20);
    alive.child().kill().unwrap();
    alive.end();
    wait_for("the lock", || linux::scratch::leftovers(&work).pop());
    let ran = in_shell(&format!("compare 'd 1' sim:hdd-wd {load}"), dir.path());
    let line = ran.stderr.split_once("to remove it: ").expect(&ran.stderr).1;
    let line = line.split_once(", or ").unwrap().0;
    assert!(left.exists());
    let removed = Command::new("sh").args(["-c", line]).current_dir(dir.path()).status();
    assert!(removed.unwrap().success(), "{line}");
    assert!(!left.exists());
}

// Breaks when a run whose drive was named by a relative path is resumed or repeated on another file.
#[test]
fn a_relative_name_leads_there_from_anywhere() {
    let there = scratch_dir();
    let model = include_str!("../../sim/models/usb-8m.toml");
    fs::write(there.path().join("own.toml"), model).unwrap();
    written_file(&there.path().join("image"), 8 << 20);
    let names_of = |name: &str| match name.strip_prefix("sim:") {
        Some(model) => format!("sim:{}", there.path().join(model).display()),
        None => there.path().join(name).display().to_string(),
    };
    let pts = ["--minute=0.1%", "--no-purge", "--no-live"];
    for (verb, name, flags) in [
        (&["mark"][..], "sim:own.toml", &["--quick", "--runs=2", "--tests=RND4KQ1T1"][..]),
        (&["mark"], "image", &["--quick", "--runs=2", "--tests=RND4KQ1T1"]),
        (&["probe", "interval"], "sim:own.toml", &[]),
        (&["survey"], "sim:own.toml", &["--no-live", "--time-budget=1min"]),
        (&["pts", "iops"], "sim:own.toml", &pts),
    ] {
        let runs = scratch_dir();
        let args = [verb, &[name, "--seed=7"], flags].concat();
        let mut command = drivescope(&args);
        command.current_dir(there.path()).env("DRIVESCOPE_RUNS_DIR", runs.path());
        let ran = Ran::from(command.output().unwrap());
        assert!(matches!(ran.code, Some(0 | 1)), "{args:?}: {}", ran.stderr);
        let made = recorded(runs.path()).remove(0);
        assert_eq!(made.json("setup.json")["target"], names_of(name), "{args:?}");
        // Of a finished one, how it is made again; of a killed one, how it goes on.
        let wrong = if verb[0] == "probe" { "survey" } else { "probe" };
        follow(&at(runs.path(), &[wrong, "--resume", &made.id()]), runs.path());
        kill(&made);
        follow(&at(runs.path(), &["runs", "show", &made.id()]), runs.path());
        let state = at(runs.path(), &["runs", "show", &made.id()]).exits(0).stdout;
        assert!(state.contains("finished"), "{args:?}: {state}");
    }
}
