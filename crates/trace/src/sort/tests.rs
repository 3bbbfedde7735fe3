//! Tests of the order of I/Os: replay and analysis rely on that of arrival, and for I/Os of one instant on that of
//! issue.

use std::fs;

use proptest::prelude::*;

use super::*;
use crate::{Flags, Kind, Stamp};
use block::Bytes;

fn io(arrival: u64, number: u64) -> Io {
    let mut io =
        Io::arriving(Nanos(arrival), Kind::ALL[number as usize % 7], Bytes(number), Bytes(512));
    io.completed =
        if number.is_multiple_of(3) { Stamp::NONE } else { Stamp::at(Nanos(number * 77)) };
    io.flags = Flags(number as u16 & 0x7ff);
    io
}

fn drain(mut sorted: Sorted) -> Vec<Io> {
    let mut ios = Vec::new();
    loop {
        let before = ios.len();
        sorted.next(&mut ios).unwrap();
        if ios.len() == before {
            return ios;
        }
    }
}

proptest! {
    /// Any number of runs, on any number of levels, come out as a stable sort in memory would have them.
    #[test]
    fn a_sorter_sorts(
        arrivals in prop::collection::vec(prop_oneof![0..20_u64, any::<u64>()], 0..300),
        run in 1..40_usize,
        fan_in in 2..5_usize,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::with_limits(directory.path().to_owned(), run, fan_in);
        let ios: Vec<_> = arrivals.iter().zip(0..).map(|(at, number)| io(*at, number)).collect();
        for io in &ios {
            sorter.push(*io).unwrap();
            prop_assert!(sorter.ios.len() <= run);
            prop_assert!(sorter.levels.iter().all(|level| level.len() < fan_in));
        }
        let sorted = sorter.finish().unwrap();
        let mut expected = ios;
        expected.sort_by_key(|io| io.arrival);
        prop_assert_eq!(sorted.next_arrival(), expected.first().map(|io| io.arrival));
        prop_assert_eq!(sorted.count(), expected.len() as u64);
        prop_assert_eq!(drain(sorted), expected);
        // Nothing is there to be removed, however the program ends.
        prop_assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    /// The window returns I/Os in order, and reports those that were too late.
    #[test]
    fn a_window_puts_right_what_fits_into_it(
        jitter in prop::collection::vec(0..10_u64, 0..300),
        capacity in 1..12_usize,
    ) {
        let ios: Vec<_> = jitter.iter().zip(0..).map(|(by, number)| io(number + by, number)).collect();
        let (mut window, mut given, mut taken) = (Window::new(capacity), Vec::new(), Vec::<Io>::new());
        for io in &ios {
            let newest = taken.iter().map(|io| io.arrival).max().unwrap_or_default();
            let by = newest.0.saturating_sub(io.arrival.0);
            match window.push(*io) {
                Ok(late) => {
                    prop_assert_eq!(late.map_or(0, |late| late.0), by);
                    taken.push(*io);
                }
                Err(late) => {
                    prop_assert_eq!(late, TooLate { by: Nanos(by) });
                    prop_assert!(given.last().is_some_and(|last: &Io| last.arrival > io.arrival));
                }
            }
            if window.is_full() {
                window.give(&mut given);
                prop_assert_eq!(taken.len() - given.len(), capacity);
            }
            prop_assert!(taken.len() - given.len() < 2 * capacity);
        }
        // An I/O is late by at most 9, so at most 9 others lie between it and its place.
        prop_assert!(capacity < 9 || taken.len() == ios.len());
        window.finish(&mut given);
        taken.sort_by_key(|io| io.arrival);
        prop_assert_eq!(given, taken);
    }
}

/// Values at the ends of their ranges come back from the file.
#[test]
fn extremes_survive_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut sorter = Sorter::with_limits(directory.path().to_owned(), 1, 2);
    let mut high = io(u64::MAX, 8);
    high.remapped = Stamp::at(Nanos(0));
    high.issued = Stamp::at(Nanos(u64::MAX - 1));
    (high.offset, high.length, high.request_bytes) =
        (Bytes(u64::MAX), Bytes(u64::MAX), Bytes(u64::MAX));
    (high.space, high.pid, high.cpu, high.error) = (u32::MAX, u32::MAX, u16::MAX, u16::MAX);
    high.flags = Flags(u16::MAX);
    let mut low = io(0, 9);
    low.slept = Stamp::at(Nanos(u64::MAX - 1));
    for io in [high, low, high] {
        sorter.push(io).unwrap();
    }
    assert_eq!(drain(sorter.finish().unwrap()), [low, high, high]);
}

/// A directory that is not there is named.
#[test]
fn a_file_that_cannot_be_made_is_named() {
    let mut sorter = Sorter::with_limits(PathBuf::from("/no/such/directory"), 1, 2);
    sorter.push(io(1, 1)).unwrap();
    let error = sorter.push(io(0, 2)).unwrap_err().to_string();
    assert!(error.starts_with("temporary file in /no/such/directory: No such file"), "{error}");
}
