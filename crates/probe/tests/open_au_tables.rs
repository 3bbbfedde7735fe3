//! Inference from published open-au tables. The source of each table is given beside it.

use drivescope_probe::open_au::{Order, Row, Table, infer};
use drivescope_probe::{Finding, Name, Verdict};
use workload::rng::Rng;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const K: f64 = 1e3;
const M: f64 = 1e6;

/// A table of rates in bytes per second, from `top` bytes down, each size half the one before.
fn table(nr: u32, top: u64, rates: &[f64]) -> Table {
    let row = |(step, rate): (usize, &f64)| {
        let len_bytes = top >> step;
        Row { len_bytes, ns_per_io: 1e9 * len_bytes as f64 / rate, error_ns: None }
    };
    Table { nr, order: Order::Linear, rows: rates.iter().enumerate().map(row).collect() }
}

/// flashbench's README: an SD card with erase blocks of 4 MiB.
fn readme() -> [Table; 2] {
    [
        table(2, 4 * MIB, &[8.79 * M, 7.41 * M, 6.87 * M, 6.39 * M, 6.27 * M]),
        table(3, 4 * MIB, &[7.75 * M, 5.03 * M, 3.24 * M, 1.76 * M, 912.0 * K]),
    ]
}

/// An article of 2013: a USB stick with erase blocks of 8 MiB. One line of the last table is an accident.
fn usb() -> [Table; 3] {
    let one = [20.4, 20.3, 20.3, 20.0, 19.7, 19.2, 18.7, 19.8, 18.7, 16.4, 12.8];
    let two = [20.4, 20.3, 20.4, 19.9, 19.6, 18.9, 18.3, 16.4, 13.2, 8.3, 3.69];
    let three = [20.5, 13.2, 20.3, 19.9, 19.7, 19.0, 18.4, 16.5, 13.2, 8.29, 3.68];
    [(1, one), (2, two), (3, three)].map(|(nr, rates)| table(nr, 8 * MIB, &rates.map(|r| r * M)))
}

/// A post of 2014: Kingston microSDHC of 4 GB. The last table was cut by Ctrl-C.
fn kingston() -> [Table; 4] {
    let one = [6.45, 5.19, 5.19, 5.1, 5.15, 5.14, 5.1, 4.94, 3.71].map(|r| r * M);
    let two = [3.88, 5.19, 5.12, 5.06, 4.99, 4.77, 4.64, 4.53, 3.38].map(|r| r * M);
    let three = [4.47, 5.19, 5.17, 5.12, 4.96, 4.77, 4.65, 4.49, 3.36].map(|r| r * M);
    let four = [6.06 * M, 4.49 * M, 2.82 * M, 1.25 * M, 607.0 * K, 302.0 * K];
    let whole = |nr, rates: &[f64]| table(nr, 4 * MIB, rates);
    [whole(1, &one), whole(2, &two), whole(3, &three), whole(4, &four)]
}

fn value(tables: &[Table]) -> Option<u64> {
    infer(tables).value
}

fn unknown(tables: &[Table], words: &str) {
    let finding: Finding = infer(tables);
    assert_eq!(finding.verdict, Verdict::Unknown, "{finding:?}");
    assert!(finding.reason.contains(words), "{}", finding.reason);
}

// Breaks when the cliff of a published card is no longer seen where its author saw it.
#[test]
fn published_tables() {
    assert_eq!(value(&readme()), Some(2));
    assert_eq!(value(&usb()), Some(1));
    assert_eq!(value(&kingston()), Some(3));
    for tables in [&readme()[..], &usb(), &kingston()] {
        let finding = infer(tables);
        assert!(finding.confidence.is_some_and(|c| c > 0.9 && c < 1.0), "{finding:?}");
    }
}

// Breaks when the order in which files are given decides, or the weakest cliff needs the table beyond it.
#[test]
fn order_and_excess_of_tables_do_not_matter() {
    let mut tables = kingston().to_vec();
    tables.reverse();
    assert_eq!(value(&tables), Some(3));
    assert_eq!(value(&usb()[..2]), Some(1));
    assert_eq!(value(&kingston()[2..]), Some(3));
}

// Breaks when an answer hangs on the last digit of a published table: a second measurement of the same card differs by
// some percent in each line, and by more in one or two.
#[test]
fn published_tables_measured_again() {
    let mut rng = Rng::for_path(11, &[]);
    for (tables, open) in [(&readme()[..], 2), (&usb(), 1), (&kingston(), 3)] {
        let mut found = 0;
        for _ in 0..400 {
            let mut again = tables.to_vec();
            let rows: Vec<&mut Row> = again.iter_mut().flat_map(|table| &mut table.rows).collect();
            for row in rows {
                row.ns_per_io *= 1.0 + 0.06 * (rng.unit() - 0.5);
                row.ns_per_io *= if rng.below(40) == 0 { 1.5 } else { 1.0 };
            }
            let finding = infer(&again);
            assert!(
                finding.value.is_none_or(|value| value == open),
                "{open}: {finding:?} {again:?}"
            );
            found += u32::from(finding.value == Some(open));
        }
        assert!(found >= 320, "{open}: found {found} of 400 times");
    }
}

// Breaks when a number is guessed for which there is no table.
#[test]
fn missing_tables_leave_a_range() {
    unknown(&readme()[..1], "at least 2");
    unknown(&kingston()[..3], "at least 3");
    let [one, two, _, four] = kingston();
    unknown(&[one.clone(), two, four.clone()], "between 2 and 3");
    unknown(std::slice::from_ref(&four), "between 1 and 3");
    unknown(&[one, four], "between 1 and 3");
    unknown(&[], "no table");
}

// Breaks when the accident at 4 MiB counts as a cliff by itself: the table differs from another only there.
#[test]
fn a_single_bad_line_is_no_cliff() {
    let [_, two, three] = usb();
    let fast = Table { nr: 2, ..three };
    unknown(&[Table { nr: 1, ..two }, fast], "at least 2");
    let [one, ..] = usb();
    for line in 0..one.rows.len() {
        let mut bad = Table { nr: 2, ..one.clone() };
        bad.rows[line].ns_per_io *= 8.0;
        unknown(&[one.clone(), bad], "at least 2");
    }
}

// Breaks when a slow beginning of a table counts as a cliff, or leaves it undecided: small writes show that it is none.
#[test]
fn slow_large_writes_are_no_cliff() {
    let one = [9.0, 9.0, 8.9, 8.8, 8.5, 8.0, 7.1, 5.9].map(|r| r * M);
    let two = [1.9, 3.6, 7.2, 8.7, 8.4, 8.0, 7.0, 5.9].map(|r| r * M);
    let three = [8.9, 6.9, 4.4, 2.5, 1.35, 0.7, 0.35, 0.18].map(|r| r * M);
    let tables = [table(1, 4 * MIB, &one), table(2, 4 * MIB, &two), table(3, 4 * MIB, &three)];
    unknown(&tables[..2], "at least 2");
    assert_eq!(value(&tables), Some(2));
}

// Breaks when only the smallest writes are looked at: here a log takes them, and they are fast beside a cliff.
#[test]
fn a_log_for_small_writes_does_not_hide_the_cliff() {
    let fast = [9.1, 9.0, 8.9, 8.9, 8.8, 8.5, 8.0, 7.1, 5.0, 3.4, 2.1].map(|r| r * M);
    let mut slow: Vec<f64> = [8.8, 8.1, 4.9, 2.9, 1.6, 0.85, 0.44, 0.22].map(|r| r * M).to_vec();
    slow.extend([3.3 * M, 2.9 * M, 2.0 * M]);
    assert_eq!(value(&[table(5, 4 * MIB, &fast), table(6, 4 * MIB, &slow)]), Some(5));
}

// Breaks when slower by a share is taken for slower by a time: planes in turn are not a cliff.
#[test]
fn slower_in_proportion_is_no_cliff() {
    let one = [8.8, 8.8, 8.7, 8.6, 8.3, 7.8, 7.0].map(|r| r * M);
    let two = one.map(|rate| rate / 1.9);
    unknown(&[table(1, 4 * MIB, &one), table(2, 4 * MIB, &two)], "at least 2");
    let three = [4.6, 4.5, 3.1, 1.7, 0.88, 0.45, 0.22].map(|r| r * M);
    let tables = [&one, &two, &three];
    let tables: Vec<Table> =
        tables.iter().zip(1..).map(|(rates, nr)| table(nr, 4 * MIB, *rates)).collect();
    assert_eq!(value(&tables), Some(2));
}

// Breaks when tables that contradict each other are averaged into an answer.
#[test]
fn contradictions_are_unknown() {
    let [one, two, three, four] = kingston();
    let fast = Table { nr: 5, ..three.clone() };
    unknown(&[one, two, three, four, fast], "slow");
}

// Breaks when small writes of one block at random are not compared with the same in order: none may be open then.
#[test]
fn random_writes_are_measured_by_linear_ones() {
    let [one, two, three, four] = kingston();
    let random = |nr, table: &Table| Table { nr, order: Order::Random, rows: table.rows.clone() };
    let tables = [random(1, &four), one.clone(), two];
    let finding = infer(&tables);
    assert_eq!((finding.name, finding.value), (Name::OpenAuRandom, Some(0)));
    assert_eq!(infer(&[random(1, &three), random(2, &four), one]).value, Some(1));
}

// Breaks when a line that no device can print (a rate of 0, a size of 0) leads to a panic or to a number.
#[test]
fn lines_without_sense_say_nothing() {
    let bad = |nr| Table {
        nr,
        order: Order::Linear,
        rows: [(0, 1.0), (4 * KIB, f64::INFINITY), (KIB, -3.0), (2 * KIB, f64::NAN)]
            .map(|(len_bytes, ns_per_io)| Row { len_bytes, ns_per_io, error_ns: None })
            .to_vec(),
    };
    unknown(&[bad(1), bad(2)], "no table");
    unknown(&[bad(0)], "no table");
}
