//! Reports of recorded runs: pages that need nothing else, pictures, tables, and plots for a terminal.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::recorded::{at, only};
use common::{Ran, run, runs_dir};
use serde_json::Value;
use tempfile::TempDir;

/// A report is to be sent by mail.
const BYTES_MAX: usize = 1_000_000;

/// Typical runs, by their names; small enough for a test and with all that a chart can show.
const MARK: &[&str] = &[
    "mark",
    "sim:sata-a",
    "--tests=SEQ1MQ8T1,RND4KQ32T1,RND4KQ1T1",
    "--duration=100ms",
    "--warm-up=10ms",
    "--pause=1ms",
];
const INSTRUMENTS: &[(&[&str], usize)] = &[
    (MARK, 9),
    (
        &[
            "sweep",
            "sim:hdd-7200",
            "--vary=depth=1,4,16",
            "--vary=block=4k,16k,64k",
            "--runs=2",
            "--duration=20ms",
            "--warm-up=0",
            "--pause=0",
        ],
        4,
    ),
    (&["probe", "sim:usb-8m"], 4),
    (&["pts", "wsat", "sim:enterprise-28op?capacity=512MiB", "--minute=50%"], 7),
    (&["trace", "replay", "docs/examples/shop.spc", "sim:sata-a"], 8),
];

/// Makes a run; its answer may be no.
fn made(line: &[&str]) -> Ran {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let place = |word: &&str| match word.starts_with("docs/") {
        true => format!("{root}{word}"),
        false => (*word).to_owned(),
    };
    let line: Vec<String> = line.iter().map(place).collect();
    let flags = ["--seed=7", "--no-progress"].map(str::to_owned);
    let ran = run(line.into_iter().chain(flags));
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    ran
}

/// The page of the last run, in a directory that goes with it.
fn page(dir: &Path, runs: &[&str]) -> String {
    let path = dir.join("page.html");
    let output = format!("--output={}", path.display());
    run([&["report"], runs, &[output.as_str(), "--force"]].concat()).exits(0);
    fs::read_to_string(path).unwrap()
}

fn names<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let begins = format!(" {attribute}=\"");
    html.split(&begins[..]).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// Breaks when an instrument's report lacks its charts or asks the network for something, when an axis has no label, or
/// when a plot is too large for the screen of a server.
#[test]
fn every_instrument_has_a_whole_page_and_plots_that_fit() {
    let dir = TempDir::new().unwrap();
    for (line, charts) in INSTRUMENTS {
        made(line);
        let html = page(dir.path(), &["last"]);
        assert!(html.matches("<figure ").count() >= *charts, "{line:?}");
        is_whole(&html, &line.join(" "));
        let body = run(["show", "last", "--json"]).exits(0).body();
        let plots = body["plots"].as_array().unwrap();
        assert!(plots.len() >= *charts, "{line:?}: {}", plots.len());
        plots.iter().for_each(axes_are_named);
        let shown = run(["show", "last"]).exits(0).stdout;
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        assert!(!shown.contains('\u{1b}'), "a pipe gets no colours: {shown}");
        // Each plot ends with how to see it alone, and a blank line precedes the next.
        let (_, drawn) = shown.split_once("\n\n").unwrap();
        let drawn: Vec<&str> = drawn.split("  --plot ").collect();
        for (plot, text) in plots.iter().zip(&drawn) {
            let x = plot["x"]["label"].as_str().unwrap();
            assert!(text.contains(x), "{x}: {text}");
        }
        for text in &drawn[1..plots.len()] {
            // Without the name that ends the one before, and the blank line after it.
            let lines = text.lines().count() - 2;
            assert!(lines <= 23, "{lines} lines: {text}");
        }
    }
}

/// Breaks when a page is too large to be sent, or has two parts of one name, so that a screen reader would describe one
/// chart with another's words.
fn is_whole(html: &str, of: &str) {
    assert!(html.len() < BYTES_MAX, "{of}: {} bytes", html.len());
    for words in ["How it was measured", "Begun", "Machine", "docs/method/"] {
        assert!(html.contains(words), "{of}: {words}");
    }
    let bare = html.replace("http://www.w3.org/2000/svg", "");
    for asks in ["http:", "https:", "<link", "<img", "@import", "url(", " onload=", " onclick="] {
        assert!(!bare.contains(asks), "{of}: {asks}");
    }
    assert_eq!(bare.matches("<script").count(), 1, "{of}: our own");
    let ids = names(html, "id");
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len(), "{of}");
    for label in names(html, "aria-labelledby").iter().flat_map(|ids| ids.split(' ')) {
        assert!(unique.contains(label), "{of}: {label}");
    }
    for link in html.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(unique.contains(link), "{of}: {link}");
    }
    assert_eq!(html.matches("<table").count(), html.matches("<caption>").count(), "{of}");
}

/// Asserts that axes are labelled, and that one without a unit shows a count, a ratio or a class.
fn axes_are_named(plot: &Value) {
    let axes = ["x", "y", "y2"].map(|axis| &plot[axis]).into_iter().filter(|a| !a.is_null());
    for axis in axes {
        let (label, unit) = (axis["label"].as_str().unwrap(), axis["unit"].as_str().unwrap());
        assert!(!label.is_empty(), "{plot}");
        let of_unit = ["Alignment", "Size", "Offset", "Address", "Time", "Latency", "Throughput"];
        let is_class = !axis["classes"].as_array().unwrap().is_empty();
        let has = !unit.is_empty() || is_class || !of_unit.iter().any(|of| label.starts_with(of));
        assert!(has, "{}: {label} has no unit", plot["name"]);
    }
}

/// Breaks when a terminal without colours is sent them, or one with colours gets none.
#[test]
fn colours_are_for_terminals_that_want_them() {
    made(&["probe", "align", "sim:usb-8m"]);
    let on_terminal = |colour: Option<&str>| {
        let line = format!("{} show last", env!("CARGO_BIN_EXE_drivescope"));
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env("DRIVESCOPE_RUNS_DIR", runs_dir());
        command.env("TERM", "xterm").env_remove("NO_COLOR");
        if let Some(value) = colour {
            command.env("NO_COLOR", value);
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(on_terminal(None).contains("\u{1b}[3"), "colours on a terminal");
    let plain = on_terminal(Some("1"));
    assert!(
        plain.contains("What crossing boundaries costs") && !plain.contains("\u{1b}[3"),
        "{plain}"
    );
}

/// Breaks when a result of last year is written over by a slip of the hand.
#[test]
fn a_file_that_exists_stays_unless_it_is_said() {
    made(&["probe", "align", "sim:usb-8m"]);
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("old.html");
    fs::write(&path, "old").unwrap();
    let output = format!("--output={}", path.display());
    run(["report", "last", &output]).fails(2, &["old.html: exists", "--force"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    run(["report", "last", &output, "--force"]).exits(0);
    assert!(fs::read_to_string(&path).unwrap().starts_with("<!DOCTYPE html>"));
    let text = run(["report", "last", "--markdown=-"]).exits(0).stdout;
    assert!(text.contains("| erase block | 8 MiB |") && text.contains("```text\n"), "{text}");
    run(["report", "no-such-run"]).fails(2, &["no-such-run"]);
    run(["show", "last", "--plot=nowhere"])
        .fails(2, &["nowhere", "what-crossing-boundaries-costs"]);
}

/// Breaks when a verb about a run wants it named although there is a last one, or does not say which one it took.
#[test]
fn without_a_run_the_last_one_is_taken() {
    let (runs, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let line = ["mark", "sim:hdd-wd", "--tests=RND4KQ1T1", "--runs=1", "--quick", "--read-only"];
    let printed = at(runs.path(), &line).stdout;
    assert!(printed.contains("n 1, R/Avg –, CV –, best"), "one run has no spread: {printed}");
    let id = only(runs.path()).id();
    let note = format!("the last run is {id}");
    let shown = at(runs.path(), &["show"]).exits(0).says(&[&note]).stdout;
    assert!(shown.starts_with(&printed), "{shown}");
    let page = format!("--output={}", other.path().join("page.html").display());
    at(runs.path(), &["report", &page]).exits(0).says(&[&note]).prints(&["page.html"]);
    at(other.path(), &["show"]).fails(2, &["holds no runs"]);
}

/// Breaks when a picture is none, or a table for other programs lacks what the chart shows.
#[test]
fn pictures_and_tables_hold_what_the_page_shows() {
    made(MARK);
    let dir = TempDir::new().unwrap();
    let flag = |name: &str| format!("--{name}={}", dir.path().join(name).display());
    let flags = [flag("png"), flag("svg"), flag("csv")];
    let line = ["report", "last", "--json", &flags[0], &flags[1], &flags[2]];
    let body = run(line).exits(0).body();
    let charts = body["charts"].as_u64().unwrap() as usize;
    let files = body["files"].as_array().unwrap();
    for file in files {
        let path = file["file"].as_str().unwrap();
        assert_eq!(fs::metadata(path).unwrap().len(), file["bytes"].as_u64().unwrap(), "{path}");
    }
    let of = |end: &str| -> Vec<&str> {
        let paths = files.iter().map(|file| file["file"].as_str().unwrap());
        paths.filter(|path| path.ends_with(end)).collect()
    };
    assert_eq!((of(".png").len(), of(".svg").len()), (charts, charts));
    assert!(of(".html").is_empty(), "only what was asked for");
    for path in of(".png") {
        assert!(fs::read(path).unwrap().starts_with(b"\x89PNG\r\n\x1a\n"), "{path}");
    }
    let shown = run(["show", "last", "--json"]).exits(0).body();
    for plot in shown["plots"].as_array().unwrap() {
        let name = format!("chart-{}.csv", plot["name"].as_str().unwrap());
        let path = of(".csv").into_iter().find(|path| path.ends_with(&name)).unwrap();
        let text = fs::read_to_string(path).unwrap();
        assert_eq!(text.lines().count() - 1, plot["values"].as_array().unwrap().len(), "{name}");
    }
    // The median of the table is the one that was measured.
    let document = run(["runs", "show", "last", "--json"]).json();
    let median = document["body"]["tests"][0]["mb_s"]["median"].as_f64().unwrap();
    let path =
        of(".csv").into_iter().find(|path| path.ends_with("chart-read-every-run.csv")).unwrap();
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(&format!("median,SEQ1M Q8T1,{median},")), "{text}");
}

/// Breaks when the index of several runs leads to the page of another one, or a record that was changed since passes for
/// what was measured.
#[test]
fn several_runs_have_an_index_and_an_altered_one_is_told() {
    made(&["probe", "align", "sim:usb-8m"]);
    made(&["pts", "wsat", "sim:enterprise-28op?capacity=512MiB", "--minute=1ms"]);
    let dir = TempDir::new().unwrap();
    let rows = run(["runs", "list", "--json"]).body();
    let ids: Vec<&str> =
        rows["runs"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
    let of = |verb: &str| {
        let row = rows["runs"]
            .as_array()
            .unwrap()
            .iter()
            .find(|r| r["verb"].as_str().unwrap().starts_with(verb));
        row.unwrap()["id"].as_str().unwrap()
    };
    assert_eq!(ids.len(), 2);
    let html = page(dir.path(), &[of("probe"), of("pts")]);
    let pages: Vec<&str> = html.split("<section class=\"page\"").skip(1).collect();
    assert!(pages[0].contains(">probe align: "), "it begins with a result");
    let (index, _) = pages[pages.len() - 1].split_once("</section>").unwrap();
    let led: Vec<usize> = index
        .split_once("Runs in this report")
        .unwrap()
        .1
        .split("href=\"#page-")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(led.len(), 2, "a page each");
    assert!(pages[led[0] - 1].contains(">probe align: "), "{}", &pages[led[0] - 1][..300]);
    assert!(pages[led[1] - 1].contains(">Conclusions: "), "{}", &pages[led[1] - 1][..300]);
    // The conclusions lead on to their own tests, behind all pages before.
    let on = pages[led[1] - 1].split("<td><a href=\"#page-").nth(1).unwrap();
    let on: usize = on.split('"').next().unwrap().parse().unwrap();
    assert!(on == led[1] + 1 && pages[on - 1].contains("IOPS by time"), "{on}");

    let document = runs_dir().join(of("probe")).join("document.json");
    let text = fs::read_to_string(&document).unwrap();
    fs::write(&document, text.replacen("\"n\": ", "\"n\":  ", 1) + " ").unwrap();
    let output = format!("--output={}", dir.path().join("altered.html").display());
    run(["report", of("probe"), &output]).exits(1).says(&["not those that were recorded"]);
    let html = fs::read_to_string(dir.path().join("altered.html")).unwrap();
    assert!(html.contains("altered since: document.json"), "the page says so itself");
}

/// Breaks when the browser obeys a name in a document that somebody else made.
#[test]
fn a_hostile_document_stays_words() {
    let dir = TempDir::new().unwrap();
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/shop.spc");
    let mut document: Value = run(["trace", "analyze", trace, "--json"]).exits(0).json();
    let hostile = "</script><script>alert(1)</script>\"' onload=alert(1)";
    document["body"]["trace"]["files"][0] = hostile.into();
    document["envelope"]["host"]["name"] = hostile.into();
    let path = dir.path().join("evil.json");
    fs::write(&path, document.to_string()).unwrap();
    let html = page(dir.path(), &[path.to_str().unwrap()]);
    assert_eq!(html.matches("<script").count(), 1, "our own alone");
    assert_eq!(html.matches("</script").count(), 1);
    assert!(html.matches("&lt;script&gt;alert(1)").count() > 5, "told as what it is");
}
