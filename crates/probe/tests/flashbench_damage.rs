//! Damaged texts: whatever is in them, reading ends soon, with tables that make sense or an error that says where.

use std::time::{Duration, Instant};

use crate::common::{CASES, SOURCES, Text, if_beside};
use drivescope_probe::flashbench::{Note, ParseError, Parsed, TEXT_BYTES_MAX, Table, parse};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence::WithSource;

/// How often each text is damaged.
const ROUNDS: u32 = 2000;

/// Longest that reading a text of some kilobytes may take, on a busy machine without optimisation.
const PATIENCE: Duration = Duration::from_secs(2);

/// A table of each kind, for machines that have no published ones.
fn own() -> Vec<Text> {
    let served = ["sdcard-4m", "usb-8m"].map(|model| {
        let root = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let name = format!("serve-{model}.txt");
        (name.clone(), std::fs::read(root.join("docs/validation").join(name)).unwrap())
    });
    let fat = "# find-fat\n4MiB    865K/s   3.56M/s  \n2MiB    4.3M/s   4.88M/s  \n";
    let point = |at: u32| format!("{:.6}\t{:.6}\n", f64::from(at) / 128.0, 1.65);
    let scatter: String = (0..64).map(point).collect();
    let own = [("fat.txt", fat.to_owned()), ("scatter.txt", scatter)];
    served.into_iter().chain(own.map(|(name, text)| (name.to_owned(), text.into_bytes()))).collect()
}

fn texts() -> Vec<Text> {
    let published = [(CASES, ""), (SOURCES, "000_"), (SOURCES, "002_")];
    let published =
        published.iter().filter_map(|(place, prefix)| if_beside(place, prefix)).flatten();
    own().into_iter().chain(published).collect()
}

/// Numbers from a fixed seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

/// Words at which the reader looks closely.
const WORDS: [&str; 24] = [
    "align ",
    "pre ",
    "on ",
    "post ",
    "diff ",
    "µs",
    "\u{b5}",
    "\n",
    "\t",
    "> ",
    "# ",
    "MiB ",
    "KiB ",
    "M/s",
    "-",
    "1e+03",
    ",",
    "...",
    "nr=",
    "$[",
    "flashbench -O --open-au-nr=",
    "0.000000\t",
    "\\\n",
    "99999999999999999999",
];

/// One to four damages, of the kinds that copying, mailing and editing do, and of none that anybody does.
fn damaged(text: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(text.len() + 1);
        let end = (at + numbers.below(40)).min(text.len());
        match numbers.below(7) {
            0 => drop(text.drain(at..end)),
            1 => text.truncate(at),
            2 => {
                if let Some(byte) = text.get_mut(at) {
                    *byte = numbers.below(256) as u8;
                }
            }
            3 => {
                let word = WORDS[numbers.below(WORDS.len())];
                text.splice(at..at, word.bytes());
            }
            4 => {
                let copy = text[at..end].to_vec();
                let to = numbers.below(text.len() + 1);
                text.splice(to..to, copy);
            }
            5 => {
                let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
                let turn = numbers.below(lines.len());
                text = [lines[turn..].concat(), lines[..turn].concat()].concat();
            }
            _ => text.retain(|byte| *byte != b'\n' || numbers.below(3) > 0),
        }
    }
    text
}

/// Checks the invariants of every answer.
fn check(name: &str, text: &[u8]) -> Result<Vec<Parsed>, ParseError> {
    let begun = Instant::now();
    let answer = parse(name, text);
    assert!(begun.elapsed() < PATIENCE, "{name}: {:?}", begun.elapsed());
    let lines = text.iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
    match &answer {
        Ok(all) => {
            assert!(!all.is_empty());
            all.iter().for_each(|parsed| check_table(parsed, lines));
        }
        Err(error) => {
            assert!(error.to_string().starts_with(name), "{error}");
            if let ParseError::Row { line, expected, .. } = error {
                assert!((1..=lines).contains(line) && !expected.is_empty(), "{error}");
            }
        }
    }
    answer
}

fn check_table(parsed: &Parsed, lines: u32) {
    let (first, last) = parsed.lines;
    assert!(1 <= first && first <= last && last <= lines, "{parsed:?}");
    assert!(parsed.notes.iter().all(|Note { line, .. }| (1..=lines).contains(line)), "{parsed:?}");
    let is_time = |ns: f64, step: f64| ns.is_finite() && step.is_finite() && step > 0.0;
    let is_rate = |rate: f64, step: f64| is_time(rate, step) && rate >= 0.0;
    let falls = |sizes: &[u64]| sizes.windows(2).all(|pair| pair[0] > pair[1] && pair[1] > 0);
    let sound = match &parsed.table {
        Table::Align(table) => {
            let sizes: Vec<u64> = table.rows.iter().map(|row| row.align_bytes).collect();
            falls(&sizes)
                && table.rows.iter().all(|row| {
                    let r = &row.resolution;
                    let parts =
                        [(row.pre_ns, r.pre_ns), (row.on_ns, r.on_ns), (row.post_ns, r.post_ns)];
                    parts.iter().all(|(ns, step)| is_rate(*ns, *step))
                        && row.diff_ns.is_none_or(|diff| is_time(diff, r.diff_ns))
                })
        }
        Table::OpenAu(table) => {
            let sizes: Vec<u64> = table.rows.iter().map(|row| row.len_bytes).collect();
            let rates = table.rows.iter().map(|row| row.rate);
            falls(&sizes)
                && rates.into_iter().all(|rate| is_rate(rate.bytes_per_s, rate.step_bytes_per_s))
                && table.nr.is_none_or(|nr| nr > 0)
                && table.nr.is_some() == table.nr_from.is_some()
        }
        Table::FindFat(table) => {
            let sizes: Vec<u64> = table.rows.iter().map(|row| row.len_bytes).collect();
            let columns = table.rows[0].rates.len();
            let rates = table.rows.iter().flat_map(|row| &row.rates);
            falls(&sizes)
                && table.rows.iter().all(|row| row.rates.len() == columns)
                && rates.into_iter().all(|rate| is_rate(rate.bytes_per_s, rate.step_bytes_per_s))
        }
        Table::Scatter(table) => {
            table.points.windows(2).all(|pair| pair[0].offset_bytes < pair[1].offset_bytes)
                && table.points.iter().all(|point| point.ns.is_finite() && point.ns >= 0.0)
        }
        Table::Other(other) => other.lines > 0,
    };
    assert!(sound, "{parsed:?}");
}

// Breaks when damage makes the reader panic, run on, or answer with rows that cannot be; or when every damaged text is
// refused, so that nothing was tried.
#[test]
fn damaged_tables_are_read_or_refused() {
    for (seed, (name, text)) in (1..).zip(texts()) {
        check(&name, &text).unwrap();
        let mut numbers = Numbers(seed);
        let read =
            (0..ROUNDS).filter(|_| check(&name, &damaged(&text, &mut numbers)).is_ok()).count();
        let share = read as f64 / f64::from(ROUNDS);
        assert!((0.1..1.0).contains(&share), "{name}: {read} of {ROUNDS} were read");
    }
}

// Breaks when time or memory grows faster than a text does: one step of the reader looks at all of it for each line
// or word.
#[test]
fn long_texts_take_time_in_proportion() {
    let row = "align 4096 pre 1µs on 2µs post 1µs diff 1µs ";
    let parts = [
        "align 4096 pre ",
        "flashbench ",
        "flashbench -a ",
        "nr=",
        "$[",
        "4MiB ",
        "4MiB 1M/s ",
        "8.1M/s ",
        row,
        "# align 1 pre ",
        "\\\n",
        "> ",
        "1 2\n",
        "align 1 pre 1s on 1s post 1s diff 1s\n",
        "\u{1b}[",
        "(((",
        "0.000000\t0.000000\n",
        "4MiB 3 ",
        "bytes 1, time 1 overhead 1\nnr=3\n",
        "-",
        "align",
        " bytes",
    ];
    // Without optimisation a byte takes some nanoseconds; quadratic time would take hours.
    for part in parts {
        let text = part.repeat((1 << 20) / part.len());
        let begun = Instant::now();
        let _ = parse("long", text.as_bytes());
        assert!(begun.elapsed() < Duration::from_secs(20), "{part:?}: {:?}", begun.elapsed());
    }
    for byte in *b"x\n \\" {
        assert!(parse("long", &vec![byte; TEXT_BYTES_MAX]).is_err());
    }
    // As many points as flashbench can measure, and far more.
    let points = |count: u32| (0..count).map(|at| format!("{}\t1\n", u64::from(at) * 512));
    assert!(parse("long", points(1 << 16).collect::<String>().as_bytes()).is_ok());
    let error = parse("long", points(1 << 18).collect::<String>().as_bytes()).unwrap_err();
    assert!(matches!(error, ParseError::TooManyRows { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: Some(Box::new(WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    // Breaks when bytes that are not text make the reader panic.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = check("bytes", &bytes);
    }

    // Breaks when words of tables in any order do.
    #[test]
    fn any_words_of_tables_are_read_or_refused(
        words in proptest::collection::vec((0..WORDS.len(), 0u64..1 << 40, "[ -~]{0,6}"), 0..60),
    ) {
        let text: String =
            words.iter().map(|(at, number, any)| format!("{}{number} {any}", WORDS[*at])).collect();
        let _ = check("words", text.as_bytes());
    }
}
