//! Reading of a journal that was cut or changed: it never panics, and never yields a step that was
//! not written.

use std::path::Path;

use crate::common;
use crate::common::memory::Memory;
use crate::common::{head, id, step};
use drivescope_record::{RecordError, Runs, StepEntry};
use proptest::prelude::*;

const JOURNAL: &str = "journal.jsonl";

/// A run of `steps` steps that was killed, and the bytes of its journal.
fn killed(steps: u32) -> (Runs<Memory>, Memory, std::path::PathBuf, Vec<u8>) {
    let memory = Memory::new();
    let runs = Runs::with(memory.clone(), "/runs");
    let mut writer = runs.create(&head(1, None)).unwrap();
    (0..steps).for_each(|position| writer.step(&step(position)).unwrap());
    let path = writer.dir().join(JOURNAL);
    drop(writer);
    let bytes = common::bytes(&memory, &path);
    (runs, memory, path, bytes)
}

/// Steps from the first on, each as it was written.
fn is_beginning(steps: &[StepEntry]) -> bool {
    steps.iter().enumerate().all(|(index, found)| *found == step(index as u32))
}

fn begins_with_whole_lines(bytes: &[u8], original: &[u8]) -> usize {
    let same = bytes.iter().zip(original).take_while(|(a, b)| a == b).count();
    original[..same].iter().filter(|b| **b == b'\n').count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_journal_cut_anywhere_gives_the_whole_lines_before(cut in 0..=usize::MAX) {
        let (runs, memory, path, bytes) = killed(4);
        let cut = cut % (bytes.len() + 1);
        memory.overwrite(&path, &bytes[..cut]);
        let run = runs.load(&id(1)).unwrap();
        prop_assert!(is_beginning(&run.steps));
        let lines = bytes[..cut].iter().filter(|b| **b == b'\n').count();
        prop_assert_eq!(run.steps.len(), lines);
        // And the run can be resumed from there.
        let (mut writer, _) = runs.resume(&id(1)).unwrap();
        writer.step(&step(lines as u32)).unwrap();
        prop_assert_eq!(runs.load(&id(1)).unwrap().steps.len(), lines + 1);
    }

    #[test]
    fn changed_bytes_are_damage_or_a_tail_and_never_a_step(
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<usize>()),
    ) {
        let (runs, memory, path, bytes) = killed(4);
        let mut changed = bytes.clone();
        for (at, with) in changes {
            let at = at % changed.len();
            changed[at] = with;
        }
        if let Some(cut) = cut {
            changed.truncate(cut % (bytes.len() + 1));
        }
        memory.overwrite(&path, &changed);
        match runs.load(&id(1)) {
            Ok(run) => {
                prop_assert!(is_beginning(&run.steps));
                prop_assert_eq!(run.steps.len(), begins_with_whole_lines(&changed, &bytes));
            }
            Err(RecordError::Damaged { path: named, line, .. }) => {
                prop_assert_eq!(named, path);
                let first = begins_with_whole_lines(&changed, &bytes) as u64 + 1;
                prop_assert_eq!(line, Some(first));
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }

    #[test]
    fn any_bytes_at_all_are_read_without_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        after in any::<bool>(),
    ) {
        let (runs, memory, path, whole) = killed(2);
        let all = if after { [whole, bytes].concat() } else { bytes };
        memory.overwrite(&path, &all);
        let run = runs.load(&id(1)).unwrap();
        prop_assert_eq!(run.steps.len(), if after { 2 } else { 0 });
    }
}

#[test]
fn a_line_that_was_lost_doubled_or_moved_is_named() {
    // All of these pass a check of each line by itself.
    let (runs, memory, path, bytes) = killed(4);
    let lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    for (order, line) in
        [([0, 2, 3, 3], 2), ([0, 0, 1, 2], 2), ([0, 1, 3, 2], 3), ([1, 2, 3, 0], 1)]
    {
        memory.overwrite(&path, &order.map(|n: usize| lines[n]).concat());
        let error = runs.load(&id(1)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("/runs/{}/{JOURNAL}:{line}: ", id(1))), "{error}");
        assert!(runs.resume(&id(1)).is_err(), "a damaged run was gone on with");
    }
}

#[test]
fn an_ended_run_whose_journal_lost_its_last_line_is_damaged() {
    // Each line that is left checks; only the end knows how many there were.
    let memory = Memory::new();
    let runs = Runs::with(memory.clone(), "/runs");
    let mut writer = runs.create(&head(1, None)).unwrap();
    (0..3).for_each(|position| writer.step(&step(position)).unwrap());
    let saved = writer
        .finish(&common::document(1), drivescope_record::State::Finished, &common::summary())
        .unwrap();
    let path = saved.dir.join(JOURNAL);
    let bytes = common::bytes(&memory, &path);
    let last = bytes[..bytes.len() - 1].iter().rposition(|b| *b == b'\n').unwrap();
    memory.overwrite(&path, &bytes[..=last]);
    let error = runs.load(&id(1)).unwrap_err().to_string();
    assert!(error.contains("has 2 whole lines, and the run ended with 3"), "{error}");
    let listing = runs.list().unwrap();
    assert_eq!((listing.runs.len(), listing.unreadable.len()), (0, 1));
    assert_eq!(listing.unreadable[0].0, Path::new("/runs").join(id(1).as_str()));
}
