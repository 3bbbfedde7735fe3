//! The texts of CrystalDiskMark, of the forms of its versions 3, 6 and 8.

use std::fmt::Write as _;

use block::Nanos;
use drivescope_pts::judge::Format;
use drivescope_pts::judge::measured::Way;
use proptest::prelude::*;

use super::{cut_is_no_part, ended, near, read_one, shares};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Version {
    Three,
    Six,
    Eight,
}

/// A test and what was shown of it, in the places that are shown: thousandths of MB/s, tenths of IOPS, hundredths of µs.
#[derive(Clone, Copy, Debug)]
struct Shown {
    is_random: bool,
    kib: u64,
    depth: u16,
    threads: u16,
    way: Way,
    mb_s: u64,
    iops: u64,
    us: u64,
}

fn shown() -> impl Strategy<Value = Shown> {
    let ways = prop::sample::select(&[Way::Read, Way::Write, Way::Both]);
    let load = (any::<bool>(), 0..14_u32, 1..513_u16, 1..65_u16, ways);
    // A test that was not run is shown as 0 and is not a result.
    let mb_s = prop_oneof![1 => Just(0), 9 => 1..100_000_000_u64];
    (load, mb_s, 1..100_000_000_u64, 1..100_000_000_u64).prop_map(|(load, mb_s, iops, us)| Shown {
        is_random: load.0,
        kib: 1 << load.1,
        depth: load.2,
        threads: load.3,
        way: load.4,
        mb_s,
        iops,
        us,
    })
}

impl Shown {
    /// The test as a version can have it: before 7 there is no mix, and before 4 there are no threads.
    fn of(self, version: Version) -> Shown {
        let way = match (version, self.way) {
            (Version::Three | Version::Six, Way::Both) => Way::Read,
            (_, way) => way,
        };
        let (depth, threads) = match version {
            Version::Three if !self.is_random => (0, 0),
            Version::Three => (self.depth, 1),
            _ => (self.depth, self.threads),
        };
        Shown { way, depth, threads, ..self }
    }

    fn line(&self, version: Version) -> String {
        let size = |unit: &str, gap: &str| match self.kib {
            kib if kib >= 1024 && unit.starts_with('i') => format!("{}{gap}M{unit}", kib / 1024),
            kib => format!("{kib}{gap}K{unit}"),
        };
        let way = if self.way == Way::Write { "Write" } else { "Read" };
        let (q, t) = (self.depth, self.threads);
        let (mb_s, iops, us) =
            (self.mb_s as f64 / 1e3, self.iops as f64 / 1e1, self.us as f64 / 1e2);
        match (version, self.is_random) {
            (Version::Three, false) => {
                format!("{:>27} : {mb_s:9.3} MB/s\n", format!("Sequential {way}"))
            }
            (Version::Three, true) => {
                let label = format!("Random {way} {} (QD={q})", size("B", ""));
                format!("{label:>27} : {mb_s:9.3} MB/s [{iops:8.1} IOPS]\n")
            }
            (Version::Six, false) => {
                format!("  Sequential {way} (Q={q:3},T={t:2}) : {mb_s:9.3} MB/s\n")
            }
            (Version::Six, true) => {
                let label = format!("Random {way} {} (Q={q:3},T={t:2})", size("iB", ""));
                format!("  {label} : {mb_s:9.3} MB/s [{iops:9.1} IOPS]\n")
            }
            (Version::Eight, _) => {
                let word = if self.is_random { "RND" } else { "SEQ" };
                let block = size("iB", "");
                format!(
                    "  {word} {block:>7} (Q={q:3}, T={t:2}): {mb_s:9.3} MB/s [{iops:9.1} IOPS] <{us:9.2} us>\n"
                )
            }
        }
    }
}

/// A text as it is saved; `comment` is the user's own line below it.
fn text(version: Version, tests: &[Shown], mix: u8, comment: &str) -> String {
    let rule = "-".repeat(78);
    let (number, byte) = match version {
        Version::Three => ("3.0.4", "byte"),
        Version::Six => ("6.0.2", "bytes"),
        Version::Eight => ("8.0.5", "bytes"),
    };
    let mut text = format!(
        "{rule}\nCrystalDiskMark {number} x64 (C) 2007-2024 hiyohiyo\n{rule}\n\
         * MB/s = 1,000,000 {byte}/s [SATA/600 = 600,000,000 {byte}/s]\n\n"
    );
    if version != Version::Eight {
        tests.iter().for_each(|test| text += &test.line(version));
        let end = "\n  Test : 1024 MiB [D: 40.1% (5.1/12.7 GiB)] (x5)  [Interval=5 sec]\n  Date : 2018/01/01\n";
        let _ = write!(text, "{end}    OS : Windows 10 [10.0 Build 16299] (x64)\n  {comment}");
        return text;
    }
    let mixed = format!("Mix] Read {mix}%/Write {}%", 100 - mix);
    for (way, head) in [(Way::Read, "Read]"), (Way::Write, "Write]"), (Way::Both, &mixed)] {
        let _ = writeln!(text, "[{head}");
        tests.iter().filter(|test| test.way == way).for_each(|test| text += &test.line(version));
        text.push('\n');
    }
    let end = "Profile: Default\n   Test: 16 GiB (x5) [C: 45% (210/465GiB)]\n   Mode: [Admin]\n";
    let time = "   Time: Measure 5 sec / Interval 5 sec\n   Date: 2024/11/02 21:14:09\n     OS: Windows 11 (x64)\n";
    let _ = write!(text, "{end}{time}{comment}");
    text
}

/// Of each direction after the other, as version 8 lists them.
fn in_order(version: Version, tests: &[Shown]) -> Vec<Shown> {
    let mut tests: Vec<Shown> = tests.iter().map(|test| test.of(version)).collect();
    if version == Version::Eight {
        tests.sort_by_key(|test| test.way);
    }
    tests
}

fn versions() -> impl Strategy<Value = Version> {
    prop::sample::select(&[Version::Three, Version::Six, Version::Eight])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    // A figure of another line, or a comment of the user's taken for a result, would pass for a test that never ran.
    #[test]
    fn a_text_is_read_as_it_was_saved(
        version in versions(),
        tests in prop::collection::vec(shown(), 1..12),
        mix in 1..100_u8,
        comment in prop::sample::select(&["", "a good drive", "Box: 3500.0 MB/s, said [Mix]", "slow, 12 MB/s\nReally"]),
        is_windows in any::<bool>(),
    ) {
        let tests = in_order(version, &tests);
        let text = ended(&text(version, &tests, mix, comment), is_windows);
        let expected: Vec<&Shown> = tests.iter().filter(|test| test.mb_s > 0).collect();
        if expected.is_empty() {
            prop_assert!(read_one("c.txt", &text).is_err());
            return Ok(());
        }
        let results = read_one("c.txt", &text).unwrap();
        prop_assert_eq!(results.len(), expected.len());
        for (result, test) in results.iter().zip(expected) {
            let [found] = result.measured.as_slice() else { panic!("{result:?}") };
            let asked = &result.asked;
            prop_assert_eq!(found.way, test.way);
            prop_assert_eq!(asked.random, Some(test.is_random));
            let is_block_told = version == Version::Eight || test.is_random;
            prop_assert_eq!(result.load.block_bytes, is_block_told.then_some(test.kib * 1024));
            let told = |count: u16| Some(count).filter(|count| *count > 0);
            prop_assert_eq!((asked.depth, asked.threads), (told(test.depth), told(test.threads)));
            prop_assert_eq!(asked.reads_percent, (test.way == Way::Both).then_some(mix));
            prop_assert!(near(found.bytes_per_s, test.mb_s as f64 * 1e3));
            let iops = test.iops as f64 / 10.0;
            prop_assert_eq!(found.iops, is_block_told.then_some(iops));
            let mean = found.latency.mean_ns;
            prop_assert_eq!(mean.is_some(), version == Version::Eight);
            prop_assert!(mean.is_none_or(|ns| near(ns, test.us as f64 * 10.0)));
            let target = if version == Version::Eight { "C:" } else { "D:" };
            prop_assert_eq!(asked.target.as_deref(), Some(target));
            let (gib, time) = match version {
                Version::Eight => (16, Some(Nanos::secs(5))),
                _ => (1, None),
            };
            prop_assert_eq!((result.range_bytes, asked.duration), (Some(gib << 30), time));
        }
    }

    // Of a text without its end, tests are missed that ran, and the zeros that were written.
    #[test]
    fn a_text_that_was_cut_off_is_refused(
        version in versions(),
        tests in prop::collection::vec(shown(), 1..6),
        is_windows in any::<bool>(),
        share in shares(),
    ) {
        let mut tests = in_order(version, &tests);
        tests[0].mb_s += 1;
        let text = ended(&text(version, &tests, 70, ""), is_windows);
        cut_is_no_part("c.txt", Format::CrystalDiskMark, &text, share)?;
    }

    // Programs of the same form write a comma in some languages: what cannot be read has to be said, and where.
    #[test]
    fn figures_of_another_language_are_refused_with_their_line(
        version in versions(),
        test in shown(),
        sign in prop::sample::select(&[",", "'", "\u{a0}", "."]),
        is_thousands in any::<bool>(),
    ) {
        let mut test = test.of(version);
        test.mb_s = 1_234_567;
        let lines = text(version, &[test], 70, "");
        let written = match is_thousands {
            true => format!("1{sign}234.567"),
            false => format!("1234{}567", if sign == "." { "," } else { sign }),
        };
        let error = read_one("c.txt", &lines.replace("1234.567", &written)).unwrap_err();
        let line = 1 + lines.lines().position(|line| line.contains("1234.567")).unwrap() as u64;
        prop_assert_eq!(error.line, Some(line));
    }
}
