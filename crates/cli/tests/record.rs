//! Record of a run: a directory that can be read without drivescope, at the requested path, complete or with a
//! note on what is missing.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common;

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use common::recorded::{FILES, Recorded, STEPS, VIRTUAL, at, body_of, only, recorded};
use common::storage::{Mounted, has_means, has_tools, is_root, skip};
use common::{Ran, drivescope, mark, names, run, scratch_dir, tests, written_file};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

/// By step and repetition, what the measured phases of the series add up to: I/Os and bytes.
fn sums_of_series(run: &Recorded) -> BTreeMap<(String, u64), (u64, u64)> {
    let rows = run.csv("series.csv");
    let head = "position,step,run,phase,measured,at_ns,length_ns,ios,bytes";
    assert_eq!(rows[0].join(","), head);
    let mut sums = BTreeMap::new();
    for row in &rows[1..] {
        assert_eq!(row.len(), 9, "{row:?}");
        let number = |at: usize| row[at].parse::<u64>().unwrap();
        if row[4] == "true" {
            let sum = sums.entry((row[1].clone(), number(2))).or_insert((0, 0));
            *sum = (sum.0 + number(7), sum.1 + number(8));
        }
    }
    sums
}

/// The histograms of the log by tag, and what the log says is their maximum in milliseconds.
fn histograms(run: &Recorded) -> BTreeMap<String, (Histogram<u64>, f64)> {
    let text = run.text("histograms.hlog");
    assert!(text.starts_with("#[Histogram log format version 1.3]\n"), "{text}");
    let lines = text.lines().filter(|line| line.starts_with("Tag="));
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields.len(), 5, "{line}");
            let bytes = base64(fields[4]);
            // V2, compressed: the cookie of HdrHistogram's own encoders.
            assert_eq!(bytes[..4], [0x1c, 0x84, 0x93, 0x14], "{line}");
            let histogram = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            let max = fields[3].parse().unwrap();
            (fields[0].strip_prefix("Tag=").unwrap().to_owned(), (histogram, max))
        })
        .collect()
}

fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| -> u32 {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        alphabet.iter().position(|a| *a == c).unwrap() as u32
    };
    let digits: Vec<u32> = text.trim_end_matches('=').bytes().map(value).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let word = (0..4).fold(0, |word, at| (word << 6) | group.get(at).copied().unwrap_or(0));
        bytes.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    bytes
}

/// All that is recorded of a run, against the document that it printed.
fn assert_readable(recorded: &Recorded, ran: &Ran, steps: u64) {
    let printed: Value = ran.json();
    assert_eq!(recorded.text("document.json"), ran.stdout, "the document is what was printed");
    assert_eq!(printed["envelope"]["run_id"], recorded.id());
    recorded.assert_sums();
    let made = recorded.steps();
    let positions: Vec<u64> = made.iter().map(|s| s["position"].as_u64().unwrap()).collect();
    assert_eq!(positions, (0..steps).collect::<Vec<_>>());

    let envelope = recorded.json("envelope.json");
    let sha256 = Command::new("sha256sum").arg(env!("CARGO_BIN_EXE_drivescope")).output().unwrap();
    let sha256 = String::from_utf8(sha256.stdout).unwrap();
    let (sum, _) = sha256.split_once(' ').unwrap();
    assert_eq!(envelope["binary"]["sha256"], sum, "the binary can be told from any other");
    assert_eq!(envelope["binary"]["version"], envelope["version"]);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(envelope["host"]["kernel"], kernel.trim());
    assert!(envelope["host"]["machine"]["memory_bytes"].as_u64().unwrap() > 1 << 26);
    assert!(envelope["drive"]["kind"].is_string() && envelope["arguments"].is_array());
    assert_eq!(recorded.json("record.json")["schema"], "drivescope.record/1");
    assert_eq!(recorded.json("end.json")["state"], "finished");

    let (sums, logged) = (sums_of_series(recorded), histograms(recorded));
    let mut counted = 0;
    for test in tests(&printed["body"]) {
        let step = format!("{} {}", test["name"].as_str().unwrap(), test["op"].as_str().unwrap());
        for (index, figures) in test["runs"].as_array().unwrap().iter().enumerate() {
            let (ios, bytes) =
                (figures["ios"].as_u64().unwrap(), figures["bytes"].as_u64().unwrap());
            assert_eq!(sums[&(step.clone(), index as u64)], (ios, bytes), "{step}, run {index}");
            let tag = format!("/{}/{index}/measure/", step.replace(' ', "_"));
            let of_run: Vec<_> = logged.iter().filter(|(name, _)| name.contains(&tag)).collect();
            let count: u64 = of_run.iter().map(|(_, (histogram, _))| histogram.len()).sum();
            assert_eq!(count, ios, "{tag} in {:?}", logged.keys());
            let max = figures["latency_ns"]["max"].as_u64().unwrap() as f64;
            let logged = of_run.iter().map(|(_, (_, ms))| ms * 1e6).fold(0.0, f64::max);
            assert!((logged - max).abs() < 1.0, "{tag}: {logged} and {max}");
            counted += 1;
        }
    }
    assert_eq!(counted, steps, "every run is in the body");
}

/// If it failed, a record could not be read in ten years, or would say something else than was shown.
#[test]
fn a_virtual_mark_leaves_a_directory_that_reads_without_us() {
    let runs = scratch_dir();
    let ran = at(runs.path(), &VIRTUAL).exits(0);
    let made = only(runs.path());
    assert_eq!(names(&made.0), FILES);
    assert_readable(&made, &ran, STEPS);
    assert_eq!(made.json("setup.json")["target"], "sim:hdd-7200");
    // The plan that is kept is the one that was run.
    let plan = made.path("plan.toml");
    let again = run(["run", plan.to_str().unwrap(), "sim:hdd-7200", "--seed=7", "--json"]);
    assert_eq!(again.exits(0).body(), ran.body());
}

#[test]
fn a_mark_and_a_run_of_a_directory_leave_the_same_files() {
    let (runs, dir) = (scratch_dir(), scratch_dir());
    let target = dir.path().to_str().unwrap();
    let flags = ["--size=8MiB", "--tests=RND4KQ4T2,SEQ64KQ1T1"];
    let here = runs.path().to_str().unwrap();
    let ran = mark(target, &[&flags[..], &["--runs-dir", here]].concat()).exits(0);
    assert_readable(&only(runs.path()), &ran, 8);
    let plan = only(runs.path()).path("plan.toml");
    let other = scratch_dir();
    let args = ["run", plan.to_str().unwrap(), target, "--size=8MiB", "--json", "--no-progress"];
    let ran = at(other.path(), &args);
    assert_readable(&only(other.path()), &ran, 8);
    assert_eq!(only(other.path()).json("setup.json")["verb"], "run");
    assert!(names(dir.path()).is_empty());
}

/// Both forms hold each I/O once, and the same ones.
#[test]
fn single_ios_are_kept_as_csv_or_parquet() {
    let args = |form: &'static str| {
        let short = ["mark", "sim:hdd-7200", "--seed=7", "--size=1GiB", "--tests=RND4KQ4T1"];
        [&short[..], &["--runs=2", "--read-only", "--json", form]].concat()
    };
    let (csv, parquet, capped) = (scratch_dir(), scratch_dir(), scratch_dir());
    let ran = at(csv.path(), &args("--keep-samples=csv")).exits(0);
    at(parquet.path(), &args("--keep-samples=parquet")).exits(0);
    let (csv, parquet) = (only(csv.path()), only(parquet.path()));
    csv.assert_sums();
    parquet.assert_sums();
    let counted = &tests(&ran.body())[0]["runs"].clone();
    for position in 0..2 {
        let rows = csv.csv(&format!("samples/{position:04}.csv"));
        let file = File::open(parquet.path(&format!("samples/{position:04}.parquet"))).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let meta = reader.metadata().file_metadata();
        let columns = meta.schema_descr().columns();
        let columns: Vec<&str> = columns.iter().map(|column| column.name()).collect();
        assert_eq!(rows[0], columns);
        assert_eq!(meta.num_rows() as usize, rows.len() - 1);
        let ios = counted[position]["ios"].as_u64().unwrap() as usize;
        assert!(rows.len() > ios, "{} rows for {ios} I/Os and those of the warm-up", rows.len());
        let column = |name: &str| rows[0].iter().position(|head| head == name).unwrap();
        let (issued, completed) = (column("issued_ns"), column("completed_ns"));
        let number = |row: &[String], at: usize| row[at].parse::<u64>().unwrap();
        assert!(rows[1..].iter().all(|row| number(row, issued) < number(row, completed)));
        // The first row is the same in both.
        let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
        let shown: Vec<String> = row.get_column_iter().map(|(_, v)| v.to_string()).collect();
        let plain: Vec<String> = shown.iter().map(|v| v.trim_matches('"').to_owned()).collect();
        assert_eq!(plain, rows[1]);
    }
    let few = [&args("--keep-samples=csv")[..], &["--samples-max=10"]].concat();
    at(capped.path(), &few).exits(0);
    assert_eq!(only(capped.path()).csv("samples/0001.csv").len(), 11);
}

#[test]
fn no_record_leaves_nothing() {
    let home = scratch_dir();
    let mut command = drivescope(VIRTUAL);
    command.env_remove("DRIVESCOPE_RUNS_DIR").env_remove("XDG_DATA_HOME").env("HOME", home.path());
    let ran: Ran = command.arg("--no-record").output().unwrap().into();
    assert_eq!(ran.exits(0).said(), "");
    assert!(names(home.path()).is_empty());
    let place = format!("--runs-dir={}", home.path().join("runs").display());
    run([&VIRTUAL[..], &["--no-record", &place]].concat()).exits(0);
    assert!(names(home.path()).is_empty());
    run([&VIRTUAL[..], &["--no-record", "--keep-samples=csv"]].concat()).fails(2, &["--keep-s"]);
}

/// XDG Base Directory Specification: the place where a user looks for data, unless another is named.
#[test]
fn runs_are_kept_in_the_users_data_directory() {
    let home = scratch_dir();
    let own = ["DRIVESCOPE_RUNS_DIR", "XDG_DATA_HOME"];
    let with = |set: &[(&str, &Path)]| {
        let mut command = drivescope(VIRTUAL);
        own.iter().for_each(|name| _ = command.env_remove(name));
        command.env("HOME", home.path()).envs(set.iter().copied());
        Ran::from(command.output().unwrap()).exits(0)
    };
    with(&[]);
    assert_eq!(recorded(&home.path().join(".local/share/drivescope/runs")).len(), 1);
    let (xdg, chosen) = (home.path().join("xdg"), home.path().join("chosen"));
    with(&[("XDG_DATA_HOME", &xdg)]);
    assert_eq!(recorded(&xdg.join("drivescope/runs")).len(), 1);
    with(&[("XDG_DATA_HOME", &xdg), ("DRIVESCOPE_RUNS_DIR", &chosen)]);
    assert_eq!((recorded(&chosen).len(), recorded(&xdg.join("drivescope/runs")).len()), (1, 1));
}

/// An unusable directory is an error before the measurement, not after an hour of it. And without a request
/// for a record, the lack of one does not prevent a measurement.
#[test]
fn a_place_that_cannot_be_used_is_an_error_only_for_who_named_it() {
    let dir = scratch_dir();
    let (file, target) = (dir.path().join("file"), dir.path().join("target"));
    fs::write(&file, "kept").unwrap();
    fs::create_dir(&target).unwrap();
    let on_target = ["mark", target.to_str().unwrap(), "--size=4MiB", "--tests=RND4KQ1T1"];
    for args in [&VIRTUAL[..], &on_target] {
        let ran = at(&file, args).fails(2, &[file.to_str().unwrap(), "is not a directory"]);
        assert_eq!(ran.stderr.matches("directory").count(), 1, "said once: {}", ran.stderr);
        at(&file.join("below"), args).fails(2, &[file.to_str().unwrap()]);
        at(Path::new("/proc/nowhere"), args).fails(2, &["/proc/nowhere"]);
        let mut command = drivescope(args);
        command.env("DRIVESCOPE_RUNS_DIR", &file);
        Ran::from(command.output().unwrap()).fails(2, &[file.to_str().unwrap()]);
    }
    assert!(names(&target).is_empty());
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    for home in [None, Some("/proc/nowhere"), Some(file.to_str().unwrap())] {
        let mut command = drivescope(VIRTUAL);
        // Empty is unset, as the specification of base directories has it.
        command.env("DRIVESCOPE_RUNS_DIR", "").env_remove("XDG_DATA_HOME").env_remove("HOME");
        command.envs(home.map(|home| ("HOME", home)));
        let ran = Ran::from(command.output().unwrap()).exits(0);
        let ran = ran.says(&["note:", "not recorded", "--runs-dir"]);
        assert_eq!(tests(&ran.body()).len(), 4);
    }
}

#[test]
fn a_directory_that_may_not_be_written_is_known_before_anything_is_done() {
    if !is_root() {
        return skip("needs root, to become nobody");
    }
    if !has_tools(&["setpriv"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_drivescope"), at("drivescope")).unwrap();
    for (name, mode) in [("locked", 0o755), ("open", 0o777), ("home", 0o755)] {
        fs::create_dir(at(name)).unwrap();
        fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
    }
    let as_nobody = |args: &[&str]| -> Ran {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
        command.arg(at("drivescope")).args(["mark", "--json", "--no-progress"]).args(args);
        command.env_remove("DRIVESCOPE_RUNS_DIR").env_remove("XDG_DATA_HOME");
        command.env("HOME", at("home")).output().unwrap().into()
    };
    let locked = at("locked").to_str().unwrap().to_owned();
    let open = at("open").to_str().unwrap().to_owned();
    // A test file this large takes much longer to write than any test waits.
    let large = [&*open, "--size=20GiB", "--runs-dir", &locked];
    as_nobody(&large).fails(2, &[&locked, "ermission denied", "--runs-dir"]);
    let ran = as_nobody(&["sim:hdd-7200", "--seed=7", "--quick"]).exits(0);
    ran.says(&["note:", "not recorded", "ermission denied"]);
    assert!(names(&at("open")).is_empty() && names(&at("locked")).is_empty());
}

/// A record that cannot be completed: the measurement is not discarded with it, the failure is reported, and
/// what was reported as saved is there.
#[test]
fn a_full_disk_ends_the_record_and_not_the_measurement() {
    if !has_means(&["mount"]) {
        return;
    }
    // From room for a few steps to room for all of them but not for the end.
    let mut stopped = 0;
    for kib in [64, 96, 128, 192, 256, 320] {
        let runs = Mounted::new("tmpfs", "tmpfs", &format!("size={kib}k"));
        let ran = at(runs.path(), &VIRTUAL);
        if ran.code == Some(0) {
            only(runs.path()).assert_sums();
            continue;
        }
        let ran = ran.exits(2);
        if ran.stdout.is_empty() {
            // Not even a beginning: said before anything was measured.
            ran.says(&["error:", "No space left", "--runs-dir"]);
            assert!(recorded(runs.path()).is_empty());
            continue;
        }
        stopped += 1;
        let reference = run([&VIRTUAL[..], &["--no-record"]].concat()).exits(0);
        assert_eq!(ran.body(), reference.body(), "the result is whole");
        let made = only(runs.path());
        let id = made.id();
        let ran = ran.says(&["error:", "No space left", &id, "saved in", "its record is not"]);
        let saved = made.steps().len();
        let word = if saved == 1 { "1 step,".to_owned() } else { format!("{saved} steps,") };
        let word = if saved == 0 { "no step".to_owned() } else { word };
        assert!(ran.stderr.contains(&word), "{saved} steps in the journal: {}", ran.stderr);
        assert!(ran.stderr.contains(made.0.to_str().unwrap()), "{}", ran.stderr);
        assert!(!ran.stderr.contains("drivescope report last"), "{}", ran.stderr);
        at(runs.path(), &["runs", "show", &id]).exits(0);
        // With room it goes on from there, to the same result.
        let point = runs.path().to_str().unwrap();
        common::storage::tool("mount", &["-o", "remount,size=8m", point]);
        let on = at(runs.path(), &["run", "--resume", &id, "--json", "--no-progress"]).exits(0);
        assert_eq!(on.body(), reference.body());
        made.assert_sums();
        assert_eq!(body_of(&made), reference.body());
    }
    assert!(stopped > 0, "no size of disk ended a record midway");
}

/// An hour's result must not go with a full disk that its output was directed to.
#[test]
fn a_result_that_cannot_be_printed_is_still_recorded() {
    let runs = scratch_dir();
    let mut command = drivescope(VIRTUAL);
    command.arg("--runs-dir").arg(runs.path());
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let ran = Ran::from(command.output().unwrap()).exits(2);
    let made = only(runs.path());
    ran.says(&["error:", "No space left", &format!("drivescope runs show {}", made.id())]);
    made.assert_sums();
    assert_eq!(made.json("end.json")["state"], "finished");
}

#[test]
fn a_record_on_the_measured_drive_is_told_of() {
    let (dir, runs) = (scratch_dir(), scratch_dir());
    let here = runs.path().to_str().unwrap();
    let args = ["--size=4MiB", "--tests=RND4KQ1T1", "--read-only", "--runs-dir", here];
    mark(dir.path(), &args).says(&["note: recording to the drive that is measured"]);
    let virtual_mark = at(runs.path(), &VIRTUAL).exits(0);
    assert_eq!(virtual_mark.said(), "", "a virtual drive holds no record");
    if !has_means(&["mount"]) {
        return;
    }
    let elsewhere = Mounted::new("tmpfs", "tmpfs", "size=8m");
    let there = elsewhere.path().to_str().unwrap();
    let args = ["--size=4MiB", "--tests=RND4KQ1T1", "--read-only", "--runs-dir", there];
    let ran = mark(dir.path(), &args);
    assert!(!ran.stderr.contains("the drive that is measured"), "{}", ran.stderr);
}

#[test]
fn two_that_record_at_once_do_not_hinder_each_other() {
    let runs = scratch_dir();
    let start = |seed: u32| {
        let mut command = drivescope(["mark", "sim:hdd-7200", "--size=1GiB", "--quick", "--json"]);
        command.arg(format!("--seed={seed}")).arg("--runs-dir").arg(runs.path()).spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(start).collect();
    for child in children {
        Ran::from(child.wait_with_output().unwrap()).exits(0);
    }
    let made = recorded(runs.path());
    assert_eq!(made.len(), 4);
    made.iter().for_each(Recorded::assert_sums);
    let listed = at(runs.path(), &["runs", "list", "--json"]).exits(0).body();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 4);
    assert_eq!(listed["unreadable"], serde_json::json!([]));
}

/// If it failed, readers of a record could repeat the word that its owner typed to consent to writing.
#[test]
fn the_word_of_consent_is_kept_nowhere() {
    let (dir, place) = (scratch_dir(), scratch_dir());
    let target = dir.path().join("the word");
    written_file(&target, 4 << 20);
    let target = target.to_str().unwrap();
    let load = ["--tests=RND4KQ1T1", "--runs=1", "--duration=20ms", "--write"];
    for consent in [&["--consent=the word"][..], &["--consent", "the word"]] {
        let ran = at(place.path(), &[&["mark", target][..], &load, consent].concat());
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    }
    for made in recorded(place.path()) {
        let arguments = made.json("envelope.json")["arguments"].clone();
        let expected = [&["mark", target][..], &load].concat();
        assert_eq!(arguments.as_array().unwrap()[..expected.len()], expected);
        assert!(!arguments.to_string().contains("--consent"), "{arguments}");
        for (name, text) in
            [("setup.json", made.json("setup.json")), ("document.json", made.json("document.json"))]
        {
            assert!(!text.to_string().contains("--consent"), "{name}: {text}");
        }
    }
}

/// If it failed, what a user keeps beside a record would be removed with it.
#[test]
fn files_that_no_run_writes_outlive_it_and_are_named() {
    let place = scratch_dir();
    at(place.path(), &["mark", "sim:hdd-7200", "--quick", "--tests=RND4KQ1T1"]).exits(0);
    let made = only(place.path());
    fs::write(made.path("notes.txt"), "mine").unwrap();
    let ran = at(place.path(), &["runs", "rm", "last", "--yes", "--json"]).exits(0);
    let rest = format!("{}/{}.rest", place.path().display(), made.id());
    assert_eq!(ran.body()["kept"], serde_json::json!([rest]));
    let ran = ran.says(&["files that drivescope did not write stay in", &rest, "notes.txt"]);
    assert!(ran.stderr.lines().count() == 1, "{}", ran.stderr);
    assert_eq!(fs::read(Path::new(&rest).join("notes.txt")).unwrap(), b"mine");
}

/// If it failed, a file of the user's that is named like a test file would be removed, or taken for one of ours.
#[test]
fn a_file_that_is_only_named_like_a_test_file_stays() {
    let dir = scratch_dir();
    let path = dir.path().join(".drivescope-mine.scratch");
    fs::write(&path, "mine").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let args = ["--tests=RND4KQ1T1", "--size=4MiB", "--remove-leftovers", "--no-record"];
    let ran = mark(dir.path(), &args);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    ran.says(&[".drivescope-mine.scratch", "does not carry its header, so it stays"]);
    assert_eq!(fs::read(&path).unwrap(), b"mine");
}
