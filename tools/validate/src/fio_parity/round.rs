//! The rounds on disk: each is appended when it is finished, so that a run that dies goes on.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::Figures;
use super::case::{Arm, Case};
use crate::provenance::Machine;

/// Everything that all rounds of one table have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Setup {
    pub(super) seed: u64,
    pub(super) seconds: u32,
    pub(super) ramp_ms: u32,
    pub(super) size_bytes: u64,
    /// fio's version.
    pub(super) fio: String,
    pub(super) commit: String,
    pub(super) machine: Machine,
}

/// One run within a round.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) case: Case,
    /// From 0.
    pub(super) round: u32,
    /// Place in the round, from 0.
    pub(super) position: u32,
    pub(super) arm: Arm,
    pub(super) figures: Figures,
}

const HEAD: &str =
    "case,round,position,arm,bytes,duration_ns,ios,latency_ns,cpu_ns_per_io,request_bytes";
const SETUP: &str = "# setup: ";

impl Row {
    /// Throughput in MB/s (10^6 bytes).
    pub(super) fn mb_s(&self) -> f64 {
        self.figures.bytes as f64 * 1e3 / self.figures.duration_ns as f64
    }

    fn line(&self) -> String {
        let Figures { bytes, duration_ns, ios, latency_ns, cpu_ns_per_io, request_bytes } =
            &self.figures;
        format!(
            "{},{},{},{},{bytes},{duration_ns},{ios},{latency_ns:.1},{cpu_ns_per_io:.1},{request_bytes:.0}",
            self.case.slug(),
            self.round,
            self.position,
            self.arm
        )
    }

    fn read(line: &str) -> Result<Row> {
        let cells: Vec<&str> = line.split(',').collect();
        let [case, round, position, arm, bytes, duration_ns, ios, latency_ns, cpu, request] =
            cells[..]
        else {
            bail!("{} columns where 10 belong", cells.len());
        };
        let figures = Figures {
            bytes: bytes.parse()?,
            duration_ns: duration_ns.parse()?,
            ios: ios.parse()?,
            latency_ns: latency_ns.parse()?,
            cpu_ns_per_io: cpu.parse()?,
            request_bytes: request.parse()?,
        };
        let (case, arm) = (case.parse()?, arm.parse()?);
        Ok(Row { case, round: round.parse()?, position: position.parse()?, arm, figures })
    }
}

/// The file of rounds.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    pub(super) setup: Setup,
    /// All runs so far.
    pub(super) rows: Vec<Row>,
}

impl Journal {
    /// Begins a new file.
    pub(super) fn create(path: &Path, setup: Setup) -> Result<Journal> {
        let head = format!("{SETUP}{}\n{HEAD}\n", serde_json::to_string(&setup)?);
        fs::write(path, head).with_context(|| format!("{}: cannot be written", path.display()))?;
        Ok(Journal { path: path.to_owned(), setup, rows: Vec::new() })
    }

    /// Resumes an existing file. Rounds made with other settings, another commit or on another
    /// machine are refused: figures of two programs must not mix under one name. The seed is taken
    /// from the file unless `seeded` is true: the user named one.
    pub(super) fn resume(path: &Path, mut setup: Setup, seeded: bool) -> Result<Journal> {
        let name = path.display();
        let text = fs::read_to_string(path)
            .with_context(|| format!("{name}: there is nothing to resume"))?;
        let first = text.lines().next().and_then(|line| line.strip_prefix(SETUP));
        let before: Setup = serde_json::from_str(first.unwrap_or_default())
            .with_context(|| format!("{name}: its first line does not tell how it was made"))?;
        if !seeded {
            setup.seed = before.seed;
        }
        if before != setup {
            bail!(
                "{name}: was made differently, so its rounds cannot be joined with new ones:\n  {before:?}\n  {setup:?}"
            );
        }
        let rows = read_rows(&text).with_context(|| format!("{name}: cannot be read"))?;
        let mut journal = Journal::create(path, setup)?;
        journal.append(rows)?;
        Ok(journal)
    }

    /// True when a round of a case is there in full.
    pub(super) fn has(&self, case: &Case, round: u32) -> bool {
        let there = |row: &&Row| row.case == *case && row.round == round;
        self.rows.iter().filter(there).count() == case.arms().len()
    }

    /// Adds the rows of whole rounds.
    pub(super) fn append(&mut self, rows: Vec<Row>) -> Result<()> {
        let lines: String = rows.iter().map(|row| row.line() + "\n").collect();
        let write = |mut file: File| file.write_all(lines.as_bytes());
        OpenOptions::new()
            .append(true)
            .open(&self.path)
            .and_then(write)
            .with_context(|| format!("{}: cannot be written", self.path.display()))?;
        self.rows.extend(rows);
        Ok(())
    }

    /// The file's name.
    pub(super) fn file_name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The rows of all whole rounds in `text`. A machine that dies may leave a line cut short at the end:
/// its round, and only that, is made again.
fn read_rows(text: &str) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for line in whole.lines().filter(|line| !line.starts_with('#') && *line != HEAD) {
        rows.push(Row::read(line).with_context(|| format!("line `{line}`"))?);
    }
    let count = |of: &Row| rows.iter().filter(|r| r.case == of.case && r.round == of.round).count();
    let keep: Vec<bool> = rows.iter().map(|row| count(row) == row.case.arms().len()).collect();
    let mut keep = keep.into_iter();
    rows.retain(|_| keep.next().unwrap_or(false));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order;

    fn setup() -> Setup {
        Setup {
            seed: 9,
            seconds: 2,
            ramp_ms: 500,
            size_bytes: 1 << 30,
            fio: "fio-3.33".into(),
            commit: "0123456789ab".into(),
            machine: Machine::here(),
        }
    }

    fn round(case: Case, round: u32) -> Vec<Row> {
        let figures = Figures {
            bytes: 123_456_789,
            duration_ns: 2_000_000_000,
            ios: 30_140,
            latency_ns: 66_000.5,
            cpu_ns_per_io: 1500.2,
            request_bytes: 4096.0,
        };
        let row = |(position, arm)| Row {
            case,
            round,
            position: position as u32,
            arm,
            figures: figures.clone(),
        };
        order::abba(case.arms(), &case.slug(), 9, round).into_iter().enumerate().map(row).collect()
    }

    // Losing a finished round costs time; taking half of one for whole breaks the pairing.
    #[test]
    fn whole_rounds_survive_and_a_torn_one_is_made_again() {
        let dir = std::env::temp_dir().join(format!("journal-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("rounds.csv");
        let (first, second) = (Case::all()[0], Case::all()[3]);
        let mut journal = Journal::create(&path, setup()).unwrap();
        journal.append(round(first, 0)).unwrap();
        journal.append(round(second, 0)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for torn in 1..(round(second, 0).iter().map(|r| r.line().len() + 1).sum::<usize>()) {
            fs::write(&path, &text[..text.len() - torn]).unwrap();
            let other = Setup { seed: 1, ..setup() };
            let resumed = Journal::resume(&path, other, false).unwrap();
            assert_eq!(resumed.setup.seed, 9);
            assert_eq!(resumed.rows, round(first, 0), "{torn} bytes missing");
            assert!(resumed.has(&first, 0) && !resumed.has(&second, 0));
            assert!(!resumed.has(&first, 1));
        }
        fs::write(&path, &text).unwrap();
        assert!(Journal::resume(&path, setup(), true).unwrap().has(&second, 0));
        let other = Setup { commit: "another".into(), ..setup() };
        assert!(Journal::resume(&path, other, false).is_err());
        fs::remove_dir_all(&dir).unwrap();
    }
}
