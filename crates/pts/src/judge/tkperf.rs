//! TKperf's XML: rounds of each test, whose text is JSON (`DeviceTests.toXml`, `StdyState.appendXml`).

use serde::de::DeserializeOwned;
use stats::steady::snia;

use super::error::JudgeError;
use super::recorded::{
    Before, Claim, Figure, Format, Load, Pattern, Quantity, Recorded, Rounds, Series, Window,
};
use super::xml::{self, Element};
use workload::fio_units::bytes;

/// Shares of reads of a round of its IOPS test, in percent, in order (`SsdIopsTest.mixWlds`).
const IOPS_MIXES: [f64; 7] = [100.0, 95.0, 65.0, 50.0, 35.0, 5.0, 0.0];
/// Block sizes of that test, in order; on drives of 4 KiB blocks the last is left out.
const IOPS_BLOCKS: [&str; 8] = ["1024k", "128k", "64k", "32k", "16k", "8k", "4k", "512"];

/// Length of a cell unless the file has another (`Options`).
const ROUND_S: f64 = 60.0;

/// True when `text` is XML with a test of TKperf's in it.
pub(super) fn is_it(text: &str) -> bool {
    let begin = text.trim_start();
    begin.starts_with('<') && text.contains("<roundmat>")
}

/// Reads the tests of `text`.
///
/// # Errors
/// When it is not well formed, or a figure in it is not a number from 0 on, with the line.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Recorded>, JudgeError> {
    let root = xml::read(file, text)?;
    let mut results = Vec::new();
    for test in &root.children {
        let result = match test.name.as_str() {
            "iops" => iops(file, test)?,
            "lat" => latency(file, test)?,
            "tp" => throughput(file, test)?,
            "writesat" => saturation(file, test)?,
            _ => continue,
        };
        results.push(result);
    }
    if results.is_empty() {
        let what = "no test of an SSD (iops, lat, tp, writesat) is in it";
        return Err(JudgeError::at(file, root.line, what, "give the XML file of a test of an SSD"));
    }
    Ok(results)
}

/// The JSON in the element `name` of `test`; none when there is no such element.
fn json<T: DeserializeOwned>(
    file: &str,
    test: &Element,
    name: &str,
) -> Result<Option<T>, JudgeError> {
    let Some(element) = test.child(name) else { return Ok(None) };
    serde_json::from_str(&element.text).map(Some).map_err(|error| {
        let what = format!("<{name}> cannot be read: {error}");
        JudgeError::at(file, element.line, what, "give the XML file as TKperf wrote it")
    })
}

fn needed<T: DeserializeOwned>(file: &str, test: &Element, name: &str) -> Result<T, JudgeError> {
    json(file, test, name)?.ok_or_else(|| {
        let what = format!("<{}> has no <{name}>", test.name);
        JudgeError::at(file, test.line, what, "give the XML file of a test that ended")
    })
}

fn begun(
    file: &str,
    test: &Element,
    words: &str,
    block: Option<u64>,
) -> Result<Recorded, JudgeError> {
    let mut result = Recorded::of(&test.name, Format::Tkperf, file);
    let pattern = Pattern::Random;
    result.load = Load { words: words.to_owned(), pattern, block_bytes: block };
    let version = test.child("fioversion").map(|version| version.text.trim().trim_matches('"'));
    result.tool_version = version.map(|version| version.trim_end_matches("\\n").to_owned());
    let more: Option<Vec<String>> = json(file, test, "xargs")?;
    let draws_anew = more.is_some_and(|more| more.iter().any(|word| word.contains("randrepeat=0")));
    if !draws_anew {
        result.doubt(
            "each_round_the_same",
            "TKperf starts fio again for each cell of each round, and fio begins with the same seed each time: all rounds write \
             the same addresses in the same order",
            stats::remedy::Command::TkperfAddresses,
        );
    }
    Ok(result)
}

/// Seconds of a cell; `None` when the file does not have them, or not a positive number.
fn runtime_s(file: &str, test: &Element) -> Result<Option<f64>, JudgeError> {
    let told: Option<Option<f64>> = json(file, test, "runtime")?;
    let told = told.flatten();
    checked(file, test, "runtime", told.as_slice())?;
    Ok(told.filter(|s| *s > 0.0 && *s < 1e9))
}

/// Figures that were measured are not below zero.
fn checked(file: &str, test: &Element, name: &str, values: &[f64]) -> Result<(), JudgeError> {
    let Some(bad) = values.iter().find(|value| !value.is_finite() || **value < 0.0) else {
        return Ok(());
    };
    let what =
        format!("<{name}> of <{}> has {bad}, and a number from 0 on belongs there", test.name);
    Err(JudgeError::at(file, test.line, what, "give the file as TKperf wrote it"))
}

fn claim(file: &str, test: &Element) -> Result<Option<Claim>, JudgeError> {
    let reached: Option<Option<bool>> = json(file, test, "reachstdystate")?;
    Ok(reached.flatten().map(|reached| Claim::Tkperf { reached }))
}

/// Figure that TKperf reports: the mean of the window that it ended with.
fn reported(values: &[f64], unit: &'static str) -> Vec<Figure> {
    let window = values.len().checked_sub(snia::WINDOW_ROUNDS).and_then(|from| values.get(from..));
    let mean = window.map(|window| window.iter().sum::<f64>() / window.len() as f64);
    let name = format!("mean of the last {} rounds", snia::WINDOW_ROUNDS);
    mean.map(|value| Figure { name, value, unit }).into_iter().collect()
}

fn iops(file: &str, test: &Element) -> Result<Recorded, JudgeError> {
    let mut result = begun(file, test, "IOPS test: randrw, 7 mixes, 8 block sizes", None)?;
    let rounds: Vec<Vec<Vec<f64>>> = needed(file, test, "roundmat")?;
    let seconds = runtime_s(file, test)?;
    // The last mix is writes alone, and 4k the last block size but one.
    let of_round = |round: &Vec<Vec<f64>>| {
        let row = round.last()?;
        let blocks = IOPS_BLOCKS.iter().position(|name| *name == "4k")?;
        row.get(blocks).copied()
    };
    let values: Vec<f64> = rounds.iter().filter_map(of_round).collect();
    checked(file, test, "roundmat", &values)?;
    result.figures = reported(&values, "IOPS");
    let written = seconds.map(|s| rounds.iter().map(|round| round_bytes(round, s)).collect());
    result.written_bytes = written.as_ref().map(|bytes: &Vec<u64>| bytes.iter().sum());
    let tracked = "4k random writes, IOPS".to_owned();
    result.rounds = Some(Rounds { tracked, values, written_bytes: written });
    result.claim = claim(file, test)?;
    Ok(result)
}

/// Bytes written in a round of the IOPS test: IOPS of each cell are of both directions, in the shares of its mix.
fn round_bytes(round: &[Vec<f64>], seconds: f64) -> u64 {
    let rows = round.iter().zip(IOPS_MIXES);
    let bytes = rows.flat_map(|(row, reads)| {
        row.iter().zip(IOPS_BLOCKS).map(move |(iops, block)| {
            let block = bytes(block, 1024).unwrap_or(0) as f64;
            iops * block * (100.0 - reads) / 100.0 * seconds
        })
    });
    bytes.sum::<f64>().max(0.0) as u64
}

fn latency(file: &str, test: &Element) -> Result<Recorded, JudgeError> {
    let mut result =
        begun(file, test, "latency test: randrw, 3 mixes, 3 block sizes, depth 1", None)?;
    let rounds: Vec<Vec<Vec<Vec<f64>>>> = needed(file, test, "roundmat")?;
    let cell = |round: &Vec<Vec<Vec<f64>>>| {
        let row = round.last()?;
        // 8k, 4k, and 512 where the drive has such blocks; each cell has least, greatest and mean.
        row.get(1)?.get(2).map(|us| us * 1e3)
    };
    let values: Vec<f64> = rounds.iter().filter_map(cell).collect();
    checked(file, test, "roundmat", &values)?;
    result.figures = reported(&values, "ns");
    let tracked = "4k random writes, mean latency".to_owned();
    result.rounds = Some(Rounds { tracked, values, written_bytes: None });
    result.claim = claim(file, test)?;
    Ok(result)
}

fn throughput(file: &str, test: &Element) -> Result<Recorded, JudgeError> {
    let mut result = begun(file, test, "throughput test: reads and writes in order", None)?;
    result.load.pattern = Pattern::Sequential;
    result.caveats.retain(|caveat| caveat.code != "each_round_the_same");
    let blocks: Vec<Vec<Vec<f64>>> = needed(file, test, "roundmat")?;
    let seconds = runtime_s(file, test)?;
    // Of each block size reads, then writes, in KiB a second; the first is 1024k, which is tracked.
    let writes = blocks.first().and_then(|sizes| sizes.get(1)).cloned().unwrap_or_default();
    let values: Vec<f64> = writes.iter().map(|kib| kib * 1024.0).collect();
    checked(file, test, "roundmat", &values)?;
    result.figures = reported(&values, "B/s");
    let bytes = |s: f64| values.iter().map(|rate| (rate * s).max(0.0) as u64).collect();
    let written = seconds.map(bytes);
    let tracked = "1024k writes in order, bytes a second".to_owned();
    result.rounds = Some(Rounds { tracked, values, written_bytes: written });
    result.claim = claim(file, test)?;
    Ok(result)
}

fn saturation(file: &str, test: &Element) -> Result<Recorded, JudgeError> {
    let mut result = begun(file, test, "write saturation: randwrite, 4k", Some(4096))?;
    let both: (Vec<f64>, serde_json::Value) = needed(file, test, "roundmat")?;
    checked(file, test, "roundmat", &both.0)?;
    let seconds = runtime_s(file, test)?;
    let seconds = seconds.unwrap_or(ROUND_S);
    let duration_ns = (seconds * 1e9) as u64;
    let window = |(index, iops): (usize, &f64)| Window {
        start_ns: (index as u64).saturating_mul(duration_ns),
        duration_ns,
        written_bytes: Some((iops.max(0.0) * seconds * 4096.0) as u64),
        value: iops.max(0.0),
    };
    let series = Series {
        quantity: Quantity::Iops,
        windows: both.0.iter().enumerate().map(window).collect(),
        threads: 1,
        source: "a mean a minute",
        skipped_bytes: 0,
    };
    // TKperf ends it when four times the drive has been written, and erases the drive before.
    result.before = Before::default();
    result.written_bytes = series.written_bytes();
    let last = both.0.last().copied();
    let figure = |value| Figure { name: "last minute".to_owned(), value, unit: "IOPS" };
    result.figures = last.map(figure).into_iter().collect();
    result.series = Some(series);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(rounds: &str, reached: &str) -> String {
        format!(
            "<t><devinfo>\"x\"</devinfo><iops><runtime>60</runtime><roundmat>{rounds}</roundmat>\
             <reachstdystate>{reached}</reachstdystate></iops></t>"
        )
    }

    // The wrong cell of a round would be another workload's state.
    #[test]
    fn the_tracked_cell_is_that_of_4k_writes() {
        let row = |first: u64| {
            let row: Vec<String> = (first..first + 8).map(|x| x.to_string()).collect();
            format!("[{}]", row.join(","))
        };
        let round: Vec<String> = (0..7).map(|mix| row(mix * 10)).collect();
        let rounds = format!("[[{}]]", round.join(","));
        let results = read("x.xml", &document(&rounds, "true")).unwrap();
        let rounds = results[0].rounds.as_ref().unwrap();
        assert_eq!(rounds.values, [66.0]);
        assert_eq!(results[0].claim, Some(Claim::Tkperf { reached: true }));
        // The last row alone: 60 IOPS of 1 MiB, 61 of 128 KiB and so on, all written, for a minute.
        assert!(rounds.written_bytes.as_ref().unwrap()[0] > 60 * 60 * (1 << 20));
    }

    #[test]
    fn a_damaged_figure_is_named_with_its_line() {
        let error = read("x.xml", "<t>\n<iops>\n<roundmat>[[</roundmat></iops></t>").unwrap_err();
        assert_eq!(error.line, Some(3));
        assert!(read("x.xml", "<t><other/></t>").is_err());
        assert!(read("x.xml", "<t><iops></iops></t>").is_err());
    }

    #[test]
    fn saturation_has_a_mean_a_minute() {
        let text =
            "<t><writesat><roundmat>[[100, 50], [[1,2,3],[1,2,3]]]</roundmat></writesat></t>";
        let results = read("x.xml", text).unwrap();
        let series = results[0].series.as_ref().unwrap();
        assert_eq!(series.written_bytes(), Some(150 * 60 * 4096));
    }
}
