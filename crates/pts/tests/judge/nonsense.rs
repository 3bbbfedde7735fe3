//! Random and damaged texts: those that can be read are judged, and the others are refused with the
//! file's name.

use drivescope_pts::judge::{Known, Start, Text, judge, read};
use proptest::prelude::*;
use stats::Verdict;

fn tried(file: &str, text: String) {
    match read(&[Text { file: file.to_owned(), text }]) {
        Ok(results) => {
            for result in results {
                let known = Known { start: Start::Purged, ..Known::default() };
                let judged = judge(result, &known);
                assert!(!judged.steady.reason.is_empty(), "an answer without a reason");
                // Nothing was said of the drive's size.
                assert_ne!(judged.steady.verdict, Verdict::Proven);
            }
        }
        Err(error) => assert!(error.to_string().starts_with(file), "{error}"),
    }
}

/// Texts of each format, to be damaged.
const SEEDS: [(&str, &str); 6] = [
    ("x_bw.1.log", "500, 1609, 1, 0, 0\n1000, 1596, 1, 0, 0\n1500, 1600, 0, 4096, 8192, 0\n"),
    ("j.json", include_str!("../data/steadystate/ss.json")),
    (
        "t.xml",
        "<t><iops><runtime>60</runtime><roundmat>[[[1,2,3,4,5,6,7,8]]]</roundmat></iops></t>",
    ),
    ("t.xml", "<t><writesat><roundmat>[[100, 50], [[1,2,3],[1,2,3]]]</roundmat></writesat></t>"),
    (
        "e.csv",
        "Drive,/dev/x\nAvailCapacity,100,GiB\nTestedCapacity,100,GiB\nFIOVersion,fio-3.33\nIOPS,x\n1000\n2000\n",
    ),
    (
        "d.txt",
        "Input parameters:\n\tpath: 'F'\n\tsize: 1073741824B\nResults for job 1:\nTotal IO\ntotal: 1 | 2 | 3.0 | 4.0 |\n",
    ),
];

proptest! {
    // Breaks when some text makes it panic, or an error does not say which file is meant.
    #[test]
    fn any_text_is_judged_or_refused(text in "\\PC*", name in 0..SEEDS.len()) {
        tried(SEEDS[name].0, text);
    }

    // Breaks likewise for what was once a result.
    #[test]
    fn damaged_results_are_judged_or_refused(
        which in 0..SEEDS.len(),
        at in any::<prop::sample::Index>(),
        until in any::<prop::sample::Index>(),
        put in "[0-9<>{},.:%e\\-\n\"a-z]{0,8}",
    ) {
        let (file, text) = SEEDS[which];
        let place = |index: prop::sample::Index| {
            let mut at = index.index(text.len() + 1);
            while !text.is_char_boundary(at) { at -= 1 }
            at
        };
        let (from, to) = (place(at), place(until));
        let (from, to) = (from.min(to), from.max(to).min(from.min(to) + 20));
        let damaged = [text.get(..from).unwrap_or(""), &put, text.get(to..).unwrap_or("")].concat();
        tried(file, damaged);
    }

    // Breaks when times or values at their limits overflow.
    #[test]
    fn any_log_is_judged_or_refused(
        lines in prop::collection::vec((any::<u64>(), any::<u64>(), 0..4_u8, any::<u64>()), 0..20)
    ) {
        let line = |(time, value, way, block): &(u64, u64, u8, u64)| format!("{time}, {value}, {way}, {block}, 0\n");
        let text: String = lines.iter().map(line).collect();
        for kind in ["bw", "iops", "lat"] {
            tried(&format!("x_{kind}.1.log"), text.clone());
        }
    }
}
