//! `postgres`: a real application's I/O, recorded. PostgreSQL runs pgbench on an ext4 of its own, on a loop device with
//! direct I/O, with a database larger than its shared buffers; `drivescope trace record` records the device meanwhile, and
//! `drivescope trace analyze` says what was recorded. Then two drives of which the better is known are compared by it, in
//! virtual time and served to real replays.
//!
//! The checks need no knowledge of the right result: nothing is lost, every I/O completes, the writes that the database
//! makes durable are there, and the kernel's own counters of the device show the same reads and writes.

mod drives;
pub mod server;
pub mod volume;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use block::Bytes;
use clap::Args;
use serde_json::Value;

use crate::binary::{Binary, number, text};
use crate::provenance::{self, Machine};
use crate::{sheet, stop};
use drives::Contest;
use server::Server;
use volume::{Counters, Volume};

/// Seconds of pgbench that the table promises at least.
const SECONDS_MIN: u32 = 60;
/// Room on the device for what is not the database: what the filesystem needs, and the first segments of the log.
const ROOM: Bytes = Bytes::mib(448);
/// Size of a unit of pgbench's scale: 100,000 rows.
const BYTES_OF_SCALE: Bytes = Bytes::mib(16);

/// Options of `postgres`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// pgbench's scale: 16 MiB of database each
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    scale: u32,
    /// The server's own cache, in MiB; smaller than the database
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    shared_buffers: u32,
    /// Seconds of pgbench
    #[arg(long, default_value_t = SECONDS_MIN, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// Clients of pgbench
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    clients: u32,
    /// Seconds of the recording that are replayed
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    replayed: u32,
    /// Rounds of a comparison
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(6..=100))]
    rounds: u32,
    /// Keep the recording here
    #[arg(long, value_name = "FILE.parquet")]
    keep: Option<PathBuf>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of under 60 s]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Records of one run of pgbench.
struct Run {
    /// Body of `trace record`.
    recorded: Value,
    /// Body of `trace analyze`.
    analysed: Value,
    /// Output of pgbench.
    bench: String,
    /// The recording.
    file: PathBuf,
    /// The kernel's counts on the device meanwhile.
    counted: Counters,
}

/// Records, analyses and writes the table; false when something is not as it should be.
///
/// # Errors
/// When a program is missing or fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    ensure!(
        u64::from(options.shared_buffers) < u64::from(options.scale) * (BYTES_OF_SCALE.0 >> 20),
        "--shared-buffers {} holds the whole database of --scale {}: nothing would be read",
        options.shared_buffers,
        options.scale
    );
    let binary = Binary::find()?;
    let out = sheet::table_dir(options.out.as_deref(), options.seconds < SECONDS_MIN)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let stop = stop::stop_flag()?;
    let work = tempdir(&sheet::work_dir()?)?;
    let run = record(options, &binary, &work.0, &stop)?;
    let contests = drives::contests(&binary, &run.file, options.replayed, options.rounds)?;
    let mut faults = faults(&run)?;
    for contest in &contests {
        faults.extend(contest.fault()?);
    }
    let testers = vec![("Load average at the start", load), ("Beside", server::version()?)];
    let mut raw = run.analysed.clone();
    for map in ["heat", "timeline"] {
        // Half a million numbers that no figure of the page comes from.
        raw.as_object_mut().and_then(|body| body.remove(map));
    }
    fs::write(out.join("postgres.json"), serde_json::to_string_pretty(&raw)?)?;
    let head = sheet::provenance(&commit, &Machine::here(), "postgres.json", &testers);
    sheet::write(&out.join("postgres.md"), &table(&head, options, &run, (&contests, &faults))?)?;
    for fault in &faults {
        eprintln!("wrong: {fault}");
    }
    Ok(faults.is_empty())
}

/// A directory that goes with this.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn tempdir(inside: &Path) -> Result<Removed> {
    let dir = fs::canonicalize(inside)?.join(format!("postgres-{}", std::process::id()));
    fs::create_dir(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
    Ok(Removed(dir))
}

fn record(options: &Options, binary: &Binary, work: &Path, stop: &AtomicBool) -> Result<Run> {
    // Twice: filling it leaves as much in the log, which the server keeps until its next checkpoint.
    let size = Bytes(2 * BYTES_OF_SCALE.0 * u64::from(options.scale) + ROOM.0);
    let mut volume = Volume::make(work, size)?;
    let data = volume.point().join("data");
    server::initialise(&data)?;
    let server = Server::start(&data, options.shared_buffers)?;
    server.fill(options.scale)?;
    server.stop()?;
    // The data just written is in the page cache, which goes with the mount.
    volume.mount_again()?;
    ensure!(!stop.load(Ordering::Relaxed), "stopped");
    let server = Server::start(&data, options.shared_buffers)?;
    let file = options.keep.clone().unwrap_or_else(|| work.join("postgres.parquet"));
    let before = volume.counters()?;
    let (recorded, bench) = record_bench(options, binary, &volume, &server, &file)?;
    let counted = volume.counters()? - before;
    server.stop()?;
    let analysed = body(binary.command().args(["trace", "analyze", "--json"]).arg(&file))?.0;
    Ok(Run { recorded, analysed, bench, file, counted })
}

/// The body of `trace record` around pgbench, and what pgbench said.
fn record_bench(
    options: &Options,
    binary: &Binary,
    volume: &Volume,
    server: &Server,
    file: &Path,
) -> Result<(Value, String)> {
    let mut command = binary.command();
    command.args(["trace", "record", "--json", "--no-progress", "--force"]).arg(volume.device());
    command.arg("-o").arg(file).arg("--");
    command.args(server.bench(options.clients, options.seconds));
    body(&mut command)
}

/// The body that a verb of ours printed, and what it said beside.
fn body(command: &mut Command) -> Result<(Value, String)> {
    let output = command.stdin(Stdio::null()).output().context("cannot start drivescope")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}", output.status, said.trim());
    }
    let mut document: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("{command:?} printed no JSON"))?;
    Ok((document["body"].take(), said))
}

/// Describes each check that failed.
fn faults(run: &Run) -> Result<Vec<String>> {
    let (recorded, analysed) = (&run.recorded, &run.analysed);
    let mut faults = Vec::new();
    let mut expect = |holds: bool, fault: String| {
        if !holds {
            faults.push(fault);
        }
    };
    let lost = number(recorded, "/recorder/lost")?;
    expect(lost == 0.0, format!("{lost} events were lost"));
    let malformed = number(recorded, "/recorder/malformed")?;
    expect(malformed == 0.0, format!("{malformed} records were not understood"));
    for (what, pointer, counted) in [
        ("bytes read", "/bytes_read", run.counted.read_bytes),
        ("bytes written", "/bytes_written", run.counted.written_bytes),
    ] {
        let told = number(analysed, pointer)?;
        // The server runs for a moment before and after the recording.
        let near = (told - counted as f64).abs() <= 0.02 * counted as f64 + 1e6;
        expect(near, format!("{told} {what} were recorded, and the kernel counted {counted}"));
        expect(told > 0.0, format!("no {what} at all"));
    }
    Ok(faults)
}

fn table(
    head: &str,
    options: &Options,
    run: &Run,
    (contests, faults): (&[Contest], &[String]),
) -> Result<String> {
    let (recorded, analysed) = (&run.recorded, &run.analysed);
    let of = |value: &Value, pointer: &str| {
        Ok::<_, anyhow::Error>(format!("{}", number(value, pointer)?))
    };
    let said = |name: &str| {
        let line = run.bench.lines().find(|line| line.contains(name)).unwrap_or("not told");
        line.trim().to_owned()
    };
    let phase = |name: &str| -> Result<Vec<String>> {
        let mut row = vec![name.to_uppercase()];
        for of in ["n", "mean_ns", "p50_ns", "p99_ns", "p999_ns", "max_ns"] {
            row.push(format!("{:.0}", number(analysed, &format!("/phases/{name}/{of}"))?));
        }
        Ok(row)
    };
    let rows = [
        vec!["I/Os".to_owned(), of(recorded, "/ios")?],
        vec!["events".to_owned(), of(recorded, "/recorder/events")?],
        vec!["lost".to_owned(), of(recorded, "/recorder/lost")?],
        vec!["back end".to_owned(), text(recorded, "/recorder/backend")?.to_owned()],
        vec!["reads".to_owned(), of(analysed, "/reads")?],
        vec!["writes".to_owned(), of(analysed, "/writes")?],
        vec!["bytes read".to_owned(), of(analysed, "/bytes_read")?],
        vec!["bytes read, as the kernel counts".to_owned(), run.counted.read_bytes.to_string()],
        vec!["bytes written".to_owned(), of(analysed, "/bytes_written")?],
        vec![
            "bytes written, as the kernel counts".to_owned(),
            run.counted.written_bytes.to_string(),
        ],
        vec!["mean queue depth".to_owned(), of(analysed, "/queue_depth/mean")?],
        vec!["pgbench".to_owned(), said("tps = ")],
        vec!["pgbench".to_owned(), said("latency average")],
    ];
    let phases = ["q2q", "q2c", "d2c"].map(phase).into_iter().collect::<Result<Vec<_>>>()?;
    let verdict = match faults {
        [] => "Nothing was lost, the kernel counted the same, and each comparison named the drive that was to be named."
            .to_owned(),
        faults => format!("Wrong: {}.", faults.join("; ")),
    };
    Ok(format!(
        "# postgres: a database's I/O, recorded\n\n{head}pgbench with {} clients for {} s, scale {}, {} MiB of \
         shared buffers, on ext4 on a loop device with direct I/O, its page cache cold at the start.\n\n{}\n{}\n\
         ## Two drives compared by it\n\nThe first {} s, replayed in {} interleaved rounds on `sata-a` (A) and `sata-b` (B): in \
         virtual time, and on the same drives served as files (FUSE), in real time.\n\n{}\n{verdict}\n",
        options.clients,
        options.seconds,
        options.scale,
        options.shared_buffers,
        sheet::table(1, &["of the recording", ""], &rows),
        sheet::table(1, &["ns", "n", "mean", "p50", "p99", "p99.9", "max"], &phases),
        options.replayed,
        options.rounds,
        drives::table(contests)?,
    ))
}
