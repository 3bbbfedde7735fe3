//! A directory of runs on the real filesystem: what can be found, resumed, listed and removed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common;
use crate::common::faults::{Fault, Faulty};
use crate::common::memory::Memory;
use crate::common::{document, head, id, rows, step, summary};
use block::{Event, RunSink as _, UnixNanos};
use drivescope_record::{
    Head, Integrity, RecordError, RunId, RunWriter, Runs, SamplesFormat, Saved, State, default_dir,
};
use serde_json::{Value, json};

fn runs() -> (tempfile::TempDir, Runs) {
    let dir = tempfile::tempdir().unwrap();
    let runs = Runs::at(dir.path().join("data/runs"));
    (dir, runs)
}

/// A run of `steps` steps that ended so.
fn ended(runs: &Runs, n: u32, steps: u32, state: State) -> Saved {
    let mut writer = runs.create(&head(n, Some(SamplesFormat::Csv))).unwrap();
    for position in 0..steps {
        writer.samples(position, &mut rows(position, 10)).unwrap();
        writer.step(&step(position)).unwrap();
    }
    writer.finish(&document(n), state, &summary()).unwrap()
}

/// A run of `steps` steps whose maker died.
fn killed(runs: &Runs, n: u32, steps: u32) -> PathBuf {
    let mut writer = runs.create(&head(n, Some(SamplesFormat::Csv))).unwrap();
    (0..steps).for_each(|position| writer.step(&step(position)).unwrap());
    writer.dir().to_owned()
}

#[test]
fn what_was_recorded_is_read_back() {
    let (_dir, runs) = runs();
    let mut writer = runs.create(&head(1, Some(SamplesFormat::Csv))).unwrap();
    writer.note("drive", &json!({ "smart": [1, 0.1] })).unwrap();
    writer.event(&Event::StepStarted {
        position: 0,
        positions: 9,
        step: "s".into(),
        run: 0,
        planned: None,
    });
    writer.step(&step(0)).unwrap();
    let saved = writer.finish(&document(1), State::Broken, &summary()).unwrap();
    assert_eq!((saved.steps, saved.samples_lost, saved.index), (1, vec![], None));
    let run = runs.load(&id(1)).unwrap();
    assert_eq!(run.envelope, common::envelope(1));
    assert_eq!(run.plan, "seed = 7\n");
    assert_eq!(run.setup, head(1, None).setup);
    assert_eq!(run.steps, [step(0)]);
    assert_eq!(run.notes, [("drive".to_owned(), json!({ "smart": [1, 0.1] }))]);
    assert_eq!(run.document, Some(serde_json::to_value(document(1)).unwrap()));
    assert_eq!((run.state, run.steps_known), (State::Broken, Some(9)));
    assert_eq!((run.summary, run.torn_bytes), (summary(), 0));
    let on_disk = fs::read_to_string(run.dir.join("document.json")).unwrap();
    assert_eq!(on_disk, document(1).to_json().unwrap(), "the document is what --json prints");
}

// Breaks when `last` is what the user did not ask for: a survey ends with one of its parts.
#[test]
fn the_last_part_of_a_run_stands_for_the_run() {
    let (_dir, runs) = runs();
    let begin = |n: u32, whole: Option<u32>| {
        let mut head = head(n, None);
        if let Some(whole) = whole {
            head.setup["part_of"] = id(whole).as_str().into();
        }
        drop(runs.create(&head).unwrap());
    };
    begin(1, None);
    begin(2, Some(1));
    begin(3, Some(1));
    assert_eq!(runs.find("last").unwrap(), id(1));
    assert_eq!(runs.find(id(3).as_str()).unwrap(), id(3));
    runs.remove(&id(1)).unwrap();
    assert_eq!(runs.find("last").unwrap(), id(3), "what it was a part of is gone");
    begin(4, None);
    assert_eq!(runs.find("last").unwrap(), id(4));
}

#[test]
fn a_schedule_without_an_end_has_no_count() {
    // "1078 of 1079 steps" of a run that had no 1079th: what is known of such a schedule is what was done.
    let (_dir, runs) = runs();
    let mut writer = runs.create(&Head { steps: None, ..head(1, None) }).unwrap();
    for position in 0..2 {
        writer.event(&Event::StepStarted {
            position,
            positions: position + 1,
            step: "s".into(),
            run: position,
            planned: None,
        });
        writer.step(&step(position)).unwrap();
    }
    writer.finish(&document(1), State::Interrupted, &summary()).unwrap();
    assert_eq!(runs.load(&id(1)).unwrap().steps_known, None);
    let row = runs.list().unwrap().runs.remove(0);
    assert_eq!((row.steps_done, row.steps_known), (2, None));
}

#[test]
fn a_run_is_called_by_its_id_its_beginning_or_last() {
    let (_dir, runs) = runs();
    let error = runs.find("last").unwrap_err();
    assert!(matches!(error, RecordError::NoRuns { .. }), "{error}");
    for n in [1, 3, 70_000] {
        killed(&runs, n, 0);
    }
    assert_eq!(runs.find("last").unwrap(), id(70_000));
    assert_eq!(runs.find(id(1).as_str()).unwrap(), id(1));
    assert_eq!(runs.find("20231115").unwrap(), id(70_000));
    let error = runs.find("20231114").unwrap_err().to_string();
    assert!(error.contains(&format!("{}, {}", id(3), id(1))), "{error}");
    for name in ["", "x", "../data"] {
        let error = runs.find(name).unwrap_err().to_string();
        assert!(error.contains(id(70_000).as_str()), "{name}: {error}");
    }
    let error = runs.load(&id(2)).unwrap_err();
    assert!(matches!(error, RecordError::Unknown { .. }), "{error}");
}

#[test]
fn runs_of_one_second_keep_their_order() {
    // After making one run after the other, a user means the second one by `last`, whatever chance put
    // into their names; a rerun or a resume of the other would be of the wrong run.
    let (_dir, runs) = runs();
    let named = |nonce: u64| RunId::new(UnixNanos(1_700_000_000 * 1_000_000_000), nonce);
    let begin = |nonce: u64, begun_ns: i128| {
        let mut head = head(0, None);
        head.envelope.run_id = named(nonce);
        head.begun = UnixNanos(1_700_000_000 * 1_000_000_000 + begun_ns);
        drop(runs.create(&head).unwrap());
    };
    for (nonce, begun_ns) in [(9, 1), (3, 20), (7, 300), (5, 4000)] {
        begin(nonce, begun_ns);
        assert_eq!(runs.find("last").unwrap(), named(nonce));
    }
    let listed = || runs.list().unwrap().runs.into_iter().map(|row| row.id).collect::<Vec<_>>();
    let newest_first = [5, 7, 3, 9].map(named);
    assert_eq!(listed(), newest_first);
    assert_eq!(listed(), newest_first, "also through the index");
    match runs.find("20231114").unwrap_err() {
        RecordError::Ambiguous { candidates, .. } => assert_eq!(candidates, newest_first),
        other => panic!("{other}"),
    }
    // As of the time before the order of creation was kept: the times in the records decide.
    fs::remove_file(runs.dir().join(".order")).unwrap();
    assert_eq!(listed(), newest_first);
    // Records without a time come before those with one, by name; a later second still comes later.
    for nonce in [7, 5] {
        let path = runs.dir().join(named(nonce).as_str()).join("record.json");
        let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert!(record.as_object_mut().unwrap().remove("begun_ns").is_some());
        fs::write(&path, record.to_string()).unwrap();
    }
    assert_eq!(listed(), [3, 9, 7, 5].map(named));
    killed(&runs, 1, 0);
    assert_eq!((runs.find("last").unwrap(), listed().remove(0)), (id(1), id(1)));
}

#[test]
fn a_killed_run_goes_on_where_its_journal_ends() {
    let (_dir, runs) = runs();
    let dir = killed(&runs, 1, 2);
    // A step half written, samples of a step that never was, and samples half written.
    let journal = fs::read(dir.join("journal.jsonl")).unwrap();
    fs::write(dir.join("journal.jsonl"), [&journal[..], &journal[..50]].concat()).unwrap();
    fs::write(dir.join("samples/0002.csv"), "position,step\n").unwrap();
    fs::write(dir.join("samples/.0001.csv.part"), "position").unwrap();
    assert_eq!(runs.load(&id(1)).unwrap().torn_bytes, 50);
    let (mut writer, found) = runs.resume(&id(1)).unwrap();
    assert_eq!((found.state, found.steps), (State::Running, vec![step(0), step(1)]));
    let repeated = writer.step(&step(1)).unwrap_err();
    assert!(matches!(repeated, RecordError::Repeated { position: 1, .. }), "{repeated}");
    let left = || fs::read_dir(dir.join("samples")).unwrap().count();
    assert_eq!(left(), 2, "nothing was written yet, so nothing may be thrown away");
    writer.step(&step(2)).unwrap();
    assert_eq!(left(), 0, "orphans are in the way");
    writer.finish(&document(1), State::Finished, &summary()).unwrap();
    let run = runs.load(&id(1)).unwrap();
    assert_eq!(run.steps, [step(0), step(1), step(2)]);
    assert!(matches!(runs.verify(&id(1)).unwrap(), Integrity::AsRecorded { .. }));
}

#[test]
fn an_interrupted_run_can_be_resumed_and_a_finished_one_cannot() {
    let (_dir, runs) = runs();
    for (n, state) in [(1, State::Interrupted), (2, State::Broken), (3, State::Running)] {
        ended(&runs, n, 2, state);
        let before = runs.load(&id(n)).unwrap();
        assert_ne!(before.state, State::Running, "a run that ended is not running");
        let (mut writer, _) = runs.resume(&id(n)).unwrap();
        assert_eq!(runs.load(&id(n)).unwrap().state, before.state, "nothing was added yet");
        writer.step(&step(2)).unwrap();
        // Until it ends again it is running: a kill now leaves it resumable.
        assert_eq!(runs.load(&id(n)).unwrap().state, State::Running);
        assert_eq!(runs.verify(&id(n)).unwrap(), Integrity::Unsealed);
        writer.finish(&document(n), State::Finished, &summary()).unwrap();
        let run = runs.load(&id(n)).unwrap();
        assert_eq!((run.steps.len(), run.samples.len()), (3, 2));
        let error = runs.resume(&id(n)).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("is finished"), "{error}");
    }
}

/// All files of a run, with their content.
fn content(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut content = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            content.append(&mut self::content(&path));
        } else {
            content.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    content
}

#[test]
fn a_run_that_was_resumed_for_nothing_is_as_it_was() {
    // Another drive, a target that is busy, a wish not to write: much is found out after the record was
    // opened, and none of it may cost a run the end that it has.
    let (_dir, runs) = runs();
    let sealed = ended(&runs, 1, 2, State::Interrupted).dir;
    let torn = killed(&runs, 2, 2);
    let journal = fs::read(torn.join("journal.jsonl")).unwrap();
    fs::write(torn.join("journal.jsonl"), [&journal[..], &journal[..50]].concat()).unwrap();
    fs::write(torn.join("samples/0002.csv"), "position,step\n").unwrap();
    for (n, dir) in [(1, &sealed), (2, &torn)] {
        let before = content(dir);
        for refused in [false, true] {
            let (mut writer, _) = runs.resume(&id(n)).unwrap();
            if refused {
                assert!(writer.step(&step(0)).is_err(), "position 0 is there already");
            }
            drop(writer);
            assert!(content(dir) == before, "run {n} was changed");
        }
    }
    assert!(matches!(runs.verify(&id(1)).unwrap(), Integrity::AsRecorded { .. }));
    // Any of these changes reopens the run.
    let first: [fn(&mut RunWriter); 3] = [
        |writer| writer.step(&step(2)).unwrap(),
        |writer| writer.note("k", &json!(1)).unwrap(),
        |writer| writer.samples(2, &mut rows(2, 3)).unwrap(),
    ];
    for (n, first) in (11..).zip(first) {
        let dir = ended(&runs, n, 2, State::Interrupted).dir;
        let (mut writer, _) = runs.resume(&id(n)).unwrap();
        first(&mut writer);
        drop(writer);
        for name in ["end.json", "SHA256SUMS"] {
            assert!(!dir.join(name).exists(), "{name} of run {n} tells of another content");
        }
    }
    // An end that replaces an end.
    let (writer, _) = runs.resume(&id(1)).unwrap();
    writer.finish(&document(1), State::Finished, &summary()).unwrap();
    assert_eq!(runs.load(&id(1)).unwrap().state, State::Finished);
    assert!(matches!(runs.verify(&id(1)).unwrap(), Integrity::AsRecorded { .. }));
}

#[test]
fn a_run_that_is_being_written_is_left_alone() {
    let (_dir, runs) = runs();
    let writer = runs.create(&head(1, None)).unwrap();
    // As another process sees it: a lock belongs to the opening of the file, not to the process.
    let other = Runs::at(runs.dir());
    for error in [
        other.remove(&id(1)).unwrap_err(),
        other.resume(&id(1)).map(|_| ()).unwrap_err(),
        other.export(&[id(1)], &mut Vec::new()).unwrap_err(),
    ] {
        assert!(matches!(error, RecordError::Busy { .. }), "{error}");
    }
    assert!(other.list().unwrap().runs[0].live);
    drop(writer);
    let row = other.list().unwrap().runs.remove(0);
    assert_eq!((row.live, row.state), (false, State::Running), "killed is told from running");
    other.remove(&id(1)).unwrap();
    assert!(!runs.dir().join(id(1).as_str()).exists());
}

#[test]
fn a_writer_that_stopped_says_what_is_saved_and_what_to_do() {
    let memory = Memory::new();
    let begin = |steps, faulty: &Faulty<Memory>| {
        let mut writer = Runs::with(faulty.clone(), "/runs").create(&head(1, None)).unwrap();
        (0..steps).for_each(|position| writer.step(&step(position)).unwrap());
        writer
    };
    // As many operations as it takes to get there without a fault, counted on another disk.
    let counter = Faulty::new(Memory::new(), u64::MAX, Fault::Full);
    drop(begin(2, &counter));
    let mut writer = begin(2, &Faulty::new(memory.clone(), counter.count(), Fault::Full));
    let error = writer.step(&step(2)).unwrap_err().to_string();
    let id = id(1);
    let dir = format!("/runs/{id}");
    assert_eq!(
        error,
        format!(
            "the record of run {id} stopped: {dir}/journal.jsonl: cannot write it: no storage space \
             (make room, or take another directory with --runs-dir); saved in {dir}: 2 steps, until \
             \"SEQ1M, \\\"Q8\\\"T1\" at position 1"
        )
    );
    for later in [
        writer.note("k", &json!(1)).unwrap_err(),
        writer.samples(3, &mut rows(3, 1)).unwrap_err(),
        writer.step(&step(3)).unwrap_err(),
        writer.finish(&document(1), State::Finished, &summary()).unwrap_err(),
    ] {
        assert_eq!(later.to_string(), error, "the first cause is the one that helps");
    }
    assert_eq!(Runs::with(memory, "/runs").load(&id).unwrap().steps.len(), 2);
}

#[test]
fn of_two_that_begin_one_run_one_does() {
    let (_dir, runs) = runs();
    let barrier = Barrier::new(8);
    let made: Vec<bool> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8_u32)
            .map(|n| {
                let (runs, barrier) = (&runs, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    // Pairs of one id, and all of them in a directory that is not there yet.
                    let writer = runs.create(&head(n / 2, None));
                    let mut writer = match writer {
                        Ok(writer) => writer,
                        Err(error) => {
                            assert!(matches!(error, RecordError::Exists { .. }), "{error}");
                            return false;
                        }
                    };
                    writer.step(&step(0)).unwrap();
                    writer.finish(&document(n / 2), State::Finished, &summary()).unwrap();
                    true
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|m| **m).count(), 4, "{made:?}");
    let listing = runs.list().unwrap();
    assert_eq!((listing.runs.len(), listing.unreadable), (4, vec![]));
}

/// Lets the others end, also when this thread fails.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn who_looks_on_while_others_write_sees_only_whole_runs() {
    let runs = Runs::with(Memory::new(), "/runs");
    drop(runs.create(&head(1, None)).unwrap());
    let done = AtomicBool::new(false);
    let looked = std::thread::scope(|scope| {
        let (runs, done) = (&runs, &done);
        scope.spawn(move || {
            let _done = SetAtEnd(done);
            for round in 0..60 {
                let (mut writer, _) = runs.resume(&id(1)).unwrap();
                writer.step(&step(round)).unwrap();
                writer.finish(&document(1), State::Interrupted, &summary()).unwrap();
            }
        });
        scope.spawn(move || {
            for round in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                drop(runs.create(&head(2, None)).unwrap());
                // Somebody may be looking whether it is live at this moment, but not for long.
                runs.remove(&id(2)).unwrap_or_else(|error| panic!("round {round}: {error}"));
            }
        });
        let mut looked = 0;
        let mut steps = 0;
        while !done.load(Ordering::Relaxed) {
            let listing = runs.list().unwrap();
            assert_eq!(listing.unreadable, []);
            let run = runs.load(&id(1)).unwrap();
            assert!(run.steps.len() >= steps, "steps were there and are gone");
            steps = run.steps.len();
            looked += 1;
        }
        looked
    });
    assert!(looked > 10, "looked only {looked} times");
    assert_eq!(runs.list().unwrap().runs[0].steps_done, 60);
}

#[test]
fn damaged_runs_are_listed_with_what_is_wrong_and_can_be_removed() {
    let (_dir, runs) = runs();
    (1..=5).for_each(|n| drop(ended(&runs, n, 1, State::Finished)));
    let file = |n, name: &str| runs.dir().join(id(n).as_str()).join(name);
    fs::remove_file(file(1, "record.json")).unwrap();
    fs::write(file(2, "envelope.json"), "{").unwrap();
    fs::write(file(3, "record.json"), r#"{"schema": "drivescope.record/99"}"#).unwrap();
    fs::rename(runs.dir().join(id(4).as_str()), runs.dir().join(id(6).as_str())).unwrap();
    fs::create_dir(runs.dir().join("notes")).unwrap();
    let listing = runs.list().unwrap();
    assert_eq!(listing.runs.iter().map(|row| row.id.clone()).collect::<Vec<_>>(), [id(5)]);
    let whys: Vec<_> = listing.unreadable.iter().map(|(_, why)| why.as_str()).collect();
    let expected =
        ["its directory is named", "record/99", "envelope.json: is not JSON", "cannot open"];
    assert_eq!(whys.len(), expected.len(), "{whys:?}");
    for (why, part) in whys.iter().zip(expected) {
        assert!(why.contains(part), "{why} does not say {part:?}");
    }
    for n in [1, 2, 3, 6] {
        runs.remove(&id(n)).unwrap();
    }
    assert_eq!(runs.list().unwrap().unreadable, []);
    assert!(runs.dir().join("notes").exists());
}

#[test]
fn an_altered_file_is_named() {
    let (_dir, runs) = runs();
    let saved = ended(&runs, 1, 2, State::Finished);
    assert_eq!(runs.verify(&id(1)).unwrap(), Integrity::AsRecorded { files: 11 });
    fs::write(saved.dir.join("plan.toml"), "seed = 8\n").unwrap();
    fs::remove_file(saved.dir.join("samples/0001.csv")).unwrap();
    fs::write(saved.dir.join("samples/0007.csv"), "").unwrap();
    let altered = ["plan.toml (changed)", "samples/0001.csv (missing)", "samples/0007.csv (added)"];
    let altered = altered.map(str::to_owned).to_vec();
    assert_eq!(runs.verify(&id(1)).unwrap(), Integrity::Altered(altered));
    let error = runs.export(&[id(1)], &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("plan.toml (changed)"), "{error}");
}

#[test]
fn a_run_whose_plan_was_altered_is_shown_and_not_gone_on_with() {
    // Otherwise one journal would hold steps of two plans, under the name and checksums of one run.
    let (_dir, runs) = runs();
    killed(&runs, 1, 2);
    ended(&runs, 2, 2, State::Interrupted);
    for n in [1, 2] {
        for name in ["plan.toml", "setup.json", "envelope.json"] {
            let path = runs.dir().join(id(n).as_str()).join(name);
            let was = fs::read_to_string(&path).unwrap();
            let changed = was.replace("seed = 7", "seed = 8").replace("sim:usb", "sim:ssd");
            assert_ne!(changed, was, "{name}");
            fs::write(&path, changed).unwrap();
            let before = fs::read(runs.dir().join(id(n).as_str()).join("journal.jsonl")).unwrap();
            let altered = vec![format!("{name} (changed)")];
            assert_eq!(runs.verify(&id(n)).unwrap(), Integrity::Altered(altered.clone()));
            match runs.resume(&id(n)).map(|_| ()) {
                Err(RecordError::Altered { files, .. }) => assert_eq!(files, altered),
                other => panic!("run {n} with another {name}: {other:?}"),
            }
            assert_eq!(runs.load(&id(n)).unwrap().steps.len(), 2, "it can still be looked at");
            let after = fs::read(runs.dir().join(id(n).as_str()).join("journal.jsonl")).unwrap();
            assert!(before == after && runs.export(&[id(n)], &mut Vec::new()).is_err());
            fs::write(&path, was).unwrap();
        }
        assert!(runs.resume(&id(n)).is_ok(), "put back as it was, it goes on");
    }
    // Of a run that ended, anything else, too, since its end is still what says so.
    ended(&runs, 3, 2, State::Interrupted);
    fs::write(runs.dir().join(id(3).as_str()).join("samples/0001.csv"), "").unwrap();
    let error = runs.resume(&id(3)).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("samples/0001.csv (changed)"), "{error}");
}

#[test]
fn a_record_of_the_time_before_checksums_of_the_beginning_is_read() {
    let (_dir, runs) = runs();
    let dir = killed(&runs, 1, 2);
    let path = dir.join("record.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert!(record.as_object_mut().unwrap().remove("sha256").is_some());
    fs::write(&path, record.to_string()).unwrap();
    assert_eq!(runs.verify(&id(1)).unwrap(), Integrity::Unsealed);
    let (mut writer, _) = runs.resume(&id(1)).unwrap();
    writer.step(&step(2)).unwrap();
    assert_eq!(runs.load(&id(1)).unwrap().steps.len(), 3);
}

#[test]
fn samples_that_cannot_be_written_lose_no_step() {
    let (_dir, runs) = runs();
    let mut writer = runs.create(&head(1, Some(SamplesFormat::Csv))).unwrap();
    let samples = writer.dir().join("samples");
    fs::remove_dir(&samples).unwrap();
    fs::write(&samples, "in the way").unwrap();
    assert!(writer.samples(0, &mut rows(0, 1)).is_err());
    writer.step(&step(0)).unwrap();
    fs::remove_file(&samples).unwrap();
    fs::create_dir(&samples).unwrap();
    writer.samples(1, &mut rows(1, 1)).unwrap();
    writer.step(&step(1)).unwrap();
    let saved = writer.finish(&document(1), State::Finished, &summary()).unwrap();
    assert_eq!((saved.steps, saved.samples_lost.len(), saved.samples_lost[0].0), (2, 1, 0));
    let run = runs.load(&id(1)).unwrap();
    assert_eq!((run.samples.len(), run.samples_lost), (1, saved.samples_lost));
}

#[test]
fn samples_that_were_lost_are_known_after_a_kill() {
    // Else the table of single I/Os lacks a step, and nothing says so.
    let (_dir, runs) = runs();
    let mut writer = runs.create(&head(1, Some(SamplesFormat::Csv))).unwrap();
    let samples = writer.dir().join("samples");
    fs::remove_dir(&samples).unwrap();
    for position in 0..3 {
        assert!(writer.samples(position, &mut rows(position, 1)).is_err());
        writer.step(&step(position)).unwrap();
    }
    fs::create_dir(&samples).unwrap();
    writer.samples(1, &mut rows(1, 1)).unwrap();
    drop(writer);
    let lost = |run: &[(u32, String)]| run.iter().map(|(lost, _)| *lost).collect::<Vec<_>>();
    let run = runs.load(&id(1)).unwrap();
    assert_eq!(lost(&run.samples_lost), [0, 2], "what was written later is not lost");
    assert!(run.samples_lost[0].1.contains("0000.csv"), "{:?}", run.samples_lost);
    assert_eq!((run.steps.len(), run.notes.len()), (3, 0));
    // And it is handed on, from one end to the next.
    for (position, state) in [(3, State::Interrupted), (4, State::Finished)] {
        let (mut writer, _) = runs.resume(&id(1)).unwrap();
        writer.step(&step(position)).unwrap();
        drop(writer);
        assert_eq!(lost(&runs.load(&id(1)).unwrap().samples_lost), [0, 2]);
        let (writer, _) = runs.resume(&id(1)).unwrap();
        let saved = writer.finish(&document(1), state, &summary()).unwrap();
        assert_eq!(lost(&saved.samples_lost), [0, 2]);
        assert_eq!(runs.load(&id(1)).unwrap().samples_lost, saved.samples_lost);
    }
}

#[test]
fn the_default_directory_follows_the_environment() {
    let dir = |pairs: &[(&str, &str)]| {
        default_dir(|name| {
            pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value))
        })
    };
    let is = |pairs: &[(&str, &str)], path: &str| {
        assert_eq!(dir(pairs).as_deref(), Some(Path::new(path)))
    };
    let home = ("HOME", "/home/u");
    is(&[home], "/home/u/.local/share/drivescope/runs");
    is(&[("XDG_DATA_HOME", "/x"), home], "/x/drivescope/runs");
    is(&[("XDG_DATA_HOME", "x"), home], "/home/u/.local/share/drivescope/runs");
    is(&[("XDG_DATA_HOME", ""), home], "/home/u/.local/share/drivescope/runs");
    is(&[("DRIVESCOPE_RUNS_DIR", "r"), ("XDG_DATA_HOME", "/x"), home], "r");
    assert_eq!(dir(&[("HOME", "home")]), None);
    assert_eq!(dir(&[]), None);
}

#[test]
fn a_read_only_directory_is_listed_and_read() {
    let (_dir, runs) = runs();
    ended(&runs, 1, 1, State::Finished);
    fs::remove_file(runs.dir().join("index.sqlite")).unwrap();
    fs::remove_file(runs.dir().join(".lock")).unwrap();
    fs::set_permissions(runs.dir(), fs::Permissions::from_mode(0o555)).unwrap();
    let listed = runs.list();
    let exported = runs.export(&[id(1)], &mut Vec::new());
    fs::set_permissions(runs.dir(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(listed.unwrap().runs.len(), 1);
    assert_eq!(exported.unwrap().runs, 1);
}
