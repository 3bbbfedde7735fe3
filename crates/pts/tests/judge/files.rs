//! Files that fio 3.33 made with its null engine.

use std::path::Path;

use drivescope_pts::judge::{
    Claim, Format, Judged, Known, LogPrefixes, Pattern, Quantity, Recorded, RuleName, Text,
    format_of, judge, log_prefixes, read,
};
use stats::Verdict;

fn texts(dir: &str, names: &[&str]) -> Vec<Text> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(dir);
    let text = |name: &&str| Text {
        file: (*name).to_owned(),
        text: std::fs::read_to_string(dir.join(name)).unwrap(),
    };
    names.iter().map(text).collect()
}

fn results(dir: &str, names: &[&str]) -> Vec<Recorded> {
    read(&texts(dir, names)).unwrap()
}

fn codes(result: &Recorded) -> Vec<&str> {
    result.caveats.iter().map(|caveat| caveat.code.as_str()).collect()
}

fn says(judged: &Judged, rule: RuleName) -> Verdict {
    judged.rules.iter().find(|says| says.rule == rule).unwrap().says.verdict
}

// Breaks when the block is not read, or fio's word is taken for the truth: a null engine has no state at all.
#[test]
fn fios_own_verdict_is_computed_anew_and_proves_nothing() {
    let read = results("steadystate", &["ss.json", "a_bw.1.log", "a_lat.1.log"]);
    assert_eq!(read.len(), 1);
    let result = &read[0];
    assert_eq!((result.written_bytes, result.range_bytes), (Some(4_751_360), Some(64 << 20)));
    let Some(Claim::Fio(state)) = &result.claim else { panic!("{result:?}") };
    assert!(state.attained && state.slope && state.percent);
    assert_eq!((state.limit, state.samples()), (5.0, &[400.0, 401.0, 399.0][..]));
    let judged = judge(result.clone(), &Known { range_is_drive: true, ..Known::default() });
    assert_eq!(says(&judged, RuleName::Fio), Verdict::Proven);
    assert_eq!(judged.steady.verdict, Verdict::Unprovable);
    assert!(codes(&judged.recorded).contains(&"no_drive"));
    assert!(codes(&judged.recorded).contains(&"tails_averaged"));
}

// Breaks when log and JSON count in different units: 1,024 or 1,000, KiB or bytes.
#[test]
fn a_log_holds_what_the_json_says_was_written() {
    for (dir, json, log) in
        [("steadystate", "ss.json", "a_bw.1.log"), ("per-io", "p.json", "p_iops.1.log")]
    {
        let read = results(dir, &[json, log]);
        let series = read[0].series.as_ref().unwrap();
        let (logged, written) = (series.written_bytes().unwrap(), read[0].written_bytes.unwrap());
        let windows = series.windows.iter().filter_map(|w| w.written_bytes).max().unwrap();
        assert!(
            logged <= written + windows && logged + 2 * windows >= written,
            "{dir}: {logged} {written}"
        );
        assert!(!codes(&read[0]).contains(&"logs_of_another_run"), "{dir}");
    }
}

// Breaks when the threads of one job are taken for those of the next: both would have wrong rates.
#[test]
fn threads_belong_to_their_jobs() {
    let logs = ["g.json", "g_bw.1.log", "g_bw.2.log", "g_bw.3.log", "g_bw.4.log"];
    let read = results("group", &logs);
    assert_eq!(read.iter().map(|result| result.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let (a, b) = (read[0].series.as_ref().unwrap(), read[1].series.as_ref().unwrap());
    assert_eq!((a.threads, b.threads), (3, 1));
    assert_eq!(a.quantity, Quantity::BytesPerSecond);
    // 3 x 400 writes a second; 300 reads and as many writes.
    for (series, iops) in [(a, 1200.0), (b, 600.0)] {
        let middle = series.windows[2].value / 4096.0;
        assert!((middle / iops - 1.0).abs() < 0.05, "{middle}");
    }
    // norandommap was on the command line, without a value; fio's JSON does not have it.
    assert_eq!(read[0].load.pattern, Pattern::Random);
    // They ran one after the other, but on files of their own.
    assert_eq!(read[1].before.written_bytes, 0);
}

// Breaks when a log of one thread passes for that of all.
#[test]
fn missing_threads_are_noticed() {
    let read = results("group", &["g.json", "g_bw.1.log"]);
    assert!(codes(&read[0]).contains(&"logs_incomplete"), "{:?}", codes(&read[0]));
}

// Breaks when logs that an earlier run left under the same name are taken for this one's.
#[test]
fn logs_of_another_run_are_left_out() {
    let mut texts = texts("steadystate", &["ss.json", "a_bw.1.log"]);
    texts[0].text = texts[0].text.replace("\"io_bytes\" : 4751360", "\"io_bytes\" : 1000000");
    let result = read(&texts).unwrap().remove(0);
    assert!(codes(&result).contains(&"logs_of_another_run"), "{:?}", codes(&result));
    assert!(!result.files.contains(&"a_bw.1.log".to_owned()));
}

#[test]
fn logs_alone_are_a_result_without_a_pattern() {
    let read = results("group", &["g_bw.1.log", "g_bw.2.log", "g_bw.3.log"]);
    assert_eq!((read.len(), read[0].format), (1, Format::FioLog));
    assert_eq!((read[0].name.as_str(), read[0].load.pattern), ("g", Pattern::Unknown));
    assert!(codes(&read[0]).contains(&"threads_added_up"));
}

// Breaks when what fio prints around its JSON hides it.
#[test]
fn json_is_found_among_other_text() {
    let read = results("mixed", &["mixed.txt"]);
    assert_eq!((read.len(), read[0].format), (1, Format::FioJson));
    let judged = judge(read[0].clone(), &Known::default());
    assert_eq!(judged.steady.verdict, Verdict::Unprovable);
}

// Breaks when the last of several documents is not the one that counts: with --status-interval each is of all since the
// job began.
#[test]
fn of_several_documents_the_last_counts() {
    let one = &texts("per-io", &["p.json"])[0].text;
    let first = one.replace("\"jobname\" : \"a\"", "\"jobname\" : \"earlier\"");
    let both = Text { file: "s.json".to_owned(), text: format!("{first}\n{one}") };
    assert_eq!(format_of(&both), Some(Format::FioJson));
    let read = read(&[both]).unwrap();
    assert_eq!((read.len(), read[0].name.as_str()), (1, "a"));
}

#[test]
fn logs_are_looked_for_under_the_names_that_fio_gave() {
    let text = &texts("group", &["g.json"])[0].text;
    let prefixes = log_prefixes(text);
    let all: Vec<_> = prefixes.told.union(&prefixes.made_up).collect();
    assert_eq!(all, ["g"]);
    assert_eq!(log_prefixes("no JSON"), LogPrefixes::default());
    // A job that names no log may have been asked for one without a name, which fio's JSON does not show.
    let with = |options: &str| {
        let job = format!("{{\"jobname\": \"y\", \"job options\": {options}}}");
        log_prefixes(&format!("{{\"fio version\": \"fio-3.33\", \"jobs\": [{job}]}}"))
    };
    let silent = with("{\"rw\": \"read\"}");
    assert!(silent.told.is_empty() && silent.made_up.contains("y"));
    assert!(with("{\"write_lat_log\": \"d/z\"}").told.contains("d/z"));
}

// Breaks when an error leaves out where it is.
#[test]
fn damage_is_named_with_its_line() {
    let mut text = texts("group", &["g.json"]).remove(0);
    let line = text.text.lines().position(|line| line.contains("\"groupid\"")).unwrap() + 1;
    text.text = text.text.replacen("\"groupid\" : 0", "\"groupid\" : oops", 1);
    let error = read(&[text]).unwrap_err();
    assert_eq!((error.file.as_str(), error.line), ("g.json", Some(line as u64)));
    let nobodys = Text { file: "x.bin".to_owned(), text: "hello".to_owned() };
    let error = read(&[nobodys]).unwrap_err();
    assert!(error.to_string().contains("x.bin") && error.line.is_none());
}

/// A job of fio's with these options, which wrote `written` bytes, and more in its block of writes.
fn job(version: &str, options: &str, written: u64, writes: &str, more: &str) -> Recorded {
    let text = format!(
        "{{\n\"fio version\" : \"{version}\",\n\"jobs\" : [ {{ \"jobname\" : \"j\", \"error\" : 0, \"job options\" : {options},\n\
         \"write\" : {{ \"io_bytes\" : {written}, \"iops\" : 100.0, \"total_ios\" : 9 {writes} }} {more} }} ] }}\n"
    );
    read(&[Text { file: "j.json".to_owned(), text }]).unwrap().remove(0)
}

// Breaks when a permutation that is written again and again passes for a preconditioning: on a drive with a log its
// write amplification is 1 for ever, and the series as flat as can be.
#[test]
fn a_replayed_permutation_is_never_accepted() {
    let options = r#"{ "rw" : "randwrite", "size" : "64m", "loops" : "20", "norandommap" : "0" }"#;
    let result = job("fio-3.33", options, 20 * (64 << 20), "", "");
    assert_eq!(result.load.pattern, Pattern::Replayed);
    let known = Known { range_is_drive: true, is_uniform: true, ..Known::default() };
    let judged = judge(result, &known);
    assert_eq!(judged.steady.verdict, Verdict::Refuted);
    assert!(codes(&judged.recorded).contains(&"replayed_permutation"));
}

fn steady_state(criterion: &str, duration_s: u64) -> String {
    format!(
        r#", "steadystate" : {{ "ss" : "{criterion}", "duration" : {duration_s}, "attained" : 1, "criterion" : "0%",
        "max_deviation" : 0.0, "slope" : 0.0, "data" : {{ "iops" : [], "bw" : [] }} }}"#
    )
}

// The windows from which fio 3.42 has any series pass, and 3.33 has not; both were run.
#[test]
fn the_slope_that_overflows_is_named() {
    let has = |version: &str, criterion: &str, duration_s: u64| {
        let result = job(
            version,
            r#"{ "rw" : "randwrite" }"#,
            4096,
            "",
            &steady_state(criterion, duration_s),
        );
        codes(&result).contains(&"slope_overflow")
    };
    assert!(has("fio-3.42", "iops_slope:0.01%", 1800));
    assert!(has("fio-3.36-12-gabcdef", "bw_slope:10", 1025));
    assert!(!has("fio-3.42", "iops_slope:0.01%", 1024));
    assert!(!has("fio-3.33", "iops_slope:0.01%", 1800));
    assert!(!has("fio-3.42", "iops:1%", 1800));
}

// 0.1% of a sample over 1,800 samples is a drift of 180%.
#[test]
fn a_slopes_limit_is_of_a_sample() {
    let result = job("fio-3.33", "{}", 4096, "", &steady_state("iops_slope:0.1%", 1800));
    let caveat = result.caveats.iter().find(|c| c.code == "slope_limit_is_a_sample").unwrap();
    assert!(caveat.cause.contains("180%"), "{}", caveat.cause);
    let result = job("fio-3.33", "{}", 4096, "", &steady_state("iops_slope:0.005%", 1800));
    assert!(!codes(&result).contains(&"slope_limit_is_a_sample"));
}

// fio#1668: all percentiles of a drive that hung say 17 s.
#[test]
fn a_clamped_histogram_is_named() {
    let of = |top: u64, max: u64| {
        let writes = format!(
            r#", "clat_ns" : {{ "max" : {max}, "percentile" : {{ "99.000000" : 1000, "99.990000" : {top} }} }}"#
        );
        let result = job("fio-3.33", "{}", 4096, &writes, "");
        codes(&result).contains(&"histogram_clamped")
    };
    assert!(of(17_112_760_320, 94_000_000_000));
    assert!(!of(17_112_760_320, 17_000_000_000));
    assert!(!of(900_000_000, 94_000_000_000));
}
