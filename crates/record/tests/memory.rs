//! The model of a filesystem must itself be unforgiving, or all tests on it prove nothing.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;

use crate::common;
use crate::common::memory::Memory;
use drivescope_record::{Files as _, OutFile as _};

#[test]
fn what_is_not_synced_can_be_lost_and_what_is_synced_cannot() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..200 {
        let memory = Memory::new();
        let path = Path::new("/file");
        let mut file = memory.create_new(path).unwrap();
        memory.sync_dir(Path::new("/")).unwrap();
        file.write_all(b"kept").unwrap();
        file.sync().unwrap();
        file.write_all(b"lost").unwrap();
        memory.rename(path, Path::new("/other")).unwrap();
        memory.cut_power(seed);
        let name = if memory.stat(path).is_ok() { path } else { Path::new("/other") };
        let bytes = common::bytes(&memory, name);
        assert!(bytes.starts_with(b"kept"), "{bytes:?}");
        outcomes.insert((name, bytes));
    }
    // Both names, and of the unsynced bytes: none, some, all, zeros, junk.
    assert!(outcomes.len() > 10, "{outcomes:?}");
}

#[test]
fn a_sync_after_a_failed_one_saves_nothing_of_what_that_was_to_save() {
    let memory = Memory::new();
    let path = Path::new("/file");
    let mut file = memory.create_new(path).unwrap();
    file.write_all(b"lost").unwrap();
    file.lose();
    file.sync().unwrap();
    memory.sync_dir(Path::new("/")).unwrap();
    memory.cut_power(0);
    assert_eq!(common::bytes(&memory, path), [0; 4]);
}
