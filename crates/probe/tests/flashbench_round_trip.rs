//! Tables printed in flashbench's form are read back unchanged, and real output of flashbench is printed again byte
//! for byte from what was parsed.

use std::fs;
use std::path::PathBuf;

use drivescope_probe::flashbench::{DiffFrom, NoteKind, Parsed, Table, parse};
use formats::flashbench as print;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence::WithSource;

/// The rows of a table as they would be printed.
fn printed(parsed: &Parsed) -> Vec<String> {
    let ns = |ns: f64| ns as i64;
    let rate = |rate: f64| rate as u64;
    match &parsed.table {
        Table::Align(table) => {
            let row = |row: &drivescope_probe::flashbench::AlignRow| {
                let diff = row.diff_ns.unwrap();
                print::align(
                    row.align_bytes,
                    ns(row.pre_ns),
                    ns(row.on_ns),
                    ns(row.post_ns),
                    ns(diff),
                )
            };
            table.rows.iter().map(row).collect()
        }
        Table::OpenAu(table) => {
            let rows = table.rows.iter();
            rows.map(|row| print::open_au(row.len_bytes, rate(row.rate.bytes_per_s))).collect()
        }
        Table::FindFat(table) => {
            let rows = table.rows.iter().map(|row| {
                let rates: Vec<u64> = row.rates.iter().map(|r| rate(r.bytes_per_s)).collect();
                print::find_fat(row.len_bytes, &rates)
            });
            rows.collect()
        }
        Table::Scatter(table) => table
            .points
            .iter()
            .map(|point| print::scatter(point.offset_bytes, ns(point.ns)))
            .collect(),
        Table::Other(other) => panic!("{other:?}"),
    }
}

// Breaks when reading or printing loses or changes a digit, a unit or a space of what Debian's flashbench printed of
// served drives.
#[test]
fn real_output_is_printed_again_to_the_byte() {
    let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/validation");
    for name in ["serve-sdcard-4m.txt", "serve-usb-8m.txt"] {
        let text = fs::read_to_string(kept.join(name)).unwrap();
        let all = parse(name, text.as_bytes()).unwrap();
        let again: Vec<String> = all.iter().flat_map(printed).collect();
        let lines: Vec<&str> =
            text.lines().filter(|line| !line.is_empty() && !line.starts_with('$')).collect();
        assert_eq!(again, lines, "{name}");
        assert!(all.iter().all(|parsed| parsed.notes.is_empty()), "{all:?}");
    }
}

/// Times below a second: longer ones may have been microseconds, which has its own tests.
const TIME: std::ops::Range<i64> = 1..1_000_000_000;

/// Numbers of every size alike.
fn any_size(most: f64) -> impl Strategy<Value = u64> {
    (0.0..most.log10()).prop_map(|power| 10f64.powf(power) as u64)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    // Breaks when a figure is read as anything that is not printed so, or for more exact than it is.
    #[test]
    fn align_rows_come_back(
        rows in proptest::collection::vec([any_size(1e9), any_size(1e9), any_size(1e9)], 1..30),
    ) {
        let values = |row: &[u64; 3]| row.map(|ns| (ns as i64).clamp(TIME.start, TIME.end - 1));
        let rows: Vec<_> = rows.iter().map(values).collect();
        let diff = |[pre, on, post]: [i64; 3]| on - (pre + post) / 2;
        let line = |(at, row): (usize, &[i64; 3])| {
            print::align(1 << (40 - at), row[0], row[1], row[2], diff(*row)) + "\n"
        };
        let text: String = rows.iter().enumerate().map(line).collect();
        let all = parse("printed", text.as_bytes()).unwrap();
        prop_assert_eq!(all.len(), 1);
        let Table::Align(table) = &all[0].table else { panic!("{all:?}") };
        prop_assert_eq!(table.rows.len(), rows.len());
        for (row, is) in table.rows.iter().zip(&rows) {
            let r = &row.resolution;
            let within = |got: f64, is: i64, step: f64| (got - is as f64).abs() <= 0.5001 * step;
            prop_assert!(within(row.pre_ns, is[0], r.pre_ns), "{row:?} {is:?}");
            prop_assert!(within(row.on_ns, is[1], r.on_ns), "{row:?} {is:?}");
            prop_assert!(within(row.post_ns, is[2], r.post_ns), "{row:?} {is:?}");
            prop_assert!(within(row.diff_ns.unwrap(), diff(*is), r.diff_ns), "{row:?} {is:?}");
            prop_assert_eq!(row.diff_from, DiffFrom::Printed);
            let off = (row.computed_diff_ns() - diff(*is) as f64).abs();
            prop_assert!(off <= row.computed_diff_off_ns(), "{row:?} {is:?}");
        }
        prop_assert!(all[0].notes.iter().all(|note| note.kind == NoteKind::ZeroTime), "{:?}", all[0].notes);
        // 1e+03µs is 1ms, and printed so.
        if !text.contains("e+") {
            prop_assert_eq!(printed(&all[0]).join("\n") + "\n", text);
        }
    }

    // Breaks when a table with flashbench's own cuts is read as anything but what it measured, or as more exact.
    #[test]
    fn what_flashbench_cuts_is_never_read_as_something_else(
        row in [any_size(1e9), any_size(1e9), any_size(1e9)],
    ) {
        let [pre, on, post] = row.map(|ns| (ns as i64).clamp(TIME.start, TIME.end - 1));
        let diff = on - (pre + post) / 2;
        // As its code does it: a negative time is in nanoseconds, and seven bytes are the most.
        let figure = |ns: i64| {
            let text = if ns < 0 { format!("{ns}ns") } else { print::time(ns) };
            text.as_bytes()[..text.len().min(7)].to_vec()
        };
        let parts: [&[u8]; 8] = [
            b"align 4096\tpre ", &figure(pre), b"\ton ", &figure(on), b"\tpost ", &figure(post),
            b"\tdiff ", &figure(diff),
        ];
        let text = parts.concat();
        let all = parse("cut", &text).unwrap();
        let Table::Align(table) = &all[0].table else { panic!("{all:?}") };
        let row = table.rows[0];
        let within = |got: f64, is: i64, step: f64| (got - is as f64).abs() <= 0.5001 * step;
        prop_assert!(within(row.pre_ns, pre, row.resolution.pre_ns), "{row:?}");
        prop_assert!(within(row.on_ns, on, row.resolution.on_ns), "{row:?}");
        prop_assert!(within(row.post_ns, post, row.resolution.post_ns), "{row:?}");
        let got = row.diff_ns.unwrap();
        prop_assert!(within(got, diff, row.resolution.diff_ns), "{diff}: {row:?}");
    }

    // Breaks when a rate, a size or a column does not come back.
    #[test]
    fn rates_come_back(
        rows in proptest::collection::vec(proptest::collection::vec(any_size(1e12), 1..9), 1..20),
    ) {
        let columns = rows[0].len();
        let rows: Vec<Vec<u64>> =
            rows.iter().map(|row| row.iter().copied().cycle().take(columns).collect()).collect();
        let size = |at: usize| 1u64 << (29 - at);
        let line = |(at, row): (usize, &Vec<u64>)| match &row[..] {
            [rate] => print::open_au(size(at), *rate) + "\n",
            rates => print::find_fat(size(at), rates) + "\n",
        };
        let text: String = rows.iter().enumerate().map(line).collect();
        let all = parse("printed", text.as_bytes()).unwrap();
        prop_assert_eq!(all.len(), 1);
        if let Table::OpenAu(table) = &all[0].table {
            for (row, is) in table.rows.iter().zip(&rows) {
                let off = (row.rate.bytes_per_s - is[0] as f64).abs();
                prop_assert!(off <= 0.5001 * row.rate.step_bytes_per_s, "{row:?} {is:?}");
            }
        }
        // 1e+03µs is 1ms, and printed so.
        if !text.contains("e+") {
            prop_assert_eq!(printed(&all[0]).join("\n") + "\n", text);
        }
    }

    // Breaks when a place or a time of a scatter file is off by a sector or a nanosecond.
    #[test]
    fn scatter_lines_come_back(times in proptest::collection::vec(any_size(1e10), 8..300), span in 0u32..12) {
        let block = 512u64 << span;
        let line = |(at, ns): (u64, &u64)| print::scatter(at * block, *ns as i64) + "\n";
        let text: String = (0..).zip(&times).map(line).collect();
        let all = parse("printed", text.as_bytes()).unwrap();
        let Table::Scatter(table) = &all[0].table else { panic!("{all:?}") };
        prop_assert_eq!(table.points.len(), times.len());
        for (point, (at, ns)) in table.points.iter().zip((0..).zip(&times)) {
            prop_assert_eq!((point.offset_bytes, point.ns), (at * block, *ns as f64));
        }
    }
}
