//! `durable`: what applications waited for when they made writes durable, recorded and analysed, against the kernel's own
//! text of the same seconds.
//!
//! sqlite and PostgreSQL work on an ext4 on a loop device, which has a write cache and no force unit access: the kernel makes
//! each durable write of flushes before and after its data. `drivescope trace record` records that; beside it, the kernel
//! writes its events as text into a tracefs instance of this program, and the few lines here say how long each write took until
//! its last completion, and count and time the flushes at the device.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};
use block::Bytes;
use clap::Args;
use serde_json::Value;
use trace::container::Reader;
use trace::{Flags, Kind, Source as _};

use crate::binary::{Binary, number};
use crate::postgres::server::{self, Server};
use crate::postgres::volume::Volume;
use crate::provenance::{self, Machine};
use crate::{sheet, stacks};

/// Options of `durable`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Seconds of each load
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Output directory of the table
    #[arg(long, default_value = sheet::DOCS)]
    out: PathBuf,
}

/// Most that a figure may differ from the truth, as a share of it.
const SHARE: f64 = 0.001;

/// The kernel's text has microseconds, so that each time is off by up to one.
const TEXT_NS: f64 = 1_000.0;

const EVENTS: [&str; 3] = ["block_bio_queue", "block_rq_issue", "block_rq_complete"];

const SQLITE: &str = "import os, sqlite3, sys, time\n\
    path, journal, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])\n\
    base = sqlite3.connect(path)\n\
    base.execute('pragma journal_mode=' + journal)\n\
    base.execute('pragma synchronous=full')\n\
    base.execute('create table if not exists t(a integer primary key, b blob)')\n\
    end = time.monotonic() + seconds\n\
    while time.monotonic() < end:\n    \
        base.execute('insert into t(b) values(?)', (os.urandom(500),))\n    \
        base.commit()\n";

/// Durable writes, and flushes at the device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Figures {
    writes: u64,
    mean_ns: f64,
    p99_ns: f64,
    flushes: u64,
    flush_mean_ns: f64,
}

impl Figures {
    fn of(mut writes_ns: Vec<u64>, flushes_ns: &[u64]) -> Figures {
        writes_ns.sort_unstable();
        let mean = |all: &[u64]| all.iter().sum::<u64>() as f64 / all.len().max(1) as f64;
        let rank = (0.99 * writes_ns.len() as f64).ceil() as usize;
        Figures {
            writes: writes_ns.len() as u64,
            mean_ns: mean(&writes_ns),
            p99_ns: writes_ns.get(rank.saturating_sub(1)).copied().unwrap_or(0) as f64,
            flushes: flushes_ns.len() as u64,
            flush_mean_ns: mean(flushes_ns),
        }
    }

    /// Values that differ by more than allowed.
    fn faults(&self, truth: &Figures) -> Vec<String> {
        let near = |own: f64, of: f64| (own - of).abs() <= SHARE * of + TEXT_NS;
        let checks = [
            (self.writes == truth.writes, "number of durable writes"),
            (near(self.mean_ns, truth.mean_ns), "mean Q2C"),
            (near(self.p99_ns, truth.p99_ns), "p99 Q2C"),
            (self.flushes == truth.flushes, "number of flushes"),
            (near(self.flush_mean_ns, truth.flush_mean_ns), "mean of a flush"),
            (truth.writes > 0 && truth.flushes > 0, "load, which made nothing durable"),
        ];
        checks.iter().filter(|(holds, _)| !holds).map(|(_, what)| (*what).to_owned()).collect()
    }
}

/// Records each load and writes the table; false when a figure differs.
///
/// # Errors
/// When a program is missing or fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let out = sheet::table_dir(Some(&options.out), false)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let work = stacks::fresh_dir("durable")?;
    let seconds = options.seconds.to_string();
    let (mut rows, mut faults, mut csv) = (Vec::new(), Vec::new(), String::new());
    let mut take = |name: &str, volume: &Volume, command: &[String]| -> Result<()> {
        for backend in backends() {
            let (ours, truth) = measured(&binary, &work, backend, volume, command)
                .with_context(|| format!("{name}, {backend}"))?;
            let found = ours.faults(&truth);
            faults.extend(found.iter().map(|what| format!("{name}, {backend}: {what}")));
            for (who, of) in [("drivescope", ours), ("kernel's text", truth)] {
                rows.push(row(name, backend, who, of));
                csv += &format!(
                    "{name},{backend},{who},{},{},{},{},{}\n",
                    of.writes, of.mean_ns, of.p99_ns, of.flushes, of.flush_mean_ns
                );
            }
        }
        Ok(())
    };
    let mut volumes = 0;
    let mut volume = |size| {
        volumes += 1;
        let dir = work.join(format!("volume-{volumes}"));
        fs::create_dir(&dir)?;
        Volume::make(&dir, size)
    };
    for journal in ["delete", "wal"] {
        let volume = volume(Bytes::mib(192))?;
        let base = volume.point().join("base").to_string_lossy().into_owned();
        let command = ["python3", "-c", SQLITE, &base, journal, &seconds].map(str::to_owned);
        take(&format!("sqlite, journal {journal}"), &volume, &command)?;
    }
    let about = match server::version() {
        Ok(version) => {
            let volume = volume(Bytes::mib(640))?;
            let data = volume.point().join("data");
            fs::set_permissions(&work, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
            server::initialise(&data)?;
            let server = Server::start(&data, 16)?;
            server.fill(4)?;
            let words = server.bench(4, options.seconds).into_iter();
            let command: Vec<String> = words.map(|w| w.to_string_lossy().into_owned()).collect();
            take("PostgreSQL, pgbench", &volume, &command)?;
            server.stop()?;
            version
        }
        Err(why) => format!("without PostgreSQL: {why:#}"),
    };
    let more = [("Beside", about), ("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "durable.csv", &more);
    let csv = format!("load,backend,who,writes,mean_ns,p99_ns,flushes,flush_mean_ns\n{csv}");
    fs::write(out.join("durable.csv"), csv).context("durable.csv cannot be written")?;
    sheet::write(&out.join("durable.md"), &page(&head, &rows, &faults))?;
    fs::remove_dir_all(&work).with_context(|| format!("{}: stays", work.display()))?;
    faults.iter().for_each(|fault| eprintln!("differs: {fault}"));
    Ok(faults.is_empty())
}

/// Back ends of `trace record` that this machine has.
fn backends() -> Vec<&'static str> {
    let has_debugfs = Path::new("/sys/kernel/debug/block").is_dir();
    [Some("tracepoints"), has_debugfs.then_some("blktrace")].into_iter().flatten().collect()
}

fn row(name: &str, backend: &str, who: &str, of: Figures) -> Vec<String> {
    let us = |ns: f64| format!("{:.1}", ns / 1e3);
    let words = [name, backend, who].map(str::to_owned);
    let figures = [
        of.writes.to_string(),
        us(of.mean_ns),
        us(of.p99_ns),
        of.flushes.to_string(),
        us(of.flush_mean_ns),
    ];
    words.into_iter().chain(figures).collect()
}

fn page(head: &str, rows: &[Vec<String>], faults: &[String]) -> String {
    let columns = [
        "load",
        "back end",
        "who",
        "durable writes",
        "mean Q2C, µs",
        "p99, µs",
        "flushes",
        "mean, µs",
    ];
    let verdict = match faults {
        [] => "Counts are the same, and times differ by at most 0.1% (and the microsecond of the text).".to_owned(),
        faults => format!("Differs: {}.", faults.join("; ")),
    };
    format!(
        "# Durable writes: what applications waited for\n\n{verdict}\n\n{head}\
         Each load runs on ext4 on a loop device, which caches writes and has no force unit access. *Durable writes* have data and \
         a flush before or behind them; their Q2C ends with the last completion of that sequence. *Flushes* are those that \
         the device gets, from issue to completion. The kernel's text is of the same seconds, by the events `block_bio_queue`, \
         `block_rq_issue` and `block_rq_complete` of a tracefs instance, added up by a few lines \
         (`tools/validate/src/durable.rs`).\n\n{}",
        sheet::table(3, &columns, rows)
    )
}

/// A load recorded by `trace record`, and by the kernel's text around it.
fn measured(
    binary: &Binary,
    work: &Path,
    backend: &str,
    volume: &Volume,
    command: &[String],
) -> Result<(Figures, Figures)> {
    let file = work.join("recording.parquet");
    let text = Text::start(volume.device())?;
    // Earlier writes are over when both record, and those of the command before either ends.
    let quiet = "sync; sleep 0.3; \"$@\" >/dev/null; e=$?; sync; sleep 0.3; exit $e";
    let output = binary
        .command()
        .args(["trace", "record", "--json", "--no-progress", "--force", "--backend", backend])
        .arg(volume.device())
        .arg("-o")
        .arg(&file)
        .args(["--", "sh", "-c", quiet, "sh"])
        .args(command)
        .stdin(Stdio::null())
        .output()
        .context("cannot start drivescope")?;
    let truth = figures(&text.end()?);
    if !output.status.success() {
        bail!("trace record: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let recorded: Value = serde_json::from_slice(&output.stdout).context("trace record")?;
    ensure!(number(&recorded, "/body/recorder/lost")? == 0.0, "events were lost");
    let mut analyze = binary.command();
    let analyze = analyze.args(["trace", "analyze", "--json"]).arg(&file);
    let output = analyze.output().context("cannot start drivescope")?;
    let analysed: Value = serde_json::from_slice(&output.stdout).context("trace analyze")?;
    let analysed = &analysed["body"];
    let mut writes = Vec::new();
    let mut reader = Reader::open(&file)?;
    let mut batch = Vec::new();
    loop {
        batch.clear();
        reader.next(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        let durable = batch.iter().filter(|io| {
            let flags = io.flags.has(Flags::FUA) || io.flags.has(Flags::PREFLUSH);
            io.kind == Kind::Write && flags && io.length > Bytes::ZERO
        });
        writes.extend(durable.filter_map(|io| Some(io.q2c()?.0)));
    }
    let ours = Figures {
        flushes: number(analysed, "/devices/0/drive_flushes/n")? as u64,
        flush_mean_ns: number(analysed, "/devices/0/drive_flushes/mean_ns")?,
        ..Figures::of(writes, &[])
    };
    Ok((ours, truth))
}

/// Events of a device as the kernel's text, in a tracefs instance of our own.
struct Text(PathBuf);

impl Text {
    fn start(device: &Path) -> Result<Text> {
        let instances = Path::new("/sys/kernel/tracing/instances");
        let dir = instances.join(format!("validate-durable-{}", std::process::id()));
        fs::create_dir(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
        let text = Text(dir);
        let name = device.file_name().unwrap_or_default();
        let number = fs::read_to_string(Path::new("/sys/block").join(name).join("dev"))?;
        let (major, minor) = number.trim().split_once(':').context("a device's number")?;
        let number = major.parse::<u32>()? << 20 | minor.parse::<u32>()?;
        text.write("trace_clock", "mono")?;
        text.write("options/overwrite", "0")?;
        text.write("buffer_size_kb", "32768")?;
        for event in EVENTS {
            text.write(&format!("events/block/{event}/filter"), &format!("dev == {number}"))?;
            text.write(&format!("events/block/{event}/enable"), "1")?;
        }
        Ok(text)
    }

    fn write(&self, name: &str, value: &str) -> Result<()> {
        let path = self.0.join(name);
        fs::write(&path, value).with_context(|| path.display().to_string())
    }

    fn end(self) -> Result<String> {
        self.write("tracing_on", "0")?;
        for entry in fs::read_dir(self.0.join("per_cpu"))? {
            let stats = fs::read_to_string(entry?.path().join("stats"))?;
            let lost = |line: &&str| line.starts_with("dropped events:") && !line.ends_with(" 0");
            ensure!(!stats.lines().any(|line| lost(&line)), "the kernel lost events");
        }
        fs::read_to_string(self.0.join("trace")).context("the kernel's text")
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let _ = self.write("events/enable", "0");
        let _ = fs::remove_dir(&self.0);
    }
}

/// Times of durable writes and of flushes, from lines such as
/// `jbd2/loop3-8-71 [001] ..... 27127.220084: block_bio_queue: 7,3 FWFSM 163862 + 2 [jbd2/loop3-8]`.
fn figures(text: &str) -> Figures {
    let mut queued: HashMap<u64, VecDeque<u64>> = HashMap::new();
    let mut issued: VecDeque<u64> = VecDeque::new();
    let (mut writes, mut flushes) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let Some((head, event, rest)) = EVENTS.iter().find_map(|event| {
            let (head, rest) = line.split_once(&format!(": {event}: "))?;
            Some((head, *event, rest))
        }) else {
            continue;
        };
        let Some(now) = nanoseconds(head) else { continue };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let Some(plus) = words.iter().position(|word| *word == "+") else { continue };
        let (Some(rwbs), Some(sector), Some(sectors)) = (
            words.get(1),
            plus.checked_sub(1).and_then(|at| words[at].parse::<u64>().ok()),
            words.get(plus + 1).and_then(|word| word.parse::<u64>().ok()),
        ) else {
            continue;
        };
        let is_flush = rwbs.starts_with("FF");
        match event {
            "block_bio_queue" if sectors > 0 => {
                // An F before the letter of the data is a flush, one after it is forced unit access.
                let durable = rwbs.starts_with("FW") || rwbs.starts_with("WF");
                if durable {
                    queued.entry(sector).or_default().push_back(now);
                }
            }
            "block_rq_issue" if is_flush => issued.push_back(now),
            "block_rq_complete" if is_flush => {
                flushes.extend(issued.pop_front().map(|began| now - began));
            }
            // The sequence is over: a completion without data, at the write's sector.
            "block_rq_complete" if sectors == 0 => {
                let began = queued.get_mut(&sector).and_then(VecDeque::pop_front);
                writes.extend(began.map(|began| now - began));
            }
            _ => {}
        }
    }
    Figures::of(writes, &flushes)
}

/// `… 27127.220084` in nanoseconds.
fn nanoseconds(head: &str) -> Option<u64> {
    let (seconds, micros) = head.rsplit(' ').next()?.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + micros.parse::<u64>().ok()? * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Were the truth read wrongly, it would prove nothing.
    #[test]
    fn a_durable_write_ends_with_its_last_completion() {
        let lines = [
            "100: block_bio_queue: 7,3 FWFSM 163862 + 2 [jbd2/loop3-8]",
            "110: block_rq_issue: 7,3 FF 0 () 0 + 0 none,0,0 [kworker/1:1H]",
            "150: block_rq_complete: 7,3 FF () 18446744073709551615 + 0 none,0,0 [0]",
            "160: block_rq_issue: 7,3 WSM 1024 () 163862 + 2 be,0,3 [kworker/0:1H]",
            "170: block_rq_complete: 7,3 WSM () 163862 + 2 be,0,3 [0]",
            "180: block_rq_issue: 7,3 FF 0 () 0 + 0 none,0,0 [kworker/1:1H]",
            "240: block_rq_complete: 7,3 FF () 18446744073709551615 + 0 none,0,0 [0]",
            "250: block_rq_complete: 7,3 WSM () 163862 + 0 be,0,3 [0]",
            "300: block_bio_queue: 7,3 FWS 0 + 0 [python3]",
            "301: block_bio_queue: 7,3 WS 8 + 8 [python3]",
        ];
        let text: String =
            lines.iter().map(|line| format!("  a-1 [001] ..... 2.000{line}\n")).collect();
        let found = figures(&text);
        let wanted = Figures {
            writes: 1,
            mean_ns: 150_000.0,
            p99_ns: 150_000.0,
            flushes: 2,
            flush_mean_ns: 50_000.0,
        };
        assert_eq!(found, wanted);
        assert!(found.faults(&wanted).is_empty());
        assert_eq!(Figures { flushes: 5, ..found }.faults(&wanted), ["number of flushes"]);
        assert_eq!(Figures { mean_ns: 140_000.0, ..found }.faults(&wanted), ["mean Q2C"]);
    }
}
