//! Directories of runs as others may leave them: other things in the place of files, files that no run writes, a clock that
//! was wrong, a directory that goes.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::common::{document, head, id, rows, step, summary};
use drivescope_record::{Integrity, RecordError, RunId, Runs, SamplesFormat, State};

fn runs() -> (tempfile::TempDir, Runs) {
    let dir = tempfile::tempdir().unwrap();
    let runs = Runs::at(dir.path().join("runs"));
    (dir, runs)
}

fn ended(runs: &Runs, n: u32) -> PathBuf {
    let mut writer = runs.create(&head(n, Some(SamplesFormat::Csv))).unwrap();
    writer.samples(0, &mut rows(0, 10)).unwrap();
    writer.step(&step(0)).unwrap();
    writer.finish(&document(n), State::Interrupted, &summary()).unwrap().dir
}

/// Files of an ended run, and whether each is read in whole.
const FILES: [(&str, bool); 11] = [
    ("record.json", true),
    ("plan.toml", true),
    ("envelope.json", true),
    ("setup.json", true),
    ("journal.jsonl", true),
    ("document.json", true),
    ("end.json", true),
    ("SHA256SUMS", true),
    ("series.csv", false),
    ("histograms.hlog", false),
    ("samples/0000.csv", false),
];

/// Puts something else in the place of a file.
fn replace(path: &Path, by: &str) {
    let kept = path.with_file_name("kept-aside");
    fs::rename(path, &kept).unwrap();
    let outside =
        path.ancestors().nth(if path.to_str().unwrap().contains("/samples/") { 4 } else { 3 });
    let outside = outside.unwrap().join("outside");
    fs::rename(&kept, &outside).unwrap();
    match by {
        "pipe" => {
            let (mode, kind) = (rustix::fs::Mode::RWXU, rustix::fs::FileType::Fifo);
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
        }
        "link" => symlink(&outside, path).unwrap(),
        "directory" => fs::create_dir(path).unwrap(),
        "socket" => drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
        _ => fs::File::create(path).unwrap().set_len(6 << 30).unwrap(),
    }
}

/// If it failed, a pipe in a directory that somebody sent would be waited for, a link lead to another's file, and a file of
/// holes fill the memory.
#[test]
fn what_is_no_file_of_a_record_is_neither_waited_for_nor_followed_nor_read() {
    for (name, in_whole) in FILES {
        for by in ["pipe", "link", "directory", "socket", "6 GiB of holes"] {
            if by == "6 GiB of holes" && !in_whole {
                continue;
            }
            let (_dir, runs) = runs();
            replace(&ended(&runs, 1).join(name), by);
            let what = format!("{by} for {name}");
            let loaded = runs.load(&id(1)).map(drop);
            assert_eq!(loaded.is_err(), in_whole && name != "SHA256SUMS", "{what}: {loaded:?}");
            let verified = runs.verify(&id(1));
            let is_reported = matches!(verified, Err(_) | Ok(Integrity::Altered(_)));
            assert!(is_reported, "{what}: {verified:?}");
            let _ = runs.list().unwrap();
            let exported = runs.export(&[id(1)], &mut Vec::new());
            assert!(exported.is_err(), "{what}: {exported:?}");
            let resumed = runs.resume(&id(1)).map(|_| ());
            assert!(resumed.is_err(), "{what}");
            runs.remove(&id(1)).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(matches!(runs.find("last"), Err(RecordError::NoRuns { .. })), "{what}");
            let outside = runs.dir().parent().unwrap().join("outside");
            assert!(outside.metadata().unwrap().len() > 0, "{what}: what it led to is there");
        }
    }
}

fn newest(runs: &Runs) -> Vec<RunId> {
    runs.list().unwrap().runs.into_iter().map(|row| row.id).collect()
}

/// If it failed, a run that was made with a wrong clock would be the last for years, and `runs rm last` remove another
/// than the user has just made.
#[test]
fn the_order_of_creation_decides_which_run_is_the_last() {
    let (_dir, runs) = runs();
    let future = 300_000_000;
    for n in [5, future, 6, 2] {
        ended(&runs, n);
    }
    let order = [id(2), id(6), id(future), id(5)];
    assert_eq!(runs.find("last").unwrap(), id(2));
    assert_eq!((newest(&runs), runs.ids().unwrap()), (order.to_vec(), order.to_vec()));
    runs.remove(&id(2)).unwrap();
    assert_eq!(runs.find("last").unwrap(), id(6));
    // Runs made before the order was kept are older than those made now, whatever their clock was.
    fs::remove_file(runs.dir().join(".order")).unwrap();
    assert_eq!(runs.find("last").unwrap(), id(future));
    ended(&runs, 7);
    assert_eq!(newest(&runs), [id(7), id(future), id(6), id(5)]);
    // Imported runs are sorted in by their time.
    let other = Runs::at(runs.dir().with_file_name("other"));
    (3..=4).for_each(|n| drop(ended(&other, n)));
    let archive = runs.dir().with_file_name("archive");
    other.export(&other.ids().unwrap(), &mut fs::File::create(&archive).unwrap()).unwrap();
    runs.import(&archive, &[]).unwrap();
    assert_eq!(runs.find("last").unwrap(), id(7));
    assert_eq!(newest(&runs), [id(7), id(future), id(6), id(5), id(4), id(3)]);
    // Whatever is in its place, a run is found.
    let order = runs.dir().join(".order");
    fs::write(&order, [0xff, 0, b'\n']).unwrap();
    assert_eq!(runs.find("last").unwrap(), id(future));
    fs::remove_file(&order).unwrap();
    fs::create_dir(&order).unwrap();
    assert_eq!(runs.find("last").unwrap(), id(future));
}

/// If it failed, what somebody put beside a record would go with it.
#[test]
fn removing_a_run_removes_what_a_run_writes_and_no_more() {
    let (_dir, runs) = runs();
    let dir = ended(&runs, 1);
    for name in ["notes.txt", "samples/mine.csv", ".hidden", "plan.toml.orig"] {
        fs::write(dir.join(name), name).unwrap();
    }
    fs::create_dir(dir.join("pictures")).unwrap();
    fs::write(dir.join("pictures/plan.toml"), "mine").unwrap();
    // Leftovers of a writer that died belong to the run.
    fs::write(dir.join(".document.json.part"), "half").unwrap();
    fs::write(dir.join("samples/.0007.csv.part"), "half").unwrap();
    let rest = runs.remove(&id(1)).unwrap().unwrap();
    assert_eq!(rest, runs.dir().join(format!("{}.rest", id(1))));
    let names = |dir: &Path| {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&rest), [".hidden", "notes.txt", "pictures", "plan.toml.orig", "samples"]);
    assert_eq!(names(&rest.join("samples")), ["mine.csv"]);
    assert_eq!(fs::read(rest.join("pictures/plan.toml")).unwrap(), b"mine");
    assert!(runs.list().unwrap().runs.is_empty() && runs.list().unwrap().unreadable.is_empty());
    // A second one of that name, and a later run, which clears up, leave both.
    let dir = ended(&runs, 1);
    fs::write(dir.join("notes.txt"), "again").unwrap();
    let second = runs.remove(&id(1)).unwrap().unwrap();
    ended(&runs, 2);
    assert_eq!(fs::read(rest.join("notes.txt")).unwrap(), b"notes.txt");
    assert_eq!(fs::read(second.join("notes.txt")).unwrap(), b"again");
    assert_eq!(runs.remove(&id(2)).unwrap(), None);
}

/// If it failed, other users of the machine could read what was measured, and of which drive.
#[test]
fn records_are_for_their_owner() {
    let (dir, runs) = runs();
    ended(&runs, 1);
    drop(runs.create(&head(2, None)).unwrap());
    let mut looked = 0;
    let mut dirs = vec![dir.path().join("runs")];
    while let Some(dir) = dirs.pop() {
        assert_eq!(dir.metadata().unwrap().mode() & 0o7777, 0o700, "{}", dir.display());
        for entry in fs::read_dir(&dir).unwrap().map(Result::unwrap) {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            if meta.is_dir() {
                dirs.push(path);
            } else {
                assert_eq!(meta.mode() & 0o7777, 0o600, "{}", path.display());
                looked += 1;
            }
        }
    }
    assert!(looked > 15, "only {looked} files");
}

/// If it failed, hours would be measured into files that no longer have a name, without an error.
#[test]
fn a_directory_that_goes_while_a_run_is_written_is_reported() {
    let (_dir, runs) = runs();
    let mut writer = runs.create(&head(1, None)).unwrap();
    writer.step(&step(0)).unwrap();
    fs::remove_dir_all(writer.dir()).unwrap();
    for error in [writer.step(&step(1)).unwrap_err(), writer.step(&step(2)).unwrap_err()] {
        let said = error.to_string();
        assert!(said.contains("somebody removed the run's directory"), "{said}");
    }
    assert!(writer.finish(&document(1), State::Finished, &summary()).is_err());
}
