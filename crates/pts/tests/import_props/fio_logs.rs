//! fio's logs: of single I/Os, of windows, and of histograms.

use drivescope_pts::judge::measured::{Measured, Way};
use drivescope_pts::judge::{Format, Text, read};
use proptest::prelude::*;
use stats::fio_bins;

use super::{cut, cut_is_no_part, ended, near, read_one, shares};

/// How a version of fio, and its options, write a line.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// Columns after the block size: none in version 2, then the priority, offset and time of issue.
    behind: &'static str,
    separator: &'static str,
    has_greatest: bool,
    is_windows: bool,
}

fn forms() -> impl Strategy<Value = Form> {
    let behind = prop::sample::select(&["", "|0", "|0x0000", "|8192|0", "|8192|0x4001|77123"]);
    (behind, prop::sample::select(&[", ", ",", " ,  "]), any::<bool>(), any::<bool>()).prop_map(
        |(behind, separator, has_greatest, is_windows)| Form {
            behind,
            separator,
            has_greatest,
            is_windows,
        },
    )
}

impl Form {
    fn line(&self, time_ms: u64, value: u64, way: u8, block: u64) -> String {
        let sep = self.separator;
        // A greatest value of 3 or more is not a direction, so that both forms can be distinguished.
        let greatest = match self.has_greatest && block == 0 {
            true => format!("{sep}{}", value + 3),
            false => String::new(),
        };
        let behind = self.behind.replace('|', sep);
        format!("{time_ms}{sep}{value}{greatest}{sep}{way}{sep}{block}{behind}\n")
    }
}

/// A line: time since the one before, value, direction (2 is a trim), and size of the block in sectors.
type Line = (u64, u64, u8, u64);

fn threads() -> impl Strategy<Value = Vec<Vec<Line>>> {
    let line = (1..2_000_u64, 1..1_000_000_u64, 0..3_u8, 1..2_048_u64);
    prop::collection::vec(prop::collection::vec(line, 1..40), 1..4)
}

/// Times since the beginning, from the steps between lines.
fn timed(lines: &[Line]) -> impl Iterator<Item = Line> {
    lines.iter().scan(0, |at, &(step, value, way, sectors)| {
        *at += step;
        Some((*at, value, way, sectors * 512))
    })
}

/// Logs of all threads, one of which is put first.
fn texts(kind: &str, threads: &[Vec<Line>], form: Form, is_each: bool, first: usize) -> Vec<Text> {
    let text = |(thread, lines): (usize, &Vec<Line>)| {
        let line =
            |(at, value, way, block)| form.line(at, value, way, if is_each { block } else { 0 });
        let text: String = timed(lines).map(line).collect();
        Text { file: format!("d/x_{kind}.{}.log", thread + 1), text: ended(&text, form.is_windows) }
    };
    let mut texts: Vec<Text> = threads.iter().enumerate().map(text).collect();
    texts.rotate_left(first % threads.len());
    texts
}

fn of_way(found: &[Measured], way: Way) -> Option<&Measured> {
    found.iter().find(|measured| measured.way == way)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    // A line, a thread or a direction that is missed is I/O that was never done, and a trim taken for a write is one
    // too many.
    #[test]
    fn logs_of_single_ios_count_each_of_them(
        threads in threads(),
        kind in prop::sample::select(&["clat", "lat", "bw", "iops"]),
        form in forms(),
        first in 0..4_usize,
    ) {
        let results = read(&texts(kind, &threads, form, true, first)).unwrap();
        prop_assert_eq!(results.len(), 1);
        prop_assert_eq!((results[0].name.as_str(), results[0].files.len()), ("x", threads.len()));
        for (way, number) in [(Way::Read, 0_u8), (Way::Write, 1)] {
            let all: Vec<Line> =
                threads.iter().flat_map(|lines| timed(lines)).filter(|line| line.2 == number).collect();
            let found = of_way(&results[0].measured, way);
            prop_assert_eq!(found.is_some(), !all.is_empty());
            let Some(found) = found else { continue };
            let bytes: u64 = all.iter().map(|line| line.3).sum();
            prop_assert_eq!((found.ios, found.bytes), (Some(all.len() as u64), Some(bytes)));
            let end_ms = all.iter().map(|line| line.0).max().unwrap();
            prop_assert_eq!(found.duration_ns, Some(end_ms * 1_000_000));
            prop_assert!(near(found.bytes_per_s, bytes as f64 * 1e3 / end_ms as f64));
            prop_assert!(near(found.iops.unwrap(), all.len() as f64 * 1e3 / end_ms as f64));
            let is_latency = kind.ends_with("lat");
            let values = || all.iter().map(|line| line.1);
            let latency = &found.latency;
            prop_assert_eq!(latency.min_ns, values().min().filter(|_| is_latency));
            prop_assert_eq!(latency.max_ns, values().max().filter(|_| is_latency));
            let count = latency.histogram.as_ref().map(|all| all.count());
            prop_assert_eq!(count, is_latency.then_some(all.len() as u64));
            if is_latency {
                let mean = values().sum::<u64>() as f64 / all.len() as f64;
                let off = latency.mean_ns.unwrap() / mean - 1.0;
                prop_assert!(off.abs() < 0.002, "{off}");
            }
        }
    }

    // A window that is taken for an I/O, or a greatest value for a mean, is another rate; so are KiB taken for bytes.
    #[test]
    fn logs_of_windows_add_up_to_what_was_moved(
        threads in threads(),
        is_bytes in any::<bool>(),
        form in forms(),
        first in 0..4_usize,
    ) {
        let kind = if is_bytes { "bw" } else { "iops" };
        let results = read(&texts(kind, &threads, form, false, first)).unwrap();
        prop_assert_eq!(results.len(), 1);
        for (way, number) in [(Way::Read, 0_u8), (Way::Write, 1)] {
            // A window of a direction begins where the one before it of the same direction ended.
            let (mut sum, mut end_ms) = (0.0, 0);
            for lines in &threads {
                let mut begin = 0;
                for (at, value, _, _) in timed(lines).filter(|line| line.2 == number) {
                    sum += value as f64 * (at - begin) as f64 / 1e3;
                    begin = at;
                }
                end_ms = end_ms.max(begin);
            }
            let found = of_way(&results[0].measured, way);
            prop_assert_eq!(found.is_some(), end_ms > 0);
            let Some(found) = found else { continue };
            let seconds = end_ms as f64 / 1e3;
            prop_assert_eq!(found.duration_ns, Some(end_ms * 1_000_000));
            prop_assert!(found.latency.mean_ns.is_none() && found.latency.histogram.is_none());
            if is_bytes {
                prop_assert!(near(found.bytes_per_s, sum * 1024.0 / seconds));
                prop_assert!((found.bytes.unwrap() as f64 - sum * 1024.0).abs() <= 1.0);
                prop_assert_eq!((found.ios, found.iops), (None, None));
            } else {
                prop_assert!(near(found.iops.unwrap(), sum / seconds));
                prop_assert!((found.ios.unwrap() as f64 - sum).abs() <= 0.5 + 1e-6 * sum);
                prop_assert_eq!(found.bytes, None);
            }
        }
    }

    // Bins counted in a wrong place are latencies that never occurred.
    #[test]
    fn histogram_logs_hold_what_was_counted(
        lines in prop::collection::vec(
            (1..5_000_u64, 0..3_u8, prop::collection::btree_map(0_usize..fio_bins::COUNT, 1..1_000_u64, 1..6)), 1..6),
        halved in 0..=6_u32,
        sectors in 1..64_u64,
        separator in prop::sample::select(&[", ", ","]),
        is_windows in any::<bool>(),
    ) {
        let (mut text, mut at) = (String::new(), 0);
        let mut sums = [(0_u64, 0_u64, usize::MAX, 0_usize); 3];
        for (step, way, bins) in &lines {
            at += step;
            let mut counts = vec![0_u64; fio_bins::COUNT >> halved];
            for (bin, count) in bins {
                counts[bin >> halved] += count;
            }
            let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
            let head = [at, u64::from(*way), sectors * 512].map(|n| n.to_string());
            text += &format!("{}\n", [&head[..], &counts[..]].concat().join(separator));
            let (first, last) = (bins.keys().next().unwrap(), bins.keys().last().unwrap());
            let sum = &mut sums[usize::from(*way)];
            *sum = (sum.0 + bins.values().sum::<u64>(), at, sum.2.min(*first), sum.3.max(*last));
        }
        let results = read_one("x_clat_hist.1.log", &ended(&text, is_windows)).unwrap();
        prop_assert_eq!((results.len(), results[0].format), (1, Format::FioHistLog));
        for (way, (ios, end_ms, first, last)) in [Way::Read, Way::Write].into_iter().zip(sums) {
            let found = of_way(&results[0].measured, way);
            prop_assert_eq!(found.is_some(), ios > 0);
            let Some(found) = found else { continue };
            prop_assert_eq!((found.ios, found.bytes), (Some(ios), Some(ios * sectors * 512)));
            prop_assert!(near(found.iops.unwrap(), ios as f64 * 1e3 / end_ms as f64));
            let all = found.latency.histogram.as_ref().unwrap();
            prop_assert_eq!(all.count(), ios);
            for (found, bin) in [(all.min().unwrap(), first), (all.max().unwrap(), last)] {
                prop_assert_eq!(fio_bins::index_of(found) >> halved, bin >> halved);
            }
        }
    }

    // Half a number is another number: a block of 40 bytes for one of 4096, or a count of 1 for one of 12.
    #[test]
    fn a_log_whose_last_line_was_cut_off_is_refused_with_that_line(
        lines in prop::collection::vec((1..2_000_u64, 1..1_000_000_u64, 0..2_u8, 1..2_048_u64), 2..20),
        bins in prop::collection::vec(0..1_000_u64, fio_bins::COUNT >> 6),
        form in forms(),
        is_histogram in any::<bool>(),
        share in shares(),
    ) {
        let bins: Vec<String> = bins.iter().map(u64::to_string).collect();
        let each = Form { has_greatest: false, ..form };
        let line = |(at, value, way, block): Line| match is_histogram {
            true => format!("{at}, {way}, {block}, {}\n", bins.join(", ")),
            false => each.line(at, value, way, block),
        };
        let text: String = timed(&lines).map(line).collect();
        let text = ended(&text, form.is_windows);
        let (file, format) = match is_histogram {
            true => ("x_clat_hist.1.log", Format::FioHistLog),
            false => ("x_clat.1.log", Format::FioLog),
        };
        let left = cut(&text, share);
        // Whole lines are a log too: nothing in it says how long it was to be.
        prop_assume!(!left.is_empty() && !left.ends_with('\n'));
        let line = cut_is_no_part(file, format, &text, share)?;
        prop_assert_eq!(line, Some(left.lines().count() as u64));
    }
}
