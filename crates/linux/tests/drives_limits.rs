//! A drive under an ordinary user's memory limit. Alone in its binary: limits are the process's.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use block::{Bytes, Op, Target as _};
use drivescope_linux::drive::{Aio, Uring};
use drivescope_linux::target::{OpenOptions, RealTarget};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

#[path = "common/drive_kit.rs"]
mod kit;
use kit::*;

// If buffers cannot be registered, the drive must work without, and suggest what to do about it: an
// ordinary user with a deep queue of large blocks meets this on the first run.
#[test]
fn a_small_memory_limit_costs_speed_and_a_note_but_no_result() {
    // The capability that lifts the limit is taken from this thread alone.
    let mut sets = capabilities(None).unwrap();
    sets.effective.remove(CapabilitySet::IPC_LOCK);
    set_capabilities(None, sets).unwrap();
    let before = getrlimit(Resource::Memlock);
    let limit = Rlimit { current: Some(256 << 10), maximum: before.maximum };
    setrlimit(Resource::Memlock, limit).unwrap();

    let file = Scratch::new("limits", Bytes::mib(8));
    let mut target = open::<Uring>(file.path(), OpenOptions::default());
    let reads = shuffled(Op::Read, 8 << 20, 1 << 20, 1);
    let counts = run(&mut target, 8, &reads, None, |request, _, buffer| {
        let wrong = Pattern(0xF11E).mismatch(Bytes(0), buffer);
        assert_eq!(wrong, None, "at {}", request.offset);
    });
    assert_eq!((counts.bytes, counts.errors), (8 << 20, 0));
    let notes = target.notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("buffers are not registered") && notes[0].contains("ulimit -l"));

    // Without the limit there is nothing to note.
    setrlimit(Resource::Memlock, before).unwrap();
    sets.effective.insert(CapabilitySet::IPC_LOCK);
    if set_capabilities(None, sets).is_err() {
        return skipped("the capability cannot be taken back: not root");
    }
    let mut target = open::<Uring>(file.path(), OpenOptions::default());
    assert_eq!(run(&mut target, 8, &reads, None, |_, _, _| {}).bytes, 8 << 20);
    assert_eq!(target.notes(), Vec::<String>::new());

    an_engine_that_cannot_be_had_is_refused_with_another(&file);
}

// A ring needs a descriptor: with none left, the engine is refused before anything is measured. Part
// of the one test of this binary, since the limit would hit others beside it.
fn an_engine_that_cannot_be_had_is_refused_with_another(file: &Scratch) {
    let target = || RealTarget::open(file.path(), OpenOptions::default()).unwrap();
    let (ring, other) = (target(), target());
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(3), maximum: before.maximum }).unwrap();
    let refused = ring.engine();
    let usable = other.with_engine::<Aio>();
    setrlimit(Resource::Nofile, before).unwrap();
    let Err(error) = refused else { panic!("a ring without a descriptor") };
    let text = error.to_string();
    assert!(text.contains("engine io_uring cannot be used") && text.contains("--engine libaio"));
    assert!(text.contains("ulimit -n") && text.contains("fewer threads"), "{text}");
    assert!(usable.is_ok(), "the way out that the message names");
}
