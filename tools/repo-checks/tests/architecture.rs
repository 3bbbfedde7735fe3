//! The arrows between rooms. A room that uses one it may not know makes this fail, whatever the
//! documents say; and the documents cannot say other than the manifests.

use std::collections::BTreeSet;
use std::fs;

use drivescope_repo_checks::circles;
use drivescope_repo_checks::documents::{rooms_table, with_table};
use drivescope_repo_checks::repository::{root, sources};
use drivescope_repo_checks::rooms::rooms;

/// What each room may use. To add an arrow here is to change the architecture.
const ALLOWED: [(&str, &[&str]); 18] = [
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
    ("serve", &["sim", "block"]),
    ("record", &["block", "workload"]),
    ("report", &["block", "stats", "record"]),
    (
        "views",
        &[
            "block",
            "documents",
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
        "cli",
        &[
            "block",
            "stats",
            "workload",
            "engine",
            "documents",
            "drives",
            "mark",
            "pts",
            "probe",
            "trace",
            "sim",
            "linux",
            "serve",
            "record",
            "report",
            "survey",
            "views",
        ],
    ),
];

#[test]
fn no_room_uses_one_that_it_may_not_know() {
    for (name, room) in rooms().unwrap() {
        if room.is_tool {
            continue;
        }
        let allowed = ALLOWED.iter().find(|(room, _)| *room == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("crates/{name} has no arrows"));
        let allowed: BTreeSet<String> = allowed.iter().map(|n| (*n).to_owned()).collect();
        let beyond: Vec<_> = room.uses.difference(&allowed).collect();
        assert!(beyond.is_empty(), "crates/{name} may not use {beyond:?}");
    }
}

#[test]
fn the_product_depends_on_nothing_outside_it() {
    let rooms = rooms().unwrap();
    assert!(
        rooms["cli"].uses.contains("block") && rooms["validate"].is_tool && !rooms["cli"].is_tool
    );
    for (name, room) in rooms.iter().filter(|(_, room)| !room.is_tool) {
        let tools = room.uses.union(&room.tests_use).filter(|used| rooms[*used].is_tool);
        assert_eq!(tools.count(), 0, "crates/{name} uses a tool: {room:?}");
    }
}

#[test]
fn the_table_of_rooms_is_that_of_the_manifests() {
    let document = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let renewed = with_table(&document, &rooms_table(&rooms().unwrap())).unwrap();
    assert!(
        document == renewed,
        "ARCHITECTURE.md is not what the manifests say: run scripts/renew"
    );
}

#[test]
fn a_reader_is_told_where_to_start_in_every_room() {
    let document = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (name, _) in ALLOWED {
        let place = format!("`crates/{name}/src/");
        assert!(document.contains(&place), "ARCHITECTURE.md names no file of crates/{name}");
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
