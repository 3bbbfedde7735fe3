//! The arrows between crates. A crate that uses one it may not know makes this fail, whatever the
//! documents say; and the documents cannot say other than the manifests.

use std::collections::BTreeSet;
use std::fs;

use drivescope_repo_checks::circles;
use drivescope_repo_checks::documents::{crates_table, with_table};
use drivescope_repo_checks::packages::packages;
use drivescope_repo_checks::repository::{root, sources};

/// Crates that each crate may use. To add an arrow here is to change the architecture.
const ALLOWED: [(&str, &[&str]); 26] = [
    ("block", &[]),
    ("stats", &[]),
    ("workload", &["block"]),
    ("engine", &["block", "workload", "stats"]),
    ("mark", &["block", "workload", "engine", "stats"]),
    ("pts", &["block", "workload", "engine", "stats"]),
    ("probe", &["block", "workload", "engine", "stats"]),
    ("trace", &["block", "workload", "engine", "stats"]),
    ("survey", &["block", "stats", "mark", "probe", "pts"]),
    ("sim", &["block", "stats"]),
    ("linux", &["block"]),
    ("drives", &["block", "engine", "linux", "sim"]),
    (
        "documents",
        &["block", "linux", "mark", "probe", "pts", "record", "stats", "survey", "trace"],
    ),
    ("manual", &["block", "drives", "linux", "mark", "record", "sim", "trace"]),
    ("serve", &["sim", "block"]),
    ("record", &["block", "workload"]),
    ("formats", &["block", "stats"]),
    ("report", &["block", "stats", "record"]),
    (
        "bench",
        &[
            "block",
            "documents",
            "drives",
            "engine",
            "linux",
            "mark",
            "probe",
            "record",
            "runner",
            "trace",
            "workload",
        ],
    ),
    (
        "instruments",
        &[
            "bench",
            "block",
            "documents",
            "drives",
            "engine",
            "linux",
            "live",
            "mark",
            "probe",
            "pts",
            "record",
            "report",
            "runner",
            "sim",
            "stats",
            "views",
            "workload",
        ],
    ),
    ("live", &["block", "drives", "linux", "mark", "pts", "report", "runner", "stats", "views"]),
    ("runner", &["block", "documents", "linux", "record", "report"]),
    (
        "views",
        &[
            "block",
            "documents",
            "formats",
            "linux",
            "mark",
            "probe",
            "pts",
            "record",
            "report",
            "stats",
            "survey",
            "trace",
            "workload",
        ],
    ),
    (
        "diskspd_cli",
        &[
            "bench", "block", "drives", "engine", "formats", "linux", "live", "mark", "record",
            "runner", "stats", "views", "workload",
        ],
    ),
    (
        "replay",
        &[
            "bench",
            "block",
            "documents",
            "drives",
            "engine",
            "linux",
            "live",
            "mark",
            "record",
            "report",
            "runner",
            "stats",
            "trace",
            "views",
            "workload",
        ],
    ),
    (
        "cli",
        &[
            "bench",
            "diskspd_cli",
            "instruments",
            "live",
            "replay",
            "block",
            "stats",
            "workload",
            "engine",
            "documents",
            "drives",
            "formats",
            "manual",
            "mark",
            "pts",
            "probe",
            "trace",
            "sim",
            "linux",
            "serve",
            "record",
            "report",
            "runner",
            "survey",
            "views",
        ],
    ),
];

#[test]
fn no_crate_uses_one_that_it_may_not_know() {
    for (name, package) in packages().unwrap() {
        if package.is_tool {
            continue;
        }
        let allowed = ALLOWED.iter().find(|(package, _)| *package == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("crates/{name} has no arrows"));
        let allowed: BTreeSet<String> = allowed.iter().map(|n| (*n).to_owned()).collect();
        let beyond: Vec<_> = package.uses.difference(&allowed).collect();
        assert!(beyond.is_empty(), "crates/{name} may not use {beyond:?}");
    }
}

#[test]
fn the_product_depends_on_nothing_outside_it() {
    let packages = packages().unwrap();
    assert!(
        packages["cli"].uses.contains("block")
            && packages["validate"].is_tool
            && !packages["cli"].is_tool
    );
    for (name, package) in packages.iter().filter(|(_, package)| !package.is_tool) {
        let tools = package.uses.union(&package.tests_use).filter(|used| packages[*used].is_tool);
        assert_eq!(tools.count(), 0, "crates/{name} uses a tool: {package:?}");
    }
}

#[test]
fn the_table_of_crates_is_that_of_the_manifests() {
    let document = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let renewed = with_table(&document, &crates_table(&packages().unwrap())).unwrap();
    assert!(
        document == renewed,
        "ARCHITECTURE.md is not what the manifests say: run scripts/renew"
    );
}

/// A reader starts at a crate's front page, which says what lies where.
#[test]
fn every_crate_has_a_front_page() {
    for (name, _) in ALLOWED {
        let src = root().join("crates").join(name).join("src");
        let front =
            ["lib.rs", "main.rs"].map(|file| src.join(file)).into_iter().find(|file| file.exists());
        let text = fs::read_to_string(front.unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        let names = lines.iter().filter(|line| line.contains('`')).count();
        assert!(lines.len() >= 4 && names >= 2, "crates/{name}: its front page names no files");
    }
}

/// Circles that are left are in the table of ARCHITECTURE.md with a reason; the rows to write are in the failure.
#[test]
fn no_circle_of_files_is_in_a_crate_but_those_that_are_listed() {
    let document = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let listed = circles::listed(&document).unwrap();
    let faults = circles::faults(&circles::circles(&sources().unwrap()), &listed);
    assert!(faults.is_empty(), "ARCHITECTURE.md:\n{}", faults.join("\n"));
}
