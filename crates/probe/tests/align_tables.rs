//! Published tables.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use drivescope_probe::align::{Judgement, Row, Source, infer};

fn time(text: &str) -> f64 {
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = &text[number.len()..];
    let scale = match unit {
        "ns" => 1.0,
        "ms" => 1e6,
        _ => 1e3,
    };
    number.parse::<f64>().unwrap() * scale
}

fn table(name: &str) -> Vec<Row> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases/flashbench/");
    let text = std::fs::read_to_string(format!("{path}{name}.txt")).unwrap();
    text.lines()
        .filter(|l| l.starts_with("align"))
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let times = [words[3], words[5], words[7]].map(time);
            Row::published(words[1].parse().unwrap(), times, Some(time(words[9])))
        })
        .collect()
}

#[test]
fn show() {
    for name in [
        "align-readme-4m-8k",
        "align-source000-usb-8m-16k",
        "align-issue9-intel600p",
        "align-kingston4g-sa04g",
    ] {
        let j = infer(&table(name), Source::Published, None);
        println!("== {name}");
        for f in &j.findings {
            println!("{f:?}");
        }
        for c in &j.erase_block {
            println!("  {c:?}");
        }
        for c in &j.pages {
            println!("  {c:?}");
        }
    }
}
