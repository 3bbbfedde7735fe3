//! Runs that are killed and go on: nothing that was finished is lost or made twice, and what comes out is
//! what would have come out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::kills::{Dice, Moment, kill, killed};
use common::recorded::{Recorded, STEPS, VIRTUAL, at, caveats, lines_in, only, recorded};
use common::storage::{Loop, has_means};
use common::{Alive, Ran, drivescope, mark_command, names, run, scratch_dir, tests, wait_for};
use rustix::process::Signal;
use serde_json::Value;

fn resume_command(name: &str) -> Command {
    drivescope(["run", "--resume", name, "--json", "--no-progress"])
}

fn resume(runs: &Path, name: &str) -> Ran {
    resume_command(name).env("DRIVESCOPE_RUNS_DIR", runs).output().unwrap().into()
}

/// As printed: to parse it first could hide another order or another number.
fn body_text(json: &str) -> &str {
    json.split_once("\"body\":").expect("a body").1
}

/// Outcome of a run that was killed and resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    NoSuchRun,
    AlreadyFinished,
    Resumed,
    ResumedAfterAnotherKill,
}

/// Kills, resumes, sometimes kills and resumes again, and compares the record with the earlier one; `whole`
/// gets the final result and the steps that were finished before it.
fn kill_and_resume(
    dice: &mut Dice,
    start: &dyn Fn() -> Command,
    life: Duration,
    whole: &dyn Fn(&Recorded, &Ran, &[Value]),
) -> Outcome {
    let runs = scratch_dir();
    let signal = [Signal::KILL, Signal::KILL, Signal::INT, Signal::TERM][dice.below(4) as usize];
    let moment = Moment::draw(dice, life, STEPS);
    let ran = killed(start(), runs.path(), moment, signal);
    if recorded(runs.path()).is_empty() {
        resume(runs.path(), "last").fails(2, &["holds no runs"]);
        return Outcome::NoSuchRun;
    }
    let made = only(runs.path());
    if made.is_ended() && made.json("end.json")["state"] == "finished" {
        resume(runs.path(), "last").fails(2, &[&made.id(), "is finished", "rerun"]);
        return Outcome::AlreadyFinished;
    }
    if ran.code == Some(130) && !ran.stdout.is_empty() {
        assert_eq!(ran.body()["interrupted"], true);
        assert!(ran.stderr.contains(&format!("--resume {}", made.id())), "{}", ran.stderr);
        made.assert_sums();
    }
    let mut before = made.steps();
    let mut outcome = Outcome::Resumed;
    if dice.below(3) == 0 {
        let moment = Moment::draw(dice, life, STEPS);
        killed(resume_command("last"), runs.path(), moment, Signal::KILL);
        let after = made.steps();
        assert_eq!(after[..before.len()], before, "{moment:?}");
        before = after;
        outcome = Outcome::ResumedAfterAnotherKill;
        if made.is_ended() {
            return outcome;
        }
    }
    let ran = resume(runs.path(), &made.id());
    assert!(matches!(ran.code, Some(0 | 1)), "{moment:?}, {signal:?}: {}", ran.stderr);
    let after = made.steps();
    assert_eq!(after[..before.len()], before, "finished steps stay as they were");
    let positions: Vec<u64> = after.iter().map(|s| s["position"].as_u64().unwrap()).collect();
    assert_eq!(positions, (0..STEPS).collect::<Vec<_>>(), "each once");
    assert_eq!(made.text("document.json"), ran.stdout);
    made.assert_sums();
    whole(&made, &ran, &before);
    resume(runs.path(), "last").fails(2, &["is finished"]);
    outcome
}

fn count(
    kills: u32,
    start: &dyn Fn() -> Command,
    whole: &dyn Fn(&Recorded, &Ran, &[Value]),
) -> BTreeMap<Outcome, u32> {
    let (mut dice, runs) = (Dice::new(), scratch_dir());
    let began = Instant::now();
    let ran: Ran = start().env("DRIVESCOPE_RUNS_DIR", runs.path()).output().unwrap().into();
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    // Warmed up: the first life is longer than the next ones.
    let life = began.elapsed();
    let mut outcomes = BTreeMap::new();
    for _ in 0..kills {
        *outcomes.entry(kill_and_resume(&mut dice, start, life, whole)).or_insert(0) += 1;
    }
    println!("{kills} kills: {outcomes:?}");
    outcomes
}

/// The result of a resumed run is the one that an undisturbed run would have given.
#[test]
fn a_killed_virtual_run_goes_on_to_the_same_body() {
    let reference = run([&VIRTUAL[..], &["--no-record"]].concat()).exits(0).stdout;
    let whole = |_: &Recorded, ran: &Ran, _: &[Value]| {
        assert_eq!(body_text(&ran.stdout), body_text(&reference), "to the bit");
    };
    let outcomes = count(18, &|| drivescope(VIRTUAL), &whole);
    assert!(outcomes.contains_key(&Outcome::Resumed), "nothing was resumed: {outcomes:?}");
}

/// On a real drive no run gives the same numbers again: finished runs are kept.
#[test]
fn a_killed_run_of_a_directory_keeps_what_was_finished() {
    let dir = scratch_dir();
    let flags = ["--size=4MiB", "--tests=SEQ64KQ1T1,RND4KQ4T1", "--runs=3"];
    let short = ["--duration=20ms", "--warm-up=2ms"];
    let start = || mark_command(dir.path(), &[&flags[..], &short].concat());
    let whole = |made: &Recorded, ran: &Ran, before: &[Value]| {
        let body = ran.body();
        assert_eq!(caveats(&body).contains(&"resumed".to_owned()), !before.is_empty());
        assert_eq!(body["interrupted"], false);
        let mut figures: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for step in made.steps() {
            let name = step["step"].as_str().unwrap().to_owned();
            let run = step["figures"]["figures"]["run"].clone();
            figures.entry(name).or_default().extend((!run.is_null()).then_some(run));
        }
        for test in tests(&body) {
            let name =
                format!("{} {}", test["name"].as_str().unwrap(), test["op"].as_str().unwrap());
            assert_eq!(test["runs"], Value::from(figures[&name].clone()), "{name}");
        }
        // Those killed before they were recorded leave theirs, which every run reports.
        let left = names(dir.path()).into_iter().find(|name| name.contains(&made.id()));
        assert_eq!(left, None, "the test file of the killed run stayed");
    };
    let outcomes = count(12, &start, &whole);
    assert!(outcomes.contains_key(&Outcome::Resumed), "nothing was resumed: {outcomes:?}");
}

/// Runs of 50 ms without end, killed in the middle.
fn killed_in_the_middle(target: &Path, runs: &Path, flags: &[&str]) -> Recorded {
    let short = ["--tests=RND4KQ1T1", "--runs=20", "--duration=50ms"];
    let command = mark_command(target, &[&short[..], flags].concat());
    let moment = Moment::Lines(2, Duration::from_millis(10));
    let ran = killed(command, runs, moment, Signal::KILL);
    assert_eq!(ran.code, None, "it was to be killed: {}", ran.stderr);
    only(runs)
}

/// Between the last step and the document nothing is left to measure, and the record has all results.
#[test]
fn a_run_killed_before_its_document_gets_it() {
    let runs = scratch_dir();
    let ran = at(runs.path(), &VIRTUAL).exits(0);
    let made = only(runs.path());
    // As the disk is left by a kill at that moment: the files of the end come after the last step.
    for gone in ["end.json", "SHA256SUMS", "document.json", "histograms.hlog", "series.csv"] {
        fs::remove_file(made.path(gone)).unwrap();
        let on = resume(runs.path(), "last").exits(0);
        assert_eq!(body_text(&on.stdout), body_text(&ran.stdout), "{gone}");
        made.assert_sums();
        fs::remove_file(made.path("end.json")).unwrap();
    }
    assert_eq!(made.steps().len() as u64, STEPS);
    // Half a line at the end of the journal is of a step that was never finished.
    let whole = fs::read(made.path("journal.jsonl")).unwrap();
    fs::write(made.path("journal.jsonl"), &whole[..whole.len() - 100]).unwrap();
    let on = resume(runs.path(), "last").exits(0);
    assert_eq!(body_text(&on.stdout), body_text(&ran.stdout));
}

/// A run that was killed, and is gone on with and stopped, was stopped: also when it came to no further step.
#[test]
fn a_killed_run_that_is_stopped_at_once_is_interrupted() {
    let (dir, runs) = (scratch_dir(), scratch_dir());
    let flags = ["--size=4MiB", "--tests=RND4KQ1T1", "--runs=3", "--duration=1s"];
    let moment = Moment::Lines(1, Duration::ZERO);
    killed(mark_command(dir.path(), &flags), runs.path(), moment, Signal::KILL);
    let made = only(runs.path());
    let before = made.steps();
    assert!(!made.is_ended());
    let mut command = resume_command("last");
    let mut child = command.env("DRIVESCOPE_RUNS_DIR", runs.path()).spawn().unwrap();
    // Its first run takes a second from here.
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("going on with")));
    kill(&mut child, Signal::INT);
    assert!(said.any(|line| line.unwrap().contains(&format!("--resume {}", made.id()))));
    Ran::from(child.wait_with_output().unwrap()).exits(130);
    assert_eq!(made.steps(), before);
    assert_eq!(made.json("end.json")["state"], "interrupted");
    made.assert_sums();
}

/// If it failed, a test file would stay that nothing knows of.
#[test]
fn who_removes_a_killed_run_is_told_of_its_test_file() {
    let (dir, runs) = (scratch_dir(), scratch_dir());
    let made = killed_in_the_middle(dir.path(), runs.path(), &["--size=4MiB"]);
    let [left] = <[String; 1]>::try_from(names(dir.path())).unwrap();
    assert!(left.contains(&made.id()));
    // As long as the kernel holds its lock, it is somebody's.
    wait_for("the lock", || linux::scratch::leftovers(dir.path()).pop());
    let ran = at(runs.path(), &["runs", "rm", &made.id(), "--yes"]).exits(0);
    let told = format!("(4 MiB): rm {}", dir.path().join(left).display());
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    // There is nothing to report of one that ended there.
    killed_in_the_middle(dir.path(), runs.path(), &["--size=4MiB", "--remove-leftovers"]);
    resume(runs.path(), "last");
    let ran = at(runs.path(), &["runs", "rm", "last", "--yes"]).exits(0);
    assert_eq!(ran.stderr, "");
}

/// The single I/Os of a killed run are those of one that was not, each run's once.
#[test]
fn single_ios_are_whole_after_a_kill() {
    let (whole, runs) = (scratch_dir(), scratch_dir());
    let args = [&VIRTUAL[..], &["--keep-samples=csv", "--samples-max=500"]].concat();
    at(whole.path(), &args).exits(0);
    let moment = Moment::Lines(5, Duration::from_millis(1));
    killed(drivescope(&args), runs.path(), moment, Signal::KILL);
    let made = only(runs.path());
    // As if it had been killed in the middle of writing them.
    fs::write(made.path("samples/.0011.csv.part"), "half").unwrap();
    let on = |more: &[&str]| -> Ran {
        let mut command = resume_command("last");
        command.args(more).env("DRIVESCOPE_RUNS_DIR", runs.path()).output().unwrap().into()
    };
    on(&["--keep-samples=parquet"]).fails(2, &["--keep-samples", "record"]);
    on(&["--samples-max=7"]).fails(2, &["--samples-max", "record"]);
    on(&["--keep-samples=csv", "--samples-max=500"]).exits(0);
    made.assert_sums();
    let undisturbed = only(whole.path());
    assert_eq!(names(&made.path("samples")).len() as u64, STEPS);
    for name in names(&undisturbed.path("samples")) {
        let name = format!("samples/{name}");
        assert!(made.text(&name) == undisturbed.text(&name), "{name}");
    }
}

#[test]
fn what_cannot_be_resumed_is_said() {
    let runs = scratch_dir();
    let here = runs.path();
    resume(here, "last").fails(2, &["holds no runs"]);
    at(here, &VIRTUAL).exits(0);
    let id = only(here).id();
    resume(here, &id).fails(2, &[&id, "is finished", "rerun"]);
    resume(here, "2").fails(2, &[&id, "is finished"]);
    resume(here, "19991231").fails(2, &["19991231", &id]);
    let mut command = resume_command("last");
    command.arg("--no-record");
    Ran::from(command.output().unwrap()).fails(2, &["--no-record", "--resume"]);
    // A model that has changed since: what is recorded does not come out again.
    let model = here.join("disk.toml");
    let text = |rpm: u32| {
        let shown = include_str!("../../sim/models/hdd-7200.toml");
        assert!(shown.contains("rpm = 7200"));
        shown.replace("rpm = 7200", &format!("rpm = {rpm}"))
    };
    let other = scratch_dir();
    fs::write(&model, text(7200)).unwrap();
    let target = format!("sim:{}", model.display());
    let args: Vec<&str> =
        VIRTUAL.iter().map(|a| if *a == VIRTUAL[1] { &*target } else { a }).collect();
    killed(drivescope(&args), other.path(), Moment::Lines(3, Duration::ZERO), Signal::KILL);
    let before = only(other.path()).steps();
    fs::write(&model, text(5400)).unwrap();
    resume(other.path(), "last").fails(2, &["does not come out as it is recorded"]);
    assert_eq!(only(other.path()).steps(), before);
    fs::write(&model, text(7200)).unwrap();
    resume(other.path(), "last").exits(0);
}

/// A living run belongs to the process that makes it.
#[test]
fn a_living_run_is_left_alone() {
    let (dir, runs) = (scratch_dir(), scratch_dir());
    let flags = ["--size=4MiB", "--tests=RND4KQ1T1", "--read-only", "--runs=100000"];
    let mut command = mark_command(dir.path(), &flags);
    let mut alive = Alive::start(command.env("DRIVESCOPE_RUNS_DIR", runs.path()));
    wait_for("a step", || (lines_in(runs.path()) > 0).then_some(()));
    let id = only(runs.path()).id();
    resume(runs.path(), "last").fails(2, &[&id, "another process"]);
    at(runs.path(), &["runs", "rm", "--yes", &id]).fails(2, &[&id, "another process"]);
    let listed = at(runs.path(), &["runs", "list", "--json"]).exits(0).body();
    assert_eq!(
        (&listed["runs"][0]["state"], &listed["runs"][0]["live"]),
        (&"running".into(), &true.into())
    );
    let shown = at(runs.path(), &["runs", "show", "last", "--json"]).exits(0).json();
    assert_eq!((&shown["body"], &shown["record"]["live"]), (&Value::Null, &true.into()));
    assert!(
        at(runs.path(), &["runs", "show", "last"]).exits(0).stdout.contains("it is being made")
    );
    kill(alive.child(), Signal::INT);
    let ran = alive.end().exits(130);
    assert_eq!(ran.body()["interrupted"], true);
    only(runs.path()).assert_sums();
}

/// Repeated flags have to agree with the record; flags that are left out come from it.
#[test]
fn flags_that_contradict_the_record_are_refused() {
    let (dir, runs) = (scratch_dir(), scratch_dir());
    let made = killed_in_the_middle(dir.path(), runs.path(), &["--size=4MiB", "--seed=9"]);
    let verb = |verb: &str, args: &[&str]| -> Ran {
        let command = [&[verb, "--resume", "last", "--json", "--no-progress"], args].concat();
        drivescope(command).env("DRIVESCOPE_RUNS_DIR", runs.path()).output().unwrap().into()
    };
    let before = made.steps();
    for (args, word) in [
        (&["--size=8MiB"][..], "--size"),
        (&["--engine=psync"], "--engine"),
        (&["--buffered"], "--buffered"),
        (&["--cpus=0"], "--cpus"),
        (&["--seed=10"], "--seed"),
        (&["--keep-samples=csv"], "--keep-samples"),
        (&["--runs=30"], "plan"),
        (&["--tests=SEQ1MQ1T1"], "plan"),
    ] {
        verb("mark", args).fails(2, &[word, "record"]);
        assert_eq!(made.steps(), before, "{args:?}");
    }
    let plan = made.path("plan.toml");
    let other = dir.path().join("other.toml");
    fs::write(&other, made.text("plan.toml").replace("runs = 20", "runs = 21")).unwrap();
    verb("run", &[other.to_str().unwrap()]).fails(2, &["plan", "record"]);
    fs::remove_file(other).unwrap();
    // The first command, called back and added to; and from elsewhere, the plan alone.
    let target = dir.path().to_str().unwrap();
    let same = ["--size=4MiB", "--tests=RND4KQ1T1", "--runs=20", "--duration=50ms"];
    let waits = ["--warm-up=20ms", "--pause=1ms", "--settle=0s"];
    let rest = ["--seed=9", "--engine=io_uring", target];
    let ran = verb("mark", &[&same[..], &waits, &rest].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    assert_eq!(made.steps()[..before.len()], before);
    fs::remove_file(made.path("end.json")).unwrap();
    verb("run", &[plan.to_str().unwrap(), target]).exits(ran.code.unwrap());
}

/// If it failed, the numbers of two drives would be filed as those of one.
#[test]
fn another_drive_is_refused() {
    let runs = scratch_dir();
    let moment = Moment::Lines(3, Duration::ZERO);
    killed(drivescope(VIRTUAL), runs.path(), moment, Signal::KILL);
    let made = only(runs.path());
    let before = made.steps();
    let on = |target: &str, runs: &Path| -> Ran {
        let args = ["mark", target, "--resume", "last", "--json", "--no-progress"];
        drivescope(args).env("DRIVESCOPE_RUNS_DIR", runs).output().unwrap().into()
    };
    on("sim:hdd-7200?seed=8", runs.path()).fails(2, &["is not the drive of the record"]);
    on("null:", runs.path()).fails(2, &["is not the drive of the record"]);
    let dir = scratch_dir();
    let kind = on(dir.path().to_str().unwrap(), runs.path());
    kind.exits(2);
    assert_eq!(made.steps(), before);
    if !has_means(&["losetup"]) {
        return;
    }
    // Of one size, and on files of one filesystem: all that differs is which file.
    let (first, second) = (Loop::new(16 << 20, true), Loop::new(16 << 20, true));
    let runs = scratch_dir();
    let made = killed_in_the_middle(&first.path, runs.path(), &[]);
    let before = made.steps();
    on(second.dev(), runs.path()).fails(2, &[second.dev(), "is not the drive of the record"]);
    assert_eq!(made.steps(), before);
    let ran = on(first.dev(), runs.path()).exits(0);
    assert_eq!(made.steps()[..before.len()], before);
    assert!(caveats(&ran.body()).contains(&"resumed".to_owned()));
}

/// A cable that was pulled: what was measured before counts, and goes on when it is back.
#[test]
fn a_run_that_an_io_error_ended_goes_on() {
    if !has_means(&["losetup"]) {
        return;
    }
    let (device, runs) = (Loop::new(16 << 20, true), scratch_dir());
    let flags = ["--tests=RND4KQ1T1", "--runs=20", "--duration=50ms"];
    let mut command = mark_command(&device.path, &flags);
    let child = command.env("DRIVESCOPE_RUNS_DIR", runs.path()).spawn().unwrap();
    wait_for("two steps", || (lines_in(runs.path()) >= 2).then_some(()));
    let content = fs::read(&device.image).unwrap();
    let image = fs::File::options().write(true).open(&device.image).unwrap();
    image.set_len(1 << 20).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap()).exits(2).says(&["error:", device.dev()]);
    let made = only(runs.path());
    let before = made.steps();
    assert!((2..20).contains(&before.len()), "{} steps", before.len());
    assert_eq!(ran.body(), made.json("document.json")["body"]);
    made.assert_sums();
    assert_eq!(made.json("end.json")["state"], "broken");
    let page = at(runs.path(), &["runs", "list"]).exits(0).stdout;
    assert!(page.contains("ended by an error after"), "{page}");
    // Still gone: nothing is added, nothing is lost.
    resume(runs.path(), "last").exits(2);
    assert_eq!(made.steps(), before);
    fs::write(&device.image, content).unwrap();
    let ran = resume(runs.path(), "last").exits(0);
    assert_eq!((made.steps().len(), &made.steps()[..before.len()]), (20, &before[..]));
    let told = caveats(&ran.body());
    assert!(
        ["resumed", "failed_before"].iter().all(|c| told.contains(&(*c).to_owned())),
        "{told:?}"
    );
    let undisturbed = &ran.body()["tests"][0]["proofs"]["undisturbed"];
    assert_eq!(undisturbed["verdict"], "refuted", "{undisturbed}");
    assert!(undisturbed["evidence"]["errors"].as_u64() >= Some(1), "{undisturbed}");
    made.assert_sums();
}

/// Consent is given to a process, not to a plan.
#[test]
fn going_on_with_writing_to_a_device_needs_consent_again() {
    if !has_means(&["losetup"]) {
        return;
    }
    let (device, runs) = (Loop::new(16 << 20, true), scratch_dir());
    let consent = ["--write", "--consent", device.name()];
    let made = killed_in_the_middle(&device.path, runs.path(), &consent);
    let content = fs::read(&device.image).unwrap();
    let before = made.steps();
    let on = |args: &[&str]| -> Ran {
        let resume = ["run", "--resume", "last", "--json", "--no-progress"];
        let command = [&resume[..], args].concat();
        drivescope(command).env("DRIVESCOPE_RUNS_DIR", runs.path()).output().unwrap().into()
    };
    on(&[]).fails(3, &["--write"]);
    on(&["--write"]).fails(3, &["consent"]);
    on(&["--write", "--consent=nonsense"]).fails(3, &["consent"]);
    assert!(fs::read(&device.image).unwrap() == content, "written without consent");
    assert_eq!(made.steps(), before);
    on(&consent).exits(0);
    assert_eq!(made.steps()[..before.len()], before);
    assert_eq!(made.steps().len(), 40);
}
