//! Recorded runs as somebody reads them who has no drivescope: JSON, CSV and checksums, by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Ran, drivescope, names};

/// Files of an ended run without single I/Os, sorted.
pub const FILES: [&str; 10] = [
    "SHA256SUMS",
    "document.json",
    "end.json",
    "envelope.json",
    "histograms.hlog",
    "journal.jsonl",
    "plan.toml",
    "record.json",
    "series.csv",
    "setup.json",
];

/// A virtual mark that takes a moment: 2 tests, read and write, 3 runs each.
pub const STEPS: u64 = 12;
pub const VIRTUAL: [&str; 10] = [
    "mark",
    "sim:hdd-7200",
    "--size=1GiB",
    "--seed=7",
    "--tests=SEQ1MQ1T1,RND4KQ1T1",
    "--runs=3",
    "--duration=500ms",
    "--warm-up=100ms",
    "--json",
    "--no-progress",
];

/// A run's directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recorded(pub PathBuf);

/// The runs in a directory, oldest first: by the second in their names, and then by the
/// nanosecond that they were begun in.
pub fn recorded(runs: &Path) -> Vec<Recorded> {
    if !runs.exists() {
        return Vec::new();
    }
    let shown = names(runs).into_iter().filter(|name| !name.starts_with('.'));
    let dirs = shown.map(|name| runs.join(name)).filter(|path| path.is_dir());
    let mut found: Vec<Recorded> = dirs.map(Recorded).collect();
    let begun = |run: &Recorded| {
        let second = run.id().split('-').next().map(str::to_owned);
        (second, run.json("record.json")["begun_ns"].as_i64())
    };
    found.sort_by_key(begun);
    found
}

/// The only run in a directory.
#[track_caller]
pub fn only(runs: &Path) -> Recorded {
    let mut found = recorded(runs);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Lines in the journals of a runs directory, also while they are written.
pub fn lines_in(runs: &Path) -> u64 {
    let journals = recorded(runs).into_iter().map(|run| run.path("journal.jsonl"));
    let texts = journals.filter_map(|path| fs::read(path).ok());
    texts.map(|text| text.iter().filter(|b| **b == b'\n').count() as u64).sum()
}

impl Recorded {
    pub fn id(&self) -> String {
        self.0.file_name().unwrap().to_str().unwrap().to_owned()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn text(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Whole entries of the journal, after a check of each entry's checksum and number. A last line that
    /// was never finished is left out.
    pub fn journal(&self) -> Vec<Value> {
        let text = fs::read(self.path("journal.jsonl")).unwrap();
        let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let lines = std::str::from_utf8(&text[..whole]).unwrap().lines();
        lines
            .enumerate()
            .map(|(number, line)| {
                let value: Value = serde_json::from_str(line).unwrap();
                let (_, entry) = line.split_once(",\"entry\":").unwrap();
                let entry = entry.strip_suffix('}').unwrap();
                assert_eq!(value["crc32"], format!("{:08x}", crc32(entry.as_bytes())), "{line}");
                assert_eq!(value["entry"]["seq"], number as u64, "{line}");
                value["entry"].clone()
            })
            .collect()
    }

    /// The finished steps in the journal.
    pub fn steps(&self) -> Vec<Value> {
        let steps = self.journal().into_iter().map(|mut entry| entry["step"].take());
        steps.filter(|step| !step.is_null()).collect()
    }

    pub fn is_ended(&self) -> bool {
        self.path("end.json").exists()
    }

    /// Rows of a CSV file whose fields hold no commas, by column.
    pub fn csv(&self, name: &str) -> Vec<Vec<String>> {
        let text = self.text(name);
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    }

    /// Asserts that sha256sum(1) finds every file as it was recorded, and that there is no other.
    #[track_caller]
    pub fn assert_sums(&self) {
        let checked = Command::new("sha256sum")
            .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
            .current_dir(&self.0)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&checked.stdout).into_owned()
            + &String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{said}");
        let text = self.text("SHA256SUMS");
        let mut listed: Vec<&str> = text.lines().map(|l| l.split_once("  ").unwrap().1).collect();
        listed.push("SHA256SUMS");
        listed.sort_unstable();
        let mut there = names(&self.0);
        if self.path("samples").exists() {
            there.retain(|name| name != "samples");
            there.extend(names(&self.path("samples")).into_iter().map(|n| format!("samples/{n}")));
        }
        there.sort_unstable();
        assert_eq!(there, listed);
    }
}

/// CRC-32 as in zip and PNG, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// `drivescope ARGS --runs-dir RUNS`.
pub fn at(runs: &Path, args: &[&str]) -> Ran {
    let mut command = drivescope(args);
    command.arg("--runs-dir").arg(runs).output().unwrap().into()
}

/// The body of what the document of a run says.
pub fn body_of(run: &Recorded) -> Value {
    run.json("document.json")["body"].take()
}

/// Codes of a body's caveats.
pub fn caveats(body: &Value) -> Vec<String> {
    let caveats = body["caveats"].as_array().unwrap();
    caveats.iter().map(|c| c["code"].as_str().unwrap().to_owned()).collect()
}
