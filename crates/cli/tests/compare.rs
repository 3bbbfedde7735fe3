//! `compare` as its users call it: on virtual drives, on recorded runs, on documents, on directories.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::path::Path;
use std::time::Duration;

use common::kills::{Moment, killed};
use common::recorded::{Recorded, at, caveats, recorded};
use common::{Ran, drivescope, run, scratch_dir};
use rustix::process::Signal;
use serde_json::Value;

/// Twelve short runs of one test.
const SHORT: [&str; 5] = ["--tests=RND4KQ1T1", "--runs=12", "--seed=7", "--quick", "--no-progress"];

fn compare(runs: &Path, args: &[&str]) -> Ran {
    at(runs, &[&["compare", "--json"], args].concat())
}

/// The only pair of the only test.
fn pair(ran: &Ran) -> Value {
    let body = ran.body();
    let tests = body["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 1, "{body}");
    assert_eq!(tests[0]["pairs"].as_array().unwrap().len(), 1);
    tests[0]["pairs"][0].clone()
}

// The two disks of the document that asked for this: breaks when they cannot be distinguished, or when two of one kind are.
#[test]
fn disks_that_differ_are_told_apart_and_twins_are_not() {
    let runs = scratch_dir();
    let of = |a: &str, b: &str, more: &[&str]| {
        compare(runs.path(), &[&[a, b], &SHORT[..], &["--no-record"], more].concat())
    };
    let writes = of("sim:hdd-sg", "sim:hdd-wd", &["--write-only"]).exits(1);
    let found = pair(&writes);
    assert_eq!((&found["outcome"], &found["design"]), (&"faster".into(), &"blocks".into()));
    let ratio = found["throughput"]["ratio"]["ratio"].as_f64().unwrap();
    assert!((1.25..1.55).contains(&ratio), "{ratio}");
    assert_eq!(found["dominance"], 1.0, "each run of one beats the other's of its block");
    // The same difference, seen from the other side and tolerated.
    let back = of("sim:hdd-wd", "sim:hdd-sg", &["--write-only"]).exits(1);
    assert_eq!(pair(&back)["outcome"], "slower");
    of("sim:hdd-sg", "sim:hdd-wd", &["--write-only", "--tolerance=90%"]).exits(0);
    let twins = of("sim:hdd-wd", "sim:hdd-wd", &["--read-only", "--margin=10%"]).exits(0);
    assert_eq!(pair(&twins)["outcome"], "equivalent");
    let body = twins.body();
    let rates = |side: usize| body["tests"][0]["sides"][side]["mb_s"]["cv"].clone();
    assert_ne!(rates(0), rates(1), "two drives of a kind are two drives");
}

// Breaks when what was measured in turns loses that in its record.
#[test]
fn runs_that_were_measured_in_turns_are_compared_in_blocks_later() {
    let runs = scratch_dir();
    let args = [&["sim:hdd-wd", "sim:hdd-wd"], &SHORT[..], &["--read-only"]].concat();
    let live = compare(runs.path(), &args);
    // The comparison, and its sides.
    assert_eq!(recorded(runs.path()).len(), 3);
    let side = |index: usize| live.body()["sides"][index]["run_id"].as_str().unwrap().to_owned();
    let again = compare(runs.path(), &[&side(0), &side(1)]);
    assert_eq!(pair(&again), pair(&live));
    assert_eq!(again.code, live.code);
    // Beside a run of its own time, each is by itself, and it is said.
    at(runs.path(), &[&["mark", "sim:hdd-wd?seed=3", "--read-only"], &SHORT[..]].concat());
    let apart = compare(runs.path(), &[&side(0), "last"]);
    assert_eq!(pair(&apart)["design"], "separate");
    let caveats = apart.body()["caveats"].to_string();
    assert!(caveats.contains("measured_apart"), "{caveats}");
    // One that was killed and gone on with had the drive to itself for what was left.
    let killed = recorded(runs.path()).into_iter().find(|run| run.id() == side(1)).unwrap();
    for name in ["end.json", "SHA256SUMS", "document.json", "series.csv", "histograms.hlog"] {
        fs::remove_file(killed.path(name)).unwrap();
    }
    at(runs.path(), &["run", "--resume", &side(1)]);
    let apart = compare(runs.path(), &[&side(0), &side(1)]);
    assert_eq!(pair(&apart)["design"], "separate");
    assert!(apart.body()["caveats"].to_string().contains("measured_apart"));
    // And as documents, without the records.
    let document = runs.path().join("a.json");
    let printed = at(
        runs.path(),
        &[&["mark", "sim:hdd-wd?seed=3", "--read-only", "--json", "--no-record"], &SHORT[..]]
            .concat(),
    );
    fs::write(&document, &printed.stdout).unwrap();
    let documents = compare(runs.path(), &[document.to_str().unwrap(), document.to_str().unwrap()]);
    let documents = documents.exits(0);
    assert_eq!(pair(&documents)["throughput"]["ratio"]["ratio"], 1.0);
    let p50 = &pair(&documents)["latency"]["p50"];
    assert_eq!((&p50["ratio"], &p50["no_interval"]), (&1.0.into(), &"not_kept".into()));
    assert_eq!((&p50["low"], &p50["high"]), (&Value::Null, &Value::Null));
}

// Breaks when two marks, each of a session of its own, differ by no more than sessions may and are called different all the
// same; or when the page does not say why nothing is decided, and what to do.
#[test]
fn a_difference_that_sessions_can_make_is_withheld_with_what_to_do() {
    let runs = scratch_dir();
    let document = |drive: &str, name: &str| {
        let args = ["mark", drive, "--write-only", "--json", "--no-record"];
        let path = runs.path().join(name);
        fs::write(&path, at(runs.path(), &[&args, &SHORT[..]].concat()).stdout).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (a, b) = (document("sim:hdd-wd?seed=3", "a.json"), document("sim:hdd-sg?seed=3", "b.json"));
    let asked = |offset: &str| compare(runs.path(), &[&a, &b, "--session-offset", offset]);
    let found = pair(&asked("10%").exits(1));
    assert_eq!((&found["outcome"], &found["not_decided"]), (&"slower".into(), &Value::Null));
    let withheld = asked("80%").exits(0);
    let found = pair(&withheld);
    assert_eq!((&found["outcome"], &found["design"]), (&"undecided".into(), &"separate".into()));
    assert_eq!(found["throughput"]["withheld"], "sessions");
    assert!(found["throughput"]["blocks_to_decide"].as_u64().unwrap() >= 7, "{found}");
    assert_eq!(withheld.body()["session_offset_percent"], 80.0);
    let usual = compare(runs.path(), &[&a, &b]).body();
    assert_eq!(usual["session_offset_percent"], 25.0);
    let page = at(runs.path(), &["compare", &a, &b, "--session-offset=80%"]).stdout;
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "; the runs of each side were made in a session of its own",
        "a session offset of 80% cannot be distinguished from a difference",
        "measure in blocks with `drivescope compare A B`",
        "blocks would decide)",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

// Breaks when sessions that took turns are pooled as if they were one, or when sessions that did not are believed.
#[test]
fn sessions_that_take_turns_are_compared_as_observations() {
    let runs = scratch_dir();
    let args = ["mark", "sim:hdd-wd?seed=3", "--read-only", "--json", "--no-record"];
    let ran = at(runs.path(), &[&args, &SHORT[..]].concat());
    let mark: Value = serde_json::from_str(&ran.stdout).unwrap();
    let session = |name: String, minute: usize, rate: f64| {
        let mut mark = mark.clone();
        mark["envelope"]["date"] = format!("2026-11-20T10:{minute:02}:00Z").into();
        for run in mark["body"]["tests"][0]["runs"].as_array_mut().unwrap() {
            run["mb_s"] = (run["mb_s"].as_f64().unwrap() * rate).into();
        }
        let path = runs.path().join(name);
        fs::write(&path, mark.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // Offsets of sessions of 1%, and a difference of 10%.
    let offsets = [1.0, 0.99, 1.01, 1.005, 0.995, 1.0];
    let side = |letter: &str, minute: &dyn Fn(usize) -> usize, rate: f64| {
        let of = |(number, offset): (usize, &f64)| {
            session(format!("{letter}{number}.json"), minute(number), rate * offset)
        };
        offsets.iter().enumerate().map(of).collect::<Vec<String>>().join(",")
    };
    let a = side("a", &|number| 2 * number, 1.0);
    let b = side("b", &|number| 2 * number + 1, 1.1);
    let ran = compare(runs.path(), &[&a, &b]).exits(1);
    let found = pair(&ran);
    assert_eq!((&found["outcome"], &found["by_sessions"]), (&"faster".into(), &true.into()));
    assert_eq!(found["runs"], serde_json::json!([6, 6]));
    assert!(!ran.body()["caveats"].to_string().contains("measured_apart"));
    assert_eq!(ran.body()["sides"][0]["sessions"].as_array().unwrap().len(), 6);
    let page = at(runs.path(), &["compare", &a, &b]).stdout;
    assert!(page.contains("6 and 6 sessions"), "{page}");
    // One side after the other, whatever changed in between is in the difference.
    let later = side("c", &|number| 20 + number, 1.1);
    let found = pair(&compare(runs.path(), &[&a, &later]).exits(0));
    assert_eq!((&found["outcome"], &found["by_sessions"]), (&"undecided".into(), &false.into()));
    let target = format!("{},sim:hdd-wd", a.split(',').next().unwrap());
    let words = ["sim:hdd-wd is a target; expected a recorded run or document", "hint: "];
    at(runs.path(), &["compare", &target, &b]).fails(2, &words);
}

// Breaks when a tie is ranked, when the one that is surely slower is not last, or when a ratio of latencies has no interval
// though its runs give one, or has one though they do not.
#[test]
fn three_sides_are_ranked_and_ratios_of_latency_have_intervals() {
    let runs = scratch_dir();
    let args =
        ["sim:hdd-sg", "sim:hdd-wd?seed=3", "sim:hdd-wd?seed=3", "--write-only", "--no-record"];
    let found = compare(runs.path(), &[&args[..], &SHORT[..]].concat()).exits(1);
    let test = &found.body()["tests"][0];
    let ranks: Vec<[u64; 3]> = (test["ranking"].as_array().unwrap().iter())
        .map(|rank| ["side", "best", "worst"].map(|key| rank[key].as_u64().unwrap()))
        .collect();
    assert_eq!(ranks, [[1, 1, 2], [2, 1, 2], [0, 3, 3]], "{test}");
    let p50 = |of_pair: usize| test["pairs"][of_pair]["latency"]["p50"].clone();
    let ends = |p50: &Value| ["low", "high"].map(|end| p50[end].as_f64().unwrap());
    let (apart, alike) = (p50(0), p50(2));
    assert!(ends(&apart)[1] < 1.0 && ends(&apart)[0] > 0.3, "{apart}");
    assert_eq!(ends(&alike), [1.0, 1.0], "the same drive twice: {alike}");
    assert!(test["sides"].as_array().unwrap().iter().all(|side| side["reached"] == "proven"));
    let few = [&args[..], &SHORT[..1], &["--runs=5", "--quick", "--no-progress", "--seed=7"]];
    let few = compare(runs.path(), &few.concat()).body();
    let p50 = &few["tests"][0]["pairs"][0]["latency"]["p50"];
    assert_eq!((&p50["no_interval"], &p50["low"]), (&"few_runs".into(), &Value::Null));
    let ranks = few["tests"][0]["ranking"].to_string();
    assert!(!ranks.contains("\"best\":3"), "five blocks tell nothing apart: {ranks}");
}

// Breaks when a test file stays behind, or the sides of a real filesystem are not measured in turns.
#[test]
fn directories_are_measured_in_turns_and_left_clean() {
    let (a, b, runs) = (scratch_dir(), scratch_dir(), scratch_dir());
    let args = [
        a.path().to_str().unwrap(),
        b.path().to_str().unwrap(),
        "--size=4MiB",
        "--runs=6",
        "--duration=100ms",
        "--warm-up=0s",
        "--pause=0s",
        "--tests=RND4KQ1T1",
        "--no-progress",
    ];
    let ran = compare(runs.path(), &args);
    let body = ran.body();
    let ops: Vec<&str> =
        body["tests"].as_array().unwrap().iter().map(|test| test["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["read", "write"]);
    for test in body["tests"].as_array().unwrap() {
        assert_eq!(test["pairs"][0]["design"], "blocks");
        assert_eq!(test["pairs"][0]["runs"], serde_json::json!([6, 6]));
    }
    for dir in [a.path(), b.path()] {
        assert_eq!(fs::read_dir(dir).unwrap().count(), 0, "{}", dir.display());
    }
    // The page says who is who.
    let again: Vec<String> = body["sides"]
        .as_array()
        .unwrap()
        .iter()
        .map(|side| side["run_id"].as_str().unwrap().to_owned())
        .collect();
    let page = at(runs.path(), &["compare", &again[0], &again[1]]).stdout;
    assert!(page.contains("A: ") && page.contains("B / A") && page.contains("6 blocks"), "{page}");
}

// Breaks when an error does not lead to its cause.
#[test]
fn what_cannot_be_compared_is_named() {
    let runs = scratch_dir();
    let fails = |args: &[&str], words: &[&str]| {
        let args = [&["compare"], args, &["--runs-dir", runs.path().to_str().unwrap()]].concat();
        run(args).fails(2, words);
    };
    fails(&["sim:hdd-wd"], &["SIDE"]);
    fails(&["nothing", "last"], &["nothing", "neither a target, a file nor a recorded run"]);
    let text = runs.path().join("x.json");
    fs::write(&text, "{\"envelope\": {\"schema\": \"drivescope.judge/1\"}}").unwrap();
    fails(
        &[text.to_str().unwrap(), "sim:hdd-wd"],
        &["x.json", "drivescope.judge/1", "drivescope.mark/"],
    );
    fs::write(&text, "{").unwrap();
    fails(&[text.to_str().unwrap(), "sim:hdd-wd"], &["x.json", "not whole JSON"]);
    fails(&["sim:hdd-wd", "sim:nobody", "--quick", "--no-progress"], &["nobody"]);
    let marked = ["mark", "sim:hdd-wd", "--read-only", "--quick", "--runs=1", "--no-progress"];
    at(runs.path(), &marked);
    for flag in ["--tests=RND4KQ1T1", "--size=1MiB", "--buffered"] {
        fails(&["last", "last", flag], &["all sides are recorded"]);
    }
}

// Breaks when a side that cannot be measured is found only after another has a record, of which nothing was measured.
#[test]
fn no_side_is_recorded_when_another_cannot_be_measured() {
    let (runs, dir) = (scratch_dir(), scratch_dir());
    let trace = dir.path().join("t.csv");
    fs::write(&trace, "device,op,offset,length,arrival\nsda,R,0,4096,0\n").unwrap();
    let trace = trace.to_str().unwrap();
    let reading = ["--time-unit=ns", "--address-unit=bytes"];
    for bad in ["sim:no-such-model", "sim:sata-a?capacity=none", "/proc", "/dev/null"] {
        for sides in [["sim:tlc-pslc", bad], [bad, "sim:tlc-pslc"]] {
            let line = [&["compare"], &sides[..], &["--quick", "--no-progress"]].concat();
            let code = at(runs.path(), &line).code;
            assert!(matches!(code, Some(2 | 3)), "{line:?}: {code:?}");
            let line = [&["trace", "compare", trace], &sides[..], &reading].concat();
            let code = at(runs.path(), &line).code;
            assert!(matches!(code, Some(2 | 3)), "{line:?}: {code:?}");
        }
        at(runs.path(), &["sweep", bad, "--vary=depth=1,2"]);
        assert_eq!(recorded(runs.path()).len(), 0, "{bad}");
    }
}

// Breaks when the page of a comparison does not begin with its answer and its chart, or does not name the sides.
#[test]
fn the_page_of_a_comparison_answers_first() {
    let runs = scratch_dir();
    let line = ["compare", "sim:sata-a", "sim:sata-b", "--quick", "--seed=7", "--read-only"];
    let printed = at(runs.path(), &line).exits(1).stdout;
    let answer = "sim:sata-a is faster than sim:sata-b in 2 of 4 tests, up to 2.3";
    assert!(printed.contains(answer), "{printed}");
    assert!(printed.contains("sim:sata-a sim:sata-b   B / A 95% interval verdict"), "{printed}");
    assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
    let page = at(runs.path(), &["report", "last", "--markdown=-"]).stdout;
    let place = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}: {page}"));
    let order = [answer, "Throughput: every run", "Latency: median", "A: sim:sata-a", "| verdict"]
        .map(place);
    assert!(order.is_sorted(), "{order:?}");
    let plots = at(runs.path(), &["show", "--json"]).exits(0);
    let plots = plots.json()["body"]["plots"].clone();
    let of_series = |plot: &Value, series: &str| {
        let values = plot["values"].as_array().unwrap().iter();
        values.filter(|value| value["series"] == series).count()
    };
    let charts = plots.as_array().unwrap();
    assert_eq!(charts.len(), 2, "one chart of both sides' runs, and one of their latencies");
    // Four tests of as many runs as were made; three percentiles of each.
    let made = of_series(&charts[0], "sim:sata-a");
    assert!(made >= 24 && made == of_series(&charts[0], "sim:sata-b"), "{made}");
    assert_eq!(of_series(&charts[1], "sim:sata-b"), 12);
}

// Breaks when filesystems or partitions of one drive are compared as if they were two drives.
#[test]
fn sides_on_one_device_are_pointed_out() {
    let (runs, a, b) = (scratch_dir(), scratch_dir(), scratch_dir());
    let sides = [a.path().to_str().unwrap(), b.path().to_str().unwrap()];
    let quick = ["--tests=RND4KQ1T1", "--read-only", "--size=1MiB", "--duration=20ms", "--runs=2"];
    let body = at(runs.path(), &[&["compare"], &sides[..], &quick, &["--json"]].concat()).body();
    let caveats = caveats(&body);
    let is_drive = recorded(runs.path())
        .iter()
        .any(|run| run.json("document.json")["body"]["stack"]["leaves"][0]["medium"] == "device");
    assert_eq!(caveats.iter().any(|code| code == "same_device"), is_drive, "{caveats:?}");
}

/// A comparison of the last run with a target, killed once the target's own record has a step.
fn killed_beside_last(runs: &Path) -> String {
    let load = ["--tests=RND4KQ1T1", "--read-only", "--seed=7"];
    at(runs, &[&["mark", "sim:hdd-wd", "--runs=8", "--duration=100ms"], &load[..]].concat());
    let args =
        [&["compare", "last", "sim:hdd-sg", "--runs=300", "--duration=100ms"], &load[..]].concat();
    killed(drivescope(args), runs, Moment::Lines(10, Duration::ZERO), Signal::KILL);
    let is_whole =
        |run: &Recorded| run.json("envelope.json")["schema"] == "drivescope.comparison/1";
    recorded(runs).into_iter().find(is_whole).unwrap().id()
}

// Breaks when a side that was named as the last run is another one after the comparison was killed: the sides of the killed one
// are recorded later than it.
#[test]
fn a_resumed_comparison_has_the_sides_that_it_was_begun_with() {
    let runs = scratch_dir();
    let id = killed_beside_last(runs.path());
    let first = recorded(runs.path())[0].id();
    let ran = at(runs.path(), &["compare", "--resume", &id, "--json"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    let sides = ran.body()["sides"].clone();
    assert_eq!(sides[0]["run_id"], first.as_str());
    assert_eq!(sides[1]["name"], "sim:hdd-sg");
    at(runs.path(), &["compare", "--resume", &id]).fails(2, &["is finished"]);
}

// Breaks when a side whose record cannot be read is measured from its beginning as if it had none.
#[test]
fn a_resumed_comparison_names_a_side_that_is_damaged() {
    let runs = scratch_dir();
    let id = killed_beside_last(runs.path());
    let is_side = |run: &Recorded| run.json("setup.json")["part_of"] == id.as_str();
    let side = recorded(runs.path()).into_iter().find(is_side).unwrap();
    fs::write(side.path("plan.toml"), "").unwrap();
    at(runs.path(), &["compare", "--resume", &id]).fails(2, &[&side.id()]);
    assert_eq!(recorded(runs.path()).len(), 3);
}
