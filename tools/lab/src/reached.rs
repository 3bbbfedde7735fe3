//! The proof *reached* against the truth: what the emulator itself counted of the drives while drivescope measured.
//!
//! A script says `cell STACK FILESYSTEM DIRECTION LOW HIGH [cached]` on a line of its own, then asks `lab-host count`,
//! prints the JSON of a `mark` of one test, and asks `lab-host count` again. LOW and HIGH are how many bytes the drives
//! should move for each byte of the test, as the scenario's author knows: drivescope's own range is compared with it,
//! and is not its source. `cached` says that a cache was built in between, which can pass on as much as it is given.

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Less of the expected bytes than this did not reach the drives; it leaves room for counting a moment apart.
const ENOUGH: f64 = 0.97;

/// How much more the emulator may count than drivescope: it counts while drivescope opens and closes as well.
const AROUND_SHARE: f64 = 0.10;
/// The same of short tests.
const AROUND_BYTES: f64 = 1_048_576.0;

/// Bytes that the drives of a scenario have moved since power-on, as counted by the emulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
}

impl Count {
    /// The sum over the block nodes whose names `is_ours` knows, of what `query-blockstats` answers (QEMU QMP
    /// reference, `BlockDeviceStats`).
    pub fn of(answer: &Value, is_ours: impl Fn(&str) -> bool) -> Count {
        let mut sum = Count::default();
        for node in answer.as_array().into_iter().flatten() {
            if node["node-name"].as_str().is_some_and(&is_ours) {
                sum.read_bytes += node["stats"]["rd_bytes"].as_u64().unwrap_or(0);
                sum.write_bytes += node["stats"]["wr_bytes"].as_u64().unwrap_or(0);
            }
        }
        sum
    }
}

/// Correctness of a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Worth {
    /// Proven of bytes that crossed, or refuted of bytes of which some did not.
    Right,
    /// Neither proven nor refuted.
    #[default]
    Undecided,
    /// Proven of bytes of which some never crossed.
    WrongProven,
    /// Refuted of bytes that all crossed.
    WrongRefuted,
}

/// One verdict, and what it was worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Such as `raid5-3`.
    pub stack: String,
    /// Such as `ext4`, `raw` for none.
    pub filesystem: String,
    /// Of the test, such as `SEQ1M Q2T1`.
    pub test: String,
    /// `read` or `write`.
    pub direction: String,
    /// `proven`, `refuted` or `unprovable`.
    pub verdict: String,
    /// Why, in drivescope's words.
    pub reason: String,
    /// Bytes that the test issued.
    pub issued_bytes: u64,
    /// Bytes that the leaves counted per byte issued, as drivescope read them.
    pub device_ratio: Option<f64>,
    /// Bytes that the kernel charged per byte issued.
    pub task_ratio: Option<f64>,
    /// Bytes that the emulator counted per byte issued.
    pub true_ratio: f64,
    /// Least and most that it should be, as the scenario knows.
    pub expected: [f64; 2],
    /// True where the scenario put a cache between.
    pub cached: bool,
    /// The same, as drivescope made it out.
    pub expected_by_us: Option<[f64; 2]>,
    /// The verdict against the truth.
    pub worth: Worth,
}

impl Cell {
    /// Judges the verdict by whether the bytes crossed into the drives.
    fn judged(mut self) -> Cell {
        let crossed = !self.cached && self.true_ratio >= ENOUGH * self.expected[0];
        self.worth = match (self.verdict.as_str(), crossed) {
            ("proven", false) => Worth::WrongProven,
            ("refuted", true) => Worth::WrongRefuted,
            ("proven" | "refuted", _) => Worth::Right,
            _ => Worth::Undecided,
        };
        self
    }

    /// Describes the faults of the cell.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let Cell { stack, filesystem, test, direction, .. } = self;
        let name = format!("{stack} {filesystem} {test} {direction}");
        if [Worth::WrongProven, Worth::WrongRefuted].contains(&self.worth) {
            faults.push(format!(
                "{name}: wrongly {}: the drives moved {:.3} bytes for each of {} ({})",
                self.verdict, self.true_ratio, self.issued_bytes, self.reason
            ));
        }
        if let Some(ours) = self.device_ratio {
            let issued = self.issued_bytes as f64;
            let more = (self.true_ratio - ours) * issued;
            let room = AROUND_BYTES + AROUND_SHARE * self.true_ratio * issued;
            // The device cannot count more than the emulator.
            if !(-0.01 * issued..=room).contains(&more) {
                faults.push(format!(
                    "{name}: drivescope read {ours:.3} off the devices' counters, the emulator counted {:.3}",
                    self.true_ratio
                ));
            }
        }
        if self.expected_by_us.is_some_and(|ours| ours != self.expected) {
            let ours = self.expected_by_us.unwrap_or_default();
            faults.push(format!("{name}: expected {ours:?}, and should {:?}", self.expected));
        }
        faults
    }
}

/// The cells of a script's output, and the counts that were taken meanwhile: two for each.
///
/// # Errors
/// Names the cell that is not as it has to be.
pub fn cells(stdout: &str, counts: &[Count]) -> Result<Vec<Cell>> {
    let mut texts: Vec<(&str, String)> = Vec::new();
    for line in stdout.lines() {
        match (line.strip_prefix("cell "), texts.last_mut()) {
            (Some(head), _) => texts.push((head, String::new())),
            (None, Some((_, text))) => *text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    ensure!(!texts.is_empty(), "no line begins with `cell`");
    ensure!(
        counts.len() == 2 * texts.len(),
        "{} counts of {} cells: each takes one before and one after",
        counts.len(),
        texts.len()
    );
    let pairs = texts.iter().zip(counts.chunks_exact(2));
    pairs
        .map(|((head, text), pair)| cell(head, text, pair).with_context(|| format!("cell {head}")))
        .collect()
}

fn cell(head: &str, text: &str, counts: &[Count]) -> Result<Cell> {
    let words: Vec<&str> = head.split_whitespace().collect();
    let (cached, words) = match words.split_last() {
        Some((&"cached", before)) => (true, before),
        _ => (false, &words[..]),
    };
    let [stack, filesystem, direction, low, high] = *words else {
        anyhow::bail!("not of the form STACK FILESYSTEM DIRECTION LOW HIGH [cached]");
    };
    ensure!(["read", "write"].contains(&direction), "the direction is neither read nor write");
    let document: Value = serde_json::from_str(text).context("what `mark` printed")?;
    let tests = document.pointer("/body/tests").and_then(Value::as_array).context("no tests")?;
    ensure!(tests.len() == 1, "{} tests, not one", tests.len());
    let (test, proof) = (&tests[0], &tests[0]["proofs"]["reached"]);
    let figure = |name: &str| proof["evidence"].get(name);
    // A stack that is refuted by what it is made of has no figures; the runs have their own.
    let of_runs =
        || test["runs"].as_array().into_iter().flatten().filter_map(|r| r["bytes"].as_u64()).sum();
    let issued = figure(&format!("issued_{direction}_bytes")).and_then(Value::as_u64);
    let issued_bytes: u64 = issued.unwrap_or_else(of_runs);
    ensure!(issued_bytes > 0, "nothing was issued");
    let moved =
        |count: &Count| if direction == "read" { count.read_bytes } else { count.write_bytes };
    let told = moved(&counts[1]).saturating_sub(moved(&counts[0]));
    let ratio = |who: &str| figure(&format!("{who}_{direction}_ratio")).and_then(Value::as_f64);
    let range = figure(&format!("expected_{direction}_ratio"));
    let words = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    Ok(Cell {
        stack: stack.to_owned(),
        filesystem: filesystem.to_owned(),
        test: words(&test["name"]),
        direction: direction.to_owned(),
        verdict: words(&proof["verdict"]),
        reason: words(&proof["reason"]),
        issued_bytes,
        device_ratio: ratio("device"),
        task_ratio: ratio("task"),
        true_ratio: told as f64 / issued_bytes as f64,
        expected: [low.parse().context("LOW")?, high.parse().context("HIGH")?],
        cached,
        expected_by_us: range.map(|range| serde_json::from_value(range.clone())).transpose()?,
        worth: Worth::default(),
    }
    .judged())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MIB: u64 = 1 << 20;

    fn document(verdict: &str, device: f64) -> String {
        let evidence = json!({
            "issued_write_bytes": 100 * MIB, "device_write_ratio": device, "expected_write_ratio": [2.0, 2.0],
        });
        let reached = json!({"verdict": verdict, "reason": "because", "evidence": evidence});
        let test = json!({"runs": [{"bytes": 90 * MIB}], "proofs": {"reached": reached}});
        format!("cell raid1 xfs write 2 2\n{:#}\n", json!({"body": {"tests": [test]}}))
    }

    fn judged(verdict: &str, device: f64, truth_mib: u64) -> Cell {
        let count = |write_bytes| Count { read_bytes: 7, write_bytes };
        let counts = [count(5), count(5 + truth_mib * MIB)];
        cells(&document(verdict, device), &counts).unwrap().remove(0)
    }

    // Were a wrong verdict not seen, the table would prove nothing.
    #[test]
    fn verdicts_are_held_against_what_the_emulator_counted() {
        let right = judged("proven", 2.0, 200);
        assert_eq!((right.true_ratio, right.faults()), (2.0, Vec::new()));
        let single = judged("proven", 1.0, 100);
        assert_eq!(single.worth, Worth::WrongProven);
        assert_eq!(single.faults().len(), 1, "{:?}", single.faults());
        let refuted = judged("refuted", 2.0, 200);
        assert_eq!((refuted.worth, refuted.faults().len()), (Worth::WrongRefuted, 1));
        let cached = judged("refuted", 0.5, 50);
        assert_eq!((cached.worth, cached.faults()), (Worth::Right, Vec::new()));
        let through = document("refuted", 2.0).replace("write 2 2", "write 2 2 cached");
        let counts = [Count::default(), Count { read_bytes: 0, write_bytes: 200 * MIB }];
        assert_eq!(cells(&through, &counts).unwrap()[0].worth, Worth::Right);
        let through = through.replace("refuted", "proven");
        assert_eq!(cells(&through, &counts).unwrap()[0].worth, Worth::WrongProven);
        let open = judged("unprovable", 1.0, 100);
        assert_eq!((open.worth, open.faults()), (Worth::Undecided, Vec::new()));
    }

    #[test]
    fn counters_that_differ_from_the_emulators_are_at_fault() {
        let cases = [(2.0, 215, false), (2.0, 240, true), (2.0, 197, true), (1.95, 199, false)];
        for (device, truth_mib, wrong) in cases {
            let faults = judged("proven", device, truth_mib).faults();
            assert_eq!(faults.iter().any(|f| f.contains("emulator counted")), wrong, "{faults:?}");
        }
        let other = document("proven", 2.0).replace("write 2 2", "write 1.5 2");
        let counts = [Count::default(), Count { read_bytes: 0, write_bytes: 200 * MIB }];
        let faults = cells(&other, &counts).unwrap()[0].faults();
        assert_eq!(faults.len(), 1, "{faults:?}");
    }

    #[test]
    fn output_that_is_no_cell_is_refused() {
        let counts = [Count::default(); 2];
        for (text, fault) in [
            ("nothing\n".to_owned(), "no line begins"),
            ("cell a b read 1 1\n{}\ncell a b read 1 1\n{}\n".to_owned(), "2 counts of 2 cells"),
            ("cell a b read 1\n{}\n".to_owned(), "not of the form"),
            ("cell a b both 1 1\n{}\n".to_owned(), "neither read nor write"),
            ("cell a b read 1 1\nerror\n".to_owned(), "what `mark` printed"),
            ("cell a b read 1 1\n{}\n".to_owned(), "no tests"),
        ] {
            let error = format!("{:#}", cells(&text, &counts).unwrap_err());
            assert!(error.contains(fault), "{error}");
        }
    }

    #[test]
    fn only_the_scenarios_own_drives_are_counted() {
        let node = |name: &str, bytes: u64| json!({"node-name": name, "stats": {"rd_bytes": bytes, "wr_bytes": 2 * bytes}});
        let answer = json!([node("d0-0", 1), node("d1-0", 10), node("d1-1", 100), {"device": "x"}]);
        let count = Count::of(&answer, |name| name.starts_with("d1-"));
        assert_eq!(count, Count { read_bytes: 110, write_bytes: 220 });
    }
}
