//! A recording by the kernel's tracer `blk`, which writes the records that blktrace's files hold; and is to be had
//! where blktrace is not, since lockdown forbids the latter's files.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use block::Bytes;
use block::trace::record::Record;

use crate::loop_device::{self, LoopDevice};

/// Mount point of tracefs.
const TRACING: &str = "/sys/kernel/tracing";
/// Size of the device.
const SIZE: Bytes = Bytes::mib(256);
/// Kernel memory for records, for each CPU.
const BUFFER_KB: &str = "32768";
/// After this many waits of 10 ms without a record, fio has ended, or the tracer does not work.
const WAITS: u32 = 500;

/// Records until there are `events`, into `base.blktrace.CPU`; says how.
pub(super) fn record(base: &Path, work: &Path, events: u64, stop: &AtomicBool) -> Result<String> {
    let backing = work.join("trace-speed.img");
    loop_device::prepare(&backing, SIZE, stop)?;
    let device = LoopDevice::attach(&backing)?;
    let tracer = Tracer::start(device.path())?;
    let fio = Fio::start(device.path())?;
    let recorded = drain(base, events, stop);
    drop(fio);
    drop(tracer);
    drop(device);
    let _absent = fs::remove_file(&backing);
    recorded?;
    Ok("fio (libaio, random reads of 4 to 64 KiB at depth 16, 2 jobs) on a loop device, recorded by the \
        kernel's tracer `blk`"
        .to_owned())
}

/// Records in a file.
pub(super) fn count(path: &Path) -> Result<u64> {
    let bytes = fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let mut rest = bytes.as_slice();
    let mut events = 0;
    while let Some(record) = Record::read(rest) {
        rest = rest.get(record.len()..).unwrap_or_default();
        events += 1;
    }
    Ok(events)
}

/// The kernel's tracer at work; put back when dropped.
struct Tracer {
    enable: PathBuf,
    /// Size of the kernel's memory for records before.
    buffer_kb: String,
}

impl Tracer {
    fn start(device: &Path) -> Result<Tracer> {
        let tracing = Path::new(TRACING);
        let current = fs::read_to_string(tracing.join("current_tracer"))
            .with_context(|| format!("{TRACING}: cannot be read, which takes root and tracefs"))?;
        if current.trim() != "nop" {
            bail!(
                "{TRACING}: somebody uses the tracer {}; --made-only does without",
                current.trim()
            );
        }
        let name = device.file_name().context("a device without a name")?;
        let enable = Path::new("/sys/block").join(name).join("trace/enable");
        // `7 (expanded: 1408)` before anybody has traced, and a number after.
        let size = fs::read_to_string(tracing.join("buffer_size_kb")).unwrap_or_default();
        let size = size.rsplit(':').next().unwrap_or_default();
        let buffer_kb = size.chars().filter(char::is_ascii_digit).collect();
        let tracer = Tracer { enable, buffer_kb };
        put(&tracer.enable, "1")?;
        put(&tracing.join("buffer_size_kb"), BUFFER_KB)?;
        put(&tracing.join("trace_clock"), "mono")?;
        put(&tracing.join("current_tracer"), "blk")?;
        put(&tracing.join("trace_options"), "bin")?;
        put(&tracing.join("trace_options"), "nocontext-info")?;
        Ok(tracer)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let tracing = Path::new(TRACING);
        for (file, word) in [
            (self.enable.clone(), "0"),
            (tracing.join("current_tracer"), "nop"),
            (tracing.join("trace_options"), "nobin"),
            (tracing.join("trace_options"), "context-info"),
            (tracing.join("trace_clock"), "local"),
            (tracing.join("buffer_size_kb"), self.buffer_kb.as_str()),
        ] {
            if let Err(error) = put(&file, word) {
                eprintln!("warning: {error:#}");
            }
        }
    }
}

fn put(file: &Path, word: &str) -> Result<()> {
    fs::write(file, word).with_context(|| format!("{}: cannot be set to {word}", file.display()))
}

/// fio at work; killed when dropped.
struct Fio(Child);

impl Fio {
    fn start(device: &Path) -> Result<Fio> {
        let child = Command::new("fio")
            .args(["--name=speed", "--direct=1", "--ioengine=libaio", "--iodepth=16"])
            .args(["--rw=randread", "--bsrange=4k-64k", "--size=120M", "--numjobs=2"])
            // The jobs keep to halves of their own, and none has two I/Os at one place: btt knows one at a time.
            .args(["--offset_increment=128M", "--serialize_overlap=1"])
            .args(["--time_based", "--runtime=600"])
            .arg(format!("--filename={}", device.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start fio")?;
        Ok(Fio(child))
    }
}

impl Drop for Fio {
    fn drop(&mut self) {
        // Asked to, and not killed: its jobs are processes of their own, which it ends.
        let id = rustix::process::Pid::from_child(&self.0);
        let _gone = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        let _gone = self.0.wait();
    }
}

/// Moves records from the kernel to files until there are enough.
fn drain(base: &Path, events: u64, stop: &AtomicBool) -> Result<()> {
    let mut pipe = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(Path::new(TRACING).join("trace_pipe"))
        .context("the kernel's records cannot be read")?;
    let mut files = Files { base, open: Vec::new() };
    let mut buffer = vec![0; 1 << 20];
    let (mut have, mut moved, mut waits) = (0, 0, 0);
    while moved < events {
        if stop.load(Ordering::Relaxed) {
            bail!("stopped");
        }
        match pipe.read(&mut buffer[have..]) {
            Ok(read) if read > 0 => {
                have += read;
                waits = 0;
            }
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => {
                return Err(error.into());
            }
            _ => {
                waits += 1;
                if waits > WAITS {
                    bail!("the kernel's tracer told no more after {moved} events");
                }
                sleep(Duration::from_millis(10));
            }
        }
        let mut at = 0;
        // The kernel reports lost events in a line of text.
        if buffer[..have].starts_with(b"CPU:")
            && let Some(line) = buffer[..have].iter().position(|byte| *byte == b'\n')
        {
            at = line + 1;
        }
        while let Some(record) = Record::read(&buffer[at..have])
            && at + record.len() <= have
        {
            files.of(record.cpu)?.write_all(&buffer[at..at + record.len()])?;
            at += record.len();
            moved += 1;
        }
        buffer.copy_within(at..have, 0);
        have -= at;
    }
    files.open.into_iter().flatten().try_for_each(|mut file| file.flush()).map_err(Into::into)
}

/// A file for each CPU.
struct Files<'a> {
    base: &'a Path,
    open: Vec<Option<BufWriter<File>>>,
}

impl Files<'_> {
    fn of(&mut self, cpu: u32) -> Result<&mut BufWriter<File>> {
        let nth = cpu as usize;
        if nth >= 4096 {
            bail!("the kernel told of CPU {cpu}");
        }
        if nth >= self.open.len() {
            self.open.resize_with(nth + 1, || None);
        }
        let slot = &mut self.open[nth];
        if slot.is_none() {
            let mut name = self.base.as_os_str().to_owned();
            name.push(format!(".blktrace.{cpu}"));
            *slot = Some(BufWriter::new(File::create(PathBuf::from(name))?));
        }
        slot.as_mut().context("a file that was opened is gone")
    }
}
