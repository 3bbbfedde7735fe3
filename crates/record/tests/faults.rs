//! Every file operation of a run fails once, and the process dies at every one of them, with and without
//! the power. Whatever was reported as saved is there afterwards, byte for byte; nothing half is taken for
//! whole; and the run is there to be resumed, or not there at all.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::common;
use crate::common::faults::{Fault, Faulty, Mortal};
use crate::common::memory::Memory;
use crate::common::{document, head, id, rows, step, summary};
use drivescope_record::{
    Files, Integrity, Kind, OutFile as _, RealFiles, RecordError, Run, RunWriter, Runs,
    SamplesFormat, State,
};

const ROWS: u64 = 40;

/// Parts of a run that were reported as saved, and a count of errors.
#[derive(Default)]
struct Told {
    created: bool,
    steps: u32,
    notes: u32,
    samples: Vec<u32>,
    finished: bool,
    errors: u32,
}

/// Makes a run of `steps` steps.
fn make<F: Files>(files: &F, dir: &Path, steps: u32) -> Told {
    let mut told = Told::default();
    let runs = Runs::with(files.clone(), dir);
    match runs.create(&head(1, Some(SamplesFormat::Csv))) {
        Ok(writer) => {
            told.created = true;
            go_on(writer, 0..steps, &mut told);
        }
        Err(_) => told.errors += 1,
    }
    told.errors += u32::from(runs.list().is_err());
    told
}

/// Records steps and ends the run, and continues after any failure, as a measurement does.
fn go_on<F: Files>(mut writer: RunWriter<F>, positions: Range<u32>, told: &mut Told) {
    let mut stopped = false;
    for position in positions.clone() {
        match writer.samples(position, &mut rows(position, ROWS)) {
            Ok(()) => told.samples.push(position),
            Err(_) => told.errors += 1,
        }
        match writer.step(&step(position)) {
            Ok(()) => {
                assert!(!stopped, "a step was reported as saved after one that was not");
                told.steps += 1;
            }
            Err(error) => {
                let RecordError::Stopped { steps, ref dir, .. } = error else { panic!("{error}") };
                assert_eq!((steps, &**dir), (told.steps, writer.dir()), "{error}");
                (stopped, told.errors) = (true, told.errors + 1);
            }
        }
    }
    match writer.note("end", &positions.end.into()) {
        Ok(()) => told.notes = 1,
        Err(_) => told.errors += 1,
    }
    match writer.finish(&document(1), State::Finished, &summary()) {
        Ok(saved) => {
            assert_eq!(saved.steps, positions.end);
            told.finished = true;
        }
        Err(_) => told.errors += 1,
    }
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// No run, and none was promised.
    Absent,
    /// It had ended.
    Ended,
    /// It had not, and was resumed to its end.
    Resumed,
}

/// Compares what is on disk with what the writer reported as saved, and resumes the run to its end.
fn check<F: Files>(files: &F, dir: &Path, steps: u32, told: &Told, place: &str) -> Outcome {
    let runs = Runs::with(files.clone(), dir);
    let listing = runs.list().unwrap();
    assert_eq!(listing.unreadable, [], "{place}");
    assert_eq!(runs.list().unwrap(), listing, "{place}: through the index it is another list");
    if listing.runs.is_empty() {
        assert!(!told.created, "{place}: a run that was begun is gone");
        let again = make(files, dir, steps);
        assert!(again.finished && again.errors == 0, "{place}: what is left is in the way");
        return Outcome::Absent;
    }
    let run = runs.load(&id(1)).unwrap();
    holds(files, &run, told, place);
    // An end exists only together with the files that it seals; without an end, no file is reported as altered.
    match runs.verify(&id(1)).unwrap() {
        Integrity::AsRecorded { .. } => assert!(run.is_ended(), "{place}"),
        Integrity::Unsealed => assert!(!run.is_ended(), "{place}"),
        Integrity::Altered(files) => panic!("{place}: {files:?}"),
    }
    if run.state == State::Finished {
        whole(&runs, &run, steps, place);
        return Outcome::Ended;
    }
    assert!(!told.finished, "{place}: a run that ended has not");
    assert!(!listing.runs[0].live, "{place}: a dead process keeps its lock");
    let (mut writer, found) = runs.resume(&id(1)).unwrap();
    assert_eq!(found.steps, run.steps, "{place}");
    let next = found.steps.len() as u32;
    for position in next..steps {
        writer.samples(position, &mut rows(position, ROWS)).unwrap();
        writer.step(&step(position)).unwrap();
    }
    writer.finish(&document(1), State::Finished, &summary()).unwrap();
    let run = runs.load(&id(1)).unwrap();
    holds(files, &run, told, place);
    let positions: Vec<u32> = run.samples.iter().map(|path| position(path)).collect();
    assert!((next..steps).all(|p| positions.contains(&p)), "{place}: {positions:?}");
    whole(&runs, &run, steps, place);
    Outcome::Resumed
}

/// All that was reported as saved, and nothing that was never written.
fn holds<F: Files>(files: &F, run: &Run, told: &Told, place: &str) {
    assert!(run.steps.len() as u32 >= told.steps, "{place}: {} of {}", run.steps.len(), told.steps);
    for (index, found) in run.steps.iter().enumerate() {
        assert_eq!(*found, step(index as u32), "{place}");
    }
    assert!(run.notes.len() as u32 >= told.notes, "{place}");
    let found: BTreeMap<u32, &PathBuf> = run.samples.iter().map(|p| (position(p), p)).collect();
    for position in told.samples.iter().filter(|p| (**p as usize) < run.steps.len()) {
        assert!(found.contains_key(position), "{place}: samples of {position} are gone");
    }
    for (position, path) in found {
        let text = String::from_utf8(common::bytes(files, path)).unwrap();
        assert_eq!(text, csv(position), "{place}: half a file of samples has a whole one's name");
    }
}

/// An ended run is all there, and its checksums say so.
fn whole<F: Files>(runs: &Runs<F>, run: &Run, steps: u32, place: &str) {
    assert_eq!(run.steps.len() as u32, steps, "{place}");
    assert_eq!(run.document, Some(serde_json::to_value(document(1)).unwrap()), "{place}");
    assert!(matches!(runs.verify(&run.id), Ok(Integrity::AsRecorded { .. })), "{place}");
}

fn position(path: &Path) -> u32 {
    path.file_stem().unwrap().to_str().unwrap().parse().unwrap()
}

/// Written apart from the code that is tested.
fn csv(position: u32) -> String {
    let mut text = "position,step,run,submitter,op,offset_bytes,length_bytes,\
                    intended_ns,issued_ns,completed_ns\n"
        .to_owned();
    for row in rows(position, ROWS) {
        let op = format!("{:?}", row.op).to_lowercase();
        text += &format!(
            "{position},\"SEQ1M, \"\"Q8\"\"T{position}\",{},{},{op},{},{},{},{},{}\n",
            row.run,
            row.submitter,
            row.offset.0,
            row.len.0,
            row.intended_ns,
            row.issued_ns,
            row.completed_ns
        );
    }
    text
}

/// How often what happened.
#[derive(Default)]
struct Tally {
    points: u64,
    tolerated: u64,
    failed: u64,
    died: u64,
    outcomes: BTreeMap<Outcome, u64>,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "injection points: {}, failed cleanly: {}, tolerated: {}, died: {}; afterwards",
            self.points, self.failed, self.tolerated, self.died
        )?;
        let mut words = self.outcomes.iter().map(|(outcome, n)| format!("{outcome:?}: {n}"));
        write!(f, " {}", words.by_ref().collect::<Vec<_>>().join(", "))
    }
}

/// One fault at one place: what `act` returned, and whether the place was reached.
fn inject<F: Mortal, T>(
    files: &F,
    at: u64,
    (fault, power): (Fault, Option<u64>),
    act: &impl Fn(&Faulty<F>) -> T,
) -> (T, bool) {
    let faulty = Faulty::new(files.clone(), at, fault);
    let told = act(&faulty);
    // Power can also fail later, after `act` returned: what was reported must still be true.
    if fault.is_death() || power.is_some() {
        files.die(power);
    }
    (told, faulty.fired())
}

/// All faults at all places of `act`, which is done to what `begin` makes, and then `check`ed.
fn sweep<F: Mortal, T>(
    powers: &[Option<u64>],
    begin: impl Fn() -> F,
    act: impl Fn(&Faulty<F>) -> T,
    errors: impl Fn(&T) -> u32,
    check: impl Fn(&F, &T, &str) -> Outcome,
) -> Tally {
    let counter = Faulty::new(begin(), u64::MAX, Fault::Die);
    assert_eq!(errors(&act(&counter)), 0, "without a fault it fails, too");
    let mut tally = Tally::default();
    for at in 0..counter.count() {
        for fault in Fault::ALL {
            for power in powers {
                let files = begin();
                let (told, fired) = inject(&files, at, (fault, *power), &act);
                assert!(fired, "operation {at} of {} was never reached", counter.count());
                let place = format!("{fault:?} at operation {at}, power {power:?}");
                *tally.outcomes.entry(check(&files, &told, &place)).or_default() += 1;
                tally.points += 1;
                match (fault.is_death(), errors(&told)) {
                    (true, _) => tally.died += 1,
                    (false, 0) => tally.tolerated += 1,
                    (false, _) => tally.failed += 1,
                }
            }
        }
    }
    assert!(tally.failed > 0 && tally.tolerated > 0 && tally.died > 0, "{tally}");
    tally
}

const POWERS: [Option<u64>; 4] = [None, Some(1), Some(2), Some(3)];

fn dir() -> PathBuf {
    PathBuf::from("/data/drivescope/runs")
}

fn whole_run(steps: u32, powers: &[Option<u64>]) -> Tally {
    sweep(
        powers,
        Memory::new,
        |files| make(files, &dir(), steps),
        |told| told.errors,
        |files, told, place| check(files, &dir(), steps, told, place),
    )
}

#[test]
fn a_run_in_memory_with_and_without_power() {
    let tally = whole_run(5, &POWERS);
    println!("run of 5 steps, in memory: {tally}");
    assert_eq!(tally.outcomes.len(), 3, "{tally}");
    // The sweep reaches what each step does, and not just what every run does.
    let longer = whole_run(8, &POWERS[..2]);
    println!("run of 8 steps, in memory: {longer}");
    assert!(longer.points / 2 > tally.points / 4, "{longer}");
}

#[test]
fn a_run_on_the_real_filesystem() {
    // In memory where there is such a place: on a disk the thousands of syncs take minutes, and what
    // a lost one does is the other tests' matter.
    let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let count = Cell::new(0);
    let dir = || root.path().join(count.get().to_string()).join("runs");
    let tally = sweep(
        &[None],
        || {
            count.set(count.get() + 1);
            RealFiles
        },
        |files| make(files, &dir(), 5),
        |told| told.errors,
        |files, told, place| check(files, &dir(), 5, told, place),
    );
    println!("run of 5 steps, real files: {tally}");
    assert_eq!(tally.outcomes.len(), 3, "{tally}");
}

/// Three steps of five, and a fourth that was being written when its maker died.
fn killed() -> Memory {
    let (memory, writer) = three_steps();
    let path = writer.dir().join("journal.jsonl");
    drop(writer);
    let bytes = common::bytes(&memory, &path);
    memory.overwrite(&path, &[&bytes[..], &bytes[..100]].concat());
    memory
}

/// Three steps of five, and an end because somebody wished it.
fn interrupted() -> Memory {
    let (memory, writer) = three_steps();
    writer.finish(&document(1), State::Interrupted, &summary()).unwrap();
    memory
}

fn three_steps() -> (Memory, RunWriter<Memory>) {
    let memory = Memory::new();
    let runs = Runs::with(memory.clone(), dir());
    let mut writer = runs.create(&head(1, Some(SamplesFormat::Csv))).unwrap();
    for position in 0..3 {
        writer.samples(position, &mut rows(position, ROWS)).unwrap();
        writer.step(&step(position)).unwrap();
    }
    writer.samples(3, &mut rows(3, ROWS)).unwrap();
    (memory, writer)
}

#[test]
fn a_resumed_run() {
    let before = || Told { created: true, steps: 3, samples: vec![0, 1, 2], ..Told::default() };
    let resume = |files: &Faulty<Memory>| {
        let mut told = before();
        match Runs::with(files.clone(), dir()).resume(&id(1)) {
            Ok((writer, run)) => {
                assert_eq!(run.steps.len(), 3);
                go_on(writer, 3..5, &mut told);
            }
            Err(_) => told.errors += 1,
        }
        told
    };
    for (what, begin) in [("killed", killed as fn() -> Memory), ("interrupted", interrupted)] {
        let tally = sweep(
            &POWERS[..3],
            begin,
            resume,
            |told| told.errors,
            |files, told, place| check(files, &dir(), 5, told, place),
        );
        println!("resume of a run that was {what}: {tally}");
        assert_eq!(tally.outcomes.len(), 2, "{tally}");
    }
}

/// Every file there is, with its content.
fn tree(files: &Memory, dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut tree = BTreeMap::new();
    for entry in files.list(dir).unwrap() {
        let path = dir.join(entry.name);
        match entry.kind {
            Kind::Dir => tree.append(&mut self::tree(files, &path)),
            _ => drop(tree.insert(path.clone(), common::bytes(files, &path))),
        }
    }
    tree
}

#[test]
fn a_run_that_is_resumed_for_nothing() {
    let resume = |files: &Faulty<Memory>| Runs::with(files.clone(), dir()).resume(&id(1)).is_err();
    for (what, begin) in [("killed", killed as fn() -> Memory), ("interrupted", interrupted)] {
        let before = tree(&begin(), Path::new("/"));
        let tally = sweep(
            &[None],
            begin,
            resume,
            |failed| u32::from(*failed),
            |files, _, place| {
                assert!(tree(files, Path::new("/")) == before, "{place}: something was changed");
                if what == "killed" { Outcome::Resumed } else { Outcome::Ended }
            },
        );
        println!("resume for nothing of a run that was {what}: {tally}");
    }
}

#[test]
fn a_run_that_is_removed() {
    let ended = || {
        let memory = Memory::new();
        make(&memory, &dir(), 2);
        memory
    };
    let remove = |files: &Faulty<Memory>| Runs::with(files.clone(), dir()).remove(&id(1)).is_err();
    let tally = sweep(
        &POWERS,
        ended,
        remove,
        |failed| u32::from(*failed),
        |files, failed, place| {
            // Until it is gone it is all there; also what was half removed never comes back.
            let outcome = check(files, &dir(), 2, &Told::default(), place);
            assert!(*failed || outcome == Outcome::Absent, "{place}: it was reported as removed");
            outcome
        },
    );
    println!("remove: {tally}");
    assert_eq!(tally.outcomes.len(), 2, "{tally}");
}

#[test]
fn a_run_that_is_imported() {
    let archive = {
        let memory = Memory::new();
        make(&memory, &dir(), 2);
        let mut bytes = Vec::new();
        Runs::with(memory, dir()).export(&[id(1)], &mut bytes).unwrap();
        bytes
    };
    let path = Path::new("/archive");
    let begin = || {
        let memory = Memory::new();
        let mut file = memory.create_new(path).unwrap();
        file.write_all(&archive).unwrap();
        file.sync().unwrap();
        memory.sync_dir(Path::new("/")).unwrap();
        memory
    };
    let import = |files: &Faulty<Memory>| {
        let imported = Runs::with(files.clone(), dir()).import(path, &[]).is_ok();
        Told {
            created: imported,
            finished: imported,
            steps: if imported { 2 } else { 0 },
            samples: if imported { vec![0, 1] } else { vec![] },
            notes: u32::from(imported),
            errors: u32::from(!imported),
        }
    };
    let tally = sweep(
        &POWERS,
        begin,
        import,
        |told| told.errors,
        |files, told, place| check(files, &dir(), 2, told, place),
    );
    println!("import: {tally}");
    assert_eq!(tally.outcomes.len(), 2, "{tally}");
}
