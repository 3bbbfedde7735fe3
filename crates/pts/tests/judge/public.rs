//! Failing inputs of others: rounds with a JSON each, and logs of another run.

use std::path::{Path, PathBuf};

use drivescope_pts::judge::{Known, Recorded, RuleName, Text, judge, read, rounds};
use stats::Verdict;
use stats::verdict::Evidence;

/// The files of others, beside the workspace where they are at hand.
fn texts(dir: &str, end: &str) -> Option<Vec<Text>> {
    let at = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases/public-2026-11/ssd");
    let Ok(entries) = std::fs::read_dir(Path::new(at).join(dir)) else {
        let path = format!("{at}/{dir}");
        println!("skipped: this machine has no {path}");
        return None;
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let of = |path: &PathBuf| Text {
        file: path.to_str().unwrap().to_owned(),
        text: std::fs::read_to_string(path).unwrap(),
    };
    Some(paths.iter().filter(|path| path.to_str().unwrap().ends_with(end)).map(of).collect())
}

fn caveats<'a>(result: &'a Recorded, code: &str) -> Vec<&'a str> {
    let of_code = result.caveats.iter().filter(|caveat| caveat.code == code);
    of_code.map(|caveat| caveat.cause.as_str()).collect()
}

fn number(evidence: Option<&Evidence>) -> f64 {
    match evidence {
        Some(Evidence::Value(number)) => *number,
        Some(Evidence::Count(count)) => *count as f64,
        other => panic!("{other:?}"),
    }
}

// Breaks when a harness's rounds are taken for as many results without any: then no rule can be asked.
#[test]
fn a_json_a_round_makes_rounds_of_one_cell() {
    let Some(texts) = texts("12-pts-harness-rounds", ".json") else { return };
    let results = rounds(read(&texts).unwrap());
    assert_eq!(results.len(), 2);
    let cell = results.iter().find(|result| result.name == "wdpc").unwrap();
    let values = &cell.rounds.as_ref().unwrap().values;
    let expected = [168.6, 182.7, 223.4, 225.7, 234.1, 228.5, 242.9];
    assert_eq!(values.len(), expected.len());
    assert!(values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.06), "{values:?}");
    let judged = judge(cell.clone(), &Known::default());
    let snia = &judged.rules.iter().find(|rule| rule.rule == RuleName::Snia).unwrap().says;
    assert_eq!(snia.verdict, Verdict::Proven, "{}", snia.reason);
    let share =
        |name: &str| 100.0 * number(snia.evidence.get(name)) / number(snia.evidence.get("average"));
    assert!((share("range") - 8.4).abs() < 0.06, "{}", snia.reason);
    assert!((share("slope_excursion").abs() - 7.2).abs() < 0.06, "{}", snia.reason);
    assert!(caveats(cell, "each_round_the_same")[0].contains("randseed=101"));
    // One order of addresses again and again prepares no drive, however flat its rounds are.
    for capacity in [10_000_000_000, 256_000_000_000] {
        let known = Known { drive_bytes: Some(capacity), ..Known::default() };
        assert_ne!(judge(cell.clone(), &known).steady.verdict, Verdict::Proven);
    }
}

// Breaks when logs that another run left under the job's names make its series, or are named once for each kind.
#[test]
fn logs_of_another_run_are_left_out_of_any_kind() {
    let Some(logs) = texts("10-logs-of-another-run", ".log") else { return };
    let Some(jsons) = texts("10-logs-of-another-run", ".json") else { return };
    for json in jsons {
        let one_was_read = json.file.contains("randread");
        let mut all = logs.clone();
        all.push(json);
        let results = read(&all).unwrap();
        assert_eq!(results.len(), 1);
        let result = &results[0];
        assert!(result.series.is_none() && result.files.len() == 1, "{:?}", result.files);
        let causes: Vec<&str> = result.caveats.iter().map(|caveat| caveat.cause.as_str()).collect();
        let left_out = caveats(result, "logs_of_another_run");
        assert_eq!(left_out.len(), 1);
        for kind in ["bw", "clat", "iops", "lat", "slat"] {
            let name = format!("random-read-depth-1_{kind}.1.log");
            assert_eq!(causes.iter().map(|cause| cause.matches(&name).count()).sum::<usize>(), 1);
        }
        let reason = if one_was_read {
            "hold writes, and the job had none"
        } else {
            "hold 23727260 of 1825759232 bytes"
        };
        assert!(left_out[0].contains(reason), "{left_out:?}");
        // Each kind contradicts by itself, but for the time that issuing took, which is alike in any run.
        for log in logs.iter().filter(|log| one_was_read || !log.file.contains("_slat")) {
            let pair = [log.clone(), all.last().unwrap().clone()];
            let result = &read(&pair).unwrap()[0];
            assert_eq!(caveats(result, "logs_of_another_run").len(), 1, "{}", log.file);
            assert!(result.series.is_none());
        }
    }
}

/// A run of `rw` for 60 s that ended in the second `ended`.
fn run(name: &str, rw: &str, ended: u64, iops: f64) -> Text {
    let way = if rw.contains("read") { "read" } else { "write" };
    let bytes = (iops * 60.0 * 4096.0) as u64;
    Text {
        file: format!("{name}.json"),
        text: format!(
            r#"{{"fio version":"fio-3.33","timestamp":{ended},"jobs":[{{"jobname":"x","groupid":0,"elapsed":61,
            "job options":{{"rw":"{rw}","bs":"4k","size":"1g","randrepeat":"0","write_bw_log":"x"}},"error":0,
            "{way}":{{"io_bytes":{bytes},"bw_bytes":{},"iops":{iops},"runtime":60000,"total_ios":{}}}}}]}}"#,
            bytes / 60,
            bytes / 4096
        ),
    }
}

// Breaks when two tests, or two drives at once, are taken for rounds of one.
#[test]
fn only_runs_of_one_job_one_after_the_other_are_rounds() {
    let count = |texts: &[Text]| rounds(read(texts).unwrap()).len();
    let at = |n: u64, rw: &str, every: u64| run(&format!("{rw}{n}"), rw, 1_000 + every * n, 100.0);
    let some = |n: u64, rw: &str, every| (0..n).map(|n| at(n, rw, every)).collect::<Vec<_>>();
    assert_eq!(count(&some(5, "randwrite", 65)), 1);
    assert_eq!(count(&some(2, "randwrite", 65)), 2);
    // They began while the one before was running.
    assert_eq!(count(&some(5, "randwrite", 30)), 5);
    let mut mixed = some(5, "randwrite", 65);
    mixed.extend(some(4, "randread", 65));
    let results = rounds(read(&mixed).unwrap());
    assert_eq!(results.len(), 2);
    // Jobs that draw other addresses each time get no warning.
    assert!(results.iter().all(|result| caveats(result, "each_round_the_same").is_empty()));
    mixed.reverse();
    let values = |results: &[Recorded]| results[0].rounds.as_ref().unwrap().values.len();
    assert_eq!((values(&results), values(&rounds(read(&mixed).unwrap()))), (5, 4));
}

// Breaks when a run's own log is left out, because it is a little short or the rate moved, or when a longer run's is taken.
#[test]
fn a_runs_own_log_stays() {
    let log = |seconds: u64, kib: f64| {
        let line = |s: u64| {
            format!("{}, {}, 1, 0, 0\n", s * 1000, kib * (1.5 - s as f64 / seconds as f64))
        };
        Text { file: "x_bw.1.log".to_owned(), text: (1..=seconds).map(line).collect() }
    };
    let left_out = |log: Text| {
        let results = read(&[run("a", "randwrite", 1_000, 100.0), log]).unwrap();
        !caveats(&results[0], "logs_of_another_run").is_empty()
    };
    assert!(!left_out(log(60, 400.0)) && !left_out(log(59, 380.0)) && !left_out(log(40, 390.0)));
    assert!(left_out(log(60, 100.0)) && left_out(log(60, 900.0)) && left_out(log(120, 200.0)));
    // A part of the run, slower than all of it, may be its beginning.
    assert!(!left_out(log(20, 150.0)));
}
