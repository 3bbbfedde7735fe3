//! The zone at the beginning, of drives whose truth is known and in tables.

use crate::cards::{Score, at_desk, drawn};
use block::{Bytes, Nanos};
use drivescope_probe::fat::{Evidence, Row, Table, infer, probe};
use drivescope_probe::{Known, Name, Outcome, Terms, Verdict};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn ask(spec: &str, known: &Known, change: impl FnOnce(&mut Terms)) -> Outcome<Evidence> {
    at_desk(spec, change, |desk| probe(desk, known).unwrap()).0
}

fn knowing(values: &[(Name, u64)]) -> Known {
    let mut known = Known::new();
    values.iter().for_each(|(name, value)| known.give(*name, *value));
    known
}

/// A table of rates in MB/s, from `top` bytes down, each size half the one before.
fn table(unit: u64, top: u64, rows: &[&[f64]]) -> Table {
    let row = |(step, rates): (usize, &&[f64])| {
        let len_bytes = top >> step;
        let ns_per_io = rates.iter().map(|rate| 1e3 * len_bytes as f64 / rate).collect();
        Row { len_bytes, ns_per_io }
    };
    Table { erase_block_bytes: unit, rows: rows.iter().enumerate().map(row).collect() }
}

/// A post of 2014: Kingston microSDHC of 4 GB, "doesn't appear to be any special FAT area".
fn kingston() -> Table {
    table(
        4 * MIB,
        4 * MIB,
        &[
            &[0.865, 3.56, 3.01, 5.13, 5.14, 5.12],
            &[4.3, 4.88, 5.11, 5.16, 5.11, 5.3],
            &[3.99, 4.9, 5.23, 5.18, 5.17, 5.15],
            &[3.88, 4.81, 5.15, 5.16, 5.16, 5.15],
            &[4.35, 4.38, 5.17, 5.18, 5.17, 5.16],
            &[3.78, 4.8, 5.13, 5.12, 5.15, 5.14],
            &[4.27, 4.74, 5.08, 5.03, 5.08, 5.07],
            &[3.62, 4.29, 4.97, 4.96, 4.96, 4.95],
            &[3.01, 3.31, 3.74, 4.29, 4.3, 4.29],
        ],
    )
}

// Breaks when a slower beginning is taken for a zone for tables, whose sign is that small writes are faster.
#[test]
fn a_slower_beginning_is_no_zone() {
    assert_ne!(infer(&kingston()).verdict, Verdict::Found);
    let even = Table {
        rows: kingston()
            .rows
            .into_iter()
            .map(|mut row| {
                row.ns_per_io.drain(..2);
                row
            })
            .collect(),
        ..kingston()
    };
    // Four erase blocks may all lie in a zone.
    assert_eq!(infer(&even).verdict, Verdict::Unknown, "{:?}", infer(&even));
    let long = Table { erase_block_bytes: 64 << 20, ..even };
    assert_eq!(infer(&long).verdict, Verdict::None, "{:?}", infer(&long));
}

// Breaks when a zone is not seen, is seen one column too long or too short, or a bad cell hides it.
#[test]
fn faster_columns_are_a_zone() {
    let fast = [9.4, 9.3, 9.0, 8.4, 7.1, 5.2];
    let slow = [9.3, 8.8, 6.9, 4.2, 2.2, 1.1];
    for zone in 1..=3 {
        let rows: Vec<Vec<f64>> = fast
            .iter()
            .zip(slow)
            .map(|(fast, slow)| {
                (0..6).map(|column| if column < zone { *fast } else { slow }).collect()
            })
            .collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let mut table = table(2 * MIB, 512 * KIB, &rows);
        table.rows[0].ns_per_io[5] *= 6.0;
        let finding = infer(&table);
        assert_eq!(finding.value, Some(zone as u64 * 2 * MIB), "{finding:?}");
        assert!(finding.low < finding.value && finding.high == finding.value);
        table.erase_block_bytes = 0;
        assert_eq!(
            infer(&table).verdict,
            Verdict::Unknown,
            "no number without the distance of columns"
        );
    }
}

// Breaks when a zone that ends inside a column is said to fill it.
#[test]
fn a_zone_that_ends_inside_a_column_has_no_number() {
    let rows = [
        [9.0, 8.9, 7.0, 6.0, 6.1, 6.0],
        [8.0, 8.1, 5.2, 4.0, 4.0, 4.1],
        [7.0, 7.0, 4.0, 2.4, 2.5, 2.4],
    ];
    let rows = rows.each_ref().map(|row| &row[..]);
    let finding = infer(&table(MIB, MIB, &[rows[0], rows[1], rows[2], rows[2], rows[2]]));
    assert_eq!(finding.verdict, Verdict::Unknown);
    assert!(finding.reason.contains("inside erase block 2"), "{}", finding.reason);
}

// Breaks when a table that ends inside the zone, or has too little, leads to a number.
#[test]
fn tables_that_do_not_decide() {
    let row: &[f64] = &[7.0, 7.0, 7.0, 7.0, 7.0, 1.0];
    assert_eq!(infer(&table(MIB, MIB, &[row; 5])).verdict, Verdict::Unknown);
    assert_eq!(infer(&table(MIB, MIB, &[row; 1])).verdict, Verdict::Unknown);
    assert_eq!(infer(&table(MIB, MIB, &[&[1.0, 2.0][..]; 4])).verdict, Verdict::Unknown);
    assert_eq!(infer(&table(MIB, MIB, &[])).verdict, Verdict::Unknown);
    assert_eq!(infer(&table(MIB, MIB, &[&[0.0, 0.0, 0.0][..]; 4])).verdict, Verdict::Unknown);
}

// Breaks when the end of a drawn zone is not found to the byte, or one is found where there is none; with and
// without knowing the erase block.
#[test]
fn drawn_cards() {
    let mut scores = [Score::default(); 2];
    for seed in 0..60 {
        let (spec, truth) = drawn(seed, [0.1, 0.5, 1.0][seed as usize % 3]);
        let zone = truth.fat_zone_bytes.map(|n| n.0);
        let unit = knowing(&[(Name::EraseBlock, truth.erase_block_bytes.unwrap().0)]);
        for (known, score) in [unit, Known::new()].iter().zip(&mut scores) {
            let outcome = ask(&spec, known, |terms| terms.seed = seed);
            score.count(&spec, &outcome.findings[0], zone);
        }
    }
    assert!(scores.iter().all(|score| score.wrong == 0), "{scores:?}");
    assert!(scores[0].unknown <= 2 && scores[1].unknown <= 6, "{scores:?}");
}

// Breaks when what earlier probes found is not used, or is believed although it is wrong.
#[test]
fn what_is_known_saves_writes() {
    let unit = (Name::EraseBlock, 8 * MIB);
    let alone = ask("sim:usb-8m", &knowing(&[unit]), |_| {});
    let all = [unit, (Name::OpenAuLinear, 1), (Name::SlowZone, 4 * MIB)];
    let knowing_all = ask("sim:usb-8m", &knowing(&all), |_| {});
    for outcome in [&alone, &knowing_all] {
        assert_eq!(outcome.findings[0].value, Some(4 * MIB), "{:?}", outcome.findings);
        assert_eq!(outcome.findings[0].low, Some(4 * MIB));
    }
    assert!(knowing_all.evidence.places.len() < alone.evidence.places.len());
    assert!(knowing_all.evidence.written_bytes < alone.evidence.written_bytes);
    let wrong = [unit, (Name::OpenAuLinear, 1), (Name::SlowZone, 6 * MIB)];
    let outcome = ask("sim:usb-8m", &knowing(&wrong), |_| {});
    assert_eq!(outcome.findings[0].value, Some(4 * MIB), "{:?}", outcome.findings);
    let wrong = [unit, (Name::OpenAuLinear, 3)];
    let outcome = ask("sim:usb-8m", &knowing(&wrong), |_| {});
    assert_eq!(outcome.findings[0].verdict, Verdict::Unknown, "{:?}", outcome.findings);
}

// Breaks when a stick without a zone is not denied one once it is written: reads alone leave that open.
#[test]
fn writes_deny_what_reads_leave_open() {
    let known = knowing(&[(Name::EraseBlock, 4 * MIB)]);
    let outcome = ask("sim:usb-tlc", &known, |_| {});
    assert_eq!(outcome.findings[0].verdict, Verdict::None, "{:?}", outcome.findings);
}

// Breaks when a drive that knows no open blocks gets a zone.
#[test]
fn drives_without_a_limit() {
    for model in ["optane", "enterprise-28op", "mlc-nvme", "hdd-7200", "sdcard-4m", "card-3m"] {
        let outcome = ask(&format!("sim:{model}?seed=5"), &Known::new(), |_| {});
        assert_ne!(outcome.findings[0].verdict, Verdict::Found, "{model}: {:?}", outcome.findings);
    }
}

// Breaks when a limit is a failure or is passed, or a part of the drive that is not its beginning is asked.
#[test]
fn limits_end_in_unknown() {
    let verdict = |change: fn(&mut Terms)| {
        let known = knowing(&[(Name::EraseBlock, 8 * MIB), (Name::OpenAuLinear, 1)]);
        let outcome = ask("sim:usb-8m", &known, change);
        assert!(outcome.evidence.written_bytes <= 4 << 30);
        outcome.findings[0].verdict
    };
    assert_eq!(verdict(|terms| terms.may_write = false), Verdict::Unknown);
    assert_eq!(verdict(|terms| terms.write_budget = Bytes(3 << 20)), Verdict::Unknown);
    assert_eq!(verdict(|terms| terms.time_budget = Nanos::millis(100)), Verdict::Unknown);
    assert_eq!(verdict(|terms| terms.region.length = Bytes(9 << 20)), Verdict::Unknown);
    assert_eq!(verdict(|terms| terms.region.offset = Bytes(1 << 20)), Verdict::Unknown);
}
