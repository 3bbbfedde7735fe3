//! The index is a cache: whatever happens to it, a list shows what the directories contain.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common;
use crate::common::faults::{Fault, Faulty};
use crate::common::memory::Memory;
use crate::common::{document, head, id, step, summary};
use drivescope_record::{Files, Row, Runs, State};
use rusqlite::Connection;
use serde_json::Value;

fn ended<F: Files>(runs: &Runs<F>, n: u32) {
    let mut writer = runs.create(&head(n, None)).unwrap();
    writer.step(&step(0)).unwrap();
    writer.finish(&document(n), State::Finished, &summary()).unwrap();
}

fn three() -> (tempfile::TempDir, Runs, PathBuf, Vec<Row>) {
    let dir = tempfile::tempdir().unwrap();
    let runs = Runs::at(dir.path());
    (1..=3).for_each(|n| ended(&runs, n));
    let index = dir.path().join("index.sqlite");
    let rows = runs.list().unwrap().runs;
    (dir, runs, index, rows)
}

#[test]
fn a_list_has_the_newest_first_and_all_that_it_needs() {
    let (_dir, runs, _, rows) = three();
    assert_eq!(rows.iter().map(|r| r.id.clone()).collect::<Vec<_>>(), [id(3), id(2), id(1)]);
    let row = &rows[2];
    let texts =
        [&row.date, &row.verb, &row.target, &row.drive, &row.host, &row.kernel, &row.version];
    let expected = ["2023-11-14T22:13:21Z", "mark", "sim:usb", "usb-8m", "host", "6.1.0", "0.1.0"];
    assert_eq!(texts, expected);
    assert_eq!((row.state, row.live), (State::Finished, false));
    assert_eq!((row.steps_done, row.steps_known), (1, Some(5)));
    assert_eq!(row.headline, "read 30 MB/s");
    let files = fs::read_dir(runs.dir().join(row.id.as_str())).unwrap();
    let bytes: u64 = files.map(|f| f.unwrap().metadata().unwrap().len()).sum();
    assert_eq!(row.bytes.0, bytes);
}

#[test]
fn whatever_is_wrong_with_the_index_is_put_right() {
    let (_dir, runs, index, rows) = three();
    let good = fs::read(&index).unwrap();
    let change = |sql: &str| {
        fs::write(&index, &good).unwrap();
        Connection::open(&index).unwrap().execute_batch(sql).unwrap();
    };
    let spoil: [(&str, &dyn Fn()); 10] = [
        ("missing", &|| fs::remove_file(&index).unwrap()),
        ("empty", &|| fs::write(&index, "").unwrap()),
        ("no database", &|| fs::write(&index, "SQLite format 3\0 but not really").unwrap()),
        ("cut", &|| fs::write(&index, &good[..good.len() / 2]).unwrap()),
        ("zeros", &|| {
            fs::write(&index, [&good[..4096], &vec![0; good.len() - 4096]].concat()).unwrap()
        }),
        ("other version", &|| change("PRAGMA user_version = 1; UPDATE runs SET headline = 'x'")),
        ("other table", &|| change("DROP TABLE runs; CREATE TABLE runs (id TEXT)")),
        ("row gone", &|| change("DELETE FROM runs WHERE rowid = 2")),
        ("path for an id", &|| change("UPDATE runs SET id = '../x' WHERE rowid = 1")),
        ("nonsense", &|| change("UPDATE runs SET state = 'odd', steps_done = -1 WHERE id > '202'")),
    ];
    for (what, spoil) in spoil {
        spoil();
        assert_eq!(runs.list().unwrap().runs, rows, "{what}");
        // And it was written again: what it says now is what a list says.
        let db = Connection::open(&index).unwrap();
        let count: u32 = db.query_row("SELECT count(*) FROM runs", [], |r| r.get(0)).unwrap();
        assert_eq!(count, 3, "{what}");
    }
    assert_eq!(runs.reindex().unwrap(), 3);
    assert_eq!(runs.list().unwrap().runs, rows);
}

#[test]
fn flipped_bytes_in_the_index_never_hurt() {
    let (_dir, runs, index, rows) = three();
    let good = fs::read(&index).unwrap();
    let mut dice = common::memory::Dice(5);
    for _ in 0..150 {
        let mut bad = good.clone();
        // The first page and the rows, where there is something to break.
        let at = if dice.below(2) == 0 { dice.below(100) } else { dice.below(bad.len()) };
        bad[at] ^= 1 << dice.below(8);
        fs::write(&index, &bad).unwrap();
        let listed = runs.list().unwrap();
        let ids = |rows: &[Row]| rows.iter().map(|r| r.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&listed.runs), ids(&rows), "byte {at}");
    }
}

#[test]
fn a_list_reads_no_journal_of_a_run_that_ended() {
    // Thousands of runs, each with a journal of 100 MiB, are listed at a glance.
    let memory = Memory::new();
    let runs = Runs::with(memory.clone(), "/runs");
    ended(&runs, 1);
    let before = runs.list().unwrap();
    let path = runs.dir().join(id(1).as_str()).join("journal.jsonl");
    let length = common::bytes(&memory, &path).len();
    memory.overwrite(&path, &vec![0; length]);
    assert!(runs.load(&id(1)).is_err());
    assert_eq!(runs.list().unwrap(), before);
    // One of another length is not the one that it ended with; no reading is needed to see that.
    memory.overwrite(&path, &vec![0; length - 1]);
    let listing = runs.list().unwrap();
    assert_eq!((listing.runs.len(), listing.unreadable.len()), (0, 1));
    assert!(listing.unreadable[0].1.contains("bytes, and the run ended with"), "{listing:?}");
}

#[test]
fn an_end_of_the_time_before_it_had_counts_is_listed() {
    let memory = Memory::new();
    let runs = Runs::with(memory.clone(), "/runs");
    ended(&runs, 1);
    let before = runs.list().unwrap().runs;
    let path = runs.dir().join(id(1).as_str()).join("end.json");
    let mut end: Value = serde_json::from_slice(&common::bytes(&memory, &path)).unwrap();
    for later in ["journal_bytes", "steps_done"] {
        assert!(end.as_object_mut().unwrap().remove(later).is_some());
    }
    memory.overwrite(&path, end.to_string().as_bytes());
    let row = runs.list().unwrap().runs.remove(0);
    assert_eq!((row.steps_done, row.state), (before[0].steps_done, before[0].state));
    assert_eq!(runs.load(&id(1)).unwrap().steps, [step(0)]);
}

#[test]
fn an_index_that_cannot_be_written_is_done_without() {
    let memory = Memory::new();
    let runs = Runs::with(memory.clone(), "/runs");
    (1..=3).for_each(|n| ended(&runs, n));
    let rows = runs.list().unwrap();
    memory.remove_file(Path::new("/runs/index.sqlite")).unwrap();
    let full = Runs::with(Faulty::new(memory.clone(), 0, Fault::Full), "/runs");
    assert_eq!(full.list().unwrap(), rows);
    assert!(full.reindex().is_err(), "who asks for an index is told that there is none");
    assert!(memory.stat(Path::new("/runs/index.sqlite")).is_err());
    assert!(memory.stat(Path::new("/runs/.index.sqlite.part")).is_err(), "half an index is left");
}

#[test]
fn what_changed_behind_the_index_is_read_again_and_nothing_else() {
    let memory = Memory::new();
    let runs = Runs::with(memory.clone(), "/runs");
    (1..=20).for_each(|n| ended(&runs, n));
    runs.list().unwrap();
    let operations = || {
        let counted = Faulty::new(memory.clone(), u64::MAX, Fault::Die);
        let listing = Runs::with(counted.clone(), "/runs").list().unwrap();
        assert_eq!((listing.runs.len(), listing.unreadable.len()), (20, 0));
        counted.count()
    };
    let still = operations();
    assert!(still <= 20 * 6, "{still} operations for a list of which nothing changed");
    let (mut writer, _) = {
        let mut writer = runs.create(&head(21, None)).unwrap();
        writer.step(&step(0)).unwrap();
        drop(writer);
        runs.remove(&id(20)).unwrap();
        runs.resume(&id(21)).unwrap()
    };
    writer.step(&step(1)).unwrap();
    let after = operations();
    assert!(after > still && after < still + 60, "{after} operations when one run is new");
    writer.step(&step(2)).unwrap();
    let row = runs.list().unwrap().runs.remove(0);
    assert_eq!((row.id, row.steps_done, row.live), (id(21), 3, true));
    assert_eq!((row.verb.as_str(), row.target.as_str()), ("mark", "sim:usb"), "before its end");
}
