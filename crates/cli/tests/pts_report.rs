//! The report of enterprise tests: the pages that the specification asks for, in a file that needs nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::collections::BTreeSet;
use std::fs;

use common::{Ran, run};
use tempfile::TempDir;

/// A report is to be sent by mail, and kept with thousands of others.
const BYTES_MAX: usize = 1_000_000;

/// The report of `pts VERB` on a small virtual drive, with what was printed.
fn reported(verb: &str, query: &str, flags: &[&str]) -> (String, Ran) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("report.html");
    let report = format!("--report={}", path.display());
    let drive = format!("sim:enterprise-28op?capacity=512MiB{query}");
    let line = ["pts", verb, &drive, "--seed=7", &report];
    let ran = run([&line[..], &["--no-progress"], flags].concat());
    (fs::read_to_string(path).unwrap_or_else(|e| panic!("{e}: {ran:?}")), ran)
}

/// The pages of a report, each as its markup.
fn pages(html: &str) -> Vec<&str> {
    html.split("<section class=\"page\"").skip(1).collect()
}

fn title(page: &str) -> &str {
    let from = page.find("<h1").unwrap();
    let (_, rest) = page[from..].split_once('>').unwrap();
    rest.split("</h1>").next().unwrap()
}

/// Fields required in every page's header, as the notes on the specification list them.
const HEADER: [&str; 24] = [
    "Started",
    "Ended",
    "Specification",
    "Vendor",
    "Model",
    "Serial number",
    "Firmware",
    "Capacity",
    "Interface",
    "CPU",
    "RAM",
    "OS",
    "Software",
    "Data pattern",
    "ActiveRange",
    "Purge",
    "PC 1 (WIPC)",
    "PC 2 (WDPC)",
    "Write cache",
    "Stimulus",
    "TC / QD",
    "SS rounds",
    "A minute is",
    "Seed",
];

/// Of each test of the specification, words of the titles of its pages and how many charts they have together.
const WANTED: [(&str, &[&str], usize); 8] = [
    ("IOPS", &["P1: ", "P2 and P3", "P4: ", "P5: "], 3),
    (
        "Throughput",
        &["SEQ 1024 KiB reads", "SEQ 128 KiB reads", "SEQ 1024 KiB 0/100", "by block size"],
        5,
    ),
    ("Latency", &["mean response time", "greatest response time", "by block size", "Histogram"], 5),
    ("Write saturation (WSAT)", &["IOPS by time", "gigabytes", "Response times", "Histogram"], 7),
    ("Host idle recovery (HIR)", &["Preconditioning", "Steady-state window", "all pauses"], 4),
    ("Cross stimulus recovery (XSR)", &["all groups", "G1 to G2", "Response times"], 4),
    (
        "Enterprise composite (CBW)",
        &[
            "Preconditioning",
            "window: preconditioning",
            "between rounds",
            "window: demand variation",
            "Demand variation",
            "Demand intensity",
            "CPU",
            "outstanding",
            "before MAX",
            "Confidence",
            "MAX: ",
            "MID: ",
            "MIN: ",
        ],
        14,
    ),
    (
        "Demand intensity (DIRTH)",
        &["Preconditioning", "Demand variation: ", "Demand intensity: ", "MAX: ", "MID: ", "MIN: "],
        14,
    ),
];

/// Breaks when a page that the specification asks for is missing, has lost its header, its number, or its charts.
#[test]
fn all_pages_of_the_specification_are_there() {
    let (html, ran) = reported("all", "", &["--minute=1ms", "--rounds-max=5"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    assert!(html.len() < BYTES_MAX, "{} bytes", html.len());
    let pages = pages(&html);
    for (at, page) in pages.iter().enumerate() {
        let number = format!("page {} of {}", at + 1, pages.len());
        assert!(page.contains(&number), "{number}: {}", title(page));
        assert!(page.contains("drivescope Enterprise 28OP"), "{}: of which drive?", title(page));
        assert!(page.contains("NOT CONFORMING"), "{}: a minute was 1 ms", title(page));
        let wanted = if at == 0 { &HEADER[..13] } else { &HEADER[..] };
        for name in wanted {
            assert!(page.contains(&format!("<dt>{name}</dt>")), "{}: {name}", title(page));
        }
    }
    for (test, titles, charts) in WANTED {
        let part = format!("<span>{test}</span>");
        let of: Vec<&str> = pages.iter().copied().filter(|page| page.contains(&part)).collect();
        for wanted in titles {
            assert!(of.iter().any(|page| title(page).contains(wanted)), "{test}: {wanted}");
        }
        let drawn: usize = of.iter().map(|page| page.matches("<svg ").count()).sum();
        assert!(drawn >= charts, "{test}: {drawn} charts of {charts}");
    }
    let cover = pages[0];
    for words in ["Conclusions of all tests", "a minute is 0.001 s long", "by bytes", "fio"] {
        assert!(cover.contains(words), "{words}");
    }
}

/// Breaks when a page asks for something that is not in it, runs another script than ours, or names of its parts are not
/// unique: a screen reader would describe one chart with another's words.
#[test]
fn a_report_needs_nothing_and_runs_our_script_alone() {
    let (html, ran) = reported("iops", "", &["--minute=1ms", "--rounds-max=5"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    let (before, rest) = html.split_once("<script>").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    assert!(html.contains("script-src 'sha256-") && before.contains(" data-plot="));
    let bare = format!("{before}{after}").replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for forbidden in
        ["<script", "http:", "https:", "<link", "<img", "@import", "url(", " on", "javascript:"]
    {
        let found = match forbidden {
            // Attributes that run something begin so.
            " on" => bare.contains(" onload=") || bare.contains(" onclick="),
            _ => bare.contains(forbidden),
        };
        assert!(!found, "{forbidden}");
    }
    assert!(bare.contains("prefers-color-scheme:dark") && bare.contains("@page"));
    let ids: Vec<&str> =
        bare.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len());
    for label in bare.split("aria-labelledby=\"").skip(1) {
        for id in label.split('"').next().unwrap().split(' ') {
            assert!(unique.contains(id), "{id}");
        }
    }
    // Each colour that a chart names is defined, for light and for dark.
    for name in bare.split("=\"var(").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        assert_eq!(bare.matches(&format!("{name}:#")).count(), 2, "{name}");
    }
}

/// Breaks when a run that is broken off leaves no report, or one that passes for whole.
#[test]
fn a_run_that_is_broken_off_is_reported_as_such() {
    let (html, ran) = reported("wsat", "&faults.vanish_at_ns=1000000000", &["--minute=2ms"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(html.contains("INCOMPLETE"), "{}", ran.stderr);
    assert!(html.contains("broken off"));
}
