//! Results of other programs in, and ours out in fio's form: with the real fio, with our face of diskspd, and by texts.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{run, scratch_dir};
use serde_json::Value;

fn has(program: &str, argument: &str) -> bool {
    if Command::new(program).arg(argument).output().is_ok() {
        return true;
    }
    println!("skipped: needs {program}");
    false
}

/// Runs fio on a file in `dir`; true when it ended well.
fn fio(dir: &Path, options: &[&str]) -> bool {
    Command::new("fio")
        .current_dir(dir)
        .args([
            "--name=x",
            "--bs=4k",
            "--size=2m",
            "--filename=f",
            "--ioengine=psync",
            "--invalidate=1",
        ])
        .args(options)
        .output()
        .unwrap()
        .status
        .success()
}

fn import(dir: &Path, files: &[&str]) -> Value {
    let runs = dir.join("runs");
    let files = files.iter().map(|name| dir.join(name).to_str().unwrap().to_owned());
    let place = format!("--runs-dir={}", runs.display());
    let line = ["import".to_owned(), "--json".to_owned(), place].into_iter().chain(files);
    run(line.collect::<Vec<String>>()).exits(0).body()
}

fn codes(body: &Value) -> Vec<&str> {
    body["caveats"]
        .as_array()
        .unwrap()
        .iter()
        .map(|caveat| caveat["code"].as_str().unwrap())
        .collect()
}

fn near(a: f64, b: f64, share: f64) {
    assert!((a - b).abs() <= b.abs() * share, "{a} and {b}");
}

// With fio itself: breaks when what is shown is not what fio said, or when a number of it passes for proven.
#[test]
fn what_fio_says_is_what_is_imported() {
    if !has("fio", "--version") {
        return;
    }
    let dir = scratch_dir();
    for (seed, name) in ["a.json", "b.json"].into_iter().enumerate() {
        let output = format!("--output={name}");
        let seed = format!("--randseed={}", seed + 1);
        let options =
            ["--rw=randread", "--direct=0", "--output-format=json+", &output, &seed, "--loops=2"];
        assert!(fio(dir.path(), &options));
    }
    let body = import(dir.path(), &["a.json", "b.json"]);
    let test = &body["tests"][0];
    assert_eq!((test["name"].as_str(), test["op"].as_str()), (Some("RND4K Q1T1"), Some("read")));
    assert_eq!(test["runs"].as_array().unwrap().len(), 2);
    for (index, name) in ["a.json", "b.json"].into_iter().enumerate() {
        let said: Value =
            serde_json::from_str(&fs::read_to_string(dir.path().join(name)).unwrap()).unwrap();
        let (said, run) = (&said["jobs"][0]["read"], &test["runs"][index]);
        assert_eq!((&run["bytes"], &run["ios"]), (&said["io_bytes"], &said["total_ios"]));
        near(run["mb_s"].as_f64().unwrap() * 1e6, said["bw_bytes"].as_f64().unwrap(), 1e-9);
        near(run["mb_s"].as_f64().unwrap() * 1e6, said["bw"].as_f64().unwrap() * 1024.0, 0.01);
        assert_eq!(run["iops"], said["iops"]);
        assert_eq!(run["latency_ns"]["p99"], said["clat_ns"]["percentile"]["99.000000"]);
        assert_eq!(run["latency_ns"]["max"], said["clat_ns"]["max"]);
        near(
            run["latency_ns"]["mean"].as_f64().unwrap(),
            said["clat_ns"]["mean"].as_f64().unwrap(),
            1e-9,
        );
    }
    for proof in ["reached", "pattern", "steady", "repeatable", "unhindered", "undisturbed"] {
        assert_eq!(test["proofs"][proof]["verdict"], "unprovable", "{proof}");
    }
    // The page cache, and what was read twice, are in the file.
    let caveats = codes(&body);
    assert!(["buffered", "loops"].iter().all(|code| caveats.contains(code)), "{caveats:?}");
    assert!(!caveats.contains(&"equal_seeds"), "{caveats:?}");
    assert!(test["latency_ns"]["p99"].as_u64().unwrap() > 0, "bins of both are merged");
    let again = dir.path().join("c.json");
    fs::copy(dir.path().join("a.json"), &again).unwrap();
    run([Path::new("import"), &dir.path().join("a.json"), &again]).fails(2, &["c.json", "same as"]);
}

// Breaks when plain percentiles of two runs are merged, or fio's logs have other byte counts than its JSON.
#[test]
fn plain_percentiles_are_kept_and_logs_add_up() {
    if !has("fio", "--version") {
        return;
    }
    let dir = scratch_dir();
    let logs =
        ["--write_lat_log=l", "--write_hist_log=h", "--log_hist_msec=10", "--write_bw_log=l"];
    for name in ["a", "b"] {
        let output = format!("--output={name}.json");
        let mut options = vec!["--rw=write", "--direct=0", "--output-format=json", &output];
        if name == "b" {
            options.extend(logs);
        }
        assert!(fio(dir.path(), &options));
    }
    // Away from the JSON, which would take its logs along.
    let apart = dir.path().join("logs");
    fs::create_dir(&apart).unwrap();
    for entry in fs::read_dir(dir.path()).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".log") {
            fs::rename(entry.path(), apart.join(name)).unwrap();
        }
    }
    let body = import(dir.path(), &["a.json", "b.json"]);
    assert!(codes(&body).contains(&"percentiles_not_merged"));
    assert_eq!(body["tests"][0]["latency_ns"]["p99"], 0);
    let told = &body["imported"]["tests"][0]["runs"][0];
    assert!(told["percentiles"].as_array().unwrap().len() > 10 && told["latencies"].is_null());
    let said: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("b.json")).unwrap()).unwrap();
    let said = &said["jobs"][0]["write"];
    let logged = import(dir.path(), &["logs/l_clat.1.log"]);
    let run = &logged["tests"][0]["runs"][0];
    assert_eq!((&run["bytes"], &run["ios"]), (&said["io_bytes"], &said["total_ios"]));
    assert_eq!(run["latency_ns"]["max"], said["clat_ns"]["max"]);
    near(
        run["latency_ns"]["mean"].as_f64().unwrap(),
        said["clat_ns"]["mean"].as_f64().unwrap(),
        0.001,
    );
    let histogram = fs::read_dir(&apart).unwrap().map(|entry| entry.unwrap().path());
    let histogram =
        histogram.into_iter().find(|path| path.to_str().unwrap().contains("_clat_hist"));
    let histogram = histogram.expect("fio writes a histogram log");
    if fs::read_to_string(&histogram).unwrap().is_empty() {
        // All of the run lay within the interval that fio does not write.
        return;
    }
    let body = import(dir.path(), &[histogram.strip_prefix(dir.path()).unwrap().to_str().unwrap()]);
    let ios = body["tests"][0]["runs"][0]["ios"].as_u64().unwrap();
    assert!(ios > 0 && ios <= said["total_ios"].as_u64().unwrap(), "{ios}");
    assert!(codes(&body).contains(&"histogram_log_ends_early"));
}

// Our face of diskspd prints both of its forms from one run: breaks when one is read otherwise than the other.
#[test]
fn the_text_and_the_xml_of_diskspd_say_the_same() {
    let dir = scratch_dir();
    let line = [
        "diskspd",
        "sim:hdd-wd",
        "-d1",
        "-W0",
        "-z7",
        "-b4K",
        "-r",
        "-w30",
        "-o4",
        "-t2",
        "-Sh",
        "-L",
    ];
    let mut bodies = Vec::new();
    for (name, form) in [("d.txt", "-Rtext"), ("d.xml", "-Rxml")] {
        let said = run(line.into_iter().chain([form])).exits(0).stdout;
        fs::write(dir.path().join(name), said).unwrap();
        bodies.push(import(dir.path(), &[name]));
    }
    let [text, xml] = bodies.as_slice() else { panic!() };
    let (text_test, xml_test) = (&text["tests"][0], &xml["tests"][0]);
    assert_eq!(text_test["name"], "RND4K Q4T2");
    assert_eq!(text_test["op"], "mix70");
    for name in ["name", "op", "block_bytes", "depth", "threads"] {
        assert_eq!(text_test[name], xml_test[name], "{name}");
    }
    let (text_run, xml_run) = (&text_test["runs"][0], &xml_test["runs"][0]);
    assert_eq!((&text_run["bytes"], &text_run["ios"]), (&xml_run["bytes"], &xml_run["ios"]));
    near(text_run["iops"].as_f64().unwrap(), xml_run["iops"].as_f64().unwrap(), 0.01);
    assert_eq!(text["imported"]["told"]["direct"], true);
}

// Breaks when a recorded import cannot be found, shown and compared with a run of ours.
#[test]
fn what_was_imported_is_shown_and_compared() {
    let dir = scratch_dir();
    let runs = format!("--runs-dir={}", dir.path().join("runs").display());
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/cdm.txt");
    run(["import", text, &runs]).exits(0).prints(&[
        "SEQ1M Q8T1",
        "175",
        "as CrystalDiskMark reports",
    ]);
    run(["runs", "show", "last", &runs]).exits(0).prints(&["drivescope import", "RND4K Q32T1"]);
    run(["runs", "list", &runs]).exits(0).prints(&["import", "CrystalDiskMark"]);
    // There is no plan that could be run again.
    run(["rerun", "last", &runs]).fails(2, &["imported"]);
    let ours = [
        "--tests=SEQ1MQ8T1",
        "--read-only",
        "--runs=6",
        "--duration=50ms",
        "--warm-up=0",
        "--pause=0",
    ];
    let line = ["compare", "last", "sim:hdd-wd", "--seed=7", "--no-progress", "--json", &runs];
    let body = run(line.into_iter().chain(ours)).body();
    let caveats = codes(&body);
    assert!(caveats.contains(&"imported"), "{caveats:?}");
    assert_eq!(body["tests"][0]["name"], "SEQ1M Q8T1");
    // One run of CrystalDiskMark decides nothing.
    assert_eq!(body["tests"][0]["pairs"][0]["outcome"], "undecided");
    let missing = ["import", "/nonexistent/x.json", &runs];
    run(missing).fails(2, &["/nonexistent/x.json"]);
    let log = dir.path().join("x.log");
    fs::write(&log, "500, 1, 1, 0, 0\n").unwrap();
    run([Path::new("import"), &log]).fails(2, &["x.log"]);
    run([Path::new("import"), &log, Path::new("--format=fio-log")])
        .fails(2, &["x.log", "x_bw.1.log"]);
}

// Breaks when logs of two threads that happen to be equal are taken for one that is given twice, or a copy is not.
#[test]
fn equal_logs_of_two_threads_are_two_and_a_copy_is_refused() {
    let dir = scratch_dir();
    let log = "100, 50000, 0, 0\n200, 50000, 0, 0\n300, 50000, 0, 0\n";
    let file = |name: &str| {
        let path = dir.path().join(name);
        fs::write(&path, log).unwrap();
        path
    };
    let threads = ["x_bw.1.log", "x_bw.2.log"].map(file);
    let body = run([Path::new("import"), &threads[0], &threads[1], Path::new("--json")]).body();
    let both = body["tests"][0]["runs"][0]["mb_s"].as_f64().unwrap();
    near(both, 2.0 * 50_000.0 * 1024.0 / 1e6, 0.01);
    run([Path::new("import"), &threads[0], &file("y_bw.1.log")])
        .fails(2, &["y_bw.1.log", "the same as"]);
}

// Breaks when a text that a Windows program saved as "Unicode" cannot be read.
#[test]
fn utf16_is_read_as_utf8_is() {
    let dir = scratch_dir();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/cdm.txt");
    let text = fs::read_to_string(example).unwrap();
    let little: Vec<u8> =
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> =
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    let marked = format!("\u{feff}{text}").into_bytes();
    let tests = |path: &str| run(["import", path, "--json"]).body()["tests"].clone();
    for (name, bytes) in [("le.txt", little), ("be.txt", big), ("utf8.txt", marked)] {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        assert_eq!(tests(path.to_str().unwrap()), tests(example), "{name}");
    }
}

/// Exports the last run in `runs`, and hands the document back.
fn export(dir: &Path, runs: &str) -> (String, Value) {
    let file = dir.join("out.json");
    let file = file.to_str().unwrap();
    run(["runs", "export", "last", "--format=fio-json", "--output", file, runs]).exits(0);
    let version =
        run(["import", file, "--no-record", "--json"]).body()["imported"]["version"].clone();
    assert!(version.as_str().unwrap().starts_with("written by drivescope of its run"), "{version}");
    (file.to_owned(), serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap())
}

// Breaks when a load is exported as another one since its step is called otherwise than ours are.
#[test]
fn a_plan_says_what_was_random_and_not_the_name_of_its_step() {
    let dir = scratch_dir();
    let runs = format!("--runs-dir={}", dir.path().join("runs").display());
    let plan =
        ["plan", "--tests=RND4KQ8T1,SEQ128KQ1T1", "--runs=1", "--seed=7", "--duration=100ms"];
    let plan = run(plan).exits(0).stdout;
    let renamed = plan.replace("RND4K", "SEQ4K").replace("SEQ128K", "RND128K");
    assert_ne!(renamed, plan);
    let file = dir.path().join("plan.toml");
    fs::write(&file, renamed).unwrap();
    run(["run", file.to_str().unwrap(), "sim:sata-a", "--no-progress", &runs]).exits(0);
    let jobs = export(dir.path(), &runs).1["jobs"].as_array().unwrap().clone();
    assert!(jobs.len() >= 4, "{}", jobs.len());
    for job in jobs {
        let (name, options) = (job["jobname"].as_str().unwrap(), &job["job options"]);
        let is_random = options["rw"].as_str().unwrap().starts_with("rand");
        assert_eq!(is_random, name.starts_with("SEQ4K"), "{name}: {options}");
        assert_eq!(options["bs"] == "4k", is_random, "{name}: {options}");
    }
}

// Breaks when what we write for others is not what we measured, or fio's own tool cannot read it.
#[test]
fn what_is_exported_is_what_was_measured() {
    let dir = scratch_dir();
    let runs = format!("--runs-dir={}", dir.path().join("runs").display());
    let line = [
        "mark",
        "sim:hdd-7200",
        "--tests=RND4KQ8T2,SEQ128KQ1T1",
        "--mix=70",
        "--runs=2",
        "--duration=100ms",
    ];
    let more = ["--warm-up=10ms", "--pause=0", "--seed=7", "--no-progress", "--json", &runs];
    let body = run(line.into_iter().chain(more)).exits(0).body();
    let (file, document) = export(dir.path(), &runs);
    let jobs = document["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 6, "one for each test");
    if has("fio_jsonplus_clat2csv", "--help") {
        let csv = dir.path().join("out.csv");
        for validate in [&[][..], &["--validate"]] {
            let ran =
                Command::new("fio_jsonplus_clat2csv").arg(&file).arg(&csv).args(validate).output();
            let ran = ran.unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        }
        let lines = fs::read_to_string(dir.path().join("out_job0.csv")).unwrap();
        assert!(lines.lines().count() > 2, "{lines}");
    }
    let ours = dir.path().join("again");
    let again = run(["import", &file, "--json", &format!("--runs-dir={}", ours.display())]);
    let again = again.exits(0).body();
    assert_eq!(again["tests"].as_array().unwrap().len(), body["tests"].as_array().unwrap().len());
    for (then, now) in
        body["tests"].as_array().unwrap().iter().zip(again["tests"].as_array().unwrap())
    {
        assert_eq!((&then["name"], &then["op"]), (&now["name"], &now["op"]));
        assert_eq!(now["runs"].as_array().unwrap().len(), 1);
        let run = jobs
            .iter()
            .find(|job| job["jobname"] == format!("{} {}", text(&then["name"]), text(&then["op"])));
        let made = run.unwrap()["drivescope"]["run"].as_u64().unwrap() as usize - 1;
        let away = |run: &Value| {
            (run["mb_s"].as_f64().unwrap() - then["mb_s"]["median"].as_f64().unwrap()).abs()
        };
        let all = then["runs"].as_array().unwrap();
        assert!(all.iter().all(|run| away(run) >= away(&all[made])), "{then}");
        for (then, now) in [(&all[made], &now["runs"][0])] {
            assert_eq!((&then["bytes"], &then["ios"]), (&now["bytes"], &now["ios"]));
            near(now["mb_s"].as_f64().unwrap(), then["mb_s"].as_f64().unwrap(), 1e-6);
            near(now["iops"].as_f64().unwrap(), then["iops"].as_f64().unwrap(), 1e-6);
            for percentile in ["p50", "p99", "max"] {
                let of = |run: &Value| run["latency_ns"][percentile].as_f64().unwrap();
                near(of(now), of(then), 0.017);
            }
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

// Breaks when a plotter that adds up the jobs of a file, as fio-plot does, gets more than one run of a test, or two loads in
// one file; or when a repetition cannot be named.
#[test]
fn each_load_and_each_repetition_has_a_file_of_its_own() {
    let dir = scratch_dir();
    let runs = format!("--runs-dir={}", dir.path().join("runs").display());
    let line = ["mark", "sim:sata-a", "--tests=RND4KQ1T1,RND4KQ16T1,SEQ128KQ1T1", "--read-only"];
    let more = ["--runs=3", "--duration=50ms", "--warm-up=0", "--pause=0", "--seed=7", &runs];
    let body = run(line.into_iter().chain(more).chain(["--no-progress", "--json"])).body();
    let out = |name: &str| format!("--output={}/", dir.path().join(name).display());
    let at = |name: &str| dir.path().join(name);
    let export = |more: &[&str]| {
        run(["runs", "export", "last", "--format=fio-json", &runs]
            .into_iter()
            .chain(more.iter().copied()))
    };
    export(&[&out("one")]).exits(0);
    let read = |path: PathBuf| -> Value {
        serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap()
    };
    let tests = body["tests"].as_array().unwrap();
    for (name, file) in [
        ("RND4K Q1T1", "4k/randread-1-1.json"),
        ("RND4K Q16T1", "4k/randread-16-1.json"),
        ("SEQ128K Q1T1", "128k/read-1-1.json"),
    ] {
        let test = tests.iter().find(|test| test["name"] == name).unwrap();
        let jobs = read(at("one").join(file))["jobs"].as_array().unwrap().clone();
        assert_eq!(jobs.len(), 1, "{file}");
        near(
            jobs[0]["read"]["iops"].as_f64().unwrap(),
            test["iops"]["median"].as_f64().unwrap(),
            0.01,
        );
    }
    let ran = export(&["--run=all", &out("all"), "--json"]).exits(0).json();
    assert_eq!(ran["body"]["files"].as_array().unwrap().len(), 9);
    let made = tests.iter().find(|test| test["name"] == "RND4K Q16T1").unwrap()["runs"].clone();
    for number in 1..=3_usize {
        let job =
            read(at("all").join(format!("run-{number}/4k/randread-16-1.json")))["jobs"][0].clone();
        assert_eq!(job["drivescope"]["run"], number);
        assert_eq!(job["read"]["total_ios"], made[number - 1]["ios"]);
    }
    let best = export(&["--run=best", "--output=-"]).exits(0);
    assert!(best.stderr.contains("add up the jobs"), "{}", best.stderr);
    for job in best.json()["jobs"].as_array().unwrap() {
        let test = tests
            .iter()
            .find(|test| job["jobname"].as_str().unwrap().starts_with(text(&test["name"])))
            .unwrap();
        let rates =
            test["runs"].as_array().unwrap().iter().map(|run| run["iops"].as_f64().unwrap());
        near(job["read"]["iops"].as_f64().unwrap(), rates.fold(0.0, f64::max), 1e-6);
    }
    export(&["--run=4", "--output=-"]).fails(2, &["no run"]);
    export(&["--run=all", "--output=-"]).fails(2, &["--output DIR"]);
    export(&["--run=0", "--output=-"]).fails(2, &["a number from 1"]);
    let archive = out("archive");
    run(["runs", "export", "--run=best", &archive, &runs]).fails(2, &["--format fio-json"]);
}

// A number that was withdrawn here must not be a headline elsewhere: breaks when fio's form hides it.
#[test]
fn a_withdrawn_number_is_marked_in_the_document() {
    let dir = scratch_dir();
    let runs = format!("--runs-dir={}", dir.path().join("runs").display());
    let line = [
        "mark",
        "null:",
        "--tests=RND4KQ1T1",
        "--read-only",
        "--runs=1",
        "--duration=20ms",
        "--warm-up=0",
    ];
    run(line.into_iter().chain(["--no-progress", &runs])).exits(1);
    let ran = run(["runs", "export", "last", "--format=fio-json", "--output=-", &runs]).exits(0);
    assert!(ran.stderr.contains("withdrawn"), "{}", ran.stderr);
    assert!(ran.json()["jobs"][0]["desc"].as_str().unwrap().contains("WITHDRAWN"));
    run(["runs", "export", "--format=fio-json", "--output=-", &runs]).fails(2, &["one run"]);
}
