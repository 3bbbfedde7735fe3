//! One trial of one tester, and how it records its single I/Os.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use block::Bytes;

use super::matching::TesterIo;
use super::{BLOCK, Case, Tester};
use crate::binary::Binary;
use crate::{fio, plan};

/// The programs, and where they put their files.
#[derive(Debug)]
pub(super) struct Testers {
    pub(super) binary: Binary,
    pub(super) dir: PathBuf,
    /// I/Os of a trial.
    pub(super) ios: u32,
    /// The part of the device that is read.
    pub(super) size: Bytes,
}

impl Testers {
    /// One trial on `device`. `seed` varies the addresses from trial to trial.
    ///
    /// # Errors
    /// When the tester fails or what it recorded cannot be read.
    pub(super) fn run(&self, case: &Case, device: &Path, seed: u64) -> Result<()> {
        match case.tester {
            Tester::Drivescope => self.ours(case, device, seed),
            Tester::Fio => self.fio(case, device, false),
            Tester::FioTuned => self.fio(case, device, true),
        }
    }

    /// Reads the I/Os that the last trial of `case` recorded.
    ///
    /// # Errors
    /// Returns an error that names the file.
    pub(super) fn recorded(&self, case: &Case) -> Result<Vec<TesterIo>> {
        let text = |path: &Path| {
            fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))
        };
        if case.tester == Tester::Drivescope {
            return samples(&text(&self.samples_file())?);
        }
        let clat = log(&text(&self.log_file("clat"))?)?;
        let total = log(&text(&self.log_file("lat"))?)?;
        // fio keeps none for synchronous engines.
        let slat = self.log_file("slat");
        let slat = if slat.exists() { log(&text(&slat)?)? } else { Vec::new() };
        join(&slat, &clat, &total)
    }

    fn samples_file(&self) -> PathBuf {
        self.dir.join("samples.csv")
    }

    fn log_prefix(&self) -> PathBuf {
        self.dir.join("fio")
    }

    /// fio's name for the log of the first job.
    fn log_file(&self, kind: &str) -> PathBuf {
        self.dir.join(format!("fio_{kind}.1.log"))
    }

    fn ours(&self, case: &Case, device: &Path, seed: u64) -> Result<()> {
        let path = self.dir.join("latency.toml");
        let text = plan::random_reads(BLOCK, case.depth, None, &format!("ios = {}", self.ios));
        fs::write(&path, text).with_context(|| format!("{}: cannot be written", path.display()))?;
        let samples = self.samples_file().to_string_lossy().into_owned();
        let (size, seed) = (self.size.to_string(), seed.to_string());
        let flags = ["--engine", case.engine.name(), "--span", &size, "--seed", &seed];
        let mut flags: Vec<String> = flags.into_iter().map(str::to_owned).collect();
        flags.extend(["--samples".to_owned(), samples]);
        self.binary.run_plan(&path, device, &flags).map(drop)
    }

    /// fio draws each offset once by itself: its random map is left on.
    fn fio(&self, case: &Case, device: &Path, tuned: bool) -> Result<()> {
        for kind in ["slat", "clat", "lat"] {
            let _ = fs::remove_file(self.log_file(kind));
        }
        let mut arguments = vec![
            "--name=latency".to_owned(),
            "--output-format=json".to_owned(),
            format!("--filename={}", device.display()),
            "--readonly".to_owned(),
            "--rw=randread".to_owned(),
            format!("--bs={}", BLOCK.0),
            format!("--iodepth={}", case.depth),
            format!("--ioengine={}", case.engine.name()),
            "--direct=1".to_owned(),
            format!("--size={}", self.size.0),
            format!("--number_ios={}", self.ios),
            "--randrepeat=0".to_owned(),
            "--invalidate=0".to_owned(),
            format!("--write_lat_log={}", self.log_prefix().display()),
            "--log_offset=1".to_owned(),
        ];
        if tuned {
            arguments.extend(fio::tuning(case.engine, case.depth));
        }
        fio::run(&arguments).map(drop)
    }
}

const SAMPLES_HEAD: &str =
    "step,run,submitter,op,offset_bytes,length_bytes,intended_ns,issued_ns,completed_ns";

/// Reads what `--samples` wrote. In a closed loop the intended time is when the request's slot was
/// free, so that *total* spans everything that the tester did for it.
fn samples(text: &str) -> Result<Vec<TesterIo>> {
    let mut lines = text.lines();
    if lines.next() != Some(SAMPLES_HEAD) {
        bail!("the samples file has other columns than `{SAMPLES_HEAD}`");
    }
    let io = |line: &str| {
        // The step's name is ours and has no comma.
        let cells: Vec<&str> = line.split(',').collect();
        let [_, _, _, "read", offset, _, intended, issued, completed] = cells[..] else {
            return None;
        };
        let at = |cell: &str| cell.parse::<u64>().ok();
        let (intended, issued, completed) = (at(intended)?, at(issued)?, at(completed)?);
        Some(TesterIo {
            offset_bytes: at(offset)?,
            slat_ns: Some(issued.checked_sub(intended)?),
            clat_ns: completed.checked_sub(issued)?,
            total_ns: completed.checked_sub(intended)?,
        })
    };
    lines
        .map(|line| io(line).with_context(|| format!("sample `{line}` is not understood")))
        .collect()
}

/// Offset and latency of each line of one of fio's latency logs: milliseconds since the start, the value
/// in nanoseconds, direction (0: read), size, offset, and in later versions more.
fn log(text: &str) -> Result<Vec<(u64, u64)>> {
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let [_, value, "0", _, offset, ..] = cells[..] else { return None };
        // Written in hexadecimal when log_offset asks for it by some versions.
        let offset = match offset.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => offset.parse().ok()?,
        };
        Some((offset, value.parse().ok()?))
    };
    text.lines()
        .map(|text| {
            line(text).with_context(|| format!("fio's log line `{text}` is not understood"))
        })
        .collect()
}

/// Joins fio's three logs by offset.
fn join(slat: &[(u64, u64)], clat: &[(u64, u64)], total: &[(u64, u64)]) -> Result<Vec<TesterIo>> {
    if clat.is_empty() || clat.len() != total.len() {
        bail!("fio logged {} completion and {} total latencies", clat.len(), total.len());
    }
    let slat: BTreeMap<u64, u64> = slat.iter().copied().collect();
    let total: BTreeMap<u64, u64> = total.iter().copied().collect();
    let io = |(offset, clat_ns): &(u64, u64)| {
        let total_ns = *total.get(offset).context("fio's logs are of different I/Os")?;
        let slat_ns = slat.get(offset).copied();
        Ok(TesterIo { offset_bytes: *offset, slat_ns, clat_ns: *clat_ns, total_ns })
    };
    clat.iter().map(io).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_split_at_its_hand_over() {
        let text = format!("{SAMPLES_HEAD}\nrandom reads,1,0,read,8192,4096,1000,1200,9700\n");
        let io = TesterIo { offset_bytes: 8192, slat_ns: Some(200), clat_ns: 8500, total_ns: 8700 };
        assert_eq!(samples(&text).unwrap(), [io]);
        // Times that go backwards, or columns that moved, are not samples.
        assert!(samples(&text.replace("9700", "1100")).is_err());
        assert!(samples(&text.replace("read,8", "write,8")).is_err());
        assert!(samples(&text.replace("issued_ns,", "")).is_err());
    }

    #[test]
    fn fios_logs_are_read_in_both_forms_of_offset() {
        let text = "0, 14211, 0, 4096, 40960, 0\n1, 9000, 0, 4096, 0x2000\n";
        assert_eq!(log(text).unwrap(), [(40960, 14211), (8192, 9000)]);
        // A write among them, or a log without offsets, must not be taken for a read at 0.
        assert!(log("0, 14211, 1, 4096, 40960, 0\n").is_err());
        assert!(log("0, 14211, 0, 4096\n").is_err());
    }

    #[test]
    fn fios_logs_are_joined_by_offset_not_by_line() {
        let (slat, clat) = ([(8192, 2), (4096, 1)], [(4096, 10), (8192, 20)]);
        let ios = join(&slat, &clat, &[(8192, 22), (4096, 11)]).unwrap();
        let io = |offset_bytes, slat, clat_ns, total_ns| TesterIo {
            offset_bytes,
            slat_ns: Some(slat),
            clat_ns,
            total_ns,
        };
        assert_eq!(ios, [io(4096, 1, 10, 11), io(8192, 2, 20, 22)]);
        assert_eq!(join(&[], &clat, &[(8192, 22), (4096, 11)]).unwrap()[0].slat_ns, None);
        assert!(join(&slat, &clat, &[(8192, 22)]).is_err());
        assert!(join(&slat, &clat, &[(8192, 22), (0, 11)]).is_err());
        assert!(join(&[], &[], &[]).is_err());
    }
}
