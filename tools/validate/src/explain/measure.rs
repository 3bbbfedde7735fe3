//! Measured I/O of commands.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::case::{Case, Place, Runs};
use super::streams;
use crate::loop_device::LoopDevice;

/// Measured I/O of one job.
#[derive(Clone, Debug, Default)]
pub(super) struct Done {
    pub name: String,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub ios: u64,
    /// Bytes at different addresses, where addresses are known.
    pub unique_bytes: Option<u64>,
    /// Flushes between I/Os, where they are counted.
    pub flushes: Option<u64>,
    /// How long it took, where the program reports it.
    pub seconds: Option<f64>,
    /// Bytes that reached the device, of reads that may come from memory.
    pub device_bytes: Option<u64>,
    /// The count of I/Os depends on how long it ran, and only shares are comparable.
    pub only_shares: bool,
}

/// Runs `case`; `told` names its jobs.
pub(super) fn measured(
    case: &Case,
    place: &Place<'_>,
    device: &LoopDevice,
    told: &Value,
) -> Result<Vec<Done>> {
    let runs = case.runs(place);
    let program = match &runs {
        Runs::Words(words) => words.first().cloned().unwrap_or_default(),
        Runs::JobFile(_) => "fio".to_owned(),
    };
    match (program.as_str(), &runs) {
        ("fio", _) => fio(&runs, place),
        ("dd", Runs::Words(words)) => dd(words, device, told),
        ("hdparm", Runs::Words(words)) => hdparm(words, device),
        ("diskspd", Runs::Words(words)) => Ok(vec![streams::made(words)?]),
        (other, _) => bail!("nothing here runs {other}"),
    }
}

fn output(command: &mut Command) -> Result<(String, String)> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{name} cannot be started; install it"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        bail!("{name} ended with {}: {}", output.status, text(&output.stderr).trim());
    }
    Ok((text(&output.stdout), text(&output.stderr)))
}

/// fio with a log of addresses for each job: its log of I/Os where a job is one process, since several would write into
/// one file; else its latency logs, one for each process, which do not name files.
fn fio(runs: &Runs, place: &Place<'_>) -> Result<Vec<Done>> {
    for entry in
        fs::read_dir(place.dir).context("the directory of trials cannot be read")?.flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("log.")
            || name.contains("_lat.")
            || name.contains("_clat.")
            || name.contains("_slat.")
        {
            let _ = fs::remove_file(entry.path());
        }
    }
    let text = match runs {
        Runs::Words(words) => words.join(" "),
        Runs::JobFile(text) => text.clone(),
    };
    let is_alone = !text.contains("numjobs=") || text.contains("numjobs=1 ");
    let mut command = Command::new("fio");
    command.current_dir(place.dir).args(["--output-format=json", "--output=out.json"]);
    let mut jobs = 0;
    let mut of_job = || {
        jobs += 1;
        match is_alone {
            true => vec![format!("write_iolog=log.{jobs}")],
            false => vec![format!("write_lat_log=log.{jobs}"), "log_offset=1".to_owned()],
        }
    };
    match runs {
        Runs::Words(words) => {
            for word in words.iter().skip(1) {
                command.arg(word);
                if word.starts_with("--name=") {
                    command.args(of_job().into_iter().map(|option| format!("--{option}")));
                }
            }
        }
        Runs::JobFile(text) => {
            let mut lines = Vec::new();
            for line in text.lines() {
                lines.push(line.to_owned());
                if line.starts_with('[') && !line.starts_with("[global") {
                    lines.extend(of_job());
                }
            }
            fs::write(place.dir.join("trial.fio"), lines.join("\n") + "\n")
                .context("trial.fio cannot be written")?;
            command.arg("trial.fio");
        }
    }
    output(&mut command)?;
    let text = fs::read_to_string(place.dir.join("out.json")).context("fio wrote no JSON")?;
    let json = text.find('{').and_then(|at| text.get(at..)).context("fio printed no JSON")?;
    let report: Value = serde_json::from_str(json).context("fio's JSON cannot be read")?;
    let of_report = report["jobs"].as_array().cloned().unwrap_or_default();
    let own_files = !place_is_shared(runs);
    let mut all = Vec::new();
    for job in 1..=jobs {
        let mut done = match is_alone {
            true => of_iolog(&place.dir.join(format!("log.{job}")))?,
            false => of_latency_logs(place.dir, job, own_files)?,
        };
        let told = of_report.iter().filter(|told| {
            told["job options"]["name"].as_str() == Some(name_of(runs, job).as_str())
                || told["jobname"].as_str() == Some(name_of(runs, job).as_str())
        });
        let (mut flushes, mut ms) = (0, 0u64);
        for told in told {
            flushes += told.pointer("/sync/total_ios").and_then(Value::as_u64).unwrap_or(0);
            for direction in ["read", "write"] {
                ms = ms.max(
                    told.pointer(&format!("/{direction}/runtime"))
                        .and_then(Value::as_u64)
                        .unwrap_or(0),
                );
            }
        }
        done.name = name_of(runs, job);
        done.flushes = Some(flushes).filter(|_| text_of(runs).contains(" --fsync="));
        done.seconds = Some(ms as f64 / 1e3);
        all.push(done);
    }
    Ok(all)
}

fn text_of(runs: &Runs) -> String {
    match runs {
        Runs::Words(words) => words.join(" "),
        Runs::JobFile(text) => text.clone(),
    }
}

fn place_is_shared(runs: &Runs) -> bool {
    text_of(runs).contains("filename=")
}

fn name_of(runs: &Runs, job: usize) -> String {
    let names: Vec<String> = match runs {
        Runs::Words(words) => words
            .iter()
            .filter_map(|word| word.strip_prefix("--name="))
            .map(str::to_owned)
            .collect(),
        Runs::JobFile(text) => text
            .lines()
            .filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'))
            .filter(|name| *name != "global")
            .map(str::to_owned)
            .collect(),
    };
    names.get(job - 1).cloned().unwrap_or_default()
}

/// Accesses of one file: where they begin and end.
#[derive(Default)]
pub(super) struct Accesses(Vec<(u64, u64)>);

impl Accesses {
    pub(super) fn note(&mut self, offset: u64, length: u64) {
        self.0.push((offset, offset + length));
    }

    /// Bytes at different addresses.
    pub(super) fn unique(mut self) -> u64 {
        self.0.sort_unstable();
        let (mut unique, mut end) = (0, 0);
        for (from, to) in self.0 {
            unique += to.saturating_sub(from.max(end));
            end = end.max(to);
        }
        unique
    }
}

/// `time file action offset length`, version 3; older versions have no time.
fn of_iolog(path: &Path) -> Result<Done> {
    let text =
        fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let mut done = Done::default();
    let mut files = std::collections::BTreeMap::<String, Accesses>::new();
    for line in text.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [.., file, action, offset, length] = words[..] else { continue };
        let (Ok(offset), Ok(length)) = (offset.parse::<u64>(), length.parse::<u64>()) else {
            continue;
        };
        match action {
            "read" => done.read_bytes += length,
            "write" => done.write_bytes += length,
            _ => continue,
        }
        done.ios += 1;
        files.entry(file.to_owned()).or_default().note(offset, length);
    }
    done.unique_bytes = Some(files.into_values().map(Accesses::unique).sum());
    Ok(done)
}

/// `time, latency, direction, length, offset, …`, a file for each process, numbered over all jobs.
fn of_latency_logs(dir: &Path, job: usize, own_files: bool) -> Result<Done> {
    let mut done = Done::default();
    let mut together = Accesses::default();
    let mut unique = 0;
    for entry in fs::read_dir(dir).context("the directory of trials cannot be read")?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(&format!("log.{job}_lat.")) {
            continue;
        }
        let text =
            fs::read_to_string(entry.path()).with_context(|| format!("{name}: cannot be read"))?;
        let mut own = Accesses::default();
        for line in text.lines() {
            let words: Vec<u64> =
                line.split(',').map_while(|word| word.trim().parse().ok()).collect();
            let [_, _, direction, length, offset, ..] = words[..] else {
                bail!("{name}: `{line}` has no offset");
            };
            match direction {
                0 => done.read_bytes += length,
                _ => done.write_bytes += length,
            }
            done.ios += 1;
            if own_files { &mut own } else { &mut together }.note(offset, length);
        }
        unique += own.unique();
    }
    done.unique_bytes = Some(unique + together.unique());
    Ok(done)
}

/// dd says how many records it read and wrote, and a loop device what reached it.
fn dd(words: &[String], device: &LoopDevice, told: &Value) -> Result<Vec<Done>> {
    let before = device.counters()?;
    let (_, said) = output(Command::new("dd").args(&words[1..]).env("LC_ALL", "C"))?;
    let after = device.counters()?;
    let records = |word: &str| -> Option<u64> {
        let line = said.lines().find(|line| line.contains(word))?;
        let (whole, part) = line.split_whitespace().next()?.split_once('+')?;
        Some(whole.parse::<u64>().ok()? + part.parse::<u64>().ok()?)
    };
    let bytes = said.lines().last().and_then(|line| line.split(' ').next()?.parse::<u64>().ok());
    let (Some(bytes), Some(read), Some(written)) =
        (bytes, records("records in"), records("records out"))
    else {
        bail!("dd said nothing of what it did: {said}");
    };
    let jobs = told["jobs"].as_array().cloned().unwrap_or_default();
    let of = |job: &Value| {
        let name = job["name"].as_str().unwrap_or_default().to_owned();
        let reads = name == "dd reads";
        let from_device = reads && words.iter().any(|word| word.contains("/dev/loop"));
        let device_bytes = after.read_bytes - before.read_bytes;
        Done {
            name,
            read_bytes: if reads { bytes } else { 0 },
            write_bytes: if reads { 0 } else { bytes },
            ios: if reads { read } else { written },
            // In order from one place: what reached the device past the page cache was read once.
            unique_bytes: (from_device && words.iter().any(|word| word.contains("direct")))
                .then_some(device_bytes),
            ..Done::default()
        }
    };
    Ok(jobs.iter().map(of).collect())
}

fn hdparm(words: &[String], device: &LoopDevice) -> Result<Vec<Done>> {
    let before = device.counters()?;
    let (said, _) = output(Command::new("hdparm").args(&words[1..]))?;
    let after = device.counters()?;
    let line =
        said.lines().find(|line| line.contains(" MB in ")).context("hdparm timed nothing")?;
    let number = |word: &str| -> Option<f64> {
        line.split(word).next()?.split_whitespace().last()?.parse().ok()
    };
    let (megabytes, seconds) =
        (number(" MB in ").unwrap_or(0.0), number(" seconds").unwrap_or(0.0));
    let device_bytes = after.read_bytes - before.read_bytes;
    let is_cached = line.contains("cached reads");
    let bytes = (megabytes * 1_048_576.0) as u64;
    Ok(vec![Done {
        name: if is_cached { "hdparm -T" } else { "hdparm -t" }.to_owned(),
        read_bytes: if is_cached { bytes } else { device_bytes },
        ios: bytes / (2 << 20),
        unique_bytes: (!is_cached).then_some(device_bytes),
        seconds: Some(seconds),
        device_bytes: Some(device_bytes),
        ..Done::default()
    }])
}
