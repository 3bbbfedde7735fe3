//! KDiskMark: the names of its tests, and what it hands to fio for each (KDiskMark 3.3.0, `src/helper.cpp`).

use std::collections::BTreeMap;

use block::Bytes;
use stats::Caveat;
use stats::remedy::Command;
use workload::units::parse_bytes;

use super::error::ExplainError;
use super::fio;
use super::load::Load;
use crate::notation::{Pattern, TestSpec};

/// Bytes of its test file by default.
const SIZE: Bytes = Bytes::gib(1);
/// Seconds of a run by default.
const SECONDS: u64 = 5;
/// Share of reads of its mix by default, in percent.
const MIX: u64 = 70;

/// True for a word that names a test.
pub(super) fn is_test(word: &str) -> bool {
    word.parse::<TestSpec>().is_ok()
}

/// The loads of tests such as `SEQ1MQ8T1`, with `read`, `write` or `mix` and a size behind them in any order.
pub(super) fn loads(words: &[String]) -> Result<Vec<Load>, ExplainError> {
    let (mut tests, mut directions, mut size) = (Vec::new(), Vec::new(), SIZE);
    for word in words {
        if let Ok(test) = word.parse::<TestSpec>() {
            tests.push(test);
        } else if let Ok(bytes) = parse_bytes(word) {
            size = bytes;
        } else if ["read", "write", "mix"].contains(&word.as_str()) {
            directions.push(word.as_str());
        } else {
            let what = "is not a test, size or direction; write such as SEQ1MQ8T1 1GiB read";
            return Err(ExplainError::value(word, what));
        }
    }
    if tests.is_empty() {
        return Err(ExplainError::value("kdiskmark", "no test is named; write such as SEQ1MQ8T1"));
    }
    if directions.is_empty() {
        directions = vec!["read", "write"];
    }
    let mut loads: Vec<Load> = Vec::new();
    for direction in directions {
        for test in &tests {
            let made =
                fio::command_line(&arguments(*test, direction, size), &BTreeMap::new(), None)?;
            for mut load in made {
                load.group = u32::try_from(loads.len()).unwrap_or(u32::MAX);
                load.laid_out = true;
                loads.push(load);
            }
        }
    }
    if let Some(first) = loads.first_mut() {
        first.doubts.push(Caveat::new(
            "units",
            "kdiskmark",
            "its MB/s are fio's KiB/s divided by 1000: 2.3% less than MB/s",
            Command::ConvertKib,
        ));
        first.doubts.push(Caveat::new(
            "mean_or_best",
            "kdiskmark",
            "of five runs the default profile shows the mean and the others the best, without saying which or how far they lie apart",
            Command::MedianFromDrivescope,
        ));
    }
    Ok(loads)
}

/// Arguments that it passes to fio.
fn arguments(test: TestSpec, direction: &str, size: Bytes) -> Vec<String> {
    let random = if test.pattern == Pattern::Random { "rand" } else { "" };
    let rw = match direction {
        "mix" => format!("{random}rw"),
        one => format!("{random}{one}"),
    };
    let name = format!("{test} {direction}");
    let fixed = [
        "--ioengine=libaio",
        "--randrepeat=0",
        "--refill_buffers=0",
        "--end_fsync=1",
        "--direct=1",
    ];
    let mut arguments = vec![format!("--name={name}")];
    arguments.extend(fixed.map(str::to_owned));
    arguments.extend([
        format!("--rwmixread={MIX}"),
        "--filename=kdiskmark.tmp".to_owned(),
        format!("--size={}", size.0),
        "--zero_buffers=0".to_owned(),
        format!("--bs={}", test.block.0),
        format!("--runtime={SECONDS}"),
        format!("--rw={rw}"),
        format!("--iodepth={}", test.depth),
        format!("--numjobs={}", test.threads),
        "--group_reporting".to_owned(),
    ]);
    arguments
}
