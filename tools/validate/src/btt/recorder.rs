//! Recordings by the kernel's own `blk` tracer, which owes nothing to our recorder.
//!
//! It writes blktrace's records of version 1 into the ring of ftrace (`blk` in `current_tracer`, option `bin`). There
//! is one such tracer for the whole machine: a lock keeps several of these runs apart, and a tracer that another
//! program uses is left alone.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::loop_device::read_trimmed;

const TRACEFS: &str = "/sys/kernel/tracing";
/// Lock file that runs of this kind hold one at a time.
const LOCK: &str = "/run/lock/drivescope-blk-tracer";
/// Buffer of each CPU.
const BUFFER_KIB: u32 = 16 << 10;
/// How long is waited for others who use the tracer.
const PATIENCE_S: u32 = 60;
/// Length of a record without what lies behind it.
const HEADER: usize = 48;

/// The tracer, on. Off, and as it was, when dropped.
#[derive(Debug)]
pub struct BlkTracer {
    devices: Vec<String>,
    clock: String,
    buffer: String,
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<Result<Vec<u8>>>>,
    _lock: File,
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("{}: cannot write {text}", path.display()))
}

fn in_tracefs(name: &str) -> PathBuf {
    Path::new(TRACEFS).join(name)
}

impl BlkTracer {
    /// Begins to record `devices`, by their names under `/sys/block`.
    ///
    /// # Errors
    /// Without root or tracefs, or when another tracer is in use.
    pub fn start(devices: &[String]) -> Result<BlkTracer> {
        let lock = File::create(LOCK).with_context(|| format!("{LOCK}: cannot be made"))?;
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)?;
        // Others who use it do so for seconds, and know nothing of the lock.
        for waited in 0.. {
            let current = read_trimmed(&in_tracefs("current_tracer"))?;
            if current == "nop" {
                break;
            }
            ensure!(
                waited < PATIENCE_S,
                "the tracer {current} is in use; wait for whoever uses it"
            );
            thread::sleep(Duration::from_secs(1));
        }
        let clock = read_trimmed(&in_tracefs("trace_clock"))?;
        let chosen = clock.split_whitespace().find(|word| word.starts_with('['));
        let buffer = read_trimmed(&in_tracefs("buffer_size_kb"))?;
        let mut tracer = BlkTracer {
            devices: devices.to_vec(),
            clock: chosen.unwrap_or("[local]").trim_matches(['[', ']']).to_owned(),
            buffer: buffer.split_whitespace().next().unwrap_or("1408").to_owned(),
            stop: Arc::new(AtomicBool::new(false)),
            reader: None,
            _lock: lock,
        };
        tracer.turn_on()?;
        Ok(tracer)
    }

    fn turn_on(&mut self) -> Result<()> {
        write(&in_tracefs("buffer_size_kb"), &BUFFER_KIB.to_string())?;
        write(&in_tracefs("trace_clock"), "mono")?;
        write(&in_tracefs("trace_options"), "bin")?;
        write(&in_tracefs("trace_options"), "nocontext-info")?;
        write(&in_tracefs("current_tracer"), "blk")?;
        for device in &self.devices {
            write(&Path::new("/sys/block").join(device).join("trace/enable"), "1")?;
        }
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits())?;
        let mut pipe = OpenOptions::new()
            .read(true)
            .custom_flags(nonblocking)
            .open(in_tracefs("trace_pipe"))?;
        let stop = self.stop.clone();
        self.reader = Some(thread::spawn(move || {
            let (mut all, mut piece) = (Vec::new(), vec![0; 1 << 16]);
            loop {
                // Loaded before the pipe is found empty: events after the flag belong to no recording.
                let last = stop.load(Ordering::Acquire);
                match pipe.read(&mut piece) {
                    Ok(n) if n > 0 => all.extend_from_slice(&piece[..n]),
                    Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error.into()),
                    _ if last => return Ok(all),
                    _ => thread::sleep(Duration::from_millis(5)),
                }
            }
        }));
        Ok(())
    }

    fn disable(&self) {
        for device in &self.devices {
            let _ = fs::write(Path::new("/sys/block").join(device).join("trace/enable"), "0");
        }
    }

    /// Ends the recording and writes it as blktrace does: `NAME.blktrace.CPU` for each CPU, under `base`.
    ///
    /// # Errors
    /// When events were lost, or the data read are not records.
    pub fn finish(mut self, base: &Path) -> Result<u64> {
        // I/Os that were issued complete first.
        thread::sleep(Duration::from_millis(300));
        self.disable();
        let lost = lost()?;
        self.stop.store(true, Ordering::Release);
        let reader = self.reader.take().context("the recording was ended before")?;
        let records = match reader.join() {
            Ok(records) => records?,
            Err(_) => bail!("the thread that reads the trace has died"),
        };
        ensure!(lost == 0, "{lost} events were lost: the recording is none to compare by");
        save(&records, base)
    }
}

impl Drop for BlkTracer {
    fn drop(&mut self) {
        self.disable();
        self.stop.store(true, Ordering::Release);
        // The tracer cannot be taken off while its pipe is open.
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let put_back = [
            ("current_tracer", "nop"),
            ("trace_options", "nobin"),
            ("trace_options", "context-info"),
            ("trace_clock", self.clock.as_str()),
            ("buffer_size_kb", self.buffer.as_str()),
        ];
        for (name, text) in put_back {
            if let Err(error) = write(&in_tracefs(name), text) {
                eprintln!("warning: {error:#}");
            }
        }
    }
}

/// Events that found no room, on all CPUs.
fn lost() -> Result<u64> {
    let mut lost = 0;
    for entry in fs::read_dir(in_tracefs("per_cpu"))? {
        let stats = fs::read_to_string(entry?.path().join("stats"))?;
        let counts = stats.lines().filter_map(|line| line.split_once(':'));
        let wanted = |name: &str| matches!(name, "overrun" | "commit overrun" | "dropped events");
        let counts = counts.filter(|(name, _)| wanted(name));
        lost += counts.filter_map(|(_, n)| n.trim().parse::<u64>().ok()).sum::<u64>();
    }
    Ok(lost)
}

/// Splits records by CPU, and numbers those of each, which ftrace does not.
fn save(records: &[u8], base: &Path) -> Result<u64> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let mut files: Vec<Vec<u8>> = vec![Vec::new(); cpus];
    let mut counts = vec![0u32; cpus];
    let mut at = 0;
    while at < records.len() {
        let header = records.get(at..at + HEADER).context("the last record is cut off")?;
        ensure!(header[..4] == 0x6561_7407u32.to_ne_bytes(), "no record at byte {at} of the trace");
        let number =
            |from: usize| u32::from_ne_bytes(header[from..from + 4].try_into().unwrap_or_default());
        let behind = usize::from(u16::from_ne_bytes([header[46], header[47]]));
        let cpu = number(40) as usize;
        if cpu >= files.len() {
            files.resize(cpu + 1, Vec::new());
            counts.resize(cpu + 1, 0);
        }
        let record = records.get(at..at + HEADER + behind).context("the last record is cut off")?;
        counts[cpu] += 1;
        files[cpu].extend_from_slice(&record[..4]);
        files[cpu].extend_from_slice(&counts[cpu].to_ne_bytes());
        files[cpu].extend_from_slice(&record[8..]);
        at += HEADER + behind;
    }
    for (cpu, bytes) in files.iter().enumerate() {
        let path = base.with_extension(format!("blktrace.{cpu}"));
        fs::write(&path, bytes)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    Ok(counts.iter().map(|n| u64::from(*n)).sum())
}
