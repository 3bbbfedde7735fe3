//! Every file operation of a run fails once, and the process dies at every one of them, with and without
//! the power. Whatever was reported as saved is there afterwards, byte for byte; nothing half is taken for
//! whole; and the run is there to be resumed, or not there at all.

mod common;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use common::faults::{Fault, Faulty, Mortal};
use common::memory::Memory;
use common::{document, head, id, rows, step, summary};
use drivescope_record::{
    Files, Integrity, RealFiles, RecordError, Run, Runs, SamplesFormat, State,
};

const ROWS: u64 = 40;

/// What a run was told to be saved.
#[derive(Default)]
struct Told {
    created: bool,
    steps: u32,
    notes: u32,
    samples: Vec<u32>,
    finished: bool,
    errors: u32,
}

/// Makes a run of `steps` steps, and goes on, whatever fails, as a measurement does.
fn make<F: Files>(files: &F, dir: &Path, steps: u32) -> Told {
    let mut told = Told::default();
    let runs = Runs::with(files.clone(), dir);
    let mut writer = match runs.create(&head(1, Some(SamplesFormat::Csv))) {
        Ok(writer) => writer,
        Err(_) => return Told { errors: 1, ..told },
    };
    told.created = true;
    let mut stopped = false;
    for position in 0..steps {
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
                assert_eq!((steps, dir), (told.steps, &writer.dir().to_owned()), "{error}");
                (stopped, told.errors) = (true, told.errors + 1);
            }
        }
    }
    match writer.note("end", &steps.into()) {
        Ok(()) => told.notes = 1,
        Err(_) => told.errors += 1,
    }
    match writer.finish(&document(1), State::Finished, &summary()) {
        Ok(saved) => {
            assert_eq!(saved.steps, steps);
            told.finished = true;
        }
        Err(_) => told.errors += 1,
    }
    told.errors += u32::from(runs.list().is_err());
    told
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

/// Holds what is on disk against what was told, and goes on to the end.
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

/// One fault at one place, and what was left.
fn inject<F: Mortal>(
    files: &F,
    dir: &Path,
    steps: u32,
    at: u64,
    fault: Fault,
    power: Option<u64>,
) -> (Told, Outcome, bool) {
    let faulty = Faulty::new(files.clone(), at, fault);
    let told = make(&faulty, dir, steps);
    let fired = faulty.fired();
    // Power can also fail later, when the program has long gone on: what was told must still hold.
    if fault.is_death() || power.is_some() {
        files.die(power);
    }
    let place = format!("{fault:?} at operation {at}, power {power:?}");
    let outcome = check(files, dir, steps, &told, &place);
    (told, outcome, fired)
}

/// All faults at all places.
fn sweep<F: Mortal>(
    make_files: impl Fn() -> (F, PathBuf),
    steps: u32,
    powers: &[Option<u64>],
) -> Tally {
    let (files, dir) = make_files();
    let counter = Faulty::new(files, u64::MAX, Fault::Die);
    let told = make(&counter, &dir, steps);
    assert!(told.finished && told.errors == 0 && told.steps == steps);
    let mut tally = Tally::default();
    for at in 0..counter.count() {
        for fault in Fault::ALL {
            for power in powers {
                let (files, dir) = make_files();
                let (told, outcome, fired) = inject(&files, &dir, steps, at, fault, *power);
                assert!(fired, "operation {at} of {} was never reached", counter.count());
                tally.points += 1;
                *tally.outcomes.entry(outcome).or_default() += 1;
                match (fault.is_death(), told.errors) {
                    (true, _) => tally.died += 1,
                    (false, 0) => tally.tolerated += 1,
                    (false, _) => tally.failed += 1,
                }
            }
        }
    }
    tally
}

fn assert_all_happened(tally: &Tally) {
    assert!(tally.failed > 0 && tally.tolerated > 0 && tally.died > 0, "{tally}");
    assert_eq!(tally.outcomes.len(), 3, "{tally}");
}

#[test]
fn in_memory_with_and_without_power() {
    let memory = || (Memory::new(), PathBuf::from("/data/drivescope/runs"));
    let powers = [None, Some(1), Some(2), Some(3), Some(4)];
    let tally = sweep(memory, 5, &powers);
    println!("5 steps, in memory: {tally}");
    assert_all_happened(&tally);
    // The sweep reaches what each step does, and not just what every run does.
    let longer = sweep(memory, 8, &powers[..2]);
    println!("8 steps, in memory: {longer}");
    assert!(longer.points / 2 > tally.points / 5, "{longer}");
}

#[test]
fn on_the_real_filesystem() {
    let root = tempfile::tempdir().unwrap();
    let count = std::cell::Cell::new(0);
    let real = || {
        count.set(count.get() + 1);
        (RealFiles, root.path().join(count.get().to_string()).join("runs"))
    };
    let tally = sweep(real, 5, &[None]);
    println!("5 steps, on disk: {tally}");
    assert_all_happened(&tally);
}
