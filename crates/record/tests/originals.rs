//! Original data is saved whole before anything is overwritten, or not at all, whatever file operation fails or dies.

use std::borrow::Cow;
use std::path::Path;

use crate::common::faults::{Fault, Faulty, Mortal};
use crate::common::id;
use crate::common::memory::Memory;
use drivescope_record::{Files, ORIGINALS, Originals, RecordError, Vault};

const DIR: &str = "/runs/.originals";
const PIECES: [&[u8]; 3] = [&[1; 4096], &[2; 512], &[3; 70_000]];

fn pieces() -> impl Iterator<Item = Cow<'static, [u8]>> {
    PIECES.into_iter().map(Cow::Borrowed)
}

fn originals() -> Originals {
    Originals {
        schema: ORIGINALS.to_owned(),
        run_id: id(1),
        target: "/dev/sdx".to_owned(),
        drive: serde_json::json!({ "name": "/dev/sdx" }),
        salt: u64::MAX,
        places: vec![(1 << 40, 4096), (0, 512), (8192, 70_000)],
        data: "".into(),
        sha256: String::new(),
    }
}

/// Reads the saved data, with its places.
fn data<F: Files>(vault: &Vault<F>, of: &Originals) -> Result<Vec<(u64, Vec<u8>)>, RecordError> {
    let mut all = Vec::new();
    vault.data(of, &mut |offset, piece| {
        all.push((offset, piece.to_vec()));
        Ok::<(), RecordError>(())
    })?;
    Ok(all)
}

fn whole() -> Vec<(u64, Vec<u8>)> {
    let places = originals().places;
    places.iter().zip(PIECES).map(|((offset, _), piece)| (*offset, piece.to_vec())).collect()
}

fn save<F: Files>(files: &F) -> Result<(), RecordError> {
    Vault::with(files.clone(), DIR).save(originals(), &mut pieces()).map(drop)
}

// Breaks when the program overwrites data that is not saved, or later takes a half for the whole.
#[test]
fn what_is_reported_as_saved_is_whole_and_a_half_is_nothing() {
    let counter = Faulty::new(Memory::new(), u64::MAX, Fault::Die);
    save(&counter).unwrap();
    let mut outcomes = [0; 4];
    for at in 0..counter.count() {
        for fault in Fault::ALL {
            for power in [None, Some(1), Some(2), Some(3)] {
                let memory = Memory::new();
                let faulty = Faulty::new(memory.clone(), at, fault);
                let saved = save(&faulty).is_ok();
                assert!(faulty.fired());
                if fault.is_death() || power.is_some() {
                    memory.die(power);
                }
                let place = format!("{fault:?} at operation {at}, power {power:?}");
                let vault = Vault::with(memory.clone(), DIR);
                let found = vault.list();
                outcomes[usize::from(saved) * 2 + found.len()] += 1;
                assert!(!saved || found.len() == 1, "{place}: what was saved is gone");
                for one in &found {
                    assert_eq!(data(&vault, one).unwrap(), whole(), "{place}");
                    assert!(!vault.is_live(one), "{place}: the dead hold it");
                    vault.discard(one).unwrap();
                }
                let next = Originals { run_id: id(2), ..originals() };
                let guarded = vault.save(next, &mut pieces()).unwrap();
                let names: Vec<String> =
                    memory.list(Path::new(DIR)).unwrap().into_iter().map(|e| e.name).collect();
                let left = names.iter().filter(|name| name.starts_with(id(1).as_str()));
                assert_eq!(left.count(), 0, "{place}: what is left stays for ever: {names:?}");
                assert!(vault.is_live(&guarded.originals));
                guarded.discard().unwrap();
            }
        }
    }
    let [failed, unfinished, gone, kept] = outcomes;
    assert!(failed > 0 && unfinished > 0 && kept > 0 && gone == 0, "{outcomes:?}");
}

// Breaks when other data than what was saved is written to the drive.
#[test]
fn damaged_data_is_not_handed_out() {
    let dir = tempfile::tempdir().unwrap();
    let vault = Vault::at(dir.path());
    let guarded = vault.save(originals(), &mut pieces()).unwrap();
    let of = guarded.originals.clone();
    assert_eq!(vault.list(), std::slice::from_ref(&of));
    assert_eq!(data(&vault, &of).unwrap(), whole());
    let good = std::fs::read(&of.data).unwrap();
    let mut flipped = good.clone();
    flipped[70_000] ^= 1;
    for bad in [&good[1..], &flipped] {
        std::fs::write(&of.data, bad).unwrap();
        let mut handed_out = 0;
        let read = vault.data(&of, &mut |_, _| {
            handed_out += 1;
            Ok::<(), RecordError>(())
        });
        assert!(read.is_err() && handed_out == 0);
    }
    // The same name is not taken twice: what was saved first is the original.
    assert!(vault.save(originals(), &mut pieces()).is_err());
    assert_eq!(std::fs::read(&of.data).unwrap(), flipped);
    guarded.discard().unwrap();
    assert_eq!(vault.list(), []);
}

// Breaks when a description that somebody damaged makes drivescope allocate or write without bounds.
#[test]
fn a_damaged_description_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let vault = Vault::at(dir.path());
    let path = dir.path().join(format!("{}.json", id(1)));
    let write = |of: &Originals| std::fs::write(&path, serde_json::to_vec(of).unwrap()).unwrap();
    for bad in [(0, 0), (0, u64::MAX), (u64::MAX, 512)] {
        write(&Originals { places: vec![bad], ..originals() });
        assert!(vault.read(&path).unwrap_err().to_string().contains("places"), "{bad:?}");
    }
    write(&Originals { schema: "drivescope.originals/2".to_owned(), ..originals() });
    assert!(matches!(vault.read(&path), Err(RecordError::Newer { .. })));
    std::fs::write(&path, "{").unwrap();
    assert!(vault.read(&path).is_err());
    assert_eq!(vault.list(), []);
}
